"""The command line: ``propercal decompose FILE...`` and ``propercal verify OBJECT``."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from propercal._interrupts import raise_again
from propercal.cli.arguments import (
    bandwidth,
    generator_named,
    known,
    one_of,
    positive,
    whole_number,
)
from propercal.cli.output import Table, one_line, record, shown
from propercal.cli.verification import TIMEOUT, verify

if TYPE_CHECKING:
    from propercal import BregmanGenerator, Decomposition

__all__ = ["main"]

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

_DESCRIPTION = """\
Split the risk of predicted probabilities into calibration error and refinement.

FILE is one of
  .npz                   the array 'labels', and one of 'probs' (n, k), 'logits' (n, k) or
                         'confidence' (n,)
  .npy                   one of these, by its name (test_probs.npy); its labels are beside it, with
                         'labels' in that place (test_labels.npy)
  .csv, .tsv, .parquet   a label column and one column of probabilities per class; a label is the
                         name of its class column, or an integer that counts those columns from 0
  .jsonl                 an object a line: a label, and a number per class or a list 'probs'
  -                      a table in csv from standard input
Tables of text may be packed (.csv.gz).
"""

_EPILOG = """\
Log values are in nats; the Brier score is summed over classes. With --json, a list with one object
per file and generator is printed, and infinite or undefined numbers are the strings "Infinity",
"-Infinity" and "NaN", since JSON has no such numbers. Rows are counted from 0.

Exit codes: 0 done; 1 a file could not be read or its data failed (one line on standard error each,
the other files are still processed); 2 usage.
"""


_VERIFY_DESCRIPTION = """\
Check a Bregman generator F, its gradient and its Hessian against every law, and print the simplest
counter-example where they fail. The object is a BregmanGenerator, a class of them or a function, in
a module that can be imported from here; the name of a built-in generator will do too.
"""

_VERIFY_EPILOG = """\
Each law is a line: pass, FAIL, skip (it does not apply, for the reason given) or warn (a property
that F need not have).

Exit codes: 0 every law holds; 1 a law fails; 2 usage.
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
        Exit code: 0 done, 1 the data failed, 130 interrupted.

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
        parser = _parser()
        # A module that is named among the arguments is imported here.
        options = parser.parse_args(arguments)
        if options.command is None:
            parser.print_help(sys.stderr)
            return USAGE
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
        print(f"propercal: cannot write the output: {_reason(error)}", file=sys.stderr)
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the arguments, which may hold anything."""
        super().error(shown(message))


def _parser() -> argparse.ArgumentParser:
    import propercal

    parser = _Parser(prog="propercal", description="Calibration errors of predicted probabilities.")
    parser.add_argument(
        "--version",
        action="version",
        version=f"propercal {propercal.__version__}",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_decompose(commands)
    _add_verify(commands)
    return parser


def _add_decompose(commands: argparse._SubParsersAction[Any]) -> None:
    from propercal._data.notions import as_notion
    from propercal._kernels.kernels import as_kernel
    from propercal.generators import available
    from propercal.methods import METHODS

    decompose = commands.add_parser(
        "decompose",
        help="split the risk into calibration error and refinement",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    decompose.set_defaults(run=_decompose)
    decompose.add_argument("files", nargs="+", type=Path, metavar="FILE")
    decompose.add_argument(
        "--generator",
        action="append",
        type=generator_named,
        metavar="NAME",
        help=f"{', '.join(available())}, or package.module:object for your "
        "own; repeat it for several (default: log)",
    )
    decompose.add_argument(
        "--notion",
        type=known(as_notion),
        help="canonical (all probabilities at once), classwise (one class against the rest, mean "
        "over classes) or top-label (default: canonical)",
    )
    decompose.add_argument(
        "--method",
        type=known(lambda text: one_of(METHODS, text)),
        help="debiased (with an interval), or one of the published estimates, direct and risk, "
        "which are biased in different ways (default: debiased)",
    )
    decompose.add_argument(
        "--kernel",
        type=known(as_kernel),
        help="dirichlet, uniform-bins or quantile-bins (default: dirichlet)",
    )
    decompose.add_argument(
        "--bandwidth",
        type=bandwidth,
        metavar="auto|NUMBER",
        help="bandwidth of the kernel, 1 / number of bins for binning; auto chooses it from the "
        "data (default: auto)",
    )
    _add_columns(decompose)
    decompose.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _add_columns(parser: argparse.ArgumentParser) -> None:
    """Add what a file's columns are."""
    parser.add_argument(
        "--label-column", metavar="NAME", help="label column of a table (default: label or labels)"
    )
    parser.add_argument(
        "--pos-label",
        metavar="LABEL",
        help="the label that the only class column of a table is the probability of",
    )
    parser.add_argument(
        "--weight-column",
        metavar="NAME",
        help="column, or array of an npz file, of weights of rows",
    )
    parser.add_argument(
        "--group-column",
        metavar="NAME",
        help="the same of groups: rows of one group may depend on each other, as repetitions do",
    )
    parser.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="NAME",
        help="column of a table that is no class; repeat it for several",
    )
    parser.add_argument(
        "--from-logits",
        action="store_true",
        help="the class columns of tables are logits (arrays say so by their name)",
    )


def _add_verify(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "verify",
        help="check that a generator of yours obeys every law",
        description=_VERIFY_DESCRIPTION,
        epilog=_VERIFY_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_verify, refuse=parser.error)
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


def _verify(options: argparse.Namespace) -> int:
    # What is not given is left to the defaults of `examine`.
    names = ("n_classes", "max_examples")
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    found = verify(options.generator, options.timeout, given)
    if found.kind == "unusable":
        options.refuse(f"argument package.module:object: {one_line(found.text)}")
    if found.kind == "missing":
        print(f"propercal: {shown(one_line(found.text))}", file=sys.stderr)
        return FAILED
    print(found.text)
    return DONE if found.kind == "passed" else FAILED


def _decompose(options: argparse.Namespace) -> int:
    generators = options.generator or [generator_named("log")]
    table = None if options.json else Table(options.files, generators)
    records: list[dict[str, Any]] = []
    code = DONE
    for path in options.files:
        notes: list[str] = []
        try:
            with _collected_warnings(notes):
                results = _decompose_file(path, options, generators)
        except (ValueError, OSError, ImportError, MemoryError) as error:
            results, code = [], FAILED
            notes.append(_reason(error))
        if table is not None:
            for result in results:
                table.print_row(path, result)
        for note in notes:
            _say(path, note)
        records += [record(path, result, notes) for result in results]
    if options.json:
        print(json.dumps(records, indent=2, allow_nan=False))
    return code


def _decompose_file(
    path: Path, options: argparse.Namespace, generators: list[BregmanGenerator]
) -> list[Decomposition]:
    import propercal
    from propercal.cli.files import holds_arrays, read_predictions

    # Names of columns are about the tables among the files, where there are some.
    named = not holds_arrays(path) or all(map(holds_arrays, options.files))
    data = read_predictions(
        path,
        label_column=options.label_column if named else None,
        weight_column=options.weight_column,
        group_column=options.group_column,
        drop=options.drop if named else (),
        from_logits=options.from_logits,
        pos_label=options.pos_label,
    )
    # What is not given is left to the defaults of `decompose`, so that both always agree.
    names = ("notion", "method", "kernel", "bandwidth")
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    return propercal.decompose(
        data.y_true,
        data.y_proba,
        generator=generators,
        from_logits=data.from_logits,
        sample_weight=data.sample_weight,
        groups=data.groups,
        labels=data.labels,
        **given,
    )


@contextlib.contextmanager
def _collected_warnings(notes: list[str]) -> Iterator[None]:
    """Append each distinct warning to `notes` instead of printing it in Python's format."""
    developers = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for warning in caught:
                note = f"warning: {warning.message}"
                if note not in notes and not issubclass(warning.category, developers):
                    notes.append(note)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or "not enough memory"


def _say(path: Path, note: str) -> None:
    """Print one line on standard error that names the file once."""
    line = one_line(note.removeprefix(f"{path}: "))
    print(f"propercal: {shown(path)}: {shown(line)}", file=sys.stderr)
