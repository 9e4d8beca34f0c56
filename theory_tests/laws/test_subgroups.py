"""Groups of rows: parts add up to the whole, and the test of the worst group keeps its level."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from propercal import calibration_test, decompose, decompose_groups
from propercal._data.predictions.notions import as_notion
from propercal._data.predictions.predictions import validate
from propercal.generators import as_generator
from propercal.simulation import TemperatureScaledSimplex
from propercal.subgroups.worst import _on_one_scale, _step_down, worst_group_test

KW: dict[str, Any] = {"generator": "brier", "n_resamples": 19}


def sample(n: int, k: int, seed: int) -> tuple[Any, Any, Any]:
    y_true, y_proba, p_true = TemperatureScaledSimplex(k).sample(n, random_state=seed)
    return y_true, y_proba, p_true


def values(result: Any) -> list[float]:
    names = ("risk", "calibration_error", "refinement", "sharpness", "uncertainty")
    return [float(getattr(result, name)) for name in names]


METHODS: list[dict[str, Any]] = [{"method": "risk", "bandwidth": 0.1}, {"method": "direct", "bandwidth": 0.1}, {}]


@pytest.mark.slow
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from(["canonical", "classwise", "top-label"]), st.booleans(), st.data())
def test_parts_add_up(seed: int, k: int, notion: str, weighted: bool, data: st.DataObject) -> None:
    method = data.draw(st.sampled_from(METHODS))
    rng = np.random.default_rng(seed)
    y, g, _ = sample(90, k, seed)
    a = rng.permutation(np.arange(90) % 3)
    # Weights of a group differ from those of others: shares are those of weights.
    weight = 1.0 + a if weighted else None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "groups .*(had an outcome of predicted probability at most|only the kernel sees|loss is that of about)", UserWarning)
        found = decompose_groups(y, g, groups=a, notion=notion, sample_weight=weight, **KW, **method)
    assert found.parts is not None
    part = {name: each.value for name, each in found.parts.items()}
    whole = found.whole
    mean = np.dot(list(found.shares.values()), [values(each) for each in found.groups.values()])
    assert sum(found.shares.values()) == pytest.approx(1)
    # Risks of groups are those of all rows; the other terms are means of those of groups.
    assert mean[0] == pytest.approx(float(whole.risk), rel=1e-12)
    terms = ("calibration_error", "refinement", "sharpness", "uncertainty")
    assert list(mean[1:]) == pytest.approx([part[term] for term in terms], rel=1e-9, abs=1e-12)
    assert part["calibration_error"] == pytest.approx(whole.calibration_error + part["added"], abs=1e-12)
    assert part["refinement"] + part["added"] == pytest.approx(whole.refinement, abs=1e-12)
    assert part["uncertainty"] + part["between"] == pytest.approx(whole.uncertainty, abs=1e-12)
    assert whole.sharpness + part["added"] == pytest.approx(part["sharpness"] + part["between"], abs=1e-12)


@pytest.mark.parametrize(("k", "method"), [(2, METHODS[0]), (3, METHODS[2])])
def test_one_group_is_the_whole(k: int, method: dict[str, Any]) -> None:
    y, g, _ = sample(60, k, k)
    alone = decompose(y, g, generator="brier", **method)
    for groups in (np.ones((60, 2), dtype=bool), ["a"] * 60):
        found = decompose_groups(y, g, groups=groups, **KW, **method)
        for each in (found.whole, *found.groups.values()):
            assert values(each) == values(alone)
    assert found.parts is not None
    assert found.parts["added"].value == 0


def test_each_group_is_decomposed_as_if_it_were_alone() -> None:
    y, g, _ = sample(120, 3, 0)
    a = np.repeat(["x", "y"], 60)
    found = decompose_groups(y, g, groups=a, **KW)
    for name in "xy":
        alone = decompose(y[a == name], g[a == name], generator="brier")
        assert values(found[name]) == pytest.approx(values(alone), rel=1e-10)
        assert found[name].interval("calibration_error") == pytest.approx(alone.interval("calibration_error"), rel=1e-9)


def test_order_of_rows_and_names_of_groups_mean_nothing() -> None:
    y, g, _ = sample(80, 3, 1)
    a = np.array(list("uv"))[np.arange(80) % 2]
    first = decompose_groups(y, g, groups=a, **KW)
    renamed = decompose_groups(y, g, groups=np.where(a == "u", "z", "q"), **KW)
    assert list(renamed.groups) == ["q", "z"]
    assert values(renamed["z"]) == values(first["u"])
    assert renamed.test.pvalues["q"] == first.test.pvalues["v"]


def test_knowing_the_group_shows_what_all_rows_hide() -> None:
    # Two classes, p = .5 ± .2 by group, predicted .5: calibrated over all rows. Each group's Brier
    # calibration error is 2 · .2², and that is what knowing the group adds.
    rng = np.random.default_rng(0)
    a = np.arange(2000) % 2
    y = (rng.random(2000) < 0.3 + 0.4 * a).astype(int)
    g = np.full(2000, 0.5) + rng.uniform(-0.01, 0.01, 2000)
    found = decompose_groups(y, g, groups=a, generator="brier")
    assert found.parts is not None
    added, between = found.parts["added"], found.parts["between"]
    assert abs(added.value - 0.08) < 3 * added.standard_error < 0.05
    assert abs(between.value - 0.08) < 3 * between.standard_error < 0.05
    assert found.whole.interval("calibration_error")[0] == 0
    assert found.test.pvalue == 1 / 1000
    low, high = added.interval(0.99)
    assert low < 0.08 < high


@pytest.mark.parametrize(("k", "notion"), [(2, "canonical"), (3, "canonical"), (3, "classwise"), (3, "top-label")])
def test_one_group_of_all_rows_has_the_p_value_of_the_test(k: int, notion: str) -> None:
    # Same forms and label sets but for the order of draws: p-values of 199 agree but for their noise.
    y, g, p = sample(200, k, 5)
    for proba, low, high in ((g, 0.0, 0.02), (p, 0.05, 1.0)):
        found = decompose_groups(y, proba, groups=np.zeros(200), notion=notion, generator="brier", n_resamples=199)
        other = calibration_test(y, proba, notion=notion, generator="brier", n_resamples=199, random_state=1)
        assert low < found.test.pvalue <= high
        assert found.test.pvalue == found.test.pvalues[0.0]
        assert abs(found.test.pvalue - other.pvalue) < 0.15


def test_size_with_overlapping_groups() -> None:
    rejected = 0
    for i in range(100):
        rng = np.random.default_rng(i)
        y, _, p = sample(80, 2, i)
        inside = rng.random((6, 80)) < 0.5
        test = worst_group_test(
            validate(y, p), tuple(range(6)), tuple(np.flatnonzero(each) for each in inside),
            as_notion("canonical"), as_generator("log"), 19, rng,
        )  # fmt: skip
        assert test.pvalue == min(test.adjusted.values())
        assert all(test.adjusted[g] >= test.pvalues[g] - 0.05 for g in range(6))
        rejected += test.pvalue <= 0.1
    # P(p ≤ .1) ≤ .1: 10 of 100, with a standard deviation of 3.
    assert 1 <= rejected <= 10 + 4 * 3


def test_step_down_by_hand() -> None:
    # Columns: observed, then three sets. The largest is compared with maxima of all rows; the next
    # with those of what is left; no p-value is less than the one before.
    statistics = np.array([[3.0, 1.0, 2.0, 0.0], [5.0, 6.0, 1.0, 1.0], [0.0, 2.0, 0.5, -1.0]])
    assert _step_down(statistics).tolist() == [0.5, 0.5, 0.75]


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(0, 3), st.integers(1, 25), st.booleans())
def test_no_calibrated_group_is_named_more_often_than_the_level(seed: int, n_calibrated: int, n_others: int, sets: int, ties: bool) -> None:
    """Whichever of exchangeable sets is the observed one, a calibrated group has p ≤ j / (B + 1) for j of them at most.

    Groups that are not calibrated may have any statistic on the observed labels, and rows may be shared by all.
    """
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(n_calibrated + n_others,) * 2)
    drawn = mixed @ rng.standard_exponential((len(mixed), sets + 1))
    if ties:
        drawn = np.round(drawn)
    least = []
    for observed in range(sets + 1):
        statistics = np.roll(drawn, -observed, axis=1)
        statistics[n_calibrated:, 0] += rng.choice([-5.0, 0.0, 3.0, 1e3], n_others)
        least.append(_step_down(_on_one_scale(statistics))[:n_calibrated].min())
    for j in range(1, sets + 2):
        assert np.sum(np.array(least) <= (j + 1e-9) / (sets + 1)) <= j


@pytest.mark.parametrize("sets", [1, 5, 19])
@pytest.mark.parametrize("generator", ["log", "brier"])
def test_what_cannot_occur_has_the_smallest_p_value_of_any_number_of_sets(sets: int, generator: str) -> None:
    y, _, p = sample(80, 2, 0)
    # Of the first group, whose statistic is infinite.
    p[3] = np.eye(2)[1 - y[3]]
    with pytest.warns(UserWarning, match="probability 0 occurred in 1 of 2 groups"):
        test = worst_group_test(
            validate(y, p), ("a", "b"), (np.arange(40), np.arange(40, 80)), as_notion("canonical"), as_generator(generator), sets,
            np.random.default_rng(0),
        )  # fmt: skip
    assert test.worst == "a"
    assert test.pvalue == test.adjusted["a"] == test.pvalues["a"] == 1 / (sets + 1)
    assert test.adjusted["b"] == test.pvalues["b"]


def test_signs_by_cluster() -> None:
    y, g, _ = sample(160, 2, 3)
    # Far over-confident.
    g = g**4 / np.sum(g**4, axis=1, keepdims=True)
    pairs = np.arange(160) // 2
    a = (pairs % 2).astype(bool)
    found = decompose_groups(y, g, groups=a, clusters=pairs, **KW)
    assert found.whole.n_groups == 80
    assert {each.n_groups for each in found.groups.values()} == {40}
    assert found.test.pvalue <= 0.1
