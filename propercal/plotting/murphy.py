"""Murphy diagrams: the mean elementary score by threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from propercal._data.inputs.settings import check_flag
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.notions import Notion
from propercal._data.predictions.predictions import Reading
from propercal._data.words.messages import bad_value
from propercal.diagrams.murphy import murphy
from propercal.plotting.axes import add_grid, add_legend, axes_for
from propercal.plotting.palette import COLOURS, N_STYLES

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


@with_reading
def murphy_diagram(
    y_true: object,
    predictions: object,
    *,
    difference: bool = False,
    notion: str | Notion | None = None,
    event: int | str | None = None,
    thresholds: object = None,
    confidence_level: float = 0.95,
    groups: object = None,
    blocks: int | str | None = None,
    random_state: Any = 0,
    ax: Axes | None = None,
    **reading: Unpack[Reading],
) -> Axes:
    """Draw the mean elementary score of each model against the threshold.

    Parameters
    ----------
    y_true, from_logits, sample_weight, labels
        As in :func:`propercal.decompose`.
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.
    predictions : array-like, or mapping of str to array-like
        Probabilities of one model as in :func:`propercal.decompose`, or of at most six by name.
    difference : bool
        Draw the difference of two models, the first less the second, with its band.
    notion, event, thresholds, confidence_level, groups, blocks, random_state
        As in :func:`propercal.murphy`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A line for each model, dotted that of its isotonic curve, and dashed in black that of the
        base rate; or the difference with its simultaneous band.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from propercal.plotting import murphy_diagram
    >>> ax = murphy_diagram([0, 0, 1, 1], {"a": [0.1, 0.4, 0.35, 0.8], "b": [0.2, 0.1, 0.6, 0.7]})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b', 'recalibrated', 'base rate']
    """
    check_flag("difference", difference)
    found = murphy(
        y_true,
        predictions,
        notion=notion,
        event=event,
        thresholds=thresholds,
        confidence_level=confidence_level,
        groups=groups,
        blocks=blocks,
        random_state=random_state,
        **reading,
    )
    n_models = found.sizes["model"]
    if difference and n_models != 2:
        raise bad_value("difference", "True", "two models", f"there are {n_models}: leave it out")
    check_number_of_models(n_models)
    axis = axes_for(ax)
    handles = _draw_difference(axis, found) if difference else draw_murphy(axis, found)
    add_legend(axis, handles)
    return axis


def check_number_of_models(n: int) -> None:
    """Raise if lines of so many models could not be told apart."""
    if n > N_STYLES:
        raise bad_value(
            "predictions", f"{n} models", f"at most {N_STYLES}", "draw fewer on one panel"
        )


def draw_murphy(axis: Axes, found: xr.Dataset) -> list[Any]:
    """Draw the curves of models; return what a legend names."""
    x = found["threshold"].values
    handles: list[Any] = []
    for i, name in enumerate(found["model"].values):
        of = found.sel(model=name)
        handles += axis.plot(x, of["score"], color=COLOURS[i], linewidth=1.4, label=str(name))
        axis.plot(x, of["recalibrated"], color=COLOURS[i], linewidth=1.0, linestyle=":")
    handles += axis.plot([], [], color="0.3", linewidth=1.0, linestyle=":", label="recalibrated")
    base = found["uncertainty"]
    handles += axis.plot(x, base, color="black", linewidth=1.0, linestyle="--", label="base rate")
    axis.set(xlim=(0, 1), xlabel="threshold", ylabel="mean elementary score")
    axis.set_ylim(bottom=0)
    add_grid(axis)
    return handles


def _draw_difference(axis: Axes, found: xr.Dataset) -> list[Any]:
    x = found["threshold"].values
    first, second = map(str, found["model"].values)
    low, high = (found[f"difference_{end}"].values for end in ("lower", "upper"))
    level = f"{100 * found.attrs['confidence_level']:.4g} %"
    band = axis.fill_between(x, low, high, color=COLOURS[0], alpha=0.22, linewidth=0)
    band.set_label(f"{level} band,\nall thresholds at once")
    line = axis.plot(
        x, found["difference"], color=COLOURS[0], linewidth=1.4, label=f"{first} less {second}"
    )
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set(xlim=(0, 1), xlabel="threshold", ylabel="difference of mean elementary scores")
    add_grid(axis)
    return [*line, band]
