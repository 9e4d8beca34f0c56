"""Lazy tables of polars: computed together, so that tables of one query share their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from propercal import CalibrationSketch, decompose, paired_difference
from theory_tests.contracts.test_rows import LABELS, PLAIN, SETTINGS, check, refused


def test_lazy_tables_of_one_query_share_their_rows() -> None:
    polars = pytest.importorskip("polars")
    narwhals = pytest.importorskip("narwhals")
    n = 2000
    codes, values = np.arange(n) % 3, np.random.default_rng(0).dirichlet(np.ones(3), n)
    table = polars.DataFrame({"id": np.arange(n), "y": np.array(list("abc"))[codes], "w": np.arange(n) + 1.0, **dict(zip("abc", values.T, strict=True))})
    options: dict[str, Any] = {"notion": "top-label", **SETTINGS}
    right = decompose(codes, values, sample_weight=np.arange(n) + 1.0, **options).risk
    # Whose rows have no order: each time it is computed it gives them in another.
    for query in (table.lazy().unique(subset="id"), table.lazy().group_by("id").agg(polars.all().first())):
        y, w, p = query.select("y"), query.select("w"), query.select("c", "a", "b")
        assert decompose(y, p, sample_weight=w, **options).risk == pytest.approx(right, rel=1e-9)
        assert decompose(*map(narwhals.from_native, (y, p)), sample_weight=w, **options).risk == pytest.approx(right, rel=1e-9)
        found = paired_difference(y, p, query.select("a", "b", "c"), notion="top-label", generator="brier", bandwidth=0.1)
        assert found.difference == pytest.approx(0, abs=1e-12)
        sketch = CalibrationSketch(3, notion="top-label", generator="brier", bandwidth=0.1)
        sketch.update(y, p)
        assert sketch.result(method="risk").risk == pytest.approx(decompose(codes, values, **options).risk, rel=1e-9)


def test_lazy_tables_that_cannot_be_computed_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    monkeypatch.setattr(polars.LazyFrame, "__module__", "duckdb")
    lazy = polars.from_pandas(PLAIN.assign(y=LABELS)).lazy()
    refused(r"^data = 2 lazy tables \(duckdb\): expected one lazy table at most", lazy.select("y"), lazy.select("a", "b", "c"))
    check(LABELS, lazy.select("a", "b", "c"))
