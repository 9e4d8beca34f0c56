"""Isotonic regression of each class against the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from propercal._array import like, to_numpy
from propercal._data.inputs.settings import check_flag
from propercal._data.predictions.weights import in_rows
from propercal._data.words.messages import some_rows, warn
from propercal._typing import Array
from propercal.recalibration.arguments import as_given, read_new, read_training
from propercal.recalibration.estimator import Recalibrator
from propercal.recalibration.step_function import IsotonicFunction

Floats = NDArray[np.float64]


class ClasswiseIsotonic(Recalibrator):
    r"""Replace each class's probability by a non-decreasing function of it, then normalise rows.

    .. math::

        m_i &= \arg\min_{m\ \text{non-decreasing}} \sum_h w_h\,
        \bigl(1[y_h = i] - m(g_{h,i})\bigr)^2, \\
        r_i(g) &= \frac{m_i(g_i)}{\sum_j m_j(g_j)}.

    Parameters
    ----------
    from_logits : bool
        Whether X are logits rather than probabilities, in `fit` and in `predict_proba`. As the
        recalibrator of :func:`propercal.decompose`, which passes probabilities, leave it False.
    smoothed : bool
        Fit to (n₊ + 1)/(n₊ + 2) instead of 1 and to 1/(n₋ + 2) instead of 0, for n₊ rows of the
        class and n₋ others. No probability is then 0, and no log loss infinite.
    labels : sequence of length k, optional
        The class that each column stands for, as in :func:`propercal.decompose`.
    pos_label : optional
        The class that a single column is the probability of.

    Attributes
    ----------
    classes_ : numpy.ndarray of shape (k,)
        The class of each column, in the order of those of X. Sort these, or the names of classes,
        for tools of scikit-learn, which take them in sorted order.
    functions_ : list of IsotonicFunction
        m_i of each class, before normalisation: ``predict(g_i)``, and the points between which it
        is linear, ``X_thresholds_`` and ``y_thresholds_``.
    n_features_in_ : int
        Number of columns in `fit`, 1 for the positive class of two.
    feature_names_in_ : numpy.ndarray of str
        Their names, where all of them have one that is a text.

    Notes
    -----
    m_i is linear between the probabilities it was fitted to and constant beyond them. Over the
    fitted rows its mean is the share of the class (with `smoothed`, about that), until rows are
    normalised. Probabilities within 1e-15 of each other are one, so that rounding breaks no tie.

    Without `smoothed`, m_i is exactly 0 below the smallest probability with which the class was
    ever seen to occur, and everywhere for a class that was not: where it occurs all the same, the
    log loss is infinite. A row whose m_i are all 0 has no sum to divide by: it keeps the
    probabilities it came with, with a warning.

    The maps are fitted to the same probabilities as they are applied to. Unlike a temperature they
    may reorder classes, and tie them.

    References
    ----------
    Zadrozny & Elkan (2002), "Transforming classifier scores into accurate multiclass probability
    estimates", doi:10.1145/775047.775151. For the smoothed targets: Platt (1999), "Probabilistic
    outputs for support vector machines".

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y, X, p_true = TemperatureScaledSimplex(3).sample(5000, random_state=0)
    >>> recalibrated = ClasswiseIsotonic().fit(X[:2500], y[:2500]).predict_proba(X[2500:])
    >>> error_before = abs(X[2500:] - p_true[2500:]).mean()
    >>> bool(abs(recalibrated - p_true[2500:]).mean() < error_before / 2)
    True
    """

    classes_: NDArray[Any]
    functions_: list[IsotonicFunction]

    def __init__(
        self,
        *,
        from_logits: bool = False,
        smoothed: bool = False,
        labels: Sequence[Any] | None = None,
        pos_label: Any = None,
    ) -> None:
        self.from_logits = from_logits
        self.smoothed = smoothed
        self.labels = labels
        self.pos_label = pos_label

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit one function for each class.

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
        ClasswiseIsotonic
            Itself.

        Raises
        ------
        ValueError
            If an argument cannot be used.

        Warns
        -----
        UserWarning
            If columns are not in sorted order.
        """
        check_flag("smoothed", self.smoothed)
        predictions = read_training(X, y, sample_weight, self)
        prob, label = to_numpy(predictions.prob), to_numpy(predictions.label)
        # Of equal weights exactly 1.
        weight = np.ones(predictions.n_samples)
        if not predictions.uniform:
            weight = in_rows(to_numpy(predictions.weight))
        self.functions_ = []
        for i in range(predictions.n_classes):
            target = self._target(label == i, weight)
            self.functions_.append(IsotonicFunction.fitted(prob[:, i], target, weight))
        self._note_classes(predictions.classes.names)
        return self

    def _target(self, occurred: NDArray[np.bool_], weight: Floats) -> Floats:
        if not self.smoothed:
            return occurred.astype(np.float64)
        n_class = float(weight @ occurred)
        n_others = float(weight.sum()) - n_class
        return np.where(occurred, (n_class + 1) / (n_class + 2), 1 / (n_others + 2))

    def predict_proba(self, X: object) -> Array:
        """Recalibrate predictions.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 1) or (n, k)
            Probabilities or logits, as in `fit`.

        Returns
        -------
        array of shape (n, k)
            Probabilities: NumPy, or of the library, device and dtype of X. They carry no gradient.

        Raises
        ------
        ValueError
            If X cannot be used, has another number of classes, or nothing was fitted.

        Warns
        -----
        UserWarning
            If every class of a row gets 0, so that it keeps its probabilities.
        """
        predictions, n = read_new(X, self)
        prob = to_numpy(predictions.prob)
        found = np.stack(
            [function.predict(prob[:, i]) for i, function in enumerate(self.functions_)], axis=1
        )
        total = found.sum(axis=1)
        empty = total == 0
        if empty.any():
            rows = np.flatnonzero(empty[:n])
            if rows.size:
                warn(
                    f"{predictions.names.proba} has rows in which every class gets 0 "
                    f"({some_rows(rows)}): they keep their probabilities. "
                    "ClasswiseIsotonic(smoothed=True) gives none."
                )
            found[empty], total[empty] = prob[empty], prob[empty].sum(axis=1)
        return as_given(like(found / total[:, None], predictions.prob), n, predictions)
