"""Time and memory against sample size and number of classes, on logarithmic axes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from propercal.experiments.figures import COLOURS, STYLE, legend, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The estimates; what is called beside them is in the table.
_SHOWN = (
    "default canonical",
    "authors",
    "default classwise",
    "risk classwise",
    "default top-label",
    "default sketch",
    "risk canonical",
)
_MARKERS = "osD^vP"
_LINES = ("-", "--")
_AXES = (("sample_size", "n_classes", "sample size n"), ("n_classes", "sample_size", "classes k"))
_QUANTITIES = (("seconds_median", "time in s"), ("memory", "added memory in MiB"))


def save(result: xr.Dataset, path: Path) -> list[Path]:
    """Draw the estimates that have two sizes or more, as PNG and SVG."""
    import matplotlib as mpl

    mpl.use("agg")
    with mpl.rc_context(STYLE):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.2, 6.4), layout="constrained")
        axes = figure.subplots(2, 2, sharex="col", sharey="row", squeeze=False)
        for column, (along, fixed, label) in zip(axes.T, _AXES, strict=True):
            for axis, (name, _) in zip(column, _QUANTITIES, strict=True):
                _draw(axis, result, name, along, fixed)
                _guide(axis)
            column[-1].set_xlabel(label)
        for axis, (_, label) in zip(axes[:, 0], _QUANTITIES, strict=True):
            axis.set_ylabel(label)
        legend(figure, axes)
        path.parent.mkdir(parents=True, exist_ok=True)
        return write(figure, path.parent, path.stem)


def _draw(axis: Axes, result: xr.Dataset, name: str, along: str, fixed: str) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.grid(color="0.9", linewidth=0.6)
    axis.set_axisbelow(True)
    for i, series in enumerate(_SHOWN):
        if series not in result["series"]:
            continue
        values = result[name].sel(series=series)
        for level in result[fixed].values:
            curve = values.sel({fixed: level}).dropna(along)
            # A series that added no memory has no place on a logarithmic axis.
            curve = curve.where(curve > 0, drop=True)
            if curve.sizes[along] < 2:
                continue
            axis.plot(curve[along], curve, label=_named(series), **_style(i))


def _guide(axis: Axes) -> None:
    """Draw linear growth through the lower left corner of what is shown."""
    (left, right), (bottom, top) = axis.get_xlim(), axis.get_ylim()
    end = min(right, left * top / bottom)
    axis.plot(
        [left, end],
        [bottom, bottom * end / left],
        ":",
        color="0.3",
        label="linear",
        scalex=False,
        scaley=False,
    )


def _named(series: str) -> str:
    return series.replace("classwise", "class-wise").replace("authors", "authors' code")


def _style(i: int) -> dict[str, Any]:
    return {
        "color": COLOURS[i % len(COLOURS)],
        "marker": _MARKERS[i % len(_MARKERS)],
        "linestyle": _LINES[i // len(COLOURS) % len(_LINES)],
    }
