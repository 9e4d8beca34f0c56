"""Updates of a monitor that hold rows of the last ones: evidence of one row counts once, so that this is said."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationMonitor
from propercal.monitor import written
from propercal.monitor.repetition import MOST, digests_of
from propercal.monitor.state import Rows
from propercal.reporting.plain import in_plain_words
from propercal.sketch.encoding import sealed
from theory_tests.instances import unrelated

N = 400
Y, P = unrelated(N)


def said(monitor: CalibrationMonitor, y: Any, p: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        monitor.update(y, p)
    return [str(each.message) for each in found if "repeat the last" in str(each.message)]


def fed(first: int, last: int, step: int = N, **settings: Any) -> CalibrationMonitor:
    monitor = CalibrationMonitor(3, **settings)
    for start in range(first, last, step):
        rows = slice(start, min(last, start + step))
        assert not said(monitor, Y[rows], P[rows])
    return monitor


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
@pytest.mark.parametrize(
    ("first", "last", "n"),
    [
        # The same batch, of more rows than are kept, or fewer.
        (0, 200, MOST), (100, 200, MOST), (170, 200, 30), (180, 200, 20),
        # Windows that overlap.
        (150, 300, 50), (100, 260, MOST), (170, 171 + 199, 30),
    ],
)
def test_rows_that_come_again_are_told(first: int, last: int, n: int, notion: str, saved: bool) -> None:
    monitor = fed(0, 200, 20, notion=notion)
    if saved:
        monitor = CalibrationMonitor.from_bytes(monitor.to_bytes())
    (message,) = said(monitor, Y[first:last], P[first:last])
    assert message.startswith(f"y_proba and y_true repeat the last {n} rows that were seen, one by one")
    assert in_plain_words(message).startswith(f"The last {n} rows were passed twice")
    # The rows are added: who knows better goes on.
    assert monitor.n_samples == 200 + last - first


@pytest.mark.parametrize(
    ("first", "last"),
    [(200, 400), (181, 200), (200, 219), (0, 100), (199, 250)],
)
def test_other_rows_and_few_are_not(first: int, last: int) -> None:
    """Rows of an earlier update that was neither the last nor the first are not known again."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "y_proba and y_true repeat rows that were added before" if first == 0 else "none")
        assert not said(fed(0, 200), Y[first:last], P[first:last])


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize(("n", "before", "after"), [(300, 50, 50), (300, 1, 1), (300, 7, 16), (30, 7, 10), (300, 100, 64), (64, 64, 3), (300, 300, 100)])
def test_a_loop_that_runs_twice_is_told(n: int, before: int, after: int, saved: bool) -> None:
    """Its first rows come again, which are not the last ones."""
    monitor = fed(0, n, before)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for start in range(0, n, after):
            if saved:
                monitor = CalibrationMonitor.from_bytes(monitor.to_bytes())
            rows = slice(start, min(n, start + after))
            monitor.update(Y[rows], P[rows])
    messages = [str(each.message) for each in found]
    if n > MOST and not saved:
        (message,) = [each for each in messages if "rows that were added before" in each]
        assert message.startswith("y_proba and y_true repeat rows that were added before, one by one: evidence of the same rows counts twice")
        assert in_plain_words(message).startswith("Some rows were passed twice")
    assert messages
    assert all("one by one" in each for each in messages)


def test_what_is_advised_works() -> None:
    monitor = fed(0, 200)
    assert said(monitor, Y[150:300], P[150:300])
    monitor.reset()
    assert not said(monitor, Y[150:300], P[150:300])
    assert not said(monitor, Y[300:], P[300:])
    again = fed(150, 400)
    assert monitor.log_e_value == pytest.approx(again.log_e_value, rel=1e-12)


def test_equal_predictions_with_other_labels_are_other_rows() -> None:
    """Such as those of a climate, which come again every day."""
    assert not said(fed(0, 100), Y[:100][::-1], P[:100])
    # Nothing occurred on both days.
    monitor = CalibrationMonitor(2)
    for _ in range(2):
        assert not said(monitor, np.zeros(50, dtype=int), np.linspace(0.01, 0.1, 50))
    # Few predictions that are different.
    monitor = CalibrationMonitor(2)
    for _ in range(2):
        assert not said(monitor, np.arange(50) % 2, np.where(np.arange(50) % 2, 0.25, 0.75))


def test_bytes_do_not_depend_on_how_rows_came() -> None:
    assert fed(0, 300).to_bytes() == fed(0, 300, 7).to_bytes()
    whole, later = fed(0, 200), fed(200, 300, first_row=200)
    assert whole.merge(later)._seen.last == fed(0, 300)._seen.last


def test_bytes_without_the_last_rows_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = fed(0, 200)

    def other(last: Any, name: str = "last") -> bytes:
        def changed(form: bytes, text: bytes, numbers: Any, key: bytes | None) -> bytes:
            settings = json.loads(text)
            del settings[name]
            return sealed(form, json.dumps({**settings, **last}).encode(), numbers, key)

        with monkeypatch.context() as patch:
            patch.setattr(written, "sealed", changed)
            return monitor.to_bytes()

    before = CalibrationMonitor.from_bytes(other({}))
    assert before.n_samples == 200
    assert not said(before, Y[:200], P[:200])
    assert said(before, Y[:200], P[:200])
    for odd in (None, 3, [0.5], [-1], [True], ["1"], [1 << 53], [1] * (MOST + 1)):
        with pytest.raises(ValueError, match="expected numbers of the last rows"):
            CalibrationMonitor.from_bytes(other({"last": odd}))
    assert CalibrationMonitor.from_bytes(other({}, "first"))._seen.first.rows == ()
    for wrong in (None, [], [[], [1], [], [0]], [[], [], [], [1]], [[], [-1], [1], [0]]):
        with pytest.raises(ValueError, match="expected numbers of the first rows"):
            CalibrationMonitor.from_bytes(other({"first": wrong}, "first"))


def test_rows_have_numbers_of_their_own() -> None:
    rng = np.random.default_rng(0)
    log_prob, label = np.log(rng.dirichlet(np.ones(3), (1, 20_000))), rng.integers(0, 3, (1, 20_000))
    found = digests_of(Rows(log_prob, label))
    assert found.min() >= 0
    assert len(np.unique(found)) == 20_000
    # Every part counts, and zero has no sign.
    assert (digests_of(Rows(log_prob, (label + 1) % 3)) != found).all()
    assert (digests_of(Rows(log_prob[..., ::-1], label)) != found).all()
    assert (digests_of(Rows(np.nextafter(log_prob, 0), label)) != found).all()
    zeros = np.zeros((1, 5, 2))
    assert (digests_of(Rows(zeros, label[:, :5])) == digests_of(Rows(-zeros, label[:, :5]))).all()
