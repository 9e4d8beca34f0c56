"""Sums of a constant-memory metric are those of a sketch, whatever the order and place of batches.

A row adds 1 to a cell of its bin, fold and label, and its fold depends on the predictions of its batch
alone: sums over batches commute. A sketch has the same cells, so that the estimate is the same function.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import propercal
from propercal.simulation import TemperatureScaledSimplex

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

from propercal.sketch import dense  # noqa: E402
from propercal.torchmetrics import StreamingCalibrationError  # noqa: E402


def rows(n: int, k: int = 3, seed: int = 0) -> tuple[Any, Any]:
    y, p, _ = TemperatureScaledSimplex(k).sample(n, random_state=seed)
    return torch.as_tensor(p), torch.as_tensor(y)


@pytest.mark.parametrize("notion", [pytest.param("classwise", marks=pytest.mark.slow), "top-label"])
def test_one_batch_dealt_alike_is_a_sketch(notion: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "_seed", lambda _: 0)
    preds, target = rows(2500)
    sketch = propercal.CalibrationSketch(3, notion=notion, generator="brier")
    sketch.update(target, preds)
    metric = StreamingCalibrationError(3, notion=notion, generator="brier")
    metric.update(preds, target)
    expected, found = sketch.result(), metric.decomposition()
    for term in ("risk", "calibration_error", "refinement", "sharpness", "uncertainty"):
        assert getattr(found, term) == pytest.approx(getattr(expected, term), rel=1e-9)
    assert found.standard_errors == pytest.approx(dict(expected.standard_errors), rel=1e-9)
    assert metric.compute().dtype == torch.float32


@pytest.mark.parametrize("weighted", [False, True])
def test_order_and_place_of_batches_do_not_matter(weighted: bool) -> None:
    preds, target = rows(600)
    parts = list(torch.arange(600).split(90))
    make = partial(StreamingCalibrationError, 3, notion="top-label", kernel=None, weighted=weighted)

    def fed(metric: Any, order: Any) -> Any:
        for i in order:
            more = [1 + parts[i] % 3] if weighted else []
            metric.update(preds[parts[i]], target[parts[i]], *more)
        return metric

    alone = fed(make(), range(len(parts)))
    backwards = fed(make(), range(len(parts))[::-1])
    halves = fed(make(), [0, 2, 4, 6])
    halves.merge_state(fed(make(), [1, 3, 5]))
    for other in (backwards, halves):
        for name in alone._defaults:
            assert torch.allclose(getattr(other, name), getattr(alone, name), rtol=1e-12, atol=0)
        assert float(other.compute()) == pytest.approx(float(alone.compute()), rel=1e-6)
    whole = propercal.decompose(target, preds, notion="top-label", kernel=None)
    found = alone.decomposition()
    if not weighted:
        assert found.risk == pytest.approx(float(whole.risk), rel=1e-12)
        assert found.uncertainty == pytest.approx(float(whole.uncertainty), rel=1e-12)
    assert found.n_samples == 600


@pytest.mark.slow
def test_the_estimate_is_that_of_memory_within_a_part_of_its_error() -> None:
    for seed in range(5):
        preds, target = rows(6000, seed=seed)
        metric = StreamingCalibrationError(3)
        for at in torch.arange(6000).split(256):
            metric.update(preds[at], target[at])
        whole = propercal.decompose(target, preds, notion="classwise")
        error = whole.standard_errors["calibration_error"]
        assert abs(float(metric.compute()) - float(whole.calibration_error)) < 0.4 * error


def test_memory_is_the_same_for_any_number_of_rows() -> None:
    metric = StreamingCalibrationError(2, notion="canonical")
    size = [getattr(metric, name).nelement() for name in metric._defaults]
    rng = np.random.default_rng(0)
    for _ in range(3):
        p = torch.as_tensor(rng.random(5000))
        metric.update(p, (torch.rand(5000, generator=torch.Generator().manual_seed(0)) < p).int())
    assert [getattr(metric, name).nelement() for name in metric._defaults] == size
    assert sum(size) < 45_000
    assert metric._n_rows() == 15_000


def test_points_that_are_alone_in_their_bins_are_exact() -> None:
    rng = np.random.default_rng(0)
    p = rng.integers(1, 20, 800) / 20
    y = rng.random(800) < p
    metric = StreamingCalibrationError(2, notion="canonical")
    metric.update(torch.as_tensor(p), torch.as_tensor(y))
    table = metric._dense._table({name: getattr(metric, name).numpy() for name in metric._dense.empty()}, 0)
    assert table.exact
    assert len(table.keys) == 19
    assert np.allclose(1 / (1 + np.exp(-table.nodes)), np.arange(1, 20) / 20)


@pytest.mark.filterwarnings("ignore:preds is 0 or 1 in each")
def test_impossible_outcomes_and_separate_problems() -> None:
    preds, target = rows(300)
    sure = torch.nn.functional.one_hot((target + (torch.arange(300) == 7)) % 3, 3).double()
    metric = StreamingCalibrationError(3, notion="top-label")
    metric.update(sure, target)
    with pytest.warns(UserWarning, match="infinite"):
        assert metric.compute() == torch.inf
    many = torch.stack([target == 0, target <= 1, target == 2], 1)
    metric = StreamingCalibrationError(3, kernel=None)
    metric.update(preds, many)
    assert metric.decomposition().risk == pytest.approx(propercal.decompose(many, preds, notion="classwise", method="risk", bandwidth=0.1).risk.item())
    one = StreamingCalibrationError(3)
    one.update(preds, torch.nn.functional.one_hot(target, 3))
    one.merge_state(metric)
    with pytest.raises(ValueError, match="indicator matrices of both kinds"):
        one.compute()


def test_labels_that_count_from_one_are_seen() -> None:
    preds, target = rows(300)
    metric = StreamingCalibrationError(3)
    with pytest.raises(ValueError, match="3 at row"):
        metric.update(preds, target + 1)
    metric = StreamingCalibrationError(3, labels=[1, 2, 3], kernel=None)
    metric.update(preds, target + 1)
    assert torch.isfinite(metric.compute())
    metric = StreamingCalibrationError(3, kernel=None)
    keep = target < 2
    metric.update(preds[keep], target[keep] + 1)
    with pytest.warns(UserWarning, match="no 0: read as numbers of columns"):
        metric.compute()
