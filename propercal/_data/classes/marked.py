"""Indicator matrices that lack a class of the predictions, or have one that these lack, by name.

Tables of marks are made of what occurs, or of all that a type lists.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.classes.naming import Given, Naming
from propercal._data.inputs.held import Held
from propercal._data.words.messages import bad_value, some_names, some_rows
from propercal._data.words.tokens import key, plain


def with_all_classes(
    values: npt.NDArray[Any], held: Held, naming: Naming
) -> tuple[npt.NDArray[Any], Given | None]:
    """Return an indicator matrix with a column for each class, and what its columns are called.

    It stays as it is where names do not tell which classes it lacks.
    """
    own, wanted = _names(values, held, naming)
    places = {key(name): i for i, name in enumerate(own)}
    keys = [key(name) for name in wanted]
    missing = [name for name, each in zip(wanted, keys, strict=True) if each not in places]
    surplus = [i for name, i in places.items() if name not in {*keys}]
    if not own or not wanted or len(places) < len(own) or len({*keys}) < len(keys):
        return values, held.columns
    found = values[:, surplus]
    if (not missing and not surplus) or len(surplus) == len(own) or found.astype(bool).any():
        return values, held.columns
    kept = [i for i in range(len(own)) if i not in surplus]
    _check_each_row(values[:, kept], [own[i] for i in kept], missing, held, naming)
    empty = np.zeros((len(values), len(missing)), dtype=values.dtype)
    return np.hstack([values[:, kept], empty]), (*(own[i] for i in kept), *missing)


def _names(values: npt.NDArray[Any], held: Held, naming: Naming) -> tuple[Given, Given]:
    """Return what columns of marks are called, and those of predictions; none where it is open."""
    counted = tuple(range(values.shape[1])) if held.numbered else ()
    own = held.columns or counted
    wanted = naming.labels or naming.columns
    if wanted is None and own and not naming.single:
        # From 1 on they may be counted too, if there is no 0.
        numbers = [plain(each) for each in own]
        from_0 = 0 in numbers and {*numbers} <= {*range(naming.n_classes)}
        wanted = tuple(range(naming.n_classes)) if from_0 else None
    return (own, wanted) if wanted is not None else ((), ())


def _check_each_row(
    marks: npt.NDArray[Any], own: list[Any], missing: list[Any], held: Held, naming: Naming
) -> None:
    """Raise where rows mark no class, or several, and may be of one that has no column."""
    odd = np.flatnonzero(marks.astype(bool).sum(axis=1) != 1)
    if missing and len(odd):
        raise bad_value(
            naming.called.labels,
            f"columns {some_names(own)}, of which not one alone is marked at "
            f"{some_rows(held.given(odd))}",
            f"a column for each class of {naming.called.proba}, such as {missing[0]!r}, which "
            "these rows may be of",
            "keep all columns (no drop_first=True), add those that never occurred by .reindex("
            "columns=[...], fill_value=0), or drop rows without a label",
        )
