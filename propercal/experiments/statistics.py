"""Levels of a dataset, means and coverage over replicates, and what they show beyond chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    mean, error = mean_and_error(values, dim)
    # Strictly, for a difference that is 0 in every replicate.
    return abs(mean) > errors_of_chance(values.notnull().sum(dim), level=level) * error


def errors_of_chance(count: xr.DataArray, *, level: float = 0.05) -> xr.DataArray:
    """Return how many standard errors a mean may be from its expectation by chance.

    Parameters
    ----------
    count : xarray.DataArray
        Numbers n of independent replicates.
    level : float
        Probability of more, for normal values.

    Returns
    -------
    xarray.DataArray
        The quantile 1 − level / 2 of Student's t with n − 1 degrees of freedom: 2.8 for n = 5 and
        5 %, NaN for n = 1.

    Examples
    --------
    >>> import xarray as xr
    >>> print(f"{errors_of_chance(xr.DataArray(5)).item():.2f}")
    2.78
    """
    from scipy.stats import t as student

    return count.copy(data=student.ppf(1 - level / 2, count.values - 1))


def share_inside(
    lower: xr.DataArray,
    upper: xr.DataArray,
    truth: xr.DataArray,
    dim: str | Sequence[str] | None = None,
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the share of intervals that hold the truth, and the number of intervals.

    An interval that is not stated, with NaN at an end, is neither a hit nor a miss: it is left
    out of both, and so is one whose truth is NaN.

    Parameters
    ----------
    lower, upper : xarray.DataArray
        Ends, both of the interval.
    truth : xarray.DataArray
    dim : str or sequence of str, optional
        Dimensions of intervals, all of them by default.

    Returns
    -------
    share, count : xarray.DataArray
        Without `dim`. The share of no interval is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> lower = xr.DataArray([0.1, 0.4, np.nan], dims="replicate")
    >>> share, count = share_inside(lower, lower + 0.2, xr.DataArray(0.2))
    >>> print(f"{share.item():.0%} of {count.item()}")
    50% of 2
    """
    stated = lower.notnull() & upper.notnull() & truth.notnull()
    inside = ((lower <= truth) & (truth <= upper)).where(stated)
    return inside.mean(dim), stated.sum(dim)


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
