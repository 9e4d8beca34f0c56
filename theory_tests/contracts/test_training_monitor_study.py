"""The study of monitoring: its dataset, and where it says to stop."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from studies import training_monitor
from studies.training import GENERATORS, METHODS
from studies.training_monitor import MEMORY, PARTS, Growth, growth, smooth, stops, table
from theory_tests.contracts.study_command import printed

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="training needs torch")



@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[xr.Dataset, Path, str]:
    folder = tmp_path_factory.mktemp("study")
    output = printed(training_monitor, ["--tiny", "--quiet", "--workers", 1, "--output", folder])
    return xr.load_dataset(folder / "training_monitor.nc", engine="h5netcdf"), folder, output


@pytest.mark.slow
def test_values_are_those_of_a_network_that_learns(study: tuple[xr.Dataset, Path, str]) -> None:
    summary, folder, _ = study
    assert summary.sizes == {"activation": 1, "seed": 2, "epoch": 6, "part": 2, "generator": 2, "method": 2}
    assert np.isfinite(summary.to_array()).all()
    total = summary["calibration_error"] + summary["refinement"]
    np.testing.assert_allclose(total - summary["loss"], 0, atol=1e-9)
    last = summary.isel(epoch=-1)
    assert (last["accuracy"] > 0.9).all()
    assert (last["fresh_accuracy"] > 0.9).all()
    assert (last["loss"] < summary["loss"].isel(epoch=0)).sel(part="train").all()
    assert (summary["loss"].min("epoch") < summary["loss"].isel(epoch=0) / 2).all()
    # It has seen one of the two parts.
    assert (last["loss"].sel(part="train") < last["loss"].sel(part="monitor")).all()
    debiased = summary["calibration_error"].sel({"method": "debiased"})
    assert (summary["lower"] <= np.maximum(debiased, 0) + 1e-12).all()
    assert (summary["upper"] >= debiased).all()
    # Refinement of binary losses: at most that of knowing nothing, log 2 and 1/2.
    bound = xr.DataArray([np.log(2), 0.5], {"generator": list(GENERATORS)})
    assert (summary["refinement"] < 1.1 * bound).all()
    assert (folder / "training_monitor.nc").stat().st_size < 1_000_000
    assert str(folder) not in "".join(map(str, summary.attrs.values()))


@pytest.mark.slow
def test_table_and_figures(study: tuple[xr.Dataset, Path, str]) -> None:
    summary, folder, output = study
    assert table(summary) in output
    last = summary["calibration_error"].sel({"part": "monitor", "generator": "log", "method": "debiased"}).isel(epoch=-1)
    assert f"\nKL {float(last.mean()):.3f} [" in output
    for suffix in ("png", "svg"):
        assert {path.stem for path in folder.glob(f"*.{suffix}")} == {"monitor-relu", "stopping-relu"}


def test_the_moving_average_forgets() -> None:
    curve = xr.DataArray([1.0, 0.0, 0.0], dims="epoch")
    m = MEMORY
    np.testing.assert_allclose(smooth(curve), [1, m / (1 + m), m**2 / (1 + m + m**2)])
    np.testing.assert_allclose(smooth(xr.full_like(curve, 3.0)), 3)


# --- the verdict, from curves with a known minimum


def overfitting(*, refinement_grows: bool = False) -> xr.Dataset:
    """The loss of forty epochs is least after ten; the calibration error grows from the first."""
    epoch = np.arange(1, 41)
    noise = 1e-4 * np.arange(3)[:, None]
    fall, rise = np.maximum(10 - epoch, 0) / 10, np.maximum(epoch - 10, 0) / 100
    error = 0.1 + np.maximum(rise, epoch / 1000) + noise
    refinement = 0.3 + fall + (rise if refinement_grows else 0) + noise
    accuracy = 0.9 - fall / 2 + noise
    fresh = (error + refinement)[:, :, None]

    def full(values: Any, *inner: int) -> Any:
        return np.broadcast_to(values.reshape(3, 40, *[1] * len(inner)), (3, 40, *inner))

    outer, parts = ("seed", "epoch"), (len(PARTS), len(GENERATORS))
    inner = ("part", "generator", "method")
    variables = {
        "accuracy": ((*outer, "part"), full(accuracy, 2)),
        "loss": ((*outer, "part", "generator"), full(error + refinement, *parts)),
        "calibration_error": ((*outer, *inner), full(error, *parts, len(METHODS))),
        "refinement": ((*outer, *inner), full(refinement, *parts, len(METHODS))),
        "fresh_accuracy": (outer, accuracy),
        "fresh_loss": ((*outer, "generator"), np.repeat(fresh, 2, axis=2)),
    }
    return xr.Dataset(variables, {"seed": range(3), "epoch": epoch, "part": list(PARTS), "generator": list(GENERATORS), "method": list(METHODS)})


def test_each_criterion_stops_at_its_least_value() -> None:
    found = stops(overfitting())
    # Its smoothed curve is least a little after the curve itself.
    least = found["log loss"].epoch.item(0)
    assert 10 <= least <= 20
    assert (found["log loss"].epoch == least).all()
    # The calibration error is least before the network has learnt anything.
    assert (found["CE KL, debiased"].epoch == 1).all()
    assert (found["CE KL, debiased"].log_loss > found["log loss"].log_loss + 0.3).all()
    assert (found["refinement L2, risk"].epoch == 40).all()
    stopping, growing = training_monitor.STUDY.verdicts(overfitting().expand_dims(activation=["relu"]))
    assert stopping.said.count("fails: another epoch and a cost in log loss") == 2
    assert stopping.found == f"Mean epoch of the least: log loss {least:.1f}, calibration error via risk 1.0, debiased 1.0"
    assert growing.said == "holds (refinement falls)"


@pytest.mark.parametrize(
    ("error", "refinement", "accuracy", "claims"),
    [
        (0.3, 0.0, 0.0, ("holds", "holds")),
        (0.3, 0.1, 0.0, ("fails", "holds")),
        (0.3, -0.1, 0.0, ("holds (refinement falls)", "holds")),
        (0.3, 0.0, -0.1, ("holds", "fails")),
        (0.0, 0.1, 0.0, ("fails", "no growth shown")),
        (-0.3, 0.0, 0.0, ("no growth shown", "no growth shown")),
    ],
)
def test_verdicts_after_the_least_loss(error: float, refinement: float, accuracy: float, claims: tuple[str, str]) -> None:
    noise = xr.DataArray([-0.01, 0.0, 0.01], dims="seed")
    of = Growth(error + refinement + noise, error + noise, refinement - noise, accuracy + noise)
    assert (of.second, of.third) == claims


def test_growth_is_counted_from_the_least_smoothed_loss() -> None:
    both, alone = (growth(overfitting(refinement_grows=yes), "log", "debiased") for yes in (True, False))
    assert both.loss.values == pytest.approx((both.calibration_error + both.refinement).values)
    # Nearly 0.3, less what the average at the end still holds of the past.
    assert both.calibration_error.values == pytest.approx(0.25, abs=0.05)
    assert both.refinement.values == pytest.approx(0.2, abs=0.1)
    assert both.share in {f"{share} %" for share in range(50, 75)}
    # The average still falls from its beginning.
    assert ((alone.refinement > -0.1) & (alone.refinement < 0)).all()


def test_no_growth_is_no_verdict() -> None:
    early = overfitting().sel(epoch=slice(1, 9))
    of = growth(early, "brier", "risk")
    assert (of.second, of.third) == ("no growth shown", "no growth shown")
    assert of.share == "·"
