"""What tells rows of files apart: columns that no flag names, ids that repeat, groups and times written in two ways.

Rows are sorted by their class, and the second file has them in another order within each class, so that labels agree
row by row, whatever the order is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import propercal
from propercal._files.matching import Matched, matched
from propercal.cli.command import main
from propercal.cli.files import read_predictions
from theory_tests.instances import CLASS_NAMES, two_models_by_class

pd = pytest.importorskip("pandas")

N = 60
RNG = np.random.default_rng(0)
CODES, FIRST, SECOND, WITHIN = two_models_by_class(N, RNG)
CASES = RNG.permutation(N)
ONE = (CODES > 0) * 1


def table(proba: Any) -> Any:
    return pd.DataFrame(proba, columns=CLASS_NAMES).assign(label=CLASS_NAMES[CODES])


def binary(proba: Any, **columns: Any) -> Any:
    return pd.DataFrame({"label": ONE, "p": 1 - proba[:, 0], **columns})


def written(folder: Path, name: str, frame: Any) -> Path:
    path = folder / name
    if path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def pair(a: Path, b: Path, **options: Any) -> Matched:
    return matched([read_predictions(each, find_id=True, **options) for each in (a, b)])


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("how", [{"drop": ["case"]}, {"classes": list(CLASS_NAMES)}])
def test_rows_in_another_order_by_a_column_that_is_left_out_are_refused(
    suffix: str, how: dict[str, Any], tmp_path: Path
) -> None:
    a = written(tmp_path, f"a.{suffix}", table(FIRST).assign(case=CASES))
    b = written(tmp_path, "b.csv", table(SECOND).assign(case=CASES * 1.0).iloc[WITHIN])
    with pytest.raises(ValueError, match=rf"b\.csv: column 'case' has the values of that in .*a\.{suffix} in another order.*--id-column"):
        pair(a, b, **how)
    np.testing.assert_array_equal(pair(a, b, id_column="case").models["b.csv"], SECOND)
    same = written(tmp_path, "same.csv", table(SECOND).assign(case=CASES))
    np.testing.assert_array_equal(pair(a, same, **how).models["same.csv"], SECOND)


@pytest.mark.parametrize(
    "values",
    [np.arange(N) % 7, np.arange(N) % 7 / 7, [f"{i}" if i else "" for i in range(N)]],
    ids=["repeated", "fractions", "missing"],
)
def test_columns_that_tell_no_rows_apart_say_nothing(values: Any, tmp_path: Path) -> None:
    a = written(tmp_path, "a.csv", table(FIRST).assign(x=values))
    b = written(tmp_path, "b.csv", table(SECOND).assign(x=np.asarray(values)[WITHIN]))
    np.testing.assert_array_equal(pair(a, b, drop=["x"]).models["b.csv"], SECOND)


@pytest.mark.parametrize("values", [RNG.normal(size=N), [f"text {i % (N - 5)}" for i in range(N)]], ids=["feature", "text"])
def test_what_few_rows_share_tells_their_order(values: Any, tmp_path: Path) -> None:
    """Of a feature with fractions, or text of which some is there twice, the same values stand in another order."""
    a = written(tmp_path, "a.csv", table(FIRST).assign(x=values))
    b = written(tmp_path, "b.csv", table(SECOND).assign(x=np.asarray(values)[WITHIN]))
    apart = len(set(values)) == N
    with pytest.raises(ValueError, match=r"in another order: expected rows in one order; " + ("name it by id_column" if apart else "sort both files alike")):
        pair(a, b, drop=["x"])
    b = written(tmp_path, "b.csv", table(SECOND).assign(x=np.asarray(values)))
    np.testing.assert_array_equal(pair(a, b, drop=["x"]).models["b.csv"], SECOND)


def test_ids_of_two_names(tmp_path: Path) -> None:
    """Values that no other rows have; numbers that count rows are those of any."""
    for values, refused in (([f"im{i}" for i in range(N)], True), (np.arange(N) * 7 + 3, True), (np.arange(N), False)):
        a = written(tmp_path, "a.csv", table(FIRST).assign(case=values))
        b = written(tmp_path, "b.csv", table(SECOND).assign(sample=np.asarray(values)[WITHIN]))
        if refused:
            with pytest.raises(ValueError, match=r"column 'sample' has the values of 'case' in .*give both one name, and name it by id_column"):
                pair(a, b, classes=list(CLASS_NAMES))
        else:
            pair(a, b, classes=list(CLASS_NAMES))


def test_ranks_of_each_model_are_no_ids(tmp_path: Path) -> None:
    a = written(tmp_path, "a.csv", table(FIRST).assign(rank=np.argsort(FIRST[:, 0])))
    b = written(tmp_path, "b.csv", table(SECOND).assign(rank=np.argsort(SECOND[:, 0])))
    np.testing.assert_array_equal(pair(a, b, drop=["rank"]).models["b.csv"], SECOND)


def test_an_archive_and_a_table_are_compared_too(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", labels=CLASS_NAMES[CODES], probs=FIRST, classes=CLASS_NAMES, case=CASES)
    b = written(tmp_path, "b.csv", table(SECOND).assign(case=CASES).iloc[WITHIN])
    with pytest.raises(ValueError, match="column 'case' has the values"):
        pair(tmp_path / "a.npz", b, classes=list(CLASS_NAMES))


# ---------------------------------------------------------------- ids that repeat


@pytest.mark.parametrize("command", ["decompose", "test", "monitor", "report"])
def test_ids_that_repeat_are_refused(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if command == "report":
        pytest.importorskip("jinja2")
    frame = binary(FIRST, case=np.arange(N) // 2)
    path = written(tmp_path, "a.csv", frame)
    assert main([command, str(path), "--id-column", "case"]) == 1
    said = capsys.readouterr().err
    assert "ids '0', '1', '2' and 27 more occur more than once: expected one row each" in said
    assert "--group-column" in said or command == "monitor"
    assert "--drop" in said


def test_rows_of_one_group_may_have_one_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = binary(FIRST, case=np.arange(N) // 2, site=np.arange(N) // 2, other=np.arange(N) % 30)
    path = str(written(tmp_path, "a.csv", frame))
    flags = ["--id-column", "case", "--generator", "brier", "--json"]
    assert main(["decompose", path, *flags, "--group-column", "site", "--drop", "other"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["n_groups"] == 30
    assert main(["decompose", path, *flags, "--group-column", "other", "--drop", "site"]) == 1
    assert main(["decompose", path, *flags, "--group-column", "case", "--drop", "site", "--drop", "other"]) == 0


def test_several_rows_may_be_of_one_time(tmp_path: Path) -> None:
    days = pd.date_range("2024-01-01", periods=N // 2).repeat(2).astype(str)
    path = str(written(tmp_path, "a.csv", binary(FIRST, day=days)))
    for command in (["decompose", "--method", "risk", "--bandwidth", ".1"], ["monitor"]):
        assert main([*command, path, "--id-column", "day"]) in (0, 3)


def test_a_monitor_sees_each_row_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(written(tmp_path, "a.csv", binary(FIRST, case=np.arange(N))))
    again = str(written(tmp_path, "b.csv", binary(FIRST, case=np.arange(N) + 50)))
    assert main(["monitor", path, again, "--id-column", "case", "--chunk-size", "20"]) == 1
    assert f"propercal: {again}: ids '50', '51', '52' and 7 more occur more than once" in capsys.readouterr().err
    assert main(["monitor", path, "--id-column", "case", "--chunk-size", "20"]) == 3


# ---------------------------------------------------------------- blocks


def test_ids_that_count_rows_say_the_order_of_a_series(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--blocks", "3", "--id-column", "visit"]
    for ids, code in ((np.arange(N) + 7, 0), (CASES, 1), (CASES + 7.0, 1), (CASES * 37, 0)):
        path = str(written(tmp_path, "a.csv", table(FIRST).assign(visit=ids)))
        assert main(["decompose", path, *flags]) == code
    assert "expected the order of the series" in capsys.readouterr().err


# ---------------------------------------------------------------- groups


@pytest.mark.parametrize("kind", ["csv", "parquet", "single"])
def test_groups_that_floating_point_may_have_rounded_are_refused(kind: str, tmp_path: Path) -> None:
    """As in memory: float64 has not all whole numbers from 2^53, float32 from 2^24 on."""
    if kind != "csv":
        pytest.importorskip("pyarrow")
    dtype, exponent = (np.float32, 24) if kind == "single" else (np.float64, 53)
    groups = np.arange(N) + 2**exponent
    suffix = "csv" if kind == "csv" else "parquet"
    path = written(tmp_path, f"a.{suffix}", table(FIRST).assign(patient=groups.astype(dtype)))
    with pytest.raises(ValueError, match=rf"group_column = 'patient', in which a group is .*: expected numbers below {2**exponent}, .* as text"):
        read_predictions(path, group_column="patient")
    if exponent == 53:
        with pytest.raises(ValueError, match="subgroup_column = 'patient'"):
            read_predictions(path, subgroup_column="patient")
    whole = written(tmp_path, f"b.{suffix}", table(FIRST).assign(patient=groups))
    found = read_predictions(whole, group_column="patient").groups
    assert found is not None
    assert len(set(found.tolist())) == N


@pytest.mark.parametrize(
    ("mine", "its"),
    [
        ([0, 1, 2], [0.0, 1.0, 2.0]),
        (["2024-01-01", "2024-01-02", "2024-01-03"], ["2024-01-01 00:00:00", "2024-01-02T00:00:00", "2024-01-03"]),
    ],
)
def test_groups_written_in_two_ways_are_the_same(mine: list[Any], its: list[Any], tmp_path: Path) -> None:
    a = written(tmp_path, "a.csv", table(FIRST).assign(g=np.resize(mine, N)))
    b = written(tmp_path, "b.csv", table(SECOND).assign(g=np.resize(its, N)))
    np.testing.assert_array_equal(pair(a, b, group_column="g").models["b.csv"], SECOND)
    other = written(tmp_path, "c.csv", table(SECOND).assign(g=np.resize(mine[::-1], N)))
    with pytest.raises(ValueError, match="groups of rows differ"):
        pair(a, other, group_column="g")


def test_ids_that_are_times_are_matched_in_each_form(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    days = pd.date_range("2024-01-01", periods=N)
    a = written(tmp_path, "a.csv", table(FIRST).assign(id=days.astype(str)))
    b = written(tmp_path, "b.parquet", table(SECOND).assign(id=days).iloc[WITHIN])
    found = pair(a, b)
    np.testing.assert_array_equal(found.models["b.parquet"], SECOND)
    assert found.paired_by == "by their ids"
    np.testing.assert_array_equal(pair(b, a).models["a.csv"], FIRST[WITHIN])
    # Instants are those of their zones.
    hours = pd.date_range("2024-10-27", periods=N, freq="h", tz="UTC")
    local = [each.isoformat() for each in hours.tz_convert("Europe/Berlin")]
    one = written(tmp_path, "one.csv", table(FIRST).assign(id=[each.isoformat() for each in hours]))
    two = written(tmp_path, "two.csv", table(SECOND).assign(id=local).iloc[WITHIN])
    np.testing.assert_array_equal(pair(one, two).models["two.csv"], SECOND)


def test_weights_of_single_precision_are_the_same(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    weights = RNG.random(N)
    a = written(tmp_path, "a.csv", table(FIRST).assign(w=weights))
    b = written(tmp_path, "b.parquet", table(SECOND).assign(w=weights.astype(np.float32)))
    np.testing.assert_array_equal(pair(a, b, weight_column="w").models["b.parquet"], SECOND)
    c = written(tmp_path, "c.csv", table(SECOND).assign(w=weights * 1.001))
    with pytest.raises(ValueError, match="weights of rows differ"):
        pair(a, c, weight_column="w")


# ---------------------------------------------------------------- subgroups


def test_subgroups_of_several_files_are_the_same(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    sites = np.resize(["x", "y", "z"], N)
    a = written(tmp_path, "a.csv", binary(FIRST, s=sites))
    for name, other in (("b", sites[::-1]), ("c", None)):
        b = written(tmp_path, f"{name}.csv", binary(SECOND) if other is None else binary(SECOND, s=other))
        said = "subgroups of rows differ from those" if other is not None else "subgroup_column = 's': expected one of the columns"
        with pytest.raises(ValueError, match=said):
            propercal.report(str(a), str(b), subgroup_column="s")
    both = [read_predictions(written(tmp_path, f"{i}.csv", binary(p, s=sites)), subgroup_column="s") for i, p in enumerate((FIRST, SECOND))]
    np.testing.assert_array_equal(matched(both).models["1.csv"], 1 - SECOND[:, :1])
