"""Groups that are made by what occurred are doubted: calibrated predictions are off in each."""

from __future__ import annotations

import numpy as np
import pytest

from propercal import decompose_groups

OPTIONS = {"generator": "brier", "method": "risk", "bandwidth": 0.1, "n_resamples": 19}


@pytest.mark.parametrize("by", ["label", "right", "words"])
def test_groups_that_are_labels_or_hits_are_told(by: str) -> None:
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([0.5] * 3, 200)
    label = (rng.random((200, 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
    groups = {"label": label, "right": label == proba.argmax(axis=1), "words": np.array(["a", "b", "c"])[label]}[by]
    words = "right or wrong ones alone" if by == "right" else "rows of one label"
    with pytest.warns(UserWarning, match=rf"^groups hold {words}: they are made by what occurred"):
        decompose_groups(label, proba, groups=groups, **OPTIONS)  # type: ignore[call-overload]
    # Groups that are known before have several labels, and one of them may have one.
    decompose_groups(label, proba, groups=proba.argmax(axis=1), **OPTIONS)  # type: ignore[call-overload]
    decompose_groups(label, proba, groups=label == 0, **OPTIONS)  # type: ignore[call-overload]


@pytest.mark.parametrize("by", ["class", "bins", "outcome"])
@pytest.mark.parametrize("k", [2, 3])
def test_groups_that_predictions_tell_are_known_before(by: str, k: int) -> None:
    """Of a model that errs in no row, its classes are of one label each, and what occurred is what it says."""
    rng = np.random.default_rng(1)
    label = np.repeat(np.arange(k), 30)
    proba = rng.uniform(0.01, 0.1, (30 * k, k)) + 2 * np.eye(k)[label]
    proba /= proba.sum(axis=1, keepdims=True)
    groups = {"class": proba.argmax(axis=1), "bins": proba[:, 0] > 0.5, "outcome": label}[by]
    found = decompose_groups(label, proba, groups=groups, **OPTIONS)  # type: ignore[call-overload]
    assert found.whole.risk < 0.05


def test_rows_without_a_group_of_their_own() -> None:
    """Each alone would be a group of one row; together they are one group."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    proba = rng.dirichlet([0.5] * 3, 90)
    label = (rng.random((90, 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
    site = pd.Series(np.array(["north", "south", None], dtype=object)[np.arange(90) % 3])
    with pytest.raises(ValueError, match=r"^groups = missing values at .*: expected a group for each row; give these rows one label together, such as by \.fillna\('unknown'\), or drop them"):
        decompose_groups(label, proba, groups=site, **OPTIONS)  # type: ignore[call-overload]
    decompose_groups(label, proba, groups=site.fillna("unknown"), **OPTIONS)  # type: ignore[call-overload]
