"""Figures of studies: how all of them look, and how they are written."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propercal.experiments.study import Study
from propercal.plotting import COLOURS
from propercal.plotting.axes import check_matplotlib

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "STYLE", "legend", "panels", "save", "write"]

#: Settings of matplotlib.
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


def save(study: Study[Any], summary: xr.Dataset, folder: Path, name: str) -> list[Path]:
    """Draw one figure of a study and write it twice."""
    if study.figures is None:
        return []
    check_matplotlib("a figure of a study")
    import matplotlib as mpl

    mpl.use("agg")
    with mpl.rc_context(STYLE):
        return write(study.figures(summary)[name](), folder, name)


def write(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and SVG."""
    paths = [folder / f"{name}.{suffix}" for suffix in ("png", "svg")]
    figure.savefig(paths[0], dpi=200)
    # No date, so that equal results make equal files.
    figure.savefig(paths[1], metadata={"Date": None})
    return paths


def panels(
    n_rows: int, n_columns: int, size: tuple[float, float], title: str = "", **options: Any
) -> tuple[Figure, Any]:
    """Return a figure of `size` inches, and its axes as rows by columns."""
    check_matplotlib("a figure of a study")
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, **options)
    if title:
        figure.suptitle(_wrapped(title, size[0]), fontsize=10)
    return figure, axes


def _wrapped(title: str, width: float) -> str:
    """Return a title in lines of about one length, which so many inches have room for."""
    most = int(13 * width)
    lines: list[str] = []
    for part in title.split("\n"):
        n = max(1, -(-len(part) // most))
        found = textwrap.wrap(part, most)
        even = textwrap.wrap(part, min(most, len(part) // n + 8))
        lines += even if len(even) == len(found) else found
    return "\n".join(lines)


def legend(figure: Figure, axes: Any, **extra: Any) -> None:
    """Draw one legend below all axes, with every label once."""
    found: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(
        found.values(),
        found.keys(),
        loc="outside lower center",
        ncols=_columns(list(found), figure.get_figwidth()),
        frameon=False,
        **extra,
    )


def _columns(labels: list[str], width: float) -> int:
    """Return how many labels stand beside each other in so many inches."""
    longest = max((len(label) for label in labels), default=0)
    fitting = int(width / (0.55 + 0.065 * longest))
    return max(1, min(len(labels), fitting, 5 if len(labels) > 4 else 4))
