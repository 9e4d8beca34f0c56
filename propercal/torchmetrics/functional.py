"""The metrics as functions of tensors, in the order of arguments that torchmetrics has."""

from __future__ import annotations

from typing import Any

import torch

from propercal.torchmetrics.listed import ListedMetric, ProperCalibrationError, Refinement


def proper_calibration_error(
    preds: torch.Tensor,
    target: torch.Tensor,
    *,
    sample_weight: torch.Tensor | None = None,
    **options: Any,
) -> torch.Tensor:
    """Estimate the calibration error of the rows of this process.

    Parameters
    ----------
    preds, target, sample_weight, **options
        As in :class:`ProperCalibrationError`, and its `update`.

    Returns
    -------
    scalar tensor
        NaN, with a warning, of fewer rows than the method can take.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> target, preds, _ = TemperatureScaledSimplex(3).sample(1000, random_state=0)
    >>> error = proper_calibration_error(torch.as_tensor(preds), torch.as_tensor(target))
    >>> print(f"{error:.3f}")
    0.042
    """
    return _of_rows(ProperCalibrationError, preds, target, sample_weight, options)


def refinement(
    preds: torch.Tensor,
    target: torch.Tensor,
    *,
    sample_weight: torch.Tensor | None = None,
    **options: Any,
) -> torch.Tensor:
    """Estimate the refinement of the rows of this process.

    Parameters
    ----------
    preds, target, sample_weight, **options
        As in :class:`Refinement`, and its `update`.

    Returns
    -------
    scalar tensor
        NaN, with a warning, of fewer rows than the method can take.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> target, preds, _ = TemperatureScaledSimplex(3).sample(1000, random_state=0)
    >>> print(f"{refinement(torch.as_tensor(preds), torch.as_tensor(target)):.3f}")
    0.769
    """
    return _of_rows(Refinement, preds, target, sample_weight, options)


def _of_rows(
    metric: type[ListedMetric],
    preds: torch.Tensor,
    target: torch.Tensor,
    sample_weight: torch.Tensor | None,
    options: dict[str, Any],
) -> torch.Tensor:
    one = metric(**{**options, "sync_on_compute": False})
    one.update(preds, target, sample_weight)
    return one.compute()
