"""Several models at once: pairs, the set of the best, ranks.

- A pair is what `paired_difference` makes of it; familywise p-values are no smaller, and no larger than Holm's.
- The joint law is that of all signs of rows: enumerated, it gives the same p-values.
- The set grows with the level and holds the model of the best estimate; ranks are those of the simultaneous intervals.
- What is asked does not depend on the order of the rows.
"""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import ttest_rel

import propercal
from propercal import compare_models, paired_difference
from propercal.inference.contributions import Contributions, as_terms
from propercal.inference.max_t import max_t
from theory_tests.instances import softmax

FAST: dict[str, Any] = {"kernel": None, "n_folds": 3, "generator": "brier"}
quickly = settings(max_examples=15, deadline=None)
SPREADS = (0.2, 0.7, 0.7, 1.5)


def several(seed: int, n: int, spreads: tuple[float, ...] = SPREADS) -> tuple[Any, dict[str, Any]]:
    """Labels, and models whose noise is of these sizes: models of the same size are as good."""
    rng = np.random.default_rng(seed)
    scores = 1.5 * rng.normal(size=(n, 3))
    y = (rng.random((n, 1)) > softmax(scores).cumsum(axis=1)[:, :-1]).sum(axis=1)
    return y, {f"m{i}": softmax(scores + s * rng.normal(size=scores.shape)) for i, s in enumerate(spreads)}


@pytest.mark.parametrize("term", ["risk", "calibration_error", "sharpness"])
def test_a_pair_is_a_paired_difference(term: str) -> None:
    y, models = several(0, 60, SPREADS[:3])
    found = compare_models(y, models, term=term, **FAST)
    assert [(each.first, each.second) for each in found.pairs] == list(combinations(models, 2))
    for each in found.pairs:
        wanted = paired_difference(y, models[each.first], models[each.second], term=term, **FAST)
        assert (each.difference, each.standard_error) == pytest.approx((wanted.difference, wanted.standard_error), rel=1e-9)
        assert each.pvalue == pytest.approx(wanted.pvalue, rel=1e-6)
        assert each.interval(0.8) == pytest.approx(wanted.interval(0.8), rel=1e-9, abs=1e-12)
    assert found.pair("m2", "m0") is found.pairs[1]
    assert {name: getattr(model, term) for name, model in found.models.items()} == {
        name: getattr(propercal.paired_difference(y, p, p, term=term, **FAST).a, term) for name, p in models.items()
    }


@quickly
@given(seed=st.integers(0, 2**32), n=st.integers(5, 60), level=st.floats(0.5, 0.99))
def test_p_values_sets_and_ranks_agree(seed: int, n: int, level: float) -> None:
    y, models = several(seed, n)
    found = compare_models(y, models, n_resamples=199, confidence_level=level)
    pairs = sorted(found.pairs, key=lambda each: each.pvalue)
    largest = 0.0
    for i, each in enumerate(pairs):
        largest = max(largest, min(1.0, (len(pairs) - i) * each.pvalue))
        assert each.pvalue <= each.familywise_pvalue <= largest + 1e-12
        low, high = each.simultaneous_interval
        assert (low + high) / 2 == pytest.approx(each.difference)
    assert [each.familywise_pvalue for each in pairs] == sorted(each.familywise_pvalue for each in pairs)
    risks = {name: model.risk for name, model in found.models.items()}
    sets = [found.best_set(each) for each in (0.3, 0.8, 0.99)]
    assert min(risks, key=risks.__getitem__) == sets[0][0]
    assert set(sets[0]) <= set(sets[1]) <= set(sets[2])
    for name, rank in found.ranks.items():
        ends = [(p.simultaneous_interval if p.first == name else p.simultaneous_interval[::-1], 1 if p.first == name else -1) for p in found.pairs if name in (p.first, p.second)]
        assert rank.lower == 1 + sum(sign * end[0] > 0 for end, sign in ends)
        assert rank.upper == len(models) - sum(sign * end[1] < 0 for end, sign in ends)
        assert rank.estimate == 1 + sum(risk < risks[name] for risk in risks.values())
        assert rank.lower <= rank.estimate <= rank.upper


def enumerated(losses: Any) -> tuple[list[float], list[float]]:
    """Familywise and best p-values by all signs of rows, each draw with the variance of its own: loops over rows."""
    n, m = losses.shape
    pairs = list(combinations(range(m), 2))

    def t(rows: list[float]) -> float:
        mean = sum(rows) / n
        variance = sum((x - mean) ** 2 for x in rows) / (n - 1) / n
        return mean / math.sqrt(variance) if variance > 0 else 0.0

    centred = losses - losses.mean(axis=0)
    observed = [t(list(losses[:, i] - losses[:, j])) for i, j in pairs]
    order = sorted(range(len(pairs)), key=lambda k: -abs(observed[k]))
    counts, best = [0] * len(pairs), [0] * m

    def most(values: list[float], i: int) -> float:
        """How much worse model i is than the best of the others."""
        return max(0.0, *(values[k] if pair[0] == i else -values[k] for k, pair in enumerate(pairs) if i in pair))

    for signs in product((-1, 1), repeat=n):
        drawn = [t([s * x for s, x in zip(signs, centred[:, i] - centred[:, j], strict=True)]) for i, j in pairs]
        for place, k in enumerate(order):
            counts[k] += max(abs(drawn[other]) for other in order[place:]) >= abs(observed[k]) - 1e-12
        for i in range(m):
            best[i] += most(drawn, i) >= most(observed, i) - 1e-12
    down = [counts[k] / 2**n for k in order]
    down = [max(down[: place + 1]) for place in range(len(down))]
    return [down[order.index(k)] for k in range(len(pairs))], [count / 2**n for count in best]


def made(term: str, rows: Any, estimates: Any = None, noise: Any = None) -> Contributions:
    """Contributions of rows (n, models) of equal weight."""
    n, m = rows.shape
    mean = rows.mean(axis=0)
    (chosen,), _ = as_terms(term)
    of_models = mean if estimates is None else np.array(estimates)
    return Contributions(chosen, of_models, (rows - mean) / n, np.full(n, 1 / n), np.zeros(m) if noise is None else np.array(noise))


def test_draws_are_those_of_all_signs() -> None:
    """Up to four standard errors of 4999 draws, bounded by single p-values below, and by Holm's above."""
    rng = np.random.default_rng(3)
    n, m, draws = 8, 3, 4999
    losses = rng.normal(size=(n, 1)) + rng.normal(size=(n, m)) * [0.3, 1, 1] + [0, 0.5, 0.9]
    found = max_t(made("risk", losses), draws)
    pairs, best = enumerated(losses)
    single = [ttest_rel(losses[:, i], losses[:, j]).pvalue for i, j in combinations(range(m), 2)]
    order = np.argsort(single)
    wanted: Any = [0.0] * m
    largest = 0.0
    for place, k in enumerate(order):
        largest = max(largest, single[k], min(pairs[k], (m - place) * single[k]))
        wanted[k] = largest
    assert np.all(np.abs(found.pair_pvalues - wanted) <= [4 * math.sqrt(p * (1 - p) / draws) + 1 / draws for p in wanted])
    # One-sided, of m − 1 comparisons with the others.
    t = [max(ttest_rel(losses[:, i], losses[:, j]).statistic for j in range(m) if j != i) for i in range(m)]
    one_sided = np.array([stats.t.sf(x, n - 1) if x > 0 else 1.0 for x in t])
    wanted = np.maximum(one_sided, np.minimum(best, np.minimum((m - 1) * one_sided, 1)))
    assert np.all(np.abs(found.best_pvalues - wanted) <= [4 * math.sqrt(p * (1 - p) / draws) + 1 / draws for p in wanted])
    assert len({round(each, 2) for each in wanted}) == m


def test_many_groups_have_normal_draws_of_the_same_law() -> None:
    """5000 rows have signs, 5001 normal numbers: quantiles are as far apart as draws make them, about 1 %."""
    rng = np.random.default_rng(4)
    losses = rng.normal(size=(5001, 1)) + rng.normal(size=(5001, 4)) * [0.3, 1, 1, 2]
    normal, signs = (max_t(made("risk", losses[:n]), 4999) for n in (5001, 5000))
    for level in (0.5, 0.9):
        assert normal.critical_value(level) == pytest.approx(signs.critical_value(level), rel=0.04)
        assert signs.critical_value(level) != normal.critical_value(level)


def test_the_correction_is_uncertain_for_each_model_by_itself() -> None:
    """Where only V is uncertain, of two models of three, t are ξ0, ξ1 and (ξ0 − ξ1) / √2 for normal ξ: an integral."""
    found = max_t(made("refinement", np.zeros((30, 3)), [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]), 4999)
    assert found.errors[np.triu_indices(3, 1)] == pytest.approx([math.sqrt(0.5), 0.5, 0.5])

    def within(first: float, second: float, between: float) -> float:
        """P(|ξ0| < first, |ξ1| < second, |ξ0 − ξ1| / √2 < between)."""
        x = np.linspace(-first, first, 20001)
        x = (x[1:] + x[:-1]) / 2
        high, low = np.minimum(second, x + math.sqrt(2) * between), np.maximum(-second, x - math.sqrt(2) * between)
        inside = np.maximum(stats.norm.cdf(high) - stats.norm.cdf(low), 0)
        return float((stats.norm.pdf(x) * inside).sum() * (x[1] - x[0]))

    # 1 less 2 has t = 2, 0 less 1 has −√2, and 0 less 2 none.
    wanted = [1 - within(math.sqrt(2), 40, math.sqrt(2)), 1.0, 1 - within(2, 2, 2)]
    assert found.pair_pvalues == pytest.approx(wanted, abs=4 * math.sqrt(0.25 * 0.75 / 4999))
    assert found.pair_pvalues[2] < 3 * 2 * stats.norm.sf(2)


def test_the_order_of_rows_does_not_matter_and_more_is_better_for_the_sharpness() -> None:
    y, models = several(5, 60)
    order = np.random.default_rng(6).permutation(60)
    for term in ("risk", "sharpness"):
        found = compare_models(y, models, term=term, **FAST)
        other = compare_models(y[order], {name: p[order] for name, p in models.items()}, term=term, **FAST)
        assert found.best_pvalues == pytest.approx(other.best_pvalues, rel=1e-6)
        assert [each.familywise_pvalue for each in found.pairs] == pytest.approx([each.familywise_pvalue for each in other.pairs], rel=1e-6)
        assert found.ranks == other.ranks
        values = {name: getattr(model, term) for name, model in found.models.items()}
        assert found.best_set()[0] == (min if term == "risk" else max)(values, key=values.__getitem__)


def test_equal_models_do_not_differ_and_share_their_rank() -> None:
    y, models = several(7, 200)
    found = compare_models(y, {**models, "again": models["m0"].copy()})
    pair = found.pair("m0", "again")
    assert (pair.difference, pair.pvalue, pair.familywise_pvalue, pair.simultaneous_interval) == (0, 1, 1, (0, 0))
    assert found.ranks["m0"] == found.ranks["again"]
    assert found.best_pvalues["m0"] == found.best_pvalues["again"] == 1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_infinite_risk_is_behind_all_others() -> None:
    y, models = several(8, 80, (0.5, 0.5, 0.5, 0.5))
    for name in ("m1", "m3"):
        models[name][5] = np.eye(3)[(y[5] + 1) % 3]
    found = compare_models(y, models)
    assert set(found.best_set()) <= {"m0", "m2"}
    assert {name: rank[1:] for name, rank in found.ranks.items() if name in ("m1", "m3")} == {"m1": (3, 4), "m3": (3, 4)}
    assert found.ranks["m0"].upper <= 2
    finite = compare_models(y, {name: models[name] for name in ("m0", "m2")})
    assert found.pair("m0", "m2").familywise_pvalue == pytest.approx(finite.pairs[0].familywise_pvalue, abs=0.03)
    assert math.isnan(found.pair("m0", "m1").familywise_pvalue)
    assert math.isnan(found.pair("m3", "m1").simultaneous_interval[0])
    assert "inf" in str(found)
    both = compare_models(y, {name: models[name] for name in ("m1", "m3")})
    assert (both.best_set(), both.ranks["m1"]) == (("m1", "m3"), (1, 1, 2))


def test_groups_weights_and_many_models() -> None:
    y, models = several(9, 60, (0.2, *[0.8] * 24))
    often = np.repeat(np.arange(60), 2)
    once = compare_models(y, models, n_resamples=999)
    again = compare_models(y[often], {name: p[often] for name, p in models.items()}, groups=often, n_resamples=999)
    assert len(once.pairs) == 300
    assert again.best_pvalues == pytest.approx(once.best_pvalues, rel=1e-6)
    assert [each.standard_error for each in again.pairs] == pytest.approx([each.standard_error for each in once.pairs])
    weight = np.random.default_rng(0).uniform(0, 1, 60)
    weighted = compare_models(y, models, sample_weight=weight, n_resamples=999).pair("m3", "m0")
    wanted = paired_difference(y, models["m0"], models["m3"], term="risk", sample_weight=weight)
    assert (weighted.pvalue, weighted.standard_error) == pytest.approx((wanted.pvalue, wanted.standard_error))
    assert once.ranks["m0"].estimate == 1
    assert "300 pairs differ" in str(once)


def test_lists_of_terms_and_generators_share_fits() -> None:
    y, models = several(10, 40, (0.3, 0.7))
    options = {**FAST, "generator": ["log", "brier"], "n_resamples": 99}
    found = compare_models(y, models, term=["risk", "refinement"], **options)
    assert [[each.term for each in row] for row in found] == [["risk", "refinement"]] * 2
    assert found[0][0].models["m0"] is found[0][1].models["m0"]
    assert [each.term for each in compare_models(y, models, **options)] == ["risk"] * 2
    assert compare_models(y, list(models.items()), term=["risk"])[0].best_pvalues == compare_models(y, models).best_pvalues


def test_text_html_and_dataset_say_the_same() -> None:
    y, models = several(11, 100)
    found = compare_models(y, models)
    text, page, data = str(found), found._repr_html_(), found.to_xarray()
    assert text.startswith("log loss, canonical risk of 4 models, less is better\n")
    for pair in found.pairs:
        low, high = pair.simultaneous_interval
        line = f"{pair.first} less {pair.second}: {pair.difference:.6g} [{low:.6g}, {high:.6g}], p = {pair.familywise_pvalue:.3g}"
        assert line in text
        assert line in page
        assert f"[{low:.6g}, {high:.6g}], p = {pair.familywise_pvalue:.3g}" in str(pair)
    assert data["in_best_set"].values.tolist() == [name in found.best_set() for name in models]
    assert data["rank_interval"].sel(model="m1").values.tolist() == list(found.ranks["m1"][1:])
    assert data["simultaneous_interval"].values.tolist() == [list(each.simultaneous_interval) for each in found.pairs]
    assert (data.attrs["term"], data.attrs["n_samples"], data["risk"].attrs) == ("risk", 100, {"units": "nats"})
    two = compare_models(y, models, notion="top-label", groups=np.arange(100) // 2)
    assert "n = 100 in 50 groups, k = 3" in str(two)


P = np.full((30, 2), 0.5)
Y = np.arange(30) % 2


@pytest.mark.parametrize(("models", "message"), [
    ({}, r"^models = 0 models: expected two or more"),
    ({"a": P}, r"^models = 1 model: expected two or more"),
    ([("a", P), ("b", P), ("a", P)], r"^models = 'a' twice: expected a name of its own for each"),
    ([P, P], r"^models = a list: expected predictions by the name of the model"),
    (P, r"^models = a ndarray: expected predictions by the name of the model"),
    ({"a": P, 3: P}, r"^models = the name 3: expected predictions by the name of the model, in words"),
    ({"a": P, "b": P[1:]}, r"^y_true = 30 labels: expected 29"),
    ({"a": P, "b": 2 * P}, r"^models\['b'\] = rows that sum to 2"),
    ({"a": P, "b": np.full((30, 3), 1 / 3)}, r"^models\['b'\] = 3 classes: expected 2, as in models\['a'\]"),
])  # fmt: skip
def test_models_that_cannot_be_compared_are_refused(models: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare_models(Y, models)


@pytest.mark.parametrize("number", [0, 2.5, True, "many"])
def test_numbers_of_draws_are_checked(number: Any) -> None:
    with pytest.raises(ValueError, match=r"^n_resamples = .*: expected a whole number of at least 1"):
        compare_models(Y, {"a": P, "b": P}, n_resamples=number)


def test_names_and_levels_are_checked() -> None:
    found = compare_models(Y, {"a": P, "b": P}, n_resamples=9)
    with pytest.raises(ValueError, match=r"^first = 'c': expected one of 'a', 'b'"):
        found.pair("c", "a")
    with pytest.raises(ValueError, match=r"^second = 'a': expected one of 'b'"):
        found.pair("a", "a")
    for call in (found.best_set, found.rank_intervals):
        with pytest.raises(ValueError, match=r"^confidence_level = 95"):
            call(95)


def test_the_family_has_its_level() -> None:
    """100 samples of five equal models: more than 16 with a false alarm at 5 % have a probability below 1e-5."""
    alarms = missed = 0
    for seed in range(100):
        found = compare_models(*several(seed, 50, (0.7,) * 5), n_resamples=199)
        alarms += min(each.familywise_pvalue for each in found.pairs) <= 0.05
        missed += "m0" not in found.best_set()
    assert max(alarms, missed) <= 16


@pytest.mark.parametrize("seed", range(3))
def test_the_set_is_much_the_model_confidence_set_of_arch(seed: int) -> None:
    """That drops models one by one (Hansen, Lunde & Nason 2011): sets differ by models that are near the edge."""
    bootstrap = pytest.importorskip("arch.bootstrap")
    y, models = several(seed, 300, (0.3, 0.5, 0.7, 1.1))
    losses = np.stack([-np.log(p[np.arange(300), y]) for p in models.values()], axis=1)
    theirs = bootstrap.MCS(losses, size=0.05, reps=500, block_size=1, seed=1)
    theirs.compute()
    found = compare_models(y, models)
    other = {f"m{i}" for i in theirs.included} ^ set(found.best_set())
    assert all(0.005 < found.best_pvalues[name] < 0.25 for name in other)
