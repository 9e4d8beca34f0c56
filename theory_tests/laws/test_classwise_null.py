"""Class-wise calibration that is not canonical: the null of one class is exact, that of all together nearly kept.

Rotation: r_i = g_i + c (g_{i+1} − g_{i+2}) with c = 10 g_0 g_1 g_2, on an exchangeable law of g. Swapping the two other classes
leaves g_i and changes the sign of what is added, so E[Y_i | g_i] = g_i. Proofs: book/derivations/test.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from propercal.inference import calibration_test
from theory_tests.instances import labels_of

FALSE_ALARM = 1e-6


def rotated(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    g = rng.dirichlet([1.0] * 3, n)
    added = 10 * g.prod(axis=1, keepdims=True) * (np.roll(g, -1, axis=1) - np.roll(g, -2, axis=1))
    return labels_of(g + added, rng), g


def p_values(n_samples: int, n: int, test: Any) -> Any:
    rng = np.random.default_rng(1)
    return np.array([test(*rotated(n, rng), rng) for _ in range(n_samples)])


def of_all(y: Any, g: Any, rng: np.random.Generator) -> float:
    return calibration_test(y, g, notion="classwise", n_resamples=19, random_state=rng).pvalue


def of_one(y: Any, g: Any, rng: np.random.Generator) -> float:
    return calibration_test(y == 1, g[:, 1], n_resamples=19, random_state=rng).pvalue


def of_each(y: Any, g: Any, rng: np.random.Generator) -> float:
    found = [calibration_test(y == i, g[:, i], n_resamples=59, random_state=rng).pvalue for i in range(3)]
    return min(1.0, 3 * min(found))


def test_the_canonical_test_sees_it() -> None:
    y, g = rotated(1000, np.random.default_rng(0))
    assert calibration_test(y, g, n_resamples=99, random_state=0).pvalue == 0.01


@pytest.mark.parametrize("level", [0.05, 0.25, 0.5])
def test_the_test_of_one_class_is_exact_if_that_class_is_calibrated(level: float) -> None:
    found = np.count_nonzero(p_values(150, 200, of_one) <= level + 1e-9)
    low, high = (binom.ppf(q, 150, level) for q in (FALSE_ALARM / 2, 1 - FALSE_ALARM / 2))
    assert low <= found <= high


def test_the_least_of_them_times_their_number_is_a_p_value() -> None:
    assert np.count_nonzero(p_values(100, 200, of_each) <= 0.05 + 1e-9) <= binom.isf(FALSE_ALARM, 100, 0.05)


@pytest.mark.slow
def test_the_level_is_kept_where_each_class_is_calibrated_but_not_all_together() -> None:
    """By symmetry classes depend on each other as if labels were drawn, on average: for a swap of i and j changes the sign
    of (r_i − g_i) g_j + g_i (r_j − g_j)."""
    found = p_values(200, 1000, of_all)
    assert np.count_nonzero(found <= 0.05 + 1e-9) <= binom.isf(FALSE_ALARM, 200, 0.05)


def test_a_class_that_is_not_calibrated_is_seen() -> None:
    rng = np.random.default_rng(2)
    y, g = rotated(1000, rng)
    y = np.where((y == 0) & (rng.random(len(y)) < 0.5), 1, y)
    assert calibration_test(y, g, notion="classwise", n_resamples=99, random_state=0).pvalue == 0.01


def test_the_top_label_test_is_exact_for_its_own_null() -> None:
    """The first choice is right as often as it says, while the others are never right but for the last of them."""
    rng, found = np.random.default_rng(3), []
    for _ in range(150):
        g = rng.dirichlet([1.0] * 4, 100)
        top, last = g.argmax(axis=1), g.argmin(axis=1)
        y = np.where(rng.random(100) < g.max(axis=1), top, last)
        found.append(calibration_test(y, g, notion="top-label", n_resamples=19, random_state=rng).pvalue)
    for level in (0.05, 0.25, 0.5):
        low, high = (binom.ppf(q, 150, level) for q in (FALSE_ALARM / 2, 1 - FALSE_ALARM / 2))
        assert low <= np.count_nonzero(np.array(found) <= level + 1e-9) <= high
