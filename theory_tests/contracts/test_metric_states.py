"""States of metrics in few bits, and weights of any holder."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

from propercal import decompose  # noqa: E402
from propercal.simulation import TemperatureScaledSimplex  # noqa: E402
from propercal.torchmetrics import ProperCalibrationError, Refinement, StreamingCalibrationError  # noqa: E402

N = 300
QUICK: dict[str, Any] = {"method": "risk", "bandwidth": 0.1}
Y, P, _ = TemperatureScaledSimplex(3).sample(N, random_state=0)
#: Above what float16 has, and with more digits than bfloat16 has.
WEIGHT = 1e5 * (np.arange(N) + 1.0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_a_type_is_that_of_the_predictions_alone(dtype: Any) -> None:
    metric = ProperCalibrationError(**QUICK)
    metric.update(torch.as_tensor(P), torch.as_tensor(Y), torch.as_tensor(WEIGHT))
    metric.set_dtype(dtype)
    rounded = torch.as_tensor(P).to(dtype)
    assert metric.preds[0].dtype == dtype
    expected = ProperCalibrationError(**QUICK)
    expected.update(rounded, torch.as_tensor(Y), torch.as_tensor(WEIGHT))
    assert metric.compute() == expected.compute()
    assert float(metric.compute()) == pytest.approx(
        decompose(Y, P, sample_weight=WEIGHT, **QUICK).calibration_error, rel=0.05
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_sums_over_rows_keep_their_digits(dtype: Any) -> None:
    metric = StreamingCalibrationError(3, weighted=True)
    metric.update(torch.as_tensor(P), torch.as_tensor(Y), torch.as_tensor(WEIGHT))
    before = metric.decomposition().to_dict()
    metric.set_dtype(dtype)
    assert metric.decomposition().to_dict() == before


def test_weights_come_in_any_holder() -> None:
    pd = pytest.importorskip("pandas")
    expected = decompose(Y, P, sample_weight=WEIGHT, **QUICK).calibration_error
    series = pd.Series(WEIGHT, index=range(N, 0, -1))
    holders: list[Any] = [WEIGHT, WEIGHT.tolist(), WEIGHT.astype(np.uint32), WEIGHT.astype(object), series]
    for weight in holders:
        metric = ProperCalibrationError(**QUICK)
        metric.update(torch.as_tensor(P), torch.as_tensor(Y), weight)
        assert float(metric.compute()) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "weight",
    [["a"] * N, [[1.0], [1.0, 2.0]], {"a": 1}, np.ma.array(WEIGHT, mask=Y == 0)],
    ids=["text", "ragged", "dict", "mask"],
)
def test_odd_weights_are_refused_in_words(weight: Any) -> None:
    metric = ProperCalibrationError()
    with pytest.raises(ValueError, match="sample_weight = "):
        metric.update(torch.as_tensor(P), torch.as_tensor(Y), weight)
    assert metric._n_rows() == 0


def test_what_is_wrong_with_a_stream_is_said_in_the_words_of_metrics() -> None:
    metric, first = StreamingCalibrationError(3), np.flatnonzero(Y == 2)[0]
    with pytest.raises(ValueError, match=rf"^target = 3 at rows {first}, .* expected one of labels=\[0, 1, 2\]"):
        metric.update(torch.as_tensor(P), torch.as_tensor(Y + 1))
    with pytest.raises(ValueError, match=r"^preds = 2 classes: expected 3"):
        metric.update(torch.as_tensor(P[:, :2] / P[:, :2].sum(1, keepdims=True)), torch.as_tensor(Y.clip(0, 1)))


def test_a_batch_stays_as_it_was_where_its_tensors_are_filled_anew() -> None:
    metric, usual = (ProperCalibrationError(**QUICK) for _ in range(2))
    p, y, w = torch.empty(30, 3, dtype=torch.float64), torch.empty(30, dtype=torch.int64), torch.empty(30)
    w = w.double()
    for rows in torch.arange(90).split(30):
        p.copy_(torch.as_tensor(P)[rows]), y.copy_(torch.as_tensor(Y)[rows]), w.copy_(rows + 1.0)
        metric.update(p, y, w)
        usual.update(torch.as_tensor(P)[rows], torch.as_tensor(Y)[rows], rows + 1.0)
    assert float(metric.compute()) == float(usual.compute())


@pytest.mark.parametrize(
    "other", [{"labels": [2, 1, 0]}, {"generator": "brier"}, {"n_folds": 4}, {"from_logits": True}, {"weighted": True}]
)
def test_a_stream_takes_states_of_its_own_settings_alone(other: dict[str, Any]) -> None:
    mine, its = StreamingCalibrationError(3), StreamingCalibrationError(3, **other)
    with pytest.raises(ValueError, match="incoming_state = that of a StreamingCalibrationError with other settings"):
        mine.merge_state(its)
    with pytest.raises(ValueError, match="incoming_state"):
        mine.merge_state(its.metric_state)


def saved(metric: Any) -> dict[str, Any]:
    metric.persistent(True)
    metric.update(torch.as_tensor(P[:200]), torch.as_tensor(Y[:200]))
    state: dict[str, Any] = metric.state_dict()
    return state


@pytest.mark.parametrize("other", [{"notion": "top-label"}, {"labels": [2, 0, 1]}, {"n_folds": 3}, {"generator": "brier"}])
def test_a_stream_loads_states_of_its_own_settings_alone(other: dict[str, Any]) -> None:
    state, mine = saved(StreamingCalibrationError(3)), StreamingCalibrationError(3, **other)
    with pytest.raises(ValueError, match="state_dict = that of a StreamingCalibrationError with other settings"):
        mine.load_state_dict(state)
    assert mine._n_rows() == 0
    with pytest.raises(ValueError, match="the same classes"):
        StreamingCalibrationError(4).load_state_dict(state)
    right, again = StreamingCalibrationError(3), StreamingCalibrationError(3)
    again.load_state_dict(state)
    right.update(torch.as_tensor(P[:200]), torch.as_tensor(Y[:200]))
    for metric in (right, again):
        metric.update(torch.as_tensor(P[200:]), torch.as_tensor(Y[200:]))
    assert float(again.compute()) == float(right.compute())


def test_rows_that_were_saved_are_read_as_they_were() -> None:
    state = saved(ProperCalibrationError(**QUICK, labels=[0, 1, 2]))
    for other in ({}, {"labels": [2, 0, 1]}, {"labels": [0, 1, 2], "notion": "classwise"}):
        with pytest.raises(ValueError, match="state_dict = that of a ProperCalibrationError with other settings"):
            torch.nn.ModuleList([ProperCalibrationError(**QUICK, **other)]).load_state_dict({f"0.{name}": x for name, x in state.items()})
    again = ProperCalibrationError(**QUICK, labels=[0, 1, 2])
    again.load_state_dict(state)
    again.update(torch.as_tensor(P[200:]), torch.as_tensor(Y[200:]))
    assert float(again.compute()) == pytest.approx(decompose(Y, P, **QUICK).calibration_error, rel=1e-9)


def test_rows_of_other_columns_are_not_merged() -> None:
    one, three = (ProperCalibrationError(**QUICK) for _ in range(2))
    one.update(torch.as_tensor(P[:, 1]), torch.as_tensor(Y == 1))
    three.update(torch.as_tensor(P), torch.as_tensor(Y))
    for states in (one, one.metric_state):
        with pytest.raises(ValueError, match=r"preds = rows of shape \(1,\): expected \(3,\), as in batches before"):
            three.merge_state(states)
    assert three._n_rows() == N


def test_states_of_one_reading_are_put_together() -> None:
    p, y = torch.as_tensor(P), torch.as_tensor(Y)
    settings: dict[str, Any] = QUICK | {"labels": np.array([0, 1, 2])}
    whole, first, second = (ProperCalibrationError(**settings) for _ in range(3))
    whole.update(p[:90], y[:90])
    first.update(p[:40], y[:40])
    second.update(p[40:90], y[40:90])
    first.merge_state(second)
    assert float(first.compute()) == pytest.approx(float(whole.compute()), rel=1e-12)
    with pytest.raises(ValueError, match="with other settings"):
        whole.merge_state(ProperCalibrationError(**{**settings, "labels": [2, 1, 0]}))


def test_threads_that_update_one_metric_keep_rows_together() -> None:
    metric, whole = (ProperCalibrationError(**QUICK) for _ in range(2))
    p, y = torch.as_tensor(P), torch.as_tensor(Y)
    whole.update(p, y)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda rows: metric.update(p[rows], y[rows]), torch.arange(N).split(3)))
    kept = {tuple(row): int(label) for row, label in zip(p.tolist(), y, strict=True)}
    rows = metric._rows()
    assert [kept[tuple(row)] for row in rows.preds.tolist()] == rows.target.tolist()
    assert float(metric.compute()) == pytest.approx(float(whole.compute()), rel=1e-9)


def test_threads_that_update_one_stream_lose_no_row() -> None:
    metric, whole = (StreamingCalibrationError(3) for _ in range(2))
    p, y = torch.as_tensor(P), torch.as_tensor(Y)
    parts = torch.arange(N).split(10)
    for rows in parts:
        whole.update(p[rows], y[rows])
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda rows: metric.update(p[rows], y[rows]), parts))
    assert int(metric.rows[0]) == N
    assert float(metric.compute()) == pytest.approx(float(whole.compute()), rel=1e-9)


@pytest.mark.parametrize("make", [lambda: ProperCalibrationError(**QUICK), lambda: StreamingCalibrationError(3)], ids=["rows", "sums"])
@pytest.mark.parametrize("copied", [lambda metric: metric, copy.deepcopy, lambda metric: metric.clone(), lambda metric: pickle.loads(pickle.dumps(metric))], ids=["itself", "copy", "clone", "pickle"])  # noqa: S301
def test_metrics_are_merged_once(make: Any, copied: Any) -> None:
    p, y = torch.as_tensor(P), torch.as_tensor(Y)
    whole, first, second = (make() for _ in range(3))
    whole.update(p, y)
    first(p[:100], y[:100])
    second.update(p[100:200], y[100:200])
    first.merge_state(second)
    # A value for each batch resets the metric on its way.
    first(p[200:], y[200:])
    for other in (copied(second), copied(first)):
        for one in (first, second):
            with pytest.raises(ValueError, match=r"incoming_state = a metric with rows that this one holds already: .*merge each metric once"):
                one.merge_state(other)
    assert first._n_rows() == N
    assert float(first.decomposition().risk) == pytest.approx(float(whole.decomposition().risk), rel=1e-9)
    second.reset()
    second.update(p[:7], y[:7])
    first.merge_state(second)
    assert first._n_rows() == N + 7


@pytest.mark.parametrize("make", [lambda: ProperCalibrationError(**QUICK), lambda: Refinement(**QUICK), lambda: StreamingCalibrationError(3)], ids=["rows", "refinement", "sums"])
@pytest.mark.parametrize("how", ["merge_state", "merge_state of a dict", "load_state_dict"])
def test_what_was_computed_before_other_states_came_is_forgotten(make: Any, how: str) -> None:
    p, y = torch.as_tensor(P), torch.as_tensor(Y)
    first, second, whole = (make() for _ in range(3))
    for metric in (first, second, whole):
        metric.persistent(True)
    first.update(p[:150], y[:150])
    second.update(p[150:], y[150:])
    whole.update(p, y)
    assert first.decomposition().n_samples == 150
    first.compute()
    if how == "load_state_dict":
        first.load_state_dict(whole.state_dict())
    else:
        first.merge_state(second if how == "merge_state" else second.metric_state)
    found = first.compute()
    result = first.decomposition()
    assert result.n_samples == N
    assert float(found) == pytest.approx(float(getattr(result, first.term)), rel=1e-6)
    assert float(result.risk) == pytest.approx(float(whole.decomposition().risk), rel=1e-9)


def test_predictions_of_another_type_are_computed_anew() -> None:
    metric = ProperCalibrationError(**QUICK)
    metric.update(torch.as_tensor(P), torch.as_tensor(Y))
    before = metric.compute()
    metric.set_dtype(torch.float16)
    assert metric.compute().dtype == torch.float32 != before.dtype


def test_a_list_of_labels_that_is_changed_later_says_nothing() -> None:
    labels = [0, 1, 2]
    metric = ProperCalibrationError(**QUICK, labels=labels)
    labels.reverse()
    metric.update(torch.as_tensor(P), torch.as_tensor(Y))
    assert float(metric.compute()) == pytest.approx(decompose(Y, P, **QUICK).calibration_error, rel=1e-9)
