"""Laws for generators whose value(p) takes torch tensors: the two libraries agree."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from propercal._array import is_torch, to_numpy
from propercal.generators import BregmanGenerator, autodiff
from propercal.testing._law import Law, Violation
from propercal.testing._methods import in_short
from propercal.testing._numerics import DERIVATIVE, HALF_DIGITS, Vector, magnitude, may_overflow

# Below it, automatic differentiation loses digits where F adds to p_i before it takes a logarithm.
_SMALLEST = 1e-16


def _takes_no_tensors(generator: BregmanGenerator, n_classes: int) -> str:
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed"
    p = np.full(n_classes, 1 / n_classes)
    try:
        generator.value(p.copy())
    except Exception:  # noqa: BLE001 - a user's generator may raise anything
        return "value raises"
    try:
        value = generator.value(_tensor(p).requires_grad_())
    except Exception as error:  # noqa: BLE001 - NumPy functions raise many things for a tensor
        return f"value(p) takes no tensors ({in_short(error)})"
    if is_torch(value) and value.requires_grad:
        return ""
    return "value(p) cannot be differentiated by torch"


def _same_in_torch(generator: BregmanGenerator, p: Vector) -> Violation | None:
    if may_overflow(generator, p):
        return None
    found, expected = generator.value(_tensor(p)), generator.value(p)
    size = magnitude(generator, p) if np.isfinite(expected) else 0.0
    if not np.isclose(to_numpy(found), expected, rtol=0, atol=HALF_DIGITS * size, equal_nan=True):
        return Violation("generator.value(torch.asarray(p))", to_numpy(found), expected)
    if found.dtype != _tensor(p).dtype:
        return Violation("generator.value(torch.asarray(p)).dtype", found.dtype, _tensor(p).dtype)
    return None


def _autodiff(generator: BregmanGenerator, p: Vector) -> Violation | None:
    if not np.isfinite(generator.value(p)):
        return None
    kept = p >= _SMALLEST
    automatic = to_numpy(autodiff.gradient(generator.value, _tensor(p)))
    gradient = generator.gradient(p)
    pivot = int(p.argmax())
    kept &= np.isfinite(automatic)
    kept[pivot] = False
    found, expected = gradient - gradient[pivot], automatic - automatic[pivot]
    tolerance = DERIVATIVE * (np.abs(gradient) + np.abs(gradient[pivot]))
    wrong = kept & ~(np.abs(found - expected) <= tolerance)
    if not wrong.any():
        return None
    i = int(wrong.argmax())
    v = np.eye(len(p))[i] - np.eye(len(p))[pivot]
    return Violation("generator.gradient(p) @ v", float(found[i]), float(expected[i]), {"v": v})


def _tensor(p: Vector) -> Any:
    import torch

    return torch.asarray(p, copy=True)


LAWS = (
    Law(
        "torch",
        "F of a tensor is F of the array, and keeps float64",
        "definition of a BregmanGenerator",
        "p",
        _same_in_torch,
        _takes_no_tensors,
    ),
    Law(
        "autodiff",
        "⟨∇F(p), v⟩ is the automatic derivative of F, for every v that sums to 0",
        "definition of the derivative, by torch",
        "p",
        _autodiff,
        _takes_no_tensors,
    ),
)
"""Tolerance: 1.5e-8 for F and 1e-6 for a component of ∇F, relative; none where p_i < 1e-16."""
