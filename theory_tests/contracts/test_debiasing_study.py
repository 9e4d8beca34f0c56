"""The debiasing study: its dataset, the arithmetic of its summary, and the rivals it measures."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import minimize_scalar

from propercal import decompose
from propercal.experiments import Cell
from propercal.experiments.assembly import assemble
from propercal.experiments.store import CellResult
from propercal.generators import Brier, Log, Spherical
from propercal.simulation import MiscalibratedSimplex, TemperatureScaledSimplex
from studies import debiasing, rivals
from studies.classwise_truth import classwise_truth
from studies.debiasing import METHODS, NONCENTRALITY, PARTS, SCENARIOS, STUDY, Design, weakened
from studies.debiasing_summary import MET, MISSED, NOT_ASKED, UNCERTAIN, summary_of, table, verdict
from theory_tests.contracts.study_command import command, printed

AXES = (
    "--scenarios over-confident mixture calibrated --n-classes 2 3 --sample-sizes 60 120 --replicates 3 2 --generators log brier "
    "--test-scenarios calibrated mixture --test-n-classes 2 --test-sample-sizes 60 --test-replicates 2"
)
ARGUMENTS = [*AXES.split(" "), "--quiet"]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("study")
    return folder, printed(debiasing, [*ARGUMENTS, "--workers", 1, "--output", folder])


def load(folder: Path, name: str) -> xr.Dataset:
    return xr.load_dataset(folder / name, engine="h5netcdf")


@pytest.mark.slow
def test_replicates_are_decompositions_of_the_seeded_samples(study: tuple[Path, str]) -> None:
    replicates = load(study[0], "replicates.nc")
    key = (crc32(b"estimate mixture"), 3, 120, 1)
    seed = np.random.SeedSequence(0, spawn_key=key).spawn(2)[0]
    y_true, g, p = SCENARIOS["mixture"](3).sample(120, seed)
    at: Any = {"scenario": "mixture", "n_classes": 3, "sample_size": 120, "replicate": 1, "generator": "brier"}
    found = replicates.sel(at)
    expected = decompose(y_true, g, generator="brier", method="debiased")
    assert found["estimate"].sel({"method": "debiased"}).item() == expected.calibration_error
    assert (found["lower"].item(), found["upper"].item()) == expected.interval("calibration_error")
    assert found["lower_bound"].item() == expected.lower_bound
    assert found["warned"].item() in (0.0, 1.0)
    for method in ("direct", "risk"):
        rival = decompose(y_true, g, generator="brier", method=method, bandwidth=0.02)
        assert found["estimate"].sel({"method": method}).item() == pytest.approx(rival.calibration_error, rel=1e-12)
    outcome = np.eye(3)[y_true]
    saved = np.mean(Brier().loss(g, outcome) - Brier().loss(p, outcome))
    assert found["loss_saved"].item() == pytest.approx(float(saved), rel=1e-12)
    # The third replicate exists for the first sample size alone.
    assert replicates["loss_saved"].isnull().sum("replicate").values.tolist() == [[[[0, 0], [1, 1]]] * 2] * 3
    # Bins are debiased for the Brier loss alone; all else is measured in every cell.
    measured = replicates["estimate"].isel(replicate=0).notnull().all(["scenario", "n_classes", "sample_size"])
    assert measured.to_series().loc[lambda found: ~found].index.tolist() == [("binned-debiased", "log")]


@pytest.mark.slow
def test_summary_states_truths_and_errors(study: tuple[Path, str]) -> None:
    summary, replicates = load(study[0], "debiasing.nc"), load(study[0], "replicates.nc")
    assert summary.attrs["design"] == replicates.attrs["design"]
    assert (study[0] / "debiasing.nc").stat().st_size < 1_000_000
    paper = TemperatureScaledSimplex(3)
    at: Any = {"scenario": "over-confident", "n_classes": 3, "generator": "log"}
    assert summary["truth"].sel(at).item() == paper.truth("log", "canonical").value
    assert summary["classwise_truth"].sel(at).item() == paper.truth("log", "classwise").value
    assert summary["truth"].sel({**at, "scenario": "mixture"}).item() == MiscalibratedSimplex(3).truth("log").value
    assert (summary["truth"].sel(scenario="calibrated") == 0).all()
    assert summary["n_replicates"].values.tolist() == [[[3, 2]] * 2] * 3
    # Four times as many replicates where the size of the test is measured.
    assert summary["test_n_replicates"].values.ravel().tolist() == [8, 2]
    p = replicates["pvalue"]
    assert float(p.min()) >= 1 / 200
    assert float(p.max()) <= 1
    rate = (p <= 0.05).sum("test_replicate") / p.notnull().sum("test_replicate")
    np.testing.assert_allclose(summary["rejection_rate"], rate)


@pytest.mark.slow
def test_table_and_figures(study: tuple[Path, str]) -> None:
    folder, output = study
    rows = [line for line in output.splitlines() if line.startswith(("over-confident", "mixture", "calibrated"))]
    # Scenario × k × generator, then scenario × k × n of the tests.
    assert len(rows) == 3 * 2 * 2 + 2
    assert "Targets" in output
    assert "debiasing.nc" in output
    stems = {f"{kind}-{g}" for kind in ("relative_bias", "rmse_ratio", "coverage") for g in ("log", "brier")}
    assert {path.stem for path in folder.glob("*.png")} == stems | {"tests"}
    assert {path.stem for path in folder.glob("*.svg")} == stems | {"tests"}


@pytest.mark.slow
def test_the_same_command_writes_the_same_bytes(tmp_path: Path) -> None:
    axes = "--scenarios mixture --n-classes 2 --sample-sizes 60 --replicates 2 --generators log --quiet"
    tests = "--test-scenarios mixture --test-n-classes 2 --test-sample-sizes 60 --test-replicates 2"
    for workers in ("1", "2"):
        places = ["--workers", workers, "--output", str(tmp_path / workers)]
        assert command(debiasing, [*axes.split(" "), *tests.split(" "), *places]) == 0
    for name in ("replicates.nc", "debiasing.nc", "coverage-log.svg"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_ctrl_c_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("propercal.experiments.command.run", interrupted)
    assert command(debiasing, ["--output", tmp_path]) == 130
    assert "the same command goes on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scenarios", "mixtures"], "'mixture'"),
        (["--sample-sizes", "100", "200", "400"], "n_replicates"),
        (["--replicates", "1", "1"], "2 or more"),
        (["--n-classes", "2", "2"], "distinct"),
    ],
)
def test_designs_that_cannot_be_run_are_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=message):
        command(debiasing, arguments)


# --- the summary, from replicates with a known answer

SYNTHETIC = Design(
    scenarios=("mixture", "calibrated"), n_classes=(2,), sample_sizes=(1000,), n_replicates=(4,),
    test_scenarios=("calibrated", "mixture"), test_n_classes=(2,), test_sample_sizes=(300,), test_replicates=(100,),
    generators=("log",),
)  # fmt: skip


TRUTHS = {"mixture": 0.1, "calibrated": 0.0}
NOISE = np.array([-0.03, -0.01, 0.01, 0.03])
SHIFTS = {
    "debiased": 0.002,
    "direct": 0.05,
    "risk": -0.08,
    "temperature": -0.02,
    "temperature-mix": 0.03,
    "binned": 0.0,
    "binned-debiased": 0.0,
}


def numbers(cell: Cell) -> dict[str, Any]:
    part, scenario, *_, i = cell
    if part == "test":
        ours, best = {"calibrated": (20, 20), "mixture": (60, 80)}[scenario]
        return {"pvalue": [0.01 if i < ours else 0.5, 0.9, 0.01 if i < best else 0.5, 0.9]}
    truth, noisy = TRUTHS[scenario], TRUTHS[scenario] + NOISE[i]
    return {
        **{name: [0.0] for name in PARTS},
        "estimate": [[noisy + SHIFTS[method]] for method in METHODS],
        "loss_saved": [noisy],
        # The interval of the last replicate lies above the truth.
        "lower": [truth - 0.01 if i < 3 else truth + 0.01],
        "upper": [truth + 0.05],
        "lower_bound": [noisy],
        "warned": [float(i == 0)],
    }


@pytest.fixture(scope="module")
def synthetic() -> xr.Dataset:
    results = [CellResult(cell, numbers(cell)) for cell in SYNTHETIC.cells()]
    names = ("truth", "truth_error", "classwise_truth", "classwise_truth_error")
    values = np.array(list(TRUTHS.values())).reshape(2, 1, 1)
    coords = {"scenario": list(TRUTHS), "n_classes": [2], "generator": ["log"]}
    known = {name: (tuple(coords), 0 * values if "error" in name else values) for name in names}
    summary = summary_of(assemble(STUDY, SYNTHETIC, results), xr.Dataset(known, coords))
    return summary.assign(strength=xr.ones_like(summary["test_verdict"], dtype=float))


def test_bias_rmse_and_coverage_of_known_replicates(synthetic: xr.Dataset) -> None:
    at = synthetic.sel({"scenario": "mixture", "method": "debiased"}).squeeze()
    # The sampling noise is that of the loss saved: what is left is the shift, exactly.
    assert at["bias"].item() == pytest.approx(0.002)
    assert at["bias_se"].item() == pytest.approx(0, abs=1e-12)
    assert at["relative_bias"].item() == pytest.approx(2)
    assert at["sd"].item() == pytest.approx(NOISE.std(ddof=1))
    ours, rival = NOISE + 0.002, NOISE - 0.02
    assert at["rmse"].item() == pytest.approx(np.sqrt(np.mean(ours**2)))
    assert at["best_rival"].item() == "temperature"
    assert at["rmse_ratio"].item() == pytest.approx(np.sqrt(np.mean(ours**2) / np.mean(rival**2)))
    left_out = [np.sqrt(np.mean(np.delete(ours, i) ** 2) / np.mean(np.delete(rival, i) ** 2)) for i in range(4)]
    assert at["rmse_ratio_se"].item() == pytest.approx(np.sqrt(3 * np.var(left_out)))
    assert at["coverage"].item() == 0.75
    assert at["coverage_se"].item() == pytest.approx(np.sqrt(5 / 8 * 3 / 8 / 8))
    assert at["below_truth"].item() == 0.5
    assert at["warned"].item() == 0.25
    # 2 % is within 10 %; 75 % of four may be 92 %.
    assert at["bias_verdict"].item() == MET
    assert at["coverage_verdict"].item() == UNCERTAIN
    # Bins have a target with no control: their mean less the truth.
    binned = synthetic.sel({"scenario": "mixture", "method": "binned"}).squeeze()
    assert binned["bias"].item() == pytest.approx(0, abs=1e-12)
    assert binned["bias_se"].item() == pytest.approx(NOISE.std(ddof=1) / 2)


def test_calibrated_data_are_judged_in_standard_errors(synthetic: xr.Dataset) -> None:
    at = synthetic.sel({"scenario": "calibrated", "method": "debiased"}).squeeze()
    assert np.isnan(at["relative_bias"].item())
    # A shift of 0.002 with no noise left is any number of standard errors.
    assert at["bias_verdict"].item() == MISSED
    assert at["coverage_verdict"].item() == NOT_ASKED


def test_size_and_power_of_known_pvalues(synthetic: xr.Dataset) -> None:
    size, power = (synthetic.sel(test_scenario=name).squeeze() for name in ("calibrated", "mixture"))
    assert size["rejection_rate"].values.tolist() == [0.05, 0.0, 0.05, 0.0]
    assert size["test_verdict"].item() == MET
    assert power["rejection_rate"].values.tolist() == [0.6, 0.0, 0.8, 0.0]
    # Paired: 20 of 100 lost, a standard error of 4 %.
    assert power["test_verdict"].item() == MISSED
    assert power["rejection_rate_se"].values[0] == pytest.approx(np.sqrt(62 / 104 * 42 / 104 / 104))


def test_missed_targets_are_named(synthetic: xr.Dataset) -> None:
    lines = table(synthetic).splitlines()
    missed = [line.strip() for line in lines if line.startswith("    missed:")]
    assert missed[0] == "missed: calibrated, k = 2, n = 1000, log"
    assert missed[-1] == "missed: mixture, k = 2, n = 300"
    assert any("size of the test" in line and "5.0% ± 1.1%" in line for line in lines)


def test_verdicts() -> None:
    excess = xr.DataArray([-1.0, 0.0, 1.0, 3.0, np.nan, 3.0], dims="x")
    asked = xr.DataArray([True, True, True, True, True, False], dims="x")
    found = verdict(excess, xr.full_like(excess, 1.0), asked)
    assert found.values.tolist() == [MET, MET, UNCERTAIN, MISSED, NOT_ASKED, NOT_ASKED]


# --- rivals and alternatives


def test_weak_alternatives_have_the_stated_noncentrality() -> None:
    for scenario, n in (("mixture", 300), ("neighbour", 3000)):
        model = weakened(scenario, 3, n)
        # The strength is found on 20 000 rows.
        assert 2 * n * model.truth("log", "canonical").value == pytest.approx(NONCENTRALITY, rel=0.1)
    assert weakened("calibrated", 3, 300).truth("log", "canonical").value == 0


def test_the_inverse_temperature_is_the_maximum_of_the_likelihood() -> None:
    y_true, g, _ = TemperatureScaledSimplex(3).sample(400, random_state=0)
    log_g, rows = np.log(g), np.arange(400)

    def loss(a: float) -> float:
        return -float(np.sum(a * log_g[rows, y_true] - np.log(np.sum(np.exp(a * log_g), axis=1))))

    expected = minimize_scalar(loss, bounds=(0.01, 10), method="bounded", options={"xatol": 1e-9})
    for start in (0.02, 1.0, 30.0):
        assert rivals.fit_inverse_temperature(log_g, y_true, start) == pytest.approx(expected.x, rel=1e-5)
    # Separable classes have no maximum; the end of the range stands for it.
    assert rivals.fit_inverse_temperature(log_g, g.argmax(axis=1)) > 100


def test_temperature_scaling_finds_the_truth_of_its_own_model() -> None:
    y_true, g, _ = TemperatureScaledSimplex(3).sample(40_000, random_state=1)
    generators = [Log(), Brier(), Spherical()]
    found = rivals.temperature_estimates(y_true, g, generators, np.random.default_rng(0))
    for *values, generator in zip(*found, generators, strict=True):
        truth = TemperatureScaledSimplex(3).truth(generator, "canonical").value
        # Standard errors below 2 % (log) and 4 % of the truth; a fifth is five of them.
        assert values == pytest.approx([truth, truth], rel=0.2)


def test_the_mixture_counts_as_one_row_more() -> None:
    y_true, g, _ = TemperatureScaledSimplex(3).sample(30, random_state=5)
    # Five folds of 6: fitted to 24 rows, and one uniform one. Replayed with the same folds.
    fold = np.random.default_rng(1).permutation(30) % 5
    r = np.empty_like(g)
    for f in range(5):
        a = rivals.fit_inverse_temperature(np.log(g[fold != f]), y_true[fold != f])
        scaled = g[fold == f] ** a
        r[fold == f] = 24 / 25 * scaled / scaled.sum(axis=1, keepdims=True) + 1 / 25 / 3
    rows = np.arange(30)
    expected = np.mean(np.log(r[rows, y_true]) - np.log(g[rows, y_true]))
    _, mixed = rivals.temperature_estimates(y_true, g, [Log()], np.random.default_rng(1))
    assert mixed == pytest.approx([expected], rel=1e-9)


def test_classwise_truths_by_draws_agree_with_those_by_integration() -> None:
    # With two classes the class-wise and the canonical error are one number.
    model = MiscalibratedSimplex(2, "confidence temperature")
    generators = [Log(), Brier()]
    for (value, bound), generator in zip(classwise_truth(model, generators), generators, strict=True):
        truth = model.truth(generator).value
        assert abs(value - truth) <= bound
        assert bound <= 0.02 * truth
    # Given one of several predictions, p is not known: Jensen's inequality, and 0 at calibration.
    several = MiscalibratedSimplex(4, "vector scaling")
    (log, _), (brier, _) = classwise_truth(several, generators)
    assert 0 < log < several.truth("log").value
    assert brier > 0
    assert not classwise_truth(MiscalibratedSimplex(4, "identity"), generators).any()


def test_binned_estimates_are_sums_over_bins() -> None:
    y_true, g, _ = TemperatureScaledSimplex(3).sample(200, random_state=2)
    expected = np.zeros(2)
    for i in range(3):
        for b in range(15):
            rows = (g[:, i] >= b / 15) & ((g[:, i] < (b + 1) / 15) | (b == 14))
            if rows.any():
                y, q = float(np.mean(y_true[rows] == i)), float(g[rows, i].mean())
                kl = sum(u * np.log(u / v) for u, v in ((y, q), (1 - y, 1 - q)) if u > 0)
                expected += rows.mean() / 3 * np.array([kl, 2 * (y - q) ** 2])
    np.testing.assert_allclose(rivals.binned_estimates(y_true, g, [Log(), Brier()]), expected, rtol=1e-9)


@pytest.mark.parametrize(("p", "q"), [(0.3, 0.3), (0.7, 0.45)])
def test_debiased_bins_are_unbiased_within_a_bin(p: float, q: float) -> None:
    # All labels of a bin of four, with their probabilities.
    g, mean = np.tile([1 - q, q], (4, 1)), 0.0
    for labels in itertools.product((0, 1), repeat=4):
        y = np.array(labels, dtype=np.int64)
        mean += p ** y.sum() * (1 - p) ** (4 - y.sum()) * rivals.debiased_binned_estimate(y, g)
    assert mean == pytest.approx(2 * (p - q) ** 2, abs=1e-12)


def test_kernel_and_binned_statistics_are_the_published_sums() -> None:
    y_true, g, _ = TemperatureScaledSimplex(3).sample(40, random_state=3)
    residual = np.eye(3)[y_true] - g
    width = np.median([np.abs(a - b).sum() for a, b in itertools.combinations(g, 2)])
    pairs = itertools.permutations(range(40), 2)
    skce = sum(np.exp(-np.abs(g[i] - g[j]).sum() / width) * residual[i] @ residual[j] for i, j in pairs) / (40 * 39)
    chi_square = 0.0
    for i in range(3):
        at = np.minimum((15 * g[:, i]).astype(int), 14)
        chi_square += sum(
            residual[at == b, i].sum() ** 2 / (g[at == b, i] * (1 - g[at == b, i])).sum() for b in set(at)
        )
    single = residual[None].astype(np.float32)
    assert rivals._kernel_errors(single, g)[0] == pytest.approx(skce, rel=1e-4)
    assert rivals._binned_chi_squares(single, g)[0] == pytest.approx(chi_square, rel=1e-4)


def test_rival_tests_are_exact_and_have_power() -> None:
    rng = np.random.default_rng(4)
    sizes, powers = [], []
    for seed in range(300):
        calibrated, mixed = (MiscalibratedSimplex(2, name).sample(60, seed) for name in ("identity", "temperature"))
        sizes.append(list(rivals.resampled_pvalues(calibrated.y_true, calibrated.y_proba, 19, rng).values()))
        if seed < 60:
            powers.append(list(rivals.resampled_pvalues(mixed.y_true, mixed.y_proba, 19, rng).values()))
    # P(p ≤ 0.1) = 0.1 but for ties. Five standard errors of 300 are 8.7 %.
    size = np.mean(np.array(sizes) <= 0.1, axis=0)
    assert (size <= 0.187).all()
    assert (size >= 0.02).all()
    assert np.mean(np.array(powers) <= 0.1, axis=0).max() > 0.3
