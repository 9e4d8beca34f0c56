"""Objects that are no data, and data that libraries do not compute: refused in our words, never by a library's."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from propercal import (
    CalibrationMonitor,
    CalibrationSketch,
    crps_decomposition,
    decompose,
    hosmer_lemeshow,
    murphy,
    reliability,
)
from propercal.information import apply_markov_map, layer_sharpness, statistical_information
from propercal.recalibration import ClasswiseIsotonic

CODES = np.arange(30) % 3
PROBA = np.eye(3)[CODES] * 0.7 + 0.1
LAYER = np.random.default_rng(0).normal(size=(30, 2))


def risk(y_true: Any, y_proba: Any, **settings: Any) -> float:
    return float(decompose(y_true, y_proba, generator="brier", method="risk", bandwidth=0.1, **settings).risk)


ODD_LABELS: dict[str, Any] = {
    "a number": 3, "a generator": (i for i in range(3)), "of no dimension": np.array(3), "a set": {0, 1, 2}, "text": "abc", "a dict": {0: 1, 1: 2, 2: 3},
    "missing": [None, 1, 2], "NaN": [0, 1, np.nan], "twice": [0, 0, 1], "lists": [[0], [1], [2]], "a matrix": np.eye(3), "an object": object(), "a type": int, "a function": len, "bytes": b"abc",
}


@pytest.mark.parametrize("name", ODD_LABELS)
def test_odd_names_of_classes_are_named(name: str) -> None:
    for call in (lambda: layer_sharpness([LAYER], CODES, labels=ODD_LABELS[name], bandwidth=0.1), lambda: risk(CODES, PROBA, labels=ODD_LABELS[name])):
        with pytest.raises(ValueError, match=r"^labels = "):
            call()


def test_names_of_classes_in_other_holders_are_read() -> None:
    pd = pytest.importorskip("pandas")
    names = [range(3), (0, 1, 2), np.arange(3), pd.Series([0, 1, 2]), pd.Index([0, 1, 2])]
    assert {layer_sharpness([LAYER], CODES, labels=each, bandwidth=0.1)[0] for each in names} == {layer_sharpness([LAYER], CODES, bandwidth=0.1)[0]}
    pa = pytest.importorskip("pyarrow")
    words = np.array(["a", "b", "c"])[CODES]
    assert risk(words, PROBA[:, [2, 0, 1]], labels=pa.array(["c", "a", "b"])) == pytest.approx(0.06)
    with pytest.raises(ValueError, match=r"^labels = "):
        risk(words, PROBA[:, [2, 0, 1]], labels=pa.array(["c", "a", None]))
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ValueError, match=r"^labels = "):
        layer_sharpness([LAYER], CODES, labels=sparse.csr_matrix([[0, 1, 2]]), bandwidth=0.1)


def test_lazy_tables_that_fail_say_so() -> None:
    pl = pytest.importorskip("polars")
    lazy = pl.DataFrame({"a": [0.5, 0.5], "b": [0.5, 0.5]}).lazy().select("z")
    for given, name in (((CODES, lazy), "y_proba"), ((lazy, PROBA), "y_true"), ((lazy.select("z"), lazy), "data")):
        with pytest.raises(ValueError, match=f'^{name} = a lazy table that cannot be computed .*"z"'):
            risk(*given)
    with pytest.raises(ValueError, match=r"^sample_weight = a lazy table that cannot be computed"):
        risk(CODES, PROBA, sample_weight=lazy)


def test_labelled_arrays_without_values_are_refused() -> None:
    xr = pytest.importorskip("xarray")
    empty = xr.DataArray(np.empty((30, 0)), dims=("s", "k"))
    for proba in (PROBA, xr.DataArray(PROBA, dims=("s", "k"))):
        with pytest.raises(ValueError, match=r"^y_(true|proba) = "):
            risk(empty, proba)
    with pytest.raises(ValueError, match=r"^y_proba = "):
        risk(CODES, empty)


def test_rows_named_by_lists_are_matched_or_refused() -> None:
    pd = pytest.importorskip("pandas")
    xr = pytest.importorskip("xarray")
    lists = pd.Index([[i] for i in range(30)], dtype=object)
    words = [f"r{i}" for i in range(30)]
    labels, table = pd.Series(CODES, index=lists), pd.DataFrame(PROBA)
    assert risk(labels, table.set_axis(lists, axis=0)) == pytest.approx(0.06)
    for proba in (table.set_axis(words, axis=0), xr.DataArray(PROBA, dims=("s", "k"), coords={"s": words})):
        with pytest.raises(ValueError, match=r"^y_true = rows of the index"):
            risk(labels, proba)
    with pytest.raises(ValueError, match=r"^sample_weight = rows of the index"):
        risk(pd.Series(CODES, index=words), table.set_axis(words, axis=0), sample_weight=pd.Series(1.0, index=lists))


def test_tensors_of_8_bits_are_read() -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        assert risk(torch.tensor(CODES).to(dtype), PROBA) == pytest.approx(0.06)
        assert risk(CODES, PROBA, sample_weight=torch.ones(30).to(dtype)) == pytest.approx(0.06)
        layer = torch.tensor(LAYER).to(dtype)
        assert layer_sharpness([layer], CODES, bandwidth=0.1)[0] == pytest.approx(float(layer_sharpness([layer.double()], CODES, bandwidth=0.1)[0]))
    assert risk(torch.tensor(CODES).to(torch.float16), PROBA) == pytest.approx(0.06)


SINGLE: dict[str, Any] = {"a number of NumPy": np.int64(1), "of no dimension": np.array(1)}


@pytest.mark.parametrize("name", [*SINGLE, "a tensor"])
def test_one_value_is_no_array(name: str) -> None:
    one = SINGLE[name] if name in SINGLE else pytest.importorskip("torch").tensor(1)
    for call in (
        lambda: risk(one, PROBA[:1]),
        lambda: CalibrationSketch(3, generator="brier").update(one, PROBA[:1]),
        lambda: CalibrationMonitor(3).update(one, PROBA[:1]),
        lambda: crps_decomposition(one, PROBA),
    ):
        with pytest.raises(ValueError, match=r"^y_true = an array of shape \(\): expected shape \(n,\) or \(n, k\), one for each row; pass a list"):
            call()
    with pytest.raises(ValueError, match=r"^y_proba = an array of shape \(\)"):
        CalibrationMonitor(2).update([1], np.float64(0.3))
    with pytest.raises(ValueError, match=r"^X = an array of shape \(\)"):
        ClasswiseIsotonic().fit(PROBA[:, 1], CODES == 1).predict_proba(np.float64(0.3))
    monitor = CalibrationMonitor(3)
    monitor.update([1], PROBA[1:2])
    assert monitor.n_samples == 1


def test_no_value_is_no_name() -> None:
    pd = pytest.importorskip("pandas")
    event, score = pd.Series((CODES == 1).astype(int)), pd.Series(PROBA[:, 1])
    named = [each.copy() for each in (event, score)]
    for each in named:
        each.name = pd.NA
    assert risk(*named) == risk(event, score)
    assert risk(named[0], score) == risk(event, named[1]) == risk(event, score)
    with pytest.raises(ValueError, match="event = <NA>"):
        hosmer_lemeshow(event, score, event=pd.NA)
    with pytest.raises(ValueError, match="event = <NA>"):
        reliability(event, score, event=pd.NA)
    for odd in (named[1].to_frame("p"), score):
        with pytest.raises(ValueError, match=r"event = a (DataFrame|Series)"):
            reliability(event, score, event=odd)


def test_odd_tensors_are_refused() -> None:
    torch = pytest.importorskip("torch")
    n = len(CODES)
    turned = torch.zeros(n, dtype=torch.complex64).conj()
    for call in (lambda: crps_decomposition(turned, PROBA), lambda: risk(CODES, PROBA, labels=turned)):
        with pytest.raises(ValueError, match=r"complex|labels = "):
            call()
    table = torch.full((2, 2), 0.25).to_sparse()
    for call in (lambda: statistical_information("brier", table), lambda: apply_markov_map(table, np.eye(2)), lambda: apply_markov_map(np.full((2, 2), 0.25), table)):
        with pytest.raises(ValueError, match=r"(joint|kernel) = a tensor of layout torch.sparse_coo"):
            call()
    with pytest.raises(ValueError, match=r"^levels = .*expected 3 different numbers"):
        crps_decomposition(PROBA[:, 0], quantiles=np.sort(PROBA), levels=torch.rand(n).bfloat16())
    pytest.importorskip("torchmetrics")
    from propercal.torchmetrics import proper_calibration_error

    for odd in (torch.eye(n).to_sparse(), torch.empty(n, device="meta")):
        with pytest.raises(ValueError, match="preds = a tensor of layout"):
            proper_calibration_error(odd, torch.tensor(CODES))


def test_a_list_of_outputs_of_several_labels_says_what_to_do() -> None:
    marks = (np.random.default_rng(0).random((30, 3)) < PROBA).astype(int)
    outputs = [np.stack([1 - p, p], axis=1) for p in PROBA.T]
    for call in (
        lambda: risk(marks, outputs, notion="classwise"),
        lambda: CalibrationSketch(3, generator="brier", notion="classwise").update(marks, outputs),
    ):
        with pytest.raises(ValueError, match=r"^y_proba = a list of 3 arrays of shape \(30, 2\).*pass numpy.stack\(\[each\[:, 1\] for each in y_proba\], axis=1\)"):
            call()
    advised = np.stack([each[:, 1] for each in outputs], axis=1)
    assert risk(marks, advised, notion="classwise") == pytest.approx(2 * np.mean((PROBA - marks) ** 2))


@pytest.mark.parametrize("name", ["Int128", "UInt128"])
def test_integers_that_numpy_has_no_type_for_are_read(name: str) -> None:
    polars = pytest.importorskip("polars")
    if not hasattr(polars, name):
        pytest.skip(f"this version of polars has no {name}")
    kind = getattr(polars, name)
    labels, weight, right = polars.Series(CODES).cast(kind), polars.Series([1] * 30).cast(kind), risk(CODES, PROBA)
    assert risk(labels, PROBA) == risk(labels.to_frame(), PROBA) == pytest.approx(right, rel=1e-12)
    assert risk(CODES, PROBA, sample_weight=weight) == pytest.approx(right, rel=1e-12)
    assert risk(CODES, PROBA, labels=polars.Series([0, 1, 2]).cast(kind)) == pytest.approx(right, rel=1e-12)
    with pytest.raises(ValueError, match=r"^y_true = 1180591620717411303424 at row 0"):
        risk(polars.Series([2**70, *CODES[1:].tolist()], dtype=kind), PROBA)
    assert murphy((CODES == 0).astype(int), PROBA[:, 0], thresholds=polars.Series([0, 1]).cast(kind)).score.shape[-1] == 2


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_odd_settings_are_named() -> None:
    with pytest.raises(ValueError, match=r"^random_state = matrix"):
        decompose(CODES, PROBA, generator="brier", random_state=np.asmatrix([[1, 2], [3, 4]]))
    with pytest.raises(ValueError, match=r"^thresholds = "):
        murphy((CODES == 0).astype(int), PROBA[:, 0], thresholds=[10**400])
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"^F = a function that maps shape .* to a int: expected one value for each point"):
        decompose(CODES, PROBA, generator=len, method="risk", bandwidth=0.1)


def test_advice_for_names_and_rows_without_an_order() -> None:
    words, names = np.array(list("abc"))[CODES], {0: "a", 1: "b", 2: "c"}
    with pytest.raises(ValueError, match=r"^labels = a set: .*pass a list in the order that is meant: a set has none"):
        risk(words, PROBA, labels=set("abc"))
    with pytest.raises(ValueError, match=r"^labels = a dict: .*pass \[labels\[i\] for i in range\(len\(labels\)\)\]"):
        risk(words, PROBA, labels=names)
    assert risk(words, PROBA, labels=[names[i] for i in range(3)]) == pytest.approx(risk(CODES, PROBA), rel=1e-12)
    pd = pytest.importorskip("pandas")
    records = [dict(zip("abc", row, strict=True)) for row in PROBA.tolist()]
    scored = [[{"label": name, "score": p} for name, p in row.items()] for row in records]
    series = pd.Series(records, index=range(5, 35))
    for given in (records, series):
        with pytest.raises(ValueError, match=r"make them columns, by pandas\.DataFrame\(\[\*column\]"):
            risk(words, given)
        assert risk(words, pd.DataFrame(list(given))) == pytest.approx(risk(CODES, PROBA), rel=1e-12)
    with pytest.raises(ValueError, match=r"by pandas\.DataFrame\(\[\{each\['label'\]: each\['score'\] for each in row\} for row in"):
        risk(words, scored)
    assert risk(words, pd.DataFrame([{each["label"]: each["score"] for each in row} for row in scored])) == pytest.approx(risk(CODES, PROBA), rel=1e-12)


def test_advice_for_columns_of_objects_keeps_their_rows() -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    words = np.array(list("abc"))[CODES]
    records = [dict(zip("abc", row, strict=True)) for row in PROBA.tolist()]
    right = pytest.approx(risk(CODES, PROBA), rel=1e-12)
    column, y = pd.Series(records, index=range(5, 35)), pd.Series(words, index=range(5, 35))
    with pytest.raises(ValueError, match=r"by pandas\.DataFrame\(\[\*column\], index=column\.index\)"):
        risk(y[::-1], column)
    assert risk(y[::-1], pd.DataFrame([*column], index=column.index)) == right
    column = pl.Series("probs", records)
    for given in (column, column.to_frame(), column.to_frame().lazy()):
        with pytest.raises(ValueError, match=r"by pandas\.DataFrame\(\[\*column\]\), in polars by column\.struct\.unnest\(\); in pyarrow, of column\.to_pylist\(\)\.$"):
            risk(words, given)
    assert risk(words, column.struct.unnest()) == risk(words, pd.DataFrame([*column])) == right
    assert risk(words, pd.DataFrame([*column.to_arrow().to_pylist()])) == right


class _Result(NamedTuple):
    """What a trainer of transformers returns."""

    predictions: Any
    label_ids: Any
    metrics: Any


def test_predictions_beside_labels_are_told_apart() -> None:
    logits, settings = np.log(PROBA), {"from_logits": True}
    right = pytest.approx(risk(CODES, PROBA), rel=1e-12)
    result = _Result(logits, CODES, {"loss": 1.0})
    pairs: list[tuple[Any, str]] = [
        ((logits, CODES), r"y_proba = a tuple of arrays of shapes \(30, 3\), \(30,\): expected one array.*pass one of them, y_proba\[0\] or y_proba\[1\]"),
        ([logits, CODES], r"y_proba = a list of arrays of shapes"), ((logits, np.zeros((30, 4, 8))), r"y_proba = .* shapes \(30, 3\), \(30, 4, 8\).*y_proba\[0\]"),
        (result, r"y_proba = a _Result of arrays .*pass one of them, \.predictions or \.label_ids"),
        ({"loss": 1.0, "logits": logits}, r"y_proba = a dict: .*pass one of its parts, \['logits'\]"),
        ((logits,), r"y_proba = an array of shape \(1, 30, 3\).*pass y_proba\[0\] if that holds all rows"),
        ([logits[:20], logits[20:]], r"y_proba = a list of arrays of shapes \(20, 3\), \(10, 3\).*join batches by numpy.concatenate\(y_proba\), or torch.cat"),
    ]
    for given, match in pairs:
        with pytest.raises(ValueError, match=f"^{match}"):
            risk(CODES, given, **settings)
    for advised in (result.predictions, np.concatenate([logits[:20], logits[20:]])):
        assert risk(CODES, advised, **settings) == right
    with pytest.raises(ValueError, match=r"^y_true = a matrix of shape \(30, 3\): .*swap y_true and y_proba if these are predictions"):
        risk(logits, CODES, **settings)
    with pytest.raises(ValueError, match=r"^y_proba = 2\.0 at rows .*swap y_true and y_proba if these are labels"):
        risk(PROBA, CODES)


def test_probabilities_of_one_digit_may_sum_to_what_is_promised() -> None:
    proba = np.tile([[0.3, 0.3, 0.3], [0.4, 0.4, 0.3]], (15, 1))
    for given in (proba, proba.astype(np.float32)):
        with pytest.warns(UserWarning, match=r"rows that sum to 0\.9 to 1\.1 .* used as they are"):
            assert risk(CODES, given) == pytest.approx(float(((proba - np.eye(3)[CODES]) ** 2).sum(axis=1).mean()), rel=1e-6)
    with pytest.raises(ValueError, match=r"rows that sum to 0\.9 to 1\.11"):
        risk(CODES, np.where(proba == 0.4, 0.405, proba))
