"""Print how many lines and branches of propercal the tests reach; fail below the floors.

Reads the file that `coverage json` writes, as `make coverage` does.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

FLOORS = {"lines": 97.0, "branches": 94.0}


def shares(totals: dict[str, int]) -> dict[str, float]:
    """Return the shares of lines and of branches that were run, in percent."""
    counts = {
        "lines": (totals["covered_lines"], totals["num_statements"]),
        "branches": (totals["covered_branches"], totals["num_branches"]),
    }
    return {kind: 100 * covered / of for kind, (covered, of) in counts.items()}


def main(path: str) -> int:
    """Print a line for each share; return 1 if one is too low."""
    found = shares(json.loads(Path(path).read_text(encoding="utf-8"))["totals"])
    for kind, share in found.items():
        print(f"{kind}: {share:.2f} % (at least {FLOORS[kind]:g} %)")
    return int(any(share < FLOORS[kind] for kind, share in found.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
