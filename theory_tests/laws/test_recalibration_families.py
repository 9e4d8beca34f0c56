"""The families of recalibrations predict what their formulas say, whatever the order of the classes.

Source: penalised likelihood of mixtures: Dempster, Laird & Rubin (1977); isotonic regression: Robertson,
Wright & Dykstra (1988), theorem 1.4.4; scores by predicted class: Frenkel & Goldberger (2021).
"""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from propercal import decompose
from propercal._array import log_softmax
from propercal.recalibration import families, top_class
from propercal.recalibration.built_in import families_for
from propercal.recalibration.family import TrainingSets
from propercal.recalibration.points import Points, interior
from propercal.simulation import TemperatureScaledSimplex

K = 3


def training(points: Any, label: Any, weight: Any = None, k: int = K) -> TrainingSets:
    """One training set of rows."""
    weight = np.ones(len(label)) if weight is None else weight
    return TrainingSets(points, (np.eye(k)[label] * weight[:, None])[None], weight.min() == weight.max())


def fitted(train: TrainingSets, family: Any, points: Any) -> Any:
    """(n, k) what one training set makes of points."""
    return train.fit(family)(points)[0]


def test_expectation_maximisation_never_lowers_the_penalised_likelihood(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    g = rng.dirichlet([1.0] * K, 60)
    truth = 0.6 * np.eye(K) + 0.4 * np.roll(np.eye(K), 1, axis=1)
    y = (rng.random(60)[:, None] > (g @ truth).cumsum(axis=1)).sum(axis=1)
    weight = rng.uniform(0.5, 1.5, 60)
    train = training(interior(np.log(g)), y, weight)
    values = []
    for steps in (1, 2, 3, 10, 400):
        monkeypatch.setattr(families, "_MIXTURE_STEPS", steps)
        monkeypatch.setattr(families, "_MIXTURE_TOLERANCE", 0.0)
        (matrix,) = families.mixing(train, g[None])
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
    train = training(points, y)
    ((a,),) = train.fit(families.temperature).coefficients
    np.testing.assert_allclose(fitted(train, families.temperature, points), np.exp(log_softmax(a * np.log(g))))
    ((a, b, c),) = train.fit(families.equivariant).coefficients
    shared = (a + c * (g**2).sum(axis=1, keepdims=True)) * np.log(g) + b * g
    np.testing.assert_allclose(fitted(train, families.equivariant, points), np.exp(log_softmax(shared)))
    by_class = train.fit(families.vector).coefficients.reshape(K, 2)
    scores = by_class[:, 0] * np.log(g) + by_class[:, 1]
    np.testing.assert_allclose(fitted(train, families.vector, points), np.exp(log_softmax(scores)))
    waves = train.fit(families.smooth).coefficients.reshape(K, 7)
    terms = [np.log(g), np.ones_like(g), *(np.cos(np.pi * s * g) for s in range(1, 6))]
    scores = shared + sum(waves[:, i] * term for i, term in enumerate(terms))
    np.testing.assert_allclose(fitted(train, families.smooth, points), np.exp(log_softmax(scores)))
    np.testing.assert_array_equal(families.identity(train)(points)[0], points.prob)
    for family in families_for(K):
        found = fitted(train, family, points)
        assert (found > 0).all()
        np.testing.assert_allclose(found.sum(axis=1), 1)


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
    train = training(points, y, k=k)
    found = fitted(train, getattr(top_class, name), points)
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
    train = training(points, y)

    def excess(family: Any) -> float:
        """Kullback–Leibler divergence from the truth, in nats."""
        return float(np.mean(np.sum(truth * np.log(truth / fitted(train, family, points)), axis=1)))

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
        train = training(points, label)
        return [fitted(train, family, points) for family in families_for(K)]

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
        return fitted(training(seen, label, k=2), top_class.monotone, points)

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
            train = training(points, y, weight, k)
            for sure in (points, interior(np.log(np.where(g > 0.5, 1.0, 1e-44)))):
                found = fitted(train, getattr(top_class, name), sure)
                assert (found > 0).all()
                np.testing.assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("k", [2, K])
def test_training_sets_of_the_same_points_are_fitted_as_each_by_itself(k: int) -> None:
    """Also where some end sooner, need shorter steps, or lack points and classes.

    What units and ranks are taken from is the same for all: the weights of all sets.
    """
    rng = np.random.default_rng(13)
    g = rng.dirichlet([0.5] * k, 80)
    points = interior(np.log(g))
    counts = rng.poisson(0.7 * np.stack([g, g**3, g[:, ::-1], np.eye(k)[g.argmin(axis=1)]])).astype(float)
    counts[1] *= 30
    whole = TrainingSets(points, counts.sum(axis=0)[None], False)
    together = TrainingSets(points, counts, False, whole)
    for family in families_for(k):
        found = together.fit(family)(points)
        for b in range(len(counts)):
            part = TrainingSets(points, counts[b : b + 1], False, whole)
            alone = part.fit(family)(points)
            np.testing.assert_allclose(found[min(b, len(found) - 1)], alone[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", [2, K])
def test_rows_of_equal_predictions_may_be_summed(k: int) -> None:
    rng = np.random.default_rng(14)
    few = rng.dirichlet([1.0] * k, 12)
    row, label = rng.integers(0, 12, 300), rng.integers(0, k, 300)
    counts = np.zeros((12, k))
    np.add.at(counts, (row, label), 1)
    rows = training(interior(np.log(few[row])), label, k=k)
    sums = TrainingSets(interior(np.log(few)), counts[None], True)
    for family in families_for(k):
        at = interior(np.log(few))
        np.testing.assert_allclose(fitted(sums, family, at), fitted(rows, family, at), rtol=1e-9)


@pytest.mark.parametrize("name", ["monotone", "monotone_confidence"])
def test_monotone_families_tell_points_apart_as_far_as_their_nodes_do(name: str) -> None:
    """Rows of one node have one level, that of the counts of all of them."""
    rng = np.random.default_rng(15)
    nodes = interior(np.log(rng.dirichlet([0.5] * 2, 9)))
    group, label = rng.integers(0, 9, 200), rng.integers(0, 2, 200)
    near = np.exp(nodes.log_prob[group] + 1e-3 * rng.standard_normal((200, 2)))
    plain = interior(np.log(near / near.sum(axis=1, keepdims=True)))
    grouped = Points(plain.prob, plain.log_prob, group, nodes)
    family = getattr(top_class, name)
    found = fitted(training(grouped, label, k=2), family, grouped)
    expected = fitted(training(nodes.take(group), label, k=2), family, nodes)
    top = expected.argmax(axis=1) if name == "monotone" else nodes.prob.argmax(axis=1)
    chosen = np.ones(200, int) if name == "monotone" else top[group]
    np.testing.assert_allclose(found[np.arange(200), chosen], expected[group, chosen], rtol=1e-9)


@pytest.mark.parametrize(
    ("k", "notion", "times"),
    # Beyond, logarithms below −104 count as that, and which of two classes is the less likely is lost.
    [*product((2,), ("canonical",), (10.0, 400.0)), *product((3,), ("canonical", "top-label", "classwise"), (10.0, 50.0))],
)
def test_saturated_predictions_are_recalibrated(k: int, notion: str, times: float) -> None:
    """A power of g is no other information: what recalibration leaves is about the same for all powers.

    With logits × 50 a likelihood has no curvature where fits begin, and a nat measured by the labels that occur is
    as large as the loss: either left refinements of 2.7 to 57 nats where .7 is right.
    """
    y_true, p, _ = TemperatureScaledSimplex(k).sample(80, random_state=3)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the log loss is that of about", UserWarning)
        usual, saturated = (decompose(y_true, factor * np.log(p), from_logits=True, notion=notion) for factor in (1.0, times))
    assert saturated.refinement == pytest.approx(usual.refinement, abs=0.12)
    assert saturated.calibration_error > 0.9 * (saturated.risk - saturated.uncertainty)
