"""Where samples and classes lie in arrays of several axes: as is said, or as arrays tell."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from propercal._data.inputs.holders import hold, is_labelled
from propercal._data.inputs.reading import Names, is_hashable
from propercal._data.rows.coordinates import class_dim_of
from propercal._data.words.messages import bad_value


def listed(dims: Hashable | Sequence[Hashable] | None) -> list[Hashable]:
    """Return the names of dimensions, of which there may be one, or none."""
    if dims is None:
        return []
    return list(dims) if isinstance(dims, list | tuple) else [dims]


@dataclass(frozen=True)
class Layout:
    """Where samples and classes lie in arrays of more than one axis."""

    class_axis: int | None = None
    class_dim: Hashable | None = None
    sample_dims: Hashable | Sequence[Hashable] | None = None
    followed: bool = field(default=False, kw_only=True)
    """Whether some array of more than these has its dimensions in the order of `sample_dims`."""
    outcomes: str = field(default="", kw_only=True)
    """What `class_dim` holds beside outcomes, whose dimensions all are samples; else empty."""

    def __post_init__(self) -> None:
        """Check that dimensions are named by what can be a name."""
        for argument, given in (
            (self.called, [self.class_dim]),
            ("sample_dims", listed(self.sample_dims)),
        ):
            for dim in given:
                if not is_hashable(dim):
                    raise bad_value(
                        argument,
                        f"a {type(dim).__name__}",
                        "the name of a dimension"
                        + (", or a list of them" if argument == "sample_dims" else ""),
                        "pass a string",
                    )

    @property
    def called(self) -> str:
        """The argument of the caller that `class_dim` is."""
        return "member_dim" if self.outcomes else "class_dim"

    @property
    def of(self) -> str:
        """What lies along it, in words."""
        return self.outcomes or "classes"

    @property
    def given(self) -> bool:
        """Whether anything is said."""
        said = (self.class_axis, self.class_dim, self.sample_dims)
        return any(each is not None for each in said)

    def beside(self, *arrays: object) -> Layout:
        """Note whether the dimensions of samples of one of these are in the order that is said."""
        wanted = listed(self.sample_dims)
        found = (
            [dim for dim in each.dims if dim in wanted]  # type: ignore[attr-defined]
            for each in arrays
            if is_labelled(each)
        )
        return replace(self, followed=self.followed or wanted in found)


USUAL_LAYOUT = Layout()


def said(
    dims: tuple[Hashable, ...], layout: Layout, argument: str
) -> tuple[tuple[Hashable, ...], Hashable | None]:
    """Return the dimensions of samples, and that of the classes, as the caller says them."""
    if layout.sample_dims is None:
        return tuple(dim for dim in dims if dim != layout.class_dim), layout.class_dim
    samples = listed(layout.sample_dims)
    rest = [dim for dim in dims if dim not in samples]
    classes = layout.class_dim if layout.class_dim is not None else rest[0] if rest else None
    if rest != ([] if classes is None else [classes]) or classes in samples:
        raise bad_value(
            "sample_dims",
            repr(layout.sample_dims),
            f"all dimensions of {argument} but that of the {layout.of}, of {some_dims(dims)}",
            "name each dimension once",
        )
    return tuple(samples), classes


def told(
    dims: tuple[Hashable, ...],
    reference: Any,
    other: Any,
    layout: Layout,
    argument: str,
    called: Names,
) -> tuple[tuple[Hashable, ...], Hashable | None]:
    """Return the dimensions as the other array tells them, or by their order."""
    if len(dims) < 2:
        return dims, None
    by_order = dims[:-1], dims[-1]
    if len(dims) == 2 and other is not None:
        _check_shape(reference, other, layout, argument, called)
    if all_counted(dims):
        return by_order
    if layout.outcomes and argument == called.labels:
        return dims, None
    if is_labelled(other) and not all_counted(tuple(other.dims)):
        others = tuple(other.dims)
        rest = [dim for dim in dims if dim not in others]
        if len(rest) == 1 and len(others) == len(dims) - 1:
            return tuple(dim for dim in dims if dim in others), rest[0]
        if len(dims) == 2 and not rest and len(others) == 2:
            return _two(dims, (reference, other), layout, argument)
        if not rest and len(others) == len(dims):
            raise _untold(dims, layout, argument)
        raise bad_value(
            called.labels,
            f"dimensions {some_dims(others)}",
            f"those of {argument} without that of the {layout.of}, of {some_dims(dims)}",
            f"rename them, or pass sample_dims=... and {layout.called}=...",
        )
    if len(dims) > 2 or reference.shape[0] == reference.shape[1]:
        raise _untold(dims, layout, argument)
    if other is not None and tuple(np.shape(hold(called.labels, other).values)) == reference.shape:
        return _two(dims, (reference,), layout, argument)
    return by_order


def _check_shape(
    reference: Any, other: object, layout: Layout, argument: str, called: Names
) -> None:
    """Raise where labels have as many rows as the last dimension, not the first; no name tells."""
    dims, (k, n) = tuple(reference.dims), reference.shape
    counted = all_counted(dims), is_labelled(other) and all_counted(other.dims)  # type: ignore[attr-defined]
    if k == n or (is_labelled(other) and not any(counted)):
        return
    shape = tuple(np.shape(hold(called.labels, other).values))
    if shape in ((n,), (n, 1)) or (shape == (n, k) and not all(counted)):
        raise bad_value(
            argument,
            f"dimensions {some_dims(dims)} of sizes {k} and {n}, beside {called.labels} of "
            f"{n} rows",
            f"that of the {layout.of} last",
            f"pass {layout.called}={dims[0]!r} if {dims[0]!r} is that of the {layout.of}",
        )


def _two(
    dims: tuple[Hashable, ...], arrays: Sequence[Any], layout: Layout, argument: str
) -> tuple[tuple[Hashable, ...], Hashable]:
    """Return the dimensions of arrays that all have the same two."""
    classes = class_dim_of(arrays, dims)
    if classes is None:
        raise _untold(dims, layout, argument)
    return tuple(dim for dim in dims if dim != classes), classes


def _untold(dims: tuple[Hashable, ...], layout: Layout, argument: str) -> ValueError:
    return bad_value(
        argument,
        f"dimensions {some_dims(dims)}",
        f"to know which of them is that of the {layout.of}",
        f"pass {layout.called}=..., or sample_dims=..., which are all where each number is a "
        "sample; or arrays without names, .to_numpy(), of shape (n, k)",
    )


def all_counted(dims: Sequence[Hashable]) -> bool:
    """Tell whether dimensions have the names that xarray gives of its own accord."""
    return all(dim == f"dim_{i}" for i, dim in enumerate(dims))


def some_dims(dims: Sequence[Hashable]) -> str:
    """Return names of dimensions in words."""
    return ", ".join(map(repr, dims)) or "none"
