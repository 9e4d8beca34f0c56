"""Does temperature scaling win for the log loss, and isotonic regression for the Brier score?

The paper's Tables 2, 3 and 5: calibration errors, accuracy, log loss and Brier score before and
after recalibration, here by the paper's estimate and by the debiased one, with intervals, and the
two recalibrations compared on the same rows. Run `python studies/posthoc_calibration.py --help`.

The full study reads predictions of trained networks, one `.npz` a model, with `labels` (n,) and
`logits` or `probs` (n, k). `NAME_test.npz` is evaluated after calibration on `NAME_val.npz`; any
other file is split into two random halves, anew for each seed. Such files come from evaluating
your own network once, or from repositories with saved predictions.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from propercal import Decomposition, PairedDifference, decompose, paired_difference
from propercal.experiments import Cell, Claim, Factors, Output, Study, factor, main, selections
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling
from studies.data import (
    BANDWIDTH,
    DIGITS,
    MODELS_HELP,
    Floats,
    Labels,
    contents_of,
    digits,
    files_of,
    short,
    symbol,
)
from studies.data import read as read_file
from studies.paths import DATA
from studies.posthoc_figures import figures

RECALIBRATIONS = ("none", "temperature", "isotonic", "isotonic-smoothed")
RIVALS = RECALIBRATIONS[2:]
METHODS = ("risk", "direct", "debiased")
# Zeros of isotonic regression make the log loss infinite; like the paper, no probability is less.
FLOOR = 1e-7
PARTS = ("standard_error", "lower", "upper", "lower_bound", "kernel_share")
PAIRED = ("difference", "difference_se", "difference_lower", "difference_upper", "pvalue")
SCORES = ("accuracy", "nll", "brier", "zero_rows")
LEVEL = 0.05
#: Which recalibration the paper's Table 2 finds the better one.
CLAIM = {"log": "temperature", "brier": "isotonic"}


class Split(NamedTuple):
    """Rows to calibrate on, and rows to evaluate on."""

    calibration: tuple[Floats, Labels]
    """log probabilities (n, k) and labels"""
    evaluation: tuple[Floats, Labels]


@dataclass(frozen=True)
class Design(Factors):
    """Models × splits, each with every recalibration, notion, generator and method."""

    models: Sequence[str] = factor(between="model", help=MODELS_HELP)
    n_seeds: int = factor(1, between="seed", least=1, metavar="R", help="splits of each file")
    max_rows: int = factor(5000, least=50, help="most rows to calibrate on, and to evaluate on")
    notions: Sequence[str] = factor(("classwise", "canonical"), within="notion")
    generators: Sequence[str] = factor(
        ("log", "brier"), within="generator", help="log, brier, spherical, ..."
    )
    seed: int = 0
    contents: Sequence[str] = ()
    """A digest of each model's files."""

    def cost(self, cell: Cell) -> float:
        return 1.0 if cell.model in DIGITS else 20.0

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "bandwidth": BANDWIDTH, "floor": FLOOR}


def read(design: Design, data: Path) -> Design:
    """Return the design that names what its files hold."""
    return dataclasses.replace(design, contents=contents_of(design.models, data))


def split(design: Design, cell: Cell, rng: np.random.Generator, data: Path) -> Split:
    """Return the validation and the test rows, or a random half each where there is one file."""
    if cell.model in DIGITS:
        parts = [digits(cell.model, rng)]
    else:
        parts = [read_file(path) for path in files_of(cell.model, data)]
    if len(parts) == 1:
        ((log_prob, labels),) = parts
        order = rng.permutation(len(labels))
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        parts = [(log_prob[rows], labels[rows]) for rows in halves]
    chosen = [rng.permutation(len(part[1]))[: design.max_rows] for part in parts]
    return Split(*((z[rows], y[rows]) for (z, y), rows in zip(parts, chosen, strict=True)))


def recalibrated(rows: Split) -> tuple[dict[str, Floats], float]:
    """Return the evaluation rows' probabilities under every recalibration, and T."""
    (z, y), (new, _) = rows
    scaling = TemperatureScaling(from_logits=True).fit(z, y)
    isotonic = ClasswiseIsotonic(from_logits=True).fit(z, y)
    smoothed = ClasswiseIsotonic(from_logits=True, smoothed=True).fit(z, y)
    found = {
        "none": np.exp(new),
        "temperature": scaling.predict_proba(new),
        "isotonic": isotonic.predict_proba(new),
        "isotonic-smoothed": smoothed.predict_proba(new),
    }
    return found, scaling.temperature_


def measure(
    design: Design, cell: Cell, seed: np.random.SeedSequence, *, data: Path
) -> dict[str, Any]:
    """Recalibrate one model's predictions, and estimate all there is to compare."""
    with warnings.catch_warnings():
        # What the warnings are about is kept: the kernel's share, and rows with a zero.
        warnings.simplefilter("ignore", UserWarning)
        rows = split(design, cell, np.random.default_rng(seed), data)
        predictions, temperature = recalibrated(rows)
        y = rows.evaluation[1]
        scores = zip(*(_scores(predictions[name], y) for name in RECALIBRATIONS), strict=True)
        predictions["isotonic"] = _floored(predictions["isotonic"])
        return {
            "temperature": temperature,
            "n_calibration": len(rows.calibration[1]),
            "n_evaluated": len(y),
            **dict(zip(SCORES, scores, strict=True)),
            **_estimates(design, predictions, y),
        }


def _scores(prob: Floats, y: Labels) -> tuple[float, ...]:
    of_label = prob[np.arange(len(y)), y]
    outcome = np.eye(prob.shape[1])[y]
    return (
        float(np.mean(prob.argmax(axis=1) == y)),
        float(-np.mean(np.log(np.maximum(of_label, FLOOR)))),
        float(np.mean(np.sum((prob - outcome) ** 2, axis=1))),
        float(np.sum(of_label == 0)),
    )


def _floored(prob: Floats) -> Floats:
    raised = np.maximum(prob, FLOOR)
    normalised: Floats = raised / raised.sum(axis=1, keepdims=True)
    return normalised


def _estimates(design: Design, predictions: dict[str, Floats], y: Labels) -> dict[str, Any]:
    n_notions, n_generators = len(design.notions), len(design.generators)
    shape = (len(RECALIBRATIONS), n_notions, n_generators)
    table: dict[str, Any] = {
        "estimate": np.full((*shape, len(METHODS)), np.nan),
        **{name: np.full(shape, np.nan) for name in PARTS},
        **{name: np.full((len(RIVALS), *shape[1:]), np.nan) for name in PAIRED},
    }
    for i, notion in enumerate(design.notions):
        shared: dict[str, Any] = {"generator": list(design.generators), "notion": notion}
        for r, name in enumerate(RECALIBRATIONS):
            for m, method in enumerate(METHODS[:2]):
                own: dict[str, Any] = {**shared, "method": method, "bandwidth": BANDWIDTH}
                found = decompose(y, predictions[name], **own)
                table["estimate"][r, i, :, m] = [each.calibration_error for each in found]
        before = decompose(y, predictions["none"], **shared)
        for j, result in enumerate(before):
            _store(table, (0, i, j), result)
        for v, rival in enumerate(RIVALS):
            pairs = paired_difference(y, predictions[rival], predictions["temperature"], **shared)
            for j, pair in enumerate(pairs):
                for name, value in zip(PAIRED, _paired(pair), strict=True):
                    table[name][v, i, j] = value
                _store(table, (RECALIBRATIONS.index(rival), i, j), pair.a)
                _store(table, (RECALIBRATIONS.index("temperature"), i, j), pair.b)
    return table


def _store(table: dict[str, Any], where: tuple[int, int, int], result: Decomposition) -> None:
    estimate = float(result.calibration_error)
    table["estimate"][(*where, METHODS.index("debiased"))] = estimate
    if not math.isfinite(estimate):
        return
    lower, upper = result.interval("calibration_error", 0.95)
    error = result.standard_errors["calibration_error"]
    values = (error, lower, upper, result.lower_bound, result.kernel_share)
    for name, value in zip(PARTS, values, strict=True):
        table[name][where] = value


def _paired(found: PairedDifference) -> tuple[float, ...]:
    if not math.isfinite(found.difference):
        return (found.difference, *[math.nan] * 4)
    return (found.difference, found.standard_error, *found.interval(0.95), found.pvalue)


_WIDTH = 38
_PREAMBLE = """Calibration error × 100 (log: nats; Brier: summed over classes), mean over seeds ±
its standard error where there are several. (change against none, in %). [95 % interval]. risk and
direct: the published estimates at the paper's bandwidth, 0.02. isotonic: zeros raised to 1e-7, as
in the paper; isotonic-smoothed has none."""


class Wins(NamedTuple):
    """How often each of two recalibrations has the smaller calibration error."""

    rival: str
    notion: str
    generator: str
    paper_style: tuple[int, int]
    """wins of temperature scaling and of the rival by the risk method"""
    debiased: tuple[int, int, int]
    """wins of each at the 5 % level, and undecided"""

    @property
    def claim(self) -> str | None:
        return CLAIM.get(self.generator)

    @property
    def said(self) -> str:
        """Say whether the claim holds in every case, by both estimates."""
        if self.claim is None:
            return "no claim"
        claimed = 0 if self.claim == "temperature" else 1
        n = sum(self.debiased)
        paper = "holds" if self.paper_style[claimed] == n else "fails"
        if self.debiased[claimed] == n:
            ours = "holds"
        elif self.debiased[1 - claimed]:
            ours = "fails"
        else:
            ours = "not shown" if self.debiased[claimed] == 0 else "shown in part"
        return f"paper-style {paper}, debiased {ours}"


def wins(summary: xr.Dataset) -> list[Wins]:
    """Count the wins over models and seeds."""
    found = []
    for (rival, notion, generator), pair in selections(summary, "rival", "notion", "generator"):
        risk = pair["estimate"].sel({"method": "risk"})
        ours, theirs = (risk.sel({"recalibration": name}) for name in ("temperature", rival))
        sure, difference = pair["pvalue"] < LEVEL, pair["difference"]
        ahead, behind = (int((sure & (sign * difference > 0)).sum()) for sign in (1, -1))
        paper_style = int((ours < theirs).sum()), int((theirs < ours).sum())
        debiased = ahead, behind, difference.size - ahead - behind
        found.append(Wins(rival, notion, generator, paper_style, debiased))
    return found


def table(summary: xr.Dataset) -> str:
    """Return calibration errors, scores, paired differences and the verdict."""
    parts = (_errors, _score_lines, _difference_lines, _verdict)
    return f"{_PREAMBLE}\n" + "\n\n".join("\n".join(part(summary)) for part in parts)


def _errors(summary: xr.Dataset) -> Iterator[str]:
    heads = "".join(f" {name:>24}" for name in summary["recalibration"].values)
    for (notion, generator), of in selections(summary, "notion", "generator"):
        yield f"\n{f'{symbol(generator)}, {notion}':{_WIDTH}} {'method':9}{heads}"
        for (model, method), at in selections(of, "model", "method"):
            cells = "".join(f" {cell:>24}" for cell in _row(at))
            yield f"{short(model):{_WIDTH}} {method:9}{cells}"


def _row(at: xr.Dataset) -> list[str]:
    estimate = 100 * at["estimate"].transpose("recalibration", "seed")
    before = float(estimate[0].mean())
    cells = []
    for i, values in enumerate(estimate.values):
        text = f"{values.mean():.2f}{_error(values)}"
        if i:
            text += f" ({_change(float(values.mean()), before)})"
        if at["method"].item() == "debiased":
            ends = [100 * float(at[end].isel(recalibration=i).mean()) for end in ("lower", "upper")]
            text += f" [{ends[0]:.2f}, {ends[1]:.2f}]"
        cells.append(text)
    return cells


def _error(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    n = len(values)
    return f" ± {values.std(ddof=1) / np.sqrt(n):.2f}" if n > 1 else ""


def _change(after: float, before: float) -> str:
    return f"{100 * (after / before - 1):+.0f}" if before > 0 else "·"


def _score_lines(summary: xr.Dataset) -> Iterator[str]:
    names = summary["recalibration"].values.tolist()
    yield (
        "Accuracy × 100, mean log loss × 100 (no probability below 1e-7), Brier score × 100, and "
        "rows whose class has a probability of 0."
    )
    yield f"{'':{_WIDTH}} {'T':>5}" + "".join(f" {name:>27}" for name in names)
    for (model,), at in selections(summary, "model"):
        line = f"{short(model):{_WIDTH}} {float(at['temperature'].mean()):5.2f}"
        for _, of in selections(at, "recalibration"):
            values = [100 * float(of[score].mean()) for score in ("accuracy", "nll", "brier")]
            text = " ".join(f"{value:6.2f}" for value in values)
            zeros = float(of["zero_rows"].mean())
            line += f" {text:>22} {zeros:4.0f}"
        yield line


def _difference_lines(summary: xr.Dataset) -> Iterator[str]:
    yield (
        "Debiased calibration error × 100 of the rival less that of temperature scaling, same rows "
        "(above 0: temperature scaling wins)."
    )
    pairs = selections(summary, "rival", "notion", "generator", "model", "seed")
    for (rival, notion, generator, model, seed), of in pairs:
        names = ("difference", "difference_lower", "difference_upper")
        d, low, high = (100 * of[name].item() for name in names)
        yield (
            f"{rival:18} {notion:10} {generator:6} {short(model):{_WIDTH}} {seed:2} "
            f"{d:8.3f} [{low:.3f}, {high:.3f}]  p = {of['pvalue'].item():.2g}"
        )


def _verdict(summary: xr.Dataset) -> Iterator[str]:
    yield (
        "Claim: temperature scaling wins for KL, isotonic regression for L2. Wins of temperature "
        "scaling : rival (: undecided at 5 %)."
    )
    for each in wins(summary):
        paper, ours = (":".join(map(str, n)) for n in (each.paper_style, each.debiased))
        yield (
            f"  {each.rival:18} {each.notion:10} {each.generator:6} paper-style {paper:>6}   "
            f"debiased {ours:>8}   {each.said}"
        )


def _depends(summary: xr.Dataset) -> tuple[str, str]:
    counted = [w for w in wins(summary) if (w.notion, w.rival) == ("classwise", "isotonic")]
    found = (
        f"{w.generator}: paper-style {w.paper_style[0]}:{w.paper_style[1]}, debiased "
        f"{w.debiased[0]}:{w.debiased[1]} and {w.debiased[2]} undecided"
        for w in counted
    )
    said = "; ".join(f"{w.generator}: {w.said}" for w in counted)
    return "; ".join(found), said or "no class-wise errors"


def _overstated(summary: xr.Dataset) -> tuple[str, str]:
    if "classwise" not in summary["notion"]:
        return "", "no class-wise errors"
    before = summary["estimate"].sel(recalibration="none", notion="classwise")
    share = before.sel({"method": "debiased"}) / before.sel({"method": "risk"})
    shares = (
        f"{100 * at['share'].item():.0f} % ({generator})"
        for (generator,), at in selections(
            share.mean(["model", "seed"]).to_dataset(name="share"), "generator"
        )
    )
    found = f"The debiased estimate is, on average over models, {' and '.join(shares)} of the one "
    return f"{found}via risk", "the rest is bias, as far as the debiased estimate is right"


_RECALIBRATED = ("recalibration",)
_ERROR = (*_RECALIBRATED, "notion", "generator")
_PAIR = ("rival", "notion", "generator")
_MEASURED: dict[str, tuple[tuple[str, ...], str]] = {
    "temperature": ((), "temperature that minimises the log loss of the calibration rows"),
    "n_calibration": ((), "rows to calibrate on"),
    "n_evaluated": ((), "rows to evaluate on"),
    "accuracy": (_RECALIBRATED, "share of rows whose class has the largest probability"),
    "nll": (_RECALIBRATED, f"mean log loss, nats, of probabilities of at least {FLOOR}"),
    "brier": (_RECALIBRATED, "Brier score, summed over classes"),
    "zero_rows": (_RECALIBRATED, "rows whose class has a probability of exactly 0"),
    "estimate": ((*_ERROR, "method"), "calibration error"),
    "standard_error": (_ERROR, "standard error of the debiased calibration error"),
    "lower": (_ERROR, "lower end of its 95 % interval"),
    "upper": (_ERROR, "upper end of its 95 % interval"),
    "lower_bound": (_ERROR, "its lower bound"),
    "kernel_share": (_ERROR, "share of it that only the kernel sees"),
    "difference": (
        _PAIR,
        "debiased calibration error of the rival less that of temperature scaling",
    ),
    "difference_se": (_PAIR, "standard error of the difference"),
    "difference_lower": (_PAIR, "lower end of its 95 % interval"),
    "difference_upper": (_PAIR, "upper end of its 95 % interval"),
    "pvalue": (_PAIR, "two-sided p-value of no difference"),
}
_NETWORKS = (
    "cifar10/kull_resnet110_test.npz",
    "cifar10/peterson_densenet_BC_100_12.npz",
    "cifar10/peterson_resnet_preact_bottleneck_164.npz",
    "cifar10/peterson_vgg_15_BN_64.npz",
    "cifar10/netcal_wideresnet-16-4-cifar-10.npz",
)
STUDY = Study(
    name="posthoc_calibration",
    about=__doc__ or "",
    presets={
        "tiny": (Design(models=DIGITS[1:2], max_rows=150), "150 rows of one of them, seconds"),
        "quick": (Design(models=DIGITS), "three models of scikit-learn's digits, a minute or two"),
        "full": (Design(models=_NETWORKS), "networks on CIFAR-10, 20 minutes of one processor"),
    },
    outputs=[
        Output(name, ("model", "seed", *inner), long_name)
        for name, (inner, long_name) in _MEASURED.items()
    ],
    measure=measure,
    levels={"recalibration": RECALIBRATIONS, "rival": RIVALS, "method": METHODS},
    dims=("model", "seed", "recalibration", "rival", "notion", "generator", "method"),
    read=read,
    data=DATA,
    table=table,
    claims=(
        Claim(
            "Temperature scaling is best for KL, isotonic regression for L2",
            _depends,
            "section 6.2, Table 2",
        ),
        Claim(
            "Class-wise calibration errors via risk at γ = 0.02",
            _overstated,
            "section 6.2, Table 2",
        ),
    ),
    figures=figures,
    source="Tables 2, 3, 5",
    reads="predictions",
    shown="calibration_errors",
)

if __name__ == "__main__":
    sys.exit(main(STUDY))
