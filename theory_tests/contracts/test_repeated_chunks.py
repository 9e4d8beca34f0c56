"""Updates of a sketch, or partitions, that hold rows which were added before: a row counts once, so that this is said."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import CalibrationSketch, decompose
from propercal.reporting.plain import in_plain_words
from propercal.sketch import encoding
from propercal.sketch.repetition import MOST_ROWS, MOST_UPDATES, Known, Trace
from theory_tests.instances import unrelated

N = 400
Y, P = unrelated(N)
MESSAGE = "y_proba and y_true repeat rows that were added before, one by one: they count twice"


def said(sketch: CalibrationSketch, y: Any, p: Any, weight: Any = None) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        sketch.update(y, p, weight)
    return [str(each.message) for each in found if "one by one" in str(each.message)]


def fed(first: int, last: int, step: int, **settings: Any) -> CalibrationSketch:
    sketch = CalibrationSketch(3, **settings)
    for start in range(first, last, step):
        rows = slice(start, min(last, start + step))
        assert not said(sketch, Y[rows], P[rows])
    return sketch


def saved(sketch: CalibrationSketch) -> CalibrationSketch:
    return CalibrationSketch.from_bytes(sketch.to_bytes())


@pytest.mark.parametrize("kept", [lambda sketch: sketch, saved])
@pytest.mark.parametrize("notion", ["classwise", "top-label"])
@pytest.mark.parametrize("step", [400, 100, 64, 20])
def test_an_update_that_came_before_is_told(step: int, notion: str, kept: Any) -> None:
    for start in range(0, N, max(step, 100)):
        sketch = kept(fed(0, N, step, notion=notion))
        rows = slice(start - start % step, start - start % step + step)
        (message,) = said(sketch, Y[rows], P[rows])
        assert message.startswith(MESSAGE)
        assert in_plain_words(message).startswith("Some rows were passed twice")
        # The rows are added, and it is said once.
        assert sketch.n_samples == N + len(Y[rows])
        assert not said(sketch, Y[rows], P[rows])


@pytest.mark.parametrize("n", [30, 63, 100, 300])
@pytest.mark.parametrize(("before", "after"), [(1, 1), (7, 7), (16, 16), (32, 16), (16, 50), (100, 7), (1, 64)])
def test_a_loop_that_runs_twice_is_told_whatever_its_steps(n: int, before: int, after: int) -> None:
    sketch = saved(fed(0, n, before))
    found = []
    for start in range(0, n, after):
        found += said(sketch, Y[start : min(n, start + after)], P[start : min(n, start + after)])
    assert len(found) == 1


def test_other_rows_and_few_are_not() -> None:
    sketch = fed(0, 200, 50)
    assert not said(sketch, Y[200:], P[200:])
    # Of fewer than 20 rows, and of an update in other steps that are not the first ones, nothing is known.
    assert not said(sketch, Y[:19], P[:19])
    assert not said(sketch, Y[60:90], P[60:90])
    # Equal predictions with other labels, such as those of a climate, and other weights.
    assert not said(sketch, Y[:50][::-1], P[:50])
    assert not said(sketch, Y[:50], P[:50], np.full(50, 2.0))
    assert said(sketch, Y[:50], P[:50], np.ones(50))


def test_rows_that_may_be_equal_by_chance_are_not() -> None:
    for y, p in (
        (np.zeros(50, dtype=int), np.linspace(0.01, 0.1, 50)),
        (np.arange(50) % 2, np.where(np.arange(50) % 2, 0.25, 0.75)),
        (np.arange(50) == 7, np.linspace(0.01, 0.1, 50)),
    ):
        sketch = CalibrationSketch(2)
        for _ in range(3):
            assert not said(sketch, y, p)
            for i in range(50):
                assert not said(sketch, y[i : i + 1], p[i : i + 1])


def test_separate_problems_and_rare_outcomes_are_told() -> None:
    marks = np.random.default_rng(0).random((500, 3)) < 0.5
    scores = np.random.default_rng(1).random((500, 3))
    sketch = CalibrationSketch(3)
    assert not said(sketch, marks, scores)
    assert not said(sketch, marks[::-1], scores)
    assert said(sketch, marks, scores)
    rare = (np.arange(5000) % 1000 == 0).astype(int)
    sketch = CalibrationSketch(2)
    assert not said(sketch, rare, np.linspace(0.1, 0.2, 5000))
    assert said(sketch, rare, np.linspace(0.1, 0.2, 5000))


def test_what_is_advised_works() -> None:
    sketch = fed(0, 200, 100)
    assert said(sketch, Y[100:200], P[100:200])
    sketch.reset()
    assert not said(sketch, Y[100:200], P[100:200])
    assert not said(sketch, Y[:100], P[:100])


def test_an_update_that_was_added_to_two_sketches_is_told_where_they_are_merged() -> None:
    one, other = fed(0, 200, 50), fed(150, 300, 50)
    with pytest.warns(UserWarning, match="^other holds rows that were added before to this sketch, one by one") as found:
        one.merge(saved(other))
    assert in_plain_words(str(found[0].message)).startswith("Some rows were passed twice")
    whole = fed(0, 200, 50).merge(fed(200, 300, 50))
    assert said(whole, Y[250:300], P[250:300])
    assert said(fed(0, 200, 50).merge(fed(200, 300, 50)), Y[:40], P[:40])


def test_partitions_that_hold_the_same_rows_are_told() -> None:
    dd = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
    table = pd.DataFrame(P, columns=["0", "1", "2"]).assign(y=Y)
    whole = dd.from_pandas(table, npartitions=4)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        once = decompose(whole["y"], whole[["0", "1", "2"]], notion="classwise")
    assert not [each for each in found if "one by one" in str(each.message)]
    twice = dd.concat([whole, whole.partitions[1], whole.partitions[2]])
    with pytest.warns(UserWarning, match="^2 partitions of y_proba and y_true repeat rows that are in others, one by one") as told:
        again = decompose(twice["y"], twice[["0", "1", "2"]], notion="classwise")
    assert (once.n_samples, again.n_samples) == (N, N + 200)
    assert any("passed twice" in in_plain_words(str(each.message)) for each in told)


def test_what_is_kept_does_not_grow() -> None:
    known = Known()
    for i in range(MOST_UPDATES + 100):
        known = known.after(Trace(i, (i,), (i % 2,), 1))
    assert known.updates == tuple(range(100, MOST_UPDATES + 100))
    assert known.rows == tuple(range(MOST_ROWS))
    assert Known.restored(json.loads(json.dumps(known.written()))) == known


def test_bytes_that_are_none_of_updates_are_refused() -> None:
    settings, numbers = encoding.decode(fed(0, 100, 50).to_bytes(), None)
    updates, rows, labels, run = settings["known"]
    assert (len(updates), len(rows), len(labels), run) == (2, MOST_ROWS, MOST_ROWS, [0])

    def other(**known: Any) -> CalibrationSketch:
        given = {**settings, **known} if known else {name: each for name, each in settings.items() if name != "known"}
        return CalibrationSketch.from_bytes(encoding.sealed(encoding._FORMAT, json.dumps(given).encode(), [numbers], None))

    odd: list[Any] = [[], [3, rows, labels, run], [[0.5], rows, labels, run], [[-1], rows, labels, run], [[1 << 53], rows, labels, run]]
    odd += [[updates, rows[1:], labels, run], [updates, rows, labels, []], [updates, rows, labels, [65]], [[1] * 513, rows, labels, run]]
    for each in odd:
        with pytest.raises(ValueError, match="expected numbers of updates and first rows"):
            other(known=each)
    # What was written before knows none.
    assert not said(other(), Y[:50], P[:50])
    assert said(other(known=settings["known"]), Y[:50], P[:50])
