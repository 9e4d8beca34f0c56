"""The ranked probability score: its formulas, and the order of classes that it asks for.

Source: Epstein (1969), doi:10.1175/1520-0450(1969)008<0985:ASSFPF>2.0.CO;2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propercal
from propercal.generators import Brier, Quadratic, RankedProbability
from propercal.information import layer_sharpness
from propercal.testing import check_generator
from theory_tests.instances import TERMS, calibrated, values

WORDS = np.array(["low", "mid", "top"])
RANKED = RankedProbability()


def test_the_checker_finds_nothing() -> None:
    report = check_generator("rps", n_classes=(2, 3, 7), max_examples=40)
    assert (report.passed, report.is_strictly_convex, report.is_finite_at_vertices) == (True, True, True)


@given(k=st.integers(2, 7), seed=st.integers(0, 2**32 - 1))
def test_every_formula_is_that_of_the_score(k: int, seed: int) -> None:
    """Σ_j (C_j − 1[y ≤ j])² as a loop, and the quadratic form of k − max(i, j)."""
    p, q = np.random.default_rng(seed).dirichlet([0.6] * k, (2, 4))
    y = np.random.default_rng(seed).integers(0, k, 4)
    score = [sum((q[i, : j + 1].sum() - (y[i] <= j)) ** 2 for j in range(k - 1)) for i in range(4)]
    np.testing.assert_allclose(RANKED.loss(q, np.eye(k)[y]), score, rtol=1e-12, atol=1e-14)
    places = np.arange(1, k + 1)
    form = Quadratic(k - np.maximum(places[:, None], places))
    np.testing.assert_allclose(RANKED.gradient(p) - k, form.gradient(p), rtol=1e-12, atol=1e-13)
    for name in ("value", "hessian", "hessian_diagonal"):
        np.testing.assert_allclose(getattr(RANKED, name)(p), getattr(form, name)(p), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(RANKED.divergence(p, q), form.divergence(p, q), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(RANKED.hessian_times(p, q), form.hessian_times(p, q), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(RANKED.loss(q[:, ::-1], np.eye(k)[k - 1 - y]), score, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("notion", ["classwise", "top-label"])
def test_one_class_against_the_rest_is_half_the_brier_score(notion: str) -> None:
    y, p = calibrated(150, 3, 1, power=1.5)
    ranked, brier = propercal.decompose(y, p, generator=["rps", 0.5 * Brier()], notion=notion)
    np.testing.assert_allclose(values(ranked), values(brier), rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_order_of_columns_matters_and_its_reverse_does_not() -> None:
    y, p = calibrated(200, 3, 2, power=1.5)
    def found(order: list[int]) -> Any:
        return propercal.decompose(np.argsort(order)[y], p[:, order], generator="rps", method="risk", bandwidth=0.1)

    straight, turned, other = found([0, 1, 2]), found([2, 1, 0]), found([1, 0, 2])
    np.testing.assert_allclose(values(turned), values(straight), rtol=1e-9, atol=1e-12)
    assert abs(other.risk - straight.risk) > 1e-3
    assert straight.risk == pytest.approx(straight.calibration_error + straight.refinement)
    assert {name: float(getattr(straight, name)) > 0 for name in TERMS if name != "calibration_error"}


def tables() -> list[Any]:
    pd = pytest.importorskip("pandas")
    y, p = calibrated(80, 3, 3)
    alphabetical = np.sort(["mild", "none", "severe"])
    return [pd, y, p, alphabetical]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("weighted", [1.0, 2.0])
def test_words_in_alphabetical_order_are_no_order(weighted: float) -> None:
    """They are refused, whoever asks, until the order is said."""
    pd, y, p, words = tables()
    generator = weighted * RANKED + Brier()
    refused: list[Any] = [
        lambda: propercal.decompose(words[y], p, generator=generator),
        lambda: propercal.decompose(words[y], pd.DataFrame(p, columns=words), generator=["log", generator]),
        lambda: propercal.decompose(pd.get_dummies(pd.Series(words[y])), pd.DataFrame(p, columns=words), generator=generator),
        lambda: propercal.decompose(pd.Series(words[y], dtype="category"), p, generator=generator, method="risk"),
        lambda: propercal.paired_difference(words[y], p, p, generator=generator),
        lambda: propercal.calibration_test(words[y], p, generator=generator),
        lambda: propercal.select_bandwidth(words[y], p, generator=generator),
        lambda: layer_sharpness([p], words[y], generator=generator, bandwidth=0.1),
        lambda: propercal.CalibrationMonitor(3, generator="rps").update(words[y], p),
    ]
    for each in refused:
        with pytest.raises(ValueError, match=r"generator = .*RankedProbability\(\).*not words in alphabetical order"):
            each()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_order_that_is_said_is_heeded() -> None:
    """Names of columns in an order of their own, labels=, ordered categories, numbers: all the same numbers."""
    pd, y, p, _ = tables()
    words = np.array(["none", "mild", "severe"])
    settings: dict[str, Any] = {"generator": "rps", "method": "risk", "bandwidth": 0.1}
    expected = values(propercal.decompose(y, p, **settings))
    ordered = pd.Series(pd.Categorical(words[y], categories=words, ordered=True))
    for labels, proba, options in (
        (words[y], p, {"labels": words}),
        (words[y], pd.DataFrame(p, columns=words), {}),
        (ordered, p, {}),
        (y, pd.DataFrame(p), {}),
        (y + 1, p, {"labels": [1, 2, 3]}),
        (np.sort(words)[y], p, {"labels": np.sort(words)}),
    ):
        np.testing.assert_allclose(values(propercal.decompose(labels, proba, **options, **settings)), expected, rtol=1e-12)


def test_two_classes_have_no_order() -> None:
    y, p = calibrated(60, 2, 4)
    words = np.array(["no", "yes"])
    found = propercal.decompose(words[y], p, generator="rps", method="risk", bandwidth=0.1)
    brier = propercal.decompose(y, p, generator="brier", method="risk", bandwidth=0.1)
    np.testing.assert_allclose(2 * np.array(values(found)), values(brier), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("text", [False, True])
def test_columns_named_by_numbers_are_in_their_order_or_refused(text: bool) -> None:
    pd = pytest.importorskip("pandas")
    y, p = calibrated(80, 4, 3)
    names = np.array([0, 5, 10, 15])
    names = names.astype(str) if text else names

    def found(order: list[int], generator: Any = "rps") -> Any:
        table = pd.DataFrame(p[:, order], columns=names[order])
        return propercal.decompose(names[y], table, generator=generator, method="risk", bandwidth=0.1)

    straight = found([0, 1, 2, 3])
    assert straight.risk == pytest.approx(propercal.decompose(y, p, generator="rps", method="risk", bandwidth=0.1).risk)
    np.testing.assert_allclose(values(found([3, 2, 1, 0])), values(straight), rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match=r"generator = RankedProbability\(\): expected columns in the order of their classes"):
        found([0, 2, 1, 3])
    assert found([0, 2, 1, 3], "brier").risk == pytest.approx(found([0, 1, 2, 3], "brier").risk)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_columns_in_another_order_than_is_said_are_refused() -> None:
    """Where labels=, ordered categories, a table of marks or numbers in words say an order of the classes, columns must have it or its reverse."""
    pd, y, p, _ = tables()
    words = np.array(["none", "mild", "severe"])
    settings: dict[str, Any] = {"generator": "rps", "method": "risk", "bandwidth": 0.1}
    expected = values(propercal.decompose(y, p, **settings))
    table = pd.DataFrame(p, columns=words)
    ordered = pd.Series(pd.Categorical(words[y], categories=words, ordered=True))
    marks = pd.get_dummies(pd.Series(words[y]))[words]
    said: list[tuple[Any, dict[str, Any]]] = [(words[y], {"labels": words}), (ordered, {}), (marks, {}), (np.eye(3)[y], {"labels": words})]
    for labels, options in said[:3]:
        for columns in (words, words[::-1]):
            np.testing.assert_allclose(values(propercal.decompose(labels, table[columns], **options, **settings)), expected, rtol=1e-9, atol=1e-12)
    odd = table[words[[0, 2, 1]]]
    calls: list[Any] = [lambda a=a, b=b: propercal.decompose(a, odd, **b, **settings) for a, b in said[:3]]
    calls += [
        lambda: propercal.paired_difference(words[y], odd, table, generator="rps", term="risk", labels=list(words)),
        lambda: propercal.calibration_test(words[y], odd, generator="rps", labels=list(words), n_resamples=19),
        lambda: propercal.decompose_groups(ordered, odd, groups=np.arange(80) % 2, n_resamples=9, **settings),
        lambda: propercal.CalibrationMonitor(3, generator="rps").update(ordered, odd),
    ]
    for each in calls:
        with pytest.raises(ValueError, match=r"generator = .*expected columns in the order of their classes, \['none', 'mild', 'severe'\], not \['none', 'severe', "):
            each()
    for names in (["class 0", "class 1", "class 2"], ["0-9", "10-19", "20-29"], ["I", "II", "III"], ["one", "two", "three"], ["Q3 2020", "Q4 2020", "Q1 2021"]):
        numbered = pd.DataFrame(p, columns=names)
        found = propercal.decompose(np.array(names)[y], numbered, labels=names, **settings)
        np.testing.assert_allclose(values(found), expected, rtol=1e-9, atol=1e-12)
        if names[0] != "Q3 2020":
            # Of two numbers in each name one may say nothing.
            with pytest.raises(ValueError, match="which have the numbers"):
                propercal.decompose(np.array(names)[y], numbered[[names[1], names[0], names[2]]], **settings)


def test_classes_that_differ_are_in_the_order_that_is_said() -> None:
    """A generator that tells classes apart counts columns, so that these have the order of labels=, categories or numbers."""
    pd = pytest.importorskip("pandas")
    y, p = calibrated(80, 3, 3)
    generator = Quadratic(np.diag([1.0, 2.0, 3.0]))
    settings: dict[str, Any] = {"generator": generator, "method": "risk", "bandwidth": 0.1}
    expected = propercal.decompose(y, p, **settings).risk
    for names in (np.array(["b", "a", "c"]), np.array([0, 1, 2]), np.array([3, 5, 9])):
        table, words = pd.DataFrame(p, columns=names), names.dtype.kind == "U"
        ordered = pd.Series(pd.Categorical(names[y], categories=names, ordered=True))
        said: list[tuple[Any, dict[str, Any]]] = [(names[y], {"labels": list(names)}), (ordered, {})]
        for labels, options in said:
            assert propercal.decompose(labels, table, **settings, **options).risk == pytest.approx(expected, rel=1e-12)
            for odd in (table[names[::-1]], table[np.roll(names, 1)]):
                with pytest.raises(ValueError, match=r"generator = .*expected columns in the order of their classes"):
                    propercal.decompose(labels, odd, **settings, **options)
                brier = propercal.decompose(labels, odd, generator="brier", method="risk", bandwidth=0.1, **options)
                assert brier.risk == pytest.approx(propercal.decompose(y, p, generator="brier", method="risk", bandwidth=0.1).risk)
        if not words:
            with pytest.raises(ValueError, match=r"generator = .*expected columns in the order of their classes"):
                propercal.decompose(names[y], table[names[::-1]], **settings)
