"""Displays, by scikit-learn's own tests with the class exchanged, and what they draw beyond those."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from unittest import mock

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")
pytest.importorskip("sklearn", minversion="1.6")

import matplotlib.pyplot as plt
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeRegressor

from propercal import decompose, reliability
from propercal.methods import Risk
from propercal.sklearn import DecompositionDisplay, ReliabilityDisplay


class Quick(ReliabilityDisplay):
    """With few label sets for the band, so that tests take no time."""

    @classmethod
    def from_predictions(cls, *given: Any, **options: Any) -> Any:
        return super().from_predictions(*given, **{"n_resamples": 19, **options})

    @classmethod
    def from_estimator(cls, *given: Any, **options: Any) -> Any:
        return super().from_estimator(*given, **{"n_resamples": 19, **options})


class Binned(ReliabilityDisplay):
    """With the bins that are the default of scikit-learn."""

    @classmethod
    def from_estimator(cls, *given: Any, **options: Any) -> Any:
        return super().from_estimator(*given, **{"strategy": "uniform", **options})


Quick.__name__ = Binned.__name__ = "ReliabilityDisplay"

#: Tests that a display is compared with bins by default, which it does not draw: run with bins.
BY_BINS = ["test_calibration_display_pos_label"]
#: Of the decomposition, which takes several classes: they ask that a classifier of them be refused.
OF_BINARY = [
    "test_display_curve_error_binary_classifier", "test_display_curve_error_regression",
    "test_display_curve_error_classifier",  # until 1.8
]


def loaded(name: str, display: type) -> ModuleType:
    """A copy of a test module of scikit-learn, in which `display` takes the place of theirs."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        pytest.skip(f"scikit-learn came without {name}")
    module = importlib.util.module_from_spec(spec)
    # Marks of theirs are not registered here.
    marks = mock.patch.object(pytest, "mark", pytest.MarkGenerator(_ispytest=True))
    with mock.patch("sklearn.calibration.CalibrationDisplay", display), marks:
        spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _no_figure_left() -> Iterator[None]:
    yield
    plt.close("all")


def cases(function: Any, module: ModuleType) -> Iterator[dict[str, Any]]:
    """The parameters that a test is run with, of which the display is ours."""
    found: list[dict[str, Any]] = [{}]
    for mark in getattr(function, "pytestmark", []):
        if mark.name != "parametrize":
            continue
        names = [each.strip() for each in mark.args[0].split(",")] if isinstance(mark.args[0], str) else list(mark.args[0])
        values = [each.values if hasattr(each, "marks") else each if len(names) > 1 else (each,) for each in mark.args[1]]
        rows = [dict(zip(names, each, strict=True)) for each in values]
        # They skip what CalibrationDisplay has not, as ours has not.
        rows = [each for each in rows if each.get("Display", module.CalibrationDisplay) is module.CalibrationDisplay and "from_cv_results" not in each.values()]
        found = [{**a, **b} for a in found for b in rows]
    yield from found


def theirs(name: str, display: type, chosen: Any) -> list[Any]:
    """Tests of a module of scikit-learn with their parameters, for a display."""
    module = loaded(name, display)
    tests = [
        (each, case)
        for key, each in vars(module).items()
        if key.startswith("test_") and chosen(key, each)
        for case in cases(each, module)
    ]
    return [pytest.param(function, case, id=f"{function.__name__}-{'-'.join(map(str, case.values()))}"[:120]) for function, case in tests]


def of_calibration(key: str) -> bool:
    return "display" in key or key == "test_plot_calibration_curve_pipeline"


def of_curves(function: Any) -> bool:
    return any("Display" in mark.args[0] for mark in getattr(function, "pytestmark", []))


OURS = [
    *theirs("sklearn.tests.test_calibration", Quick, lambda key, _: of_calibration(key) and key not in BY_BINS),
    *theirs("sklearn.tests.test_calibration", Binned, lambda key, _: key in BY_BINS),
    *theirs("sklearn.metrics._plot.tests.test_common_curve_display", Quick, lambda _, each: of_curves(each)),
    *theirs("sklearn.metrics._plot.tests.test_common_curve_display", DecompositionDisplay, lambda key, each: of_curves(each) and key not in OF_BINARY),
]


def fixtures() -> dict[str, Any]:
    iris = load_iris(return_X_y=True)
    two = iris[0][iris[1] < 2], iris[1][iris[1] < 2]
    return {"pyplot": plt, "data": iris, "data_binary": two, "iris_data": iris, "iris_data_binary": two}


@pytest.mark.filterwarnings("ignore:no row had an outcome", "ignore:.*is 1 for what occurred and 0 for what did not")
@pytest.mark.parametrize(("function", "case"), OURS)
def test_of_scikit_learn(function: Any, case: dict[str, Any]) -> None:
    known = fixtures()
    needed = function.__code__.co_varnames[: function.__code__.co_argcount]
    function(**{name: case[name] if name in case else known[name] for name in needed})


def test_the_tests_of_scikit_learn_are_found() -> None:
    names = {each.values[0].__name__ for each in OURS}
    assert {*BY_BINS, "test_calibration_display_compute"} <= names
    # Names of the common ones differ between versions.
    assert sum(each.startswith("test_display_curve") for each in names) > 4
    assert len(OURS) > 35
    assert "CalibrationDisplay" in vars(sys.modules["sklearn.calibration"])


# --- what they do not test
X, Y = load_breast_cancer(return_X_y=True)
MODEL = GaussianNB().fit(X[::2], Y[::2])
P = MODEL.predict_proba(X[1::2])
QUICK: Any = {"n_resamples": 19}


def legend(axis: Any) -> list[str]:
    return [each.get_text() for each in axis.get_legend().get_texts()]


def start(line: Any) -> float:
    return float(line.get_xdata()[0])


def test_the_isotonic_curve_and_its_bands_are_those_of_reliability() -> None:
    found = reliability(Y[1::2], P[:, 1], **QUICK)
    shown = ReliabilityDisplay.from_estimator(MODEL, X[1::2], Y[1::2], **QUICK)
    np.testing.assert_array_equal(shown.prob_pred, found.prediction)
    np.testing.assert_array_equal(shown.prob_true, found.curve)
    x, y = (np.asarray(each) for each in shown.line_.get_data())
    np.testing.assert_allclose(np.interp(found.prediction.values, x, y), found.curve.values, atol=1e-12)
    for band, name in ((shown.confidence_band_, "confidence"), (shown.consistency_band_, "consistency")):
        assert band is not None
        corners = np.asarray(band.get_paths()[0].vertices)
        assert corners[:, 1].min() == pytest.approx(float(found[f"{name}_lower"].min()))
        assert corners[:, 1].max() == pytest.approx(float(found[f"{name}_upper"].max()))
    assert shown.ax_.get_xlabel() == "Predicted probability (Positive class: 1)"
    again = shown.plot(bands=False, name="again", color="red")
    assert again is shown
    assert (shown.confidence_band_, shown.line_.get_label(), shown.line_.get_color()) == (None, "again", "red")


def test_displays_share_a_panel() -> None:
    first = ReliabilityDisplay.from_estimator(MODEL, X[1::2], Y[1::2], **QUICK)
    second = ReliabilityDisplay.from_predictions(Y[1::2], P[:, 1] ** 2, ax=first.ax_, name="$squared$", **QUICK)
    assert second.ax_ is first.ax_
    assert first.line_.get_color() != second.line_.get_color()
    assert len(first.ax_.texts) == 1
    assert first.consistency_band_ is not None
    assert second.consistency_band_ is None
    assert second.confidence_band_ is not None
    assert legend(first.ax_) == ["Perfectly calibrated", "GaussianNB", r"\$squared\$"]
    alone = ReliabilityDisplay.from_predictions(Y[1::2], P[:, 1], ref_line=False, **QUICK)
    assert legend(alone.ax_) == ["Classifier"]


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_weights_of_bins_repeat_rows(strategy: str) -> None:
    weight = np.random.default_rng(0).integers(0, 4, len(P))
    y, p = Y[1::2], P[:, 1].round(3)
    shown = ReliabilityDisplay.from_predictions(y, p, strategy=strategy, n_bins=4, sample_weight=weight)
    if strategy == "uniform":
        expected = calibration_curve(np.repeat(y, weight), np.repeat(p, weight), n_bins=4)
        np.testing.assert_allclose(shown.prob_true, expected[0])
        np.testing.assert_allclose(shown.prob_pred, expected[1])
    constant = ReliabilityDisplay.from_predictions(y, p, strategy=strategy, n_bins=4, sample_weight=np.full(len(p), 7))
    plain = calibration_curve(y, p, n_bins=4, strategy=strategy)
    np.testing.assert_allclose(constant.prob_true, plain[0])


def test_a_class_of_several_stands_against_the_rest() -> None:
    x, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = GaussianNB().fit(x, names)
    shown = ReliabilityDisplay.from_estimator(model, x, names, pos_label="virginica", **QUICK)
    found = reliability(y == 2, model.predict_proba(x)[:, 2], **QUICK)
    np.testing.assert_allclose(shown.prob_true, found.curve)
    assert shown.ax_.get_ylabel() == "Fraction of positives (Positive class: virginica)"
    some = y > 0
    absent = ReliabilityDisplay.from_estimator(model, x[some], names[some], pos_label="setosa", **QUICK)
    assert absent.prob_true.max() == 0
    with pytest.raises(ValueError, match=r"y = labels \[0, 1, 2\]: expected the classes that the estimator was fitted to"):
        ReliabilityDisplay.from_estimator(model, x, y, pos_label="setosa")
    with pytest.raises(ValueError, match="pos_label = 'rose'"):
        ReliabilityDisplay.from_estimator(model, x, names, pos_label="rose")


@pytest.mark.parametrize(("y", "p", "options", "message"), [
    (Y[1::2], P[:, 1] * 2, {}, r"y_prob = numbers from .*expected probabilities of the positive class"),
    (Y[1::2], np.where(P[:, 1] > 0.5, np.nan, 0.1), {}, r"y_prob = numbers from nan"),
    (Y[1::2], P, {}, r"y_prob = an array of shape \(284, 2\)"),
    (Y[1::2], P[:, 1].astype(str), {}, "y_prob = values of type"),
    (Y[1::2], P[:, 1], {"strategy": "isotonc"}, "did you mean 'isotonic'"),
    (Y[1::2], P[:, 1], {"pos_label": 5}, "pos_label = 5"),
    (Y[1::2], None, {}, "inconsistent numbers of samples"),
    (np.where(Y[1::2], np.nan, 0.0), P[:, 1], {}, "y_true = missing values"),
    (Y[1::2], P[:, 1], {"strategy": "uniform", "confidence_level": 95}, "confidence_level = 95"),
    (Y[1::2], P[:, 1], {"ax": 3}, "ax = an object of type int"),
    (Y[1::2], P[:, 1], {"strategy": "uniform", "n_bins": 0}, "n_bins = 0"),
    (Y[1::2], P[:, 1], {"strategy": "uniform", "sample_weight": -np.ones(284)}, "finite weights"),
    (Y[1::2], P[:, 1], {"sample_weight": -np.ones(284)}, "weight"),
], ids=repr)  # fmt: skip
def test_bad_predictions_are_refused(y: Any, p: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions(y, p, **options)


def test_a_panel_of_two_events_says_neither_on_its_axes() -> None:
    words = np.array(["no", "yes"])[Y[1::2]]
    first = Quick.from_predictions(words, P[:, 1], pos_label="yes", strategy="uniform")
    assert first.ax_.get_ylabel() == "Fraction of positives (Positive class: yes)"
    Quick.from_predictions(words, P[:, 1], pos_label="yes", strategy="uniform", ax=first.ax_)
    assert first.ax_.get_ylabel() == "Fraction of positives (Positive class: yes)"
    for event, column in (("no", P[:, 0]), ("yes", P[:, 1])):
        Quick.from_predictions(words, column, pos_label=event, strategy="uniform", ax=first.ax_)
        assert first.ax_.get_ylabel() == "Fraction of positives"
        assert first.ax_.get_xlabel() == "Mean predicted probability"
    plt.close("all")


def test_a_bar_ends_at_the_risk() -> None:
    shown = DecompositionDisplay.from_estimator(MODEL, X[1::2], Y[1::2], generator="brier")
    result = decompose(Y[1::2], P, generator="brier")
    assert shown.result.calibration_error == result.calibration_error
    (first,), (second,) = shown.refinement_bar_, shown.calibration_error_bar_
    assert first.get_width() == pytest.approx(result.refinement)
    assert second.get_x() + second.get_width() == pytest.approx(result.risk) == start(shown.line_)
    assert shown.interval_ is not None
    assert shown.ref_line_ is not None
    assert start(shown.ref_line_) == result.uncertainty
    other = DecompositionDisplay.from_predictions(Y[1::2], P, generator="brier", name="the same", ax=shown.ax_)
    assert other.ref_line_ is shown.ref_line_
    assert [each.get_text() for each in shown.ax_.get_yticklabels()] == ["GaussianNB", "the same"]
    assert legend(shown.ax_) == ["Refinement", "Calibration error", "Best constant prediction"]
    with pytest.raises(ValueError, match="ax = a panel of the 'Mean brier loss': expected one of the 'Mean log loss"):
        DecompositionDisplay.from_predictions(Y[1::2], P, method=Risk(bandwidth=0.1), ax=shown.ax_)
    with pytest.raises(ValueError, match=r"expected one of the 'Mean brier loss, top-label'.*each notion, on a panel of its own"):
        DecompositionDisplay.from_predictions(Y[1::2], P, generator="brier", notion="top-label", method=Risk(bandwidth=0.1), ax=shown.ax_)
    by_column = DecompositionDisplay.from_predictions(Y[1::2], P[:, 1], generator="brier", ref_line=False)
    assert by_column.result.risk == pytest.approx(result.risk)
    assert by_column.ref_line_ is None


def test_settings_of_a_method_that_is_named() -> None:
    shown = DecompositionDisplay.from_predictions(Y[1::2], P, method="risk", bandwidth=0.1, height=0.3)
    assert shown.result.risk == decompose(Y[1::2], P, method="risk", bandwidth=0.1).risk
    assert shown.result.bandwidth == 0.1
    assert shown.refinement_bar_[0].get_height() == 0.3


def test_decompositions_of_several_classes_and_other_methods() -> None:
    x, y = load_iris(return_X_y=True)
    names = np.array(["c", "b", "a"])[y]
    model = GaussianNB().fit(x, names)
    fast: Any = {"method": Risk(bandwidth=0.1), "generator": "brier"}
    shown = DecompositionDisplay.from_estimator(model, x, names, **fast)
    assert shown.interval_ is None
    expected = decompose(y, model.predict_proba(x)[:, ::-1], **fast)
    assert shown.result.risk == pytest.approx(expected.risk)
    plain = DecompositionDisplay.from_predictions(names, model.predict_proba(x), **fast)
    turned = DecompositionDisplay.from_predictions(names, model.predict_proba(x)[:, ::-1], labels=["c", "b", "a"], **fast)
    assert plain.result.risk == pytest.approx(expected.risk)
    assert turned.result.risk == pytest.approx(expected.risk)
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(model.predict_proba(x)[:, ::-1], columns=["c", "b", "a"])
    assert DecompositionDisplay.from_predictions(names, table, **fast).result.risk == pytest.approx(expected.risk)
    with pytest.raises(ValueError, match=r"expected names of columns"):
        DecompositionDisplay.from_predictions(names, table.rename(columns={"c": "d"}), **fast)
    with pytest.raises(ValueError, match=r"y_prob = 3 columns, and 2 classes"):
        DecompositionDisplay.from_predictions(names[y < 2], model.predict_proba(x)[y < 2], **fast)
    with pytest.raises(ValueError, match="Got DecisionTreeRegressor instead; pass one with predict_proba, of any number"):
        DecompositionDisplay.from_estimator(DecisionTreeRegressor().fit(x, y), x, names)


@pytest.mark.filterwarnings("ignore:risk and calibration error under the log loss.*infinite")
def test_an_infinite_risk_is_written() -> None:
    forest = RandomForestClassifier(3, random_state=0).fit(X[::2], Y[::2])
    shown = DecompositionDisplay.from_estimator(forest, X[1::2], Y[1::2])
    assert np.isinf(shown.result.risk)
    assert [each.get_text() for each in shown.ax_.texts] == ["∞"]
    assert shown.interval_ is None




@pytest.mark.filterwarnings("ignore:the confidence band has lower ends above upper ones")
def test_predictions_that_contradict_how_they_are_read_give_a_warning() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    codes, order = np.arange(90) % 3, rng.permutation(90)
    proba = np.where(np.eye(3)[codes] == 1, 0.7, 0.15) + rng.uniform(-0.02, 0.02, (90, 3))
    proba /= proba.sum(axis=1, keepdims=True)
    names, event = np.array(list("abc")), (codes == 0).astype(int)
    options: dict[str, Any] = {"generator": "brier", "method": Risk(bandwidth=0.1)}
    draw: Any = DecompositionDisplay.from_predictions
    right = draw(names[codes], pd.DataFrame(proba, columns=names), **options).result.risk
    assert draw(names[codes], proba[:, [2, 0, 1]], labels=list("cab"), **options).result.risk == pytest.approx(right, rel=1e-12)
    # Columns that are named after classes come in any order, which is not that of labels=.
    turned = pd.DataFrame(proba, columns=names)[["c", "a", "b"]]
    assert draw(names[codes], turned, labels=list("abc"), **options).result.risk == pytest.approx(right, rel=1e-12)
    columns = r"^y_prob has columns.* though by y_prob labels are e\^\d+ times as probable"
    rows = r"^y_prob has the index .* y_prob labels are e\^\d+ times as probable if y_prob is sorted by its index"
    shuffled = pd.Series(proba[:, 0]).iloc[order]
    calls: tuple[tuple[Any, str], ...] = (
        (lambda: draw(codes, pd.DataFrame(proba, columns=names)[["c", "a", "b"]], **options), columns),
        (lambda: draw(names[codes], proba[:, [2, 0, 1]], **options), columns),
        (lambda: draw(names[codes], proba[:, [2, 0, 1]], labels=list("abc"), **options), columns),
        (lambda: draw(event, 1 - proba[:, 0], **options), r"^y_prob is one column, read as the probability of 1, though"),
        (lambda: draw(event, shuffled, **options), rows),
        (lambda: Quick.from_predictions(event, shuffled), rows),
        (lambda: Quick.from_predictions(event, 1 - proba[:, 0]), r"^y_proba? is one column"),
    )
    for call, message in calls:
        with pytest.warns(UserWarning, match=message):
            call()
    plt.close("all")
