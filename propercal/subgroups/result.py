"""The result of decompose_groups: the terms of each group, parts that add up, and the test."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from propercal._array import to_numpy
from propercal._data.words.messages import bad_value
from propercal._results.forms import Result
from propercal._results.intervals import half_width, level_or
from propercal._results.pages import Page
from propercal.result import Decomposition
from propercal.subgroups.worst import WorstGroupTest

if TYPE_CHECKING:
    import xarray as xr

#: Letters of a name in a table.
_LONGEST = 45


@dataclass(frozen=True)
class Part(Result):
    """A number with its standard error.

    Attributes
    ----------
    value : float
        In units of the loss.
    standard_error : float
        NaN where the method states none.
    confidence_level : float
        Default level of :meth:`interval`.
    """

    value: float
    standard_error: float
    confidence_level: float = 0.95

    def interval(self, confidence_level: float | None = None) -> tuple[float, float]:
        """Return a normal confidence interval.

        Parameters
        ----------
        confidence_level : float, optional
            Between 0 and 1; that of the decomposition by default.

        Returns
        -------
        tuple of float
            Lower and upper end, by the central limit theorem for independent rows, or clusters.

        Raises
        ------
        ValueError
            If the level is not between 0 and 1, or there is no standard error.
        """
        level = level_or(self.confidence_level, confidence_level)
        if not (math.isfinite(self.value) and math.isfinite(self.standard_error)):
            raise bad_value(
                "part",
                f"{self.value} with a standard error of {self.standard_error}",
                "a finite number with one",
                'use method="debiased" and a bounded loss',
            )
        half = half_width(self.standard_error, level)
        return self.value - half, self.value + half

    def to_xarray(self) -> xr.Dataset:
        """Return the number with its error and interval.

        Returns
        -------
        xarray.Dataset
            ``value``, ``value_standard_error`` and ``value_interval`` along "bound", NaN where
            there is none.
        """
        import xarray as xr

        return xr.Dataset(
            {
                "value": ((), self.value),
                "value_standard_error": ((), self.standard_error),
                "value_interval": ("bound", list(self._ends())),
            },
            {"bound": ["lower", "upper"]},
            {"confidence_level": self.confidence_level},
        )

    def _ends(self) -> tuple[float, float]:
        """Return the interval, NaN where there is none."""
        finite = math.isfinite(self.value) and math.isfinite(self.standard_error)
        return self.interval() if finite else (math.nan, math.nan)

    def _page(self) -> Page:
        low, high = self._ends()
        rows = [("value", f"{self.value:.6g}", f"[{low:.6g}, {high:.6g}]")]
        return Page("part of a risk", rows, [f"[ ]: {self.confidence_level:.0%} interval"])


@dataclass(frozen=True, eq=False)
class GroupDecomposition(Result):
    """What :func:`decompose_groups` returns.

    Attributes
    ----------
    groups : mapping of name to Decomposition
        Each group by itself.
    shares : mapping of name to float
        Share of the rows, by weight, that a group has.
    whole : Decomposition
        All rows together.
    parts : mapping of str to Part, or None
        Where each row is in just one group, what the groups add up to: "calibration_error",
        "refinement", "sharpness" and "uncertainty" are means of those of the groups by their
        shares; "added" is what knowing the group adds to the calibration error and takes from the
        refinement, E D_F(E[Y | g, group], E[Y | g]); "between" is the divergence between the
        groups' base rates and that of all rows. None where groups overlap or leave rows out.
    test : WorstGroupTest
        Whether any group is miscalibrated.

    Notes
    -----
    With parts: calibration_error = whole.calibration_error + added; whole.refinement = refinement +
    added; whole.uncertainty = uncertainty + between; whole.sharpness + added = sharpness + between.
    """

    groups: Mapping[Any, Decomposition]
    shares: Mapping[Any, float]
    whole: Decomposition
    parts: Mapping[str, Part] | None
    test: WorstGroupTest

    _along: ClassVar[str | None] = "group"

    def __getitem__(self, name: Any) -> Decomposition:
        """Return the terms of one group."""
        if name not in self.groups:
            known = ", ".join(map(repr, list(self.groups)[:8]))
            raise KeyError(f"group = {name!r}: expected one of {known}.")
        return self.groups[name]

    def to_xarray(self) -> xr.Dataset:
        """Return the terms by group, with intervals, tests and parts.

        Returns
        -------
        xarray.Dataset
            What :meth:`propercal.Decomposition.to_xarray` has, along "group"; ``share``,
            ``n_samples``, ``pvalue`` and ``adjusted_pvalue`` too; the terms of all rows with
            ``whole_`` and parts with ``part_`` before their names; settings as attributes.
        """
        import numpy as np
        import xarray as xr

        found = [each.to_xarray() for each in self.groups.values()]
        names = np.array([str(name) for name in self.groups])
        data = xr.concat(found, "group", combine_attrs="drop_conflicts", join="outer")
        data = data.assign_coords(group=("group", names))
        by_group = {
            "share": self.shares,
            "pvalue": self.test.pvalues,
            "adjusted_pvalue": self.test.adjusted,
            "n_samples": {name: each.n_samples for name, each in self.groups.items()},
        }
        for name, values in by_group.items():
            data[name] = ("group", [values[group] for group in self.groups])
        for term, variable in self.whole.to_xarray().data_vars.items():
            data[f"whole_{term}"] = variable
        for name, part in (self.parts or {}).items():
            data[f"part_{name}"] = part.value
            data[f"part_{name}_error"] = part.standard_error
        data["whole_n_samples"] = self.whole.n_samples
        # That of groups of one size is not that of the data.
        data.attrs.pop("n_samples", None)
        data.attrs |= {"n_resamples": self.test.n_resamples, "worst": str(self.test.worst)}
        return data

    def __str__(self) -> str:
        lines = [self._title()]
        shown = {name: _in_one_line(name) for name in self.groups}
        width = max(5, *map(len, shown.values()))
        lines.append(f"  {'group':<{width}} {'rows':>7} {'error':>10}  {'interval':<23} {'p':>6}")
        for name, each in self.groups.items():
            lines.append(self._line(shown[name], width, each, f"{self.test.adjusted[name]:6.3g}"))
        lines.append(self._line("whole", width, self.whole, ""))
        lines += [f"  {note}" for note in self._notes()]
        return "\n".join(line.rstrip() for line in lines)

    def _title(self) -> str:
        whole = self.whole
        units = f", in {whole.units}" if whole.units else ""
        return f"{whole.generator.name} loss, {whole.notion} calibration error by group{units}"

    @staticmethod
    def _line(name: str, width: int, each: Decomposition, pvalue: str) -> str:
        value, interval = _shown(each)
        return f"  {name:<{width}} {each.n_samples:>7} {value:>10}  {interval:<23} {pvalue}"

    def _notes(self) -> list[str]:
        notes = []
        if self.parts is not None:
            within, added = self.parts["calibration_error"], self.parts["added"]
            sign = "-" if added.value < 0 else "+"
            notes.append(
                f"within groups {within.value:.4g} = whole {sign} {abs(added.value):.4g} that "
                "knowing the group adds"
            )
        notes.append(
            f"p: adjusted for {len(self.groups)} groups, {self.test.n_resamples} resamples; worst: "
            f"{_in_one_line(self.test.worst)}"
        )
        return notes

    def _page(self) -> Page:
        rows = []
        for name, each in [*self.groups.items(), ("whole", self.whole)]:
            value, interval = _shown(each)
            pvalue = f"{self.test.adjusted[name]:.3g}" if each is not self.whole else ""
            rows.append((str(name), f"{each.n_samples}", value, interval, pvalue))
        head = ("group", "rows", "error", "interval", "p")
        return Page(self._title(), rows, self._notes(), head)


def _in_one_line(name: Any) -> str:
    """Return a name as a table has room for it: with no line break, and its ends if it is long."""
    words = " ".join(str(name).split())
    half = (_LONGEST - 1) // 2
    return words if len(words) <= _LONGEST else f"{words[:half]}…{words[-half:]}"


def _shown(each: Decomposition) -> tuple[str, str]:
    """Return the calibration error and its interval as they are printed."""
    value = float(to_numpy(each.calibration_error))
    error = each.standard_errors.get("calibration_error", math.inf)
    if not math.isfinite(value + error):
        return f"{value:.4g}", ""
    low, high = each.interval("calibration_error")
    return f"{value:.4g}", f"[{low:.4g}, {high:.4g}]"
