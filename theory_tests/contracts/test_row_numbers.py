"""Rows that messages and results number: those of the argument that is named, as the caller has it.

The 21st row of each argument is the odd one, and the predictions stand in another order than labels and weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationSketch, calibration_test, decompose, paired_difference
from propercal.information import layer_sharpness

pd = pytest.importorskip("pandas")

N, ODD = 40, 20
RNG = np.random.default_rng(0)
IDS = [f"r{i}" for i in range(N)]
CODES = RNG.permutation(np.arange(N) % 3)
LABELS = pd.Series(CODES, index=IDS)
P = pd.DataFrame(RNG.dirichlet([2.0] * 3, N), columns=list("abc"), index=IDS)
ORDER = RNG.permutation(N)
MOVED = P.iloc[ORDER]
WEIGHTS = pd.Series(RNG.uniform(1, 2, N), index=IDS)
#: A label, an indicator, or a weight that is refused, at row ODD.
Case = tuple[str, Any, Any]


def with_odd(values: Any, odd: Any, dtype: Any = None) -> Any:
    values = values.astype(dtype) if dtype is not None else values.copy()
    values.iloc[ODD] = odd
    return values


def one_hot(odd: Any) -> Any:
    marks = pd.get_dummies(LABELS).astype(int)
    marks.iloc[ODD] = odd
    return marks


LISTED = with_odd(LABELS, None, object)
LISTED.iat[ODD] = [1]
CASES: list[Case] = [
    ("y_true = nan at row 20", with_odd(LABELS, np.nan, float), None),
    ("y_true = 1.5 at row 20", with_odd(LABELS, 1.5, float), None),
    ("y_true = 7 at row 20", with_odd(LABELS, 7), None),
    ("y_true = -100 at row 20", with_odd(LABELS, -100), None),
    (r"y_true = values of type NoneType \(None\) at row 20", with_odd(LABELS, None, object), None),
    ("y_true = a list at row 20", LISTED, None),
    (r"y_true = 3 at row 20, in the column (?:'b|1)", one_hot([0, 3, 0]), None),
    ("y_true = no class at row 20", one_hot(0), None),
    ("sample_weight = -1.0 at row 20", LABELS, with_odd(WEIGHTS, -1.0)),
    ("sample_weight = nan at row 20", LABELS, with_odd(WEIGHTS, np.nan)),
]


@pytest.mark.parametrize(("message", "labels", "weight"), CASES, ids=[case[0] for case in CASES])
def test_errors_number_the_rows_of_the_argument_that_they_name(message: str, labels: Any, weight: Any) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: decompose(labels, MOVED, sample_weight=weight, notion="classwise"),
        lambda: paired_difference(labels, P, MOVED, sample_weight=weight),
        lambda: paired_difference(labels, MOVED, P, sample_weight=weight),
        lambda: CalibrationSketch(3, notion="classwise").update(labels, MOVED, weight),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=rf"^{message}\b"):
            call()


@pytest.mark.parametrize(("odd", "found"), [(None, "missing values"), ([1], "a list")])
def test_errors_number_the_rows_of_groups(odd: Any, found: str) -> None:
    groups = pd.Series([f"g{i % 25}" for i in range(N)], index=IDS, dtype=object)
    groups.iat[ODD] = odd
    weight = WEIGHTS.where(np.arange(N) >= 10, 0.0)
    calls: list[Callable[[], Any]] = [
        lambda: decompose(LABELS, MOVED, groups=groups),
        lambda: decompose(LABELS, MOVED, groups=groups, sample_weight=weight),
        lambda: paired_difference(LABELS, P, MOVED, groups=groups),
        lambda: paired_difference(LABELS, MOVED, P, groups=groups),
        lambda: calibration_test(LABELS, MOVED, groups=groups, random_state=0, n_resamples=99),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=f"^groups = {found} at row 20:"):
            call()


def test_errors_number_the_rows_of_each_table_of_predictions() -> None:
    odd = with_odd(P, np.nan)
    for first, second, name in ((MOVED, odd, "y_proba_b"), (odd, MOVED, "y_proba_a")):
        with pytest.raises(ValueError, match=f"^{name} = nan at row 20:"):
            paired_difference(LABELS, first, second)
    text = with_odd(P.astype(object), "x")
    with pytest.raises(ValueError, match=r"^y_proba_b = .*'x' at row 20:"):
        paired_difference(LABELS, MOVED, text)
    above = with_odd(P, [1 + 1e-9, 0, 0])
    with pytest.warns(UserWarning, match="^y_proba_b exceeds 1 by rounding .* at row 20:"):
        paired_difference(LABELS, MOVED, above, kernel=None)
    with pytest.raises(ValueError, match=r"^activations\[1\] = NaN or inf at row 20:"):
        layer_sharpness([MOVED, odd], LABELS)


def test_a_weight_that_is_nothing_is_numbered_as_it_was_given() -> None:
    with pytest.warns(UserWarning, match="^sample_weight at row 20 is nothing beside the largest"):
        decompose(LABELS, MOVED, sample_weight=with_odd(WEIGHTS, 1e-320), kernel=None)


def test_rows_of_infinite_loss_are_those_of_each_table() -> None:
    impossible = P.copy()
    for row in (7, ODD):
        impossible.iloc[row] = np.eye(3)[(CODES[row] + 1) % 3]
    moved = impossible.iloc[ORDER]
    of_moved = tuple(sorted(np.argsort(ORDER)[[7, ODD]].tolist()))
    for first, second, rows in (
        (MOVED, impossible, ((), (7, ODD))), (impossible, MOVED, ((7, ODD), ())), (P, moved, ((), of_moved)), (moved, P, (of_moved, ())),
    ):
        with pytest.warns(UserWarning, match="infinite"):
            found = paired_difference(LABELS, first, second, generator="log", kernel=None)
        assert (found.a.infinite_loss_rows, found.b.infinite_loss_rows) == rows
    with pytest.warns(UserWarning, match="infinite"):
        assert decompose(LABELS, moved, generator="log", kernel=None).infinite_loss_rows == of_moved
    # Rows of weight 0 do not count, nor change the numbers of others.
    weight = WEIGHTS.where(np.arange(N) >= 10, 0.0)
    with pytest.warns(UserWarning, match="infinite"):
        found = paired_difference(LABELS, MOVED, impossible, generator="log", kernel=None, sample_weight=weight)
    assert found.b.infinite_loss_rows == (ODD,)
    with pytest.warns(UserWarning, match=f"probability 0, at rows {of_moved[0]}, {of_moved[1]}:"):
        calibration_test(LABELS, moved, random_state=0, n_resamples=99)
