"""Whether partitions of labels, predictions and weights hold the same rows in the same order.

Nothing but an index says so, and that of a partition may have been made anew; what is computed
twice may come in another order each time.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import read_numpy
from propercal._data.words.messages import bad_value

#: What partitions hold, in this order.
ARGUMENTS = "y_true", "y_proba", "sample_weight"
#: Names of layers of a graph that are arrays in memory.
_IN_MEMORY = ("array", "ndarray", "from-value")


class Span(NamedTuple):
    """The rows of a partition that are numbered."""

    first: int
    """The smallest number."""
    last: int
    """The largest one."""
    size: int
    ascending: bool

    @property
    def counted(self) -> bool:
        """Whether this may be an index that was made for the partition."""
        return self.first == 0 and self.last == self.size - 1 and self.ascending


class Numbered(NamedTuple):
    """Rows of two arguments in a partition where both have numbers."""

    argument: str
    other: str
    own: Span
    others: Span


def numbered_rows(block: Sequence[object]) -> tuple[Numbered, ...]:
    """Return the rows of each two arguments of a partition that have numbers."""
    spans = [_span(each) for each in block]
    found = []
    for i, j in ((0, 1), (2, 1), (2, 0)):
        if max(i, j) < len(spans):
            own, others = spans[i], spans[j]
            if own is not None and others is not None:
                found.append(Numbered(ARGUMENTS[i], ARGUMENTS[j], own, others))
    return tuple(found)


def _span(values: object) -> Span | None:
    """Return the rows of values whose index is of numbers."""
    if isinstance(values, Held) and values.counted:
        return Span(0, len(values.values) - 1, len(values.values), ascending=True)
    index: Any = values.rows if isinstance(values, Held) else getattr(values, "index", None)
    if not hasattr(index, "equals"):
        return None
    numbers = np.asarray(index)
    if numbers.dtype.kind not in "iu" or not numbers.size:
        return None
    ascending = bool((np.diff(numbers) > 0).all())
    return Span(int(numbers.min()), int(numbers.max()), numbers.size, ascending)


def check_in_place(numbered: Sequence[Numbered]) -> None:
    """Raise if partitions have rows of each other, or rows in another order than they count."""
    for argument, other in dict.fromkeys(each[:2] for each in numbered):
        spans = [each[2:] for each in numbered if each[:2] == (argument, other)]
        _check_exchanged(argument, other, spans)
        _check_shuffled(argument, other, spans)
        _check_shuffled(other, argument, [(b, a) for a, b in spans])


def _check_exchanged(argument: str, other: str, spans: Sequence[tuple[Span, Span]]) -> None:
    # A partition that is numbered from 0 may have been made without an index, or stand in the
    # place of the first: one partition does not tell.
    own, others = ([pair[i] for pair in spans if pair[0] != pair[1]] for i in range(2))
    if own != others and sorted(own) == sorted(others):
        raise bad_value(
            argument,
            f"partitions of the rows {_some(own)}",
            f"those of {other}, {_some(others)}",
            "bring partitions of the two into one order",
        )


def _check_shuffled(argument: str, other: str, spans: Sequence[tuple[Span, Span]]) -> None:
    own, others = ([pair[i] for pair in spans] for i in range(2))
    if len(own) > 1 and all(each.counted for each in others) and _are_shuffled(own):
        raise bad_value(
            argument,
            f"partitions of the rows {_some(own)}",
            f"the order of {other}, each of whose partitions counts its rows from 0",
            f"bring both into one order, or pass {other} as an array, which has no index, "
            "if rows stand side by side",
        )


def _are_shuffled(spans: Sequence[Span]) -> bool:
    """Tell whether these are all rows from 0 on, in another order."""
    n = sum(each.size for each in spans)
    if min(each.first for each in spans) != 0 or max(each.last for each in spans) != n - 1:
        return False
    ends = [each.last for each in spans]
    starts = [each.first for each in spans]
    ordered = all(a < b for a, b in zip(ends[:-1], starts[1:], strict=True))
    return not (ordered and all(each.ascending for each in spans))


def _some(spans: Sequence[Span]) -> str:
    return ", ".join(f"{each.first} to {each.last}" for each in spans[:3])


def may_move(*collections: Any) -> bool:
    """Tell whether rows may come in an order that is not fixed, and are not computed together."""
    arrays = [each for each in collections if hasattr(type(each), "chunks")]
    if not arrays:
        return False
    return len(arrays) < len(collections) or any(_is_computed(each) for each in arrays)


def _is_computed(values: Any) -> bool:
    """Tell whether an array is made from other things than arrays."""
    graph = values.dask
    roots = [name for name, others in getattr(graph, "dependencies", {}).items() if not others]
    return any(
        type(graph.layers[name]).__name__ == "MaterializedLayer"
        and not str(name).startswith(_IN_MEMORY)
        for name in roots
    )


def check_fixed(block: Sequence[Any]) -> None:
    """Raise if a partition has its rows in another order when it is computed again."""
    dask: Any = importlib.import_module("dask")
    digest = dask.delayed(_digest, pure=False)
    # In one pass, what all are made from would be computed once.
    first, second = (dask.compute([digest(each) for each in block])[0] for _ in range(2))
    for argument, one, other in zip(ARGUMENTS, first, second, strict=False):
        if one != other:
            raise bad_value(
                argument,
                "partitions that differ when they are computed again",
                "rows in a fixed order, since "
                + " and ".join(ARGUMENTS[: len(block)])
                + " are computed one by one",
                "pass columns of one Dask DataFrame, or call .persist() on it first",
            )


def _digest(values: object) -> bytes | None:
    """Return what values have in common with the same in the same order; None if they are odd."""
    try:
        array = read_numpy("values", values)
    except ValueError:
        # Which is said where partitions are read.
        return None
    text = repr(array.tolist()).encode() if array.dtype.kind == "O" else array.tobytes()
    return hashlib.sha256(text).digest()
