"""Minimisation over a lattice of bandwidths, of a function that is costly and flat."""

from __future__ import annotations

import math
from collections.abc import Callable

from propercal._data.messages import warn

#: Bandwidths that are searched: from cells of a hundredth of a percent, beyond which points stand
#: alone at any size that fits a machine, to a kernel that hardly tells two predictions apart.
BOUNDS = (1e-5, 10.0)
#: Bandwidths lie on a lattice of 10 % steps: the criterion is flat at its minimum, rounding cannot
#: move the choice, and generators that are searched together share kernel sums.
_STEPS_PER_DECADE = 24
_LOWEST, _HIGHEST = (round(math.log10(bound) * _STEPS_PER_DECADE) for bound in BOUNDS)
#: Valleys that a look shows above the lowest by less than this share of all heights are weighed by
#: the function itself.
_NEARLY_AS_DEEP = 0.2
#: Values it shows that differ by less than this share are not told apart by it.
_ROUGHLY_EQUAL = 0.005
#: Steps of the lattice between the first points of the descent: about what the look leaves open.
_STRIDE = 4


class _Lattice:
    """A function of γ at numbered points of the lattice, evaluated once at each."""

    def __init__(self, objective: Callable[[float], float]) -> None:
        self._objective = objective
        self.tried: dict[int, float] = {}

    def __call__(self, position: float) -> float:
        i = round(position)
        if i not in self.tried:
            self.tried[i] = self._objective(10 ** (i / _STEPS_PER_DECADE))
        return self.tried[i]

    @property
    def lowest(self) -> int:
        """Where the smallest value is that was found."""
        return min(self.tried, key=lambda i: self.tried[i])


def minimise(
    objective: Callable[[float], float], look: Callable[[float], float] | None = None
) -> float:
    """Minimise a function of γ: a look at every decade, then a bounded search beside the best.

    Where a cheaper function `look` is given it does both, twice a decade and in every valley it
    sees; the function itself decides between the valleys and descends from there.
    """
    at = _Lattice(objective)
    if look is None:
        decades = range(_LOWEST, _HIGHEST + 1, _STEPS_PER_DECADE)
        _search(at, min(decades, key=at), _STEPS_PER_DECADE, 1)
    else:
        _descend(at, min(_starts(_Lattice(look)), key=at))
    chosen = at.lowest
    gamma = float(10 ** (chosen / _STEPS_PER_DECADE))
    for end, meaning in (
        (_LOWEST, "the criterion sees repeated or isolated predictions rather than a smooth curve"),
        (_HIGHEST, "the predictions hardly inform about the outcomes, or n is small"),
    ):
        if abs(chosen - end) <= 1:
            warn(
                f"the bandwidth search ended at {gamma:.3g}, an end of the interval {BOUNDS[0]:g} "
                f"to {BOUNDS[1]:g}: {meaning}. Pass bandwidth=... to choose it yourself."
            )
    return gamma


def _starts(look: _Lattice) -> list[int]:
    """Return where the lowest point may lie, as far as a look tells."""
    half = _STEPS_PER_DECADE // 2
    positions = range(_LOWEST, _HIGHEST + 1, half)
    heights = [math.inf, *map(look, positions), math.inf]
    lowest = min(heights)
    deep = lowest + _NEARLY_AS_DEEP * (max(heights[1:-1]) - lowest)
    starts = [
        _search(look, i, half, _STRIDE)
        for i, left, here, right in zip(positions, heights, heights[1:], heights[2:], strict=False)
        if here <= min(left, right, deep)
    ]
    # Two valleys may be too near each other to be told apart.
    equal = [i for i in positions if look(i) <= lowest + _ROUGHLY_EQUAL * abs(lowest)]
    return starts + [i for i in equal if all(abs(i - start) > _STRIDE for start in starts)]


def _search(at: _Lattice, start: int, reach: int, accuracy: int) -> int:
    """Return the lowest point that a bounded search finds within reach of `start`."""
    from scipy.optimize import minimize_scalar

    bounds = (_inside(start - reach), _inside(start + reach))
    minimize_scalar(at, bounds=bounds, method="bounded", options={"xatol": float(accuracy)})
    return min((i for i in at.tried if bounds[0] <= i <= bounds[1]), key=at)


def _descend(at: _Lattice, start: int) -> None:
    """Walk down from `start` until a valley is straddled, then follow parabolas to its bottom."""
    stride = _STRIDE
    left, here, right = _inside(start - stride), start, _inside(start + stride)
    while at(left) < at(here):
        stride += stride // 2
        left, here, right = _inside(left - stride), left, here
    while at(right) < at(here):
        stride += stride // 2
        left, here, right = here, right, _inside(right + stride)
    while (bottom := _bottom(at, left, here, right)) not in at.tried:
        sides = (left, bottom, here, right) if bottom < here else (left, here, bottom, right)
        left, here, right = sides[:3] if at(sides[1]) <= at(sides[2]) else sides[1:]


def _bottom(at: _Lattice, left: int, here: int, right: int) -> int:
    """Return the bottom of a parabola through three points; if that is `here`, one beside it."""
    before, after = here - left, right - here
    if before == 0 or after == 0:  # an end of the lattice
        return here + after // 2 - before // 2
    fall, rise = after * (at(left) - at(here)), before * (at(right) - at(here))
    shift = (after * fall - before * rise) / (2 * (fall + rise)) if fall + rise > 0 else 0.0
    if round(shift) != 0:
        return here + round(shift)
    # A parabola knows little of what is in a wide gap.
    if max(before, after) > _STRIDE:
        return here + after // 2 if after > before else here - before // 2
    return here + 1 if shift > 0 else here - 1


def _inside(i: int) -> int:
    """Return the point of the lattice nearest to `i`."""
    return min(max(i, _LOWEST), _HIGHEST)
