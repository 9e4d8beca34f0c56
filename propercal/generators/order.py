"""The order of classes, which some generators ask for, and which words alone do not tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from propercal._data.labels import Classes, are_alphabetical
from propercal._data.messages import bad_value, some_names
from propercal._data.notions import Notion
from propercal.generators.base import BregmanGenerator, depends_on_order


def check_order(
    classes: Classes, generators: Iterable[BregmanGenerator], notion: Notion, n_classes: int
) -> None:
    """Raise where F depends on an order of classes that only the alphabet may have given them.

    Of two outcomes, either order is the same.
    """
    if notion.n_outcomes(n_classes) > 2 and classes.alphabetical:
        _refuse(classes.names, generators)


def check_names_order(
    names: Sequence[object], generators: Iterable[BregmanGenerator], *, said: bool
) -> None:
    """Do so for names of classes, of which the caller `said` the order, or did not."""
    if len(names) > 2 and not said and are_alphabetical(names):
        _refuse(names, generators)


def _refuse(names: Sequence[object], generators: Iterable[BregmanGenerator]) -> None:
    for generator in generators:
        if depends_on_order(generator):
            raise bad_value(
                "generator",
                repr(generator),
                "classes in the order that they have, from the least to the greatest, not words in "
                f"alphabetical order, {some_names(names)}",
                "put the columns in that order and pass labels=[...] to name them, or an ordered "
                "categorical; if the alphabet has it right, labels says so too",
            )
