"""How rows of a sketch were read: what the first ones decide of all that follow."""

from __future__ import annotations

from typing import Any, NamedTuple

from propercal._data.classes.columns import (
    is_shuffled,
    keys,
)
from propercal._data.classes.one_column import opposite
from propercal._data.predictions.weights import weighted_by_both
from propercal._data.words.messages import bad_value, columns_said
from propercal.sketch.class_order import (
    names_of_both,
    same_order,
)
from propercal.sketch.column_names import Called
from propercal.sketch.doubts import Doubts
from propercal.sketch.doubts import joined as doubts_of_both
from propercal.sketch.occurred import Occurred, ruled_out_by_both
from propercal.sketch.relation import Relation, relation_of_both


class Convention(NamedTuple):
    """What the rows of a sketch have settled about how all are read."""

    names: list[Any] | None
    """Names of classes; None where no row named one. Of two it is the second alone where rows of no
    other had a label, and one column is its probability."""
    separate: bool | None = None
    """Whether columns are separate problems; None where no row depends on that."""
    columns: list[Any] | None = None
    """Names of the columns of the predictions; None where they had none so far."""
    unnamed: bool = False
    """Whether columns came without names."""
    called: Called = Called()
    """Names of a single column, and of labels that are numbers."""
    occurred: Occurred = Occurred()
    """Classes of the rows, where tables do not tell."""
    doubts: Doubts | None = None
    """What predictions say of the order of columns, where no name decides it."""
    ruled_out: frozenset[int] | None = None
    """Columns that are 0 in all rows; None of no rows."""
    relation: Relation | None = None
    """Whether predictions tell anything of labels; None of no rows."""
    weighted: frozenset[bool] = frozenset()
    """Whether weights were given, of each update."""

    @property
    def classes(self) -> list[Any] | None:
        """Names of all classes, that of one which did not occur made of the other's."""
        alone = self.names is not None and len(self.names) == 1
        return [opposite(*self.names), *self.names] if alone and self.names else self.names

    def single(self, n_classes: int) -> bool:
        """Whether all predictions were one column."""
        return n_classes == 2 and not self.unnamed and self.columns is None

    def in_doubt(self, n_classes: int) -> Convention:
        """Return the same where no name has decided the order of columns."""
        return self._replace(doubts=self.doubts or Doubts.empty(n_classes))

    def settled(self, separate: bool | None) -> Convention | None:
        """Return what is settled after rows that settled `separate`, None where these disagree."""
        if separate is None:
            return self
        return self._replace(separate=separate) if self.separate in (None, separate) else None


class Joined(NamedTuple):
    """What the caller knows the other one of two by."""

    argument: str = "other"
    what: str = "a sketch"


def joined(
    mine: Convention,
    other: Convention,
    *,
    n_classes: int,
    said: bool,
    by: Joined = Joined(),  # noqa: B008  # which nothing can change
) -> Convention:
    """Return what the rows of two sketches settle together, or raise.

    `said` says that the caller named the classes.
    """
    names = names_of_both(mine.names, other.names)
    if names is None and None not in (mine.names, other.names):
        raise bad_value(
            by.argument,
            f"{by.what} that read classes as {other.classes}",
            f"{mine.classes}",
            "pass labels=[...] to both",
        )
    if None not in (mine.columns, other.columns) and mine.columns != other.columns:
        raise bad_value(
            by.argument,
            f"{by.what} of columns {other.columns}",
            f"{mine.columns}",
            "pass labels=[...] to both, or the same columns in the same order",
        )
    joined = mine.settled(other.separate)
    if joined is None:
        raise _of_two_kinds(mine, other, by)
    either = mine.columns if other.columns is None else other.columns
    listed = said and keys(mine.names or ()) == keys(either or ())
    unnamed = (mine.unnamed or other.unnamed) and not listed
    if unnamed and either is not None and is_shuffled(either):
        raise bad_value(
            by.argument,
            f"{by.what} of {columns_said(other.columns)}",
            columns_said(mine.columns, ""),
            "pass columns with names to both, or to none",
        )
    _check_order(mine, other, by)
    if mine.doubts is not None and other.doubts is not None:
        other.doubts.check_beside(mine.doubts, names or range(n_classes))
    called = mine.called
    if n_classes == 2:
        called = called.joined(other.called, (names or [0, 1])[-1], said, by.argument)
    return joined._replace(
        called=called,
        occurred=mine.occurred.plus(other.occurred),
        doubts=doubts_of_both(mine.doubts, other.doubts),
        ruled_out=ruled_out_by_both(mine.ruled_out, other.ruled_out),
        relation=relation_of_both(mine.relation, other.relation),
        weighted=weighted_by_both(mine.weighted, other.weighted),
        unnamed=mine.unnamed or other.unnamed,
        names=names,
        columns=other.columns if mine.columns is None else mine.columns,
    )


def _of_two_kinds(mine: Convention, other: Convention, by: Joined) -> ValueError:
    kinds = "one class in each row", "columns that are separate problems"
    return bad_value(
        by.argument,
        f"{by.what} that read {kinds[bool(other.separate)]}",
        f"{kinds[bool(mine.separate)]}",
        "let the first update of both hold a row that marks several classes; where one class "
        "occurs in each row, pass class numbers",
    )


def _check_order(mine: Convention, other: Convention, by: Joined) -> None:
    """Raise if one of two sketches names classes in another order than the other has columns."""
    named, unnamed = (other, mine) if mine.names is None else (mine, other)
    if (
        named.classes is not None
        and unnamed.names is None
        and not same_order(named.classes, unnamed.columns)
    ):
        raise bad_value(
            by.argument,
            f"{by.what} of classes {other.classes or other.columns or 'without names'}",
            f"{mine.classes or mine.columns or 'classes without names'}, in this order",
            "pass labels=[...] to both",
        )
