"""Hypothesis profiles, the shared data and the array backends that every test may use."""

from __future__ import annotations

import dataclasses
import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile("dev", deadline=None, max_examples=50)
settings.register_profile(
    "det",
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=True,
    max_examples=200,
    suppress_health_check=[HealthCheck.too_slow],
)
# `make mutants` runs the tests thousands of times: few examples, and the same ones each time.
settings.register_profile(
    "mutants", derandomize=True, deadline=None, database=None, max_examples=20, suppress_health_check=list(HealthCheck)
)
settings.register_profile("nightly", deadline=None, print_blob=True, max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "det" if "CI" in os.environ else "dev"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with data and oracle values that may not be copied into the project."""
    path = ROOT.parent / "shared"
    if not path.is_dir():
        pytest.skip("the folder ../shared (data and oracle values) is not beside this checkout")
    return path


@dataclasses.dataclass(frozen=True)
class Backend:
    """One array library, in one of the ways that a caller may hand arrays over.

    `array` makes floating-point arrays of `dtype`, `integers` label arrays, and `numpy` brings a
    result back. `tolerance` is a relative error that a short sum in `dtype` stays within.
    Arrays are made on `device`, or where the library makes them by itself.
    """

    id: str
    module: str
    dtype: str
    tolerance: float
    read_only: bool = False
    device: str | None = None

    @property
    def namespace(self) -> Any:
        """The library itself."""
        return importlib.import_module(self.module)

    @property
    def float_type(self) -> Any:
        """The library's own name of `dtype`."""
        return getattr(self.namespace, self.dtype)

    def array(self, values: npt.ArrayLike) -> Any:
        return self._made(np.array(values, dtype=np.float64), self.float_type)

    def integers(self, values: npt.ArrayLike) -> Any:
        return self._made(np.array(values, dtype=np.int64), self.namespace.int64)

    def numpy(self, array: Any) -> npt.NDArray[Any]:
        return np.asarray(array.detach().cpu() if self.module == "torch" else array)

    def _made(self, values: npt.NDArray[Any], dtype: Any) -> Any:
        made = self.namespace.asarray(values, dtype=dtype, device=self.device)
        if self.read_only:
            made.flags.writeable = False
        return made


BACKENDS = (
    Backend("numpy", "numpy", "float64", 1e-12),
    Backend("numpy-read-only", "numpy", "float64", 1e-12, read_only=True),
    Backend("array-api-strict", "array_api_strict", "float64", 1e-12),
    Backend("torch-float64", "torch", "float64", 1e-12),
    Backend("torch-float32", "torch", "float32", 1e-5),
    Backend("torch-gpu-float64", "torch", "float64", 1e-12, device="cuda"),
    Backend("torch-gpu-float32", "torch", "float32", 1e-5, device="cuda"),
)


@pytest.fixture(params=BACKENDS, ids=lambda backend: backend.id)
def xp(request: pytest.FixtureRequest) -> Backend:
    """Every array backend in turn; skips, with its reason, one that is not at hand."""
    backend: Backend = request.param
    module = pytest.importorskip(backend.module)
    if backend.device == "cuda" and not module.cuda.is_available():
        pytest.skip("torch finds no GPU on this machine")
    return backend
