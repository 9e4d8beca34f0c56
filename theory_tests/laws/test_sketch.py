"""A sketch has the terms of the rows it has seen, in whatever order and grouping they came.

Every term is a mean over rows of a function that is smooth between the nodes, or a sum over rows.
"""

from __future__ import annotations

import math
import warnings
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import propercal
from propercal import CalibrationSketch
from propercal.generators import as_generator
from propercal.result import TERMS, Decomposition
from propercal.simulation import TemperatureScaledSimplex
from theory_tests.instances import NAMED, Floats, Labels, calibrated, values
from theory_tests.sums_of_sketches import check_same_sums


def binary(kind: str, n: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    log_odds = rng.logistic(size=n) if kind == "uniform" else rng.normal(-8, 6, n)
    return rng.uniform(size=n) < 1 / (1 + np.exp(-0.8 * log_odds)), 1 / (1 + np.exp(-log_odds))


def fed(y_true: Any, y_proba: Any, n_classes: int = 2, **settings: Any) -> CalibrationSketch:
    sketch = CalibrationSketch(n_classes, **{"notion": "canonical" if n_classes == 2 else "classwise", **settings})
    sketch.update(y_true, y_proba)
    return sketch


def multiclass(n: int, seed: int) -> tuple[Labels, Floats]:
    return calibrated(n, seed=seed, concentration=0.3)


@pytest.mark.parametrize("method", ["direct", "risk"])
@pytest.mark.parametrize("scale", [300.0, 5000.0])
def test_logits_keep_what_no_probability_can_hold(scale: float, method: str) -> None:
    """Logarithms far below that of the smallest double."""
    rng = np.random.default_rng(4)
    y, logits = rng.integers(0, 2, 200), rng.normal(0, scale, 200)
    sketch = fed(y, logits, notion="classwise", bandwidth=0.02, from_logits=True)
    expected = propercal.decompose(y, logits, from_logits=True, method=method, bandwidth=0.02)
    assert expected.risk > 100
    assert sketch.result(method=method).calibration_error == pytest.approx(expected.calibration_error, rel=1e-6)


@cache
def leave_one_out(kind: str, gamma: float, method: str) -> dict[str, Decomposition]:
    """Every generator's decomposition, from the same kernel sums over all pairs of rows."""
    y_true, y_proba = binary(kind, 4000)
    found = propercal.decompose(y_true, y_proba, generator=NAMED, method=method, bandwidth=gamma, algorithm="exact")
    return dict(zip(NAMED, found, strict=True))


@pytest.mark.parametrize("generator", NAMED)
@pytest.mark.parametrize("gamma", [0.1, 0.02, 1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("kind", ["uniform", "network"])
def test_terms_are_those_of_the_leave_one_out_computation(kind: str, gamma: float, generator: str) -> None:
    y_true, y_proba = binary(kind, 4000)
    sketch = fed(y_true, y_proba, generator=generator, bandwidth=gamma)
    for method in ("direct", "risk"):
        found = sketch.result(method=method)
        wanted = leave_one_out(kind, gamma, method)[generator]
        # Rounding of the exponents, up to 0.4 / γ.
        assert values(found) == pytest.approx(values(wanted), rel=1e-10 + 1e-14 / gamma, abs=1e-12)
        assert found.standard_errors["risk"] == pytest.approx(wanted.standard_errors["risk"])
        # What it says of itself is an upper bound, or rounding.
        error = abs(found.refinement - wanted.refinement)
        assert error <= 10 * sketch.quadrature_error(method=method) + 1e-10


@pytest.mark.parametrize("notion", ["classwise", "top-label"])
def test_other_notions_and_their_errors(notion: str) -> None:
    y_true, y_proba = multiclass(3000, 1)
    sketch = fed(y_true, y_proba, 3, notion=notion, bandwidth=0.02)
    found = sketch.result(method="risk")
    wanted = propercal.decompose(y_true, y_proba, notion=notion, method="risk", bandwidth=0.02)
    assert values(found) == pytest.approx(values(wanted), rel=1e-9)
    for term in ("risk", "uncertainty"):
        assert found.interval(term) == pytest.approx(wanted.interval(term), rel=1e-9)
    assert (found.notion, found.n_samples, found.n_classes) == (notion, 3000, 3)
    debiased = sketch.result()
    assert set(debiased.standard_errors) == set(TERMS)


@settings(max_examples=20)
@given(
    n=st.integers(2, 400), cuts=st.lists(st.floats(0, 1), max_size=6), seed=st.integers(0, 2**32),
    kind=st.sampled_from(["spread", "ties", "ends"]),
)
def test_order_and_grouping_change_nothing_but_rounding(n: int, cuts: list[float], seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    y_true, y_proba = multiclass(n, seed)
    if kind == "ties":
        y_proba = y_proba[rng.integers(0, min(n, 3), n)]
    if kind == "ends":
        y_proba = np.eye(3)[rng.integers(0, 3, n)]
    made: dict[str, Any] = {"generator": "brier", "bandwidth": 0.05}
    whole = fed(y_true, y_proba, 3, **made)
    order = rng.permutation(n)
    ends = sorted({0, n, *(int(c * n) for c in cuts)})
    parts = []
    for a, b in pairwise(ends):
        part = CalibrationSketch(3, **made)
        part.update(y_true[order[a:b]], y_proba[order[a:b]])
        parts.append(part)
    merged = CalibrationSketch(3, **made)
    for i in rng.permutation(len(parts)):
        before = parts[i].to_bytes()
        assert merged.merge(parts[i]) is merged
        assert parts[i].to_bytes() == before
    streamed = CalibrationSketch(3, **made)
    for a, b in pairwise(ends):
        streamed.update(y_true[order[a:b]], y_proba[order[a:b]])
    for other in (merged, streamed):
        check_same_sums(other._state, whole._state)
        for method in ("direct", "risk"):
            with warnings.catch_warnings():
                # Some samples are too few for the bandwidth, and say so.
                warnings.simplefilter("ignore", UserWarning)
                one, two = whole.result(method=method), other.result(method=method)
            assert values(one) == pytest.approx(values(two), rel=1e-10, abs=1e-12)


@pytest.mark.slow
def test_a_sketch_does_not_grow_and_survives_being_written() -> None:
    sizes = []
    for n in (20_000, 200_000):
        y_true, y_proba = binary("uniform", n, seed=n)
        sketch = CalibrationSketch(2, notion="canonical", bandwidth=0.02)
        sketch.update(y_true, y_proba)
        written = sketch.to_bytes()
        sizes.append(len(written))
        again = CalibrationSketch.from_bytes(written)
        assert repr(again) == repr(sketch)
        assert again.to_bytes() == written
        assert (values(again.result()) == values(sketch.result())).all()
        # It goes on where it was.
        more = binary("uniform", 1000, seed=1)
        again.update(*more)
        sketch.update(*more)
        assert (values(again.result()) == values(sketch.result())).all()
    assert max(sizes) < 60_000
    assert sizes[1] < 1.3 * sizes[0]


@pytest.mark.parametrize("name", ["log", "brier"])
def test_the_debiased_interval_covers_the_truth(name: str) -> None:
    # At 4.5 standard errors a false alarm has probability 7e-6; the seed is fixed.
    model = TemperatureScaledSimplex(2)
    y_true, y_proba, _ = model.sample(150_000, random_state=3)
    sketch = fed(y_true, y_proba, generator=name, bandwidth=0.005)
    found = sketch.result()
    truth = model.truth(name, "canonical").value
    level = math.erf(4.5 / math.sqrt(2))
    low, high = found.interval("calibration_error", level)
    assert low < truth < high
    assert high - low < 0.3 * truth
    # The published estimate at the same bandwidth lies outside.
    assert not low < sketch.result(method="risk").calibration_error < high


@pytest.mark.filterwarnings("ignore:y_proba is 0 or 1 in each of 5000 rows")
@pytest.mark.parametrize("wrong", [0.0, 1e-4])
@pytest.mark.parametrize("name", ["log", "brier"])
def test_predictions_next_to_the_ends_can_be_corrected(name: str, wrong: float) -> None:
    # Surer than a ratio of counts could ever mend: right four times of five, said to be certain.
    rng = np.random.default_rng(2)
    said = np.where(rng.uniform(size=5000) < 0.5, wrong, 1 - wrong)
    y_true = (rng.uniform(size=5000) < 0.8) == (said > 0.5)
    sketch = fed(y_true, said, generator=name)
    if wrong == 0 and name == "log":
        with pytest.warns(UserWarning, match="infinite"):
            found = sketch.result()
        assert found.calibration_error == math.inf
        return
    found = sketch.result()
    share = y_true[said > 0.5].mean(), y_true[said < 0.5].mean()
    truth = np.mean([
        as_generator(name).divergence(np.array([1 - r, r]), np.array([1 - g, g]))
        for r, g in zip(share, (1 - wrong, wrong), strict=True)
    ])
    assert found.calibration_error == pytest.approx(truth, rel=0.02)
    low, high = found.interval("calibration_error")
    assert low < truth < high


def test_points_that_stand_alone_are_estimated_from_the_nearest() -> None:
    y_true, y_proba = np.array([0, 1, 1, 0, 1]), np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    sketch = fed(y_true, y_proba, bandwidth=1e-4)
    wanted = propercal.decompose(y_true, y_proba, method="risk", bandwidth=1e-4)
    assert sketch.result(method="risk").refinement == pytest.approx(wanted.refinement, abs=1e-9)
