"""Time and memory of one case, in a process of its own.

python -m benchmarks.measuring CASE FOLDER    # CASE as JSON; prints an outcome as JSON
"""

from __future__ import annotations

import gc
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.cases import Case, Outcome
from benchmarks.series import SERIES
from studies.paths import ROOT

#: Enough rows for every thread to start.
_WARM_UP = 600


def run(case: Case, folder: Path, timeout: float) -> Outcome:
    """Measure a case in a new process; what goes wrong there is its outcome."""
    command = [sys.executable, "-m", "benchmarks.measuring", case.to_json(), str(folder)]
    # Where it is set, OpenBLAS takes kernels for another processor, and everything is slower.
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return Outcome(error=f"stopped after {timeout:.0f} s")
    if done.returncode < 0:
        return Outcome(error=f"killed by signal {-done.returncode}")
    if done.returncode > 0:
        return Outcome(error=(done.stderr.strip().splitlines() or ["no reason given"])[-1])
    return Outcome(**json.loads(done.stdout.splitlines()[-1]))


def measure(case: Case, folder: Path) -> Outcome:
    """Measure a case in this process, whose peak of memory must not be that of anything else."""
    series = SERIES[case.series]
    # Everything that is loaded lazily is loaded, and threads are started, before memory is read.
    small = replace(case, n=min(case.n, _WARM_UP))
    for name, prepare in (("small", series.prepare), ("small-reference", series.reference)):
        if prepare is not None:
            prepare(small, _empty(folder / name))()
    gc.collect()
    gpu = case.device != "cpu" and series.on_device
    before = 0.0 if gpu else _peak_mib()
    call = series.prepare(case, _empty(folder / "data"))
    if gpu:
        _reset_gpu_peak()
    first = _seconds(call)
    memory = (_gpu_peak_mib() if gpu else _peak_mib()) - before

    reference = None if series.reference is None else series.reference(case, folder / "data")
    seconds: list[float] = []
    others: list[float] = []
    began = time.perf_counter()
    while len(seconds) < case.max_repeats:
        elapsed = time.perf_counter() - began
        if elapsed + (elapsed / len(seconds) if seconds else first) > case.seconds:
            break
        seconds.append(_seconds(call))
        others += [] if reference is None else [_seconds(reference)]
    if not seconds:
        seconds = [first]
        others = [] if reference is None else [_seconds(reference)]
    return Outcome(
        seconds=seconds,
        ratios=[mine / other for mine, other in zip(seconds, others, strict=False)],
        memory_mib=memory,
        data_mib=8 * case.n * (case.k + 1) / 2**20,
    )


def _empty(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _peak_mib() -> float:
    """Return the largest memory that this process held."""
    status = Path("/proc/self/status")
    if status.exists():
        # Unlike what getrusage says, it does not begin with the memory of the parent.
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    unit = 2**20 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _reset_gpu_peak() -> None:
    import torch

    torch.cuda.reset_peak_memory_stats()


def _gpu_peak_mib() -> float:
    import torch

    return torch.cuda.max_memory_allocated() / 2**20


if __name__ == "__main__":
    fields = json.loads(sys.argv[1])
    print(json.dumps(asdict(measure(Case(**fields), Path(sys.argv[2])))))
