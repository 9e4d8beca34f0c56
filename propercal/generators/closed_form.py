"""The built-in generators: F, ∇F and ∇²F in closed form, right on the boundary of the simplex."""
# The base class documents the methods, and each class its formulas.
# ruff: noqa: D102

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from propercal._array import is_numpy, like, namespace, safe_log, sum_last, to_numpy, xlogx
from propercal._data.words.messages import bad_value
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.generators.order import named_matrix
from propercal.generators.registry import register


class _Separable(BregmanGenerator):
    """A sum over classes of one function of p_i, whose Hessian is diagonal."""

    _has_diagonal_hessian = True

    @abc.abstractmethod
    def hessian_diagonal(self, p: Array) -> Array: ...

    def hessian(self, p: Array) -> Array:
        return _diagonal(self.hessian_diagonal(p))

    def hessian_times(self, p: Array, v: Array) -> Array:
        xp = namespace(p, v)
        diagonal = self.hessian_diagonal(p)
        if is_numpy(diagonal) and np.isfinite(diagonal).all():
            return diagonal * v
        # An infinite curvature times no step is 0.
        return xp.where(v == 0, 0.0, diagonal) * v


@final
@register("log")
@dataclass(frozen=True)
class Log(_Separable):
    r"""Negative entropy, whose loss is the log loss in nats and whose divergence is that of KL.

    .. math::

        F(p) &= \sum_i p_i \log p_i, \\
        L_F(q, e_y) &= -\log q_y, \\
        D_F(p, q) &= \sum_i p_i \log (p_i / q_i)

    F vanishes at the vertices. The loss and the divergence are infinite where an outcome is
    possible under y or p but not under q. The second and third formula hold on the simplex; off it
    they gain Σ q − Σ y and Σ q − Σ p.

    Source: Good (1952), doi:10.1111/j.2517-6161.1952.tb00104.x.

    Examples
    --------
    >>> import numpy as np
    >>> print(Log().loss(np.asarray([0.5, 0.5]), np.asarray([1.0, 0.0])))
    0.6931471805599453

    The loss of saturated logits is exact:

    >>> log_q = np.asarray([0.0, -1000.0])
    >>> print(Log().loss(np.exp(log_q), np.asarray([0.0, 1.0]), log_q=log_q))
    1000.0
    """

    def value(self, p: Array) -> Array:
        return sum_last(xlogx(p))

    def gradient(self, p: Array) -> Array:
        return self.gradient_from_log(safe_log(p))

    def gradient_from_log(self, log_p: Array) -> Array:
        return log_p + 1

    def _on_faces(self, q: Array, p: Array) -> Array:
        if is_numpy(q) and q.all():
            return 0.0
        return sum_last(namespace(q).where((q == 0) & (p == 0), q, 0.0))

    def hessian_diagonal(self, p: Array) -> Array:
        return _power(p, -1)


@final
@register("brier")
@dataclass(frozen=True)
class Brier(_Separable):
    r"""Squared norm, whose loss is the Brier score summed over the classes.

    .. math::

        F(p) &= \|p\|^2 - 1, \\
        L_F(q, e_y) &= \|q - e_y\|^2, \\
        D_F(p, q) & = \|p - q\|^2

    F vanishes at the vertices. For two classes this is twice the squared error of q_1.

    Source: Brier (1950), doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2.

    Examples
    --------
    >>> import numpy as np
    >>> print(Brier().loss(np.asarray([0.5, 0.5]), np.asarray([1.0, 0.0])))
    0.5
    """

    def value(self, p: Array) -> Array:
        return sum_last(p * p) - 1

    def gradient(self, p: Array) -> Array:
        return 2 * p

    def hessian_diagonal(self, p: Array) -> Array:
        return namespace(p).full_like(p, 2.0)

    def _divergence(self, p: Array, q: Array, log_q: Array | None) -> Array:  # noqa: ARG002
        return sum_last((p - q) ** 2)


@final
@register("spherical")
@dataclass(frozen=True)
class Spherical(BregmanGenerator):
    r"""Norm, whose loss is the spherical score.

    .. math::

        F(p) &= \|p\| - 1, \\
        L_F(q, e_y) &= 1 - q_y / \|q\|, \\
        D_F(p, q) &= \|p\| - \langle p, q \rangle / \|q\|

    F vanishes at the vertices.

    Source: Gneiting and Raftery (2007), example 2, doi:10.1198/016214506000001437.

    Examples
    --------
    >>> import numpy as np
    >>> print(Spherical().loss(np.asarray([3 / 7, 4 / 7]), np.asarray([1.0, 0.0])).round(12))
    0.4
    """

    def value(self, p: Array) -> Array:
        return _norm(p)[..., 0] - 1

    def gradient(self, p: Array) -> Array:
        return p / _norm(p)

    def hessian(self, p: Array) -> Array:
        xp, u = namespace(p), self.gradient(p)
        return (_diagonal(xp.ones_like(p)) - u[..., None] * u[..., None, :]) / _norm(p)[..., None]

    def hessian_times(self, p: Array, v: Array) -> Array:
        xp, u = namespace(p, v), self.gradient(p)
        return (v - u * xp.sum(u * v, axis=-1, keepdims=True)) / _norm(p)

    def hessian_diagonal(self, p: Array) -> Array:
        return (1 - self.gradient(p) ** 2) / _norm(p)

    def _divergence(self, p: Array, q: Array, log_q: Array | None) -> Array:  # noqa: ARG002
        # With unit vectors u and v, ‖p‖ (1 − ⟨u, v⟩) = ‖p‖ ‖u − v‖² / 2 keeps its digits as p → q.
        difference = self.gradient(p) - self.gradient(q)
        return _norm(p)[..., 0] * namespace(p, q).sum(difference**2, axis=-1) / 2


@final
@dataclass(frozen=True)
class Tsallis(_Separable):
    r"""Negative Tsallis entropy: its loss is the Brier score for α = 2, the log loss for α → 1.

    .. math::

        F(p) &= \frac{\sum_i p_i^\alpha - 1}{\alpha - 1}, \\
        L_F(q, e_y) &= \sum_i q_i^\alpha - \frac{\alpha q_y^{\alpha - 1} - 1}{\alpha - 1}

    F vanishes at the vertices. The loss is infinite at q_y = 0 if α < 1, and finite otherwise.

    Parameters
    ----------
    alpha : float
        Positive and finite, other than 1.

    Raises
    ------
    ValueError
        If alpha is anything else.

    Notes
    -----
    Source: Tsallis (1988), doi:10.1007/BF01016429; the loss is the power score of Dawid and
    Musio (2014), doi:10.1007/s40300-014-0039-y. Near α = 1 digits are lost: about
    -log10 abs(α − 1) of them.

    Examples
    --------
    >>> import numpy as np
    >>> print(Tsallis(2).loss(np.asarray([0.5, 0.5]), np.asarray([1.0, 0.0])))
    0.5
    """

    alpha: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", float(self.alpha))
        if not 0 < self.alpha < math.inf:
            raise bad_value("alpha", self.alpha, "a positive finite number", "use one")
        if self.alpha == 1:
            raise bad_value("alpha", self.alpha, "a number other than 1", "use Log(), the limit")

    def value(self, p: Array) -> Array:
        return (sum_last(_power(p, self.alpha)) - 1) / (self.alpha - 1)

    def gradient(self, p: Array) -> Array:
        return self.alpha / (self.alpha - 1) * _power(p, self.alpha - 1)

    def gradient_from_log(self, log_p: Array) -> Array:
        xp = namespace(log_p)
        exponent = (self.alpha - 1) * log_p
        # Not exp alone: its derivative at an overflow is infinite, and 0 · ∞ would give NaN.
        overflow = exponent > math.log(xp.finfo(log_p.dtype).max)
        power = xp.where(overflow, xp.inf, xp.exp(xp.where(overflow, 0.0, exponent)))
        return self.alpha / (self.alpha - 1) * power

    def hessian_diagonal(self, p: Array) -> Array:
        return _power(p, self.alpha - 2, scale=self.alpha)


@final
@register("itakura-saito")
@dataclass(frozen=True)
class ItakuraSaito(_Separable):
    r"""Negative sum of logarithms, for relative errors of small probabilities.

    .. math::

        F(p) &= -\sum_i \log p_i, \\
        L_F(q, e_y) &= \frac{1}{q_y} + \sum_i \log q_i - k, \\
        D_F(p, q) &= \sum_i \left(\frac{p_i}{q_i} - \log \frac{p_i}{q_i} - 1\right)

    F is infinite on the boundary. There the loss is +inf if q_y = 0 and −inf if only another q_i
    is 0; the divergence is infinite unless p and q vanish in the same places, which then count 0.

    Source: Itakura and Saito (1968); Banerjee et al. (2005), jmlr.org/papers/v6/banerjee05b.html.

    Examples
    --------
    >>> import numpy as np
    >>> print(ItakuraSaito().divergence(np.asarray([0.5, 0.5]), np.asarray([0.25, 0.75])).round(4))
    0.379
    """

    def value(self, p: Array) -> Array:
        return -sum_last(safe_log(p))

    def gradient(self, p: Array) -> Array:
        return -_power(p, -1)

    def hessian_diagonal(self, p: Array) -> Array:
        return _power(p, -2)

    def _divergence(self, p: Array, q: Array, log_q: Array | None) -> Array:  # noqa: ARG002
        xp = namespace(p, q)
        both_zero = (p == 0) & (q == 0)
        ratio = xp.where(both_zero, 1.0, p) / xp.where(q == 0, 1.0, q)
        infinite = ((p > 0) & (q == 0)) | xp.isinf(ratio)
        ratio = xp.where(infinite, 1.0, ratio)
        terms = xp.where(infinite, xp.inf, ratio - 1 - safe_log(ratio))
        return sum_last(terms)


@final
@dataclass(frozen=True, init=False)
class Quadratic(BregmanGenerator):
    r"""Quadratic form, whose loss weighs the squared error by a matrix.

    .. math::

        F(p) &= p^\top A p - \mathrm{diag}(A)^\top p, \\
        L_F(q, e_y) &= (q - e_y)^\top A (q - e_y), \\
        D_F(p, q) &= (p - q)^\top A (p - q)

    F vanishes at the vertices. The identity gives the Brier score, and A_ij = k − max(i, j) the
    ranked probability score of ordered classes 1..k.

    Parameters
    ----------
    matrix : array of float, shape (k, k)
        Symmetric, and positive semi-definite on the vectors that sum to 0. A table, or a labelled
        array, may name the classes: predictions then have to be in this order. Without names it is
        of the columns as they stand, or as labels are sorted if these have no names, and refused
        beside columns of words in another order that nobody says.

    Raises
    ------
    ValueError
        If the matrix is not so, or points do not have k classes.

    Notes
    -----
    Source: Gneiting and Raftery (2007), section 4.1, doi:10.1198/016214506000001437.

    Examples
    --------
    >>> import numpy as np
    >>> ranked = Quadratic([[2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    >>> print(ranked.loss(np.asarray([0.5, 0.25, 0.25]), np.asarray([0.0, 0.0, 1.0])))
    0.8125
    """

    matrix: tuple[tuple[float, ...], ...]

    def __init__(self, matrix: Any) -> None:
        matrix, names = named_matrix(matrix)
        given = np.asarray(to_numpy(matrix))
        if any(isinstance(each, complex) for each in given.ravel().tolist()):
            raise bad_value(
                "matrix", "an array of complex numbers", "real numbers", "pass its real part"
            )
        array = np.array(given, dtype=np.float64)
        _check_quadratic(array)
        object.__setattr__(self, "of_classes", names)
        object.__setattr__(self, "matrix", tuple(map(tuple, array.tolist())))
        object.__setattr__(self, "_array", array)

    def value(self, p: Array) -> Array:
        a, diagonal = self._parts(p)
        return namespace(p).sum((p @ a - diagonal) * p, axis=-1)

    def gradient(self, p: Array) -> Array:
        a, diagonal = self._parts(p)
        return 2 * (p @ a) - diagonal

    def hessian(self, p: Array) -> Array:
        a, _ = self._parts(p)
        return namespace(p).broadcast_to(2 * a, (*p.shape, p.shape[-1]))

    def _divergence(self, p: Array, q: Array, log_q: Array | None) -> Array:  # noqa: ARG002
        a, _ = self._parts(p - q)
        return namespace(p, q).sum(((p - q) @ a) * (p - q), axis=-1)

    def _parts(self, p: Array) -> tuple[Array, Array]:
        if p.shape[-1] != len(self.matrix):
            raise bad_value(
                "p",
                f"an array with {p.shape[-1]} classes",
                f"{len(self.matrix)} classes, as many as the matrix has rows",
                "use a matrix of that size",
            )
        array: np.ndarray[Any, Any] = vars(self)["_array"]
        return like(array, p, p.dtype), like(np.diag(array).copy(), p, p.dtype)


def _check_quadratic(a: np.ndarray[Any, Any]) -> None:
    if a.ndim != 2 or a.shape[0] != a.shape[1] or len(a) < 2:
        raise bad_value(
            "matrix",
            f"an array of shape {a.shape}",
            "shape (k, k) with k of 2 or more",
            "reshape it",
        )
    if not np.isfinite(a).all():
        raise bad_value("matrix", "an array with NaN or inf", "finite numbers", "remove them")
    if (a != a.T).any():
        raise bad_value(
            "matrix",
            f"an array that differs from its transpose by up to {np.abs(a - a.T).max():.3g}",
            "a symmetric matrix",
            "pass (A + A.T) / 2, which has the same quadratic form",
        )
    centered = a - a.mean(axis=0) - a.mean(axis=1)[:, None] + a.mean()
    smallest = np.linalg.eigvalsh(centered)[0]
    if smallest < -1e-12 * np.abs(a).max():
        raise bad_value(
            "matrix",
            f"an array with curvature {smallest:.3g} along the simplex",
            "a positive semi-definite form on vectors that sum to 0",
            "change its sign or add a multiple of the identity",
        )


def _norm(p: Array) -> Array:
    xp = namespace(p)
    return xp.sqrt(sum_last(p * p)[..., None])


def _power(p: Array, exponent: float, *, scale: float = 1.0) -> Array:
    """Return scale * p**exponent, with its limit (and, for torch, a finite derivative) at p = 0."""
    # Below the normal range a negative power overflows to the infinity that it is at 0.
    with np.errstate(over="ignore"):
        if exponent == 0 or exponent >= 1:
            return scale * p**exponent
        xp = namespace(p)
        if is_numpy(p) and p.all():
            return scale * p**exponent
        power = scale * xp.where(p == 0, 1.0, p) ** exponent
        return xp.where(p == 0, 0.0 if exponent > 0 else xp.inf, power)


def _diagonal(entries: Array) -> Array:
    """Put the last axis on the diagonal of a matrix; its zeros stay 0 beside infinite entries."""
    xp = namespace(entries)
    index = like(np.arange(entries.shape[-1]), entries)
    return xp.where(index[:, None] == index, entries[..., None], 0.0)
