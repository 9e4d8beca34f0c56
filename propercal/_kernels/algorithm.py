"""Names of the ways to sum a kernel: which there are, which is accurate enough, which was used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from propercal._array import device, namespace, to_numpy
from propercal._data.words.messages import unknown_name
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator

ALGORITHMS = ("auto", "exact", "linear")


def check_algorithm(algorithm: object) -> None:
    """Raise if there is no algorithm of that name."""
    if algorithm not in ALGORITHMS:
        raise unknown_name("algorithm", algorithm, ALGORITHMS)


def resolve_algorithm(
    algorithm: str, generators: Sequence[BregmanGenerator], reference: Array
) -> str:
    """Return `algorithm`, but "exact" for "auto" where F is infinite at a vertex.

    Such a loss asks for small probabilities to a relative precision, and sums over nodes have an
    absolute one. `reference` (n, k) tells the array library and the number of classes.
    """
    if algorithm != "auto":
        return algorithm
    k = reference.shape[1]
    xp = namespace(reference)
    vertices = xp.eye(k, dtype=reference.dtype, device=device(reference))
    with np.errstate(all="ignore"):
        finite = (np.isfinite(to_numpy(g.value(vertices))).all() for g in generators)
        return "auto" if all(finite) else "exact"


def joint_algorithm(algorithms: Iterable[str]) -> str:
    """Name the algorithm of several sums: "linear" if any is, as the tolerance is then its own."""
    found = set(algorithms)
    return "linear" if "linear" in found else next(iter(found), "none")
