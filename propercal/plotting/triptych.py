"""Three looks at forecasts of an event: calibration, discrimination, and overall skill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from propercal._data.inputs.settings import check_confidence_level
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.notions import Notion
from propercal._data.predictions.predictions import Reading
from propercal._data.words.messages import unknown_name
from propercal.diagrams.bins import check_bins, histogram
from propercal.diagrams.curve import isotonic_curve
from propercal.diagrams.events import Event, read_models
from propercal.diagrams.murphy import murphy_of
from propercal.diagrams.reliability import reliability_of
from propercal.diagrams.roc import roc_of
from propercal.diagrams.scores import scores_dataset, scores_of
from propercal.generators.base import BregmanGenerator
from propercal.generators.registry import GeneratorLike, as_generator
from propercal.plotting.axes import in_lines, literal, panels_for
from propercal.plotting.isotonic import draw_curve, draw_diagonal, draw_histogram
from propercal.plotting.murphy import check_number_of_models, draw_murphy
from propercal.plotting.palette import COLOURS
from propercal.plotting.reliability import draw_reliability, name_axes
from propercal.plotting.score_parts import draw_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_THIRD = ("roc", "mcb-dsc")
#: Height of a line of a legend, in inches, and letters in one.
_LINE, _WIDTH = 0.2, 44


@with_reading
def triptych(
    y_true: object,
    predictions: object,
    *,
    third: str = "roc",
    generator: GeneratorLike = "brier",
    notion: str | Notion | None = None,
    event: int | str | None = None,
    n_bins: int = 15,
    confidence_level: float = 0.95,
    groups: object = None,
    blocks: int | str | None = None,
    n_resamples: int = 999,
    random_state: Any = 0,
    ax: Sequence[Axes] | None = None,
    **reading: Unpack[Reading],
) -> list[Axes]:
    """Draw a reliability diagram, a Murphy diagram and the discrimination side by side.

    Parameters
    ----------
    y_true, from_logits, sample_weight, labels
        As in :func:`propercal.decompose`.
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.
    predictions : array-like, or mapping of str to array-like
        Probabilities of one model as in :func:`propercal.decompose`, or of at most six by name.
    third : {"roc", "mcb-dsc"}
        The third panel: receiver operating characteristics, with their concave hulls, which are
        those of the isotonic curves; or miscalibration against discrimination
        (:func:`mcb_dsc_plot`).
    generator, notion, event, n_bins, confidence_level, groups, blocks, n_resamples, random_state
        As in :func:`propercal.reliability`. Bands are drawn where there is one model.
    ax : sequence of matplotlib.axes.Axes, optional
        Three panels; by default those of a new figure.

    Returns
    -------
    list of matplotlib.axes.Axes
        The three panels, each with a legend below it.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    References
    ----------
    Dimitriadis, Gneiting, Jordan & Vogel (2024), "Evaluating probabilistic classifiers: the
    triptych", doi:10.1016/j.ijforecast.2023.09.007.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from propercal.plotting import triptych
    >>> axes = triptych([0, 0, 1, 1], {"a": [0.1, 0.4, 0.35, 0.8], "b": [0.2, 0.1, 0.6, 0.7]})
    >>> [ax.get_ylabel() for ax in axes]
    ['frequency of class 1', 'mean elementary score', 'hit rate']
    """
    if third not in _THIRD:
        raise unknown_name("third", third, _THIRD)
    loss, level = as_generator(generator), check_confidence_level(confidence_level)
    models = read_models(
        y_true, predictions, notion=notion, event=event, groups=groups, blocks=blocks, **reading
    )
    check_number_of_models(len(models))
    settings: dict[str, Any] = {
        "curve": "isotonic",
        "n_bins": check_bins(n_bins),
        "generator": loss,
        "confidence_level": level,
        "n_resamples": n_resamples,
        "random_state": random_state,
    }
    one = next(iter(models.values()))
    found = reliability_of(one, **settings) if len(models) == 1 else None
    murphy_curves = murphy_of(models, None, level, random_state)
    # Each model has a line in each legend; of one, bands are named.
    lines = 7 if found is not None else len(models) + 2
    axes = panels_for(ax, 3, each=(3.6, 4.1 + _LINE * lines), beside=0.0)
    if found is None:
        handles = _curves(axes[0], models, settings["n_bins"])
    else:
        handles = draw_reliability(axes[0], found)
    name_axes(axes[0], one)
    draw_third = {"roc": _draw_roc, "mcb-dsc": _draw_parts}[third]
    _legend_below(axes[0], handles, columns=1 if found is None else 2)
    _legend_below(axes[1], draw_murphy(axes[1], murphy_curves))
    _legend_below(axes[2], draw_third(axes[2], models, loss))
    for axis in axes:
        axis.set_box_aspect(1)
    return axes


def _curves(axis: Axes, models: Mapping[str, Event], n_bins: int) -> list[Any]:
    """Draw the isotonic curves of several models, and the predictions of the first."""
    handles = []
    for (name, each), colour in zip(models.items(), COLOURS, strict=False):
        curve = isotonic_curve(each)
        shape = curve.prediction, curve.value, curve.block
        handles.append(draw_curve(axis, *shape, colour, name))
    first = next(iter(models))
    share, _ = histogram(models[first], n_bins)
    return [*handles, draw_diagonal(axis), draw_histogram(axis, share, f"predictions of {first}")]


def _draw_roc(axis: Axes, models: Mapping[str, Event], _: BregmanGenerator) -> list[Any]:
    """Draw hit rates against false alarms, and the concave hulls."""
    handles: list[Any] = []
    for (name, each), colour in zip(models.items(), COLOURS, strict=False):
        curve = isotonic_curve(each)
        raw, hull = (roc_of(each, curve, hull=hull) for hull in (False, True))
        if raw is None or hull is None:
            handles += axis.plot([], [], color=colour, label=f"{name}: all rows alike")
            continue
        axis.plot(raw.false_alarms, raw.hits, color=colour, linewidth=0.8, alpha=0.6)
        handles += axis.plot(
            hull.false_alarms,
            hull.hits,
            color=colour,
            linewidth=1.5,
            label=f"{name}: area {raw.area:.3f}, of the hull {hull.area:.3f}",
        )
    handles += axis.plot(
        [0, 1], [0, 1], color="black", linewidth=1.0, linestyle="--", label="no discrimination"
    )
    axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axis.set(xlabel="false alarm rate", ylabel="hit rate")
    return handles


def _draw_parts(axis: Axes, models: Mapping[str, Event], loss: BregmanGenerator) -> list[Any]:
    parts = {name: scores_of(each, isotonic_curve(each), loss) for name, each in models.items()}
    return draw_scores(axis, scores_dataset(parts, next(iter(models.values())), loss))


def _legend_below(axis: Axes, handles: Sequence[Any], *, columns: int = 1) -> None:
    texts = [str(each.get_label()) for each in handles]
    axis.legend(
        handles=handles,
        labels=[literal(text) if "\n" in text else in_lines(text, _WIDTH) for text in texts],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.16),
        frameon=False,
        ncols=columns,
        fontsize="small",
    )
