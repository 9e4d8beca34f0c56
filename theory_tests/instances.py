"""The instances that tests run on: terms, notions, methods, kernels, generators, samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import propercal.result
from propercal.generators import (
    BregmanGenerator,
    Brier,
    ItakuraSaito,
    Log,
    Quadratic,
    RankedProbability,
    Spherical,
    Tsallis,
)
from propercal.recalibration import ClasswiseIsotonic

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

TERMS = propercal.result.TERMS
NOTIONS = ("canonical", "classwise", "top-label")
METHODS = ("debiased", "direct", "risk")
#: The methods of the paper, which take every kernel.
PLAIN_METHODS = ("direct", "risk")
#: Kernels, with a bandwidth at which samples of about a hundred rows leave no row alone.
KERNELS = {"dirichlet": 0.05, "uniform-bins": 0.5, "quantile-bins": 0.5}
BINS = ("uniform-bins", "quantile-bins")
CLASS_NAMES = np.array(["cat", "dog", "eel"])

#: Generators for any number of classes, by name.
GENERATORS: dict[str, BregmanGenerator] = {
    "log": Log(), "brier": Brier(), "spherical": Spherical(), "tsallis-0.5": Tsallis(0.5),
    "tsallis-1.5": Tsallis(1.5), "tsallis-1.7": Tsallis(1.7), "tsallis-2": Tsallis(2), "tsallis-3": Tsallis(3.0),
    "itakura-saito": ItakuraSaito(), "sum": 2.0 * Log() + Brier(), "log-spherical": Log() + 0.5 * Spherical(),
    "rps": RankedProbability(),
}
#: Matrices of quadratic generators, by what they are: on their simplex the ranked one is semi-definite.
MATRICES: dict[str, Any] = {
    "of two classes": [[2.0, 0.5], [0.5, 1.0]],
    "of three classes": [[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 3.0]],
    "ranked": [[2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]],
}


def generators(*names: str) -> list[BregmanGenerator]:
    """Generators of the table, and quadratic ones by the name of their matrix."""
    return [GENERATORS[name] if name in GENERATORS else Quadratic(MATRICES[name]) for name in names]


NAMED = ("log", "brier", "spherical")
SOME = generators("log", "brier", "spherical", "tsallis-1.5", "sum")


def labels_of(share: Any, rng: np.random.Generator) -> Labels:
    """Labels of the probabilities of each row."""
    above = rng.uniform(size=(len(share), 1)) > share.cumsum(axis=1)
    return np.asarray(above.sum(axis=1).clip(0, share.shape[1] - 1))


def calibrated(
    n: int, k: int = 3, seed: Any = 0, *, concentration: float = 1.0, power: float = 1.0
) -> tuple[Labels, Floats]:
    """Labels of Dirichlet predictions: calibrated, or too sure where these are raised to a power."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([concentration] * k, n)
    y = labels_of(p, rng)
    return y, p if power == 1 else p**power / (p**power).sum(axis=1, keepdims=True)


def unrelated(n: int, k: int = 3, seed: Any = 0, *, concentration: float = 1.0) -> tuple[Labels, Floats]:
    """Predictions that know nothing of the labels."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, k, n), rng.dirichlet([concentration] * k, n)


def two_models_by_class(n: int, rng: np.random.Generator) -> tuple[Labels, Floats, Floats, Labels]:
    """Sorted labels, predictions of two models that know nothing of them, and an order of rows within each class."""
    labels, first = unrelated(n)
    labels, second = np.sort(labels), first**2 / (first**2).sum(axis=1, keepdims=True)
    return labels, first, second, np.concatenate([rng.permutation(np.flatnonzero(i == labels)) for i in range(3)])


def softmax(z: Any) -> Floats:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def scored(n: int, k: int = 3, seed: Any = 50) -> tuple[Labels, Floats]:
    """A softmax of normal scores, and labels that know nothing of it."""
    rng = np.random.default_rng(seed)
    p = softmax(rng.normal(0, 1.5, (n, k)))
    return rng.integers(0, k, n), p


def values(found: Any) -> Floats:
    """The terms of a decomposition, in double precision."""
    return np.array([float(getattr(found, term)) for term in TERMS])


def terms(y: Any, p: Any, **options: Any) -> Floats:
    """The terms that `decompose` finds, by the method "risk" if no other is named."""
    return values(propercal.decompose(y, p, **{"method": "risk", "bandwidth": 0.05, **options}))


def same(a: Floats, b: Floats) -> None:
    """Compare the same sums in another memory layout or order: they differ by a few units in the last place."""
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def squares(p: Any) -> Any:
    """F(p) = ‖p‖² − 1 as a user may write it: as a function."""
    return (p**2).sum(-1) - 1


def written(name: str, base: type[BregmanGenerator] = BregmanGenerator, /, **methods: Callable[..., Any]) -> Any:
    """A generator of a class of this name, whose methods are these functions of the arrays alone."""
    return type(name, (base,), {each: staticmethod(method) for each, method in methods.items()})()


class NoGradient(BregmanGenerator):
    """The same, without a gradient."""

    def value(self, p: Any) -> Any:
        return squares(p)


class NoHessian(NoGradient):
    """The same, without a Hessian."""

    def gradient(self, p: Any) -> Any:
        return 2 * p


_RNG = np.random.default_rng(1)
#: Sixty rows for what once gave a wrong number, a crash or a misleading word.
P_HARD = _RNG.dirichlet([1.0] * 3, 60)
Y_HARD = _RNG.integers(0, 3, 60)


def by_risk(y: Any, p: Any, **options: Any) -> Any:
    """By the method "risk": for cases of the kernel sums and of what surrounds them."""
    return propercal.decompose(y, p, **{"method": "risk", **options})


def risk_of(y: Any, p: Any, **options: Any) -> float:
    return float(by_risk(y, p, **{"bandwidth": 0.05, **options}).risk)


class Weightless:
    """A recalibrator that takes no weights, and no estimator of scikit-learn, which copies none of these."""

    def fit(self, X: Any, y: Any) -> Weightless:
        self.fitted = ClasswiseIsotonic(smoothed=True).fit(X, y)
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.fitted.predict_proba(X)
