"""Which column is which class and which row is which: matched by name, aligned by index, or refused.

The data of most tests are thirty rows of three classes, 0.8 for the class that occurs and 0.1 for the two others,
so that the Brier score is 0.2² + 2 · 0.1² = 0.06; any other pairing gives more.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from propercal import CalibrationSketch, decompose

N = 30
CODES = np.arange(N) % 3
NAMES = np.array(["a", "b", "c"])
LABELS = NAMES[CODES]
PROBA = np.eye(3)[CODES] * 0.7 + 0.1
P = pd.DataFrame(PROBA, columns=list("abc"))
SETTINGS: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
RIGHT = 0.06
SHUFFLED = np.random.default_rng(0).permutation(N)
HOURS = np.arange(N) + 5
ORDERS = ["".join(order) for order in itertools.permutations("abc")]

ARRAY = xr.DataArray(PROBA, dims=("time", "class"), coords={"time": HOURS, "class": list("abc")})
SERIES = xr.DataArray(LABELS, dims="time", coords={"time": HOURS})


def risk(y_true: Any, y_proba: Any, **options: Any) -> float:
    return float(decompose(y_true, y_proba, **SETTINGS, **options).risk)


def check(y_true: Any, y_proba: Any, right: Any = RIGHT, **options: Any) -> None:
    assert risk(y_true, y_proba, **options) == pytest.approx(right, rel=1e-12)


def refused(match: str, y_true: Any, y_proba: Any, **options: Any) -> None:
    with pytest.raises(ValueError, match=match):
        risk(y_true, y_proba, **options)


# ---------------------------------------------------------------- names of columns


@pytest.mark.parametrize("of_labels", ORDERS)
@pytest.mark.parametrize("of_columns", ORDERS)
def test_one_hot_frames_are_matched_by_name(of_columns: str, of_labels: str) -> None:
    check(pd.get_dummies(LABELS)[list(of_labels)], P[list(of_columns)])


@pytest.mark.parametrize("order", ORDERS)
def test_names_of_columns_are_those_of_labels(order: str) -> None:
    check(LABELS, P[list(order)])
    check(pd.Series(LABELS, dtype="category"), P[list(order)])
    # A list of labels names classes, whose order is that of columns where these bear the names.
    check(LABELS, P[list(order)], labels=list("abc"))
    check(pd.get_dummies(LABELS)[list(order)], PROBA, labels=list("abc"))
    check(LABELS, P[list(order)].add_prefix("p_"), labels=list(order))


@pytest.mark.parametrize("order", ORDERS)
def test_names_that_nearly_match_are_refused(order: str) -> None:
    for frame in (P.add_prefix("p_"), P.rename(columns={"a": "A"}), P.rename(columns={"c": "d"})):
        refused(r"y_true = the names \['a', 'b', 'c'\]: expected names of columns of y_proba, .*labels=\[\.\.\.\]", LABELS, frame[[frame.columns["abc".index(c)] for c in order]])
    refused("y_true = columns named", pd.get_dummies(pd.DataFrame({"y": LABELS})), P[list(order)])
    refused("labels = ", LABELS, P[list(order)], labels=["a", "b", "x"])


def test_numbers_that_are_not_whole_may_name_classes() -> None:
    sizes = np.array([0.5, 1.0, 1.5])
    y, digits = sizes[CODES], ["0.5", "1.0", "1.5"]
    for labels in (y, y.astype(np.float32), y.tolist(), pd.Series(y), pd.Series(y, dtype="category")):
        check(labels, PROBA, labels=[0.5, 1, 1.5])
        check(labels, pd.DataFrame(PROBA, columns=sizes)[[1.5, 0.5, 1.0]])
        check(labels, pd.DataFrame(PROBA, columns=digits)[["1.5", "0.5", "1.0"]])
        check(labels, pd.DataFrame(PROBA, columns=[f"p_{each}" for each in digits]))
    check(pd.Series(y, dtype="category"), PROBA)
    check(np.array([0.1, 1, 1.5], np.float32)[CODES], PROBA, labels=[0.1, 1, 1.5])
    check(digits[:1] * 3, pd.DataFrame(PROBA[:9:3], columns=sizes))
    two, p = np.where(CODES == 0, 1.5, 0.5), PROBA[:, 0]
    for options in ({"pos_label": 1.5}, {"labels": [0.5, 1.5]}):
        check(two, p, risk(CODES == 0, p), **options)


def test_numbers_that_are_not_whole_are_no_classes_where_nobody_says_so() -> None:
    y = np.array([0.5, 1.0, 1.5])[CODES]
    fix = "or labels=.* if these numbers name the classes of the columns in order"
    for labels, proba, options in ((y, PROBA, {}), (y, P, {}), (np.where(CODES, 1, 0.5), PROBA[:, 0], {"pos_label": 1}), (y / 2, pd.DataFrame(PROBA, columns=[0.5, 1.0, 1.5]), {})):
        refused(f"y_true = 0.*: expected whole class numbers.*{fix}", labels, proba, **options)
    refused("y_true = nan at row 3: .*drop rows whose label is missing", np.where(np.arange(N) == 3, np.nan, y), PROBA, labels=[0.5, 1, 1.5])
    refused(r"y_true = 2\.0 at row 3: expected one of labels=", np.where(np.arange(N) == 3, 2, y), PROBA, labels=[0.5, 1, 1.5])


@pytest.mark.parametrize("order", ORDERS)
def test_a_one_hot_frame_may_lack_a_class_that_did_not_occur(order: str) -> None:
    some, all_of = CODES != 1, [*LABELS, "d"]
    marks, proba = pd.get_dummies(LABELS[some])[["c", "a"]], P[list(order)][some].reset_index(drop=True)
    check(marks, proba)
    check(marks, proba.to_numpy(), labels=list(order))
    # A class that the frame alone has is left out where no row is of it.
    check(pd.get_dummies(pd.Series(all_of))[:N][list("dcba")], P[list(order)])
    array = xr.DataArray(marks.to_numpy() * 1, dims=("time", "class"), coords={"time": HOURS[some], "class": ["c", "a"]})
    check(array, ARRAY.sel({"class": list(order)})[SHUFFLED][np.isin(SHUFFLED, np.flatnonzero(some))])
    check(pd.get_dummies(CODES[some]), PROBA[some])
    sketch = CalibrationSketch(3, generator="brier", bandwidth=0.1)
    for rows in (some, ~some | (CODES == 0)):
        sketch.update(pd.get_dummies(LABELS[rows]), P[list(order)][rows].reset_index(drop=True))
    assert sketch.n_samples == N + N // 3


def test_a_one_hot_frame_that_may_lack_the_class_of_some_row_is_refused() -> None:
    some = CODES != 1
    first = pd.get_dummies(LABELS, drop_first=True)
    refused(r"^y_true = columns \['b', 'c'\], of which not one alone is marked at rows 0, 3, .*such as 'a', which these rows may be of; keep all columns \(no drop_first=True\)", first, P)
    several = pd.DataFrame({"a": CODES < 2, "c": CODES > 0})
    refused(r"^y_true = columns \['a', 'c'\], of which not one alone is marked at rows 1, 4", several, P, notion="classwise")
    refused(r"^y_true = a matrix of shape \(20, 2\): expected 3 columns.*pass labels=", pd.get_dummies(LABELS[some]), PROBA[some])
    refused(r"^y_true = a matrix of shape \(20, 2\): expected 3 columns.*name its columns as the classes of y_proba", pd.get_dummies(LABELS[some]).add_prefix("y_"), P[some])
    # From 1 on, or from 0.
    refused(r"^y_true = a matrix of shape \(20, 2\): expected 3 columns", pd.get_dummies(CODES[some] + 1), PROBA[some])
    refused(r"^y_true = a matrix of shape \(30, 4\): expected 3 columns", pd.get_dummies(pd.Series([*LABELS[1:], "d"])), P)
    # What is advised holds.
    check(first.assign(a=~first.any(axis=1)), P)
    check(pd.get_dummies(LABELS[some]), PROBA[some], labels=list("abc"))


def test_numbers_and_their_digits_are_the_same_name() -> None:
    table = pd.DataFrame({"1": [0.9, 0.2, 0.7], "0": [0.1, 0.8, 0.3], "label": [1, 0, 0]})
    right = 2 * np.mean([0.1**2, 0.2**2, 0.7**2])
    for labels in (table.label, table.label.astype(float), table.label.astype(str), table.label == 1, pd.get_dummies(table.label)):
        check(labels, table[["1", "0"]].rename(columns={"1": "True", "0": "False"}) if labels.dtypes is np.dtype(bool) else table[["1", "0"]], right)
        check(labels, table[["0", "1"]] if labels.dtypes is not np.dtype(bool) else table[["0", "1"]].to_numpy(), right)
    check(table.label, table[["1", "0"]].set_axis([1, 0], axis=1), right)


@pytest.mark.parametrize("columns", [("p_1", "p_0"), ("p(y=1)", "p(y=0)"), ("positive", "negative"), ("fraud", "not fraud"), ("yes", "no"), ("prob_1_x", "prob_0_x"), (2, 1), ("2", "1")])
def test_columns_that_look_like_classes_in_another_order_are_refused(columns: Any) -> None:
    frame = pd.DataFrame(np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]), columns=list(columns))
    refused("y_true = the names", [1, 0, 1], frame)


def test_names_that_are_counted_say_nothing() -> None:
    check(CODES, P)
    check(LABELS, pd.DataFrame(PROBA))
    check(CODES, P.set_axis(["p_0", "p_1", "p_2"], axis=1))
    check(pd.get_dummies(LABELS), pd.DataFrame(PROBA))
    # But counted in another order they do.
    check(pd.get_dummies(CODES)[[2, 0, 1]], PROBA)
    check(np.eye(3)[CODES], pd.DataFrame(PROBA)[[2, 0, 1]])
    check(CODES, pd.DataFrame(PROBA)[[2, 0, 1]])


def test_the_order_of_names_is_not_guessed_where_there_are_two() -> None:
    refused("y_true = the names .*expected to know their order", pd.Categorical(LABELS, categories=list("cab")), PROBA)
    check(pd.Categorical(LABELS, categories=list("cab"), ordered=True), PROBA[:, [2, 0, 1]])
    # Nor where a type names more classes than there are columns.
    refused("y_true = the names .*expected to know their order", pd.Categorical(LABELS, categories=list("cabz"), ordered=True), PROBA)
    check(pd.Categorical(LABELS, categories=list("abcz"), ordered=True), PROBA)
    k = 11
    codes = np.arange(2 * k) % k
    refused("y_true = the names .*expected to know their order", codes.astype(str), np.eye(k)[codes])


# ---------------------------------------------------------------- the positive class


def test_the_positive_class_is_named_or_asked_for() -> None:
    labels, fraud = ["fraud", "legit"] * 10, [0.9, 0.1] * 10
    one_hot = pd.get_dummies(pd.Series(labels))
    check(labels, pd.Series(fraud, name="fraud"), 0.02)
    check(labels, pd.Series(fraud, name="fraud").to_frame(), 0.02)
    check(labels, xr.DataArray(fraud, dims="row", name="fraud"), 0.02)
    check(labels, pd.Series(1 - np.array(fraud), name="legit"), 0.02)
    check(labels, fraud, 0.02, pos_label="fraud")
    check(labels, fraud, 0.02, labels=["legit", "fraud"])
    check(labels, pd.Series(fraud, name="fraud"), 0.02, labels=["fraud", "legit"])
    check(one_hot, fraud, 0.02, pos_label="fraud")
    check(one_hot, pd.Series(fraud, name="fraud"), 0.02)
    check(["legit"] * 20, fraud, np.mean([0.81 * 2, 0.01 * 2]), pos_label="fraud")
    for given in (fraud, pd.Series(fraud, name="p_fraud"), pd.Series(fraud, name="score")):
        refused(r"y_true = the names \['fraud', 'legit'\]: .*pos_label=", labels, given)
    refused("y_true = the names .*pos_label=", one_hot, fraud)
    refused("pos_label = 'fraud': expected 'legit', the name", labels, pd.Series(fraud, name="legit"), pos_label="fraud")
    for positive in ("froud", 1):
        refused(rf"pos_label = {positive!r}: expected a class of y_true, \['fraud', 'legit'\]", labels, fraud, pos_label=positive)
    refused("pos_label = 'a': expected None", LABELS, PROBA, pos_label="a")


def test_numbers_that_say_which_class_is_positive() -> None:
    p = [0.9, 0.1] * 10
    for labels in ([1, 0], [1.0, 0.0], [True, False], [1, -1]):
        check(labels * 10, p, 0.02)
    check([0, 1] * 10, p, 0.02, pos_label=0)
    check([1, 2] * 10, p, 0.02, pos_label=1)
    refused(r"y_true = the labels \[1, 2\]: .*pos_label=", [1, 2] * 10, p)
    # The first column of two classifiers' probabilities is that of class 0.
    refused("y_proba = a column named 0: .*pos_label=", [0, 1] * 10, pd.DataFrame(np.stack([p, p], 1))[0])
    refused("y_proba = a column named 'p_0'", [0, 1] * 10, pd.Series(p, name="p_0"))
    check([0, 1] * 10, pd.Series(p, name="p_0"), 0.02, pos_label=0)


@pytest.mark.parametrize("values", [(-1, 1), (1, 2), (3, 7)])
def test_sorted_values_are_the_classes_where_they_are_as_many_as_columns(values: tuple[int, int]) -> None:
    check(np.array(values)[np.arange(20) % 2], np.array([[0.9, 0.1], [0.1, 0.9]] * 10), 0.02)
    check(CODES + 1, PROBA)
    refused("y_true = 3 at rows", np.append(CODES[1:] + 1, 5), PROBA)


@pytest.mark.parametrize("values", [(0, 2, 7), (-1, 0, 1), (-1, 1, 2)])
def test_a_number_that_may_be_a_mistake_is_no_class(values: tuple[int, ...]) -> None:
    labels = np.array(values)[CODES]
    refused("y_true = .* at rows .*: expected 0 to 2", labels, PROBA)
    check(labels, PROBA, labels=list(values))


# ---------------------------------------------------------------- the order of rows


def test_rows_are_aligned_by_their_index() -> None:
    labels, proba = pd.Series(LABELS, index=HOURS), P.set_index(HOURS)
    check(labels.iloc[SHUFFLED], proba)
    check(labels, proba.iloc[SHUFFLED])
    check(pd.get_dummies(labels).iloc[SHUFFLED], proba)
    check(pd.Series(CODES == 1, index=HOURS).iloc[SHUFFLED], proba["b"], 2 * (0.2**2 + 2 * 0.1**2) / 3)
    weight = pd.Series(np.arange(N) % 4 + 1.0, index=HOURS)
    wrong = pd.Series(np.where(np.arange(N) < 7, "a", LABELS), index=HOURS)
    for given in (wrong.to_numpy(), wrong):
        for of_weight in (weight, weight.iloc[SHUFFLED]):
            check(given, proba, risk(wrong.to_numpy(), PROBA, sample_weight=weight.to_numpy()), sample_weight=of_weight)
    check(wrong, PROBA, risk(wrong.to_numpy(), PROBA, sample_weight=weight.to_numpy()), sample_weight=weight.iloc[SHUFFLED])


def test_an_index_of_other_rows_is_refused() -> None:
    labels, proba = pd.Series(LABELS, index=HOURS), P.set_index(HOURS)
    refused(r"y_true = rows of the index 6, 7, 8, 9, \.\.\.: expected the rows of y_proba, 5, 6", labels.set_axis(HOURS + 1), proba)
    refused("y_true = rows of the index", labels.set_axis(HOURS // 2).iloc[SHUFFLED], proba.set_index(HOURS // 2))
    refused("sample_weight = rows of the index", labels, proba, sample_weight=pd.Series(1.0, index=HOURS - 1))
    # Equal ones are equal, even where labels of rows repeat.
    check(labels.set_axis(HOURS // 2), proba.set_index(HOURS // 2))


def test_a_default_index_says_nothing_but_beside_the_same_numbers_shuffled() -> None:
    check(pd.Series(LABELS), P)
    check(pd.Series(LABELS, index=HOURS[::-1]), P)
    check(LABELS[SHUFFLED], P.iloc[SHUFFLED])
    refused(r"y_true = rows of the index .*\.sort_index\(\).*\.reset_index", pd.Series(LABELS).iloc[SHUFFLED], P)
    refused("y_true = rows of the index 0, 1, 2, 3", pd.Series(LABELS), P.iloc[SHUFFLED])


# ---------------------------------------------------------------- dimensions and coordinates


@pytest.mark.parametrize("order", ORDERS)
def test_coordinates_name_classes_and_align_rows(order: str) -> None:
    for proba in (ARRAY.sel({"class": list(order)}), ARRAY.sel({"class": list(order)}).isel(time=SHUFFLED)):
        check(SERIES, proba)
        check(SERIES, proba.transpose())
        check(SERIES.isel(time=SHUFFLED), proba)
        check(SERIES.to_series(), proba)
    check(LABELS, ARRAY.sel({"class": list(order)}))
    check(xr.DataArray(np.eye(3)[CODES], ARRAY.coords, ARRAY.dims).sel({"class": list(order)}).isel(time=SHUFFLED), ARRAY)
    check(SERIES.to_series().iloc[SHUFFLED], P[list(order)].set_index(HOURS))


@pytest.mark.parametrize("order", ORDERS)
def test_coordinates_without_an_index_are_names_too(order: str) -> None:
    proba = ARRAY.sel({"class": list(order)})
    for given in (proba.drop_indexes("class"), proba.drop_vars("class").assign_coords(name=("class", list(order))), proba.drop_indexes("time").isel(time=SHUFFLED)):
        check(SERIES, given)
        check(SERIES.isel(time=SHUFFLED), given)


def test_square_arrays_are_read_by_their_dimensions() -> None:
    square = ARRAY[:3]
    check(SERIES[:3], square)
    check(SERIES[:3], square.transpose())
    refused("y_proba = dimensions 'class', 'time': .*class_dim=", LABELS[:3], square.transpose())
    check(LABELS[:3], square.transpose(), class_dim="class")
    check(LABELS[:3], square.transpose(), sample_dims="time")
    one_hot = xr.DataArray(np.eye(3), dims=("time", "class"))
    check(one_hot, square)
    # Names match the two, and sums of the predictions tell the classes.
    check(one_hot, square.transpose())
    check(one_hot, square.transpose(), class_dim="class")
    refused("y_true = dimensions 'hour'", SERIES.rename(time="hour"), ARRAY)
    refused("y_true = coordinates 6, 7", SERIES.assign_coords(time=HOURS + 1), ARRAY)
    refused("class_dim = 'kind': expected a dimension of y_proba", SERIES, ARRAY, class_dim="kind")


def test_samples_of_several_dimensions() -> None:
    grid = xr.DataArray(PROBA.reshape(5, 6, 3), dims=("lat", "lon", "class"), coords={"class": list("abc"), "lat": np.arange(5)})
    labels = xr.DataArray(LABELS.reshape(5, 6), dims=("lat", "lon"), coords={"lat": np.arange(5)})
    for proba in (grid, grid.transpose("class", "lon", "lat"), grid.isel(lat=[3, 1, 0, 2, 4])):
        for given in (labels, labels.T, labels.isel(lat=[4, 0, 3, 1, 2])):
            check(given, proba)
    check(LABELS.reshape(5, 6), grid, class_dim="class")
    check(LABELS, grid, sample_dims=["lat", "lon"])
    # Weights of some of the dimensions hold along the others.
    area = xr.DataArray([1.0, 2, 3, 2, 1], dims="lat")
    wrong = labels.copy(data=np.where(np.arange(30).reshape(5, 6) < 9, "a", labels.data))
    right = risk(wrong.data.ravel(), PROBA, sample_weight=np.repeat(area.data, 6))
    check(wrong, grid.transpose("class", "lon", "lat"), right, sample_weight=area)


def test_an_axis_of_classes() -> None:
    image = np.moveaxis(PROBA.reshape(5, 3, 2, 3), -1, 1)
    check(CODES.reshape(5, 3, 2), image, class_axis=1)
    check(np.moveaxis(np.eye(3)[CODES].reshape(5, 3, 2, 3), -1, 1), image, class_axis=1)
    check(CODES.reshape(5, 3, 2), image, class_axis=-3, sample_weight=np.ones((5, 3, 2)))
    check(CODES, PROBA.T, class_axis=0)
    refused(r"y_proba = an array of shape \(5, 3, 3, 2\): .*class_axis=1.*reshape\(-1, k\)", CODES.reshape(5, 3, 2), image)
    refused("y_true = an array of shape", CODES.reshape(3, 5, 2), image, class_axis=1)
    # A table has its names still.
    labels = pd.Series(LABELS, index=HOURS).iloc[SHUFFLED]
    check(labels, P[list("cab")].set_index(HOURS), class_axis=1)
    refused("class_axis = 0: expected 1, since y_proba is a table", LABELS, P, class_axis=0)
    refused("class_axis = 1: expected None for dimensions", SERIES, ARRAY, class_axis=1)
    check(pd.Series(CODES, index=HOURS), PROBA.T, class_axis=0, sample_weight=pd.Series(1.0, index=HOURS).iloc[SHUFFLED])
    refused("class_axis = 4", CODES.reshape(5, 3, 2), image, class_axis=4)


# ---------------------------------------------------------------- what is between logits and probabilities


def test_sigmoid_or_softmax_is_said_not_inferred() -> None:
    z = np.random.default_rng(1).normal(size=(N, 3)) * 2
    one_hot = np.eye(3, dtype=int)[CODES]
    options: dict[str, Any] = {"notion": "classwise", "from_logits": True}
    sigmoid = risk(one_hot, 1 / (1 + np.exp(-z)), notion="classwise")
    softmax = risk(CODES, np.exp(z) / np.exp(z).sum(1, keepdims=True), notion="classwise")
    assert abs(sigmoid - softmax) > 0.01
    for labels in (one_hot, one_hot.astype(bool), pd.get_dummies(CODES)):
        check(labels, z, sigmoid, link="sigmoid", **options)
        check(labels, z, softmax, link="softmax", **options)
        refused("link = None: expected 'softmax' or 'sigmoid'", labels, z, **options)
    check(CODES, z, softmax, **options)
    check(CODES, z, sigmoid, link="sigmoid", **options)
    several = np.append(one_hot[:-1], [[1, 1, 0]], axis=0)
    check(several, z, risk(several, 1 / (1 + np.exp(-z)), notion="classwise"), **options)
    refused("link = 'softmax': expected one class in each row", several, z, link="softmax", **options)
    refused("link = 'sigmoid': expected None for probabilities", one_hot, PROBA, link="sigmoid")
    refused("link = 'softmax': expected 'sigmoid' for one column", CODES == 1, z[:, 0], link="softmax", from_logits=True)
    refused("link = 'probit': .*softmax", one_hot, z, link="probit", **options)
    # Whole vectors have one class a row.
    check(one_hot, z, risk(CODES, z, from_logits=True), from_logits=True)
    for link, right in (("sigmoid", sigmoid), ("softmax", softmax)):
        sketch = CalibrationSketch(3, generator="brier", bandwidth=0.1, from_logits=True, link=link)
        sketch.update(one_hot[:11], z[:11])
        sketch.update(one_hot[11:], z[11:])
        assert sketch.result(method="risk").risk == pytest.approx(right, rel=1e-9)


def test_probabilities_that_are_said_to_be_logits() -> None:
    with pytest.warns(UserWarning, match=r"y_proba has rows between 0 and 1 that sum to 1, though from_logits=True"):
        risk(CODES, PROBA, from_logits=True)
