"""Dask collections: partitions, what is done with each where it lies, and passes over all."""

from propercal.cluster.partitions import is_dask
from propercal.cluster.passes import check_settings, decompose_blocks
from propercal.cluster.shards import Plan

__all__ = ["Plan", "check_settings", "decompose_blocks", "is_dask"]
