"""The rows, bases and directions in which a misfit of recalibrations is looked for."""

from __future__ import annotations

from collections.abc import Sequence

from propercal._array import like, namespace
from propercal._methods.cross_fitting import CrossFits
from propercal._methods.misfit import (
    LARGEST_DIRECTION,
    JudgedRows,
    Misfit,
    find_misfit,
)
from propercal._methods.sampling import Judged, searched
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.recalibration.built_in import directions_for
from propercal.recalibration.descent import Floats
from propercal.recalibration.points import Points
from propercal.recalibration.terms import Terms


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
        rows = []
        for f, part in enumerate(parts):
            outer = [
                fits.combined(frozenset({e}), [weights[e]], points[f])[0] for e in range(len(parts))
            ]
            inner = [
                fits.combined(frozenset({f, e}), [weights[f]], points[f])[0]
                for e in range(len(parts))
                if e != f
            ]
            rows.append(_judged(fits, part, f, outer, inner))
        found.append(find_misfit(generator, rows, terms))
    return found


def _judged(
    fits: CrossFits, part: Judged, fold: int, outer: Sequence[Array], inner: Sequence[Array]
) -> JudgedRows:
    sources, rows = fits.sources, part.rows
    xp, index = namespace(outer[0]), like(rows, outer[0])
    squares = part.weight**2
    if fits.table is not None:
        total = float(xp.sum(fits.table.weight))
        squares = xp.take(fits.table.squares, index) / total**2
    return JudgedRows(
        xp.take(sources.label, index),
        part.weight,
        squares,
        outer[fold],
        outer,
        inner,
        None if sources.group is None else sources.group[rows],
    )


def _terms(fits: CrossFits, points: Sequence[Points]) -> list[list[Terms]]:
    """Return the functions of each direction at the points of each fold, as far as they fit."""
    found = []
    n = sum(each.prob.shape[0] for each in points)
    for direction in directions_for(fits.sources.n_classes):
        make_terms = direction(fits.whole)
        few = make_terms(points[0].part(slice(0, 1))).n_terms
        if few * few * (n + few) <= LARGEST_DIRECTION:
            found.append([each.terms(make_terms) for each in points])
    return found
