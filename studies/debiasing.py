"""Bias, RMSE and coverage of the debiased calibration error, and size and power of the test.

Over simulations with a known calibration error, against published estimates and tests.
"""

from __future__ import annotations

import studies.interrupts  # noqa: F401 (for what it does)

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import Any
from zlib import crc32

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.optimize import brentq

from propercal import decompose
from propercal.experiments import Cell, Claim, Factors, Output, Study, factor, main
from propercal.experiments.workers import in_processes, one_thread
from propercal.generators import as_generator
from propercal.inference import calibration_test
from propercal.simulation import MiscalibratedSimplex, SimulatedSample, TemperatureScaledSimplex
from studies.classwise_truth import classwise_truth
from studies.data import BANDWIDTH
from studies.debiasing_figures import figures
from studies.debiasing_summary import CALIBRATED, CANONICAL, correction, summary_of, table
from studies.losses import LOSSES_HELP
from studies.rivals import (
    TESTS,
    binned_estimates,
    debiased_binned_estimate,
    resampled_pvalues,
    temperature_estimates,
)

Model = TemperatureScaledSimplex | MiscalibratedSimplex
Numbers = dict[str, Any]

METHODS = (*CANONICAL, "binned", "binned-debiased")
#: What is measured for each generator besides the estimates.
PARTS = {
    "loss_saved": "mean loss that recalibration by the true E[Y | g(X)] saves",
    "standard_error": "standard error that the debiased method states",
    "lower": "lower end of its 95 % interval",
    "upper": "upper end of its 95 % interval",
    "lower_bound": "its lower bound of the calibration error",
    "kernel_share": "share of its estimate that only the kernel sees",
    "warned": "whether it warned that the share of the kernel is large",
}
_AT = ("scenario", "n_classes", "sample_size")
_TEST_AT = ("test_scenario", "test_n_classes", "test_sample_size")
# 2 n E D_log(p, g), the noncentrality of the likelihood ratio of a family that holds the truth:
# of one parameter, its test at 5 % has a power of 89 %.
NONCENTRALITY = 10.0

SCENARIOS: dict[str, Callable[[int], Model]] = {
    "over-confident": TemperatureScaledSimplex,
    "under-confident": lambda k: TemperatureScaledSimplex(k, 0.9, 1.6),
    "mixture": lambda k: MiscalibratedSimplex(k, "mixture"),
    "vector-scaling": lambda k: MiscalibratedSimplex(k, "vector scaling"),
    "confidence-temperature": lambda k: MiscalibratedSimplex(k, "confidence temperature"),
    "neighbour": lambda k: MiscalibratedSimplex(k, "neighbour"),
    "network-temperature": lambda k: MiscalibratedSimplex(k, "temperature", 12.0),
    "network-vector-scaling": lambda k: MiscalibratedSimplex(k, "vector scaling", 12.0),
    "group-noise": lambda k: MiscalibratedSimplex(k, "group noise"),
    "steps": lambda k: MiscalibratedSimplex(k, "steps"),
    "focal": lambda k: MiscalibratedSimplex(k, "focal"),
    "calibrated": lambda k: MiscalibratedSimplex(k, "identity", 1.0),
    "calibrated-concentrated": lambda k: MiscalibratedSimplex(k, "identity", 12.0),
}


@dataclass(frozen=True)
class Design(Factors):
    """Factors × replicates: of the estimates, and of the tests, which cost a study of their own."""

    scenarios: Sequence[str] = factor(between="scenario", among=SCENARIOS)
    n_classes: Sequence[int] = factor(between="n_classes", least=2, metavar="K")
    sample_sizes: Sequence[int] = factor(between="sample_size", least=2)
    n_replicates: Sequence[int] = factor(
        between="replicate", one_for="sample_sizes", least=2, option="replicates", metavar="R"
    )
    test_scenarios: Sequence[str] = factor(
        between="test_scenario", among=SCENARIOS, help="of tests, simulated closer to calibrated"
    )
    test_n_classes: Sequence[int] = factor(between="test_n_classes", least=2, metavar="K")
    test_sample_sizes: Sequence[int] = factor(between="test_sample_size", least=2)
    test_replicates: Sequence[int] = factor(
        between="test_replicate",
        one_for="test_sample_sizes",
        least=2,
        metavar="R",
        help="for each of the sample sizes; four times as many where calibrated",
    )
    generators: Sequence[str] = factor(
        ("log", "brier", "spherical"), within="generator", help=LOSSES_HELP
    )
    n_resamples: int = 199
    seed: int = 0

    def __post_init__(self) -> None:
        for name, sizes in (
            ("n_replicates", self.sample_sizes),
            ("test_replicates", self.test_sample_sizes),
        ):
            if isinstance(count := getattr(self, name), int):
                object.__setattr__(self, name, (count,) * len(sizes))
        super().__post_init__()

    def cells(self) -> Sequence[Cell]:
        """Return the data sets of estimates, then those of tests."""
        sizes = zip(self.sample_sizes, self.n_replicates, strict=True)
        estimates = [
            Cell(part="estimate", scenario=scenario, n_classes=k, sample_size=n, replicate=i)
            for scenario, k, (n, count) in product(self.scenarios, self.n_classes, sizes)
            for i in range(count)
        ]
        test = (self.test_scenarios, self.test_n_classes)
        sizes = zip(self.test_sample_sizes, self.test_replicates, strict=True)
        return estimates + [
            Cell(
                part="test",
                test_scenario=scenario,
                test_n_classes=k,
                test_sample_size=n,
                test_replicate=i,
            )
            for scenario, k, (n, count) in product(*test, sizes)
            # The size of a test is asked for more closely than its power.
            for i in range(4 * count if scenario in CALIBRATED else count)
        ]

    def levels(self) -> dict[str, list[Any]]:
        count = max(i for part, *_, i in self.cells() if part == "test") + 1
        return {**super().levels(), "test_replicate": list(range(count))}

    def cost(self, cell: Any) -> float:
        # In seconds of one core.
        part, _, k, size, _ = cell
        n = size / 1000
        if part == "test":
            return float(0.1 + (0.15 + 0.02 * k) * n + (0.05 + 0.008 * k) * n**2)
        return float(0.45 + 0.01 * k + (0.15 + 0.04 * k) * n + (0.035 + 0.003 * k) * n**2)

    def key(self, cell: Any) -> tuple[int, ...]:
        part, scenario, *numbers = cell
        return (crc32(f"{part} {scenario}".encode()), *numbers)


@lru_cache(maxsize=256)
def weakened(scenario: str, n_classes: int, sample_size: int) -> Model:
    """Return the scenario with p so close to g that tests tell them apart only sometimes."""
    model = SCENARIOS[scenario](n_classes)
    if not isinstance(model, MiscalibratedSimplex):
        # The map of the paper's model, on normal logits.
        model = MiscalibratedSimplex(n_classes, "temperature")
    if model.calibration_map == "identity":
        return model
    _, g, p = model.sample(20_000, np.random.SeedSequence(1))
    log = as_generator("log")

    def excess(strength: float) -> float:
        mixed = (1 - strength) * g + strength * p
        return 2 * sample_size * float(np.mean(log.divergence(mixed, g))) - NONCENTRALITY

    strength = brentq(excess, 0.0, 1.0) if excess(1.0) > 0 else 1.0
    return MiscalibratedSimplex(
        n_classes, model.calibration_map, model.logit_scale, round(float(strength), 4)
    )


def measure(design: Design, cell: Cell, seed: np.random.SeedSequence) -> Numbers:
    """Simulate one data set and measure every method, or every test, on it."""
    part, scenario, k, n, _ = cell
    for_sample, for_methods = seed.spawn(2)
    rng = np.random.default_rng(for_methods)
    if part == "test":
        y_true, g, _ = weakened(scenario, k, n).sample(n, for_sample)
        ours = calibration_test(y_true, g, n_resamples=design.n_resamples, random_state=rng)
        rivals = resampled_pvalues(y_true, g, design.n_resamples, rng)
        return {"pvalue": [ours.pvalue, *(rivals[name] for name in TESTS)]}
    return _estimates(design, SCENARIOS[scenario](k).sample(n, for_sample), rng)


def _estimates(design: Design, sample: SimulatedSample, rng: np.random.Generator) -> Numbers:
    y_true, g, p = sample
    outcome = np.eye(g.shape[1])[y_true]
    generators = [as_generator(name) for name in design.generators]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours = decompose(y_true, g, generator=generators, method="debiased")
    published: Callable[..., Any] = partial(decompose, y_true, g, generator=generators)
    found = [ours, *(published(method=m, bandwidth=BANDWIDTH) for m in ("direct", "risk"))]
    estimates = [[result.calibration_error for result in results] for results in found]
    estimates += temperature_estimates(y_true, g, generators, rng)
    debiased_bins = np.full(len(generators), math.nan)
    debiased_bins[[f.name == "brier" for f in generators]] = debiased_binned_estimate(y_true, g)
    bins = [binned_estimates(y_true, g, generators), debiased_bins]
    said = "\n".join(str(warning.message) for warning in caught)
    lower, upper = zip(*(r.interval("calibration_error", 0.95) for r in ours), strict=True)
    return {
        "estimate": [*estimates, *bins],
        "loss_saved": [np.mean(f.loss(g, outcome) - f.loss(p, outcome)) for f in generators],
        "standard_error": [r.standard_errors["calibration_error"] for r in ours],
        "lower": lower,
        "upper": upper,
        "lower_bound": [r.lower_bound for r in ours],
        "kernel_share": [r.kernel_share for r in ours],
        "warned": [f"the {r.generator.name} calibration error" in said for r in ours],
    }


_BOUND = "bound on the absolute error: three standard errors of the integral"
_TRUTHS = {
    "truth": "canonical calibration error",
    "truth_error": _BOUND,
    "classwise_truth": "class-wise calibration error, the target of bins",
    "classwise_truth_error": _BOUND,
}


def truths(design: Design, n_workers: int) -> xr.Dataset:
    """Integrate the calibration errors, with bounds on their errors."""
    coords = {dim: design.levels()[dim] for dim in ("scenario", "n_classes", "generator")}
    coords = {"name": list(_TRUTHS), **coords}
    found = xr.DataArray(math.nan, coords, tuple(coords))
    tasks = [(s, k) for k in sorted(design.n_classes, reverse=True) for s in design.scenarios]
    for (scenario, k), values in in_processes(partial(_truth, design), tasks, n_workers):
        found.loc[{"scenario": scenario, "n_classes": k}] = values
    known = found.to_dataset("name")
    return known.assign({x: known[x].assign_attrs(long_name=text) for x, text in _TRUTHS.items()})


def _truth(design: Design, task: tuple[str, int]) -> tuple[tuple[str, int], NDArray[np.float64]]:
    scenario, k = task
    model = SCENARIOS[scenario](k)
    with one_thread():
        canonical = [list(model.truth(g, "canonical")) for g in design.generators]
        if k == 2:
            classwise = canonical
        elif isinstance(model, MiscalibratedSimplex):
            generators = [as_generator(g) for g in design.generators]
            classwise = classwise_truth(model, generators).tolist()
        else:
            classwise = [list(model.truth(g, "classwise")) for g in design.generators]
    return task, np.concatenate([canonical, classwise], axis=1).T


def summarise(design: Design, replicates: xr.Dataset, n_workers: int) -> xr.Dataset:
    """Return bias, RMSE, coverage, size and power, with errors and verdicts."""
    summary = summary_of(replicates, truths(design, n_workers))
    coords = {dim: design.levels()[dim] for dim in _TEST_AT}
    strength = [getattr(weakened(*levels), "strength", 1.0) for levels in product(*coords.values())]
    shape = [len(levels) for levels in coords.values()]
    attributes = {"long_name": "weight s of p = (1 − s) g + s r(g)"}
    return summary.assign(strength=(_TEST_AT, np.reshape(strength, shape), attributes))


_WEAK = ("over-confident", "mixture", "vector-scaling", "neighbour", "group-noise")
QUICK = Design(
    scenarios=("over-confident", "mixture", "group-noise", "calibrated"),
    n_classes=(2, 5),
    sample_sizes=(300, 1000),
    n_replicates=(5, 3),
    test_scenarios=("calibrated", "mixture"),
    test_n_classes=(2, 5),
    test_sample_sizes=(300,),
    test_replicates=(6,),
)
FULL = Design(
    scenarios=tuple(SCENARIOS),
    n_classes=(2, 3, 5, 10),
    sample_sizes=(300, 1000, 3000, 10_000),
    n_replicates=(48, 48, 48, 48),
    test_scenarios=("calibrated", "calibrated-concentrated", *_WEAK),
    test_n_classes=(2, 5, 10),
    test_sample_sizes=(300, 1000, 3000),
    test_replicates=(40, 16, 4),
)
STUDY = Study(
    name="debiasing",
    about=__doc__ or "",
    presets={
        "quick": (QUICK, "two minutes on two cores"),
        "full": (FULL, "several hours of processor time"),
    },
    outputs=[
        Output(
            "estimate", (*_AT, "method", "generator", "replicate"), "estimated calibration error"
        ),
        *(Output(name, (*_AT, "generator", "replicate"), text) for name, text in PARTS.items()),
        Output(
            "pvalue",
            (*_TEST_AT, "test", "test_replicate"),
            "p-value of the hypothesis of calibration",
        ),
    ],
    measure=measure,
    levels={"method": METHODS, "test": ("calibration_test", *TESTS)},
    dims=(*_AT, *_TEST_AT, "method", "generator", "test"),
    summarise=summarise,
    table=table,
    claims=(Claim("A bias correction for general F is open", correction, "section 7"),),
    figures=figures,
    source='"open" in the paper',
    shown="relative_bias-log",
)

if __name__ == "__main__":
    sys.exit(main(STUDY))
