"""Whether the predictions of a stream tell anything of its labels, and are probabilities at all.

Each chunk by itself may be too small to tell. What it says adds up, in whole numbers, whose sums do
not depend on how rows came: how far predictions and labels agree
(:mod:`propercal._data.classes.as_predicted`), and the sums of which it follows what own rows gain
(:mod:`propercal._data.predictions.unrelated`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import no_gradient, to_numpy
from propercal._data.classes.as_predicted import Agreement
from propercal._data.classes.other_readings import FLOOR
from propercal._data.inputs.reading import USUAL_NAMES, Names
from propercal._data.predictions.predictions import Predictions
from propercal._data.predictions.unrelated import Gain
from propercal.sketch.doubts import COARSE, MOST_CLASSES, products_of

Whole = npt.NDArray[np.int64]

#: In one, of probabilities, and of what is multiplied by them.
_UNITS = 1 << 16
#: Numbers of which there are copies at a time.
_NUMBERS = 1 << 20
#: Of what is written, so that sums of two fit into a machine word.
_LARGEST = 1 << 62


def shapes(k: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each sum."""
    few = {} if k > MOST_CLASSES else {"proba": (k + 1, k), "logs": (k + 1, k)}
    return {"agreement": (5,), "labels": (k,), "decided": (k,), "own": (2,), **few}


@dataclass(frozen=True, eq=False)
class Relation:
    """Sums over rows of k classes, which add up."""

    sums: Mapping[str, Whole]
    """
    - "agreement": rows; those that are certain, and right; those of the most probable class; and
      the logarithm of its probability.
    - "labels", "decided": how often each class occurred, and how often predictions were sure of it.
    - "own": rows of one class each; and their log p, in units of 2⁻¹².
    - "proba": p of each class, in units of 2⁻¹⁶, and log p of each by p of each, in units of 2⁻²⁸;
      not of many classes.
    - "logs": of log p, and of products of two, in units of 2⁻¹²; not of many classes.
    """

    @classmethod
    def empty(cls, k: int) -> Relation:
        """Return that of no rows."""
        return cls({name: np.zeros(shape, dtype=np.int64) for name, shape in shapes(k).items()})

    @classmethod
    def of(cls, rows: Predictions) -> Relation:
        """Return that of rows."""
        k, one_class = rows.n_classes, rows.classes.codes is not None and not rows.multilabel
        with no_gradient(rows.prob):
            prob, log_prob = to_numpy(rows.prob), to_numpy(rows.log_prob)
            if one_class:
                occurred = to_numpy(rows.label).astype(np.intp)
            else:
                marks = [to_numpy(rows.occurred(i)) > 0 for i in range(k)]
                occurred = np.stack(marks, axis=1)
        found, step = cls.empty(k), max(1, _NUMBERS // k)
        for start in range(0, len(prob), step):
            some = slice(start, start + step)
            found = found.plus(cls._of_some(prob[some], log_prob[some], occurred[some]))
        return found

    @classmethod
    def _of_some(
        cls, prob: npt.NDArray[Any], log_prob: npt.NDArray[Any], occurred: npt.NDArray[Any]
    ) -> Relation:
        """Return that of so few rows that copies of them take little memory."""
        found = dict(cls.empty(prob.shape[1]).sums)
        told = Agreement.of(prob, log_prob, occurred)
        found["agreement"] = np.array(told[:5], dtype=np.int64)
        found["labels"], found["decided"] = told.occurred, told.decided
        if occurred.ndim == 1 and "logs" in found:
            logs = np.maximum(log_prob, FLOOR)
            own = np.floor(logs[np.arange(len(logs)), occurred] * COARSE).astype(np.int64).sum()
            found["own"] = np.array([len(logs), own], dtype=np.int64)
            found["proba"] = products_of(logs, np.rint(np.exp(logs) * _UNITS))
            found["logs"] = products_of(logs)
        return cls(found)

    def plus(self, other: Relation) -> Relation:
        """Return that of the rows of both."""
        return Relation({name: each + other.sums[name] for name, each in self.sums.items()})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Relation):
            return False
        return all(np.array_equal(each, other.sums[name]) for name, each in self.sums.items())

    __hash__ = None  # type: ignore[assignment]

    @property
    def gain(self) -> Gain:
        """What own rows gain."""
        n, own = (int(each) for each in self.sums["own"])
        if n == 0:
            return Gain(0.0, 0.0)
        share, logs = self.sums["labels"] / n, self.sums["logs"] / COARSE
        mean, products = logs[0] / n, logs[1:] / COARSE - np.outer(logs[0], logs[0]) / n
        of_labels = own / COARSE - n * float(share @ mean)
        mass, of_logs = np.split(self.sums["proba"] / _UNITS, [1])
        of_proba = of_logs / COARSE - mean[:, None] * mass, mass[0]
        moments = np.diag(products), float(share @ products @ share)
        return Gain.of_sums(n, share, of_labels, of_proba, moments)

    def check(self, called: Names = USUAL_NAMES, *, often: bool = False) -> bool:
        """Warn, and tell, as memory does, but for labels that are called predictions.

        It takes twice as much where it is asked `often`, after each row.
        """
        times = 1 + often
        n, certain, right, likely, log_top = (int(each) for each in self.sums["agreement"])
        counts = self.sums["labels"], self.sums["decided"]
        told = Agreement(n, certain, right, likely, log_top, *counts)
        if told.check(None, called, times):
            return True
        # All rows are of one class each.
        return int(self.sums["own"][0]) == n and self.gain.doubt(n, called, times)

    def written(self) -> list[list[int]]:
        """Return what :meth:`restored` reads."""
        return [each.ravel().tolist() for each in self.sums.values()]

    @classmethod
    def restored(cls, written: Sequence[Any], k: int) -> Relation | None:
        """Return what was written, None if it is not that of any rows of k classes."""
        empty = cls.empty(k)
        if type(written) is not list or len(written) != len(empty.sums):
            return None
        found = {}
        for (name, zeros), each in zip(empty.sums.items(), written, strict=True):
            if type(each) is not list or len(each) != zeros.size:
                return None
            if not all(type(x) is int and abs(x) < _LARGEST for x in each):
                return None
            found[name] = np.array(each, dtype=np.int64).reshape(zeros.shape)
        relation = cls(found)
        return relation if relation._is_possible() else None

    def _is_possible(self) -> bool:
        """Tell whether rows can come to these sums."""
        n, certain, right, likely, log_top = (int(each) for each in self.sums["agreement"])
        of_one_class, own = (int(each) for each in self.sums["own"])
        counts = np.stack([self.sums["labels"], self.sums["decided"]])
        sound = 0 <= right <= certain <= n and 0 <= likely <= n and log_top <= 0
        sound = sound and 0 <= of_one_class <= n and own <= 0
        sound = sound and bool(((counts >= 0) & (counts <= [[n], [certain]])).all())
        logs = self.sums.get("logs")
        if logs is None or not sound:
            return sound
        mass, of_logs = np.split(self.sums["proba"], [1])
        return bool(
            (mass >= 0).all()
            and (of_logs <= 0).all()
            and (logs[0] <= 0).all()
            and (logs[1:] >= 0).all()
            and (logs[1:] == logs[1:].T).all()
        )


def relation_of_both(mine: Relation | None, other: Relation | None) -> Relation | None:
    """Return that of two streams, of which either may have no rows."""
    if mine is None or other is None:
        return other if mine is None else mine
    return mine.plus(other)
