"""Arrows on the simplex of three classes, from what was predicted to what occurs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.notions import as_notion
from propercal._data.predictions.predictions import Reading, validate
from propercal._data.words.messages import bad_value
from propercal._kernels.bandwidth import select_bandwidth
from propercal._kernels.conditional import conditional_mean
from propercal.plotting.axes import add_legend, axes_for, in_lines
from propercal.plotting.palette import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]


@with_reading
def simplex_arrows(
    y_true: object,
    y_proba: object,
    *,
    n_cells: int = 8,
    bandwidth: float | Literal["auto"] = "auto",
    ax: Axes | None = None,
    **reading: Unpack[Reading],
) -> Axes:
    """Draw where predictions of three classes should move to be calibrated.

    Parameters
    ----------
    y_true, y_proba, from_logits, sample_weight, labels
        As in :func:`propercal.decompose`, with three classes.
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.
    n_cells : int
        Cells along a side of the triangle, 1 to 50.
    bandwidth : float or "auto"
        Bandwidth of the kernel mean of the labels, as in :func:`propercal.conditional_mean`; "auto"
        is :func:`propercal.select_bandwidth`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A triangle whose corners are the classes. From each cell that holds predictions an arrow
        leads from their mean g to that of r̂, the leave-one-out kernel mean of the labels; the
        more of the weight it stands for, the darker it is. Dots are the predictions.

    Raises
    ------
    ValueError
        If an argument cannot be used, or there are not three classes.

    Notes
    -----
    r̂ is smoothed, and noisy where predictions are few; :func:`propercal.calibration_test` tells
    whether arrows differ from none. Time is O(n²).

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from propercal.plotting import simplex_arrows
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(300, random_state=0)
    >>> ax = simplex_arrows(y_true, y_proba, bandwidth=0.05)
    >>> [text.get_text() for text in ax.texts]
    ['class 0', 'class 1', 'class 2']
    """
    number = _check_cells(n_cells)
    predictions = validate(y_true, y_proba, **reading, one_class=True)
    if predictions.n_classes != 3:
        raise bad_value(
            predictions.names.proba,
            f"{predictions.n_classes} classes",
            "three, one of which occurs in each row",
            "draw one class against the rest by reliability_diagram(..., event=0)",
        )
    problem = next(iter(as_notion("canonical").problems(predictions)))
    prob, label, weight = (to_numpy(x) for x in (problem.prob, problem.label, problem.weight))
    if bandwidth == "auto":
        bandwidth = float(select_bandwidth(label, prob, sample_weight=weight))
    mean = conditional_mean(label, prob, sample_weight=weight, bandwidth=bandwidth)
    axis = axes_for(ax, size=(5.6, 4.4))
    handles = _draw(axis, prob, np.asarray(mean), weight, number)
    for (x, y), name in zip(_plane(np.eye(3)).tolist(), predictions.classes.names, strict=True):
        axis.annotate(
            in_lines(f"class {name}", 18),
            (x, y),
            (0, 4 if y > 0 else -4),
            textcoords="offset points",
            ha="center",
            va="bottom" if y > 0 else "top",
        )
    add_legend(axis, handles)
    return axis


def _check_cells(n_cells: object) -> int:
    if (
        isinstance(n_cells, bool)
        or not isinstance(n_cells, int | np.integer)
        or not 1 <= n_cells <= 50
    ):
        raise bad_value("n_cells", repr(n_cells), "a whole number from 1 to 50", "8 is usual")
    return int(n_cells)


def _plane(points: Floats) -> Floats:
    """Return places in the triangle."""
    return np.stack([points[:, 1] + points[:, 2] / 2, points[:, 2] * math.sqrt(3) / 2], axis=1)


def _draw(axis: Axes, prob: Floats, mean: Floats, weight: Floats, n_cells: int) -> list[Any]:
    # Lines of a triangular grid: two cells with the same two whole parts differ in the third.
    cell = np.minimum((prob * n_cells).astype(np.int64), n_cells - 1)
    _, number = np.unique(cell, axis=0, return_inverse=True)
    number = number.ravel()
    total = np.bincount(number, weight)
    start, end = (
        np.stack([np.bincount(number, weight * each) / total for each in of.T], axis=1)
        for of in (prob, mean)
    )
    edge = _plane(np.eye(3)[[0, 1, 2, 0]])
    axis.plot(*edge.T, color="black", linewidth=0.9)
    (dots,) = axis.plot(
        *_plane(prob).T, ".", color="0.75", markersize=2.5, zorder=1, label="predictions"
    )
    a, b = _plane(start), _plane(end)
    shade = 0.25 + 0.75 * np.sqrt(total / total.max())
    arrows = axis.quiver(
        *a.T,
        *(b - a).T,
        angles="xy",
        scale_units="xy",
        scale=1,
        color=COLOURS[0],
        alpha=shade,
        width=0.006,
        zorder=2,
        label="to the mean of what occurs",
    )
    axis.set(aspect="equal", xticks=[], yticks=[], xlim=(-0.06, 1.06), ylim=(-0.1, 0.96))
    axis.spines[:].set_visible(False)
    return [dots, arrows]
