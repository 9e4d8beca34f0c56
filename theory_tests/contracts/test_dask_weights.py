"""Weights of rows beside Dask collections: those of memory, partition by partition."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import propercal

dask: Any = pytest.importorskip("dask", reason="needs Dask")
da: Any = pytest.importorskip("dask.array", reason="needs Dask")

from theory_tests.contracts import lazy_data  # noqa: E402  # it needs Dask
from theory_tests.contracts.lazy_data import (  # noqa: E402
    K,
    check_same,
    no_loading,  # noqa: F401
    one_thread,  # noqa: F401
    unknown,
)
from theory_tests.instances import CLASS_NAMES  # noqa: E402

NOTIONS = ["classwise", "top-label"]
# Debiased estimates of few rows take little time.
N, CHUNKS = 500, 120
Y_TRUE, Y_PROBA = lazy_data.Y_TRUE[:N], lazy_data.Y_PROBA[:N]
# A fifth of the rows do not count.
WEIGHT = np.random.default_rng(5).integers(0, 5, N).astype(float)


def lazy(*arrays: Any, chunks: Any = CHUNKS) -> list[Any]:
    return lazy_data.lazy(*arrays, chunks=chunks)


@cache
def by_sketches(notion: str, chunks: int = CHUNKS) -> Any:
    """What sketches of the partitions find together, in memory."""
    sketches = []
    for a in range(0, N, chunks):
        rows = slice(a, a + chunks)
        sketch = propercal.CalibrationSketch(K, notion=notion)
        sketch.update(Y_TRUE[rows], Y_PROBA[rows], sample_weight=WEIGHT[rows])
        sketches.append(propercal.CalibrationSketch.from_bytes(sketch.to_bytes()))
    for sketch in sketches[1:]:
        sketches[0].merge(sketch)
    return sketches[0].result()


@pytest.mark.slow
@pytest.mark.usefixtures("no_loading")
@pytest.mark.parametrize("notion", NOTIONS)
def test_weights_are_those_of_memory(notion: str) -> None:
    wanted = propercal.decompose(Y_TRUE, Y_PROBA, sample_weight=WEIGHT, notion=notion)
    assert wanted.n_samples == np.count_nonzero(WEIGHT)
    y_true, y_proba, weight = lazy(Y_TRUE, Y_PROBA, WEIGHT, chunks=N)
    found = propercal.decompose(y_true, y_proba, sample_weight=weight, notion=notion)
    check_same(found, by_sketches(notion, N), rel=1e-12)
    for term in ("risk", "calibration_error", "refinement"):
        assert getattr(found, term) == pytest.approx(getattr(wanted, term), rel=1e-9)
    assert found.interval("risk") == pytest.approx(wanted.interval("risk"))
    # Partitions deal their rows to folds by themselves.
    y_true, y_proba, weight = lazy(Y_TRUE, Y_PROBA, WEIGHT)
    found = propercal.decompose(y_true, y_proba, sample_weight=weight, notion=notion)
    check_same(found, by_sketches(notion), rel=1e-12)
    assert found.risk == pytest.approx(wanted.risk, rel=1e-12)


def test_partitions_are_memory_but_for_the_folds() -> None:
    weight = np.random.default_rng(6).exponential(size=lazy_data.N)
    data = lazy_data.Y_TRUE, lazy_data.Y_PROBA
    wanted = propercal.decompose(*data, sample_weight=weight, notion="classwise")
    y_true, y_proba, lazy_weight = lazy(*data, weight, chunks=700)
    found = propercal.decompose(y_true, y_proba, sample_weight=lazy_weight, notion="classwise")
    assert abs(found.calibration_error - wanted.calibration_error) < 0.3 * wanted.standard_errors["calibration_error"]


@pytest.mark.slow
@pytest.mark.usefixtures("no_loading")
def test_single_terms_and_several_generators_take_weights() -> None:
    y_true, y_proba, weight = lazy(Y_TRUE, Y_PROBA, WEIGHT)
    options: dict[str, Any] = {"notion": "classwise", "sample_weight": weight}
    whole, brier = propercal.decompose(y_true, y_proba, generator=["log", "brier"], **options)
    for term in ("calibration_error", "refinement", "sharpness"):
        assert getattr(propercal, term)(y_true, y_proba, **options) == getattr(whole, term)
    wanted = propercal.decompose(Y_TRUE, Y_PROBA, generator="brier", notion="classwise", sample_weight=WEIGHT)
    assert brier.risk == pytest.approx(wanted.risk, rel=1e-12)


@pytest.mark.slow
def test_equal_weights_change_nothing() -> None:
    y_true, y_proba = lazy(Y_TRUE, Y_PROBA)
    plain = propercal.decompose(y_true, y_proba, notion="classwise")
    for weight in (np.ones(N), da.full(N, 2.5, chunks=CHUNKS), np.full(N, 3)):
        check_same(propercal.decompose(y_true, y_proba, notion="classwise", sample_weight=weight), plain)


def test_a_weight_is_so_many_rows() -> None:
    rows = np.repeat(np.arange(N), WEIGHT.astype(int))
    wanted = propercal.decompose(*lazy(Y_TRUE[rows], Y_PROBA[rows]), notion="classwise")
    y_true, y_proba, weight = lazy(Y_TRUE, Y_PROBA, WEIGHT)
    found = propercal.decompose(y_true, y_proba, sample_weight=weight, notion="classwise")
    assert found.risk == pytest.approx(wanted.risk, rel=1e-12)


def array_of(values: Any, chunks: Any) -> Any:
    return da.from_array(values, chunks=chunks)


@pytest.mark.parametrize(
    ("y_true", "y_proba", "weight"),
    [
        (*lazy(Y_TRUE, Y_PROBA), WEIGHT),
        (*lazy(Y_TRUE, Y_PROBA), WEIGHT.tolist()),
        (*lazy(Y_TRUE, Y_PROBA), array_of(WEIGHT, 190)),
        (*lazy(Y_TRUE, Y_PROBA), array_of(WEIGHT.astype(np.int8), 120)),
        (Y_TRUE, *lazy(Y_PROBA, WEIGHT)),
        (array_of(Y_TRUE, 190), *lazy(Y_PROBA), array_of(WEIGHT, 170)),
        (array_of(Y_TRUE, 120), Y_PROBA, array_of(WEIGHT, 120)),
        tuple(unknown(each) for each in lazy(Y_TRUE, Y_PROBA, WEIGHT)),
        (*lazy(Y_TRUE), *(unknown(each) for each in lazy(Y_PROBA, WEIGHT))),
        (*lazy(Y_TRUE, Y_PROBA), unknown(*lazy(WEIGHT))),
    ],
)  # fmt: skip
def test_weights_have_the_partitions_of_predictions(y_true: Any, y_proba: Any, weight: Any) -> None:
    found = propercal.decompose(y_true, y_proba, sample_weight=weight, notion="classwise")
    check_same(found, by_sketches("classwise"), rel=1e-12)


def test_weights_with_coordinates_in_memory() -> None:
    xr = pytest.importorskip("xarray", reason="needs xarray")
    weight = xr.DataArray(WEIGHT, dims="row")
    found = propercal.decompose(*lazy(Y_TRUE, Y_PROBA), sample_weight=weight, notion="classwise")
    check_same(found, by_sketches("classwise"), rel=1e-12)


@pytest.mark.slow
def test_data_frames() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    dd = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
    frame = pd.DataFrame(Y_PROBA, columns=CLASS_NAMES).assign(y=CLASS_NAMES[Y_TRUE], w=WEIGHT)
    reads = []

    def counted(part: Any) -> Any:
        reads.append(len(part))
        return part

    parts = dd.from_pandas(frame, npartitions=5)
    sizes = tuple(parts.map_partitions(len).compute())
    assert sizes == (100,) * 5
    wanted = by_sketches("classwise", 100)
    counting = parts.map_partitions(counted, meta=frame)
    proba = counting[list(CLASS_NAMES)]
    options: dict[str, Any] = {"notion": "classwise", "labels": list(CLASS_NAMES)}
    found = propercal.decompose(counting.y, proba, sample_weight=counting.w, **options)
    check_same(found, wanted, rel=1e-12)
    assert sum(reads) == N
    # Beside arrays, some or all.
    for weight in (array_of(WEIGHT, 100), unknown(array_of(WEIGHT, 100))):
        check_same(propercal.decompose(parts.y, parts[list(CLASS_NAMES)], sample_weight=weight, **options), wanted, rel=1e-12)
    y_true, y_proba = lazy(CLASS_NAMES[Y_TRUE], Y_PROBA, chunks=100)
    check_same(propercal.decompose(y_true, y_proba, sample_weight=parts.w, **options), wanted, rel=1e-12)
    check_same(propercal.decompose(y_true, parts[list(CLASS_NAMES)], sample_weight=parts.w, **options), wanted, rel=1e-12)
    with pytest.raises(ValueError, match=r"^sample_weight = a ndarray in memory beside a Dask .* of unknown sizes: .*pass y_proba\.compute\(\), in memory too"):
        propercal.decompose(parts.y, parts[list(CLASS_NAMES)], sample_weight=WEIGHT, **options)
    with pytest.raises(ValueError, match=r"^sample_weight = a Dask DataFrame of 2 dimensions: expected one weight for each row"):
        propercal.decompose(parts.y, parts[list(CLASS_NAMES)], sample_weight=parts[["w"]], **options)


def test_rows_of_a_partition_are_matched_by_their_index() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    dd = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
    rows = [f"row {i:03}" for i in range(N)]
    frame = pd.DataFrame(Y_PROBA, columns=CLASS_NAMES, index=rows).assign(y=CLASS_NAMES[Y_TRUE], w=WEIGHT)
    parts = dd.from_pandas(frame, npartitions=5, sort=False)
    turned = parts.w.map_partitions(lambda part: part.iloc[::-1], meta=frame.w)
    proba = parts[list(CLASS_NAMES)]
    found = propercal.decompose(parts.y, proba, sample_weight=turned, notion="classwise")
    check_same(found, by_sketches("classwise", 100), rel=1e-12)
    other = parts.w.map_partitions(lambda part: part.set_axis([f"other {i}" for i in range(len(part))]), meta=frame.w)
    with pytest.raises(ValueError, match=r"^sample_weight = rows of the index other 0.*in partition"):
        propercal.decompose(parts.y, proba, sample_weight=other, notion="classwise")


def test_partitions_of_weights_in_another_order_are_refused() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    dd = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
    frame = pd.DataFrame(Y_PROBA, columns=CLASS_NAMES).assign(y=Y_TRUE, w=WEIGHT)
    parts = dd.from_pandas(frame, npartitions=2)
    halves = [frame.w.iloc[250:], frame.w.iloc[:250]]
    turned = dd.from_map(lambda i: halves[i], [0, 1], meta=frame.w)
    with pytest.raises(ValueError, match=r"^sample_weight = "):
        propercal.decompose(parts.y, parts[list(CLASS_NAMES)], labels=[0, 1, 2], sample_weight=turned, notion="classwise")


@pytest.mark.slow
@pytest.mark.parametrize("notion", NOTIONS)
def test_rows_of_weight_0_may_hold_anything(notion: str) -> None:
    away = WEIGHT == 0
    y_proba = Y_PROBA.copy()
    y_proba[away] = np.nan
    numbers = np.where(away, np.nan, Y_TRUE)
    names = np.where(away, "eel", CLASS_NAMES[Y_TRUE]).astype(object)
    names[np.flatnonzero(away)[::2]] = None
    wanted = by_sketches(notion)
    for y_true in (Y_TRUE, numbers, names):
        labels, proba, weight = lazy(y_true, y_proba, WEIGHT)
        found = propercal.decompose(labels, proba, sample_weight=weight, notion=notion)
        check_same(found, wanted, rel=1e-12)
        check_same(propercal.decompose(labels, proba, sample_weight=WEIGHT, notion=notion), wanted, rel=1e-12)


def test_partitions_without_weight() -> None:
    weight = np.ones(N)
    weight[120:240] = 0
    y_true, y_proba, lazy_weight = lazy(Y_TRUE, Y_PROBA, weight)
    found = propercal.decompose(y_true, y_proba, sample_weight=lazy_weight, notion="classwise")
    kept = weight > 0
    chunks = (120, 120, 120, 20)
    check_same(found, propercal.decompose(*lazy(Y_TRUE[kept], Y_PROBA[kept], chunks=chunks), notion="classwise"))


@pytest.mark.filterwarnings("ignore:.* only the kernel sees")
def test_what_partitions_read_differently_is_weighted_in_memory() -> None:
    # By itself the first partition looks like one class in each row, and is read otherwise.
    one_hot = np.eye(K)[Y_TRUE]
    y_proba = np.full((N, K), 0.3)
    y_proba[:120] = [1 - 1e-7, 1e-9, 1e-9]
    one_hot[-1] = 1
    weight = WEIGHT + 1
    labels, proba, lazy_weight = lazy(one_hot, y_proba, weight, chunks=(120, 380))
    found = propercal.decompose(labels, proba, sample_weight=lazy_weight, notion="classwise")
    check_same(found, propercal.decompose(one_hot, y_proba, sample_weight=weight, notion="classwise"))


def bad(value: Any, dtype: Any = float) -> Any:
    weight = WEIGHT.astype(dtype)
    weight[243] = value
    return weight


ERRORS: list[tuple[Callable[[], Any], str]] = [
    (lambda: lazy(bad(-1.0))[0], r"sample_weight = -1\.0 at row 3: expected finite weights ≥ 0.* in partition 2"),
    (lambda: bad(-1.0), r"sample_weight = -1\.0 at row 3: expected finite weights ≥ 0.* in partition 2"),
    (lambda: lazy(bad(np.nan))[0], "sample_weight = nan at row 3: .* in partition 2"),
    (lambda: lazy(bad(np.inf))[0], "sample_weight = inf at row 3: .* in partition 2"),
    (lambda: lazy(bad(1e101))[0], r"sample_weight = 1e\+101: expected 0, or 1e-100 to 1e\+100.* in partition 2"),
    (lambda: lazy(WEIGHT.astype(str))[0], "sample_weight = an array of shape .* and type <U"),
    (lambda: lazy(WEIGHT[1:])[0], "sample_weight = 499 rows: expected 500, as y_proba has"),
    (lambda: WEIGHT[1:], "sample_weight = 499 rows: expected 500, as y_proba has"),
    (lambda: unknown(*lazy(WEIGHT, chunks=N)), "sample_weight = 1 partitions: expected 5, of the same rows as those of y_proba"),
    (lambda: unknown(*lazy(WEIGHT, chunks=150)[:1]), "sample_weight = 4 partitions"),
    (lambda: unknown(*lazy(WEIGHT, chunks=(119, 121, 120, 120, 20))), r"sample_weight = an array of shape \((119|121),\).*: expected numbers of shape \(120,\).* in partition"),
    (lambda: lazy(np.stack([WEIGHT, WEIGHT], axis=1))[0], "sample_weight = a Dask Array of 2 dimensions: expected one weight for each row"),
    (lambda: dask.delayed(WEIGHT), "sample_weight = a Dask Delayed.*: expected a Dask array"),
    (lambda: 2.0, "sample_weight = "),
    (lambda: lazy(np.zeros(N))[0], "sample_weight = 0 positive weights: expected two or more"),
    (lambda: lazy(np.arange(N) == 5)[0], "sample_weight = 1 positive weights: expected two or more"),
    (lambda: lazy(np.arange(N) < 5)[0], "5 rows: expected 20 or more"),
]  # fmt: skip


@pytest.mark.parametrize(("weight", "message"), ERRORS)
def test_what_cannot_be_used(weight: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        propercal.decompose(*lazy(Y_TRUE, Y_PROBA), sample_weight=weight(), notion="classwise")


@pytest.mark.parametrize("method", ["risk", "direct"])
def test_published_methods_have_no_weights(method: str) -> None:
    y_true, y_proba, weight = lazy(Y_TRUE, Y_PROBA, WEIGHT)
    with pytest.raises(ValueError, match=r'^sample_weight = a Array: expected None with Dask.*use method="debiased", or load the data'):
        propercal.decompose(y_true, y_proba, sample_weight=weight, notion="classwise", method=method, bandwidth=0.02)
