"""Logistic regression with few coefficients, by Newton's method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_STEPS = 100
#: Newton decrement from which one step more is exact to rounding.
_NEAR = 1e-12


class Fit(NamedTuple):
    """Coefficients that maximise the likelihood."""

    coefficients: Floats
    """(q,)."""
    information: Floats
    """(q, q) Σ w p (1 − p) x xᵀ."""
    scores: Floats
    """(n, q) w (y − p) x of each row."""

    def covariance(self, groups: npt.NDArray[np.int64] | None) -> Floats:
        """(q, q) by the sandwich: right whatever the law of the labels is given the predictions."""
        scores = self.scores
        if groups is not None:
            scores = np.stack([np.bincount(groups, column) for column in scores.T], axis=1)
        n = len(scores)
        bread = np.linalg.inv(self.information)
        covariance: Floats = bread @ (scores.T @ scores) @ bread * (n / (n - 1))
        return covariance

    def model_covariance(self, n: int) -> Floats:
        """(q, q) by the likelihood of `n` independent rows of equal weights."""
        covariance: Floats = np.linalg.inv(self.information) / n
        return covariance


def fit_logistic(design: Floats, occurred: Floats, weight: Floats, offset: Floats) -> Fit:
    """Fit coefficients of a design (n, q) beside an offset, for weights that sum to 1."""
    found = np.zeros(design.shape[1])
    value = _loss(design @ found + offset, occurred, weight)
    for _ in range(_STEPS):
        scores, information = _derivatives(design, found, occurred, weight, offset)
        gradient = scores.sum(axis=0)
        step = np.linalg.solve(information, gradient)
        if gradient @ step <= _NEAR:
            # What rounding leaves of the loss no longer tells whether it falls.
            found = found + step
            break
        length = 1.0
        while _loss(design @ (found + length * step) + offset, occurred, weight) > value:
            length /= 2
        found = found + length * step
        value = _loss(design @ found + offset, occurred, weight)
    scores, information = _derivatives(design, found, occurred, weight, offset)
    return Fit(found, information, scores)


def _loss(log_odds: Floats, occurred: Floats, weight: Floats) -> float:
    return float(weight @ (np.logaddexp(0.0, log_odds) - occurred * log_odds))


def _derivatives(
    design: Floats, found: Floats, occurred: Floats, weight: Floats, offset: Floats
) -> tuple[Floats, Floats]:
    log_odds = design @ found + offset
    small = np.exp(-np.abs(log_odds))
    prob = np.where(log_odds >= 0, 1.0, small) / (1 + small)
    curvature = small / (1 + small) ** 2
    scores = (weight * (occurred - prob))[:, None] * design
    return scores, design.T @ ((weight * curvature)[:, None] * design)
