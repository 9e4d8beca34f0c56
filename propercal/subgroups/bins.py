"""Groups of rows by the size of a feature."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import hold, is_labelled
from propercal._data.inputs.lazy_tables import FOR_EACH_ROW, check_ordered
from propercal._data.inputs.reading import read_numpy
from propercal._data.words.messages import bad_value, some_rows


def quantile_groups(feature: object, n_groups: int = 4) -> Any:
    """Return labels of groups of about equal size, by the values of a feature.

    Parameters
    ----------
    feature : array-like of shape (n,)
        Finite numbers, such as an age.
    n_groups : int, default 4
        Number of groups, 2 to 100; fewer where values tie at a border, as equal values stay
        together.

    Returns
    -------
    ndarray of str, pandas.Series or xarray.DataArray
        For each row the group's range, such as "[18, 35)", in an order of its own: a Series, an
        ordered categorical, where `feature` has an index; a DataArray where it is one. Labels of
        arrays begin with their number, "2: ...".

    Raises
    ------
    ValueError
        If values are missing or no numbers, or all alike.

    Examples
    --------
    >>> quantile_groups([3, 1, 2, 4], n_groups=2).tolist()
    ['2: [2.5, 4]', '1: [1, 2.5)', '1: [1, 2.5)', '2: [2.5, 4]']
    """
    _check_number(n_groups)
    check_ordered("feature", feature, FOR_EACH_ROW)
    held = hold("feature", feature)
    values = _numbers(held)
    edges = np.unique(np.quantile(values, np.linspace(0, 1, n_groups + 1)))
    # A border is in the upper group, the last one in its own.
    number = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    if len(edges) < 2 or len(np.unique(number)) < 2:
        raise bad_value(
            "feature",
            f"the one value {values[0]:g} in most rows",
            "values that differ",
            "name groups yourself",
        )
    names = [f"[{low}, {high})" for low, high in pairwise(_written(edges))]
    names[-1] = names[-1][:-1] + "]"
    if held.rows is not None or held.counted:
        import pandas as pd

        found = pd.Categorical(np.array(names)[number], categories=names, ordered=True)
        index = pd.RangeIndex(len(values)) if held.rows is None else held.rows
        return pd.Series(found, index=index, name=held.name)
    width = len(str(len(names)))
    labels = np.array([f"{i + 1:0{width}}: {name}" for i, name in enumerate(names)])[number]
    if is_labelled(feature):
        return feature.copy(data=labels.reshape(feature.shape))  # type: ignore[attr-defined]
    return labels


def _written(edges: npt.NDArray[np.float64]) -> list[str]:
    """Return edges with as many digits as tell them apart, 6 or more."""
    for digits in range(6, 17):
        found = [f"{each:.{digits}g}" for each in edges]
        apart = len(set(found)) == len(edges)
        if apart and (digits == 6 or "e" not in "".join(found)):
            return found
    return [repr(float(each)) for each in edges]


def _check_number(n_groups: object) -> None:
    whole = isinstance(n_groups, int) and not isinstance(n_groups, bool)
    if not whole or not 2 <= n_groups <= 100:  # type: ignore[operator]
        raise bad_value("n_groups", repr(n_groups), "a whole number from 2 to 100", "4 is usual")


def _numbers(held: Held) -> npt.NDArray[np.float64]:
    values = read_numpy("feature", held.values)
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.ndim != 1 or values.dtype.kind not in "iuf" or not len(values):
        raise bad_value(
            "feature",
            f"values of shape {values.shape} and type {values.dtype}",
            "one number for each row",
            "pass one column; words name groups as they are",
        )
    odd = np.flatnonzero(~np.isfinite(values))
    if odd.size:
        raise bad_value(
            "feature",
            f"no finite number at {some_rows(odd)}",
            "a number for each row",
            "give rows without one a group of their own",
        )
    return values.astype(np.float64)
