"""A sketch is a table by fold: its debiased estimate is that of the rows it has seen.

One update deals rows to folds as memory does, so that the numbers are the same. Tables add up, with
weights and without; more updates deal rows differently, and change as much as another seed would.
"""

from __future__ import annotations

import math
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import propercal
from propercal import CalibrationSketch
from propercal._kernels.binning import LARGEST_EXACT, SPACING, grid_numbers
from propercal.methods import Debiased
from propercal.result import TERMS, Decomposition
from propercal.sketch import contents
from propercal.sketch.together import results_together
from theory_tests.instances import calibrated
from theory_tests.sums_of_sketches import check_same_sums

N = 2600
KINDS = "spread", "lattice", "ties", "network", "certain"
GENERATORS = "log", "brier", "spherical"


def rows(kind: str, k: int, n: int = N) -> tuple[Any, Any]:
    """Labels and predictions: all different, of few values, or next to 0 and 1."""
    y, p = calibrated(n, k, seed=k, concentration=0.2 if kind == "network" else 1.0, power=1.5)
    if kind == "lattice":
        p = np.round(p * 20) + 0.25
        p /= p.sum(axis=1, keepdims=True)
    elif kind == "ties":
        p = p[np.random.default_rng(1).integers(0, 300, n)]
    elif kind == "network":
        p = p**4
        p /= p.sum(axis=1, keepdims=True)
    elif kind == "certain":
        # Right where they are certain, so that the log loss is finite.
        p[::7] = np.eye(k)[y[::7]]
    return y, p


def weights(n: int = N) -> Any:
    return np.random.default_rng(3).exponential(size=n) + 0.01


def fed(y: Any, p: Any, weight: Any = None, **options: Any) -> CalibrationSketch:
    k = p.shape[1]
    sketch = CalibrationSketch(k, **{"notion": "canonical" if k == 2 else "classwise", **options})
    sketch.update(y, p, weight)
    return sketch


def check_same(found: Decomposition, wanted: Decomposition, *, one_problem: bool, weighted: bool) -> None:
    assert found.risk == pytest.approx(wanted.risk, rel=1e-9, abs=1e-11)
    # A fit ends with the step that is worth little: rounding may decide on one more.
    for term in ("calibration_error", "refinement", "lower_bound", "kernel_share"):
        assert getattr(found, term) == pytest.approx(getattr(wanted, term), rel=1e-8, abs=1e-9), term
    # Rows of a class weigh alike in the bias of the uncertainty, which is of second order.
    for term in ("uncertainty", "sharpness"):
        slack = 0.01 * (wanted.standard_errors or {}).get("uncertainty", 0.0) if weighted else 1e-10
        assert getattr(found, term) == pytest.approx(getattr(wanted, term), rel=1e-9, abs=slack), term
    for name in ("bandwidth", "algorithm", "kernel", "method", "notion", "n_samples", "n_classes"):
        assert getattr(found, name) == getattr(wanted, name), name
    assert set(found.standard_errors) == set(wanted.standard_errors)
    for term, error in wanted.standard_errors.items():
        # Where in its bin a row lies is left out of the spread of the refined loss.
        if one_problem or term == "risk":
            assert found.standard_errors[term] == pytest.approx(error, rel=0.01, abs=1e-12), term
        else:
            assert found.standard_errors[term] > 0.99 * error, term


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("notion", "k"), [("canonical", 2), ("classwise", 2), pytest.param("classwise", 3, marks=pytest.mark.slow), ("top-label", 4)])
def test_one_update_is_decomposed_as_in_memory(notion: str, k: int, kind: str, weighted: bool) -> None:
    y, p = rows(kind, k)
    weight = weights() if weighted else None
    # Three where that takes no time.
    names = GENERATORS[: 2 if notion == "classwise" else 3]
    wanted = propercal.decompose(y, p, notion=notion, generator=list(names), sample_weight=weight)
    sketches = [fed(y, p, weight, notion=notion, generator=name) for name in names]
    for found, each in zip(results_together(sketches, "debiased", 0.95), wanted, strict=True):
        check_same(found, each, one_problem=notion != "classwise", weighted=weighted)


def test_generators_that_share_fits_find_what_each_finds_alone() -> None:
    y, p = rows("ties", 2)
    sketches = [fed(y, p, weights(), generator=name) for name in GENERATORS]
    for found, sketch in zip(results_together(sketches, "debiased", 0.95), sketches, strict=True):
        check_same(found, sketch.result(), one_problem=True, weighted=False)


@pytest.mark.parametrize("options", [{"kernel": None}, {"bandwidth": 0.06}, {"n_folds": 3, "random_state": 7}])
@pytest.mark.parametrize("kind", ["spread", "ties"])
def test_settings_mean_what_they_do_in_memory(kind: str, options: dict[str, Any]) -> None:
    y, p = rows(kind, 2)
    method = Debiased(**options)
    folds = {name: options[name] for name in ("n_folds", "random_state") if name in options}
    wanted = propercal.decompose(y, p, method=method)
    check_same(fed(y, p, **folds).result(method=method), wanted, one_problem=True, weighted=False)
    assert fed(y, p, **folds).result().n_samples == N


def test_what_lies_below_the_floor_is_in_the_risk_alone() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 45, N)
    assert (abs(logits) > 104).sum() > 20
    y = (rng.uniform(size=N) < 1 / (1 + np.exp(-logits / 45))).astype(int)
    options: dict[str, Any] = {"from_logits": True, "notion": "canonical"}
    wanted = propercal.decompose(y, logits, **options)
    sketch = CalibrationSketch(2, **options)
    sketch.update(y, logits)
    found = CalibrationSketch.from_bytes(sketch.to_bytes()).result()
    for term in TERMS:
        assert getattr(found, term) == pytest.approx(getattr(wanted, term), rel=1e-9), term
    error = wanted.standard_errors["calibration_error"]
    # An upper bound, since the parts inside and below are not independent.
    assert error <= found.standard_errors["calibration_error"] < 1.5 * error


def test_a_loss_that_is_infinite_is_so_in_the_risk_alone() -> None:
    y, p = rows("spread", 2)
    p[:3] = np.eye(2)[1 - y[:3]]
    with pytest.warns(UserWarning, match="risk and calibration error under the log loss: infinite"):
        wanted = propercal.decompose(y, p)
    with pytest.warns(UserWarning, match="in 3 rows an outcome occurred to which the prediction"):
        found = fed(y, p).result()
    assert found.risk == found.calibration_error == math.inf
    assert found.refinement == pytest.approx(wanted.refinement, rel=1e-9)
    assert found.standard_errors["calibration_error"] == math.inf
    assert found.standard_errors["refinement"] == pytest.approx(wanted.standard_errors["refinement"], rel=2e-3)


def parts_of(y: Any, p: Any, weight: Any, ends: list[int], order: Any) -> list[CalibrationSketch]:
    result = []
    for a, b in pairwise(ends):
        rows = order[a:b]
        result.append(fed(y[rows], p[rows], None if weight is None else weight[rows]))
    return result


@settings(max_examples=25)
@given(
    n=st.integers(1, 6000), n_parts=st.integers(1, 9), seed=st.integers(0, 2**32 - 1),
    distinct=st.sampled_from([1, 5, LARGEST_EXACT // 2, LARGEST_EXACT, LARGEST_EXACT + 1, 10**6]),
    weighted=st.booleans(),
)
def test_tables_add_up(n: int, n_parts: int, seed: int, distinct: int, weighted: bool) -> None:
    """Also where parts have few distinct predictions, and all have many."""
    rng = np.random.default_rng(seed)
    # Numbers of one decimal exponent have the same logarithms wherever they stand.
    some = rng.uniform(0.05, 0.95, min(distinct, n))
    one = some[rng.integers(0, len(some), n)]
    p = np.stack([1 - one, one], axis=1)
    y = rng.integers(0, 2, n)
    weight = rng.uniform(0.5, 2, n) if weighted else None
    whole = fed(y, p, weight)
    ends = [0, *sorted(rng.integers(0, n + 1, n_parts - 1).tolist()), n]
    parts = parts_of(y, p, weight, ends, rng.permutation(n))
    merged = CalibrationSketch(2, notion="canonical")
    for i in rng.permutation(len(parts)):
        merged.merge(parts[i])
    nested = parts[0]
    for each in parts[1:]:
        nested = each.merge(nested)
    for other in (merged, nested):
        check_same_sums(other._state, whole._state)
        (table,) = other._state.tables
        sizes = table.size.sum(axis=(0, 2))
        # However small the parts were, no fold is left without rows.
        assert sizes.max() - sizes.min() <= n_parts + 1


def test_rows_that_were_sent_one_by_one_are_dealt_to_all_folds() -> None:
    y, p = rows("spread", 2, 60)
    whole = CalibrationSketch(2, notion="canonical")
    for i in range(60):
        whole.merge(CalibrationSketch.from_bytes(fed(y[i : i + 1], p[i : i + 1]).to_bytes()))
    assert whole._state.tables[0].size.sum(axis=(0, 2)).tolist() == [12] * 5
    assert np.isfinite(whole.result().calibration_error)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["spread", "ties", "network"])
@pytest.mark.parametrize("k", [2, 3])
def test_other_folds_change_a_fraction_of_the_standard_error(k: int, kind: str) -> None:
    n = 20_000
    y, p = rows(kind, k, n)
    order = np.random.default_rng(5).permutation(n)
    memory = propercal.decompose(y, p, notion="canonical" if k == 2 else "classwise")
    error = memory.standard_errors["calibration_error"]
    streamed = CalibrationSketch(k, notion="canonical" if k == 2 else "classwise")
    for start in range(0, n, 1000):
        streamed.update(y[order[start : start + 1000]], p[order[start : start + 1000]])
    merged = CalibrationSketch(k, notion="canonical" if k == 2 else "classwise")
    for each in parts_of(y, p, None, [0, 100, 5000, 5001, 12_000, n], order):
        merged.merge(each)
    for sketch in (streamed, merged):
        found = sketch.result()
        assert abs(found.calibration_error - memory.calibration_error) < 0.3 * error
        assert found.risk == pytest.approx(memory.risk, rel=1e-12)
        assert found.uncertainty == pytest.approx(memory.uncertainty, rel=1e-10)


@cache
def at_scale_one(kind: str) -> dict[str, Any]:
    """What is found with weights as they are, and without any."""
    weighted, plain = fed(*rows(kind, 2), weights()), fed(*rows(kind, 2))
    return {
        "result": weighted.result(), "quadrature_error": weighted.quadrature_error(), "without": plain.result(),
    }


@pytest.mark.parametrize("scale", [3.0, *(pytest.param(each, marks=pytest.mark.slow) for each in (1e-90, 1e90))])
@pytest.mark.parametrize("kind", ["spread", "ties"])
def test_the_scale_of_weights_does_not_matter(kind: str, scale: float) -> None:
    y, p = rows(kind, 2)
    other = fed(y, p, scale * weights())
    read = CalibrationSketch.from_bytes(other.to_bytes())
    for method in ("result", "quadrature_error"):
        a, b, c = at_scale_one(kind)[method], *(getattr(each, method)() for each in (other, read))
        if method == "result":
            for term in TERMS:
                assert getattr(a, term) == pytest.approx(getattr(b, term), rel=1e-9, abs=1e-10), term
                assert getattr(b, term) == getattr(c, term)
            assert a.standard_errors == pytest.approx(b.standard_errors, rel=1e-7)
        else:
            assert a == pytest.approx(b, rel=1e-6, abs=1e-14)
    equal, none = fed(y, p, np.full(N, scale)).result(), at_scale_one(kind)["without"]
    for term in TERMS:
        assert getattr(equal, term) == pytest.approx(getattr(none, term), rel=1e-10, abs=1e-10), term


def test_rows_of_weight_0_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "new_origin", lambda: (1,))
    y, p = rows("spread", 3)
    used = np.arange(N) % 3 > 0
    p[~used] = np.nan
    sketch = fed(y, p, used * weights())
    assert sketch.to_bytes() == fed(y[used], p[used], weights()[used]).to_bytes()
    before = sketch._seen
    sketch.update(y[:5], p[:5], np.zeros(5))
    assert sketch._seen is before


@pytest.mark.filterwarnings("ignore:sample_weight is given for rows before, and not for these rows")
def test_rows_without_weights_weigh_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "new_origin", lambda: (1,))
    y, p = rows("spread", 2)
    mixed, ones = CalibrationSketch(2, notion="canonical"), CalibrationSketch(2, notion="canonical")
    weight = weights()
    weight[1000:2000] = 1
    for part in (slice(0, 1000), slice(1000, 2000), slice(2000, N)):
        ones.update(y[part], p[part], weight[part])
        mixed.update(y[part], p[part], None if part.start == 1000 else weight[part])
    found, wanted = (each._state.arrays() for each in (mixed, ones))
    assert found.keys() == wanted.keys()
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


def test_few_of_unequal_weights_are_said() -> None:
    y, p = rows("spread", 2, 400)
    weight = np.full(400, 1e-6)
    weight[:12] = 1
    with pytest.warns(UserWarning, match="sample_weight leaves an effective number of 12 rows of 400"):
        fed(y, p, weight).result()


def test_bins_of_twice_the_width_tell_what_bins_leave_out(monkeypatch: pytest.MonkeyPatch) -> None:
    y, p = rows("spread", 2, 50_000)
    sketch = fed(y, p)
    error = sketch.result().standard_errors["calibration_error"]
    assert 0 < sketch.quadrature_error() < 0.02 * error
    assert fed(*rows("ties", 2)).quadrature_error() == 0
    monkeypatch.setattr("propercal.sketch.tables.grid_numbers", partial(grid_numbers, spacing=SPACING / 4))
    fine = fed(y, p).result().refinement
    assert abs(fine - sketch.result().refinement) < 0.02 * error


def test_a_bin_that_holds_many_predictions_is_warned_of() -> None:
    rng = np.random.default_rng(2)
    one = np.where(rng.uniform(size=8000) < 0.2, 0.6 + rng.uniform(-1e-4, 1e-4, 8000), rng.uniform(0.01, 0.99, 8000))
    # Calibrated predictions would have an error of nearly 0, which is no measure of anything.
    y = (rng.uniform(size=8000) < 0.1 + 0.8 * one).astype(int)
    p = np.stack([1 - one, one], axis=1)
    with pytest.warns(UserWarning, match=r"2\d% of the predictions lie between 0\.[56]\d* and 0\.60\d*, which a sketch"):
        found = fed(y, p).result()
    with pytest.warns(UserWarning, match=r"2\d% of the predictions of class [01] lie between 0.\d* and"):
        fed(y, p, notion="classwise").result()
    wanted = propercal.decompose(y, p)
    error = wanted.standard_errors["calibration_error"]
    assert found.calibration_error == pytest.approx(wanted.calibration_error, abs=error)
    # Equal ones are one point, in memory as here.
    one[abs(one - 0.6) < 5e-3] = 0.6
    p = np.stack([1 - one, one], axis=1)
    check_same(fed(y, p).result(), propercal.decompose(y, p), one_problem=True, weighted=False)
