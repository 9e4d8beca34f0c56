"""Minimisation over a lattice of bandwidths, of a function that is costly and flat."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from propercal._data.words.messages import warn
from propercal._progress import part

#: Bandwidths that are searched: from cells of a hundredth of a percent, beyond which points stand
#: alone at any size that fits a machine, to a kernel that hardly tells two predictions apart.
BOUNDS = (1e-5, 10.0)
#: Bandwidths lie on a lattice of 10 % steps: the criterion is flat at its minimum, rounding cannot
#: move the choice, and generators that are searched together share kernel sums.
_STEPS_PER_DECADE = 24
_LOWEST, _HIGHEST = (round(math.log10(bound) * _STEPS_PER_DECADE) for bound in BOUNDS)
#: What an evaluation has of the progress that is left.
_SHARE = 0.1
#: Where a look looks: twice a decade.
_POSITIONS = range(_LOWEST, _HIGHEST + 1, _STEPS_PER_DECADE // 2)
#: Valleys that a look shows above the lowest by less than this share of all heights are weighed by
#: the function itself.
_NEARLY_AS_DEEP = 0.2
#: Values it shows that differ by less than this share are not told apart by it.
_ROUGHLY_EQUAL = 0.005
#: Other valleys are tried where the function is higher than the look by more than this share of it.
_SURPRISE = 0.1
#: Where no other valley is seen, the lowest that is so many steps away is tried then.
_FAR = 3 * _STEPS_PER_DECADE // 2
#: A walk ends where its parabola promises less than this share of the depth of the look's valley;
#: one that only leads to the next where it promises less than the second.
_FLAT, _ROUGHLY_FLAT = 1e-4, 1e-2
#: A look that should be faithful may miss the function by this share of that depth. If it misses it
#: by more, what it shows above its lowest by so many times as much is still believed to be higher.
_FAITHFUL, _BELIEVED = 0.1, 3.0
#: Points after which a walk ends that has a level below, once a valley is straddled.
_ENOUGH = 6
#: Points tried already serve as the sides of a descent at up to so many first steps.
_REUSE = 2
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
            with part(_SHARE):
                self.tried[i] = self._objective(10 ** (i / _STEPS_PER_DECADE))
        return self.tried[i]

    @property
    def lowest(self) -> int:
        """Where the smallest value is that was found."""
        return min(self.tried, key=lambda i: self.tried[i])


def minimise(*objectives: Callable[[float], float], faithful: bool = False) -> float:
    """Minimise the last of some functions of γ, of which those before are cheaper and less exact.

    One alone is looked at in every decade, and a bounded search refines the best. Of several, the
    first is looked at twice a decade; each of the others descends from where the one before it led,
    and where that left two valleys it chooses between them. A `faithful` look has the same values
    as the function but for small errors: it descends too, and the function is only asked whether
    it agrees there.
    """
    *looks, at = map(_Lattice, objectives)
    if not looks:
        decades = range(_LOWEST, _HIGHEST + 1, _STEPS_PER_DECADE)
        _search(at, min(decades, key=at), _STEPS_PER_DECADE, 1)
    elif not faithful:
        _follow([*looks, at], *_starts(looks[0]))
    elif (error := _missed(looks[0], at)) > _FAITHFUL * _depth(looks[0]):
        _follow([*looks, at], *_starts_within(looks[0], _BELIEVED * error))
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


def _depth(look: _Lattice) -> float:
    """Return how deep the lowest of the half decades lies below most of them."""
    heights = sorted(map(look, _POSITIONS))
    return heights[len(heights) // 2] - heights[0]


def _missed(look: _Lattice, at: _Lattice) -> float:
    """Descend by a look, and return by how much it misses the function there."""
    _descend(look, min(_starts(look)[0], key=look), _FLAT * _depth(look))
    return abs(at(look.lowest) - look(look.lowest))


def _starts_within(look: _Lattice, error: float) -> tuple[list[int], list[int]]:
    """Return the starts of a look that has descended, which shows heights to some error."""
    starts, shallow = _starts(look)
    found = look.lowest
    far = [i for i in starts if abs(i - found) >= _POSITIONS.step]
    return [found, *(i for i in far if look(i) <= look(found) + error)], shallow


def _follow(levels: Sequence[_Lattice], starts: list[int], shallow: list[int]) -> None:
    """Go where each level leads, from the cheapest to the last."""
    depth = _depth(levels[0])
    for before, at in pairwise(levels):
        best = min(starts, key=at)
        for i in shallow:
            # Few rows may have missed those that suffer most.
            surprise = at(best) - before(best) - _SURPRISE * abs(before(best))
            if surprise > 0 and before(i) - before(best) < surprise:
                best = min(best, i, key=at)
        share = _FLAT if at is levels[-1] else _ROUGHLY_FLAT
        _descend(at, best, share * depth, math.inf if len(levels) == 2 else _ENOUGH)
        bottom, near = at.lowest, _NEARLY_AS_DEEP * depth
        others = [i for i in [*starts, *shallow] if abs(i - bottom) >= _POSITIONS.step]
        close = sorted((i for i in others if i in at.tried), key=at)[:1]
        starts = [bottom, *(i for i in close if at(i) - at(bottom) <= near)]
        shallow = [i for i in others if i not in starts]


def _starts(look: _Lattice) -> tuple[list[int], list[int]]:
    """Return where the lowest point may lie, as far as a look tells, and where if it is wrong."""
    heights = [math.inf, *map(look, _POSITIONS), math.inf]
    lowest = min(heights)
    deep = lowest + _NEARLY_AS_DEEP * (max(heights[1:-1]) - lowest)
    valleys = [
        i
        for i, left, here, right in zip(_POSITIONS, heights, heights[1:], heights[2:], strict=False)
        if here <= min(left, right)
    ]
    starts = [_between(look, i) for i in valleys if look(i) <= deep]
    # Two valleys may be too near each other to be told apart.
    equal = [i for i in _POSITIONS if look(i) <= lowest + _ROUGHLY_EQUAL * abs(lowest)]
    starts += [i for i in equal if i not in valleys]
    shallow = [i for i in valleys if look(i) > deep]
    best = min(starts, key=look)
    far = [i for i in _POSITIONS if abs(i - best) >= _FAR and i not in valleys]
    return starts, sorted([*shallow, *sorted(far, key=look)[:1]], key=look)


def _between(look: _Lattice, i: int) -> int:
    """Return where the bottom is by a parabola through a half decade and those beside it."""
    left, right = _inside(i - _POSITIONS.step), _inside(i + _POSITIONS.step)
    if left == i or right == i:
        return i
    return i + round(_parabola(look, left, i, right)[0])


def _search(at: _Lattice, start: int, reach: int, accuracy: int) -> int:
    """Return the lowest point that a bounded search finds within reach of `start`."""
    from scipy.optimize import minimize_scalar

    bounds = (_inside(start - reach), _inside(start + reach))
    minimize_scalar(at, bounds=bounds, method="bounded", options={"xatol": float(accuracy)})
    return min((i for i in at.tried if bounds[0] <= i <= bounds[1]), key=at)


def _descend(at: _Lattice, start: int, flat: float = 0.0, enough: float = math.inf) -> None:
    """Walk down from `start` until a valley is straddled, then follow parabolas to its bottom.

    That is near enough where a parabola promises to go down by less than `flat`, and where `enough`
    points have been tried.
    """
    # A half decade that was looked at is no more than near the bottom.
    stride = _STRIDE * (2 if start in _POSITIONS else 1)
    left, here, right = _side(at, start, -stride), start, _side(at, start, stride)
    while at(left) < at(here):
        stride *= 2
        left, here, right = _inside(left - stride), left, here
    while at(right) < at(here):
        stride *= 2
        left, here, right = here, right, _inside(right + stride)
    # Points tried before may lie between.
    left = max((i for i in at.tried if left < i < here), default=left)
    right = min((i for i in at.tried if here < i < right), default=right)
    while (bottom := _bottom(at, left, here, right)) not in at.tried:
        if len(at.tried) >= enough or _promise(at, left, here, right) < flat:
            return
        sides = (left, bottom, here, right) if bottom < here else (left, here, bottom, right)
        left, here, right = sides[:3] if at(sides[1]) <= at(sides[2]) else sides[1:]


def _parabola(at: _Lattice, left: int, here: int, right: int) -> tuple[float, float]:
    """Return how far from `here` a parabola through three points has its bottom, and how deep."""
    before, after = here - left, right - here
    fall, rise = after * (at(left) - at(here)), before * (at(right) - at(here))
    if not fall + rise > 0:
        return 0.0, 0.0
    shift = (after * fall - before * rise) / (2 * (fall + rise))
    return shift, (fall + rise) / (before * after * (before + after)) * shift**2


def _promise(at: _Lattice, left: int, here: int, right: int) -> float:
    """Return by how much a parabola through three points goes below the one in the middle."""
    if left == here or here == right:  # an end of the lattice
        return max(at(left), at(right)) - at(here)
    # A parabola knows little of what is in a wide gap, unless its sides are low.
    wide = right - left > 4 * _STRIDE
    promise = _parabola(at, left, here, right)[1]
    return max(promise, (min(at(left), at(right)) - at(here)) / 8) if wide else promise


def _bottom(at: _Lattice, left: int, here: int, right: int) -> int:
    """Return the bottom of a parabola through three points; if that is `here`, one beside it."""
    before, after = here - left, right - here
    if before == 0 or after == 0:  # an end of the lattice
        return here + after // 2 - before // 2
    shift = _parabola(at, left, here, right)[0]
    if round(shift) != 0:
        return here + round(shift)
    # A parabola knows little of what is in a wide gap.
    if max(before, after) > _STRIDE:
        return here + after // 2 if after > before else here - before // 2
    return here + 1 if shift > 0 else here - 1


def _side(at: _Lattice, here: int, step: int) -> int:
    """Return a point a step from `here`, or one tried already that is about as near."""
    tried = [i for i in at.tried if 0 < (i - here) / step <= _REUSE]
    return min(tried, key=lambda i: abs(i - here)) if tried else _inside(here + step)


def _inside(i: int) -> int:
    """Return the point of the lattice nearest to `i`."""
    return min(max(i, _LOWEST), _HIGHEST)
