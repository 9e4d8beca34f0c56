"""Processes that compute cells: local ones, or those of a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, TypeVar

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

_THREADS = "PROPERCAL_NUM_THREADS"


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread: processes fill the cores, and digits do not depend on threads."""
    from threadpoolctl import threadpool_limits

    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    try:
        with threadpool_limits(1):
            yield
    finally:
        if before is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = before


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back; processes started meanwhile inherit that, and never see it.

    It reaches the whole process group, and the parent alone decides what it means.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker(alive: Connection) -> None:
    # For systems where it could not be held back.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def leave_with_parent() -> None:
        # The parent never sends: the pipe ends when it closes its end or dies, by SIGKILL too.
        try:
            alive.recv_bytes()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=leave_with_parent, daemon=True).start()


def in_processes(
    function: Callable[[_Task], _Result], tasks: Iterable[_Task], n_workers: int
) -> Iterator[_Result]:
    """Yield results as they come, from `n_workers` local processes.

    Processes are spawned, so that they share no state with the caller. They end with the iterator,
    however it ends.
    """
    tasks = list(tasks)
    if n_workers == 1 or len(tasks) < 2:
        yield from map(function, tasks)
        return
    context = multiprocessing.get_context("spawn")
    alive, ours = context.Pipe(duplex=False)
    executor = ProcessPoolExecutor(
        min(n_workers, len(tasks)), context, initializer=_start_worker, initargs=(alive,)
    )
    try:
        with _interrupts_held():
            futures = [executor.submit(function, task) for task in tasks]
        for future in as_completed(futures):
            yield future.result()
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        ours.close()
        alive.close()
        executor.shutdown(wait=True)


def on_cluster(
    function: Callable[[_Task], _Result], tasks: Iterable[_Task], address: str
) -> Iterator[_Result]:
    """Yield results as they come, from the workers of a Dask scheduler."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError(
            'scheduler needs Dask distributed; install it with: pip install "propercal[cluster]"'
        ) from error
    # Dask is only partly annotated.
    dask: Any = distributed
    with dask.Client(address, timeout="30s") as client:
        futures: list[Any] = [client.submit(function, task, pure=False) for task in tasks]
        try:
            for future in dask.as_completed(futures):
                yield future.result()
                future.release()
        finally:
            client.cancel(futures)
