"""Among many classes a row adds to the statistics of the class that occurred; the residuals of all classes say the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from propercal._data.predictions.notions import as_notion
from propercal._data.predictions.predictions import validate
from propercal.generators import Brier, Log
from propercal.inference import calibration_test, evaluation
from propercal.inference.evaluation import rows_evaluation
from propercal.inference.quadratic_forms import quadratic_forms
from propercal.inference.residuals import Rows
from theory_tests.instances import labels_of


@pytest.mark.parametrize("generator", [Log(), Brier()])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [3, 20, 30, 80, 260])
def test_one_class_a_row_says_what_all_residuals_say(generator: Any, weighted: bool, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With "mixture" up to 22 classes, "smooth" up to 73, "vector" up to 256."""
    rng = np.random.default_rng(k)
    n = 40
    g = rng.dirichlet([0.5] * k, n)
    weight = rng.uniform(0.5, 2, n) if weighted else None
    (problem,) = as_notion("canonical").problems(validate(labels_of(g, rng), g, sample_weight=weight, labels=list(range(k))))
    rows = Rows.of(problem)
    forms = quadratic_forms(rows.at, generator, rng)
    y = np.stack([labels_of(g, rng) for _ in range(7)])
    expected = forms(rows.residuals(y))
    for tile in (10**6, 70):
        monkeypatch.setattr(evaluation, "_TILE", tile)
        for few in (1, 10**6):
            monkeypatch.setattr(evaluation, "_MANY_CLASSES", few)
            np.testing.assert_allclose(rows_evaluation(rows, forms, None)(y), expected, rtol=1e-8, atol=1e-8)
            found = rows_evaluation(rows, forms, np.ones(k))(y)
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_points_that_see_no_others_say_nothing() -> None:
    """Among many classes the narrow kernel is that of single rows: what rounding leaves of h = j is no form."""
    rng = np.random.default_rng(0)
    g = rng.dirichlet([0.05] * 200, 60)
    found = calibration_test(labels_of(g, rng), g, labels=list(range(200)), n_resamples=99, random_state=0)
    assert found.components["kernel 0.006"] == 0
    assert found.components["kernel 0.6"] != 0
