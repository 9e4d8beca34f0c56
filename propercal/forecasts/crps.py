"""What of the CRPS of forecasts recalibration could remove, and what it could not."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from propercal._array import ignore_underflow
from propercal._data.dependence.groups import check_number
from propercal._data.inputs.settings import check_confidence_level, check_random_state
from propercal._data.words.advice import advises
from propercal._data.words.messages import bad_value, unknown_name
from propercal._methods.recipe import make_recipe
from propercal._results.forms import Result, settings_of
from propercal._results.intervals import error_of_rows, half_width, level_or
from propercal._results.pages import Page
from propercal._results.text import in_groups
from propercal.forecasts.isotonic import RowScores, row_scores
from propercal.forecasts.reading import (
    ENSEMBLE,
    Forecasts,
    check_no_levels,
    one_of,
    read_forecasts,
)
from propercal.result import TERMS

if TYPE_CHECKING:
    import xarray as xr

Floats = npt.NDArray[np.float64]

TITLE = "CRPS, in units of the outcome"


@dataclass(frozen=True, eq=False)
class CRPSDecomposition(Result):
    """A mean CRPS and its parts.

    Always: risk = calibration_error + refinement, and refinement = uncertainty − sharpness. All are
    in units of the outcome.

    Attributes
    ----------
    risk : float
        Mean continuous ranked probability score.
    calibration_error : float
        Miscalibration (MCB): what isotonic recalibration at each threshold, fitted to these rows,
        saves; 0 or more.
    refinement : float
        What it leaves.
    sharpness : float
        Discrimination (DSC): what the recalibrated forecasts save of the uncertainty; 0 or more,
        but for what too few thresholds miss.
    uncertainty : float
        CRPS of the empirical distribution of the outcomes, half their mean absolute difference.
    held_out_refinement : float
        The refinement of recalibrations that were fitted without the row's fold.
    standard_errors : mapping of str to float
        Of the terms, and of "held_out_calibration_error", "held_out_sharpness" and
        "held_out_refinement".
    confidence_level : float
        Default level of :meth:`interval`.
    n_samples : int
        Rows of positive weight.
    n_members : int
        Points of each forecast.
    n_thresholds : int
        Thresholds that were used.
    quadrature_error : float
        By how much the CRPS at these thresholds differs from the exact one; 0 where all distinct
        values are thresholds.
    n_groups : int or None
        Groups, or blocks, of rows that may depend on each other.
    """

    risk: float
    calibration_error: float
    refinement: float
    sharpness: float
    uncertainty: float
    held_out_refinement: float
    standard_errors: Mapping[str, float]
    confidence_level: float
    n_samples: int
    n_members: int
    n_thresholds: int
    quadrature_error: float = 0.0
    n_groups: int | None = None

    def interval(self, name: str, confidence_level: float | None = None) -> tuple[float, float]:
        """Return a confidence interval for a term.

        Parameters
        ----------
        name : {"risk", "calibration_error", "refinement", "sharpness", "uncertainty"}
        confidence_level : float, optional
            Between 0 and 1; that of the decomposition by default.

        Returns
        -------
        tuple of float
            Lower and upper end. For risk and uncertainty by the central limit theorem. For the
            others, one end is that of the fit to all rows and the other that of fits without the
            row's fold: the first are biased to one side, the second to the other (see the book).

        Raises
        ------
        ValueError
            If there is no such term, or the level is not between 0 and 1.
        """
        if name not in TERMS:
            raise unknown_name("name", name, TERMS)
        level = level_or(self.confidence_level, confidence_level)
        value, half = getattr(self, name), half_width(self.standard_errors[name], level)
        other = self.standard_errors.get(f"held_out_{name}")
        if other is None:
            return value - half, value + half
        optimism = max(self.held_out_refinement - self.refinement, 0.0)
        if name == "refinement":
            return value - half, value + optimism + half_width(other, level)
        return max(value - optimism - half_width(other, level), 0.0), value + half

    def to_xarray(self) -> xr.Dataset:
        """Return the terms as a dataset of scalars, with intervals and settings.

        Returns
        -------
        xarray.Dataset
            One variable per term, ``{term}_interval`` along "bound" and
            ``{term}_standard_error``; the settings as attributes.
        """
        import xarray as xr

        terms: dict[str, Any] = {name: ((), getattr(self, name)) for name in TERMS}
        terms |= {f"{name}_interval": ("bound", list(self.interval(name))) for name in TERMS}
        terms |= {
            f"{name}_standard_error": ((), error) for name, error in self.standard_errors.items()
        }
        terms["held_out_refinement"] = ((), self.held_out_refinement)
        names = ("n_samples", "n_members", "n_thresholds", "quadrature_error", "confidence_level")
        attrs = settings_of(self, *names, "n_groups")
        return xr.Dataset(terms, coords={"bound": ["lower", "upper"]}, attrs=attrs)

    def __str__(self) -> str:
        lines = [TITLE]
        signs = ("  ", "= ", "+ ", "  ", "  ")
        lines += [
            f"  {sign}{name:<18}{value:>12}  {interval}"
            for sign, (name, value, interval) in zip(signs, self._rows(), strict=True)
        ]
        lines.append("  refinement = uncertainty - sharpness")
        lines += [f"  {note}" for note in self._notes()]
        return "\n".join(lines)

    def _page(self) -> Page:
        return Page(TITLE, self._rows(), self._notes())

    def _rows(self) -> list[tuple[str, str, str]]:
        rows = []
        for name in TERMS:
            low, high = self.interval(name)
            found = f"{getattr(self, name):.6g}", f"[{low:.6g}, {high:.6g}]"
            rows.append((name.replace("_", " "), *found))
        return rows

    def _notes(self) -> list[str]:
        rows = f"n = {self.n_samples}{in_groups(self.n_groups)}, {self.n_members} members"
        notes = [f"isotonic at {self.n_thresholds} thresholds, {rows}"]
        if self.quadrature_error:
            notes[0] += f", which miss the CRPS by {self.quadrature_error:.2g}"
        return [*notes, f"[ ]: {self.confidence_level:.0%} interval"]


@ignore_underflow
@advises("ensemble", "quantiles", "levels", "sample_weight", "groups", "member_dim", "sample_dims")
def crps_decomposition(
    y_true: object,
    ensemble: object = None,
    *,
    quantiles: object = None,
    levels: Sequence[float] | None = None,
    sample_weight: object = None,
    groups: object = None,
    blocks: int | str | None = None,
    member_dim: Hashable | None = None,
    sample_dims: Hashable | Sequence[Hashable] | None = None,
    n_folds: int = 5,
    random_state: Any = 0,
    max_thresholds: int = 10_000,
    confidence_level: float = 0.95,
) -> CRPSDecomposition:
    r"""Split the mean CRPS of forecasts of a continuous outcome into calibration error and rest.

    The CRPS is the integral over thresholds z of the Brier score of the forecast F(z) of the event
    y ≤ z, and each part is the integral of that of the Brier score, with the isotonic regression
    r̂ of the event on F(z) at each threshold:

    .. math::

        \text{risk} &= \int \overline{(F_i(z) - 1[y_i \le z])^2}\, dz \\
        &= \text{calibration error} + \text{refinement}, \\
        \text{refinement} &= \int \overline{(\hat r_i(z) - 1[y_i \le z])^2}\, dz \\
        &= \underbrace{\int \bar y_z (1 - \bar y_z)\, dz}_\text{uncertainty}
        - \underbrace{\int \overline{(\hat r_i(z) - \bar y_z)^2}\, dz}_\text{sharpness} .

    Parameters
    ----------
    y_true : array-like of shape (n,)
        What came true.
    ensemble : array-like of shape (n, m), optional
        m equally likely values for each row; (n, 1) is a point forecast, whose CRPS is the absolute
        error.
    quantiles : array-like of shape (n, m), optional
        Quantiles in place of an ensemble. They count as a distribution on these values, each of
        which has the probability from half-way to the level below to half-way to that above.
    levels : sequence of length m, optional
        Their levels, between 0 and 1, for each column. By default those that columns, or the
        coordinates of `member_dim`, are named after.
    sample_weight : array-like of shape (n,), optional
        Weights ≥ 0. Their scale does not matter; weight 0 is the same as leaving a row out.
    groups, blocks
        Which rows may depend on each other, as in :func:`propercal.decompose`: forecasts of
        following days often do. 20 groups or more.
    member_dim : optional
        Name of the dimension of members or levels of a DataArray of xarray, where the outcomes do
        not tell.
    sample_dims : optional
        Names of the dimensions of its samples, where the outcomes do not tell.
    n_folds : int
        Folds for the end of intervals that holds against optimism, 3 to 20.
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        How rows are dealt to folds.
    max_thresholds : int
        Where there are more distinct values in forecasts and outcomes, of every so many the middle
        one stands for its neighbours; risk and uncertainty are exact still.
    confidence_level : float
        Level of :meth:`CRPSDecomposition.interval`.

    Returns
    -------
    CRPSDecomposition

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do.

    Notes
    -----
    The calibration error and the sharpness are fitted to the rows that they are computed from, and
    so too large on average, by what isotonic regressions learn of noise; `held_out_refinement` says
    how much that may be. Forecasts are recalibrated threshold by threshold, so that probabilities
    of one row may fall as the threshold rises; the isotonic distributional regression of the paper
    below does not let them. Time is O(n T) for T thresholds.

    References
    ----------
    Arnold, Walz, Ziegel & Gneiting (2024), "Decompositions of the mean continuous ranked
    probability score", arXiv:2311.14122. Dimitriadis, Gneiting & Jordan (2021), "Stable
    reliability diagrams for probabilistic classifiers", doi:10.1073/pnas.2016191118.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.normal(size=200)
    >>> outcome = mean + rng.normal(size=200)
    >>> ensemble = mean[:, None] + 0.5 * rng.normal(size=(200, 20))
    >>> result = crps_decomposition(outcome, ensemble)
    >>> round(result.risk - result.calibration_error - result.refinement, 12)
    0.0
    >>> result.calibration_error < result.sharpness
    True
    """
    kind, given = one_of(ensemble, quantiles)
    if kind == ENSEMBLE:
        check_no_levels(levels, "pass quantiles=...")
    level = check_confidence_level(confidence_level)
    most = _checked_number(max_thresholds)
    n_folds = make_recipe(None, None, None, n_folds, 0).n_folds
    check_random_state(random_state)
    forecasts = read_forecasts(
        y_true,
        given,
        argument=kind,
        kind=kind,
        levels=levels,
        sample_weight=sample_weight,
        groups=groups,
        blocks=blocks,
        member_dim=member_dim,
        sample_dims=sample_dims,
    )
    check_number(forecasts.n_groups, "an interval", forecasts.grouped_by)
    thresholds, widths, exact = _thresholds(forecasts, most)
    fold = _folds(forecasts, n_folds, random_state)
    rows = row_scores(forecasts, thresholds, widths, fold)
    return _result(forecasts, rows, len(thresholds), exact, level)


def _checked_number(value: Any) -> int:
    """Return a number of thresholds, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 10:
        raise bad_value("max_thresholds", repr(value), "10 or more", "10000 is usual")
    return int(value)


def _thresholds(forecasts: Forecasts, most: int) -> tuple[Floats, Floats, bool]:
    """Return where steps begin, how wide they are, and whether they are all there are."""
    values = np.unique(np.concatenate([forecasts.members.ravel(), forecasts.outcome]))
    n = len(values) - 1
    if n <= most:
        return values[:-1], np.diff(values), True
    # Few values and little width in each part: in the tails a step alone is wide.
    rank = np.arange(n + 1) / n
    position = rank + (values - values[0]) / (values[-1] - values[0])
    ends = np.unique(np.searchsorted(position, np.linspace(0.0, 2.0, most + 1)).clip(0, n))
    centre = (values[ends[1:]] + values[ends[:-1]]) / 2
    middle = np.searchsorted(values, centre, "right") - 1
    return values[middle], np.diff(values[ends]), False


def _folds(forecasts: Forecasts, n_folds: int, random_state: Any) -> npt.NDArray[np.int64]:
    """Deal rows, or whole groups, to folds."""
    rng = np.random.default_rng(random_state)
    n = forecasts.n_samples if forecasts.groups is None else int(forecasts.groups.max()) + 1
    fold = rng.permutation(np.arange(n) % min(n_folds, n))
    return fold if forecasts.groups is None else np.asarray(fold[forecasts.groups])


def _result(
    forecasts: Forecasts, rows: RowScores, n_thresholds: int, exact: bool, level: float
) -> CRPSDecomposition:
    weight = forecasts.weight

    def error(values: Floats) -> float:
        return error_of_rows(values, weight, forecasts.groups)

    risk_rows = rows.forecast if exact else crps(forecasts)
    risk = float(weight @ risk_rows)
    missing = 0.0 if exact else abs(float(weight @ rows.forecast) - risk)
    calibration_error = max(float(weight @ (rows.forecast - rows.fitted)), 0.0)
    uncertainty = float(weight @ rows.climate) if exact else _half_mean_difference(forecasts)
    refinement = risk - calibration_error
    errors = {
        "risk": error(risk_rows),
        "calibration_error": error(rows.forecast - rows.fitted),
        "refinement": error(rows.fitted),
        "sharpness": error(rows.climate - rows.fitted),
        "uncertainty": error(rows.climate),
        "held_out_calibration_error": error(rows.forecast - rows.held_out),
        "held_out_refinement": error(rows.held_out),
        "held_out_sharpness": error(rows.climate - rows.held_out),
    }
    return CRPSDecomposition(
        risk,
        calibration_error,
        refinement,
        uncertainty - refinement,
        uncertainty,
        refinement + float(weight @ (rows.held_out - rows.fitted)),
        errors,
        level,
        forecasts.n_samples,
        forecasts.members.shape[1],
        n_thresholds,
        missing,
        forecasts.n_groups,
    )


def crps(forecasts: Forecasts) -> Floats:
    r"""(n,) CRPS of each row, Σ w |x − y| − ½ Σ w w' |x − x'|.

    With members in ascending order the second sum is Σ_j (x_{j+1} − x_j) W_j (1 − W_j) with the
    cumulated weights W.
    """
    w, x = np.diff(forecasts.cumulated), forecasts.members
    inner = forecasts.cumulated[1:-1]
    spread = np.diff(x, axis=1) @ (inner * (1 - inner))
    return np.asarray(np.abs(x - forecasts.outcome[:, None]) @ w - spread)


def _half_mean_difference(forecasts: Forecasts) -> float:
    """Return half the mean absolute difference of two outcomes."""
    order = np.argsort(forecasts.outcome)
    y, inner = forecasts.outcome[order], np.cumsum(forecasts.weight[order])[:-1]
    return float(np.diff(y) @ (inner * (1 - inner)))
