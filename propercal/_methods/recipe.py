"""What the debiased estimate is made of, from the arguments of a user."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from propercal._data.inputs.settings import check_random_state
from propercal._data.words.messages import bad_value
from propercal._kernels.kernels import BANDWIDTHS, BilinearKernel, as_kernel, has_features
from propercal.recalibration.built_in import families_for
from propercal.recalibration.external import as_family
from propercal.recalibration.family import Family

#: Fewer rows leave folds without each other too little to fit anything to.
SMALLEST_SAMPLE = 20


@dataclass(frozen=True)
class Recipe:
    """Cross-fitted recalibrations and the kernel that corrects them."""

    families: Callable[[int], Sequence[Family]]
    """The families of recalibrations, for a number of classes."""
    kernel: BilinearKernel | None
    """What corrects them; None for no correction."""
    bandwidths: Sequence[float]
    """Bandwidths to choose from, beside no correction."""
    n_folds: int
    random_state: Any
    """What :func:`numpy.random.default_rng` takes."""
    algorithm: str = "auto"
    """Of the kernel sums: "auto", "exact" or "linear"."""
    kernel_name: str = "none"
    of_points: bool = True
    """Whether the families take sums over rows of equal predictions for the rows."""


def make_recipe(
    kernel: str | None,
    bandwidth: float | None,
    recalibrator: object,
    n_folds: object,
    random_state: Any,
    algorithm: str = "auto",
) -> Recipe:
    """Check the arguments that belong to the debiased method; no bandwidth means to choose it."""
    chosen = None if kernel is None else as_kernel(kernel)
    if chosen is not None and not has_features(chosen):
        raise bad_value(
            "kernel",
            kernel,
            'kernel="dirichlet", or None for no kernel correction, with method="debiased"',
            'use method="direct" or "risk" for bins',
        )
    whole = isinstance(n_folds, int | np.integer) and not isinstance(n_folds, bool)
    if not whole or not 3 <= int(n_folds) <= 20:  # type: ignore[call-overload]
        raise bad_value("n_folds", repr(n_folds), "a whole number from 3 to 20", "5 is usual")
    return Recipe(
        _families(recalibrator),
        chosen,
        BANDWIDTHS if bandwidth is None else (bandwidth,),
        int(n_folds),  # type: ignore[call-overload]
        check_random_state(random_state),
        algorithm,
        "none" if kernel is None else kernel,
        recalibrator is None and algorithm != "exact",
    )


def _families(recalibrator: object) -> Callable[[int], Sequence[Family]]:
    if recalibrator is None:
        return families_for
    several = recalibrator if isinstance(recalibrator, list | tuple) else [recalibrator]
    if not several:
        raise bad_value("recalibrator", "[]", "one or more", "leave it out for the built-in ones")
    families = [as_family("recalibrator", each) for each in several]
    return lambda _: families


def lower_median(bandwidths: Sequence[float]) -> float:
    """Return the median of bandwidths, the smaller of two."""
    ordered = sorted(bandwidths)
    return ordered[(len(ordered) - 1) // 2] if ordered else math.inf
