"""Rows of tables of pyarrow that were made from ones of pandas, and note the range that was their index.

The rows are those of `test_rows.py`: the Brier score is 0.06 in all but the first, whose weight is 4. A range that is
noted stays as it is where pyarrow moves rows. So it says nothing, but that another order of its numbers is one of two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import decompose, decompose_groups
from theory_tests.contracts.test_rows import (
    IDS,
    LABELS,
    ORDER,
    PLAIN,
    PROBA,
    RIGHT,
    SETTINGS,
    WEIGHT,
    WEIGHTED,
    N,
    check,
    refused,
)

pa = pytest.importorskip("pyarrow")

pytestmark = pytest.mark.filterwarnings("ignore:(only [0-9]+|no) rows? had an outcome")

Y, W = pd.Series(LABELS), pd.Series(WEIGHT)
SHUFFLED = r"= rows of the index .*\.sort_index\(\)"
OTHERS = "= rows of the index .* each of them once"


def noted(values: Any, start: int = 0, *, batch: bool = False) -> Any:
    """Return a table whose range begins at a number."""
    table = values.to_frame("w") if values.ndim == 1 else values
    kind = pa.RecordBatch if batch else pa.Table
    return kind.from_pandas(table.set_axis(pd.RangeIndex(start, start + N)))


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("start", [0, 5])
def test_a_range_in_another_order_is_refused(start: int, batch: bool) -> None:
    numbers = pd.RangeIndex(start, start + N)
    y, w = Y.set_axis(numbers), W.set_axis(numbers)
    table, weight = noted(PLAIN, start, batch=batch), noted(W, start, batch=batch)
    check(y, table)
    check(y, table, WEIGHTED, sample_weight=w)
    check(y, PLAIN.set_axis(numbers), WEIGHTED, sample_weight=weight)
    refused("y_true " + SHUFFLED, y.iloc[ORDER], table)
    refused("y_true " + SHUFFLED, y.iloc[::-1], table)
    refused("sample_weight " + SHUFFLED, y, table, sample_weight=w.iloc[ORDER])
    refused("sample_weight " + SHUFFLED, y.iloc[ORDER], PLAIN.set_axis(numbers).iloc[ORDER], sample_weight=weight)


def test_groups_of_a_table_keep_its_range() -> None:
    groups = pd.DataFrame({"odd": np.arange(N) % 2 == 1, "first": np.arange(N) < 10})
    moved = Y.iloc[ORDER], PLAIN.iloc[ORDER]
    options = {**SETTINGS, "n_resamples": 9}
    assert decompose_groups(Y, PLAIN, groups=noted(groups), **options).groups["odd"].risk == pytest.approx(0.06, rel=1e-12)
    with pytest.raises(ValueError, match="another order|" + SHUFFLED):
        decompose_groups(*moved, groups=noted(groups), **options)
    with pytest.raises(ValueError, match="groups " + SHUFFLED):
        decompose(*moved, groups=noted(pd.Series(np.arange(N) // 3)), **SETTINGS)


def test_rows_of_other_numbers_are_refused_beside_a_range_that_is_no_default_one() -> None:
    for index in (pd.RangeIndex(6, N + 6), IDS):
        refused("y_true " + OTHERS, Y.set_axis(index), noted(PLAIN, 5))
    refused("y_true " + OTHERS, noted(Y, 6), noted(PLAIN, 5))


def test_a_range_says_nothing_else() -> None:
    check(LABELS, noted(PLAIN, 5))
    check(Y, noted(PLAIN, 5))
    check(noted(Y), noted(PLAIN, 5))
    check(Y.set_axis(IDS), noted(PLAIN))
    check(Y.set_axis(pd.RangeIndex(7, N + 7)), noted(PLAIN))
    check(noted(Y, 5), noted(PLAIN, 5), WEIGHTED, sample_weight=noted(W, 5))
    # Both moved by pyarrow.
    check(noted(Y, 5).take(ORDER), noted(PLAIN, 5).take(ORDER))
    # Of rows that are no longer there.
    check(Y[1:].set_axis(IDS[1:]), noted(PLAIN, 5).slice(1), 0.06)
    check(LABELS, noted(pd.DataFrame(PROBA, columns=list("abc"))).replace_schema_metadata(None), RIGHT)
