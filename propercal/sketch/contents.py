"""What a sketch has seen: a state, and a few rows that wait to be added to it.

To add rows to the state costs about the same whether they are one or a hundred, so they wait until
there are enough. Nothing is changed in place: what reads a sketch while another thread updates it,
or a copy of it, sees the rows of one moment.
"""

from __future__ import annotations

from typing import NamedTuple

from propercal.sketch.convention import Convention, joined
from propercal.sketch.origins import Origins, new_origin, origins_of_both
from propercal.sketch.repetition import Known
from propercal.sketch.rows import PendingRows, state_of_pending
from propercal.sketch.state import Frame, State

#: Rows that are fewer wait: to place them one by one would cost more than to copy the state.
ENOUGH = 256


class Contents(NamedTuple):
    """Rows that a sketch has seen."""

    state: State
    reading: Convention
    waiting: tuple[PendingRows, ...] = ()
    n_waiting: int = 0
    origins: Origins = ()
    """Numbers of the sketches that they came by; none of no rows."""
    known: Known = Known()
    """What they are known again by."""

    @property
    def n_samples(self) -> int:
        """How many."""
        return self.state.n_samples + self.n_waiting

    def with_rows(self, rows: PendingRows, frame: Frame, reading: Convention) -> Contents:
        """Return this with a few rows more."""
        n = self.n_waiting + len(rows.losses.loss)
        more = self._replace(reading=reading, waiting=(*self.waiting, rows), n_waiting=n)
        return more._with_origin()._settled(frame)

    def with_state(self, new: State, reading: Convention) -> Contents:
        """Return this with the sums of many rows more."""
        return self._replace(state=self.state.plus(new), reading=reading)._with_origin()

    def plus(self, other: Contents, frame: Frame, *, n_classes: int, said: bool) -> Contents:
        """Return this with what another sketch has seen; rows that wait go on waiting.

        `said` says that the caller named the classes.
        """
        origins = origins_of_both(self.origins, other.origins)
        reading = self.reading
        if self.n_samples == 0:
            reading = other.reading
        elif other.n_samples:
            reading = joined(reading, other.reading, n_classes=n_classes, said=said)
        waiting = (*self.waiting, *other.waiting)
        n = self.n_waiting + other.n_waiting
        known = self.known.plus(other.known)
        more = Contents(self.state.plus(other.state), reading, waiting, n, origins, known)
        return more._settled(frame)

    def _with_origin(self) -> Contents:
        return self if self.origins else self._replace(origins=new_origin())

    def _settled(self, frame: Frame) -> Contents:
        """Return the same, with no rows that wait if they are enough."""
        if self.n_waiting < ENOUGH:
            return self
        return self._replace(state=self.summed(frame), waiting=(), n_waiting=0)

    def summed(self, frame: Frame) -> State:
        """Return the state that has seen all of them."""
        if not self.waiting:
            return self.state
        more = state_of_pending(self.waiting, frame, self.state.n_samples)
        return self.state.plus(more)
