"""Colours and markers of estimates: the same in all studies, and apart from each other."""

from __future__ import annotations

from itertools import combinations

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("xarray")

from matplotlib.figure import Figure
from matplotlib.text import Text

from propercal.experiments.figures import panels
from studies import debiasing, debiasing_summary, styles

#: What figures call an estimate, by its style.
NAMES = {
    "debiased": ["debiased", "debiased, 95 % interval"],
    "risk": ["risk", "risk, γ = 0.02", "γ = 0.001", "γ by likelihood", "the paper's estimate (γ = 0.02)"],
    "direct": ["direct", "direct, γ = 0.1"],
    "bin": ["binned", "equal-width bins", "equal-weight bins"],
}


def test_an_estimate_looks_the_same_by_every_name() -> None:
    looks = {name: {(of["color"], of["marker"]) for of in map(styles.style, names)} for name, names in NAMES.items()}
    assert all(len(found) == 1 for found in looks.values())
    for one, other in combinations(looks.values(), 2):
        assert not {*next(iter(one))} & {*next(iter(other))}


def test_every_rival_of_the_debiasing_study_has_a_style() -> None:
    found = [styles.style(method)["marker"] for method in debiasing_summary.RMSE_RIVALS]
    assert len(set(found)) == len(found)
    assert all(styles.style(method) for method in debiasing.METHODS)


@pytest.mark.parametrize("names", [["none", "temperature", "isotonic", "isotonic-smoothed"], ["calibration_test", "temperature", "binned", "skce"]])
def test_recalibrations_and_tests_are_told_apart(names: list[str]) -> None:
    looks = [styles.points(name) for name in names]
    for key in ("color", "marker"):
        assert len({look[key] for look in looks}) == len(names)


def test_settings_of_an_estimate_are_told_apart() -> None:
    found = [styles.style("risk", i) for i in range(4)]
    assert len({str(of["linestyle"]) for of in found}) == 4
    assert len({of["color"] for of in found}) == 1


def test_lines_drawn_by_their_order_get_their_styles() -> None:
    axis = Figure().subplots()
    for label in ("γ = 0.02", "γ = 0.001", "debiased"):
        axis.errorbar([1, 2], [1, 2], [0.1, 0.1], capsize=2, color="black", label=label)
    styles.restyle(axis)
    first, second, ours = ([drawn[0], *drawn[1]] for drawn in axis.containers)
    assert {line.get_color() for line in [*first, *second]} == {styles.STYLES["risk"][0]}
    assert {line.get_color() for line in ours} == {styles.STYLES["debiased"][0]}
    assert first[0].get_linestyle() != second[0].get_linestyle()


def test_more_rows_are_darker() -> None:
    from matplotlib.colors import to_rgb

    found = [sum(to_rgb(styles.shade(i, 4)["color"])) for i in range(4)]
    assert sorted(found, reverse=True) == found
    assert styles.shade(0, 1)["color"].upper() == styles.STYLES["debiased"][0]


def test_no_title_is_wider_than_its_figure() -> None:
    figure, _ = panels(1, 1, (styles.WIDTH, 3), "word " * 40 + "\nshort")
    figure.canvas.draw()
    box = next(each for each in figure.findobj(Text) if each.get_text() == figure.get_suptitle()).get_window_extent()
    assert box.width < figure.bbox.width
    assert figure.get_suptitle().splitlines()[-1] == "short"
