"""Probabilistic forecasts of a continuous outcome."""

from propercal.forecasts.crps import CRPSDecomposition, crps_decomposition

__all__ = ["CRPSDecomposition", "crps_decomposition"]
