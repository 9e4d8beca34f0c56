"""Inference on the calibration error: tests and comparisons."""

from propercal.inference.paired import PairedDifference, paired_difference
from propercal.inference.resampling import CalibrationTest, calibration_test

__all__ = ["CalibrationTest", "PairedDifference", "calibration_test", "paired_difference"]
