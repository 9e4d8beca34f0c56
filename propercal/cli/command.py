"""The command line: ``propercal COMMAND ...``, and what ends it."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from propercal._data.words.advice import advising
from propercal._files.names import shown
from propercal._interrupts import raise_again
from propercal.cli.codes import DONE, FAILED, INTERRUPTED, USAGE
from propercal.cli.completion import complete, is_completing
from propercal.cli.options import HelpFormatter
from propercal.cli.output import reason
from propercal.cli.words import arguments_of

__all__ = ["main"]

#: Each is a module of `propercal.cli.commands` with SUMMARY, `add(commands)` and `run(options)`.
COMMANDS = (
    "decompose",
    "test",
    "compare",
    "recalibrate",
    "monitor",
    "plot",
    "report",
    "verify",
    "study",
)

_DESCRIPTION = """\
Calibration errors of predicted probabilities.

propercal COMMAND --help has examples, flags and exit codes of each command.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Returns
    -------
    int
        Exit code: 0 done, 1 the data failed, 3 a gate or an alarm, 130 interrupted.

    Raises
    ------
    SystemExit
        With code 2 if the arguments are wrong, and with 0 after ``--help`` and ``--version``.

    Examples
    --------
    >>> main(["decompose", "--json"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    try:
        if arguments is None:
            raise_again()
        for stream in (sys.stdout, sys.stderr):
            # A name that the terminal's encoding lacks is escaped, not a crash.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        # A module that is named among the arguments is imported here.
        options = _parsed(sys.argv[1:] if arguments is None else list(arguments))
        if options is None:
            return USAGE
        # Messages to who has files advise flags of the command; those to other code what it calls.
        of_files = hasattr(options, "files")
        with advising(*arguments_of(options.flags)) if of_files else contextlib.nullcontext():
            code: int = options.run(options)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("propercal: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, say) has what it wanted. Point stdout elsewhere, or the interpreter's
        # last flush would complain.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        # What can fail in a file is handled where files are read: this is the output.
        print(f"propercal: cannot write the output: {reason(error)}", file=sys.stderr)
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the arguments, which may hold anything, and the nearest right."""
        super().error(shown(self._with_nearest(message)))

    def _with_nearest(self, message: str) -> str:
        head, found, rest = message.partition("invalid choice: ")
        if not found:
            return message
        name = rest.partition(" (choose")[0].strip("'\"")
        choices = [
            str(each)
            for action in self._actions
            if action.choices is not None and head.startswith(f"argument {_called(action)}: ")
            for each in action.choices
        ]
        return f"{message}{_nearest(name, choices)}"

    @property
    def flags(self) -> list[str]:
        """All flags."""
        return [flag for action in self._actions for flag in action.option_strings]

    def refuse_others(self, others: Sequence[str]) -> NoReturn:
        """Refuse arguments that the command does not have."""
        wrong = next((each for each in others if each.startswith("-")), "")
        nearest = _nearest(wrong.partition("=")[0], self.flags, 0.8)
        self.error(f"unrecognized arguments: {' '.join(others)}{nearest}")


def _called(action: argparse.Action) -> str:
    """Return what errors of argparse call an argument."""
    return "/".join(action.option_strings) or str(action.metavar or action.dest)


def _nearest(name: str, names: Sequence[str], cutoff: float = 0.6) -> str:
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=cutoff) if name else []
    return f"; did you mean {close[0]!r}?" if close else ""


def _parsed(arguments: list[str]) -> argparse.Namespace | None:
    """Return the options, None where there is no command."""
    parser, commands = _parser(arguments)
    if is_completing():
        complete(parser)
    options, others = parser.parse_known_args(arguments)
    if options.command is None:
        if others:
            parser.refuse_others(others)
        parser.print_help(sys.stderr)
        return None
    if (
        others
        and hasattr(options, "files")
        and all(each == "-" or each[:1] != "-" for each in others)
    ):
        # Files may stand between flags, which argparse does not know.
        options.files += [Path(each) for each in others]
        others = []
    chosen: _Parser = commands.choices[options.command]
    if others:
        chosen.refuse_others(others)
    options.flags = chosen.flags
    return options


def _parser(arguments: Sequence[str]) -> tuple[_Parser, Any]:
    """Return the parser, with flags of the command that is among the arguments alone."""
    import propercal

    parser = _Parser(
        prog="propercal",
        description=_DESCRIPTION,
        formatter_class=HelpFormatter,
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"propercal {propercal.__version__}",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    chosen = next((each for each in arguments if not each.startswith("-")), None)
    for name in COMMANDS:
        if chosen in COMMANDS and name != chosen and not is_completing():
            commands.add_parser(name)
            continue
        module = import_module(f"propercal.cli.commands.{name}")
        if chosen is None and not is_completing():
            commands.add_parser(name, help=module.SUMMARY)
        else:
            module.add(commands)
    return parser, commands
