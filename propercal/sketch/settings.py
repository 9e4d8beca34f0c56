"""Settings of methods that a sketch can heed, and what tells one generator from another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from propercal._data.predictions.notions import Notion, as_notion
from propercal._data.words.messages import bad_value
from propercal._kernels.kernels import BANDWIDTHS
from propercal._methods.recipe import Recipe, make_recipe
from propercal.generators.base import BregmanGenerator
from propercal.generators.registry import as_generator
from propercal.methods import Debiased, Direct, Method, MethodLike, Risk, as_method

_LINEAR = ("auto", "linear")
Own = Mapping[str, Any]
"""Settings of a sketch."""


def as_summed(
    method: MethodLike,
    own: Own | None,
    needs: str = "in a sketch, which has what its rows were summed up for",
    fix: str = "leave it out, or decompose() the rows in memory",
) -> Method:
    """Return the method if the sums of a sketch tell all that it asks for, else raise.

    `own` are the settings of the sketch, None where those of the method will be its own.
    """
    chosen = as_method(method)
    if not isinstance(chosen, Debiased | Direct | Risk):
        raise bad_value("method", repr(method), f"one of the built-in methods {needs}", fix)
    expected_of = _of_tables if chosen.corrects_bias else _of_nodes
    for name, value in chosen.given().items():
        expected = expected_of(name, value, own, repr(chosen.defaults()[name]))
        if expected is not None:
            raise bad_value(name, repr(value), f"{expected} {needs}", fix)
    return chosen


def _of_tables(name: str, value: Any, own: Own | None, default: str) -> str | None:
    """Return what is expected of a setting of the debiased method; None if it is given."""
    if name == "kernel":
        return None
    if name == "bandwidth":
        # Bins are narrow beside the kernels of these.
        narrowest = min(BANDWIDTHS)
        return None if value >= narrowest else f"'auto', or {narrowest:g} or more,"
    if name in ("n_folds", "random_state"):
        same = own is None or (type(value) is not bool and value == own[name])
        return None if same or own is None else f"{own[name]!r}, as rows were dealt to folds,"
    return _otherwise(name, value, default)


def _of_nodes(name: str, value: Any, own: Own | None, default: str) -> str | None:
    """Do so for the published methods."""
    if name == "bandwidth":
        mine = None if own is None else own["bandwidth"]
        return None if mine in (None, value) else f"{mine:g} or 'auto'"
    return _otherwise(name, value, default)


def _otherwise(name: str, value: Any, default: str) -> str | None:
    if name == "algorithm":
        return None if value in _LINEAR else "'auto' or 'linear'"
    return f"{default}, the default,"


def recipe_of(method: Method, own: Own) -> Recipe | None:
    """Return what the debiased method is made of in a sketch; None for another method."""
    if not isinstance(method, Debiased):
        return None
    bandwidth = None if isinstance(method.bandwidth, str) else float(method.bandwidth)
    return make_recipe(method.kernel, bandwidth, None, own["n_folds"], own["random_state"])


def check_folds(n_folds: Any, random_state: Any) -> tuple[int, int]:
    """Return how rows are dealt to folds, as what bytes can hold, or raise."""
    recipe = make_recipe(None, None, None, n_folds, 0)
    whole = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if not whole or random_state < 0:
        raise bad_value(
            "random_state", repr(random_state), "a whole number ≥ 0 for a sketch", "0 is usual"
        )
    return recipe.n_folds, int(random_state)


def fixed_values(generator: BregmanGenerator, n_classes: int = 2) -> list[float]:
    """Return F at fixed points, since generators of one's own may share a name.

    Those are of two classes, but for a matrix of costs of `n_classes`.
    """
    p = np.arange(1, 16) / 16
    points = np.stack([1 - p, p], axis=1)
    if len(getattr(generator, "matrix", points[0])) == n_classes > 2:
        whole = np.outer(np.arange(1, 16), np.arange(1, n_classes + 1)) % 17 + 1
        points = whole / whole.sum(axis=1, keepdims=True)
    return [float(value) for value in generator.value(points)]


def same_values(mine: Sequence[float], other: Sequence[float]) -> bool:
    """Tell whether two lists of values of F are those of one function, but for rounding."""
    return len(mine) == len(other) and bool(
        np.allclose(mine, other, rtol=1e-9, atol=1e-9 * max(1e-300, *np.abs(mine)))
    )


def generator_of(
    given: Any, name: str, written: str, values: Sequence[float], what: str, n_classes: int = 2
) -> BregmanGenerator:
    """Return the generator that bytes name, or the one that is given for it, or raise.

    `written` and `values` are its `repr` and its values there, and `what` has it.
    """
    chosen = as_generator(name if given is None else given)
    if repr(chosen) != written or not same_values(fixed_values(chosen, n_classes), values):
        raise bad_value(
            "generator", repr(chosen), f"{written}, that of the {what}", "pass generator=..."
        )
    return chosen


def check_same(mine: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Raise unless the settings of two sketches are the same."""
    if not same_values(mine["values"], other["values"]):
        raise bad_value(
            "other",
            f"a sketch with generator = {other['generator']}",
            f"{mine['generator']} of the same values of F",
            "merge sketches of the same settings",
        )
    for name, value in mine.items():
        if name != "values" and other[name] != value:
            raise bad_value(
                "other",
                f"a sketch with {name} = {other[name]!r}",
                f"{name} = {value!r}",
                "merge sketches of the same settings",
            )


def check_pairs(n_classes: int, notion: str) -> Notion:
    """Return the notion if problems of so many classes are one-dimensional, else raise."""
    if isinstance(n_classes, bool) or not isinstance(n_classes, int | np.integer):
        raise bad_value("n_classes", repr(n_classes), "a whole number", "2 or more")
    if n_classes < 2:
        raise bad_value("n_classes", n_classes, "2 or more", "count the columns of y_proba")
    # By its name, which is all that bytes can hold.
    reduction = as_notion(as_notion(notion).name)
    if reduction.n_outcomes(n_classes) > 2:
        raise bad_value(
            "notion",
            repr(reduction.name),
            "a notion of one-dimensional problems for more than two classes",
            'use "classwise" or "top-label", or decompose() for data that fit into memory',
        )
    return reduction
