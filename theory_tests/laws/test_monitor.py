"""A monitor's e-value is a martingale under calibration, and what is derived from it holds at all times at once.

Source: Ville (1939); Shin, Ramdas & Rinaldo (2023), doi:10.51387/23-NEJSDS51; Waudby-Smith & Ramdas (2024),
doi:10.1093/jrsssb/qkad009. Proofs: book/derivations/monitoring.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from propercal import CalibrationMonitor
from propercal.generators import Brier, Log, Quadratic, RankedProbability
from propercal.monitor import learner
from propercal.monitor.bets import Bets
from propercal.monitor.evidence import Evidence
from propercal.monitor.gains import bets_on, largest_loss, lower_bound, savings
from propercal.monitor.state import Limits, Rows, State
from theory_tests.instances import Floats, calibrated, labels_of, softmax

LIMITS = Limits(3.0, 9.0, Log(), largest_loss(Log(), 2), 0.05)


def predictions(history: tuple[int, ...], k: int) -> Floats:
    """A prediction that depends on what occurred before, 0 for some class at times."""
    rng = np.random.default_rng([k, *history])
    p = rng.dirichlet([0.7] * k)
    if len(history) % 3 == 1:
        p[rng.integers(k)] = 0.0
        p /= p.sum()
    return p


def leaves(state: State, k: int, depth: int, notion: str, history: tuple[int, ...] = (), probability: float = 1.0) -> Iterator[tuple[float, State]]:
    """Every stream of so many outcomes with its probability, if they are drawn from the predictions."""
    if len(history) == depth:
        yield probability, state
        return
    p = predictions(history, k)
    with np.errstate(divide="ignore"):
        for y in np.flatnonzero(p):
            if notion == "canonical":
                rows = Rows(np.log(p)[None, None], np.array([[y]]))
            else:
                pairs = np.stack([1 - p, p], axis=1)
                rows = Rows(np.log(pairs)[:, None], (np.arange(k) == y).astype(int)[:, None])
            yield from leaves(state.after(rows, LIMITS), k, depth, notion, (*history, int(y)), probability * p[y])


@pytest.mark.parametrize(("k", "depth", "notion"), [(2, 8, "canonical"), (3, 5, "canonical"), (3, 4, "classwise")])
def test_the_expectation_is_that_of_a_martingale(k: int, depth: int, notion: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """E e-value = 1, and the sum over t starts has the expectation t, over all outcomes, with a learner that moves."""
    monkeypatch.setattr(learner, "_SHORTEST", 2)
    empty = State.empty(1, k) if notion == "canonical" else State.empty(k, 2)
    found = list(leaves(empty, k, depth, notion))
    total = sum(p for p, _ in found)
    mean = sum(p * math.exp(state.log_e_value) for p, state in found)
    starts = sum(p * math.exp(state.log_sum_of_starts) for p, state in found)
    assert total == pytest.approx(1, abs=1e-12)
    assert mean == pytest.approx(1, abs=1e-12)
    assert starts == pytest.approx(depth, abs=1e-11)
    assert len({float(state.problems[0].learner.mean[0]) for _, state in found}) > 3


@given(
    k=st.integers(2, 6),
    seed=st.integers(0, 2**32 - 1),
    power=st.sampled_from([0.1, 1.0, 5.0, 60.0]),
)
def test_each_bet_is_fair(k: int, seed: int, power: float) -> None:
    """Σ_y g_y (r(y) / g(y)) = 1, for each fixed recalibration and each row."""
    p = np.random.default_rng(seed).dirichlet([1.0] * k, 3) ** power
    p /= p.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        log_p = np.log(p)
    bets = Bets.of(k)
    total = sum(
        np.where(p[:, [y]] > 0, p[:, [y]] * np.exp(bets.log_ratios(log_p, np.full(3, y))), 0.0) for y in range(k)
    )
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)
    assert np.exp(bets.log_prior).sum() == pytest.approx(1, abs=1e-12)


#: Six equally likely predictions and what happens there: calibrated class by class, and its top label, but no row by itself
#: (Vaicenavicius et al. 2019).
APART = (
    np.array([[1, 3, 6], [1, 6, 3], [3, 1, 6], [3, 6, 1], [6, 1, 3], [6, 3, 1]]) / 10,
    np.array([[2, 2, 6], [0, 7, 3], [2, 2, 6], [4, 5, 1], [7, 0, 3], [5, 4, 1]]) / 10,
)


@pytest.mark.parametrize("problem", [0, 1, 2, "top"])
def test_a_notion_is_all_that_its_bets_rely_on(problem: Any) -> None:
    """Fair, and no saving on average, where that class or the top label is calibrated, though not given all of g."""
    g, q = (each.max(axis=1) if problem == "top" else each[:, problem] for each in APART)
    if problem == "top":
        q = APART[1][np.arange(6), APART[0].argmax(axis=1)]
    pairs, truth = (np.stack([1 - each, each], axis=1) for each in (g, q))
    ratios = np.stack([np.exp(Bets.of(2).log_ratios(np.log(pairs), np.full(6, y))) for y in (0, 1)], axis=1)
    of_rows = (truth[:, :, None] * ratios).sum(axis=1)
    np.testing.assert_allclose(of_rows.mean(axis=0), 1.0, rtol=1e-12)
    assert np.abs(of_rows - 1).max() > 0.01 or np.array_equal(g, q)
    for a, b in itertools.product((0.3, 1.0, 3.0), (-1.0, 0.0, 2.0)):
        learnt = np.log(softmax(a * np.log(pairs) + np.array([0.0, b])))
        for loss in (Log(), Brier()):
            saved = np.stack([savings(loss, np.log(pairs), learnt, np.full(6, y)) for y in (0, 1)], axis=1)
            assert (truth * saved).sum(axis=1).mean() <= 1e-12


def test_wealths_are_products_of_ratios() -> None:
    """By a loop over rows, starts and bets, in numbers that are no logarithms."""
    y, p = calibrated(30, 3, 5, power=1.7)
    evidence = Evidence.none(3)
    ratios = []
    for i in range(30):
        before = evidence.learner.mean
        r = np.concatenate([softmax(a * np.log(p[[i]])) for a in Bets.of(3).exponents])[:, y[i]]
        shifted = [softmax(np.log(p[[i]]) + s * np.eye(3)[c])[0, y[i]] for c in range(3) for s in Bets.of(3).shifts]
        learnt = softmax(before[0] * np.log(p[[i]]) + before[1:])[0, y[i]]
        ratios.append(np.array([*r, *shifted, learnt]) / p[i, y[i]])
        evidence, _, _ = evidence.after(np.log(p[[i]]), y[[i]])
    prior = np.exp(Bets.of(3).log_prior)
    wealth = [prior @ np.prod(ratios[s:], axis=0) for s in range(30)]
    assert math.exp(evidence.log_e_value) == pytest.approx(wealth[0], rel=1e-12)
    assert math.exp(evidence.log_sum_of_starts) == pytest.approx(sum(wealth), rel=1e-12)
    single = np.array([prior * np.prod(ratios[s:], axis=0) for s in range(30)])
    best = np.unravel_index(single.argmax(), single.shape)
    gain, start = evidence.best_start()
    assert start == int(best[0])
    assert gain == pytest.approx(math.log(single.max()), rel=1e-9)


def alarms(n_streams: int, n: int, temperature: float, seed: int, **options: Any) -> list[CalibrationMonitor]:
    found = []
    for i in range(n_streams):
        rng = np.random.default_rng([seed, i])
        g = softmax(rng.normal(0, 1.5, (n, 3)))
        monitor = CalibrationMonitor(3, **options)
        monitor.update(labels_of(softmax(temperature * np.log(g)), rng), g)
        found.append(monitor)
    return found


def test_false_alarms_are_few() -> None:
    """P(sup E ≥ 1 / alpha) ≤ alpha: more than 20 of 80 at alpha = 0.15 have a probability of 1 %. In full: 2000 streams of 2000
    rows in the note of the change."""
    found = alarms(80, 200, 1.0, 0, alpha=0.15)
    assert sum(each.alarm for each in found) <= 20
    assert all((each.p_value <= each.alpha) == each.alarm for each in found)


def test_miscalibration_is_found() -> None:
    found = alarms(15, 600, 0.6, 1)
    rows = [600 if each.alarm_row is None else each.alarm_row for each in found]
    assert np.median(rows) < 150
    assert all(each.e_value > 1e3 for each in found)


def test_a_change_is_found_after_it() -> None:
    """By the sum over starts, sooner than by the e-value, which has lost before."""
    y, p = calibrated(2000, 3, 7, concentration=0.7)
    late = p[1000:] ** 2.5
    p = np.concatenate([p[:1000], late / late.sum(axis=1, keepdims=True)])
    monitor = CalibrationMonitor(3)
    monitor.update(y, p)
    assert monitor.drift_row is not None
    assert monitor.alarm_row is not None
    assert 1000 < monitor.drift_row < monitor.alarm_row
    assert monitor.drift_start is not None
    assert abs(monitor.drift_start - 1000) < 100


LOSSES = (Log(), Brier(), RankedProbability(), Quadratic([[2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))


@given(seed=st.integers(0, 2**32 - 1), power=st.sampled_from([0.3, 1.0, 4.0, 80.0]), loss=st.sampled_from(LOSSES))
def test_savings_are_bounded_and_at_most_the_calibration_error(seed: int, power: float, loss: Any) -> None:
    """L(g, y) − L(r', y) ≥ −c for each y, and Σ q_y (…) ≤ D_F(q, g) for each q, with equality if r' = q."""
    rng = np.random.default_rng(seed)
    g, r, q = rng.dirichlet([0.5] * 3, (3, 4))
    g, r = (x**power / (x**power).sum(axis=1, keepdims=True) for x in (g, r))
    with np.errstate(divide="ignore", over="ignore"):
        each = np.stack([savings(loss, np.log(g), np.log(r), np.full(4, y)) for y in range(3)], axis=1)
        same = np.stack([savings(loss, np.log(g), np.log(g), np.full(4, y)) for y in range(3)], axis=1)
    assert (each >= -largest_loss(loss, 3) - 1e-12).all()
    assert np.abs(same[np.isfinite(same)]).max() < 1e-12
    with np.errstate(invalid="ignore"):
        assert (np.sum(q * each, axis=1) <= loss.divergence(q, g) * (1 + 1e-9) + 1e-12).all()


def test_the_bound_is_where_the_mixture_reaches_its_level() -> None:
    saved = np.random.default_rng(0).uniform(-0.3, 1.0, (2, 200)) * [[1.0], [0.2]]
    sums = np.stack([bets_on(each, 0.7).sum(axis=0) for each in saved])
    n = np.array([200.0, 200.0])
    found = lower_bound(sums, n, 0.7, 0.05)
    weights = np.geomspace(0.005, 0.95, 20) / 0.7
    for x, mean in zip(saved, found, strict=True):
        assert np.mean([math.exp(-w * 200 * mean) * np.prod(1 + w * x) for w in weights]) == pytest.approx(20, rel=1e-6)
        assert mean < x.mean()
    assert (lower_bound(sums, n, 0.7, 0.5) > found).all()
    ends = lower_bound(np.stack([sums[0] * 0, sums[0] + np.inf]), np.array([0.0, 9.0]), 0.7, 0.05)
    assert ends.tolist() == [-math.inf, math.inf]


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 8))
def test_the_bet_on_savings_is_no_more_than_fair(seed: int, rows: int) -> None:
    """E Π (1 + λ X) / exp(λ Σ μ) ≤ 1, over all outcomes of rows whose means differ."""
    rng = np.random.default_rng(seed)
    low, high, p = -rng.uniform(0, 1, rows), rng.uniform(0, 5, rows), rng.uniform(0, 1, rows)
    mean = p * high + (1 - p) * low
    total = np.zeros(20)
    for outcome in itertools.product([0, 1], repeat=rows):
        chosen = np.array(outcome)
        x = np.where(chosen, high, low)
        probability = np.prod(np.where(chosen, p, 1 - p))
        total += probability * np.exp(bets_on(x, 1.0).sum(axis=0) - np.geomspace(0.005, 0.95, 20) * mean.sum())
    assert (total <= 1 + 1e-12).all()


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_the_lower_bound_holds_at_all_times(loss: str) -> None:
    """Of 25 streams at 1 − alpha = 0.9, 8 or more that are ever above have a probability of 1 %."""
    rng = np.random.default_rng(8)
    above, ends = 0, []
    for _ in range(25):
        g = softmax(rng.normal(0, 1.5, (400, 3)))
        q = softmax(0.4 * np.log(g))
        monitor = CalibrationMonitor(3, alpha=0.1, generator=loss)
        monitor.update(labels_of(q, rng), g)
        history = monitor.history()
        truth = (q * np.log(q / g)).sum(axis=1) if loss == "log" else ((q - g) ** 2).sum(axis=1)
        running = truth.cumsum() / np.arange(1, 401)
        above += bool((history.lower_bound.values > running[history.row.values]).any())
        ends.append(monitor.lower_bound)
    assert above <= 7
    assert np.median(ends) > 0.15 * truth.mean()


def rows_of(seed: int, n: int) -> tuple[Any, Any]:
    return calibrated(n, 3, seed, power=1.5)


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), cut=st.integers(1, 59), notion=st.sampled_from(["canonical", "classwise", "top-label"]))
def test_merging_multiplies(seed: int, cut: int, notion: str) -> None:
    """Fixed bets have the product of both wealths, starts and minima those of one stream; bets on savings add up."""
    y, p = rows_of(seed, 60)
    whole, first, second = (CalibrationMonitor(3, notion=notion, first_row=start) for start in (0, 0, cut))
    whole.update(y, p)
    first.update(y[:cut], p[:cut])
    second.update(y[cut:], p[cut:])
    sums = first._seen.state.sums + second._seen.state.sums
    ends = [each.log_e_value for each in (first, second)]
    merged = first.merge(second)
    for one, other in zip(whole._seen.state.problems, merged._seen.state.problems, strict=True):
        for name in ("wealth", "starts", "lowest"):
            np.testing.assert_allclose(getattr(other, name)[:-1], getattr(one, name)[:-1], rtol=1e-10, atol=1e-10)
        assert (other.since[:-1] == one.since[:-1]).all()
    np.testing.assert_array_equal(merged._seen.state.sums, sums)
    assert merged.n_samples == 60
    assert merged._seen.state.highest >= merged.log_e_value
    if notion == "canonical":
        assert merged.log_e_value >= sum(ends) + Bets.of(3).log_prior.min()


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), cuts=st.lists(st.integers(0, 700), max_size=6), notion=st.sampled_from(["canonical", "classwise", "top-label"]))
def test_updates_do_not_depend_on_how_rows_are_divided(seed: int, cuts: list[int], notion: str) -> None:
    """The same bytes, of a stream that is longer than what is kept of its history."""
    y, p = rows_of(seed, 700)
    at_once, divided = (CalibrationMonitor(3, notion=notion) for _ in range(2))
    at_once.update(y, p)
    for labels, proba in zip(np.split(y, sorted(cuts)), np.split(p, sorted(cuts)), strict=True):
        divided.update(labels, proba)
    assert divided.to_bytes() == at_once.to_bytes()


def test_what_is_learnt_is_what_a_regression_finds() -> None:
    """The Newton steps of blocks come to the penalised maximum of the likelihood, near enough."""
    from scipy.optimize import minimize

    y, p = calibrated(4000, 3, 11, power=1.6)
    monitor = CalibrationMonitor(3)
    monitor.update(y, p)
    found = monitor._seen.state.problems[0].learner.mean
    prior = learner.Learner.untaught(3)

    def loss(x: Floats) -> float:
        z = x[0] * np.log(p) + x[1:]
        away = x - prior.mean
        return float(-(z[np.arange(4000), y] - np.log(np.exp(z).sum(axis=1))).sum() + away @ prior.precision @ away / 2)

    best = minimize(loss, prior.mean).x
    np.testing.assert_allclose(found, best, atol=0.02)
    assert best[0] < 0.8


def test_the_order_of_time_is_that_of_all_pairs_of_parts() -> None:
    """Merging is associative, but for what was learnt."""
    y, p = rows_of(3, 90)
    def part(i: int) -> CalibrationMonitor:
        monitor = CalibrationMonitor(3, first_row=30 * i)
        monitor.update(y[30 * i : 30 * i + 30], p[30 * i : 30 * i + 30])
        return monitor

    left = part(0).merge(part(1)).merge(part(2))
    right = part(0).merge(part(1).merge(part(2)))
    for a, b in itertools.pairwise([left, right]):
        assert a.log_e_value == pytest.approx(b.log_e_value, rel=1e-9)
        assert a.drift == pytest.approx(b.drift, rel=1e-9)
        assert a.lower_bound == pytest.approx(b.lower_bound, rel=1e-9)
