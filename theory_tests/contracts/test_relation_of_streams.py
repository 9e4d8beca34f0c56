"""Sketches, monitors, partitions of Dask and streaming metrics ask by all their chunks together whether predictions tell anything of labels."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationMonitor, CalibrationSketch, decompose
from propercal._data.predictions.predictions import validate
from propercal._data.predictions.unrelated import gain_of_own_rows
from propercal.sketch import encoding
from propercal.sketch.relation import Relation, shapes
from theory_tests.contracts.test_doubts_of_streams import (
    STEP,
    STREAMS,
    Stream,
    by_chunks,
    in_a_metric,
    in_a_monitor,
    in_a_sketch,
)
from theory_tests.contracts.test_unrelated_rows import sample

pytestmark = pytest.mark.filterwarnings("ignore:no row had an outcome", "ignore:.* loss is that of about", "ignore:.*rows seem to repeat", "ignore:.*miscalibration|.*kernel")

SAID = "tells nothing of", "itself, it seems", "classes that were decided on", "is the most probable class in each"


def said(call: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [text for each in found if any(words in (text := str(each.message)) for words in SAID)]


def in_the_words_of(stream: Stream, message: str) -> str:
    return message.replace("y_proba", "preds").replace("y_true", "target") if stream is in_a_metric else message


def cases(n: int = 240) -> dict[str, tuple[Any, Any]]:
    label, proba, rng = sample(n, concentration=0.2)
    flat = 0.5 * proba + 0.5 / 3
    return {
        "other rows": (rng.permutation(label), proba),
        "other rows of one column": (rng.permutation(label == 1).astype(int), proba[:, 1]),
        "labels": (label, np.eye(3)[label]),
        "decisions": (label, np.eye(3)[flat.argmax(axis=1)]),
        "decisions of one column": ((label == 1).astype(int), (proba[:, 1] > 0.5) * 1.0),
        "predicted": (flat.argmax(axis=1), flat),
    }


@pytest.mark.parametrize("case", cases())
@pytest.mark.parametrize("stream", STREAMS)
def test_the_warning_is_that_of_memory(stream: Stream, case: str) -> None:
    # A monitor, which looks after each chunk, takes more rows.
    label, proba = cases(840 if stream is in_a_monitor else 240)[case]
    (wanted,) = said(lambda: validate(label, proba))
    found = said(lambda: stream(label, proba))
    if stream is in_a_monitor:
        # As soon as there is enough evidence.
        assert len(found) >= 1
        assert found[0].partition("as far as")[0].partition("in each of")[0] == wanted.partition("as far as")[0].partition("in each of")[0]
    else:
        assert found == [in_the_words_of(stream, wanted)]


@pytest.mark.parametrize("stream", STREAMS)
def test_right_data_are_not_doubted(stream: Stream) -> None:
    for seed in range(2):
        label, proba, _ = sample(240, seed=seed)
        assert not said(lambda: stream(label, proba))  # noqa: B023
        assert not said(lambda: stream((label == 1).astype(int), proba[:, 1]))  # noqa: B023
        # A constant says as much of each row.
        assert not said(lambda: stream(label, np.full((240, 3), 1 / 3)))  # noqa: B023


def test_sums_are_those_of_memory_however_rows_came() -> None:
    label, proba, _ = sample(240, 5)
    whole = Relation.of(validate(label, proba))
    parts = Relation.empty(5)
    for start in range(0, 240, STEP):
        some = slice(start, start + STEP)
        parts = parts.plus(Relation.of(validate(label[some], proba[some], labels=range(5))))
    assert parts == whole
    wanted = gain_of_own_rows(np.log(proba), label)
    assert whole.gain.seen == pytest.approx(wanted.seen, rel=2e-3)
    assert whole.gain.expected == pytest.approx(wanted.expected, rel=2e-3)
    assert Relation.restored(whole.written(), 5) == whole


def test_many_classes_have_no_products() -> None:
    assert "logs" in shapes(100)
    assert "logs" not in shapes(101)
    label, proba, rng = sample(120, 101, 0.05)
    decided = np.eye(101)[np.where(rng.random(120) < 0.3, label, 100 - label)]
    sketch = CalibrationSketch(101, generator="brier", notion="top-label")
    sketch.update(label, decided)
    assert len(said(sketch.result)) == 1
    other = CalibrationSketch(101, generator="brier", notion="top-label")
    other.update(label, proba)
    assert not said(other.result)


def test_a_monitor_says_it_once_and_of_weightless_rows_nothing() -> None:
    label, proba = cases(480)["other rows"]
    monitor = CalibrationMonitor(3)

    def update() -> None:
        for chunk in by_chunks(label, proba):
            monitor.update(*chunk)

    assert len(said(update)) == 1
    weight = np.repeat([0.0, 1.0], 120)
    own, other, rng = sample(240)
    mixed = np.concatenate([rng.permutation(own[:120]), own[120:]])
    sketch = CalibrationSketch(3, generator="brier")
    sketch.update(mixed, other, weight)
    assert not said(sketch.result)
    assert not said(lambda: decompose(mixed, other, sample_weight=weight, generator="brier", method="risk", bandwidth=0.1))


def test_a_weak_model_that_is_too_sure_is_not_doubted_on_its_way() -> None:
    """Who looks after each row sees little of such a model at some time: the threshold is twice that of memory."""
    doubted = np.zeros(2)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        signal = rng.normal(size=600)
        label = (rng.random(600) < 1 / (1 + np.exp(-signal))).astype(int)
        proba = 1 / (1 + np.exp(-signal - 2 * rng.normal(size=600)))
        logs = np.log(np.stack([1 - proba, proba], axis=1))
        gains = [gain_of_own_rows(logs[:n], label[:n]) for n in range(20, 601, 20)]
        doubted += [any(each.expected >= 8 * times and each.seen <= 2 for each in gains) for times in (1, 2)]
    assert doubted[0] > 10
    assert doubted[1] <= 1


@pytest.mark.parametrize("name", ["y_pred", "predicted"])
def test_labels_that_are_called_predictions_are_refused_in_a_chunk(name: str) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    label, proba, _ = sample(40)
    top = pd.Series(proba.argmax(axis=1), name=name)
    for holder in (CalibrationSketch(3), CalibrationMonitor(3)):
        with pytest.raises(ValueError, match=rf"^y_true = labels named '{name}', which are of the most probable class in each of 40 rows"):
            holder.update(top, proba)
        assert holder.n_samples == 0
        holder.update(pd.Series(label, name=name), proba)


@pytest.mark.parametrize("stream", [in_a_sketch])
def test_columns_that_are_separate(stream: Stream) -> None:
    label, _, rng = sample(240)
    marks = np.stack([label > 0, label < 2], axis=1).astype(int)
    decided = np.where(rng.random((240, 2)) < 0.2, 1 - marks, marks) * 1.0
    for proba in (marks * 1.0, decided):
        (wanted,) = said(lambda: validate(marks, proba))  # noqa: B023
        assert said(lambda: stream(marks, proba)) == [wanted]  # noqa: B023


def opened(data: bytes) -> tuple[Any, bytes]:
    return encoding.opened(encoding._FORMAT, data, None, "the bytes of a sketch")


def test_bytes_of_an_earlier_version_know_of_later_rows_alone() -> None:
    label, proba = cases()["other rows"]
    sketch = CalibrationSketch(3, generator="brier")
    sketch.update(label[:120], proba[:120])
    settings, numbers = opened(sketch.to_bytes())
    del settings["relation"]
    earlier = encoding.sealed(encoding._FORMAT, json.dumps(settings).encode(), [numbers], None)
    found = CalibrationSketch.from_bytes(earlier)
    assert not said(found.result)
    found.update(label[120:], proba[120:])
    (message,) = said(found.result)
    assert "as far as 120 rows show" in message


def changed(written: Any, change: str) -> Any:
    lists = [list(each) for each in written]
    if change == "numbers":
        lists[0][1] = lists[0][0] + 1
    elif change == "size":
        lists[1].append(0)
    elif change == "kind":
        lists[0][0] = 1.5
    elif change == "sign":
        lists[3][1] = 1
    elif change == "symmetry":
        lists[5][4] += 1
    else:
        return {}
    return lists


@pytest.mark.parametrize("change", ["numbers", "size", "kind", "sign", "symmetry", "no list"])
def test_sums_that_no_rows_come_to_are_refused(change: str) -> None:
    label, proba, _ = sample(60)
    sketch = CalibrationSketch(3, generator="brier")
    sketch.update(label, proba)
    settings, numbers = opened(sketch.to_bytes())
    settings["relation"] = changed(settings["relation"], change)
    data = encoding.sealed(encoding._FORMAT, json.dumps(settings).encode(), [numbers], None)
    with pytest.raises(ValueError, match=r"sums of predictions and labels|a setting relation"):
        CalibrationSketch.from_bytes(data)
