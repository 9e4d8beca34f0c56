"""The order of columns that were named before."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import namespace, to_numpy
from propercal._data.classes.labels import Classes, have_text, is_called_as_model, read_labels
from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import Names, is_hashable
from propercal._data.words.messages import bad_value, some_names, warn
from propercal._data.words.of_rows import are_names_of_models, is_of_rows
from propercal._data.words.opposed import are_of_models, are_of_two_classes
from propercal._data.words.other_words import say_another_order
from propercal._data.words.tokens import are_alike_but_for_numbers, key, negates, numberings
from propercal._typing import Array

#: Names of columns that number rows, in lower case; that weigh them, or say where they come from.
_ROW_NUMBERS = {
    *("id", "ids", "idx", "index", "row", "rows", "row_id", "rowid", "uid", "uuid", "sampleid"),
    *("y_true", "level_0"),
}
_NO_CLASSES = _ROW_NUMBERS | {
    *("fold", "split", "group", "groups", "weight", "weights", "sample_weight", "sample_weights"),
    *("loss", "target"),
}
#: Others: numbers of rows, and what pandas calls a column without a name, such as an index.
_IS_NONE = re.compile(r"_id$|^unnamed: \d+(?:_level_\d+)?$")
#: Names that one column of predictions may have, but none of several.
_OF_ALL_CLASSES = {"pred", "preds", "prediction", "predicted", "y_pred", "score", "correct"}
#: Names of the class that is predicted.
_PREDICTED = re.compile(
    r"(?:.*[\W_])?(?:pred(?:s|icted|ictions?)?|y_?hat|arg_?max|top_?1|winner)(?:[\W_](?:class|label|y)(?:es|s)?)?"
    r"|(?:.*[\W_])?(?:top|best)[\W_](?:class|label)",
    re.IGNORECASE,
)


class OtherColumnsError(LookupError):
    """Columns cannot be matched with those before."""


def order_of_columns(
    known: Sequence[Any] | None, given: Sequence[Any] | None, *, words: bool = True
) -> list[int] | None:
    """Return the place among `given` of each column `known`; None if they stand in that order.

    Columns without names stand as they do in any table: they are not matched with names that say
    another order, such as 2, 1, 0, or, with `words`, with words that are not in alphabetical order,
    which may be another than that of columns without names.

    Raises
    ------
    OtherColumnsError
        If these are other columns, or nothing says in which order they stand.
    """
    if known is None or given is None:
        names = given if known is None else known
        if names is not None and is_shuffled(names, words=words):
            raise OtherColumnsError
        return None
    place = {each: i for i, each in enumerate(keys(given))}
    wanted = keys(known)
    if set(wanted) != set(place) or not len(place) == len(wanted) == len(given):
        raise OtherColumnsError
    order = [place[each] for each in wanted]
    return None if order == list(range(len(order))) else order


def no_classes(columns: Sequence[Any], labels: Collection[Any]) -> list[Any]:
    """Return the columns whose names say that they are no classes, and are those of no label."""
    others = _NO_CLASSES | (_OF_ALL_CLASSES if len(columns) > 1 else set())
    words = [each for each in columns if isinstance(each, str) and each not in labels]
    return [each for each in words if each.lower() in others or _IS_NONE.search(each.lower())]


def is_predicted(name: Any) -> bool:
    """Tell whether a name is one that predicted classes have."""
    return isinstance(name, str) and bool(_PREDICTED.fullmatch(name.strip()))


def numbers_rows(name: Any) -> bool:
    """Tell whether a column numbers rows by its name."""
    words = name.lower() if isinstance(name, str) else ""
    return words in _ROW_NUMBERS or bool(_IS_NONE.search(words))


def check_logits(classes: Classes, proba: Held, called: Names, *, are_all: bool) -> None:
    """Raise or warn if columns of logits are none of a class: there is no sum of 1 to tell.

    `are_all` says that there are no other rows, which may be of the classes that these lack.
    """
    columns = proba.columns
    if classes.codes is None:
        return
    by_place = columns is None and (classes.by_order or proba.numbered)
    if by_place and (is_of_rows(proba.dim) or proba.dim == "quantile"):
        raise _of_models(f"logits along {proba.dim!r}", called)
    if columns is None:
        return
    occurred = set(classes.codes.tolist())
    check_names_of_logits(columns, {classes.names[i] for i in occurred}, called)
    if are_all:
        warn_of_absent(columns, occurred, called)


def _of_models(found: str, called: Names) -> ValueError:
    """Build the error for logits that are by name those of several models, members or times."""
    return bad_value(
        called.proba,
        found,
        "those of classes, over which a softmax is taken",
        "pass one of them if they are of several models, or labels=[...], the class of every "
        "column in order",
    )


def check_names_of_logits(columns: Sequence[Any], labels: Collection[Any], called: Names) -> None:
    """Raise if names of columns of logits say that they are of no class, and are of no label."""
    odd = no_classes(columns, labels)
    if odd:
        raise bad_value(
            called.proba,
            f"a column of logits named {odd[0]!r}",
            "logits of classes alone",
            "drop it, or pass labels=[...] if it is that of a class",
        )
    if are_names_of_models(columns) and {*keys(columns)}.isdisjoint(map(key, labels)):
        raise _of_models(f"columns of logits named {some_names(columns)}", called)


def absent(columns: Sequence[Any], occurred: Collection[int]) -> list[Any]:
    """Return the columns of classes that are not among the numbers of those that occurred.

    A name that is like all others but for a number is not one of another thing.
    """
    if are_alike_but_for_numbers(columns):
        return []
    return [name for i, name in enumerate(columns) if i not in occurred]


def warn_of_absent(columns: Sequence[Any] | None, occurred: Collection[int], called: Names) -> None:
    """Say which columns of logits no row is of the class of, so that they may be of none."""
    odd = [] if columns is None else absent(columns, occurred)
    if odd:
        warn(
            f"{called.proba} has columns {some_names(odd)}, taken for logits of classes, though "
            f"no row has such a label in {called.labels}: drop them if they are none, or pass "
            "labels=[...], the class of every column in order."
        )


def warn_of_zeros(
    columns: Sequence[Any] | None,
    classes: Classes,
    prob: Array,
    labels: Held,
    called: Names,
) -> None:
    """Say which columns are 0 in all rows and of no label: a flag, or a class that is ruled out."""
    if columns is None or classes.codes is None:
        return
    odd = absent_and_0(columns, classes.codes, prob)
    say_zeros([each for each in odd if not is_listed(each, labels)], called)


def is_listed(name: Any, labels: Held) -> bool:
    """Tell whether the type of labels lists a class of this name."""
    return key(name) in keys(labels.categories or labels.unordered or ())


def say_zeros(odd: Sequence[Any], called: Names) -> None:
    """Warn of columns that are 0 in all rows and of no label."""
    if odd:
        warn(
            f"{called.proba} has columns {some_names(odd)}, taken for classes, though no row has "
            f"such a label in {called.labels}, and all of their probabilities are 0: drop them if "
            "they are none, or pass labels=[...], the class of every column in order."
        )


def absent_and_0(columns: Sequence[Any], codes: npt.NDArray[np.int64], prob: Array) -> list[Any]:
    """Return the columns of classes that no row is of, and that are 0 in all."""
    found = absent(columns, np.unique(codes).tolist())
    place = {each: i for i, each in enumerate(columns)}
    return [each for each in found if not bool(namespace(prob).any(prob[:, place[each]] != 0))]


def name_columns(labels: Held, columns: Sequence[Any]) -> bool:
    """Tell whether labels are names of columns, so that these mean the same in any order."""
    values = to_numpy(labels.values)
    if values.ndim == 2 and values.shape[1] > 1:
        return labels.columns is not None
    booleans = values.dtype.kind == "b"
    names = {key(each, booleans=booleans) for each in columns}
    found = map(key, _hashable(np.ravel(values).tolist()))
    return not names.isdisjoint(found) or (labels.name is not None and key(labels.name) in names)


def check_one_beside_two(one: Held, two: Held, labels: Held, called: tuple[Names, Names]) -> None:
    """Raise if a single column, of class 1, has the name of the column of class 0 of another table.

    So it is where labels are no names, but count.
    """
    columns, shape = two.columns, tuple(one.values.shape)
    if columns is None or len(columns) != 2 or one.name is None or shape[1:] not in ((), (1,)):
        return
    if key(one.name) == key(columns[0]) and not name_columns(labels, columns):
        raise bad_value(
            called[0].proba,
            f"a column named {one.name!r}",
            f"the probability of class 1, which is that of {columns[1]!r} in {called[1].proba}",
            f"pass the column {columns[1]!r}, or the names of the classes as {called[0].labels}",
        )


def check_single_columns(one: Held, two: Held, labels: Held, called: tuple[Names, Names]) -> None:
    """Raise if single columns of two tables are named after two classes, of which labels say none.

    Columns may be named after models as well, so that other names are no two classes.
    """
    single = all(tuple(each.values.shape)[1:] in ((), (1,)) for each in (one, two))
    if not single or None in (one.name, two.name) or have_text(labels):
        return
    pairs = zip((one, two), called, strict=True)
    own = all(is_called_as_model(each, labels, names) for each, names in pairs)
    if are_columns_of_two_classes(one, two, are_called_as_models=own):
        raise bad_value(
            called[1].proba,
            f"a column named {two.name!r}",
            f"the class that {called[0].proba}, named {one.name!r}, is the probability of",
            "pass the probability of one class in both, under one name or without names",
        )


def are_columns_of_two_classes(one: Held, two: Held, *, are_called_as_models: bool) -> bool:
    """Tell whether the names of single columns are of two classes.

    Those of models may have words of classes too. One that denies the other, as no_age does, is of
    the other class if both are of one model, whose probabilities sum to 1.
    """
    names = one.name, two.name
    if not are_called_as_models:
        return are_of_two_classes(*names)
    denied = negates(*names) or negates(*names[::-1])
    of_two = are_of_two_classes(*names) and not are_of_models(*names)
    return of_two or (denied and _sum_to_1(one, two))


def _sum_to_1(one: Held, two: Held) -> bool:
    own, others = (to_numpy(each.values) for each in (one, two))
    if own.size != others.size or any(each.dtype.kind not in "biuf" for each in (own, others)):
        return False
    return bool(np.allclose(own.ravel() + others.ravel(), 1.0, rtol=0.0, atol=1e-6))


def _hashable(values: Sequence[Any]) -> set[Any]:
    return {each for each in values if is_hashable(each)}


def is_shuffled(names: Sequence[Any], *, words: bool = True) -> bool:
    """Tell whether names are numbered, or are words, and do not ascend."""
    if say_another_order(names):
        return True
    if any(None not in numbers for numbers in numberings(names)):
        return False
    return words and list(map(str, names)) != sorted(map(str, names))


def keys(names: Sequence[Any]) -> list[Any]:
    """Return what equal names have in common, of each."""
    return [key(name) for name in names]


def names_of(
    found: Sequence[Any],
    proba: Held,
    *,
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    like: Held | None = None,
) -> list[Any]:
    """Return the classes of the columns of `proba`, as they are read if `found` all occur.

    `like` are labels whose type may order the classes.
    """
    booleans = bool(found) and all(isinstance(each, bool) for each in found)
    values = np.array(list(found), dtype=bool if booleans else object)
    y_true = Held(values) if like is None else replace(like, values=values, rows=None)
    shape = proba.values.shape
    single = len(shape) == 1 or shape[1] == 1
    empty = np.empty(0 if single else (0, int(shape[1])))
    given: dict[str, Any] = {"labels": labels, "pos_label": pos_label}
    proba = replace(proba, values=empty, rows=None)
    return list(read_labels(y_true, 2 if single else int(shape[1]), proba=proba, **given).names)
