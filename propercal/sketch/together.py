"""Sketches of the same rows for several generators, which share what does not depend on these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from propercal._array import ignore_underflow
from propercal.methods import MethodLike
from propercal.result import Decomposition
from propercal.sketch.accumulator import CalibrationSketch
from propercal.sketch.contents import ENOUGH
from propercal.sketch.result import share
from propercal.sketch.tables import PointSums


@ignore_underflow
def update_together(
    sketches: Sequence[CalibrationSketch],
    y_true: object,
    y_proba: object,
    sample_weight: object = None,
) -> None:
    """Add rows to empty sketches that differ by their generators and bandwidths alone."""
    read = sketches[0]._read(y_true, y_proba, sample_weight)
    if read is None:
        return
    tables: Sequence[PointSums] | None = None
    for sketch in sketches:
        sketch._seen = sketch._with_rows(read, tables)
        if read.pairs.n_samples >= ENOUGH:
            tables = sketch._seen.state.tables


def results_together(
    sketches: Sequence[CalibrationSketch], method: MethodLike, confidence_level: float
) -> Iterator[Decomposition]:
    """Decompose the risks of sketches of the same rows, which differ as above."""
    asked = share(sketches[0]._state, [each._asked(method) for each in sketches])
    for sketch, each in zip(sketches, asked, strict=True):
        yield sketch._answered(each, confidence_level)
