"""The families of recalibrations predict what their formulas say, whatever the order of the classes.

Source: penalised likelihood of mixtures: Dempster, Laird & Rubin (1977); isotonic regression: Robertson,
Wright & Dykstra (1988), theorem 1.4.4; scores by predicted class: Frenkel & Goldberger (2021).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from propercal._array import log_softmax
from propercal.recalibration import families, top_class
from propercal.recalibration.built_in import families_for
from propercal.recalibration.family import TrainingSet
from propercal.recalibration.points import interior

K = 3


def test_expectation_maximisation_never_lowers_the_penalised_likelihood(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    g = rng.dirichlet([1.0] * K, 60)
    truth = 0.6 * np.eye(K) + 0.4 * np.roll(np.eye(K), 1, axis=1)
    y = (rng.random(60)[:, None] > (g @ truth).cumsum(axis=1)).sum(axis=1)
    weight = rng.uniform(0.5, 1.5, 60)
    train = TrainingSet(interior(np.log(g)), np.eye(K)[y], y, weight, False)
    values = []
    for steps in (1, 2, 3, 10, 400):
        monkeypatch.setattr(families, "_MIXTURE_STEPS", steps)
        monkeypatch.setattr(families, "_MIXTURE_TOLERANCE", 0.0)
        matrix = families._mixing(train, g)
        np.testing.assert_allclose(matrix.sum(axis=1), 1)
        prior = np.eye(K) + 0.2 / K
        values.append(weight @ np.log((g @ matrix)[np.arange(60), y]) + (prior * np.log(matrix)).sum())
    assert (np.diff(values) > 0).all()

    def lost(scores: Any) -> Any:
        m = np.exp(log_softmax(scores.reshape(K, K)))
        return -(weight @ np.log((g @ m)[np.arange(60), y]) + (prior * np.log(m)).sum())

    assert values[-1] == pytest.approx(-minimize(lost, np.log(matrix).ravel()).fun, abs=1e-5)


def test_families_predict_what_their_formula_says() -> None:
    rng = np.random.default_rng(4)
    g = rng.dirichlet([1.0] * K, 60)
    y = rng.integers(0, K, 60)
    points = interior(np.log(g))
    train = TrainingSet(points, np.eye(K)[y], y, np.ones(60), True)
    a = train.fit(families.temperature).coefficients
    np.testing.assert_allclose(train.fit(families.temperature)(points), np.exp(log_softmax(a * np.log(g))))
    a, b, c = train.fit(families.equivariant).coefficients
    shared = (a + c * (g**2).sum(axis=1, keepdims=True)) * np.log(g) + b * g
    np.testing.assert_allclose(train.fit(families.equivariant)(points), np.exp(log_softmax(shared)))
    by_class = train.fit(families.vector).coefficients.reshape(K, 2)
    scores = by_class[:, 0] * np.log(g) + by_class[:, 1]
    np.testing.assert_allclose(train.fit(families.vector)(points), np.exp(log_softmax(scores)))
    waves = train.fit(families.smooth).coefficients.reshape(K, 7)
    terms = [np.log(g) / np.log(g).std(), np.ones_like(g), *(np.cos(np.pi * s * g) for s in range(1, 6))]
    scores = shared + sum(waves[:, i] * term for i, term in enumerate(terms))
    np.testing.assert_allclose(train.fit(families.smooth)(points), np.exp(log_softmax(scores)))
    assert families.identity(train)(points) is points.prob
    for family in families_for(K):
        fitted = train.fit(family)(points)
        assert (fitted > 0).all()
        np.testing.assert_allclose(fitted.sum(axis=1), 1)


def isotonic(values: Any) -> Any:
    """The max–min formula."""
    n = len(values)
    return np.array([max(min(np.mean(values[a:b]) for b in range(i + 1, n + 1)) for a in range(i + 1)) for i in range(n)])


@pytest.mark.parametrize(("k", "name"), [(2, "monotone"), (2, "monotone_confidence"), (4, "monotone_confidence")])
def test_monotone_families_are_isotonic_regressions(k: int, name: str) -> None:
    """One pseudo-row at the mean prediction is added to each level; what is left keeps its ratios."""
    rng = np.random.default_rng(8)
    g = rng.dirichlet([0.4] * k, 50)
    y = (rng.random(50)[:, None] > g.cumsum(axis=1)).sum(axis=1)
    points = interior(np.log(g))
    train = TrainingSet(points, np.eye(k)[y], y, np.ones(50), True)
    found = train.fit(getattr(top_class, name))(points)
    chosen = np.ones(50, int) if name == "monotone" else g.argmax(axis=1)
    p, hit = g[np.arange(50), chosen], (y == chosen).astype(float)
    order = np.argsort(p)
    plain = np.empty(50)
    plain[order] = isotonic(hit[order])
    expected = np.empty(50)
    for level in np.unique(plain):
        rows = plain == level
        expected[rows] = (hit[rows].sum() + p[rows].mean()) / (rows.sum() + 1)
    assert len(np.unique(plain)) > 3
    np.testing.assert_allclose(found[np.arange(50), chosen], expected)
    others = np.eye(k)[chosen] == 0
    ratios = (found / g)[others].reshape(50, k - 1)
    np.testing.assert_allclose(ratios, ((1 - expected) / (1 - p))[:, None].repeat(k - 1, 1))


def test_predicted_classes_have_scores_of_their_own() -> None:
    rng = np.random.default_rng(9)
    g = rng.dirichlet([0.5] * K, 3000)
    noisy = g.argmax(axis=1) == 0
    truth = np.where(noisy[:, None], 0.5 * g + 0.5 / K, g)
    y = (rng.random(3000)[:, None] > truth.cumsum(axis=1)).sum(axis=1)
    points = interior(np.log(g))
    train = TrainingSet(points, np.eye(K)[y], y, np.ones(3000), True)

    def excess(family: Any) -> float:
        """Kullback–Leibler divergence from the truth, in nats."""
        return float(np.mean(np.sum(truth * np.log(truth / train.fit(family)(points)), axis=1)))

    assert excess(top_class.by_predicted_class) < 0.25 * excess(families.vector)


def test_families_do_not_depend_on_the_order_of_classes() -> None:
    """Ties for the most probable class included."""
    rng = np.random.default_rng(10)
    g = np.round(rng.dirichlet([2.0] * K, 200), 1) + 0.05
    g /= g.sum(axis=1, keepdims=True)
    assert ((g == g.max(axis=1, keepdims=True)).sum(axis=1) > 1).mean() > 0.1
    y = rng.integers(0, K, 200)
    turned = [2, 0, 1]

    def predictions(columns: list[int]) -> list[Any]:
        points = interior(np.log(g[:, columns]))
        label = np.argsort(columns)[y]
        train = TrainingSet(points, np.eye(K)[label], label, np.ones(200), True)
        return [train.fit(family)(points) for family in families_for(K)]

    for straight, other in zip(predictions([0, 1, 2]), predictions(turned), strict=True):
        np.testing.assert_allclose(other, straight[:, turned], atol=1e-5)


def test_a_prediction_half_way_between_levels_gets_half_of_each_whatever_the_order_of_classes() -> None:
    """Logits that are whole numbers often are: one that no training row has may be an edge."""
    rng = np.random.default_rng(11)
    scores = rng.choice([-3.0, -1.0, 1.0, 3.0], 300)
    label = (rng.logistic(size=300) < scores).astype(int)
    new = np.arange(-4.0, 5.0)

    def predicted(scores: Any, label: Any, new: Any) -> Any:
        points, seen = (interior(np.stack([-np.logaddexp(0, z), -np.logaddexp(0, -z)], axis=1)) for z in (new, scores))
        return top_class.monotone(TrainingSet(seen, np.eye(2)[label], label, np.ones(300), True))(points)

    found = predicted(scores, label, new)
    assert len(np.unique(found[:, 1])) > 3
    np.testing.assert_allclose(predicted(-scores, 1 - label, -new)[:, ::-1], found)
    # −2, 0 and 2, each between two that are seen.
    for i in (2, 4, 6):
        np.testing.assert_allclose(found[i], (found[i - 1] + found[i + 1]) / 2)


@pytest.mark.parametrize("k", [2, 3])
def test_weights_may_underflow(k: int) -> None:
    """Also all of those of a training set, and those of all rows of a level."""
    rng = np.random.default_rng(12)
    g = rng.dirichlet([0.4] * k, 50)
    y = rng.integers(0, k, 50)
    points = interior(np.log(g))
    for name in ("monotone", "monotone_confidence"):
        if name == "monotone" and k > 2:
            continue
        for weight in (np.zeros(50), np.where(y == 0, 1.0, 5e-324), np.where(g[:, 0] > 0.5, 1.0, 1e-310)):
            train = TrainingSet(points, np.eye(k)[y], y, weight, False)
            for sure in (points, interior(np.log(np.where(g > 0.5, 1.0, 1e-44)))):
                found = train.fit(getattr(top_class, name))(sure)
                assert (found > 0).all()
                np.testing.assert_allclose(found.sum(axis=1), 1)
