"""A test of calibration, by labels drawn from the predictions themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt

from propercal._array import ignore_underflow, no_gradient, to_numpy
from propercal._data.dependence.groups import check_number, validate_groups
from propercal._data.dependence.repetitions import look_for_repetitions
from propercal._data.inputs.settings import check_random_state
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.class_weights import class_weights
from propercal._data.predictions.notions import Notion, as_notion
from propercal._data.predictions.predictions import Predictions, Reading
from propercal._data.words.messages import bad_value, some_rows, warn
from propercal._progress import with_progress
from propercal._results.forms import Result, settings_of
from propercal._results.pages import Page
from propercal._results.text import in_groups
from propercal._threads import one_blas_thread
from propercal.generators import as_generator
from propercal.generators.base import BregmanGenerator
from propercal.generators.order import check_order
from propercal.generators.registry import GeneratorLike
from propercal.inference.draws import draws
from propercal.inference.evaluation import on_all_sets
from propercal.inference.label_sets import LabelSets
from propercal.inference.signs import forms_of_signs, signs_of_groups

if TYPE_CHECKING:
    import xarray as xr

Floats = npt.NDArray[np.float64]

#: What is drawn of rows that are independent, and of groups of them.
LABELS, SIGNS = "labels", "signs"
_OF_NULL = {LABELS: "", SIGNS: ", signs by group"}
#: Of the statistic and its parts.
_SCALE = "in standard deviations from what calibrated predictions give"

#: In standard deviations: what differs by less is a tie, of equal label sets up to rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class CalibrationTest(Result):
    """What :func:`calibration_test` returns.

    Attributes
    ----------
    statistic : float
        The largest of `components`; +inf where an outcome of predicted probability 0 occurred.
    pvalue : float
        Probability of a statistic at least as large under the null hypothesis of the notion, see
        :func:`calibration_test`; a multiple of 1 / (n_resamples + 1).
    components : mapping of str to float
        Each part of the statistic, in standard deviations from its mean over the drawn label sets
        (√n_resamples if these are all alike). The largest hints at what is wrong; only their
        maximum is a test.
    generator : BregmanGenerator
        The convex function F.
    notion : str
        The notion of calibration that was tested.
    n_resamples : int
        Drawn label sets.
    n_samples : int
        Rows of positive weight.
    n_classes : int
        Columns of the predictions.
    n_groups : int or None
        Groups, or blocks, of rows that may depend on each other; None where none were given.
    null : {"labels", "signs"}
        What was drawn: labels from the predictions, or a sign for the residuals of each group.
    """

    statistic: float
    pvalue: float
    components: Mapping[str, float]
    generator: BregmanGenerator
    notion: str
    n_resamples: int
    n_samples: int
    n_classes: int
    n_groups: int | None = None
    null: str = LABELS

    def to_xarray(self) -> xr.Dataset:
        """Return the test, and its parts along "part".

        Returns
        -------
        xarray.Dataset
            "statistic", "pvalue", and "component" of each part; settings as attributes.
        """
        import xarray as xr

        names = ("notion", "null", "n_resamples", "n_samples", "n_classes", "n_groups")
        return xr.Dataset(
            {
                "statistic": ((), self.statistic),
                "pvalue": ((), self.pvalue),
                "component": ("part", list(self.components.values())),
            },
            {"part": list(self.components)},
            {"generator": repr(self.generator), **settings_of(self, *names)},
        )

    def __str__(self) -> str:
        width = max(len(name) for name in self.components)
        lines = [
            self._title(),
            f"  p-value {self.pvalue:.4g}, statistic {self.statistic:.4g}",
            f"  its parts, {_SCALE}:",
            *(f"    {name:<{width}} {value:>8.2f}" for name, value in self.components.items()),
            f"  {self._note()}",
        ]
        return "\n".join(lines)

    def _title(self) -> str:
        return f"test of {self.notion} calibration, {self.generator.name} loss"

    def _note(self) -> str:
        drawn = f"{self.n_resamples} resamples{_OF_NULL[self.null]}"
        return f"n = {self.n_samples}{in_groups(self.n_groups)}, k = {self.n_classes}, {drawn}"

    def _page(self) -> Page:
        rows = [
            ("p-value", f"{self.pvalue:.4g}"),
            ("statistic", f"{self.statistic:.4g}"),
            *((f"part: {name}", f"{value:.2f}") for name, value in self.components.items()),
        ]
        return Page(self._title(), rows, [f"parts {_SCALE}", self._note()])


@ignore_underflow
@with_reading
@with_progress
def calibration_test(
    y_true: object,
    y_proba: object,
    *,
    generator: GeneratorLike = "log",
    notion: str = "canonical",
    n_resamples: int = 999,
    random_state: Any = None,
    groups: object = None,
    blocks: int | str | None = None,
    progress: bool | None = None,  # noqa: ARG001  # the decorator reads it
    **reading: Unpack[Reading],
) -> CalibrationTest:
    r"""Test whether predicted probabilities are calibrated.

    Were they, the labels might have been drawn from the predictions g. B label sets that are drawn
    so are compared with the observed one:

    .. math::

        p &= \frac{1 + \#\{b : T_b \ge T_0\}}{B + 1}, \\
        T_b &= \max_m \frac{Q_m(y_b) - \text{mean } Q_m}{\text{sd } Q_m},

    with mean and standard deviation over all B + 1 sets. They are exchangeable if the labels are
    independent and distributed as those that are drawn, which is the null hypothesis: then
    P(p ≤ α) ≤ α at every n, for any statistic. What is drawn under each notion is in the Notes; for
    "classwise" it says more than that each class is calibrated.

    Parameters
    ----------
    y_true, y_proba, from_logits, sample_weight, labels
        As in :func:`propercal.decompose`.
    generator : str, BregmanGenerator, class or callable
        The convex function F, whose curvature weighs the residuals in the kernel parts.
    notion : {"canonical", "classwise", "top-label"}
        What is tested, see Notes.
    n_resamples : int
        The number B of label sets. The smallest p-value is 1 / (B + 1).
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Seed, or the generator to draw from. NumPy draws for every array library.
    groups, blocks
        As in :func:`propercal.decompose`: which rows may depend on each other. Then signs are
        drawn rather than labels, see Notes.
    progress : bool, optional
        As in :func:`propercal.decompose`.
    pos_label, link, ignore_index, class_axis, class_dim, sample_dims
        As in :func:`propercal.decompose`.

    Returns
    -------
    CalibrationTest
        ``pvalue``, ``statistic`` and its ``components``.

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do.
    ImportError
        If the generator has no closed form of its Hessian and torch is not installed.

    Warns
    -----
    UserWarning
        If an outcome occurred to which the prediction gives probability 0. Calibrated predictions
        cannot do that, so the p-value is the smallest possible.

    Notes
    -----
    The Q are quadratic forms in the residuals e = y − g (with weights: w e, w of mean 1):

    - ridge score tests of recalibrations by a temperature; by scores a log g + b g + c ‖g‖² log g;
      by a slope and a shift for each class ("vector"); by a smooth function of g_i for each class
      (a cosine series, "smooth"); and by mixing the classes ("mixture"). Left out are "smooth" for
      more than 73 classes, "mixture" for more than 22, and "vector" for more than 256;
    - U-statistics Σ K(g_h, g_j) ⟨e_h, H e_j⟩ over pairs h ≠ j for five bandwidths of the Hellinger
      kernel exp((Σ √(g g′) − 1) / γ), where H is the diagonal of ∇²F, taken at predictions slightly
      smoothed, where it is finite. The kernel is replaced by features at randomly chosen
      predictions, as many as leave out 1 % of its trace, at most 4096 / k in all. That costs power
      against irregular miscalibration among many classes, never validity.

    Null hypotheses. "canonical" draws labels from g: E[Y | g] = g. "top-label" draws whether the
    most probable class occurs, with probability max g, and looks at nothing else: the test is exact
    for top-label calibration itself, E[top class occurs | max g] = max g. "classwise" adds the
    forms of the one-vs-rest problems up over the classes. Labels are drawn from g jointly, so the
    test is exact for the null of "canonical", while only class-wise miscalibration is looked for.
    Predictions can be class-wise calibrated, E[Y_i | g_i] = g_i, and not canonically. Then the form
    of each class still has the law that is drawn, but how classes depend on each other is taken
    from g, and the test may reject a little more or less often than α. Exact for class-wise
    calibration itself is the least of k p-values, one a class, times k:
    ``min(1, k * min(calibration_test(y_true == i, y_proba[:, i]).pvalue for i in range(k)))``, with
    k / (n_resamples + 1) well below α. Where an indicator matrix marks several classes, or none, in
    some row, columns are drawn independently of each other: correlated columns then make the test
    reject too often or too seldom, and again the least p-value is exact.

    Weights stand for how many rows of the population a row stands for. Where each class has a
    weight of its own, w_y, as after sampling classes at different rates, labels are drawn with
    probabilities proportional to g_y / w_y, those of calibrated predictions in such a sample, and
    weigh as the class that was drawn: the null is that of "canonical" under every notion. Weights
    that depend on the label otherwise are refused.

    With groups, labels of a group cannot be drawn: how they depend on each other is not known. Each
    set takes the observed residuals and changes the signs of all of a group together, with
    probability ½ (a wild bootstrap). That keeps the dependence within groups, and is exact if sums
    of residuals over a group are as often above 0 as below by as much; else it is right as the
    number of groups grows, and can be off where there are few or events are rare. Columns of
    several labels a row stay together, and so do weights, which may depend on the label. Where each
    row has a group of its own, labels are drawn.

    Logarithms of probabilities below 1e-45 are taken as −104 in the statistic, not in the draws,
    which are from g over its sum.

    Problems of two classes (class-wise, top-label, two classes) take labels through sums of
    residuals by point: the distinct predictions where these are at most 2000, which loses nothing,
    else about 500 bins of log g − log(1 − g). Residuals are each row's own, so that the test is as
    exact; a form moves by about .01 standard deviations. Time is O(n B), whatever the number of
    classes. Among several classes it is O(n B f), with f ≤ 4096 + k (k + 15) linear statistics.
    Label sets are drawn, evaluated and dropped: memory does not grow with B.

    References
    ----------
    Vaicenavicius et al. (2019), "Evaluating model calibration in classification", for resampling
    labels from predictions; Widmann, Lindsten & Zachariah (2019), "Calibration tests in multi-class
    classification", for kernel statistics of residuals; Cameron, Gelbach & Miller (2008),
    "Bootstrap-based improvements for inference with clustered errors", for signs by group.

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, p_true = TemperatureScaledSimplex(3).sample(300, random_state=0)
    >>> calibration_test(y_true, y_proba, random_state=0).pvalue
    0.001
    >>> calibration_test(y_true, p_true, random_state=0).pvalue > 0.05
    True
    """
    chosen, reduction = as_generator(generator), as_notion(notion)
    n_resamples = check_resamples(n_resamples)
    rng = np.random.default_rng(check_random_state(random_state))
    predictions = validate_groups(
        y_true,
        y_proba,
        groups=groups,
        blocks=blocks,
        **reading,
        one_class=not reduction.per_class,
    )
    check_order(predictions.classes, [chosen], reduction, predictions.n_classes)
    predictions = look_for_repetitions(predictions)
    # Products are small, or threads take one block of label sets each.
    with no_gradient(predictions.prob), one_blas_thread:
        if predictions.groups is None:
            names, forms = _forms_of_labels(predictions, reduction, chosen, n_resamples, rng)
        else:
            check_number(predictions.n_groups, "this test", predictions.grouped_by)
            signs = signs_of_groups(int(predictions.groups.max()) + 1, n_resamples, rng)
            names, forms = forms_of_signs(predictions, reduction, chosen, signs, rng)
        impossible = impossible_rows(predictions, reduction)
    # For the rank, hence the p-value, all sets are alike, and the observed one is among them.
    scores = standardised(forms, forms)
    statistic = scores.max(axis=0)
    components = standardised(forms[:, :1], forms[:, 1:], otherwise=scores[:, :1])[:, 0]
    rows = predictions.given(impossible)
    if rows.size:
        statistic[0] = np.inf
        warn(
            f"an outcome occurred to which the prediction gives probability 0, at "
            f"{some_rows(rows)}: calibrated predictions cannot do that, so the p-value is the "
            "smallest that the number of resamples allows. Correct these predictions if 0 stands "
            "for a small number."
        )
    n_as_large = int(np.count_nonzero(statistic[1:] >= statistic[0] - ROUNDING))
    return CalibrationTest(
        statistic=np.inf if rows.size else float(components.max()),
        pvalue=(1 + n_as_large) / (n_resamples + 1),
        components=dict(zip(names, components.tolist(), strict=True)),
        generator=chosen,
        notion=reduction.name,
        n_resamples=n_resamples,
        n_samples=predictions.n_samples,
        n_classes=predictions.n_classes,
        n_groups=predictions.n_groups,
        null=LABELS if predictions.groups is None else SIGNS,
    )


def check_resamples(n_resamples: Any) -> int:
    """Return a number of label sets, or raise."""
    whole = isinstance(n_resamples, int | np.integer) and not isinstance(n_resamples, bool)
    if not whole or n_resamples < 1:
        raise bad_value(
            "n_resamples", repr(n_resamples), "a whole number of at least 1", "999 is usual"
        )
    return int(n_resamples)


def _forms_of_labels(
    predictions: Predictions,
    notion: Notion,
    generator: BregmanGenerator,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[tuple[str, ...], Floats]:
    """Return names and forms (names, 1 + B), the observed labels first."""
    names: tuple[str, ...] = ()
    total: Any = 0.0
    for draw in draws(predictions, notion, generator, rng, class_weights(predictions)):
        sets = LabelSets(to_numpy(draw.prob), to_numpy(draw.label), n_resamples, rng)
        names = draw.names
        total = total + on_all_sets(sets, draw.evaluate, draw.prob, draw.most)
    return names, total


def impossible_rows(predictions: Predictions, notion: Notion) -> npt.NDArray[np.bool_]:
    """(n,) whether what occurred has probability 0, not only one that underflows."""
    found = np.zeros(predictions.n_samples, dtype=bool)
    for problem in notion.again(predictions):
        log_prob, label = to_numpy(problem.log_prob), to_numpy(problem.label)
        found |= np.isneginf(log_prob[np.arange(len(label)), label])
    return found


def standardised(
    forms: Floats,
    among: Floats,
    otherwise: Floats | float = 0.0,
) -> Floats:
    """Return how far each form is from its mean over some sets, in its standard deviations there.

    `otherwise` is returned for forms that do not vary among these.
    """
    deviation = forms - among.mean(axis=1, keepdims=True)
    spread = among.std(axis=1, keepdims=True)
    varies = spread > 1e-9 * np.abs(among).max(axis=1, keepdims=True)
    return np.where(varies, deviation / np.where(varies, spread, 1.0), otherwise)
