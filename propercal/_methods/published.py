"""The terms of the published methods, which smooth the labels by a kernel of one bandwidth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from propercal._array import by_rows, no_gradient
from propercal._data.predictions.notions import Problem, Problems
from propercal._kernels.algorithm import joint_algorithm, resolve_algorithm
from propercal._kernels.bandwidth import select_by_risk
from propercal._kernels.conditional import kernel_mean
from propercal._kernels.kernels import as_kernel
from propercal._methods.signs import KeptMeans
from propercal._methods.terms import (
    Kept,
    ProblemTerms,
    Terms,
    complete_terms,
    mean_terms,
    smoothed_rows,
    stacked_terms,
)
from propercal._progress import part, steps
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator

#: From conditional means r̂ (n, k) to the terms of a problem.
OfMean = Callable[[Problem, Array, BregmanGenerator], ProblemTerms]


@dataclass(frozen=True)
class Smoothing:
    """How the labels are smoothed."""

    kernel: str
    bandwidth: float | None
    """None to choose one for each generator."""
    exclude_self: bool
    algorithm: str

    def bandwidths(self, problems: Problems, generators: Sequence[BregmanGenerator]) -> list[float]:
        """Return the bandwidth of each generator."""
        if self.bandwidth is not None:
            return [self.bandwidth] * len(generators)
        kernel = as_kernel(self.kernel)
        if kernel.default_bandwidth is not None:
            return [kernel.default_bandwidth] * len(generators)
        with no_gradient(next(iter(problems)).prob), part(0.9):
            return select_by_risk(problems, kernel, generators, self.algorithm)


def smoothed_terms(
    problems: Problems,
    generators: Sequence[BregmanGenerator],
    smoothing: Smoothing,
    of_mean: OfMean,
    *,
    measures_divergence: bool,
) -> list[Terms]:
    """Estimate the terms of each generator; those of the same bandwidth share the kernel sums."""
    bandwidths = smoothing.bandwidths(problems, generators)
    results: dict[int, Terms] = {}
    for value in steps(dict.fromkeys(bandwidths)):
        same = [i for i, other in enumerate(bandwidths) if other == value]
        chosen = [generators[i] for i in same]
        parts, algorithms, means = [], [], KeptMeans()
        for problem in steps(problems):
            found = kernel_mean(
                problem,
                as_kernel(smoothing.kernel),
                value,
                exclude_self=smoothing.exclude_self,
                algorithm=resolve_algorithm(smoothing.algorithm, chosen, problem.prob),
            )
            parts.append([of_mean(problem, found.mean, each) for each in chosen])
            means.add(problem, found.mean)
            algorithms.append(found.algorithm)
        for j, (i, mean) in enumerate(zip(same, mean_terms(parts), strict=True)):
            results[i] = complete_terms(
                mean,
                smoothing.kernel,
                value,
                joint_algorithm(algorithms),
                measures_divergence=measures_divergence,
            )._replace(
                kept=Kept(
                    stacked_terms([each[j] for each in parts], measures_divergence),
                    means.joined(),
                    mean.refined,
                    mean.divergence,
                )
            )
    return [results[i] for i in range(len(generators))]


def of_refinement(problem: Problem, mean: Array, generator: BregmanGenerator) -> ProblemTerms:
    """Estimate the refinement by mean −F(r̂), Eq. 13."""
    return ProblemTerms.of_rows(problem, generator, smoothed_rows(mean, generator))


def of_divergence(problem: Problem, mean: Array, generator: BregmanGenerator) -> ProblemTerms:
    """Estimate the calibration error by mean D_F(r̂, g), Eq. 7, beside the refinement."""
    divergence = by_rows(
        lambda p, q, log_q: generator.divergence(p, q, log_q=log_q),
        mean,
        problem.prob,
        problem.log_prob,
    )
    return of_refinement(problem, mean, generator).with_divergence(problem, divergence)
