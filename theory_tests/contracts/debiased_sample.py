"""A sample, a recalibrator that keeps what it was given, and what every debiased result satisfies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from propercal import Decomposition
from propercal.generators import Tsallis
from theory_tests.instances import TERMS, calibrated, values

RNG = np.random.default_rng(0)
N = 60
Y, P = calibrated(N, seed=RNG)
TOP = P.argmax(axis=1)
FAST: dict[str, Any] = {"bandwidth": 0.1}
BOUNDED: list[Any] = ["log", "brier", "spherical", Tsallis(1.5)]
leans_on_the_kernel = pytest.mark.filterwarnings("ignore:.*only the kernel sees")


class Recalibrator:
    """Predicts what `function` makes of X, and keeps what it was given."""

    def __init__(self, function: Any = lambda X: X) -> None:
        self.function = function
        self.calls: list[Any] = []

    def __deepcopy__(self, _: Any) -> Recalibrator:
        copy = Recalibrator(self.function)
        self.calls.append(copy)
        return copy

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Recalibrator:
        self.fitted_to = (X, y, sample_weight)
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.function(X)


def is_sound(found: Decomposition) -> bool:
    numbers = [*values(found), found.lower_bound, found.kernel_share]
    ends = [end for term in TERMS for end in found.interval(term)]
    return (
        all(map(math.isfinite, [*numbers, *ends]))
        and math.isclose(found.risk, found.calibration_error + found.refinement, rel_tol=1e-12, abs_tol=1e-12)
        and math.isclose(found.refinement, found.uncertainty - found.sharpness, rel_tol=1e-12, abs_tol=1e-12)
        and found.lower_bound <= found.calibration_error + 1e-12
    )
