"""Sums of rows in arrays of a fixed shape, which add up number by number.

What a sketch keeps, laid out over all bins of the grid, so that who knows only how to add arrays
(or take the least and the largest of their numbers) can put the rows of several processes together.
Rows of a batch are dealt to folds by a number that is made of their predictions: the sums depend on
the batches, not on their order, nor on who saw them.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._array import ignore_underflow, no_gradient, to_numpy
from propercal._data.inputs.reading import USUAL_NAMES, Names
from propercal._kernels.binning import LARGEST_EXACT, grid_numbers
from propercal.methods import MethodLike
from propercal.recalibration.points import LOG_FLOOR
from propercal.result import Decomposition
from propercal.sketch.accumulator import CalibrationSketch
from propercal.sketch.contents import Contents
from propercal.sketch.convention import Convention
from propercal.sketch.doubts import PARTS, Doubts
from propercal.sketch.first_class import check_doubts, check_for_zero
from propercal.sketch.occurred import Occurred, occurred
from propercal.sketch.relation import Relation, shapes
from propercal.sketch.rows import Pairs, state_of_rows
from propercal.sketch.state import State
from propercal.sketch.tables import PointSums
from propercal.sketch.totals import Totals

Arrays = dict[str, np.ndarray[Any, Any]]
Floats = npt.NDArray[np.float64]

_OUTERMOST = int(grid_numbers(np.array([-LOG_FLOOR]))[0])
#: Bins of the grid.
N_BINS = 2 * _OUTERMOST + 1
#: Sums that say whether columns are in another order.
OF_DOUBTS = PARTS
#: How names of sums begin that say whether predictions tell anything of labels.
_OF_RELATION = "relation_"
#: What is no sum: the least, or the largest, number of all counts.
LEAST, LARGEST = ("low", "bounds"), ("high", "settled")


@dataclass(frozen=True)
class DenseSketch:
    """Settings of a sketch whose sums are held by someone else."""

    sketch: CalibrationSketch
    """Without rows."""
    weighted: bool
    """Whether rows have weights."""
    counted: bool
    """Whether labels are numbers from 0 because nobody said otherwise."""
    called: Names = USUAL_NAMES
    """What warnings call the data."""

    def empty(self) -> Arrays:
        """Return the sums over no rows."""
        frame, k = self.sketch._frame, self.sketch.n_classes
        q, cells = frame.n_problems, (frame.n_problems, N_BINS, frame.n_folds, 2)
        totals = Totals.empty(q)
        arrays = {
            "size": np.zeros(cells, dtype=np.int64),
            "total": np.zeros((q, N_BINS)),
            "low": np.full((q, N_BINS), np.inf),
            "high": np.full((q, N_BINS), -np.inf),
            "sums": totals.sums,
            "bounds": totals.bounds,
            "zeros": totals.zeros,
            "rows": totals.rows,
            # Whether rows were read as of one class, whether as of separate problems, and whether
            # predictions were several columns.
            "settled": np.zeros(3, dtype=np.int64),
            # Rows of each class where tables do not tell, and how many should be of the first.
            "classes": np.zeros(k, dtype=np.int64),
            "of_first": np.zeros(1),
        }
        arrays |= _named(Relation.empty(k))
        doubts = Doubts.empty(k)
        if doubts is not None:
            arrays |= dict(zip(OF_DOUBTS, doubts.sums, strict=True))
        more = {"weights": np.zeros(cells), "squares": np.zeros(cells)} if self.weighted else {}
        return {**arrays, **more}

    @ignore_underflow
    def of_rows(
        self,
        y_true: object,
        y_proba: object,
        sample_weight: object,
        settled: Floats,
        before: Doubts | None = None,
    ) -> Arrays | None:
        """Return the sums over the rows of one batch, None if none counts.

        `settled` says how rows before were read, and `before` with which columns they go.
        """
        sketch = copy.copy(self.sketch)
        sketch._seen = sketch._seen._replace(reading=self._reading(settled))
        read = sketch._read(y_true, y_proba, sample_weight)
        if read is None:
            return None
        pairs, n_odd, reading, _ = read
        with no_gradient(pairs.prob):
            state = state_of_rows(pairs, sketch._frame, sketch.generator, n_odd, _seed(pairs))
        if before is not None and reading.doubts is not None:
            names = reading.classes or range(sketch.n_classes)
            reading.doubts.check_beside(before, list(names), self.called)
        return self._laid_out(state, reading)

    def doubts_in(self, arrays: Mapping[str, Any]) -> Doubts | None:
        """Return those of rows that were summed up; None of many classes."""
        sums = [np.asarray(arrays[name]) for name in OF_DOUBTS if name in arrays]
        return Doubts(*sums) if sums else None

    def _laid_out(self, state: State, reading: Convention) -> Arrays:
        arrays, totals = self.empty(), state.totals
        arrays |= {name: getattr(totals, name) for name in ("sums", "bounds", "zeros", "rows")}
        for i, each in enumerate(state.tables):
            table = each.binned()
            at = table.keys.astype(np.intp) + _OUTERMOST
            for name in ("size", "total", "low", "high"):
                arrays[name][i, at] = getattr(table, name)
            if self.weighted:
                arrays["weights"][i, at] = table.weights
                arrays["squares"][i, at] = table.square_sums
        if reading.separate is not None:
            arrays["settled"][int(reading.separate)] = 1
        arrays["settled"][2] = not reading.single(self.sketch.n_classes)
        arrays["classes"][sorted(reading.occurred.classes)] = 1
        arrays["of_first"][0] = reading.occurred.of_first
        if reading.doubts is not None:
            arrays |= dict(zip(OF_DOUBTS, reading.doubts.sums, strict=True))
        if reading.relation is not None:
            arrays |= _named(reading.relation)
        return arrays

    @ignore_underflow
    def result(self, arrays: Arrays, method: MethodLike, confidence_level: float) -> Decomposition:
        """Decompose the risk of the rows that were summed up."""
        sketch = copy.copy(self.sketch)
        totals = Totals(*(arrays[name] for name in ("sums", "bounds", "zeros", "rows")))
        q = sketch._frame.n_problems
        state = State(totals, [self._table(arrays, i) for i in range(q)], None)
        seen = frozenset(np.flatnonzero(arrays["classes"]).tolist())
        of_all = Occurred(seen, float(arrays["of_first"][0]))
        reading = self._reading(arrays["settled"])._replace(occurred=of_all)
        # What is doubted is said under the names of this holder.
        sketch._seen = Contents(state, reading._replace(doubts=None))
        said, k = False, sketch.n_classes
        if self.counted and not reading.single(k):
            found = occurred(state, sketch.notion, of_all)
            said = check_for_zero(found, k, reading.classes, None, self.called)
        sums = {name: arrays[f"{_OF_RELATION}{name}"] for name in shapes(k)}
        doubted = reading._replace(doubts=self.doubts_in(arrays), relation=Relation(sums))
        check_doubts(doubted, k, said=said, listed=not self.counted, called=self.called)
        return sketch.result(method=method, confidence_level=confidence_level)

    def _table(self, arrays: Arrays, i: int) -> PointSums:
        """Return a table of the bins in use, or of the predictions if each bin has one value."""
        size = arrays["size"][i]
        used = np.flatnonzero(size.any(axis=(1, 2)))
        low, high = arrays["low"][i, used], arrays["high"][i, used]
        exact = len(used) <= LARGEST_EXACT and bool((low == high).all())
        keys = low if exact else (used - _OUTERMOST).astype(np.float64)
        weight, squares = (
            (arrays[name][i, used] for name in ("weights", "squares"))
            if self.weighted
            else (None, None)
        )
        return PointSums(
            exact, keys, arrays["total"][i, used], low, high, size[used], weight, squares
        )

    def _reading(self, settled: Any) -> Convention:
        """Return how rows are read after some that settled so much."""
        one_class, separate, several = (bool(each) for each in settled)
        names = self.sketch._seen.reading.classes
        settled = separate if one_class or separate else None
        doubts = Doubts.empty(self.sketch.n_classes) if self.counted else None
        return Convention(names, settled, unnamed=several, doubts=doubts)


def _named(relation: Relation) -> Arrays:
    return {f"{_OF_RELATION}{name}": each for name, each in relation.sums.items()}


def _seed(pairs: Pairs) -> int:
    """Return a number, not 0, made of the predictions of a batch."""
    return 1 + zlib.crc32(np.ascontiguousarray(to_numpy(pairs.prob)).tobytes())
