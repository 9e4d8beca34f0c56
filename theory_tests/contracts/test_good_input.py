"""Every form of the same data gives the same numbers, and edge cases give the right ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.typing import NDArray

import propercal

Floats = NDArray[np.float64]
NOTIONS = ("canonical", "classwise", "top-label")
METHODS = ("direct", "risk")
TERMS = ("risk", "calibration_error", "refinement", "sharpness", "uncertainty")
N, K = 60, 3


def sample(n: int = N, k: int = K, seed: int = 0) -> tuple[NDArray[np.int64], Floats]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.8), size=n)
    y = (rng.uniform(size=(n, 1)) > p.cumsum(1)).sum(1).clip(0, k - 1)
    return y, p


def terms(
    y: Any,
    p: Any,
    *,
    notion: str = "canonical",
    method: str = "risk",
    generator: Any = "log",
    bandwidth: float = 0.05,
    **more: Any,
) -> Floats:
    found = propercal.decompose(
        y, p, notion=notion, method=method, generator=generator, bandwidth=bandwidth, **more
    )
    return np.array([float(getattr(found, term)) for term in TERMS])


def same(a: Floats, b: Floats) -> None:
    # The same sums in another memory layout or order differ by a few units in the last place.
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


# ---------------------------------------------------------------- labels
y0, p0 = sample()
NAMES = np.array(["cat", "dog", "eel"])
LABELS = {
    "int8": y0.astype(np.int8),
    "uint8": y0.astype(np.uint8),
    "float": y0.astype(float),
    "list": y0.tolist(),
    "tuple": tuple(y0.tolist()),
    "strings": NAMES[y0],
    "object strings": NAMES[y0].astype(object),
    "list of strings": NAMES[y0].tolist(),
    "one-hot int": np.eye(K, dtype=int)[y0],
    "one-hot bool": np.eye(K, dtype=bool)[y0],
    "one-hot float": np.eye(K)[y0],
    "one-hot list": np.eye(K, dtype=int)[y0].tolist(),
    "one-hot frame": pd.DataFrame(np.eye(K, dtype=int)[y0], columns=list(NAMES)),
    "series": pd.Series(y0, index=np.arange(N)[::-1]),
    "series of strings": pd.Series(NAMES[y0], index=np.arange(N)[::-1]),
    "categorical": pd.Series(pd.Categorical(NAMES[y0], categories=list(NAMES))),
    "nullable": pd.Series(y0, dtype="Int64"),
    "xarray": xr.DataArray(y0, dims="sample"),
    "read-only": y0.copy(),
    "strided": np.repeat(y0, 2)[::2],
}
LABELS["read-only"].setflags(write=False)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("form", LABELS)
def test_forms_of_labels(form: str, notion: str) -> None:
    same(terms(LABELS[form], p0, notion=notion), terms(y0, p0, notion=notion))


def test_boolean_labels() -> None:
    y, p = sample(k=2)
    same(terms(y == 1, p), terms(y, p))
    same(terms((y == 1).tolist(), p[:, 1]), terms(y, p))


def test_two_strings_stand_in_alphabetical_order() -> None:
    y, p = sample(k=2)
    same(terms(np.array(["no", "yes"])[y], p[:, 1]), terms(y, p))


def test_labels_names_the_columns() -> None:
    order = ["eel", "cat", "dog"]
    same(terms(np.array(order)[y0], p0, labels=order), terms(y0, p0))
    same(terms(np.array([30, 10, 20])[y0], p0, labels=[30, 10, 20]), terms(y0, p0))
    shifted = terms(y0 + 1, p0, labels=[1, 2, 3])
    same(shifted, terms(y0, p0))


def test_labels_lets_a_named_class_be_absent() -> None:
    y = np.where(y0 == 1, 0, y0)
    same(terms(NAMES[y], p0, labels=list(NAMES)), terms(y, p0))


# ---------------------------------------------------------------- probabilities
def strided(a: Any) -> Any:
    return np.repeat(np.repeat(a, 2, axis=0), 3, axis=1)[::2, ::3]


def backwards(a: Any) -> Any:
    return a[::-1, ::-1].copy()[::-1, ::-1]


PROBABILITIES = {
    "list": p0.tolist(),
    "Fortran": np.asfortranarray(p0),
    "transposed": np.ascontiguousarray(p0.T).T,
    "strided": strided(p0),
    "backwards": backwards(p0),
    "read-only": p0.copy(),
    "frame": pd.DataFrame(p0, index=np.arange(N)[::-1]),
    "frame with names": pd.DataFrame(p0, columns=list(NAMES)),
    "xarray": xr.DataArray(p0, dims=("sample", "class")),
    "big-endian": p0.astype(">f8"),
}
PROBABILITIES["read-only"].setflags(write=False)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("form", PROBABILITIES)
def test_forms_of_probabilities(form: str, notion: str, method: str) -> None:
    given = terms(y0, PROBABILITIES[form], notion=notion, method=method)
    same(given, terms(y0, p0, notion=notion, method=method))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("notion", NOTIONS)
def test_narrow_floats_lose_only_their_rounding(notion: str, dtype: Any) -> None:
    """All arithmetic is in double precision: only the input's own rounding may show."""
    found = terms(y0, p0.astype(dtype), notion=notion)
    wanted = terms(y0, p0, notion=notion)
    # A probability rounded by ε moves log p by ε, and r̂ by about ε/γ = 20 ε.
    np.testing.assert_allclose(found, wanted, atol=40 * np.finfo(dtype).eps + 1e-12, rtol=0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("generator", ["log", "brier"])
def test_shapes_of_a_binary_problem(generator: str, notion: str, method: str) -> None:
    y, p = sample(k=2)
    p = np.stack([1 - p[:, 1], p[:, 1]], 1)
    wanted = terms(y, p, notion=notion, method=method, generator=generator)
    for given in (p[:, 1], p[:, 1:], pd.Series(p[:, 1]), xr.DataArray(p[:, 1]), p[:, 1].tolist()):
        same(terms(y, given, notion=notion, method=method, generator=generator), wanted)
    one_hot = np.eye(2, dtype=int)[y]
    same(terms(one_hot, p[:, 1], notion=notion, method=method, generator=generator), wanted)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("kind", [np.int64, np.int8, np.bool_])
def test_integer_probabilities(kind: Any, notion: str) -> None:
    """A classifier that names one class a row: the Brier score is twice the error rate."""
    y = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    named = np.array([0, 1, 2, 0, 1, 2, 1, 1])
    p = np.eye(3)[named].astype(kind)
    found = terms(y, p, notion=notion, generator="brier")
    same(found, terms(y, p.astype(float), notion=notion, generator="brier"))
    # 1 row of 8 is wrong. It misses by (1, 1) in two of three classes, and in the top label.
    risk = {"canonical": 2 / 8, "classwise": 2 * 2 / 8 / 3, "top-label": 2 / 8}[notion]
    assert found[0] == pytest.approx(risk, rel=1e-14)


def test_integer_logits() -> None:
    z = np.array([[2, 0, -1], [0, 1, 3], [1, 1, 0], [0, 4, 1]])
    y = np.array([0, 2, 1, 1])
    same(terms(y, z, from_logits=True), terms(y, z.astype(float), from_logits=True))


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("notion", NOTIONS)
def test_the_callers_arrays_stay_as_they_were(notion: str, frozen: bool) -> None:
    y, p = sample()
    p[3] = [1.0, 0.0, 0.0]
    y[3] = 0
    w, z = np.linspace(0.0, 2.0, N), np.log(sample()[1]) * 3
    before = [a.copy() for a in (y, p, w, z)]
    for a in (y, p, w, z):
        a.setflags(write=not frozen)
    terms(y, p, notion=notion, sample_weight=w, generator="brier")
    terms(y, z, notion=notion, sample_weight=w, from_logits=True)
    propercal.select_bandwidth(y, p, generator="brier", notion=notion, criterion="risk")
    propercal.conditional_mean(y, p, notion=notion, kernel="dirichlet", bandwidth=0.1)
    for a, b in zip((y, p, w, z), before, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


# ---------------------------------------------------------------- order
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", METHODS)
def test_order_of_the_samples(method: str, notion: str) -> None:
    y, p = sample()
    p[10:20] = p[0]  # ties, whose order must not matter either
    order = np.random.default_rng(1).permutation(N)
    w = np.random.default_rng(2).uniform(0.2, 2, N)
    a = terms(y, p, notion=notion, method=method, sample_weight=w)
    b = terms(y[order], p[order], notion=notion, method=method, sample_weight=w[order])
    same(a, b)


@pytest.mark.parametrize("kernel", ["uniform-bins", "quantile-bins"])
def test_order_of_tied_samples_in_bins(kernel: str) -> None:
    """Ties fall in one bin together, whatever their order."""
    rng = np.random.default_rng(6)
    x = rng.choice([0.1, 0.2, 0.4, 0.45, 0.8, 0.9], size=80)
    y = rng.integers(0, 2, 80)
    order = rng.permutation(80)
    a = terms(y, x, kernel=kernel, bandwidth=0.25, generator="brier")
    b = terms(y[order], x[order], kernel=kernel, bandwidth=0.25, generator="brier")
    same(a, b)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("generator", ["log", "brier", "spherical"])
def test_order_of_the_classes(generator: str, method: str, notion: str) -> None:
    y, p = sample(k=4)
    order = np.array([2, 0, 3, 1])
    a = terms(y, p, notion=notion, method=method, generator=generator)
    b = terms(order.argsort()[y], p[:, order], notion=notion, method=method, generator=generator)
    same(a, b)


# ---------------------------------------------------------------- weights
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", ["dirichlet", "uniform-bins", "quantile-bins"])
def test_weights(kernel: str, method: str, notion: str) -> None:
    # Cells of a whole simplex would leave points alone in theirs.
    y, p = sample(n=90, k=2 if (kernel, notion) == ("quantile-bins", "canonical") else 3)
    w = np.random.default_rng(3).uniform(0.1, 3, 90)
    args: dict[str, Any] = {
        "notion": notion,
        "method": method,
        "kernel": kernel,
        "generator": "brier",
        "bandwidth": 0.5 if kernel != "dirichlet" else 0.05,
    }
    plain = terms(y, p, **args)
    same(terms(y, p, sample_weight=np.ones(90), **args), plain)
    same(terms(y, p, sample_weight=np.full(90, 1e-200), **args), plain)
    same(terms(y, p, sample_weight=np.full(90, 7), **args), plain)
    weighted = terms(y, p, sample_weight=w, **args)
    same(terms(y, p, sample_weight=w * 1e200, **args), weighted)
    same(terms(y, p, sample_weight=w.tolist(), **args), weighted)
    same(terms(y, p, sample_weight=pd.Series(w, index=np.arange(90)[::-1]), **args), weighted)
    assert not np.allclose(weighted, plain, rtol=1e-4)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", ["dirichlet", "uniform-bins", "quantile-bins"])
def test_weight_zero_is_removal(kernel: str, method: str, notion: str) -> None:
    # Cells of a whole simplex would leave points alone in theirs.
    y, p = sample(n=90, k=2 if (kernel, notion) == ("quantile-bins", "canonical") else 3)
    w = np.random.default_rng(3).uniform(0.1, 3, 90)
    w[::4] = 0
    keep = w > 0
    args: dict[str, Any] = {
        "notion": notion,
        "method": method,
        "kernel": kernel,
        "generator": "brier",
        "bandwidth": 0.5 if kernel != "dirichlet" else 0.05,
    }
    same(
        terms(y, p, sample_weight=w, **args),
        terms(y[keep], p[keep], sample_weight=w[keep], **args),
    )


def test_weight_zero_removes_an_impossible_event_too() -> None:
    """0 × ∞: a row that counts for nothing cannot make the log loss infinite, nor earn a warning."""
    y, p = sample()
    p[7], y[7] = [0.5, 0.5, 0.0], 2
    w = np.ones(N)
    w[7] = 0
    keep = w > 0
    for notion in NOTIONS:
        a = terms(y, p, notion=notion, sample_weight=w)
        same(a, terms(y[keep], p[keep], notion=notion))


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", METHODS)
def test_weight_two_is_a_copy_when_a_point_sees_itself(method: str, notion: str) -> None:
    y, p = sample()
    copies = np.random.default_rng(4).integers(1, 4, N)
    args: dict[str, Any] = {"notion": notion, "method": method, "exclude_self": False}
    same(
        terms(y, p, sample_weight=copies, **args),
        terms(np.repeat(y, copies), np.repeat(p, copies, axis=0), **args),
    )


def test_selected_bandwidth_knows_the_weights() -> None:
    rng = np.random.default_rng(13)
    p = rng.dirichlet([2.0, 6.0, 12.0], size=120)
    y = np.where(p[:, 1] > 0.3, 1, rng.choice([0, 2], size=120))
    w = np.where(np.arange(120) < 80, 1.0, 0.0)
    for criterion in ("risk", "likelihood"):
        args: dict[str, Any] = {"generator": "brier", "notion": "canonical", "criterion": criterion}
        a = propercal.select_bandwidth(y, p, sample_weight=w, **args)
        b = propercal.select_bandwidth(y[:80], p[:80], **args)
        assert a == pytest.approx(b, rel=1e-4)  # a search stops somewhere in a flat valley


# ---------------------------------------------------------------- degenerate samples
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", METHODS)
def test_two_samples_are_enough(method: str, notion: str) -> None:
    """Each one's estimate is the other's label."""
    p = np.array([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1]])
    found = terms(np.array([0, 1]), p, notion=notion, method=method, generator="brier")
    assert np.isfinite(found).all()
    if notion == "canonical" and method == "direct":
        wanted = np.mean([((np.eye(3)[1] - p[0]) ** 2).sum(), ((np.eye(3)[0] - p[1]) ** 2).sum()])
        assert found[1] == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("generator", ["log", "brier", "spherical"])
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", METHODS)
def test_a_class_that_never_occurs(method: str, notion: str, generator: str) -> None:
    y, p = sample()
    y = np.where(y == 2, 0, y)
    found = terms(y, p, notion=notion, method=method, generator=generator)
    assert np.isfinite(found).all()
    if notion == "canonical" and generator == "log":
        share = np.bincount(y, minlength=3)[:2] / N
        assert found[4] == pytest.approx(-(share * np.log(share)).sum(), rel=1e-13)


@pytest.mark.parametrize("generator", ["log", "brier", "spherical"])
@pytest.mark.parametrize("notion", ["canonical", "classwise"])
@pytest.mark.parametrize("method", METHODS)
def test_one_class_only(method: str, notion: str, generator: str) -> None:
    """r̂ is a vertex everywhere, so nothing is uncertain and the whole risk is miscalibration."""
    _, p = sample()
    y = np.full(N, 1)
    risk, error, *rest = terms(y, p, notion=notion, method=method, generator=generator)
    assert risk > 0.01
    assert error == pytest.approx(risk, rel=1e-12)
    np.testing.assert_allclose(rest, 0, atol=1e-12)


@pytest.mark.parametrize("generator", ["log", "brier"])
@pytest.mark.parametrize("bandwidth", [1e-4, 0.05, 1.0])
def test_one_prediction_for_all(bandwidth: float, generator: str) -> None:
    """All kernel weights are equal: r̂ is the mean of the other labels, whatever the bandwidth."""
    y = np.array([1] * 7 + [0] * 13)
    p = np.tile([0.4, 0.6], (20, 1))
    r = (7 - y) / 19
    if generator == "log":
        refinement = -np.mean(r * np.log(r) + (1 - r) * np.log(1 - r))
        risk = -np.mean(np.log(np.where(y == 1, 0.6, 0.4)))
    else:
        refinement = np.mean(2 * r * (1 - r))
        risk = np.mean(2 * np.where(y == 1, 0.4, 0.6) ** 2)
    for notion in ("canonical", "classwise"):
        found = terms(y, p, notion=notion, generator=generator, bandwidth=bandwidth)
        # The equal weights come out of exp(log k) with 1e-11 at γ = 1e-4, see the brute-force test.
        np.testing.assert_allclose(found[[0, 2]], [risk, refinement], rtol=1e-9)


def test_perfect_and_sharp() -> None:
    """Right with probability 1 everywhere: no loss, no error, all uncertainty resolved."""
    y = np.arange(12) % 3
    p = np.eye(3)[y]
    for generator in ("log", "brier", "spherical"):
        for notion in ("canonical", "classwise"):
            for method in METHODS:
                found = terms(y, p, notion=notion, method=method, generator=generator)
                np.testing.assert_allclose(found[:3], 0, atol=1e-12)
                assert found[3] == pytest.approx(found[4], rel=1e-12)
                assert found[4] > 0.1


# ---------------------------------------------------------------- vertices, faces, zero-probability events
def on_the_boundary() -> tuple[NDArray[np.int64], Floats]:
    """Vertices and faces, each occupied often enough, where only what has probability > 0 occurs."""
    y, p = sample(n=80, seed=5)
    p[:8] = [1.0, 0.0, 0.0]
    y[:8] = 0
    p[8:14] = [0.0, 1.0, 0.0]
    y[8:14] = 1
    p[14:30] = [0.5, 0.5, 0.0]
    y[14:30] = np.arange(16) % 2
    p[30:40] = [0.0, 0.25, 0.75]
    y[30:40] = 1 + np.arange(10) % 2
    return y, p


@pytest.mark.parametrize("bandwidth", [1e-3, 0.05, 0.5])
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("generator", ["log", "brier", "spherical"])
def test_the_boundary_is_finite(generator: str, notion: str, bandwidth: float) -> None:
    y, p = on_the_boundary()
    found = propercal.decompose(y, p, generator=generator, notion=notion, bandwidth=bandwidth)
    assert all(math.isfinite(getattr(found, term)) for term in TERMS)
    assert found.infinite_loss_rows == ()


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", METHODS)
def test_the_boundary_has_no_infinite_brier_score(method: str, notion: str) -> None:
    y, p = on_the_boundary()
    y[:4] = 2  # impossible events cost a Brier score of 2, no more
    found = terms(y, p, notion=notion, method=method, generator="brier")
    assert np.isfinite(found).all()


@pytest.mark.parametrize("method", METHODS)
def test_an_impossible_event_makes_the_log_loss_infinite(method: str) -> None:
    y, p = on_the_boundary()
    y[[5, 17]] = 2
    with pytest.warns(UserWarning, match="(?i)row.*infinite|infinite.*row"):
        found = propercal.decompose(y, p, generator="log", method=method, bandwidth=0.05)
    assert found.risk == math.inf
    if method == "risk":
        assert found.infinite_loss_rows == (5, 17)
    else:
        # Rows count too at which r̂ gives weight to a class that g rules out.
        assert {5, 17} <= set(found.infinite_loss_rows)
    assert found.calibration_error == math.inf
    # What does not depend on the losses stays a number, and nothing becomes NaN.
    for term in ("refinement", "sharpness", "uncertainty"):
        assert math.isfinite(getattr(found, term))
    assert "inf" in str(found)


def test_an_infinite_divergence_is_not_called_an_outcome() -> None:
    """Directly, D_F(r̂, g) is infinite where r̂ spreads onto a class that g rules out.

    Nothing impossible occurred here: the losses are finite, and the words must fit that.
    """
    y, p = on_the_boundary()
    with pytest.warns(UserWarning, match=r"(?i)row") as caught:
        found = propercal.decompose(y, p, generator="log", method="direct", bandwidth=0.5)
    assert found.calibration_error == math.inf
    assert math.isfinite(found.risk)
    assert len(caught) == 1
    assert "occurred" not in str(caught[0].message)
    assert "the risk" not in str(caught[0].message).lower()


def test_an_impossible_event_class_by_class() -> None:
    y, p = on_the_boundary()
    y[[5, 17]] = 2
    with pytest.warns(UserWarning, match=r"(?is)(?=.*\b5\b)(?=.*\b17\b)(?=.*row)"):
        found = propercal.decompose(
            y, p, generator="log", notion="classwise", method="risk", bandwidth=0.05
        )
    assert found.risk == math.inf
    assert found.infinite_loss_rows == (5, 17)


def test_an_impossible_event_at_the_top_label() -> None:
    """Row 5 was certain and wrong; row 17 hedged its top label, so its loss there is finite."""
    y, p = on_the_boundary()
    p[14:30, :2] = [0.55, 0.45]
    y[[5, 17]] = 2
    with pytest.warns(UserWarning, match=r"(?i)\b5\b"):
        found = propercal.decompose(
            y, p, generator="log", notion="top-label", method="risk", bandwidth=0.05
        )
    assert found.risk == math.inf
    assert found.infinite_loss_rows == (5,)


def test_rows_are_numbered_as_the_caller_sees_them() -> None:
    """Rows of weight 0 in front must not shift the numbers."""
    y, p = on_the_boundary()
    y[17] = 2
    w = np.ones(80)
    w[:3] = 0
    with pytest.warns(UserWarning, match=r"\b17\b"):
        found = propercal.decompose(y, p, generator="log", bandwidth=0.05, sample_weight=w)
    assert found.infinite_loss_rows == (17,)


def test_many_impossible_events_are_all_listed_but_not_all_shouted() -> None:
    y, p = sample(n=400)
    p[:100] = [0.5, 0.5, 0.0]
    y[:100] = 2
    with pytest.warns(UserWarning, match="100|95 more") as caught:
        found = propercal.decompose(y, p, generator="log", bandwidth=0.05)
    assert found.infinite_loss_rows == tuple(range(100))
    assert len(str(caught[0].message)) < 500


def test_only_the_generator_with_infinite_losses_warns() -> None:
    y, p = on_the_boundary()
    y[17] = 2
    with pytest.warns(UserWarning, match="infinite") as caught:
        log, brier = propercal.decompose(y, p, generator=["log", "brier"], bandwidth=0.05)
    assert len(caught) == 1
    assert log.infinite_loss_rows == (17,)
    assert brier.infinite_loss_rows == ()
    assert math.isfinite(brier.risk)


def test_a_lone_vertex_far_from_all_others() -> None:
    """All its kernel weights underflow; in log space the nearest point still wins."""
    rng = np.random.default_rng(9)
    p = rng.dirichlet([50.0, 50.0, 1.0], size=40)
    y = rng.integers(0, 2, 40)
    p[0], y[0] = [0.0, 0.0, 1.0], 2
    mean = propercal.conditional_mean(y, p, notion="canonical", kernel="dirichlet", bandwidth=1e-3)
    assert np.isfinite(mean).all()
    np.testing.assert_allclose(mean.sum(1), 1, rtol=1e-12)


# ---------------------------------------------------------------- logits
def softmax(z: Floats) -> Floats:
    e = np.exp(z - z.max(1, keepdims=True))
    return np.asarray(e / e.sum(1, keepdims=True))


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("generator", ["log", "brier", "spherical"])
def test_logits_are_the_same_predictions(generator: str, method: str, notion: str) -> None:
    y, _ = sample()
    z = np.random.default_rng(7).normal(0, 2, (N, K))
    args: dict[str, Any] = {"notion": notion, "method": method, "generator": generator}
    wanted = terms(y, softmax(z), **args)
    found = terms(y, z, from_logits=True, **args)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-13)
    shifted = z + np.linspace(-300, 300, N)[:, None]
    # Adding c to a row changes nothing; the sum z + c itself rounds by 300 ε.
    np.testing.assert_allclose(
        terms(y, shifted, from_logits=True, **args), wanted, rtol=1e-10, atol=1e-11
    )


@pytest.mark.parametrize("notion", NOTIONS)
def test_logits_of_a_binary_problem(notion: str) -> None:
    y, _ = sample(k=2)
    z = np.random.default_rng(7).normal(0, 2, N)
    wanted = terms(y, 1 / (1 + np.exp(-z)), notion=notion)
    for given in (z, z[:, None], np.stack([np.zeros(N), z], 1), np.stack([-z / 2, z / 2], 1)):
        found = terms(y, given, notion=notion, from_logits=True)
        np.testing.assert_allclose(found, wanted, rtol=1e-11)


def test_logits_of_a_multilabel_problem() -> None:
    rng = np.random.default_rng(11)
    z, y = rng.normal(0, 2, (N, K)), rng.integers(0, 2, (N, K))
    y[0] = [1, 1, 0]
    found = terms(y, z, notion="classwise", from_logits=True)
    wanted = terms(y, 1 / (1 + np.exp(-z)), notion="classwise")
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


SATURATED = np.array(
    [[0.0, 1000.0, -500.0], [1000.0, 0.0, 0.0], [0.0, 30.0, 800.0], [2.0, 1.0, 0.0]]
)
Y_SATURATED = np.array([0, 0, 1, 2])
"""Losses 1000, 0, 770 and log(e² + e + 1), in units where exp(−770) is 0."""


def test_canonical_log_loss_of_saturated_logits() -> None:
    losses = [1000.0, 0.0, 770.0, math.log(math.e**2 + math.e + 1)]
    for method in METHODS:
        found = propercal.decompose(
            Y_SATURATED, SATURATED, from_logits=True, method=method, bandwidth=0.05
        )
        assert found.risk == pytest.approx(np.mean(losses), rel=1e-15)
        assert found.infinite_loss_rows == ()
        assert all(math.isfinite(getattr(found, term)) for term in TERMS)


def test_classwise_log_loss_of_saturated_logits() -> None:
    """−log p_y of the class that occurred, −log(1 − p_i) of every other one."""
    z, total = [2.0, 1.0, 0.0], math.e**2 + math.e + 1
    row4 = math.log(total) - sum(math.log1p(-math.exp(v) / total) for v in z[:2])
    # Row 0: p = (0, 1, 0), and 1 − p_1 = e^-1000, so class 0 and class 1 lose 1000 each.
    # Row 2: p = (0, 0, 1), 1 − p_2 = e^-770 (the e^-800 of class 0 adds 1e-13 of it).
    wanted = np.mean([(1000 + 1000) / 3, 0.0, (770 + 770) / 3, row4 / 3])
    found = propercal.decompose(
        Y_SATURATED, SATURATED, from_logits=True, notion="classwise", method="risk", bandwidth=0.05
    )
    assert found.risk == pytest.approx(wanted, rel=1e-14)
    assert found.infinite_loss_rows == ()
    assert all(math.isfinite(getattr(found, term)) for term in TERMS)


def test_top_label_log_loss_of_saturated_logits() -> None:
    """The top label of rows 0 and 2 was wrong at a confidence of 1 − e^-1000 and 1 − e^-770."""
    total = math.e**2 + math.e + 1
    wanted = np.mean([1000.0, 0.0, 770.0, -math.log1p(-math.exp(2) / total)])
    found = propercal.decompose(
        Y_SATURATED, SATURATED, from_logits=True, notion="top-label", method="risk", bandwidth=0.05
    )
    assert found.risk == pytest.approx(wanted, rel=1e-14)


def test_saturated_float32_logits() -> None:
    """float32 softmax would round to exactly 1 here, and log(1 − p) to −∞."""
    z = np.array([[0.0, 25.0], [30.0, 0.0], [0.0, 20.0], [22.0, 0.0]], dtype=np.float32)
    y = np.array([0, 0, 1, 1])
    wanted = np.mean(np.log1p(np.exp([25.0, -30.0, -20.0, 22.0])))
    for notion in NOTIONS:
        found = propercal.decompose(
            y, z, from_logits=True, notion=notion, method="risk", bandwidth=0.05
        )
        assert found.risk == pytest.approx(wanted, rel=2e-7)


def test_neighbours_where_every_probability_has_underflowed() -> None:
    z = np.array([[0.0, 900.0], [0.0, 901.0], [900.0, 0.0], [901.0, 0.0]])
    mean = propercal.conditional_mean(
        np.array([0, 1, 1, 0]),
        z,
        notion="canonical",
        kernel="dirichlet",
        bandwidth=0.1,
        from_logits=True,
    )
    # Each point's only near neighbour is the other of its pair.
    np.testing.assert_allclose(mean, [[0, 1], [1, 0], [1, 0], [0, 1]], atol=1e-12)
