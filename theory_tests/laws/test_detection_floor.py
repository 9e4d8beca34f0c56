"""At the detection floor the test sees four of five temperatures; the floor is a multiple of the noise floor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import chi2, ncx2

from propercal import CalibrationSketch, calibration_test, decompose
from propercal._methods.label_noise import detection_floor, of_problems, shown_at, temperature_moments
from propercal.generators import BregmanGenerator, Brier, Log
from propercal.simulation import TemperatureScaledSimplex

#: (z_.99 + z_.8)²: the noncentrality that a χ² of one degree needs for a power of .8 at a level of .02.
FACTOR = (2.3263478740408408 + 0.8416212335729143) ** 2


def floor_of(generator: BregmanGenerator, log_g: Any) -> float:
    """Return the detection floor of predictions: no label is looked at."""
    n = len(log_g)
    noise = np.concatenate([np.zeros((n, 2)), temperature_moments(generator, log_g)], axis=1)
    return detection_floor(noise, np.full(n, 1 / n), np.full(n, 1 / n**2), 1)


def at_error(generator: BregmanGenerator, log_g: Any, error: float) -> Any:
    """Return p = softmax((1 − t) log g) at the t > 0 where E D_F(p, g) is `error`."""
    g = np.exp(log_g)
    low, high = 0.0, 1.0
    for _ in range(50):
        t = (low + high) / 2
        p = softmax((1 - t) * log_g, axis=1)
        low, high = (t, high) if np.mean(generator.divergence(p, g)) < error else (low, t)
    return p


def power(generator: BregmanGenerator, k: int, n: int, draws: int, times: float = 1.0) -> float:
    """Return how often the test rejects labels drawn at so many times the floor."""
    rng = np.random.default_rng(10 * k + n)
    seen = 0
    for i in range(draws):
        log_g = np.log(softmax(1.5 * rng.standard_normal((n, k)), axis=1))
        p = at_error(generator, log_g, times * floor_of(generator, log_g))
        y = (rng.random((n, 1)) > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
        found = calibration_test(y, np.exp(log_g), generator=generator, n_resamples=99, random_state=i)
        seen += found.pvalue <= 0.05
    return seen / draws


def test_the_factor_is_that_of_a_test_for_one_coefficient() -> None:
    """Its power at a level of 2 % is .8, but for what the other sign adds."""
    assert shown_at(1) == pytest.approx(FACTOR, rel=1e-4)
    for size in (1, 3, 100, 1000):
        assert ncx2.sf(chi2.isf(0.02, size), size, shown_at(size)) == pytest.approx(0.8, abs=1e-6)
    y, p, _ = TemperatureScaledSimplex(3).sample(200, random_state=0)
    found = decompose(y, p)
    assert found.detection_floor == pytest.approx(FACTOR / 400, rel=1e-4)
    assert found.noise_floor is not None
    assert found.detection_floor / found.noise_floor == pytest.approx(shown_at(1), rel=1e-9)


@pytest.mark.parametrize("generator", [Log(), Brier()], ids=["log", "brier"])
@pytest.mark.parametrize("k", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_four_of_five_temperatures_show_at_the_floor(generator: BregmanGenerator, k: int) -> None:
    """300 draws a cell: .80 to .86 for the log loss, .89 to .92 for Brier's, whose floor is of small changes.

    Of 40 draws and a power of .8, fewer than 24 are a chance of 1 in 500. A fourth of the error shows in .2 to .4.
    """
    assert power(generator, k, 200, 40) >= 24 / 40
    assert power(generator, k, 200, 20, times=0.25) <= 14 / 20


@pytest.mark.slow
@pytest.mark.parametrize("generator", [Log(), Brier()], ids=["log", "brier"])
@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("n", [200, 1000])
def test_the_power_at_the_floor_is_near_four_fifths(generator: BregmanGenerator, k: int, n: int) -> None:
    """200 draws: three standard errors are .085 at .8."""
    assert 0.715 <= power(generator, k, n, 200) <= 0.97


@pytest.mark.parametrize("generator", [Log(), Brier()], ids=["log", "brier"])
def test_it_is_a_function_of_predictions(generator: BregmanGenerator) -> None:
    y, p, _ = TemperatureScaledSimplex(4).sample(100, random_state=0)
    for labels in (y, np.roll(y, 1)):
        found = decompose(labels, p, generator=generator)
        assert found.detection_floor == pytest.approx(floor_of(generator, np.log(p)), rel=1e-9)


def test_class_by_class_it_is_that_of_one_coefficient_a_class() -> None:
    """Of the log loss each has the noise 1/(2n), a third of which is left in the mean over three classes."""
    y, p, _ = TemperatureScaledSimplex(3).sample(200, random_state=0)
    found = decompose(y, p, notion="classwise").detection_floor
    assert found == pytest.approx(shown_at(3) / 3 / 400, rel=1e-3)  # of bins


@pytest.mark.slow
def test_temperatures_show_class_by_class() -> None:
    """100 draws, k = 3 to 10: .56 to .77; one coefficient for all labels together would be seen in .12 for Brier's
    and k = 10. Of 25 draws and a power of .6, fewer than 9 are a chance of 1 in 200.
    """
    model = TemperatureScaledSimplex(10, score_temperature=0.854)
    seen, floors = 0, []
    for i in range(25):
        y, p, _ = model.sample(1000, random_state=i)
        found = calibration_test(y, p, generator="brier", notion="classwise", n_resamples=99, random_state=i)
        seen += found.pvalue <= 0.05
        pairs = [np.log(np.stack([1 - p[:, j], p[:, j]], axis=1)) for j in range(10)]
        total = sum(temperature_moments(Brier(), each) for each in pairs)
        noise = of_problems(np.concatenate([np.zeros((1000, 2)), total], axis=1), 10)
        floors.append(detection_floor(noise, np.full(1000, 1e-3), np.full(1000, 1e-6), 10))
    assert np.mean(floors) == pytest.approx(model.truth("brier", "classwise").value, rel=0.1)
    assert seen >= 9


def test_rows_that_repeat_in_groups_show_no_less() -> None:
    """Each row four times, of one group: as many rows as groups."""
    y, p, _ = TemperatureScaledSimplex(3).sample(60, random_state=0)
    once = decompose(y, p).detection_floor
    groups = np.repeat(np.arange(60), 4)
    again = decompose(np.repeat(y, 4), np.repeat(p, 4, axis=0), groups=groups).detection_floor
    assert again == pytest.approx(once, rel=0.03)
    assert decompose(y, p, sample_weight=np.full(60, 3.0)).detection_floor == pytest.approx(once, rel=1e-9)


@pytest.mark.parametrize("notion", ["top-label", "classwise"])
def test_a_sketch_has_it(notion: str) -> None:
    y, p, _ = TemperatureScaledSimplex(3).sample(300, random_state=0)
    sketch = CalibrationSketch(3, notion=notion, generator="brier")
    sketch.update(y, p)
    wanted = decompose(y, p, notion=notion, generator="brier").detection_floor
    assert sketch.result().detection_floor == pytest.approx(wanted, rel=1e-3)


def test_there_is_none_where_nothing_is_known_of_temperatures() -> None:
    y, p, _ = TemperatureScaledSimplex(3).sample(60, random_state=0)
    assert math.isnan(decompose(y, p, method="risk", bandwidth=0.1).detection_floor)
    assert math.isnan(decompose(y, np.full((60, 3), 1 / 3), generator="brier").detection_floor)
    marks = np.random.default_rng(0).random((60, 3)) < p
    assert math.isnan(decompose(marks, p, notion="classwise").detection_floor)


@pytest.mark.filterwarnings("ignore:y_true is the most probable class")
def test_the_text_says_it_where_the_interval_reaches_0() -> None:
    _, p, q = TemperatureScaledSimplex(3).sample(200, random_state=0)
    rng = np.random.default_rng(0)
    y = (rng.random((200, 1)) > np.cumsum(q, axis=1)[:, :-1]).sum(axis=1)
    found = decompose(y, q)
    assert found.interval("calibration_error")[0] == 0
    line = f"a test would see calibration errors below {found.detection_floor:.3g} in fewer than 80% of samples"
    assert line in str(found)
    assert line in found._repr_html_()
    far = decompose(p.argmax(axis=1), np.full((200, 3), 1 / 3) * 0.7 + 0.3 * p)
    assert far.interval("calibration_error")[0] > 0
    assert "a test would see" not in str(far)
    assert "a test would see" not in str(decompose(y, q, method="risk", bandwidth=0.1))
