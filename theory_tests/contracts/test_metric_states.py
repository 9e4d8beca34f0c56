"""States of metrics in few bits, and weights of any holder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

from propercal import decompose  # noqa: E402
from propercal.simulation import TemperatureScaledSimplex  # noqa: E402
from propercal.torchmetrics import ProperCalibrationError, StreamingCalibrationError  # noqa: E402

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
    metric._computed = None
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
