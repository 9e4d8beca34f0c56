"""Murphy curves: the mean elementary score of models by threshold, and the difference of two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from propercal._array import ignore_underflow, slices
from propercal._data.dependence.groups import check_number
from propercal._data.inputs.reading import as_python
from propercal._data.inputs.settings import check_confidence_level, check_random_state
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.notions import Notion
from propercal._data.predictions.predictions import Reading
from propercal._data.words.messages import bad_value
from propercal.diagrams.curve import isotonic_curve, sums
from propercal.diagrams.elementary import elementary_scores, mean_elementary_scores
from propercal.diagrams.events import Event, read_models
from propercal.diagrams.scores import attributes

if TYPE_CHECKING:
    import xarray as xr

Floats = npt.NDArray[np.float64]

#: Thresholds by default: the hundredths and halves of them.
_THRESHOLDS = 199
#: Rows whose scores are held at once, and draws of the deviations.
_ROWS, _DRAWS = 4096, 10_000
#: Rows that are added to those that differ at each threshold, so many in which the event occurred
#: and so many in which it did not: where it occurred in few, or in none, others might have had it.
#: Half the square of a normal quantile, as is usual, of about 2.8, since the band holds everywhere.
_ADDED = 4


@with_reading
@ignore_underflow
def murphy(
    y_true: object,
    predictions: object,
    *,
    notion: str | Notion | None = None,
    event: int | str | None = None,
    thresholds: object = None,
    confidence_level: float = 0.95,
    groups: object = None,
    blocks: int | str | None = None,
    random_state: Any = 0,
    **reading: Unpack[Reading],
) -> xr.Dataset:
    r"""Return the mean elementary score of each model at each threshold.

    .. math::

        S_\theta(g, y) &= \theta\, 1[y = 0,\, g > \theta]
        + (1 - \theta)\, 1[y = 1,\, g < \theta], \\
        L_F(g, y) + F(y) &= \int_0^1 S_\theta(g, y)\, f''(\theta)\, d\theta,

    with f(p) = F(1 − p, p), and half of a term where g = θ. It is the regret of who acts where the
    probability is above θ, if a false alarm costs θ and a miss 1 − θ. The weight f″ is 4 for the
    Brier score (summed over both classes) and 1 / (θ (1 − θ)) for the log loss: a model whose curve
    is nowhere above that of another has the lower loss, whatever the loss is.

    Parameters
    ----------
    y_true, from_logits, sample_weight, labels
        As in :func:`propercal.decompose`.
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.
    predictions : array-like, or mapping of str to array-like
        Probabilities of one model as in :func:`propercal.decompose`, or of several by name.
    notion, event
        As in :func:`propercal.reliability`; several models must have the same event.
    thresholds : array-like of shape (t,), optional
        Numbers between 0 and 1; by default 0.005, 0.01, ..., 0.995.
    confidence_level : float
        Level of the band of the difference, at all thresholds at once.
    groups, blocks
        Rows that depend on each other, as in :func:`propercal.decompose`; 20 groups or more.
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Draws of the band.

    Returns
    -------
    xarray.Dataset
        ``score`` along "model" and "threshold", and ``recalibrated``, that of each model's isotonic
        curve, which no non-decreasing recalibration undercuts at any threshold. ``uncertainty``
        along "threshold" is that of the base rate. Of two models also their ``difference``, the
        first less the second, with ``difference_lower`` and ``difference_upper``.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Notes
    -----
    The band has a multiple of the standard error at each threshold, which is that of the largest
    deviation of a normal process with the covariance of the rows (or of sums over groups). Where
    few rows differ, and the event occurred in hardly any of them, this would be too small. So four
    rows with the event and four without it are added to those that differ at each threshold, for
    the standard error alone, as Agresti and Coull add two of each for one frequency.

    References
    ----------
    Ehm, Gneiting, Jordan & Krüger (2016), "Of quantiles and expectiles: consistent scoring
    functions, Choquet representations and forecast rankings", doi:10.1111/rssb.12154.

    Examples
    --------
    >>> found = murphy([0, 0, 1, 1], {"a": [0.1, 0.4, 0.35, 0.8]}, thresholds=[0.3, 0.5])
    >>> print(found.score.values)
    [[0.075 0.125]]
    """
    level = check_confidence_level(confidence_level)
    at = _check_thresholds(thresholds)
    models = read_models(
        y_true,
        predictions,
        notion=notion,
        event=event,
        groups=groups,
        blocks=blocks,
        **reading,
    )
    return murphy_of(models, at, level, random_state)


def murphy_of(
    models: Mapping[str, Event], at: Floats | None, level: float, random_state: Any
) -> xr.Dataset:
    """Return the curves of events that were read, by default at the usual thresholds."""
    import xarray as xr

    at = _check_thresholds(None) if at is None else at
    check_random_state(random_state)
    first, *others = models.values()
    check_number(first.n_groups, "the band of a difference", first.classes.grouped_by)
    curves = [isotonic_curve(each) for each in models.values()]
    fitted = [curve.value[curve.number] for curve in curves]
    score = [_mean(each, each.predicted, at) for each in models.values()]
    best = [_mean(each, c, at) for each, c in zip(models.values(), fitted, strict=True)]
    dims = ("model", "threshold")
    base = np.full(first.n_samples, first.base_rate)
    found: dict[str, Any] = {
        "score": (dims, score),
        "recalibrated": (dims, best),
        "uncertainty": ("threshold", _mean(first, base, at)),
    }
    if len(others) == 1:
        rng = np.random.default_rng(random_state)
        band = _difference(first, others[0], at, level, rng)
        for name, values in zip(("", "_lower", "_upper"), band, strict=True):
            found[f"difference{name}"] = ("threshold", values)
    return xr.Dataset(
        found,
        coords={"model": list(models), "threshold": at},
        attrs={**attributes(first), "confidence_level": level},
    )


def _check_thresholds(thresholds: object) -> Floats:
    if thresholds is None:
        return np.arange(1, _THRESHOLDS + 1) / (_THRESHOLDS + 1)
    expected, fix = "numbers between 0 and 1 in one dimension", "0.5 is the even bet"
    try:
        found = np.asarray(as_python(thresholds), dtype=np.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise bad_value("thresholds", repr(thresholds), expected, fix) from error
    if found.ndim != 1 or found.size == 0 or not ((found >= 0) & (found <= 1)).all():
        raise bad_value("thresholds", repr(thresholds), expected, fix)
    return found


def _mean(event: Event, predicted: Floats, at: Floats) -> Floats:
    return mean_elementary_scores(predicted, event.occurred, event.weight, at)


class _Difference(NamedTuple):
    """A difference with its band."""

    value: Floats
    lower: Floats
    upper: Floats


def _difference(
    a: Event, b: Event, at: Floats, level: float, rng: np.random.Generator
) -> _Difference:
    value = _mean(a, a.predicted, at) - _mean(b, b.predicted, at)
    if np.array_equal(a.predicted, b.predicted):
        return _Difference(value, value, value)
    covariance = _covariance(a, b, at, value)
    error = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    roots, vectors = np.linalg.eigh(covariance / error[:, None] / error)
    process = rng.standard_normal((_DRAWS, len(at))) * np.sqrt(np.maximum(roots, 0.0)) @ vectors.T
    factor = float(np.quantile(np.abs(process).max(axis=1), level))
    return _Difference(value, value - factor * error, value + factor * error)


def _covariance(a: Event, b: Event, at: Floats, mean: Floats) -> Floats:
    """Return the covariance of the weighted mean difference of independent rows, or groups."""
    n_units = a.n_samples if a.groups is None else int(a.groups.max()) + 1
    total = np.zeros((len(at), len(at)))
    of_groups = np.zeros((0 if a.groups is None else n_units, len(at)))
    for part in slices(a.n_samples, _ROWS):
        rows = elementary_scores(a.predicted[part], a.occurred[part], at)
        rows -= elementary_scores(b.predicted[part], b.occurred[part], at)
        rows = a.weight[part, None] * (rows - mean)
        if a.groups is None:
            total += rows.T @ rows
        else:
            np.add.at(of_groups, a.groups[part], rows)
    if a.groups is not None:
        total = of_groups.T @ of_groups
    return total * n_units / (n_units - 1) + _added(a, at)


def _added(event: Event, at: Floats) -> Floats:
    """Return what rows of the usual weight add: a difference is ±(y − θ) where one model acts."""
    weight = event.weight if event.groups is None else sums(event.groups, event.weight)
    square = float(weight @ weight) / len(weight)
    return _ADDED * square * (np.outer(at, at) + np.outer(1 - at, 1 - at))
