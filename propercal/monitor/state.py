"""What a monitor has seen: evidence on each problem, and what was made of it on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from propercal.generators.base import BregmanGenerator
from propercal.monitor.bets import Bets, log_sum
from propercal.monitor.evidence import Evidence, Path
from propercal.monitor.gains import savings
from propercal.monitor.learner import added_in_order

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
    """(2,) of what a learnt recalibration saved, and of its squares."""
    stride: int
    """Every so many rows, the state is kept."""
    kept: Floats
    """(p, 6) rows, log e-value, its largest so far, log sum over starts, and the two sums."""

    @classmethod
    def empty(cls, n_problems: int, n_outcomes: int) -> State:
        """Return the state before any row."""
        problems = (Evidence.none(n_outcomes),) * n_problems
        return cls(problems, 0, 0.0, -1, -1, np.zeros(2), 1, np.empty((0, 6)))

    @property
    def log_e_value(self) -> float:
        """Logarithm of the e-value now: the mean over problems."""
        return _log_mean([each.log_e_value for each in self.problems])

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
        m = len(Bets.of(rows.log_prob.shape[2]).log_prior) * rows.log_prob.shape[2]
        longest = max(1, _HELD // m)
        while start < n:
            learner = state.problems[0].learner
            end = min(n, start + longest, start + learner.block_end - learner.n_rows)
            part = Rows(rows.log_prob[:, start:end], rows.label[:, start:end])
            state, start = state._after_part(part, limits), end
        return state

    def _after_part(self, rows: Rows, limits: Limits) -> State:
        """Return it after rows of one block."""
        problems, paths, saved = [], [], []
        for evidence, log_prob, label in zip(self.problems, *rows, strict=True):
            after, path, learnt = evidence.after(log_prob, label)
            problems.append(after)
            paths.append(path)
            saved.append(savings(limits.generator, log_prob, learnt, label))
        path = Path(*(_log_mean_of_paths(each) for each in zip(*paths, strict=True)))
        number = self.n_rows + 1 + np.arange(rows.label.shape[1])
        with np.errstate(invalid="ignore"):
            mean = np.sum(saved, axis=0) / len(saved)
            gains = np.stack([mean, mean**2], axis=1)
            sums = np.add.accumulate(np.concatenate([self.sums[None], gains]), axis=0)[1:]
        highest = np.maximum.accumulate([self.highest, *path.log_e_value])[1:]
        points = np.column_stack([number, path[0], highest, path[1], sums])
        stride, kept = thinned(self.stride, np.concatenate([self.kept, points]))
        return State(
            tuple(problems),
            int(number[-1]),
            float(highest[-1]),
            _first(self.alarm, path.log_e_value >= limits.log_e_value, number),
            _first(self.drift_alarm, path[1] >= limits.log_sum_of_starts, number),
            sums[-1],
            stride,
            kept,
        )

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
        point = np.array([[n_rows, now[0], highest, now[1], *joint.sums]])
        stride, kept = max(self.stride, later.stride), self.kept
        stride, kept = thinned(stride, np.concatenate([kept, point]))
        return joint._replace(
            highest=highest,
            alarm=_first(self.alarm, np.array([now[0] >= limits.log_e_value]), number),
            drift_alarm=_first(drift, np.array([now[1] >= limits.log_sum_of_starts]), number),
            stride=stride,
            kept=kept,
        )

    def points(self) -> Floats:
        """(p, 6) what was kept, and the state now."""
        now = [self.n_rows, self.log_e_value, self.highest, self.log_sum_of_starts, *self.sums]
        if self.n_rows == 0 or (len(self.kept) and self.kept[-1, 0] == self.n_rows):
            return self.kept
        return np.concatenate([self.kept, [now]])


def thinned(stride: int, points: Floats) -> tuple[int, Floats]:
    """Return points at every `stride` rows, and the stride, doubled until there are few enough."""
    points = points[points[:, 0] % stride == 0]
    while len(points) > MOST_POINTS:
        stride *= 2
        points = points[points[:, 0] % stride == 0]
    return stride, points


def sums_in_order(start: Floats, rows: Floats) -> Floats:
    """Return start plus all rows, rounded alike whatever parts they come in."""
    return added_in_order(start, rows) if len(rows) else start


def _first(known: int, reached: npt.NDArray[np.bool_], number: Whole) -> int:
    if known >= 0 or not reached.any():
        return known
    return int(number[reached.argmax()])


def _log_mean(values: Sequence[float]) -> float:
    return float(_log_mean_of_paths([np.array([each]) for each in values])[0])


def _log_mean_of_paths(paths: Sequence[Floats]) -> Floats:
    if len(paths) == 1:
        return paths[0]
    return log_sum(np.stack(paths, axis=1)) - np.log(len(paths))
