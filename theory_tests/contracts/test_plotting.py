"""Figures show the values of their data, on the axes they were given, and touch nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr

mpl.use("agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.container import BarContainer, ErrorbarContainer

from propercal import CalibrationMonitor, Decomposition, decompose
from propercal.plotting import (
    COLOURS,
    convergence,
    decomposition_bars,
    evidence_over_time,
    layer_curves,
    mcb_dsc_plot,
    murphy_diagram,
    pareto_front,
    reliability_diagram,
)
from propercal.plotting.binned import wilson_interval
from propercal.plotting.lines import mean_and_error, over_repetitions
from propercal.result import TERMS
from propercal.simulation import TemperatureScaledSimplex

Y_TRUE, Y_PROBA, _ = TemperatureScaledSimplex(3).sample(300, random_state=0)
EVEN = (Y_PROBA + 1 / 3) / 2


@pytest.fixture(autouse=True)
def _no_figure_left() -> Iterator[None]:
    yield
    plt.close("all")


def results() -> list[Decomposition]:
    found = decompose(Y_TRUE, Y_PROBA, generator=["log", "brier"], method="debiased", random_state=0)
    assert isinstance(found, list)
    return found


def sizes() -> xr.Dataset:
    return xr.Dataset({
        "mean": (("method", "sample_size"), [[0.5, 0.3, 0.2], [0.1, 0.15, 0.17]]),
        "standard_error": (("method", "sample_size"), [[0.05, 0.03, 0.02], [0.01, 0.01, 0.02]]),
        "limit": ("method", [0.1, 0.2]),
        "truth": 0.18,
    }, coords={"method": ["direct", "risk"], "sample_size": [50, 100, 200]})


def layers() -> xr.Dataset:
    values = np.random.default_rng(0).random((3, 4, 5))
    return xr.Dataset(
        {"sharpness": (("layer", "epoch", "seed"), values, {"units": "nats"})},
        coords={"layer": ["1", "2", "output"], "epoch": [1, 2, 8, 32]},
    )


def history() -> xr.Dataset:
    monitor = CalibrationMonitor(3, alpha=0.01)
    monitor.update(Y_TRUE, Y_PROBA)
    return monitor.history()


DRAW: dict[str, Callable[[Any], Axes]] = {
    "reliability": lambda ax: reliability_diagram(Y_TRUE, Y_PROBA, n_resamples=19, ax=ax),
    "reliability in bins": lambda ax: reliability_diagram(Y_TRUE, Y_PROBA, curve="equal-bins", ax=ax),
    "reliability by quantiles": lambda ax: reliability_diagram(Y_TRUE, Y_PROBA, curve="quantile-bins", n_resamples=19, ax=ax),
    "murphy": lambda ax: murphy_diagram(Y_TRUE, {"g": Y_PROBA, "even": EVEN}, event=0, ax=ax),
    "difference": lambda ax: murphy_diagram(Y_TRUE, {"g": Y_PROBA, "even": EVEN}, event=0, difference=True, ax=ax),
    "scores": lambda ax: mcb_dsc_plot(Y_TRUE, {"g": Y_PROBA, "even": EVEN}, event=0, ax=ax),
    "bars": lambda ax: decomposition_bars(results(), ax=ax),
    "convergence": lambda ax: convergence(sizes(), ax=ax),
    "pareto": lambda ax: pareto_front([0.9, 0.8, 0.7], [0.2, 0.1, 0.3], ax=ax),
    "layers": lambda ax: layer_curves(layers(), ax=ax),
    "monitor": lambda ax: evidence_over_time(history(), ax=ax),
}


def bars(ax: Axes) -> list[BarContainer]:
    return [each for each in ax.containers if isinstance(each, BarContainer)]


def points(ax: Axes) -> dict[str, tuple[Any, Any]]:
    """What each line with error bars shows, by its label."""
    found = [each for each in ax.containers if isinstance(each, ErrorbarContainer)]
    return {str(each.get_label()): each.lines[0].get_data() for each in found}


def reach(ax: Axes) -> list[tuple[float, float]]:
    """Lower and upper ends of all vertical error bars, in their order."""
    found: list[tuple[float, float]] = []
    for each in ax.containers:
        if isinstance(each, ErrorbarContainer):
            found += [(s[0][1], s[-1][1]) for s in each.lines[2][-1].get_segments()]
    return found


def legend(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", DRAW)
def test_given_axes_are_used_and_settings_kept(name: str) -> None:
    figure, axes = plt.subplots(1, 2)
    before, shown = dict(mpl.rcParams), plt.get_fignums()
    assert DRAW[name](axes[1]) is axes[1]
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == shown
    assert figure.axes == list(axes)
    assert not axes[0].has_data()
    assert axes[1].has_data()
    # A title is the caller's.
    assert axes[1].get_title() == ""


@pytest.mark.parametrize("name", DRAW)
def test_a_new_figure_otherwise_labelled_without_overlap(name: str) -> None:
    ax = DRAW[name](None)
    assert len(plt.get_fignums()) == 1
    assert ax.get_ylabel()
    assert legend(ax)
    figure = ax.get_figure()
    assert figure is not None
    title = ax.set_title("A title of the caller's")
    figure.canvas.draw()
    box, frame = ax.get_legend().get_window_extent(), figure.bbox  # type: ignore[union-attr]
    assert not box.overlaps(ax.get_window_extent())
    assert not box.overlaps(title.get_window_extent())
    assert frame.x0 <= box.x0 < box.x1 <= frame.x1 + 1
    assert frame.y0 <= box.y0 < box.y1 <= frame.y1
    ticks = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
    assert all(a.x1 <= b.x0 for a, b in pairwise(ticks))


@pytest.mark.parametrize("name", DRAW)
def test_axes_of_another_kind_are_named(name: str) -> None:
    with pytest.raises(ValueError, match=r"ax = an object of type ndarray: expected a matplotlib Axes"):
        DRAW[name](plt.subplots(1, 2)[1])


def test_reliability_bars_are_frequencies_of_filled_bins() -> None:
    # Bins of width 0.25: one with 2 of 4, none between 0.25 and 0.75, one with 3 of 3; 1 is in the last.
    p = np.array([0.1, 0.1, 0.2, 0.24, 0.8, 0.9, 1.0])
    y = np.array([0, 1, 0, 1, 1, 1, 1])
    ax = reliability_diagram(y, p, event=1, curve="equal-bins", n_bins=4)
    frequency, below, above = bars(ax)
    assert [bar.get_height() for bar in frequency] == [0.5, 1.0]
    assert [bar.get_x() for bar in frequency] == [0.0, 0.75]
    assert [bar.get_width() for bar in frequency] == [0.25, 0.25]
    # Both bins were predicted too low; no bar says too high.
    assert [bar.get_y() for bar in below] == [0.5, 1.0]
    np.testing.assert_allclose([bar.get_y() + bar.get_height() for bar in below], [0.16, 0.9])
    assert [bar.get_hatch() for bar in below] == ["///"] * 2
    assert len(above) == 0
    # The larger gap is darker.
    assert below[0].get_facecolor()[3] > below[1].get_facecolor()[3]
    low, high = wilson_interval(np.array([0.5, 1.0]), np.array([4, 3]), 0.95)
    np.testing.assert_allclose(reach(ax), np.transpose([low, high]))
    x, height = points(ax)["95 % interval"]
    np.testing.assert_allclose(x, [0.16, 0.9])
    np.testing.assert_allclose(height, [0.5, 1.0])
    assert legend(ax) == ["predicted too low", "predicted too high", "95 % interval", "calibrated"]


def test_reliability_of_the_top_class() -> None:
    p = np.array([[0.6, 0.3, 0.1], [0.2, 0.1, 0.7], [0.1, 0.65, 0.25]])
    ax = reliability_diagram(["a", "a", "b"], p, labels=["a", "b", "c"], curve="equal-bins", n_bins=2)
    frequency, below, above = bars(ax)
    assert [bar.get_height() for bar in frequency] == pytest.approx([2 / 3])
    assert len(below) + len(above) == 1
    assert ax.get_ylabel() == "accuracy"
    ax = reliability_diagram(["a", "a", "b"], p, labels=["a", "b", "c"], event=1, curve="equal-bins", n_bins=2)
    assert [bar.get_height() for bar in bars(ax)[0]] == [0.0, 1.0]
    assert ax.get_xlabel() == "predicted probability of class b"


def test_wilson_interval_agrees_with_scipy() -> None:
    from scipy.stats import binomtest

    for hits, n in ((0, 5), (3, 10), (10, 10), (499, 1000)):
        known = binomtest(hits, n).proportion_ci(0.9, method="wilson")
        low, high = wilson_interval(np.array([hits / n]), np.array([n]), 0.9)
        assert (low[0], high[0]) == pytest.approx((known.low, known.high), abs=1e-12)


def test_decomposition_bars_are_the_terms_with_their_intervals() -> None:
    found = results()
    ax = decomposition_bars(found, names=["one", "two"])
    for i, (result, container) in enumerate(zip(found, bars(ax), strict=True)):
        heights = [bar.get_height() for bar in container]
        np.testing.assert_allclose(heights, [getattr(result, term) for term in TERMS])
        middle = [bar.get_x() + bar.get_width() / 2 for bar in container]
        np.testing.assert_allclose(middle, np.arange(5) + (-0.2, 0.2)[i])
    ends = [result.interval(term) for result in found for term in TERMS]
    np.testing.assert_allclose(reach(ax), ends, atol=1e-12)
    assert legend(ax) == ["one", "two"]
    assert legend(decomposition_bars(found)) == ["log loss (nats)", "brier loss"]
    assert decomposition_bars(found[0]).get_ylabel() == "value (nats)"


def test_names_of_bars_that_are_those_of_another_result_are_refused() -> None:
    y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(60, random_state=0)
    results = decompose(y_true, y_proba, generator=["log", "brier"], method="risk", bandwidth=0.1)
    for names in (["log", "brier"], ["brier score", "log loss"], ["a", "brier"]):
        decomposition_bars(results, names=names)
    with pytest.raises(ValueError, match=r"names = \['brier', 'log'\]: expected the order of the results, which are of \['log', 'brier'\]"):
        decomposition_bars(results, names=["brier", "log"])
    plt.close("all")


def test_an_infinite_term_has_no_bar() -> None:
    p = np.array([[1.0, 0.0], [0.5, 0.5], [0.4, 0.6], [0.3, 0.7]])
    with pytest.warns(UserWarning, match="infinite"):
        result = decompose([1, 0, 1, 0], p, method="risk", bandwidth=0.1)
    assert isinstance(result, Decomposition)
    ax = decomposition_bars(result)
    heights = [bar.get_height() for bar in bars(ax)[0]]
    finite = [getattr(result, term) for term in TERMS if np.isfinite(getattr(result, term))]
    assert not np.isfinite(result.risk)
    np.testing.assert_allclose(heights, finite)
    assert [text.get_text() for text in ax.texts] == ["∞"] * (5 - len(finite))


def test_equal_settings_are_numbered() -> None:
    one = results()[0]
    assert legend(decomposition_bars([one, one])) == ["result 1", "result 2"]


def test_convergence_draws_estimates_limits_and_truth() -> None:
    data = sizes()
    ax = convergence(data)
    shown = points(ax)
    for i, method in enumerate(("direct", "risk")):
        x, y = shown[method]
        np.testing.assert_array_equal(x, [50, 100, 200])
        np.testing.assert_array_equal(y, data["mean"].values[i])
    ends = np.stack([data["mean"] - data["standard_error"], data["mean"] + data["standard_error"]])
    np.testing.assert_allclose(reach(ax), ends.reshape(2, -1).T)
    level = {
        (line.get_color(), line.get_linestyle()): np.asarray(line.get_ydata())[0]
        for line in ax.lines
        if len(np.asarray(line.get_xdata())) == 2
    }
    assert level == {("black", "-"): 0.18, (COLOURS[0], "--"): 0.1, (COLOURS[1], "--"): 0.2}
    assert set(legend(ax)) == {"direct", "risk", "limit", "truth"}
    assert ax.get_xscale() == "log"


def test_convergence_averages_replicates() -> None:
    values = np.array([[1.0, 3.0, 5.0], [2.0, 4.0, np.nan]])
    data = xr.Dataset({"calibration_error": (("sample_size", "replicate"), values)}, coords={"sample_size": [10, 20]})
    ax = convergence(data)
    np.testing.assert_allclose(points(ax)["calibration error"][1], [3.0, 3.0])
    half = np.array([2 / np.sqrt(3), np.sqrt(2) / np.sqrt(2)])
    np.testing.assert_allclose(reach(ax), np.transpose([3 - half, 3 + half]))


def test_pareto_front_tells_points_apart() -> None:
    accuracy, error = [0.9, 0.8, 0.7, 0.85], [0.2, 0.1, 0.3, 0.25]
    ax = pareto_front(accuracy, error, calibration_error_se=[0.01] * 4, names=list("abcd"))
    shown = points(ax)
    np.testing.assert_array_equal(shown["on the Pareto front"], ([0.9, 0.8], [0.2, 0.1]))
    np.testing.assert_array_equal(shown["beaten in both"], ([0.7, 0.85], [0.3, 0.25]))
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [0.8, 0.9])
    assert [(text.get_text(), text.xy) for text in ax.texts] == [  # type: ignore[attr-defined]
        (name, (x, y)) for name, x, y in zip("abcd", accuracy, error, strict=True)
    ]
    assert ax.yaxis_inverted()
    np.testing.assert_allclose(sorted(reach(ax)), [(e - 0.01, e + 0.01) for e in sorted(error)])


def test_pareto_front_under_the_names_of_an_index() -> None:
    pd = pytest.importorskip("pandas")
    accuracy = pd.Series([0.9, 0.8], index=["large", "small"])
    pareto_front(accuracy, [0.1, 0.2], names=["large", "small"])
    pareto_front(accuracy, [0.1, 0.2], names=["L", "S"])
    with pytest.raises(ValueError, match=r"names = .* expected the order of accuracy"):
        pareto_front(accuracy, [0.1, 0.2], names=["small", "large"])


def test_names_of_neighbours_are_apart() -> None:
    """Of two points, each is nearest to another one further out, so that their names lie towards each other."""
    accuracy, error = [0.5, 0.68, 0.7, 0.76, 0.78, 1.0], [0.5, 0.3, 0.3, 0.29, 0.29, 0.1]
    ax = pareto_front(accuracy, error, names=["one", "8", "twelve", "sixteen", "32", "64"])
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_pareto_front_of_a_dataset_takes_means_over_seeds() -> None:
    data = xr.Dataset({
        "accuracy": (("epoch", "seed"), [[0.6, 0.8], [0.8, 0.9]]),
        "calibration_error": (("epoch", "seed"), [[0.1, 0.3], [0.4, 0.6]], {"units": "nats"}),
    }, coords={"epoch": [1, 4]})
    ax = pareto_front(data)
    np.testing.assert_allclose(points(ax)["on the Pareto front"], ([0.7, 0.85], [0.2, 0.5]))
    assert [text.get_text() for text in ax.texts] == ["1", "4"]
    assert ax.get_ylabel() == "calibration error (nats)"


def test_layer_curves_are_means_with_standard_errors() -> None:
    data = layers()
    ax = layer_curves(data)
    shown = points(ax)
    assert list(shown) == ["layer 1", "layer 2", "output layer"] == legend(ax)
    for (x, y), values in zip(shown.values(), data["sharpness"].values, strict=True):
        np.testing.assert_array_equal(x, [1, 2, 8, 32])
        np.testing.assert_allclose(y, values.mean(1))
    mean, error = data["sharpness"].mean("seed"), data["sharpness"].std("seed", ddof=1) / np.sqrt(5)
    ends = np.stack([mean - error, mean + error]).reshape(2, -1).T
    np.testing.assert_allclose(reach(ax), ends)
    assert ax.get_ylabel() == "sharpness (nats)"


@pytest.mark.parametrize(
    ("values", "mean", "error"),
    [
        ([1.0, 2.0, 6.0], 3.0, np.sqrt(7 / 3)),
        ([1.0, np.nan, 3.0], 2.0, 1.0),
        # Of one number, or of an infinite one, nobody knows the error.
        ([1.0, np.nan, np.nan], 1.0, np.nan),
        ([1.0, np.inf, 3.0], np.inf, np.nan),
        ([1.0, -np.inf, np.nan], -np.inf, np.nan),
    ],
)
def test_a_mean_over_repetitions_has_an_error_where_it_is_known(values: list[float], mean: float, error: float) -> None:
    """s² / n of 1, 2, 6 is (4 + 1 + 9) / 2 / 3; in two dimensions all repetitions count alike."""
    for repeated in (
        xr.DataArray(values, dims="seed"),
        xr.DataArray([values[:2], [values[2], np.nan]], dims=("seed", "replicate")),
    ):
        found = [each.item() for each in mean_and_error(repeated, [str(dim) for dim in repeated.dims])]
        assert found == pytest.approx([mean, error], nan_ok=True)
        drawn = over_repetitions(repeated)[1]
        assert (drawn is None) == np.isnan(error)
        assert drawn is None or drawn.item() == pytest.approx(error)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "notion": (lambda: reliability_diagram(Y_TRUE, Y_PROBA, notion="claswise"), "did you mean 'classwise'"),
    "no event": (
        lambda: reliability_diagram(Y_TRUE, Y_PROBA, notion="classwise"),
        "event = None: expected a column from 0 to 2",
    ),
    "event": (lambda: reliability_diagram(Y_TRUE, Y_PROBA, event=3), "event = 3: expected a column from 0 to 2"),
    "bins": (lambda: reliability_diagram(Y_TRUE, Y_PROBA, n_bins=0), "n_bins = 0: expected a whole number"),
    "level": (lambda: reliability_diagram(Y_TRUE, Y_PROBA, confidence_level=95), "confidence_level = 95"),
    "data": (lambda: reliability_diagram(Y_TRUE, 2 * Y_PROBA), "y_proba = "),
    "results": (lambda: decomposition_bars([]), "results = 0 results"),
    "result": (lambda: decomposition_bars([results()[0], 1]), r"results\[1\] = of type int"),  # type: ignore[list-item]
    "not results": (lambda: decomposition_bars(1.0), "results = an object of type float"),  # type: ignore[arg-type]
    "names": (lambda: decomposition_bars(results(), names=["one"]), "expected 2 strings"),
    "numbers as names": (lambda: pareto_front([0.5], [0.1], names=[1]), "expected 1 strings"),  # type: ignore[list-item]
    "no dataset": (lambda: convergence([1, 2]), "dataset = an object of type list"),  # type: ignore[arg-type]
    "dimension": (lambda: convergence(sizes().rename(sample_size="n")), "expected a dimension 'sample_size'"),
    "estimate": (lambda: convergence(sizes(), estimate="men"), "did you mean 'mean'"),
    "no sizes": (lambda: convergence(sizes(), estimate="truth"), "expected truth along 'sample_size'"),
    "lines": (lambda: convergence(sizes().isel(method=[0] * 7)), "7 lines"),
    "layer": (lambda: layer_curves(layers().isel(layer=0)), "expected a dimension 'layer'"),
    "term": (lambda: layer_curves(layers(), term="sharpnes"), "did you mean 'sharpness'"),
    "history": (lambda: evidence_over_time(layers()), "expected a dimension 'row'"),
    "one array": (lambda: pareto_front([0.5]), "calibration_error = None"),
    "lengths": (lambda: pareto_front([0.5, 0.6], [0.1]), r"calibration_error = an array of shape \(1,\)"),
    "infinite": (lambda: pareto_front([0.5, np.nan], [0.1, 0.1]), "accuracy = values that are not finite"),
    "both": (lambda: pareto_front(layers(), [0.1]), "calibration_error = an array: expected None"),
    "variables": (lambda: pareto_front(layers()), "accuracy = 'accuracy': expected one of 'sharpness'"),
    "point names": (lambda: pareto_front([0.5], [0.1], names="a b"), "names = 'a b': expected 1 strings"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_named_before_anything_is_drawn(case: str) -> None:
    call, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        call()
    assert plt.get_fignums() == []


def test_without_matplotlib_the_error_says_what_to_install() -> None:
    code = """
import sys
sys.modules["matplotlib"] = None
from propercal.plotting import reliability_diagram
try:
    reliability_diagram([0, 1], [0.2, 0.7])
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "propercal[plot]"' in run.stdout


def test_names_of_near_points_do_not_lie_on_each_other() -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    axis = pareto_front([0.9, 0.903, 0.5], [0.020, 0.0201, 0.05], names=["one", "two", "far"], ax=figure.subplots())
    figure.canvas.draw()
    one, two, far = (text.get_window_extent() for text in axis.texts)
    assert not one.overlaps(two)
    assert not far.overlaps(one)
    alone = pareto_front([0.9], [0.02], names=["alone"], ax=Figure().subplots())
    assert [text.get_text() for text in alone.texts] == ["alone"]
    level = pareto_front([0.9, 0.95], [0.02, 0.02], names=["a", "b"], ax=Figure().subplots())
    assert [text.get_horizontalalignment() for text in level.texts] == ["right", "left"]


@pytest.mark.parametrize("width", [4.4, 6.4])
def test_a_legend_stands_beside_a_panel_that_leaves_it_room_and_below_others(width: float) -> None:
    figure, ax = plt.subplots(figsize=(width, 5), layout="constrained")
    decomposition_bars(results(), ax=ax)
    figure.canvas.draw()
    panel, box = ax.get_window_extent(), ax.get_legend().get_window_extent()  # type: ignore[union-attr]
    if width < 5:
        assert box.y1 < ax.xaxis.get_tightbbox().y0  # type: ignore[union-attr]
        assert box.y0 >= 0
    else:
        assert box.x0 > panel.x1
