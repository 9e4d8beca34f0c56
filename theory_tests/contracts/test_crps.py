"""Forecasts from any holder, what is refused, results, and the numbers of published packages."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from propercal import CRPSDecomposition, crps_decomposition, crps_difference
from propercal.result import TERMS

RNG = np.random.default_rng(0)
MEAN = RNG.normal(size=60)
Y = MEAN + RNG.normal(size=60)
X = MEAN[:, None] + 0.6 * RNG.normal(size=(60, 5))
LEVELS = [0.1, 0.3, 0.5, 0.7, 0.9]
Q = np.sort(X, axis=1)
EXPECTED = crps_decomposition(Y, X)


def same(found: CRPSDecomposition, expected: CRPSDecomposition = EXPECTED) -> bool:
    return all(getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12) for name in TERMS)


def test_columns_that_are_no_forecasts_are_refused() -> None:
    pd, pl, xr = (pytest.importorskip(name) for name in ("pandas", "polars", "xarray"))
    members = [f"m{i}" for i in range(5)]
    table = pd.DataFrame(X, columns=members).assign(observed=Y, id=np.arange(60.0), station_id=1.0)
    for odd in ("observed", "id", "station_id"):
        for y, forecasts in ((table.observed, table[[odd, *members]]), (pl.Series("observed", Y), pl.from_pandas(table[[*members, odd]]))):
            with pytest.raises(ValueError, match=f"ensemble = a column named '{odd}'.*expected columns of members alone"):
                crps_decomposition(y, forecasts)
        if odd != "observed":
            with pytest.raises(ValueError, match=f"quantiles = a column named '{odd}'"):
                crps_decomposition(Y, quantiles=table[[*members, odd]], levels=[*LEVELS, 0.95])
    assert same(crps_decomposition(table.observed, table[members]))
    # The variable has one name.
    assert same(crps_decomposition(xr.DataArray(Y, dims="t", name="t2m"), xr.DataArray(X, dims=("t", "m"), name="t2m")))
    point = crps_decomposition(Y, X[:, :1])
    assert same(crps_decomposition(table.observed, table[["m0"]].set_axis(["observed"], axis=1)), point)


@pytest.mark.parametrize("name", ["obs", "Target", "weight", "lead time", "std", "ens_mean", "yhat_lower", "fold"])
def test_columns_that_are_no_members_are_refused(name: str) -> None:
    pd = pytest.importorskip("pandas")
    members = pd.DataFrame(X, columns=[f"m{i}" for i in range(5)])
    with pytest.raises(ValueError, match=f"ensemble = a column named '{name}': expected columns of members alone"):
        crps_decomposition(Y, members.assign(**{name: 1.0}))
    # A point forecast, and words in names of members.
    assert crps_decomposition(Y, members[["m0"]].set_axis([name], axis=1)).n_members == 1
    assert same(crps_decomposition(Y, members.set_axis([f"{name}_{i}" for i in range(5)], axis=1)))


def test_order_statistics_may_be_quantiles() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(Q[:, 1:4], columns=["lower", "median", "upper"])
    assert same(crps_decomposition(Y, quantiles=table, levels=LEVELS[1:4]), crps_decomposition(Y, quantiles=Q[:, 1:4], levels=LEVELS[1:4]))
    with pytest.raises(ValueError, match="quantiles = a column named 'mean': expected columns of quantiles alone"):
        crps_decomposition(Y, quantiles=table.rename(columns={"median": "mean"}), levels=LEVELS[1:4])


def test_the_weight_of_rows_is_no_member() -> None:
    pd, pl = (pytest.importorskip(name) for name in ("pandas", "polars"))
    weight = pd.Series(np.linspace(1, 2, 60), name="exposure")
    members = pd.DataFrame(X, columns=[f"m{i}" for i in range(5)])
    for given in (weight, weight.to_frame(), pl.Series("exposure", weight.to_numpy())):
        with pytest.raises(ValueError, match="ensemble = a column named 'exposure', as sample_weight is: expected columns of members alone"):
            crps_decomposition(Y, members.assign(exposure=weight), sample_weight=given)
        assert crps_decomposition(Y, members, sample_weight=given).n_members == 5


def test_outcomes_among_the_members_are_told() -> None:
    pd = pytest.importorskip("pandas")
    with pytest.warns(UserWarning, match="Column 5 of ensemble is y_true in every row"):
        crps_decomposition(Y, np.c_[X, Y])
    with pytest.warns(UserWarning, match="Column 'y' of ensemble is y_true in every row"):
        crps_decomposition(Y, pd.DataFrame(X).assign(y=Y))
    for perfect in (np.tile(Y[:, None], 3), Y[:, None]):
        with pytest.warns(UserWarning, match="^ensemble is y_true in each of 60 rows: what came true, it seems"):
            assert crps_decomposition(Y, perfect).risk == 0
    # Outcomes of few values.
    event = (Y > 0).astype(float)
    crps_decomposition(event, np.c_[event, 1 - event])


@pytest.mark.parametrize("form", ["q_{}", "{}", "{}%", "p{}", "percentile_{}"])
def test_quantiles_are_no_members(form: str) -> None:
    pd, xr = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    names = [form.format(level if form in ("q_{}", "{}") else round(100 * level)) for level in LEVELS]
    for table in (pd.DataFrame(Q, columns=names), pd.DataFrame(Q, columns=names).iloc[:, ::-1]):
        with pytest.raises(ValueError, match=r"ensemble = columns named .*: expected members, which are equally likely; pass them as quantiles="):
            crps_decomposition(Y, table)
    with pytest.raises(ValueError, match=r"ensemble = columns named \[0\.1, "):
        crps_decomposition(xr.DataArray(Y, dims="t"), xr.DataArray(Q, dims=("t", "quantile"), coords={"quantile": LEVELS}))
    # Every twentieth member of a hundred: per cent without a sign are numbers of members that do not ascend.
    assert same(crps_decomposition(Y, pd.DataFrame(X, columns=[10, 30, 50, 70, 90])))


QUANTILES_ALONE = r"ensemble = .*as quantiles.* are: expected members, which are equally likely; pass them as quantiles="


@pytest.mark.parametrize(
    "names",
    ["q10 q30 q50 q70 q90", "t_q05 t_q10 t_q50 t_q90 t_q95", "p5 p25 p50 p75 p95", "5th 20th 50th 80th 95th",
     "lo95 lo50 mid hi50 hi95", "lower_80 lower_20 fcst upper_20 upper_80"],
)  # fmt: skip
def test_names_of_quantiles_are_heeded_whatever_the_values(names: str) -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=QUANTILES_ALONE):
        crps_decomposition(Y, pd.DataFrame(X, columns=names.split()))


def test_quantiles_that_cross_in_some_rows_are_no_members() -> None:
    """Each fitted by itself, they do; of members in any order half descend."""
    pd = pytest.importorskip("pandas")
    crossing = np.where(np.arange(len(Q))[:, None] % 4 == 0, Q[:, [0, 2, 1, 3, 4]], Q)
    for names in ([10, 30, 50, 70, 90], ["b10", "b30", "b50", "b70", "b90"], ["p50", "p75", "p90", "p95", "p99"]):
        with pytest.raises(ValueError, match=QUANTILES_ALONE):
            crps_decomposition(Y, pd.DataFrame(crossing, columns=names))
    # Places, ranks, and numbers of members.
    assert same(crps_decomposition(Y, pd.DataFrame(Q, columns=[f"m{i}" for i in range(1, 6)])))
    for names in ([f"q{i}" for i in range(1, 6)], [f"p{i}" for i in range(48, 53)], ["m5", "m20", "m50", "m80", "m95"]):
        assert same(crps_decomposition(Y, pd.DataFrame(X, columns=names)))


def test_advice_on_quantiles_that_cross_under_levels_that_descend() -> None:
    crossing = np.where(np.arange(len(Q))[:, None] < 3, Q[:, [1, 0, 2, 3, 4]], Q)
    with pytest.raises(ValueError, match=r"; select columns in ascending order of their levels, then sort each row: numpy\.sort"):
        crps_decomposition(Y, quantiles=crossing[:, ::-1], levels=LEVELS[::-1])
    # As advised.
    crps_decomposition(Y, quantiles=np.sort(crossing, axis=1), levels=LEVELS)


@pytest.mark.parametrize("along", ["quantile", "percentile"])
def test_an_axis_that_is_called_after_quantiles_has_no_members(along: str) -> None:
    pd, xr = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    for given in (xr.DataArray(X, dims=("t", along)), xr.DataArray(X, {along: range(5)}, ("t", along))):
        with pytest.raises(ValueError, match=QUANTILES_ALONE):
            crps_decomposition(xr.DataArray(Y, dims="t"), given)
    with pytest.raises(ValueError, match=QUANTILES_ALONE):
        crps_decomposition(Y, pd.DataFrame(X, columns=pd.RangeIndex(5, name=along)))
    with pytest.raises(ValueError, match=r"ensemble_b = .*pass them as quantiles_b="):
        crps_difference(Y, X, pd.DataFrame(X, columns=pd.RangeIndex(5, name=along)))


@pytest.mark.parametrize("form", ["{}_1", "{}_2020", "1_{}", "q{}", "{}", "q_{}_m1"])
def test_levels_in_names_of_columns(form: str) -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(Q, columns=[form.format(level) for level in LEVELS])
    wanted = crps_decomposition(Y, quantiles=Q, levels=LEVELS)
    for columns in (table.columns, table.columns[::-1]):
        assert same(crps_decomposition(Y, quantiles=table[columns]), wanted)


QUANTILE_NAMES = [
    "Lo 95|Lo 80|Point Forecast|Hi 80|Hi 95", "AutoARIMA-lo-95|AutoARIMA-lo-80|AutoARIMA|AutoARIMA-hi-80|AutoARIMA-hi-95", "q01|q03|q05|q07|q09",
    "M-ql0.1|M-ql0.3|M-median|M-ql0.7|M-ql0.9", "q_0_1|q_0_3|q_0_5|q_0_7|q_0_9", "p2_5|p10|p50|p90|p97_5", "quantile1|quantile3|quantile5|quantile7|quantile9",
    "L95|L80|fc|U80|U95", "ci_low_95|ci_low_80|fc|ci_high_80|ci_high_95", "lwr|a|fit|b|upr", "conf.low|a|estimate|b|conf.high", "lcl|a|pred|b|ucl",
    "ci_lower|a|mu|b|ci_upper", "pi_l|a|pred|b|pi_u", "Q2.5|Est.Error|Estimate|a|Q97.5",
]  # fmt: skip


@pytest.mark.parametrize("names", QUANTILE_NAMES)
def test_names_of_quantiles_are_none_of_members(names: str) -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(Q, columns=names.split("|"))
    with pytest.raises(ValueError, match=r"^ensemble = columns named .*, as quantiles of these levels are.*pass them as quantiles=\.\.\., with levels="):
        crps_decomposition(Y, table)
    if names[:2] != "p2":
        assert same(crps_decomposition(Y, quantiles=table, levels=LEVELS), crps_decomposition(Y, quantiles=Q, levels=LEVELS))
    if "_0_" in names:
        assert same(crps_decomposition(Y, quantiles=table), crps_decomposition(Y, quantiles=Q, levels=LEVELS))


@pytest.mark.parametrize("names", ["m1|m2|m3|m4|m5", "l1|l2|l3|l4|l5", "q|r|s|t|u", "m_0_1|m_0_2|m_0_3|m_1_1|m_1_2", "low|mid|high|a|b", "p1|p2|p3|p4|p5", "up|down|left|right|fit", "m_k|m_l|m_t|m_v|m_w", "q1|q2|q3|q4|q5"])
def test_other_names_are_of_members(names: str) -> None:
    pd = pytest.importorskip("pandas")
    in_any_order = np.random.default_rng(0).permuted(Q, axis=1)
    assert same(crps_decomposition(Y, pd.DataFrame(in_any_order, columns=names.split("|"))), crps_decomposition(Y, Q))


@pytest.mark.parametrize("names", ["pessimistic|expected|optimistic", "low|mid|high", "bear|base|bull", "left|mid|right"])
def test_members_in_one_order_are_doubted_unless_numbered(names: str) -> None:
    """Of m equally likely ones n rows are in one order with a chance of m!^(1 − n)."""
    pd = pytest.importorskip("pandas")
    for order in ([0, 1, 2], [2, 0, 1]):
        table = pd.DataFrame(Q[:, order], columns=names.split("|"))
        with pytest.warns(UserWarning, match=r"^Columns \[.*\] of ensemble stand in one order in each of \d+ rows.*quantiles=\.\.\., with levels="):
            found = crps_decomposition(Y, table)
        assert same(found, crps_decomposition(Y, Q[:, :3]))
        assert same(crps_decomposition(Y, table.set_axis(["m1", "m2", "m3"], axis=1)), found)
    crps_decomposition(Y[:19], table[:19])
    mixed = table.copy()
    mixed.iloc[0] = mixed.iloc[0, ::-1].to_numpy()
    crps_decomposition(Y, mixed)


@pytest.mark.parametrize(("letter", "last"), [("D", 9), ("Q", 3), ("q", 3)])
def test_deciles_and_quartiles_are_doubted_as_members(letter: str, last: int) -> None:
    """Members may have such names, but stand in this order in all of 60 rows with a chance of last!^-60."""
    pd = pytest.importorskip("pandas")
    levels = np.arange(1, last + 1) / (last + 1)
    values = Y[:, None] + np.random.default_rng(0).normal(size=(60, 1)) + 3 * (levels - 0.5)
    table = pd.DataFrame(values, columns=[f"{letter}{i}" for i in range(1, last + 1)])
    for columns in (table.columns, table.columns[::-1]):
        with pytest.warns(UserWarning, match=rf"^Columns \['{letter}\d.*\] of ensemble stand in one order in each of 60 rows.*rename them if they are members"):
            crps_decomposition(Y, table[columns])
    # As advised, and in any order.
    assert same(crps_decomposition(Y, quantiles=table, levels=levels.tolist()), crps_decomposition(Y, quantiles=values, levels=levels.tolist()))
    mixed = pd.DataFrame(np.random.default_rng(1).permuted(values, axis=1), columns=table.columns)
    assert same(crps_decomposition(Y, mixed), crps_decomposition(Y, table.set_axis([f"m{i}" for i in range(last)], axis=1)))


@pytest.mark.parametrize("word", ["decile", "quartile", "Quantile", "percentile", "tercile"])
def test_words_of_quantiles_are_none_of_members(word: str) -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=QUANTILES_ALONE):
        crps_decomposition(Y, pd.DataFrame(X, columns=[f"{word}_{i}" for i in range(1, 6)]))


def test_other_units_are_told() -> None:
    """Source: kelvin = degrees Celsius + 273.15; pascal = 100 · hectopascal."""
    for outcome, members, side in ((Y + 273.15, X, "above"), (Y, X + 273.15, "below"), (100 * (Y + 1013), X + 1013, "above")):
        with pytest.warns(UserWarning, match=rf"^y_true is {side} all values of ensemble in 100% of 60 rows.*other units, it seems"):
            crps_decomposition(outcome, members)
    with pytest.warns(UserWarning, match=r"^y_true is above all values of quantiles"):
        crps_decomposition(Y + 273.15, quantiles=Q, levels=LEVELS)
    with pytest.warns(UserWarning, match=r"^y_true is below all values of ensemble_b"):
        crps_difference(Y, X, X + 273.15)
    # Biased forecasts, and those of which outcomes are many standard deviations away.
    assert same(crps_decomposition(Y + 3, X + 3))
    crps_decomposition(Y + 6 * Y.std(), X)
    crps_decomposition(Y, X[:, :1] - 2)


def test_probabilities_of_classes_are_told() -> None:
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 60)
    with pytest.warns(UserWarning, match="^ensemble has rows between 0 and 1 that sum to 1: probabilities of classes, it seems"):
        crps_decomposition(rng.integers(0, 3, 60).astype(float), proba)
    # Members that are shares of one thing each, and equal weights.
    crps_decomposition(rng.uniform(size=60), rng.uniform(size=(60, 3)))


@pytest.mark.parametrize("name", ["se.fit", "fit_se", "pred_sd", "standard_error", "prediction.stderr", "std.error", "pred_se", "standard_deviation", "std_dev"])
def test_what_is_said_of_a_forecast_is_no_member(name: str) -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=rf"^ensemble = a column named '{name}': expected columns of members alone; drop it"):
        crps_decomposition(Y, pd.DataFrame(Q[:, :2], columns=["fit", name]))


def test_levels_in_per_cent() -> None:
    pd = pytest.importorskip("pandas")
    wanted = crps_decomposition(Y, quantiles=Q, levels=LEVELS)
    signed = pd.DataFrame(Q, columns=[f"{100 * level:g}%" for level in LEVELS])
    assert same(crps_decomposition(Y, quantiles=signed.iloc[:, ::-1]), wanted)
    for form in ("{}%", "q{} %", "{}", "p{}"):
        table = pd.DataFrame(Q, columns=[form.format(number) for number in (10, 30, 50, 70, 90)])
        assert same(crps_decomposition(Y, quantiles=table, levels=LEVELS), wanted)
        for columns, levels in ((table.columns[::-1], LEVELS), (table.columns, [0.15, 0.3, 0.5, 0.7, 0.85])):
            with pytest.raises(ValueError, match="expected those that the columns of quantiles are named after"):
                crps_decomposition(Y, quantiles=table.set_axis(columns, axis=1), levels=levels)
    numbers = pd.DataFrame(Q, columns=[10, 30, 50, 70, 90])
    with pytest.raises(ValueError, match="expected those that the columns of quantiles are named after"):
        crps_decomposition(Y, quantiles=numbers, levels=[0.15, 0.3, 0.5, 0.7, 0.85])
    with pytest.raises(ValueError, match="levels = None: expected 5 levels"):
        crps_decomposition(Y, quantiles=numbers)
    # Ranks among nine values, places, and names that say no number.
    for names in ([1, 3, 5, 7, 9], [f"q{i}" for i in range(1, 6)], [f"x{i}" for i in (12, 24, 36, 48, 60)], list("abcde")):
        assert same(crps_decomposition(Y, quantiles=pd.DataFrame(Q, columns=names), levels=LEVELS), wanted)


def test_every_holder() -> None:
    pd, xr, pl, torch = (pytest.importorskip(name) for name in ("pandas", "xarray", "polars", "torch"))
    order = RNG.permutation(60)
    index = np.arange(60) + 100
    assert same(crps_decomposition(Y.tolist(), X.tolist()))
    assert same(crps_decomposition(torch.tensor(Y), torch.tensor(X)))
    assert same(crps_decomposition(pd.Series(Y[order], index[order]), pd.DataFrame(X, index)))
    assert same(crps_decomposition(pl.Series(Y), pl.DataFrame(X, schema=list("abcde"))))
    y = xr.DataArray(Y.reshape(6, 10), dims=("day", "place"), coords={"day": np.arange(6)})
    x = xr.DataArray(X.reshape(6, 10, 5), dims=("day", "place", "member"), coords={"day": np.arange(6)})
    assert same(crps_decomposition(y, x.transpose("member", "place", "day")))
    assert same(crps_decomposition(y[::-1], x, member_dim="member"))
    assert same(crps_decomposition(xr.DataArray(Y, dims="t"), xr.DataArray(X, dims=("t", "number"))))


def test_a_dimension_of_members_is_asked_for() -> None:
    xr = pytest.importorskip("xarray")
    square = xr.DataArray(X[:5].T, dims=("m", "t"))
    with pytest.raises(ValueError, match="to know which of them is that of the members; pass member_dim="):
        crps_decomposition(Y[:5], square)
    assert same(crps_decomposition(Y[:5], square, member_dim="m"), crps_decomposition(Y[:5], X[:5]))
    with pytest.raises(ValueError, match="to know which of them is that of the quantiles; pass member_dim="):
        crps_decomposition(Y[:5], quantiles=square, levels=LEVELS)


def test_levels_of_columns_are_heeded() -> None:
    pd, xr = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    expected = crps_decomposition(Y, quantiles=Q, levels=LEVELS)
    order = [3, 0, 4, 1, 2]
    names = [LEVELS[i] for i in order]
    assert same(crps_decomposition(Y, quantiles=Q[:, order], levels=names), expected)
    assert same(crps_decomposition(Y, quantiles=pd.DataFrame(Q[:, order], columns=names)), expected)
    assert same(crps_decomposition(Y, quantiles=pd.DataFrame(Q[:, order], columns=[f"q{each}" for each in names])), expected)
    table = xr.DataArray(Q[:, order], dims=("row", "quantile"), coords={"quantile": names})
    assert same(crps_decomposition(xr.DataArray(Y, dims="row"), quantiles=table), expected)
    assert same(crps_decomposition(Y, X), crps_decomposition(Y, quantiles=Q, levels=LEVELS))
    with pytest.raises(ValueError, match="those that the columns of quantiles are named after"):
        crps_decomposition(Y, quantiles=pd.DataFrame(Q, columns=LEVELS), levels=[0.1, 0.3, 0.5, 0.7, 0.95])
    single = crps_decomposition(Y, quantiles=pd.DataFrame(Q, columns=LEVELS), levels=np.array(LEVELS, dtype=np.float32).tolist())
    assert single.risk == pytest.approx(expected.risk, rel=1e-6)


def changed(values: Any, where: Any, value: float) -> Any:
    values = np.array(values, dtype=float)
    values[where] = value
    return values


@pytest.mark.parametrize(("arguments", "options", "message"), [
    ((Y,), {}, "ensemble = None: expected either an ensemble or quantiles"),
    ((Y, X), {"quantiles": Q}, "ensemble = an array beside quantiles"),
    ((Y, X), {"levels": LEVELS}, "levels = .*None beside an ensemble"),
    ((Y,), {"quantiles": Q}, "levels = None: expected 5 levels"),
    ((Y,), {"quantiles": Q, "levels": [0.1, 0.3, 0.5, 0.7]}, "levels = .*expected 5 different numbers between 0 and 1"),
    ((Y,), {"quantiles": Q, "levels": [10, 30, 50, 70, 90]}, "levels = .*between 0 and 1"),
    ((Y,), {"quantiles": Q[:, ::-1], "levels": LEVELS}, r"values that fall as the level rises, at rows 0, 1"),
    ((Y[:-1], X), {}, r"y_true = an array of shape \(59,\)"),
    ((Y, X[:, 0]), {}, r"ensemble = an array of shape \(60,\)"),
    ((changed(Y, 7, np.nan), X), {}, "y_true = nan at row 7"),
    ((Y, changed(X, (8, 2), np.inf)), {}, "ensemble = inf at row 8"),
    ((Y, X), {"sample_weight": -np.ones(60)}, "sample_weight = -1.0"),
    ((Y.astype(str), X), {}, "y_true = values of type"),
    ((Y, X), {"n_folds": 2}, "n_folds"),
    ((Y, X), {"max_thresholds": 3}, "max_thresholds = 3"),
    ((Y, X), {"confidence_level": 95}, "confidence_level"),
    ((Y, X), {"random_state": "seed"}, "random_state"),
    ((Y, X), {"groups": np.arange(60) // 10}, "6 groups: expected 20 or more"),
    ((Y, X), {"groups": np.arange(60) // 2, "blocks": 3}, "blocks = 3"),
])
def test_what_is_refused(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        crps_decomposition(*arguments, **options)


def test_rows_of_weight_0_may_lack_everything() -> None:
    weight = np.ones(60)
    weight[[3, 9]] = 0
    found = crps_decomposition(changed(Y, 3, np.nan), changed(X, 9, np.nan), sample_weight=weight)
    rest = weight > 0
    assert same(found, crps_decomposition(Y[rest], X[rest]))
    assert found.n_samples == 58


def test_groups_widen_intervals_and_leave_terms() -> None:
    pd = pytest.importorskip("pandas")
    repeated = np.repeat(np.arange(60), 4)
    alone = crps_decomposition(Y[repeated], X[repeated])
    grouped = crps_decomposition(Y[repeated], X[repeated], groups=pd.Series(repeated).astype(str))
    assert same(alone, grouped)
    assert same(alone)
    assert grouped.n_groups == 60
    for name in ("risk", "calibration_error", "uncertainty"):
        assert grouped.standard_errors[name] == pytest.approx(2 * alone.standard_errors[name], rel=0.02)
        assert grouped.standard_errors[name] == pytest.approx(EXPECTED.standard_errors[name], rel=0.01)
    assert grouped.held_out_refinement > alone.held_out_refinement
    blocks = crps_decomposition(Y, X, blocks=3)
    assert (blocks.n_groups, same(blocks)) == (20, True)


def test_results() -> None:
    assert EXPECTED.interval("risk", 0.5)[1] < EXPECTED.interval("risk")[1]
    with pytest.raises(ValueError, match="name = 'crps'"):
        EXPECTED.interval("crps")
    text = str(EXPECTED)
    assert "n = 60, 5 members" in text
    assert "calibration error" in EXPECTED._repr_html_()
    dataset = EXPECTED.to_xarray()
    assert float(dataset.risk) == EXPECTED.risk
    assert dataset.calibration_error_interval.values.tolist() == list(EXPECTED.interval("calibration_error"))
    assert str(pickle.loads(pickle.dumps(EXPECTED))) == text  # noqa: S301
    assert EXPECTED.risk == pytest.approx(EXPECTED.calibration_error + EXPECTED.refinement)
    assert EXPECTED.refinement == pytest.approx(EXPECTED.uncertainty - EXPECTED.sharpness)


def test_all_outcomes_alike() -> None:
    found = crps_decomposition(np.zeros(30), np.zeros((30, 2)))
    assert [getattr(found, name) for name in TERMS] == [0] * 5
    assert found.interval("uncertainty") == (0, 0)


# ------------------------------------------------------------------ published packages


def test_scoringrules_has_the_same_mean() -> None:
    scoringrules = pytest.importorskip("scoringrules")
    assert np.mean(scoringrules.crps_ensemble(Y, X)) == pytest.approx(EXPECTED.risk, rel=1e-12)


def test_properscoring_has_the_same_mean() -> None:
    properscoring = pytest.importorskip("properscoring")
    assert np.mean(properscoring.crps_ensemble(Y, X)) == pytest.approx(EXPECTED.risk, rel=1e-12)


def test_scores_has_the_same_mean() -> None:
    probability, xr = pytest.importorskip("scores.probability"), pytest.importorskip("xarray")
    found = probability.crps_for_ensemble(xr.DataArray(X, dims=("t", "member")), xr.DataArray(Y, dims="t"), "member", method="ecdf")
    assert float(found) == pytest.approx(EXPECTED.risk, rel=1e-12)


def test_xskillscore_has_the_same_mean() -> None:
    xskillscore, xr = pytest.importorskip("xskillscore"), pytest.importorskip("xarray")
    found = xskillscore.crps_ensemble(xr.DataArray(Y, dims="t"), xr.DataArray(X, dims=("t", "member")))
    assert float(found) == pytest.approx(EXPECTED.risk, rel=1e-12)


@pytest.mark.parametrize("threshold", [-0.5, 0.3])
def test_scores_has_the_same_isotonic_parts_at_a_threshold(threshold: float) -> None:
    """Members 0 and 1 alone: the CRPS of such an event is its Brier score."""
    isotonic = pytest.importorskip("scores.processing").isotonic_fit
    event, share = (threshold >= Y).astype(float), (threshold >= X).mean(axis=1)
    fit = isotonic(share, event)
    regressed = np.interp(share, fit["fcst_sorted"], fit["regression_values"])
    found = crps_decomposition(1 - event, (threshold < X).astype(float))
    assert found.calibration_error == pytest.approx(np.mean((share - event) ** 2 - (event - regressed) ** 2), rel=1e-9)
    assert found.refinement == pytest.approx(np.mean((event - regressed) ** 2), rel=1e-9)


@pytest.mark.parametrize("code", [-9999, -999, 9999, -888, -32768, 1e20, 9.96921e36, float(np.float32(9.969209968386869e36))])
def test_codes_of_missing_values_are_told(code: float) -> None:
    rng = np.random.default_rng(4)
    outcome, members = 280 + rng.normal(size=40), 280 + rng.normal(size=(40, 5))
    changed, of_members = outcome.copy(), members.copy()
    changed[3], of_members[7, 2] = code, code
    with pytest.warns(UserWarning, match=r"^y_true is .* at row 3, which usually stands for a missing value"):
        crps_decomposition(changed, members)
    with pytest.warns(UserWarning, match=r"^ensemble is .* at row 7, which usually stands for a missing value"):
        crps_decomposition(outcome, of_members)
    weight = np.ones(40)
    weight[3] = 0
    found = crps_decomposition(changed, members, sample_weight=weight)
    assert found.risk == pytest.approx(crps_decomposition(np.delete(outcome, 3), np.delete(members, 3, axis=0)).risk, rel=1e-12)
    # The same number among others like it is a number.
    near = code + np.linspace(-100, 100, 41)
    crps_decomposition(near, near[:, None] + rng.normal(size=(41, 5)))
