"""Calibration over time: evidence against it that may be looked at after every row."""

from propercal.monitor.monitor import CalibrationMonitor

__all__ = ["CalibrationMonitor"]
