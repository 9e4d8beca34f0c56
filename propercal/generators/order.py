"""The order of classes, which some generators ask for, and which words alone do not tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from propercal._data.labels import Classes, are_alphabetical
from propercal._data.messages import bad_value, some_names
from propercal._data.notions import Notion
from propercal.generators.base import BregmanGenerator, depends_on_order


def check_order(
    classes: Classes, generators: Iterable[BregmanGenerator], notion: Notion, n_classes: int
) -> None:
    """Raise where F depends on an order of classes that only the alphabet may have given them.

    So it does where names are numbers in another order than that of columns. Of two outcomes,
    either order is the same, and of more, so is the reverse.
    """
    if notion.n_outcomes(n_classes) > 2 and (classes.alphabetical or _in_disorder(classes.names)):
        _refuse(classes.names, generators)


def check_names_order(
    names: Sequence[object], generators: Iterable[BregmanGenerator], *, said: bool
) -> None:
    """Do so for names of classes, of which the caller `said` the order, or did not."""
    if len(names) > 2 and ((not said and are_alphabetical(names)) or _in_disorder(names)):
        _refuse(names, generators)


def _in_disorder(names: Sequence[object]) -> bool:
    """Tell whether names are numbers, or are written as numbers, that neither rise nor fall."""
    try:
        numbers = [float(each) for each in names]  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    steps = [a < b for a, b in pairwise(numbers)]
    return any(steps) and not all(steps)


def _refuse(names: Sequence[object], generators: Iterable[BregmanGenerator]) -> None:
    for generator in generators:
        if not depends_on_order(generator):
            continue
        if _in_disorder(names):
            raise bad_value(
                "generator",
                repr(generator),
                f"columns in the order of their classes, which are the numbers {some_names(names)}",
                "put the columns in ascending order; name classes in words, by labels=[...], if "
                "their numbers are no order",
            )
        raise bad_value(
            "generator",
            repr(generator),
            "classes in the order that they have, from the least to the greatest, not words in "
            f"alphabetical order, {some_names(names)}",
            "put the columns in that order and pass labels=[...] to name them, or an ordered "
            "categorical; if the alphabet has it right, labels says so too",
        )
