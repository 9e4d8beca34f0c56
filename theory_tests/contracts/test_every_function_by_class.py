"""Every public function that takes data, told in every way which column is which class, or which dimension holds samples.

As in `test_every_function_by_name`: the number of NumPy where names agree, an error where they contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from theory_tests.contracts.arranged_data import CLASSES, HALF, INDEX, NAMES, ROLES, ROWS, Arranged, N, as_numpy
from theory_tests.contracts.functions_of_data import FUNCTIONS
from theory_tests.contracts.holders_of_data import HOLDERS
from theory_tests.contracts.test_every_function_by_name import not_refused, right, unlike

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

TABLES = ("p", "q", "r")
Ways = Iterator[tuple[str, Any, dict[str, Any]]]


def taking(option: str) -> pytest.MarkDecorator:
    """Each function that takes an option."""
    return pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if option in function.options])


def numbers(name: str, data: Any, **options: Any) -> list[Any]:
    return [np.asarray(each, dtype=float) for each in FUNCTIONS[name].call(data, **options)]


def check_all(name: str, ways: Ways, right: Callable[[str], list[Any]], **more: Any) -> None:
    """Check that a function finds the same in each way."""
    odd = []
    for way, data, options in ways:
        if way in FUNCTIONS[name].only or not FUNCTIONS[name].only:
            try:
                odd += [f"{way}: another number"] if unlike(name, numbers(name, data, **more, **options), right(name)) else []
            except ValueError as error:
                odd.append(f"{way}: {error}")
    assert not odd, "\n".join(odd)


def check_refused(name: str, ways: Ways, **more: Any) -> None:
    """Check that a function refuses the data in each way."""
    odd = [f"{way}: {said}" for way, data, options in ways for said in not_refused(FUNCTIONS[name], data, **more, **options)]
    assert not odd, "\n".join(odd)


# ------------------------------------------------------------------ labels=

ORDER = np.array([2, 0, 1])
LISTED = [CLASSES[i] for i in ORDER]


def listed(roles: tuple[str, ...]) -> Ways:
    tables = [role for role in roles if role in TABLES]
    turned = dict.fromkeys(tables, ORDER)
    prefixed = {role: [f"p_{each}" for each in CLASSES] for role in tables}
    plain = as_numpy(roles, columns=turned, fixed=frozenset(tables))
    yield "columns without names", plain, {"labels": LISTED}
    yield "columns in the order of the list", Arranged(roles, columns=turned), {"labels": LISTED}
    yield "columns in another order than the list", Arranged(roles), {"labels": LISTED}
    yield "dimensions in another order than the list", Arranged(roles, HOLDERS["xarray, transposed"]), {"labels": LISTED}
    for role in tables[1:]:
        rest = [each for each in tables if each != role]
        yield f"columns of {role} in another order than those without names", Arranged(roles, columns=dict.fromkeys(rest, ORDER), plain=frozenset(rest)), {"labels": LISTED}
    yield "columns with a prefix in the order of the list", Arranged(roles, columns=turned, names=prefixed, fixed=frozenset(tables)), {"labels": LISTED}
    yield "columns without names, labels with an index", replace(plain, plain=frozenset(tables)), {"labels": LISTED}
    yield "indicators in another order", replace(plain, plain=frozenset(tables), one_hot=[1, 2, 0]), {"labels": LISTED}


def contradicted(roles: tuple[str, ...]) -> Ways:
    tables = [role for role in roles if role in TABLES]
    prefixed = {role: [f"p_{each}" for each in CLASSES] for role in tables}
    for holder in ("pandas", "xarray"):
        yield f"columns with a prefix in another order than the list, {holder}", Arranged(roles, HOLDERS[holder], names=prefixed), {"labels": LISTED}
    yield "a list of another class", as_numpy(roles), {"labels": ["a", "b", "d"]}


@taking("labels")
def test_a_list_of_classes_says_what_columns_are(name: str) -> None:
    check_all(name, listed(FUNCTIONS[name].roles), right)


@taking("labels")
def test_a_list_of_classes_that_names_contradict_is_refused(name: str) -> None:
    check_refused(name, contradicted(FUNCTIONS[name].roles))


# ------------------------------------------------------------------ two classes, and pos_label=


@dataclass(frozen=True)
class Two:
    """Data of two classes, of which "hit" may be told by name; others as they are."""

    y: Any
    p: Callable[[str], Any]
    """Makes predictions of each role."""
    others: Callable[[str], Any] = ROLES.__getitem__
    """Makes all others."""
    only: slice = field(default_factory=lambda: slice(None))

    def __getitem__(self, role: str) -> Any:
        held = self.y if role == "y" else self.p(role) if role in TABLES else self.others(role)
        return held.iloc[self.only] if hasattr(held, "iloc") else held[self.only]

    def back(self, found: Any, columns: bool = True) -> Any:  # noqa: ARG002  # both columns stand as they are
        return np.asarray(found, dtype=float)

    def halves(self) -> tuple[Two, Two]:
        return replace(self, only=slice(HALF)), replace(self, only=slice(HALF, None))


OCCURRED = ROLES["hit"] == "hit"
VECTORS = {"p": "of_hit", "q": "other_of_hit", "r": "third_of_hit"}


def vector(role: str) -> Any:
    return ROLES[VECTORS[role]]


def series(name: Any) -> Callable[[str], Any]:
    return lambda role: pd.Series(vector(role), INDEX, name=name)


def columns(names: list[Any]) -> Callable[[str], Any]:
    """Tables of both classes, or of one."""
    return lambda role: pd.DataFrame({"hit": vector(role), "miss": 1 - vector(role)}, INDEX)[["hit", "miss"][: len(names)]].set_axis(names, axis=1)


def labelled(name: Any) -> Callable[[str], Any]:
    return lambda role: xr.DataArray(vector(role), {"row": INDEX}, ("row",), name=name)


WORDS = ROLES["hit"]


def told() -> Ways:
    indexed = pd.Series(WORDS, INDEX)
    yield "words and pos_label", Two(WORDS, vector), {"pos_label": "hit"}
    yield "booleans", Two(OCCURRED, vector), {}
    yield "a named series", Two(indexed, series("hit")), {}
    yield "a named series beside labels without an index", Two(WORDS, series("hit")), {}
    yield "a named series of the same pos_label", Two(indexed, series("hit")), {"pos_label": "hit"}
    yield "a series without a name", Two(indexed, series(None)), {"pos_label": "hit"}
    yield "labels in another order", Two(indexed.iloc[ROWS["y"]], series("hit"), lambda role: pd.Series(ROLES[role], INDEX)), {}
    yield "a named array", Two(xr.DataArray(WORDS, {"row": INDEX}, ("row",)), labelled("hit")), {}
    yield "a table of one column", Two(indexed, columns(["hit"])), {}
    yield "a table of two columns", Two(indexed, lambda role: columns(["hit", "miss"])(role)[["miss", "hit"]]), {}


def untold(roles: tuple[str, ...]) -> Ways:
    indexed = pd.Series(WORDS, INDEX)
    yield "words", Two(WORDS, vector), {}
    yield "a series of another pos_label", Two(indexed, series("miss")), {"pos_label": "hit"}
    yield "a pos_label that is none", Two(WORDS, vector), {"pos_label": "lost"}
    yield "a table of another class", Two(indexed, columns(["hit", "lost"])), {}
    yield "a column of another class", Two(indexed, columns(["lost"])), {}
    yield "rows of another index", Two(indexed.set_axis(INDEX + 5000), series("hit")), {}
    if "q" in roles:
        other = lambda role: series("hit" if role == "p" else "miss")(role)  # noqa: E731
        yield "a series of the other class, and pos_label", Two(indexed, other), {"pos_label": "hit"}


def of_two(name: str) -> dict[str, Any]:
    """Options of a function where there are two classes."""
    function = FUNCTIONS[name]
    more: dict[str, Any] = {"event": None} if "event" in function.options else {}
    if function.in_chunks:
        more |= {"n_classes": 2, "labels": None}
    return more


@cache
def right_of_two(name: str) -> list[Any]:
    return numbers(name, Two(OCCURRED.astype(int), vector), **of_two(name))


@taking("pos_label")
def test_the_positive_class_is_told_by_name(name: str) -> None:
    check_all(name, told(), right_of_two, **of_two(name))


@taking("pos_label")
def test_a_positive_class_that_is_not_told_is_refused(name: str) -> None:
    check_refused(name, untold(FUNCTIONS[name].roles), **of_two(name))


@pytest.mark.parametrize("name", ["paired_difference", "compare_models"])
def test_columns_of_two_classes_are_each_of_their_own(name: str) -> None:
    def of_either(role: str) -> Any:
        return series("hit")(role) if role == "p" else (1 - series("miss")(role)).rename("miss")

    assert not unlike(name, numbers(name, Two(pd.Series(WORDS, INDEX), of_either)), right_of_two(name))


# ------------------------------------------------------------------ event=


def events(roles: tuple[str, ...]) -> Ways:
    tables = [role for role in roles if role in TABLES]
    for holder in ("pandas", "xarray, transposed"):
        order = {role: np.roll(ORDER, i) for i, role in enumerate(tables)}
        yield f"columns in another order, {holder}", Arranged(roles, HOLDERS[holder], columns=order), {"event": "b"}
    yield "columns without names", as_numpy(roles, columns=dict.fromkeys(tables, ORDER)), {"event": "b", "labels": LISTED}
    yield "indicators", Arranged(roles, one_hot=[1, 2, 0]), {"event": "b"}


@cache
def right_of_event(name: str) -> list[Any]:
    codes = np.array([CLASSES.index(each) for each in ROLES["y"]])
    return numbers(name, as_numpy(FUNCTIONS[name].roles, values={"y": codes}), event=1)


@taking("event")
def test_an_event_is_told_by_name(name: str) -> None:
    check_all(name, events(FUNCTIONS[name].roles), right_of_event)


@taking("event")
def test_an_event_that_is_no_class_is_refused(name: str) -> None:
    check_refused(name, ((str(event), Arranged(FUNCTIONS[name].roles), {"event": event}) for event in ("d", "p_b", 3)))


# ------------------------------------------------------------------ samples along several dimensions

LATITUDES, LONGITUDES = [3.0, 1.0, 2.0, 5.0, 4.0, 0.0], list(range(20, 34))


@dataclass(frozen=True)
class Grid:
    """Rows along two dimensions, which each role has in an order of its own."""

    roles: tuple[str, ...]
    moved: frozenset[str] = frozenset()
    """Roles whose dimensions, and coordinates along them, are in other orders."""
    plain: frozenset[str] = frozenset()
    """Roles without coordinates."""
    flat: frozenset[str] = frozenset()
    """Roles without dimensions."""
    held: Any = field(default_factory=dict)

    def __getitem__(self, role: str) -> Any:
        values = ROLES[role]
        if role in self.flat:
            return values
        shape = (len(LATITUDES), len(LONGITUDES), *values.shape[1:])
        dims = ("lat", "lon", "class")[: len(shape)]
        coords: dict[str, Any] = {} if role in self.plain else {"lat": LATITUDES, "lon": LONGITUDES}
        if role in NAMES:
            coords["class"] = NAMES[role]
        array = xr.DataArray(values.reshape(shape), coords, dims)
        if role in self.moved:
            seed = self.roles.index(role)
            orders = {dim: np.random.default_rng(seed + i).permutation(array.sizes[dim]) for i, dim in enumerate(dims) if dim in coords}
            array = array.isel(orders).transpose(*(dims[1:] + dims[:1]))
        return self.held[role](array) if role in self.held else array

    def back(self, found: Any, columns: bool = True) -> Any:
        return np.asarray(found, dtype=float).reshape(ROLES["p"].shape if columns else (N,))


OVER: dict[str, Any] = {"sample_dims": ["lat", "lon"]}


def grids(roles: tuple[str, ...]) -> Ways:
    others = [role for role in roles if role not in TABLES]
    columns = [role for role in others if role != "y"]
    yield "dimensions in order", Grid(roles), OVER
    yield "labels and others in another order", Grid(roles, frozenset(others)), OVER
    for role in columns:
        yield f"{role} without coordinates", Grid(roles, plain=frozenset({role}), held={role: lambda each: each.T}), OVER
    for role in (each for each in roles if each in ("q", "r")):
        yield f"{role} in another order", Grid(roles, frozenset({role})), OVER
    yield "labels without dimensions", Grid(roles, flat=frozenset({"y"})), OVER


def no_grids(roles: tuple[str, ...]) -> Ways:
    columns = [role for role in roles if role not in (*TABLES, "y")]
    tables = [role for role in roles if role in TABLES]
    for role in (*columns, "y"):
        yield f"another dimension of {role}", Grid(roles, held={role: lambda each: each.rename(lat="height")}), OVER
        yield f"other coordinates of {role}", Grid(roles, held={role: lambda each: each.assign_coords(lat=each.lat + 90)}), OVER
    for role in columns:
        # Nothing says in which order these stand, where neither labels nor predictions have dimensions.
        yield f"{role} alone along two dimensions", Grid(roles, frozenset({role}), flat=frozenset({"y", *tables})), {}
        yield f"{role} without names beside two orders", Grid(roles, frozenset({"y"}), flat=frozenset({role})), {}


@taking("sample_dims")
def test_samples_along_several_dimensions(name: str) -> None:
    check_all(name, grids(FUNCTIONS[name].roles), right)


@taking("sample_dims")
def test_dimensions_that_do_not_belong_together_are_refused(name: str) -> None:
    check_refused(name, no_grids(FUNCTIONS[name].roles))
