"""Metrics of torchmetrics: calibration error and refinement in a training loop, over processes.

Each keeps what ``update`` sees, on the device where it is, and gathers it from all processes in
``compute``. Rows are kept as they are (:class:`ProperCalibrationError`, :class:`Refinement`),
or summed up in tables of a fixed size (:class:`StreamingCalibrationError`).

>>> import torch
>>> from propercal.simulation import TemperatureScaledSimplex
>>> target, preds, _ = TemperatureScaledSimplex(3).sample(1000, random_state=0)
>>> metric = ProperCalibrationError()
>>> for rows in torch.arange(1000).split(300):
...     metric.update(torch.as_tensor(preds)[rows], torch.as_tensor(target)[rows])
>>> print(f"{metric.compute():.3f}")
0.042
"""

try:
    import torchmetrics as _  # noqa: F401
except ImportError as error:
    raise ImportError(
        "propercal.torchmetrics is made of metrics of torchmetrics, which is not installed; run "
        '`pip install "propercal[torchmetrics]"`.'
    ) from error

from propercal.torchmetrics.functional import proper_calibration_error, refinement
from propercal.torchmetrics.listed import ProperCalibrationError, Refinement
from propercal.torchmetrics.streaming import StreamingCalibrationError

__all__ = [
    "ProperCalibrationError",
    "Refinement",
    "StreamingCalibrationError",
    "proper_calibration_error",
    "refinement",
]
