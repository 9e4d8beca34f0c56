"""Rows of a sketch count once, however often they are merged.

Right values: sums over rows, of which every one counts once.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationSketch
from propercal.sketch import encoding, origins
from theory_tests.instances import unrelated

Y, P = unrelated(900)
TWICE = (
    r"other = a sketch with rows that this one holds already: expected rows that it does not hold, as they would count twice; "
    r"merge each sketch once, .*reset\(\) one that goes on after it was merged"
)
COPIES: dict[str, Callable[[CalibrationSketch], CalibrationSketch]] = {
    "itself": lambda sketch: sketch,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda sketch: pickle.loads(pickle.dumps(sketch)),  # noqa: S301
    "bytes": lambda sketch: CalibrationSketch.from_bytes(sketch.to_bytes()),
    "signed": lambda sketch: CalibrationSketch.from_bytes(sketch.to_bytes(key=b"key"), key=b"key"),
}


def fed(first: int, last: int, step: int = 300) -> CalibrationSketch:
    sketch = CalibrationSketch(3)
    for start in range(first, last, step):
        rows = slice(start, min(last, start + step))
        sketch.update(Y[rows], P[rows])
    return sketch


def risk(sketch: CalibrationSketch) -> float:
    """The mean of the log losses of each class and the others."""
    return float(sketch.result().risk)


def mean_loss(stop: int) -> float:
    one_hot = np.eye(3)[Y[:stop]].astype(bool)
    return float(-np.log(np.where(one_hot, P[:stop], 1 - P[:stop])).mean())


@pytest.mark.parametrize("step", [1, 300], ids=["waiting", "summed"])
@pytest.mark.parametrize("kind", COPIES)
def test_a_sketch_is_merged_once(kind: str, step: int) -> None:
    """Rows may wait, or be summed up already."""
    part = fed(100, 200, step) if step == 1 else fed(300, 900)
    stop = 100 if step == 1 else 300
    whole = fed(0, stop).merge(part)
    before = whole.to_bytes()
    with pytest.raises(ValueError, match=TWICE):
        whole.merge(COPIES[kind](part))
    assert whole.to_bytes() == before
    assert whole.n_samples == stop + part.n_samples
    assert risk(whole) == pytest.approx(mean_loss(whole.n_samples), rel=1e-12)
    # Nor does a part take what it is part of.
    with pytest.raises(ValueError, match=TWICE):
        COPIES[kind](part).merge(whole)


@pytest.mark.parametrize("kind", [each for each in COPIES if each != "itself"])
def test_copies_that_went_their_own_way_share_their_past(kind: str) -> None:
    one = fed(0, 300)
    other = COPIES[kind](one)
    one.update(Y[300:600], P[300:600])
    other.update(Y[600:], P[600:])
    with pytest.raises(ValueError, match=TWICE):
        one.merge(other)
    # A sketch that was sent, and went on, holds what was sent.
    whole = CalibrationSketch(3).merge(other)
    other.update(Y[300:600], P[300:600])
    with pytest.raises(ValueError, match=TWICE):
        whole.merge(other)


def test_what_is_advised_works() -> None:
    part, whole = fed(0, 300), CalibrationSketch(3)
    whole.merge(part)
    part.reset()
    part.update(Y[300:], P[300:])
    assert risk(whole.merge(part)) == pytest.approx(mean_loss(900), rel=1e-12)


@pytest.mark.parametrize("kind", [each for each in COPIES if each != "itself"])
def test_copies_of_no_rows_share_none(kind: str) -> None:
    empty = CalibrationSketch(3)
    one, other = (COPIES[kind](empty) for _ in range(2))
    one.update(Y[:300], P[:300])
    other.update(Y[300:], P[300:])
    assert risk(one.merge(empty).merge(other)) == pytest.approx(mean_loss(900), rel=1e-12)


def test_parts_are_told_apart_by_more_than_their_rows() -> None:
    """Equal rows may occur twice, such as single ones."""
    whole = CalibrationSketch(2, notion="canonical")
    for _ in range(30):
        one = CalibrationSketch(2, notion="canonical")
        one.update([1], [0.75])
        whole.merge(one)
    assert whole.n_samples == 30


def test_shards_of_shards() -> None:
    parts = [fed(start, start + 100) for start in range(0, 900, 100)]
    halves = [CalibrationSketch(3), CalibrationSketch(3)]
    for i, part in enumerate(parts):
        halves[i % 2].merge(part)
    doubled = fed(0, 100).merge(parts[3])
    with pytest.raises(ValueError, match=TWICE):
        halves[1].merge(doubled)
    whole = halves[0].merge(halves[1])
    assert risk(whole) == pytest.approx(mean_loss(900), rel=1e-12)
    for each in (*parts, halves[1], doubled):
        with pytest.raises(ValueError, match=TWICE):
            whole.merge(each)


def test_bytes_of_an_earlier_version_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have no numbers of sketches: the same bytes are the same rows."""
    sealed = encoding.sealed
    with monkeypatch.context() as patch:

        def as_before(form: bytes, text: bytes, numbers: Any, key: bytes | None) -> bytes:
            start = text.index(b', "origins": [')
            return sealed(form, text[:start] + text[text.index(b"]", start) + 1 :], numbers, key)

        patch.setattr(encoding, "sealed", as_before)
        one, other, none = fed(0, 300).to_bytes(), fed(300, 900).to_bytes(), CalibrationSketch(3).to_bytes()
    whole = CalibrationSketch(3).merge(CalibrationSketch.from_bytes(one))
    for _ in range(2):
        whole.merge(CalibrationSketch.from_bytes(none))
    assert risk(whole.merge(CalibrationSketch.from_bytes(other))) == pytest.approx(mean_loss(900), rel=1e-12)
    for data in (one, other):
        with pytest.raises(ValueError, match=TWICE):
            whole.merge(CalibrationSketch.from_bytes(data))


def test_bytes_stay_small() -> None:
    whole = fed(0, 100)
    alone = len(whole.to_bytes())
    for _ in range(origins.MOST + 10):
        part = CalibrationSketch(3)
        part.update(Y[:1], P[:1])
        whole.merge(part)
    assert len(whole._seen.origins) == origins.MOST
    # Random numbers of 60 bits, as decimals, take some 8 bytes each and a few for what is between.
    assert len(whole.to_bytes()) < alone + 12 * origins.MOST
    assert CalibrationSketch.from_bytes(whole.to_bytes()).to_bytes() == whole.to_bytes()
    with pytest.raises(ValueError, match=TWICE):
        whole.merge(part)


@pytest.mark.parametrize("written", [None, 3, [0.5], [-1], [True], ["1"], [1 << 60], [1, 1], list(range(origins.MOST + 1))])
def test_numbers_that_no_sketch_has_are_refused(written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = encoding.sealed

    def other(form: bytes, text: bytes, numbers: Any, key: bytes | None) -> bytes:
        import json

        settings = {**json.loads(text), "origins": written}
        return sealed(form, json.dumps(settings).encode(), numbers, key)

    with monkeypatch.context() as patch:
        patch.setattr(encoding, "sealed", other)
        data = fed(0, 300).to_bytes()
    with pytest.raises(ValueError, match=r"expected numbers of the sketches that rows came by|expected a setting origins that is list"):
        CalibrationSketch.from_bytes(data)
