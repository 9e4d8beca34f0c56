"""Processes and references for torchmetrics' own checker, which imports what it calls by name."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

import propercal

#: As the checker has it.
N_PROCESSES = 2


def prepare(tests: str) -> None:
    """Let this process import the checker from a checkout, without a cache of references."""
    if tests not in sys.path:
        sys.path.insert(0, tests)
    cachier = types.ModuleType("cachier")
    cachier.cachier = lambda **_: lambda function: function  # type: ignore[attr-defined]
    sys.modules["cachier"] = cachier


def join(rank: int, place: str) -> None:
    """Let this process meet the other over gloo."""
    import torch

    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{place}", rank=rank, world_size=N_PROCESSES, timeout=timedelta(seconds=120)
    )


def of_list(term: str, **options: Any) -> Callable[..., Any]:
    """The term of a decomposition of all rows."""
    return _OfRows(term, options)


class _OfRows:
    """A reference that can be sent to a process."""

    def __init__(self, term: str, options: dict[str, Any]) -> None:
        self.term, self.options = term, options

    def __call__(self, preds: Any, target: Any, sample_weight: Any = None) -> npt.NDArray[Any]:
        proba = np.moveaxis(preds.double().numpy(), 1, -1).reshape(-1, preds.shape[1]) if preds.ndim > 1 else preds.double().numpy()
        labels = target.numpy().reshape(-1)
        weight = None if sample_weight is None else sample_weight.double().numpy().reshape(-1)
        found = propercal.decompose(labels, proba, sample_weight=weight, **self.options)
        return np.asarray(getattr(found, self.term))


def of_batches(size: int, **options: Any) -> Callable[..., Any]:
    """The constant-memory metric of batches of one size, in one process."""
    return _OfBatches(size, options)


class _OfBatches:
    def __init__(self, size: int, options: dict[str, Any]) -> None:
        self.size, self.options = size, options

    def __call__(self, preds: Any, target: Any) -> npt.NDArray[Any]:
        from propercal.torchmetrics import StreamingCalibrationError

        metric = StreamingCalibrationError(**self.options, sync_on_compute=False)
        for batch in zip(preds.split(self.size), target.split(self.size), strict=True):
            metric.update(*batch)
        return np.asarray(metric.compute().numpy())
