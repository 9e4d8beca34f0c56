"""The accessor of xarray is there once both packages are imported, in any order."""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings
from typing import Any

import pytest
import xarray as xr

import propercal
import propercal.xarray
from propercal._accessor import install_accessors
from theory_tests.contracts.labelled_data import DATA, P


def test_signatures_show_all_arguments() -> None:
    rows = set(inspect.signature(propercal.decompose).parameters) - {"sample_weight", "class_axis", "sample_dims"}
    for found in (propercal.xarray.decompose, DATA.propercal.decompose):
        assert rows <= set(inspect.signature(found).parameters)
    assert list(inspect.signature(P.propercal.decompose).parameters)[:2] == ["y_true", "class_dim"]


ORDERS = [
    "import propercal, sys; assert not {'xarray', 'pandas'} & set(sys.modules); import xarray.core",
    "import xarray, propercal",
]


@pytest.mark.parametrize("order", ORDERS)
def test_the_accessor_is_there_once_both_are_imported(order: str) -> None:
    code = f"{order}\nimport xarray\nassert xarray.Dataset.propercal.__name__ == 'DatasetAccessor'\n"
    code += "assert xarray.DataArray.propercal.__name__ == 'DataArrayAccessor'\n"
    code += "assert type(xarray.__spec__.loader) is type(xarray.core.__spec__.loader)\nxarray.Dataset()._repr_html_()\n"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_registering_again_changes_nothing() -> None:
    kind: Any = xr.Dataset
    before = kind.propercal
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        install_accessors()
    assert kind.propercal is before


def test_who_only_looks_finds_what_the_loader_of_xarray_has() -> None:
    code = (
        "import propercal, pkgutil, sys; from importlib.util import find_spec; "
        "assert 'xarray' not in sys.modules; loader = find_spec('xarray').loader; "
        "assert pkgutil.get_data('xarray', 'py.typed') is not None; "
        "assert loader.get_source('xarray') and loader.is_package('xarray')"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0
