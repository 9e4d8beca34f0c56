"""Two forecasts of the same rows: one order for both, or an error."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from propercal._data.dependence.blocks import check_all_series
from propercal._data.dependence.group_names import exact
from propercal._data.dependence.groups import check_groups
from propercal._data.inputs.holders import is_labelled
from propercal._data.inputs.lazy_tables import collected, step_in_any_order
from propercal._data.inputs.reading import Names
from propercal._data.predictions.alignment import Aligned
from propercal._data.predictions.several_models import align_all
from propercal._data.rows.layout import some_dims
from propercal._data.words.messages import bad_value, in_any_order, warn
from propercal.forecasts.reading import (
    QUANTILES,
    Forecasts,
    check_no_levels,
    layout_of,
    read_forecasts,
    words_of,
)


class Given(NamedTuple):
    """A forecast as the caller has it."""

    kind: str
    values: Any
    argument: str


def read_pair(
    y_true: object,
    given: tuple[Given, Given],
    *,
    levels: Sequence[float] | None,
    sample_weight: object,
    groups: object,
    blocks: int | str | None,
    member_dim: Hashable | None,
    sample_dims: Hashable | Sequence[Hashable] | None,
) -> tuple[Forecasts, Forecasts]:
    """Return both in one order of rows, each matched with the outcomes and with the other."""
    called = [Names(proba=each.argument) for each in given]
    forecasts: Sequence[object] = [each.values for each in given]
    check_groups(groups, blocks, y_true, *forecasts)
    unordered = step_in_any_order(y_true, *forecasts) is not None
    y_true, sample_weight, groups, *forecasts = collected(y_true, sample_weight, groups, *forecasts)
    what = words_of(*(each.kind for each in given))
    layout = layout_of(member_dim, sample_dims, what, y_true, *forecasts)
    _check_member_dim(member_dim, given)
    aligned = align_all(y_true, forecasts, sample_weight, layout=layout, called=called)
    check_all_series(blocks, y_true, forecasts, layout, called, sample_weight)
    if groups is not None:
        beside = [replace(names, weight="groups") for names in called]
        groups = exact("groups", groups)
        groups = align_all(y_true, forecasts, groups, layout=layout, called=beside)[0].weight
    _check_beside(aligned, given, levels)
    with in_any_order(unordered):
        a, b = (
            read_forecasts(
                found.labels,
                found.proba,
                argument=each.argument,
                kind=each.kind,
                levels=levels if each.kind == QUANTILES else None,
                sample_weight=found.weight,
                groups=groups,
                blocks=blocks,
                member_dim=None,
                sample_dims=None,
            )
            for found, each in zip(aligned, given, strict=True)
        )
    return a, b


def _check_member_dim(member_dim: Hashable | None, given: tuple[Given, Given]) -> None:
    """Refuse the name of a dimension that one of two labelled forecasts has, and not the other."""
    labelled = [each for each in given if is_labelled(each.values)]
    lacking = [each for each in labelled if member_dim not in each.values.dims]
    if member_dim is not None and len(lacking) == 1 < len(labelled):
        found = f"{lacking[0].argument} has {some_dims(lacking[0].values.dims)}"
        raise bad_value(
            "member_dim",
            repr(member_dim),
            f"a dimension of both, but {found}",
            "pass sample_dims=..., the dimensions that both have, in its place, or rename one",
        )


def _check_beside(
    aligned: Sequence[Aligned], given: tuple[Given, Given], levels: Sequence[float] | None
) -> None:
    """Refuse two of other numbers of rows, or levels that cannot be those of both."""
    (a, of_a), (b, of_b) = zip(aligned, given, strict=True)
    shapes = [tuple(each.proba.values.shape) for each in (a, b)]
    if shapes[0][:1] != shapes[1][:1]:
        raise bad_value(
            of_b.argument,
            f"an array of shape {shapes[1]}",
            f"the rows of {of_a.argument}, which has shape {shapes[0]}",
            "compare forecasts of the same rows",
        )
    units = [each.proba.units for each in (a, b)]
    if None not in units and a.labels.units is None and units[0] != units[1]:
        warn(
            f"{of_a.argument} has units {units[0]!r}, and {of_b.argument} {units[1]!r}: they are "
            "compared as numbers. Bring both into one unit if these are not the same."
        )
    if levels is None:
        return
    kinds = [of_a.kind, of_b.kind]
    if QUANTILES not in kinds:
        check_no_levels(levels, "pass quantiles_a=..., or quantiles_b=...")
    if kinds == [QUANTILES] * 2 and shapes[0][1:] != shapes[1][1:]:
        raise bad_value(
            "levels",
            np.asarray(levels).tolist(),
            f"None beside quantiles of shapes {shapes[0]} and {shapes[1]}, whose levels differ",
            "name the columns of both after their levels, such as by "
            "pandas.DataFrame(quantiles_a, columns=levels_a)",
        )
