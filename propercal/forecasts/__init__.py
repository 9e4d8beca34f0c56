"""Probabilistic forecasts of a number: the CRPS, its parts, and which of two has the lower."""

from propercal.forecasts.crps import CRPSDecomposition, crps_decomposition
from propercal.forecasts.differences import CRPSDifference, crps_difference

__all__ = ["CRPSDecomposition", "CRPSDifference", "crps_decomposition", "crps_difference"]
