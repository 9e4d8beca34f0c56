"""Temperature scaling: one number that makes all predictions more, or less, extreme."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from propercal._array import ignore_underflow, log_softmax, namespace, to_numpy
from propercal._data.inputs.reading import Names
from propercal._data.predictions.predictions import Predictions
from propercal._data.words.messages import bad_value, some_rows, warn
from propercal._typing import Array
from propercal.recalibration.arguments import as_given, read_new, read_training
from propercal.recalibration.estimator import Recalibrator

Floats = NDArray[np.float64]


class TemperatureScaling(Recalibrator):
    r"""Divide all logits by the temperature that minimises the log loss.

    .. math::

        r(g) &= \mathrm{softmax}(\log g \,/\, T), \\
        T &= \arg\min_T \sum_h w_h\, L_{\log}(r(g_h), y_h).

    Logits z and the logarithms of their softmax g differ by a constant in each row, so both give
    the same T. The loss is convex in 1/T, and its minimum is found to rounding.

    Parameters
    ----------
    from_logits : bool
        Whether X are logits rather than probabilities, in `fit` and in `predict_proba`. As the
        recalibrator of :func:`propercal.decompose`, which passes probabilities, leave it False.
    labels : sequence of length k, optional
        The class that each column stands for, as in :func:`propercal.decompose`.
    pos_label : optional
        The class that a single column is the probability of.

    Attributes
    ----------
    temperature_ : float
        T > 0, without a unit; above 1 for over-confident predictions, and infinite if none
        improves on giving all possible classes the same probability.
    classes_ : numpy.ndarray of shape (k,)
        The class of each column, in the order of those of X. Sort these, or the names of classes,
        for tools of scikit-learn, which take them in sorted order.
    n_features_in_ : int
        Number of columns in `fit`, 1 for the positive class of two.
    feature_names_in_ : numpy.ndarray of str
        Their names, where all of them have one that is a text.

    Notes
    -----
    The order of the classes in a row stays, and with it the accuracy. So does a probability of
    exactly 0: no temperature makes its loss finite. Rows where such a class occurred say nothing
    about T and are left out of the fit, with a warning.

    If every row's class has its largest probability, the loss falls for T → 0 and no temperature
    is best. The one in use is then where the mean loss is log((n + 2)/(n + 1)) above its infimum,
    that of the rule of succession after n rows without an error, with a warning.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), "On calibration of modern neural networks",
    arXiv:1706.04599, section 4.2.

    Examples
    --------
    The simulation sharpens calibrated predictions by a temperature of 0.6.

    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y, X, _ = TemperatureScaledSimplex(3).sample(20_000, random_state=0)
    >>> scaling = TemperatureScaling().fit(X, y)
    >>> round(1 / scaling.temperature_, 2)
    0.6
    >>> scaling.predict_proba([[0.8, 0.2, 0.0]]).round(3)
    array([[0.698, 0.302, 0.   ]])
    """

    temperature_: float
    classes_: NDArray[Any]

    def __init__(
        self,
        *,
        from_logits: bool = False,
        labels: Sequence[Any] | None = None,
        pos_label: Any = None,
    ) -> None:
        self.from_logits = from_logits
        self.labels = labels
        self.pos_label = pos_label

    @ignore_underflow
    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Find the temperature.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 1) or (n, k)
            Predicted probabilities, or logits; (n,) is the positive class of two.
        y : array-like of shape (n,) or (n, k)
            The class that occurred: numbers 0 to k − 1, booleans, as many strings as columns in
            alphabetical order, or a one-hot matrix. Classes may be absent.
        sample_weight : array-like of shape (n,), optional
            Weights ≥ 0, in any scale.

        Returns
        -------
        TemperatureScaling
            Itself.

        Raises
        ------
        ValueError
            If an argument cannot be used, or every row gives its class a probability of 0.

        Warns
        -----
        UserWarning
            If rows give their class a probability of 0, the best T is 0 or infinite, or columns are
            not in sorted order.
        """
        predictions = read_training(X, y, sample_weight, self)
        margins, weight = _margins(predictions)
        slope = _best_slope(margins, weight, predictions.names)
        self.temperature_ = 1 / slope if slope else math.inf
        self._note_classes(predictions.classes.names)
        return self

    @ignore_underflow
    def predict_proba(self, X: object) -> Array:
        """Recalibrate predictions.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 1) or (n, k)
            Probabilities or logits, as in `fit`.

        Returns
        -------
        array of shape (n, k)
            Probabilities: NumPy, or of the library, device and dtype of X, with its gradients.

        Raises
        ------
        ValueError
            If X cannot be used, has another number of classes, or nothing was fitted.
        """
        predictions, n = read_new(X, self)
        log_prob = predictions.log_prob
        xp = namespace(log_prob)
        never = log_prob == -xp.inf
        scores = xp.where(never, 0.0, log_prob) / self.temperature_
        prob = xp.exp(log_softmax(xp.where(never, -xp.inf, scores)))
        return as_given(prob, n, predictions)


def _margins(predictions: Predictions) -> tuple[Floats, Floats]:
    """Return log g_i − log g_y, and weights, of the rows whose class was possible."""
    log_prob, weight = to_numpy(predictions.log_prob), to_numpy(predictions.weight)
    of_label = np.take_along_axis(log_prob, to_numpy(predictions.label)[:, None], axis=1)
    possible = np.isfinite(of_label[:, 0])
    if not possible.any():
        raise bad_value(
            predictions.names.proba,
            "a probability of 0 for the class of every row",
            "rows whose class has a positive one",
            "check that the columns are in the order of the classes",
        )
    if not possible.all():
        rows = predictions.given(~possible)
        warn(
            f"{predictions.names.proba} has a probability of 0 for the class of {some_rows(rows)}: "
            "their log loss is infinite at any temperature, so they are left out of its fit."
        )
    weight = weight[possible]
    return log_prob[possible] - of_label[possible], weight / weight.sum()


def _best_slope(margins: Floats, weight: Floats, names: Names) -> float:
    """Return the a = 1/T ≥ 0 that minimises Σ w log Σ_i exp(a margin_i)."""
    from scipy.special import logsumexp

    finite = np.isfinite(margins)
    known = np.where(finite, margins, 0.0)
    if not known.any():
        # Uniform predictions: every temperature leaves them as they are.
        return 1.0

    def loss(a: float) -> float:
        return float(weight @ logsumexp(a * known, axis=1, b=finite))

    def derivative(a: float) -> float:
        scores = np.where(finite, a * known, -np.inf)
        parts = np.exp(scores - scores.max(axis=1, keepdims=True))
        return float(weight @ (np.sum(parts * known, axis=1) / np.sum(parts, axis=1)))

    if derivative(0.0) >= 0:
        warn(
            f"{names.labels} is predicted no better by any temperature of {names.proba} than by "
            "the same probability for all classes: the temperature is infinite."
        )
        return 0.0
    highest = known.max(axis=1)
    if highest.any():
        return _root(derivative)
    tied = np.sum(finite & (known == 0), axis=1)
    # Rows as equal weights would count them.
    n = 1 / float(weight @ weight)
    aim = float(weight @ np.log(tied)) + math.log((n + 2) / (n + 1))
    slope = _root(lambda a: aim - loss(a)) if loss(0.0) > aim else 1.0
    warn(
        f"{names.labels} has the most probable class in every row: the log loss falls as the "
        f"temperature goes to 0, so none is best. {1 / slope:.4g} is used, as after one error in "
        f"{n + 2:.0f} rows."
    )
    return slope


def _root(increasing: Any) -> float:
    """Return where a function that is negative at 0 becomes positive."""
    from scipy.optimize import brentq

    high = 1.0
    while increasing(high) <= 0:
        high *= 2
    low = high / 2
    while increasing(low) > 0:
        low, high = low / 2, low
    return float(brentq(increasing, low, high, xtol=1e-15 * low, rtol=4 * np.finfo(float).eps))
