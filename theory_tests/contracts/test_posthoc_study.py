"""The post-hoc calibration study: its dataset, its splits, and its verdict."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy.special import softmax

from propercal import decompose, paired_difference
from propercal.experiments import Cell, main
from propercal.recalibration import TemperatureScaling
from propercal.simulation import MiscalibratedSimplex
from studies import posthoc_calibration
from studies.data import DIGITS, contents_of
from studies.posthoc_calibration import (
    FLOOR,
    METHODS,
    RECALIBRATIONS,
    RIVALS,
    STUDY,
    Design,
    Split,
    recalibrated,
    split,
)
from studies.posthoc_report import table, wins
from theory_tests.contracts.study_command import command, printed

MODEL = MiscalibratedSimplex(3, "temperature", 3.0)
FILES = ["net/over_test.npz", "single.npz"]
ARGUMENTS = ["--models", *FILES, "--max-rows", "150", "--quiet"]


def write_data(folder: Path) -> None:
    (folder / "net").mkdir()
    for part, n, seed in (("val", 120, 1), ("test", 200, 2)):
        y, g, _ = MODEL.sample(n, seed)
        np.savez(folder / "net" / f"over_{part}.npz", labels=y, logits=np.log(g) + 5.0)
    y, g, _ = MODEL.sample(300, 3)
    np.savez(folder / "single.npz", labels=y, probs=g.astype(np.float32))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_data(folder)
    return folder


@pytest.fixture(scope="module")
def study(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[xr.Dataset, Path, str]:
    folder = tmp_path_factory.mktemp("study")
    places = ["--data", data, "--workers", 1, "--output", folder]
    output = printed(posthoc_calibration, [*ARGUMENTS, *places])
    return xr.load_dataset(folder / "posthoc_calibration.nc", engine="h5netcdf"), folder, output


def design(data: Path, *models: str) -> Design:
    return Design(models=models, max_rows=150, contents=contents_of(models, data))


def rows_of(design: Design, model: str, seed: int, data: Path) -> Split:
    """The rows that the study draws."""
    cell = Cell(model=model, seed=seed)
    rng = np.random.default_rng(np.random.SeedSequence(design.seed, spawn_key=design.key(cell)))
    return split(design, cell, rng, data)


@pytest.mark.slow
def test_estimates_are_those_of_the_library_on_the_seeded_split(study: tuple[xr.Dataset, Path, str], data: Path) -> None:
    summary, _, _ = study
    rows = rows_of(design(data, *FILES), "single.npz", 0, data)
    predictions, temperature = recalibrated(rows)
    y = rows.evaluation[1]
    at: Any = summary.sel(model="single.npz", seed=0)
    assert at["temperature"].item() == temperature
    assert (at["n_calibration"].item(), at["n_evaluated"].item()) == (150, 150)
    for name in ("none", "temperature", "isotonic-smoothed"):
        for method in METHODS:
            options: dict[str, Any] = {} if method == "debiased" else {"bandwidth": 0.02}
            found = decompose(y, predictions[name], notion="classwise", generator="brier", method=method, **options)
            stored = at["estimate"].sel({"recalibration": name, "notion": "classwise", "generator": "brier", "method": method})
            assert stored.item() == pytest.approx(found.calibration_error, rel=1e-9, abs=1e-12)
    pair = paired_difference(y, predictions["isotonic-smoothed"], predictions["temperature"], generator="log")
    of = at.sel(rival="isotonic-smoothed", notion="canonical", generator="log")
    assert of["difference"].item() == pytest.approx(pair.difference, rel=1e-9)
    assert of["pvalue"].item() == pytest.approx(pair.pvalue, rel=1e-6)
    assert (of["difference_lower"].item(), of["difference_upper"].item()) == pytest.approx(pair.interval())
    p = predictions["isotonic"]
    of_label = p[np.arange(150), y]
    iso = at.sel(recalibration="isotonic")
    assert iso["zero_rows"].item() == (of_label == 0).sum()
    assert iso["nll"].item() == pytest.approx(-np.log(np.maximum(of_label, FLOOR)).mean())
    assert iso["accuracy"].item() == (p.argmax(axis=1) == y).mean()


@pytest.mark.slow
def test_values_are_those_of_over_confident_predictions(study: tuple[xr.Dataset, Path, str]) -> None:
    summary, folder, _ = study
    assert summary.sizes == {"model": 2, "seed": 1, "recalibration": 4, "notion": 2, "generator": 2, "method": 3, "rival": 2}
    assert np.isfinite(summary.to_array()).all()
    # Labels were drawn at a slope of 0.6, a temperature of 1/0.6; 120 rows tell it to about 15 %.
    assert np.abs(summary["temperature"] * 0.6 - 1).max() < 0.5
    scores = summary.sel(recalibration=["none", "temperature"])
    assert (scores["accuracy"].diff("recalibration") == 0).all()
    assert (scores["nll"].diff("recalibration") < 0).all()
    assert summary["zero_rows"].sel(recalibration=[r for r in RECALIBRATIONS if r != "isotonic"]).sum() == 0
    canonical = summary["estimate"].sel({"method": "debiased", "generator": "log", "notion": "canonical"})
    truth = MODEL.truth("log", "canonical").value
    before = canonical.sel(recalibration="none")
    assert (np.abs(before - truth) < 0.6 * truth).all()
    # That of one model alone is as large as its noise.
    assert canonical.sel(recalibration="temperature").mean() < before.mean() / 2
    error = summary["estimate"].sel({"method": "debiased"})
    assert (summary["lower"] <= np.maximum(error, 0) + 1e-12).all()
    assert (summary["upper"] >= error).all()
    assert ((summary["pvalue"] >= 0) & (summary["pvalue"] <= 1)).all()
    difference = error.sel({"recalibration": list(RIVALS)}).values - error.sel({"recalibration": ["temperature"]}).values
    np.testing.assert_allclose(summary["difference"].transpose("model", "seed", "rival", "notion", "generator"), difference, atol=1e-12)
    assert (folder / "posthoc_calibration.nc").stat().st_size < 1_000_000
    assert '"contents"' in summary.attrs["design"]


@pytest.mark.slow
def test_table_and_figures(study: tuple[xr.Dataset, Path, str]) -> None:
    summary, folder, output = study
    assert table(summary) in output
    # One line for each rival, notion and generator, for each model and in the verdict.
    assert sum(line.lstrip().startswith("isotonic") for line in output.splitlines()) == 2 * 2 * 2 * (2 + 1)
    for suffix in ("png", "svg"):
        assert {path.stem for path in folder.glob(f"*.{suffix}")} == {"calibration_errors", "differences"}
    assert str(folder) not in "".join(map(str, summary.attrs.values()))


@pytest.mark.slow
def test_the_same_command_reads_the_finished_study(
    study: tuple[xr.Dataset, Path, str], data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def again(*_: Any, **__: Any) -> dict[str, Any]:
        raise AssertionError

    # Another `measure` would be other code, whose dataset this is not.
    monkeypatch.setattr("propercal.experiments.runner.run_cell", again)
    finished = dataclasses.replace(STUDY, figures=None)
    places = ["--data", str(data), "--workers", "1", "--output", str(study[1])]
    assert main(finished, [*ARGUMENTS, *places]) == 0
    assert table(study[0]) in capsys.readouterr().out


def test_validation_files_calibrate_and_other_files_are_halved(data: Path) -> None:
    wanted = design(data, *FILES)
    (z, y), (_, new_y) = rows_of(wanted, FILES[0], 0, data)
    assert (len(y), len(new_y)) == (120, 150)
    expected, g, _ = MODEL.sample(120, 1)
    np.testing.assert_array_equal(np.sort(y), np.sort(expected))
    np.testing.assert_allclose(np.sort(softmax(z, axis=1).ravel()), np.sort(g.ravel()), rtol=1e-9)
    # The same temperature from any order of the rows.
    assert TemperatureScaling(from_logits=True).fit(z, y).temperature_ == pytest.approx(TemperatureScaling().fit(g, expected).temperature_, rel=1e-6)
    halves = rows_of(wanted, "single.npz", 0, data)
    rows = np.concatenate([halves.calibration[0], halves.evaluation[0]])
    assert len(np.unique(rows, axis=0)) == 300
    again, other = (rows_of(wanted, "single.npz", seed, data) for seed in (0, 1))
    np.testing.assert_array_equal(again.evaluation[0], halves.evaluation[0])
    assert not np.array_equal(other.evaluation[0], halves.evaluation[0])


@pytest.mark.parametrize("model", DIGITS)
def test_digits_models_are_over_confident(model: str) -> None:
    rows = rows_of(Design(models=DIGITS), model, 0, Path())
    assert rows.calibration[0].shape == rows.evaluation[0].shape == (599, 10)
    log_prob, y = rows.evaluation
    np.testing.assert_allclose(np.exp(log_prob).sum(axis=1), 1)
    accuracy = (log_prob.argmax(axis=1) == y).mean()
    assert 0.6 < accuracy < 0.95
    assert np.exp(log_prob).max(axis=1).mean() > accuracy + 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "absent.npz"], "absent.npz"),
        (["--models", "digits/forest"], "digits/forest"),
        (["--n-seeds", "0"], "n_seeds"),
        (["--max-rows", "10"], "50 or more"),
        (["--notions", "classwise", "classwise"], "distinct"),
    ],
)
def test_designs_that_cannot_be_run_are_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=message):
        command(posthoc_calibration, [*arguments, "--data", tmp_path, "--output", tmp_path])


def test_ctrl_c_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("propercal.experiments.command.run", interrupted)
    assert command(posthoc_calibration, ["--output", tmp_path]) == 130
    assert "the same command goes on" in capsys.readouterr().err


# --- the verdict, from differences with a known answer


def synthetic(risk: dict[str, list[float]], difference: list[float], pvalue: list[float], generator: str) -> xr.Dataset:
    n = len(difference)
    dims = ("recalibration", "model", "seed", "notion", "generator", "method")
    estimate = np.zeros((4, n, 1, 1, 1, 3))
    for name, values in risk.items():
        estimate[RECALIBRATIONS.index(name), :, 0, 0, 0, 0] = values
    pair = ("rival", "model", "seed", "notion", "generator")
    coords = {"recalibration": list(RECALIBRATIONS), "method": list(METHODS), "rival": ["isotonic"], "notion": ["classwise"], "generator": [generator]}
    shaped = {name: (pair, np.reshape(values, (1, n, 1, 1, 1))) for name, values in (("difference", difference), ("pvalue", pvalue))}
    return xr.Dataset({"estimate": (dims, estimate), **shaped}, coords)


@pytest.mark.parametrize(
    ("generator", "difference", "pvalue", "counts", "said"),
    [
        ("log", [0.1, 0.2], [0.01, 0.04], (2, 0, 0), "holds by the paper's estimate, holds by the debiased one"),
        ("log", [0.1, 0.2], [0.01, 0.06], (1, 0, 1), "holds by the paper's estimate, shown in part by the debiased one"),
        ("log", [0.1, -0.2], [0.3, 0.01], (0, 1, 1), "holds by the paper's estimate, fails by the debiased one"),
        ("brier", [0.1, -0.2], [0.3, 0.2], (0, 0, 2), "fails by the paper's estimate, not shown by the debiased one"),
        ("brier", [-0.1, -0.2], [0.03, 0.02], (0, 2, 0), "fails by the paper's estimate, holds by the debiased one"),
        ("spherical", [0.1, 0.2], [0.3, 0.02], (1, 0, 1), "no claim"),
        # An infinite calibration error has no p-value.
        ("log", [0.1, float("inf")], [0.01, float("nan")], (1, 0, 1), "holds by the paper's estimate, shown in part by the debiased one"),
    ],
)
def test_verdicts(generator: str, difference: list[float], pvalue: list[float], counts: tuple[int, int, int], said: str) -> None:
    risk = {"temperature": [0.1, 0.1], "isotonic": [0.2, 0.3]}
    (found,) = wins(synthetic(risk, difference, pvalue, generator))
    assert found.paper_style == (2, 0)
    assert found.debiased == counts
    assert found.said == said
