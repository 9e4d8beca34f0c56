"""Lines of a dataset over one of its dimensions: means over repetitions, and a style for each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from propercal._data.words.messages import bad_value, unknown_name
from propercal.plotting.palette import COLOURS, MARKERS, N_STYLES

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

#: Dimensions along which a dataset holds repetitions of one experiment.
REPETITIONS = ("replicate", "seed")


class Line(NamedTuple):
    """One line of a panel."""

    at: dict[str, Any]
    """Coordinates of the line in its dataset."""
    label: str
    style: dict[str, Any]


def check_dataset(dataset: object, *dims: str, argument: str = "dataset") -> xr.Dataset:
    """Return `dataset` if it is an xarray dataset with these dimensions, or raise."""
    import xarray as xr

    if not isinstance(dataset, xr.Dataset):
        raise bad_value(
            argument,
            f"an object of type {type(dataset).__name__}",
            "an xarray.Dataset",
            "call .to_dataset(name=...) on a DataArray",
        )
    for dim in dims:
        if dim not in dataset.dims:
            raise bad_value(
                argument,
                f"a dataset with the dimensions {', '.join(map(str, dataset.dims)) or 'none'}",
                f"a dimension {dim!r}",
                "rename yours with .rename(...)",
            )
    return dataset


def variable(dataset: xr.Dataset, name: object, argument: str) -> xr.DataArray:
    """Return a variable with coordinates for all its dimensions, or raise."""
    if name not in dataset.data_vars:
        raise unknown_name(argument, name, [str(each) for each in dataset.data_vars])
    found = dataset[name]
    return found.assign_coords(
        {dim: np.arange(found.sizes[dim]) for dim in found.dims if dim not in found.coords}
    )


def mean_and_error(
    values: xr.DataArray, dim: str | Sequence[str]
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the mean over a dimension and its standard error, of the numbers that are present.

    Parameters
    ----------
    values : xarray.DataArray
    dim : str or sequence of str
        Dimension of independent replicates, such as ``"replicate"`` or ``"seed"``.

    Returns
    -------
    mean, standard_error : xarray.DataArray
        Without `dim`. The error is s / √n with s² = Σ (x − mean)² / (n − 1): NaN of a
        single number, and where the mean is infinite.

    Examples
    --------
    >>> import xarray as xr
    >>> mean, error = mean_and_error(xr.DataArray([1.0, 2.0, 3.0], dims="seed"), "seed")
    >>> print(f"{mean.item():.3f} ± {error.item():.3f}")
    2.000 ± 0.577
    """
    with np.errstate(invalid="ignore"):
        error = values.std(dim, ddof=1) / np.sqrt(values.notnull().sum(dim))
    return values.mean(dim), error


def over_repetitions(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray | None]:
    """Return the mean over repetitions and its standard error, None where there are none."""
    over = [dim for dim in REPETITIONS if dim in values.dims]
    if not over:
        return values, None
    mean, error = mean_and_error(values, over)
    return mean, None if bool(error.isnull().all()) else error


def lines_of(values: xr.DataArray, along: str) -> list[Line]:
    """Return a line for each combination of the other dimensions, styled and named by them."""
    if along not in values.dims:
        raise bad_value(
            "dataset",
            f"{values.name} with the dimensions {', '.join(map(str, values.dims)) or 'none'}",
            f"{values.name} along {along!r}",
            "draw what varies",
        )
    others = [str(dim) for dim in values.dims if dim != along]
    shown = [dim for dim in others if values.sizes[dim] > 1]
    n = int(np.prod([values.sizes[dim] for dim in others], dtype=int))
    if n > N_STYLES:
        sizes = ", ".join(f"{dim}: {values.sizes[dim]}" for dim in shown)
        raise bad_value(
            "dataset",
            f"{n} lines ({sizes})",
            f"at most {N_STYLES}",
            "select some with .sel(...), and draw several panels",
        )
    combinations = itertools.product(*(values[dim].values.tolist() for dim in others))
    return [
        Line(
            dict(zip(others, combination, strict=True)),
            ", ".join(_named(d, c) for d, c in zip(others, combination, strict=True) if d in shown),
            {"color": COLOURS[i], "marker": MARKERS[i], "markersize": 4, "linewidth": 1.2},
        )
        for i, combination in enumerate(combinations)
    ]


def _named(dim: str, value: object) -> str:
    if isinstance(value, str):
        return value
    number = f"{value:g}" if isinstance(value, int | float) else str(value)
    forms = {"bandwidth": f"γ = {number}", "n_classes": f"{number} classes"}
    return forms.get(dim, f"{dim.replace('_', ' ')} {number}")


def at(values: xr.DataArray | None, place: dict[str, Any]) -> xr.DataArray | None:
    """Return `values` at those coordinates of `place` that it has."""
    if values is None:
        return None
    return values.sel({dim: each for dim, each in place.items() if dim in values.dims})


def draw_line(ax: Axes, x: str, mean: xr.DataArray, error: xr.DataArray | None, line: Line) -> None:
    """Draw one line with error bars where there are errors."""
    y, spread = at(mean, line.at), at(error, line.at)
    if y is None:
        return
    ax.errorbar(
        y[x].values,
        y.values,
        None if spread is None else spread.values,
        capsize=2,
        label=line.label or str(mean.name).replace("_", " "),
        **line.style,
    )
