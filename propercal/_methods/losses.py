"""Means of losses alone: the risk and the uncertainty, for which nothing is fitted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from propercal._array import namespace
from propercal._data.predictions.notions import Problems
from propercal._methods.method import Method
from propercal._methods.terms import ProblemTerms, Terms, complete_terms, mean_terms
from propercal._progress import steps
from propercal.generators.base import BregmanGenerator


@dataclass(frozen=True, kw_only=True, repr=False)
class Losses(Method):
    """The risk, and the uncertainty corrected for its bias; all other terms are NaN."""

    name: ClassVar[str] = "none"
    estimates_refinement: ClassVar[bool] = False

    def terms(self, problems: Problems, generators: Sequence[BregmanGenerator]) -> list[Terms]:
        """Return means of losses under each generator."""
        parts = []
        for problem in steps(problems):
            unknown = problem.weight[0] * math.nan
            parts.append(
                [ProblemTerms.of_refinement(problem, each, unknown) for each in generators]
            )
        return [
            complete_terms(_corrected(each), "none", math.inf, "none") for each in mean_terms(parts)
        ]


def _corrected(mean: ProblemTerms) -> ProblemTerms:
    xp = namespace(mean.estimates)
    risk, calibration_error, refinement, uncertainty = (mean.estimates[i] for i in range(4))
    bias, variance = mean.second_order[0], mean.second_order[1]
    return mean._replace(
        estimates=xp.stack([risk, calibration_error, refinement, uncertainty - bias]),
        second_order=xp.stack([xp.zeros_like(bias), variance]),
    )
