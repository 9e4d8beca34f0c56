"""Rows → the points of their problems, and what these add to the state of a sketch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from propercal._array import by_rows, counts, device, is_numpy, like, namespace, one_hot, to_numpy
from propercal._data.notions import as_notion
from propercal._data.predictions import Predictions
from propercal._kernels.panels import Panels, Placement
from propercal._threads import map_threads
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.sketch.state import Floats, State, Whole, fill_cells


class Pairs(NamedTuple):
    """The q problems of n rows: pairs (1 − p, p), and what occurred."""

    prob: Array
    """(q, n, 2)."""
    log_prob: Array
    """(q, n, 2)."""
    label: Array
    """(q, n) 0 or 1."""

    def zeros(self) -> Whole:
        """(q, 2) how often probability 0 is given to each outcome."""
        xp = namespace(self.prob)
        impossible = xp.astype(xp.isinf(self.log_prob), xp.int64)
        return to_numpy(xp.sum(impossible, axis=1))


def pairs_of(rows: Predictions, notion: str) -> Pairs:
    """Return all problems of a notion at once: one by one they take long where classes are many."""
    xp = namespace(rows.prob)
    reduction = as_notion(notion)
    if not reduction.per_class:
        (problem,) = reduction.problems(rows)
        parts = problem.prob, problem.log_prob, problem.label
        return Pairs(*(xp.stack([part], axis=0) for part in parts))
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
    )


class PendingRows(NamedTuple):
    """A few rows that are to be added later: together that takes less time."""

    pairs: Pairs
    """In NumPy, and of nobody else."""
    loss: Floats
    """(n,) averaged over problems."""
    n_odd: int
    """Rows of yes-or-no problems."""


def pending_rows(pairs: Pairs, generator: BregmanGenerator, n_odd: int) -> PendingRows:
    """Return rows of which all that may fail, which is the generator, has been done."""
    xp = namespace(pairs.prob)
    prob, log_prob = (xp.reshape(each, (-1, 2)) for each in pairs[:2])
    loss = _losses(generator, prob, log_prob, xp.reshape(pairs.label, (-1,)))
    mean = loss.reshape(pairs.label.shape).mean(axis=0)
    return PendingRows(Pairs(*(to_numpy(each) for each in pairs)), mean, n_odd)


def state_of_pending(rows: Sequence[PendingRows], panels: Panels) -> State:
    """Return the state that has seen some rows."""
    pairs = Pairs(
        *(np.concatenate(each, axis=1) for each in zip(*(r.pairs for r in rows), strict=True))
    )
    q, n = pairs.label.shape
    number, place = panels.locate(pairs.prob.reshape(-1, 2), pairs.log_prob.reshape(-1, 2))
    cell = 2 * (np.repeat(np.arange(q), n) * panels.n_panels + number) + pairs.label.ravel()
    state = State.empty(q, panels)
    state.add_points(cell, place)
    state.zeros[:] = pairs.zeros()
    loss = np.concatenate([each.loss for each in rows])
    _add_losses(state, loss, sum(each.n_odd for each in rows))
    return state


def state_of_rows(pairs: Pairs, panels: Panels, generator: BregmanGenerator, n_odd: int) -> State:
    """Return the state that has seen many rows."""
    q = len(pairs.label)

    def part(i: int) -> tuple[Floats, Whole, Floats]:
        prob, log_prob, label = (each[i, ...] for each in pairs)
        cells, sizes = _placed(panels, prob, log_prob, label)
        return cells, sizes, _losses(generator, prob, log_prob, label)

    parts = map_threads(part, range(q)) if is_numpy(pairs.prob) else [part(i) for i in range(q)]
    state = State.empty(q, panels)
    for i, (cells, sizes, _) in enumerate(parts):
        state.cells[i], state.sizes[i] = cells, sizes
    state.zeros[:] = pairs.zeros()
    _add_losses(state, np.mean([loss for _, _, loss in parts], axis=0), n_odd)
    return state


def _add_losses(state: State, loss: Floats, n_odd: int) -> None:
    state.loss[:] = loss.sum(), loss @ loss
    state.odd_rows[:] = n_odd, np.count_nonzero(np.isinf(loss))


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


def _losses(generator: BregmanGenerator, prob: Array, log_prob: Array, label: Array) -> Floats:
    def losses(prob: Array, log_prob: Array, outcome: Array) -> Array:
        return generator.loss(prob, outcome, log_q=log_prob)

    return to_numpy(by_rows(losses, prob, log_prob, one_hot(label, 2, prob.dtype)))
