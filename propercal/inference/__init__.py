"""Inference on the calibration error and the risk: tests, comparisons and a bound."""

from propercal.inference.calibration_test import CalibrationTest, calibration_test
from propercal.inference.comparison import compare_models
from propercal.inference.differences import PairedDifference, PairedDifferences
from propercal.inference.model_comparison import ModelComparison, ModelPair, Rank
from propercal.inference.paired import paired_difference
from propercal.inference.upper_bound import upper_bound

__all__ = [
    "CalibrationTest",
    "ModelComparison",
    "ModelPair",
    "PairedDifference",
    "PairedDifferences",
    "Rank",
    "calibration_test",
    "compare_models",
    "paired_difference",
    "upper_bound",
]
