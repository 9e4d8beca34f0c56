"""One call for each place along the dimensions that are kept, lazily where arrays are.

Each call gets data arrays again, with the coordinates of its place, so that rows and classes are
matched, or refused, by the reader of all other functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from propercal._data.predictions.unrelated import looked_at_together
from propercal._data.words.messages import bad_value, held_warnings, warn
from propercal._progress import part
from propercal._results.flat import BOUND
from propercal.xarray.division import Division
from propercal.xarray.fields import Field, Floats, vector
from propercal.xarray.lazy_coords import without_lazy

if TYPE_CHECKING:
    import xarray as xr

_FIELD = "propercal_field"

#: Names of a list, such as generators, by what they are of.
Axes = Mapping[str, Sequence[str]]


@dataclass
class Cells:
    """What is asked at each place."""

    ask: Callable[..., Any]
    """From data arrays to a result, or to lists of results along the axes."""
    arrays: Mapping[str, xr.DataArray]
    division: Division
    fields: Sequence[Field]
    axes: Axes
    units: str = ""
    said: list[tuple[str, str]] = field(default_factory=list)
    """What was warned of, and where, if that is said in the end."""

    def __post_init__(self) -> None:
        taken = [dim for dim in self.division.kept if dim in (*self.axes, BOUND, _FIELD)]
        empty = [
            dim for each in self.arrays.values() for dim, size in each.sizes.items() if not size
        ]
        if empty:
            raise bad_value(
                "y_proba", f"no place along {empty[0]!r}", "one or more", "select some places"
            )
        if taken:
            raise bad_value(
                "y_proba",
                f"a dimension {taken[0]!r}, which results have too",
                "another name",
                f"rename it by .rename({taken[0]}=...)",
            )

    def dataset(self) -> xr.Dataset:
        """Return the numbers of all places as variables."""
        import xarray as xr

        lazy = any(each.chunks is not None for each in self.arrays.values())
        with nullcontext() if lazy else looked_at_together():
            numbers = self._numbers(lazy)
        if not lazy:
            self._say()
        found: dict[Hashable, xr.DataArray] = {}
        start = 0
        for each in self.fields:
            stop = start + len(each.keys)
            values = numbers.isel({_FIELD: slice(start, stop)})
            values = values.rename({_FIELD: BOUND}) if each.bounds else values.isel({_FIELD: 0})
            values = values.astype(np.int64) if each.counts else values
            words = each.name.replace("_", " ")
            units = {"units": self.units} if self.units and each.in_units else {}
            found[each.name] = values.assign_attrs(long_name=words, **units)
            start = stop
        data = xr.Dataset(found)
        coords: dict[Hashable, Any] = {name: list(names) for name, names in self.axes.items()}
        if BOUND in data.dims:
            coords[BOUND] = ["lower", "upper"]
        return data.assign_coords(self._kept_coords()).assign_coords(coords)

    def _numbers(self, lazy: bool) -> xr.DataArray:
        """Return one vector for each place."""
        import xarray as xr

        places = self._places()
        stripped: list[xr.DataArray] = [places]
        core: list[list[Hashable]] = [[]]
        for values in self.arrays.values():
            dims = self.division.core(values)
            if values.chunks is not None:
                # The rows of one result are computed together.
                values = values.chunk(dict.fromkeys(dims, -1))
            stripped.append(values.drop_vars(list(values.coords)))
            core.append(dims)
        sizes = {name: len(names) for name, names in self.axes.items()}
        sizes[_FIELD] = sum(len(each.keys) for each in self.fields)
        found: xr.DataArray = xr.apply_ufunc(
            _Call(self, places.size, lazy),
            *stripped,
            input_core_dims=core,
            output_core_dims=[list(sizes)],
            vectorize=True,
            dask="parallelized",
            output_dtypes=[np.float64],
            dask_gufunc_kwargs={"output_sizes": sizes},
        )
        return found.transpose(*self.division.kept, ...)

    def _places(self) -> xr.DataArray:
        """Return a number for each place along all kept dimensions."""
        import xarray as xr

        sizes = {
            dim: next(each.sizes[dim] for each in self.arrays.values() if dim in each.dims)
            for dim in self.division.kept
        }
        shape = tuple(sizes.values())
        return xr.DataArray(np.arange(np.prod(shape, dtype=int)).reshape(shape), dims=list(sizes))

    def _kept_coords(self) -> dict[Hashable, Any]:
        """Return the coordinates of the dimensions that are kept."""
        kept = set(self.division.kept)
        found: dict[Hashable, Any] = {}
        odd: set[Hashable] = set()
        # The predictions first.
        for values in reversed(list(self.arrays.values())):
            for name, each in values.coords.items():
                selected = name in kept and name not in each.dims
                if selected or not set(each.dims) <= kept or name in self.axes:
                    continue
                if name in found and not _are_equal(each, found[name]):
                    odd.add(name)
                found[name] = each
        return {name: each for name, each in found.items() if name not in odd}

    def _say(self) -> None:
        """Warn once of each kind of thing, however many places it is said of."""
        kinds: dict[str, list[tuple[str, str]]] = {}
        for where, message in self.said:
            kinds.setdefault(re.sub(r"[-\d.e,\[\]]+", "#", message), []).append((where, message))
        for (where, message), *others in kinds.values():
            more = f" (and at {len(others)} more places)" if others else ""
            warn(f"{_at(where)}{message}{more}")


@dataclass
class _Call:
    """What is called with the blocks of each place."""

    cells: Cells
    n_places: int
    lazy: bool

    def __post_init__(self) -> None:
        import xarray as xr

        own = self.cells
        # Coordinates alone, since what is lazy is not computed again at each place.
        self._coords = {
            name: xr.Dataset(coords=without_lazy(each).coords) for name, each in own.arrays.items()
        }
        self._dims = {name: own.division.core(each) for name, each in own.arrays.items()}
        self._sizes = {
            dim: next(each.sizes[dim] for each in own.arrays.values() if dim in each.dims)
            for dim in own.division.kept
        }
        self._said_of: dict[str, Any] = {
            name: {"name": each.name, "attrs": each.attrs} for name, each in own.arrays.items()
        }
        # Arrays are passed block by block.
        self.cells = Cells(own.ask, {}, own.division, own.fields, own.axes, own.units, own.said)

    def __call__(self, place: Any, *blocks: npt.NDArray[Any]) -> Floats:
        """Return the numbers of one place."""
        own, number = self.cells, int(place)
        at = dict(
            zip(self._sizes, np.unravel_index(number, tuple(self._sizes.values())), strict=True)
        )
        arrays = {
            name: self._array(name, block, at)
            for name, block in zip(self._dims, blocks, strict=True)
        }
        with held_warnings() as said:
            try:
                result = self._asked(arrays, number)
            except ValueError as error:
                raise ValueError(f"{_at(self._where(at))}{self._said(error)}") from error
        for message in said:
            if self.lazy:
                warn(f"{_at(self._where(at))}{message}")
            else:
                own.said.append((self._where(at), message))
        return self._flat(result)

    def _asked(self, arrays: Mapping[str, xr.DataArray], number: int) -> Any:
        if self.lazy:
            return self.cells.ask(**arrays, progress=False)
        with part(1 / max(self.n_places - number, 1)):
            return self.cells.ask(**arrays)

    def _array(self, name: str, block: npt.NDArray[Any], at: Mapping[Any, Any]) -> xr.DataArray:
        import xarray as xr

        coords = self._coords[name]
        here = coords.isel({dim: int(i) for dim, i in at.items() if dim in coords.dims}, drop=True)
        return xr.DataArray(block, dims=self._dims[name], coords=here.coords, **self._said_of[name])

    def _said(self, error: ValueError) -> str:
        """Return what is wrong, in the words of these functions."""
        words, division = str(error).replace("sample_weight", "weights"), self.cells.division
        if division.guessed and ("columns" in words or "sum to" in words):
            words += (
                f" ({division.classes!r} was taken as the dimension of the classes: if it is none, "
                "name it in preserve_dims)"
            )
        return words

    def _where(self, at: Mapping[Any, Any]) -> str:
        """Return a place in words."""
        words = []
        for dim, i in at.items():
            named = (each[dim] for each in self._coords.values() if dim in each.coords)
            values = next(named, None)
            value = int(i) if values is None else values.to_numpy()[int(i)]
            words.append(f"{dim} = {value.item() if isinstance(value, np.generic) else value!s}")
        return ", ".join(words)

    def _flat(self, result: Any) -> Floats:
        """Return vectors of a result, or of lists of them."""

        def of(found: Any, depth: int) -> Floats:
            if depth == 0:
                return vector(found, self.cells.fields)
            return np.stack([of(each, depth - 1) for each in found])

        return of(result, len(self.cells.axes))


def _are_equal(one: xr.DataArray, other: xr.DataArray) -> bool:
    """Tell whether coordinates are equal; those that are lazy still are one and the same."""
    lazy = one.chunks is not None or other.chunks is not None
    return lazy or bool(one.variable.equals(other.variable))  # type: ignore[no-untyped-call]


def _at(where: str) -> str:
    return f"at {where}: " if where else ""
