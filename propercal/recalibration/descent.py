"""Newton steps, halved until the loss falls, as logit fits and stacking take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import like, namespace, take_rows
from propercal._typing import Array

MAX_STEPS = 30
_MAX_HALVINGS = 12
#: The share of the fall that the slope promises with which a step is content (Armijo's rule).
_SHARE = 1e-4
#: Steps are shorter where the slope promises a fall of more than this multiple of a loss above 0.
_FARTHEST = 2.0

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]


class _Points(NamedTuple):
    """Points that several descents have come to."""

    number: Numbers
    """(a,) of the descents, ascending."""
    point: Array
    """(a, d)."""
    value: Floats
    """(a,) their losses."""
    belongings: Array
    """(a, ...) what the loss was computed from."""

    def part(self, which: Numbers) -> _Points:
        return _Points(
            self.number[which],
            take_rows(self.point, which),
            self.value[which],
            take_rows(self.belongings, which),
        )


def descend(
    start: Array,
    evaluate: Callable[[Array, Numbers], tuple[Floats, Array]],
    propose: Callable[[Array, Array, Numbers], tuple[Floats, Array]],
    done: Callable[[Floats, Floats], npt.NDArray[np.bool_]],
    max_steps: int = MAX_STEPS,
) -> Array:
    """Minimise several losses side by side.

    Parameters
    ----------
    start : array (b, d)
        Where each descent begins.
    evaluate : callable
        From points (a, d) and the numbers (a,) of their descents to the losses (a,) and what
        `propose` needs there (a, ...), such as predictions.
    propose : callable
        From points, what belongs to them, and their numbers to the falls of the losses that the
        slope promises for whole steps (a,), and the steps (a, d), of which at most the whole is
        taken.
    done : callable
        From the promised falls and the losses after the steps to whether no more is worth it.
    max_steps : int
        So many are taken at most.

    Returns
    -------
    array (b, d)
        The last points at which the losses fell, or `start`.
    """
    number = np.arange(start.shape[0])
    at = _Points(number, start, *evaluate(start, number))
    ended: list[_Points] = []
    for _ in range(max_steps):
        gain, step = propose(at.point, at.belongings, at.number)
        found, moved = _search(at, gain, step, evaluate)
        if len(moved) < len(at.number):
            stuck = np.ones(len(at.number), dtype=bool)
            stuck[moved] = False
            ended.append(at.part(np.flatnonzero(stuck)))
        over = done(gain[moved], found.value)
        if over.any():
            ended.append(found.part(np.flatnonzero(over)))
        at = found.part(np.flatnonzero(~over)) if over.any() else found
        if len(at.number) == 0:
            break
    parts = [*ended, at]
    xp = namespace(start)
    order = np.argsort(np.concatenate([part.number for part in parts]))
    return take_rows(xp.concat([part.point for part in parts], axis=0), order)


def _search(
    at: _Points,
    gain: Floats,
    step: Array,
    evaluate: Callable[[Array, Numbers], tuple[Floats, Array]],
) -> tuple[_Points, Numbers]:
    """Return where steps lead that are short enough, and which of the points they start from."""
    xp = namespace(step)
    trying, length = np.arange(len(at.number)), _first_lengths(at.value, gain)
    found: list[_Points] = []
    moved: list[Numbers] = []
    for _ in range(_MAX_HALVINGS):
        point = take_rows(at.point, trying) + take_rows(step, trying) * like(
            length[trying, None], step
        )
        new = _Points(at.number[trying], point, *evaluate(point, at.number[trying]))
        fell = new.value <= at.value[trying] - _SHARE * length[trying] * gain[trying]
        if fell.any():
            found.append(new if fell.all() else new.part(np.flatnonzero(fell)))
            moved.append(trying[fell])
        trying = trying[~fell]
        if trying.size == 0:
            break
        length = length / 2
    if not found:
        return at.part(trying[:0]), trying[:0]
    if len(found) == 1:
        return found[0], moved[0]
    together = _Points(
        np.concatenate([each.number for each in found]),
        xp.concat([each.point for each in found], axis=0),
        np.concatenate([each.value for each in found]),
        namespace(at.belongings).concat([each.belongings for each in found], axis=0),
    )
    positions = np.concatenate(moved)
    ascending = np.argsort(positions)
    return together.part(ascending), positions[ascending]


def _first_lengths(value: Floats, gain: Floats) -> Floats:
    """Return the longest step to try for each point, as a share of the whole one.

    Where predictions are next to certain a likelihood has next to no curvature, and whole steps
    lead anywhere. A loss that cannot fall below 0 leaves its slope before that would have led
    there, and what is farther is left to the next step: twice as far is tried.
    """
    far = (value > 0) & (gain > _FARTHEST * value)
    return np.where(far, _FARTHEST * value / np.where(far, gain, 1.0), 1.0)
