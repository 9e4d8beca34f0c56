"""How the figures of all studies look, and how they are written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from propercal.plotting import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "STYLE", "legend", "write"]

STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "svg.hashsalt": "propercal",
    "svg.fonttype": "none",
}


def write(figure: Figure, folder: Path, stem: str) -> list[Path]:
    """Write a figure as PNG and SVG."""
    paths = [folder / f"{stem}.{suffix}" for suffix in ("png", "svg")]
    figure.savefig(paths[0], dpi=200)
    # No date, so that equal results make equal files.
    figure.savefig(paths[1], metadata={"Date": None})
    return paths


def legend(figure: Figure, axes: Any, **extra: Any) -> None:
    found: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(
        found.values(),
        found.keys(),
        loc="outside lower center",
        ncols=min(len(found), 5 if len(found) > 4 else 4),
        frameon=False,
        **extra,
    )
