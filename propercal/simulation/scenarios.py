r"""Simulated predictions that are miscalibrated in ways other than by temperature.

Predictions g are the softmax of normal logits, and a calibration map r turns them into
r(g) = E[Y | g], from which labels are drawn: the canonical calibration error is E D_F(r(g), g).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtri

from propercal._array import log_softmax
from propercal._data.inputs.settings import check_random_state
from propercal._data.words.messages import bad_value, unknown_name, warn
from propercal.generators import BregmanGenerator, as_generator
from propercal.generators.registry import GeneratorLike
from propercal.simulation.model import (
    SimulatedSample,
    check_positive,
    check_whole,
    complement,
    draw_labels,
)
from propercal.simulation.quadrature import (
    Floats,
    IntegratedValue,
    pooled,
    sobol_points,
)

_NOTIONS = ("canonical",)
_STATED_PRECISION = 3e-3
# Of each of eight scrambles: 2^20 points in all, or four times as many.
_LOG2_POINTS = (17, 19)


def _softmax(logits: Floats) -> Floats:
    return np.asarray(np.exp(log_softmax(logits)))


def _identity(log_g: Floats) -> Floats:
    return np.exp(log_g)


def _temperature(log_g: Floats) -> Floats:
    return _softmax(0.6 * log_g)


def _mixture(log_g: Floats) -> Floats:
    g = np.exp(log_g)
    return np.asarray(0.8 * g + 0.2 * np.roll(g, 1, axis=1))


def _vector_scaling(log_g: Floats) -> Floats:
    k = log_g.shape[1]
    return _softmax(np.linspace(0.5, 0.9, k) * log_g + np.linspace(-0.5, 0.5, k))


def _confidence_temperature(log_g: Floats) -> Floats:
    entropy = -np.sum(np.exp(log_g) * log_g, axis=1, keepdims=True) / math.log(log_g.shape[1])
    return _softmax((0.5 + 0.6 * entropy) * log_g)


def _neighbour(log_g: Floats) -> Floats:
    g, k = np.exp(log_g), log_g.shape[1]
    phase = 5 * np.roll(g, 1, axis=1) + 2 * np.arange(k)
    return _softmax(np.log(0.95 * g + 0.05 / k) + 0.8 * np.sin(phase))


def _group_noise(log_g: Floats) -> Floats:
    k = log_g.shape[1]
    noise = np.where(log_g.argmax(axis=1) % 2 == 0, 0.3, 0.0)[:, None]
    return np.asarray((1 - noise) * np.exp(log_g) + noise / k)


def _steps(log_g: Floats) -> Floats:
    g, k = np.exp(log_g), log_g.shape[1]
    top = log_g.argmax(axis=1)[:, None]
    rest = np.take_along_axis(complement(g), top, axis=1)
    bin_ = np.minimum((4 * (1 - rest * k / (k - 1))).astype(int), 3)
    new_rest = (1 - 1 / k) * (1 - np.array([0.05, 0.3, 0.5, 0.85])[bin_])
    p = np.asarray(g * (new_rest / rest))
    np.put_along_axis(p, top, 1 - new_rest, axis=1)
    return p


def _focal(log_g: Floats) -> Floats:
    g = np.exp(log_g)
    rest = complement(g)
    # g / φ(g), φ(g) = (1 − g)^2 − 2 (1 − g) g log g.
    return _softmax(log_g - np.log(rest) - np.log(rest - 2 * g * log_g))


def _to_first(g: Floats, share: Floats) -> Floats:
    """Return g with a share (n,) of all other classes given to class 0."""
    p = g * (1 - share[:, None])
    p[:, 0] = g[:, 0] + complement(g)[:, 0] * share
    return p


def _bump(log_g: Floats) -> Floats:
    g = np.exp(log_g)
    away = g[:, 0] - 0.5
    inside = np.abs(away) < 0.1
    rest = np.where(inside, 1 - g[:, 0], 1.0)
    return _to_first(g, np.where(inside, 0.25 * np.cos(math.pi * away / 0.2) / rest, 0.0))


def _oscillation(log_g: Floats) -> Floats:
    g = np.exp(log_g)
    return _to_first(g, 0.6 * g[:, 0] * np.sin(16 * math.pi * g[:, 0]))


def _hierarchy(log_g: Floats) -> Floats:
    k = log_g.shape[1]
    size = math.isqrt(k - 1) + 1
    starts, group = np.arange(0, k, size), np.arange(k) // size

    def log_sums(log_p: Floats) -> Floats:
        return np.asarray(np.logaddexp.reduceat(log_p, starts, axis=1))

    of_groups = log_sums(log_g)
    within = 1.6 * (log_g - of_groups[:, group])
    of_classes = within - log_sums(within)[:, group]
    return np.asarray(np.exp(log_softmax(0.5 * of_groups)[:, group] + of_classes))


def _runner_up(log_g: Floats) -> Floats:
    p, row = np.exp(log_g), np.arange(len(log_g))
    first, second, *others = np.argsort(-log_g, axis=1)[:, :3].T
    third = log_g[row, others[0]] if others else -math.inf
    moved = np.where(log_g[row, second] - third > 2, 0.1, 0.01) * p[row, first]
    p[row, first] -= moved
    p[row, second] += moved
    return p


_MAPS: dict[str, Callable[[Floats], Floats]] = {
    "identity": _identity,
    "temperature": _temperature,
    "mixture": _mixture,
    "vector scaling": _vector_scaling,
    "confidence temperature": _confidence_temperature,
    "neighbour": _neighbour,
    "group noise": _group_noise,
    "steps": _steps,
    "focal": _focal,
    "bump": _bump,
    "oscillation": _oscillation,
    "hierarchy": _hierarchy,
    "runner-up": _runner_up,
}

CALIBRATION_MAPS = tuple(_MAPS)


@dataclass(frozen=True)
class MiscalibratedSimplex:
    r"""Predictions with a known calibration map r(g) = E[Y | g], of one of several shapes.

    .. math::

        g &= \mathrm{softmax}(c Z), \quad & Z &\sim N(0, I_k), \\
        p &= (1 - s)\, g + s\, r(g), \quad & Y &\sim p.

    Parameters
    ----------
    n_classes : int
        Number of classes k ≥ 2.
    calibration_map : str
        What r is:

        - ``"identity"``: g itself, calibrated predictions;
        - ``"temperature"``: softmax(0.6 log g), over-confidence alike everywhere;
        - ``"mixture"``: 0.8 g_i + 0.2 g_{i−1}, classes that are taken for the next one;
        - ``"vector scaling"``: softmax(a_i log g_i + b_i), with a from 0.5 to 0.9 and b from −0.5
          to 0.5 over the classes;
        - ``"confidence temperature"``: softmax((0.5 + 0.6 H) log g), H the entropy of g over
          log k;
        - ``"neighbour"``: softmax(log(0.95 g_i + 0.05 / k) + 0.8 sin(5 g_{i−1} + 2 i)), a
          probability that depends on another one;
        - ``"group noise"``: 0.7 g + 0.3 / k where the most probable class has an even number,
          otherwise g, labels of one group being noisy;
        - ``"steps"``: the largest probability takes the value 1 / k + (1 − 1 / k) l, with
          l = 0.05, 0.3, 0.5, 0.85 in quarters of its range, and the others share the rest in
          proportion;
        - ``"focal"``: p_i ∝ g_i / ((1 − g_i)² − 2 (1 − g_i) g_i log g_i), what minimisers g of the
          focal loss with exponent 2 mean;
        - ``"bump"``: class 0 has the probability g_0 + 0.25 cos(π (g_0 − ½) / 0.2) where
          0.4 < g_0 < 0.6, otherwise g_0, and the others share the rest in proportion;
        - ``"oscillation"``: class 0 has the probability g_0 + 0.6 g_0 (1 − g_0) sin(16 π g_0), and
          the others share the rest in proportion;
        - ``"hierarchy"``: with classes in groups G of ⌈√k⌉ neighbours, the product of two
          softmaxes, over groups of 0.5 log g_G, g_G their sums, and within a group of
          1.6 log g_i: groups are told apart less well than predicted, their members better;
        - ``"runner-up"``: the largest probability gives 10 % of itself to the second largest where
          that is more than e² times the third, else 1 %. Of two classes the third is 0.
    logit_scale : float
        c > 0. From 0.5, about uniform predictions, to 10, predictions of a trained network.
    strength : float
        s in [0, 1]; 0 is calibrated.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    Class numbers i count from 0, and class −1 is the last one.

    References
    ----------
    Vaicenavicius et al. (2019), "Evaluating model calibration in classification", for calibration
    maps; Charoenphakdee et al. (2021), "On focal loss for class-posterior probability estimation",
    for that of the focal loss.

    Examples
    --------
    >>> model = MiscalibratedSimplex(3, "mixture")
    >>> y_true, y_proba, p_true = model.sample(5, random_state=0)
    >>> y_true.shape, y_proba.shape, p_true.shape
    ((5,), (5, 3), (5, 3))
    >>> value, error = model.truth("brier")
    >>> print(f"{value:.4f}", error < 3e-3 * value)
    0.0289 True
    """

    n_classes: int
    calibration_map: str = "mixture"
    logit_scale: float = 1.5
    strength: float = 1.0

    def __post_init__(self) -> None:
        check_whole("n_classes", self.n_classes, 2)
        if self.calibration_map not in _MAPS:
            raise unknown_name("calibration_map", self.calibration_map, CALIBRATION_MAPS)
        check_positive("logit_scale", self.logit_scale)
        if not 0 <= self.strength <= 1:
            raise bad_value(
                "strength", repr(self.strength), "a number in [0, 1]", "0 is calibrated"
            )

    def sample(self, n: int, random_state: Any = None) -> SimulatedSample:
        """Draw independent labels and predictions.

        Parameters
        ----------
        n : int
            Number of samples.
        random_state : int, numpy.random.SeedSequence, numpy.random.Generator or None
            Seed, or the generator to draw from.

        Returns
        -------
        SimulatedSample
            ``y_true`` (n,), ``y_proba`` (n, k) and ``p_true`` (n, k) = E[Y | g].
        """
        check_whole("n", n, 1)
        rng = np.random.default_rng(check_random_state(random_state))
        log_g, p = self._predictions(rng.standard_normal((n, self.n_classes)))
        return SimulatedSample(draw_labels(p, rng), np.exp(log_g), p)

    def truth(self, generator: GeneratorLike, notion: str = "canonical") -> IntegratedValue:
        r"""Return the calibration error E D_F(p, g).

        Parameters
        ----------
        generator : str, BregmanGenerator, class or callable
            The convex function F.
        notion : {"canonical"}
            E[Y_i | g_i] of the class-wise notion is not known for these maps.

        Returns
        -------
        IntegratedValue
            ``value`` and ``error``, three standard errors over independent scramblings of 2^20
            quasi-random points (2^22 where they are needed).

        Raises
        ------
        ValueError
            If the generator is unknown, or the notion is not canonical.

        Warns
        -----
        UserWarning
            If the relative error exceeds 0.3 %.
        """
        if notion not in _NOTIONS:
            raise unknown_name("notion", notion, _NOTIONS)
        result = _integrate(self, as_generator(generator))
        if math.isfinite(result.value) and result.error > _STATED_PRECISION * abs(result.value):
            warn(
                f"the calibration error for {as_generator(generator)!r} is known to "
                f"±{result.error:.1e} only (value {result.value:.6g}): its divergence varies too "
                "much for a closer integral."
            )
        return result

    def _predictions(self, normal: Floats) -> tuple[Floats, Floats]:
        """Return log g and p."""
        log_g = log_softmax(self.logit_scale * normal)
        if self.strength == 0 or self.calibration_map == "identity":
            return log_g, np.exp(log_g)
        p = _MAPS[self.calibration_map](log_g)
        if self.strength < 1:
            p = (1 - self.strength) * np.exp(log_g) + self.strength * p
        return log_g, p


@lru_cache(maxsize=256)
def _integrate(model: MiscalibratedSimplex, generator: BregmanGenerator) -> IntegratedValue:
    result = IntegratedValue(math.nan, math.inf)
    for log2_points in _LOG2_POINTS:
        means = []
        for scramble in sobol_points(model.n_classes, log2_points, stream=4):
            parts = np.split(scramble, max(1, len(scramble) // 16_384))
            means.append(np.mean([_mean_divergence(model, generator, part) for part in parts]))
        result = pooled(np.array(means))
        if not result.error > _STATED_PRECISION * abs(result.value):
            break
    return result


def _mean_divergence(
    model: MiscalibratedSimplex, generator: BregmanGenerator, unit: Floats
) -> float:
    log_g, p = model._predictions(ndtri(unit))
    return float(np.mean(generator.divergence(p, np.exp(log_g), log_q=log_g)))
