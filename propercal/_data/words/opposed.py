"""Whether two names are of different classes: fraud and legit, >50K and <=50K, up_day and down_day.

Such names are of one column and of labels, or of two columns, that should be of one class. Words of
models, of uses and of sets of rows name no class.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from propercal._data.words.short_names import are_short_for, is_initial, letter_in
from propercal._data.words.tokens import (
    COMPLEMENT,
    LETTERS_OF_TWO,
    OF_MODELS,
    OF_NO_CLASS,
    OF_USE,
    Token,
    after_use,
    are_alike,
    content,
    distinct,
    is_number,
    negates,
    of_class_0,
    plain,
    tokens,
)

#: Words that are of two classes wherever they stand, and of no two models.
_OF_TWO_CLASSES = [
    frozenset(pair.split())
    for pair in (
        "home away",
        "male female",
        "spam ham",
        "win loss",
        "win lose",
        "won lost",
        "benign malignant",
        "fraud legit",
        "dead alive",
        "died survived",
        "pass fail",
        "passed failed",
        "good bad",
        "buy sell",
        "right wrong",
        "right error",
        "event survival",
        "event survived",
        # Of what usually names no class.
        *(f"hit {miss}" for miss in ("miss", "misses", "missed")),
        *(
            f"correct {wrong}"
            for wrong in re.findall(
                r"\w+",
                "error errors wrong mistake mistakes mistaken fault faults faulty fail fails "
                "failed failure failures miss misses missed misclassified misclassification "
                "uncertainty hallucination hallucinated",
            )
        ),
    )
]
#: Of which one may say something else too, such as that an answer is right.
_OF_SIDES = frozenset(("left", "right"))
#: Forms of one word that have too few letters in common to be seen as such.
_FORMS = [
    frozenset(forms.split())
    for forms in (
        "win wins won",
        "lose loses lost loss",
        "die dies died dead death",
        "buy buys bought",
        "pay pays paid",
    )
]
#: Words that say of labels in which part of the data they are.
_OF_PARTS = set(
    re.findall(
        r"\w+",
        "january february march april may june july august september october november december "
        "jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday "
        "saturday sunday mon tue wed thu fri sat sun day week month quarter year spring summer "
        "autumn winter morning evening followup batch chunk part wave cohort",
    )
)
#: Words that ask for a class, which another one says.
_QUESTIONS = set(
    re.findall(r"\w+", "sex gender species animal breed type kind which diagnosis colour color")
)
#: Words before the number of a class.
_CLASS = {"class", "cls", "label", "category"}


def are_opposed(first: Any, second: Any) -> bool:
    """Tell whether the second name is of the other class of two than the first."""
    numbers = {content(first), content(second)}
    differ = len(numbers) == 2 and all(len(x) == 1 and is_number(x[0]) for x in numbers)
    # The labels of a survey or a fold may have a number too.
    differ = differ and {x[0] for x in numbers} == {0, 1}
    differ = differ or (_is_of_class_0(second) and bool(content(first)) and not of_class_0(first))
    differ = differ or negates(second, first) or are_of_two_classes(first, second)
    differ = differ or _OF_SIDES in _pairs(first, second) or _is_denied(second, first)
    return differ or _are_of_others(second, first)


def are_opposed_in_parts(first: Any, second: Any) -> bool:
    """Tell whether labels of two parts of the data have names of two classes.

    Names that have a word in common, as died_may and died_june, may say in others which part it is,
    unless the word asks for a class, as in sex_F and sex_M; and numbers may count parts.
    """
    for one, other in ((first, second), (second, first)):
        denied = _is_of_class_0(one) or bool(COMPLEMENT.search(str(one)))
        if (denied and not of_class_0(other)) or negates(one, other):
            return True
    if _number_two(first, second):
        return False
    if _QUESTIONS & set(tokens(first)) & set(tokens(second)):
        return are_opposed(first, second)
    own, others = (_words(each) - _OF_PARTS for each in (first, second))
    if own.isdisjoint(others) and ((own and others) or _words(first).isdisjoint(_OF_PARTS)):
        return are_opposed(first, second)
    return are_of_two_classes(first, second)


def may_be_of_model(name: Any, labels: Any) -> bool:
    """Tell whether a column that is called as its model is, such as no_age, may have its name.

    What says of class 0 alone, as p_0 and 1-p do, is of a class, and so is what labels of this name
    are not, or are of two classes with.
    """
    words = [each for each in content(name) if isinstance(each, str) and not of_class_0(each)]
    if COMPLEMENT.search(str(name)) or not any(each.isalpha() for each in words):
        return False
    return labels is None or not (negates(name, labels) or are_of_two_classes(name, labels))


def are_of_models(first: Any, second: Any) -> bool:
    """Tell whether both names have a word of models, such as model_male and model_female."""
    return bool(set(tokens(first)) & set(tokens(second)) & OF_MODELS)


def are_of_two_classes(first: Any, second: Any) -> bool:
    """Tell whether names are of two classes of one question, and cannot be those of two models."""
    pairs = _pairs(first, second)
    # A name between both signs, such as <unk>, compares nothing.
    compared = not any({"<", ">"} <= set(tokens(each)) for each in (first, second))
    if pairs & {frozenset("+-"), frozenset("<>") if compared else frozenset()}:
        return True
    last = tuple(" ".join(map(str, after_use(tokens(each)))) for each in (first, second))
    letters = {last, last[::-1]} & LETTERS_OF_TWO
    return bool(letters) or not pairs.isdisjoint(_OF_TWO_CLASSES) or _number_two(first, second)


def _pairs(first: Any, second: Any) -> set[frozenset[Token]]:
    """Return each word that one name alone has, beside each that only the other has."""
    own, other = distinct([first, second])
    return {frozenset((a, b)) for a in own for b in other}


def _number_two(first: Any, second: Any) -> bool:
    """Tell whether names number two classes, such as class_1 and class_2."""
    found = [[each for each in content(name) if each not in _CLASS] for name in (first, second)]
    shared = _CLASS & set(tokens(first)) & set(tokens(second))
    numbers = all(len(each) == 1 and is_number(each[0]) for each in found)
    return bool(shared) and numbers and found[0] != found[1]


def _is_of_class_0(name: Any) -> bool:
    """Tell whether a name says that, and nothing else, in a word."""
    said = content(name)
    return len(said) == 1 and isinstance(said[0], str) and of_class_0(name)


def _is_denied(name: Any, other: Any) -> bool:
    """Tell whether a name ends in a word of class 0, and another one in another, as HER2_neg."""
    own, rest = ([each for each in said if each not in OF_USE] for said in distinct([name, other]))
    shared = set(content(name)) & set(content(other))
    one = len(own) == 1 and isinstance(own[0], str) and of_class_0(own[0])
    return bool(shared) and one and bool(rest) and not any(map(of_class_0, rest))


def are_other_letters(name: Any, other: Any) -> bool:
    """Tell whether two names are different letters, such as P(y=N) beside Y."""
    found = [after_use(tokens(each)) for each in (name, other)]
    if any(len(each) != 1 or len(str(*each)) > 1 or is_number(*each) for each in found):
        return False
    (first,), (second,) = found
    return first != second and (first not in OF_USE or (first, second) in LETTERS_OF_TWO)


def _are_of_others(first: Any, second: Any) -> bool:
    """Tell whether two names are in words of classes, and are unlike but for what both begin with.

    Or end with: price_up and price_down. A word that they have in common in other places is the
    class of both: customer_churn and churn_tabnet.
    """
    said = _naming(first), _naming(second)
    rest = _without_ends(*said)
    a, b = (
        _words_of_class(each, letters=rest != said or len(content(name)) == 1)
        for each, name in zip(rest, (first, second), strict=True)
    )
    alike = any(_are_one_word(x, y) for x in a for y in b)
    return bool(a and b) and not alike


def _are_one_word(x: str, y: str) -> bool:
    forms = any({x, y} <= each for each in _FORMS)
    return x == y or forms or are_alike(x, y) or are_short_for(x, y)


def contradicts(name: Any, positive: Any, negative: Any) -> bool:
    """Tell whether the name of a column says that it is of `negative` rather than `positive`."""
    if isinstance(positive, bool) or isinstance(negative, bool):
        # A name may have them in digits or in words.
        pairs = ([form(each) for each in (positive, negative)] for form in (plain, str))
        return any(contradicts(name, *pair) for pair in pairs)
    own, yes, no = (set(tokens(each)) for each in (name, positive, negative))
    words = no - yes or no
    if yes <= own and words <= own:
        # Of classes y and n, p(y=n) has words of both.
        own = set(after_use(tokens(name)))
    of_negative = bool(words) and words <= own and not yes <= own
    if not (yes <= own or words <= own):
        of_negative = bool(words) and _fit(words, own) and not _fit(yes, own)
    # The sign of ER- is no complement where a class is called so.
    signs = COMPLEMENT.search(str(name)) and not COMPLEMENT.search(str(negative))
    reversed_ = bool(signs) or negates(name, negative)
    if negates(name, positive) or (of_negative and not reversed_):
        return True
    letter = letter_in(name)
    if letter is None or str(positive).lower().startswith(letter):
        return False
    return is_initial(letter, negative)


def _fit(words: set[Token], own: set[Token]) -> bool:
    return all(any(a == b or are_alike(a, b) for b in own) for a in words)


def _naming(name: Any) -> Sequence[Token]:
    """Return the words and numbers of a name that may be of a class."""
    return tuple(each for each in content(name) if each not in OF_NO_CLASS)


def _without_ends(
    first: Sequence[Token], second: Sequence[Token]
) -> tuple[Sequence[Token], Sequence[Token]]:
    """Leave out what both begin with, and end with."""
    for place in (0, -1):
        while first and second and first[place] == second[place]:
            first, second = (each[1:] if place == 0 else each[:-1] for each in (first, second))
    return first, second


def _words(name: Any) -> set[str]:
    return _words_of_class(_naming(name), letters=len(content(name)) == 1)


def _words_of_class(said: Sequence[Token], *, letters: bool) -> set[str]:
    """Return the words that may be of a class; a letter says that only by itself."""
    words = {each for each in said if isinstance(each, str) and each.isalpha()}
    return {each for each in words if len(each) > 1 or (letters and len(said) == 1)}
