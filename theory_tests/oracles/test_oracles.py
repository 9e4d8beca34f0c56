"""Every value that the paper authors' implementation returned on the two stored samples."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import propercal

ORACLES = Path(__file__).resolve().parents[3] / "shared" / "oracles"
FILES = ("binary_400.npz", "five_300.npz")
QUANTITIES = ("direct", "risk", "refinement", "sharpness")
CASES = [
    f"{notion}_{quantity}_{generator}"
    for notion in ("canonical", "classwise")
    for quantity in QUANTITIES
    for generator in ("log", "brier")
] + ["_check_canonical_direct_log"]


@cache
def stored(file: str) -> dict[str, Any]:
    entries: list[dict[str, Any]] = json.loads((ORACLES / "oracles.json").read_text())
    return next(entry for entry in entries if entry["file"] == file)


@cache
def decomposed(file: str, backend: str, notion: str, method: str) -> dict[str, Any]:
    with np.load(ORACLES / file, allow_pickle=False) as data:
        y: Any = data["y_true"]
        p: Any = data["y_proba"]
    if backend == "torch":
        import torch

        y, p = torch.from_numpy(y), torch.from_numpy(p)
    results = propercal.decompose(
        y, p, generator=["log", "brier"], notion=notion, method=method, bandwidth=stored(file)["bandwidth"]
    )
    return dict(zip(("log", "brier"), results, strict=True))


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("file", FILES)
def test_value(file: str, case: str, backend: str, shared: Path) -> None:
    assert (shared / "oracles").is_dir()
    if backend == "torch":
        pytest.importorskip("torch", reason="the torch half of the oracles needs torch")
    notion, quantity, generator = case.removeprefix("_check_").split("_")
    method = "direct" if quantity == "direct" else "risk"
    result = decomposed(file, backend, notion, method)[generator]
    name = "calibration_error" if quantity in ("direct", "risk") else quantity
    wanted = stored(file)[case]
    if (quantity, generator) == ("refinement", "brier"):
        wanted += 1  # they take F(p) = ‖p‖², we ‖p‖² − 1, so that F is 0 at a vertex
    # 1e-9 relative is the agreement that two orders of summation reach in double precision.
    assert float(getattr(result, name)) == pytest.approx(wanted, rel=1e-9, abs=0)


def test_no_stored_value_is_left_out(shared: Path) -> None:
    assert (shared / "oracles").is_dir()
    for file in FILES:
        assert set(CASES) == stored(file).keys() - {"file", "n", "k", "bandwidth"}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("notion", ["canonical", "classwise"])
def test_uncertainty_of_the_stored_labels(file: str, notion: str, shared: Path) -> None:
    """Their refinement plus sharpness is −F of the label mean, which needs no kernel."""
    with np.load(shared / "oracles" / file, allow_pickle=False) as data:
        y = data["y_true"]
    mean = np.bincount(y) / y.size
    pairs = np.stack([1 - mean, mean], 1) if notion == "classwise" else mean[None]
    entropy = float(-(pairs * np.log(pairs)).sum(1).mean())
    assert decomposed(file, "numpy", notion, "risk")["log"].uncertainty == pytest.approx(entropy, rel=1e-12)
    values = stored(file)
    both = values[f"{notion}_refinement_log"] + values[f"{notion}_sharpness_log"]
    assert both == pytest.approx(entropy, rel=1e-12)
