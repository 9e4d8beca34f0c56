"""Accumulators for streams and clusters."""

from propercal.sketch.accumulator import CalibrationSketch

__all__ = ["CalibrationSketch"]
