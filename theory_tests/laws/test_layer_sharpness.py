"""The sharpness of activations is that of predictions on a simplex, reached by a map that can be undone.

E[F(E[Y | h(X)])] = E[F(E[Y | s(h(X))])] for every injective s, here a softmax over (0, h). So activations
that are log-ratios of probabilities have the sharpness of these probabilities, and what is estimated does not
depend on the order or, standardised, on the units of the coordinates. Along layers it decreases.

Source: paper, section 6.3 ("an invertible version of the softmax function") and section 5.2.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propercal
from propercal.generators import BregmanGenerator
from propercal.information import layer_sharpness
from propercal.testing.strategies import Predictions, generators, predictions
from theory_tests.laws.populations import Floats, decompose
from theory_tests.laws.samples import fewer


@st.composite
def cases(draw: st.DrawFn) -> tuple[BregmanGenerator, Predictions, float]:
    k = draw(st.integers(2, 4))
    data = draw(predictions(k, min_samples=3, boundary=False).filter(lambda d: len(set(d.y_true)) > 1))
    gamma = draw(st.sampled_from((0.1, 0.02, 1.0)))
    return draw(generators(n_classes=k, finite_at_vertices=True)), data, gamma


def log_ratios(g: Floats) -> Floats:
    return np.asarray(np.log(g[:, 1:] / g[:, :1]))


@fewer
@given(cases())
def test_log_ratios_have_the_sharpness_of_their_probabilities(
    case: tuple[BregmanGenerator, Predictions, float],
) -> None:
    generator, (y, g, _), gamma = case
    k = g.shape[1]
    (found,) = layer_sharpness(
        [log_ratios(g)], y, generator=generator, bandwidth=gamma, standardise=False, labels=range(k)
    )
    expected = decompose(y, g, generator=generator, bandwidth=gamma).sharpness
    # The way there and back costs ulps of g, which log k multiplies by up to log(500) / γ.
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@fewer
@given(cases(), st.sampled_from((1e-3, 2.0, 1e4)), st.floats(-5, 5))
def test_standardised_it_has_no_units_and_no_order(
    case: tuple[BregmanGenerator, Predictions, float], unit: float, origin: float
) -> None:
    generator, (y, g, _), gamma = case
    z = log_ratios(g)
    options = {"generator": generator, "bandwidth": gamma, "labels": range(g.shape[1])}
    expected, reversed_, rescaled = layer_sharpness(
        [z, z[:, ::-1], (z + origin) * unit * np.arange(1, z.shape[1] + 1)],
        y,
        **options,  # type: ignore[arg-type]
    )
    # A coordinate that is constant but for its rounding is all rounding once it is standardised.
    spread = z.std(axis=0)
    assert reversed_ == pytest.approx(expected, rel=1e-9, abs=1e-9)
    if (spread > 1e-3).all():
        assert rescaled == pytest.approx(expected, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("generator", ["log", "brier"])
def test_estimates_show_the_loss_of_information_along_layers(generator: str) -> None:
    # X tells Y up to noise, the middle layer forgets a sign half the time, the last one all but a shadow. The
    # steps, about 0.2 nats or a quarter, are far above the errors of estimates from 600 samples, about 0.03.
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, size=600)
    x = (2 * y - 1)[:, None] * np.array([1.5, 0.7]) + rng.normal(size=(600, 2)) * 0.7
    middle = np.tanh(x[:, 1:])
    last = middle + rng.normal(size=(600, 1))
    first, second, third = layer_sharpness([x, middle, last], y, generator=generator)
    assert first > second + 0.1
    assert second > third + 0.05
    assert first <= (np.log(2) if generator == "log" else 0.5)


def test_the_bandwidth_is_chosen_as_for_predictions() -> None:
    rng = np.random.default_rng(3)
    g = rng.dirichlet(np.ones(3), size=200)
    y = np.array([rng.choice(3, p=p) for p in g])
    (found,) = layer_sharpness([log_ratios(g)], y, generator="brier", standardise=False)
    assert found == pytest.approx(propercal.sharpness(y, g, generator="brier", method="risk"), rel=1e-9)
