"""Labels of a sketch that may count columns from 0 or from 1, by the classes that occurred."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from propercal._data.from_zero import are_in_doubt, warn_of_no_zero
from propercal.sketch.state import State


def check_for_zero(state: State, names: Sequence[Any] | None, n_classes: int) -> None:
    """Warn as memory does, where classes of these names have a problem each.

    The top-label table does not know which class occurred.
    """
    if names is None or list(names) != list(range(n_classes)) or len(state.tables) != n_classes:
        return
    occurring = {i for i, table in enumerate(state.tables) if table.counts[1]}
    if are_in_doubt(occurring, n_classes):
        table = state.tables[0]
        rows, prob = table.size.sum(axis=(1, 2)), np.exp(-np.logaddexp(0, -table.nodes))
        warn_of_no_zero(float(np.sum(rows * prob)), n_classes, "y_true", "y_proba")
