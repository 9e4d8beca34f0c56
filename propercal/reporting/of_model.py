"""Sections about the model that is shown in detail."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from propercal._array import to_numpy
from propercal.reporting import figures
from propercal.reporting.classes import ClassPart, ranked
from propercal.reporting.content import (
    Block,
    Cell,
    Code,
    Figure,
    Items,
    Paragraph,
    Section,
    Table,
)
from propercal.reporting.measured import Measured
from propercal.reporting.summary import RECALIBRATIONS, best_map, lead, sentences
from propercal.reporting.words import (
    between,
    count,
    decimals_for,
    estimate,
    grouped,
    level,
    name_of,
    number,
    percent,
    probability,
)
from propercal.result import TERMS

#: Classes that are listed.
MOST_CLASSES = 20
_TERMS: Mapping[str, tuple[str, str]] = {
    "risk": ("Loss", "risk: the mean loss of the predictions as they are"),
    "calibration_error": (
        "Miscalibration",
        "calibration error: what a recalibration could remove of the loss",
    ),
    "refinement": ("What is left", "refinement: the loss of the best recalibration"),
    "sharpness": ("What it tells", "sharpness: the information of predictions on outcomes"),
    "uncertainty": (
        "Loss without a model",
        "uncertainty: that of predicting the frequency of each class, for every row",
    ),
}
_NOTES: Mapping[str, str] = {"average": "the one that the estimate itself is made of"}
#: Rows of a bin that is listed.
_FEWEST = 5
_CODE: Mapping[str, str] = {
    "temperature": "from propercal.recalibration import TemperatureScaling\n\n"
    "scaling = TemperatureScaling().fit(old_predictions, old_labels)\n"
    "better = scaling.predict_proba(new_predictions)",
    "isotonic": "from propercal.recalibration import ClasswiseIsotonic\n\n"
    "isotonic = ClasswiseIsotonic(smoothed=True).fit(old_predictions, old_labels)\n"
    "better = isotonic.predict_proba(new_predictions)",
}


def summary(found: Measured) -> Section:
    """Return what was found, in sentences."""
    return Section(
        "summary",
        "Summary",
        [Paragraph(lead(found), "lead"), Items(list(sentences(found)))],
    )


def cautions(found: Measured) -> Section | None:
    """Return warnings, if there are any."""
    texts = list(found.warnings)
    if "terms" in found.absent:
        texts.insert(0, found.absent["terms"])
    return Section("cautions", "Cautions", [Items(texts, "caution")]) if texts else None


def terms(found: Measured) -> Section:
    """Return bars and a table of the terms."""
    result = found.result
    units = f" in {result.units}" if result.units else ""
    rows = []
    for term in TERMS:
        called, meaning = _TERMS[term]
        value = float(to_numpy(getattr(result, term)))
        if math.isnan(value):
            rows.append([Cell(called, meaning), Cell("not estimated"), Cell("")])
            continue
        known = math.isfinite(value + result.standard_errors.get(term, math.inf))
        text, ends = estimate(value, result.interval(term) if known else None)
        rows.append([Cell(called, meaning), Cell(text), Cell(ends or "none")])
    blocks: list[Block] = [
        Paragraph(
            "Loss = miscalibration + what is left, and what is left = loss without a model − what "
            "it tells. Lines on bars are intervals."
        ),
        *_figure(figures.terms_figure(found)),
        Table(
            f"The loss and its parts{units}",
            ("Part", "Value", f"{level(result.confidence_level)} interval"),
            rows,
        ),
    ]
    return Section("terms", "The loss and its parts", blocks)


def _figure(figure: Figure | None) -> Iterator[Figure]:
    if figure is not None:
        yield figure


def reliability(found: Measured) -> Section:
    """Return the reliability diagram, and where it leaves the diagonal."""
    blocks: list[Block] = []
    if found.reliability is None:
        blocks.append(Paragraph(found.absent.get("reliability", "There is nothing to show.")))
        return Section("reliability", "Reliability", blocks)
    blocks.append(
        Paragraph(
            "If probabilities can be taken at their word, what is said to have a probability of "
            "0.8 happens in 80\u00a0% of such rows: the curve follows the dashed line. Where it "
            "leaves the grey band, chance hardly explains it. The coloured band holds the true "
            f"frequencies, with a confidence of {level(found.result.confidence_level)}, if they "
            "rise with the predictions."
        )
    )
    blocks += _figure(figures.reliability_figure(found))
    blocks += _bins(found)
    return Section("reliability", "Reliability", blocks)


def _bins(found: Measured) -> Iterator[Block]:
    dataset = found.reliability
    assert dataset is not None  # noqa: S101  # as its caller has seen
    rows = []
    names = ("prediction", "frequency", "lower", "upper", "count")
    columns = (dataset[f"bin_{name}"].values.tolist() for name in names)
    left_out = 0
    for said, happened, low, high, n in zip(*columns, strict=True):
        if n < _FEWEST:
            left_out += int(n)
            continue
        off = said < low or said > high
        rows.append(
            [
                Cell(probability(said), "beyond chance" if off else ""),
                Cell(percent(happened)),
                Cell(f"{percent(low)} to {percent(high)}"),
                Cell(grouped(int(n))),
            ]
        )
    confidence = level(dataset.attrs["confidence_level"])
    yield Table(
        f"Predictions by size: what was said and what happened, with limits that hold for all "
        f"lines together ({confidence})",
        ("Said, on average", "Happened", "Limits", "Rows"),
        rows,
        frozenset({0}),
    )
    if left_out:
        text = f"Left out: {count(left_out, 'row')} in lines of fewer than {_FEWEST} rows."
        yield Paragraph(text, "small")


def recalibration(found: Measured) -> Section:
    """Return what recalibrations save on rows that took no part in their fit."""
    key, title = "recalibration", "What recalibration would save"
    if not found.savings:
        return Section(key, title, [Paragraph(found.absent.get(key, "Nothing was measured."))])
    result = found.result
    unit = f" ({result.units})" if result.units else ""
    risk = float(to_numpy(result.risk))
    rows = []
    for each in sorted(found.savings, key=lambda x: (math.isnan(x.saved), -x.saved)):
        words = RECALIBRATIONS[each.name]
        note = _NOTES.get(each.name, "")
        if each.temperature is not None:
            note = f"temperature {number(each.temperature)}; 1 leaves predictions as they are"
        text, ends = estimate(each.saved, each.interval)
        known = risk > 0 and math.isfinite(each.saved / risk)
        of = f"{percent(each.saved / risk)} of the loss" if known else ""
        if math.isnan(each.saved):
            text = "loss stays infinite"
        shown = "beyond chance" if each.helps else "not beyond chance"
        cells = (Cell(text, of), Cell(ends or "none", shown))
        rows.append([Cell(words[:1].upper() + words[1:], note), *cells])
    blocks: list[Block] = [
        Paragraph(
            "Each recalibration was fitted to four fifths of the rows and judged on the others, "
            "five times, so that no row took part in the fit that it judges. "
            f"Intervals hold together ({level(result.confidence_level)})."
        ),
        Table(
            f"Loss saved by recalibration, per prediction{unit}",
            ("Recalibration", "Saved", "Interval"),
            rows,
        ),
    ]
    best = best_map(found.savings)
    if best is not None:
        blocks += [
            Paragraph(
                "Fit it to rows that are used for nothing else, such as these, and apply it to new "
                "predictions. Picked as the best of several by the same rows, it looks slightly "
                "better here than it is.",
                "small",
            ),
            Code(_CODE[best.name]),
        ]
    return Section(key, title, blocks)


def classes(found: Measured) -> Section | None:
    """Return classes by what they add to the class-wise error; None for two classes."""
    parts = ranked(found.classes)
    if not parts:
        if "classes" not in found.absent or found.result.n_classes == 2:
            return None
        return Section("classes", "Classes", [Paragraph(found.absent["classes"])])
    shown, rest = parts[:MOST_CLASSES], parts[MOST_CLASSES:]
    unit = f"\u00a0{found.result.units}" if found.result.units else ""
    text = (
        "Each class against all others: what it adds to the class-wise calibration error, the "
        f"largest first. They add up to {number(sum(each.error for each in parts))}{unit}. Each "
        "interval is for its class alone."
    )
    confidence = level(found.result.confidence_level)
    blocks: list[Block] = [Paragraph(text)]
    blocks += _figure(figures.classes_figure(found, shown))
    blocks.append(
        Table(
            "Classes by what they add to the error",
            ("Class", f"Added, {confidence} interval", "Predicted", "Occurred"),
            _rows_of_classes(found, shown),
        )
    )
    if rest:
        added = sum(each.error for each in rest)
        text = (
            f"{count(len(rest), 'more class', 'more classes')} together add {number(added)}; "
            f"none of them adds more than {number(rest[0].error)}."
        )
        blocks.append(Paragraph(text, "small"))
    return Section("classes", "Classes", blocks)


def _rows_of_classes(found: Measured, shown: Sequence[ClassPart]) -> list[list[Cell]]:
    widths = [each.interval[1] - each.interval[0] for each in shown if each.interval is not None]
    decimals = decimals_for(float(np.median(widths))) if widths else None
    largest = max((each.error for each in shown if math.isfinite(each.error)), default=0.0)
    rows = []
    for each in shown:
        text = number(each.error, decimals)
        ends = "" if each.interval is None else between(each.interval, decimals)
        known = largest > 0 and math.isfinite(each.error)
        rows.append(
            [
                Cell(name_of(found.class_called(each.number))),
                Cell(text, ends, max(each.error, 0.0) / largest if known else None),
                Cell(percent(each.predicted)),
                Cell(percent(each.share), _occurred(each.n_occurred)),
            ]
        )
    return rows


def _occurred(n: int) -> str:
    return "never" if n == 0 else count(n, "row")


def costly(found: Measured) -> Section | None:
    """Return the rows of the largest losses."""
    rows_found = found.costly
    if rows_found is None or not rows_found.rows:
        return None
    rows = []
    named = any(each.name is not None for each in rows_found.rows)
    for each in rows_found.rows:
        cells = [Cell(name_of(each.name) if each.name is not None else grouped(each.row))]
        if named:
            cells.append(Cell(grouped(each.row)))
        cells.append(Cell(number(each.loss)))
        if each.label is not None:
            known = each.given is not None
            called = found.class_called(each.label) if known else each.label
            note = f"was given {probability(each.given)}" if each.given is not None else ""
            cells.append(Cell(name_of(called), note))
        if each.first_choice is not None and each.stated is not None:
            choice = name_of(found.class_called(each.first_choice))
            cells.append(Cell(choice, f"at {probability(each.stated)}"))
        rows.append(cells)
    head = ["Row", *(["Number"] if named else []), "Loss", "What occurred", "First choice"]
    width = max(map(len, rows))
    words = {0, *np.arange(2 + named, width).tolist()}
    text = f"The {len(rows)} rows of the largest loss"
    if not math.isnan(rows_found.share):
        text += f", of {grouped(rows_found.n)}, make up {percent(rows_found.share)} of the loss"
    text += (
        ". Look at them first: wrong labels and broken inputs are often among them. "
        "Rows are counted from 0."
    )
    table = Table("Rows of the largest loss", head[:width], rows, frozenset(words))
    return Section("rows", "The rows that cost most", [Paragraph(text), table])
