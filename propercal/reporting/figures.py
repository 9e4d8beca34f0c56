"""The figures of a page, drawn by `propercal.plotting`, with their words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from propercal._array import to_numpy
from propercal.reporting.classes import ClassPart
from propercal.reporting.content import Figure
from propercal.reporting.measured import Measured
from propercal.reporting.svg import drawn
from propercal.reporting.words import estimate, level, listed, name_of, number, percent, probability
from propercal.result import TERMS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

#: Inches: as wide as a phone shows with letters that can be read.
_WIDTH = 4.7
_LEGEND = {"isotonic curve": "what happened", "calibrated": "as it was said"}
_PARTS = {
    "risk": "loss",
    "calibration_error": "miscali-\nbration",
    "refinement": "what\nis left",
    "sharpness": "what\nit tells",
    "uncertainty": "loss without\na model",
}
#: Models that are drawn side by side, and letters of a name on an axis.
_MODELS, _LETTERS = 6, 24


def terms_figure(found: Measured) -> Figure | None:
    """Return bars of the terms of all models, at most six."""
    results = list(found.results.items())[:_MODELS]
    if not any(math.isfinite(float(to_numpy(getattr(r, t)))) for _, r in results for t in TERMS):
        return None
    names = [name_of(name or "this model", _LETTERS) for name, _ in results]

    def draw(canvas: Canvas) -> None:
        from propercal.plotting import decomposition_bars

        axis = canvas.subplots()
        decomposition_bars([each for _, each in results], names=names, ax=axis)
        axis.set_xticks(range(len(TERMS)), [_PARTS[term] for term in TERMS])
        legend_below(canvas, axis, columns=2, shown=len(results) > 1)

    return drawn(
        "terms",
        (_WIDTH, 3.1 + 0.2 * ((len(results) + 1) // 2 if len(results) > 1 else 0)),
        draw,
        title="The loss and its parts as bars",
        description=_of_terms(found),
        caption="Bars are estimates, lines on them intervals.",
    )


def _of_terms(found: Measured) -> str:
    result, parts = found.result, []
    for term in TERMS:
        value = float(to_numpy(getattr(result, term)))
        if math.isnan(value):
            continue
        known = math.isfinite(value + result.standard_errors.get(term, math.inf))
        text, ends = estimate(value, result.interval(term) if known else None)
        parts.append(f"{term.replace('_', ' ')} {text}" + (f" ({ends})" if ends else ""))
    return "; ".join(parts) + "."


def legend_below(canvas: Canvas, axis: Axes, *, columns: int, shown: bool = True) -> None:
    """Put a legend below the panel, where a narrow page has room."""
    legend = axis.get_legend()
    if legend is None:
        return
    handles: list[Any] = list(legend.legend_handles)
    texts = [each.get_text() for each in legend.get_texts()]
    legend.remove()
    if shown:
        canvas.legend(handles, texts, loc="outside lower center", ncols=columns, frameon=False)


def reliability_figure(found: Measured) -> Figure | None:
    """Return the reliability diagram."""
    dataset = found.reliability
    if dataset is None:
        return None
    event = _event(found)

    def draw(canvas: Canvas) -> None:
        from propercal.plotting.axes import axes_for, in_lines
        from propercal.plotting.reliability import draw_reliability

        axis = axes_for(canvas.subplots())
        handles = draw_reliability(axis, dataset)
        axis.set_xlabel(in_lines(f"said: probability that {event}", 36))
        axis.set_ylabel(in_lines(f"happened: how often {event}", 36))
        # Scores stand in the tables.
        named = [each for each in handles if _has_a_sign(each)]
        canvas.legend(
            named,
            [_LEGEND.get(each.get_label(), each.get_label().replace("\n", " ")) for each in named],
            loc="outside lower left",
            frameon=False,
        )

    return drawn(
        "reliability",
        (_WIDTH, 5.6),
        draw,
        title=f"Reliability diagram: how often {event}, by the probability that was said",
        description=_of_reliability(found),
        caption="The distribution of predictions stands at the bottom, in a scale of its own.",
    )


def _has_a_sign(handle: Any) -> bool:
    # Those of scores are lines without any points.
    return not (hasattr(handle, "get_xdata") and len(handle.get_xdata()) == 0)


def _event(found: Measured) -> str:
    """Return what the probability is of, as a clause."""
    assert found.reliability is not None  # noqa: S101  # as its caller has seen
    if found.predictions is None or found.predictions.n_classes > 2:
        return "the first choice is right"
    return f"{name_of(found.class_called(1), _LETTERS)} occurs"


def _of_reliability(found: Measured) -> str:
    dataset = found.reliability
    assert dataset is not None  # noqa: S101  # as its caller has seen
    said, curve = dataset["prediction"].values, dataset["curve"].values
    low, high = dataset["consistency_lower"].values, dataset["consistency_upper"].values
    n = dataset["count"].values
    outside = (curve < low) | (curve > high)
    share = float(n[outside].sum() / n.sum())
    words = (
        f"Predictions reach from {probability(float(said[0]))} to {probability(float(said[-1]))}. "
    )
    if not outside.any():
        return f"{words}The curve lies within the {_band(dataset)} everywhere."
    return (
        f"{words}The curve leaves the {_band(dataset)}, in which a calibrated model stays, at "
        f"{percent(share)} of the rows."
    )


def _band(dataset: Any) -> str:
    return f"{level(dataset.attrs['confidence_level'])} consistency band"


def classes_figure(found: Measured, parts: Sequence[ClassPart]) -> Figure | None:
    """Return points and intervals of classes, the largest at the top."""
    shown = [each for each in parts if math.isfinite(each.error)]
    if len(shown) < 2:
        return None
    names = [name_of(found.class_called(each.number), _LETTERS) for each in shown]
    unit = f" ({found.result.units})" if found.result.units else ""

    def draw(canvas: Canvas) -> None:
        from propercal.plotting.axes import add_grid, axes_for, literal
        from propercal.plotting.palette import COLOURS

        axis = axes_for(canvas.subplots())
        for y, each in enumerate(shown):
            if each.interval is not None:
                axis.plot(each.interval, [y, y], color=COLOURS[0], linewidth=1.4)
            axis.plot([each.error], [y], "o", color=COLOURS[0], markersize=5)
        axis.axvline(0, color="black", linewidth=0.8)
        axis.set_yticks(range(len(shown)), [literal(name) for name in names])
        axis.set_ylim(len(shown) - 0.4, -0.6)
        axis.set_xlabel(f"added to the class-wise error{unit}")
        axis.locator_params(axis="x", nbins=5)
        add_grid(axis, axis="x")

    first = shown[0]
    text, ends = estimate(first.error, first.interval)
    return drawn(
        "classes",
        (_WIDTH, 0.9 + 0.24 * len(shown)),
        draw,
        title="What each class adds to the class-wise error",
        description=f"The largest is {names[0]} with {text}"
        + (f" ({ends})" if ends else "")
        + f", the smallest shown {names[-1]} with {number(shown[-1].error)}.",
        caption="Points are estimates, lines intervals of each class by itself.",
    )


def groups_figure(found: Measured) -> Figure | None:
    """Return the forest plot of groups."""
    result = found.groups
    if result is None:
        return None
    n = len(result.groups)

    def draw(canvas: Canvas) -> None:
        from propercal.plotting import forest

        axis = canvas.subplots()
        forest(result, ax=axis)
        axis.locator_params(axis="x", nbins=5)
        legend_below(canvas, axis, columns=1)

    alpha = 1 - result.whole.confidence_level
    off = [name_of(name) for name, p in result.test.adjusted.items() if p <= alpha]
    shown = f"Shown to be miscalibrated: {listed(off)}." if off else "None is shown to be."
    return drawn(
        "groups",
        (_WIDTH, 2.0 + 0.36 * (n + 1)),
        draw,
        title="Miscalibration of each group with its interval",
        description=f"{n} groups and all rows together. {shown}",
        caption="Points are estimates, lines intervals; below them all rows together.",
    )
