"""Differences of every term between two models, from one fit.

- They add up as the terms do: risk = calibration error + refinement, and the sharpness is the uncertainty, which two
  models of the same labels share, less the refinement.
- Turning the pair around changes signs alone, and equal models do not differ: p = 1.
- The risk is a plain mean: its p-value and interval are those of the paired t-test, by group those of sums over groups.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_rel

import propercal
from propercal._results.student import quantile, two_sided
from propercal.result import TERMS
from theory_tests.instances import NOTIONS, softmax, written
from theory_tests.laws.populations import EPS

ALL = ["calibration_error", "risk", "refinement", "sharpness"]
FAST: dict[str, Any] = {"kernel": None, "n_folds": 3}
quickly = settings(max_examples=4, deadline=None)


def two_models(seed: int, n: int, k: int = 3) -> tuple[Any, Any, Any]:
    """Labels, and two predictions of the same law whose noise is exchanged: neither is the better."""
    rng = np.random.default_rng(seed)
    scores = 1.5 * rng.normal(size=(n, k))
    y = (rng.random((n, 1)) > softmax(scores).cumsum(axis=1)[:, :-1]).sum(axis=1)
    a, b = (softmax(scores + 0.7 * rng.normal(size=(n, k))) for _ in range(2))
    return y, a, b


@pytest.mark.filterwarnings("ignore::UserWarning")
@quickly
@given(seed=st.integers(0, 2**32), notion=st.sampled_from(NOTIONS), generator=st.sampled_from(("log", "brier")))
def test_differences_add_up_and_turn_around(seed: int, notion: str, generator: str) -> None:
    y, a, b = two_models(seed, 40)
    options: dict[str, Any] = {"notion": notion, "generator": generator, "term": ALL, **FAST}
    with np.errstate(all="ignore"):
        found, turned = (propercal.paired_difference(y, *pair, **options) for pair in ((a, b), (b, a)))
    difference = {each.term: each.difference for each in found}
    assert difference["risk"] == pytest.approx(difference["calibration_error"] + difference["refinement"], abs=100 * EPS)
    for each, other in zip(found, turned, strict=True):
        assert (each.difference, each.standard_error) == pytest.approx((-other.difference, other.standard_error), rel=1e-12)
        assert each.pvalue == pytest.approx(other.pvalue, rel=1e-9)
        assert each.difference == getattr(found.a, each.term) - getattr(found.b, each.term)
    if notion != "top-label":
        refinement, sharpness = found["refinement"], found["sharpness"]
        assert sharpness.difference == pytest.approx(-refinement.difference, abs=100 * EPS)
        assert sharpness.standard_error == pytest.approx(refinement.standard_error, rel=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("notion", NOTIONS)
def test_a_term_alone_is_that_of_all_and_equal_models_do_not_differ(notion: str) -> None:
    y, a, b = two_models(1, 40)
    options: dict[str, Any] = {"notion": notion, "generator": "brier", **FAST}
    found = propercal.paired_difference(y, a, b, term=ALL, **options)
    for term in ("risk", {"canonical": "refinement", "classwise": "sharpness"}.get(notion, "calibration_error")):
        alone, each = propercal.paired_difference(y, a, b, term=term, **options), found[term]
        assert (alone.difference, alone.standard_error, alone.pvalue) == (each.difference, each.standard_error, each.pvalue)
        assert alone.interval() == each.interval()
    assert {each.pvalue for each in propercal.paired_difference(y, a, a.copy(), term=ALL, **options)} == {1.0}
    assert propercal.paired_difference(y, a, a.copy(), notion=notion, term="risk").interval() == (0.0, 0.0)


def losses(y: Any, p: Any) -> Any:
    return -np.log(p[np.arange(len(y)), y])


@given(seed=st.integers(0, 2**32), n=st.integers(2, 40))
def test_the_paired_risk_is_the_paired_t_test(seed: int, n: int) -> None:
    """Of any number of rows from 2 on; nothing is fitted."""
    y, a, b = two_models(seed, n)
    found = propercal.paired_difference(y, a, b, term="risk")
    wanted = ttest_rel(losses(y, a), losses(y, b))
    assert found.pvalue == pytest.approx(wanted.pvalue, rel=1e-6)
    assert found.difference == pytest.approx((losses(y, a) - losses(y, b)).mean(), abs=100 * EPS)
    low, high = wanted.confidence_interval(0.9)
    assert found.interval(0.9) == pytest.approx((low, high), rel=1e-6, abs=1e-12)
    assert (found.a.method, found.a.kernel) == ("none", "none")
    assert found.degrees_of_freedom == pytest.approx(n - 1)
    assert all(math.isnan(getattr(found.a, term)) for term in TERMS[1:4])


@given(seed=st.integers(0, 2**32), n_groups=st.integers(2, 12))
def test_the_risk_of_groups_is_a_t_test_of_their_sums(seed: int, n_groups: int) -> None:
    """With weights that make all groups weigh the same, it is the t-test of their means."""
    rng = np.random.default_rng(seed)
    y, a, b = two_models(seed, 3 * n_groups)
    groups = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, 2 * n_groups)])
    size = np.bincount(groups)
    found = propercal.paired_difference(y, a, b, term="risk", groups=groups, sample_weight=1 / size[groups])
    mean = np.bincount(groups, losses(y, a) - losses(y, b)) / size
    wanted = ttest_rel(mean, np.zeros(n_groups))
    assert found.n_groups == n_groups
    assert found.pvalue == pytest.approx(wanted.pvalue, rel=1e-6)
    assert found.interval() == pytest.approx(tuple(wanted.confidence_interval(0.95)), rel=1e-6, abs=1e-12)


def test_the_standard_error_of_a_weighted_risk_is_that_of_a_weighted_mean() -> None:
    y, a, b = two_models(3, 50)
    w = np.random.default_rng(4).uniform(0, 2, 50)
    d, v = losses(y, a) - losses(y, b), w / w.sum()
    found = propercal.paired_difference(y, a, b, term="risk", sample_weight=w)
    total = sum(v[i] ** 2 * (d[i] - v @ d) ** 2 for i in range(50))
    assert found.standard_error == pytest.approx(math.sqrt(total * 50 / 49), rel=1e-10)
    assert found.degrees_of_freedom == pytest.approx(1 / (v @ v) - 1)


@pytest.mark.parametrize("term", ALL)
def test_rows_that_repeat_as_groups_say_what_they_say_once(term: str) -> None:
    y, a, b = two_models(5, 60)
    often = np.repeat(np.arange(60), 3)
    once = propercal.paired_difference(y, a, b, term=term, generator="brier", **FAST)
    again = propercal.paired_difference(y[often], a[often], b[often], term=term, generator="brier", groups=often, **FAST)
    assert again.difference == pytest.approx(once.difference, rel=1e-6, abs=1e-9)
    assert again.standard_error == pytest.approx(once.standard_error, rel=1e-3)


def test_the_correction_counts_in_the_terms_that_have_one() -> None:
    """SE² is that of the rows, and V² of both, V being calibration error less lower bound."""
    y, a, b = two_models(6, 80)
    found = propercal.paired_difference(y, a, b, generator="brier", term=ALL, **FAST)
    wanted = sum((each.calibration_error - each.lower_bound) ** 2 for each in (found.a, found.b))
    for term in ("refinement", "sharpness", "calibration_error"):
        assert found[term].standard_error ** 2 > wanted
    one = propercal.paired_difference(y, a, a, generator="brier", term=ALL, **FAST)
    twice = 2 * (one.a.calibration_error - one.a.lower_bound) ** 2
    errors = [one[term].standard_error ** 2 for term in ALL]
    assert errors == pytest.approx([twice, 0.0, twice, twice], rel=1e-9)


def test_an_infinite_loss_is_said_and_has_no_interval() -> None:
    y, a, b = two_models(7, 30)
    a[4] = np.eye(3)[(y[4] + 1) % 3]
    with pytest.warns(UserWarning, match=r"^risk under the log loss: infinite.*row 4"):
        found = propercal.paired_difference(y, a, b, term="risk")
    assert (found.difference, found.a.infinite_loss_rows) == (math.inf, (4,))
    assert math.isnan(found.pvalue)
    with pytest.raises(ValueError, match=r"^difference = inf: expected a finite one"):
        found.interval()
    assert "interval" not in str(found)
    assert np.isnan(found.to_xarray()["interval"]).all()
    assert math.isfinite(propercal.paired_difference(y, a, b, term="risk", generator="brier").pvalue)


def test_the_risk_alone_needs_no_hessian_and_any_method_will_do() -> None:
    plain = written("Plain", value=lambda p: (p * p).sum(-1) - 1, gradient=lambda p: 2 * p)
    y, a, b = two_models(8, 12)
    wanted = propercal.paired_difference(y, a, b, term="risk", generator="brier")
    for method in ("debiased", "risk", "direct"):
        found = propercal.paired_difference(y, a, b, term="risk", generator=plain, method=method)
        assert (found.difference, found.pvalue) == pytest.approx((wanted.difference, wanted.pvalue), rel=1e-9)
    with pytest.raises(ValueError, match=r"^y_proba = 12 rows: expected 20 or more"):
        propercal.paired_difference(y, a, b, term=["risk", "refinement"])
    with pytest.raises(ValueError, match=r"one whose terms have intervals"):
        propercal.paired_difference(y, a, b, term="refinement", method="risk")


def test_a_table_of_terms_is_a_sequence_by_number_and_name() -> None:
    y, a, b = two_models(9, 60)
    tables = propercal.paired_difference(y, a, b, generator=["log", "brier"], term=["risk", "sharpness"], **FAST)
    assert [table.a.generator.name for table in tables] == ["log", "brier"]
    table = tables[1]
    assert (len(table), table.terms) == (2, ("risk", "sharpness"))
    assert [each.term for each in table] == ["risk", "sharpness"]
    assert table[0] is table["risk"]
    assert table[:1] == (table[0],)
    low, high = table[1].interval()
    text, data = str(table), table.to_xarray()
    assert "brier loss, canonical" in text
    assert f"[{low:.6g}, {high:.6g}]" in text
    assert f"[{low:.6g}, {high:.6g}]" in table._repr_html_()
    assert data["interval"].sel(term="sharpness").values.tolist() == [low, high]
    assert float(data["difference"].sel(term="risk")) == table["risk"].difference
    assert data.attrs["n_samples"] == 60
    assert table[0].to_xarray().attrs["term"] == "risk"
    with pytest.raises(ValueError, match=r"^term = 'sharpnes': .*did you mean 'sharpness'"):
        table["sharpnes"]


@pytest.mark.parametrize(("term", "message"), [
    ("skill", r"^term = 'skill': expected one of 'calibration_error', 'risk', 'refinement', 'sharpness'"),
    (3, r"^term = 3: expected one of"),
    ([], r"^term = \[\]: expected one term or more"),
    (["risk", "risk"], r"^term = \['risk', 'risk'\]: expected one term or more, each once"),
])  # fmt: skip
def test_other_terms_are_refused(term: Any, message: str) -> None:
    y, a, b = two_models(10, 30)
    with pytest.raises(ValueError, match=message):
        propercal.paired_difference(y, a, b, term=term)


@pytest.mark.parametrize("freedom", [1.0, 7.5, math.inf])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_a_p_value_is_the_level_at_the_end_of_the_interval(freedom: float, level: float) -> None:
    assert two_sided(3.0, 3.0 / quantile(0.5 + level / 2, freedom), freedom) == pytest.approx(1 - level)


def test_the_paired_risk_has_its_level() -> None:
    """200 samples of 60 rows: none, or more than 23 rejections at 5 % have a probability below 1e-4."""
    rejected = np.zeros(2, dtype=int)
    for seed in range(200):
        found = propercal.paired_difference(*two_models(seed, 60), term="risk", generator=["log", "brier"])
        rejected += [each.pvalue <= 0.05 for each in found]
    assert ((rejected >= 1) & (rejected <= 23)).all()
