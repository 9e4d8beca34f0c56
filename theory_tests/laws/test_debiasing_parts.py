"""Each part of the debiased estimate is what its formula says, written out here with dense matrices.

W is the leave-one-out Dirichlet kernel with rows that sum to 1, n_e = 1 / ΣW², O = n_e W Y, E = n_e W b,
r̂ ∝ b (a + O) / (a + E); the variance of r̂ is J (diag m − m mᵀ) Jᵀ / n_e by the delta method, with
m = E (a + O) / ((a + E) n_e) and J the derivative of r̂ in the kernel means W Y.

Source: the kernel: Ouimet & Tolosana-Delgado (2022); delete-a-group jackknife: Kott (2001);
stacking: Wolpert (1992).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp

from propercal._array import log_softmax
from propercal._kernels.kernels import DirichletKernel
from propercal._methods.correction import Corrected, correct, residuals, without_fold
from propercal._methods.fold_sums import Sources, fold_sums
from propercal._methods.folds import assign_folds
from propercal._methods.variance import half_spread, half_trace
from propercal.generators import BregmanGenerator, Brier, ItakuraSaito, Log, Spherical
from propercal.generators.base import curved
from propercal.recalibration import logit
from propercal.recalibration.descent import descend
from propercal.recalibration.points import interior
from propercal.recalibration.stacking import stacking_weights
from propercal.recalibration.terms import ClassTerms, ContextTerms, GroupTerms, RankTerms, SharedTerms
from propercal.recalibration.tied_terms import TiedTerms
from theory_tests.instances import generators, written

K = 3
GENERATORS = generators("log", "brier", "spherical", "tsallis-0.5", "tsallis-3", "itakura-saito", "of three classes", "log-spherical", "rps")


#: Without a Hessian of its own.
CUBIC = written("Cubic", value=lambda p: (p**3).sum(-1) - 1)


def derivative(function: Any, at: Any, step: float = 1e-5) -> Any:
    """Central differences, the argument along the last axis."""
    steps = step * np.eye(len(at))
    return np.stack([(function(at + s) - function(at - s)) / (2 * step) for s in steps], axis=-1)


# ------------------------------------------------------------------ folds
@pytest.mark.parametrize("n_folds", [3, 5])
def test_every_run_of_neighbours_in_confidence_is_dealt_once_to_each_fold(n_folds: int) -> None:
    g = np.random.default_rng(0).dirichlet([1.0] * K, 61)
    folds = assign_folds(g, n_folds, 0)
    dealt = folds[np.argsort((g**2).sum(axis=1))]
    for run in range(0, 61, n_folds):
        part = dealt[run : run + n_folds].tolist()
        assert sorted(set(part)) == sorted(part)
        assert set(part) <= set(range(n_folds))
    assert len({tuple(dealt[run : run + n_folds]) for run in range(0, 60 - n_folds, n_folds)}) > 1
    np.testing.assert_array_equal(assign_folds(g, n_folds, 0), folds)
    assert (assign_folds(g, n_folds, 1) != folds).any()
    np.testing.assert_array_equal(assign_folds(g[::-1, ::-1], n_folds, 0), folds[::-1])


def test_last_digits_of_a_prediction_near_1_do_not_decide_on_its_fold() -> None:
    """Most rows of an overconfident model differ from a vertex by less than doubles near 1 tell."""
    rng = np.random.default_rng(5)
    g = np.exp(rng.uniform(-200, 0, (200, K)))
    g /= g.sum(axis=1, keepdims=True)
    assert (g.max(axis=1) > 1 - 1e-15).sum() > 50
    folds = assign_folds(g, 5, 0)
    for seed in range(5):
        noise = np.random.default_rng(seed).uniform(-1e-15, 1e-15, g.shape)
        np.testing.assert_array_equal(assign_folds(g * (1 + noise), 5, 0), folds)
    order = rng.permutation(len(g))
    np.testing.assert_array_equal(assign_folds(g[order], 5, 0), folds[order])


# ------------------------------------------------------------------ kernel correction
def some_sources(weighted: bool, boundary: bool, n: int = 41, n_folds: int = 3) -> Sources:
    rng = np.random.default_rng(3)
    g = rng.dirichlet([0.7] * K, n)
    if boundary:
        g[::4] = np.eye(K)[rng.integers(0, K, len(g[::4]))]
        g[1::8, 0] = 0
        g /= g.sum(axis=1, keepdims=True)
    label, fold = rng.integers(0, K, n), rng.integers(0, n_folds, n)
    order = np.lexsort((label, fold))
    weight = rng.uniform(0.01, 2, n) if weighted else None
    with np.errstate(divide="ignore"):
        points = interior(np.log(g[order]))
    return Sources(points, label[order], weight, fold[order], n_folds, K)


def log_kernel(sources: Sources, gamma: float) -> Any:
    """(n, n) log of weight times kernel of each target (row) at each source, −inf at itself."""
    u, log_t = sources.points.prob / gamma, sources.points.log_prob
    constant = gammaln(u.sum(axis=1) + K) - gammaln(u + 1).sum(axis=1)
    exponent = constant[None, :] + log_t @ u.T
    if sources.weight is not None:
        exponent = exponent + np.log(sources.weight)[None, :]
    np.fill_diagonal(exponent, -np.inf)
    return exponent


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("boundary", [False, True])
@pytest.mark.parametrize("gamma", [0.3, 0.02, 1e-3, 1e-5])
def test_residuals_and_correction_are_those_of_dense_matrices(weighted: bool, boundary: bool, gamma: float) -> None:
    sources = some_sources(weighted, boundary)
    n = len(sources.label)
    # An exponent of 104 / γ at most is right to 1e-16 of itself.
    rtol = 1e-10 + 104 / gamma * 1e-15
    base = np.random.default_rng(5).dirichlet([2.0] * K, n)
    outcome = np.eye(K)[sources.label]
    exponent = log_kernel(sources, gamma)
    features = sources.features(DirichletKernel(), gamma)
    n_empty = 0
    for e, rows in enumerate(sources.folds):
        columns = [base, *(base * (sources.fold != f)[:, None] for f in range(3))]
        sums = fold_sums(features, sources, np.arange(n)[rows], np.concatenate(columns, axis=1))
        totals = sums.labels.sum(axis=(1, 2))
        for f in (None, *(f for f in range(3) if f != e)):
            if f is None:
                found = residuals(sums.labels.sum(axis=1), sums.squares.sum(axis=1), sums.columns[:, :K])
                kept = exponent[rows]
            else:
                found = without_fold(sums, f, sums.columns[:, (1 + f) * K : (2 + f) * K])
                kept = np.where(sources.fold[None, :] == f, -np.inf, exponent[rows])
            # A row whose sources all but vanish with the fold has nothing left.
            left = np.exp(logsumexp(kept, axis=1) - logsumexp(exponent[rows], axis=1)) > 1e-6
            n_empty += int((~left).sum())
            w = np.exp(kept - logsumexp(kept, axis=1, keepdims=True))
            size = np.where(left, 1 / (w**2).sum(axis=1), 0)[:, None]
            np.testing.assert_allclose(found.size, size, rtol=rtol)
            np.testing.assert_allclose(found.observed, size * (w @ outcome), rtol=rtol, atol=1e-9)
            np.testing.assert_allclose(found.expected, size * (w @ base), rtol=rtol, atol=1e-9)
            for prior in (3.0, 120.0):
                unscaled = base[rows] * (prior + size * (w @ outcome)) / (prior + size * (w @ base))
                r = unscaled / unscaled.sum(axis=1, keepdims=True)
                corrected = correct(base[rows], found, prior)
                np.testing.assert_allclose(corrected.prob, r, rtol=rtol, atol=1e-9)
        assert (totals > 0).all()
    # The case of nothing left occurs where the kernel is narrow.
    assert n_empty > 0 or gamma > 1e-3
    assert n_empty == 0 or gamma < 0.3 or boundary


# ------------------------------------------------------------------ variance
def test_gain_share_and_reliance_are_derivatives_and_means_of_the_correction() -> None:
    rng = np.random.default_rng(0)
    base, size, prior = rng.dirichlet([1.0] * K), 17.0, 3.0
    mean, expected = rng.dirichlet([1.0] * K), 17.0 * rng.dirichlet([1.0] * K)

    def r(mean: Any) -> Any:
        product = base * (prior + size * mean) / (prior + expected)
        return product / product.sum()

    found = correct(base[None], residuals(mean[None], np.ones(1) / size, expected[None] / size), prior)
    np.testing.assert_allclose(found.prob[0], r(mean), rtol=1e-12)
    v = found.gain[0]
    np.testing.assert_allclose(np.diag(v) - np.outer(r(mean), v), derivative(r, mean), atol=1e-8)
    m = expected * (prior + size * mean) / ((prior + expected) * size)
    np.testing.assert_allclose(found.share[0], m, rtol=1e-12)
    assert found.reliance[0] == pytest.approx(r(mean) @ (expected / (prior + expected)))
    nothing = correct(base[None], residuals(np.zeros((1, K)), np.zeros(1), np.zeros((1, K))), prior)
    np.testing.assert_allclose(nothing.prob[0], base, rtol=1e-15)
    assert (nothing.gain == 0).all()
    assert (nothing.share == 0).all()
    assert nothing.reliance[0] == nothing.size[0, 0] == half_trace(Brier(), nothing)[0] == 0


@pytest.mark.parametrize("generator", [*GENERATORS, CUBIC], ids=repr)
def test_variance_terms_are_traces_with_the_hessian(generator: BregmanGenerator) -> None:
    if generator is CUBIC:
        pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    n = 6
    prob, share = rng.dirichlet([1.0] * K, n), rng.dirichlet([1.0] * K, n)
    gain, size = rng.uniform(0, 2, (n, K)), rng.uniform(2, 50, (n, 1))
    hessian = generator.hessian(prob)
    directions = rng.standard_normal((n, K))
    products = np.einsum("nij,nj->ni", hessian, directions)
    np.testing.assert_allclose(generator.hessian_times(prob, directions), products, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(generator.hessian_diagonal(prob), np.diagonal(hessian, axis1=1, axis2=2), rtol=1e-9)

    found = half_trace(generator, Corrected(prob, gain, share, np.zeros(n), size))
    for h in range(n):
        jacobian = np.diag(gain[h]) - np.outer(prob[h], gain[h])
        labels = np.diag(share[h]) - np.outer(share[h], share[h])
        covariance = jacobian @ labels @ jacobian.T / size[h, 0]
        assert found[h] == pytest.approx(np.trace(hessian[h] @ covariance) / 2, rel=1e-9)

    fits = [rng.dirichlet([1.0] * K, n) for _ in range(4)]
    centre = np.mean(fits, axis=0)
    at_centre = generator.hessian(centre)
    expected = sum(np.einsum("ni,nij,nj->n", b - centre, at_centre, b - centre) for b in fits) / 2
    np.testing.assert_allclose(half_spread(generator, fits), expected, rtol=1e-9)


# ------------------------------------------------------------------ fits
def descended(loss: Any, slope: Any, step: Any, starts: list[float]) -> tuple[list[float], list[list[float]]]:
    """Where `descend` ends by steps `step(x)`, and the points at which it looked, of each start."""
    seen: list[list[float]] = [[] for _ in starts]

    def evaluate(x: Any, number: Any) -> tuple[Any, Any]:
        assert (np.diff(number) > 0).all()
        for i, each in zip(number, x[:, 0], strict=True):
            seen[i].append(float(each))
        return loss(x[:, 0]), x

    def propose(x: Any, same: Any, number: Any) -> tuple[Any, Any]:
        np.testing.assert_array_equal(x, same)
        assert len(number) == len(x)
        return -slope(x[:, 0]) * step(x[:, 0]), step(x)

    found = descend(np.array(starts)[:, None], evaluate, propose, lambda gain, _: gain < 1e-20)
    return found[:, 0].tolist(), seen


def test_a_descent_halves_steps_until_the_loss_falls() -> None:
    # A whole step to the bottom; eight times it, of which an eighth is the first that lowers the loss enough.
    for times in (1, 8):
        found, (seen,) = descended(lambda x: (x - 3) ** 2 + 50, lambda x: 2 * (x - 3), lambda x, c=times: c * (3 - x), [1.0])
        assert found == [3]
        assert seen[1] == 1 + 2 * times
    # x − log x is not a number below 0, where whole steps of the slope would lead.
    with np.errstate(invalid="ignore"):
        found, (seen,) = descended(lambda x: x - np.log(x), lambda x: 1 - 1 / x, lambda x: 8 * (1 / x - 1), [5.0])
    assert min(seen) < 0 < found[0]
    assert found[0] == pytest.approx(1, abs=1e-5)


def test_a_step_that_promises_more_than_the_loss_is_shortened_at_once() -> None:
    # log(1 + eˣ) at 40 has a curvature of e⁻⁴⁰: the Newton step is −e⁴⁰, where twice the loss is −80.
    def logistic(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    def newton(x: Any) -> Any:
        return -1 / (1 - logistic(np.minimum(x, 36.0)))

    (end,), (seen,) = descended(lambda x: np.logaddexp(0, x), logistic, newton, [30.0])
    assert seen[1] == pytest.approx(30 - 2 * 30)
    assert end < -20
    # The same with an end of its own, where whole steps lead.
    (end,), _ = descended(lambda x: np.logaddexp(0, x) + (x + 1) ** 2 / 200, lambda x: logistic(x) + (x + 1) / 100, lambda x: -(logistic(x) + (x + 1) / 100) / (logistic(x) * logistic(-x) + 0.01), [500.0])
    assert logistic(end) + (end + 1) / 100 == pytest.approx(0, abs=1e-9)


def test_a_descent_without_a_way_down_stays() -> None:
    found, (seen,) = descended(lambda x: x**2, lambda x: 2 * x, lambda x: x, [1.0])
    assert (found, min(seen), len(seen)) == ([1.0], 1.0, 13)


def test_descents_side_by_side_go_where_each_goes_alone() -> None:
    """Those that need shorter steps, or end first, do not disturb the others."""
    curve = (lambda x: x - np.log(x), lambda x: 1 - 1 / x, lambda x: 8 * (1 / x - 1))
    starts = [0.5, 5.0, 1.0, 1.3, 40.0]
    with np.errstate(invalid="ignore"):
        together, seen = descended(*curve, starts)
        for start, end, looked in zip(starts, together, seen, strict=True):
            (alone,), (path,) = descended(*curve, [start])
            assert end == alone
            assert looked == path


@pytest.mark.parametrize("kind", ["shared", "by class", "by group"])
@pytest.mark.parametrize("with_offset", [False, True])
def test_logit_fits_minimise_the_penalised_loss(kind: str, with_offset: bool) -> None:
    rng = np.random.default_rng(2)
    n, d = 50, 3 if kind == "shared" else 2 * K
    group = rng.integers(0, K, n)
    terms: Any = {
        "shared": SharedTerms(rng.standard_normal((d, K, n))),
        "by class": ClassTerms(rng.standard_normal((K, 2, n))),
        "by group": GroupTerms(rng.standard_normal((2, K, n)), np.eye(K)[group]),
    }[kind]
    counts = rng.uniform(0, 3, (2, K, n)) * (rng.random((2, K, n)) < 0.5)
    start, ridge = rng.standard_normal((2, d)), rng.uniform(0.1, 3, (2, d))
    offset = rng.standard_normal((2, K, n)) if with_offset else None

    def scores(theta: Any, b: int) -> Any:
        by_hand = {
            "shared": lambda: np.einsum("d,dkn->kn", theta, terms.values),
            "by class": lambda: np.einsum("ks,ksn->kn", theta.reshape(K, 2), terms.values),
            "by group": lambda: np.einsum("ns,skn->kn", theta.reshape(K, 2)[group], terms.values),
        }[kind]()
        return by_hand if offset is None else by_hand + offset[b]

    def loss(theta: Any, b: int) -> Any:
        s = scores(theta, b)
        return (counts[b] * (logsumexp(s, axis=0) - s)).sum()

    found = logit.fit(terms, counts, start=start, ridge=ridge, offset=offset)
    both = np.stack([scores(start[b], b) for b in range(2)])
    prob, weight = np.exp(both - logsumexp(both, axis=1, keepdims=True)), counts.sum(axis=1)
    products = terms.products(weight[:, None] * prob - counts)
    information = terms.information(prob, weight)
    for b in range(2):

        def objective(theta: Any, b: int = b) -> Any:
            return loss(theta, b) + ridge[b] @ (theta - start[b]) ** 2 / 2

        best = minimize(objective, start[b], method="BFGS", options={"gtol": 1e-7})
        assert objective(found[b]) == pytest.approx(best.fun, abs=1e-6)
        np.testing.assert_allclose(found[b], best.x, atol=1e-3)
        slope = derivative(lambda theta, b=b: loss(theta, b), start[b])
        np.testing.assert_allclose(products[b], slope, atol=1e-6)
        second = derivative(lambda theta, b=b: derivative(lambda t: loss(t, b), theta, 1e-3), start[b], 1e-3)
        np.testing.assert_allclose(information[b], second, atol=1e-4)


def some_terms(kind: str, rng: np.random.Generator, n: int) -> Any:
    ranks = np.eye(K)[rng.permuted(np.tile(np.arange(K), (n, 1)), axis=1)].transpose(1, 2, 0)
    found: dict[str, Any] = {
        "shared": SharedTerms(rng.standard_normal((4, K, n))),
        "by class": ClassTerms(rng.standard_normal((K, 2, n))),
        "by group": GroupTerms(rng.standard_normal((2, K, n)), np.eye(K)[rng.integers(0, K, n)]),
        "in context": ContextTerms(rng.standard_normal((K, n)), rng.standard_normal((3, n))),
        "by rank": RankTerms(ranks[:2], rng.standard_normal((2, 3, n))),
        "tied": TiedTerms(ClassTerms(rng.standard_normal((K, 2, n))), np.eye(4)[:, [0, 1, 2, 3, 1, 0]]),
    }
    return found[kind]


@pytest.mark.parametrize("kind", ["shared", "by class", "by group", "in context", "by rank", "tied"])
@pytest.mark.parametrize("generator", [Log(), Brier(), Spherical()], ids=repr)
def test_curvature_of_terms_is_the_second_derivative_of_the_divergence(kind: str, generator: Any) -> None:
    """D_F(p, q) of a small step from p along a score is half of what its curvature says."""
    rng = np.random.default_rng(4)
    n, step = 30, 1e-4
    terms, weight = some_terms(kind, rng, n), rng.uniform(0.5, 2, n)
    start = rng.standard_normal((1, terms.n_terms))
    scores = terms.scores(start)[0] / 3
    p = np.exp(log_softmax(scores.T))

    def bend(vectors: Any) -> Any:
        return curved(generator, p, vectors.transpose(0, 2, 1)).transpose(0, 2, 1)

    found = terms.curvature(p.T, weight, bend)
    np.testing.assert_allclose(found, found.T, atol=1e-10 * np.abs(found).max())
    for along in rng.standard_normal((3, terms.n_terms)):
        moved = [np.exp(log_softmax((scores + sign * step * terms.scores(along[None])[0]).T)) for sign in (1, -1)]
        away = weight @ (generator.divergence(p, moved[0]) + generator.divergence(p, moved[1]))
        assert along @ found @ along == pytest.approx(away / step**2, rel=1e-4)
    if isinstance(generator, Log):
        np.testing.assert_allclose(found, terms.information(p.T[None], weight[None])[0], rtol=1e-9, atol=1e-9)


# ------------------------------------------------------------------ stacking
@pytest.mark.parametrize("generator", [Log(), Brier(), Spherical(), ItakuraSaito()], ids=repr)
@pytest.mark.parametrize("sharp", [0.3, 3.0])
def test_stacking_finds_the_best_weights(generator: BregmanGenerator, sharp: float) -> None:
    rng = np.random.default_rng(6)
    n = 60
    truth = rng.dirichlet([1.0] * K, n)
    y = (rng.random(n)[:, None] > truth.cumsum(axis=1)).sum(axis=1)
    outcome, weight = np.eye(K)[y], rng.uniform(0.5, 2, n)
    weight /= weight.sum()
    candidates = np.exp(
        [log_softmax(sharp * np.log(truth) + rng.standard_normal((n, K))) for _ in range(2)]
        + [log_softmax(0.2 * np.log(truth))]
    )

    def loss(a: Any) -> Any:
        return weight @ generator.loss(np.tensordot(a, candidates, axes=1), outcome)

    a = stacking_weights(generator, candidates, outcome, weight)
    assert (a >= 0).all()
    assert a.sum() == pytest.approx(1, abs=1e-12)
    grid = [np.array([i, j, 40 - i - j]) / 40 for i in range(41) for j in range(41 - i)]
    assert loss(a) <= min(map(loss, grid)) + 1e-7
    # Karush, Kuhn, Tucker: the slope is the same along all weights in use, and no lower along others.
    q = np.tensordot(a, candidates, axes=1)
    slopes = np.einsum("mni,ni->mn", candidates, generator.hessian_times(q, q - outcome))
    slope, tolerance = slopes @ weight, 1e-4 * (np.abs(slopes) @ weight).max()
    np.testing.assert_allclose(slope[a > 1e-9], a @ slope, atol=tolerance)
    assert (slope >= a @ slope - tolerance).all()


def test_stacking_takes_the_perfect_candidate_alone_and_shares_among_equals() -> None:
    rng = np.random.default_rng(7)
    outcome = np.eye(K)[rng.integers(0, K, 30)]
    noise, weight = rng.dirichlet([1.0] * K, 30), np.full(30, 1 / 30)
    candidates = np.stack([noise, 0.999 * outcome + 0.001 / K, noise[::-1]])
    np.testing.assert_allclose(stacking_weights(Log(), candidates, outcome, weight), [0, 1, 0], atol=1e-6)
    equal = stacking_weights(Brier(), np.stack([noise, noise]), outcome, weight)
    assert (equal >= 0).all()
    assert equal.sum() == pytest.approx(1)
    np.testing.assert_array_equal(stacking_weights(Log(), noise[None], outcome, weight), [1.0])
