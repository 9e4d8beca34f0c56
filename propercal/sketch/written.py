"""A sketch as it was written: its settings and arrays, checked before one is made of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from propercal._data.predictions.notions import as_notion
from propercal.generators.base import BregmanGenerator
from propercal.sketch.column_names import Called
from propercal.sketch.contents import Contents
from propercal.sketch.convention import Convention
from propercal.sketch.doubts import Doubts
from propercal.sketch.encoding import decode, encode, unpack, unreadable
from propercal.sketch.grid import check_grid, frame_of
from propercal.sketch.occurred import Occurred, are_numbers_of_classes
from propercal.sketch.origins import Origins, are_origins, origin_of
from propercal.sketch.relation import Relation
from propercal.sketch.repetition import Known
from propercal.sketch.settings import Own, check_folds, generator_of
from propercal.sketch.state import Frame
from propercal.sketch.verification import Sizes, check_arrays, check_memory, shapes

#: What is said of a sketch beside its arguments.
_OF_ROWS = (
    *("generator", "name", "values"),
    *(
        "reading",
        "occurred",
        "doubts",
        "ruled_out",
        "relation",
        "weights_given",
        "origins",
        "known",
    ),
)


class Written(NamedTuple):
    """What bytes say of a sketch."""

    settings: dict[str, Any]
    """Arguments of a sketch, but for the generator."""
    generator: BregmanGenerator
    frame: Frame
    arrays: dict[str, np.ndarray[Any, Any]]
    """Those of its state."""
    reading: Convention
    origins: Origins
    known: Known


def write(own: Own, seen: Contents, frame: Frame, key: bytes | None) -> bytes:
    """Return a sketch of these settings as bytes, signed where there is a key."""
    *reading, occurred, doubts, ruled_out, relation, weighted = seen.reading
    settings = {
        **own,
        "reading": reading,
        "occurred": occurred.written(),
        "doubts": None if doubts is None else doubts.written(),
        "ruled_out": None if ruled_out is None else sorted(ruled_out),
        "relation": [] if relation is None else relation.written(),
        "weights_given": sorted(weighted),
        "origins": list(seen.origins),
        "known": seen.known.written(),
    }
    return encode(settings, seen.summed(frame).arrays(), key)


def read_doubts(data: object, written: object, settings: dict[str, Any]) -> Doubts | None:
    """Return what was written of the order of columns, or raise."""
    try:
        return Doubts.restored(written, settings["n_classes"])
    except ValueError as error:
        raise unreadable(data, "doubts that rows can come to") from error


def read_ruled_out(data: object, written: Any, n_classes: int) -> frozenset[int] | None:
    """Return the columns that were written to be 0 in all rows, or raise."""
    if written is None:
        return None
    if not are_numbers_of_classes(written, n_classes):
        raise unreadable(data, "numbers of columns in ascending order")
    return frozenset(written)


def read_relation(data: object, written: Any, n_classes: int) -> Relation | None:
    """Return what was written of how predictions and labels agree, or raise.

    That is nothing of no rows, and by an earlier version.
    """
    if written == []:
        return None
    relation = Relation.restored(written, n_classes)
    if relation is None:
        raise unreadable(data, "sums of predictions and labels that rows can come to")
    return relation


def _read_weighted(data: object, written: Any) -> frozenset[bool]:
    """Return whether updates had weights, or raise."""
    if not all(type(each) is bool for each in written) or len(set(written)) != len(written):
        raise unreadable(data, "whether updates had weights")
    return frozenset(written)


def read_back(data: bytes, generator: Any, key: bytes | None) -> Written:
    """Read what was written, or raise if it cannot be that of a sketch.

    `generator` is that of the sketch where it is not one that has a name.
    """
    settings, numbers = decode(data, key)
    sizes = Sizes(*(settings.pop(each) for each in Sizes._fields))
    written, name, values, reading, seen, doubts, ruled_out, relation, weighted, origins, traces = (
        map(settings.pop, _OF_ROWS)
    )
    if not are_origins(origins):
        raise unreadable(data, "numbers of the sketches that rows came by")
    chosen = generator_of(generator, name, written, values, "sketch")
    frame = frame_of(
        as_notion(settings["notion"]),
        settings["n_classes"],
        *check_folds(settings["n_folds"], settings["random_state"]),
        check_grid(settings["bandwidth"]),
    )
    arrays = unpack(data, numbers, shapes(data, frame, sizes))
    check_memory(data, frame)
    check_arrays(data, arrays, frame)
    occurred = Occurred.restored(seen, settings["n_classes"])
    if occurred is None:
        raise unreadable(data, "numbers of classes in ascending order")
    known = Known.restored(traces)
    if known is None:
        raise unreadable(data, "numbers of updates and first rows")
    names, separate, columns, unnamed, called = reading
    convention = Convention(
        names,
        separate,
        columns,
        unnamed,
        Called(*called),
        occurred,
        read_doubts(data, doubts, settings),
        read_ruled_out(data, ruled_out, settings["n_classes"]),
        read_relation(data, relation, settings["n_classes"]),
        _read_weighted(data, weighted),
    )
    came_by = tuple(origins) or (origin_of(data) if arrays["rows"].any() else ())
    return Written(settings, chosen, frame, arrays, convention, came_by, known)
