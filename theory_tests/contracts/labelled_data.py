"""Labelled arrays of two models, six places and three classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from propercal.simulation import TemperatureScaledSimplex

#: Nothing that needs time.
FAST: dict[str, Any] = {"kernel": None, "n_folds": 3}
#: Less time still, with other numbers.
QUICK: dict[str, Any] = {"method": "risk", "bandwidth": 0.1}
N, LEADS, STATIONS, CLASSES, MODELS = 30, [6, 12], list("abc"), ["dry", "rain", "snow"], ["m1", "m2"]

_Y, _G, _P = TemperatureScaledSimplex(3).sample(2 * 3 * N, random_state=0)
Y = xr.DataArray(
    np.array(CLASSES)[_Y.reshape(2, 3, N)],
    {"lead": LEADS, "station": STATIONS, "time": np.arange("2026-01-01", "2026-01-31", dtype="M8[D]").astype("M8[ns]")},
    ("lead", "station", "time"),
    name="observed",
)
P = xr.DataArray(
    np.stack([_G, _P]).reshape(2, 2, 3, N, 3),
    {"model": MODELS, **Y.coords, "class": CLASSES, "latitude": ("station", [51.0, 52.0, 53.0]), "run": 7},
    ("model", "lead", "station", "time", "class"),
    name="forecast",
)
W = xr.DataArray(np.random.default_rng(0).uniform(0.5, 2, (3, N)), {"station": STATIONS}, ("station", "time"))
DATA = xr.Dataset({"observed": Y, "forecast": P, "weight": W})
TIME: dict[str, Any] = {"class_dim": "class", "reduce_dims": "time"}
