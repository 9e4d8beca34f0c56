"""Tables of probabilities as they are given: of one library, checked, their axes named alike."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from propercal._array import is_array, is_numpy, like, namespace, to_numpy
from propercal._data.classes.columns import keys
from propercal._data.classes.members import LABELS
from propercal._data.inputs.holders import hold, is_labelled
from propercal._data.inputs.lazy_tables import collected
from propercal._data.inputs.reading import not_real, read_array, read_numpy
from propercal._data.predictions.notions import as_notion
from propercal._data.rows.coordinates import axis_names
from propercal._data.words.messages import bad_value, some_names
from propercal._data.words.tokens import is_permutation, named, number_otherwise
from propercal._typing import Array
from propercal.generators import BregmanGenerator
from propercal.generators.order import check_columns_order

#: What libraries call axes that nobody has named: xarray, and pandas.crosstab.
_NOBODYS = re.compile(r"(?:dim|row|col)_\d+")


#: What an axis is called that is the labels, and that of classes, or of predictions, may be.
_OF_LABELS = LABELS | {"y"}
_OF_CLASSES = _OF_LABELS | {"class", "classes", "category", "species"}
#: What it is called that came true, which alone may be a prediction's kind too.
_OBSERVED = {"observed", "observation", "observations", "obs", "reference", "outcome", "outcomes"}
_OF_PREDICTIONS = {
    *(
        "prediction",
        "predictions",
        "predicted",
        "pred",
        "score",
        "scores",
        "prob",
        "probs",
        "proba",
    ),
    *(
        "probability",
        "probabilities",
        "forecast",
        "forecasts",
        "y_proba",
        "y_pred",
        "bin",
        "g",
        "x",
        "z",
    ),
}
#: What sums of a table are called.
_OF_SUMS = {"all", "total", "totals", "sum", "sums", "margin", "margins"}


def read_tables(*arguments: tuple[str, object, int]) -> tuple[list[Array], Any]:
    """Return the arguments in double precision and one library, with the dtype of the first."""
    # Rows of one stand beside those of the others.
    values = collected(*(v for _, v, _ in arguments))
    arguments = tuple((name, v, ndim) for (name, _, ndim), v in zip(arguments, values, strict=True))
    given: list[Array] = [
        read_array(name, v) if is_array(v) and not is_numpy(v) else _plain(name, v, ndim)
        for name, v, ndim in arguments
    ]
    library = next((v for _, v, _ in arguments if is_array(v)), given[0])
    xp = namespace(library)
    tables: list[Array] = []
    for (name, original, ndim), values in zip(arguments, given, strict=True):
        if namespace(values).isdtype(values.dtype, "complex floating"):
            raise bad_value(
                name, f"values of type {values.dtype}", "real numbers", "pass their real part"
            )
        if values.ndim != ndim or 0 in values.shape:
            raise bad_value(
                name,
                f"an array of shape {tuple(values.shape)}",
                f"{ndim} dimension{'s' if ndim > 1 else ''}, none of them empty",
                "see the shapes in the documentation",
            )
        table = values if is_array(original) else like(values, library)
        table = xp.astype(table, xp.float64)
        bad = ~(xp.isfinite(table) & (table >= 0))
        if bool(xp.any(bad)):
            place = tuple(int(i) for i in np.argwhere(to_numpy(bad))[0])
            raise bad_value(
                name,
                f"{float(to_numpy(table)[place])} at {list(place)}",
                "probabilities ≥ 0",
                "correct the table",
            )
        tables.append(table)
    first = given[0].dtype if is_array(arguments[0][1]) else xp.float64
    return tables, first if xp.isdtype(first, "real floating") else xp.float64


def joint_table(joint: object) -> tuple[Array, Any]:
    """Return the table of a variable and the classes, of sum 1, with the dtype that it had."""
    (table,), dtype = read_tables(("joint", joint, 2))
    check_joint(joint, table, dtype)
    return table, dtype


def check_joint(joint: object, table: Array, dtype: Any) -> None:
    """Raise unless a table has one distribution, of a variable by rows and of classes by columns.

    Names of axes may say that it lies the other way round, and names of the last ones, or sums
    where the whole is not 1, that it holds the sums of the others too.
    """
    rows, columns = map(_bare, _called(joint))
    if columns not in _OF_CLASSES and (
        rows in _OF_LABELS or (rows in _OF_CLASSES | _OBSERVED and columns in _OF_PREDICTIONS)
    ):
        raise bad_value(
            "joint",
            f"a table whose rows are called {rows!r}",
            "one row for each value of the prediction, and one column for each class",
            "transpose it, or pass it without names",
        )
    values = to_numpy(table)
    last = [None if each is None else _bare(each[-1]) for each in _names_along(joint)]
    has_sums = [
        bool(len(each) > 1 and np.allclose(each[-1], each[:-1].sum(axis=0)))
        for each in (values, values.T)
    ]
    named_sums = any(one and name in _OF_SUMS for one, name in zip(has_sums, last, strict=True))
    # Two equal rows are the sums of one another.
    likely = any(one and n > 2 for one, n in zip(has_sums, values.shape, strict=True))
    if named_sums or (likely and not np.isclose(values.sum(), 1)):
        raise bad_value(
            "joint",
            f"a table of sum {values.sum():.6g}, whose last "
            f"{' and '.join(w for w, one in zip(('row', 'column'), has_sums, strict=True) if one)} "
            "hold the sums of the others",
            "the probabilities alone",
            "leave these sums out, then divide the table by its sum",
        )
    fix = "divide the table by its sum"
    for what, axis, each in (("row", 1, "prediction"), ("column", 0, "class")):
        if min(values.shape) > 1 and np.allclose(values.sum(axis=axis), 1):
            fix = f"multiply each {what}, which has a sum of 1, by the probability of its {each}"
    check_sums("joint", namespace(table).sum(table), dtype, fix)


def _names_along(joint: object) -> list[tuple[Any, ...] | None]:
    return [axis_names(joint, axis) or None for axis in (0, -1)]


def _bare(name: object) -> str | None:
    return re.sub(r"[\W_]+", "_", name.lower()).strip("_") if isinstance(name, str) else None


def _plain(name: str, values: object, ndim: int) -> Array:
    """Return numbers of any holder in NumPy, a table of one column as a matrix."""
    held = hold(name, values)
    array = read_numpy(name, held.values)
    if array.dtype.kind not in "biuf":
        raise bad_value(name, *not_real(array))
    one = held.table or held.first
    return array[:, None] if one and array.ndim == 1 < ndim else array


def check_sums(name: str, sums: Array, dtype: Any, fix: str) -> None:
    """Check that sums are 1, up to what rounding to `dtype` explains."""
    eps = float(namespace(sums).finfo(dtype).eps)
    values = to_numpy(sums).ravel()
    worst = int(np.argmax(np.abs(values - 1)))
    if abs(values[worst] - 1) > max(1e-6, eps**0.5):
        raise bad_value(name, f"an array with a sum of {values[worst]:.6g}", "a sum of 1", fix)


def check_classes(values: object, axis: int, generator: BregmanGenerator) -> None:
    """Raise if F asks for another order of the classes than names along an axis have, or tell."""
    names = axis_names(values, axis)
    index: Any = values.axes[axis] if hasattr(type(values), "iloc") else None  # type: ignore[attr-defined]
    order = index.categories if getattr(index, "ordered", False) else ()
    if names is not None and named(names) is not None:
        whole = as_notion("canonical")
        check_columns_order(names, [generator], whole, order=tuple(order), by=None)


def check_same_order(first: tuple[str, object, int], second: tuple[str, object, int]) -> None:
    """Raise if the values along an axis of each of two arguments have names, and other ones.

    So may the axis itself, of which the other argument has one in another place.
    """
    for (argument, values, axis), (other, theirs, place) in ((first, second), (second, first)):
        own, wanted = _called(values), _called(theirs)
        name, found = own[axis], wanted[place]
        if name is not None and name in wanted and name != found:
            raise bad_value(
                other,
                f"axes called {some_names(wanted)}",
                f"{name!r} in place of {found!r}, as {argument} has axes {some_names(own)}",
                "transpose one of them, or pass both without names",
            )
    named_first, named_second = (
        (argument, axis_names(values, axis)) for argument, values, axis in (first, second)
    )
    check_same_names(named_first, named_second)


def _called(values: Any) -> list[Any]:
    """Return what each axis of a table or a labelled array is called; None where it has no name."""
    if is_labelled(values):
        names = list(values.dims)
    elif hasattr(type(values), "iloc"):
        names = [each.name for each in values.axes]
    else:
        return [None, None]
    return [None if _NOBODYS.fullmatch(str(each)) else each for each in names]


def check_same_names(
    first: tuple[str, tuple[Any, ...] | None], second: tuple[str, tuple[Any, ...] | None]
) -> None:
    """Raise if what the same values are called in each of two arguments differs."""
    names, others = first[1], second[1]
    for (argument, own), (other, theirs) in ((first, second), (second, first)):
        if theirs is None and own is not None and number_otherwise(own) and is_permutation(own):
            raise bad_value(
                argument,
                f"values numbered {some_names(own)}",
                f"0 to {len(own) - 1} in order, as those of {other}, which have no names",
                "call .sort_index() on it, or pass .to_numpy() of it if both are in one order",
            )
    if names is None or others is None or keys(names) == keys(others):
        return
    # Names that are counted say nothing beside others than numbers in another order.
    counted = [each for each in (names, others) if named(each) is None]
    if not counted or (is_permutation(names) and is_permutation(others)):
        raise bad_value(
            second[0],
            f"values named {some_names(others)}",
            f"{some_names(names)}, in this order, as {first[0]} has",
            "select them in one order, or pass both without names",
        )
