"""The bias-rate study: its fits, its files, and its behaviour when interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from propercal.experiments import main
from studies import bias_rate
from studies.bias_rate import asymptotic_sample_size, fit_slope

ROOT = Path(__file__).resolve().parents[2]
AXES = (
    "--n-classes 2 3 --sample-sizes 30 60 120 --bandwidths 0.05 0.003 --replicates 6 "
    "--generators log --notions canonical"
)
ARGUMENTS = [*AXES.split(" "), "--workers", "1", "--quiet"]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("study")
    script = [sys.executable, "-W", "error", str(ROOT / "studies" / "bias_rate.py")]
    run = subprocess.run(
        [*script, *ARGUMENTS, "--output", str(folder)], capture_output=True, text=True, check=True
    )
    return folder, run.stdout


@pytest.mark.slow
def test_summary_states_truth_limit_bias_and_errors(study: tuple[Path, str]) -> None:
    folder, _ = study
    summary = xr.load_dataset(folder / "bias_rate.nc", engine="h5netcdf")
    replicates = xr.load_dataset(folder / "replicates.nc", engine="h5netcdf")
    estimate = replicates["calibration_error"]
    np.testing.assert_allclose(
        summary["mean"].transpose(*estimate.mean("replicate").dims), estimate.mean("replicate")
    )
    # Bias against the truth is mean − truth, up to the sampling noise that the control removes.
    naive = summary["mean"] - summary["truth"]
    noise = summary["standard_error"] + summary["bias_from_truth_se"]
    assert float((abs(naive - summary["bias_from_truth"]) / noise).max()) < 5
    gap = summary["bias_from_truth"] + summary["truth"] - summary["limit"]
    xr.testing.assert_allclose(gap - summary["bias_from_limit"], 0 * gap, atol=1e-12)
    relative = 100 * summary["bias_from_truth"] / summary["truth"]
    xr.testing.assert_allclose(relative - summary["relative_bias"], 0 * relative, atol=1e-9)
    assert (folder / "bias_rate.nc").stat().st_size < 1_000_000
    assert summary.attrs["design"] == replicates.attrs["design"]


@pytest.mark.slow
def test_table_says_where_the_rate_cannot_be_seen(study: tuple[Path, str]) -> None:
    folder, output = study
    rows = [line.split() for line in output.splitlines() if line.startswith("canonical")]
    unseen = [row for row in rows if row[1] == "3" and row[3] == "0.003"]
    # γ^(−2/2) = 333 exceeds every n here.
    assert len(unseen) == 2
    assert all("none: n ≫ 3e+02" in " ".join(row) for row in unseen)
    assert "bias_rate.nc" in output
    assert str(Path(os.path.relpath(folder))) in output or str(folder) in output


@pytest.mark.slow
def test_every_figure_is_drawn_twice(study: tuple[Path, str]) -> None:
    folder, output = study
    stems = {path.stem for path in folder.glob("*.png")}
    assert stems == {path.stem for path in folder.glob("*.svg")}
    assert stems == {"estimate-canonical", "relative_bias-canonical", "bias-canonical-log"}
    assert all(f"{stem}.png" in output for stem in stems)


@pytest.mark.slow
def test_the_same_command_writes_the_same_bytes(study: tuple[Path, str]) -> None:
    folder, _ = study
    before = (folder / "bias_rate.nc").read_bytes()
    figure = (folder / "estimate-canonical.svg").read_bytes()
    arguments = [a if a != "1" else "2" for a in ARGUMENTS]
    assert main(bias_rate.STUDY, [*arguments, "--output", str(folder)]) == 0
    assert (folder / "bias_rate.nc").read_bytes() == before
    assert (folder / "estimate-canonical.svg").read_bytes() == figure


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to a child is POSIX")
def test_ctrl_c_keeps_the_journal_and_exits_with_130(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "studies" / "bias_rate.py"), *ARGUMENTS]
    command[command.index("6")] = "3000"
    command[command.index("1")] = "2"
    process = subprocess.Popen(
        [*command, "--output", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell starts background jobs with SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    journal = tmp_path / "replicates.nc.journal"
    deadline = time.monotonic() + 240
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= 3):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    # As a terminal does, to the whole process group.
    os.killpg(process.pid, signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=240)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "the same command goes on" in errors
    assert "Traceback" not in errors
    assert journal.exists()


@pytest.mark.parametrize("rate", [-1.0, -0.5])
def test_fit_recovers_a_power_law(rate: float) -> None:
    n = np.array([50.0, 100, 200, 400])
    y = -3 * n**rate
    fit = fit_slope(n, y, np.diag((0.1 * y) ** 2), np.ones(4, dtype=bool))
    assert fit.points == 4
    assert fit.slope == pytest.approx(rate, abs=1e-10)
    # Least squares on four equidistant logarithms with errors of 0.1.
    spread = np.log(n) - np.log(n).mean()
    assert fit.standard_error == pytest.approx(0.1 / np.sqrt((spread**2).sum()))


def test_fit_leaves_out_noise_and_changes_of_sign() -> None:
    n = np.array([50.0, 100, 200, 400])
    y = np.array([-0.5, 0.02, 0.01, 0.001])
    se = np.array([0.01, 0.001, 0.001, 0.001])
    fit = fit_slope(n, y, np.diag(se**2), np.ones(4, dtype=bool))
    assert (fit.points, round(fit.slope, 6)) == (2, -1.0)
    none = fit_slope(n, 0 * y, np.diag(se**2), np.ones(4, dtype=bool))
    assert none.points == 0
    assert np.isnan(none.slope)


def test_asymptotic_size_counts_neighbours() -> None:
    assert asymptotic_sample_size(0.01, 10, "classwise") == pytest.approx(10)
    assert asymptotic_sample_size(0.01, 3, "canonical") == pytest.approx(100)


def test_presets_cover_the_axes_of_the_paper() -> None:
    assert bias_rate.FULL.n_classes == bias_rate.QUICK.n_classes == (2, 5, 10)
    assert bias_rate.FULL.generator_names == ("log", "brier")
    assert bias_rate.FULL.sample_sizes[0] == 50
    assert bias_rate.FULL.sample_sizes[-1] == 10_000
    assert np.min(bias_rate.FULL.n_replicates) >= 20


def test_a_wrong_level_ends_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(bias_rate.STUDY, ["--methods", "rsik"])
    assert "'risk'" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert capsys.readouterr().out == ""
