"""What coordinates of labelled arrays say beside other names: of rows, and of what was selected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import propercal
from propercal import CalibrationSketch, decompose
from propercal._data.dependence.groups import validate_groups
from theory_tests.contracts.test_misleading_names import FRAUD, SCORE, TWO, WORDS, F
from theory_tests.contracts.test_misleading_names import check as check_two
from theory_tests.contracts.test_misleading_names import refused as refused_two
from theory_tests.contracts.test_rows import (
    CODES,
    IDS,
    LABELS,
    ORDER,
    PLAIN,
    PROBA,
    WEIGHT,
    WEIGHTED,
    N,
    P,
    W,
    Y,
    array,
    check,
    pair,
    refused,
)

# ---------------------------------------------------------------- rows that several coordinates name


def test_a_weight_whose_coordinate_names_rows_in_another_order_is_refused() -> None:
    weight = array(WEIGHT, "s").assign_coords(id=("s", IDS))
    check(Y, P, WEIGHTED, sample_weight=weight)
    check(Y, PROBA, WEIGHTED, sample_weight=weight)
    sides: list[tuple[Any, Any]] = [(Y, P), (Y, PROBA), (LABELS, P)]
    for y_true, y_proba in sides:
        refused(r"sample_weight = coordinates 'id' in another order than the index of y_\w+: expected rows in one order", y_true, y_proba, sample_weight=weight[ORDER])
    labels = array(LABELS, "s").assign_coords(id=("s", IDS))
    check(labels, array(PROBA, "s", "k"), WEIGHTED, sample_weight=W)
    refused("sample_weight = an index in another order than the coordinates 'id' of y_true", labels, array(PROBA, "s", "k"), sample_weight=W.iloc[ORDER])


def test_labels_whose_coordinate_names_rows_in_another_order_are_refused() -> None:
    labels = array(LABELS, "s").assign_coords(id=("s", IDS))
    proba = xr.DataArray(PROBA, dims=("dim_0", "dim_1"), coords={"dim_0": IDS})
    check(labels, proba)
    refused("y_true = coordinates 'id' in another order than the index of y_proba", labels, proba[ORDER])
    refused("y_true = coordinates 'id' in another order than the index of y_proba", labels, P.iloc[ORDER])
    check(labels, P)
    with pytest.raises(ValueError, match=r"^y_proba_b = coordinates 'id' in another order than the index of y_proba_a"):
        pair(LABELS, P, array(PROBA, "s", "k").assign_coords(id=("s", IDS))[ORDER])
    with pytest.raises(ValueError, match=r"^y_true = coordinates 'id' in another order"):
        CalibrationSketch(3, bandwidth=0.1).update(labels, P.iloc[ORDER])


def test_coordinates_of_another_meaning_say_nothing_of_rows() -> None:
    rank = np.random.default_rng(3).permutation(30)
    labels, proba = array(LABELS, "s", s=np.arange(30)), array(PROBA, "s", "k", s=np.arange(30))
    check(labels, proba.assign_coords(rank=("s", rank)))
    check(labels.assign_coords(rank=("s", rank)), proba.assign_coords(order=("s", rank[::-1])))
    check(labels.assign_coords(score=("s", rank / 7)), PLAIN)


# ---------------------------------------------------------------- what was selected

BOTH = xr.DataArray(F.to_numpy(), dims=("s", "k"), coords={"k": ["fraud", "legit"]})
FLAGS = xr.DataArray(np.stack([FRAUD, 1 - FRAUD], 1), dims=("s", "k"), coords={"k": ["fraud", "legit"]})


@pytest.mark.parametrize("name", ["fraud", "legit"])
def test_labels_that_were_selected_are_of_the_class_they_were_selected_by(name: str) -> None:
    labels = FLAGS.sel(k=name)
    for given in (labels, labels.rename("label"), labels.assign_coords(day=7)):
        check_two(TWO, given, BOTH.sel(k=name))
        other = BOTH.sel(k="legit" if name == "fraud" else "fraud")
        refused_two(f"y_true = an array selected by 'k' = '{name}': expected '{other.k.item()}', as y_proba was.*drop_vars", given, other)
        check_two(TWO, given, other.drop_vars("k"), pos_label=0)
    for table in (F, F[["legit", "fraud"]], BOTH, F.rename_axis("s").to_xarray().to_array("k").T):
        check_two(TWO, labels, table)
    if name == "fraud":
        refused_two("y_true = .*named 'label fraud'", labels.rename("label"), F)
        check_two(TWO, labels.rename("label"), F[["legit", "fraud"]])
    numbers = FLAGS.assign_coords(k=[1, 0])
    refused_two("y_true = an array selected by 'k' = 0: expected 1", numbers.sel(k=0), BOTH.assign_coords(k=[1, 0]).sel(k=1))


def test_variables_of_one_data_set_are_no_classes() -> None:
    both = xr.Dataset({"y": ("s", FRAUD * 1.0), "p": ("s", SCORE)}).to_array("variable")
    check_two(TWO, both.sel(variable="y"), both.sel(variable="p"))


@pytest.mark.parametrize("name", ["fraud", "legit"])
def test_columns_of_a_one_hot_name_the_class_that_was_selected(name: str) -> None:
    dummies = pd.get_dummies(WORDS)
    for options in ({}, {"labels": ["legit", "fraud"]}, {"labels": ["fraud", "legit"]}, {"pos_label": name}):
        check_two(TWO, dummies, BOTH.sel(k=name), **options)
    refused_two("pos_label = ", dummies, BOTH.sel(k=name), pos_label="legit" if name == "fraud" else "fraud")


@pytest.mark.parametrize("number", [1, 2])
def test_a_number_that_was_selected_is_no_class_but_of_0_and_1(number: int) -> None:
    runs = xr.DataArray(np.stack([SCORE, SCORE]), dims=("seed", "s"), coords={"seed": [1, 2]})
    chosen = runs.sel(seed=number)
    for labels in (FRAUD + 1, (FRAUD + 1).astype(str)):
        refused_two("y_true = .*pos_label=", labels, chosen)
        positive: Any = 2 if labels.dtype.kind == "i" else "2"
        check_two(TWO, labels, chosen, pos_label=positive)
    check_two(TWO, FRAUD, chosen)
    check_two(TWO, WORDS, chosen, pos_label="fraud")


SCALARS: dict[str, Any] = {
    "time": np.datetime64("2024-01-01", "ns"),
    "valid": np.datetime64("2024-01-01", "s"),
    "step": np.timedelta64(0, "ns"),
    "spatial_ref": 0,
    "surface": 0.0,
    "number": 0,
    "lead_time": 0,
    "latitude": 0.0,
}


@pytest.mark.parametrize("name", SCALARS)
def test_times_places_and_members_that_were_selected_are_no_class(name: str) -> None:
    chosen = array(SCORE, "s").assign_coords({name: SCALARS[name]})
    for labels in (FRAUD, array(FRAUD, "s"), array(FRAUD, "s").assign_coords({name: SCALARS[name]})):
        check_two(TWO, labels, chosen)
        check_two(TWO, labels, chosen.assign_coords(fold=1, member=0))
    of_class = array(SCORE, "s").assign_coords(k=0)
    refused_two("y_proba = a column named 0: expected to know which class", FRAUD, of_class)
    # Of both it says the same.
    check_two(TWO, array(FRAUD, "s").assign_coords(k=0), of_class)


def test_what_both_were_selected_by_is_no_class_of_words() -> None:
    labels, chosen = array(WORDS, "s"), array(SCORE, "s")
    check_two(TWO, labels, chosen.assign_coords(k="fraud"))
    for name, other in (("model", None), ("k", "fraud")):
        own = labels if other is None else labels.assign_coords({name: other})
        refused_two("y_true = the names .*pass pos_label", own, chosen.assign_coords({name: "fraud"}))
        check_two(TWO, own, chosen.assign_coords({name: "fraud"}), pos_label="fraud")


@pytest.mark.parametrize(("name", "one", "two"), [("threshold", 1.0, 5.0), ("level", 500, 850), ("lead", 6, 12), ("quantile", 0.1, 0.9), ("seed", 1, 2), ("step", *np.array([6, 12], "m8[h]")), ("time", *np.array(["2024-01-01", "2024-01-02"], "M8[ns]"))])
def test_times_and_numbers_of_two_are_refused(name: str, one: Any, two: Any) -> None:
    labels, chosen = (array(each, "s").assign_coords({name: number}) for each, number in ((FRAUD, one), (SCORE, two)))
    refused_two(f"y_true = an array selected by '{name}' = .*: expected .*, as y_proba was", labels, chosen)
    check_two(TWO, labels.assign_coords({name: two}), chosen)
    # What came true has started, and lies nearby.
    check_two(TWO, array(FRAUD, "s").assign_coords(step=0, lat=52.3), array(SCORE, "s").assign_coords(step=6, lat=52.25))
    valid = np.datetime64("2024-01-02", "ns")
    check_two(TWO, array(FRAUD, "s").assign_coords(time=valid, valid_time=valid), array(SCORE, "s").assign_coords(time=valid - np.timedelta64(6, "h"), valid_time=valid))


def test_weights_that_were_selected_elsewhere_are_refused() -> None:
    labels, chosen, weight = (array(each, "s").assign_coords(station="a", run=1) for each in (FRAUD, SCORE, np.ones(len(FRAUD))))
    check_two(TWO, labels, chosen, sample_weight=weight.assign_coords(run=2, variable="w"))
    for both in ((labels, chosen), (FRAUD, chosen), (labels, SCORE)):
        refused_two("sample_weight = an array selected by 'station' = 'b': expected 'a', as y_(true|proba) was", *both, sample_weight=weight.assign_coords(station="b"))


# ---------------------------------------------------------------- which dimension is that of classes


@pytest.mark.parametrize("coords", [{}, {"k": [0, 1, 2]}, {"k": [1, 2, 3]}, {"k": list("abc")}], ids=str)
def test_names_of_samples_are_not_those_of_classes(coords: dict[str, Any]) -> None:
    marks = np.eye(3)[np.searchsorted(["a", "b", "c"], LABELS)]
    for names in ({"s": IDS}, {}):
        y, p = (array(each, "s", "k", **coords, **names) for each in (marks, PROBA))
        if not names:
            y, p = (each.assign_coords(file=("s", IDS)) for each in (y, p))
        for labels, proba in ((y, p), (y.T, p.T), (y, p.T), (marks, p)):
            if labels is y and proba.dims != y.dims:
                continue
            found = decompose(labels, proba, notion="classwise", generator="brier", method="risk", bandwidth=0.1)
            assert found.calibration_error == pytest.approx(decompose(marks, PROBA, notion="classwise", generator="brier", method="risk", bandwidth=0.1).calibration_error, rel=1e-12)
        # Of separate problems no sum tells it.
        for labels in (y, marks):
            with pytest.raises(ValueError, match=r"^y_proba = dimensions 's', 'k': expected to know which of them is that of the classes; pass class_dim="):
                decompose(labels, p / 2, notion="classwise", generator="brier")


def test_a_grid_of_samples_with_names_is_asked_for() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((6, 10))
    occurred = (rng.random((6, 10)) < values).astype(int)
    for dates in (pd.date_range("2026-01-01", periods=10), np.arange(10) / 2):
        coords = {"station": list("uvwxyz"), "time": dates}
        y, p = (xr.DataArray(each, dims=("station", "time"), coords=coords) for each in (occurred, values))
        with pytest.raises(ValueError, match=r"^y_proba = dimensions 'station', 'time': expected to know which"):
            decompose(y, p, generator="brier")
        found = decompose(y, p, sample_dims=["station", "time"], generator="brier", method="risk", bandwidth=0.1)
        assert found.risk == pytest.approx(2 * np.mean((values - occurred) ** 2), rel=1e-12)


CUBE = np.arange(27) % 3
SURE = xr.DataArray((np.eye(3)[CUBE] * 0.7 + 0.1).reshape(3, 3, 3, 3), dims=("n", "h", "w", "k"))


def test_axes_without_names_beside_dimensions_are_asked_for_where_both_orders_fit() -> None:
    marks = np.eye(3)[CUBE].reshape(3, 3, 3, 3)
    options: dict[str, Any] = {"class_dim": "k", "notion": "classwise", "generator": "brier", "method": "risk", "bandwidth": 0.1}
    assert decompose(marks, SURE, **options).risk == pytest.approx(0.04, rel=1e-12)
    moved = SURE.transpose("n", "k", "h", "w")
    for labels in (marks, np.moveaxis(marks, -1, 1)):
        with pytest.raises(ValueError, match=r"^y_true = an array of shape \(3, 3, 3, 3\) without names of dimensions: .*'n', 'k', 'h', 'w', in order; pass a DataArray"):
            decompose(labels, moved, **options)
    assert decompose(xr.DataArray(marks, dims=SURE.dims), moved, **options).risk == pytest.approx(0.04, rel=1e-12)


def test_dimensions_beside_an_axis_of_classes_are_refused() -> None:
    image = np.moveaxis(SURE.to_numpy(), -1, 1)
    labels = xr.DataArray(CUBE.reshape(3, 3, 3), dims=("n", "h", "w"))
    for y_true, weight in ((labels, None), (labels.T, None), (labels.to_numpy(), labels + 1)):
        name = "y_true" if weight is None else "sample_weight"
        with pytest.raises(ValueError, match=rf"^{name} = a DataArray, whose axes have names: .*pass \.to_numpy\(\)"):
            decompose(y_true, image, class_axis=1, sample_weight=weight, generator="brier")
    check_of_arrays = decompose(labels.to_numpy(), image, class_axis=1, generator="brier", method="risk", bandwidth=0.1)
    assert check_of_arrays.risk == pytest.approx(0.06, rel=1e-12)
    marks = pd.DataFrame(np.eye(3)[:, [2, 0, 1]], index=list("cab"))
    with pytest.raises(ValueError, match=r"^y_true = a DataFrame, whose axes have names"):
        decompose(marks, np.full((3, 3), 1 / 3), class_axis=0, generator="brier")


# ---------------------------------------------------------------- levels of an index

TIMES = np.arange(10) * 3
GRID = array(CODES.reshape(3, 10), "m", "t", t=TIMES)
OF_GRID = array(PROBA.reshape(3, 10, 3), "m", "t", "k", t=TIMES)
WEIGHTS = array(WEIGHT.reshape(3, 10), "m", "t", t=TIMES)
LATER = np.random.default_rng(4).permutation(10)


@pytest.mark.filterwarnings("ignore:only 1 row had an outcome")
@pytest.mark.parametrize("coords", [["t"], []], ids=["t", "none"])
def test_levels_are_matched_with_dimensions_of_which_some_have_no_coordinate(coords: list[str]) -> None:
    y, p, w = (each if coords else each.drop_vars("t") for each in (GRID, OF_GRID, WEIGHTS))
    turned = p.transpose("t", "m", "k")
    labels = y.to_series()
    for series in (labels, labels.sample(frac=1, random_state=0), labels.swaplevel()):
        for proba in (p, turned, p.isel(t=LATER) if coords else p):
            check(series, proba, class_dim="k")
            check(series, proba, WEIGHTED, class_dim="k", sample_weight=w.to_series().sample(frac=1, random_state=1))
            check(series, proba, WEIGHTED, class_dim="k", sample_weight=w.T)
            check(y.T, proba, WEIGHTED, class_dim="k", sample_weight=w.to_series())
    refused("sample_weight = rows with no index", labels, turned, class_dim="k", sample_weight=WEIGHT)
    table = pd.DataFrame(PROBA, index=labels.index).sample(frac=1, random_state=2)
    check(y, table, sample_dims=("m", "t"))
    check(y.T, table, sample_dims=("m", "t"))
    assert propercal.paired_difference(labels, turned, p, class_dim="k", generator="brier").difference == pytest.approx(0, abs=1e-12)
    groups = np.arange(N) // 3 % 8
    beside = validate_groups(CODES, PROBA, groups=groups)
    found = validate_groups(y, turned, class_dim="k", groups=pd.Series(groups, labels.index))
    assert sorted(zip(map(tuple, found.prob.tolist()), groups_of(found), strict=True)) == sorted(
        zip(map(tuple, beside.prob.tolist()), groups_of(beside), strict=True)
    )


def groups_of(predictions: Any) -> list[Any]:
    """Return of each row the predictions of its group, whatever its number is."""
    rows = predictions.prob.tolist()
    return [sorted(row for row, of in zip(rows, predictions.groups, strict=True) if of == own) for own in predictions.groups]


def test_levels_that_number_nothing_are_in_the_order_of_the_dimensions_or_refused() -> None:
    index = pd.MultiIndex.from_product([list("xyz"), TIMES], names=["m", "t"])
    labels = pd.Series(CODES, index)
    check(labels, OF_GRID, class_dim="k")
    check(labels, OF_GRID.isel(t=LATER), class_dim="k")
    for series, proba in [(labels, OF_GRID.transpose("t", "m", "k")), (labels.sample(frac=1, random_state=0), OF_GRID)]:
        refused("y_true = rows of the index .*expected coordinates of y_proba that tell", series, proba, class_dim="k")


def test_levels_of_an_index_are_compared_with_coordinates_of_their_names() -> None:
    """As they are without the index, which a data set must lose before it is written."""
    y, p, w = (each.assign_coords(m=list("xyz")) for each in (GRID, OF_GRID, WEIGHTS))
    orders = [("m", "t"), ("t", "m")]
    stacked = [[each.stack(s=order) for each in (y, p, w)] for order in orders]  # noqa: PD013  # of xarray
    (labels, _, _), (_, proba, weight) = stacked
    plain = labels.reset_index("s")
    check(plain, proba, class_dim="k")
    check(labels, proba.reset_index("s"), class_dim="k")
    check(plain, proba, WEIGHTED, class_dim="k", sample_weight=weight)
    check(labels, stacked[0][1], WEIGHTED, class_dim="k", sample_weight=weight.reset_index("s"))
    check(plain, proba, WEIGHTED, class_dim="k", sample_weight=stacked[0][2].reset_index("s"))
    table = proba.transpose("s", "k").to_pandas()
    refused("y_true = an index in another order than the levels of y_proba", plain, table, class_dim=None)


@pytest.mark.parametrize("name", ["s", "id"])
def test_coordinates_of_groups_and_weights_are_compared(name: str) -> None:
    def held(values: Any, kind: str) -> Any:
        return pd.Series(values, IDS) if kind == "series" else array(values, "s").assign_coords({name: ("s", IDS)})

    groups = np.arange(N) // 2 % 12
    for kinds in [("array", "array"), ("array", "series"), ("series", "array")]:
        weight, of = held(WEIGHT, kinds[0]), held(groups, kinds[1])
        moved = of[ORDER] if kinds[1] == "array" else of.iloc[ORDER]
        assert validate_groups(CODES, PROBA, sample_weight=weight, groups=of).n_groups == 12
        with pytest.raises(ValueError, match=r"^groups = (rows|an index|coordinates 'id') in another order than .* sample_weight"):
            validate_groups(CODES, PROBA, sample_weight=weight, groups=moved)


@pytest.mark.parametrize("unique", [True, False])
def test_coordinates_of_a_grid_that_repeat_say_an_order_too(unique: bool) -> None:
    places = np.arange(N).reshape(5, -1)
    region = places if unique else places // 4
    y = xr.DataArray(CODES.reshape(places.shape), dims=("u", "v"), coords={"region": (("u", "v"), region)})
    p = xr.DataArray(PROBA.reshape(*places.shape, 3), dims=("u", "v", "k"), coords={"region": (("u", "v"), region)})
    assert decompose(y, p, class_dim="k", generator="brier", method="risk", bandwidth=0.1).risk == pytest.approx(decompose(CODES, PROBA, generator="brier", method="risk", bandwidth=0.1).risk, rel=1e-12)
    with pytest.raises(ValueError, match="coordinates of 'region' in another order"):
        decompose(y, p[::-1], class_dim="k")


@pytest.mark.parametrize("kind", ["repeated", "digits", "bytes", "padded"])
def test_coordinates_of_groups_and_weights_are_compared_whatever_their_type(kind: str) -> None:
    ids = np.arange(N) // 2 if kind == "repeated" else np.arange(N) + 5
    own = ids.astype(str) if kind == "digits" else ids.astype(str).astype("S") if kind == "bytes" else ids
    own = np.array([f"{i:04d}" for i in ids]) if kind == "padded" else own
    theirs = ids.astype(str) if kind in ("bytes", "padded") else ids
    weight = xr.DataArray(np.ones(N), dims="s", coords={"id": ("s", own)})
    groups = xr.DataArray(np.arange(N) // 3, dims="s", coords={"id": ("s", theirs)})
    assert validate_groups(CODES, PROBA, groups=groups, sample_weight=weight).n_groups == -(-N // 3)
    with pytest.raises(ValueError, match="in another order"):
        validate_groups(CODES, PROBA, groups=groups[ORDER], sample_weight=weight)


# ---------------------------------------------------------------- classes that have names and numbers

CAB = [2, 0, 1]
CLASS = np.arange(30) % 3
CERTAIN = np.eye(3)[CLASS] * 0.7 + 0.1
#: Brier score of 0.8 for what occurs, and 0.1 for each of the others.
THREE = 0.2**2 + 2 * 0.1**2


def three(proba: Any, **coords: Any) -> Any:
    return xr.DataArray(proba, coords, ("s", "k"))


def test_numbers_of_classes_in_another_order_are_not_counted_by_position() -> None:
    named = three(CERTAIN[:, CAB], k=list("cab"), code=("k", CAB))
    message = r"y_proba = a coordinate 'code' that numbers classes as \[2, 0, 1\]: expected classes in the order of these numbers, as y_true counts them"
    for labels in (CLASS, xr.DataArray(CLASS, dims="s"), CLASS.astype(float)):
        refused_two(message, labels, named)
        for right in (named.sortby("code"), named.drop_vars("code")[:, [1, 2, 0]]):
            check_two(THREE, labels, right)
        check_two(THREE, labels, named, labels=CAB)
    refused_two("y_proba = a coordinate 'code' that numbers classes as", CLASS + 1, named.assign_coords(code=("k", [3, 1, 2])))
    sketch = CalibrationSketch(3, bandwidth=0.1)
    with pytest.raises(ValueError, match="a coordinate 'code' that numbers classes as"):
        sketch.update(CLASS, named)
    # Names tell, and so do numbers where they are the index.
    check_two(THREE, np.array(list("abc"))[CLASS], named)
    check_two(THREE, CLASS, three(CERTAIN[:, CAB], code=("k", CAB)))
    check_two(THREE, CLASS, three(CERTAIN[:, CAB], k=CAB, code=("k", [1, 0, 2])))


@pytest.mark.parametrize("other", [[0, 1, 0], [0.5, 0.2, 0.3], [50, 20, 30], [0, 1, 2], list("xyz")], ids=str)
def test_other_coordinates_of_classes_are_no_numbers_of_them(other: Any) -> None:
    check_two(THREE, CLASS, three(CERTAIN, k=list("abc"), other=("k", other)))


def test_two_classes_have_numbers_too() -> None:
    pair = xr.DataArray(np.c_[SCORE, 1 - SCORE], {"k": ["fraud", "legit"], "code": ("k", [1, 0])}, ("s", "k"))
    for labels in (FRAUD, FRAUD == 1):
        refused_two("y_proba = a coordinate 'code' that numbers classes as", labels, pair)
        check_two(TWO, labels, pair.sortby("code"))
    check_two(TWO, WORDS, pair)


@pytest.mark.parametrize("index", [{}, {"k": [0, 1, 2]}], ids=["no index", "counted"])
def test_a_list_of_rows_is_named_as_their_array(index: Any) -> None:
    words = np.array(list("abc"))[CLASS]
    array = three(CERTAIN[:, CAB], name=("k", list("cab")), **index)
    for proba in (array, list(array), list(array.assign_coords(same=("k", list("cab"))))):
        check_two(THREE, words, proba)
    refused_two("y_proba = .*coordinates", words, list(array.assign_coords(other=("k", list("xyz")))))
    check_two(THREE, CLASS, list(three(CERTAIN, k=[0, 1, 2], weight=("k", [0.5, 0.2, 0.3]))))


@pytest.mark.parametrize("values", [IDS, np.arange(N), np.arange(N) + 0.5, pd.date_range("2020-01-01", periods=N)], ids=["ids", "numbers", "floats", "times"])
@pytest.mark.parametrize("dim", ["s", "dim_0"])
def test_coordinates_of_two_names_that_say_two_orders_are_refused(values: Any, dim: str) -> None:
    """Neither is the dimension's own, and nothing else tells which row is which."""

    def named(data: Any, name: str, *dims: str) -> Any:
        return xr.DataArray(data, dims=(dim, *dims)).assign_coords({name: (dim, np.asarray(values))})

    labels, proba, weight = named(LABELS, "t"), named(PROBA, "time", "k"), named(WEIGHT, "t")
    check(labels, proba)
    check(labels, proba, WEIGHTED, sample_weight=weight)
    refused("y_true = coordinates of 't' in another order along .*as coordinates of 'time' say it; drop the wrong ones", labels[ORDER], proba)
    refused("sample_weight = coordinates of 't' in another order", named(LABELS, "time"), proba, sample_weight=weight[ORDER])
    # As advised.
    check(labels[ORDER].swap_dims({dim: "t"}).rename(t="time"), proba.swap_dims({dim: "time"}))
    check(labels.drop_vars("t"), proba)
    # Other values, ranks, values that repeat, and names that tell rows apart say nothing of order.
    check(labels.assign_coords(t=(dim, np.arange(N)[::-1] + 1000)), proba)
    check(labels.assign_coords(t=(dim, np.arange(N) % 2)), proba.assign_coords(time=(dim, np.arange(N)[::-1] % 2)))
    check(labels.drop_vars("t").assign_coords(rank_of_score=(dim, np.asarray(values)[ORDER])), proba)
    check(*(each.assign_coords(id=(dim, IDS)) for each in (labels.assign_coords(t=(dim, np.asarray(values)[ORDER])), proba)))


def test_coordinates_of_two_names_along_a_grid() -> None:
    order = [1, 0, 2, 3, 4]
    event, score = (np.asarray(each).reshape(5, 4) for each in (FRAUD, SCORE))
    grid = xr.DataArray(score, dims=("y", "x")).assign_coords(lat=("y", np.arange(5) * 10.0))
    labels = xr.DataArray(event, dims=("y", "x")).assign_coords(latitude=("y", np.arange(5) * 10.0))
    options: dict[str, Any] = {"sample_dims": ["y", "x"], "generator": "brier", "method": "risk", "bandwidth": 0.1}
    assert decompose(labels, grid, **options).risk == pytest.approx(2 * 0.1**2, rel=1e-12)
    with pytest.raises(ValueError, match=r"^y_true = coordinates of 'latitude' in another order along 'y'"):
        decompose(labels[order], grid, **options)
