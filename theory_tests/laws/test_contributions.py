"""What each row adds to the terms: rows in the caller's order, whose weighted means are the terms.

Source: the terms are means over rows (paper, Eq. 7, 12 and 13; book, chapter "Debiased estimates").
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import propercal
from propercal._methods import signs
from propercal.methods import Risk
from propercal.simulation import TemperatureScaledSimplex
from theory_tests.instances import METHODS, NOTIONS, PLAIN_METHODS, TERMS, calibrated, values
from theory_tests.laws.samples import Sample, fewer, samples

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def means(rows: xr.Dataset) -> Any:
    return np.array([float((rows[name] * rows.weight).sum()) for name in TERMS])


@fewer
@given(sample=samples(), method=st.sampled_from(PLAIN_METHODS))
def test_weighted_means_are_the_terms(sample: Sample, method: str) -> None:
    found = propercal.decompose(*sample.arguments, method=method, **sample.options)
    scale = 1 + 100 * np.finfo(float).eps * sample.steepness(sample.generator)
    np.testing.assert_allclose(means(found.contributions()), values(found), rtol=1e-9, atol=1e-9 * scale)


def test_an_infinite_term_leaves_the_refinement_its_own_rows() -> None:
    """No finite number makes up the risk with it, so the direct method keeps its estimate of the refinement."""
    p = np.array([[1.0, 0.0, 0.0]] * 4 + [[0.4, 0.3, 0.3]] * 4)
    y = np.array([0, 0, 0, 1, 2, 0, 0, 0])
    for notion in NOTIONS:
        found = propercal.decompose(y, p, notion=notion, method="direct", bandwidth=0.1, exclude_self=False)
        np.testing.assert_allclose(means(found.contributions()), values(found), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", METHODS)
def test_rows_stand_as_they_were_given_and_those_that_do_not_count_are_left_out(method: str, notion: str) -> None:
    y, p = calibrated(70, 3, concentration=0.8)
    weight = np.random.default_rng(0).integers(0, 3, 70)
    found = propercal.decompose(y, p, generator="brier", notion=notion, method=method, sample_weight=weight)
    rows = found.contributions()
    kept = np.flatnonzero(weight)
    assert rows.row.to_numpy().tolist() == kept.tolist()
    assert rows.label.to_numpy().tolist() == y[kept].tolist()
    np.testing.assert_allclose(rows.weight, weight[kept] / weight.sum(), rtol=1e-12)
    np.testing.assert_allclose(means(rows), values(found), rtol=1e-9, atol=1e-12)
    if notion == "canonical":
        loss = ((p - np.eye(3)[y]) ** 2).sum(axis=1)
        np.testing.assert_allclose(rows.risk, loss[kept], rtol=1e-12)
        assert rows.recalibrated.dims == ("sample", "class")
        np.testing.assert_allclose(rows.recalibrated.sum("class"), 1, rtol=1e-9)


def test_rows_of_the_risk_method_are_those_of_its_formula() -> None:
    y, p = calibrated(60, 3)
    options: dict[str, Any] = {"bandwidth": 0.05, "notion": "canonical"}
    rows = propercal.decompose(y, p, generator="log", method="risk", **options).contributions()
    r = propercal.conditional_mean(y, p, **options)
    np.testing.assert_array_equal(rows.recalibrated, r)
    np.testing.assert_allclose(rows.refinement, -(r * np.log(r)).sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(
        rows.calibration_error, -np.log(p[np.arange(60), y]) + (r * np.log(r)).sum(axis=1), rtol=1e-9, atol=1e-12
    )
    direct = propercal.decompose(y, p, generator="log", method="direct", **options).contributions()
    np.testing.assert_allclose(direct.calibration_error, (r * np.log(r / p)).sum(axis=1), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_terms_of_each_class_are_those_of_the_class_alone(method: str) -> None:
    y, p = calibrated(80, 3, power=1.5)
    options: dict[str, Any] = {"generator": "brier", "method": method}
    found = propercal.decompose(y, p, notion="classwise", **options)
    by_class = found.contributions().by_class
    np.testing.assert_allclose(by_class.mean("class"), values(found), rtol=1e-9, atol=1e-12)
    for i in range(3):
        if method != "debiased":
            options["bandwidth"] = found.bandwidth
        alone = propercal.decompose(y == i, p[:, i], **options)
        np.testing.assert_allclose(by_class.sel({"class": i}), values(alone), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_an_index_and_coordinates_stay_with_their_rows(method: str) -> None:
    y, p = calibrated(40, 3)
    names, index = np.array(["a", "b", "c"]), np.array([f"patient {i}" for i in range(40)])
    order = np.random.default_rng(1).permutation(40)
    plain = propercal.decompose(y, p, method=method, bandwidth=0.1).contributions()
    table = pd.DataFrame(p, index, names)
    labels = pd.Series(names[y], index).iloc[order]
    rows = propercal.decompose(labels, table, method=method, bandwidth=0.1).contributions()
    assert rows.sample.to_numpy().tolist() == index.tolist()
    assert rows.label.to_numpy().tolist() == names[y].tolist()
    np.testing.assert_allclose(rows.risk, plain.risk, rtol=1e-12)
    array = xr.DataArray(p, dims=("patient", "class"), coords={"patient": index, "class": names})
    cells = propercal.decompose(
        xr.DataArray(names[y], dims="patient", coords={"patient": index}), array, method=method, bandwidth=0.1
    )
    assert cells.contributions().sample.to_numpy().tolist() == index.tolist()
    levels = pd.MultiIndex.from_arrays([index, np.arange(40) // 8], names=["patient", "risk"])
    several = propercal.decompose(
        pd.Series(y, levels), pd.DataFrame(p, levels), method=method, bandwidth=0.1
    ).contributions()
    assert several.patient.to_numpy().tolist() == index.tolist()
    # A level that is called as a term is told apart from it.
    assert several.risk_.to_numpy().tolist() == (np.arange(40) // 8).tolist()


def test_places_of_several_dimensions_are_named_by_their_coordinates() -> None:
    y, p = calibrated(60, 3)
    coords = {"year": [2001, 2002, 2003, 2004], "site": [f"site {i}" for i in range(15)]}
    table = xr.DataArray(p.reshape(4, 15, 3), dims=("year", "site", "k"), coords={**coords, "k": ["a", "b", "c"]})
    labels = xr.DataArray(np.array(["a", "b", "c"])[y].reshape(4, 15), dims=("year", "site"), coords=coords)
    rows = propercal.decompose(labels.transpose("site", "year")[::-1], table, method="risk", bandwidth=0.1).contributions()
    for i in (0, 7, 59):
        assert labels.sel(year=rows.year[i].item(), site=rows.site[i].item()).item() == rows.label[i].item()
    by_axis = propercal.decompose(y.reshape(4, 15), np.moveaxis(p.reshape(4, 15, 3), -1, 1), class_axis=1, method="risk", bandwidth=0.1)
    np.testing.assert_allclose(by_axis.contributions().risk, rows.risk, rtol=1e-12)
    names = pd.MultiIndex.from_arrays([np.arange(60), np.arange(60), np.arange(60) + 5], names=["class", "row", None])
    clashing = propercal.decompose(pd.Series(y, names), pd.DataFrame(p, names), method="risk", bandwidth=0.1).contributions()
    assert {"class_", "row_", "level_2", "row", "class"} <= set(clashing.coords)


@pytest.mark.parametrize("where", ["labels", "predictions"])
def test_an_index_of_one_of_the_two_is_kept(where: str) -> None:
    y, p = calibrated(30, 2)
    index = np.arange(30) * 2 + 100
    given = (pd.Series(y, index), p) if where == "labels" else (y, pd.DataFrame(p, index))
    weight = np.arange(30) % 5
    rows = propercal.decompose(*given, method="risk", sample_weight=weight).contributions()
    assert rows.sample.to_numpy().tolist() == index[weight > 0].tolist()


def test_infinite_losses_are_infinite_in_their_rows() -> None:
    y, p = calibrated(30, 2)
    p[4] = np.eye(2)[1 - y[4]]
    for method in METHODS:
        found = propercal.decompose(y, p, method=method, bandwidth=0.1)
        rows = found.contributions()
        assert np.flatnonzero(np.isinf(rows.risk)).tolist() == list(found.infinite_loss_rows) == [4]
        assert not np.isnan(rows.calibration_error).any()


def test_rows_are_pickled_and_few_numbers_are_kept_of_many_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    y, p = calibrated(50, 3)
    for notion in NOTIONS:
        found = propercal.decompose(y, p, notion=notion)
        again = pickle.loads(pickle.dumps(found))  # noqa: S301
        assert again.contributions().identical(found.contributions())
        assert str(again.direction()) == str(found.direction())
    monkeypatch.setattr(signs, "KEPT_NUMBERS", 100)
    for method in METHODS:
        assert "recalibrated" not in propercal.decompose(y, p, method=method, notion="classwise").contributions()
        found = propercal.decompose(y, p, method=method)
        assert "recalibrated" not in found.contributions()
        assert found.contributions().sizes["sample"] == 50


def test_several_results_keep_rows_of_their_own() -> None:
    y, p, q = TemperatureScaledSimplex(3).sample(60, random_state=0)
    by_method = propercal.decompose(y, p, generator=["log", "brier"], method=[Risk(bandwidth=0.1), "debiased"])
    pair = propercal.paired_difference(y, p, q)
    for found in [each for several in by_method for each in several] + [pair.a, pair.b]:
        np.testing.assert_allclose(means(found.contributions()), values(found), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("what", ["contributions", "direction"])
def test_results_without_rows_say_so(what: str) -> None:
    y, p = calibrated(60, 2)
    sketch = propercal.CalibrationSketch(2, notion="top-label")
    sketch.update(y, p)
    with pytest.raises(
        ValueError, match=r"^" + what + r" = of a result without its rows: expected one of rows in memory; .*decompose"
    ):
        getattr(sketch.result(), what)()
    saved = propercal.Decomposition.from_json(propercal.decompose(y, p).to_json())
    with pytest.raises(ValueError, match=r"without its rows.*a saved result"):
        getattr(saved, what)()


@pytest.mark.parametrize("what", ["contributions", "direction"])
def test_models_compared_by_their_risk_say_that_nothing_was_estimated(what: str) -> None:
    y, p, q = TemperatureScaledSimplex(3).sample(60, random_state=0)
    by_risk = [propercal.paired_difference(y, p, q, term="risk").a, propercal.compare_models(y, {"p": p, "q": q}).models["p"]]
    for each in by_risk:
        with pytest.raises(ValueError, match=rf"^{what} = of a comparison of losses alone, .*decompose.*term=\"calibration_error\""):
            getattr(each, what)()
    # What is advised works.
    error = "calibration_error"
    for found in (propercal.compare_models(y, {"p": p, "q": q}, term=error).models["p"], propercal.paired_difference(y, p, q, term=error).a):
        assert getattr(found, what)() is not None


@pytest.mark.parametrize("notion", NOTIONS)
def test_tensors_have_the_rows_of_arrays(notion: str) -> None:
    torch = pytest.importorskip("torch")
    y, p = calibrated(50, 3)
    for method in METHODS:
        rows, tensor = (
            propercal.decompose(*given, notion=notion, method=method, bandwidth=0.1, generator="brier").contributions()
            for given in ((y, p), (torch.tensor(y), torch.tensor(p, requires_grad=method != "debiased")))
        )
        xr.testing.assert_allclose(rows, tensor, rtol=1e-6, atol=1e-8)
