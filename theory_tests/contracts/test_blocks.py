"""Blocks of neighbours: cut where rows are known to stand in the order of one series, else refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import propercal
from propercal._data.rows.times import is_ordered, run_back
from propercal.simulation import TemperatureScaledSimplex

pd: Any = pytest.importorskip("pandas")

N = 120
Y, P, TRUE = TemperatureScaledSimplex(3).sample(N, random_state=0)
DAYS = pd.date_range("2024-01-01", periods=N)
TEXT = [f"r{i}" for i in range(N)]
DIGITS = [str(i) for i in range(N)]
ORDER = np.random.default_rng(0).permutation(N)
INDICES: dict[str, Any] = {
    "days": DAYS, "numbers": np.arange(N), "text of days": DAYS.astype(str), "digits": DIGITS, "periods": DAYS.to_period("D"),
    "days in words": DAYS.strftime("%A %d %B %Y"),
}
#: As people write times.
FORMS = ["%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%b %d, %Y", "%Y-W%V-%u", "%d/%m/%y", "%Y-%m-%dT%H:%M:%S+02:00"]


def n_blocks(y_true: Any, y_proba: Any, **options: Any) -> Any:
    return propercal.decompose(y_true, y_proba, generator="brier", blocks=4, **options).n_groups


def refused(function: Any) -> None:
    with pytest.raises(ValueError, match=r"blocks = 4 beside rows of .*expected (the order of the|one) series"):
        function()


@pytest.mark.parametrize("kind", INDICES)
def test_rows_in_the_order_of_their_index_or_against_it_are_cut(kind: str) -> None:
    y, p = pd.Series(Y, INDICES[kind]), pd.DataFrame(P, INDICES[kind])
    for labels, proba in [(y, p), (y[::-1], p[::-1]), (y.iloc[ORDER], p), (Y, p), (y, P)]:
        assert n_blocks(labels, proba) == 30


@pytest.mark.filterwarnings("ignore:y_(true|proba) has the index .* rows were read side by side")
@pytest.mark.parametrize("kind", INDICES)
def test_rows_in_another_order_than_their_index_are_refused(kind: str) -> None:
    y, p = pd.Series(Y, INDICES[kind]), pd.DataFrame(P, INDICES[kind])
    first, second = y.iloc[ORDER], p.iloc[ORDER]
    for labels, proba in [(y, second), (first, second), (Y, second), (first, P)]:
        if kind != "numbers" or labels is first:
            refused(lambda labels=labels, proba=proba: n_blocks(labels, proba))
    refused(lambda: propercal.paired_difference(first, second, p, blocks=4))
    refused(lambda: propercal.calibration_test(first, second, blocks=4))


@pytest.mark.parametrize("form", FORMS)
def test_text_of_times_has_their_order(form: str) -> None:
    text = DAYS.strftime(form)
    minutes = pd.date_range("2024-01-01", periods=N, freq="11min").strftime("%H:%M")
    for each in (text, minutes):
        assert is_ordered(each) is is_ordered(each[::-1]) is True
        assert is_ordered(each[ORDER]) is False
        assert run_back(each[ORDER])
        assert run_back(each[::-1])
        assert not run_back(each)


def test_names_without_an_order_are_refused_where_rows_were_moved() -> None:
    for names in ([f'{i}-3' for i in ORDER], [f'may {i}x' for i in ORDER], TEXT):
        assert is_ordered(pd.Index(names)) is None
        assert not run_back(pd.Index(names))
    y, p = pd.Series(Y, TEXT), pd.DataFrame(P, TEXT)
    assert n_blocks(y, p) == n_blocks(y.iloc[ORDER], p.iloc[ORDER]) == 30
    with pytest.raises(ValueError, match="in which y_true stand in another order"):
        n_blocks(y, p.iloc[ORDER])
    with pytest.raises(ValueError, match="in which y_true stand in another order"):
        propercal.paired_difference(y, p, p.iloc[ORDER], blocks=4)


def test_several_dimensions_of_samples_are_refused() -> None:
    xr = pytest.importorskip("xarray")
    labels = xr.DataArray(Y.reshape(6, 20), dims=("site", "t"))
    proba = xr.DataArray(P.reshape(6, 20, 3), dims=("site", "t", "k"))
    one: dict[str, Any] = {"class_dim": "k"}
    stacked = [each.stack(s=("site", "t")) for each in (labels, proba)]
    index = pd.MultiIndex.from_product([range(6), range(20)], names=["site", "t"])
    calls: list[Callable[[], Any]] = [
        lambda: n_blocks(labels, proba, **one),
        lambda: n_blocks(labels, proba.transpose("t", "site", "k"), **one),
        lambda: n_blocks(labels, proba, sample_dims=("t", "site")),
        lambda: n_blocks(*stacked, **one),
        lambda: n_blocks(pd.Series(Y, index), pd.DataFrame(P, index)),
        lambda: n_blocks(Y.reshape(6, 20), np.moveaxis(P.reshape(6, 20, 3), -1, 1), class_axis=1),
        lambda: propercal.paired_difference(labels, proba, proba, blocks=4, **one),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="blocks = 4 beside rows of 2 dimensions: expected one series"):
            call()
    assert n_blocks(Y, P.T, class_axis=0) == 30


@pytest.mark.parametrize("name", ["t", "time"])
def test_coordinates_out_of_order_are_refused(name: str) -> None:
    xr = pytest.importorskip("xarray")
    labels = xr.DataArray(Y, dims="t", coords={name: ("t", DAYS)})
    proba = xr.DataArray(P, dims=("t", "k"), coords={name: ("t", DAYS)})
    assert n_blocks(labels, proba, class_dim="k") == 30
    refused(lambda: n_blocks(labels.isel(t=ORDER), proba.isel(t=ORDER), class_dim="k"))
    refused(lambda: n_blocks(labels, proba.isel(t=ORDER), class_dim="k"))
