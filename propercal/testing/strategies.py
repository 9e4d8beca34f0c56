"""Hypothesis strategies: probabilities with their boundary cases, tables, and forms of arrays.

Everything is drawn so that it shrinks to simple numbers: 0, 1/4, 1/2, 1.

>>> from hypothesis import given
>>> @given(p=simplex_points(3))
... def test_sums_to_one(p):
...     assert abs(p.sum() - 1) < 1e-12
>>> test_sums_to_one()
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._data.words.messages import bad_value
from propercal.generators import (
    BregmanGenerator,
    Brier,
    ItakuraSaito,
    Log,
    Quadratic,
    Spherical,
    Tsallis,
)
from propercal.testing._forms import ARRAY_FORMS, LABEL_FORMS, array_forms, label_forms
from propercal.testing._hypothesis import SearchStrategy, st

__all__ = [
    "ARRAY_FORMS",
    "LABEL_FORMS",
    "Predictions",
    "array_forms",
    "generators",
    "joint_tables",
    "label_forms",
    "markov_kernels",
    "pairs",
    "predictions",
    "simplex_points",
]

Vector = npt.NDArray[np.float64]

# In the order of preference of a counter-example; exact in binary, so grid points sum to 1 exactly.
_CUTS = (1 / 2, 1 / 4, 3 / 4, 0.0, 1.0, 1 / 8, 7 / 8, 3 / 8, 5 / 8, 1 / 16, 15 / 16)
_TINY = (1e-16, 1e-8, 1e-3, 1e-30, 1e-300)
_NEARBY = (2.0**-10, 2.0**-26, 2.0**-40)


class Predictions(NamedTuple):
    """Labels (n,), predicted probabilities (n, k), and weights (n,) or None."""

    y_true: npt.NDArray[np.int64]
    y_proba: Vector
    sample_weight: Vector | None


def simplex_points(n_classes: int, *, boundary: bool = True) -> SearchStrategy[Vector]:
    """Draw a point of the probability simplex, shape (n_classes,).

    Parameters
    ----------
    n_classes : int
        Number of classes k, at least 2.
    boundary : bool
        Whether vertices, faces, and coordinates down to 1e-300 occur. Otherwise every coordinate
        is at least 1 / (100 k).

    Returns
    -------
    strategy of ndarray of float64
        The uniform distribution, points on a dyadic grid, and arbitrary ones. Sums are 1 within
        rounding. A counter-example shrinks towards the uniform distribution and the grid.

    Raises
    ------
    ValueError
        If there are fewer than 2 classes.
    """
    if n_classes < 2:
        raise bad_value("n_classes", n_classes, "2 or more", "a simplex needs two classes")
    weight = st.floats(0.01, 1.0)
    uniform = st.builds(np.full, st.just(n_classes), st.just(1 / n_classes))
    inside = st.lists(weight, min_size=n_classes, max_size=n_classes).map(_normalized)
    on_grid = st.lists(st.sampled_from(_CUTS), min_size=n_classes - 1, max_size=n_classes - 1).map(
        _between_cuts
    )
    if not boundary:
        interior_grid = on_grid.map(lambda p: (p + 1 / n_classes) / 2)
        return st.one_of(uniform, interior_grid, inside)
    vertex = st.integers(0, n_classes - 1).map(lambda y: np.eye(n_classes)[y])
    near_boundary = st.builds(
        _with_tiny,
        st.one_of(on_grid, vertex, inside),
        st.sampled_from(_TINY),
        st.lists(st.booleans(), min_size=n_classes, max_size=n_classes),
    )
    return st.one_of(uniform, on_grid, vertex, inside, near_boundary)


def pairs(n_classes: int, *, boundary: bool = True) -> SearchStrategy[tuple[Vector, Vector]]:
    """Draw two points of the simplex: independent, equal, or nearly equal.

    Parameters
    ----------
    n_classes, boundary
        As for :func:`simplex_points`.

    Returns
    -------
    strategy of (ndarray, ndarray)
        Nearly equal points differ by a fraction of 2^-10, 2^-26 or 2^-40 of the way to a third.
    """
    point = simplex_points(n_classes, boundary=boundary)
    independent = st.tuples(point, point)
    equal = point.map(lambda p: (p, p.copy()))
    nearly_equal = st.builds(
        lambda p, other, t: (p, (1 - t) * p + t * other), point, point, st.sampled_from(_NEARBY)
    )
    return st.one_of(independent, equal, nearly_equal)


def predictions(
    n_classes: int,
    *,
    min_samples: int = 1,
    max_samples: int = 8,
    boundary: bool = True,
    weighted: bool = False,
) -> SearchStrategy[Predictions]:
    """Draw predicted probabilities and labels; predictions repeat, and a class may be absent.

    Parameters
    ----------
    n_classes, boundary
        As for :func:`simplex_points`.
    min_samples, max_samples : int
        Bounds on the number of samples n.
    weighted : bool
        Whether weights are drawn: multiples of 1/4, some of them 0 but not all.

    Returns
    -------
    strategy of Predictions
    """
    point = simplex_points(n_classes, boundary=boundary)
    label = st.integers(0, n_classes - 1)

    @st.composite
    def draw_predictions(draw: st.DrawFn) -> Predictions:
        n = draw(st.integers(min_samples, max_samples))
        # Few distinct points and labels for many samples: duplicates and absent classes are usual.
        points = draw(st.lists(point, min_size=1, max_size=4))
        labels = draw(st.lists(label, min_size=1, max_size=n_classes))
        y_proba = draw(st.lists(st.sampled_from(points), min_size=n, max_size=n))
        y_true = draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n))
        weight = None
        if weighted:
            quarter = st.integers(0, 8).map(lambda count: count / 4)
            weight = np.asarray(draw(st.lists(quarter, min_size=n, max_size=n)))
            if not weight.any():
                weight[-1] = 1.0
        return Predictions(np.asarray(y_true), np.asarray(y_proba), weight)

    return draw_predictions()


def joint_tables(
    n_classes: int, *, min_predictions: int = 1, max_predictions: int = 5
) -> SearchStrategy[Vector]:
    """Draw a finite population: probabilities of prediction × label, shape (m, n_classes).

    Parameters
    ----------
    n_classes : int
        Number of labels k.
    min_predictions, max_predictions : int
        Bounds on the number m of distinct predictions.

    Returns
    -------
    strategy of ndarray of float64
        Entries sum to 1 within rounding. Cells may be zero, and so may a column (a class that does
        not occur); each row has a positive sum.
    """
    counts = st.lists(st.sampled_from((1, 0, 2, 3, 8)), min_size=n_classes, max_size=n_classes).map(
        lambda row: row if any(row) else [*row[:-1], 1]
    )
    rows = st.lists(counts, min_size=min_predictions, max_size=max_predictions)
    return rows.map(lambda table: np.asarray(table, dtype=np.float64) / np.sum(table))


def markov_kernels(
    n_inputs: int, n_outputs: int, *, injective: bool = False
) -> SearchStrategy[Vector]:
    """Draw a Markov kernel: a matrix (n_inputs, n_outputs) whose rows are distributions.

    Parameters
    ----------
    n_inputs, n_outputs : int
        Numbers of states before and after; at least 1 and 2.
    injective : bool
        Draw injective maps only: one-hot rows that all differ. They lose no information.

    Returns
    -------
    strategy of ndarray of float64
        Deterministic maps, injective maps where there are outputs enough, and noisy kernels.

    Raises
    ------
    ValueError
        If injective maps are asked for and there are fewer outputs than inputs.
    """
    identity = np.eye(n_outputs)
    injections = st.permutations(range(n_outputs)).map(lambda to: identity[list(to[:n_inputs])])
    if injective:
        if n_outputs < n_inputs:
            raise bad_value("n_outputs", n_outputs, f"{n_inputs} or more", "no map is injective")
        return injections
    target = st.integers(0, n_outputs - 1)
    deterministic = st.lists(target, min_size=n_inputs, max_size=n_inputs).map(
        lambda targets: identity[targets]
    )
    noisy = st.lists(simplex_points(n_outputs), min_size=n_inputs, max_size=n_inputs).map(
        np.asarray
    )
    some = [injections] if n_outputs >= n_inputs else []
    return st.one_of(*some, deterministic, noisy)


def generators(
    *, n_classes: int | None = None, finite_at_vertices: bool = False
) -> SearchStrategy[BregmanGenerator]:
    """Draw a built-in generator, or a positive combination of two.

    Parameters
    ----------
    n_classes : int, optional
        Number of classes of :class:`~propercal.generators.Quadratic`; without it, none is drawn.
    finite_at_vertices : bool
        Whether to leave out those that are infinite at the vertices.

    Returns
    -------
    strategy of BregmanGenerator
    """
    single: list[SearchStrategy[BregmanGenerator]] = [
        st.sampled_from([Brier(), Log(), Spherical()]),
        st.sampled_from([0.5, 1.5, 3.0]).map(Tsallis),
    ]
    if n_classes is not None:
        entries = st.lists(st.integers(-2, 2), min_size=n_classes**2, max_size=n_classes**2)
        single.append(entries.map(_quadratic))
    if not finite_at_vertices:
        single.append(st.just(ItakuraSaito()))
    one = st.one_of(single)
    weight = st.sampled_from([1.0, 2.0, 0.25])
    return st.one_of(one, st.builds(lambda w, F, G: w * F + G, weight, one, one))


def _normalized(weights: list[float]) -> Vector:
    p: Vector = np.asarray(weights) / np.sum(weights)
    return p


def _between_cuts(cuts: list[float]) -> Vector:
    steps: Vector = np.diff(sorted(cuts), prepend=0.0, append=1.0)
    return steps


def _with_tiny(p: Vector, tiny: float, where: list[bool]) -> Vector:
    """Replace some coordinates, at least one and not the largest, and let the largest make up."""
    p, largest, mask = p.copy(), int(p.argmax()), np.asarray(where)
    mask[largest] = False
    if not mask.any():
        mask[largest - 1] = True
    p[mask] = tiny
    p[largest] = 1 - np.delete(p, largest).sum()
    return p


def _quadratic(entries: list[int]) -> Quadratic:
    """MᵀM, with integer entries so that it is symmetric exactly."""
    size = round(len(entries) ** 0.5)
    root = np.asarray(entries, dtype=np.float64).reshape(size, size)
    return Quadratic(root.T @ root)
