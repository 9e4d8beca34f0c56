"""Points of the simplex of three classes, as Hypothesis draws them for laws of generators."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from theory_tests.instances import MATRICES

Vector = npt.NDArray[np.float64]
K = 3
RANKED = MATRICES["ranked"]


def _normalized(weights: list[float]) -> Vector:
    p: Vector = np.asarray(weights)
    return p / np.sum(p)


ordinary = st.floats(0.01, 1.0)
interior = st.lists(ordinary, min_size=K, max_size=K).map(_normalized)
# Faces, vertices, and coordinates down to the smallest positive numbers.
extreme = st.one_of(
    ordinary, st.just(0.0), st.floats(-300, 0).map(lambda e: 10.0**e), st.sampled_from([1e-300, 1e-310])
)
anywhere = st.tuples(ordinary, st.lists(extreme, min_size=K - 1, max_size=K - 1), st.integers(0, K - 1)).map(
    lambda t: np.roll(_normalized([t[0], *t[1]]), t[2])
)
vertex = st.integers(0, K - 1).map(lambda y: np.eye(K)[y])
