"""Readings that no name decides, where predictions say that another one is meant: a warning.

Classes and columns of which one has no names are matched by a convention (columns stand in the
order of the numbers of classes, words in alphabetical order), and so are rows of which one side
alone has an index. A reading is doubted where another makes what occurred e⁷ times as probable or
more, and in more rows than by chance. All orders of k columns are compared, so that e⁷ is times k!.
Of columns, a model that is biased for some classes is told from another order
(:mod:`propercal._data.biased_classes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma, log
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.biased_classes import CHANCE, Columns
from propercal._data.holders import Held
from propercal._data.messages import some_names, warn
from propercal._data.reading import Names
from propercal._data.rows import some_of

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
    log_prob: Floats, label: Integers, classes: tuple[Any, ...], columns: Any, called: Names
) -> None:
    """Warn where columns that no label names are rather those of the classes in another order."""
    # What does not occur may be any of the other columns, and more than classes.
    occurring, number = np.unique(label, return_inverse=True)
    if len(occurring) > _MOST:
        return
    fit = _fit(log_prob, np.argsort(number, kind="stable"), np.bincount(number), occurring)
    if (fit.diagonal() >= fit.max(axis=1)).all():
        return
    from scipy.optimize import linear_sum_assignment

    order, rows = np.arange(log_prob.shape[1]), np.arange(len(label))
    order[occurring] = occurring[linear_sum_assignment(fit, maximize=True)[1]]
    own, other = (np.exp(log_prob[rows, each]) for each in (label, order[label]))
    tried = lgamma(len(occurring) + 1)
    nats = evidence(own, other, tried=tried)
    if nats:
        sums = Columns.of(np.maximum(log_prob[:, occurring], FLOOR), np.bincount(number))
        nats = beyond_bias(nats, sums, np.searchsorted(occurring, order[occurring]), tried=tried)
    warn_of_columns(nats, order, classes, columns, called)


def beyond_bias(
    nats: float, sums: Columns, order: npt.NDArray[np.intp], *, tried: float = 0.0
) -> float:
    """Return so many nats of columns in another order, or 0 if predictions may just be biased."""
    net = nats - sums.explained(order)
    return nats if net >= LEAST + tried or sums.standardised(order, nats) >= CHANCE else 0.0


def warn_of_columns(
    nats: float, order: npt.NDArray[np.intp], classes: Sequence[Any], columns: Any, called: Names
) -> bool:
    """Say, and tell, that columns are rather those of the classes in this order, if they are."""
    if nats:
        meant = [classes[i] for i in np.argsort(order)]
        read = f"columns {some_names(columns)}" if columns is not None else "columns"
        warn(
            f"{called.proba} has {read}, read as those of the classes {some_names(classes)}, in "
            f"this order, though by {called.proba} labels are e^{nats:.0f} times as probable if it "
            f"is {some_names(meant)}. Pass labels=[...], the class of every column in order."
        )
    return bool(nats)


def _fit(
    log_prob: Floats, rows: npt.NDArray[np.intp], counts: npt.NDArray[np.intp], columns: Integers
) -> Floats:
    """(c, c) sums over rows of each class, which follow each other, of log p of these columns."""
    found = np.empty((len(counts), len(counts)))
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
) -> None:
    """Warn where one column, of class 1 by convention, is rather that of the other class.

    Of predictions that are only too large or too small it is not, which rise with what occurs.
    """
    if occurred.all() or not occurred.any():
        return
    nats = evidence(np.where(occurred, prob, 1 - prob), np.where(occurred, 1 - prob, prob))
    if nats:
        log_prob = np.log(np.maximum(np.stack([1 - prob, prob], axis=1), np.exp(FLOOR)))
        nats = unlike(nats, Columns.of(log_prob, np.bincount(occurred, minlength=2)))
    warn_of_class(nats, classes, name, called)


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


def doubt_rows(prob: Floats, label: Integers, labels: Held, proba: Held, called: Names) -> None:
    """Warn where rows of which one side has an index are rather in the order of that."""
    index = labels.rows if proba.rows is None else proba.rows
    if (labels.rows is None) == (proba.rows is None) or index.nlevels > 1:
        return
    try:
        if len(index) != len(label) or index.is_monotonic_increasing or not index.is_unique:
            return
        order = np.asarray(index.argsort())
    except (TypeError, ArithmeticError):
        # Values that have no order, as a Decimal NaN, or are not hashable.
        return
    other = label[order] if proba.rows is None else label[np.argsort(order)]
    rows = np.arange(len(label))
    nats = evidence(prob[rows, label], prob[rows, other])
    if nats:
        mine, its = called.labels, called.proba
        mine, its = (mine, its) if proba.rows is None else (its, mine)
        warn(
            f"{mine} has the index {some_of(index)}, and {its} has none: rows were read side by "
            f"side, though by {called.proba} labels are e^{nats:.0f} times as probable if {mine} "
            f"is sorted by its index. Call .sort_index() on it, or pass .to_numpy() of it if rows "
            "stand side by side."
        )
