r"""Predictions that tell nothing of the labels: of a model without use, or of other rows.

Where both sides lost the names of their rows, and one of them its order, no name tells. But then
labels are no more probable than those of other rows would be. With logarithms l of predictions, d
their deviations from the mean of each column, and shares s of the labels, what own rows gain,

.. math:: \sum_h d_{h y_h}, \qquad \text{has the variance} \quad
    \frac{n}{n - 1} \sum_h \Big( \sum_i s_i d_{hi}^2 - \big( \sum_i s_i d_{hi} \big)^2 \Big)

over all orders of the labels (Hoeffding, 1951), and a mean of 0. If predictions were right but for
how frequent classes are, rows of class j would occur in proportion to p_j, and it would be

.. math:: n \sum_i s_i \Big( A_{ii} - \sum_j s_j A_{ij} \Big), \qquad
    A_{ij} = \frac{\sum_h p_{hj} d_{hi}}{\sum_h p_{hj}} .

Where that is many standard deviations, and what is seen next to none, it is said. All follows from
sums over rows, so that it is asked of the chunks of a stream together too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._data.classes.other_readings import FLOOR
from propercal._data.inputs.reading import Names
from propercal._data.words.messages import warn

Floats = npt.NDArray[np.floating[Any]]

#: Standard deviations that calibrated predictions gain at least, and what is seen at most.
_EXPECTED, _SEEN = 8.0, 2.0
_NOISE = 1e-9
_TINY = 1e-300


#: What is asked of several samples, such as places, which are looked at together at last.
_TOGETHER: ContextVar[dict[str, list[tuple[Gain, int]]] | None] = ContextVar("gains", default=None)


class Gain(NamedTuple):
    """What own rows gain, in standard deviations of all orders of the labels."""

    seen: float
    expected: float
    """If predictions were calibrated but for how frequent classes are."""

    @classmethod
    def of_sums(
        cls,
        n: int,
        share: Floats,
        of_labels: float,
        of_proba: tuple[Floats, Floats],
        moments: tuple[Floats, float],
    ) -> Gain:
        """Return that of Σ d of the labels of n rows.

        `of_proba` are the sums over rows of p_j d_i, (k, k), and of p_j, `moments` those of d² and
        of the square of Σ s d.
        """
        squares, square_of_mean = moments
        variance = float(squares @ share - square_of_mean) * n / max(n - 1, 1)
        if variance <= _NOISE * n:
            return cls(0.0, 0.0)
        mean = of_proba[0] / np.maximum(of_proba[1], _TINY)
        expected = n * float(share @ (np.diag(mean) - mean @ share))
        return cls(of_labels / sqrt(variance), expected / sqrt(variance))

    def doubt(self, n: int, called: Names, times: int = 1) -> bool:
        """Warn, and tell, where predictions of n rows tell nothing of the labels.

        So many `times` what is expected is asked for by who looks after each row: of a weak model,
        too sure of itself, little may be seen at some time.
        """
        if self.expected < times * _EXPECTED:
            return False
        return _warn(*self, n, called, ("labels are", "probable"))


def doubt_relation(log_prob: Floats, label: npt.NDArray[np.int64], called: Names) -> bool:
    """Warn, and tell, where predictions (n, k) tell nothing of labels (n,)."""
    gain = gain_of_own_rows(log_prob, label)
    together = _TOGETHER.get()
    if together is not None:
        together.setdefault(called.proba, []).append((gain, len(label)))
    return gain.doubt(len(label), called)


@contextmanager
def looked_at_together() -> Iterator[None]:
    """Warn where predictions of several samples together tell nothing of the labels, if none does.

    Each has an order of its own, so that what is seen and expected adds up, and so do variances.
    """
    token = _TOGETHER.set({})
    try:
        yield
        found = _TOGETHER.get() or {}
    finally:
        _TOGETHER.reset(token)
    for name, gains in found.items():
        # Of others it was asked.
        several = [each for each in gains if 0 < each[0].expected < _EXPECTED]
        if len(several) < 2:
            continue
        sums = zip(*(gain for gain, _ in several), strict=True)
        seen, expected = (sum(each) / sqrt(len(several)) for each in sums)
        Gain(seen, expected).doubt(sum(n for _, n in several), Names(proba=name))


def gain_of_own_rows(log_prob: Floats, label: npt.NDArray[np.int64]) -> Gain:
    """Return what own rows gain, of all rows at once."""
    n = len(label)
    logs = np.maximum(log_prob, FLOOR)
    away = logs - logs.mean(axis=0)
    share = np.bincount(label, minlength=logs.shape[1]) / n
    mean = away @ share
    of_labels = float(np.take_along_axis(away, label[:, None], axis=1).sum())
    moments = (away * away).sum(axis=0), float(mean @ mean)
    prob = np.exp(logs)
    of_proba = away.T @ prob, prob.sum(axis=0)
    return Gain.of_sums(n, share, of_labels, of_proba, moments)


def doubt_relation_of_outcomes(members: Floats, outcome: Floats, called: Names) -> bool:
    """Warn, and tell, where the mean of members (n, m) tells nothing of outcomes (n,).

    That is their covariance, which is the variance of the mean if forecasts are calibrated.
    """
    centre, n = members.mean(axis=1), len(outcome)
    spread, total = float(centre.std()), float(outcome.std())
    if spread * total <= _NOISE * float(np.abs(centre).max() * np.abs(outcome).max()):
        return False
    correlation = float(((centre - centre.mean()) * (outcome - outcome.mean())).mean())
    seen, expected = correlation / (spread * total), spread / total
    error = 1 / sqrt(n - 1)
    of_outcomes = "outcomes are", "near to forecasts"
    return _warn(seen / error, expected / error, n, called, of_outcomes)


def _warn(seen: float, expected: float, n: int, called: Names, what: tuple[str, str]) -> bool:
    """Say so, and tell, if next to none is seen of many standard deviations, or the contrary."""
    if expected < _EXPECTED or seen > _SEEN:
        return False
    contrary, are, near = seen < -_SEEN, *what
    fix = (
        "Join both by an id if rows of one of them stand in another order, or belong to other data."
    )
    if contrary:
        fix = "See whether either of them is of another class, or another sign, than its name says."
    warn(
        f"{called.proba} tells nothing of {called.labels}{', but the contrary' * contrary}, as far "
        f"as {n} rows show: {are} {'less' if contrary else 'no more'} {near} than if those of all "
        f"rows were shuffled, though they would be more so by {expected:.0f} standard deviations "
        f"if {called.proba} were calibrated. {fix}"
    )
    return True
