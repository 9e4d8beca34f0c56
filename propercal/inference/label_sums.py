"""Statistics of rows of many classes: each row adds to those of the one class that occurred.

Residuals of a label set are y − g, of which g adds the same to every set. What is left has one
entry a row, whatever the number of classes, where residuals have one for every class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal.inference.quadratic_forms import QuadraticForms
from propercal.inference.residuals import Rows

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer[Any]]


class LabelSums:
    """Statistics of rows, as NumPy arrays, less what their predictions would give."""

    def __init__(self, rows: Rows, forms: QuadraticForms) -> None:
        self._forms = forms
        self._prob: Floats = rows.at.points.prob
        self._weight: Floats = rows.at.count if rows.weight is None else rows.weight
        assert forms.kernel.scales is not None  # noqa: S101  # there are several classes
        self._scales: Floats = forms.kernel.scales
        weighted = (self._prob * self._weight[:, None]).T
        self._expected = [
            np.matmul(forms.matrices, weighted[:, :, None])[..., 0],
            (weighted * self._scales) @ forms.kernel.features.T,
        ]

    def add(self, label: Integers, rows: slice) -> list[Floats]:
        """Return what labels (sets, rows) of some rows add, before predictions are taken off."""
        from scipy.sparse import csc_array

        n_sets, n = label.shape
        k = self._prob.shape[1]
        kernel, weight = self._forms.kernel, self._weight[rows]
        place = np.arange(n_sets)[:, None] * k + label
        at = (label, np.arange(n))
        sums = [
            np.bincount(place.ravel(), (terms[:, rows] * weight)[at].ravel(), n_sets * k)
            for terms in np.moveaxis(self._forms.matrices, 1, 0)
        ]
        scales, prob = self._scales[:, rows], self._prob[rows].T
        # A column of the sparse matrix is a row of the data, with an entry for each set.
        values = (scales * weight)[at].T.ravel()
        starts = np.arange(n + 1) * n_sets
        chosen = csc_array((values, place.T.ravel(), starts), shape=(n_sets * k, n))
        features = chosen @ np.ascontiguousarray(kernel.features[:, rows].T)
        # (y − g)² = (1 − 2 g) y + g².
        curvature = (scales * weight) ** 2
        squares = (curvature * (1 - 2 * prob))[at] + (curvature * prob**2).sum(axis=0)
        return [
            np.stack(sums, axis=1).reshape(n_sets, k, -1),
            features.reshape(n_sets, k, -1),
            squares @ kernel.diagonals[:, rows].T,
        ]

    def statistics(self, total: list[Floats]) -> list[Floats]:
        """Return the statistics, as the forms combine them, from sums over all rows."""
        return [*self._columns(total), total[-1]]

    def _columns(self, total: list[Floats]) -> Iterator[Floats]:
        for j in range(self._prob.shape[1]):
            for sums, expected in zip(total, self._expected, strict=False):
                yield sums[:, j, :] - expected[j]
