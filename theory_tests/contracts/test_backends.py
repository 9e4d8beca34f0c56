"""What results and hard data are in every array library; that the numbers are the same is in test_transforms.py."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import propercal
from theory_tests.instances import NOTIONS, TERMS, Floats, scored, values


@pytest.mark.parametrize("notion", NOTIONS)
def test_results_live_where_the_predictions_do(notion: str, xp: Any) -> None:
    y, p = scored(60)
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
    mean = propercal.conditional_mean(xp.integers(y), given, notion=notion, kernel="dirichlet", bandwidth=0.1)
    assert type(mean) is type(given)
    assert mean.dtype == given.dtype
    assert mean.device == given.device


# Saturated: most probabilities underflow or round to 1.
Y, LOGITS = scored(60)[0], np.log(scored(60)[1]) * 400


@cache
def from_logits(dtype: str, notion: str, method: str) -> Floats:
    same = LOGITS.astype(dtype).astype(float)
    return values(propercal.decompose(Y, same, from_logits=True, notion=notion, method=method, bandwidth=0.05))


@pytest.mark.parametrize(("notion", "method"), [*((notion, "risk") for notion in NOTIONS), ("top-label", "debiased")])
def test_logits(notion: str, method: str, xp: Any) -> None:
    found = propercal.decompose(
        xp.integers(Y), xp.array(LOGITS), from_logits=True, notion=notion, method=method, bandwidth=0.05
    )
    rtol = 1e-6 if xp.dtype == "float32" else 1e-11
    wanted = from_logits(xp.dtype, notion, method)
    np.testing.assert_allclose(values(found), wanted, rtol=rtol, atol=rtol)


def test_shapes_of_a_binary_problem(xp: Any) -> None:
    y, p = scored(60, 2)
    p = np.stack([1 - p[:, 1], p[:, 1]], 1)
    settings: dict[str, Any] = {"method": "risk", "bandwidth": 0.05}
    wanted = values(propercal.decompose(xp.integers(y), xp.array(p), **settings))
    for shaped in (p[:, 1], p[:, 1:]):
        for labels in (y, np.eye(2)[y]):
            found = propercal.decompose(xp.integers(labels), xp.array(shaped), **settings)
            rtol = 1e-6 if xp.dtype == "float32" else 1e-12
            np.testing.assert_allclose(values(found), wanted, rtol=rtol)


def test_infinite_losses(xp: Any) -> None:
    y, p = scored(60)
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
    y, p = scored(60)
    w = np.linspace(0.5, 1.5, len(y))
    settings: dict[str, Any] = {"method": "risk", "bandwidth": 0.1}
    wanted = values(propercal.decompose(y, p, sample_weight=w, **settings))
    for labels in (y, y.tolist(), torch.from_numpy(y), np.array(["a", "b", "c"])[y]):
        for weights in (w, w.tolist(), torch.from_numpy(w)):
            for given in (p, torch.from_numpy(p)):
                found = propercal.decompose(labels, given, sample_weight=weights, **settings)
                np.testing.assert_allclose(values(found), wanted, rtol=1e-12, atol=1e-12)


def test_the_callers_tensors_stay_as_they_were(torch: Any) -> None:
    y, p = scored(60)
    p[0] = [1.0, 0.0, 0.0]
    y[0] = 0
    for requires_grad in (False, True):
        given = torch.tensor(p, requires_grad=requires_grad)
        labels, weights = torch.tensor(y), torch.ones(len(y), dtype=torch.float64)
        found = propercal.decompose(labels, given, sample_weight=weights, method="risk", bandwidth=0.1)
        assert given.requires_grad is requires_grad
        assert given.grad is None
        assert given.is_leaf
        assert given._version == 0
        assert torch.equal(given.detach(), torch.tensor(p))
        assert torch.equal(labels, torch.tensor(y))
        assert torch.equal(weights, torch.ones(len(y), dtype=torch.float64))
        assert found.calibration_error.requires_grad is requires_grad


def test_no_graph_under_no_grad(torch: Any) -> None:
    y, p = scored(60)
    given = torch.tensor(p, requires_grad=True)
    with torch.no_grad():
        found = propercal.decompose(y, given, method="risk", bandwidth=0.1)
    assert not found.calibration_error.requires_grad


def test_text_of_a_result_with_a_graph(torch: Any) -> None:
    y, p = scored(60)
    found = propercal.decompose(y, torch.tensor(p, requires_grad=True), method="risk", bandwidth=0.1)
    assert f"{found.risk.item():.3g}" in str(found)
    assert "grad" not in str(found)
    dataset = found.to_xarray()
    assert float(np.ravel(dataset["risk"].values)[0]) == found.risk.item()
