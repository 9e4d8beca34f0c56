"""The factors of a study: their levels, their options, and the cells they cross into."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Sequence
from typing import Any, Self
from zlib import crc32

from propercal._data.words.messages import bad_value, unknown_name


def factor(
    default: Any = dataclasses.MISSING,
    *,
    between: str | None = None,
    within: str | None = None,
    among: Collection[str] | None = None,
    least: float | None = None,
    one_for: str | None = None,
    option: str | None = None,
    metavar: str | None = None,
    help: str | None = None,  # noqa: A002
) -> Any:
    """Declare a field of :class:`Factors` that is checked, and has an option of the command line.

    Parameters
    ----------
    default : sequence, number or str, optional
        Levels, or the value of a setting that has no levels. A whole number n of a factor between
        cells stands for the levels 0, …, n − 1.
    between, within : str, optional
        Dimension of the dataset whose coordinate the levels are. Each combination of the levels
        of all factors *between* cells is one cell, with random numbers of its own; the levels of a
        factor *within* cells are measured on the same draw.
    among : collection of str, optional
        Valid levels.
    least : float, optional
        Smallest valid level, or number.
    one_for : str, optional
        Name of another factor: a number of levels for each of its levels, or one for all.
    option, metavar, help : str, optional
        Name, placeholder and description of the option; the name is that of the field by default.

    Returns
    -------
    dataclasses.Field
        What a dataclass takes in place of a default.
    """
    metadata = {
        "between": between,
        "within": within,
        "among": among,
        "least": least,
        "one_for": one_for,
        "option": option,
        "metavar": metavar,
        "help": help,
    }
    return dataclasses.field(default=default, metadata=metadata)


class Cell(tuple[Any, ...]):  # noqa: SLOT001
    """One draw of a study: a level of every factor between cells, by the name of its dimension.

    It equals, sorts and hashes as the tuple of its levels.

    Examples
    --------
    >>> cell = Cell(sample_size=100, replicate=3)
    >>> cell.sample_size, cell
    (100, (100, 3))
    """

    names: tuple[str, ...]

    def __new__(cls, **levels: Any) -> Self:  # noqa: D102
        self = super().__new__(cls, levels.values())
        self.names = tuple(levels)
        return self

    def __getattr__(self, name: str) -> Any:
        if name == "names" or name not in self.names:
            raise AttributeError(name)
        return self[self.names.index(name)]

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        return (), self.asdict()

    def asdict(self) -> dict[str, Any]:
        """Return the levels by the names of their dimensions."""
        return dict(zip(self.names, self, strict=True))


class Factors:
    """Base class of the factors of a study: a frozen dataclass whose fields are :func:`factor`.

    A plain field is a setting with no check and no option. A field ``seed`` is the entropy of every
    random number; without it that is 0.

    Raises
    ------
    ValueError
        If a factor has no level, repeated levels or an invalid one.

    Examples
    --------
    >>> from collections.abc import Sequence
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Design(Factors):
    ...     sample_sizes: Sequence[int] = factor((100, 400), between="sample_size", least=2)
    ...     n_replicates: Sequence[int] = factor(
    ...         (3, 2), between="replicate", one_for="sample_sizes"
    ...     )
    ...     generators: Sequence[str] = factor(("log", "brier"), within="generator")
    ...     seed: int = 0
    >>> Design().cells()
    [(100, 0), (100, 1), (100, 2), (400, 0), (400, 1)]
    >>> Design().levels()["generator"]
    ['log', 'brier']
    """

    @property
    def entropy(self) -> int:
        """Entropy of every random number."""
        return int(getattr(self, "seed", 0))

    def __post_init__(self) -> None:
        for field in _fields(self):
            object.__setattr__(self, field.name, _plain(getattr(self, field.name)))
        for field in _fields(self):
            if field.metadata:
                self._check(field)
        if self.entropy < 0:
            raise bad_value("seed", repr(self.entropy), "a whole number ≥ 0", "0 will do")

    def _check(self, field: dataclasses.Field[Any]) -> None:
        name, found, rule = field.name, getattr(self, field.name), field.metadata
        if rule["one_for"] is not None:
            self._check_counts(name, found, rule)
            return
        if isinstance(found, str) and (rule["between"] or rule["within"]):
            raise bad_value(name, repr(found), "a sequence of levels", f"pass [{found!r}]")
        levels = found if isinstance(found, tuple) else (found,)
        if not levels:
            raise bad_value(name, "()", "one level or more", "name one")
        if len(set(map(str, levels))) < len(levels):
            raise bad_value(name, repr(found), "distinct levels", "remove the repeated one")
        for level in levels:
            if rule["among"] is not None and level not in rule["among"]:
                raise unknown_name(name, level, rule["among"])
            if rule["least"] is not None and not level >= rule["least"]:
                raise bad_value(name, repr(level), f"{rule['least']:g} or more", "leave it out")

    def _check_counts(self, name: str, found: Any, rule: Any) -> None:
        other, least = getattr(self, rule["one_for"]), rule["least"] or 1
        counts = found if isinstance(found, tuple) else (found,)
        if isinstance(found, tuple) and len(found) != len(other):
            expected = f"{least} or more, one for each of the {len(other)} {rule['one_for']}"
            raise bad_value(name, repr(found), expected, "pass as many")
        if min(counts) < least:
            raise bad_value(name, repr(found), f"{least} or more", "2 give an error bar")

    def cells(self) -> Sequence[Cell]:
        """Return the cells: factors crossed in the order of their declaration."""
        crossed: list[dict[str, Any]] = [{}]
        for field in _fields(self):
            dim = field.metadata.get("between")
            if dim is not None:
                crossed = [
                    {**one, dim: level} for one in crossed for level in self._levels_at(field, one)
                ]
        return [Cell(**one) for one in crossed]

    def _levels_at(self, field: dataclasses.Field[Any], at: dict[str, Any]) -> Sequence[Any]:
        """Return the levels of a factor among those before it, which say how many it has."""
        found, other = getattr(self, field.name), field.metadata["one_for"]
        if other is not None and isinstance(found, tuple):
            (dim,) = (f.metadata["between"] for f in _fields(self) if f.name == other)
            return range(found[getattr(self, other).index(at[dim])])
        return range(found) if isinstance(found, int) else found

    def levels(self) -> dict[str, list[Any]]:
        """Return the coordinate of every dimension; a study may add its own to them."""
        found: dict[str, list[Any]] = {}
        for field in _fields(self):
            dim = field.metadata.get("between") or field.metadata.get("within")
            if dim is not None:
                value = getattr(self, field.name)
                if field.metadata["one_for"] is not None and isinstance(value, tuple):
                    value = max(value)
                found[dim] = list(range(value) if isinstance(value, int) else value)
        return found

    def cost(self, cell: Any) -> float:  # noqa: ARG002
        """Return the expected time of a cell, in any unit: the costliest are begun first."""
        return 1.0

    def key(self, cell: Any) -> tuple[int, ...]:
        """Return the spawn key of a cell's random numbers, which no other cell depends upon."""
        return tuple(crc32(x.encode()) if isinstance(x, str) else x for x in cell)

    def settings(self) -> dict[str, Any]:
        """Return all that the results depend on besides the code, by name."""
        return {field.name: getattr(self, field.name) for field in _fields(self)}

    def to_json(self) -> str:
        """Return the settings as the JSON object that names this very study."""
        return json.dumps(self.settings())


def _fields(factors: Any) -> tuple[dataclasses.Field[Any], ...]:
    if not dataclasses.is_dataclass(factors):
        kind = type(factors).__name__
        raise bad_value("factors", kind, "a frozen dataclass", f"decorate {kind} as one")
    return dataclasses.fields(factors)


def _plain(value: Any) -> Any:
    """Return lists as tuples, and NumPy scalars as the Python numbers that JSON can hold."""
    if isinstance(value, list | tuple):
        return tuple(_plain(each) for each in value)
    return value.item() if hasattr(value, "item") else value
