"""A generator from a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from propercal._typing import Array
from propercal.generators import autodiff
from propercal.generators.base import BregmanGenerator


@final
@dataclass(frozen=True, repr=False)
class _FromFunction(BregmanGenerator):
    function: Callable[[Array], Array]
    label: str

    @property
    def name(self) -> str:
        return self.label

    def __repr__(self) -> str:
        return f"from_function({self.label})"

    def value(self, p: Array) -> Array:
        return autodiff.through_torch(self.function, p)


def from_function(F: Callable[[Array], Array], *, name: str | None = None) -> BregmanGenerator:
    """Make a generator of a convex function; its derivatives come from automatic differentiation.

    Parameters
    ----------
    F : callable
        Maps a tensor of shape (..., k) to one of shape (...), each point by itself, in operators
        and torch functions. An array of another library is passed to it as a float64 tensor.
    name : str, optional
        By default the name of `F`, or ``"custom"`` for a lambda.

    Returns
    -------
    BregmanGenerator

    Raises
    ------
    ImportError
        When first used, if torch is not installed.
    ValueError
        When first differentiated, if `F` does not give one value for each point.

    Notes
    -----
    Nothing checks that `F` is convex. On the boundary the derivatives are what torch makes of `F`,
    which may be NaN: write p log p as ``-torch.special.entr(p)``, whose slope at 0 is −∞.

    Examples
    --------
    >>> import numpy as np
    >>> def cubic(p):
    ...     return (p**3).sum(-1) - 1
    >>> generator = from_function(cubic)
    >>> print(generator.name, generator.gradient(np.asarray([0.5, 0.5])))
    cubic [0.75 0.75]
    """
    label = getattr(F, "__name__", "custom") if name is None else name
    return _FromFunction(F, "custom" if label == "<lambda>" else label)
