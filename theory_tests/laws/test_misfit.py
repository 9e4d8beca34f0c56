"""A look at what recalibrations leave unexplained finds what is there, and no more.

Source: the expectation of a U-statistic over pairs of independent rows; laws of p-values.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import propercal
from propercal._methods.misfit import LEVEL, NOTHING, JudgedRows, Misfit, find_misfit, joint_misfit
from propercal._methods.misfit import _direction as statistic
from propercal.generators import Brier, Log
from propercal.recalibration.built_in import directions_for
from propercal.recalibration.families import equivariant_terms, vector_terms
from propercal.recalibration.family import TrainingSets
from propercal.recalibration.points import interior
from propercal.simulation import MiscalibratedSimplex

K, FOLDS, EACH = 3, 3, 60


def rows_of(label: Any, base: Any, group: Any = None) -> list[JudgedRows]:
    """Rows of a base that no fold was used for."""
    n = len(label)
    parts = np.array_split(np.arange(n), FOLDS)
    return [
        JudgedRows(
            label[part],
            np.full(len(part), 1 / n),
            np.full(len(part), 1 / n**2),
            base[part],
            [base[part]] * FOLDS,
            [base[part]] * (FOLDS - 1),
            None if group is None else group[part],
        )
        for part in parts
    ]


def terms_at(base: Any, make: Any) -> Any:
    return [make(interior(np.log(part))) for part in np.array_split(base, FOLDS)]


def drawn(truth: Any, rng: np.random.Generator) -> Any:
    return (rng.random((len(truth), 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)


@pytest.mark.parametrize("generator", [Log(), Brier()], ids=repr)
def test_its_mean_is_the_divergence_within_a_direction(generator: Any) -> None:
    """½ δᵀ M δ with δ = Σ w x (r − b), whatever the noise of the labels, up to that of each row with itself."""
    rng = np.random.default_rng(1)
    n = FOLDS * EACH
    base = rng.dirichlet([2.0] * K, n)
    truth = base**1.4 / (base**1.4).sum(axis=1, keepdims=True)
    terms = terms_at(base, equivariant_terms)
    found = np.array([statistic(generator, rows_of(drawn(truth, rng), base), terms).value for _ in range(600)])
    # By hand: all functions as an array (n, d, k).
    log_b = np.log(base)
    x = np.stack([log_b, base, log_b * (base**2).sum(axis=1, keepdims=True)], axis=1)
    moved = base[:, None, :] * (x - (x * base[:, None, :]).sum(axis=2, keepdims=True))
    information = np.einsum("hik,hjk->ij", x, moved) / n
    bent = np.stack([generator.hessian_times(base, moved[:, i, :]) for i in range(3)], axis=1)
    inverse = np.linalg.inv(information + np.eye(3) / n)
    metric = inverse @ (np.einsum("hik,hjk->ij", moved, bent) / n) @ inverse
    each = np.einsum("hik,hk->hi", x, truth - base) / n
    expected = 0.5 * (each.sum(axis=0) @ metric @ each.sum(axis=0) - np.einsum("hi,ij,hj->", each, metric, each))
    assert abs(found.mean() - expected) < 4 * found.std() / np.sqrt(len(found))
    assert expected > 10 * found.std() / np.sqrt(len(found))
    # Most of the divergence lies in this direction.
    divergence = float(np.mean(generator.divergence(truth, base)))
    assert 0.7 * divergence < expected < 1.3 * divergence


@pytest.mark.parametrize("make", [equivariant_terms, vector_terms])
def test_its_error_is_that_under_calibrated_labels_and_its_p_values_are_valid(make: Any) -> None:
    rng = np.random.default_rng(2)
    base = rng.dirichlet([2.0] * K, FOLDS * EACH)
    terms = terms_at(base, make)
    labels = [drawn(base, rng) for _ in range(500)]
    found = [statistic(Log(), rows_of(label, base), terms) for label in labels]
    values, errors = np.array([each.value for each in found]), np.array([each.error for each in found])
    assert abs(values.mean()) < 4 * values.std() / np.sqrt(len(values))
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(values.std(), rel=0.2)
    p_values = np.array([find_misfit(Log(), rows_of(label, base), [terms]).p_value for label in labels])
    for level in (0.01, 0.05, 0.2):
        assert np.mean(p_values < level) < level + 3 * np.sqrt(level / len(labels))


def test_rows_that_repeat_each_other_are_seen_once_with_groups() -> None:
    rng = np.random.default_rng(3)
    base = rng.dirichlet([2.0] * K, FOLDS * 30)
    often = np.repeat(base, 4, axis=0)
    group = np.repeat(np.arange(len(base)), 4)
    terms, single = terms_at(often, vector_terms), terms_at(base, vector_terms)
    for _ in range(3):
        label = drawn(base, rng)
        found = statistic(Log(), rows_of(np.repeat(label, 4), often, group), terms)
        once = statistic(Log(), rows_of(label, base), single)
        assert found.value == pytest.approx(once.value)
        # What is to be expected of labels is known of rows that are independent alone.
        assert found.error == pytest.approx(once.error, rel=0.2)


def test_problems_are_averaged_and_adjusted_for() -> None:
    assert joint_misfit([NOTHING, NOTHING]) == Misfit(1.0, 0.0)
    found = joint_misfit([Misfit(1e-4, 0.3), NOTHING, Misfit(0.9 * LEVEL, 0.2)])
    # The second p-value does not hold for three problems.
    assert found.p_value == pytest.approx(3e-4)
    assert found.missed == pytest.approx(0.1)


def test_what_is_missed_is_no_more_than_the_loss_that_is_left() -> None:
    """Labels of next to no probability occur, and the quadratic form is far above any divergence."""
    rng = np.random.default_rng(7)
    small = 10.0 ** -rng.uniform(3, 3.5, 3000)
    base = np.stack([1 - small, small / 2, small / 2], axis=1)
    label = np.where(rng.random(3000) < 0.05, 1, 0)
    terms = terms_at(base, vector_terms)
    left = float(Log().loss(base, np.eye(K)[label]).mean())
    assert statistic(Log(), rows_of(label, base), terms).value > 1.5 * left
    found = find_misfit(Log(), rows_of(label, base), [terms])
    assert found.p_value < 1e-6
    assert found.missed == pytest.approx(left)
    # Under a loss of which no part is lost at the corners, and another of which some is.
    brier = find_misfit(Brier(), rows_of(label, base), [terms])
    assert brier.missed <= float(Brier().loss(base, np.eye(K)[label]).mean()) + 1e-12


def test_a_result_says_what_may_be_missed() -> None:
    """By a recalibration that is not the built-in one, of a shape that it cannot follow."""
    rng = np.random.default_rng(5)
    p = rng.uniform(0.02, 0.98, 3000)
    r = p + 0.6 * p * (1 - p) * np.sin(6 * np.pi * p)
    y = (rng.random(3000) < r).astype(int)
    truth = float(np.mean(r * np.log(r / p) + (1 - r) * np.log((1 - r) / (1 - p))))
    scaling = propercal.recalibration.TemperatureScaling()
    with pytest.warns(UserWarning, match="leave structure that they do not follow"):
        found = propercal.decompose(y, p, recalibrator=scaling, kernel=None)
    assert found.misfit_pvalue is not None
    assert found.missed is not None
    assert found.lower_bound is not None
    assert found.misfit_pvalue < 1e-6
    low, high = found.interval("calibration_error")
    assert low < truth < high
    assert high - found.missed < truth
    refined = found.interval("refinement")
    assert refined[0] == pytest.approx(found.refinement - (refined[1] - found.refinement) - found.missed)
    saved = found.to_xarray()
    assert float(saved.missed) == found.missed
    assert float(saved.misfit_pvalue) == found.misfit_pvalue


def misfits_found(n: int, draws: int, amplitude: float) -> list[int]:
    """In how many samples of r = p + a p (1 − p) sin 16πp it is said under either loss."""
    found = [0, 0]
    for seed in range(draws):
        rng = np.random.default_rng([n, seed])
        p = rng.uniform(0.002, 0.998, n)
        y = (rng.random(n) < p + amplitude * p * (1 - p) * np.sin(16 * np.pi * p)).astype(int)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            results = propercal.decompose(y, p, generator=["log", "brier"])
        for i, each in enumerate(results):
            assert each.misfit_pvalue is not None
            assert ((each.missed or 0.0) > 0) == (each.misfit_pvalue < LEVEL)
            text = f"behind the {each.generator} calibration error leave structure"
            assert any(text in str(warning.message) for warning in said) <= (each.misfit_pvalue < LEVEL)
            found[i] += each.misfit_pvalue < LEVEL
    return found


@pytest.mark.slow
def test_calibrated_predictions_are_rarely_doubted() -> None:
    """A level of .2 would allow 12 of 60 samples. Directions overlap: 5 were seen for the log loss, 3 for Brier's."""
    assert max(misfits_found(300, 60, 0.0)) <= 5


@pytest.mark.slow
def test_an_oscillation_that_is_missed_in_part_is_mostly_noticed() -> None:
    """The estimate is half of the truth. Of 40 samples 30 and 27 were noticed, at a level of .01 only 9 and 6."""
    log, brier = misfits_found(1000, 40, 0.6)
    assert log >= 25
    assert brier >= 22


def test_nothing_is_missed_where_recalibrations_follow() -> None:
    rng = np.random.default_rng(6)
    p = rng.uniform(0.02, 0.98, 2000)
    y = (rng.random(2000) < p).astype(int)
    found = propercal.decompose(y, p)
    assert found.missed == 0.0
    assert found.misfit_pvalue is not None
    assert found.misfit_pvalue > LEVEL
    sketch = propercal.CalibrationSketch(2)
    sketch.update(y, p)
    assert sketch.result().missed == 0.0
    assert propercal.decompose(y, p, method="risk", bandwidth=0.1).missed is None


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "n"), [(20, 2000), (50, 3000)])
def test_a_hierarchy_that_is_missed_is_noticed(n_classes: int, n: int) -> None:
    """Of so many classes that not all pairs are fitted, or looked at, their functions show what they leave."""
    model = MiscalibratedSimplex(n_classes, "hierarchy", 2.5)
    y, p, _ = model.sample(n, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = propercal.decompose(y, p, generator="brier", labels=range(n_classes))
    assert found.misfit_pvalue is not None
    assert found.misfit_pvalue < LEVEL


def test_competing_classes_do_not_depend_on_the_order_of_the_classes() -> None:
    rng = np.random.default_rng(9)
    k, n = 45, 60
    p, y = rng.dirichlet([0.2] * k, n), rng.integers(0, k, n)
    order = rng.permutation(k)

    def functions(p: Any, y: Any) -> Any:
        points = interior(np.log(p))
        seen = TrainingSets(points, np.eye(k)[y][None], True)
        terms: Any = directions_for(k)[-1](seen)(points)
        return terms.values

    found, turned = functions(p, y), functions(p[:, order], np.argsort(order)[y])
    assert found.shape == (k, 640 // k, n)
    np.testing.assert_allclose(np.sort(turned, axis=1), np.sort(found[order], axis=1), rtol=1e-12)
