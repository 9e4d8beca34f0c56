"""Processes that compute cells: local ones, or those of a Dask cluster."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from propercal import _threads

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

one_thread = _threads.one_thread


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C while what was interrupted is put away: a second one would cut that short."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start_worker(alive: Connection, n: int | None) -> None:
    if n is not None:
        os.environ["PROPERCAL_NUM_THREADS"] = str(n)
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

    Processes are spawned, so that they share no state with the caller but its limit to one thread.
    They end with the iterator, however it ends.

    Raises
    ------
    ChildProcessError
        If a process ends before its work.
    """
    tasks = list(tasks)
    if n_workers == 1 or len(tasks) < 2:
        yield from map(function, tasks)
        return
    context = multiprocessing.get_context("spawn")
    alive, ours = context.Pipe(duplex=False)
    limit = 1 if _threads.n_threads() == 1 else None
    executor = ProcessPoolExecutor(
        min(n_workers, len(tasks)), context, initializer=_start_worker, initargs=(alive, limit)
    )
    try:
        with _interrupts_held():
            futures = [executor.submit(function, task) for task in tasks]
        for future in as_completed(futures):
            yield future.result()
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "a worker process was killed, perhaps for want of memory; fewer workers need less"
        ) from error
    finally:
        with _deaf_to_interrupts():
            executor.shutdown(wait=False, cancel_futures=True)
            ours.close()
            alive.close()
            executor.shutdown(wait=True)


def on_cluster(
    function: Callable[[_Task], _Result],
    tasks: Iterable[_Task],
    address: str,
    *,
    probe: Callable[[], Any] | None = None,
    check: Callable[[Any, str], None] | None = None,
) -> Iterator[_Result]:
    """Yield results as they come, from the workers of a Dask scheduler.

    What `probe` returns on each worker is given to `check` with the worker's address: before the
    first task, and after an error, which may come from a worker that is not like the others.

    Raises
    ------
    ConnectionError
        If the scheduler cannot be reached, or is lost.
    ChildProcessError
        If Dask gives a task up because workers died of it.
    ImportError
        If Dask distributed is not installed.
    """
    try:
        import distributed
    except ImportError as error:
        raise ImportError(
            'scheduler needs Dask distributed; install it with: pip install "propercal[cluster]"'
        ) from error
    # Dask is only partly annotated.
    dask: Any = distributed

    def check_workers() -> None:
        if probe is not None and check is not None:
            for worker, found in client.run(probe, on_error="ignore").items():
                check(found, worker)

    with _quiet():
        client = _connected(dask, address)
        try:
            check_workers()
            futures: list[Any] = [client.submit(function, task, pure=False) for task in tasks]
            for future in dask.as_completed(futures):
                yield future.result()
                future.release()
        except dask.scheduler.KilledWorker as error:
            raise ChildProcessError(f"workers of {address} were killed: {error}") from error
        except (CancelledError, OSError) as error:
            raise ConnectionError(
                f"the scheduler at {address} was lost; start it, and give the same command: "
                "finished cells are kept"
            ) from error
        except Exception:
            # That workers run other code explains an error better than the error itself.
            check_workers()
            raise
        finally:
            # Tasks that nobody waits for are given up with their client.
            with _deaf_to_interrupts(), suppress(OSError):
                client.close(timeout=5)


def _connected(dask: Any, address: str) -> Any:
    try:
        return dask.Client(address, timeout="30s")
    except OSError as error:
        raise ConnectionError(
            f"no scheduler answers at {address}; start one with: dask scheduler"
        ) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Let Dask log nothing here: what it says of a lost scheduler comes with tracebacks."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
