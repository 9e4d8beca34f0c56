"""Estimated terms of a risk: their numbers, intervals and units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from propercal._array import to_numpy
from propercal._data.words.messages import bad_value, unknown_name
from propercal._results.forms import Result
from propercal._results.intervals import divergence_interval, half_width, level_or
from propercal._results.kept_rows import KeptRows
from propercal.generators.base import BregmanGenerator

TERM_NAMES = ("risk", "calibration_error", "refinement", "sharpness", "uncertainty")
SKILL_SCORE = "skill_score"

_DIVERGENCES = ("calibration_error", "sharpness")
_UNITS = {"log": "nats"}


def units_of(generator: BregmanGenerator) -> str:
    """Return the units of the terms of a generator."""
    return _UNITS.get(generator.name, "")


def number(value: Any) -> float:
    """Return a term as a number of Python."""
    return float(to_numpy(value)) if not isinstance(value, float) else value


@dataclass(frozen=True, eq=False)
class EstimatedTerms(Result):
    """The terms, what their intervals are made from, and settings.

    :class:`propercal.Decomposition` says what each is.
    """

    risk: Any
    calibration_error: Any
    refinement: Any
    sharpness: Any
    uncertainty: Any
    bandwidth: float
    method: str
    notion: str
    kernel: str
    generator: BregmanGenerator
    n_samples: int
    n_classes: int
    confidence_level: float
    algorithm: str = "exact"
    infinite_loss_rows: tuple[int | None, ...] = ()
    centres: Mapping[str, float] = field(default_factory=dict)
    standard_errors: Mapping[str, float] = field(default_factory=dict)
    lower_bound: float | None = None
    kernel_share: float | None = None
    misfit_pvalue: float | None = None
    missed: float | None = None
    kernel_rows: int | None = None
    training_rows: int | None = None
    n_groups: int | None = None
    label_error: float | None = None
    noise_floor: float | None = None
    detection_floor: float = math.nan
    skill_score_error: float | None = None
    _kept_rows: KeptRows | None = field(default=None, repr=False)

    @property
    def skill_score(self) -> Any:
        """The share of the uncertainty that predictions save, 1 − risk / uncertainty.

        It is 1 for predictions that are certain and right (if F is 0 there, as for "log", "brier"
        and "spherical"), 0 for the share of each class as prediction of every row, below 0 for
        worse: the Brier skill score for "brier", McFadden's R² for "log", but that the debiased
        uncertainty is corrected for its bias. NaN unless the uncertainty is above 0.
        """
        positive = number(self.uncertainty) > 0
        return 1 - self.risk / self.uncertainty if positive else self.uncertainty * math.nan

    def interval(self, name: str, confidence_level: float | None = None) -> tuple[float, float]:
        """Return a confidence interval for a term.

        Parameters
        ----------
        name : {"risk", "calibration_error", "refinement", "sharpness", "uncertainty", \
"skill_score"}
            The term. The methods "direct" and "risk" have intervals for the risk and the
            uncertainty, hence the skill score, alone: the bias of the others at a given bandwidth
            is unknown, and often many times their sampling error.
        confidence_level : float, optional
            Between 0 and 1; that of the decomposition by default.

        Returns
        -------
        tuple of float
            Lower and upper end, by the central limit theorem for independent rows, or groups. It is
            an interval for sampling error: a bias, of what neither the recalibrations nor the
            kernel see, is not in it (:func:`propercal.decompose`, Notes). The standard error of a
            divergence (calibration error, sharpness) grows like its square root, on whose scale it
            is added where the term is large beside it. Its lower end is 0 up to z standard errors,
            z the normal quantile, and both ends are continuous and increasing in the term. With few
            events the calibration error's takes `label_error`, and it is no narrower than the noise
            of one coefficient makes it (`noise_floor`).

        Raises
        ------
        ValueError
            If the term has no interval, is infinite, or the level is not between 0 and 1.
        """
        if name not in (*TERM_NAMES, SKILL_SCORE):
            raise unknown_name("name", name, (*TERM_NAMES, SKILL_SCORE))
        if name == SKILL_SCORE:
            return self._interval_of_skill_score(confidence_level)
        if name not in self.standard_errors:
            reason = (
                "the bias of this term at the bandwidth in use is unknown, so an interval around "
                'it would not cover the truth; use method="debiased"'
            )
            if math.isnan(number(getattr(self, name))):
                reason = "this term was not asked for, and nothing was fitted to estimate it"
            raise bad_value(
                "name",
                repr(name),
                f"a term with a valid interval under method={self.method!r}, which are "
                + " and ".join(map(repr, self.standard_errors)),
                reason,
            )
        level = level_or(self.confidence_level, confidence_level)
        centre, error = self.centres[name], self.standard_errors[name]
        if not (math.isfinite(centre) and math.isfinite(error)):
            raise bad_value(
                "name", repr(name), "a finite term", f"the {name} is {centre}: it has no interval"
            )
        if name == "calibration_error" and self.label_error is not None:
            error = max(error, self.label_error)
        half = half_width(error, level)
        missed = self.missed or 0.0
        if name == "refinement":
            return centre - half - missed, centre + half
        if name not in _DIVERGENCES:
            return centre - half, centre + half
        floor = self.noise_floor if name == "calibration_error" else None
        low, high = divergence_interval(centre, error, level, floor)
        return low, high + missed

    def _interval_of_skill_score(self, confidence_level: float | None) -> tuple[float, float]:
        level = level_or(self.confidence_level, confidence_level)
        if self.skill_score_error is None:
            raise bad_value(
                "name",
                repr(SKILL_SCORE),
                f"a finite term, but it is {number(self.skill_score):.6g}",
                "it has an interval where the risk is finite and the uncertainty above 0",
            )
        uncertainty = self.centres.get("uncertainty", number(self.uncertainty))
        centre = 1 - number(self.risk) / uncertainty
        half = half_width(self.skill_score_error, level)
        return centre - half, centre + half

    @property
    def units(self) -> str:
        """Units of the terms, "nats" for the log loss, else empty."""
        return units_of(self.generator)

    def _values(self) -> dict[str, float]:
        return {name: number(getattr(self, name)) for name in TERM_NAMES}


def intervals(result: EstimatedTerms) -> dict[str, tuple[float, float]]:
    """Return the interval of each term that has one and is finite."""
    errors = result.standard_errors
    finite = [
        term for term in errors if math.isfinite(number(getattr(result, term)) + errors[term])
    ]
    return {term: result.interval(term) for term in finite}
