"""The check of a generator in a process of its own, since its code may do anything.

It may end the process, with an exit code that says that all is well, or never come back. What is
not said by a whole report has failed.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, Literal, NamedTuple

TIMEOUT = 120.0

Kind = Literal["at", "passed", "failed", "unusable", "missing"]


class Verdict(NamedTuple):
    """What became of a check."""

    kind: Kind
    """"unusable": there is no such generator; "missing": an import that the check needs."""
    text: str


def verify(spec: str, timeout: float, given: dict[str, Any]) -> Verdict:
    """Check the generator that `spec` names, with `timeout` seconds for each law."""
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_check, args=(receiver, sender, spec, given), daemon=True)
    try:
        with _held_interruption(), warnings.catch_warnings():
            # Nothing of this process runs in another thread, but for those of BLAS, which sleep.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        sender.close()
        return _followed(receiver, process, timeout)
    finally:
        # It was not started if an interruption came first.
        if process.is_alive():
            process.kill()
            process.join()


@contextmanager
def _held_interruption() -> Iterator[None]:
    """Let an interruption wait for the end: Python drops one that comes in the midst of a fork.

    A mask would hold it back from this thread alone, and those of BLAS would take it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda *of: came.append(of))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came and callable(before):
        before(*came[0])


def _followed(receiver: Connection, process: Any, timeout: float) -> Verdict:
    spent: dict[str, float] = defaultdict(float)
    step = "import"
    while True:
        start = time.monotonic()
        if not receiver.poll(max(0.0, timeout - spent[step])):
            return _unfinished(step, f"not done after {timeout:g} s (see --timeout)")
        spent[step] += time.monotonic() - start
        try:
            said: Verdict = receiver.recv()
        except EOFError:
            process.join()
            return _unfinished(step, f"ends the process, with exit code {process.exitcode}")
        if said.kind != "at":
            return said
        step = said.text


def _unfinished(step: str, what: str) -> Verdict:
    return Verdict("failed", f"FAIL  {step}  the generator's code {what}; nothing was proved.")


def _check(receiver: Connection, sender: Connection, spec: str, given: dict[str, Any]) -> None:
    """Check the generator, and say which law is at work, and at last what was found."""
    # Or what is said would wait for ever to be read where the parent process is gone.
    receiver.close()

    def say(kind: Kind, text: object) -> None:
        sender.send(Verdict(kind, str(text)))

    from propercal.cli.generator_spec import load_generator

    # Of an interruption the parent process tells, and ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        generator = load_generator(spec)
    except (ValueError, TypeError, ImportError) as error:
        say("unusable", error)
        return
    try:
        from propercal.testing.checker import examine

        report = examine(generator, progress=lambda law: say("at", law), **given)
    except ImportError as error:
        say("missing", error)
        return
    say("passed" if report.passed else "failed", report)
