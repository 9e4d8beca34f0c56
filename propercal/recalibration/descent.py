"""Newton steps, halved until the loss falls, as logit fits and stacking take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_MAX_STEPS = 30
_MAX_HALVINGS = 12
#: The share of the fall that the slope promises with which a step is content (Armijo's rule).
_SHARE = 1e-4

Point = TypeVar("Point")


def descend(
    start: Point,
    evaluate: Callable[[Point], tuple[float, Any]],
    propose: Callable[[Point, Any], tuple[float, Callable[[float], Point]]],
    done: Callable[[float, float], bool],
) -> Point:
    """Minimise a loss.

    Parameters
    ----------
    start : Point
        Where to begin.
    evaluate : callable
        From a point to its loss and what `propose` needs there, such as predictions.
    propose : callable
        From a point and what belongs to it to the fall of the loss that the slope promises for a
        whole step, and a function from the length of a step, at most 1, to its end.
    done : callable
        From the promised fall and the loss after the step to whether no more is worth it.

    Returns
    -------
    Point
        The last point whose loss fell, or `start`.
    """
    point = start
    value, belongings = evaluate(start)
    for _ in range(_MAX_STEPS):
        gain, end = propose(point, belongings)
        length = 1.0
        for _ in range(_MAX_HALVINGS):
            candidate = end(length)
            new_value, found = evaluate(candidate)
            if new_value <= value - _SHARE * length * gain:
                point, value, belongings = candidate, new_value, found
                break
            length /= 2
        else:
            break
        if done(gain, value):
            break
    return point
