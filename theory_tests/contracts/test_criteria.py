"""What the search of the bandwidth minimises, and how it walks; which sums an estimate takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from propercal import conditional_mean, decompose
from propercal._data.predictions.notions import as_notion
from propercal._data.predictions.predictions import validate
from propercal._kernels import algorithm, conditional, criteria, lattice, linear
from propercal._kernels.kernels import as_kernel
from theory_tests.instances import calibrated, generators

N, K = 90, 3
RNG = np.random.default_rng(4)
Y, P = calibrated(N, K, RNG, concentration=0.8)
WEIGHT = RNG.uniform(0.2, 3.0, N)
GENERATORS = generators("log", "brier")


def expected(notion: str, rows: Any) -> list[float]:
    """Mean over problems of Σ w L(r̂, y), r̂ without the row itself."""
    weight = WEIGHT / WEIGHT.sum()
    mean = conditional_mean(Y, P, notion=notion, bandwidth=0.05, sample_weight=WEIGHT)
    if notion == "canonical":
        problems: Any = [(mean, Y)]
    else:
        problems = [(np.stack([1 - m, m], axis=1), 1 * (i == Y)) for i, m in enumerate(mean.T)]
    return [
        float(np.mean([np.sum((weight * generator.loss(r, np.eye(r.shape[1])[y]))[rows]) for r, y in problems]))
        for generator in GENERATORS
    ]


@pytest.mark.parametrize("notion", ["canonical", "classwise"])
@pytest.mark.parametrize("rows", [None, np.arange(N), np.array([3, 4, 20, 77])], ids=str)
def test_the_criterion_is_the_leave_one_out_loss(notion: str, rows: Any) -> None:
    problems = as_notion(notion).problems(validate(Y, P, sample_weight=WEIGHT))
    kernel: Any = as_kernel("dirichlet")
    measure = criteria.losses(GENERATORS)
    if rows is None:
        found = criteria.exactly(problems, kernel, measure, 0.05, "exact")
    else:
        found = np.mean([measure(criteria.at_rows(problem, kernel, 0.05, rows)) for problem in problems], axis=0)
    chosen = slice(None) if rows is None else rows
    np.testing.assert_allclose(found, expected(notion, chosen), rtol=1e-10)


def test_rows_of_infinite_loss_are_a_penalty_and_the_others_still_count() -> None:
    """The one row of its class: r̂ gives it 0, whose log loss is infinite."""
    y = np.where(np.arange(N) == 7, 2, Y % 2)
    problems = as_notion("canonical").problems(validate(y, P))
    log, brier = criteria.exactly(problems, as_kernel("dirichlet"), criteria.losses(GENERATORS), 0.05, "exact")
    mean = conditional_mean(y, P, bandwidth=0.05)
    others = np.delete(np.arange(N), 7)
    rest = -np.log(mean[others, y[others]]).sum() / N
    assert log - criteria.INFINITE_ROW / N == pytest.approx(rest, abs=1e-6)
    assert brier == pytest.approx(((mean - np.eye(K)[y]) ** 2).sum(axis=1).mean(), rel=1e-10)


# --- the walk


def on_lattice(function: Any) -> lattice._Lattice:
    return lattice._Lattice(lambda gamma: function(np.log10(gamma) * lattice._STEPS_PER_DECADE))


@pytest.mark.parametrize(("sides", "bottom"), [
    *(((-60, -52, -48), bottom) for bottom in (-55.9, -54.2, -52.0, -51.8, -50.3)),
    *(((-59, -55, -40), bottom) for bottom in (-56.4, -55.3, -51.6, -48.1)),
    *(((-64, -50, -46), bottom) for bottom in (-56.7, -52.4, -50.2, -48.3)),
    *(((-54, -50, -46), bottom) for bottom in (-51.9, -50.3, -49.8, -48.1)),
])
def test_of_a_parabola_its_bottom_is_found_at_once(sides: tuple[int, int, int], bottom: float) -> None:
    at = on_lattice(lambda x: 3.0 + 0.25 * (x - bottom) ** 2)
    left, here, right = sides
    assert at(left) >= at(here) <= at(right)
    found = lattice._bottom(at, left, here, right)
    if round(bottom - here) != 0:
        assert found == here + round(bottom - here)
    elif max(here - left, right - here) <= lattice._STRIDE:
        assert found == here + (1 if bottom > here else -1)
    else:
        # The middle of the wider gap.
        wide = right - here > here - left
        assert found == (here + (right - here) // 2 if wide else here - (here - left) // 2)


@pytest.mark.parametrize(("points", "found"), [
    # Flat, in narrow gaps: one beside.
    ((-44, -40, -36), -41),
    # Flat, in gaps of which one is wide: its middle.
    ((-44, -40, -30), -35),
    ((-54, -40, -36), -47),
    # At an end of the lattice: the middle of the gap there is.
    ((lattice._LOWEST, lattice._LOWEST, lattice._LOWEST + 6), lattice._LOWEST + 3),
    ((lattice._HIGHEST - 6, lattice._HIGHEST, lattice._HIGHEST), lattice._HIGHEST - 3),
])
def test_where_no_parabola_tells_the_gap_does(points: tuple[int, int, int], found: int) -> None:
    assert lattice._bottom(on_lattice(lambda x: 1.0), *points) == found


@pytest.mark.parametrize("bottom", [-100.3, -60.0, -20.6, 15.2])
@pytest.mark.parametrize("start", [-110, -57, 3])
def test_the_walk_ends_in_the_valley_after_few_steps(bottom: float, start: int) -> None:
    at = on_lattice(lambda x: (x - bottom) ** 2)
    lattice._descend(at, start)
    assert abs(at.lowest - bottom) <= 0.5
    # Strides grow by half: as many as reach the valley, and a parabola or two.
    assert len(at.tried) <= 6 + 2 * np.log(1 + abs(bottom - start) / 8) / np.log(1.5)


# --- which sums
@pytest.mark.parametrize("wins", [True, False])
def test_auto_takes_linear_sums_where_they_win(wins: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "wins", lambda *_: wins)
    settings: dict[str, Any] = {"method": "risk", "bandwidth": 0.05}
    one_dimensional = decompose(Y, P, notion="classwise", **settings)
    assert one_dimensional.algorithm == ("linear" if wins else "exact")
    assert decompose(Y, P, **settings).algorithm == "exact"
    bins = decompose(Y, P, kernel="uniform-bins", method="risk", bandwidth=0.5)
    assert bins.algorithm == "cells"
    for named in ("linear", "exact"):
        assert decompose(Y, P, notion="top-label", algorithm=named, **settings).algorithm == named


def pairs(n: int, seed: int = 0) -> Any:
    g = np.random.default_rng(seed).uniform(0.01, 0.99, n)
    return np.log(np.stack([1 - g, g], axis=1))


def test_linear_sums_win_on_many_rows_of_a_wide_kernel() -> None:
    """Moving a row to the nodes and back costs a hundred kernel values, of which exact sums take n."""
    assert not linear.wins(pairs(390), 0.1)
    assert linear.wins(pairs(2000), 0.1)
    assert linear.wins(pairs(20_000), 1e-3)
    assert linear.wins(pairs(100_000), 1e-5)
    # Of a narrow kernel there are more nodes than rows.
    assert not linear.wins(pairs(2000), 1e-4)
    assert not linear.wins(pairs(5000), 1e-6)


@pytest.mark.parametrize("gamma", [0.1, 1e-3])
def test_sums_that_win_are_those_of_fewer_kernel_values(gamma: float) -> None:
    """The costs are as in the docstring; where they cross is found here by bisection."""
    panels = linear.panels_for(pairs(2000), gamma)
    m = panels.n_panels * panels.order
    low, high = 400, 100_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if linear.wins(pairs(2000)[:1].repeat(middle, 0), gamma) else (middle, high)
    nodes = m * min(m, 16 * panels.order)
    # n²/4 = nodes + 100 n
    assert high == pytest.approx(200 + 2 * np.sqrt(100**2 + nodes), rel=0.02)


def test_of_several_sums_one_in_linear_time_is_said() -> None:
    assert algorithm.joint_algorithm(["exact", "linear", "exact"]) == "linear"
    assert algorithm.joint_algorithm(["exact", "exact"]) == "exact"
    assert algorithm.joint_algorithm([]) == "none"


@pytest.mark.parametrize("which", ["prob", "log_prob"])
def test_a_gradient_stands_in_the_way_of_linear_sums(which: str) -> None:
    torch = pytest.importorskip("torch")
    log_prob = torch.asarray(pairs(5))
    tensors = {"prob": log_prob.exp(), "log_prob": log_prob}
    kernel = as_kernel("dirichlet")
    assert linear.obstacle(kernel, **tensors) is None
    tensors[which].requires_grad_()
    assert "gradient" in str(linear.obstacle(kernel, **tensors))


def test_panels_are_symmetric_and_cover_the_interval() -> None:
    panels = linear.panels_for(pairs(50), 0.01)
    lower, upper = panels.angles(np.arange(panels.n_panels))
    np.testing.assert_allclose(lower[1:], upper[:-1], atol=1e-12)
    assert (lower[0], upper[-1]) == pytest.approx((0.0, np.pi / 2), abs=1e-12)
    np.testing.assert_allclose(lower + upper[::-1], np.pi / 2, atol=1e-12)


def test_linear_sums_are_refused_with_the_reason() -> None:
    for settings, reason in (
        ({"notion": "canonical"}, "no pairs"),
        ({"notion": "classwise", "kernel": "uniform-bins"}, "bins, whose means"),
    ):
        with pytest.raises(ValueError, match=f"algorithm = 'linear' with .*{reason}"):
            conditional_mean(Y, P, bandwidth=0.5, algorithm="linear", **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(("settings", "message"), [
    ({"exclude_self": "yes"}, "exclude_self = 'yes'"),
    ({"algorithm": "AUTO"}, "algorithm = 'AUTO'"),
    ({"tolerance": 1.0}, "tolerance = 1.0"),
])
def test_arguments_of_the_conditional_mean_are_named(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        conditional_mean(Y, P, bandwidth=0.05, **settings)


@pytest.mark.parametrize("algorithm", ["exact", "linear"])
def test_a_row_of_weight_zero_is_a_target_and_no_source(algorithm: str) -> None:
    weight = np.where(np.arange(N) % 4 == 0, 0.0, WEIGHT)
    settings: dict[str, Any] = {"notion": "classwise", "bandwidth": 0.05, "algorithm": algorithm}
    found = conditional_mean(Y, P, sample_weight=weight, **settings)
    kept = weight > 0
    alone = conditional_mean(Y[kept], P[kept], sample_weight=weight[kept], **settings)
    np.testing.assert_allclose(found[kept], alone, rtol=1e-9)
    assert np.isfinite(found).all()


# --- bins
def test_one_bin_holds_all_rows() -> None:
    found = conditional_mean(Y, P, kernel="uniform-bins", bandwidth=1.0, exclude_self=False)
    share = np.eye(K)[Y].mean(axis=0)
    np.testing.assert_allclose(found, np.broadcast_to(share, P.shape), rtol=1e-12)


def test_a_certain_prediction_is_in_the_last_bin() -> None:
    y, p = np.array([1, 1, 0, 0]), np.array([0.9, 1.0, 1.0, 0.2])
    settings: dict[str, Any] = {"kernel": "uniform-bins", "exclude_self": False}
    found = conditional_mean(y, p, bandwidth=0.25, **settings)
    np.testing.assert_allclose(found[:, 1], [2 / 3, 2 / 3, 2 / 3, 0])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("generator", ["log", "brier"])
def test_every_level_is_the_criterion_at_its_rows(generator: str, weighted: bool) -> None:
    """A mean over the rows it looks at, each by its weight; a class that occurs once is infinite there."""
    n = 1600
    y, p = calibrated(n, 3, 3, power=1.5)
    y = np.where(y == 2, 0, y)
    y[700] = 2
    w = np.random.default_rng(0).uniform(0.2, 3.0, n) if weighted else None
    problem = next(iter(as_notion("canonical").problems(validate(y, p, sample_weight=w))))
    (chosen,) = generators(generator)
    kernel = as_kernel("dirichlet")
    found = criteria.levels([problem], kernel, criteria.losses([chosen]))
    assert not found.faithful
    mean = conditional.kernel_mean(problem, kernel, 0.05, algorithm="exact").mean
    with np.errstate(divide="ignore"):
        loss = chosen.loss(mean, np.eye(3)[y])
    infinite = np.isinf(loss)
    assert infinite.sum() == (generator == "log")
    parts = criteria.row_parts(problem)
    assert [len(part) for part in parts] == [n // 8, n // 8, 3 * n // 4]
    for i, level in enumerate(found.functions, 1):
        rows = np.concatenate(parts[:i])
        total = np.sum((problem.weight * np.where(infinite, 0.0, loss))[rows]) + criteria.INFINITE_ROW * infinite[rows].sum() / n
        np.testing.assert_allclose(level(0.05), [total / problem.weight[rows].sum()], rtol=1e-9)


@pytest.mark.parametrize(("n", "sizes"), [(767, [767]), (768, [192, 576]), (1535, [384, 1151]), (1536, [192, 192, 1152]), (2304, [192, 384, 1728])])
def test_the_first_look_is_at_192_rows_or_more(n: int, sizes: list[int]) -> None:
    """One row in 12, 8 or 4; with the second look it is one in four."""
    y, p = calibrated(n, 3, 0)
    problem = next(iter(as_notion("canonical").problems(validate(y, p))))
    assert [len(part) for part in criteria.row_parts(problem)] == sizes
    assert len(criteria.levels([problem], as_kernel("dirichlet"), criteria.losses(generators("brier"))).functions) == len(sizes)
