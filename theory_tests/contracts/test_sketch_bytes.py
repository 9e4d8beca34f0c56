"""Bytes of a sketch that come from elsewhere: damaged, signed by another, or made to deceive."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propercal import CalibrationSketch
from propercal.generators import from_function
from propercal.sketch import encoding
from theory_tests.instances import unrelated

HEAD = len(encoding._FORMAT) + 32


def seen(n: int = 120, **settings: Any) -> CalibrationSketch:
    sketch = CalibrationSketch(**{"n_classes": 3, "bandwidth": 0.1, **settings})
    sketch.update(*unrelated(n))
    return sketch


WRITTEN = seen(generator="brier").to_bytes()


def opened(data: bytes = WRITTEN) -> tuple[dict[str, Any], bytearray]:
    """Return the settings and the numbers in the bytes."""
    content = zlib.decompress(data[HEAD:])
    (length,) = struct.unpack_from("<Q", content)
    return json.loads(content[8 : 8 + length]), bytearray(content[8 + length :])


def closed(settings: object, numbers: bytes | bytearray) -> bytes:
    """Write them with the checksum that fits."""
    text = json.dumps(settings).encode()
    content = zlib.compress(struct.pack("<Q", len(text)) + text + bytes(numbers))
    return encoding._FORMAT + hashlib.sha256(encoding._FORMAT + content).digest() + content


def test_any_flipped_bit_is_told() -> None:
    rng = np.random.default_rng(0)
    for place in rng.choice(8 * len(WRITTEN), 300, replace=False):
        flipped = bytearray(WRITTEN)
        flipped[place // 8] ^= 1 << place % 8
        with pytest.raises(ValueError, match=r"data = \d+ bytes: expected"):
            CalibrationSketch.from_bytes(bytes(flipped))


def test_bytes_are_read_with_the_key_that_signed_them() -> None:
    sketch = seen()
    signed = sketch.to_bytes(key=b"secret")
    again = CalibrationSketch.from_bytes(signed, key=b"secret")
    assert again.to_bytes() == sketch.to_bytes()
    others: list[bytes | None] = [b"other", None]
    for key in others:
        with pytest.raises(ValueError, match="expected bytes that are those written"):
            CalibrationSketch.from_bytes(signed, key=key)
    with pytest.raises(ValueError, match="with the same key"):
        CalibrationSketch.from_bytes(sketch.to_bytes(), key=b"secret")
    unusable: list[Any] = ["secret", b""]
    for each in unusable:
        with pytest.raises(ValueError, match="key = "):
            sketch.to_bytes(key=each)


@pytest.mark.parametrize("data", [b"PK\x03\x04", b"propercal sketch 2\n" + bytes(200), b"propercal sketch 3\n" + bytes(200)])
def test_a_sketch_of_an_earlier_format_is_named_as_such(data: bytes) -> None:
    with pytest.raises(ValueError, match="of format 5, which an earlier version of this package"):
        CalibrationSketch.from_bytes(data)


def test_what_is_opened_and_closed_is_read() -> None:
    assert CalibrationSketch.from_bytes(closed(*opened())).to_bytes() == WRITTEN


@pytest.mark.parametrize(
    "change",
    [
        {"n_classes": 2},
        {"n_classes": 10**9},
        {"n_classes": -1},
        {"n_classes": True},
        {"n_classes": "3"},
        {"bandwidth": 0.05},
        {"bandwidth": 1e-6},
        {"bandwidth": 1e300},
        {"bandwidth": "0.1"},
        {"notion": "canonical"},
        {"notion": "top-label"},
        {"notion": ["classwise"]},
        {"generator": "Log()", "name": "log"},
        {"name": "no generator"},
        {"values": []},
        {"values": [[]]},
        {"labels": [1, 2]},
        {"labels": {"a": 1}},
        {"labels": [[1], [2], [3]]},
        {"reading": None},
        {"reading": [None]},
        {"reading": [None, 3, None, False]},
        {"reading": [["a"], None, None, False]}, {"reading": [None, None, None]}, {"reading": [None, None, None, 0]}, {"reading": [None, None, ["a"], False]},
        *({"reading": [["a"], None, None, False, [None, None]]}, {"reading": [None, None, ["a"], False, [None, None]]}),
        {"reading": [None, None, None, False, None]}, {"reading": [None, None, None, False, [None]]}, {"reading": [None, None, None, False, [[], None]]},
        *({"occurred": each} for each in (None, [], [[0]], [[0], None], [[3], 1.0], [[-1], 1.0], [[1, 0], 1.0], [[0, 0], 1.0], [[0.0], 1.0])),
        *({"occurred": each} for each in ([[True], 1.0], [0, 1.0], [[0], -1.0], [[0], True], [[0], "1"], [[0], 1.0, 2], {"0": 1})),
        {"pos_label": []}, {"link": "x"}, {"link": 3},
        {"bandwidth": None},
        {"n_folds": 4}, {"n_folds": 6}, {"n_folds": 10**9}, {"n_folds": -1}, {"n_folds": True}, {"n_folds": 5.0},
        {"random_state": -1}, {"random_state": None}, {"random_state": False}, {"random_state": 1.0},
        {"n_points": -1}, {"n_points": 10**12}, {"n_points": 2.0}, {"weighted": True}, {"weighted": 0},
        {"used": -1},
        {"used": 10**12},
        {"used": 2.0},
        {"used": None},
        {"from_logits": 1},
        {"another": 1},
    ],
    ids=str,
)
def test_settings_that_are_not_those_of_the_numbers(change: dict[str, Any]) -> None:
    settings, numbers = opened()
    with pytest.raises(ValueError, match="expected"):
        CalibrationSketch.from_bytes(closed(settings | change, numbers))


@pytest.mark.parametrize("settings", [None, [], {}, "text", [[[[[]]]]]], ids=str)
def test_settings_that_are_none(settings: object) -> None:
    with pytest.raises(ValueError, match="expected the settings n_classes"):
        CalibrationSketch.from_bytes(closed(settings, b""))


def test_settings_that_are_nested_without_end() -> None:
    text = b"[" * 200_000
    content = zlib.compress(struct.pack("<Q", len(text)) + text)
    data = encoding._FORMAT + hashlib.sha256(encoding._FORMAT + content).digest() + content
    with pytest.raises(ValueError, match="settings that can be read"):
        CalibrationSketch.from_bytes(data)


def test_few_bytes_do_not_unpack_to_many() -> None:
    data = closed(opened()[0], bytes(1 << 26))
    assert len(data) < 100_000
    with pytest.raises(ValueError, match="unpack to"):
        CalibrationSketch.from_bytes(data)


def test_few_bytes_do_not_ask_for_much_memory() -> None:
    settings = opened()[0] | {"reading": [None, None, None, False, [None, None]]}
    n = 40_000
    numbers = np.zeros(8 + 3 + 2 * n + 3 + 2 * n).tobytes()
    with pytest.raises(ValueError, match="bytes of memory at most"):
        CalibrationSketch.from_bytes(
            closed(settings | {"n_classes": n, "bandwidth": 1e-6, "used": 0, "n_points": 0}, numbers)
        )


def many(weighted: bool = False, **settings: Any) -> bytes:
    """A sketch whose points are bins."""
    sketch = CalibrationSketch(**{"n_classes": 3, "generator": "brier", **settings})
    weight = np.random.default_rng(0).uniform(1, 3, 6000) if weighted else None
    sketch.update(*unrelated(6000), weight)
    return sketch.to_bytes()


KINDS = {"predictions": WRITTEN, "bins": many(), "weights": many(weighted=True)}


def arrays(data: bytes = WRITTEN) -> dict[str, Any]:
    """Return views of the numbers that can be written to, and all of them."""
    settings, numbers = opened(data)
    n, m, order = settings["used"] or 0, settings["n_points"], 16
    cells = 2 * settings["n_folds"] * m
    sizes = {
        "sums": 8, "bounds": 3, "zeros": 6, "rows": 3, "points": 3, "exact": 3, "keys": m, "total": m, "low": m,
        "high": m, "size": cells, "weight": cells * settings["weighted"], "squares": cells * settings["weighted"],
        "used": n, "cells": n * order, "sizes": n,
    }  # fmt: skip
    views, start = {}, 0
    for name, size in sizes.items():
        views[name] = np.frombuffer(numbers, encoding._DTYPES[name], size, start)
        start += 8 * size
    assert start == len(numbers)
    return {**views, "settings": settings, "numbers": numbers}


def check_refused(data: bytes, name: str, place: Any, value: Any) -> None:
    made = arrays(data)
    made[name][place] = value
    with pytest.raises(ValueError, match=r"data = \d+ bytes: expected"):
        CalibrationSketch.from_bytes(closed(made["settings"], made["numbers"]))


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("sizes", 0, -5),
        ("sizes", 0, 0),
        ("sizes", 0, 10**6),
        ("sizes", slice(None), 17),
        ("cells", 0, np.nan),
        ("cells", 0, np.inf),
        ("cells", 0, 1e9),
        ("cells", 15, 3.0),
        ("used", 0, -1),
        ("used", 0, 10**12),
        ("used", slice(None), 4),
    ],
)
def test_numbers_that_are_no_nodes(name: str, place: Any, value: Any) -> None:
    check_refused(WRITTEN, name, place, value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        *[("sums", i, value) for i in range(6) for value in (1e9, -1.0, np.nan, np.inf)],
        *[("sums", i, value) for i in range(6, 8) for value in (1e-3, np.nan, np.inf)],
        ("sums", 4, 0.0),
        ("zeros", 0, -1),
        ("zeros", 0, 10**6),
        *[("rows", i, value) for i in range(3) for value in (-1, -3, 10**6, 2**62)],
        ("rows", 0, 0),
        ("rows", 2, 3),
        *[("bounds", i, value) for i in range(3) for value in (np.nan, 1e9, np.inf)],
        ("bounds", 0, 1e-120),
        ("bounds", 1, 0.0),
        ("points", 0, -1),
        ("points", 0, 0),
        ("points", 0, 2**62),
        ("points", slice(None), 0),
        ("exact", 0, 2),
        ("exact", 0, -1),
        *[(name, 0, value) for name in ("keys", "total", "low", "high") for value in (np.nan, np.inf, 1e9, -1e9)],
        *[(name, slice(None), 0.5) for name in ("keys", "low", "high")],
        ("size", 0, -1),
        ("size", 0, 10**6),
        ("size", 0, 2**62),
        ("size", slice(0, 10), 0),
        ("size", slice(None), 2**60),
    ],
)
def test_numbers_that_are_no_sums_over_rows(kind: str, name: str, place: Any, value: Any) -> None:
    check_refused(KINDS[kind], name, place, value)


@pytest.mark.parametrize("kind", KINDS)
def test_points_are_not_said_to_be_of_the_other_kind(kind: str) -> None:
    check_refused(KINDS[kind], "exact", slice(None), 1 - arrays(KINDS[kind])["exact"][0])


@pytest.mark.parametrize("name", ["weight", "squares"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 0.0, 1e9, 1e300, 1e-300])
def test_weights_that_are_none(name: str, value: float) -> None:
    data = KINDS["weights"]
    place = int(np.argmax(arrays(data)[name] > 0))
    check_refused(data, name, place, value)
    empty = int(np.argmax(arrays(data)[name] == 0))
    check_refused(data, name, empty, 1.0)


def test_the_kinds_are_read_as_they_are() -> None:
    for data in KINDS.values():
        assert CalibrationSketch.from_bytes(closed(*opened(data))).to_bytes() == data
    empty = CalibrationSketch(3).to_bytes()
    assert CalibrationSketch.from_bytes(empty).to_bytes() == empty
    assert len(KINDS["bins"]) < 3 * 40_000


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_numbers_with_any_byte_changed_are_refused_or_of_about_the_same_risk(kind: str, data: st.DataObject) -> None:
    written = KINDS[kind]
    settings, numbers = opened(written)
    for _ in range(data.draw(st.integers(1, 3))):
        numbers[data.draw(st.integers(0, len(numbers) - 1))] = data.draw(st.integers(0, 255))
    try:
        sketch = CalibrationSketch.from_bytes(closed(settings, numbers))
    except ValueError:
        return
    found, wanted = sketch._state.totals, CalibrationSketch.from_bytes(written)._state.totals
    assert found.n_samples == wanted.n_samples
    assert found.risk() == pytest.approx(wanted.risk(), rel=0.01)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(tail: bytes) -> None:
    content = zlib.compress(tail)
    for data in (
        tail,
        encoding._FORMAT + tail,
        encoding._FORMAT + hashlib.sha256(encoding._FORMAT + content).digest() + content,
    ):
        with pytest.raises(ValueError, match="expected"):
            CalibrationSketch.from_bytes(data)


def square(p: Any) -> Any:
    return (p**2).sum(-1)


def cube(p: Any) -> Any:
    return (p**3).sum(-1)


def test_generators_of_one_name_and_other_values_are_not_mixed() -> None:
    pytest.importorskip("torch")
    squares, cubes = (from_function(f, name="mine") for f in (square, cube))
    one, other = seen(generator=squares), seen(generator=cubes)
    with pytest.raises(ValueError, match="of the same values of F"):
        one.merge(other)
    with pytest.raises(ValueError, match=r"generator = .*expected .*, that of the sketch"):
        CalibrationSketch.from_bytes(one.to_bytes(), generator=cubes)
    again = CalibrationSketch.from_bytes(one.to_bytes(), generator=squares)
    assert again.merge(seen(100, generator=from_function(square, name="mine"))).n_samples == 220


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))])  # noqa: S301
def test_copies_go_their_own_way(copied: Any) -> None:
    sketch = seen()
    with sketch._lock:
        other = copied(sketch)
    other.update(*unrelated(5))
    assert (sketch.n_samples, other.n_samples) == (120, 125)
