"""Generators that are wrong, each in one way, and the law that names it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from propercal.generators import BregmanGenerator
from theory_tests.instances import written


def diagonal(entries: Any) -> Any:
    return entries[..., None] * np.eye(entries.shape[-1], dtype=entries.dtype)


class Cubic(BregmanGenerator):
    """Right, in NumPy alone; most of what is below is wrong in one method of it."""

    def value(self, p: Any) -> Any:
        return np.sum(p**3, axis=-1) - 1

    def gradient(self, p: Any) -> Any:
        return 3 * p**2

    def hessian(self, p: Any) -> Any:
        return diagonal(6 * p)


class Raises(Cubic):
    def value(self, p: Any) -> Any:
        if (p == 0).any():
            raise RuntimeError("log of zero")
        return super().value(p)


CUBIC = Cubic()
CHANGES: dict[str, tuple[str, dict[str, Callable[..., Any]]]] = {
    "SignError": ("gradient", {"gradient": lambda p: -3 * p**2}),
    "MissingComponent": ("gradient", {"gradient": lambda p: 3 * p**2 * (np.arange(p.shape[-1]) < p.shape[-1] - 1)}),
    "ShortGradient": ("shapes", {"gradient": lambda p: (3 * p**2)[..., :-1]}),
    "SmallError": ("gradient", {"gradient": lambda p: 3 * p**2 * (1 + p * np.asarray(1e-4, dtype=p.dtype))}),
    "DoubledHessian": ("hessian", {"hessian": lambda p: 2 * CUBIC.hessian(p)}),
    "SkewHessian": ("hessian-symmetry", {"hessian": lambda p: CUBIC.hessian(p) + np.triu(np.ones(2 * p.shape[-1:], dtype=p.dtype), 1)}),
    "Concave": ("convexity", {"value": lambda p: -CUBIC.value(p), "gradient": lambda p: -CUBIC.gradient(p), "hessian": lambda p: -CUBIC.hessian(p)}),
    "OrderOfBatch": ("batch-independence", {"value": lambda p: np.sum(p**3, axis=-1) - p.reshape(-1, p.shape[-1])[0, 0]}),
    "ChangesInput": ("input-unchanged", {"value": lambda p: np.sum(np.power(p, 3, out=p), axis=-1) - 1}),
    "ChangesInputOfGradient": ("input-unchanged", {"gradient": lambda p: 3 * np.multiply(p, p, out=p)}),
    "LowPrecision": ("dtype", {"value": lambda p: CUBIC.value(p.astype(np.float32))}),
    "HighPrecision": ("dtype", {"gradient": lambda p: CUBIC.gradient(p.astype(np.float64))}),
    "Unbounded": ("value-range", {"value": lambda p: np.sum(np.log(p), axis=-1)}),
    "WrongFromLog": ("gradient-from-log", {"gradient_from_log": lambda log_p: 2 * np.exp(2 * log_p)}),
    "WrongProduct": ("hessian-products", {"hessian_times": lambda p, v: 3 * p * v}),
    "WrongDiagonal": ("hessian-products", {"hessian_diagonal": lambda p: 6 * p[..., ::-1]}),
    "WrongDivergence": ("three-point-identity", {"_divergence": lambda p, q, log_q: CUBIC._divergence(q, p, log_q)}),
}
WRONG: dict[str, BregmanGenerator] = {name: written(name, Cubic, **methods) for name, (_, methods) in CHANGES.items()}
WRONG["Raises"] = Raises()
#: ‖p‖² with waves, each derivative right: convex in places.
WAVY = written(
    "Wavy",
    value=lambda p: np.sum(p**2 + np.asarray(0.01, p.dtype) * np.cos(20 * p), axis=-1),
    gradient=lambda p: 2 * p - np.asarray(0.2, p.dtype) * np.sin(20 * p),
    hessian=lambda p: diagonal(2 - 4 * np.cos(20 * p)),
)
#: Negative entropy, right but for ∇F = p log p / p + 1.
WRONG["NanAtVertex"] = written(
    "NanAtVertex",
    value=lambda p: np.sum(p * np.log(np.where(p > 0, p, 1)), axis=-1),
    gradient=lambda p: p * np.log(p) / p + 1,
    hessian=lambda p: np.eye(p.shape[-1], dtype=p.dtype) / p[..., None],
)
WRONG["NanValueAtVertex"] = written(
    "NanValueAtVertex", type(WRONG["NanAtVertex"]), value=lambda p: np.sum(p * np.log(p), axis=-1)
)
TORCH_DIFFERS = written(
    "TorchDiffers",
    value=lambda p: (p**2).sum(-1) - (1 if isinstance(p, np.ndarray | np.generic) else 2),
    gradient=lambda p: 2 * p,
    hessian=lambda p: 2 * np.ones_like(p)[..., None] * np.eye(p.shape[-1], dtype=p.dtype),
)
#: Name of the generator, and of the law that it violates.
VIOLATED = {name: law for name, (law, _) in CHANGES.items()}
VIOLATED |= {"NanAtVertex": "gradient-not-nan", "NanValueAtVertex": "value-range", "Raises": "shapes"}
