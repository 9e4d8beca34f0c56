"""Which cases of a plan are worth starting, and what comes of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.cases import Case, Outcome
from benchmarks.machine import available_bytes
from benchmarks.measuring import run
from benchmarks.presets import Preset, Sizes
from benchmarks.series import SERIES

Done = dict[tuple[int, int], Outcome]


def outcomes(
    plan: dict[str, Sizes], preset: Preset, template: Case
) -> Iterator[tuple[Case, Outcome]]:
    """Measure one case after another, each in a process of its own."""
    ends = time.monotonic() + preset.total_seconds
    for name, sizes in plan.items():
        longest = preset.authors_seconds if name == "authors" else preset.longest_seconds
        done: Done = {}
        for n, k in sizes:
            case = replace(template, series=name, n=n, k=k, seconds=preset.case_seconds)
            left = ends - time.monotonic()
            reason = not_tried(case, done, longest, left)
            done[n, k] = Outcome(error=reason) if reason else _run(case, longest, left)
            yield case, done[n, k]


def _run(case: Case, longest: float, left: float) -> Outcome:
    # Imports, drawing and the reference take time that is not the fault of the series.
    timeout = min(60 + 3 * longest, max(10.0, left))
    with TemporaryDirectory() as folder:
        return run(case, Path(folder), timeout)


def not_tried(case: Case, done: Done, longest: float, left: float) -> str:
    """Return why a case is not begun with `left` seconds to go, if it is not."""
    if left <= 0:
        return "not tried: the time of the run is used up"
    series = SERIES[case.series]
    seconds = expected_seconds(case, done)
    if seconds > min(longest, left):
        return f"not tried: expected to take {seconds:.0f} s"
    needed, free = series.needs(case.n, case.k), available_bytes()
    on_gpu = series.on_device and case.device != "cpu"
    if not on_gpu and needed > 0.9 * free:
        return f"not tried: needs about {needed / 2**30:.1f} GiB, {free / 2**30:.1f} are free"
    return ""


def expected_seconds(case: Case, done: Done) -> float:
    """Return the time a call would take, from the largest smaller case that was measured."""
    cost = SERIES[case.series].cost
    smaller = [
        (cost(n, k), median(outcome.seconds))
        for (n, k), outcome in done.items()
        if outcome.seconds and n <= case.n and k <= case.k
    ]
    if not smaller:
        return 0.0
    largest, seconds = max(smaller)
    return seconds * cost(case.n, case.k) / largest
