"""The rows, bases and directions in which a misfit of recalibrations is looked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from propercal._array import is_numpy, like, namespace, to_numpy
from propercal._methods.cross_fitting import CrossFits
from propercal._methods.fold_sums import Sources
from propercal._methods.misfit import (
    LARGEST_DIRECTION,
    NOTHING,
    JudgedRows,
    Misfit,
    find_misfit,
)
from propercal._methods.sampling import Judged, searched
from propercal._methods.variance import half_spread
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.recalibration.built_in import directions_for
from propercal.recalibration.descent import Floats
from propercal.recalibration.logit import Terms
from propercal.recalibration.points import Points


def misfits(
    fits: CrossFits, stacks: Sequence[Sequence[Floats]], generators: Sequence[BregmanGenerator]
) -> list[Misfit]:
    """Look for what the stacked recalibrations of each generator leave unexplained."""
    sources = fits.sources
    parts = searched(sources)
    points = [sources.points.take(like(part.rows, sources.points.prob)) for part in parts]
    terms = _terms(fits, points)
    found = []
    for i, generator in enumerate(generators):
        weights = [stack[i] for stack in stacks]
        rows, spread = [], 0.0
        for f, part in enumerate(parts):
            outer = [
                fits.combined(frozenset({e}), [weights[e]], points[f])[0]
                for e in range(len(parts))
            ]
            inner = [
                fits.combined(frozenset({f, e}), [weights[f]], points[f])[0]
                for e in range(len(parts))
                if e != f
            ]
            rows.append(_judged(fits, part, outer[f], inner))
            v = half_spread(generator, outer)
            spread += float(namespace(v).sum(part.weight * v))
        found.append(find_misfit(generator, rows, terms, spread))
    return found
