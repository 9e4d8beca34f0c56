"""Dask collections: partitions, what is done with each where it lies, and passes over all."""

from propercal.sketch.dask.partitions import is_dask
from propercal.sketch.dask.passes import as_plan, decompose_blocks

__all__ = ["as_plan", "decompose_blocks", "is_dask"]
