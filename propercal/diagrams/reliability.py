"""The numbers of a reliability diagram: a curve, two bands that hold everywhere, and scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from propercal._array import ignore_underflow
from propercal._data.dependence.groups import check_number
from propercal._data.inputs.settings import check_confidence_level, check_random_state
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.class_weights import ClassWeights, class_weights
from propercal._data.predictions.notions import Notion
from propercal._data.predictions.predictions import Reading
from propercal._data.words.messages import bad_value, unknown_name, warn
from propercal._progress import with_progress
from propercal.diagrams.bins import Bins, bins_of, check_bins, histogram
from propercal.diagrams.confidence import Band, confidence_band, counts_alike
from propercal.diagrams.consistency import consistency_band
from propercal.diagrams.curve import Curve, isotonic_curve
from propercal.diagrams.events import Event, read_event
from propercal.diagrams.scores import Scores, attributes, scores_of
from propercal.generators.registry import GeneratorLike, as_generator

if TYPE_CHECKING:
    import xarray as xr


class _Style(NamedTuple):
    """What is to be drawn, and how bins are made."""

    isotonic: bool = False
    quantiles: bool = False
    bars: bool = False


CURVES: Mapping[str, _Style] = {
    "isotonic": _Style(isotonic=True),
    "quantile-bins": _Style(quantiles=True),
    "equal-bins": _Style(bars=True),
}


@with_reading
@ignore_underflow
@with_progress
def reliability(
    y_true: object,
    y_proba: object,
    *,
    notion: str | Notion | None = None,
    event: int | str | None = None,
    curve: str = "isotonic",
    n_bins: int = 15,
    generator: GeneratorLike = "brier",
    confidence_level: float = 0.95,
    groups: object = None,
    blocks: int | str | None = None,
    n_resamples: int = 999,
    random_state: Any = 0,
    progress: bool | None = None,  # noqa: ARG001  # the decorator reads it
    **reading: Unpack[Reading],
) -> xr.Dataset:
    r"""Return how often an event occurred against how probable it was predicted to be.

    The curve c is the isotonic one, the non-decreasing function of the predictions that minimises
    :math:`\sum_h w_h (1[\text{event}]_h - c(g_h))^2`, and thereby the mean of every proper loss:
    it has no bins to choose (the CORP diagram).

    Parameters
    ----------
    y_true, y_proba, from_logits, sample_weight, labels
        As in :func:`propercal.decompose`.
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.
    notion : {"top-label", "classwise"}, optional
        Which event: that the most probable class occurs, or that one class does. By default that
        the second of two classes does, and of more than two the most probable one.
    event : int or str, optional
        The class that is the event, by its column, counted from 0, or by its name in words; it
        implies "classwise". A number that is the name of another class than its column's is
        refused.
    curve : {"isotonic", "quantile-bins", "equal-bins"}
        What a diagram is to show. The isotonic curve is always there, as are bins beside it, which
        are of equal width but for "quantile-bins", where they are of about equal weight.
    n_bins : int
        Bins, and those of the histogram between 0 and 1.
    generator : str, BregmanGenerator, class or callable
        The loss of the scores, on pairs (1 − g, g); see :func:`propercal.isotonic_decomposition`.
    confidence_level : float
        Level at which each band holds at all predictions at once.
    groups, blocks
        Rows that depend on each other, as in :func:`propercal.decompose`; 20 groups or more.
    n_resamples : int
        Label sets that the width of the consistency band is taken from, 19 or more; 400 more say
        how it varies with the prediction.
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Draws of the consistency band. The default 0 gives the same band each time.
    progress : bool, optional
        As in :func:`propercal.decompose`.

    Returns
    -------
    xarray.Dataset
        Along "prediction", the distinct predictions in ascending order: ``curve``, ``frequency``
        (of the event there), ``count`` and ``weight`` of its rows, ``block`` (level of the curve),
        ``consistency_lower`` and ``consistency_upper``, ``confidence_lower`` and
        ``confidence_upper``. Along "bin", those that are not empty: ``bin_prediction``,
        ``bin_frequency``, ``bin_count``, ``bin_weight``, ``bin_lower``, ``bin_upper``. Along
        "interval": ``histogram``, the weight of the predictions by equal width, and
        ``histogram_occurred``, that of those where the event occurred. Scalars ``score``,
        ``miscalibration``, ``discrimination`` and ``uncertainty``. Attributes say of which event
        and loss, and what the bands rely on.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Warns
    -----
    UserWarning
        If the ends of the confidence band cross: then no non-decreasing E[Y | g] fits the labels
        at this level. If weights depend on the label in a way that a band does not allow for.

    Notes
    -----
    *Consistency band*, about the diagonal: the curve of a calibrated model lies in it everywhere
    with probability `confidence_level` at least, for every n, and hardly more unless only a few
    curves are possible. It is made of isotonic curves of labels drawn from the predictions. With
    groups, signs of residuals are changed group by group instead, which holds as groups grow in
    number; with some dozens the band is somewhat narrow.

    *Confidence band*, about the curve: E[Y | g] lies in it at all predictions at once with at least
    that probability, for every n, if it does not decrease in g. In an interval of predictions all
    probabilities are at least that of the first, so that an upper confidence limit from its labels
    is one for all predictions up to the first; lower limits likewise. The band is the best of these
    over the m (m + 1) / 2 intervals between borders of cells, each with error
    (1 − level) / (m (m + 1)) on either side. A cell is a distinct prediction, or where these are
    more than 4 n^(1/3), one of so many of about equal numbers of rows. Limits are those of Clopper
    and Pearson. With weights or groups they are those of Chernoff's bound for an interval's weight
    over that of its heaviest row, or group, which hold for every n too, but are wider. Limits of
    bins, for all bins at once, are the same, of the mean of E[Y | g] over the rows of a bin.

    Both bands take E[Y | g] to be the probability of each row's event, given all predictions,
    weights and groups. So weights may depend on the features, but not on the labels, nor on what
    the features say of these beyond g: that would be a bias, which no width accounts for. Without
    groups, they may also be one for each class, by which classes were sampled: labels are drawn as
    those of rows that were kept, whose share of the event, of exact limits, says that of all, if
    all other classes weigh alike.

    Time is O(n log n) for the curve and the confidence band, O(n) for each label set.

    References
    ----------
    Dimitriadis, Gneiting & Jordan (2021), "Stable reliability diagrams for probabilistic
    classifiers", doi:10.1073/pnas.2016191118. Dimitriadis, Dümbgen, Henzi, Puke & Ziegel (2023),
    "Honest calibration assessment for binary outcome predictions", doi:10.1093/biomet/asac068.

    Examples
    --------
    >>> found = reliability([0, 0, 1, 0, 1], [0.1, 0.3, 0.4, 0.6, 0.9])
    >>> print(found.curve.values)
    [0.  0.  0.5 0.5 1. ]
    """
    if curve not in CURVES:
        raise unknown_name("curve", curve, CURVES)
    n_bins = check_bins(n_bins)
    level = check_confidence_level(confidence_level)
    read = read_event(
        y_true, y_proba, notion=notion, event=event, groups=groups, blocks=blocks, **reading
    )
    return reliability_of(
        read,
        curve=curve,
        n_bins=n_bins,
        generator=generator,
        confidence_level=level,
        n_resamples=n_resamples,
        random_state=random_state,
    )


def reliability_of(
    event: Event,
    *,
    curve: str,
    n_bins: int,
    generator: GeneratorLike,
    confidence_level: float,
    n_resamples: int,
    random_state: Any,
) -> xr.Dataset:
    """Return the numbers of an event that was read."""
    loss = as_generator(generator)
    _check_resamples(n_resamples)
    check_random_state(random_state)
    check_number(event.n_groups, "a band", event.classes.grouped_by)
    of, level = isotonic_curve(event), confidence_level
    rng = np.random.default_rng(random_state)
    weights = _class_weights(event)
    ratio = None if weights is None else weights.ratio(event.occurring)
    found = _Parts(
        event,
        of,
        consistency_band(event, of, level, n_resamples, rng, weights),
        confidence_band(event, of, level, ratio),
        bins_of(event, of, n_bins, level, quantiles=CURVES[curve].quantiles, ratio=ratio),
        scores_of(event, of, loss),
    )
    _warn_of_crossing(found.confidence)
    dataset = _dataset(found, n_bins)
    if loss.name == "log":
        for part in Scores._fields:
            dataset[part].attrs["units"] = "nats"
    own = {"curve": curve, "generator": repr(loss), "confidence_level": level}
    return dataset.assign_attrs(**attributes(event), **own, **_grounds(event, ratio))


def _class_weights(event: Event) -> ClassWeights | None:
    """Return weights by which classes were sampled, or warn of bands that others make untrue."""
    if event.groups is not None:
        return None
    found = class_weights(event.classes, taken="each band")
    if found is not None and found.ratio(event.occurring) is None:
        warn(
            f"{event.classes.names.weight} has a weight for each class, which the confidence band "
            "allows for where one class is the event and all others weigh alike. Choose such a "
            "class by event=, or do not use that band."
        )
    return found


class _Parts(NamedTuple):
    event: Event
    curve: Curve
    consistency: Band
    confidence: Band
    bins: Bins
    scores: Scores


def _check_resamples(n_resamples: object) -> None:
    if (
        isinstance(n_resamples, bool)
        or not isinstance(n_resamples, int | np.integer)
        or not 19 <= n_resamples <= 10**6
    ):
        raise bad_value(
            "n_resamples", repr(n_resamples), "a whole number from 19 to 10⁶", "999 is usual"
        )


def _warn_of_crossing(band: Band) -> None:
    if (band.lower > band.upper).any():
        warn(
            "the confidence band has lower ends above upper ones: at this level no non-decreasing "
            "E[Y | g] fits the labels, and the isotonic curve hides where it falls."
        )


def _dataset(found: _Parts, n_bins: int) -> xr.Dataset:
    import xarray as xr

    curve, bins = found.curve, found.bins
    along = {
        "curve": curve.value,
        "frequency": curve.frequency,
        "count": curve.count,
        "weight": curve.weight,
        "block": curve.block,
        "consistency_lower": found.consistency.lower,
        "consistency_upper": found.consistency.upper,
        "confidence_lower": found.confidence.lower,
        "confidence_upper": found.confidence.upper,
    }
    total, occurred = histogram(found.event, n_bins)
    return xr.Dataset(
        {name: ("prediction", values) for name, values in along.items()}
        | {f"bin_{name}": ("bin", values) for name, values in vars(bins).items()}
        | {"histogram": ("interval", total), "histogram_occurred": ("interval", occurred)}
        | {name: ((), value) for name, value in found.scores._asdict().items()},
        coords={
            "prediction": curve.prediction,
            "bin": np.arange(len(bins.count)),
            "interval": (np.arange(n_bins) + 0.5) / n_bins,
        },
    )


def _grounds(event: Event, ratio: float | None) -> dict[str, str]:
    """Return what the bands rely on, in words."""
    consistency = "exact for independent rows"
    confidence = "at least the level for every n, independent rows, non-decreasing E[Y | g]"
    if event.groups is not None:
        consistency = "as the number of independent groups grows"
        confidence = confidence.replace("rows", "groups")
    if ratio is None and not counts_alike(event):
        confidence += ", by Chernoff's bound"
    return {"consistency_band": consistency, "confidence_band": confidence}
