"""Whether epochs can be compared: rows, numbers and settings; and what is kept of one."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from numbers import Real
from typing import Any

import numpy as np

from propercal._array import is_torch
from propercal._data.words.messages import bad_value, warn
from propercal._methods.method import Method
from propercal.result import Decomposition

#: How many rows an epoch was measured on, and the uncertainty, which their labels alone settle.
Rows = tuple[int, float]


def rows_of(result: Decomposition) -> Rows:
    """Return what tells the rows of an epoch, in whatever order they are."""
    return int(result.n_samples), float(result.uncertainty)


def warn_of_other_rows(before: Rows | None, rows: Rows) -> None:
    """Warn where rows are others than in the epoch before, on which epochs are not compared."""
    if before is None:
        return
    if before[0] == rows[0] and math.isclose(before[1], rows[1], rel_tol=1e-6):
        return
    warn(
        f"y_true of {rows[0]} rows of this epoch are others than those of the epoch before, "
        f"{before[0]} rows: epochs are compared on the same rows. Measure each epoch once, on all "
        "validation rows (not on some that a loader draws anew), and reset() for others."
    )


def number_of(epoch: Any, history: Sequence[Mapping[str, float]]) -> int:
    """Return the number of an epoch, or raise; warn where it goes back."""
    if epoch is None:
        return len(history)
    if not isinstance(epoch, int | np.integer) or isinstance(epoch, bool):
        raise bad_value(
            "epoch", repr(epoch), "a whole number", "leave it out, and epochs are counted"
        )
    if history and epoch < history[-1]["epoch"]:
        warn(
            f"epoch = {epoch} comes after epoch {history[-1]['epoch']:g}, and is compared with all "
            "epochs before, of which weights and patience go on. Call reset() before another "
            "training, or load_state_dict() with the state of the epoch that it goes on from."
        )
    return int(epoch)


def check_state(state: Any, names: AbstractSet[str], said: Mapping[str, Any]) -> None:
    """Raise unless a state has what is written, and is of these settings."""
    if not isinstance(state, Mapping) or not names <= set(state):
        found = f"a {type(state).__name__}"
        if isinstance(state, Mapping):
            found = f"a dictionary of {sorted(map(str, state))[:9]}"
        raise bad_value(
            "state_dict",
            found,
            "what state_dict() of a LeastRefinement returned",
            "pass that; a module has its own load_state_dict()",
        )
    # Of earlier versions there are none.
    for name, value in state.get("settings", {}).items():
        if name in said and value != said[name]:
            raise bad_value(
                "state_dict",
                f"that of a training with {name} = {value!r}",
                f"{name} = {said[name]!r}",
                "make this object with the arguments of that training",
            )


def settings_said(method: Method) -> dict[str, Any]:
    """Return all settings of a method as plain values; objects as what they are shown as."""
    return {name: _plain(getattr(method, name)) for name in method.defaults()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    # Where an object is in memory differs from one run to the next.
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(value))


def on_cpu(state: Mapping[str, Any]) -> dict[str, Any]:
    """Copy the state of a module, tensors to the CPU."""
    return {
        name: value.detach().to("cpu", copy=True) if is_torch(value) else copy.deepcopy(value)
        for name, value in state.items()
    }


def check_patience(patience: Any) -> int | None:
    """Return a number of epochs, or None, or raise."""
    if patience is None:
        return None
    whole = isinstance(patience, int | np.integer) and not isinstance(patience, bool)
    if not whole or patience < 1:
        raise bad_value(
            "patience",
            repr(patience),
            "a whole number of epochs, 1 or more, or None",
            "10 is usual",
        )
    return int(patience)


def check_min_delta(min_delta: Any) -> float:
    """Return a number ≥ 0, or raise."""
    number = isinstance(min_delta, Real) and not isinstance(min_delta, bool)
    if not number or not 0 <= float(min_delta) < math.inf:
        raise bad_value("min_delta", repr(min_delta), "a number ≥ 0", "0 is usual")
    return float(min_delta)
