"""Metrics of torchmetrics: the numbers of decompose, however rows come and whoever has them."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import propercal
from propercal.methods import Debiased, Risk
from propercal.simulation import TemperatureScaledSimplex

torch = pytest.importorskip("torch")
torchmetrics = pytest.importorskip("torchmetrics")

from propercal.torchmetrics import (  # noqa: E402
    ProperCalibrationError,
    Refinement,
    StreamingCalibrationError,
    proper_calibration_error,
    refinement,
)

ROOT = Path(__file__).resolve().parents[2]
N = 300
#: What takes no time.
QUICK: dict[str, Any] = {"method": "risk", "bandwidth": 0.1}


def rows(n: int = N, k: int = 3, seed: int = 0) -> tuple[Any, Any]:
    y, p, _ = TemperatureScaledSimplex(k).sample(n, random_state=seed)
    return torch.as_tensor(p), torch.as_tensor(y)


def fed(metric: Any, preds: Any, target: Any, size: int = 70, **more: Any) -> Any:
    for at in torch.arange(len(preds)).split(size):
        metric.update(preds[at], target[at], **{name: each[at] for name, each in more.items()})
    return metric


@pytest.mark.parametrize("options", [
    {"kernel": None},
    {"generator": "brier", "notion": "top-label", "kernel": None},
    {"notion": "classwise", "method": "risk", "bandwidth": 0.05},
    {"method": Debiased(n_folds=3, kernel=None), "generator": "spherical"},
], ids=str)
def test_all_terms_are_those_of_decompose(options: dict[str, Any]) -> None:
    preds, target = rows()
    expected = propercal.decompose(target.numpy(), preds.numpy(), **options)
    metrics = ProperCalibrationError(**options), Refinement(**options)
    for metric in metrics:
        found = fed(metric, preds, target)
        assert float(found.compute()) == pytest.approx(getattr(expected, metric.term), abs=1e-12)
        for term in ("risk", "calibration_error", "refinement", "sharpness", "uncertainty"):
            assert float(getattr(found.decomposition(), term)) == pytest.approx(getattr(expected, term), abs=1e-12)
        if found.method.corrects_bias:
            assert found.decomposition().interval("refinement") == pytest.approx(expected.interval("refinement"))


def test_functions_take_predictions_first() -> None:
    preds, target = rows()
    found = proper_calibration_error(preds, target, **QUICK)
    assert float(found) == pytest.approx(propercal.calibration_error(target, preds, **QUICK).item())
    weight = torch.linspace(0, 2, N)
    expected = propercal.refinement(target, preds, sample_weight=weight, **QUICK)
    assert float(refinement(preds, target, sample_weight=weight, **QUICK)) == pytest.approx(expected.item())


def test_the_metric_on_a_batch_is_that_of_the_batch() -> None:
    preds, target = rows()
    metric = Refinement(**QUICK)
    batches = [metric(preds[at], target[at]) for at in torch.arange(N).split(100)]
    expected = [propercal.refinement(target[at], preds[at], **QUICK) for at in torch.arange(N).split(100)]
    assert torch.allclose(torch.stack(batches), torch.stack(expected))
    assert torch.allclose(metric.compute(), propercal.refinement(target, preds, **QUICK))


@pytest.mark.parametrize("make", [
    partial(ProperCalibrationError, **QUICK), partial(Refinement, **QUICK), partial(StreamingCalibrationError, 3, notion="top-label", kernel=None),
], ids=["error", "refinement", "stream"])
def test_copies_and_scripts(make: Callable[[], Any]) -> None:
    preds, target = rows()
    metric = fed(make(), preds, target)
    value, states = metric.compute(), metric.state_dict()
    assert value.shape == ()
    assert not value.requires_grad
    assert states == {}
    assert hash(metric)
    for other in (metric.clone(), copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):  # noqa: S301
        assert other is not metric
        assert torch.equal(other.compute(), value)
        assert float(other.decomposition().calibration_error) == float(metric.decomposition().calibration_error)
        assert other.update(preds[:30], target[:30]) is None
        assert not torch.equal(other.compute(), value)
    with warnings.catch_warnings(action="ignore"):
        torch.jit.script(metric)
    metric.persistent(mode=True)
    saved = metric.state_dict()
    again = make()
    again.persistent(mode=True)
    again.load_state_dict(saved)
    again._update_count = 1
    assert torch.equal(again.compute(), value)
    metric.reset()
    assert torch.equal(fed(metric, preds, target).compute(), value)


def test_metrics_of_torchmetrics_can_be_made_of_them() -> None:
    preds, target = rows()
    metric = fed(ProperCalibrationError(**QUICK) + Refinement(**QUICK), preds, target)
    assert torch.allclose(metric.compute(), propercal.decompose(target, preds, **QUICK).risk)
    pytest.importorskip("matplotlib").use("Agg")
    figure, axis = fed(Refinement(**QUICK), preds, target).plot()
    assert axis.figure is figure
    sys.modules["matplotlib.pyplot"].close(figure)


def test_a_collection_shares_rows_that_are_read_alike() -> None:
    preds, target = rows()
    collection = torchmetrics.MetricCollection({
        "error": ProperCalibrationError(**QUICK),
        "refinement": Refinement(generator="brier", **QUICK),
        "others": ProperCalibrationError(ignore_index=2, **QUICK),
        "stream": StreamingCalibrationError(3, notion="top-label", kernel=None),
    })
    first = target.clone()
    # In the first batch nothing tells those that ignore a label from those that do not.
    first[:70] = first[:70] % 2
    fed(collection, preds, first)
    groups = sorted(sorted(each) for each in collection.compute_groups.values())
    assert groups == [["error", "refinement"], ["others"], ["stream"]]
    found = collection.compute()
    assert float(found["error"]) == pytest.approx(propercal.calibration_error(first, preds, **QUICK).item())
    assert float(found["refinement"]) == pytest.approx(propercal.refinement(first, preds, generator="brier", **QUICK).item())
    assert float(found["others"]) == pytest.approx(propercal.calibration_error(first, preds, ignore_index=2, **QUICK).item())


@pytest.mark.parametrize("make", [ProperCalibrationError, lambda: StreamingCalibrationError(3, notion="top-label")], ids=["listed", "stream"])
def test_too_few_rows_are_nan_and_say_so(make: Callable[[], Any]) -> None:
    preds, target = rows()
    metric = make()
    with pytest.warns(UserWarning, match="7 rows that count: the estimate needs 20 or more"):
        assert torch.isnan(metric(preds[:7], target[:7]))
    with pytest.warns(UserWarning, match="7 rows"), pytest.raises(ValueError, match="too few rows"):
        metric.decomposition()
    metric.update(preds[7:7], target[7:7])
    metric.update(preds[7:60], target[7:60])
    assert torch.isfinite(metric.compute())
    with pytest.warns(UserWarning, match="1 row that counts|1 row"):
        assert torch.isnan(Refinement(**QUICK)(preds[:1], target[:1]))


def test_rows_that_do_not_count() -> None:
    preds, target = rows()
    marked, void = target.clone(), torch.arange(N) % 5 == 0
    marked[void] = -100
    bad = preds.clone()
    bad[void] = torch.nan
    expected = propercal.calibration_error(target[~void], preds[~void], **QUICK)
    metric = fed(ProperCalibrationError(ignore_index=-100, **QUICK), bad, marked)
    assert float(metric.compute()) == pytest.approx(float(expected))
    assert len(metric.decomposition().contributions().sample) == 240
    weight = torch.where(void, 0.0, 3.0)
    assert float(fed(ProperCalibrationError(**QUICK), bad, target, sample_weight=weight).compute()) == pytest.approx(float(expected))
    metric.update(preds[:5], torch.full((5,), -100))
    assert float(metric.compute()) == pytest.approx(float(expected))
    numbers = marked.double()
    numbers[void] = torch.nan
    assert float(fed(ProperCalibrationError(ignore_index=float("nan"), **QUICK), bad, numbers).compute()) == pytest.approx(float(expected))


def test_weights_of_some_batches_are_in_units_of_rows() -> None:
    preds, target = rows()
    metric = Refinement(generator="brier", **QUICK)
    metric.update(preds[:100], target[:100], torch.full((100,), 2.5))
    with pytest.warns(UserWarning, match="which count as rows of weight 1"):
        metric.update(preds[100:], target[100:])
    weight = torch.where(torch.arange(N) < 100, 2.5, 1.0)
    assert float(metric.compute()) == pytest.approx(propercal.refinement(target, preds, sample_weight=weight, generator="brier", **QUICK).item())


def test_shapes() -> None:
    preds, target = rows()
    options = {"notion": "classwise", **QUICK}
    expected = propercal.calibration_error(target, preds, **options).item()

    def value(p: Any, y: Any, **more: Any) -> Any:
        return pytest.approx(float(fed(ProperCalibrationError(**options, **more), p, y).compute()))

    assert expected == value(preds, target[:, None])
    assert expected == value(preds, torch.nn.functional.one_hot(target, 3))
    assert expected == value(preds.reshape(60, 5, 3).movedim(-1, 1), target.reshape(60, 5))
    assert expected == value(preds.reshape(30, 2, 5, 3).movedim(-1, 1), target.reshape(30, 2, 5).double())
    assert expected == value(preds.log() + 3, target, from_logits=True)
    assert expected == value(preds, target + 1, labels=[1, 2, 3])
    assert expected == value(preds, target + 1)
    one = preds[:, 1] / (1 + preds[:, 0])
    two = propercal.calibration_error(target == 1, one, **options).item()
    for p, y in ((one, target == 1), (one[:, None], (target == 1)[:, None]), (torch.stack([1 - one, one], 1), (target == 1).int())):
        assert two == value(p, y)
    assert two == value(one, 2 * (target == 1).int() - 1)
    many = torch.stack([target == 0, target <= 1, target == 2], 1)
    assert propercal.calibration_error(many, preds, **options).item() == value(preds, many)


@pytest.mark.parametrize(("kind", "error"), [("float64", 1e-12), ("float32", 1e-5), ("float16", 2e-2), ("bfloat16", 2e-2)])
def test_types(kind: str, error: float) -> None:
    preds, target = rows()
    logits = preds.log()
    given = logits.to(getattr(torch, kind))
    exact = propercal.refinement(target, logits, from_logits=True, **QUICK).item()
    for metric in (Refinement(from_logits=True, **QUICK), Refinement(from_logits=True, **QUICK).half()):
        found = fed(metric, given, target).compute()
        assert found.dtype == (torch.float64 if kind == "float64" else torch.float32)
        assert float(found) == pytest.approx(exact, rel=error)


P, Y = rows(30)


@pytest.mark.parametrize(("preds", "target", "message"), [
    (P.numpy(), Y, "preds = a ndarray: expected a tensor of torch"),
    (P, Y.tolist(), "target = a list: expected a tensor"),
    (P, Y[:20], r"target = a tensor of shape \(20,\) beside preds of shape \(30, 3\)"),
    (P[:, 0], torch.stack([Y, Y], 1), "target = a tensor of shape"),
    (P[0, 0], Y[0], "target = a tensor of shape"),
    (P.reshape(5, 6, 3), torch.ones(5, 6, 3), "flatten"),
    (P * 3, Y, "preds ="),
    (P.log(), Y, "from_logits"),
    (torch.where(P[4, 1] == P, torch.nan, P), Y, "preds = .*row 4"),
    (P, torch.where(Y[3] == Y, 0.5, Y.double()), "target = 0.5 at rows"),
    (P.to("meta"), Y, "preds = a tensor of layout torch.strided on meta: expected a dense tensor with values"),
    (P + 0j, Y, "real numbers"),
    (P, torch.full((30, 3), 0.3), "soft labels"),
])
def test_bad_batches_are_refused_at_once(preds: Any, target: Any, message: str) -> None:
    for metric in (ProperCalibrationError(), StreamingCalibrationError(3)):
        with pytest.raises(ValueError, match=message):
            metric.update(preds, target)
        assert metric._n_rows() == 0


@pytest.mark.parametrize(("options", "message"), [
    ({"num_classes": 3}, "num_classes = 3: expected no such argument"),
    ({"task": "multiclass"}, "task"),
    ({"n_bins": 15}, "bins"),
    ({"norm": "l2"}, "brier"),
    ({"generator": "lgo"}, "generator"),
    ({"notion": "classwize"}, "classwise"),
    ({"method": "riks"}, "risk"),
    ({"bandwith": 0.1}, "bandwith"),
    ({"from_logits": 1}, "from_logits"),
    ({"confidence_level": 95}, "confidence_level"),
    ({"ignore_index": [1]}, "ignore_index"),
    ({"method": "risk", "n_folds": 10}, "n_folds"),
])
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    for make in (ProperCalibrationError, lambda **more: StreamingCalibrationError(3, **more)):
        with pytest.raises(ValueError, match=message):
            make(**options)


def test_what_batches_have_to_share() -> None:
    metric = ProperCalibrationError()
    metric.update(P, Y)
    with pytest.raises(ValueError, match=r"preds = rows of shape \(2,\): expected \(3,\)"):
        metric.update(P[:, :2] / P[:, :2].sum(1, keepdim=True), Y.clip(max=1))
    with pytest.raises(ValueError, match="target = rows of shape"):
        metric.update(P, torch.nn.functional.one_hot(Y, 3))
    with pytest.raises(ValueError, match=r"weight.*at rows? 0"):
        metric.update(P, Y, torch.full((30,), -1.0))
    with pytest.raises(ValueError, match="ignore_index"):
        ProperCalibrationError(ignore_index=-1).update(P, torch.nn.functional.one_hot(Y, 3))
    metric = ProperCalibrationError()
    metric.update(P, 2 * Y)
    with pytest.raises(ValueError, match="target = 4 at rows"):
        metric.compute()


class Threads:
    """Processes that gather from each other, as threads."""

    def __init__(self, n: int) -> None:
        self.n, self.local = n, threading.local()
        self.barrier, self.given = threading.Barrier(n, timeout=60), [None] * n

    def gather(self, tensor: Any, group: Any = None) -> list[Any]:  # noqa: ARG002
        self.given[self.local.rank] = tensor
        self.barrier.wait()
        found = list(self.given)
        self.barrier.wait()
        assert len({(each.ndim, each.dtype) for each in found}) == 1, "gathered as bytes"  # type: ignore[attr-defined]
        return found

    def run(self, work: Callable[[int], Any]) -> list[Any]:
        results: list[Any] = [None] * self.n

        def one(rank: int) -> None:
            self.local.rank = rank
            try:
                results[rank] = work(rank)
            except ValueError as error:
                results[rank] = error

        threads = [threading.Thread(target=one, args=(rank,)) for rank in range(self.n)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return results

    def metric(self, make: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        return make(*arguments, **options, dist_sync_fn=self.gather, distributed_available_fn=lambda: True)


PARTS = ([0, 170, 300], [0, 0, 300], [0, 300, 300], [0, 120, 120, 300])


@pytest.mark.parametrize("ends", PARTS, ids=str)
@pytest.mark.parametrize("kind", ["listed", "marked", "stream"])
def test_processes_with_any_number_of_rows(ends: list[int], kind: str) -> None:
    preds, target = rows()
    given = torch.nn.functional.one_hot(target, 3) if kind == "marked" else target
    world = Threads(len(ends) - 1)

    def new(**more: Any) -> Any:
        if kind == "stream":
            return StreamingCalibrationError(3, notion="top-label", kernel=None, **more)
        return ProperCalibrationError(**QUICK, **more)

    def work(rank: int) -> Any:
        metric = world.metric(new)
        at = slice(ends[rank], ends[rank + 1])
        if ends[rank] < ends[rank + 1]:
            metric.update(preds[at], given[at])
        else:
            metric._update_count = 1
        value = metric.compute()
        assert metric._n_rows() == ends[rank + 1] - ends[rank]
        return value, metric.decomposition().n_samples

    found = world.run(work)
    assert len({(float(value), n) for value, n in found}) == 1
    value, n = found[0]
    assert n == N
    if kind == "stream":
        alone = new()
        for low, high in pairwise(ends):
            alone.update(preds[low:high], target[low:high])
        assert float(value) == pytest.approx(float(alone.compute()), rel=1e-6)
    else:
        assert float(value) == pytest.approx(propercal.calibration_error(target, preds, **QUICK).item(), rel=1e-9)


def test_processes_that_disagree_all_say_so() -> None:
    world = Threads(2)

    def work(rank: int) -> Any:
        metric = world.metric(ProperCalibrationError)
        metric.update(P, Y) if rank else metric.update(P[:, 0], Y == 0)
        return metric.compute()

    found = world.run(work)
    assert all(isinstance(each, ValueError) and "in processes" in str(each) for each in found)


def test_processes_of_different_types_and_none_at_all() -> None:
    preds, target = rows()
    world = Threads(3)
    kinds = [torch.float64, torch.float32, torch.float16]

    def work(rank: int) -> Any:
        metric = world.metric(Refinement, from_logits=True, **QUICK)
        metric.update(preds[rank::3].log().to(kinds[rank]), target[rank::3])
        return metric.compute()

    first, *others = world.run(work)
    assert first.dtype == torch.float64
    assert all(torch.equal(first, each) for each in others)

    def nothing(rank: int) -> Any:  # noqa: ARG001
        metric = world.metric(ProperCalibrationError)
        metric._update_count = 1
        return metric.compute()

    with warnings.catch_warnings(action="ignore"):
        assert all(torch.isnan(each) for each in world.run(nothing))


GLOO = """
import sys, torch, warnings
from propercal.torchmetrics import ProperCalibrationError, StreamingCalibrationError
rank, place = int(sys.argv[1]), sys.argv[2]
torch.distributed.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=2)
data = torch.load(place + ".pt")
made = [ProperCalibrationError(kernel=None), StreamingCalibrationError(3)]
for metric in made:
    if rank:
        metric.update(data["preds"][:130], data["target"][:130])
        metric.update(data["preds"][130:], data["target"][130:])
    else:
        metric.update(data["preds"][:0], data["target"][:0])
print(*(float(each.compute()) for each in made))
"""


@pytest.mark.slow
def test_two_processes_over_gloo(tmp_path: Path) -> None:
    preds, target = rows()
    place = tmp_path / "meet"
    torch.save({"preds": preds, "target": target}, f"{place}.pt")
    started = [
        subprocess.Popen([sys.executable, "-c", GLOO, str(rank), str(place)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for rank in range(2)
    ]
    found = [[float(each) for each in one.communicate(timeout=120)[0].split()] for one in started]
    assert found[0] == found[1]
    assert found[0][0] == pytest.approx(propercal.calibration_error(target, preds, kernel=None).item(), rel=1e-6)


def test_nothing_is_moved_between_devices() -> None:
    metric = StreamingCalibrationError(3)
    metric._device = torch.device("meta")
    with pytest.raises(ValueError, match="preds = a tensor on cpu: expected one on meta, the device of the metric"):
        metric.update(P, Y)
    with pytest.raises(ValueError, match="sample_weight = a tensor on meta"):
        ProperCalibrationError().update(P, Y, torch.ones(30, device="meta"))


def test_what_a_published_method_has_no_sums_for() -> None:
    for options in ({"method": Risk(bandwidth=0.1)}, {"method": "direct", "bandwidth": 0.1}):
        with pytest.raises(ValueError, match="use ProperCalibrationError"):
            StreamingCalibrationError(3, **options)
    with pytest.raises(ValueError, match="notion"):
        StreamingCalibrationError(3, notion="canonical")
    with pytest.raises(ValueError, match="n_classes"):
        StreamingCalibrationError(1)
    with pytest.raises(ValueError, match="weighted=True"):
        StreamingCalibrationError(3).update(P, Y, torch.ones(30))


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [each for each in sys.modules if each.startswith("propercal.torchmetrics")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torchmetrics", None)
    yield
    monkeypatch.undo()


@pytest.mark.usefixtures("absent")
def test_an_absent_package_is_named() -> None:
    with pytest.raises(ImportError, match=r'pip install "propercal\[torchmetrics\]"'):
        __import__("propercal.torchmetrics")


def test_a_metric_needs_numpy_of_no_gradient() -> None:
    preds, target = rows(40)
    metric = Refinement(**QUICK)
    metric.update(preds.requires_grad_(), target)
    assert not metric.compute().requires_grad
    assert not metric.preds[0].requires_grad
    assert np.isfinite(float(metric.compute()))
