"""E[Y | g(X)] at every prediction."""

from propercal.conditional.estimate import ConditionalMean, conditional_mean, estimate

__all__ = ["ConditionalMean", "conditional_mean", "estimate"]
