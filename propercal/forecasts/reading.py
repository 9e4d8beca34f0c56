"""Forecasts as users have them → sorted members with weights, and what came true."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.classes.members import check_members
from propercal._data.dependence.blocks import block_length, check_series
from propercal._data.dependence.group_names import exact
from propercal._data.dependence.groups import (
    check_groups,
    check_in_one_order,
    labels_of_rows,
    numbered_groups,
)
from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import is_labelled
from propercal._data.inputs.lazy_tables import collected, step_in_any_order
from propercal._data.inputs.masks import check_fills
from propercal._data.inputs.missing_codes import warn_of_codes
from propercal._data.inputs.reading import Names, not_real, read_numpy
from propercal._data.predictions.alignment import align
from propercal._data.predictions.other_rows import doubt_outcomes, have_index_of_one
from propercal._data.predictions.unrelated import doubt_relation_of_outcomes
from propercal._data.predictions.weights import normalised, weights_given
from propercal._data.rows.layout import USUAL_LAYOUT, Layout
from propercal._data.words.messages import bad_value, in_any_order, some_names, some_rows, warn
from propercal.forecasts.doubts import doubt_forecasts
from propercal.forecasts.level_names import (
    check_no_quantiles,
    named_levels,
    per_cent_beside,
    warn_of_one_order,
)

Floats = npt.NDArray[np.float64]

ENSEMBLE, QUANTILES = "ensemble", "quantiles"


@dataclass(frozen=True)
class Forecasts:
    """Discrete distributions of n rows on m points each, and the outcomes."""

    members: Floats
    """(n, m) points, in ascending order."""
    cumulated: Floats
    """(m + 1,) probability of the first 0, 1, ..., m points, the same in all rows."""
    outcome: Floats
    """(n,)."""
    weight: Floats
    """(n,) of sum 1."""
    rows: npt.NDArray[np.intp]
    """(n,) positions in the caller's data."""
    groups: npt.NDArray[np.int64] | None = None
    """(n,) the number of the group of each row, if rows of some depend on each other."""
    n_groups: int | None = None
    grouped_by: str = "groups"
    """The argument that says them, such as blocks."""

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.outcome)

    @property
    def places(self) -> None:
        """Where rows were before they were aligned: told by what holds them."""
        return


def one_of(ensemble: object, quantiles: object, suffix: str = "") -> tuple[str, object]:
    """Return which kind of forecast is given, and it, or raise; `suffix` ends both arguments."""
    if (ensemble is None) == (quantiles is None):
        raise bad_value(
            ENSEMBLE + suffix,
            "None" if ensemble is None else f"an array beside {QUANTILES}{suffix}",
            "either an ensemble or quantiles",
            f"pass {ENSEMBLE}{suffix}=..., or {QUANTILES}{suffix}=... and levels=[...]",
        )
    return (ENSEMBLE, ensemble) if quantiles is None else (QUANTILES, quantiles)


def words_of(*kinds: str) -> str:
    """Return what the columns of forecasts of some kinds are."""
    return QUANTILES if set(kinds) == {QUANTILES} else "members"


def check_no_levels(levels: Sequence[float] | None, fix: str) -> None:
    """Refuse levels beside ensembles alone."""
    if levels is not None:
        raise bad_value("levels", np.asarray(levels).tolist(), "None beside an ensemble", fix)


def layout_of(
    member_dim: Hashable | None,
    sample_dims: Hashable | Sequence[Hashable] | None,
    what: str,
    y_true: object,
    *forecasts: object,
) -> Layout:
    """Return where members lie in labelled forecasts; of arrays alone there is nothing to say."""
    if not any(map(is_labelled, (y_true, *forecasts))):
        return USUAL_LAYOUT
    along = member_dim if any(map(is_labelled, forecasts)) else None
    return Layout(None, along, sample_dims, outcomes=what)


def read_forecasts(
    y_true: object,
    forecasts: object,
    *,
    argument: str,
    kind: str,
    levels: Sequence[float] | None,
    sample_weight: object,
    groups: object,
    blocks: int | str | None,
    member_dim: Hashable | None,
    sample_dims: Hashable | Sequence[Hashable] | None,
) -> Forecasts:
    """Read an ensemble, or quantiles of `levels`, or raise; `kind` says which of the two it is."""
    check_groups(groups, blocks, y_true, forecasts)
    unordered = step_in_any_order(y_true, forecasts) is not None
    data = collected(y_true, forecasts, sample_weight, groups)
    y_true, forecasts, sample_weight, groups = data
    layout = layout_of(member_dim, sample_dims, words_of(kind), y_true, forecasts)
    names = Names(proba=argument)
    with in_any_order(unordered):
        found = _read(y_true, forecasts, sample_weight, kind, levels, layout, names)
        return _grouped(found, (y_true, forecasts, sample_weight), groups, blocks, layout, names)


def _read(
    y_true: object,
    forecasts: object,
    sample_weight: object,
    kind: str,
    levels: Sequence[float] | None,
    layout: Layout,
    names: Names,
) -> Forecasts:
    """Read forecasts and outcomes in one order, without their groups."""
    argument = names.proba
    held = align(y_true, forecasts, sample_weight, layout=layout, called=names)
    check_members(held.proba, held.labels, argument, names, words_of(kind), sample_weight)
    units = held.labels.units, held.proba.units
    if None not in units and units[0] != units[1]:
        warn(
            f"{names.labels} has units {units[0]!r}, and {argument} {units[1]!r}: they are "
            "compared as numbers. Bring both into one unit if these are not the same."
        )
    members = _members(held.proba, argument)
    n = len(members)
    outcome = _outcomes(held.labels, n, argument)
    given = weights_given(held.weight, n, called=names)
    places = None if held.weight is None else held.weight.places
    weight, _, counted = normalised(
        given, n, outcome[:, None], keep_weightless=False, name=names.weight, places=places
    )
    keep = np.arange(n) if counted is None else to_numpy(counted)
    counts = np.isin(np.arange(n), keep)
    check_fills(argument, held.proba, counts)
    check_fills(names.labels, held.labels, counts)
    _check_finite(members[keep], argument, held.proba, keep)
    _check_finite(outcome[keep, None], names.labels, held.labels, keep)
    warn_of_codes(members[keep], argument, held.proba, keep)
    warn_of_codes(outcome[keep, None], names.labels, held.labels, keep)
    if len(keep) < 2:
        raise bad_value(names.labels, f"{len(keep)} row", "n ≥ 2", "collect more")
    doubt_forecasts(members[keep], outcome[keep], argument, held.proba, names)
    one_has_index = have_index_of_one(held.labels, held.proba)
    if not (one_has_index and doubt_outcomes(members, outcome, held, names)):
        doubt_relation_of_outcomes(members[keep], outcome[keep], names)
    if kind == QUANTILES:
        members, cumulated = _of_quantiles(members, held.proba, levels, keep, argument)
    else:
        check_no_quantiles(members[keep], argument, held.proba)
        warn_of_one_order(members[keep], argument, held.proba)
        members, cumulated = np.sort(members, axis=1), np.linspace(0.0, 1.0, members.shape[1] + 1)
    return Forecasts(
        members[keep],
        cumulated,
        outcome[keep],
        weight[keep] / weight[keep].sum(),
        np.asarray(keep, dtype=np.intp),
    )


def _grouped(
    found: Forecasts,
    data: tuple[object, object, object],
    groups: object,
    blocks: int | str | None,
    layout: Layout,
    names: Names,
) -> Forecasts:
    """Return forecasts with the groups, or blocks, that their rows are in."""
    y_true, forecasts, sample_weight = data
    numbered = cast("Any", numbered_groups)
    if blocks is not None:
        check_series(blocks, y_true, forecasts, layout, names, sample_weight)
        n = int(align(y_true, forecasts, layout=layout, called=names).proba.values.shape[0])
        numbers = np.arange(n) // block_length(blocks, n)
        return cast("Forecasts", numbered(found, numbers, "blocks"))
    if groups is None:
        return found
    called = replace(names, weight="groups")
    beside = align(y_true, forecasts, exact("groups", groups), layout=layout, called=called)
    assert beside.weight is not None  # noqa: S101  # groups take its place
    if sample_weight is not None:
        weight = align(y_true, forecasts, sample_weight, layout=layout, called=names).weight
        assert weight is not None  # noqa: S101
        check_in_one_order(beside.weight, weight, "groups", names.weight, names)
    n = int(beside.proba.values.shape[0])
    values = labels_of_rows(beside.weight, n, cast("Any", found))
    return cast("Forecasts", numbered(found, values, "groups"))


def _members(held: Held, argument: str) -> Floats:
    """(n, m) numbers."""
    values = read_numpy(argument, held.values)
    if values.ndim == 1 and (held.table or held.first):
        values = values[:, None]
    shape = tuple(values.shape)
    if len(shape) != 2 or 0 in shape:
        raise bad_value(
            argument,
            f"an array of shape {shape}",
            "shape (n, m), one row of m values for each outcome",
            "reshape it; (n, 1) is a point forecast",
        )
    return _real(values, argument, held)


def _outcomes(held: Held, n: int, argument: str) -> Floats:
    """(n,) numbers."""
    values = read_numpy("y_true", held.values)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n,):
        raise bad_value(
            "y_true",
            f"an array of shape {values.shape}",
            f"shape ({n},), one outcome for each forecast of {argument}",
            "align the two",
        )
    return _real(values, "y_true", held)


def _real(values: npt.NDArray[Any], argument: str, held: Held) -> Floats:
    if values.dtype.kind not in "biuf":
        raise bad_value(argument, *not_real(values, held.given))
    return np.asarray(to_numpy(values), dtype=np.float64)


def _check_finite(values: Floats, argument: str, held: Held, rows: npt.NDArray[Any]) -> None:
    odd = ~np.isfinite(values).all(axis=1)
    if odd.any():
        where = held.given(rows[odd])
        row = values[odd][0]
        raise bad_value(
            argument,
            f"{row[~np.isfinite(row)][0]} at {some_rows(where)}",
            "finite numbers",
            "drop rows without an outcome or a forecast, or give them weight 0",
        )


def _of_quantiles(
    values: Floats,
    held: Held,
    levels: Sequence[float] | None,
    keep: npt.NDArray[Any],
    argument: str,
) -> tuple[Floats, Floats]:
    """Return quantiles in ascending order of their levels, and the cumulated masses."""
    taus = _levels(held, levels, values.shape[1], argument)
    order = np.argsort(taus)
    taus, values = taus[order], values[:, order]
    crossing = (np.diff(values[keep], axis=1) < 0).any(axis=1)
    if crossing.any():
        ascending = np.array_equal(order, np.arange(len(order)))
        first = "" if ascending else "select columns in ascending order of their levels, then "
        raise bad_value(
            argument,
            f"values that fall as the level rises, at {some_rows(held.given(keep[crossing]))}",
            "quantiles of one distribution, which do not cross",
            f"{first}sort each row: numpy.sort({argument}, axis=1)",
        )
    between = (taus[1:] + taus[:-1]) / 2
    return values, np.concatenate([[0.0], between, [1.0]])


def _levels(held: Held, levels: Sequence[float] | None, m: int, argument: str) -> Floats:
    """Return the level of each column, as the caller or the names of columns say."""
    named = named_levels(held)
    if levels is None:
        if named is None:
            raise bad_value(
                "levels",
                None,
                f"{m} levels, one for each column of {argument}",
                "pass levels=[...]",
            )
        return named
    taus = read_numpy("levels", levels)
    fine = taus.dtype.kind in "iuf" and taus.shape == (m,) and len(np.unique(taus)) == m
    if not fine or not ((taus > 0) & (taus < 1)).all():
        raise bad_value(
            "levels",
            taus.tolist(),
            f"{m} different numbers between 0 and 1, one for each column of {argument}",
            "list the level of every column, in the order of the columns",
        )
    taus = taus.astype(np.float64)
    named = per_cent_beside(held, taus) if named is None else named
    if named is not None and not np.allclose(named, taus, rtol=0, atol=1e-6):
        found = some_names(held.columns or ())
        raise bad_value(
            "levels",
            taus.tolist(),
            f"those that the columns of {argument} are named after, {found}",
            "leave levels out, or rename the columns",
        )
    return taus
