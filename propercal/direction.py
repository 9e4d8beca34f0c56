"""Over- and under-confidence: the direction in which predictions are miscalibrated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from propercal._data.words.messages import bad_value, unknown_name
from propercal._results.estimates import EstimatedTerms, number
from propercal._results.forms import Result, settings_of
from propercal._results.intervals import divergence_interval, half_width, level_or
from propercal._results.kept_rows import KeptRows, names_of
from propercal._results.pages import Page
from propercal.generators.base import BregmanGenerator

if TYPE_CHECKING:
    import xarray as xr

_PARTS = ("over_confidence", "under_confidence")
#: What a difference of parts that are equal is, at most, beside them.
_ROUNDING = 1e-14
#: Gaps that are printed.
_MOST = 6


@dataclass(frozen=True, eq=False)
class Direction(Result):
    """What :meth:`propercal.Decomposition.direction` returns.

    Attributes
    ----------
    over_confidence : float
        Part of the calibration error: of rows whose predictions lie further out than what happens.
        An estimate may be negative.
    under_confidence : float
        The other part, of rows whose predictions lie further in. Both add up to the calibration
        error.
    standard_errors : mapping of str to float
        Of both parts.
    noise_floor : float
        As of the decomposition: noise that no interval is narrower than.
    missed : float
        As of the decomposition: by how much intervals are wider above.
    gap : tuple of float
        Mean of g − Y, weighted: of each class; for the top label, of the first choice, how much
        more probable it was said to be than it was right. Calibration in the large has 0.
    gap_errors : tuple of float
        Standard errors of these.
    classes : tuple
        What the gaps are of.
    generator : BregmanGenerator
        The convex function F.
    notion : str
        The notion of calibration.
    n_samples : int
        Rows of positive weight.
    n_groups : int or None
        Groups, or blocks, of rows that may depend on each other; None where none were given.
    confidence_level : float
        Default level of :meth:`interval` and :meth:`gap_interval`.
    """

    over_confidence: float
    under_confidence: float
    standard_errors: Mapping[str, float]
    noise_floor: float
    missed: float
    gap: tuple[float, ...]
    gap_errors: tuple[float, ...]
    classes: tuple[Any, ...]
    generator: BregmanGenerator
    notion: str
    n_samples: int
    n_groups: int | None
    confidence_level: float

    def interval(self, name: str, confidence_level: float | None = None) -> tuple[float, float]:
        """Return a confidence interval for a part of the calibration error.

        Parameters
        ----------
        name : {"over_confidence", "under_confidence"}
            The part.
        confidence_level : float, optional
            Between 0 and 1; that of the decomposition by default.

        Returns
        -------
        tuple of float
            Lower and upper end, made as that of the calibration error
            (:meth:`propercal.Decomposition.interval`). It is for the part of rows as they were
            dealt to the two sides.

        Raises
        ------
        ValueError
            If there is no such part, or the level is not between 0 and 1.
        """
        if name not in _PARTS:
            raise unknown_name("name", name, _PARTS)
        low, high = divergence_interval(
            getattr(self, name),
            self.standard_errors[name],
            level_or(self.confidence_level, confidence_level),
            self.noise_floor,
        )
        return low, high + self.missed

    def gap_interval(self, confidence_level: float | None = None) -> npt.NDArray[np.float64]:
        """Return a confidence interval for each gap.

        Parameters
        ----------
        confidence_level : float, optional
            Between 0 and 1; that of the decomposition by default.

        Returns
        -------
        ndarray, shape (m, 2)
            Lower and upper ends, by the central limit theorem for independent rows, or groups.

        Raises
        ------
        ValueError
            If the level is not between 0 and 1.
        """
        level = level_or(self.confidence_level, confidence_level)
        half = half_width(1.0, level) * np.array(self.gap_errors)
        return np.stack([np.array(self.gap) - half, np.array(self.gap) + half], axis=1)

    def to_xarray(self) -> xr.Dataset:
        """Return both parts and the gaps, with intervals and settings.

        Returns
        -------
        xarray.Dataset
            "over_confidence" and "under_confidence" with ``{part}_interval`` along "bound" and
            ``{part}_standard_error``; "gap" along "class" with the same; settings as attributes.
        """
        import xarray as xr

        variables: dict[str, Any] = {}
        for name in _PARTS:
            variables[name] = ((), getattr(self, name))
            variables[f"{name}_interval"] = ("bound", list(self.interval(name)))
            variables[f"{name}_standard_error"] = ((), self.standard_errors[name])
        variables["gap"] = ("class", list(self.gap))
        variables["gap_interval"] = (("class", "bound"), self.gap_interval())
        variables["gap_standard_error"] = ("class", list(self.gap_errors))
        attrs = {"generator": repr(self.generator)}
        attrs |= settings_of(self, "notion", "n_samples", "n_groups", "confidence_level")
        coords = {"bound": ["lower", "upper"], "class": names_of(self.classes)}
        return xr.Dataset(variables, coords, attrs)

    def __str__(self) -> str:
        lines = [self._title()]
        lines += [f"  {name:<18}{value:>12}  {ends}" for name, value, ends in self._rows()]
        lines.append(f"  {self._note()}")
        return "\n".join(lines)

    def _page(self) -> Page:
        return Page(self._title(), self._rows(), [self._note()])

    def _title(self) -> str:
        return f"{self.generator.name} loss, {self.notion} calibration error by direction"

    def _note(self) -> str:
        return f"[ ]: {self.confidence_level:.0%} interval, n = {self.n_samples}"

    def _rows(self) -> list[tuple[str, str, str]]:
        rows = []
        for name in _PARTS:
            low, high = self.interval(name)
            value = f"{getattr(self, name):.6g}"
            rows.append((name.replace("_", " "), value, f"[{low:.6g}, {high:.6g}]"))
        gaps = zip(self.classes, self.gap, self.gap_interval().tolist(), strict=True)
        for called, gap, (low, high) in list(gaps)[:_MOST]:
            rows.append((f"gap of {called}", f"{gap:+.6g}", f"[{low:+.6g}, {high:+.6g}]"))
        if len(self.gap) > _MOST:
            rows.append((f"and {len(self.gap) - _MOST} more gaps", "", ""))
        return rows


def direction_of(result: EstimatedTerms, rows: KeptRows) -> Direction:
    """Split the calibration error of a result by its rows, or raise."""
    if not rows.has_sides:
        raise bad_value(
            "method",
            repr(result.method),
            "one that corrects its bias",
            "the parts of a biased calibration error are biased by unknown amounts; use "
            'method="debiased"',
        )
    value = number(result.calibration_error)
    if not math.isfinite(value):
        raise bad_value(
            "calibration_error",
            value,
            "a finite one, which has parts",
            "correct the predictions of probability 0, or use a bounded loss such as 'brier'",
        )
    over, under = rows.sides()
    rest = value - over.value
    return Direction(
        over_confidence=over.value,
        # Where all of it is over-confidence, rounding is not the rest.
        under_confidence=rest if abs(rest) > _ROUNDING * abs(value) else 0.0,
        standard_errors={"over_confidence": over.error, "under_confidence": under.error},
        noise_floor=result.noise_floor or 0.0,
        missed=result.missed or 0.0,
        gap=tuple(rows.gap[:, 0].tolist()),
        gap_errors=tuple(rows.gap[:, 1].tolist()),
        classes=rows.events,
        generator=result.generator,
        notion=result.notion,
        n_samples=result.n_samples,
        n_groups=result.n_groups,
        confidence_level=result.confidence_level,
    )
