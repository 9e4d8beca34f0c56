"""The study of layers: its dataset, its verdicts, and the training that all such studies share."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from propercal import decompose
from propercal.experiments import Cell
from propercal.experiments.assembly import assemble
from propercal.experiments.store import CellResult
from propercal.information import layer_sharpness
from studies import information_monotonicity, training
from studies.data import BANDWIDTH
from studies.information_monotonicity import (
    GENERATORS,
    LAYERS,
    METHODS,
    STUDY,
    TINY,
    table,
    verdicts,
)
from studies.training import Design, split, train
from theory_tests.contracts.study_command import command, draw_nothing, printed

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="training needs torch")
ARGUMENTS = ["--tiny", "--quiet", "--workers", "1"]
SMALL = Design("digits", (5, 4), (0, 3), 200, 50, learning_rate=0.1, momentum=0.9, batch_size=16)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[xr.Dataset, Path, str]:
    folder = tmp_path_factory.mktemp("study")
    output = printed(information_monotonicity, [*ARGUMENTS, "--output", folder])
    return xr.load_dataset(folder / "information_monotonicity.nc", engine="h5netcdf"), folder, output


def trained(design: Design, seed: int) -> tuple[Any, Any]:
    """The last snapshot and the rows of a cell, from the random numbers that the engine gives it."""
    cell = Cell(seed=seed, activation=design.activations[0])
    sequence = np.random.SeedSequence(design.seed, spawn_key=design.key(cell))
    *_, last = training.trained(design, cell, sequence, Path())
    return last


@pytest.mark.slow
def test_values_are_those_of_a_network_that_learnt_digits(study: tuple[xr.Dataset, Path, str]) -> None:
    summary, folder, _ = study
    assert summary.sizes == {"activation": 1, "seed": 2, "epoch": 1, "generator": 2, "method": 3, "layer": 5}
    assert np.isfinite(summary.drop_vars("kernel_bandwidth").to_array()).all()
    assert (summary["accuracy"] > 0.8).all()
    assert (summary["train_accuracy"] > summary["accuracy"] - 0.05).all()
    # The uncertainty of ten classes, up to the shares of 150 rows, is the most that can be known.
    uncertainty = xr.DataArray([0.9, np.log(10)], {"generator": list(GENERATORS)})
    assert (summary["sharpness"] < uncertainty * 1.01).all()
    debiased = summary["sharpness"].sel({"method": "debiased"})
    # What predicts 80 % of the digits right knows more than half of what there is to know.
    assert (debiased > uncertainty / 2).all()
    assert (summary["standard_error"] / debiased < 0.1).all()
    # A one-to-one image of the layer before it.
    same = debiased.sel(layer="output") - debiased.sel(layer="4")
    assert (np.abs(same) < 4 * summary["standard_error"].sel(layer="output")).all()
    assert (folder / "information_monotonicity.nc").stat().st_size < 1_000_000
    design = json.loads(summary.attrs["design"])
    assert {"torch", "scikit-learn", "device"} < set(design)
    assert design["data"] == "digits"
    assert str(folder) not in "".join(map(str, summary.attrs.values()))


@pytest.mark.slow
def test_estimates_are_those_of_the_library_for_the_seeded_network(study: tuple[xr.Dataset, Path, str]) -> None:
    snapshot, rows = trained(TINY, 1)
    *hidden, log_prob = snapshot.layers(rows.monitor.inputs)
    y = rows.monitor.labels
    stored = study[0].sel(activation="tanh", seed=1).isel(epoch=-1)
    for generator in GENERATORS:
        of = stored["sharpness"].sel({"generator": generator, "method": "risk"})
        assert of[:4].values == pytest.approx(layer_sharpness(hidden, y, generator=generator, bandwidth=BANDWIDTH, standardise=False), rel=1e-9)
        output = decompose(y, log_prob, from_logits=True, generator=generator, method="risk", bandwidth=BANDWIDTH)
        assert of[4].item() == pytest.approx(output.sharpness, rel=1e-9)
    assert stored["accuracy"].item() == (log_prob.argmax(axis=1) == y).mean()


@pytest.mark.slow
def test_table_and_figures(study: tuple[xr.Dataset, Path, str]) -> None:
    summary, folder, output = study
    assert table(summary) in output
    assert "4→output" in output
    for suffix in ("png", "svg"):
        assert {path.stem for path in folder.glob(f"*.{suffix}")} == {"layers-tanh", "rises"}


@pytest.mark.slow
def test_the_same_command_reads_the_finished_study(study: tuple[xr.Dataset, Path, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def again(*_: Any, **__: Any) -> Any:
        raise AssertionError

    draw_nothing(monkeypatch)
    # Another `measure` would be other code, whose dataset this is not.
    monkeypatch.setattr("propercal.experiments.runner.run_cell", again)
    assert command(information_monotonicity, [*ARGUMENTS, "--output", study[1]]) == 0
    assert table(study[0]) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epochs", "4", "2"], "epochs"),
        (["--epochs", "-1", "2"], "epochs"),
        (["--epochs", "2", "2"], "distinct"),
        (["--n-seeds", "1"], "2 or more"),
        (["--activations", "step"], "'relu', 'tanh'"),
        (["--full"], "mnist.npz"),
    ],
)
def test_designs_that_cannot_be_run_are_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=message):
        command(information_monotonicity, [*arguments, "--data", tmp_path, "--output", tmp_path])


def test_ctrl_c_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("propercal.experiments.command.run", interrupted)
    assert command(information_monotonicity, ["--tiny", "--output", tmp_path]) == 130
    assert "the same command goes on" in capsys.readouterr().err


# --- training


def test_training_is_the_same_for_a_seed_and_leaves_the_callers_numbers_alone() -> None:
    rows = split("digits", Path(), 200, 50, np.random.default_rng(0))
    torch = pytest.importorskip("torch")
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    first, again, other = ([s.layers(rows.monitor.inputs) for s in train(SMALL, "tanh", rows.train, seed)] for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.get_num_threads() == threads
    for snapshots in zip(first, again, other, strict=True):
        for a, b, c in zip(*snapshots, strict=True):
            np.testing.assert_array_equal(a, b)
            assert not np.array_equal(a, c)
    untrained, after = first
    assert [layer.shape for layer in after] == [(50, 5), (50, 4), (50, 10)]
    np.testing.assert_allclose(np.exp(after[-1]).sum(axis=1), 1)
    assert np.abs(after[0]).max() <= 1
    y = rows.monitor.labels
    assert after[-1][np.arange(50), y].mean() > untrained[-1][np.arange(50), y].mean()


def test_networks_that_differ_in_activation_alone_see_the_same_rows() -> None:
    design = dataclasses.replace(TINY, activations=("relu", "tanh"))
    keys = [design.key(cell) for cell in design.cells()]
    assert len(keys) == 2 * len(set(keys)) == 4
    assert design.key(Cell(seed=1, activation="relu")) == design.key(Cell(seed=1, activation="tanh"))
    assert dataclasses.replace(design, data="mnist").key(Cell(seed=1, activation="relu")) not in keys


def test_parts_do_not_share_rows_and_differ_between_seeds() -> None:
    whole = split("digits", Path(), 900, 448, np.random.default_rng(0))
    rows = np.concatenate([part.inputs for part in whole])
    assert rows.shape == (1796, 64)
    assert len(np.unique(rows, axis=0)) == 1796
    other = split("digits", Path(), 900, 448, np.random.default_rng(1))
    assert not np.array_equal(whole.monitor.labels, other.monitor.labels)
    standard = split("breast-cancer", Path(), 200, 150, np.random.default_rng(0)).train.inputs
    np.testing.assert_allclose([standard.mean(), standard.std()], [0, 1], atol=1e-5)
    with pytest.raises(ValueError, match="20 rows"):
        split("digits", Path(), 1780, 100, np.random.default_rng(0))


def test_image_files_are_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    (tmp_path / "images").mkdir()
    sizes = {"train": 60, "test": 80}
    parts: dict[str, Any] = {f"images_{name}": rng.integers(0, 256, (n, 2, 2), dtype=np.uint8) for name, n in sizes.items()}
    parts |= {f"labels_{name}": rng.integers(0, 2, n, dtype=np.int16) for name, n in sizes.items()}
    np.savez(tmp_path / "images" / "mnist.npz", **parts)
    rows = split("mnist", tmp_path, 60, 40, rng)
    assert [part.inputs.shape for part in rows] == [(60, 4), (40, 4), (40, 4)]
    pixels = parts["images_train"].reshape(60, 4) / 255
    np.testing.assert_allclose(np.sort(rows.train.inputs, axis=0), np.sort(pixels, axis=0), rtol=1e-6)
    # With a validation part, all rows are dealt anew.
    parts |= {"images_val": parts["images_test"][:10], "labels_val": parts["labels_test"][:10]}
    np.savez(tmp_path / "images" / "breastmnist.npz", **parts)
    assert [len(part.labels) for part in split("breastmnist", tmp_path, 100, 25, rng)] == [100, 25, 25]


# --- the verdict, from sharpness with a known order


@pytest.mark.parametrize(
    ("values", "signs", "broken", "said"),
    [
        # Layer by layer; each seed apart from the next by 0.001, so a step of 0.1 is beyond chance.
        ([0.5, 0.4, 0.3, 0.2, 0.1], [-1, -1, -1, -1], 0, "no break shown"),
        ([0.5, 0.4, 0.3, 0.2, 0.3], [-1, -1, -1, 1], 1, "breaks at 4→output"),
        ([0.2, 0.3, 0.2, 0.3, 0.3], [1, -1, 1, 0], 5, "breaks at 1→2, 3→4"),
    ],
)
def test_verdicts(values: list[float], signs: list[int], broken: int, said: str) -> None:
    design = dataclasses.replace(TINY, n_seeds=3)
    sharpness = np.zeros((len(GENERATORS), len(METHODS), len(LAYERS)))
    zeros = np.zeros((len(GENERATORS), len(LAYERS)))
    results = []
    for seed in range(3):
        # The same rows for all layers: what they share cancels.
        sharpness[:] = np.asarray(values) + 0.05 * seed
        sharpness[..., 1:4] += 0.001 * seed
        numbers = {"accuracy": 0.5, "train_accuracy": 0.5, "sharpness": sharpness, "standard_error": zeros, "kernel_bandwidth": zeros}
        results.append(CellResult(Cell(seed=seed, activation="tanh"), {name: [np.asarray(v).tolist()] for name, v in numbers.items()}))
    found = verdicts(assemble(STUDY, design, results))
    assert len(found) == len(GENERATORS) * len(METHODS)
    for each in found:
        assert each.signs == signs
        assert each.said == said
        assert each.broken == broken
