"""Accumulators for streams of rows, and for rows on several machines."""

from propercal.sketch.accumulator import CalibrationSketch

__all__ = ["CalibrationSketch"]
