"""What a monitor was made with: checked, and compared with that of another."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np

from propercal._data.inputs.settings import check_flag, check_names, names_given
from propercal._data.predictions.links import check_link
from propercal._data.predictions.notions import Notion, as_notion
from propercal._data.words.messages import bad_value
from propercal.generators.base import BregmanGenerator
from propercal.sketch.settings import fixed_values, same_values


class Settings(NamedTuple):
    """Arguments of a monitor, but for the generator."""

    n_classes: int
    alpha: float
    notion: str
    run_length: float
    labels: list[Any] | None
    pos_label: Any
    from_logits: bool
    link: str | None
    first_row: int

    @classmethod
    def of(
        cls,
        n_classes: Any,
        alpha: Any,
        notion: str,
        run_length: Any,
        labels: Sequence[Any] | None,
        pos_label: Any,
        from_logits: bool,
        link: str | None,
        first_row: Any,
    ) -> Self:
        """Check them."""
        if n_classes is None:
            if labels is None:
                raise bad_value("n_classes", None, "the number of classes", "pass it, or labels")
            n_classes = len(np.atleast_1d(names_given(labels)))
        k = _whole("n_classes", n_classes, 2, "count the columns of y_proba")
        check_flag("from_logits", from_logits)
        check_link(link, from_logits)
        names = check_names(labels, k)
        return cls(
            k,
            _between("alpha", alpha, 0.0, 1.0, "0.05 is usual"),
            # By its name, which is all that bytes can hold.
            as_notion(as_notion(notion).name).name,
            _between("run_length", run_length, 1.0, 1e300, "10000 is usual"),
            None if names is None else list(names),
            pos_label.item() if isinstance(pos_label, np.generic) else pos_label,
            bool(from_logits),
            link,
            _whole("first_row", first_row, 0, "count rows from 0", 2**62),
        )

    @property
    def reduction(self) -> Notion:
        """The notion."""
        return as_notion(self.notion)

    @property
    def n_outcomes(self) -> int:
        """Outcomes of a problem."""
        return self.reduction.n_outcomes(self.n_classes)

    @property
    def n_problems(self) -> int:
        """Problems of a row."""
        return self.reduction.n_problems(self.n_classes)


def check_same(
    mine: Settings, other: Settings, generator: BregmanGenerator, others: BregmanGenerator
) -> None:
    """Raise unless two monitors were made alike, but for the number of their first row."""
    fix = "merge monitors of the same settings"
    for name, value in mine._asdict().items():
        found = getattr(other, name)
        if name != "first_row" and found != value:
            raise bad_value(
                "later", f"a monitor with {name} = {found!r}", f"{name} = {value!r}", fix
            )
    values, its = (fixed_values(each, mine.n_classes) for each in (generator, others))
    if not same_values(values, its):
        found = f"a monitor with generator = {others!r}"
        raise bad_value("later", found, f"{generator!r}", fix)


def check_follows(mine: Settings, later: Settings, n_rows: int) -> None:
    """Raise unless the first row of the later monitor is the one after the `n_rows` of this one."""
    following = mine.first_row + n_rows
    if later.first_row != following:
        raise bad_value(
            "later",
            f"a monitor whose first row has the number {later.first_row}",
            f"{following}, that of the row after the last of this one",
            "say first_row=... when it is made, and merge parts in the order of time",
        )


def _whole(argument: str, value: Any, least: int, fix: str, most: int | None = None) -> int:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        expected = f"a whole number, {least} or more" + (f" and at most {most}" if most else "")
        raise bad_value(argument, repr(value), expected, fix)
    return int(value)


def _between(argument: str, value: Any, low: float, high: float, fix: str) -> float:
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not low < float(value) < high:
        raise bad_value(argument, repr(value), f"a number between {low:g} and {high:g}", fix)
    return float(value)
