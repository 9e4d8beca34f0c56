"""Bars of the terms of decompositions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.words.messages import bad_value
from propercal.plotting.axes import add_grid, add_legend, axes_for, read_names
from propercal.plotting.palette import COLOURS, HATCHES, N_STYLES
from propercal.result import TERMS, Decomposition

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def decomposition_bars(
    results: Decomposition | Sequence[Decomposition],
    *,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw risk, calibration error, refinement, sharpness and uncertainty side by side.

    Parameters
    ----------
    results : Decomposition or sequence of Decomposition
        At most six, such as those of several models, methods or generators.
    names : sequence of str, optional
        One for each result; by default the settings in which they differ, else their numbers.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A group of bars for each term, with intervals at the level of each result where it has one
        (:meth:`propercal.Decomposition.interval`). An infinite term has "∞" in place of a bar.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from propercal import decompose
    >>> from propercal.plotting import decomposition_bars
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(500, random_state=0)
    >>> results = decompose(y_true, y_proba, generator=["log", "brier"], bandwidth=0.02)
    >>> ax = decomposition_bars(results)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['log loss (nats)', 'brier loss']
    """
    results = _read_results(results)
    if names is None:
        names = _default_names(results)
    else:
        names = read_names(names, len(results))
        _check_names(names, results)
    axis = axes_for(ax, size=(7.4, 3.4))
    width = 0.8 / len(results)
    for i, (result, name) in enumerate(zip(results, names, strict=True)):
        x = np.arange(len(TERMS)) + width * (i - (len(results) - 1) / 2)
        _draw(axis, x, width, result, i, name)
    axis.set_xticks(range(len(TERMS)), [term.replace("_", "\n") for term in TERMS])
    axis.tick_params(axis="x", length=0)
    axis.axhline(0, color="black", linewidth=0.8)
    units = {result.units for result in results}
    axis.set_ylabel("value (nats)" if units == {"nats"} else "value")
    axis.margins(y=0.1)
    add_grid(axis, axis="y")
    add_legend(axis)
    return axis


def _draw(
    axis: Axes,
    x: npt.NDArray[np.floating[Any]],
    width: float,
    result: Decomposition,
    i: int,
    name: str,
) -> None:
    values = np.array([float(to_numpy(getattr(result, term))) for term in TERMS])
    finite = np.isfinite(values)
    axis.bar(
        x[finite],
        values[finite],
        0.94 * width,
        color=COLOURS[i],
        edgecolor="white" if HATCHES[i] else COLOURS[i],
        hatch=HATCHES[i],
        linewidth=0,
        label=name,
    )
    for at, value in zip(x[~finite], values[~finite], strict=True):
        text = "?" if math.isnan(value) else "∞" if value > 0 else "−∞"
        axis.annotate(text, (at, 0), (0, 3), textcoords="offset points", ha="center", fontsize=12)
    for at, value, term in zip(x, values, TERMS, strict=True):
        if math.isfinite(value) and math.isfinite(result.standard_errors.get(term, math.inf)):
            low, high = result.interval(term)
            # A line, for a divergence's interval may end above an estimate below 0.
            axis.errorbar(
                [at],
                [(low + high) / 2],
                [[(high - low) / 2]] * 2,
                linestyle="",
                color="black",
                elinewidth=1.0,
                capsize=3,
            )


def _read_results(results: object) -> list[Decomposition]:
    found = [results] if isinstance(results, Decomposition) else results
    expected = f"a Decomposition, or 1 to {N_STYLES} of them"
    fix = "pass what propercal.decompose returns"
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise bad_value("results", f"an object of type {type(results).__name__}", expected, fix)
    if not 1 <= len(found) <= N_STYLES:
        raise bad_value("results", f"{len(found)} results", expected, "draw fewer on one panel")
    for i, each in enumerate(found):
        if not isinstance(each, Decomposition):
            raise bad_value(f"results[{i}]", f"of type {type(each).__name__}", expected, fix)
    return list(found)


def _check_names(names: Sequence[str], results: list[Decomposition]) -> None:
    """Raise where a name is a setting of another result, and not of its own."""
    for settings in zip(
        *((each.generator.name, each.notion, each.method) for each in results), strict=True
    ):
        odd = [i for i, name in enumerate(names) if name in settings and name != settings[i]]
        if odd:
            raise bad_value(
                "names",
                list(names),
                f"the order of the results, which are of {list(settings)}",
                "bring both into one order, or leave names out",
            )


def _default_names(results: list[Decomposition]) -> list[str]:
    settings = [
        (
            f"{each.generator.name} loss" + (f" ({each.units})" if each.units else ""),
            each.notion,
            each.method,
            each.kernel,
            f"γ = {each.bandwidth:.3g}",
            f"n = {each.n_samples}",
        )
        for each in results
    ]
    if len(results) == 1:
        return [", ".join(settings[0][:3])]
    # As few settings as tell the results apart.
    names = [""] * len(settings)
    for kind in zip(*settings, strict=True):
        longer = [
            f"{name}, {each}" if name else each for name, each in zip(names, kind, strict=True)
        ]
        if len(set(longer)) > len(set(names)):
            names = longer
    if len(set(names)) == len(names):
        return names
    return [f"{name} ({i + 1})" if name else f"result {i + 1}" for i, name in enumerate(names)]
