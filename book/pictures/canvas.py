"""What the pictures of the derivations share: size, type, colours, and how they are written."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propercal.plotting.palette import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED, GREEN = COLOURS[:3]
GREY = "#555555"
PALE = "#d9d9d9"

#: Inches. A window of 400 px shows this at four fifths of its size, in type that can still be read.
WIDTH = 4.8
_STYLE: dict[Any, Any] = {
    "font.size": 11,
    "axes.labelsize": 11,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "lines.linewidth": 1.8,
    "svg.hashsalt": "propercal",
}
#: The modules beside the pictures themselves.
_OTHERS = {"__init__", "canvas"}


def names() -> list[str]:
    """Return the names of all pictures."""
    files = Path(__file__).parent.glob("*.py")
    return sorted(path.stem for path in files if path.stem not in _OTHERS)


def canvas(height: float = 3.3) -> tuple[Figure, Axes]:
    """Return a figure of the common width and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axis = figure.subplots()
    axis.spines[["top", "right"]].set_visible(False)
    return figure, axis


def gap(axis: Axes, x: float, ends: tuple[float, float], colour: str) -> None:
    """Draw a distance that is measured upwards, with a bar at both ends."""
    style = {"arrowstyle": "|-|, widthA=.25, widthB=.25", "color": colour, "lw": 1.8}
    axis.annotate("", (x, ends[1]), (x, ends[0]), arrowprops={**style, "shrinkA": 0, "shrinkB": 0})


def arrow(axis: Axes, start: Any, end: Any, colour: str, width: float = 1.4) -> None:
    """Draw an arrow from one place to another."""
    style = {"arrowstyle": "-|>", "color": colour, "lw": width, "shrinkA": 0, "shrinkB": 0}
    axis.annotate("", end, start, arrowprops=style)


@contextmanager
def style() -> Iterator[None]:
    """Draw in the type of this book."""
    import matplotlib as mpl

    with mpl.rc_context(_STYLE):
        yield


def drawn(name: str) -> Figure:
    """Return a picture, in the style of all. Use it within :func:`style`."""
    found: Figure = importlib.import_module(f"book.pictures.{name}").draw()
    return found


def write(name: str, path: Path) -> None:
    """Draw a picture into a file."""
    with style():
        drawn(name).savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
