"""Studies that meet faults: the same bytes in the end, or one line that says what to do."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from propercal.experiments import StudyDesign, datasets, run_study, sources
from propercal.experiments.datasets import read_dataset, write_dataset
from propercal.experiments.lock import only_run
from propercal.experiments.runner import run_cell
from propercal.experiments.store import CellResult, Journal
from theory_tests.contracts.faulty_study import (
    ROOT,
    SMALL,
    command,
    dask_process,
    ended,
    environment,
    flipped,
    older,
    scheduler_address,
    write_script,
)

#: Of each kind; `make chaos` flips more.
N_FLIPS = 10


def run(path: Path) -> xr.Dataset:
    return run_study(SMALL, path, n_workers=1, progress=False)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of the finished dataset."""
    path = tmp_path_factory.mktemp("whole") / "study.nc"
    run(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The journal of a run that was interrupted after six cells."""
    path = tmp_path_factory.mktemp("half") / "study.nc"
    done: list[Any] = []

    def interrupted(*arguments: Any) -> CellResult:
        if len(done) == 6:
            raise KeyboardInterrupt
        done.append(arguments)
        return run_cell(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("propercal.experiments.runner.run_cell", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(path)
    return path.with_name("study.nc.journal").read_bytes()


# --- journals


def test_a_whole_journal_is_resumed_without_a_word(tmp_path: Path, whole: bytes, half: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    journal = tmp_path / "study.nc.journal"
    journal.write_bytes(half)
    run(tmp_path / "study.nc")
    assert (tmp_path / "study.nc").read_bytes() == whole
    assert not journal.exists()
    assert capsys.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.parametrize("part", ["cells", "header"])
def test_a_flipped_bit_in_a_journal_is_said_and_computed_anew(part: str, tmp_path: Path, whole: bytes, half: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    end = half.index(b"\n")
    first, last = (0, end) if part == "header" else (end + 1, len(half) - 1)
    for i, bit in enumerate(np.random.default_rng(0).integers(8 * first, 8 * last, N_FLIPS)):
        path = tmp_path / f"{i}" / "study.nc"
        path.parent.mkdir()
        path.with_name("study.nc.journal").write_bytes(flipped(half, int(bit)))
        run(path)
        assert path.read_bytes() == whole
        assert "damaged; what they held" in capsys.readouterr().err.replace("was damaged", "damaged").replace("were damaged", "damaged")


@pytest.mark.slow
def test_a_lost_newline_costs_the_two_lines_that_it_parted(tmp_path: Path, whole: bytes, half: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    ends = [i for i, byte in enumerate(half) if byte == ord("\n")]
    for i, end in enumerate(ends):
        path = tmp_path / f"{i}" / "study.nc"
        path.parent.mkdir()
        path.with_name("study.nc.journal").write_bytes(flipped(half, 8 * end))
        run(path)
        assert path.read_bytes() == whole
        assert "damaged" in capsys.readouterr().err


def test_a_mended_journal_is_whole(tmp_path: Path, half: bytes) -> None:
    path = tmp_path / "study.nc.journal"
    path.write_bytes(half[:-5])
    header = json.loads(half.split(b"\n")[0].partition(b" ")[2])
    journal = Journal(path, header)
    assert (len(journal.finished), journal.damaged) == (5, 1)
    assert path.read_bytes() == half[:-5]
    with journal:
        pass
    again = Journal(path, header)
    assert (again.finished, again.damaged) == (journal.finished, 0)
    assert half.startswith(path.read_bytes())


def test_cells_of_another_journal_or_of_no_design_are_left_out(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    with Journal(one, {"design": "one"}) as journal:
        journal.append(CellResult((1,), {"x": 1.0}))
        journal.append(CellResult((7,), {"x": 7.0}))
        journal.append(CellResult((1,), {"x": 2.0}))
    with Journal(other, {"design": "other"}) as journal:
        journal.append(CellResult((2,), {"x": 2.0}))
    one.write_bytes(one.read_bytes() + other.read_bytes().split(b"\n")[1] + b"\n")
    found = Journal(one, {"design": "one"}, {(1,): (1,), (2,): (2,)})
    # The first of two is kept.
    assert found.finished == [CellResult((1,), {"x": 1.0})]
    assert found.damaged == 2


# --- datasets


def test_the_checksum_is_one_of_sha256sum(tmp_path: Path, whole: bytes) -> None:
    run(tmp_path / "study.nc")
    assert (tmp_path / "study.nc.sha256").read_text() == f"{hashlib.sha256(whole).hexdigest()}  study.nc\n"


@pytest.mark.slow
def test_a_flipped_bit_in_a_dataset_never_reaches_hdf5(tmp_path: Path, whole: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "study.nc"
    run(path)
    checksum = path.with_name("study.nc.sha256").read_bytes()
    for bit in np.random.default_rng(1).integers(0, 8 * len(whole), N_FLIPS):
        changed = flipped(whole, int(bit))
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=r"study\.nc \(damaged\).*study\.nc\.sha256.*delete it"):
            read_dataset(path)
        run(path)
        assert path.read_bytes() == whole
        kept = path.with_name(f"study-damaged-{hashlib.sha256(changed).hexdigest()[:8]}.nc")
        assert kept.read_bytes() == changed
        assert path.with_name(path.name + ".sha256").read_bytes() == checksum
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow
def test_a_dataset_without_a_checksum_is_read_as_before(tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.nc"
    path.write_bytes(whole)
    monkeypatch.setattr("propercal.experiments.runner.in_processes", None)
    run(path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"not readable.*delete it"):
        run(path)
    path.write_bytes(b"no dataset")
    with pytest.raises(ValueError, match=r"not readable.*delete it"):
        run(path)


@pytest.mark.parametrize(
    ("program", "said"),
    [("while True: pass", r"not within 0\.5 s; .*sha256sum study\.nc > study\.nc\.sha256"), ("import os; os.kill(os.getpid(), 11)", "ended by signal 11")],
)
def test_a_dataset_that_hdf5_does_not_come_back_from_is_refused(tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch, program: str, said: str) -> None:
    path = tmp_path / "study.nc"
    path.write_bytes(whole)
    monkeypatch.setattr(datasets, "_TRIAL", program)
    monkeypatch.setattr(datasets, "_TRIAL_SECONDS", 0.5)
    for read in (read_dataset, run):
        with pytest.raises(ValueError, match=rf"study\.nc \(not readable: .*{said}"):
            read(path)
    # What the checksum says is whole is not tried.
    path.with_name("study.nc.sha256").write_text(f"{hashlib.sha256(whole).hexdigest()}  study.nc\n")
    assert read_dataset(path).attrs == run(path).attrs


@pytest.mark.slow
@pytest.mark.parametrize("bit", [2851])
def test_a_bit_that_sends_hdf5_into_a_loop_does_so_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bit: int) -> None:
    # With HDF5 2.0 this bit does; other versions may read the file, or fail.
    content = {"x": (("i", "j"), np.arange(12.0).reshape(3, 4)), "s": ("i", ["a", "b", "cd"])}
    path = tmp_path / "a.nc"
    write_dataset(xr.Dataset(content, {"j": [1, 2, 3, 4]}, {"design": "{}", "seed": 0}), path)
    path.write_bytes(flipped(path.read_bytes(), bit))
    path.with_name("a.nc.sha256").unlink()
    monkeypatch.setattr(datasets, "_TRIAL_SECONDS", 3.0)
    with contextlib.suppress(ValueError):
        read_dataset(path)


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes are POSIX")
def test_a_pipe_is_no_dataset(tmp_path: Path) -> None:
    path = tmp_path / "study.nc"
    os.mkfifo(path)
    for _ in range(2):
        with pytest.raises(ValueError, match="not a regular file"):
            run(path)
        path.with_name("study.nc.sha256").write_text("0  study.nc\n")


def test_every_kept_dataset_is_the_one_of_its_checksum() -> None:
    kept = sorted((ROOT / "studies" / "reference").glob("*.nc"))
    assert len(kept) > 10
    for path in kept:
        checksum = path.with_name(f"{path.name}.sha256")
        assert checksum.read_text(encoding="utf-8") == f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n", path.name
    assert len(list(kept[0].parent.glob("*.sha256"))) == len(kept)


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "study.nc"
    path.write_bytes(b"before")
    dataset = xr.Dataset({"x": ("i", np.random.default_rng(0).random(100_000))})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        # A file that may not grow, as on a disk that is full.
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        with pytest.raises(OSError, match=r"study\.nc"):
            write_dataset(dataset, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [each.name for each in tmp_path.iterdir()] == ["study.nc"]
    assert path.read_bytes() == b"before"


# --- other code


def test_a_finished_dataset_of_other_code_is_kept_beside(tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "study.nc"
    run(path)
    monkeypatch.setattr(sources, "DIGEST", "0123456789abcdef")
    other = run(path)
    kept = path.with_name(f"study-earlier-{hashlib.sha256(whole).hexdigest()[:8]}.nc")
    assert kept.read_bytes() == whole
    assert read_dataset(kept).attrs["sources"] != other.attrs["sources"]
    said = capsys.readouterr().err
    assert "other code: sources (propercal" in said
    assert kept.name in said
    assert said.count("\n") == 1
    xr.testing.assert_equal(read_dataset(kept), other)


def test_a_journal_of_other_code_is_refused(tmp_path: Path, half: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "study.nc.journal"
    journal.write_bytes(half)
    monkeypatch.setattr(sources, "DIGEST", "0123456789abcdef")
    with pytest.raises(ValueError, match=rf"another sources \(propercal {sources.described()[1]}, here 0123456789abcdef\); finish that study"):
        run(tmp_path / "study.nc")
    assert journal.read_bytes() == half


@pytest.mark.slow
def test_an_edited_study_is_other_code_and_so_is_what_it_imports(tmp_path: Path) -> None:
    script, folder = write_script(tmp_path), tmp_path / "out"
    script.write_text(script.read_text().replace("import sys\n", "import sys\n\nimport beside\n", 1))
    (tmp_path / "beside.py").write_text("X = 1\n")
    assert ended(script, folder, "--workers", 1).returncode == 0
    first = (folder / "toy.nc").read_bytes()
    assert sorted(json.loads(read_dataset(folder / "toy.nc").attrs["sources"])) == ["beside.py", "propercal", "toy.py"]
    (tmp_path / "beside.py").write_text("X = 2\n")
    run = ended(script, folder, "--workers", 1)
    assert run.returncode == 0
    assert "other code: sources (beside.py" in run.stderr
    assert [each.read_bytes() for each in folder.glob("toy-earlier-*.nc")] == [first]


@pytest.mark.slow
def test_what_a_package_of_this_checkout_computes_is_not_passed_off_as_that_of_another(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT / "propercal", checkout / "propercal", ignore=shutil.ignore_patterns("__pycache__"))
    (checkout / "studies").mkdir()
    script = write_script(checkout / "studies")
    # The same code in two places is one code.
    assert ended(script, tmp_path / "out", "--workers", 1).returncode == 0
    with (checkout / "propercal" / "result.py").open("a") as file:
        file.write("\n# edited\n")
    run = ended(script, tmp_path / "other", "--workers", 1)
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    assert str(ROOT / "propercal") in run.stderr
    assert str(checkout / "propercal") in run.stderr
    assert ended(script, tmp_path / "other", "--workers", 1, package=checkout).returncode == 0


def test_a_cell_of_other_code_stops_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(_: Any, cell: Any) -> sources.Stamped:
        return sources.Stamped({"version": "0.0.9", "propercal": "0123456789abcdef"}, CellResult(cell, {}))

    monkeypatch.setattr("propercal.experiments.runner.stamped", other)
    with pytest.raises(ValueError, match=rf"propercal 0\.0\.9 \(sources 0123456789abcdef\).*propercal {sources.VERSION} \(sources {sources.DIGEST}\)"):
        run(tmp_path / "study.nc")
    # The header alone.
    assert (tmp_path / "study.nc.journal").read_bytes().count(b"\n") == 1


@pytest.fixture
def cluster(tmp_path: Path) -> Any:
    """A scheduler, and a function that starts a worker with the package of a folder."""
    pytest.importorskip("distributed", reason="needs Dask distributed")
    processes: list[subprocess.Popen[bytes]] = []
    file = tmp_path / "scheduler.json"
    processes.append(dask_process(tmp_path, "scheduler", "--port", "0", "--host", "127.0.0.1", "--scheduler-file", str(file)))
    address = scheduler_address(file)

    def worker(package: Path = ROOT) -> None:
        processes.append(dask_process(tmp_path, "worker", address, "--no-nanny", "--nthreads", "1", package=package))

    yield address, worker, processes[0]
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_a_dask_worker_of_another_version_stops_a_study(cluster: Any, tmp_path: Path) -> None:
    address, worker, _ = cluster
    script = write_script(tmp_path)
    worker()
    assert ended(script, tmp_path / "one", "--scheduler", address).returncode == 0
    worker(older(tmp_path / "older"))
    time.sleep(4)
    run = ended(script, tmp_path / "two", "--scheduler", address)
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    assert "propercal 0.0.9 (sources" in run.stderr
    assert f"propercal {sources.VERSION} (sources {sources.DIGEST})" in run.stderr
    assert not (tmp_path / "two" / "toy.nc").exists()


@pytest.mark.slow
def test_a_killed_scheduler_is_one_line(cluster: Any, tmp_path: Path) -> None:
    address, worker, scheduler = cluster
    script, folder = write_script(tmp_path), tmp_path / "out"
    worker()
    process = subprocess.Popen(command(script, folder, "--slow", "--scheduler", address), stderr=subprocess.PIPE, text=True, env=environment())
    wait_for_lines(folder / "toy.nc.journal", 3, process)
    scheduler.kill()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert errors.count("\n") == 1
    assert f"the scheduler at {address} was lost" in errors
    lost = ended(script, folder, "--slow", "--scheduler", "tcp://127.0.0.1:nowhere")
    assert (lost.returncode, lost.stderr.count("\n")) == (1, 1)


# --- two runs


def test_a_second_run_in_a_folder_is_told_who_is_at_work(tmp_path: Path) -> None:
    script, folder = write_script(tmp_path), tmp_path / "out"
    process = subprocess.Popen(command(script, folder, "--slow", "--workers", 1), env=environment())
    try:
        wait_for_lines(folder / "toy.nc.journal", 1, process)
        second = ended(script, folder, "--slow", "--workers", 1)
    finally:
        process.kill()
        process.wait()
    assert second.returncode == 1
    assert second.stderr.count("\n") == 1
    assert f"process {process.pid} on " in second.stderr
    assert "toy.py --quiet" in second.stderr
    # It does not outlive the process that had it.
    with only_run(folder / "toy.nc"):
        pass


@pytest.mark.slow
def test_two_runs_at_once_give_the_same_bytes_or_one_line(tmp_path: Path) -> None:
    script = write_script(tmp_path)
    for i in range(3):
        folder = tmp_path / str(i)
        pair = [subprocess.Popen(command(script, folder, "--workers", 1), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment()) for _ in range(2)]
        errors = [process.communicate(timeout=120)[1] for process in pair]
        assert 0 in [process.returncode for process in pair]
        for process, error in zip(pair, errors, strict=True):
            assert (process.returncode, error.count("\n")) in ((0, 0), (1, 1)), error
        assert (folder / "toy.nc").read_bytes() == (tmp_path / "0" / "toy.nc").read_bytes()


def test_a_lock_may_be_taken_again_by_its_holder_alone(tmp_path: Path) -> None:
    path, said = tmp_path / "a.nc", []

    def other() -> None:
        try:
            with only_run(path):
                said.append("taken")
        except ValueError as error:
            said.append(str(error))

    with only_run(path):
        with only_run(path):
            pass
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    other()
    assert "no other run of a.nc" in said[0]
    assert said[1] == "taken"


# --- ordinary errors


def wait_for_lines(journal: Path, count: int, process: subprocess.Popen[Any]) -> None:
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.read_bytes().count(b"\n") > count):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
def test_ordinary_errors_are_one_line_and_a_status(tmp_path: Path) -> None:
    script, folder = write_script(tmp_path), tmp_path / "out"
    (tmp_path / "file").write_text("")
    assert ended(script, folder, "--workers", 1).returncode == 0
    cases: list[tuple[tuple[Any, ...], Path, int, str]] = [
        (("--workers", -1), folder, 2, "--workers = -1: expected 1 or more"),
        (("--replicates", 0), folder, 2, "1 or more"),
        (("--workers", 1, "--seed", 3), folder, 1, "another study"),
        # As root no folder is read-only.
        (("--workers", 1), tmp_path / "file" / "out", 1, "Not a directory"),
    ]
    for arguments, place, status, message in cases:
        found = ended(script, place, *arguments)
        assert (found.returncode, found.stdout) == (status, "")
        assert message in found.stderr
        assert found.stderr.startswith("toy.py: ")
        assert found.stderr.count("\n") == 1
    assert ended(script, folder, "--replicates", "many").returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_a_worker_that_is_killed_is_one_line(tmp_path: Path) -> None:
    text = write_script(tmp_path).read_text().replace("    time.sleep(factors.pause)\n", "    if cell.replicate == 5:\n        import os\n\n        os.kill(os.getpid(), 9)\n")
    run = ended(write_script(tmp_path, text), tmp_path / "out", "--workers", 2)
    assert run.returncode == 1
    assert "a worker process was killed" in run.stderr
    assert run.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to a child is POSIX")
@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_second_ctrl_c_changes_nothing(n_workers: int, tmp_path: Path) -> None:
    script, folder = write_script(tmp_path), tmp_path / "out"
    process = subprocess.Popen(
        command(script, folder, "--slow", "--workers", n_workers),
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
        # A shell starts background jobs with SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    wait_for_lines(folder / "toy.nc.journal", 2, process)
    for _ in range(20):
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip() == "Interrupted. Finished cells are kept; the same command goes on from here."
    assert (folder / "toy.nc.journal").exists()


def test_another_seed_is_another_journal(tmp_path: Path, half: bytes) -> None:
    (tmp_path / "study.nc.journal").write_bytes(half)
    other = StudyDesign(**{**SMALL.settings(), "seed": 1})
    with pytest.raises(ValueError, match="another design; finish"):
        run_study(other, tmp_path / "study.nc", n_workers=1, progress=False)


# --- faults on purpose


@pytest.mark.slow
def test_chaos_prints_what_became_of_each_fault_and_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs Dask distributed")
    words = [sys.executable, "-m", "theory_tests.chaos", "--tries", "1", "--log", str(tmp_path / "log")]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, timeout=200, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)

    first = run()
    assert first.returncode == 0, first.stdout + first.stderr
    rows = [line.split(" | ") for line in first.stdout.splitlines()[2:]]
    assert len(rows) == 6
    assert all(row[1] == "1" and row[4] == "0 |" for row in rows)
    # What was done is not done again, and what went wrong is the end of it.
    log = (tmp_path / "log").read_text().splitlines()
    wrong = {**json.loads(log[0]), "became": "wrong: other bytes"}
    (tmp_path / "log").write_text("\n".join([json.dumps(wrong), *log[1:]]) + "\n")
    again = run()
    assert again.returncode == 1
    assert again.stdout.endswith(f"{wrong['fault']}, trial 0: wrong: other bytes\n")


def test_callable_objects_and_methods_have_files_too() -> None:
    class Measure:
        def __call__(self, *_: Any) -> dict[str, float]:
            return {"x": 1.0}

        def method(self) -> None: ...

    assert list(sources.sources([Measure()])) == list(sources.sources([Measure().method])) == ["faulty_study.py", "propercal", "test_runner_faults.py"]
    assert list(sources.sources([print, Path, 3])) == ["propercal"]
