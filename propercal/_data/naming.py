"""Which column is which class, and which class is the positive one.

Where labels and predictions both carry names, they are matched by name or refused. A positive class
is never guessed. Numbers 0 to k − 1 count the columns; −1 and 1, or k distinct numbers from 1 on,
stand for them in ascending order, and strings in alphabetical order, as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.counting import Given, counted_names, in_order
from propercal._data.holders import Held
from propercal._data.messages import bad_value, some_names, some_rows, warn
from propercal._data.reading import USUAL_NAMES, Names, check_scalar, is_missing
from propercal._data.settings import check_names
from propercal._data.tokens import (
    ascending,
    bearers,
    contradict,
    is_negation,
    is_number,
    is_numeral,
    is_permutation,
    key,
    negates,
    numberings,
    of_class_0,
    plain,
    tokens,
)

__all__ = ["Given", "Naming", "check_names", "is_numeral", "key"]

#: What torch and Hugging Face put where there is no label.
_NO_LABEL = -100


@dataclass(frozen=True)
class Naming:
    """What is known of the names of k classes."""

    n_classes: int
    labels: Given | None = None
    """As the caller lists them."""
    columns: Given | None = None
    """Names of the columns of the predictions, where there are several."""
    name: Any = None
    """The name of the only column of the predictions."""
    single: bool = False
    """Whether the predictions are one column, the probability of the positive class."""
    pos_label: Any = None
    called: Names = USUAL_NAMES

    @classmethod
    def of(
        cls, proba: Held, n_classes: int, labels: object, pos_label: Any, called: Names
    ) -> Naming:
        """Return what predictions and the caller say."""
        check_scalar("pos_label", pos_label)
        if pos_label is not None and is_missing(pos_label):
            raise bad_value("pos_label", repr(pos_label), "the name of a class", "name one")
        single = proba.values.ndim == 1 or proba.values.shape[1] == 1
        if pos_label is not None and not single:
            raise bad_value(
                "pos_label",
                repr(pos_label),
                f"None where {called.proba} has a column for each class",
                "pass labels=[...], the class of every column",
            )
        if proba.first and single and pos_label is None and labels is None:
            warn(
                f"{called.proba} is one column numbered 0, as tables number their first: it is "
                "taken for the probability of class 1. Pass pos_label=1, or 0, to say which."
            )
        names = check_names(labels, n_classes, called)
        columns = None if single else proba.columns
        return cls(n_classes, names, columns, proba.name, single, pos_label, called)

    def of_values(self, uniques: list[Any], values: npt.NDArray[Any], held: Held) -> Given:
        """Return the name of each column, in the light of labels of shape (n,) and what occurs."""
        if self.labels is None and _NO_LABEL in uniques:
            raise bad_value(
                self.called.labels,
                f"{_NO_LABEL} at {some_rows(np.flatnonzero(values == _NO_LABEL))}",
                f"classes, 0 to {self.n_classes - 1}",
                f"pass ignore_index={_NO_LABEL} if such rows have no label, else labels=[...]",
            )
        if self.single:
            self._check_label_of_pair(uniques, held.name)
            return self._of_pair(uniques)
        if self.labels is not None:
            return self._listed_beside(uniques, held.name)
        if self.columns is not None:
            found = self._by_name(uniques)
            if found is None:
                found = self._of_named(uniques, held.name)
            return self._beside(uniques, held) if found is None else found
        return in_order(uniques, held, self.n_classes, self.called)

    # ------------------------------------------------------------ several columns

    def _listed(self) -> Given:
        """Return the names that the caller lists, in the order of columns that bear them."""
        assert self.labels is not None  # noqa: S101
        if self.columns is None:
            return self.labels
        of_key = {key(name): name for name in self.labels}
        keys = [key(column) for column in self.columns]
        if set(keys) == set(of_key) and len(set(keys)) == len(keys):
            return tuple(of_key[each] for each in keys)
        if set(keys) & set(of_key) or contradict(self.columns, self.labels):
            raise bad_value(
                "labels",
                list(self.labels),
                f"the names of the columns of {self.called.proba}, {some_names(self.columns)}",
                "rename the columns, or pass them without names",
            )
        return self.labels

    def _listed_beside(self, uniques: Sequence[Any], name: Any) -> Given:
        """Return the names that the caller lists, unless labels 0 and 1 bear that of class 0."""
        listed = self._listed()
        if name is None or is_number(name) or not set(uniques) <= {0, 1} or len(listed) > 2:
            return listed
        of_class_1 = [each for each, one in zip(self.columns or (), listed, strict=False) if one]
        if key(name) in map(key, self.columns or ()) and key(name) not in map(key, of_class_1):
            raise bad_value(
                "labels",
                list(listed),
                f"class 1 for the column {name!r}, as {self.called.labels} is called",
                f"rename {self.called.labels}, or correct labels=[...]",
            )
        return listed

    def _by_name(self, uniques: Sequence[Any]) -> Given | None:
        """Return columns as classes if all labels are names of columns."""
        assert self.columns is not None  # noqa: S101
        booleans = all(isinstance(each, bool) for each in uniques)
        keys = [key(column, booleans=booleans) for column in self.columns]
        of_key = {key(each): each for each in uniques}
        if not set(of_key) <= set(keys):
            return None
        if len(set(keys)) != len(keys):
            raise bad_value(
                self.called.proba,
                f"columns named {list(self.columns)}",
                "different names, since they name the classes",
                "rename the columns, or pass labels=[...] in the order of the columns",
            )
        return tuple(
            of_key.get(each, column) for each, column in zip(keys, self.columns, strict=True)
        )

    def _of_named(self, uniques: Sequence[Any], name: Any) -> Given | None:
        """Return the classes of labels 0 and 1 that are named after the column of class 1."""
        assert self.columns is not None  # noqa: S101
        booleans = all(isinstance(each, bool) for each in uniques)
        if name is None or not set(uniques) <= {0, 1} or (is_number(name) and not booleans):
            return None
        equal = [i for i, column in enumerate(self.columns) if key(column) == key(name)]
        places = equal or bearers(self.columns, name)
        negative, positive = (False, True) if booleans else (0, 1)
        if self.n_classes == 2 and (places == [1] or (equal == [0] and places == equal)):
            return (negative, positive) if places == [1] else (positive, negative)
        if len(places) != 1:
            return None
        column = self.columns[places[0]]
        raise bad_value(
            self.called.labels,
            f"{some_names(uniques)}, named {plain(name)!r}",
            f"to know of which classes {self.called.proba} has columns, {some_names(self.columns)}",
            f"pass the column {column!r} alone as {self.called.proba}, or the names of the classes "
            f"as {self.called.labels}",
        )

    def _beside(self, uniques: Sequence[Any], held: Held) -> Given:
        """Return class numbers where no label is the name of a column, or raise."""
        assert self.columns is not None  # noqa: S101
        named = {key(each) for each in uniques} & {key(each) for each in self.columns}
        if all(is_number(each) for each in uniques) and not named:
            found = self._numbered(uniques, held)
            counted = all(is_number(plain(each)) for each in self.columns)
            if found is not None and not counted and self._in_usual_order():
                return found
        raise self._unmatched(f"the names {some_names(uniques)}")

    def _unmatched(self, found: str) -> ValueError:
        assert self.columns is not None  # noqa: S101
        return bad_value(
            self.called.labels,
            found,
            f"names of columns of {self.called.proba}, {some_names(self.columns)}",
            "rename the columns, or pass labels=[...], the class of every column in order",
        )

    def _in_usual_order(self) -> bool:
        """Tell whether no name of a column says that columns are not counted from class 0 on."""
        assert self.columns is not None  # noqa: S101
        swapped = self.n_classes == 2 and is_negation(*self.columns)
        return not swapped and all(map(ascending, numberings(self.columns)))

    def _numbered(self, uniques: Sequence[Any], held: Held) -> Given | None:
        """Return the classes that are counted, or that columns number; None if these disagree."""
        assert self.columns is not None  # noqa: S101
        counted, found = (
            counted_names(uniques, held, self.n_classes, self.called),
            numberings(self.columns),
        )
        agree = [
            number is None or number == name or (number not in counted and name not in numbers)
            for numbers in found
            for number, name in zip(numbers, counted, strict=True)
        ]
        if all(agree):
            return counted
        known = set(uniques) <= set(found[0]) and held.categories is None
        return found[0] if len(found) == 1 and known and None not in found[0] else None

    # ------------------------------------------------------------ one column

    def _check_label_of_pair(self, uniques: Sequence[Any], name: Any) -> None:
        """Raise if the only column is named as the opposite of labels 0 and 1."""
        said = self.labels is not None or self.pos_label is not None
        if said or name is None or self.name is None or not set(uniques) <= {0, 1}:
            return
        if is_negation(name, self.name) and not is_negation(self.name, name):
            raise self._of_class_0()

    def _of_class_0(self) -> ValueError:
        return bad_value(
            self.called.proba,
            f"a column named {self.name!r}",
            "to know which class it is the probability of",
            "pass pos_label=0 or pos_label=1",
        )

    def _of_pair(self, uniques: Sequence[Any]) -> Given:
        """Return the names of the negative and the positive class."""
        if self.labels is not None:
            return self._listed_pair()
        positive = self._positive(uniques)
        if positive is not None:
            others = [each for each in uniques if key(each) != key(positive)]
            if len(others) > 1:
                raise bad_value(
                    self.called.labels,
                    f"the names {some_names(uniques)}",
                    f"{positive!r} and one other class, of which {self.called.proba} has a column",
                    "pass a column for each class",
                )
            found = [each for each in uniques if key(each) == key(positive)]
            return (others[0] if others else _opposite(positive), *(found or [positive]))
        if all(isinstance(each, bool) for each in uniques):
            return (False, True)
        if all(is_number(each) for each in uniques):
            if set(uniques) == {-1, 1}:
                return (-1, 1)
            if not set(uniques) <= {0, 1} and len(uniques) == 2:
                raise self._unknown_positive(uniques)
            return (0, 1)
        raise self._unknown_positive(uniques)

    def _listed_pair(self) -> Given:
        assert self.labels is not None  # noqa: S101
        first, second = self.labels
        positive = self.pos_label if self.pos_label is not None else self.name
        if self.pos_label is not None and key(positive) not in (key(first), key(second)):
            raise bad_value(
                "pos_label", repr(positive), f"one of labels={[first, second]}", "name one"
            )
        if positive is not None and key(positive) == key(first):
            return (second, first)
        if self.pos_label is None and self.name is not None:
            other = set(tokens(first)) - set(tokens(second))
            of_first = bool(other) and other <= set(tokens(self.name))
            negative = negates(self.name, second) or (key(second) == "1" and of_class_0(self.name))
            if negative or (of_first and not negates(self.name, first)):
                raise self._unknown_positive(self.labels)
        return self.labels

    def _positive(self, uniques: Sequence[Any]) -> Any:
        """Return the positive class as the caller or the column names it; None if neither does."""
        booleans = bool(uniques) and all(isinstance(each, bool) for each in uniques)
        name = self.name
        is_class = name is not None and key(name, booleans=booleans) in map(key, uniques)
        if self.pos_label is not None:
            # Column 0 may be so called because it is the only one.
            counted = is_number(name) and name == 0
            if is_class and not counted and key(name, booleans=booleans) != key(self.pos_label):
                raise bad_value(
                    "pos_label",
                    repr(self.pos_label),
                    f"{name!r}, the name of {self.called.proba}",
                    "rename it, or pass it without a name",
                )
            return self.pos_label
        if name is None:
            return None
        numbers = all(is_number(each) for each in uniques)
        exact = is_class and plain(name) not in (0, "False")
        if numbers and not exact and (of_class_0(name) or is_class):
            raise self._of_class_0()
        if not is_class:
            return None
        return next(each for each in uniques if key(each) == key(name, booleans=booleans))

    def _unknown_positive(self, uniques: Sequence[Any]) -> ValueError:
        kind = "labels" if all(is_number(each) for each in uniques) else "names"
        return bad_value(
            self.called.labels,
            f"the {kind} {some_names(uniques)}",
            f"0 and 1, or to know of which class {self.called.proba} is the probability",
            "pass pos_label=..., or a column for each class",
        )

    # ------------------------------------------------------------ indicator matrices

    def of_indicator(self, columns: Given | None) -> tuple[Given, list[int] | None]:
        """Return the name of each class, and which columns of an indicator matrix mark it.

        None stands for its columns as they are.
        """
        k = self.n_classes
        if self.single:
            return self._of_indicator_pair(columns)
        target = self._listed() if self.labels is not None else self.columns
        own = columns
        # Columns that are counted match numbers, whatever their order.
        if target is None and own is not None and is_permutation(own):
            target = tuple(range(k))
        if own is None and target is not None and is_permutation(target):
            own = tuple(range(k))
        if own is None and self.columns is not None:
            self._check_usual_order(target)
        if target is None or own is None:
            return target or own or tuple(range(k)), None
        place = {key(name): i for i, name in enumerate(own)}
        keys = [key(name) for name in target]
        if set(keys) != set(place) or len(place) != k:
            raise bad_value(
                self.called.labels,
                f"columns named {some_names(own)}",
                f"those of {self.called.proba}, {some_names(target)}",
                "rename them, or pass one of the two without names",
            )
        return target, [place[each] for each in keys]

    def _check_usual_order(self, target: Given | None) -> None:
        """Raise if columns of an indicator matrix without names may have another order."""
        moved = target != self.labels if self.labels is not None else not self._in_usual_order()
        if moved:
            raise self._unmatched("an indicator matrix without names of columns")

    def _of_indicator_pair(self, columns: Given | None) -> tuple[Given, list[int] | None]:
        """Return the same for predictions of one column."""
        if columns is None:
            negative, positive = self._of_pair([0, 1])
            if self.labels is not None:
                order = [self.labels.index(negative), self.labels.index(positive)]
            else:
                order = [int(negative), int(positive)]
            return (negative, positive), order
        names = self._of_pair(sorted(columns, key=str) if self.labels is None else [])
        keys = [key(each) for each in columns]
        if {key(each) for each in names} != set(keys) or len(set(keys)) != len(keys):
            raise bad_value(
                self.called.labels,
                f"columns named {some_names(columns)}",
                f"{some_names(names)}",
                "rename them",
            )
        return names, [keys.index(key(each)) for each in names]


def _opposite(positive: Any) -> Any:
    """Name the class that did not occur."""
    if is_number(positive):
        return 1 - positive if positive in (0, 1) else 0 if positive != 0 else 1
    return f"not {positive}"
