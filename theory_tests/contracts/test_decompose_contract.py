"""What `decompose` promises about its result, whatever the numbers."""

from __future__ import annotations

import inspect
import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
import xarray as xr

import propercal
from propercal import generators
from theory_tests import instances
from theory_tests.instances import NAMED, NOTIONS, PLAIN_METHODS, TERMS, Floats, Labels, calibrated, values

KERNELS = {**instances.KERNELS, "dirichlet": 0.03}
GENERATORS = {name: instances.GENERATORS[name] for name in (*NAMED, "tsallis-1.7", "sum")}


def sample(n: int = 100) -> tuple[Labels, Floats]:
    return calibrated(n, 3, 40, power=1.5)


Y, P = sample()


# ---------------------------------------------------------------- identities
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", PLAIN_METHODS)
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("generator", GENERATORS)
def test_identities(generator: str, notion: str, method: str, kernel: str) -> None:
    found = propercal.decompose(
        Y, P, generator=GENERATORS[generator], notion=notion, method=method, kernel=kernel, bandwidth=KERNELS[kernel]
    )
    # Identities of real numbers: one rounding on either side.
    assert found.risk == pytest.approx(found.calibration_error + found.refinement, rel=1e-14)
    assert found.refinement == pytest.approx(found.uncertainty - found.sharpness, rel=1e-14)


@pytest.mark.parametrize("generator", ["log", "brier", "spherical", "tsallis-1.7"])
def test_direct_minus_risk(generator: str) -> None:
    """Exact on any sample: the two estimates differ by mean ⟨∇F(g), y − r̂⟩."""
    F = generators.as_generator(GENERATORS[generator])
    direct, risk = (
        propercal.calibration_error(Y, P, generator=F, method=method, bandwidth=0.05) for method in PLAIN_METHODS
    )
    r = propercal.conditional_mean(Y, P, notion="canonical", kernel="dirichlet", bandwidth=0.05)
    gap = (F.gradient(P) * (np.eye(3)[Y] - r)).sum(1).mean()
    assert direct - risk == pytest.approx(gap, rel=1e-10)
    assert abs(gap) > 1e-4


def test_direct_is_never_negative() -> None:
    for generator in GENERATORS.values():
        for notion in NOTIONS:
            for gamma in (1e-3, 0.1, 1.0):
                found = propercal.decompose(Y, P, generator=generator, notion=notion, method="direct", bandwidth=gamma)
                assert found.calibration_error >= 0


def test_uncertainty_and_risk_need_no_kernel() -> None:
    """They are the same numbers whatever the method, kernel and bandwidth."""
    for notion in NOTIONS:
        seen = {
            (found.risk, found.uncertainty)
            for method in PLAIN_METHODS
            for kernel in KERNELS
            for found in [
                propercal.decompose(Y, P, notion=notion, method=method, kernel=kernel, bandwidth=KERNELS[kernel])
            ]
        }
        spread = np.ptp(np.array(list(seen)), axis=0)
        np.testing.assert_allclose(spread, 0, atol=1e-14)


def test_units() -> None:
    """A generator scaled by c scales every term by c; a sum of generators adds them up."""
    log, brier, total, scaled = (
        values(found)
        for found in propercal.decompose(
            Y,
            P,
            generator=["log", "brier", generators.Log() + generators.Brier(), 3.0 * generators.Log()],
            method="risk",
            bandwidth=0.05,
        )
    )
    np.testing.assert_allclose(total, log + brier, rtol=1e-12)
    np.testing.assert_allclose(scaled, 3 * log, rtol=1e-12)


def test_bandwidth_to_infinity_and_to_zero() -> None:
    """γ → ∞: r̂ is the leave-one-out mean of all labels. γ → 0: the nearest neighbour's label."""
    n = len(Y)
    counts = np.eye(3)[Y].sum(0)
    everyone = (counts - np.eye(3)[Y]) / (n - 1)
    wide = propercal.decompose(Y, P, generator="brier", method="risk", bandwidth=1e8)
    # k(t; x) − k(t; 0) is of the order 1/γ.
    assert wide.refinement == pytest.approx((1 - (everyone**2).sum(1)).mean(), rel=1e-5)
    narrow = propercal.decompose(Y, P, generator="brier", method="risk", bandwidth=1e-9)
    assert narrow.refinement == pytest.approx(0, abs=1e-6)


# ---------------------------------------------------------------- the result
def test_defaults() -> None:
    y_true, y_proba, *others = inspect.signature(propercal.decompose).parameters.values()
    assert (y_true.name, y_proba.name) == ("y_true", "y_proba")
    assert {each.kind for each in others} == {inspect.Parameter.KEYWORD_ONLY}
    defaults = {each.name: each.default for each in others}
    assert defaults.items() >= {
        "generator": "log", "notion": "canonical", "method": "debiased", "kernel": "dirichlet", "bandwidth": "auto",
        "confidence_level": 0.95, "from_logits": False, "sample_weight": None,
    }.items()


def test_what_the_result_says_about_itself() -> None:
    found = propercal.decompose(Y, P, generator="spherical", notion="classwise", method="direct", bandwidth=0.03)
    assert isinstance(found, propercal.Decomposition)
    assert found.bandwidth == 0.03
    assert (found.method, found.notion, found.kernel) == ("direct", "classwise", "dirichlet")
    assert isinstance(found.generator, propercal.BregmanGenerator)
    assert repr(found.generator) == "Spherical()"
    assert (found.n_samples, found.n_classes) == (100, 3)
    assert found.infinite_loss_rows == ()
    for term in TERMS:
        assert type(getattr(found, term)) is float
    assert type(found.bandwidth) is float


def test_the_default_bandwidth_is_reported_as_a_number() -> None:
    assert type(propercal.decompose(Y, P, generator="brier").bandwidth) is float
    options: dict[str, Any] = {"generator": "brier", "method": "risk"}
    found = propercal.decompose(Y, P, **options)
    assert type(found.bandwidth) is float
    assert 0 < found.bandwidth < math.inf
    again = propercal.decompose(Y, P, **options, bandwidth=found.bandwidth)
    assert again.calibration_error == found.calibration_error


def test_the_result_is_frozen() -> None:
    found = propercal.decompose(Y, P, bandwidth=0.1)
    for term in (*TERMS, "bandwidth"):
        with pytest.raises(AttributeError):
            setattr(found, term, 0.0)


def test_several_generators_come_back_in_order_and_unchanged() -> None:
    specs: list[Any] = ["brier", generators.Tsallis(alpha=1.7), "log", generators.Spherical]
    for container in (list, tuple):
        found = propercal.decompose(Y, P, generator=container(specs), bandwidth=0.05)
        assert isinstance(found, list)
        names = [repr(result.generator) for result in found]
        assert names == ["Brier()", "Tsallis(alpha=1.7)", "Log()", "Spherical()"]
        for spec, result in zip(specs, found, strict=True):
            alone = propercal.decompose(Y, P, generator=spec, bandwidth=0.05)
            assert values(result) == pytest.approx(values(alone), rel=1e-14)


def test_a_list_of_one_is_still_a_list() -> None:
    found = propercal.decompose(Y, P, generator=["log"], bandwidth=0.05)
    assert isinstance(found, list)
    assert len(found) == 1


def test_each_generator_of_a_list_has_its_own_bandwidth_when_it_chooses() -> None:
    """The risk criterion is the generator's own loss, so sharing one choice would be wrong."""
    found = propercal.decompose(Y, P, generator=["log", "brier"], bandwidth="auto")
    for name, result in zip(("log", "brier"), found, strict=True):
        alone = propercal.decompose(Y, P, generator=name, bandwidth="auto")
        assert result.bandwidth == pytest.approx(alone.bandwidth, rel=1e-12)
        assert result.calibration_error == pytest.approx(alone.calibration_error, rel=1e-12)


@pytest.mark.parametrize("name", ["calibration_error", "refinement", "sharpness"])
@pytest.mark.parametrize("method", PLAIN_METHODS)
def test_shortcuts(method: str, name: str) -> None:
    args: dict[str, Any] = {
        "generator": "brier", "notion": "classwise", "method": method, "bandwidth": 0.05,
        "sample_weight": np.linspace(0.1, 1, 100), "exclude_self": False,
    }
    found = getattr(propercal, name)(Y, P, **args)
    assert type(found) is float
    assert found == getattr(propercal.decompose(Y, P, **args), name)


@pytest.mark.parametrize("name", ["calibration_error", "refinement", "sharpness"])
def test_a_shortcut_is_one_number(name: str) -> None:
    with pytest.raises(ValueError, match=r"(?s)^generator = .*: expected .*decompose"):
        getattr(propercal, name)(Y, P, generator=["log", "brier"], bandwidth=0.05)


def test_the_same_call_gives_the_same_digits() -> None:
    y, p = sample(n=3000)
    first = propercal.decompose(y, p, bandwidth=0.02)
    second = propercal.decompose(y, p, bandwidth=0.02)
    np.testing.assert_array_equal(values(first), values(second))


# ---------------------------------------------------------------- intervals
@pytest.mark.parametrize("name", ["risk", "uncertainty"])
@pytest.mark.parametrize("method", PLAIN_METHODS)
def test_interval_holds_the_estimate_and_grows_with_confidence(method: str, name: str) -> None:
    args: dict[str, Any] = {"generator": "brier", "method": method, "bandwidth": 0.05}
    widths = []
    for level in (0.5, 0.95, 0.999):
        found = propercal.decompose(Y, P, confidence_level=level, **args)
        low, high = found.interval(name)
        assert low < getattr(found, name) < high
        widths.append(high - low)
    assert widths[0] < widths[1] < widths[2]


@pytest.mark.parametrize("name", ["calibration_error", "refinement", "sharpness"])
@pytest.mark.parametrize("method", PLAIN_METHODS)
def test_no_interval_around_an_estimate_of_unknown_bias(method: str, name: str) -> None:
    """At γ = 0.02 the bias is many standard errors: such an interval would be a wrong number."""
    found = propercal.decompose(Y, P, method=method, bandwidth=0.05)
    with pytest.raises(ValueError, match=rf"(?s)^name = '{name}': expected .*bias"):
        found.interval(name)


def test_interval_of_the_risk_is_that_of_a_mean() -> None:
    """Normal theory: mean ± z · s / √n. The divisor n or n − 1 of s² moves it by 1/(2n)."""
    losses = ((P - np.eye(3)[Y]) ** 2).sum(1)
    low, high = propercal.decompose(Y, P, generator="brier", bandwidth=0.05).interval("risk")
    half = 1.959963984540054 * losses.std(ddof=1) / math.sqrt(len(Y))
    assert (high - low) / 2 == pytest.approx(half, rel=0.02)
    assert (high + low) / 2 == pytest.approx(losses.mean(), rel=1e-10)


def test_interval_of_no_term() -> None:
    found = propercal.decompose(Y, P, bandwidth=0.05)
    with pytest.raises(ValueError, match=r"(?s)name.*calibration-error.*calibration_error"):
        found.interval("calibration-error")


# ---------------------------------------------------------------- forms
def test_to_xarray() -> None:
    found = propercal.decompose(Y, P, generator="brier", method="direct", bandwidth=0.05)
    dataset = found.to_xarray()
    assert isinstance(dataset, xr.Dataset)
    for term in TERMS:
        np.testing.assert_array_equal(np.ravel(dataset[term].values)[0], getattr(found, term))
    attrs = dataset.attrs
    assert attrs["method"] == "direct"
    assert attrs["notion"] == "canonical"
    assert attrs["bandwidth"] == 0.05
    assert attrs["n_samples"] == 100
    for name, value in attrs.items():
        assert isinstance(value, str | int | float | np.generic), f"{name} cannot go into netCDF"


def test_text_and_html() -> None:
    found = propercal.decompose(Y, P, generator="brier", method="risk", bandwidth=0.05)
    text, html = str(found), found._repr_html_()
    for term in TERMS:
        value = f"{getattr(found, term):.3g}".lstrip("-")[:4]
        for form in (text, html):
            assert term.replace("_", " ") in form.replace("_", " ").lower()
            assert value in form
    assert "<table" in html
    for word in ("brier", "canonical", "risk", "0.05", "100"):
        assert word in text.lower()
        assert word in html.lower()
    assert max(len(line) for line in text.splitlines()) <= 100


def test_html_escapes_what_a_user_named() -> None:
    pytest.importorskip("torch", reason="derivatives of a bare function come from torch")
    F = generators.from_function(lambda p: (p * p).sum(-1) - 1, name="<script>")
    assert "<script>" not in propercal.decompose(Y, P, generator=F, bandwidth=0.05)._repr_html_()


# ---------------------------------------------------------------- memory
@pytest.mark.parametrize("notion", NOTIONS)
def test_memory_does_not_grow_with_the_square(notion: str) -> None:
    """One n × n array of doubles would be 200 MB here; the paper authors' code takes several."""
    y, p = sample(n=5000)
    tracemalloc.start()
    try:
        propercal.decompose(y, p, notion=notion, bandwidth=0.02)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40e6
