"""Leave-one-out kernel sums, exact, in tiles that stay in cache.

All n² kernel values are formed, never stored: a tile of them is one matrix product of features and
one exponential, summed by class before the next tile takes its place. Memory is O(n k).
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from propercal._array import (
    checkpoint,
    contiguous,
    device,
    floored_exp,
    free_memory,
    is_numpy,
    is_torch,
    namespace,
    no_gradient,
    one_hot,
    product,
    slices,
    to_numpy,
    tracks_gradient,
)
from propercal._data.predictions.notions import Problem
from propercal._kernels.kernels import HEADROOM, BilinearKernel, Features, shifted
from propercal._progress import steps
from propercal._threads import map_threads, one_blas_thread
from propercal._typing import Array

#: Rows and columns of a tile on the CPU: half a megabyte stays in the cache of one core.
TILE = (192, 384)
#: Numbers in a cache line.
_CACHE_LINE = 8
#: Smaller exponents may be raised to this, where exp is 1e-300, so that few numbers are subnormal.
EXPONENT_FLOOR = -690.0
#: Sums that floored values alone can make, up to 10⁶ of them, count as the 0 they stand for.
_NOTHING = 1e-293
#: Below this total a row is summed again, scaled by its largest term, before the floor matters.
_SMALLEST_TOTAL = 1e-100


@dataclass(frozen=True)
class Groups:
    """The class of each source, in ascending order."""

    label: Array
    """(n,)."""
    n_classes: int

    @cached_property
    def starts(self) -> list[int]:
        """(k + 1,) position of the first source of each class, and n."""
        starts = np.searchsorted(to_numpy(self.label), np.arange(self.n_classes + 1))
        return [int(start) for start in starts]

    def parts(self, columns: slice) -> Iterator[tuple[int, slice]]:
        """Yield each class among the sources of `columns`, and its place within them."""
        starts, width = self.starts, columns.stop - columns.start
        first = bisect_right(starts, columns.start) - 1
        last = bisect_left(starts, columns.stop)
        for i in range(first, last):
            a = max(starts[i] - columns.start, 0)
            b = min(starts[i + 1] - columns.start, width)
            if a < b:
                yield i, slice(a, b)


#: (result so far or None, tile of exponents, its columns, classes, whether the tile may be
#: overwritten) → (rows, columns of the step's own) sums.
Step = Callable[[Array, Array, slice, Groups, bool], Array]


class ClassSums(NamedTuple):
    """Kernel sums by class: Σ_j w_j k(t_h; x_j) over the sources j of each class."""

    values: Array
    """(n, k), divided by exp(log_scale)."""
    log_scale: Array
    """(n,)."""


def class_sums(
    problem: Problem,
    kernel: BilinearKernel,
    bandwidth: float,
    *,
    exclude_self: bool,
    rows: np.ndarray[Any, Any] | None = None,
) -> ClassSums:
    """Sum the kernel over the sources of each class, at every point or at those numbered `rows`.

    Sources are taken in the order of their classes, so that the columns of a tile that share a
    class are neighbours.
    """
    xp = namespace(problem.prob)
    order = xp.argsort(problem.label)
    target, source, log_scale = weighted_features(
        xp.take(problem.prob, order, axis=0),
        xp.take(problem.log_prob, order, axis=0),
        None if problem.uniform else xp.take(problem.weight, order, axis=0),
        kernel,
        bandwidth,
    )
    groups = Groups(xp.take(problem.label, order, axis=0), problem.n_classes)
    ids = xp.arange(target.shape[0], device=device(target))
    back = xp.argsort(order)
    if rows is not None:
        ids = xp.sort(xp.take(back, xp.asarray(rows, device=device(target))))
        target, log_scale = xp.take(target, ids, axis=0), xp.take(log_scale, ids)
        back = xp.argsort(xp.take(order, ids))
    sums, extra = row_sums(
        add_by_class, problem.n_classes, target, ids, source, groups, exclude_self
    )
    return ClassSums(xp.take(sums, back, axis=0), xp.take(log_scale + extra, back, axis=0))


def weighted_features(
    prob: Array, log_prob: Array, weight: Array | None, kernel: BilinearKernel, bandwidth: float
) -> Features:
    """Return the features of points whose kernel values, as sources, count `weight` (n,) times."""
    features = kernel.features(prob, log_prob, bandwidth)
    return features if weight is None else features.weighted(weight)


def row_sums(
    step: Step,
    n_totals: int,
    target: Array,
    rows: Array,
    source: Array,
    groups: Groups,
    exclude_self: bool,
    headroom: float = HEADROOM,
) -> tuple[Array, Array]:
    """Return the sums that `step` takes over the sources, and the log of the scale of each row.

    The first `n_totals` columns add up to the sum of all kernel values of a row (numbers `rows`
    name the targets among the sources). Where that would underflow the row is summed again with a
    scale of its own, its largest exponent becoming `headroom`, so that the nearest sources decide:
    never 0 / 0. A class without a source within reach has exactly 0.
    """
    xp = namespace(target)
    n = target.shape[0]
    sums = _sums(step, n_totals, target, rows, source, groups, exclude_self)
    extra = xp.zeros_like(target[:, 0])
    low = np.flatnonzero(to_numpy(xp.sum(sums[:, :n_totals], axis=1)) < _SMALLEST_TOTAL)
    if low.size == 0:
        return sums, extra
    positions = xp.asarray(low, device=device(target))
    lowest, ids = xp.take(target, positions, axis=0), xp.take(rows, positions)
    with no_gradient(target):
        largest = _over_tiles(_take_largest, lowest, ids, source, groups, exclude_self)
        largest = largest - headroom
    rescued = _sums(step, n_totals, shifted(lowest, -largest), ids, source, groups, exclude_self)
    # Rows are chosen, not overwritten, so that gradients pass through the chosen ones alone.
    choice = np.arange(n)
    choice[low] = n + np.arange(low.size)
    chosen = xp.asarray(choice, device=device(target))
    return (
        xp.take(xp.concat([sums, rescued], axis=0), chosen, axis=0),
        xp.take(xp.concat([extra, largest[:, 0]], axis=0), chosen, axis=0),
    )


def _sums(
    step: Step,
    n_totals: int,
    target: Array,
    rows: Array,
    source: Array,
    groups: Groups,
    exclude_self: bool,
) -> Array:
    xp = namespace(target)
    sums = _over_tiles(step, target, rows, source, groups, exclude_self)
    totals = sums[:, :n_totals]
    totals = xp.where(totals > _NOTHING, totals, 0.0)
    if n_totals == sums.shape[1]:
        return totals
    return xp.concat([totals, sums[:, n_totals:]], axis=1)


def add_by_class(
    result: Array | None, tile: Array, columns: slice, groups: Groups, in_place: bool
) -> Array:
    """Add the kernel values of a tile of exponents to the sums of their classes, (rows, k)."""
    values = floored_exp(tile, EXPONENT_FLOOR, in_place=in_place)
    if not is_numpy(tile):
        part = values @ one_hot(groups.label[columns], groups.n_classes, tile.dtype)
        return part if result is None else result + part
    if result is None:
        result = np.zeros((tile.shape[0], groups.n_classes))
    for i, part in groups.parts(columns):
        # A product with ones is several times faster than a sum along rows.
        result[:, i] += values[:, part] @ _ones(part.stop - part.start)
    return result


def _take_largest(result: Array | None, tile: Array, *_: object) -> Array:
    """Keep the largest exponent of each row, (rows, 1)."""
    xp = namespace(tile)
    largest = xp.max(tile, axis=1, keepdims=True)
    return largest if result is None else xp.maximum(result, largest)


def _over_tiles(
    step: Step, target: Array, rows: Array, source: Array, groups: Groups, exclude_self: bool
) -> Array:
    """Take `step` over all tiles of exponents, by blocks of `rows` (numbers of the targets)."""
    xp = namespace(target)
    n_rows, n_columns = _tile_shape(target, source)
    n = source.shape[1]
    tracked = tracks_gradient(target, source)
    reuse = not tracked and (is_numpy(target) or is_torch(target))
    buffers = threading.local()

    column_slices = slices(n, n_columns)
    edges = [columns.start for columns in column_slices] + [n]
    in_place = reuse and is_numpy(target)
    # Each used once per block of rows, and products of contiguous factors are faster.
    source_tiles = [contiguous(source[:, columns]) for columns in column_slices]

    def one_block(part: slice) -> Array:
        buffer = None
        if reuse:
            if not hasattr(buffers, "tile"):
                shape = (min(n_rows, target.shape[0]), min(n_columns, n))
                buffers.tile = empty_tile(shape, target)
            buffer = buffers.tile
        return checkpoint(block, target[part, :], rows[part], buffer, *source_tiles)

    def block(left: Array, ids: Array, buffer: Array | None, *source_tiles: Array) -> Array:
        result = None
        # Where among the rows each tile begins: most tiles hold no target.
        rows = np.searchsorted(ids, edges).tolist() if in_place else None
        for i, columns in enumerate(column_slices):
            tile = product(left, source_tiles[i], buffer)
            if exclude_self:
                if rows is None:
                    tile = _without_self(tile, ids, columns)
                elif rows[i] < rows[i + 1]:
                    own = slice(rows[i], rows[i + 1])
                    tile[np.arange(own.start, own.stop), ids[own] - columns.start] = -np.inf
            result = step(result, tile, columns, groups, reuse)
        return result

    blocks = slices(target.shape[0], n_rows)
    if is_numpy(target) and len(blocks) > 2 and len(blocks) % 2:
        # As many for one thread as for the other.
        blocks = slices(target.shape[0], -(-target.shape[0] // (len(blocks) + 1)))
    with one_blas_thread if is_numpy(target) else nullcontext():
        if is_numpy(target) and len(blocks) > 2:
            parts = map_threads(one_block, blocks)
        else:
            parts = [one_block(part) for part in steps(blocks)]
    return xp.concat(parts, axis=0)


def _without_self(tile: Array, ids: Array, columns: slice) -> Array:
    """Set the exponent of each target at itself to −inf."""
    xp = namespace(tile)
    column_ids = xp.arange(columns.start, columns.stop, device=device(tile))
    return xp.where(ids[:, None] == column_ids[None, :], -xp.inf, tile)


def _tile_shape(target: Array, source: Array) -> tuple[int, int]:
    """Return the rows and columns of a tile for the device that `target` is on."""
    memory = free_memory(target)
    if memory is None:
        return TILE
    columns = min(source.shape[1], 2**16)
    # A quarter of what is free: the tile, its mask, and what the library keeps beside them.
    return max(1, min(2**14, memory // (4 * 3 * 8 * columns))), columns


def empty_tile(shape: tuple[int, int], reference: Array) -> Array:
    """Return memory for a tile in the library and on the device of `reference`."""
    if not is_numpy(reference):
        xp = namespace(reference)
        return xp.empty(shape, dtype=reference.dtype, device=device(reference))
    # Rows that begin with a cache line are a tenth faster to write and to read.
    size, line = shape[0] * shape[1], _CACHE_LINE
    memory = np.empty(size + line)
    first = -memory.ctypes.data // memory.itemsize % line
    return memory[first : first + size].reshape(shape)


@cache
def _ones(size: int) -> np.ndarray[Any, Any]:
    return np.ones(size)
