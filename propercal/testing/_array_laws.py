"""Laws on what F, ∇F and ∇²F do with arrays: shapes, types, rows, and values at the boundary."""

from __future__ import annotations

import numpy as np

from propercal.generators import BregmanGenerator
from propercal.testing._law import Law, Violation
from propercal.testing._methods import METHODS
from propercal.testing._numerics import (
    HALF_DIGITS,
    INTERIOR,
    Vector,
    magnitude,
    may_overflow,
    scale,
)

_BATCH = "np.stack([p, q])"


def _shapes(
    generator: BregmanGenerator, p: Vector, q: Vector, methods: tuple[str, ...]
) -> Violation | None:
    k = len(p)
    inputs = {"p": p, _BATCH: np.stack([p, q]), "np.stack([[p, q]])": np.stack([[p, q]])}
    for method, tail in zip(METHODS, ((), (k,), (k, k)), strict=True):
        if method not in methods:
            continue
        for expression, x in inputs.items():
            found, expected = np.shape(getattr(generator, method)(x)), (*x.shape[:-1], *tail)
            if found != expected:
                expression = f"np.shape(generator.{method}({expression}))"
                return Violation(expression, found, expected)
    return None


def _types(
    generator: BregmanGenerator, p: Vector, q: Vector, methods: tuple[str, ...]
) -> Violation | None:
    batch = np.stack([p, q])
    for x, cast in ((batch, ""), (batch.astype(np.float32), ".astype(np.float32)")):
        for method in methods:
            found = getattr(getattr(generator, method)(x), "dtype", None)
            if found != x.dtype:
                return Violation(f"generator.{method}({_BATCH}{cast}).dtype", found, x.dtype)
    low = batch.astype(np.float32)
    found, expected = generator.value(low), generator.value(low.astype(np.float64))
    tolerance = float(np.sqrt(np.finfo(np.float32).eps)) * magnitude(generator, *low.astype(float))
    # What float32 cannot hold is infinite in it.
    too_large = np.abs(expected) > np.finfo(np.float32).max
    if ((np.abs(found - expected) > tolerance) & ~too_large).any():
        return Violation(f"generator.value({_BATCH}.astype(np.float32))", found, expected)
    return None


def _input_unchanged(
    generator: BregmanGenerator, p: Vector, q: Vector, methods: tuple[str, ...]
) -> Violation | None:
    for method in methods:
        x = np.stack([p, q])
        getattr(generator, method)(x)
        if (x != np.stack([p, q])).any():
            return Violation(f"x = {_BATCH}; generator.{method}(x); x", x, np.stack([p, q]))
    log_p = np.log(p)
    generator.gradient_from_log(log_p)
    if (log_p != np.log(p)).any():
        return Violation("x = np.log(p); generator.gradient_from_log(x); x", log_p, np.log(p))
    return None


def _rows_alone(
    generator: BregmanGenerator, p: Vector, q: Vector, r: Vector, methods: tuple[str, ...]
) -> Violation | None:
    size = scale(generator, len(p))
    for method in methods:
        call = getattr(generator, method)
        alone = np.stack([call(x.copy()) for x in (p, q, r)])
        largest = np.max(np.abs(alone), where=np.isfinite(alone), initial=0)
        tolerance = HALF_DIGITS * (size + largest)
        for order in ("p, q, r", "r, q, p"):
            rows = (p, q, r) if order == "p, q, r" else (r, q, p)
            expected = alone if order == "p, q, r" else alone[::-1]
            found = call(np.stack(rows))
            if not np.allclose(found, expected, rtol=0, atol=tolerance, equal_nan=True):
                return Violation(f"generator.{method}(np.stack([{order}]))", found, expected)
    return None


def _value_range(generator: BregmanGenerator, p: Vector) -> Violation | None:
    value = float(generator.value(p))
    if p.min() >= INTERIOR and not np.isfinite(value):
        return Violation("generator.value(p)", value, "a finite number inside the simplex")
    if value > -np.inf or (np.isnan(value) and may_overflow(generator, p)):
        return None
    return Violation("generator.value(p)", value, "a finite number or +inf")


LAWS = (
    Law(
        "shapes",
        "F maps (..., k) to (...), ∇F to (..., k) and ∇²F to (..., k, k)",
        "definition of a BregmanGenerator",
        "pq",
        _shapes,
        takes_methods=True,
    ),
    Law(
        "input-unchanged",
        "F, ∇F and ∇²F leave the array that they are given as it was",
        "definition of a BregmanGenerator",
        "pq",
        _input_unchanged,
        takes_methods=True,
    ),
    Law(
        "dtype",
        "float64 gives float64, and float32 gives float32 with half the digits of F right",
        "definition of a BregmanGenerator",
        "pq",
        _types,
        takes_methods=True,
    ),
    Law(
        "batch-independence",
        "F, ∇F and ∇²F of a row do not depend on the other rows, nor on their order",
        "definition of a BregmanGenerator",
        "pqr",
        _rows_alone,
        takes_methods=True,
    ),
    Law(
        "value-range",
        "F is finite inside the simplex, and finite or +inf on its boundary",
        "Gneiting and Raftery (2007), section 2.1, doi:10.1198/016214506000001437",
        "p",
        _value_range,
    ),
)
"""Half the digits means a difference of √eps, relative to the largest number in F and ∇F."""
