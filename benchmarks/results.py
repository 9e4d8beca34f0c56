"""The dataset of a run, and how time and memory grow in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from benchmarks.cases import Case, Outcome
from benchmarks.series import SERIES

SIZE = ("series", "sample_size", "n_classes")
#: Exponents are fitted over the largest decade, or two where one has a single size.
_DECADES = (10.0, 100.0)
_DESCRIPTIONS = {
    "seconds": "time of each repetition, in s; NaN beyond the last",
    "seconds_median": "median time, in s",
    "seconds_spread": "half the distance between the quartiles of the time, in s",
    "ratio": "median of time / time of the reference right after it",
    "ratio_spread": "half the distance between the quartiles of the ratio",
    "memory": "peak memory added over the imports, predictions included, in MiB; "
    "that of the GPU where the series computes on one",
    "data": "labels and predictions alone, in MiB",
    "error": "why there is no time; empty where there is one, or nothing was asked",
    "time_exponent": "slope of log time in log n, over the largest decade",
    "memory_exponent": "slope of log memory in log n, over the largest decade",
    "time_exponent_in_k": "slope of log time in log k, over the largest decade",
    "memory_exponent_in_k": "slope of log memory in log k, over the largest decade",
}


def dataset(found: Sequence[tuple[Case, Outcome]], attributes: dict[str, str]) -> xr.Dataset:
    """Return all outcomes by series, sample size n, number of classes k, and repetition."""
    names = list(dict.fromkeys(case.series for case, _ in found))
    sizes = sorted({case.n for case, _ in found})
    class_counts = sorted({case.k for case, _ in found})
    shape = len(names), len(sizes), len(class_counts)
    n_repeats = max([len(outcome.seconds) for _, outcome in found], default=0)
    floats = {
        name: np.full(shape, np.nan)
        for name in ("seconds_median", "seconds_spread", "ratio", "ratio_spread", "memory", "data")
    }
    seconds = np.full((*shape, n_repeats), np.nan)
    errors = np.full(shape, "", dtype=object)
    for case, outcome in found:
        at = names.index(case.series), sizes.index(case.n), class_counts.index(case.k)
        seconds[at][: len(outcome.seconds)] = outcome.seconds
        errors[at] = outcome.error
        floats["seconds_median"][at], floats["seconds_spread"][at] = centre(outcome.seconds)
        floats["ratio"][at], floats["ratio_spread"][at] = centre(outcome.ratios)
        floats["memory"][at], floats["data"][at] = outcome.memory_mib, outcome.data_mib
    variables: dict[str, Any] = {
        "seconds": ((*SIZE, "repetition"), seconds),
        **{name: (SIZE, values) for name, values in floats.items()},
        "error": (SIZE, errors),
    }
    n, k = np.array(sizes, dtype=float), np.array(class_counts, dtype=float)
    for what, name in (("time", "seconds_median"), ("memory", "memory")):
        values = floats[name]
        variables[f"{what}_exponent"] = (("series", "n_classes"), slopes(n, values))
        in_k = slopes(k, np.swapaxes(values, 1, 2))
        variables[f"{what}_exponent_in_k"] = (("series", "sample_size"), in_k)
    result = xr.Dataset(
        variables,
        coords={
            "series": names,
            "sample_size": sizes,
            "n_classes": class_counts,
            "reference": ("series", [SERIES[name].reference_name for name in names]),
        },
        attrs=attributes,
    )
    for name, description in _DESCRIPTIONS.items():
        result[name].attrs["description"] = description
    return result


def slopes(sizes: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log-log slope along the middle axis of (a, size, b), NaN where there is none."""
    result = np.full((values.shape[0], values.shape[2]), np.nan)
    for i, j in np.ndindex(result.shape):
        known = values[i, :, j] > 0
        result[i, j] = _slope(sizes[known], values[i, known, j])
    return result


def _slope(sizes: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    for decade in _DECADES:
        large = sizes >= sizes.max(initial=0.0) / decade
        if np.count_nonzero(large) >= 2:
            return float(np.polyfit(np.log(sizes[large]), np.log(values[large]), 1)[0])
    return float("nan")


def centre(values: Sequence[float]) -> tuple[float, float]:
    """Return the median and half the distance of the quartiles."""
    if not values:
        return float("nan"), float("nan")
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return float(middle), float(high - low) / 2
