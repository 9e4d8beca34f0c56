"""Checked predictions: one clean set from data as users have it, or one clear error.

Everything after this file may assume: n ≥ 2 rows of k ≥ 2 finite probabilities in double
precision with their exact logarithms, class numbers, and positive weights that sum to 1.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from propercal._array import is_numpy, like, namespace, read_only, to_numpy
from propercal._data.alignment import Aligned, align
from propercal._data.columns import check_logits
from propercal._data.dimensions import Layout
from propercal._data.from_zero import warn_of_no_zero
from propercal._data.holders import Held, as_given
from propercal._data.labels import Classes, check_beside, read_labels
from propercal._data.links import check_link, chosen_link
from propercal._data.messages import bad_value, some_rows, warn
from propercal._data.parts import Parts, from_logits_of, from_probabilities, is_top, log1m
from propercal._data.reading import USUAL_NAMES, Names, not_real
from propercal._data.settings import check_flag
from propercal._data.weights import normalised, weights_given
from propercal._typing import Array

#: Rows whose sum is further from 1 than this are not probabilities; nearer ones are used with a
#: warning, unless the dtype's own rounding explains them.
_LARGEST_DEVIATION = 0.1
#: Rows whose sums are not all near 1 by chance.
_MANY = 10


@dataclass(frozen=True)
class Predictions:
    """Validated predictions and what occurred, in double precision on the caller's device."""

    prob: Array
    """(n, k) predicted probabilities."""
    log_prob: Array
    """(n, k) their logarithms, −inf at 0; from logits, exact where ``prob`` rounds."""
    rest: Array
    """(n,) probability of all classes but the most probable one, exact near 0 where rows sum to 1;
    where the columns are separate problems, (n, k) the probability that each does not occur."""
    log_rest: Array
    """Logarithm of ``rest``."""
    classes: Classes
    """The labels as they were read."""
    label: Array
    """(n,) class numbers (all 0 in multi-label problems, where only ``occurred`` is defined)."""
    weight: Array
    """(n,) sample weights that sum to 1."""
    uniform: bool
    """Whether all weights are equal."""
    rows: Array
    """(n,) NumPy positions in the caller's data (rows of weight 0 are left out)."""
    multilabel: bool
    """Whether the columns are separate yes-or-no problems."""
    dtype: Any
    """The caller's floating dtype, in which results are returned."""
    names: Names = USUAL_NAMES
    """What the caller calls the data."""
    places: npt.NDArray[np.intp] | None = None
    """Where rows were in ``y_proba`` before they were aligned; None where they stand as given."""
    groups: npt.NDArray[np.int64] | None = None
    """(n,) the number of the group of each row, if rows of some depend on each other."""
    n_groups: int | None = None
    """Number of groups, if any were given."""
    index: Any = None
    """A pandas index of all rows that were read, of predictions or else of labels, if any."""
    repeated: bool = False
    """Whether rows were found to repeat each other, and no groups given."""

    def given(self, rows: Any) -> npt.NDArray[np.intp]:
        """Return the numbers that some of these rows had in the caller's ``y_proba``."""
        return np.sort(as_given(self.rows[rows], self.places))

    @property
    def n_samples(self) -> int:
        """Number of rows n."""
        return int(self.prob.shape[0])

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return int(self.prob.shape[1])

    def occurred(self, i: int) -> Array:
        """(n,) whether class `i` occurred."""
        if self.classes.indicator is None:
            return self.label == i
        return like(self.classes.indicator[self.rows, i], self.prob)

    def complement(self) -> tuple[Array, Array]:
        """Return 1 − p and log(1 − p), both (n, k), without cancellation where p is near 1.

        Only the most probable class can come near 1, and there 1 − p is the sum of the others
        wherever rows sum to 1.
        """
        if self.multilabel:
            return self.rest, self.log_rest
        xp = namespace(self.prob)
        # Two may exceed ½ where rows do not sum to 1.
        near_one = (self.prob > 0.5) & is_top(self.prob)
        return (
            xp.where(near_one, self.rest[:, None], 1 - self.prob),
            xp.where(near_one, self.log_rest[:, None], log1m(self.prob)),
        )


class Reading(TypedDict, total=False):
    """Keyword arguments that say how data are to be read, as in :func:`propercal.decompose`."""

    from_logits: bool
    sample_weight: object
    labels: Sequence[Any] | None
    pos_label: Any
    link: str | None
    ignore_index: Any
    class_axis: int | None
    class_dim: Hashable | None
    sample_dims: Hashable | Sequence[Hashable] | None


def validate(
    y_true: object,
    y_proba: object,
    *,
    from_logits: bool = False,
    sample_weight: object = None,
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    link: str | None = None,
    ignore_index: Any = None,
    class_axis: int | None = None,
    class_dim: Hashable | None = None,
    sample_dims: Hashable | Sequence[Hashable] | None = None,
    one_class: bool = False,
    keep_weightless: bool = False,
    smallest: int = 2,
    names: Names = USUAL_NAMES,
) -> Predictions:
    """Check all data arguments together and bring them into one form.

    `one_class` says that rows mark one class each, so that there is no sigmoid of several columns;
    `keep_weightless` keeps rows of weight 0, which then count as targets but not as sources;
    `smallest` is the least number of rows; `names` is what errors call the arguments.
    """
    check_flag("from_logits", from_logits)
    check_link(link, from_logits)
    layout = Layout(class_axis, class_dim, sample_dims)
    held = align(y_true, y_proba, sample_weight, layout=layout, called=names)
    n = int(held.proba.values.shape[0]) if held.proba.values.ndim else 0
    given = weights_given(held.weight, n, ignore_index, held.labels, smallest, names)
    used = None if given is None or (given > 0).all() else given > 0
    values, dtype = _read_columns(
        held.proba, from_logits, smallest, names, None if keep_weightless else used
    )
    n_columns = values.shape[1]
    classes = read_labels(
        held.labels,
        max(2, n_columns),
        labels=labels,
        proba=held.proba,
        pos_label=pos_label,
        used=used,
        ignore_index=ignore_index,
        called=names,
    )
    check_beside(classes, n, n_columns, names)
    if from_logits and labels is None:
        check_logits(classes, held.proba.columns, names)
    classes, parts, multilabel = _read_rows(
        values, dtype, classes, link if from_logits else "", one_class, smallest, names, held.proba
    )
    prob, log_prob, rest, log_rest = parts
    places = None if held.weight is None else held.weight.places
    weight, uniform, keep = normalised(
        given, n, prob, keep_weightless, smallest, names.weight, places
    )
    predictions = Predictions(
        prob=read_only(prob),
        log_prob=read_only(log_prob),
        rest=rest,
        log_rest=log_rest,
        classes=classes,
        label=like(np.zeros(n, dtype=np.int64) if classes.codes is None else classes.codes, prob),
        weight=weight,
        uniform=uniform,
        rows=np.arange(n),
        multilabel=multilabel,
        dtype=dtype,
        names=names,
        **_where(held),
    )
    if classes.in_doubt and smallest > 1:
        _look_for_zero(prob, used, names)
    return predictions if keep is None else _take(predictions, keep)


def _where(held: Aligned) -> dict[str, Any]:
    """Say where rows stood, and what the caller calls them."""
    index = held.labels.rows if held.proba.rows is None else held.proba.rows
    return {"places": held.proba.places, "index": index}


def _look_for_zero(prob: Array, used: npt.NDArray[np.bool_] | None, names: Names) -> None:
    """Say so if rows that count are of no class 0, but should be by what is predicted."""
    of_class_0 = to_numpy(prob[:, 0])[slice(None) if used is None else used]
    warn_of_no_zero(float(of_class_0.sum()), int(prob.shape[1]), names.labels, names.proba)


def _read_rows(
    values: Array,
    dtype: Any,
    classes: Classes,
    link: str | None,
    one_class: bool,
    smallest: int,
    names: Names,
    proba: Held,
) -> tuple[Classes, Parts, bool]:
    """Read logits (`link` is not empty) or probabilities, and tell whether columns are separate."""
    if link == "":
        if values.shape[1] == 1 and smallest > 1:
            _check_one_column(values, classes, names)
        sums_to_1, multilabel = _layout(values, dtype, classes, smallest, names, proba)
        values = _cap(values, names, proba)
        return classes, from_probabilities(values, multilabel, sums_to_1), multilabel
    sigmoid = chosen_link(link, int(values.shape[1]), classes, one_class, names) == "sigmoid"
    multilabel = sigmoid and (values.shape[1] > 1 or classes.codes is None)
    if multilabel and classes.indicator is None:
        assert classes.codes is not None  # noqa: S101
        marked = classes.codes[:, None] == np.arange(values.shape[1])
        classes = classes._replace(codes=None, indicator=marked)
    elif multilabel:
        classes = classes._replace(codes=None)
    _warn_of_probabilities(values, dtype, sigmoid, names)
    return classes, from_logits_of(values, multilabel), multilabel


def _warn_of_probabilities(values: Array, dtype: Any, sigmoid: bool, names: Names) -> None:
    """Say so if what is said to be logits looks like probabilities."""
    xp = namespace(values)
    if not to_numpy(xp.all((values >= 0) & (values <= 1))):
        return
    found = "rows between 0 and 1 that sum to 1"
    # A single column has no sum to tell.
    several = values.shape[1] > 1
    sums_to_1 = several and to_numpy(xp.all(xp.abs(xp.sum(values, axis=1) - 1) <= _rounding(dtype)))
    if not sums_to_1:
        few = values.shape[0] < _MANY
        if few or not sigmoid or to_numpy(xp.all(values == xp.round(values))):
            return
        found = "no value below 0 or above 1"
    warn(
        f"{names.proba} has {found}, though from_logits=True says that they are logits: leave it "
        "out if they are probabilities."
    )


def _read_columns(
    proba: Held,
    from_logits: bool,
    smallest: int,
    names: Names,
    used: npt.NDArray[np.bool_] | None,
) -> tuple[Array, Any]:
    """Return (n, m) numbers in double precision, and their dtype.

    Rows that are not `used` are given the numbers of one that is.
    """
    values = _real(proba, names)
    shape = tuple(values.shape)
    if len(shape) not in (1, 2) or 0 in shape:
        fix = "pass one row of probabilities per sample"
        if len(shape) > 2:
            fix = (
                "pass class_axis=1 for shape (n, k, h, w), or one row for each place: "
                "numpy.moveaxis(p, 1, -1).reshape(-1, k)"
            )
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
            "leave-one-out estimates need at least two predictions",
        )
    return exact, dtype


def _check_one_column(prob: Array, classes: Classes, names: Names) -> None:
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


def _real(proba: Held, names: Names) -> Array:
    """Return values if they are real numbers, or raise."""
    values = proba.values
    if is_numpy(values):
        real = values.dtype.kind in "biuf"
    else:
        real = not namespace(values).isdtype(values.dtype, "complex floating")
    if not real:
        raise bad_value(names.proba, *not_real(values, proba.given))
    return values


def _check_values(values: Array, what: str, dtype: Any, names: Names, proba: Held) -> None:
    xp = namespace(values)
    if what == "logits":
        odd = xp.isnan(values) | (values == xp.inf) | xp.all(values == -xp.inf, axis=1)[:, None]
        expected, fix = "finite logits (−inf for a probability of 0)", "drop or repair these rows"
    else:
        rounding = _rounding(dtype)
        odd = ~((values >= -rounding) & (values <= 1 + rounding))
        expected = "probabilities between 0 and 1"
        fix = "drop or repair these rows; pass from_logits=True if these are logits"
    if xp.any(odd):
        places = np.argwhere(to_numpy(odd))
        row, column = (int(i) for i in places[0])
        raise bad_value(
            names.proba,
            f"{float(to_numpy(values)[row, column])} at "
            f"{some_rows(proba.given(np.unique(places[:, 0])))}",
            expected,
            fix,
        )


def _rounding(dtype: Any) -> float:
    """How far a row of `dtype` may be from summing to 1 by rounding alone."""
    name = str(dtype)
    bits = 16 if "16" in name else 32 if "32" in name else 64
    eps = {16: 2.0**-10, 32: 2.0**-23, 64: 2.0**-52}[bits]
    # Predictions made in single precision are often handed over in double.
    return max(math.sqrt(eps), 1e-6)


def _cap(prob: Array, names: Names, proba: Held) -> Array:
    """Read a value outside 0 to 1 by no more than rounding as 0 or 1, and say so."""
    xp = namespace(prob)
    for odd, limit, excess, words in (
        (prob > 1, 1.0, prob - 1, "exceeds 1"),
        (prob < 0, 0.0, -prob, "is below 0"),
    ):
        if to_numpy(xp.any(odd)):
            rows = np.unique(np.argwhere(to_numpy(odd))[:, 0])
            warn(
                f"{names.proba} {words} by rounding (at most {float(xp.max(excess)):.1e}) at "
                f"{some_rows(proba.given(rows))}: read as {limit:g}."
            )
            prob = xp.where(odd, limit, prob)
    return prob


def _layout(
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
    if deviation.max() <= _rounding(dtype):
        return True, False
    odd = np.flatnonzero(deviation > _rounding(dtype))
    found = f"rows that sum to {sums.min():.6g} to {sums.max():.6g} ({some_rows(proba.given(odd))})"
    if deviation.max() > _LARGEST_DEVIATION:
        if classes.indicator is not None:
            return False, True
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


def check_marks(
    classes: Classes,
    deviation: npt.NDArray[np.float64],
    dtype: Any,
    names: Names = USUAL_NAMES,
    fix: str = "",
) -> None:
    """Raise where rows mark one class or none, and sums that `deviation` is of are those of one."""
    # Of a few separate columns sums may be near 1 by chance.
    largest = _LARGEST_DEVIATION if len(deviation) >= _MANY else _rounding(dtype)
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


def _take(predictions: Predictions, keep: Array) -> Predictions:
    """Keep some rows."""
    xp = namespace(predictions.prob)
    index = like(keep, predictions.prob)
    names = ("prob", "log_prob", "rest", "log_rest", "label", "weight")
    taken = {name: xp.take(getattr(predictions, name), index, axis=0) for name in names}
    kept = replace(predictions, rows=predictions.rows[keep], **taken)
    return replace(kept, uniform=bool(xp.all(kept.weight == kept.weight[0])))
