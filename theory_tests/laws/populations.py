"""Finite populations: what the laws of exact populations and of finite samples are stated about.

Expectations are written out here as sums over the cells of a joint table, without the package's own
estimators: only F, D_F and L_F come from a generator.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

import propercal
from propercal.generators import BregmanGenerator
from propercal.testing.strategies import generators, joint_tables, simplex_points

Floats = npt.NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
#: A generator, and a joint table of values and labels.
Case = tuple[BregmanGenerator, Floats]


@dataclass(frozen=True)
class Population:
    """P(Z = z, Y = y) as a table (m, k), and the prediction g(z) as rows (m, k)."""

    joint: Floats
    prediction: Floats

    @cached_property
    def merged(self) -> tuple[Floats, Floats]:
        """The table and the predictions after equal predictions have become one value."""
        unique, inverse = np.unique(self.prediction, axis=0, return_inverse=True)
        table = np.zeros((len(unique), self.joint.shape[1]))
        np.add.at(table, inverse.ravel(), self.joint)
        return table, unique

    @property
    def mass(self) -> Floats:
        """P(g) of each distinct prediction."""
        return np.asarray(self.merged[0].sum(axis=1))

    @property
    def r(self) -> Floats:
        """E[Y | g] at each distinct prediction."""
        return np.asarray(self.merged[0] / self.mass[:, None])

    @property
    def prior(self) -> Floats:
        """E Y."""
        return np.asarray(self.joint.sum(axis=0))

    def risk(self, generator: BregmanGenerator) -> float:
        table, prediction = self.merged
        outcomes = np.eye(table.shape[1])
        loss = np.stack([generator.loss(prediction, np.broadcast_to(y, prediction.shape)) for y in outcomes], axis=1)
        # A loss that never occurs may be infinite.
        return float(np.sum(np.where(table > 0, table, 0.0) * np.where(table > 0, loss, 0.0)))

    def calibration_error(self, generator: BregmanGenerator) -> float:
        return float(self.mass @ generator.divergence(self.r, self.merged[1]))

    def refinement(self, generator: BregmanGenerator) -> float:
        return -float(self.mass @ generator.value(self.r))

    def uncertainty(self, generator: BregmanGenerator) -> float:
        return -float(generator.value(self.prior))

    def sharpness(self, generator: BregmanGenerator) -> float:
        return float(self.mass @ generator.divergence(self.r, np.broadcast_to(self.prior, self.r.shape)))

    def event(self, scores: Floats, occurred: npt.NDArray[np.bool_]) -> Population:
        """The binary population "did the event occur", predicted by `scores` (m,); `occurred` (m, k)."""
        hit = np.where(occurred, self.joint, 0.0).sum(axis=1)
        miss = np.where(occurred, 0.0, self.joint).sum(axis=1)
        return Population(np.stack([miss, hit], axis=1), np.stack([1 - scores, scores], axis=1))

    def one_vs_rest(self, i: int) -> Population:
        occurred = np.broadcast_to(np.arange(self.joint.shape[1]) == i, self.joint.shape)
        return self.event(self.prediction[:, i], occurred)

    def top_label(self) -> Population:
        top = self.prediction.argmax(axis=1)
        return self.event(self.prediction.max(axis=1), top[:, None] == np.arange(self.joint.shape[1]))


@st.composite
def populations(draw: st.DrawFn, *, boundary: bool = True) -> tuple[BregmanGenerator, Population]:
    """A generator and a population of 2 to 4 classes with few predictions, some of them equal."""
    k = draw(st.integers(2, 4))
    joint = draw(joint_tables(k))
    distinct = draw(st.lists(simplex_points(k, boundary=boundary), min_size=1, max_size=len(joint)))
    prediction = draw(st.lists(st.sampled_from(distinct), min_size=len(joint), max_size=len(joint)))
    generator = draw(generators(n_classes=k, finite_at_vertices=True))
    return generator, Population(joint, np.asarray(prediction))


@st.composite
def tables(draw: st.DrawFn, *, min_values: int = 1) -> Case:
    """A generator and a joint table of 2 to 4 classes."""
    k = draw(st.integers(2, 4))
    generator = draw(generators(n_classes=k, finite_at_vertices=True))
    return generator, draw(joint_tables(k, min_predictions=min_values))


def rounding(generator: BregmanGenerator, table: Floats) -> float:
    """Bound on the rounding error of E F(E[Y | Z]) − F(E Y), in ulps of the largest |F|.

    |F| at a vertex is 0 and largest near the centre or the prior. 50 ulps cover the sums over at
    most 20 cells and F itself, whose error is that of a sum of k powers, logarithms or products; the
    products of a quadratic form can cancel, so its entries count too.
    """
    scale = max(1.0, float(np.abs(np.diagonal(generator.hessian(np.full(table.shape[1], 1 / table.shape[1])))).max()))
    return 50 * EPS * scale


def decompose(*arguments: Any, **options: Any) -> Any:
    """`propercal.decompose`, method "risk", without its warnings about infinite losses and lonely bins."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return propercal.decompose(*arguments, **{"method": "risk", **options})


def conditional_mean(*arguments: Any, **options: Any) -> Floats:
    """`propercal.conditional_mean` without its warnings about lonely bins."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return np.asarray(propercal.conditional_mean(*arguments, **options))
