"""Generators that are wrong, each in one way, and the law that names it."""

from __future__ import annotations

from typing import Any

import numpy as np

from propercal.generators import BregmanGenerator


class Cubic(BregmanGenerator):
    """Right, in NumPy alone; what is wrong below is wrong in one method."""

    def value(self, p: Any) -> Any:
        return np.sum(p**3, axis=-1) - 1

    def gradient(self, p: Any) -> Any:
        return 3 * p**2

    def hessian(self, p: Any) -> Any:
        return 6 * p[..., None] * np.eye(p.shape[-1], dtype=p.dtype)


class SignError(Cubic):
    def gradient(self, p: Any) -> Any:
        return -3 * p**2


class MissingComponent(Cubic):
    def gradient(self, p: Any) -> Any:
        slope = 3 * p**2
        slope[..., -1] = 0
        return slope


class ShortGradient(Cubic):
    def gradient(self, p: Any) -> Any:
        return (3 * p**2)[..., :-1]


class SmallError(Cubic):
    def gradient(self, p: Any) -> Any:
        return 3 * p**2 * (1 + p * np.asarray(1e-4, dtype=p.dtype))


class DoubledHessian(Cubic):
    def hessian(self, p: Any) -> Any:
        return 2 * super().hessian(p)


class SkewHessian(Cubic):
    def hessian(self, p: Any) -> Any:
        return super().hessian(p) + np.triu(np.ones(2 * p.shape[-1:], dtype=p.dtype), 1)


class Concave(Cubic):
    def value(self, p: Any) -> Any:
        return -super().value(p)

    def gradient(self, p: Any) -> Any:
        return -super().gradient(p)

    def hessian(self, p: Any) -> Any:
        return -super().hessian(p)


class Wavy(BregmanGenerator):
    """‖p‖² with waves, each derivative right: convex in places."""

    def value(self, p: Any) -> Any:
        return np.sum(p**2 + np.asarray(0.01, p.dtype) * np.cos(20 * p), axis=-1)

    def gradient(self, p: Any) -> Any:
        return 2 * p - np.asarray(0.2, p.dtype) * np.sin(20 * p)

    def hessian(self, p: Any) -> Any:
        return (2 - 4 * np.cos(20 * p))[..., None] * np.eye(p.shape[-1], dtype=p.dtype)


class NanAtVertex(BregmanGenerator):
    """Negative entropy, right but for ∇F = p log p / p + 1."""

    def value(self, p: Any) -> Any:
        return np.sum(p * np.log(np.where(p > 0, p, 1)), axis=-1)

    def gradient(self, p: Any) -> Any:
        return p * np.log(p) / p + 1

    def hessian(self, p: Any) -> Any:
        return np.eye(p.shape[-1], dtype=p.dtype) / p[..., None]


class NanValueAtVertex(NanAtVertex):
    def value(self, p: Any) -> Any:
        return np.sum(p * np.log(p), axis=-1)


class OrderOfBatch(Cubic):
    def value(self, p: Any) -> Any:
        first = p.reshape(-1, p.shape[-1])[0, 0]
        return np.sum(p**3, axis=-1) - first


class ChangesInput(Cubic):
    def value(self, p: Any) -> Any:
        p **= 3
        return np.sum(p, axis=-1) - 1


class ChangesInputOfGradient(Cubic):
    def gradient(self, p: Any) -> Any:
        p *= p
        return 3 * p


class LowPrecision(Cubic):
    def value(self, p: Any) -> Any:
        return super().value(p.astype(np.float32))


class HighPrecision(Cubic):
    def gradient(self, p: Any) -> Any:
        return super().gradient(p.astype(np.float64))


class Unbounded(Cubic):
    def value(self, p: Any) -> Any:
        return np.sum(np.log(p), axis=-1)


class WrongFromLog(Cubic):
    def gradient_from_log(self, log_p: Any) -> Any:
        return 2 * np.exp(2 * log_p)


class WrongProduct(Cubic):
    def hessian_times(self, p: Any, v: Any) -> Any:
        return 3 * p * v


class WrongDiagonal(Cubic):
    def hessian_diagonal(self, p: Any) -> Any:
        return 6 * p[..., ::-1]


class WrongDivergence(Cubic):
    def _divergence(self, p: Any, q: Any, log_q: Any) -> Any:
        return super()._divergence(q, p, log_q)


class Raises(Cubic):
    def value(self, p: Any) -> Any:
        if (p == 0).any():
            raise RuntimeError("log of zero")
        return super().value(p)


class TorchDiffers(BregmanGenerator):
    def value(self, p: Any) -> Any:
        return (p**2).sum(-1) - (1 if isinstance(p, np.ndarray | np.generic) else 2)

    def gradient(self, p: Any) -> Any:
        return 2 * p

    def hessian(self, p: Any) -> Any:
        return 2 * np.ones_like(p)[..., None] * np.eye(p.shape[-1], dtype=p.dtype)


WRONG: list[tuple[BregmanGenerator, str]] = [
    (SignError(), "gradient"),
    (MissingComponent(), "gradient"),
    (ShortGradient(), "shapes"),
    (SmallError(), "gradient"),
    (DoubledHessian(), "hessian"),
    (SkewHessian(), "hessian-symmetry"),
    (Concave(), "convexity"),
    (NanAtVertex(), "gradient-not-nan"),
    (NanValueAtVertex(), "value-range"),
    (OrderOfBatch(), "batch-independence"),
    (ChangesInput(), "input-unchanged"),
    (ChangesInputOfGradient(), "input-unchanged"),
    (LowPrecision(), "dtype"),
    (HighPrecision(), "dtype"),
    (Unbounded(), "value-range"),
    (WrongFromLog(), "gradient-from-log"),
    (WrongProduct(), "hessian-products"),
    (WrongDiagonal(), "hessian-products"),
    (WrongDivergence(), "three-point-identity"),
    (Raises(), "shapes"),
]
