"""Dask collections: partitions, what is done with each where it lies, and passes over all."""

from propercal.sketch.dask.partitions import is_dask
from propercal.sketch.dask.passes import check_settings, decompose_blocks
from propercal.sketch.dask.shards import Plan

__all__ = ["Plan", "check_settings", "decompose_blocks", "is_dask"]
