"""What tests of Dask collections share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import propercal
from propercal.simulation import TemperatureScaledSimplex
from theory_tests.instances import values

dask: Any = pytest.importorskip("dask", reason="needs Dask")
da: Any = pytest.importorskip("dask.array", reason="needs Dask")

N, K = 3000, 3
Y_TRUE, Y_PROBA, _ = TemperatureScaledSimplex(K).sample(N, random_state=0)
SETTINGS: dict[str, Any] = {"notion": "classwise", "method": "risk", "bandwidth": 0.02}
IN_MEMORY = propercal.decompose(Y_TRUE, Y_PROBA, **SETTINGS)


def lazy(*arrays: Any, chunks: Any = 700) -> list[Any]:
    return [da.from_array(each, chunks=chunks if each.ndim == 1 else (chunks, -1)) for each in arrays]


def unknown(array: Any) -> Any:
    """The same array, whose partitions do not tell their sizes."""
    blocks = array.to_delayed().ravel()
    shape = (np.nan, *array.shape[1:])
    parts = [da.from_delayed(each, shape=shape, dtype=array.dtype) for each in blocks]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def check_same(found: Any, wanted: Any, rel: float = 1e-9) -> None:
    assert values(found) == pytest.approx(values(wanted), rel=rel)
    assert (found.n_samples, found.n_classes) == (wanted.n_samples, wanted.n_classes)


def never(_: object) -> Any:
    raise AssertionError("was read")


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def no_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("propercal.sketch.dask.passes.plain", never)
