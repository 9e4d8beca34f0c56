"""Two forecasts from any holders: matched with the outcomes and with each other, or refused; and the forms of the result."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from propercal import CRPSDifference, crps_decomposition, crps_difference

N = 60
RNG = np.random.default_rng(0)
MEAN = RNG.normal(size=N)
Y = MEAN + RNG.normal(size=N)
A = MEAN[:, None] + 0.4 * RNG.normal(size=(N, 5))
B = MEAN[:, None] + RNG.normal(size=(N, 7))
LEVELS = [0.1, 0.3, 0.5, 0.7, 0.9]
QA, QB = np.sort(A, axis=1), np.sort(B, axis=1)
W = RNG.uniform(0.5, 2, N)
G = np.arange(N) // 2
ORDER, OTHER = RNG.permutation(N), RNG.permutation(N)
INDEX = np.arange(N) + 100
EXPECTED = crps_difference(Y, A, B)
WEIGHTED = crps_difference(Y, A, B, sample_weight=W, groups=G)


def check(found: CRPSDifference, expected: CRPSDifference = EXPECTED) -> None:
    for name in ("difference", "standard_error", "risk_a", "risk_b"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-10), name
    assert found.n_samples == expected.n_samples


def refused(message: str, *arguments: Any, **options: Any) -> None:
    with pytest.raises(ValueError, match=message):
        crps_difference(*arguments, **options)


# ------------------------------------------------------------------ which row is which
def test_every_holder() -> None:
    pd, pl, torch, xr = (pytest.importorskip(name) for name in ("pandas", "polars", "torch", "xarray"))
    check(crps_difference(Y.tolist(), A.tolist(), B.tolist()))
    check(crps_difference(torch.tensor(Y), torch.tensor(A), B))
    check(crps_difference(pl.Series(Y), pl.DataFrame(A), pl.DataFrame(B)))
    check(crps_difference(Y, pd.DataFrame(A, INDEX), pl.DataFrame(B)))
    check(crps_difference(xr.DataArray(Y, dims="t"), xr.DataArray(A.T, dims=("member", "t")), xr.DataArray(B, dims=("t", "number"))))


def test_rows_of_tables_are_matched_by_their_index() -> None:
    pd = pytest.importorskip("pandas")
    y, a, b = pd.Series(Y, INDEX), pd.DataFrame(A, INDEX), pd.DataFrame(B, INDEX)
    w, g = pd.Series(W, INDEX), pd.Series(G, INDEX)
    check(crps_difference(y, a, b.iloc[ORDER]))
    check(crps_difference(y, a.iloc[ORDER], b))
    check(crps_difference(y.iloc[ORDER], a, b))
    check(crps_difference(y.iloc[ORDER], a.iloc[OTHER], b, sample_weight=w.iloc[OTHER], groups=g.iloc[ORDER]), WEIGHTED)
    check(crps_difference(Y, a, b))
    check(crps_difference(y, a, B))
    refused("ensemble_b = rows of the index .*expected the order of ensemble_a, .* since y_true has no index", Y, a, b.iloc[ORDER])
    refused("expected the rows of ensemble_b", y, a, b.set_axis(INDEX + 1))
    refused("sample_weight = rows with no index", y, a, b.iloc[ORDER], sample_weight=W)
    # Without an index, outcomes and a forecast stand beside one that has some, whose weights are matched by it.
    check(crps_difference(Y[ORDER], A[ORDER], b.iloc[ORDER], sample_weight=w, groups=g), WEIGHTED)
    refused("groups = rows with no index", y, a, b.iloc[ORDER], groups=G)
    shuffled = pd.DataFrame(A).iloc[ORDER]
    refused(r"ensemble_b = rows of the index .*\.sort_index\(\)", Y, shuffled, pd.DataFrame(B))


def test_a_forecast_without_names_has_no_order_beside_two() -> None:
    """As the predictions of a second model: test_names_elsewhere.py, test_the_predictions_of_two_models_are_aligned."""
    pd = pytest.importorskip("pandas")
    y, a, b = pd.Series(Y, INDEX), pd.DataFrame(A, INDEX), pd.DataFrame(B, INDEX)
    check(crps_difference(y, A, b))
    check(crps_difference(y, a, pd.DataFrame(B)))
    for each in ((y.iloc[ORDER], A[ORDER], b), (y, a.iloc[ORDER], B), (y, a.iloc[ORDER], pd.DataFrame(B))):
        with pytest.raises(ValueError, match=r"ensemble_[ab] = rows with (no|a default) index: .* rows of y_true and ensemble_[ab] stand in different orders"):
            crps_difference(*each)


GRID = {"day": np.arange(10), "place": list("abcdef")}


def grids() -> Any:
    xr = pytest.importorskip("xarray")
    y = xr.DataArray(Y.reshape(10, 6), dims=("day", "place"))
    a = xr.DataArray(A.reshape(10, 6, 5), dims=("day", "place", "member"))
    return y, a, xr.DataArray(B.reshape(10, 6, 7), dims=("day", "place", "number"))


def test_dimensions_are_matched_by_name() -> None:
    y, a, b = grids()
    check(crps_difference(y, a, b))
    check(crps_difference(y, a.transpose("member", "place", "day"), b.transpose("place", "number", "day")))
    check(crps_difference(y.T, a, b.transpose("number", "place", "day")))
    y, a, b = (each.assign_coords(GRID) for each in (y, a, b))
    check(crps_difference(y, a[::-1], b[:, [3, 1, 0, 5, 4, 2]]))
    check(crps_difference(y[:, ::-1], a, b[::-1]))
    refused("place", y, a, b.assign_coords(place=list("abcdeg")))


def test_dimensions_without_outcomes_that_tell() -> None:
    y, a, b = grids()
    plain, same = y.to_numpy(), b.rename(number="member")
    refused("ensemble_a = dimensions 'day', 'place', 'member': expected to know which of them is that of the members; pass member_dim=..., or sample_dims=...", Y, a, b)
    for given in (Y, plain):
        check(crps_difference(given, a, same, member_dim="member"))
        check(crps_difference(given, a, b, sample_dims=["day", "place"]))
        check(crps_difference(given, a, b.transpose("place", "day", "number"), sample_dims=["day", "place"]))
        refused("rows of ensemble_a and ensemble_b stand in different orders", given, a, same.transpose("place", "day", "member"), member_dim="member")
        refused("y_true = an array of shape .* name sample_dims in that of the arrays", given, a, b, sample_dims=["place", "day"])
    refused("member_dim = 'member': expected a dimension of both, but ensemble_b has 'day', 'place', 'number'; pass sample_dims=", plain, a, b, member_dim="member")
    refused("member_dim = 'x': expected a dimension of ensemble_a: 'day', 'place', 'member'", y, a, b, member_dim="x")
    refused("member_dim = a list: expected the name of a dimension", y, a, b, member_dim=["member"])


def test_arrays_beside_labelled_outcomes() -> None:
    """Outcomes have no dimension of members, so that all of theirs are of samples."""
    pd = pytest.importorskip("pandas")
    y, a, b = grids()
    assert crps_decomposition(y, A).risk == pytest.approx(EXPECTED.risk_a, rel=1e-12)
    check(crps_difference(y, A, B))
    check(crps_difference(y, A.reshape(10, 6, 5), B))
    check(crps_difference(y, a, B))
    check(crps_difference(y.T, a, B, sample_dims=["day", "place"]))
    refused("ensemble_b = rows with no index: .*rows of y_true and ensemble_a stand in different orders", y.T, a, B)
    refused("ensemble_a = rows with no index: .*rows of y_true and ensemble_b stand in different orders", y, A, b.transpose("place", "day", "number"))
    index = pd.MultiIndex.from_product(list(GRID.values()), names=list(GRID))
    table = pd.DataFrame(B, index)
    check(crps_difference(y.assign_coords(GRID), a, table.iloc[ORDER]))
    refused("ensemble_a = rows with no index", y.assign_coords(GRID), A, table.iloc[ORDER])


def test_coordinates_of_one_dimension() -> None:
    xr, pd = pytest.importorskip("xarray"), pytest.importorskip("pandas")
    a, b = (xr.DataArray(each, dims=("t", dim), coords={"t": INDEX}) for each, dim in ((A, "m"), (B, "q")))
    y = xr.DataArray(Y, dims="t", coords={"t": INDEX})
    check(crps_difference(y, a, b[ORDER]))
    check(crps_difference(pd.Series(Y, INDEX), pd.DataFrame(A, INDEX), b[ORDER]))
    refused("rows of .* stand in different orders|since y_true has no index", Y, a, b[ORDER])
    refused("rows of .* stand in different orders|since y_true has no index", y.drop_vars("t"), a, b[ORDER])


# ------------------------------------------------------------------ levels
def test_levels() -> None:
    pd = pytest.importorskip("pandas")
    of_b = [0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95]
    a, b = (pd.DataFrame(values, columns=[f"q{each}" for each in levels]) for values, levels in ((QA, LEVELS), (QB, of_b)))
    wanted = crps_difference(Y, quantiles_a=a, quantiles_b=b)
    assert wanted.risk_b == pytest.approx(crps_decomposition(Y, quantiles=QB, levels=of_b).risk, rel=1e-12)
    check(crps_difference(Y, quantiles_a=a.iloc[:, ::-1], quantiles_b=b[[*b.columns[2:], *b.columns[:2]]]), wanted)
    check(crps_difference(Y, A, quantiles_b=QB, levels=of_b), crps_difference(Y, A, quantiles_b=b))
    both = crps_difference(Y, quantiles_a=QA, quantiles_b=QB[:, 1:6], levels=LEVELS)
    assert both.risk_a == pytest.approx(EXPECTED.risk_a, rel=1e-12)
    refused(r"levels = .*None beside quantiles of shapes \(60, 5\) and \(60, 7\).*name the columns of both", Y, quantiles_a=QA, quantiles_b=b, levels=LEVELS)
    refused("those that the columns of quantiles_b are named after", Y, A, quantiles_b=b, levels=[0.1, *of_b[1:]])
    refused("levels = None: expected 5 levels, one for each column of quantiles_a", Y, quantiles_a=QA, ensemble_b=B)


@pytest.mark.parametrize(("arguments", "options", "message"), [
    ((Y,), {}, "ensemble_a = None: expected either an ensemble or quantiles; pass ensemble_a=..., or quantiles_a="),
    ((Y, A), {}, "ensemble_b = None: expected either an ensemble or quantiles; pass ensemble_b=..., or quantiles_b="),
    ((Y, A, B), {"quantiles_b": QB}, "ensemble_b = an array beside quantiles_b"),
    ((Y, A, B), {"levels": LEVELS}, "levels = .*None beside an ensemble; pass quantiles_a=..., or quantiles_b="),
    ((Y, A), {"quantiles_b": QB[:, ::-1], "levels": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]}, r"quantiles_b = values that fall .*numpy.sort\(quantiles_b"),
    ((Y, A, B[:-1]), {}, r"ensemble_b = an array of shape \(59, 7\): expected the rows of ensemble_a"),
    ((Y[:-1], A, B), {}, r"y_true = an array of shape \(59,\): expected shape \(60,\), one outcome for each forecast of ensemble_a"),
    ((Y, A[:, 0], B), {}, r"ensemble_a = an array of shape \(60,\)"),
    ((Y, A, np.where(np.arange(N)[:, None] == 8, np.nan, B)), {}, "ensemble_b = nan at row 8"),
    ((np.where(np.arange(N) == 7, np.inf, Y), A, B), {}, "y_true = inf at row 7"),
    ((Y, A, B.astype(str)), {}, "ensemble_b = values of type"),
    ((Y, A, B), {"sample_weight": -W}, "sample_weight = -"),
    ((Y, A, B), {"confidence_level": 95}, "confidence_level"),
    ((Y, A, B), {"groups": G, "blocks": 3}, "blocks = 3"),
    ((Y, A, B), {"blocks": N}, "1 block of all rows"),
    ((Y[:1], A[:1], B[:1]), {}, "y_true = 1 row"),
])
def test_what_is_refused(arguments: Any, options: Any, message: str) -> None:
    refused(message, *arguments, **options)


def test_columns_that_are_no_forecasts_are_refused() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(B, columns=[f"m{i}" for i in range(7)]).assign(observed=Y, id=np.arange(N))
    for odd in ("observed", "id"):
        refused(f"ensemble_b = a column named '{odd}'", table.observed, A, table.drop(columns={"observed", "id"} - {odd}))


def test_blocks_ask_for_the_order_of_a_series() -> None:
    pd = pytest.importorskip("pandas")
    y, a, b = pd.Series(Y, INDEX), pd.DataFrame(A, INDEX), pd.DataFrame(B, INDEX)
    assert crps_difference(y, a, b, blocks=3).standard_error == crps_difference(Y, A, B, groups=np.arange(N) // 3).standard_error
    assert crps_difference(y, a, b, blocks="auto").n_groups == 15
    refused("blocks = 3 beside rows of the index", y, a, b.iloc[ORDER], blocks=3)
    refused("blocks = 3 beside rows of the index", y.iloc[ORDER], a.iloc[ORDER], b.iloc[ORDER], blocks=3)
    refused("blocks = 3 beside rows of the index", Y, A, b.iloc[ORDER], blocks=3)
    refused("blocks = 3 beside rows of 2 dimensions", *grids(), blocks=3)


def test_messages_name_no_rows_of_lazy_tables_in_any_order() -> None:
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"id": np.arange(N), "y": Y, **{f"m{i}": B[:, i] for i in range(7)}}).lazy()
    missing = pl.when(pl.col("id") == 4).then(float("nan")).otherwise(pl.col("m3")).alias("m3")
    for query, where in ((table, "row 4"), (table.unique("id"), "1 row of a lazy table in any order")):
        odd = query.with_columns(missing)
        y, b = odd.select("y"), odd.select("^m.$")
        with pytest.raises(ValueError, match=f"ensemble = nan at {where}:"):
            crps_decomposition(y, b)
        refused(f"ensemble_b = nan at {where}:", y, odd.select("m0", "m1"), odd.select("^m.$"))


# ------------------------------------------------------------------ the result
def test_results() -> None:
    low, high = EXPECTED.interval()
    assert low < EXPECTED.interval(0.5)[0] < EXPECTED.difference < EXPECTED.interval(0.5)[1] < high
    with pytest.raises(ValueError, match="confidence_level"):
        EXPECTED.interval(95)
    text = str(WEIGHTED)
    assert text.startswith("CRPS, in units of the outcome")
    assert "n = 60 in 30 groups" in text
    assert f"p = {WEIGHTED.pvalue:.3g}" in text
    assert f"[{WEIGHTED.interval()[0]:.6g}, {WEIGHTED.interval()[1]:.6g}]" in WEIGHTED._repr_html_()
    assert str(pickle.loads(pickle.dumps(WEIGHTED))) == text  # noqa: S301
    wide = crps_difference(Y, A, B, confidence_level=0.99)
    assert wide.interval() == EXPECTED.interval(0.99)
    assert "99% interval" in str(wide)


def test_forms_of_results() -> None:
    pytest.importorskip("xarray")
    data, flat, frame = WEIGHTED.to_xarray(), WEIGHTED.to_dict(), WEIGHTED.to_frame()
    assert float(data.difference) == WEIGHTED.difference
    assert data.interval.values.tolist() == list(WEIGHTED.interval())
    assert data.attrs == {"n_samples": 60, "confidence_level": 0.95, "n_groups": 30}
    assert (flat["risk_a"], flat["lower"], flat["n_groups"]) == (WEIGHTED.risk_a, WEIGHTED.interval()[0], 30)
    assert frame.loc["risk", "pvalue"] == WEIGHTED.pvalue
    assert frame.loc["risk", "upper"] == WEIGHTED.interval()[1]
