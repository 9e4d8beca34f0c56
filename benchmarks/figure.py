"""Time and memory against sample size and number of classes, on logarithmic axes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from propercal.experiments.figures import STYLE, legend, panels, write
from studies.styles import STYLES, WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The estimates; what is called beside them is in the table.
_SHOWN = (
    "default canonical",
    "default classwise",
    "default top-label",
    "default sketch",
    "risk canonical",
    "risk classwise",
    "authors",
)
#: Marker and line by the end of a series' name: what is asked of an estimate.
_ASKED = {
    "canonical": ("o", "-"),
    "classwise": ("D", "--"),
    "top-label": ("^", "-."),
    "sketch": ("P", (0, (8, 2, 1, 2, 1, 2))),
    "authors": ("x", "-"),
}
_AXES = (("sample_size", "n_classes", "sample size n"), ("n_classes", "sample_size", "classes k"))
_QUANTITIES = (("seconds_median", "time in s"), ("memory", "added memory in MiB"))


def save(result: xr.Dataset, path: Path) -> list[Path]:
    """Draw the estimates that have two sizes or more, as PNG and SVG."""
    import matplotlib as mpl

    mpl.use("agg")
    with mpl.rc_context(STYLE):
        title = "Time, and memory beside the data, of one call"
        figure, axes = panels(2, 2, (WIDTH, 6.4), title, sharex="col", sharey="row")
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
    for series in _SHOWN:
        if series not in result["series"]:
            continue
        values = result[name].sel(series=series)
        for level in result[fixed].values:
            curve = values.sel({fixed: level}).dropna(along)
            # A series that added no memory has no place on a logarithmic axis.
            curve = curve.where(curve > 0, drop=True)
            if curve.sizes[along] < 2:
                continue
            axis.plot(curve[along], curve, label=_named(series), **_style(series))


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


def _style(series: str) -> dict[str, Any]:
    """Return the colour of the method, and the marker and line of what is asked of it."""
    method, _, asked = series.partition(" ")
    marker, line = _ASKED[asked or method]
    colours = {"default": STYLES["debiased"][0], "risk": STYLES["risk"][0], "authors": "black"}
    return {"color": colours[method], "marker": marker, "linestyle": line}
