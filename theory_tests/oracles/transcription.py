"""A plain O(n²) transcription of the paper's formulas.

Nothing here is shared with the package: the losses and divergences are written out by hand for each
generator, the Dirichlet kernel is Appendix D.1, the estimators are Equations 7 and 13 of
"Consistent and asymptotically unbiased estimation of proper calibration errors", and class-wise is its
Appendix C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, xlogy

from propercal import Decomposition, generators
from theory_tests.instances import TERMS, Floats

# gammaln(1/γ) is about 1e5 at γ = 1e-4, so a log weight carries a rounding error near 1e-11 whichever
# way it is summed, and r̂ the same relative error; 1e-8 leaves room for the sums and the division.
RTOL, ATOL = 1e-8, 1e-9
# A probability of 0 in floating point may stand for anything below the smallest positive double.
SMALLEST_LOG = math.log(5e-324)


# ---------------------------------------------------------------- generators, written out
@dataclass(frozen=True)
class Plain:
    """F, D_F and L_F in the form a textbook prints them."""

    name: str
    make: Callable[[int], Any]
    F: Callable[[Floats], Floats]
    D: Callable[[Floats, Floats], Floats]
    L: Callable[[Floats, Floats], Floats]

    def __repr__(self) -> str:
        return self.name


def kl(p: Floats, q: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(p > 0, p * (np.log(p) - np.log(q)), 0.0)
    return np.asarray(ratio.sum(-1))


def log_loss(q: Floats, y: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log((q * y).sum(-1)))


def norm(p: Floats) -> Floats:
    return np.asarray(np.sqrt((p * p).sum(-1)))


ALPHA = 1.5


def tsallis(p: Floats) -> Floats:
    return np.asarray(((p**ALPHA).sum(-1) - 1) / (ALPHA - 1))


def tsallis_slope(q: Floats, v: Floats) -> Floats:
    return np.asarray(ALPHA / (ALPHA - 1) * (q ** (ALPHA - 1) * v).sum(-1))


def matrix(k: int) -> Floats:
    """A symmetric positive definite matrix that treats no two classes alike."""
    return np.diag(np.arange(1.0, k + 1)) + 0.3


def quadratic(p: Floats) -> Floats:
    A = matrix(p.shape[-1])
    return np.asarray(np.einsum("...i,ij,...j->...", p, A, p) - p @ np.diag(A))


def quadratic_divergence(p: Floats, q: Floats) -> Floats:
    return np.asarray(np.einsum("...i,ij,...j->...", p - q, matrix(p.shape[-1]), p - q))


LOG = Plain("log", lambda k: generators.Log(), lambda p: xlogy(p, p).sum(-1), kl, log_loss)
BRIER = Plain(
    "brier",
    lambda k: generators.Brier(),
    lambda p: (p * p).sum(-1) - 1,
    lambda p, q: ((p - q) ** 2).sum(-1),
    lambda q, y: ((q - y) ** 2).sum(-1),
)
SPHERICAL = Plain(
    "spherical",
    lambda k: generators.Spherical(),
    lambda p: norm(p) - 1,
    lambda p, q: norm(p) - (p * q).sum(-1) / norm(q),
    lambda q, y: 1 - (q * y).sum(-1) / norm(q),
)
TSALLIS = Plain(
    "tsallis",
    lambda k: generators.Tsallis(alpha=ALPHA),
    tsallis,
    lambda p, q: tsallis(p) - tsallis(q) - tsallis_slope(q, p - q),
    lambda q, y: -tsallis(q) - tsallis_slope(q, y - q),
)
QUADRATIC = Plain(
    "quadratic",
    lambda k: generators.Quadratic(matrix(k)),
    quadratic,
    quadratic_divergence,
    lambda q, y: quadratic_divergence(y, q),
)
SUM = Plain(
    "2 log + brier",
    lambda k: 2.0 * generators.Log() + generators.Brier(),
    lambda p: 2 * LOG.F(p) + BRIER.F(p),
    lambda p, q: 2 * LOG.D(p, q) + BRIER.D(p, q),
    lambda q, y: 2 * LOG.L(q, y) + BRIER.L(q, y),
)
ITAKURA_SAITO = Plain(
    "itakura-saito",
    lambda k: generators.ItakuraSaito(),
    lambda p: -np.log(p).sum(-1),
    lambda p, q: (p / q - np.log(p / q) - 1).sum(-1),
    lambda q, y: np.log(q).sum(-1) + ((y - q) / q).sum(-1),
)
FINITE = (BRIER, SPHERICAL, TSALLIS, QUADRATIC)
INTERIOR = (*FINITE, LOG, SUM)


# ---------------------------------------------------------------- kernel and conditional mean
def log_kernel(target: Floats, source: Floats, bandwidth: float) -> Floats:
    """Appendix D.1, for every pair of a target row and a source row."""
    alpha = source / bandwidth + 1
    with np.errstate(divide="ignore"):
        log_target = np.maximum(np.log(target), SMALLEST_LOG)
    constant = gammaln(alpha.sum(-1)) - gammaln(alpha).sum(-1)
    powers = ((alpha[None, :, :] - 1) * log_target[:, None, :]).sum(-1)
    return np.asarray(constant[None, :] + powers)


def conditional_mean(p: Floats, Y: Floats, bandwidth: float, weights: Floats, *, exclude_self: bool = True) -> Floats:
    """Weighted form of the ratio in Equation 13, computed in log space."""
    log_w = log_kernel(p, p, bandwidth) + np.log(weights)[None, :]
    if exclude_self:
        np.fill_diagonal(log_w, -np.inf)
    return np.asarray(np.exp(log_w - logsumexp(log_w, axis=1, keepdims=True)) @ Y)


def one_problem(
    p: Floats, Y: Floats, plain: Plain, method: str, bandwidth: float, weights: Floats, *, exclude_self: bool
) -> dict[str, float]:
    r = conditional_mean(p, Y, bandwidth, weights, exclude_self=exclude_self)
    mean = weights / weights.sum()
    risk = float(mean @ plain.L(p, Y))
    if method == "direct":
        ce = float(mean @ plain.D(r, p))
        refinement = risk - ce
    else:
        refinement = float(-(mean @ plain.F(r)))
        ce = risk - refinement
    uncertainty = -float(plain.F(mean @ Y))
    return {
        "risk": risk, "calibration_error": ce, "refinement": refinement, "sharpness": uncertainty - refinement,
        "uncertainty": uncertainty,
    }


def problems(p: Floats, y: NDArray[np.int64], notion: str) -> Iterator[tuple[Floats, Floats]]:
    """Yield the simpler problems whose mean the notion is.

    The probability of all other classes is their sum: near 1, 1 − p has lost the digits that its
    logarithm needs.
    """
    k = p.shape[1]
    if notion == "canonical":
        yield p, np.eye(k)[y]
        return
    chosen = p.argmax(1)
    for column in range(k) if notion == "classwise" else [chosen]:
        own = np.arange(k) == np.reshape(column, (-1, 1))
        one, others = (p * own).sum(1), (p * ~own).sum(1)
        hit = (y == column).astype(float)
        yield np.stack([others, one], 1), np.stack([1 - hit, hit], 1)


def expected(
    p: Floats,
    y: NDArray[np.int64],
    plain: Plain,
    notion: str,
    method: str,
    bandwidth: float,
    weights: Floats | None = None,
    *,
    exclude_self: bool = True,
) -> dict[str, float]:
    w = np.ones(len(y)) if weights is None else weights
    parts = [
        one_problem(q, Y, plain, method, bandwidth, w, exclude_self=exclude_self) for q, Y in problems(p, y, notion)
    ]
    return {term: float(np.mean([part[term] for part in parts])) for term in TERMS}


def assert_agree(found: Decomposition, wanted: dict[str, float]) -> None:
    for term in TERMS:
        np.testing.assert_allclose(getattr(found, term), wanted[term], rtol=RTOL, atol=ATOL, err_msg=term)
