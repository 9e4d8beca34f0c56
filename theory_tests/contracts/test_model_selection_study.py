"""The study of model selection: its dataset, its Pareto fronts, and its verdict."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from studies import model_selection
from studies.model_selection import beaten, fronts, table
from studies.training import GENERATORS, METHODS
from theory_tests.contracts.study_command import printed

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="training needs torch")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[xr.Dataset, Path, str]:
    folder = tmp_path_factory.mktemp("study")
    output = printed(model_selection, ["--tiny", "--quiet", "--workers", 1, "--output", folder])
    return xr.load_dataset(folder / "model_selection.nc", engine="h5netcdf"), folder, output


@pytest.mark.slow
def test_values_are_those_of_a_network_that_learns(study: tuple[xr.Dataset, Path, str]) -> None:
    summary, folder, _ = study
    assert summary.sizes == {"activation": 1, "seed": 2, "epoch": 2, "generator": 2, "method": 2}
    assert np.isfinite(summary.to_array()).all()
    assert (summary["accuracy"].isel(epoch=-1) > 0.85).all()
    assert (summary["loss"].diff("epoch") < 0).all()
    # A calibration error is between 0 and the loss, and an estimate of it beside that by its noise only.
    error = summary["calibration_error"]
    assert (error < summary["loss"] + 1e-9).all()
    assert (error > -4 * summary["standard_error"]).all()
    assert (summary["standard_error"] > 0).all()
    assert (folder / "model_selection.nc").stat().st_size < 1_000_000
    assert str(folder) not in "".join(map(str, summary.attrs.values()))


@pytest.mark.slow
def test_table_and_figure(study: tuple[xr.Dataset, Path, str]) -> None:
    summary, folder, output = study
    assert table(summary) in output
    for suffix in ("png", "svg"):
        assert {path.stem for path in folder.glob(f"*.{suffix}")} == {"pareto-relu"}


def snapshots(error: dict[str, list[float]]) -> xr.Dataset:
    """Three snapshots of growing accuracy, three seeds that hardly differ."""
    noise = 1e-3 * np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]])
    shape = (3, 3, len(GENERATORS), len(METHODS))
    each = np.stack([np.array(error[method]) + noise for method in METHODS], axis=-1)
    return xr.Dataset(
        {
            "accuracy": (("seed", "epoch"), np.array([0.7, 0.8, 0.9]) + noise),
            "calibration_error": (("seed", "epoch", "generator", "method"), np.broadcast_to(each[:, :, None], shape)),
        },
        {"epoch": [1, 2, 4], "generator": list(GENERATORS), "method": list(METHODS)},
    )


def test_verdicts() -> None:
    summary = snapshots({"risk": [0.1, 0.2, 0.3], "debiased": [0.2, 0.05, 0.1]})
    paper, ours, *_ = fronts(summary)
    assert (paper.method, paper.epochs, paper.trade_off) == ("risk", [1, 2, 4], True)
    assert (ours.method, ours.epochs, ours.trade_off) == ("debiased", [2, 4], True)
    # The first is worse in both by the debiased estimate, and that is beyond chance.
    assert beaten(summary, "log", "debiased", paper.epochs) == [1]
    assert beaten(summary, "log", "risk", paper.epochs) == []
    text = table(summary.expand_dims(activation=["relu"]))
    assert text.count("trade-off holds") == 4
    assert "2 of 3 snapshots on either front are on both; 1 of 3 on the paper's are beaten" in text
    both = summary.expand_dims(activation=["relu", "tanh"])
    (verdict,) = model_selection.STUDY.verdicts(both)
    assert verdict.said == "relu: holds; tanh: holds"
    assert "CE_2², debiased: front at epochs 2, 4" in verdict.found
    one = fronts(snapshots({"risk": [0.3, 0.2, 0.1], "debiased": [0.1, 0.1, 0.1]}))
    assert (one[0].epochs, one[0].trade_off) == ([4], False)
    assert not one[1].trade_off
