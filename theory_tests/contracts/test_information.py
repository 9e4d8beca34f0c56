"""propercal.information: array libraries, gradients, weights, shapes, types, and what is said of bad input."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from propercal import information
from propercal.generators import Brier, Quadratic
from propercal.information import (
    apply_markov_map,
    f_divergence,
    layer_sharpness,
    sharpness_divergence,
    sharpness_function,
    statistical_information,
)
from theory_tests.conftest import Backend

JOINT = np.array([[0.25, 0.0, 0.125], [0.0, 0.25, 0.0], [0.125, 0.125, 0.125]])
KERNEL = np.array([[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]])
P = np.array([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])
Q = np.array([0.25, 0.5, 0.25])


def square(x: Any) -> Any:
    return ((x - 1) ** 2).sum(-1)


def layer_data(n: int = 60) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=n)
    return y, rng.normal(size=(n, 2)) + np.array([[0, 0], [1, 0], [0, 1]])[y]


@pytest.mark.parametrize("name", information.__all__)
def test_every_name_is_there_and_documented(name: str) -> None:
    assert getattr(information, name).__doc__.strip()


@pytest.mark.parametrize("generator", ["log", "brier"])
def test_every_library_gives_the_same(xp: Backend, generator: str) -> None:
    joint = xp.array(JOINT)
    for measure in (sharpness_divergence, statistical_information):
        found = measure(generator, joint)
        expected = measure(generator, JOINT)
        assert isinstance(expected, float)
        assert xp.numpy(found) == pytest.approx(expected, rel=xp.tolerance)
        if xp.module != "numpy":
            assert found.dtype == xp.float_type
    mapped = apply_markov_map(joint, xp.array(KERNEL))
    assert mapped.dtype == xp.float_type
    np.testing.assert_allclose(xp.numpy(mapped), KERNEL.T @ JOINT, rtol=xp.tolerance)
    prior = xp.array(JOINT.sum(axis=0))
    assert xp.numpy(sharpness_function(generator, prior)(xp.array(np.ones(3, dtype=float)))) == 0
    y, z = layer_data()
    (found,) = layer_sharpness([xp.array(z)], xp.integers(y), generator=generator, bandwidth=0.1)
    (expected,) = layer_sharpness([z], y, generator=generator, bandwidth=0.1)
    assert xp.numpy(found) == pytest.approx(expected, rel=10 * xp.tolerance)
    if xp.module != "array_api_strict":
        divergence = f_divergence(square, xp.array(P), xp.array(Q))
        assert xp.numpy(divergence) == pytest.approx(f_divergence(square, P, Q), rel=xp.tolerance)


def test_lists_and_tables_of_counts_scaled_by_their_sum_are_read() -> None:
    assert sharpness_divergence("log", JOINT.tolist()) == sharpness_divergence("log", JOINT)
    pd = pytest.importorskip("pandas")
    assert sharpness_divergence("log", pd.DataFrame(JOINT)) == sharpness_divergence("log", JOINT)
    # A table of one library decides for a list beside it.
    torch = pytest.importorskip("torch")
    mapped = apply_markov_map(torch.tensor(JOINT), KERNEL.tolist())
    np.testing.assert_allclose(mapped.numpy(), KERNEL.T @ JOINT, rtol=1e-15)


@pytest.mark.parametrize("measure", [sharpness_divergence, statistical_information])
@pytest.mark.parametrize("generator", ["log", "brier", "spherical"])
def test_gradients_are_those_of_finite_differences(measure: Callable[..., Any], generator: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    joint = rng.dirichlet(np.ones(12)).reshape(4, 3)
    # Along a direction that keeps the sum.
    step = rng.normal(size=joint.shape)
    step = 1e-6 * (step - step.mean())
    tensor = torch.tensor(joint, requires_grad=True)
    measure(generator, tensor).backward()
    difference = measure(generator, joint + step) - measure(generator, joint - step)
    assert float((tensor.grad.numpy() * step).sum()) == pytest.approx(difference / 2, rel=1e-5)


def test_gradients_are_finite_at_empty_cells_rows_and_columns() -> None:
    torch = pytest.importorskip("torch")
    joint = np.zeros((3, 3))
    joint[0, 0], joint[1, 1] = 0.25, 0.75
    for measure in (sharpness_divergence, statistical_information):
        tensor = torch.tensor(joint, requires_grad=True)
        measure("brier", tensor).backward()
        assert torch.isfinite(tensor.grad).all()


def test_gradients_of_layers_are_those_of_finite_differences() -> None:
    torch = pytest.importorskip("torch")
    y, z = layer_data(30)
    step = 1e-6 * np.random.default_rng(2).normal(size=z.shape)
    tensor = torch.tensor(z, requires_grad=True)
    layer_sharpness([tensor], y, bandwidth=0.1)[0].backward()
    (up,), (down,) = (layer_sharpness([z + s], y, bandwidth=0.1) for s in (step, -step))
    assert float((tensor.grad.numpy() * step).sum()) == pytest.approx((up - down) / 2, rel=1e-5)
    # A coordinate that does not vary has no direction, not a NaN.
    tensor = torch.tensor(np.concatenate([z, np.ones((30, 1))], axis=1), requires_grad=True)
    layer_sharpness([tensor], y, bandwidth=0.1)[0].backward()
    assert torch.isfinite(tensor.grad).all()


def test_layers_of_any_shape_and_labels_of_any_kind() -> None:
    y, z = layer_data()
    names = np.array(["b", "c", "a"])[y]
    flat, image, column, whole = layer_sharpness(
        [z, z.reshape(-1, 1, 2), z[:, 0], np.round(z).astype(int)], y, bandwidth=0.1
    )
    assert flat == image
    assert len({flat, column, whole}) == 3
    for labels in (names, np.eye(3, dtype=int)[y], y.astype(float), y.tolist()):
        assert layer_sharpness([z], labels, bandwidth=0.1)[0] == pytest.approx(flat, rel=1e-12)
    # Names are in alphabetical order unless they are given in the order that the generator means.
    weighted = Quadratic(np.diag([3.0, 1.0, 1.0]))
    (by_number,) = layer_sharpness([z], y, bandwidth=0.1, generator=weighted)
    (by_name,) = layer_sharpness([z], names, bandwidth=0.1, generator=weighted, labels=["b", "c", "a"])
    (alphabetical,) = layer_sharpness([z], names, bandwidth=0.1, generator=weighted)
    assert by_name == by_number != pytest.approx(alphabetical, rel=1e-3)


def test_layers_as_lists_of_two_rows_and_of_two_classes() -> None:
    y, z = layer_data()
    (flat,) = layer_sharpness([z], y, bandwidth=0.1)
    assert layer_sharpness([z.tolist()], y, bandwidth=0.1) == [flat]
    (two,) = layer_sharpness([z], y == 1, bandwidth=0.1)
    (one_hot,) = layer_sharpness([z], np.eye(2, dtype=int)[(y == 1) * 1], bandwidth=0.1)
    assert one_hot == pytest.approx(two, rel=1e-12)
    (pair,) = layer_sharpness([z[:2]], np.array([0, 1]), bandwidth=0.1, generator="brier")
    assert np.isfinite(pair)


def test_weights_of_layers() -> None:
    y, z = layer_data()
    w = np.random.default_rng(5).integers(0, 3, size=60).astype(float)
    (found,) = layer_sharpness([z], y, bandwidth=0.1, sample_weight=w)
    (scaled,) = layer_sharpness([z], y, bandwidth=0.1, sample_weight=7 * w)
    keep = w > 0
    # What has no weight may not move the mean and the spread that points are standardised by.
    moved = np.where(keep[:, None], z, 1e6)
    (removed,) = layer_sharpness([z[keep]], y[keep], bandwidth=0.1, sample_weight=w[keep])
    assert scaled == pytest.approx(found, rel=1e-12)
    assert removed == pytest.approx(found, rel=1e-12)
    assert layer_sharpness([moved], y, bandwidth=0.1, sample_weight=w)[0] == pytest.approx(found, rel=1e-12)
    assert layer_sharpness([z], y, bandwidth=0.1)[0] != pytest.approx(found, rel=1e-3)
    mean = np.average(z, axis=0, weights=w)
    by_hand = (z - mean) / np.sqrt(np.average((z - mean) ** 2, axis=0, weights=w))
    (same,) = layer_sharpness([by_hand], y, bandwidth=0.1, sample_weight=w, standardise=False)
    assert same == pytest.approx(found, rel=1e-12)


def test_standardisation_matters_and_can_be_left_out() -> None:
    y, z = layer_data()
    plain, large = (layer_sharpness([x], y, bandwidth=0.1, standardise=False)[0] for x in (z, 10 * z))
    assert plain != pytest.approx(large, rel=1e-3)


def test_activations_far_apart_do_not_overflow() -> None:
    y, z = layer_data()
    (found,) = layer_sharpness([1e4 * z], y, bandwidth=0.1, standardise=False)
    assert 0 <= found <= np.log(3)


def test_input_is_not_changed() -> None:
    joint, kernel, (y, z) = JOINT.copy(), KERNEL.copy(), layer_data()
    before = z.copy()
    apply_markov_map(joint, kernel)
    layer_sharpness([z], y, bandwidth=0.1)
    np.testing.assert_array_equal(joint, JOINT)
    np.testing.assert_array_equal(kernel, KERNEL)
    np.testing.assert_array_equal(z, before)


Y, Z = layer_data()
BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: sharpness_divergence("log", 2 * JOINT), r"joint = an array with a sum of 2: expected a sum of 1; divide"),
    (lambda: sharpness_divergence("log", JOINT[0]), r"joint = an array of shape \(3,\): expected 2 dimensions"),
    (lambda: sharpness_divergence("log", np.zeros((0, 2))), r"joint = an array of shape \(0, 2\)"),
    (lambda: statistical_information("log", [[1.5, -0.5]]), r"joint = -0.5 at \[0, 1\]: expected probabilities"),
    (lambda: statistical_information("log", [[np.nan, 0.5]]), r"joint = nan at \[0, 0\]"),
    (lambda: sharpness_divergence("logg", JOINT), r"generator = 'logg'.*did you mean 'log'"),
    (lambda: sharpness_divergence("itakura-saito", [[0.5, 0.0], [0.5, 0.0]]), r"generator = ItakuraSaito\(\).*0.0\].*inf"),
    (lambda: statistical_information("itakura-saito", [[0.5, 0.0], [0.5, 0.0]]), r"generator = ItakuraSaito\(\)"),
    (lambda: sharpness_function("log", [0.5, 0.6]), r"prior = an array with a sum of 1.1"),
    (lambda: f_divergence(square, P, Q[:2]), r"reference = an array of 2 values: expected 3"),
    (lambda: f_divergence(square, P, [0.5, 0.5, 0.0]), r"reference = 0 at value 2, where a distribution is positive"),
    (lambda: f_divergence(square, 2 * P, Q), r"distributions = an array with a sum of 2"),
    (lambda: f_divergence(square, P, 2 * Q), r"reference = an array with a sum of 2"),
    (lambda: f_divergence(lambda x: square(x) + 1, P, Q), r"f = a function with f\(1, ..., 1\) = 1"),
    (lambda: f_divergence(lambda x: x * np.nan, P[:1], Q), r"f = a function that made shape \(1, 1\) of \(1, 1\)"),
    (lambda: apply_markov_map(JOINT, KERNEL[:2]), r"kernel = an array of 2 rows: expected 3"),
    (lambda: apply_markov_map(JOINT, KERNEL.T), r"kernel = an array of 2 rows: expected 3"),
    (lambda: apply_markov_map(JOINT, 0.5 * KERNEL), r"kernel = an array with a sum of 0.5.*every row"),
    (lambda: apply_markov_map(0.5 * JOINT, KERNEL), r"joint = an array with a sum of 0.5"),
    (lambda: layer_sharpness([], Y), r"activations = an empty list"),
    (lambda: layer_sharpness(Z, Y), r"activations = a ndarray: expected a list of arrays"),
    (lambda: layer_sharpness([Z], Y[:-1]), r"activations\[0\] = an array of shape \(60, 2\): .*\(59\)"),
    (lambda: layer_sharpness([Z[:1]], [*Y[:1].tolist(), 1]), r"activations\[0\] = an array of shape \(1, 2\)"),
    (lambda: layer_sharpness([Z, Z[:, :0]], Y), r"activations\[1\] = an array of shape \(60, 0\)"),
    (lambda: layer_sharpness([np.where(Z > 2, np.inf, Z)], Y), r"activations\[0\] = NaN or inf at rows"),
    (lambda: layer_sharpness([Z.astype(str)], Y), r"activations\[0\] = values of type <U.*expected real numbers"),
    (lambda: layer_sharpness([Z], np.zeros(60)), r"y_true = labels of one class, \[0.0\]"),
    (lambda: layer_sharpness([Z], np.array([*Y[:-1].tolist(), "a"], dtype=object)), r"y_true = a mix of strings and numbers"),
    (lambda: layer_sharpness([Z], Y, labels=[0, 1]), r"y_true = 2 at rows"),
    (lambda: layer_sharpness([Z], Y, standardise="no"), r"standardise = 'no': expected True or False"),  # type: ignore[arg-type]
    (lambda: layer_sharpness([Z], Y, bandwidth=0), r"bandwidth = 0"),
    (lambda: layer_sharpness([Z], Y, sample_weight=np.ones(3)), r"sample_weight = "),
    (lambda: layer_sharpness([Z], Y, generator="nothing"), r"generator = 'nothing'"),
    (
        lambda: layer_sharpness([Z], Y, generator="itakura-saito", labels=range(4), bandwidth=0.1),
        r"generator = ItakuraSaito\(\): expected F finite at the class probabilities",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_input_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_the_sum_that_is_furthest_from_one_is_named() -> None:
    with pytest.raises(ValueError, match=r"a sum of 0\.6:"):
        f_divergence(square, np.array([[0.5, 0.5], [0.3, 0.3], [0.6, 0.5]]), np.array([0.5, 0.5]))


# ---------------------------------------------------------------- what a message says in full, and the type of a result
TABLE = np.array([[0.2, 0.1], [0.1, 0.3], [0.05, 0.25]])
TABLE_MAP = np.array([[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]])
PRIOR = np.array([0.4, 0.6])
NEGATIVE = np.array([[0.5, 0.7], [-0.2, 0.0]])


def total_variation(x: Any) -> Any:
    return abs(x[:, 0] - x[:, 1]) / 2


CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "rows of distributions": (lambda: f_divergence(total_variation, [[0.5, 0.5], [0.5, 0.6]], [0.5, 0.5]), "distributions = an array with a sum of 1.1: expected a sum of 1; every row must sum to 1."),
    "reference": (lambda: f_divergence(total_variation, [[0.5, 0.5], [0.5, 0.5]], [0.5, 0.75]), "reference = an array with a sum of 1.25: expected a sum of 1; "),
    "shape of distributions": (lambda: f_divergence(total_variation, PRIOR, PRIOR), "distributions = an array of shape (2,): expected 2 dimensions, none of them empty; "),
    "prior": (lambda: sharpness_function("brier", [0.5, 0.4]), "prior = an array with a sum of 0.9: expected a sum of 1; divide it by its sum."),
    "shape of the prior": (lambda: sharpness_function("brier", TABLE), "prior = an array of shape (3, 2): expected 1 dimension, none of them empty; "),
    "joint": (lambda: sharpness_divergence("log", 2 * TABLE), "joint = an array with a sum of 2: expected a sum of 1; divide the table by its sum."),
    "entry of joint": (lambda: statistical_information("log", NEGATIVE), "joint = -0.2 at [1, 0]: expected probabilities ≥ 0; correct the table."),
    "joint of a map": (lambda: apply_markov_map(PRIOR, TABLE_MAP), "joint = an array of shape (2,): expected 2 dimensions, "),
    "kernel": (lambda: apply_markov_map(TABLE, TABLE_MAP * [1.0, 0.5]), "kernel = an array with a sum of 0.625: expected a sum of 1; every row must sum to 1."),
    "shape of the kernel": (lambda: apply_markov_map(TABLE, PRIOR), "kernel = an array of shape (2,): expected 2 dimensions, "),
}


@pytest.mark.parametrize("case", CASES)
def test_a_message_names_the_argument_and_says_what_to_do(case: str) -> None:
    call, message = CASES[case]
    with pytest.raises(ValueError, match="expected") as raised:
        call()
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_have_the_dtype_of_the_first_table(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    kind = getattr(torch, dtype)
    joint, kernel = torch.asarray(TABLE, dtype=kind), torch.asarray(TABLE_MAP)
    distributions = torch.asarray([[0.5, 0.5], [0.25, 0.75]], dtype=kind)
    for found in (
        f_divergence(total_variation, distributions, torch.asarray(PRIOR)),
        sharpness_divergence(Brier(), joint),
        statistical_information(Brier(), joint),
        apply_markov_map(joint, kernel),
    ):
        assert found.dtype == kind


def test_lists_and_whole_numbers_are_read_in_double_precision() -> None:
    torch = pytest.importorskip("torch")
    whole = np.array([[1, 0], [0, 0]])
    assert apply_markov_map(whole, np.eye(2, dtype=np.int64)).dtype == np.float64
    # The table decides, not the map it is sent through.
    mixed = apply_markov_map(TABLE.tolist(), torch.asarray(TABLE_MAP, dtype=torch.float32))
    assert mixed.dtype == torch.float64
    np.testing.assert_allclose(mixed, TABLE_MAP.T @ TABLE, rtol=1e-6)


def test_classes_of_a_prior_are_those_of_the_rows_of_distributions() -> None:
    """Value counts come in the order of their size, and a table of counts in that of the names."""
    pd = pytest.importorskip("pandas")
    y, z = pd.Series([*"a" * 10, *"b" * 20, *"c" * 30]), pd.Series([i % 3 if i % 4 else 0 for i in range(60)])
    joint = pd.crosstab(z, y, normalize=True)
    wanted = pytest.approx(sharpness_divergence("brier", joint), rel=1e-12)
    given_class, marginal = pd.crosstab(y, z, normalize="index"), joint.sum(axis=1)
    prior = y.value_counts(normalize=True)
    for pi in (prior.sort_index(), prior.sort_index().to_numpy()):
        assert f_divergence(sharpness_function("brier", pi), given_class, marginal) == wanted
    with pytest.raises(ValueError, match=r"distributions = values named \['a', 'b', 'c'\]: expected \['c', 'b', 'a'\], in this order, as prior has"):
        f_divergence(sharpness_function("brier", prior), given_class, marginal)
    assert f_divergence(sharpness_function("brier", prior), given_class.loc[prior.index], marginal) == wanted
    with pytest.raises(ValueError, match="distributions = values named"):
        f_divergence(sharpness_function("brier", pd.Series([0.5, 0.3, 0.2], [2, 1, 0])), pd.DataFrame(given_class.to_numpy()), marginal)


def test_tables_of_every_holder() -> None:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    names = ["a", "b", "c"]
    tables: list[Callable[[Any], Any]] = [
        lambda x: pd.DataFrame(x, columns=names[: x.shape[1]]),
        lambda x: pd.DataFrame(x, columns=names[: x.shape[1]]).astype("Float64"),
        lambda x: pl.DataFrame(dict(zip(names, x.T, strict=False))),
        lambda x: pl.LazyFrame(dict(zip(names, x.T, strict=False))),
        lambda x: pa.table(dict(zip(names, x.T, strict=False))),
        lambda x: x.astype(object),
    ]
    for table in tables:
        assert sharpness_divergence("brier", table(JOINT)) == pytest.approx(sharpness_divergence("brier", JOINT))
        assert f_divergence(square, table(P), pl.Series(Q)) == pytest.approx(f_divergence(square, P, Q))
        np.testing.assert_allclose(apply_markov_map(JOINT, table(KERNEL)), apply_markov_map(JOINT, KERNEL))
        assert sharpness_divergence("brier", table(JOINT.sum(axis=1, keepdims=True))) == pytest.approx(0.0)
    other = pa.table(dict(zip(["b", "a", "c"], P.T, strict=True)))
    with pytest.raises(ValueError, match=r"reference = values named .*expected \['b', 'a', 'c'\], in this order"):
        f_divergence(square, other, pd.Series(Q, names))
    with pytest.raises(ValueError, match="joint = masked entries at rows 0, 1: expected no missing values"):
        sharpness_divergence("brier", np.ma.masked_equal(JOINT[:2] * 2, 0.5))
    with pytest.raises(ValueError, match="joint = values of type"):
        sharpness_divergence("brier", [["0.5", "0.5"]])


def test_columns_that_are_no_activations_are_refused() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    table = pd.DataFrame(x, columns=["h0", "h1"]).assign(label=y)
    right = layer_sharpness([x], y, bandwidth=0.1)
    assert layer_sharpness([table[["h0", "h1"]]], table.label, bandwidth=0.1) == pytest.approx(right)
    for odd, name in ((table, "label"), (table[["h0", "h1"]].reset_index(), "index")):
        with pytest.raises(ValueError, match=rf"activations\[1\] = a column named '{name}'.*expected columns of activations alone"):
            layer_sharpness([x, odd], table.label, bandwidth=0.1)
    for name in ("label", "targets", "y_true", "sample_weight"):
        with pytest.raises(ValueError, match=rf"activations\[0\] = a column named '{name}': expected columns of activations alone"):
            layer_sharpness([table.rename(columns={"label": name})], y, bandwidth=0.1)
    for name in ("weight", "epoch", "timestamp", "Group", "hour"):
        with pytest.raises(ValueError, match=rf"activations\[0\] = a column named '{name}': expected columns of activations alone"):
            layer_sharpness([table.rename(columns={"label": name})], y, bandwidth=0.1)
    for weight in (table.label.rename("exposure"), table[["label"]].rename(columns={"label": "exposure"})):
        with pytest.raises(ValueError, match=r"activations\[0\] = a column named 'exposure', as sample_weight is: expected columns of activations alone"):
            layer_sharpness([table.rename(columns={"label": "exposure", "h0": "a"})], y, sample_weight=weight, bandwidth=0.1)
    # What the first layer is given may be called so.
    assert layer_sharpness([table[["h0", "h1"]].set_axis(["weight", "time"], axis=1)], y, bandwidth=0.1) == pytest.approx(right)


def a_layer(y_true: Any) -> Any:
    return layer_sharpness([np.random.default_rng(0).normal(size=(30, 2))], y_true, bandwidth=0.1)


WORDS_OF_TABLES: list[tuple[Callable[[], Any], str]] = [
    (lambda: information.f_divergence(zero, [[0.5, 0.5]], [0.5, 0.6]), "reference = an array with a sum of 1.1: expected a sum of 1; divide it by its sum."),
    (lambda: information.f_divergence(zero, [[0.5, 0.5]], [-0.5, 1.5]), "reference = -0.5 at [0]: expected probabilities"),
    (lambda: information.f_divergence(zero, [[0.5, 0.6]], [0.5, 0.5]), "distributions = an array with a sum of 1.1: expected a sum of 1; every row must sum to 1."),
    (lambda: information.apply_markov_map([[0.5, 0.6]], [[1, 0]]), "joint = an array with a sum of 1.1: expected a sum of 1; divide the table by its sum."),
    (lambda: information.apply_markov_map([[0.5], [0.5]], [[1, 0.1], [0, 1]]), "kernel = an array with a sum of 1.1: expected a sum of 1; every row must sum to 1."),
    (lambda: a_layer(3), "y_true = a int: expected an array, a tensor, a series or a list; convert it to one."),
    (lambda: a_layer(np.array([1, "a"] * 15, dtype=object)), "y_true = a mix of strings and numbers: expected labels of one type;"),
]  # fmt: skip


def zero(x: Any) -> Any:
    return 0 * x[:, 0]


@pytest.mark.parametrize(("call", "message"), WORDS_OF_TABLES, ids=[message[:24] for _, message in WORDS_OF_TABLES])
def test_an_argument_is_named_with_what_to_do(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        call()


def test_the_values_of_a_kernel_are_in_the_order_of_the_rows_of_the_table() -> None:
    """By their rows: the classes, in columns, are others."""
    pd = pytest.importorskip("pandas")
    joint = pd.DataFrame([[0.25, 0.25], [0.125, 0.375]], index=["u", "v"], columns=["no", "yes"])
    kernel = pd.DataFrame(np.eye(2), index=["u", "v"], columns=["a", "b"])
    np.testing.assert_allclose(information.apply_markov_map(joint, kernel), joint)
    with pytest.raises(ValueError, match=r"^kernel = values named \['v', 'u'\]: expected \['u', 'v'\], in this order, as joint has"):
        information.apply_markov_map(joint, kernel.loc[["v", "u"]])


def test_words_among_digits_are_sorted_as_words() -> None:
    """As any other words: how classes are called does not matter."""
    code = np.random.default_rng(1).integers(0, 3, 30)
    assert a_layer(np.array(["10", "9", "a"])[code]) == a_layer(np.array(["x", "y", "z"])[code])
    assert a_layer(np.array(["9", "10", "11"])[code]) == a_layer(code)


#: Of two predictions and two classes; the sharpness of its transpose is another one.
TURNABLE = np.array([[0.05, 0.55], [0.25, 0.15]])


@pytest.mark.parametrize("measure", [sharpness_divergence, statistical_information])
@pytest.mark.parametrize(("rows", "columns"), [("score", "label"), ("prediction", "class"), ("x", "y"), ("g", "y_true"), ("forecast", "observed"), ("prediction", "reference")])
def test_axes_that_are_named_the_other_way_round_are_refused(measure: Callable[..., Any], rows: str, columns: str) -> None:
    pd, xr = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    right = measure("brier", TURNABLE)
    assert measure("brier", TURNABLE.T) != pytest.approx(right, rel=0.1)
    table = pd.DataFrame(TURNABLE).rename_axis(rows).rename_axis(columns, axis=1)
    for given in (table, xr.DataArray(TURNABLE, dims=(rows, columns))):
        assert measure("brier", given) == right
        with pytest.raises(ValueError, match=f"joint = a table whose rows are called '{columns}'.*transpose it"):
            measure("brier", given.T)
    # Any variable may stand beside a class, such as one of first, second and third class.
    other = table.rename_axis("class").rename_axis("survived", axis=1)
    assert measure("brier", other) == right


def test_sums_of_rows_and_columns_are_no_probabilities() -> None:
    """Divided by its sum, a table with them is another distribution: .0192 for .0769 in one of two classes."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y, score = pd.Series(rng.integers(0, 2, 100), name="label"), pd.Series(rng.integers(0, 3, 100), name="score")
    counts = pd.crosstab(score, y)
    right = sharpness_divergence("log", counts / 100)
    for normalize in ("all", False):
        margins = pd.crosstab(score, y, margins=True, normalize=normalize)
        for given in (margins, margins / margins.to_numpy().sum(), margins.to_numpy()):
            with pytest.raises(ValueError, match=r"whose last row and column hold the sums of the others.*leave these sums out"):
                sharpness_divergence("log", given)
        probabilities = margins.iloc[:-1, :-1] / margins.iloc[:-1, :-1].to_numpy().sum()
        assert sharpness_divergence("log", probabilities) == pytest.approx(right, rel=1e-12)
    # Equal rows are not sums of each other.
    assert sharpness_divergence("log", np.full((2, 2), 0.25)) == 0
    with pytest.raises(ValueError, match="a sum of 4: expected a sum of 1; divide the table by its sum"):
        sharpness_divergence("log", np.ones((2, 2)))


def test_advice_on_sums_of_each_row_or_column() -> None:
    joint = np.array([[0.1, 0.3], [0.4, 0.2]])
    for axis, said in ((1, "multiply each row, .*probability of its prediction"), (0, "multiply each column, .*of its class")):
        marginal = joint.sum(axis=axis, keepdims=True)
        with pytest.raises(ValueError, match=said):
            sharpness_divergence("log", joint / marginal)
        with pytest.raises(ValueError, match=said):
            apply_markov_map(joint / marginal, np.eye(2))
        assert sharpness_divergence("log", joint / marginal * marginal) == pytest.approx(sharpness_divergence("log", joint))


def test_shares_by_how_often_values_occur_are_not_set_beside_arrays() -> None:
    """value_counts() has the most frequent value first, under its number."""
    pd = pytest.importorskip("pandas")
    joint = np.array([[0.15, 0.03, 0.02], [0.05, 0.35, 0.1], [0.02, 0.08, 0.2]])
    prior, reference = joint.sum(axis=0), joint.sum(axis=1)
    p = (joint / prior).T
    right = sharpness_divergence("brier", joint)
    counts = [pd.Series(each).sort_values(ascending=False) for each in (prior, reference)]
    with pytest.raises(ValueError, match=r"prior = values numbered \[1, 2, 0\]: .*\.sort_index\(\)"):
        f_divergence(sharpness_function("brier", counts[0]), p, reference)
    with pytest.raises(ValueError, match=r"reference = values numbered \[1, 2, 0\]: .*\.sort_index\(\)"):
        f_divergence(sharpness_function("brier", prior), p, counts[1])
    found = f_divergence(sharpness_function("brier", counts[0].sort_index()), p, counts[1].sort_index())
    assert found == pytest.approx(right, rel=1e-12)


def test_numbers_in_another_order_are_refused_beside_values_without_names() -> None:
    pd = pytest.importorskip("pandas")
    joint, kernel = np.arange(1.0, 9).reshape(4, 2) / 36, np.array([[0.1, 0.9], [0.2, 0.8], [0.6, 0.4], [1, 0]])
    right = apply_markov_map(joint, kernel)
    moved = pd.DataFrame(kernel).iloc[[1, 2, 3, 0]]
    with pytest.raises(ValueError, match=r"^kernel = values numbered \[1, 2, 3, 0\]: expected 0 to 3 in order, .*\.sort_index\(\)"):
        apply_markov_map(joint, moved)
    with pytest.raises(ValueError, match=r"^joint = values numbered"):
        apply_markov_map(pd.DataFrame(joint, index=[1, 2, 3, 0]), kernel)
    for given in (moved.sort_index(), pd.DataFrame(kernel, index=[1, 2, 3, 4])):
        np.testing.assert_allclose(apply_markov_map(joint, given), right, rtol=1e-15)
