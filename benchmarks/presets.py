"""How much is measured: the sizes of each series, in the order in which they are run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.rivals import PACKAGES, installed

Sizes = tuple[tuple[int, int], ...]
#: Series whose sizes are those of the packages that happen to be installed.
_PACKAGES = "packages"


@dataclass(frozen=True)
class Preset:
    """Sizes (n, k) by series, and the time that they may take."""

    sizes: dict[str, Sizes]
    total_seconds: float
    """No case is begun later."""
    case_seconds: float
    """For the repetitions of a case."""
    max_repeats: int
    longest_seconds: float
    """A case of which one call is expected to take longer is not tried."""
    authors_seconds: float
    """Instead, for the authors' code, which is what everything else is compared with."""

    def plan(self, *, authors: bool, only: Sequence[str] | None) -> dict[str, Sizes]:
        """Return the sizes by series, packages that are not installed left out."""
        sizes = {name: rows for name, rows in self.sizes.items() if name != _PACKAGES}
        if not authors:
            sizes.pop("authors", None)
        found = [name for name in PACKAGES if installed(name)]
        sizes |= dict.fromkeys(found, self.sizes.get(_PACKAGES, ()))
        return {name: rows for name, rows in sizes.items() if rows and (not only or name in only)}


def _over_n(k: int, *sizes: float) -> Sizes:
    return tuple((int(n), k) for n in sizes)


def _over_k(n: float, *class_counts: int) -> Sizes:
    return tuple((int(n), k) for k in class_counts)


TINY = Preset(
    sizes={
        "default classwise": _over_n(3, 200, 800),
        "risk canonical": _over_n(3, 200, 800),
        "default sketch": _over_n(3, 800),
        "authors": _over_n(3, 100),
    },
    total_seconds=60.0,
    case_seconds=0.2,
    max_repeats=3,
    longest_seconds=20.0,
    authors_seconds=1.0,
)
QUICK = Preset(
    sizes={
        "default classwise": _over_n(10, 1e3, 1e4, 1e5) + _over_k(1e4, 100),
        "default top-label": _over_n(10, 1e4, 1e5, 1e6),
        "default canonical": _over_n(10, 1e3, 1e4) + _over_n(2, 1e5) + _over_k(3e3, 100),
        "authors": _over_n(10, 1e3, 1e4),
        "risk classwise": _over_n(10, 1e4, 1e5, 1e6),
        "risk canonical": _over_n(10, 1e3, 1e4),
        "default sketch": _over_n(10, 1e5, 1e6),
        "default test classwise": _over_n(10, 1e4),
        "default test canonical": _over_n(10, 3e3),
        "default paired classwise": _over_n(10, 1e4),
        "default torch classwise": _over_n(10, 1e4),
        "default network top-label": _over_n(100, 1e4),
        "default network classwise": _over_n(100, 1e4),
        "default network canonical": _over_n(100, 1e4),
        "risk classwise exact": _over_n(10, 1e3, 3e3),
        "risk top-label": _over_n(10, 1e5),
        "risk sketch": _over_n(10, 1e5),
        "risk search classwise": _over_n(10, 1e4),
        "risk search canonical": _over_n(10, 3e3),
        "risk torch canonical": _over_n(10, 3e3),
        "risk torch classwise": _over_n(10, 1e5),
        _PACKAGES: _over_n(10, 1e4),
    },
    total_seconds=105.0,
    case_seconds=1.0,
    max_repeats=5,
    longest_seconds=8.0,
    authors_seconds=40.0,
)
FULL = Preset(
    sizes={
        "default classwise": _over_n(10, 300, 1e3, 1e4, 1e5, 1e6) + _over_k(1e4, 2, 100),
        "default top-label": _over_n(10, 300, 1e3, 1e4, 1e5, 1e6, 1e7),
        "default canonical": _over_n(10, 300, 1e3, 3e3, 1e4, 3e4)
        + _over_n(2, 1e5)
        + _over_k(3e3, 2, 100),
        "authors": _over_n(10, 1e3, 3e3, 1e4) + _over_k(3e3, 2, 100),
        "default network top-label": _over_n(1000, 5e4),
        "default network classwise": _over_n(1000, 5e4),
        "default network canonical": _over_n(1000, 5e4),
        "default sketch": _over_n(10, 1e5, 1e6, 1e7),
        "default test classwise": _over_n(10, 1e4, 1e5),
        "default test canonical": _over_n(10, 1e3, 1e4),
        "default paired classwise": _over_n(10, 1e4, 1e5),
        "default torch classwise": _over_n(10, 1e4, 1e5),
        _PACKAGES: _over_n(10, 1e4, 1e5),
        "risk canonical": _over_n(10, 1e3, 3e3, 1e4, 3e4) + _over_k(1e4, 2, 100, 1000),
        "risk classwise": _over_n(10, 1e3, 1e4, 1e5, 1e6) + _over_k(1e4, 2, 100, 1000),
        "risk classwise exact": _over_n(10, 1e3, 3e3, 1e4),
        "risk top-label": _over_n(10, 1e4, 1e5, 1e6),
        "risk sketch": _over_n(10, 1e5, 1e6),
        "risk search canonical": _over_n(10, 1e3, 3e3, 1e4),
        "risk search classwise": _over_n(10, 1e4, 1e5),
        "risk torch canonical": _over_n(10, 1e3, 1e4),
        "risk torch classwise": _over_n(10, 1e4, 1e5),
    },
    total_seconds=1500.0,
    case_seconds=4.0,
    max_repeats=9,
    longest_seconds=300.0,
    authors_seconds=100.0,
)
PRESETS = {"tiny": TINY, "quick": QUICK, "full": FULL}
