"""The benchmark command: what its dataset holds, how it calls other code, and how it survives what fails."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from benchmarks import scale
from benchmarks.cases import BANDWIDTH, Case, Outcome, sample
from benchmarks.measuring import run
from benchmarks.plan import expected_seconds, not_tried
from benchmarks.presets import PRESETS
from benchmarks.results import dataset, slopes
from benchmarks.rivals import PACKAGES
from benchmarks.series import SERIES

ROOT = Path(__file__).resolve().parents[2]

FAKE = """
import json
from pathlib import Path


def estimate(probs, labels, bandwidth):
    record = [list(probs.shape), str(probs.dtype), list(labels.shape), str(labels.dtype), bandwidth, probs.sum(1).tolist()]
    with (Path(__file__).parent / "calls").open("a") as calls:
        calls.write(json.dumps(record) + "\\n")
"""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("benchmark")
    script = [sys.executable, "-W", "error", str(ROOT / "benchmarks" / "scale.py"), "--tiny"]
    places = [
        "--output", str(folder / "run.nc"), "--figure", str(folder / "run.png"), "--only", "risk canonical",
        "default classwise", "default sketch",
    ]
    done = subprocess.run([*script, *places], capture_output=True, text=True, check=True)
    return folder, done.stdout


@pytest.mark.slow
def test_dataset_holds_times_memory_and_growth(tiny: tuple[Path, str]) -> None:
    result = xr.load_dataset(tiny[0] / "run.nc", engine="h5netcdf")
    assert result["seconds"].dims == ("series", "sample_size", "n_classes", "repetition")
    assert result["series"].values.tolist() == ["default classwise", "risk canonical", "default sketch"]
    assert result["sample_size"].values.tolist() == [200, 800]
    assert (result["error"] == "").all()
    measured = result["seconds_median"].notnull().sel(n_classes=3)
    assert measured.values.tolist() == [[True, True], [True, True], [False, True]]
    assert (result["seconds"].count("repetition") > 0).equals(result["seconds_median"].notnull())
    assert float(result["seconds"].min()) > 0
    assert float(result["memory"].min()) >= 0
    assert result["data"].sel(series="risk canonical", n_classes=3, sample_size=800).item() == 8 * 800 * 4 / 2**20
    # Relative to something called in turn with it, or to nothing.
    assert result["reference"].values.tolist() == ["risk classwise", "bare limit", "reading"]
    assert result["ratio"].notnull().any(("sample_size", "n_classes")).values.all()
    times = result["seconds_median"].sel(series="risk canonical", n_classes=3, sample_size=[200, 800]).values
    expected = np.log(times[1] / times[0]) / np.log(4)
    assert result["time_exponent"].sel(series="risk canonical", n_classes=3).item() == pytest.approx(expected)
    assert result["time_exponent"].sel(series="default sketch").isnull().all()


@pytest.mark.slow
def test_dataset_says_what_it_was_made_with(tiny: tuple[Path, str]) -> None:
    attributes = xr.load_dataset(tiny[0] / "run.nc", engine="h5netcdf").attrs
    assert (attributes["preset"], attributes["device"]) == ("tiny", "cpu")
    machine, versions = json.loads(attributes["machine"]), json.loads(attributes["versions"])
    assert set(machine) == {"cpu", "cores", "threads", "memory_gib", "system"}
    assert versions["numpy"] == np.__version__
    assert versions["blas"] != "unknown"
    assert attributes["commit"]
    assert attributes["date"].startswith("20")


@pytest.mark.slow
def test_table_and_figure(tiny: tuple[Path, str]) -> None:
    folder, output = tiny
    lines = output.splitlines()
    assert [" ".join(line.split()[:2]) for line in lines[1:6]] == [
        *["default classwise"] * 2, *["risk canonical"] * 2, "default sketch",
    ]
    assert any("time n^" in line for line in lines)
    assert {path.name for path in folder.iterdir()} == {"run.nc", "run.nc.sha256", "run.png", "run.svg"}


@pytest.mark.slow
def test_code_of_others_is_called_as_documented(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "fake.py"
    path.write_text(FAKE)
    arguments = [
        "--tiny", "--only", "authors", "--authors", str(path), "--authors-function", "estimate", "--output",
        str(tmp_path / "run.nc"),
    ]
    assert scale.main(arguments) == 0
    calls = [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
    n, k = PRESETS["tiny"].sizes["authors"][0]
    for call in calls:
        assert call[:-1] == [[n, k], "torch.float64", [n], "torch.int64", BANDWIDTH]
        np.testing.assert_allclose(call[-1], 1.0)
    result = xr.load_dataset(tmp_path / "run.nc", engine="h5netcdf").sel(series="authors").squeeze()
    # The warm-up and the call whose memory is measured are not timed.
    assert result["seconds"].count().item() == len(calls) - 2
    assert result["ratio"].item() > 0


@pytest.mark.slow
def test_what_fails_is_recorded_and_the_run_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "broken.py"
    path.write_text("def estimate(*_):\n    raise ValueError('of no use')\n")
    arguments = ["--tiny", "--only", "authors", "default classwise", "--authors", str(path), "--authors-function", "estimate"]
    assert scale.main([*arguments, "--output", str(tmp_path / "run.nc")]) == 0
    result = xr.load_dataset(tmp_path / "run.nc", engine="h5netcdf").sel(n_classes=3)
    assert result["error"].sel(series="authors", sample_size=100).item() == "ValueError: of no use"
    assert result["seconds"].sel(series="authors").isnull().all()
    assert result["seconds_median"].sel(series="default classwise", sample_size=200).item() > 0
    assert "ValueError: of no use" in capsys.readouterr().out


def test_a_case_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    assert run(Case("default classwise", 400, 3), tmp_path, timeout=0.01).error == "stopped after 0 s"


def test_interrupted_run_writes_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def one_and_interrupted(*_: object) -> Iterator[tuple[Case, Outcome]]:
        yield Case("default classwise", 400, 3), Outcome(seconds=[1.0], memory_mib=1.0, data_mib=1.0)
        raise KeyboardInterrupt

    monkeypatch.setattr(scale, "outcomes", one_and_interrupted)
    assert scale.main(["--tiny", "--output", str(tmp_path / "run.nc")]) == 130
    result = xr.load_dataset(tmp_path / "run.nc", engine="h5netcdf")
    assert result["seconds_median"].item() == 1


def test_slopes_are_those_of_the_largest_decade() -> None:
    sizes = np.array([10.0, 100.0, 300.0, 1000.0])
    # Flat where overheads rule, then quadratic; a missing value; a single one.
    values = np.stack([[1, 1, 9, 100], [1, 1, np.nan, 100], [np.nan, np.nan, np.nan, 4]]).astype(float)[:, :, None]
    found = slopes(sizes, values)[:, 0]
    np.testing.assert_allclose(found[:2], [2.0, 2.0], rtol=5e-3)
    assert np.isnan(found[2])


def test_spread_is_half_the_distance_of_the_quartiles() -> None:
    case = Case("risk canonical", 10, 2)
    result = dataset([(case, Outcome(seconds=[1.0, 2.0, 3.0, 4.0, 5.0], ratios=[2.0]))], {}).squeeze()
    assert (result["seconds_median"].item(), result["seconds_spread"].item(), result["ratio"].item()) == (3, 1, 2)


def test_expected_time_grows_as_the_series_does() -> None:
    done = {(1000, 10): Outcome(seconds=[1.0]), (3000, 10): Outcome(error="not tried")}
    assert expected_seconds(Case("risk canonical", 10_000, 10), done) == pytest.approx(100)
    assert expected_seconds(Case("risk classwise", 10_000, 20), done) == pytest.approx(20)
    assert expected_seconds(Case("risk canonical", 500, 10), done) == 0


def test_cases_that_would_take_too_much_are_not_tried() -> None:
    done = {(1000, 10): Outcome(seconds=[1.0])}
    case = Case("risk canonical", 10_000, 10)
    assert not_tried(case, done, longest=101, left=200) == ""
    assert not_tried(case, done, longest=99, left=200) == "not tried: expected to take 100 s"
    assert not_tried(case, done, longest=200, left=99) == "not tried: expected to take 100 s"
    assert not_tried(case, done, longest=200, left=0) == "not tried: the time of the run is used up"
    assert not_tried(Case("authors", 10**6, 10), {}, longest=1, left=1).startswith("not tried: needs about 16")


def test_presets_measure_every_series() -> None:
    assert set(PRESETS["tiny"].plan(authors=True, only=None)) <= set(SERIES)
    for name in ("quick", "full"):
        plan = PRESETS[name].plan(authors=True, only=None)
        # Those of other packages depend on what is installed.
        assert set(SERIES) - set(PACKAGES) <= set(plan) <= set(SERIES)
        assert set(plan) - set(PRESETS[name].plan(authors=False, only=None)) == {"authors"}


def test_sample_is_drawn_in_blocks_that_differ() -> None:
    y_true, y_proba = sample(2**20 // 100 + 5, 100)
    assert y_true.shape == (2**20 // 100 + 5,)
    np.testing.assert_allclose(y_proba.sum(1), 1.0)
    assert not np.array_equal(y_proba[:5], y_proba[-5:])
