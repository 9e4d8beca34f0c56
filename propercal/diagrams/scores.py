"""The parts of a mean score by isotonic recalibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from propercal._array import ignore_underflow, safe_log
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.notions import Notion
from propercal._data.predictions.predictions import Reading
from propercal.diagrams.curve import Curve, isotonic_curve
from propercal.diagrams.events import Event, read_models
from propercal.generators.base import BregmanGenerator
from propercal.generators.registry import GeneratorLike, as_generator

if TYPE_CHECKING:
    import xarray as xr

Floats = npt.NDArray[np.float64]


class Scores(NamedTuple):
    """score = miscalibration − discrimination + uncertainty."""

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


def scores_of(event: Event, curve: Curve, generator: BregmanGenerator) -> Scores:
    """Return mean scores of the predictions, of the curve and of the base rate, as differences."""
    outcome = np.stack([~event.occurred, event.occurred], axis=1).astype(np.float64)

    def mean(prob: Floats, log_prob: Floats) -> float:
        loss = generator.loss(prob, outcome, log_q=log_prob)
        return float(event.weight @ np.asarray(loss))

    def of_probabilities(p: Floats) -> float:
        pairs = np.stack([1 - p, p], axis=1)
        return mean(pairs, safe_log(pairs))

    score = mean(event.prob, event.log_prob)
    recalibrated = of_probabilities(curve.value[curve.number])
    uncertainty = of_probabilities(np.full(event.n_samples, event.base_rate))
    return Scores(score, score - recalibrated, uncertainty - recalibrated, uncertainty)


@with_reading
@ignore_underflow
def isotonic_decomposition(
    y_true: object,
    predictions: object,
    *,
    generator: GeneratorLike = "brier",
    notion: str | Notion | None = None,
    event: int | str | None = None,
    **reading: Unpack[Reading],
) -> xr.Dataset:
    r"""Split the mean score of each model by its isotonic recalibration.

    With the isotonic curve c, the best non-decreasing function of the predictions, and the base
    rate ȳ:

    .. math::

        \underbrace{\overline{L_F(g, y)}}_\text{score} &=
        \underbrace{\overline{L_F(g, y)} - \overline{L_F(c(g), y)}}_\text{miscalibration} \\
        &- \bigl(\underbrace{\overline{L_F(\bar y, y)} - \overline{L_F(c(g), y)}}_\text{
        discrimination}\bigr) \\ &+ \underbrace{\overline{L_F(\bar y, y)}}_\text{uncertainty}.

    Parameters
    ----------
    y_true, from_logits, sample_weight, labels
        As in :func:`propercal.decompose`.
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.
    predictions : array-like, or mapping of str to array-like
        Probabilities of one model as in :func:`propercal.decompose`, or of several by name.
    generator : str, BregmanGenerator, class or callable
        The loss, on pairs (1 − g, g): "brier", summed over both, is 2 (y − g)².
    notion, event
        As in :func:`propercal.reliability`; several models must have the same event.

    Returns
    -------
    xarray.Dataset
        ``score``, ``miscalibration``, ``discrimination`` and ``uncertainty`` along "model". The
        parts are at least 0, but for rounding. An infinite score has an infinite miscalibration.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Notes
    -----
    The curve is fitted to the rows that it is judged on. So the miscalibration is above that of the
    population even if the model is calibrated; :func:`propercal.decompose` has an estimate that
    corrects for it, with an interval.

    References
    ----------
    Dimitriadis, Gneiting & Jordan (2021), "Stable reliability diagrams for probabilistic
    classifiers", doi:10.1073/pnas.2016191118.

    Examples
    --------
    >>> import numpy as np
    >>> found = isotonic_decomposition([0, 0, 1, 1], {"a": [0.1, 0.4, 0.35, 0.8]})
    >>> print(*(f"{found[name].item():.5f}" for name in found.data_vars))
    0.31625 0.06625 0.25000 0.50000
    """
    loss = as_generator(generator)
    models = read_models(y_true, predictions, notion=notion, event=event, **reading)
    found = {name: scores_of(each, isotonic_curve(each), loss) for name, each in models.items()}
    return scores_dataset(found, next(iter(models.values())), loss)


def scores_dataset(
    found: dict[str, Scores], event: Event, generator: BregmanGenerator
) -> xr.Dataset:
    """Return scores by model, with what they are of."""
    import xarray as xr

    units = {"units": "nats"} if generator.name == "log" else {}
    return xr.Dataset(
        {
            part: ("model", [getattr(each, part) for each in found.values()], units)
            for part in Scores._fields
        },
        coords={"model": list(found)},
        attrs={"generator": repr(generator), **attributes(event)},
    )


def attributes(event: Event) -> dict[str, Any]:
    """Return what a dataset says of its event."""
    found: dict[str, Any] = {
        "notion": event.notion,
        "event": event.words,
        "n_samples": event.n_samples,
    }
    return found if event.n_groups is None else {**found, "n_groups": event.n_groups}
