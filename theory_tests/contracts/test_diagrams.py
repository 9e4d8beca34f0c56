"""What `reliability`, `murphy` and `isotonic_decomposition` promise: shapes, names, rows, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

import propercal
from theory_tests.instances import calibrated

Y3, P3 = calibrated(200, 3)
Y, P = (Y3 == 1).astype(int), P3[:, 1]
FEW: dict[str, Any] = {"n_resamples": 19}


def test_the_dataset_of_a_diagram() -> None:
    p = np.round(P, 1)
    found = propercal.reliability(Y, p, n_bins=5, **FEW)
    x = np.unique(p)
    np.testing.assert_array_equal(found.prediction, x)
    for i, at in enumerate(x):
        assert found["count"].values[i] == (p == at).sum()
        assert found.frequency.values[i] == pytest.approx(Y[p == at].mean())
    assert found.weight.values == pytest.approx(found["count"].values / 200)
    number = np.minimum((5 * p).astype(int), 4)
    assert found.histogram.values == pytest.approx(np.bincount(number, minlength=5) / 200)
    assert found.histogram_occurred.values == pytest.approx(np.bincount(number, Y, 5) / 200)
    bins = [number == i for i in np.unique(number)]
    assert found.bin_count.values.tolist() == [each.sum() for each in bins]
    assert found.bin_frequency.values == pytest.approx([Y[each].mean() for each in bins])
    assert found.bin_prediction.values == pytest.approx([p[each].mean() for each in bins])
    assert (found.bin_lower <= found.bin_frequency).all()
    assert (found.bin_frequency <= found.bin_upper).all()
    assert (found.consistency_lower <= found.prediction).all()
    assert (found.prediction <= found.consistency_upper).all()
    assert found.attrs["event"] == "class 1"
    assert found.attrs["generator"] == "Brier()"
    assert found.attrs["consistency_band"].startswith("exact")


def test_bins_of_equal_weight_keep_equal_predictions_together() -> None:
    p = np.repeat([0.1, 0.2, 0.3, 0.9], [50, 25, 25, 100])
    found = propercal.reliability(np.tile([0, 1], 100), p, curve="quantile-bins", n_bins=2, **FEW)
    assert found.bin_count.values.tolist() == [100, 100]
    assert found.bin_prediction.values == pytest.approx([0.175, 0.9])
    assert found.attrs["curve"] == "quantile-bins"


@pytest.mark.parametrize(("given", "event", "words"), [
    ((Y, P), Y, "class 1"),
    ((Y, np.stack([1 - P, P], 1)), Y, "class 1"),
    ((np.where(Y, "ill", "well"), P), Y, "class ill"),
    ((Y3, P3), P3.argmax(1) == Y3, "the top class"),
])
def test_which_event_is_looked_at(given: tuple[Any, Any], event: Any, words: str) -> None:
    """Of two classes the second, or the one that a column is of; of more, the most probable one."""
    options: dict[str, Any] = {"pos_label": "ill"} if "ill" in words else {}
    found = propercal.reliability(given[0], given[1], **options, **FEW)
    assert float((found.frequency * found["count"]).sum()) == pytest.approx(np.sum(event))
    assert found.attrs["event"] == words
    assert propercal.reliability(given[0], given[1], notion="top-label", **options, **FEW).attrs["event"] == "the top class"


def test_the_log_loss_has_units() -> None:
    found = propercal.reliability(Y, P, generator="log", **FEW)
    assert found.score.attrs["units"] == "nats"
    assert found.score.item() == pytest.approx(-np.log(np.where(Y == 1, P, 1 - P)).mean())


def test_models_are_matched_by_their_index() -> None:
    pd = pytest.importorskip("pandas")
    other = (P + 0.5) / 2
    index = np.arange(200)[::-1]
    y, a = pd.Series(Y, index), pd.Series(P, index)
    b, weight = pd.Series(other[::-1], index[::-1]), pd.Series(np.arange(1.0, 201)[::-1], index[::-1])
    groups = pd.Series(np.arange(200)[::-1] // 4, index[::-1])
    found = propercal.murphy(y, {"a": a, "b": b}, sample_weight=weight, groups=groups)
    plain = propercal.murphy(Y, {"a": P, "b": other}, sample_weight=np.arange(1.0, 201), groups=np.arange(200) // 4)
    xr.testing.assert_allclose(found, plain)
    three = propercal.isotonic_decomposition(y, {"a": a, "b": b, "again": a})
    assert three.score.values[0] == three.score.values[2] != three.score.values[1]
    assert three.model.values.tolist() == ["a", "b", "again"]


def test_all_models_are_compared_with_each_other() -> None:
    pd = pytest.importorskip("pandas")
    ids = [f"r{i}" for i in range(len(Y))]
    table = pd.Series(P, ids)
    same = propercal.murphy(Y, {"a": P, "b": table, "c": table})
    assert same.score.sel(model="c").values == pytest.approx(propercal.murphy(Y, P).score.values[0])
    for models in ({"a": P, "b": table, "c": table[::-1]}, {"b": table, "c": table[::-1], "a": P}):
        with pytest.raises(ValueError, match=r"predictions\['c'\] = rows of the index .*since y_true has no index"):
            propercal.murphy(Y, models)


def test_listed_classes_name_columns_without_names() -> None:
    pd = pytest.importorskip("pandas")
    names = ["legit", "fraud"]
    words, both = np.array(names)[Y], np.stack([1 - P, P], axis=1)
    risk = np.mean((Y - P) ** 2)
    for listed in (names, np.array(names), tuple(names)):
        given: dict[str, Any] = {"labels": listed}
        for columns in (names, names[::-1]):
            table = pd.DataFrame(both, columns=names)[columns]
            for a, b in ((table, both), (both, table)):
                pair = propercal.paired_difference(words, a, b, term="risk", generator="brier", **given)
                assert pair.a.risk == pytest.approx(pair.b.risk, rel=1e-12) == 2 * risk
                found = propercal.isotonic_decomposition(words, {"a": a, "b": b}, generator="brier", event=0, **given)
                assert found.score.values == pytest.approx([2 * risk] * 2)
        other = pd.DataFrame(both, columns=["genuine", "fraud"])
        with pytest.raises(ValueError, match=r"labels = |y_proba_b = "):
            propercal.paired_difference(words, both, other, term="risk", **given)


def test_an_event_by_its_name_is_never_another_column() -> None:
    pd = pytest.importorskip("pandas")
    order = [2, 0, 1]
    for names in ([0, 1, 2], [1, 2, 3], ["0", "1", "2"], ["a", "b", "c"]):
        labels, table = np.array(names)[Y3], pd.DataFrame(P3[:, order], columns=[names[i] for i in order])
        for i, name in enumerate(names):
            expected = propercal.isotonic_decomposition(np.equal(Y3, i).astype(int), P3[:, i], generator="brier")
            found = propercal.isotonic_decomposition(labels, table, event=str(name), generator="brier")
            assert found.score.values == pytest.approx(expected.score.values)
            assert found.attrs["event"] == f"class {name}"
            column = order.index(i)
            if str(column) in map(str, names) and str(column) != str(name):
                with pytest.raises(ValueError, match=f"event = {column}: expected to know whether column {column} is meant, of class {name}, or"):
                    propercal.reliability(labels, table, event=column, **FEW)
            else:
                assert propercal.isotonic_decomposition(labels, table, event=column, generator="brier").score.values == pytest.approx(expected.score.values)
    with pytest.raises(ValueError, match="event = 'd': expected a column from 0 to 2, or one of the classes"):
        propercal.murphy(Y3, P3, event="d")


def test_one_prediction_without_a_name() -> None:
    assert propercal.murphy(Y, P).model.values.tolist() == ["model"]
    assert "difference" not in propercal.murphy(Y, {"a": P, "b": P, "c": P})


def test_weights_and_groups_say_what_bands_rely_on() -> None:
    weighted = propercal.reliability(Y, P, sample_weight=np.arange(1, 201), **FEW)
    assert "Chernoff" in weighted.attrs["confidence_band"]
    assert "exact" in weighted.attrs["consistency_band"]
    grouped = propercal.reliability(Y, P, groups=np.arange(200) // 4, **FEW)
    assert grouped.attrs["n_groups"] == 50
    assert "groups" in grouped.attrs["consistency_band"]
    assert "groups" in grouped.attrs["confidence_band"]
    blocks = propercal.reliability(Y, P, blocks=4, **FEW)
    xr.testing.assert_allclose(blocks, grouped)
    # A group for each row says nothing.
    alone = propercal.reliability(Y, P, groups=np.arange(200), **FEW)
    xr.testing.assert_allclose(alone, propercal.reliability(Y, P, **FEW))


def test_seeds_and_levels() -> None:
    first, again, other = (propercal.reliability(Y, P, random_state=each, **FEW) for each in (0, 0, 1))
    xr.testing.assert_identical(first, again)
    assert (first.consistency_upper != other.consistency_upper).any()
    # 19 draws cannot say where 99 % of curves lie: nowhere outside.
    wide = propercal.reliability(Y, P, confidence_level=0.99, **FEW)
    assert (wide.consistency_lower == 0).all()
    assert (wide.consistency_upper == 1).all()


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "curve": (lambda: propercal.reliability(Y, P, curve="isotonc"), "did you mean 'isotonic'"),
    "notion": (lambda: propercal.reliability(Y3, P3, notion="canonical"), "choose a class by event="),
    "event": (lambda: propercal.reliability(Y3, P3, event=True), "event = True: expected a column from 0 to 2"),
    "event of another notion": (lambda: propercal.murphy(Y3, P3, notion="top-label", event=1), "event = 1: expected None beside notion='top-label'"),
    "no event": (lambda: propercal.murphy(Y3, P3, notion="classwise"), "event = None: expected a column"),
    "bins": (lambda: propercal.reliability(Y, P, n_bins=1001), "n_bins = 1001"),
    "resamples": (lambda: propercal.reliability(Y, P, n_resamples=18), "n_resamples = 18: expected a whole number from 19"),
    "groups": (lambda: propercal.reliability(Y, P, groups=np.arange(200) // 20), "groups = 10 groups: expected 20"),
    "groups of a difference": (lambda: propercal.murphy(Y, P, groups=np.arange(200) // 20), "groups = 10 groups"),
    "both": (lambda: propercal.murphy(Y, {"a": P, "b": P}, groups=np.arange(200), blocks=4), "blocks = 4: expected None"),
    "thresholds": (lambda: propercal.murphy(Y, P, thresholds=[0.5, 1.5]), r"thresholds = \[0.5, 1.5\]"),
    "no thresholds": (lambda: propercal.murphy(Y, P, thresholds="a"), "thresholds = 'a'"),
    "level": (lambda: propercal.murphy(Y, P, confidence_level=95), "confidence_level = 95"),
    "no models": (lambda: propercal.murphy(Y, {}), "predictions = a mapping with the keys"),
    "numbers as names": (lambda: propercal.isotonic_decomposition(Y, {1: P}), "each a string"),
    "bad model": (lambda: propercal.murphy(Y, {"a": P, "b": 2 + P}), r"predictions\['b'\] = "),
    "top labels": (
        lambda: propercal.isotonic_decomposition(Y3, {"a": P3, "b": P3[:, ::-1]}, labels=[0, 1, 2]),
        r"event = None: expected one event for all models: that of predictions\['a'\]",
    ),
    "classes": (
        lambda: propercal.murphy(Y, {"a": P, "b": P3}, event=1),
        r"predictions\['b'\] = 3 classes, the event being class 1: expected 2 and class 1",
    ),
    "generator": (lambda: propercal.isotonic_decomposition(Y, P, generator="brir"), "did you mean 'brier'"),
    "several classes in a row": (lambda: propercal.reliability(np.stack([Y, Y, Y], 1), P3), "indicator matrix"),
}


@pytest.mark.filterwarnings("ignore:predictions..b.. has columns, read as those of the classes")
@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_named(case: str) -> None:
    call, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.filterwarnings("ignore:y_proba has columns, read as those of the classes")
def test_separate_columns_are_looked_at_one_by_one() -> None:
    marked = np.stack([Y, 1 - Y, Y], 1)
    found = propercal.reliability(marked, P3 * 0.9, event=2, **FEW)
    assert float((found.frequency * found["count"]).sum()) == Y.sum()


def test_models_with_dimensions_or_axes_are_read_as_rows() -> None:
    y, p = calibrated(60, 3)
    _, q = calibrated(60, 3, seed=1)
    right = propercal.isotonic_decomposition(y, {"p": p, "q": q}, event=1)
    grid = {name: xr.DataArray(each.reshape(5, 12, 3), dims=("lat", "lon", "class")) for name, each in (("p", p), ("q", q))}
    labels = xr.DataArray(y.reshape(5, 12), dims=("lat", "lon"))
    images = {name: np.moveaxis(each.reshape(5, 12, 3), -1, 1) for name, each in (("p", p), ("q", q))}
    ways: tuple[tuple[Any, Any, dict[str, Any]], ...] = (
        (labels, grid, {}),
        (labels.T, {"p": grid["p"], "q": grid["q"].transpose("class", "lon", "lat")}, {"sample_dims": ["lat", "lon"]}),
        (labels.to_numpy(), grid, {"class_dim": "class"}),
        (y.reshape(5, 12), images, {"class_axis": 1}),
    )
    for labels_, models, said in ways:
        xr.testing.assert_allclose(propercal.isotonic_decomposition(labels_, models, event=1, **said), right, rtol=1e-12)
        assert propercal.murphy(labels_, models, event=1, **said).sizes["model"] == 2
