"""The accessor ``.propercal`` of data arrays and datasets."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from propercal._data.words.messages import bad_value, unknown_name
from propercal.xarray import functions
from propercal.xarray.signatures import as_method_of

if TYPE_CHECKING:
    import xarray as xr


class DataArrayAccessor:
    """Predicted probabilities, with what occurred as the first argument of each method.

    Examples
    --------
    >>> import propercal
    >>> import xarray as xr
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y, g, _ = TemperatureScaledSimplex(3).sample(500, random_state=0)
    >>> y, g = xr.DataArray(y, dims="row"), xr.DataArray(g, dims=("row", "class"))
    >>> g.propercal.calibration_test(y, random_state=0).pvalue.item() < 0.05
    True
    """

    def __init__(self, y_proba: xr.DataArray) -> None:
        self._array = y_proba

    @as_method_of(functions.decompose, without=("y_proba",))
    def decompose(self, y_true: xr.DataArray, **options: Any) -> xr.Dataset:
        """Call :func:`propercal.xarray.decompose` with these predictions."""
        return functions.decompose(y_true, self._array, **options)

    @as_method_of(functions.calibration_test, without=("y_proba",))
    def calibration_test(self, y_true: xr.DataArray, **options: Any) -> xr.Dataset:
        """Call :func:`propercal.xarray.calibration_test` with these predictions."""
        return functions.calibration_test(y_true, self._array, **options)

    @as_method_of(functions.paired_difference, without=("y_proba_a",))
    def paired_difference(
        self, y_true: xr.DataArray, y_proba_b: xr.DataArray, **options: Any
    ) -> xr.Dataset:
        """Call :func:`propercal.xarray.paired_difference` with these predictions as the first."""
        return functions.paired_difference(y_true, self._array, y_proba_b, **options)


class DatasetAccessor:
    """Labels and predictions of one dataset, by the names of its variables.

    Examples
    --------
    >>> import propercal
    >>> import xarray as xr
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y, g, _ = TemperatureScaledSimplex(3).sample(500, random_state=0)
    >>> data = xr.Dataset({"label": ("row", y), "forecast": (("row", "class"), g)})
    >>> found = data.propercal.decompose("label", "forecast", generator=["log", "brier"])
    >>> found.risk.dims
    ('generator',)
    """

    def __init__(self, data: xr.Dataset) -> None:
        self._data = data

    @as_method_of(functions.decompose)
    def decompose(self, y_true: Any, y_proba: Any, **options: Any) -> xr.Dataset:
        """Call :func:`propercal.xarray.decompose` with variables of the dataset.

        `y_true`, `y_proba`, `weights` and `groups` are names of these, or data arrays.
        """
        named = self._named(y_true=y_true, y_proba=y_proba)
        return functions.decompose(*named, **self._options(options))

    @as_method_of(functions.calibration_test)
    def calibration_test(self, y_true: Any, y_proba: Any, **options: Any) -> xr.Dataset:
        """Call :func:`propercal.xarray.calibration_test` with variables of the dataset.

        `y_true`, `y_proba`, `weights` and `groups` are names of these, or data arrays.
        """
        named = self._named(y_true=y_true, y_proba=y_proba)
        return functions.calibration_test(*named, **self._options(options))

    @as_method_of(functions.paired_difference)
    def paired_difference(
        self, y_true: Any, y_proba_a: Any, y_proba_b: Any, **options: Any
    ) -> xr.Dataset:
        """Call :func:`propercal.xarray.paired_difference` with variables of the dataset.

        `y_true`, `y_proba_a`, `y_proba_b`, `weights` and `groups` are names of these, or data
        arrays.
        """
        named = self._named(y_true=y_true, y_proba_a=y_proba_a, y_proba_b=y_proba_b)
        return functions.paired_difference(*named, **self._options(options))

    def _named(self, **given: Any) -> list[Any]:
        return [self._variable(argument, value) for argument, value in given.items()]

    def _variable(self, argument: str, value: Any) -> Any:
        """Return the variable of a name, and other values as they are."""
        if not isinstance(value, Hashable) or (value is None):
            return value
        if value in self._data.variables:
            return self._data[value]
        known = [str(name) for name in self._data.variables]
        if isinstance(value, str):
            raise unknown_name(argument, value, known)
        raise bad_value(
            argument, repr(value), f"the name of a variable, one of {known}", "or pass a DataArray"
        )

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        found = dict(options)
        if isinstance(found.get("weights"), Hashable) and found.get("weights") is not None:
            found["weights"] = self._variable("weights", found["weights"])
        groups = found.get("groups")
        if isinstance(groups, Hashable) and groups in self._data.data_vars:
            found["groups"] = self._data[groups]
        return found
