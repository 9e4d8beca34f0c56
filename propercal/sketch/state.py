"""What a sketch keeps of the rows it has seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from propercal._kernels.panels import Panels
from propercal.sketch.nodes import Nodes
from propercal.sketch.tables import PointSums
from propercal.sketch.totals import Totals

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Arrays = dict[str, np.ndarray[Any, Any]]


class Frame(NamedTuple):
    """What the state of a sketch depends on beside its rows."""

    n_problems: int
    n_folds: int
    random_state: int
    panels: Panels | None
    """Of the nodes; None where no bandwidth was given."""

    def seed(self, n_seen: int) -> int | list[int]:
        """Return the seed by which rows are dealt to folds after so many."""
        return [self.random_state, n_seen] if n_seen else self.random_state


@dataclass(frozen=True)
class State:
    """Sums over rows, which add up over any partition of them."""

    totals: Totals
    tables: Sequence[PointSums]
    """One for each problem."""
    nodes: Nodes | None
    """Of a sketch with a bandwidth."""

    @classmethod
    def empty(cls, frame: Frame) -> Self:
        """Return the state without rows."""
        q = frame.n_problems
        return cls(
            Totals.empty(q),
            [PointSums.empty(frame.n_folds)] * q,
            None if frame.panels is None else Nodes.empty(q, frame.panels),
        )

    @property
    def n_samples(self) -> int:
        """Rows seen."""
        return self.totals.n_samples

    @property
    def counts(self) -> Whole:
        """(problems, 2) rows by what occurred."""
        return np.stack([table.counts for table in self.tables])

    def of_labels(self) -> tuple[Floats, Floats]:
        """(problems, 2) each: Σ w and Σ w² by what occurred."""
        parts = [(table.weights, table.square_sums) for table in self.tables]
        weight, squares = (
            np.stack([each.sum(axis=(0, 1)) for each in of_all])
            for of_all in zip(*parts, strict=True)
        )
        return weight, squares

    def plus(self, other: State) -> State:
        """Return the state that has seen the rows of both."""
        nodes = self.nodes
        if nodes is not None and other.nodes is not None:
            nodes = nodes.plus(other.nodes)
        tables = [a.plus(b) for a, b in zip(self.tables, other.tables, strict=True)]
        return State(self.totals.plus(other.totals), tables, nodes)

    def arrays(self) -> Arrays:
        """Return all arrays; those of the tables follow each other."""
        totals, tables = self.totals, self.tables
        arrays: Arrays = {
            "sums": totals.sums,
            "bounds": totals.bounds,
            "zeros": totals.zeros,
            "rows": totals.rows,
            "points": np.array([len(each.keys) for each in tables]),
            "exact": np.array([each.exact for each in tables]).astype(np.int64),
        }
        for name in ("keys", "total", "low", "high", "size"):
            arrays[name] = np.concatenate([getattr(each, name) for each in tables])
        if any(each.weight is not None for each in tables):
            arrays["weight"] = np.concatenate([each.weights for each in tables])
            arrays["squares"] = np.concatenate([each.square_sums for each in tables])
        return arrays if self.nodes is None else arrays | self.nodes.arrays()

    def restored(self, arrays: Mapping[str, np.ndarray[Any, Any]]) -> State:
        """Return the state that :meth:`arrays` was called on, of the shape of this one."""
        ends = np.cumsum(arrays["points"])[:-1]

        def split(name: str) -> list[Any]:
            if name not in arrays:
                return [None] * len(self.tables)
            return np.split(arrays[name], ends)

        names = "keys", "total", "low", "high", "size", "weight", "squares"
        parts = zip(*(split(name) for name in names), strict=True)
        return State(
            Totals(*(arrays[name] for name in ("sums", "bounds", "zeros", "rows"))),
            [PointSums(bool(e), *each) for e, each in zip(arrays["exact"], parts, strict=True)],
            None if self.nodes is None else self.nodes.restored(arrays),
        )
