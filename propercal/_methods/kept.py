"""The rows of a result that is complete."""

from __future__ import annotations

import numpy as np

from propercal._array import detached
from propercal._data.predictions.predictions import Predictions
from propercal._methods.terms import Terms
from propercal._results.kept_rows import KeptRows
from propercal._typing import Array


def kept_rows(terms: Terms, predictions: Predictions) -> KeptRows | None:
    """Return what a result keeps of its rows, without a copy; None if the method kept none."""
    kept, step = terms.kept, terms.one_step
    if kept is None:
        return None
    refined = kept.refined if step is None else step.loss

    def plain(values: Array | None) -> Array | None:
        return None if values is None else detached(values)

    # How labels of a row go together is not known where several classes may occur.
    known = step is not None and not predictions.multilabel
    codes = predictions.classes.codes
    return KeptRows(
        loss=detached(terms.loss),
        marginal_loss=detached(terms.marginal_loss),
        refined=plain(refined),
        divergence=kept.divergence,
        correction=None if step is None else step.correction,
        noise=step.noise[:, :2] if step is not None and known else None,
        tilt=None if step is None else step.tilt,
        outward=kept.outward,
        gap_of_events=kept.gap,
        of_problems=kept.of_problems,
        recalibrated=kept.recalibrated,
        weight=predictions.weight,
        place=np.asarray(predictions.rows),
        places=predictions.places,
        code=None if codes is None else codes[predictions.rows],
        names=predictions.classes.names,
        groups=predictions.groups,
        index=predictions.index,
        in_any_order=predictions.in_any_order,
    )
