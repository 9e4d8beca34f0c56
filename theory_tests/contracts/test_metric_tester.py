"""torchmetrics' own checker of metrics, from a checkout of it that TORCHMETRICS_CHECKOUT names.

It is not in the wheel: ``git clone --branch v1.9.0 https://github.com/Lightning-AI/torchmetrics``.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from propercal.simulation import TemperatureScaledSimplex
from theory_tests.contracts.foreign_metrics import N_PROCESSES, join, of_batches, of_list, prepare

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

TESTS = Path(os.environ.get("TORCHMETRICS_CHECKOUT", "/nowhere")) / "tests"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not TESTS.is_dir(), reason="TORCHMETRICS_CHECKOUT names no checkout of torchmetrics"),
    # What torch and torchmetrics say of their own code, and we of batches of few rows or of two classes alone.
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:This property will be removed in 2.0.0:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.* rows that count. the estimate needs:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* no 0. read as numbers of columns:UserWarning"),
]

QUICK: dict[str, Any] = {"method": "risk", "bandwidth": 0.1}
#: Two batches for each process.
SHAPE = 4, 60
CASES = {
    "default": {},
    "classwise-brier": {"notion": "classwise", "generator": "brier", **QUICK},
    "top-label": {"notion": "top-label", "method": "direct", "bandwidth": 0.1},
    "logits": {"from_logits": True, **QUICK},
    "ignored": {"ignore_index": 0, **QUICK},
}


@pytest.fixture(scope="module")
def tester(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The checker, and two processes that have met."""
    prepare(str(TESTS))
    with warnings.catch_warnings(action="ignore"):
        checker = importlib.import_module("unittests._helpers.testers").MetricTester()
    place = tmp_path_factory.mktemp("gloo") / "meet"
    with multiprocessing.get_context("spawn").Pool(N_PROCESSES, prepare, (str(TESTS),)) as pool:
        pool.starmap(join, [(rank, str(place)) for rank in range(N_PROCESSES)])
        pytest.pool = pool  # type: ignore[attr-defined]
        yield checker
        del pytest.pool  # type: ignore[attr-defined]


def data(case: str, k: int = 3) -> tuple[Any, Any]:
    n = SHAPE[0] * SHAPE[1]
    y, p, _ = TemperatureScaledSimplex(k).sample(n, random_state=1)
    preds, target = torch.as_tensor(p), torch.as_tensor(y)
    if k == 2:
        preds = preds[:, 1]
    if "logits" in case:
        preds = preds.log() + 2
    return preds.reshape(*SHAPE, *preds.shape[1:]), target.reshape(SHAPE)


def metric_of(name: str) -> Any:
    return getattr(importlib.import_module("propercal.torchmetrics"), name)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("ddp", [False, True])
@pytest.mark.parametrize("name", ["ProperCalibrationError", "Refinement"])
def test_class(tester: Any, name: str, ddp: bool, case: str) -> None:
    preds, target = data(case)
    for on_step in (False, True):
        tester.run_class_metric_test(
            ddp=ddp,
            preds=preds,
            target=target,
            metric_class=metric_of(name),
            reference_metric=of_list(metric_of(name).term, **CASES[case]),
            metric_args=CASES[case],
            dist_sync_on_step=on_step,
        )


@pytest.mark.parametrize("ddp", [False, True])
def test_weights_and_two_classes(tester: Any, ddp: bool) -> None:
    preds, target = data("", k=2)
    tester.run_class_metric_test(
        ddp=ddp,
        preds=preds,
        target=target,
        metric_class=metric_of("Refinement"),
        reference_metric=of_list("refinement", **QUICK),
        metric_args=QUICK,
        fragment_kwargs=True,
        sample_weight=torch.linspace(0, 2, SHAPE[0] * SHAPE[1], dtype=torch.float64).reshape(SHAPE),
    )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("name", "function"), [("ProperCalibrationError", "proper_calibration_error"), ("Refinement", "refinement")])
def test_function(tester: Any, name: str, function: str, case: str) -> None:
    preds, target = data(case)
    tester.run_functional_metric_test(
        preds=preds,
        target=target,
        metric_functional=metric_of(function),
        reference_metric=of_list(metric_of(name).term, **CASES[case]),
        metric_args=CASES[case],
    )


STREAM: dict[str, Any] = {"n_classes": 3, "notion": "top-label"}


@pytest.mark.parametrize("ddp", [False, True])
def test_stream(tester: Any, ddp: bool) -> None:
    preds, target = data("")
    tester.run_class_metric_test(
        ddp=ddp,
        preds=preds,
        target=target,
        metric_class=metric_of("StreamingCalibrationError"),
        reference_metric=of_batches(SHAPE[1], **STREAM),
        metric_args=STREAM,
        atol=1e-6,
    )


@pytest.mark.parametrize("dtype", ["half", "double"])
@pytest.mark.parametrize(("name", "function", "options"), [
    ("ProperCalibrationError", "proper_calibration_error", {}),
    ("Refinement", "refinement", {"from_logits": True, **QUICK}),
    ("StreamingCalibrationError", None, {"n_classes": 3}),
])
def test_precision(tester: Any, name: str, function: str | None, options: dict[str, Any], dtype: str) -> None:
    preds, target = data("logits" if options.get("from_logits") else "")
    tester.run_precision_test_cpu(
        preds=preds,
        target=target,
        metric_module=metric_of(name),
        metric_functional=None if function is None else metric_of(function),
        metric_args=options,
        dtype=getattr(torch, dtype),
    )


@pytest.mark.parametrize(("name", "function", "options"), [
    ("ProperCalibrationError", "proper_calibration_error", QUICK),
    ("Refinement", "refinement", {}),
    ("StreamingCalibrationError", None, {"n_classes": 3}),
])
def test_differentiability(tester: Any, name: str, function: str | None, options: dict[str, Any]) -> None:
    preds, target = data("")
    tester.run_differentiability_test(
        preds=preds,
        target=target,
        metric_module=metric_of(name),
        metric_functional=None if function is None else metric_of(function),
        metric_args=options,
    )
