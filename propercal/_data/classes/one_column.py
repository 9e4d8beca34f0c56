"""Of which class one column of predictions is the probability: the positive class is never guessed.

The caller names it by ``pos_label=``, or the column bears its name, or labels are 0 and 1, −1 and 1
or booleans. A name that says another class than the caller or the labels is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from propercal._data.classes.counting import Given
from propercal._data.inputs.reading import Names
from propercal._data.inputs.texts import seems_equal
from propercal._data.words.messages import bad_value, some_names
from propercal._data.words.of_choice import say_right, says_no_class
from propercal._data.words.opposed import are_opposed, are_other_letters, contradicts
from propercal._data.words.tokens import (
    content,
    is_negation,
    is_number,
    key,
    of_class_0,
    plain,
    say_the_same,
)

#: What one column beside more than two classes may be of, and what to do then.
OF_PREDICTED = "whether the predicted class is right as labels if one column is its probability"
#: Words of columns that are of class 1.
_POSITIVE = {"pos", "positive", "true", "yes"}


@dataclass(frozen=True)
class OneColumn:
    """What is known of the class of a single column."""

    labels: Given | None
    """The two classes, as the caller lists them."""
    pos_label: Any
    name: Any
    """What the column is called."""
    called: Names

    def check_labels(self, uniques: Sequence[Any], name: Any) -> None:
        """Raise if labels that are numbers have a name of which the column's is the opposite."""
        said = self.labels is not None or self.pos_label is not None
        booleans = all(isinstance(each, bool) for each in uniques)
        if booleans and not said and content(name) == (0,):
            raise bad_value(
                self.called.labels,
                f"booleans named {plain(name)!r}, as a one-hot names those of class 0",
                f"whether class 1 occurred, of which {self.called.proba} is the probability",
                "pass pos_label=..., or labels without a name",
            )
        if said or None in (name, self.name) or not all(map(is_number, uniques)):
            return
        if is_negation(name, self.name) and not is_negation(self.name, name):
            raise self._of_class_0()
        # Of the first choice, whatever it is, answers are right or not.
        if are_opposed(self.name, name) and not (say_right(name) and says_no_class(self.name)):
            raise bad_value(
                self.called.labels,
                f"{some_names(uniques)}, named {name!r}",
                f"to know of which of them {self.called.proba} is, a column named {self.name!r}",
                "pass pos_label=..., that class, or one of the two without its name",
            )

    def is_said(self, name: Any, names: Given = ()) -> bool:
        """Tell whether the caller, or a name, says the class; `name` is that of the labels.

        `names` are the two classes. The column "1" of a file may be the second, not that of class 1
        rather than 2.
        """
        if self.labels is not None or self.pos_label is not None:
            return True
        if key(self.name) == "1" and names and not {"0", "1", "-1"}.issuperset(map(key, names)):
            return False
        said = set(content(self.name)) if self.name is not None else set()
        return bool(said & ({1, *_POSITIVE} | set(content(name) if name is not None else ())))

    def names(self, uniques: Sequence[Any], name: Any = None) -> Given:
        """Return the names of the negative and the positive class; `name` is that of the labels."""
        if self.labels is not None:
            return self._listed(name)
        positive = self._positive(uniques, name)
        if positive is not None:
            return self._beside(positive, uniques)
        if all(isinstance(each, bool) for each in uniques):
            return (False, True)
        if all(is_number(each) for each in uniques):
            if set(uniques) == {-1, 1}:
                return (-1, 1)
            if not set(uniques) <= {0, 1} and len(uniques) == 2:
                raise self._unknown_positive(uniques)
            return (0, 1)
        raise self._unknown_positive(uniques)

    def _beside(self, positive: Any, uniques: Sequence[Any]) -> Given:
        """Return the negative class, which is the other one that occurs, and the positive one."""
        others = [each for each in uniques if key(each) != key(positive)]
        if len(others) > 1:
            if self.pos_label is not None and len(others) == len(uniques) == 2:
                raise bad_value(
                    "pos_label",
                    repr(positive),
                    f"a class of {self.called.labels}, {some_names(uniques)}",
                    f"pass that of which {self.called.proba} is the probability",
                )
            raise bad_value(
                self.called.labels,
                f"the names {some_names(uniques)}",
                f"{positive!r} and one other class, of which {self.called.proba} has a column",
                "pass a column for each class",
            )
        found = [each for each in uniques if key(each) == key(positive)]
        odd = [each for each in others if not found and seems_equal(each, positive)]
        if odd:
            raise bad_value(
                "pos_label",
                repr(positive),
                f"a label that occurs in {self.called.labels}, or is unlike {odd[0]!r}",
                "write both in one way, with the same capitals, blanks and form of letters",
            )
        if others and not found and not _may_be_one_of_two(positive, others[0]):
            raise bad_value(
                "pos_label",
                repr(positive),
                f"a class like those of {self.called.labels}, {some_names(uniques)}",
                f"pass it as {self.called.labels} would have it",
            )
        negative = others[0] if others else opposite(found[0] if found else positive)
        if self.pos_label is not None:
            self._check_name(found[0] if found else positive, negative, uniques)
        return (negative, *(found or [positive]))

    def _check_name(self, positive: Any, negative: Any, uniques: Sequence[Any]) -> None:
        """Raise where the name of the column is none of the class that the caller says."""
        if self.name is None or self._is_counted or key(self.name) == key(positive):
            return
        if self._is_second(uniques):
            # Of labels of one class, the column may have the number of the other.
            odd = len(uniques) == 1 and is_number(plain(positive))
        else:
            odd = contradicts(self.name, positive, negative)
            # What the other class is called is not known.
            odd = odd or (len(uniques) == 1 and _is_of_another(self.name, positive))
        if odd:
            raise self._other_class()

    @property
    def _is_counted(self) -> bool:
        """Whether the column may have its name because it is the only one."""
        number = is_number(self.name) and not isinstance(self.name, bool)
        return self.name == "column_0" or (number and self.name == 0)

    def _is_second(self, uniques: Sequence[Any]) -> bool:
        """Tell whether the column may be numbered 1 as the second of two, not as class 1."""
        of_two = {"0", "1", "-1"}
        return is_number(self.name) and self.name == 1 and not set(map(key, uniques)) <= of_two

    def _is_of_0(self, of_labels: Any) -> bool:
        """Tell whether the column is called as that of class 0, and labels are not called so."""
        return of_class_0(self.name) and not say_the_same(self.name, of_labels)

    def _listed(self, of_labels: Any) -> Given:
        assert self.labels is not None  # noqa: S101
        first, second = self.labels
        positive = self.pos_label if self.pos_label is not None else self.name
        if self.pos_label is not None and key(positive) not in (key(first), key(second)):
            raise bad_value(
                "pos_label", repr(positive), f"one of labels={[first, second]}", "name one"
            )
        if positive is not None and key(positive) == key(first):
            first, second = second, first
        if self.name is None or key(self.name) == key(second):
            return (first, second)
        if self.pos_label is not None:
            if not self._is_counted and contradicts(self.name, second, first):
                raise self._other_class()
        elif contradicts(self.name, second, first) or (
            key(second) == "1" and self._is_of_0(of_labels)
        ):
            raise self._unknown_positive(self.labels)
        return (first, second)

    def _positive(self, uniques: Sequence[Any], of_labels: Any) -> Any:
        """Return the positive class as the caller or the column names it; None if neither does."""
        booleans = bool(uniques) and all(isinstance(each, bool) for each in uniques)
        name = self.name
        is_class = name is not None and key(name, booleans=booleans) in map(key, uniques)
        if self.pos_label is not None:
            other = key(name, booleans=booleans) != key(self.pos_label)
            if is_class and other and not self._is_counted:
                raise self._other_class()
            return self.pos_label
        if name is None:
            return None
        numbers = all(is_number(each) for each in uniques)
        exact = is_class and plain(name) not in (0, "False")
        if numbers and not exact and (self._is_of_0(of_labels) or is_class):
            raise self._of_class_0()
        if not is_class:
            if list(uniques) == [1] and _is_numbered_beyond_1(name):
                raise self._unknown_positive(uniques)
            return None
        if self._is_second(uniques):
            raise self._unknown_positive(
                uniques, "pass pos_label=..., and the column without its name, or under that class"
            )
        return next(each for each in uniques if key(each) == key(name, booleans=booleans))

    # ------------------------------------------------------------ errors

    def _of_class_0(self) -> ValueError:
        return bad_value(
            self.called.proba,
            f"a column named {self.name!r}",
            "to know which class it is the probability of",
            "pass pos_label=0 or pos_label=1, and rename it if it is that of 1",
        )

    def _other_class(self) -> ValueError:
        return bad_value(
            "pos_label",
            repr(self.pos_label),
            f"{self.name!r}, the name of {self.called.proba}",
            "rename it, or pass it without a name",
        )

    def _unknown_positive(
        self,
        uniques: Sequence[Any],
        fix: str = "pass pos_label=..., or a column for each class",
    ) -> ValueError:
        if len(uniques) > 2:
            # No class is the only other one.
            fix = f"pass a column for each class, or {OF_PREDICTED}"
        kind = "labels" if all(is_number(each) for each in uniques) else "names"
        return bad_value(
            self.called.labels,
            f"the {kind} {some_names(uniques)}",
            f"0 and 1, or to know of which class {self.called.proba} is the probability",
            fix,
        )


def _is_numbered_beyond_1(name: Any) -> bool:
    """Tell whether a name says nothing but a number that may be that of a class other than 0, 1."""
    said = content(name)
    return len(said) == 1 and is_number(said[0]) and said[0] not in (0, 1)


def _is_of_another(name: Any, positive: Any) -> bool:
    """Tell whether the name of a column is not that of the only class that is known."""
    said, number = content(name), plain(positive)
    differ = len(said) == 1 and is_number(said[0]) and is_number(number) and said[0] != number
    differ = differ or are_other_letters(name, positive)
    return differ or are_opposed(positive, name) or are_opposed(name, positive)


def _may_be_one_of_two(positive: Any, other: Any) -> bool:
    """Tell whether two classes may be of one kind: both numbers, in digits too, or both words."""
    if isinstance(other, bool):
        return key(positive) in ("0", "1")
    if is_number(other):
        return is_number(plain(positive))
    return isinstance(positive, str) or is_number(plain(other))


def opposite(positive: Any) -> Any:
    """Name the class that did not occur."""
    if isinstance(positive, bool):
        return not positive
    if is_number(positive):
        return 1 - positive if positive in (0, 1) else 0 if positive != 0 else 1
    return f"not {positive}"
