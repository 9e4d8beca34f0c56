"""``pytest --propercal-generator package.module:object``: the laws of a generator as tests.

It lies outside `propercal.testing`: pytest loads a plugin in every run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from propercal.cli.generator_spec import load_generator

if TYPE_CHECKING:
    from propercal.testing.parametrize import LawCheck


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("propercal")
    group.addoption(
        "--propercal-generator",
        action="append",
        default=[],
        metavar="PACKAGE.MODULE:OBJECT",
        help="add a test for each law that this Bregman generator must obey; may be repeated",
    )
    group.addoption(
        "--propercal-n-classes",
        action="append",
        type=int,
        metavar="K",
        help="try it with this number of classes; may be repeated (default: 2, 3 and 5)",
    )


# First, so that -k and --deselect see these tests too.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the tests of the generators that were named."""
    for spec in config.getoption("propercal_generator"):
        generator = _Generator.from_parent(session, name=spec, nodeid=spec)
        items.extend(generator.collect())


class _Generator(pytest.Collector):
    """The laws of one generator."""

    def collect(self) -> Iterator[pytest.Item]:
        sizes = self.config.getoption("propercal_n_classes")
        try:
            from propercal.testing.parametrize import law_checks

            generator = load_generator(self.name)
            checks = law_checks(generator, **({"n_classes": sizes} if sizes else {}))
        except (ValueError, ImportError) as error:
            raise pytest.UsageError(f"--propercal-generator {self.name}: {error}") from error
        for check in checks:
            yield _Law.from_parent(self, name=check.law.name, check=check)


class _Law(pytest.Item):
    """One law of a generator."""

    def __init__(self, *, check: LawCheck, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._check = check

    def runtest(self) -> None:
        if reason := self._check.reason_to_skip():
            pytest.skip(reason)
        self._check()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from propercal.testing import GeneratorCheckError

        if isinstance(excinfo.value, GeneratorCheckError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, None, str]:
        return "", None, self.name
