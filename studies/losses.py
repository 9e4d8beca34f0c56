"""Names and units of losses and estimates, as tables, figures and datasets write them."""

from __future__ import annotations

from typing import NamedTuple

import xarray as xr

#: What the option that names losses says of them.
LOSSES_HELP = "log, brier, spherical, ..."
#: Of an attribute, where a variable has values of several losses.
UNITS = "log: nats"
UNITS_OF_F = f"units of F ({UNITS})"


class Loss(NamedTuple):
    """Names of a loss, and of what it measures."""

    title: str
    score: str
    symbol: str
    """the paper's name of its calibration error"""
    divergence: str
    """the paper's name of its divergence"""
    unit: str = ""
    """empty where the score is its own unit"""


_LOSSES = {
    "log": Loss("log", "log loss", "CE_KL", "KL", "nats"),
    "brier": Loss("Brier", "Brier score", "CE_2²", "L2"),
}


def loss(generator: str) -> Loss:
    """Return the names of a generator's loss, its own where the paper has none."""
    return _LOSSES.get(generator, Loss(generator, f"{generator} score", generator, generator))


def symbol(generator: str) -> str:
    """Return the name of a calibration error."""
    return loss(generator).symbol


def unit(generator: str) -> str:
    """Return what a calibration error is measured in."""
    return loss(generator).unit or loss(generator).score


def with_unit(text: str, generator: str) -> str:
    """Return a text with the unit of a loss, if that is another than the score."""
    return f"{text} ({loss(generator).unit})" if loss(generator).unit else text


def described(values: xr.DataArray, long_name: str, units: str = "") -> xr.DataArray:
    """Return a variable with the attributes that are not empty."""
    attributes = {"units": units, "long_name": long_name}
    return values.assign_attrs({name: text for name, text in attributes.items() if text})


#: What figures say of the estimates that they show, as the title of their legend.
ESTIMATES = {
    "title": (
        "direct: mean divergence of the predictions from labels that a kernel averages.\n"
        "risk: mean loss less the refinement of these averages.\n"
        "γ: bandwidth of the kernel, in probability.\n"
        "debiased: the default of this package, which needs no bandwidth."
    ),
    "title_fontsize": 8,
}
