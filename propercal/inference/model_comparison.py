"""The result of comparing several models: pairs, ranks, and which may be the best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from propercal._array import to_numpy
from propercal._data.words.messages import unknown_name
from propercal._results.forms import Result
from propercal._results.intervals import level_or
from propercal._results.pages import Page
from propercal._results.text import in_groups
from propercal.inference.contributions import Contributions
from propercal.inference.differences import (
    PairedDifference,
    difference_of,
    settings_of,
)
from propercal.inference.max_t import MaxT
from propercal.result import Decomposition

if TYPE_CHECKING:
    import xarray as xr

#: Models whose pairs a text lists.
_FEW = 4


class Rank(NamedTuple):
    """The place of a model, 1 being the best.

    Attributes
    ----------
    estimate : int
        Its place by the estimates.
    lower : int
        First place that it may have in truth.
    upper : int
        Last place that it may have in truth.
    """

    estimate: int
    lower: int
    upper: int


@dataclass(frozen=True, eq=False)
class ModelPair(PairedDifference):
    """The difference between two of several models.

    Attributes
    ----------
    first : str
        Name of a.
    second : str
        Name of b.
    familywise_pvalue : float
        Adjusted for all pairs, by step-down: the probability that any pair that does not differ has
        one of at most α is at most α.
    critical_value : float
        What no t-statistic of all pairs exceeds, with the probability of the confidence level,
        where nothing differs.
    """

    first: str = "a"
    second: str = "b"
    familywise_pvalue: float = math.nan
    critical_value: float = math.inf

    @property
    def simultaneous_interval(self) -> tuple[float, float]:
        """An interval for the difference; with the confidence level those of all pairs hold.

        NaN where the difference is infinite.
        """
        if not self._is_finite:
            return math.nan, math.nan
        half = self.critical_value * self.standard_error if self.standard_error else 0.0
        return self.difference - half, self.difference + half

    def to_xarray(self) -> xr.Dataset:
        """Return the difference as a dataset of scalars.

        Returns
        -------
        xarray.Dataset
            As :meth:`propercal.PairedDifference.to_xarray`, ``familywise_pvalue``, and
            ``simultaneous_interval`` along "bound"; ``first`` and ``second`` among the settings.
        """
        found = super().to_xarray()
        units = found["difference"].attrs
        ends = list(self.simultaneous_interval)
        found["familywise_pvalue"] = self.familywise_pvalue
        found["simultaneous_interval"] = ("bound", ends, units)
        return found.assign_attrs(first=self.first, second=self.second)

    def _of_all(self) -> list[str]:
        low, high = self.simultaneous_interval
        return [
            f"a = {self.first}, b = {self.second}",
            f"among all pairs: [{low:.6g}, {high:.6g}], p = {self.familywise_pvalue:.3g}",
        ]

    def _page(self) -> Page:
        page = super()._page()
        return page._replace(notes=[*page.notes, *self._of_all()])

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(f"  {each}" for each in self._of_all())])


@dataclass(frozen=True, eq=False)
class ModelComparison(Result):
    """A term of several models on one test set, compared in all pairs.

    Attributes
    ----------
    models : mapping of str to Decomposition
        Each model by itself. Where the risk alone is compared nothing is fitted, and the terms that
        need a fit are NaN.
    term : {"risk", "calibration_error", "refinement", "sharpness"}
        What is compared. Less of it is better, but for the sharpness.
    pairs : tuple of ModelPair
        All pairs, in the order of the models.
    best_pvalues : mapping of str to float
        For each model, of the hypothesis that no other is better.
    confidence_level : float
        Default level of :meth:`best_set` and :meth:`rank_intervals`.
    n_resamples : int
        Draws of the joint law of all differences.
    """

    models: Mapping[str, Decomposition]
    term: str
    pairs: tuple[ModelPair, ...]
    best_pvalues: Mapping[str, float]
    confidence_level: float
    n_resamples: int
    _contributions: Contributions = field(repr=False)
    _joint: MaxT = field(repr=False)

    _along: ClassVar[str | None] = "model"

    def pair(self, first: str, second: str) -> ModelPair:
        """Return the difference between two models, in the order in which they are compared.

        Parameters
        ----------
        first, second : str
            Names of models, in either order.

        Returns
        -------
        ModelPair

        Raises
        ------
        ValueError
            If there is no such model, or both are the same.
        """
        for argument, name, others in (
            ("first", first, list(self.models)),
            ("second", second, [each for each in self.models if each != first]),
        ):
            if name not in others:
                raise unknown_name(argument, name, others)
        return next(each for each in self.pairs if {each.first, each.second} == {first, second})

    def best_set(self, confidence_level: float | None = None) -> tuple[str, ...]:
        """Return models that hold the best one, with this confidence.

        A model is left out if another is better by more than chance explains, the largest of its
        differences from all others being looked at. With this probability the set holds any given
        model that is best in truth.

        Parameters
        ----------
        confidence_level : float, optional
            Between 0 and 1; that of the comparison by default.

        Returns
        -------
        tuple of str
            The best first. That of the best estimate is always among them.

        Raises
        ------
        ValueError
            If the level is not between 0 and 1.
        """
        level = level_or(self.confidence_level, confidence_level)
        return tuple(name for name in self._order() if self.best_pvalues[name] > 1 - level)

    @property
    def ranks(self) -> dict[str, Rank]:
        """The rank of each model, with intervals of the comparison's confidence level."""
        return self.rank_intervals()

    def rank_intervals(self, confidence_level: float | None = None) -> dict[str, Rank]:
        """Return the rank of each model, with intervals that all hold with this confidence.

        A model is behind each that is better, and before each that is worse, by the simultaneous
        intervals of all pairs.

        Parameters
        ----------
        confidence_level : float, optional
            Between 0 and 1; that of the comparison by default.

        Returns
        -------
        dict of str to Rank

        Raises
        ------
        ValueError
            If the level is not between 0 and 1.
        """
        critical = self._joint.critical_value(level_or(self.confidence_level, confidence_level))
        values = self._worse_up()
        with np.errstate(invalid="ignore"):
            excess = values[:, None] - values[None, :]
            sure = excess > critical * self._joint.errors
        # Infinite losses are worse than others, for certain.
        sure |= np.isposinf(excess)
        sure &= ~np.isnan(excess)
        estimate = 1 + np.count_nonzero(values[:, None] > values[None, :], axis=1)
        lower, upper = 1 + sure.sum(axis=1), len(values) - sure.sum(axis=0)
        rows = zip(estimate.tolist(), lower.tolist(), upper.tolist(), strict=True)
        return {name: Rank(*row) for name, row in zip(self.models, rows, strict=True)}

    def _worse_up(self) -> np.ndarray[Any, Any]:
        """(M,) estimates, turned so that more is worse."""
        found = self._contributions
        return found.estimates if found.term.less_is_better else -found.estimates

    def _order(self) -> list[str]:
        """Return names, the best first."""
        names = list(self.models)
        return [names[i] for i in np.argsort(self._worse_up(), kind="stable")]

    def _table(self) -> list[tuple[str, ...]]:
        best, ranks = self.best_set(), self.ranks
        words = self._contributions.term.words
        rows: list[tuple[str, ...]] = [("", words, "rank", "ranks", "p (none better)", "")]
        for name in self._order():
            rank = ranks[name]
            rows.append(
                (
                    name,
                    f"{float(to_numpy(getattr(self.models[name], self.term))):.6g}",
                    f"{rank.estimate}",
                    f"[{rank.lower}, {rank.upper}]",
                    f"{self.best_pvalues[name]:.3g}",
                    "*" if name in best else "",
                )
            )
        return rows

    def _notes(self) -> list[str]:
        result = next(iter(self.models.values()))
        level = self.confidence_level
        differ = sum(each.familywise_pvalue <= 1 - level for each in self.pairs)
        return [
            f"* the best is among these, [ ] all ranks are, with {level:.0%} confidence each",
            f"{differ} of {len(self.pairs)} pairs differ (familywise p at most {1 - level:.2g})",
            f"n = {result.n_samples}{in_groups(result.n_groups)}, k = {result.n_classes}",
        ]

    def _of_pairs(self) -> list[str]:
        """Return a line for each pair, if there are few models."""
        if len(self.models) > _FEW:
            return []
        return [
            f"{each.first} less {each.second}: {each.difference:.6g} "
            f"[{each.simultaneous_interval[0]:.6g}, {each.simultaneous_interval[1]:.6g}], "
            f"p = {each.familywise_pvalue:.3g}"
            for each in self.pairs
        ]

    def _title(self) -> str:
        result = next(iter(self.models.values()))
        better = "less" if self._contributions.term.less_is_better else "more"
        return (
            f"{result.generator.name} loss, {result.notion} {self._contributions.term.words} of "
            f"{len(self.models)} models, {better} is better"
        )

    def __str__(self) -> str:
        table = self._table()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in table
        ]
        return "\n".join(
            [self._title(), *(f"  {x}" for x in (*lines, *self._of_pairs(), *self._notes()))]
        )

    def _page(self) -> Page:
        head, *rows = self._table()
        return Page(self._title(), rows, [*self._of_pairs(), *self._notes()], head)

    def to_xarray(self) -> xr.Dataset:
        """Return the comparison as a dataset.

        Returns
        -------
        xarray.Dataset
            Along "model": the term, by its name, ``rank``, ``rank_interval``, ``best_pvalue`` and
            ``in_best_set``. Along "pair", with coordinates ``first`` and ``second``:
            ``difference``, ``standard_error``, ``pvalue``, ``familywise_pvalue`` and
            ``simultaneous_interval``. The settings as attributes.
        """
        import xarray as xr

        ranks, best = self.ranks.values(), self.best_set()
        result = next(iter(self.models.values()))
        units = {"units": result.units} if result.units else {}

        def of_pairs(name: str) -> list[Any]:
            return [getattr(each, name) for each in self.pairs]

        return xr.Dataset(
            {
                self.term: ("model", self._contributions.estimates.copy(), units),
                "rank": ("model", [each.estimate for each in ranks]),
                "rank_interval": (("model", "bound"), [[x.lower, x.upper] for x in ranks]),
                "best_pvalue": ("model", list(self.best_pvalues.values())),
                "in_best_set": ("model", [name in best for name in self.models]),
                "difference": ("pair", of_pairs("difference"), units),
                "standard_error": ("pair", of_pairs("standard_error"), units),
                "pvalue": ("pair", of_pairs("pvalue")),
                "familywise_pvalue": ("pair", of_pairs("familywise_pvalue")),
                "simultaneous_interval": (
                    ("pair", "bound"),
                    [list(each.simultaneous_interval) for each in self.pairs],
                    units,
                ),
            },
            coords={
                "model": list(self.models),
                "pair": [f"{each.first} less {each.second}" for each in self.pairs],
                "first": ("pair", of_pairs("first")),
                "second": ("pair", of_pairs("second")),
                "bound": ["lower", "upper"],
            },
            attrs={"term": self.term, "n_resamples": self.n_resamples, **settings_of(result)},
        )


def model_comparison(
    models: Mapping[str, Decomposition],
    found: Contributions,
    joint: MaxT,
    confidence_level: float,
    n_resamples: int,
) -> ModelComparison:
    """Return the comparison of models in the order of their contributions."""
    names, results = list(models), list(models.values())
    critical = joint.critical_value(confidence_level)
    numbers = zip(combinations(range(len(names)), 2), joint.pair_pvalues, strict=True)
    pairs = tuple(
        difference_of(
            ModelPair,
            found,
            (results[i], results[j]),
            confidence_level,
            (i, j),
            float(joint.errors[i, j]),
            first=names[i],
            second=names[j],
            familywise_pvalue=float(pvalue),
            critical_value=critical,
        )
        for (i, j), pvalue in numbers
    )
    best = dict(zip(names, joint.best_pvalues.tolist(), strict=True))
    term = found.term.name
    return ModelComparison(models, term, pairs, best, confidence_level, n_resamples, found, joint)
