"""Dask collections: rows whose label is to be ignored, and weights of rows that move or stand elsewhere."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import propercal

dask: Any = pytest.importorskip("dask", reason="needs Dask")
da: Any = pytest.importorskip("dask.array", reason="needs Dask")

from theory_tests.contracts import lazy_data  # noqa: E402  # it needs Dask
from theory_tests.contracts.lazy_data import check_same, lazy, one_thread, unknown  # noqa: E402, F401
from theory_tests.instances import CLASS_NAMES  # noqa: E402

# Debiased estimates of few rows take little time.
N, CHUNKS = 160, 40
Y_TRUE, Y_PROBA = lazy_data.Y_TRUE[:N], lazy_data.Y_PROBA[:N]
AWAY = np.random.default_rng(7).random(N) < 0.2
#: A partition of which no row counts, and one of which all do.
AWAY[:CHUNKS], AWAY[CHUNKS : 2 * CHUNKS] = True, False
MARKED = np.where(AWAY, -100, Y_TRUE)
BROKEN = np.where(AWAY[:, None], np.nan, Y_PROBA)


def found(y_true: Any, y_proba: Any, **options: Any) -> Any:
    return propercal.decompose(y_true, y_proba, **{"notion": "classwise", **options})


@pytest.mark.parametrize(("void", "notion"), [
    (-100, "classwise"), (255, "top-label"), (-1, "top-label"), ("no", "classwise"), (None, "top-label"), (np.nan, "top-label"),
])
def test_rows_to_ignore_have_weight_0(void: Any, notion: str) -> None:
    wanted = found(*lazy(Y_TRUE, BROKEN, chunks=CHUNKS), sample_weight=~AWAY * 1.0, notion=notion)
    assert wanted.n_samples == N - np.count_nonzero(AWAY)
    labels = CLASS_NAMES[Y_TRUE].astype(object)
    if not isinstance(void, str | None):
        labels = Y_TRUE.astype(type(void))
    labels[AWAY] = void
    value = np.nan if void is None else void
    for pair in (lazy(labels, BROKEN, chunks=CHUNKS), [unknown(each) for each in lazy(labels, BROKEN, chunks=CHUNKS)]):
        check_same(found(*pair, ignore_index=value, notion=notion), wanted, rel=1e-12)
    memory = found(labels, BROKEN, ignore_index=value, notion=notion)
    assert wanted.risk == pytest.approx(memory.risk, rel=1e-12)
    whole = lazy(labels, BROKEN, chunks=N)
    assert found(*whole, ignore_index=value, notion=notion).calibration_error == pytest.approx(memory.calibration_error, rel=1e-9)


def test_rows_to_ignore_are_left_out() -> None:
    keep = ~AWAY
    sizes = tuple(int(keep[a : a + CHUNKS].sum()) for a in range(CHUNKS, N, CHUNKS))
    wanted = found(*lazy(Y_TRUE[keep], Y_PROBA[keep], chunks=sizes))
    check_same(found(*lazy(MARKED, Y_PROBA, chunks=CHUNKS), ignore_index=-100), wanted, rel=1e-12)


def test_rows_to_ignore_beside_weights() -> None:
    weight = np.random.default_rng(8).integers(0, 4, N).astype(float)
    wanted = found(*lazy(Y_TRUE, Y_PROBA, chunks=CHUNKS), sample_weight=np.where(AWAY, 0, weight))
    check_same(found(*lazy(MARKED, Y_PROBA, chunks=CHUNKS), sample_weight=weight, ignore_index=-100), wanted, rel=1e-12)


def test_labels_without_rows_to_ignore() -> None:
    pair = lazy(Y_TRUE, Y_PROBA, chunks=CHUNKS)
    check_same(found(*pair, ignore_index=-100), found(*pair))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [int, float])
def test_rows_that_do_not_count_do_not_change_how_the_others_are_numbered(kind: Any) -> None:
    labels = (Y_TRUE + 1).astype(kind)
    kept = (labels < 3) * 1.0
    message = r"^y_true = \[1, 2\] in rows that count, and \[3(\.0)?\] in others: .*pass labels="
    for y_true in lazy(labels, labels, chunks=CHUNKS)[:1]:
        for options in ({"ignore_index": 3}, {"sample_weight": kept}):
            with pytest.raises(ValueError, match=message):
                found(labels, Y_PROBA, **options)
            with pytest.raises(ValueError, match=message):
                found(y_true, Y_PROBA, **options)
            listed = {**options, "labels": [1, 2, 3]}
            assert found(y_true, Y_PROBA, **listed).risk == pytest.approx(found(labels, Y_PROBA, **listed).risk, rel=1e-12)
    # Sorted, no partition sees both.
    order = np.argsort(labels, kind="stable")
    with pytest.raises(ValueError, match=message):
        found(*lazy(labels[order], Y_PROBA[order], chunks=20), ignore_index=3)
    # Numbers that count from 1 among rows that count are read as in memory.
    void = np.where(AWAY, -100, labels)
    assert found(*lazy(void, Y_PROBA, chunks=CHUNKS), ignore_index=-100).risk == pytest.approx(found(void, Y_PROBA, ignore_index=-100).risk, rel=1e-12)


def test_labels_of_tables_are_numbered_by_all_rows_too() -> None:
    """Their columns have words as names, or there is one."""
    pd, dd, _ = frame_of()

    def parts(values: Any) -> Any:
        return dd.from_pandas(values, npartitions=2)

    codes = np.arange(N) % 3
    table = parts(pd.DataFrame(Y_PROBA, columns=list("abc")))
    column = parts(pd.Series(Y_PROBA[:, 0]))
    for labels, proba, void in ((codes + 1, table, 3), (codes % 2 + 1, column, 2)):
        y_true, weight = parts(pd.Series(labels)), parts(pd.Series((labels != void) * 1.0))
        message = r"^y_true = \[1(, 2)?\] in rows that count, and \[\d\] in others: .*pass labels="
        for options in ({"ignore_index": void}, {"sample_weight": weight}):
            with pytest.raises(ValueError, match=message):
                found(y_true, proba, **options)
        listed = {"labels": list(range(1, void + 1)), "ignore_index": void}
        memory = found(labels, proba.compute(), **listed)
        assert found(y_true, proba, **listed).risk == pytest.approx(memory.risk, rel=1e-12)


def test_what_cannot_be_ignored() -> None:
    pair = lazy(Y_TRUE, Y_PROBA, chunks=CHUNKS)
    with pytest.raises(ValueError, match=r"^ignore_index = a list: expected one value"):
        found(*pair, ignore_index=[1])
    with pytest.raises(ValueError, match=r"^y_true = 0 positive weights: expected two or more"):
        found(da.full(N, 7, chunks=CHUNKS), Y_PROBA, ignore_index=7)
    one_hot = np.eye(3)[Y_TRUE]
    with pytest.raises(ValueError, match=r"^ignore_index = 0 with y_true of shape"):
        found(*lazy(one_hot, Y_PROBA, chunks=CHUNKS), ignore_index=0)
    for method in ("risk", "direct"):
        with pytest.raises(ValueError, match=r'^ignore_index = -100: expected None with Dask .*use method="debiased", or leave out rows'):
            found(*pair, ignore_index=-100, method=method, bandwidth=0.02)


# ---------------------------------------------------------------- weights in another order


def frame_of() -> tuple[Any, Any, Any]:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    dd = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
    weight = np.random.default_rng(9).exponential(size=N)
    frame = pd.DataFrame(Y_PROBA, columns=["p_0", "p_1", "p_2"]).assign(y=Y_TRUE, w=weight)
    return pd, dd, frame


def test_weights_that_move_are_refused() -> None:
    _, dd, frame = frame_of()
    moving = dd.from_pandas(frame, npartitions=4).map_partitions(lambda part: part.sample(frac=1), meta=frame)
    proba = moving[["p_0", "p_1", "p_2"]]
    wanted = found(Y_TRUE, Y_PROBA, sample_weight=frame.w.to_numpy())
    assert found(moving.y, proba, sample_weight=moving.w).risk == pytest.approx(wanted.risk, rel=1e-12)
    message = r"^(y_true|y_proba|sample_weight) = partitions that differ .*since y_true and y_proba and sample_weight"
    fixed = lazy(Y_TRUE, Y_PROBA, frame.w.to_numpy(), chunks=CHUNKS)
    for given in (
        (moving.y, proba, moving.w.to_dask_array()), (moving.y.values, proba, moving.w), (*fixed[:2], moving.w), (*fixed[:2], moving.w.values),
        (*fixed[:2], moving.w.to_dask_array(lengths=True)),
    ):
        with pytest.raises(ValueError, match=message):
            found(*given[:2], sample_weight=given[2])


def test_partitions_of_weights_in_another_order_than_labels_are_refused() -> None:
    """The predictions are an array, which says nothing of rows; with few partitions and with many."""
    _, dd, frame = frame_of()
    parts = dd.from_pandas(frame, npartitions=4)
    sizes = parts.map_partitions(len).compute().tolist()
    ends = np.cumsum([0, *sizes])
    pieces = [frame.iloc[a:b] for a, b in pairwise(ends)]
    (proba,) = lazy(Y_PROBA, chunks=tuple(sizes))
    for order in ([1, 0, 2, 3], [0, 1, 3, 2]):
        turned = dd.from_map(lambda i, order=order: pieces[order[i]].w, range(4), meta=frame.w)
        with pytest.raises(ValueError, match=r"^sample_weight = "):
            found(parts.y, proba, sample_weight=turned, labels=[0, 1, 2])
        counted = dd.from_map(lambda i: pieces[i].y.reset_index(drop=True), range(4), meta=frame.y)
        with pytest.raises(ValueError, match=r"^sample_weight = "):
            found(counted, proba, sample_weight=turned, labels=[0, 1, 2])
    assert found(parts.y, proba, sample_weight=parts.w).risk == pytest.approx(found(Y_TRUE, Y_PROBA, sample_weight=frame.w.to_numpy()).risk, rel=1e-12)
