"""Settings of methods that a sketch can heed."""

from __future__ import annotations

from propercal._data.messages import bad_value
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
