"""Inference on the calibration error: tests, comparisons and a bound."""

from propercal.inference.calibration_test import CalibrationTest, calibration_test
from propercal.inference.paired import PairedDifference, paired_difference
from propercal.inference.upper_bound import upper_bound

__all__ = [
    "CalibrationTest",
    "PairedDifference",
    "calibration_test",
    "paired_difference",
    "upper_bound",
]
