"""Assertions for your own tests, checks of generators against every law, strategies for data.

:func:`assert_calibrated` and :func:`assert_no_worse_calibrated` need no optional package; the rest
needs Hypothesis, but not pytest.

>>> from propercal.generators import BregmanGenerator
>>> class Cubic(BregmanGenerator):
...     def value(self, p):
...         return (p**3).sum(-1) - 1
...
...     def gradient(self, p):
...         return 3 * p**2
>>> check_generator(Cubic(), max_examples=50).is_strictly_convex
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from propercal.testing._calibrated import assert_calibrated
from propercal.testing._no_worse import assert_no_worse_calibrated

if TYPE_CHECKING:
    from propercal.testing import strategies, transforms
    from propercal.testing.checker import check_generator
    from propercal.testing.parametrize import parametrize_with_checks
    from propercal.testing.report import GeneratorCheckError, GeneratorReport
    from propercal.testing.strategies import array_forms, label_forms
    from propercal.testing.transforms import TRANSFORMS

__all__ = [
    "TRANSFORMS",
    "GeneratorCheckError",
    "GeneratorReport",
    "array_forms",
    "assert_calibrated",
    "assert_no_worse_calibrated",
    "check_generator",
    "label_forms",
    "parametrize_with_checks",
    "strategies",
    "transforms",
]

#: The module of each name that needs Hypothesis; it is imported when the name is asked for.
_WITH_HYPOTHESIS = {
    "TRANSFORMS": "transforms",
    "GeneratorCheckError": "report",
    "GeneratorReport": "report",
    "array_forms": "strategies",
    "check_generator": "checker",
    "label_forms": "strategies",
    "parametrize_with_checks": "parametrize",
    "strategies": "strategies",
    "transforms": "transforms",
}

# Type checkers know the names from above, and no others.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _WITH_HYPOTHESIS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{__name__}.{_WITH_HYPOTHESIS[name]}")
        found = module if name == _WITH_HYPOTHESIS[name] else getattr(module, name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
