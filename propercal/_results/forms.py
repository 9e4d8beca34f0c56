"""The forms that every result has: numbers for a log, a table, JSON, a dataset and a page."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from propercal._results.flat import flat_numbers
from propercal._results.frames import as_frame
from propercal._results.pages import Page, as_page
from propercal._results.plain import as_plain

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class Result(ABC):
    """What is computed, in the forms that other tools take.

    All are made of two: the dataset of :meth:`to_xarray`, and the table that is printed.
    """

    #: The dimension whose places are the rows of a frame; None where each number has a row.
    _along: ClassVar[str | None] = None

    @abstractmethod
    def to_xarray(self) -> xr.Dataset:
        """Return the numbers as a dataset, with intervals, units and settings."""

    def to_dict(self) -> dict[str, float]:
        """Return the numbers as flat floats, such as ``mlflow.log_metrics`` and ``wandb.log`` take.

        Returns
        -------
        dict of str to float
            What :meth:`to_xarray` has: ``risk``; the ends of its interval, ``risk_lower`` and
            ``risk_upper``; and settings that are numbers, as ``n_samples``. What there is of each
            group, class, model, pair or bin has these before its name: ``group/a/risk``. In names
            of these, signs of comparison are words (``group/below 50/risk``), and other characters
            that trackers refuse are underscores; names that become one have a number made of the
            name after them. What is infinite or not a number is left out, since trackers would
            keep another number for it: :meth:`to_json` has it.
        """
        return flat_numbers(self.to_xarray())

    def to_frame(self) -> pd.DataFrame:
        """Return the numbers as a table of pandas.

        Returns
        -------
        pandas.DataFrame
            A row for each group, model, term or bin, where there are such; else one for each
            number, with columns "value", and "standard_error", "lower" and "upper" where there are
            intervals. Settings are in ``attrs``.
        """
        return as_frame(self._tabular(), self._along)

    def to_json(self) -> str:
        """Return all that :meth:`to_xarray` has as text of JSON.

        Returns
        -------
        str
            An object: the settings, and each number, or list of numbers, by its name. Infinite and
            undefined numbers are the strings ``"Infinity"``, ``"-Infinity"`` and ``"NaN"``, since
            JSON has no such numbers.
        """
        found = {"result": type(self).__name__, **as_plain(self.to_xarray())}
        return json.dumps(found, allow_nan=False)

    def _repr_html_(self) -> str:
        return as_page(self._page())

    def _tabular(self) -> xr.Dataset:
        """Return the dataset that a frame is made of."""
        return self.to_xarray()

    @abstractmethod
    def _page(self) -> Page:
        """Return the table that a notebook shows."""


def settings_of(owner: Any, *names: str) -> dict[str, Any]:
    """Return attributes of a result that are settings, without those that are None."""
    found = {name: getattr(owner, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}
