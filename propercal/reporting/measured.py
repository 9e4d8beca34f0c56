"""All numbers of a page, from data or from results that were made before."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from propercal._array import to_numpy
from propercal._data.dependence.groups import SMALLEST_NUMBER, check_groups, validate_groups
from propercal._data.dependence.repetitions import look_for_repetitions
from propercal._data.inputs.reading import Names
from propercal._data.predictions.notions import Notion
from propercal._data.predictions.predictions import Predictions
from propercal._data.words.messages import columns_called, held_warnings
from propercal._methods.completion import decompositions
from propercal._methods.losses import Losses
from propercal._methods.method import Method
from propercal._methods.recipe import SMALLEST_SAMPLE
from propercal._progress import part
from propercal.diagrams import reliability
from propercal.direction import Direction
from propercal.generators.base import BregmanGenerator
from propercal.inference import CalibrationTest, ModelComparison, calibration_test, compare_models
from propercal.reporting.classes import ClassPart, class_parts
from propercal.reporting.confidence import Confidence, stated_confidence
from propercal.reporting.costly import Costly, costly_rows
from propercal.reporting.given import Data
from propercal.reporting.plain import all_in_plain_words, in_plain_words
from propercal.reporting.recalibrations import Saving, savings
from propercal.reporting.small_groups import without_small
from propercal.result import Decomposition
from propercal.subgroups import GroupDecomposition, decompose_groups

if TYPE_CHECKING:
    import xarray as xr

#: Of several models, where all of them are estimated.
_COMPARED = ("risk", "calibration_error", "refinement")


@dataclass(frozen=True)
class Asked:
    """Settings of all that is measured."""

    generator: BregmanGenerator
    notion: Notion
    method: Method
    confidence_level: float
    random_state: Any


@dataclass
class Measured:
    """What is known of the model that is shown in detail, and of others; None where nothing is."""

    name: str = ""
    asked: Asked | None = None
    data: Data | None = None
    predictions: Predictions | None = None
    results: dict[str, Decomposition] = field(default_factory=dict)
    """Terms of all models, or results; the first is shown in detail."""
    direction: Direction | None = None
    test: CalibrationTest | None = None
    confidence: Confidence | None = None
    reliability: xr.Dataset | None = None
    classes: list[ClassPart] = field(default_factory=list)
    savings: list[Saving] = field(default_factory=list)
    costly: Costly | None = None
    groups: GroupDecomposition | None = None
    merged: tuple[str, ...] = ()
    """Groups that were put together, since they have few rows."""
    comparisons: list[ModelComparison] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    """Why a section is not there, by its key."""
    warnings: tuple[str, ...] = ()

    @property
    def result(self) -> Decomposition:
        """Terms of the model that is shown in detail."""
        return next(iter(self.results.values()))

    @property
    def is_estimated(self) -> bool:
        """Whether there is a calibration error, be it infinite."""
        return not math.isnan(float(to_numpy(self.result.calibration_error)))

    def class_called(self, i: int) -> Any:
        """Return what the class of a column is called."""
        names: Any = self.data.class_names if self.data is not None else ()
        if not names and self.predictions is not None:
            names = self.predictions.classes.names
        return names[i] if i < len(names) else i


def measure_data(data: Data, asked: Asked) -> Measured:
    """Measure the models of some data."""
    check_groups(data.groups, data.blocks, data.y_true, *data.models.values())
    data = data.computed()
    found = Measured(name=next(iter(data.models)), asked=asked, data=data)
    with held_warnings() as messages, columns_called(data.columns):
        found.predictions = predictions = _read(data, asked)
        few = _too_few(predictions, asked)
        with part(0.5):
            _measure_terms(found, data, asked, few)
        with part(0.3):
            _measure_reliability(found, data, asked)
        with part(0.5):
            _measure_parts(found, asked, few)
        with part(0.6):
            _measure_test(found, data, asked)
        _measure_groups(found, data, asked, few)
    if not data.in_any_order:
        found.costly = costly_rows(found.result, predictions, data.row_names)
    found.direction = _direction(found.result)
    found.warnings = all_in_plain_words(messages)
    return found


def measure_results(named: Mapping[str, Any]) -> Measured:
    """Take from results what they have."""
    found = Measured(name=next(iter(named)))
    for name, each in named.items():
        if isinstance(each, Decomposition):
            found.results[name] = each
        elif isinstance(each, GroupDecomposition):
            found.groups = each
            found.results[name or "all rows"] = each.whole
        elif isinstance(each, ModelComparison):
            found.comparisons.append(each)
            found.results |= dict(each.models)
        else:
            found.test = each
    if found.results:
        found.name = next(iter(found.results)) if len(found.results) > 1 else ""
        with held_warnings():
            found.costly = costly_rows(found.result, None)
            found.direction = _direction(found.result)
    found.absent |= dict.fromkeys(
        ("reliability", "recalibration", "classes"),
        "A result does not keep the predictions, which this needs: make the report of the labels "
        "and predictions.",
    )
    return found


def _read(data: Data, asked: Asked) -> Predictions:
    called = next(iter(data.models))
    names = Names(proba=f"models[{called!r}]", model=called) if called else Names()
    predictions = validate_groups(
        data.y_true,
        data.first,
        groups=data.groups,
        blocks=data.blocks,
        one_class=not asked.notion.per_class,
        names=names,
        **data.reading,
    )
    return look_for_repetitions(predictions)


def _too_few(predictions: Predictions, asked: Asked) -> str:
    """Return why nothing can be fitted; empty if it can."""
    if not asked.method.corrects_bias:
        return ""
    n, n_groups = predictions.n_samples, predictions.n_groups
    if n < SMALLEST_SAMPLE:
        return f"There are {n} rows; estimating miscalibration takes {SMALLEST_SAMPLE} or more."
    if n_groups is not None and n_groups < SMALLEST_NUMBER:
        return (
            f"Rows are in {n_groups} groups that are independent of each other; estimating "
            f"miscalibration takes {SMALLEST_NUMBER} or more."
        )
    return ""


def _measure_terms(found: Measured, data: Data, asked: Asked, few: str) -> None:
    if few:
        found.absent["terms"] = few
    if len(data.models) > 1:
        fitted = asked.method.corrects_bias and not few
        found.comparisons = compare_models(
            data.y_true,
            dict(data.models),
            term=list(_COMPARED[: None if fitted else 1]),
            generator=asked.generator,
            notion=asked.notion,
            method=asked.method,
            groups=data.groups,
            blocks=data.blocks,
            confidence_level=asked.confidence_level,
            **data.reading,
        )
        found.results = dict(found.comparisons[0].models)
        if fitted:
            return
    assert found.predictions is not None  # noqa: S101  # what was read before
    method = Losses() if few else asked.method
    of_one = decompositions(
        found.predictions, asked.notion, method, [asked.generator], asked.confidence_level
    )
    found.results[found.name] = of_one[0][1]


def _measure_reliability(found: Measured, data: Data, asked: Asked) -> None:
    assert found.predictions is not None  # noqa: S101  # what was read before
    if found.predictions.multilabel:
        found.absent["reliability"] = (
            "Several classes may occur in a row, so that there is no first choice to look at."
        )
        return
    found.confidence = stated_confidence(found.predictions, asked.confidence_level)

    def diagram() -> xr.Dataset:
        return reliability(
            data.y_true,
            data.first,
            groups=data.groups,
            blocks=data.blocks,
            n_bins=10,
            confidence_level=asked.confidence_level,
            random_state=asked.random_state,
            **data.reading,
        )

    found.reliability = _unless_refused(found, "reliability", diagram)


def _measure_parts(found: Measured, asked: Asked, few: str) -> None:
    """Measure classes, and what recalibrations save."""
    assert found.predictions is not None  # noqa: S101  # what was read before
    predictions = found.predictions
    if few:
        found.absent |= {"recalibration": few, "classes": few}
        return
    with part(0.3):
        found.savings = (
            _unless_refused(
                found,
                "recalibration",
                lambda: savings(
                    predictions,
                    found.result,
                    asked.generator,
                    asked.random_state,
                    whole=asked.notion.whole,
                ),
            )
            or []
        )
    if predictions.n_classes == 2 and not predictions.multilabel:
        return
    level = asked.confidence_level
    with held_warnings():
        # What they say of one class is said of its interval.
        parts = _unless_refused(
            found,
            "classes",
            lambda: class_parts(predictions, asked.method, asked.generator, level),
        )
    found.classes = parts or []


def _measure_test(found: Measured, data: Data, asked: Asked) -> None:
    found.test = _unless_refused(
        found,
        "test",
        lambda: calibration_test(
            data.y_true,
            data.first,
            generator=asked.generator,
            notion=asked.notion.name,
            groups=data.groups,
            blocks=data.blocks,
            random_state=asked.random_state,
            **data.reading,
        ),
    )


def _measure_groups(found: Measured, data: Data, asked: Asked, few: str) -> None:
    if data.subgroups is None:
        return
    if few:
        found.absent["groups"] = few
        return
    least = SMALLEST_SAMPLE if asked.method.corrects_bias else 2
    subgroups, merged = without_small(data.subgroups, least)
    found.groups = _unless_refused(
        found,
        "groups",
        lambda: decompose_groups(
            data.y_true,
            data.first,
            groups=subgroups,
            clusters=data.groups,
            blocks=data.blocks,
            generator=asked.generator,
            notion=asked.notion,
            method=asked.method,
            confidence_level=asked.confidence_level,
            **data.reading,
        ),
    )
    if found.groups is not None:
        found.merged = merged


def _unless_refused(found: Measured, key: str, measure: Callable[[], Any]) -> Any:
    """Return what is measured; where it cannot be, note why and return None."""
    try:
        return measure()
    except ValueError as error:
        found.absent[key] = in_plain_words(str(error))
        return None


def _direction(result: Decomposition) -> Direction | None:
    rows = result._kept_rows
    if rows is None or not rows.has_sides:
        return None
    finite = math.isfinite(float(to_numpy(result.calibration_error)))
    return result.direction() if finite else None
