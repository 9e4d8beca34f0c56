"""``propercal report``: a page that a person reads, of files of predictions."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from propercal._files.names import one_line, shown
from propercal.cli import options as flags
from propercal.cli.codes import DONE, FAILED
from propercal.cli.each_file import FAULTS, check_standard_input, collected_warnings
from propercal.cli.output import reason, say_plainly
from propercal.cli.writing import check_new, write

if TYPE_CHECKING:
    from propercal.reporting import Report

SUMMARY = "make a page of HTML that a person reads: sentences, figures and tables"

_PAGE = Path("report.html")
_ABOUT = f"""\
Make one page of HTML that can be sent as it is: what was measured in sentences, the
loss and its parts with intervals, a reliability diagram, classes, groups, what
recalibration would save on rows that took no part in its fit, the rows that cost most,
and what it cannot see. It asks no host for anything. Several files are those of several
models for the same rows: models are compared, and the first is shown in detail; files
are matched as by propercal compare.

Its first sentences are printed. Equal data make equal bytes, if no date is asked for.

{flags.FILES}"""
_EXAMPLES = """\
  propercal report test.csv
  propercal report test.csv --generator brier --subgroup-column sex -o clinic.html
  propercal report new.csv old.csv --id-column visit --title "Which?" --date today
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of the command."""
    parser = flags.command_of_files(
        commands,
        "report",
        run,
        flags.Help(SUMMARY, _ABOUT, _EXAMPLES),
        [flags.rows(), flags.loss(several=False), flags.method(), flags.seed_and_level()],
    )
    group = parser.add_argument_group("page")
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        default=_PAGE,
        metavar="PAGE",
        help=f"a name that ends in .html (default: {_PAGE})",
    )
    flags.subgroup_column(group)
    group.add_argument("--title", metavar="TEXT", help="title (default: Calibration report)")
    group.add_argument(
        "--date", metavar="TEXT", help="date that the page bears, or today (default: none)"
    )
    flags.force(group)
    flags.progress(group)


def run(options: argparse.Namespace) -> int:
    """Make the page."""
    check_standard_input(options)
    if options.output.suffix.lower() not in (".html", ".htm"):
        options.refuse("argument --output: expected a name that ends in .html")
    notes: list[str] = []
    try:
        with collected_warnings(notes):
            check_new(options.output, options.files, force=options.force)
            page = _page(options)
            write(options.output, page.html.encode("utf-8"))
    except FAULTS as error:
        where = getattr(error, "filename", None)
        for note in [*notes, reason(error) if where is None else f"{where}: {reason(error)}"]:
            say_plainly(note)
        return FAILED
    for sentence in page.summary:
        print(shown(one_line(sentence)))
    for note in [*notes, *page.warnings]:
        say_plainly(note)
    say_plainly(f"the page is {options.output}")
    return DONE


def _page(options: argparse.Namespace) -> Report:
    import propercal
    from propercal.methods import as_method

    settings = flags.given(options, *flags.METHOD_FLAGS)
    name = settings.pop("method", "debiased")
    beside = {"random_state": settings.pop("random_state")} if "random_state" in settings else {}
    chosen = as_method(name, **settings)
    if beside and chosen.corrects_bias:
        chosen = as_method(name, **settings, **beside)
    columns = {
        "label_column": options.label_column,
        "weight_column": options.weight_column,
        "group_column": options.group_column,
        "subgroup_column": options.subgroup_column,
        "id_column": options.id_column,
        "drop": options.drop,
        "classes": options.classes,
        "pos_label": options.pos_label,
        "from_logits": options.from_logits,
    }
    return propercal.report(
        options.files,
        generator=options.generator or "log",
        method=chosen,
        **columns,
        **beside,
        **flags.given(options, "notion", "blocks", "level", "progress", "title", "date"),
    )
