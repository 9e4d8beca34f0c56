"""Every public function that takes data, in every way in which rows and columns can be mixed up.

With their names, they give the number of NumPy; against their names, or where nothing says which row or column is which,
they raise. A function that is public and in no list, or a way that is not said not to apply, fails.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from theory_tests.contracts.arranged_data import COLUMNS, INDEX, NAMES, ROWS, Arranged, as_numpy, by_role
from theory_tests.contracts.functions_of_data import FUNCTIONS, Function
from theory_tests.contracts.holders_of_data import HOLDERS

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

#: Holders with an index, and without.
INDEXED = ("pandas", "xarray", "xarray, transposed", "xarray beside pandas")
PLAIN = ("polars", "pyarrow")
#: Roles whose columns are classes that labels name, or levels that columns are named after.
NAMED = ("p", "q", "r", "quantiles")
CLASSED = ("p", "q", "r")


def first(roles: tuple[str, ...]) -> str:
    """The role whose rows all others follow."""
    return next(role for role in roles if role in NAMES)


def labels(roles: tuple[str, ...]) -> str:
    return "y" if "y" in roles else "outcome"


# ------------------------------------------------------------------ with their names

Ways = Iterator[tuple[str, Arranged]]


def with_names(roles: tuple[str, ...]) -> Ways:
    """Yield ways in which data may stand, by name, that change no number."""
    reference, y = first(roles), labels(roles)
    others = [role for role in roles if role != reference]
    columns, rows = by_role(roles, COLUMNS), by_role(others, ROWS)
    for name in INDEXED:
        yield f"rows and columns, {name}", Arranged(roles, HOLDERS[name], rows, columns)
    of_series = {role: lambda table: [row for _, row in table.iterrows()] for role in roles if role in CLASSED}
    yield "rows that are series", Arranged(roles, columns=columns, plain=frozenset(set(others) - set(CLASSED)), held=of_series)
    for name in PLAIN:
        yield f"columns, {name}", Arranged(roles, HOLDERS[name], columns=columns)
    for name in ("pandas", "xarray"):
        yield f"rows of the predictions, {name}", Arranged(roles, HOLDERS[name], {reference: ROWS[reference]})
        for role in others if name == "pandas" else []:
            yield f"rows of {role}, {name}", Arranged(roles, HOLDERS[name], {role: ROWS[role]})
        for role in columns:
            yield f"columns of {role}, {name}", Arranged(roles, HOLDERS[name], columns={role: columns[role]})
        beside = [role for role in others if role != y and role not in NAMES]
        if beside:
            moved = by_role(beside, ROWS)
            yield f"labels without an index, {name}", Arranged(roles, HOLDERS[name], moved, plain=frozenset({y}))
            plain = frozenset({role for role in roles if role in NAMES})
            yield f"predictions without names, {name}", Arranged(roles, HOLDERS[name], moved, plain=plain)
            yield f"nothing else with an index, {name}", Arranged(roles, HOLDERS[name], columns=columns, plain=frozenset(beside))
        if y == "y":
            for order in ([1, 2, 0], [2, 1, 0]):
                yield f"indicators {order}, {name}", Arranged(roles, HOLDERS[name], rows, columns, one_hot=order)


# ------------------------------------------------------------------ against their names


def against_names(roles: tuple[str, ...]) -> Ways:
    """Yield ways in which data contradict each other, or leave open which row or column is which."""
    reference, y = first(roles), labels(roles)
    others = [role for role in roles if role != reference]
    tables = [role for role in roles if role in NAMED]
    beside = [role for role in others if role != y and role not in NAMES]
    for name in ("pandas", "xarray"):
        holder = HOLDERS[name]
        for role in tables:
            if role == "quantiles":
                # Whose columns say their levels with words about them too.
                yield f"other names of {role}, {name}", Arranged(roles, holder, names={role: ["x", "z", "v"]})
                continue
            yield f"prefix of {role}, {name}", Arranged(roles, holder, names={role: [f"p_{each}" for each in NAMES[role]]})
            yield f"one name of {role}, {name}", Arranged(roles, holder, names={role: [NAMES[role][0] + "'", *NAMES[role][1:]]})
            if role != reference:
                yield f"other names of {role}, {name}", Arranged(roles, holder, names={role: ["x", "z", "v"]})
        for role in roles:
            yield f"index of {role}, {name}", Arranged(roles, holder, index={role: INDEX + 5000})
        for role in beside:
            moved = Arranged(roles, holder, {y: ROWS[y]}, plain=frozenset({role}))
            yield f"{role} beside two orders, {name}", moved
        for role in others:
            if role in NAMES:
                yield f"{role} in another order than labels without an index, {name}", Arranged(roles, holder, {role: ROWS[role]}, plain=frozenset({y}))
        if len(beside) > 1:
            plain = frozenset(set(roles) - set(beside))
            yield f"two orders of what has an index alone, {name}", Arranged(roles, holder, {beside[0]: ROWS[beside[0]]}, plain=plain)
        if y == "y" and tables:
            yield f"names of indicators, {name}", Arranged(roles, holder, one_hot=[1, 2, 0], names={"y": ["lb", "lc", "la"]})
            yield f"a name of an indicator, {name}", Arranged(roles, holder, one_hot=[1, 2, 0], names={"y": ["b", "c", "d"]})
    for role in others:
        if role not in NAMES:
            yield f"dimension of {role}", _of_other_dims(roles, role)


def _of_other_dims(roles: tuple[str, ...], role: str) -> Arranged:
    return Arranged(roles, HOLDERS["xarray"], held={role: lambda each: each.rename(row="case")})


# ------------------------------------------------------------------ the matrix


@cache
def right(name: str) -> list[Any]:
    """What a function finds in arrays without names."""
    function = FUNCTIONS[FUNCTIONS[name].as_in or name]
    return [np.asarray(each, dtype=float) for each in function.call(as_numpy(function.roles))]


def applies(name: str, way: str, data: Arranged) -> bool:
    function = FUNCTIONS[name]
    labelled = data.holder in (HOLDERS["xarray"], HOLDERS["xarray, transposed"]) and not data.plain
    return not any(way.startswith(start) for start in function.not_for) and (labelled or not function.as_in)


def unlike(name: str, found: list[Any], wanted: list[Any]) -> bool:
    """Whether other numbers were found."""
    pairs = zip(found, wanted, strict=not FUNCTIONS[name].as_in)
    return any(not np.allclose(np.asarray(a, dtype=float), b, rtol=1e-12, atol=1e-12, equal_nan=True) for a, b in pairs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_names_that_move_with_the_data_give_the_number_of_numpy(name: str) -> None:
    function = FUNCTIONS[name]
    odd = []
    for way, data in with_names(function.roles):
        installed = data.holder.module not in PLAIN or importlib.util.find_spec(data.holder.module) is not None
        if installed and applies(name, way, data) and (way in function.only or not function.only):
            try:
                odd += [f"{way}: another number"] if unlike(name, function.call(data), right(name)) else []
            except ValueError as error:
                odd.append(f"{way}: {error}")
    assert not odd, "\n".join(odd)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_data_against_their_names_are_refused(name: str) -> None:
    function = FUNCTIONS[name]
    odd = []
    for way, data in against_names(function.roles):
        if applies(name, way, data):
            odd += [f"{way}: {said}" for said in not_refused(function, data)]
    assert not odd, "\n".join(odd)


def not_refused(function: Function, data: Any, **options: Any) -> Iterator[str]:
    """Yield what is odd where data are not refused in the words of the package."""
    try:
        yield f"{function.call(data, **options)}"
    except ValueError as error:
        if not re.search(r"^[^=]+ = .*: expected ", str(error)):
            yield f"{error}"


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if function.in_chunks])
@pytest.mark.parametrize("holder", ["pandas", "xarray"])
def test_names_of_a_later_chunk_are_those_of_the_first(name: str, holder: str) -> None:
    data = Arranged(FUNCTIONS[name].roles, HOLDERS[holder], later={"p": ["a", "b", "d"]})
    assert not list(not_refused(FUNCTIONS[name], data))


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if not function.only and not function.as_in])
def test_every_argument_matters(name: str) -> None:
    """Where it did not, this matrix would see no mix-up of it."""
    function = FUNCTIONS[name]
    for role in function.roles:
        moved = function.call(as_numpy(function.roles, rows={role: ROWS[role]}))
        assert any(np.max(np.abs(np.asarray(a, dtype=float) - b)) > 1e-6 for a, b in zip(moved, right(name), strict=True)), role
