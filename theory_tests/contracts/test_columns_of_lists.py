"""Lists of values that left their table, rows without values, and arrays of several axes.

Oracle: the same numbers in an array of NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import CalibrationMonitor, CalibrationSketch, decompose
from propercal.recalibration import TemperatureScaling

RNG = np.random.default_rng(0)
PROBA = RNG.dirichlet(np.ones(3), 60)
LABELS = (RNG.uniform(size=(60, 1)) > PROBA.cumsum(axis=1)).sum(axis=1).clip(0, 2)
SETTINGS: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
#: A column of lists, as `frame["probs"].to_numpy()` gives it, and one of arrays.
OBJECTS = pd.Series(PROBA.tolist()).to_numpy()
ARRAYS = pd.Series(list(PROBA)).to_numpy()


def risk(y: Any, p: Any) -> Any:
    return decompose(y, p, **SETTINGS).risk


def of_sketch(y: Any, p: Any) -> Any:
    sketch = CalibrationSketch(3, generator="brier")
    sketch.update(y, p)
    return sketch.result().risk


def of_monitor(y: Any, p: Any) -> float:
    monitor = CalibrationMonitor(3)
    monitor.update(y, p)
    return monitor.log_e_value


def of_recalibrator(y: Any, p: Any) -> float:
    return float(np.asarray(TemperatureScaling().fit(p, y).predict_proba(p)).sum(axis=0)[0])


@pytest.mark.parametrize("of", [risk, of_sketch, of_monitor, of_recalibrator])
@pytest.mark.parametrize("held", [OBJECTS, ARRAYS, OBJECTS[:, None]])
def test_an_array_of_lists_is_a_matrix(of: Callable[[Any, Any], float], held: Any) -> None:
    assert held.dtype == object
    assert of(LABELS, held) == of(LABELS, PROBA)


@pytest.mark.parametrize("missing", [None, pd.NA, np.nan])
def test_rows_without_values_are_named(missing: Any) -> None:
    rows = [missing if i in (4, 9) else row for i, row in enumerate(PROBA.tolist())]
    with pytest.raises(ValueError, match=r"a list without values at rows 4, 9: .*; drop these rows"):
        decompose(LABELS, rows)
    keep = [row for row in rows if isinstance(row, list)]
    assert risk(np.delete(LABELS, [4, 9]), keep) == risk(np.delete(LABELS, [4, 9]), np.delete(PROBA, [4, 9], axis=0))


@pytest.mark.parametrize("missing", [None, pd.NA])
def test_missing_values_are_not_to_be_converted(missing: Any) -> None:
    rows = PROBA.tolist()
    rows[7][1] = missing
    with pytest.raises(ValueError, match=r"at row 7: expected real numbers; drop rows whose prediction is missing"):
        decompose(LABELS, rows)


def test_rows_of_different_lengths_are_not_to_be_stacked() -> None:
    with pytest.raises(ValueError, match=r"3 values at row 0, 2 values at row 5\).*; give each row as many values"):
        decompose(LABELS, [row[:2] if i == 5 else row for i, row in enumerate(PROBA.tolist())])


def test_a_dict_of_columns_becomes_a_table() -> None:
    words = np.array(["a", "b", "c"])[LABELS]
    columns = {name: PROBA[:, i] for i, name in enumerate("abc")}
    with pytest.raises(ValueError, match=r"y_proba = a dict: .*a dict of columns by pandas\.DataFrame"):
        decompose(words, columns)
    assert risk(words, pd.DataFrame(columns)) == risk(LABELS, PROBA)


def test_texts_of_any_length_are_labels() -> None:
    words = np.array(["a", "b", "c"])[LABELS]
    assert risk(words.astype(np.dtypes.StringDType()), PROBA) == risk(words, PROBA)


@pytest.mark.parametrize("stream", [lambda: CalibrationSketch(3), lambda: CalibrationMonitor(3)])
def test_a_stream_says_how_images_become_rows(stream: Callable[[], Any]) -> None:
    images, marks = np.moveaxis(PROBA.reshape(3, 4, 5, 3), -1, 1), LABELS.reshape(3, 4, 5)
    with pytest.raises(ValueError, match=r"an array of shape \(3, 3, 4, 5\): expected shape \(n, 3\)") as error:
        stream().update(marks, images)
    assert "numpy.moveaxis(p, 1, -1).reshape(-1, k) and y.ravel()" in str(error.value)
    stream().update(marks.ravel(), np.moveaxis(images, 1, -1).reshape(-1, 3))


def test_advice_on_images_can_be_followed() -> None:
    """Classes last, and one probability in each place, are as usual as (n, k, h, w)."""
    images, marks = PROBA.reshape(3, 4, 5, 3), LABELS.reshape(3, 4, 5)
    with pytest.raises(ValueError, match=r"class_axis=-1 for \(n, h, w, k\)"):
        decompose(marks, images)
    assert decompose(marks, images, class_axis=-1, **SETTINGS).risk == risk(LABELS, PROBA)
    with pytest.raises(ValueError, match=r"pass p\.ravel\(\) and y\.ravel\(\)"):
        decompose(marks == 1, images[..., 1])
    assert risk((marks == 1).ravel(), images[..., 1].ravel()) == risk(LABELS == 1, PROBA[:, 1])


def test_sigmoids_beside_one_class_a_row_are_refused_as_such() -> None:
    with pytest.raises(ValueError, match=r"link = 'sigmoid': expected 'softmax' where each row is of one class; leave it out"):
        decompose(LABELS, np.log(PROBA), from_logits=True, link="sigmoid", **SETTINGS)
    told: dict[str, Any] = {"from_logits": True, **SETTINGS}
    assert decompose(LABELS, np.log(PROBA), link="softmax", **told).risk == pytest.approx(risk(LABELS, PROBA), rel=1e-12)
    odds = np.log(PROBA / (1 - PROBA))
    separate = decompose(np.eye(3)[LABELS], odds, link="sigmoid", notion="classwise", **told)
    assert separate.risk == pytest.approx(decompose(LABELS, PROBA, notion="classwise", **SETTINGS).risk, rel=1e-12)
