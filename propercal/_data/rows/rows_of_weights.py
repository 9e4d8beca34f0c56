"""Rows of weights, or of groups, that nothing matches with those of labels and predictions."""

from __future__ import annotations

from propercal._data.inputs.held import Held
from propercal._data.rows.indexes import some_of
from propercal._data.rows.rows import moves_numbers, n_rows, row_numbers, sorting, unmatched
from propercal._data.words.messages import bad_value


def check_weight_follows(weight: Held, labels: Held, argument: str, between: str) -> None:
    """Refuse weights without an index beside two whose rows stand in different orders."""
    if weight.rows is not None or n_rows(weight) != n_rows(labels):
        return
    raise unmatched(argument, "a default index" if weight.counted else "no index", between)


def check_weight_not_shuffled(weight: Held, *others: Held, argument: str, beside: str) -> None:
    """Refuse weights whose index moves the numbers of rows, where no others say which row is which.

    They may have been taken from a table before or after its rows were shuffled.
    """
    says = any(
        each.counted or not each.rows is each.noted is None or each.others for each in others
    )
    numbers = None if says or weight.rows is None else row_numbers(weight.rows)
    start = next((i for i in (0, 1) if numbers is not None and moves_numbers(numbers, i)), None)
    if numbers is None or start is None:
        return
    raise bad_value(
        argument,
        f"rows of the index {some_of(weight.rows)}",
        f"{start} to {len(numbers) - 1 + start} in order, or an index of {beside} too: rows were "
        "shuffled, and nothing says whether those of the others were",
        f"call {sorting(weight.rows)} on it if they were not, or pass .to_numpy() of it if they "
        "were",
    )
