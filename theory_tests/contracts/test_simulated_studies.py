"""The studies of kernels, and of direct against risk: their datasets, and their verdicts."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
import xarray as xr

from propercal import decompose, select_bandwidth
from propercal.experiments import main
from propercal.experiments.runner import run_cell
from propercal.simulation import TemperatureScaledSimplex
from studies import direct_vs_risk, kernel_comparison
from studies.simulated import LIKELIHOOD, Contest, Design, contest, measure, sum_of
from theory_tests.contracts.study_command import draw_nothing, printed

STUDIES = {"kernel_comparison": kernel_comparison, "direct_vs_risk": direct_vs_risk}


class Run(NamedTuple):
    module: ModuleType
    summary: xr.Dataset
    folder: Path
    output: str


@pytest.fixture(scope="module", params=list(STUDIES))
def study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    name = str(request.param)
    folder = tmp_path_factory.mktemp(name)
    output = printed(STUDIES[name], ["--tiny", "--quiet", "--workers", 1, "--output", folder])
    return Run(STUDIES[name], xr.load_dataset(folder / f"{name}.nc", engine="h5netcdf"), folder, output)


@pytest.mark.slow
def test_values_are_within_bounds(study: Run) -> None:
    summary = study.summary
    assert {name: summary.sizes[name] for name in ("n_classes", "sample_size", "replicate")} == {"n_classes": 1, "sample_size": 2, "replicate": 3}
    assert np.isfinite(summary.to_array()).all()
    truth = summary["truth"].sel(notion="classwise", n_classes=3)
    # README.md and the oracle of the simulation.
    np.testing.assert_allclose(truth, [0.032377, 0.012662], rtol=1e-3)
    error = summary["calibration_error"].isel(sample_size=-1)
    ours = error.sel(estimator="debiased").mean("replicate")
    assert (np.abs(ours - summary["truth"]) < 2 * summary["truth"]).all()
    # The risk estimate ends above the truth in this simulation, and a small sample raises it further.
    assert (error.sel(estimator="risk, γ = 0.02").mean("replicate") > summary["truth"]).all()
    assert (summary["lower"] <= summary["upper"]).all()
    assert (summary["lower"] >= 0).all()
    assert str(study.folder) not in "".join(map(str, summary.attrs.values()))


@pytest.mark.slow
def test_estimates_are_those_of_the_library(study: Run) -> None:
    """Each of one sample, drawn from its cell's seed."""
    y, g, _ = TemperatureScaledSimplex(3).sample(60, np.random.SeedSequence(0, spawn_key=(3, 60, 1)))
    bandwidth = select_bandwidth(y, g, notion="classwise", criterion="likelihood")
    at = study.summary["calibration_error"].sel(generator="brier", notion="classwise", n_classes=3, sample_size=60, replicate=1)
    settings: dict[str, float | str] = {
        "risk, γ = 0.02": 0.02,
        f"direct, {LIKELIHOOD}": bandwidth,
        "debiased": "auto",
    }
    for name, gamma in settings.items():
        if name in at["estimator"]:
            method = name.partition(",")[0]
            found = decompose(y, g, generator="brier", notion="classwise", method=method, bandwidth=gamma)
            assert at.sel(estimator=name).item() == pytest.approx(found.calibration_error, rel=1e-9)
    if "risk, equal-width bins" in at["estimator"]:
        # The paper's formula, r̂ the share of the bin, own label included.
        total = 0.0
        for i in range(3):
            cell = np.minimum((15 * g[:, i]).astype(int), 14)
            share = np.array([(y[cell == c] == i).mean() for c in cell])
            total += np.mean(2 * (g[:, i] - (y == i)) ** 2 - 2 * share * (1 - share)) / 3
        assert at.sel(estimator="risk, equal-width bins").item() == pytest.approx(total)


@pytest.mark.slow
def test_table_and_figures(study: Run) -> None:
    assert study.module.STUDY.text(study.summary) in study.output
    assert "Claim: " in study.output
    for suffix in ("png", "svg"):
        assert {path.stem for path in study.folder.glob(f"*.{suffix}")} == {"estimate-log", "estimate-brier"}


@pytest.mark.slow
def test_the_same_command_reads_the_finished_study(study: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    draw_nothing(monkeypatch)
    arguments = ["--tiny", "--quiet", "--workers", "1", "--output", str(study.folder)]
    path = study.folder / f"{study.module.STUDY.name}.nc"
    before = path.stat().st_mtime_ns
    assert main(study.module.STUDY, arguments) == 0
    assert study.module.STUDY.text(study.summary) in capsys.readouterr().out
    assert path.stat().st_mtime_ns == before


def test_numbers_do_not_depend_on_other_cells() -> None:
    small = Design(smoothers=("γ = 0.02",), n_classes=(2,), sample_sizes=(60,), n_replicates=(2,))
    large = Design(smoothers=("γ = 0.02",), n_classes=(2, 3), sample_sizes=(60, 90), n_replicates=(2, 3))
    cell = small.cells()[0]
    assert run_cell(measure, small, cell) == run_cell(measure, large, cell)


# --- verdicts with a known answer


def synthetic(ours: list[list[float]], theirs: list[list[float]]) -> xr.Dataset:
    values = np.array([ours, theirs])
    return xr.Dataset({"calibration_error": (("estimator", "sample_size", "replicate"), values), "truth": 1.0}, {"estimator": ["a", "b"]})


@pytest.mark.parametrize(
    ("ours", "theirs", "expected", "said"),
    [
        ([[1.0, 1.1, 0.9]], [[2.0, 2.1, 1.9]], (1, 0, 0), "holds"),
        # Nearer from the other side, though smaller.
        ([[1.5, 1.6, 1.4]], [[0.9, 0.8, 0.9]], (0, 1, 0), "fails"),
        ([[1.0, 1.1, 0.9], [2.0, 1.0, 1.0]], [[2.0, 2.1, 1.9], [1.0, 2.0, 1.0]], (1, 0, 1), "holds where told apart"),
        ([[1.0, 1.1, 0.9], [3.0, 3.1, 3.0]], [[2.0, 2.1, 1.9], [1.0, 1.0, 1.0]], (1, 1, 0), "holds in part"),
        ([[1.0, 1.1, 0.9], [3.0, 3.1, 3.0], [3.0, 3.1, 3.0]], [[2.0, 2.1, 1.9], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], (1, 2, 0), "mostly fails"),
        ([[1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0]], (0, 0, 1), "not shown"),
        # A replicate that was not drawn.
        ([[1.0, 1.1, np.nan]], [[2.0, 2.05, np.nan]], (1, 0, 0), "holds"),
    ],
)
def test_contests(ours: list[list[float]], theirs: list[list[float]], expected: tuple[int, int, int], said: str) -> None:
    found = contest(synthetic(ours, theirs), "a", "b")
    assert found == expected
    assert found.said == said


def test_contests_are_added_up() -> None:
    assert sum_of([Contest(1, 0, 2), Contest(0, 3, 1)]) == (1, 3, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--smoothers", "γ = 0.03"], "smoothers"),
        (["--sample-sizes", "10", "--n-replicates", "2"], "20 or more"),
        (["--n-replicates", "2", "2"], "2 or more, one for each of the 3 sample_sizes"),
        (["--n-replicates", "1"], "2 or more"),
        (["--n-classes", "1"], "n_classes"),
        (["--n-classes", "2", "2"], "distinct levels"),
    ],
)
def test_designs_that_cannot_be_run_are_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=message):
        main(kernel_comparison.STUDY, [*arguments, "--output", str(tmp_path)])
