"""One pytest test for each generator and law."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from propercal._data.words.messages import warn
from propercal.generators import BregmanGenerator, as_generator
from propercal.testing.checker import MAX_EXAMPLES, N_CLASSES, GeneratorLike, examine
from propercal.testing.laws import LAWS, Law
from propercal.testing.report import GeneratorCheckError, GeneratorReport, explain

_Test = TypeVar("_Test", bound=Callable[..., object])

__all__ = ["LawCheck", "law_checks", "parametrize_with_checks"]


class LawCheck:
    """A law to check on a generator, by a call without arguments; its `str` names both.

    All checks of a generator share one search, which the first call makes.
    """

    def __init__(
        self,
        law: Law,
        generator: BregmanGenerator,
        report: Callable[[], GeneratorReport | ImportError],
    ) -> None:
        self.law, self.generator, self._report = law, generator, report

    def __str__(self) -> str:
        return f"{self.generator!r}-{self.law.name}"

    def __call__(self) -> None:
        """Check the law, or skip the test with the reason that it cannot be.

        Raises
        ------
        GeneratorCheckError
            If it is violated.

        Warns
        -----
        UserWarning
            If it is violated but not required.
        """
        import pytest

        if reason := self.reason_to_skip():
            pytest.skip(reason)
        report = self._report()
        if isinstance(report, ImportError):
            pytest.fail(str(report), pytrace=False)
        outcome = next(each for each in report.outcomes if each.law is self.law)
        if outcome.counterexample is None:
            return
        if self.law.is_required:
            raise GeneratorCheckError(report, outcome.counterexample)
        warn(explain(self.generator, outcome.counterexample))

    def reason_to_skip(self) -> str:
        """Say why the law is not checked on the generator; an empty string if it is."""
        report, first = self._report(), LAWS[0]
        if isinstance(report, ImportError):
            return "" if self.law is first else f"an import fails, as {first.name!r} says"
        return next(o.reason_to_skip for o in report.outcomes if o.law is self.law)


def law_checks(
    generator: GeneratorLike,
    *,
    n_classes: Sequence[int] = N_CLASSES,
    max_examples: int = MAX_EXAMPLES,
    random_state: Any = None,
) -> list[LawCheck]:
    """Return a check for each law; the arguments are those of `check_generator`."""
    generator = as_generator(generator)

    @functools.cache
    def report() -> GeneratorReport | ImportError:
        try:
            return examine(
                generator,
                n_classes=n_classes,
                max_examples=max_examples,
                random_state=random_state,
            )
        except ImportError as error:
            return error

    return [LawCheck(law, generator, report) for law in LAWS]


def parametrize_with_checks(
    generators: Iterable[GeneratorLike],
    *,
    n_classes: Sequence[int] = N_CLASSES,
    max_examples: int = MAX_EXAMPLES,
    random_state: Any = None,
) -> Callable[[_Test], _Test]:
    """Decorate a pytest test so that it runs once for each generator and law.

    Parameters
    ----------
    generators : iterable
        Generators, or whatever :func:`~propercal.generators.as_generator` takes.
    n_classes, max_examples, random_state
        As for :func:`~propercal.testing.check_generator`.

    Returns
    -------
    decorator
        It gives the test an argument `check`, to be called without arguments. The call skips the
        test, with a reason, where a law does not apply to a generator or cannot be checked.

    Raises
    ------
    ImportError
        If pytest is not installed.

    Examples
    --------
    >>> from propercal.generators import Brier, Log
    >>> @parametrize_with_checks([Log(), 2 * Brier()])
    ... def test_laws(check):
    ...     check()
    """
    try:
        import pytest
    except ImportError as error:
        raise ImportError(
            "parametrize_with_checks makes tests of pytest, which is not installed; run "
            '`pip install "propercal[testing]"`.'
        ) from error

    checks = [
        check
        for generator in generators
        for check in law_checks(
            generator, n_classes=n_classes, max_examples=max_examples, random_state=random_state
        )
    ]
    mark: Callable[[_Test], _Test] = pytest.mark.parametrize("check", checks, ids=str)
    return mark
