"""Simulated predictions whose calibration error is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propercal._array import log_softmax
from propercal._data.inputs.settings import check_bandwidth, check_random_state
from propercal._data.predictions.notions import as_notion
from propercal._data.words.messages import bad_value, unknown_name, warn
from propercal.generators import as_generator
from propercal.generators.registry import GeneratorLike
from propercal.methods import PUBLISHED_METHODS
from propercal.simulation.limit import fixed_bandwidth_limit
from propercal.simulation.marginal import SimplexModel, marginal
from propercal.simulation.quadrature import Floats, IntegratedValue
from propercal.simulation.truth import true_calibration_error

NOTIONS = ("canonical", "classwise")
_STATED_PRECISION = 1e-4
# A calibrated model has an error of 0, up to rounding.
_NOTHING = 1e-12


class SimulatedSample(NamedTuple):
    """Labels, predictions and the probabilities that labels were drawn from."""

    y_true: NDArray[np.int64]
    """(n,) class numbers."""
    y_proba: Floats
    """(n, k) predicted probabilities g."""
    p_true: Floats
    """(n, k) probabilities p of the classes."""


@dataclass(frozen=True)
class TemperatureScaledSimplex:
    r"""The simulation of the paper: miscalibration by temperature scaling, for any class count.

    .. math::

        q &\sim \mathrm{Uniform}(Δ_k), \quad & p &= \mathrm{softmax}(\log q / t_1), \\
        Y &\sim p, \quad & g &= \mathrm{softmax}(\log p / t_2).

    Predictions are over-confident for t_2 < 1, under-confident for t_2 > 1 and calibrated for
    t_2 = 1.

    Parameters
    ----------
    n_classes : int
        Number of classes k ≥ 2.
    label_temperature : float
        t_1 > 0.
    score_temperature : float
        t_2 > 0.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    References
    ----------
    Popordanoska, Gruber, Tiulpin, Buettner & Blaschko (2024), section 5.1, after Popordanoska,
    Sayer & Blaschko (2022), "A consistent and differentiable Lp canonical calibration error
    estimator".

    Examples
    --------
    >>> model = TemperatureScaledSimplex(n_classes=2)
    >>> y_true, y_proba, p_true = model.sample(5, random_state=0)
    >>> y_true.shape, y_proba.shape, p_true.shape
    ((5,), (5, 2), (5, 2))
    >>> print(f"{model.truth('log', 'classwise').value:.6f}")
    0.036603
    >>> print(f"{model.limit('log', 'classwise', 'risk', bandwidth=0.02).value:.4f}")
    0.0551
    """

    n_classes: int
    label_temperature: float = 0.9
    score_temperature: float = 0.6

    def __post_init__(self) -> None:
        check_whole("n_classes", self.n_classes, 2)
        for name in ("label_temperature", "score_temperature"):
            check_positive(name, getattr(self, name))

    @property
    def _numbers(self) -> SimplexModel:
        return SimplexModel(
            int(self.n_classes), float(self.label_temperature), float(self.score_temperature)
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
            ``y_true`` (n,), ``y_proba`` (n, k) and ``p_true`` (n, k).
        """
        check_whole("n", n, 1)
        rng = np.random.default_rng(check_random_state(random_state))
        # A uniform point of the simplex is a row of exponentials over its sum.
        log_e = np.log(np.maximum(rng.standard_exponential((n, self.n_classes)), 1e-300))
        log_p = log_softmax(log_e / self.label_temperature)
        p = np.exp(log_p)
        return SimulatedSample(
            draw_labels(p, rng), np.exp(log_softmax(log_p / self.score_temperature)), p
        )

    def conditional_probability(self, y_proba: Floats, notion: str) -> Floats:
        """Return what an estimate of E[Y | g(X)] aims at.

        Parameters
        ----------
        y_proba : array of shape (n, k)
            Predictions of this model.
        notion : {"canonical", "classwise"}
            E[Y | g(X)] as a whole, or E[Y_i | g_i(X)] in column i.

        Returns
        -------
        array of shape (n, k)
            Canonical: the p that belongs to g. Class-wise: interpolated in logit g_i, error below
            1e-5 beside the integration error; rows need not sum to 1.
        """
        self._check_notion(notion)
        log_g = np.log(np.maximum(y_proba, 1e-300))
        if as_notion(notion).n_outcomes(self.n_classes) == self.n_classes:
            return np.asarray(np.exp(log_softmax(log_g * self.score_temperature)))
        logit = log_g - np.log(np.maximum(complement(y_proba), 1e-300))
        curve, lowest, highest = _true_logit_curve(self._numbers)
        value = curve(np.clip(logit, lowest, highest))
        return np.asarray(1.0 / (1.0 + np.exp(-value)))

    def truth(self, generator: GeneratorLike, notion: str) -> IntegratedValue:
        r"""Return the calibration error E D_F(E[Y | g(X)], g(X)).

        Canonical: E[Y | g] = p. Class-wise: the mean over classes on pairs (1 − g_i, g_i), with
        E[Y_i | g_i] = E[p_i | g_i], which is not p_i for more than two classes.

        Parameters
        ----------
        generator : str, BregmanGenerator, class or callable
            The convex function F.
        notion : {"canonical", "classwise"}
            What predictions are conditioned on.

        Returns
        -------
        IntegratedValue
            ``value`` and ``error``, a bound on the absolute error: three standard errors over
            independent scramblings of the integration points, plus the change when the step of
            one-dimensional rules is halved. Infinite where the calibration error is.

        Raises
        ------
        ValueError
            If the generator or the notion is unknown.

        Warns
        -----
        UserWarning
            If the relative error exceeds 1e-4 (canonical, for generators that are infinite on the
            boundary, such as Itakura-Saito's).

        Examples
        --------
        >>> value, error = TemperatureScaledSimplex(3).truth("brier", "classwise")
        >>> print(f"{value:.6f}", error < 1e-4 * value)
        0.012662 True
        """
        self._check_notion(notion)
        result = true_calibration_error(self._numbers, as_generator(generator), notion)
        precise = result.error <= max(_STATED_PRECISION * abs(result.value), _NOTHING)
        if math.isfinite(result.value) and not precise:
            warn(
                f"the {notion} calibration error for {as_generator(generator)!r} is known to "
                f"±{result.error:.1e} only (value {result.value:.6g}): its divergence varies too "
                "much near the faces of the simplex for a closer integral."
            )
        return result

    def limit(
        self, generator: GeneratorLike, notion: str, method: str, bandwidth: float
    ) -> IntegratedValue:
        r"""Return what an estimate with the Dirichlet kernel tends to as n → ∞ at fixed bandwidth.

        With r_γ(t) the kernel average of r = E[Y | g(X)] around t: E D_F(r_γ(g), g) for "direct",
        E F(r_γ(g)) + E L_F(g, Y) for "risk". It differs from the truth by the smoothing bias,
        which more data cannot lower.

        Parameters
        ----------
        generator : str, BregmanGenerator, class or callable
            The convex function F.
        notion : {"canonical", "classwise"}
            What predictions are conditioned on.
        method : {"direct", "risk"}
            The estimator.
        bandwidth : float
            Bandwidth γ > 0 of the Dirichlet kernel.

        Returns
        -------
        IntegratedValue
            ``value`` and ``error``, a bound on the absolute error as for :meth:`truth`. One
            dimension (class-wise, or two classes) reaches about 1e-6, quasi-random canonical
            integrals about 1e-3 relative to the truth.

        Raises
        ------
        ValueError
            If an argument cannot be used.
        """
        self._check_notion(notion)
        if method not in PUBLISHED_METHODS:
            raise unknown_name("method", method, PUBLISHED_METHODS)
        return fixed_bandwidth_limit(
            self._numbers, as_generator(generator), notion, method, check_bandwidth(bandwidth)
        )

    def _check_notion(self, notion: str) -> None:
        if notion not in NOTIONS:
            known = "; E[Y | g] of the simulation is known for these"
            raise ValueError(f"{unknown_name('notion', notion, NOTIONS)}{known}")


def check_whole(name: str, value: object, least: int) -> None:
    """Refuse what is not a whole number, or too small a one."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise bad_value(
            name, repr(value), f"a whole number of at least {least}", f"pass {least} or more"
        )


def check_positive(name: str, value: object) -> None:
    """Refuse what is not a positive finite number."""
    if not (isinstance(value, int | float | np.number) and 0 < value < math.inf):
        raise bad_value(name, repr(value), "a positive number", "1.0 changes nothing")


def draw_labels(p: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a class for each row of probabilities (n, k)."""
    label = np.sum(np.cumsum(p, axis=1) <= rng.random((len(p), 1)), axis=1)
    return np.asarray(np.minimum(label, p.shape[1] - 1), dtype=np.int64)


def complement(prob: Floats) -> Floats:
    """Return 1 − prob (n, k); next to 1, as the sum of the others, which does not cancel."""
    top = prob.argmax(axis=1)[:, None]
    others = np.where(np.arange(prob.shape[1]) == top, 0.0, prob).sum(axis=1)
    rest = 1.0 - prob
    np.put_along_axis(rest, top, others[:, None], axis=1)
    return rest


@lru_cache(maxsize=8)
def _true_logit_curve(model: SimplexModel) -> tuple[Any, float, float]:
    """Return logit E[p_1 | g_1] as a spline of logit g_1, with the ends of its grid."""
    from scipy.interpolate import CubicSpline

    b = model.score_power
    # Beyond, x of marginal.py is off by e^22 from the rest: one prediction in a thousand million.
    step = 0.2 * min(1.0, b)
    n_steps = int(22 * b / step)
    logits = step * np.arange(-n_steps, n_steps + 1, dtype=np.float64)
    law = marginal(model, logits)
    curve = CubicSpline(logits, np.log(law.true.mean(axis=0) / law.other.mean(axis=0)))
    return curve, float(logits[0]), float(logits[-1])
