"""Labelled arrays that cannot be used are refused with the place, and warnings say where they arose."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import propercal
import propercal.xarray
from theory_tests.contracts.labelled_data import CLASSES, DATA, QUICK, TIME, N, P, W, Y

#: The function, for arguments of other types than it is made for.
tried: Any = propercal.xarray.decompose



def at(values: Any, later: int) -> Any:
    """Rows with a time beside that of their dimension."""
    return values.assign_coords(valid=("time", np.datetime64("2024-01-01", "ns") + np.arange(N) + np.timedelta64(later, "D")))


def weeks(values: Any, days: int) -> Any:
    return values.assign_coords(week=("time", np.arange(N) // days))


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "another station": (
        lambda: propercal.xarray.decompose(Y.assign_coords(station=list("abz")), P, **TIME),
        r"^y_true = coordinates a, b, z of 'station': expected those of y_proba",
    ),
    "fewer stations": (lambda: propercal.xarray.decompose(Y[:, :2], P, **TIME), r"^y_true = 2 places along 'station': expected 3"),
    "fewer times": (lambda: propercal.xarray.decompose(Y[..., :9], P, **TIME), r"^y_true = 9 places along 'time': expected 30"),
    "other times": (
        lambda: propercal.xarray.decompose(Y.assign_coords(time=np.arange(N)), P, **TIME),
        r"^y_true = coordinates .* of 'time': expected those of y_proba",
    ),
    "another time of the same name": (
        lambda: propercal.xarray.decompose(at(Y, 0), at(P, 1), **TIME),
        r"^y_true = coordinates 2024-01-01 00:00:00, .* of 'valid': expected those of y_proba, 2024-01-02 00:00:00, .*, row by row; shift",
    ),
    "other groups of the same name": (
        lambda: propercal.xarray.decompose(weeks(Y, 7), weeks(P, 6), class_dim="class", groups="week", dim=["time", "station"]),
        r"^groups = 'week', whose values in y_true are others than in y_proba: expected one group for each row",
    ),
    "no such dimension": (
        lambda: propercal.xarray.decompose(Y, P, class_dim="class", dim="tim"),
        r"^dim = 'tim': expected a dimension: 'model', 'lead', 'station', 'time', 'class'",
    ),
    "no such classes": (lambda: propercal.xarray.decompose(Y, P, class_dim="species"), r"^class_dim = 'species'"),
    "classes averaged": (
        lambda: propercal.xarray.decompose(Y, P, class_dim="class", dim=["time", "class"]),
        r"^dim = 'class': expected dimensions but",
    ),
    "two ways": (
        lambda: propercal.xarray.decompose(Y, P, reduce_dims="time", preserve_dims="model"),
        r"^preserve_dims = 'model': expected None beside reduce_dims",
    ),
    "untold classes": (lambda: propercal.xarray.decompose(Y, P, reduce_dims="time"), r"^class_dim = None: .*pass class_dim="),
    "untold classes of two": (
        lambda: propercal.xarray.decompose(Y[0], P[0, 0, :, :, 1]),
        r'^class_dim = None: .*or reduce_dims="all"',
    ),
    "nothing averaged": (
        lambda: propercal.xarray.decompose(Y, P, class_dim="class", preserve_dims=["model", "lead", "station", "time"]),
        r"^preserve_dims = no dimension",
    ),
    "labels lack what is averaged": (
        lambda: propercal.xarray.decompose(Y, P, class_dim="class", dim=["model", "time"]),
        r"^y_true = dimensions 'lead', 'station', 'time': expected those that are averaged over.*broadcast_like",
    ),
    "predictions lack what is averaged": (
        lambda: propercal.xarray.decompose(Y, P.isel(station=0), class_dim="class"),
        r"^y_proba = dimensions .*expected those that are averaged over",
    ),
    "an array": (lambda: tried(Y.to_numpy(), P, **TIME), r"^y_true = a ndarray: expected a DataArray"),
    "a dataset": (lambda: tried(Y, DATA, **TIME), r"^y_proba = a Dataset: expected a DataArray"),
    "weights of classes": (
        lambda: propercal.xarray.decompose(Y, P, weights=P.isel(model=0, drop=True), **TIME),
        r"^weights = dimensions .*'class'",
    ),
    "weights without names": (lambda: propercal.xarray.decompose(Y, P, weights=np.ones(N), **TIME), r"^weights = a ndarray"),
    "negative weights": (lambda: propercal.xarray.decompose(Y, P, weights=-W, **TIME), r"^at model = m1, .*: weights = -"),
    "no such variable": (
        lambda: DATA.propercal.decompose("observd", "forecast", **TIME),
        r"^y_true = 'observd': .*did you mean 'observed'",
    ),
    "no such weights": (
        lambda: DATA.propercal.decompose("observed", "forecast", weights="wait", **TIME),
        r"^weights = 'wait': .*'weight'",
    ),
    "no such groups": (
        lambda: DATA.propercal.decompose("observed", "forecast", groups="patient", **TIME),
        r"^groups = 'patient': expected a dimension",
    ),
    "groups without names": (
        lambda: propercal.xarray.decompose(Y, P, groups=[1] * N, **TIME),
        r"^groups = a list: expected the name of a dimension",
    ),
    "few groups": (lambda: propercal.xarray.decompose(Y, P, groups="station", class_dim="class"), r"^at model = m1: groups = 3 groups"),
    "blocks of what is kept": (
        lambda: propercal.xarray.decompose(Y, P, blocks={"station": 2}, **TIME),
        r"^blocks = \{'station': 2\}: expected one dimension",
    ),
    "blocks of no order": (
        lambda: propercal.xarray.decompose(Y, P.isel(time=[1, 0, *range(2, N)]), blocks={"time": 2}, **TIME),
        r"^blocks = .*sortby",
    ),
    "groups and blocks": (
        lambda: propercal.xarray.decompose(Y, P, blocks={"time": 2}, groups="time", **TIME),
        r"^blocks = .*None beside groups",
    ),
    "no such loss": (lambda: propercal.xarray.decompose(Y, P.chunk(), generator="lgo", **TIME), r"^generator = 'lgo'"),
    "no such notion": (lambda: propercal.xarray.decompose(Y, P.chunk(), notion="top", **TIME), r"^notion = 'top'"),
    "no such setting": (
        lambda: propercal.xarray.decompose(Y, P.chunk(), method="risk", n_folds=9, **TIME),
        r"^n_folds = 9: expected a setting of",
    ),
    "a generator of numbers": (
        lambda: propercal.xarray.decompose(Y, P, random_state=np.random.default_rng(0), **TIME),
        r"^random_state = a Generator: expected a seed",
    ),
    "a dimension of results": (
        lambda: propercal.xarray.decompose(Y, P.rename(model="bound"), **TIME),
        r"^y_proba = a dimension 'bound', which results have too",
    ),
    "nothing": (lambda: propercal.xarray.decompose(Y, P.isel(model=[]), **TIME), r"^y_proba = no place along 'model'"),
    "few rows": (lambda: propercal.xarray.decompose(Y[..., :9], P[..., :9, :], **TIME), r"^at model = m1, lead = 6, station = a: y_proba = 9 rows"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_used_is_refused(case: str) -> None:
    call, message = BAD[case]
    if "chunk" in inspect.getsource(call):
        pytest.importorskip("dask")
    with pytest.raises(ValueError, match=message):
        call()


def test_times_and_groups_of_one_name_that_agree_are_read() -> None:
    settings: dict[str, Any] = {**TIME, **QUICK}
    wanted = propercal.xarray.decompose(Y, P, **settings)
    turned = at(Y, 0).isel(time=slice(None, None, -1))
    np.testing.assert_allclose(propercal.xarray.decompose(turned, at(P, 0), **settings).risk, wanted.risk)
    grouped = [
        propercal.xarray.decompose(weeks(Y, 1), other, class_dim="class", groups="week", dim=["time", "station"], generator="brier")
        for other in (weeks(P, 1), P)
    ]
    np.testing.assert_allclose(grouped[0].risk_interval, grouped[1].risk_interval)


@pytest.mark.parametrize(
    ("name", "hint"), [("sample_weight", "it is weights= here"), ("sample_dims", "it is reduce_dims="), ("generators", "'generator'")]
)
def test_other_arguments_are_refused_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'.*{hint}"):
        propercal.xarray.decompose(Y, P, **{name: None})


def test_a_warning_says_where_and_once() -> None:
    p = P.copy()
    for station in range(3):
        p[0, 0, station, 0] = (Y[0, station, 0].to_numpy() != np.array(CLASSES)) / 2
    with pytest.warns(UserWarning, match="infinite") as found:
        data = propercal.xarray.decompose(Y, p, **TIME, **QUICK)
    messages = [str(each.message) for each in found if "risk" in str(each.message)]
    assert len(messages) == 1
    assert messages[0].startswith("at model = m1, lead = 6, station = a: ")
    assert messages[0].endswith("(and at 2 more places)")
    assert found[0].filename == __file__
    assert np.isposinf(data["risk"].isel(model=0, lead=0)).all()
    assert np.isnan(data["risk_interval"].isel(model=0, lead=0)).all()
    assert data["n_infinite_loss_rows"].sum() == 3


def test_what_was_selected_is_not_paired_with_all_places() -> None:
    one, many = Y.sel(station="a"), P.sel(model="m1")
    said = r"= an array selected by '{}' = {}: expected the places along '{}' that {} has"
    for y, p, words in (
        (one, many, "y_true " + said.format("station", "a", "station", "y_proba")),
        (Y, many.sel(station="a"), "y_proba " + said.format("station", "a", "station", "y_true")),
        (Y.sel(station="b"), many.sel(station=["a"]), "y_true " + said.format("station", "b", "station", "y_proba")),
        (Y.isel(lead=0), many, "y_true " + said.format("lead", 6, "lead", "y_proba")),
    ):
        with pytest.raises(ValueError, match=words):
            propercal.xarray.decompose(y, p, **TIME, **QUICK)
    with pytest.raises(ValueError, match=r"^weights = an array selected by 'station' = a"):
        propercal.xarray.decompose(Y, many, weights=W.sel(station="a"), **TIME, **QUICK)
    with pytest.raises(ValueError, match=r"^y_true = an array selected by 'station' = a"):
        propercal.xarray.calibration_test(one, many, **TIME)
    # The same place, and what is said to hold at all of them.
    right = propercal.xarray.decompose(Y, many, **TIME, **QUICK).risk
    np.testing.assert_array_equal(propercal.xarray.decompose(one, many.sel(station=["a"]), **TIME, **QUICK).risk, right.sel(station=["a"]))
    np.testing.assert_array_equal(propercal.xarray.decompose(one.drop_vars("station"), many, **TIME, **QUICK).risk.sel(station="a"), right.sel(station="a"))


def test_weights_of_one_time_hold_at_all_and_leave_its_coordinate() -> None:
    weight = W.assign_coords(time=Y.time).isel(time=0)
    kept: Any = {"class_dim": "class", "preserve_dims": ["model", "time"]}
    found = propercal.xarray.decompose(Y, P, weights=weight, **kept, **QUICK).risk
    right = propercal.xarray.decompose(Y, P, weights=weight.drop_vars("time"), **kept, **QUICK).risk
    np.testing.assert_array_equal(found, right)
    assert found.time.identical(right.time)
    assert len(found.time) == N
