"""Bregman generators: the convex functions F whose losses and divergences are measured.

Built in are :class:`Log`, :class:`Brier`, :class:`Spherical`, :class:`Tsallis`,
:class:`ItakuraSaito`, :class:`RankedProbability` and :class:`Quadratic`. A new one is a subclass of
:class:`BregmanGenerator`, or a function given to :func:`from_function`; :func:`register` gives a
class a name.

>>> from propercal.generators import Brier, Log
>>> 2 * Log() + Brier()
2.0*Log() + Brier()
"""

from propercal.generators.base import BregmanGenerator
from propercal.generators.closed_form import (
    Brier,
    ItakuraSaito,
    Log,
    Quadratic,
    Spherical,
    Tsallis,
)
from propercal.generators.function import from_function
from propercal.generators.ranked import RankedProbability
from propercal.generators.registry import as_generator, available, register

__all__ = [
    "BregmanGenerator",
    "Brier",
    "ItakuraSaito",
    "Log",
    "Quadratic",
    "RankedProbability",
    "Spherical",
    "Tsallis",
    "as_generator",
    "available",
    "from_function",
    "register",
]
