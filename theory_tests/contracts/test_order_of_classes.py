"""An order of classes that a generator asks for: which columns are refused, for which generator, and in which words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from propercal._data.labels import Classes
from propercal._data.notions import as_notion
from propercal.generators import BregmanGenerator, Brier, RankedProbability
from propercal.generators.order import _tells_apart, check_names_order, check_order


class Uneven(BregmanGenerator):
    """Another function where two classes are exchanged, and no order of them in it."""

    def value(self, p: Any) -> Any:
        return p[..., 0] ** 2 + 2 * p[..., 1] ** 2


RANKED, UNEVEN = RankedProbability(), Uneven()
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
    (["a", "b", "c"], ["c", "a", "b"], ASKS.format("RankedProbability()", "['c', 'a', 'b']", "['a', 'b', 'c']")),
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
        check_order(Classes(None, None, (0, 1, 2), alphabetical=True, columns=("a", "b", "c")), [RANKED], as_notion("canonical"), 3)
    for numbered in (["a1", "b2", "c3"], ["1", "2", "3"], ["I", "II", "III"]):
        check(numbered, alphabetical=True)
    check_names_order(["a", "b", "c"], [UNEVEN, RANKED], said=True)
    check_names_order(["a", "b"], [RANKED], said=False)
    with pytest.raises(ValueError, match="which have the numbers"):
        check_names_order([1, 3, 2], [RANKED], said=True)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_a_function_of_the_classes_alike_does_not_tell_them_apart(k: int) -> None:
    assert not _tells_apart(Brier(), k)
    assert _tells_apart(UNEVEN, k)
    assert _tells_apart(2.0 * Brier() + UNEVEN, k)
