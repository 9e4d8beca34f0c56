"""Predictions and labels from a file, whatever its format."""

from propercal._files.prediction_file import PredictionFile
from propercal._files.reading import read_predictions

__all__ = ["PredictionFile", "read_predictions"]
