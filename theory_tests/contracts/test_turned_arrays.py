"""Labelled arrays with the classes first: read by names where these tell, or else refused with a remedy that works."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from propercal import decompose

N, K = 30, 3
P = np.random.default_rng(0).dirichlet(np.ones(K), N)
Y = np.arange(N) % K
ONE_HOT = np.eye(K)[Y]
LETTERS = np.array(["a", "b", "c"])
#: The risk of all rows, whatever their form: 1 + Σ p² − 2 p_y on average.
RISK = float(np.mean(1 + (P**2).sum(axis=1) - 2 * P[np.arange(N), Y]))
NAMES = [("class", "sample"), ("c", "n"), ("dim_0", "dim_1")]


def risk(y: Any, p: Any, **given: Any) -> float:
    return float(decompose(y, p, generator="brier", method="risk", bandwidth=0.5, **given).risk)


LABELS: dict[str, Any] = {
    "list": Y.tolist(),
    "array": Y,
    "column": Y[:, None],
    "words": LETTERS[Y].tolist(),
    "series": pd.Series(LETTERS[Y]),
    "marks": ONE_HOT,
    "without names": xr.DataArray(Y),
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("dims", NAMES)
def test_the_advice_of_class_dim(dims: tuple[str, str], labels: str) -> None:
    """It was to rename, to align, or to name 30 classes."""
    y, turned = LABELS[labels], xr.DataArray(P.T, dims=dims)
    words = f"y_proba = dimensions '{dims[0]}', '{dims[1]}' of sizes 3 and 30, beside y_true of 30 rows: expected that of the classes last; pass class_dim='{dims[0]}' if"
    with pytest.raises(ValueError, match=words):
        risk(y, turned)
    assert risk(y, turned, class_dim=dims[0]) == pytest.approx(RISK)
    assert risk(y, turned, sample_dims=dims[1]) == pytest.approx(RISK)
    assert risk(y, turned.transpose()) == pytest.approx(RISK) if dims[0] != "dim_0" else True


@pytest.mark.parametrize("orders", list(itertools.product([("s", "c"), ("c", "s")], repeat=2)))
def test_one_hot_arrays_by_names(orders: tuple[tuple[str, str], tuple[str, str]]) -> None:
    """Names match them, and sums say which dimension is that of the classes; before, turned ones were refused."""
    p, y = (xr.DataArray(each, dims=("s", "c")).transpose(*order) for each, order in zip((P, ONE_HOT), orders, strict=True))
    assert risk(y, p) == pytest.approx(RISK)
    ids = {"s": [f"row {i}" for i in range(N)]}
    moved = y.assign_coords(ids).isel(s=np.random.default_rng(1).permutation(N), c=slice(None))
    assert risk(moved, p.assign_coords(ids)) == pytest.approx(RISK)


def test_one_hot_arrays_that_sums_do_not_tell() -> None:
    """Of a permutation of as many rows as classes sums tell nothing, nor do they of several labels a row."""
    square = np.full((K, K), 1 / K)
    for y in (np.eye(K), ONE_HOT[:K] * 0):
        arrays = xr.DataArray(y, dims=("s", "c")), xr.DataArray(square, dims=("c", "s"))
        with pytest.raises(ValueError, match="y_proba = dimensions 'c', 's': expected to know which of them is that of the classes; pass class_dim="):
            risk(*arrays)
    several = xr.DataArray(np.ones((N, K)), dims=("c", "s"))
    with pytest.raises(ValueError, match="expected to know which of them is that of the classes"):
        risk(several, xr.DataArray(P, dims=("s", "c")))


def test_dimensions_that_xarray_has_named() -> None:
    """They are names to who says one of them: a square of logits was read the other way, whatever `class_dim` said."""
    logits = np.log(P[:K])
    y, turned = Y[:K], xr.DataArray(logits.T)
    wanted = risk(y, P[:K])
    settings: dict[str, Any] = {"from_logits": True}
    for said in ({"class_dim": "dim_0"}, {"sample_dims": "dim_1"}):
        assert risk(y, turned, **said, **settings) == pytest.approx(wanted)
        assert risk(xr.DataArray(y), turned, **said, **settings) == pytest.approx(wanted)
        # Turned alike, by these names.
        assert risk(xr.DataArray(ONE_HOT[:K].T), turned, **said, **settings) == pytest.approx(wanted)
        assert risk(xr.DataArray(ONE_HOT.T), xr.DataArray(P.T), **said) == pytest.approx(RISK)
        with pytest.raises(ValueError, match="y_true = 3 labels of shape"):
            risk(xr.DataArray(ONE_HOT), xr.DataArray(P.T), **said)
    assert risk(y, xr.DataArray(logits), class_dim="dim_1", **settings) == pytest.approx(wanted)
    weights = xr.DataArray(np.arange(1.0, N + 1))
    assert risk(Y, xr.DataArray(P.T), class_dim="dim_0", sample_weight=weights) == pytest.approx(risk(Y, P, sample_weight=weights.to_numpy()))


def test_three_dimensions_that_xarray_has_named() -> None:
    maps = P.reshape(5, 6, K)
    for y in (Y.reshape(5, 6), xr.DataArray(Y.reshape(5, 6))):
        assert risk(y, xr.DataArray(maps), class_dim="dim_2") == pytest.approx(RISK)
    assert risk(Y.reshape(5, 6), xr.DataArray(maps.transpose(2, 0, 1)), class_dim="dim_0") == pytest.approx(RISK)
    with pytest.raises(ValueError, match="y_true = dimensions 'dim_0', 'dim_1': expected those of the samples, 'dim_1', 'dim_2'; rename them"):
        risk(xr.DataArray(Y.reshape(5, 6)), xr.DataArray(maps.transpose(2, 0, 1)), class_dim="dim_0")
    renamed = xr.DataArray(Y.reshape(5, 6), dims=("dim_1", "dim_2"))
    assert risk(renamed, xr.DataArray(maps.transpose(2, 0, 1)), class_dim="dim_0") == pytest.approx(RISK)
