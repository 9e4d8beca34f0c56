"""Rows → the points of their problems, and what these add to the state of a sketch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from propercal._array import by_rows, counts, device, is_numpy, like, namespace, one_hot, to_numpy
from propercal._data.predictions.notions import as_notion
from propercal._data.predictions.predictions import Predictions
from propercal._data.words.messages import bad_value
from propercal._kernels.panels import Panels, Placement
from propercal._methods.folds import assign_folds
from propercal._methods.table import inner_losses, log_odds_of
from propercal._threads import map_threads, n_threads
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.sketch.nodes import Nodes, fill_cells
from propercal.sketch.state import Floats, Frame, State, Whole
from propercal.sketch.tables import PointSums
from propercal.sketch.totals import Totals


class Pairs(NamedTuple):
    """The q problems of n rows: pairs (1 − p, p), and what occurred."""

    prob: Array
    """(q, n, 2)."""
    log_prob: Array
    """(q, n, 2)."""
    label: Array
    """(q, n) 0 or 1."""
    weight: Floats | None
    """(n,) weights, in NumPy; None where each is 1."""

    @property
    def n_samples(self) -> int:
        """Rows."""
        return int(self.label.shape[1])

    def zeros(self) -> Whole:
        """(q, 2) how often probability 0 is given to each outcome."""
        xp = namespace(self.prob)
        impossible = xp.astype(xp.isinf(self.log_prob), xp.int64)
        return to_numpy(xp.sum(impossible, axis=1))


def pairs_of(rows: Predictions, notion: str, weight: Floats | None) -> Pairs:
    """Return all problems of a notion at once: one by one they take long where classes are many."""
    xp = namespace(rows.prob)
    reduction = as_notion(notion)
    if not reduction.per_class:
        (problem,) = reduction.problems(rows)
        prob, log_prob, label = (
            xp.stack([part], axis=0) for part in (problem.prob, problem.log_prob, problem.label)
        )
        return Pairs(prob, log_prob, label, weight)
    complement, log_complement = rows.complement()
    if rows.classes.indicator is not None:
        occurred = like(rows.classes.indicator[rows.rows], rows.prob).T
    else:
        numbers = xp.arange(rows.n_classes, dtype=rows.label.dtype, device=device(rows.label))
        occurred = rows.label[None, :] == numbers[:, None]
    return Pairs(
        xp.stack([complement.T, rows.prob.T], axis=2),
        xp.stack([log_complement.T, rows.log_prob.T], axis=2),
        xp.astype(occurred, xp.int64),
        weight,
    )


#: Weights whose squares, and sums of these, are numbers.
LEAST_WEIGHT, MOST_WEIGHT = 1e-100, 1e100


def check_weights(weight: Floats | None) -> None:
    """Raise if weights are so extreme that they cannot be added to those of rows to come."""
    if weight is None or not len(weight):
        return
    extreme = np.flatnonzero((weight < LEAST_WEIGHT) | (weight > MOST_WEIGHT))
    if extreme.size:
        raise bad_value(
            "sample_weight",
            f"{weight[extreme[0]]:g}",
            f"0, or {LEAST_WEIGHT:g} to {MOST_WEIGHT:g} in a sketch, which sums their squares up "
            "before it knows all",
            "multiply all weights by one number",
        )


class RowLosses(NamedTuple):
    """Losses of rows, averaged over problems."""

    loss: Floats
    """(n,)."""
    inner: Floats
    """(n,) where predictions below the floor of tables are at it."""


class PendingRows(NamedTuple):
    """A few rows that are to be added later: together that takes less time."""

    pairs: Pairs
    """In NumPy, and of nobody else."""
    losses: RowLosses
    n_odd: int
    """Rows of yes-or-no problems."""


def pending_rows(pairs: Pairs, generator: BregmanGenerator, n_odd: int) -> PendingRows:
    """Return rows of which all that may fail, which is the generator, has been done."""
    xp = namespace(pairs.prob)
    q, n = pairs.label.shape
    prob, log_prob = (xp.reshape(each, (-1, 2)) for each in pairs[:2])
    found = _losses(generator, prob, log_prob, xp.reshape(pairs.label, (-1,)))
    losses = RowLosses(*(each.reshape(q, n).mean(axis=0) for each in found))
    # Weights have been read into an array of their own.
    points = to_numpy(pairs.prob), to_numpy(pairs.log_prob), to_numpy(pairs.label)
    return PendingRows(Pairs(*points, pairs.weight), losses, n_odd)


def state_of_pending(rows: Sequence[PendingRows], frame: Frame, n_seen: int) -> State:
    """Return the state that has seen some rows, after `n_seen` others."""
    parts = [
        np.concatenate(each, axis=1) for each in zip(*(r.pairs[:3] for r in rows), strict=True)
    ]
    weight = None
    if any(r.pairs.weight is not None for r in rows):
        weight = np.concatenate(
            [
                np.ones(len(r.losses.loss)) if r.pairs.weight is None else r.pairs.weight
                for r in rows
            ]
        )
    pairs = Pairs(parts[0], parts[1], parts[2], weight)
    losses = RowLosses(*(np.concatenate(x) for x in zip(*(r.losses for r in rows), strict=True)))
    tables = [_point_sums(pairs, i, frame, n_seen) for i in range(len(pairs.label))]
    nodes = None if frame.panels is None else _nodes_of_few(pairs, frame.panels)
    return State(_totals(pairs, losses, sum(r.n_odd for r in rows)), tables, nodes)


def _nodes_of_few(pairs: Pairs, panels: Panels) -> Nodes:
    """Return the nodes that have seen some rows, of all problems together."""
    q, n = pairs.label.shape
    number, place = panels.locate(pairs.prob.reshape(-1, 2), pairs.log_prob.reshape(-1, 2))
    cell = 2 * (np.repeat(np.arange(q), n) * panels.n_panels + number) + pairs.label.ravel()
    nodes = Nodes.empty(q, panels)
    nodes.add_points(cell, place)
    return nodes


_Part = tuple[PointSums, tuple[Floats, Whole] | None, RowLosses]


def state_of_rows(
    pairs: Pairs,
    frame: Frame,
    generator: BregmanGenerator,
    n_odd: int,
    n_seen: int,
    tables: Sequence[PointSums] | None = None,
) -> State:
    """Return the state that has seen many rows, after `n_seen` others.

    Their `tables` may have been made for another generator.
    """
    q = len(pairs.label)
    panels = frame.panels

    def part(i: int) -> _Part:
        prob, log_prob, label = (each[i, ...] for each in pairs[:3])
        placed = None if panels is None else _placed(panels, prob, log_prob, label)
        table = _point_sums(pairs, i, frame, n_seen) if tables is None else tables[i]
        return table, placed, _losses(generator, prob, log_prob, label)

    parts: Iterable[_Part] = map(part, range(q))
    if is_numpy(pairs.prob) and q > 1:
        parts = _in_threads(part, q)
    return _joined(pairs, parts, panels, n_odd)


def _in_threads(part: Callable[[int], _Part], q: int) -> Iterator[_Part]:
    """Yield the parts of q problems, no more at a time than are worked on."""
    numbers = iter(range(q))
    while few := list(islice(numbers, n_threads())):
        yield from map_threads(part, few)


def _joined(
    pairs: Pairs,
    parts: Iterable[_Part],
    panels: Panels | None,
    n_odd: int,
) -> State:
    """Put together what the problems, in their order, say of the same rows."""
    q, n = pairs.label.shape
    nodes = None if panels is None else Nodes.empty(q, panels)
    tables, sums = [], RowLosses(np.zeros(n), np.zeros(n))
    for i, (table, placed, losses) in enumerate(parts):
        tables.append(table)
        with np.errstate(invalid="ignore"):
            sums = RowLosses(*(a + b for a, b in zip(sums, losses, strict=True)))
        if nodes is not None and placed is not None:
            nodes.cells[i], nodes.sizes[i] = placed
    return State(_totals(pairs, RowLosses(*(each / q for each in sums)), n_odd), tables, nodes)


def _totals(pairs: Pairs, losses: RowLosses, n_odd: int) -> Totals:
    return Totals.of(losses.loss, losses.inner, pairs.weight, pairs.zeros(), n_odd)


def _point_sums(pairs: Pairs, i: int, frame: Frame, n_seen: int) -> PointSums:
    """Return the table of a problem, whose rows are dealt to folds as in memory."""
    prob, log_prob, label = (each[i, ...] for each in pairs[:3])
    folds = assign_folds(prob, frame.n_folds, frame.seed(n_seen))
    log_odds = to_numpy(log_odds_of(log_prob))
    return PointSums.of_rows(log_odds, to_numpy(label), folds, frame.n_folds, pairs.weight)


def _placed(panels: Panels, prob: Array, log_prob: Array, label: Array) -> tuple[Floats, Whole]:
    """Return cells (panels, 2, nodes) of the rows of a problem, and their sizes."""
    placed = Placement(panels, prob, log_prob)
    xp = namespace(prob)
    cell = 2 * placed.number + label
    sizes = counts(cell, 2 * panels.n_panels)
    weights = np.zeros((panels.n_panels, 2, panels.order))
    moved = to_numpy(placed.spread(one_hot(label, 2, prob.dtype))).reshape(-1, panels.order, 2)
    weights[placed.grid.numbers] = np.swapaxes(moved, 1, 2)
    few = xp.nonzero(xp.take(like(sizes <= panels.order, prob), cell))[0]
    cells = fill_cells(
        weights.reshape(-1, panels.order),
        sizes,
        to_numpy(xp.take(cell, few)),
        to_numpy(xp.take(placed.place, few)),
    )
    shape = panels.n_panels, 2
    return cells.reshape(*shape, panels.order), sizes.reshape(shape)


def _losses(generator: BregmanGenerator, prob: Array, log_prob: Array, label: Array) -> RowLosses:
    def losses(prob: Array, log_prob: Array, outcome: Array) -> Array:
        return generator.loss(prob, outcome, log_q=log_prob)

    found = by_rows(losses, prob, log_prob, one_hot(label, 2, prob.dtype))
    inner = inner_losses(generator, log_prob, label, found)
    return RowLosses(to_numpy(found), to_numpy(inner))
