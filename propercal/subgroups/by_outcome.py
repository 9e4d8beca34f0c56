"""Groups that are made by what occurred, in which calibrated predictions are off too."""

from __future__ import annotations

import numpy as np

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
