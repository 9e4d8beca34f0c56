"""Expected calibration errors, and what they are of a calibrated model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.inputs.settings import check_random_state, check_whole_number
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.class_weights import ClassWeights, class_weights
from propercal._data.predictions.notions import Problem, as_notion
from propercal._data.predictions.predictions import Predictions, Reading, validate
from propercal._data.words.messages import unknown_name
from propercal._results.forms import Result, settings_of
from propercal._results.pages import Page
from propercal.classical.bins import Binned, Sampled, Smoothed, on_all_sets
from propercal.inference.label_sets import LabelSets

if TYPE_CHECKING:
    import xarray as xr

Floats = npt.NDArray[np.float64]

#: The quantile that is told of a calibrated model.
_LEVEL = 0.95
#: What to do where one column is a confidence in an answer.
_AS_THEY_ARE = 'Pass kind="classwise" for the error of confidences as they are.'


class IfCalibrated(NamedTuple):
    """What an error is of labels that are drawn from the predictions themselves."""

    mean: float
    """Its expectation: the bias of a calibrated model, whose true error is 0."""
    quantile: float
    """What it exceeds in 5 % of such label sets."""
    pvalue: float
    """Share of label sets with an error at least as large, the observed one included: a test of
    calibration, exact for labels that are independent given the predictions."""


@dataclass(frozen=True, eq=False)
class ExpectedCalibrationError(Result):
    """What :func:`expected_calibration_error` returns.

    Attributes
    ----------
    value : float
        The error, in units of probability.
    if_calibrated : IfCalibrated
        ``mean``, ``quantile`` (95 %) and ``pvalue``: what the same number is, with the same
        predictions, of a calibrated model. A value near the mean says nothing against one.
    kind : {"top-label", "classwise", "smooth"}
        What was averaged.
    n_bins : int or None
        Bins of equal width; None where there are none.
    n_resamples : int
        Drawn label sets.
    n_samples : int
        Rows of positive weight.
    n_classes : int
        Columns of the predictions.
    """

    value: float
    if_calibrated: IfCalibrated
    kind: str
    n_bins: int | None
    n_resamples: int
    n_samples: int
    n_classes: int

    def to_xarray(self) -> xr.Dataset:
        """Return the numbers as a dataset of scalars.

        Returns
        -------
        xarray.Dataset
            "value", "mean_if_calibrated", "quantile_if_calibrated" and "pvalue"; settings as
            attributes.
        """
        import xarray as xr

        mean, quantile, pvalue = self.if_calibrated
        numbers: dict[str, Any] = {
            "value": self.value,
            "mean_if_calibrated": mean,
            "quantile_if_calibrated": quantile,
            "pvalue": pvalue,
        }
        attrs = settings_of(self, "kind", "n_bins", "n_resamples", "n_samples", "n_classes")
        return xr.Dataset(numbers, attrs=attrs)

    def __str__(self) -> str:
        bins = "" if self.n_bins is None else f", {self.n_bins} bins"
        rows = [
            f"expected calibration error, {self.kind}{bins}",
            *(f"  {name:<26}{number}" for name, number in self._rows()),
            f"  n = {self.n_samples}, k = {self.n_classes}, {self.n_resamples} label sets drawn",
        ]
        return "\n".join(rows)

    def _page(self) -> Page:
        title, *_, note = str(self).splitlines()
        return Page(title, self._rows(), [note])

    def _rows(self) -> list[tuple[str, str]]:
        mean, quantile, pvalue = self.if_calibrated
        return [
            ("value", f"{self.value:.6g}"),
            ("of a calibrated model", f"{mean:.6g} on average"),
            ("", f"{quantile:.6g} or more in 5 % of cases (p = {pvalue:.3g})"),
        ]


class _Setting(NamedTuple):
    n_bins: int
    n_resamples: int
    rng: np.random.Generator


@with_reading
def expected_calibration_error(
    y_true: object,
    y_proba: object,
    *,
    kind: str = "top-label",
    n_bins: int = 15,
    n_resamples: int = 1000,
    random_state: Any = 0,
    **reading: Unpack[Reading],
) -> ExpectedCalibrationError:
    r"""Compute an expected calibration error, and what it is of a calibrated model.

    .. math:: \text{ECE} = \sum_b \Bigl| \sum_{h \in b} w_h (y_h - p_h) \Bigr|

    over bins b of equal width, (b/B, (b+1)/B]. It is above 0 for every model on every sample, by an
    amount that depends on the number of rows and bins; so the same number is computed of labels
    that are drawn from the predictions. The guide "ECE, and what to report instead" shows why
    values of different models or samples cannot be compared.

    Parameters
    ----------
    y_true, y_proba
        As in :func:`propercal.decompose`.
    kind : {"top-label", "classwise", "smooth"}
        Of the probability of the first choice (Guo et al.), which of one column is the other class
        where it is below ½; the mean over classes of that of each class, which of one column is
        that of the pairs as they are, such as of a confidence and whether the answer was right; or
        without bins, of the first choice, of two classes of the second class: residuals are
        smoothed by a reflected Gaussian kernel as wide as the error itself (Błasiok & Nakkiran).
    n_bins : int
        Bins, of the first two.
    n_resamples : int
        Label sets that are drawn. Time is O(n · n_resamples).
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Seed of the draws. The default gives the same numbers each time.
    **reading
        How data are read, as in :func:`propercal.decompose`. Weights may be functions of the
        features, or one for each class, by which classes were sampled.

    Returns
    -------
    ExpectedCalibrationError
        With ``value`` and ``if_calibrated``.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Warns
    -----
    UserWarning
        If weights depend on the label otherwise: then `if_calibrated` does not hold. If labels are
        named as whether an answer was right, and some probabilities are below ½.

    Notes
    -----
    Where classes were sampled, labels are drawn as those of rows that were kept, and weigh as these
    do. Labels of a row that marks several classes, or none, are drawn independently for each class.
    Where rows depend on each other, errors of calibrated models are larger than those drawn.

    References
    ----------
    Guo et al. (2017), "On calibration of modern neural networks". Kull et al. (2019), "Beyond
    temperature scaling", for classes. Błasiok & Nakkiran (2023), "Smooth ECE: principled
    reliability diagrams via kernel smoothing".

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, p_true = TemperatureScaledSimplex(3).sample(500, random_state=0)
    >>> found = expected_calibration_error(y_true, p_true)
    >>> found.value > 0.02, found.value < found.if_calibrated.quantile
    (True, True)
    """
    if kind not in _KINDS:
        raise unknown_name("kind", kind, _KINDS)
    setting = _Setting(
        check_whole_number("n_bins", n_bins, 1, "15 are usual"),
        check_whole_number("n_resamples", n_resamples, 1, "1000 are usual"),
        np.random.default_rng(check_random_state(random_state)),
    )
    predictions = validate(y_true, y_proba, **reading)
    weights = class_weights(predictions, taken="`if_calibrated`")
    if weights is None:
        errors = _KINDS[kind].errors(predictions, setting)
    else:
        errors = _under_class_weights(predictions, kind, weights, setting)
    drawn = np.sort(errors[1:])
    # What differs by rounding is as large.
    as_large = int(np.count_nonzero(drawn >= errors[0] - 1e-12))
    at = min(len(drawn) - 1, int(np.ceil(_LEVEL * (len(drawn) + 1))) - 1)
    return ExpectedCalibrationError(
        value=float(errors[0]),
        if_calibrated=IfCalibrated(
            float(drawn.mean()), float(drawn[at]), (1 + as_large) / len(errors)
        ),
        kind=kind,
        n_bins=setting.n_bins if _KINDS[kind].binned else None,
        n_resamples=setting.n_resamples,
        n_samples=predictions.n_samples,
        n_classes=predictions.n_classes,
    )


def _under_class_weights(
    predictions: Predictions, kind: str, weights: ClassWeights, setting: _Setting
) -> Floats:
    """(1 + B,) errors where classes were sampled by their weights: labels decide those of rows."""
    prob, k = to_numpy(predictions.prob), predictions.n_classes
    if kind == "classwise":
        problems: list[tuple[Floats, int | npt.NDArray[np.intp]]] = [
            (prob[:, i], i) for i in range(k)
        ]
    elif kind == "smooth" and k == 2:
        problems = [(prob[:, 1], 1)]
    else:
        (problem,) = as_notion("top-label").problems(predictions, _AS_THEY_ARE)
        top = to_numpy(predictions.log_prob).argmax(axis=1)
        problems = [(to_numpy(problem.prob)[:, 1], top)]
    n_bins = setting.n_bins if _KINDS[kind].binned else None
    sets = _drawn(to_numpy(weights.prob), to_numpy(predictions.label), setting)
    return on_all_sets(sets, Sampled(weights.of_class, problems, n_bins))


def _of_top_label(predictions: Predictions, setting: _Setting) -> Floats:
    (problem,) = as_notion("top-label").problems(predictions, _AS_THEY_ARE)
    return _of_event(problem, setting)


def _of_event(problem: Problem, setting: _Setting) -> Floats:
    weight = to_numpy(problem.weight)
    rows = Binned.of_event(to_numpy(problem.prob)[:, 1], weight, setting.n_bins)
    return on_all_sets(_sets(problem, setting), rows)


def _of_classes(predictions: Predictions, setting: _Setting) -> Floats:
    if predictions.multilabel:
        problems = list(as_notion("classwise").problems(predictions))
        return np.asarray(sum(_of_event(each, setting) for each in problems) / len(problems))
    prob, weight = to_numpy(predictions.prob), to_numpy(predictions.weight)
    rows = Binned.of_classes(prob, weight, setting.n_bins)
    return on_all_sets(_drawn(prob, to_numpy(predictions.label), setting), rows)


def _smooth(predictions: Predictions, setting: _Setting) -> Floats:
    notion = "canonical" if predictions.n_classes == 2 else "top-label"
    (problem,) = as_notion(notion).problems(predictions)
    rows = Smoothed.of_event(to_numpy(problem.prob)[:, 1], to_numpy(problem.weight))
    return on_all_sets(_sets(problem, setting), rows)


def _sets(problem: Problem, setting: _Setting) -> LabelSets:
    return _drawn(to_numpy(problem.prob), to_numpy(problem.label), setting)


def _drawn(prob: Floats, label: npt.NDArray[np.integer], setting: _Setting) -> LabelSets:
    return LabelSets(prob, label, setting.n_resamples, setting.rng)


class _Kind(NamedTuple):
    errors: Callable[[Predictions, _Setting], Floats]
    binned: bool


_KINDS = {
    "top-label": _Kind(_of_top_label, binned=True),
    "classwise": _Kind(_of_classes, binned=True),
    "smooth": _Kind(_smooth, binned=False),
}
