"""Simulated predictions with a known calibration map: labels, and truths by other integrals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate

from propercal.generators import BregmanGenerator, Brier, Log, Spherical
from propercal.simulation import MiscalibratedSimplex
from propercal.simulation.scenarios import CALIBRATION_MAPS

Floats = NDArray[np.float64]
MISCALIBRATED = [name for name in CALIBRATION_MAPS if name != "identity"]


def odds(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def confidence(g: float) -> float:
    entropy = -(g * math.log(g) + (1 - g) * math.log(1 - g)) / math.log(2)
    return odds((0.5 + 0.6 * entropy) * math.log(g / (1 - g)))


def neighbour(g: float) -> float:
    # Classes 0 and 1; g belongs to class 0, and the neighbour of each class is the other one.
    first = math.log(0.95 * g + 0.025) + 0.8 * math.sin(5 * (1 - g))
    second = math.log(0.95 * (1 - g) + 0.025) + 0.8 * math.sin(5 * g + 2)
    return odds(first - second)


def steps(g: float) -> float:
    level = 0.5 + 0.5 * [0.05, 0.3, 0.5, 0.85][min(3, int(8 * (max(g, 1 - g) - 0.5)))]
    return level if g > 0.5 else 1 - level


def focal(g: float) -> float:
    def inverse_slope(v: float) -> float:
        # The derivative of −(1 − v)² log v, negative.
        return -1 / (2 * (1 - v) * math.log(v) - (1 - v) ** 2 / v)

    # At the minimum of p ℓ(g) + (1 − p) ℓ(1 − g): p ℓ'(g) = (1 − p) ℓ'(1 − g).
    a, b = inverse_slope(g), inverse_slope(1 - g)
    return a / (a + b)


def bump(g: float) -> float:
    return g + 0.25 * math.sin(math.pi * (g - 0.4) / 0.2) if 0.4 < g < 0.6 else g


# Written for two classes: from the probability g of class 0 to that of the labels.
TWO_CLASSES: dict[str, Callable[[float], float]] = {
    "temperature": lambda g: odds(0.6 * math.log(g / (1 - g))),
    "mixture": lambda g: 0.8 * g + 0.2 * (1 - g),
    "vector scaling": lambda g: odds(0.5 * math.log(g) - 0.5 - 0.9 * math.log(1 - g) - 0.5),
    "confidence temperature": confidence,
    "neighbour": neighbour,
    "group noise": lambda g: 0.7 * g + 0.15 if g > 0.5 else g,
    "steps": steps,
    "focal": focal,
    "bump": bump,
    "oscillation": lambda g: g + 0.6 * g * (1 - g) * math.sin(16 * math.pi * g),
    # Two classes are one group.
    "hierarchy": lambda g: odds(1.6 * math.log(g / (1 - g))),
    # No third class is near.
    "runner-up": lambda g: 0.9 * g if g > 0.5 else g + 0.1 * (1 - g),
}


def test_every_miscalibrated_map_has_a_truth_to_compare_with() -> None:
    assert list(TWO_CLASSES) == MISCALIBRATED


@pytest.mark.parametrize("generator", [Log(), Brier(), Spherical()], ids=repr)
@pytest.mark.parametrize("name", MISCALIBRATED)
@pytest.mark.parametrize("strength", [1.0, 0.3])
def test_truth_of_two_classes_is_an_integral_over_the_log_odds(name: str, generator: BregmanGenerator, strength: float) -> None:
    scale = 1.5

    def integrand(x: float) -> float:
        g = odds(x)
        p = (1 - strength) * g + strength * TWO_CLASSES[name](g)
        sd = math.sqrt(2) * scale
        density = math.exp(-0.5 * (x / sd) ** 2) / (sd * math.sqrt(2 * math.pi))
        pair_p, pair_g = np.array([p, 1 - p]), np.array([g, 1 - g])
        return density * float(generator.divergence(pair_p, pair_g))

    # Where "steps" jumps: the largest probability at 5/8, 6/8, 7/8, and the change of class. The ends of "bump" at 6/10.
    jumps = [sign * math.log(c / (8 - c)) for c in (4.8, 5, 6, 7) for sign in (-1, 1)]
    ends = sorted([-18.0, 0.0, 18.0, *jumps])
    expected = sum(integrate.quad(integrand, a, b, epsrel=1e-9)[0] for a, b in itertools.pairwise(ends))
    truth = MiscalibratedSimplex(2, name, scale, strength).truth(generator)
    assert truth.error <= 3e-3 * truth.value
    assert abs(truth.value - expected) <= truth.error + 1e-7


@pytest.mark.parametrize("generator", [Log(), Brier()], ids=repr)
@pytest.mark.parametrize("name", ["temperature", "mixture"])
def test_truth_of_three_classes_is_a_gauss_hermite_sum(name: str, generator: BregmanGenerator) -> None:
    node, weight = np.polynomial.hermite_e.hermegauss(60)
    z = np.stack(np.meshgrid(node, node, node), axis=-1).reshape(-1, 3)
    w = np.prod(np.stack(np.meshgrid(weight, weight, weight), axis=-1), axis=-1).ravel() / weight.sum() ** 3
    g = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    p = g**0.6 / (g**0.6).sum(axis=1, keepdims=True) if name == "temperature" else 0.8 * g + 0.2 * g[:, [2, 0, 1]]
    expected = float(w @ generator.divergence(p, g))
    truth = MiscalibratedSimplex(3, name, logit_scale=1.0).truth(generator)
    assert abs(truth.value - expected) <= truth.error + 1e-6 * expected


def hierarchy(g: list[float]) -> list[float]:
    groups = [g[:3], g[3:6], g[6:]]
    powers = [sum(group) ** 0.5 for group in groups]
    found = []
    for group, power in zip(groups, powers, strict=True):
        found += [power / sum(powers) * x**1.6 / sum(y**1.6 for y in group) for x in group]
    return found


def first_class(change: Callable[[float], float]) -> Callable[[list[float]], list[float]]:
    def mapped(g: list[float]) -> list[float]:
        first = change(g[0])
        return [first, *(x * (1 - first) / (1 - g[0]) for x in g[1:])]

    return mapped


def runner_up(g: list[float]) -> list[float]:
    first, second, third = sorted(range(len(g)), key=lambda i: -g[i])[:3]
    share = 0.1 if g[second] > math.exp(2) * g[third] else 0.01
    p = list(g)
    p[first], p[second] = (1 - share) * g[first], g[second] + share * g[first]
    return p


@pytest.mark.parametrize("scale", [1.5, 12.0])
@pytest.mark.parametrize(("k", "name", "expected"), [
    (7, "hierarchy", hierarchy),
    (4, "runner-up", runner_up),
    (3, "bump", first_class(TWO_CLASSES["bump"])),
    (3, "oscillation", first_class(TWO_CLASSES["oscillation"])),
])
def test_maps_that_compare_classes_are_those_of_a_loop(k: int, name: str, expected: Callable[[list[float]], list[float]], scale: float) -> None:
    """Seven classes in groups of three, the last one alone."""
    sample = MiscalibratedSimplex(k, name, scale).sample(400, random_state=5)
    g, p = sample.y_proba, sample.p_true
    moved = np.abs(p - g).max(axis=1) > 0.005
    assert moved.any()
    for row_g, row_p in zip(g, p, strict=True):
        # In the loop 1 − g_0 cancels next to 1.
        if row_g[0] < 0.999:
            np.testing.assert_allclose(row_p, expected(row_g.tolist()), rtol=1e-9)


@pytest.mark.parametrize("model", [MiscalibratedSimplex(5, "identity", 0.5), MiscalibratedSimplex(5, "identity", 12.0), MiscalibratedSimplex(4, "focal", strength=0.0)])
def test_calibrated_predictions_have_no_calibration_error(model: MiscalibratedSimplex) -> None:
    y_true, y_proba, p_true = model.sample(100, random_state=0)
    np.testing.assert_array_equal(y_proba, p_true)
    assert set(y_true.tolist()) <= set(range(model.n_classes))
    for generator in ("log", "brier", "spherical"):
        assert model.truth(generator) == (0.0, 0.0)


@pytest.mark.parametrize("scale", [1.5, 12.0])
@pytest.mark.parametrize("name", CALIBRATION_MAPS)
def test_labels_follow_the_calibration_map_and_not_the_predictions(name: str, scale: float) -> None:
    """Bernstein's inequality: below 1e-6 for a false alarm, over all sums of one test."""
    n, k = 200_000, 3
    y_true, y_proba, p_true = MiscalibratedSimplex(k, name, scale).sample(n, random_state=7)
    np.testing.assert_allclose(p_true.sum(axis=1), 1, rtol=1e-12)
    assert p_true.min() >= 0
    # Groups: most probable class × whether it is predicted with more than its median confidence × whether the map raises class 0,
    # without which oscillations would cancel.
    top = y_proba.max(axis=1)
    group = 4 * y_proba.argmax(axis=1) + 2 * (top > np.median(top)) + (p_true[:, 0] > y_proba[:, 0])

    def excess(prob: Floats) -> float:
        worst = 0.0
        log_term = math.log(2 * 4 * k * k / 1e-6)
        for value in range(4 * k):
            rows = group == value
            for i in range(k):
                p = prob[rows, i]
                deviation = abs(float(np.sum((y_true[rows] == i) - p)))
                bound = log_term / 3 + math.sqrt(log_term**2 / 9 + 2 * log_term * float(np.sum(p * (1 - p))))
                worst = max(worst, deviation / bound)
        return worst

    assert excess(p_true) < 1
    if name != "identity":
        assert excess(y_proba) > 1


def test_predictions_of_a_trained_network_are_near_vertices() -> None:
    for k in (2, 5, 10):
        _, y_proba, _ = MiscalibratedSimplex(k, "temperature", 12.0).sample(20_000, random_state=0)
        assert np.mean(y_proba.max(axis=1) > 0.95) > 0.6


def test_equal_seeds_give_equal_samples() -> None:
    model = MiscalibratedSimplex(4, "neighbour")
    first, second, other = (model.sample(50, seed) for seed in (1, np.random.default_rng(1), 2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first.y_proba, other.y_proba)


@pytest.mark.parametrize(("arguments", "message"), [
    ((1,), "n_classes = 1"),
    ((3, "mixtures"), "'mixture'"),
    ((3, "mixture", 0.0), "logit_scale = 0.0"),
    ((3, "mixture", 1.0, 1.5), "strength = 1.5"),
])
def test_parameters_out_of_range_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MiscalibratedSimplex(*arguments)  # type: ignore[arg-type]


def test_only_the_canonical_truth_is_known() -> None:
    with pytest.raises(ValueError, match="canonical"):
        MiscalibratedSimplex(3).truth("log", "classwise")
    with pytest.raises(ValueError, match="n = 0"):
        MiscalibratedSimplex(3).sample(0)
