"""Labels of a sketch that may count columns from 0 or from 1, by the classes that occurred."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from propercal._data.from_zero import are_in_doubt, are_numbered_from_0, warn_of_no_zero
from propercal._data.notions import as_notion
from propercal.sketch.state import State

Given = Sequence[Any]


def check_for_zero(
    state: State, notion: str, n_classes: int, names: Given | None, columns: Given | None
) -> None:
    """Warn as memory does, where classes of these names are those of columns of such names.

    The top-label table does not know which class occurred.
    """
    if names is None or list(names) != list(range(n_classes)) or are_numbered_from_0(columns):
        return
    how = as_notion(notion)
    if how.per_class:
        occurring = {i for i, table in enumerate(state.tables) if table.counts[1]}
    elif how.whole:
        # Of two classes; others have no sketch of this notion.
        occurring = {i for i, count in enumerate(state.tables[0].counts) if count}
    else:
        return
    if are_in_doubt(occurring, n_classes):
        table, sign = state.tables[0], 1 if how.per_class else -1
        rows, prob = table.size.sum(axis=(1, 2)), np.exp(-np.logaddexp(0, -sign * table.nodes))
        warn_of_no_zero(float(np.sum(rows * prob)), n_classes, "y_true", "y_proba")
