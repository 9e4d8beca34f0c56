"""Groups that are made by what occurred, in which calibrated predictions are off too."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.predictions.predictions import Predictions
from propercal._data.words.messages import warn
from propercal.subgroups.membership import Membership

#: Rows whose groups are not so by chance.
_FEWEST = 20


def warn_of_outcomes(members: Membership, predictions: Predictions) -> None:
    """Say so where each group has one label, or right or wrong predictions alone."""
    if predictions.multilabel or predictions.n_samples < _FEWEST:
        return
    label, prob = (to_numpy(each) for each in (predictions.label, predictions.prob))
    if _follow_predictions(members, prob):
        return
    right = label == prob.argmax(axis=1)
    for made_by, words in ((label, "rows of one label"), (right, "right or wrong ones alone")):
        values = [np.unique(made_by[rows]) for rows in members.rows]
        if all(len(each) == 1 for each in values) and len(np.unique(np.concatenate(values))) > 1:
            warn(
                f"groups hold {words}: they are made by what occurred, so that calibrated "
                "predictions are off in each of them too. Pass groups that are known before; for "
                'the error of each class use decompose(..., notion="classwise").contributions().'
            )
            return


def _follow_predictions(members: Membership, prob: npt.NDArray[Any]) -> bool:
    """Tell whether groups are known from predictions, such as their classes or bins of a column.

    Of a model that errs in no row these are of one label each; calibrated ones are right in them.
    """
    if not members.is_partition:
        return False
    group = np.empty(len(prob), dtype=np.intp)
    for i, rows in enumerate(members.rows):
        group[rows] = i
    top = prob.argmax(axis=1)
    if all(len(np.unique(group[top == each])) == 1 for each in np.unique(top)):
        return True
    return any(_are_bins(column, group) for column in (*prob.T, prob.max(axis=1)))


def _are_bins(column: npt.NDArray[Any], group: npt.NDArray[np.intp]) -> bool:
    """Tell whether each group is an interval of values that others have none of."""
    order = np.argsort(column, kind="stable")
    cuts = np.flatnonzero(np.diff(group[order]))
    values = column[order]
    return len(cuts) < len(np.unique(group)) and bool((values[cuts] < values[cuts + 1]).all())
