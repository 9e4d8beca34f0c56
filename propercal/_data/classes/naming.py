"""Which column is which class, and which class is the positive one.

Where labels and predictions both carry names, they are matched by name or refused. A positive class
is never guessed. Numbers 0 to k − 1 count the columns; −1 and 1, or k distinct numbers from 1 on,
stand for them in ascending order, and strings in alphabetical order, as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.classes.counting import Given, check_codes, counted_names, in_order
from propercal._data.classes.one_column import OneColumn
from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import USUAL_NAMES, Names, check_scalar, is_hashable, is_missing
from propercal._data.inputs.settings import check_names
from propercal._data.inputs.texts import check_classes, check_columns
from propercal._data.words.messages import bad_value, some_names, some_rows, warn
from propercal._data.words.other_words import (
    are_negative_and_positive,
    contradict,
    say_another_order,
    spelt_as_counted,
)
from propercal._data.words.short_names import bearers
from propercal._data.words.tokens import (
    content,
    is_negation,
    is_number,
    is_numeral,
    is_permutation,
    key,
    negates,
    numberings,
    plain,
)

__all__ = ["Given", "Naming", "check_names", "is_numeral", "key"]

#: What torch and Hugging Face put where there is no label.
NO_LABEL = -100


@dataclass(frozen=True)
class Naming:
    """What is known of the names of k classes."""

    n_classes: int
    labels: Given | None = None
    """As the caller lists them."""
    columns: Given | None = None
    """Names of the columns of the predictions, where there are several."""
    numbered: bool = False
    """Whether they are named by their numbers, in order."""
    name: Any = None
    """The name of the only column of the predictions."""
    single: bool = False
    """Whether the predictions are one column, the probability of the positive class."""
    pos_label: Any = None
    called: Names = USUAL_NAMES
    codes: Mapping[Hashable, Sequence[Any]] = field(default_factory=dict)
    """Numbers of the columns beside their names, in another order."""

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
        columns = None if single else proba.columns
        odd = [each for each in (*(columns or ()), proba.name) if not is_hashable(each)]
        if odd:
            raise bad_value(
                called.proba,
                f"a column named by a {type(odd[0]).__name__}, {odd[0]!s}",
                "a name, such as text or a number",
                "rename the columns",
            )
        names = check_names(labels, n_classes, called, columns)
        numbered = proba.numbered and not single
        name, codes = proba.name, proba.codes
        return cls(n_classes, names, columns, numbered, name, single, pos_label, called, codes)

    def of_values(self, uniques: list[Any], values: npt.NDArray[Any], held: Held) -> Given:
        """Return the name of each column, in the light of labels of shape (n,) and what occurs."""
        if self.labels is None and NO_LABEL in uniques:
            raise bad_value(
                self.called.labels,
                f"{NO_LABEL} at {some_rows(held.given(np.flatnonzero(values == NO_LABEL)))}",
                f"classes, 0 to {self.n_classes - 1}",
                f"drop these rows, or pass ignore_index={NO_LABEL} if they have no label, or "
                "pass labels=[...] if it is a class",
            )
        self._check_booleans(uniques, held.name)
        self._check_marks(uniques, held)
        self._check_words(uniques, held)
        if self.single:
            self._pair.check_labels(uniques, held.name)
            return self._pair.names(uniques, held.name)
        if self.labels is not None:
            return self._listed_beside(uniques, held.name)
        if self.columns is not None:
            found = self._by_name(uniques)
            if found is None:
                found = self._of_named(uniques, held.name)
            return self._beside(uniques, held) if found is None else found
        if self.numbered and held.categories and self._are_shuffled(held.categories):
            raise self._not_of_numbers(self.called.labels, held.categories)
        if not self.numbered:
            check_codes(self.codes, uniques, self.called)
        return in_order(uniques, held, self.n_classes, self.called)

    def _check_booleans(self, uniques: Sequence[Any], name: Any) -> None:
        """Raise where booleans are to tell which of more than two classes occurred."""
        if self.n_classes == 2 or not all(isinstance(each, bool) for each in uniques):
            return
        known = {str(each).lower() for each in self.labels or self.columns or ()}
        if not known.issuperset(str(each).lower() for each in uniques):
            if self.labels is None and self.columns is not None:
                # Their name may say more.
                self._of_named(uniques, name)
            raise bad_value(
                self.called.labels,
                "booleans",
                f"which of the {self.n_classes} columns of {self.called.proba} occurred",
                f"pass the class of each row, or the probability of this event alone as "
                f"{self.called.proba}",
            )

    def _check_words(self, uniques: Sequence[Any], held: Held) -> None:
        """Raise where a word stands for no label, or for another one, and nobody lists it."""
        listed = held.categories or ()
        # In alphabetical order libraries list what occurs.
        listed = () if list(listed) == sorted(listed, key=str) else listed
        said = {*(self.labels or ()), *(self.columns or ()), *listed, self.name, self.pos_label}
        check_classes(self.called.labels, uniques, said)

    def _check_marks(self, uniques: Sequence[Any], held: Held) -> None:
        """Raise where a one-hot of rows of one class, which is one column of ones, says no more."""
        known = {key(each) for each in (self.name, *(self.columns or ()))}
        marks = held.table and held.name is not None and uniques == [1]
        if marks and content(held.name) and key(held.name) not in {"1", *known}:
            raise bad_value(
                self.called.labels,
                f"a table of one column {held.name!r}, with 1 in each row",
                "to know whether that is class 1, or a one-hot of rows that are all of one class",
                "pass a column for each class, or the labels as a vector without a name",
            )

    def leaves_positive(self, name: Any, names: Given = ()) -> bool:
        """Tell whether a convention alone says which class one column is of; labels have `name`.

        `names` are the classes, as they are read.
        """
        return self.single and not self._pair.is_said(name, names)

    @property
    def _pair(self) -> OneColumn:
        return OneColumn(self.labels, self.pos_label, self.name, self.called)

    # ------------------------------------------------------------ several columns

    def _listed(self) -> Given:
        """Return the names that the caller lists, in the order of columns that bear them."""
        assert self.labels is not None  # noqa: S101
        if self.columns is None:
            if self.numbered and self._are_shuffled(self.labels):
                raise self._not_of_numbers("labels", self.labels)
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

    def _are_shuffled(self, names: Sequence[Any]) -> bool:
        """Tell whether these are the numbers of the columns, in another order."""
        return is_permutation(names) and [plain(each) for each in names] != list(range(len(names)))

    def _not_of_numbers(self, argument: str, names: Sequence[Any]) -> ValueError:
        return bad_value(
            argument,
            f"the classes {some_names(names)}, in this order",
            f"that of the columns of {self.called.proba}, named 0 to {self.n_classes - 1}",
            "rename the columns, or pass them without names",
        )

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
        if not set(of_key) <= set(keys) or (booleans and not {"0", "-1"} & set(keys)):
            # Rows that are all true are no rows of a class 1 beside a class 2.
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
        """Return the classes of two numbers that are named after the column of the larger one."""
        assert self.columns is not None  # noqa: S101
        booleans = all(isinstance(each, bool) for each in uniques)
        two = len(uniques) <= 2 and all(map(is_number, uniques))
        if name is None or not two or (is_number(name) and not booleans):
            return None
        equal = [i for i, column in enumerate(self.columns) if key(column) == key(name)]
        places = equal or bearers(self.columns, name)
        negative, positive = (False, True) if booleans else (0, 1)
        usual = set(uniques) <= {0, 1}
        if len(equal) == 1 and self.n_classes == 2 and usual:
            return (negative, positive) if equal == [1] else (positive, negative)
        opposite = self.n_classes == 2 and negates(name, self.columns[1]) and equal != [1]
        if self.n_classes == 2 and places == [1] and not opposite:
            return (negative, positive) if usual else None
        # A name that speaks of all columns, or of none, does not tell which is meant.
        if not opposite and len(places) in (0, self.n_classes):
            return None
        one = len(places) == 1 and not opposite
        meant = f"the column {self.columns[places[0]]!r}" if one else "the column that is meant"
        raise bad_value(
            self.called.labels,
            f"{some_names(uniques)}, named {plain(name)!r}",
            f"to know of which classes {self.called.proba} has columns, {some_names(self.columns)}",
            f"pass {meant} alone as {self.called.proba}, or the names of the classes as "
            f"{self.called.labels}",
        )

    def _beside(self, uniques: Sequence[Any], held: Held) -> Given:
        """Return class numbers where no label is the name of a column, or raise."""
        assert self.columns is not None  # noqa: S101
        check_codes(self.codes, uniques, self.called)
        named = {key(each) for each in uniques} & {key(each) for each in self.columns}
        if all(is_number(each) for each in uniques) and not named:
            self._check_event(uniques)
            found = self._numbered(uniques, held)
            counted = all(is_number(plain(each)) for each in self.columns)
            if found is not None and not counted and self._in_usual_order():
                return found
        if len(uniques) > self.n_classes and {*map(key, self.columns)} <= {*map(key, uniques)}:
            raise self._unmatched(
                f"the names {some_names(uniques)}", "pass a column for each class"
            )
        # Where names contradict them, a list of the classes is refused too.
        fix = "rename the columns, or pass them without names, and labels=[...] in their order"
        odd = named or (len(uniques) == self.n_classes and contradict(self.columns, uniques))
        raise self._unmatched(f"the names {some_names(uniques)}", fix if odd else "")

    def _check_event(self, uniques: Sequence[Any]) -> None:
        """Raise where booleans say whether one of two classes occurred, and nothing says which.

        In alphabetical order libraries list classes; in another one the caller does.
        """
        assert self.columns is not None  # noqa: S101
        booleans = all(isinstance(each, bool) for each in uniques)
        if (
            not booleans
            or self.n_classes > 2
            or list(self.columns) != sorted(self.columns, key=str)
        ):
            return
        if not are_negative_and_positive(*self.columns):
            raise bad_value(
                self.called.labels,
                "booleans",
                f"to know which of the columns of {self.called.proba}, "
                f"{some_names(self.columns)}, True is of",
                "pass the names of the classes, or the column of that class alone, or "
                "labels=[False, True] if it is the second and labels=[True, False] if the first",
            )

    def _unmatched(self, found: str, fix: str = "") -> ValueError:
        assert self.columns is not None  # noqa: S101
        return bad_value(
            self.called.labels,
            found,
            f"names of columns of {self.called.proba}, {some_names(self.columns)}",
            fix or "rename the columns, or pass labels=[...], the class of every column in order",
        )

    def _in_usual_order(self) -> bool:
        """Tell whether no name of a column says that columns are not counted from class 0 on."""
        assert self.columns is not None  # noqa: S101
        swapped = self.n_classes == 2 and is_negation(*self.columns)
        return not swapped and not say_another_order(self.columns)

    def _numbered(self, uniques: Sequence[Any], held: Held) -> Given | None:
        """Return the classes that are counted, or that columns number; None if these disagree."""
        assert self.columns is not None  # noqa: S101
        counted, found = (
            counted_names(uniques, held, self.n_classes, self.called),
            [*numberings(self.columns), *spelt_as_counted(self.columns)],
        )
        agree = [
            number is None or number == name or (number not in counted and name not in numbers)
            for numbers in found
            for number, name in zip(numbers, counted, strict=True)
        ]
        fractions = any(each != round(each) for each in uniques)
        if all(agree) and not (fractions and {*uniques} - {*counted}):
            return counted
        needed = {0, 1} if all(isinstance(each, bool) for each in uniques) else set(uniques)
        known = needed <= set(found[0]) and held.categories is None
        return found[0] if len(found) == 1 and known and None not in found[0] else None

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
        if target is None and own is not None:
            check_columns(self.called.labels, own)
        # Columns that are counted match numbers, whatever their order.
        if target is None and own is not None and is_permutation(own):
            target = tuple(range(k))
        if own is None and target is not None and is_permutation(target):
            own = tuple(range(k))
        if own is None and self.columns is not None:
            self._check_usual_order(target)
        if own is not None and target is None and say_another_order(own):
            raise self._shuffled_indicator(own)
        if target is None or own is None:
            return target or own or tuple(range(k)), None
        place = {key(name): i for i, name in enumerate(own)}
        keys = [key(name) for name in target]
        if set(keys) != set(place) or len(place) != k:
            raise bad_value(
                self.called.labels,
                f"columns named {some_names(own)}",
                f"those of {self.called.proba}, {some_names(target)}",
                "rename them, or pass one of the two without names if they have one order",
            )
        return target, [place[each] for each in keys]

    def _check_usual_order(self, target: Given | None) -> None:
        """Raise if columns of an indicator matrix without names may have another order."""
        moved = target != self.labels if self.labels is not None else not self._in_usual_order()
        if moved:
            raise self._unmatched("an indicator matrix without names of columns")

    def _shuffled_indicator(self, own: Given) -> ValueError:
        return bad_value(
            self.called.labels,
            f"columns named {some_names(own)}, whose numbers do not ascend",
            f"to know in which order {self.called.proba} has its columns, which have no names",
            "bring both into one order, and name the columns of both alike or of none",
        )

    def _of_indicator_pair(self, columns: Given | None) -> tuple[Given, list[int] | None]:
        """Return the same for predictions of one column."""
        if columns is None:
            negative, positive = self._pair.names([0, 1])
            # Columns that are counted match numbers, whatever the order in which these are listed.
            if self.labels is not None and not is_permutation(self.labels):
                order = [self.labels.index(negative), self.labels.index(positive)]
            else:
                order = [plain(negative), plain(positive)]
            return (negative, positive), order
        names = self._pair.names(sorted(columns, key=str) if self.labels is None else [])
        keys = [key(each) for each in columns]
        if {key(each) for each in names} != set(keys) or len(set(keys)) != len(keys):
            raise bad_value(
                self.called.labels,
                f"columns named {some_names(columns)}",
                f"{some_names(names)}",
                "rename them",
            )
        return names, [keys.index(key(each)) for each in names]
