"""Numbers that stand for missing values, as archives of forecasts and of logits write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import propercal as pc

QUICK: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
TOLD = r"^{} is \S+ at row 3, which usually stands for a missing value, and is far from all others"
#: Of CMIP and GeoTIFF (in single precision, and as written out), netCDF (short, int), NCEP, GrADS, and weather stations.
CODES = [
    *map(float, np.array([1e20, 1e30, -9999.9, -3.4028235e38], np.float32)),
    *(-32767, -2147483647, 9.999e20, -9.99e33, -9.99e8, 1e35, 1e15, 3.4028235e38, 999.9, 9999.9, 99.99),
    *(-99, -99.9, -99.99, -999.9, -999.99, -7777),
]


@pytest.mark.parametrize("code", CODES)
def test_of_outcomes(code: float) -> None:
    rng = np.random.default_rng(4)
    outcome = 10 + rng.normal(size=40)
    members = outcome[:, None] + rng.normal(size=(40, 5))
    pc.crps_decomposition(outcome, members)
    outcome[3] = code
    with pytest.warns(UserWarning, match=TOLD.format("y_true")):
        pc.crps_decomposition(outcome, members)
    # A number among others like it is one.
    near = code + abs(code) / 100 * np.linspace(-1, 1, 41)
    pc.crps_decomposition(near, near[:, None] + abs(code) / 100 * rng.normal(size=(41, 5)))


@pytest.mark.parametrize("code", [-9999.0, float(np.finfo(np.float32).min), -1e20])
def test_of_one_column_of_logits(code: float) -> None:
    """Logits that are only large are logits, and several columns have such numbers for what cannot be."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=60)
    y_true = (rng.random(60) < 1 / (1 + np.exp(-logits))) * 1
    y_true[3], logits[3] = 0, -40.0
    pc.decompose(y_true, logits, from_logits=True, **QUICK)
    logits[3] = code
    with pytest.warns(UserWarning, match=TOLD.format("y_proba")):
        pc.decompose(y_true, logits, from_logits=True, **QUICK)
    weight = np.ones(60)
    weight[3] = 0
    found = pc.decompose(y_true, logits, sample_weight=weight, from_logits=True, **QUICK)
    kept = np.arange(60) != 3
    assert found.risk == pytest.approx(pc.decompose(y_true[kept], logits[kept], from_logits=True, **QUICK).risk)
    several = np.stack([np.zeros(60), logits], axis=1)
    pc.decompose(y_true, several, from_logits=True, **QUICK)
