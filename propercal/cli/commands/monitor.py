"""``propercal monitor``: evidence against calibration of rows as they come, kept in a file."""

from __future__ import annotations

import argparse
import sys
from math import inf, log
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propercal._files.names import shortened
from propercal.cli import options as flags
from propercal.cli.arguments import fraction, positive, whole_number
from propercal.cli.codes import ALARM, DONE, FAILED
from propercal.cli.each_file import FAULTS, check_order, check_standard_input, collected_warnings
from propercal.cli.output import print_records, reason, say
from propercal.cli.writing import write

if TYPE_CHECKING:
    from propercal import CalibrationMonitor
    from propercal.cli.chunks import Chunk

SUMMARY = "watch a stream of predictions, with an alarm that may be looked at after every row"

_STANDARD = Path("-")
_WIDTH = 30

_ABOUT = f"""\
Bet against the calibration of predictions as they come. Evidence may be looked at after every row:
the probability that a calibrated model ever gives an alarm is ALPHA. Another alarm is for drift, of
a model that was calibrated and is no more; a calibrated one gives it once in RUN_LENGTH rows.

The exit code is 3 once there was either alarm.

With --state, all there is to know is kept in a file of some kilobytes, and the next call goes on
from there: rows of each FILE are new ones, in the order of time. A file that fails changes nothing;
standard input (text, unpacked) is read as rows come, and the state written after each chunk.
Settings are those of the state, once there is one.

{flags.FILES}"""
_EXAMPLES = """\
  propercal monitor monday.csv --state model.monitor --label-column outcome
  tail -n +1 -f log.csv | propercal monitor - --state model.monitor --stop-at-alarm
  propercal monitor week.jsonl --state model.monitor --format json
"""
_BRIEF = ("file", "n_samples", "log_e_value", "p_value", "lower_bound", "alarm", "drift_alarm")


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the parser of the command."""
    parser = flags.command_of_files(
        commands,
        "monitor",
        run,
        flags.Help(SUMMARY, _ABOUT, _EXAMPLES),
        [flags.loss(several=False, default="log; the lower bound is under it"), flags.output()],
    )
    group = parser.add_argument_group("monitoring")
    group.add_argument("--state", type=Path, metavar="STATE", help="file that keeps what was seen")
    group.add_argument(
        "--reset", action="store_true", help="forget what the state has seen; keep its settings"
    )
    group.add_argument(
        "--alpha",
        type=fraction("a number between 0 and 1"),
        metavar="ALPHA",
        help="probability of an alarm, ever, for a calibrated model (default: 0.05)",
    )
    group.add_argument(
        "--run-length",
        type=positive("a positive number"),
        metavar="ROWS",
        help="rows between false alarms of drift, on average (default: 10000)",
    )
    group.add_argument(
        "--chunk-size",
        type=whole_number(1),
        default=1000,
        metavar="ROWS",
        help="rows that are read at a time (default: 1000)",
    )
    group.add_argument(
        "--stop-at-alarm", action="store_true", help="end at the chunk that gives the first alarm"
    )


def run(options: argparse.Namespace) -> int:
    """Update the monitor by each file."""
    check_standard_input(options)
    records: list[dict[str, Any]] = []
    failed = False
    try:
        monitor = _read_state(options)
    except FAULTS as error:
        say(options.state, reason(error))
        return FAILED
    before = _alarmed(monitor)
    seen: set[str] = set()
    for path in options.files:
        notes: list[str] = []
        kept = None if monitor is None else monitor.to_bytes()
        try:
            with collected_warnings(notes):
                monitor = _updated(monitor, path, options, seen)
                _write_state(monitor, options)
        except FAULTS as error:
            failed = True
            notes.append(reason(error))
            if path != _STANDARD:
                monitor = None if kept is None else _of_bytes(kept, options)
        else:
            records.append(_record(path, monitor))
        for note in notes:
            say(path, note)
        if options.stop_at_alarm and _alarmed(monitor) and not before:
            break
    if options.format != "table":
        print_records(records, options.format, _BRIEF)
    elif monitor is not None and records:
        _print(monitor, records)
    return FAILED if failed else ALARM if _alarmed(monitor) else DONE


def _alarmed(monitor: CalibrationMonitor | None) -> bool:
    return monitor is not None and (monitor.alarm or monitor.drift_alarm)


def _read_state(options: argparse.Namespace) -> CalibrationMonitor | None:
    if options.state is None or not options.state.exists():
        return None
    monitor = _of_bytes(options.state.read_bytes(), options)
    for name in ("alpha", "notion", "run_length"):
        said, has = getattr(options, name), getattr(monitor, name)
        if said is not None and said != has:
            raise ValueError(
                f"{options.state}: {name} = {said}: the state has {has}; leave the flag out, or "
                "begin another state."
            )
    _check_positive(monitor, options)
    if options.reset:
        monitor.reset()
    return monitor


def _check_positive(monitor: CalibrationMonitor, options: argparse.Namespace) -> None:
    """Raise where the caller says another positive class than the state has."""
    from propercal._data.words.tokens import key

    said, has = options.pos_label, monitor._own.pos_label
    names = monitor._seen.reading.names
    if has is None and names is not None and monitor.n_classes == 2:
        has = names[-1]
    if said is not None and has is not None and key(said) != key(has):
        raise ValueError(
            f"{options.state}: pos_label = {said}: the state has {has}; leave the flag out, or "
            "begin another state."
        )


def _check_kind(monitor: CalibrationMonitor, chunk: Chunk, path: Path) -> None:
    """Raise where a file has logits and the state probabilities, or the other way about.

    Text says neither by itself; there the state does.
    """
    from propercal._files.reading import holds_arrays

    logits = monitor._own.from_logits
    said = chunk.from_logits or (path != _STANDARD and holds_arrays(path))
    if said and chunk.from_logits != logits:
        kinds = "probabilities", "logits"
        raise ValueError(
            f"{path}: {kinds[chunk.from_logits]}: the state has seen {kinds[logits]}; give the "
            "same, or begin another state."
        )


def _of_bytes(content: bytes, options: argparse.Namespace) -> CalibrationMonitor:
    from propercal import CalibrationMonitor

    try:
        return CalibrationMonitor.from_bytes(content, generator=options.generator)
    except ValueError as error:
        said = str(error).removeprefix("data = ").partition("; ")[0].rstrip(".")
        raise ValueError(
            f"{options.state}: no state of propercal monitor ({said}): name another file."
        ) from error


def _write_state(monitor: CalibrationMonitor | None, options: argparse.Namespace) -> None:
    if options.state is not None and monitor is not None:
        write(options.state, monitor.to_bytes())


def _check_apart(chunk: Chunk, path: Path, seen: set[str]) -> None:
    """Raise where ids occur again that were `seen` before; rows of one time are several."""
    import pandas as pd

    from propercal._data.rows.times import times_of
    from propercal._files.rows import check_apart, repeated

    if not chunk.ids or times_of(pd.Index(chunk.ids)):
        return
    check_apart(path, chunk.ids)
    again = [each for each in chunk.ids if each in seen]
    if again:
        raise repeated(path, again)
    if path != _STANDARD:
        # A stream may have no end.
        seen.update(chunk.ids)


def _check_later(chunk: Chunk, path: Path, before: tuple[Any, Any] | None) -> None:
    """Raise where a file begins with rows of a time before all those of the file before."""
    from propercal.monitor.times import are_before

    if before is not None and chunk.times is not None and are_before(chunk.times, before):
        raise ValueError(
            f"{path}: a column of times, which is left out, ends with {chunk.times[1]}, and that "
            f"of rows before begins with {before[0]}: expected rows in the order of time; give the "
            "files in their order, or rename or remove that column if it says nothing of it."
        )


def _note_times(monitor: CalibrationMonitor, chunk: Chunk, *, first: bool) -> None:
    """Keep the times of a file that columns which are left out say, to compare with the next."""
    seen = monitor._seen
    if chunk.times is not None:
        begin = chunk.times[0] if first or seen.times is None else seen.times[0]
        monitor._seen = seen._replace(times=(begin, chunk.times[1]))


def _updated(
    monitor: CalibrationMonitor | None, path: Path, options: argparse.Namespace, seen: set[str]
) -> CalibrationMonitor | None:
    """Return the monitor after the rows of a file, which are none of those `seen` before."""
    from propercal._files.reading import holds_arrays
    from propercal.cli.chunks import chunks

    begin, before_file = 0, None if monitor is None else monitor._seen.times
    for chunk in chunks(path, options, options.chunk_size):
        if monitor is None:
            monitor = _new(chunk, options)
        _check_kind(monitor, chunk, path)
        _check_apart(chunk, path, seen)
        if not begin:
            _check_later(chunk, path, before_file)
        if not chunk.in_order:
            check_order(path, list(getattr(chunk.y_proba, "columns", ())), options, in_order=False)
        before = _alarmed(monitor)
        try:
            monitor._add(
                chunk.y_true,
                chunk.y_proba,
                by="classes",
                in_order=bool(options.classes),
                is_counted=chunk.is_counted,
            )
        except ValueError as error:
            said = _of_a_table(error) if not holds_arrays(path) else str(error)
            where = f" (Rows are counted from row {begin} on.)" if begin else ""
            raise ValueError(f"{said}{where}") from error
        _note_times(monitor, chunk, first=not begin)
        begin += len(chunk.y_true)
        if path == _STANDARD:
            _write_state(monitor, options)
        if _alarmed(monitor) and not before:
            rows = [each for each in (monitor.alarm_row, monitor.drift_row) if each is not None]
            say(path, f"alarm at row {min(rows)}")
            sys.stderr.flush()
            if options.stop_at_alarm:
                break
    if monitor is None:
        raise ValueError(f"{path}: no rows: expected one or more; give a file that has some.")
    return monitor


def _of_a_table(error: ValueError) -> str:
    """Return what an error says, with advice to who has a table, whose columns are named."""
    from propercal._files.columns import OF_COLUMNS

    said, _, advice = str(error).rpartition("; ")
    if said.endswith("the classes of rows before"):
        return f"{said}; write the name of a class as each label."
    return f"{said}; {OF_COLUMNS}" if "labels=[...]" in advice else str(error)


def _new(chunk: Chunk, options: argparse.Namespace) -> CalibrationMonitor:
    from propercal import CalibrationMonitor
    from propercal._files.values import value_of

    shape = chunk.y_proba.shape
    pos = options.pos_label
    return CalibrationMonitor(
        2 if len(shape) == 1 or shape[1] == 1 else shape[1],
        from_logits=chunk.from_logits,
        pos_label=value_of(pos),
        **flags.given(options, "alpha", "notion", "generator", "run_length"),
    )


def _record(path: Path, monitor: CalibrationMonitor | None) -> dict[str, Any]:
    assert monitor is not None  # noqa: S101  # it has seen the rows of the file
    names = ("n_samples", "log_e_value", "e_value", "p_value", "lower_bound")
    alarms = ("alarm", "alarm_row", "drift", "drift_alarm", "drift_row", "drift_start")
    settings = ("notion", "alpha", "run_length", "n_classes")
    return {
        "file": str(path),
        **{name: getattr(monitor, name) for name in (*names, *alarms, *settings)},
        "generator": monitor.generator.name,
    }


def _print(monitor: CalibrationMonitor, records: list[dict[str, Any]]) -> None:
    bound = f"lower bound of the {monitor.generator.name} calibration error"
    print(f"monitor of {monitor.notion} calibration, alpha {monitor.alpha:g}")
    heads = ("rows", "log e-value", "p", "lower bound", "log drift")
    print(f"{'after':<{_WIDTH}}  {'  '.join(f'{head:>11}' for head in heads)}")
    for row in records:
        drift = log(row["drift"]) if 0 < row["drift"] < inf else row["drift"] or -inf
        cells = (
            f"{row['n_samples']:>11}",
            f"{row['log_e_value']:>11.4g}",
            f"{row['p_value']:>11.3g}",
            f"{row['lower_bound']:>11.4g}",
            f"{drift:>11.4g}",
        )
        print(f"{shortened(row['file'], _WIDTH):<{_WIDTH}}  {'  '.join(cells)}")
    print(f"  {bound}, with {1 - monitor.alpha:.4g} confidence at all times")
    if monitor.alarm:
        print(
            f"  ALARM at row {monitor.alarm_row}: not calibrated (e-value of {1 / monitor.alpha:g})"
        )
    if monitor.drift_alarm:
        since = f", perhaps since row {monitor.drift_start}"
        print(f"  ALARM of drift at row {monitor.drift_row}{since}")
    if not _alarmed(monitor):
        print("  no alarm")
