r"""Whether refinements differ by more than what one model tells beyond the other.

With r_b = E[Y | g_b], and a model a that adds nothing to b,

.. math:: \mathrm{refinement}_a - \mathrm{refinement}_b = E\, D_F(r_b, E[r_b \mid g_a])
    \le E\, D_F(r_b, m(g_a))

for any function m: where the recalibrated predictions of one model follow from the predictions of
the other, both have the same refinement, however well recalibrations of the other do. What these do
not follow makes its refinement look larger, and its calibration error smaller, than they are. No
label takes part in the bound, so that it is far less uncertain than the refinements.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.predictions.notions import Notion
from propercal._data.predictions.predictions import Predictions
from propercal._data.words.messages import warn
from propercal._methods.terms import Terms
from propercal._results.student import two_sided
from propercal.generators.base import BregmanGenerator
from propercal.inference.contributions import same_labels
from propercal.inference.differences import PairedDifference
from propercal.recalibration.points import LOG_FLOOR, softmax

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

#: Rows that are looked at. The effort grows with their third power, and no label has to be averaged
#: over.
_ROWS = 600
#: Widths of the kernel, in units of the median distance, and ridges, of which the best are taken.
_WIDTHS = 2.0, 0.7, 0.2, 0.07, 0.02
_RIDGES = 1e-6, 1e-4, 1e-2, 1.0
#: What functions that are linear, or constant, have beside the others.
_LINEAR, _CONSTANT = 10.0, 0.1


class Compared(NamedTuple):
    """One of the models that are compared."""

    name: str
    predictions: Predictions
    terms: Terms


def warn_of_refinements(
    found: PairedDifference, models: tuple[Compared, Compared], notion: Notion, pvalue: float
) -> None:
    """Say so if a difference is one of refinements that predictions do not bear out.

    `pvalue` is that of the difference, which may be adjusted for others.
    """
    level = 1 - found.confidence_level
    apart = float(to_numpy(found.a.refinement)) - float(to_numpy(found.b.refinement))
    if not pvalue <= level or found.term == "risk" or not math.isfinite(apart):
        return
    if _pvalue(found, apart, 0.0) <= level:
        return
    worse, better = models if apart > 0 else models[::-1]
    bound = told_beyond(found.a.generator, worse, better, notion)
    allowed = _pvalue(found, apart, bound)
    if allowed > level:
        term = found.term.replace("_", " ")
        warn(
            f"the difference of the {found.a.generator.name} {term}, {found.difference:.3g} "
            f"(p = {pvalue:.2g}), rests on refinements that are {abs(apart):.3g} apart, though "
            f"the recalibrated predictions of {better.name} follow from {worse.name} but for "
            f"{bound:.3g}: a shape that the recalibrations of {worse.name} do not follow is "
            f"likely to be the reason. With refinements no further apart p = {allowed:.2g}. Pass a "
            "recalibrator that fits these predictions, or more data."
        )


def _pvalue(found: PairedDifference, apart: float, bound: float) -> float:
    """Return the p-value of a difference if refinements are at most `bound` apart."""
    change = math.copysign(min(abs(apart), bound), apart) - apart
    sign = 1.0 if found.term == "refinement" else -1.0
    difference = found.difference + sign * change
    if difference * found.difference < 0:
        return 1.0
    return two_sided(difference, found.standard_error, found.degrees_of_freedom)


def told_beyond(
    generator: BregmanGenerator, known: Compared, other: Compared, notion: Notion
) -> float:
    """Return what the recalibrated predictions of one model tell beyond another's predictions.

    Infinite where it is not known: where they are not kept, or models are asked different things.
    """
    recalibrated = None if other.terms.kept is None else other.terms.kept.recalibrated
    if recalibrated is None or not same_labels([known.terms, other.terms]):
        return math.inf
    rows = _some_rows(known.predictions)
    weight = to_numpy(known.predictions.weight)[rows]
    if len(rows) < 3 or not weight.any():
        return math.inf
    told = []
    for prob, target in _problems(known.predictions, to_numpy(recalibrated), notion, rows):
        guess = softmax(_from_others(prob, _contrasts(target)))
        rest = to_numpy(generator.divergence(target, guess))
        told.append(float(weight @ rest) / float(weight.sum()))
    return max(0.0, float(np.mean(told)))


def _some_rows(predictions: Predictions) -> Rows:
    """Return numbers of rows, of which none repeats another one: one of each group."""
    every = np.arange(predictions.n_samples)
    if predictions.groups is not None:
        every = np.unique(predictions.groups, return_index=True)[1]
    step = max(1.0, len(every) / _ROWS)
    return np.asarray(every[np.arange(0, len(every), step).astype(np.int64)])


def _problems(
    predictions: Predictions, recalibrated: Floats, notion: Notion, rows: Rows
) -> Iterator[tuple[Floats, Floats]]:
    """Yield predictions and recalibrated ones (m, k) of each problem."""
    for i, problem in enumerate(notion.again(predictions)):
        prob = to_numpy(problem.prob)[rows]
        if problem.is_event:
            event = recalibrated[rows] if recalibrated.ndim == 1 else recalibrated[rows, i]
            yield prob, np.stack([1 - event, event], axis=1)
        else:
            yield prob, recalibrated[rows]


def _contrasts(prob: Floats) -> Floats:
    """(m, k) logarithms less their mean."""
    with np.errstate(divide="ignore"):
        log_prob = np.maximum(np.log(prob), LOG_FLOOR)
    return np.asarray(log_prob - log_prob.mean(axis=1, keepdims=True))


def _from_others(prob: Floats, target: Floats) -> Floats:
    """(m, k) the target of each row, as that of all others says, by kernel ridge regression."""
    if prob.shape[1] == 2:
        # Between as many ranks a function of any scale can be seen.
        order = np.argsort(prob[:, 1], kind="stable")
        found = np.empty_like(target)
        found[order] = _best(_forms_of_ranks(len(order)), target[order])
        return found
    # What classes have together is a sum of probabilities, not of their logarithms.
    at = np.concatenate([_unit(_contrasts(prob)), _unit(prob)], axis=1)
    return _best(_forms(at), target)


def _unit(values: Floats) -> Floats:
    """(m, k) values around their mean, of which rows have the mean square length 1."""
    centred = values - values.mean(axis=0)
    size = math.sqrt(float(np.sum(centred**2)) / len(centred))
    return np.asarray(centred / size if size > 0 else centred)


@lru_cache(maxsize=1)
def _forms_of_ranks(n: int) -> Sequence[tuple[Floats, Floats]]:
    """Return those of evenly spaced places: the same for problems of the same rows."""
    return _forms(np.linspace(0, 1, n)[:, None])


def _forms(at: Floats) -> Sequence[tuple[Floats, Floats]]:
    """Return eigenvalues and eigenvectors of the kernel of each width."""
    centred = at - at.mean(axis=0)
    inner = centred @ centred.T
    norms = np.diag(inner)
    squares = np.maximum(norms[:, None] + norms - 2 * inner, 0.0)
    typical = float(np.median(squares[squares > 0])) if squares.any() else 1.0
    linear = _LINEAR * inner / max(float(norms.mean()), np.finfo(float).tiny) + _CONSTANT
    found = (
        np.linalg.eigh(np.exp(-squares / (2 * width**2 * typical)) + linear) for width in _WIDTHS
    )
    return [(each.eigenvalues, each.eigenvectors) for each in found]


def _best(forms: Sequence[tuple[Floats, Floats]], target: Floats) -> Floats:
    """(m, k) what the others say under the width and ridge that tell most."""
    mean = target.mean(axis=0)
    values = target - mean
    best, least = np.zeros_like(values), math.inf
    for roots, vectors in forms:
        turned, squares = vectors.T @ values, vectors**2
        for ridge in _RIDGES:
            share = np.maximum(roots, 0.0)
            share = share / (share + ridge)
            own = (squares @ share)[:, None]
            found = (vectors @ (share[:, None] * turned) - own * values) / np.maximum(1 - own, 1e-9)
            error = float(np.sum((found - values) ** 2))
            if error < least:
                best, least = found, error
    return np.asarray(best + mean)
