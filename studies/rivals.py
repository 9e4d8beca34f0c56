"""Published estimates and tests that the debiasing study compares with; no part of the package."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist

from propercal._array import log_softmax
from propercal.generators import BregmanGenerator
from studies.bins import N_BINS, bin_means, bin_of
from studies.data import Floats, Labels

# Inverse temperatures beyond these are those of separable classes.
_RANGE = (1e-3, 1e3)


def fit_inverse_temperature(log_g: Floats, y_true: Labels, start: float = 1.0) -> float:
    """Return the inverse temperature a of softmax(a log g) of largest likelihood.

    Newton's method on the logarithm of a. Guo, Pleiss, Sun & Weinberger (2017), "On calibration of
    modern neural networks".
    """
    target = float(np.take_along_axis(log_g, y_true[:, None], axis=1).sum())
    low, high = _RANGE
    a = start
    for _ in range(60):
        p = np.exp(log_softmax(a * log_g))
        mean = np.sum(p * log_g, axis=1)
        # Increasing in a, with this derivative.
        excess = float(mean.sum()) - target
        slope = float(np.sum(p * (log_g - mean[:, None]) ** 2))
        low, high = (low, a) if excess > 0 else (a, high)
        step = a - excess / slope if slope > 0 else math.inf
        step = step if low < step < high else math.sqrt(low * high)
        if abs(step - a) <= 1e-8 * a:
            return step
        a = step
    return a


def temperature_estimates(
    y_true: Labels,
    y_proba: Floats,
    generators: Sequence[BregmanGenerator],
    rng: np.random.Generator,
    n_folds: int = 5,
) -> list[list[float]]:
    """Return the mean loss that temperature scaling fitted on other folds saves, for each F.

    As it is; and mixed with a uniform prediction that counts as one row beside those it was fitted
    to: Berta, Holzmüller, Jordan & Bach (2025), "Rethinking early stopping: refine, then
    calibrate", whose package probmetrics calls it ts-mix.
    """
    n, k = y_proba.shape
    log_g = np.log(np.maximum(y_proba, 1e-300))
    fold = rng.permutation(n) % n_folds
    log_r = np.empty((2, n, k))
    for f in range(n_folds):
        out = fold == f
        a = fit_inverse_temperature(log_g[~out], y_true[~out])
        log_r[0, out] = log_softmax(a * log_g[out])
        share = 1 / (int(np.sum(~out)) + 1)
        log_r[1, out] = np.logaddexp(math.log1p(-share) + log_r[0, out], math.log(share / k))
    outcome = np.eye(k)[y_true]

    def saved(generator: BregmanGenerator, log_q: Floats) -> float:
        after = generator.loss(np.exp(log_q), outcome, log_q=log_q)
        return float(np.mean(generator.loss(y_proba, outcome, log_q=log_g) - after))

    return [[saved(generator, log_q) for generator in generators] for log_q in log_r]


def binned_estimates(
    y_true: Labels, y_proba: Floats, generators: Sequence[BregmanGenerator]
) -> list[float]:
    """Return Σ_b (n_b / n) D_F(mean label, mean prediction), class-wise, for each F.

    Equal-width bins: Naeini, Cooper & Hauskrecht (2015), "Obtaining well calibrated probabilities
    using Bayesian binning", with D_F in place of the absolute difference.
    """
    totals = [0.0] * len(generators)
    for i in range(y_proba.shape[1]):
        bins = bin_means(y_proba[:, i], y_true == i)
        count, score, label = bins[:, bins[0] > 0]
        pair_y, pair_g = np.stack([1 - label, label], -1), np.stack([1 - score, score], -1)
        for j, generator in enumerate(generators):
            totals[j] += float(count @ generator.divergence(pair_y, pair_g)) / len(y_true)
    return [total / y_proba.shape[1] for total in totals]


def debiased_binned_estimate(y_true: Labels, y_proba: Floats) -> float:
    """Return the class-wise Brier calibration error of bins, less the variance of their means.

    Kumar, Liang & Ma (2019), "Verified uncertainty calibration"; Bröcker (2012), "Estimating
    reliability and resolution of probability forecasts through decomposition of the empirical
    score". A bin of one label has no estimate of its variance and is left as it is.
    """
    total = 0.0
    for i in range(y_proba.shape[1]):
        count, score, label = bin_means(y_proba[:, i], y_true == i)
        noise = label * (1 - label) / np.maximum(count - 1, 1)
        # Both components of the pair (1 − p, p) have the same difference.
        total += 2 * float(count @ ((label - score) ** 2 - noise)) / len(y_true)
    return float(total / y_proba.shape[1])


TESTS = ("temperature", "binned", "skce")


def resampled_pvalues(
    y_true: Labels, y_proba: Floats, n_resamples: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return p-values of rival tests, exact since labels are drawn from the predictions.

    - temperature: likelihood ratio of softmax(a log g) against a = 1;
    - binned: Σ (labels − predictions)² / variance over 15 bins of each class, as Hosmer & Lemeshow
      (1980), "Goodness of fit tests for the multiple logistic regression model";
    - skce: the unbiased squared kernel calibration error, kernel exp(−‖g − g'‖_1 / 2ν) I with the
      median ν of half the distances. Widmann, Lindsten & Zachariah (2019), "Calibration tests in
      multi-class classification: a unifying framework".
    """
    n, k = y_proba.shape
    edges = y_proba.cumsum(axis=1)[:, :-1]
    drawn = [(rng.random((n, 1)) > edges).sum(axis=1) for _ in range(n_resamples)]
    labels = np.stack([y_true, *drawn])
    residual = np.eye(k, dtype=np.float32)[labels] - y_proba.astype(np.float32)
    statistics = {
        "temperature": _likelihood_ratios(labels, np.log(np.maximum(y_proba, 1e-300))),
        "binned": _binned_chi_squares(residual, y_proba),
        "skce": _kernel_errors(residual, y_proba),
    }
    return {
        name: float(np.sum(values >= values[0])) / (n_resamples + 1)
        for name, values in statistics.items()
    }


def _likelihood_ratios(labels: Labels, log_g: Floats) -> Floats:
    def likelihood(a: float, y: Labels) -> float:
        log_r = log_softmax(a * log_g)
        return float(np.take_along_axis(log_r, y[:, None], axis=1).sum())

    fitted = [likelihood(fit_inverse_temperature(log_g, y), y) for y in labels]
    return 2 * (np.array(fitted) - [likelihood(1.0, y) for y in labels])


def _binned_chi_squares(residual: NDArray[np.float32], y_proba: Floats) -> Floats:
    total = np.zeros(len(residual))
    for i in range(y_proba.shape[1]):
        indicator = np.eye(N_BINS)[bin_of(y_proba[:, i])]
        variance = (y_proba[:, i] * (1 - y_proba[:, i])) @ indicator
        # Next to nothing happens where the variance is next to 0.
        used = variance > 1e-6
        sums = residual[:, :, i].astype(np.float64) @ indicator[:, used]
        total += np.sum(sums**2 / variance[used], axis=1)
    return total


def _kernel_errors(residual: NDArray[np.float32], y_proba: Floats) -> Floats:
    n, k = y_proba.shape
    width = float(np.median(pdist(y_proba[:500], "cityblock")))
    kernel = np.exp(-cdist(y_proba, y_proba, "cityblock") / max(width, 1e-12)).astype(np.float32)
    np.fill_diagonal(kernel, 0.0)
    flat = np.ascontiguousarray(residual.transpose(1, 0, 2)).reshape(n, -1)
    products = (flat * (kernel @ flat)).reshape(n, -1, k)
    return np.asarray(products.sum(axis=(0, 2), dtype=np.float64) / (n * (n - 1)))
