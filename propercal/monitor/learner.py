"""A recalibration that is learnt from the rows before, by sums that do not grow with their number.

It is softmax(a log g + b), moved by a Newton step at the end of each block of rows. Within a block
it stands still, so that gradients and Hessians of its rows add up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal.monitor.bets import log_sum

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

#: Outcomes of problems in which each has a step of its own; of more, the exponent alone is learnt.
MOST_OUTCOMES = 32
#: Precisions, before any rows, of the exponent and of the steps.
_OF_EXPONENT, _OF_STEP = 4.0, 1.0
#: Limits of the exponent, and of a step.
_EXPONENTS, _LARGEST_STEP = (0.1, 10.0), 5.0
_SHORTEST, _SHARE = 12, 6
#: Numbers of Hessians that are held at once.
_HELD = 1 << 18


class Learner(NamedTuple):
    """A recalibration, and what the rows of the block have added since."""

    n_outcomes: int
    mean: Floats
    """(d,) the exponent a, then the steps b."""
    precision: Floats
    """(d, d)."""
    gradient: Floats
    """(d,) of the rows of the block."""
    hessian: Floats
    """(d, d) of the rows of the block."""
    n_rows: int
    """Rows learnt from."""
    block_end: int
    """The number of rows at which the block ends."""

    @classmethod
    def untaught(cls, n_outcomes: int) -> Learner:
        """Return the identity."""
        d = n_parameters(n_outcomes)
        mean = np.zeros(d)
        mean[0] = 1.0
        precision = np.diag([_OF_EXPONENT, *[_OF_STEP] * (d - 1)])
        return cls(n_outcomes, mean, precision, np.zeros(d), np.zeros((d, d)), 0, _SHORTEST)

    def recalibrated(self, log_prob: Floats) -> Floats:
        """(n, c) log r."""
        scores = self.mean[0] * log_prob
        if len(self.mean) > 1:
            scores = scores + self.mean[1:]
        return np.asarray(scores - log_sum(scores)[:, None])

    def after(self, log_prob: Floats, log_recalibrated: Floats, label: Whole) -> Learner:
        """Return it after rows of one block, of which it has given the recalibrations."""
        gradient, hessian = self.gradient, self.hessian
        size = max(1, _HELD // self.precision.size)
        for start in range(0, len(label), size):
            part = slice(start, start + size)
            found = _derivatives(
                log_prob[part], log_recalibrated[part], label[part], len(self.mean)
            )
            gradient, hessian = (
                added_in_order(*each) for each in zip((gradient, hessian), found, strict=True)
            )
        n_rows = self.n_rows + len(label)
        taught = self._replace(gradient=gradient, hessian=hessian, n_rows=n_rows)
        return taught if n_rows < self.block_end else taught.closed()

    def closed(self) -> Learner:
        """Return it with the block ended, and moved by what its rows say."""
        precision = self.precision + self.hessian
        mean = self.mean - np.linalg.solve(precision, self.gradient)
        mean[0] = np.clip(mean[0], *_EXPONENTS)
        mean[1:] = np.clip(mean[1:], -_LARGEST_STEP, _LARGEST_STEP)
        end = self.n_rows + max(_SHORTEST, self.n_rows // _SHARE)
        nothing = np.zeros_like(self.gradient), np.zeros_like(self.hessian)
        return Learner(self.n_outcomes, mean, precision, *nothing, self.n_rows, end)

    def plus(self, other: Learner) -> Learner:
        """Return what both have learnt, each as a normal distribution about its mean."""
        mine, others, prior = self.closed(), other.closed(), Learner.untaught(self.n_outcomes)
        precision = mine.precision + others.precision - prior.precision
        moments = (each.precision @ each.mean for each in (mine, others, prior))
        first, second, third = moments
        mean = np.asarray(np.linalg.solve(precision, first + second - third), dtype=np.float64)
        n_rows = self.n_rows + other.n_rows
        joint = mine._replace(mean=mean, precision=precision, n_rows=n_rows)
        return joint.closed()


def n_parameters(n_outcomes: int) -> int:
    """Return how many numbers are learnt."""
    return 1 + n_outcomes if n_outcomes <= MOST_OUTCOMES else 1


def added_in_order(start: Floats, rows: Floats) -> Floats:
    """Return start + row + row + ..., rounded alike whatever parts the rows come in."""
    return np.asarray(np.add.accumulate(np.concatenate([start[None], rows]), axis=0)[-1])


def _derivatives(
    log_prob: Floats, log_recalibrated: Floats, label: Whole, d: int
) -> tuple[Floats, Floats]:
    """(n, d) and (n, d, d) derivatives of −log r(y); 0 where g gave y no probability."""
    n, c = log_prob.shape
    possible = np.isfinite(log_prob)
    slope, r = np.where(possible, log_prob, 0.0), np.exp(log_recalibrated)
    mean = (r * slope).sum(axis=1)
    occurred = np.arange(c) == label[:, None]
    gradient, hessian = np.empty((n, d)), np.empty((n, d, d))
    gradient[:, 0] = mean - slope[np.arange(n), label]
    centred = r * (slope - mean[:, None])
    hessian[:, 0, 0] = (centred * (slope - mean[:, None])).sum(axis=1)
    if d > 1:
        gradient[:, 1:] = r - occurred
        hessian[:, 0, 1:] = hessian[:, 1:, 0] = centred
        hessian[:, 1:, 1:] = -r[:, :, None] * r[:, None, :]
        hessian[:, np.arange(1, d), np.arange(1, d)] += r
    told = possible[np.arange(n), label]
    return gradient * told[:, None], hessian * told[:, None, None]
