"""The search of the bandwidth of large samples, which looks at few rows before it takes all."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import propercal
from propercal import select_bandwidth
from propercal._data.predictions.notions import as_notion
from propercal._data.predictions.predictions import validate
from propercal._kernels import conditional, criteria, glance, linear, tiles
from propercal._kernels.bandwidth import select_by_risk
from propercal._kernels.kernels import as_kernel
from propercal._kernels.lattice import minimise
from propercal._typing import Array
from propercal.generators import as_generator
from theory_tests.instances import P_HARD, Y_HARD

DIRICHLET: Any = as_kernel("dirichlet")
CANONICAL = as_notion("canonical")
N = 1200
#: Some predictions are so wrong that labels are more probable if columns are of other classes.
pytestmark = pytest.mark.filterwarnings("ignore:y_proba has columns, read as those of the classes")
Sample = tuple[Array, Array]


def drawn(share: Array, proba: Array, seed: int) -> Sample:
    """Labels of probabilities `share`."""
    uniform = np.random.default_rng(seed).uniform(size=(len(share), 1))
    return (uniform > share.cumsum(1)).sum(1).clip(0, share.shape[1] - 1), proba


def sharpened(k: int, n: int = N) -> Sample:
    p = np.random.default_rng(k).dirichlet(np.ones(k), size=n)
    g = p**1.7
    return drawn(p, g / g.sum(1, keepdims=True), k)


def peaked(k: int, n: int = N) -> Sample:
    """Many predictions that are a vertex, or nearly."""
    p = np.random.default_rng(k).dirichlet(np.full(k, 0.05), size=n)
    return drawn(0.9 * p + 0.1 / k, p, k)


def on_two_scales(coarse: float, fine: float, n: int = N, third: float = 0.02) -> Sample:
    """Predictions along a line of three classes, whose criterion has two valleys."""
    x = np.linspace(0.02, 0.98, n)
    share = 0.5 + coarse * np.sin(2 * np.pi * x) + fine * np.sign(np.sin(100 * np.pi * x))
    p, q = (np.stack([(1 - e) * (1 - third), e * (1 - third), np.full(n, third)], axis=1) for e in (x, share))
    if third == 0.0:
        p, q = p[:, :2], q[:, :2]
    return drawn(q, p, 1)


def counted(k: int, n: int) -> Sample:
    """Shares of twenty votes: few distinct predictions."""
    rng = np.random.default_rng(k)
    p = rng.multinomial(20, rng.dirichlet(np.ones(k), size=n)) / 20
    return drawn(0.8 * p + 0.2 / k, p, k)


def certain(k: int, n: int) -> Sample:
    """Every other row is sure of what occurs; a few of the others lie alone among those."""
    y, p = peaked(k, n)
    return y, np.where(np.arange(n)[:, None] % 2 == 0, np.eye(k)[y], p)


SAMPLES = {
    "three": sharpened(3), "five": sharpened(5), "peaked": peaked(4), "fine": on_two_scales(0.2, 0.3),
    "coarse": on_two_scales(0.3, 0.2),
}


GENERATORS = ["log", "brier"]


def at_all_rows(sample: Sample, gamma: float) -> list[float]:
    """What the search minimises, by generator."""
    generators = [as_generator(name) for name in GENERATORS]
    problems = CANONICAL.problems(validate(*sample))
    return list(criteria.exactly(problems, DIRICHLET, criteria.losses(generators), gamma, "exact"))


@pytest.mark.parametrize("name", SAMPLES)
def test_few_rows_first_find_what_all_rows_would(name: str) -> None:
    sample = SAMPLES[name]
    grid = np.array([at_all_rows(sample, 10 ** (i / 12)) for i in range(-48, 7)])
    for i, generator in enumerate(GENERATORS):
        values = grid[:, i]
        finite = values[values < 1e4]
        found = at_all_rows(sample, select_bandwidth(*sample, generator=generator))[i]
        assert found <= values.min() + 1e-4 * np.ptp(finite)


PAIRS = {
    "sharpened": sharpened(2, 3000), "peaked": peaked(2, 3000), "counted": counted(2, 3000),
    "fine": on_two_scales(0.2, 0.3, 3000, 0.0), "coarse": on_two_scales(0.3, 0.2, 3000, 0.0),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("generator", GENERATORS)
def test_one_row_for_many_finds_what_all_rows_would(name: str, generator: str) -> None:
    """In one dimension, where rows of the same label that lie side by side have the same sums."""
    sample = PAIRS[name]
    problems = CANONICAL.problems(validate(*sample))
    measure = criteria.losses([as_generator(generator)])

    def value(gamma: float) -> float:
        return float(criteria.exactly(problems, DIRICHLET, measure, gamma, "auto")[0])

    values = np.array([value(10 ** (i / 12)) for i in range(-60, 13, 2)])
    finite = values[values < 1e4]
    assert value(select_bandwidth(*sample, generator=generator)) <= values.min() + 1e-3 * np.ptp(finite)


LARGE = {
    "three": sharpened(3, 2400), "five": sharpened(5, 2400), "peaked": peaked(4, 2400),
    "fine": on_two_scales(0.2, 0.3, 2400), "coarse": on_two_scales(0.3, 0.2, 2400), "counted": counted(3, 2400),
}


def sums_of_a_search(sample: Sample, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> float:
    """How many kernels over all pairs of rows a search evaluates."""
    n_pairs = 0
    real = tiles._over_tiles

    def counting(step: Any, target: Array, rows: Array, source: Array, *rest: Any) -> Array:
        nonlocal n_pairs
        n_pairs += target.shape[0] * source.shape[1]
        return real(step, target, rows, source, *rest)

    monkeypatch.setattr(tiles, "_over_tiles", counting)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the bandwidth search ended at")
        select_bandwidth(*sample, **settings)
    return n_pairs / len(sample[0]) ** 2


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("criterion", ["risk", "likelihood"])
def test_a_search_costs_at_most_eight_sums_over_all_pairs(
    name: str, generator: str, criterion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From 2304 rows on, where the first look is at one row in twelve."""
    assert 3 <= sums_of_a_search(LARGE[name], monkeypatch, generator=generator, criterion=criterion) <= 8


@pytest.mark.parametrize(("n", "most"), [(300, 18), (767, 18), (1000, 15.5), (1600, 10)])
@pytest.mark.parametrize("generator", GENERATORS)
def test_a_search_of_fewer_rows_costs_what_is_stated(
    n: int, most: float, generator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for sample in (sharpened(3, n), sharpened(5, n), peaked(4, n), counted(3, n)):
        assert 4 <= sums_of_a_search(sample, monkeypatch, generator=generator) <= most


@pytest.mark.parametrize("name", ["sharpened", "peaked", "counted"])
@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
def test_a_search_in_one_dimension_costs_at_most_eight_estimates(
    name: str, notion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In kernel values, of which moving a row to the nodes and back costs a hundred."""
    n = 20_000
    make: dict[str, Any] = {"sharpened": sharpened, "peaked": peaked, "counted": counted}
    sample = make[name](2, n)
    cost = 0
    for room in (glance, linear):
        real = room.floored_exp

        def counting(exponents: Array, *rest: Any, real: Any = real, **options: Any) -> Array:
            nonlocal cost
            cost += exponents.size
            return real(exponents, *rest, **options)

        monkeypatch.setattr(room, "floored_exp", counting)
    real_tiles = tiles._over_tiles

    def counting_tiles(step: Any, target: Array, rows: Array, source: Array, *rest: Any) -> Array:
        nonlocal cost
        cost += target.shape[0] * source.shape[1]
        return real_tiles(step, target, rows, source, *rest)

    monkeypatch.setattr(tiles, "_over_tiles", counting_tiles)
    real_sums = linear.class_sums

    def counting_sums(*arguments: Any, **options: Any) -> Any:
        nonlocal cost
        cost += 100 * n
        return real_sums(*arguments, **options)

    monkeypatch.setattr(linear, "class_sums", counting_sums)
    problems = as_notion(notion).problems(validate(*sample))
    for problem in problems:
        conditional.kernel_mean(problem, DIRICHLET, 0.01)
    one, cost = cost, 0
    select_bandwidth(*sample, notion=notion)
    # Each problem is moved to nodes of its own once, before the search.
    cost += 100 * n * len(list(problems))
    assert one < cost <= 8 * one


@pytest.mark.parametrize("name", SAMPLES)
def test_the_order_of_rows_does_not_matter(name: str) -> None:
    """Which rows are looked at depends on what is in them, ties of predictions included."""
    y, p = SAMPLES[name]
    order = np.random.default_rng(0).permutation(N)
    p = np.where(np.arange(N)[:, None] % 3 == 0, np.eye(p.shape[1])[y], p)
    parts = [
        criteria.row_parts(next(iter(CANONICAL.problems(validate(y[i], p[i]))))) for i in (np.arange(N), order)
    ]
    points = np.column_stack([y, p])
    assert [len(part) for part in parts[0]] == [N // 4, 3 * N // 4]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts[0])), np.arange(N))
    for one, other in zip(*parts, strict=True):
        first, second = points[one], points[order][other]
        np.testing.assert_array_equal(first[np.lexsort(first.T)], second[np.lexsort(second.T)])
    assert select_bandwidth(y, p, generator="brier") == select_bandwidth(y[order], p[order], generator="brier")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", PAIRS)
def test_the_order_of_rows_does_not_matter_in_one_dimension(name: str, weighted: bool) -> None:
    y, p = PAIRS[name]
    rng = np.random.default_rng(0)
    order, w = rng.permutation(len(y)), rng.integers(1, 4, len(y)) if weighted else None
    problems = [
        next(iter(CANONICAL.problems(validate(y[i], p[i], sample_weight=None if w is None else w[i]))))
        for i in (np.arange(len(y)), order)
    ]
    first, second = (glance.Glance(problem, 1e-5) for problem in problems)
    np.testing.assert_array_equal(first.share, second.share)
    np.testing.assert_allclose(first.weight, second.weight, rtol=1e-12)
    np.testing.assert_array_equal(problems[0].prob[first.rows], problems[1].prob[second.rows])
    # A row stands for rows of its own label, and for all of them between them.
    label, weight = problems[0].label, problems[0].weight
    np.testing.assert_allclose(np.bincount(label[first.rows], first.share), np.bincount(label) / len(y))
    np.testing.assert_allclose(np.bincount(label[first.rows], first.weight), np.bincount(label, weight))


LONELY = PAIRS | {"certain": certain(2, 3000)}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gamma", [1e-5, 4e-4, 0.03, 5.0])
@pytest.mark.parametrize("name", LONELY)
def test_sums_at_a_glance_are_the_kernel_sums(name: str, gamma: float, weighted: bool) -> None:
    y, p = LONELY[name]
    w = np.random.default_rng(0).uniform(0.2, 3.0, len(y)) if weighted else None
    problem = next(iter(CANONICAL.problems(validate(y, p, sample_weight=w))))
    look = glance.Glance(problem, 1e-5)
    found = look.sums(DIRICHLET, gamma)
    wanted = conditional.kernel_mean(problem, DIRICHLET, gamma, algorithm="exact")
    assert wanted.log_density is not None
    mean = found.values / found.values.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mean, wanted.mean[look.rows], atol=1e-6)
    np.testing.assert_allclose(found.log_density, wanted.log_density[look.rows], atol=1e-5)


def test_generators_searched_together_choose_as_alone() -> None:
    problems = CANONICAL.problems(validate(*SAMPLES["five"]))
    generators = [as_generator("log"), as_generator("brier")]
    together = select_by_risk(problems, DIRICHLET, generators)
    alone = [select_by_risk(problems, DIRICHLET, [g])[0] for g in generators]
    assert together == alone


@pytest.mark.parametrize("error", [0.0, 0.3, -0.3, 1.5, -1.5])
@pytest.mark.parametrize("place", [-4.2, -2.0, -0.77, 0.5])
def test_what_the_look_misplaces_all_rows_put_right(place: float, error: float) -> None:
    """To two steps, in valleys with a steep side, and one beyond which the loss is infinite."""
    for height in (
        lambda x: abs(x),
        lambda x: np.exp(3 * x) - 3 * x,
        lambda x: np.exp(-3 * x) + 3 * x,
        lambda x: x**2 + 1e7 * (x < -0.1),
    ):
        found = minimise(
            lambda gamma: abs(np.log10(gamma) - place - error),
            lambda gamma, height=height: float(height(np.log10(gamma) - place)),  # type: ignore[misc]
        )
        assert abs(np.log10(found) - place) <= 2 / 24


def test_a_look_that_misses_a_little_leaves_little_to_try() -> None:
    """Bandwidths at which it is higher by three times what it misses are not tried at all rows.

    They differ by less than a two-hundredth of the criterion, which other looks do not tell apart.
    """
    tried = []

    def valley(gamma: float) -> float:
        return float(np.exp(-(((np.log10(gamma) + 4) / 0.4) ** 2)))

    def look(gamma: float) -> float:
        return 1 + 1e-3 * (1 - valley(gamma)) + max(0.0, float(np.log10(gamma)) + 1.5)

    def height(gamma: float) -> float:
        tried.append(gamma)
        return look(gamma) - 2e-4 * valley(gamma)

    assert minimise(look, height, faithful=True) == pytest.approx(1e-4, rel=0.25)
    assert len(tried) <= 6
    assert max(tried) < 1e-3


@pytest.mark.parametrize(("end", "place"), [(1e-5, -7.0), (10.0, 3.0)])
def test_a_valley_beyond_the_ends_ends_there(end: float, place: float) -> None:
    def slope(gamma: float) -> float:
        return abs(float(np.log10(gamma)) - place)

    with pytest.warns(UserWarning, match="an end of the interval 1e-05 to 10"):
        assert minimise(slope, slope) == pytest.approx(end)


def test_all_rows_weigh_what_the_look_cannot_tell_apart() -> None:
    """A deeper valley, in a place that the look finds a thousandth higher and no valley."""

    def look(gamma: float) -> float:
        x = float(np.log10(gamma))
        return 1 + 0.001 * abs(x + 1.2) + max(0.0, abs(x + 0.85) - 0.5)

    def height(gamma: float) -> float:
        x = float(np.log10(gamma))
        return min(0.1 + abs(x + 1.2), 3 * abs(x + 0.5))

    assert minimise(look, height) == pytest.approx(10**-0.5)


def test_the_search_knows_the_weights() -> None:
    rng = np.random.default_rng(13)
    p = rng.dirichlet([2.0, 6.0, 12.0], size=120)
    y = np.where(p[:, 1] > 0.3, 1, rng.choice([0, 2], size=120))
    w = np.where(np.arange(120) < 80, 1.0, 0.0)
    for criterion in ("risk", "likelihood"):
        a = select_bandwidth(y, p, sample_weight=w, generator="brier", criterion=criterion)
        b = select_bandwidth(y[:80], p[:80], generator="brier", criterion=criterion)
        assert a == pytest.approx(b, rel=1e-4)  # a search stops somewhere in a flat valley


def test_the_search_looks_at_every_decade() -> None:
    """A narrow valley at any of them is found, at the ends too, where it says so."""
    for exponent in range(-5, 2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = minimise(lambda gamma, at=10.0**exponent: float(abs(gamma / at - 1) > 1e-6))  # type: ignore[misc]
        assert found == pytest.approx(10.0**exponent)
        assert len(caught) == (exponent in {-5, 1})


@pytest.mark.parametrize("end", [1e-5, 10.0])
def test_the_search_warns_within_a_step_of_its_ends(end: float) -> None:
    """Its lattice has 24 steps a decade; at one step inside it may as well have been stopped."""
    inwards = 10 ** (1 / 24) if end < 1 else 10 ** (-1 / 24)

    def away_from(place: float) -> float:
        return minimise(lambda gamma: abs(np.log(gamma / place)))

    with pytest.warns(UserWarning, match="an end of the interval 1e-05 to 10"):
        away_from(end * inwards)
    assert away_from(end * inwards**2) == pytest.approx(end * inwards**2)


def test_infinite_rows_of_classwise_problems_are_a_mean() -> None:
    """Two classes that occur once make one infinite row in two of three problems: 2/3, about 1."""
    y = np.r_[0, 1, np.full(len(Y_HARD) - 2, 2)]
    with pytest.warns(UserWarning, match="infinite in about 1 rows"):
        propercal.select_bandwidth(y, P_HARD, notion="classwise")


def test_the_search_knows_the_names_of_the_classes() -> None:
    """Which column a name stands for decides whether the top label is right."""
    y = np.where(np.arange(len(Y_HARD)) % 3 > 0, P_HARD.argmax(axis=1), Y_HARD)
    names = np.array(["b", "c", "a"])

    named = propercal.select_bandwidth(names[y], P_HARD, notion="top-label", labels=["b", "c", "a"])
    assert named == propercal.select_bandwidth(y, P_HARD, notion="top-label")


def test_a_bandwidth_for_logits_is_that_for_their_probabilities() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (200, 3))
    prob = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y_true = rng.integers(0, 3, 200)
    wanted = propercal.select_bandwidth(y_true, prob, criterion="likelihood")
    assert propercal.select_bandwidth(y_true, logits, criterion="likelihood", from_logits=True) == wanted
    names = np.array(["c", "b", "a"])
    given: dict[str, Any] = {"bandwidth": 0.05, "labels": ["c", "b", "a"]}
    np.testing.assert_allclose(
        propercal.conditional_mean(names[y_true], logits, from_logits=True, **given),
        propercal.conditional_mean(y_true, prob, bandwidth=0.05),
        rtol=1e-9,
    )


def test_the_search_sums_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """No linear sums for algorithm="exact", where "auto" would take them."""
    y, p = sharpened(2, 3000)
    calls = []
    real = linear.class_sums

    def counting(*arguments: Any, **options: Any) -> Any:
        calls.append(options["tolerance"])
        return real(*arguments, **options)

    monkeypatch.setattr(linear, "class_sums", counting)
    for algorithm in ("auto", "exact"):
        calls.clear()
        found = propercal.decompose(y, p, generator="brier", method="risk", algorithm=algorithm)
        assert found.algorithm == ("exact" if algorithm == "exact" else "linear")
        assert bool(calls) == (algorithm == "auto")
    calls.clear()
    propercal.conditional_mean(y, p, bandwidth=0.1, algorithm="linear", tolerance=1e-4)
    assert set(calls) == {1e-4}
