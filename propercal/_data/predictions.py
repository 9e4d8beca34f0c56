"""Data as users have it → one clean set of predictions, or one clear error.

Everything after this file may assume: n ≥ 2 rows of k ≥ 2 finite probabilities in double
precision with their exact logarithms, class numbers, and positive weights that sum to 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from propercal._array import by_rows, is_numpy, like, namespace, read_only, safe_log, to_numpy
from propercal._data.labels import Classes, read_labels
from propercal._data.messages import bad_value, some_rows, warn
from propercal._data.reading import read_array, read_numpy
from propercal._data.settings import check_flag
from propercal._typing import Array

#: Rows whose sum is further from 1 than this are not probabilities; nearer ones are used with a
#: warning, unless the dtype's own rounding explains them.
_LARGEST_DEVIATION = 0.1


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
        near_one = (self.prob > 0.5) & _is_top(self.prob)
        return (
            xp.where(near_one, self.rest[:, None], 1 - self.prob),
            xp.where(near_one, self.log_rest[:, None], _log1m(self.prob)),
        )


def validate(
    y_true: object,
    y_proba: object,
    *,
    from_logits: bool = False,
    sample_weight: object = None,
    labels: Sequence[Any] | None = None,
    keep_weightless: bool = False,
    smallest: int = 2,
) -> Predictions:
    """Check all data arguments together and bring them into one form.

    `keep_weightless` keeps rows of weight 0, which then count as targets but not as sources;
    `smallest` is the least number of rows.
    """
    check_flag("from_logits", from_logits)
    values, columns = _as_array(y_proba)
    shape = tuple(values.shape)
    if len(shape) not in (1, 2) or 0 in shape:
        raise bad_value(
            "y_proba",
            f"an array of shape {shape}",
            "shape (n,), (n, 1) or (n, k) with n ≥ 2",
            "pass one row of probabilities per sample",
        )
    xp = namespace(values)
    floating = xp.isdtype(values.dtype, "real floating")
    dtype = values.dtype if floating else xp.float64
    if len(shape) == 1:
        values = values[:, None]
    exact = xp.astype(values, xp.float64, copy=False)
    _check_values(exact, "logits" if from_logits else "probabilities", dtype)

    n, n_columns = exact.shape
    n_classes = max(2, n_columns)
    if n < smallest:
        raise bad_value(
            "y_proba", f"{n} row", "n ≥ 2", "leave-one-out estimates need at least two predictions"
        )
    classes = read_labels(y_true, n_classes, labels=labels, columns=columns)
    n_labels = len(classes.indicator if classes.codes is None else classes.codes)  # type: ignore[arg-type]
    if n_labels != n:
        raise bad_value(
            "y_true", f"{n_labels} labels", f"{n}, one per row of y_proba", "align the two"
        )

    multilabel = classes.codes is None
    normalised = True
    if not from_logits:
        if n_columns == 1:
            if smallest > 1 and to_numpy(xp.all(exact == 1)):
                raise bad_value(
                    "y_proba",
                    f"ones only, of shape {shape}",
                    "the probability of the positive class, or k ≥ 2 columns",
                    "one class leaves nothing to calibrate: a softmax over one column is always 1",
                )
        elif not multilabel:
            normalised, multilabel = _check_sums(exact, dtype, classes)
    if from_logits:
        prob, log_prob, rest, log_rest = _from_logits(exact, multilabel)
    else:
        prob, log_prob, rest, log_rest = _from_probabilities(_cap(exact), multilabel, normalised)
    codes = np.zeros(n, dtype=np.int64) if classes.codes is None else classes.codes
    weight, uniform, keep = read_weights(sample_weight, n, prob, keep_weightless)
    predictions = Predictions(
        prob=read_only(prob),
        log_prob=read_only(log_prob),
        rest=rest,
        log_rest=log_rest,
        classes=classes,
        label=like(codes, prob),
        weight=weight,
        uniform=uniform,
        rows=np.arange(n),
        multilabel=multilabel,
        dtype=dtype,
    )
    return predictions if keep is None else _take(predictions, keep)


def _as_array(y_proba: object) -> tuple[Array, Sequence[Any] | None]:
    """Return an array and, where the caller's object has them, its column names."""
    values = read_array("y_proba", y_proba)
    columns = list(y_proba.columns) if hasattr(y_proba, "columns") else None
    xp = namespace(values)
    if is_numpy(values):
        real = values.dtype.kind in "biuf"
    else:
        real = not xp.isdtype(values.dtype, "complex floating")
    if not real:
        raise bad_value(
            "y_proba",
            f"values of type {values.dtype}",
            "real numbers",
            "convert them to floating point",
        )
    return values, columns


def _check_values(values: Array, what: str, dtype: Any) -> None:
    xp = namespace(values)
    if what == "logits":
        odd = xp.isnan(values) | (values == xp.inf) | xp.all(values == -xp.inf, axis=1)[:, None]
        expected, fix = "finite logits (−inf for a probability of 0)", "drop or repair these rows"
    else:
        top = 1 + _rounding(dtype)
        odd = ~((values >= 0) & (values <= top))
        expected = "probabilities between 0 and 1"
        fix = "drop or repair these rows; pass from_logits=True if these are logits"
    if xp.any(odd):
        places = np.argwhere(to_numpy(odd))
        row, column = (int(i) for i in places[0])
        raise bad_value(
            "y_proba",
            f"{float(to_numpy(values)[row, column])} at {some_rows(np.unique(places[:, 0]))}",
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


def _cap(prob: Array) -> Array:
    """Read a value above 1 by no more than rounding as 1, and say so."""
    xp = namespace(prob)
    above = prob > 1
    if not to_numpy(xp.any(above)):
        return prob
    rows = np.unique(np.argwhere(to_numpy(above))[:, 0])
    warn(
        f"y_proba exceeds 1 by rounding (at most {float(xp.max(prob)) - 1:.1e}) at "
        f"{some_rows(rows)}: read as 1."
    )
    return xp.where(above, 1.0, prob)


def _check_sums(prob: Array, dtype: Any, classes: Classes) -> tuple[bool, bool]:
    """Return whether rows sum to 1, and whether the columns are separate problems instead."""
    sums = to_numpy(namespace(prob).sum(prob, axis=1))
    deviation = np.abs(sums - 1)
    if deviation.max() <= _rounding(dtype):
        return True, False
    odd = np.flatnonzero(deviation > _rounding(dtype))
    found = f"rows that sum to {sums.min():.6g} to {sums.max():.6g} ({some_rows(odd)})"
    if deviation.max() > _LARGEST_DEVIATION:
        if classes.indicator is not None:
            return False, True
        raise bad_value(
            "y_proba",
            found,
            "rows that sum to 1",
            "normalise them; pass an indicator matrix as y_true for multi-label predictions",
        )
    warn(
        f"y_proba has {found}, used as they are. Divide each row by its sum if these are rounded "
        "probabilities."
    )
    return False, False


def _from_logits(logits: Array, multilabel: bool) -> tuple[Array, Array, Array, Array]:
    """Return p, log p, and the rest and its logarithm, as in :class:`Predictions`."""
    xp = namespace(logits)
    zeros = xp.zeros_like(logits)
    if multilabel:
        log_prob, log_rest = -xp.logaddexp(zeros, -logits), -xp.logaddexp(zeros, logits)
        return xp.exp(log_prob), log_prob, xp.exp(log_rest), log_rest
    return _softmax(logits if logits.shape[1] > 1 else xp.concat([zeros, logits], axis=1))


def _from_probabilities(
    values: Array, multilabel: bool, normalised: bool
) -> tuple[Array, Array, Array, Array]:
    """Return p, log p, and the rest and its logarithm, as in :class:`Predictions`."""
    xp = namespace(values)
    if multilabel:
        return values, safe_log(values), 1 - values, _log1m(values)
    if values.shape[1] == 1:
        prob = xp.concat([1 - values, values], axis=1)
        log_prob = xp.concat([_log1m(values), safe_log(values)], axis=1)
    else:
        prob, log_prob = values, by_rows(safe_log, values)
    if normalised:
        rest = by_rows(lambda p: xp.sum(xp.where(_is_top(p), 0.0, p), axis=1), prob)
    else:
        rest = 1 - xp.max(prob, axis=1)
    return prob, log_prob, rest, safe_log(rest)


def _log1m(prob: Array) -> Array:
    """Return log(1 − p): −inf at 1, where the gradient is 0 rather than NaN."""
    xp = namespace(prob)
    below = prob < 1
    return xp.where(below, xp.log1p(-xp.where(below, prob, 0.0)), -xp.inf)


def _is_top(values: Array) -> Array:
    """(n, k) marks of the first largest entry of each row."""
    xp = namespace(values)
    columns = xp.arange(values.shape[1], device=values.device)
    return columns[None, :] == xp.argmax(values, axis=1)[:, None]


def _softmax(logits: Array) -> tuple[Array, Array, Array, Array]:
    xp = namespace(logits)
    top = _is_top(logits)
    shifted = logits - xp.max(logits, axis=1, keepdims=True)
    others = xp.where(top, -xp.inf, shifted)
    largest = xp.max(others, axis=1, keepdims=True)
    largest = xp.where(largest == -xp.inf, 0.0, largest)
    others_sum = xp.sum(xp.exp(others - largest), axis=1)
    normaliser = xp.log1p(xp.sum(xp.exp(others), axis=1))
    log_prob = shifted - normaliser[:, None]
    log_rest = largest[:, 0] + safe_log(others_sum) - normaliser
    return xp.exp(log_prob), log_prob, xp.exp(log_rest), log_rest


def read_weights(
    sample_weight: object, n: int, prob: Array, keep_weightless: bool = False
) -> tuple[Array, bool, Array | None]:
    """Return weights that sum to 1, whether they are equal, and the rows to keep (None: all)."""
    xp = namespace(prob)
    if sample_weight is None:
        return xp.ones_like(prob[:, 0]) / n, True, None
    given = read_numpy("sample_weight", sample_weight)
    fix = "pass one finite weight ≥ 0 per row, at least two of them positive"
    if given.dtype.kind not in "biuf" or given.shape != (n,):
        raise bad_value(
            "sample_weight",
            f"an array of shape {given.shape} and type {given.dtype}",
            f"numbers of shape ({n},)",
            fix,
        )
    weight = given.astype(np.float64)
    odd = ~(np.isfinite(weight) & (weight >= 0))
    if odd.any():
        rows = np.flatnonzero(odd)
        raise bad_value(
            "sample_weight", f"{weight[rows[0]]} at {some_rows(rows)}", "finite weights ≥ 0", fix
        )
    positive = np.flatnonzero(weight > 0)
    if len(positive) < 2:
        raise bad_value("sample_weight", f"{len(positive)} positive weights", "two or more", fix)
    # Scaled by the largest first, so that the sum cannot overflow.
    weight = weight / weight.max()
    weight = weight / weight.sum()
    uniform = bool((weight == weight[0]).all())
    keep = None if keep_weightless or len(positive) == n else positive
    return like(weight, prob), uniform, keep


def _take(predictions: Predictions, keep: Array) -> Predictions:
    """Keep some rows."""
    xp = namespace(predictions.prob)
    index = like(keep, predictions.prob)
    names = ("prob", "log_prob", "rest", "log_rest", "label", "weight")
    taken = {name: xp.take(getattr(predictions, name), index, axis=0) for name in names}
    kept = replace(predictions, rows=predictions.rows[keep], **taken)
    return replace(kept, uniform=bool(xp.all(kept.weight == kept.weight[0])))
