"""Reliability diagrams: what was predicted against what occurred, in bins."""

from __future__ import annotations

from itertools import islice
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.arguments import with_reading
from propercal._data.messages import bad_value, unknown_name
from propercal._data.notions import Notion, as_notion
from propercal._data.predictions import Predictions, Reading, validate
from propercal._data.settings import check_confidence_level
from propercal._kernels.bins import bin_numbers
from propercal.plotting.axes import add_legend, axes_for
from propercal.plotting.palette import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]

#: A gap of this size has the full shade; equal shades mean equal gaps in all diagrams.
_FULL_GAP = 0.25
_NOTIONS = ("top-label", "classwise")


@with_reading
def reliability_diagram(
    y_true: object,
    y_proba: object,
    *,
    notion: str = "top-label",
    event: int | None = None,
    n_bins: int = 15,
    confidence_level: float = 0.95,
    ax: Axes | None = None,
    **reading: Unpack[Reading],
) -> Axes:
    r"""Draw how often the predicted event occurred, in bins of equal width of its probability.

    Parameters
    ----------
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.
    y_true, y_proba, from_logits, sample_weight, labels
        As in :func:`propercal.decompose`.
    notion : {"top-label", "classwise"}, default "top-label"
        Which event: that the most probable class occurs, or that one class does.
    event : int, optional
        Column, counted from 0, of the class that is the event; it implies "classwise".
    n_bins : int, default 15
        Bins between 0 and 1. A bin without predictions has no bar.
    confidence_level : float, default 0.95
        Level of Wilson's interval, for independent rows, of each bin's frequency.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Grey bars of the frequency of the event, and from it to the mean prediction of the bin a
        bar of the gap: blue and hatched ``/`` where the event is more frequent than predicted,
        orange and hatched ``\`` where it is less, the darker the larger, fully at 0.25.
        The interval stands at the mean prediction, so that it is read against the diagonal.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from propercal.plotting import reliability_diagram
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(1000, random_state=0)
    >>> ax = reliability_diagram(y_true, y_proba, event=1, n_bins=10)
    >>> ax.get_xlabel()
    'predicted probability of class 1'
    """
    if notion not in _NOTIONS:
        raise unknown_name("notion", notion, _NOTIONS)
    n_bins = _check_bins(n_bins)
    level = check_confidence_level(confidence_level)
    predictions = validate(
        y_true,
        y_proba,
        **reading,
        one_class=notion != _NOTIONS[1] and event is None,
    )
    predicted, occurred, name = _event(predictions, as_notion(notion), event)
    weight = to_numpy(predictions.weight) / float(to_numpy(predictions.weight).max())
    bins = _bins(predicted, occurred, weight, n_bins)
    axis = axes_for(ax, size=(5.8, 4.0))
    _draw(axis, bins, 1 / n_bins, level)
    top = name is None
    axis.set_xlabel("predicted probability of " + ("the top class" if top else f"class {name}"))
    axis.set_ylabel("accuracy" if top else f"frequency of class {name}")
    return axis


class _Bins(NamedTuple):
    """Bins that are not empty."""

    centre: Floats
    predicted: Floats
    frequency: Floats
    size: Floats
    """Rows of equal weight that would tell as much."""


def _check_bins(n_bins: object) -> int:
    if (
        isinstance(n_bins, bool)
        or not isinstance(n_bins, int | np.integer)
        or not 1 <= n_bins <= 1000
    ):
        raise bad_value("n_bins", repr(n_bins), "a whole number from 1 to 1000", "15 is usual")
    return int(n_bins)


def _event(
    predictions: Predictions, notion: Notion, event: object
) -> tuple[Floats, npt.NDArray[np.bool_], Any]:
    """Return the event's probability, whether it occurred, and its class, None for the top one."""
    k = predictions.n_classes
    if event is None and notion.per_class:
        raise bad_value("event", "None", f"a column from 0 to {k - 1}", "choose one class to draw")
    if event is not None and (
        isinstance(event, bool) or not isinstance(event, int | np.integer) or not 0 <= event < k
    ):
        raise bad_value(
            "event", repr(event), f"a column from 0 to {k - 1}", "columns are counted from 0"
        )
    i = 0 if event is None else int(event)
    name = None if event is None else predictions.classes.names[i]
    problems = as_notion("top-label" if event is None else "classwise").problems(predictions)
    problem = next(islice(problems, i, None))
    return to_numpy(problem.prob)[:, 1], to_numpy(problem.label) == 1, name


def _bins(predicted: Floats, occurred: npt.NDArray[np.bool_], weight: Floats, n_bins: int) -> _Bins:
    number = bin_numbers(predicted, n_bins)
    count, total, squares, mean, frequency = (
        np.bincount(number, each, minlength=n_bins)
        for each in (np.sign(weight), weight, weight**2, weight * predicted, weight * occurred)
    )
    filled = np.flatnonzero(count)
    total = total[filled]
    # Weights that differ tell as much as fewer rows of equal weight.
    size = np.where(squares[filled] > 0, total**2 / squares[filled], count[filled])
    return _Bins((filled + 0.5) / n_bins, mean[filled] / total, frequency[filled] / total, size)


def wilson_interval(
    frequency: Floats, count: npt.NDArray[Any], confidence_level: float
) -> tuple[Floats, Floats]:
    """Return Wilson's confidence interval of a probability from a frequency in `count` draws."""
    z = NormalDist().inv_cdf(0.5 + confidence_level / 2)
    shrunk = 1 + z**2 / count
    centre = (frequency + z**2 / (2 * count)) / shrunk
    half = z * np.sqrt(frequency * (1 - frequency) / count + (z / (2 * count)) ** 2) / shrunk
    # Rounding must not leave the frequency itself outside.
    return np.minimum(centre - half, frequency), np.maximum(centre + half, frequency)


def _draw(axis: Axes, bins: _Bins, width: float, level: float) -> None:
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Patch

    axis.bar(bins.centre, bins.frequency, width, color="0.85", edgecolor="0.45", linewidth=0.6)
    gap = bins.predicted - bins.frequency
    handles: list[Any] = []
    for sign, colour, hatch, label in (
        (-1, COLOURS[0], "///", "predicted too low"),
        (1, COLOURS[1], "\\\\\\", "predicted too high"),
    ):
        of = sign * gap > 0
        shade = 0.15 + 0.7 * np.minimum(np.abs(gap[of]) / _FULL_GAP, 1)
        style: dict[str, Any] = {"edgecolor": colour, "linewidth": 0.8, "hatch": hatch}
        axis.bar(
            bins.centre[of],
            gap[of],
            0.8 * width,
            bottom=bins.frequency[of],
            color=[to_rgba(colour, alpha) for alpha in shade],
            **style,
        )
        handles.append(Patch(facecolor=to_rgba(colour, 0.5), label=label, **style))
    low, high = wilson_interval(bins.frequency, bins.size, level)
    interval = axis.errorbar(
        bins.predicted,
        bins.frequency,
        [bins.frequency - low, high - bins.frequency],
        linestyle="",
        marker="o",
        markersize=2.5,
        color="black",
        elinewidth=0.9,
        capsize=2,
        label=f"{100 * level:.4g} % interval",
    )
    diagonal = axis.plot(
        [0, 1], [0, 1], color="black", linewidth=1.0, linestyle="--", label="calibrated"
    )
    axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    add_legend(axis, [*handles, interval, *diagonal])
