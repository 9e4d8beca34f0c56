"""Lazy tables of one source, of which one alone puts its rows in another order, or leaves some out.

Right values: those of the same rows in memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import propercal

pl = pytest.importorskip("polars")

N = 400
RNG = np.random.default_rng(0)
P = RNG.uniform(size=N)
Y = (RNG.uniform(size=N) < P).astype(int)
FRAME = pl.DataFrame({"id": RNG.permutation(N), "p": P, "y": Y, "s": RNG.normal(size=N), "fold": np.arange(N) % 2})
RISK: dict[str, Any] = {"method": "risk", "bandwidth": 0.1, "notion": "canonical"}


@pytest.fixture(params=["memory", "parquet", "csv"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        return FRAME.lazy()
    if request.param == "parquet":
        FRAME.write_parquet(tmp_path / "a.parquet")
        return pl.scan_parquet(tmp_path / "a.parquet")
    FRAME.write_csv(tmp_path / "a.csv")
    return pl.scan_csv(tmp_path / "a.csv")


def risk(y: Any, p: Any, **options: Any) -> float:
    return float(propercal.decompose(y, p, **RISK, **options).risk)


def log_loss(rows: Any = slice(None)) -> float:
    return float(-np.log(np.where(Y == 1, P, 1 - P))[rows].mean())


col = pl.col
APART: dict[str, tuple[Any, Any, str]] = {
    "sorted": (lambda q: q, lambda q: q.sort("s"), r'SORT BY \[col\("s"\)\]'),
    "otherwise": (lambda q: q.sort("s"), lambda q: q.sort("id"), r'SORT BY \[col\("s"\)\]'),
    "descending": (lambda q: q.sort("s"), lambda q: q.sort("s", descending=True), "SORT BY"),
    "reversed": (lambda q: q.reverse(), lambda q: q, r"\.reverse\(\)"),
    "of a column": (lambda q: q.select(col("y").sort_by("s", maintain_order=True), col("p", "id").sort_by("s", maintain_order=True)), lambda q: q, r'\.sort_by\(by=\[col\("s"\)\]'),
    "a column sorted": (lambda q: q.with_columns(col("y", "p").sort()), lambda q: q, r"\.sort\(asc\)"),
    "ends": (lambda q: q.head(N // 2), lambda q: q.tail(N // 2), r"SLICE\[offset: 0, len: 200\]"),
    "slices": (lambda q: q.slice(10, 100), lambda q: q.slice(20, 100), r"SLICE\[offset: 10, len: 100\]"),
    "folds": (lambda q: q.filter(col("fold") == 0), lambda q: q.filter(col("fold") == 1), r'col\("fold"\)'),
    "sorted after a slice": (lambda q: q.slice(5, 50).sort("s"), lambda q: q.slice(5, 50), r'SORT BY \[col\("s"\)\]'),
}


@pytest.mark.parametrize("kind", APART)
def test_rows_of_one_source_that_are_moved_on_one_side_are_refused(kind: str, source: Any) -> None:
    one, other, step = APART[kind]
    message = (
        rf"^data = lazy tables of one source, of which one alone has the step .*{step}.*: expected rows that all have in one order; "
        r"take all columns from one query after this step, or call \.collect\(\) once on it\.$"
    )
    for first, second in ((one, other), (other, one)):
        if kind in {"otherwise", "descending", "ends", "slices", "folds"} and first is other:
            message = "^data = lazy tables of one source"
        with pytest.raises(ValueError, match=message):
            risk(first(source).select("y"), second(source).select("p"))
    with pytest.raises(ValueError, match=r"^data = lazy tables of one source"):
        risk(one(source).select("y"), one(source).select("p"), sample_weight=other(source).select("id"))


SAME: dict[str, tuple[Any, Any]] = {
    "as it is": (lambda q: q, slice(None)),
    "sorted": (lambda q: q.sort("s"), slice(None)),
    "reversed": (lambda q: q.reverse(), slice(None)),
    "sliced": (lambda q: q.slice(10, 100), slice(10, 110)),
    "a fold": (lambda q: q.filter(col("fold") == 1).sort("id"), slice(1, None, 2)),
    "several conditions": (lambda q: q.filter(col("fold") == 1).filter(col("y") >= 0, col("p") < 2), slice(1, None, 2)),
}


@pytest.mark.parametrize("kind", SAME)
def test_steps_of_both_are_read(kind: str, source: Any) -> None:
    step, rows = SAME[kind]
    query = step(source)
    assert risk(query.select("y"), query.select("p")) == pytest.approx(log_loss(rows), rel=1e-12)
    # Written out for each.
    assert risk(step(source).select("y"), step(source).select("p")) == pytest.approx(log_loss(rows), rel=1e-12)
    # Columns that are made of others.
    of_p = query.with_columns(q=1 - (1 - col("p"))).select(p="q")
    assert risk(query.select(y=1 * col("y")), of_p) == pytest.approx(log_loss(rows), rel=1e-12)


def test_what_leaves_rows_where_they_are_is_read(source: Any) -> None:
    right = pytest.approx(log_loss(), rel=1e-12)
    for y, p in (
        # Missing values are left out by the column that has them.
        (source.filter(col("y").is_not_null()).select("y"), source.filter(col("p").is_not_null()).select("p")),
        (source.select(col("y").drop_nulls()), source.filter(col("p").is_not_null(), col("p").is_not_nan()).select("p")),
        (source.select("y"), source.with_columns(last=col("s").sort_by("id").last().over("fold")).select("p")),
        (source.select("y"), source.with_columns(sort="s", reverse=pl.lit(".reverse()")).select("p")),
        (source.select("y"), source.with_columns(words=pl.lit("c b a").str.split(" ").list.sort()).select("p")),
    ):
        assert risk(y, p) == right


def test_two_sources_may_be_sorted_each_by_itself() -> None:
    """One may be in order as it is written."""
    by_id = FRAME.sort("id")
    assert risk(by_id.select("y").lazy(), FRAME.lazy().sort("id").select("p")) == pytest.approx(log_loss(), rel=1e-12)


def test_what_is_advised_works(source: Any) -> None:
    query = source.sort("s")
    right = pytest.approx(log_loss(), rel=1e-12)
    assert risk(query.select("y"), query.select("p")) == right
    table = query.collect()
    assert risk(table.select("y"), table.select("p")) == right
