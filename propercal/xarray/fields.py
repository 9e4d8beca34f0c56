"""The numbers of a result as one vector, whose length does not depend on the data.

An array that is lazy has to know its size before anything is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._results.flat import is_number, numbers_of
from propercal.methods import Method
from propercal.result import TERMS, Decomposition

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Field:
    """A variable of the dataset that is returned."""

    name: str
    bounds: bool = False
    """Whether it is the two ends of an interval."""
    in_units: bool = False
    """Whether it has the units of the loss."""
    counts: bool = False
    """Whether it is a whole number, and there is always one."""

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """Variables of a result, and which end."""
        bounds = ("lower", "upper") if self.bounds else ("",)
        return tuple((self.name, bound) for bound in bounds)


def _interval(name: str, *, in_units: bool = True) -> Field:
    return Field(f"{name}_interval", bounds=True, in_units=in_units)


def of_decomposition(methods: Sequence[Method], *, grouped: bool) -> tuple[Field, ...]:
    """Return what decompositions of methods have, in the names of their datasets."""
    corrects_bias = any(each.corrects_bias for each in methods)
    sure = TERMS if corrects_bias else ("risk", "uncertainty")
    found = [Field(term, in_units=True) for term in TERMS]
    found += [_interval(term) for term in sure]
    found += [Field(f"{term}_standard_error", in_units=True) for term in sure]
    if corrects_bias:
        names = ("lower_bound", "missed", "label_error", "noise_floor", "detection_floor")
        found += [Field(name, in_units=True) for name in names]
        found += [Field("kernel_share"), Field("misfit_pvalue")]
    if not all(each.corrects_bias for each in methods):
        found.append(Field("uncertainty_centre", in_units=True))
    found += [
        Field("skill_score"),
        _interval("skill_score", in_units=False),
        Field("skill_score_error"),
    ]
    found += [Field("kernel_rows"), Field("training_rows")] if corrects_bias else []
    found += [Field("bandwidth"), Field("n_samples", counts=True)]
    found += [Field("n_groups", counts=True)] if grouped else []
    return (*found, Field("n_infinite_loss_rows", counts=True))


def of_difference(*, grouped: bool) -> tuple[Field, ...]:
    """Return what a difference between two models has."""
    found = [Field(name, in_units=True) for name in ("a", "b", "difference", "standard_error")]
    found += [Field("interval", bounds=True, in_units=True), Field("pvalue")]
    found += [Field("degrees_of_freedom"), Field("n_samples", counts=True)]
    return (*found, *([Field("n_groups", counts=True)] if grouped else []))


def of_test(*, grouped: bool) -> tuple[Field, ...]:
    """Return what a test has whatever its parts are."""
    found = [Field("statistic"), Field("pvalue"), Field("n_samples", counts=True)]
    return (*found, *([Field("n_groups", counts=True)] if grouped else []))


def vector(result: Any, fields: Sequence[Field]) -> Floats:
    """Return the numbers of a result; NaN where it has none."""
    data = result.to_xarray()
    known = {(name, ""): value for name, value in data.attrs.items() if is_number(value)}
    known |= {
        (each.variable, each.bound): each.value for each in numbers_of(data) if not each.place
    }
    if isinstance(result, Decomposition):
        known["skill_score", ""] = float(result.skill_score)
        known["n_infinite_loss_rows", ""] = len(result.infinite_loss_rows)
    return np.array([known.get(key, np.nan) for each in fields for key in each.keys], dtype=float)
