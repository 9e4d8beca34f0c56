"""The skill score 1 − risk / uncertainty, and its standard error.

- By a constant loss of the shares it is 0; the Brier skill score and McFadden's R² by their formulas.
- The delta method is the jackknife to first order: leaving out one row, or one group, changes the score by what the
  row adds to the mean of the influence function, less O(1/n²).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import propercal
from theory_tests.instances import NOTIONS, by_risk
from theory_tests.laws.test_compared_terms import two_models


def skill(y: Any, p: Any, w: Any, generator: str) -> float:
    """The score of canonical predictions, without the correction of the uncertainty."""
    outcome = np.eye(p.shape[1])[y]
    share = np.average(outcome, axis=0, weights=w)
    if generator == "log":
        return float(1 - np.average(-np.log(p[np.arange(len(y)), y]), weights=w) / -(share @ np.log(share)))
    return float(1 - np.average(((p - outcome) ** 2).sum(axis=1), weights=w) / (1 - share @ share))


@pytest.mark.parametrize("generator", ["log", "brier"])
@pytest.mark.parametrize("method", ["risk", "direct", "debiased"])
def test_it_is_the_brier_skill_score_and_r_squared(generator: str, method: str) -> None:
    y, p, _ = two_models(0, 80)
    w = np.random.default_rng(1).uniform(0.5, 2, 80)
    options: dict[str, Any] = {"kernel": None} if method == "debiased" else {"bandwidth": 0.1}
    found = propercal.decompose(y, p, method=method, generator=generator, sample_weight=w, **options)
    bias = 0.0 if method == "debiased" else found.uncertainty - found.centres["uncertainty"]
    plain = by_risk(y, p, generator=generator, sample_weight=w, bandwidth=0.1)
    assert plain.skill_score == pytest.approx(skill(y, p, w, generator), rel=1e-10)
    assert found.skill_score == pytest.approx(1 - found.risk / found.uncertainty, rel=1e-12)
    # The interval is about the score with the uncertainty corrected for its bias, by every method.
    low, high = found.interval("skill_score", 0.9)
    assert (low + high) / 2 == pytest.approx(1 - found.risk / (found.uncertainty - bias), rel=1e-10)
    wanted = plain.interval("skill_score", 0.9)
    assert (low, high) == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize("generator", ["log", "brier"])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_its_standard_error_is_that_of_the_jackknife(generator: str, grouped: bool, weighted: bool) -> None:
    n = 900
    y, p, _ = two_models(2, n)
    w = np.random.default_rng(3).uniform(0.5, 2, n) if weighted else np.ones(n)
    groups = np.arange(n) // 3 if grouped else np.arange(n)
    options: dict[str, Any] = {"groups": groups} if grouped else {}
    if grouped:
        y[1::3], p[1::3] = y[::3], p[::3]
    found = propercal.paired_difference(y, p, p, term="risk", generator=generator, sample_weight=w, **options).a
    total = groups.max() + 1
    left = np.array([skill(y[groups != g], p[groups != g], w[groups != g], generator) for g in range(total)])
    share = np.bincount(groups, w) / w.sum()
    # Of unequal weights: (1 − w_g)² (S_{−g} − S)² is the square of what group g adds.
    change = (1 - share) * (left - skill(y, p, w, generator))
    assert found.skill_score_error == pytest.approx(math.sqrt(total / (total - 1) * (change @ change)), rel=0.01)


@pytest.mark.parametrize(("notion", "rank"), [("canonical", 2), ("top-label", 1)])
def test_a_constant_prediction_of_the_shares_has_no_skill(notion: str, rank: int) -> None:
    """Loss and marginal loss are the same: only what is not linear in the shares is uncertain, 2 bias² / rank."""
    y = np.repeat([0, 1, 2], [30, 20, 10])
    p = np.tile([0.5, 1 / 3, 1 / 6], (60, 1))
    found = by_risk(y, p, notion=notion, bandwidth=0.1)
    assert found.skill_score == pytest.approx(0, abs=1e-12)
    centre = found.centres["uncertainty"]
    wanted = abs(found.uncertainty - centre) * math.sqrt(2 / rank) * found.risk / centre**2
    assert found.skill_score_error == pytest.approx(wanted, rel=0.01)


def test_a_certain_and_right_prediction_has_all_skill() -> None:
    y = np.arange(30) % 3
    found = by_risk(y, np.eye(3)[y], generator="brier", bandwidth=0.1)
    assert (found.skill_score, found.interval("skill_score")) == (1, (1, 1))


def test_it_is_none_where_nothing_is_uncertain_or_the_risk_is_infinite() -> None:
    p = np.tile([0.7, 0.3], (20, 1))
    alone = by_risk(np.zeros(20, dtype=int), p, bandwidth=0.1)
    assert math.isnan(alone.skill_score)
    assert alone.skill_score_error is None
    with pytest.raises(ValueError, match=r"^name = 'skill_score': expected a finite term, but it is nan"):
        alone.interval("skill_score")
    assert "skill_score" not in alone.to_xarray()
    assert "skill score" not in str(alone)
    y = np.arange(20) % 2
    p = np.where(np.arange(20)[:, None] == 3, [1.0, 0.0], p)
    with pytest.warns(UserWarning, match="infinite"):
        infinite = by_risk(y, p, bandwidth=0.1)
    assert infinite.skill_score == -math.inf
    with pytest.raises(ValueError, match=r"^name = 'skill_score': expected a finite term, but it is -inf"):
        infinite.interval("skill_score")


def test_text_and_dataset_say_it() -> None:
    y, p, _ = two_models(4, 60)
    found = by_risk(y, p, bandwidth=0.1)
    low, high = found.interval("skill_score")
    assert f"skill score = 1 - risk / uncertainty = {found.skill_score:.4g}  [{low:.4g}, {high:.4g}]" in str(found)
    assert f"[{low:.4g}, {high:.4g}]" in found._repr_html_()
    data = found.to_xarray()
    assert float(data["skill_score"]) == found.skill_score
    assert data["skill_score_interval"].values.tolist() == [low, high]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("notion", NOTIONS[1:])
def test_a_sketch_has_that_of_memory(notion: str, weighted: bool) -> None:
    """Losses by cell are those of rows but for where in a bin they lie; class by class there is a bound."""
    y, p, _ = two_models(5, 400)
    w = np.random.default_rng(6).uniform(0.5, 2, 400) if weighted else None
    wanted = propercal.paired_difference(y, p, p, term="risk", notion=notion, sample_weight=w).a
    sketch = propercal.CalibrationSketch(3, notion=notion)
    sketch.update(y, p, w)
    found = sketch.result()
    assert found.skill_score == pytest.approx(wanted.skill_score, rel=1e-4)
    assert found.skill_score_error is not None
    assert wanted.skill_score_error is not None
    ratio = found.skill_score_error / wanted.skill_score_error
    assert ratio == pytest.approx(1, rel=0.01) if notion == "top-label" else 1 <= ratio < 1.1
    if not weighted:
        plain = propercal.CalibrationSketch(3, notion=notion, bandwidth=0.1)
        plain.update(y, p)
        assert plain.result(method="risk").skill_score_error == pytest.approx(found.skill_score_error, rel=1e-6)


def test_its_interval_covers() -> None:
    """150 samples of 150 rows: that a 95 % interval covers fewer than 131 has a probability below 1e-4."""
    rng, covered = np.random.default_rng(7), 0
    # Of two classes that are as frequent, p = 0.8 of the right one in 0.8 of all cases: 1 − 2·0.16 / 0.5.
    truth = 1 - 0.32 / 0.5
    for _ in range(150):
        y = rng.integers(0, 2, 150)
        p = np.where(rng.random(150) < 0.8, y, 1 - y) * 0.6 + 0.2
        low, high = propercal.paired_difference(y, p, p, term="risk", generator="brier").a.interval("skill_score")
        covered += low <= truth <= high
    assert covered >= 131


def test_it_is_that_of_scikit_learn() -> None:
    """Their null model is the share of each class, as the published methods have it without a correction."""
    metrics = pytest.importorskip("sklearn.metrics")
    y, p, _ = two_models(8, 90)
    w = np.random.default_rng(9).uniform(0.5, 2, 90)
    for name, generator in (("d2_log_loss_score", "log"), ("d2_brier_score", "brier")):
        if hasattr(metrics, name):
            wanted = getattr(metrics, name)(y, p, sample_weight=w)
            found = by_risk(y, p, generator=generator, sample_weight=w, bandwidth=0.1)
            assert found.skill_score == pytest.approx(wanted, rel=1e-9)
