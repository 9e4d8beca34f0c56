"""Levels of a dataset, means over replicates, and what they show beyond chance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

from propercal.plotting.lines import mean_and_error

if TYPE_CHECKING:
    import xarray as xr


def beyond_chance(values: xr.DataArray, dim: str, *, level: float = 0.05) -> xr.DataArray:
    """Say where a mean over a dimension differs from 0, by Student's t with n − 1 degrees.

    Parameters
    ----------
    values : xarray.DataArray
        Differences, of the same replicates.
    dim : str
        Dimension of independent replicates.
    level : float
        Probability of saying so where the expectation is 0, for normal values.

    Returns
    -------
    xarray.DataArray
        Booleans without `dim`.

    Examples
    --------
    >>> import xarray as xr
    >>> beyond_chance(xr.DataArray([0.9, 1.0, 1.1], dims="seed"), "seed").item()
    True
    """
    from scipy.stats import t as student

    mean, error = mean_and_error(values, dim)
    # Strictly, for a difference that is 0 in every replicate.
    return abs(mean) > student.ppf(1 - level / 2, values.notnull().sum(dim) - 1) * error


def selections(dataset: xr.Dataset, *dims: str) -> Iterator[tuple[tuple[Any, ...], xr.Dataset]]:
    """Yield every combination of levels of some dimensions, and the dataset at it.

    Parameters
    ----------
    dataset : xarray.Dataset
    *dims : str
        Dimensions, the slowest first.

    Yields
    ------
    levels : tuple
        One of each dimension, as Python numbers or strings.
    at : xarray.Dataset
        The dataset at these levels, which are scalar coordinates there.
    """
    for levels in product(*(dataset[dim].values.tolist() for dim in dims)):
        yield levels, dataset.sel(dict(zip(dims, levels, strict=True)))
