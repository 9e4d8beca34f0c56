"""Ctrl-C while a command is still importing: the end of the process, without a traceback."""

import signal
import sys
import threading


def end_at_once() -> None:
    """Let Ctrl-C end the process at once, as it ends programs that do not heed it."""
    if _is_default(signal.default_int_handler):
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def raise_again() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` again."""
    if _is_default(signal.SIG_DFL):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_default(handler: object) -> bool:
    # Handlers of others stay, and only the main thread may set one.
    here = threading.current_thread() is threading.main_thread()
    return here and signal.getsignal(signal.SIGINT) is handler


def _is_command() -> bool:
    """Tell whether the process was started for the command line of this package."""
    arguments: list[str] = getattr(sys, "argv", None) or [""]
    if arguments[0] == "-m":
        # While Python looks for a module to run, this stands in place of its path.
        return sys.orig_argv[-len(arguments)].removeprefix("-m") == "propercal"
    name: str = arguments[0].replace("\\", "/").rpartition("/")[2]
    return name.partition(".")[0] == "propercal"


if _is_command():
    end_at_once()
