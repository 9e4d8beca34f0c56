"""A program of a user, whose types `mypy --strict` checks against the installed package."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import propercal
from propercal.generators import BregmanGenerator, Brier, Log
from propercal.methods import Debiased, Risk
from propercal.recalibration import TemperatureScaling
from propercal.testing import assert_calibrated, assert_no_worse_calibrated

rng = np.random.default_rng(0)
calibrated: npt.NDArray[np.float64] = rng.uniform(0.05, 0.95, 400)
y = rng.uniform(size=400) < calibrated


class Power(BregmanGenerator):
    """Σ p³ − 1, a generator of the user's own."""

    def value(self, p: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return F."""
        return np.asarray((p**3).sum(-1) - 1)

    def gradient(self, p: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return ∇F."""
        return 3 * p**2


result: propercal.Decomposition = propercal.decompose(y, calibrated, generator=Brier())
low, high = result.interval("calibration_error")
ends: tuple[float, float] = (low, high)
several: list[propercal.Decomposition] = propercal.decompose(
    y, calibrated, generator=[Log(), Brier()]
)
methods: list[propercal.Decomposition] = propercal.decompose(
    y, calibrated, method=[Risk(bandwidth=0.02), Debiased(n_folds=10)]
)
own: propercal.Decomposition = propercal.decompose(
    y, calibrated, generator=Power(), method="risk", bandwidth=0.05
)
test: propercal.CalibrationTest = propercal.calibration_test(y, calibrated, random_state=0)
pvalue: float = test.pvalue
difference: propercal.PairedDifference = propercal.paired_difference(y, calibrated, calibrated**2)
better: float = difference.difference
map_: TemperatureScaling = TemperatureScaling().fit(calibrated, y)
assert_calibrated(y, calibrated)
assert_no_worse_calibrated(y, calibrated, calibrated**2)
print(result.calibration_error, ends, len(several), len(methods), own.risk, pvalue, better)
