"""Inference on the calibration error: tests and comparisons."""

from propercal.inference.calibration_test import CalibrationTest, calibration_test
from propercal.inference.differences import PairedDifference, PairedDifferences
from propercal.inference.paired import paired_difference

__all__ = ["CalibrationTest", "PairedDifference", "PairedDifferences", "calibration_test", "paired_difference"]
