"""Rows of one update of a sketch: read as those before them were, and added to what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from propercal._array import no_gradient
from propercal._data.predictions.weights import weighted_by_both
from propercal._data.words.advice import advises
from propercal._data.words.messages import bad_value
from propercal.generators.base import BregmanGenerator
from propercal.sketch.chunk_reading import read_rows
from propercal.sketch.contents import ENOUGH, Contents
from propercal.sketch.convention import Convention
from propercal.sketch.occurred import Occurred, tables_tell
from propercal.sketch.repetition import Trace
from propercal.sketch.rows import Pairs, check_weights, pairs_of, pending_rows, state_of_rows
from propercal.sketch.state import Frame
from propercal.sketch.tables import PointSums


class Update(NamedTuple):
    """Rows that were read."""

    pairs: Pairs
    n_odd: int
    """Rows of separate problems."""
    reading: Convention
    """What they settle about rows to come."""
    trace: Trace
    """What they are known again by."""


@advises("labels", "pos_label", "from_logits", "link", "notion", "bandwidth")
def read_update(
    y_true: object,
    y_proba: object,
    sample_weight: object,
    *,
    notion: str,
    has_nodes: bool,
    reading: Convention,
    **given: Any,
) -> Update | None:
    """Return rows as pairs; None of no rows. `given` is for `read_rows`."""
    if sample_weight is not None and has_nodes:
        raise bad_value(
            "sample_weight",
            f"a {type(sample_weight).__name__}",
            "None in a sketch of a bandwidth, since its nodes have no weights of rows",
            'make the sketch without a bandwidth, for method="debiased"',
        )
    read = read_rows(y_true, y_proba, reading=reading, sample_weight=sample_weight, **given)
    if read is None:
        return None
    rows, settled, weight = read
    check_weights(weight)
    given_now = frozenset({weight is not None})
    settled = settled._replace(weighted=weighted_by_both(reading.weighted, given_now))
    if not tables_tell(notion):
        settled = settled._replace(occurred=settled.occurred.plus(Occurred.of(rows)))
    with no_gradient(rows.prob):
        pairs = pairs_of(rows, notion, weight)
    n_odd = rows.n_samples if rows.multilabel else 0
    return Update(pairs, n_odd, settled, Trace.of(rows, weight))


def after_update(
    seen: Contents,
    update: Update,
    frame: Frame,
    generator: BregmanGenerator,
    tables: Sequence[PointSums] | None = None,
) -> Contents:
    """Return what will have been seen after these rows; `tables` are theirs, where known.

    A warning says where they came before.
    """
    pairs, n_odd, reading, trace = update
    seen = seen._replace(known=seen.known.after(trace))
    with no_gradient(pairs.prob):
        if pairs.n_samples < ENOUGH:
            return seen.with_rows(pending_rows(pairs, generator, n_odd), frame, reading)
        new = state_of_rows(pairs, frame, generator, n_odd, seen.state.n_samples, tables)
        return seen.with_state(new, reading)
