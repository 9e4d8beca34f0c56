"""Derivatives of a generator that has no closed form, by torch."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np

from propercal._array import is_torch, like, namespace, to_numpy, tracks_gradient
from propercal._data.words.messages import bad_value
from propercal._typing import Array


def _torch() -> ModuleType:
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "A generator without a closed-form derivative is differentiated by torch, which is "
            'not installed; run `pip install "propercal[torch]"`, or define gradient(p) and '
            "hessian(p)."
        ) from error
    return torch


def through_torch(function: Callable[[Array], Array], p: Array) -> Array:
    """Return ``function(p)``, computed on a float64 tensor if `p` is not a tensor."""
    if is_torch(p):
        return function(p)
    torch = _torch()
    # Torch has no strides below 0.
    values = np.ascontiguousarray(to_numpy(p))
    result = function(torch.asarray(values, dtype=torch.float64, copy=True))
    return like(to_numpy(result), p, dtype=p.dtype)


def gradient(function: Callable[[Array], Array], p: Array) -> Array:
    """Differentiate a map from (..., k) to (...): the result has shape (..., k)."""
    return through_torch(lambda x: _derivative(function, x, constant_allowed=False), p)


def jacobian(function: Callable[[Array], Array], p: Array) -> Array:
    """Differentiate a map from (..., k) to (..., k): the result has shape (..., k, k)."""

    def rows(x: Array) -> Array:
        components = (lambda x, i=i: function(x)[..., i] for i in range(x.shape[-1]))
        # A gradient may be constant: F is then linear.
        parts = [_derivative(f, x, constant_allowed=True) for f in components]
        return namespace(x).stack(parts, axis=-2)

    return through_torch(rows, p)


def _derivative(function: Callable[[Array], Array], p: Array, *, constant_allowed: bool) -> Array:
    torch = _torch()
    keep_graph = tracks_gradient(p)
    # Inference mode outlasts enable_grad: tensors made in it cannot be differentiated, their
    # clones can.
    with torch.inference_mode(mode=False), torch.enable_grad():
        x = p if keep_graph else p.detach().clone().requires_grad_(True)
        result = function(x)
        found = tuple(result.shape) if is_torch(result) else f"a {type(result).__name__}"
        if found != tuple(p.shape[:-1]):
            raise bad_value(
                "F",
                f"a function that maps shape {tuple(p.shape)} to {found}",
                f"one value for each point, shape {tuple(p.shape[:-1])}",
                "sum over the last axis only",
            )
        if not result.requires_grad and constant_allowed:
            return torch.zeros_like(p)
        if not result.requires_grad:
            raise bad_value(
                "F",
                "a function whose result does not depend on its argument, as torch sees it",
                "operators and torch functions on the tensor itself",
                "do not detach, copy or convert it; give the gradient where that is not possible",
            )
        (derivative,) = torch.autograd.grad(
            result.sum(), x, create_graph=keep_graph, materialize_grads=True
        )
    return derivative
