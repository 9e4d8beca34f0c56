"""What is timed of propercal: each function takes a case and returns the call to time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np

import propercal
from benchmarks import decomposition
from benchmarks.cases import BANDWIDTH, Case, Prepare, Sample, blocks, draw, network_sample, sample

Call = Callable[[], object]
Drawn = Callable[[int, int], Sample]


def _called(function: Callable[..., object], drawn: Drawn = sample, **settings: Any) -> Prepare:
    """Time a function of labels and predictions."""

    def prepare(case: Case, _: Path) -> Call:
        data = drawn(case.n, case.k)
        return lambda: function(*data, **settings)

    return prepare


def default(notion: str) -> Prepare:
    """Time `decompose` with its default method, log loss."""
    return _called(propercal.decompose, notion=notion)


def network(notion: str) -> Prepare:
    """Time the same on predictions that are spread as those of a network of many classes."""
    return _called(propercal.decompose, network_sample, notion=notion)


def risk(notion: str, algorithm: str = "auto") -> Prepare:
    """Time the published estimate at a given bandwidth, log loss."""
    return _called(_risk, notion=notion, algorithm=algorithm)


def bare(case: Case, _: Path) -> Call:
    """Time the matrix products and exponentials of the exact kernel alone."""
    y_proba = sample(case.n, case.k).y_proba
    return lambda: decomposition.bare_limit(y_proba)


def search(notion: str) -> Prepare:
    """Time the choice of a bandwidth."""
    return _called(propercal.select_bandwidth, notion=notion)


def test(notion: str) -> Prepare:
    """Time the test of calibration."""
    return _called(propercal.calibration_test, notion=notion, n_resamples=999, random_state=0)


def paired(notion: str) -> Prepare:
    """Time the comparison of two models."""

    def prepare(case: Case, _: Path) -> Call:
        y_true, y_proba = sample(case.n, case.k)
        other = y_proba**1.2
        other = other / other.sum(axis=1, keepdims=True)
        return lambda: propercal.paired_difference(y_true, y_proba, other, notion=notion)

    return prepare


def on_tensors(prepared: Literal["default", "risk"], notion: str, algorithm: str) -> Prepare:
    """Time the same on tensors."""

    def prepare(case: Case, _: Path) -> Call:
        data = _tensors(case)
        settings: dict[str, Any] = {"notion": notion, "algorithm": algorithm}
        call: Callable[..., Any] = _risk if prepared == "risk" else propercal.decompose
        # A number on the host: a GPU has finished by then.
        return lambda: float(call(*data, **settings).calibration_error)

    return prepare


def sketch(method: Literal["debiased", "risk"]) -> Prepare:
    """Time a stream of chunks on disk."""
    settings: dict[str, Any] = {"bandwidth": BANDWIDTH} if method == "risk" else {}

    def prepare(case: Case, folder: Path) -> Call:
        paths = _stream(case, folder)

        def one_pass() -> object:
            # Two halves that are merged, as two machines would.
            parts = [
                propercal.CalibrationSketch(case.k, generator="log", notion="classwise", **settings)
                for _ in range(2)
            ]
            for i, (y_true, y_proba) in enumerate(paths):
                parts[i % 2].update(np.load(y_true), np.load(y_proba, mmap_mode="r"))
            return parts[0].merge(parts[1]).result(method=method)

        return one_pass

    return prepare


def reading(case: Case, folder: Path) -> Call:
    """Read the stream and add it up: no pass over it can be faster."""
    paths = _stream(case, folder)
    return lambda: [
        (np.load(y_true).sum(), np.load(y_proba, mmap_mode="r").sum()) for y_true, y_proba in paths
    ]


def _stream(case: Case, folder: Path) -> list[tuple[Path, Path]]:
    """Write chunks of rows to `folder`, unless they are there, and return their files."""
    sizes = blocks(case.n, case.k)
    paths = [(folder / f"y_true-{i}.npy", folder / f"y_proba-{i}.npy") for i in range(len(sizes))]
    for i, (rows, files) in enumerate(zip(sizes, paths, strict=True)):
        if not files[1].exists():
            for path, array in zip(files, draw(rows, case.k, i), strict=True):
                np.save(path, array)
    return paths


def _tensors(case: Case) -> tuple[Any, Any]:
    import torch

    y_true, y_proba = sample(case.n, case.k)
    return (
        torch.from_numpy(y_true).to(case.device),
        torch.from_numpy(y_proba).to(case.device),
    )


def _risk(y_true: Any, y_proba: Any, **settings: Any) -> Any:
    return propercal.decompose(y_true, y_proba, method="risk", bandwidth=BANDWIDTH, **settings)
