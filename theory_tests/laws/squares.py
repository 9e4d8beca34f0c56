"""F(p) = ‖p‖² − 1 as a user may write it: as a function, without a gradient, without a Hessian."""

from __future__ import annotations

from typing import Any

from propercal.generators import BregmanGenerator


def squares(p: Any) -> Any:
    return (p**2).sum(-1) - 1


class NoGradient(BregmanGenerator):
    def value(self, p: Any) -> Any:
        return squares(p)


class NoHessian(NoGradient):
    def gradient(self, p: Any) -> Any:
        return 2 * p
