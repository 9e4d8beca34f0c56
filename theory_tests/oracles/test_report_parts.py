"""What a report measures beside the terms: class parts that add up, and savings on rows that were not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from propercal import decompose
from propercal._data.dependence.groups import validate_groups
from propercal._data.predictions.predictions import validate
from propercal._methods.folds import assign_folds
from propercal.generators import as_generator
from propercal.methods import Debiased
from propercal.recalibration import TemperatureScaling
from propercal.reporting.classes import class_parts, ranked
from propercal.reporting.confidence import stated_confidence
from propercal.reporting.costly import costly_rows
from propercal.reporting.recalibrations import N_FOLDS, savings
from propercal.simulation import TemperatureScaledSimplex


@pytest.fixture(scope="module")
def sample() -> tuple[Any, Any, Any]:
    return TemperatureScaledSimplex(3).sample(400, random_state=0)


@pytest.mark.parametrize("generator", ["log", "brier"])
def test_parts_of_classes_add_up_to_the_classwise_error(generator: str, sample: tuple[Any, Any, Any]) -> None:
    y, p, _ = sample
    parts = class_parts(validate(y, p), Debiased(), as_generator(generator), 0.95)
    whole = decompose(y, p, generator=generator, notion="classwise")
    assert sum(each.error for each in parts) == pytest.approx(whole.calibration_error, abs=1e-12)
    assert whole.contributions()["by_class"].sel(term="calibration_error").values / 3 == pytest.approx([each.error for each in parts], abs=1e-12)
    alone = decompose(y == 1, p[:, 1], generator=generator)
    assert parts[1].interval == pytest.approx([end / 3 for end in alone.interval("calibration_error")])
    assert [each.share for each in parts] == pytest.approx(np.bincount(y) / len(y))
    assert [each.predicted for each in parts] == pytest.approx(p.mean(axis=0))
    assert ranked(parts)[0].error == max(each.error for each in parts)


def test_a_temperature_saves_what_a_loop_over_folds_says(sample: tuple[Any, Any, Any]) -> None:
    y, p, _ = sample
    result, log = decompose(y, p), as_generator("log")
    found = {each.name: each for each in savings(validate(y, p), result, log, 0, whole=True)}
    fold, losses = assign_folds(p, N_FOLDS, 0), np.empty(len(y))
    for f in range(N_FOLDS):
        fitted = TemperatureScaling().fit(p[fold != f], y[fold != f])
        losses[fold == f] = -np.log(fitted.predict_proba(p[fold == f])[np.arange((fold == f).sum()), y[fold == f]])
    saved = -np.log(p[np.arange(len(y)), y]) - losses
    assert found["temperature"].saved == pytest.approx(saved.mean())
    assert found["temperature"].temperature == pytest.approx(TemperatureScaling().fit(p, y).temperature_)
    # Intervals of three recalibrations, each at a third of the error.
    low, high = found["temperature"].interval or (np.nan, np.nan)
    assert (high - low) / 2 == pytest.approx(2.3939797998185104 * saved.std(ddof=1) / np.sqrt(len(y)))


def test_the_average_saves_the_lower_bound(sample: tuple[Any, Any, Any]) -> None:
    y, p, _ = sample
    for generator in ("log", "brier"):
        result = decompose(y, p, generator=generator)
        average = savings(validate(y, p), result, as_generator(generator), 0, whole=True)[-1]
        assert average.name == "average"
        assert average.saved == pytest.approx(result.lower_bound, abs=1e-12)


def test_calibrated_predictions_are_not_helped(sample: tuple[Any, Any, Any]) -> None:
    y, p, p_true = sample
    log = as_generator("log")
    assert not any(each.helps for each in savings(validate(y, p_true), decompose(y, p_true), log, 0, whole=True))
    assert savings(validate(y, p), decompose(y, p), log, 0, whole=True)[0].helps


def test_groups_are_dealt_whole() -> None:
    """Copies of rows make intervals of recalibrations no narrower, if they are said to be copies."""
    y, p, _ = TemperatureScaledSimplex(3).sample(200, random_state=1)
    four = np.tile(np.arange(200), 4)
    log = as_generator("log")
    one = savings(validate(y, p), decompose(y, p), log, 0, whole=True)[0]
    copies = validate_groups(y[four], p[four], groups=four, one_class=True)
    many = savings(copies, decompose(y[four], p[four], groups=four), log, 0, whole=True)[0]
    assert one.interval is not None
    assert many.interval is not None
    width = one.interval[1] - one.interval[0]
    assert many.interval[1] - many.interval[0] == pytest.approx(width, rel=0.1)


def test_stated_confidence_counts_weights(sample: tuple[Any, Any, Any]) -> None:
    y, p, _ = sample
    weight = np.arange(len(y)) % 3
    found = stated_confidence(validate(y, p, sample_weight=weight), 0.95)
    assert found.stated == pytest.approx(np.average(p.max(axis=1), weights=weight))
    assert found.right == pytest.approx(np.average(p.argmax(axis=1) == y, weights=weight))
    assert found.interval[0] < found.gap < found.interval[1]


def test_the_rows_of_the_largest_loss_are_named_by_their_place(sample: tuple[Any, Any, Any]) -> None:
    y, p, _ = sample
    loss = -np.log(p[np.arange(len(y)), y])
    worst = np.argsort(-loss)[:10]
    found = costly_rows(decompose(y, p), validate(y, p))
    assert found is not None
    assert [each.row for each in found.rows] == worst.tolist()
    assert [each.given for each in found.rows] == pytest.approx(p[worst, y[worst]])
    assert [each.first_choice for each in found.rows] == p[worst].argmax(axis=1).tolist()
    assert found.share == pytest.approx(loss[worst].sum() / loss.sum())


def test_rows_keep_their_numbers_where_some_are_left_out(sample: tuple[Any, Any, Any]) -> None:
    y, p, _ = sample
    weight = (np.arange(len(y)) % 2).astype(float)
    loss = np.where(weight > 0, -np.log(p[np.arange(len(y)), y]), -np.inf)
    worst = np.argsort(-loss)[:10]
    found = costly_rows(decompose(y, p, sample_weight=weight), validate(y, p, sample_weight=weight))
    assert found is not None
    assert [each.row for each in found.rows] == worst.tolist()
    assert [each.label for each in found.rows] == y[worst].tolist()
    assert [each.given for each in found.rows] == pytest.approx(p[worst, y[worst]])
