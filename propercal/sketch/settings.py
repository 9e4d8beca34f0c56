"""Settings of methods that a sketch can heed, and what tells one generator from another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from propercal._data.messages import bad_value
from propercal.generators.base import BregmanGenerator
from propercal.methods import Debiased, Direct, Method, MethodLike, Risk, as_method

_LINEAR = ("auto", "linear")


def as_summed(
    method: MethodLike,
    bandwidth: float | None,
    needs: str = "in a sketch, which has what its rows were summed up for",
    fix: str = "leave it out, or decompose() the rows in memory",
) -> Method:
    """Return the method if sums over nodes tell all that it asks for, else raise.

    `bandwidth` is that of the sketch, None where the method's own will be it.
    """
    chosen = as_method(method)
    if not isinstance(chosen, Debiased | Direct | Risk):
        raise bad_value("method", repr(method), f"one of the built-in methods {needs}", fix)
    for name, value in chosen.given().items():
        if (name == "bandwidth" and bandwidth in (None, value)) or (
            name == "algorithm" and value in _LINEAR
        ):
            continue
        default = repr(chosen.defaults()[name])
        expected = "'auto' or 'linear'" if name == "algorithm" else f"{default}, the default,"
        if name == "bandwidth":
            expected = f"{bandwidth:g} or 'auto'"
        raise bad_value(name, repr(value), f"{expected} {needs}", fix)
    return chosen


def fixed_values(generator: BregmanGenerator) -> list[float]:
    """Return F at fixed points, since generators of one's own may share a name."""
    p = np.arange(1, 16) / 16
    return [float(value) for value in generator.value(np.stack([1 - p, p], axis=1))]


def same_values(mine: Sequence[float], other: Sequence[float]) -> bool:
    """Tell whether two lists of values of F are those of one function, but for rounding."""
    return len(mine) == len(other) and bool(
        np.allclose(mine, other, rtol=1e-9, atol=1e-9 * max(1e-300, *np.abs(mine)))
    )


def check_same(mine: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Raise unless the settings of two sketches are the same."""
    if not same_values(mine["values"], other["values"]):
        raise bad_value(
            "other",
            f"a sketch with generator = {other['generator']}",
            f"{mine['generator']} of the same values of F",
            "merge sketches of the same settings",
        )
    for name, value in mine.items():
        if name != "values" and other[name] != value:
            raise bad_value(
                "other",
                f"a sketch with {name} = {other[name]!r}",
                f"{name} = {value!r}",
                "merge sketches of the same settings",
            )
