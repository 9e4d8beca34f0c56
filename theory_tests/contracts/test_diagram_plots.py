"""Diagrams of one event show the numbers of their datasets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.quiver import Quiver

import propercal
from propercal import CalibrationMonitor, decompose_groups
from propercal.plotting import (
    evidence_over_time,
    forest,
    mcb_dsc_plot,
    murphy_diagram,
    reliability_diagram,
    reliability_panels,
    simplex_arrows,
    triptych,
)
from propercal.plotting.isotonic import stairs
from theory_tests.instances import calibrated

Y3, P3 = calibrated(200, 3)
Y, P = (Y3 == 1).astype(int), P3[:, 1]
MODELS = {"given": P, "even": (P + 0.5) / 2}


@pytest.fixture(autouse=True)
def _no_figure_left() -> Iterator[None]:
    yield
    plt.close("all")


def legend(ax: Axes) -> list[str]:
    found = ax.get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


def line(ax: Axes, label: str) -> tuple[Any, Any]:
    (found,) = [each for each in ax.lines if each.get_label() == label]
    return found.get_xdata(), found.get_ydata()


def test_the_isotonic_diagram_shows_the_curve_the_bands_and_the_scores() -> None:
    found = propercal.reliability(Y, P, n_resamples=19)
    ax = reliability_diagram(Y, P, n_resamples=19)
    x, y = line(ax, "isotonic curve")
    # The ends of the levels, between which it is level or rises.
    np.testing.assert_allclose(np.interp(found.prediction, x, y), found.curve, atol=1e-12)
    assert len(x) < 200
    confidence, consistency = (each.get_paths()[0].vertices for each in reversed(ax.collections))
    for name, path in (("confidence", confidence), ("consistency", consistency)):
        for end in ("lower", "upper"):
            corners = np.stack([found.prediction, found[f"{name}_{end}"]], 1)
            assert all((np.abs(path - corner).max(axis=1) < 1e-12).any() for corner in corners), (name, end)
    heights = [bar.get_height() for bar in ax.containers[0]]
    np.testing.assert_allclose(heights / max(heights), found.histogram / found.histogram.max())
    texts = legend(ax)
    assert texts[0] == "isotonic curve"
    for words, part in (("Brier score", "score"), ("= MCB", "miscalibration"), ("− DSC", "discrimination"), ("+ UNC", "uncertainty")):
        assert f"{words} {found[part].item():.4f}" in texts
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted probability of class 1", "frequency of class 1")
    assert reliability_diagram(Y3, P3, n_resamples=19).get_ylabel() == "accuracy"


def test_a_band_between_predictions_is_what_monotony_leaves() -> None:
    """Between 0.2 and 0.6 at least the lower end at 0.2, at most the upper one at 0.6."""
    x, low, high = stairs(np.array([0.2, 0.6]), np.array([0.1, 0.3]), np.array([0.5, 0.9]))
    corners = list(zip(x.tolist(), low.tolist(), high.tolist(), strict=True))
    assert corners == [(0.2, 0.1, 0.5), (0.2, 0.1, 0.9), (0.6, 0.1, 0.9), (0.6, 0.3, 0.9)]


def test_bins_of_equal_weight_are_points() -> None:
    found = propercal.reliability(Y, P, curve="quantile-bins", n_bins=6, n_resamples=19)
    ax = reliability_diagram(Y, P, curve="quantile-bins", n_bins=6, n_resamples=19)
    points = ax.containers[-1].lines[0]  # type: ignore[attr-defined]
    np.testing.assert_allclose(points.get_xdata(), found.bin_prediction)
    np.testing.assert_allclose(points.get_ydata(), found.bin_frequency)


def test_a_panel_for_each_class() -> None:
    axes = reliability_panels(Y3, P3, n_resamples=19)
    assert [ax.get_xlabel()[-1] for ax in axes] == ["0", "1", "2"]
    assert [bool(legend(ax)) for ax in axes] == [False, False, True]
    assert not any("MCB" in text for text in legend(axes[-1]))
    _, given = plt.subplots(1, 2)
    assert reliability_panels(Y3, P3, events=[2, 0], curve="equal-bins", ax=given) == list(given)
    assert given[0].get_xlabel()[-1] == "2"
    with pytest.raises(ValueError, match="ax = 2 panels: expected 3"):
        reliability_panels(Y3, P3, n_resamples=19, ax=given)
    with pytest.raises(ValueError, match="events = 13 classes"):
        reliability_panels(Y3, P3, events=[0] * 13)


def test_the_murphy_diagram() -> None:
    found = propercal.murphy(Y, MODELS)
    ax = murphy_diagram(Y, MODELS)
    for name in MODELS:
        x, y = line(ax, name)
        np.testing.assert_array_equal(x, found.threshold)
        np.testing.assert_allclose(y, found.score.sel(model=name))
    np.testing.assert_allclose(line(ax, "base rate")[1], found.uncertainty)
    ax = murphy_diagram(Y, MODELS, difference=True)
    np.testing.assert_allclose(line(ax, "given less even")[1], found.difference)
    with pytest.raises(ValueError, match="difference = True: expected two models"):
        murphy_diagram(Y, P, difference=True)
    with pytest.raises(ValueError, match="predictions = 7 models: expected at most 6"):
        murphy_diagram(Y, {str(i): P for i in range(7)})


@pytest.mark.filterwarnings("ignore:predictions.* is 0 or 1 in each of 200 rows", "ignore:models.* is 0 or 1 in each of 200 rows")
@pytest.mark.parametrize("generator", ["brier", "log"])
def test_scores_of_many_models(generator: str) -> None:
    sure = (P > 0.5).astype(float)
    models = {**MODELS, "sure": sure, **{f"m{i}": P ** (1 + i / 9) for i in range(9)}}
    found = propercal.isotonic_decomposition(Y, models, generator=generator)
    ax = mcb_dsc_plot(Y, models, generator=generator)
    finite = np.isfinite(found.score.values)
    (points,) = (np.asarray(each.get_data()) for each in ax.lines if each.get_marker() == "o")
    np.testing.assert_allclose(points[0], np.maximum(found.miscalibration[finite], 0))
    np.testing.assert_allclose(points[1], np.maximum(found.discrimination[finite], 0))
    names = [text.get_text() for text in ax.texts]
    assert [name for name in names if name in models] == [name for name, kept in zip(models, finite, strict=True) if kept]
    # The sure model is wrong somewhere: infinite for the log loss.
    assert ("infinite: sure" in legend(ax)) == (generator == "log")
    # On a line of equal score, score = MCB − DSC + UNC is the number that it has.
    levels = {float(name): None for name in names if name not in models}
    for text in ax.texts:
        if text.get_text() not in models:
            x, y = text.xy  # type: ignore[attr-defined]
            assert x - y + found.uncertainty.values[0] == pytest.approx(float(text.get_text()), abs=1e-3)
    assert len(levels) >= 3


def test_without_a_finite_score_there_is_nothing_to_draw() -> None:
    wrong = np.where(np.arange(200) == 0, 1 - Y, P)
    with pytest.raises(ValueError, match=r"generator = Log\(\): expected a loss that is finite"):
        mcb_dsc_plot(Y, wrong, generator="log")
    with pytest.raises(ValueError, match=r"generator = Log\(\): expected a loss that is finite"):
        triptych(Y, wrong, generator="log", third="mcb-dsc")
    # The mean of this loss is finite, and that of isotonic curves, which reach 0 and 1, is not.
    with pytest.raises(ValueError, match=r"generator = ItakuraSaito\(\): expected a loss that is finite"):
        mcb_dsc_plot(Y, (P + 0.5) / 2, generator="itakura-saito")


def test_the_triptych() -> None:
    axes = triptych(Y, MODELS)
    assert [ax.get_xlabel() for ax in axes] == ["predicted probability of class 1", "threshold", "false alarm rate"]
    assert legend(axes[0])[:2] == ["given", "even"]
    # Both order rows alike.
    assert legend(axes[2])[0].removeprefix("given") == legend(axes[2])[1].removeprefix("even")
    one = triptych(Y, P, third="mcb-dsc", n_resamples=19)
    assert any("consistency" in text for text in legend(one[0]))
    assert one[2].get_xlabel() == "miscalibration MCB"
    alike = triptych(np.zeros(50, int), P[:50], n_resamples=19)
    assert legend(alike[2])[0] == "model: all rows alike"
    with pytest.raises(ValueError, match="third = 'rok': expected one of 'roc'"):
        triptych(Y, P, third="rok")


def test_arrows_lead_from_predictions_to_what_occurs() -> None:
    ax = simplex_arrows(Y3, P3, bandwidth=0.1, n_cells=1)
    (arrows,) = [each for each in ax.collections if isinstance(each, Quiver)]
    mean = propercal.conditional_mean(Y3, P3, bandwidth=0.1).mean(axis=0)
    corners = np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])
    start, end = P3.mean(axis=0) @ corners, mean @ corners
    shown = [np.ravel(each).tolist() for each in (arrows.XY, arrows.U, arrows.V)]
    np.testing.assert_allclose(np.concatenate(shown), np.concatenate([start, end - start]), atol=1e-12)
    assert [text.get_text() for text in ax.texts] == ["class 0", "class 1", "class 2"]
    with pytest.raises(ValueError, match="y_proba = 2 classes: expected three"):
        simplex_arrows(Y, P)
    with pytest.raises(ValueError, match="n_cells = 0"):
        simplex_arrows(Y3, P3, n_cells=0)
    with pytest.raises(ValueError, match="an indicator matrix whose rows"):
        simplex_arrows(np.stack([Y, Y, 1 - Y], 1), 0.9 * P3)


HARD = ["$5 to $10_^{", "a name of so many words that no panel could hold them all in one single line of it", "_c"]
#: Each has such names where it writes any.
NAMED = {
    "reliability": lambda: reliability_diagram(np.array(HARD)[Y], P, pos_label=HARD[1], n_resamples=19),
    "panels": lambda: reliability_panels(np.array(HARD)[Y3], P3, labels=HARD, n_resamples=19)[0],
    "murphy": lambda: murphy_diagram(Y, {HARD[0]: P, HARD[2]: P**2}),
    "scores": lambda: mcb_dsc_plot(Y, {HARD[0]: P, HARD[1]: P**2}),
    "triptych": lambda: triptych(Y, dict.fromkeys([*HARD, "d", "e", "f"], P))[2],
    "simplex": lambda: simplex_arrows(np.array(HARD)[Y3], P3, labels=HARD, bandwidth=0.1),
    "forest": lambda: forest(decompose_groups(Y3, P3, groups=np.array(HARD)[np.roll(Y3, 1)], method="risk", bandwidth=0.1, n_resamples=9)),
}


@pytest.mark.parametrize("name", NAMED)
def test_names_are_no_formulas_and_leave_room_for_the_panel(name: str) -> None:
    ax = NAMED[name]()
    figure: Any = ax.get_figure()
    figure.canvas.draw()
    box = ax.get_window_extent()
    assert min(box.width, box.height) > 90
    whole = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert min(whole.x0, whole.y0) >= -0.05
    assert whole.x1 <= width + 0.05
    assert whole.y1 <= height + 0.05


@pytest.mark.filterwarnings("ignore:groups .*infinite:UserWarning", "ignore:an outcome of predicted probability 0:UserWarning")
def test_what_is_infinite_is_said_where_no_number_is() -> None:
    wrong = np.where((np.arange(200) == 0)[:, None], np.roll(np.eye(3)[Y3], 1, axis=1), P3)
    ax = forest(decompose_groups(Y3, wrong, groups=np.arange(200) // 100, generator="log", method="risk", bandwidth=0.1, n_resamples=9))
    marks: list[Any] = [text for text in ax.texts if text.get_text() == "∞"]
    assert [mark.xy for mark in marks] == [(0.98, 0), (0.98, 2)]
    monitor = CalibrationMonitor(3)
    monitor.update(Y3[1:], P3[1:])
    monitor.update(Y3[:1], wrong[:1])
    assert legend(evidence_over_time(monitor.history())) == [
        "calibrated from the beginning,\ninfinite by row 199",
        "calibrated still,\ninfinite by row 199",
    ]


def test_panels_of_columns_that_are_called_by_other_numbers() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    order = [2, 0, 1]
    axes = reliability_panels(Y3, pd.DataFrame(P3[:, order], columns=order), n_resamples=19)
    for ax, i in zip(axes, order, strict=True):
        right = reliability_diagram(Y3, P3, event=i, n_resamples=19)
        assert ax.get_xlabel() == right.get_xlabel()
        np.testing.assert_array_equal(line(ax, "isotonic curve"), line(right, "isotonic curve"))


def test_panels_of_events_are_named_as_that_of_one_is() -> None:
    """A number may be that of a column, or the name of another class: it was a column in silence."""
    pd = pytest.importorskip("pandas", reason="needs pandas")
    order = [2, 0, 1]
    table = pd.DataFrame(P3[:, order], columns=order)
    with pytest.raises(ValueError, match=r"^events = 0: expected to know whether column 0 is meant, of class 2, or class 0; pass '2' or '0'"):
        reliability_panels(Y3, table, events=[0], n_resamples=19)
    words = np.array(["ant", "bee", "cat"])
    named = pd.DataFrame(P3, columns=words)
    cases: list[Any] = [(Y3, table, ["2", "0"]), (words[Y3], named, ["cat", "ant"]), (words[Y3], named, [2, "ant"]), (words[Y3], named, np.array([2, 0]))]
    for y, p, events in cases:
        for ax, i in zip(reliability_panels(y, p, events=events, n_resamples=19), [2, 0], strict=True):
            right = reliability_diagram(Y3, P3, event=i, n_resamples=19)
            np.testing.assert_array_equal(line(ax, "isotonic curve"), line(right, "isotonic curve"))
    for odd, found in (("cat", "events = 'cat': expected a list of classes; pass events=\\['cat'\\]"), (["dog"], "events = 'dog': expected a column from 0 to 2"), ([3], "events = 3"), ([-1], "events = -1")):
        with pytest.raises(ValueError, match=found):
            reliability_panels(words[Y3], named, events=odd)
