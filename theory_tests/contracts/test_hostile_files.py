"""Mutated files and bytes: each reader returns arrays that fit each other, or raises a ValueError.

`make fuzz` runs this with 10⁵ examples a reader, FUZZ_EXAMPLES of them.
"""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from propercal import CalibrationMonitor, CalibrationSketch
from propercal.cli.files import read_predictions
from theory_tests.instances import unrelated

N_EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "200"))
Y_TRUE, Y_PROBA = unrelated(30)
TABLE = pd.DataFrame(Y_PROBA.round(3), columns=list("abc")).assign(label=[*map("abc".__getitem__, Y_TRUE)])


def array(values: object) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(values))
    return stream.getvalue()


def npz() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, labels=Y_TRUE, probs=Y_PROBA)
    return stream.getvalue()


def parquet() -> bytes:
    stream = io.BytesIO()
    TABLE.to_parquet(stream)
    return stream.getvalue()


INTACT: dict[str, Callable[[], bytes]] = {
    "p.npz": npz,
    "probs.npy": lambda: array(Y_PROBA),
    "p.csv": lambda: TABLE.to_csv(index=False).encode(),
    "p.tsv": lambda: TABLE.to_csv(index=False, sep="\t").encode(),
    "p.csv.gz": lambda: gzip.compress(TABLE.to_csv(index=False).encode(), mtime=0),
    "p.jsonl": lambda: TABLE.to_json(orient="records", lines=True).encode(),
    "p.parquet": parquet,
}
TOKENS = [b"\x00", b"\xff" * 8, b'"', b",", b"\n", b"\r", b"[" * 50, b"{", b"}", b"1e999", b"nan", b"-", b"\x1b[2J", b"9" * 40, b"O8"]


@st.composite
def mutants(draw: st.DrawFn, intact: bytes) -> bytes:
    data = bytearray(intact)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(data) - 1)))
        kind = draw(st.sampled_from(["bit", "byte", "cut", "token", "copy", "remove"]))
        if kind == "bit" and data:
            data[place] ^= 1 << draw(st.integers(0, 7))
        elif kind == "byte" and data:
            data[place] = draw(st.integers(0, 255))
        elif kind == "cut":
            del data[place:]
        elif kind == "token":
            data[place:place] = draw(st.sampled_from(TOKENS))
        elif kind == "copy":
            data[place:place] = data[draw(st.integers(0, len(data))) :][:64]
        else:
            del data[place : place + draw(st.integers(1, 64))]
    return bytes(data)


@pytest.mark.parametrize("name", INTACT)
def test_a_reader_of_mutated_files(name: str, tmp_path: Path) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    intact = INTACT[name]()
    path = tmp_path / name
    np.save(tmp_path / "labels.npy", Y_TRUE)

    @settings(max_examples=N_EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(mutants(intact))
    def check(data: bytes) -> None:
        path.write_bytes(data)
        try:
            found = read_predictions(path)
        except ValueError as error:
            said = str(error)
        else:
            said = f"{path}: "
            assert isinstance(found.y_true, np.ndarray)
            assert isinstance(found.y_proba, np.ndarray)
            assert not found.y_true.dtype.hasobject
            assert not found.y_proba.dtype.hasobject
        assert said.startswith(f"{path}: ")
        assert "allow_pickle" not in said

    path.write_bytes(intact)
    np.testing.assert_array_equal(read_predictions(path).y_true, Y_TRUE)
    check()


@pytest.mark.parametrize("kind", [CalibrationSketch, CalibrationMonitor])
def test_readers_of_mutated_bytes(kind: Any) -> None:
    written = kind(3, generator="brier", bandwidth=0.1) if kind is CalibrationSketch else kind(3)
    written.update(Y_TRUE, Y_PROBA)
    intact = written.to_bytes()

    @settings(max_examples=N_EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(mutants(intact))
    def check(data: bytes) -> None:
        if data != intact:
            with pytest.raises(ValueError, match=r"data = \d+ bytes: expected"):
                kind.from_bytes(data)

    check()
