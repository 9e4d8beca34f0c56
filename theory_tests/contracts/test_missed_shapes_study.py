"""The study of missed shapes: its numbers, what it takes for a warning, and its verdict."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from propercal import decompose
from propercal._methods.doubts import warn_of_kernel, warn_of_misfit
from propercal._methods.misfit import Misfit
from propercal.experiments import Cell
from propercal.generators import Brier, Log
from propercal.simulation import MiscalibratedSimplex
from studies import missed_shapes
from studies.missed_shapes import FULL, SHAPES, STUDY, WARNINGS, Design, measure, missed, summarise, table
from theory_tests.contracts.study_command import command, printed

SMALL = Design(shapes=("bump", "temperature"), sample_sizes=(60, 90), n_replicates=2)


def test_a_cell_is_the_default_on_a_seeded_sample() -> None:
    cell = Cell(shape="bump", sample_size=60, replicate=1)
    seed = np.random.SeedSequence(3)
    found = measure(SMALL, cell, seed)
    y_true, g, p = MiscalibratedSimplex(2, "bump").sample(60, np.random.SeedSequence(3))
    results = decompose(y_true, g, generator=[Log(), Brier()])
    assert found["estimate"] == [r.calibration_error for r in results]
    assert found["standard_error"] == [r.standard_errors["calibration_error"] for r in results]
    assert list(zip(found["lower"], found["upper"], strict=True)) == [r.interval("calibration_error") for r in results]
    assert np.shape(found["warned"]) == (2, len(WARNINGS))
    saved = [np.mean(np.log(p / g)[np.arange(60), y_true]), np.mean(((g - np.eye(2)[y_true]) ** 2 - (p - np.eye(2)[y_true]) ** 2).sum(axis=1))]
    np.testing.assert_allclose(found["loss_saved"], saved, rtol=1e-9)


def test_warnings_are_told_apart_by_their_words() -> None:
    def told(name: str) -> list[str]:
        return [kind for kind, text in WARNINGS.items() if text.format(name) in message]

    with pytest.warns(UserWarning, match="structure that they do not follow") as caught:
        warn_of_misfit(Misfit(0.001, 1.0), 0.1, Log())
    message = str(caught[0].message)
    assert told("log") == ["misfit", "any"]
    assert told("brier") == []
    with pytest.warns(UserWarning, match="only the kernel sees") as caught:
        warn_of_kernel(0.9, Brier())
    message = str(caught[0].message)
    assert told("brier") == ["kernel", "any"]
    assert told("log") == []


def test_a_summary_with_a_known_answer() -> None:
    design = Design(shapes=("bump",), sample_sizes=(60,), n_replicates=4, generators=("brier",))
    truth = MiscalibratedSimplex(2, "bump").truth("brier").value
    saved = truth * np.array([0.5, 0.9, 1.1, 1.5])
    # A fifth too low, but for noise of its own; the interval of the first data set is too low.
    noise = truth * np.array([-0.03, -0.01, 0.01, 0.03])
    upper = truth * np.array([0.9, 1.1, 1.2, 1.3])
    warned = [[1, 0, 1], [0, 0, 0], [0, 0, 1], [0, 0, 0]]
    values = {
        "estimate": saved - 0.2 * truth + noise,
        "loss_saved": saved,
        "standard_error": np.full(4, truth),
        "lower": np.zeros(4),
        "upper": upper,
    }
    dims = ("shape", "sample_size", "generator", "replicate")
    replicates = xr.Dataset({name: (dims, x[None, None, None]) for name, x in values.items()}, {"shape": ["bump"], "sample_size": [60], "generator": ["brier"]})
    replicates["warned"] = ((*dims, "warning"), np.array(warned)[None, None, None])
    found = summarise(design, replicates.assign_coords(warning=list(WARNINGS)), 1).squeeze()
    assert found["truth"].item() == truth
    assert found["relative_bias"].item() == pytest.approx(-20)
    assert found["relative_bias_se"].item() == pytest.approx(100 * np.sqrt((2 * 0.03**2 + 2 * 0.01**2) / 3 / 4))
    assert found["coverage"].item() == 0.75
    assert found["warned"].values.tolist() == [0.25, 0, 0.5]
    assert found["n_replicates"].item() == 4
    assert (found["n_classes"].item(), found["logit_scale"].item()) == (2, 1.5)


def summary(bias: list[list[float]], error: float = 1.0) -> xr.Dataset:
    """Two shapes and two sample sizes, one loss, thirty data sets each: beyond chance are 2.045 errors."""
    coords = {"shape": ["bump", "hierarchy-10"], "sample_size": [1000, 5000], "generator": ["log"]}
    relative = xr.DataArray(np.array(bias)[..., None], coords, tuple(coords))
    warned = (relative < -15).expand_dims(warning=["misfit", "kernel", "any"], axis=-1).astype(float)
    return xr.Dataset(
        {
            "truth": (("shape", "generator"), [[0.1], [0.2]]),
            "n_classes": ("shape", [2, 10]),
            "n_replicates": xr.full_like(relative, 30, dtype=int).isel(generator=0, drop=True),
            "relative_bias": relative,
            "relative_bias_se": xr.full_like(relative, error),
            "coverage": xr.full_like(relative, 0.9),
            "warned": warned,
        }
    )


def test_what_is_missed_is_lower_beyond_chance() -> None:
    of = summary([[-12.0, -12.1], [-30.0, 20.0]])
    assert missed(of).squeeze().values.tolist() == [[False, True], [True, False]]
    (verdict,) = STUDY.verdicts(of)
    assert verdict.said == "not with so few rows, missed are 1 of 2 at n = 1000, 1 of 2 at n = 5000"
    assert "at n = 1000: hierarchy-10 (log); at n = 5000: bump (log)" in verdict.found
    assert verdict.found.endswith("A misfit is warned of in 50 % of these results, of all n")
    (verdict,) = STUDY.verdicts(summary([[0.0, -9.0], [-11.0, 30.0]]))
    assert verdict.said == "holds for these"
    assert "at n = 1000: none; at n = 5000: none" in verdict.found


def test_table_marks_what_is_missed() -> None:
    rows = [line for line in table(summary([[-12.0, 3.0], [-30.0, 20.0]])).splitlines() if line.startswith(("bump", "hierarchy"))]
    assert [line.count("!") for line in rows] == [0, 1]
    assert "-30 ± 1!" in rows[1]
    assert "100, 100" in rows[1]


def test_a_figure_shows_every_shape() -> None:
    pytest.importorskip("matplotlib")
    figure = missed_shapes.figures(summary([[-12.0, 3.0], [-30.0, 20.0]]))["missed"]()
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["bump, 2", "hierarchy, 10"]
    assert len(figure.axes) == 3
    assert "number of classes" in figure.get_suptitle()


def test_the_full_preset_has_all_shapes() -> None:
    assert FULL.shapes == tuple(SHAPES)
    assert len(FULL.cells()) == len(SHAPES) * 2 * 30
    with pytest.raises(SystemExit, match="shapes"):
        command(missed_shapes, ["--shapes", "bumps"])


@pytest.mark.slow
def test_the_command_writes_its_dataset_and_figure(tmp_path: Path) -> None:
    axes = "--shapes bump temperature --sample-sizes 60 90 --replicates 2 --quiet --workers 1"
    output = printed(missed_shapes, [*axes.split(" "), "--output", tmp_path])
    found = xr.load_dataset(tmp_path / "missed_shapes.nc", engine="h5netcdf")
    assert found.sizes == {"shape": 2, "generator": 2, "sample_size": 2, "warning": 3}
    assert np.isfinite(found.to_array()).all()
    assert table(found) in output
    assert {path.name for path in tmp_path.glob("*.png")} == {"missed.png"}
    assert ((found["coverage"] >= 0) & (found["coverage"] <= 1)).all()
