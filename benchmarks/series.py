"""The series that can be measured: what is called, what it is compared with, and how it grows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import rivals, workloads
from benchmarks.cases import Prepare

NOTIONS = ("canonical", "classwise", "top-label")
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


def _default(notion: str) -> Series:
    return Series(workloads.default(notion), workloads.risk(notion), f"risk {notion}", cost=_rows)


#: Each name begins with the method: "default" is what a call without one takes, "risk" is the
#: published estimate at a bandwidth that is given.
SERIES: dict[str, Series] = {
    **{f"default {notion}": _default(notion) for notion in NOTIONS},
    **{f"default network {notion}": Series(workloads.network(notion)) for notion in NOTIONS},
    "default sketch": Series(
        workloads.sketch("debiased"), workloads.reading, "reading", _entries, _constant
    ),
    "default test canonical": Series(
        workloads.test("canonical"), workloads.default("canonical"), "default canonical", _rows
    ),
    "default test classwise": Series(
        workloads.test("classwise"), workloads.default("classwise"), "default classwise"
    ),
    "default paired classwise": Series(
        workloads.paired("classwise"), workloads.default("classwise"), "default classwise"
    ),
    "default torch classwise": Series(
        workloads.on_tensors("default", "classwise", "auto"),
        workloads.default("classwise"),
        "default classwise",
        on_device=True,
    ),
    "risk canonical": Series(
        workloads.risk("canonical", "exact"), workloads.bare, "bare limit", _pairs
    ),
    "risk classwise": Series(workloads.risk("classwise")),
    "risk classwise exact": Series(
        workloads.risk("classwise", "exact"),
        workloads.risk("classwise"),
        "risk classwise",
        _pairs_by_class,
    ),
    "risk top-label": Series(workloads.risk("top-label"), cost=_rows),
    "risk sketch": Series(
        workloads.sketch("risk"), workloads.reading, "reading", _entries, _constant
    ),
    "risk search canonical": Series(
        workloads.search("canonical"), workloads.risk("canonical"), "risk canonical", _pairs
    ),
    "risk search classwise": Series(
        workloads.search("classwise"), workloads.risk("classwise"), "risk classwise"
    ),
    "risk torch canonical": Series(
        workloads.on_tensors("risk", "canonical", "exact"),
        workloads.risk("canonical", "exact"),
        "risk canonical",
        _pairs,
        on_device=True,
    ),
    "risk torch classwise": Series(
        workloads.on_tensors("risk", "classwise", "auto"),
        workloads.risk("classwise"),
        "risk classwise",
        on_device=True,
    ),
    "authors": Series(
        rivals.authors,
        workloads.default("canonical"),
        "default canonical",
        _pairs_by_class,
        rivals.authors_bytes,
        on_device=True,
    ),
    **{
        name: Series(rivals.package, workloads.default(notion), f"default {notion}", _rows)
        for name, (_, _, notion) in rivals.PACKAGES.items()
    },
}
