"""Labels from 1 on, read as numbers of columns from 0: a warning where class 0 is missed."""

from __future__ import annotations

from propercal._data.messages import warn

#: Rows of class 0, by their predictions, that are hardly ever all missing by chance (e⁻⁷).
_MANY = 7.0


def are_in_doubt(occurring: set[int], n_classes: int) -> bool:
    """Tell whether all classes but the first occur, of several, which may be counted from 1."""
    return n_classes > 2 and occurring == set(range(1, n_classes))


def warn_of_no_zero(expected: float, n_classes: int, labels: str, proba: str) -> None:
    """Say how labels were read if predictions let `expected` rows be of class 0, and none is."""
    if expected < _MANY:
        return
    warn(
        f"{labels} holds 1 to {n_classes - 1} and no 0: read as numbers of columns, counted from "
        f"0, though {proba} lets {expected:.0f} rows be of class 0. Pass "
        f"labels=list(range(1, {n_classes + 1})) if classes are counted from 1, and "
        f"labels=list(range({n_classes})) if no row is of class 0."
    )
