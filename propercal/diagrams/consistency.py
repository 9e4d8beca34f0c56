"""A band about the diagonal that holds the isotonic curve of a calibrated model everywhere.

Labels are drawn from the predictions; where classes were sampled, as those of rows that were kept
are, with their weights. A part of the draws says how far curves scatter at each
prediction, up and down; by what factor of that they stay within the band, the others say. Given
the first part, the observed curve of a calibrated model is one more of the others, so that the
level is kept by any number of them.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.predictions.class_weights import ClassWeights
from propercal._progress import steps
from propercal.diagrams.confidence import Band
from propercal.diagrams.curve import Curve, pooled
from propercal.diagrams.events import Event

Floats = npt.NDArray[np.float64]

#: Predictions at which curves are compared; between them, they are monotone.
_PLACES = 500
#: Draws that say how far curves scatter.
_SHAPES = 400
#: A scatter below this part of the mean one is not told from it by so few draws.
_LEAST = 0.1
#: Of few distinct predictions, many draws give the curve that the factor is from: it is in the band
#: whatever rounding does on the way to the angle and back.
_ROUNDING = 1e-12


def consistency_band(
    event: Event,
    curve: Curve,
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
    weights: ClassWeights | None = None,
) -> Band:
    """Return the band, from `n_resamples` draws beside those that say how far curves scatter.

    `weights` are those of classes that were sampled.
    """
    m = len(curve.prediction)
    places = np.unique(np.linspace(0, m - 1, min(m, _PLACES)).round().astype(np.int64))
    diagonal = _angle(curve.prediction[places])
    curves = _Curves(event, curve, places, rng, weights)
    shapes = steps(range(_SHAPES), _SHAPES / (_SHAPES + n_resamples))
    spread = _spread(np.stack([_angle(curves.draw()) - diagonal for _ in shapes]))
    draws = steps(range(n_resamples))
    reach = np.sort([_reach(_angle(curves.draw()) - diagonal, spread) for _ in draws])
    rank = math.ceil(level * (n_resamples + 1))
    factor = float(reach[rank - 1]) if rank <= n_resamples else math.inf
    lower, upper = diagonal - factor * spread[0], diagonal + factor * spread[1]
    low, high = (np.sin(np.clip(each, 0.0, math.pi / 2)) ** 2 for each in (lower, upper))
    low, high = np.maximum(low - _ROUNDING, 0.0), np.minimum(high + _ROUNDING, 1.0)
    # Curves are monotone: what bounds one at a prediction bounds it on one side of that.
    low, high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
    at = np.arange(m)
    return Band(
        low[np.searchsorted(places, at, side="right") - 1], high[np.searchsorted(places, at)]
    )


class _Curves:
    """Isotonic curves of labels that a calibrated model would have."""

    def __init__(
        self,
        event: Event,
        curve: Curve,
        places: npt.NDArray[np.int64],
        rng: np.random.Generator,
        weights: ClassWeights | None = None,
    ) -> None:
        self.rng, self.places, self.groups = rng, places, event.groups
        self.weights, self.event = weights, event.occurring
        if weights is not None:
            cumulated = np.cumsum(to_numpy(weights.prob), axis=1)
            self.limits = cumulated[:, :-1] / cumulated[:, -1:]
        # By weight too: in which order rows of one prediction are given does not matter.
        order = np.lexsort((event.weight, curve.number))
        self.starts = np.cumsum(curve.count) - curve.count
        self.predicted = event.predicted[order]
        weight = np.ones(event.n_samples) if event.uniform else event.weight
        self.weight = weight[order]
        self.total = np.add.reduceat(self.weight, self.starts)
        self.residual = event.occurred[order] - self.predicted
        self.order = order

    def draw(self) -> Floats:
        """Return one curve at the places."""
        weight, total = self.weight, self.total
        if self.weights is not None:
            drawn = (self.rng.random((len(self.limits), 1)) >= self.limits).sum(axis=1)
            label = (drawn == self.event)[self.order].astype(np.float64)
            weight = self.weights.of_class[drawn][self.order]
            total = np.add.reduceat(weight, self.starts)
        elif self.groups is None:
            label = (self.rng.random(len(self.predicted)) < self.predicted).astype(np.float64)
        else:
            # Labels of a group go together in a way that only their residuals show.
            signs = 2.0 * self.rng.integers(0, 2, int(self.groups.max()) + 1) - 1
            label = self.predicted + signs[self.groups[self.order]] * self.residual
        share = np.add.reduceat(weight * label, self.starts) / total
        found: Floats = np.take(pooled(share, total)[0], self.places)
        return found


def _angle(probability: Floats) -> Floats:
    """Return arcsin √p, on whose scale frequencies scatter alike."""
    found: Floats = np.arcsin(np.sqrt(np.clip(probability, 0.0, 1.0)))
    return found


def _spread(deviations: Floats) -> Floats:
    """(2, places) root mean squares of deviations down and up."""
    found = np.stack(
        [np.sqrt((np.maximum(sign * deviations, 0.0) ** 2).mean(axis=0)) for sign in (-1, 1)]
    )
    found = np.maximum(found, max(_LEAST * float(found.mean()), float(np.finfo(float).tiny)))
    return np.asarray(found, dtype=np.float64)


def _reach(deviation: Floats, spread: Floats) -> float:
    """Return by what factor of the spread a curve deviates where it does so most."""
    return float(np.maximum(-deviation / spread[0], deviation / spread[1]).max())
