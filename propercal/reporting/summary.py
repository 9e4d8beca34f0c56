"""What was found in sentences that can be repeated, never more certain than the intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator

from propercal._array import to_numpy
from propercal._results.intervals import POWER
from propercal.reporting.measured import Measured
from propercal.reporting.recalibrations import Saving
from propercal.reporting.words import (
    count,
    decimals_for,
    estimate,
    in_hundredths,
    level,
    listed,
    loss_called,
    name_of,
    number,
    percent,
    pvalue,
)
from propercal.result import Decomposition

#: A p-value up to which a test is said to have found something.
_FOUND = 0.05
#: A share of the calibration error from which it is called mostly of one side.
_MOSTLY = 0.8

RECALIBRATIONS = {
    "temperature": "temperature scaling",
    "isotonic": "isotonic regression of each class",
    "average": "an average of many recalibrations",
}


def lead(found: Measured) -> str:
    """Return the sentence that says what was measured, and whether to rely on it."""
    return _measured(found) + (" Mind the cautions below." if found.warnings else "")


def _measured(found: Measured) -> str:
    result = found.result
    who = f"{name_of(found.name)}: of" if found.name else "Of"
    loss, unit = _loss(result)
    risk = float(to_numpy(result.risk))
    if math.isinf(risk):
        return _infinite(found, loss)
    value = float(to_numpy(result.calibration_error))
    ends = _ends(result, "calibration_error")
    decimals = None if ends is None else decimals_for(ends[1] - ends[0])
    whole = f"{who} the {loss} of {number(risk, decimals)}{unit}"
    if not found.is_estimated:
        ends = _ends(result, "risk")
        text, interval = estimate(risk, ends)
        whole = f"{who[:-2] + 'the' if found.name else 'The'} {loss} is {text}{unit}"
        inside = f" ({level(result.confidence_level)} interval {interval})" if interval else ""
        return f"{whole}{inside}; how much of it is miscalibration is not known."
    if ends is None:
        return (
            f"{whole}, {number(value)} is estimated to be miscalibration; the method that was "
            "chosen has a bias of unknown size, and states no interval."
        )
    text, interval = estimate(value, ends)
    inside = f"{level(result.confidence_level)} interval {interval}"
    if ends[0] > 0:
        return f"{whole}, {text} ({inside}) is miscalibration, which a recalibration could remove."
    verdict = "these rows do not show that there is any."
    if _is_rejected(found):
        verdict = "a test finds that there is some, but how much, these rows hardly tell."
    return f"{whole}, {text} ({inside}) is estimated to be miscalibration: {verdict}"


def _is_rejected(found: Measured) -> bool:
    return found.test is not None and found.test.pvalue <= _FOUND


def _infinite(found: Measured, loss: str) -> str:
    rows = len(found.result.infinite_loss_rows)
    who = f"{name_of(found.name)}: the" if found.name else "The"
    return (
        f"{who} {loss} is infinite, since in {count(rows, 'row')} of "
        f"{count(found.result.n_samples, 'row')} something occurred to which the model gave "
        "probability 0."
        if rows
        else f"{who} {loss} is infinite."
    )


def sentences(found: Measured) -> Iterator[str]:
    """Yield what else there is to say, from everyday terms to what to do."""
    yield from _everyday(found)
    yield from _direction(found)
    yield from _test(found)
    yield from _unseen(found)
    yield from _help(found)
    yield from _skill(found.result)
    yield from _groups(found)


def _loss(result: Decomposition) -> tuple[str, str]:
    return loss_called(result.generator.name), f"\u00a0{result.units}" if result.units else ""


def _ends(result: Decomposition, term: str) -> tuple[float, float] | None:
    value = float(to_numpy(getattr(result, term)))
    known = math.isfinite(value) and math.isfinite(result.standard_errors.get(term, math.inf))
    return result.interval(term) if known else None


def _everyday(found: Measured) -> Iterator[str]:
    said = found.confidence
    if said is None:
        return
    low, high = said.interval
    points, ends, means = in_hundredths(said.gap, (low, high), said.stated, said.right)
    given = (
        f"In everyday terms: on average the model was {means[0]}\u00a0% sure of its first choice, "
        f"and the first choice was right in {means[1]}\u00a0% of the rows."
    )
    if not said.is_sure:
        yield (
            f"{given} Chance may explain that gap of {points} percentage points (interval "
            f"{ends}); errors in both directions may cancel in such a mean."
        )
        return
    too = "too sure" if said.gap > 0 else "not sure enough"
    if said.gap < 0:
        points, ends, _ = in_hundredths(-said.gap, (-high, -low))
    yield f"{given} It is {too}, by {points} percentage points (interval {ends})."


def _direction(found: Measured) -> Iterator[str]:
    result, direction = found.result, found.direction
    ends = _ends(result, "calibration_error")
    if direction is None or ends is None or ends[0] <= 0:
        return
    value = float(to_numpy(result.calibration_error))
    for name, words in (
        ("over_confidence", "over-confidence: probabilities are more extreme than what happens"),
        ("under_confidence", "under-confidence: probabilities are less extreme than what happens"),
    ):
        one = getattr(direction, name)
        if one >= _MOSTLY * value and direction.interval(name)[0] > 0:
            yield f"Its miscalibration is mostly {words}."


def _test(found: Measured) -> Iterator[str]:
    test = found.test
    if test is None:
        return
    smallest = 1 / (test.n_resamples + 1)
    p = pvalue(test.pvalue, smallest)
    if test.pvalue <= _FOUND:
        often = f"at most 1 in {round(1 / test.pvalue)}"
        yield (
            f"A test of calibration fails: a calibrated model would show deviations as clear as "
            f"these in {often} of such samples ({p})."
        )
        return
    yield (
        f"A test of calibration is passed ({p}): a calibrated model shows such deviations in about "
        f"{percent(test.pvalue)} of such samples. That does not prove the predictions calibrated."
    )


def _unseen(found: Measured) -> Iterator[str]:
    result = found.result
    ends = _ends(result, "calibration_error")
    if ends is None or ends[0] > 0 or math.isnan(result.detection_floor) or _is_rejected(found):
        return
    _, unit = _loss(result)
    yield (
        f"With so many rows a miscalibration of {number(result.detection_floor)}{unit} is seen in "
        f"{percent(POWER)} of samples; smaller ones are overlooked more often."
    )


def best_map(savings: list[Saving]) -> Saving | None:
    """Return the map that saves most, if any saves something beyond chance."""
    helping = [each for each in savings if each.helps and each.name != "average"]
    return max(helping, key=lambda each: each.saved) if helping else None


def _help(found: Measured) -> Iterator[str]:
    maps = [each for each in found.savings if each.name != "average"]
    if not maps:
        return
    best, (_, unit) = best_map(maps), _loss(found.result)
    if best is None:
        tried = listed([RECALIBRATIONS[each.name] for each in maps])
        yield f"Of the recalibrations that were tried ({tried}), none is shown to help."
        return
    words = RECALIBRATIONS[best.name]
    words = words[:1].upper() + words[1:]
    if best.interval is None:
        yield f"{words} would have made the loss finite, on rows that took no part in its fit."
        return
    text, ends = estimate(best.saved, best.interval)
    risk = float(to_numpy(found.result.risk))
    of = f", {percent(best.saved / risk)} of the loss" if risk > 0 else ""
    yield (
        f"{words} would have saved {text}{unit} a prediction (interval {ends}){of}, on rows that "
        "took no part in its fit."
    )


def _skill(result: Decomposition) -> Iterator[str]:
    if result.skill_score_error is None:
        return
    low, high = result.interval("skill_score")
    score = float(to_numpy(result.skill_score))
    text, ends, _ = in_hundredths(score, (low, high))
    inside = f"interval {ends}\u00a0%"
    if low > 0:
        yield (
            f"As predictions go, it saves {text}\u00a0% ({inside}) of the loss of one who knows "
            "only how frequent each class is."
        )
    elif high < 0:
        worse, ends, _ = in_hundredths(-score, (-high, -low))
        yield (
            f"It does worse than one who knows only how frequent each class is, whose loss it "
            f"exceeds by {worse}\u00a0% (interval {ends}\u00a0%)."
        )
    else:
        yield (
            f"It is not shown to be better than the bare frequency of each class, of whose loss it "
            f"saves {text}\u00a0% ({inside})."
        )


def _groups(found: Measured) -> Iterator[str]:
    if found.groups is None:
        return
    test = found.groups.test
    p = pvalue(test.pvalue, 1 / (test.n_resamples + 1))
    n = count(len(found.groups.groups), "group")
    if test.pvalue <= _FOUND:
        off = [name_of(name) for name, each in test.adjusted.items() if each <= _FOUND]
        are = "is" if len(off) == 1 else "are"
        yield f"Of {n}, {listed(off)} {are} shown to be miscalibrated ({p})."
    else:
        yield f"Of {n}, none is shown to be miscalibrated ({p}, adjusted for their number)."
