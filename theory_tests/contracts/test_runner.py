"""The Monte Carlo runner: the same digits however it runs, and nothing lost when it is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from propercal import decompose
from propercal.experiments import Cell, Factors, Output, Study, StudyDesign, factor, main, run_study
from propercal.experiments.store import Journal
from propercal.generators import Brier
from propercal.result import TERMS
from propercal.simulation import TemperatureScaledSimplex

ROOT = Path(__file__).resolve().parents[2]

SMALL = StudyDesign(n_classes=(2, 3), bandwidths=(0.1, 0.02), sample_sizes=(20, 40), n_replicates=(3, 2))
# Enough cells to be caught in the middle.
LONGER = StudyDesign(n_classes=(3,), bandwidths=(0.1,), sample_sizes=(60,), n_replicates=150, methods=("risk",))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[xr.Dataset, bytes]:
    path = tmp_path_factory.mktemp("small") / "study.nc"
    return run_study(SMALL, path, n_workers=1, progress=False), path.read_bytes()


def test_dataset_holds_decompositions_of_the_seeded_samples(small: tuple[xr.Dataset, bytes]) -> None:
    dataset, _ = small
    assert set(dataset.data_vars) == {*TERMS, "loss_saved"}
    seed = np.random.SeedSequence(SMALL.seed, spawn_key=(3, 40, 1))
    y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(40, seed)
    expected = decompose(y_true, y_proba, generator="brier", notion="classwise", method="direct", bandwidth=0.02)
    found = dataset.sel({
        "generator": "brier",
        "notion": "classwise",
        "method": "direct",
        "n_classes": 3,
        "bandwidth": 0.02,
        "sample_size": 40,
        "replicate": 1,
    })
    for term in TERMS:
        assert found[term].item() == getattr(expected, term)
    # Sample size 40 has two replicates, so the third is absent, and nothing else is.
    assert int(dataset["risk"].isnull().sum()) == 2 * 2 * 2 * 2 * 2
    assert json.loads(dataset.attrs["design"])["n_replicates"] == [3, 2]
    assert not any(str(ROOT) in str(value) for value in dataset.attrs.values())


@pytest.mark.slow
def test_loss_saved_has_the_truth_as_its_mean(tmp_path: Path) -> None:
    design = StudyDesign(n_classes=(2, 4), bandwidths=(0.1,), sample_sizes=(400,), n_replicates=60, methods=("risk",))
    saved = run_study(design, tmp_path / "s.nc", n_workers=1, progress=False)["loss_saved"].squeeze()
    se = saved.std("replicate", ddof=1) / 60**0.5
    for k in (2, 4):
        for generator in ("log", "brier"):
            for notion in ("canonical", "classwise"):
                where = {"n_classes": k, "generator": generator, "notion": notion}
                truth = design.model(k).truth(generator, notion).value
                assert abs(float(saved.sel(where).mean()) - truth) < 4.4 * float(se.sel(where))


@pytest.mark.slow
def test_number_of_workers_changes_no_digit(small: tuple[xr.Dataset, bytes], tmp_path: Path) -> None:
    expected, content = small
    found = run_study(SMALL, tmp_path / "two.nc", n_workers=2, progress=False)
    xr.testing.assert_identical(found, expected)
    assert (tmp_path / "two.nc").read_bytes() == content


def test_dask_workers_change_no_digit(small: tuple[xr.Dataset, bytes], tmp_path: Path) -> None:
    distributed: Any = pytest.importorskip("distributed", reason="needs Dask distributed")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="tcp"
    )
    with cluster:
        found = run_study(SMALL, tmp_path / "dask.nc", scheduler=cluster.scheduler_address, progress=False)
    xr.testing.assert_identical(found, small[0])


def test_a_finished_study_is_read_not_repeated(
    small: tuple[xr.Dataset, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "study.nc"
    path.write_bytes(small[1])
    monkeypatch.setattr("propercal.experiments.runner.in_processes", None)
    xr.testing.assert_identical(run_study(SMALL, path, n_workers=1, progress=False), small[0])


@pytest.mark.slow
def test_another_study_at_the_same_path_is_refused(small: tuple[xr.Dataset, bytes], tmp_path: Path) -> None:
    path = tmp_path / "study.nc"
    path.write_bytes(small[1])
    with pytest.raises(ValueError, match="another study"):
        run_study(LONGER, path, n_workers=1, progress=False)
    assert path.read_bytes() == small[1]


SCRIPT = """
import sys
from propercal.experiments import run_study
from theory_tests.contracts.test_runner import LONGER
if __name__ == "__main__":
    run_study(LONGER, sys.argv[1], n_workers=2, progress=False)
"""


def start(path: Path) -> subprocess.Popen[bytes]:
    script = path.with_suffix(".py")
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, str(script), str(path)], env=environment, cwd=ROOT)


def wait_for_lines(journal: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if journal.exists() and journal.read_bytes().count(b"\n") >= count:
            return
        assert process.poll() is None, "the study ended before it could be killed"
        time.sleep(0.01)
    pytest.fail("the study made no progress")


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
@pytest.mark.slow
def test_kill_9_leaves_no_orphan_and_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    psutil: Any = pytest.importorskip("psutil", reason="needs psutil to look for orphans")
    path, journal = tmp_path / "killed.nc", tmp_path / "killed.nc.journal"
    process = start(path)
    try:
        wait_for_lines(journal, 5, process)
        workers = psutil.Process(process.pid).children(recursive=True)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(workers) >= 2
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert not alive
    assert not path.exists()
    done = len(Journal(journal, {}).finished)
    assert 0 < done < 150
    # As if the crash had cut the last line short.
    with journal.open("ab") as file:
        file.write(b'{"cell": [3, 60,')
    resumed = run_study(LONGER, path, n_workers=1, progress=False)
    assert not journal.exists()
    fresh = run_study(LONGER, tmp_path / "fresh.nc", n_workers=1, progress=False)
    xr.testing.assert_identical(resumed, fresh)
    assert path.read_bytes() == (tmp_path / "fresh.nc").read_bytes()


def test_resuming_computes_only_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from propercal.experiments import runner

    computed: list[Cell] = []
    original = runner.run_cell

    def interrupted(measure: Any, design: StudyDesign, cell: Cell) -> Any:
        if len(computed) == 4:
            raise KeyboardInterrupt
        computed.append(cell)
        return original(measure, design, cell)

    monkeypatch.setattr(runner, "run_cell", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_study(SMALL, tmp_path / "study.nc", n_workers=1, progress=False)

    def counted(measure: Any, design: StudyDesign, cell: Cell) -> Any:
        computed.append(cell)
        return original(measure, design, cell)

    monkeypatch.setattr(runner, "run_cell", counted)
    run_study(SMALL, tmp_path / "study.nc", n_workers=1, progress=False)
    assert sorted(computed) == sorted(SMALL.cells())


def test_a_journal_of_another_study_or_of_nonsense_is_refused(tmp_path: Path) -> None:
    journal = tmp_path / "study.nc.journal"
    with Journal(journal, {"design": "other"}):
        pass
    with pytest.raises(ValueError, match=r"another design.*choose another path"):
        run_study(SMALL, tmp_path / "study.nc", n_workers=1, progress=False)
    journal.write_bytes(b"nonsense\n")
    with pytest.raises(ValueError, match="not readable"):
        run_study(SMALL, tmp_path / "study.nc", n_workers=1, progress=False)


@pytest.mark.parametrize(("changes", "message"), [
    ({"generators": ("logg",)}, "'log'"),
    ({"notions": ("top-label",)}, "classwise"),
    ({"methods": "risk"}, "sequence"),
    ({"methods": ()}, "one level or more"),
    ({"bandwidths": (0.1, 0.1)}, "distinct"),
    ({"bandwidths": (0.0,)}, "positive"),
    ({"n_classes": (1,)}, "n_classes"),
    ({"sample_sizes": (1,)}, "2 or more"),
    ({"n_replicates": (1, 2, 3)}, "one for each"),
    ({"n_replicates": 0}, "1 or more"),
    ({"seed": -1}, "seed"),
])
def test_a_design_that_cannot_be_run_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StudyDesign(**changes)


def test_a_design_takes_generator_objects_and_sums() -> None:
    design = StudyDesign(generators=(Brier(), 2 * Brier()))
    assert design.generator_names == ("brier", "2.0*Brier()")


# --- a study of files


@dataclass(frozen=True)
class OfFiles(Factors):
    data: str = "digits"
    n_replicates: int = factor(2, between="replicate")


def same(factors: OfFiles, data: Path) -> OfFiles:
    assert data.is_dir()
    return factors


def one(*_: Any, data: Path) -> dict[str, Any]:
    return {"x": float(data.is_dir())}


def test_a_setting_may_have_the_name_of_an_option(tmp_path: Path) -> None:
    study = Study(
        name="of_files",
        about="",
        presets={"tiny": (OfFiles(), "")},
        outputs=[Output("x", ("replicate",))],
        measure=one,
        read=same,
    )
    places = ["--data", str(tmp_path), "--output", str(tmp_path)]
    assert main(study, ["--quiet", "--workers", "1", *places]) == 0
    dataset = xr.load_dataset(tmp_path / "of_files.nc", engine="h5netcdf")
    assert json.loads(dataset.attrs["design"])["data"] == "digits"
    assert dataset["x"].values.tolist() == [1.0, 1.0]
