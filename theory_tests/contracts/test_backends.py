"""One code path: every array library gives NumPy's numbers, and torch gives their gradients."""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import propercal
from propercal import generators

Floats = NDArray[np.float64]
TERMS = ("risk", "calibration_error", "refinement", "sharpness", "uncertainty")
NOTIONS = ("canonical", "classwise", "top-label")
METHODS = ("direct", "risk")
KERNELS = {"dirichlet": 0.05, "uniform-bins": 0.5, "quantile-bins": 0.5}
GENERATORS = [
    generators.Log(),
    generators.Brier(),
    generators.Spherical(),
    generators.Tsallis(alpha=1.5),
    2.0 * generators.Log() + generators.Brier(),
]


def sample(n: int = 60, k: int = 3, seed: int = 50) -> tuple[NDArray[np.int64], Floats]:
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 1.5, (n, k))
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    return rng.integers(0, k, n), p


def terms(found: Any) -> Floats:
    return np.array([float(getattr(found, term)) for term in TERMS])


# ---------------------------------------------------------------- values
# The debiased method has these tests of its own (test_debiased_contract.py); here it takes part once.
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("notion", NOTIONS)
def test_same_values(notion: str, method: str, kernel: str, xp: Any) -> None:
    y, p = sample()
    w = np.random.default_rng(1).uniform(0.2, 2, len(y))
    args: dict[str, Any] = {
        "generator": GENERATORS,
        "notion": notion,
        "method": method,
        "kernel": kernel,
        "bandwidth": KERNELS[kernel],
    }
    given = xp.array(p)
    rounded = np.asarray(xp.numpy(given), dtype=float)  # the same inputs, so the same outputs
    with warnings.catch_warnings():
        # float32 rows, read as float64, miss 1 by 1e-7.
        warnings.simplefilter("ignore", UserWarning)
        wanted = propercal.decompose(y, rounded, sample_weight=w, **args)
    weights = w if xp.dtype == "float32" else xp.array(w)
    found = propercal.decompose(xp.integers(y), given, sample_weight=weights, **args)
    for a, b in zip(found, wanted, strict=True):
        # Arithmetic is in double precision everywhere; only the result is rounded to float32.
        np.testing.assert_allclose(
            terms(a),
            terms(b),
            rtol=max(xp.tolerance / 100, 1e-11),
            atol=1e-7 if xp.dtype == "float32" else 1e-13,
        )


@pytest.mark.parametrize("notion", NOTIONS)
def test_results_live_where_the_predictions_do(notion: str, xp: Any) -> None:
    y, p = sample()
    given = xp.array(p)
    method = "debiased" if notion == "top-label" else "risk"
    found = propercal.decompose(xp.integers(y), given, notion=notion, method=method, bandwidth=0.1)
    for term in TERMS:
        value = getattr(found, term)
        if xp.module == "numpy":
            assert type(value) is float
        elif xp.module == "torch":
            assert type(value) is type(given)
            assert value.shape == ()
            assert value.dtype == given.dtype
            assert value.device == given.device
            assert not value.requires_grad
        else:
            assert math.isfinite(float(value))
    assert type(found.bandwidth) is float
    mean = propercal.conditional_mean(
        xp.integers(y), given, notion=notion, kernel="dirichlet", bandwidth=0.1
    )
    assert type(mean) is type(given)
    assert mean.dtype == given.dtype
    assert mean.device == given.device


def test_selected_bandwidth_is_the_same(xp: Any) -> None:
    y, p = sample()
    for criterion in ("risk", "likelihood"):
        args: dict[str, Any] = {"generator": "brier", "notion": "classwise", "criterion": criterion}
        with warnings.catch_warnings():
            # With labels that know nothing of p, the search may end at a bound, and says so.
            warnings.simplefilter("ignore", UserWarning)
            wanted = propercal.select_bandwidth(y, p, **args)
            found = propercal.select_bandwidth(xp.integers(y), xp.array(p), **args)
        assert type(found) is float
        assert found == pytest.approx(wanted, rel=1e-3)


# Saturated: most probabilities underflow or round to 1.
Y, LOGITS = sample()[0], np.log(sample()[1]) * 400


@cache
def from_logits(dtype: str, notion: str, method: str) -> Floats:
    same = LOGITS.astype(dtype).astype(float)
    return terms(
        propercal.decompose(
            Y, same, from_logits=True, notion=notion, method=method, bandwidth=0.05
        )
    )


@pytest.mark.parametrize(
    ("notion", "method"), [*((notion, "risk") for notion in NOTIONS), ("top-label", "debiased")]
)
def test_logits(notion: str, method: str, xp: Any) -> None:
    found = propercal.decompose(
        xp.integers(Y),
        xp.array(LOGITS),
        from_logits=True,
        notion=notion,
        method=method,
        bandwidth=0.05,
    )
    rtol = 1e-6 if xp.dtype == "float32" else 1e-11
    wanted = from_logits(xp.dtype, notion, method)
    np.testing.assert_allclose(terms(found), wanted, rtol=rtol, atol=rtol)


def test_shapes_of_a_binary_problem(xp: Any) -> None:
    y, p = sample(k=2)
    p = np.stack([1 - p[:, 1], p[:, 1]], 1)
    settings: dict[str, Any] = {"method": "risk", "bandwidth": 0.05}
    wanted = terms(propercal.decompose(xp.integers(y), xp.array(p), **settings))
    for shaped in (p[:, 1], p[:, 1:]):
        for labels in (y, np.eye(2)[y]):
            found = propercal.decompose(xp.integers(labels), xp.array(shaped), **settings)
            rtol = 1e-6 if xp.dtype == "float32" else 1e-12
            np.testing.assert_allclose(terms(found), wanted, rtol=rtol)


def test_infinite_losses(xp: Any) -> None:
    y, p = sample()
    p[7] = [0.5, 0.5, 0.0]
    y[7] = 2
    with pytest.warns(UserWarning, match=r"\b7\b"):
        found = propercal.decompose(xp.integers(y), xp.array(p), method="risk", bandwidth=0.05)
    assert float(found.risk) == math.inf
    assert found.infinite_loss_rows == (7,)
    assert type(found.infinite_loss_rows[0]) is int
    assert math.isfinite(float(found.refinement))


# ---------------------------------------------------------------- torch
@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="gradients come from torch")


def test_labels_and_weights_of_another_library(torch: Any) -> None:
    y, p = sample()
    w = np.linspace(0.5, 1.5, len(y))
    settings: dict[str, Any] = {"method": "risk", "bandwidth": 0.1}
    wanted = terms(propercal.decompose(y, p, sample_weight=w, **settings))
    for labels in (y, y.tolist(), torch.from_numpy(y), np.array(["a", "b", "c"])[y]):
        for weights in (w, w.tolist(), torch.from_numpy(w)):
            for given in (p, torch.from_numpy(p)):
                found = propercal.decompose(labels, given, sample_weight=weights, **settings)
                np.testing.assert_allclose(terms(found), wanted, rtol=1e-12, atol=1e-12)


def test_the_callers_tensors_stay_as_they_were(torch: Any) -> None:
    y, p = sample()
    p[0] = [1.0, 0.0, 0.0]
    y[0] = 0
    for requires_grad in (False, True):
        given = torch.tensor(p, requires_grad=requires_grad)
        labels, weights = torch.tensor(y), torch.ones(len(y), dtype=torch.float64)
        found = propercal.decompose(
            labels, given, sample_weight=weights, method="risk", bandwidth=0.1
        )
        assert given.requires_grad is requires_grad
        assert given.grad is None
        assert given.is_leaf
        assert given._version == 0
        assert torch.equal(given.detach(), torch.tensor(p))
        assert torch.equal(labels, torch.tensor(y))
        assert torch.equal(weights, torch.ones(len(y), dtype=torch.float64))
        assert found.calibration_error.requires_grad is requires_grad


def test_no_graph_under_no_grad(torch: Any) -> None:
    y, p = sample()
    given = torch.tensor(p, requires_grad=True)
    with torch.no_grad():
        found = propercal.decompose(y, given, method="risk", bandwidth=0.1)
    assert not found.calibration_error.requires_grad


def test_text_of_a_result_with_a_graph(torch: Any) -> None:
    y, p = sample()
    found = propercal.decompose(y, torch.tensor(p, requires_grad=True), method="risk", bandwidth=0.1)
    assert f"{found.risk.item():.3g}" in str(found)
    assert "grad" not in str(found)
    dataset = found.to_xarray()
    assert float(np.ravel(dataset["risk"].values)[0]) == found.risk.item()
