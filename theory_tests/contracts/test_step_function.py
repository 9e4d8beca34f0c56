"""Isotonic regression without scikit-learn gives the digits that scikit-learn gives."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from propercal.recalibration import ClasswiseIsotonic, IsotonicFunction

isotonic = pytest.importorskip("sklearn.isotonic")

RNG = np.random.default_rng(0)
P = RNG.random(400)
TINY = 10.0 ** RNG.uniform(-18, -14, 400)
CASES: dict[str, tuple[Any, Any]] = {
    "distinct": (P, np.ones(400)),
    "ties": (P.round(1), np.ones(400)),
    "weights": (P, RNG.exponential(size=400)),
    "ties and weights": (P.round(2), RNG.integers(1, 4, 400)),
    "rounding": (P.round(2) + RNG.integers(-3, 4, 400) * 1e-16, np.ones(400)),
    "steps near to each other": (0.5 + np.arange(400) * 4e-16, np.ones(400)),
    "tiny": (TINY, np.ones(400)),
    "tiny and not": (np.where(P < 0.5, TINY, P), RNG.exponential(size=400)),
    "one value": (np.full(400, 0.3), RNG.exponential(size=400)),
    "two values": (P.round(0), np.ones(400)),
    "light and heavy": (P, 10.0 ** RNG.uniform(-200, 0, 400)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("target", ["often", "rarely", "never", "always"])
def test_values_are_those_of_scikit_learn(case: str, target: str) -> None:
    x, weight = CASES[case]
    share = {"often": x, "rarely": 0.05 * np.ones(400), "never": np.zeros(400), "always": np.ones(400)}[target]
    y = (np.random.default_rng(1).random(400) < share).astype(float)
    theirs = isotonic.IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(x, y, sample_weight=weight)
    ours = IsotonicFunction.fitted(x, y, np.asarray(weight, dtype=float))
    np.testing.assert_allclose(ours.X_thresholds_, theirs.X_thresholds_, rtol=1e-15)
    np.testing.assert_allclose(ours.y_thresholds_, theirs.y_thresholds_, rtol=1e-13, atol=1e-15)
    new = np.concatenate([[-1.0, 0.0, 1.0, 2.0], x, np.linspace(0, 1, 101)])
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-12, atol=1e-15)


def test_a_class_by_itself_is_fitted_as_scikit_learn_does() -> None:
    p = np.random.default_rng(2).dirichlet([0.5, 0.5, 0.5], 500)
    y = np.array([np.random.default_rng(i).choice(3, p=row) for i, row in enumerate(p)])
    weight = np.random.default_rng(3).integers(1, 5, 500)
    fitted = ClasswiseIsotonic().fit(p, y, weight)
    parts = np.stack([
        isotonic.IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(p[:, i], y == i, sample_weight=weight).predict(p[:, i])
        for i in range(3)
    ], axis=1)
    np.testing.assert_allclose(fitted.predict_proba(p), parts / parts.sum(axis=1, keepdims=True), rtol=1e-12)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    np.testing.assert_array_equal(again.predict_proba(p), fitted.predict_proba(p))


def test_columns_are_taken_as_vectors() -> None:
    function = IsotonicFunction(np.array([0.2, 0.6]), np.array([0.0, 1.0]))
    assert function.predict([[0.3], [0.4]]).tolist() == pytest.approx([0.25, 0.5])
