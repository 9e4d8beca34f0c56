"""What exact kernel sums take of the machine: threads, tiles, memory, and BLAS threads."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from propercal import _threads
from propercal._array import free_memory, namespace
from propercal._kernels import tiles
from propercal._kernels.kernels import DirichletKernel
from propercal._kernels.tiles import Groups
from theory_tests.instances import risk_of

N, K = 50, 3


def features() -> tuple[Any, Any, Any]:
    """Features of sorted points, and their classes."""
    rng = np.random.default_rng(8)
    prob = rng.dirichlet([0.8] * K, N)
    found = DirichletKernel().features(prob, np.log(prob), 0.1)
    return found.target, found.source, Groups(np.sort(rng.integers(0, K, N)), K)


class Recorder:
    """A step that keeps what it was called with, and a copy of the tile's exponents."""

    def __init__(self) -> None:
        self.tiles: list[tuple[Any, slice, bool]] = []
        self.addresses: set[int] = set()
        self.threads: set[int] = set()

    def __call__(self, result: Any, tile: Any, columns: slice, groups: Groups, in_place: bool) -> Any:
        self.tiles.append((tile.shape, columns, in_place))
        self.threads.add(threading.get_ident())
        if isinstance(tile, np.ndarray):
            self.addresses.add(tile.ctypes.data)
        return tiles.add_by_class(result, tile, columns, groups, in_place)


def sums(step: Any, target: Any, source: Any, groups: Groups, **settings: Any) -> Any:
    rows = settings.pop("rows", None)
    if rows is None:
        rows = namespace(target).arange(target.shape[0])
    return tiles._over_tiles(step, target, rows, source, groups, settings.pop("exclude_self", True))


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "TILE", (20, 17))


@pytest.mark.usefixtures("small_tiles")
def test_tiles_of_the_stated_size_in_one_piece_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", "1")
    step = Recorder()
    sums(step, *features())
    shapes = [shape for shape, _, _ in step.tiles]
    # 50 rows by 20 at most, in an even number of blocks, one half for each of two threads; 50 columns by 17.
    assert shapes == [(rows, width) for rows in (13, 13, 13, 11) for width in (17, 17, 16)]
    assert [(c.start, c.stop) for _, c, _ in step.tiles[:3]] == [(0, 17), (17, 34), (34, 50)]
    assert all(in_place for *_, in_place in step.tiles)
    assert len(step.addresses) == 1
    assert step.threads == {threading.get_ident()}


def test_memory_for_a_tile_is_never_larger_than_the_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    original = tiles.empty_tile

    def empty_tile(shape: tuple[int, int], reference: Any) -> Any:
        asked.append(shape)
        return original(shape, reference)

    monkeypatch.setattr(tiles, "empty_tile", empty_tile)
    monkeypatch.setattr(tiles, "TILE", (20, 500))
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", "1")
    sums(tiles.add_by_class, *features())
    monkeypatch.setattr(tiles, "TILE", (500, 20))
    sums(tiles.add_by_class, *features())
    assert asked == [(20, N), (N, 20)]


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize(("threads", "n_rows", "pool"), [("1", 50, None), ("3", 50, 3), ("3", 40, None), ("2", 41, 2)])
def test_threads_share_blocks_of_rows(
    threads: str, n_rows: int, pool: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two blocks or fewer are not worth a pool."""
    made: list[int] = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, size: int) -> None:
            made.append(size)
            super().__init__(size)

    monkeypatch.setattr(_threads, "ThreadPoolExecutor", Pool)
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", threads)
    target, source, groups = features()
    found = sums(tiles.add_by_class, target[:n_rows], source, groups)
    assert made == ([] if pool is None else [pool])
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", "1")
    np.testing.assert_array_equal(sums(tiles.add_by_class, target[:n_rows], source, groups), found)


@pytest.mark.usefixtures("small_tiles")
def test_each_thread_has_a_tile_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", "3")
    step = Recorder()
    # Each thread waits for the others within its first tile, so all three hold one at a time.
    together = threading.Barrier(3, timeout=60)
    waited: set[int] = set()

    def meeting(result: Any, tile: Any, *others: Any) -> Any:
        if threading.get_ident() not in waited:
            waited.add(threading.get_ident())
            together.wait()
        return step(result, tile, *others)

    target, source, groups = features()
    # Three blocks: each thread has one.
    found = sums(meeting, target, source, groups)
    assert len(step.addresses) == len(step.threads) == 3
    monkeypatch.setattr(tiles, "TILE", (500, 500))
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", "1")
    np.testing.assert_allclose(found, sums(tiles.add_by_class, target, source, groups), rtol=1e-13)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("gradient", ["target", "source", None])
def test_a_tile_is_overwritten_only_where_no_gradient_needs_it(gradient: str | None) -> None:
    torch = pytest.importorskip("torch")
    target, source, groups = features()
    wanted = sums(tiles.add_by_class, target, source, groups)
    tensors = {"target": torch.asarray(target), "source": torch.asarray(source)}
    if gradient is not None:
        tensors[gradient].requires_grad_()
    step = Recorder()
    labels = Groups(torch.asarray(groups.label), K)
    found = sums(step, tensors["target"], tensors["source"], labels)
    assert {in_place for *_, in_place in step.tiles} == {gradient is None}
    np.testing.assert_allclose(found.detach(), wanted, rtol=1e-13)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("exclude_self", [True, False])
def test_a_target_is_left_out_where_it_is_among_the_sources(exclude_self: bool) -> None:
    target, source, groups = features()
    ids = np.array([3, 17, 33, 34, 49])
    found = sums(tiles.add_by_class, target[ids], source, groups, rows=ids, exclude_self=exclude_self)
    values = np.exp(target[ids] @ source)
    if exclude_self:
        values[np.arange(len(ids)), ids] = 0.0
    np.testing.assert_allclose(found, values @ np.eye(K)[groups.label], rtol=1e-12)


@pytest.mark.parametrize("memory", [10**9, 10**6, 1000, 10**12, 70 * 10**9])
def test_tiles_on_an_accelerator_take_a_quarter_of_what_is_free(memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "free_memory", lambda _: memory)
    target = np.zeros((10, 5))
    for n in (100, 100_000):
        source = np.broadcast_to(np.zeros(1), (5, n))
        rows, columns = tiles._tile_shape(target, source)
        assert columns == min(n, 65_536)
        assert 1 <= rows <= 16_384
        # Three arrays of doubles of that shape, unless there is not room for a single row.
        taken = 3 * 8 * columns
        assert rows == 1 or rows * taken <= memory / 4
        assert rows == 16_384 or (rows + 1) * taken > memory / 4


def test_tiles_on_a_cpu_are_those_of_its_cache() -> None:
    assert free_memory(np.zeros(3)) is None
    assert tiles._tile_shape(np.zeros((10, 5)), np.zeros((5, 100_000))) == tiles.TILE
    rows, columns = tiles.TILE
    assert rows * columns * 8 <= 2**20


@pytest.mark.parametrize("shape", [(1, 1), (7, 11), (192, 384)])
def test_rows_begin_with_a_cache_line(shape: tuple[int, int]) -> None:
    for _ in range(20):
        tile = tiles.empty_tile(shape, np.zeros(1))
        assert tile.shape == shape
        assert tile.dtype == np.float64
        assert tile.ctypes.data % 64 == 0
        assert tile.flags.c_contiguous
        tile[...] = 1.0
        assert tile.sum() == shape[0] * shape[1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_tile_of_a_tensor_is_one(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    # "meta" stands for a device that is not the default.
    for where in ("cpu", "meta"):
        reference = torch.zeros(2, dtype=getattr(torch, dtype), device=where)
        tile = tiles.empty_tile((3, 4), reference)
        assert (tuple(tile.shape), tile.dtype, tile.device) == ((3, 4), reference.dtype, reference.device)


def test_one_thread_per_core_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROPERCAL_NUM_THREADS", raising=False)
    asked: list[int] = []

    def affinity(pid: int) -> set[int]:
        asked.append(pid)
        return {0, 2, 5}

    monkeypatch.setattr(os, "sched_getaffinity", affinity, raising=False)
    assert _threads.n_threads() == 3
    assert asked == [0]
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert _threads.n_threads() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert _threads.n_threads() == 1
    for given in (1, 7):
        monkeypatch.setenv("PROPERCAL_NUM_THREADS", str(given))
        assert _threads.n_threads() == given


class Controller:
    """Stands in for the one that limits BLAS."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def limit(self, **settings: Any) -> Controller:
        self.calls.append(settings)
        return self

    def restore_original_limits(self) -> None:
        self.calls.append("restored")


def test_the_first_limits_blas_and_the_last_lifts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = Controller()
    monkeypatch.setattr(_threads, "_controller", lambda: controller)
    one_thread = _threads._OneBlasThread()
    limited = [{"limits": 1, "user_api": "blas"}]
    for _ in range(2):
        controller.calls.clear()
        with one_thread:
            assert controller.calls == limited
            with one_thread, one_thread:
                assert controller.calls == limited
            assert controller.calls == limited
        assert controller.calls == [*limited, "restored"]


def test_a_limit_is_lifted_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = Controller()
    monkeypatch.setattr(_threads, "_controller", lambda: controller)
    one_thread = _threads._OneBlasThread()
    with pytest.raises(ZeroDivisionError), one_thread:
        raise ZeroDivisionError
    assert controller.calls[-1] == "restored"


def test_blas_has_one_thread_within_the_sums() -> None:
    from threadpoolctl import threadpool_info

    found = []

    def step(*arguments: Any) -> Any:
        found.append({x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"})
        return tiles.add_by_class(*arguments)

    sums(step, *features())
    assert found
    assert all(numbers <= {1} for numbers in found)


def test_concurrent_calls_leave_blas_as_it_was() -> None:
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 2, 1500), rng.uniform(size=1500)
    before = [library["num_threads"] for library in threadpool_info()]
    threads = [threading.Thread(target=risk_of, args=(y[:m], p[:m])) for m in range(500, 1500, 125)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [library["num_threads"] for library in threadpool_info()] == before
