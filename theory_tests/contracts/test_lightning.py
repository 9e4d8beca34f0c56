"""The callback of Lightning keeps what a loop of one's own keeps, over checkpoints and processes."""

from __future__ import annotations

import importlib
import os
import pickle
import re
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from propercal.lightning import StopAtLeastRefinement
from propercal.recalibration import TemperatureScaling
from propercal.training import LeastRefinement

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")
from sklearn.datasets import load_digits  # noqa: E402

from propercal.torchmetrics import ProperCalibrationError  # noqa: E402

# Importing Lightning takes longer than all that is tested of it.
pytestmark = [
    pytest.mark.slow,
    # What Lightning says of how torch, its own callbacks and this machine are used.
    pytest.mark.filterwarnings(r"ignore:`isinstance\(treespec, LeafSpec\)` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Be aware that when using `ckpt_path`:UserWarning"),
    pytest.mark.filterwarnings("ignore:You defined a `validation_step` but have no `val_dataloader`:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers which may be a bottleneck:UserWarning"),
    pytest.mark.filterwarnings("ignore:GPU available but not used:UserWarning"),
]

ROOT = Path(__file__).resolve().parents[2]
QUICK: dict[str, Any] = {"kernel": None, "recalibrator": TemperatureScaling()}


@pytest.fixture(params=["lightning.pytorch", "pytorch_lightning"])
def package(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param)


def digits() -> tuple[Any, Any]:
    x, y = load_digits(n_class=4, return_X_y=True)
    return torch.as_tensor(x, dtype=torch.float32) / 16, torch.as_tensor(y)


def loaders() -> tuple[Any, Any]:
    x, y = digits()
    made = torch.utils.data
    train, valid = made.TensorDataset(x[:100], y[:100]), made.TensorDataset(x[100:400], y[100:400])
    return made.DataLoader(train, 25), made.DataLoader(valid, 64)


def network(package: Any, outputs: Any = None) -> Any:
    class Network(package.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.layers = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
            self.seen: list[Any] = []

        def forward(self, x: Any) -> Any:
            return self.layers(x)

        def training_step(self, batch: Any, _: int) -> Any:
            return torch.nn.functional.cross_entropy(self(batch[0]), batch[1])

        def validation_step(self, batch: Any, _: int) -> Any:
            logits = self(batch[0])
            return {"logits": logits, "target": batch[1]} if outputs is None else outputs(logits, batch[1])

        def on_train_epoch_start(self) -> None:
            self.seen.append({name: each.clone() for name, each in self.state_dict().items()})

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), 0.02)

    return Network()


def trainer(package: Any, callback: Any, place: Path, **more: Any) -> Any:
    options = {"max_epochs": 12, "logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    return package.Trainer(**{**options, "accelerator": "cpu", "default_root_dir": place, "callbacks": [callback], **more})


def test_a_training_keeps_its_epoch_of_least_refinement(package: Any, tmp_path: Path) -> None:
    callback, model = StopAtLeastRefinement(patience=3, **QUICK), network(package)
    assert isinstance(callback, package.Callback)
    assert isinstance(callback, StopAtLeastRefinement)
    run = trainer(package, callback, tmp_path)
    run.fit(model, *loaders())
    kept = callback.kept
    found = [each["refinement"] for each in kept.history]
    assert kept.epoch == int(np.argmin(found))
    assert kept.refinement == min(found)
    assert len(found) == kept.epoch + 4 < 12 or len(found) == 12
    # What stood before the next epoch began.
    if kept.epoch + 1 < len(model.seen):
        for name, each in model.seen[kept.epoch + 1].items():
            assert torch.equal(each, model.state_dict()[name])
    x, y = digits()
    with torch.no_grad():
        logits = model(x[100:400])
    assert callback.temperature == pytest.approx(TemperatureScaling(from_logits=True).fit(logits, y[100:400]).temperature_, rel=1e-4)
    assert torch.allclose(callback.predict_proba(logits), torch.softmax(logits / callback.temperature, 1), atol=1e-6)
    assert float(run.callback_metrics["val_refinement"]) == pytest.approx(found[-1], rel=1e-5)
    assert {"val_risk", "val_calibration_error"} <= set(run.callback_metrics)


def test_going_on_from_a_checkpoint(tmp_path: Path) -> None:
    package = importlib.import_module("lightning.pytorch")
    whole, second = (StopAtLeastRefinement(patience=None, **QUICK) for _ in range(2))
    checkpoints = package.callbacks.ModelCheckpoint(tmp_path, "{epoch}", save_top_k=-1)
    one, two = network(package), network(package)
    trainer(package, whole, tmp_path, max_epochs=6, enable_checkpointing=True, callbacks=[whole, checkpoints]).fit(one, *loaders())
    trainer(package, second, tmp_path, max_epochs=6).fit(two, *loaders(), ckpt_path=tmp_path / "epoch=2.ckpt")
    assert [each["epoch"] for each in second.kept.history] == list(range(6))
    assert second.kept.epoch == whole.kept.epoch
    assert second.temperature == pytest.approx(whole.temperature, rel=1e-6)
    for term in ("risk", "refinement"):
        assert [each[term] for each in second.kept.history] == pytest.approx([each[term] for each in whole.kept.history], rel=1e-5)
    assert all(torch.allclose(each, two.state_dict()[name]) for name, each in one.state_dict().items())


def test_a_callback_begins_anew_with_another_training(tmp_path: Path) -> None:
    """As a loop over folds has it: each keeps an epoch of its own."""
    package = importlib.import_module("lightning.pytorch")
    callback, (train, valid) = StopAtLeastRefinement(patience=None, **QUICK), loaders()
    run, first = trainer(package, callback, tmp_path, max_epochs=3), network(package)
    run.fit(first, train, valid)
    # The same training goes on, of the same trainer or from a state that was loaded.
    run.fit_loop.max_epochs = 4
    run.fit(first, train, valid)
    assert [each["epoch"] for each in callback.kept.history] == [0, 1, 2, 3]
    callback.load_state_dict(callback.state_dict())
    trainer(package, callback, tmp_path, max_epochs=1).fit(first, train, valid)
    assert len(callback.kept.history) == 5
    second = network(package)
    with pytest.warns(UserWarning, match=r"forgets the 5 epochs of a training before, .* Make a callback for each"):
        trainer(package, callback, tmp_path, max_epochs=2).fit(second, train, valid)
    alone = StopAtLeastRefinement(patience=None, **QUICK)
    trainer(package, alone, tmp_path, max_epochs=2).fit(network(package), train, valid)
    assert callback.kept.history == alone.kept.history
    assert all(torch.equal(each, second.state_dict()[name]) for name, each in alone.kept.weights.items())


@pytest.mark.filterwarnings("ignore:Your `val_dataloader`'s sampler has shuffling enabled:UserWarning")
def test_validations_of_other_rows_are_said(tmp_path: Path) -> None:
    package = importlib.import_module("lightning.pytorch")
    callback, (train, valid) = StopAtLeastRefinement(patience=None, **QUICK), loaders()
    drawn = torch.utils.data.RandomSampler(valid.dataset, num_samples=100, generator=torch.Generator().manual_seed(0))
    with pytest.warns(UserWarning, match=r"of this epoch are others than those of the epoch before, 100 rows: .* that a loader draws anew"):
        trainer(package, callback, tmp_path, max_epochs=2).fit(network(package), train, torch.utils.data.DataLoader(valid.dataset, 64, sampler=drawn))


DDP = """
import sys, warnings
warnings.simplefilter("ignore")
import lightning.pytorch as package
from theory_tests.contracts.test_lightning import QUICK, StopAtLeastRefinement, loaders, network, trainer
callback, model = StopAtLeastRefinement(patience=3, **QUICK), network(package)
run = trainer(package, callback, sys.argv[1], max_epochs=3, devices=2, strategy="ddp")
run.fit(model, *loaders())
n, weight = callback.kept.result.n_samples, float(sum(each.sum() for each in model.parameters()))
with open(f"{sys.argv[1]}/{run.global_rank}.txt", "w") as file:
    print(n, callback.kept.epoch, callback.temperature, weight, [each["refinement"] for each in callback.kept.history], file=file)
"""


def test_several_callbacks_go_on_from_one_checkpoint(tmp_path: Path) -> None:
    package = pytest.importorskip("lightning.pytorch")

    def both() -> list[Any]:
        return [StopAtLeastRefinement(**QUICK), StopAtLeastRefinement(generator="brier", prefix="brier_", **QUICK)]

    first = both()
    run = trainer(package, None, tmp_path, callbacks=list(first), max_epochs=2)
    run.fit(network(package), *loaders())
    run.save_checkpoint(tmp_path / "two.ckpt")
    again = both()
    run = trainer(package, None, tmp_path, callbacks=list(again), max_epochs=3)
    run.fit(network(package), *loaders(), ckpt_path=tmp_path / "two.ckpt")
    for one, other in zip(first, again, strict=True):
        assert other.kept.history[:2] == one.kept.history
        assert len(other.kept.history) == 3
    assert again[0].kept.history[0]["refinement"] != again[1].kept.history[0]["refinement"]


def test_two_processes_keep_the_same(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(DDP, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, timeout=240, env=environment, cwd=tmp_path, capture_output=True)
    first, second = ((tmp_path / f"{rank}.txt").read_text(encoding="utf-8") for rank in range(2))
    assert first == second
    assert first.startswith("300 ")


@pytest.mark.parametrize(("options", "outputs"), [
    ({"rows": lambda outputs, batch: (outputs, batch[1])}, lambda logits, _: logits),
    ({"from_logits": False}, lambda logits, y: {"preds": logits.softmax(1), "target": y}),
    ({"ignore_index": -1}, lambda logits, y: {"logits": logits, "target": y, "loss": logits.sum()}),
    ({}, lambda logits, y: {"logits": logits, "target": y, "sample_weight": torch.ones(len(y))}),
], ids=["rows", "preds", "ignored", "weights"])
def test_what_a_validation_step_returns(options: dict[str, Any], outputs: Any, tmp_path: Path) -> None:
    package = importlib.import_module("lightning.pytorch")
    callback = StopAtLeastRefinement(**QUICK, **options)
    trainer(package, callback, tmp_path, max_epochs=2).fit(network(package, outputs), *loaders())
    plain = StopAtLeastRefinement(**QUICK)
    trainer(package, plain, tmp_path, max_epochs=2).fit(network(package), *loaders())
    assert [each["refinement"] for each in callback.kept.history] == pytest.approx([each["refinement"] for each in plain.kept.history], rel=1e-4)


@pytest.mark.parametrize(("outputs", "message"), [
    (lambda logits, _: logits, "outputs of validation_step = a Tensor: expected a dictionary"),
    (lambda logits, _: {"logits": logits}, r"a dictionary of \['logits'\]"),
    (lambda *_: None, "a NoneType"),
    (lambda logits, y: {"logits": logits[:3], "target": y}, "target = a tensor of shape"),
])
def test_other_outputs_are_refused(outputs: Any, message: str, tmp_path: Path) -> None:
    package = importlib.import_module("lightning.pytorch")
    run = trainer(package, StopAtLeastRefinement(), tmp_path)
    with pytest.raises(ValueError, match=message):
        run.fit(network(package, outputs), *loaders())


def test_what_is_passed_over(tmp_path: Path) -> None:
    package = importlib.import_module("lightning.pytorch")
    callback = StopAtLeastRefinement(**QUICK)
    model, (train, valid) = network(package), loaders()
    trainer(package, callback, tmp_path).validate(model, valid)
    trainer(package, callback, tmp_path, fast_dev_run=True).fit(model, train, valid)
    assert callback.kept.history == []
    with pytest.warns(UserWarning, match="saw no validation"):
        trainer(package, callback, tmp_path, max_epochs=1).fit(model, train)
    left = StopAtLeastRefinement(patience=1, restore=False, min_delta=10.0, **QUICK)
    trainer(package, left, tmp_path).fit(model, train, valid)
    assert left.kept.epoch == 0
    assert len(left.kept.history) == 2
    last = {name: each.clone() for name, each in model.state_dict().items()}
    assert not all(torch.equal(last[name], each) for name, each in left.kept.weights.items())


def test_copies_and_classes_of_ones_own() -> None:
    callback = StopAtLeastRefinement(patience=4, **QUICK)
    again: Any = pickle.loads(pickle.dumps(callback))  # noqa: S301
    assert again.kept.patience == 4
    assert again.state_key == "StopAtLeastRefinement"
    assert type(again) is type(callback)

    class Mine(StopAtLeastRefinement):
        pass

    assert isinstance(Mine(), importlib.import_module("lightning.pytorch").Callback)
    for options in ({"patience": 0}, {"rows": 1}, {"restore": None}, {"bandwith": 1.0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            StopAtLeastRefinement(**options)


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("propercal.lightning._PACKAGES", ("no_such_package.pytorch",))


@pytest.mark.usefixtures("absent")
def test_an_absent_package_is_named() -> None:
    with pytest.raises(ImportError, match=r'pip install "propercal\[lightning\]"'):
        StopAtLeastRefinement()


def test_importing_it_does_not_import_lightning() -> None:
    code = "import sys, propercal.lightning; print([each for each in ('torch', 'lightning', 'pytorch_lightning') if each in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_validations_without_rows() -> None:
    with warnings.catch_warnings(action="ignore"):
        callback = StopAtLeastRefinement(ignore_index=1)
    state = SimpleNamespace(fn="fit")
    run = SimpleNamespace(sanity_checking=False, fast_dev_run=False, state=state, world_size=1, current_epoch=0)
    module = torch.nn.Linear(2, 2)
    module.device = torch.device("cpu")
    callback.on_validation_epoch_start(run, module)
    callback.on_validation_batch_end(run, module, {"logits": torch.zeros(3, 2), "target": torch.ones(3).int()}, None, 0)
    with pytest.raises(ValueError, match="validation rows = none"):
        callback.on_validation_epoch_end(run, module)


def test_what_the_guide_shows_runs(tmp_path: Path) -> None:
    package: Any = importlib.import_module("lightning.pytorch")
    guide = (ROOT / "book" / "guides" / "training.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)
    imports = re.compile(r"^(?:import|from) .*\n", re.MULTILINE)
    exec("".join(line for block in blocks for line in imports.findall(block)), {})  # noqa: S102
    # What is imported is taken from here, with settings that are quick.
    loop, module, metric = (imports.sub("", block) for block in blocks)
    x, y = digits()
    plain = network(package)
    optimizer = torch.optim.Adam(plain.parameters(), 0.02)

    def train_one_epoch(model: Any) -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[:100]), y[:100]).backward()
        optimizer.step()

    class Base(package.LightningModule):  # type: ignore[misc]
        forward = type(plain).forward
        training_step = type(plain).training_step
        configure_optimizers = type(plain).configure_optimizers

        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.Linear(64, 4)

    class Shown:
        pass

    quick = {"LeastRefinement": partial(LeastRefinement, **QUICK), "StopAtLeastRefinement": partial(StopAtLeastRefinement, **QUICK)}
    known = {**quick, "torch": torch, "model": plain, "train_one_epoch": train_one_epoch, "x_valid": x[100:400], "y_valid": y[100:400]}
    known |= {"x_test": x[400:], "ProperCalibrationError": ProperCalibrationError, "self": Shown(), "logits": torch.randn(300, 4), "target": y[:300]}
    Shown.log = lambda *_: None  # type: ignore[attr-defined]
    exec(loop.replace("200", "8"), known)  # noqa: S102
    assert known["proba"].shape == (len(x) - 400, 4)
    train, valid = loaders()
    options = {"accelerator": "cpu", "logger": False, "enable_checkpointing": False, "default_root_dir": tmp_path}
    lightning = SimpleNamespace(LightningModule=Base, Trainer=partial(package.Trainer, **options))
    known |= {"L": lightning, "train_loader": train, "valid_loader": valid}
    definition, rest = module.split("callback = ")
    exec(definition, known)  # noqa: S102
    known["network"] = known["Network"]()
    exec("callback = " + rest.replace("200", "3"), known)  # noqa: S102
    assert known["proba"].shape == (len(x) - 400, 4)
    assert len(known["callback"].kept.history) == 3
    exec(metric, known)  # noqa: S102
