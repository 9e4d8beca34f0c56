"""Every form of the same data gives the same numbers: labels, probabilities, weights, logits."""

from __future__ import annotations

import decimal
import fractions
import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import propercal
from propercal.testing.strategies import ARRAY_FORMS, LABEL_FORMS
from theory_tests.instances import (
    CLASS_NAMES,
    KERNELS,
    NOTIONS,
    P_HARD,
    PLAIN_METHODS,
    TERMS,
    Y_HARD,
    Floats,
    Labels,
    calibrated,
    risk_of,
    same,
    terms,
)

# ---------------------------------------------------------------- labels
N, K = 60, 3
y0, p0 = calibrated(N, K, concentration=0.8)


def sample(k: int = K) -> tuple[Labels, Floats]:
    return calibrated(N, k, concentration=0.8)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("form", LABEL_FORMS)
def test_forms_of_labels(form: str, notion: str) -> None:
    same(terms(LABEL_FORMS[form](y0, K), p0, notion=notion), terms(y0, p0, notion=notion))


def test_boolean_labels() -> None:
    y, p = sample(k=2)
    same(terms(y == 1, p), terms(y, p))
    same(terms((y == 1).tolist(), p[:, 1]), terms(y, p))


def test_two_strings_stand_in_alphabetical_order() -> None:
    y, p = sample(k=2)
    named = np.array(["no", "yes"])[y]
    same(terms(named, p), terms(y, p))
    # Of one column, the positive class is said, not guessed.
    same(terms(named, p[:, 1], pos_label="yes"), terms(y, p))
    same(terms(named, p[:, 0], pos_label="no"), terms(y, p))
    same(terms(named, p[:, 1], labels=["no", "yes"]), terms(y, p))
    same(terms(named, pd.Series(p[:, 0], name="no")), terms(y, p))
    with pytest.raises(ValueError, match=r"^y_true = the names \['no', 'yes'\]: .*pass pos_label="):
        terms(named, p[:, 1])


def test_labels_names_the_columns() -> None:
    order = ["eel", "cat", "dog"]
    same(terms(np.array(order)[y0], p0, labels=order), terms(y0, p0))
    same(terms(np.array([30, 10, 20])[y0], p0, labels=[30, 10, 20]), terms(y0, p0))
    shifted = terms(y0 + 1, p0, labels=[1, 2, 3])
    same(shifted, terms(y0, p0))


def test_labels_lets_a_named_class_be_absent() -> None:
    y = np.where(y0 == 1, 0, y0)
    same(terms(CLASS_NAMES[y], p0, labels=list(CLASS_NAMES)), terms(y, p0))


def test_names_of_classes_are_a_permutation_too() -> None:
    p = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8], [0.3, 0.4, 0.3]])
    y = np.array([1, 0, 2, 2])
    named = np.array(["b", "c", "a"])[y]
    expected = terms(y, p, bandwidth=0.1)
    assert (terms(named, p, bandwidth=0.1, labels=["b", "c", "a"]) == expected).all()
    np.testing.assert_allclose(terms(named, p[:, [2, 0, 1]], bandwidth=0.1), expected, rtol=1e-12)


# ---------------------------------------------------------------- probabilities
@pytest.mark.parametrize("method", PLAIN_METHODS)
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("form", ARRAY_FORMS)
def test_forms_of_probabilities(form: str, notion: str, method: str) -> None:
    given = terms(y0, ARRAY_FORMS[form](p0), notion=notion, method=method)
    same(given, terms(y0, p0, notion=notion, method=method))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", PLAIN_METHODS)
@pytest.mark.parametrize("notion", NOTIONS)
def test_forms_of_weights(notion: str, method: str, kernel: str) -> None:
    # Cells of a whole simplex would leave points alone in theirs.
    y, p = calibrated(90, 2 if (kernel, notion) == ("quantile-bins", "canonical") else 3, concentration=0.8)
    w = np.random.default_rng(3).uniform(0.1, 3, 90)
    args: dict[str, Any] = {
        "notion": notion,
        "method": method,
        "kernel": kernel,
        "generator": "brier",
        "bandwidth": KERNELS[kernel],
    }
    weighted = terms(y, p, sample_weight=w, **args)
    for form in ARRAY_FORMS.values():
        same(terms(y, p, sample_weight=form(w), **args), weighted)
    assert not np.allclose(weighted, terms(y, p, **args), rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("notion", NOTIONS)
def test_narrow_floats_lose_only_their_rounding(notion: str, dtype: Any) -> None:
    """All arithmetic is in double precision: only the input's own rounding may show."""
    found = terms(y0, p0.astype(dtype), notion=notion)
    wanted = terms(y0, p0, notion=notion)
    # A probability rounded by ε moves log p by ε, and r̂ by about ε/γ = 20 ε.
    np.testing.assert_allclose(found, wanted, atol=40 * np.finfo(dtype).eps + 1e-12, rtol=0)


@pytest.mark.parametrize("method", PLAIN_METHODS)
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("generator", ["log", "brier"])
def test_shapes_of_a_binary_problem(generator: str, notion: str, method: str) -> None:
    y, p = sample(k=2)
    p = np.stack([1 - p[:, 1], p[:, 1]], 1)
    wanted = terms(y, p, notion=notion, method=method, generator=generator)
    for given in (p[:, 1], p[:, 1:], pd.Series(p[:, 1]), xr.DataArray(p[:, 1]), p[:, 1].tolist()):
        same(terms(y, given, notion=notion, method=method, generator=generator), wanted)
    one_hot = np.eye(2, dtype=int)[y]
    same(terms(one_hot, p[:, 1], notion=notion, method=method, generator=generator), wanted)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("kind", [np.int64, np.int8, np.bool_])
def test_integer_probabilities(kind: Any, notion: str) -> None:
    """A classifier that names one class a row: the Brier score is twice the error rate."""
    y = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    named = np.array([0, 1, 2, 0, 1, 2, 1, 1])
    p = np.eye(3)[named].astype(kind)
    found = terms(y, p, notion=notion, generator="brier")
    same(found, terms(y, p.astype(float), notion=notion, generator="brier"))
    # 1 row of 8 is wrong. It misses by (1, 1) in two of three classes, and in the top label.
    risk = {"canonical": 2 / 8, "classwise": 2 * 2 / 8 / 3, "top-label": 2 / 8}[notion]
    assert found[0] == pytest.approx(risk, rel=1e-14)


def test_integer_logits() -> None:
    z = np.array([[2, 0, -1], [0, 1, 3], [1, 1, 0], [0, 4, 1]])
    y = np.array([0, 2, 1, 1])
    same(terms(y, z, from_logits=True), terms(y, z.astype(float), from_logits=True))


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("notion", NOTIONS)
def test_the_callers_arrays_stay_as_they_were(notion: str, frozen: bool) -> None:
    y, p = sample()
    p[3] = [1.0, 0.0, 0.0]
    y[3] = 0
    w, z = np.linspace(0.0, 2.0, N), np.log(sample()[1]) * 3
    before = [a.copy() for a in (y, p, w, z)]
    for a in (y, p, w, z):
        a.setflags(write=not frozen)
    terms(y, p, notion=notion, sample_weight=w, generator="brier")
    terms(y, z, notion=notion, sample_weight=w, from_logits=True)
    propercal.select_bandwidth(y, p, generator="brier", notion=notion, criterion="risk")
    propercal.conditional_mean(y, p, notion=notion, kernel="dirichlet", bandwidth=0.1)
    for a, b in zip((y, p, w, z), before, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


# ---------------------------------------------------------------- logits
@pytest.mark.parametrize("notion", NOTIONS)
def test_logits_of_a_binary_problem(notion: str) -> None:
    y, _ = sample(k=2)
    z = np.random.default_rng(7).normal(0, 2, N)
    wanted = terms(y, 1 / (1 + np.exp(-z)), notion=notion)
    for given in (z, z[:, None], np.stack([np.zeros(N), z], 1), np.stack([-z / 2, z / 2], 1)):
        found = terms(y, given, notion=notion, from_logits=True)
        np.testing.assert_allclose(found, wanted, rtol=1e-11)


def test_logits_of_a_multilabel_problem() -> None:
    rng = np.random.default_rng(11)
    z, y = rng.normal(0, 2, (N, K)), rng.integers(0, 2, (N, K))
    y[0] = [1, 1, 0]
    found = terms(y, z, notion="classwise", from_logits=True)
    wanted = terms(y, 1 / (1 + np.exp(-z)), notion="classwise")
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


SATURATED = np.array([[0.0, 1000.0, -500.0], [1000.0, 0.0, 0.0], [0.0, 30.0, 800.0], [2.0, 1.0, 0.0]])
Y_SATURATED = np.array([0, 0, 1, 2])
"""Losses 1000, 0, 770 and log(e² + e + 1), in units where exp(−770) is 0."""


def test_canonical_log_loss_of_saturated_logits() -> None:
    losses = [1000.0, 0.0, 770.0, math.log(math.e**2 + math.e + 1)]
    for method in PLAIN_METHODS:
        found = propercal.decompose(Y_SATURATED, SATURATED, from_logits=True, method=method, bandwidth=0.05)
        assert found.risk == pytest.approx(np.mean(losses), rel=1e-15)
        assert found.infinite_loss_rows == ()
        assert all(math.isfinite(getattr(found, term)) for term in TERMS)


def test_classwise_log_loss_of_saturated_logits() -> None:
    """−log p_y of the class that occurred, −log(1 − p_i) of every other one."""
    z, total = [2.0, 1.0, 0.0], math.e**2 + math.e + 1
    row4 = math.log(total) - sum(math.log1p(-math.exp(v) / total) for v in z[:2])
    # Row 0: p = (0, 1, 0), and 1 − p_1 = e^-1000, so class 0 and class 1 lose 1000 each.
    # Row 2: p = (0, 0, 1), 1 − p_2 = e^-770 (the e^-800 of class 0 adds 1e-13 of it).
    wanted = np.mean([(1000 + 1000) / 3, 0.0, (770 + 770) / 3, row4 / 3])
    found = propercal.decompose(
        Y_SATURATED, SATURATED, from_logits=True, notion="classwise", method="risk", bandwidth=0.05
    )
    assert found.risk == pytest.approx(wanted, rel=1e-14)
    assert found.infinite_loss_rows == ()
    assert all(math.isfinite(getattr(found, term)) for term in TERMS)


def test_top_label_log_loss_of_saturated_logits() -> None:
    """The top label of rows 0 and 2 was wrong at a confidence of 1 − e^-1000 and 1 − e^-770."""
    total = math.e**2 + math.e + 1
    wanted = np.mean([1000.0, 0.0, 770.0, -math.log1p(-math.exp(2) / total)])
    found = propercal.decompose(
        Y_SATURATED, SATURATED, from_logits=True, notion="top-label", method="risk", bandwidth=0.05
    )
    assert found.risk == pytest.approx(wanted, rel=1e-14)


def test_saturated_float32_logits() -> None:
    """float32 softmax would round to exactly 1 here, and log(1 − p) to −∞."""
    z = np.array([[0.0, 25.0], [30.0, 0.0], [0.0, 20.0], [22.0, 0.0]], dtype=np.float32)
    y = np.array([0, 0, 1, 1])
    wanted = np.mean(np.log1p(np.exp([25.0, -30.0, -20.0, 22.0])))
    for notion in NOTIONS:
        found = propercal.decompose(y, z, from_logits=True, notion=notion, method="risk", bandwidth=0.05)
        assert found.risk == pytest.approx(wanted, rel=2e-7)


def test_neighbours_where_every_probability_has_underflowed() -> None:
    z = np.array([[0.0, 900.0], [0.0, 901.0], [900.0, 0.0], [901.0, 0.0]])
    mean = propercal.conditional_mean(
        np.array([0, 1, 1, 0]), z, notion="canonical", kernel="dirichlet", bandwidth=0.1, from_logits=True
    )
    # Each point's only near neighbour is the other of its pair.
    np.testing.assert_allclose(mean, [[0, 1], [1, 0], [1, 0], [0, 1]], atol=1e-12)


def test_an_empty_mask_changes_nothing() -> None:
    assert risk_of(np.ma.masked_array(Y_HARD), np.ma.masked_array(P_HARD)) == risk_of(Y_HARD, P_HARD)


def test_number_objects_and_nullable_columns() -> None:
    q = np.round(P_HARD[:, 0] * 1024) / 1024
    y = (Y_HARD == 0).astype(int)
    expected = risk_of(y, q)
    assert risk_of(y, [fractions.Fraction(v) for v in q]) == expected
    assert risk_of(y, [decimal.Decimal(v) for v in q]) == expected
    assert risk_of(pd.array(y, dtype="Int64"), pd.Series(q, dtype="Float64")) == expected
    assert risk_of(np.array([np.int64(v) for v in y], dtype=object), q) == expected


def test_matrix_subclass() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        assert risk_of(Y_HARD, np.matrix(P_HARD)) == risk_of(Y_HARD, P_HARD)


def test_categories_have_their_own_order() -> None:
    names = ["low", "mid", "high"]
    y = pd.Series(pd.Categorical.from_codes(Y_HARD.tolist(), categories=pd.Index(names), ordered=True))
    assert risk_of(y, P_HARD) == risk_of(Y_HARD, P_HARD)
    # Without order they may stand as they came up, while columns stand in alphabetical order.
    with pytest.raises(ValueError, match=r"^y_true = the names \['low', 'mid', 'high'\]: expected to know their order"):
        risk_of(y.cat.as_unordered(), P_HARD)


@pytest.mark.parametrize(
    ("column", "y_true", "risk"),
    [
        # Of two names that occur, the column's own is the positive class, whatever the alphabet says.
        ("ham", ["ham", "spam", "ham"], [0.8, 0.7, 0.6]),
        ("spam", ["spam", "ham", "spam"], [0.8, 0.7, 0.6]),
        # A number is a position, not a name: classes are 0 and 1.
        (1, [1, 1, 1], [0.8, 0.3, 0.6]),
    ],
)
def test_the_one_column_of_a_frame_is_the_positive_class(column: Any, y_true: Any, risk: Any) -> None:
    frame = pd.DataFrame({column: [0.8, 0.3, 0.6]})
    found = propercal.decompose(y_true, frame, method="risk", bandwidth=0.1)
    assert found.risk == pytest.approx(-np.log(risk).mean())


def test_column_0_may_be_of_class_0() -> None:
    # The only column of a frame, or the first of two that was selected: pandas calls both 0.
    frame = pd.DataFrame([0.8, 0.3, 0.6])
    with pytest.warns(UserWarning, match="y_proba is one column numbered 0, .* taken for the probability of class 1"):
        assert risk_of([1, 1, 0], frame) == pytest.approx(-np.log([0.8, 0.3, 0.4]).mean())
    with pytest.raises(ValueError, match=r"^y_proba = a column named 0: .*pass pos_label=0 or pos_label=1"):
        risk_of([1, 1, 0], pd.DataFrame({0: [0.8, 0.3, 0.6]}))
    for positive, risk in ((1, [0.8, 0.3, 0.4]), (0, [0.2, 0.7, 0.6])):
        found = propercal.decompose([1, 1, 0], frame, pos_label=positive, method="risk", bandwidth=0.1)
        assert found.risk == pytest.approx(-np.log(risk).mean())


@pytest.mark.parametrize("holder", ["arrow", "nullable", "object", "list"])
def test_predictions_of_rows_that_do_not_count_may_be_missing(holder: str) -> None:
    p = np.random.default_rng(0).random(12)
    values: list[Any] = [None if i == 5 else float(each) for i, each in enumerate(p)]
    if holder == "list":
        held: Any = values
    elif holder == "object":
        held = np.array(values, dtype=object)
    else:
        pytest.importorskip("pyarrow")
        held = pd.Series(values, dtype="double[pyarrow]" if holder == "arrow" else "Float64")
    y, weight = np.arange(12) % 2, (np.arange(12) != 5) * 1.0
    options: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
    assert propercal.decompose(y, held, sample_weight=weight, **options).risk == pytest.approx(propercal.decompose(y, p, sample_weight=weight, **options).risk, rel=1e-12)
    with pytest.raises(ValueError, match="y_proba"):
        propercal.decompose(y, held, **options)


def test_decimals_are_the_numbers_that_they_write() -> None:
    """As NUMERIC columns of databases have ids, and classes."""
    rng = np.random.default_rng(0)
    prob, order = rng.dirichlet(np.ones(3), 30), rng.permutation(30)
    label, turn = rng.integers(0, 3, 30), [2, 0, 1]
    options: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
    wanted = np.mean(np.sum((prob - np.eye(3)[label]) ** 2, axis=1))
    given = pd.DataFrame(prob[order][:, turn], columns=[decimal.Decimal(i) for i in turn])
    for ids in ([str(i) for i in order], [int(i) for i in order], pd.CategoricalIndex([str(i) for i in order])):
        given.index = pd.Index(ids)
        labels = pd.Series(label, index=pd.Index([decimal.Decimal(f"{i}.00") for i in range(30)], dtype=object))
        assert propercal.decompose(labels, given, **options).risk == pytest.approx(wanted)


@pytest.mark.parametrize("keys", [("label", "prob"), ("label", "score"), ("class", "probability")])
def test_lists_of_a_class_and_its_probability(keys: tuple[str, str]) -> None:
    """As BigQuery and pipelines of text classifiers have them; the advice gives a table."""
    name, number = keys
    rows = [[{name: "b", number: 0.7}, {name: "a", number: 0.3}], [{name: "a", number: 0.6}, {name: "b", number: 0.4}]] * 5
    with pytest.raises(ValueError, match=rf"make them columns, by pandas.DataFrame\(\[{{each\['{name}'\]: each\['{number}'\] for each in row}} for row in column\]\)"):
        propercal.decompose(["a", "b"] * 5, rows)
    given = pd.DataFrame([{each[name]: each[number] for each in row} for row in rows])
    found = propercal.decompose(["a", "b"] * 5, given, generator="brier", method="risk", bandwidth=0.1)
    assert found.risk == pytest.approx((2 * 0.7**2 + 2 * 0.6**2) / 2)


@pytest.mark.parametrize(("dtype", "bits"), [("float16", 11), ("bfloat16", 8)])
def test_labels_that_may_have_been_rounded_are_refused(dtype: str, bits: int) -> None:
    """Above 2048 half precision has even numbers alone, and bfloat16 above 256."""
    torch = pytest.importorskip("torch", reason="needs torch")
    k = 2**bits + 20
    label = np.arange(k - 30, k)
    prob = np.full((30, k), 1 / k)
    given = torch.tensor(label).to(getattr(torch, dtype))
    holders = [given] if dtype == "bfloat16" else [given, given.numpy(), pd.Series(given.numpy())]
    for each in holders:
        with pytest.raises(ValueError, match=rf"^y_true = {2**bits}\.0 at rows 10, .*: expected class numbers below 2\*\*{bits}, as (torch\.)?{dtype} has not all that are larger; pass integers"):
            propercal.decompose(each, prob, generator="brier", method="risk", bandwidth=0.1)
    few = given[:10]
    propercal.decompose(few, prob[:10], generator="brier", method="risk", bandwidth=0.1)


def read_as_advised(message: str, texts: list[str]) -> Any:
    """Do what an error says, with these in place of "..."."""
    advice = re.search(r"numpy\.array\(\[.*?\], float\)", message)
    assert advice is not None
    return eval(advice[0].replace("in ...", "in texts"), {"numpy": np, "texts": texts})  # noqa: S307 (our own words)


@pytest.mark.parametrize("write", [lambda row: str(row.tolist()), lambda row: str(tuple(row.tolist())), str, lambda row: f" tensor({row.tolist()})\n"])
def test_text_of_lists_says_how_it_is_read(write: Callable[[Any], str]) -> None:
    """As ``read_csv`` has a column of lists: what the message says gives the numbers."""
    proba = np.round(np.random.default_rng(0).dirichlet(np.ones(3), 12), 2)
    proba[:, 0] = 1 - proba[:, 1] - proba[:, 2]
    texts = [write(row) for row in proba]
    with pytest.raises(ValueError, match=r"^y_proba = the text of lists, .*: expected real numbers; read it, by ") as error:
        propercal.decompose(np.arange(12) % 3, texts)
    assert read_as_advised(str(error.value), texts) == pytest.approx(proba)


@pytest.mark.parametrize(("columns", "shift"), [(["class_1", "class_2", "class_3"], 0), ([1, 2, 3], 0), (["class_0", "class_1", "class_2"], 1)])
def test_advice_where_columns_count_otherwise(columns: list[Any], shift: int) -> None:
    """A list of the classes beside such names is refused, so that they are to be left out."""
    proba = np.random.default_rng(0).dirichlet(np.ones(3), 12)
    y_true = np.arange(12) % 3 + shift
    options: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
    with pytest.raises(ValueError, match=r"rename the columns, or pass them without names, and labels=\[\.\.\.\] in their order"):
        propercal.decompose(y_true, pd.DataFrame(proba, columns=columns), **options)
    found = propercal.decompose(y_true, proba, labels=[shift, shift + 1, shift + 2], **options)
    assert found.risk == pytest.approx(np.mean(np.sum((proba - np.eye(3)[y_true - shift]) ** 2, axis=1)))


@pytest.mark.parametrize("pattern", ["p{}", "prob{}", "{}P", "{}s"])
def test_names_of_classes_with_something_glued_to_them(pattern: str) -> None:
    """Such columns in another order than a list of the classes are not read by place."""
    proba, names = np.random.default_rng(0).dirichlet(np.ones(3), 12), ["cat", "dog", "eel"]
    y_true = np.array(names)[np.arange(12) % 3]
    options: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1, "labels": names}
    given = pd.DataFrame(proba, columns=[pattern.format(each) for each in names])
    found = propercal.decompose(y_true, given, **options).risk
    assert found == pytest.approx(np.mean(np.sum((proba - np.eye(3)[np.arange(12) % 3]) ** 2, axis=1)))
    with pytest.raises(ValueError, match=r"^labels = \['cat', 'dog', 'eel'\]: expected the names of the columns of y_proba"):
        propercal.decompose(y_true, given.iloc[:, [1, 0, 2]], **options)


def test_advice_where_few_of_the_classes_occur() -> None:
    given = pd.DataFrame(np.full((12, 3), 1 / 3), columns=["class_1", "class_2", "class_3"])
    with pytest.raises(ValueError, match=r"^y_true = the names \[0, 1\]: expected names of columns"):
        propercal.decompose(np.arange(12) % 2, given)


@pytest.mark.parametrize("pattern", ["[{}, {}, {}]", "({}, {}, {})", "[{} {} {}]", "tensor([{}, {}, {}])", "[{}., {}., {}.]"])
def test_labels_that_are_text_of_one_hot_rows(pattern: str) -> None:
    """In alphabetical order they would be the classes in the reverse one."""
    proba, label = np.random.default_rng(0).dirichlet(np.ones(3), 12), np.arange(12) % 3
    texts = [pattern.format(*row) for row in np.eye(3, dtype=int)[label]]
    options: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
    for given in (texts, pd.Series(texts)):
        with pytest.raises(ValueError, match=r"^y_true = the text of lists, such as .*; read it, by ") as error:
            propercal.decompose(given, proba, **options)
    found = propercal.decompose(read_as_advised(str(error.value), texts), proba, **options)
    assert found.risk == pytest.approx(np.mean(np.sum((proba - np.eye(3)[label]) ** 2, axis=1)))
