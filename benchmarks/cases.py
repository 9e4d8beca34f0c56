"""What a measurement is asked for and gives: one series at one size."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BANDWIDTH = 0.02
#: Numbers drawn at a time, so that drawing adds little to the memory that is measured.
_BLOCK = 2**20


@dataclass(frozen=True)
class Case:
    """One series at one size."""

    series: str
    n: int
    k: int
    seconds: float = 5.0
    """For repetitions; the first call is made whatever it takes."""
    max_repeats: int = 15
    device: str = "cpu"
    """Where torch computes."""
    authors: str = ""
    """Path of the published code."""
    authors_function: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Outcome:
    """What came out of a case: times, or the reason why there are none."""

    seconds: list[float] = field(default_factory=list)
    """Of each repetition."""
    ratios: list[float] = field(default_factory=list)
    """Of each repetition to the reference, called right after it."""
    memory_mib: float = float("nan")
    """Peak added over the imports, the predictions included; that of the GPU where it computes."""
    data_mib: float = float("nan")
    """Labels and predictions alone."""
    error: str = ""


#: (case, an empty folder of its own) → the function that is timed.
Prepare = Callable[[Case, Path], Callable[[], object]]


class Sample(NamedTuple):
    """Labels (n,) and predictions (n, k) of the simulation of the paper."""

    y_true: NDArray[np.int64]
    y_proba: NDArray[np.float64]


def blocks(n: int, k: int) -> list[int]:
    """Return the sizes of the blocks that n rows are drawn in."""
    rows = max(1, _BLOCK // k)
    return [min(rows, n - a) for a in range(0, n, rows)]


def draw(rows: int, k: int, seed: int) -> Sample:
    from propercal.simulation import TemperatureScaledSimplex

    y_true, y_proba, _ = TemperatureScaledSimplex(k).sample(rows, random_state=seed)
    return Sample(y_true, y_proba)


@lru_cache(maxsize=1)
def sample(n: int, k: int) -> Sample:
    """Draw n rows; a case and its reference share them."""
    y_true, y_proba = np.empty(n, dtype=np.int64), np.empty((n, k))
    start = 0
    for seed, rows in enumerate(blocks(n, k)):
        y_true[start : start + rows], y_proba[start : start + rows] = draw(rows, k, seed)
        start += rows
    return Sample(y_true, y_proba)


@lru_cache(maxsize=1)
def network_sample(n: int, k: int) -> Sample:
    """Draw predictions with the spread of a network's: one class stands out, with a wide tail.

    Labels are drawn at a temperature of 1.3, so that the network is over-confident.
    """
    rng = np.random.default_rng(0)
    y_true, y_proba = np.empty(n, dtype=np.int64), np.empty((n, k))
    start = 0
    for rows in blocks(n, k):
        logits = 2.0 * rng.standard_normal((rows, k))
        logits[np.arange(rows), rng.integers(0, k, rows)] += rng.normal(np.log(k) + 4.0, 3.0, rows)
        noise = rng.gumbel(size=(rows, k))
        y_true[start : start + rows] = (logits / 1.3 + noise).argmax(axis=1)
        logits -= logits.max(axis=1, keepdims=True)
        prob = np.exp(logits)
        y_proba[start : start + rows] = prob / prob.sum(axis=1, keepdims=True)
        start += rows
    return Sample(y_true, y_proba)
