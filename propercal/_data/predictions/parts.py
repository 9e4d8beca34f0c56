"""Probabilities, what is left of 1, and the logarithms of both without cancellation."""

from __future__ import annotations

from propercal._array import by_rows, namespace, safe_log
from propercal._typing import Array

Parts = tuple[Array, Array, Array, Array]
"""p, log p, and the rest and its logarithm, as in :class:`Predictions`."""


def from_logits_of(logits: Array, multilabel: bool) -> Parts:
    """Return p, log p, and the rest and its logarithm, as in :class:`Predictions`."""
    xp = namespace(logits)
    zeros = xp.zeros_like(logits)
    if multilabel:
        log_prob, log_rest = -xp.logaddexp(zeros, -logits), -xp.logaddexp(zeros, logits)
        return xp.exp(log_prob), log_prob, xp.exp(log_rest), log_rest
    return _softmax(logits if logits.shape[1] > 1 else xp.concat([zeros, logits], axis=1))


def from_probabilities(values: Array, multilabel: bool, normalised: bool) -> Parts:
    """Return p, log p, and the rest and its logarithm, as in :class:`Predictions`."""
    xp = namespace(values)
    if multilabel:
        return values, safe_log(values), 1 - values, log1m(values)
    if values.shape[1] == 1:
        prob = xp.concat([1 - values, values], axis=1)
        log_prob = xp.concat([log1m(values), safe_log(values)], axis=1)
    else:
        prob, log_prob = values, by_rows(safe_log, values)
    if normalised:
        rest = by_rows(lambda p: xp.sum(xp.where(is_top(p), 0.0, p), axis=1), prob)
    else:
        rest = 1 - xp.max(prob, axis=1)
    return prob, log_prob, rest, safe_log(rest)


def log1m(prob: Array) -> Array:
    """Return log(1 − p): −inf at 1, where the gradient is 0 rather than NaN."""
    xp = namespace(prob)
    below = prob < 1
    return xp.where(below, xp.log1p(-xp.where(below, prob, 0.0)), -xp.inf)


def is_top(values: Array) -> Array:
    """(n, k) marks of the first largest entry of each row."""
    xp = namespace(values)
    columns = xp.arange(values.shape[1], device=values.device)
    return columns[None, :] == xp.argmax(values, axis=1)[:, None]


def _softmax(logits: Array) -> Parts:
    xp = namespace(logits)
    top = is_top(logits)
    shifted = logits - xp.max(logits, axis=1, keepdims=True)
    others = xp.where(top, -xp.inf, shifted)
    largest = xp.max(others, axis=1, keepdims=True)
    largest = xp.where(largest == -xp.inf, 0.0, largest)
    others_sum = xp.sum(xp.exp(others - largest), axis=1)
    normaliser = xp.log1p(xp.sum(xp.exp(others), axis=1))
    log_prob = shifted - normaliser[:, None]
    log_rest = largest[:, 0] + safe_log(others_sum) - normaliser
    return xp.exp(log_prob), log_prob, xp.exp(log_rest), log_rest
