"""The dataset that the numbers of all cells make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from propercal._data.words.messages import bad_value
from propercal.experiments.factors import Factors
from propercal.experiments.store import CellResult
from propercal.experiments.study import Output, Study

if TYPE_CHECKING:
    import xarray as xr


def assemble(study: Study[Any], factors: Factors, results: Iterable[CellResult]) -> xr.Dataset:
    """Arrange the numbers of all cells by the dimensions of the outputs; what is absent is NaN."""
    import xarray as xr

    outputs = {output.name: output for output in study.outputs}
    coords = _coords(study, factors)
    at = {dim: {level: i for i, level in enumerate(levels)} for dim, levels in coords.items()}
    values = {
        name: np.full([len(coords[dim]) for dim in output.dims], np.nan)
        for name, output in outputs.items()
    }
    for result in results:
        here = {dim: at[dim][x] for dim, x in result.cell.asdict().items() if dim in at}
        for name, numbers in result.numbers.items():
            where = tuple(here.get(dim, slice(None)) for dim in _known(outputs, name).dims)
            values[name][where] = numbers
    for name, output in outputs.items():
        if output.known is not None:
            values[name][...] = output.known(factors)
    return xr.Dataset(
        {
            name: (output.dims, values[name], _attributes(output))
            for name, output in outputs.items()
        },
        coords,
    )


def _coords(study: Study[Any], factors: Factors) -> dict[str, list[Any]]:
    levels: Mapping[str, Any] = {**factors.levels(), **study.levels}
    dims = dict.fromkeys([*study.dims, *(dim for output in study.outputs for dim in output.dims)])
    unknown = [dim for dim in dims if dim not in levels]
    if unknown:
        raise bad_value(
            "outputs",
            f"dimension {unknown[0]!r}",
            "a dimension of " + ", ".join(levels),
            "name it in a factor, or in the levels of the study",
        )
    return {dim: list(levels[dim]) for dim in dims}


def _known(outputs: Mapping[str, Output], name: str) -> Output:
    if name not in outputs:
        raise bad_value("measure", repr(name), "only " + ", ".join(outputs), "declare an Output")
    return outputs[name]


def _attributes(output: Output) -> dict[str, str]:
    named = {"long_name": output.long_name, "units": output.units}
    return {name: text for name, text in named.items() if text}
