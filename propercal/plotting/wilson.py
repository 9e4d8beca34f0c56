"""Wilson's interval of a probability."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def wilson_interval(
    frequency: Floats, count: npt.NDArray[Any], confidence_level: float
) -> tuple[Floats, Floats]:
    """Return Wilson's confidence interval of a probability from a frequency in `count` draws."""
    z = NormalDist().inv_cdf(0.5 + confidence_level / 2)
    shrunk = 1 + z**2 / count
    centre = (frequency + z**2 / (2 * count)) / shrunk
    half = z * np.sqrt(frequency * (1 - frequency) / count + (z / (2 * count)) ** 2) / shrunk
    # Rounding must not leave the frequency itself outside.
    return np.minimum(centre - half, frequency), np.maximum(centre + half, frequency)
