"""Inference on the calibration error: tests and comparisons."""

from propercal.inference.calibration_test import CalibrationTest, calibration_test
from propercal.inference.paired import PairedDifference, paired_difference

__all__ = ["CalibrationTest", "PairedDifference", "calibration_test", "paired_difference"]
