"""Whether logits of several columns are those of a softmax or of sigmoids.

Labels show it only where they mark several classes in a row: an indicator matrix that happens to
mark one class in each row would turn sigmoids into a softmax, and a row that marks none may have no
label.
"""

from __future__ import annotations

from propercal._data.classes.labels import Classes
from propercal._data.inputs.reading import Names
from propercal._data.words.messages import bad_value, unknown_name

LINKS = ("softmax", "sigmoid")


def check_link(link: object, from_logits: bool) -> None:
    """Raise unless `link` is None, or one that logits can have."""
    if link is not None and not isinstance(link, str):
        raise bad_value(
            "link", f"a {type(link).__name__}", "None, 'softmax' or 'sigmoid'", "name one"
        )
    if link is not None and link not in LINKS:
        raise unknown_name("link", link, LINKS)
    if link is not None and not from_logits:
        raise bad_value(
            "link", repr(link), "None for probabilities", "pass from_logits=True, or leave it out"
        )


def chosen_link(
    link: str | None, n_columns: int, classes: Classes, one_class: bool, names: Names
) -> str:
    """Return what is between logits and probabilities, or raise where it cannot be told."""
    if n_columns == 1:
        if link == LINKS[0]:
            raise bad_value(
                "link",
                repr(link),
                "'sigmoid' for one column of logits",
                "pass a column for each class: a softmax over one column is always 1",
            )
        return LINKS[1]
    if classes.codes is None:
        if link == LINKS[0]:
            raise bad_value(
                "link",
                repr(link),
                f"one class in each row of {names.labels}, which a softmax is of",
                'pass link="sigmoid" if the columns are separate problems'
                + (
                    "; drop rows that mark no class, or give them weight 0, if they have no label"
                    if classes.marks_none
                    else ""
                ),
            )
        if link is None and classes.marks_none:
            raise _ambiguous(names, unmarked=True)
        return LINKS[1]
    if link == LINKS[1] and one_class:
        raise bad_value(
            "link",
            repr(link),
            "'softmax' where each row is of one class",
            'leave it out, or use notion="classwise" if the columns are separate problems',
        )
    if link is not None:
        return link
    if classes.indicator is not None and not one_class:
        raise _ambiguous(names)
    return LINKS[0]


def _ambiguous(names: Names, *, unmarked: bool = False) -> ValueError:
    """Ask: of rows that are `unmarked` some may have no class, or no label."""
    fix = 'pass link="sigmoid" for several labels a row, link="softmax" for one class a row'
    if unmarked:
        fix = (
            'pass link="sigmoid" if rows that mark no class have none; drop these if they have no '
            'label, or give them weight 0, with link="softmax" for one class a row'
        )
    return bad_value(
        "link",
        "None",
        f"'softmax' or 'sigmoid', since an indicator matrix as {names.labels} may go with either",
        f"{fix}; pass probabilities otherwise",
    )
