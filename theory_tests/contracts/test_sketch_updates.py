"""A sketch may be updated row by row: rows wait to be added, and nobody can tell."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from propercal import CalibrationSketch
from propercal.sketch.contents import ENOUGH
from theory_tests.instances import Floats, Labels, NoHessian, unrelated, values
from theory_tests.sums_of_sketches import check_same_sums

READS: list[Callable[[CalibrationSketch], Any]] = [
    lambda sketch: quietly(partial(sketch.result, method="risk")),
    lambda sketch: quietly(sketch.result) if sketch.n_samples >= 20 else None,
    lambda sketch: quietly(partial(sketch.quadrature_error, method="direct")),
    lambda sketch: sketch.to_bytes(),
    lambda sketch: repr(sketch),
    lambda sketch: sketch.n_samples,
    lambda sketch: pickle.dumps(sketch),
    lambda sketch: copy.deepcopy(sketch),
    lambda sketch: made(notion=sketch.notion, generator="brier").merge(sketch),
]


def made(**settings: Any) -> CalibrationSketch:
    return CalibrationSketch(**{"n_classes": 3, "bandwidth": 0.05, **settings})


def fed(y_true: Any, y_proba: Any, **settings: Any) -> CalibrationSketch:
    sketch = made(**settings)
    sketch.update(y_true, y_proba)
    return sketch


def sample(n: int, seed: int = 0, k: int = 3) -> tuple[Labels, Floats]:
    return unrelated(n, k, seed, concentration=0.5)


def quietly(function: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        # Some samples are too few for the bandwidth, and say so.
        warnings.simplefilter("ignore", UserWarning)
        return function()


def check_same(found: CalibrationSketch, wanted: CalibrationSketch) -> None:
    check_same_sums(found._state, wanted._state)
    assert found.n_samples == wanted.n_samples
    if wanted.n_samples > 1:
        left, right = (values(quietly(partial(each.result, method="risk"))) for each in (found, wanted))
        assert left == pytest.approx(right, rel=1e-10, abs=1e-12)


@st.composite
def groups(draw: st.DrawFn) -> list[int]:
    """Sizes of updates, of which many are 1, and some are too many to wait."""
    some = draw(st.lists(st.sampled_from([1, 1, 1, 2, 7, ENOUGH - 1, ENOUGH, 400]), max_size=8))
    ones = draw(st.sampled_from([0, 3, ENOUGH + 5]))
    return draw(st.permutations([*some, *[1] * ones]))


@settings(max_examples=20)
@given(
    sizes=groups(), read=st.sampled_from(READS), reads_after=st.sets(st.integers(0, 90), max_size=4),
    seed=st.integers(0, 2**32 - 1), notion=st.sampled_from(["classwise", "top-label"]),
)
def test_rows_that_wait_are_rows_like_others(
    sizes: list[int], read: Callable[[Any], Any], reads_after: set[int], seed: int, notion: str
) -> None:
    y_true, y_proba = sample(sum(sizes), seed)
    # Some predictions are equal, and some are certain.
    y_proba[::5] = np.eye(3)[y_true[::5] - 1]
    whole, parts = (made(notion=notion, generator="brier") for _ in range(2))
    if sizes:
        whole.update(y_true, y_proba)
    start = 0
    for i, size in enumerate(sizes):
        parts.update(y_true[start : start + size], y_proba[start : start + size])
        start += size
        if i in reads_after and parts.n_samples > 1:
            before = parts._seen
            read(parts)
            # Another thread may be updating: what reads must not write.
            assert parts._seen is before
        assert parts.n_samples == start
    check_same(parts, whole)


@pytest.mark.slow
@settings(max_examples=20)
@given(left=st.integers(0, 300), right=st.integers(0, 300), step=st.sampled_from([1, 13, 300]))
def test_rows_may_wait_on_either_side_of_a_merge(left: int, right: int, step: int) -> None:
    y_true, y_proba = sample(left + right + 1)
    whole, one, other = made(), made(), made()
    whole.update(y_true, y_proba)
    for sketch, start, stop in ((one, 0, left), (other, left, left + right)):
        for a in range(start, stop, step):
            rows = slice(a, min(a + step, stop))
            sketch.update(y_true[rows], y_proba[rows])
    before = other.to_bytes()
    assert one.merge(other) is one
    one.update(y_true[-1:], y_proba[-1:])
    assert other.to_bytes() == before
    check_same(one, whole)


BAD: dict[str, tuple[Any, Any, str]] = {
    "a label that is no class": ([7], [[0.2, 0.3, 0.5]], "y_true = 7"),
    "a label that is no number": ([np.nan], [[0.2, 0.3, 0.5]], "y_true = nan"),
    "a value that is missing": ([1], [[0.2, np.nan, 0.5]], "y_proba = nan"),
    "a value above 1": ([1], [[1.2, 0.0, 0.0]], "y_proba = 1.2"),
    "a row that does not sum to 1": ([1], [[0.2, 0.2, 0.2]], "rows that sum to 0.6"),
    "another number of classes": ([1], [[0.5, 0.5]], "y_proba = 2 classes: expected 3"),
    "labels of no row": ([1], np.zeros((0, 3)), "y_proba = an array of shape"),
    "no row of another number of classes": ([], np.zeros((0, 4)), "y_proba = 4 classes: expected 3"),
    "two labels of one row": ([1, 1], [[0.2, 0.3, 0.5]], "y_true = 2 labels"),
    "a good row and a bad one": ([1, 1], [[0.2, 0.3, 0.5], [0.2, -0.3, 1.1]], "y_proba = -0.3"),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize("n", [0, 1, 5, ENOUGH - 1, ENOUGH, 300])
def test_the_update_of_bad_rows_raises_and_no_later_one(n: int, bad: tuple[Any, Any, str]) -> None:
    y_true, y_proba = sample(n + 2)
    sketch, wanted = made(), made()
    for row in range(n):
        sketch.update(y_true[row : row + 1], y_proba[row : row + 1])
    before, written = sketch._seen, sketch.to_bytes()
    with pytest.raises(ValueError, match=bad[2]):
        sketch.update(*bad[:2])
    assert sketch._seen is before
    assert sketch.to_bytes() == written
    assert sketch.n_samples == n
    sketch.update(y_true[n:], y_proba[n:])
    wanted.update(y_true, y_proba)
    check_same(sketch, wanted)


class Picky(NoHessian):
    """A generator of one's own, which refuses some predictions."""

    def value(self, p: Any) -> Any:
        if (p == 0.25).any():
            raise ArithmeticError("a quarter")
        return super().value(p)


@pytest.mark.parametrize("n", [1, 300])
def test_a_generator_that_fails_fails_at_once(n: int) -> None:
    sketch = fed([0], [[0.2, 0.3, 0.5]], generator=Picky())
    before = sketch._seen
    with pytest.raises(ArithmeticError, match="a quarter"):
        sketch.update([0] * n, [[0.25, 0.25, 0.5]] * n)
    assert sketch._seen is before


def test_a_notion_that_rows_do_not_fit_is_refused_at_once() -> None:
    sketch = made(notion="top-label")
    with pytest.raises(ValueError, match="an indicator matrix whose rows do not all mark exactly"):
        sketch.update([[1, 1, 0]], [[0.2, 0.3, 0.5]])
    assert sketch.n_samples == 0


@pytest.mark.parametrize("n", [1, 5, 300])
def test_what_is_passed_is_neither_kept_nor_changed(n: int) -> None:
    y_true, y_proba = sample(n)
    for notion, k in (("classwise", 3), ("top-label", 3), ("canonical", 2)):
        labels, rows = (y_true, y_proba) if k == 3 else sample(n, k=2)
        given_labels, given_rows = labels.copy(), rows.copy()
        sketch = made(n_classes=k, notion=notion)
        sketch.update(given_labels, given_rows)
        np.testing.assert_array_equal(given_labels, labels)
        np.testing.assert_array_equal(given_rows, rows)
        before = sketch.to_bytes()
        given_labels[:] = 0
        given_rows[:] = 1 / k
        assert sketch.to_bytes() == before


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda sketch: pickle.loads(pickle.dumps(sketch))],  # noqa: S301
    ids=["copy", "deepcopy", "pickle"],
)
@pytest.mark.parametrize("n", [3, ENOUGH - 1])
def test_copies_go_their_own_way(n: int, copied: Callable[[Any], Any]) -> None:
    y_true, y_proba = sample(n + 2)
    sketch, wanted = (fed(y_true[:n], y_proba[:n]) for _ in range(2))
    again = copied(sketch)
    again.update(y_true[n:], y_proba[n:])
    check_same(sketch, wanted)
    sketch.update(y_true[n : n + 1], y_proba[n : n + 1])
    wanted.update(y_true[n:], y_proba[n:])
    check_same(again, wanted)


def test_what_waits_is_bounded() -> None:
    y_true, y_proba = sample(3 * ENOUGH + 1)
    sketch = made()
    for row in range(len(y_true)):
        sketch.update(y_true[row : row + 1], y_proba[row : row + 1])
        assert sum(len(rows.losses.loss) for rows in sketch._seen.waiting) < ENOUGH
    wanted = fed(y_true, y_proba)
    # Only what waits for the last few rows is added to what all rows are kept in.
    assert len(pickle.dumps(sketch)) < 1.1 * len(pickle.dumps(wanted))


@pytest.mark.parametrize("n", [1, 40])
def test_rows_of_tensors_may_wait(n: int) -> None:
    torch = pytest.importorskip("torch")
    y_true, y_proba = sample(n + 40)
    sketch, wanted = fed(y_true[:40], y_proba[:40]), fed(y_true, y_proba)
    given_rows = torch.tensor(y_proba, requires_grad=True)
    sketch.update(torch.tensor(y_true[40:]), given_rows[40:])
    check_same(sketch, wanted)
    assert given_rows.grad is None
    with torch.no_grad():
        given_rows.fill_(1 / 3)
    check_same(sketch, wanted)


def test_a_kind_of_sketch_of_ones_own_stays_one() -> None:
    class Counting(CalibrationSketch):
        calls = 0

        def update(self, y_true: object, y_proba: object, sample_weight: object = None) -> None:
            self.calls += 1
            super().update(y_true, y_proba, sample_weight)

    sketch, wanted = Counting(3, bandwidth=0.05), made()
    y_true, y_proba = sample(4)
    for row in range(4):
        sketch.update(y_true[row : row + 1], y_proba[row : row + 1])
    wanted.update(y_true, y_proba)
    assert sketch.calls == 4
    again = Counting.from_bytes(sketch.to_bytes())
    assert isinstance(again, Counting)
    check_same(again, wanted)


@pytest.mark.parametrize("n", [0, 3, 300])
@pytest.mark.parametrize("rows", [([], []), (np.zeros(0, int), np.zeros((0, 3))), ([], torch.zeros(0, 3))], ids=str)
def test_no_rows_change_nothing(n: int, rows: Any) -> None:
    sketch = made()
    sketch.update(*sample(n))
    before = sketch._seen
    sketch.update(*rows)
    assert sketch._seen is before


def of_weights(*given: Any, n: int = 30) -> tuple[CalibrationSketch, list[str]]:
    sketch = made(bandwidth=None)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for i, weight in enumerate(given):
            sketch.update(*sample(n, i), weight)
            sketch = CalibrationSketch.from_bytes(sketch.to_bytes())
    return sketch, [str(each.message) for each in found if "which count as rows of weight 1" in str(each.message)]


def test_weights_of_some_updates_alone_are_told_once() -> None:
    """Source: a row without a weight has weight 1, as docstrings say, whatever those of others are."""
    weight, ones = np.full(30, 5.0), np.ones(30)
    for weights, wanted in (((weight, None, None), "sample_weight is given for rows before, and not for these rows,"), ((None, weight, weight), "sample_weight is given for these rows, and not for rows before,")):
        sketch, (message,) = of_weights(*weights)
        assert message.startswith(wanted)
        # As advised, with the same numbers.
        advised, told = of_weights(*(ones if each is None else each for each in weights))
        assert not told
        check_same_sums(sketch._state, advised._state)
    assert not of_weights(None, None)[1]
    assert not of_weights(weight, ones)[1]


def test_weights_of_one_of_two_sketches_are_told() -> None:
    weighted, plain = of_weights(np.full(30, 5.0))[0], made(bandwidth=None)
    plain.update(*sample(30, 7))
    for one, other in ((weighted, plain), (plain, weighted)):
        with pytest.warns(UserWarning, match=r"^sample_weight is given for (rows before|these rows), and not for"):
            copy.deepcopy(one).merge(other)


@pytest.mark.filterwarnings("ignore:7% of the predictions")
@pytest.mark.parametrize("kind", ["ProperCalibrationError", "StreamingCalibrationError"])
def test_weights_of_some_batches_alone_are_told_once(kind: str) -> None:
    torch = pytest.importorskip("torch")
    metrics = pytest.importorskip("propercal.torchmetrics")
    listed = kind == "ProperCalibrationError"
    metric = metrics.ProperCalibrationError(method="risk", bandwidth=0.1) if listed else metrics.StreamingCalibrationError(3, weighted=True)

    def batch(seed: int) -> list[Any]:
        return [torch.as_tensor(each) for each in sample(30, seed)][::-1]

    metric.update(*batch(0), torch.full((30,), 2.0))
    with pytest.warns(UserWarning, match=r"^sample_weight is given for rows before, and not for these rows"):
        metric.update(*batch(1))
    metric.update(*batch(2))
    metric.reset()
    metric.update(*batch(0))
    with pytest.warns(UserWarning, match=r"^sample_weight is given for these rows"):
        metric(*batch(1), torch.full((30,), 2.0))


def test_a_sketch_forgets_its_rows_and_keeps_its_settings() -> None:
    rng = np.random.default_rng(0)
    sketch, new = made(generator="brier"), made(generator="brier")
    # Rows that settle how others are read.
    sketch.update(rng.integers(0, 2, (300, 3)), rng.uniform(size=(300, 3)))
    sketch.reset()
    assert sketch.n_samples == 0
    assert sketch.to_bytes() == new.to_bytes()
    sketch.update(["a", "b", "c"], np.eye(3))
    assert sketch.n_samples == 3


def test_threads_that_update_and_merge_one_sketch_lose_no_row() -> None:
    y_true, y_proba = sample(10_000)
    whole, updated, merged = made(), made(), made()
    whole.update(y_true, y_proba)
    chunks = [slice(i, i + 50) for i in range(0, 10_000, 50)]

    def update(rows: slice) -> None:
        updated.update(y_true[rows], y_proba[rows])

    def merge(rows: slice) -> None:
        part = made()
        part.update(y_true[rows], y_proba[rows])
        merged.merge(part)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(update, chunks))
            list(pool.map(merge, chunks))
    finally:
        sys.setswitchinterval(before)
    check_same(updated, whole)
    check_same(merged, whole)


def test_sketches_that_merge_each_other_do_not_wait_for_ever() -> None:
    one, other = made(), made()
    one.update(*sample(20))
    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(a.merge, b) for a, b in ((one, other), (other, one)) for _ in range(3)]
        for each in found:
            # Rows that one holds already are refused.
            error = each.exception(timeout=60)
            assert error is None or "rows that this one holds already" in str(error)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_does_not_wait_for_a_thread_of_its_parent() -> None:
    sketch = made()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(sketch._lock.__enter__).result()
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            sketch.reset()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        pool.submit(sketch._lock.__exit__).result()
