"""The kernel estimate of E[Y | g(X)] at every prediction, for extensions."""

from propercal._kernels.conditional import ConditionalMean, conditional_mean
from propercal._kernels.conditional import kernel_mean as estimate

__all__ = ["ConditionalMean", "conditional_mean", "estimate"]

#: Modules of the last release below this one are found by their aliases.
__path__: list[str] = []
