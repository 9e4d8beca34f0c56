"""True and False where a number or a label is asked for: refused, as they may mean "none" or "the usual one"."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import propercal
from theory_tests.instances import calibrated

Y, P = calibrated(60, 3)
OPTIONS: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}


@pytest.mark.parametrize("flag", [True, False, np.True_, np.False_])
def test_labels_to_ignore_are_no_flags(flag: bool) -> None:
    for labels in (Y, Y.astype(float), np.array(["a", "b", "c"])[Y]):
        with pytest.raises(ValueError, match=r"ignore_index = .*expected None, or a label of y_true"):
            propercal.decompose(labels, P, ignore_index=flag, **OPTIONS)
    g = P[:, 2]
    kept = Y != 1
    right = propercal.decompose(Y[kept] == 2, g[kept], **OPTIONS).risk
    marked = np.array([None, False, True], dtype=object)[np.where(kept, 1 + (Y == 2), 0)]
    assert propercal.decompose(marked, g, ignore_index=float("nan"), **OPTIONS).risk == pytest.approx(right)


@pytest.mark.parametrize("flag", [True, np.True_])
def test_seeds_are_no_flags(flag: bool) -> None:
    for call in (
        lambda: propercal.decompose(Y, P, random_state=flag),
        lambda: propercal.calibration_test(Y, P, random_state=flag, n_resamples=19),
        lambda: propercal.reliability(Y, P, random_state=flag, n_resamples=19),
        lambda: propercal.murphy(Y == 2, P[:, 2], random_state=flag),
    ):
        with pytest.raises(ValueError, match=r"random_state = .*expected an integer"):
            call()
