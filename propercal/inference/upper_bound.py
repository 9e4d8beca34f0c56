"""An upper bound of the calibration error for maps of bounded variation, at every n."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Unpack

import numpy as np
import numpy.typing as npt

from propercal._array import ignore_underflow, to_numpy
from propercal._data.dependence.repetitions import look_for_repetitions
from propercal._data.inputs.settings import check_confidence_level
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.notions import Notion, Problem, as_notion
from propercal._data.predictions.predictions import Predictions, Reading, validate
from propercal._data.words.messages import bad_value
from propercal.generators.base import BregmanGenerator
from propercal.generators.closed_form import Brier, Spherical
from propercal.generators.registry import GeneratorLike, as_generator

Floats = npt.NDArray[np.float64]

#: c of D_F ≤ c (r − g)² for pairs (1 − r, r) and (1 − g, g), half the largest curvature there.
_LARGEST_RATIO: dict[type[BregmanGenerator], float] = {Brier: 2.0, Spherical: math.sqrt(2)}


@ignore_underflow
@with_reading
def upper_bound(
    y_true: object,
    y_proba: object,
    *,
    variation: float,
    generator: GeneratorLike = "brier",
    notion: str | Notion = "canonical",
    confidence_level: float = 0.95,
    **reading: Unpack[Reading],
) -> float:
    r"""Bound the calibration error from above, for maps of bounded variation.

    An interval of :func:`propercal.decompose` covers what its recalibrations can follow. No upper
    limit holds for all maps g ↦ E[Y | g]. This one holds at every n, without any recalibration or
    limit theorem, if the difference

    .. math:: u(g) = \mathrm{E}[Y \mid g] - g, \qquad g \in [0, 1],

    moves up and down by `variation` at most in all: the sum of ``abs(u(x[j + 1]) - u(x[j]))`` is no
    more for any increasing x. It is far above the truth for a few hundred rows, and comes near it
    like n^−½.

    Parameters
    ----------
    y_true, y_proba, from_logits, labels
        As in :func:`propercal.decompose`.
    variation : float
        The total variation of u, known or supposed beforehand, not chosen by these labels. 0 says
        that predictions are off by the same amount everywhere; 2 is enough wherever E[Y | g]
        increases; a temperature that is off by at most a to either side of ½ has 4a at most.
        Class-wise, of every class.
    generator : str, BregmanGenerator, class or callable
        The convex function F: "brier", "spherical", and sums of these.
    notion : {"canonical", "classwise", "top-label"}
        Canonical for two classes alone: of more, predictions have more than one dimension.
    confidence_level : float
        Between 0 and 1.
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.
    sample_weight : array-like of shape (n,), optional
        0, for rows that are left out, and one other value.

    Returns
    -------
    float
        Bound of E D_F(E[Y | g], g).

    Raises
    ------
    ValueError
        If an argument cannot be used, the loss has no such bound (D_F of the log loss has none in
        terms of u), the predictions have several dimensions, or weights differ.

    Notes
    -----
    Rows are to be independent and alike. Sorted predictions are cut into blocks of about equal
    numbers, equal ones together. In each the mean residual is known up to Hoeffding's inequality,
    taken once for all blocks, and what u may do inside of a block costs variation. The least bound
    over partitions into 1, 2, 4, ... blocks is taken, at a level that allows for the choice. The
    theorem is in the book, "The law of the estimate, and its interval".

    References
    ----------
    "Measuring uncertainty calibration" (arXiv:2512.13872), for the idea of bounding an error in
    the mean of \|u\| by variation.

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> model = TemperatureScaledSimplex(2)
    >>> y_true, y_proba, _ = model.sample(20_000, random_state=0)
    >>> print(f"{upper_bound(y_true, y_proba, variation=0.5):.3f}")
    0.026
    >>> print(f"{model.truth('brier', 'canonical').value:.3f}")
    0.013
    """
    bound, ratio = _check_variation(variation), _ratio(as_generator(generator))
    reduction, level = as_notion(notion), check_confidence_level(confidence_level)
    predictions = validate(y_true, y_proba, **reading)
    _check_problems(predictions, reduction)
    predictions = look_for_repetitions(predictions)
    # Half of what may fail is for the labels, half for the rows that were drawn.
    error = (1 - level) / 2
    n_problems = reduction.n_problems(predictions.n_classes)
    parts = [
        Event.of(each).bound(bound, error / n_problems) for each in reduction.problems(predictions)
    ]
    return ratio * of_population(float(np.mean(parts)), predictions.n_samples, error)


def _check_variation(variation: object) -> float:
    bad = isinstance(variation, bool | np.bool_) or not isinstance(variation, Real)
    if bad or not 0 <= float(variation) < math.inf:  # type: ignore[arg-type]
        raise bad_value(
            "variation",
            repr(variation),
            "a finite number of at least 0, the total variation of E[Y | g] − g",
            "2 is enough wherever E[Y | g] increases",
        )
    return float(variation)  # type: ignore[arg-type]


def _ratio(generator: BregmanGenerator) -> float:
    """Return c of D_F ≤ c (r − g)², or raise where none is known."""
    terms = generator._terms()
    if any(type(f) not in _LARGEST_RATIO for _, f in terms):
        raise bad_value(
            "generator",
            repr(generator),
            "one whose divergence is at most a known multiple of (r − g)²: 'brier', 'spherical' "
            "or a sum of these",
            "the log loss has none, since its divergence is infinite near 0; use 'brier'",
        )
    return sum(weight * _LARGEST_RATIO[type(f)] for weight, f in terms)


def _check_problems(predictions: Predictions, notion: Notion) -> None:
    """Refuse predictions of several dimensions, and rows that are not alike."""
    if notion.n_outcomes(predictions.n_classes) > 2:
        raise bad_value(
            "notion",
            repr(notion.name),
            f"a notion of one dimension for {predictions.n_classes} classes, in which variation "
            "has a meaning",
            'use notion="top-label" or "classwise"',
        )
    if not predictions.uniform:
        raise bad_value(
            "sample_weight",
            "weights that differ",
            "equal ones, or 0: the bound is for rows that are alike",
            "leave the weights out, which bounds the error of the population that was sampled",
        )


@dataclass(frozen=True)
class Event:
    """Whether an event occurred, in the order of how probable it was said to be."""

    prob: Floats
    """(n,) predictions, increasing."""
    residual: Floats
    """(n,) y − g."""

    @classmethod
    def of(cls, problem: Problem) -> Event:
        """Return the event of a problem of two classes."""
        prob = to_numpy(problem.prob)[:, 1]
        order = np.argsort(prob, kind="stable")
        return cls(prob[order], (to_numpy(problem.label) - prob)[order])

    def bound(self, variation: float, error: float) -> float:
        """Return the bound of the mean u² over the rows, wrong with probability `error` at most."""
        largest = float(np.mean(np.maximum(self.prob, 1 - self.prob) ** 2))
        partitions = list(self._partitions())
        # Of all partitions together.
        reach = math.sqrt(math.log(len(partitions) / error) / 2)
        found = [self._of_blocks(each, variation, reach) for each in partitions]
        return min(largest, *found)

    def _partitions(self) -> Iterator[Sequence[int]]:
        """Yield the first rows of 1, 2, 4, ... blocks, up to 2√n or more, each partition once."""
        n, previous = len(self.prob), None
        for power in range(1 + math.ceil(math.log2(2 * math.sqrt(n)))):
            cuts = self.prob[np.arange(1, 2**power) * n // 2**power]
            starts = np.unique(np.append(0, np.searchsorted(self.prob, cuts))).tolist()
            if starts != previous:
                yield starts
            previous = starts

    def _of_blocks(self, starts: Sequence[int], variation: float, reach: float) -> float:
        size = np.diff([*starts, len(self.prob)])
        total = np.add.reduceat(self.residual, starts)
        seen = math.sqrt(float(np.sum(total**2 / size)))
        between = reach + math.hypot(reach, seen)
        ends = self.prob[np.cumsum(size) - 1]
        inside = most_inside(size, ends - self.prob[starts], variation)
        return (between**2 + inside) / len(self.prob)


def most_inside(size: npt.NDArray[np.intp], width: Floats, variation: float) -> float:
    """Return the most that Σ (u − mean of the block)² can be: u spends its variation on blocks.

    In a block of predictions that differ by `width` it moves by 1 + width at most, and in one of
    equal predictions not at all.
    """
    limit = np.where(width > 0, np.minimum(variation, 1 + width), 0.0)
    gain = size * limit
    order = np.argsort(-gain, kind="stable")
    before = np.cumsum(limit[order]) - limit[order]
    spent = np.clip(variation - before, 0.0, limit[order])
    return float(np.sum(gain[order] * spent)) / 4


def of_population(mean: float, n: int, error: float) -> float:
    """Return a bound of the mean of a number in [0, 1] from a bound of its mean over n rows."""
    half = math.log(1 / error) / (2 * n)
    return min(1.0, (math.sqrt(half) + math.sqrt(mean + half)) ** 2)
