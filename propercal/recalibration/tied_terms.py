"""Terms of which several share a coefficient."""

from __future__ import annotations

from dataclasses import dataclass

from propercal._array import namespace
from propercal._typing import Array
from propercal.recalibration.terms import Bend, Terms, diagonal_of


@dataclass(frozen=True)
class TiedTerms:
    """Terms of which several share a coefficient."""

    terms: Terms
    ties: Array
    """(d, m) 1 where coefficient d is that of term m."""

    @property
    def n_terms(self) -> int:  # noqa: D102
        return int(self.ties.shape[0])

    def rows(self, rows: slice | Array) -> TiedTerms:  # noqa: D102
        return TiedTerms(self.terms.rows(rows), self.ties)

    def scores(self, coefficients: Array) -> Array:  # noqa: D102
        return self.terms.scores(coefficients @ self.ties)

    def products(self, residual: Array) -> Array:  # noqa: D102
        return self.terms.products(residual) @ self.ties.T

    def by_point(self, residual: Array) -> Array:  # noqa: D102
        return self.ties @ self.terms.by_point(residual)

    def information(self, prob: Array, weight: Array) -> Array:  # noqa: D102
        return self._tied(self.terms.information(prob, weight))

    def variances(self, prob: Array, weight: Array) -> Array:  # noqa: D102
        return diagonal_of(self.information(prob, weight))

    def curvature(self, prob: Array, weight: Array, bend: Bend) -> Array:  # noqa: D102
        return self._tied(self.terms.curvature(prob, weight, bend))

    def _tied(self, form: Array) -> Array:
        xp = namespace(form)
        return xp.matmul(xp.matmul(self.ties, form), self.ties.T)
