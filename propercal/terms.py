"""One term of a decomposition as one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

from propercal._messages import bad_value
from propercal.decomposition import GeneratorLike, decompose


class Options(TypedDict, total=False):
    """Keyword arguments of :func:`propercal.decompose`, for one generator."""

    generator: GeneratorLike
    notion: str
    method: str
    kernel: str
    bandwidth: float | str
    recalibrator: object
    n_folds: int
    random_state: Any
    algorithm: str
    exclude_self: bool
    from_logits: bool
    sample_weight: object
    labels: Sequence[Any] | None


def calibration_error(y_true: object, y_proba: object, **options: Unpack[Options]) -> Any:
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
    0.043
    """
    return _one_term("calibration_error", y_true, y_proba, options)


def refinement(y_true: object, y_proba: object, **options: Unpack[Options]) -> Any:
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


def sharpness(y_true: object, y_proba: object, **options: Unpack[Options]) -> Any:
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


def _one_term(name: str, y_true: object, y_proba: object, options: Options) -> Any:
    result = decompose(y_true, y_proba, **options)
    if isinstance(result, list):
        raise bad_value(
            "generator",
            "a list",
            "one generator",
            "call decompose(...) for several results from one kernel pass",
        )
    return getattr(result, name)
