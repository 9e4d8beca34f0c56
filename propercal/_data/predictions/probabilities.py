"""Columns of numbers as probabilities or logits: within their range, and with sums of 1 or not."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import is_numpy, like, namespace, to_numpy
from propercal._data.classes.labels import Classes
from propercal._data.inputs.held import Held, as_given
from propercal._data.inputs.reading import USUAL_NAMES, Names, not_real, read_array
from propercal._data.words.messages import bad_value, columns_at, some_rows, warn
from propercal._data.words.of_choice import says_percent
from propercal._typing import Array

#: Rows whose sum is further from 1 than this are not probabilities; nearer ones are used with a
#: warning, unless the dtype's own rounding explains them. So are sums of 0.9 and 1.1 as computed.
_LARGEST_DEVIATION = 0.1 + 1e-6
#: Part of what is said of probabilities that are given as logits.
AS_LOGITS = "though from_logits=True says that they are logits"
#: Rows whose sums are not all near 1 by chance.
_MANY = 10


def read_columns(
    proba: Held,
    from_logits: bool,
    smallest: int,
    names: Names,
    used: npt.NDArray[np.bool_] | None,
) -> tuple[Array, Any]:
    """Return (n, m) numbers in double precision, and their dtype.

    Rows that are not `used` are given the numbers of one that is.
    """
    if says_percent(proba.units) and not from_logits:
        raise bad_value(
            names.proba,
            f"an array of units {proba.units!r}",
            "probabilities, of which 1 is certain",
            "divide it by 100, and drop the attribute that says so",
        )
    values = _real(_without_unused(proba, used, names), names)
    shape = tuple(values.shape)
    if len(shape) not in (1, 2) or 0 in shape:
        fix = "pass one row of probabilities per sample"
        if len(shape) > 2:
            fix = (
                "pass class_axis=1 for shape (n, k, h, w), class_axis=-1 for (n, h, w, k), or one "
                "row for each place: numpy.moveaxis(p, 1, -1).reshape(-1, k); if each place has "
                "one probability, pass p.ravel() and y.ravel()"
            )
        if len(shape) == 3 and shape[0] == 1:
            fix = f"pass {names.proba}[0] if that holds all rows; {fix}"
        raise bad_value(
            names.proba,
            f"an array of shape {shape}",
            "shape (n,), (n, 1) or (n, k) with n ≥ 2",
            fix,
        )
    xp = namespace(values)
    floating = xp.isdtype(values.dtype, "real floating")
    dtype = values.dtype if floating else xp.float64
    if len(shape) == 1:
        values = values[:, None]
    exact = xp.astype(values, xp.float64, copy=False)
    if used is not None and used.any():
        index = np.where(used, np.arange(shape[0]), np.argmax(used))
        exact = xp.take(exact, like(index, exact), axis=0)
    _check_values(exact, "logits" if from_logits else "probabilities", dtype, names, proba)
    if shape[0] < smallest:
        raise bad_value(
            names.proba,
            f"{shape[0]} row",
            "n ≥ 2",
            "pass more rows: nothing is estimated from a single one",
        )
    return exact, dtype


def _without_unused(proba: Held, used: npt.NDArray[np.bool_] | None, names: Names) -> Held:
    """Return predictions without the objects in rows that do not count, such as missing values."""
    values = proba.values
    if not is_numpy(values) or values.dtype.kind != "O" or used is None or not used.any():
        return proba
    index = np.where(used, np.arange(len(used)), np.argmax(used))
    return replace(proba, values=read_array(names.proba, values[index]))


def _real(proba: Held, names: Names) -> Array:
    """Return values if they are real numbers, or raise."""
    values = proba.values
    if is_numpy(values):
        real = values.dtype.kind in "biuf"
    else:
        real = not namespace(values).isdtype(values.dtype, "complex floating")
    if not real:
        indexed = proba.rows is not None
        raise bad_value(names.proba, *not_real(values, proba.given, proba.columns, indexed=indexed))
    return values


def _check_values(values: Array, what: str, dtype: Any, names: Names, proba: Held) -> None:
    xp = namespace(values)
    if what == "logits":
        odd = xp.isnan(values) | (values == xp.inf) | xp.all(values == -xp.inf, axis=1)[:, None]
        expected = "finite logits (−inf for a probability of 0)"
    else:
        most = rounding(dtype)
        if to_numpy((xp.min(values) >= -most) & (xp.max(values) <= 1 + most)):
            return
        odd = ~((values >= -most) & (values <= 1 + most))
        expected = "probabilities between 0 and 1"
    if xp.any(odd):
        marks, fix = to_numpy(odd), "drop or repair these rows"
        row, column = (int(i) for i in np.argwhere(marks)[0])
        rows = some_rows(proba.given(np.flatnonzero(marks.any(axis=1))))
        found = f"{float(to_numpy(values)[row, column])} at {rows}"
        if not marks.any(axis=0).all():
            some = np.flatnonzero(marks.any(axis=0)).tolist()
            found += f", in {columns_at(some, marks.shape[1], proba.columns)}"
            which = "it out if it is" if len(some) == 1 else "them out if they are"
            fix = f"leave {which} of no class; {fix}"
        if what != "logits":
            fix += f"; {_of_no_probabilities(values, names)}"
        raise bad_value(names.proba, found, expected, fix)


def _of_no_probabilities(values: Array, names: Names) -> str:
    """Say what to do with logits, or with logarithms of probabilities, that one column may hold."""
    fix = "pass from_logits=True if these are logits"
    xp = namespace(values)
    least, most = (float(to_numpy(of(values))) for of in (xp.min, xp.max))
    if least >= 0 and most <= 100:
        fix = f"divide {names.proba} by 100 if these are percentages; {fix}"
    if values.shape[1] == 1 and most > 1 and to_numpy(xp.all(values == xp.round(values))):
        fix = f"swap {names.labels} and {names.proba} if these are labels; {fix}"
    if values.shape[1] == 1 and most <= 0:
        fix += f"; pass numpy.exp({names.proba}) if they are logarithms of probabilities"
    return fix


def rounding(dtype: Any) -> float:
    """How far a row of `dtype` may be from summing to 1 by rounding alone."""
    name = str(dtype)
    bits = 16 if "16" in name else 32 if "32" in name else 64
    eps = {16: 2.0**-10, 32: 2.0**-23, 64: 2.0**-52}[bits]
    # Predictions made in single precision are often handed over in double.
    return max(math.sqrt(eps), 1e-6)


def within_range(prob: Array, names: Names, proba: Held) -> Array:
    """Read a value outside 0 to 1 by no more than rounding as 0 or 1, and say so."""
    xp = namespace(prob)
    most, least = float(to_numpy(xp.max(prob))), float(to_numpy(xp.min(prob)))
    for excess, limit, words in ((most - 1, 1.0, "exceeds 1"), (-least, 0.0, "is below 0")):
        if excess > 0:
            odd = prob > 1 if limit else prob < 0
            rows = np.unique(np.argwhere(to_numpy(odd))[:, 0])
            warn(
                f"{names.proba} {words} by rounding (at most {excess:.1e}) at "
                f"{some_rows(proba.given(rows))}: read as {limit:g}."
            )
            prob = xp.where(odd, limit, prob)
    return prob


def check_one_column(prob: Array, classes: Classes, names: Names) -> None:
    """Refuse what a softmax over one column makes of one class, rather than read it as certainty.

    Sigmoids that round to 1 are none of these: then some class occurred that is not numbered 0.
    """
    codes = classes.codes
    if codes is None or codes.any() or classes.names != (0, 1):
        return
    if to_numpy(namespace(prob).all(prob == 1)):
        raise bad_value(
            names.proba,
            f"ones only, of shape {tuple(prob.shape)}, where class 0 occurs in each row",
            "the probability of the positive class, or k ≥ 2 columns",
            "one class leaves nothing to calibrate: a softmax over one column is always 1",
        )


def read_sums(
    prob: Array, dtype: Any, classes: Classes, smallest: int, names: Names, proba: Held
) -> tuple[bool, bool]:
    """Return whether rows sum to 1, and whether the columns are separate problems instead."""
    if prob.shape[1] == 1:
        return True, classes.codes is None
    sums = to_numpy(namespace(prob).sum(prob, axis=1))
    deviation = np.abs(sums - 1)
    if classes.codes is None:
        if smallest > 1:
            check_marks(classes, deviation, dtype, names)
        return True, True
    if deviation.max() <= rounding(dtype):
        return True, False
    odd = np.flatnonzero(deviation > rounding(dtype))
    found = f"rows that sum to {sums.min():.6g} to {sums.max():.6g} ({some_rows(proba.given(odd))})"
    far = deviation.max() > _LARGEST_DEVIATION
    if far and classes.indicator is not None:
        return False, True
    beside = _beside_all(prob, sums, dtype)
    if beside is not None:
        raise bad_value(
            names.proba,
            f"{found}, and to 1 without {columns_at([beside], prob.shape[1], proba.columns)}",
            "rows that sum to 1",
            "pass the columns of classes alone",
        )
    if far:
        raise bad_value(
            names.proba,
            found,
            "rows that sum to 1",
            f"normalise them; pass an indicator matrix as {names.labels} for multi-label "
            "predictions",
        )
    warn(
        f"{names.proba} has {found}, used as they are. Divide each row by its sum if these are "
        "rounded probabilities."
    )
    return False, False


def _beside_all(prob: Array, sums: npt.NDArray[Any], dtype: Any) -> int | None:
    """Return the only column without which all rows sum to 1, such as the largest of each row."""
    if prob.shape[1] < 3 or len(sums) < _MANY:
        return None
    deviation = np.abs(sums[:, None] - to_numpy(prob) - 1).max(axis=0)
    found = np.flatnonzero(deviation <= rounding(dtype))
    return int(found[0]) if len(found) == 1 else None


def check_marks(
    classes: Classes,
    deviation: npt.NDArray[np.float64],
    dtype: Any,
    names: Names = USUAL_NAMES,
    fix: str = "",
) -> None:
    """Raise where rows mark one class or none, and sums that `deviation` is of are those of one."""
    # Of a few separate columns sums may be near 1 by chance.
    largest = _LARGEST_DEVIATION if len(deviation) >= _MANY else rounding(dtype)
    if not classes.marks_none or deviation.max() > largest:
        return
    assert classes.indicator is not None  # noqa: S101  # what marks none is one
    none = np.flatnonzero(~classes.indicator.any(axis=1))
    raise bad_value(
        names.labels,
        f"no class at {some_rows(as_given(none, classes.places))}",
        f"one in each row, as rows of {names.proba} sum to 1",
        "drop these rows, or give them weight 0, if they have no label" + fix,
    )
