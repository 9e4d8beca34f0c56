"""Curves of a reliability display: the isotonic one with its bands, or the points of bins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propercal._data.inputs.settings import check_confidence_level
from propercal._data.words.messages import bad_value, unknown_name
from propercal.diagrams import reliability
from propercal.sklearn.binary import Rows

if TYPE_CHECKING:
    import xarray as xr

Floats = NDArray[np.float64]


class _Strategy(NamedTuple):
    """How a curve is made of predictions."""

    binned: bool
    quantiles: bool = False


_STRATEGIES = {
    "isotonic": _Strategy(binned=False),
    "uniform": _Strategy(binned=True),
    "quantile": _Strategy(binned=True, quantiles=True),
}


class Bands(NamedTuple):
    """What bands are made from, as :func:`propercal.reliability` takes it."""

    confidence_level: float
    n_resamples: int
    random_state: Any


class Curve(NamedTuple):
    """Points of a curve."""

    true: Floats
    """How often the positive class occurred."""
    predicted: Floats
    """At which predicted probability."""
    reliability: xr.Dataset | None
    """With the bands, of the isotonic one."""


def curve_of(rows: Rows, strategy: str, n_bins: object, bands: Bands) -> Curve:
    """Return the curve of rows, or raise."""
    level = check_confidence_level(bands.confidence_level)
    if strategy not in _STRATEGIES:
        raise unknown_name("strategy", strategy, tuple(_STRATEGIES))
    chosen, number = _STRATEGIES[strategy], _count(n_bins)
    if chosen.binned:
        return Curve(*_binned(rows, number, quantiles=chosen.quantiles), None)
    given = bands._replace(confidence_level=level)._asdict()
    found = reliability(
        rows.occurred, rows.prob, sample_weight=rows.weight, groups=rows.groups, **given
    )
    return Curve(found["curve"].values, found["prediction"].values, found)


def _count(n_bins: object) -> int:
    if isinstance(n_bins, bool) or not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise bad_value("n_bins", repr(n_bins), "a whole number from 1 on", "5 is usual")
    return int(n_bins)


def _binned(rows: Rows, n_bins: int, *, quantiles: bool) -> tuple[Floats, Floats]:
    """Return frequencies and mean predictions of bins that are not empty, as scikit-learn does."""
    weight = np.ones(len(rows.prob)) if rows.weight is None else _weights(rows.weight)
    share = np.linspace(0.0, 1.0, n_bins + 1)
    if quantiles and (weight == weight[0]).all():
        edges = np.quantile(rows.prob, share)
    elif quantiles:
        edges = np.quantile(rows.prob, share, weights=weight, method="inverted_cdf")
    else:
        edges = share
    place = np.searchsorted(edges[1:-1], rows.prob)
    total, of_event, of_prob = (
        np.bincount(place, weight * each, minlength=n_bins)
        for each in (1, rows.occurred, rows.prob)
    )
    filled = total > 0
    return of_event[filled] / total[filled], of_prob[filled] / total[filled]


def _weights(weight: Any) -> Floats:
    if weight.dtype.kind not in "biuf" or not (np.isfinite(weight) & (weight >= 0)).all():
        raise bad_value(
            "sample_weight", "a vector", "finite weights ≥ 0", "correct or leave it out"
        )
    if not weight.any():
        raise bad_value("sample_weight", "zeros alone", "a positive weight", "correct it")
    return np.asarray(weight, dtype=np.float64)
