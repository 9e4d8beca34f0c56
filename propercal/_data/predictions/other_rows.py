"""Rows of which one side alone has an index: whether they are rather in the order of that.

They stand side by side, unless predictions say that they are to be sorted by the index, by one of
its levels or by a coordinate: as pandas sorts values; by the numbers in texts, so that row_9 comes
before row_10; or by the times that texts are. Or in the order of weights or groups that are matched
with the index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from math import log
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.classes.labels import Classes
from propercal._data.classes.other_readings import FLOOR, beyond_chance, evidence_of
from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import Names
from propercal._data.rows.indexes import some_of
from propercal._data.rows.times import times_of
from propercal._data.words.messages import warn

Floats = npt.NDArray[np.floating[Any]]
Order = npt.NDArray[np.intp]

#: Texts that are taken apart.
_MOST_TEXTS = 1_000_000


class Sorted(NamedTuple):
    """An order that an index says."""

    order: Order
    """Where each row of it was."""
    what: str
    """How rows are sorted, in words."""
    how: str
    """What to do."""
    index: Any


def have_index_of_one(labels: Held, proba: Held) -> bool:
    """Tell whether labels or predictions alone say which row is which."""
    return _says(labels) != _says(proba)


def _says(held: Held) -> bool:
    return held.rows is not None or bool(held.others)


def doubt_rows(
    both: tuple[Any, Any],
    classes: Classes,
    used: npt.NDArray[np.bool_] | None,
    sides: tuple[Held, Held, Held | None],
    called: Names,
) -> bool:
    """Warn, and tell, where rows of which one side has an index are rather in the order of that.

    `both` are the logarithms of predictions, and, of columns that are separate, those of what is
    left of 1; `sides` are labels, predictions, and weights or groups.
    """
    values = [np.maximum(to_numpy(each), FLOOR) for each in both if each is not None]

    def nats_of(rows: Order, labels: Order, tried: float) -> float:
        if used is not None:
            both_used = used[rows] & used[labels]
            rows, labels = rows[both_used], labels[both_used]
        own = _log_likelihood(values, classes, rows, rows)
        return evidence_of(_log_likelihood(values, classes, rows, labels) - own, tried=tried)

    return warn_of_order(sides, len(both[0]), nats_of, called, "labels are")


def doubt_outcomes(
    members: Floats, outcome: Floats, sides: tuple[Held, Held, Held | None], called: Names
) -> bool:
    """Warn, and tell, as above of outcomes, by their distance from the mean of members (n, m).

    Of a normal distribution of any one spread, n / 2 times the logarithm of the ratio of both sums
    of squares is by how many nats outcomes are more probable in another order.
    """
    centre = members.mean(axis=1)

    def nats_of(rows: Order, outcomes: Order, tried: float) -> float:
        other, own = (np.abs(centre[rows] - outcome[each]) for each in (outcomes, rows))
        fit = np.isfinite(other) & np.isfinite(own)
        squares = float((own[fit] ** 2).sum()), float((other[fit] ** 2).sum())
        if 0 in squares:
            return 0.0
        better, worse = int((other < own).sum()), int((other > own).sum())
        total = len(own[fit]) / 2 * log(squares[0] / squares[1])
        return beyond_chance(total, better, worse, tried=tried)

    return warn_of_order(sides, len(centre), nats_of, called, "outcomes are")


def warn_of_order(
    sides: tuple[Held, Held, Held | None],
    n: int,
    nats_of: Callable[[Order, Order, float], float],
    called: Names,
    what: str,
) -> bool:
    """Warn, and tell, where `nats_of` predictions and labels says that an index sorts rows."""
    labels, proba, weight = sides
    held, other = (labels, called.proba) if _says(labels) else (proba, called.labels)
    orders = [*orders_of(held), *_order_of(weight, held, other, called)]
    found = [each for each in orders if len(each.order) == n]
    if not found:
        return False
    in_place, tried = np.arange(n), log(len(found))
    pairs = [(x.order, in_place) if held is proba else (in_place, x.order) for x in found]
    evidence = [nats_of(rows, others, tried) for rows, others in pairs]
    nats, best = max(zip(evidence, found, strict=True), key=lambda pair: pair[0])
    if nats:
        mine, its = called.proba, called.labels
        mine, its = (mine, its) if held is proba else (its, mine)
        warn(
            f"{mine} has the index {some_of(best.index)}, and {its} has none: rows were read side "
            f"by side, though by {called.proba} {what} e^{nats:.0f} times as probable if "
            f"{mine} is {best.what}. {best.how}."
        )
    return bool(nats)


def _order_of(weight: Held | None, held: Held, other: str, called: Names) -> list[Sorted]:
    """Return the order that weights were given in, if it is another one than that of the index."""
    if weight is None or weight.places is None:
        return []
    argument = called.labels if other == called.proba else called.proba
    how = f"Give {other} the index of its rows, be it that of {argument} or of {called.weight}"
    return [Sorted(np.argsort(weight.places), f"in the order of {called.weight}", how, held.rows)]


def _log_likelihood(values: list[Floats], classes: Classes, rows: Order, labels: Order) -> Floats:
    """Return the logarithm of the probability of some labels by predictions of some rows."""
    if classes.codes is not None:
        found: Floats = values[0][rows, classes.codes[labels]]
        return found
    assert classes.indicator is not None  # noqa: S101
    log_prob, log_rest = values
    marked = np.where(classes.indicator[labels], log_prob[rows], log_rest[rows])
    return np.asarray(marked.sum(axis=1))


def orders_of(held: Held) -> list[Sorted]:
    """Return each other order of rows that an index, or coordinates of other names, may say."""
    found: list[Sorted] = []
    for what, how, index in _parts_of(held):
        for order, by, fix in _orders_of(index, what, how):
            known = [np.arange(len(order)), *(each.order for each in found)]
            if not any(np.array_equal(order, each) for each in known):
                fix += ", or pass .to_numpy() of it if rows stand side by side"
                found.append(Sorted(order, f"sorted by {by}", fix, index))
    return found


def _parts_of(held: Held) -> Iterator[tuple[str, str, Any]]:
    """Yield each index of one level, what it is called, and how rows are sorted by it."""
    index = held.rows
    if index is not None and index.nlevels == 1:
        yield "its index", "Call .sort_index() on it", index
    elif index is not None:
        yield "its index", "Call .sort_index() on it", index
        for i, name in enumerate(index.names):
            level = i if name is None else name
            how = f"Call .sort_index(level={level!r}) on it"
            yield f"level {level!r} of its index", how, index.get_level_values(i)
    for name, each in held.others.items():
        yield f"the coordinate {name!r}", f"Call .sortby({name!r}) on it", each


def _orders_of(index: Any, what: str, how: str) -> Iterator[tuple[Order, str, str]]:
    try:
        if not index.is_monotonic_increasing:
            # Of several levels pandas has no stable sort.
            several = index.nlevels > 1
            order = np.asarray(index.argsort() if several else index.argsort(kind="stable"))
            yield order, what, how if index.is_unique else how.replace("()", '(kind="stable")')
    except (TypeError, ArithmeticError):
        # Values that have no order, as a Decimal NaN, or are not hashable.
        return
    if index.inferred_type != "string" or len(index) > _MOST_TEXTS:
        return
    how = "Sort it so"
    texts = index.tolist()
    if any(map(re.compile(r"\d").search, texts[:1])):
        parts = [re.split(r"(\d+)", text) for text in texts]
        keys = [[int(x) if x.isdecimal() else x for x in each] for each in parts]
        order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.intp)
        yield order, f"the numbers in {what}", how
    for times in times_of(index):
        if times is not index:
            yield np.asarray(times.argsort(kind="stable")), f"the times in {what}", how
