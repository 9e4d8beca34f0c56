"""Many rows are corrected as a sample of them chose, and from a part of them; few as if there were no such budget.

A sample taken along an order has of every stretch of it the same share as all rows, to a row; a pass over the rows
that are not judged corrects them by the same formula as those that are, so that with everything judged the two
agree; equal rows may be merged into one with their number, since sums over rows are sums over merged rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from propercal import decompose
from propercal._kernels.kernels import DirichletKernel
from propercal._methods import chosen, sampling, table
from propercal._methods import one_step as one_step_module
from propercal._methods.candidates import Bases, Candidates, Choice
from propercal._methods.correction import Residuals, correct
from propercal._methods.fold_sums import FoldSums, Sources, fold_kernel, fold_sums
from propercal._methods.sampling import judged, kernel_sources
from propercal._methods.variance import half_trace
from propercal.generators import Log
from propercal.recalibration import TemperatureScaling
from propercal.recalibration.points import interior
from propercal.simulation import MiscalibratedSimplex, TemperatureScaledSimplex

pytestmark = pytest.mark.filterwarnings("ignore:.*only the kernel sees")

K = 3
SUMS = [
    *((k, gamma, "exact") for k in (2, 3) for gamma in (0.3, 0.02, 1e-3, 1e-5)),
    *((2, gamma, "linear") for gamma in (0.3, 0.02, 1e-3)),
]


def some_sources(n: int, *, weighted: bool = False, k: int = K, n_folds: int = 5, seed: int = 0) -> Sources:
    rng = np.random.default_rng(seed)
    points = interior(np.log(rng.dirichlet([0.7] * k, n)))
    fold, label = rng.permutation(np.arange(n) % n_folds), rng.integers(0, k, n)
    order = np.lexsort((label, fold))
    weight = rng.uniform(0.01, 3, n) ** 2 if weighted else None
    return Sources(points.take(order), label[order], weight, fold[order], n_folds, k)


@pytest.fixture
def budget(monkeypatch: pytest.MonkeyPatch) -> Any:
    def to(judged_rows: int, kernel_rows: int = 10**9) -> None:
        monkeypatch.setattr(sampling, "JUDGED_ROWS", judged_rows)
        monkeypatch.setattr(sampling, "JUDGED_SHARE", 0.0)
        monkeypatch.setattr(sampling, "KERNEL_ROWS", kernel_rows)
        # So few rows would be a table, of which nothing is left out.
        monkeypatch.setattr(table, "_FEW_NUMBERS", 0)

    return to


# ------------------------------------------------------------------ samples
@pytest.mark.parametrize("weighted", [False, True])
def test_judged_rows_stand_for_every_stretch_of_every_fold(weighted: bool, budget: Any) -> None:
    """Up to any probability of the label, the weight of a sample differs from that of all by one step at most."""
    budget(200)
    sources = some_sources(1500, weighted=weighted)
    right = sources.points.log_prob[np.arange(1500), sources.label]
    weight = np.ones(1500) if sources.weight is None else sources.weight
    weight = weight / weight.sum()
    for part, fold in zip(judged(sources), sources.folds, strict=True):
        assert isinstance(part.rows, np.ndarray)
        assert len(part.rows) <= 40
        assert (np.diff(part.rows) > 0).all()
        assert fold.start <= part.rows[0] <= part.rows[-1] < fold.stop
        assert part.weight.sum() == pytest.approx(weight[fold].sum())
        for level in np.quantile(right[fold], np.linspace(0, 1, 21)):
            of_all = weight[fold][right[fold] <= level].sum()
            of_sample = part.weight[right[part.rows] <= level].sum()
            assert abs(of_all - of_sample) <= weight[fold].sum() / 40 * (1 + 1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_sources_are_spread_over_confidence_and_labels_take_no_part(weighted: bool, budget: Any) -> None:
    budget(100, 500)
    sources = some_sources(1500, weighted=weighted)
    part, numbers = kernel_sources(sources)
    assert len(numbers) == len(part.fold) <= 500
    assert (np.diff(numbers) > 0).all()
    np.testing.assert_array_equal(part.label, sources.label[numbers])
    np.testing.assert_array_equal(part.fold, sources.fold[numbers])
    other = kernel_sources(replace(sources, label=sources.label[::-1]))[1]
    np.testing.assert_array_equal(other, numbers)
    if not weighted:
        assert part.weight is None
        return
    assert sources.weight is not None
    assert part.weight is not None
    total, whole = part.weight / part.weight.sum(), sources.weight / sources.weight.sum()
    for f in range(5):
        assert total[part.fold == f].sum() == pytest.approx(whole[sources.fold == f].sum())


def test_a_row_of_most_of_the_weight_keeps_it(budget: Any) -> None:
    budget(50, 100)
    sources = replace(some_sources(600), weight=np.r_[1000.0, np.ones(599)])
    part, numbers = kernel_sources(sources)
    assert numbers[0] == 0
    assert part.weight is not None
    # Of the weight of its fold, in steps of a twentieth.
    of_fold = sources.weight[sources.fold == 0] if sources.weight is not None else np.ones(1)
    own = part.weight[0] / part.weight[part.fold == 0].sum()
    assert own == pytest.approx(1000 / of_fold.sum(), abs=1 / 20)


def test_few_rows_and_pairs_are_all_judged() -> None:
    for sources in (some_sources(2000), some_sources(2500, k=2)):
        assert kernel_sources(sources)[0] is sources
        for part, fold in zip(judged(sources), sources.folds, strict=True):
            assert part.rows == fold


@pytest.mark.parametrize(("n", "k", "expected"), [(2500, 3, 2000), (9000, 3, 2250), (4000, 200, 2000)])
def test_of_many_rows_a_quarter_is_judged_but_fewer_where_they_are_long(n: int, k: int, expected: int) -> None:
    assert sum(len(part.weight) for part in judged(some_sources(n, k=k))) == expected


# ------------------------------------------------------------------ sums
@pytest.mark.parametrize(("k", "gamma", "algorithm"), SUMS)
def test_merged_rows_are_summed_as_their_rows_are(k: int, gamma: float, algorithm: str) -> None:
    rng = np.random.default_rng(1)
    merged = some_sources(60, k=k, n_folds=3)
    count = rng.integers(1, 5, 60)
    weight = rng.uniform(0.5, 2, 60)
    merged = replace(merged, count=count, weight=weight * count)
    each = np.repeat(np.arange(60), count)
    rows = replace(merged.take(each), count=None, weight=weight[each])
    columns = rng.uniform(size=(60, 4))
    first = np.searchsorted(each, np.arange(60))
    found = fold_kernel(merged, DirichletKernel(), gamma, algorithm)(slice(0, 60), columns)
    wanted = fold_kernel(rows, DirichletKernel(), gamma, "exact")(first, columns[each])
    scale = [x.labels.sum(axis=(1, 2)) for x in (found, wanted)]
    for a, b, power in zip(found, wanted, (1, 2, 1), strict=True):
        one, other = (x.reshape(60, -1) / s[:, None] ** power for x, s in zip((a, b), scale, strict=True))
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10 if algorithm == "exact" else 1e-7)


@pytest.mark.parametrize("weighted", [False, True])
def test_targets_that_are_no_sources_are_summed_over_all_sources(weighted: bool) -> None:
    sources, gamma = some_sources(80, weighted=weighted), 0.05
    columns = np.random.default_rng(2).uniform(size=(80, 4))
    kernel = DirichletKernel()
    part = sources.take(np.arange(0, 80, 2))
    numbers = np.where(np.arange(80) % 2 == 0, np.arange(80) // 2, -1)
    target = kernel.features(sources.points.prob, sources.points.log_prob, gamma).target
    found = fold_sums(part.features(kernel, gamma), part, numbers, columns[::2], target)
    # The same as sums over all rows of which the others have no weight.
    weight = np.ones(80) if sources.weight is None else sources.weight
    masked = replace(sources, weight=np.where(numbers >= 0, weight, 0.0))
    wanted = fold_sums(masked.features(kernel, gamma), masked, np.arange(80), columns)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


# ------------------------------------------------------------------ choices
@pytest.mark.parametrize("missing", [0.0, 0.75, 1.0])
@pytest.mark.parametrize("bump", [0.0, 0.3])
def test_a_correction_has_to_beat_none_by_the_noise_of_the_sample(missing: float, bump: float) -> None:
    """For each fold, by losses and V of the others, written out; the noise is that of the mean gain in loss."""
    rng = np.random.default_rng(4)
    n_folds, r = 3, 40
    generator = Log()
    labels = [rng.integers(0, K, r) for _ in range(n_folds)]
    weights = [rng.uniform(0.5, 1.5, r) for _ in range(n_folds)]
    weights = [w / np.sum(weights) for w in weights]
    log_probs = [np.full((r, K), -np.log(K))] * n_folds  # the choice does not depend on these
    found = Candidates(generator, labels, weights, log_probs, missing)
    score, gains = np.zeros((2, n_folds)), np.zeros((n_folds, n_folds))
    for e in range(n_folds):
        base = rng.dirichlet([5.0] * K, (n_folds, r))
        truth = np.eye(K)[labels[e]]
        observed = rng.dirichlet([1.0] * K, r) + bump * truth
        others = [f for f in range(n_folds) if f != e]
        bases = Bases(own=base[0], inner=list(base[1:]), others=[base[0]] * n_folds)
        found.add_base(e, bases)
        # The same effective counts without each fold: 4, of which the base expects its own share.
        labels_sums = np.repeat((observed / observed.sum(axis=1, keepdims=True))[:, None, :], n_folds, axis=1)
        squares = np.full((r, n_folds), 1 / 4)
        columns = np.concatenate([n_folds * base[0], *((n_folds - 1) * base[1:])], axis=1)
        found.add_corrected(e, bases, FoldSums(labels_sums, squares, columns), 0.1, [3.0], 1)
        for i, f in enumerate([None, *others]):
            size = 4 * (n_folds if f is None else n_folds - 1)
            counts = Residuals(size * labels_sums[:, 0, :], size * base[i], np.full((r, 1), float(size)))
            corrected = correct(base[i], counts, 3.0)
            if f is None:
                variance = weights[e] @ half_trace(generator, corrected)
                price = 0.5 * variance
                score[1, [g for g in range(n_folds) if g != e]] -= price
                continue
            losses = [generator.loss(q, truth) for q in (base[i], corrected.prob)]
            score[:, f] += [weights[e] @ loss for loss in losses]
            gain = losses[1] - losses[0]
            gain = gain - weights[e] @ gain / weights[e].sum()
            gains[e, f] = missing * (weights[e] ** 2 @ gain**2)
    wanted = [0.1 if better else np.inf for better in score[1] + np.sqrt(gains.sum(axis=0)) <= score[0]]
    assert [choice.bandwidth for choice in found.choose()] == wanted


# ------------------------------------------------------------------ estimates
def numbers_of(found: Any) -> list[float]:
    return [found.calibration_error, found.lower_bound, found.kernel_share, *found.interval("calibration_error")]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", [MiscalibratedSimplex(4, "neighbour"), TemperatureScaledSimplex(3)])
def test_correcting_all_rows_as_they_chose_is_one_pass_over_all(
    model: Any, weighted: bool, budget: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every row judged, a pass of its own for the chosen bandwidth gives what judging gave."""
    y, g, _ = model.sample(500, random_state=3)
    settings: dict[str, Any] = {"generator": ["log", "brier"], "random_state": 0}
    if weighted:
        settings["sample_weight"] = np.random.default_rng(0).uniform(0.1, 2, 500)
    once = decompose(y, g, **settings)
    budget(500)
    monkeypatch.setattr(one_step_module, "is_whole", lambda _: False)
    twice = decompose(y, g, **settings)
    for a, b in zip(once, twice, strict=True):
        np.testing.assert_allclose(numbers_of(a), numbers_of(b), rtol=1e-9, atol=1e-12)
        assert (a.bandwidth, a.algorithm, a.kernel_rows) == (b.bandwidth, b.algorithm, b.kernel_rows)


@pytest.mark.parametrize("weighted", [False, True])
def test_neither_the_order_of_rows_nor_that_of_classes_matters(weighted: bool, budget: Any) -> None:
    budget(150, 300)
    y, g, _ = MiscalibratedSimplex(4, "neighbour").sample(600, random_state=1)
    rng = np.random.default_rng(2)
    weight = rng.uniform(0.1, 2, 600) if weighted else np.ones(600)
    found = decompose(y, g, sample_weight=weight, random_state=0)
    assert found.kernel_rows is not None
    assert found.kernel_rows <= 300
    rows, classes = rng.permutation(600), rng.permutation(4)
    again = [
        decompose(y[rows], g[rows], sample_weight=weight[rows], random_state=0),
        decompose(np.argsort(classes)[y], g[:, classes], sample_weight=weight, random_state=0),
    ]
    for other in again:
        # Families are fitted to the tolerance of their descents.
        np.testing.assert_allclose(numbers_of(other), numbers_of(found), rtol=1e-5, atol=1e-7)
        assert (other.bandwidth, other.kernel_rows) == (found.bandwidth, found.kernel_rows)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_tensors_are_corrected_as_arrays_are(weighted: bool, budget: Any) -> None:
    torch = pytest.importorskip("torch")
    budget(150, 300)
    y, g, _ = MiscalibratedSimplex(4, "neighbour").sample(600, random_state=1)
    weight = np.random.default_rng(2).uniform(0.1, 2, 600) if weighted else np.ones(600)
    for generators in (["log"], ["log", "brier"]):
        found = decompose(y, g, sample_weight=weight, generator=generators, random_state=0)
        given = [torch.as_tensor(x) for x in (y, g, weight)]
        of_tensors = decompose(
            *given[:2], sample_weight=given[2], generator=generators, random_state=0
        )
        for a, b in zip(found, of_tensors, strict=True):
            np.testing.assert_allclose(numbers_of(b), numbers_of(a), rtol=1e-6, atol=1e-8)


def test_the_result_says_from_how_many_rows_it_was_corrected(budget: Any) -> None:
    y, g, _ = TemperatureScaledSimplex(3).sample(400, random_state=0)
    for limit, expected in ((400, 400), (200, 200)):
        budget(100, limit)
        found = decompose(y, g)
        assert found.kernel_rows == expected
        assert found.to_xarray().attrs["kernel_rows"] == expected
        assert ("from 200 rows" in str(found)) == (expected == 200)
    assert decompose(y, g, kernel=None).kernel_rows is None
    assert decompose(y, g, method="risk", bandwidth=0.1).kernel_rows is None
    assert decompose(y, g, notion="top-label").kernel_rows == 400


@pytest.mark.parametrize("gammas", [[np.inf] * 5, [0.02, np.inf, 0.02, 0.2, np.inf]])
def test_only_folds_that_chose_a_kernel_are_summed_again(
    gammas: list[float], budget: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = []

    def counted(features: Any, sources: Any, rows: Any, columns: Any, target: Any = None) -> Any:
        targets.append((len(rows), columns.shape[1]))
        return fold_sums(features, sources, rows, columns, target)

    monkeypatch.setattr(chosen, "fold_sums", counted)
    monkeypatch.setattr(Candidates, "choose", lambda _: [Choice(gamma, 20.0) for gamma in gammas])
    budget(300)
    y, g, _ = TemperatureScaledSimplex(3).sample(900, random_state=0)
    decompose(y, g, random_state=0)
    # Once for its own rows, with its own base and the sum of its squares alone.
    assert targets == [(180, 3 + 1)] * np.isfinite(gammas).sum()


# ------------------------------------------------------------------ fits
def test_recalibrations_of_many_numbers_are_fitted_to_a_part_of_the_rows(monkeypatch: pytest.MonkeyPatch, budget: Any) -> None:
    """The result says to how many; all rows have what comes of them, and the estimate is nearly the same."""
    budget(200)
    y, p, _ = TemperatureScaledSimplex(K).sample(1200, random_state=3)
    whole = decompose(y, p)
    monkeypatch.setattr(sampling, "TRAINING_NUMBERS", 600 * K)
    part = decompose(y, p)
    assert (whole.training_rows, part.training_rows) == (1200, 600)
    assert "recalibrations fitted to 600 rows" in str(part)
    assert part.to_xarray().attrs["training_rows"] == 600
    assert part.risk == whole.risk
    assert abs(part.calibration_error - whole.calibration_error) < whole.standard_errors["calibration_error"]
    assert part.calibration_error != whole.calibration_error
    # Those of a user see all rows.
    assert decompose(y, p, recalibrator=TemperatureScaling()).training_rows == 1200


@pytest.mark.parametrize("weighted", [False, True])
def test_training_rows_are_spread_over_confidence(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "JUDGED_ROWS", 10)
    monkeypatch.setattr(sampling, "TRAINING_NUMBERS", 500 * K)
    sources = some_sources(1500, weighted=weighted)
    part = sampling.training_sources(sources)
    assert 400 < len(part.fold) <= 500
    assert (np.diff(part.fold) >= 0).all()
    weight, all_weight = (np.ones(len(s.fold)) if s.weight is None else s.weight for s in (part, sources))
    own, everywhere = ((s.points.prob**2).sum(axis=1) for s in (part, sources))
    for level in np.quantile(everywhere, np.linspace(0.1, 0.9, 9)):
        share = weight[own <= level].sum() / weight.sum()
        assert abs(share - all_weight[everywhere <= level].sum() / all_weight.sum()) < 0.02
