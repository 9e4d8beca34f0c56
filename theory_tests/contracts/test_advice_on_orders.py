"""A refused order of classes: its words, whole, by what the caller can say an order, and what follows from obeying them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import propercal
from propercal._data.predictions.notions import as_notion
from propercal.generators import Brier, Quadratic, RankedProbability
from propercal.generators.order import check_columns_order, check_names_order
from propercal.information import layer_sharpness, statistical_information

pd = pytest.importorskip("pandas")

CANONICAL, RANKED = as_notion("canonical"), RankedProbability()
COSTS = np.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]])
NAMED = pd.DataFrame(COSTS, list("abc"), list("abc"))
ALPHABET, ORDER = ["high", "low", "mid"], ["low", "mid", "high"]
RISK: dict[str, Any] = {"method": "risk", "bandwidth": 0.1}
#: Columns in the order of ORDER.
Y = np.array([0, 1, 2, 2, 1, 0, 1, 2])
P = np.array([[0.5, 0.2, 0.3], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [0.4, 0.3, 0.3]] * 2)


def risk(y: Any, p: Any, generator: Any = "rps", **options: Any) -> float:
    found = propercal.decompose(y, p, generator=generator, **RISK, **options).risk
    assert found is not None
    return float(found)


def ranked_score(codes: Any, p: Any) -> float:
    """Squared differences of both cumulative sums, summed over the steps of the order."""
    steps = np.cumsum(p - np.eye(3)[codes], axis=1)[:, :-1]
    return float((steps**2).sum(axis=1).mean())


def cost(costs: Any, codes: Any, p: Any) -> float:
    """The loss of a quadratic form, (q - e_y)' A (q - e_y)."""
    apart = p - np.eye(len(costs))[codes]
    return float(np.einsum("ni,ij,nj->n", apart, costs, apart).mean())


# ---------------------------------------------------------------- words

EXPECTED = {
    "alphabet": "classes in the order that they have, from the least to the greatest, not words in alphabetical order, "
    "['a', 'b', 'c']",
    "numbers": "columns in the order of their classes, which have the numbers [1, 3, 2]",
    "costs": "columns in the order of their classes, ['a', 'b', 'c'], not ['c', 'a', 'b']",
    "said": "columns in the order of their classes, ['a', 'b', 'c'], not ['b', 'a', 'c']",
}
ADVICE = {
    ("alphabet", "labels"): "put the columns in that order and pass labels=[...] to name them, or an ordered categorical; "
    "pass labels=[...] too if the alphabet has it right",
    ("alphabet", "classes"): "put the columns in that order and pass classes=[...] to name them; "
    "pass classes=[...] too if the alphabet has it right",
    ("alphabet", None): "put the columns in that order; pass them without names if the alphabet has it right",
    ("numbers", "labels"): "put the columns in ascending order; name classes in words, by labels=[...], if their numbers are no order",
    ("numbers", "classes"): "put the columns in ascending order; name classes in words, by classes=[...], if their numbers are no order",
    ("numbers", None): "put the columns in ascending order; name classes in words, if their numbers are no order",
    ("costs", "labels"): "put the columns in that order, such as by y_proba[labels], and name the classes by labels=[...] where "
    "nothing else does",
    ("costs", "classes"): "put the columns in that order, and name the classes by classes=[...] where nothing else does",
    ("costs", None): "put the columns in that order",
}
ASKED: dict[str, tuple[list[Any], Any, Sequence[Any]]] = {
    "alphabet": (list("abc"), RANKED, ()),
    "numbers": ([1, 3, 2], RANKED, ()),
    "costs": (list("cab"), Quadratic(NAMED), ()),
    "said": (list("bac"), RANKED, list("abc")),
}


@pytest.mark.parametrize("by", ["labels", "classes", None])
@pytest.mark.parametrize("kind", ASKED)
def test_a_refusal_says_what_was_found_what_is_expected_and_what_the_caller_can_do(kind: str, by: str | None) -> None:
    names, generator, order = ASKED[kind]
    # What is advised of costs is advised of an order that was said.
    advice = ADVICE["costs" if kind == "said" else kind, by]
    message = "^" + re.escape(f"generator = {generator!r}: expected {EXPECTED[kind]}; {advice}.") + "$"
    with pytest.raises(ValueError, match=message):
        check_columns_order(names, [Brier(), generator], CANONICAL, order=order, by=by)
    if by == "labels" and not order:
        with pytest.raises(ValueError, match=message):
            check_names_order(names, [Brier(), generator], said=False)


# ---------------------------------------------------------------- advice, followed


def test_words_are_put_in_order_and_named_or_have_a_type() -> None:
    words, table = np.array(ORDER)[Y], pd.DataFrame(P, columns=ORDER)[ALPHABET]
    with pytest.raises(ValueError, match=r"put the columns in that order and pass labels=\[...\] to name them, or an ordered categorical"):
        risk(words, table)
    right = pytest.approx(ranked_score(Y, P), rel=1e-12)
    assert risk(words, table[ORDER], labels=ORDER) == right
    assert risk(pd.Categorical(words, ORDER, ordered=True), table[ORDER]) == right
    # As if the alphabet had it right.
    moved = [ORDER.index(each) for each in ALPHABET]
    alphabetical = pytest.approx(ranked_score(np.argsort(moved)[Y], P[:, moved]), rel=1e-12)
    with pytest.warns(UserWarning, match=r"in the order that is said, \['high', 'low', 'mid'\], though by its name 'mid' is between 'high' and 'low'"):
        assert risk(words, table, labels=ALPHABET) == alphabetical
    assert alphabetical != right.expected


def test_an_order_of_numbers_is_ascending_or_said_in_words() -> None:
    numbers = np.array([1, 3, 2])
    table = pd.DataFrame(P, columns=numbers)
    with pytest.raises(ValueError, match=r"put the columns in ascending order; name classes in words, by labels=\[...\]"):
        risk(numbers[Y], table)
    right = ranked_score(np.array([0, 2, 1])[Y], P[:, [0, 2, 1]])
    assert risk(numbers[Y], table[[1, 2, 3]]) == pytest.approx(right, rel=1e-12)
    # As if these were only names.
    words = ["one's", "c", "b"]
    named = risk(np.array(words)[Y], P, labels=words)
    assert named == pytest.approx(ranked_score(Y, P), rel=1e-12)
    assert named != pytest.approx(right, rel=1e-3)


@pytest.mark.parametrize(("around", "total"), [
    (lambda f: f, lambda c, _: c),
    (lambda f: 2.0 * f, lambda c, _: 2 * c),
    (lambda f: Brier() + f, lambda c, b: b + c),
    (lambda f: 0.5 * f + 3.0 * Brier(), lambda c, b: 0.5 * c + 3 * b),
])  # fmt: skip
def test_costs_with_names_are_those_of_columns_put_in_their_order(around: Callable[[Any], Any], total: Any) -> None:
    """Whatever they are multiplied by or added to: a sum knows the classes of its terms."""
    names, generator = np.array(list("abc")), around(Quadratic(NAMED))
    table = pd.DataFrame(P, columns=names)
    message = re.escape(f"generator = {generator!r}: expected columns in the order of their classes, ['a', 'b', 'c'], not ")
    for columns in ("cab", "cba", "acb"):
        with pytest.raises(ValueError, match="^" + message + re.escape(str(list(columns)))):
            risk(names[Y], table[list(columns)], generator)
    right = pytest.approx(total(cost(COSTS, Y, P), cost(np.eye(3), Y, P)), rel=1e-12)
    assert risk(names[Y], table[list("cab")][names], generator) == right
    # Where nothing else names the classes.
    with pytest.raises(ValueError, match="^" + message + re.escape("[0, 1, 2]")):
        risk(Y, P, generator)
    assert risk(names[Y], P, generator, labels=list("abc")) == right
    # Words name classes, whatever the columns are called.
    assert risk(names[Y], pd.DataFrame(P, columns=ORDER), generator, labels=list("abc")) == right


def test_any_generator_of_several_may_be_of_classes_in_another_order() -> None:
    two = Quadratic(NAMED.iloc[:2, :2])
    others = [Brier(), two, Quadratic(COSTS)]
    check_columns_order(list("abc"), others, CANONICAL)
    for generators in ([*others, Quadratic(NAMED)], [Quadratic(NAMED), *others]):
        check_columns_order(list("abc"), generators, CANONICAL)
        with pytest.raises(ValueError, match=r"not \['c', 'a', 'b'\]"):
            check_columns_order(list("cab"), generators, CANONICAL)


def test_costs_of_two_classes_are_the_same_in_both_orders() -> None:
    """(q - e_y)' A (q - e_y) = (q_1 - y)^2 (a + d - 2 b) for A = [[a, b], [b, d]]."""
    y, p, names = Y % 2, P[:, :2] / P[:, :2].sum(axis=1, keepdims=True), np.array(["b", "a"])
    generator = Quadratic(pd.DataFrame([[1.0, 0.5], [0.5, 4]], ["a", "b"], ["a", "b"]))
    expected = pytest.approx(4 * np.mean((p[:, 1] - y) ** 2), rel=1e-12)
    table = pd.DataFrame(p, columns=names)
    assert risk(names[y], table, generator) == expected
    assert risk(names[y], table[["a", "b"]], generator) == expected


def test_costs_of_another_number_of_classes_say_how_many() -> None:
    table = pd.DataFrame(P[:, :2] / P[:, :2].sum(axis=1, keepdims=True), columns=["a", "b"])
    with pytest.raises(ValueError, match="expected 3 classes, as many as the matrix has rows"):
        risk(np.array(["a", "b"])[Y % 2], table, Quadratic(NAMED))


def test_tables_of_populations_are_put_in_order_or_lose_their_names() -> None:
    joint = pd.DataFrame([[0.2, 0.05, 0.1], [0.05, 0.2, 0.4]], columns=ORDER)
    right = statistical_information("rps", joint)
    assert statistical_information("rps", joint.to_numpy()) == right
    with pytest.raises(ValueError, match="pass them without names if the alphabet has it right"):
        statistical_information("rps", joint[ALPHABET])
    assert statistical_information("rps", joint[ALPHABET][ORDER]) == right
    assert statistical_information("rps", joint[ALPHABET].to_numpy()) != pytest.approx(right, rel=1e-3)


def test_labels_of_layers_are_listed() -> None:
    layers = [np.eye(3)[Y][:, :2] + np.linspace(0, 1, len(Y))[:, None]]
    options: dict[str, Any] = {"generator": "rps", "bandwidth": 0.5}
    words = np.array(ORDER)[Y]
    with pytest.raises(ValueError, match=r"pass labels=\[...\] to name them"):
        layer_sharpness(layers, words, **options)
    assert layer_sharpness(layers, words, labels=ORDER, **options) == layer_sharpness(layers, Y, **options)


# ---------------------------------------------------------------- costs in tables


@pytest.mark.parametrize("rows", ["abc", "cab", "bca"])
@pytest.mark.parametrize("columns", ["abc", "cab", "bca"])
def test_costs_have_the_order_of_their_rows(rows: str, columns: str) -> None:
    generator = Quadratic(NAMED.loc[list(rows), list(columns)])
    assert generator == Quadratic(NAMED.loc[list(rows), list(rows)].to_numpy())
    check_columns_order(list(rows), [generator], CANONICAL)
    with pytest.raises(ValueError, match=re.escape(f"{list(rows)}, not {list(rows)[::-1]}")):
        check_columns_order(list(rows)[::-1], [generator], CANONICAL)


def test_names_along_one_axis_are_enough() -> None:
    for named in (NAMED.set_axis(range(3), axis=1), NAMED.set_axis(range(3), axis=0)):
        with pytest.raises(ValueError, match=r"\['a', 'b', 'c'\], not \['c', 'b', 'a'\]"):
            check_columns_order(list("cba"), [Quadratic(named)], CANONICAL)


#: Libraries number what has no name.
UNNAMED = {"table": Quadratic(pd.DataFrame(COSTS)), "array": Quadratic(COSTS), "lists": Quadratic(COSTS.tolist()), "sum": 2 * Quadratic(COSTS)}
ASKS_NAMES = (
    r"expected costs with names beside columns that are named in an order of their own, \['c', 'a', 'b'\], since labels are sorted; "
    r"name the rows and columns of the matrix, Quadratic\(pandas\.DataFrame\(matrix, names, names\)\), with names in its order"
)


@pytest.mark.parametrize("kind", UNNAMED)
def test_costs_without_names_are_refused_beside_columns_in_an_order_of_their_own(kind: str) -> None:
    """Nobody says whether the first of them is of the first column, or of the first class."""
    names, generator = np.array(list("cab")), UNNAMED[kind]
    table = pd.DataFrame(P, columns=names)
    for call in (
        lambda: risk(names[Y], table, generator),
        lambda: propercal.select_bandwidth(names[Y], table, generator=generator),
        lambda: check_names_order(names.tolist(), [generator], said=False),
    ):
        with pytest.raises(ValueError, match=ASKS_NAMES + r", or the columns in their order by labels=\[\.\.\.\]"):
            call()
    with pytest.raises(ValueError, match=ASKS_NAMES + r"\.$"):
        statistical_information(generator, pd.DataFrame(P.T @ P / (P.T @ P).sum(), columns=names))


def test_a_monitor_refuses_costs_without_names_too() -> None:
    table = pd.DataFrame(P, columns=list("cab"))
    with pytest.raises(ValueError, match=ASKS_NAMES):
        propercal.CalibrationMonitor(3, generator=Quadratic(COSTS)).update(np.array(list("cab"))[Y], table)


def test_what_is_advised_of_costs_without_names_decides() -> None:
    names = np.array(list("cab"))
    table = pd.DataFrame(P, columns=names)
    of_columns, of_sorted = cost(COSTS, Y, P), cost(COSTS[np.ix_([2, 0, 1], [2, 0, 1])], Y, P)
    assert of_columns != pytest.approx(of_sorted, rel=1e-3)
    for generator, y, options in (
        (Quadratic(pd.DataFrame(COSTS, names, names)), names[Y], {}),
        (Quadratic(COSTS), names[Y], {"labels": list(names)}),
        (Quadratic(COSTS), pd.Categorical(names[Y], names, ordered=True), {}),
        # Numbers count columns, and costs with them.
        (Quadratic(COSTS), Y, {}),
    ):
        assert risk(y, table, generator, **options) == pytest.approx(of_columns, rel=1e-12)
    assert risk(names[Y], table[["a", "b", "c"]], Quadratic(COSTS)) == pytest.approx(of_sorted, rel=1e-12)


@pytest.mark.parametrize("names", [["low", "mid", "high"], ["grade 1", "grade 9", "grade 10"], ["three", "four", "five"]])
def test_columns_that_ascend_by_their_words_are_in_the_order_of_costs(names: list[str]) -> None:
    check_columns_order(names, [Quadratic(COSTS)], CANONICAL)
    with pytest.raises(ValueError, match="expected co"):
        check_columns_order([names[1], names[0], names[2]], [Quadratic(COSTS)], CANONICAL)


def test_costs_that_are_alike_in_every_order_need_no_names() -> None:
    check_columns_order(list("cab"), [Quadratic(np.eye(3)), Quadratic(np.ones((3, 3)) + np.eye(3))], CANONICAL)
    check_columns_order(list("cab"), [Quadratic(COSTS)], as_notion("classwise"))


def test_a_number_and_its_digits_name_the_same_costs() -> None:
    generator = Quadratic(pd.DataFrame(COSTS, [1, 2, 3], ["1", "2", "3"])[["3", "1", "2"]])
    assert generator == Quadratic(COSTS)
    check_columns_order([1.0, "2", 3], [generator], CANONICAL)


@pytest.mark.parametrize(("rows", "columns"), [("ab", "abb"), ("abb", "ab"), ("abb", "abb"), ("aab", "abb"), ("abc", "abz"), ("ab", "abc")])
def test_costs_of_other_classes_or_of_one_twice_are_refused(rows: str, columns: str) -> None:
    """Of two columns of one class, none is left out."""
    table = pd.DataFrame(np.ones((len(rows), len(columns))), list(rows), list(columns))
    message = f"matrix = rows of {list(rows)} and columns of {list(columns)}: expected the same classes along both axes; rename them, "
    with pytest.raises(ValueError, match="^" + re.escape(message + "or pass an array.") + "$"):
        Quadratic(table)
    renamed = table.set_axis(list("xyz")[: len(rows)], axis=0).set_axis(list("xyz")[: len(columns)], axis=1)
    if len(rows) == len(columns):
        assert Quadratic(renamed) == Quadratic(table.to_numpy())


@pytest.mark.parametrize("costs", [pd.Series([1.0, 2, 3], list("abc")), [1.0, 2.0, 3.0], np.zeros((3, 3, 3))])
def test_costs_of_another_shape_are_no_matrix(costs: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(f"matrix = an array of shape {np.shape(costs)}: expected shape (k, k)")):
        Quadratic(costs)
