"""Checks of generators against every law, strategies for data, and metamorphic transforms.

Needs Hypothesis, but not pytest.

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

try:
    import hypothesis  # noqa: F401
except ImportError as error:
    raise ImportError(
        "propercal.testing draws its examples with Hypothesis, which is not installed; run "
        '`pip install "propercal[testing]"`.'
    ) from error

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
    "check_generator",
    "label_forms",
    "parametrize_with_checks",
    "strategies",
    "transforms",
]
