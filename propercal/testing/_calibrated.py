"""Calibration as an assertion of a user's own tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np

from propercal._array import ignore_underflow
from propercal._data.dependence.groups import check_number, validate_groups
from propercal._data.dependence.repetitions import look_for_repetitions
from propercal._data.inputs.settings import check_random_state
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.notions import Notion, as_notion
from propercal._data.predictions.predictions import Predictions, Reading
from propercal._data.predictions.subsets import subset
from propercal._data.rows.layout import Layout
from propercal._data.words.messages import bad_value, held_warnings, warn
from propercal._methods.completion import decompositions
from propercal._progress import with_progress
from propercal.decomposition import decompose
from propercal.generators import as_generator
from propercal.generators.base import BregmanGenerator
from propercal.generators.registry import GeneratorLike
from propercal.inference.calibration_test import calibration_test
from propercal.methods import as_method
from propercal.result import Decomposition
from propercal.subgroups.membership import Membership, collected_beside, read_membership
from propercal.subgroups.worst import worst_group_test
from propercal.testing._failure import Failing, Question, not_calibrated
from propercal.testing._limits import check_allowed, check_alpha, check_reachable, lower_limit

#: Rows of a subgroup below which nothing can be said of it.
_SMALLEST = 2
#: Of so many sets that fail the terms are shown, where they are needed for nothing else.
_SHOWN = 5


class _AllRows:
    """The name of all rows among those of subgroups, which may be any word."""

    def __str__(self) -> str:
        return "all rows"


_ALL_ROWS = _AllRows()


class _Set(NamedTuple):
    """Rows that were tested together."""

    name: Any
    n_samples: int
    pvalue: float
    decomposed: Callable[[float], Decomposition]
    """The terms of these rows, at a level of their intervals."""
    text: str = ""
    """The test in words."""


@with_reading
def assert_calibrated(
    y_true: object,
    y_proba: object,
    *,
    alpha: float = 0.01,
    max_calibration_error: float = 0.0,
    subgroups: object = None,
    generator: GeneratorLike = "log",
    notion: str | Notion = "canonical",
    n_resamples: int = 999,
    random_state: Any = 0,
    groups: object = None,
    blocks: int | str | None = None,
    progress: bool | None = None,
    **reading: Unpack[Reading],
) -> None:
    r"""Fail if predicted probabilities are shown not to be calibrated.

    It fails where the p-value of :func:`propercal.calibration_test` is at most `alpha`. With
    `max_calibration_error` above 0 it fails if, beyond that, the calibration error is larger than
    allowed with confidence 1 − `alpha`:

    .. math::

        &p \le \alpha \quad\text{and} \\
        &\text{lower end of the interval of level } 1 - 2\alpha \\
        &> \mathtt{max\_calibration\_error}.

    Parameters
    ----------
    y_true, y_proba, generator, notion, n_resamples
        As in :func:`propercal.calibration_test`.
    alpha : float, default 0.01
        How often a false alarm is accepted: of test sets whose predictions are calibrated, at most
        this share fails, at every number of rows (see the test for what is exact under which
        notion). At least 1 / (n_resamples + 1), below 0.5.
    max_calibration_error : float, default 0
        A calibration error that is accepted, in units of the loss: with many rows the test sees
        errors that matter to nobody. Above 0 the share of false alarms is right as the number of
        rows grows; 20 rows are needed.
    subgroups : array-like of shape (n,) or (n, m), table, or mapping, optional
        Kinds of rows, such as sites or age bands, in each of which the predictions have to be
        calibrated, beside all rows together: as `groups` of :func:`propercal.decompose_groups`.
        p-values are adjusted for their number, so that `alpha` holds for all of them at once.
    groups, blocks
        As in :func:`propercal.decompose`: which rows may depend on each other, such as those of one
        patient. These are no kinds of rows to be looked at one by one; `subgroups` are.
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        By default the same label sets are drawn in every run, so that the same rows give the same
        answer; None draws new ones each time.
    from_logits, sample_weight, labels, pos_label, link, ignore_index, class_axis, class_dim
        As in :func:`propercal.decompose`.
    sample_dims, progress
        As in :func:`propercal.decompose`.

    Raises
    ------
    AssertionError
        If the predictions are shown not to be calibrated. The message has the p-value, the
        decomposition of the risk with its intervals, and what can be done.
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do.

    Warns
    -----
    UserWarning
        As :func:`propercal.calibration_test` does, if it passes; else the message says so.

    Notes
    -----
    That it passes does not show that predictions are calibrated: few rows show little.
    ``decompose(...).detection_floor`` says how large an error they would have shown. A test that is
    run again on rows that grow, or on new rows each day, has a false alarm sooner or later:
    :class:`propercal.CalibrationMonitor` has the probability `alpha` of one ever.

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, p_true = TemperatureScaledSimplex(3).sample(300, random_state=0)
    >>> assert_calibrated(y_true, p_true)
    >>> assert_calibrated(y_true, y_proba)
    Traceback (most recent call last):
    AssertionError: the predictions are not calibrated: p-value 0.001, at most alpha = 0.01 ...
    """
    __tracebackhide__ = True
    alpha = check_alpha(alpha)
    allowed = check_allowed("max_calibration_error", max_calibration_error)
    # They are read more than once.
    subgroups, y_true, y_proba, groups, reading["sample_weight"] = collected_beside(
        subgroups, y_true, y_proba, groups, reading.get("sample_weight")
    )
    asked = _Asked(
        y_true,
        y_proba,
        subgroups,
        groups,
        blocks,
        as_generator(generator),
        as_notion(notion),
        check_reachable(alpha, n_resamples),
        check_random_state(random_state),
        reading,
    )
    error = _error(asked, alpha, allowed, progress=progress)
    if error is not None:
        raise error


class _Asked(NamedTuple):
    """Checked arguments."""

    y_true: object
    y_proba: object
    subgroups: object
    groups: object
    blocks: int | str | None
    generator: BregmanGenerator
    notion: Notion
    n_resamples: int
    random_state: Any
    reading: Reading


@ignore_underflow
@with_progress
def _error(
    asked: _Asked,
    alpha: float,
    allowed: float,
    *,
    progress: bool | None = None,  # noqa: ARG001  # the decorator reads it
) -> AssertionError | None:
    """Return what is to be raised, if anything is."""
    with held_warnings() as said:
        sets = [_whole(asked)] if asked.subgroups is None else _each(asked)
        failing = list(_failing(sets, alpha, allowed))
    said = list(dict.fromkeys(said))
    if failing:
        fixed = isinstance(asked.random_state, int | np.integer)
        told = asked.groups is not None or asked.blocks is not None
        return not_calibrated(failing, Question(alpha, allowed, len(sets), fixed, told, said))
    for message in said:
        warn(message)
    return None


def _whole(asked: _Asked) -> _Set:
    """Test all rows."""
    try:
        test = calibration_test(
            asked.y_true,
            asked.y_proba,
            generator=asked.generator,
            notion=asked.notion,  # type: ignore[arg-type]
            n_resamples=asked.n_resamples,
            random_state=asked.random_state,
            groups=asked.groups,
            blocks=asked.blocks,
            **asked.reading,
        )
    except ValueError as error:
        if str(error).startswith("groups = "):
            error.add_note(
                "groups= say which rows depend on each other; kinds of rows that are to be looked "
                "at one by one are subgroups=."
            )
        raise
    again = partial(
        decompose,
        asked.y_true,
        asked.y_proba,
        generator=asked.generator,
        notion=asked.notion,
        groups=asked.groups,
        blocks=asked.blocks,
        **asked.reading,
    )
    return _Set(
        _ALL_ROWS,
        test.n_samples,
        test.pvalue,
        lambda level: again(confidence_level=level),
        str(test),
    )


def _each(asked: _Asked) -> list[_Set]:
    """Test each subgroup, and all rows, on the same label sets."""
    predictions, members = _read(asked)
    names = (*members.names, _ALL_ROWS)
    rows = (*members.rows, np.arange(predictions.n_samples))
    test = worst_group_test(
        predictions,
        names,
        rows,
        asked.notion,
        asked.generator,
        asked.n_resamples,
        np.random.default_rng(asked.random_state),
    )
    method = as_method("debiased")

    def decomposed(own: Any, level: float) -> Decomposition:
        part = subset(predictions, own)
        ((_, result),) = decompositions(part, asked.notion, method, [asked.generator], level)
        return result

    return [
        _Set(name, len(own), test.adjusted[name], partial(decomposed, own))
        for name, own in zip(names, rows, strict=True)
    ]


def _read(asked: _Asked) -> tuple[Predictions, Membership]:
    predictions = validate_groups(
        asked.y_true,
        asked.y_proba,
        groups=asked.groups,
        blocks=asked.blocks,
        one_class=not asked.notion.per_class,
        **asked.reading,
    )
    layout = Layout(*(asked.reading.get(x) for x in ("class_axis", "class_dim", "sample_dims")))  # type: ignore[arg-type]
    members = read_membership(
        asked.subgroups,
        asked.y_true,
        asked.y_proba,
        asked.reading.get("sample_weight"),
        predictions,
        layout,
        asked.groups,
        argument="subgroups",
        of_clusters="groups",
    )
    for name, rows in zip(members.names, members.rows, strict=True):
        if len(rows) < _SMALLEST:
            raise bad_value(
                "subgroups",
                f"a single row in {name!r}",
                f"{_SMALLEST} or more in each",
                "merge small subgroups into one, or leave their rows out by a weight of 0",
            )
        if predictions.groups is not None:
            number = len(np.unique(predictions.groups[rows]))
            check_number(number, "this test", predictions.grouped_by, f" in subgroup {name!r}")
    return look_for_repetitions(predictions), members


def _failing(sets: Sequence[_Set], alpha: float, allowed: float) -> Iterator[Failing]:
    """Yield the sets of rows that fail, from the smallest p-value on."""
    level = 1 - 2 * alpha / len(sets)
    rejected = sorted((each for each in sets if each.pvalue <= alpha), key=lambda x: x.pvalue)
    for i, each in enumerate(rejected):
        result, reason = None, ""
        try:
            result = each.decomposed(level) if allowed or i < _SHOWN else None
        except ValueError as error:
            if allowed:
                raise
            reason = str(error)
        if not allowed or result is None or not lower_limit(result) <= allowed:
            yield Failing(str(each.name), each.n_samples, each.pvalue, result, each.text, reason)
