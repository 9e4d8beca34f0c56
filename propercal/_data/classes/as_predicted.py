"""Labels that are the predictions, predictions that are the labels, or decisions for classes.

Classes that were predicted are the most probable ones in all rows, which labels of many rows are
not: of calibrated predictions their probability is the product of the largest ones. Labels as
predictions are certain, and right in each row. Classes that a model decided on are certain in each
row, and no probabilities. All are told by counts, which add up over the chunks of a stream.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._data.inputs.reading import Names
from propercal._data.words.messages import bad_value, warn
from propercal._data.words.of_choice import says_predicted

Floats = npt.NDArray[np.floating[Any]]
Whole = npt.NDArray[np.int64]

#: Rows that are not all as predicted by chance, where names say so; where none does; and then the
#: logarithm of their probability.
_FEW, _MANY, _IMPROBABLE = 20, 100, -20.0
#: Rows of certain predictions that are more than an example.
_CERTAIN = 50
#: In one nat.
_UNITS = 1 << 20
_TINY = 1e-300


class Agreement(NamedTuple):
    """How often predictions are certain, and labels as they were predicted."""

    n: int
    """Rows."""
    certain: int
    """Those whose predictions are all 0 or 1."""
    right: int
    """Those of them whose predictions are what occurred."""
    likely: int
    """Rows of one class each, which is the only most probable one."""
    log_top: int
    """The sum of the logarithms of the largest probabilities, in units of 2⁻²⁰."""
    occurred: Whole
    """(k,) how often each class occurred."""
    decided: Whole
    """(k,) how often predictions that are certain say that it does."""

    @classmethod
    def of(cls, prob: Floats, log_prob: Floats, occurred: npt.NDArray[Any]) -> Agreement:
        """Return that of rows (n, k) of one class each (n,), or of those marked (n, k)."""
        n, k = prob.shape
        # Logarithms tell from 0 what rounds to it, as logits do that are large.
        are_certain = ((log_prob == -np.inf) | (prob == 1)).all(axis=1)
        some = prob[are_certain]
        certain, decided = len(some), some.sum(axis=0).astype(np.int64)
        if occurred.ndim > 1:
            right = int((some == occurred[are_certain]).all(axis=1).sum())
            return cls(n, certain, right, 0, 0, occurred.sum(axis=0).astype(np.int64), decided)
        own = np.take_along_axis(prob, occurred[:, None].astype(np.intp), axis=1)[:, 0]
        right = int(((own[are_certain] == 1) & (some.sum(axis=1) == 1)).sum())
        top = prob.max(axis=1)
        # Of several that are as probable, each is none of a prediction.
        likely = int(((own >= top) & ((prob == top[:, None]).sum(axis=1) == 1)).sum())
        logs = np.floor(np.log(np.maximum(top, _TINY)) * _UNITS).astype(np.int64)
        counts = np.bincount(occurred, minlength=k).astype(np.int64)
        return cls(n, certain, right, likely, int(logs.sum()), counts, decided)

    def check(self, name: Any, called: Names, times: int = 1) -> bool:
        """Raise where labels of this name are predictions, or warn, and tell, of one of three.

        Who asks after each row needs so many `times` as much, not to be told by chance once.
        """
        return (
            self._are_labels(called, times)
            or self._are_predicted(name, called, times)
            or self._are_decided(called, times)
        )

    def _are_labels(self, called: Names, times: int) -> bool:
        """Say, and tell, that predictions are what occurred."""
        found = times * _CERTAIN <= self.n == self.right and np.count_nonzero(self.occurred) > 1
        if found:
            warn(
                f"{called.proba} is 1 for what occurred and 0 for what did not in each of {self.n} "
                f"rows: {called.labels} itself, it seems, of which nothing can be learnt. Pass the "
                "probabilities that were predicted."
            )
        return bool(found)

    def check_name(self, name: Any, called: Names) -> None:
        """Raise where labels of this name are predictions."""
        if _FEW <= self.n == self.likely > self.occurred.max() and says_predicted(name):
            raise bad_value(
                called.labels,
                f"labels named {name!r}, which are of the most probable class in each of {self.n} "
                "rows",
                "what occurred, not what was predicted",
                "pass the classes that occurred, or rename them if they are these",
            )

    def _are_predicted(self, name: Any, called: Names, times: int) -> bool:
        """Raise where labels of this name are predictions, or warn, and tell, where they may be."""
        self.check_name(name, called)
        nats = self.log_top / _UNITS
        found = times * _MANY <= self.n == self.likely > self.occurred.max()
        found = found and nats <= times * _IMPROBABLE
        if found:
            warn(
                f"{called.labels} is the most probable class in each of {self.n} rows, which "
                f"happens with probability e^{nats:.0f} if {called.proba} is calibrated: the "
                "classes that were predicted, it seems, or rows that a model was fitted to. Pass "
                "the classes that occurred."
            )
        return bool(found)

    def _are_decided(self, called: Names, times: int) -> bool:
        """Say, and tell, that predictions are decisions, of which several were made."""
        several = ((self.decided > 0) & (self.decided < self.n)).any()
        found = times * _CERTAIN <= self.n == self.certain and bool(several)
        if found:
            warn(
                f"{called.proba} is 0 or 1 in each of {self.n} rows: classes that were decided on, "
                "it seems, and read as the probabilities of a model that is certain each time. "
                "Pass the probabilities behind them, such as predict_proba(X), unless the model "
                "gives none but these."
            )
        return found
