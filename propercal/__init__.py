"""How far predicted probabilities can be trusted: proper calibration errors and what they leave.

A proper loss splits into a calibration error, which recalibration could remove, and a refinement,
which it could not. :func:`decompose` estimates both for any proper loss.
"""

from propercal.bandwidth import select_bandwidth
from propercal.conditional import conditional_mean
from propercal.decomposition import decompose
from propercal.generators import BregmanGenerator
from propercal.inference import (
    CalibrationTest,
    PairedDifference,
    calibration_test,
    paired_difference,
)
from propercal.result import Decomposition
from propercal.sketch import CalibrationSketch
from propercal.terms import calibration_error, refinement, sharpness

__version__ = "0.1.0"

__all__ = [
    "BregmanGenerator",
    "CalibrationSketch",
    "CalibrationTest",
    "Decomposition",
    "PairedDifference",
    "calibration_error",
    "calibration_test",
    "conditional_mean",
    "decompose",
    "paired_difference",
    "refinement",
    "select_bandwidth",
    "sharpness",
]
