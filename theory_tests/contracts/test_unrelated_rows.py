"""Predictions that tell nothing of the labels, as those of other rows do, are doubted.

Source: the moments of Σ a_{h π(h)} over all orders π (Hoeffding 1951, doi:10.1214/aoms/1177729698).
"""

from __future__ import annotations

import warnings
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from propercal import calibration_test, crps_decomposition, decompose, expected_calibration_error, paired_difference
from propercal._data.predictions.unrelated import gain_of_own_rows
from propercal.recalibration import TemperatureScaling

OPTIONS: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
MESSAGE = r"^{} tells nothing of y_true, as far as 200 rows show: .*Join both by an id"


def sample(n: int = 200, k: int = 3, concentration: float = 0.5, seed: int = 0) -> tuple[Any, Any, np.random.Generator]:
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet([concentration] * k, n)
    return (rng.random((n, 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1), proba, rng


def test_its_moments_are_those_over_all_orders() -> None:
    label, proba, _ = sample(6, 3, 2.0)
    logs = np.log(proba)
    sums = np.array([logs[range(6), list(order)].sum() for order in permutations(label)])
    seen, expected = gain_of_own_rows(logs, label)
    assert seen == pytest.approx((logs[range(6), label].sum() - sums.mean()) / sums.std(), rel=1e-9)
    # The mean gain of labels whose rows occur in proportion to the predictions of their class.
    away = logs - logs.mean(axis=0)
    of_class = [np.average(away, axis=0, weights=proba[:, j]) for j in range(3)]
    overall = np.mean([of_class[j] for j in label], axis=0)
    gain = sum(of_class[i][i] - overall[i] for i in label)
    assert expected == pytest.approx(gain / sums.std(), rel=1e-9)


@pytest.mark.parametrize(
    ("n", "shift", "slope", "many"), [(200, 4, 0.7, 0), (600, 4, 0.7, 0), (600, 3, 1.0, 60), (2000, 5, 0.7, 60)]
)
def test_models_of_other_shares_of_the_classes_are_not_doubted(n: int, shift: float, slope: float, many: int) -> None:
    """As of training with balanced classes: few positives decide, who may be ranked by chance."""
    doubted, enough = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        score = slope * rng.normal(size=n)
        label = (rng.random(n) < 1 / (1 + np.exp(shift - score))).astype(int)
        logs = -np.log1p(np.exp(np.stack([score, -score], axis=1)))
        seen, expected = gain_of_own_rows(logs, label)
        doubted += seen <= 2 and expected >= 8
        # Of classes as frequent as predicted so many rows tell.
        even = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
        seen, expected = gain_of_own_rows(logs, even)
        enough += expected >= 8
    assert doubted == 0
    assert enough >= many


def test_what_a_recalibrator_is_applied_to_has_no_labels_to_be_doubted() -> None:
    label, proba, _ = sample(400)
    fitted = TemperatureScaling().fit(proba[:200], label[:200])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (proba[200:], np.eye(3)[label[200:]] * 0.97 + 0.01, proba[200:201]):
            assert fitted.predict_proba(rows).shape == rows.shape


@pytest.mark.parametrize("k", [2, 3, 10])
def test_labels_in_another_order_are_told_by_every_reader(k: int) -> None:
    label, proba, rng = sample(k=k)
    moved = rng.permutation(label)
    right, wrong = (((proba - np.eye(k)[each]) ** 2).sum(axis=1).mean() for each in (label, moved))
    assert decompose(label, proba, **OPTIONS).risk == pytest.approx(right, rel=1e-12)
    with pytest.warns(UserWarning, match=MESSAGE.format("y_proba")):
        assert decompose(moved, proba, **OPTIONS).risk == pytest.approx(wrong, rel=1e-12)
    for call in (lambda: calibration_test(moved, proba, n_resamples=19), lambda: expected_calibration_error(moved, proba)):
        with pytest.warns(UserWarning, match=MESSAGE.format("y_proba")):
            call()
    with pytest.warns(UserWarning, match=MESSAGE.format("y_proba_b")):
        paired_difference(label, proba, rng.permutation(proba), generator="brier", term="risk")
    with pytest.warns(UserWarning, match=MESSAGE.format("y_proba")):
        decompose(moved, np.log(proba), from_logits=True, **OPTIONS)
    if k == 2:
        with pytest.warns(UserWarning, match=MESSAGE.format("y_proba")):
            decompose(moved, proba[:, 1], **OPTIONS)
    weight = np.concatenate([np.ones(200), np.zeros(200)])
    with pytest.warns(UserWarning, match=MESSAGE.format("y_proba")):
        decompose(np.concatenate([moved, label]), np.concatenate([proba, proba]), sample_weight=weight, **OPTIONS)


def test_models_that_know_something_are_not_doubted_and_uncertain_ones_neither() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(30):
            for concentration in (0.1, 0.5, 3.0):
                label, proba, rng = sample(concentration=concentration, seed=seed)
                for power in (0.3, 1.0, 3.0):
                    other = np.maximum(proba, 1e-12) ** power
                    gain_of = other / other.sum(axis=1, keepdims=True)
                    seen, expected = gain_of_own_rows(np.log(gain_of), label)
                    assert seen > 2 or expected < 8
        # Of a model that hardly says anything shuffled rows cannot be told.
        label, proba, rng = sample(concentration=200.0)
        decompose(rng.permutation(label), proba, **OPTIONS)
        # A constant prediction says as much of each row.
        decompose(label, np.full((200, 3), 1 / 3), **OPTIONS)


def test_outcomes_in_another_order_are_told() -> None:
    rng = np.random.default_rng(1)
    centre = rng.normal(size=200)
    outcome, members = centre + 0.3 * rng.normal(size=200), centre[:, None] + 0.3 * rng.normal(size=(200, 5))
    crps_decomposition(outcome, members)
    for options in ({"ensemble": members}, {"quantiles": np.sort(members, axis=1), "levels": [0.1, 0.3, 0.5, 0.7, 0.9]}):
        with pytest.warns(UserWarning, match=MESSAGE.format(next(iter(options)))):
            crps_decomposition(rng.permutation(outcome), **options)
    # A forecast without skill that is calibrated says the same of each row.
    crps_decomposition(rng.normal(size=200), rng.normal(size=(200, 5)))


@pytest.mark.parametrize("name", ["p_1", "model_1", "fold1", "class_1"])
def test_a_column_that_says_the_contrary_of_its_name_is_told(name: str) -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    label, proba, _ = sample(k=2)
    right = float(((proba - np.eye(2)[label]) ** 2).sum(axis=1).mean())
    assert decompose(label, pd.Series(proba[:, 1], name=name), **OPTIONS).risk == pytest.approx(right, rel=1e-12)
    with pytest.warns(UserWarning, match=r"^y_proba tells nothing of y_true, but the contrary, as far as 200 rows show: labels are less probable"):
        decompose(label, pd.Series(proba[:, 0], name=name), **OPTIONS)


def test_places_of_another_order_are_doubted_together() -> None:
    """Of stations that one side alone names, each has too few rows to tell."""
    xr = pytest.importorskip("xarray")
    from propercal.xarray import decompose as decompose_places
    from propercal.xarray import paired_difference as difference_of_places

    rng = np.random.default_rng(0)
    proba = rng.dirichlet([0.8] * 3, (4, 80))
    label = (rng.random((4, 80, 1)) > proba.cumsum(axis=2)[..., :-1]).sum(axis=2)
    x = xr.DataArray(proba, {"station": list("wxyz")}, ("station", "time", "class"))
    y = xr.DataArray(label, dims=("station", "time"))
    options: dict[str, Any] = {"class_dim": "class", "reduce_dims": "time", **OPTIONS}
    right = ((proba - np.eye(3)[label]) ** 2).sum(axis=2).mean(axis=1)
    np.testing.assert_allclose(decompose_places(y, x, **options).risk, right)
    named = y.assign_coords(station=list("wxyz"))
    np.testing.assert_allclose(decompose_places(named, x[[2, 0, 3, 1]], **options).risk.sel(station=list("wxyz")), right)
    with pytest.warns(UserWarning, match="^y_proba tells nothing of y_true, as far as 320 rows show"):
        decompose_places(y, x[[2, 0, 3, 1]], **options)
    with pytest.warns(UserWarning, match="^y_proba tells nothing of y_true, as far as 316 rows show"):
        decompose_places(y.isel(time=slice(1, None)), x.isel(time=slice(79)), **options)
    kinds = {name: options[name] for name in ("class_dim", "reduce_dims", "generator")}
    with pytest.warns(UserWarning, match="^y_proba_b tells nothing of y_true, as far as 320 rows show"):
        difference_of_places(y, x, x[[2, 0, 3, 1]].drop_vars("station"), term="risk", **kinds)
