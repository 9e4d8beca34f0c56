"""Reliability diagrams: what was predicted against what occurred."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from propercal._data.inputs.settings import check_confidence_level
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.notions import Notion
from propercal._data.predictions.predictions import Reading, validate
from propercal._data.words.messages import bad_value, unknown_name
from propercal.diagrams.bins import check_bins
from propercal.diagrams.events import Event, column_of, read_event
from propercal.diagrams.reliability import CURVES, reliability_of
from propercal.generators.registry import GeneratorLike
from propercal.plotting.axes import add_legend, axes_for, in_lines, panels_for
from propercal.plotting.binned import draw_bars, draw_points
from propercal.plotting.isotonic import (
    draw_bands,
    draw_curve,
    draw_diagonal,
    draw_histogram,
    score_lines,
)
from propercal.plotting.palette import COLOURS

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

#: Panels of one figure.
_PANELS = 12


@with_reading
def reliability_diagram(
    y_true: object,
    y_proba: object,
    *,
    notion: str | Notion | None = None,
    event: int | str | None = None,
    curve: str = "isotonic",
    n_bins: int = 15,
    generator: GeneratorLike = "brier",
    confidence_level: float = 0.95,
    groups: object = None,
    blocks: int | str | None = None,
    n_resamples: int = 999,
    random_state: Any = 0,
    ax: Axes | None = None,
    **reading: Unpack[Reading],
) -> Axes:
    r"""Draw how often the predicted event occurred, against how probable it was predicted to be.

    Parameters
    ----------
    y_true, y_proba, from_logits, sample_weight, labels
        As in :func:`propercal.decompose`.
    notion : {"top-label", "classwise"}, optional
        Which event: that the most probable class occurs, or that one class does. By default that
        the second of two classes does, and of more than two the most probable one.
    event : int or str, optional
        The class that is the event, by its column, counted from 0, or by its name in words; it
        implies "classwise". A number that is the name of another class than its column's is
        refused.
    curve : {"isotonic", "quantile-bins", "equal-bins"}
        The isotonic curve with bands, or frequencies in bins, of equal weight as points or of equal
        width as bars.
    n_bins : int
        Bins, and bars of the distribution of predictions.
    generator, groups, blocks, n_resamples, random_state
        As in :func:`propercal.reliability`; bars of equal width use none of them.
    confidence_level : float
        Level of both bands, each at all predictions at once, or of limits for all bins at once. For
        bars, that of Wilson's interval, for independent rows, of each bin's frequency.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.

    Returns
    -------
    matplotlib.axes.Axes
        For "isotonic" the curve in blue with its confidence band; about the diagonal, in grey, the
        band in which the curve of a calibrated model would lie; at the bottom the distribution of
        predictions, in a scale of its own; in the legend the score and its parts, miscalibration
        (MCB), discrimination (DSC) and uncertainty (UNC), see
        :func:`propercal.isotonic_decomposition`.

        For "equal-bins" grey bars of the frequency of the event, and from it to the mean prediction
        of the bin a bar of the gap: blue and hatched ``/`` where the event is more frequent than
        predicted, orange and hatched ``\`` where it is less, the darker the larger, fully at 0.25.
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
    >>> ax = reliability_diagram(y_true, y_proba, event=1)
    >>> ax.get_xlabel()
    'predicted probability of class 1'
    """
    content = _Content.of(
        y_true,
        y_proba,
        curve,
        n_bins,
        confidence_level,
        {"generator": generator, "n_resamples": n_resamples, "random_state": random_state},
        {"notion": notion, "event": event, "groups": groups, "blocks": blocks, **reading},
    )
    axis = axes_for(ax, size=(6.6, 4.0))
    add_legend(axis, content.draw(axis))
    return axis


class _Content(NamedTuple):
    """What a diagram shows."""

    event: Event
    found: xr.Dataset | None
    """None for bars, whose numbers are those of the event."""
    n_bins: int
    level: float

    @classmethod
    def of(
        cls,
        y_true: object,
        y_proba: object,
        curve: str,
        n_bins: object,
        confidence_level: object,
        settings: dict[str, Any],
        which: dict[str, Any],
    ) -> _Content:
        """Return the numbers of a diagram, or raise."""
        if curve not in CURVES:
            raise unknown_name("curve", curve, CURVES)
        number, level = check_bins(n_bins), check_confidence_level(confidence_level)
        if CURVES[curve].bars:
            return cls(read_event(y_true, y_proba, **which), None, number, level)
        settings = {"curve": curve, "n_bins": number, "confidence_level": level, **settings}
        event = read_event(y_true, y_proba, **which)
        return cls(event, reliability_of(event, **settings), number, level)

    def draw(self, axis: Axes) -> list[Any]:
        """Draw it; return what a legend names."""
        if self.found is None:
            handles = [*draw_bars(axis, self.event, self.n_bins, self.level), draw_diagonal(axis)]
        else:
            handles = draw_reliability(axis, self.found)
        name_axes(axis, self.event)
        return handles


def name_axes(axis: Axes, event: Event) -> None:
    """Say of which event the probability and the frequency are."""
    axis.set_xlabel(in_lines(f"predicted probability of {event.words}", 40))
    frequency = in_lines(f"frequency of {event.words}", 32)
    axis.set_ylabel("accuracy" if event.name is None else frequency)


def draw_reliability(axis: Axes, found: xr.Dataset) -> list[Any]:
    """Draw a dataset of :func:`propercal.reliability`; return what a legend names."""
    bars = draw_histogram(axis, found["histogram"].values)
    if CURVES[found.attrs["curve"]].isotonic:
        bands = draw_bands(axis, found)
        x, y, block = (found[name].values for name in ("prediction", "curve", "block"))
        handles = [draw_curve(axis, x, y, block, COLOURS[0], "isotonic curve"), *bands]
    else:
        handles = draw_points(axis, found)
    return [*handles, draw_diagonal(axis), bars, *score_lines(found)]


@with_reading
def reliability_panels(
    y_true: object,
    y_proba: object,
    *,
    events: Sequence[int | str] | None = None,
    curve: str = "isotonic",
    n_bins: int = 15,
    generator: GeneratorLike = "brier",
    confidence_level: float = 0.95,
    groups: object = None,
    blocks: int | str | None = None,
    n_resamples: int = 999,
    random_state: Any = 0,
    ax: Sequence[Axes] | None = None,
    **reading: Unpack[Reading],
) -> list[Axes]:
    """Draw a reliability diagram for each class against the rest.

    Parameters
    ----------
    y_true, y_proba, from_logits, sample_weight, labels
        As in :func:`propercal.decompose`.
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.
    events : sequence of int or str, optional
        Columns, counted from 0, or classes in words, at most 12; by default all.
    curve, n_bins, generator, confidence_level, groups, blocks, n_resamples, random_state
        As in :func:`reliability_diagram`.
    ax : sequence of matplotlib.axes.Axes, optional
        A panel for each class; by default those of a new figure.

    Returns
    -------
    list of matplotlib.axes.Axes
        The panels; the last has the legend, without the scores, which differ between classes.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from propercal.plotting import reliability_panels
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(500, random_state=0)
    >>> [ax.get_xlabel()[-7:] for ax in reliability_panels(y_true, y_proba)]
    ['class 0', 'class 1', 'class 2']
    """
    chosen = _columns(y_true, y_proba, events, reading)
    settings = {"generator": generator, "n_resamples": n_resamples, "random_state": random_state}
    which = {"notion": None, "groups": groups, "blocks": blocks, **reading}
    contents = [
        _Content.of(
            y_true,
            y_proba,
            curve,
            n_bins,
            confidence_level,
            settings,
            {**which, "event": event},
        )
        for event in chosen
    ]
    axes = panels_for(ax, len(chosen), each=(3.3, 3.3))
    handles = [content.draw(axis) for axis, content in zip(axes, contents, strict=True)][-1]
    # Scores differ between classes.
    add_legend(axes[-1], [each for each in handles if each.get_label() not in _scores(contents)])
    return axes


def _columns(
    y_true: object, y_proba: object, events: Sequence[int | str] | None, reading: Reading
) -> list[int | str]:
    names = validate(y_true, y_proba, **reading).classes.names
    if isinstance(events, str | bytes):
        raise bad_value("events", repr(events), "a list of classes", f"pass events=[{events!r}]")
    k = len(names) if events is None else len(events)
    if not 1 <= k <= _PANELS:
        raise bad_value(
            "events",
            f"{k} classes",
            f"1 to {_PANELS}",
            "name the columns to draw, such as events=[0, 1, 2]",
        )
    chosen = range(k) if events is None else [column_of(names, x, "events") for x in events]
    # Columns may be called by other numbers than their places: the class is said in words.
    said = [isinstance(each, int | str) and not isinstance(each, bool) for each in names]
    return [str(names[i]) if said[i] else i for i in chosen]


def _scores(contents: Sequence[_Content]) -> set[object]:
    found = contents[-1].found
    return set() if found is None else {each.get_label() for each in score_lines(found)}
