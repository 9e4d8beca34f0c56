"""Calibration slope and intercept (Cox), with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from propercal._data.dependence.groups import check_number, validate_groups
from propercal._data.inputs.settings import check_confidence_level
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.notions import Notion, as_notion
from propercal._data.predictions.predictions import Reading
from propercal._data.words.messages import bad_value, unknown_name
from propercal._results.forms import Result, settings_of
from propercal._results.intervals import half_width, level_or
from propercal._results.pages import Page
from propercal._results.text import in_groups
from propercal.classical.events import Event, event_of
from propercal.classical.logistic import Fit, Floats, fit_logistic

if TYPE_CHECKING:
    import xarray as xr

_NAMES = ("slope", "intercept", "intercept_in_the_large")
_COVARIANCES = ("sandwich", "likelihood")


@dataclass(frozen=True, eq=False)
class CalibrationSlope(Result):
    """What :func:`calibration_slope` returns.

    Attributes
    ----------
    slope : float
        b of logit P(Y = 1) = a + b logit p; 1 of a calibrated model.
    intercept : float
        a of the same; 0 of a calibrated model.
    intercept_in_the_large : float
        a of logit P(Y = 1) = a + logit p: above 0 where events are more frequent than predicted.
    standard_errors : mapping of str to float
        Of the three.
    pvalue : float
        Of the hypothesis that slope is 1 and intercept 0, by Wald's test.
    event : str
        What the probabilities are of.
    covariance : {"sandwich", "likelihood"}
        How errors were found.
    n_samples : int
        Rows of positive weight.
    n_groups : int or None
        Groups, or blocks, of rows that may depend on each other; None where none were given.
    confidence_level : float
        Default level of :meth:`interval`.
    """

    slope: float
    intercept: float
    intercept_in_the_large: float
    standard_errors: Mapping[str, float]
    pvalue: float
    event: str
    covariance: str
    n_samples: int
    n_groups: int | None
    confidence_level: float

    def interval(self, name: str, confidence_level: float | None = None) -> tuple[float, float]:
        """Return a confidence interval for a coefficient.

        Parameters
        ----------
        name : {"slope", "intercept", "intercept_in_the_large"}
            Which one.
        confidence_level : float, optional
            Between 0 and 1; that of the fit by default.

        Returns
        -------
        tuple of float
            Lower and upper end, by the central limit theorem for independent rows, or groups.

        Raises
        ------
        ValueError
            If there is no such coefficient, or the level is not between 0 and 1.
        """
        if name not in _NAMES:
            raise unknown_name("name", name, _NAMES)
        level = level_or(self.confidence_level, confidence_level)
        half = half_width(self.standard_errors[name], level)
        value = float(getattr(self, name))
        return value - half, value + half

    def to_xarray(self) -> xr.Dataset:
        """Return the coefficients as a dataset of scalars, with intervals and settings.

        Returns
        -------
        xarray.Dataset
            Each coefficient, ``{coefficient}_interval`` along "bound",
            ``{coefficient}_standard_error``, and "pvalue".
        """
        import xarray as xr

        variables: dict[str, Any] = {name: ((), getattr(self, name)) for name in _NAMES}
        variables |= {f"{name}_interval": ("bound", list(self.interval(name))) for name in _NAMES}
        names = ("event", "covariance", "n_samples", "n_groups", "confidence_level")
        for name in _NAMES:
            variables[f"{name}_standard_error"] = ((), self.standard_errors[name])
        variables["pvalue"] = ((), self.pvalue)
        return xr.Dataset(variables, {"bound": ["lower", "upper"]}, settings_of(self, *names))

    def __str__(self) -> str:
        lines = [self._title()]
        lines += [f"  {name:<23}{value:>10}  {ends}" for name, value, ends in self._rows()]
        return "\n".join([*lines, *(f"  {note}" for note in self._notes())])

    def _page(self) -> Page:
        return Page(self._title(), self._rows(), self._notes())

    def _title(self) -> str:
        return f"calibration of the probability of {self.event}, by logistic regression"

    def _rows(self) -> list[tuple[str, str, str]]:
        rows = []
        for name in _NAMES:
            low, high = self.interval(name)
            value = f"{getattr(self, name):.4g}"
            rows.append((name.replace("_", " "), value, f"[{low:.4g}, {high:.4g}]"))
        return rows

    def _notes(self) -> list[str]:
        rows = f"n = {self.n_samples}{in_groups(self.n_groups)}"
        return [
            f"slope 1 and intercept 0: p = {self.pvalue:.3g}",
            f"[ ]: {self.confidence_level:.0%} interval ({self.covariance}), {rows}",
        ]


@with_reading
def calibration_slope(
    y_true: object,
    y_proba: object,
    *,
    notion: str | Notion = "canonical",
    event: Any = None,
    covariance: str = "sandwich",
    confidence_level: float = 0.95,
    groups: object = None,
    blocks: int | str | None = None,
    **reading: Unpack[Reading],
) -> CalibrationSlope:
    r"""Fit the calibration slope and intercept of predicted probabilities of an event.

    .. math::

        \operatorname{logit} P(Y = 1) &= a + b \operatorname{logit} p, \\
        \operatorname{logit} P(Y = 1) &= a_0 + \operatorname{logit} p .

    A slope b below 1 says that predictions are too extreme (over-confidence), above 1 that they are
    not extreme enough; a₀ is calibration in the large. Slope 1 and intercept 0 do not make a model
    calibrated: what bends otherwise is not seen.

    Parameters
    ----------
    y_true, y_proba
        As in :func:`propercal.decompose`: of two classes the event is the second one.
    notion : {"canonical", "top-label"}
        "top-label" takes as event that the first choice is right.
    event : optional
        A class, whose probability is checked against all others.
    covariance : {"sandwich", "likelihood"}
        Errors that hold whatever the law of the labels is, of dependent rows in groups too; or
        those of textbooks, by the likelihood, for independent rows of equal weights and where the
        regression is true.
    confidence_level : float
        Level of :meth:`CalibrationSlope.interval`.
    groups, blocks
        As in :func:`propercal.decompose`: rows that depend on each other; 20 groups or more.
    **reading
        How data are read, as in :func:`propercal.decompose`.

    Returns
    -------
    CalibrationSlope

    Raises
    ------
    ValueError
        If an argument cannot be used; where a prediction is exactly 0 or 1 (its logit is infinite);
        where the event always or never occurs, all predictions are equal, or predictions separate
        the outcomes, so that no slope is the most likely.

    References
    ----------
    Cox (1958), "Two further applications of a model for binary regression". Van Calster et al.
    (2019), "Calibration: the Achilles heel of predictive analytics".

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, p_true = TemperatureScaledSimplex(2).sample(2000, random_state=0)
    >>> found = calibration_slope(y_true, y_proba)
    >>> found.interval("slope")[1] < 1
    True
    >>> calibration_slope(y_true, p_true).pvalue > 0.05
    True
    """
    level = check_confidence_level(confidence_level)
    if covariance not in _COVARIANCES:
        raise unknown_name("covariance", covariance, _COVARIANCES)
    reduction = as_notion(notion)
    predictions = validate_groups(y_true, y_proba, groups=groups, blocks=blocks, **reading)
    check_number(predictions.n_groups, "intervals of a slope", predictions.grouped_by)
    chosen = event_of(predictions, reduction, event)
    _check_model(covariance, chosen)
    chosen.check_finite("a logit is infinite there")
    chosen.check_both()
    _check_overlap(chosen)
    coefficients, errors = _both(chosen, covariance)
    in_the_large = _fit(chosen, np.ones((len(chosen.prob), 1)), chosen.log_odds)
    of_large = _covariance(in_the_large, chosen, covariance)
    moved = coefficients - np.array([0.0, 1.0])
    from scipy.special import chdtrc

    wald = float(moved @ np.linalg.solve(errors, moved))
    return CalibrationSlope(
        slope=float(coefficients[1]),
        intercept=float(coefficients[0]),
        intercept_in_the_large=float(in_the_large.coefficients[0]),
        standard_errors={
            "slope": float(np.sqrt(errors[1, 1])),
            "intercept": float(np.sqrt(errors[0, 0])),
            "intercept_in_the_large": float(np.sqrt(of_large[0, 0])),
        },
        pvalue=float(chdtrc(2, wald)),
        event=chosen.name,
        covariance=covariance,
        n_samples=predictions.n_samples,
        n_groups=predictions.n_groups,
        confidence_level=level,
    )


def _both(event: Event, covariance: str) -> tuple[Floats, Floats]:
    """Return intercept and slope, and their covariance."""
    z = event.log_odds
    middle = float(event.weight @ z)
    scale = float(np.sqrt(event.weight @ (z - middle) ** 2))
    # In units of their spread, so that no log-odds are too large to fit.
    fit = _fit(event, np.stack([np.ones(len(z)), (z - middle) / scale], axis=1), 0 * z)
    back = np.array([[1.0, -middle / scale], [0.0, 1 / scale]])
    return back @ fit.coefficients, back @ _covariance(fit, event, covariance) @ back.T


def _fit(event: Event, design: Floats, offset: Floats) -> Fit:
    return fit_logistic(design, event.occurred, event.weight, offset)


def _covariance(fit: Fit, event: Event, covariance: str) -> Floats:
    if covariance == "likelihood":
        return fit.model_covariance(len(event.prob))
    return fit.covariance(event.groups)


def _check_model(covariance: str, event: Event) -> None:
    uneven = not event.predictions.uniform or event.groups is not None
    if covariance == "likelihood" and uneven:
        raise bad_value(
            "covariance",
            repr(covariance),
            "'sandwich' beside weights or groups",
            "the likelihood is that of independent rows of equal weights",
        )


def _check_overlap(event: Event) -> None:
    """Refuse predictions of which no slope, or an infinite one, is the most likely."""
    z, yes = event.log_odds, event.occurred == 1
    if z.min() == z.max():
        raise bad_value(
            event.predictions.names.proba,
            f"the same probability {event.prob[0]:.6g} in all rows",
            "predictions that differ, of which there is a slope",
            "use the mean gap, propercal.decompose(...).direction().gap",
        )
    if z[yes].max() <= z[~yes].min() or z[~yes].max() <= z[yes].min():
        raise bad_value(
            event.predictions.names.proba,
            f"predictions that separate the rows where {event.name} occurs from the others",
            "outcomes that overlap, or the most likely slope is infinite",
            "collect more rows",
        )
