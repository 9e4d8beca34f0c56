"""Spiegelhalter's test: whether the Brier score is what the predictions say it should be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from propercal._array import to_numpy
from propercal._data.dependence.groups import check_number, validate_groups
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.class_weights import class_weights
from propercal._data.predictions.notions import as_notion
from propercal._data.predictions.predictions import Reading
from propercal._data.words.messages import bad_value
from propercal._results.forms import Result, settings_of
from propercal._results.intervals import error_of_rows
from propercal._results.pages import Page
from propercal._results.text import in_groups

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class SpiegelhalterTest(Result):
    """What :func:`spiegelhalter_test` returns.

    Attributes
    ----------
    statistic : float
        z: by how many standard deviations the Brier score exceeds its expectation under the
        predictions. Above 0 they are over-confident, on the whole.
    pvalue : float
        Two-sided, of the normal distribution.
    brier_score : float
        The score, summed over classes.
    expected : float
        Its expectation under the predictions.
    n_samples : int
        Rows of positive weight.
    n_classes : int
        Columns of the predictions.
    n_groups : int or None
        Groups, or blocks, of rows that may depend on each other; None where none were given.
    """

    statistic: float
    pvalue: float
    brier_score: float
    expected: float
    n_samples: int
    n_classes: int
    n_groups: int | None

    def to_xarray(self) -> xr.Dataset:
        """Return the numbers as a dataset of scalars.

        Returns
        -------
        xarray.Dataset
            "statistic", "pvalue", "brier_score" and "expected".
        """
        import xarray as xr

        names = ("statistic", "pvalue", "brier_score", "expected")
        numbers: dict[str, Any] = {name: getattr(self, name) for name in names}
        return xr.Dataset(numbers, attrs=settings_of(self, "n_samples", "n_classes", "n_groups"))

    def __str__(self) -> str:
        rows = f"n = {self.n_samples}{in_groups(self.n_groups)}, k = {self.n_classes}"
        return (
            f"Spiegelhalter's test of calibration\n"
            f"  z = {self.statistic:.4g}, p-value {self.pvalue:.4g}\n"
            f"  Brier score {self.brier_score:.6g}, expected {self.expected:.6g}\n"
            f"  {rows}"
        )

    def _page(self) -> Page:
        title, *_, note = str(self).splitlines()
        rows = [
            ("z", f"{self.statistic:.4g}"),
            ("p-value", f"{self.pvalue:.4g}"),
            ("Brier score", f"{self.brier_score:.6g}"),
            ("expected", f"{self.expected:.6g}"),
        ]
        return Page(title, rows, [note])


@with_reading
def spiegelhalter_test(
    y_true: object,
    y_proba: object,
    *,
    groups: object = None,
    blocks: int | str | None = None,
    **reading: Unpack[Reading],
) -> SpiegelhalterTest:
    r"""Test whether the Brier score is what the predictions themselves say that it is.

    For labels drawn from g, the score ‖g − y‖² has the mean 1 − ‖g‖² and the variance
    4 (Σ g_i³ − ‖g‖⁴), so that

    .. math::

        z = \frac{\sum_h w_h\, 2 (‖g_h‖^2 - g_{h, y_h})}
        {\sqrt{\sum_h w_h^2\, 4 (\sum_i g_{hi}^3 - ‖g_h‖^4)}}

    is about normal for calibrated predictions (where classes were sampled, of rows of class i
    one in w_i, the variance is that of :math:`w_y\, 2 (‖g‖^2 - g_y)` with :math:`P(y = i) \propto
    g_i / w_i`, of mean 0 too); for two classes this is Spiegelhalter's z. It sees
    only miscalibration that changes the expected score: predictions that are too extreme here and
    not extreme enough there can have z = 0. :func:`propercal.calibration_test` looks further.

    Parameters
    ----------
    y_true, y_proba
        As in :func:`propercal.decompose`.
    groups, blocks
        As in :func:`propercal.decompose`: rows that depend on each other. The variance is then that
        of sums over groups, 20 or more, as they were observed.
    **reading
        How data are read, as in :func:`propercal.decompose`. Without groups, weights may be
        functions of the features, or one for each class, by which classes were sampled.

    Returns
    -------
    SpiegelhalterTest

    Raises
    ------
    ValueError
        If an argument cannot be used, weights depend on the label otherwise, or the score does not
        vary under the predictions: all are uniform over classes, or certain.

    References
    ----------
    Spiegelhalter (1986), "Probabilistic prediction in patient management and clinical trials".

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, p_true = TemperatureScaledSimplex(3).sample(2000, random_state=0)
    >>> spiegelhalter_test(y_true, y_proba).statistic > 4
    True
    >>> spiegelhalter_test(y_true, p_true).pvalue > 0.05
    True
    """
    predictions = validate_groups(y_true, y_proba, groups=groups, blocks=blocks, **reading)
    check_number(predictions.n_groups, "this test", predictions.grouped_by)
    (problem,) = as_notion("canonical").problems(predictions)
    g, label, weight = (to_numpy(x) for x in (problem.prob, problem.label, problem.weight))
    square = np.einsum("ij,ij->i", g, g)
    excess = 2 * (square - g[np.arange(len(label)), label])
    expected = 1 - square
    if problem.groups is None:
        weights = class_weights(predictions)
        # Σ g_i³ − ‖g‖⁴ is the variance of g_y, which does not cancel if taken from its mean.
        gap = (g - square[:, None]) ** 2
        if weights is None:
            variance = weight**2 @ np.einsum("ij,ij->i", g, gap)
        else:
            # Of rows that were kept: the mean is 0 all the same, and weights are those of labels.
            kept = to_numpy(weights.prob)
            kept = kept / kept.sum(axis=1, keepdims=True)
            variance = np.einsum("ij,j,ij->", kept, (weights.of_class / len(label)) ** 2, gap)
        error = 2 * math.sqrt(float(variance))
    else:
        error = error_of_rows(excess, weight, problem.groups)
    total = float(weight @ excess)
    if error <= 1e-12:
        raise bad_value(
            predictions.names.proba,
            "predictions under which the Brier score does not vary, uniform or certain",
            "others: z is 0 / 0",
            "use propercal.calibration_test",
        )
    statistic = total / error
    return SpiegelhalterTest(
        statistic=statistic,
        pvalue=math.erfc(abs(statistic) / math.sqrt(2)),
        brier_score=float(weight @ (expected + excess)),
        expected=float(weight @ expected),
        n_samples=predictions.n_samples,
        n_classes=predictions.n_classes,
        n_groups=predictions.n_groups,
    )
