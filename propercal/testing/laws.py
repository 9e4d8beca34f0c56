"""The laws that every Bregman generator obeys.

A law is found to be violated at points of the simplex. It says nothing where F is infinite, nor,
for a generator that is infinite at a vertex, where a coordinate below 1e-60 may make it overflow.
Tolerances are relative to the size of F and ∇F, and stated with the laws: √eps, half the digits of
the type, for identities; 1e-6 for derivatives.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from propercal.testing import _divergence_laws
from propercal.testing._law import Law, Violation

__all__ = ["LAWS", "Law", "Violation"]


def _listed() -> Iterator[Law]:
    """Yield the laws of each file of them, in the order of their names; a new file is found."""
    for found in sorted(pkgutil.iter_modules([str(Path(__file__).parent)]), key=lambda m: m.name):
        if found.name.endswith("_laws"):
            yield from import_module(f"propercal.testing.{found.name}").LAWS


LAWS: tuple[Law, ...] = (*_listed(), _divergence_laws.STRICT)
"""In an order in which the first that is violated points to the cause."""
