"""A result that is written down and read again has the same terms, and the same intervals at every level."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from propercal import CalibrationSketch, Decomposition, decompose
from propercal.cli.command import main
from propercal.generators import Brier, Log
from propercal.simulation import TemperatureScaledSimplex

Y, P, _ = TemperatureScaledSimplex(3).sample(80, random_state=0)


def of_sketch() -> Decomposition:
    sketch = CalibrationSketch(3, notion="top-label")
    sketch.update(Y, P)
    return sketch.result()


def infinite() -> Decomposition:
    p = P.copy()
    p[0] = np.where(np.arange(3) == Y[0], 0.0, 0.5)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "risk and calibration error under the log loss: infinite", UserWarning)
        return decompose(Y, p)


RESULTS: dict[str, Callable[[], Decomposition]] = {
    "log": lambda: decompose(Y, P, confidence_level=0.9),
    "brier, class by class": lambda: decompose(Y, P, generator="brier", notion="classwise"),
    "published": lambda: decompose(Y, P, method="risk", bandwidth=0.1),
    "binned": lambda: decompose(Y, P, method="risk", kernel="quantile-bins", bandwidth=0.5),
    "groups": lambda: decompose(Y, P, groups=np.arange(80) // 2, generator="spherical"),
    "no kernel": lambda: decompose(Y, P, kernel=None),
    "sketch": of_sketch,
    "infinite": infinite,
}

WAYS: dict[str, Callable[[Decomposition, Path], Decomposition]] = {
    "parsed": lambda r, _: Decomposition.from_dict(json.loads(r.to_json())),
    "json": lambda r, _: Decomposition.from_json(r.to_json()),
    "dataset": lambda r, _: Decomposition.from_xarray(r.to_xarray()),
    "file": lambda r, path: through_file(r, path),
}


def through_file(result: Decomposition, path: Path) -> Decomposition:
    result.to_xarray().to_netcdf(path / "result.nc", engine="scipy")
    with xr.open_dataset(path / "result.nc", engine="scipy") as saved:
        return Decomposition.from_xarray(saved)


#: Rows are kept in memory and by pickle; a saved result has terms alone, and says so where rows are asked for.
SAVED = [field for field in dataclasses.fields(Decomposition) if not field.name.startswith("_")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", RESULTS)
def test_what_is_read_again_is_what_was_written(kind: str, way: str, tmp_path: Path) -> None:
    result = RESULTS[kind]()
    again = WAYS[way](result, tmp_path)
    for field in SAVED:
        old, new = (getattr(each, field.name) for each in (result, again))
        assert new == old or (new != new and old != old), field.name  # NaN is NaN
        assert type(new) is type(old) or isinstance(old, float), field.name
    assert str(again) == str(result)
    for term, error in result.standard_errors.items():
        if math.isfinite(error + getattr(result, term)):
            for level in (0.5, 0.9, 0.99):
                assert again.interval(term, level) == result.interval(term, level)


def test_every_field_is_written() -> None:
    """Each of another value: none is forgotten where a field is added."""
    result = RESULTS["groups"]()
    changed = dataclasses.replace(
        result, lower_bound=0.1, kernel_share=0.2, misfit_pvalue=0.3, missed=0.4, kernel_rows=5, training_rows=6,
        n_groups=7, label_error=0.8, noise_floor=0.9, detection_floor=0.13, infinite_loss_rows=(1, 10), confidence_level=0.11,
        centres={**result.centres, "uncertainty": 0.12},
    )  # fmt: skip
    for again in (Decomposition.from_json(changed.to_json()), Decomposition.from_xarray(changed.to_xarray())):
        for field in SAVED:
            assert getattr(again, field.name) == getattr(changed, field.name), field.name


def test_what_makes_an_interval_is_in_the_dataset_and_in_json() -> None:
    result = RESULTS["log"]()
    for saved in (result.to_dict(), json.loads(result.to_json()), {name: x.item() for name, x in result.to_xarray().items() if not x.ndim}):
        for name in ("label_error", "noise_floor", "detection_floor", "missed", "misfit_pvalue"):
            assert saved[name] == getattr(result, name)
    assert result.to_xarray()["noise_floor"].attrs == {"units": "nats"}
    assert "noise_floor" not in json.loads(RESULTS["published"]().to_json())
    assert "detection_floor" not in RESULTS["published"]().to_xarray()


def test_the_command_line_writes_what_can_be_read(tmp_path: Path, capsys: Any) -> None:
    np.savez(tmp_path / "a.npz", labels=Y, probs=P)
    assert main(["decompose", "--json", str(tmp_path / "a.npz"), "--generator", "brier"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    again, result = Decomposition.from_dict(record), decompose(Y, P, generator="brier")
    assert again.interval("calibration_error", 0.8) == result.interval("calibration_error", 0.8)


def test_a_generator_without_a_name_is_asked_for() -> None:
    both = 2.0 * Log() + Brier()
    result = decompose(Y, P, generator=both, method="risk", bandwidth=0.1)
    ways: list[Callable[..., Decomposition]] = [
        partial(Decomposition.from_json, result.to_json()),
        partial(Decomposition.from_xarray, result.to_xarray()),
    ]
    for read in ways:
        assert read(generator=both).generator == both
        with pytest.raises(ValueError, match=r"^generator = None: expected 2.0\*Log\(\) \+ Brier\(\), of which"):
            read()
        with pytest.raises(ValueError, match=r"^generator = Log\(\): expected 2.0\*Log"):
            read(generator="log")


@pytest.mark.parametrize("version", [None, 0, 2, "1"])
def test_another_format_is_refused(version: Any) -> None:
    result = RESULTS["published"]()
    data = result.to_xarray()
    data.attrs["format_version"] = version
    with pytest.raises(ValueError, match=r"^format_version = .*: expected 1, of a result that this version"):
        Decomposition.from_dict({**json.loads(result.to_json()), "format_version": version})
    with pytest.raises(ValueError, match=r"^format_version = .*: expected 1"):
        Decomposition.from_xarray(data)


@pytest.mark.parametrize("name", ["generator", "method", "bandwidth", "n_samples", "risk", "centres", "confidence_level", "infinite_loss_rows"])
def test_what_is_missing_or_odd_is_named(name: str) -> None:
    saved = json.loads(RESULTS["published"]().to_json())
    with pytest.raises(ValueError, match=f"without '{name}'"):
        Decomposition.from_dict({key: value for key, value in saved.items() if key != name})
    with pytest.raises(ValueError, match=name):
        Decomposition.from_dict(saved | {name: None})
    data = RESULTS["published"]().to_xarray()
    if name != "centres":
        with pytest.raises(ValueError, match=f"without '{name}'"):
            Decomposition.from_xarray(data.drop_vars(name) if name in data else without(data, name))


def without(data: Any, name: str) -> Any:
    """The dataset without an attribute."""
    found = data.copy()
    del found.attrs[name]
    return found


@pytest.mark.parametrize("saved", [None, "{}", [], 5])
def test_what_is_no_result_is_refused(saved: Any) -> None:
    for read in (Decomposition.from_dict, Decomposition.from_xarray):
        with pytest.raises(ValueError, match="saved = a "):
            read(saved)


def saved_as(**changed: Any) -> dict[str, Any]:
    """What JSON has of a result, but for some of it."""
    return {**json.loads(RESULTS["published"]().to_json()), **changed}


#: What is read, how it is named, and what is expected there.
NO_RESULTS: list[tuple[Callable[[], Any], str]] = [
    (lambda: Decomposition.from_json(5), "saved = a int: expected text; from_dict reads what is parsed"),  # type: ignore[arg-type]
    (lambda: Decomposition.from_json("a"), "saved = text that is no JSON (Expecting value: line 1 column 1 (char 0)): expected what to_json() wrote"),
    (lambda: Decomposition.from_dict([]), "saved = a list: expected an object, such as json.loads(...) gives"),  # type: ignore[arg-type]
    (
        lambda: Decomposition.from_dict(RESULTS["published"]().to_dict()),
        "saved = the flat numbers of to_dict(), which are for logs: expected what json.loads makes of to_json(), which has all that intervals are made from",
    ),
    (lambda: Decomposition.from_xarray([]), "saved = a list: expected an xarray.Dataset that to_xarray() made"),  # type: ignore[arg-type]
    (lambda: Decomposition.from_dict(saved_as(infinite_loss_rows=3)), "saved['infinite_loss_rows'] = 3: expected a list of rows"),
    (lambda: Decomposition.from_dict(saved_as(centres=3)), "saved['centres'] = 3: expected a number for each term"),
    (lambda: Decomposition.from_dict(saved_as(risk="x")), "saved['risk'] = 'x': expected a number"),
    (lambda: Decomposition.from_dict(saved_as(detection_floor="x")), "saved['detection_floor'] = 'x': expected a number"),
    (lambda: Decomposition.from_dict(saved_as(n_samples="x")), "saved['n_samples'] = 'x': expected a value of type int"),
    (lambda: Decomposition.from_dict({"format_version": 1}), "saved = a result without 'infinite_loss_rows': expected all that to_json() or to_xarray() wrote"),
]  # fmt: skip


@pytest.mark.parametrize(("read", "message"), NO_RESULTS, ids=[message[:40] for _, message in NO_RESULTS])
def test_what_is_no_result_is_named_with_what_is_expected(read: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}; pass what to_json"):
        read()


@pytest.mark.parametrize(("value", "word"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")])
def test_a_number_that_is_not_finite_is_a_word_in_json_and_a_number_elsewhere(value: float, word: str) -> None:
    changed = dataclasses.replace(RESULTS["published"](), sharpness=value, noise_floor=value, kernel_share=value, bandwidth=value)
    names = ("sharpness", "noise_floor", "kernel_share", "bandwidth")
    assert [json.loads(changed.to_json())[name] for name in names] == [word] * 4
    data = changed.to_xarray()
    found = [*(data[name].item() for name in names[:3]), data.attrs["bandwidth"]]
    np.testing.assert_array_equal(np.array(found), np.full(4, value))
    again = Decomposition.from_json(changed.to_json())
    np.testing.assert_array_equal([getattr(again, name) for name in names], np.full(4, value))


def test_a_generator_is_given_to_what_was_parsed_too() -> None:
    both = 2.0 * Log() + Brier()
    result = decompose(Y, P, generator=both, method="risk", bandwidth=0.1)
    assert Decomposition.from_dict(json.loads(result.to_json()), generator=both).generator == both


def test_json_has_no_number_that_json_does_not_know() -> None:
    """Also where a number slips by what turns it into a word."""
    odd = dataclasses.replace(RESULTS["published"](), confidence_level=math.nan, standard_errors={}, centres={})
    with pytest.raises(ValueError, match="Out of range float"):
        odd.to_json()


def test_what_is_missed_widens_two_intervals_on_one_side() -> None:
    """The refinement may be smaller by what no recalibration saw, and the calibration error larger."""
    result = dataclasses.replace(RESULTS["log"](), missed=None)
    wider = dataclasses.replace(result, missed=0.25)
    for term in ("risk", "refinement", "calibration_error", "sharpness", "uncertainty"):
        (low, high), (lower, higher) = result.interval(term), wider.interval(term)
        assert lower == pytest.approx(low - 0.25 * (term == "refinement"))
        assert higher == pytest.approx(high + 0.25 * (term in {"calibration_error", "sharpness"}))


# ---------------------------------------------------------------- what xarray made of several


ONE, OTHER = RESULTS["log"], RESULTS["brier, class by class"]
MIXED = "^saved = a dataset with other numbers than its settings are of: expected one result as to_xarray"
PUT_TOGETHER: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "not selected": (lambda a, b: xr.concat([a, b], "model"), r"^saved = a dataset of terms along \['model'\]: expected one result as"),
    "the second": (lambda a, b: xr.concat([a, b], "model", combine_attrs="override").isel(model=1), MIXED),
    "the mean": (lambda a, b: xr.concat([a, b], "model", combine_attrs="override").mean("model", keep_attrs=True), MIXED),
    "the mean without settings": (lambda a, b: xr.concat([a, b], "model").mean("model", keep_attrs=False), "^format_version = None"),
    "settings of all": (lambda a, b: xr.concat([a, b], "model", combine_attrs="drop_conflicts").mean("model", keep_attrs=True), "^saved = a result without "),
    "seeds": (lambda a, _: xr.concat([a, a.assign_attrs(digest="another")], "seed", combine_attrs="drop_conflicts").mean("seed", keep_attrs=True), "^saved = a result without 'digest'"),
    "a difference": (lambda a, b: (a - b).assign_attrs(a.attrs), MIXED),
    "the terms of another": (lambda a, b: a.assign({name: b[name] for name in a.data_vars if name in b}), MIXED),
    "the settings of another": (lambda a, b: a.assign_attrs(b.attrs), MIXED),
    "one number": (lambda a, _: a.assign(risk=a.risk + 1e-12), MIXED),
    "one error": (lambda a, _: a.assign(refinement_standard_error=0.5 * a.refinement_standard_error), MIXED),
    "one setting": (lambda a, _: a.assign_attrs(n_samples=81), MIXED),
    "fewer digits": (lambda a, _: a.astype(np.float32), MIXED),
}  # fmt: skip


@pytest.mark.parametrize("kind", PUT_TOGETHER)
def test_numbers_are_not_read_under_settings_of_others(kind: str) -> None:
    """xarray keeps the settings of the first of several datasets."""
    make, message = PUT_TOGETHER[kind]
    with pytest.raises(ValueError, match=message):
        Decomposition.from_xarray(make(ONE().to_xarray(), OTHER().to_xarray()))


def test_what_is_still_one_result_is_read() -> None:
    one, other = ONE(), OTHER()
    data, second = one.to_xarray(), other.to_xarray()
    several = xr.concat([data, second], "model", combine_attrs="override")
    for each in (
        data.assign_attrs(experiment="a").assign_coords(model="x").assign(note=3.0, seconds=("run", [1.0, 2.0])),
        data.expand_dims("model").isel(model=0),
        several.isel(model=0),
        data.drop_vars("risk_interval"),
        data.load().copy(deep=True),
    ):
        again = Decomposition.from_xarray(each)
        assert again.risk == one.risk
        assert again.generator == one.generator
        assert again.interval("calibration_error", 0.8) == one.interval("calibration_error", 0.8)


def test_results_in_one_dataset_are_no_result() -> None:
    found = decompose(Y, P, generator=["log", "brier"]).to_xarray()
    assert "digest" not in found.variables
    assert "digest" not in found.attrs
    with pytest.raises(ValueError, match=r"terms along \['generator'\]"):
        Decomposition.from_xarray(found)
    with pytest.raises(ValueError, match="saved = a result without 'generator'"):
        Decomposition.from_xarray(found.sel(generator="brier"))
