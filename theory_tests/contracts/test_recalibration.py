"""Recalibrators: what they accept, what they refuse, and what they say of hard cases."""

from __future__ import annotations

import contextlib
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from propercal import decompose
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling
from propercal.simulation import TemperatureScaledSimplex
from theory_tests.conftest import Backend
from theory_tests.instances import Weightless

Y, G, _ = TemperatureScaledSimplex(3).sample(200, random_state=0)
BOTH = [TemperatureScaling, ClasswiseIsotonic]


@pytest.mark.parametrize("kind", BOTH)
def test_fit_returns_itself_and_names_the_classes(kind: Any) -> None:
    recalibrator = kind()
    assert recalibrator.fit(G, Y) is recalibrator
    assert recalibrator.classes_.tolist() == [0, 1, 2]
    names = np.array(["bird", "cat", "dog"])
    assert kind().fit(G, names[Y]).classes_.tolist() == ["bird", "cat", "dog"]
    prob = recalibrator.predict_proba(G)
    assert prob.shape == (200, 3)
    np.testing.assert_allclose(prob.sum(axis=1), 1)


@pytest.mark.parametrize("kind", BOTH)
def test_forms_of_two_classes_agree(kind: Any) -> None:
    y, g, _ = TemperatureScaledSimplex(2).sample(100, random_state=1)
    expected = kind().fit(g, y).predict_proba(g)
    for form in (g[:, 1], g[:, 1:]):
        np.testing.assert_allclose(kind().fit(form, y).predict_proba(form), expected, rtol=1e-9)


@pytest.mark.parametrize("kind", BOTH)
def test_one_hot_lists_and_single_rows(kind: Any) -> None:
    fitted = kind().fit(G.tolist(), np.eye(3)[Y].astype(int).tolist())
    expected = kind().fit(G, Y).predict_proba(G)
    np.testing.assert_allclose(fitted.predict_proba(G[:1]), expected[:1], rtol=1e-12)
    assert fitted.predict_proba(G[:1].tolist()).shape == (1, 3)


@pytest.mark.parametrize("kind", BOTH)
def test_weight_zero_is_removal(kind: Any) -> None:
    weight = np.ones(200)
    weight[::3] = 0
    kept = weight > 0
    found = kind().fit(G, Y, weight).predict_proba(G)
    np.testing.assert_allclose(found, kind().fit(G[kept], Y[kept]).predict_proba(G), rtol=1e-9)


@pytest.mark.parametrize("kind", BOTH)
def test_every_backend(kind: Any, xp: Backend) -> None:
    g = xp.array(G)
    found = kind().fit(g, xp.integers(Y)).predict_proba(g)
    assert found.dtype == xp.float_type
    expected = kind().fit(G, Y).predict_proba(G)
    # A label near a step of isotonic regression may fall on its other side in single precision.
    close = np.isclose(xp.numpy(found), expected, rtol=0, atol=100 * xp.tolerance)
    assert close.mean() > (0.98 if xp.dtype == "float32" else 0.999)
    np.testing.assert_array_equal(xp.numpy(g), np.asarray(G, dtype=xp.dtype))


def test_gradients_pass_through_a_temperature() -> None:
    torch = pytest.importorskip("torch")
    z = torch.tensor(np.log(G), requires_grad=True)
    scaling = TemperatureScaling(from_logits=True).fit(np.log(G), Y)
    prob = scaling.predict_proba(z)
    (gradient,) = torch.autograd.grad(prob[:, 0].sum(), z)
    p = prob.detach().numpy()
    expected = p[:, :1] * (np.eye(3)[0] - p) / scaling.temperature_
    np.testing.assert_allclose(gradient.numpy(), expected, atol=1e-14)


# --- hard cases
def test_impossible_classes_stay_impossible() -> None:
    g = np.array([[0.7, 0.3, 0.0], [0.2, 0.8, 0.0], [0.6, 0.4, 0.0], [0.1, 0.2, 0.7]])
    scaling = TemperatureScaling().fit(g, [0, 1, 1, 0])
    assert 0 < scaling.temperature_ < math.inf
    assert (scaling.predict_proba(g)[:3, 2] == 0).all()


def test_rows_without_a_chance_are_left_out_of_the_fit_by_name() -> None:
    g = np.vstack([G, [[0.4, 0.6, 0.0], [0.0, 0.5, 0.5]]])
    y = np.append(Y, [2, 0])
    with pytest.warns(UserWarning, match=r"rows 200, 201: .* infinite at any temperature"):
        found = TemperatureScaling().fit(g, y).temperature_
    assert found == pytest.approx(TemperatureScaling().fit(G, Y).temperature_, rel=1e-12)
    with pytest.raises(ValueError, match="for the class of every row"):
        TemperatureScaling().fit([[1.0, 0.0], [0.0, 1.0]], [1, 0])


def test_predictions_worse_than_none_have_an_infinite_temperature() -> None:
    z = np.array([[2.0, 0.0], [0.0, 1.0], [3.0, 1.0], [0.0, 2.0]])
    with pytest.warns(UserWarning, match="temperature is infinite"):
        scaling = TemperatureScaling(from_logits=True).fit(z, [1, 0, 1, 0])
    assert scaling.temperature_ == math.inf
    assert (scaling.predict_proba(z) == 0.5).all()
    # What is impossible stays so.
    assert scaling.predict_proba([[-math.inf, 3.0]]).tolist() == [[0.0, 1.0]]


def test_faultless_predictions_have_no_best_temperature() -> None:
    z = np.tile([[1.0, 0.0], [0.0, 3.0]], (9, 1))
    y = np.tile([0, 1], 9)
    with pytest.warns(UserWarning, match="none is best"):
        scaling = TemperatureScaling(from_logits=True).fit(z, y)
    prob = scaling.predict_proba(z)
    assert -np.log(prob[np.arange(18), y]).mean() == pytest.approx(math.log(20 / 19), rel=1e-9)


def test_uniform_predictions_stay_uniform() -> None:
    scaling = TemperatureScaling().fit(np.full((4, 2), 0.5), [0, 1, 1, 1])
    assert scaling.temperature_ == 1
    assert (scaling.predict_proba([[0.5, 0.5]]) == 0.5).all()


def test_an_absent_class_gets_nothing_from_isotonic_regression_unless_smoothed() -> None:
    y = np.where(Y == 2, 0, Y)
    assert (ClasswiseIsotonic().fit(G, y).predict_proba(G)[:, 2] == 0).all()
    smoothed = ClasswiseIsotonic(smoothed=True).fit(G, y)
    assert smoothed.functions_[2].predict([0.3]) == pytest.approx(1 / 202)
    assert smoothed.predict_proba(G).min() > 0
    assert 0 < TemperatureScaling().fit(G, y).temperature_ < math.inf


def test_rows_of_zeros_keep_what_they_came_with_and_say_so() -> None:
    # Only a class with 0.6 or more ever occurs; of others, those with 0.4 do not.
    sure = np.array([[0.6, 0.4, 0.0], [0.0, 0.6, 0.4], [0.4, 0.0, 0.6]])
    isotonic = ClasswiseIsotonic().fit(sure, [0, 1, 2])
    new = np.array([[1 / 3, 1 / 3, 1 / 3], [0.7, 0.2, 0.1], [0.4, 0.3, 0.3]])
    with pytest.warns(UserWarning, match=r"every class gets 0 \(rows 0, 2\)"):
        found = isotonic.predict_proba(new)
    np.testing.assert_allclose(found, [new[0], [1.0, 0.0, 0.0], new[2]], rtol=1e-15)
    with pytest.warns(UserWarning, match=r"\(row 0\)"):
        np.testing.assert_allclose(isotonic.predict_proba(new[:1]), new[:1])
    assert ClasswiseIsotonic(smoothed=True).fit(sure, [0, 1, 2]).predict_proba(new).min() > 0


def test_class_wise_estimates_with_an_absent_class() -> None:
    y, g = np.where(Y == 2, 0, Y), G
    found = decompose(y, g, notion="classwise", recalibrator=TemperatureScaling(), kernel=None)
    assert math.isfinite(found.calibration_error)


# --- bad input
@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(("X", "y", "message"), [
    (G[:, :2] * 0.5, Y % 2, r"X = rows that sum to"),
    (G - 0.5, Y, r"X = .*expected probabilities between 0 and 1"),
    (G, Y[:-1], r"y = 199 labels: expected 200"),
    (G, np.arange(200) % 4 + 1, r"^y = "),
    (np.where(G > 0.9, np.nan, G), Y, r"X = nan"),
    (G, np.ones((200, 3), dtype=int), r"^y = "),
])
def test_bad_data_are_refused(kind: Any, X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind().fit(X, y)


@pytest.mark.parametrize("kind", BOTH)
def test_bad_use_is_refused(kind: Any) -> None:
    with pytest.raises(ValueError, match="not fitted yet"):
        kind().predict_proba(G)
    with pytest.raises(ValueError, match=r"X = 2 classes: expected 3, as in fit"):
        kind().fit(G, Y).predict_proba([[0.5, 0.5]])
    with pytest.raises(ValueError, match="sample_weight"):
        kind().fit(G, Y, -np.ones(200))
    with pytest.raises(ValueError, match="from_logits = 'yes'"):
        kind(from_logits="yes").fit(G, Y)
    with pytest.raises(ValueError, match=r"X = an array of shape \(\)"):
        kind().fit(G, Y).predict_proba(np.array(0.5))
    separate = np.array([[0.9, 0.9], [0.1, 0.8]] * 10)
    with pytest.raises(ValueError, match="y = an indicator matrix of several labels"):
        kind().fit(separate, np.array([[1, 1], [0, 1]] * 10))


def test_smoothed_is_a_flag() -> None:
    with pytest.raises(ValueError, match="smoothed = 1"):
        ClasswiseIsotonic(smoothed=1).fit(G, Y)  # type: ignore[arg-type]


def test_representations_say_the_settings() -> None:
    assert eval(repr(TemperatureScaling(from_logits=True))).from_logits is True  # noqa: S307
    again = eval(repr(ClasswiseIsotonic(smoothed=True)))  # noqa: S307
    assert (again.from_logits, again.smoothed) == (False, True)


def test_both_do_without_scikit_learn() -> None:
    code = """
import sys
import propercal.recalibration as r
assert "sklearn" not in sys.modules
sys.modules["sklearn"] = None
for kind in (r.TemperatureScaling, r.ClasswiseIsotonic):
    try:
        kind().predict_proba([[0.6, 0.4]])
    except ValueError as error:
        assert "not fitted yet" in str(error)
    fitted = kind().fit([[0.6, 0.4], [0.3, 0.7], [0.6, 0.4]], [0, 1, 1])
    print(fitted.predict([[0.6, 0.4], [0.3, 0.7]]))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # Of two with 0.6 for class 0, one was of class 1: equal, so that the first is named.
    assert run.stdout.split("\n")[:2] == ["[0 1]", "[0 1]"]


@pytest.mark.parametrize("made", [TemperatureScaling(from_logits=True), ClasswiseIsotonic(smoothed=True)], ids=repr)
def test_scikit_learn_can_clone_them(made: Any) -> None:
    base = pytest.importorskip("sklearn.base")
    y, X = np.array([0, 1, 1, 0] * 5), np.tile([[0.7, 0.3], [0.2, 0.8], [0.6, 0.4], [0.9, 0.1]], (5, 1))
    fitted = base.clone(made).fit(np.log(X) if made.from_logits else X, y)
    copy = base.clone(fitted)
    assert copy.get_params() == made.get_params()
    assert repr(copy) == repr(made)
    assert not hasattr(copy, "classes_")
    assert copy.set_params(from_logits=False).get_params() == {**made.get_params(), "from_logits": False}
    with pytest.raises(ValueError, match=r"setting = 'form_logits': .*did you mean 'from_logits'"):
        copy.set_params(form_logits=True)


HIT = np.array([1, 0] * 10)
WORDS = np.where(HIT, "fraud", "legit")
P_HIT = np.where(HIT, 0.9, 0.1)
BOTH_COLUMNS = np.stack([P_HIT, 1 - P_HIT], axis=1)
#: What is fitted and what it is applied to, each as values and the names of their columns, and
#: whether the names say that they are the same columns.
APPLIED: dict[str, tuple[Any, Any, Any, Any, Any, dict[str, Any], bool]] = {
    "two columns, then one": (BOTH_COLUMNS, ["fraud", "legit"], WORDS, P_HIT, "fraud", {}, False),
    "two columns, then one without a name": (BOTH_COLUMNS, ["fraud", "legit"], WORDS, P_HIT, None, {}, False),
    "the positive class, then the other": (P_HIT, None, WORDS, 1 - P_HIT, "legit", {"pos_label": "fraud"}, False),
    "the positive class, then both": (P_HIT, None, WORDS, BOTH_COLUMNS, ["fraud", "legit"], {"pos_label": "fraud"}, False),
    "the positive class by name": (P_HIT, None, WORDS, P_HIT, "fraud", {"pos_label": "fraud"}, True),
    "class 1, then class 0": (P_HIT, "p_1", HIT, 1 - P_HIT, "p_0", {}, False),
    "class 0, then class 1": (1 - P_HIT, "p_0", HIT, P_HIT, "p_1", {"pos_label": 0}, False),
    "class 0, then class 0": (1 - P_HIT, "p_0", HIT, 1 - P_HIT, "p_0", {"pos_label": 0}, True),
    "one column, then that of class 0": (P_HIT, None, HIT, 1 - P_HIT, "p_0", {}, False),
    "one column, then its number": (P_HIT, None, HIT, P_HIT, 1, {}, True),
    "one column, then another name": (P_HIT, "old", HIT, P_HIT, "new", {}, False),
    "two columns, then opposites": (BOTH_COLUMNS[:, ::-1], None, HIT, BOTH_COLUMNS, ["pos", "neg"], {}, False),
    "two columns, then their numbers": (BOTH_COLUMNS[:, ::-1], None, HIT, BOTH_COLUMNS[:, ::-1], ["p_0", "p_1"], {}, True),
    "numbers of columns, then names in another order": (BOTH_COLUMNS[:, ::-1], None, HIT, BOTH_COLUMNS, ["yes", "no"], {}, False),
    "numbers of columns, then names in order": (BOTH_COLUMNS[:, ::-1], None, HIT, BOTH_COLUMNS[:, ::-1], ["no", "yes"], {}, True),
}  # fmt: skip


@pytest.mark.parametrize("case", APPLIED)
@pytest.mark.parametrize("kind", BOTH)
def test_the_columns_of_fit_are_recalibrated_or_refused(kind: Any, case: str) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")

    def held(values: Any, names: Any) -> Any:
        if names is None:
            return values
        return pd.Series(values, name=names) if values.ndim == 1 else pd.DataFrame(values, columns=names)

    fitted_to, names, y, applied_to, new_names, settings, same = APPLIED[case]
    noisy = y.copy()
    noisy[:2] = y[1::-1]
    # One column of the class that comes first in the alphabet stands second.
    with pytest.warns(UserWarning, match="sorted order") if settings else contextlib.nullcontext():
        fitted = kind(**settings).fit(held(fitted_to, names), noisy)
    if not same:
        with pytest.raises(ValueError, match=r"^X = "):
            fitted.predict_proba(held(applied_to, new_names))
        return
    found = fitted.predict_proba(held(applied_to, new_names))
    # Of classes 0.9 of the rows: what occurred gets more, whatever its column.
    right = (np.asarray(fitted.classes_)[None, :] == np.asarray(y)[:, None]).argmax(axis=1)
    assert np.mean(found.argmax(axis=1) == right) == 1


@pytest.mark.parametrize("coordinates", [False, True])
@pytest.mark.parametrize("kind", BOTH)
def test_the_dimension_of_classes_is_that_of_fit(kind: Any, coordinates: bool) -> None:
    xr = pytest.importorskip("xarray", reason="needs xarray")
    logits = np.log(G)
    coords = {"class": [0, 1, 2]} if coordinates else {}
    X = xr.DataArray(logits.T, dims=("class", "sample"), coords=coords)
    y = xr.DataArray(Y, dims="sample")
    fitted = kind(from_logits=True).fit(X, y)
    right = kind(from_logits=True).fit(logits, Y).predict_proba(logits)
    # As many rows as classes: the shape does not say which dimension is which.
    for n in (1, 2, 3, 200):
        np.testing.assert_allclose(fitted.predict_proba(X[:, :n]), right[:n], rtol=1e-9)
        np.testing.assert_allclose(fitted.predict_proba(X[:, :n].T), right[:n], rtol=1e-9)
    unlabelled = kind(from_logits=True).fit(logits, Y)
    np.testing.assert_allclose(unlabelled.predict_proba(X), right, rtol=1e-9)
    with pytest.raises(ValueError, match=r"X = dimensions .*to know which of them"):
        unlabelled.predict_proba(X[:, :3])


@pytest.mark.parametrize("kind", BOTH)
def test_columns_in_another_order_than_the_sorted_one_are_told(kind: Any, recwarn: pytest.WarningsRecorder) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    names = np.array(["low", "mid", "high"])
    X, order = pd.DataFrame(G, columns=names), ["high", "low", "mid"]
    kind().fit(X[order], names[Y])
    kind(labels=order).fit(X[order].to_numpy(), names[Y])
    assert not len(recwarn)
    for labels, given in ((None, X), (names.tolist(), G)):
        said = r"classes \['low', 'mid', 'high'\], in this order.*in the order \['high', 'low', 'mid'\]\.$"
        with pytest.warns(UserWarning, match=said):
            assert kind(labels=labels).fit(given, names[Y]).classes_.tolist() == names.tolist()
    # Codes count columns here, and classes in sorted order there.
    with pytest.warns(UserWarning, match=r"or their codes, in sorted order"):
        kind().fit(X, Y)
    # What a single column is of is told too: classes_ are the other one, and this.
    with pytest.warns(UserWarning, match=r"in the order \['fraud', 'legit'\]"):
        kind(pos_label="fraud").fit(np.where(HIT, 0.8, 0.3), np.roll(WORDS, 1))


class InOrder:
    """Isotonic regression whose columns stand in an order of its own."""

    def __init__(self, classes: list[Any], columns: list[int] | None = None) -> None:
        self.classes, self.columns = classes, classes if columns is None else columns

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> InOrder:
        self.fitted = ClasswiseIsotonic().fit(X, y, sample_weight)
        self.classes_ = self.classes
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.fitted.predict_proba(X)[:, self.columns]


def test_classes_of_a_recalibrator_within_an_estimate_are_those_of_its_columns() -> None:
    options: dict[str, Any] = {"generator": "brier", "method": "debiased", "n_folds": 4, "random_state": 0}
    y, g, _ = TemperatureScaledSimplex(3).sample(600, random_state=0)
    wanted = decompose(y, g, recalibrator=ClasswiseIsotonic(), **options)
    for made in (InOrder([0, 1, 2]), InOrder([2, 0, 1]), InOrder([1, 0, 2]), ClasswiseIsotonic(labels=[0, 1, 2])):
        found = decompose(y, g, recalibrator=made, **options)
        assert found.calibration_error == pytest.approx(wanted.calibration_error, rel=1e-9)
    for classes in (["a", "b", "c"], [1, 2, 3], [0, 0, 1]):
        with pytest.raises(ValueError, match="recalibrator = InOrder, whose classes_ are"):
            decompose(y, g, recalibrator=InOrder(classes, [0, 1, 2]), **options)
    # Names are said once, of the data; its own would be applied to numbers.
    for settings in ({"labels": [2, 1, 0]}, {"labels": list("abc")}, {"pos_label": 1}):
        for kind in BOTH:
            with pytest.raises(ValueError, match=rf"recalibrator = {kind.__name__} with (labels|pos_label) = "):
                decompose(y, g, labels=[2, 1, 0], recalibrator=kind(**settings), **options)


def test_a_recalibrator_that_takes_no_weights_is_refused_beside_some() -> None:
    options: dict[str, Any] = {"generator": "brier", "n_folds": 4, "recalibrator": Weightless()}
    with pytest.raises(ValueError, match=r"^recalibrator = Weightless, whose fit takes no sample_weight: .*pass no sample_weight"):
        decompose(Y, G, sample_weight=np.arange(200) + 1.0, **options)
    same = decompose(Y, G, sample_weight=np.ones(200), **options)
    assert same.calibration_error == decompose(Y, G, **options).calibration_error
