"""Which of two estimates of a known calibration error is nearer to it, sample by sample."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.stats import t as student

LEVEL = 0.05


class Contest(NamedTuple):
    """In how many cells one estimate has the smaller mean squared error, at the 5 % level."""

    wins: int
    losses: int
    undecided: int

    @property
    def said(self) -> str:
        """Say whether the first one is the better one."""
        if self.wins and self.losses:
            return "holds in part" if self.wins >= self.losses else "mostly fails"
        if self.losses:
            return "fails"
        if not self.wins:
            return "not shown"
        return "holds where told apart" if self.undecided else "holds"


def contest(summary: xr.Dataset, ours: str, theirs: str) -> Contest:
    """Compare two estimates in every cell, by Student's t of squared errors of the same samples."""
    error = (summary["calibration_error"] - summary["truth"]) ** 2
    saved = error.sel({"estimator": theirs}) - error.sel({"estimator": ours})
    n = saved.notnull().sum("replicate")
    mean = saved.mean("replicate")
    spread = saved.std("replicate", ddof=1) / np.sqrt(n)
    sure = np.abs(mean) > student.ppf(1 - LEVEL / 2, n - 1) * spread
    wins, losses = int((sure & (mean > 0)).sum()), int((sure & (mean < 0)).sum())
    return Contest(wins, losses, mean.size - wins - losses)


def sum_of(contests: list[Contest]) -> Contest:
    """Return all cells of several comparisons."""
    return Contest(*(sum(each) for each in zip(*contests, strict=True)))
