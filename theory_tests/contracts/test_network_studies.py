"""The studies of predictions of networks, subsets and single classes: their datasets and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr

from propercal import decompose
from propercal.simulation import TemperatureScaledSimplex
from studies import bias_on_networks, classwise_ranking
from studies.bias_on_networks import CLOSE, closeness
from studies.classwise_ranking import agreement, told_apart
from studies.data import short, whole_set
from theory_tests.contracts.study_command import command, printed

MODEL = TemperatureScaledSimplex(3)
N = 400
FILES = ["net/over_test.npz", "single.npz"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "net").mkdir()
    y, g, _ = MODEL.sample(N, 1)
    np.savez(folder / "net" / "over_test.npz", labels=y, logits=np.log(g) + 5.0)
    # A validation split, which neither study may read.
    np.savez(folder / "net" / "over_val.npz", labels=y[:5], logits=np.zeros((5, 3)))
    y, g, _ = MODEL.sample(N, 2)
    np.savez(folder / "single.npz", labels=y, probs=g)
    return folder


def run(study: ModuleType, arguments: list[str], data: Path, folder: Path) -> tuple[xr.Dataset, str]:
    places = ["--quiet", "--workers", 1, "--data", data, "--output", folder]
    output = printed(study, [*arguments, *places])
    name = study.__name__.rpartition(".")[2]
    return xr.load_dataset(folder / f"{name}.nc", engine="h5netcdf"), output


def _with(folder: Path, found: tuple[xr.Dataset, str]) -> tuple[xr.Dataset, Path, str]:
    return found[0], folder, found[1]


@pytest.fixture(scope="module")
def subsets(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[xr.Dataset, Path, str]:
    folder = tmp_path_factory.mktemp("subsets")
    arguments = ["--models", *FILES, "--sample-sizes", "60", "200", "--n-replicates", "2"]
    return _with(folder, run(bias_on_networks, arguments, data, folder))


@pytest.fixture(scope="module")
def classes(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[xr.Dataset, Path, str]:
    folder = tmp_path_factory.mktemp("classes")
    return _with(folder, run(classwise_ranking, ["--models", *FILES], data, folder))


# --- subsets of a test set


@pytest.mark.slow
def test_the_reference_is_the_library_s_value_of_the_whole_set(
    subsets: tuple[xr.Dataset, Path, str], data: Path
) -> None:
    summary, _, _ = subsets
    assert (summary["n_rows"] == N).all()
    for model in FILES:
        log_prob, y = whole_set(model, 0, data)
        for method in ("risk", "direct", "debiased"):
            bandwidth: float | str = "auto" if method == "debiased" else 0.02
            found = decompose(
                y, log_prob, from_logits=True, generator="brier", notion="classwise", method=method, bandwidth=bandwidth
            )
            stored = summary["reference"].sel({"model": model, "generator": "brier", "method": method})
            assert stored.item() == pytest.approx(found.calibration_error, rel=1e-9)
        low, high = found.interval("calibration_error")
        assert summary["reference_lower"].sel(model=model, generator="brier").item() == pytest.approx(low)
        assert summary["reference_upper"].sel(model=model, generator="brier").item() == pytest.approx(high)


@pytest.mark.slow
def test_subsets_are_within_bounds(subsets: tuple[xr.Dataset, Path, str]) -> None:
    summary, folder, _ = subsets
    assert np.isfinite(summary.to_array()).all()
    truth = [MODEL.truth(name, "classwise").value for name in ("log", "brier")]
    ours = summary["reference"].sel({"method": "debiased"}).mean("model")
    np.testing.assert_allclose(ours, truth, rtol=0.6)
    assert (summary["estimate"].sel({"method": "risk"}).mean("replicate") > 0).all()
    spread = summary["estimate"].std("replicate")
    assert (spread > 0).all()
    assert str(folder) not in "".join(map(str, summary.attrs.values()))


@pytest.mark.slow
def test_subset_table_and_figures(subsets: tuple[xr.Dataset, Path, str]) -> None:
    summary, folder, output = subsets
    assert bias_on_networks.table(summary) in output
    for suffix in ("png", "svg"):
        assert {path.stem for path in folder.glob(f"*.{suffix}")} == {f"bias-{short(model)}" for model in FILES}


def relative_biases(relative: Sequence[Any]) -> xr.Dataset:
    """A summary of one model with these relative biases at n = 200 and 500, replicates in a row."""
    # 100 is not of the claim.
    values = 2 * (1 + np.array([[9.0, *[9.1] * (len(relative[0]) - 1)], *relative]))
    dims = ("model", "generator", "method", "sample_size", "replicate")
    coords = {"model": ["a"], "generator": ["log"], "method": ["risk"], "sample_size": [100, 200, 500]}
    return xr.Dataset(
        {"estimate": (dims, values[None, None, None]), "reference": (dims[:3], np.full((1, 1, 1), 2.0))}, coords
    )


@pytest.mark.parametrize(
    ("relative", "counts", "said"),
    [
        ([[0.05, 0.07], [-0.08, -0.09]], (1, 0, 0), "holds"),
        ([[0.05, 0.07], [0.3, 0.32]], (0, 1, 0), "fails"),
        ([[0.05, 0.07], [0.0, 0.5]], (0, 0, 1), "not shown for all"),
    ],
)
def test_subset_verdicts(relative: list[list[float]], counts: tuple[int, int, int], said: str) -> None:
    (found,) = closeness(relative_biases(relative))
    assert CLOSE == 0.1
    assert found[2:] == counts
    assert found.said == said


# --- single classes


@pytest.mark.slow
def test_class_values_are_the_library_s(classes: tuple[xr.Dataset, Path, str], data: Path) -> None:
    summary, _, _ = classes
    assert np.isfinite(summary.to_array()).all()
    for model in FILES:
        log_prob, y = whole_set(model, 0, data)
        of = summary.sel(model=model)
        # The class-wise notion is the mean over classes.
        whole = decompose(y, log_prob, from_logits=True, notion="classwise", method="risk", bandwidth=0.02)
        mean = of["estimate"].sel({"generator": "log", "method": "risk"}).mean()
        assert mean.item() == pytest.approx(whole.calibration_error, rel=1e-9)
        p = np.exp(log_prob)
        one = decompose(y == 2, p[:, 2], generator="brier")
        at = of.sel({"class": 2, "generator": "brier"})
        assert at["estimate"].sel({"method": "debiased"}).item() == pytest.approx(one.calibration_error, rel=1e-6)
        assert (at["lower"].item(), at["upper"].item()) == pytest.approx(one.interval("calibration_error"), rel=1e-6)
        number = np.minimum((15 * p[:, 2]).astype(int), 14)
        binned = sum(abs(((y == 2) - p[:, 2])[number == b].sum()) for b in range(15)) / N
        assert of["binned"].sel({"class": 2}).item() == pytest.approx(binned)
        # Labels drawn from the predictions miss them less than these.
        assert (of["binned_null"] < of["binned"]).all()
        assert (of["count"].sum("bin") == N).all()


@pytest.mark.slow
def test_class_table_and_figures(classes: tuple[xr.Dataset, Path, str]) -> None:
    summary, folder, output = classes
    assert classwise_ranking.table(summary) in output
    expected = {"classes", *(f"reliability-{short(model)}" for model in FILES)}
    for suffix in ("png", "svg"):
        assert {path.stem for path in folder.glob(f"*.{suffix}")} == expected
    assert str(folder) not in "".join(map(str, summary.attrs.values()))


@pytest.mark.slow
def test_reliability_diagrams_show_the_bins(classes: tuple[xr.Dataset, Path, str]) -> None:
    summary, _, _ = classes
    mpl.use("agg")
    of = summary.sel(model="single.npz")
    figure = classwise_ranking._reliability(of, "single")
    for i, axis in enumerate(figure.axes[:3]):
        bins = of.sel({"class": i})
        filled = bins["count"].values > 0
        heights = [bar.get_height() for bar in axis.containers[0]]
        np.testing.assert_allclose(heights, bins["frequency"].values[filled])


def ranked(paper: list[float], ours: list[float], error: float) -> xr.Dataset:
    n = len(paper)
    estimate = np.stack([paper, ours], -1)[:, None].repeat(2, 1)
    return xr.Dataset(
        {
            "estimate": (("class", "generator", "method"), estimate),
            "standard_error": (("class", "generator"), np.full((n, 2), error)),
            "binned": ("class", np.array(paper)),
            "loss": (("class", "generator"), np.array(paper)[:, None].repeat(2, 1)),
        },
        {"class": range(n), "generator": ["log", "brier"], "method": ["risk", "debiased"]},
    )


def test_agreement_of_known_rankings() -> None:
    of = ranked([1, 2, 3, 4, 5], [5, 4, 3, 2, 1], 0.1)
    same = agreement(of, "CE_KL risk", "CE_1 binned")
    assert (same.kendall, same.spearman) == pytest.approx((1, 1))
    assert same.shown
    opposite = agreement(of, "CE_KL risk", "CE_KL debiased")
    assert (opposite.kendall, opposite.spearman) == pytest.approx((-1, -1))
    assert not opposite.shown
    # Significant at 5 % in three of ten: differences of 3 and 4 exceed 1.96 √2 × 1.
    assert told_apart(ranked([1, 2, 3, 4, 5], [5, 4, 3, 2, 1], 1.0), "log") == (3, 10)


@pytest.mark.parametrize(
    ("study", "arguments", "message"),
    [
        (bias_on_networks, ["--models", "absent.npz"], "absent.npz"),
        (bias_on_networks, ["--models", "digits/forest"], "digits/forest"),
        (bias_on_networks, ["--sample-sizes", "10"], "50 or more"),
        (bias_on_networks, ["--models", "digits/naive-bayes", "--sample-sizes", "5000"], "less than 1198"),
        (bias_on_networks, ["--n-replicates", "1"], "n_replicates"),
        (classwise_ranking, ["--models", "absent.npz"], "absent.npz"),
        (classwise_ranking, ["--models", "single.npz", "digits/naive-bayes"], "as many classes"),
        (classwise_ranking, ["--models", "single.npz", "single.npz"], "distinct"),
    ],
)
def test_designs_that_cannot_be_run_are_refused(
    study: ModuleType, arguments: list[str], message: str, data: Path
) -> None:
    with pytest.raises(SystemExit, match=message):
        command(study, [*arguments, "--data", data, "--output", data])
