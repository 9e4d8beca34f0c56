"""Table, verdicts and figures of the post-hoc calibration study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from propercal.experiments import mean_and_error, selections
from propercal.experiments.figures import legend, panels
from studies.data import named, notion_name
from studies.losses import loss, symbol, unit
from studies.styles import WIDTH, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEVEL = 0.05
#: Which recalibration the paper's Table 2 finds the better one.
CLAIM = {"log": "temperature", "brier": "isotonic"}
_WIDTH = 24
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
        ahead = self.paper_style[claimed]
        paper = "holds" if ahead == n else "mostly holds" if 2 * ahead > n else "fails"
        if self.debiased[claimed] == n:
            ours = "holds"
        elif self.debiased[1 - claimed]:
            ours = "fails"
        else:
            ours = "not shown" if self.debiased[claimed] == 0 else "shown in part"
        return f"{paper} by the paper's estimate, {ours} by the debiased one"


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
            yield f"{named(model):{_WIDTH}} {method:9}{cells}"


def _row(at: xr.Dataset) -> list[str]:
    mean, error = (x.values for x in mean_and_error(100 * at["estimate"], "seed"))
    cells = []
    for i, value in enumerate(mean):
        text = f"{value:.2f}" + (f" ± {error[i]:.2f}" if at.sizes["seed"] > 1 else "")
        if i:
            text += f" ({_change(value, mean[0])})"
        if at["method"].item() == "debiased":
            ends = [100 * float(at[end].isel(recalibration=i).mean()) for end in ("lower", "upper")]
            text += f" [{ends[0]:.2f}, {ends[1]:.2f}]"
        cells.append(text)
    return cells


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
        line = f"{named(model):{_WIDTH}} {float(at['temperature'].mean()):5.2f}"
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
            f"{rival:18} {notion:10} {generator:6} {named(model):{_WIDTH}} {seed:2} "
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
            f"  {each.rival:18} {each.notion:10} {each.generator:6} paper's {paper:>6}   "
            f"debiased {ours:>8}   {each.said}"
        )


def winners(summary: xr.Dataset) -> tuple[str, str]:
    """Judge whether each loss has the recalibration of the paper as its best."""
    counted = [w for w in wins(summary) if (w.notion, w.rival) == ("classwise", "isotonic")]
    if not counted:
        return "", "no class-wise errors"
    lines = [
        f"{loss(w.generator).score}: by the estimate via the risk, temperature scaling is ahead in "
        f"{w.paper_style[0]} and isotonic regression in {w.paper_style[1]}; by the debiased one, "
        f"beyond chance, in {w.debiased[0]} and {w.debiased[1]}, and {w.debiased[2]} are undecided"
        for w in counted
    ]
    head = "Cases (networks, and splits where there are several) with the smaller error:"
    said = "; ".join(f"{loss(w.generator).score}, {w.said}" for w in counted)
    return "\n".join([head, *lines]), said


def overstated(summary: xr.Dataset) -> tuple[str, str]:
    """Judge how much of the estimate via risk the debiased one leaves."""
    if "classwise" not in summary["notion"]:
        return "", "no class-wise errors"
    before = summary["estimate"].sel(recalibration="none", notion="classwise")
    share = before.sel({"method": "debiased"}) / before.sel({"method": "risk"})
    shares = (
        f"{100 * at['share'].item():.0f} % ({loss(generator).score})"
        for (generator,), at in selections(
            share.mean(["model", "seed"]).to_dataset(name="share"), "generator"
        )
    )
    found = f"The debiased estimate is, on average over networks, {' and '.join(shares)} of it"
    return found, "too large, as far as the debiased estimate is right"


def figures(summary: xr.Dataset) -> dict[str, Callable[[], Figure]]:
    """Return the errors under each recalibration, and the paired differences."""
    return {
        "calibration_errors": partial(_calibration_errors, summary),
        "differences": partial(_differences, summary),
    }


def _panels(summary: xr.Dataset, title: str, x_label: str) -> tuple[Figure, Any]:
    """One row for each notion, one column for each generator, one line for each model."""
    ticks = [named(model) for model in summary["model"].values.tolist()]
    n_rows, n_columns = summary.sizes["notion"], summary.sizes["generator"]
    size = (min(1.6 + 2.1 * n_columns, WIDTH), 1.6 + n_rows * (0.6 + 0.42 * len(ticks)))
    figure, axes = panels(n_rows, n_columns, size, title, sharey=True)
    for axis, panel in _each(summary, axes):
        notion, generator = panel["notion"].item(), panel["generator"].item()
        title = f"{symbol(generator)}, {notion_name(notion)} ({unit(generator)})"
        axis.set_title(title)
        axis.set_yticks(range(len(ticks)), ticks)
        axis.set_ylim(len(ticks) - 0.5, -0.5)
        axis.tick_params(axis="y", length=0)
        axis.grid(axis="x", color="0.92", linewidth=0.6)
        across = axis.get_yaxis_transform()
        axis.hlines(np.arange(len(ticks) - 1) + 0.5, 0, 1, "0.9", transform=across, lw=0.6)
        axis.axvline(0, color="black", linewidth=0.8)
        axis.set_axisbelow(True)
    for axis in axes[-1]:
        axis.set_xlabel(x_label)
    return figure, axes


def _each(summary: xr.Dataset, axes: Any) -> Iterator[tuple[Axes, xr.Dataset]]:
    shown = selections(summary.mean("seed"), "notion", "generator")
    for axis, (_, panel) in zip(axes.flat, shown, strict=True):
        yield axis, panel


def _calibration_errors(summary: xr.Dataset) -> Figure:
    title = (
        "Calibration error × 100 before and after recalibration\n"
        "(filled: debiased, 95 % interval; hollow: the paper's estimate)"
    )
    figure, axes = _panels(summary, title, "calibration error × 100")
    names = summary["recalibration"].values.tolist()
    for axis, panel in _each(summary, axes):
        for i, name in enumerate(names):
            of = panel.sel(recalibration=name)
            height = 0.7 * ((i + 0.5) / len(names) - 0.5)
            ours, paper = (of["estimate"].sel({"method": m}) for m in ("debiased", "risk"))
            _interval(axis, (ours, of["lower"], of["upper"], paper), height, name)
    legend(figure, axes)
    return figure


def _interval(axis: Axes, values: Sequence[xr.DataArray], height: float, name: str) -> None:
    """Draw our estimate of each model, its interval and the paper's estimate, × 100."""
    ours, low, high, paper = (100 * each.values for each in values)
    y = np.arange(len(ours)) + height
    axis.plot(paper, y, **points(name, 1), label="_paper")
    # A debiased estimate below 0 lies outside its interval.
    axis.hlines(y, low, high, points(name)["color"], linewidth=1)
    axis.plot(ours, y, **points(name), label=name)


def _differences(summary: xr.Dataset) -> Figure:
    title = (
        "Calibration error × 100 of isotonic regression less that of temperature scaling\n"
        "(right of 0: temperature scaling wins; filled: debiased, 95 % interval;\n"
        "hollow: the paper's)"
    )
    figure, axes = _panels(summary, title, "difference × 100")
    rivals = summary["rival"].values.tolist()
    for axis, panel in _each(summary, axes):
        for i, name in enumerate(rivals):
            of = panel.sel(rival=name)
            height = 0.5 * ((i + 0.5) / len(rivals) - 0.5)
            risk = panel["estimate"].sel({"method": "risk"})
            paper = risk.sel({"recalibration": name}) - risk.sel({"recalibration": "temperature"})
            ends = of["difference_lower"], of["difference_upper"]
            _interval(axis, (of["difference"], *ends, paper), height, name)
    legend(figure, axes)
    return figure
