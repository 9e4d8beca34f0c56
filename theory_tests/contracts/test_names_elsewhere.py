"""Names of columns and the index of rows at the other entry points: every function, two models, chunks, recalibrators.

The thirty rows of three classes have a Brier score of 0.06, as in ``test_names``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import propercal
from propercal import CalibrationSketch, decompose
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling

SETTINGS: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
CODES = np.arange(30) % 3
LABELS = np.array(["a", "b", "c"])[CODES]
PROBA = np.eye(3)[CODES] * 0.7 + 0.1
P = pd.DataFrame(PROBA, columns=list("abc"))
ORDERS = ["".join(order) for order in itertools.permutations("abc")]


def mean_of_class(y: Any, p: Any, **options: Any) -> Any:
    """The conditional mean at each row, in the order of a, b, c and of the rows of P."""
    found = propercal.conditional_mean(y, p, bandwidth=0.1, **options)
    return float(np.abs(found).sum())


#: Numbers that each function gives for labels and predictions.
FUNCTIONS: dict[str, Callable[..., float]] = {
    "calibration_error": lambda y, p, **o: propercal.calibration_error(y, p, **SETTINGS, **o),
    "refinement": lambda y, p, **o: propercal.refinement(y, p, **SETTINGS, **o),
    "sharpness": lambda y, p, **o: propercal.sharpness(y, p, **SETTINGS, **o),
    "select_bandwidth": lambda y, p, **o: propercal.select_bandwidth(y, p, generator="brier", **o),
    "calibration_test": lambda y, p, **o: propercal.calibration_test(y, p, generator="brier", random_state=0, n_resamples=19, **o).components["temperature"],
    "paired_difference": lambda y, p, **o: propercal.paired_difference(y, p, p, generator="brier", kernel=None, **o).a.risk,
    "conditional_mean": mean_of_class,
    "TemperatureScaling": lambda y, p, **_: float(TemperatureScaling().fit(p, y).temperature_),
}
rng = np.random.default_rng(1)
Q = pd.DataFrame(rng.dirichlet([1, 1, 1], 60), columns=list("abc"), index=np.arange(60) + 7)
Y = pd.Series([rng.choice(list("abc"), p=row) for row in Q.to_numpy()], index=Q.index)
ORDER = rng.permutation(60)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:X has columns of the classes")
def test_every_function_matches_names_and_rows(name: str) -> None:
    function = FUNCTIONS[name]
    right = function(Y.to_numpy(), Q.to_numpy())
    # The calibration test draws labels for rows in their order.
    rel = 0.7 if name == "calibration_test" else 1e-9
    permuted = Q.iloc[ORDER][list("cab")]
    for labels in (Y.iloc[ORDER], Y, pd.get_dummies(Y)[list("bca")]):
        assert function(labels, permuted) == pytest.approx(right, rel=rel, abs=1e-12)
    for labels, proba in ((Y, permuted.add_prefix("p_")), (Y.set_axis(Y.index + 1), permuted), (pd.get_dummies(Y).add_prefix("l"), permuted)):
        with pytest.raises(ValueError, match=r"^(y_true|y|y_proba_a|y_proba) = "):
            function(labels, proba)


def test_the_predictions_of_two_models_are_aligned() -> None:
    sharper = Q**2
    sharper = sharper.div(sharper.sum(axis=1), axis=0)
    options: dict[str, Any] = {"generator": "brier", "kernel": None}
    right = propercal.paired_difference(Y, Q, sharper, **options)
    for other in (sharper.iloc[ORDER], sharper[list("cab")], sharper.iloc[ORDER][list("bca")]):
        found = propercal.paired_difference(Y, Q, other, **options)
        assert found.difference == pytest.approx(right.difference, rel=1e-12)
        assert found.standard_error == pytest.approx(right.standard_error, rel=1e-12)
        with pytest.raises(ValueError, match="y_proba_b = "):
            propercal.paired_difference(Y.to_numpy(), Q, other.set_axis(other.index + 1), **options)
    # Predictions without an index stand beside labels, unless the others are in another order.
    with pytest.raises(ValueError, match=r"y_proba_a = rows with no index: .* rows of y_true and y_proba_b stand in different orders"):
        propercal.paired_difference(Y.iloc[ORDER], Q.iloc[ORDER].to_numpy(), sharper[list("abc")], **options)
    found = propercal.paired_difference(Y.iloc[ORDER], Q.iloc[ORDER].to_numpy(), sharper[list("abc")].iloc[ORDER], **options)
    assert found.difference == pytest.approx(propercal.paired_difference(Y.iloc[ORDER], Q.iloc[ORDER], sharper.iloc[ORDER], **options).difference, rel=1e-12)
    with pytest.raises(ValueError, match=r"y_proba_b = rows of the index .* y_true has no index"):
        propercal.paired_difference(Y.to_numpy(), Q, sharper.iloc[ORDER], **options)
    with pytest.raises(ValueError, match="y_proba_b = columns"):
        propercal.paired_difference(Y.map({"a": 0, "b": 1, "c": 2}), Q, sharper.rename(columns={"a": "x"}), **options)
    with pytest.raises(TypeError, match="y_proba_B: expected an argument of paired_difference; did you mean 'y_proba_b'"):
        propercal.paired_difference(Y, Q, y_proba_B=sharper)  # type: ignore[call-overload]


@pytest.mark.parametrize("order", ORDERS)
def test_chunks_of_a_sketch_are_matched_by_name(order: str) -> None:
    for settings in ({}, {"labels": list("abc")}, {"labels": list("bca")}):
        sketch = CalibrationSketch(3, generator="brier", bandwidth=0.1, **settings)  # type: ignore[arg-type]
        sketch.update(LABELS[:15], P[:15])
        sketch.update(LABELS[15:], P[15:][list(order)])
        assert sketch.result(method="risk").risk == pytest.approx(0.04, rel=1e-9)
        again = CalibrationSketch.from_bytes(sketch.to_bytes())
        again.update(LABELS, P[list(order)])
        assert again.result(method="risk").risk == pytest.approx(0.04, rel=1e-9)
        with pytest.raises(ValueError, match=r"y_proba = columns|labels = "):
            again.update(LABELS, P[list(order)].rename(columns={"a": "x"}))


def test_chunks_of_one_hot_frames_are_matched_by_name() -> None:
    sketch = CalibrationSketch(3, generator="brier", bandwidth=0.1)
    sketch.update(pd.get_dummies(LABELS[:15]), PROBA[:15])
    sketch.update(pd.get_dummies(LABELS[15:])[list("bca")], P[15:])
    sketch.update(pd.get_dummies(LABELS[15:]), PROBA[15:])
    # Beside columns without names it is not known whether these stand in its order or that of before.
    with pytest.raises(ValueError, match=r"y_proba = columns without names: expected those of \['a', 'b', 'c'\]"):
        sketch.update(pd.get_dummies(LABELS[15:])[list("bca")], PROBA[15:])
    assert sketch.result(method="risk").risk == pytest.approx(0.04, rel=1e-9)
    with pytest.raises(ValueError, match="y_true = columns named"):
        sketch.update(pd.get_dummies(LABELS).rename(columns={"a": "x"}), P)


def test_partitions_do_not_number_classes_by_themselves() -> None:
    arrays = pytest.importorskip("dask.array")
    frames = pytest.importorskip("dask.dataframe")
    options: dict[str, Any] = {**SETTINGS, "notion": "classwise"}
    order = np.argsort(CODES, kind="stable")
    labels, proba = CODES[order] + 1, PROBA[order]
    lazy = [arrays.from_array(each, chunks=(10, *each.shape[1:])) for each in (labels, proba)]
    for said in (options, {**options, "labels": [1, 2, 3]}):
        assert decompose(*lazy, **said).risk == pytest.approx(0.04, rel=1e-9)
    assert decompose(*lazy, labels=[1, 2, 3], **options).risk == pytest.approx(0.04, rel=1e-9)
    parts = [frames.from_pandas(each, npartitions=3, sort=False) for each in (pd.Series(LABELS), P[list("cab")], pd.get_dummies(pd.Series(LABELS))[list("bca")])]
    for given in (parts[0], parts[2]):
        assert decompose(given, parts[1], **options).risk == pytest.approx(0.04, rel=1e-9)
        with pytest.raises(ValueError, match="y_true = "):
            decompose(given, parts[1].rename(columns={"a": "A"}), **options)


def test_sketches_of_columns_in_another_order_are_not_merged() -> None:
    first, second = (CalibrationSketch(3, generator="brier", bandwidth=0.1) for _ in range(2))
    first.update(CODES, P)
    second.update(CODES, P[list("cab")])
    with pytest.raises(ValueError, match="other = a sketch of columns"):
        first.merge(second)


def test_a_sketch_of_one_column_keeps_to_its_class() -> None:
    labels, fraud = ["fraud", "legit"] * 10, pd.Series([0.9, 0.1] * 10, name="fraud")
    for settings in ({}, {"pos_label": "fraud"}, {"labels": ["legit", "fraud"]}):
        sketch = CalibrationSketch(2, generator="brier", bandwidth=0.1, **settings)
        sketch.update(labels, fraud)
        if settings:
            sketch.update(labels, fraud.to_numpy())
        else:
            # As in memory, where nothing but a name says the class.
            for given in (labels, pd.get_dummies(np.array(labels))):
                with pytest.raises(ValueError, match="to know of which class y_proba is the probability"):
                    sketch.update(given, fraud.to_numpy())
        assert sketch.result(method="risk").risk == pytest.approx(0.02, rel=1e-9)
        with pytest.raises(ValueError, match="y_proba = a column named 'legit'"):
            sketch.update(labels, (1 - fraud).rename("legit"))


@pytest.mark.parametrize("make", [TemperatureScaling, ClasswiseIsotonic])
@pytest.mark.filterwarnings("ignore:X has columns of the classes")
def test_a_recalibrator_is_applied_to_the_columns_it_was_fitted_to(make: Any) -> None:
    fitted = make().fit(Q[list("cab")].iloc[ORDER], Y)
    assert fitted.classes_.tolist() == list("cab")
    right = make().fit(Q.to_numpy(), Y.to_numpy()).predict_proba(Q.to_numpy())
    np.testing.assert_allclose(fitted.predict_proba(Q[list("cab")]), right[:, [2, 0, 1]], rtol=1e-9)
    # Without names they may be in alphabetical order.
    with pytest.raises(ValueError, match=r"X = columns without names: expected \['c', 'a', 'b'\], in the order of fit"):
        fitted.predict_proba(Q[list("cab")].to_numpy())
    with pytest.raises(ValueError, match=r"X = columns \['a', 'b', 'c'\]: expected \['c', 'a', 'b'\], in the order of fit"):
        fitted.predict_proba(Q)
    labelled = xr.DataArray(Q.to_numpy(), dims=("row", "class"), coords={"class": list("abc")})
    fitted = make().fit(labelled, xr.DataArray(Y.to_numpy(), dims="row"))
    np.testing.assert_allclose(fitted.predict_proba(labelled[:3].T), right[:3], rtol=1e-9)
    # What it advises to pass, it takes.
    numbers = Y.map({"a": 3, "b": 1, "c": 2}).to_numpy()
    fitted = make(labels=[3, 1, 2]).fit(Q.to_numpy(), numbers)
    assert fitted.classes_.tolist() == [3, 1, 2]
    np.testing.assert_allclose(fitted.predict_proba(Q.to_numpy()), right, rtol=1e-12)
    hit = np.where(Y == "a", "hit", "miss")
    fitted = make(pos_label="hit").fit(Q["a"].to_numpy(), hit)
    assert fitted.classes_.tolist() == ["miss", "hit"]
    with pytest.raises(ValueError, match=r"y = the names \['hit', 'miss'\]"):
        make().fit(Q["a"].to_numpy(), hit)


@pytest.mark.filterwarnings("ignore:X has columns of the classes")
def test_a_map_of_named_columns_is_not_applied_to_columns_without_names_in_an_order_of_their_own() -> None:
    fitted = ClasswiseIsotonic().fit(P[["c", "a", "b"]], LABELS)
    right = fitted.predict_proba(P[["c", "a", "b"]])
    with pytest.raises(ValueError, match=r"^X = .*without names.*: expected .*\['c', 'a', 'b'\], in the order of fit; select them in this order, under these names"):
        fitted.predict_proba(PROBA)
    np.testing.assert_array_equal(fitted.predict_proba(pd.DataFrame(PROBA[:, [2, 0, 1]], columns=list("cab"))), right)
    # In alphabetical order they are as those without names are read.
    np.testing.assert_array_equal(ClasswiseIsotonic().fit(P, LABELS).predict_proba(PROBA), right[:, [1, 2, 0]])
