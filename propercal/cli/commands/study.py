"""``propercal study new NAME``: a skeleton of a Monte Carlo study, which runs as it is."""

from __future__ import annotations

import argparse
import keyword
from pathlib import Path
from typing import Any

from propercal._files.names import shown
from propercal.cli import options as flags
from propercal.cli.codes import DONE, FAILED
from propercal.cli.each_file import FAULTS
from propercal.cli.output import named_reason, say_plainly
from propercal.cli.study_skeleton import skeleton
from propercal.cli.writing import check_new, write

SUMMARY = "begin a Monte Carlo study of your own"

_ABOUT = """\
Write NAME.py, a study that runs as it is: it asks how far the calibration error of a simulated
model is from the truth, as the sample grows. Change what varies, what is measured and what is
claimed; the engine does the rest (random numbers, workers, a journal from which an interrupted run
goes on, the dataset, the table, the figure).
"""
_EXAMPLES = """\
  propercal study new my_bias
  python my_bias.py --tiny --workers 1
"""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = flags.new_command(commands, "study", run, flags.Help(SUMMARY, _ABOUT, _EXAMPLES))
    parser.add_argument("action", choices=("new",), metavar="new", help="write a new study")
    parser.add_argument("name", type=_name, metavar="NAME", help="of the study: a name of Python")
    parser.add_argument(
        "--folder", type=Path, default=Path(), metavar="FOLDER", help="where it goes (default: .)"
    )
    flags.force(parser)


def run(options: argparse.Namespace) -> int:
    """Write the study."""
    path = options.folder / f"{options.name}.py"
    try:
        check_new(path, (), force=options.force)
        write(path, skeleton(options.name).encode())
    except FAULTS as error:
        say_plainly(named_reason(error))
        return FAILED
    print(f"{shown(path)} is written; run it by: python {shown(path)} --tiny --workers 1")
    return DONE


def _name(text: str) -> str:
    name = text.removesuffix(".py")
    if not name.isidentifier() or keyword.iskeyword(name) or not name.isascii():
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected letters, digits and underscores, such as my_bias"
        )
    return name
