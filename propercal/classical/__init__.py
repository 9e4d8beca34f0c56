"""The classical checks of calibration, for those who must report them.

Each is what its name says, with what the published definition leaves out: intervals, weights and
dependent rows, and beside a calibration error its value for a calibrated model. None of them is an
estimate of a proper calibration error; :func:`propercal.decompose` is.
"""

from propercal.classical.expected_calibration_error import (
    ExpectedCalibrationError,
    IfCalibrated,
    expected_calibration_error,
)
from propercal.classical.hosmer_lemeshow import HosmerLemeshow, hosmer_lemeshow
from propercal.classical.slope import CalibrationSlope, calibration_slope
from propercal.classical.spiegelhalter import SpiegelhalterTest, spiegelhalter_test

__all__ = [
    "CalibrationSlope",
    "ExpectedCalibrationError",
    "HosmerLemeshow",
    "IfCalibrated",
    "SpiegelhalterTest",
    "calibration_slope",
    "expected_calibration_error",
    "hosmer_lemeshow",
    "spiegelhalter_test",
]
