"""Results in words: the lines that are printed, and the same as a table of a notebook."""

from __future__ import annotations

import math

from propercal._data.words.messages import some_rows
from propercal._results.estimates import TERM_NAMES, EstimatedTerms, intervals, number
from propercal._results.intervals import POWER
from propercal._results.pages import Page

#: The first identity, down the column of terms.
_SIGNS = ("  ", "= ", "+ ", "  ", "  ")


def as_text(result: EstimatedTerms) -> str:
    """Return the terms with their intervals, one a line, and what was used."""
    lines = [_heading(result)]
    lines += [
        f"  {sign}{name:<18}{value:>12}  {interval}".rstrip()
        for sign, (name, value, interval) in zip(_SIGNS, _rows(result), strict=True)
    ]
    lines.append("  refinement = uncertainty - sharpness")
    lines += [f"  {note}" for note in _notes(result)]
    return "\n".join(lines)


def page_of(result: EstimatedTerms) -> Page:
    """Return the same as a table of a notebook."""
    return Page(_heading(result), _rows(result), _notes(result))


def in_groups(n_groups: int | None) -> str:
    """Return how many groups rows are in, in words; empty for none."""
    return "" if n_groups is None else f" in {n_groups} groups"


def _heading(result: EstimatedTerms) -> str:
    units = f", in {result.units}" if result.units else ""
    return f"{result.generator.name} loss, {result.notion} calibration{units}"


def _rows(result: EstimatedTerms) -> list[tuple[str, str, str]]:
    rows = []
    for name in TERM_NAMES:
        value = number(getattr(result, name))
        interval = ""
        if math.isfinite(value) and math.isfinite(result.standard_errors.get(name, math.inf)):
            low, high = result.interval(name)
            interval = f"[{low:.6g}, {high:.6g}]"
        rows.append((name.replace("_", " "), f"{value:.6g}", interval))
    return rows


def _notes(result: EstimatedTerms) -> list[str]:
    notes = [*_skill_score(result), _settings(result), _meaning(result), *_unseen(result)]
    if result.infinite_loss_rows:
        notes.append(f"infinite loss at {some_rows(result.infinite_loss_rows)}")
    return notes


def _skill_score(result: EstimatedTerms) -> list[str]:
    if result.skill_score_error is None:
        return []
    low, high = result.interval("skill_score")
    score = f"{number(result.skill_score):.4g}  [{low:.4g}, {high:.4g}]"
    return [f"skill score = 1 - risk / uncertainty = {score}"]


def _settings(result: EstimatedTerms) -> str:
    kernel = f"kernel {result.kernel}, bandwidth {result.bandwidth:.4g}"
    if math.isinf(result.bandwidth):
        kernel = "no kernel correction"
    if result.kernel_rows is not None and result.kernel_rows < result.n_samples:
        kernel += f" from {result.kernel_rows} rows"
    if result.training_rows is not None and result.training_rows < result.n_samples:
        kernel += f", recalibrations fitted to {result.training_rows} rows"
    rows = f"n = {result.n_samples}{in_groups(result.n_groups)}"
    return f"method {result.method}, {kernel}, {rows}, k = {result.n_classes}"


def _meaning(result: EstimatedTerms) -> str:
    meaning = f"[ ]: {result.confidence_level:.0%} interval"
    if math.isnan(number(result.calibration_error)):
        return f"{meaning}; the other terms were not asked for"
    if "calibration_error" not in result.standard_errors:
        return f"{meaning}; the other terms have a bias that depends on the bandwidth, so none"
    return meaning


def _unseen(result: EstimatedTerms) -> list[str]:
    """Say how large a calibration error may hide, where the interval does not exclude 0."""
    low, _ = intervals(result).get("calibration_error", (math.inf, math.inf))
    if low > 0 or math.isnan(result.detection_floor):
        return []
    floor, power = f"{result.detection_floor:.3g}", f"{POWER:.0%}"
    return [f"a test would see calibration errors below {floor} in fewer than {power} of samples"]
