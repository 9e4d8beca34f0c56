"""What labels of all places together say of classes, which those of one place may not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from propercal._data.classes.labels import read_labels
from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import is_missing
from propercal._data.rows.coordinates import coordinate
from propercal._data.words.messages import bad_value
from propercal.xarray.division import Division

if TYPE_CHECKING:
    import xarray as xr


def classes_of_all(
    y_true: xr.DataArray,
    y_proba: xr.DataArray,
    division: Division,
    options: Mapping[str, Any],
    *,
    weighted: bool,
) -> list[Any] | None:
    """Return the class of each column where labels count them, as all places tell; or raise.

    Of labels 1 to k, those of a place where k does not occur look as if they counted from 0. None
    is for what each place tells alike, and for labels that are lazy, of which nobody looks at all.
    """
    dim = division.classes
    if not division.kept or dim is None or dim in y_true.dims or y_true.chunks is not None:
        return None
    if options.get("labels") is not None or y_true.dtype.kind not in "iufO":
        return None
    k, found = int(y_proba.sizes[dim]), _numbers(y_true, options.get("ignore_index"))
    if found is None:
        return None
    if {0, k} <= {*found} and not weighted:
        raise bad_value(
            "y_true",
            f"{k} at some places, and 0 at others",
            f"0 to {k - 1}, a place along {dim!r}, or 1 to {k}",
            "number classes alike at all places",
        )
    names = coordinate(y_proba, dim)
    columns = None if names is None else tuple(np.asarray(names).tolist())
    numbered = columns == tuple(range(k))
    held = Held(np.empty((0, k)), columns=None if numbered else columns, numbered=numbered)
    labels = Held(np.array(found))
    try:
        classes = list(read_labels(labels, k, proba=held).names)
        # What columns are called may not go with it.
        read_labels(labels, k, proba=held, labels=classes)
    except ValueError:
        return None
    # What columns are named after says the same at each place.
    told = classes == list(range(k)) or (columns is not None and {*classes} == {*columns})
    return None if told else classes


def _numbers(y_true: xr.DataArray, ignored: Any) -> list[int] | None:
    """Return the whole numbers that occur; None where there are other labels."""
    values = y_true.to_numpy().ravel()
    if values.dtype.kind == "O":
        distinct: list[Any] = list(dict.fromkeys(values.tolist()))
    else:
        distinct = np.unique(values).tolist()
    if ignored is not None:
        distinct = [each for each in distinct if each != ignored and not is_missing(each)]
    whole = all(isinstance(each, int | float) and each == each // 1 for each in distinct)
    booleans = any(isinstance(each, bool) for each in distinct)
    return None if booleans or not whole or not distinct else sorted(map(int, distinct))
