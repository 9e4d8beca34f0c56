"""A column beside the classes that is 0 in all rows, and of no label, is told by streams and partitions as in memory: by all chunks together.

A flag such as `is_test` divides class-wise numbers of three classes by four.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import CalibrationMonitor, CalibrationSketch, decompose
from propercal.sketch import encoding

N, NAMES = 300, np.array(["cat", "dog", "emu"])
RNG = np.random.default_rng(0)
PROBA = RNG.dirichlet(np.ones(3), N)
WORDS = NAMES[[RNG.choice(3, p=each) for each in PROBA]]
TABLE = pd.DataFrame(PROBA, columns=list(NAMES))
FLAGGED = TABLE.assign(is_test=0)
MESSAGE = r"^y_proba has columns \['is_test'\], taken for classes, though no row has such a label in y_true, and all of their probabilities are 0: drop them if they are none, or pass labels="
SETTINGS: dict[str, Any] = {"generator": "brier"}


def sketch_of(y: Any, p: Any, *, notion: str = "classwise", **options: Any) -> CalibrationSketch:
    first, second = (CalibrationSketch(p.shape[1], notion=notion, **SETTINGS, **options) for _ in range(2))
    for i in range(0, 100, 20):
        first.update(y[i : i + 20], p[i : i + 20])
    second.update(y[100:], p[100:])
    return CalibrationSketch.from_bytes(first.to_bytes()).merge(second)


@pytest.mark.parametrize("notion", ["classwise", "top-label"])
def test_a_sketch_tells_columns_of_zeros(notion: str) -> None:
    right = sketch_of(WORDS, TABLE, notion=notion).result().risk
    sketch = sketch_of(WORDS, FLAGGED, notion=notion)
    for known in (sketch, CalibrationSketch.from_bytes(sketch.to_bytes())):
        with pytest.warns(UserWarning, match=MESSAGE):
            assert known.result().risk == pytest.approx(right if notion == "top-label" else 0.75 * right)


def test_no_more_is_told_than_in_memory() -> None:
    late = FLAGGED.astype({"is_test": float})
    late.loc[N - 1, "is_test"] = 1e-9
    listed = pd.Series(pd.Categorical(WORDS, categories=[*NAMES, "is_test"]))
    occurs = np.where(np.arange(N) == N - 1, "is_test", WORDS)
    numbered = FLAGGED.set_axis(["p_0", "p_1", "p_2", "p_3"], axis=1)
    codes = np.searchsorted(NAMES, WORDS)
    cases: list[tuple[Any, Any, dict[str, Any]]] = [
        (WORDS, late, {}),
        (listed, FLAGGED, {}),
        (WORDS, FLAGGED, {"labels": [*NAMES, "is_test"]}),
        (codes, numbered, {}),
        (codes, FLAGGED.to_numpy(), {}),
    ]
    for y, p, options in cases:
        decompose(y, p, notion="classwise", **SETTINGS, **options)
        sketch_of(y, p, **options).result()
        CalibrationMonitor(4, **options).update(y, p)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "y_proba has columns")
        warnings.filterwarnings("ignore", "infinite")
        sketch_of(occurs, FLAGGED).result()
    # Columns that are separate problems say by themselves whether a class occurs.
    marks = pd.get_dummies(WORDS).assign(is_test=False)
    marks.iloc[::50, :2] = True
    sketch_of(marks, FLAGGED).result()


def test_a_monitor_tells_it_once_after_a_hundred_rows() -> None:
    monitor = CalibrationMonitor(4)
    monitor.update(WORDS[:99], FLAGGED[:99])
    copy = CalibrationMonitor.from_bytes(monitor.to_bytes())
    for each in (monitor, copy):
        with pytest.warns(UserWarning, match=MESSAGE):
            each.update(WORDS[99:150], FLAGGED[99:150])
        each.update(WORDS[150:], FLAGGED[150:])
    assert monitor.to_bytes() == copy.to_bytes()
    plain = CalibrationMonitor(3)
    plain.update(WORDS, TABLE)
    assert np.isfinite(plain.log_e_value)


def test_partitions_tell_it() -> None:
    dd = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")

    def lazy(each: Any) -> Any:
        return dd.from_pandas(each, npartitions=3)

    options: dict[str, Any] = {"notion": "classwise", **SETTINGS}
    with pytest.warns(UserWarning, match=MESSAGE):
        found = decompose(lazy(pd.Series(WORDS)), lazy(FLAGGED), **options)
    right = decompose(lazy(pd.Series(WORDS)), lazy(TABLE), **options)
    assert found.risk == pytest.approx(0.75 * right.risk)
    decompose(lazy(pd.Series(WORDS)), lazy(FLAGGED), labels=[*NAMES, "is_test"], **options)
    decompose(lazy(pd.Series(pd.Categorical(WORDS, categories=[*NAMES, "is_test"]))), lazy(FLAGGED), **options)


def test_bytes_name_columns_of_zeros_by_their_places() -> None:
    sketch = CalibrationSketch(4)
    assert sketch._seen.reading.ruled_out is None
    sketch.update(WORDS[:50], FLAGGED[:50])
    assert CalibrationSketch.from_bytes(sketch.to_bytes())._seen.reading.ruled_out == frozenset({3})
    settings, numbers = encoding.decode(sketch.to_bytes(), None)
    for odd in ([4], [-1], [1, 0], [True], ["a"], [1, 1]):
        text = json.dumps({**settings, "ruled_out": odd}).encode()
        with pytest.raises(ValueError, match="numbers of columns in ascending order"):
            CalibrationSketch.from_bytes(encoding.sealed(encoding._FORMAT, text, [numbers], None))
    # What was written before says nothing of them.
    text = json.dumps({name: each for name, each in settings.items() if name != "ruled_out"}).encode()
    known = CalibrationSketch.from_bytes(encoding.sealed(encoding._FORMAT, text, [numbers], None))
    assert known._seen.reading.ruled_out == frozenset()
    known.result()
