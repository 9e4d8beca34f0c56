"""Sections about several models, and about groups of rows."""

from __future__ import annotations

import math

from propercal._array import to_numpy
from propercal.inference import ModelComparison
from propercal.reporting import figures
from propercal.reporting.content import Block, Cell, Paragraph, Section, Table
from propercal.reporting.measured import Measured
from propercal.reporting.words import (
    count,
    estimate,
    level,
    listed,
    name_of,
    number,
    pvalue,
)

#: Pairs of models that are listed.
_MOST_PAIRS = 10
#: Groups that are drawn.
MOST_GROUPS = 60
_CALLED = {
    "risk": "loss",
    "calibration_error": "miscalibration",
    "refinement": "what is left after recalibration",
    "sharpness": "what it tells",
}


def comparison(found: Measured) -> Section | None:
    """Return the comparison of models; None for a single one."""
    if not found.comparisons:
        return None
    blocks: list[Block] = []
    for each in found.comparisons:
        blocks += _of_term(each)
    blocks.append(
        Paragraph(
            "Rows are paired: what makes all models err on the same rows cancels. A choice by "
            "these rows makes the loss of the chosen model look smaller than it is.",
            "small",
        )
    )
    if found.data is not None and found.data.paired_by:
        text = f"Rows of the files were paired {found.data.paired_by}; their labels agree."
        blocks.append(Paragraph(text, "small"))
    if found.name:
        words = f"The sections below are about {name_of(found.name)}, the first of the models."
        blocks.append(Paragraph(words))
    return Section("models", "Comparison of models", blocks)


def _of_term(found: ModelComparison) -> list[Block]:
    called = _CALLED.get(found.term, found.term)
    result = next(iter(found.models.values()))
    unit = f" in {result.units}" if result.units else ""
    best, ranks = found.best_set(), found.ranks
    confidence = level(found.confidence_level)
    rows = []
    for name in sorted(found.models, key=lambda each: (ranks[each].estimate, each)):
        each = found.models[name]
        value = float(to_numpy(getattr(each, found.term)))
        known = math.isfinite(value + each.standard_errors.get(found.term, math.inf))
        text, ends = estimate(value, each.interval(found.term) if known else None)
        rank = ranks[name]
        places = str(rank.lower) if rank.lower == rank.upper else f"{rank.lower} to {rank.upper}"
        may = "may be the best" if name in best else "is not the best"
        may = "is the best" if best == (name,) else may
        rows.append([Cell(name_of(name), may), Cell(text), Cell(ends), Cell(places)])
    blocks: list[Block] = [
        Paragraph(_verdict(found, called)),
        Table(
            f"Models by {called}{unit}",
            ("Model", "Value", "Interval", "Rank"),
            rows,
        ),
    ]
    differ = [each for each in found.pairs if each.familywise_pvalue <= 1 - found.confidence_level]
    if differ:
        shown = sorted(differ, key=lambda each: each.familywise_pvalue)[:_MOST_PAIRS]
        pairs = []
        for pair in shown:
            text, ends = estimate(pair.difference, pair.simultaneous_interval)
            called_pair = f"{name_of(pair.first)} less {name_of(pair.second)}"
            pairs.append([Cell(called_pair), Cell(text), Cell(ends)])
        more = "" if len(differ) == len(shown) else f", {len(shown)} of {len(differ)}"
        blocks.append(
            Table(
                f"Pairs that differ in {called}{more}; intervals hold together ({confidence})",
                ("Pair", "Difference", "Interval"),
                pairs,
            )
        )
    return blocks


def _verdict(found: ModelComparison, called: str) -> str:
    best, confidence = found.best_set(), level(found.confidence_level)
    names = [name_of(each) for each in best]
    if len(best) == 1:
        return f"By {called}, {names[0]} is the best, with {confidence} confidence."
    if len(best) == len(found.models):
        return f"By {called}, these rows do not tell which model is the best ({confidence})."
    return f"By {called}, the best is among {listed(names)}, with {confidence} confidence."


def groups(found: Measured) -> Section | None:
    """Return the terms of groups; None where none were given."""
    if found.groups is None:
        reason = found.absent.get("groups")
        return None if reason is None else Section("groups", "Groups", [Paragraph(reason)])
    result, test = found.groups, found.groups.test
    unit = f" in {result.whole.units}" if result.whole.units else ""
    smallest = 1 / (test.n_resamples + 1)
    rows = []
    for name, each in result.groups.items():
        value = float(to_numpy(each.calibration_error))
        known = math.isfinite(value + each.standard_errors.get("calibration_error", math.inf))
        text, ends = estimate(value, each.interval("calibration_error") if known else None)
        p = pvalue(test.adjusted[name], smallest)
        rows.append(
            [
                Cell(name_of(name), count(each.n_samples, "row")),
                Cell(number(float(to_numpy(each.risk)))),
                Cell(text, ends),
                Cell(p),
            ]
        )
    blocks: list[Block] = [Paragraph(_of_test(found))]
    if found.merged:
        blocks.append(
            Paragraph(
                f"{count(len(found.merged), 'group')} with few rows were put together: "
                f"{listed(list(found.merged), 12)}."
            )
        )
    if result.parts is not None and math.isfinite(result.parts["added"].value):
        added = result.parts["added"]
        known = math.isfinite(added.standard_error)
        text, ends = estimate(added.value, added.interval() if known else None)
        inside = f" (interval {ends})" if ends else ""
        beyond = known and added.interval()[0] > 0
        why = "errors cancel between groups" if beyond else "no more than chance may explain"
        blocks.append(
            Paragraph(
                f"Knowing the group adds {text}{unit.replace(' in', '')}{inside} to the "
                f"miscalibration of all rows: {why}."
            )
        )
    if len(result.groups) <= MOST_GROUPS:
        figure = figures.groups_figure(found)
        blocks += [] if figure is None else [figure]
    head = ("Group", "Loss", "Miscalibration, interval", "Adjusted p")
    blocks.append(Table(f"Groups, values{unit}" if unit else "Groups", head, rows))
    return Section("groups", "Groups", blocks)


def _of_test(found: Measured) -> str:
    assert found.groups is not None  # noqa: S101  # as its caller has seen
    test = found.groups.test
    p = pvalue(test.pvalue, 1 / (test.n_resamples + 1))
    n = count(len(found.groups.groups), "group")
    worst = name_of(test.worst)
    end = "p-values are adjusted for the number of groups, so that the worst of many is no surprise"
    alpha = 1 - found.groups.whole.confidence_level
    if test.pvalue <= alpha:
        off = sum(each <= alpha for each in test.adjusted.values())
        alone = sum(each <= test.pvalue for each in test.adjusted.values()) == 1
        most = f", {worst} most clearly" if alone and off > 1 else f": {worst}" if alone else ""
        are = "is" if off == 1 else "are"
        return f"Of {n}, {off} {are} shown to be miscalibrated{most} ({p}); {end}."
    nothing = f"None of {n} is shown to be miscalibrated; {worst} comes closest ({p})"
    return f"{nothing}; {end}."
