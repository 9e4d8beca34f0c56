"""What a failed assertion says: what was found, what it means, what to do."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from propercal._data.words.messages import some_names
from propercal.inference.differences import PairedDifference, PairedDifferences
from propercal.result import Decomposition
from propercal.testing._limits import lower_limit

#: Lines of a table of subgroups.
_MOST = 20
_WIDTH = 88


class Failing(NamedTuple):
    """Rows whose predictions are shown not to be calibrated."""

    name: str
    n_samples: int
    pvalue: float
    result: Decomposition | None
    """The terms, where they were estimated."""
    test: str
    """The test in words, where it is one of all rows."""
    reason: str
    """Why there are no terms, where they were asked for."""


class Question(NamedTuple):
    """What was asked."""

    alpha: float
    allowed: float
    n_sets: int
    fixed: bool
    """Whether the same label sets are drawn in every run."""
    dependence_told: bool
    warnings: Sequence[str]


def not_calibrated(failing: Sequence[Failing], asked: Question) -> AssertionError:
    """Build the error of predictions that are not calibrated."""
    worst = failing[0]
    one = asked.n_sets == 1
    where = "" if one else f" for {some_names([each.name for each in failing])}"
    adjusted = "" if one else f", adjusted for {asked.n_sets} sets of rows"
    head = (
        f"the predictions are not calibrated{where}: p-value {worst.pvalue:.3g}{adjusted}, at most "
        f"alpha = {asked.alpha:.3g}"
    )
    if asked.allowed and worst.result is not None:
        head += (
            f"\nthe calibration error is at least {lower_limit(worst.result):.3g}, more than "
            f"max_calibration_error = {asked.allowed:.3g}"
        )
    parts = [head, worst.test if one else _table(failing)]
    if worst.result is not None:
        title = "" if one else f"rows of {worst.name!r}: "
        parts.append(f"{title}{worst.result}{_direction(worst.result)}")
    elif worst.reason:
        parts.append(f"no terms: {worst.reason}")
    parts += [_bullets("What it means", _meaning(asked)), _bullets("What to do", _advice(asked))]
    return AssertionError(_joined(parts, asked.warnings))


def worse_calibrated(
    found: PairedDifferences, pvalue: float, margin: float, alpha: float, warnings: Sequence[str]
) -> AssertionError:
    """Build the error of a candidate that is worse calibrated than the reference."""
    term: PairedDifference = found["calibration_error"]
    more = f" by more than margin = {margin:.3g}" if margin else ""
    head = (
        f"the candidate is worse calibrated than the reference{more}: p-value {pvalue:.3g}, at "
        f"most alpha = {alpha:.3g}\nits calibration error is larger by {term.difference:.3g}"
    )
    worse = f"worse{' by more than the margin' if margin else ''}"
    meaning = (
        (
            "a is the candidate, b the reference, both on the same rows. Test sets of candidates "
            f"that are no {worse} fail at a rate of about {alpha:.3g} at most, as rows are many."
        ),
        (
            "The risk is the loss of the predictions as they are, the refinement what would be "
            "left after recalibration."
        ),
    )
    advice = (
        (
            "recalibrate the candidate on rows other than these (propercal.recalibration), as the "
            "reference was;"
        ),
        "or find the rows: decompose(y_true, candidate).contributions() has those that cost most;",
        "or say by margin=... what difference does not matter, in units of the loss.",
    )
    parts = [head, str(found), _bullets("What it means", meaning), _bullets("What to do", advice)]
    return AssertionError(_joined(parts, warnings))


def _table(failing: Sequence[Failing]) -> str:
    """Return a line for each set of rows that fails."""
    shown = failing[:_MOST]
    width = max(len("rows of"), *(len(each.name) for each in shown))
    lines = [f"{'rows of':<{width}} {'rows':>8} {'error':>10}  {'interval':<23} {'p-value':>8}"]
    for each in shown:
        value, ends = _error(each.result)
        lines.append(
            f"{each.name:<{width}} {each.n_samples:>8} {value:>10}  {ends:<23} {each.pvalue:>8.3g}"
        )
    if len(failing) > len(shown):
        lines.append(f"and {len(failing) - len(shown)} more")
    return "\n".join(line.rstrip() for line in lines)


def _error(result: Decomposition | None) -> tuple[str, str]:
    """Return the calibration error and its interval as text."""
    if result is None:
        return "", ""
    value = result._values()["calibration_error"]
    if not math.isfinite(value):
        return f"{value:.4g}", ""
    low, high = result.interval("calibration_error")
    return f"{value:.4g}", f"[{low:.4g}, {high:.4g}]"


def _direction(result: Decomposition) -> str:
    """Say which way the predictions err, where the result can."""
    try:
        found = result.direction()
    except ValueError:
        return ""
    over, under = found.over_confidence, found.under_confidence
    return f"\n  of the error, over-confidence {over:.4g}, under-confidence {under:.4g}"


def _meaning(asked: Question) -> Iterator[str]:
    yield (
        f"Test sets of calibrated predictions fail at a rate of {asked.alpha:.3g} at most; "
        + (
            "these rows fail in every run, as the same labels are drawn each time."
            if asked.fixed
            else "labels are drawn anew in each run: random_state=0 draws the same ones."
        )
    )
    yield "The calibration error is what recalibration could save, per row."


def _advice(asked: Question) -> Iterator[str]:
    yield (
        "recalibrate on rows other than these (propercal.recalibration), or train again; "
        "decompose(...).contributions() has the rows that cost most;"
    )
    if not asked.dependence_told:
        yield (
            "or, if rows depend on each other (several of one patient, repetitions), say which do "
            "by groups=...: else there are more false alarms;"
        )
    yield (
        "or accept an error that does not matter, "
        f"{'a larger ' if asked.allowed else ''}max_calibration_error=..., in units of the loss."
    )


def _bullets(title: str, items: Iterator[str] | Sequence[str]) -> str:
    lines = [
        textwrap.fill(each, _WIDTH, initial_indent="- ", subsequent_indent="  ") for each in items
    ]
    return "\n".join([f"{title}:", *lines])


def _joined(parts: Sequence[str], warnings: Sequence[str]) -> str:
    notes = [textwrap.fill(f"Warning: {each}", _WIDTH) for each in warnings]
    return "\n\n".join([*parts, *notes])
