"""The difference of a term between two models, and a table of several terms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from propercal._array import to_numpy
from propercal._data.words.messages import bad_value, unknown_name
from propercal._results.forms import Result
from propercal._results.intervals import level_or
from propercal._results.pages import Page
from propercal._results.student import around, two_sided
from propercal._results.text import in_groups
from propercal.inference.contributions import Contributions
from propercal.result import Decomposition

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class PairedDifference(Result):
    """A term of two models on one test set, and their difference.

    Attributes
    ----------
    difference : float
        The term of a less that of b, in units of the loss. Positive where b is the better, but for
        the sharpness.
    standard_error : float
        Its standard error. Rows that both models find hard cancel.
    pvalue : float
        Two-sided, of the hypothesis that both have the same; NaN where the difference is infinite.
    a : Decomposition
        The first model by itself. Where the risk alone is compared nothing is fitted, and the terms
        that need a fit are NaN.
    b : Decomposition
        The second model by itself.
    confidence_level : float
        Default level of :meth:`interval`.
    term : {"calibration_error", "risk", "refinement", "sharpness"}
        What is compared.
    degrees_of_freedom : float
        Those of Student's law in p-value and interval, the effective number of rows, or groups,
        less 1, for the risk; infinite for the other terms.
    """

    difference: float
    standard_error: float
    pvalue: float
    a: Decomposition
    b: Decomposition
    confidence_level: float
    term: str = "calibration_error"
    degrees_of_freedom: float = math.inf

    _along: ClassVar[str | None] = "term"

    @property
    def n_groups(self) -> int | None:
        """Groups, or blocks, of rows that may depend on each other; None where none were given."""
        return self.a.n_groups

    def interval(self, confidence_level: float | None = None) -> tuple[float, float]:
        """Return a confidence interval for the difference.

        Parameters
        ----------
        confidence_level : float, optional
            Between 0 and 1; that of the comparison by default.

        Returns
        -------
        tuple of float
            Lower and upper end, by the central limit theorem for independent rows, or groups.

        Raises
        ------
        ValueError
            If the level is not between 0 and 1, or the difference is not finite.
        """
        level = level_or(self.confidence_level, confidence_level)
        if not self._is_finite:
            raise bad_value(
                "difference", repr(self.difference), "a finite one", "use a bounded loss"
            )
        return around(self.difference, self.standard_error, level, self.degrees_of_freedom)

    @property
    def _is_finite(self) -> bool:
        return math.isfinite(self.difference) and math.isfinite(self.standard_error)

    def _terms(self) -> tuple[float, float]:
        a, b = (float(to_numpy(getattr(each, self.term))) for each in (self.a, self.b))
        return a, b

    def _cells(self) -> tuple[str, ...]:
        """Return term, both models, difference, interval and p-value as text."""
        low, high = self.interval() if self._is_finite else (math.nan, math.nan)
        return (
            self.term.replace("_", " "),
            *(f"{each:.6g}" for each in (*self._terms(), self.difference)),
            f"[{low:.6g}, {high:.6g}]" if self._is_finite else "",
            f"{self.pvalue:.3g}",
        )

    def __str__(self) -> str:
        a, b = self._terms()
        lines = [
            f"{_title(self)} {self.term.replace('_', ' ')}",
            f"  a           {a:>12.6g}",
            f"  b           {b:>12.6g}",
            f"  difference  {self.difference:>12.6g}",
        ]
        if self._is_finite:
            low, high = self.interval()
            lines[-1] += f"  [{low:.6g}, {high:.6g}], p = {self.pvalue:.3g}"
            lines.append(f"  {_note(self)}")
        return "\n".join(lines)

    def _page(self) -> Page:
        return _page_of([self])

    def _tabular(self) -> xr.Dataset:
        return self.to_xarray().expand_dims(term=[self.term])

    def to_xarray(self) -> xr.Dataset:
        """Return the difference as a dataset of scalars.

        Returns
        -------
        xarray.Dataset
            ``difference``, ``standard_error``, ``pvalue``, ``degrees_of_freedom``, the terms ``a``
            and ``b`` of the models, and ``interval`` along "bound", NaN where the difference is
            infinite; the settings as attributes.
        """
        import xarray as xr

        units = {"units": self.a.units} if self.a.units else {}
        a, b = self._terms()
        ends = self.interval() if self._is_finite else (math.nan, math.nan)
        return xr.Dataset(
            {
                "a": ((), a, units),
                "b": ((), b, units),
                "difference": ((), self.difference, units),
                "standard_error": ((), self.standard_error, units),
                "interval": ("bound", list(ends), units),
                "pvalue": ((), self.pvalue),
                "degrees_of_freedom": ((), self.degrees_of_freedom),
            },
            coords={"bound": ["lower", "upper"]},
            attrs={"term": self.term, **settings_of(self.a)},
        )


Difference = TypeVar("Difference", bound=PairedDifference)
"""A difference between two models, or one that says more."""


@dataclass(frozen=True, eq=False)
class PairedDifferences(Result, Sequence[PairedDifference]):
    """Several terms of two models on one test set, from one fit, and their differences.

    A sequence of :class:`PairedDifference`, which takes the name of a term for a number too. The
    p-values are each by itself: the terms add up, and are not independent.

    Attributes
    ----------
    differences : tuple of PairedDifference
        One for each term, in the order that was asked for.

    Examples
    --------
    >>> from propercal import paired_difference
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, p_true = TemperatureScaledSimplex(3).sample(2000, random_state=0)
    >>> found = paired_difference(y_true, y_proba, p_true, term=["risk", "calibration_error"])
    >>> found["risk"].difference > 0, len(found)
    (True, 2)
    """

    differences: tuple[PairedDifference, ...]

    _along: ClassVar[str | None] = "term"

    @overload
    def __getitem__(self, which: int | str) -> PairedDifference: ...
    @overload
    def __getitem__(self, which: slice) -> Sequence[PairedDifference]: ...
    def __getitem__(
        self, which: int | str | slice
    ) -> PairedDifference | Sequence[PairedDifference]:
        """Return the difference of a term, by its number or its name."""
        if not isinstance(which, str):
            return self.differences[which]
        if which not in self.terms:
            raise unknown_name("term", which, self.terms)
        return self.differences[self.terms.index(which)]

    def __len__(self) -> int:
        return len(self.differences)

    def __iter__(self) -> Iterator[PairedDifference]:
        return iter(self.differences)

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the terms."""
        return tuple(each.term for each in self.differences)

    @property
    def a(self) -> Decomposition:
        """The first model by itself."""
        return self.differences[0].a

    @property
    def b(self) -> Decomposition:
        """The second model by itself."""
        return self.differences[0].b

    def __str__(self) -> str:
        table = [_heads(self[0]), *(each._cells() for each in self)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in table
        ]
        return "\n".join([_title(self[0]), *(f"  {each}" for each in (*lines, _note(self[0])))])

    def _page(self) -> Page:
        return _page_of(self)

    def to_xarray(self) -> xr.Dataset:
        """Return the table as a dataset.

        Returns
        -------
        xarray.Dataset
            The variables of :meth:`propercal.PairedDifference.to_xarray` along "term".
        """
        import xarray as xr

        return xr.concat(
            [each.to_xarray() for each in self],
            xr.Variable("term", list(self.terms)),
            combine_attrs="drop_conflicts",
        )


def difference_of(
    kind: type[Difference],
    found: Contributions,
    models: tuple[Decomposition, Decomposition],
    confidence_level: float,
    pair: tuple[int, int] = (0, 1),
    error: float | None = None,
    **more: Any,
) -> Difference:
    """Return the difference between two of several models, `pair` being their numbers."""
    i, j = pair
    difference = float(found.estimates[i]) - float(found.estimates[j])
    error = float(found.errors(i)[j]) if error is None else error
    freedom = found.degrees_of_freedom
    return kind(
        difference,
        error,
        two_sided(difference, error, freedom),
        *models,
        confidence_level,
        found.term.name,
        freedom,
        **more,
    )


def settings_of(result: Decomposition) -> dict[str, Any]:
    """Return what a comparison was made with, as attributes of a dataset."""
    groups = {} if result.n_groups is None else {"n_groups": result.n_groups}
    return {
        "generator": repr(result.generator),
        "notion": result.notion,
        "method": result.method,
        "n_samples": result.n_samples,
        "n_classes": result.n_classes,
        "confidence_level": result.confidence_level,
        **groups,
    }


def _title(found: PairedDifference) -> str:
    return f"{found.a.generator.name} loss, {found.a.notion}"


def _heads(found: PairedDifference) -> tuple[str, ...]:
    return "", "a", "b", "difference", f"{found.confidence_level:.0%} interval", "p"


def _note(found: PairedDifference) -> str:
    rows = f"n = {found.a.n_samples}{in_groups(found.a.n_groups)}"
    return f"[ ]: {found.confidence_level:.0%} interval, {rows}"


def _page_of(found: Sequence[PairedDifference]) -> Page:
    first = found[0]
    return Page(_title(first), [each._cells() for each in found], [_note(first)], _heads(first))
