"""``propercal compare``: which of several models is better on the same rows."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from propercal._data.words.messages import columns_called
from propercal.cli import options as flags
from propercal.cli.arguments import known, whole_number
from propercal.cli.codes import DONE, FAILED
from propercal.cli.each_file import (
    FAULTS,
    check_order,
    check_standard_input,
    collected_warnings,
    read,
)
from propercal.cli.output import named_reason, print_records, say_plainly

if TYPE_CHECKING:
    from propercal import ModelComparison
    from propercal.inference.model_comparison import ModelPair

SUMMARY = "compare models on the same rows: differences, ranks, which may be the best"

_TERMS = ("risk", "calibration_error", "refinement", "sharpness")
_DEFAULT = ["risk", "calibration_error"]

_ABOUT = f"""\
Compare the predictions of two models or more for the same rows, a file each. What all of them find
hard cancels, so that small differences show.

Rows are matched by a column of ids where all files have one (--id-column, or a column called id,
row_id, sample_id, example_id, uid or uuid) or by the index that pandas wrote into parquet files,
else by their order; files whose labels differ in some row are refused. Class columns are matched by
their names.

{flags.FILES}"""
_EXAMPLES = """\
  propercal compare old.csv new.csv --id-column visit
  propercal compare a.npz b.npz c.npz --term calibration_error --notion top-label
  propercal compare old.csv new.csv --generator brier --format markdown
"""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = flags.command_of_files(
        commands,
        "compare",
        run,
        flags.Help(SUMMARY, _ABOUT, _EXAMPLES),
        [flags.rows(), flags.loss(), flags.method(), flags.seed_and_level(), flags.output()],
    )
    parser.add_argument(
        "--term",
        action="append",
        type=known(_check_term),
        metavar="TERM",
        help=f"{', '.join(_TERMS)}; repeat it for several (default: risk and calibration_error)",
    )
    parser.add_argument(
        "--n-resamples",
        type=whole_number(1),
        metavar="B",
        help="draws of the joint law of all differences (default: 4999)",
    )


def run(options: argparse.Namespace) -> int:
    """Compare the files."""
    if len(options.files) < 2:
        options.refuse("argument FILE: one file; expected two or more to compare")
    check_standard_input(options)
    notes: list[str] = []
    try:
        with collected_warnings(notes):
            found, paired_by = _compared(options)
    except FAULTS as error:
        for note in [*notes, named_reason(error)]:
            say_plainly(note)
        return FAILED
    if options.format == "table":
        for each in found:
            print(f"{each}\n  rows are paired {paired_by}\n")
    elif options.format == "json":
        print_records([_record(each, options, paired_by) for each in found], "json")
    else:
        print_records([row for each in found for row in _rows(each, options)], options.format)
    for note in notes:
        say_plainly(note)
    return DONE


def _check_term(text: str) -> None:
    from propercal._data.words.messages import unknown_name

    if text not in _TERMS:
        raise unknown_name("term", text, _TERMS)


def _compared(options: argparse.Namespace) -> tuple[list[ModelComparison], str]:
    import propercal
    from propercal._files.matching import matched

    files = [read(path, options, find_id=True) for path in options.files]
    for other in files[1:]:
        before = files[0].class_names
        check_order(other.path, other.class_names, options, in_order=True, before=before)
    data = matched(files, options.blocks)
    with columns_called(files[0].class_names):
        found = propercal.compare_models(
            data.y_true,
            data.models,
            term=list(dict.fromkeys(options.term or _DEFAULT)),
            generator=flags.generators_of(options),
            **data.arguments,
            **flags.given(options, "notion", "blocks", "level", "n_resamples", "progress"),
            **flags.given(options, *flags.METHOD_FLAGS),
        )
    return [each for of_terms in found for each in of_terms], data.paired_by


def _record(found: ModelComparison, options: argparse.Namespace, paired_by: str) -> dict[str, Any]:
    """Return a comparison as an object for JSON."""
    one = next(iter(found.models.values()))
    pairs = [
        {
            "first": pair.first,
            "second": pair.second,
            "difference": pair.difference,
            "standard_error": pair.standard_error,
            "interval": _interval(pair),
            "pvalue": pair.pvalue,
            "simultaneous_interval": list(pair.simultaneous_interval),
            "familywise_pvalue": pair.familywise_pvalue,
        }
        for pair in found.pairs
    ]
    return {
        "term": found.term,
        "generator": one.generator.name,
        "notion": one.notion,
        "n_samples": one.n_samples,
        "n_classes": one.n_classes,
        "confidence_level": found.confidence_level,
        "paired": paired_by,
        "best_set": list(found.best_set()),
        "models": _rows(found, options),
        "pairs": pairs,
    }


def _interval(pair: ModelPair) -> list[float]:
    """Return the interval of a difference, NaN where that is infinite."""
    return list(pair.interval()) if math.isfinite(pair.difference) else [math.nan, math.nan]


def _rows(found: ModelComparison, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a row for each model."""
    best, ranks = found.best_set(), found.ranks
    return [
        {
            "term": found.term,
            "generator": result.generator.name,
            "model": name,
            "file": str(path),
            "estimate": float(getattr(result, found.term)),
            "rank": ranks[name].estimate,
            "rank_lower": ranks[name].lower,
            "rank_upper": ranks[name].upper,
            "best_pvalue": found.best_pvalues[name],
            "in_best_set": name in best,
        }
        for (name, result), path in zip(found.models.items(), options.files, strict=True)
    ]
