"""Flags that several commands share, each defined once."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from propercal.cli.arguments import (
    bandwidth,
    blocks,
    fraction,
    generator_named,
    known,
    one_of,
    seed,
    whole_number,
)
from propercal.cli.codes import EXIT_CODES
from propercal.cli.completion import columns_of_files

#: Columns of help.
HELP_WIDTH = 88
#: How results are printed.
FORMATS = ("table", "json", "csv", "markdown")
NOTIONS = ("canonical", "classwise", "top-label")

#: What a FILE is, for every command that reads one.
FILES = """\
FILE is one of
  .npz     the array "labels", and one of "probs" (n, k), "logits" (n, k) or
           "confidence" (n,)
  .npy     one of these, by its name (test_probs.npy); its labels are beside it, with
           "labels" in that place (test_labels.npy)
  .csv, .tsv, .parquet
           a label column and one column of probabilities per class; a label is the name
           of its class column, or an integer that counts those columns from 0
  .jsonl   an object a line: a label, and a number per class, or a list or an object
           of these under "probs"
  -        standard input: csv, tsv, jsonl or npz, as its first bytes say

Tables of text, and standard input, may be packed by gzip (.csv.gz).
"""

Parent = argparse.ArgumentParser


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Paragraphs as wide as a page, or as a narrower terminal; lines that are indented stay."""

    def __init__(self, prog: str, **options: Any) -> None:
        columns = shutil.get_terminal_size(fallback=(HELP_WIDTH, 24)).columns
        super().__init__(prog, width=min(HELP_WIDTH, columns), max_help_position=30, **options)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        prose: list[str] = []
        for line in [*text.splitlines(), ""]:
            if line[:1].strip():
                prose.append(line)
                continue
            lines += textwrap.wrap(" ".join(prose), width)
            prose = []
            lines.append(line)
        return "".join(f"{indent}{line}\n" for line in lines)


class Help(NamedTuple):
    """What the help of a command says."""

    summary: str
    about: str
    examples: str


def new_command(
    commands: argparse._SubParsersAction[Any],
    name: str,
    run: Callable[[argparse.Namespace], int],
    words: Help,
    parents: Sequence[Parent] = (),
) -> argparse.ArgumentParser:
    """Add the parser of a command, whose help ends with examples and exit codes."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=words.summary,
        description=words.about,
        epilog=f"Examples:\n{words.examples}\n{EXIT_CODES}",
        formatter_class=HelpFormatter,
        parents=list(parents),
    )
    parser.set_defaults(run=run, refuse=parser.error)
    return parser


def command_of_files(
    commands: argparse._SubParsersAction[Any],
    name: str,
    run: Callable[[argparse.Namespace], int],
    words: Help,
    parents: Sequence[Parent],
    nargs: str = "+",
) -> argparse.ArgumentParser:
    """Add the parser of a command that reads files: what their columns are, and FILE."""
    parser = new_command(commands, name, run, words, [columns(), *parents])
    parser.add_argument("files", nargs=nargs, type=Path, metavar="FILE")
    return parser


def columns() -> Parent:
    """Return flags that say what the columns of a file are."""
    parent = Parent(add_help=False)
    group = parent.add_argument_group("columns of a table")
    _column(group, "--label-column", "label column (default: label or labels)")
    _column(
        group,
        "--class",
        "class column; repeat it for each, in their order: all other columns are then left out "
        "(default: every column that is not named otherwise). Of arrays: the name of each column",
        dest="classes",
        action="append",
        default=[],
    )
    group.add_argument(
        "--pos-label",
        metavar="LABEL",
        help="the label that the only class column is the probability of",
    )
    _column(group, "--id-column", "column, or array of an npz file, that tells rows apart")
    _column(
        group,
        "--drop",
        "column that is none of these; repeat it for several",
        action="append",
        default=[],
    )
    group.add_argument(
        "--from-logits",
        action="store_true",
        help="the class columns are logits (arrays say so by their name)",
    )
    return parent


def weights() -> Parent:
    """Return the flag that says what rows weigh."""
    parent = Parent(add_help=False)
    group = parent.add_argument_group("rows")
    _column(group, "--weight-column", "column, or array of an npz file, of weights of rows")
    return parent


def rows() -> Parent:
    """Return flags that say what rows weigh, and which depend on each other."""
    parent = Parent(add_help=False, parents=[weights()])
    group = parent.add_argument_group("rows")
    _column(
        group,
        "--group-column",
        "the same of groups: rows of one group may depend on each other, as repetitions do",
    )
    group.add_argument(
        "--blocks",
        type=blocks,
        metavar="N|auto",
        help="the rows are a series: so many in a row are one group",
    )
    return parent


def subgroup_column(group: Any) -> None:
    """Add the flag that names groups of rows to compare with each other."""
    _column(
        group,
        "--subgroup-column",
        "column, or array of an npz file, of groups of rows to compare, such as sexes or sites",
    )


def loss(*, several: bool = True, default: str = "log") -> Parent:
    """Return flags of what is estimated."""
    from propercal._data.predictions.notions import as_notion
    from propercal.generators import available

    parent = Parent(add_help=False)
    group = parent.add_argument_group("what is estimated")
    again = "; repeat it for several" if several else ""
    _completed(
        group.add_argument(
            "--generator",
            action="append" if several else "store",
            type=generator_named,
            metavar="NAME",
            help=f"{', '.join(available())}, or package.module:object for your own{again} "
            f"(default: {default})",
        ),
        available(),
    )
    _completed(
        group.add_argument(
            "--notion",
            type=known(as_notion),
            metavar="NOTION",
            help="canonical (all probabilities at once), classwise (one class against the rest, "
            "mean over classes) or top-label (default: canonical)",
        ),
        NOTIONS,
    )
    return parent


def method() -> Parent:
    """Return flags of how it is estimated: the methods and their settings."""
    from propercal._kernels.kernels import as_kernel
    from propercal.methods import METHODS

    parent = Parent(add_help=False)
    group = parent.add_argument_group("how it is estimated")
    _completed(
        group.add_argument(
            "--method",
            type=known(lambda text: one_of(METHODS, text)),
            metavar="METHOD",
            help="debiased (with an interval), or one of the published estimates, direct and risk, "
            "which are biased in different ways (default: debiased)",
        ),
        METHODS,
    )
    group.add_argument(
        "--kernel",
        type=known(as_kernel),
        metavar="KERNEL",
        help="dirichlet, or for direct and risk uniform-bins or quantile-bins (default: dirichlet)",
    )
    group.add_argument(
        "--bandwidth",
        type=bandwidth,
        metavar="auto|NUMBER",
        help="bandwidth of the kernel, 1 / number of bins for binning; auto chooses it from the "
        "data (default: auto)",
    )
    group.add_argument(
        "--n-folds",
        type=whole_number(3),
        metavar="N",
        help="debiased: folds of cross-fitting, 3 to 20 (default: 5)",
    )
    group.add_argument(
        "--include-self",
        dest="exclude_self",
        action="store_const",
        const=False,
        help="direct and risk: leave the label at a point in its own mean, as binning usually does",
    )
    group.add_argument(
        "--algorithm",
        metavar="NAME",
        help="how the kernel is summed: auto, exact or linear (default: auto)",
    )
    return parent


def seed_and_level() -> Parent:
    """Return the flags of random numbers and of intervals."""
    parent = Parent(add_help=False)
    group = parent.add_argument_group("random numbers and intervals")
    group.add_argument(
        "--seed", type=seed, metavar="N", help="of all that is drawn at random (default: 0)"
    )
    group.add_argument(
        "--level",
        type=fraction("a number between 0 and 1"),
        metavar="LEVEL",
        help="confidence level of intervals; tests reject at 1 - LEVEL (default: 0.95)",
    )
    return parent


def output() -> Parent:
    """Return flags of how results are printed."""
    parent = Parent(add_help=False)
    group = parent.add_argument_group("output")
    group.add_argument(
        "--format",
        choices=FORMATS,
        default="table",
        metavar="FORMAT",
        help="table, json, csv or markdown (default: table)",
    )
    group.add_argument(
        "--json",
        dest="format",
        action="store_const",
        const="json",
        help="the same as --format json",
    )
    progress(group)
    return parent


def progress(parser: Any) -> None:
    """Add the flag that hides progress."""
    parser.add_argument(
        "--no-progress",
        dest="progress",
        action="store_const",
        const=False,
        help="no progress bar (there is one on a terminal where a call takes long)",
    )


def force(parser: Any) -> None:
    """Add the flag that allows to overwrite."""
    parser.add_argument("--force", action="store_true", help="overwrite a file that exists")


#: Where a flag is called otherwise than the argument of Python.
_ARGUMENTS = {"seed": "random_state", "level": "confidence_level"}


def given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the arguments of those flags that were given.

    What is not given is left to the defaults of Python, so that both always agree.
    """
    found = {name: getattr(options, name) for name in names}
    return {_ARGUMENTS.get(k, k): value for k, value in found.items() if value is not None}


METHOD_FLAGS = (
    "method",
    "kernel",
    "bandwidth",
    "n_folds",
    "exclude_self",
    "algorithm",
    "seed",
)


def generators_of(options: argparse.Namespace, default: str = "log") -> list[Any]:
    """Return the generators that were named, or the default."""
    return options.generator or [generator_named(default)]


def _column(group: Any, flag: str, text: str, **more: Any) -> None:
    action = group.add_argument(flag, metavar="NAME", help=text, **more)
    action.completer = columns_of_files


def _completed(action: argparse.Action, names: Sequence[str]) -> None:
    """Let a shell complete the value of a flag by these names."""
    action.completer = lambda **_: list(names)  # type: ignore[attr-defined]
