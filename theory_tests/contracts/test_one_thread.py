"""One thread for those who ask for it, and no trace of that for anybody else."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

import propercal
from propercal import _threads
from propercal.experiments.workers import in_processes, one_thread
from propercal.generators import BregmanGenerator


def numbers() -> list[int]:
    return [library["num_threads"] for library in threadpool_info()]


def inherited(_: int) -> int:
    return _threads.n_threads()


@pytest.fixture(autouse=True)
def three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", "3")


def test_it_ends_with_its_block_and_nests() -> None:
    before = numbers()
    with one_thread():
        assert _threads.n_threads() == 1
        with one_thread():
            assert _threads.n_threads() == 1
        assert _threads.n_threads() == 1
        assert set(numbers()) == {1}
        assert os.environ["PROPERCAL_NUM_THREADS"] == "3"
    assert _threads.n_threads() == 3
    assert numbers() == before
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert _threads.n_threads() == 3
    assert numbers() == before


@pytest.mark.slow
def test_four_threads_leave_nothing_behind() -> None:
    """By the environment, 27 of 300 rounds ended with PROPERCAL_NUM_THREADS = 1."""
    before, environment = numbers(), dict(os.environ)
    wrong: list[Any] = []

    def work(i: int) -> None:
        for pause in (0.0, 1e-4 * i):
            with one_thread():
                time.sleep(pause)
                if _threads.n_threads() != 1 or of_blas() != {1}:
                    wrong.append("more than one within")
            if _threads.n_threads() != 3:
                wrong.append("not three after")

    for _ in range(300):
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert os.environ == environment
    assert wrong == []
    assert numbers() == before


def of_blas() -> set[int]:
    return {library["num_threads"] for library in found_libraries().info() if library["user_api"] == "blas"}


@cache
def found_libraries() -> ThreadpoolController:
    """What is loaded is looked for once; each library is asked for its number every time."""
    return ThreadpoolController()


@pytest.fixture
def two_of_blas() -> Iterator[None]:
    """The environment may ask for one, and this thread is then the one that BLAS obeys."""
    with threadpool_limits(2, user_api="blas"):
        if of_blas() != {2}:
            pytest.skip("BLAS has one thread")
        yield
        assert of_blas() == {2}


@pytest.mark.usefixtures("two_of_blas")
@pytest.mark.parametrize("context", [one_thread, lambda: _threads.one_blas_thread], ids=["one_thread", "one_blas_thread"])
def test_any_thread_can_ask(context: Callable[[], AbstractContextManager[None]]) -> None:
    """threadpoolctl 3.8 ignores all threads but the one that set a limit first."""
    found = []

    def ask() -> None:
        with context():
            found.append(of_blas())
        found.append(of_blas())

    ask()
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert found == [{1}, {2}, {1}, {2}]


@pytest.mark.usefixtures("two_of_blas")
@pytest.mark.parametrize("first_ends_first", [False, True])
def test_one_blas_thread_is_lifted_by_whichever_thread_ends_last(*, first_ends_first: bool) -> None:
    entered, may_end = threading.Event(), threading.Event()

    def ask() -> None:
        with _threads.one_blas_thread:
            entered.set()
            assert may_end.wait(60)

    other = threading.Thread(target=ask)

    def end() -> None:
        may_end.set()
        other.join()

    if first_ends_first:
        other.start()
        assert entered.wait(60)
        with _threads.one_blas_thread:
            end()
            assert of_blas() == {1}
    else:
        with _threads.one_blas_thread:
            other.start()
            assert entered.wait(60)
        assert of_blas() == {1}
        end()
    assert of_blas() == {2}


def test_the_rest_of_the_process_is_left_alone() -> None:
    seen: list[int] = []
    with one_thread():
        other = threading.Thread(target=lambda: seen.append(_threads.n_threads()))
        other.start()
        other.join()
        # Other programs too.
        code = "from propercal import _threads; print(_threads.n_threads())"
        child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen == [3]
    assert child.stdout.strip() == "3"


@pytest.mark.slow
def test_worker_processes_inherit_it() -> None:
    with one_thread():
        assert list(in_processes(inherited, range(2), 2)) == [1, 1]
    assert list(in_processes(inherited, range(2), 2)) == [3, 3]


def test_tensors_are_decomposed_with_one_thread_of_torch_and_its_number_is_given_back() -> None:
    torch = pytest.importorskip("torch")
    seen: list[int] = []

    class Watching(BregmanGenerator):
        name = "watching"

        def value(self, p: Any) -> Any:
            return (p**2).sum(-1) - 1

        def gradient(self, p: Any) -> Any:
            return 2 * p

        def hessian(self, p: Any) -> Any:
            seen.append(torch.get_num_threads())
            return torch.diag_embed(torch.full_like(p, 2.0))

    prob = torch.tensor(np.random.default_rng(0).dirichlet(np.ones(3), 100))
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        propercal.decompose(np.arange(100) % 3, prob, generator=Watching())
        # What sums over rows once, beside the fits, may use more.
        assert seen.count(1) > 0.9 * len(seen)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
