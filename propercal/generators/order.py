"""The order of classes, which some generators ask for, and which words alone do not tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from propercal._array import to_numpy
from propercal._data.classes.labels import Classes, are_alphabetical
from propercal._data.predictions.notions import Notion
from propercal._data.rows.coordinates import axis_names
from propercal._data.words.messages import bad_value, some_names, warn
from propercal._data.words.other_words import spelt
from propercal._data.words.quantities import quantities
from propercal._data.words.tokens import is_number, key, named, numberings, plain
from propercal.generators.base import BregmanGenerator, depends_on_order
from propercal.generators.scales import OPPOSITES, between


def check_order(
    classes: Classes,
    generators: Sequence[BregmanGenerator],
    notion: Notion,
    n_classes: int,
    *,
    by: str | None = "labels",
) -> None:
    """Raise where F depends on an order of classes that only the alphabet may have given them.

    So it does where names are numbers, or the caller has said an order, that is another than that
    of columns, and F tells classes apart. To a score of ordered classes, the reverse is the same.
    The caller can say an order `by` an argument, or by none.
    """
    if not notion.whole:
        return
    names = classes.names
    # Numbers count columns, which may have names of classes.
    called = classes.columns if all(map(is_number, names)) and classes.columns else names
    _check_named(called, generators, by)
    alphabetical = classes.alphabetical and not _are_numbered(called)
    if n_classes > 2 and (alphabetical or _in_disorder(names)):
        _refuse(called if alphabetical else names, generators, by)
    if classes.turned and not classes.order:
        check_turned(called, classes.turned, generators, notion, by=by)
    if not classes.order:
        _check_middle(called, generators)
        _check_unnamed(names, generators, by)
    elif n_classes > 2:
        _doubt_middle(classes.order, generators, by)
    order, numbers = classes.order, [plain(each) for each in names]
    if not order and all(map(is_number, numbers)):
        order = tuple(sorted(numbers))
    place = {key(each): i for i, each in enumerate(order)}
    # Of the classes in order, some may have no column.
    places = [place[key(each)] for each in names if key(each) in place]
    if len(places) < len(names) or places == sorted(places):
        return
    for generator in generators:
        if _is_another(generator, places):
            raise _in_other_order(generator, names, order, by)


def check_turned(
    first: Sequence[Any],
    turned: Sequence[Any],
    generators: Sequence[BregmanGenerator],
    notion: Notion,
    *,
    by: str | None = "labels",
) -> None:
    """Raise where columns are matched with the `first`, and F is another one in their own order.

    Where nothing says which of the two is that of the classes, F would be that of whoever came
    first.
    """
    place = {key(each): i for i, each in enumerate(first)}
    places = [place[key(each)] for each in turned if key(each) in place]
    if not notion.whole or len(set(places)) < max(3, len(first)) or _are_numbered(first):
        return
    for generator in generators:
        if _knows_classes(generator, len(first)) or not _is_another(generator, places):
            continue
        raise bad_value(
            "generator",
            repr(generator),
            f"columns in one order, that of their classes, not {some_names(first)} and then "
            f"{some_names(turned)}",
            "put all columns in the order of their classes"
            + ("" if by is None else f", and name them by {by}=[...]"),
        )


def _knows_classes(generator: BregmanGenerator, n_classes: int) -> bool:
    """Tell whether F is of so many classes by name."""
    terms = [getattr(term, "of_classes", None) for _, term in generator._terms()]
    return any(own is not None and len(own) == n_classes for own in terms)


def _is_another(generator: BregmanGenerator, places: Sequence[int]) -> bool:
    """Tell whether F of classes in these places is another one than F of them in order.

    At random points, two smooth functions that differ have different values.
    """
    points = np.random.default_rng(0).dirichlet(np.ones(len(places)), 8)
    there, here = (to_numpy(generator.value(p)) for p in (points[:, np.argsort(places)], points))
    return not np.allclose(here, there, rtol=1e-9, atol=1e-12)


def check_names_order(
    names: Sequence[object],
    generators: Sequence[BregmanGenerator],
    *,
    said: bool,
) -> None:
    """Do so for names of classes, of which the caller `said` the order, or did not."""
    _check_named(names, generators, "labels")
    alphabetical = not said and are_alphabetical(names) and not _are_numbered(names)
    if len(names) > 2 and (alphabetical or _in_disorder(names)):
        _refuse(names, generators, "labels")
    _check_middle(names, generators)
    if not said:
        _check_unnamed(names, generators, "labels")


def check_columns_order(
    columns: Sequence[Any] | None,
    generators: Sequence[BregmanGenerator],
    notion: Notion,
    *,
    order: Sequence[Any] = (),
    by: str | None = "labels",
    in_order: bool = True,
) -> None:
    """Do so for names of columns, if they have some, of which a type may say the order.

    They are `in_order` unless they are keys of objects.
    """
    if columns:
        names = tuple(columns)
        if not in_order:
            _check_keys(names, generators, notion, by)
        alphabetical = not order and are_alphabetical(names)
        classes = Classes(None, None, names, alphabetical=alphabetical, order=tuple(order))
        check_order(classes, generators, notion, len(names), by=by)


def _check_keys(
    names: Sequence[Any], generators: Sequence[BregmanGenerator], notion: Notion, by: str | None
) -> None:
    """Raise where F depends on an order, which names that stand in none do not have."""
    if not notion.whole or len(names) < 3 or _are_numbered(names):
        return
    for generator in generators:
        others = [1, 0, *range(2, len(names))], [*range(1, len(names)), 0]
        is_another = any(_is_another(generator, places) for places in others)
        if is_another and not _knows_classes(generator, len(names)):
            raise bad_value(
                "generator",
                repr(generator),
                f"classes in an order, which keys of objects of JSON do not have, "
                f"{some_names(names)}",
                f"name them in their order by {by}=[...]",
            )


def named_matrix(matrix: Any) -> tuple[Any, tuple[Any, ...] | None]:
    """Return a matrix with rows and columns in one order, and the names of their classes."""
    if isinstance(matrix, Mapping):
        raise bad_value(
            "matrix",
            f"a {type(matrix).__name__} of {some_names(list(matrix))}",
            "a square array, or a table whose rows and columns are named",
            "pass pandas.DataFrame(...) of it",
        )
    found = [axis_names(matrix, axis) for axis in (0, -1)]
    if found == [None, None] or np.ndim(matrix) != 2:
        return matrix, None
    rows, columns = (None if each is None else named(each) for each in found)
    array = np.asarray(matrix)
    if rows is None or columns is None:
        return array, rows or columns
    place = {key(each): i for i, each in enumerate(columns)}
    once = len(place) == len(rows) == len(columns)
    if not once or set(place) != {key(each) for each in rows}:
        raise bad_value(
            "matrix",
            f"rows of {some_names(rows)} and columns of {some_names(columns)}",
            "the same classes along both axes",
            "rename them, or pass an array",
        )
    return array[:, [place[key(each)] for each in rows]], rows


def _check_named(
    names: Sequence[Any], generators: Sequence[BregmanGenerator], by: str | None
) -> None:
    """Raise where F is of classes by name, and columns are those of others, or in another order."""
    for generator in generators:
        for _, term in generator._terms():
            own = getattr(term, "of_classes", None)
            # Costs of two classes are the same in both orders; of another number, F says itself.
            if own is None or len(own) < 3 or len(own) != len(names):
                continue
            if [key(each) for each in own] != [key(each) for each in names]:
                raise _in_other_order(generator, names, own, by)


def _check_unnamed(
    names: Sequence[Any], generators: Sequence[BregmanGenerator], by: str | None
) -> None:
    """Raise where costs without names may be in the order of columns, or in that of sorted labels.

    They are in one order where these are the same, and where columns have an order by their words.
    """
    if not all(isinstance(each, str) for each in names) or _ascend(names):
        return
    rank = {name: i for i, name in enumerate(sorted(names))}
    for generator in generators:
        for _, term in generator._terms():
            unnamed = getattr(term, "of_classes", ()) is None
            as_many = len(getattr(term, "matrix", ())) == len(names)
            if unnamed and as_many and _is_another(term, [rank[name] for name in names]):
                raise bad_value(
                    "generator",
                    repr(generator),
                    "costs with names beside columns that are named in an order of their own, "
                    f"{some_names(names)}, since labels are sorted",
                    "name the rows and columns of the matrix, Quadratic(pandas.DataFrame(matrix, "
                    "names, names)), with names in its order"
                    + ("" if by is None else f", or the columns in their order by {by}=[...]"),
                )


def _ascend(names: Sequence[str]) -> bool:
    """Tell whether words are sorted, numbered, or between two opposites, from the least on."""
    ends = names[0].lower(), names[-1].lower()
    return list(names) == sorted(names) or _are_numbered(names) or ends in OPPOSITES


def _in_disorder(names: Sequence[object]) -> bool:
    """Tell whether names are numbers, or have some, that neither rise nor fall."""
    found = _numbers_of(names)
    return bool(found) and all(map(_turns, found))


def _are_numbered(names: Sequence[object]) -> bool:
    """Tell whether names are numbers, or have some, that rise, as those of classes do.

    What names measure may fall too.
    """
    measured = quantities(names)
    if measured is not None:
        return not _turns(measured)
    found = _numbers_of(names)
    return bool(found) and all(list(each) == sorted(set(each)) for each in found)


def _numbers_of(names: Sequence[object]) -> list[Sequence[Any]]:
    """Return each way in which all names are numbered."""
    measured = quantities(names)
    if measured is not None:
        return [measured]
    try:
        return [[float(each) for each in names]]  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return [each for each in (*numberings(names), *spelt(names)) if None not in each]


def _turns(numbers: Sequence[Any]) -> bool:
    """Tell whether numbers neither rise nor fall from the first to the last."""
    return any(a < b for a, b in pairwise(numbers)) and any(a > b for a, b in pairwise(numbers))


def _check_middle(names: Sequence[object], generators: Sequence[BregmanGenerator]) -> None:
    """Raise if what is between two opposites by its name does not stand between them."""
    found = between(names)
    if found is None:
        return
    middle, first, last = found
    for generator in generators:
        if depends_on_order(generator):
            raise bad_value(
                "generator",
                repr(generator),
                f"columns in the order of their classes, with {middle!r} between {first!r} and "
                f"{last!r}, not {some_names(names)}",
                "put the columns, and labels=[...] if you pass them, in that order",
            )


def _doubt_middle(
    names: Sequence[object], generators: Sequence[BregmanGenerator], by: str | None
) -> None:
    """Warn where the caller says an order in which such a name does not stand between them.

    A list may be sorted, as libraries have it, which puts no letter in another place.
    """
    found = between(names, letters=False)
    if found is None:
        return
    middle, first, last = found
    for generator in generators:
        if depends_on_order(generator) and not _knows_classes(generator, len(names)):
            listed = "" if by is None else f", and {by}=[...],"
            warn(
                f"{generator!r} takes classes in the order that is said, {some_names(names)}, "
                f"though by its name {middle!r} is between {first!r} and {last!r}. If it is, put "
                f"the columns{listed} in the order from the least to the greatest."
            )
            return


def _refuse(
    names: Sequence[object], generators: Sequence[BregmanGenerator], by: str | None
) -> None:
    for generator in generators:
        if not depends_on_order(generator):
            continue
        if _in_disorder(names):
            words = (
                "name classes in words" if by is None else f"name classes in words, by {by}=[...]"
            )
            raise bad_value(
                "generator",
                repr(generator),
                f"columns in the order of their classes, which have the numbers "
                f"{some_names(names)}",
                f"put the columns in ascending order; {words}, if their numbers are no order",
            )
        typed = ", or an ordered categorical" if by == "labels" else ""
        right = "if the alphabet has it right"
        raise bad_value(
            "generator",
            repr(generator),
            "classes in the order that they have, from the least to the greatest, not words in "
            f"alphabetical order, {some_names(names)}",
            f"put the columns in that order; pass them without names {right}"
            if by is None
            else f"put the columns in that order and pass {by}=[...] to name them{typed}; pass "
            f"{by}=[...] too {right}",
        )


def _in_other_order(
    generator: BregmanGenerator, names: Sequence[object], said: Sequence[object], by: str | None
) -> ValueError:
    moved = ", such as by y_proba[labels]" if by == "labels" else ""
    named = "" if by is None else f", and name the classes by {by}=[...] where nothing else does"
    return bad_value(
        "generator",
        repr(generator),
        f"columns in the order of their classes, {some_names(said)}, not {some_names(names)}",
        f"put the columns in that order{moved}{named}",
    )
