"""What a monitor has seen of one stream: the state of its bets, and how rows were read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._data.classes.from_zero import are_in_doubt, are_numbered_from_0, warn_of_no_zero
from propercal.monitor.repetition import MOST, last_of
from propercal.monitor.rows import Read
from propercal.monitor.settings import Settings
from propercal.monitor.state import Limits, State
from propercal.monitor.times import Times
from propercal.monitor.times import joined as joined_times
from propercal.sketch.class_order import listed_names
from propercal.sketch.convention import Convention, Joined, joined
from propercal.sketch.first_class import check_doubts, check_zeros
from propercal.sketch.repetition import Known

_LATER = Joined("later", "a monitor")
#: Rows in which a class that the model can predict has some probability.
_MANY = 100


class Contents(NamedTuple):
    """Rows that a monitor has seen; nothing is changed in place."""

    state: State
    reading: Convention
    occurred: npt.NDArray[np.int64]
    """(k,) how often each class occurred."""
    expected: float
    """How many rows should be of class 0 by their predictions."""
    times: Times | None = None
    """Those of the first and the last row that have one."""
    last: tuple[int, ...] = ()
    """Numbers of the last rows, by which they are known again."""
    first: Known = Known()
    """What the first rows are known again by."""
    doubted: bool = False
    """Whether a warning said that columns are rather in another order, which is said once."""
    told_zeros: bool = False
    """Whether a warning said that columns are 0 in all rows, which is said once too."""

    @classmethod
    def empty(cls, own: Settings) -> Contents:
        """Return those of no rows."""
        names = listed_names(own.labels, own.n_classes, own.pos_label)
        state = State.empty(own.n_problems, own.n_outcomes)
        return cls(state, Convention(names), np.zeros(own.n_classes, dtype=np.int64), 0.0)

    def after(self, found: Read, limits: Limits) -> Contents:
        """Return them after rows more."""
        return Contents(
            self.state.after(found.rows, limits),
            found.reading,
            self.occurred + found.occurred,
            float(np.add.accumulate([self.expected, *found.of_class_0])[-1]),
            joined_times(self.times, found.times),
            last_of(self.last, found.digests),
            self.first,
            self.doubted,
            self.told_zeros,
        )

    def plus(self, later: Contents, own: Settings, limits: Limits) -> Contents:
        """Return them after the rows of both, those of `later` being the later ones, or raise."""
        if not later.state.n_rows:
            return self
        if not self.state.n_rows:
            return later
        said = own.labels is not None or own.pos_label is not None
        return Contents(
            self.state.plus(later.state, limits),
            joined(self.reading, later.reading, n_classes=own.n_classes, said=said, by=_LATER),
            self.occurred + later.occurred,
            self.expected + later.expected,
            joined_times(self.times, later.times),
            (*self.last, *later.last)[-MOST:],
            self.first.followed_by(later.first),
            self.doubted or later.doubted,
            self.told_zeros or later.told_zeros,
        )

    def looked_at(self, own: Settings) -> Contents:
        """Warn as memory does, where predictions do not go with how labels were read."""
        said = self._look_for_zero(own)
        told_zeros = self.told_zeros or self._look_for_zeros(own)
        doubted = self.doubted
        if not doubted:
            listed = own.labels is not None
            how: Any = {"said": said, "listed": listed, "often": True}
            doubted = check_doubts(self.reading, own.n_classes, **how)
        return self._replace(doubted=doubted, told_zeros=told_zeros)

    def _look_for_zeros(self, own: Settings) -> bool:
        """Warn, and tell, where columns are 0 in all rows and of no label, unless rows are few."""
        reading = self.reading
        if own.labels is not None or own.from_logits or reading.separate is True:
            return False
        if self.state.n_rows < _MANY or reading.columns is None:
            return False
        empty = reading.ruled_out or frozenset()
        return check_zeros(reading.columns, empty, np.flatnonzero(self.occurred).tolist())

    def _look_for_zero(self, own: Settings) -> bool:
        """Warn, and tell, where labels may count columns from 0 or from 1."""
        names, columns = self.reading.classes, self.reading.columns
        counted = names is not None and list(names) == list(range(own.n_classes))
        if own.labels is not None or not counted or self.reading.single(own.n_classes):
            return False
        occurring = {int(i) for i in np.flatnonzero(self.occurred)}
        if not are_in_doubt(occurring, own.n_classes) or are_numbered_from_0(columns):
            return False
        return warn_of_no_zero(self.expected, own.n_classes, "y_true", "y_proba")
