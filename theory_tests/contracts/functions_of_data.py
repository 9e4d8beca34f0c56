"""Every public function that takes data: the arguments that it is tried with, and the numbers that it gives.

What is public and in no list here fails `test_every_function_by_name`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import propercal
from propercal.information import layer_sharpness
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling
from propercal.subgroups import quantile_groups
from propercal.testing import assert_calibrated, assert_no_worse_calibrated
from propercal.training import LeastRefinement
from theory_tests.contracts.figures_of_data import (
    FAST,
    RISK,
    by_scorer,
    diagram,
    displayed,
    labelled,
    labelled_pairs,
    labelled_tests,
    of_accessor,
    of_dataset,
)
from theory_tests.instances import TERMS, values

#: What sketches and monitors have to be told before they are merged.
LISTED = {"labels": ["a", "b", "c"]}
SCORES = ("score", "miscalibration", "discrimination", "uncertainty")


@dataclass(frozen=True)
class Function:
    """How a function is called, and what does not apply to it."""

    covers: tuple[str, ...]
    """The public names that are called, without the package's."""
    roles: tuple[str, ...]
    call: Callable[..., list[Any]]
    """Numbers found from arranged data, with options such as ``labels=``."""
    not_for: Mapping[str, str] = field(default_factory=dict)
    """Ways of arranging data that do not apply, with the reason."""
    only: tuple[str, ...] = ()
    """The ways of moving names that are tried of what is slow; all by default."""
    as_in: str = ""
    """The function whose number it gives, where it takes no arrays without names."""
    in_chunks: bool = False
    """Whether it takes rows in two updates."""
    options: frozenset[str] = frozenset()
    """What says of classes it takes: "labels", "pos_label", "event", "sample_dims"."""


READING = frozenset({"labels", "pos_label", "sample_dims"})


def decomposed(d: Any, **options: Any) -> list[Any]:
    return [*values(propercal.decompose(d["y"], d["p"], sample_weight=d["w"], **RISK, **options))]


def debiased(d: Any, **options: Any) -> list[Any]:
    found = propercal.decompose(d["y"], d["p"], sample_weight=d["w"], groups=d["g"], **FAST, **options)
    return [*values(found), *found.interval("risk"), *found.interval("uncertainty")]


def contributed(d: Any, **options: Any) -> list[Any]:
    found = propercal.decompose(d["y"], d["p"], sample_weight=d["w"], **RISK, **options).contributions()
    return [d.back(found[name], columns=False) for name in TERMS]


def shortcut(name: str) -> Callable[..., list[Any]]:
    return lambda d, **o: [getattr(propercal, name)(d["y"], d["p"], sample_weight=d["w"], **RISK, **o)]


def averaged(d: Any, **options: Any) -> list[Any]:
    found = propercal.conditional_mean(d["y"], d["p"], sample_weight=d["w"], bandwidth=0.1, **options)
    return [d.back(found)]


def selected(d: Any, **options: Any) -> list[Any]:
    return [propercal.select_bandwidth(d["y"], d["p"], sample_weight=d["w"], generator="brier", **options)]


def tested(d: Any, **options: Any) -> list[Any]:
    found = propercal.calibration_test(d["y"], d["p"], sample_weight=d["w"], groups=d["g"], generator="brier", n_resamples=9, random_state=0, **options)
    return [found.statistic, *found.components.values()]


def sloped(d: Any, **options: Any) -> list[Any]:
    options = options if "event" in options else {**options, "notion": "top-label"}
    found = propercal.calibration_slope(d["y"], d["p"], sample_weight=d["w"], groups=d["g"], **options)
    return [found.slope, found.intercept, found.intercept_in_the_large, *found.standard_errors.values()]


def fit_in_bins(d: Any, **options: Any) -> list[Any]:
    options = options if "event" in options else {**options, "notion": "top-label"}
    found = propercal.hosmer_lemeshow(d["y"], d["p"], n_bins=5, **options)
    return [found.statistic, found.pvalue]


def spiegelhalter(d: Any, **options: Any) -> list[Any]:
    found = propercal.spiegelhalter_test(d["y"], d["p"], sample_weight=d["w"], groups=d["g"], **options)
    return [found.statistic, found.brier_score, found.expected]


def ece(d: Any, **options: Any) -> list[Any]:
    return [propercal.expected_calibration_error(d["y"], d["p"], sample_weight=d["w"], n_resamples=1, kind="classwise", **options).value]


def bounded(d: Any, **options: Any) -> list[Any]:
    return [propercal.upper_bound(d["y"], d["p"], variation=1.0, generator="brier", notion="top-label", **options)]


def drawn(d: Any, **options: Any) -> list[Any]:
    found = propercal.reliability(d["y"], d["p"], sample_weight=d["w"], groups=d["g"], n_resamples=19, **options)
    return [found[name] for name in ("curve", "prediction", "confidence_lower", *SCORES)]


def scores(d: Any, **options: Any) -> list[Any]:
    # The most probable class may differ between models.
    options = {"event": "a", **options}
    models = {"p": d["p"], "q": d["q"], "r": d["r"]}
    found = propercal.isotonic_decomposition(d["y"], models, sample_weight=d["w"], **options)
    return [found[name] for name in SCORES]


def elementary(d: Any, **options: Any) -> list[Any]:
    options = {"event": "a", **options}
    models = {"p": d["p"], "q": d["q"], "r": d["r"]}
    found = propercal.murphy(d["y"], models, sample_weight=d["w"], thresholds=[0.2, 0.5], **options)
    return [found["score"], found["recalibrated"]]


def two_elementary(d: Any, **options: Any) -> list[Any]:
    options = {"event": "a", **options}
    found = propercal.murphy(d["y"], {"p": d["p"], "q": d["q"]}, sample_weight=d["w"], groups=d["g"], thresholds=[0.2, 0.5], **options)
    return [found["score"], found["difference"], found["difference_lower"]]


def paired(d: Any, **options: Any) -> list[Any]:
    found = propercal.paired_difference(d["y"], d["p"], d["q"], term="risk", sample_weight=d["w"], groups=d["g"], **FAST, **options)
    return [found.difference, found.standard_error, found.a.risk, found.b.risk]


def compared(d: Any, **options: Any) -> list[Any]:
    models = {"p": d["p"], "q": d["q"], "r": d["r"]}
    found = propercal.compare_models(d["y"], models, sample_weight=d["w"], groups=d["g"], n_resamples=9, **FAST, **options)
    return [*(each.difference for each in found.pairs), *(each.standard_error for each in found.pairs), *(each.risk for each in found.models.values())]


def no_worse(d: Any, **options: Any) -> list[Any]:
    """Numbers of the message, as those predictions have nothing to do with the labels."""
    try:
        assert_no_worse_calibrated(d["y"], d["q"], d["p"], sample_weight=d["w"], groups=d["g"], alpha=0.4, generator="brier", **options)
    except AssertionError as error:
        return [_numbers(str(error))]
    raise AssertionError("it passes")


def _numbers(text: str) -> Any:
    return np.array([float(each) for each in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", text)])


def asserted(d: Any, **options: Any) -> list[Any]:
    try:
        assert_calibrated(d["y"], d["q"], sample_weight=d["w"], groups=d["g"], subgroups=d["s"], generator="brier", alpha=0.4, n_resamples=9, **options)
    except AssertionError as error:
        return [_numbers(str(error))]
    raise AssertionError("it passes")


def grouped(d: Any, **options: Any) -> list[Any]:
    found = propercal.decompose_groups(d["y"], d["p"], groups=d["s"], clusters=d["g"], sample_weight=d["w"], n_resamples=19, **FAST, **options)
    return [*found.shares.values(), *(number for each in found.groups.values() for number in (*values(each), *each.interval("risk")))]


def grouped_by_several(d: Any, **options: Any) -> list[Any]:
    found = propercal.decompose_groups(d["y"], d["p"], groups={"s": d["s"], "t": d["t"]}, sample_weight=d["w"], n_resamples=19, **RISK, **options)
    return [*found.shares.values(), *(number for each in found.groups.values() for number in values(each))]


def sketched(d: Any, **options: Any) -> list[Any]:
    sketch = propercal.CalibrationSketch(options.pop("n_classes", K), generator="brier", **options)
    for part in d.halves():
        sketch.update(part["y"], part["p"], part["w"])
    return [*values(sketch.result(method="debiased"))]


def merged(d: Any, **options: Any) -> list[Any]:
    """Sketches of two halves, of which the second went through bytes."""
    options = {"n_classes": K, "generator": "brier", "bandwidth": 0.1, **LISTED, **options}
    one, other = (propercal.CalibrationSketch(**options) for _ in range(2))
    for sketch, part in zip((one, other), d.halves(), strict=True):
        sketch.update(part["y"], part["p"])
    found = one.merge(propercal.CalibrationSketch.from_bytes(other.to_bytes())).result(method="risk")
    return [*values(found)]


def loaded(d: Any, **options: Any) -> list[Any]:
    options = {"n_classes": K, "generator": "brier", "bandwidth": 0.1, **options}
    sketch = propercal.CalibrationSketch(**options)
    for part in d.halves():
        sketch.update(part["y"], part["p"])
        sketch = propercal.CalibrationSketch.from_bytes(sketch.to_bytes())
    return [*values(sketch.result(method="risk"))]


def monitored(d: Any, **options: Any) -> list[Any]:
    monitor = propercal.CalibrationMonitor(options.pop("n_classes", K), generator="brier", **options)
    for part in d.halves():
        monitor.update(part["y"], part["p"])
        monitor = propercal.CalibrationMonitor.from_bytes(monitor.to_bytes())
    return [monitor.log_e_value, monitor.p_value, monitor.drift, monitor.lower_bound]


def monitors_merged(d: Any, **options: Any) -> list[Any]:
    options = {"n_classes": K, "generator": "brier", **LISTED, **options}
    one, other = propercal.CalibrationMonitor(**options), propercal.CalibrationMonitor(**options, first_row=42)
    for monitor, part in zip((one, other), d.halves(), strict=True):
        monitor.update(part["y"], part["p"])
    found = one.merge(other)
    return [found.log_e_value, found.p_value, found.lower_bound]


def forecast(kind: str) -> Callable[..., list[Any]]:
    def call(d: Any, **options: Any) -> list[Any]:
        more: dict[str, Any] = {"levels": [0.1, 0.5, 0.9]} if kind == "quantiles" and "quantiles" in d.plain else {}
        forecasts = {"ensemble" if kind == "members" else kind: d[kind]}
        found = propercal.crps_decomposition(d["outcome"], **forecasts, sample_weight=d["w"], groups=d["g"], n_folds=3, **more, **options)
        return [found.risk, found.calibration_error, found.sharpness, *found.standard_errors.values()]

    return call


def forecasts(a: str, b: str) -> Callable[..., list[Any]]:
    def call(d: Any, **options: Any) -> list[Any]:
        more: dict[str, Any] = {"levels": [0.1, 0.5, 0.9]} if "quantiles" in d.plain and "quantiles" in (a, b) else {}
        pair = {f"{'quantiles' if role == 'quantiles' else 'ensemble'}_{letter}": d[role] for letter, role in zip("ab", (a, b), strict=True)}
        found = propercal.crps_difference(d["outcome"], **pair, sample_weight=d["w"], groups=d["g"], **more, **options)
        return [found.difference, found.standard_error, found.risk_a, found.risk_b]

    return call


def of_layers(d: Any, **options: Any) -> list[Any]:
    return list(layer_sharpness([d["layer"], d["deeper"]], d["y"], sample_weight=d["w"], generator="brier", bandwidth=0.1, **options))


def recalibrated(kind: Any) -> Callable[..., list[Any]]:
    def call(d: Any, **options: Any) -> list[Any]:
        fitted = kind(**options).fit(d["p"], d["y"], d["w"])
        return [d.back(fitted.predict_proba(d["p"]))]

    return call


class Module:
    """What made predictions."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pass


def trained(d: Any, **options: Any) -> list[Any]:
    training = LeastRefinement(generator="brier", from_logits=False, method="risk", bandwidth=0.1, **options)
    training.update(Module(), d["y"], d["p"], d["w"])
    again = LeastRefinement(generator="brier", from_logits=False, method="risk", bandwidth=0.1, **options)
    again.load_state_dict(training.state_dict())
    found = [d.back(each.predict_proba(d["p"])) for each in (training, again)]
    assert training.result is not None
    return [training.result.risk, training.temperature, *found]


def by_feature(d: Any, **options: Any) -> list[Any]:
    """Subgroups of a feature, which keep the names of its rows."""
    groups = quantile_groups(d["feature"], 2)
    found = propercal.decompose_groups(d["y"], d["p"], groups=groups, n_resamples=9, **RISK, **options)
    # Labels of a Series and of an array are sorted alike.
    return [number for each in found.groups.values() for number in values(each)]


def reported(d: Any, **options: Any) -> list[Any]:
    found = propercal.report(d["y"], d["p"], sample_weight=d["w"], groups=d["g"], **options)
    return [_numbers(" ".join(found.summary))]


K = 3
#: Of what is slow.
MAIN = (
    "rows and columns, pandas",
    "labels without an index, pandas",
    "columns without names",
    "a named series",
    "labels and others in another order",
)
EVENT = frozenset({"event"})
OF_LAYERS = "two arrays with the same two dimensions, of which none is said to be that of classes, are refused"
POSITION = {"rows of the predictions": "folds, features or label sets are drawn by the position of rows"}
CORNERS = {"rows and columns": "columns stand for the corners of the simplex in their order"}
IN_TIME = {"rows of the predictions": "rows are in the order of time"}
IS_LISTED = {"prefix of p": "labels= lists what columns stand for, which names with a prefix do not contradict"}
_ROWS = "as everywhere in scikit-learn, rows are told by their positions: what shuffles y with its index relies on it"
BY_POSITION = dict.fromkeys(("rows", "index of", "labels without", "predictions without", "w beside", "indicators", "names of ind", "a name of an ind", "dimension of"), _ROWS)
CHUNKED = frozenset({"labels", "pos_label"})
FUNCTIONS: dict[str, Function] = {
    "decompose": Function(("decompose",), ("y", "p", "w"), decomposed, options=READING),
    "decompose, debiased": Function(("decompose",), ("y", "p", "w", "g"), debiased, only=MAIN, options=READING),
    "contributions": Function(("Decomposition.contributions",), ("y", "p", "w"), contributed, options=READING - {"sample_dims"}),
    **{name: Function((name,), ("y", "p", "w"), shortcut(name), options=READING) for name in ("calibration_error", "refinement", "sharpness")},
    "conditional_mean": Function(("conditional_mean",), ("y", "p", "w"), averaged, options=READING - {"pos_label"}),
    "select_bandwidth": Function(("select_bandwidth",), ("y", "p", "w"), selected, options=READING),
    "calibration_test": Function(("calibration_test",), ("y", "p", "w", "g"), tested, POSITION, options=READING),
    "calibration_slope": Function(("calibration_slope",), ("y", "p", "w", "g"), sloped, options=READING | EVENT),
    "hosmer_lemeshow": Function(("hosmer_lemeshow",), ("y", "p"), fit_in_bins, options=READING | EVENT),
    "spiegelhalter_test": Function(("spiegelhalter_test",), ("y", "p", "w", "g"), spiegelhalter, options=READING),
    "expected_calibration_error": Function(("expected_calibration_error",), ("y", "p", "w"), ece, options=READING),
    "upper_bound": Function(("upper_bound",), ("y", "p"), bounded, options=READING),
    "reliability": Function(("reliability",), ("y", "p", "w", "g"), drawn, options=READING | EVENT),
    "isotonic_decomposition": Function(("isotonic_decomposition",), ("y", "p", "q", "r", "w"), scores, options=READING | EVENT),
    "murphy": Function(("murphy",), ("y", "p", "q", "r", "w"), elementary, options=READING | EVENT),
    "murphy, two models": Function(("murphy",), ("y", "p", "q", "w", "g"), two_elementary, options=READING | EVENT),
    "paired_difference": Function(("paired_difference",), ("y", "p", "q", "w", "g"), paired, options=READING),
    "compare_models": Function(("compare_models",), ("y", "p", "q", "r", "w", "g"), compared, options=READING),
    "assert_no_worse_calibrated": Function(("testing.assert_no_worse_calibrated",), ("y", "p", "q", "w", "g"), no_worse, only=MAIN, options=READING),
    "assert_calibrated": Function(("testing.assert_calibrated",), ("y", "q", "w", "g", "s"), asserted, POSITION, only=MAIN, options=READING),
    "decompose_groups": Function(("decompose_groups",), ("y", "p", "s", "w", "g"), grouped, only=MAIN, options=READING),
    "decompose_groups, several": Function(("decompose_groups",), ("y", "p", "s", "t", "w"), grouped_by_several, only=(*MAIN, "rows of s, pandas", "rows of t, pandas"), options=READING),
    "quantile_groups": Function(("subgroups.quantile_groups",), ("y", "p", "feature"), by_feature, options=CHUNKED),
    "CalibrationSketch": Function(("CalibrationSketch.update",), ("y", "p", "w"), sketched, only=MAIN, in_chunks=True, options=CHUNKED),
    "CalibrationSketch.merge": Function(("CalibrationSketch.merge", "CalibrationSketch.from_bytes"), ("y", "p"), merged, IS_LISTED, in_chunks=True, options=CHUNKED),
    "CalibrationSketch.from_bytes": Function(("CalibrationSketch.from_bytes",), ("y", "p"), loaded, in_chunks=True, options=CHUNKED),
    "CalibrationMonitor": Function(("CalibrationMonitor.update", "CalibrationMonitor.from_bytes"), ("y", "p"), monitored, IN_TIME, in_chunks=True, options=CHUNKED),
    "CalibrationMonitor.merge": Function(("CalibrationMonitor.merge",), ("y", "p"), monitors_merged, {**IN_TIME, **IS_LISTED}, in_chunks=True, options=CHUNKED),
    "crps_decomposition, ensemble": Function(("crps_decomposition",), ("outcome", "members", "w", "g"), forecast("members"), POSITION),
    "crps_decomposition, quantiles": Function(("crps_decomposition",), ("outcome", "quantiles", "w", "g"), forecast("quantiles"), POSITION),
    "crps_difference, ensembles": Function(("crps_difference",), ("outcome", "members", "others", "w", "g"), forecasts("members", "others")),
    "crps_difference, quantiles": Function(("crps_difference",), ("outcome", "quantiles", "members", "w", "g"), forecasts("quantiles", "members")),
    "layer_sharpness": Function(("information.layer_sharpness",), ("y", "layer", "deeper", "w"), of_layers, {"indicators [1, 2, 0], xarray": OF_LAYERS, "indicators [2, 1, 0], xarray": OF_LAYERS}),
    "TemperatureScaling": Function(("recalibration.TemperatureScaling.fit", "recalibration.TemperatureScaling.predict_proba"), ("y", "p", "w"), recalibrated(TemperatureScaling), options=CHUNKED),
    "ClasswiseIsotonic": Function(("recalibration.ClasswiseIsotonic.fit", "recalibration.ClasswiseIsotonic.predict_proba"), ("y", "p", "w"), recalibrated(ClasswiseIsotonic), options=CHUNKED),
    "LeastRefinement": Function(("training.LeastRefinement.update", "training.LeastRefinement.predict_proba", "training.LeastRefinement.load_state_dict"), ("y", "p", "w"), trained, options=CHUNKED),
    "xarray.decompose": Function(("xarray.decompose",), ("y", "p", "w"), labelled, as_in="decompose"),
    "xarray.calibration_test": Function(("xarray.calibration_test",), ("y", "p", "w", "g"), labelled_tests, POSITION, as_in="calibration_test"),
    "xarray.paired_difference": Function(("xarray.paired_difference",), ("y", "p", "q", "w", "g"), labelled_pairs, as_in="paired_difference"),
    "accessor of arrays": Function(("xarray.DataArrayAccessor.decompose",), ("y", "p", "w"), of_accessor, as_in="decompose"),
    "accessor of datasets": Function(("xarray.DatasetAccessor.decompose",), ("y", "p", "w"), of_dataset, as_in="decompose"),
    "Scorer": Function(("sklearn.Scorer.__call__",), ("y", "p", "w"), by_scorer, {**BY_POSITION, **IS_LISTED}),
    "DecompositionDisplay": Function(("sklearn.DecompositionDisplay.from_predictions",), ("y", "p", "w"), displayed, BY_POSITION),
    "reliability_diagram": Function(("plotting.reliability_diagram",), ("y", "p", "w", "g"), diagram("reliability_diagram", event="a", n_resamples=19), only=MAIN),
    "murphy_diagram": Function(("plotting.murphy_diagram",), ("y", "p", "q", "r", "w"), diagram("murphy_diagram", "models", event="a"), only=MAIN),
    "mcb_dsc_plot": Function(("plotting.mcb_dsc_plot",), ("y", "p", "q", "r", "w"), diagram("mcb_dsc_plot", "models", event="a"), only=MAIN),
    "triptych": Function(("plotting.triptych",), ("y", "p", "w", "g"), diagram("triptych", n=3, event="a", n_resamples=19), only=MAIN),
    "reliability_panels": Function(("plotting.reliability_panels",), ("y", "p", "w", "g"), diagram("reliability_panels", n=3, n_resamples=19), only=MAIN),
    "simplex_arrows": Function(("plotting.simplex_arrows",), ("y", "p", "w"), diagram("simplex_arrows", bandwidth=0.1, n_cells=3), CORNERS, only=MAIN),
    "report": Function(("report",), ("y", "p", "w", "g"), reported, only=MAIN[:1], options=READING),
}
