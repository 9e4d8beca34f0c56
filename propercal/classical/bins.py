"""Sums of residuals by bins of equal width, for one label set or many that are drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from propercal._array import slices
from propercal._kernels import bins as kernel_bins
from propercal.classical.smooth import Nodes
from propercal.inference.label_sets import LabelSets

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

#: Labels that are looked at together.
_TOGETHER = 2**20


def bin_numbers(prob: Floats, n_bins: int) -> Numbers:
    """Return the bin (b / B, (b + 1) / B] of each probability; 0 is in the first."""
    return kernel_bins.bin_numbers(prob, n_bins, closed_above=True)


@dataclass(frozen=True)
class Binned:
    """Rows of which each label is an event in some cell: a bin of a class."""

    cell: Numbers
    """(n, k) the cell that a label c of row h is an event of; −1 for none."""
    expected: Floats
    """(cells,) sums of weighted predictions."""
    weight: Floats
    """(n,)."""
    n_problems: int

    @classmethod
    def of_classes(cls, prob: Floats, weight: Floats, n_bins: int) -> Binned:
        """Return the bins of each class, of which one occurs a row."""
        k = prob.shape[1]
        cell = bin_numbers(prob, n_bins) + n_bins * np.arange(k)
        expected = np.bincount(cell.ravel(), (prob * weight[:, None]).ravel(), k * n_bins)
        return cls(cell, expected.astype(np.float64), weight, k)

    @classmethod
    def of_event(cls, prob: Floats, weight: Floats, n_bins: int) -> Binned:
        """Return the bins of an event, label 1."""
        cell = bin_numbers(prob, n_bins)
        expected = np.bincount(cell, prob * weight, n_bins)
        cells = np.stack([np.full_like(cell, -1), cell], axis=1)
        return cls(cells, expected.astype(np.float64), weight, 1)

    def errors(self, labels: npt.NDArray[np.integer]) -> Floats:
        """(b,) errors of label sets (b, n)."""
        b, n = labels.shape
        cells = len(self.expected)
        found = self.cell[np.arange(n), labels]
        number = np.where(found < 0, b * cells, found + cells * np.arange(b)[:, None])
        weight = np.broadcast_to(self.weight, (b, n)).ravel()
        sums = np.bincount(number.ravel(), weight, b * cells + 1)[: b * cells].reshape(b, cells)
        return np.asarray(np.abs(self.expected - sums).sum(axis=1) / self.n_problems)


@dataclass(frozen=True)
class Sampled:
    """Rows of classes of which each has a weight, which that of a row follows in each label set."""

    of_class: Floats
    """(k,) weights of classes."""
    problems: list[tuple[Floats, int | Numbers]]
    """Probabilities of an event, and the class whose occurrence it is, of all rows or each."""
    n_bins: int | None
    """Bins; None for a smoothed error."""

    def errors(self, labels: npt.NDArray[np.integer]) -> Floats:
        """(b,) errors of label sets (b, n)."""
        weight = self.of_class[labels]
        weight /= weight.sum(axis=1, keepdims=True)
        return np.asarray(
            sum(
                self._of_problem(prob, weight * ((labels == event) - prob))
                for prob, event in self.problems
            )
            / len(self.problems)
        )

    def _of_problem(self, prob: Floats, residual: Floats) -> Floats:
        if self.n_bins is None:
            nodes = Nodes(prob)
            return nodes.fixed_points(np.stack([nodes.masses(each) for each in residual]))
        cell = bin_numbers(prob, self.n_bins)
        sums = [np.bincount(cell, each, self.n_bins) for each in residual]
        return np.asarray(np.abs(np.stack(sums)).sum(axis=1))


@dataclass(frozen=True)
class Smoothed:
    """Rows of an event whose residuals are smoothed."""

    prob: Floats
    weight: Floats
    nodes: Nodes

    @classmethod
    def of_event(cls, prob: Floats, weight: Floats) -> Smoothed:
        """Return the nodes of an event, label 1."""
        return cls(prob, weight, Nodes(prob))

    def errors(self, labels: npt.NDArray[np.integer]) -> Floats:
        """(b,) errors of label sets (b, n)."""
        masses = [self.nodes.masses(self.weight * (each - self.prob)) for each in labels]
        return self.nodes.fixed_points(np.stack(masses))


def on_all_sets(sets: LabelSets, rows: Binned | Sampled | Smoothed) -> Floats:
    """(1 + B,) errors of all label sets, the observed one first."""
    step = max(1, min(64, _TOGETHER // sets.n_samples))
    return np.concatenate([rows.errors(sets.classes(part)) for part in slices(len(sets), step)])
