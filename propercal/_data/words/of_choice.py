"""Names of what was predicted, of whether it was right, and of logarithms of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from propercal._data.words.tokens import OF_NO_CLASS, content, tokens

#: Words of labels that say whether a prediction, or an answer, was right.
_RIGHT = {"correct", "correctly", "correctness", "right", "hit", "hits", "accurate", "accuracy"}
_RIGHT |= {"acc", "solved", "success", "successful", "passed", "match", "matches", "matched", "em"}
_WRONG = {"wrong", "incorrect", "incorrectly", "false", "miss", "missed", "inaccurate", "failed"}
_WRONG |= {"failure", "fail", "unsolved", "mismatch", "error", "not", "no"}
#: Words of a probability that say no class, but perhaps that it is that of the first choice.
_OF_CHOICE = {"max", "maximum", "top", "best", "argmax", "softmax", "msp", "chosen"}
_OF_CLASS_1 = {"pos", "positive", "yes", "event", "occurred", "happened"}
_PREDICTED = {"pred", "preds", "predicted", "prediction", "predictions", "yhat", "ypred", "argmax"}
#: Of these alone, or of what else says no class, is the name of a prediction made.
_BESIDE = {"y", "label", "labels", "class", "classes", "id", "idx", "index", "code"}
_LOGARITHMS = {"logprob", "logprobs", "logproba", "logprobability", "logprobabilities", "logp"}
_LOGARITHMS |= {"lprob", "lprobs", "loglikelihood", "loglik"}
_PROBABILITIES = {"p", "prob", "probs", "proba", "probas", "probability", "probabilities"}
_PROBABILITIES |= {"likelihood"}
_PERCENT = {"pct", "percent", "percentage", "perc", "pc"}


def say_right(*names: Any) -> bool:
    """Tell whether a name is of whether a prediction was right."""
    return any(not _RIGHT.isdisjoint(tokens(each)) for each in names if each is not None)


def say_answers(name: Any, classes: Sequence[Any]) -> bool:
    """Tell whether labels, or the second of two classes and not the first, say who was right.

    Left and right are two classes as others are.
    """
    if say_right(name):
        return True
    if len(classes) != 2 or not say_right(classes[1]):
        return False
    return not _WRONG.isdisjoint(tokens(classes[0]))


def says_no_class(name: Any) -> bool:
    """Tell whether the name of one column says nothing of which class it is of."""
    if name is None:
        return True
    said = set(content(name))
    if "top" in said:
        # In top-1 the number is no class.
        said -= {1}
    return said <= (OF_NO_CLASS - _OF_CLASS_1) | _OF_CHOICE


def says_one_of(name: Any, *classes: Any) -> bool:
    """Tell whether the name of one column has the words of a class."""
    words = set() if name is None else set(tokens(name))
    return any(words.issuperset(tokens(each)) for each in classes if tokens(each))


def says_predicted(name: Any) -> bool:
    """Tell whether the name of labels says that they are predictions, such as y_pred."""
    said = set() if name is None else set(tokens(name))
    predicted = said & _PREDICTED or said == {"y", "hat"}
    return bool(predicted) and said <= _PREDICTED | _BESIDE | {"hat"}


def says_percent(name: Any) -> bool:
    """Tell whether a name, or units, are of percentages, such as risk_pct."""
    said = () if name is None else tokens(name)
    in_words = ("per", "cent") in pairwise(said)
    return "%" in str(name) or in_words or not _PERCENT.isdisjoint(said)


def says_logarithm(name: Any) -> bool:
    """Tell whether a name is of the logarithm of a probability, such as logprob_yes, log_p."""
    said = () if name is None else tokens(name)
    pairs = pairwise(said)
    of_two = any(one in ("log", "ln") and other in _PROBABILITIES for one, other in pairs)
    return of_two or not _LOGARITHMS.isdisjoint(said)
