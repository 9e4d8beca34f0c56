"""Every holder of data gives the numbers of NumPy where names are permuted with it, and an error where they are not.

The properties draw a table, the orders of its columns, rows and chunks, and a public function. They are tried on
PROPERCAL_HOLDER_EXAMPLES examples for each holder where that is set (10 000 once before a release), else on a few.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import propercal
from propercal.recalibration import TemperatureScaling
from theory_tests.contracts.holders_of_data import HOLDERS, Holder, Make, one_hot
from theory_tests.instances import calibrated

EXAMPLES = int(os.environ.get("PROPERCAL_HOLDER_EXAMPLES", "0"))
many = settings(max_examples=EXAMPLES, deadline=None) if EXAMPLES else settings(max_examples=25, deadline=None)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

SETTINGS: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}


def weighted(function: Callable[..., Any], **fixed: Any) -> Make:
    return lambda y, p, w: function(y, p, sample_weight=w, **fixed)


def sketched(y: Any, p: Any, _: Any) -> Any:
    sketch = propercal.CalibrationSketch(K, generator="brier", bandwidth=0.1)
    sketch.update(y, p)
    return sketch.result(method="risk").risk


K = 3
FUNCTIONS: dict[str, Make] = {
    "decompose": lambda y, p, w: [getattr(propercal.decompose(y, p, sample_weight=w, **SETTINGS), term) for term in ("risk", "calibration_error", "sharpness")],
    "calibration_error": weighted(propercal.calibration_error, **SETTINGS, notion="classwise"),
    "refinement": weighted(propercal.refinement, **SETTINGS, notion="top-label"),
    "sharpness": weighted(propercal.sharpness, **SETTINGS),
    "select_bandwidth": weighted(propercal.select_bandwidth, generator="brier"),
    "conditional_mean": weighted(propercal.conditional_mean, bandwidth=0.1),
    "calibration_test": lambda y, p, w: list(propercal.calibration_test(y, p, sample_weight=w, generator="brier", n_resamples=9, random_state=0).components.values()),
    "paired_difference": lambda y, p, w: propercal.paired_difference(y, p, p, sample_weight=w, generator="brier", kernel=None, n_folds=3).a.risk,
    "compare_models": lambda y, p, w: propercal.compare_models(y, {"a": p, "b": p}, sample_weight=w, n_resamples=9).models["b"].risk,
    "TemperatureScaling": lambda y, p, w: TemperatureScaling().fit(p, y, w).temperature_,
    "CalibrationSketch": sketched,
}
#: Half of the examples are of the first, which takes a millisecond.
NAMES_OF_FUNCTIONS = st.sampled_from(["decompose"] * (len(FUNCTIONS) - 1) + list(FUNCTIONS)[1:])


@dataclass(frozen=True)
class Sample:
    """Rows in the order of the predictions, whose columns are in an order of their own."""

    labels: Any
    proba: Any
    columns: list[str]
    index: Any
    weight: Any

    @property
    def numbers(self) -> Any:
        return np.array([self.columns.index(label) for label in self.labels])


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    n = draw(st.integers(24, 32))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = draw(st.sampled_from([["a", "b", "c"], ["cat", "dog", "eel"], ["low", "mid", "high"], ["Ä", "ä", "a b"]]))
    columns = list(draw(st.permutations(names)))
    values = rng.dirichlet([1.0] * K, n)
    labels = np.array(columns)[[rng.choice(K, p=row) for row in values]]
    # Each class occurs: what is fitted to folds needs that.
    labels[: 2 * K] = np.array(columns * 2)
    index = draw(st.sampled_from(["numbers", "days", "words"]))
    rows: Any = rng.permutation(n) + 100
    if index == "days":
        rows = np.datetime64("2026-01-01", "ns") + rows * np.timedelta64(1, "D")
    elif index == "words":
        rows = np.array([f"row {i}" for i in rows])
    weight = rng.uniform(0.5, 2, n) if draw(st.booleans()) else None
    return Sample(labels, values, columns, rows, weight)


def numbers(function: Make, y: Any, p: Any, w: Any) -> Any:
    return np.asarray(function(y, p, w), dtype=float)


def held(name: str) -> Holder:
    holder = HOLDERS[name]
    pytest.importorskip(holder.module, reason=f"needs {holder.module}")
    return holder


@pytest.mark.parametrize("name", HOLDERS)
@many
@given(data=st.data())
def test_names_that_move_with_the_data_give_the_numbers_of_numpy(name: str, data: st.DataObject) -> None:
    holder = held(name)
    sample = data.draw(samples())
    function = FUNCTIONS[data.draw(NAMES_OF_FUNCTIONS)]
    n = len(sample.labels)
    order = np.array(data.draw(st.permutations(range(n)))) if holder.indexed else np.arange(n)
    weight = sample.weight
    if weight is not None and holder.indexed:
        weight = holder.column(weight, sample.index) if "categorical" not in name and "arrow" not in name else pd.Series(weight, sample.index)
        weight = weight[order] if isinstance(weight, xr.DataArray) else weight.iloc[order]
    proba = holder.table(sample.proba, sample.columns, sample.index)
    if data.draw(st.booleans()):
        labels = holder.column(sample.labels[order], sample.index[order])
    else:
        own = list(data.draw(st.permutations(sample.columns)))
        labels = holder.table(one_hot(sample.labels[order], own), own, sample.index[order])
        # Of two arrays with both dimensions the last is that of classes, where they are told.
        assume(not isinstance(proba, xr.DataArray) or proba.dims[-1] == "class")
    try:
        right = numbers(function, sample.numbers, sample.proba, sample.weight)
    except ValueError as error:
        # Random weights may look as if they depended on the label.
        with pytest.raises(ValueError, match=str(error)[:40]):
            numbers(function, labels, proba, weight)
        return
    found = numbers(function, labels, proba, weight)
    np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", HOLDERS)
@many
@given(data=st.data())
def test_names_that_do_not_belong_together_are_refused(name: str, data: st.DataObject) -> None:
    holder = held(name)
    sample = data.draw(samples())
    function = FUNCTIONS[data.draw(NAMES_OF_FUNCTIONS)]
    columns, index = list(sample.columns), sample.index
    kinds = ["prefix", "one name", "indicator", *(["rows", "repeated rows"] if holder.indexed else [])]
    kind = data.draw(st.sampled_from(kinds))
    labels = holder.column(sample.labels, sample.index)
    if kind == "prefix":
        columns = [f"p_{column}" for column in columns]
    elif kind == "one name":
        columns[data.draw(st.integers(0, K - 1))] += "'"
    elif kind == "indicator":
        own = [column.upper() + "_" for column in data.draw(st.permutations(columns))]
        labels = holder.table(one_hot(sample.labels, columns), own, sample.index)
    else:
        index = np.array(index)
        place = data.draw(st.integers(1, len(index) - 1))
        index[place] = index[0] if kind == "repeated rows" else _other(index)
    with pytest.raises(ValueError, match=r"^\w+ = .*: expected "):
        function(labels, holder.table(sample.proba, columns, index), sample.weight)


def _other(index: Any) -> Any:
    """A label that no row has."""
    return {"M": np.datetime64("1999-01-01", "ns"), "i": 7, "U": "none"}[index.dtype.kind]


@pytest.mark.parametrize("name", HOLDERS)
@many
@given(data=st.data())
def test_chunks_of_a_sketch_have_their_own_order(name: str, data: st.DataObject) -> None:
    holder = held(name)
    sample = data.draw(samples())
    cuts = sorted(data.draw(st.sets(st.integers(1, len(sample.labels) - 1), max_size=3)))
    first = np.array(sample.columns)
    found, right = (propercal.CalibrationSketch(K, generator="brier", bandwidth=0.1) for _ in range(2))
    for rows in np.split(np.arange(len(sample.labels)), cuts):
        # A square says nothing of its dimensions to labels that have none.
        assume(name != "xarray beside pandas" or len(rows) != K)
        order = np.array(data.draw(st.permutations(range(K)))) if rows[0] else np.arange(K)
        table = holder.table(sample.proba[rows][:, order], list(first[order]), sample.index[rows])
        found.update(holder.column(sample.labels[rows], sample.index[rows]), table)
        right.update(sample.numbers[rows], sample.proba[rows])
    a, b = (sketch.result(method="risk") for sketch in (found, right))
    for term in ("risk", "calibration_error", "sharpness"):
        assert getattr(a, term) == pytest.approx(getattr(b, term), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("name", [name for name in HOLDERS if "transposed" not in name])
@many
@given(data=st.data())
def test_one_column_is_the_class_that_it_is_named_after(name: str, data: st.DataObject) -> None:
    holder = held(name)
    sample = data.draw(samples())
    positive = data.draw(st.sampled_from(sample.columns))
    proba = sample.proba[:, [sample.columns.index(positive)]]
    occurred = sample.labels == positive
    labels = np.where(occurred, positive, "zz rest" if data.draw(st.booleans()) else " first")
    right = propercal.decompose(occurred, proba, **SETTINGS).risk
    y = holder.column(labels, sample.index)
    assert propercal.decompose(y, holder.table(proba, [positive], sample.index), **SETTINGS).risk == pytest.approx(right, rel=1e-12)
    with pytest.raises(ValueError, match="pos_label="):
        propercal.decompose(y, holder.table(proba, ["p"], sample.index), **SETTINGS)


# ---------------------------------------------------------------- what crashed, or was refused with the wrong reason

CODES = np.arange(30) % 3
P = np.eye(3)[CODES] * 0.7 + 0.1
RISK = 0.06


def risk(y_true: Any, y_proba: Any, **options: Any) -> float:
    return float(propercal.decompose(y_true, y_proba, **SETTINGS, **options).risk)


def test_a_column_of_lists_is_a_matrix() -> None:
    lists = P.tolist()
    for given_ in (pd.Series(lists), pd.Series(list(P)), pd.DataFrame({"probs": lists}), [*P], tuple(lists)):
        assert risk(CODES, given_) == pytest.approx(RISK, rel=1e-12)
    with pytest.raises(ValueError, match=r"\(3 values at row 0, 2 values at row 4\)"):
        risk(CODES, pd.Series([*lists[:4], [0.5, 0.5], *lists[5:]]))


@pytest.mark.parametrize("module", ["polars", "pyarrow"])
def test_a_column_of_lists_of_other_libraries(module: str) -> None:
    library = pytest.importorskip(module)
    made = [library.Series(P.tolist())] if module == "polars" else [library.array(P.tolist()), library.table({"probs": P.tolist()})]
    for given_ in made:
        assert risk(CODES, given_) == pytest.approx(RISK, rel=1e-12)


def test_columns_of_equal_names_of_other_libraries() -> None:
    library = pytest.importorskip("pyarrow")
    twice = library.table([P[:, 0], P[:, 1], P[:, 2]], names=["a", "b", "a"])
    with pytest.raises(ValueError, match="y_proba = columns of equal names: expected different names"):
        risk(np.array(["a", "b", "c"])[CODES], twice)


def test_names_that_are_no_text_are_kept_in_bytes() -> None:
    columns = pd.MultiIndex.from_product([["p"], ["x", "y", "z"]])
    sketch = propercal.CalibrationSketch(3, generator="brier", bandwidth=0.1)
    for _ in range(2):
        sketch.update(CODES, pd.DataFrame(P, columns=columns))
        sketch = propercal.CalibrationSketch.from_bytes(sketch.to_bytes())
    assert sketch.result(method="risk").risk == pytest.approx(0.04, rel=1e-9)
    with pytest.raises(ValueError, match="y_proba = columns"):
        sketch.update(CODES, pd.DataFrame(P, columns=columns[::-1][:2].append(columns[:1].set_levels(["q"], level=0))))


def test_what_is_no_number_is_named_with_its_row() -> None:
    with pytest.raises(ValueError, match=r"y_proba = .*None at row 1: .*drop rows whose prediction is missing"):
        risk([0, 1, 0], [0.2, None, 0.4])
    with pytest.raises(ValueError, match=r"y_proba = .*\{'a': 0.2, 'b': 0.8\} at row 0: .*pandas\.DataFrame\(\[\*column\]"):
        risk([0, 1], [{"a": 0.2, "b": 0.8}] * 2)
    with pytest.raises(ValueError, match=r"y_proba = .*'x' at row 2"):
        risk([0, 1, 0], np.array([0.2, 0.3, "x"], dtype=object))
    with pytest.raises(ValueError, match=r"y_true = values of type NoneType \(None\) at row 1"):
        risk(["a", None, "b"], P[:3, :2])


def test_sparse_labels() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    for make in (sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix):
        assert risk(make(np.eye(3)[CODES]), P) == pytest.approx(RISK, rel=1e-12)


def test_sigmoids_that_round_to_one() -> None:
    ones = np.ones(4, dtype=np.float32)
    y = [0, 1, 1, 1]
    for given_ in (ones, ones[:, None], ones.astype(float)):
        assert risk(y, given_) == pytest.approx(2 / 4)
    assert risk([0, 0, 0, 0], [0.0, 1.0, 1.0, 1.0]) == pytest.approx(2 * 3 / 4)
    assert risk(y, 0 * ones) == pytest.approx(2 * 3 / 4)


def test_what_is_below_0_by_rounding_is_said_to_be_0() -> None:
    p = [[1.0, -2.2e-16], [0.0, 1.0], [0.5, 0.5]]
    with pytest.warns(UserWarning, match=r"y_proba is below 0 by rounding \(at most 2.2e-16\) at row 0: read as 0"):
        found = risk([0, 1, 1], p)
    assert found == pytest.approx(0.5 / 3)


def test_rows_of_weight_0_may_hold_anything() -> None:
    weight = np.ones(30)
    weight[[3, 8]] = 0
    broken, labels = P.copy(), CODES.astype(float)
    broken[3] = np.nan
    labels[8] = np.nan
    assert risk(labels, broken, sample_weight=weight) == pytest.approx(RISK, rel=1e-12)
    codes = CODES.copy()
    codes[[3, 8]] = -100
    assert risk(codes, broken, sample_weight=weight) == pytest.approx(RISK, rel=1e-12)
    assert risk(codes, broken, ignore_index=-100) == pytest.approx(RISK, rel=1e-12)
    mean = propercal.conditional_mean(codes, P, ignore_index=-100, bandwidth=0.1)
    np.testing.assert_array_equal(mean, propercal.conditional_mean(CODES, P, sample_weight=weight, bandwidth=0.1))


def test_the_label_of_no_label_is_no_class() -> None:
    codes = np.where(CODES == 2, -100, CODES)
    with pytest.raises(ValueError, match=r"y_true = -100 at rows .*pass ignore_index=-100"):
        risk(codes, P)
    kept = CODES < 2
    assert risk(codes, P, ignore_index=-100) == pytest.approx(risk(CODES[kept], P[kept]), rel=1e-12)
    words = np.array(["a", "b", "?"])[CODES]
    assert risk(words, P, ignore_index="?", labels=["a", "b", "c"]) == pytest.approx(risk(CODES[kept], P[kept]), rel=1e-12)
    with pytest.raises(ValueError, match="ignore_index = 0 with y_true of shape"):
        risk(np.eye(3)[CODES], P, ignore_index=0)
    with pytest.raises(ValueError, match="y_true = 0 positive weights"):
        risk(CODES * 0 - 1, P, ignore_index=-1)


def test_arrays_of_jax() -> None:
    jax = pytest.importorskip("jax")
    assert risk(jax.numpy.asarray(CODES), jax.numpy.asarray(P)) == pytest.approx(RISK, rel=1e-6)
    with pytest.raises(ValueError, match=r"y_proba = .* of JAX"):
        jax.jit(lambda p: risk(CODES, p))(jax.numpy.asarray(P))


def test_labels_from_1_are_scored() -> None:
    pytest.importorskip("sklearn")
    from sklearn.dummy import DummyClassifier
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import cross_val_score

    score: Any = make_scorer(lambda y, p: propercal.calibration_error(y, p, **SETTINGS), response_method="predict_proba")
    named = make_scorer(lambda y, p, pos_label: propercal.calibration_error(y, p, pos_label=pos_label, **SETTINGS), response_method="predict_proba", pos_label=2)
    for labels, scoring in ((CODES + 1, score), (np.array([-1, 1])[CODES % 2], score), (np.array([1, 2])[CODES % 2], named)):
        scores = cross_val_score(DummyClassifier(strategy="prior"), np.zeros((30, 1)), labels, scoring=scoring, cv=3, error_score="raise")
        assert np.isfinite(scores).all()


def test_rows_with_names_are_read_as_their_table() -> None:
    y, p = calibrated(30, 3)
    names = [str(i) for i in range(3)]
    for columns in (names, [0, 1, 2], pd.RangeIndex(3)):
        table = pd.DataFrame(p, columns=columns)
        rows = [row for _, row in table.iterrows()]
        for held in (table, rows):
            found = propercal.decompose(y, held, generator="brier", method="risk", bandwidth=0.1, labels=[0, 1, 2])
            assert found.risk == pytest.approx(propercal.decompose(y, p, generator="brier", method="risk", bandwidth=0.1).risk)
            if isinstance(columns, pd.RangeIndex):
                # Which a library counts of its own accord.
                continue
            with pytest.raises(ValueError, match=r"labels = the classes \[2, 1, 0\], in this order: expected that of the columns"):
                propercal.decompose(y, held, generator="brier", method="risk", bandwidth=0.1, labels=[2, 1, 0])
