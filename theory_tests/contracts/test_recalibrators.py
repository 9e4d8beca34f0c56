"""Recalibrators of a user's own, with `fit` and `predict_proba`, in place of the built-in families."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from propercal import decompose
from theory_tests.contracts.debiased_sample import BOUNDED, FAST, N, P, Recalibrator, Y, is_sound, leans_on_the_kernel

#: The recalibrators are toys, which do not follow the structure of the data; that has a warning of its own.

def test_copies_are_fitted_to_other_rows_whatever_their_labels() -> None:
    given, relabelled = Recalibrator(), Recalibrator()
    decompose(Y, P, recalibrator=given, kernel=None)
    decompose((Y + 1) % 3, P, recalibrator=relabelled, kernel=None)
    assert not hasattr(given, "fitted_to")
    # Several threads fit, in any order.
    fits, others = ({frozenset(map(tuple, copy.fitted_to[0])) for copy in each.calls} for each in (given, relabelled))
    assert fits == others
    assert len(given.calls) == len(fits)
    # Without each of 5 folds, and each of 10 pairs of them.
    assert sorted(map(len, fits)) == [3 * N // 5] * 10 + [4 * N // 5] * 5
    assert all(copy.fitted_to[2] is None for copy in given.calls)
    weighted = Recalibrator()
    weight = np.linspace(1, 2, N)
    decompose(Y, P, recalibrator=weighted, kernel=None, sample_weight=weight)
    of_row = {tuple(row): w for row, w in zip(P.round(9), weight, strict=True)}
    for copy in weighted.calls:
        X, _, used = copy.fitted_to
        ratio = used / [of_row[tuple(row)] for row in X.round(9)]
        np.testing.assert_allclose(ratio, ratio[0])


@leans_on_the_kernel
@pytest.mark.parametrize("several", [False, True])
def test_recalibrators_of_scikit_learn(several: bool) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    isotonic = pytest.importorskip("sklearn.isotonic")

    class Isotonic:
        """One isotonic regression a class, normalised, which gives exact zeros."""

        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Isotonic:
            self.maps = [
                isotonic.IsotonicRegression(out_of_bounds="clip").fit(X[:, i], y == i, sample_weight=sample_weight)
                for i in range(X.shape[1])
            ]
            return self

        def predict_proba(self, X: Any) -> Any:
            p = np.stack([m.predict(x) for m, x in zip(self.maps, X.T, strict=True)], axis=1)
            total = p.sum(axis=1, keepdims=True)
            return np.where(total > 0, p / np.where(total > 0, total, 1), 1 / X.shape[1])

    logistic = linear_model.LogisticRegression()
    recalibrator = [Isotonic(), logistic] if several else Isotonic()
    for notion in ("canonical", "top-label"):
        for found in decompose(Y, P, generator=BOUNDED, recalibrator=recalibrator, notion=notion, **FAST):
            assert is_sound(found)
    assert is_sound(decompose(Y, P, recalibrator=logistic, sample_weight=np.linspace(1, 2, N), kernel=None))


def test_a_class_that_a_recalibrator_was_not_fitted_to() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    y, p = np.where(np.arange(N) == 5, 2, np.minimum(Y, 1)), P
    brier, log = decompose(
        y, p, generator=["brier", "log"], recalibrator=linear_model.LogisticRegression(), kernel=None
    )
    assert is_sound(brier)
    # It gives that class probability 0, which counts as about 1e-45: one row in 60 loses 104 nats.
    assert is_sound(log)
    assert 104 / N < log.refinement < 104 / N + 3
    with pytest.raises(ValueError, match=r"^recalibrator = LogisticRegression, whose fit failed.*leave it out"):
        decompose(y, p, notion="classwise", recalibrator=linear_model.LogisticRegression(), kernel=None)


def test_a_recalibration_that_misses_the_structure_is_said_to_lean_on_the_kernel() -> None:
    p = np.linspace(0.05, 0.95, 300)
    y = np.random.default_rng(4).random(300) < np.where(p < 0.5, 0.9, 0.1)
    flat = Recalibrator(lambda X: np.full_like(X, 0.5))
    with pytest.warns(UserWarning, match=r"of the brier calibration error .* only the kernel sees"):
        found = decompose(y, p, pos_label=True, generator="brier", recalibrator=flat)
    assert found.kernel_share is not None
    assert found.kernel_share > 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # That such a recalibration leaves structure unexplained is said with a kernel and without.
        warnings.filterwarnings("ignore", "the recalibrations behind|.* tells nothing of")
        without = decompose(y, p, pos_label=True, generator="brier", recalibrator=flat, kernel=None)
    assert without.kernel_share == 0
    assert without.calibration_error < found.calibration_error
