"""What `decompose(method="debiased")` and `paired_difference` promise about arguments, hard data and array libraries."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from propercal import Decomposition, decompose
from propercal.generators import ItakuraSaito
from propercal.inference.paired import paired_difference
from theory_tests.conftest import Backend
from theory_tests.contracts.debiased_sample import (
    BOUNDED,
    FAST,
    RNG,
    TOP,
    N,
    P,
    Recalibrator,
    Y,
    is_sound,
    leans_on_the_kernel,
)
from theory_tests.instances import NOTIONS, TERMS, written


# ------------------------------------------------------------------ arguments
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"exclude_self": False},
            r"""^exclude_self = False: expected a setting of method="debiased".*method='direct' or 'risk'""",
        ),
        ({"kernel": "uniform-bins"}, r'^kernel = uniform-bins.*method="direct" or "risk" for bins'),
        ({"kernel": "dirichlett"}, r"^kernel = 'dirichlett'.*dirichlet"),
        ({"n_folds": 2}, r"^n_folds = 2: expected a whole number from 3 to 20"),
        ({"n_folds": 21}, r"^n_folds = 21"),
        ({"n_folds": 5.0}, r"^n_folds = 5\.0"),
        ({"n_folds": True}, r"^n_folds = True"),
        ({"random_state": -1}, r"^random_state = -1.*pass a seed, such as 0"),
        ({"random_state": "seed"}, r"^random_state = 'seed'"),
        ({"random_state": 1.5}, r"^random_state = 1\.5"),
        ({"bandwidth": 0}, r"^bandwidth = 0"),
        ({"recalibrator": []}, r"^recalibrator = \[\]: expected one or more"),
        ({"recalibrator": "isotonic"}, r"^recalibrator = 'isotonic'.*predict_proba.*pass an instance"),
        ({"recalibrator": Recalibrator}, r"^recalibrator = <class .*pass an instance"),
        ({"recalibrator": [Recalibrator(), 3]}, r"^recalibrator = 3: .*predict_proba"),
        ({"recalibrator": Recalibrator(lambda X: X[:, 0])}, r"^recalibrator = Recalibrator.* shape \(\d+,\) "),
        ({"recalibrator": Recalibrator(lambda X: X[:5])}, r"^recalibrator = .*shape \(5, 3\) for \d+ rows"),
        ({"recalibrator": Recalibrator(lambda X: X * 2)}, r"^recalibrator = .*rows that are no probabilities"),
        ({"recalibrator": Recalibrator(lambda X: X - 0.5)}, r"^recalibrator = .*no probabilities"),
        ({"recalibrator": Recalibrator(lambda X: X * np.nan)}, r"^recalibrator = .*no probabilities"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decompose(Y, P, **change)
    if "exclude_self" not in change:
        with pytest.raises(ValueError, match=message):
            paired_difference(Y, P, P, **change)


@pytest.mark.parametrize("method", ["direct", "risk"])
def test_a_recalibrator_belongs_to_the_debiased_method(method: str) -> None:
    with pytest.raises(ValueError, match=rf"""^recalibrator = .*a setting of method="{method}".*debiased"""):
        decompose(Y, P, method=method, recalibrator=Recalibrator())
    with pytest.raises(ValueError, match=r"^kernel = None"):
        decompose(Y, P, method=method, kernel=None)


def test_few_rows_are_refused_and_twenty_are_enough() -> None:
    with pytest.raises(ValueError, match=r'^y_proba = 19 rows: expected 20 or more .*method="risk"'):
        decompose(Y[:19], P[:19])
    with pytest.raises(ValueError, match="19 rows"):
        decompose(Y[:20], P[:20], sample_weight=[0, *[1] * 19])
    assert is_sound(decompose(Y[:20], P[:20], n_folds=20, recalibrator=Recalibrator(), **FAST))
    assert is_sound(decompose(Y[:20], P[:20], n_folds=3))


def test_a_tracked_gradient_is_refused() -> None:
    torch = pytest.importorskip("torch")
    p = torch.asarray(P, requires_grad=True)
    with pytest.raises(ValueError, match=r"^y_proba = a tensor that tracks a gradient.*detach"):
        decompose(Y, p)
    assert float(decompose(Y, p.detach(), **FAST).risk) > 0
    with torch.no_grad():
        assert not decompose(Y, p, **FAST).risk.requires_grad


# ------------------------------------------------------------------ hard data
def vertices(label: Any) -> Any:
    return np.eye(3)[label]


def with_zeros() -> Any:
    p = np.where((np.arange(N)[:, None] < 10) & (np.arange(3) == (Y[:, None] + 1) % 3), 0.0, P)
    return p / p.sum(axis=1, keepdims=True)


HARD: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "zeros": (Y, with_zeros(), {}),
    "all rows at vertices, right": (Y, vertices(Y), {}),
    "all rows at vertices, one wrong in four": (Y, vertices(np.where(np.arange(N) % 4, Y, (Y + 1) % 3)), {}),
    # A third of the rows at the vertex of the largest probability.
    "separable, with vertices": (TOP, np.where((np.arange(N) < N // 3)[:, None], vertices(TOP), P), {}),
    "absent class": (np.minimum(Y, 1), P, {}),
    "class of one sample": (np.where(np.arange(N) == 5, 2, np.minimum(Y, 1)), P, {}),
    "single class": (0 * Y, P, {}),
    "all rows the same": (Y, np.tile([0.2, 0.3, 0.5], (N, 1)), {}),
    "uniform predictions": (Y, np.full((N, 3), 1 / 3), {}),
    "two classes": (Y > 0, 1 - P[:, 0], {}),
    "saturated logits": (Y, RNG.normal(size=(N, 3)) * 1e5, {"from_logits": True}),
    "weights over 300 orders": (Y, P, {"sample_weight": 10.0 ** RNG.uniform(-150, 150, N)}),
    "two heavy rows": (Y, P, {"sample_weight": np.where(np.arange(N) % 30 == 3, 1.0, 1e-12)}),
    "wide kernel": (Y, P, {"bandwidth": 1e9}),
    "narrow kernel": (Y, P, {"bandwidth": 1e-9}),
}


@leans_on_the_kernel
def test_very_unequal_weights_are_a_warning() -> None:
    """Two rows carry all: Kish's number of rows, (Σ w)² / Σ w², is 2."""
    y, p, options = HARD["two heavy rows"]
    with pytest.warns(UserWarning, match="effective number of 2 rows of 60"):
        decompose(y, p, notion="classwise", **options)


@leans_on_the_kernel
@pytest.mark.filterwarnings(
    "ignore:.*infinite, since the loss is infinite", "ignore:.*an effective number", "ignore:no row had an outcome", "ignore:y_proba is 1 for what occurred", "ignore:y_proba is 0 or 1 in each"
)
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("name", HARD)
def test_hard_data_have_an_estimate(name: str, notion: str) -> None:
    y, p, options = HARD[name]
    y, p = np.array(y), np.array(p)
    before = y.copy(), p.copy()
    results = decompose(y, p, generator=BOUNDED, notion=notion, **{"bandwidth": 0.05, **options})
    np.testing.assert_array_equal(y, before[0])
    np.testing.assert_array_equal(p, before[1])
    for found in results:
        if name == "all rows at vertices, one wrong in four" and found.generator.name == "log":
            assert found.risk == found.calibration_error == found.lower_bound == math.inf
            assert math.isfinite(found.refinement)
            assert len(found.infinite_loss_rows) == N // 4
            with pytest.raises(ValueError, match=r"finite term.*is inf: it has no interval"):
                found.interval("calibration_error")
        else:
            assert is_sound(found), found


@pytest.mark.filterwarnings("ignore:y_proba.* is 0 or 1 in each of 60 rows")
def test_an_infinite_loss_is_said() -> None:
    y, p, _ = HARD["all rows at vertices, one wrong in four"]
    with pytest.warns(UserWarning, match="calibration error under the log loss: infinite"):
        found = decompose(y, p, **FAST)
    assert "inf" in str(found)
    assert "calibration_error_interval" not in found.to_xarray()
    with pytest.warns(UserWarning, match="infinite"):
        pair = paired_difference(y, p, P, **FAST)
    assert pair.difference == math.inf
    assert math.isnan(pair.pvalue)
    assert "inf" in str(pair)
    with pytest.raises(ValueError, match=r"^difference = inf: .*bounded loss"):
        pair.interval()
    with pytest.warns(UserWarning, match="infinite"):
        assert math.isnan(paired_difference(y, p, p, **FAST).difference)


@leans_on_the_kernel
def test_an_unbounded_generator_inside_the_simplex() -> None:
    found = decompose(Y, P, generator=ItakuraSaito())
    assert is_sound(found)


def test_many_classes() -> None:
    rng = np.random.default_rng(1)
    p = rng.dirichlet([0.3] * 30, 100)
    y = np.minimum((rng.random(100)[:, None] > p.cumsum(axis=1)).sum(axis=1), 29)
    for found in decompose(y, p, generator=["log", "brier"], **FAST):
        assert is_sound(found)
        # Calibrated predictions: within five standard errors of 0.
        assert abs(found.calibration_error) < 5 * found.standard_errors["calibration_error"]


def test_rows_that_do_not_quite_sum_to_1_are_used_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="rows that sum to 1.01"):
        assert is_sound(decompose(Y, 1.01 * P, generator="brier", **FAST))


def test_multi_label_predictions_are_taken_class_by_class() -> None:
    rng = np.random.default_rng(2)
    p = rng.random((N, 3))
    y = (rng.random((N, 3)) < p).astype(int)
    found = decompose(y, p, notion="classwise", generator="brier", **FAST)
    assert is_sound(found)
    each = [decompose(y[:, i], p[:, i], generator="brier", **FAST).calibration_error for i in range(3)]
    assert found.calibration_error == pytest.approx(np.mean(each), rel=1e-9)
    assert paired_difference(y, p, p, notion="classwise", **FAST).pvalue == 1


# ------------------------------------------------------------------ array libraries
WEIGHT = np.random.default_rng(3).uniform(0.5, 2, N)


def options_of(notion: str) -> dict[str, Any]:
    if notion == "canonical":
        return {"generator": ["log", "spherical"]}
    return {"generator": ["brier"], "notion": notion, **FAST}


@cache
def numpy_finds(notion: str) -> list[Decomposition]:
    found: list[Decomposition] = decompose(Y, with_zeros(), sample_weight=WEIGHT, **options_of(notion))
    return found


@leans_on_the_kernel
@pytest.mark.parametrize("notion", NOTIONS)
def test_every_array_library_finds_the_same(xp: Backend, notion: str) -> None:
    p = with_zeros()
    array = xp.array(p)
    found = decompose(xp.integers(Y), array, sample_weight=xp.array(WEIGHT), **options_of(notion))
    rtol = 1e-9 if xp.dtype == "float64" else 1e-4
    for a, b in zip(numpy_finds(notion), found, strict=True):
        for term in TERMS:
            value = getattr(b, term)
            assert type(value) is float if xp.module == "numpy" else value.dtype == xp.float_type
            assert float(value) == pytest.approx(getattr(a, term), rel=rtol, abs=rtol)
            # At the best weights of the families the loss does not change to first order; V does.
            assert b.interval(term) == pytest.approx(a.interval(term), rel=1e2 * rtol, abs=1e2 * rtol)
        assert b.lower_bound == pytest.approx(a.lower_bound, rel=rtol, abs=rtol)
        assert b.kernel_share == pytest.approx(a.kernel_share, rel=rtol, abs=rtol)
        assert b.bandwidth == a.bandwidth
    np.testing.assert_array_equal(xp.numpy(array), p.astype(xp.dtype))


def test_single_precision_is_read_in_double() -> None:
    single = P.astype(np.float32)
    found, expected = decompose(Y, single, **FAST), decompose(Y, single.astype(float), **FAST)
    assert found.calibration_error == expected.calibration_error


def test_a_pair_of_any_library_has_numbers_of_python(xp: Backend) -> None:
    """Which ones is in test_transforms.py."""
    found = paired_difference(
        xp.integers(Y), xp.array(P), xp.array(P**2 / (P**2).sum(axis=1, keepdims=True)), kernel=None
    )
    assert [type(getattr(found, name)) for name in ("difference", "standard_error", "pvalue")] == [float] * 3


# ------------------------------------------------------------------ results
def test_a_list_gives_a_list_and_one_generator_one_result() -> None:
    single, (first,) = decompose(Y, P, **FAST), decompose(Y, P, generator=["log"], **FAST)
    assert isinstance(single, Decomposition)
    assert single.calibration_error == first.calibration_error
    assert (single.method, single.kernel, first.n_samples) == ("debiased", "dirichlet", N)
    assert decompose(Y, P, kernel=None).kernel == "none"


def test_the_dataset_and_the_text_carry_intervals_and_the_lower_bound() -> None:
    found = decompose(Y, P, confidence_level=0.9, **FAST)
    data = found.to_xarray()
    for term in TERMS:
        assert data[f"{term}_interval"].values.tolist() == list(found.interval(term))
        assert f"[{found.interval(term)[0]:.6g}, {found.interval(term)[1]:.6g}]" in str(found)
    assert data["lower_bound"].item() == found.lower_bound
    assert data["kernel_share"].item() == found.kernel_share
    assert data.attrs["method"] == "debiased"
    assert "90% interval" in str(found)
    assert "lower_bound" not in decompose(Y, P, method="risk", **FAST).to_xarray()


def test_a_pair_of_other_shapes_is_named_and_the_result_is_readable() -> None:
    with pytest.raises(ValueError, match=r"^y_proba_b = 3 classes: expected 2, as in y_proba_a"):
        paired_difference((Y > 0) * 1, P[:, 0], P, **FAST)
    with pytest.raises(ValueError, match=r"^y_true = 60 labels: expected 59"):
        paired_difference(Y, P, P[1:], **FAST)
    with pytest.raises(ValueError, match=r"^confidence_level = "):
        paired_difference(Y, P, P, confidence_level=95)
    found = paired_difference(Y, P, np.roll(P, 1, axis=1), generator="brier", **FAST)
    with pytest.raises(ValueError, match=r"^confidence_level = "):
        found.interval(1)
    low, high = found.interval()
    for words in (
        "brier loss, canonical",
        f"[{low:.6g}, {high:.6g}]",
        f"p = {found.pvalue:.3g}",
        "95% interval, n = 60",
    ):
        assert words in str(found)


#: Written in NumPy alone, which torch cannot differentiate.
WITHOUT_HESSIAN = written(
    "WithoutHessian",
    value=lambda p: np.sum(np.square(np.asarray(p)), axis=-1),
    gradient=lambda p: 2 * np.asarray(p, dtype=p.dtype if isinstance(p, np.ndarray) else None),
)


def test_a_generator_without_a_hessian_is_refused_before_any_work() -> None:
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"(?s)^generator = WithoutHessian.*Hessian.*method=\"risk\""):
        decompose(Y, P, generator=WITHOUT_HESSIAN)
    assert math.isfinite(decompose(Y, P, generator=WITHOUT_HESSIAN, method="risk", **FAST).risk)
