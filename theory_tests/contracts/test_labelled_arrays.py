"""Decompositions of labelled arrays are those of a loop, whatever the order of dimensions and coordinates, and lazily."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import xarray as xr

import propercal
import propercal.xarray
from propercal.simulation import TemperatureScaledSimplex
from theory_tests.contracts.labelled_data import CLASSES, DATA, FAST, LEADS, MODELS, QUICK, STATIONS, TIME, N, P, W, Y


def plain(model: str, lead: int, station: str) -> tuple[Any, Any]:
    at = {"lead": lead, "station": station}
    return Y.sel(at).to_numpy(), P.sel({**at, "model": model}).transpose("time", "class").to_numpy()


#: Whatever the arguments are.
one: Any = propercal.decompose


def loop(**options: Any) -> dict[tuple[str, int, str], Any]:
    """Return the result of plain arrays for each place."""
    places = [(model, lead, station) for model in MODELS for lead in LEADS for station in STATIONS]
    return {place: one(*plain(*place), labels=CLASSES, **FAST, **options) for place in places}


def check(found: xr.Dataset, results: Mapping[tuple[str, int, str], Any]) -> None:
    """Check that a dataset has what the results have, and nothing else."""
    for (model, lead, station), result in results.items():
        here = found.sel(model=model, lead=lead, station=station)
        own = result.to_xarray()
        for name in own.data_vars:
            np.testing.assert_array_equal(here[name], own[name], err_msg=str(name))
        for name in ("bandwidth", "n_samples", "training_rows"):
            assert here[name].item() == own.attrs[name]
        others = set(found.data_vars) - set(own.data_vars) - set(own.attrs) - {"n_infinite_loss_rows"}
        assert all(np.isnan(here[name]).all() for name in others)


def same(found: xr.Dataset, other: xr.Dataset) -> None:
    xr.testing.assert_identical(found.transpose(*other.dims), other)


@pytest.fixture(scope="module")
def usual() -> xr.Dataset:
    return propercal.xarray.decompose(Y, P, **TIME, **QUICK)


# ---------------------------------------------------------------- a loop
def test_it_is_a_loop() -> None:
    usual = propercal.xarray.decompose(Y, P, **TIME, **FAST)
    check(usual, loop())
    assert usual["risk"].dims == ("model", "lead", "station")
    assert usual["risk_interval"].dims == ("model", "lead", "station", "bound")
    assert usual["risk"].attrs == {"long_name": "risk", "units": "nats"}
    assert "units" not in usual["skill_score"].attrs
    assert usual["n_samples"].dtype.kind == "i"
    assert usual.attrs == {
        "generator": "Log()",
        "notion": "canonical",
        "confidence_level": 0.95,
        "method": "debiased",
        "n_classes": 3,
    }
    assert set(usual.coords) == {"model", "lead", "station", "latitude", "run", "bound"}
    assert usual["latitude"].sel(station="b") == 52.0


def test_other_notions_generators_and_levels() -> None:
    options: dict[str, Any] = {"generator": "brier", "notion": "top-label", "confidence_level": 0.5}
    found = propercal.xarray.decompose(Y, P, **TIME, **FAST, **options)
    check(found, loop(**options))
    assert found.attrs["confidence_level"] == 0.5
    assert "units" not in found["risk"].attrs


SPELLINGS: dict[str, Callable[[], xr.Dataset]] = {
    "dim": lambda: propercal.xarray.decompose(Y, P, class_dim="class", dim="time", **QUICK),
    "preserve": lambda: propercal.xarray.decompose(Y, P, preserve_dims=["model", "lead", "station"], **QUICK),
    "dataset": lambda: DATA.propercal.decompose("observed", "forecast", **TIME, **QUICK),
    "dataset and array": lambda: DATA.propercal.decompose("observed", P, **TIME, **QUICK),
    "array": lambda: P.propercal.decompose(Y, **TIME, **QUICK),
    "turned": lambda: propercal.xarray.decompose(Y.T, P.transpose("class", "time", "model", ...), **TIME, **QUICK),
    "classes": lambda: propercal.xarray.decompose(Y, P.sel({"class": CLASSES[::-1]}), **TIME, **QUICK),
    "places": lambda: propercal.xarray.decompose(Y.sel(station=list("cab"), lead=[12, 6]), P, **TIME, **QUICK),
    "times": lambda: propercal.xarray.decompose(Y.sortby("time", ascending=False), P, **TIME, **QUICK),
    "all of it": lambda: propercal.xarray.decompose(
        Y.isel(time=slice(None, None, -1), station=[1, 0, 2]), P.transpose(..., "model").isel({"class": [2, 0, 1]}), **TIME, **QUICK
    ),
    "indicators": lambda: propercal.xarray.decompose(
        xr.concat([Y.isin([name]).astype(int) for name in CLASSES[::-1]], xr.Variable("class", CLASSES[::-1])), P, **TIME, **QUICK
    ),
    "labels said": lambda: propercal.xarray.decompose(Y, P.drop_vars("class"), labels=CLASSES, **TIME, **QUICK),
    "weights of 1": lambda: propercal.xarray.decompose(Y, P, weights=xr.ones_like(W) * 3, **TIME, **QUICK),
}  # fmt: skip


@pytest.mark.parametrize("way", SPELLINGS)
def test_order_and_spelling_change_nothing(way: str, usual: xr.Dataset) -> None:
    found = SPELLINGS[way]()
    for name in usual.data_vars:
        np.testing.assert_allclose(
            found[name].reindex_like(usual[name]).transpose(*usual[name].dims), usual[name], rtol=1e-9, atol=1e-12
        )
    assert found["risk"].dims == tuple(dim for dim in P.dims if dim in usual["risk"].dims) or way in ("turned", "all of it")


def test_what_the_labels_have_is_averaged_over_by_default() -> None:
    found = propercal.xarray.decompose(Y, P, class_dim="class", **QUICK)
    assert found["risk"].dims == ("model",)
    same(found, propercal.xarray.decompose(Y, P, preserve_dims="model", **QUICK))
    result = propercal.decompose(Y, P.sel(model="m2"), class_dim="class", sample_dims=["lead", "station", "time"], **QUICK)
    assert found["risk"].sel(model="m2") == result.risk
    same(propercal.xarray.decompose(Y, P.sel(model="m2"), dim="all", **QUICK).drop_vars("model"), found.sel(model="m2", drop=True))


def test_labels_are_repeated_along_what_only_predictions_have_and_the_other_way_round() -> None:
    several = xr.concat([Y, Y[..., ::-1].drop_vars("time")], "truth", coords="minimal", compat="override")
    several = several.drop_vars("time")
    found = propercal.xarray.decompose(several, P.drop_vars("time"), **TIME, **QUICK)
    assert set(found["risk"].dims) == {"model", "lead", "station", "truth"}
    other = propercal.decompose(several.isel(truth=1, lead=0, station=2).to_numpy(), P[1, 0, 2].to_numpy(), labels=CLASSES, **QUICK)
    assert found["risk"].isel(model=1, lead=0, station=2, truth=1) == other.risk


def test_coordinates_that_contradict_each_other_are_left_out(usual: xr.Dataset) -> None:
    y = Y.assign_coords(latitude=("station", [1.0, 2.0, 3.0]), run=8, height=("station", [4.0, 5.0, 6.0]))
    found = propercal.xarray.decompose(y, P, **TIME, **QUICK)
    same(found.drop_vars("height"), usual.drop_vars(["latitude", "run"]))
    assert found["height"].sel(station="b") == 5.0


def test_two_classes_without_a_dimension_of_classes() -> None:
    rain = (Y == "rain").astype(int)
    p = P.sel({"class": "rain"}, drop=True)
    found = propercal.xarray.decompose(rain, p, preserve_dims=["model", "lead", "station"], **QUICK)
    result = propercal.decompose(rain[1, 2].to_numpy(), p[0, 1, 2].to_numpy(), **QUICK)
    assert found["calibration_error"].isel(model=0, lead=1, station=2) == result.calibration_error
    assert found.attrs["n_classes"] == 2
    with pytest.raises(ValueError, match=r"\('model' was taken as the dimension of the classes"):
        propercal.xarray.decompose(rain, p, reduce_dims=["time"], **QUICK)
    both = propercal.xarray.decompose(rain, p.isel(model=0), dim="all", **QUICK)
    assert both["risk"].dims == ()


# ---------------------------------------------------------------- weights, groups, blocks
def test_weights_are_matched_by_name() -> None:
    found = DATA.propercal.decompose("observed", "forecast", weights="weight", **TIME, **QUICK)
    weight = W.sel(station="b").to_numpy()
    result = propercal.decompose(*plain("m1", 12, "b"), sample_weight=weight, labels=CLASSES, **QUICK)
    assert found["refinement"].sel(model="m1", lead=12, station="b") == result.refinement
    turned = propercal.xarray.decompose(Y, P, weights=W.sel(station=list("bca")).T, **TIME, **QUICK)
    same(turned, found)


def test_weights_of_whole_places(usual: xr.Dataset) -> None:
    """One weight for all rows of a result changes nothing; of rows of one, it counts."""
    weight = xr.DataArray([1.0, 2.0, 5.0], {"station": STATIONS})
    same(propercal.xarray.decompose(Y, P, weights=weight, **TIME, **QUICK), usual)
    same(propercal.xarray.decompose(Y, P, weights=xr.DataArray(2), **TIME, **QUICK), usual)
    for odd in (0.0, np.nan, np.inf, -1.0):
        with pytest.raises(ValueError, match=r"^at model = m1, lead = 6, station = b: weights = .*\.sel"):
            propercal.xarray.decompose(Y, P, weights=weight.where(weight != 2, odd), **TIME, **QUICK)
    found = propercal.xarray.decompose(Y, P, weights=weight, preserve_dims="model", **QUICK)
    every = np.broadcast_to(weight.to_numpy()[:, None], (2, 3, N)).ravel()
    result = propercal.decompose(Y.to_numpy().ravel(), P[0].to_numpy().reshape(-1, 3), sample_weight=every, labels=CLASSES, **QUICK)
    assert found["risk"].sel(model="m1").item() == pytest.approx(result.risk, rel=1e-12)


def test_what_is_missing_is_refused_with_its_place_unless_its_weight_is_0() -> None:
    y, p = Y.astype(object).copy(), P.copy()
    p[1, 0, 2, 4] = np.nan
    with pytest.raises(ValueError, match=r"^at model = m2, lead = 6, station = c: y_proba = nan at row 4: "):
        propercal.xarray.decompose(y, p, **TIME, **QUICK)
    y[0, 1, 3] = np.nan
    with pytest.raises(ValueError, match=r"^at model = m1, lead = 6, station = b: y_true = .*row 3\b"):
        propercal.xarray.decompose(y, p, **TIME, **QUICK)
    weight = (p.notnull().all("class") & y.notnull()).astype(float)
    found = propercal.xarray.decompose(y, p, weights=weight, **TIME, **QUICK)
    labels, proba = plain("m2", 6, "c")
    rest = np.arange(N) != 4
    result = propercal.decompose(labels[rest], proba[rest], labels=CLASSES, **QUICK)
    assert found["n_samples"].sel(model="m2", lead=6, station="c") == N - 1
    assert found["risk"].sel(model="m2", lead=6, station="c").item() == pytest.approx(result.risk, rel=1e-12)


def test_groups_by_dimension_coordinate_and_array() -> None:
    over: dict[str, Any] = {"class_dim": "class", "preserve_dims": "model", **FAST}
    p = P.sel(model=["m1"])
    found = propercal.xarray.decompose(Y, p, groups="time", **over)
    number = np.broadcast_to(np.arange(N), (2, 3, N)).ravel()
    result = propercal.decompose(
        Y.to_numpy().ravel(), P.sel(model="m1").to_numpy().reshape(-1, 3), groups=number, labels=CLASSES, **FAST
    )
    assert found["risk_standard_error"].sel(model="m1").item() == pytest.approx(result.standard_errors["risk"], rel=1e-12)
    assert (found["n_groups"] == N).all()
    day = Y.assign_coords(day=("time", np.arange(N)))
    for way in (
        propercal.xarray.decompose(day, p, groups="day", **over),
        propercal.xarray.decompose(Y, p, groups=xr.DataArray(np.arange(N), {"time": Y["time"]}), **over),
        propercal.xarray.decompose(Y, p, blocks={"time": 1}, **over),
        propercal.xarray.decompose(Y.drop_vars("time"), p.drop_vars("time"), groups="time", **over),
        DATA.sel(model=["m1"]).assign(day=("time", np.arange(N))).propercal.decompose("observed", "forecast", groups="day", **over),
        DATA.sel(model=["m1"]).assign_coords(day=("time", np.arange(N))).propercal.decompose("observed", "forecast", groups="day", **over),
    ):
        same(way.drop_vars("day", errors="ignore"), found)


def test_blocks_along_a_dimension() -> None:
    long = xr.concat([Y.isel(lead=0, drop=True).drop_vars("time")] * 2, "time")
    p = xr.concat([P.isel(lead=0, model=0, drop=True).drop_vars("time")] * 2, "time")
    found = quiet(propercal.xarray.decompose, long, p, blocks={"time": 3}, class_dim="class", **FAST)
    groups = np.broadcast_to(np.arange(2 * N)[:, None] // 3, long.transpose("time", "station").shape).ravel()
    labels, proba = long.transpose("time", "station").to_numpy().ravel(), p.transpose("time", "station", "class").to_numpy()
    result = quiet(propercal.decompose, labels, proba.reshape(-1, 3), groups=groups, labels=CLASSES, **FAST)
    assert found["n_groups"] == 20
    assert found["risk_standard_error"].item() == pytest.approx(result.standard_errors["risk"], rel=1e-12)
    alone = quiet(propercal.xarray.decompose, long, p, blocks=3, class_dim="class", reduce_dims="time", **FAST)
    other = quiet(propercal.xarray.decompose, long, p, blocks={"time": 3}, class_dim="class", reduce_dims="time", **FAST)
    same(alone, other)


def quiet(call: Callable[..., Any], *given: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(at station = .*: )?groups of very unequal size leave", UserWarning)
        return call(*given, **options)


# ---------------------------------------------------------------- several generators, other results
def test_several_generators_and_methods_are_dimensions() -> None:
    options: dict[str, Any] = {"generator": ["log", "brier"], "method": [propercal.methods.Debiased(**FAST), "risk"]}
    found = propercal.xarray.decompose(Y, P, preserve_dims="model", **options)
    assert found["risk"].dims == ("model", "estimator", "generator")
    assert "units" not in found["risk"].attrs
    rows = {"class_dim": "class", "sample_dims": ["lead", "station", "time"], "labels": CLASSES}
    results = one(Y, P.sel(model="m2"), **rows, **options)
    for i, estimator in enumerate(["debiased", "risk"]):
        for j, generator in enumerate(["log", "brier"]):
            own = results[i][j].to_xarray()
            here = found.sel(model="m2", estimator=estimator, generator=generator)
            for name in own.data_vars:
                np.testing.assert_array_equal(here[name], own[name])
            assert here["bandwidth"] == own.attrs["bandwidth"]


def test_tests_are_those_of_a_loop() -> None:
    options: dict[str, Any] = {"n_resamples": 19, "random_state": 1}
    found = DATA.propercal.calibration_test("observed", "forecast", **TIME, **options)
    for model in MODELS:
        result = propercal.calibration_test(*plain(model, 6, "b"), labels=CLASSES, **options)
        here = found.sel(model=model, lead=6, station="b")
        assert (here["pvalue"].item(), here["statistic"].item()) == (result.pvalue, result.statistic)
    same(P.propercal.calibration_test(Y, **TIME, **options), found)


@pytest.mark.parametrize("term", ["risk", ["calibration_error", "sharpness"]])
def test_differences_are_those_of_a_loop(term: Any) -> None:
    a, b = (P.sel(model=model, drop=True).sel(lead=[12]) for model in MODELS)
    y = Y.sel(lead=[12])
    found = propercal.xarray.paired_difference(y, a, b.sel(station=list("bac")), term=term, **TIME, **FAST)
    (labels, of_a), (_, of_b) = (plain(model, 12, "c") for model in MODELS)
    result = propercal.paired_difference(labels, of_a, of_b, term=term, labels=CLASSES, **FAST)
    here, own = found.sel(lead=12, station="c"), result.to_xarray()
    for name in own.data_vars:
        np.testing.assert_array_equal(here[name], own[name], err_msg=str(name))
    data = DATA.sel(lead=[12]).assign(a=a, b=b)
    same(data.propercal.paired_difference("observed", "a", "b", term=term, **TIME, **FAST), found.assign_coords(run=7))
    same(a.propercal.paired_difference(y, b, term=term, **TIME, **FAST), found)


# ---------------------------------------------------------------- lazily
def refuse(*_: Any, **__: Any) -> None:
    raise AssertionError("something was computed")


@pytest.mark.parametrize("chunks", [{"time": 7}, {"station": 1, "model": 1}, {"class": 1, "lead": 1}])
def test_lazy_arrays_stay_lazy(chunks: dict[str, int], usual: xr.Dataset) -> None:
    dask = pytest.importorskip("dask")
    lazy = DATA.chunk(chunks)
    with dask.config.set(scheduler=refuse):
        found = lazy.propercal.decompose("observed", "forecast", **TIME, **QUICK)
        test = lazy.propercal.calibration_test("observed", "forecast", n_resamples=9, random_state=0, **TIME)
        weighted = lazy.propercal.decompose("observed", "forecast", weights="weight", groups="time", **TIME, **FAST)
    assert all(each.chunks is not None for each in found.data_vars.values())
    with dask.config.set(scheduler="synchronous"):
        same(found.compute(), usual)
        assert np.isfinite(test["pvalue"].compute()).all()
    assert weighted["risk"].chunks is not None
    assert found.sizes == usual.sizes


def test_one_lazy_array_is_enough_and_only_what_is_asked_for_is_computed(usual: xr.Dataset) -> None:
    dask = pytest.importorskip("dask")
    p = P.copy()
    p[0, 0, 0] = np.nan
    found = propercal.xarray.decompose(Y, p.chunk({"model": 1}), **TIME, **QUICK)
    with dask.config.set(scheduler="synchronous"):
        xr.testing.assert_identical(found["risk"].sel(model="m2").compute(), usual["risk"].sel(model="m2"))
        with pytest.raises(ValueError, match=r"^at model = m1, lead = 6, station = a: y_proba = nan"):
            found["risk"].compute()


def test_lazy_coordinates_that_differ_are_looked_at(usual: xr.Dataset) -> None:
    pytest.importorskip("dask")
    y = Y.drop_vars("station").assign_coords(name=("station", STATIONS)).isel(station=[2, 0, 1]).chunk()
    p = P.drop_vars("station").assign_coords(name=("station", STATIONS)).chunk()
    assert y["name"].chunks is not None
    found = propercal.xarray.decompose(y, p, **TIME, **QUICK)
    np.testing.assert_array_equal(found["risk"], usual["risk"])
    assert found["name"].to_numpy().tolist() == STATIONS
    with pytest.raises(ValueError, match="name"):
        propercal.xarray.decompose(y.assign_coords(name=("station", list("abz"))), p, **TIME, **QUICK)


def test_calls_can_go_to_other_processes() -> None:
    pytest.importorskip("dask")
    cloudpickle = pytest.importorskip("cloudpickle")
    found = propercal.xarray.decompose(Y.chunk(), P.chunk(), **TIME, **QUICK)
    again = pickle.loads(cloudpickle.dumps(found))  # noqa: S301
    assert again["risk"].chunks is not None


# ---------------------------------------------------------------- labels at all places
@pytest.mark.parametrize("names", [None, [0, 1, 2], [1, 2, 3], ["x", "y", "z"]], ids=str)
@pytest.mark.parametrize("kind", [int, float, object])
def test_labels_count_alike_at_all_places(names: Any, kind: Any) -> None:
    # At the first place the last class does not occur, so that 1 and 2 could count columns from 0.
    y, p, _ = TemperatureScaledSimplex(3).sample(120, random_state=0)
    y = np.array([np.minimum(y, 1), y])
    expected = [propercal.decompose(each, p, labels=[0, 1, 2], **QUICK).calibration_error for each in y]
    forecast = xr.DataArray(p, dims=("row", "class"), coords={} if names is None else {"class": names})
    occurred = xr.DataArray((y + 1).astype(kind), dims=("place", "row"))
    found = forecast.propercal.decompose(occurred, preserve_dims="place", class_dim="class", **QUICK)
    assert found.calibration_error.values == pytest.approx(expected, rel=1e-9)
    difference = forecast.propercal.paired_difference(occurred, forecast, preserve_dims="place", class_dim="class", method="risk", term="risk")
    assert (difference.difference == 0).all()


def test_labels_of_one_in_two_classes_are_those_of_all_places() -> None:
    y, p, _ = TemperatureScaledSimplex(2).sample(120, random_state=0)
    y = np.array([np.zeros_like(y), y])
    forecast = xr.DataArray(p, dims=("row", "class"))
    test = forecast.propercal.calibration_test(xr.DataArray(y + 1, dims=("place", "row")), preserve_dims="place", random_state=0, n_resamples=19)
    expected = [propercal.calibration_test(each, p, random_state=0, n_resamples=19).statistic for each in y]
    assert test.statistic.values == pytest.approx(expected, rel=1e-9)


def test_labels_that_count_from_0_here_and_from_1_there_are_refused() -> None:
    y, p, _ = TemperatureScaledSimplex(3).sample(120, random_state=0)
    forecast = xr.DataArray(p, dims=("row", "class"))
    with pytest.raises(ValueError, match="3 at some places, and 0 at others"):
        forecast.propercal.decompose(xr.DataArray([y, y + 1], dims=("place", "row")), preserve_dims="place")
