"""Labels that count columns from 0, seen partition by partition: whether they may count from 1."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._data.classes.labels import check_counted, numbers_left
from propercal._data.predictions.weights import Floats


class Counted(NamedTuple):
    """Numbers that occur."""

    used: frozenset[Any] = frozenset()
    """Among labels of rows that count, where others do not."""
    others: frozenset[Any] = frozenset()
    """Among labels of these others, as many as tell."""

    @classmethod
    def of(
        cls, labels: npt.NDArray[Any], weight: Floats | None, n_classes: int, ignore_index: Any
    ) -> Counted:
        """Return the numbers of a partition whose rows have these weights."""
        used = np.ones(len(labels), dtype=bool) if weight is None else weight > 0
        left = numbers_left(labels[~used].ravel().tolist(), n_classes, ignore_index)
        found = frozenset(labels[used].ravel().tolist())
        return cls(found, _few(left, n_classes))

    @staticmethod
    def joined(parts: Sequence[Counted], n_classes: int) -> Counted:
        """Return the numbers of several partitions."""
        used, others = (reduce(frozenset.union, each) for each in zip(*parts, strict=True))
        return Counted(used, _few(others, n_classes))

    def check(self, n_classes: int, ignore_index: Any) -> None:
        """Raise if the numbers of all rows may count from 1."""
        used = [int(each) for each in sorted(self.used)]
        check_counted(used, self.others, n_classes=n_classes, ignore_index=ignore_index)


def _few(numbers: set[Any] | frozenset[Any], n_classes: int) -> frozenset[Any]:
    # With 0, or with more numbers than there are classes, they do not count from 1.
    return frozenset(sorted(numbers)[: n_classes + 1])
