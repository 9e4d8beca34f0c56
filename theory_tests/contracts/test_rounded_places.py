"""Rows named by floating point that was rounded otherwise are refused, with the decimals that make them equal: near places may be others."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import decompose

N = 60
PROBA = np.random.default_rng(0).dirichlet(np.ones(3), N)
CODES = np.random.default_rng(1).integers(0, 3, N)
PLACES = np.arange(N) * 0.1
SUMS = np.cumsum(np.full(N, 0.1)) - 0.1
SINGLE = PLACES.astype(np.float32)
SETTINGS: dict[str, Any] = {"generator": "brier", "notion": "classwise", "method": "risk", "bandwidth": 0.1}
RIGHT = decompose(CODES, PROBA, **SETTINGS).risk
ROUND = re.compile(r"which are other numbers by rounding; round both alike: .*\.round\((\d+)\)")


def decimals(error: pytest.ExceptionInfo[ValueError]) -> int:
    found = ROUND.search(str(error.value))
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("others", [SUMS, SINGLE])
@pytest.mark.parametrize("step", [1, -1])
def test_an_index_is_told_to_be_rounded(others: Any, step: int) -> None:
    labels: Any = pd.Series(CODES, index=PLACES)
    table: Any = pd.DataFrame(PROBA, index=others)[::step]
    with pytest.raises(ValueError, match=r"^y_true = rows of the index 0") as error:
        decompose(labels, table, **SETTINGS)
    n = decimals(error)
    for each in (labels, table):
        each.index = each.index.astype("float64").round(n)
    assert decompose(labels, table, **SETTINGS).risk == pytest.approx(RIGHT, rel=1e-12)
    with pytest.raises(ValueError, match=r"^sample_weight = rows of the index 0.*by rounding"):
        decompose(pd.Series(CODES, PLACES), pd.DataFrame(PROBA, PLACES), sample_weight=pd.Series(np.ones(N), others), **SETTINGS)


@pytest.mark.parametrize("others", [SUMS, SINGLE])
@pytest.mark.parametrize("step", [1, -1])
def test_coordinates_are_told_to_be_rounded(others: Any, step: int) -> None:
    xr = pytest.importorskip("xarray", reason="needs xarray")
    labels = xr.DataArray(CODES, dims="lat", coords={"lat": PLACES})
    table = xr.DataArray(PROBA, dims=("lat", "k"), coords={"lat": others}).isel(lat=slice(None, None, step))
    with pytest.raises(ValueError, match=r"^y_true = coordinates 0\.0, .* of 'lat'") as error:
        decompose(labels, table, class_dim="k", **SETTINGS)
    n = decimals(error)
    labels, table = (x.assign_coords({"lat": x["lat"].astype("float64").round(n)}) for x in (labels, table))
    assert decompose(labels, table, class_dim="k", **SETTINGS).risk == pytest.approx(RIGHT, rel=1e-12)


def test_other_places_are_not() -> None:
    for others in (PLACES + 0.05, PLACES * 1.01, np.arange(N) * 0.2, PLACES + 1e-4):
        with pytest.raises(ValueError, match=r"each of them once; select the same rows"):
            decompose(pd.Series(CODES, PLACES), pd.DataFrame(PROBA, others), **SETTINGS)
