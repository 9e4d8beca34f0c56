"""The test of Hosmer and Lemeshow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from propercal._data.inputs.settings import check_flag, check_whole_number
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.notions import Notion, as_notion
from propercal._data.predictions.predictions import Reading, validate
from propercal._data.words.messages import bad_value
from propercal._results.forms import Result
from propercal._results.pages import Page
from propercal.classical.events import Event, event_of

if TYPE_CHECKING:
    import xarray as xr

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HosmerLemeshow(Result):
    """What :func:`hosmer_lemeshow` returns.

    Attributes
    ----------
    statistic : float
        Σ (O − E)² / (E (1 − E / n)) over bins; +inf where what has probability 0 occurred.
    pvalue : float
        Of the χ² distribution with `df` degrees of freedom.
    df : int
        Bins; less 2 for the rows that the model was fitted to.
    size : ndarray, shape (bins,)
        Rows of each bin.
    observed : ndarray, shape (bins,)
        Events of each bin.
    expected : ndarray, shape (bins,)
        Events of each bin that the predictions expect.
    event : str
        What the probabilities are of.
    n_samples : int
        Rows.
    """

    statistic: float
    pvalue: float
    df: int
    size: npt.NDArray[np.int64]
    observed: npt.NDArray[np.int64]
    expected: Floats
    event: str
    n_samples: int

    _along: ClassVar[str | None] = "bin"

    def to_xarray(self) -> xr.Dataset:
        """Return the test, and its bins along "bin".

        Returns
        -------
        xarray.Dataset
            "statistic", "pvalue", and "size", "observed" and "expected" of each bin, from 1.
        """
        import xarray as xr

        bins: dict[str, Any] = {
            name: ("bin", getattr(self, name).copy()) for name in ("size", "observed", "expected")
        }
        numbers: dict[str, Any] = {"statistic": self.statistic, "pvalue": self.pvalue}
        attrs = {"event": self.event, "df": self.df, "n_samples": self.n_samples}
        coords = {"bin": np.arange(1, len(self.size) + 1)}
        return xr.Dataset(bins | numbers, coords, attrs)

    def __str__(self) -> str:
        lines = [self._title(), f"  {self._says()}"]
        lines.append(f"  {'bin':>5}{'rows':>9}{'observed':>10}{'expected':>11}")
        for i, row in enumerate(zip(self.size, self.observed, self.expected, strict=True)):
            lines.append(f"  {i + 1:>5}{row[0]:>9}{row[1]:>10}{row[2]:>11.2f}")
        return "\n".join(lines)

    def _page(self) -> Page:
        found = zip(self.size, self.observed, self.expected, strict=True)
        rows = [
            (f"{i + 1}", f"{size}", f"{seen}", f"{expected:.2f}")
            for i, (size, seen, expected) in enumerate(found)
        ]
        head = ("bin", "rows", "observed", "expected")
        return Page(self._title(), rows, [self._says()], head)

    def _title(self) -> str:
        return f"Hosmer–Lemeshow test of the probability of {self.event}"

    def _says(self) -> str:
        return f"p-value {self.pvalue:.4g}, statistic {self.statistic:.4g}, df = {self.df}"


@with_reading
def hosmer_lemeshow(
    y_true: object,
    y_proba: object,
    *,
    n_bins: int = 10,
    fitted: bool = False,
    notion: str | Notion = "canonical",
    event: Any = None,
    **reading: Unpack[Reading],
) -> HosmerLemeshow:
    r"""Test predicted probabilities of an event by bins of equal numbers of rows.

    .. math::

        \sum_b \frac{(O_b - E_b)^2}{E_b (1 - E_b / n_b)} \;\sim\; χ^2 .

    The p-value depends on where the bins lie, and events within a bin may err in both directions
    unseen. It is for those who must report it; :func:`propercal.calibration_test` is exact.

    Parameters
    ----------
    y_true, y_proba
        As in :func:`propercal.decompose`: of two classes the event is the second one.
    n_bins : int
        Bins, at quantiles of the predictions. Equal predictions are in one bin, so there may be
        fewer.
    fitted : bool
        Whether the model was fitted to these very rows: degrees of freedom are then two fewer.
    notion : {"canonical", "top-label"}
        "top-label" takes as event that the first choice is right.
    event : optional
        A class, whose probability is checked against all others.
    **reading
        How data are read, as in :func:`propercal.decompose`. Weights have to be equal, or 0.

    Returns
    -------
    HosmerLemeshow

    Raises
    ------
    ValueError
        If an argument cannot be used, weights differ, or no degree of freedom is left.

    References
    ----------
    Hosmer & Lemeshow (1980), "Goodness of fit tests for the multiple logistic regression model".

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, p_true = TemperatureScaledSimplex(2).sample(2000, random_state=0)
    >>> hosmer_lemeshow(y_true, y_proba).pvalue < 0.001
    True
    >>> hosmer_lemeshow(y_true, p_true).df
    10
    """
    check_flag("fitted", fitted)
    bins = check_whole_number("n_bins", n_bins, 2, "10 is usual")
    reduction = as_notion(notion)
    chosen = event_of(validate(y_true, y_proba, **reading), reduction, event)
    if not chosen.predictions.uniform:
        raise bad_value(
            chosen.predictions.names.weight,
            "weights that differ",
            "equal ones: a weighted sum of bins has no χ² distribution",
            "use propercal.calibration_test, which takes weights",
        )
    size, observed, expected = _sums(chosen, bins)
    df = len(size) - 2 * bool(fitted)
    if df < 1:
        raise bad_value(
            "n_bins",
            n_bins,
            f"more bins: with {len(size)} distinct ones no degree of freedom is left",
            "raise it, or take a test that does not put rows into bins",
        )
    from scipy.special import chdtrc

    statistic = _statistic(size, observed, expected)
    return HosmerLemeshow(
        statistic=statistic,
        pvalue=float(chdtrc(df, statistic)) if np.isfinite(statistic) else 0.0,
        df=df,
        size=size,
        observed=observed,
        expected=expected,
        event=chosen.name,
        n_samples=chosen.predictions.n_samples,
    )


def _sums(event: Event, n_bins: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]:
    edges = np.quantile(event.prob, np.arange(1, n_bins) / n_bins)
    _, number = np.unique(np.searchsorted(edges, event.prob, side="left"), return_inverse=True)
    size, observed, expected = (
        np.bincount(number, each) for each in (np.ones(len(number)), event.occurred, event.prob)
    )
    return size.astype(np.int64), observed.astype(np.int64), expected.astype(np.float64)


def _statistic(
    size: npt.NDArray[np.int64], observed: npt.NDArray[np.int64], expected: Floats
) -> float:
    variance = expected * (1 - expected / size)
    difference = (observed - expected) ** 2
    # Where all is certain, what was predicted adds nothing, and anything else is impossible.
    sure = variance <= 1e-12 * size
    if (difference[sure] > 1e-9 * size[sure]).any():
        return float("inf")
    return float((difference[~sure] / variance[~sure]).sum())
