"""Dask collections → decompositions, by sketches of their partitions.

Dask reads, schedules and repeats; nothing here knows on how many machines.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from propercal._data.classes.columns import check_names_of_logits, is_listed, warn_of_absent
from propercal._data.inputs.reading import USUAL_NAMES, check_scalar
from propercal._data.inputs.settings import check_flag, taken_at_word
from propercal._data.predictions.links import check_link
from propercal._data.predictions.notions import as_notion
from propercal._data.words.messages import bad_value, held_warnings, warn
from propercal._kernels.algorithm import resolve_algorithm
from propercal.generators.base import BregmanGenerator
from propercal.methods import Method
from propercal.result import TERMS, Decomposition
from propercal.sketch.column_names import Called
from propercal.sketch.convention import Convention
from propercal.sketch.dask.partitions import Blocks, read_blocks
from propercal.sketch.dask.row_order import check_fixed, check_in_place
from propercal.sketch.dask.shards import (
    Plan,
    Shard,
    choose,
    join,
    join_names,
    names_in,
    pick,
    plain,
    summarise,
)
from propercal.sketch.first_class import check_doubts, check_for_zero, check_zeros
from propercal.sketch.occurred import occurred
from propercal.sketch.settings import as_summed
from propercal.sketch.state import State
from propercal.sketch.together import results_together

#: Rows that a bandwidth is chosen from.
_SAMPLE = 20_000
#: Rows, and numbers, that are loaded where a sketch is not exact enough.
_MOST_ROWS, _MOST_NUMBERS = 10**6, 10**8
#: Rows of which all pairs are visited in moderate time.
_FEW_ROWS = 20_000
#: Parts that are added up at a time.
_FAN_IN = 8

_IN_MEMORY = "load the data by .compute()"
_OF_XARRAY = "dimensions of Dask arrays have no names: pass DataArrays of xarray, which are loaded"
_LEFT_OUT = (
    "leave out rows without a label first: keep = y_true != ...; y_true[keep], y_proba[keep]"
)
#: What to do instead of settings that say how data lie.
_INSTEAD = {
    "class_axis": "bring the classes to the end, and all other axes into rows: "
    "dask.array.moveaxis(y_proba, ..., -1).reshape(-1, k), y_true.reshape(-1)",
    "class_dim": _OF_XARRAY,
    "sample_dims": _OF_XARRAY,
}


def as_plan(
    generators: Sequence[BregmanGenerator],
    notion: str,
    method: Method,
    *,
    confidence_level: float,
    from_logits: bool,
    sample_weight: object,
    labels: Sequence[Any] | None,
    pos_label: Any = None,
    link: str | None = None,
    ignore_index: Any = None,
    **layout: Any,
) -> Plan:
    """Return what is to be estimated, or raise if a setting is one that a sketch cannot heed."""
    needs = "with Dask collections, which are summed up in sketches"
    fix = f"leave it out, or {_IN_MEMORY}"
    for name, value in layout.items():
        if value is not None:
            raise bad_value(name, repr(value), f"None {needs}", _INSTEAD[name])
    check_link(link, bool(from_logits))
    check_scalar("ignore_index", ignore_index)
    summed = as_summed(method, None, needs, fix)
    for name, value, found, otherwise in (
        ("sample_weight", sample_weight, f"a {type(sample_weight).__name__}", _IN_MEMORY),
        ("ignore_index", ignore_index, repr(ignore_index), _LEFT_OUT),
    ):
        if value is not None and not summed.corrects_bias:
            raise bad_value(
                name,
                found,
                f"None {needs}, by a method whose nodes have no weights of rows",
                f'use method="debiased", or {otherwise}',
            )
    given = summed.given()
    gammas: list[float | None] | None = None
    if summed.corrects_bias or "bandwidth" in given:
        gamma = None if summed.corrects_bias else float(given["bandwidth"])
        gammas = [gamma] * len(generators)
    folds = {name: given[name] for name in ("n_folds", "random_state") if name in given}
    return Plan(
        generators,
        notion,
        method,
        gammas,
        given.get("algorithm", "auto"),
        confidence_level,
        from_logits,
        labels,
        pos_label,
        link,
        ignore_index=ignore_index,
        listed=labels is not None,
        positive=pos_label is not None,
        **folds,
    )


def decompose_blocks(
    y_true: object,
    y_proba: object,
    plan: Plan,
    in_memory: Callable[..., list[Decomposition]],
    sample_weight: object = None,
) -> list[Decomposition]:
    """Decompose the risk of Dask collections, for each generator.

    `in_memory` does so with arrays.
    """
    check_flag("from_logits", plan.from_logits)
    blocks = read_blocks(y_true, y_proba, sample_weight)
    if as_notion(plan.notion).n_outcomes(blocks.n_classes) > 2:
        raise bad_value(
            "notion",
            repr(plan.notion),
            f"a notion of one-dimensional problems for Dask collections of {blocks.n_classes} "
            "classes, since there is no sketch of canonical calibration",
            f'use "classwise" or "top-label", or {_IN_MEMORY}',
        )
    # What is wrong with settings is said before any data are read.
    columns = blocks.columns(plan.labels, plan.pos_label)
    unsaid = blocks.leaves_positive(plan.labels, plan.pos_label)
    plan = replace(plan, n_classes=blocks.n_classes, columns=columns, unsaid=unsaid)
    if blocks.marked:
        plan = replace(plan, labels=list(range(blocks.n_classes)), pos_label=None)
    elif plan.labels is not None or plan.pos_label is not None:
        names = blocks.names([], plan.labels, plan.pos_label)
        if plan.labels is not None:
            plan = replace(plan, labels=names, pos_label=None)
    if plan.bandwidths is not None:
        plan.sketches()
    if blocks.may_move:
        check_fixed(blocks.rows[0])
    if plan.labels is None and blocks.needs_all_labels():
        names = _names(blocks, plan, plan.pos_label)
        from_0 = names == list(range(blocks.n_classes))
        plan = replace(plan, labels=names, pos_label=None, counted=from_0)
    elif plan.labels is None:
        # A partition that lacks a class could not tell numbers from 0 from others.
        counted = replace(plan, labels=list(range(blocks.n_classes)), counted=True)
        try:
            return _summed(blocks, counted, in_memory)
        except ValueError:
            others = _other_numbers(blocks, plan)
            if others is None:
                raise
        plan = replace(plan, labels=others)
    return _summed(blocks, plan, in_memory)


def _other_numbers(blocks: Blocks, plan: Plan) -> list[Any] | None:
    """Return the numbers of classes if they are others than those from 0 on; None if not."""
    try:
        names = _names(blocks, plan, None)
    except ValueError:
        # What is wrong was found in its row.
        return None
    return None if names == list(range(blocks.n_classes)) else names


def _summed(
    blocks: Blocks, plan: Plan, in_memory: Callable[..., list[Decomposition]]
) -> list[Decomposition]:
    """Decompose the risk of collections whose classes are known."""
    chosen: list[str] = []
    if not plan.listed and plan.labels is not None:
        plan = replace(plan, by_order=plan.unsaid or blocks.by_order(plan.labels))
    if plan.bandwidths is None:
        bandwidths, chosen = _choose(blocks, plan)
        plan = replace(plan, bandwidths=bandwidths)
    whole = _reduce(partial(summarise, plan), partial(join, plan), blocks.rows)
    check_in_place(whole.numbered)
    if plan.counted:
        whole.labels.check(plan.n_classes, plan.ignore_index)
    return _results(whole, blocks, plan, chosen, in_memory)


def _results(
    whole: Shard,
    blocks: Blocks,
    plan: Plan,
    messages: Sequence[str],
    in_memory: Callable[..., list[Decomposition]],
) -> list[Decomposition]:
    sketches = whole.restored(plan)
    n = sketches[0].n_samples
    whole.repeated.check()
    _check_absent(sketches[0]._state, whole, blocks, plan)
    if n < 2 and (blocks.weighted or plan.ignore_index is not None):
        argument = "sample_weight" if plan.ignore_index is None else "y_true"
        found = f"{n} positive weights"
        raise bad_value(argument, found, "two or more", "let more rows count")
    if n < 2:
        raise bad_value("y_proba", f"{n} rows", "n ≥ 2", "pass more than one prediction")
    mixed = len(whole.separate) > 1
    results, inexact = [], mixed
    messages = list(messages)
    answers = results_together(sketches, plan.method, plan.confidence_level)
    for _ in [] if mixed else sketches:
        with held_warnings() as held:
            result = next(answers)
        results.append(result)
        messages += held
        if plan.method.corrects_bias:
            # Its tables have what memory would sum up.
            continue
        # A sketch warns of infinite terms, or else of nodes that may be off.
        finite = all(np.isfinite(getattr(result, term)) for term in TERMS)
        inexact = inexact or (bool(held) and finite)
    if inexact and n <= _most_rows(plan):
        parts = [plain(plan.columns, block) for block in _dask().compute(blocks.rows)[0]]
        whole_true, whole_proba, *weight = (
            np.concatenate([part[i] for part in parts]) for i in range(2 + blocks.weighted)
        )
        given = {
            "labels": taken_at_word(plan.labels),
            "pos_label": plan.pos_label,
            "link": plan.link,
        }
        return in_memory(whole_true, whole_proba, sample_weight=next(iter(weight), None), **given)
    if mixed:
        raise bad_value(
            "y_true",
            "an indicator matrix with partitions in which every row marks one class, while "
            f"{int(sketches[0]._state.totals.rows[1])} rows are in others",
            "one class in every row, or not in every row, of each partition",
            "pass fewer and larger partitions",
        )
    if whole.notes.total:
        said = " ".join(f"partition {i}: {message}" for i, message in whole.notes.first)
        more = whole.notes.total - len(whole.notes.first)
        warn(said + (f" There are {more} more such warnings." if more else ""))
    for message in dict.fromkeys(messages):
        warn(message)
    return results


def _check_absent(state: State, whole: Shard, blocks: Blocks, plan: Plan) -> None:
    """Look at columns that no row is of the class of, as in memory."""
    found, columns = occurred(state, plan.notion, whole.occurred), blocks.said[1].columns
    said = False
    if plan.counted and not (blocks.single or blocks.lists_0 or 0 in whole.labels.others):
        said = check_for_zero(found, plan.n_classes, plan.labels, columns)
    named = None if columns is None else list(columns)
    called, several = Called(blocks.said[1].name), not blocks.single
    classes = list(plan.labels or ()) or None
    # Partitions are given the classes that were found, too.
    doubted = plan.by_order or plan.listed or plan.positive
    doubts = whole.doubts if doubted and True not in whole.separate else None
    reading = Convention(
        classes, None, named, several, called, doubts=doubts, relation=whole.relation
    )
    check_doubts(reading, plan.n_classes, said=said, listed=plan.listed)
    if plan.listed or columns is None or True in whole.separate:
        return
    if not plan.from_logits:
        listed = {i for i, each in enumerate(columns) if is_listed(each, blocks.said[0])}
        check_zeros(columns, (whole.ruled_out or frozenset()) - listed, found.classes)
        return
    names = columns if blocks.marked else plan.labels or ()
    check_names_of_logits(columns, {names[i] for i in found.classes}, USUAL_NAMES)
    warn_of_absent(columns, found.classes, USUAL_NAMES)


def _most_rows(plan: Plan) -> int:
    """Return how many rows are loaded at most where a sketch is not exact enough."""
    linear = resolve_algorithm(plan.algorithm, plan.generators, np.ones((1, 2))) != "exact"
    return min(_MOST_ROWS if linear else _FEW_ROWS, _MOST_NUMBERS // plan.n_classes)


def _names(blocks: Blocks, plan: Plan, pos_label: Any) -> list[Any]:
    most = blocks.n_classes + 1
    names = partial(names_in, most, plan.ignore_index)
    found = _reduce(names, partial(join_names, most), blocks.labels)
    return blocks.names(found, None, pos_label, plan.ignore_index)


def _choose(blocks: Blocks, plan: Plan) -> tuple[list[float], list[str]]:
    """Choose bandwidths from rows at equal distances."""
    dask = _dask()
    sizes = blocks.sizes
    if sizes is None:
        sizes = dask.compute([dask.delayed(len, pure=False)(each) for each, *_ in blocks.labels])[0]
    n = sum(sizes)
    if n < 2:
        raise bad_value("y_proba", f"{n} rows", "n ≥ 2", "pass more than one prediction")
    rows = np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    ends = np.searchsorted(rows, starts)
    pieces = [
        dask.delayed(
            partial(pick, plan.columns, rows[ends[i] : ends[i + 1]] - starts[i]), pure=False
        )(i, block)
        for i, block in enumerate(blocks.rows)
        if ends[i] < ends[i + 1]
    ]
    bandwidths, messages = dask.compute(dask.delayed(partial(choose, plan), pure=False)(pieces))[0]
    return bandwidths, messages


def _reduce(
    function: Callable[..., Any], joined: Callable[[Sequence[Any]], Any], blocks: Sequence[Any]
) -> Any:
    """Apply a function to all partitions, and join what it returns by a tree."""
    dask = _dask()
    function, joined = (dask.delayed(each, pure=False) for each in (function, joined))
    parts = [function(i, block) for i, block in enumerate(blocks)]
    while len(parts) > 1:
        parts = [joined(parts[i : i + _FAN_IN]) for i in range(0, len(parts), _FAN_IN)]
    return dask.compute(parts[0])[0]


def _dask() -> Any:
    return importlib.import_module("dask")
