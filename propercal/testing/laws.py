"""The laws that every Bregman generator obeys.

A law is found to be violated at points of the simplex. It says nothing where F is infinite, nor,
for a generator that is infinite at a vertex, where a coordinate below 1e-60 may make it overflow.
Tolerances are relative to the size of F and ∇F, and stated with the laws: √eps, half the digits of
the type, for identities; 1e-6 for derivatives.
"""

from __future__ import annotations

from propercal.testing import _array_laws, _derivative_laws, _divergence_laws, _torch_laws
from propercal.testing._law import Law, Violation

__all__ = ["LAWS", "Law", "Violation"]

LAWS: tuple[Law, ...] = (
    *_array_laws.LAWS,
    *_derivative_laws.LAWS,
    *_divergence_laws.LAWS,
    *_torch_laws.LAWS,
    _divergence_laws.STRICT,
)
"""In an order in which the first that is violated points to the cause."""
