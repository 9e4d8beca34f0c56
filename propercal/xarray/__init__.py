"""Many decompositions at once, of labelled arrays of any dimensions.

``import propercal`` gives data arrays and datasets of xarray an accessor, ``.propercal``, which
calls these functions.
"""

from propercal.xarray.accessor import DataArrayAccessor, DatasetAccessor
from propercal.xarray.functions import calibration_test, decompose, paired_difference

__all__ = [
    "DataArrayAccessor",
    "DatasetAccessor",
    "calibration_test",
    "decompose",
    "paired_difference",
]
