"""What says how data are read is passed on by every function that reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from scipy.special import expit, softmax

import propercal
from propercal.plotting import reliability_diagram
from theory_tests.instances import unrelated

Y, P = unrelated(60)
LOGITS = np.random.default_rng(5).normal(size=(60, 3))
BINARY = Y > 0
WORDS = np.where(BINARY, "fraud", "legit")
IGNORED = np.where(np.arange(60) % 7 == 0, -100, Y)
KEPT = IGNORED != -100
SQUARE = xr.DataArray(P[:9].reshape(3, 3, 3).transpose(0, 2, 1), dims=("site", "kind", "day"))
LABELS = xr.DataArray(Y[:9].reshape(3, 3), dims=("site", "day"))


def bars(y_true: Any, y_proba: Any, notion: str, **settings: Any) -> list[float]:
    """Draw the first class, or the top label of two."""
    which: dict[str, Any] = {"notion": "top-label"} if notion == "canonical" else {"notion": notion, "event": 0}
    _, axis = plt.subplots()
    reliability_diagram(y_true, y_proba, curve="equal-bins", ax=axis, **which, **settings)
    heights = [float(patch.get_extents().height) for patch in axis.patches]
    plt.close()
    return heights


def pair(y_true: Any, y_proba: Any, **settings: Any) -> float:
    other = 0.9 * y_proba + 0.1 * y_proba.mean()
    found = propercal.paired_difference(y_true, y_proba, other, generator="brier", **settings)
    return float(found.difference)


def shown(function: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """Numbers of a diagram of the first class, or of the top label."""

    def numbers(y_true: Any, y_proba: Any, notion: str, **settings: Any) -> list[float]:
        which: dict[str, Any] = {"notion": "top-label"} if notion == "canonical" else {"notion": notion, "event": 0}
        found = function(y_true, y_proba, **which, **settings)
        return [float(found[name].mean()) for name in names]

    return numbers


def several(y_true: Any, y_proba: Any, **settings: Any) -> float:
    others = {f"mixed {share}": share * y_proba + (1 - share) * y_proba.mean() for share in (0.9, 0.5)}
    found = propercal.compare_models(y_true, {"given": y_proba, **others}, generator="brier", n_resamples=9, **settings)
    return float(found.pairs[1].difference)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "decompose": lambda *a, **k: propercal.decompose(*a, method="risk", bandwidth=0.1, **k).refinement,
    "calibration_error": lambda *a, **k: propercal.calibration_error(*a, method="risk", bandwidth=0.1, **k),
    "refinement": lambda *a, **k: propercal.refinement(*a, method="risk", bandwidth=0.1, **k),
    "sharpness": lambda *a, **k: propercal.sharpness(*a, method="risk", bandwidth=0.1, **k),
    "calibration_test": lambda *a, **k: propercal.calibration_test(*a, n_resamples=99, random_state=0, **k).statistic,
    "paired_difference": pair,
    "compare_models": several,
    "select_bandwidth": propercal.select_bandwidth,
    "upper_bound": lambda *a, **k: propercal.upper_bound(*a, variation=1, **k),
    "reliability_diagram": bars,
    "reliability": shown(propercal.reliability, "curve", "confidence_lower", "consistency_upper", "score"),
    "murphy": shown(propercal.murphy, "score", "recalibrated"),
    "isotonic_decomposition": shown(propercal.isotonic_decomposition, "score", "discrimination"),
}
CASES: dict[str, tuple[tuple[Any, Any], dict[str, Any], tuple[Any, Any], str]] = {
    "pos_label": ((WORDS, P[:, 0]), {"pos_label": "fraud"}, (BINARY, P[:, 0]), "canonical"),
    "the other pos_label": ((WORDS, P[:, 0]), {"pos_label": "legit"}, (~BINARY, P[:, 0]), "canonical"),
    "softmax": ((np.eye(3)[Y], LOGITS), {"link": "softmax", "from_logits": True}, (Y, softmax(LOGITS, axis=1)), "classwise"),
    "sigmoid": ((np.eye(3)[Y], LOGITS), {"link": "sigmoid", "from_logits": True}, (np.eye(3)[Y], expit(LOGITS)), "classwise"),
    "ignore_index": ((IGNORED, P), {"ignore_index": -100}, (Y[KEPT], P[KEPT]), "classwise"),
    "class_axis": ((Y.reshape(15, 4), P.reshape(15, 4, 3).transpose(0, 2, 1)), {"class_axis": 1}, (Y, P), "classwise"),
    "class_dim": ((LABELS, SQUARE), {"class_dim": "kind"}, (Y[:9], P[:9]), "classwise"),
    "sample_dims": ((LABELS, SQUARE), {"sample_dims": ("site", "day")}, (Y[:9], P[:9]), "classwise"),
}


@pytest.mark.filterwarnings("ignore:the bandwidth search ended at")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_argument_of_reading_is_heeded(name: str, case: str) -> None:
    given, settings, plain, notion = CASES[case]
    if name == "compare_models" and "link" in settings:
        pytest.skip("not of these data")
    if name == "paired_difference" and ("link" in settings or len(plain[0]) < 20):
        pytest.skip("not of these data")
    if name == "calibration_test" and (case == "sigmoid" or len(plain[0]) < 20):
        pytest.skip("not of these data")
    found = FUNCTIONS[name](*given, notion=notion, **settings)
    np.testing.assert_allclose(found, FUNCTIONS[name](*plain, notion=notion), rtol=1e-9)


@pytest.mark.parametrize(
    "function",
    [
        propercal.select_bandwidth,
        propercal.conditional_mean,
        propercal.calibration_test,
        propercal.reliability,
        propercal.murphy,
        propercal.isotonic_decomposition,
        reliability_diagram,
    ],
)
def test_an_argument_that_is_none_is_refused_with_the_nearest(function: Callable[..., Any]) -> None:
    name = function.__name__
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'sample_weights'; did you mean 'sample_weight'\?$"):
        function(Y, P, sample_weights=None)
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'one_class'$"):
        function(Y, P, one_class=True)
