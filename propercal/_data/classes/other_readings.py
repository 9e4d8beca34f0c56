"""Readings that no name decides, where predictions say that another one is meant: a warning.

Classes and columns of which one has no names are matched by a convention (columns stand in the
order of the numbers of classes, words in alphabetical order), or as a list or an ordered type says,
and rows of which one side alone has an index stand side by side
(:mod:`propercal._data.predictions.other_rows`). A reading is doubted where another makes what
occurred e⁷ times as probable or more, and in more rows than by chance. All columns that c classes
may have of k are compared, so that e⁷ is times k! / (k − c)!. Of columns, a model that is biased
for some classes is told from another order (:mod:`propercal._data.classes.biased_classes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma, log
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._data.classes.biased_classes import CHANCE, Columns, Marks
from propercal._data.inputs.reading import Names
from propercal._data.words.messages import some_names, warn

Floats = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]

#: Nats.
LEAST = 7.0
#: The least logarithm of a probability, so that no row decides by itself against all others.
FLOOR = -10.0
#: Classes whose orders are compared.
_MOST = 1000
#: Rows that tell enough of columns.
_ENOUGH = 20_000
#: Of all columns, numbers that are looked at.
_NUMBERS = 20_000_000


class Doubted(NamedTuple):
    """What is known of columns whose classes no name decides."""

    columns: Sequence[Any] | None
    """What they are called, if anything."""
    listed: bool = False
    """Whether the caller lists their classes."""
    marks: bool = False
    """Whether labels are columns too."""

    def fix(self, called: Names) -> str:
        """Say what to do."""
        if self.marks:
            return (
                f"Bring the columns of {called.labels} and {called.proba} into one order, or name "
                "those of both by their classes: DataFrame(..., columns=[...])."
            )
        if not self.listed:
            return "Pass labels=[...], the class of every column in order."
        return (
            "Pass labels=[...] in the order of the columns, or name these by their classes, which "
            f"are matched by name then: DataFrame({called.proba}, columns=[...])."
        )


def evidence(own: Floats, other: Floats, *, tried: float = 0.0) -> float:
    """Return how many nats more probable another reading is; 0 if that may be by chance.

    Parameters
    ----------
    own, other : arrays of shape (n,)
        Probabilities of what occurred, as it is read and as it may be meant.
    tried : float
        Logarithm of the number of readings that were compared.
    """
    gain = np.log(np.maximum(other, np.exp(FLOOR))) - np.log(np.maximum(own, np.exp(FLOOR)))
    return evidence_of(gain, tried=tried)


def evidence_of(gain: Floats, *, tried: float = 0.0) -> float:
    """Return the same of (n,) logarithms of how much more probable rows are."""
    better, worse = int(np.count_nonzero(gain > 0)), int(np.count_nonzero(gain < 0))
    return beyond_chance(float(gain.sum()), better, worse, tried=tried)


def beyond_chance(total: float, better: int, worse: int, *, tried: float) -> float:
    """Return so many nats, of rows that are better or worse in this reading, or 0, as above."""
    if not total >= LEAST + tried:
        return 0.0
    # Predictions that say nothing of the labels are as often better as worse.
    return total if _log_by_chance(better, worse) <= -LEAST - tried else 0.0


def _log_by_chance(better: int, worse: int) -> float:
    """Return the logarithm of the probability that so many of all are heads of a fair coin."""
    from scipy.special import bdtrc

    exact = float(bdtrc(better - 1, better + worse, 0.5))
    if exact > 0:
        return log(exact)
    # Chernoff's bound, of what floating point has no number for.
    n = better + worse
    return -sum(part * log(2 * part / n) for part in (better, worse) if part)


def some_rows_of(n: int, k: int) -> npt.NDArray[np.intp] | None:
    """Return as many rows of n as tell enough of k columns; None for all."""
    most = min(_ENOUGH, _NUMBERS // k)
    if n <= most:
        return None
    # Rows at equal distances may be of one class.
    return np.random.default_rng(0).choice(n, most, replace=False, shuffle=False)


def doubt_columns(
    log_prob: Floats, label: Integers, doubted: Doubted, classes: Sequence[Any], called: Names
) -> bool:
    """Warn, and tell, where columns that no label names are rather those of another order."""
    occurring, number = np.unique(label, return_inverse=True)
    k = log_prob.shape[1]
    if len(occurring) > _MOST:
        return False
    # A column that no row is of the class of may be one of those that are, or of no class.
    columns = np.arange(k) if k <= _MOST else occurring
    fit = _fit(log_prob, np.argsort(number, kind="stable"), np.bincount(number), columns)
    places = best_order(fit, np.searchsorted(columns, occurring))
    if places is None:
        return False
    rows, tried = np.arange(len(label)), log_orders(len(columns), len(occurring))
    order = np.arange(k)
    order[columns] = columns[places]
    own, other = (np.exp(log_prob[rows, each]) for each in (label, order[label]))
    nats = evidence(own, other, tried=tried)
    if nats:
        some, moved = involved(order, occurring)
        counts = np.bincount(label, minlength=k)[some]
        sums = Columns.of(np.maximum(log_prob[:, some], FLOOR), counts)
        nats = beyond_bias(nats, sums, moved, tried=tried)
    return warn_of_columns(nats, order, classes, doubted, called)


def doubt_marks(
    logits: Floats,
    marks: npt.NDArray[np.bool_],
    doubted: Doubted,
    classes: Sequence[Any],
    called: Names,
) -> bool:
    """Warn, and tell, where separate columns (n, k) are rather those of classes in another order.

    What differs is Σ_j y_j l_σ(j), with logits l.
    """
    k = logits.shape[1]
    order = best_order(marks.T.astype(logits.dtype) @ logits, np.arange(k)) if k <= _MOST else None
    if order is None:
        return False
    tried = log_orders(k, k)
    gain = np.where(marks, logits[:, order] - logits, 0.0).sum(axis=1)
    nats = evidence_of(gain, tried=tried)
    if nats:
        nats = beyond_bias(nats, Marks.of(logits, marks), order, tried=tried)
    return warn_of_columns(nats, order, classes, doubted, called)


def best_order(fit: Floats | Integers, own: Integers) -> Integers | None:
    """Return the place of the column of each class in the best order; None for that there is.

    `fit` (c, k) has what classes say of columns, and `own` (c,) the columns that they are read in.
    Others stay where they are, or come in the order of the places that are left.
    """
    if (fit[np.arange(len(own)), own] >= fit.max(axis=1)).all():
        return None
    from scipy.optimize import linear_sum_assignment

    order = np.full(fit.shape[1], -1)
    order[own] = linear_sum_assignment(fit, maximize=True)[1]
    left = np.setdiff1d(np.arange(len(order)), order)
    stay = left[order[left] < 0]
    order[stay] = stay
    order[order < 0] = np.setdiff1d(left, stay)
    return order


def log_orders(k: int, c: int) -> float:
    """Return the logarithm of the number of ways in which c classes may have k columns."""
    return lgamma(k + 1) - lgamma(k - c + 1)


def involved(order: Integers, occurring: Integers) -> tuple[Integers, Integers]:
    """Return columns that classes have in either order, and the places of theirs in the other."""
    some = np.union1d(occurring, np.flatnonzero(order != np.arange(len(order))))
    return some, np.searchsorted(some, order[some])


def beyond_bias(
    nats: float, sums: Columns | Marks, order: npt.NDArray[np.intp], *, tried: float = 0.0
) -> float:
    """Return so many nats of columns in another order, or 0 if predictions may just be biased."""
    net = nats - sums.explained(order)
    return nats if net >= LEAST + tried or sums.standardised(order, nats) >= CHANCE else 0.0


def warn_of_columns(
    nats: float,
    order: npt.NDArray[np.intp],
    classes: Sequence[Any],
    doubted: Doubted,
    called: Names,
) -> bool:
    """Say, and tell, that columns are rather those of the classes in this order, if they are."""
    if nats:
        meant = [classes[i] for i in np.argsort(order)]
        columns = doubted.columns
        read = f"columns {some_names(columns)}" if columns is not None else "columns"
        warn(
            f"{called.proba} has {read}, read as those of the classes {some_names(classes)}, in "
            f"this order, though by {called.proba} labels are e^{nats:.0f} times as probable if it "
            f"is {some_names(meant)}. {doubted.fix(called)}"
        )
    return bool(nats)


def _fit(
    log_prob: Floats, rows: npt.NDArray[np.intp], counts: npt.NDArray[np.intp], columns: Integers
) -> Floats:
    """(c, m) sums over rows of each class, which follow each other, of log p of these columns."""
    found = np.empty((len(counts), len(columns)))
    for i, own in enumerate(np.split(rows, np.cumsum(counts)[:-1])):
        every = len(columns) == log_prob.shape[1]
        values = log_prob[own] if every else log_prob[np.ix_(own, columns)]
        found[i] = np.maximum(values, FLOOR).sum(axis=0)
    return found


def doubt_class(
    prob: Floats,
    occurred: npt.NDArray[np.bool_],
    classes: tuple[Any, ...],
    name: Any,
    called: Names,
) -> bool:
    """Warn, and tell, where one column, of class 1 by convention, is rather of the other class.

    Of predictions that are only too large or too small it is not, which rise with what occurs.
    """
    if occurred.all() or not occurred.any():
        return False
    nats = evidence(np.where(occurred, prob, 1 - prob), np.where(occurred, 1 - prob, prob))
    if nats:
        log_prob = np.log(np.maximum(np.stack([1 - prob, prob], axis=1), np.exp(FLOOR)))
        nats = unlike(nats, Columns.of(log_prob, np.bincount(occurred, minlength=2)))
    return warn_of_class(nats, classes, name, called)


def unlike(nats: float, sums: Columns) -> float:
    """Return so many nats of one column, or 0 unless it falls with what occurs."""
    return nats if sums.standardised(np.array([1, 0]), nats) >= CHANCE else 0.0


def warn_of_class(nats: float, classes: Sequence[Any], name: Any, called: Names) -> bool:
    """Say, and tell, that one column is rather that of the other class of two, if it is."""
    if nats:
        read = "one column" if name is None else f"one column, {name!r}"
        warn(
            f"{called.proba} is {read}, read as the probability of {classes[1]!r}, though by "
            f"{called.proba} labels are e^{nats:.0f} times as probable if it is that of "
            f"{classes[0]!r}. Pass pos_label=..., the class that it is the probability of."
        )
    return bool(nats)
