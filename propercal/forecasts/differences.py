"""Which of two forecasts has the lower CRPS on the same rows, and whether beyond chance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from propercal._array import ignore_underflow
from propercal._data.inputs.settings import check_confidence_level
from propercal._data.words.advice import advises
from propercal._results.forms import Result, settings_of
from propercal._results.intervals import error_of_rows, level_or
from propercal._results.pages import Page
from propercal._results.student import around, degrees_of_freedom, shares, two_sided
from propercal._results.text import in_groups
from propercal.forecasts.crps import TITLE, crps
from propercal.forecasts.pairs import Given, read_pair
from propercal.forecasts.reading import Forecasts, one_of

if TYPE_CHECKING:
    import xarray as xr

Floats = npt.NDArray[np.float64]

#: Scores of a row that differ by less of the largest number in it differ by rounding.
_ROUNDING = 64 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class CRPSDifference(Result):
    """The mean CRPS of two forecasts of the same rows, and their difference.

    Attributes
    ----------
    difference : float
        Mean CRPS of a less that of b, in units of the outcome: positive where b is the better.
    standard_error : float
        Its standard error. Rows that both find hard cancel.
    pvalue : float
        Two-sided, of the hypothesis that both have the same in truth.
    risk_a : float
        Mean CRPS of the first forecast.
    risk_b : float
        Mean CRPS of the second forecast.
    confidence_level : float
        Default level of :meth:`interval`.
    n_samples : int
        Rows of positive weight.
    degrees_of_freedom : float
        Those of Student's law in p-value and interval: the effective number of rows, or groups,
        less 1.
    n_groups : int or None
        Groups, or blocks, of rows that may depend on each other.
    """

    difference: float
    standard_error: float
    pvalue: float
    risk_a: float
    risk_b: float
    confidence_level: float
    n_samples: int
    degrees_of_freedom: float
    n_groups: int | None = None

    _along: ClassVar[str | None] = "term"

    def interval(self, confidence_level: float | None = None) -> tuple[float, float]:
        """Return a confidence interval for the difference.

        Parameters
        ----------
        confidence_level : float, optional
            Between 0 and 1; that of the comparison by default.

        Returns
        -------
        tuple of float
            Lower and upper end, for independent rows, or groups.

        Raises
        ------
        ValueError
            If the level is not between 0 and 1.
        """
        level = level_or(self.confidence_level, confidence_level)
        return around(self.difference, self.standard_error, level, self.degrees_of_freedom)

    def to_xarray(self) -> xr.Dataset:
        """Return the difference as a dataset of scalars.

        Returns
        -------
        xarray.Dataset
            ``risk_a``, ``risk_b``, ``difference``, ``standard_error``, ``pvalue``,
            ``degrees_of_freedom``, and ``interval`` along "bound"; the settings as attributes.
        """
        import xarray as xr

        return xr.Dataset(
            {
                "risk_a": ((), self.risk_a),
                "risk_b": ((), self.risk_b),
                "difference": ((), self.difference),
                "standard_error": ((), self.standard_error),
                "interval": ("bound", list(self.interval())),
                "pvalue": ((), self.pvalue),
                "degrees_of_freedom": ((), self.degrees_of_freedom),
            },
            coords={"bound": ["lower", "upper"]},
            attrs=settings_of(self, "n_samples", "confidence_level", "n_groups"),
        )

    def _tabular(self) -> xr.Dataset:
        return self.to_xarray().expand_dims(term=["risk"])

    def __str__(self) -> str:
        lines = [f"  {name:<12}{value:>12}  {more}".rstrip() for name, value, more in self._rows()]
        return "\n".join([TITLE, *lines, f"  {self._note()}"])

    def _page(self) -> Page:
        return Page(TITLE, self._rows(), [self._note()])

    def _rows(self) -> list[tuple[str, str, str]]:
        low, high = self.interval()
        found = f"[{low:.6g}, {high:.6g}], p = {self.pvalue:.3g}"
        return [
            ("a", f"{self.risk_a:.6g}", ""),
            ("b", f"{self.risk_b:.6g}", ""),
            ("difference", f"{self.difference:.6g}", found),
        ]

    def _note(self) -> str:
        rows = f"n = {self.n_samples}{in_groups(self.n_groups)}"
        return f"[ ]: {self.confidence_level:.0%} interval, {rows}"


@ignore_underflow
@advises(
    *("ensemble_a", "ensemble_b", "quantiles_a", "quantiles_b", "levels"),
    *("sample_weight", "groups", "blocks", "member_dim", "sample_dims"),
)
def crps_difference(
    y_true: object,
    ensemble_a: object = None,
    ensemble_b: object = None,
    *,
    quantiles_a: object = None,
    quantiles_b: object = None,
    levels: Sequence[float] | None = None,
    sample_weight: object = None,
    groups: object = None,
    blocks: int | str | None = None,
    member_dim: Hashable | None = None,
    sample_dims: Hashable | Sequence[Hashable] | None = None,
    confidence_level: float = 0.95,
) -> CRPSDifference:
    r"""Compare the mean CRPS of two forecasts of a continuous outcome on the same rows.

    .. math::

        \hat\Delta = \sum_i w_i \bigl(\text{CRPS}(F^a_i, y_i) - \text{CRPS}(F^b_i, y_i)\bigr)

    with weights of sum 1. Rows are paired, so what is hard for both forecasts cancels.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        What came true.
    ensemble_a, ensemble_b : array-like of shape (n, m), optional
        Of either forecast m equally likely values for each row, as in
        :func:`propercal.crps_decomposition`. The two may have different numbers of members.
    quantiles_a, quantiles_b : array-like of shape (n, m), optional
        Quantiles in place of the ensemble of the same letter.
    levels : sequence of length m, optional
        Levels of the quantiles, of both where both have quantiles. By default those that columns,
        or the coordinates of `member_dim`, are named after, which may differ between the two.
    sample_weight : array-like of shape (n,), optional
        Weights ≥ 0. Their scale does not matter; weight 0 is the same as leaving a row out.
    groups, blocks
        Which rows may depend on each other, as in :func:`propercal.decompose`: forecasts of
        following days often do.
    member_dim : optional
        Name of the dimension of members or levels in DataArrays of xarray, where the outcomes do
        not tell.
    sample_dims : optional
        Names of the dimensions of their samples, where the outcomes do not tell.
    confidence_level : float
        Level of :meth:`CRPSDifference.interval`.

    Returns
    -------
    CRPSDifference

    Raises
    ------
    ValueError
        If an argument cannot be used, or nothing says which row of one forecast is which of the
        other; the message names it, its value, and what to do.

    Warns
    -----
    UserWarning
        If outcomes and forecasts, or the two forecasts, are in different units.

    See Also
    --------
    propercal.crps_decomposition : the CRPS of one forecast, and its parts.
    propercal.paired_difference : the same for predicted probabilities of classes.

    Notes
    -----
    Standard error, p-value and interval are those of a paired t-test of the rows, with the
    effective number of rows less 1 degrees of freedom; with `groups` or `blocks`, of sums over
    these. They are approximate where rows, or groups, are few and far from normal.

    The CRPS alone is compared. Its calibration error is what isotonic regression saves on the rows
    that it was fitted to, too much on average, and more where a forecast takes more values. It is
    not debiased, as that of classes is, so a difference would be one of biases too.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.normal(size=200)
    >>> outcome = mean + rng.normal(size=200)
    >>> narrow = mean[:, None] + 0.1 * rng.normal(size=(200, 20))
    >>> right = mean[:, None] + rng.normal(size=(200, 50))
    >>> found = crps_difference(outcome, narrow, right)
    >>> found.difference > 0, found.pvalue < 0.001
    (True, True)
    """
    of_a = one_of(ensemble_a, quantiles_a, "_a")
    of_b = one_of(ensemble_b, quantiles_b, "_b")
    level = check_confidence_level(confidence_level)
    a, b = read_pair(
        y_true,
        (Given(*of_a, f"{of_a[0]}_a"), Given(*of_b, f"{of_b[0]}_b")),
        levels=levels,
        sample_weight=sample_weight,
        groups=groups,
        blocks=blocks,
        member_dim=member_dim,
        sample_dims=sample_dims,
    )
    of_rows = _of_rows(a, b)
    difference = float(a.weight @ of_rows)
    error = error_of_rows(of_rows, a.weight, a.groups)
    freedom = degrees_of_freedom(shares(a.weight, a.groups))
    return CRPSDifference(
        difference,
        error,
        two_sided(difference, error, freedom),
        float(a.weight @ crps(a)),
        float(b.weight @ crps(b)),
        level,
        a.n_samples,
        freedom,
        a.n_groups,
    )


def _of_rows(a: Forecasts, b: Forecasts) -> Floats:
    """(n,) CRPS of a less that of b, 0 where they differ by rounding alone."""
    difference = crps(a) - crps(b)
    largest = np.abs(a.outcome)
    for each in (a.members, b.members):
        largest = np.maximum(largest, np.abs(each[:, [0, -1]]).max(axis=1))
    return np.where(np.abs(difference) <= _ROUNDING * largest, 0.0, difference)
