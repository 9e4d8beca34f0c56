"""Array libraries behind one set of names.

The only file that imports array-api-compat, and the only one that knows NumPy from torch.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache, reduce, wraps
from typing import Any, TypeVar, cast

import array_api_compat as compat
import numpy as np

from propercal._typing import Array, Namespace

LOG_ZERO = float(np.log(np.nextafter(0.0, 1.0)))
"""Log of the smallest positive double, about -744.4."""

_BLOCK_SIZE = 2**20
_SHORT = 7


_Function = TypeVar("_Function", bound=Callable[..., Any])


def ignore_underflow(function: _Function) -> _Function:
    """Let `function` underflow to 0, as kernel sums do by design, also for who raises on that."""

    @wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        with np.errstate(under="ignore"):
            return function(*arguments, **options)

    return cast("_Function", wrapper)


def namespace(*arrays: Array) -> Namespace:
    """Return the array API namespace that `arrays` share."""
    # Small problems ask for it thousands of times, and array-api-compat looks more closely.
    for x in arrays:
        if type(x) is not np.ndarray:
            return compat.array_namespace(*arrays)
    return _numpy()


@cache
def _numpy() -> Namespace:
    """NumPy's namespace, which takes a quarter as long to import as all of this package."""
    return compat.array_namespace(np.empty(0))


def is_array(x: object) -> bool:
    """Tell whether `x` belongs to a library with an array API namespace."""
    return compat.is_array_api_obj(x)


def is_numpy(x: object) -> bool:
    """Tell whether `x` is a NumPy array."""
    return isinstance(x, np.ndarray | np.generic)


def is_torch(x: object) -> bool:
    """Tell whether `x` is a torch tensor, without importing torch."""
    return compat.is_torch_array(x)


def is_jax(x: object) -> bool:
    """Tell whether `x` is a JAX array, without importing JAX."""
    return compat.is_jax_array(x)


def device(x: Array) -> Any:
    """Return the device `x` lives on."""
    return "cpu" if type(x) is np.ndarray else compat.device(x)


def to_numpy(x: Array) -> np.ndarray[Any, Any]:
    """Copy or view `x` as a NumPy array, cut off from any gradient."""
    if type(x) is np.ndarray:
        return x
    if is_torch(x):
        x = x.detach().cpu().resolve_conj().resolve_neg()
        unknown = str(x.dtype) == "torch.bfloat16" or "float8" in str(x.dtype)
        return np.asarray(x.float() if unknown else x)
    return np.from_dlpack(x) if is_array(x) and not is_numpy(x) else np.asarray(x)


def read_only(x: Array) -> Array:
    """Return a view of `x` that refuses to be written to, where the library knows such views."""
    if not is_numpy(x):
        return x
    view = x.view()
    view.flags.writeable = False
    return view


def like(values: object, reference: Array, dtype: Any = None) -> Array:
    """Make an array of `values` in the library and on the device of `reference`."""
    if type(reference) is np.ndarray:
        return np.asarray(values, dtype=dtype)
    xp = namespace(reference)
    return xp.asarray(values, dtype=dtype, device=device(reference))


def tracks_gradient(*arrays: Array) -> bool:
    """Tell whether any of `arrays` is a tensor through which a gradient will be asked for."""
    if not any(is_torch(x) for x in arrays):
        return False
    import torch

    return torch.is_grad_enabled() and any(is_torch(x) and x.requires_grad for x in arrays)


def detached(x: Array) -> Array:
    """Return `x` as a constant, through which no gradient passes."""
    return x.detach() if is_torch(x) else x


def safe_log(x: Array) -> Array:
    """Log of `x` ≥ 0: −inf at 0, where the gradient is 0 rather than NaN."""
    xp = namespace(x)
    if _all_positive(x):
        return xp.log(x)
    positive = x > 0
    return xp.where(positive, xp.log(xp.where(positive, x, 1.0)), -xp.inf)


def xlogx(x: Array) -> Array:
    """Return x log x, with its limit 0 (and a gradient of 0) at x = 0."""
    xp = namespace(x)
    return x * xp.log(x if _all_positive(x) else xp.where(x > 0, x, 1.0))


def _all_positive(x: Array) -> bool:
    """Tell whether it is known, and quick to tell, that all numbers are."""
    return is_numpy(x) and x.size > 0 and bool(x.min() > 0)


def log_softmax(scores: Array) -> Array:
    """Logarithm of exp(scores) over its sum along the last axis."""
    xp = namespace(scores)
    shifted = scores - _max_last(scores)[..., None]
    return shifted - xp.log(sum_last(xp.exp(shifted))[..., None])


def gammaln(x: Array) -> Array:
    """Log of the gamma function, elementwise."""
    if is_torch(x):
        return x.lgamma()
    import scipy.special

    if is_numpy(x):
        return scipy.special.gammaln(x)
    return like(scipy.special.gammaln(to_numpy(x)), x)


def one_hot(label: Array, n_classes: int, dtype: Any) -> Array:
    """(n, k) indicators of class numbers `label` (n,)."""
    if type(label) is np.ndarray:
        return (label[:, None] == np.arange(n_classes)).astype(dtype)
    xp = namespace(label)
    classes = xp.arange(n_classes, dtype=label.dtype, device=device(label))
    return xp.astype(label[:, None] == classes[None, :], dtype)


def take_rows(x: Array, rows: Any) -> Array:
    """Return the rows of `x` with the numbers `rows`, an array of any library."""
    if type(x) is np.ndarray:
        return x.take(rows, axis=0)
    return namespace(x).take(x, like(rows, x), axis=0)


def counts(numbers: Array, size: int) -> np.ndarray[Any, Any]:
    """Return how often each of 0 to size − 1 occurs, on the host, counted where `numbers` are."""
    if is_torch(numbers):
        return to_numpy(numbers.bincount(minlength=size))
    return np.bincount(to_numpy(numbers), minlength=size)


class Segments:
    """Rows by a number that each has, whose values are added up.

    Parameters
    ----------
    number : array (n,)
        Of each row, 0 to size − 1.
    size : int
        How many numbers there are.
    """

    def __init__(self, number: Array, size: int) -> None:
        self.number, self.size = number, size
        if is_torch(number):
            return
        found = to_numpy(number)
        self._order = np.argsort(found, kind="stable")
        starts = np.searchsorted(found[self._order], np.arange(size))
        self._there = np.diff(np.append(starts, len(found))) > 0
        self._starts = starts[self._there]

    def sums(self, values: Array) -> Array:
        """(size, q) sums of those of `values` (n, q) that have each number."""
        if is_torch(values):
            zeros = values.new_zeros((self.size, values.shape[1]))
            return zeros.index_add_(0, self.number, values)
        result = np.zeros((self.size, values.shape[1]))
        if len(self._starts):
            sorted_values = to_numpy(values)[self._order]
            result[self._there] = np.add.reduceat(sorted_values, self._starts, axis=0)
        return result if is_numpy(values) else like(result, values)


def contiguous(x: Array) -> Array:
    """Return `x` in the order of its rows, which some libraries keep by themselves."""
    if is_numpy(x):
        return np.ascontiguousarray(x)
    return x.contiguous() if is_torch(x) else x


def product(left: Array, right: Array, out: Array | None) -> Array:
    """Return left @ right, written into the corner of `out` where one is given."""
    if out is None:
        return left @ right
    corner = out[: left.shape[0], : right.shape[1]]
    # A namespace is looked up only where NumPy is not in use: this runs once per tile.
    matmul = np.matmul if is_numpy(left) else namespace(left).matmul
    return matmul(left, right, out=corner)


def floored_exp(x: Array, floor: float, *, in_place: bool) -> Array:
    """Return exp(max(x, floor)), written over `x` where that is allowed.

    Above −690 no result is subnormal, which processors compute a hundred times more slowly. NumPy
    skips the maximum where every sixteenth row is above.
    """
    if in_place and is_numpy(x):
        if np.min(x[::16]) < floor:
            np.maximum(x, floor, out=x)
        return np.exp(x, out=x)
    xp = namespace(x)
    x = xp.clip(x, min=floor)
    return xp.exp(x, out=x) if in_place else xp.exp(x)


def exp_over(x: Array) -> Array:
    """Return exp(x), written over `x` where the library writes to arrays."""
    return np.exp(x, out=x) if is_numpy(x) else namespace(x).exp(x)


def checkpoint(function: Any, *arguments: Any) -> Any:
    """Call `function`, and where a gradient is tracked recompute it rather than store its steps."""
    if not tracks_gradient(*arguments):
        return function(*arguments)
    return _recomputed().apply(function, *arguments)


@cache
def _recomputed() -> Any:
    """Return the operation behind :func:`checkpoint`; torch is imported when it is first needed.

    torch's own checkpoint keeps a graph node for every step, so its memory grows with their number.
    """
    import torch

    class Recomputed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, function: Any, *arguments: Any) -> Any:
            ctx.function = function
            ctx.is_tensor = [is_torch(x) for x in arguments]
            ctx.others = [x for x in arguments if not is_torch(x)]
            ctx.save_for_backward(*(x for x in arguments if is_torch(x)))
            return function(*arguments)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, gradient: Any) -> Any:
            tensors, others = iter(ctx.saved_tensors), iter(ctx.others)
            arguments = [next(tensors if tensor else others) for tensor in ctx.is_tensor]
            needed = ctx.needs_input_grad[1:]
            arguments = [
                x.detach().requires_grad_(need) if is_torch(x) else x
                for x, need in zip(arguments, needed, strict=True)
            ]
            with torch.enable_grad():
                result = ctx.function(*arguments)
            inputs = [x for x, need in zip(arguments, needed, strict=True) if need]
            found = iter(torch.autograd.grad(result, inputs, gradient))
            return (None, *(next(found) if need else None for need in needed))

    return Recomputed


def free_memory(x: Array) -> int | None:
    """Bytes free on the accelerator that holds `x`; None on a CPU."""
    if is_torch(x) and x.is_cuda:
        import torch

        return int(torch.cuda.mem_get_info(x.device)[0])
    return None


def no_gradient(x: Array) -> AbstractContextManager[Any]:
    """Return a context in which nothing computed from `x` tracks a gradient."""
    if not is_torch(x):
        return nullcontext()
    import torch

    return torch.no_grad()


def sum_last(x: Array) -> Array:
    """Sum over the last axis, column by column where that is short: NumPy is slow there."""
    if is_numpy(x) and 1 < x.shape[-1] <= _SHORT:
        total = x[..., 0] + x[..., 1]
        for i in range(2, x.shape[-1]):
            total = total + x[..., i]
        return total
    return namespace(x).sum(x, axis=-1)


def _max_last(x: Array) -> Array:
    if is_numpy(x) and 1 < x.shape[-1] <= _SHORT:
        return reduce(np.maximum, (x[..., i] for i in range(x.shape[-1])))
    return namespace(x).max(x, axis=-1)


def sum_of_others(weight: Array) -> Array:
    """Return the sum of all but each of weights (n,) that sum to 1, exact beside a large one."""
    xp = namespace(weight)
    dominates = weight > 0.5
    return xp.where(dominates, xp.sum(xp.where(dominates, 0.0, weight)), 1 - weight)


def slices(n: int, step: int) -> list[slice]:
    """Cut 0 to n into slices of `step`; the last may be shorter."""
    return [slice(a, min(a + step, n)) for a in range(0, n, step)]


def by_rows(function: Any, *arrays: Array, width: int | None = None) -> Array:
    """Apply `function` to blocks of rows, so that its temporaries stay small, and join the rows.

    `width` is the size of a temporary for one row, by default that of a row of the first array.
    """
    n, k = arrays[0].shape
    step = max(1, _BLOCK_SIZE // (width or k))
    if n <= step:
        return function(*arrays)
    if is_numpy(arrays[0]):
        first = function(*(x[:step] for x in arrays))
        result = np.empty((n, *first.shape[1:]), dtype=first.dtype)
        for rows in slices(n, step):
            result[rows] = first if rows.start == 0 else function(*(x[rows] for x in arrays))
        return result
    parts = [function(*(x[rows, ...] for x in arrays)) for rows in slices(n, step)]
    return namespace(parts[0]).concat(parts, axis=0)


def scalar(x: Array, dtype: Any) -> Any:
    """Return a 0-d array as its users expect: a float for NumPy, else a tensor of `dtype`."""
    if is_numpy(x):
        return float(x)
    return namespace(x).astype(x, dtype)
