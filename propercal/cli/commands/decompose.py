"""``propercal decompose``: the risk of predictions, split into its terms."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from propercal.cli import options as flags
from propercal.cli.codes import DONE, FAILED
from propercal.cli.decomposition_table import Table, record
from propercal.cli.each_file import data_of, each_file
from propercal.cli.output import print_records, say

if TYPE_CHECKING:
    from propercal import Decomposition
    from propercal._files.prediction_file import PredictionFile

SUMMARY = "split the risk into calibration error and refinement"

_ABOUT = f"""\
Split the risk of predicted probabilities into calibration error and refinement.

{flags.FILES}
Log values are in nats; the Brier score is summed over classes. With --json, a list with one object
per file and generator is printed, and infinite or undefined numbers are the strings "Infinity",
"-Infinity" and "NaN", since JSON has no such numbers. Rows are counted from 0. The skill is 1 -
risk / uncertainty: 1 at best, 0 for what always predicts the share of each class.
"""
_EXAMPLES = """\
  propercal decompose clinic.csv --label-column outcome --group-column patient
  propercal decompose a.npz b.npz --generator log --generator brier --notion top-label
  zcat qa.jsonl.gz | propercal decompose - --label-column correct --class confidence
  propercal decompose a.npz --method risk --kernel uniform-bins --bandwidth 0.1
"""
#: What markdown shows.
_BRIEF = (
    *("file", "generator", "n_samples", "risk", "calibration_error", "calibration_error_lower"),
    *("calibration_error_upper", "refinement", "sharpness", "uncertainty", "skill_score"),
)


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    flags.command_of_files(
        commands,
        "decompose",
        run,
        flags.Help(SUMMARY, _ABOUT, _EXAMPLES),
        [flags.rows(), flags.loss(), flags.method(), flags.seed_and_level(), flags.output()],
    )


def run(options: argparse.Namespace) -> int:
    """Decompose each file."""
    generators = flags.generators_of(options)
    table = Table(generators)
    records: list[dict[str, Any]] = []
    code = DONE

    def work(data: PredictionFile) -> list[Decomposition]:
        import propercal

        results: list[Decomposition] = propercal.decompose(
            data.y_true,
            data.y_proba,
            generator=generators,
            **data_of(data, options),
            **flags.given(options, "notion", "level", "progress", *flags.METHOD_FLAGS),
        )
        return results

    for path, results, notes in each_file(options, work):
        if results is None:
            code = FAILED
        elif options.format == "table":
            table.print_file(path, results)
        for note in notes:
            say(path, note)
        records += [record(path, result, notes) for result in results or []]
    if options.format != "table":
        print_records(records, options.format, _BRIEF)
    return code
