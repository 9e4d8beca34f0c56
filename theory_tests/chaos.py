"""Faults done to a study on purpose, and a table of what became of them.

`python -m theory_tests.chaos` takes two minutes; `--full` does what the book's page "What can go wrong" states. A trial is
good if the study ends with the bytes of an undisturbed run, or says in one line what is wrong and gives those bytes when
it is started again. Started again, this command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from propercal.experiments import main, sources
from propercal.experiments.decompositions import DECOMPOSITIONS
from theory_tests.contracts.faulty_study import (
    ROOT,
    SMALL,
    dask_process,
    ended,
    flipped,
    older,
    scheduler_address,
    write_script,
)

STUDY = dataclasses.replace(DECOMPOSITIONS, name="small", presets={"tiny": (SMALL, "twelve cells")})
#: A trial that does not end is killed after so many seconds, and counts as wrong.
PATIENCE = 60.0
LOG = ROOT / "build" / "chaos" / "trials.jsonl"
SAME, LINE, WRONG = "same bytes", "one line, then same bytes", "wrong"


class End(NamedTuple):
    """How a process ended: its status, negative for a signal, None for none in time; what it said."""

    status: int | None
    errors: str


class Run:
    """The command of the study in a process of its own, forked from this one, which has imported all."""

    def __init__(self, folder: Path, *, n_workers: int = 1, largest_file: int | None = None) -> None:
        self._errors = Path(tempfile.mkstemp(suffix=".stderr")[1])
        self.pid = os.fork()
        if self.pid == 0:
            self._work(folder, n_workers, largest_file)

    def _work(self, folder: Path, n_workers: int, largest_file: int | None) -> None:
        status = 1
        try:
            os.dup2(os.open(self._errors, os.O_WRONLY), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            if largest_file is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
            status = main(STUDY, ["--tiny", "--quiet", "--workers", str(n_workers), "--output", str(folder)])
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except BaseException:  # noqa: BLE001  # as Python does at the end of a script
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)

    def end(self) -> End:
        """Wait for the end, or make one."""
        deadline, status = time.monotonic() + PATIENCE, None
        while status is None and time.monotonic() < deadline:
            pid, code = os.waitpid(self.pid, os.WNOHANG)
            status = os.waitstatus_to_exitcode(code) if pid else None
            time.sleep(0.002)
        if status is None:
            self.kill()
            os.waitpid(self.pid, 0)
        errors = self._errors.read_text(errors="replace").strip()
        self._errors.unlink()
        return End(status, errors)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


@dataclasses.dataclass
class Field:
    """Where trials happen, and what an undisturbed run gives."""

    folder: Path
    whole: bytes
    seconds: float

    def verdict(self, place: Path, *ends: End) -> str:
        """Judge runs that are over, and start again what did not finish."""
        for end in ends:
            if end.status not in (0, 1) or "Traceback" in end.errors or (end.status and end.errors.count("\n")):
                return f"{WRONG}: status {end.status}, {end.errors[-300:]!r}"
        finished = all(end.status == 0 for end in ends)
        last = ends[0] if finished else Run(place).end()
        if last.status != 0:
            return f"{WRONG}: cannot be resumed, status {last.status}, {last.errors[-300:]!r}"
        if (place / "small.nc").read_bytes() != self.whole:
            return f"{WRONG}: other bytes"
        return SAME if finished else LINE


def undisturbed(folder: Path) -> Field:
    """Run the study once as it should be."""
    began = time.monotonic()
    end = Run(folder / "whole").end()
    if end.status != 0:
        raise RuntimeError(end.errors)
    return Field(folder, (folder / "whole" / "small.nc").read_bytes(), time.monotonic() - began)


# --- the faults: each returns what became of one trial


def kill_9(field: Field, place: Path, rng: np.random.Generator) -> str:
    """Kill the process at a random moment, twice in a row."""
    n_workers = 2 if rng.random() < 0.1 else 1
    for _ in range(2):
        run = Run(place, n_workers=n_workers)
        time.sleep(rng.uniform(0, field.seconds * 1.1 if n_workers == 1 else 4.0))
        run.kill()
        run.end()
    return field.verdict(place, Run(place).end())


def half_journal(place: Path, rng: np.random.Generator) -> bytes:
    """Return the journal of a run that was killed on the way."""
    journal = place / "small.nc.journal"
    while True:
        run = Run(place)
        while not (journal.exists() and journal.read_bytes().count(b"\n") > int(rng.integers(3, 10))):
            time.sleep(0.001)
            if (place / "small.nc").exists():
                break
        run.kill()
        run.end()
        if journal.exists():
            return journal.read_bytes()
        shutil.rmtree(place)


def flip_in_journal(field: Field, place: Path, rng: np.random.Generator) -> str:
    content = half_journal(place, rng)
    (place / "small.nc.journal").write_bytes(flipped(content, int(rng.integers(8 * len(content)))))
    return field.verdict(place, Run(place).end())


def flip_in_dataset(field: Field, place: Path, rng: np.random.Generator) -> str:
    shutil.copytree(field.folder / "whole", place)
    (place / "small.nc").write_bytes(flipped(field.whole, int(rng.integers(8 * len(field.whole)))))
    return field.verdict(place, Run(place).end())


@contextmanager
def small_disk(place: Path, n_bytes: int) -> Iterator[Callable[[], None] | None]:
    """Mount a file system of so many bytes, if that is allowed; what it gives makes it larger."""
    place.mkdir(parents=True)
    mount = shutil.which("mount") or "mount"
    words = [mount, "-t", "tmpfs", "-o", f"size={n_bytes}", "tmpfs", str(place)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        yield None
        return

    def grow() -> None:
        subprocess.run([mount, "-o", "remount,size=16m", str(place)], check=True)

    try:
        yield grow
    finally:
        subprocess.run([shutil.which("umount") or "umount", "--lazy", str(place)], check=True)


def full_disk(field: Field, place: Path, rng: np.random.Generator) -> str:
    """Run where there is room for less than all, then with more room; without a mount, files may not grow."""
    with small_disk(place, 4096 * int(rng.integers(3, 3 + len(field.whole) // 4096 + 6))) as grow:
        if grow is None:
            limit = int(rng.integers(200, len(field.whole)))
            return field.verdict(place, Run(place, largest_file=limit).end())
        end = Run(place).end()
        grow()
        return field.verdict(place, end)


def two_runs(field: Field, place: Path, rng: np.random.Generator) -> str:
    """Start two, the second a little later or not."""
    first = Run(place)
    time.sleep(rng.choice([0.0, rng.uniform(0, field.seconds)]))
    second = Run(place)
    return field.verdict(place, first.end(), second.end())


def other_worker(field: Field, place: Path, rng: np.random.Generator) -> str:
    """Start a Dask worker of another version beside a right one."""
    del field, rng
    place.mkdir()
    script = write_script(place)
    file = place / "scheduler.json"
    processes = [dask_process(place, "scheduler", "--port", "0", "--host", "127.0.0.1", "--scheduler-file", str(file))]
    try:
        address = scheduler_address(file)
        processes += [dask_process(place, "worker", address, "--no-nanny", "--nthreads", "1", package=package) for package in (ROOT, older(place / "older"))]
        time.sleep(5)
        found = ended(script, place / "out", "--scheduler", address)
        if found.returncode != 1 or found.stderr.count("\n") != 1 or "0.0.9" not in found.stderr:
            return f"{WRONG}: status {found.returncode}, {found.stderr[-300:]!r}"
        return LINE if ended(script, place / "out", "--workers", "1").returncode == 0 else f"{WRONG}: cannot be resumed"
    finally:
        for process in processes:
            process.kill()
            process.wait()


#: name: (trial, number of tries by default, in full)
FAULTS: dict[str, tuple[Callable[[Field, Path, np.random.Generator], str], int, int]] = {
    "kill -9 at a random moment, twice": (kill_9, 5, 100),
    "one bit flipped in the journal": (flip_in_journal, 10, 150),
    "one bit flipped in the dataset": (flip_in_dataset, 10, 150),
    "a full disk": (full_disk, 5, 20),
    "two runs in one folder": (two_runs, 5, 20),
    "a worker of another version": (other_worker, 1, 3),
}


def trials(tries: dict[str, int], folder: Path, path: Path) -> Iterator[dict[str, Any]]:
    """Yield what became of every trial; those of earlier starts by the same code stand in a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    known = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = [each for each in known if each["sources"] == sources.DIGEST]
    done = {(each["fault"], each["trial"]): each for each in known}
    field = undisturbed(folder)
    with path.open("a") as log:
        for number, (name, (attempt, _, _)) in enumerate(FAULTS.items()):
            for trial in range(tries[name]):
                if (name, trial) not in done:
                    place = folder / f"{number}-{trial}"
                    became = attempt(field, place, np.random.default_rng([number, trial]))
                    done[name, trial] = {"fault": name, "trial": trial, "became": became, "sources": sources.DIGEST}
                    log.write(json.dumps(done[name, trial]) + "\n")
                    log.flush()
                    shutil.rmtree(place, ignore_errors=True)
                yield done[name, trial]


def table(found: list[dict[str, Any]]) -> str:
    """One line for each fault: tries, and how many ended how."""
    lines = [f"| fault | tries | {SAME} | {LINE} | {WRONG} |", "|---|---|---|---|---|"]
    for name in FAULTS:
        became = [each["became"].partition(":")[0] for each in found if each["fault"] == name]
        lines.append(f"| {name} | {len(became)} | " + " | ".join(str(became.count(kind)) for kind in (SAME, LINE, WRONG)) + " |")
    return "\n".join(lines)


def command(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m theory_tests.chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="as many tries as the book states (a quarter of an hour)")
    parser.add_argument("--tries", type=int, metavar="N", help="as many of each fault")
    parser.add_argument("--log", type=Path, default=LOG, metavar="FILE", help="what was done already")
    options = parser.parse_args(arguments)
    tries = {name: options.tries or (many if options.full else few) for name, (_, few, many) in FAULTS.items()}
    # Imported here once, and not by every fork.
    import filelock  # noqa: F401
    import h5netcdf  # noqa: F401

    with tempfile.TemporaryDirectory() as folder:
        found = list(trials(tries, Path(folder), options.log))
    wrong = [f"{each['fault']}, trial {each['trial']}: {each['became']}" for each in found if each["became"].startswith(WRONG)]
    sys.stdout.write("\n".join([table(found), *wrong]) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(command())
