"""Student's law of a mean of rows, or of sums over groups of them: p-values and quantiles."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


def shares(weight: Floats, group: Numbers | None) -> Floats:
    """(G,) the part of each group in weights (n,) of sum 1; of each row where there are none."""
    return weight if group is None else np.bincount(group, weight).astype(np.float64)


def effective_number(share: Floats) -> float:
    """Return the number of parts of equal weight that would tell as much."""
    return 1 / float(share @ share)


def degrees_of_freedom(share: Floats) -> float:
    """Return those of the standard error of a mean of independent parts."""
    return max(effective_number(share) - 1, 1.0)


def two_sided(difference: float, error: float, degrees_of_freedom: float) -> float:
    """Return the p-value of a difference of 0; NaN where the difference is infinite."""
    if difference == 0 or not math.isfinite(difference):
        return 1.0 if difference == 0 else math.nan
    return 2 * upper_tail(abs(difference) / error, degrees_of_freedom) if error > 0 else 0.0


def upper_tail(t: float, degrees_of_freedom: float) -> float:
    """Return the probability of more than t under Student's law."""
    if math.isinf(degrees_of_freedom):
        return math.erfc(t / math.sqrt(2)) / 2
    from scipy.special import stdtr

    return float(stdtr(degrees_of_freedom, -t))


def quantile(probability: float, degrees_of_freedom: float) -> float:
    """Return the value below which Student's law has a probability."""
    from scipy.special import ndtri, stdtrit

    if math.isinf(degrees_of_freedom):
        return float(ndtri(probability))
    return float(stdtrit(degrees_of_freedom, probability))


def around(difference: float, error: float, level: float, freedom: float) -> tuple[float, float]:
    """Return the ends of an interval of a level around a difference."""
    half = quantile(0.5 + level / 2, freedom) * error
    return difference - half, difference + half
