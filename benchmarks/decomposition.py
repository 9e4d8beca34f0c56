"""What a decomposition costs, against the bare limit of the machine, in one run.

The bare limit is one matrix product and one exponential per tile of kernel exponents, with the
same tiles and threads: no estimate that forms all n² kernel values can be faster. Each case runs
in a process of its own, which reports the memory it added to that of the imports.

    python benchmarks/decomposition.py            # all cases, about two minutes
    python benchmarks/decomposition.py 10000 10   # one case: n, k
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

CASES = ((1_000, 10), (10_000, 2), (10_000, 10), (50_000, 10), (10_000, 1000))
BANDWIDTH = 0.02


def main() -> None:
    """Run all cases, or measure one of them and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("size", type=int, nargs="*", metavar="n k", help="one case")
    parser.add_argument("--json", action="store_true", help="print one line of JSON per case")
    arguments = parser.parse_args()
    if arguments.json and len(arguments.size) == 2:
        print(json.dumps(measure(*arguments.size)))
        return
    cases = [tuple(arguments.size)] if arguments.size else CASES
    print("canonical log loss, method risk, bandwidth 0.02; median of repeated runs")
    print("      n     k  decompose bare limit  ratio  added memory")
    for n, k in cases:
        command = [sys.executable, __file__, str(n), str(k), "--json"]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        if arguments.json:
            print(out, end="")
            continue
        row = json.loads(out)
        print(
            f"{n:>7} {k:>5} {row['decompose_s']:>8.3f} s {row['bare_s']:>8.3f} s "
            f"{row['ratio']:>6.2f} {row['added_mib']:>9.0f} MiB"
        )


def measure(n: int, k: int) -> dict[str, float]:
    """Time one case in turn with its bare limit."""
    import numpy as np

    from propercal.simulation import TemperatureScaledSimplex

    # Everything that is loaded lazily is loaded, and threads are started, before memory is read.
    estimate(np.array([0, 1] * 500), np.linspace(0.1, 0.9, 1000))
    before = _peak_mib()
    y_true, y_proba, _ = TemperatureScaledSimplex(k).sample(n, random_state=0)
    del _
    given = y_proba.nbytes / 2**20
    estimate(y_true, y_proba)
    added = _peak_mib() - before
    repeats = max(3, min(15, int(3e9 / (n * n * (10 + k)))))
    pairs = [
        (
            _seconds(lambda: estimate(y_true, y_proba)),
            _seconds(lambda: bare_limit(y_proba)),
        )
        for _ in range(repeats)
    ]
    return {
        "n": n,
        "k": k,
        "decompose_s": statistics.median(a for a, _ in pairs),
        "bare_s": statistics.median(b for _, b in pairs),
        "ratio": statistics.median(a / b for a, b in pairs),
        "added_mib": added,
        "predictions_mib": given,
    }


def estimate(y_true: object, y_proba: object) -> None:
    """The decomposition that is measured."""
    import propercal

    propercal.decompose(y_true, y_proba, method="risk", bandwidth=BANDWIDTH, algorithm="exact")


def bare_limit(y_proba: object) -> None:
    """One matrix product and one exponential per tile, and nothing else."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    from propercal._kernels.tiles import TILE, empty_tile
    from propercal._threads import n_threads

    prob = np.asarray(y_proba)
    n = len(prob)
    # Exponents stay above -650: subnormal results would slow the bare loop down a hundredfold.
    left, right = np.log(np.maximum(prob, 2e-6)), np.ascontiguousarray(prob.T) / BANDWIDTH
    buffers = threading.local()

    def rows(a: int) -> None:
        if not hasattr(buffers, "tile"):
            buffers.tile = empty_tile(TILE, prob)
        block = left[a : a + TILE[0]]
        for c in range(0, n, TILE[1]):
            columns = right[:, c : c + TILE[1]]
            tile = buffers.tile[: block.shape[0], : columns.shape[1]]
            np.matmul(block, columns, out=tile)
            np.exp(tile, out=tile)

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads()) as pool:
        list(pool.map(rows, range(0, n, TILE[0])))


def _seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
