"""Tables of the page on speed: the benchmark's times in short, and all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.series import SERIES
from book.answers import minus
from book.pages import table

if TYPE_CHECKING:
    import xarray as xr
    from IPython.display import Markdown

#: What most readers look for, by the head of its column.
SHORT = {
    "default top-label": "first choices",
    "default classwise": "class-wise",
    "default canonical": "canonical",
    "default sketch": "class-wise, in chunks",
    "authors": "authors' code, canonical",
}


def count(n: int) -> str:
    """Return a number of rows as a reader of tables likes it."""
    return f"{n:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def named(series: str) -> str:
    """Return the name of a series of the benchmark."""
    return series.replace("classwise", "class-wise").replace("authors", "authors' code")


def _rounded(value: float, digits: int) -> str:
    if not np.isfinite(value):
        return "–"
    return f"{value:.{digits}f}" if digits else count(round(value))


def short(of: xr.Dataset, name: str, digits: int) -> Markdown:
    """Show one quantity of the default and of the authors' code with ten classes."""
    at = of[name].sel(n_classes=10, series=list(SHORT)).dropna("sample_size", how="all")
    rows = []
    for n in at["sample_size"].values.tolist():
        cells = (at.sel(sample_size=n, series=series).item() for series in SHORT)
        rows.append([count(n), *(_rounded(cell, digits) for cell in cells)])
    return table(["rows", *SHORT.values()], rows, words=0)


def whole(of: xr.Dataset) -> Markdown:
    """Show every time, memory and ratio."""
    rows = []
    for series in of["series"].values.tolist():
        at = of.sel(series=series).stack(size=("sample_size", "n_classes"))
        for n, k in at["size"].values.tolist():
            case = at.sel(size=(n, k))
            values = (case[name].item() for name in ("seconds_median", "memory", "ratio", "error"))
            seconds, memory, ratio, error = values
            if error:
                rows.append([named(series), "–", count(n), k, error, "–", "–"])
            elif np.isfinite(seconds):
                known = np.isfinite(ratio)
                to, times = (
                    (named(SERIES[series].reference_name), f"{ratio:.3g}") if known else "––"
                )
                cells = (count(n), k, f"{seconds:.3g}", f"{memory:.0f}", times)
                rows.append([named(series), to, *cells])
    return table(("series", "called in turn", "n", "k", "s", "MiB", "ratio"), rows, words=2)


def growth(of: xr.Dataset) -> Markdown:
    """Show exponents of time and memory."""
    rows = []
    for letter, dim, fixed, suffix in (
        ("n", "n_classes", "k", ""),
        ("k", "sample_size", "n", "_in_k"),
    ):
        for series in of["series"].values.tolist():
            for size in of[dim].values.tolist():
                at = of.sel({"series": series, dim: size})
                time, memory = (
                    at[f"{what}_exponent{suffix}"].item() for what in ("time", "memory")
                )
                if np.isfinite(time):
                    grown = minus(f"{memory:.2f}") if np.isfinite(memory) else "–"
                    at_size = f"{fixed} = {count(size)}"
                    rows.append([named(series), letter, at_size, minus(f"{time:.2f}"), grown])
    return table(("series", "in", "at", "time", "memory"), rows, words=3)
