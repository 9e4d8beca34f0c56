"""Sketches, monitors, partitions of Dask and streaming metrics doubt the order of columns, and the class of a single one, by all their chunks together."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationMonitor, CalibrationSketch, decompose
from propercal._data.classes.biased_classes import Columns
from propercal._data.predictions.predictions import validate
from propercal.sketch import encoding
from propercal.sketch.doubts import MOST_CLASSES, Doubts

pytestmark = pytest.mark.filterwarnings("ignore:no row had an outcome")

#: A chunk of so few rows is not enough to tell.
K, N, STEP = 3, 240, 12
CODES = np.random.default_rng(0).integers(K, size=N)
WORDS = np.array(list("abc"))[CODES]
#: Of the class that occurred, mostly 0.6 to 0.8, in some rows 0.2.
OF_OWN = np.where(np.arange(N) % 9 == 0, 0.2, np.linspace(0.6, 0.8, N))
PROBA = np.where(np.eye(K)[CODES] == 1, OF_OWN[:, None], (1 - OF_OWN[:, None]) / 2)
ORDER = [2, 0, 1]
TURNED = PROBA[:, ORDER]
Stream = Callable[..., object]


def by_chunks(y: Any, p: Any) -> Any:
    return [(y[i : i + STEP], p[i : i + STEP]) for i in range(0, len(y), STEP)]


def n_classes(p: Any) -> int:
    return 2 if p.ndim == 1 else max(2, int(p.shape[1]))


def in_a_sketch(y: Any, p: Any, **options: Any) -> object:
    sketch = CalibrationSketch(n_classes(p), generator="brier", **options)
    for chunk in by_chunks(y, p):
        sketch.update(*chunk)
        sketch = CalibrationSketch.from_bytes(sketch.to_bytes())
    return sketch.result()


def in_merged_sketches(y: Any, p: Any, **options: Any) -> object:
    one, other = (CalibrationSketch(n_classes(p), generator="brier", notion="top-label", **options) for _ in range(2))
    for i, chunk in enumerate(by_chunks(y, p)):
        (one, other)[i % 2].update(*chunk)
    return one.merge(other).result()


def in_a_monitor(y: Any, p: Any, **options: Any) -> object:
    monitor = CalibrationMonitor(n_classes(p), **options)
    for chunk in by_chunks(y, p):
        monitor.update(*chunk)
    return CalibrationMonitor.from_bytes(monitor.to_bytes())


def in_partitions(y: Any, p: Any, **options: Any) -> object:
    da = pytest.importorskip("dask.array", reason="needs Dask")
    return decompose(da.from_array(y, chunks=STEP * 5), da.from_array(p, chunks=(STEP * 5, *([-1] * (p.ndim - 1)))), notion="classwise", generator="brier", **options)


def in_a_metric(y: Any, p: Any, **options: Any) -> object:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchmetrics")
    from propercal.torchmetrics import StreamingCalibrationError

    metric = StreamingCalibrationError(n_classes(p), generator="brier", **options)
    for labels, proba in by_chunks(y, p):
        metric.update(torch.as_tensor(proba), torch.as_tensor(labels))
    return metric.compute()


STREAMS: list[Stream] = [in_a_sketch, in_merged_sketches, in_a_monitor, in_partitions, in_a_metric]
OF_WORDS = STREAMS[:-1]


def said(call: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [text for each in found if "times as probable" in (text := str(each.message))]


@pytest.mark.parametrize("stream", STREAMS)
def test_the_warning_is_that_of_memory(stream: Stream) -> None:
    wanted = said(lambda: validate(CODES, TURNED))
    assert len(wanted) == 1
    found = said(lambda: stream(CODES, TURNED))
    if stream is in_a_monitor:
        # It is said as soon as there is enough evidence, and once.
        assert [re.sub(r"e\^\d+", "", each) for each in found] == [re.sub(r"e\^\d+", "", each) for each in wanted]
    else:
        assert found == [each.replace("y_proba", "preds") if stream is in_a_metric else each for each in wanted]
    assert not said(lambda: stream(CODES, PROBA))
    # So is what is said of classes that the caller lists, but of partitions that list them too.
    (listed,) = said(lambda: validate(CODES, TURNED, labels=[0, 1, 2]))
    (found_of_listed,) = said(lambda: stream(CODES, TURNED, labels=[0, 1, 2]))
    assert listed != wanted[0]
    if stream in (in_a_sketch, in_merged_sketches):
        assert found_of_listed == listed
    assert not said(lambda: stream(CODES, PROBA, labels=[0, 1, 2]))


@pytest.mark.parametrize("stream", OF_WORDS)
def test_words_beside_columns_without_names(stream: Stream) -> None:
    (message,) = said(lambda: stream(WORDS, TURNED))
    assert "if it is ['c', 'a', 'b']." in message
    assert not said(lambda: stream(WORDS, PROBA))


@pytest.mark.parametrize("stream", [in_a_sketch, in_merged_sketches, in_a_monitor])
def test_a_one_hot_without_names_is_doubted_beside_columns_with_names(stream: Stream) -> None:
    """Its columns are taken to stand as these do, which no name says; memory asks so too."""
    pd = pytest.importorskip("pandas", reason="needs pandas")
    marks, names = np.eye(K)[CODES], list("abc")
    turned = pd.DataFrame(TURNED, columns=np.array(names)[ORDER])
    (wanted,) = said(lambda: validate(marks, turned))
    (found,) = said(lambda: stream(marks, turned))
    order = r"classes (\[.*?\]), in this order.* if it is (\[.*?\])\."
    assert re.findall(order, found) == re.findall(order, wanted) == [("['c', 'a', 'b']", "['b', 'c', 'a']")]
    assert not said(lambda: stream(marks, pd.DataFrame(PROBA, columns=names)))
    # With names of its own it is matched.
    assert not said(lambda: stream(pd.DataFrame(marks, columns=names), turned))


@pytest.mark.parametrize("stream", OF_WORDS)
def test_names_of_columns_decide(stream: Stream) -> None:
    if stream is in_partitions:
        dd = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
    pd = pytest.importorskip("pandas", reason="needs pandas")
    table = pd.DataFrame(TURNED, columns=np.array(list("abc"))[ORDER])
    numbers = pd.DataFrame(TURNED, columns=["0", "1", "2"])
    labels = pd.Series(WORDS)
    for y, p in ((labels, table), (pd.Series(CODES), numbers)):
        if stream is in_partitions:
            given = [dd.from_pandas(each, npartitions=3) for each in (y, p)]
            assert not said(partial(decompose, *given, notion="classwise", generator="brier"))
        else:
            assert not said(partial(stream, y, p))


@pytest.mark.parametrize("stream", STREAMS)
def test_labels_from_1_of_which_others_do_not_occur(stream: Stream) -> None:
    """1 and 2 of five columns, which are the first two."""
    some = CODES < 2
    proba = np.concatenate([PROBA[some], np.full((some.sum(), 2), 1e-3)], axis=1)
    proba /= proba.sum(axis=1, keepdims=True)
    (message,) = said(lambda: stream(CODES[some] + 1, proba))
    assert "as probable if counted from 1" in message


@pytest.mark.parametrize("stream", STREAMS)
def test_predictions_that_say_nothing_doubt_nothing(stream: Stream) -> None:
    rng = np.random.default_rng(3)
    assert not said(lambda: stream(rng.integers(K, size=N), rng.dirichlet(np.ones(K), N)))


BINARY = np.random.default_rng(4).integers(2, size=N)
#: Of class 1, with the numbers above.
ONE = np.where(BINARY == 1, OF_OWN, 1 - OF_OWN)


@pytest.mark.parametrize("form", ["vector", "column"])
@pytest.mark.parametrize("stream", STREAMS)
def test_a_column_of_the_other_class_is_told_as_in_memory(stream: Stream, form: str) -> None:
    right = ONE if form == "vector" else ONE[:, None]
    (wanted,) = said(lambda: validate(BINARY, 1 - right))
    assert "is one column, read as the probability of 1" in wanted
    found = said(lambda: stream(BINARY, 1 - right))
    if stream is in_a_monitor:
        assert [re.sub(r"e\^\d+", "", each) for each in found] == [re.sub(r"e\^\d+", "", wanted)]
    else:
        assert found == [wanted.replace("y_proba", "preds") if stream is in_a_metric else wanted]
    assert not said(lambda: stream(BINARY, right))
    for options in ({"labels": [0, 1]}, {"pos_label": 1}):
        assert not said(partial(stream, BINARY, 1 - right, **options))
    # Too large everywhere, and larger where the event occurs.
    rare = np.arange(N) % 10 == 0
    assert not said(lambda: stream(rare.astype(int), 0.6 + 0.2 * rare + 0.1 * ONE))


@pytest.mark.parametrize("stream", OF_WORDS)
def test_names_say_the_class_of_a_column(stream: Stream) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    dd = pytest.importorskip("dask.dataframe", reason="needs Dask data frames") if stream is in_partitions else None

    def given(label: Any, name: Any) -> list[str]:
        both = pd.Series(BINARY, name=label), pd.Series(1 - ONE, name=name)
        if dd is None:
            return said(lambda: stream(*both))
        return said(partial(decompose, *(dd.from_pandas(each, npartitions=3) for each in both), notion="classwise", generator="brier"))

    for name in ("p_1", "prob_pos", "yes"):
        assert not given(None, name)
    assert not given("is_fraud", "p_fraud")
    for name in ("legit", "score"):
        found = given(None, name)
        assert found
        assert all(f"y_proba is one column, {name!r}, read as the probability of 1" in each for each in found)


def test_a_name_in_a_later_chunk_says_the_class_too() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    sketch = CalibrationSketch(2, generator="brier")
    sketch.update(BINARY[:120], 1 - ONE[:120])
    sketch.update(BINARY[120:], pd.Series(1 - ONE[120:], name="p_1"))
    assert not said(sketch.result)


def test_labels_1_beside_one_column_miss_no_0() -> None:
    """As in memory: of two classes one may not occur."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchmetrics")
    from propercal.torchmetrics import StreamingCalibrationError

    metric = StreamingCalibrationError(2, generator="brier")
    metric.update(torch.full((60,), 0.3), torch.ones(60, dtype=torch.int64))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        metric.compute()
    assert not [each for each in found if "no 0" in str(each.message)]


@pytest.mark.parametrize("stream", STREAMS)
def test_a_bias_for_a_rare_class_is_no_other_order(stream: Stream) -> None:
    rng = np.random.default_rng(5)
    proba = rng.dirichlet([140, 50, 10], size=N)
    label = (proba.cumsum(axis=1) > rng.random(N)[:, None]).argmax(axis=1)
    biased = proba * [1, 1, 30]
    biased /= biased.sum(axis=1, keepdims=True)
    # With the columns of the first and the last class exchanged, labels are more probable.
    rows = np.arange(N)
    assert np.log(biased[:, ::-1][rows, label] / biased[rows, label]).sum() > 20
    assert not said(lambda: stream(label, biased))


def test_sums_do_not_depend_on_how_rows_came() -> None:
    whole, parts = (CalibrationMonitor(K) for _ in range(2))
    whole.update(CODES, PROBA)
    for chunk in by_chunks(CODES, PROBA):
        parts.update(*chunk)
    assert whole.to_bytes() == parts.to_bytes()
    one, other = whole._seen.reading.doubts, parts._seen.reading.doubts
    assert one is not None
    assert other is not None
    # The sums once more, by loops.
    for a in range(K):
        for b in range(K):
            rows = PROBA[a == CODES]
            assert one.fit[a, b] == np.floor(np.log(rows[:, b]) * 2**20).sum()
            assert one.better[a, b] == other.better[a, b] == (rows[:, b] > rows[:, a]).sum()
            assert one.worse[a, b] == (rows[:, b] < rows[:, a]).sum()
            coarse = np.floor(np.log(PROBA) * 2**12)
            assert one.products[0, b] == other.products[0, b] == coarse[:, b].sum()
            assert one.products[a + 1, b] == (coarse[:, a] * coarse[:, b]).sum()
    assert (one.counts == np.bincount(CODES)).all()
    assert one == other


def test_what_sums_say_of_columns_is_what_rows_say() -> None:
    doubts = Doubts.empty(K)
    assert doubts is not None
    found = doubts.after(validate(CODES, PROBA))._columns(np.arange(K))
    wanted = Columns.of(np.log(PROBA), np.bincount(CODES))
    # Each logarithm is rounded by 2⁻¹², and is at most 2.4 here.
    np.testing.assert_allclose(found.covariance, wanted.covariance, atol=2 * 2.4 * 2**-12)
    np.testing.assert_allclose(found.sums, wanted.sums, atol=N * 2**-20)


def test_doubts_of_an_earlier_version_are_dropped() -> None:
    doubts = Doubts.empty(K)
    assert doubts is not None
    assert Doubts.restored(doubts.written()[:3], K) is None
    assert Doubts.restored(doubts.written(), K) == doubts


def test_many_classes_are_not_kept() -> None:
    assert Doubts.empty(MOST_CLASSES) is not None
    assert Doubts.empty(MOST_CLASSES + 1) is None


@pytest.mark.parametrize("kind", [CalibrationSketch, CalibrationMonitor])
def test_bytes_of_the_last_format_are_read(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have no doubts, and go on without."""
    from propercal.monitor import written

    stream = kind(K)
    stream.update(CODES, PROBA)
    without = stream._seen.reading._replace(doubts=None)
    stream._seen = stream._seen._replace(reading=without)
    with monkeypatch.context() as patch:
        for module in (encoding, written):
            patch.setattr(module, "_FORMAT", module._BEFORE)
        sealed = encoding.sealed

        def as_before(form: bytes, text: bytes, numbers: Any, key: bytes | None) -> bytes:
            return sealed(form, text.replace(b', "doubts": null', b""), numbers, key)

        for module in (encoding, written):
            patch.setattr(module, "sealed", as_before)
        data = stream.to_bytes()
    assert data.startswith((b"propercal sketch 4\n", b"propercal monitor 1\n"))
    found = kind.from_bytes(data)
    assert found.n_samples == N
    assert found.to_bytes() == stream.to_bytes()


@pytest.mark.parametrize("change", [lambda x: x[:2], lambda x: [x[0], x[1], x[2][:-1]], lambda x: [x[0], x[1], 7], lambda x: [[1] * 9, *x[1:]], lambda x: [x[0], [-1] * 9, x[2]], lambda x: [[0.5] * 9, *x[1:]], lambda x: [[-(1 << 70)] * 9, *x[1:]], lambda x: [*x[:3], [-1] * 3, x[4]], lambda x: [*x[:4], [1] * 12], lambda x: [*x[:4], [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]])
def test_doubts_that_rows_cannot_come_to_are_refused(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (CalibrationSketch, CalibrationMonitor):
        stream = kind(K)
        stream.update(CODES, PROBA)
        doubts = stream._seen.reading.doubts
        assert doubts is not None
        written = change(doubts.written())
        with monkeypatch.context() as patch:
            patch.setattr(Doubts, "written", lambda _, written=written: written)
            data = stream.to_bytes()
        with pytest.raises(ValueError, match="expected doubts that rows can come to"):
            kind.from_bytes(data)


@pytest.mark.parametrize("name", [None, "mortality"])
@pytest.mark.parametrize("stream", OF_WORDS)
def test_a_class_that_the_caller_says_is_looked_at_as_in_memory(stream: Stream, name: str | None) -> None:
    """Of words somebody has to say one, which may be the other one; a name may say none."""
    rng = np.random.default_rng(3)
    score = rng.beta(0.6, 0.8, 300)
    labels = np.array(["no", "yes"])[(rng.random(300) < score).astype(int)]
    score = score if name is None else pytest.importorskip("pandas").Series(score, name=name)
    wrong: list[dict[str, Any]] = [{"pos_label": "no"}, {"labels": ["yes", "no"]}]
    right: list[dict[str, Any]] = [{"pos_label": "yes"}, {"labels": ["no", "yes"]}]
    for options in wrong:
        (wanted,) = said(partial(validate, labels, score, **options))
        (found,) = said(partial(stream, labels, score, **options))
        assert "read as the probability of 'no', though" in found
        # Partitions need not know what the column is called.
        plain = re.compile(r"e\^\d+|, 'mortality'")
        assert plain.sub("", found) == plain.sub("", wanted)
    for options in right:
        assert not said(partial(stream, labels, score, **options))
