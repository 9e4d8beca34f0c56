"""Families in which classes interact, or that adapt to the data, follow what they are meant to follow.

Source: penalised likelihood, written out class by class; the Fisher information as the slope of the expected score.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from propercal._array import log_softmax
from propercal.recalibration import adaptive, families, logit, ranks, top_class
from propercal.recalibration.built_in import families_for
from propercal.recalibration.family import TrainingSets
from propercal.recalibration.interacting import LeadingPairs, LogSums, Ranks, ShiftsByConfidence, VaryingTemperature
from propercal.recalibration.points import Points, interior
from propercal.recalibration.ranked_mixture import ranked_mixture
from propercal.recalibration.terms import DifferenceTerms, Terms


def drawn(truth: Any, rng: np.random.Generator) -> Any:
    """(n, k) one-hot labels."""
    label = (rng.random((len(truth), 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return np.eye(truth.shape[1])[label]


def pairs(p: Any) -> Any:
    return np.stack([1 - p, p], axis=1)


def excess(truth: Any, found: Any) -> float:
    """Kullback–Leibler divergence from the truth, in nats."""
    return float(np.mean(np.sum(truth * np.log(truth / found), axis=1)))


def fitted(g: Any, outcome: Any, family: Any) -> Any:
    points = interior(np.log(g))
    return TrainingSets(points, outcome[None], True).fit(family)(points)[0]


def regional(g: Any) -> Any:
    """Over-confident where class 0 is before class 1, under-confident elsewhere."""
    return np.where(g[:, :1] > g[:, 1:2], 0.5, 1.6) * np.log(g)


def confused(g: Any) -> Any:
    """Of the pair {0, 1}, each is as likely as the other wherever they are the first two."""
    first = np.sort(np.argsort(-g, axis=1)[:, :2], axis=1)
    mean = np.log((g[:, :1] + g[:, 1:2]) / 2)
    hit = (first == [0, 1]).all(axis=1)[:, None] & (np.arange(g.shape[1]) < 2)
    return np.where(hit, mean, np.log(g))


def runner_up(g: Any) -> Any:
    """A second class far ahead of the third takes a tenth of the first."""
    order, row = np.argsort(-g, axis=1), np.arange(len(g))
    first, second, third = order[:, 0], order[:, 1], order[:, 2]
    move = np.where(np.log(g[row, second] / g[row, third]) > 1, 0.15, 0.0) * g[row, first]
    r = g.copy()
    r[row, first] -= move
    r[row, second] += move
    return np.log(r)


def unsure(g: Any) -> Any:
    """Temperature by the second largest probability."""
    return (1.5 - 2.4 * np.sort(g, axis=1)[:, -2:-1]) * np.log(g)


def jump(g: Any) -> Any:
    """Over-confident but where the second class is improbable."""
    return np.where(np.sort(g, axis=1)[:, -2:-1] < 0.12, 1.6, 0.6) * np.log(g)


def rare(g: Any) -> Any:
    """Later classes are over-rated where no class is likely."""
    return np.log(g) - np.where(g.max(axis=1, keepdims=True) < 0.6, 1.2, 0.0) * np.arange(g.shape[1])


@pytest.mark.parametrize(
    ("family", "scores", "share"),
    [
        (VaryingTemperature(0.5), regional, 0.3),
        (VaryingTemperature(0.5, by_class=False), unsure, 0.2),
        (VaryingTemperature(0.5, by_class=False, fine=True), jump, 0.35),
        (LogSums(1.0), confused, 0.7),
        (LeadingPairs(0.5), confused, 0.2),
        (Ranks(0.5), runner_up, 0.65),
        (ranked_mixture, runner_up, 0.35),
        (ShiftsByConfidence(1.0), rare, 0.5),
    ],
    ids=lambda x: type(x).__name__ if hasattr(x, "ridge") else getattr(x, "__name__", ""),
)
def test_an_interaction_is_followed_where_simpler_families_miss_it(family: Any, scores: Any, share: float) -> None:
    rng = np.random.default_rng(3)
    g = np.exp(log_softmax(2 * rng.standard_normal((4000, 4))))
    truth = np.exp(log_softmax(scores(g)))
    outcome = drawn(truth, rng)
    found = excess(truth, fitted(g, outcome, family))
    simple = (families.equivariant, families.vector, families.mixture)
    assert found < share * min(excess(truth, fitted(g, outcome, each)) for each in simple)


def test_varying_temperatures_predict_what_their_formula_says() -> None:
    rng = np.random.default_rng(4)
    k, n = 3, 83
    g = rng.dirichlet([1.0] * k, n)
    outcome = drawn(g, rng)
    points = interior(np.log(g))
    found = TrainingSets(points, outcome[None], True).fit(VaryingTemperature(2.0))
    (theta,) = found.coefficients
    log_g = np.log(g)
    clr = log_g - log_g.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.mean((log_g - log_g.mean()) ** 2))
    ordered = np.sort(g.max(axis=1))
    steps = [ordered[np.searchsorted(np.arange(1, n + 1) / n, q)] for q in (0.2, 0.4, 0.6, 0.8)]
    columns = [np.ones(n), *np.sort(g, axis=1)[:, ::-1].T, *(g.max(axis=1) > s for s in steps)]
    columns += [*np.tanh(clr / spread).T, *((g - 1 / k) * np.sqrt(k)).T]
    columns += [np.tanh(2 * (clr[:, i] - clr[:, j]) / spread) for i in range(k) for j in range(i + 1, k)]
    columns += [np.sign(clr[:, i] - clr[:, j]) for i in range(k) for j in range(i + 1, k)]
    assert len(columns) == len(theta)
    scores = (theta @ np.array(columns))[:, None] * log_g
    np.testing.assert_allclose(found(points)[0], np.exp(log_softmax(scores)), rtol=1e-9)


def test_confusions_by_rank_are_found_from_the_labels_to_be_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many labels in the proportions of r: their most likely confusions are those that r was made with.

    Where classes are hardly told apart, expectation maximisation takes more steps than noise makes worth while.
    """
    monkeypatch.setattr(families, "_MIXTURE_STEPS", 3000)
    monkeypatch.setattr(families, "_MIXTURE_TOLERANCE", 1e-7)
    rng = np.random.default_rng(6)
    k, n = 5, 400
    g = rng.dirichlet([0.5] * k, n)
    by_rank, row = np.argsort(-g, axis=1), np.arange(n)[:, None]
    ordered = g[row, by_rank]
    gap = np.log(ordered[:, 1] / ordered[:, 2])
    # Above the lowest fifth, as the family parts them: four of five levels with the same confusions.
    clear = gap > np.sort(gap)[n // 5 - 1]
    confusions = np.where(clear[:, None, None], [[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.02, 0.08, 0.9]], np.eye(3))
    parts = np.stack([ordered[:, 0], ordered[:, 1], ordered[:, 2:].sum(axis=1)], axis=1)
    mixed = np.einsum("ni,nij->nj", parts, confusions)
    truth = np.empty_like(g)
    truth[row, by_rank] = np.c_[mixed[:, :2], ordered[:, 2:] * (mixed[:, 2:] / parts[:, 2:])]
    points = interior(np.log(g))
    found = TrainingSets(points, 1e5 * truth[None], True).fit(ranked_mixture)(points)[0]
    np.testing.assert_allclose(found, truth, atol=0.01)
    assert excess(truth, found) < 1e-3 * excess(truth, g)


def test_a_jump_near_the_end_of_the_gaps_is_followed_from_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clearest twelfth of the runners-up takes a third of the first class, from rows that are nearly all sure of it."""
    rng = np.random.default_rng(8)
    z = 2 * rng.standard_normal((10_000, 6))
    z[np.arange(10_000), rng.integers(6, size=10_000)] += 9 + 3 * rng.standard_normal(10_000)
    g = np.exp(log_softmax(z))
    ordered = np.sort(g, axis=1)
    gap = np.log(ordered[:, -2] / ordered[:, -3])
    truth = g.copy()
    first, second = np.argsort(-g, axis=1)[:, :2].T
    row = np.flatnonzero(gap > np.quantile(gap, 11 / 12))
    moved = g[row, first[row]] / 3
    truth[row, first[row]] -= moved
    truth[row, second[row]] += moved
    outcome = drawn(truth, rng)
    by_rows = excess(truth, fitted(g, outcome, ranked_mixture))
    monkeypatch.setattr(ranks, "_MANY", 5)
    assert by_rows < 0.5 * excess(truth, fitted(g, outcome, ranked_mixture))
    assert by_rows < 0.25 * excess(truth, g)


def test_classes_of_equal_rank_are_confused_alike() -> None:
    g = np.array([[0.4, 0.4, 0.2], [0.6, 0.2, 0.2], [1 / 3] * 3, [0.5, 0.3, 0.2]])
    points = interior(np.log(g))
    found = TrainingSets(points, np.eye(3)[[0, 1, 2, 1]][None], True).fit(ranked_mixture)(points)[0]
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    assert found[0, 0] == pytest.approx(found[0, 1], rel=1e-12)
    assert found[1, 1] == pytest.approx(found[1, 2], rel=1e-12)
    np.testing.assert_allclose(found[2], 1 / 3, rtol=1e-12)


@pytest.mark.parametrize("k", [2, 4])
def test_the_information_is_the_slope_of_the_expected_score(k: int) -> None:
    """And scores, products and sizes belong together, for the terms of every family."""
    rng = np.random.default_rng(5)
    g = rng.dirichlet([1.0] * k, 30)
    g[:3] = 1 / k  # ranks that are shared
    points = interior(np.log(g))
    train = TrainingSets(points, drawn(g, rng)[None], True)
    fits = [train.fit(family) for family in families_for(k)]
    for scores in (each for each in fits if isinstance(each, families.Scores)):
        terms = scores.make_terms(points)
        d = terms.n_terms
        theta = 0.1 * rng.standard_normal((1, d))
        weight = rng.uniform(0.5, 2, (1, len(g)))

        def expected(theta: Any, terms: Terms = terms, weight: Any = weight) -> Any:
            return terms.products(weight[:, None, :] * logit.softmax_of(terms.scores(theta))[0])[0]

        prob = logit.softmax_of(terms.scores(theta))[0]
        step = 1e-5 * np.eye(d)
        slope = np.stack([(expected(theta + h) - expected(theta - h)) / 2e-5 for h in step])
        np.testing.assert_allclose(terms.information(prob, weight)[0], slope, atol=2e-5)


@pytest.mark.parametrize("k", [2, 4])
def test_steps_in_the_metric_of_some_rows_end_where_newton_steps_do(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the optimum: a thousandth of a nat of the whole sample is left, if that. Extreme predictions included."""
    rng = np.random.default_rng(6)
    for power in (1.0, 30.0):
        g = np.exp(log_softmax(power * np.log(rng.dirichlet([0.7] * k, 400))))
        points = interior(np.log(np.maximum(g, 1e-40)))
        train = TrainingSets(points, drawn(np.exp(log_softmax(0.6 * np.log(np.maximum(g, 1e-40)))), rng)[None], True)
        newton = {family: train.fit(family) for family in families_for(k)}
        with monkeypatch.context() as patched:
            patched.setattr(families, "_CURVATURE_ROWS", 60)
            again = TrainingSets(points, train.counts, True)
            for family in families_for(k):
                if isinstance(newton[family], families.Scores):
                    assert excess(again.fit(family)(points)[0], newton[family](points)[0]) * 400 < 2e-3


def test_waves_follow_what_smooth_families_cannot() -> None:
    rng = np.random.default_rng(7)
    p = rng.uniform(0.01, 0.99, 6000)
    truth = pairs(p + 0.6 * p * (1 - p) * np.sin(16 * np.pi * p))
    outcome = drawn(truth, rng)
    found = excess(truth, fitted(pairs(p), outcome, adaptive.adaptive))
    assert found < 0.25 * excess(truth, fitted(pairs(p), outcome, families.smooth))


def test_waves_are_damped_where_there_is_nothing_to_follow() -> None:
    """Forty-five free coefficients would cost 45 / 2n nats on average; two are those of vector scaling."""
    rng = np.random.default_rng(8)
    p = rng.uniform(0.01, 0.99, 2000)
    cost = [excess(pairs(p), fitted(pairs(p), drawn(pairs(p), rng), adaptive.adaptive)) for _ in range(20)]
    assert np.mean(cost) < 12 / (2 * 2000)


def test_products_of_waves_are_waves() -> None:
    """cos ix cos jx = ½ (cos (i + j)x + cos (i − j)x): the information by sums of waves is that by products."""
    rng = np.random.default_rng(4)
    p = rng.uniform(0.01, 0.99, 300)
    train = TrainingSets(interior(np.log(pairs(p))), drawn(pairs(p), rng)[None], True)
    prob, weight = rng.dirichlet([1.0, 1.0], (3, 300)).transpose(0, 2, 1), rng.uniform(0.5, 2, (3, 300))
    for make_terms in adaptive.wave_terms():
        terms = make_terms(train)(train.points)
        assert isinstance(terms, DifferenceTerms)
        plain = DifferenceTerms(terms.values)
        np.testing.assert_allclose(terms.information(prob, weight), plain.information(prob, weight), rtol=1e-11, atol=1e-11)
        some = slice(10, 20)
        np.testing.assert_allclose(
            terms.rows(some).information(prob[..., some], weight[:, some]),
            plain.rows(some).information(prob[..., some], weight[:, some]),
            rtol=1e-11, atol=1e-11,
        )


def test_an_atom_has_a_mean_of_its_own() -> None:
    """(prior · expected + seen) / (prior + rows), beside vector scaling that was fitted without it."""
    rng = np.random.default_rng(9)
    p = np.concatenate([rng.uniform(0.05, 0.95, 300), np.full(80, 0.5)])
    outcome = drawn(pairs(p), rng)
    outcome[300:] = np.eye(2)[(np.arange(80) < 8).astype(int)]
    found = fitted(pairs(p), outcome, adaptive.atoms)
    points = interior(np.log(pairs(p)))
    others = TrainingSets(points, (outcome * (p != 0.5)[:, None])[None], True)
    expected = others.fit(families.vector)(points)[0]
    np.testing.assert_allclose(found[:300], expected[:300])
    np.testing.assert_allclose(found[300:, 1], (5 * expected[300:, 1] + 8) / 85)


@pytest.mark.parametrize("k", [3, 10])
def test_an_atom_of_many_classes_has_a_mean_of_its_own(k: int) -> None:
    """Of all probabilities together: predictions that share but one of them are others."""
    rng = np.random.default_rng(12)
    g = rng.dirichlet([1.0] * k, 400)
    default = np.arange(1.0, k + 1) / np.arange(1, k + 1).sum()
    g[:90] = default
    g[90:150, 1:] *= (1 - default[0]) / (1 - g[90:150, :1])
    g[90:150, 0] = default[0]
    outcome = drawn(g, rng)
    outcome[:90] = np.eye(k)[np.arange(90) % 2]
    found = fitted(g, outcome, adaptive.atoms)
    points = interior(np.log(g))
    others = TrainingSets(points, (outcome * (np.arange(400) >= 90)[:, None])[None], True)
    expected = others.fit(families.equivariant)(points)[0]
    np.testing.assert_allclose(found[90:], expected[90:])
    np.testing.assert_allclose(found[:90], (5 * expected[:90] + 45 * (np.arange(k) < 2)) / 95)


def test_values_of_few_rows_are_no_atoms() -> None:
    rng = np.random.default_rng(10)
    p = np.repeat(rng.uniform(0.05, 0.95, 100), 4)
    outcome = drawn(pairs(p), rng)
    np.testing.assert_array_equal(
        fitted(pairs(p), outcome, adaptive.atoms), fitted(pairs(p), outcome, families.vector)
    )


@pytest.mark.parametrize("family", [adaptive.adaptive, adaptive.atoms])
def test_two_classes_may_be_exchanged(family: Any) -> None:
    rng = np.random.default_rng(11)
    p = np.concatenate([rng.uniform(0.05, 0.95, 300), np.full(40, 0.7)])
    outcome = drawn(pairs(p**1.5), rng)
    straight, other = (fitted(pairs(p)[:, c], outcome[:, c], family) for c in ([0, 1], [1, 0]))
    np.testing.assert_allclose(other[:, ::-1], straight, rtol=1e-5)


def test_points_that_were_not_fitted_are_between_their_neighbours() -> None:
    """The rank of a new prediction is interpolated."""
    rng = np.random.default_rng(12)
    p = np.sort(rng.uniform(0.05, 0.95, 500))
    points = interior(np.log(pairs(p)))
    fit = TrainingSets(points, drawn(pairs(p**2), rng)[None], True).fit(adaptive.adaptive)
    middle: Points = interior(np.log(pairs((p[1:] + p[:-1]) / 2)))
    at, between = fit(points)[0, :, 1], fit(middle)[0, :, 1]
    low, high = np.minimum(at[1:], at[:-1]), np.maximum(at[1:], at[:-1])
    assert (np.minimum(between - low, high - between) > -2e-3).all()


@pytest.mark.parametrize("family", [families.vector, LogSums(1.0), top_class.by_predicted_class])
def test_many_coefficients_are_fitted_without_solving_for_them(family: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limited memory ends where Newton steps do, with and without a fit to begin at."""
    rng = np.random.default_rng(13)
    g = np.exp(log_softmax(rng.standard_normal((600, 12))))
    outcome = drawn(np.exp(log_softmax(0.7 * np.log(g) + np.linspace(-1, 1, 12))), rng)
    points = interior(np.log(g))

    def found() -> Any:
        whole = TrainingSets(points, outcome[None], True)
        few = np.stack([outcome * (rng.random(600) < 0.7)[:, None] for rng in map(np.random.default_rng, (1, 2))])
        return [each.fit(family)(points) for each in (whole, TrainingSets(points, few, True, whole))]

    newton = found()
    monkeypatch.setattr(logit, "LARGEST_SYSTEM", 5)
    for one, other in zip(newton, found(), strict=True):
        np.testing.assert_allclose(np.log(other), np.log(one), atol=0.02)
        assert excess(one.reshape(-1, 12), other.reshape(-1, 12)) * 600 < 2e-3


def test_the_variances_are_the_diagonal_of_the_information() -> None:
    rng = np.random.default_rng(14)
    g = rng.dirichlet([1.0] * 4, 30)
    points = interior(np.log(g))
    train = TrainingSets(points, drawn(g, rng)[None], True)
    prob, weight = g.T[None], rng.uniform(0.5, 2, (1, 30))
    for scores in (train.fit(family) for family in families_for(4)):
        if isinstance(scores, families.Scores):
            terms = scores.make_terms(points)
            expected = np.diagonal(terms.information(prob, weight), axis1=1, axis2=2)
            np.testing.assert_allclose(terms.variances(prob, weight), expected, atol=1e-12)
