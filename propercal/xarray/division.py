"""Which dimensions of labelled arrays are averaged over, are kept, and are the classes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from propercal._data.inputs.holders import is_labelled
from propercal._data.rows.coordinates import check_grids, order_along
from propercal._data.rows.layout import listed, some_dims
from propercal._data.rows.scalars import check_place
from propercal._data.words.messages import bad_value
from propercal.xarray.lazy_coords import settled, without_lazy

if TYPE_CHECKING:
    import xarray as xr

Dims = Hashable | Sequence[Hashable] | None

_ALL = "all"
#: What is given beside labels and predictions.
_BESIDE = ("weights", "groups")


@dataclass(frozen=True)
class Division:
    """What the dimensions of predictions and labels are for."""

    samples: tuple[Hashable, ...]
    """Those of the rows of one result, in the order of the predictions."""
    kept: tuple[Hashable, ...]
    """Those of the results."""
    classes: Hashable | None
    guessed: bool = False
    """Whether the classes were told by what labels lack."""

    @classmethod
    def of(
        cls,
        y_true: xr.DataArray,
        y_proba: xr.DataArray,
        *,
        class_dim: Hashable | None,
        dim: Dims = None,
        reduce_dims: Dims = None,
        preserve_dims: Dims = None,
    ) -> Division:
        """Decide, or raise where it cannot be told."""
        argument, named = _one_of(dim=dim, reduce_dims=reduce_dims, preserve_dims=preserve_dims)
        labels, proba = tuple(y_true.dims), tuple(y_proba.dims)
        every = tuple(dict.fromkeys((*proba, *labels)))
        _check_known("class_dim", listed(class_dim), proba)
        everything = named == [_ALL] and _ALL not in every
        _check_known(argument, [] if everything else named, every)
        if class_dim in named and class_dim is not None:
            raise bad_value(
                argument, repr(class_dim), "dimensions but that of the classes", "leave it out"
            )
        classes = class_dim
        if classes is None:
            classes = _class_dim(labels, proba, [] if everything else named, argument)
        rest = tuple(each for each in every if each != classes)
        if not argument:
            chosen = tuple(each for each in labels if each != classes)
        elif everything:
            chosen = rest
        else:
            chosen = tuple(named)
        if argument == "preserve_dims":
            chosen = tuple(each for each in rest if each not in chosen)
        samples = tuple(each for each in rest if each in chosen)
        kept = tuple(each for each in rest if each not in chosen)
        found = cls(samples, kept, classes, guessed=classes is not class_dim)
        found.check(argument, labels, proba)
        return found

    def check(self, argument: str, labels: Sequence[Hashable], proba: Sequence[Hashable]) -> None:
        """Raise if there are no rows, or labels or predictions lack a dimension of theirs."""
        if not self.samples:
            raise bad_value(
                argument or "y_true",
                "no dimension to average over"
                if argument
                else f"dimensions {some_dims(labels)}, none of which is of samples",
                "one or more, whose places are rows",
                f"name some of {some_dims(self.kept)} as reduce_dims",
            )
        for name, dims in (("y_true", labels), ("y_proba", proba)):
            missing = [each for each in self.samples if each not in dims]
            if missing:
                raise bad_value(
                    name,
                    f"dimensions {some_dims(dims)}",
                    f"those that are averaged over, {some_dims(self.samples)}",
                    f"keep {missing[0]!r} by preserve_dims, or repeat {name} along it by "
                    ".broadcast_like and say by groups= which rows are the same",
                )

    def core(self, values: xr.DataArray) -> list[Hashable]:
        """Return the dimensions of an array that belong to one result, in one order."""
        wanted = (*self.samples, *([] if self.classes is None else [self.classes]))
        return [each for each in wanted if each in values.dims]

    def in_one_order(self, arrays: Mapping[str, xr.DataArray]) -> dict[str, xr.DataArray]:
        """Return arrays whose kept dimensions go along with each other, or raise.

        Those of samples are looked at here, and brought into one order where rows are read.
        """
        found: dict[str, xr.DataArray] = {}
        for argument, values in settled(arrays, self.classes).items():
            self._check_dims(argument, values)
            for name, other in found.items():
                values = self._beside(argument, values, name, other)
            found[argument] = values
        return found

    def _beside(
        self, argument: str, values: xr.DataArray, name: str, other: xr.DataArray
    ) -> xr.DataArray:
        """Return an array whose kept dimensions go along with those of another, or raise."""
        # What weighs rows, or puts them into groups, may be kept of any one time.
        words = argument in _BESIDE
        for dim in (*self.kept, *self.samples):
            if dim in other.dims:
                check_place(argument, values, other, dim, name, words=words)
            elif dim in values.dims:
                check_place(name, other, values, dim, argument, words=name in _BESIDE)
            if dim not in values.dims or dim not in other.dims:
                continue
            if values.sizes[dim] != other.sizes[dim]:
                raise bad_value(
                    argument,
                    f"{values.sizes[dim]} places along {dim!r}",
                    f"{other.sizes[dim]}, as {name} has",
                    "select the same ones of both",
                )
            order = order_along(argument, without_lazy(values), without_lazy(other), dim, name)
            if order is not None and dim in self.kept:
                values = values.isel({dim: order})
        check_grids(argument, self._kept_coords(values), self._kept_coords(other), name)
        return values

    def _check_dims(self, argument: str, values: xr.DataArray) -> None:
        known = (*self.samples, *self.kept)
        allowed = known if argument in _BESIDE else (*known, self.classes)
        odd = [each for each in values.dims if each not in allowed]
        if odd:
            raise bad_value(
                argument,
                f"dimensions {some_dims(values.dims)}",
                f"some of {some_dims(known)}",
                "rename them, or select a place along the others",
            )

    def _kept_coords(self, values: xr.DataArray) -> xr.DataArray:
        """Return an array without the coordinates that depend on samples or classes."""
        others = [n for n, each in values.coords.items() if not set(each.dims) <= set(self.kept)]
        return without_lazy(values.drop_vars(others))


def check_labelled(argument: str, values: object) -> None:
    """Raise unless a value is a data array."""
    if not is_labelled(values):
        raise bad_value(
            argument,
            f"a {type(values).__name__}",
            "a DataArray of xarray, whose dimensions have names",
            'pass xarray.DataArray(values, dims=[...]), or one variable of a Dataset, ds["name"]',
        )


def _one_of(**given: Dims) -> tuple[str, list[Hashable]]:
    """Return which argument is given, and the dimensions that it names."""
    named = {name: listed(value) for name, value in given.items() if value is not None}
    if len(named) > 1:
        first, second, *_ = named
        raise bad_value(
            second,
            repr(given[second]),
            f"None beside {first}",
            "say which dimensions are averaged over, or which are kept; the others follow",
        )
    for name, dims in named.items():
        for each in dims:
            if isinstance(each, set | frozenset | dict) or type(each).__hash__ is None:
                raise bad_value(
                    name,
                    f"a {type(each).__name__}",
                    "a dimension, or a list of them",
                    "pass a list",
                )
    return next(iter(named.items()), ("", []))


def _check_known(argument: str, named: Sequence[Hashable], dims: Sequence[Hashable]) -> None:
    missing = [each for each in named if each not in dims]
    if missing:
        raise bad_value(
            argument, repr(missing[0]), f"a dimension: {some_dims(dims)}", "name one of these"
        )


def _class_dim(
    labels: Sequence[Hashable],
    proba: Sequence[Hashable],
    named: Sequence[Hashable],
    argument: str,
) -> Hashable | None:
    """Return the dimension of predictions that labels do not have, if just one is left."""
    left = [each for each in proba if each not in labels and each not in named]
    both = not argument and len(proba) > 1 and set(proba) == set(labels)
    if len(left) > 1 or both:
        raise bad_value(
            "class_dim",
            "None",
            f"to know which dimension of y_proba is that of the classes, of {some_dims(proba)}",
            'pass class_dim=..., or reduce_dims="all" where each number is the probability of an '
            "event, or preserve_dims= with all that is kept",
        )
    return left[0] if left else None
