"""Search for the simplest points at which a generator violates a law."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from propercal._data.inputs.settings import check_random_state
from propercal._data.words.messages import bad_value, warn
from propercal._typing import Array
from propercal.generators import BregmanGenerator, as_generator
from propercal.testing import strategies
from propercal.testing._hypothesis import NoSuchExample, Phase, find, settings, st
from propercal.testing._methods import METHODS, methods_in, no_hessian, raised_by
from propercal.testing._numerics import HALF_DIGITS, Vector, scale
from propercal.testing.laws import LAWS, Law
from propercal.testing.report import (
    Counterexample,
    GeneratorCheckError,
    GeneratorReport,
    Outcome,
    explain,
)

N_CLASSES = (2, 3, 5)
MAX_EXAMPLES = 100

GeneratorLike = str | BregmanGenerator | type[BregmanGenerator] | Callable[[Array], Array]
Points = tuple[Vector, ...]


def check_generator(
    generator: GeneratorLike,
    *,
    n_classes: Sequence[int] = N_CLASSES,
    max_examples: int = MAX_EXAMPLES,
    random_state: Any = None,
) -> GeneratorReport:
    """Check a generator against all laws, and fail with the simplest counter-example.

    Parameters
    ----------
    generator : BregmanGenerator, str, class or callable
        Whatever :func:`~propercal.generators.as_generator` takes.
    n_classes : sequence of int
        Numbers of classes to try, each at least 2.
    max_examples : int
        Number of triples of points at which every law is checked.
    random_state : int, SeedSequence or Generator, optional
        Seed of the search. The same seed, or None, gives the same result every time.

    Returns
    -------
    GeneratorReport
        What was checked; whether F is strictly convex, finite at the vertices, and normalised.

    Raises
    ------
    GeneratorCheckError
        If a law is violated. It names the law and its formula, and shows the simplest points found
        at which it is violated, to be pasted into Python.
    ImportError
        If the generator needs torch, and it is not installed.
    ValueError
        If an argument is not as said above.

    Warns
    -----
    UserWarning
        If F is convex but not strictly: a divergence of 0 then does not imply equality, nor a
        calibration error of 0 calibration.

    Notes
    -----
    A pass is no proof: F is tried at a finite number of points, most of them at the boundary and
    on a grid. Differentiability is assumed inside the simplex. The tolerances are stated in
    :mod:`propercal.testing.laws`.

    Examples
    --------
    >>> from propercal.generators import Brier, Log
    >>> report = check_generator(2 * Log() + Brier())
    >>> report.passed, report.is_strictly_convex, report.is_finite_at_vertices
    (True, True, True)
    >>> class Wrong(BregmanGenerator):
    ...     def value(self, p):
    ...         return (p**2).sum(-1)
    ...
    ...     def gradient(self, p):
    ...         return p
    >>> check_generator(Wrong())
    Traceback (most recent call last):
    propercal.testing.report.GeneratorCheckError: Wrong() violates the law 'gradient'
    """
    report = examine(
        generator, n_classes=n_classes, max_examples=max_examples, random_state=random_state
    )
    if not report.passed:
        raise GeneratorCheckError(report, report.failures[0])
    for outcome in report.outcomes:
        if outcome.counterexample is not None:
            warn(explain(report.generator, outcome.counterexample))
    return report


def examine(
    generator: GeneratorLike,
    *,
    n_classes: Sequence[int] = N_CLASSES,
    max_examples: int = MAX_EXAMPLES,
    random_state: Any = None,
    progress: Callable[[str], object] | None = None,
) -> GeneratorReport:
    """Check a generator as :func:`check_generator` does, but return failures in the report.

    `progress` is told the name of each law before it is tried.
    """
    generator = as_generator(generator)
    sizes = _checked(n_classes, max_examples)
    given = check_random_state(random_state)
    seed = 0 if given is None else int(np.random.default_rng(given).integers(2**63))
    reasons = {law: law.reason_to_skip(generator, sizes[0]) for law in LAWS}
    methods = METHODS[:-1] if no_hessian(generator, sizes[0]) else METHODS
    search = functools.partial(_search, sizes, max_examples, seed)
    violated: set[Law] = set()

    def collect(points: Points) -> bool:
        for law in LAWS:
            if reasons[law] or law in violated:
                continue
            if progress is not None:
                progress(law.name)
            if law.violation(generator, points, methods):
                violated.add(law)
        return False

    # One pass for all laws. Only those violated are searched again, each to its simplest example.
    search(collect)
    if any(law.is_required for law in violated):
        reasons |= {law: "another law is violated" for law in LAWS if not law.is_required}
    outcomes, raising = [], set[str]()
    for law in LAWS:
        counterexample, reason = None, reasons[law]
        if law in violated and not reason:
            if progress is not None:
                progress(law.name)
            found = search(functools.partial(law.violation, generator, methods=methods))
            if found is not None:
                counterexample = Counterexample.at(law, generator, found, methods)
        # One exception would otherwise be the failure of every law that calls the method.
        cause = counterexample.violation.cause if counterexample else None
        known = [method for method in methods_in(cause) if method in raising]
        if known:
            counterexample, reason = None, f"{known[0]} raises"
        elif method := raised_by(cause):
            raising.add(method)
        outcomes.append(Outcome(law, counterexample, reason))
    report = GeneratorReport(generator, sizes, max_examples, tuple(outcomes), None, None)
    return _classified(report) if report.passed else report


@np.errstate(all="ignore")
def _classified(report: GeneratorReport) -> GeneratorReport:
    is_finite, is_normalised = True, True
    for k in report.n_classes:
        values = np.abs(report.generator.value(np.eye(k)))
        is_finite &= bool(np.isfinite(values).all())
        is_normalised &= bool((values <= HALF_DIGITS * scale(report.generator, k)).all())
    return replace(report, is_finite_at_vertices=is_finite, is_normalised=is_normalised)


def _checked(n_classes: Sequence[int], max_examples: int) -> tuple[int, ...]:
    sizes = tuple(n_classes)
    if not sizes or any(k != int(k) or k < 2 for k in sizes):
        raise bad_value(
            "n_classes", sizes, "one or more whole numbers, each 2 or more", "use the default"
        )
    if max_examples < 1:
        raise bad_value("max_examples", max_examples, "1 or more", "use the default")
    return tuple(map(int, sizes))


def _search(
    n_classes: tuple[int, ...],
    max_examples: int,
    seed: int,
    condition: Callable[[Points], object],
) -> Points | None:
    """Return the simplest points found at which `condition` holds."""
    points = st.sampled_from(n_classes).flatmap(_triples)
    plan = settings(
        max_examples=max_examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
    )
    try:
        return find(points, lambda x: bool(condition(x)), settings=plan, random=random.Random(seed))  # noqa: S311
    except NoSuchExample:
        return None


@functools.cache
def _triples(n_classes: int) -> st.SearchStrategy[Points]:
    third = strategies.simplex_points(n_classes)
    return st.builds(lambda pair, r: (*pair, r), strategies.pairs(n_classes), third)
