r"""Probabilities that a softmax was applied to once more.

By a softmax q of probabilities p each row of log q + (1 − Σ_i log q_i) / k is p again, in [0, 1],
which other predictions leave, but for those that are unsure. Labels have to be e⁷ times as probable
by p as by q; and by any power of q too, so that what is only too flat stays as it is, unless p
goes from next to 0 to next to 1, and not beyond, as it does where a model is sure of some rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import log_softmax
from propercal._data.classes.other_readings import FLOOR, evidence
from propercal._data.inputs.reading import Names
from propercal._data.words.messages import warn

Floats = npt.NDArray[np.floating[Any]]

_MANY = 20
_ROUNDING = 1e-5
#: Next to 0 and 1.
_LOW, _HIGH = 0.01, 0.98
#: Of logarithms of predictions that are too flat.
_FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)


def doubt_softmax_twice(log_prob: Floats, label: npt.NDArray[np.int64], called: Names) -> bool:
    """Warn, and tell, where predictions (n, k) are rather a softmax of probabilities."""
    n, k = log_prob.shape
    if n < _MANY or float(log_prob.min()) < -1 - np.log(k):
        return False
    before = log_prob + (1 - log_prob.sum(axis=1, keepdims=True)) / k
    lowest, highest = float(before.min()), float(before.max())
    if lowest < -_ROUNDING or highest > 1 + _ROUNDING:
        return False
    row = np.arange(n)
    fills = lowest <= _LOW and highest >= _HIGH
    factors = _FACTORS[:1] if fills else _FACTORS
    powers = [log_softmax(each * log_prob)[row, label] for each in factors]
    best = max(powers, key=lambda each: float(each.sum()))
    nats = evidence(np.exp(best), np.maximum(before[row, label], np.exp(FLOOR)))
    if nats:
        warn(
            f"{called.proba} is a softmax of numbers between {max(lowest, 0):.2g} and "
            f"{min(highest, 1):.2g} that sum to 1 in each of {n} rows, and {called.labels} are "
            f"e^{nats:.0f} times as probable by these: a softmax was applied twice, it seems. Pass "
            "what the model returns, if it ends in a softmax."
        )
    return bool(nats)
