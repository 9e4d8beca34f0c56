"""Which row is which: matched by an index or coordinates, or refused.

Thirty rows of three classes, 0.8 for the class that occurs and 0.1 for the two others but in row 0, where the right
class has 0.1: the Brier score is 0.06 in the other rows and 0.8² + ... there, so that rows that are paired wrongly, and
weights that are given to other rows, change it.
"""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from propercal import decompose, paired_difference
from propercal._data.rows.rows import row_numbers
from propercal.information import layer_sharpness

#: Of the few rows here hardly any is surprising, which has a warning of its own.
pytestmark = pytest.mark.filterwarnings("ignore:(only [0-9]+|no) rows? had an outcome")

N = 30
CODES = np.arange(N) % 3
LABELS = np.array(list("abc"))[CODES]
#: As in the other rows but for the first.
EVEN = np.eye(3)[CODES] * 0.7 + 0.1
PROBA = np.where(np.arange(N)[:, None] == 0, [0.1, 0.1, 0.8], EVEN)
WEIGHT = np.where(np.arange(N) == 0, 4.0, 1.0)
SETTINGS: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
#: Of row 0: 0.9² + 0.1² + 0.8².
FIRST = 0.9**2 + 0.1**2 + 0.8**2
RIGHT = (29 * 0.06 + FIRST) / 30
WEIGHTED = (29 * 0.06 + 4 * FIRST) / 33
ORDER = np.random.default_rng(0).permutation(N)
IDS = pd.Index([f"r{i}" for i in range(N)])
Y = pd.Series(LABELS, index=IDS)
P = pd.DataFrame(PROBA, columns=list("abc"), index=IDS)
W = pd.Series(WEIGHT, index=IDS)
PLAIN = P.reset_index(drop=True)
REFUSED = r"^\w+(\[\d\])? = .*: expected "


def risk(y_true: Any, y_proba: Any, **options: Any) -> float:
    return float(decompose(y_true, y_proba, **SETTINGS, **options).risk)


def check(y_true: Any, y_proba: Any, right: float = RIGHT, **options: Any) -> None:
    assert risk(y_true, y_proba, **options) == pytest.approx(right, rel=1e-12)


def refused(match: str, y_true: Any, y_proba: Any, **options: Any) -> None:
    with pytest.raises(ValueError, match=match):
        risk(y_true, y_proba, **options)


def pair(y_true: Any, a: Any, b: Any, **options: Any) -> tuple[float, float]:
    found = paired_difference(y_true, a, b, generator="brier", bandwidth=0.1, **options)
    return float(found.a.risk), float(found.b.risk)


def array(values: Any, *dims: str, **coords: Any) -> xr.DataArray:
    return xr.DataArray(np.asarray(values), dims=dims, coords=coords)


# ---------------------------------------------------------------- an index


@pytest.mark.parametrize("dtype", [int, float, object, str, "Int64", "string"])
def test_row_numbers_of_any_type_in_another_order_are_refused_beside_a_default_index(dtype: Any) -> None:
    labels = pd.Series(LABELS, index=pd.Index(np.arange(N)).astype(dtype))
    check(labels, PLAIN)
    refused(r"y_true = rows of the index .*\.sort_index\(", labels.iloc[ORDER], PLAIN)
    refused(r"y_true = rows of the index .*\.sort_index\(", pd.Series(LABELS), PLAIN.set_axis(labels.index).iloc[ORDER])
    check(labels.iloc[ORDER], PLAIN.set_axis(labels.index))


NUMBERED: dict[str, Any] = {
    "text of floats": pd.Index([f"{i}.0" for i in range(N)]),
    "bytes": pd.Index([str(i).encode() for i in range(N)]),
    "decimals": pd.Index([Decimal(i) for i in range(N)]),
    "one level": pd.MultiIndex.from_arrays([np.arange(N)]),
    "beside a constant": pd.MultiIndex.from_arrays([["run"] * N, np.arange(N)]),
}


@pytest.mark.parametrize("kind", NUMBERED)
def test_row_numbers_in_other_words_are_refused_too(kind: str) -> None:
    labels = pd.Series(LABELS, NUMBERED[kind])
    check(labels, PLAIN)
    refused(r"y_true = rows of the index .*\.sort_index\(", labels.iloc[ORDER], PLAIN)


def test_an_index_of_other_values_says_nothing_beside_a_default_one() -> None:
    levels = pd.MultiIndex.from_arrays([np.arange(N) // 7, np.arange(N)])
    odd = pd.Index([Decimal(1) / 2, *map(Decimal, range(1, N))])
    for index in (IDS, pd.Index(np.arange(N) / 2), pd.date_range("2026-01-01", periods=N), pd.Index(["x", *range(1, N)]), levels, odd):
        check(pd.Series(LABELS[ORDER], index=index), PLAIN.iloc[ORDER].reset_index(drop=True))
    assert row_numbers(pd.Index([Decimal(1), Decimal("NaN")])) is None


def test_an_index_of_another_name_is_not_of_the_same_rows() -> None:
    labels, proba = Y.rename_axis("patient"), P.rename_axis(index="row")
    check(labels, proba)
    refused(r"y_true = rows of the index 'patient': expected those of 'row', as y_proba has, or in one order; name both alike", labels.iloc[ORDER], proba)
    refused("sample_weight = rows of the index 'visit'", labels, proba, sample_weight=W.iloc[ORDER].rename_axis("visit"))
    check(labels.iloc[ORDER], P)
    check(labels.iloc[ORDER], proba.rename_axis(index="patient"))


def test_tables_that_narwhals_wraps_have_their_index() -> None:
    wrap = pytest.importorskip("narwhals").from_native
    check(wrap(Y.iloc[ORDER], series_only=True), wrap(P))
    check(Y, wrap(P), WEIGHTED, sample_weight=wrap(W.iloc[ORDER], series_only=True))


def test_the_index_that_pyarrow_keeps_as_a_column_is_one() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for index in (IDS, pd.Index(np.arange(N) + 5), pd.Index(IDS, name="id")):
        labels, proba = pd.Series(LABELS, index, name="y"), P.set_axis(index)
        for make in (pyarrow.Table.from_pandas, pyarrow.RecordBatch.from_pandas):
            check(labels, make(proba.iloc[ORDER]))
            check(LABELS, make(proba))
            check(make(labels.to_frame().iloc[ORDER]), make(proba))
            check(labels, make(proba.iloc[ORDER].map(np.log)), from_logits=True)
    check(pd.Series(LABELS), pyarrow.Table.from_pandas(PLAIN))
    polars = pytest.importorskip("polars")
    refused("y_proba = a column '__index_level_0__', which is the index of a table of pandas", LABELS, polars.from_arrow(pyarrow.Table.from_pandas(P)))


LEVELS = pd.MultiIndex.from_product([range(5), range(6)], names=["u", "v"])


def test_levels_of_an_index_are_matched_by_name() -> None:
    square = pd.MultiIndex.from_product([range(5), range(5)], names=["u", "v"])
    labels, proba = pd.Series(LABELS[:25], index=square), pd.DataFrame(PROBA[:25], columns=list("abc"), index=square)
    right = risk(LABELS[:25], PROBA[:25])
    for given in (labels, labels.swaplevel(), labels.sample(frac=1, random_state=0).swaplevel()):
        check(given, proba, right)
        check(given, proba.iloc[ORDER[ORDER < 25]], right)
    # Names of other levels say nothing of which is which; without any, they stand in their order.
    other = labels.rename_axis(index=["v", "w"])
    refused(r"y_true = rows of an index of levels \['v', 'w'\]: expected levels \['u', 'v'\], as y_proba has", other.iloc[::-1], proba)
    bare = square.set_names([None, None])
    check(labels.set_axis(bare).iloc[::-1], proba.set_axis(bare), right)


def test_levels_of_an_index_are_dimensions() -> None:
    grid = array(PROBA.reshape(5, 6, 3), "u", "v", "c", u=np.arange(5), v=np.arange(6), c=list("abc"))
    labels = pd.Series(LABELS, index=LEVELS)
    for proba in (grid, grid.transpose("c", "v", "u"), grid[::-1]):
        for given in (labels, labels.swaplevel(), labels.iloc[ORDER]):
            check(given, proba, class_dim="c")
    weight = pd.Series(WEIGHT, index=LEVELS)
    for given in (weight, weight.swaplevel().iloc[ORDER]):
        check(labels.iloc[::-1], grid.transpose("v", "u", "c"), WEIGHTED, sample_weight=given, class_dim="c")


@pytest.mark.parametrize(
    "index",
    [
        pd.IntervalIndex.from_arrays(np.arange(N), np.arange(N) + 3),
        pd.date_range("2026-01-01", periods=N, tz="UTC"),
        pd.period_range("2026-01", periods=N, freq="M"),
        pd.CategoricalIndex(IDS),
        pd.Index([(i, "x") if i % 2 else i for i in range(N)], tupleize_cols=False),
        LEVELS,
    ],
    ids=lambda index: type(index).__name__,
)
def test_an_index_of_any_type(index: Any) -> None:
    labels, proba = pd.Series(LABELS, index=index), P.set_axis(index)
    check(labels.iloc[ORDER], proba)
    check(labels.iloc[ORDER], proba, WEIGHTED, sample_weight=pd.Series(WEIGHT, index=index).iloc[::-1])
    for other in (IDS, pd.Index(np.arange(N) + 1), pd.date_range("2026-01-01", periods=N), LEVELS.set_names(["u", "w"])):
        if not (type(other) is type(index) and other.equals(index)) and not isinstance(index, pd.CategoricalIndex):
            refused(REFUSED, labels, PLAIN.set_axis(other))


# ---------------------------------------------------------------- weights that cannot follow


def test_a_weight_without_an_index_is_refused_beside_rows_in_two_orders() -> None:
    for weight in (WEIGHT, list(WEIGHT), pd.Series(WEIGHT)):
        check(Y, P, WEIGHTED, sample_weight=weight)
        refused("sample_weight = rows with (no|a default) index: .* rows of y_true and y_proba stand in different orders", Y, P[::-1], sample_weight=weight)
    for order in (ORDER, np.arange(N)):
        check(Y.iloc[order], P[::-1], WEIGHTED, sample_weight=W)
        check(Y[::-1], P, WEIGHTED, sample_weight=W.iloc[order])
        # Labels and predictions of which one has no index stand side by side.
        check(LABELS, P, WEIGHTED, sample_weight=W.iloc[order])
        check(Y, PROBA, WEIGHTED, sample_weight=W.iloc[order])


def test_coordinates_of_a_weight() -> None:
    weight = array(WEIGHT, "s", s=IDS)
    for given in (weight, weight[::-1]):
        check(LABELS, P, WEIGHTED, sample_weight=given)
        check(Y.iloc[ORDER], P, WEIGHTED, sample_weight=given)
        check(Y, PROBA, WEIGHTED, sample_weight=given)
    check(LABELS, PLAIN, WEIGHTED, sample_weight=weight.drop_vars("s"))
    refused("sample_weight = rows of the index r1, r2", LABELS, P.iloc[:-1], sample_weight=weight[1:])
    labels, proba = array(LABELS, "s", s=IDS), array(PROBA, "s", "k", s=IDS)
    follows: list[Any] = [weight, weight[::-1], W, W.iloc[ORDER]]
    for given in follows:
        check(labels[ORDER], proba, WEIGHTED, sample_weight=given)
        check(labels, proba.drop_vars("s"), WEIGHTED, sample_weight=given)
    stays: list[Any] = [WEIGHT, pd.Series(WEIGHT), weight.drop_vars("s")]
    for given in stays:
        check(labels, proba, WEIGHTED, sample_weight=given)
        refused("sample_weight = rows with no (index|coordinates of 's')", labels[ORDER], proba, sample_weight=given)


def test_a_weight_beside_transposed_labels() -> None:
    grid, labels = array(PROBA.reshape(5, 6, 3), "u", "v", "c"), array(LABELS.reshape(5, 6), "u", "v")
    weight = array(WEIGHT.reshape(5, 6), "u", "v")
    for given in (weight, weight.T):
        check(labels.T, grid, WEIGHTED, sample_weight=given)
    check(labels, grid, WEIGHTED, sample_weight=WEIGHT)
    refused("sample_weight = rows with no index", labels.T, grid, sample_weight=WEIGHT)
    # The caller says in which order arrays without names are.
    check(labels.T, grid, WEIGHTED, sample_weight=WEIGHT, sample_dims=["u", "v"])


# ---------------------------------------------------------------- two models


@pytest.mark.slow
def test_each_model_is_matched_with_the_labels_by_itself() -> None:
    even = pd.DataFrame(EVEN, columns=list("abc"), index=IDS)
    for a, b in itertools.permutations([P, P.iloc[ORDER], PROBA, even, even.iloc[ORDER[::-1]], EVEN], 2):
        indexes = [list(each.index) for each in (a, b) if isinstance(each, pd.DataFrame)]
        if len(indexes) == 1 and indexes[0] != list(IDS):
            # Labels and one model are in two orders: nothing says which of them an array has.
            with pytest.raises(ValueError, match=r"y_proba_[ab] = rows with no index: .* rows of y_true and y_proba_[ab] stand in different orders"):
                pair(Y, a, b)
            continue
        right = tuple(risk(Y, each) for each in (a, b))
        assert right == pytest.approx([RIGHT if np.allclose(np.sort(np.asarray(x), axis=0), np.sort(PROBA, axis=0)) else 0.06 for x in (a, b)])
        assert pair(Y, a, b) == pytest.approx(right, rel=1e-12)
        assert pair(Y, a, b, sample_weight=W[::-1]) == pytest.approx([risk(Y, x, sample_weight=W) for x in (a, b)], rel=1e-12)
    assert pair(Y, P, PLAIN) == pytest.approx((RIGHT, RIGHT), rel=1e-12)
    with pytest.raises(ValueError, match=r"y_proba_b = rows with a default index: .* rows of y_true and y_proba_a"):
        pair(Y, P.iloc[ORDER], PLAIN)
    # Rows are paired: equal predictions do not differ.
    found = paired_difference(Y, P.iloc[ORDER], P, generator="brier", bandwidth=0.1)
    # In the order of the first, by which equal predictions are dealt to folds.
    same = paired_difference(LABELS[ORDER], PROBA[ORDER], PROBA[ORDER], generator="brier", bandwidth=0.1)
    assert found.difference == pytest.approx(0, abs=1e-15)
    assert found.standard_error == pytest.approx(same.standard_error, rel=1e-9)


@pytest.mark.parametrize("labels", [LABELS, pd.Series(LABELS)], ids=["array", "default"])
def test_models_in_two_orders_are_refused_beside_labels_without_an_index(labels: Any) -> None:
    for a, b in itertools.permutations([P, P.iloc[ORDER]]):
        with pytest.raises(ValueError, match=r"y_proba_b = rows of the index .* since y_true has no index"):
            pair(labels, a, b)
    for a, b in itertools.permutations([PLAIN, PLAIN.iloc[ORDER]]):
        with pytest.raises(ValueError, match="rows of the index"):
            pair(labels, a, b)
    # Weights follow the one that has their index, and the other stands beside it.
    for weight in (W, W[::-1]):
        assert pair(labels, PROBA, P, sample_weight=weight) == pytest.approx((WEIGHTED, WEIGHTED), rel=1e-12)
        assert pair(labels, P, PROBA, sample_weight=weight) == pytest.approx((WEIGHTED, WEIGHTED), rel=1e-12)


def test_models_with_dimensions() -> None:
    grid, labels = array(PROBA.reshape(5, 6, 3), "u", "v", "c"), array(LABELS.reshape(5, 6), "u", "v")
    for a, b in itertools.permutations([grid, grid.transpose("v", "u", "c"), grid.transpose("c", "v", "u")], 2):
        assert pair(labels, a, b) == pytest.approx((RIGHT, RIGHT), rel=1e-12)
        if grid.dims in (a.dims, b.dims):
            with pytest.raises(ValueError, match=r"y_true = rows with no dimensions: .* rows of y_proba_a and y_proba_b"):
                pair(LABELS, a, b, class_dim="c")
            assert pair(LABELS, a, b, sample_dims=["u", "v"]) == pytest.approx((RIGHT, RIGHT), rel=1e-12)
        else:
            assert pair(labels.T.to_numpy().ravel(), a, b, class_dim="c") == pytest.approx((RIGHT, RIGHT), rel=1e-12)
    # An array without names stands in the order of the labels, or it is not told what it is.
    assert pair(LABELS, grid, PROBA, class_dim="c") == pytest.approx((RIGHT, RIGHT), rel=1e-12)
    assert pair(labels, grid.transpose("v", "u", "c"), PROBA, sample_dims=["u", "v"]) == pytest.approx((RIGHT, RIGHT), rel=1e-12)
    with pytest.raises(ValueError, match=REFUSED):
        pair(labels, grid.transpose("v", "u", "c"), PROBA)


def test_coordinates_of_two_models() -> None:
    proba, labels = array(PROBA, "s", "k", s=IDS), array(LABELS, "s", s=IDS)
    moved = proba[ORDER]
    assert pair(labels, proba, moved) == pytest.approx((RIGHT, RIGHT), rel=1e-12)
    assert pair(labels[::-1], moved, P) == pytest.approx((RIGHT, RIGHT), rel=1e-12)
    assert pair(labels, proba, PROBA, class_dim="k") == pytest.approx((RIGHT, RIGHT), rel=1e-12)
    with pytest.raises(ValueError, match=r"y_proba_b = rows with no index: .* rows of y_true and y_proba_a"):
        pair(labels, moved, PROBA, class_dim="k")
    for given in (LABELS, pd.Series(LABELS), labels.drop_vars("s")):
        with pytest.raises(ValueError, match=REFUSED):
            pair(given, proba, moved)


# ---------------------------------------------------------------- layers

H = pd.DataFrame({"h": (np.arange(N) % 3) + 0.0}, index=IDS)


def sharpness(layers: Any, labels: Any, **options: Any) -> list[float]:
    return [float(x) for x in layer_sharpness(layers, labels, generator="brier", bandwidth=0.1, **options)]


def test_layers_are_matched_with_labels_and_each_other() -> None:
    values, weight = H.to_numpy(), np.arange(1.0, N + 1) ** 3
    (right,), (weighted,) = sharpness([values], LABELS), sharpness([values], LABELS, sample_weight=weight)
    assert sharpness([H, H.iloc[ORDER]], Y) == pytest.approx([right] * 2, rel=1e-9)
    assert sharpness([H, values], Y) == pytest.approx([right] * 2, rel=1e-9)
    with pytest.raises(ValueError, match=r"activations\[2\] = rows with no index: .* rows of y_true and activations\[1\]"):
        sharpness([H, H.iloc[ORDER], values], Y)
    assert sharpness([H.iloc[ORDER], H], Y, sample_weight=pd.Series(weight, IDS)) == pytest.approx([weighted] * 2, rel=1e-9)
    with pytest.raises(ValueError, match=r"activations\[1\] = rows of the index .* since y_true has no index"):
        sharpness([H, H.iloc[ORDER]], LABELS)
    with pytest.raises(ValueError, match=r"activations\[2\] = rows of the index"):
        sharpness([values, H, H.iloc[ORDER]], LABELS)
    with pytest.raises(ValueError, match=r"sample_weight = rows with no index: .* rows of y_true and activations\[1\]"):
        sharpness([H, H.iloc[ORDER]], Y, sample_weight=weight)


def test_layers_beside_named_indicators() -> None:
    (right,) = sharpness([H], Y)
    for marks in (pd.get_dummies(Y), pd.get_dummies(Y)[list("cab")], pd.get_dummies(Y).iloc[ORDER], pd.get_dummies(pd.Series(CODES, IDS))[[2, 0, 1]]):
        assert sharpness([H], marks) == pytest.approx([right], rel=1e-9)
    with pytest.raises(ValueError, match=r"y_true = a dict at row 0"):
        sharpness([H], [{"a": 1}] * N)


# ---------------------------------------------------------------- dimensions


def classwise(y_true: Any, y_proba: Any, **options: Any) -> float:
    return float(decompose(y_true, y_proba, notion="classwise", **SETTINGS, **options).calibration_error)


def test_which_of_two_dimensions_is_that_of_classes() -> None:
    marks = np.eye(3)[CODES]
    right = classwise(marks, PROBA)
    for coords in ({}, {"k": list("abc")}, {"k": [0, 1, 2]}, {"s": IDS, "k": list("abc")}):
        y, p = (array(each, "s", "k", **coords) for each in (marks, PROBA))
        assert classwise(y, p) == pytest.approx(right, rel=1e-12)
        assert classwise(y.T, p.T) == pytest.approx(right, rel=1e-12)
        assert classwise(marks, p) == pytest.approx(right, rel=1e-12)
        with pytest.raises(ValueError, match=REFUSED):
            classwise(marks.T, p.T)
    # Of separate problems nothing but coordinates tells.
    several, proba = marks.copy(), PROBA / 2
    several[::2, 0] = 1
    right = classwise(several, proba)
    for marked in (array(several, "s", "k"), several):
        assert classwise(marked, array(proba, "s", "k"), class_dim="k") == pytest.approx(right, rel=1e-12)
        with pytest.raises(ValueError, match=r"y_proba = dimensions 's', 'k': .* class_dim="):
            classwise(marked, array(proba, "s", "k"))
    y, p = (array(each, "s", "k", k=list("abc")) for each in (several, proba))
    assert classwise(y.T, p.T) == pytest.approx(right, rel=1e-12)


def test_the_class_of_a_vector_that_was_selected() -> None:
    occurred = CODES % 2
    values = np.where(occurred, 0.8, 0.3)
    both = array(np.c_[1 - values, values], "s", "k", k=[0, 1])
    right = risk(occurred, values)
    check(occurred, both.sel(k=1), right)
    check(occurred, both.sel(k=1).assign_coords(height=2.0, model="resnet"), right)
    check(occurred, both.sel(k=[1]), right)
    for other in (both.sel(k=0), both.sel(k=[0]), both.sel(k=0).assign_coords(model="resnet")):
        refused("y_proba = a column named 0.*pos_label=", occurred, other)
        check(occurred, other, right, pos_label=0)
    refused(r"y_proba = coordinates 'k' = 1, 'c' = 0: .*\.drop_vars", occurred, both.sel(k=1).assign_coords(c=0))
    check(occurred, both.sel(k=1).assign_coords(fold=0), right)
    words = np.where(occurred, "fraud", "legit")
    named = both.assign_coords(k=["legit", "fraud"])
    for name in ("legit", "fraud"):
        check(words, named.sel(k=name), right)
        check(array(words, "s"), named.sel(k=name).assign_coords(fold=0.5), right)


def test_coordinates_along_the_classes() -> None:
    labels, proba = array(LABELS, "s"), array(PROBA, "s", "k")[:, [2, 0, 1]]
    refused("y_proba = coordinates 'nm', 'col' of 'k': expected to know which of them names the classes", labels, proba.assign_coords(nm=("k", list("cab")), col=("k", list("zxy"))))
    check(labels, proba.assign_coords(nm=("k", list("cab"))))
    check(labels, proba.assign_coords(nm=("k", list("cab")), k=[0, 1, 2], share=("k", [0.1, 0.2, 0.3])))
    check(labels, proba.assign_coords(col=("k", list("xyz")), k=list("cab")))


def test_rows_are_matched_by_a_coordinate_of_another_name() -> None:
    labels, proba = array(LABELS, "s").assign_coords(id=("s", IDS)), array(PROBA, "s", "k").assign_coords(id=("s", IDS))
    check(labels, proba)
    check(labels[ORDER], proba)
    check(labels, proba[ORDER], WEIGHTED, sample_weight=array(WEIGHT, "s").assign_coords(id=("s", IDS))[::-1])
    refused("sample_weight = rows with no index", labels, proba[ORDER], sample_weight=WEIGHT)
    refused("y_true = coordinates r1, r2, r3, r4, ... of 'id'", labels[1:], proba[:-1])
    refused("sample_weight = rows with no index", labels, proba[ORDER], sample_weight=pd.Series(WEIGHT, np.arange(N) + 3))
    check(labels[::-1], proba, WEIGHTED, sample_weight=W)
    assert pair(labels, proba, proba[ORDER]) == pytest.approx((RIGHT, RIGHT), rel=1e-12)
    # The same under another name.
    check(labels, array(PROBA, "s", "k", s=IDS))
    other, turned = array(PROBA, "s", "k", s=IDS), array(LABELS, "s", s=IDS)
    refused(r"y_true = coordinates of 'id' in another order along 's': .*as coordinates of 's' say it; drop the wrong ones by .drop_vars\('id'\) from y_true, or .drop_vars\('s'\) from y_proba\.$", labels[ORDER], other)
    refused(r"y_true = coordinates of 's' in another order along 's': .*as coordinates of 'id' say it; drop the wrong ones by .drop_vars\('s'\) from y_true, or .drop_vars\('id'\) from y_proba\.$", turned, proba[ORDER])
    # What is advised holds.
    check(labels[ORDER].drop_vars("id"), other[ORDER])
    check(turned[ORDER], proba[ORDER].drop_vars("id"))
    # Beside a table it is the index of the dimension that counts.
    check(Y, proba)
    refused(r"y_true = an index in another order than the coordinates 'id' of y_proba.*swap_dims", Y.iloc[ORDER], proba)
    check(Y.iloc[ORDER], proba.swap_dims(s="id"))
    # Two coordinates do not contradict each other.
    numbered = proba.assign_coords(s=np.arange(N))
    check(labels.assign_coords(s=np.arange(N)), numbered)
    moved = labels[ORDER].assign_coords(s=np.arange(N))
    refused(r"y_true = coordinates of 'id' in another order along 's': .*as coordinates of 's' say it; drop the wrong ones by .drop_vars\('id'\) or .drop_vars\('s'\)\.$", moved, numbered)
    check(moved.drop_vars("s"), numbered)
    # The dimension has no coordinates of its own where another one tells the order.
    twice = labels.assign_coords(id2=("s", np.arange(N)[::-1]))
    refused(r"y_true = coordinates of 'id2?' in another order along 's': .*drop the wrong ones by .drop_vars\('id2?'\) or .drop_vars\('id2?'\)\.$", twice, proba.assign_coords(id2=("s", np.arange(N))))


def test_coordinates_along_a_grid() -> None:
    place = np.arange(N).reshape(5, 6)
    labels, proba = array(LABELS.reshape(5, 6), "u", "v"), array(PROBA.reshape(5, 6, 3), "u", "v", "c")
    y, p = (each.assign_coords(place=(("u", "v"), place)) for each in (labels, proba))
    check(y, p)
    check(y.T, p)
    refused(r"y_true = coordinates of 'place' in another order along 'u, v': .*drop the wrong ones by .drop_vars\('place'\)\.$", y[::-1], p)


@pytest.mark.parametrize("odd", [pd.Series([1, 2]), np.array([1, 2]), ["s", np.array([1])], [["s"]], {"s": 1}, {"s"}], ids=str)
def test_names_of_dimensions_that_are_none(odd: Any) -> None:
    for given in (array(PROBA, "s", "k"), PROBA):
        refused(r"^sample_dims = a \w+: expected the name of a dimension, or a list", CODES, given, sample_dims=odd)
        if not isinstance(odd, list):
            refused(r"^class_dim = a \w+: expected the name of a dimension", CODES, given, class_dim=odd)
            refused("^class_axis = ", CODES, PROBA, class_axis=odd)


def test_a_missing_value_is_no_dimension() -> None:
    for argument in ("class_dim", "sample_dims"):
        for given in (array(PROBA, "s", "k"), PROBA):
            refused(f"^{argument} = <NA>: expected ", CODES, given, **{argument: pd.NA})


def test_labelled_arrays_without_dimensions() -> None:
    for y, p in ((array(1), PROBA), (LABELS, array(0.5)), (array(1), array(PROBA, "s", "k"))):
        refused(REFUSED, y, p)
    refused(REFUSED, LABELS, P, sample_weight=array(1.0))


@pytest.mark.parametrize("make", [int, str, "{:03d}".format], ids=["numbers", "digits", "padded"])
def test_numbers_from_1_on_in_another_order(make: Any) -> None:
    """As R and databases number rows; what such a table stands beside was numbered after or before it was shuffled."""
    index = pd.Index([make(i + 1) for i in range(N)])
    labels, table, weight = (each.set_axis(index) for each in (Y, P, W))
    for given in ((labels.iloc[ORDER], PLAIN), (Y.reset_index(drop=True), table.iloc[ORDER]), (Y.reset_index(drop=True), PLAIN, weight.iloc[ORDER]), (LABELS, PROBA, weight.iloc[ORDER])):
        data: dict[str, Any] = dict(zip(("y_true", "y_proba", "sample_weight"), given, strict=False))
        with pytest.raises(ValueError, match=rf"rows of the index {index[ORDER[0]]}|whose index is {index[ORDER[0]]}"):
            risk(**data)
        # As the message says.
        back = {name: each.sort_index(key=lambda x: x.astype(int)) if hasattr(each, "sort_index") and not each.index.equals(PLAIN.index) else each for name, each in data.items()}
        assert risk(**back) == pytest.approx(WEIGHTED if "sample_weight" in data else RIGHT, rel=1e-12)
    # In order they stand side by side, and those of both are matched.
    assert risk(labels, PLAIN) == risk(Y.reset_index(drop=True), table) == pytest.approx(RIGHT, rel=1e-12)
    assert risk(labels.iloc[ORDER], table, sample_weight=weight) == pytest.approx(WEIGHTED, rel=1e-12)


def test_weights_of_one_column() -> None:
    for weight in (WEIGHT[:, None], WEIGHT[:, None].tolist(), W.to_frame(), pd.DataFrame(WEIGHT)):
        assert risk(LABELS, P.reset_index(drop=True) if isinstance(weight, pd.DataFrame) and not weight.index.equals(IDS) else (P if isinstance(weight, pd.DataFrame) else PROBA), sample_weight=weight) == pytest.approx(WEIGHTED, rel=1e-12)
    with pytest.raises(ValueError, match=r"sample_weight = an array of shape \(30, 2\)"):
        risk(LABELS, PROBA, sample_weight=np.ones((N, 2)))
