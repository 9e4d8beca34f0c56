"""What holders say beside values: names of costs, units, bytes, rows in a queue, and a class in other letters."""

from __future__ import annotations

from collections import UserList, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import propercal
from propercal.generators import Quadratic
from propercal.recalibration import TemperatureScaling

pd = pytest.importorskip("pandas")
xr = pytest.importorskip("xarray")

N = 60
CODE = np.arange(N) % 3
WORDS = np.array(["a", "b", "c"])[CODE]
RNG = np.random.default_rng(0)
P = 0.6 * RNG.dirichlet([1, 1, 1], N) + 0.4 * np.eye(3)[CODE]
TABLE = pd.DataFrame(P, columns=["a", "b", "c"])
MIXED = ["c", "a", "b"]
BINARY, ONE = CODE % 2, np.clip(0.3 + 0.4 * (CODE % 2) + RNG.uniform(-0.2, 0.2, N), 0, 1)
QUICK: dict[str, Any] = {"method": "risk", "bandwidth": 0.1}
COSTS = np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
NAMED = pd.DataFrame(COSTS, ["a", "b", "c"], ["a", "b", "c"])


def risk(y: Any, p: Any, **options: Any) -> float:
    return float(propercal.decompose(y, p, **{"generator": "brier", **QUICK, **options}).risk)


@pytest.mark.parametrize(
    "costs",
    [
        NAMED,
        NAMED[["b", "c", "a"]],
        NAMED.set_axis(range(3), axis=1),
        NAMED.to_xarray().to_dataarray("class").transpose("index", "class"),
    ],
    ids=["table", "columns in another order", "rows alone", "labelled array"],
)
def test_costs_with_names_are_those_of_classes(costs: Any) -> None:
    generator = Quadratic(costs)
    right = risk(WORDS, TABLE, generator=Quadratic(COSTS))
    assert risk(WORDS, TABLE, generator=generator) == right
    assert risk(WORDS, P, generator=generator) == right
    with pytest.raises(ValueError, match="expected columns in the order of their classes"):
        risk(WORDS, TABLE[MIXED], generator=generator)
    with pytest.raises(ValueError, match="expected columns in the order of their classes"):
        risk(CODE, P, generator=generator)


def test_costs_in_the_order_of_columns() -> None:
    right = risk(WORDS, TABLE, generator=Quadratic(COSTS))
    moved = Quadratic(NAMED.loc[MIXED, MIXED])
    assert risk(WORDS, TABLE[MIXED], generator=moved) == pytest.approx(right, rel=1e-12)
    with pytest.raises(ValueError, match="expected columns in the order"):
        risk(WORDS, TABLE, generator=moved)
    with pytest.raises(ValueError, match=r"matrix = rows of .* expected the same classes along both axes"):
        Quadratic(NAMED.rename(columns={"c": "d"}))


@pytest.mark.parametrize("units", ["%", "percent", "Percent"])
@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_percent_are_no_probabilities(units: str, scale: float) -> None:
    given = xr.DataArray(ONE * scale, dims="row", attrs={"units": units})
    asks = risk, lambda y, p: TemperatureScaling().fit(p, y), lambda y, p: p.propercal.decompose(y, **QUICK)
    for ask in asks:
        with pytest.raises(ValueError, match=r"(y_proba|X) = an array of units .* expected probabilities, of which 1"):
            ask(xr.DataArray(BINARY, dims="row"), given)


def test_units_of_probabilities() -> None:
    for units in ("1", "", 1, "probability"):
        assert risk(BINARY, xr.DataArray(ONE, dims="row", attrs={"units": units})) == risk(BINARY, ONE)


def test_outcomes_in_other_units_than_forecasts() -> None:
    outcome, members = RNG.normal(size=N), RNG.normal(size=(N, 5))
    y = xr.DataArray(outcome, dims="row", attrs={"units": "K"})
    with pytest.warns(UserWarning, match="y_true has units 'K', and ensemble 'degC'"):
        propercal.crps_decomposition(y, xr.DataArray(members, dims=("row", "m"), attrs={"units": "degC"}))
    same = propercal.crps_decomposition(y, xr.DataArray(members, dims=("row", "m"), attrs={"units": "K"}))
    assert same.risk == propercal.crps_decomposition(outcome, members).risk


def test_forecasts_in_two_units() -> None:
    outcome, members = RNG.normal(size=N), RNG.normal(size=(N, 5))
    a, b = (xr.DataArray(members, dims=("row", "m"), attrs={"units": unit}) for unit in ("K", "degC"))
    y = xr.DataArray(outcome, dims="row", attrs={"units": "K"})
    with pytest.warns(UserWarning, match="y_true has units 'K', and ensemble_b 'degC'"):
        propercal.crps_difference(y, a, b)
    with pytest.warns(UserWarning, match="ensemble_a has units 'K', and ensemble_b 'degC'"):
        propercal.crps_difference(outcome, a, b)
    assert propercal.crps_difference(outcome, a, members).difference == 0
    assert propercal.crps_difference(y, a, a[:, :3]).n_samples == N


@pytest.mark.parametrize(("base", "log"), [(2, np.log2), (10, np.log10)])
def test_logarithms_to_another_base_are_no_logits(base: int, log: Callable[[Any], Any]) -> None:
    with pytest.warns(UserWarning, match=f"y_proba has rows whose powers of {base} sum to 1"):
        risk(CODE, log(P), from_logits=True)
    assert risk(CODE, log(P) * np.log(base), from_logits=True) == pytest.approx(risk(CODE, P), rel=1e-12)


@pytest.mark.parametrize("kind", [deque, UserList])
def test_rows_in_a_queue_have_names(kind: Callable[[Any], Any]) -> None:
    rows = [TABLE[MIXED].iloc[i] for i in range(N)]
    assert risk(WORDS, kind(rows)) == pytest.approx(risk(WORDS, TABLE), rel=1e-12)
    assert risk(kind(CODE.tolist()), kind(P.tolist())) == risk(CODE, P)


@pytest.mark.parametrize("kind", ["S", object])
def test_groups_in_bytes_are_text(kind: Any) -> None:
    pair = np.arange(N) // 2
    text = np.array([f"g{i}" for i in pair])
    known = np.array([each.encode() for each in text], dtype=kind)
    settings: dict[str, Any] = {"generator": "brier", "n_folds": 3}
    right = propercal.decompose(CODE, P, groups=text, **settings)
    assert propercal.decompose(CODE, P, groups=known, **settings).standard_errors == right.standard_errors
    for odd, words in ((b"", "missing"), (b"NA", "missing"), (b"g1 ", "equal but for blanks")):
        with pytest.raises(ValueError, match=words):
            propercal.decompose(CODE, P, groups=np.where(pair == 0, np.array(odd, dtype=kind), known), **settings)


@pytest.mark.parametrize("name", ["fraud ", "Fraud", "FRAUD"])
def test_the_only_class_that_occurs_is_not_the_other_one(name: str) -> None:
    with pytest.raises(ValueError, match=f"pos_label = '{name}': expected a label that occurs in y_true"):
        risk(["fraud"] * N, ONE, pos_label=name)
    assert risk(["fraud"] * N, ONE, pos_label="legit") == risk(np.zeros(N, dtype=int), ONE, pos_label=1)


def test_one_name_in_two_forms_of_letters() -> None:
    with pytest.raises(ValueError, match="the same capitals, blanks and form of letters"):
        risk(["café"] * N, ONE, pos_label="cafe\u0301")


@pytest.mark.parametrize("name", ["Void", "void ", "VOID"])
def test_a_label_to_ignore_in_other_letters(name: str) -> None:
    labels = np.where(WORDS == "c", "void", WORDS)
    with pytest.raises(ValueError, match=f"ignore_index = '{name}': expected a label of y_true, which has 'void'"):
        risk(labels, P, ignore_index=name)
    known = {"ignore_index": "void", "labels": ["a", "b", "c"]}
    kept = WORDS != "c"
    assert risk(labels, P, **known) == pytest.approx(risk(CODE[kept], P[kept], labels=[0, 1, 2]), rel=1e-12)
    # A chunk may have none of them.
    assert risk(WORDS, P, ignore_index="void") == risk(WORDS, P)


@pytest.mark.filterwarnings("ignore:X has columns of the classes")
def test_one_class_in_small_and_large_letters() -> None:
    both = np.where(np.arange(N) % 2 == 0, "Yes", "yes")
    with pytest.raises(ValueError, match="the names 'Yes' and 'yes': expected one text for each class"):
        risk(both, np.stack([1 - ONE, ONE], axis=1))
    # Of letters, and of classes that somebody lists, both may be.
    letters = np.where(np.arange(N) % 2 == 0, "A", "a")
    code, pair = np.arange(N) % 2, np.full((N, 2), 0.5)
    assert risk(letters, pair) == risk(both, pair, labels=["Yes", "yes"]) == risk(code, pair)


def test_two_texts_of_one_number_are_no_two_classes() -> None:
    labels = np.array(["0", "1", "1.0"])[CODE]
    refused = "the names '1' and '1.0', which are one number: expected one text for each class"
    for y, p, options in (
        (labels, P, {}),
        (labels, pd.DataFrame(P, columns=["0", "1", "2"]), {}),
        (pd.get_dummies(labels), P, {}),
        (labels, ONE, {"pos_label": 1}),
    ):
        with pytest.raises(ValueError, match=refused):
            risk(y, p, **options)
    assert risk(labels, P, labels=["0", "1", "1.0"]) == risk(CODE, P)
    assert risk(CODE.astype(str), P) == risk(CODE, P)
