"""How far predicted probabilities can be trusted: proper calibration errors and what they leave.

A proper loss splits into a calibration error, which recalibration could remove, and a refinement,
which it could not. :func:`decompose` estimates both for any proper loss.
"""

import propercal._interrupts  # noqa: F401 (before what takes long)
from propercal._accessor import install_accessors
from propercal._aliases import install
from propercal._kernels.bandwidth import select_bandwidth
from propercal._kernels.conditional import conditional_mean
from propercal._results.several import Results
from propercal.classical import (
    CalibrationSlope,
    ExpectedCalibrationError,
    HosmerLemeshow,
    SpiegelhalterTest,
    calibration_slope,
    expected_calibration_error,
    hosmer_lemeshow,
    spiegelhalter_test,
)
from propercal.decomposition import decompose
from propercal.diagrams import isotonic_decomposition, murphy, reliability
from propercal.direction import Direction
from propercal.forecasts import (
    CRPSDecomposition,
    CRPSDifference,
    crps_decomposition,
    crps_difference,
)
from propercal.generators import BregmanGenerator
from propercal.inference import (
    CalibrationTest,
    ModelComparison,
    PairedDifference,
    PairedDifferences,
    calibration_test,
    compare_models,
    paired_difference,
    upper_bound,
)
from propercal.monitor import CalibrationMonitor
from propercal.reporting import report
from propercal.result import Decomposition
from propercal.sketch import CalibrationSketch
from propercal.subgroups import GroupDecomposition, decompose_groups
from propercal.terms import calibration_error, refinement, sharpness

install()
install_accessors()

__version__ = "0.1.0"

__all__ = [
    "BregmanGenerator",
    "CRPSDecomposition",
    "CRPSDifference",
    "CalibrationMonitor",
    "CalibrationSketch",
    "CalibrationSlope",
    "CalibrationTest",
    "Decomposition",
    "Direction",
    "ExpectedCalibrationError",
    "GroupDecomposition",
    "HosmerLemeshow",
    "ModelComparison",
    "PairedDifference",
    "PairedDifferences",
    "Results",
    "SpiegelhalterTest",
    "calibration_error",
    "calibration_slope",
    "calibration_test",
    "compare_models",
    "conditional_mean",
    "crps_decomposition",
    "crps_difference",
    "decompose",
    "decompose_groups",
    "expected_calibration_error",
    "hosmer_lemeshow",
    "isotonic_decomposition",
    "murphy",
    "paired_difference",
    "refinement",
    "reliability",
    "report",
    "select_bandwidth",
    "sharpness",
    "spiegelhalter_test",
    "upper_bound",
]
