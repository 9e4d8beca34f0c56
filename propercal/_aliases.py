"""Import paths of the last release, which lead to where the modules are now.

They warn, and go with the next release.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

#: Old name: new name.
ALIASES = {
    "bandwidth": "_kernels.bandwidth",
    "cluster": "sketch.dask",
    "cluster.partitions": "sketch.dask.partitions",
    "cluster.passes": "sketch.dask.passes",
    "cluster.shards": "sketch.dask.shards",
    "conditional.cells": "_kernels.bins",
    "conditional.estimate": "_kernels.conditional",
    "conditional.exact": "_kernels.tiles",
    "conditional.linear": "_kernels.linear",
    "conditional.panels": "_kernels.panels",
    "inference.features": "inference.hellinger",
    "inference.forms": "inference.quadratic_forms",
    "inference.resampling": "inference.calibration_test",
    "io": "cli.files",
    "kernels": "_kernels.kernels",
    "notions": "_data.predictions.notions",
    "plotting.front": "plotting.pareto",
    "plotting.sizes": "plotting.convergence",
    "plotting.wilson": "plotting.binned",
    "simulation.cells": "experiments.runner",
    "simulation.design": "experiments.design",
    "simulation.runner": "experiments.decompositions",
    "simulation.store": "experiments.store",
    "simulation.workers": "experiments.workers",
}
#: Old name of a module: old names in it, and what they are called now.
RENAMED = {"conditional.estimate": {"estimate": "kernel_mean"}}


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        name = fullname.removeprefix("propercal.")
        if name == fullname or name not in ALIASES:
            return None
        nested = any(each.startswith(f"{name}.") for each in ALIASES)
        return ModuleSpec(fullname, self, is_package=nested)

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__.partition(".")[2]
        new = f"propercal.{ALIASES[old]}"
        warnings.warn(
            f"{module.__name__} is now {new}; this name goes with the next release.",
            DeprecationWarning,
            stacklevel=2,
        )
        real = vars(import_module(new))
        vars(module).update({k: v for k, v in real.items() if not k.startswith("__")})
        vars(module).update({k: real[v] for k, v in RENAMED.get(old, {}).items()})


def install() -> None:
    """Let the old names be imported."""
    if not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.append(_Finder())
