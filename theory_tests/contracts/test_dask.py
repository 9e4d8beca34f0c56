"""Dask collections: the same numbers as in memory, whatever the partitions and whoever computes."""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import propercal
from propercal import generators
from propercal._methods.one_step import of_table

dask: Any = pytest.importorskip("dask", reason="needs Dask")
da: Any = pytest.importorskip("dask.array", reason="needs Dask")

from theory_tests.contracts.lazy_data import (  # noqa: E402  # it needs Dask
    IN_MEMORY,
    SETTINGS,
    Y_PROBA,
    Y_TRUE,
    K,
    N,
    check_same,
    lazy,
    no_loading,  # noqa: F401
    one_thread,  # noqa: F401
    unknown,
)
from theory_tests.contracts.wrong_generators import Cubic  # noqa: E402
from theory_tests.instances import CLASS_NAMES, values  # noqa: E402


@pytest.mark.usefixtures("no_loading")
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("chunks", [N, 700, (0, 1, 2999), (1500, 0, 1500)])
@pytest.mark.parametrize("method", ["risk", "direct"])
def test_same_numbers_as_in_memory(scheduler: str, chunks: Any, method: str) -> None:
    for notion in ("classwise", "top-label"):
        options: dict[str, Any] = {"notion": notion, "method": method, "bandwidth": 0.02}
        with dask.config.set(scheduler=scheduler):
            found = propercal.decompose(*lazy(Y_TRUE, Y_PROBA, chunks=chunks), **options)
        check_same(found, propercal.decompose(Y_TRUE, Y_PROBA, **options))


@pytest.mark.usefixtures("no_loading")
def test_two_classes_of_any_shape() -> None:
    y_true, y_proba = Y_TRUE == 2, Y_PROBA[:, 2]
    for method in ("risk", "direct"):
        wanted = propercal.decompose(y_true, y_proba, method=method, bandwidth=0.02)
        for shape in ((N,), (N, 1)):
            arrays = lazy(y_true, y_proba.reshape(shape))
            check_same(propercal.decompose(*arrays, method=method, bandwidth=0.02), wanted)


def test_number_and_order_of_shards_change_only_rounding() -> None:
    rows = np.array_split(np.arange(N), 7)
    whole = propercal.decompose(*lazy(Y_TRUE, Y_PROBA, chunks=N), **SETTINGS)
    rng = np.random.default_rng(0)
    for order in ([0, 1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1, 0], list(rng.permutation(7))):
        moved = np.concatenate([rows[i] for i in order])
        for chunks in (N // 2, tuple(len(rows[i]) for i in order)):
            arrays = lazy(Y_TRUE[moved], Y_PROBA[moved], chunks=chunks)
            check_same(propercal.decompose(*arrays, **SETTINGS), whole, rel=1e-12)


def test_rows_and_columns_may_be_divided_differently() -> None:
    y_true = da.from_array(Y_TRUE, chunks=1100)
    y_proba = da.from_array(Y_PROBA, chunks=(700, 1))
    check_same(propercal.decompose(y_true, y_proba, **SETTINGS), IN_MEMORY)


def test_one_of_the_two_in_memory() -> None:
    y_true, y_proba = lazy(Y_TRUE, Y_PROBA)
    check_same(propercal.decompose(Y_TRUE, y_proba, **SETTINGS), IN_MEMORY)
    check_same(propercal.decompose(y_true, Y_PROBA, **SETTINGS), IN_MEMORY)


def test_partitions_of_unknown_size() -> None:
    y_true, y_proba = (unknown(each) for each in lazy(Y_TRUE, Y_PROBA))
    check_same(propercal.decompose(y_true, y_proba, **SETTINGS), IN_MEMORY)
    known = lazy(Y_TRUE)[0]
    check_same(propercal.decompose(known, y_proba, **SETTINGS), IN_MEMORY)
    automatic: dict[str, Any] = {"notion": "classwise", "method": "risk"}
    wanted = propercal.select_bandwidth(Y_TRUE, Y_PROBA, notion="classwise")
    assert propercal.decompose(y_true, y_proba, **automatic).bandwidth == wanted


def test_all_generators_in_one_pass() -> None:
    reads = []

    def counted(block: Any) -> Any:
        reads.append(len(block))
        return block

    y_true, y_proba = lazy(Y_TRUE, Y_PROBA)
    y_proba = y_proba.map_blocks(counted, meta=np.empty((0, K)))
    chosen: list[Any] = ["log", "brier", generators.Tsallis(1.5)]
    found = propercal.decompose(y_true, y_proba, generator=chosen, **SETTINGS)
    assert sum(reads) == N
    wanted = propercal.decompose(Y_TRUE, Y_PROBA, generator=chosen, **SETTINGS)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.generator == other.generator
        check_same(one, other)


def test_generators_of_ones_own_are_the_same_everywhere() -> None:
    found = propercal.decompose(*lazy(Y_TRUE, Y_PROBA), generator=OwnCubic(), **SETTINGS)
    check_same(found, propercal.decompose(Y_TRUE, Y_PROBA, generator=OwnCubic(), **SETTINGS))


class OwnCubic(Cubic):
    """Its name in messages is of the object, which another process would not share."""

    name = "cubic"

    def __repr__(self) -> str:
        return f"Cubic at {uuid.uuid4()}"


@pytest.mark.slow
@pytest.mark.usefixtures("no_loading")
@pytest.mark.parametrize("options", [{}, {"bandwidth": 0.06}, {"n_folds": 4, "random_state": 3}, {"kernel": None}])
@pytest.mark.parametrize("notion", ["classwise", "top-label"])
def test_debiased_is_that_of_memory(notion: str, options: dict[str, Any]) -> None:
    def run(y_true: Any, y_proba: Any) -> Any:
        return propercal.decompose(y_true, y_proba, notion=notion, confidence_level=0.5, **options)

    wanted = run(Y_TRUE, Y_PROBA)
    found = run(*lazy(Y_TRUE, Y_PROBA, chunks=N))
    check_same(found, wanted)
    assert (found.method, found.bandwidth) == ("debiased", wanted.bandwidth)
    assert found.interval("risk") == pytest.approx(wanted.interval("risk"))
    # Partitions deal their rows to folds by themselves.
    found = run(*lazy(Y_TRUE, Y_PROBA))
    error = wanted.standard_errors["calibration_error"]
    assert abs(found.calibration_error - wanted.calibration_error) < 0.3 * error
    assert found.risk == pytest.approx(wanted.risk, rel=1e-12)
    sketches = [propercal.CalibrationSketch(K, notion=notion, **folds_of(options)) for _ in range(5)]
    for i, sketch in enumerate(sketches):
        sketch.update(Y_TRUE[700 * i : 700 * (i + 1)], Y_PROBA[700 * i : 700 * (i + 1)])
        if i:
            # What waits is dealt to folds where it is written.
            sketches[0].merge(propercal.CalibrationSketch.from_bytes(sketch.to_bytes()))
    method = propercal.methods.Debiased(**options)
    check_same(found, sketches[0].result(method=method), rel=1e-12)


@pytest.mark.slow
@pytest.mark.usefixtures("no_loading")
@pytest.mark.parametrize("n", [100, N])
def test_generators_share_tables(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counting(table: Any, generators: Any, recipe: Any) -> Any:
        calls.append(len(generators))
        return of_table(table, generators, recipe)

    monkeypatch.setattr("propercal.sketch.table_estimates.of_table", counting)
    chosen: list[Any] = ["log", "brier", generators.Tsallis(1.5)]
    options: dict[str, Any] = {"notion": "classwise", "generator": chosen}
    found = propercal.decompose(*lazy(Y_TRUE[:n], Y_PROBA[:n], chunks=n), **options)
    assert calls == [3] * K
    wanted = propercal.decompose(Y_TRUE[:n], Y_PROBA[:n], **options)
    for one, other in zip(found, wanted, strict=True):
        assert one.generator == other.generator
        check_same(one, other)


def folds_of(options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in ("n_folds", "random_state") if name in options}


def test_bandwidths_are_chosen_from_rows_at_equal_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"notion": "classwise", "method": "risk", "generator": ["log", "brier"]}
    wanted = propercal.decompose(Y_TRUE, Y_PROBA, **options)
    for chunks in (700, (0, 1, 2999)):
        found = propercal.decompose(*lazy(Y_TRUE, Y_PROBA, chunks=chunks), **options)
        assert [each.bandwidth for each in found] == [each.bandwidth for each in wanted]
    monkeypatch.setattr("propercal.sketch.dask.passes._SAMPLE", 300)
    rows = np.linspace(0, N - 1, 300).astype(int)
    few = [
        propercal.select_bandwidth(Y_TRUE[rows], Y_PROBA[rows], notion="classwise", generator=g)
        for g in ("log", "brier")
    ]
    assert few != [each.bandwidth for each in wanted]
    found = propercal.decompose(*lazy(Y_TRUE, Y_PROBA), **options)
    assert [each.bandwidth for each in found] == few
    assert found[0].n_samples == N


def test_indicator_matrices() -> None:
    one_hot = np.eye(K)[Y_TRUE]
    check_same(propercal.decompose(*lazy(one_hot, Y_PROBA), **SETTINGS), IN_MEMORY)
    several = np.maximum(one_hot, np.roll(one_hot, 1, axis=0))
    halves = np.clip(1.3 * Y_PROBA, 0.01, 0.99)
    wanted = propercal.decompose(several, halves, **SETTINGS)
    found = propercal.decompose(*lazy(several, halves, chunks=(1, 2, 2997)), **SETTINGS)
    check_same(found, wanted)


def test_one_partition_may_tell_that_columns_are_separate(monkeypatch: pytest.MonkeyPatch) -> None:
    one_hot = np.eye(K)[Y_TRUE]
    # By itself the first partition looks like one class in each row, and is read otherwise.
    y_proba = np.full((N, K), 0.3)
    y_proba[:700] = [1 - 1e-7, 1e-9, 1e-9]
    one_hot[-1] = 1
    arrays = lazy(one_hot, y_proba, chunks=(700, 2300))
    check_same(propercal.decompose(*arrays, **SETTINGS), propercal.decompose(one_hot, y_proba, **SETTINGS))
    monkeypatch.setattr("propercal.sketch.dask.passes._MOST_ROWS", N - 1)
    with pytest.raises(ValueError, match="2300 rows are in others: expected one class in every row"):
        propercal.decompose(*arrays, **SETTINGS)


@pytest.mark.usefixtures("no_loading")
def test_logits() -> None:
    logits = 3 * np.log(Y_PROBA) + 1
    for y_true, link in ((Y_TRUE, None), (np.eye(K)[Y_TRUE], "softmax")):
        wanted = propercal.decompose(y_true, logits, from_logits=True, link=link, **SETTINGS)
        found = propercal.decompose(*lazy(y_true, logits), from_logits=True, link=link, **SETTINGS)
        check_same(found, wanted)


def test_partitions_of_sorted_predictions_may_hold_ones_only() -> None:
    y_proba = np.sort(np.round(Y_PROBA[:, 0], 1))
    y_true = (np.random.default_rng(0).uniform(size=N) < y_proba).astype(int)
    ones = int((y_proba == 1).sum())
    assert ones > 1
    options: dict[str, Any] = {"method": "risk", "bandwidth": 0.02}
    wanted = propercal.decompose(y_true, y_proba, **options)
    arrays = lazy(y_true, y_proba, chunks=(N - ones, ones))
    check_same(propercal.decompose(*arrays, **options), wanted)


def test_what_both_are_made_from_is_computed_once() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    dd = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
    reads = []

    def counted(part: Any) -> Any:
        reads.append(len(part))
        return part

    frame = pd.DataFrame(Y_PROBA).assign(y=Y_TRUE)
    parts = dd.from_pandas(frame, npartitions=4).map_partitions(counted, meta=frame)
    propercal.decompose(parts.y, parts[[0, 1, 2]], labels=[0, 1, 2], **SETTINGS)
    assert sum(reads) == N
    reads.clear()
    table = da.from_array(frame.to_numpy(), chunks=(700, -1)).map_blocks(counted, meta=np.empty((0, 4)))
    propercal.decompose(table[:, 3], table[:, :3], **SETTINGS)
    assert sum(reads) == N


def test_too_few_nodes_are_made_up_for_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    # With three nodes a panel, polynomials are too coarse for the kernel.
    monkeypatch.setattr("propercal.sketch.grid._NODES", 3)
    for given in (IN_MEMORY.bandwidth, "auto"):
        options = {**SETTINGS, "bandwidth": given, "generator": ["log", "brier"]}
        found = propercal.decompose(*lazy(Y_TRUE, Y_PROBA), **options)
        for one, other in zip(found, propercal.decompose(Y_TRUE, Y_PROBA, **options), strict=True):
            check_same(one, other, rel=1e-13)
    names = list(CLASS_NAMES[::-1])
    turned = lazy(CLASS_NAMES[Y_TRUE], Y_PROBA[:, ::-1], chunks=(0, 1000, 2000))
    check_same(propercal.decompose(*turned, labels=names, **SETTINGS), IN_MEMORY, rel=1e-12)
    monkeypatch.setattr("propercal.sketch.dask.passes._MOST_ROWS", N - 1)
    with pytest.warns(UserWarning, match="nodes may be off by"):
        found = propercal.decompose(*lazy(Y_TRUE, Y_PROBA), **SETTINGS)
    assert found.refinement != pytest.approx(IN_MEMORY.refinement, rel=1e-12)


def test_losses_infinite_at_a_vertex_are_not_summed_over_pairs_of_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("propercal.sketch.grid._NODES", 3)
    monkeypatch.setattr("propercal.sketch.dask.passes._FEW_ROWS", N - 1)
    with pytest.warns(UserWarning, match="nodes may be off by"):
        propercal.decompose(*lazy(Y_TRUE, Y_PROBA), generator="itakura-saito", **SETTINGS)


@pytest.mark.slow
@pytest.mark.filterwarnings("default:::distributed", "default::ResourceWarning")
def test_a_worker_that_dies_changes_nothing(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="needs Dask distributed")

    def slow(block: Any, folder: Path) -> Any:
        (folder / uuid.uuid4().hex).touch()
        time.sleep(0.15)
        return block

    def dies(pid: int) -> None:
        deadline = time.monotonic() + 15
        while len(list(tmp_path.iterdir())) < 6 and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)

    y_true, y_proba = lazy(Y_TRUE, Y_PROBA, chunks=200)
    undisturbed = propercal.decompose(y_true, y_proba, **SETTINGS)
    y_proba = y_proba.map_blocks(slow, folder=tmp_path, meta=np.empty((0, K)))
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        dask.config.set(scheduler=None),
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = client.run(os.getpid)
        killer = threading.Thread(target=dies, args=[next(iter(pids.values()))])
        killer.start()
        found = propercal.decompose(y_true, y_proba, **SETTINGS)
        killer.join()
        assert set(client.run(os.getpid).values()) != set(pids.values())
    # What the worker had is computed again.
    assert len(list(tmp_path.iterdir())) > 15
    np.testing.assert_array_equal(values(found), values(undisturbed))
