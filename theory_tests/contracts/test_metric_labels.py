"""Labels of metrics of torchmetrics mean what they mean to decompose, or are refused as there."""

from __future__ import annotations

from typing import Any

import pytest

import propercal
from propercal.simulation import TemperatureScaledSimplex

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

from propercal.torchmetrics import ProperCalibrationError, StreamingCalibrationError  # noqa: E402

QUICK: dict[str, Any] = {"method": "risk", "bandwidth": 0.1}
Y, P, _ = TemperatureScaledSimplex(3).sample(90, random_state=0)
TARGET, PREDS = torch.as_tensor(Y), torch.as_tensor(P)


def made(kind: str, **more: Any) -> Any:
    return StreamingCalibrationError(3, **more) if kind == "sums" else ProperCalibrationError(**QUICK, **more)


@pytest.mark.parametrize("kind", ["rows", "sums"])
@pytest.mark.parametrize("ignored", [True, False])
def test_a_boolean_is_no_number_of_a_class_to_ignore(kind: str, ignored: bool) -> None:
    message = f"ignore_index = {ignored}: expected None, or a label of (target|y_true), which are no booleans"
    with pytest.raises(ValueError, match=message):
        made(kind, ignore_index=ignored).update(PREDS, TARGET)
    with pytest.raises(ValueError, match=message):
        propercal.decompose(Y, P, ignore_index=ignored, **QUICK)


def test_booleans_that_are_ignored() -> None:
    metric = ProperCalibrationError(**QUICK, ignore_index=True)
    metric.update(PREDS[:, 0], TARGET == 0)
    with pytest.raises(ValueError, match="ignore_index = True"):
        ProperCalibrationError(**QUICK, ignore_index=True).update(PREDS[:, 0], TARGET)
    expected = propercal.calibration_error(Y == 0, P[:, 0], ignore_index=True, **QUICK)
    assert float(metric.compute()) == pytest.approx(float(expected), rel=1e-9)


def test_a_number_and_its_digits_are_the_same_label_to_ignore() -> None:
    found = [made("rows", ignore_index=each) for each in (2, "2")]
    for metric in found:
        metric.update(PREDS, TARGET)
    assert float(found[0].compute()) == float(found[1].compute())
    metric, usual = made("rows", ignore_index="none"), made("rows")
    metric.update(PREDS, TARGET)
    usual.update(PREDS, TARGET)
    assert float(metric.compute()) == float(usual.compute())


@pytest.mark.parametrize("kind", ["rows", "sums"])
def test_booleans_do_not_tell_which_of_three_classes_occurred(kind: str) -> None:
    with pytest.raises(ValueError, match="target = booleans: expected which of the 3 columns of preds occurred"):
        made(kind).update(PREDS, PREDS.argmax(1) == TARGET)


@pytest.mark.parametrize(
    ("kind", "ignored", "label"),
    [(torch.uint8, -100, 156), (torch.int8, 255, -1), (torch.float16, 2049, 2048), (torch.int64, 2**64, 0)],
)
def test_a_label_to_ignore_is_compared_as_a_number(kind: Any, ignored: int, label: int) -> None:
    reader = made("rows", ignore_index=ignored)._reader
    assert not reader._ignored(torch.tensor([label, 7], dtype=kind)).any()
    assert made("rows", ignore_index=7)._reader._ignored(torch.tensor([label, 7], dtype=kind)).tolist() == [False, True]
