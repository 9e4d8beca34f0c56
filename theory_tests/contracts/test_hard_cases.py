"""What attackers found: each once gave a wrong number, a crash or a misleading word."""

from __future__ import annotations

import decimal
import fractions
import threading
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info

import propercal
from propercal._kernels.bandwidth import minimise
from propercal.generators import BregmanGenerator, ItakuraSaito, from_function

RNG = np.random.default_rng(1)
N = 60
P = RNG.dirichlet([1.0] * 3, N)
Y = RNG.integers(0, 3, N)


def decompose(y: Any, p: Any, **options: Any) -> Any:
    """By the method "risk": these are cases for the kernel sums and for what surrounds them."""
    return propercal.decompose(y, p, **{"method": "risk", **options})


def risk(y: Any, p: Any, **options: Any) -> float:
    return float(decompose(y, p, **{"bandwidth": 0.05, **options}).risk)


# ------------------------------------------------------------------ readers


@pytest.mark.parametrize("argument", ["y_true", "y_proba", "sample_weight"])
def test_masked_entries_are_refused(argument: str) -> None:
    data = {"y_true": Y, "y_proba": P, "sample_weight": np.ones(N)}
    mask = np.zeros(data[argument].shape, dtype=bool)
    mask[3] = True
    data[argument] = np.ma.masked_array(data[argument], mask=mask)
    with pytest.raises(ValueError, match=rf"^{argument} = masked entries at row 3\b"):
        decompose(data.pop("y_true"), data.pop("y_proba"), bandwidth=0.05, **data)


def test_an_empty_mask_changes_nothing() -> None:
    assert risk(np.ma.masked_array(Y), np.ma.masked_array(P)) == risk(Y, P)


def test_number_objects_and_nullable_columns() -> None:
    q = np.round(P[:, 0] * 1024) / 1024
    y = (Y == 0).astype(int)
    expected = risk(y, q)
    assert risk(y, [fractions.Fraction(v) for v in q]) == expected
    assert risk(y, [decimal.Decimal(v) for v in q]) == expected
    assert risk(pd.array(y, dtype="Int64"), pd.Series(q, dtype="Float64")) == expected
    assert risk(np.array([np.int64(v) for v in y], dtype=object), q) == expected


def test_matrix_subclass() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        assert risk(Y, np.matrix(P)) == risk(Y, P)


@pytest.mark.parametrize(
    "change",
    [
        {"labels": {"a", "b", "c"}},
        {"labels": 5},
        {"labels": [["a"], ["b"], ["c"]]},
    ],
)
def test_labels_need_an_order(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^labels = "):
        decompose(np.array(list("abc"))[Y], P, bandwidth=0.05, **change)


def test_categories_have_their_own_order() -> None:
    names = ["low", "mid", "high"]
    y = pd.Series(pd.Categorical.from_codes(Y.tolist(), categories=pd.Index(names)))
    assert risk(y, P) == risk(Y, P)


def test_column_names_that_name_classes_differ() -> None:
    frame = pd.DataFrame(P, columns=["a", "a", "b"])
    with pytest.raises(ValueError, match=r"^y_proba = columns named"):
        decompose(np.array(list("aab"))[Y], frame, bandwidth=0.05)


def test_flags_are_flags() -> None:
    for name in ("exclude_self", "from_logits"):
        with pytest.raises(ValueError, match=rf"^{name} = 'no'"):
            decompose(Y, P, bandwidth=0.05, **{name: "no"})
    with pytest.raises(ValueError, match=r"^confidence_level"):
        decompose(Y, P, bandwidth=0.05, confidence_level="0.9")


def test_an_enormous_label_is_named_as_it_is() -> None:
    y = Y.astype(float)
    y[4] = 1e300
    with pytest.raises(ValueError, match=r"1e\+300 at row 4"):
        decompose(y, P, bandwidth=0.05)


def test_a_weight_that_requires_a_gradient_is_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"^sample_weight = a tensor that requires a gradient"):
        decompose(
            Y, torch.tensor(P), bandwidth=0.05, sample_weight=torch.ones(N, requires_grad=True)
        )


def test_the_number_of_threads_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", "many")
    p = np.repeat(P, 10, axis=0)
    with pytest.raises(ValueError, match="PROPERCAL_NUM_THREADS = 'many'"):
        decompose(np.repeat(Y, 10), p, bandwidth=0.05)


# ------------------------------------------------------------------ numbers


def test_inference_mode_changes_no_number() -> None:
    torch = pytest.importorskip("torch")
    f = from_function(lambda q: (q * q).sum(-1) - 1)
    expected = risk(Y, P, generator="brier")
    with torch.inference_mode():
        assert risk(Y, P, generator=f) == pytest.approx(expected, rel=1e-12)
        assert risk(Y, torch.tensor(P), generator=f) == pytest.approx(expected, rel=1e-12)


def test_a_detached_function_is_no_function() -> None:
    pytest.importorskip("torch")
    f = from_function(lambda q: (q * q).detach().sum(-1))
    with pytest.raises(ValueError, match="does not depend on its argument"):
        risk(Y, P, generator=f)


def test_a_dominating_weight_leaves_the_others_their_digits() -> None:
    """At the heavy row only the others count: its r̂ does not depend on how heavy it is."""
    y, p = (Y == 0).astype(int), np.full(N, 0.3)
    light = np.r_[1.0, RNG.uniform(1, 2, N - 1)]
    heavy = np.r_[1e18, light[1:]]
    for kernel in ("uniform-bins", "dirichlet"):
        found = [
            propercal.conditional_mean(y, p, kernel=kernel, bandwidth=0.1, sample_weight=w)[0, 1]
            for w in (light, heavy)
        ]
        share = (light[1:] * y[1:]).sum() / light[1:].sum()
        assert found == pytest.approx([share, share], rel=1e-12)


def test_a_dominating_weight_and_the_likelihood() -> None:
    """With all weight on one row, its log density decides, however heavy it is."""
    gammas = [
        propercal.select_bandwidth(
            Y, P, sample_weight=np.r_[weight, np.ones(N - 1)], criterion="likelihood"
        )
        for weight in (1e12, 1e14, 1e20)
    ]
    assert gammas[0] == gammas[1] == gammas[2] > 1e-4


@pytest.mark.parametrize("bandwidth", [1e-14, 0.9e-9, 1.1e9, 1e300])
def test_bandwidths_without_meaning(bandwidth: float) -> None:
    with pytest.raises(ValueError, match=r"^bandwidth = "):
        decompose(Y, P, bandwidth=bandwidth)


@pytest.mark.parametrize("bandwidth", [1e-9, 1e-6, 1e9])
@pytest.mark.parametrize("kernel", ["dirichlet", "quantile-bins"])
@pytest.mark.filterwarnings("ignore:y_proba has rows that sum", "ignore:bandwidth = .* alone")
def test_extreme_bandwidths_and_rows_off_by_a_tenth(bandwidth: float, kernel: str) -> None:
    p = P * RNG.uniform(0.91, 1.09, N)[:, None]
    found = decompose(Y, np.minimum(p, 1), generator="brier", bandwidth=bandwidth, kernel=kernel)
    assert -2 <= found.calibration_error <= 4
    mean = propercal.conditional_mean(Y, np.minimum(p, 1), bandwidth=bandwidth, kernel=kernel)
    np.testing.assert_allclose(mean.sum(axis=1), 1, rtol=1e-12)


def test_infinite_terms_are_never_silent() -> None:
    y = np.repeat([0, 1, 2], 20)
    p = np.repeat([[0.98, 0.01, 0.01], [0.01, 0.98, 0.01], [0.01, 0.01, 0.98]], 20, axis=0)
    with pytest.warns(UserWarning, match="estimated probability is 0"):
        found = decompose(y, p, generator=ItakuraSaito(), bandwidth=1e-4)
    assert found.refinement == -np.inf


def test_callers_who_raise_on_underflow() -> None:
    with np.errstate(all="raise"):
        assert risk(Y, P, bandwidth=1e-3) == risk(Y, P, bandwidth=1e-3)
        propercal.select_bandwidth(Y, P, generator="brier")
        propercal.conditional_mean(Y, P, bandwidth=1e-3)


# ------------------------------------------------------------------ the search of the bandwidth


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
    y = np.r_[0, 1, np.full(N - 2, 2)]
    with pytest.warns(UserWarning, match="infinite in about 1 rows"):
        propercal.select_bandwidth(y, P, notion="classwise")


def test_the_search_knows_the_names_of_the_classes() -> None:
    """Which column a name stands for decides whether the top label is right."""
    y = np.where(np.arange(N) % 3 > 0, P.argmax(axis=1), Y)
    names = np.array(["b", "c", "a"])

    named = propercal.select_bandwidth(names[y], P, notion="top-label", labels=["b", "c", "a"])
    assert named == propercal.select_bandwidth(y, P, notion="top-label")


# ------------------------------------------------------------------ generators that misbehave


class _Square(BregmanGenerator):
    def value(self, p: Any) -> Any:
        return (p**2).sum(-1) - 1

    def gradient(self, p: Any) -> Any:
        return 2 * p


class _OneValue(_Square):
    def value(self, p: Any) -> Any:
        return (p**2).sum() - 1


class _PythonFloat(_Square):
    def value(self, p: Any) -> Any:  # noqa: ARG002
        return 1.0


class _OneGradient(_Square):
    def gradient(self, p: Any) -> Any:
        return 2 * p.mean(axis=0)


class _Complex(_Square):
    def value(self, p: Any) -> Any:
        return (p**2).sum(-1) - 1 + 0j


@pytest.mark.parametrize("generator", [_OneValue(), _PythonFloat(), _OneGradient(), _Complex()])
def test_a_generator_of_the_wrong_shape_or_type(generator: BregmanGenerator) -> None:
    with pytest.raises(ValueError, match="check_generator"):
        risk(Y, P, generator=generator)


def test_a_generator_cannot_change_the_data() -> None:
    class Halving(_Square):
        def value(self, p: Any) -> Any:
            p *= 0.5
            return (p**2).sum(-1) - 1

    before = P.copy()
    with pytest.raises(ValueError, match="read-only"):
        risk(Y, P, generator=Halving())
    np.testing.assert_array_equal(P, before)


# ------------------------------------------------------------------ intervals and resources


@pytest.mark.parametrize("k", [2, 10, 50])
def test_the_interval_of_the_uncertainty_covers(k: int) -> None:
    """−F of the mean label is biased by (k − 1)/2n for the log loss; its interval is not.

    400 balanced samples: a 95 % interval that covers less than 90 % has probability below 1e-4.
    It may cover more where classes are balanced, since the first-order variance then vanishes.
    """
    n, truth, covered = 500, np.log(k), 0
    rng = np.random.default_rng(5)
    p = np.full((n, k), 1 / k)
    for _ in range(400):
        y = rng.integers(0, k, n)
        low, high = decompose(
            y, p, kernel="uniform-bins", bandwidth=1.0, exclude_self=False
        ).interval("uncertainty")
        covered += low <= truth <= high
    assert covered >= 360


def test_the_interval_of_the_uncertainty_is_centred_for_weights() -> None:
    """The jackknife of two classes under the Brier score: E[−F(ȳ)] = truth (1 − Σ w²)."""
    y, w = (Y == 0).astype(int), RNG.uniform(0, 1, N)
    found = decompose(y, P[:, 0], generator="brier", bandwidth=0.1, sample_weight=w)
    v = w / w.sum()
    centre = sum(found.interval("uncertainty")) / 2
    # −F is 2 ȳ (1 − ȳ); the exact plug-in bias is −2 Σ w² r (1 − r), estimated by
    # −Σ w²/(1 − w) |e − ȳ|², with |e − ȳ|² = 2 (y − ȳ)².
    mean = v @ y
    assert centre == pytest.approx(
        2 * mean * (1 - mean) + np.sum(v**2 / (1 - v) * 2 * (y - mean) ** 2), rel=1e-10
    )


def test_concurrent_calls_leave_blas_as_it_was() -> None:
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 2, 1500), rng.uniform(size=1500)
    before = [library["num_threads"] for library in threadpool_info()]
    threads = [threading.Thread(target=risk, args=(y[:m], p[:m])) for m in range(500, 1500, 125)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [library["num_threads"] for library in threadpool_info()] == before


def test_a_gradient_does_not_keep_the_tiles() -> None:
    """What the graph holds grows like n: the tiles of 2000² pairs alone would take 30 MiB."""
    torch = pytest.importorskip("torch")

    def nodes(n: int) -> int:
        rng = np.random.default_rng(0)
        p = torch.tensor(rng.uniform(size=n), requires_grad=True)
        value = propercal.calibration_error(rng.integers(0, 2, n), p, method="risk", bandwidth=0.05)
        seen, stack = set(), [value.grad_fn]
        while stack:
            node = stack.pop()
            if node is not None and node not in seen:
                seen.add(node)
                stack += [parent for parent, _ in node.next_functions]
        return len(seen)

    assert nodes(2048) < 2.5 * nodes(1024)


@pytest.mark.parametrize(
    ("column", "y_true", "risk"),
    [
        # Of two names that occur, the column's own is the positive class, whatever the alphabet says.
        ("ham", ["ham", "spam", "ham"], [0.8, 0.7, 0.6]),
        ("spam", ["spam", "ham", "spam"], [0.8, 0.7, 0.6]),
        # A number is a position, not a name: classes are 0 and 1.
        (1, [1, 1, 1], [0.8, 0.3, 0.6]),
        (0, [1, 1, 0], [0.8, 0.3, 0.4]),
    ],
)
def test_the_one_column_of_a_frame_is_the_positive_class(
    column: Any, y_true: Any, risk: Any
) -> None:
    frame = pd.DataFrame({column: [0.8, 0.3, 0.6]})
    found = propercal.decompose(y_true, frame, method="risk", bandwidth=0.1)
    assert found.risk == pytest.approx(-np.log(risk).mean())


def test_a_bandwidth_for_logits_is_that_for_their_probabilities() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (200, 3))
    prob = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y_true = rng.integers(0, 3, 200)
    wanted = propercal.select_bandwidth(y_true, prob, criterion="likelihood")
    assert (
        propercal.select_bandwidth(y_true, logits, criterion="likelihood", from_logits=True)
        == wanted
    )
    names = np.array(["c", "b", "a"])
    given: dict[str, Any] = {"bandwidth": 0.05, "labels": ["c", "b", "a"]}
    np.testing.assert_allclose(
        propercal.conditional_mean(names[y_true], logits, from_logits=True, **given),
        propercal.conditional_mean(y_true, prob, bandwidth=0.05),
        rtol=1e-9,
    )
