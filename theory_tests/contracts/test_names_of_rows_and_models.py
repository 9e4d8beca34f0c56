"""Names that single rows, an index, or one of several models have: they are read, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import propercal

N = 30
CODES = np.arange(N) % 3
IDS = np.array([f"r{i:02d}" for i in range(N)])
ORDER = np.random.default_rng(0).permutation(N)
SETTINGS: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}


def table(index: Any = None) -> pd.DataFrame:
    """Return predictions of which every row is another one."""
    first = np.linspace(0.5, 0.8, N)[:, None]
    values = np.where(np.eye(3)[CODES] == 1, first, (1 - first) / 2)
    return pd.DataFrame(values, index, columns=list("abc"))


LABELS = pd.Series(np.array(list("abc"))[CODES], IDS)
#: By the definition of the score.
RIGHT = float(((table().to_numpy() - np.eye(3)[CODES]) ** 2).sum(axis=1).mean())

EVENT = np.arange(N) % 2
PROBA = np.where(EVENT == 1, np.linspace(0.6, 0.9, N), np.linspace(0.1, 0.4, N))
PAIR = pd.DataFrame({"fraud": PROBA, "legit": 1 - PROBA})
RIGHT_OF_TWO = float(2 * ((PROBA - EVENT) ** 2).mean())


def risk(labels: Any, proba: Any, **options: Any) -> float:
    return float(propercal.decompose(labels, proba, **SETTINGS, **options).risk)


def refused(message: str, labels: Any, proba: Any, **options: Any) -> None:
    with pytest.raises(ValueError, match=message):
        propercal.decompose(labels, proba, **SETTINGS, **options)


def arrays() -> tuple[xr.DataArray, xr.DataArray]:
    coords = {"row": IDS}
    labels = xr.DataArray(LABELS.to_numpy(), coords, ["row"])
    return labels, xr.DataArray(table().to_numpy(), {**coords, "k": list("abc")}, ["row", "k"])


# ---------------------------------------------------------------- lists of rows


def test_rows_of_a_table_whose_index_repeats_are_refused_as_the_table_is() -> None:
    patients = [f"p{i // 2}" for i in range(N)]
    labels, frame = LABELS.set_axis(patients), table(patients)
    refused("y_true = rows of the index", labels, frame.iloc[ORDER])
    refused("y_true = rows of the index", labels, [frame.iloc[i] for i in ORDER])
    assert risk(labels, [frame.iloc[i] for i in range(N)]) == pytest.approx(RIGHT, rel=1e-12)


def test_a_name_that_all_rows_have_is_that_of_no_row() -> None:
    rows = [pd.Series(row, list("abc"), name="p") for row in table().to_numpy()]
    assert risk(LABELS, rows) == pytest.approx(RIGHT, rel=1e-12)


@pytest.mark.parametrize("series", [False, True])
def test_labelled_arrays_are_aligned_by_the_coordinate_of_their_row(series: bool) -> None:
    labels, proba = arrays()
    rows = [proba[i] for i in ORDER]
    assert risk(LABELS if series else labels, rows) == pytest.approx(RIGHT, rel=1e-12)
    assert risk([labels[i] for i in ORDER], proba) == pytest.approx(RIGHT, rel=1e-12)
    assert risk([labels[i] for i in ORDER], [proba[i] for i in ORDER[::-1]]) == pytest.approx(RIGHT, rel=1e-12)
    assert risk(CODES, list(proba)) == pytest.approx(RIGHT, rel=1e-12)


def test_labelled_arrays_of_several_coordinates_are_refused() -> None:
    _, proba = arrays()
    proba = proba.assign_coords(day=("row", np.arange(N)))
    refused("y_proba = rows with coordinates 'day', 'row': .*xarray.concat", LABELS, [proba[i] for i in ORDER])


def test_weights_in_a_list_are_aligned() -> None:
    weight = xr.DataArray(np.arange(1.0, N + 1), {"row": IDS}, ["row"])
    loss = ((table().to_numpy() - np.eye(3)[CODES]) ** 2).sum(axis=1)
    found = risk(LABELS, table(IDS), sample_weight=[weight[i] for i in ORDER])
    assert found == pytest.approx(float(np.average(loss, weights=weight.to_numpy())), rel=1e-12)


# ---------------------------------------------------------------- an index, and variables


@pytest.mark.parametrize("holder", [pd.Index, pd.Series])
def test_an_index_has_the_name_of_the_column_that_it_was(holder: Callable[..., Any]) -> None:
    assert risk(holder(EVENT, name="fraud"), PAIR) == pytest.approx(RIGHT_OF_TWO, rel=1e-12)
    words = np.where(EVENT == 1, "fraud", "legit")
    assert risk(words, holder(1 - PROBA, name="legit")) == pytest.approx(RIGHT_OF_TWO, rel=1e-12)
    refused("y_true = .*named 'fraud'", holder(EVENT, name="fraud"), PAIR["legit"])


def test_variables_are_no_arrays_without_names() -> None:
    labels = xr.DataArray(np.arange(36).reshape(6, 6) % 3, dims=["u", "v"])
    proba = xr.DataArray(np.eye(3)[labels.to_numpy()] * 0.7 + 0.1, dims=["u", "v", "k"])
    assert risk(labels.T, proba, class_dim="k") == pytest.approx(0.06, rel=1e-12)
    message = "a Variable of xarray, whose dimensions have names: .*DataArray"
    refused(f"y_true = {message}", labels.T.variable, proba, class_dim="k")
    refused(f"y_proba = {message}", labels.to_numpy(), proba.variable)
    refused(f"sample_weight = {message}", labels, proba, class_dim="k", sample_weight=(labels.T + 1.0).variable)


# ---------------------------------------------------------------- several models


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_column_of_one_model_is_of_the_class_that_it_is_of_in_another(order: tuple[int, int]) -> None:
    given = [PAIR["fraud"], PAIR]
    a, b = (given[i] for i in order)
    with pytest.raises(ValueError, match=r"a column named 'fraud': expected the probability of class 1, .*'legit'"):
        propercal.paired_difference(EVENT, a, b, generator="brier", term="risk")
    with pytest.raises(ValueError, match="a column named 'fraud'"):
        propercal.diagrams.murphy(EVENT, {"a": a, "b": b}, thresholds=[0.5])
    for labels in (np.where(EVENT == 1, "fraud", "legit"), pd.Series(EVENT, name="fraud")):
        found = propercal.paired_difference(labels, a, b, generator="brier", term="risk")
        assert (float(found.a.risk), float(found.b.risk)) == pytest.approx((RIGHT_OF_TWO, RIGHT_OF_TWO), rel=1e-12)
    found = propercal.paired_difference(1 - EVENT, PAIR["legit"], PAIR, generator="brier", term="risk")
    assert (float(found.a.risk), float(found.b.risk)) == pytest.approx((RIGHT_OF_TWO, RIGHT_OF_TWO), rel=1e-12)


def risks_of(models: dict[str, Any]) -> dict[str, float]:
    found = propercal.compare_models(EVENT, models, term="risk", generator="brier").models
    return {name: float(each.risk) for name, each in found.items()}


def brier(p: Any) -> Any:
    """By the definition of the score."""
    return pytest.approx(float(2 * np.mean((p - EVENT) ** 2)), rel=1e-12)


def test_predictions_named_after_each_others_models_are_refused() -> None:
    series = {name: pd.Series(p, name=name) for name, p in (("rf", PROBA), ("lr", PROBA**2), ("nn", PROBA**3))}
    field = xr.DataArray(np.stack([PROBA, PROBA**2, PROBA**3]), dims=("model", "i"), coords={"model": list(series)})
    assert risks_of(series) == {"rf": brier(PROBA), "lr": brier(PROBA**2), "nn": brier(PROBA**3)}
    for held in (series, {name: field.sel(model=name) for name in series}, {name: each.to_frame() for name, each in series.items()}):
        assert risks_of(held) == risks_of(series)
        for others in (["lr", "rf", "nn"], ["lr", "nn", "rf"]):
            turned = dict(zip(series, (held[name] for name in others), strict=True))
            with pytest.raises(ValueError, match=r"models\['rf'\] = predictions named 'lr': expected those of 'rf'.*exchange them"):
                risks_of(turned)
            with pytest.raises(ValueError, match=r"predictions\['rf'\] = predictions named 'lr'"):
                propercal.murphy(EVENT, turned)
    # What was made of a model's predictions keeps their name.
    assert risks_of({"rf": series["rf"], "calibrated": series["lr"].rename("rf")}) == {"rf": brier(PROBA), "calibrated": brier(PROBA**2)}
    assert risks_of({"a": series["rf"].rename("p"), "b": series["lr"].rename("p")}) == {"a": brier(PROBA), "b": brier(PROBA**2)}


def test_a_single_column_stands_beside_columns_in_any_order_that_labels_name() -> None:
    named = pd.DataFrame({"1": PROBA**2, "0": 1 - PROBA**2})
    for table in (named, named[["0", "1"]], named.set_axis([1, 0], axis=1)):
        assert risks_of({"one": PROBA, "two": table}) == {"one": brier(PROBA), "two": brier(PROBA**2)}
        assert risks_of({"two": table, "one": PROBA}) == {"one": brier(PROBA), "two": brier(PROBA**2)}
    found = propercal.paired_difference(EVENT, PROBA, named, term="risk", generator="brier")
    assert found.difference == pytest.approx(2 * np.mean((PROBA - EVENT) ** 2 - (PROBA**2 - EVENT) ** 2), rel=1e-9)
    with pytest.raises(ValueError, match="name the columns of both alike"):
        risks_of({"one": PROBA, "two": named.set_axis(["yes", "no"], axis=1)})
