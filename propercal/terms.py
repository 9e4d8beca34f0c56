"""One term of the decomposition: calibration error, refinement or sharpness."""

from __future__ import annotations

from typing import Any, Unpack

from propercal._data.words.messages import bad_value
from propercal.decomposition import DataOptions, decompose
from propercal.generators.registry import GeneratorLike
from propercal.methods import MethodLike


class _Options(DataOptions, total=False):
    """Keyword arguments of :func:`decompose`, for one generator and method."""

    generator: GeneratorLike
    method: MethodLike


def calibration_error(y_true: object, y_proba: object, **options: Unpack[_Options]) -> Any:
    """Estimate the calibration error E D_F(E[Y | g(X)], g(X)).

    Parameters
    ----------
    y_true, y_proba, **options
        As in :func:`propercal.decompose`, which states methods, errors and limits.

    Returns
    -------
    float or scalar tensor
        In nats for the log loss; for torch input a tensor that carries the gradient.

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(1000, random_state=0)
    >>> print(f"{calibration_error(y_true, y_proba):.3f}")
    0.042
    """
    return _one_term("calibration_error", y_true, y_proba, options)


def refinement(y_true: object, y_proba: object, **options: Unpack[_Options]) -> Any:
    """Estimate the refinement E[−F(E[Y | g(X)])], the loss that recalibration cannot remove.

    Parameters
    ----------
    y_true, y_proba, **options
        As in :func:`propercal.decompose`, which states methods, errors and limits.

    Returns
    -------
    float or scalar tensor
        In nats for the log loss; for torch input a tensor that carries the gradient.

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(1000, random_state=0)
    >>> print(f"{refinement(y_true, y_proba):.3f}")
    0.769
    """
    return _one_term("refinement", y_true, y_proba, options)


def sharpness(y_true: object, y_proba: object, **options: Unpack[_Options]) -> Any:
    """Estimate the sharpness E D_F(E[Y | g(X)], E Y), the information of g(X) about Y.

    Parameters
    ----------
    y_true, y_proba, **options
        As in :func:`propercal.decompose`, which states methods, errors and limits.

    Returns
    -------
    float or scalar tensor
        For the log loss, the mutual information in nats; for torch input a tensor that carries
        the gradient.

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(1000, random_state=0)
    >>> print(f"{sharpness(y_true, y_proba):.3f}")
    0.330
    """
    return _one_term("sharpness", y_true, y_proba, options)


def _one_term(name: str, y_true: object, y_proba: object, options: _Options) -> Any:
    result = decompose(y_true, y_proba, **options)
    if isinstance(result, list):
        argument = "method" if isinstance(options.get("method"), list | tuple) else "generator"
        raise bad_value(
            argument,
            "a list",
            f"one {argument}",
            "call decompose(...) for several results from one kernel pass",
        )
    return getattr(result, name)
