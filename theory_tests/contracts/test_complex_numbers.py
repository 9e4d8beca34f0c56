"""Complex numbers have no order, and are no probabilities: wherever they come, they are refused, also without an imaginary part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import propercal
from propercal import CalibrationMonitor, CalibrationSketch, crps_decomposition, decompose, decompose_groups
from propercal.generators import Brier, Quadratic
from propercal.information import (
    apply_markov_map,
    f_divergence,
    layer_sharpness,
    sharpness_divergence,
    statistical_information,
)
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling
from propercal.subgroups import quantile_groups
from theory_tests.instances import unrelated

N = 60
Y, P = unrelated(N)
EVENT = (Y == 1).astype(int)
NUMBER = np.arange(N) // 20
JOINT = np.full((2, 3), 1 / 6)
NONE: dict[str, Any] = {"kernel": None}


def series(values: Any) -> Any:
    pd = pytest.importorskip("pandas")
    return pd.Series(values) if values.ndim == 1 else pd.DataFrame(values)


def labelled(values: Any) -> Any:
    xr = pytest.importorskip("xarray")
    return xr.DataArray(values, dims=("row", "column")[: values.ndim])


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "array": lambda values: values,
    "list": lambda values: values.tolist(),
    "objects": lambda values: values.astype(object),
    "tensor": lambda values: pytest.importorskip("torch").as_tensor(values),
    "series": series,
    "labelled array": labelled,
}
#: What takes numbers: the argument, as messages call it, real numbers that it takes, and the call.
CALLS: dict[str, tuple[str, Any, Callable[[Any], Any]]] = {
    "groups": ("groups", np.arange(N) // 2, lambda x: decompose(Y, P, groups=x, **NONE)),
    "subgroups": ("groups", NUMBER, lambda x: decompose_groups(Y, P, groups=x, **NONE)),
    "groups of forecasts": ("groups", np.arange(N) // 2, lambda x: crps_decomposition(Y * 1.0, 3 * P, groups=x)),
    "labels": ("y_true", Y, lambda x: decompose(x, P, **NONE)),
    "predictions": ("y_proba", P, lambda x: decompose(Y, x, **NONE)),
    "weights": ("sample_weight", np.ones(N), lambda x: decompose(Y, P, sample_weight=x, **NONE)),
    "events": ("y_proba", P[:, 1], lambda x: propercal.reliability(EVENT, x)),
    "features": ("feature", P[:, 0], lambda x: quantile_groups(x, 2)),
    "activations": (r"activations\[0\]", P, lambda x: layer_sharpness([x], Y, bandwidth=0.1)),
    "members": ("ensemble", 3 * P, lambda x: crps_decomposition(Y * 1.0, x)),
    "outcomes": ("y_true", Y * 1.0, lambda x: crps_decomposition(x, 3 * P)),
    "a monitor": ("y_proba", P, lambda x: CalibrationMonitor(3).update(Y, x)),
    "a sketch": ("sample_weight", np.ones(N), lambda x: CalibrationSketch(3).update(Y, P, x)),
    "a temperature": ("X", P, lambda x: TemperatureScaling().fit(x, Y)),
    "isotonic maps": ("X", P, lambda x: ClasswiseIsotonic().fit(x, Y)),
    "costs": ("matrix", np.eye(3), Quadratic),
    "a joint table": ("joint", JOINT, lambda x: statistical_information("brier", x)),
    "a sharpness": ("joint", JOINT, lambda x: sharpness_divergence("brier", x)),
    "a map": ("kernel", np.eye(3), lambda x: apply_markov_map(JOINT.T, x)),
    "distributions": ("distributions", JOINT[:1] * 2, lambda x: f_divergence(lambda r: (r[:, 0] - 1) ** 2, x, JOINT[0] * 2)),
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore:y is predicted no better by any temperature")
def test_complex_numbers_are_refused(call: str, holder: str) -> None:
    name, values, function = CALLS[call]
    hold = HOLDERS[holder]
    function(values)
    for odd in (values + 0j, values + 1j * values):
        with pytest.raises(ValueError, match=rf"^{name} = .*: expected "):
            function(hold(odd))


@pytest.mark.parametrize("holder", ["array", "list", "tensor"])
def test_points_of_a_generator_are_real(holder: str) -> None:
    with pytest.raises(ValueError, match=r"^p = "):
        Brier().divergence(HOLDERS[holder](P + 0j), P)
