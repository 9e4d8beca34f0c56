"""Multinomial logit models with few coefficients, fitted by penalised maximum likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from propercal._array import device, log_softmax, namespace
from propercal._typing import Array
from propercal.recalibration.descent import descend

#: Log likelihood, in nats of the whole sample, that a further step may still be worth.
_TOLERANCE = 1e-4


class Terms(Protocol):
    """Scores (n, k) that are linear in coefficients (d,)."""

    def scores(self, coefficients: Array) -> Array:
        """(n, k) scores."""

    def products(self, residual: Array) -> Array:
        """(d,) sums over rows and classes of term × residual (n, k)."""

    def information(self, prob: Array, weight: Array) -> Array:
        """(d, d) weighted sum over rows of the covariance of the terms under `prob`."""


@dataclass(frozen=True)
class SharedTerms:
    """Terms (d, n, k) whose coefficients are the same for every class."""

    values: Array

    def scores(self, coefficients: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        return xp.tensordot(coefficients, self.values, axes=1)

    def products(self, residual: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        return xp.reshape(self.values, (self.values.shape[0], -1)) @ xp.reshape(residual, (-1,))

    def information(self, prob: Array, weight: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        d = self.values.shape[0]
        weighted = self.values * prob
        means = xp.sum(weighted, axis=2)
        flat = xp.reshape(weighted * weight[:, None], (d, -1))
        return flat @ xp.reshape(self.values, (d, -1)).T - (means * weight) @ means.T


@dataclass(frozen=True)
class ClassTerms:
    """Terms (k, n, s) with coefficients of their own for each class, k s in all."""

    values: Array

    def scores(self, coefficients: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        k, _, s = self.values.shape
        return xp.matmul(self.values, xp.reshape(coefficients, (k, s, 1)))[..., 0].T

    def products(self, residual: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        return xp.reshape(xp.matmul(residual.T[:, None, :], self.values), (-1,))

    def information(self, prob: Array, weight: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        k, n, s = self.values.shape
        weighted = self.values * prob.T[..., None]
        blocks = xp.matmul(xp.permute_dims(weighted * weight[:, None], (0, 2, 1)), self.values)
        eye = xp.eye(k, dtype=prob.dtype, device=device(prob))
        diagonal = xp.reshape(eye[:, None, :, None] * blocks[:, :, None, :], (k * s, k * s))
        flat = xp.reshape(xp.permute_dims(weighted, (1, 0, 2)), (n, k * s))
        return diagonal - (flat * weight[:, None]).T @ flat


@dataclass(frozen=True)
class GroupTerms:
    """Terms (s, n, k), the same for every class, with coefficients of their own for each group."""

    values: Array
    group: Array
    """(n, c) one-hot; the coefficients are ordered by group, then by term."""

    def scores(self, coefficients: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        s = self.values.shape[0]
        own = self.group @ xp.reshape(coefficients, (-1, s))
        return sum(own[:, i : i + 1] * self.values[i, ...] for i in range(s))

    def products(self, residual: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        return xp.reshape(self.group.T @ xp.sum(self.values * residual, axis=2).T, (-1,))

    def information(self, prob: Array, weight: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        s, n, _ = self.values.shape
        c = self.group.shape[1]
        weighted = self.values * prob
        means = xp.sum(weighted, axis=2)
        second = xp.stack([xp.sum(weighted * self.values[i, ...], axis=2) for i in range(s)])
        covariance = (second - means[:, None, :] * means[None, :, :]) * weight
        blocks = xp.reshape(self.group.T @ xp.reshape(covariance, (s * s, n)).T, (c, s, s))
        eye = xp.eye(c, dtype=prob.dtype, device=device(prob))
        return xp.reshape(eye[:, None, :, None] * blocks[:, :, None, :], (c * s, c * s))


def fit(
    terms: Terms,
    outcome: Array,
    weight: Array,
    *,
    start: Array,
    ridge: Array,
    offset: Array | None = None,
) -> Array:
    """Minimise Σ_h w_h log loss + ½ Σ_d ridge_d (θ_d − start_d)², by Newton steps.

    Parameters
    ----------
    terms : Terms
        Of n rows.
    outcome : array (n, k)
        One-hot labels.
    weight : array (n,)
        Weights, in units of rows.
    start, ridge : array (d,)
        Where the coefficients are drawn to, and how strongly (> 0).
    offset : array (n, k), optional
        What is added to the scores.

    Returns
    -------
    array (d,)
        The coefficients.
    """
    xp = namespace(outcome)
    eye = xp.eye(start.shape[0], dtype=start.dtype, device=device(start))

    def evaluate(coefficients: Array) -> tuple[float, Array]:
        scores = terms.scores(coefficients)
        log_prob = log_softmax(scores if offset is None else offset + scores)
        loss = -xp.sum(weight * xp.sum(outcome * log_prob, axis=1))
        penalty = 0.5 * xp.sum(ridge * (coefficients - start) ** 2)
        return float(loss + penalty), log_prob

    def propose(coefficients: Array, log_prob: Array) -> tuple[float, Callable[[float], Array]]:
        prob = xp.exp(log_prob)
        gradient = terms.products(weight[:, None] * (prob - outcome))
        gradient = gradient + ridge * (coefficients - start)
        step = xp.linalg.solve(
            terms.information(prob, weight) + eye * ridge[:, None], gradient[:, None]
        )[:, 0]
        return float(xp.sum(gradient * step)), lambda length: coefficients - length * step

    return descend(start, evaluate, propose, lambda gain, _: gain < _TOLERANCE)
