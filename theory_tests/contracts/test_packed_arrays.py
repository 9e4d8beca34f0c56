"""Attributes of xarray that say how values are packed, and which are none, by the CF conventions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import propercal as pc

xr = pytest.importorskip("xarray", reason="needs xarray")

RNG = np.random.default_rng(0)
N = 60
P = RNG.random(N)
Y = (RNG.random(N) < P) * 1
MISSING = np.arange(N) % 10 == 3
QUICK: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}


def array(values: Any, dims: Any = "t", **attributes: Any) -> Any:
    return xr.DataArray(values, dims=dims, attrs=attributes)


def risk(y: Any, p: Any, **options: Any) -> float:
    return float(pc.decompose(y, p, **QUICK, **options).risk)


def test_packed_values_are_refused() -> None:
    """``decode_cf`` gives the values that are meant, and the conventions' neutral numbers change none."""
    packed = xr.Dataset({"p": array(P / 2, scale_factor=2.0), "q": array(P + 1, add_offset=-1.0)})
    for name in packed:
        with pytest.raises(ValueError, match=r"^y_proba = an array whose attribute '(scale_factor|add_offset)' is (2|-1): packed values: .* decode them, by xarray.decode_cf"):
            risk(array(Y), packed[name])
    wanted = 2 * np.mean((P - Y) ** 2)
    decoded = xr.decode_cf(packed)
    assert risk(array(Y), decoded["p"]) == pytest.approx(wanted)
    assert risk(array(Y), decoded["q"]) == pytest.approx(wanted)
    assert risk(array(Y), packed["p"].drop_attrs()) == pytest.approx(2 * np.mean((P / 2 - Y) ** 2))
    assert risk(array(Y), array(P, scale_factor=1.0, add_offset=0.0, _FillValue=np.nan)) == pytest.approx(wanted)


@pytest.mark.parametrize("attribute", ["_FillValue", "missing_value"])
def test_fill_values_are_missing(attribute: str) -> None:
    told = r"^{} = {} at rows 3, 13, 23, 33, 43 and 1 more, which is a missing value by the attribute"
    labels = array(np.where(MISSING, 7, Y), **{attribute: 7})
    with pytest.raises(ValueError, match=told.format("y_true", 7)):
        risk(labels, array(P))
    with pytest.raises(ValueError, match=told.format("y_proba", r"0\.25")):
        risk(array(Y), array(np.where(MISSING, np.float32(0.25), P), **{attribute: 0.25}))
    with pytest.raises(ValueError, match=told.format("groups", 99)):
        risk(array(Y), array(P), groups=array(np.where(MISSING, 99, np.arange(N) // 2), **{attribute: 99}))
    with pytest.raises(ValueError, match=told.format("sample_weight", 99)):
        risk(array(Y), array(P), sample_weight=array(np.where(MISSING, 99.0, 1.0), **{attribute: 99.0}))
    # Rows that do not count may lack values.
    wanted = 2 * np.mean((P - Y)[~MISSING] ** 2)
    assert risk(labels, array(P), ignore_index=7) == pytest.approx(wanted)
    assert risk(labels, array(P), sample_weight=array((~MISSING) * 1.0)) == pytest.approx(wanted)
    assert risk(labels[labels != 7], array(P)[~MISSING]) == pytest.approx(wanted)


def test_of_forecasts() -> None:
    members = RNG.normal(size=(N, 4))
    outcome = array(np.where(MISSING, -77.0, members.mean(axis=1) + 0.1), _FillValue=-77.0)
    ensemble = array(members, ("t", "m"))
    with pytest.raises(ValueError, match=r"^y_true = -77 at rows 3, 13"):
        pc.crps_decomposition(outcome, ensemble)
    with pytest.raises(ValueError, match=r"^ensemble = -77 at rows 3, 13"):
        pc.crps_decomposition(array(members[:, 0]), array(np.where(MISSING[:, None], -77.0, members), ("t", "m"), missing_value=[-77.0]))
    with pytest.raises(ValueError, match=r"^ensemble = an array whose attribute 'scale_factor'"):
        pc.crps_decomposition(array(members[:, 0]), array(members, ("t", "m"), scale_factor=0.1))
    found = pc.crps_decomposition(outcome, ensemble, sample_weight=array((~MISSING) * 1.0))
    wanted = pc.crps_decomposition(outcome[~MISSING], ensemble[~MISSING])
    assert found.risk == pytest.approx(wanted.risk)
