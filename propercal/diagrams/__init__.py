"""Numbers of diagrams of one event: reliability, Murphy curves, and scores by isotonic curves."""

from propercal.diagrams.murphy import murphy
from propercal.diagrams.reliability import reliability
from propercal.diagrams.scores import isotonic_decomposition

__all__ = ["isotonic_decomposition", "murphy", "reliability"]
