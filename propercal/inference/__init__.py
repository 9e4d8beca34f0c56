"""Inference on the calibration error: tests."""

from propercal.inference.resampling import CalibrationTest, calibration_test

__all__ = ["CalibrationTest", "calibration_test"]
