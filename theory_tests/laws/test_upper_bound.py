"""The bound for maps of bounded variation: it holds, is exact where it can be worked out, and grows with variation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propercal import decompose, upper_bound
from propercal.generators import Brier, ItakuraSaito, Spherical
from propercal.inference.upper_bound import _LARGEST_RATIO, Event, most_inside, of_population
from propercal.simulation import TemperatureScaledSimplex


def rows(n: int = 400, seed: int = 0) -> tuple[Any, Any]:
    y, p, _ = TemperatureScaledSimplex(2).sample(n, random_state=seed)
    return y, p


#: E[Y | g] − g and its total variation.
MAPS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "calibrated": (lambda g: 0 * g, 0.0),
    "a shift": (lambda g: 0.5 - g, 1.0),
    "over-confident": (lambda g: 0.15 * np.sin(2 * np.pi * g), 0.6),
    "five waves": (lambda g: np.minimum(g, 1 - g) * np.sin(10 * np.pi * g), 5.1),
    "two steps": (lambda g: np.where(g < 0.3, 0.5, 0.9) - g, 1.4),
}


@pytest.mark.parametrize("map_", MAPS)
@pytest.mark.parametrize("ratio", [1.0, 0.02])
def test_it_holds_for_every_map_of_that_variation(map_: str, ratio: float) -> None:
    """Of 100 samples 95 at least, wherever predictions lie. It holds in all of them: it is no sharp bound."""
    u, variation = MAPS[map_]
    grid = (np.arange(100_000) + 0.5) / 100_000
    assert np.abs(np.diff(u(grid))).sum() <= variation
    rng = np.random.default_rng(0)
    truth = 2 * np.mean(u(ratio * grid + (1 - ratio) / 2) ** 2)
    held, found = 0, []
    for _ in range(100):
        g = ratio * rng.random(500) + (1 - ratio) / 2
        y = (rng.random(500) < g + u(g)).astype(int)
        found.append(upper_bound(y, g, variation=variation, pos_label=1))
        held += int(found[-1] >= truth)
    assert held >= 95
    assert max(found) < 1.5  # 2 says nothing


def test_labels_that_are_as_unlucky_as_the_level_allows() -> None:
    """Of one block the bound is that of Hoeffding: it fails hardly more often where that is sharp, at r = ½."""
    rng = np.random.default_rng(1)
    n, error = 400, 0.2
    y = rng.random((4000, n)) < 0.5
    g = np.full(n, 0.9)
    wrong = np.mean([Event(g, each - g).bound(0.0, error) < 0.4**2 for each in y])
    # P(Z < −√(log 5 / 2) / ½) = 3.6 %, and not 0.
    assert 0.01 < wrong <= error


def test_one_value_is_worked_out_by_hand() -> None:
    """u is one number: |u| ≤ β + √(β² + (ȳ − g)²), β² = log(1/error)/(2n), then the step to the population."""
    n, error = 50, 0.05
    y = np.arange(n) % 5 == 0
    beta = math.sqrt(math.log(1 / error) / (2 * n))
    mean = (beta + math.hypot(beta, 0.2 - 0.3)) ** 2
    half = math.log(1 / error) / (2 * n)
    wanted = 2 * (math.sqrt(half) + math.sqrt(mean + half)) ** 2
    for variation in (0.0, 3.0):  # one value has no variation
        found = upper_bound(y, np.full(n, 0.3), variation=variation, confidence_level=0.9, pos_label=1)
        assert found == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("variation", [0.2, 0.7, 3.0])
def test_what_u_may_do_inside_of_blocks_is_the_most_that_it_can(variation: float) -> None:
    """No u on a grid does more; of two equal halves in a wide block one does as much."""
    rng = np.random.default_rng(2)
    size = np.array([4, 2, 6])
    starts = np.cumsum(size) - size
    g = np.sort(rng.random(12))
    g[4:6] = g[4]
    width = g[starts + size - 1] - g[starts]
    most = most_inside(size, width, variation)
    reached = 0.0
    for _ in range(3000):
        u = np.repeat(rng.uniform(-g, 1 - g)[::2], 2) if rng.random() < 0.5 else rng.uniform(-g, 1 - g)
        u[5] = u[4]
        moved = np.abs(np.diff(u)).sum()
        u *= min(1.0, variation / moved)
        blocks = np.split(u, starts[1:])
        reached = max(reached, sum(((each - each.mean()) ** 2).sum() for each in blocks))
        assert reached <= most + 1e-12
    halves = np.repeat([-variation / 2, variation / 2], 3)
    if variation <= 1:  # else it leaves [−g, 1 − g]
        assert most == pytest.approx((halves**2).sum())


def test_variation_is_spent_by_the_block() -> None:
    """Blocks of 6 and 4 rows, u moves by 1.1 and 1.3: 1.5 is spent as 1.1 and 0.4."""
    found = most_inside(np.array([4, 6, 9]), np.array([0.3, 0.1, 0.0]), 1.5)
    assert found == pytest.approx((6 * 1.1 * 1.1 + 4 * 1.3 * 0.4) / 4)
    assert most_inside(np.array([4, 6]), np.array([0.3, 0.1]), 0.0) == 0


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
def test_it_grows_with_variation_and_with_the_level(notion: str) -> None:
    y, p = rows()
    found = [upper_bound(y, p, variation=v, notion=notion) for v in (0, 0.01, 0.1, 0.5, 1, 2, 5, 20, 1e9)]
    assert found == sorted(found)
    assert found[-1] <= 2
    found = [upper_bound(y, p, variation=1, notion=notion, confidence_level=c) for c in (0.5, 0.9, 0.99, 0.999999)]
    assert found == sorted(found)


@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), variation=st.floats(0, 4))
def test_it_is_above_what_the_blocks_show_and_below_what_predictions_allow(seed: int, n: int, variation: float) -> None:
    rng = np.random.default_rng(seed)
    g, y = np.round(rng.random(n), rng.integers(1, 4)), rng.integers(0, 2, n)
    order = np.argsort(g, kind="stable")
    event = Event(g[order], (y - g)[order])
    found = event.bound(variation, 0.05)
    assert np.mean(y - g) ** 2 <= found + 1e-12
    assert found <= np.mean(np.maximum(g, 1 - g) ** 2) + 1e-12
    for starts, later in itertools.pairwise(event._partitions()):
        assert set(starts) < set(later)


def test_it_is_above_the_lower_end_of_the_interval() -> None:
    for seed in range(3):
        y, p = rows(300, seed)
        low, high = decompose(y, p, generator="brier").interval("calibration_error")
        found = upper_bound(y, p, variation=0.5)  # over-confident by less than .125
        assert low < found
        assert high < found


def test_rows_drawn_again_are_in_it() -> None:
    """P(mean of n ≤ (1 − ε) μ) ≤ exp(−n μ ε² / 2), at the ends of [0, 1] where it is worst."""
    rng = np.random.default_rng(3)
    for mean in (0.01, 0.3):
        seen = rng.binomial(200, mean, 20_000) / 200
        below = np.array([of_population(float(x), 200, 0.1) < mean for x in seen])
        assert below.mean() <= 0.1
    assert of_population(0.9, 10, 0.1) == 1.0


@pytest.mark.parametrize("generator", [Brier(), Spherical()])
def test_the_ratio_is_the_largest(generator: Any) -> None:
    """Of D_F and (r − g)² over all pairs; near the middle it is reached."""
    g = np.linspace(0, 1, 201)
    a, b = (x.ravel() for x in np.meshgrid(g, g))
    far = np.abs(a - b) > 1e-3
    r, q = (np.stack([1 - x[far], x[far]], axis=1) for x in (a, b))
    ratio = generator.divergence(r, q) / (a - b)[far] ** 2
    assert ratio.max() == pytest.approx(_LARGEST_RATIO[type(generator)], rel=2e-3)
    assert ratio.max() <= _LARGEST_RATIO[type(generator)] * (1 + 1e-9)


def test_a_sum_of_losses_has_the_sum_of_their_bounds() -> None:
    y, p = rows()
    one, two = (upper_bound(y, p, variation=0.5, generator=each) for each in ("brier", "spherical"))
    found = upper_bound(y, p, variation=0.5, generator=3.0 * Brier() + Spherical())
    assert found == pytest.approx(3 * one + two)
    assert one == pytest.approx(math.sqrt(2) * two)


def test_two_classes_are_one_problem_and_more_are_told_apart() -> None:
    y, p = rows()
    assert upper_bound(1 - y, p[:, ::-1], variation=1) == pytest.approx(upper_bound(y, p, variation=1), rel=0.05)
    y, p, _ = TemperatureScaledSimplex(4).sample(200, random_state=0)
    event = upper_bound(y == p.argmax(axis=1), p.max(axis=1), variation=1, pos_label=1)
    assert upper_bound(y, p, variation=1, notion="top-label") == pytest.approx(event)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"generator": "log"}, r"^generator = Log\(\): expected one whose divergence is at most"),
        ({"generator": Brier() + ItakuraSaito()}, r"^generator = Brier\(\) \+ ItakuraSaito\(\)"),
        ({"variation": -1}, r"^variation = -1: expected a finite number of at least 0"),
        ({"variation": math.inf}, r"^variation = inf"),
        ({"variation": True}, r"^variation = True"),
        ({"variation": "1"}, r"^variation = '1'"),
        ({"confidence_level": 1}, r"^confidence_level = 1"),
        ({"sample_weight": np.arange(1, 401)}, r"^sample_weight = weights that differ: expected equal ones"),
    ],
)
def test_what_has_no_bound_is_refused(change: dict[str, Any], message: str) -> None:
    y, p = rows()
    with pytest.raises(ValueError, match=message):
        upper_bound(y, p, **{"variation": 1, **change})


def test_several_dimensions_are_refused() -> None:
    y, p, _ = TemperatureScaledSimplex(3).sample(50, random_state=0)
    with pytest.raises(ValueError, match=r"^notion = 'canonical': expected a notion of one dimension for 3 classes"):
        upper_bound(y, p, variation=1)
    assert upper_bound(y, p, variation=1, notion="classwise") > 0


def test_rows_of_weight_0_are_left_out() -> None:
    y, p = rows()
    weight = np.where(np.arange(400) < 300, 2.0, 0.0)
    assert upper_bound(y, p, variation=1, sample_weight=weight) == upper_bound(y[:300], p[:300], variation=1)
