r"""Weights that depend on the label, so that labels drawn from the predictions weigh otherwise.

A sample that keeps a row of class y with probability 1 / w_y stands for a population by weights
w_y. If that is calibrated, the label of a row that was kept is y with probability
:math:`(g_y / w_y) / \sum_i g_i / w_i`, not g_y, and its weight is that of the label that is drawn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import like, namespace, one_hot, to_numpy
from propercal._data.predictions.predictions import Predictions
from propercal._data.words.messages import bad_value, warn
from propercal._typing import Array

Floats = npt.NDArray[np.float64]

#: Bins of predictions within which weights are compared.
_BINS = 20
#: Dependence of weights on labels that is no chance, and large enough to matter.
_Z, _CORRELATION, _EXCESS = 4.0, 0.2, 0.25
#: The same of weights that go with how far predictions are off, which few others do.
_WITH_ERRORS = 0.15
#: A normal variable is beyond _Z in so few samples, about.
_CHANCE = 6e-5
#: What is left of equal logarithms of weights less their mean, by rounding.
_ROUNDING = 1e-9


class ClassWeights(NamedTuple):
    """Weights that are a function of the class alone."""

    prob: Array
    """(n, k) how probable each label is among rows that were kept."""
    of_class: Floats
    """(k,) the weight of each class, of mean 1 over rows; that of an absent one does not matter."""

    def ratio(self, event: int | npt.NDArray[np.int64]) -> float | None:
        """Return the weight of an event over that of all else; None if classes of these differ."""
        if not isinstance(event, int):
            return None
        others = np.delete(self.of_class, event)
        others = others[others > 0]
        return float(self.of_class[event] / others[0]) if np.ptp(others) == 0 else None


def class_weights(predictions: Predictions, taken: str = "") -> ClassWeights | None:
    """Return weights of classes, where weights are that; None where they are not of the label.

    Raises where they depend on the label otherwise, or warns that `taken`, one of several numbers
    that are returned, takes them for functions of the features all the same.
    """
    if predictions.uniform:
        return None
    weight = to_numpy(predictions.weight)
    if not predictions.multilabel:
        found = _by_class(weight, to_numpy(predictions.label), predictions.n_classes)
        if found is not None:
            of_class = found * len(weight)
            # Given that no label is of an absent class, none can be drawn.
            odds = np.where(of_class > 0, 1 / np.where(of_class > 0, of_class, 1.0), 0.0)
            return ClassWeights(predictions.prob * like(odds, predictions.prob), of_class)
    i = _dependent(predictions, np.log(weight))
    if i is not None:
        what = (
            f"weights that depend on the label (class {predictions.classes.names[i]!r}) beyond "
            "what the predictions say"
        )
        expected = "weights that the features determine, or one weight for each class"
        if not taken:
            raise bad_value(
                predictions.names.weight,
                what,
                expected,
                "labels drawn from the predictions would have other weights; leave the weights "
                "out, or pass the weight by which each class was sampled",
            )
        warn(
            f"{predictions.names.weight} has {what}, and {taken} holds for {expected} alone. "
            "Do not use it, or pass the weight by which each class was sampled."
        )
    return None


def _go_together(rest: Floats, error: Floats, prob: Floats) -> bool:
    """Tell whether weights go with what the predictions miss, by more than chance."""
    together = abs(float(rest @ error))
    spread = float(np.sqrt(rest**2 @ (prob * (1 - prob))))
    most = float(np.sqrt((rest @ rest) * (error @ error)))
    return together > _Z * spread and together > _CORRELATION * most > 0


def _go_together_within(rest: Floats, occurred: Floats, bins: npt.NDArray[np.intp]) -> bool:
    """Tell if weights go with labels in bins of predictions, of which some have another sign.

    Weights that grow with |p − y|, as those of losses that look at errors, are larger for one label
    below 1/2, and for the other above. Sums are divided by what they are with random signs, so that
    predictions need not be calibrated.
    """
    from scipy.special import chdtrc

    share = np.bincount(bins, occurred) / np.maximum(np.bincount(bins), 1)
    product = rest * (occurred - share[bins])
    own = np.bincount(bins, product**2)
    squares = np.bincount(bins, product)[own > 0] ** 2 / own[own > 0]
    # Of signs that are random, each square has the tails of a chi-square of one degree at most.
    total = float(squares.sum())
    chance = float(chdtrc(max(1, len(squares)), total))
    return chance < _CHANCE and total - len(squares) > _CORRELATION * len(rest)


def _go_with_errors(
    rest: Floats, occurred: Floats, prob: Floats, bins: npt.NDArray[np.intp]
) -> bool:
    """Tell whether weights go with |p − y| in bins of predictions, noise or not.

    Within a bin that is (1 − 2 p) y but for a constant: one number tells it, where squares of many
    bins need more of a dependence. It is divided by what it is with random signs.
    """
    share = np.bincount(bins, occurred) / np.maximum(np.bincount(bins), 1)
    error = (1 - 2 * prob) * (occurred - share[bins])
    together = abs(float(rest @ error))
    spread = float(np.sqrt(rest**2 @ error**2))
    most = float(np.sqrt((rest @ rest) * (error @ error)))
    return together > _Z * spread and together > _WITH_ERRORS * most > 0


def _apart(rest: Floats, occurred: npt.NDArray[np.bool_]) -> bool:
    """Tell whether weights of rows of a class are larger, or smaller, than most others."""
    a, n = int(occurred.sum()), len(rest)
    if a in (0, n):
        return False
    _, place, count = np.unique(rest, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place.ravel()]
    # The share of pairs in which the row of the class weighs more, less a half.
    excess = abs(float(rank[occurred].sum()) - a * (n + 1) / 2) / (a * (n - a))
    return excess > _EXCESS and excess * np.sqrt(12 * a * (n - a) / (n + 1)) > _Z


def _by_class(weight: Floats, label: npt.NDArray[np.int64], k: int) -> Floats | None:
    """Return the weight of each class (absent: 0) if all rows of a class have the same."""
    of_class: Floats = np.zeros(k)
    of_class[label] = weight
    return of_class if np.allclose(of_class[label], weight, rtol=1e-12, atol=0) else None


def _dependent(predictions: Predictions, log_weight: Floats) -> int | None:
    """Return a class of whose labels weights tell what the predictions do not; None for none."""
    prob = to_numpy(predictions.prob)
    n, k = prob.shape
    if predictions.classes.indicator is not None:
        occurred = predictions.classes.indicator[predictions.rows].astype(float)
    else:
        occurred = to_numpy(one_hot(predictions.label, k, namespace(predictions.prob).float64))
    for i in range(k):
        rank = np.argsort(np.argsort(prob[:, i], kind="stable"), kind="stable")
        bins = rank * min(_BINS, max(1, n // 10)) // n
        mean = np.bincount(bins, log_weight) / np.maximum(np.bincount(bins), 1)
        rest = log_weight - mean[bins]
        rest[np.abs(rest) <= _ROUNDING * np.abs(log_weight).max()] = 0.0
        error = occurred[:, i] - prob[:, i]
        if (
            _go_together(rest, error, prob[:, i])
            or _go_together_within(rest, occurred[:, i], bins)
            or _go_with_errors(rest, occurred[:, i], prob[:, i], bins)
            or _apart(rest, occurred[:, i] > 0)
        ):
            return i
    return None
