"""Names of values and of classes in the functions of information: in one order, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from propercal.generators import Quadratic, Tsallis
from propercal.information import (
    apply_markov_map,
    f_divergence,
    layer_sharpness,
    sharpness_divergence,
    sharpness_function,
    statistical_information,
)

rng = np.random.default_rng(0)
GIVEN = pd.DataFrame(rng.dirichlet(np.ones(3), 2), index=list("ab"), columns=list("xyz"))
REFERENCE = pd.Series(GIVEN.mean().to_numpy(), index=list("xyz"))
JOINT = pd.DataFrame(rng.dirichlet(np.ones(6)).reshape(3, 2), index=list("xyz"), columns=list("ab"))
KERNEL = pd.DataFrame([[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]], index=list("xyz"))
HOLDERS: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda each: each,
    "labelled arrays": lambda each: xr.DataArray(each),
}


def chi_squared(x: Any) -> Any:
    return np.sum((x - 1) ** 2, -1)


@pytest.mark.parametrize("holder", HOLDERS)
def test_values_of_a_population_are_in_one_order(holder: str) -> None:
    held = HOLDERS[holder]
    right = f_divergence(chi_squared, GIVEN.to_numpy(), REFERENCE.to_numpy())
    for p, q in ((GIVEN, REFERENCE), (GIVEN[list("zxy")], REFERENCE[list("zxy")])):
        assert f_divergence(chi_squared, held(p), held(q)) == pytest.approx(right, rel=1e-12)
        assert f_divergence(chi_squared, held(p), q.to_numpy()) == pytest.approx(right, rel=1e-12)
        assert f_divergence(chi_squared, p.to_numpy(), held(q)) == pytest.approx(right, rel=1e-12)
    with pytest.raises(ValueError, match=r"^reference = values named \['z', 'x', 'y'\]: expected \['x', 'y', 'z'\], in this order, as distributions has"):
        f_divergence(chi_squared, held(GIVEN), held(REFERENCE[list("zxy")]))
    wanted = apply_markov_map(JOINT.to_numpy(), KERNEL.to_numpy())
    np.testing.assert_allclose(apply_markov_map(held(JOINT), held(KERNEL)), wanted, rtol=1e-12)
    np.testing.assert_allclose(apply_markov_map(held(JOINT), held(KERNEL.reset_index(drop=True))), wanted, rtol=1e-12)
    with pytest.raises(ValueError, match=r"^kernel = values named \['y', 'z', 'x'\]: expected \['x', 'y', 'z'\], in this order, as joint has"):
        apply_markov_map(held(JOINT), held(KERNEL.loc[list("yzx")]))
    numbers = KERNEL.reset_index(drop=True)
    with pytest.raises(ValueError, match=r"^kernel = values named \[2, 0, 1\]"):
        apply_markov_map(JOINT.reset_index(drop=True), numbers.loc[[2, 0, 1]])


def test_axes_of_one_name_are_the_same() -> None:
    table, kernel = rng.dirichlet(np.ones(9)).reshape(3, 3), np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]])
    frames = pd.DataFrame(table).rename_axis(index="u", columns="v"), pd.DataFrame(kernel).rename_axis(index="u", columns="w")
    arrays = xr.DataArray(table, dims=("u", "v")), xr.DataArray(kernel, dims=("u", "w"))
    for joint, given in (frames, arrays):
        np.testing.assert_allclose(apply_markov_map(joint, given), kernel.T @ table, rtol=1e-12)
        with pytest.raises(ValueError, match=r"^joint = axes called \['v', 'u'\]: expected 'u' in place of 'v', as kernel has axes \['u', 'w'\]"):
            apply_markov_map(joint.T, given)
        with pytest.raises(ValueError, match=r"^kernel = axes called \['w', 'u'\]: expected 'u' in place of 'w', as joint has"):
            apply_markov_map(joint, given.T)
        np.testing.assert_allclose(apply_markov_map(joint.T, kernel), kernel.T @ table.T, rtol=1e-12)
    given_class = xr.DataArray(kernel, dims=("value", "class"))
    with pytest.raises(ValueError, match=r"expected 'value' in place of 'class', as reference has axes \['value'\]"):
        f_divergence(chi_squared, given_class, xr.DataArray(kernel.mean(0), dims="value"))


def test_values_that_are_counted_by_frequency_are_not_those_of_a_table() -> None:
    y, z = pd.Series(list("abab" * 25)), pd.Series(list("x" * 20 + "y" * 30 + "z" * 50))
    given, reference = pd.crosstab(y, z, normalize="index"), z.value_counts(normalize=True)
    with pytest.raises(ValueError, match=r"^reference = values named \['z', 'y', 'x'\]"):
        f_divergence(chi_squared, given, reference)
    right = f_divergence(chi_squared, given.to_numpy(), [0.2, 0.3, 0.5])
    assert f_divergence(chi_squared, given, reference.sort_index()) == pytest.approx(right, rel=1e-12)


# ---------------------------------------------------------------- classes of a population

WORDS = ["low", "mid", "high"]
POPULATION = pd.DataFrame(rng.dirichlet(np.ones(12)).reshape(4, 3), columns=WORDS)
TURNED = ["mid", "low", "high"]
TABLES: dict[str, Callable[[Any], Any]] = {**HOLDERS, "polars": lambda each: pytest.importorskip("polars").DataFrame(each.to_dict("list"))}
COSTS = pd.DataFrame([[2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]], WORDS, WORDS)


def information(generator: Any, joint: Any) -> list[float]:
    return [function(generator, joint) for function in (sharpness_divergence, statistical_information)]


@pytest.mark.parametrize("holder", TABLES)
def test_classes_and_values_in_another_order_have_the_same_information(holder: str) -> None:
    held = TABLES[holder]
    for generator in ("log", "brier", "spherical", Tsallis(1.5)):
        right = information(generator, POPULATION.to_numpy())
        assert right[0] == pytest.approx(right[1], rel=1e-9)
        for joint in (POPULATION, POPULATION[TURNED], POPULATION.loc[[2, 0, 3, 1]], POPULATION.loc[[1, 0, 2, 3], TURNED]):
            assert information(generator, held(joint)) == pytest.approx(right, rel=1e-9)
            prior = joint.sum()
            function = sharpness_function(generator, prior)
            given = (joint / prior).T
            given = given.set_axis([f"value {i}" for i in given.columns], axis=1)
            assert f_divergence(function, held(given), joint.sum(axis=1).to_numpy()) == pytest.approx(right[0], rel=1e-9)


@pytest.mark.parametrize("holder", TABLES)
@pytest.mark.parametrize("generator", ["rps", Quadratic(COSTS)], ids=["rps", "costs with names"])
def test_classes_of_a_generator_that_tells_them_apart_have_their_order(generator: Any, holder: str) -> None:
    held = TABLES[holder]
    right = information(generator, POPULATION.to_numpy())
    assert information(generator, POPULATION[TURNED].to_numpy()) != pytest.approx(right, rel=0.01)
    numbers = POPULATION.set_axis([1, 2, 3] if holder != "polars" else ["1", "2", "3"], axis=1)
    if generator == "rps":
        assert information(generator, held(POPULATION)) == pytest.approx(right, rel=1e-9)
        assert information(generator, held(numbers)) == pytest.approx(right, rel=1e-9)
        odd = [numbers.iloc[:, [1, 0, 2]], numbers.iloc[:, [2, 0, 1]], POPULATION.set_axis(list("abc"), axis=1)]
    else:
        assert information(generator, held(POPULATION)) == pytest.approx(right, rel=1e-9)
        odd = [POPULATION[TURNED], POPULATION[WORDS[::-1]], POPULATION.set_axis(list("abc"), axis=1)]
    for joint in odd:
        for function in (sharpness_divergence, statistical_information):
            with pytest.raises(ValueError, match=r"^generator = .*: expected (columns|classes) in the order (of their classes|that they have)"):
                function(generator, held(joint))
        if holder != "polars":
            with pytest.raises(ValueError, match=r"^generator = .*: expected (columns|classes) in the order (of their classes|that they have)"):
                sharpness_function(generator, held(joint.sum()))
        # An array has the order that its caller gave it.
        assert np.isfinite(information(generator, joint.to_numpy())).all()


def test_lists_of_rows_have_the_names_of_their_rows() -> None:
    """As a table of them has; a coordinate of another name is one too."""
    right = f_divergence(chi_squared, GIVEN.to_numpy(), REFERENCE.to_numpy())
    turned = REFERENCE[list("zxy")]
    array = xr.DataArray(GIVEN.to_numpy(), {"name": ("value", list("xyz"))}, ("kind", "value"))
    for rows in ([GIVEN.loc["a"], GIVEN.loc["b"]], list(array), array):
        assert f_divergence(chi_squared, rows, REFERENCE) == pytest.approx(right, rel=1e-12)
        assert f_divergence(chi_squared, rows, REFERENCE.to_numpy()) == pytest.approx(right, rel=1e-12)
        with pytest.raises(ValueError, match=r"^reference = values named \['z', 'x', 'y'\]: expected \['x', 'y', 'z'\]"):
            f_divergence(chi_squared, rows, turned)
    assert f_divergence(chi_squared, GIVEN.to_numpy().tolist(), turned.to_numpy()[[1, 2, 0]].tolist()) == pytest.approx(right, rel=1e-12)
    joint = [JOINT.loc[each] for each in "xyz"]
    with pytest.raises(ValueError, match=r"^kernel = values named \['y', 'z', 'x'\]: expected \['x', 'y', 'z'\]"):
        apply_markov_map(joint, KERNEL.loc[list("yzx")])
    np.testing.assert_allclose(apply_markov_map(joint, KERNEL), apply_markov_map(JOINT.to_numpy(), KERNEL.to_numpy()))


# ---------------------------------------------------------------- classes of tables

CLASSES = np.random.default_rng(2).dirichlet(np.ones(12)).reshape(4, 3)
OF_TABLES: dict[str, Callable[[Any, Any], Any]] = {
    "information": statistical_information,
    "divergence": sharpness_divergence,
    "function": lambda generator, joint: sharpness_function(generator, joint.sum(axis=0))(np.array([[2.0, 1.0, 0.5]])),
}
MIXED = [2, 0, 1]


@pytest.mark.parametrize("function", OF_TABLES)
def test_classes_of_a_table_have_the_order_that_a_loss_asks_for(function: str) -> None:
    of, right = OF_TABLES[function], OF_TABLES[function]("rps", CLASSES)
    typed = pd.CategoricalIndex(list("abc"), ordered=True)
    for columns in (None, ["p_0", "p_1", "p_2"], [10, 20, 30], ["low", "mid", "high"], list("012"), typed):
        assert of("rps", pd.DataFrame(CLASSES, columns=columns)) == pytest.approx(right, rel=1e-12)
    numbers, said = "which have the numbers", r"expected columns in the order of their classes, \['a', 'b', 'c'\]"
    for columns, message in (([0, 1, 2], numbers), (["p_0", "p_1", "p_2"], numbers), (typed, said)):
        turned = pd.DataFrame(CLASSES, columns=columns).iloc[:, MIXED]
        with pytest.raises(ValueError, match=f"^generator = RankedProbability.*{message}"):
            of("rps", turned)
        of("brier", turned)
    with pytest.raises(ValueError, match=r"not words in alphabetical order.*pass them without names if the alphabet has it right\.$"):
        of("rps", pd.DataFrame(CLASSES, columns=["high", "low", "mid"]))


@pytest.mark.parametrize("holder", ["pandas", "polars", "pyarrow", "labelled array", "another coordinate", "list"])
def test_every_holder_of_a_table_says_its_classes(holder: str) -> None:
    costs = pd.DataFrame([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]], index=list("abc"), columns=list("abc"))
    table, quadratic = pd.DataFrame(CLASSES, columns=list("abc")), Quadratic(costs)

    def held(each: Any) -> Any:
        if holder == "polars":
            return pytest.importorskip("polars").DataFrame(each.to_numpy(), schema=list(each.columns))
        if holder == "pyarrow":
            return pytest.importorskip("pyarrow").Table.from_pandas(each, preserve_index=False)
        if "a" in holder and holder not in ("pandas", "list"):
            name = "class" if holder == "labelled array" else "name"
            return xr.DataArray(each.to_numpy(), {name: ("class", list(each.columns))}, ("value", "class"))
        return [row for _, row in each.iterrows()] if holder == "list" else each

    for function in (statistical_information, sharpness_divergence):
        right = function(Quadratic(costs.to_numpy()), CLASSES)
        assert function(quadratic, held(table)) == pytest.approx(right, rel=1e-12)
        assert function(quadratic, CLASSES) == pytest.approx(right, rel=1e-12)
        with pytest.raises(ValueError, match=r"^generator = Quadratic.* in the order of their classes, \['a', 'b', 'c'\], not \['c', 'a', 'b'\]"):
            function(quadratic, held(table[list("cab")]))


def test_costs_have_the_names_of_rows_and_of_other_coordinates() -> None:
    costs = np.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]])
    table = pd.DataFrame(CLASSES, columns=list("abc"))
    right = statistical_information(Quadratic(costs), CLASSES)
    for named in (
        lambda names: xr.DataArray(costs, {"name": ("row", list(names))}, ("row", "column")),
        lambda names: [pd.Series(row, index=list(names)) for row in costs],
    ):
        assert statistical_information(Quadratic(named("abc")), table) == pytest.approx(right, rel=1e-12)
        with pytest.raises(ValueError, match=r"in the order of their classes, \['c', 'a', 'b'\], not \['a', 'b', 'c'\]"):
            statistical_information(Quadratic(named("cab")), table)
    assert statistical_information(Quadratic(costs.tolist()), table) == pytest.approx(right, rel=1e-12)


# ---------------------------------------------------------------- classes of layers

CODES = np.arange(60) % 3
LEVELS = np.array(["low", "mid", "high"])
LAYER = np.eye(3)[CODES][:, :2] + np.random.default_rng(1).normal(size=(60, 2))
#: The ranked probability score, which tells classes apart.
RANKED = Quadratic(np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
ORDERED: dict[str, Callable[[], Any]] = {
    "numbers": lambda: CODES,
    "one-hot": lambda: np.eye(3)[CODES],
    "categories": lambda: pd.Categorical(LEVELS[CODES], LEVELS, ordered=True),
    "labelled array": lambda: pd.Series(pd.Categorical(LEVELS[CODES], LEVELS, ordered=True)).to_xarray(),
    "an enumeration": lambda: pytest.importorskip("polars").Series(LEVELS[CODES], dtype=pytest.importorskip("polars").Enum(LEVELS.tolist())),
    "named one-hot": lambda: pd.get_dummies(LEVELS[CODES])[LEVELS.tolist()],
    "digits": lambda: (CODES + 9).astype(str),
    "numbered one-hot": lambda: pd.get_dummies(CODES)[[2, 0, 1]],
    "words": lambda: np.array(["a low", "b mid", "c high"])[CODES],
}


@pytest.mark.parametrize("kind", ORDERED)
def test_classes_of_layers_have_their_order(kind: str) -> None:
    options: dict[str, Any] = {"generator": RANKED, "bandwidth": 0.1}
    (right,) = layer_sharpness([LAYER], CODES, **options)
    (other,) = layer_sharpness([LAYER], np.array([1, 0, 2])[CODES], **options)
    assert other != pytest.approx(right, rel=0.01)
    assert layer_sharpness([LAYER], ORDERED[kind](), **options) == pytest.approx([right], rel=1e-9)


def test_what_stands_for_no_label_is_no_class_of_layers() -> None:
    labels = np.where(np.arange(60) < 5, -100, CODES)
    with pytest.raises(ValueError, match=r"^y_true = -100 at rows 0, 1, 2, 3, 4: expected classes; drop rows without a label"):
        layer_sharpness([LAYER], labels, bandwidth=0.1)
    assert len(layer_sharpness([LAYER], labels, bandwidth=0.1, labels=[-100, 0, 1, 2])) == 1


def test_layers_of_complex_numbers_are_refused() -> None:
    torch = pytest.importorskip("torch")
    for layer in (LAYER * 1j, torch.tensor(LAYER * 1j)):
        with pytest.raises(ValueError, match=r"^activations\[0\] = values of type .*complex128: expected real numbers"):
            layer_sharpness([layer], CODES)


@pytest.mark.parametrize("code", [-1, -9, -999])
def test_codes_below_0_are_no_classes_of_layers(code: int) -> None:
    """As scikit-learn has -1 for what is not labelled; opposites and what is between them are classes."""
    labels = np.where(np.arange(60) < 5, code, CODES)
    with pytest.raises(ValueError, match=rf"^y_true = {code} at rows 0, 1, 2, 3, 4: expected classes; drop rows without a label"):
        layer_sharpness([LAYER], labels, bandwidth=0.1)
    assert len(layer_sharpness([LAYER], labels, bandwidth=0.1, labels=[code, 0, 1, 2])) == 1
    assert len(layer_sharpness([LAYER], CODES - 1, bandwidth=0.1)) == 1
