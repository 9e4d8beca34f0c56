"""Metamorphic properties: every public function is run through every transform that applies to it.

Other array libraries, orders, weights, chunks and logits give the numbers that the rows as they stand give in
NumPy. A pair that does not apply is listed, with the reason.

Source: paper, Eq. 7, 9 and 13 (sums over samples, and over classes), with sample weights as frequencies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import array_api_compat
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import assume, given
from hypothesis import strategies as st

import propercal
from propercal.generators import Quadratic
from propercal.information import layer_sharpness
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling
from propercal.simulation import TemperatureScaledSimplex
from propercal.testing import transforms
from propercal.testing.transforms import Changed, Data, Transform
from theory_tests.conftest import BACKENDS
from theory_tests.instances import (
    BINS,
    KERNELS,
    NOTIONS,
    PLAIN_METHODS,
    SOME,
    TERMS,
    calibrated,
    values,
)
from theory_tests.instances import generators as generators_of
from theory_tests.laws.populations import EPS, conditional_mean, decompose
from theory_tests.laws.samples import Sample, fewer, samples


def with_names(name: str, make: Callable[[Any, list[str], Any], Any], column: Callable[[Any, Any], Any]) -> Transform:
    """Columns in another order with their names; labels and weights in another order of rows with their index."""

    def change(data: Data, rng: np.random.Generator) -> Changed:
        n, k = data.y_proba.shape
        names, index = np.array([f"class {i}" for i in range(k)]), np.arange(n) + 1000
        classes, rows = rng.permutation(k), rng.permutation(n)
        weight = None if data.sample_weight is None else column(data.sample_weight[rows], index[rows])
        table = make(data.y_proba[:, classes], list(names[classes]), index)
        return Changed(data._replace(y_true=column(names[data.y_true][rows], index[rows]), y_proba=table, sample_weight=weight), classes=classes)

    return Transform(f"permute classes and rows with their names, {name}", "names move with what they name", change)


NAMED = (
    with_names("pandas", lambda p, names, index: pd.DataFrame(p, index, names), lambda y, index: pd.Series(y, index)),
    with_names(
        "xarray",
        lambda p, names, index: xr.DataArray(p.T, dims=("class", "row"), coords={"class": names, "row": index}),
        lambda y, index: xr.DataArray(y, dims="row", coords={"row": index}),
    ),
)
ALL = (
    *transforms.TRANSFORMS,
    *NAMED,
    *(transforms.scale_weights(factor) for factor in (1.0, 1e200, 1e-200, 3e100)),
    transforms.logits(300.0),
    *(transforms.convert(b.module, dtype=b.dtype, device=b.device) for b in BACKENDS if b.dtype != "float64" or b.device),
)
#: What the transforms themselves round, relative and absolute: float32 results, and sums g + c by 300 ε.
ROUNDED = {
    "arrays of torch, float32": (1e-7, 1e-7),
    "arrays of torch, float32 on cuda": (1e-7, 1e-7),
    "arrays of torch, float64 on cuda": (1e-11, 1e-13),
    "logits moved by up to 0": (1e-11, 1e-13),
    "logits moved by up to 300": (1e-10, 1e-11),
}


def as_numpy(x: Any) -> Any:
    return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x, dtype=float)


# ------------------------------------------------------------------ the functions


def decomposed(data: Data) -> list[Any]:
    y, p, weight, options = data
    found = propercal.decompose(y, p, **{"sample_weight": weight, "generator": SOME, "bandwidth": KERNELS[options.get("kernel", "dirichlet")], **options})
    return [*np.ravel([values(each) for each in found]), found[0].bandwidth]


def shortcut(function: Callable[..., Any]) -> Callable[[Data], list[Any]]:
    return lambda data: [function(data.y_true, data.y_proba, sample_weight=data.sample_weight, **data.options)]


def p_values(data: Data) -> list[Any]:
    found = propercal.calibration_test(data.y_true, data.y_proba, sample_weight=data.sample_weight, n_resamples=19, random_state=0, **data.options)
    return [found.pvalue, *found.components.values()]


def sharper_than(data: Data) -> Any:
    """Predictions that are sharper by a power of 2."""
    p = as_numpy(data.y_proba)
    axis = 0 if isinstance(data.y_proba, xr.DataArray) else 1
    sharper = 2 * p if "from_logits" in data.options else p**2 / (p**2).sum(axis=axis, keepdims=True)
    if isinstance(data.y_proba, pd.DataFrame | xr.DataArray):
        other = data.y_proba.copy()
        other[:] = sharper
    else:
        library = array_api_compat.array_namespace(data.y_proba)
        other = library.asarray(sharper, dtype=data.y_proba.dtype, device=array_api_compat.device(data.y_proba))
    return other


def compared(data: Data) -> list[Any]:
    """All terms, from one fit."""
    table = propercal.paired_difference(data.y_true, data.y_proba, sharper_than(data), term=[*TERMS[:4]], generator="brier", kernel=None, sample_weight=data.sample_weight, **data.options)
    return [number for each in table for number in (each.difference, each.standard_error, each.pvalue, *each.interval())]


def several(data: Data) -> list[Any]:
    """The risk of three models, of which two are the same, and their skill."""
    sharper = sharper_than(data)
    models = {"given": data.y_proba, "sharper": sharper, "again": sharper}
    found = propercal.compare_models(data.y_true, models, n_resamples=199, sample_weight=data.sample_weight, **data.options)
    pairs = [number for each in found.pairs for number in (each.difference, each.pvalue, each.familywise_pvalue, *each.simultaneous_interval)]
    skill = [number for each in found.models.values() for number in (float(each.skill_score), *each.interval("skill_score"))]
    return [*pairs, *skill, *found.best_pvalues.values(), *(number for rank in found.ranks.values() for number in rank)]


def contributed(data: Data) -> list[Any]:
    """What each row adds, at the numbers of the rows; NaN where it is left out."""
    y, p, weight, options = data
    found = propercal.decompose(y, p, sample_weight=weight, bandwidth=0.05, **options).contributions()
    whole = np.full((len(TERMS), y.shape[0]), np.nan)
    whole[:, found.row] = [found[name] for name in TERMS]
    return list(whole)


def by_logistic_regression(data: Data) -> list[Any]:
    found = propercal.calibration_slope(data.y_true, data.y_proba, sample_weight=data.sample_weight, **data.options)
    return [found.slope, found.intercept, found.intercept_in_the_large, found.pvalue, *found.standard_errors.values()]


def in_bins(data: Data) -> list[Any]:
    found = propercal.hosmer_lemeshow(data.y_true, data.y_proba, n_bins=5, **data.options)
    return [found.statistic, found.pvalue, float(found.df)]


def scored(data: Data) -> list[Any]:
    found = propercal.spiegelhalter_test(data.y_true, data.y_proba, sample_weight=data.sample_weight, **data.options)
    return [found.statistic, found.pvalue, found.brier_score, found.expected]


def expected_errors(data: Data) -> list[Any]:
    return [propercal.expected_calibration_error(data.y_true, data.y_proba, sample_weight=data.sample_weight, n_resamples=1, **data.options).value]


def by_confidence(data: Data) -> list[Any]:
    """Groups by the largest probability, which go with rows whatever their order or that of classes."""
    p = as_numpy(data.y_proba)
    p = p.T if isinstance(data.y_proba, xr.DataArray) else p
    if "from_logits" in data.options:
        p = np.exp(p - p.max(axis=1, keepdims=True))
    sure: Any = p.max(axis=1) / p.sum(axis=1) > 0.6
    if isinstance(data.y_proba, pd.DataFrame):
        sure = pd.Series(sure, data.y_proba.index)
    elif isinstance(data.y_proba, xr.DataArray):
        sure = xr.DataArray(sure, dims="row", coords={"row": data.y_proba["row"]})
    options = {"generator": "brier", "method": "risk", "bandwidth": 0.1, "n_resamples": 1, "sample_weight": data.sample_weight, **data.options}
    found = propercal.decompose_groups(data.y_true, data.y_proba, groups={"sure": sure, "unsure": ~sure}, **options)
    return [*found.shares.values(), *np.ravel([values(each) for each in (found.whole, *found.groups.values())]), *(each.value for each in found.parts.values())]


def sketched(data: Data) -> list[Any]:
    options = dict(data.options)
    method = options.pop("method")
    chunks = list(zip(data.y_true, data.y_proba, strict=True)) if isinstance(data.y_true, list) else [data[:2]]
    k = chunks[0][1].sizes["class"] if isinstance(chunks[0][1], xr.DataArray) else chunks[0][1].shape[1]
    sketch = propercal.CalibrationSketch(k, bandwidth=0.1, **options)
    for y, p in chunks:
        sketch.update(y, p)
    found = sketch.result(method=method)
    return [*values(found), *found.interval("risk"), sketch.n_samples]


def summed(data: Data) -> list[Any]:
    """The debiased result of a sketch."""
    k = data.y_proba.sizes["class"] if isinstance(data.y_proba, xr.DataArray) else data.y_proba.shape[1]
    sketch = propercal.CalibrationSketch(k, **data.options)
    sketch.update(data.y_true, data.y_proba, data.sample_weight)
    found = sketch.result()
    return [*values(found), *found.interval("risk"), sketch.n_samples]


def recalibrated(data: Data) -> list[Any]:
    options = dict(data.options)
    map_ = options.pop("kind")(**options).fit(data.y_proba, data.y_true, data.sample_weight)
    return [map_.predict_proba(data.y_proba)]


def of_layers(data: Data) -> list[Any]:
    return list(layer_sharpness([data.y_proba], data.y_true, sample_weight=data.sample_weight, bandwidth=0.1, **data.options))


def monitored(data: Data) -> list[Any]:
    chunks = list(zip(data.y_true, data.y_proba, strict=True)) if isinstance(data.y_true, list) else [data[:2]]
    k = chunks[0][1].sizes["class"] if isinstance(chunks[0][1], xr.DataArray) else chunks[0][1].shape[1]
    monitor = propercal.CalibrationMonitor(k, **data.options)
    for y, p in chunks:
        monitor.update(y, p)
    return [monitor.log_e_value, monitor.p_value, monitor.drift, monitor.lower_bound, monitor.n_samples]
def drawn(function: Callable[..., xr.Dataset], *names: str) -> Callable[[Data], list[Any]]:
    """Means of what a diagram of the top label shows; its predictions are in an order of their own."""

    def means(data: Data) -> list[Any]:
        found = function(data.y_true, data.y_proba, sample_weight=data.sample_weight, **data.options)
        return [float(found[name].mean()) for name in names]

    return means


WHOLE = {"split into chunks": "all rows are needed at once; only a sketch adds up"}
SCORES = ("score", "miscalibration", "discrimination", "uncertainty")
APART = {"logits moved by up to 300": "ties come apart by what g + c rounds, and the isotonic curve has no width to smooth it"}
OWN_LABEL = {"merge duplicates": "no row may see its own label, so that a copy tells of the other and a weight does not"}


@dataclass(frozen=True)
class Function:
    """A public function, the options it is tried with, what it rounds, and the transforms that do not apply."""

    call: Callable[[Data], list[Any]]
    cases: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    rtol: float = 1e-12
    atol: float = 1e-13
    not_for: Mapping[str, str] = field(default_factory=dict)
    weighted: bool = True
    overconfident: bool = False


by_notion: list[dict[str, Any]] = [{"notion": notion} for notion in NOTIONS]
risk: dict[str, Any] = {"method": "risk", "bandwidth": 0.05}
FUNCTIONS = {
    **{
        f"decompose, {method}": Function(decomposed, [{"method": method, "notion": notion, "kernel": kernel} for notion in NOTIONS for kernel in KERNELS], not_for=WHOLE)
        for method in PLAIN_METHODS
    },
    # At the best weights of the families the loss does not change to first order; what they are does.
    "decompose, debiased": Function(decomposed, [{"method": "debiased", "generator": ["log", "spherical"], "bandwidth": "auto", **each} for each in by_notion], 1e-7, 1e-9, {**WHOLE, **OWN_LABEL}, overconfident=True),
    **{name: Function(shortcut(getattr(propercal, name)), [{**risk, **each} for each in by_notion], not_for=WHOLE) for name in ("calibration_error", "refinement", "sharpness")},
    "conditional_mean": Function(shortcut(propercal.conditional_mean), [{"bandwidth": KERNELS[kernel], "notion": notion, "kernel": kernel} for notion in NOTIONS for kernel in KERNELS], not_for=WHOLE),
    # A search stops somewhere in a flat valley.
    "select_bandwidth": Function(shortcut(propercal.select_bandwidth), [{"generator": "brier", "criterion": criterion, **each} for each in by_notion for criterion in ("risk", "likelihood")], 1e-4, not_for={**WHOLE, **OWN_LABEL}),
    "calibration_test": Function(p_values, by_notion, 1e-8, 1e-8, {
        **WHOLE,
        **OWN_LABEL,
        "permute rows": "the points of its features are drawn by position (laws/test_calibration_test.py has the forms that do not depend on it)",
        "permute classes": "labels are drawn by column (laws/test_calibration_test.py has the forms that do not depend on it)",
    }),
    "contributions": Function(contributed, [{"method": method, "notion": notion, "generator": "brier"} for method in PLAIN_METHODS for notion in NOTIONS], 1e-10, 1e-12, not_for={**WHOLE, **OWN_LABEL}),
    "calibration_slope": Function(by_logistic_regression, [{"notion": "top-label"}], 1e-8, 1e-10, {**WHOLE, "merge duplicates": "errors count rows, of which copies are several"}, overconfident=True),
    "hosmer_lemeshow": Function(in_bins, [{"notion": "top-label"}], 1e-9, 1e-12, {
        **WHOLE,
        "merge duplicates": "weights that differ are refused",
        "remove weightless": "weights that differ are refused",
        "logits moved": "what g + c rounds may carry a row over the edge of a bin",
    }, weighted=False, overconfident=True),
    "spiegelhalter_test": Function(scored, rtol=1e-9, atol=1e-12, not_for={**WHOLE, "merge duplicates": "the deviation counts rows, of which copies are several"}),
    "expected_calibration_error": Function(expected_errors, [{"kind": kind} for kind in ("top-label", "classwise", "smooth")], 1e-8, 1e-9, WHOLE, overconfident=True),
    "paired_difference": Function(compared, by_notion, 1e-9, 1e-9, {**WHOLE, **OWN_LABEL}, overconfident=True),
    "decompose_groups": Function(by_confidence, by_notion, 1e-9, 1e-11, {**WHOLE, **OWN_LABEL, "scale weights by": "weights are compared with labels to 1e-12, which these round"}),
    "compare_models": Function(several, by_notion, 1e-9, 1e-9, {**WHOLE, "merge duplicates": "copies of a row are as many rows, which a weight is not"}, overconfident=True),
    "CalibrationSketch": Function(sketched, [{"method": method, "notion": notion} for method in PLAIN_METHODS for notion in NOTIONS[1:]], 1e-10, 1e-12, {
        "merge duplicates": "nodes of a sketch have no weights",
        "remove weightless": "nodes of a sketch have no weights",
        "scale weights": "nodes of a sketch have no weights",
    }, weighted=False),
    "CalibrationSketch, debiased": Function(summed, [{"notion": notion} for notion in NOTIONS[1:]], 1e-7, 1e-9, {
        "split into chunks": "each chunk is dealt to folds by itself",
        **{f"scale weights by {scale}": "weights of rows to come are unknown: extreme ones are refused" for scale in ("1e+200", "1e-200", "3e+100")},
        **OWN_LABEL,
    }, overconfident=True),
    "CalibrationMonitor": Function(monitored, by_notion, 1e-8, 1e-9, {
        "permute rows": "rows are bet on in the order of time",
        "merge duplicates": "a weighted bet is none",
        "remove weightless": "a weighted bet is none",
        "scale weights": "a weighted bet is none",
    }, weighted=False, overconfident=True),
    "reliability": Function(drawn(propercal.reliability, "curve", "confidence_lower", "confidence_upper", "consistency_lower", "consistency_upper", "bin_frequency", "bin_lower", *SCORES), [{"n_resamples": 19}], 1e-9, 1e-9, {
        **WHOLE,
        **APART,
        "merge duplicates": "limits of rows of unequal weight are wider, and fewer rows make fewer cells",
    }),
    "isotonic_decomposition": Function(drawn(propercal.isotonic_decomposition, *SCORES), not_for={**WHOLE, **APART}),
    "murphy": Function(drawn(propercal.murphy, "score", "recalibrated", "uncertainty"), not_for={**WHOLE, **APART}),
    "recalibrators": Function(recalibrated, [{"kind": TemperatureScaling}, {"kind": ClasswiseIsotonic}], 1e-9, 1e-9, WHOLE, overconfident=True),
    "layer_sharpness": Function(of_layers, [{"generator": name} for name in ("log", "brier")], not_for={**WHOLE, **OWN_LABEL, "logits": "activations are no probabilities"}),
}


#: More than 5 s: this library checks each step. That of two models and that of a sketch are quick.
#: The debiased method takes about a second; in `make test` it is seen with rows and classes in another order.
DEBIASED = ("decompose, debiased", "paired_difference")


def is_slow(name: str, transform: Transform) -> bool:
    return name in DEBIASED and "permute" not in transform.name


def reason(function: Function, transform: Transform) -> str | None:
    """Why the transform does not apply, if it does not."""
    return next((why for name, why in function.not_for.items() if transform.name.startswith(name)), None)


# ------------------------------------------------------------------ the data


@cache
def rows(k: int, n: int, overconfident: bool) -> tuple[Any, Any]:
    if overconfident:
        y, p, _ = TemperatureScaledSimplex(k).sample(n, random_state=0)
        return y, p
    y, p = calibrated(n, k, concentration=0.8)
    p[10:20] = p[0]  # ties, whose order must not matter either
    return y, p


def cases(function: Function, transform: Transform) -> Iterator[Data]:
    """The data before the transform, for every combination of options; nobody may write to the arrays."""
    for options in function.cases:
        # Ties come apart by what g + c rounds, and the edges of cells stand at them.
        if transform.name == "logits moved by up to 300" and options.get("kernel") in BINS:
            continue
        # Cells of a whole simplex would leave points alone in theirs.
        k = 2 if (options.get("kernel"), options.get("notion")) == ("quantile-bins", "canonical") else 4 if transform is transforms.PERMUTE_CLASSES else 3
        n = 90 if "kernel" in options else 80
        y, p = rows(k, n, function.overconfident)
        weight = np.random.default_rng(3).uniform(0.2, 3, n) if function.weighted else None
        given = Data(y, p, weight, options)
        if transform is transforms.MERGE_DUPLICATES:
            given = given.take(np.repeat(np.arange(n), np.random.default_rng(4).integers(1, 4, n)))
            alone = {"exclude_self": False} if "notion" in options else {}
            given = given._replace(options={**options, **alone})
        if transform is transforms.REMOVE_WEIGHTLESS:
            weight = given.weight.copy()
            weight[::4] = 0
            given = given._replace(sample_weight=weight)
        if "float32" in transform.name:
            # The same inputs, so the same outputs: all arithmetic is in double precision.
            single = [np.asarray(each, np.float32).astype(float) for each in (given.y_proba, given.weight)]
            given = given._replace(y_proba=single[0], sample_weight=single[1] if function.weighted else None)
        for array in given[:3]:
            if array is not None:
                array.setflags(write=False)
        yield given
        if transform.name.startswith("scale weights"):
            yield given._replace(sample_weight=None)


def assert_related(changed: Changed, before: list[Any], after: list[Any], rtol: float, atol: float) -> None:
    assert len(before) == len(after)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_allclose(as_numpy(b), changed.expected(as_numpy(a)), rtol=rtol, atol=atol)


_FOUND: dict[Any, list[Any]] = {}


def found_before(name: str, data: Data) -> list[Any]:
    """What a function finds before the transform, computed once for all transforms of the same data."""
    arrays = (None if each is None else (str(each.dtype), each.shape, each.tobytes()) for each in data[:3])
    key = name, *arrays, repr(sorted(data.options.items()))
    if key not in _FOUND:
        _FOUND[key] = FUNCTIONS[name].call(data)
        for each in _FOUND[key]:
            if isinstance(each, np.ndarray):
                each.setflags(write=False)
    return _FOUND[key]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("name", "transform"), [
    pytest.param(name, transform, id=f"{name}-{transform.name}", marks=[pytest.mark.slow] if is_slow(name, transform) else [])
    for name, function in FUNCTIONS.items() for transform in ALL if reason(function, transform) is None
])
def test_every_function(name: str, transform: Transform) -> None:
    function = FUNCTIONS[name]
    if transform.needs:
        library = pytest.importorskip(transform.needs)
        if "cuda" in transform.name and not library.cuda.is_available():
            pytest.skip("torch finds no GPU on this machine")
    more = ROUNDED.get(transform.name, (0.0, 0.0))
    for data in cases(function, transform):
        changed = transform(data, random_state=1)
        before, after = found_before(name, data), function.call(changed.data)
        assert_related(changed, before, after, max(function.rtol, more[0]), max(function.atol, more[1]))


def test_what_does_not_apply_is_of_the_list() -> None:
    for name, function in FUNCTIONS.items():
        for pattern, why in function.not_for.items():
            assert any(each.name.startswith(pattern) for each in ALL), (name, pattern)
            assert len(why) > 20
    assert set(transforms.__all__) >= {"TRANSFORMS"}


# ------------------------------------------------------------------ every sample, and the worst ones
# A sum in another order: log k carries |log k| ulps, up to 1e5 of them (log 0 := −744 at a bandwidth of
# 0.01), weights are normalised by a division and a sum, each an ulp, and F at most a factor of 100.
RTOL, ATOL = 1e-9, 1e-9


def check_sample(transform: Transform, given: Data, seed: int, steepness: float = 0.0) -> Any:
    """Compare terms, intervals and conditional means; return both decompositions."""
    changed = transform(given, seed)
    before, after = (decompose(*each[:2], sample_weight=each[2], **each[3]) for each in (given, changed.data))
    for term in TERMS:
        atol = ATOL + 100 * EPS * steepness
        assert getattr(after, term) == pytest.approx(getattr(before, term), rel=RTOL, abs=atol), term
    options = {name: value for name, value in given.options.items() if name not in {"generator", "method"}}
    r = conditional_mean(*given[:2], sample_weight=given[2], **options)
    moved = conditional_mean(*changed.data[:2], sample_weight=changed.data[2], **options)
    top_label = given.options["notion"] == "top-label"
    expected = r if top_label and changed.classes is not None else changed.expected(r)
    np.testing.assert_allclose(moved, expected, rtol=RTOL, atol=ATOL)
    return before, after


def check_intervals(before: Any, after: Any) -> None:
    for term in ("risk", "uncertainty"):
        if np.isfinite(getattr(after, term)):
            np.testing.assert_allclose(after.interval(term), before.interval(term), rtol=1e-6, atol=1e-6)


def data_of(sample: Sample, **options: Any) -> Data:
    given = {"generator": sample.generator, **sample.settings, **options}
    return Data(*sample.arguments, sample.data.sample_weight, given)


SEEDS = st.integers(0, 2**32 - 1)


@fewer
@given(sample=samples(), seed=SEEDS, method=st.sampled_from(PLAIN_METHODS))
def test_the_order_of_rows(sample: Sample, seed: int, method: str) -> None:
    check_sample(transforms.PERMUTE_ROWS, data_of(sample, method=method), seed, sample.steepness(sample.generator))


@fewer
@given(sample=samples(), seed=SEEDS, symmetric=st.sampled_from(SOME), method=st.sampled_from(PLAIN_METHODS))
def test_the_order_of_classes(sample: Sample, seed: int, symmetric: Any, method: str) -> None:
    """Excluded are what chooses an order itself: the top label among ties, and for two classes a point on the edge of a
    bin, which is half-open, so that p and 1 − p may fall to different sides."""
    g = sample.data.y_proba
    top = np.sort(g, axis=1)
    assume(sample.settings["notion"] != "top-label" or (top[:, -1] > top[:, -2]).all())
    assume(sample.settings["kernel"] == "dirichlet" or (g.shape[1] > 2 and sample.settings["notion"] == "canonical"))
    atol = sample.steepness(symmetric)
    check_sample(transforms.PERMUTE_CLASSES, data_of(sample, generator=symmetric, method=method), seed, atol)


@fewer
@given(sample=samples(notions=("canonical",)), seed=SEEDS, method=st.sampled_from(PLAIN_METHODS), data=st.data())
def test_a_loss_that_tells_classes_apart_has_its_matrix_permuted(sample: Sample, seed: int, method: str, data: st.DataObject) -> None:
    assume(sample.settings["kernel"] == "dirichlet" or sample.data.y_proba.shape[1] > 2)
    k = sample.data.y_proba.shape[1]
    root = np.asarray(data.draw(st.lists(st.integers(-2, 2), min_size=k * k, max_size=k * k)), float).reshape(k, k)
    matrix = root.T @ root
    given = data_of(sample, generator=Quadratic(matrix), method=method)
    changed = transforms.PERMUTE_CLASSES(given, seed)
    assert changed.classes is not None
    turned = Quadratic(matrix[np.ix_(changed.classes, changed.classes)])
    found = decompose(*changed.data[:2], sample_weight=given.sample_weight, **{**given.options, "generator": turned})
    expected = decompose(*given[:2], sample_weight=given.sample_weight, **given.options)
    atol = ATOL + 100 * EPS * sample.steepness(Quadratic(matrix))
    np.testing.assert_allclose(values(found), values(expected), rtol=RTOL, atol=atol)


@fewer
@given(sample=samples(), factor=st.sampled_from((3.0, 1e-3, 1e200, 1e-200, 7e-5)))
def test_the_scale_of_weights_does_not_matter(sample: Sample, factor: float) -> None:
    given = data_of(sample)._replace(sample_weight=sample.weight)
    check_intervals(*check_sample(transforms.scale_weights(factor), given, 0))


@fewer
@given(sample=samples(), data=st.data())
def test_weight_zero_is_absence(sample: Sample, data: st.DataObject) -> None:
    n = len(sample.data.y_true)
    keep = np.asarray(data.draw(st.permutations([True, True, *([False] * (n - 2))])))
    weight = np.where(keep, np.maximum(sample.weight, 0.25 / n), 0.0)
    before, after = check_sample(transforms.REMOVE_WEIGHTLESS, data_of(sample)._replace(sample_weight=weight), 0)
    check_intervals(before, after)
    assert before.n_samples == after.n_samples == 2


@fewer
@given(sample=samples(), counts=st.lists(st.integers(1, 3), min_size=8, max_size=8))
def test_a_whole_weight_is_as_many_copies(sample: Sample, counts: list[int]) -> None:
    times = np.asarray(counts[: len(sample.data.y_true)])
    rows = np.repeat(np.arange(len(times)), times)
    given = data_of(sample, exclude_self=False)._replace(sample_weight=times)
    copy_rows = Transform("copies", "", lambda data, _: Changed(data.take(rows)._replace(sample_weight=None), rows=rows))
    check_sample(copy_rows, given, 0)
    copies = copy_rows(given).data
    if len(transforms.MERGE_DUPLICATES(copies).data.y_true) > 1:
        check_sample(transforms.MERGE_DUPLICATES, copies, 0)


@pytest.mark.parametrize("kernel", ["uniform-bins", "quantile-bins"])
def test_order_of_tied_rows_in_bins(kernel: str) -> None:
    """Ties fall in one bin together, whatever their order."""
    rng = np.random.default_rng(6)
    x = rng.choice([0.1, 0.2, 0.4, 0.45, 0.8, 0.9], size=80)
    given = Data(rng.integers(0, 2, 80), x, None, {"kernel": kernel, "bandwidth": 0.25, "generator": generators_of("brier"), "method": "risk"})
    changed = transforms.PERMUTE_ROWS(given, rng)
    assert_related(changed, decomposed(given), decomposed(changed.data), 1e-12, 1e-13)
