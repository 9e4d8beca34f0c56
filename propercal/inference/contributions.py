"""What each row contributes to a term of several models, from which comparisons are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._data.predictions.predictions import Predictions
from propercal._data.words.messages import bad_value, unknown_name
from propercal._methods.losses import Losses
from propercal._methods.method import Method
from propercal._methods.terms import OneStepRows, Terms
from propercal._results.student import degrees_of_freedom, effective_number, shares
from propercal.methods import MethodLike, as_method, with_intervals
from propercal.result import TERMS

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Term:
    """A term that models are compared by."""

    name: str
    rows: Callable[[Terms], Floats]
    """(n,) what each row contributes to it."""
    fitted: bool = True
    """Whether something is fitted to estimate it, which makes it uncertain beside the rows."""
    of_uncertainty: bool = False
    """Whether the uncertainty is a part of it."""
    less_is_better: bool = True

    @property
    def words(self) -> str:
        """Its name in a text."""
        return self.name.replace("_", " ")


def _one_step(terms: Terms) -> OneStepRows:
    assert terms.one_step is not None  # noqa: S101  # what a method with intervals promises
    return terms.one_step


def _risk(terms: Terms) -> Floats:
    return to_numpy(terms.loss)


def _refinement(terms: Terms) -> Floats:
    return to_numpy(_one_step(terms).loss)


def _calibration_error(terms: Terms) -> Floats:
    return _risk(terms) - _refinement(terms)


def _sharpness(terms: Terms) -> Floats:
    return to_numpy(terms.marginal_loss) - _refinement(terms)


_TERMS = {
    each.name: each
    for each in (
        Term("calibration_error", _calibration_error),
        Term("risk", _risk, fitted=False),
        Term("refinement", _refinement),
        Term("sharpness", _sharpness, of_uncertainty=True, less_is_better=False),
    )
}


def as_terms(term: object) -> tuple[list[Term], bool]:
    """Return the terms that an argument stands for, and whether it is a list of them."""
    several = isinstance(term, Sequence) and not isinstance(term, str)
    names: list[Any] = list(term) if several else [term]  # type: ignore[call-overload]
    for name in names:
        if not isinstance(name, str) or name not in _TERMS:
            raise unknown_name("term", name, _TERMS)
    if not names or len(set(names)) < len(names):
        raise bad_value("term", names, "one term or more, each once", 'such as "risk"')
    return [_TERMS[name] for name in names], several


def method_for(terms: Sequence[Term], method: MethodLike, settings: dict[str, Any]) -> Method:
    """Return the method that estimates terms: none where all are means of losses."""
    if any(each.fitted for each in terms):
        return with_intervals(method, **settings)
    as_method(method, **settings)
    return Losses()


class Contributions(NamedTuple):
    """Estimates of one term of M models, and what rows contribute to them."""

    term: Term
    estimates: Floats
    """(M,)."""
    sums: Floats
    """(G, M) Σ w (x − its mean) over the rows of each group, with weights w of sum 1."""
    share: Floats
    """(G,) Σ w."""
    noise: Floats
    """(M,) standard deviation of what is uncertain beside the rows, each model by itself."""

    @property
    def effective(self) -> float:
        """The number of groups of equal weight that would tell as much."""
        return effective_number(self.share)

    @property
    def degrees_of_freedom(self) -> float:
        """Those of Student's law of a difference: infinite where it is no plain mean of rows."""
        return math.inf if self.term.fitted else degrees_of_freedom(self.share)

    def errors(self, i: int) -> Floats:
        """(M,) standard errors of the differences between model i and each."""
        n_groups = len(self.share)
        with np.errstate(invalid="ignore"):
            change = self.sums - self.sums[:, i : i + 1]
        rows = np.sum(change * change, axis=0) * n_groups / (n_groups - 1)
        error = np.sqrt(rows + self.noise**2 + self.noise[i] ** 2)
        return np.where(np.isnan(error), math.inf, error)


def contributions(term: Term, found: Sequence[Terms], predictions: Predictions) -> Contributions:
    """Return the contributions of models of the same rows, of which `predictions` are one."""
    weight = to_numpy(predictions.weight)
    groups = predictions.groups
    share = shares(weight, groups)
    sums = np.empty((len(share), len(found)))
    estimates, noise = np.empty(len(found)), np.zeros(len(found))
    same = same_labels(found)
    for i, terms in enumerate(found):
        # Those of a result have the caller's precision.
        estimates[i] = float(to_numpy(terms.values)[TERMS.index(term.name)])
        rows = term.rows(terms)
        with np.errstate(invalid="ignore"):
            centred = weight * (rows - weight @ rows)
        sums[:, i] = centred if groups is None else np.bincount(groups, centred)
        if term.fitted:
            # A correction is an estimate: its whole size is taken as one standard error more.
            noise[i] = float(weight @ to_numpy(_one_step(terms).correction))
        if term.of_uncertainty and not same:
            noise[i] = math.hypot(noise[i], math.sqrt(float(terms.uncertainty_variance)))
    return Contributions(term, estimates, sums, share, noise)


def same_labels(found: Sequence[Terms]) -> bool:
    """Tell whether all models have the same labels to tell: the uncertainty cancels."""
    first, *others = (to_numpy(terms.marginal_loss) for terms in found)
    return all(np.array_equal(first, each) for each in others)
