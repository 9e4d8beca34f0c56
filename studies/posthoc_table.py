"""The post-hoc calibration study as text, with its verdict on the paper's claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import xarray as xr

from studies.data import short

LEVEL = 0.05
#: Which recalibration the paper's Table 2 finds the better one.
CLAIM = {"log": "temperature", "brier": "isotonic"}
SYMBOLS = {"log": "CE_KL", "brier": "CE_2²"}
_WIDTH = 38

_PREAMBLE = """Calibration error × 100 (log: nats; Brier: summed over classes), mean over seeds ±
its standard error where there are several. (change against none, in %). [95 % interval]. risk and
direct: the published estimates at the paper's bandwidth, 0.02. isotonic: zeros raised to 1e-7, as
in the paper; isotonic-smoothed has none."""


class Verdict(NamedTuple):
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


def verdicts(summary: xr.Dataset) -> list[Verdict]:
    """Count the wins over models and seeds."""
    found = []
    risk = summary["estimate"].sel({"method": "risk"})
    for rival in summary["rival"].values.tolist():
        for notion in summary["notion"].values.tolist():
            for generator in summary["generator"].values.tolist():
                at = {"notion": notion, "generator": generator}
                ours = risk.sel({**at, "recalibration": "temperature"}).values
                theirs = risk.sel({**at, "recalibration": rival}).values
                pair = summary.sel({**at, "rival": rival})
                sure = pair["pvalue"].values < LEVEL
                difference = pair["difference"].values
                ahead, behind = (int((sure & (sign * difference > 0)).sum()) for sign in (1, -1))
                found.append(
                    Verdict(
                        rival,
                        notion,
                        generator,
                        (int((ours < theirs).sum()), int((theirs < ours).sum())),
                        (ahead, behind, difference.size - ahead - behind),
                    )
                )
    return found


def table(summary: xr.Dataset) -> str:
    """Return calibration errors, scores, paired differences and the verdict."""
    return "\n".join(
        [
            _PREAMBLE,
            *_errors(summary),
            "",
            *_scores(summary),
            "",
            *_differences(summary),
            "",
            *_verdict(summary),
        ]
    )


def _errors(summary: xr.Dataset) -> Iterator[str]:
    names = summary["recalibration"].values.tolist()
    for notion in summary["notion"].values:
        for generator in summary["generator"].values.tolist():
            heads = "".join(f" {name:>24}" for name in names)
            title = f"{SYMBOLS.get(generator, generator)}, {notion}"
            yield f"\n{title:{_WIDTH}} {'method':9}{heads}"
            for model in summary["model"].values:
                at = summary.sel(notion=notion, generator=generator, model=model)
                for method in summary["method"].values.tolist():
                    cells = "".join(f" {cell:>24}" for cell in _row(at, method))
                    yield f"{short(model):{_WIDTH}} {method:9}{cells}"


def _row(at: xr.Dataset, method: str) -> list[str]:
    estimate = 100 * at["estimate"].sel({"method": method}).transpose("recalibration", "seed")
    before = float(estimate[0].mean())
    cells = []
    for i, values in enumerate(estimate.values):
        text = f"{values.mean():.2f}{_error(values)}"
        if i:
            text += f" ({_change(float(values.mean()), before)})"
        if method == "debiased":
            ends = [100 * float(at[end].isel(recalibration=i).mean()) for end in ("lower", "upper")]
            text += f" [{ends[0]:.2f}, {ends[1]:.2f}]"
        cells.append(text)
    return cells


def _error(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    n = len(values)
    return f" ± {values.std(ddof=1) / np.sqrt(n):.2f}" if n > 1 else ""


def _change(after: float, before: float) -> str:
    return f"{100 * (after / before - 1):+.0f}" if before > 0 else "·"


def _scores(summary: xr.Dataset) -> Iterator[str]:
    names = summary["recalibration"].values.tolist()
    yield (
        "Accuracy × 100, mean log loss × 100 (no probability below 1e-7), Brier score × 100, and "
        "rows whose class has a probability of 0."
    )
    yield f"{'':{_WIDTH}} {'T':>5}" + "".join(f" {name:>27}" for name in names)
    for model in summary["model"].values:
        at = summary.sel(model=model)
        line = f"{short(model):{_WIDTH}} {float(at['temperature'].mean()):5.2f}"
        for name in names:
            of = at.sel(recalibration=name)
            values = [100 * float(of[score].mean()) for score in ("accuracy", "nll", "brier")]
            text = " ".join(f"{value:6.2f}" for value in values)
            zeros = float(of["zero_rows"].mean())
            line += f" {text:>22} {zeros:4.0f}"
        yield line


def _differences(summary: xr.Dataset) -> Iterator[str]:
    yield (
        "Debiased calibration error × 100 of the rival less that of temperature scaling, same rows "
        "(above 0: temperature scaling wins)."
    )
    for rival in summary["rival"].values:
        for notion in summary["notion"].values:
            for generator in summary["generator"].values:
                for model in summary["model"].values:
                    at = summary.sel(rival=rival, notion=notion, generator=generator, model=model)
                    for seed in summary["seed"].values:
                        of = at.sel(seed=seed)
                        d, low, high = (
                            100 * of[name].item()
                            for name in ("difference", "difference_lower", "difference_upper")
                        )
                        yield (
                            f"{rival:18} {notion:10} {generator:6} {short(model):{_WIDTH}} "
                            f"{seed:2} {d:8.3f} [{low:.3f}, {high:.3f}]  "
                            f"p = {of['pvalue'].item():.2g}"
                        )


def _verdict(summary: xr.Dataset) -> Iterator[str]:
    yield (
        "Claim: temperature scaling wins for KL, isotonic regression for L2. Wins of temperature "
        "scaling : rival (: undecided at 5 %)."
    )
    for each in verdicts(summary):
        paper, ours = (":".join(map(str, n)) for n in (each.paper_style, each.debiased))
        yield (
            f"  {each.rival:18} {each.notion:10} {each.generator:6} paper-style {paper:>6}   "
            f"debiased {ours:>8}   {each.said}"
        )
