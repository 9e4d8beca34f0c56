"""What the debiasing study simulates, and what it measures on each data set."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import xarray as xr
from scipy.optimize import brentq

from propercal import decompose
from propercal._data.messages import bad_value, unknown_name
from propercal.experiments.store import CellResult
from propercal.experiments.workers import one_thread
from propercal.generators import as_generator
from propercal.inference import calibration_test
from propercal.simulation import MiscalibratedSimplex, SimulatedSample, TemperatureScaledSimplex
from studies.rivals import (
    TESTS,
    binned_estimates,
    debiased_binned_estimate,
    resampled_pvalues,
    temperature_estimates,
)

Model = TemperatureScaledSimplex | MiscalibratedSimplex

METHODS = ("debiased", "direct", "risk", "temperature", "binned", "binned-debiased")
CANONICAL = METHODS[:4]
PARTS = ("standard_error", "lower", "upper", "lower_bound", "kernel_share", "warned")
ALL_TESTS = ("calibration_test", *TESTS)
CALIBRATED = ("calibrated", "calibrated-concentrated")
# The paper's; the published estimators have no other rule that works for every k.
BANDWIDTH = 0.02
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


class Cell(NamedTuple):
    """One simulated data set, for estimates or for tests."""

    part: str
    scenario: str
    n_classes: int
    sample_size: int
    replicate: int


@dataclass(frozen=True)
class Design:
    """Factors × replicates: of the estimates, and of the tests, which cost a study of their own."""

    scenarios: Sequence[str]
    n_classes: Sequence[int]
    sample_sizes: Sequence[int]
    n_replicates: Sequence[int]
    test_scenarios: Sequence[str]
    test_n_classes: Sequence[int]
    test_sample_sizes: Sequence[int]
    test_replicates: Sequence[int]
    generators: Sequence[str] = ("log", "brier", "spherical")
    n_resamples: int = 199
    seed: int = 0

    def __post_init__(self) -> None:
        for prefix in ("", "test_"):
            levels = {
                name: getattr(self, prefix + name)
                for name in ("scenarios", "n_classes", "sample_sizes")
            }
            for name, found in levels.items():
                if not found or len(set(found)) < len(found):
                    raise bad_value(prefix + name, repr(found), "distinct levels", "name one")
            for name in levels["scenarios"]:
                if name not in SCENARIOS:
                    raise unknown_name("scenario", name, tuple(SCENARIOS))
            count = "test_replicates" if prefix else "n_replicates"
            found = getattr(self, count)
            if len(found) != len(levels["sample_sizes"]) or min(found) < 2:
                expected = "2 or more for each of the sample sizes, for an error bar"
                raise bad_value(count, repr(found), expected, "pass as many")

    def cells(self) -> list[Cell]:
        cells = []
        for part, scenarios, classes, sizes, counts in (
            ("estimate", self.scenarios, self.n_classes, self.sample_sizes, self.n_replicates),
            (
                "test",
                self.test_scenarios,
                self.test_n_classes,
                self.test_sample_sizes,
                self.test_replicates,
            ),
        ):
            cells += [
                Cell(part, scenario, k, n, replicate)
                for scenario in scenarios
                for k in classes
                for n, count in zip(sizes, counts, strict=True)
                # The size of a test is asked for more closely than its power.
                for replicate in range(4 * count if self.is_size(part, scenario) else count)
            ]
        return sorted(cells, key=lambda cell: (-self.cost(cell), cell))

    @staticmethod
    def is_size(part: str, scenario: str) -> bool:
        return part == "test" and scenario in CALIBRATED

    def cost(self, cell: Cell) -> float:
        # In seconds of one core.
        k, n = cell.n_classes, cell.sample_size / 1000
        if cell.part == "test":
            return 0.1 + (0.15 + 0.02 * k) * n + (0.05 + 0.008 * k) * n**2
        return 0.45 + 0.01 * k + (0.15 + 0.04 * k) * n + (0.035 + 0.003 * k) * n**2

    def to_json(self) -> str:
        return json.dumps(asdict(self))


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


def run_cell(design: Design, cell: Cell) -> CellResult:
    """Simulate one data set and measure every method, or every test, on it."""
    key = (crc32(f"{cell.part} {cell.scenario}".encode()), *cell[2:])
    for_sample, for_methods = np.random.SeedSequence(design.seed, spawn_key=key).spawn(2)
    rng = np.random.default_rng(for_methods)
    with one_thread():
        if cell.part == "test":
            model = weakened(cell.scenario, cell.n_classes, cell.sample_size)
            sample = model.sample(cell.sample_size, for_sample)
            return CellResult(cell, _pvalues(design, sample, rng))
        model = SCENARIOS[cell.scenario](cell.n_classes)
        sample = model.sample(cell.sample_size, for_sample)
        binned = cell.n_classes == 2 or isinstance(model, TemperatureScaledSimplex)
        return CellResult(cell, _estimates(design, sample, rng, binned))


def _pvalues(design: Design, sample: SimulatedSample, rng: np.random.Generator) -> dict[str, Any]:
    y_true, g, _ = sample
    ours = calibration_test(y_true, g, n_resamples=design.n_resamples, random_state=rng)
    rivals = resampled_pvalues(y_true, g, design.n_resamples, rng)
    return {"pvalue": [ours.pvalue, *(rivals[name] for name in TESTS)]}


def _estimates(
    design: Design, sample: SimulatedSample, rng: np.random.Generator, binned: bool
) -> dict[str, Any]:
    y_true, g, p = sample
    outcome = np.eye(g.shape[1])[y_true]
    generators = [as_generator(name) for name in design.generators]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours = decompose(y_true, g, generator=generators, method="debiased")
    said = [str(w.message) for w in caught]
    table = [[result.calibration_error for result in ours]]
    for method in ("direct", "risk"):
        rival = decompose(y_true, g, generator=generators, method=method, bandwidth=BANDWIDTH)
        table.append([result.calibration_error for result in rival])
    table.append(temperature_estimates(y_true, g, generators, rng))
    absent = [math.nan] * len(generators)
    table.append(binned_estimates(y_true, g, generators) if binned else absent)
    table.append(
        [
            debiased_binned_estimate(y_true, g) if binned and f.name == "brier" else math.nan
            for f in generators
        ]
    )
    return {
        "estimate": table,
        "loss_saved": [float(np.mean(f.loss(g, outcome) - f.loss(p, outcome))) for f in generators],
        **{
            name: list(values)
            for name, values in zip(
                PARTS, zip(*(_parts(r, said) for r in ours), strict=True), strict=True
            )
        },
    }


def _parts(result: Any, said: Sequence[str]) -> list[float]:
    """Return what the debiased result says besides its estimate, in the order of PARTS."""
    lower, upper = result.interval("calibration_error", 0.95)
    warned = any(f"the {result.generator.name} calibration error" in text for text in said)
    error = result.standard_errors["calibration_error"]
    return [error, lower, upper, result.lower_bound, result.kernel_share, float(warned)]


def assemble(design: Design, results: Iterable[CellResult]) -> xr.Dataset:
    """Arrange the numbers of all cells; what was not simulated is NaN."""
    factors = ("scenarios", "n_classes", "sample_sizes")
    levels = {
        part: [list(getattr(design, prefix + name)) for name in factors]
        for part, prefix in (("estimate", ""), ("test", "test_"))
    }
    shape = {part: tuple(len(level) for level in levels[part]) for part in levels}
    n_f, n_r = len(design.generators), max(design.n_replicates)
    n_t = max(
        count * (4 if set(CALIBRATED) & set(design.test_scenarios) else 1)
        for count in design.test_replicates
    )
    sizes = {
        "estimate": (*shape["estimate"], len(METHODS), n_f, n_r),
        **dict.fromkeys(("loss_saved", *PARTS), (*shape["estimate"], n_f, n_r)),
        "pvalue": (*shape["test"], len(ALL_TESTS), n_t),
    }
    values = {name: np.full(size, np.nan) for name, size in sizes.items()}
    for result in results:
        cell = Cell(*result.cell)
        where: Any = tuple(
            level.index(x) for level, x in zip(levels[cell.part], cell[1:4], strict=True)
        )
        for name, numbers in result.numbers.items():
            values[name][(*where, ..., cell.replicate)] = numbers
    first = ("scenario", "n_classes", "sample_size")
    tests = ("test_scenario", "test_n_classes", "test_sample_size", "test", "test_replicate")
    dims = {
        "estimate": (*first, "method", "generator", "replicate"),
        **dict.fromkeys(("loss_saved", *PARTS), (*first, "generator", "replicate")),
        "pvalue": tests,
    }
    coords = {
        **dict(zip(first, levels["estimate"], strict=True)),
        **dict(zip(tests, levels["test"], strict=False)),
        "method": list(METHODS),
        "generator": list(design.generators),
        "test": list(ALL_TESTS),
    }
    return xr.Dataset(
        {name: (dims[name], values[name], {"long_name": _NAMES[name]}) for name in values}, coords
    )


_NAMES = {
    "estimate": "estimated calibration error",
    "loss_saved": "mean loss that recalibration by the true E[Y | g(X)] saves",
    "standard_error": "standard error that the debiased method states",
    "lower": "lower end of its 95 % interval",
    "upper": "upper end of its 95 % interval",
    "lower_bound": "its lower bound of the calibration error",
    "kernel_share": "share of its estimate that only the kernel sees",
    "warned": "whether it warned that the share of the kernel is large",
    "pvalue": "p-value of the hypothesis of calibration",
}
