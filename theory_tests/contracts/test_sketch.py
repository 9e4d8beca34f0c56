"""What users give a sketch, and what it says to what it cannot use."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import propercal
from propercal import CalibrationSketch, generators
from propercal.methods import Risk
from propercal.result import TERMS
from theory_tests.instances import NoHessian, unrelated


def made(**settings: Any) -> CalibrationSketch:
    return CalibrationSketch(**{"n_classes": 3, "bandwidth": 0.1, **settings})


def fed(y_true: Any, y_proba: Any, **settings: Any) -> CalibrationSketch:
    sketch = made(**settings)
    sketch.update(y_true, y_proba)
    return sketch


#: Settings of a sketch of two classes.
BINARY = {"n_classes": 2, "notion": "canonical"}


@pytest.mark.parametrize(("settings", "message"), [
    ({"n_classes": 1}, "n_classes = 1"),
    ({"n_classes": 2.0}, "n_classes = 2.0"),
    ({"n_classes": True}, "n_classes = True"),
    ({"notion": "canonical"}, "notion = 'canonical'"),
    ({"notion": "class-wise"}, "notion = 'class-wise'.*did you mean 'classwise'"),
    ({"bandwidth": 1e-7}, "bandwidth = 1e-07: expected 1e-6 to 10"),
    ({"bandwidth": "auto"}, "bandwidth = 'auto'"),
    ({"generator": "logg"}, "generator = 'logg'"),
    ({"from_logits": 1}, "from_logits = 1"),
    ({"n_folds": 2}, "n_folds = 2: expected a whole number from 3 to 20"),
    ({"n_folds": 5.0}, "n_folds = 5.0"),
    ({"random_state": -1}, "random_state = -1: expected a whole number ≥ 0 for a sketch"),
    ({"random_state": None}, "random_state = None"),
    ({"random_state": True}, "random_state = True"),
])
def test_settings_that_cannot_be_used(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        made(**settings)


def test_rows_that_cannot_be_used_leave_no_trace() -> None:
    sketch = fed(*unrelated(50))
    before = sketch.to_bytes()
    y_true, y_proba = unrelated(50, 4)
    with pytest.raises(ValueError, match="y_proba = 4 classes: expected 3"):
        sketch.update(y_true, y_proba)
    y_true, y_proba = unrelated(50)
    y_proba[3, 1] = np.nan
    with pytest.raises(ValueError, match="y_proba = nan at row 3"):
        sketch.update(y_true, y_proba)
    assert sketch.to_bytes() == before


@pytest.mark.parametrize("method", ["result", "quadrature_error"])
def test_nothing_to_decompose(method: str) -> None:
    sketch = made()
    with pytest.raises(ValueError, match="n_samples = 0"):
        getattr(sketch, method)()
    sketch.update(*unrelated(1))
    with pytest.raises(ValueError, match="n_samples = 1"):
        getattr(sketch, method)()
    with pytest.raises(ValueError, match="method = 'risky'"):
        getattr(sketch, method)(method="risky")


@pytest.mark.parametrize("settings", [
    {"n_classes": 4},
    {"generator": "brier"},
    {"notion": "top-label"},
    {"bandwidth": 0.2},
    {"bandwidth": None},
    {"n_folds": 4},
    {"random_state": 1},
    {"labels": ["a", "b", "c"]},
    {"from_logits": True},
])
def test_sketches_of_other_settings_are_not_merged(settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(ValueError, match=f"other = a sketch with {name} = "):
        made().merge(made(**settings))


@pytest.mark.parametrize("function", ["result", "quadrature_error"])
def test_what_each_method_needs(function: str) -> None:
    sketch = fed(*unrelated(19), bandwidth=None)
    with pytest.raises(ValueError, match="y_proba = 19 rows: expected 20 or more for method=\"debiased\""):
        getattr(sketch, function)()
    sketch.update(*unrelated(1))
    getattr(sketch, function)()
    for method in ("direct", "risk", Risk(bandwidth=0.1)):
        with pytest.raises(ValueError, match="bandwidth = None: expected that of the kernel, for method="):
            getattr(sketch, function)(method=method)


@pytest.mark.parametrize("function", ["result", "quadrature_error"])
def test_the_debiased_method_needs_a_hessian(function: str) -> None:
    pytest.importorskip("torch", reason="would derive it, and is not installed")
    with pytest.raises(ValueError, match=r"generator = .*: expected a Hessian"):
        getattr(fed(*unrelated(30), generator=WithoutHessian()), function)()


class WithoutHessian(NoHessian):
    """One that torch cannot differentiate either."""

    def gradient(self, p: Any) -> Any:
        return 2 * np.asarray(p)


WEIGHTS: list[tuple[Any, str]] = [
    ([1.0, -1.0, 1.0], "sample_weight = -1.0 at row 1: expected finite weights ≥ 0"),
    ([1.0, np.nan, 1.0], "sample_weight = nan at row 1"),
    ([1.0, 2.0], r"sample_weight = an array of shape \(2,\)"),
    ([[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]], r"sample_weight = an array of shape \(3, 2\)"),
    (["a", "b", "c"], "sample_weight = "),
    ([1.0, 1e-101, 1.0], "sample_weight = 1e-101: expected 0, or 1e-100 to 1e\\+100 in a sketch"),
    ([1e101, 0.0, 1.0], "sample_weight = 1e\\+101: expected 0, or 1e-100"),
]


@pytest.mark.parametrize(("weight", "message"), WEIGHTS)
def test_weights_that_cannot_be_used_leave_no_trace(weight: Any, message: str) -> None:
    sketch = fed(*unrelated(50), bandwidth=None)
    before = sketch._seen
    with pytest.raises(ValueError, match=message):
        sketch.update(*unrelated(3), weight)
    assert sketch._seen is before


def test_nodes_have_no_weights_of_rows() -> None:
    with pytest.raises(ValueError, match="sample_weight = a list: expected None in a sketch of a bandwidth"):
        made().update(*unrelated(3), [1.0, 2.0, 3.0])


def test_weights_are_aligned_with_rows() -> None:
    pd = pytest.importorskip("pandas")
    y_true, y_proba = unrelated(300)
    weight = np.random.default_rng(0).uniform(0.5, 2, 300)
    order = np.random.default_rng(1).permutation(300)
    sketch, names = made(bandwidth=None), [f"row {i}" for i in range(300)]
    moved = pd.Series(weight, index=names).iloc[order]
    sketch.update(pd.Series(y_true, index=names), pd.DataFrame(y_proba, index=names), moved)
    wanted = made(bandwidth=None)
    wanted.update(y_true, y_proba, weight)
    assert sketch.result().calibration_error == wanted.result().calibration_error


def test_infinities_of_both_signs_are_no_term() -> None:
    sketch = fed([1, 0, *[0, 1] * 20], [1.0, 1.0, *[0.3, 0.6] * 20], **BINARY, generator="itakura-saito")
    for method in ("debiased", "risk"):
        with pytest.raises(ValueError, match="infinities of both signs meet"):
            sketch.result(method=method)


def test_single_rows_add_up() -> None:
    y_true, y_proba = unrelated(30)
    whole, one_by_one = made(), made()
    whole.update(y_true, y_proba)
    for row in range(30):
        one_by_one.update(y_true[row : row + 1], y_proba[row : row + 1])
    assert one_by_one.n_samples == 30
    assert one_by_one.result(method="risk").refinement == pytest.approx(
        whole.result(method="risk").refinement, rel=1e-12
    )


def test_names_of_classes_need_not_occur_in_every_chunk() -> None:
    y_true, y_proba = unrelated(50)
    names = np.array(["cat", "dog", "eel"])
    sketch, numbers = made(labels=["cat", "dog", "eel"]), made()
    for rows in (y_true == 0, y_true == 1, y_true == 2):
        sketch.update(names[y_true[rows]], y_proba[rows])
    numbers.update(y_true, y_proba)
    assert sketch.result().risk == pytest.approx(numbers.result().risk, rel=1e-12)
    again = CalibrationSketch.from_bytes(sketch.to_bytes())
    again.update(names[y_true], y_proba)
    assert again.n_samples == 100


def test_several_labels_a_row_have_no_interval_for_the_uncertainty() -> None:
    rng = np.random.default_rng(0)
    y_proba = rng.uniform(size=(60, 3))
    indicators = (rng.uniform(size=(60, 3)) < y_proba).astype(int)
    sketch = fed(indicators, y_proba)
    wanted = propercal.decompose(indicators, y_proba, notion="classwise", method="risk", bandwidth=0.1)
    found = sketch.result(method="risk")
    assert found.calibration_error == pytest.approx(wanted.calibration_error, rel=1e-9)
    assert set(found.standard_errors) == {"risk"}
    assert set(sketch.result().standard_errors) == {"risk", "calibration_error", "refinement"}


def test_infinite_losses_are_counted_and_named() -> None:
    sketch = fed([0, 1, 2, 0], [[0.0, 0.5, 0.5], [0.2, 0.4, 0.4], [0.5, 0.5, 0.0], [0.4, 0.3, 0.3]])
    with pytest.warns(UserWarning, match="in 2 rows an outcome occurred to which the prediction"):
        found = sketch.result(method="risk")
    assert found.risk == np.inf
    assert np.isfinite(found.refinement)


def test_what_nodes_may_leave_out_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    # With three nodes a panel, polynomials are too coarse for the kernel.
    monkeypatch.setattr("propercal.sketch.grid._NODES", 3)
    rng = np.random.default_rng(1)
    y_proba = rng.uniform(0.3, 0.7, 4000)
    y_true = rng.uniform(size=4000) < y_proba**2
    sketch = CalibrationSketch(2, notion="canonical", bandwidth=0.01)
    sketch.update(y_true, y_proba)
    with pytest.warns(UserWarning, match="nodes may be off by"):
        found = sketch.result(method="risk")
    exact = propercal.decompose(y_true, y_proba, method="risk", bandwidth=0.01, algorithm="exact")
    error = abs(found.refinement - exact.refinement)
    assert 1e-9 < error < 10 * sketch.quadrature_error(method="risk")


def test_generators_of_ones_own_are_given_again() -> None:
    mixed = 2.0 * generators.Log() + generators.Brier()
    sketch = fed(*unrelated(50), generator=mixed)
    written = sketch.to_bytes()
    again = CalibrationSketch.from_bytes(written, generator=mixed)
    assert again.result().refinement == sketch.result().refinement
    with pytest.raises(ValueError, match=r"generator = Log\(\): expected 2.0\*Log\(\)"):
        CalibrationSketch.from_bytes(written, generator="log")
    with pytest.raises(ValueError, match="generator = "):
        CalibrationSketch.from_bytes(written)


@pytest.mark.parametrize("data", [b"", b"PK nonsense", pickle.dumps({"a": 1})])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=f"data = {len(data)} bytes: expected the bytes of a sketch"):
        CalibrationSketch.from_bytes(data)


def test_a_sketch_can_be_pickled() -> None:
    sketch = fed(*unrelated(50))
    again = pickle.loads(pickle.dumps(sketch))  # noqa: S301
    assert again.result().refinement == sketch.result().refinement


def test_the_first_rows_tell_how_all_are_read() -> None:
    rng = np.random.default_rng(4)
    logits = rng.normal(size=(40, 3))
    one, several = np.eye(3, dtype=int)[rng.integers(0, 3, 40)], rng.integers(0, 2, (40, 3))
    sketch = fed(several, logits, from_logits=True)
    sketch.update(one, logits)
    said = fed(np.concatenate([several, one]), np.concatenate([logits, logits]), from_logits=True, link="sigmoid")
    assert sketch.result(method="risk").risk == pytest.approx(said.result(method="risk").risk, rel=1e-12)
    with pytest.raises(ValueError, match="link = None: expected 'softmax' or 'sigmoid'"):
        made(from_logits=True).update(one, logits)
    binary = {**BINARY, "pos_label": "dog"}
    names = fed(["dog", "cat"], [0.3, 0.4], **binary)
    with pytest.raises(ValueError, match="eel"):
        names.update(["dog", "eel"], [0.3, 0.4])
    other = fed(["dog", "eel"], [0.3, 0.4], **binary)
    with pytest.raises(ValueError, match=r"other = a sketch that read classes as \['eel', 'dog'\]"):
        names.merge(other)
    empty = made(**binary)
    assert empty.merge(names).n_samples == 2
    assert names.merge(made(**binary)).n_samples == 2


ZEROS = [
    # Neither outcome, or the other than that of probability 0, occurred beside it.
    ([0] * 40 + [1] * 5 + [0] * 5, [0.0] * 40 + [0.01] * 10),
    ([1] * 3 + [0] * 37 + [1] * 5 + [0] * 5, [0.0] * 40 + [0.01] * 10),
    ([0, 1] * 150, [0.0, *np.linspace(0.1, 0.9, 299)]),
    ([1, 0] * 150, [0.0, *np.linspace(0.1, 0.9, 299)]),
]


@pytest.mark.parametrize("method", ["direct", "risk"])
@pytest.mark.parametrize("generator", ["log", "brier"])
@pytest.mark.parametrize(("y_true", "y_proba"), ZEROS)
def test_zeros_mean_what_they_do_in_memory(y_true: Any, y_proba: Any, generator: str, method: str) -> None:
    sketch = fed(y_true, y_proba, **BINARY, generator=generator, bandwidth=0.05)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "calibration error.*: infinite|risk.*: infinite")
        wanted = propercal.decompose(y_true, y_proba, generator=generator, method=method, bandwidth=0.05)
        found = sketch.result(method=method)
    for term in TERMS:
        assert getattr(found, term) == pytest.approx(getattr(wanted, term), rel=1e-6), term


@pytest.mark.parametrize("method", ["risk", "direct"])
def test_what_stands_alone_next_to_0_is_warned_of(method: str) -> None:
    # From there the kernel falls by e⁻⁷⁴ over a hundredth, so that one of many rows decides.
    y_true, y_proba = ZEROS[2]
    sketch = fed(y_true, y_proba, **BINARY, generator="brier")
    with pytest.warns(UserWarning, match="nodes may be off by"):
        found = sketch.result(method=method)
    wanted = propercal.decompose(y_true, y_proba, generator="brier", method=method, bandwidth=0.1)
    error = abs(found.refinement - wanted.refinement)
    assert 1e-4 < error < 10 * sketch.quadrature_error(method=method)


def test_an_infinite_term_is_said() -> None:
    sketch = fed(*ZEROS[0], **BINARY)
    with pytest.warns(UserWarning, match="infinite, since F is infinite"):
        assert sketch.result(method="direct").calibration_error == np.inf


def test_one_class_alone_and_a_chunk_of_ones() -> None:
    sketch = fed([1] * 30, np.full((30, 3), 1 / 3))
    found = sketch.result(method="risk")
    assert found.standard_errors["uncertainty"] == 0
    binary = fed([1, 1], [1.0, 1.0], **BINARY, generator="brier")
    binary.update([0, 1], [0.5, 0.5])
    assert binary.n_samples == 4


@pytest.mark.parametrize("other", [3, None, b"bytes"])
def test_only_sketches_are_merged(other: Any) -> None:
    with pytest.raises(ValueError, match=f"other = {type(other).__name__}: expected a CalibrationSketch"):
        made().merge(other)


@pytest.mark.parametrize("data", [None, "abc", 5])
def test_only_bytes_are_read(data: Any) -> None:
    with pytest.raises(ValueError, match=f"data = {type(data).__name__}: expected the bytes"):
        CalibrationSketch.from_bytes(data)


def test_damaged_bytes_are_refused() -> None:
    sketch = fed(*unrelated(50))
    written = sketch.to_bytes()
    for cut in (written[:100], written[:-30], written[40:]):
        with pytest.raises(ValueError, match="expected"):
            CalibrationSketch.from_bytes(cut)


@pytest.mark.parametrize("notion", ["canonical", "classwise"])
def test_few_rows_that_make_the_loss_are_said(notion: str) -> None:
    y_proba = np.r_[np.full(3, 0.9999), np.full(3997, 1e-6)]
    y_true = np.zeros(4000, dtype=int)
    sketch = fed(y_true, y_proba, n_classes=2, notion=notion)
    with pytest.warns(UserWarning, match="the log loss is that of about 3 of the rows"):
        sketch.result()


def test_a_term_that_is_infinite_has_an_infinite_error() -> None:
    sketch = fed(*ZEROS[1], **BINARY)
    with pytest.warns(UserWarning, match="infinite"):
        found = sketch.result()
    assert found.risk == found.standard_errors["risk"] == np.inf
    assert found.calibration_error == found.standard_errors["calibration_error"] == np.inf
    assert np.isfinite(found.standard_errors["refinement"])


def test_the_error_of_the_sharpness_of_one_problem_is_that_of_the_difference() -> None:
    rng = np.random.default_rng(3)
    y_proba = rng.beta(2, 2, 3000)
    y_true = (rng.uniform(size=3000) < y_proba).astype(int)
    found = fed(y_true, y_proba, **BINARY, bandwidth=0.02).result()
    wanted = propercal.decompose(y_true, y_proba)
    assert found.standard_errors["sharpness"] == pytest.approx(wanted.standard_errors["sharpness"], rel=0.05)
