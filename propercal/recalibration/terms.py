"""Terms of multinomial logit models: what their coefficients multiply.

Classes come before points in every array, so that no sum runs along a short last axis.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from propercal._array import device, namespace
from propercal._typing import Array
from propercal.recalibration.points import Points

#: ∇²F, at each of n points, times vectors (m, k, n).
Bend = Callable[[Array], Array]


class Terms(Protocol):
    """Scores (b, k, n) that are linear in coefficients (b, d), for b sets of coefficients."""

    @property
    def n_terms(self) -> int:
        """Number of coefficients d."""

    def scores(self, coefficients: Array) -> Array:
        """(b, k, n) scores."""

    def products(self, residual: Array) -> Array:
        """(b, d) sums over points and classes of term × residual (b, k, n)."""

    def information(self, prob: Array, weight: Array) -> Array:
        """(b, d, d) sums over points, weighted (b, n), of the terms' covariances under `prob`."""

    def variances(self, prob: Array, weight: Array) -> Array:
        """(b, d) the diagonal of the information."""

    def curvature(self, prob: Array, weight: Array, bend: Bend) -> Array:
        """(d, d) sums over points, weighted (n,), of termᵀ J ∇²F J term, J of `prob` (k, n)."""

    def by_point(self, residual: Array) -> Array:
        """(d, n) sums over classes of term × residual (k, n)."""

    def rows(self, rows: slice | Array) -> Terms:
        """Return those of some of the points, by their numbers."""


def some_points(values: Array, rows: slice | Array) -> Array:
    """Return the values of some points, which are the last axis."""
    if isinstance(rows, slice):
        return values[..., rows]
    return namespace(values).take(values, rows, axis=values.ndim - 1)


class _AnyTerms(ABC):
    """Terms that are multiplied one by one where no shorter way is known."""

    @property
    @abstractmethod
    def n_terms(self) -> int:
        """Number of coefficients d."""

    @abstractmethod
    def scores(self, coefficients: Array) -> Array:
        """(b, k, n) as in :class:`Terms`."""

    def curvature(self, prob: Array, weight: Array, bend: Bend) -> Array:
        """(d, d) as in :class:`Terms`."""
        xp, d = namespace(prob), self.n_terms
        moved = _moved(prob, self.scores(xp.eye(d, dtype=prob.dtype, device=device(prob))))
        return xp.reshape(moved * weight, (d, -1)) @ xp.reshape(bend(moved), (d, -1)).T


def _moved(prob: Array, scores: Array) -> Array:
    """(m, k, n) by what small steps along scores (m, k, n) change probabilities (k, n)."""
    return prob * (scores - namespace(prob).sum(prob * scores, axis=1, keepdims=True))


class _FewTerms(_AnyTerms):
    """Terms whose information is small enough to be computed whenever its diagonal is asked for."""

    @abstractmethod
    def information(self, prob: Array, weight: Array) -> Array:
        """(b, d, d) as in :class:`Terms`."""

    def variances(self, prob: Array, weight: Array) -> Array:
        """(b, d) the diagonal of the information."""
        return diagonal_of(self.information(prob, weight))


@dataclass(frozen=True)
class SharedTerms(_FewTerms):
    """Terms (d, k, n) whose coefficients are the same for every class."""

    values: Array

    @property
    def n_terms(self) -> int:  # noqa: D102
        return int(self.values.shape[0])

    def rows(self, rows: slice | Array) -> SharedTerms:  # noqa: D102
        return SharedTerms(some_points(self.values, rows))

    def scores(self, coefficients: Array) -> Array:  # noqa: D102
        return namespace(self.values).tensordot(coefficients, self.values, axes=1)

    def products(self, residual: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        d = self.values.shape[0]
        return xp.reshape(residual, (residual.shape[0], -1)) @ xp.reshape(self.values, (d, -1)).T

    def by_point(self, residual: Array) -> Array:  # noqa: D102
        return namespace(residual).sum(self.values * residual, axis=1)

    def information(self, prob: Array, weight: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        d, b = self.values.shape[0], prob.shape[0]
        weighted = self.values[None, ...] * prob[:, None, ...]
        means = xp.sum(weighted, axis=2)
        flat = xp.reshape(weighted * weight[:, None, None, :], (b, d, -1))
        second = xp.matmul(flat, xp.reshape(self.values, (d, -1)).T)
        return second - xp.matmul(means * weight[:, None, :], xp.permute_dims(means, (0, 2, 1)))


@dataclass(frozen=True)
class ClassTerms:
    """Terms (k, s, n) with coefficients of their own for each class, k s in all."""

    values: Array

    @property
    def n_terms(self) -> int:  # noqa: D102
        return int(self.values.shape[0] * self.values.shape[1])

    def rows(self, rows: slice | Array) -> ClassTerms:  # noqa: D102
        return ClassTerms(some_points(self.values, rows))

    def scores(self, coefficients: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        k, s, _ = self.values.shape
        own = xp.permute_dims(xp.reshape(coefficients, (-1, k, s)), (1, 0, 2))
        return xp.permute_dims(xp.matmul(own, self.values), (1, 0, 2))

    def products(self, residual: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        by_class = xp.permute_dims(residual, (1, 0, 2))
        sums = xp.matmul(by_class, xp.permute_dims(self.values, (0, 2, 1)))
        return xp.reshape(xp.permute_dims(sums, (1, 0, 2)), (residual.shape[0], -1))

    def by_point(self, residual: Array) -> Array:  # noqa: D102
        return namespace(residual).reshape(self.values * residual[:, None, :], (self.n_terms, -1))

    def information(self, prob: Array, weight: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        k, s, n = self.values.shape
        b = prob.shape[0]
        weighted = self.values[None, ...] * prob[:, :, None, :]
        heavy = weighted * weight[:, None, None, :]
        blocks = xp.matmul(heavy, xp.permute_dims(self.values, (0, 2, 1)))
        eye = xp.eye(k, dtype=prob.dtype, device=device(prob))
        diagonal = eye[None, :, None, :, None] * blocks[:, :, :, None, :]
        flat = xp.permute_dims(xp.reshape(weighted, (b, k * s, n)), (0, 2, 1))
        return xp.reshape(diagonal, (b, k * s, k * s)) - xp.matmul(
            xp.reshape(heavy, (b, k * s, n)), flat
        )

    def curvature(self, prob: Array, weight: Array, bend: Bend) -> Array:  # noqa: D102
        xp = namespace(prob)
        k, s, n = self.values.shape
        # A term is a number times the unit vector of its class.
        eye = xp.eye(k, dtype=prob.dtype, device=device(prob))
        moved = _moved(prob, xp.broadcast_to(eye[:, :, None], (k, k, n)))
        left, right = xp.permute_dims(moved * weight, (2, 0, 1)), bend(moved)
        pairs = xp.permute_dims(xp.matmul(left, xp.permute_dims(right, (2, 1, 0))), (1, 2, 0))
        transposed = xp.permute_dims(self.values, (0, 2, 1))
        rows = []
        for i in range(k):
            blocks = xp.matmul(self.values[i, ...] * pairs[i, :, None, :], transposed)
            rows.append(xp.reshape(xp.permute_dims(blocks, (1, 0, 2)), (s, k * s)))
        return xp.concat(rows, axis=0)

    def variances(self, prob: Array, weight: Array) -> Array:  # noqa: D102
        xp = namespace(prob)
        heavy = xp.permute_dims(prob * (1 - prob) * weight[:, None, :], (1, 0, 2))
        squares = xp.permute_dims(self.values * self.values, (0, 2, 1))
        by_class = xp.permute_dims(xp.matmul(heavy, squares), (1, 0, 2))
        return xp.reshape(by_class, (prob.shape[0], -1))


@dataclass(frozen=True)
class GroupTerms(_AnyTerms):
    """Terms (s, k, n), the same for every class, with coefficients of their own for each group."""

    values: Array
    group: Array
    """(n, c) one-hot; the coefficients are ordered by group, then by term."""

    @property
    def n_terms(self) -> int:  # noqa: D102
        return int(self.values.shape[0] * self.group.shape[1])

    def rows(self, rows: slice | Array) -> GroupTerms:  # noqa: D102
        return GroupTerms(some_points(self.values, rows), some_points(self.group.T, rows).T)

    def scores(self, coefficients: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        b, s = coefficients.shape[0], self.values.shape[0]
        by_term = xp.permute_dims(xp.reshape(coefficients, (b, -1, s)), (0, 2, 1))
        own = xp.matmul(by_term, self.group.T)
        return sum(own[:, i, None, :] * self.values[i, ...] for i in range(s))

    def products(self, residual: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        sums = xp.sum(self.values[None, ...] * residual[:, None, ...], axis=2)
        by_group = xp.permute_dims(xp.matmul(sums, self.group), (0, 2, 1))
        return xp.reshape(by_group, (residual.shape[0], -1))

    def by_point(self, residual: Array) -> Array:  # noqa: D102
        xp = namespace(residual)
        sums = xp.sum(self.values * residual, axis=1)
        return xp.reshape(self.group.T[:, None, :] * sums, (self.n_terms, -1))

    def information(self, prob: Array, weight: Array) -> Array:  # noqa: D102
        xp = namespace(self.values)
        s, _, n = self.values.shape
        b, c = prob.shape[0], self.group.shape[1]
        weighted = self.values[None, ...] * prob[:, None, ...]
        means = xp.sum(weighted, axis=2)
        second = xp.stack(
            [xp.sum(weighted * self.values[i, ...], axis=2) for i in range(s)], axis=1
        )
        covariance = second - means[:, :, None, :] * means[:, None, :, :]
        covariance = xp.reshape(covariance * weight[:, None, None, :], (b, s * s, n))
        blocks = xp.permute_dims(xp.matmul(covariance, self.group), (0, 2, 1))
        blocks = xp.reshape(blocks, (b, c, 1, s, s))
        eye = xp.eye(c, dtype=prob.dtype, device=device(prob))
        diagonal = xp.permute_dims(eye[None, :, :, None, None] * blocks, (0, 1, 3, 2, 4))
        return xp.reshape(diagonal, (b, c * s, c * s))

    def variances(self, prob: Array, weight: Array) -> Array:  # noqa: D102
        xp = namespace(prob)
        mean = xp.sum(prob[:, None, ...] * self.values, axis=2)
        square = xp.sum(prob[:, None, ...] * (self.values * self.values), axis=2)
        heavy = (square - mean * mean) * weight[:, None, :]
        by_group = xp.permute_dims(xp.matmul(heavy, self.group), (0, 2, 1))
        return xp.reshape(by_group, (prob.shape[0], -1))


@dataclass(frozen=True)
class ContextTerms(_FewTerms):
    """Products of log g or the like (k, n) and functions (d, n), the same for every class."""

    log_prob: Array
    context: Array

    @property
    def n_terms(self) -> int:  # noqa: D102
        return int(self.context.shape[0])

    def rows(self, rows: slice | Array) -> ContextTerms:  # noqa: D102
        return ContextTerms(some_points(self.log_prob, rows), some_points(self.context, rows))

    def scores(self, coefficients: Array) -> Array:  # noqa: D102
        return (coefficients @ self.context)[:, None, :] * self.log_prob

    def products(self, residual: Array) -> Array:  # noqa: D102
        return namespace(residual).sum(residual * self.log_prob, axis=1) @ self.context.T

    def by_point(self, residual: Array) -> Array:  # noqa: D102
        return self.context * namespace(residual).sum(residual * self.log_prob, axis=0)

    def information(self, prob: Array, weight: Array) -> Array:  # noqa: D102
        xp = namespace(prob)
        mean = xp.sum(prob * self.log_prob, axis=1)
        away = self.log_prob[None, ...] - mean[:, None, :]
        variance = weight * xp.sum(prob * away * away, axis=1)
        return xp.matmul(variance[:, None, :] * self.context, self.context.T)

    def curvature(self, prob: Array, weight: Array, bend: Bend) -> Array:  # noqa: D102
        moved = _moved(prob, self.log_prob[None, ...])
        bent = weight * namespace(prob).sum(moved * bend(moved), axis=(0, 1))
        return (bent * self.context) @ self.context.T


@dataclass(frozen=True)
class DifferenceTerms(_FewTerms):
    """Terms (d, n) of the log-odds of the second of two classes."""

    values: Array

    @property
    def n_terms(self) -> int:  # noqa: D102
        return int(self.values.shape[0])

    def rows(self, rows: slice | Array) -> DifferenceTerms:  # noqa: D102
        return DifferenceTerms(some_points(self.values, rows))

    def scores(self, coefficients: Array) -> Array:  # noqa: D102
        half = coefficients @ self.values / 2
        return namespace(half).stack([-half, half], axis=1)

    def products(self, residual: Array) -> Array:  # noqa: D102
        return (residual[:, 1, :] - residual[:, 0, :]) @ self.values.T / 2

    def by_point(self, residual: Array) -> Array:  # noqa: D102
        return self.values * (residual[1, :] - residual[0, :]) / 2

    def information(self, prob: Array, weight: Array) -> Array:  # noqa: D102
        xp = namespace(prob)
        heavy = weight * prob[:, 0, :] * prob[:, 1, :]
        return xp.matmul(heavy[:, None, :] * self.values, self.values.T)


@dataclass(frozen=True)
class RankTerms(_FewTerms):
    """Functions (m, q, n) of the prediction for each of m ranks, whose members are (m, k, n)."""

    member: Array
    context: Array

    @property
    def n_terms(self) -> int:  # noqa: D102
        return int(self.context.shape[0] * self.context.shape[1])

    def rows(self, rows: slice | Array) -> RankTerms:  # noqa: D102
        return RankTerms(some_points(self.member, rows), some_points(self.context, rows))

    def scores(self, coefficients: Array) -> Array:  # noqa: D102
        xp = namespace(self.member)
        m, q, _ = self.context.shape
        own = xp.reshape(coefficients, (-1, m, 1, q))
        by_rank = xp.matmul(own, self.context)
        return xp.sum(by_rank * self.member, axis=1)

    def products(self, residual: Array) -> Array:  # noqa: D102
        xp = namespace(self.member)
        by_rank = xp.sum(residual[:, None, ...] * self.member, axis=2)
        sums = xp.matmul(self.context, by_rank[..., None])
        return xp.reshape(sums, (residual.shape[0], -1))

    def by_point(self, residual: Array) -> Array:  # noqa: D102
        xp = namespace(residual)
        by_rank = xp.sum(self.member * residual, axis=1)
        return xp.reshape(self.context * by_rank[:, None, :], (self.n_terms, -1))

    def information(self, prob: Array, weight: Array) -> Array:  # noqa: D102
        xp = namespace(prob)
        m, q, _ = self.context.shape
        b = prob.shape[0]
        of_rank = prob[:, None, ...] * self.member
        mean = xp.sum(of_rank, axis=2)
        # Of classes that share ranks, both have a part in each.
        second = xp.stack([xp.sum(of_rank * self.member[j, ...], axis=2) for j in range(m)], axis=1)
        covariance = second - mean[:, :, None, :] * mean[:, None, :, :]
        heavy = covariance * weight[:, None, None, :]
        rows = []
        for i in range(m):
            blocks = [
                xp.matmul(heavy[:, i, j, None, :] * self.context[i, ...], self.context[j, ...].T)
                for j in range(m)
            ]
            rows.append(xp.concat(blocks, axis=2))
        return xp.reshape(xp.concat(rows, axis=1), (b, m * q, m * q))


MakeTerms = Callable[[Points], Terms]


def diagonal_of(matrices: Array) -> Array:
    """(b, d) the diagonals of matrices (b, d, d)."""
    xp = namespace(matrices)
    d = matrices.shape[1]
    eye = xp.eye(d, dtype=matrices.dtype, device=device(matrices))
    return xp.sum(matrices * eye, axis=2)
