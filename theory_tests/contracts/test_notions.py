"""A notion is nothing but a reduction: build the reduced problem by hand and get the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import propercal
from theory_tests import instances
from theory_tests.instances import NAMED, PLAIN_METHODS, Floats, Labels, calibrated

KERNELS = {**instances.KERNELS, "quantile-bins": 0.25}
# Only the order of summation and the rounding of 1 − p differ between the two sides.
RTOL, ATOL = 1e-11, 1e-13


def sample(k: int = 4) -> tuple[Labels, Floats]:
    return calibrated(80, k, 30)


def terms(y: Any, p: Any, kernel: str = "dirichlet", **more: Any) -> Floats:
    return instances.terms(y, p, **{"kernel": kernel, "bandwidth": KERNELS[kernel], **more})


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", PLAIN_METHODS)
@pytest.mark.parametrize("generator", NAMED)
def test_classwise_is_the_mean_of_one_against_the_rest(generator: str, method: str, kernel: str) -> None:
    y, p = sample()
    w = np.random.default_rng(1).uniform(0.5, 2, len(y))
    args: dict[str, Any] = {"generator": generator, "method": method, "kernel": kernel, "sample_weight": w}
    each = [terms(y == i, p[:, i], notion="canonical", **args) for i in range(4)]
    found = terms(y, p, notion="classwise", **args)
    np.testing.assert_allclose(found, np.mean(each, axis=0), rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", PLAIN_METHODS)
@pytest.mark.parametrize("generator", NAMED)
def test_top_label_is_the_problem_of_being_right(generator: str, method: str, kernel: str) -> None:
    y, p = sample()
    args: dict[str, Any] = {"generator": generator, "method": method, "kernel": kernel}
    found = terms(y, p, notion="top-label", **args)
    wanted = terms(p.argmax(1) == y, p.max(1), notion="canonical", **args)
    np.testing.assert_allclose(found, wanted, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", PLAIN_METHODS)
@pytest.mark.parametrize("generator", NAMED)
def test_two_classes_canonical_equals_classwise(generator: str, method: str, kernel: str) -> None:
    """The pair of class 0 is that of class 1 in reverse, and these generators are symmetric."""
    y, p = sample(k=2)
    args: dict[str, Any] = {"generator": generator, "method": method, "kernel": kernel}
    np.testing.assert_allclose(
        terms(y, p, notion="classwise", **args), terms(y, p, notion="canonical", **args), rtol=RTOL, atol=ATOL
    )


def test_the_notions_differ_where_they_should() -> None:
    y, p = sample()
    values = {notion: terms(y, p, notion=notion)[1] for notion in ("canonical", "classwise", "top-label")}
    assert len({round(value, 4) for value in values.values()}) == 3


@pytest.mark.parametrize("method", PLAIN_METHODS)
@pytest.mark.parametrize("generator", NAMED)
def test_multilabel_columns_are_problems_of_their_own(generator: str, method: str) -> None:
    """Rows need not sum to 1, neither those of y_true nor those of y_proba."""
    rng = np.random.default_rng(31)
    p = rng.uniform(size=(80, 3))
    y = (rng.uniform(size=(80, 3)) < p).astype(int)
    args: dict[str, Any] = {"generator": generator, "method": method}
    each = [terms(y[:, i], p[:, i], notion="canonical", **args) for i in range(3)]
    found = terms(y, p, notion="classwise", **args)
    np.testing.assert_allclose(found, np.mean(each, axis=0), rtol=RTOL, atol=ATOL)


def test_multilabel_with_saturated_columns() -> None:
    """All columns near 1 at once: 1 − p is that of the column, not the sum of the others."""
    rng = np.random.default_rng(32)
    p = rng.uniform(0.9, 1.0, size=(60, 3))
    y = (rng.uniform(size=(60, 3)) < p).astype(int)
    each = [terms(y[:, i], p[:, i], notion="canonical") for i in range(3)]
    found = terms(y, p, notion="classwise")
    np.testing.assert_allclose(found, np.mean(each, axis=0), rtol=RTOL, atol=ATOL)


def test_one_hot_labels_with_rows_that_do_not_sum_to_one() -> None:
    """An indicator matrix announces separate problems even if each row marks one class."""
    y, p = sample(k=3)
    p = p * 0.6
    one_hot = np.eye(3, dtype=int)[y]
    each = [terms(one_hot[:, i], p[:, i], notion="canonical") for i in range(3)]
    found = terms(one_hot, p, notion="classwise")
    np.testing.assert_allclose(found, np.mean(each, axis=0), rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize(("generator", "factor"), [("log", 1.0), ("brier", 2.0)])
def test_risk_is_the_familiar_loss(generator: str, factor: float) -> None:
    """Log loss in nats; Brier summed over both components of a pair, twice the binary (p − y)²."""
    y, p = sample()
    Y = np.eye(4)[y]
    top, right = p.max(1), p.argmax(1) == y
    if generator == "log":
        canonical = -np.log((p * Y).sum(1)).mean()
        classwise = -np.log(np.where(Y == 1, p, 1 - p)).mean()
        top_label = -np.log(np.where(right, top, 1 - top)).mean()
    else:
        canonical = ((p - Y) ** 2).sum(1).mean()
        classwise = factor * ((p - Y) ** 2).mean()
        top_label = factor * ((top - right) ** 2).mean()
    wanted = {"canonical": canonical, "classwise": classwise, "top-label": top_label}
    for notion, value in wanted.items():
        found = terms(y, p, generator=generator, notion=notion)[0]
        assert found == pytest.approx(value, rel=1e-13)


def test_conditional_means_are_events() -> None:
    """What `conditional_mean` gives for a notion is P(event | score), row by row."""
    y, p = sample()
    args: dict[str, Any] = {"kernel": "dirichlet", "bandwidth": 0.05}
    columns = propercal.conditional_mean(y, p, notion="classwise", **args)
    assert columns.shape == p.shape
    for i in range(4):
        one = propercal.conditional_mean(y == i, p[:, i], notion="canonical", **args)
        np.testing.assert_allclose(columns[:, i], one[:, 1], rtol=RTOL, atol=ATOL)
        np.testing.assert_allclose(one.sum(1), 1, rtol=1e-12)
    top = propercal.conditional_mean(y, p, notion="top-label", **args)
    assert top.shape == (80,)
    one = propercal.conditional_mean(p.argmax(1) == y, p.max(1), notion="canonical", **args)
    np.testing.assert_allclose(top, one[:, 1], rtol=RTOL, atol=ATOL)


def test_quadratic_generator_of_pairs_in_the_classwise_notion() -> None:
    """The notion hands every generator pairs (1 − p, p), in this order."""
    from propercal.generators import Quadratic

    y, p = sample()
    A = np.array([[1.0, 0.5], [0.5, 3.0]])
    # pᵀAp on pairs differs from a multiple of Brier by nothing but its factor: v = (−d, d).
    factor = (A[0, 0] - 2 * A[0, 1] + A[1, 1]) / 2
    found = terms(y, p, generator=Quadratic(A), notion="classwise")
    np.testing.assert_allclose(found, factor * terms(y, p, generator="brier", notion="classwise"), rtol=1e-12)
    with pytest.raises(ValueError, match=r"(?s)matrix|Quadratic"):
        terms(y, p, generator=Quadratic(np.eye(4)), notion="classwise")


@pytest.mark.filterwarnings("ignore:y_proba has rows that sum")
def test_two_classes_above_one_half_have_complements_of_their_own() -> None:
    """Rows may miss a sum of 1 by rounding to two digits and more."""
    y, p = np.array([0, 1, 1, 0]), np.array([[0.54, 0.53, 0.01], [0.2, 0.7, 0.1], [0.51, 0.52, 0.0], [0.9, 0.1, 0.0]])
    by_hand = np.mean([terms(y == i, p[:, i])[0] for i in range(3)])
    assert terms(y, p, notion="classwise", labels=[0, 1, 2])[0] == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("notion", ["canonical", "top-label"])
def test_labels_of_several_classes_are_refused_with_the_notion_s_name(notion: str) -> None:
    y, p = np.array([[1, 1, 0], [0, 1, 0]] * 5), np.full((10, 3), 1 / 3)
    with pytest.raises(ValueError, match=f"one class per row for notion='{notion}'"):
        propercal.decompose(y, p, notion=notion, method="risk", bandwidth=0.1)
