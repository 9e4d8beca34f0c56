r"""A test of every group at once, on label sets that they share.

Each group has the statistic of :func:`propercal.calibration_test` on its own rows, T_g. All are
evaluated on the same B + 1 sets of labels of all rows, so that their joint law is drawn too,
whatever rows they share. They are brought to one scale, the median and the 95 % quantile of each
over the sets, and adjusted by step-down maxima (Westfall & Young 1993): the largest against the
largest of all groups, the next against the largest of those left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from propercal._array import is_numpy, no_gradient, slices, take_rows, to_numpy
from propercal._data.dependence.groups import check_number
from propercal._data.predictions.class_weights import class_weights
from propercal._data.predictions.notions import Notion
from propercal._data.predictions.predictions import Predictions
from propercal._data.predictions.subsets import subset
from propercal._data.words.messages import warn
from propercal._results.forms import Result
from propercal._results.pages import Page
from propercal._threads import map_threads, one_blas_thread
from propercal.generators.base import BregmanGenerator
from propercal.inference.calibration_test import ROUNDING, impossible_rows, standardised
from propercal.inference.draws import Draw, draws
from propercal.inference.label_sets import LabelSets
from propercal.inference.signs import forms_of_signs, signs_of_groups

if TYPE_CHECKING:
    import xarray as xr

Floats = npt.NDArray[np.float64]
Rows = tuple[npt.NDArray[np.intp], ...]

#: Label sets that are made at a time.
_SETS = 64
_SCALE = (0.5, 0.95)


@dataclass(frozen=True, eq=False)
class WorstGroupTest(Result):
    """Whether any group is miscalibrated, and which.

    Attributes
    ----------
    pvalue : float
        Of the hypothesis that the predictions are calibrated in every group: the least of
        `adjusted`. Exact at every n as that of :func:`propercal.calibration_test` is, labels being
        drawn from the predictions whatever groups their rows are in.
    worst : object
        Name of the group of the smallest adjusted p-value.
    adjusted : mapping of name to float
        p-values adjusted for the number of groups: any of those up to α is of a calibrated group
        with a probability of at most α, whichever groups are calibrated, and however they overlap.
        A group is calibrated here if the labels of its rows are drawn from their predictions
        whatever other groups these are in. One that is so only on average, its parts in other
        groups being off in opposite ways, may be named more often.
    pvalues : mapping of name to float
        Those of each group by itself, as if it were the only one. These times the number of groups
        hold for groups that are calibrated on average, too, whatever they share.
    n_resamples : int
        Label sets that were drawn.
    """

    pvalue: float
    worst: Any
    adjusted: Mapping[Any, float]
    pvalues: Mapping[Any, float]
    n_resamples: int

    _along: ClassVar[str | None] = "group"

    def to_xarray(self) -> xr.Dataset:
        """Return the p-values.

        Returns
        -------
        xarray.Dataset
            ``pvalue``; along "group" ``adjusted`` and ``pvalues``; ``n_resamples`` and ``worst`` as
            attributes.
        """
        import xarray as xr

        return xr.Dataset(
            {
                "pvalue": ((), self.pvalue),
                "adjusted": ("group", list(self.adjusted.values())),
                "pvalues": ("group", [self.pvalues[name] for name in self.adjusted]),
            },
            {"group": [str(name) for name in self.adjusted]},
            {"n_resamples": self.n_resamples, "worst": str(self.worst)},
        )

    def __str__(self) -> str:
        rows = [f"  {name}: adjusted p = {p:.3g}" for name, p in self.adjusted.items()]
        return "\n".join([self._title(), *rows])

    def _title(self) -> str:
        return f"test of every group: p = {self.pvalue:.3g}, worst: {self.worst}"

    def _page(self) -> Page:
        rows = [
            (str(name), f"{self.adjusted[name]:.3g}", f"{self.pvalues[name]:.3g}")
            for name in self.adjusted
        ]
        notes = [f"{self.n_resamples} resamples"]
        return Page(self._title(), rows, notes, ("group", "adjusted p", "p alone"))


def worst_group_test(
    predictions: Predictions,
    names: tuple[Any, ...],
    rows: Rows,
    notion: Notion,
    generator: BregmanGenerator,
    n_resamples: int,
    rng: np.random.Generator,
) -> WorstGroupTest:
    """Test the groups of rows."""
    with no_gradient(predictions.prob), one_blas_thread:
        forms = _forms(predictions, rows, notion, generator, n_resamples, rng)
        impossible = impossible_rows(predictions, notion)
    statistics = np.stack([standardised(each, each).max(axis=0) for each in forms])
    broken = [bool(impossible[each].any()) for each in rows]
    if any(broken):
        warn(
            f"an outcome of predicted probability 0 occurred in {sum(broken)} of {len(rows)} "
            "groups: calibrated predictions cannot do that, so their p-values are the smallest "
            "that the number of resamples allows."
        )
    scaled = _on_one_scale(statistics)
    # Not before, since few sets have an infinite quantile then.
    statistics[broken, 0] = scaled[broken, 0] = np.inf
    sizes = n_resamples + 1
    alone = [float(np.sum(each >= each[0] - ROUNDING)) / sizes for each in statistics]
    adjusted = _step_down(scaled)
    first = int(np.lexsort((np.array(alone), adjusted))[0])
    return WorstGroupTest(
        float(adjusted.min()),
        names[first],
        dict(zip(names, adjusted.tolist(), strict=True)),
        dict(zip(names, alone, strict=True)),
        n_resamples,
    )


def _on_one_scale(statistics: Floats) -> Floats:
    """Bring each row to a median of 0 and a 95 % quantile of 1: the same for every set."""
    middle, high = np.quantile(statistics, _SCALE, axis=1, method="inverted_cdf")
    # Of few sets the quantile is the observed one, which may be infinite.
    spread = np.where((high > middle) & np.isfinite(high), high - middle, 1.0)
    return np.asarray((statistics - middle[:, None]) / spread[:, None])


def _step_down(statistics: Floats) -> Floats:
    """Adjust each row, whose first column is observed, for all that are no larger."""
    order = np.argsort(-statistics[:, 0], kind="stable")
    # The largest of each set among the groups from some place on.
    largest = np.maximum.accumulate(statistics[order][::-1], axis=0)[::-1]
    observed = statistics[order, 0]
    found = (largest >= observed[:, None] - ROUNDING).mean(axis=1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(found)
    return adjusted


def _forms(
    predictions: Predictions,
    rows: Rows,
    notion: Notion,
    generator: BregmanGenerator,
    n_resamples: int,
    rng: np.random.Generator,
) -> list[Floats]:
    """Return the forms (names, 1 + B) of each group."""
    parts = [subset(predictions, each) for each in rows]
    # The features of a group depend on no other.
    seed = int(rng.integers(2**63))
    if predictions.groups is not None:
        check_number(predictions.n_groups, "this test", predictions.grouped_by)
        signs = signs_of_groups(int(predictions.groups.max()) + 1, n_resamples, rng)
        numbers = [np.unique(predictions.groups[each]) for each in rows]
        return [
            forms_of_signs(part, notion, generator, signs[:, own], np.random.default_rng(seed))[1]
            for part, own in zip(parts, numbers, strict=True)
        ]
    weights = class_weights(predictions)
    own_weights = [
        None if weights is None else weights._replace(prob=take_rows(weights.prob, each))
        for each in rows
    ]
    whole = draws(predictions, notion, generator, np.random.default_rng(seed), weights)
    of_parts = [
        draws(part, notion, generator, np.random.default_rng(seed), own)
        for part, own in zip(parts, own_weights, strict=True)
    ]
    total: list[Any] = [0.0] * len(rows)
    for draw, *others in zip(whole, *of_parts, strict=True):
        sets = LabelSets(to_numpy(draw.prob), to_numpy(draw.label), n_resamples, rng)
        for i, found in enumerate(_on_shared_sets(sets, others, rows)):
            total[i] = total[i] + found
    return total


def _on_shared_sets(sets: LabelSets, groups: list[Draw], rows: Rows) -> list[Floats]:
    """Return the forms of each group on all sets."""
    step = min(_SETS, *(each.most for each in groups))

    def one_block(block: slice) -> list[Floats]:
        label = sets.classes(block)
        return [
            to_numpy(group.evaluate(label[:, own])) for group, own in zip(groups, rows, strict=True)
        ]

    blocks = slices(len(sets), step)
    in_threads = is_numpy(groups[0].prob)
    found = list(map_threads(one_block, blocks) if in_threads else map(one_block, blocks))
    return [np.concatenate(each, axis=1) for each in zip(*found, strict=True)]
