"""Labels that are the predictions, or predictions that are the labels.

Classes that were predicted are the most probable ones in all rows, which labels of many rows are
not: of calibrated predictions their probability is the product of the largest ones. Labels as
predictions are certain, and right in each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.inputs.reading import Names
from propercal._data.words.messages import bad_value, warn
from propercal._data.words.of_choice import says_predicted

Floats = npt.NDArray[np.floating[Any]]

#: Rows that are not all as predicted by chance, where names say so; where none does; and then the
#: logarithm of their probability.
_FEW, _MANY, _IMPROBABLE = 20, 100, -20.0
#: Rows of certain and right predictions that are more than an example.
_CERTAIN = 50


def check_no_predictions(
    prob: Floats, label: npt.NDArray[np.int64], name: Any, called: Names
) -> bool:
    """Raise where labels of this name are predictions, or warn, and tell, where they seem to be."""
    n, rows = len(label), np.arange(len(label))
    top = prob.max(axis=1)
    if n < _FEW or (label == label[0]).all() or (prob[rows, label] < top).any():
        return False
    if ((prob == top[:, None]).sum(axis=1) > 1).any():
        # Of several that are as probable, each is none of a prediction.
        return False
    if says_predicted(name):
        raise bad_value(
            called.labels,
            f"labels named {name!r}, which are of the most probable class in each of {n} rows",
            "what occurred, not what was predicted",
            "pass the classes that occurred, or rename them if they are these",
        )
    nats = float(np.log(top).sum())
    if n < _MANY or nats > _IMPROBABLE:
        return False
    warn(
        f"{called.labels} is the most probable class in each of {n} rows, which happens with "
        f"probability e^{nats:.0f} if {called.proba} is calibrated: the classes that were "
        "predicted, it seems, or rows that a model was fitted to. Pass the classes that occurred."
    )
    return True


def warn_of_labels(occurred: npt.NDArray[np.bool_], prob: Floats, called: Names) -> bool:
    """Say, and tell, that predictions (n, k) are what occurred."""
    found = (
        len(prob) >= _CERTAIN
        and bool((prob == occurred).all())
        and bool(occurred.any(axis=0).sum() > 1)
    )
    if found:
        warn(
            f"{called.proba} is 1 for what occurred and 0 for what did not in each of {len(prob)} "
            f"rows: {called.labels} itself, it seems, of which nothing can be learnt. Pass the "
            "probabilities that were predicted."
        )
    return found
