"""What is timed of propercal: each function takes a case and returns the call to time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import propercal
from benchmarks import decomposition
from benchmarks.cases import BANDWIDTH, Case, blocks, draw, sample

Call = Callable[[], object]


def canonical(case: Case, _: Path) -> Call:
    data = sample(case.n, case.k)
    return lambda: _risk(*data, algorithm="exact")


def bare(case: Case, _: Path) -> Call:
    y_proba = sample(case.n, case.k).y_proba
    return lambda: decomposition.bare_limit(y_proba)


def classwise(case: Case, _: Path) -> Call:
    data = sample(case.n, case.k)
    return lambda: _risk(*data, notion="classwise", generator=["log", "brier"])


def classwise_exact(case: Case, _: Path) -> Call:
    data = sample(case.n, case.k)
    settings: dict[str, Any] = {"notion": "classwise", "generator": ["log", "brier"]}
    return lambda: _risk(*data, **settings, algorithm="exact")


def classwise_log(case: Case, _: Path) -> Call:
    data = sample(case.n, case.k)
    return lambda: _risk(*data, notion="classwise")


def top_label(case: Case, _: Path) -> Call:
    data = sample(case.n, case.k)
    return lambda: _risk(*data, notion="top-label")


def debiased(case: Case, _: Path) -> Call:
    data = sample(case.n, case.k)
    return lambda: propercal.decompose(*data)


def search(case: Case, _: Path) -> Call:
    data = sample(case.n, case.k)
    return lambda: propercal.select_bandwidth(*data)


def classwise_search(case: Case, _: Path) -> Call:
    data = sample(case.n, case.k)
    return lambda: propercal.select_bandwidth(*data, notion="classwise")


def test(case: Case, _: Path) -> Call:
    data = sample(case.n, case.k)
    return lambda: propercal.calibration_test(*data, n_resamples=999, random_state=0)


def classwise_test(case: Case, _: Path) -> Call:
    data = sample(case.n, case.k)
    return lambda: propercal.calibration_test(
        *data, notion="classwise", n_resamples=999, random_state=0
    )


def torch_canonical(case: Case, _: Path) -> Call:
    data = _tensors(case)
    # A number on the host: a GPU has finished by then.
    return lambda: float(_risk(*data, algorithm="exact").calibration_error)


def torch_classwise(case: Case, _: Path) -> Call:
    data = _tensors(case)
    settings: dict[str, Any] = {"notion": "classwise", "generator": ["log", "brier"]}
    return lambda: [float(result.calibration_error) for result in _risk(*data, **settings)]


def sketch(case: Case, folder: Path) -> Call:
    paths = _stream(case, folder)

    def one_pass() -> object:
        # Two halves that are merged, as two machines would.
        parts = [
            propercal.CalibrationSketch(
                case.k, generator="log", notion="classwise", bandwidth=BANDWIDTH
            )
            for _ in range(2)
        ]
        for i, (y_true, y_proba) in enumerate(paths):
            parts[i % 2].update(np.load(y_true), np.load(y_proba, mmap_mode="r"))
        return parts[0].merge(parts[1]).result(method="risk")

    return one_pass


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
