"""Lazy tables of polars: computed together, so that tables of one query share their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import propercal
from propercal import CalibrationSketch, decompose, paired_difference
from propercal.simulation import TemperatureScaledSimplex
from theory_tests.contracts.test_rows import LABELS, PLAIN, SETTINGS, refused


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
    # Beside rows in memory nothing says which order its rows come in.
    refused(r"^data = a lazy table of duckdb, whose order no plan tells, beside others: expected rows that all have in one order; call", LABELS, lazy.select("a", "b", "c"))


N = 2000
NUMBERS = np.arange(N) % 3
VALUES = np.random.default_rng(0).dirichlet(np.ones(3), N)
OPTIONS: dict[str, Any] = {"notion": "top-label", **SETTINGS}
REFUSED = r"^data = a lazy table whose rows are in any order, or drawn \({}\), beside others: expected rows that all have in one order; call \.collect\(\) once"


def query_of(polars: Any) -> Any:
    return polars.DataFrame({"id": np.arange(N), "half": np.arange(N) // 2, "y": np.array(list("abc"))[NUMBERS], **dict(zip("abc", VALUES.T, strict=True))}).lazy()


def halves(query: Any) -> tuple[Any, Any]:
    return query.select("y"), query.select("c", "a", "b")


def test_queries_that_share_a_part_in_any_order_are_right() -> None:
    polars = pytest.importorskip("polars")
    right = decompose(NUMBERS, VALUES, **OPTIONS).risk
    table = query_of(polars)
    first = table.group_by("id").agg(polars.all().first())
    for query in (
        table, table.filter(polars.col("a") >= 0), table.select("id", "y").join(table.drop("y"), on="id"), table.sort("half"), first.sort("half"),
        first.filter(polars.col("a") >= 0).with_columns(polars.col("a") * 1.0), polars.concat([table.head(900), table.tail(N - 900)]),
        table.filter(polars.int_range(polars.len()).shuffle() < N).cache(), table.rename({"id": "a.shuffle() JOIN"}).with_columns(x=polars.lit("JOIN")),
    ):
        assert decompose(*halves(query), **OPTIONS).risk == pytest.approx(right, rel=1e-9)
    # Beside rows in memory a query without steps that lose the order has its own.
    assert decompose(table.filter(polars.col("a") >= 0).select("y"), VALUES, **OPTIONS).risk == pytest.approx(right, rel=1e-9)


def test_a_query_may_be_passed_twice() -> None:
    polars = pytest.importorskip("polars")
    query = query_of(polars).unique("id")
    (y, p), half = halves(query), query.select("half")
    found = paired_difference(y, p, p, groups=half, sample_weight=half, notion="top-label", generator="brier", kernel=None)
    right = decompose(NUMBERS, VALUES, notion="top-label", generator="brier", kernel=None, sample_weight=np.arange(N) // 2)
    assert found.difference == pytest.approx(0, abs=1e-12)
    assert found.a.risk == pytest.approx(right.risk, rel=1e-9)
    assert decompose(y, p, groups=half, notion="top-label", generator="brier", kernel=None).n_groups == N // 2


def test_queries_that_do_not_share_their_rows_are_refused() -> None:
    polars = pytest.importorskip("polars")
    table = query_of(polars)
    frame, first = table.collect(), table.group_by("id").agg(polars.all().first())
    drawn = table.filter(polars.int_range(polars.len()).shuffle() < N // 2)
    shuffled = table.select(polars.struct(polars.all()).shuffle()).unnest("id")
    part = table.select(polars.struct(polars.all()).sample(fraction=0.5)).unnest("id")
    longer = first.drop("half").join(table.select("id", "half"), on="id")
    twice = [frame.lazy().unique("id") for _ in range(2)]
    for y_true, y_proba, found in (
        (*halves(drawn), "shuffle"), (*halves(shuffled), "shuffle"), (*halves(part), "sample"), (halves(twice[0])[0], halves(twice[1])[1], "UNIQUE.*"),
        (halves(longer)[0], halves(first)[1], "JOIN"), (halves(first)[0], halves(longer)[1], "JOIN"),
        (halves(first)[0], halves(frame)[1], "AGGREGATE"), (halves(frame)[0], halves(first)[1], "AGGREGATE"), (halves(first)[0], VALUES, "AGGREGATE"),
        (halves(table)[0], halves(first)[1], "AGGREGATE"),
    ):
        with pytest.raises(ValueError, match=REFUSED.format(found)):
            decompose(y_true, y_proba, **OPTIONS)
    for beside in ({"groups": np.arange(N) // 2}, {"groups": table.select("half")}):
        with pytest.raises(ValueError, match=REFUSED.format("AGGREGATE")):
            decompose(*halves(first), notion="top-label", generator="brier", kernel=None, **beside)
    for call in (
        lambda: paired_difference(*halves(first), VALUES, notion="top-label", generator="brier", bandwidth=0.1),
        lambda: CalibrationSketch(3).update(halves(first)[0], halves(frame)[1]),
    ):
        with pytest.raises(ValueError, match=REFUSED.format("AGGREGATE")):
            call()


def test_queries_that_draw_by_other_means_are_refused() -> None:
    polars = pytest.importorskip("polars")
    plugins = pytest.importorskip("polars.io.plugins")
    table = query_of(polars)
    frame, half = table.collect(), polars.col("half")
    source = plugins.register_io_source(lambda columns, *_: iter([frame.select(columns or polars.all())]), schema=frame.schema)
    for query, found in (
        (table.with_columns(r=half.rank("random")).sort("r"), "rank"), (table.filter(half.rank("random") < N // 2), "rank"), (source, "PYTHON SCAN"),
    ):
        with pytest.raises(ValueError, match=REFUSED.format(found)):
            decompose(*halves(query), **OPTIONS)
    ties = table.with_columns(t=half % 3)
    for query, found in (
        (ties.sort("t").limit(N // 2), "SORT BY"), (ties.sort("t", "y").slice(9, N // 2), "SORT BY"), (ties.top_k(N // 2, by="t"), "SORT BY"),
        (table.map_batches(lambda rows: rows.sample(fraction=1, shuffle=True)), "OPAQUE_PYTHON"),
    ):
        y, p = halves(query)
        rows = p.collect()
        with pytest.raises(ValueError, match=REFUSED.format(found)):
            decompose(y, rows, **OPTIONS)
        # Of one call they are of the same rows, which a sum of losses over ids tells.
        ids, values = query.select("id"), query.select("a", "b", "c")
        found_ids, found_values = polars.collect_all([ids, values])
        np.testing.assert_array_equal(found_values.to_numpy(), VALUES[found_ids["id"].to_numpy()])


def test_whole_sorts_stand_beside_rows_in_memory() -> None:
    polars = pytest.importorskip("polars")
    query = query_of(polars).with_columns(t=polars.col("half") % 3).sort("t")
    y, p = halves(query)
    right = decompose(NUMBERS, VALUES, **OPTIONS).risk
    assert decompose(y, p.collect(), **OPTIONS).risk == pytest.approx(right, rel=1e-9)
    # Cut off in an order that ties keep, too.
    query = query_of(polars).sort("half", maintain_order=True).limit(900)
    right = decompose(NUMBERS[:900], VALUES[:900], **OPTIONS).risk
    assert decompose(query.select("y"), query.select("a", "b", "c").collect(), **OPTIONS).risk == pytest.approx(right, rel=1e-9)


def test_subgroups_are_computed_with_the_data_they_stand_beside() -> None:
    from propercal.testing import assert_calibrated

    polars = pytest.importorskip("polars")

    y_true, _, p_true = TemperatureScaledSimplex(2).sample(60, random_state=0)
    kinds = polars.DataFrame({"id": np.arange(60), "kind": np.where(np.arange(60) < 30, "f", "m")}).lazy()
    drawn = kinds.select(polars.col("kind").shuffle(seed=0))
    for subgroups in (drawn, {"kind": drawn}):
        with pytest.raises(ValueError, match=REFUSED.format("shuffle")):
            assert_calibrated(y_true, p_true, subgroups=subgroups, n_resamples=99)
    assert_calibrated(y_true, p_true, subgroups=kinds.select("kind"), n_resamples=99)


@pytest.mark.filterwarnings("ignore:X has columns of the classes")
def test_answers_that_depend_on_an_order_that_nobody_knows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from propercal.recalibration import TemperatureScaling
    from propercal.subgroups import quantile_groups

    polars = pytest.importorskip("polars")
    table = query_of(polars)
    y, p = halves(table.unique("id"))
    fitted = TemperatureScaling().fit(p, y)
    each, series = r"\(UNIQUE\): expected rows in an order that is known, since the answer has a value for each of them", r"\(UNIQUE\): expected (rows in )?the order of"
    for call, expected in (
        (lambda: propercal.conditional_mean(y, p, bandwidth=0.1), each),
        (lambda: fitted.predict_proba(p), each),
        (lambda: fitted.predict(p), each),
        (lambda: quantile_groups(p.select("a")), each),
        (lambda: decompose(y, p, blocks=7), series),
        (lambda: propercal.calibration_test(y, p, blocks=7), series),
        (lambda: paired_difference(y, p, p, blocks=7), series),
        (lambda: propercal.reliability(y, p, blocks=7), series),
        (lambda: propercal.murphy(y, {"a": p, "b": p}, blocks=7), series),
        (lambda: propercal.decompose_groups(y, p, groups=y, blocks=7), series),
        (lambda: propercal.crps_decomposition(p.select("a"), ensemble=p, blocks=7), series),
        (lambda: propercal.crps_difference(p.select("a"), p, p.select("b", "c"), blocks=7), series),
        (lambda: propercal.CalibrationMonitor(3).update(y, p), series),
    ):
        with pytest.raises(ValueError, match=expected):
            call()
    found = decompose(y, p, **OPTIONS)
    with pytest.raises(ValueError, match=r"^contributions = of a lazy table whose rows are in any order, or drawn: expected rows in an order that is known"):
        found.contributions()
    # Where rows have an order, they are right.
    y, p = halves(table)
    in_memory = propercal.conditional_mean(NUMBERS, VALUES, bandwidth=0.1)[:, [2, 0, 1]]
    np.testing.assert_allclose(propercal.conditional_mean(y, p, bandwidth=0.1), in_memory, rtol=1e-12)
    np.testing.assert_allclose(fitted.predict_proba(p), fitted.predict_proba(p.collect()), rtol=1e-12)
    assert decompose(y, p, **OPTIONS).contributions()["risk"].values == pytest.approx(decompose(NUMBERS, VALUES, **OPTIONS).contributions()["risk"].values, rel=1e-12)
    monkeypatch.setattr(polars.LazyFrame, "__module__", "duckdb")
    with pytest.raises(ValueError, match=r"^X = a lazy table whose rows are in any order, or drawn \(a query of duckdb\): expected"):
        fitted.predict_proba(p)


@pytest.mark.slow
def test_a_report_of_rows_in_any_order_names_none_of_them() -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    polars = pytest.importorskip("polars")
    query = query_of(polars).head(60)
    settings: dict[str, Any] = {"generator": "brier", "method": "risk"}
    named, unnamed = (propercal.report(*halves(each), **settings).html for each in (query, query.unique("id")))
    of_rows = "Rows of the largest loss"
    assert (of_rows in named, of_rows in unnamed) == (True, False)
    # What is drawn is drawn once: the table of classes and the terms are of the same rows.
    drawn = query.filter(polars.int_range(polars.len()).shuffle() < 50).cache()
    propercal.report(*halves(drawn), **settings)


def test_lazy_tables_in_any_order_beside_partitions_are_refused() -> None:
    arrays = pytest.importorskip("dask.array")
    polars = pytest.importorskip("polars")
    y, _ = halves(query_of(polars).unique("id"))
    with pytest.raises(ValueError, match=REFUSED.format("UNIQUE")):
        decompose(y, arrays.from_array(VALUES, chunks=(900, 3)), notion="top-label", generator="brier")
    ordered, _ = halves(query_of(polars))
    found = decompose(ordered, arrays.from_array(VALUES, chunks=(900, 3)), notion="top-label", generator="brier")
    assert found.risk == pytest.approx(decompose(NUMBERS, VALUES, notion="top-label", generator="brier", kernel=None).risk, rel=1e-9)


def test_lazy_tables_of_probabilities_beside_others_have_an_order() -> None:
    from propercal.information import f_divergence

    polars = pytest.importorskip("polars")
    p, q = np.array([0.5, 0.2, 0.3]), np.array([0.2, 0.3, 0.5])
    table = polars.DataFrame({"id": [0, 1, 2], "q": q}).lazy()

    def divergence(reference: Any) -> Any:
        return f_divergence(lambda ratio: (ratio[:, 0] - 1) ** 2, p[None], reference)

    with pytest.raises(ValueError, match=REFUSED.format("UNIQUE")):
        divergence(table.unique("id").select("q"))
    # χ², Σ (p − q)² / q.
    assert divergence(table.select("q")) == pytest.approx(0.09 / 0.2 + 0.01 / 0.3 + 0.04 / 0.5)


def test_rows_in_any_order_have_no_numbers() -> None:
    """Of three rows the loss is infinite. Which these are, no number says: computed again they stand elsewhere."""
    polars = pytest.importorskip("polars")
    zero = np.isin(np.arange(N), [5, 17, 900])
    values = np.where(zero[:, None], (np.eye(3)[(NUMBERS + 1) % 3] + np.eye(3)[(NUMBERS + 2) % 3]) / 2, VALUES)
    table = polars.DataFrame({"id": np.arange(N), "y": np.array(list("abc"))[NUMBERS], **dict(zip("abc", values.T, strict=True))}).lazy()
    options: dict[str, Any] = {"generator": "log", "notion": "canonical", "kernel": None}
    with pytest.warns(UserWarning, match="the loss is infinite at rows 5, 17, 900"):
        known = decompose(*halves(table), **options)
    assert known.infinite_loss_rows == (5, 17, 900)
    y, p = halves(table.unique("id"))
    with pytest.warns(UserWarning, match="the loss is infinite at 3 rows of a lazy table in any order: an outcome"):
        found = decompose(y, p, **options)
    assert found.infinite_loss_rows == (None,) * 3
    assert found.to_dict()["n_infinite_loss_rows"] == 3
    assert "infinite loss at 3 rows of a lazy table in any order" in str(found)
    for again in (propercal.Decomposition.from_json(found.to_json()), propercal.Decomposition.from_xarray(found.to_xarray())):
        assert again.infinite_loss_rows == found.infinite_loss_rows
        assert again.risk == np.inf
    with pytest.warns(UserWarning, match="at 3 rows of a lazy table in any order"):
        compared = paired_difference(y, p, p, term="risk", **options)
    assert compared.a.infinite_loss_rows == (None,) * 3
    with pytest.warns(UserWarning, match="probability 0, at 3 rows of a lazy table in any order"):
        propercal.calibration_test(y, p, n_resamples=9)


@pytest.mark.parametrize("fault", ["label", "probability", "group"])
def test_errors_name_no_row_of_tables_in_any_order(fault: str) -> None:
    polars = pytest.importorskip("polars")
    frame = query_of(polars).collect()
    odd = {"label": polars.lit(None).alias("y"), "probability": polars.lit(1.5).alias("a"), "group": polars.lit(None).alias("half")}[fault]
    kept = polars.when(polars.col("id") == 7).then(odd).otherwise(polars.col(odd.meta.output_name())).alias(odd.meta.output_name())
    query = frame.lazy().with_columns(kept)
    def options(table: Any) -> dict[str, Any]:
        own = {"notion": "top-label", "generator": "brier", "kernel": None}
        return {**own, **({"groups": table.select("half")} if fault == "group" else {})}

    with pytest.raises(ValueError, match="at row 7"):
        decompose(*halves(query), **options(query))
    moved = query.unique("id")
    with pytest.raises(ValueError, match="at 1 row of a lazy table in any order"):
        decompose(*halves(moved), **options(moved))
    with pytest.raises(ValueError, match="at 1 row of a lazy table in any order"):
        paired_difference(*halves(moved), moved.select("a", "b", "c"), **options(moved))
