"""The accessor's registration, once xarray is imported: that takes longer than all else here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

NAME = "propercal"


def register(xarray: Any) -> None:
    """Register the accessors, where they are not yet."""
    from propercal.xarray.accessor import DataArrayAccessor, DatasetAccessor

    pairs = (xarray.Dataset, DatasetAccessor), (xarray.DataArray, DataArrayAccessor)
    registers = xarray.register_dataset_accessor, xarray.register_dataarray_accessor
    for (owner, accessor), registered in zip(pairs, registers, strict=True):
        found = getattr(owner, NAME, None)
        if found is not accessor:
            if getattr(found, "__module__", "").startswith("propercal."):
                # Of this package before it was reloaded.
                delattr(owner, NAME)
            registered(NAME)(accessor)


class _Registering(Loader):
    """What loads xarray, and registers the accessors then."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        """Have what the loader has beside, such as data and source, for who only looks."""
        if name == "_loader":
            raise AttributeError(name)
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Do as the loader does."""
        found: ModuleType | None = self._loader.create_module(spec)
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module as its loader would."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        register(module)


class _AfterXarray(MetaPathFinder):
    """What finds xarray as others do."""

    def __init__(self) -> None:
        self._looking = False

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return the specification of xarray, with a loader that registers; of others None."""
        if fullname != "xarray" or self._looking:
            return None
        self._looking = True
        try:
            spec = find_spec(fullname)
        finally:
            self._looking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Registering(spec.loader)
        return spec


def install_accessors() -> None:
    """Register the accessors now if xarray is imported, else when it is."""
    xarray = sys.modules.get("xarray")
    if xarray is not None and hasattr(xarray, "register_dataset_accessor"):
        register(xarray)
    if not any(type(each).__name__ == _AfterXarray.__name__ for each in sys.meta_path):
        sys.meta_path.insert(0, _AfterXarray())
