"""Progress of long calls: where it is shown, that it changes nothing, and that an interrupt ends a call."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import propercal
import propercal.information
from propercal import _progress
from propercal._progress import part, steps, with_progress
from propercal._threads import map_threads
from theory_tests.instances import P_HARD, Y_HARD

RNG = np.random.default_rng(0)
Y, P = RNG.integers(0, 3, 120), RNG.dirichlet(np.ones(3), 120)

CALLS: dict[str, Callable[..., Any]] = {
    "decompose": lambda **o: propercal.decompose(Y, P, **o).calibration_error,
    "risk": lambda **o: float(propercal.decompose(Y, P, method="risk", notion="classwise", **o).calibration_error),
    "calibration_error": lambda **o: propercal.calibration_error(Y, P, **o),
    "refinement": lambda **o: propercal.refinement(Y, P, **o),
    "sharpness": lambda **o: propercal.sharpness(Y, P, **o),
    "select_bandwidth": lambda **o: propercal.select_bandwidth(Y, P, **o),
    "calibration_test": lambda **o: propercal.calibration_test(Y, P, n_resamples=99, random_state=0, **o).pvalue,
    "paired_difference": lambda **o: propercal.paired_difference(Y, P, P[:, ::-1], **o).difference,
    "compare_models": lambda **o: propercal.compare_models(Y, {"a": P, "b": P[:, ::-1]}, **o).pairs[0].difference,
    "layer_sharpness": lambda **o: propercal.information.layer_sharpness([P, P**2], Y, **o),
}


class Recorder:
    """A bar that remembers where it was."""

    def __init__(self) -> None:
        self.n = 0.0
        self.seen: list[float] = []
        self.closed = False

    def refresh(self) -> None:
        self.seen.append(self.n)

    def close(self) -> None:
        self.closed = True


def watched(function: Callable[..., Any]) -> Any:
    """A function that takes `progress` too."""
    return with_progress(function)


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Recorder]:
    """Bars that were shown; every step is drawn."""
    shown: list[Recorder] = []

    def new_bar(_: float) -> Recorder:
        shown.append(Recorder())
        return shown[-1]

    monkeypatch.setattr(_progress, "_new_bar", new_bar)
    monkeypatch.setattr(_progress, "_REDRAWN", -1.0)
    return shown


@pytest.mark.parametrize("name", CALLS)
def test_a_bar_changes_no_number_and_is_shown_where_asked_for(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain = CALLS[name]()
    assert capsys.readouterr().err == ""
    assert CALLS[name](progress=True) == plain
    assert "propercal:" in capsys.readouterr().err
    assert CALLS[name](progress=False) == plain
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", CALLS)
def test_a_bar_goes_from_0_to_100_and_never_back(name: str, bars: list[Recorder]) -> None:
    CALLS[name](progress=True)
    (bar,) = bars
    assert bar.closed
    assert len(bar.seen) > 1
    assert np.all(np.diff(bar.seen) >= 0)
    assert bar.seen[0] > 0
    assert bar.seen[-1] <= 100


@pytest.mark.parametrize(("terminal", "long", "shown"), [(True, 0.0, 1), (True, 1e9, 0), (False, 0.0, 0)])
def test_long_calls_have_a_bar_on_a_terminal(
    terminal: bool, long: float, shown: int, bars: list[Recorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_progress, "_is_terminal", lambda: terminal)
    monkeypatch.setattr(_progress, "_LONG", long)
    monkeypatch.setattr(_progress, "_FIRST_LOOK", 0.0)
    propercal.decompose(Y, P)
    assert len(bars) == shown


def test_a_call_is_long_if_its_pace_says_so(bars: list[Recorder], monkeypatch: pytest.MonkeyPatch) -> None:
    """100 steps: of .15 s each they take 15 s, which shows after 1 s; of .05 s, 5 s."""
    clock = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    monkeypatch.setattr(_progress, "_is_terminal", lambda: True)

    @watched
    def walk(seconds: float) -> list[tuple[float, bool]]:
        nonlocal clock
        begin, known = clock, []
        for _ in steps(range(100)):
            clock += seconds
            known.append((round(clock - begin, 6), bool(bars)))
        return known

    assert not any(shown for _, shown in walk(0.05))
    assert next(when for when, shown in walk(0.15) if shown) == pytest.approx(1.2)


def test_steps_within_steps_divide_their_part(bars: list[Recorder]) -> None:
    @watched
    def walk() -> None:
        for _ in steps(range(2)):
            with part(0.5):
                pass
            for _ in steps(range(5)):
                pass
        list(steps(iter("rest")))

    walk(progress=True)
    expected = [25, *(30, 35, 40, 45, 50), 50, 50, 75, *(80, 85, 90, 95, 100), 100, 100]
    np.testing.assert_allclose(bars[0].seen[: len(expected)], expected)


def test_unknown_numbers_of_steps_have_shares_of_what_is_left(bars: list[Recorder]) -> None:
    @watched
    def walk(items: Iterator[int]) -> list[int]:
        return list(steps(items))

    assert walk(iter([1, 2, 3]), progress=True) == [1, 2, 3]
    np.testing.assert_allclose(bars[0].seen, [10, 19, 27.1, 100])


def test_a_call_within_a_call_is_a_part_of_its_bar(bars: list[Recorder]) -> None:
    @watched
    def outer() -> None:
        for i in steps(range(2)):
            propercal.decompose(Y, P, progress=None if i == 0 else False)

    outer(progress=True)
    assert len(bars) == 1
    assert len([n for n in bars[0].seen if n <= 50]) > 5
    assert len([n for n in bars[0].seen if n > 50]) < 5


def test_without_a_bar_steps_are_the_items() -> None:
    items = [1, 2]
    assert steps(items) is items


def test_a_bar_that_an_error_ends_is_taken_away(bars: list[Recorder]) -> None:
    @watched
    def fails() -> None:
        for i in steps(range(3)):
            if i == 1:
                raise RuntimeError

    with pytest.raises(RuntimeError):
        fails(progress=True)
    assert bars[0].closed


@pytest.mark.parametrize("value", ["yes", 1, 0.5])
def test_progress_is_a_choice_of_three(value: Any) -> None:
    with pytest.raises(ValueError, match=r"progress = .* None, True or False"):
        propercal.decompose(Y_HARD, P_HARD, progress=value)


LONG_CALL = """
import sys, numpy as np, propercal
import propercal._progress as progress
progress._LONG, progress._FIRST_LOOK = 0.0, 0.0
rng = np.random.default_rng(0)
n = int(sys.argv[1])
p = rng.dirichlet(np.ones(3), n)
y = (rng.random((n, 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
print("begun", flush=True)
propercal.decompose(y, p, method="risk", bandwidth=0.02)
"""


@pytest.mark.slow
def test_a_terminal_shows_the_bar_and_a_pipe_does_not() -> None:
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    try:
        subprocess.run([sys.executable, "-c", LONG_CALL, "3000"], stderr=there, stdout=subprocess.DEVNULL, check=True, timeout=120)
        os.set_blocking(here, False)
        assert b"propercal:" in os.read(here, 10_000)
    finally:
        os.close(here)
        os.close(there)
    piped = subprocess.run([sys.executable, "-c", LONG_CALL, "3000"], capture_output=True, check=True, timeout=120)
    assert piped.stderr == b""


@pytest.mark.parametrize("switch", ["", "1"])
def test_a_bar_is_switched_off_as_those_of_tqdm(switch: str) -> None:
    # tqdm reads its switch when it is imported; any text switches bars off.
    code = "from propercal import _progress; bar = _progress._new_bar(1.0); bar.n = 50.0; bar.refresh(); bar.close()"
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"TQDM_DISABLE": switch}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ("propercal" in done.stderr) == (not switch)


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "4"])
def test_an_interrupt_ends_a_call_of_minutes_at_once(threads: str) -> None:
    environment = {**os.environ, "PROPERCAL_NUM_THREADS": threads}
    with subprocess.Popen(
        [sys.executable, "-c", LONG_CALL, "400000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        time.sleep(2)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=30)
        finally:
            process.kill()
    assert errors.endswith(b"KeyboardInterrupt\n")


# --- threads
@pytest.mark.parametrize("n_threads", ["1", "3"])
def test_results_of_threads_are_in_order(n_threads: str, monkeypatch: pytest.MonkeyPatch, bars: list[Recorder]) -> None:
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", n_threads)

    @watched
    def squares() -> list[int]:
        return map_threads(lambda i: i * i, range(20))

    assert squares(progress=True) == [i * i for i in range(20)]
    np.testing.assert_allclose(bars[0].seen, [*range(5, 101, 5), 100])


def test_an_error_in_a_thread_drops_what_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", "2")
    begun = []
    lock = threading.Lock()

    def work(i: int) -> None:
        with lock:
            begun.append(i)
        if i == 0:
            raise RuntimeError("the first")
        time.sleep(0.01)

    with pytest.raises(RuntimeError, match="the first"):
        map_threads(work, range(1000))
    assert len(begun) < 1000
