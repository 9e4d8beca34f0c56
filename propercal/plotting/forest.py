"""Forest plot: a term of each group with its interval, and that of all rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from propercal._array import to_numpy
from propercal._data.words.messages import bad_value, unknown_name
from propercal.plotting.axes import add_grid, add_legend, axes_for, in_lines, units_of
from propercal.plotting.palette import COLOURS
from propercal.result import TERMS, Decomposition
from propercal.subgroups import GroupDecomposition

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def forest(
    result: GroupDecomposition, *, term: str = "calibration_error", ax: Axes | None = None
) -> Axes:
    """Draw a term of each group with its interval, one below the other.

    Parameters
    ----------
    result : GroupDecomposition
        What :func:`propercal.decompose_groups` returns.
    term : {"calibration_error", "risk", "refinement", "sharpness", "uncertainty"}
        The term to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A point and its interval for each group, in their order from above, the larger the larger
        its share; filled where the group's adjusted p-value is at most 1 less the confidence level;
        below them all rows, as a diamond, with a line through all groups.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from propercal.plotting import forest
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> from propercal.subgroups import decompose_groups
    >>> y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(200, random_state=0)
    >>> site = np.where(np.arange(200) < 80, "north", "south")
    >>> ax = forest(decompose_groups(y_true, y_proba, groups=site, n_resamples=99))
    >>> [text.get_text().splitlines()[0] for text in ax.get_yticklabels()]
    ['north', 'south', 'all rows']
    """
    if not isinstance(result, GroupDecomposition):
        raise bad_value(
            "result",
            f"an object of type {type(result).__name__}",
            "a GroupDecomposition",
            "pass what propercal.subgroups.decompose_groups returns",
        )
    if term not in TERMS:
        raise unknown_name("term", term, TERMS)
    n = len(result.groups)
    labels = [
        *(f"{in_lines(str(name), 28)}\nn = {x.n_samples}" for name, x in result.groups.items()),
        f"all rows\nn = {result.whole.n_samples}",
    ]
    lines = 1 + max(label.count("\n") for label in labels)
    axis = axes_for(ax, size=(6.4, 1.4 + 0.17 * lines * (n + 1)))
    level = 1 - result.whole.confidence_level
    largest = max(result.shares.values())
    for y, (name, each) in enumerate(result.groups.items()):
        rejected = result.test.adjusted[name] <= level
        size = 3 + 6 * math.sqrt(result.shares[name] / largest)
        _draw(axis, y, each, term, marker="o", size=size, filled=rejected)
    _draw(axis, n, result.whole, term, marker="D", size=7, filled=True, colour="black")
    value = float(to_numpy(getattr(result.whole, term)))
    if math.isfinite(value):
        axis.axvline(value, color="0.6", linewidth=0.8, linestyle="--", zorder=0)
    axis.set_yticks(range(n + 1), labels, fontsize="small")
    axis.set_ylim(n + 0.6, -0.6)
    axis.set_xlabel(term.replace("_", " ") + units_of(result.whole.units))
    add_grid(axis, axis="x")
    _explain(axis, level)
    return axis


def _draw(
    axis: Axes,
    y: int,
    each: Decomposition,
    term: str,
    *,
    marker: str,
    size: float,
    filled: bool,
    colour: str = COLOURS[0],
) -> None:
    value = float(to_numpy(getattr(each, term)))
    if not math.isfinite(value):
        # At the edge of the panel, where no number is.
        text, at, side = ("∞", 0.98, "right") if value > 0 else ("−∞", 0.02, "left")
        across = axis.get_yaxis_transform()
        axis.annotate(text, (at, y), xycoords=across, fontsize=12, va="center", ha=side)
        return
    if math.isfinite(each.standard_errors.get(term, math.inf)):
        axis.plot(each.interval(term), [y, y], color=colour, linewidth=1.2)
    face = colour if filled else "white"
    axis.plot([value], [y], marker, markersize=size, color=colour, markerfacecolor=face)


def _explain(axis: Axes, level: float) -> None:
    """Say what filled points and lines are."""
    filled, hollow = (
        axis.plot([], [], "o", color=COLOURS[0], markerfacecolor=face, label=label)[0]
        for face, label in (
            (COLOURS[0], f"miscalibrated (adjusted p ≤ {level:.2g})"),
            ("white", f"not shown to be (p > {level:.2g})"),
        )
    )
    lines = axis.plot([], [], color=COLOURS[0], linewidth=1.2, label=f"{1 - level:.0%} interval")
    add_legend(axis, [filled, hollow, *lines])
