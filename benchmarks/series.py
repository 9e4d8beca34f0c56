"""The series that can be measured: what is called, what it is compared with, and how it grows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import rivals, workloads
from benchmarks.cases import Prepare

Size = Callable[[int, int], float]


def _pairs(n: int, k: int) -> float:
    return n * n * (10.0 + k)


def _pairs_by_class(n: int, k: int) -> float:
    return float(n) * n * k


def _entries(n: int, k: int) -> float:
    return float(n) * k


def _rows(n: int, k: int) -> float:
    return n * (10.0 + k)


def _several_copies(n: int, k: int) -> float:
    return 8.0 * 10 * n * k


def _constant(*_: int) -> float:
    return 2e8


@dataclass(frozen=True)
class Series:
    """One kind of work, at any size."""

    prepare: Prepare
    reference: Prepare | None = None
    """Called in turn with it; its time is the unit of the ratio."""
    reference_name: str = ""
    cost: Size = _entries
    """How the time is expected to grow with (n, k): decides what is not tried, nothing else."""
    needs: Size = _several_copies
    """Bytes that (n, k) is expected to take."""
    on_device: bool = False
    """Computes where ``--device`` says."""


SERIES: dict[str, Series] = {
    "canonical": Series(workloads.canonical, workloads.bare, "bare limit", _pairs),
    "classwise": Series(workloads.classwise),
    "classwise exact": Series(
        workloads.classwise_exact, workloads.classwise, "classwise", _pairs_by_class
    ),
    "top-label": Series(workloads.top_label, cost=_rows),
    "debiased": Series(workloads.debiased, workloads.canonical, "canonical", _rows),
    "sketch": Series(workloads.sketch, workloads.reading, "reading", _entries, _constant),
    "search": Series(workloads.search, workloads.canonical, "canonical", _pairs),
    "classwise search": Series(
        workloads.classwise_search, workloads.classwise_log, "classwise log"
    ),
    "test": Series(workloads.test, workloads.canonical, "canonical", _rows),
    "classwise test": Series(workloads.classwise_test, workloads.classwise_log, "classwise log"),
    "torch canonical": Series(
        workloads.torch_canonical, workloads.canonical, "canonical", _pairs, on_device=True
    ),
    "torch classwise": Series(
        workloads.torch_classwise, workloads.classwise, "classwise", on_device=True
    ),
    "authors": Series(
        rivals.authors,
        workloads.canonical,
        "canonical",
        _pairs_by_class,
        rivals.authors_bytes,
        on_device=True,
    ),
    **{
        name: Series(rivals.package, workloads.top_label, "top-label", _rows)
        for name in rivals.PACKAGES
    },
}
