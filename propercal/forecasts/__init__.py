"""Probabilistic forecasts of a number: the CRPS and its parts."""

from propercal.forecasts.crps import CRPSDecomposition, crps_decomposition

__all__ = ["CRPSDecomposition", "crps_decomposition"]
