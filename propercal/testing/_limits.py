"""What an assertion allows, and how often it may be wrong."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from propercal._array import to_numpy
from propercal._data.words.messages import bad_value
from propercal.inference.calibration_test import check_resamples
from propercal.result import Decomposition


def check_alpha(alpha: object) -> float:
    """Return the probability of a false alarm, or raise."""
    if not 0 < _number(alpha) < 0.5:
        raise bad_value(
            "alpha",
            repr(alpha),
            "the probability of a false alarm, above 0 and below 0.5",
            "0.01 lets one of a hundred calibrated models fail on the rows at hand",
        )
    return _number(alpha)


def check_reachable(alpha: float, n_resamples: Any) -> int:
    """Return the number of label sets, if a p-value can be as small as `alpha`, or raise."""
    sets = check_resamples(n_resamples)
    if (sets + 1) * alpha < 1:
        raise bad_value(
            "alpha",
            repr(alpha),
            f"at least {1 / (sets + 1):.3g}, the smallest p-value of {sets} label "
            "sets, or nothing could ever fail",
            f"pass n_resamples={math.ceil(10 / alpha) - 1}, or a larger alpha",
        )
    return sets


def check_allowed(argument: str, value: object) -> float:
    """Return a size of miscalibration that is allowed, or raise."""
    number = _number(value)
    if not 0 <= number < math.inf:
        raise bad_value(
            argument,
            repr(value),
            "a finite number of at least 0, in units of the loss",
            "0 allows nothing that shows beyond chance",
        )
    return number


def _number(value: Any) -> float:
    """Return a number as a float; NaN for what is none, and for a truth value."""
    return math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)


def lower_limit(result: Decomposition) -> float:
    """Return the lower end of the interval of the calibration error; an infinite error itself."""
    value = float(to_numpy(result.calibration_error))
    error = result.standard_errors.get("calibration_error", math.inf)
    return result.interval("calibration_error")[0] if math.isfinite(value + error) else value
