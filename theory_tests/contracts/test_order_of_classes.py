"""An order of classes that a generator asks for: which columns are refused, for which generator, and in which words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from propercal._data.classes.labels import Classes
from propercal._data.predictions.notions import as_notion
from propercal._data.words.quantities import quantities
from propercal.generators import BregmanGenerator, Brier, Quadratic, RankedProbability
from propercal.generators.order import check_columns_order, check_names_order, check_order


class Uneven(BregmanGenerator):
    """Another function where two classes are exchanged, and no order of them in it."""

    def value(self, p: Any) -> Any:
        return p[..., 0] ** 2 + 2 * p[..., 1] ** 2


RANKED, UNEVEN, CANONICAL = RankedProbability(), Uneven(), as_notion("canonical")
#: Four directions of the wind: the cost of a wrong one is that of the angle between them.
DIRECTIONS = Quadratic(1 + np.cos(np.subtract.outer(np.arange(4), np.arange(4)) * np.pi / 2))
ASKS = "generator = {}: expected columns in the order of their classes, {}, not {}; put the columns in that order"
NUMBERS = "generator = {}: expected columns in the order of their classes, which have the numbers {}; put the columns in ascending"
ALPHABET = (
    "generator = {}: expected classes in the order that they have, from the least to the greatest, not words in alphabetical "
    "order, {}; put the columns in that order and pass labels=[...]"
)


def check(names: Sequence[Any], order: Sequence[Any] = (), *, notion: str = "canonical", alphabetical: bool = False) -> None:
    classes = Classes(None, None, tuple(names), alphabetical=alphabetical, order=tuple(order))
    check_order(classes, [Brier(), UNEVEN, RANKED], as_notion(notion), len(names))


REFUSED: list[tuple[Sequence[Any], Sequence[Any], str]] = [
    ([0, 2, 1], (), NUMBERS.format("RankedProbability()", "[0, 2, 1]")),
    ([-1, 2, 1.5], (), NUMBERS.format("RankedProbability()", "[-1, 2, 1.5]")),
    (["grade 1", "grade 3", "grade 2"], (), NUMBERS.format("RankedProbability()", "['grade 1', 'grade 3', 'grade 2']")),
    ([1, 0], (), ASKS.format("Uneven()", "[0, 1]", "[1, 0]")),
    ([2, 1, 0], (), ASKS.format("Uneven()", "[0, 1, 2]", "[2, 1, 0]")),
    (["b", "a"], ["a", "b"], ASKS.format("Uneven()", "['a', 'b']", "['b', 'a']")),
    (["a", "b", "c"], ["c", "a", "b"], ASKS.format("Uneven()", "['c', 'a', 'b']", "['a', 'b', 'c']")),
    (["low", "mid"], ["mid", "low", "top"], ASKS.format("Uneven()", "['mid', 'low', 'top']", "['low', 'mid']")),
]


@pytest.mark.parametrize(("names", "order", "message"), REFUSED, ids=[f"{n} {o}" for n, o, _ in REFUSED])
def test_columns_in_another_order_are_refused_with_both_orders(names: Any, order: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        check(names, order)
    for notion in ("classwise", "top-label"):
        check(names, order, notion=notion)  # each class by itself


@pytest.mark.parametrize(
    ("names", "order"),
    [([0, 1, 2], ()), ([1, 0], [1, 0]), (["x", "y"], ["z"]), (["b", "a"], ()), (["c", "a", "b"], ["c", "a", "b"])],
)
def test_columns_that_stand_in_order_or_have_none_are_taken(names: Any, order: Any) -> None:
    check(names, order)


def test_words_in_alphabetical_order_say_nothing_unless_somebody_said_them() -> None:
    message = "^" + re.escape(ALPHABET.format("RankedProbability()", "['a', 'b', 'c']"))
    with pytest.raises(ValueError, match=message):
        check(["a", "b", "c"], alphabetical=True)
    with pytest.raises(ValueError, match=message):
        check_names_order(["a", "b", "c"], [UNEVEN, RANKED], said=False)
    with pytest.raises(ValueError, match=message):
        # Numbers count columns, which have these names.
        check_order(Classes(None, None, (0, 1, 2), alphabetical=True, columns=("a", "b", "c")), [RANKED], CANONICAL, 3)
    for numbered in (["a1", "b2", "c3"], ["1", "2", "3"], ["I", "II", "III"]):
        check(numbered, alphabetical=True)
    check_names_order(["a", "b", "c"], [UNEVEN, RANKED], said=True)
    check_names_order(["a", "b"], [RANKED], said=False)
    with pytest.raises(ValueError, match="which have the numbers"):
        check_names_order([1, 3, 2], [RANKED], said=True)


# ---------------------------------------------------------------- which F is another one in this order


def refused(generator: BregmanGenerator, names: Sequence[Any], order: Sequence[Any] = ()) -> bool:
    """Tell whether columns of these names are refused, with both orders in the words."""
    classes = Classes(None, None, tuple(names), order=tuple(order))
    try:
        check_order(classes, [generator], CANONICAL, len(names))
    except ValueError as error:
        return str(error).startswith(ASKS.format(repr(generator), list(order or sorted(names)), list(names)))
    return False


@pytest.mark.parametrize("order", [[1, 0], [2, 0, 1], [0, 2, 1], [1, 3, 0, 2]])
def test_a_function_of_the_classes_alike_is_the_same_in_every_order(order: list[int]) -> None:
    for generator in (Brier(), 2.0 * Brier(), Quadratic(np.eye(len(order)))):
        assert not refused(generator, order)
    assert refused(UNEVEN, order)
    assert refused(2.0 * Brier() + UNEVEN, order)


def test_a_score_of_ordered_classes_is_the_same_in_reverse_alone() -> None:
    """As max(i, j) + min(i, j) = i + j, its matrix and that of the reverse differ by a function of i and one of j,
    which F does not see: it takes the diagonal off, and p sums to 1."""
    k = 4
    costs = Quadratic(k - 1.0 - np.maximum.outer(np.arange(k), np.arange(k)))
    for generator in (RANKED, costs, RANKED + costs):
        assert not refused(generator, [3, 2, 1, 0])
        assert not refused(generator, list("dcba"), list("abcd"))
        assert refused(generator, list("badc"), list("abcd"))
    # A sum is as particular as the most particular of its terms.
    assert refused(RANKED + UNEVEN, [3, 2, 1, 0])


def test_directions_may_be_turned_and_reversed_but_not_exchanged() -> None:
    for neighbours in ([1, 2, 3, 0], [3, 0, 1, 2], [3, 2, 1, 0], [1, 0, 3, 2]):
        assert not refused(DIRECTIONS, neighbours)
    for others in ([1, 0, 2, 3], [0, 2, 1, 3], [0, 1, 3, 2]):
        assert refused(DIRECTIONS, others)


@pytest.mark.parametrize("weight", [1e-4, 1.0, 1e4])
def test_a_weight_changes_no_refusal(weight: float) -> None:
    assert refused(weight * UNEVEN, [1, 0, 2])
    assert not refused(weight * Brier(), [1, 0, 2])
    # Costs of a millionth beside those of 1 are no rounding.
    assert refused(weight * (Brier() + 1e-6 * UNEVEN), [1, 0, 2])
    # Rounding is no cost.
    assert not refused(weight * (Brier() + 1e-15 * UNEVEN), [1, 0, 2])


@pytest.mark.parametrize("order", [["a", "b", "c", "d"], ["d", "c", "b", "a"]])
def test_classes_without_a_column_do_not_put_others_out_of_order(order: list[str]) -> None:
    """Some classes are in order if they stand as they do among all."""
    for some in ((0, 1, 3), (1, 2, 3), (0, 3), (2, 3)):
        names = [order[i] for i in some]
        assert not refused(UNEVEN, names, order)
        assert refused(UNEVEN, names[::-1], order)
    assert refused(RANKED, [order[i] for i in (3, 0, 2)], order)


def test_an_order_that_leaves_out_a_column_is_none() -> None:
    assert not refused(UNEVEN, ["b", "a", "x"], ["a", "b"])
    assert not refused(UNEVEN, ["b", 2, 1])
    # A number and its digits are the same name.
    assert refused(UNEVEN, ["1", 0, 2.0], [0, 1, 2])
    assert not refused(UNEVEN, ["0", 1, 2.0], [0, 1, 2])


# ---------------------------------------------------------------- names that have numbers


@pytest.mark.parametrize("names", [
    ["p1_v3", "p3_v1", "p2_v4"], ["1", "1.5", "1"], [0.0, 0.5, 0.25], ["b3", "a1", "c2"],
    ["first", "third", "second"], ["II", "I", "III"],
])  # fmt: skip
def test_numbers_are_in_disorder_where_they_turn_in_each_way_to_read_them(names: list[Any]) -> None:
    message = "^" + re.escape(NUMBERS.format("RankedProbability()", names))
    for said in (True, False):
        with pytest.raises(ValueError, match=message):
            check_names_order(names, [RANKED], said=said)
        check_names_order(names, [Brier(), UNEVEN], said=said)
    with pytest.raises(ValueError, match=message):
        check(names)


@pytest.mark.parametrize("names", [
    ["p2_v3", "p1_v1", "p0_v2"],  # v turns, p does not
    ["p1_v3", "p3_v2", "p2_v1"],  # p turns, v does not
    ["b3", "a2", "c1"], ["3", "2", "1"], ["third", "second", "first"],
    ["b1", "a", "c0"],  # not all have one
    ["b", "z", "a"],
])  # fmt: skip
def test_numbers_that_fall_or_rise_in_some_way_are_in_no_disorder(names: list[str]) -> None:
    for said in (True, False):
        check_names_order(names, [RANKED], said=said)
    check_columns_order(names, [RANKED], CANONICAL)


@pytest.mark.parametrize("names", [
    ["p1_v3", "p2_v1", "p3_v2"],  # v does not rise
    ["a3", "b2", "c1"],
    ["a1", "b1", "c2"],  # two of one number
    ["a1", "b", "c3"],
    ["a", "b", "c"],
])  # fmt: skip
def test_words_are_an_order_only_where_their_numbers_rise_in_each_way(names: list[str]) -> None:
    message = "^" + re.escape(ALPHABET.format("RankedProbability()", names))
    asks: tuple[Callable[[Sequence[str]], None], ...] = (
        lambda each: check_names_order(each, [RANKED], said=False),
        lambda each: check_columns_order(each, [Brier(), UNEVEN, RANKED], CANONICAL),
        lambda each: check(each, alphabetical=True),
    )
    for ask in asks:
        with pytest.raises(ValueError, match=message):
            ask(names)
        # Two have one order, up to its reverse.
        ask(names[:2])
        ask(["p1_v1", "p2_v2", "p3_v3"])
    check_names_order(names, [RANKED], said=True)
    check_columns_order(names, [RANKED], CANONICAL, order=names)
    check_columns_order(names, [RANKED], as_notion("classwise"))
    check_names_order(names, [Brier(), UNEVEN], said=False)


@pytest.mark.parametrize("columns", [None, (), []])
def test_columns_without_names_are_not_asked_for_an_order(columns: Any) -> None:
    check_columns_order(columns, [RANKED], CANONICAL)


@pytest.mark.parametrize("names", [["low", "high", "mid"], ["Home", "Away", "Draw"], ["medium", "small", "large"], ["disagree", "agree", "neutral", "strongly agree"]])
def test_what_is_between_two_opposites_stands_between_them(names: list[str]) -> None:
    calls: list[Callable[[], None]] = [
        lambda: check(names),
        lambda: check_names_order(names, [RANKED], said=True),
        lambda: check_columns_order(names, [RANKED], CANONICAL),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"expected columns in the order of their classes, with '.*' between"):
            call()
    first, last, middle = names[0], names[1], names[2]
    check_names_order(names, [Brier()], said=True)
    if middle != "large":
        check([first, middle, last])
        check([last, middle, first])


def test_a_word_of_the_middle_may_be_the_last_of_others() -> None:
    check(["none", "low", "medium"])
    check(["home", "draw"])


#: In the order that they have.
MEASURED = [
    ["30 min", "1 hour", "2 hours"], ["90 days", "6 months", "1 year"], ["500g", "1kg", "2kg"], ["10", "100", "1k"],
    ["under 18", "18-25", "26+"], ["under 30", "30 to 40", "over 40"], ["<5", "5", ">5"], ["A1", "A2", "B1", "B2"],
    ["S", "M", "L"], ["size_xs", "size_m", "size_xl"], ["mon", "tue", "wed"], ["Sunday", "Monday", "Tuesday"], ["v1.9", "v1.10", "v1.11"],
]  # fmt: skip


@pytest.mark.parametrize("names", MEASURED, ids=str)
def test_what_names_measure_is_their_order(names: list[str]) -> None:
    """500g is less than 1kg, and not more than 1 and 2."""
    for order in (names, names[::-1]):
        check_columns_order(order, [RANKED], CANONICAL)
    for turned in ([*names[1:], names[0]], [names[1], names[0], *names[2:]]):
        if turned[0] == "Monday":
            # A week begins on one of both.
            continue
        with pytest.raises(ValueError, match=r"columns in the order of their classes, which have the numbers .*ascending order"):
            check_columns_order(turned, [RANKED], CANONICAL)


@pytest.mark.parametrize("names", [["300 g", "2 m", "1 h"], ["min", "30 max", "2 s"], ["s", "t", "r"], ["mild", "severe", "hot"], ["v2", "v1 beta", "k"]], ids=str)
def test_other_names_measure_nothing(names: list[str]) -> None:
    assert quantities(names) is None


SCALES = ["very low|low|medium|high|very high", "early|mid|late", "neg|neu|pos", "bad|ok|good", "A|B|C", "Jan|Feb|Mar|Apr", "mild|moderate|severe", "below|normal|above", "below_average|average|above_average", "never|rarely|sometimes|often|always", "poor|fair|good|excellent", "bronze|silver|gold", "primary|secondary|tertiary", "A1|B1|C2", "A|B|C|D|F", "x|y|z"]


@pytest.mark.parametrize("scale", SCALES)
def test_words_of_a_scale_stand_in_its_order(scale: str) -> None:
    names = scale.split("|")
    for given in (names, names[::-1]):
        check_names_order(given, [RANKED], said=True)
    moved = [names[1], names[0], *names[2:]]
    with pytest.raises(ValueError, match=r"expected columns in the order of their classes, with '.*' between"):
        check_names_order(moved, [RANKED], said=True)
    with pytest.raises(ValueError, match=r"expected columns in the order of their classes, with '.*' between"):
        check_columns_order(moved, [RANKED], CANONICAL)
    check_names_order(moved, [Brier()], said=True)


@pytest.mark.parametrize("scale", SCALES)
def test_an_order_of_words_that_is_said_is_doubted_where_it_is_another_one(scale: str) -> None:
    """A sorted list, or one in order of appearance, says an order too. Letters may stand for anything."""
    names = scale.split("|")
    moved = [names[1], names[0], *names[2:]]
    if max(map(len, names)) > 1:
        with pytest.warns(UserWarning, match=r"RankedProbability\(\) takes classes in the order that is said, \[.*, though by its name '.*' is between"):
            check(moved, moved)
    else:
        check(moved, moved)
    check(moved, moved, notion="classwise")
    check(names, names)
    check(names[::-1], names[::-1])
    check_order(Classes(None, None, tuple(moved), order=tuple(moved)), [Brier()], CANONICAL, len(names))


@pytest.mark.parametrize("scale", ["normal|mild|moderate|severe", "normal|mild|severe", "none|minor|major", "neutral|weak|strong", "normal|early|late", "never|seldom|rarely|always", "never|sometimes|occasionally|often", "home|draw|away", "T|N|M", "no risk|low|medium|high"])
def test_scales_that_begin_at_nothing_are_in_order(scale: str) -> None:
    names = scale.split("|")
    check(names, names)
    check_names_order(names, [RANKED], said=True)
    check_columns_order(names, [RANKED], CANONICAL)


def test_a_year_and_a_week_may_begin_anywhere() -> None:
    days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
    check_names_order(days, [RANKED], said=True)
    check_names_order(["C", "G", "T"], [RANKED], said=True)
