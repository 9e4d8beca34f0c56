"""``propercal verify``: the laws of a Bregman generator."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from propercal._files.names import one_line, shown
from propercal.cli import options as flags
from propercal.cli.arguments import positive, whole_number
from propercal.cli.codes import DONE, FAILED
from propercal.cli.verification import TIMEOUT, verify

SUMMARY = "check that a generator of yours obeys every law"

_ABOUT = """\
Check a Bregman generator F, its gradient and its Hessian against every law, and print the simplest
counter-example where they fail. The object is a BregmanGenerator, a class of them or a function, in
a module that can be imported from here; the name of a built-in generator will do too.

Each law is a line: pass, FAIL, skip (it does not apply, for the reason given) or warn (a property
that F need not have). The exit code is 0 if every law holds, and 1 if one fails.
"""
_EXAMPLES = """\
  propercal verify my_losses:Focal
  propercal verify my_losses:weighted --n-classes 2 10 --max-examples 1000
"""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = flags.new_command(commands, "verify", run, flags.Help(SUMMARY, _ABOUT, _EXAMPLES))
    parser.add_argument("generator", metavar="package.module:object")
    parser.add_argument(
        "--n-classes",
        nargs="+",
        type=whole_number(2),
        metavar="K",
        help="numbers of classes to try (default: 2 3 5)",
    )
    parser.add_argument(
        "--max-examples",
        type=whole_number(1),
        metavar="N",
        help="triples of points at which every law is checked (default: 100)",
    )
    parser.add_argument(
        "--timeout",
        type=positive("a positive number of seconds"),
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"time for each law, after which it fails (default: {TIMEOUT:g})",
    )


def run(options: argparse.Namespace) -> int:
    """Check the generator."""
    # What is not given is left to the defaults of `examine`.
    given = flags.given(options, "n_classes", "max_examples")
    found = verify(options.generator, options.timeout, given)
    if found.kind == "unusable":
        options.refuse(f"argument package.module:object: {one_line(found.text)}")
    if found.kind == "missing":
        print(f"propercal: {shown(one_line(found.text))}", file=sys.stderr)
        return FAILED
    print(found.text)
    return DONE if found.kind == "passed" else FAILED
