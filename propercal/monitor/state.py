"""What a monitor has seen: evidence on each problem, and what was made of it on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal.generators.base import BregmanGenerator
from propercal.monitor.bets import Bets, log_sum
from propercal.monitor.evidence import Evidence, Path
from propercal.monitor.gains import bets_on, lower_bound, n_weights, savings

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

#: Rows of which the state is kept.
MOST_POINTS = 512
#: Numbers of a part of the rows that are held at once.
_HELD = 1 << 18


class Limits(NamedTuple):
    """When a monitor gives an alarm, and what its lower bound is of."""

    log_e_value: float
    log_sum_of_starts: float
    generator: BregmanGenerator
    largest_loss: float
    """What one saving may be below 0."""
    alpha: float

    def lower_bounds(self, sums: Floats, n_rows: Floats) -> Floats:
        """(m,) lower bounds of the calibration error, 0 or more."""
        found = lower_bound(sums, n_rows, self.largest_loss, self.alpha)
        return np.maximum(found, 0.0)


class Rows(NamedTuple):
    """Rows of q problems, in the order of time."""

    log_prob: Floats
    """(q, n, c)."""
    label: Whole
    """(q, n)."""


class State(NamedTuple):
    """What rows have come to."""

    problems: tuple[Evidence, ...]
    n_rows: int
    highest: float
    """The largest logarithm of the e-value that was seen."""
    alarm: int
    """Rows until the e-value reached its limit; −1 if it did not."""
    drift_alarm: int
    """Rows until the sum over starts reached its limit; −1 if it did not."""
    sums: Floats
    """(w,) Σ log(1 + λ x) of what x a learnt recalibration saved, for w weights λ."""
    kept: Floats
    """(p, 5) rows, log e-value, its largest so far, log sum over starts, and the lower bound."""

    @classmethod
    def empty(cls, n_problems: int, n_outcomes: int) -> State:
        """Return the state before any row."""
        problems = (Evidence.none(n_outcomes),) * n_problems
        return cls(problems, 0, 0.0, -1, -1, np.zeros(n_weights()), np.empty((0, 5)))

    @property
    def log_e_value(self) -> float:
        """Logarithm of the e-value now: the mean over problems."""
        found = _log_mean([each.log_e_value for each in self.problems])
        # Shares of the first wealth sum to 1 but for rounding.
        return found if self.n_rows else 0.0

    @property
    def log_sum_of_starts(self) -> float:
        """Logarithm of the sum over starts now: the mean over problems."""
        return _log_mean([each.log_sum_of_starts for each in self.problems])

    def best_start(self) -> int:
        """Return after how many rows the bet began that has gained most since."""
        return max(each.best_start() for each in self.problems)[1]

    def after(self, rows: Rows, limits: Limits) -> State:
        """Return it after rows more."""
        state, n, start = self, rows.label.shape[1], 0
        stride = _stride(self.n_rows + n)
        bets = Bets.of(rows.log_prob.shape[2])
        longest = max(1, _HELD // max(bets.log_prior.size, bets.steps.size))
        found = []
        while start < n:
            learner = state.problems[0].learner
            end = min(n, start + longest, start + learner.block_end - learner.n_rows)
            part = Rows(rows.log_prob[:, start:end], rows.label[:, start:end])
            state, points = state._after_part(part, limits, stride)
            found.append(points)
            start = end
        points = np.concatenate(found)
        bounds = limits.lower_bounds(points[:, 4:], points[:, 0])
        new = np.column_stack([points[:, :4], bounds])
        kept = self.kept[self.kept[:, 0] % stride == 0]
        return state._replace(kept=np.concatenate([kept, new]))

    def _after_part(self, rows: Rows, limits: Limits, stride: int) -> tuple[State, Floats]:
        """Return it after rows of one block, and (p, 4 + w) what is kept of some of them."""
        problems, paths, saved = [], [], []
        for evidence, log_prob, label in zip(self.problems, *rows, strict=True):
            after, path, learnt = evidence.after(log_prob, label)
            problems.append(after)
            paths.append(path)
            saved.append(savings(limits.generator, log_prob, learnt, label))
        path = Path(*(_log_mean_of_paths(each) for each in zip(*paths, strict=True)))
        number = self.n_rows + 1 + np.arange(rows.label.shape[1])
        mean = np.sum(saved, axis=0) / len(saved)
        gains = np.concatenate([self.sums[None], bets_on(mean, limits.largest_loss)])
        sums = np.add.accumulate(gains, axis=0)[1:]
        highest = np.maximum.accumulate([self.highest, *path.log_e_value])[1:]
        points = np.column_stack([number, path[0], highest, path[1], sums])
        state = self._replace(
            problems=tuple(problems),
            n_rows=int(number[-1]),
            highest=float(highest[-1]),
            alarm=_first(self.alarm, path.log_e_value >= limits.log_e_value, number),
            drift_alarm=_first(self.drift_alarm, path[1] >= limits.log_sum_of_starts, number),
            sums=sums[-1],
        )
        return state, points[number % stride == 0]

    def plus(self, later: State, limits: Limits) -> State:
        """Return the state after the rows of both, those of `later` being the later ones.

        What the e-value was on the way through these is not known: only its end counts.
        """
        problems = tuple(a.plus(b) for a, b in zip(self.problems, later.problems, strict=True))
        n_rows = self.n_rows + later.n_rows
        joint = self._replace(problems=problems, n_rows=n_rows, sums=self.sums + later.sums)
        now = joint.log_e_value, joint.log_sum_of_starts
        number = np.array([n_rows])
        drift = later.drift_alarm if later.drift_alarm < 0 else self.n_rows + later.drift_alarm
        drift = self.drift_alarm if self.drift_alarm >= 0 else drift
        highest = max(self.highest, now[0])
        return joint._replace(
            highest=highest,
            alarm=_first(self.alarm, np.array([now[0] >= limits.log_e_value]), number),
            drift_alarm=_first(drift, np.array([now[1] >= limits.log_sum_of_starts]), number),
            kept=self.kept[self.kept[:, 0] % _stride(n_rows) == 0],
        )

    def lower_bound(self, limits: Limits) -> float:
        """Return the lower bound now."""
        return float(limits.lower_bounds(self.sums[None], np.array([self.n_rows]))[0])

    def points(self, limits: Limits) -> Floats:
        """(p, 5) what was kept, and the state now."""
        now = [self.n_rows, self.log_e_value, self.highest, self.log_sum_of_starts]
        now.append(self.lower_bound(limits))
        if self.n_rows == 0 or (len(self.kept) and self.kept[-1, 0] == self.n_rows):
            return self.kept
        return np.concatenate([self.kept, [now]])


def _stride(n_rows: int) -> int:
    """Return of how many rows one is kept, the least power of 2 such that there are few enough."""
    stride = 1
    while n_rows // stride > MOST_POINTS:
        stride *= 2
    return stride


def _first(known: int, reached: npt.NDArray[np.bool_], number: Whole) -> int:
    if known >= 0 or not reached.any():
        return known
    return int(number[reached.argmax()])


def _log_mean(values: Sequence[float]) -> float:
    return float(_log_mean_of_paths([np.array([each]) for each in values])[0])


def _log_mean_of_paths(paths: Sequence[Floats]) -> Floats:
    if len(paths) == 1:
        return paths[0]
    return np.asarray(log_sum(np.stack(paths, axis=1)) - np.log(len(paths)))
