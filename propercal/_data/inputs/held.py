"""What is held of labels, predictions, weights or groups: values, and what holders say of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import like, namespace
from propercal._data.inputs.attributes import Lists
from propercal._data.inputs.reading import is_missing
from propercal._data.words.tokens import count_up
from propercal._typing import Array


@dataclass(frozen=True)
class Held:
    """Data, and what their holder says about them."""

    values: Array
    """As they are if they are a dense array or tensor, else in NumPy."""
    columns: tuple[Any, ...] | None = None
    """Names of columns, where they are more than numbers from 0."""
    numbered: bool = False
    """Whether names of columns are numbers from 0, which are more than a library's own count."""
    codes: Mapping[Hashable, Sequence[Any]] = field(default_factory=dict)
    """Coordinates of other names that number the columns of a labelled array, and do not ascend.

    Under None stand the codes of a categorical index of columns."""
    rows: Any = None
    """A pandas index of the rows, where it is more than a default range."""
    counted: bool = False
    """Whether the rows have a default range index."""
    counted_as: Any = None
    """The name of that index."""
    noted: Any = None
    """Another range that a table of pyarrow notes of one of pandas: rows may since have moved."""
    others: Mapping[Hashable, Any] = field(default_factory=dict)
    """Coordinates of other names along the rows, of a labelled array."""
    dim: Hashable = None
    """The dimension of a labelled array that its columns lie along."""
    name: Any = None
    """The name of a single column."""
    members: Mapping[Any, str] = field(default_factory=dict)
    """The names of values that are those of members of an Enum."""
    table: bool = False
    """Whether that column is a table."""
    first: bool = False
    """Whether its name is 0 because tables number their columns: it may be the only one, or the
    first of several."""
    categories: tuple[Any, ...] | None = None
    """The names of all classes, of a categorical column that orders them."""
    ordered: bool = False
    """Whether its type says that this order means something."""
    unordered: tuple[Any, ...] | None = None
    """The names of all classes, of a categorical column in an order that may mean nothing."""
    places: npt.NDArray[np.intp] | None = None
    """Where each row was in the caller's argument; None where all stand as they did."""

    units: str | None = None
    """What a labelled array says of its units."""
    fills: tuple[float, ...] = ()
    """Numbers of which its attributes say that they stand for missing values."""
    lists: Lists = field(default_factory=dict)
    """Attributes of a labelled array that list words, which may be classes."""
    along: Hashable | None = None
    """What the axis of the columns is called."""
    turned: tuple[Any, ...] | None = None
    """Names of columns as the caller has them, where they were brought into another order."""
    listed: bool = False
    """Whether the caller lists the names of columns, and not their holder."""

    def __post_init__(self) -> None:
        """Leave out a name that is a missing value."""
        if self.name is not None and is_missing(self.name):
            object.__setattr__(self, "name", None)

    def take(self, index: Any) -> Held:
        """Return rows by their numbers."""
        xp = namespace(self.values)
        rows = None if self.rows is None else self.rows[index]
        others = {name: each[index] for name, each in self.others.items()}
        values = xp.take(self.values, like(index, self.values), axis=0)
        places = np.asarray(index) if self.places is None else self.places[index]
        return replace(self, values=values, rows=rows, others=others, places=places)

    def given(self, rows: Any) -> npt.NDArray[np.intp]:
        """Return the numbers that rows had in the caller's argument."""
        return as_given(rows, self.places)


def as_given(rows: Any, places: npt.NDArray[np.intp] | None) -> npt.NDArray[np.intp]:
    """Return the numbers of rows of an argument, in its order, that stood in these places."""
    given: npt.NDArray[np.intp] = np.asarray(rows, dtype=np.intp)
    return given if places is None else np.asarray(places[given])


def of_all(held: Held, names: tuple[Any, ...], *, ordered: bool) -> Held:
    """Note the names of all classes, which may be ordered by their type, or as is usual."""
    numbers = all(isinstance(each, Real) for each in names)
    usual = sorted(names) if numbers else sorted(names, key=str)
    if ordered or (names == tuple(usual) and count_up(names)):
        return replace(held, categories=names, ordered=ordered)
    return replace(held, unordered=names)
