"""What the names of classes and columns say: which are equal, what they number, what they negate.

A name is read as words and numbers: ``p_2``, ``class2`` and ``p(y=2.0)`` hold the number 2, and
``no_fraud``, ``nonfraud`` and ``p0`` may be names of the probability of class 0. What all names of
a table share, such as a version, says nothing of the class.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from enum import Enum
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np

Token = str | int | float

#: Words, and numbers, whose minus is not a hyphen between words; signs at the end of a word, or of
#: the name; comparisons but for arrows. A bar over a letter makes it another one.
_TOKEN = re.compile(
    r"(?<![^\W_])-\d+(?:\.\d+)?|\d+(?:\.\d+)?|[^\W\d_]+[\u0304\u0305]?|(?<=[^\W_])[+#]+(?![^\W_])"
    r"|[-+](?=[\s)\]}]*$)|(?<!-)>|<(?!-)"
)
#: What tokenizers of bytes write for a blank, or a new line, before a word: ĠA is the token " A".
_BLANKS = re.compile(r"(?:(?<!\w)|(?<=[a-z]))[ĠĊ](?=\w)")
_SIGNS = str.maketrans({"−": "-", "≤": "<", "≦": "<", "⩽": "<", "≥": ">", "≧": ">", "⩾": ">"})
#: Words that compare with the number that follows, such as gt50 and over_50k.
_COMPARISONS = {
    sign: re.compile(rf"(?<![^\W_])(?:{words})(?:[\W_]*than)?[\W_]*(?=\d)")
    for sign, words in (("<", "lte?|le|under|below|less"), (">", "gte?|ge|over|above|more|greater"))
}
#: A word that the probability of class 0 may bear.
_OF_CLASS_0 = re.compile(
    r"(?:y|pr?|prob|proba|probability|pred|predicted|class|score|logit|of|is)*"
    # Words that merely begin so are of class 1.
    r"(?!neg(?:oti|lig|lect)|note(?:s|d|book|worthy)?s?$|noti(?:c|f|on)|nota(?:bl|ry|ri|ti)|notori"
    r"|notch|nonsense)(?:neg.*|no|false|zero|zeroth|without|complement|absent|absence|not.*|non.*)"
)
#: Signs of a complement: ¬y, !y, y != 1, 1 − p, y-.
COMPLEMENT = re.compile(r"[¬!~≠]|(?<!\w)1\s*[-−]\s*[^\W\d]|[-−][\s)\]}]*$")
#: A time of day, or a span of days and hours, whose numbers are of no class.
_CLOCK = re.compile(r"(?:-?\d+ days?,? [-+]?)?(?<!\d)\d\d?:\d\d(?::\d\d(?:\.\d+)?)?(?!\d)")
#: Words of what a column is for, which say nothing of the class.
OF_USE = set(
    re.findall(
        r"\w+",
        "y p pr prob probs proba probability pred predicted prediction score scores class logit "
        "logits label labels target flag hat is has of",
    )
)
#: Words in the name of a column that say which rows it holds.
SETS_OF_ROWS = {"train", "training", "val", "valid", "validation", "cal", "calibration", "test"}
#: Words of models: what they are, how they were made, and which of several one is.
OF_MODELS = set(
    re.findall(
        r"\w+",
        "model models xgb xgboost lgbm lightgbm catboost gbm rf forest random logreg "
        "logistic lr linear svm svc knn mlp nn net network cnn bert gpt llm ensemble blend "
        "glm lasso ridge sgd adaboost extratrees bayes automl tabnet tabpfn resnet vit roberta "
        "lstm gru rnn transformer keras sklearn boosting boosted bagging bagged stacking stacked "
        "voting clf classifier estimator baseline calibrated uncalibrated recalibrated raw platt "
        "isotonic temperature dirichlet binning smoothed pretrained finetuned tuned untuned "
        "trained weighted unweighted ablation ablated champion challenger proposed ours before "
        "after pre post version fold seed",
    )
)
#: Of these, words that a number counts from 0 on, which is then none of class 0.
COUNTED = {"model", "fold", "seed", "run", "version", "v", "split", "repeat", "epoch", "ensemble"}
#: Other words of labels and models, which name no class.
OF_NO_CLASS = (
    SETS_OF_ROWS
    | OF_MODELS
    | set(
        re.findall(
            r"\w+",
            "outcome outcomes event events truth true actual actuals ground gt classes observed "
            "obs observation result results response occurred happened binary positive pos value "
            "values correct right hit hits t1 yes one code codes encoded indicator dummy bin int "
            "num number cls category status risk confidence conf certainty likelihood chance "
            "output outputs estimate estimated forecast forecasts phat yhat ypred yprob yproba "
            "yscore ytrue column col oof new old final mean avg average",
        )
    )
)
#: What the second of two columns is called that is the rest of the first.
_REST = {"rest", "other", "others", "else", "none"}
LETTERS_OF_TWO = {("y", "n"), ("t", "f")}
#: Beginnings and ends that make a word its opposite.
_PREFIXES, _SUFFIXES = ("not", "non", "no", "un", "in", "dis", "anti"), ("free", "less")


def plain(name: Any) -> Any:
    """Return whole numbers, also where they are written as text, as integers; None for no value."""
    if isinstance(name, Enum):
        name = name.value
    if isinstance(name, np.datetime64 | np.timedelta64):
        # Of nanoseconds it would be a number.
        name = name.astype(f"{name.dtype.kind}8[us]")
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, bool | Integral):
        return int(name)
    if isinstance(name, float) and name.is_integer():
        return int(name)
    if isinstance(name, Decimal) and name.is_finite() and name == name.to_integral_value():
        return int(name)
    if isinstance(name, str) and re.fullmatch(r"-?(?:0|[1-9]\d*)(?:\.0)?", name):
        return int(name.removesuffix(".0"))
    # What pandas has for no value is neither equal to anything nor different.
    return None if type(name).__name__ == "NAType" else name


def key(name: Any, *, booleans: bool = False) -> Any:
    """Return what equal names have in common: a number and its digits are the same name."""
    if booleans and isinstance(name, str) and name.lower() in ("true", "false"):
        return str(int(name.lower() == "true"))
    name = plain(name)
    number = isinstance(name, int) or (isinstance(name, float) and math.isfinite(name))
    return str(name) if number else name


def is_number(name: Any) -> bool:
    """Tell whether a name is a number, not the digits of one."""
    return isinstance(name, Real)


def is_numeral(name: Any) -> bool:
    """Tell whether a name is a whole number, or ends in one."""
    return isinstance(plain(name), int) or bool(re.search(r"\d$", str(name)))


def is_permutation(names: Sequence[Any]) -> bool:
    """Tell whether names are 0 to k − 1, in some order."""
    numbers = [plain(each) for each in names]
    return all(map(is_number, numbers)) and sorted(numbers) == list(range(len(numbers)))


def named(columns: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return names of columns, None where a library has counted them."""
    counted = [(i, np.int64(i), str(i), f"column_{i}") for i in range(len(columns))]
    numbers = [isinstance(c, int | str) and not isinstance(c, bool) for c in columns]
    if all(numbers) and all(c in of for c, of in zip(columns, counted, strict=True)):
        return None
    return tuple(columns)


def number_otherwise(names: Sequence[Any]) -> bool:
    """Tell whether names are whole numbers, each once, that do not ascend."""
    numbers = [plain(each) for each in names]
    whole = all(isinstance(each, int) for each in numbers)
    return whole and len({*numbers}) == len(numbers) and numbers != sorted(numbers)


def tokens(name: Any) -> tuple[Token, ...]:
    """Return the words and numbers of a name."""
    # Digits in circles, and above or below the line, are digits.
    text = _BLANKS.sub(" ", unicodedata.normalize("NFKC", str(plain(name))))
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower().translate(_SIGNS)
    for sign, words in _COMPARISONS.items():
        text = words.sub(sign, text)
    return tuple(_token(each) for each in _TOKEN.findall(text))


def _token(text: str) -> Token:
    return plain(float(text)) if text[-1].isdecimal() else text


def distinct(names: Sequence[Any]) -> list[tuple[Token, ...]]:
    """Return the words and numbers of each name that not all of them have."""
    found = [tokens(name) for name in names]
    shared = set(found[0]).intersection(*found) if found else set()
    return [tuple(each for each in said if each not in shared) for said in found]


def content(name: Any) -> tuple[Token, ...]:
    """Return the words and numbers of a name but for those of what a column is for."""
    return tuple(each for each in tokens(name) if each not in OF_USE)


def numberings(names: Sequence[Any]) -> list[tuple[float | None, ...]]:
    """Return each way in which names number the columns; None for a name without a number.

    Of names that are alike but for numbers, those that differ number them, so that p2_m1, p0_m1
    are 2, 0. Of other names the first and the last number may.
    """
    found = [tokens(name) for name in names]
    if are_alike_but_for_numbers(names):
        columns = list(zip(*found, strict=True))
        return [column for column in columns if len(set(column)) > 1]
    numbers = [[each for each in said if not isinstance(each, str)] for said in found]
    ends = (tuple(own[i] if own else None for own in numbers) for i in (0, -1))
    return [each for each in dict.fromkeys(ends) if len(set(each)) > 1]


def are_alike_but_for_numbers(names: Sequence[Any]) -> bool:
    """Tell whether all names have the same words, and numbers in the same places."""
    found = [tokens(name) for name in names]
    return len({tuple(x if isinstance(x, str) else None for x in said) for said in found}) == 1


def ascending(numbers: Sequence[float | None]) -> bool:
    """Tell whether the numbers of columns ascend."""
    known = [each for each in numbers if each is not None]
    return known == sorted(known)


def count_up(names: Sequence[Any]) -> bool:
    """Tell whether no number goes down from one name to the next where all before it is equal."""
    found = [tokens(name) for name in names]
    for one, other in pairwise(found):
        first, second = next(((a, b) for a, b in zip(one, other, strict=False) if a != b), (0, 0))
        if not isinstance(first, str) and not isinstance(second, str) and first > second:
            return False
    return True


def of_class_0(name: Any) -> bool:
    """Tell whether a name is one that the probability of class 0, or −1, may have."""
    if COMPLEMENT.search(str(name)) or (len(content(name)) == 1 and content(name)[0] in _REST):
        return True
    said = tokens(_CLOCK.sub(" ", str(plain(name))))
    return any(
        bool(_OF_CLASS_0.fullmatch(each))
        if isinstance(each, str)
        else each in (0, -1) and before not in COUNTED
        for before, each in zip((None, *said), said, strict=False)
    )


def is_negation(first: Any, second: Any) -> bool:
    """Tell whether the name of the second column is one that the first of two may have."""
    own = [" ".join(map(str, said)) for said in distinct([first, second])]
    if of_class_0(second) and (of_class_0(own[1]) or not of_class_0(first)):
        return True
    opposite = any(
        word(second) in _opposites(word(first)) for word in (_letters, _word) if word(first)
    )
    return opposite or own[1] in _REST or tuple(own) in LETTERS_OF_TWO


def _opposites(word: str) -> set[str]:
    """Return the words that a beginning or an end makes the opposite of `word`."""
    return {f"{prefix}{word}" for prefix in _PREFIXES} | {f"{word}{suffix}" for suffix in _SUFFIXES}


def negates(name: Any, other: Any) -> bool:
    """Tell whether a name says that it is not `other`, such as no_fraud beside p_fraud."""
    wanted = content(other) or tokens(other)
    rest = [str(each) for each in tokens(name) if each not in wanted]
    if wanted and set(wanted) <= set(tokens(name)) and of_class_0(" ".join(rest)):
        return True
    word = "".join(map(str, wanted))
    return bool(word) and "".join(map(str, content(name))) in _opposites(word)


def say_the_same(first: Any, second: Any) -> bool:
    """Tell whether two names are of one class in the same words, such as no_show, p_no_show."""
    if first is None or second is None:
        return False
    said = [{*content(each)} - OF_NO_CLASS for each in (first, second)]
    return said[0] == said[1] and any(isinstance(each, str) for each in said[0])


def after_use(said: Sequence[Token]) -> Sequence[Token]:
    """Return the words of a name without those that it begins with that are of use alone."""
    first = next((i for i, each in enumerate(said) if each not in OF_USE), len(said) - 1)
    return said[first:]


def said_beside(name: Any, positive: Any) -> set[Token]:
    """Return what a name says but for the positive class, uses, and sets of rows."""
    of_class, words = set(tokens(positive)), set(content(name)) - SETS_OF_ROWS
    return words - of_class if of_class <= set(tokens(name)) else words


def are_alike(first: Token, second: Token) -> bool:
    """Tell whether words begin with the same four letters, or one is the other after one of use."""
    if not (isinstance(first, str) and isinstance(second, str)):
        return False
    short, long = sorted((first, second), key=len)
    used = long.endswith(short) and long.removesuffix(short) in OF_USE | {*_PREFIXES}
    return len(short) > 3 and (short[:4] == long[:4] or used)


def _word(name: Any) -> str:
    """Return the letters of a name without those of what a column is for, such as is_fraud."""
    return "".join(map(str, content(name)))


def _letters(name: Any) -> str:
    return re.sub(r"[\W_]", "", str(name).lower())
