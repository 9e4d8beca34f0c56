"""Forecasts that are none, or on another scale: what came true, probabilities, other units."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from propercal._data.classes.members import column_of_outcomes, few_outcomes
from propercal._data.inputs.held import Held
from propercal._data.inputs.reading import Names
from propercal._data.words.messages import warn

Floats = npt.NDArray[np.float64]

#: Rows that are not all alike by chance.
_MANY = 20
#: How many times the error that a line would leave errors are, and in which share of rows outcomes
#: lie on one side of all members, where these have other units.
_TIMES, _NEARLY_ALL = 20.0, 0.95
_ROUNDING = 1e-6


def doubt_forecasts(
    values: Floats, outcome: Floats, argument: str, held: Held, names: Names
) -> None:
    """Say what makes forecasts (n, m) look as if they were none of these outcomes (n,)."""
    if _are_outcomes(values, outcome, argument, names):
        return
    _warn_of_column(values, outcome, argument, held, names)
    if not _are_probabilities(values, argument):
        _warn_of_units(values, outcome, argument, names)


def _are_outcomes(values: Floats, outcome: Floats, argument: str, names: Names) -> bool:
    """Say so, and tell, if all forecasts are what came true."""
    if few_outcomes(outcome) or not (values == outcome[:, None]).all():
        return False
    warn(
        f"{argument} is {names.labels} in each of {len(outcome)} rows: what came true, it seems, "
        "of which nothing can be learnt. Pass what was forecast."
    )
    return True


def _warn_of_column(
    values: Floats, outcome: Floats, argument: str, held: Held, names: Names
) -> None:
    """Say which column is likely to be no forecast, as it is what came true in every row."""
    place = column_of_outcomes(values, outcome)
    if place >= 0:
        name = held.columns[place] if held.columns is not None else place
        warn(
            f"Column {name!r} of {argument} is {names.labels} in every row, and is taken for a "
            "forecast that came true each time: drop it if it holds what came true."
        )


def _are_probabilities(values: Floats, argument: str) -> bool:
    """Say so, and tell, if rows are probabilities of classes, which sum to 1."""
    found = (
        len(values) >= _MANY
        and values.shape[1] > 1
        and values.min() >= 0
        and bool((np.abs(values.sum(axis=1) - 1) <= _ROUNDING).all())
        and bool((values % 1 != 0).any() and (values != values[0]).any())
    )
    if found:
        warn(
            f"{argument} has rows between 0 and 1 that sum to 1: probabilities of classes, it "
            "seems, and taken for values of the outcome. Pass them to decompose() if they are."
        )
    return found


def _warn_of_units(values: Floats, outcome: Floats, argument: str, names: Names) -> None:
    """Say so if outcomes are far from all members, and near to a line through their means."""
    n = len(outcome)
    above, below = outcome > values.max(axis=1), outcome < values.min(axis=1)
    share = max(float(above.mean()), float(below.mean()))
    if n < _MANY or share < _NEARLY_ALL:
        return
    centre = values.mean(axis=1)
    error, left = _errors(centre, outcome)
    if error > _TIMES * left and error > _ROUNDING * float(np.abs(outcome).max()):
        side = "above" if above.mean() > _NEARLY_ALL / 2 else "below"
        distance = float(np.abs(outcome - centre).mean())
        warn(
            f"{names.labels} is {side} all values of {argument} in {share:.0%} of {n} rows, by "
            f"{distance:.4g} on average, where a line through their means would leave an error of "
            f"{left:.2g}: other units, it seems, as kelvin and degrees Celsius, which are 273.15 "
            "apart. Bring both into one unit."
        )


def _errors(centre: Floats, outcome: Floats) -> tuple[float, float]:
    """Return the root of the mean square of errors, and of those that a line leaves."""
    x, y = centre - centre.mean(), outcome - outcome.mean()
    squares: Any = float(x @ x)
    slope = float(x @ y) / squares if squares > 0 else 0.0
    left = float(np.sqrt(np.mean((y - slope * x) ** 2)))
    return float(np.sqrt(np.mean((outcome - centre) ** 2))), left
