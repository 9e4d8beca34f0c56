"""The debiased estimate: identities, symmetries, and that no row takes part in its own recalibration.

r̂_h depends on the labels of other rows alone, so E[L_F(g, Y) − L_F(r̂, Y) | the rest] = D_F(r, g) − D_F(r, r̂):
the lower bound is its mean, whose expectation is at most the truth, but for the effect of choosing a kernel.

Source: paper, Eq. 12; cross-fitting: Chernozhukov et al. (2018), doi:10.1111/ectj.12097.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm

from propercal import decompose
from propercal._data.predictions.notions import as_notion
from propercal._data.predictions.predictions import validate
from propercal._methods import candidates, cross_fitting, one_step, table
from propercal._methods.recipe import make_recipe
from propercal.generators import BregmanGenerator, Brier, Log, from_function
from propercal.inference.paired import paired_difference
from propercal.simulation import TemperatureScaledSimplex
from theory_tests.instances import NOTIONS, TERMS, generators, written

#: Of a test whose assertion is true, over its random seeds.
FALSE_ALARM = 1e-6
SCORE_TEMPERATURE = 0.6
Y, G, _ = TemperatureScaledSimplex(3).sample(80, random_state=0)


#: A generator of a user, with no more than what has to be there but for speed.
QUARTIC = written(
    "Quartic",
    value=lambda p: (p**4).sum(-1) - 1,
    gradient=lambda p: 4 * p**3,
    hessian=lambda p: 12 * p[..., None] ** 2 * np.eye(p.shape[-1]),
)
GENERATORS = [*generators("log", "brier", "spherical", "tsallis-0.5"), QUARTIC]


class Known:
    """A recalibrator that was told a calibration map."""

    def __init__(self, power: float) -> None:
        self.power = power

    def fit(self, *_: Any) -> Known:
        return self

    def predict_proba(self, X: Any) -> Any:
        powers = X**self.power
        return powers / powers.sum(axis=1, keepdims=True)


class Memory:
    """A recalibrator that is certain of every row it was fitted to and leaves others alone."""

    def fit(self, X: Any, y: Any) -> Memory:
        self.seen = dict(zip(map(tuple, X), y, strict=True))
        return self

    def predict_proba(self, X: Any) -> Any:
        certain = 0.98 * np.eye(X.shape[1]) + 0.02 / X.shape[1]
        return np.stack([certain[self.seen[tuple(x)]] if tuple(x) in self.seen else x for x in X])


def terms_of(found: Any) -> Any:
    return [*(getattr(found, term) for term in TERMS), found.lower_bound, *found.interval("calibration_error")]


def mean_loss(generator: BregmanGenerator, q: Any, y: Any) -> float:
    return float(generator.loss(q, np.eye(q.shape[1])[y]).mean())


# ------------------------------------------------------------------ identities
@pytest.mark.parametrize("notion", NOTIONS)
def test_identities(notion: str) -> None:
    for found in decompose(Y, G, generator=GENERATORS, notion=notion):
        assert found.risk == pytest.approx(found.calibration_error + found.refinement, rel=1e-12)
        assert found.refinement == pytest.approx(found.uncertainty - found.sharpness, rel=1e-12)
        assert found.lower_bound is not None
        assert found.calibration_error > found.lower_bound
        for term in TERMS:
            low, high = found.interval(term)
            assert low <= max(getattr(found, term), 0.0) <= high
            lower, higher = found.interval(term, 0.99)
            assert lower <= low
            assert higher > high


@pytest.mark.parametrize("notion", NOTIONS)
def test_a_list_of_generators_is_one_after_the_other_and_the_estimate_is_linear_in_f(notion: str) -> None:
    generators = [Log(), Brier(), 2 * Brier(), 0.5 * Log()]
    together = decompose(Y, G, generator=generators, notion=notion)
    for generator, found in zip(generators[:2], together[:2], strict=True):
        alone = decompose(Y, G, generator=generator, notion=notion)
        np.testing.assert_allclose(terms_of(found), terms_of(alone), rtol=1e-9)
        assert found.bandwidth == alone.bandwidth
    np.testing.assert_allclose(terms_of(together[2]), 2 * np.asarray(terms_of(together[1])), rtol=1e-9)
    np.testing.assert_allclose(terms_of(together[3]), 0.5 * np.asarray(terms_of(together[0])), rtol=1e-9)


def test_an_affine_term_in_f_changes_no_divergence() -> None:
    pytest.importorskip("torch")

    def shifted(p: Any) -> Any:
        return (p**2).sum(-1) + 3 * p[..., 0] - 0.5 * p[..., 1] + 4

    found, plain = decompose(Y, G, generator=[from_function(shifted), Brier()])
    for term in ("calibration_error", "sharpness"):
        assert getattr(found, term) == pytest.approx(getattr(plain, term), rel=1e-6)
        np.testing.assert_allclose(found.interval(term), plain.interval(term), rtol=1e-6)
    assert found.lower_bound == pytest.approx(plain.lower_bound, rel=1e-6)


# ------------------------------------------------------------------ symmetries
@pytest.mark.parametrize("notion", ["canonical", "top-label"])
def test_weights_count_by_their_ratios_and_weight_zero_is_absence(notion: str) -> None:
    weight = np.random.default_rng(2).uniform(0.5, 2, len(Y))
    weight[::7] = 0
    some = weight > 0
    expected = decompose(Y[some], G[some], notion=notion, sample_weight=weight[some])
    for scale in (1.0, 1e-200, 3e100):
        found = decompose(Y, G, notion=notion, sample_weight=scale * weight)
        np.testing.assert_allclose(terms_of(found), terms_of(expected), rtol=1e-7, atol=1e-9)
        assert found.n_samples == some.sum()
    equal = decompose(Y, G, notion=notion, sample_weight=np.full(len(Y), 7.0))
    np.testing.assert_allclose(terms_of(equal), terms_of(decompose(Y, G, notion=notion)), rtol=1e-9)


def test_folds_are_reproducible_and_follow_the_seed() -> None:
    def value(seed: Any) -> float:
        return float(decompose(Y, G, generator="brier", bandwidth=0.1, random_state=seed).calibration_error)

    assert value(0) == value(0) == value(np.int64(0)) == value(np.random.default_rng(0))
    assert value(1) != value(0)


# ------------------------------------------------------------------ what r̂ may depend on
def test_the_truth_as_recalibrator_gives_the_mean_excess_loss() -> None:
    truth = Known(SCORE_TEMPERATURE)
    r = truth.predict_proba(G)
    for found in decompose(Y, G, generator=GENERATORS, recalibrator=truth, kernel=None):
        expected = mean_loss(found.generator, G, Y) - mean_loss(found.generator, r, Y)
        assert found.calibration_error == pytest.approx(expected, rel=1e-12)
        assert found.lower_bound == pytest.approx(expected, rel=1e-12)
        assert found.kernel_share == 0
        assert found.bandwidth == math.inf
        excess = found.generator.loss(G, np.eye(3)[Y]) - found.generator.loss(r, np.eye(3)[Y])
        error = excess.std(ddof=1) / math.sqrt(len(Y))
        assert found.standard_errors["calibration_error"] == pytest.approx(error, rel=1e-9)


def test_of_two_recalibrators_the_truth_is_chosen() -> None:
    y, g, _ = TemperatureScaledSimplex(3).sample(300, random_state=1)
    both = decompose(y, g, recalibrator=[Known(0.05), Known(SCORE_TEMPERATURE)], kernel=None)
    alone = decompose(y, g, recalibrator=Known(SCORE_TEMPERATURE), kernel=None)
    assert both.calibration_error == pytest.approx(alone.calibration_error, abs=0.3 * alone.standard_errors["risk"])


@pytest.mark.parametrize("notion", NOTIONS)
def test_no_row_is_recalibrated_by_what_was_fitted_to_it(notion: str) -> None:
    """What remembers rows knows nothing about others: r̂ = g, and only V tells that it differs between folds."""
    for found in decompose(Y, G, generator=[Log(), Brier()], notion=notion, recalibrator=Memory(), kernel=None):
        assert found.lower_bound == pytest.approx(0, abs=1e-12)
        assert found.calibration_error > 0.01


def lower_bounds(n_samples: int) -> Any:
    """(samples, 2) lower bounds of the log loss and the Brier score on calibrated predictions."""
    rng = np.random.default_rng(3)
    result = []
    for _ in range(n_samples):
        g = rng.dirichlet([0.8] * 3, 100)
        y = np.minimum((rng.random(100)[:, None] > g.cumsum(axis=1)).sum(axis=1), 2)
        result.append([found.lower_bound for found in decompose(y, g, generator=["log", "brier"])])
    return np.asarray(result)


def is_below_zero(values: Any) -> Any:
    """Whether the mean could be 0 or less; a false alarm has probability FALSE_ALARM at a mean of 0."""
    n = len(values)
    return values.mean(axis=0) <= norm.isf(FALSE_ALARM) * values.std(axis=0, ddof=1) / math.sqrt(n)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*only the kernel sees")
def test_no_label_leaks_into_its_own_recalibration() -> None:
    """Calibrated predictions gain nothing from recalibration that did not see them.

    This can fail: the next test lets the fits see their own rows, and the same assertion is then false.
    """
    assert is_below_zero(lower_bounds(25)).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*only the kernel sees")
def test_a_leak_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def leaking(sources: Any, *arguments: Any) -> Any:
        fits = cross_fitting.cross_fit_rows(sources, *arguments)
        by_left_out: Any = vars(fits.fits)["fits"]
        nothing_left_out = by_left_out[frozenset({0})]
        for out in by_left_out:
            by_left_out[out] = nothing_left_out
        return fits

    monkeypatch.setattr(table, "_FEW_NUMBERS", 0)
    monkeypatch.setattr(one_step, "cross_fit_rows", leaking)
    assert not is_below_zero(lower_bounds(20)).any()


@pytest.mark.parametrize("k", [2, 3])
def test_a_corrected_recalibration_does_not_depend_on_its_own_label(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A given kernel correction: exp(−L_log(r̂_h, y)), with r̂_h made anew for every y_h = y, sums to 1 over y.

    This needs the base of the target's own fold at its neighbours too: those of other folds have seen y_h.
    """
    monkeypatch.setattr(candidates.Candidates, "_best", lambda self: [2] * len(self._labels))
    recipe = make_recipe("dirichlet", 0.1, None, 4, 0)
    y, g, _ = TemperatureScaledSimplex(k).sample(60, random_state=1)
    moved = False
    for h in (0, 17, 41):
        total = 0.0
        for label in range(k):
            labels = np.where(np.arange(len(y)) == h, label, y)
            (problem,) = as_notion("canonical").problems(validate(labels, g))
            (found,) = one_step.one_step(problem, [Log()], recipe)
            rows = found.rows
            total += math.exp(-(rows.loss + rows.correction)[h])
            moved |= bool(abs(rows.loss + rows.correction - rows.base_loss)[h] > 1e-6)
        assert total == pytest.approx(1, rel=1e-9)
    assert moved


# ------------------------------------------------------------------ bias and coverage
@pytest.mark.slow
def test_bias_is_small_and_intervals_cover_on_the_simulation_of_the_paper() -> None:
    """k = 2, n = 300: bias within a tenth of the calibration error, up to the error of 120 samples.

    The mean excess loss mean[L(g, y) − L(p, y)] of the same sample is unbiased and removes most of the noise.
    The direct and the risk estimates at their own bandwidths are biased by 20 % and more here.
    """
    n_samples = 120
    model = TemperatureScaledSimplex(2)
    excess, covered = [], []
    truths = [float(model.truth(name, "canonical").value) for name in ("log", "brier")]
    for seed in range(n_samples):
        y, g, p = model.sample(300, random_state=seed)
        both = decompose(y, g, generator=["log", "brier"])
        excess.append([
            found.calibration_error - mean_loss(found.generator, g, y) + mean_loss(found.generator, p, y)
            for found in both
        ])
        intervals = [found.interval("calibration_error") for found in both]
        covered.append([low <= truth <= high for truth, (low, high) in zip(truths, intervals, strict=True)])
    values = np.asarray(excess)
    error = norm.isf(FALSE_ALARM / 2) * values.std(axis=0, ddof=1) / math.sqrt(n_samples)
    assert (error < 0.2 * np.asarray(truths)).all()
    assert (np.abs(values.mean(axis=0)) <= 0.1 * np.asarray(truths) + error).all()
    counts = np.asarray(covered).sum(axis=0)
    assert (counts >= binom.ppf(FALSE_ALARM, n_samples, 0.92)).all()


# ------------------------------------------------------------------ paired difference
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("make_state", [lambda: 0, lambda: None, lambda: np.random.default_rng(0)])
def test_equal_predictions_do_not_differ(notion: str, make_state: Any) -> None:
    found = paired_difference(Y, G, G.copy(), notion=notion, bandwidth=0.1, random_state=make_state())
    assert found.difference == 0
    assert found.pvalue == 1
    low, high = found.interval()
    assert low == -high < 0


def test_swapping_models_changes_the_sign() -> None:
    other = Known(0.5).predict_proba(G)
    found, swapped = paired_difference(Y, G, other), paired_difference(Y, other, G)
    assert found.difference == -swapped.difference != 0
    assert found.pvalue == pytest.approx(swapped.pvalue, rel=1e-12)
    assert found.standard_error == pytest.approx(swapped.standard_error, rel=1e-12)
    assert found.interval() == pytest.approx([-end for end in swapped.interval()[::-1]])
    assert found.a.calibration_error == swapped.b.calibration_error == decompose(Y, G).calibration_error


def test_the_better_calibrated_model_is_found() -> None:
    y, _, p = TemperatureScaledSimplex(3).sample(400, random_state=0)
    g = Known(3.0).predict_proba(p)
    pairs = paired_difference(y, g, p, generator=["log", "brier"])
    alone = paired_difference(y, g, p, generator="brier")
    assert [pair.a.generator for pair in pairs] == [Log(), Brier()]
    assert pairs[1].interval() == pytest.approx(alone.interval(), rel=1e-9)
    for found in pairs:
        assert found.difference > 0
        assert found.pvalue < 1e-3
        assert found.interval()[0] > 0
        ends = [found.interval(level) for level in (0.5, 0.8, 0.95, 0.99)]
        for (low, high), (lower, higher) in pairwise(ends):
            assert lower < low < found.difference < high < higher
        assert found.interval() == found.interval(0.95)
        # The p-value is the level whose interval just reaches 0.
        assert found.interval(1 - found.pvalue)[0] == pytest.approx(0, abs=1e-3 * found.difference)
        # Pairing helps: rows that are hard for one model are hard for the other.
        apart = math.hypot(*(each.standard_errors["risk"] for each in (found.a, found.b)))
        assert found.standard_error < apart
