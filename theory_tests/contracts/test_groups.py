"""Groups and blocks as arguments: how they are read, what is refused, and what is said without them."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import propercal
from propercal.cli.command import main
from propercal.reporting.plain import in_plain_words
from propercal.simulation import TemperatureScaledSimplex
from theory_tests.laws.test_dependent_rows import numbers

Y, P, TRUE = TemperatureScaledSimplex(3).sample(120, random_state=0)
GROUPS = np.repeat(np.arange(40), 3)
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "decompose": lambda **options: propercal.decompose(Y, P, **options),
    "calibration_test": lambda **options: propercal.calibration_test(Y, P, n_resamples=9, random_state=0, **options),
    "paired_difference": lambda **options: propercal.paired_difference(Y, P, TRUE, **options),
    "calibration_error": lambda **options: propercal.calibration_error(Y, P, **options),
}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": GROUPS[:-1]}, r"groups = an array of shape \(119,\): expected one label for each row"),
        ({"groups": np.stack([GROUPS, GROUPS], axis=1)}, r"groups = an array of shape \(120, 2\)"),
        ({"groups": np.where(GROUPS == 2, np.nan, GROUPS)}, "groups = missing values at rows 6, 7, 8"),
        ({"groups": [None, *map(str, GROUPS[1:])]}, "groups = missing values at row 0"),
        ({"groups": np.zeros(120)}, "groups = 1 group of all rows"),
        ({"groups": GROUPS % 10}, "groups = 10 groups: expected 20 or more"),
        ({"groups": GROUPS, "blocks": 3}, "blocks = 3: expected None beside groups="),
        ({"blocks": 0}, "blocks = 0: expected a whole number of rows from 1 to 120"),
        ({"blocks": True}, "blocks = True"),
        ({"blocks": "week"}, "blocks = 'week'"),
        ({"blocks": 120}, "blocks = 1 block of all rows"),
        ({"blocks": 10}, r"blocks = 12 blocks: expected 20 or more for .*: only blocks are independent of each other; collect more, or use shorter blocks if"),
    ],
)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_cannot_be_used_is_refused(function: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FUNCTIONS[function](**options)


@pytest.mark.parametrize("method", ["risk", "direct"])
def test_published_methods_refuse_groups_with_the_reason(method: str) -> None:
    with pytest.raises(ValueError, match=r"groups = 40 groups: .* sees the labels of its group"):
        propercal.decompose(Y, P, method=method, groups=GROUPS)
    with pytest.raises(ValueError, match=r"blocks = 40 blocks: .* sees the labels of its block; use .*whole blocks"):
        propercal.decompose(Y, P, method=["debiased", method], blocks=3)


@pytest.mark.parametrize("options", [{"groups": GROUPS}, {"blocks": 3}])
def test_dask_collections_refuse_groups_with_the_reason(options: dict[str, Any]) -> None:
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="beside a Dask collection: expected data in memory"):
        propercal.decompose(da.from_array(Y), da.from_array(P), notion="classwise", **options)


def test_groups_are_matched_by_index_as_weights_are() -> None:
    pd = pytest.importorskip("pandas")
    order = np.random.default_rng(0).permutation(120)
    index = [f"row {i}" for i in range(120)]
    frame = pd.DataFrame(P, index=index)
    labels, groups = (pd.Series(each, index=index) for each in (Y, GROUPS))
    wanted = propercal.decompose(Y, P, groups=GROUPS)
    found = propercal.decompose(labels, frame, groups=groups.iloc[order])
    assert numbers(found) == numbers(wanted)
    # Labels stand in another order than predictions: groups without an index follow neither.
    with pytest.raises(ValueError, match="groups = rows with no index"):
        propercal.decompose(labels.iloc[order], frame, groups=GROUPS)
    compared = propercal.paired_difference(labels, frame, frame.iloc[order], groups=groups.iloc[order])
    assert compared.n_groups == 40
    assert compared.difference == pytest.approx(0, abs=1e-12)
    weight = pd.Series(np.ones(120), index=index)
    with pytest.raises(ValueError, match="groups = rows in another order than those of sample_weight"):
        propercal.decompose(Y, P, sample_weight=weight, groups=groups.iloc[order])


@pytest.mark.parametrize("kind", ["category", "string", "Int64", "polars", "pyarrow", "xarray", "list", "torch"])
def test_groups_may_be_in_any_holder(kind: str) -> None:
    groups: Any
    if kind == "polars":
        groups = pytest.importorskip("polars").Series("g", GROUPS)
    elif kind == "pyarrow":
        groups = pytest.importorskip("pyarrow").array(GROUPS)
    elif kind == "xarray":
        groups = pytest.importorskip("xarray").DataArray(GROUPS, dims="sample")
    elif kind == "torch":
        groups = pytest.importorskip("torch").tensor(GROUPS)
    elif kind == "list":
        groups = [f"g{i}" for i in GROUPS]
    else:
        groups = pytest.importorskip("pandas").Series(GROUPS).astype(kind)
    proba = pytest.importorskip("xarray").DataArray(P, dims=("sample", "class")) if kind == "xarray" else P
    options: dict[str, Any] = {"class_dim": "class"} if kind == "xarray" else {}
    found = propercal.decompose(Y, proba, groups=groups, **options)
    assert numbers(found) == numbers(propercal.decompose(Y, P, groups=GROUPS))


@pytest.mark.parametrize("kind", ["series", "array", "frame", "index", "polars", "pyarrow", "xarray", "list", "spans"])
def test_groups_may_be_times(kind: str) -> None:
    pd = pytest.importorskip("pandas")
    # The oldest xarray has times in nanoseconds alone.
    day = pd.Series(np.datetime64("2024-01-01") + GROUPS.astype("m8[D]")).astype("M8[ns]")
    groups: Any = {"series": day, "array": day.to_numpy(), "frame": day.to_frame("day"), "index": pd.Index(day), "list": list(day), "spans": day - day.min()}.get(kind)
    if kind == "polars":
        groups = pytest.importorskip("polars").Series("g", day.dt.date)
    elif kind == "pyarrow":
        groups = pytest.importorskip("pyarrow").array(day)
    elif kind == "xarray":
        groups = pytest.importorskip("xarray").DataArray(day.to_numpy(), dims="sample")
    quick: dict[str, Any] = {"generator": "brier", "term": "risk"}
    found = propercal.paired_difference(Y, P, (P + 1 / 3) / 2, groups=groups, **quick)
    assert found.standard_error == propercal.paired_difference(Y, P, (P + 1 / 3) / 2, groups=GROUPS, **quick).standard_error
    if kind == "series":
        with pytest.raises(ValueError, match="groups = missing values at row 5: expected a group for each row"):
            propercal.paired_difference(Y, P, (P + 1 / 3) / 2, groups=day.where(day.index != 5), **quick)
        months = pd.Series(np.where(np.arange(len(Y)) % 2, "2024-01", "2024-02")).astype("datetime64[ns]")
        parts = propercal.decompose_groups(Y, P, groups=months, generator="brier", method="risk", bandwidth=0.1, n_resamples=19)
        assert [str(name)[:10] for name in parts.groups] == ["2024-01-01", "2024-02-01"]


def test_tensors_give_what_arrays_give() -> None:
    torch = pytest.importorskip("torch")
    for p in (P, P.round(1) + 0.01):
        p = p / p.sum(axis=1, keepdims=True)
        wanted, found = (
            propercal.decompose(y, q, groups=GROUPS, bandwidth=0.1)
            for y, q in ((Y, p), (torch.tensor(Y), torch.tensor(p)))
        )
        for name, value in numbers(wanted).items():
            assert numbers(found)[name] == pytest.approx(value, rel=1e-6), name
    test = propercal.calibration_test(torch.tensor(Y), torch.tensor(P), groups=GROUPS, random_state=0)
    assert test.pvalue == propercal.calibration_test(Y, P, groups=GROUPS, random_state=0).pvalue


def test_few_groups_with_most_of_the_rows_are_said() -> None:
    groups = np.arange(120)
    groups[:60] = 0
    with pytest.warns(UserWarning, match="groups of very unequal size leave an effective number of"):
        propercal.decompose(Y, P, groups=groups)


@pytest.mark.parametrize("n", [19 * 5 + 1, 19 * 5 + 4, 20 * 5, 120])
def test_few_groups_of_equal_size_are_not_unequal(n: int) -> None:
    """Nor are blocks of which the last is shorter: L rows in m - 1 of them and r in one make an effective number of m - 1 or more."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in ({"blocks": 5}, {"groups": np.arange(n) // 5}, {"groups": np.arange(n) % 20}):
            assert propercal.decompose(Y[:n], P[:n], **given).n_groups in (20, 24)
        propercal.decompose(Y[:20], P[:20], sample_weight=np.linspace(1.0, 1.1, 20))
    with pytest.warns(UserWarning, match="^sample_weight leaves an effective number of 12"):
        propercal.decompose(Y[:20], P[:20], sample_weight=np.where(np.arange(20) < 10, 1.0, 0.1))


def test_results_say_how_many_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    rows = [f"{a!r},{b!r},{c!r},{y},{g}" for (a, b, c), y, g in zip(P.tolist(), Y, GROUPS, strict=True)]
    table = tmp_path / "p.csv"
    table.write_text("\n".join(["0,1,2,label,patient", *rows]))
    np.savez(tmp_path / "p.npz", labels=Y, probs=P, patient=GROUPS)
    found = []
    for name in ("p.csv", "p.npz"):
        assert main(["decompose", str(tmp_path / name), "--group-column", "patient", "--json"]) == 0
        found += json.loads(capsys.readouterr().out)
    wanted = propercal.decompose(Y, P, groups=GROUPS)
    for record in found:
        assert record["n_groups"] == 40
        assert record["standard_errors"]["risk"] == pytest.approx(wanted.standard_errors["risk"], rel=1e-12)
    assert main(["decompose", str(table), "--group-column", "patient"]) == 0
    assert "40 groups" in capsys.readouterr().out
    assert main(["decompose", str(table), "--group-column", "nobody", "--drop", "patient"]) == 1
    assert "--group-column nobody: expected one of the columns" in capsys.readouterr().err
    table.write_text("\n".join(["0,1,2,label,patient", *rows[:-1], rows[-1].rpartition(",")[0] + ","]))
    assert main(["decompose", str(table), "--group-column", "patient"]) == 1
    assert "missing values at row 119" in capsys.readouterr().err
    np.save(tmp_path / "a_probs.npy", P)
    assert main(["decompose", str(tmp_path / "a_probs.npy"), "--group-column", "g"]) == 1
    assert "--group-column g: an npy file holds one array" in capsys.readouterr().err


def test_datasets_say_how_many_groups() -> None:
    pytest.importorskip("xarray")
    assert propercal.decompose(Y, P, groups=GROUPS).to_xarray().attrs["n_groups"] == 40
    assert "n_groups" not in propercal.decompose(Y, P).to_xarray().attrs


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_repeated_rows_without_groups_are_named(k: int, share: float) -> None:
    y, p, true = TemperatureScaledSimplex(k).sample(300, random_state=1)
    again = np.concatenate([np.arange(300), np.tile(np.arange(int(300 * share)), 4)])
    for function in (propercal.decompose, propercal.calibration_test):
        with pytest.warns(UserWarning, match=r"rows seem to repeat each other.*Pass groups="):
            function(y[again], true[again])
    with pytest.warns(UserWarning, match="rows seem to repeat each other"):
        propercal.paired_difference(y[again], p[again], true[again])


def no_repetitions(y: Any, p: Any, **options: Any) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "an outcome occurred to which the prediction gives probability 0", UserWarning)
        propercal.calibration_test(y, p, n_resamples=1, **options)


@pytest.mark.filterwarnings("ignore:y_true is the most probable class in each")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("decimals", [1, 2, 3])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_ties_of_a_lattice_are_no_repetitions(k: int, decimals: int, seed: int) -> None:
    """Rows whose predictions are rounded, calibrated or overconfident, or right throughout."""
    rng = np.random.default_rng(seed)
    y, p, true = TemperatureScaledSimplex(k).sample(3000, random_state=rng)
    for g in (true, p):
        rounded = (g * 10**decimals).round()
        rounded = (rounded + (rounded.sum(axis=1, keepdims=True) == 0)) / 10**decimals
        rounded /= rounded.sum(axis=1, keepdims=True)
        no_repetitions(y, rounded)
        no_repetitions(g.argmax(axis=1), rounded)
        no_repetitions(np.where(rng.uniform(size=3000) < 0.97, g.argmax(axis=1), y), rounded)


def test_other_ties_are_no_repetitions() -> None:
    """A default for missing inputs, trees with few leaves, saturated networks, several labels a row."""
    rng = np.random.default_rng(0)
    y, p, _ = TemperatureScaledSimplex(3).sample(2000, random_state=rng)
    p[:400] = p[0]
    no_repetitions(y, p)
    leaves = rng.dirichlet([1.0] * 3, 40)[rng.integers(0, 40, 2000)]
    no_repetitions((rng.uniform(size=(2000, 1)) > leaves.cumsum(axis=1)[:, :2]).sum(axis=1), leaves)
    sure = np.clip(rng.normal(0, 8, 2000), -4, 4).round(1)
    no_repetitions((rng.uniform(size=2000) < 1 / (1 + np.exp(-sure))).astype(int), 1 / (1 + np.exp(-sure)))
    several = rng.uniform(size=(2000, 4)).round(1)
    no_repetitions((rng.uniform(size=(2000, 4)) < several).astype(int), several, notion="classwise")


def test_groups_silence_the_warning() -> None:
    again = np.repeat(np.arange(120), 5)
    no_repetitions(Y[again], P[again], groups=again)
    no_repetitions(Y[again], P[again], blocks=5)


PAIRS = np.arange(120) // 2


def n_groups(groups: Any, **options: Any) -> Any:
    return propercal.decompose(Y, P, groups=groups, generator="brier", **options).n_groups


def in_holders(values: list[Any]) -> list[Any]:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    return [values, np.array(values, dtype=object), pd.Series(values, dtype=object), pl.Series(values), pa.array(values), pa.table({"g": values})]


def test_large_numbers_of_groups_are_not_rounded() -> None:
    """10^18 + i are 60 numbers, and one in double precision."""
    pd = pytest.importorskip("pandas")
    large = [10**18 + int(i) for i in PAIRS]
    weight = np.ones(120)
    weight[5] = 0.0
    for values in in_holders([Decimal(each) for each in large]):
        assert n_groups(values) == 60
    assert n_groups([*large[:-2], 0.5, 0.5]) == 60
    missing: list[Any] = list(large)
    missing[5] = None
    for values in [*in_holders(missing), pd.Series(missing, dtype="Int64")]:
        assert n_groups(values, sample_weight=weight) == 60


@pytest.mark.parametrize("number", [int, float, np.int64, Decimal])
def test_a_number_and_its_digits_are_the_same_group(number: Any) -> None:
    pd = pytest.importorskip("pandas")
    mixed = [number(each) if i % 2 else str(each) for i, each in enumerate(PAIRS.tolist())]
    for values in (mixed, np.array(mixed, dtype=object), pd.Series(mixed)):
        assert n_groups(values) == 60


def test_a_time_and_its_text_are_the_same_group() -> None:
    pd = pytest.importorskip("pandas")
    days = [pd.Timestamp("2024-01-05") + pd.Timedelta(days=each) for each in PAIRS.tolist()]
    forms: list[Any] = [str, lambda x: f"{x:%Y-%m-%d}", lambda x: f"{x:%Y/%m/%d}", lambda x: x.date(), lambda x: x.to_pydatetime(), lambda x: x.to_datetime64(), lambda x: x.to_period("D")]
    for form in forms:
        mixed = [form(each) if i % 2 else each for i, each in enumerate(days)]
        for values in (mixed, np.array(mixed, dtype=object), pd.Series(mixed, dtype=object)):
            assert n_groups(values) == 60
    for odd, found in ((f"{days[1]:%d/%m/%Y}", "beside the text '05/01/2024'"), (days[1].tz_localize("UTC"), "of which some have a time zone")):
        with pytest.raises(ValueError, match=f"^groups = times {found}"):
            n_groups([days[0], odd, *days[2:]])
    # What is advised holds.
    assert n_groups([pd.to_datetime(f"{each:%d/%m/%Y}", dayfirst=True) if i % 2 else each for i, each in enumerate(days)]) == 60
    with pytest.warns(UserWarning, match="'2024-01-05' and '2024/01/05', which are one time: read as two groups"):
        assert n_groups([f"{each:%Y/%m/%d}" if i % 2 else f"{each:%Y-%m-%d}" for i, each in enumerate(days)]) == 120
    assert n_groups([f"{each:%d/%m/%Y}" for each in days]) == 60


def test_missing_groups_as_text_or_as_codes_are_refused() -> None:
    pd = pytest.importorskip("pandas")
    names = np.array([None if i % 5 == 0 else f"p{each}" for i, each in enumerate(PAIRS)], dtype=object)
    numbers = np.where(np.arange(120) % 5 == 0, np.nan, PAIRS)
    codes = pd.factorize(names)[0]
    for groups, found in [
        (names.astype(str), "'None'"), (numbers.astype(str), "'nan'"), (pd.Series(names).fillna("NA"), "'NA'"),
        (pd.Series(names).fillna(""), "''"), (codes, "-1"), (codes.astype(float), "-1.0"), (codes.astype(str), "'-1'"),
        (pd.Series(names).astype("category").cat.codes, "-1"),
    ]:
        with pytest.raises(ValueError, match=rf"groups = {found} at rows 0, 5, 10, 15, 20 and 19 more: expected a group for each row"):
            n_groups(groups)
    assert n_groups(PAIRS - 30) == 60


@pytest.mark.parametrize("code", [-9, -99, -999, -9999, -32768])
def test_codes_of_missing_groups_among_numbers_from_0_are_refused(code: int) -> None:
    odd = np.arange(120) % 5 == 0
    for groups in (np.where(odd, code, PAIRS), np.where(odd, code, PAIRS).astype(float), np.where(odd, code, PAIRS).astype(str)):
        with pytest.raises(ValueError, match=rf"groups = '?{code}(\.0)?'? at rows 0, 5, 10, 15, 20 and 19 more: expected a group for each row"):
            n_groups(groups)
    # Beside other numbers below 0 it is one of them.
    assert n_groups(np.where(PAIRS == 0, code, PAIRS - 7)) == 60


@pytest.mark.parametrize("word", ["unknown", "Missing", "?", "-", ".", "not available", "undefined", "none"])
def test_a_group_of_what_is_not_known_is_told(word: str) -> None:
    names = np.array([word if i % 15 == 0 else f"p{each}" for i, each in enumerate(PAIRS)])
    with pytest.warns(UserWarning, match=rf"^groups has the group '{re.escape(word)}', of 8 rows, which is usually written where") as told:
        n_groups(names)
    assert "8 rows" in in_plain_words(str(told[0].message))
    # One row depends on no others, whatever its group is called.
    names[1:][names[1:] == word] = "p0"
    n_groups(names)


def test_missing_groups_of_rows_that_do_not_count_are_read_beside_two_predictions() -> None:
    pd = pytest.importorskip("pandas")
    groups = pd.Series(PAIRS, dtype=object)
    groups[5] = pd.NA
    with pytest.raises(ValueError, match="groups = missing values at row 5"):
        propercal.paired_difference(Y, P, TRUE, groups=groups)
    weight = np.ones(120)
    weight[5] = 0.0
    assert propercal.paired_difference(Y, P, TRUE, groups=groups, sample_weight=weight).n_groups == 60
