"""The axes to draw on, how all of them look, and the names on them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from propercal._data.words.messages import bad_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_for(ax: object, *, size: tuple[float, float] = (6.6, 3.6)) -> Axes:
    """Return the given axes, or those of a new figure; both in the style of this package."""
    check_matplotlib()
    from matplotlib.axes import Axes

    if ax is None:
        from matplotlib import pyplot as plt

        ax = plt.subplots(figsize=size, layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise bad_value(
            "ax",
            f"an object of type {type(ax).__name__}",
            "a matplotlib Axes or None",
            "pass one panel, such as the second result of matplotlib.pyplot.subplots()",
        )
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    return ax


def check_matplotlib(what: str = "propercal.plotting") -> None:
    """Say what to install where it is missing."""
    try:
        import matplotlib.axes  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'{what} needs matplotlib; install it with: pip install "propercal[plot]"'
        ) from error


def read_names(names: object, n: int) -> list[str]:
    """Return the names of `n` things that are drawn, or raise."""
    if (
        isinstance(names, str)
        or not isinstance(names, Sequence)
        or len(names) != n
        or not all(isinstance(name, str) for name in names)
    ):
        raise bad_value("names", repr(names), f"{n} strings", "name each once")
    return list(names)


def literal(text: str) -> str:
    """Return a text in which a dollar sign is one, and begins no formula."""
    return re.sub(r"(?<!\\)\$", r"\\$", text)


def in_lines(text: str, width: int) -> str:
    """Return a name in three lines of `width` letters or fewer."""
    lines = textwrap.wrap(text, width, max_lines=3, placeholder=" …")
    return literal("\n".join(lines))


def units_of(units: str) -> str:
    """Return units as they follow a name on an axis, in brackets if they hold none."""
    return f", {units}" if "(" in units else f" ({units})" if units else ""


def add_grid(ax: Axes, **options: Any) -> None:
    """Draw light lines behind the data."""
    ax.grid(color="0.9", linewidth=0.6, **options)


def add_legend(ax: Axes, handles: Sequence[Any] | None = None) -> None:
    """Name what is drawn where it hides neither data nor a title.

    That is right of the panel, and below it in a figure that has no room beside it.
    """
    found: Sequence[Any] = ax.get_legend_handles_labels()[0] if handles is None else handles
    labels = [literal(each.get_label()) for each in found]
    below = ax.figure.figure.get_figwidth() < _NARROW
    place = _below(ax, labels) if below else {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
    ax.legend(
        handles=found,
        labels=labels,
        frameon=False,
        fontsize="small",
        borderaxespad=0.0,
        **place,
    )


#: Inches; a legend beside the panel would take a third of such a figure.
_NARROW = 5.0


def _below(ax: Axes, labels: Sequence[str]) -> dict[str, Any]:
    """Return where a legend stands that is below the numbers and the name of the lower axis."""
    from matplotlib.transforms import ScaledTranslation

    scale = ax.figure.figure.dpi_scale_trans
    longest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    return {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, 0.0),
        "bbox_transform": ax.transAxes + ScaledTranslation(0, -0.55, scale),
        "ncols": 2 if longest <= 24 else 1,
    }


def panels_for(ax: object, n: int, *, each: tuple[float, float], beside: float = 2.2) -> list[Axes]:
    """Return `n` given axes, or those of a new figure, at most four in a row.

    `beside` is the room for a legend at the right, in inches.
    """
    if ax is None:
        check_matplotlib()
        from matplotlib import pyplot as plt

        columns = min(n, 4)
        rows = -(-n // columns)
        size = (each[0] * columns + beside, each[1] * rows)
        _, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
        for axis in grid.flat[n:]:
            axis.set_axis_off()
        return [axes_for(axis) for axis in grid.flat[:n]]
    found = list(ax.flat) if hasattr(ax, "flat") else list(ax) if isinstance(ax, Sequence) else [ax]
    if len(found) != n:
        raise bad_value(
            "ax", f"{len(found)} panels", f"{n}", f"pass those of pyplot.subplots(1, {n})"
        )
    return [axes_for(axis) for axis in found]
