"""``propercal recalibrate``: a map that makes predictions better calibrated, and its use."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propercal._files import formats
from propercal.cli import options as flags
from propercal.cli.codes import DONE, FAILED
from propercal.cli.each_file import FAULTS, collected_warnings, read
from propercal.cli.output import named_reason, say_plainly
from propercal.cli.writing import check_new, write

if TYPE_CHECKING:
    from propercal.cli.maps import RecalibrationMap

SUMMARY = "fit a recalibration to a file, and apply it to others"

_RECALIBRATORS = ("temperature", "isotonic")
_STANDARD = Path("-")

_ABOUT = f"""\
Fit a recalibration to the predictions and labels of FILE, save it (--save-map), and apply it to
predictions of another file, which needs no labels (--apply NEW -o OUT). A map that was saved is
used again by --map, without FILE.

The output has the form of NEW (npz stays npz, jsonl stays jsonl; csv, tsv and parquet may become
each other): all of it is kept but the predictions, which are probabilities afterwards. Without -o
it goes to standard output. Class columns are matched by their names. No file is overwritten without
--force.

A map should not be judged by the rows that it was fitted to: apply it to others, and compare.

{flags.FILES}"""
_EXAMPLES = """\
  propercal recalibrate validation.csv --save-map map.json
  propercal recalibrate --map map.json --apply test.csv -o recalibrated.csv
  propercal recalibrate val.npz --recalibrator isotonic --apply test.npz -o new.npz
  zcat new.csv.gz | propercal recalibrate --map map.json --apply - > out.csv
"""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = flags.command_of_files(
        commands, "recalibrate", run, flags.Help(SUMMARY, _ABOUT, _EXAMPLES), [flags.weights()], "*"
    )
    group = parser.add_argument_group("the map")
    group.add_argument(
        "--recalibrator",
        choices=_RECALIBRATORS,
        metavar="NAME",
        help="temperature (one number, keeps the order of classes) or isotonic (a curve for each "
        "class, which needs some thousand rows) (default: temperature)",
    )
    group.add_argument(
        "--smoothed",
        action="store_true",
        help="isotonic: no probability is 0 afterwards",
    )
    group.add_argument("--save-map", type=Path, metavar="MAP", help="write the map as JSON")
    group.add_argument("--map", type=Path, metavar="MAP", help="use this one; fit none")
    group = parser.add_argument_group("its use")
    group.add_argument("--apply", type=Path, metavar="NEW", help="predictions to recalibrate")
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT",
        help="where they go (default: standard output)",
    )
    flags.force(group)


def run(options: argparse.Namespace) -> int:
    """Fit or read a map; save it and apply it."""
    _check(options)
    notes: list[str] = []
    code = DONE
    try:
        with collected_warnings(notes):
            _do(options)
    except FAULTS as error:
        if isinstance(error, BrokenPipeError):
            raise
        notes.append(named_reason(error))
        code = FAILED
    for note in notes:
        say_plainly(note)
    return code


def _check(options: argparse.Namespace) -> None:
    if len(options.files) > 1:
        options.refuse("argument FILE: several files; expected one that the map is fitted to")
    if bool(options.files) == (options.map is not None):
        options.refuse("expected one of FILE, to fit a map to, and --map")
    if options.map is not None and (options.recalibrator or options.smoothed):
        options.refuse("argument --map: the map is there; leave out --recalibrator and --smoothed")
    if options.smoothed and options.recalibrator != _RECALIBRATORS[1]:
        options.refuse("argument --smoothed: for --recalibrator isotonic alone")
    if options.apply is None and (options.output or not options.save_map):
        options.refuse("nothing to do: expected --save-map MAP, or --apply NEW, or both")
    if options.files == [options.apply] == [_STANDARD]:
        options.refuse("argument --apply: - is standard input, which can be read once")


def _do(options: argparse.Namespace) -> None:
    inputs = [each for each in (*options.files, options.map, options.apply) if each is not None]
    for each in (options.save_map, options.output):
        if each is not None and each != _STANDARD:
            check_new(each, inputs, force=options.force)
    found = _map(options)
    if options.apply is not None:
        # Before anything is written: what fails leaves nothing behind.
        content = _applied(found, options)
    if options.save_map is not None:
        write(options.save_map, found.to_json().encode())
    if options.apply is None or options.output not in (None, _STANDARD):
        print(found)
    if options.apply is not None:
        _put(content, options.output)


def _map(options: argparse.Namespace) -> RecalibrationMap:
    from propercal.cli.maps import RecalibrationMap

    if options.map is not None:
        return RecalibrationMap.read(options.map)
    (path,) = options.files
    data = read(path, options, find_id=True)
    kind = options.recalibrator or _RECALIBRATORS[0]
    return RecalibrationMap.fit(data, kind, smoothed=options.smoothed)


def _applied(found: RecalibrationMap, options: argparse.Namespace) -> bytes:
    from propercal.cli.predictions_out import read_new

    # Those of FILE are those of the map.
    said = options.classes if options.map is not None else ()
    new, suffix = read_new(
        options.apply,
        class_names=found.class_names,
        said=said,
        from_logits=options.from_logits,
    )
    if options.output not in (None, _STANDARD):
        suffix = formats.format_of(options.output)[0]
    return new.recalibrated(found).content(suffix)


def _put(content: bytes, path: Path | None) -> None:
    if path is not None and path != _STANDARD:
        write(path, content)
        return
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        sys.stdout.write(content.decode())
        return
    sys.stdout.flush()
    stream.write(content)
    stream.flush()
