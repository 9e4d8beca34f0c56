"""Standard errors of means over rows, and intervals of divergences."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from propercal._data.inputs.settings import check_confidence_level

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

#: In half-widths: where the lower end of a divergence is that on the scale of its square root.
_JOINED = 1.5

#: With which a miscalibration shows at the detection floor.
POWER = 0.8


def level_or(default: float, confidence_level: float | None) -> float:
    """Return the level that was asked for, checked; that of the result where none was."""
    return check_confidence_level(default if confidence_level is None else confidence_level)


def half_width(standard_error: float, confidence_level: float) -> float:
    """Return how far a normal interval reaches to either side."""
    return NormalDist().inv_cdf(0.5 + confidence_level / 2) * standard_error


def divergence_interval(
    centre: float, error: float, confidence_level: float, noise_floor: float | None = None
) -> tuple[float, float]:
    """Return the ends for a divergence, no narrower than the noise of one coefficient."""
    half = half_width(error, confidence_level)
    low, high = _lower_end(centre, half), _upper_end(centre, half)
    if noise_floor is not None:
        ends = _of_one_coefficient(centre, noise_floor, confidence_level)
        low, high = min(low, ends[0]), max(high, ends[1])
    return low, high


def _lower_end(centre: float, half: float) -> float:
    """Return the lower end for a divergence: 0, a straight line, then normal for the root."""
    if centre > _JOINED * half:
        return centre - half + half**2 / (4 * centre)
    # So steep that it meets the scale of the root, which does not reach 0 at z standard errors.
    return max((centre - half) * 4 / 3, 0.0)


def _upper_end(centre: float, half: float) -> float:
    """Return the upper end for a divergence: normal below 0, a line, then normal for the root."""
    if centre > half:
        return centre + half + half**2 / (4 * centre)
    return max(half + max(centre, centre * 5 / 4), 0.0)


def _of_one_coefficient(centre: float, floor: float, level: float) -> tuple[float, float]:
    """Return the interval that the noise of one coefficient would give, if that were all."""
    root, half = math.sqrt(max(centre, 0.0) + floor), half_width(math.sqrt(floor), level)
    return max(root - half, 0.0) ** 2, (root + half) ** 2


def error_of_mean(values: Floats, weight: Floats, squares: Floats, n: int) -> float:
    """Return the standard error of the weighted mean of `n` independent rows, summed by value.

    `weight` and `squares` are the sums of their weights, which sum to 1 in all, and of the squares
    of these.
    """
    if not np.isfinite(values).all():
        return math.inf
    deviation = values - weight @ values
    return math.sqrt(float(squares @ deviation**2) * n / (n - 1))


def standard_error_of_groups(values: Floats, weight: Floats, group: Numbers) -> float:
    r"""Return the standard error of the weighted mean of rows of which groups are independent.

    .. math:: \hat σ^2 = \frac{G}{G - 1} \sum_c \Bigl( \sum_{j \in c} w_j (x_j - \bar x) \Bigr)^2.

    Parameters
    ----------
    values, weight : array (n,)
        What is averaged, and weights of sum 1.
    group : array (n,)
        Numbers of groups, 0 to G − 1.
    """
    if not np.isfinite(values).all():
        return float("inf")
    sums = np.bincount(group, weight * (values - weight @ values))
    return float(np.sqrt(sums @ sums * len(sums) / (len(sums) - 1)))


def error_of_rows(values: Floats, weight: Floats, group: Numbers | None) -> float:
    """Return the standard error of the weighted mean of independent rows, or groups of them."""
    if group is not None:
        return standard_error_of_groups(values, weight, group)
    return error_of_mean(values, weight, weight**2, len(values))
