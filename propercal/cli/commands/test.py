"""``propercal test``: whether predictions are calibrated, and a gate for continuous integration."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from propercal._files.names import shortened, shown
from propercal.cli import options as flags
from propercal.cli.arguments import positive, whole_number
from propercal.cli.codes import ALARM, DONE, FAILED
from propercal.cli.each_file import data_of, each_file
from propercal.cli.output import WIDTH, end_of_interval, number, print_records, say

if TYPE_CHECKING:
    from propercal import CalibrationTest, Decomposition
    from propercal._files.prediction_file import PredictionFile

SUMMARY = "test whether predictions are calibrated; a gate that fails on drift"

_ABOUT = f"""\
Test whether predicted probabilities are calibrated: were they, a statistic as large would occur
with the probability p.

Two gates end the command with exit code 3, for a script that must fail on drift:
  --fail-if-rejected         p is at most 1 - LEVEL. Of calibrated predictions 1 - LEVEL
                             are rejected, at most, for each file and generator.
  --max-calibration-error X  the interval of the calibration error, at LEVEL, lies above
                             X: the error is larger beyond what chance explains. This
                             one needs 20 rows, and is for predictions that need not be
                             perfect.

With the same --seed (0 by default) the same file gives the same p. A file that fails gives exit
code 1 in any case.

{flags.FILES}"""
_EXAMPLES = """\
  propercal test day.csv --label-column outcome --fail-if-rejected --level .99
  propercal test a.npz b.npz --notion top-label --max-calibration-error .02
  propercal test visits.csv --group-column patient --format json
"""
_BRIEF = ("file", "generator", "n_samples", "pvalue", "statistic", "calibration_error", "verdict")


class _Found(NamedTuple):
    """What is known of one file under one loss."""

    test: CalibrationTest
    terms: Decomposition | None
    """Where a gate asks for the calibration error."""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = flags.command_of_files(
        commands,
        "test",
        run,
        flags.Help(SUMMARY, _ABOUT, _EXAMPLES),
        [flags.rows(), flags.loss(), flags.seed_and_level(), flags.output()],
    )
    gates = parser.add_argument_group("gates")
    gates.add_argument(
        "--fail-if-rejected", action="store_true", help="exit code 3 where p is at most 1 - LEVEL"
    )
    gates.add_argument(
        "--max-calibration-error",
        type=positive("a positive number"),
        metavar="X",
        help="exit code 3 where the interval of the calibration error lies above X",
    )
    parser.add_argument(
        "--n-resamples",
        type=whole_number(1),
        metavar="B",
        help="label sets that are drawn; the smallest p is 1 / (B + 1) (default: 999)",
    )


def run(options: argparse.Namespace) -> int:
    """Test each file."""
    alpha = 1 - (0.95 if options.level is None else options.level)
    _check_resamples(options, alpha)
    records: list[dict[str, Any]] = []
    failed, alarmed, has_header = False, False, False
    for path, found, notes in each_file(options, lambda data: _examined(data, options)):
        failed |= found is None
        rows = [_record(path, each, alpha, options, notes) for each in found or []]
        alarmed |= any(row["failed_gates"] for row in rows)
        if options.format == "table" and found is not None:
            if not has_header:
                _print_header(found[0], options)
                has_header = True
            _print(path, found, rows)
        for note in notes:
            say(path, note)
        records += rows
    if options.format != "table":
        print_records(records, options.format, _BRIEF)
    return FAILED if failed else ALARM if alarmed else DONE


def _check_resamples(options: argparse.Namespace, alpha: float) -> None:
    n = options.n_resamples or 999
    if options.fail_if_rejected and 1 / (n + 1) > alpha * (1 + 1e-9):
        least = math.ceil(1 / alpha * (1 - 1e-9)) - 1
        options.refuse(
            f"argument --n-resamples: {n} cannot give a p of 1 - LEVEL = {alpha:.3g} or less; "
            f"{least} or more can"
        )


def _examined(data: PredictionFile, options: argparse.Namespace) -> list[_Found]:
    import propercal

    generators = flags.generators_of(options)
    given = {**data_of(data, options), **flags.given(options, "notion", "progress")}
    tests = [
        propercal.calibration_test(
            data.y_true,
            data.y_proba,
            generator=generator,
            random_state=options.seed or 0,
            **flags.given(options, "n_resamples"),
            **given,
        )
        for generator in generators
    ]
    terms: list[Any] = [None] * len(generators)
    if options.max_calibration_error is not None:
        terms = propercal.decompose(
            data.y_true,
            data.y_proba,
            generator=generators,
            **given,
            **flags.given(options, "seed", "level"),
        )
    return [_Found(*each) for each in zip(tests, terms, strict=True)]


def _record(
    path: Path,
    found: _Found,
    alpha: float,
    options: argparse.Namespace,
    notes: list[str],
) -> dict[str, Any]:
    test = found.test
    rejected = test.pvalue <= alpha * (1 + 1e-9)
    row: dict[str, Any] = {
        "file": str(path),
        "generator": test.generator.name,
        "notion": test.notion,
        "n_samples": test.n_samples,
        "n_classes": test.n_classes,
        **({} if test.n_groups is None else {"n_groups": test.n_groups}),
        "pvalue": test.pvalue,
        "statistic": test.statistic,
        "n_resamples": test.n_resamples,
        "null": test.null,
        "alpha": round(alpha, 12),
        "rejected": rejected,
        "components": dict(test.components),
    }
    gates = ["--fail-if-rejected"] if options.fail_if_rejected and rejected else []
    if found.terms is not None:
        error, ends = _error(found.terms)
        row |= {"calibration_error": error, "intervals": {"calibration_error": list(ends)}}
        if ends[0] > options.max_calibration_error:
            gates.append("--max-calibration-error")
    verdict = "rejected" if rejected else "not rejected"
    return {**row, "verdict": verdict, "failed_gates": gates, "notes": notes}


def _error(terms: Decomposition) -> tuple[float, tuple[float, float]]:
    """Return the calibration error and its interval; an infinite one is infinite at both ends."""
    from propercal._results.estimates import intervals

    error = float(terms.calibration_error)
    return error, intervals(terms).get("calibration_error", (error, error))


def _print_header(found: _Found, options: argparse.Namespace) -> None:
    drawn = f"{found.test.n_resamples} label sets drawn"
    print(f"test of {found.test.notion} calibration, {drawn}")
    level = 0.95 if options.level is None else options.level
    error = f"  {'cal. error':>10}  {f'{100 * level:.4g}% interval':>16}" if found.terms else ""
    print(f"{'loss':<16} {'p':>8}  {'statistic':>9}{error}  verdict")


def _print(path: Path, found: list[_Found], rows: list[dict[str, Any]]) -> None:
    test = found[0].test
    groups = "" if test.n_groups is None else f" in {test.n_groups} groups"
    size = f"{test.n_samples} rows{groups}, {test.n_classes} classes"
    print(f"{shortened(path, WIDTH - len(size) - 2)}: {size}")
    for each, row in zip(found, rows, strict=True):
        error = ""
        if each.terms is not None:
            value, ends = _error(each.terms)
            interval = ", ".join(map(end_of_interval, ends))
            error = f"  {number(value):>10}  {interval:>16}"
        name = f"  {shown(each.test.generator.name)}"
        print(
            f"{name:<16} {row['pvalue']:>8.4g}  {row['statistic']:>9.4g}{error}  {row['verdict']}"
        )
        largest = max(each.test.components, key=lambda part: each.test.components[part])
        if row["rejected"] and math.isfinite(row["statistic"]):
            print(f"    the largest part of the statistic is {largest!r}")
        if row["failed_gates"]:
            print(f"    FAILS {' and '.join(row['failed_gates'])}")
