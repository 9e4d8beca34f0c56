"""What `calibration_test` promises about its arguments, hard data, seeds and array libraries."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from propercal.generators import ItakuraSaito, Quadratic, Spherical
from propercal.inference import CalibrationTest, calibration_test, evaluation, label_sets
from theory_tests.instances import NOTIONS

RNG = np.random.default_rng(1)
N = 50
P = RNG.dirichlet([1.0] * 3, N)
Y = RNG.integers(0, 3, N)


def run(y: Any, p: Any, **options: Any) -> CalibrationTest:
    return calibration_test(y, p, **{"n_resamples": 19, "random_state": 0, **options})


def is_sound(found: CalibrationTest) -> bool:
    steps = found.pvalue * (found.n_resamples + 1)
    return (
        1 <= round(steps) <= found.n_resamples + 1
        and abs(steps - round(steps)) < 1e-9
        and all(math.isfinite(z) for z in found.components.values())
    )


# ------------------------------------------------------------------ arguments
@pytest.mark.parametrize("change", [
    {"n_resamples": 0},
    {"n_resamples": 9.5},
    {"n_resamples": True},
    {"n_resamples": "many"},
    {"notion": "class-wise"},
    {"generator": "logg"},
    {"random_state": -1},
    {"random_state": "seed"},
    {"random_state": 1.5},
    {"sample_weight": np.ones(N - 1)},
    {"labels": [0, 1]},
    {"from_logits": "no"},
])
def test_bad_arguments_are_named(change: dict[str, Any]) -> None:
    (name,) = change
    with pytest.raises(ValueError, match=rf"^{name} = "):
        run(Y, P, **change)


def test_bad_data_are_named() -> None:
    with pytest.raises(ValueError, match=r"^y_true = "):
        run(Y[1:], P)
    with pytest.raises(ValueError, match=r"^y_proba = "):
        run(Y, 2 * P)
    with pytest.raises(ValueError, match=r"^y_true = .*indicator"):
        run(np.ones((N, 3), dtype=int), P)


def test_a_generator_without_a_finite_hessian_is_named() -> None:
    class Odd(Spherical):  # type: ignore[misc]  # final for users
        def hessian_diagonal(self, p: Any) -> Any:
            return np.full_like(p, np.nan)

    with pytest.raises(ValueError, match="check_generator"):
        run(Y, P, generator=Odd())


# ------------------------------------------------------------------ results
def test_the_result_is_readable_and_frozen() -> None:
    found = run(Y, P, notion="classwise", generator="brier")
    assert (found.n_samples, found.n_classes, found.n_resamples) == (N, 3, 19)
    assert (found.notion, found.generator.name) == ("classwise", "brier")
    text = str(found)
    for words in ("classwise calibration", "brier loss", f"p-value {found.pvalue:.4g}", *found.components):
        assert words in text
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.pvalue = 0.0  # type: ignore[misc]


@pytest.mark.parametrize("notion", NOTIONS)
def test_seeds(notion: str) -> None:
    def components(seed: Any) -> Any:
        return dict(run(Y, P, notion=notion, random_state=seed).components)

    expected = components(3)
    assert components(3) == components(np.int64(3)) == expected
    assert components(np.random.default_rng(3)) == components(np.random.SeedSequence(3)) == expected
    assert components(4) != expected
    assert components(None) != components(None)
    generator = np.random.default_rng(3)
    assert components(generator) != components(generator)


def test_the_global_seed_is_left_alone() -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    run(Y, P)
    assert (np.random.get_state()[1] == before).all()  # type: ignore[index]  # noqa: NPY002


def test_tensors_that_require_a_gradient() -> None:
    torch = pytest.importorskip("torch")
    found = run(Y, torch.tensor(P, requires_grad=True))
    assert found.components == pytest.approx(run(Y, P).components, rel=1e-8, abs=1e-8)
    assert type(found.pvalue) is type(found.statistic) is float


def test_one_column_is_the_positive_class() -> None:
    y, q = (Y == 0).astype(int), P[:, 0]
    expected = run(y, np.stack([1 - q, q], axis=1)).components
    assert run(y, q).components == pytest.approx(expected, rel=1e-8, abs=1e-8)
    assert run(y.astype(bool), q[:, None]).components == pytest.approx(expected, rel=1e-8, abs=1e-8)
    names = np.array(["no", "yes"])[y]
    assert run(names, q, labels=["no", "yes"]).components == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_callers_arrays_are_left_alone() -> None:
    y, p, weight = Y.copy(), P.copy(), np.arange(1.0, N + 1)
    for notion in NOTIONS:
        run(y, p, notion=notion, sample_weight=weight)
    assert (y == Y).all()
    assert (p == P).all()
    assert (weight == np.arange(1.0, N + 1)).all()


@pytest.mark.parametrize("sizes", [
    {"_BLOCK_SIZE": 3 * N, "_FEWEST": 1, "_MOST": 3},
    {"_FEWEST": 7, "_MOST": 7, "_TILE": 2 * N},
    {"_TILE": 5, "_SUMS": 1},
    {"_FEWEST": 1, "_MOST": 1, "_TILE": 1, "_SUMS": 2 * N},
])
def test_blocks_of_label_sets_change_nothing(monkeypatch: pytest.MonkeyPatch, sizes: dict[str, int]) -> None:
    for notion in NOTIONS:
        expected = run(Y, P, notion=notion).components
        with monkeypatch.context() as patch:
            for name, size in sizes.items():
                patch.setattr(evaluation, name, size)
            patch.setattr(label_sets, "_BLOCK_SIZE", 2 * N)
            found = run(Y, P, notion=notion).components
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "_MOST", 3)
    p = np.random.default_rng(2).dirichlet([1.0] * 30, N)
    for g, notion in ((P, "canonical"), (P, "classwise"), (P, "top-label"), (p, "canonical")):
        found = []
        for n_threads in ("1", "2", "3"):
            monkeypatch.setenv("PROPERCAL_NUM_THREADS", n_threads)
            found.append(run(Y, g, notion=notion, labels=list(range(g.shape[1]))).components)
        assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("generator", [ItakuraSaito(), Spherical(), Quadratic(np.diag([1.0, 2.0, 3.0]))])
def test_other_generators(generator: Any) -> None:
    assert is_sound(run(Y, P, generator=generator))


# ------------------------------------------------------------------ hard data
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("k", [2, 3, 23, 74, 100, 130, 257])
def test_any_number_of_classes(k: int, notion: str) -> None:
    if notion == "classwise" and k > 100:
        pytest.skip("as slow as many problems of two classes, and no different")
    p = RNG.dirichlet([1.0] * k, 30)
    y = (RNG.random(30)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(max=k - 1)
    found = run(y, p, notion=notion, n_resamples=5)
    assert is_sound(found)
    if notion == "canonical":
        assert ("mixture" in found.components) == (k <= 22)
        assert ("smooth" in found.components) == (k <= 73)
        assert ("vector" in found.components) == (k <= 256)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_samples(n: int, notion: str) -> None:
    assert is_sound(run(Y[:n], P[:n], notion=notion))


@pytest.mark.parametrize("notion", NOTIONS)
def test_absent_classes_a_single_class_and_duplicates(notion: str) -> None:
    assert is_sound(run(np.zeros(N, dtype=int), P, notion=notion))
    assert is_sound(run(np.minimum(Y, 1), P, notion=notion))
    assert is_sound(run(Y, np.repeat(P[:1], N, axis=0), notion=notion))
    assert is_sound(run(Y, np.full((N, 3), 1 / 3), notion=notion))


@pytest.mark.parametrize("notion", NOTIONS)
def test_zeros_that_do_not_occur(notion: str) -> None:
    p = np.where(P < 0.3, 0.0, P)
    p[p.sum(axis=1) == 0] = [1.0, 0.0, 0.0]
    p /= p.sum(axis=1, keepdims=True)
    y = p.argmax(axis=1)
    assert is_sound(run(y, p, notion=notion))


@pytest.mark.filterwarnings("ignore:y_proba is 1 for what occurred")
@pytest.mark.parametrize("notion", NOTIONS)
def test_certain_predictions_that_come_true_say_nothing(notion: str) -> None:
    found = run(Y, np.eye(3)[Y], notion=notion)
    assert (found.pvalue, found.statistic) == (1.0, 0.0)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.filterwarnings("ignore:y_proba is 0 or 1 in each of 50 rows")
def test_an_impossible_outcome_refutes_the_predictions(notion: str) -> None:
    p = np.eye(3)[Y]
    y = Y.copy()
    y[7] = (y[7] + 1) % 3
    with pytest.warns(UserWarning, match=r"probability 0, at row 7: .*p-value is the smallest"):
        found = run(y, p, notion=notion, n_resamples=99)
    assert (found.pvalue, found.statistic) == (0.01, np.inf)
    assert is_sound(found)


def test_impossible_outcomes_name_the_callers_rows() -> None:
    p, weight = np.eye(3)[Y], np.ones(N)
    weight[:3] = 0
    y = Y.copy()
    y[7] = (y[7] + 1) % 3
    with pytest.warns(UserWarning, match=r"at row 7: "):
        assert run(y, p, sample_weight=weight).pvalue == 0.05


def test_from_logits_nothing_is_impossible_but_much_is_improbable() -> None:
    """p underflows, log p does not: no warning, and the smallest p-value all the same."""
    logits = 1000.0 * np.eye(3)[Y]
    y = Y.copy()
    y[7] = (y[7] + 1) % 3
    found = run(y, logits, from_logits=True)
    assert found.pvalue == 0.05
    assert np.isfinite(found.statistic)


def test_multi_label() -> None:
    y = RNG.integers(0, 2, (N, 3))
    p = RNG.uniform(size=(N, 3))
    assert is_sound(run(y, p, notion="classwise"))
    with pytest.raises(ValueError, match='notion="classwise"'):
        run(y, p)


@pytest.mark.filterwarnings("ignore:y_proba has rows that sum")
def test_rows_that_nearly_sum_to_one() -> None:
    for notion in NOTIONS:
        assert is_sound(run(Y, 0.97 * P, notion=notion))


def test_callers_who_raise_on_floating_point_errors() -> None:
    p = np.where(P < 0.01, 0.0, P)
    y = p.argmax(axis=1)
    p /= p.sum(axis=1, keepdims=True)
    with np.errstate(all="raise"):
        for notion in NOTIONS:
            assert is_sound(run(y, p, notion=notion))


def test_components_are_not_bounded_by_the_number_of_resamples() -> None:
    """A single part that is far off stands out, whatever the number of draws."""
    y = np.random.default_rng(0).integers(0, 2, 2000)
    found = [calibration_test(y, np.full((2000, 2), [0.05, 0.95]), n_resamples=b, random_state=0).statistic for b in (99, 999)]
    assert found[0] == pytest.approx(found[1], rel=0.3)
    assert found[0] > 50
