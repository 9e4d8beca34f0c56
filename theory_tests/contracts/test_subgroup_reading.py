"""Groups of rows as users have them: labels, tables, indicators; matched with rows, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from propercal import decompose_groups
from propercal.simulation import TemperatureScaledSimplex
from propercal.subgroups import quantile_groups

Y, G, _ = TemperatureScaledSimplex(3).sample(90, random_state=0)
A = np.array(["b", "a", "c"])[np.arange(90) % 3]
EVEN = np.arange(90) % 2 == 0
KW: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1, "n_resamples": 9}


def found(groups: Any, y: Any = Y, g: Any = G, **options: Any) -> dict[Any, tuple[int, float]]:
    result = decompose_groups(y, g, groups=groups, **KW | options)
    return {name: (each.n_samples, round(float(each.risk), 12)) for name, each in result.groups.items()}


def risk(rows: Any) -> tuple[int, float]:
    return int(rows.sum()), round(float(np.mean(np.sum((np.eye(3)[Y] - G) ** 2, axis=1)[rows])), 12)


RIGHT = {name: risk(name == A) for name in "abc"}


@pytest.mark.parametrize("holder", ["list", "array", "object", "pandas", "categorical", "polars", "arrow", "torch", "column"])
def test_holders_of_labels(holder: str) -> None:
    if holder == "torch":
        torch = pytest.importorskip("torch")
        assert list(found(torch.tensor(np.arange(90) % 3)).values()) == [RIGHT["b"], RIGHT["a"], RIGHT["c"]]
        return
    if holder in ("pandas", "categorical"):
        pd = pytest.importorskip("pandas")
        groups: Any = pd.Series(A) if holder == "pandas" else pd.Series(pd.Categorical(A, ["c", "a", "b"], ordered=True))
        assert list(found(groups)) == (["a", "b", "c"] if holder == "pandas" else ["c", "a", "b"])
    elif holder == "polars":
        groups = pytest.importorskip("polars").Series(A)
    elif holder == "arrow":
        groups = pytest.importorskip("pyarrow").array(A)
    elif holder == "column":
        groups = A[:, None]
    else:
        groups = {"list": A.tolist(), "array": A, "object": A.astype(object)}[holder]
    assert found(groups) == RIGHT


def test_rows_are_matched_by_their_index() -> None:
    pd = pytest.importorskip("pandas")
    ids = [f"r{i}" for i in range(90)]
    order = np.random.default_rng(0).permutation(90)
    y, g, a = pd.Series(Y, ids), pd.DataFrame(G, ids), pd.Series(A, ids)
    assert found(a.iloc[order], y, g) == RIGHT
    table = pd.DataFrame({"site": A, "even": EVEN}, ids).iloc[order]
    marked = {"site=a": RIGHT["a"], "site=b": RIGHT["b"], "site=c": RIGHT["c"], "even": risk(EVEN)}
    assert found(table, y, g) == marked
    assert found({name: table[name] for name in table}, y, g) == marked
    with pytest.raises(ValueError, match="groups"):
        found(a.iloc[order].set_axis([f"x{i}" for i in range(90)]), y, g)
    # Labels in another order than weights that alone have an index.
    with pytest.raises(ValueError, match="order"):
        found(a.iloc[order], Y, G, sample_weight=pd.Series(np.arange(90) + 1.0, ids))


def test_indicators_may_overlap() -> None:
    pd = pytest.importorskip("pandas")
    marks = np.stack([EVEN, np.arange(90) < 60], axis=1)
    right = {0: risk(EVEN), 1: risk(np.arange(90) < 60)}
    assert found(marks) == found(marks.astype(int)) == found(marks.astype(float).tolist()) == right
    frame = pd.DataFrame(marks, columns=["even", "early"])
    named = {"even": right[0], "early": right[1]}
    assert found(frame) == found(frame.astype(int)) == named
    assert decompose_groups(Y, G, groups=marks, **KW).parts is None
    # A column of 0 and 1 beside others is a column of labels.
    assert set(found({"even": EVEN.astype(int), "site": A})) == {"even=0", "even=1", "site=a", "site=b", "site=c"}


def test_rows_of_weight_0_are_in_no_group() -> None:
    weight = np.where(A == "b", 0.0, 1.0)
    assert found(A, sample_weight=weight) == {"a": RIGHT["a"], "c": RIGHT["c"]}
    labels = np.where(A == "b", -100, Y)
    assert found(A, y=labels, ignore_index=-100) == {"a": RIGHT["a"], "c": RIGHT["c"]}


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (None, "groups = None"),
        (A[:80], r"shape \(80,\)"),
        ([None if each == "a" else each for each in A.tolist()], "missing values"),
        (np.where(A == "a", "nan", A), "missing"),
        (np.arange(90) * 1.5, "too few rows"),
        ({"x": np.zeros(90, bool)}, "without a row"),
        (np.arange(180).reshape(90, 2), "other values than 0 and 1"),
        ({}, "no groups"),
    ],
)
def test_groups_that_cannot_be_used(groups: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        found(groups)


def test_small_groups_and_unknown_names() -> None:
    small = np.where(np.arange(90) < 5, "few", "many")
    with pytest.raises(ValueError, match=r"few \(5\).*20 rows or more"):
        decompose_groups(Y, G, groups=small)
    result = decompose_groups(Y, G, groups=A, **KW)
    with pytest.raises(KeyError, match="expected one of 'a', 'b', 'c'"):
        result["d"]
    with pytest.raises(ValueError, match="standard error"):
        result.parts["added"].interval()
    with pytest.raises(ValueError, match="clusters"):
        found(A, clusters=np.arange(90) // 3)
    with pytest.raises(ValueError, match="n_resamples"):
        found(A, n_resamples=0)


def test_warnings_name_the_groups() -> None:
    g = np.full((90, 2), 0.5)
    g[:, 0] += np.where(A == "a", 0.49, 0.0)
    g[:, 1] = 1 - g[:, 0]
    with pytest.warns(UserWarning, match=r"groups \['a'"):
        decompose_groups(np.zeros(90, int), g, groups=A, n_resamples=9, labels=[0, 1])


def test_result_as_dataset_text_and_table() -> None:
    result, brier = decompose_groups(Y, G, groups=A, **KW | {"generator": ["log", "brier"], "method": "debiased", "bandwidth": "auto"})
    data = result.to_xarray()
    assert data["group"].values.tolist() == ["a", "b", "c"]
    assert data["calibration_error"].values.tolist() == [each.calibration_error for each in result.groups.values()]
    assert data["adjusted_pvalue"].values.tolist() == list(result.test.adjusted.values())
    assert float(data["whole_risk"]) == result.whole.risk
    assert float(data["part_added"]) == result.parts["added"].value
    assert brier.whole.generator.name == "brier"
    lines = str(result).splitlines()
    assert len(lines) == 1 + 1 + 4 + 2
    assert max(map(len, lines)) <= 100
    assert result._repr_html_().count("<tr>") == 5


@pytest.mark.parametrize("values", [np.arange(90.0), np.arange(90) % 7])
def test_groups_by_the_size_of_a_feature(values: Any) -> None:
    labels = quantile_groups(values, 3)
    means = [values[labels == each].mean() for each in sorted(set(labels.tolist()))]
    assert means == sorted(means)
    assert len(means) == 3
    # Equal values are in one group.
    assert len(set(zip(values.tolist(), labels.tolist(), strict=True))) == len(set(values.tolist()))
    pd = pytest.importorskip("pandas")
    series = quantile_groups(pd.Series(values, [f"r{i}" for i in range(90)], name="x"), 3)
    assert series.index[3] == "r3"
    assert [f"{code + 1}: {name}" for code, name in zip(series.cat.codes, series, strict=True)] == labels.tolist()


@pytest.mark.parametrize(("feature", "message"), [([1.0, np.nan], "no finite number at row 1"), ([1, 1, 1], "one value"), (["a"], "one number"), (np.ones((2, 2)), "one number")])
def test_features_that_make_no_groups(feature: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quantile_groups(feature)
    with pytest.raises(ValueError, match="n_groups"):
        quantile_groups([1, 2], 1)


IDS = np.array([f"r{i}" for i in range(90)])
SHUFFLED = np.random.default_rng(1).permutation(90)
X = np.random.default_rng(2).normal(size=90)


@pytest.mark.parametrize("beside", ["column", "clusters", "weights", "coordinates"])
def test_columns_in_different_orders_are_refused_where_rows_have_no_index(beside: str) -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"site": A, "even": EVEN}, IDS)
    site, even, options = table["site"], table["even"].iloc[SHUFFLED], {}
    if beside == "clusters":
        options, even = {"clusters": pd.Series(np.arange(90) // 3, IDS).iloc[SHUFFLED], "method": "debiased"}, EVEN
    elif beside == "weights":
        options, even = {"sample_weight": pd.Series(np.ones(90), IDS).iloc[SHUFFLED]}, EVEN
    elif beside == "coordinates":
        even = pytest.importorskip("xarray").DataArray(EVEN, dims="s", coords={"s": IDS})[SHUFFLED]
    groups = {"site": site, "even": even}
    with pytest.raises(ValueError, match="in another order than those of"):
        found(groups, **options)


def test_tables_of_arrow_keep_their_index() -> None:
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    table = pd.DataFrame({"site": A, "even": EVEN}, IDS).iloc[SHUFFLED]
    y, g = pd.Series(Y, IDS), pd.DataFrame(G, IDS)
    right = found(table, y, g)
    assert found(pa.Table.from_pandas(table), y, g) == found(pa.RecordBatch.from_pandas(table), y, g) == right
    with pytest.raises(ValueError, match="__index_level_0__"):
        found(pa.Table.from_pandas(table).replace_schema_metadata(None), y, g)


@pytest.mark.parametrize("names", [[1, 0], [("a", "x"), ("a", "y")]])
def test_columns_of_any_name(names: list[Any]) -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"site": A, "even": EVEN})
    table.columns = pd.Index(names)
    assert list(found(table).values()) == [RIGHT["a"], RIGHT["b"], RIGHT["c"], risk(EVEN)]


@pytest.mark.parametrize("dtype", ["boolean", "Int8", "float", "object"])
def test_marks_are_told_by_the_rows_that_count(dtype: str) -> None:
    pd = pytest.importorskip("pandas")
    few = np.arange(90) < 60
    even = pd.Series([bool(each) if there else None for each, there in zip(EVEN, few, strict=True)]).astype(dtype)
    right = found({"even": EVEN, "early": np.arange(90) < 30}, sample_weight=few * 1.0)
    assert found({"even": even, "early": np.arange(90) < 30}, sample_weight=few * 1.0) == right


@pytest.mark.parametrize("holder", ["series", "table", "labelled", "arrow", "narwhals", "rows"])
def test_bins_of_a_feature_keep_its_rows(holder: str) -> None:
    pd, xr = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    series = pd.Series(X, IDS, name="x").iloc[SHUFFLED]
    if holder == "labelled":
        feature: Any = xr.DataArray(X, dims="s", coords={"s": IDS})[SHUFFLED]
    elif holder == "arrow":
        feature = pytest.importorskip("pyarrow").Table.from_pandas(series.to_frame())
    elif holder == "narwhals":
        feature = pytest.importorskip("narwhals").from_native(series, series_only=True)
    else:
        feature = {"series": series, "table": series.to_frame(), "rows": [row for _, row in series.to_frame().iterrows()]}[holder]
    y, g = pd.Series(Y, IDS), pd.DataFrame(G, IDS)
    right = found(quantile_groups(X))
    assert sorted(found(quantile_groups(feature), y, g).values()) == sorted(right.values())


def test_bins_of_large_numbers_have_different_names() -> None:
    pd = pytest.importorskip("pandas")
    assert quantile_groups(pd.Series(1.7e9 + np.arange(8)), 2).tolist() == ["[1700000000, 1700000004)"] * 4 + ["[1700000004, 1700000007]"] * 4


def test_columns_of_tables_are_taken_by_their_place() -> None:
    """Numbers, or levels, that name columns are no rows; and one column of 0 and 1 is a column of labels."""
    pd = pytest.importorskip("pandas")
    marks = np.stack([EVEN, np.arange(90) < 60], axis=1)
    right = {0: risk(EVEN), 1: risk(np.arange(90) < 60)}
    assert found(pd.DataFrame(marks)) == found(pd.DataFrame(marks.astype(int))) == right
    labels = pd.DataFrame(np.stack([A, A[::-1]], axis=1))
    assert found(labels) == {f"{i}={each}": risk(column == each) for i, column in ((0, A), (1, A[::-1])) for each in "abc"}
    nested = pd.DataFrame(marks, columns=pd.MultiIndex.from_tuples([("x", "even"), ("x", "early")]))
    assert found(nested) == {"x, even": right[0], "x, early": right[1]}
    both = {0: risk(~EVEN), 1: risk(EVEN)}
    assert found({"even": EVEN.astype(int)}) == found(pd.DataFrame({"even": EVEN.astype(int)})) == both
    assert found({"even": EVEN}) == found(pd.DataFrame({"even": EVEN})) == found(EVEN) == both


@pytest.mark.parametrize("labelled", [False, True])
def test_marks_with_named_dimensions(labelled: bool) -> None:
    xr = pytest.importorskip("xarray")
    marks = xr.DataArray(np.stack([EVEN, A == "a"]), dims=("group", "row"), coords={"group": ["even", "a"]})
    y, g = (xr.DataArray(Y, dims="row"), xr.DataArray(G, dims=("row", "class"))) if labelled else (Y, G)
    given = marks if labelled else marks.T
    assert found(given, y, g) == {"even": risk(EVEN), "a": RIGHT["a"]}
    assert found(given[:1] if labelled else given[:, :1], y, g) == {False: risk(~EVEN), True: risk(EVEN)}


def test_labels_of_places_have_the_dimensions_of_these() -> None:
    xr = pytest.importorskip("xarray")
    y, a = (xr.DataArray(each.reshape(9, 10), dims=("lat", "lon")) for each in (Y, A))
    g = xr.DataArray(G.reshape(9, 10, 3), dims=("lat", "lon", "class"))
    assert found(a, y, g) == found(a.T, y, g) == RIGHT
    assert found({"a": a == "a"}, y, g) == {False: risk(A != "a"), True: RIGHT["a"]}
    plain = y.values, np.moveaxis(g.values, -1, 1)
    assert found(a.values, *plain, class_axis=1) == found(A, *plain, class_axis=1) == RIGHT
    assert found(np.stack([A == "a", EVEN], axis=1), *plain, class_axis=1) == {0: RIGHT["a"], 1: risk(EVEN)}


def test_groups_of_few_clusters_are_named() -> None:
    few = np.where(np.arange(90) < 30, "few", "many")
    with pytest.raises(ValueError, match=r"clusters = 10 clusters in group 'few': expected 20 or more"):
        decompose_groups(Y, G, groups=few, clusters=np.arange(90) // 3)


def test_long_names_leave_the_table_in_order() -> None:
    names = np.where(A == "a", "one line\nanother, and many more words than there is any room for in a table", A)
    result = decompose_groups(Y, G, groups=names, **KW)
    lines = str(result).splitlines()
    assert len(lines) == 1 + 1 + 4 + 2
    assert max(map(len, lines[:6])) <= 100
    assert result.groups[names[A == "a"][0]].n_samples == 30


def test_borders_of_a_feature_have_the_digits_that_tell_them_apart() -> None:
    labels = quantile_groups(1e9 + np.arange(90.0), 3)
    assert sorted(set(labels.tolist())) == ["1: [1000000000, 1000000030)", "2: [1000000030, 1000000059)", "3: [1000000059, 1000000089]"]
    series = quantile_groups(pytest.importorskip("pandas").Series(1e9 + np.arange(90.0)), 3)
    assert series.nunique() == 3


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("n_resamples", [1, 9, 39])
def test_what_cannot_be_has_the_smallest_pvalue_of_any_number_of_resamples(n_resamples: int) -> None:
    wrong = np.where((np.arange(90) == 0)[:, None], np.roll(np.eye(3)[Y], 1, axis=1), G)
    test = decompose_groups(Y, wrong, groups=A, **KW | {"n_resamples": n_resamples}).test
    assert test.worst == A[0]
    assert test.adjusted[A[0]] == test.pvalues[A[0]] == test.pvalue == 1 / (n_resamples + 1)
    assert all(1 / (n_resamples + 1) <= each <= 1 for each in test.adjusted.values())
