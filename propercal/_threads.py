"""Threads of this package and of BLAS."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from propercal._data.words.messages import bad_value
from propercal._progress import steps

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

# Whether this context computes with one thread. The environment belongs to the whole process.
_alone: ContextVar[bool] = ContextVar("_alone", default=False)


def n_threads() -> int:
    """Return the number of threads for kernel sums: PROPERCAL_NUM_THREADS, else one per core.

    Within :func:`one_thread` that is 1.
    """
    if _alone.get():
        return 1
    given = os.environ.get("PROPERCAL_NUM_THREADS")
    if given:
        if not given.isdecimal() or int(given) < 1:
            raise bad_value(
                "environment variable PROPERCAL_NUM_THREADS",
                repr(given),
                "a whole number, 1 or more",
                "unset it to use every core",
            )
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_threads(
    function: Callable[[_Item], _Result], items: Iterable[_Item], share: float = 1.0
) -> list[_Result]:
    """Return what a function makes of each item, in threads if there are several.

    An error, or an interrupt, drops what has not begun: an interrupt does not even wait for what
    has. `share` is that of :func:`propercal._progress.steps`.
    """
    each = list(items)
    if n_threads() == 1 or len(each) < 2:
        return [function(item) for item in steps(each, share)]
    pool = ThreadPoolExecutor(n_threads())
    try:
        futures = [pool.submit(function, item) for item in each]
        results = [future.result() for future in steps(futures, share)]
    except BaseException as error:
        pool.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
        raise
    pool.shutdown()
    return results


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def _in_control() -> Iterator[None]:
    """Let this thread set what is one limit of the whole process.

    threadpoolctl 3.8 leaves that to the thread that did so first: limits that others ask for would
    have no effect, without a word.
    """
    import threadpoolctl

    release = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)
    yield
    if release is not None:
        release(force=True)


class _OneBlasThread:
    """A context in which BLAS uses one thread, so that results do not depend on how many there are.

    The limit is one of the whole process: of several threads that ask for it, the first sets it and
    the last lifts it. `user_api` names another kind of library, "openmp".
    """

    def __init__(self, user_api: str = "blas") -> None:
        self._user_api = user_api
        self._lock = threading.Lock()
        self._users = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                with _in_control():
                    self._limit = _controller().limit(limits=1, user_api=self._user_api)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                with _in_control():
                    self._limit.restore_original_limits()


one_blas_thread = _OneBlasThread()
_one_openmp_thread = _OneBlasThread("openmp")


@cache
def _openmp() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="openmp")


@contextmanager
def one_openmp_thread() -> Iterator[None]:
    """Compute with one thread of OpenMP, which torch uses.

    The limit is one of the calling thread. Libraries that are loaded after the first call are not
    seen: call it for tensors, with torch there.
    """
    with _openmp().limit(limits=1):
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread: processes fill the cores, and digits do not depend on threads.

    This holds for the caller's context, and for BLAS and OpenMP in the whole process. Threads that
    are started within have contexts of their own.
    """
    # Libraries may have been loaded since they were last looked for.
    _controller.cache_clear()
    token = _alone.set(True)
    try:
        with one_blas_thread, _one_openmp_thread:
            yield
    finally:
        _alone.reset(token)


class Lock:
    """A lock of one object, new in each copy of the object, unpickled, deep or in a fork."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


def _renew_locks() -> None:
    # The thread that held a lock when the process was forked does not exist in the child.
    for lock in _locks:
        lock._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)
