"""Messages call the arguments what the caller calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from propercal import decompose, paired_difference
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling

P = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], size=40)
Y = np.arange(40) % 3
BAD: dict[str, tuple[Any, str]] = {
    "above 1": (2 * P, "= .*probabilities between 0 and 1"),
    "sums": (np.where(np.arange(40)[:, None] == 7, 0.5 * P, P), r"= rows that sum to 0\.5"),
    "rows": (P[:30], "one per row of "),
    "shape": (P[None], r"= an array of shape \(1, 40, 3\)"),
    "text": (P.astype(str), "= values of type <U"),
    "set": ({1.0}, "= a set"),
    "masked": (np.ma.masked_less(P, 0.1), "= masked entries"),
}
CALLERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "decompose": ("y_proba", lambda p: decompose(Y, p)),
    "paired, first": ("y_proba_a", lambda p: paired_difference(Y, p, P)),
    "paired, second": ("y_proba_b", lambda p: paired_difference(Y, P, p)),
    "temperature": ("X", lambda p: TemperatureScaling().fit(p, Y)),
    "isotonic": ("X", lambda p: ClasswiseIsotonic().fit(p, Y)),
}


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("kind", BAD)
def test_bad_predictions_are_called_by_their_argument(caller: str, kind: str) -> None:
    name, call = CALLERS[caller]
    values, message = BAD[kind]
    with pytest.raises(ValueError, match=message) as caught:
        call(values)
    text = str(caught.value)
    assert f"{name} " in text or f"of {name};" in text
    others = {"y_proba", "y_proba_a", "y_proba_b", "X"} - {name}
    assert not any(f"{other} " in text or f"of {other};" in text for other in others)


@pytest.mark.parametrize("make", [TemperatureScaling, ClasswiseIsotonic])
def test_labels_that_are_called_as_an_argument_keep_their_names(make: Any) -> None:
    labels = np.array(["y_true", "y_proba", "z"])[Y]
    with pytest.raises(ValueError, match=r"^y = the names \['y_proba', 'y_true', 'z'\]: .* as X has columns"):
        make().fit(P[:, :2] / P[:, :2].sum(axis=1, keepdims=True), labels)


def test_warnings_name_the_argument_too() -> None:
    rounded = P.round(2)
    with pytest.warns(UserWarning, match="^y_proba_b has rows that sum to"):
        paired_difference(Y, P, rounded)
