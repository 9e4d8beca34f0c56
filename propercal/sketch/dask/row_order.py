"""Whether partitions of labels and of predictions hold the same rows in the same order.

Nothing but an index says so, and that of a partition may have been made anew; what is computed
twice may come in another order each time.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from propercal._data.messages import bad_value
from propercal._data.reading import read_numpy

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


Spans = tuple[Span, Span]
"""Those of labels and predictions."""


def spans_of(block: Sequence[object]) -> tuple[Spans, ...]:
    """Return the rows of labels and predictions of a partition, if both have numbers."""
    mine, other = (getattr(each, "index", None) for each in block)
    if not (hasattr(mine, "equals") and hasattr(other, "equals")):
        return ()
    numbers = [np.asarray(each) for each in (mine, other)]
    if any(each.dtype.kind not in "iu" or not each.size for each in numbers):
        return ()
    labels, proba = (
        Span(int(x.min()), int(x.max()), x.size, bool((np.diff(x) > 0).all())) for x in numbers
    )
    return ((labels, proba),)


def check_in_place(spans: Sequence[Spans]) -> None:
    """Raise if partitions have rows of each other, or rows in another order than they count."""
    # A partition that is numbered from 0 may have been made without an index, or stand in the
    # place of the first: one partition does not tell.
    labels, proba = ([pair[i] for pair in spans if pair[0] != pair[1]] for i in range(2))
    if labels != proba and sorted(labels) == sorted(proba):
        raise bad_value(
            "y_true",
            f"partitions of the rows {_some(labels)}",
            f"those of y_proba, {_some(proba)}",
            "bring partitions of the two into one order",
        )
    sides = [[pair[i] for pair in spans] for i in range(2)]
    arguments = "y_true", "y_proba"
    for i, (argument, other) in enumerate((arguments, arguments[::-1])):
        own, theirs = sides[i], sides[1 - i]
        if len(own) > 1 and all(each.counted for each in theirs) and _are_shuffled(own):
            raise bad_value(
                argument,
                f"partitions of the rows {_some(own)}",
                f"the order of {other}, each of whose partitions counts its rows from 0",
                f"bring both into one order, or pass {other}.to_dask_array(), which has no index, "
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


def may_move(labels: Any, predictions: Any) -> bool:
    """Tell whether rows may come in an order that is not fixed, and are not computed together."""
    arrays = [each for each in (labels, predictions) if hasattr(type(each), "chunks")]
    if not arrays:
        return False
    return len(arrays) < 2 or any(_is_computed(each) for each in arrays)


def _is_computed(values: Any) -> bool:
    """Tell whether an array is made from other things than arrays."""
    graph = values.dask
    roots = [name for name, others in getattr(graph, "dependencies", {}).items() if not others]
    return any(
        type(graph.layers[name]).__name__ == "MaterializedLayer"
        and not str(name).startswith(_IN_MEMORY)
        for name in roots
    )


def check_fixed(pair: Any) -> None:
    """Raise if a partition has its rows in another order when it is computed again."""
    dask: Any = importlib.import_module("dask")
    digest = dask.delayed(_digest, pure=False)
    # In one pass, what both are made from would be computed once.
    first, second = (dask.compute([digest(each) for each in pair])[0] for _ in range(2))
    for argument, one, other in zip(("y_true", "y_proba"), first, second, strict=True):
        if one != other:
            raise bad_value(
                argument,
                "partitions that differ when they are computed again",
                "rows in a fixed order, since y_true and y_proba are computed one by one",
                "pass columns of one Dask DataFrame as both, or call .persist() on it first",
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
