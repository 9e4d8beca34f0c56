"""Rules that all studies share: errors of shares, coverage, ranks, and what is beyond chance."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from propercal.experiments import beyond_chance
from propercal.experiments.statistics import errors_of_chance, share_inside
from studies import bias_on_networks, classwise_ranking, debiasing_summary, losses, simulated
from theory_tests.contracts.test_network_studies import ranked, relative_biases

STUDIES = sorted((Path(__file__).resolve().parents[2] / "studies").glob("*.py"))

# Hit, miss, not stated at all, without an upper end, hit: two of three.
LOWER = np.array([0.0, 0.4, np.nan, 0.0, 0.1])
UPPER = np.array([0.3, 0.5, np.nan, np.nan, 0.2])
TRUTH = 0.2


def statements() -> Iterator[tuple[Path, ast.stmt]]:
    """Yield the top-level statements of all files of studies."""
    for path in STUDIES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            yield path, node


@pytest.fixture
def intervals() -> xr.Dataset:
    ends = {"lower": ("replicate", LOWER), "upper": ("replicate", UPPER), "truth": TRUTH}
    return xr.Dataset(ends).expand_dims(generator=["log"])


def test_a_missing_interval_is_neither_a_hit_nor_a_miss(intervals: xr.Dataset) -> None:
    share, count = share_inside(intervals["lower"], intervals["upper"], intervals["truth"])
    assert (share.item(), count.item()) == (pytest.approx(2 / 3), 3)
    by_replicate, stated = share_inside(intervals["lower"], intervals["upper"], intervals["truth"], "generator")
    np.testing.assert_array_equal(by_replicate, [1, 0, np.nan, np.nan, 1])
    assert stated.values.tolist() == [1, 1, 0, 0, 1]
    unknown = share_inside(intervals["lower"], intervals["upper"], xr.DataArray(np.nan))
    assert np.isnan(unknown[0].item())
    assert unknown[1].item() == 0


def test_three_studies_state_one_coverage(intervals: xr.Dataset) -> None:
    networks = intervals.assign(reference=("method", [TRUTH])).assign_coords(method=["debiased"])
    assert bias_on_networks.coverage(networks) == pytest.approx(2 / 3)
    assert simulated.coverage(intervals).endswith("hold the truth in 2 of 3.")
    assert simulated.coverage(intervals.isel(replicate=[2, 3])).endswith("hold the truth in 0 of 0.")
    others = {name: xr.zeros_like(intervals["lower"]) for name in ("lower_bound", "warned", "kernel_share")}
    found = debiasing_summary._coverage(intervals.assign(others), intervals["truth"])
    assert found["coverage"][0].item() == pytest.approx(2 / 3)
    # Agresti and Coull: two hits and two misses are added to two of three.
    assert found["coverage_se"][0].item() == pytest.approx(np.sqrt(4 / 7 * 3 / 7 / 7))
    assert found["below_truth"][0].item() == 1


def test_a_missing_reference_interval_is_left_out_of_the_count_of_models() -> None:
    reference = xr.DataArray([[[0.4]], [[0.4]], [[0.1]]], dims=("model", "generator", "method"))
    ends = {"reference_lower": [0.0, np.nan, 0.0], "reference_upper": [0.2, np.nan, 0.2]}
    summary = xr.Dataset(
        {"reference": reference, **{k: (("model", "generator"), np.array(v)[:, None]) for k, v in ends.items()}}
    )
    summary = summary.assign_coords(generator=["log"], method=["risk"])
    assert bias_on_networks.outside(summary, "log", "risk") == (1, 2)


def test_a_share_of_all_has_an_error() -> None:
    shares, counts = (xr.DataArray([x], {"sample_size": [300]}) for x in (1.0, 200.0))
    (line,) = debiasing_summary._shares("coverage", shares, counts, "sample_size")
    # 202 of 204, by the rule of every other share of the study.
    assert f"{np.sqrt(202 / 204 * 2 / 204 / 204):.1%}" == "0.7%"
    assert line.endswith("n = 300: 100.0% ± 0.7%")


def test_tied_classes_have_the_least_of_their_ranks() -> None:
    of = ranked([1, 2, 2, 4], [4, 3, 2, 1], 0.1).assign(binned_null=("class", np.zeros(4)))
    lines = list(classwise_ranking._values(of, "model"))
    (row,) = (line for line in lines if line.startswith("CE_1 binned"))
    assert re.findall(r"\((\d)\)", row) == ["1", "2", "2", "4"]
    # A tie of the least two, which half a rank less would show as the same.
    of = ranked([1, 1, 1, 1], [1, 1, 3, 4], 0.1).assign(binned_null=("class", np.zeros(4)))
    rows = [
        line for line in classwise_ranking._values(of, "model") if line.startswith(("CE_1 binned", "CE_KL debiased"))
    ]
    assert [re.findall(r"\((\d)\)", row) for row in rows] == [["1"] * 4, ["1", "1", "3", "4"]]


def test_few_replicates_need_more_errors() -> None:
    # Quantiles of Student's t with 1, 4 and 29 degrees of freedom, as tables have them.
    np.testing.assert_allclose(errors_of_chance(xr.DataArray([2, 5, 30])), [12.706, 2.776, 2.045], atol=5e-4)
    # Five numbers of mean m have the standard error √(2.5 / 5) of 1 … 5: m in errors, on both sides of 2.776.
    five = xr.DataArray(np.arange(-2.0, 3.0), dims="replicate")
    for errors, sure in ((2.7, False), (2.9, True), (-2.7, False), (-2.9, True)):
        assert beyond_chance(five + errors * np.sqrt(0.5), "replicate").item() is sure


@pytest.mark.parametrize(("errors", "counts"), [(-10.0, (1, 0, 0)), (-0.1, (1, 0, 0)), (2.4, (0, 0, 1)), (2.9, (0, 1, 0))])
@pytest.mark.parametrize("sign", [1, -1])
def test_subsets_are_far_from_the_whole_set_beyond_chance(
    errors: float, counts: tuple[int, int, int], sign: int
) -> None:
    spread = 0.01 * np.arange(-2.0, 3.0)
    # The mean is this many standard errors beyond 10 %.
    far = sign * (bias_on_networks.CLOSE + errors * 0.01 * np.sqrt(0.5)) + spread
    (found,) = bias_on_networks.closeness(relative_biases([far, spread]))
    assert found[2:] == counts


@pytest.mark.parametrize(("errors", "lost"), [(2.5, ""), (2.9, "mixture")])
def test_simulations_lost_by_the_correction_are_so_beyond_chance(errors: float, lost: str) -> None:
    # Of five data sets, a bias this many standard errors of 1 % below −15 %.
    names, classes, losses_, sizes = ["over-confident", "mixture"], [2], ["log", "brier"], [1000, 3000]
    coords = {"scenario": names, "n_classes": classes, "generator": losses_, "sample_size": sizes, "method": ["debiased", "risk"]}
    bias = xr.DataArray(0.0, coords, tuple(coords)).copy()
    bias.loc[{"scenario": "mixture", "generator": "log", "sample_size": 3000}] = -15 - errors
    counts = xr.full_like(bias.isel(method=0, generator=0, drop=True), 5, dtype=int)
    found, _ = debiasing_summary.correction(xr.Dataset({"relative_bias": bias, "relative_bias_se": xr.ones_like(bias), "n_replicates": counts}))
    assert found.endswith(f"beyond chance at n = 1000 or 3000: {lost}")


# --- names


def test_a_loss_has_one_table_of_names() -> None:
    assert [losses.symbol(name) for name in ("log", "brier")] == ["CE_KL", "CE_2²"]
    assert [losses.loss(name).divergence for name in ("log", "brier")] == ["KL", "L2"]
    assert [losses.unit(name) for name in ("log", "brier", "spherical")] == ["nats", "Brier score", "spherical score"]
    assert [losses.with_unit("rise", name) for name in ("log", "brier", "spherical")] == ["rise (nats)", "rise", "rise"]
    # No study has a table of its own; what the paper claims of a loss is no name of it.
    tables = {
        f"{path.stem}.{ast.unparse(node.targets[0])}"
        for path, node in statements()
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict) and "log" in {getattr(key, "value", None) for key in node.value.keys}
    }
    assert tables == {"losses._LOSSES", "posthoc_report.CLAIM"}


def test_no_public_name_stands_for_two_things_in_studies() -> None:
    """But for those that a study has as such, and constants of its own."""
    of_a_study = {"Design", "measure", "read", "split", "summarise", "table", "figures", "contests", "coverage"}
    found: dict[str, list[str]] = {}
    for path, node in statements():
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            found.setdefault(node.name, []).append(path.stem)
    assert {name: stems for name, stems in found.items() if len(stems) > 1 and name not in of_a_study} == {}


# --- titles

QUESTIONS = re.compile(r"(?:How|What|Which|When|Where|Who|Whether|Why|Do|Does|Is|Are|Can|From)\b|.*\?")


def test_titles_of_studies_are_noun_phrases() -> None:
    scripts = {path.name: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in STUDIES}
    titles = [(name, (text or "?").splitlines()[0]) for name, text in scripts.items()]
    pages = [STUDIES[0].parent / "README.md", *sorted((STUDIES[0].parents[1] / "book" / "results").glob("*.md"))]
    for page in pages:
        titles += [(page.name, title) for title in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)]
    assert len(titles) > len(scripts) + 2 * len(pages)
    assert [(name, title) for name, title in titles if QUESTIONS.match(title)] == []


def test_the_table_of_studies_leads_to_their_sections() -> None:
    text = (STUDIES[0].parent / "README.md").read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    # As GitHub makes them.
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    links = re.findall(r"\]\(#([^)]*)\)", text)
    assert len(links) == 11
    assert set(links) <= anchors
