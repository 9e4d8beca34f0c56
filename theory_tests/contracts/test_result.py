"""What a decomposition shows: intervals, text, HTML and a dataset say the same."""

from __future__ import annotations

import dataclasses
import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from propercal import decompose
from propercal.generators import Brier, Log
from propercal.result import TERMS, Decomposition
from theory_tests.instances import written


def made(**changes: Any) -> Decomposition:
    values: dict[str, Any] = {
        "risk": 0.5,
        "calibration_error": 0.04,
        "refinement": 0.46,
        "sharpness": 0.2,
        "uncertainty": 0.66,
        "bandwidth": 0.06,
        "method": "debiased",
        "notion": "canonical",
        "kernel": "dirichlet",
        "generator": Log(),
        "n_samples": 100,
        "n_classes": 3,
        "confidence_level": 0.9,
        "centres": {"risk": 0.5, "calibration_error": 0.04, "refinement": 0.46, "sharpness": 0.2, "uncertainty": 0.66},
        "standard_errors": {
            "risk": 0.01,
            "calibration_error": 0.008,
            "refinement": 0.02,
            "sharpness": 0.03,
            "uncertainty": 0.04,
        },
        "lower_bound": 0.03,
        "kernel_share": 0.25,
        **changes,
    }
    return Decomposition(**values)


@pytest.mark.parametrize("level", [None, 0.5, 0.99])
def test_intervals_are_normal_or_normal_for_the_square_root(level: float | None) -> None:
    result = made()
    z = NormalDist().inv_cdf(0.5 + (level or 0.9) / 2)
    assert result.interval("risk", level) == pytest.approx((0.5 - z * 0.01, 0.5 + z * 0.01))
    # By the delta method √c has the standard error s / (2 √c).
    root, error = math.sqrt(0.04), 0.008 / (2 * math.sqrt(0.04))
    assert result.interval("calibration_error", level) == pytest.approx(
        ((root - z * error) ** 2, (root + z * error) ** 2)
    )
    root, error = math.sqrt(0.2), 0.03 / (2 * math.sqrt(0.2))
    assert result.interval("sharpness", level) == pytest.approx(((root - z * error) ** 2, (root + z * error) ** 2))


def of_one_error(value: float, error: float = 0.008) -> tuple[float, float]:
    """Return the interval of one standard error to either side of a calibration error."""
    errors = {"calibration_error": error}
    result = made(calibration_error=value, centres={"calibration_error": value}, standard_errors=errors)
    return result.interval("calibration_error", 2 * NormalDist().cdf(1) - 1)


@pytest.mark.parametrize(
    ("value", "upper"), [(0.002, 1.25 * 0.002 + 0.008), (0.008, 2.25 * 0.008), (0, 0.008), (-0.005, 0.003), (-0.5, 0)]
)
def test_an_interval_that_reaches_zero(value: float, upper: float) -> None:
    assert of_one_error(value) == pytest.approx((0.0, upper), abs=1e-12)


def test_no_end_of_an_interval_jumps_or_turns_back() -> None:
    """Both ends of a divergence increase with it, by at most 4/3 of its step; with the error they move apart."""
    step = 0.001
    low, high = np.array([of_one_error(value, 1.0) for value in np.arange(-3, 6, step)]).T
    for ends in (low, high):
        assert (np.diff(ends) >= -1e-12).all()
        assert (np.diff(ends) <= 4 / 3 * step + 1e-12).all()
    for value in (-0.5, 0.0, 0.3, 1.0):
        low, high = np.array([of_one_error(value, error) for error in np.arange(0, 3, step)]).T
        assert (np.diff(low) <= 1e-12).all()
        assert (np.diff(high) >= -1e-12).all()
        assert (np.abs(np.diff([low, high], axis=1)) <= 2 * step).all()
        assert (low[0], high[0]) == (max(value, 0), max(value, 0))


def test_an_interval_holds_the_normal_one_where_it_reaches_zero_and_that_of_the_root_elsewhere() -> None:
    """For one half-width: 0 to T + 1 up to T = 1, then (√T ± 1 / (2 √T))²."""
    for value in np.arange(-3, 6, 0.01):
        low, high = of_one_error(value, 1.0)
        if value <= 1:
            assert low == 0
            assert high >= value + 1
        else:
            root = math.sqrt(value)
            assert low <= (root - 1 / (2 * root)) ** 2 + 1e-12
            assert high == pytest.approx((root + 1 / (2 * root)) ** 2)


def test_rounding_dust_is_hidden_by_noise() -> None:
    """r̂ = g leaves an estimate and an error of 1e-19: 0 is not outside, nor is what noise hides."""
    dust = made(
        calibration_error=6e-19,
        centres={"calibration_error": 6e-19},
        standard_errors={"calibration_error": 1e-20},
        noise_floor=1e-4,
    )
    z = NormalDist().inv_cdf(0.95)
    assert dust.interval("calibration_error") == pytest.approx((0.0, (1 + z) ** 2 * 1e-4), rel=1e-9)


@pytest.mark.parametrize("error", [0.001, 0.012])
def test_an_interval_takes_the_larger_error(error: float) -> None:
    larger = made(standard_errors={"calibration_error": max(error, 0.008)})
    assert made(label_error=error).interval("calibration_error") == larger.interval("calibration_error")
    assert made(label_error=error).interval("refinement") == made().interval("refinement")


@pytest.mark.parametrize("value", [0.002, -0.005, 0.04])
@pytest.mark.parametrize("floor", [0.0001, 0.01])
def test_an_interval_holds_that_of_the_noise_of_one_coefficient(value: float, floor: float) -> None:
    """One coefficient of size x, known up to a normal error e, makes x² − e² on average, and e² = `noise_floor`."""
    level = 2 * NormalDist().cdf(1) - 1
    result = made(calibration_error=value, centres={"calibration_error": value, "sharpness": value}, noise_floor=floor)
    plain = made(calibration_error=value, centres={"calibration_error": value, "sharpness": value})
    x = math.sqrt(max(value, 0.0) + floor)
    low, high = plain.interval("calibration_error", level)
    ends = [max(x - math.sqrt(floor), 0) ** 2, (x + math.sqrt(floor)) ** 2]  # at this level z = 1
    wanted = (min(low, ends[0]), max(high, ends[1]))
    assert result.interval("calibration_error", level) == pytest.approx(wanted, abs=1e-12)
    assert result.interval("sharpness", level) == plain.interval("sharpness", level)


@pytest.mark.parametrize("part", ["centres", "standard_errors"])
def test_an_infinite_term_has_no_interval(part: str) -> None:
    with pytest.raises(ValueError, match="name = 'risk': expected a finite term"):
        made(**{part: {"risk": math.inf, **({"risk": math.inf} if part == "centres" else {})}}).interval("risk")


def test_the_dataset_has_terms_intervals_units_and_settings() -> None:
    result = made(infinite_loss_rows=(3, 8))
    data = result.to_xarray()
    for term in TERMS:
        assert float(data[term]) == getattr(result, term)
        assert data[term].attrs == {"units": "nats"}
        np.testing.assert_array_equal(data[f"{term}_interval"], result.interval(term))
    assert list(data["bound"].values) == ["lower", "upper"]
    digest = data.attrs.pop("digest")
    assert digest != made(infinite_loss_rows=(3, 9)).to_xarray().attrs["digest"]
    assert data.attrs == {
        "format_version": 1,
        "generator": "Log()",
        "notion": "canonical",
        "method": "debiased",
        "kernel": "dirichlet",
        "algorithm": "exact",
        "bandwidth": 0.06,
        "n_samples": 100,
        "n_classes": 3,
        "confidence_level": 0.9,
        "infinite_loss_rows": "3, 8",
    }
    # Numbers that differ from result to result, so that they can be lined up.
    assert (data["lower_bound"].item(), data["kernel_share"].item()) == (0.03, 0.25)
    assert (data["lower_bound"].attrs, data["kernel_share"].attrs) == ({"units": "nats"}, {})
    plain = dataclasses.replace(
        result, generator=Brier(), centres={}, standard_errors={}, lower_bound=None, kernel_share=None
    )
    data = plain.to_xarray()
    assert set(data.variables) == set(TERMS)
    assert data["risk"].attrs == {}


def test_the_text_and_the_html_say_what_the_numbers_are() -> None:
    result = made(infinite_loss_rows=(3,))
    low, high = result.interval("calibration_error")
    wanted = [
        "log loss, canonical calibration, in nats",
        "    risk                       0.5  [0.483551, 0.516449]",
        f"  = calibration error         0.04  [{low:.6g}, {high:.6g}]",
        "  refinement = uncertainty - sharpness",
        "  method debiased, kernel dirichlet, bandwidth 0.06, n = 100, k = 3",
        "  [ ]: 90% interval",
        "  infinite loss at row 3",
    ]
    lines = str(result).splitlines()
    assert [line for line in wanted if line not in lines] == []
    refinement, sharpness = result.interval("refinement"), result.interval("sharpness")
    assert f"  + refinement                0.46  [{refinement[0]:.6g}, {refinement[1]:.6g}]" in lines
    assert f"    sharpness                  0.2  [{sharpness[0]:.6g}, {sharpness[1]:.6g}]" in lines
    html = result._repr_html_()
    assert "k = 3<br>[ ]: 90% interval<br>infinite loss at row 3</small>" in html
    assert "<caption>log loss, canonical calibration, in nats</caption>" in html
    assert f"<th style='text-align:left'>calibration error</th><td>0.04</td><td>[{low:.6g}, {high:.6g}]</td>" in html
    assert "infinite loss at row 3" in html


def test_the_text_says_why_there_is_no_interval_and_no_kernel() -> None:
    errors = {"risk": 0.01, "uncertainty": math.inf}
    result = made(method="risk", generator=Brier(), bandwidth=math.inf, standard_errors=errors)
    text = str(result)
    assert text.startswith("brier loss, canonical calibration\n")
    assert "method risk, no kernel correction, n = 100, k = 3" in text
    assert "[ ]: 90% interval; the other terms have a bias that depends on the bandwidth, so none" in text
    assert "uncertainty               0.66\n" in text
    assert "infinite loss" not in text
    assert "the other terms" not in str(made())


def test_units_are_those_of_the_loss() -> None:
    assert made().units == "nats"
    assert made(generator=Brier()).units == ""


def test_a_dataset_has_no_interval_of_an_infinite_term() -> None:
    errors = {"risk": math.inf, "uncertainty": 0.04}
    data = made(risk=math.inf, standard_errors=errors).to_xarray()
    assert "risk_interval" not in data
    assert "uncertainty_interval" in data
    assert "risk_interval" not in made(risk=-math.inf, standard_errors=errors).to_xarray()


def test_rows_whose_loss_is_not_a_number_are_named() -> None:
    y, p = np.array([0, 1, 1, 0]), np.array([[0.7, 0.3], [0.4, 0.6], [0.0, 1.0], [0.8, 0.2]])
    # Σ p log p as one may write it, without its limit.
    careless = written("Careless", value=lambda p: (p * np.log(p)).sum(-1), gradient=lambda p: np.log(p) * (p / p))
    with pytest.raises(ValueError, match=r"NaN at row 2\b"), np.errstate(all="ignore"):
        decompose(y, p, generator=careless, method="risk", bandwidth=0.1)
