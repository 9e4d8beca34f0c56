"""The terms of groups of rows: each by itself, what they add up to, and which is the worst."""

from propercal.subgroups.bins import quantile_groups
from propercal.subgroups.grouped import decompose_groups
from propercal.subgroups.result import GroupDecomposition, Part
from propercal.subgroups.worst import WorstGroupTest

__all__ = [
    "GroupDecomposition",
    "Part",
    "WorstGroupTest",
    "decompose_groups",
    "quantile_groups",
]
