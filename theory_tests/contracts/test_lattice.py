"""The lattice that bandwidths are searched on: where a search starts, what its steps promise, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from propercal._kernels import lattice
from propercal._kernels.lattice import minimise

#: Steps of the lattice in a decade, and between two positions of a look.
DECADE, HALF = 24, 12
PLACES = np.arange(-5 * DECADE, DECADE + 1, HALF)


def heights(values: np.ndarray, *, step: int = HALF) -> lattice._Lattice:
    """A function of these values at every half decade, from 1e-5 to 10, linear in between."""
    places = PLACES[0] + step * np.arange(len(values))
    return lattice._Lattice(lambda gamma: float(np.interp(DECADE * np.log10(gamma), places, values)))


def valley(place: float, *, bends: bool = False) -> Callable[[float], float]:
    return lambda gamma: abs(float(np.log10(gamma)) - place) ** (2 if bends else 1)


@pytest.mark.parametrize("seed", range(40))
def test_a_look_leads_to_every_deep_valley_and_lists_the_others_by_height(seed: int) -> None:
    """A valley is no higher than both its neighbours, deep if within a fifth of all heights of the lowest."""
    rng = np.random.default_rng(seed)
    values = 10 * rng.uniform(size=13) ** 3
    look = heights(values)
    padded = np.r_[math.inf, values, math.inf]
    valleys = PLACES[(values <= padded[:-2]) & (values <= padded[2:])]
    at = dict(zip(PLACES, values, strict=True))
    deep = [i for i in valleys if at[i] <= values.min() + 0.2 * np.ptp(values)]
    starts, others = lattice._starts(look)
    # A start is moved by a parabola, to less than the next half decade.
    assert len(starts) >= len(deep)
    for i, start in zip(deep, starts, strict=False):
        assert abs(start - i) < HALF
    assert all(i in PLACES and at[i] <= values.min() * 1.005 for i in starts[len(deep) :])
    lowest = min(starts, key=look)
    far = [i for i in PLACES if abs(i - lowest) >= 36 and i not in valleys]
    wanted = [*(i for i in valleys if i not in deep), *sorted(far, key=at.__getitem__)[:1]]
    assert others == sorted(wanted, key=at.__getitem__)


def test_what_ends_highest_counts_among_all_heights() -> None:
    """Of heights up to 10, at either end, a valley at 1.5 is nearly as deep as one at 0."""
    values = np.full(13, 4.0)
    values[3], values[9] = 0.0, 1.5
    for end in (0, 12):
        starts, others = lattice._starts(heights(np.where(np.arange(13) == end, 10.0, values)))
        assert len(starts) == 2
        assert PLACES[9] not in others


@pytest.mark.parametrize("place", [-100.0, -57.0, -40.0, 3.0])
def test_of_a_parabola_a_look_finds_the_bottom(place: float) -> None:
    look = lattice._Lattice(valley(place / DECADE, bends=True))
    assert lattice._starts(look)[0][0] == place
    assert [lattice._between(look, i) for i in (PLACES[0], PLACES[-1])] == [PLACES[0], PLACES[-1]]


@pytest.mark.parametrize("here", [-90, -30, 0])
def test_a_wide_gap_promises_an_eighth_of_its_lower_side(here: int) -> None:
    """A parabola whose sides are equally high has its bottom in the middle, and promises nothing."""
    at = lattice._Lattice(lambda gamma: 8.0 * (round(DECADE * np.log10(gamma)) != here))
    assert lattice._promise(at, here - 20, here, here + 20) == 1.0
    assert lattice._promise(at, here - 4, here, here + 4) == 0.0


@pytest.mark.parametrize("here", [-90, -50, -10])
def test_a_point_tried_before_serves_as_a_side_if_it_is_near(here: int) -> None:
    at = heights(np.zeros(13))
    assert lattice._side(at, here, 8) == here + 8
    for i in (here - 15, here - 5, here, here + 6, here + 16, here + 17):
        at(i)
    assert lattice._side(at, here, 8) == here + 6
    assert lattice._side(at, here, -8) == here - 5
    assert lattice._side(at, here, 2) == here + 2
    assert lattice._side(at, here + 6, -5) == here


@pytest.mark.parametrize("place", np.linspace(-4.5, 0.5, 13))
def test_one_function_is_searched_to_a_step_in_few_evaluations(place: float) -> None:
    tried = []

    def function(gamma: float) -> float:
        tried.append(gamma)
        return valley(place)(gamma)

    assert abs(np.log10(minimise(function)) - place) <= 1 / DECADE
    assert len(tried) <= 7 + 20


def with_two_valleys(deep: float, shallow: float, above: float) -> Callable[[float], float]:
    """Valleys at two places, of which the second is higher by 0.9."""
    return lambda gamma: 1 + above + min(valley(deep)(gamma), 0.9 + valley(shallow)(gamma))


@pytest.mark.parametrize(("deep", "shallow"), [(-1.2, -4.0), (-4.0, -1.0)])
def test_another_valley_is_tried_where_the_look_misses_more_than_divides_them(deep: float, shallow: float) -> None:
    """And left again where it is no lower: the first valley is then followed to its bottom."""
    for above, is_tried in ((0.3, False), (1.5, True)):
        tried: list[float] = []

        def function(gamma: float, above: float = above, tried: list[float] = tried) -> float:
            tried.append(float(np.log10(gamma)))
            return with_two_valleys(deep + 0.2, shallow, above)(gamma)

        found = minimise(with_two_valleys(deep, shallow, 0.0), function)
        assert abs(np.log10(found) - deep - 0.2) <= 2 / DECADE
        assert any(abs(each - shallow) < 0.5 for each in tried) == is_tried
