"""Dask collections: partitions, what is done with each where it lies, and passes over all."""

from propercal.sketch.dask.partitions import is_dask
from propercal.sketch.dask.passes import as_plan, decompose_blocks
from propercal.sketch.dask.shards import Plan

__all__ = ["Plan", "as_plan", "decompose_blocks", "is_dask"]
