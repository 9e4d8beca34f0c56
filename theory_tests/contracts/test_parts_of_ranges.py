"""Parts of a range index: the tail of one says which rows it has, and the head of one looks like a default index.

Rows and right values are those of `test_rows.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from theory_tests.contracts.test_rows import LABELS, PLAIN, WEIGHT, WEIGHTED, N, check, refused

pytestmark = pytest.mark.filterwarnings("ignore:(only [0-9]+|no) rows? had an outcome")

Y, W = pd.Series(LABELS), pd.Series(WEIGHT)
OTHERS = "= rows of the index .*: expected the rows of .*each of them once"


def numbered(values: Any, start: int, name: str | None = None, step: int = 1) -> Any:
    return values.set_axis(pd.RangeIndex(start, start + step * N, step, name=name))


@pytest.mark.parametrize("start", [1, N, 7 * N])
def test_a_tail_beside_a_default_index_stands_as_it_does(start: int) -> None:
    """What a model returns for the last rows of a table has an index of its own, which says nothing."""
    for y, p in ((numbered(Y, start), PLAIN), (Y, numbered(PLAIN, start)), (numbered(Y, start, "id"), PLAIN), (Y, numbered(PLAIN, start, "id"))):
        check(y, p)
        check(y, p, WEIGHTED, sample_weight=W)
    check(numbered(Y, start), numbered(PLAIN, start), WEIGHTED, sample_weight=W)
    check(numbered(Y, start, "id"), numbered(PLAIN, 0, "row"))


@pytest.mark.parametrize("start", [1, N // 2, N, 7 * N])
def test_two_parts_of_one_range_are_other_rows(start: int) -> None:
    """The head of an index that has a name keeps it, as a default index has none."""
    tail, head = numbered(Y, start, "id"), numbered(PLAIN, 0, "id")
    refused("^y_true " + OTHERS, tail, head)
    refused("^y_true " + OTHERS, numbered(Y, 0, "id"), numbered(PLAIN, start, "id"))
    refused("^y_true " + OTHERS, numbered(Y, start), numbered(PLAIN, start + 1))
    refused("^y_true " + OTHERS, numbered(Y, 0, "id", 2), head)
    refused("^sample_weight " + OTHERS, tail, numbered(PLAIN, start, "id"), sample_weight=numbered(W, 0, "id"))
    refused("^y_true " + OTHERS, pd.Series(LABELS, pd.Index([f"r{i}" for i in range(N)], name="id")), head)
    # What is advised.
    check(tail.reset_index(drop=True), head.reset_index(drop=True))
    check(numbered(Y, 0, "id"), head)
    check(pd.Series(LABELS, pd.Index([str(i) for i in range(N)], name="id")), head)


def test_a_range_that_pyarrow_notes_has_a_name_too() -> None:
    pa = pytest.importorskip("pyarrow")
    tail, head = (pa.Table.from_pandas(numbered(PLAIN, start, "id")) for start in (N, 0))
    assert head.schema.pandas_metadata["index_columns"][0]["name"] == "id"
    refused("^y_true " + OTHERS, numbered(Y, N, "id"), head)
    refused("^y_true " + OTHERS, numbered(Y, 0, "id"), tail)
    for y, p in ((numbered(Y, 0, "id"), head), (numbered(Y, N, "id"), tail), (Y, tail), (numbered(Y, N), head)):
        check(y, p)


def test_parts_in_another_order_are_refused_as_before() -> None:
    order = np.random.default_rng(0).permutation(N)
    for name in (None, "id"):
        refused(r"^y_true = rows of the index .*\.sort_index\(\)", numbered(Y, 0, name).iloc[order], numbered(PLAIN, 0, name))


def test_two_parquet_files_of_a_head_and_a_tail(tmp_path: Any) -> None:
    pytest.importorskip("pyarrow")
    from propercal.cli.command import main

    files = []
    for name, start in (("a", 0), ("b", N), ("c", N)):
        table = numbered(PLAIN.assign(label=LABELS), start, "id" if name != "c" else None)
        table.to_parquet(tmp_path / f"{name}.parquet")
        files.append(str(tmp_path / f"{name}.parquet"))
    assert main(["compare", *files[:2], "--term", "risk"]) == 1
    assert main(["compare", files[0], files[2], "--term", "risk"]) == 0
