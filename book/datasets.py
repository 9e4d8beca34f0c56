"""The datasets that are kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from propercal.experiments.datasets import read_dataset

if TYPE_CHECKING:
    import xarray as xr

REFERENCE = Path(__file__).resolve().parents[1] / "studies" / "reference"


def available() -> list[str]:
    """Return the names of the datasets that are kept."""
    return sorted(path.stem for path in REFERENCE.glob("*.nc"))


def kept(name: str) -> xr.Dataset:
    """Return a dataset that is kept, unless it is not the one of its checksum."""
    return read_dataset(REFERENCE / f"{name}.nc")
