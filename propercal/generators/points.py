"""What the methods of a generator are given: points of floating point, or one clear error.

A method is arithmetic on the last axis of an array. A table, whose columns are in some order, would
be read by places; a list is repeated where it is multiplied; masked entries are left out of sums;
whole numbers are cut, or wrap around.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from propercal._array import is_array, namespace
from propercal._data.inputs.holders import is_labelled
from propercal._data.words.messages import bad_value

_Method = TypeVar("_Method", bound=Callable[..., Any])

#: Methods of points, that a generator may define.
METHODS = (
    "value",
    "gradient",
    "hessian",
    "hessian_times",
    "hessian_diagonal",
    "gradient_from_log",
)


def of_points(method: _Method) -> _Method:
    """Let a method refuse arguments that are no points; `y` holds outcomes, whole numbers too."""
    parameters = [*inspect.signature(method).parameters.values()][1:]
    names = [each.name for each in parameters]
    optional = {each.name for each in parameters if each.default is None}

    @wraps(method)
    def wrapper(self: Any, *points: Any, **others: Any) -> Any:
        for name, each in (*zip(names, points, strict=False), *others.items()):
            # Small problems ask thousands of times.
            usual = type(each) is np.ndarray and each.dtype.kind == "f" and each.ndim
            if not (usual or (each is None and name in optional)):
                _check(name, each)
        if len(points) > 1:
            _check_together(names, points)
        return method(self, *points, **others)

    return cast("_Method", wrapper)


def _check(name: str, points: Any) -> None:
    """Raise unless these are points."""
    expected, found = "an array of floating point, of shape (..., k)", type(points).__name__
    if is_labelled(points) or hasattr(type(points), "to_numpy"):
        fix = f"pass {name}.to_numpy(), with its last axis in the order of the classes"
        raise bad_value(name, f"a {found}", expected, fix)
    if isinstance(points, np.matrix) or not is_array(points):
        raise bad_value(name, f"a {found}", expected, f"pass numpy.asarray({name}, dtype=float)")
    if np.ma.getmask(points) is not np.ma.nomask and np.ma.getmaskarray(points).any():
        raise bad_value(name, "masked entries", "no missing values", "drop these rows")
    if not points.ndim:
        raise bad_value(name, "one number", expected, "pass the probability of each class")
    kinds = ("real floating", "integral", "bool") if name == "y" else ("real floating",)
    if not namespace(points).isdtype(points.dtype, kinds):
        fix = "convert it to floating point"
        raise bad_value(name, f"values of type {points.dtype}", expected, fix)
    if name == "y" and isinstance(points, np.ndarray) and points.dtype.kind in "iu":
        odd = (points < 0) | (points > 1)
        if odd.any():
            raise bad_value(
                name,
                f"whole numbers such as {points[odd][0]}",
                "one-hot rows, or probabilities",
                "pass numpy.eye(k)[y] of class numbers",
            )


def _article(word: str) -> str:
    return f"an {word}" if word[0].lower() in "aeiou" or word.startswith("ndarray") else f"a {word}"


def _check_together(names: list[str], points: tuple[Any, ...]) -> None:
    """Raise unless all are of one library and of as many classes."""
    given = {name: each for name, each in zip(names, points, strict=False) if each is not None}
    first, *others = given
    for name in others:
        one, other = given[first], given[name]
        if isinstance(one, np.ndarray) != isinstance(other, np.ndarray):
            found, wanted = (_article(type(each).__name__) for each in (other, one))
            fix = "convert one of the two"
            raise bad_value(name, found, f"{wanted}, as {first} is", fix)
        if one.shape[-1] != other.shape[-1]:
            raise bad_value(
                name,
                f"an array of shape {tuple(other.shape)}",
                f"as many classes along the last axis as {first} has, {one.shape[-1]}",
                "pass one-hot rows" if name == "y" else "pass the probability of each class",
            )
