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
