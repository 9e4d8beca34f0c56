"""Monitors as bytes: a line of format, a digest, and compressed settings (JSON) and numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal.generators.base import BregmanGenerator
from propercal.monitor.bets import Bets
from propercal.monitor.contents import Contents
from propercal.monitor.evidence import Evidence
from propercal.monitor.gains import n_weights
from propercal.monitor.learner import Learner, n_parameters
from propercal.monitor.repetition import MOST
from propercal.monitor.settings import Settings
from propercal.monitor.state import MOST_POINTS, State
from propercal.monitor.times import Times
from propercal.monitor.times import read as read_times
from propercal.monitor.times import written as written_times
from propercal.sketch.column_names import Called
from propercal.sketch.convention import Convention
from propercal.sketch.digests import are_digests
from propercal.sketch.encoding import check_reading, opened, plain, sealed, unreadable
from propercal.sketch.repetition import Known
from propercal.sketch.settings import fixed_values, generator_of
from propercal.sketch.written import read_doubts, read_relation, read_ruled_out

Arrays = dict[str, np.ndarray[Any, Any]]

_FORMAT = b"propercal monitor 2\n"
#: Which has no doubts.
_BEFORE = b"propercal monitor 1\n"
_WHAT = "the bytes of a monitor"
_KINDS: dict[str, tuple[type, ...]] = {
    "n_classes": (int,),
    "alpha": (float,),
    "notion": (str,),
    "run_length": (float,),
    "labels": (list, type(None)),
    "pos_label": (str, int, float, bool, type(None)),
    "from_logits": (bool,),
    "link": (str, type(None)),
    "first_row": (int,),
    "generator": (str,),
    "name": (str,),
    "values": (list,),
    "reading": (list,),
    "doubts": (list, type(None)),
    "n_kept": (int,),
}
#: What is written where there is some.
_OPTIONAL = {"times", "last", "first", "ruled_out", "relation"}


class Written(NamedTuple):
    """What bytes say of a monitor."""

    settings: dict[str, Any]
    """Arguments of a monitor, but for the generator."""
    generator: BregmanGenerator
    state: State
    reading: Convention
    occurred: npt.NDArray[np.int64]
    expected: float
    times: Times | None
    last: tuple[int, ...]
    first: Known


def encode(own: Settings, generator: BregmanGenerator, seen: Contents, key: bytes | None) -> bytes:
    """Write a monitor, signed where there is a key."""
    # It has its own counts of classes, and no weights.
    *reading, _, doubts, ruled_out, relation, _ = seen.reading
    state = seen.state
    settings = {
        **own._asdict(),
        "generator": repr(generator),
        "name": generator.name,
        "values": fixed_values(generator, own.n_classes),
        "reading": reading,
        "doubts": None if doubts is None else doubts.written(),
        "n_kept": len(state.kept),
    }
    of_rows = written_times(seen.times)
    if of_rows is not None:
        settings["times"] = of_rows
    if seen.last:
        settings["last"] = list(seen.last)
    if seen.first.rows:
        settings["first"] = seen.first.written()
    if ruled_out:
        settings["ruled_out"] = sorted(ruled_out)
    if relation is not None:
        settings["relation"] = relation.written()
    learners = [each.learner for each in state.problems]
    arrays: Mapping[str, Any] = {
        **{name: [getattr(x, name) for x in state.problems] for name in _OF_EVIDENCE},
        **{name: [getattr(x, name) for x in learners] for name in _OF_LEARNERS},
        "taught": [(x.n_rows, x.block_end) for x in learners],
        "since": [x.since for x in state.problems],
        "numbers": [state.n_rows, state.alarm, state.drift_alarm, *seen.occurred],
        "sums": [state.highest, seen.expected, *state.sums],
        "kept": state.kept,
    }
    shapes = _shapes(own, len(state.kept))
    numbers = [np.ascontiguousarray(arrays[name], dtype=_dtype(name)).tobytes() for name in shapes]
    return sealed(_FORMAT, json.dumps(settings, default=plain).encode(), numbers, key)


def decode(data: object, generator: Any, key: bytes | None) -> Written:
    """Read a monitor, or raise."""
    old = isinstance(data, bytes) and data.startswith(_BEFORE)
    settings, numbers = opened(_BEFORE if old else _FORMAT, data, key, _WHAT)
    if old and isinstance(settings, dict):
        settings.setdefault("doubts", None)
    if not isinstance(settings, dict) or set(settings) - _OPTIONAL != set(_KINDS):
        raise unreadable(data, f"the settings {', '.join(_KINDS)}")
    for name, kinds in _KINDS.items():
        if type(settings[name]) not in kinds:
            raise unreadable(data, f"a setting {name} that is {kinds[0].__name__}")
    check_reading(data, settings["reading"], settings["labels"], settings["n_classes"])
    try:
        times = read_times(settings.pop("times", None))
    except ValueError as error:
        raise unreadable(data, "times of the first and the last row") from error
    last, first = _rows_known(data, settings)
    written, name, values, reading, n_kept, doubts = (
        settings.pop(each)
        for each in ("generator", "name", "values", "reading", "n_kept", "doubts")
    )
    ruled_out = settings.pop("ruled_out", [])
    relation = read_relation(data, settings.pop("relation", []), settings["n_classes"])
    own = Settings.of(**settings)
    chosen = generator_of(generator, name, written, values, "monitor", own.n_classes)
    shapes = _shapes(own, n_kept)
    sizes = {each: 8 * int(np.prod(shape, dtype=object)) for each, shape in shapes.items()}
    if not 0 <= n_kept <= MOST_POINTS + 1 or sum(sizes.values()) != len(numbers):
        raise unreadable(data, f"{sum(sizes.values())} bytes of numbers, not {len(numbers)},")
    arrays: Arrays = {}
    start = 0
    for each, shape in shapes.items():
        part = numbers[start : start + sizes[each]]
        arrays[each] = np.frombuffer(part, dtype=_dtype(each)).reshape(shape).copy()
        start += sizes[each]
    _check(data, arrays, own)
    names, separate, columns, unnamed, called = reading
    convention = Convention(names, separate, columns, unnamed, Called(*called))
    convention = convention._replace(
        doubts=read_doubts(data, doubts, settings),
        ruled_out=_ruled_out(data, ruled_out, own.n_classes, arrays["numbers"][0]),
        relation=relation,
    )
    state = _state(arrays, own)
    expected = float(arrays["sums"][1])
    occurred = arrays["numbers"][3:]
    return Written(settings, chosen, state, convention, occurred, expected, times, last, first)


def _rows_known(data: object, settings: dict[str, Any]) -> tuple[tuple[int, ...], Known]:
    """Take what the last and the first rows are known by from settings, or raise."""
    last = settings.pop("last", [])
    if not are_digests(last, MOST):
        raise unreadable(data, "numbers of the last rows")
    first = Known.restored(settings.pop("first", Known().written()))
    if first is None:
        raise unreadable(data, "numbers of the first rows")
    return tuple(last), first


def _ruled_out(data: object, written: object, k: int, n_rows: int) -> frozenset[int] | None:
    """Return the columns that were 0 in all rows, of which there may be none."""
    if type(written) is not list:
        raise unreadable(data, "numbers of columns")
    return read_ruled_out(data, written, k) if n_rows else None


_OF_EVIDENCE = ("wealth", "starts", "lowest")
_OF_LEARNERS = ("mean", "precision", "gradient", "hessian")
_WHOLE = {"taught", "since", "numbers"}


def _dtype(name: str) -> str:
    return "<i8" if name in _WHOLE else "<f8"


def _shapes(own: Settings, n_kept: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array, in the order of the file."""
    q, c = own.n_problems, own.n_outcomes
    m, d = len(Bets.of(c).log_prior), n_parameters(c)
    return {
        **dict.fromkeys((*_OF_EVIDENCE, "since"), (q, m)),
        "mean": (q, d),
        "precision": (q, d, d),
        "gradient": (q, d),
        "hessian": (q, d, d),
        "taught": (q, 2),
        "numbers": (3 + own.n_classes,),
        "sums": (2 + n_weights(),),
        "kept": (n_kept, 5),
    }


def _state(arrays: Arrays, own: Settings) -> State:
    problems = []
    for i in range(own.n_problems):
        parts = [arrays[name][i] for name in _OF_LEARNERS]
        learner = Learner(own.n_outcomes, *parts, *map(int, arrays["taught"][i]))
        wealth, starts, lowest = (arrays[name][i] for name in _OF_EVIDENCE)
        problems.append(Evidence(wealth, starts, lowest, arrays["since"][i], learner))
    n_rows, alarm, drift_alarm = (int(each) for each in arrays["numbers"][:3])
    return State(
        tuple(problems),
        n_rows,
        float(arrays["sums"][0]),
        alarm,
        drift_alarm,
        arrays["sums"][2:],
        arrays["kept"],
    )


def _check(data: object, arrays: Arrays, own: Settings) -> None:
    """Raise where numbers cannot be those of any rows."""
    numbers, sums = arrays["numbers"], arrays["sums"]
    n, alarm, drift_alarm = (int(each) for each in numbers[:3])
    # Columns that are separate problems mark any number of classes.
    counted = int(numbers[3:].sum()) == n or own.reduction.per_class
    sound = (
        n >= 0
        and numbers[3:].min() >= 0
        and counted
        and min(alarm, drift_alarm) >= -1
        and max(alarm, drift_alarm) <= n
        and sums[0] >= 0
        and 0 <= sums[1] <= n * (1 + 1e-9)
        and not any(np.isnan(each).any() for each in arrays.values() if each.dtype.kind == "f")
        and all(np.isfinite(arrays[name]).all() for name in _OF_LEARNERS)
        and (arrays["taught"][:, 0] == n).all()
        and (arrays["taught"][:, 1] > n).all()
        and (arrays["since"] >= 0).all()
        and (arrays["since"] <= n).all()
        and (arrays["wealth"] > -np.inf).all()
        and (np.diff(arrays["kept"][:, 0]) > 0).all()
    )
    if not sound:
        raise unreadable(data, "numbers that rows can come to")
