"""Dask collections: which row is which, and which numbers labels are, as in memory or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import propercal
from propercal.simulation import TemperatureScaledSimplex

dask: Any = pytest.importorskip("dask", reason="needs Dask")
da: Any = pytest.importorskip("dask.array", reason="needs Dask")
dd: Any = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
pd: Any = pytest.importorskip("pandas", reason="needs pandas")

#: Data on purpose so, whose values are known.
pytestmark = pytest.mark.filterwarnings("ignore:y_true is the most probable class in each")

N = 120
CODES = np.random.default_rng(0).permutation(np.arange(N) % 3)
#: The class that occurs has 0.8, so that the Brier score of a class is 2/3 of 0.06.
PROBA = np.eye(3)[CODES] * 0.7 + 0.1
RISK = pytest.approx(2 / 3 * 0.06, rel=1e-9)
FRAME = pd.DataFrame(PROBA, columns=["p_0", "p_1", "p_2"]).assign(y=CODES)
COLUMNS = ["p_0", "p_1", "p_2"]


def risk(y_true: Any, y_proba: Any, **settings: Any) -> float:
    given: dict[str, Any] = {"generator": "brier", "notion": "classwise", "method": "risk", "bandwidth": 0.1, **settings}
    return float(propercal.decompose(y_true, y_proba, **given).risk)


def array(values: Any, chunks: int = 40) -> Any:
    values = np.asarray(values)
    return da.from_array(values, chunks=(chunks, *values.shape[1:]))


# ---------------------------------------------------------------- rows that move

def shuffled(part: Any) -> Any:
    return part.sample(frac=1)


@pytest.mark.parametrize("frame", [
    lambda: dd.from_pandas(FRAME, npartitions=3).map_partitions(shuffled, meta=FRAME),
    lambda: dd.from_map(lambda i: shuffled(FRAME.iloc[40 * i : 40 * i + 40]), range(3), meta=FRAME[:0]),
], ids=["map_partitions", "from_map"])
def test_rows_that_come_in_another_order_each_time_are_computed_together_or_refused(frame: Any) -> None:
    moving = frame()
    y, p = moving["y"], moving[COLUMNS]
    assert risk(y, p) == RISK
    pairs = [
        (y.to_dask_array(), p.to_dask_array()), (y, p.to_dask_array()), (y.to_dask_array(), p), (y.values, p.values * 1),
        (y.to_dask_array(lengths=True), p.to_dask_array(lengths=True)), (CODES, p.to_dask_array(lengths=True)),
    ]
    for given in pairs:
        with pytest.raises(ValueError, match=r"y_(true|proba) = partitions that differ when they are computed again: expected rows in a fixed order"):
            risk(*given)
    kept = moving.persist()
    assert risk(kept["y"].to_dask_array(), kept[COLUMNS].to_dask_array()) == RISK


def test_rows_in_a_fixed_order_are_read() -> None:
    fixed = dd.from_pandas(FRAME, npartitions=3)
    for y in (fixed["y"], fixed["y"].values, fixed["y"].to_dask_array(lengths=True)):
        for p in (fixed[COLUMNS], fixed[COLUMNS].values):
            assert risk(y, p) == RISK


def test_partitions_without_an_index_beside_rows_in_another_order_are_refused() -> None:
    """As in memory, where a permuted index beside a default one is refused."""
    parts = [FRAME[COLUMNS].iloc[a : a + 40].reset_index(drop=True) for a in (0, 40, 80)]
    proba = dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0][:0])
    assert risk(dd.from_pandas(FRAME["y"], npartitions=3, sort=False), proba) == RISK
    swapped = np.r_[40:80, 0:40, 80:120]
    within = np.r_[0:40, 79:39:-1, 80:120]
    for order in (swapped, within, np.random.default_rng(1).permutation(N)):
        labels = dd.from_pandas(FRAME["y"].iloc[order], npartitions=3, sort=False)
        with pytest.raises(ValueError, match=r"^y_true = (partitions of the rows .*: expected the order of y_proba, each of whose partitions|rows of the index)"):
            risk(labels, proba)
        moved = dd.from_pandas(FRAME[COLUMNS].iloc[order], npartitions=3, sort=False)
        counted = dd.from_delayed([dask.delayed(FRAME["y"].iloc[a : a + 40].reset_index(drop=True)) for a in (0, 40, 80)], meta=FRAME["y"][:0])
        with pytest.raises(ValueError, match=r"^y_(proba|true) = (partitions|rows) of the "):
            risk(counted, moved)
    # An array has no index: rows stand side by side.
    side = dd.from_delayed([dask.delayed(FRAME[COLUMNS].iloc[swapped[a : a + 40]].reset_index(drop=True)) for a in (0, 40, 80)], meta=parts[0][:0])
    labels = dd.from_pandas(FRAME["y"].iloc[swapped], npartitions=3, sort=False)
    assert risk(labels, side.to_dask_array()) == RISK


# ---------------------------------------------------------------- labels

@pytest.mark.filterwarnings("ignore:.*is the most probable class in each of 120 rows")
@pytest.mark.parametrize("kind", [int, float])
def test_numbers_that_count_from_1_are_read_as_in_memory(kind: Any) -> None:
    labels = (CODES + 1).astype(kind)
    order = np.argsort(CODES, kind="stable")
    assert risk(labels, PROBA) == RISK
    for rows in (slice(None), order):
        for given in (array(labels[rows]), labels[rows], pd.Series(labels[rows])):
            assert risk(given, array(PROBA[rows])) == RISK
    two = PROBA[CODES < 2][:, :2]
    two /= two.sum(axis=1, keepdims=True)
    codes = CODES[CODES < 2]
    for numbers in ([-1, 1], [1, 2], [3, 7]):
        named = np.array(numbers)[codes]
        assert risk(array(named), array(two)) == pytest.approx(risk(named, two), rel=1e-9) == pytest.approx(risk(codes, two), rel=1e-9)


def test_other_numbers_are_refused_where_they_are() -> None:
    for odd in (10, -100, -2):
        labels = CODES.copy()
        labels[50] = odd
        with pytest.raises(ValueError, match=rf"^y_true = {odd} at row 10: .*This is in partition 1"):
            risk(array(labels), array(PROBA))
    with pytest.raises(ValueError, match=r"^y_true = [12]0 at row"):
        risk(array(CODES * 10), array(PROBA))


@pytest.mark.parametrize("odd", [{1: 2}, {1}])
def test_labels_that_are_none_are_refused(odd: Any) -> None:
    with pytest.raises(ValueError, match=f"^y_true = a {type(odd).__name__} at row 0: expected one label for each row"):
        risk([odd] * N, array(PROBA))


def test_labels_named_after_another_class_are_refused() -> None:
    fraud = pd.DataFrame({"fraud": PROBA[:, 0]})
    labels = dd.from_pandas(pd.Series((CODES != 0) * 1, name="legit"), npartitions=3)
    for proba in (fraud, fraud["fraud"]):
        with pytest.raises(ValueError, match=r"^y_true = .*named 'legit'.* a column named 'fraud'"):
            propercal.decompose(labels, dd.from_pandas(proba, npartitions=3), method="risk", bandwidth=0.1)


def test_settings_that_partitions_do_not_heed_say_what_to_do() -> None:
    for name, value, fix in (
        ("ignore_index", -100, "leave out rows without a label first"), ("class_axis", 1, "bring the classes to the end"),
        ("class_dim", "k", "pass DataArrays of xarray"), ("sample_dims", "s", "pass DataArrays of xarray"),
    ):
        with pytest.raises(ValueError, match=f"^{name} = .*: expected None with Dask collections, .*{fix}"):
            risk(array(CODES), array(PROBA), **{name: value})
    # As is said.
    labels = CODES.copy()
    labels[::7] = -100
    keep = array(labels) != -100
    assert risk(array(labels)[keep], array(PROBA)[keep]) == RISK
    images, places = np.moveaxis(PROBA.reshape(30, 2, 2, 3), -1, 1), CODES.reshape(30, 2, 2)
    lazy = da.from_array(images, chunks=(10, 3, 2, 2)), da.from_array(places, chunks=(10, 2, 2))
    assert risk(lazy[1].reshape(-1), da.moveaxis(lazy[0], 1, -1).reshape(-1, 3)) == RISK


# ---------------------------------------------------------------- rows in memory beside an array

IDS = [f"r{i}" for i in range(N)]
WEIGHT = np.random.default_rng(1).gamma(1.0, 1.0, N) + 0.05
DRAWN, _, FAR = TemperatureScaledSimplex(3).sample(N, random_state=0)
WANTED = pytest.approx(2 / 3 * np.average(((FAR - np.eye(3)[DRAWN]) ** 2).sum(axis=1), weights=WEIGHT), rel=1e-9)
MIXED = np.random.default_rng(2).permutation(N)


def weighted(y_true: Any, y_proba: Any, sample_weight: Any) -> float:
    settings: dict[str, Any] = {"generator": "brier", "notion": "classwise", "method": "debiased"}
    return float(propercal.decompose(y_true, y_proba, sample_weight=sample_weight, **settings).risk)


def parts(series: Any) -> Any:
    pieces = [series.iloc[a : a + 40] for a in (0, 40, 80)]
    return dd.from_map(lambda i: pieces[i], range(3), meta=series.iloc[:0])


def test_what_is_in_memory_keeps_its_index() -> None:
    y, p, w = pd.Series(DRAWN, IDS), pd.DataFrame(FAR, IDS), pd.Series(WEIGHT, IDS)
    for given in [(DRAWN, FAR, WEIGHT), (array(DRAWN), p, w.iloc[MIXED]), (y, array(FAR), w.iloc[MIXED]), (array(DRAWN), p, parts(w))]:
        assert weighted(*given) == WANTED
    numbers = pd.Series(WEIGHT)
    for given in [
        (pd.Series(DRAWN), array(FAR), numbers.iloc[MIXED]),
        (array(DRAWN), pd.DataFrame(FAR), parts(numbers.iloc[MIXED])),
        (array(DRAWN[MIXED]), p.iloc[MIXED], parts(w)),
        (array(DRAWN[MIXED]), pd.DataFrame(FAR).iloc[MIXED], parts(numbers)),
        (parts(y), array(FAR), w.iloc[MIXED]),
    ]:
        with pytest.raises(ValueError, match=r"^(sample_weight|y_proba|y_true) = (partitions of the )?rows .*expected (the (rows|order) of|0 to 119 in order)"):
            weighted(*given)


def test_coordinates_in_memory_are_compared_beside_an_array() -> None:
    xr = pytest.importorskip("xarray")
    y, w = (xr.DataArray(each, dims="s", coords={"s": IDS}) for each in (DRAWN, WEIGHT))
    assert weighted(y, array(FAR), w.isel(s=MIXED)) == WANTED
    assert weighted(y, array(FAR), pd.Series(WEIGHT, IDS).iloc[MIXED]) == WANTED
    other = xr.DataArray(DRAWN, dims="s", coords={"id": ("s", IDS)})
    with pytest.raises(ValueError, match="sample_weight = an index in another order than the coordinates 'id' of y_true"):
        weighted(other, array(FAR), pd.Series(WEIGHT, IDS).iloc[MIXED])


@pytest.mark.filterwarnings("ignore:.*is the most probable class in each of 120 rows")
def test_an_index_in_memory_that_moves_rows_beside_an_array_of_dask_is_refused() -> None:
    moved = pd.Series(CODES).iloc[::-1]
    for labels, options in ((moved, {}), (CODES, {"sample_weight": moved + 1.0, "method": "debiased", "bandwidth": "auto"})):
        with pytest.raises(ValueError, match=r"= rows of the index .*: expected 0 to 119 in order.*\.sort_index\(\)"):
            risk(labels, array(PROBA), **options)
    # As advised beside a table, whose partitions are of unknown sizes: rows and columns are matched by name.
    table = dd.from_pandas(FRAME[COLUMNS[::-1]], npartitions=3)
    words = pd.Series(np.array(COLUMNS)[CODES]).iloc[::-1]
    with pytest.raises(ValueError, match=r"pass y_proba\.compute\(\), in memory too"):
        risk(words, table)
    assert risk(words.sort_index(), table.compute()) == RISK
