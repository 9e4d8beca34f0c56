"""Predictions of several models: one order of rows and of classes for all, or an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from propercal._data.dependence.blocks import check_all_series
from propercal._data.dependence.group_names import exact
from propercal._data.dependence.groups import check_groups, validate_groups
from propercal._data.dependence.repetitions import look_for_repetitions
from propercal._data.inputs.lazy_tables import collected, step_in_any_order
from propercal._data.inputs.reading import Names
from propercal._data.predictions.predictions import Predictions
from propercal._data.predictions.several_models import align_models
from propercal._data.rows.layout import Layout
from propercal._data.words.messages import bad_value, in_any_order


def validate_models(
    y_true: object,
    y_proba: Sequence[object],
    *,
    called: Sequence[Names],
    groups: object = None,
    blocks: int | str | None = None,
    sample_weight: object = None,
    class_axis: Any = None,
    class_dim: Any = None,
    sample_dims: Any = None,
    **options: Any,
) -> list[Predictions]:
    """Return what :func:`validate_groups` makes of each of two models or more, rows being paired.

    `called` is what errors call the data beside each; `options` are those of :func:`validate`.
    """
    check_groups(groups, blocks, y_true, *y_proba)
    layout = Layout(class_axis, class_dim, sample_dims)
    unordered = step_in_any_order(y_true, *y_proba) is not None
    y_true, sample_weight, groups, *y_proba = collected(y_true, sample_weight, groups, *y_proba)
    listed = options.get("labels")
    aligned = align_models(
        y_true, y_proba, sample_weight, layout=layout, called=called, labels=listed
    )
    check_all_series(blocks, y_true, y_proba, layout, called, sample_weight)
    if groups is not None:
        beside = [replace(names, weight="groups") for names in called]
        groups = exact("groups", groups)
        held = align_models(y_true, y_proba, groups, layout=layout, called=beside, labels=listed)
        groups = held[0].weight
    with in_any_order(unordered):
        found = [
            validate_groups(
                each.labels,
                each.proba,
                sample_weight=each.weight,
                groups=groups,
                blocks=blocks,
                names=names,
                **options,
            )
            for each, names in zip(aligned, called, strict=True)
        ]
    first = found[0]
    for each, names in zip(found[1:], called[1:], strict=True):
        if each.n_classes != first.n_classes:
            raise bad_value(
                names.proba,
                f"{each.n_classes} classes",
                f"{first.n_classes}, as in {called[0].proba}",
                "compare models of the same classes",
            )
    repeated = look_for_repetitions(first).repeated
    return [replace(each, repeated=repeated, in_any_order=unordered) for each in found]
