"""The index that pandas writes into parquet files: rows are matched by it, and it may say that rows are no series.

Rows are sorted by their class, as in folders of images, and the second file has them in another order within each
class: labels agree row by row, whatever the order is.
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

pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

N = 60
RNG = np.random.default_rng(0)
CODES, FIRST, SECOND, WITHIN = two_models_by_class(N, RNG)
WORDS = [f"im{i}" for i in range(N)]
SHIFTED = pd.RangeIndex(5, 5 + N)
STAMPS = pd.date_range("2024-01-01", periods=N, freq="h")
INDEXES = {
    "words": pd.Index(WORDS),
    "named": pd.Index(WORDS, name="id"),
    "numbers": pd.Index(RNG.permutation(N) + 100),
    "times": STAMPS,
    "levels": pd.MultiIndex.from_arrays([np.arange(N) // 7, np.arange(N) % 7], names=["patient", "visit"]),
    "range": SHIFTED,
}


def table(proba: Any, index: Any = None) -> Any:
    return pd.DataFrame(proba, index, CLASS_NAMES).assign(label=CLASS_NAMES[CODES])


def written(folder: Path, name: str, frame: Any, **options: Any) -> Path:
    path = folder / name
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, **options)
    return path


def pair(a: Path, b: Path, **options: Any) -> Matched:
    return matched([read_predictions(each, find_id=True, **options) for each in (a, b)])


# ---------------------------------------------------------------- several files for the same rows


@pytest.mark.parametrize("kind", INDEXES)
def test_rows_are_matched_by_the_index(kind: str, tmp_path: Path) -> None:
    a = written(tmp_path, "a.parquet", table(FIRST, INDEXES[kind]))
    b = written(tmp_path, "b.parquet", table(SECOND, INDEXES[kind]).iloc[WITHIN])
    found = pair(a, b)
    np.testing.assert_array_equal(found.models["b.parquet"], SECOND)
    assert found.paired_by == ("by their ids" if kind == "named" else "by their index")


def test_levels_of_an_index_are_matched_by_their_names(tmp_path: Path) -> None:
    a = written(tmp_path, "a.parquet", table(FIRST, INDEXES["levels"]))
    b = written(tmp_path, "b.parquet", table(SECOND, INDEXES["levels"]).iloc[WITHIN].swaplevel())
    np.testing.assert_array_equal(pair(a, b).models["b.parquet"], SECOND)


@pytest.mark.parametrize(("name", "kind"), [("id", int), (None, int), (None, float), ("visit", "string")])
def test_an_index_is_matched_with_ids_of_another_file(name: str | None, kind: Any, tmp_path: Path) -> None:
    a = written(tmp_path, "a.parquet", table(FIRST, pd.Index(np.arange(N) + 7, name=name).astype(kind)))
    b = written(tmp_path, "b.csv", table(SECOND).assign(id=np.arange(N) + 7).iloc[WITHIN])
    np.testing.assert_array_equal(pair(a, b).models["b.csv"], SECOND)
    np.testing.assert_array_equal(pair(b, a).models["a.parquet"], FIRST[WITHIN])


def test_an_index_of_something_else_says_nothing_beside_ids(tmp_path: Path) -> None:
    """Rows of a table from which some were taken keep their numbers there."""
    a = written(tmp_path, "a.parquet", table(FIRST, INDEXES["numbers"]))
    b = written(tmp_path, "b.csv", table(SECOND).assign(id=WORDS))
    found = pair(a, b)
    np.testing.assert_array_equal(found.models["b.csv"], SECOND)
    assert found.paired_by == "by their order"
    both = [written(tmp_path, f"{i}.parquet", table(p, INDEXES["numbers"]).assign(id=WORDS).iloc[rows])
            for i, (p, rows) in enumerate([(FIRST, slice(None)), (SECOND, WITHIN)])]
    np.testing.assert_array_equal(pair(*both).models["1.parquet"], SECOND)


def test_other_rows_are_refused(tmp_path: Path) -> None:
    a = written(tmp_path, "a.parquet", table(FIRST, INDEXES["words"]))
    b = written(tmp_path, "b.parquet", table(SECOND, [f"{each}.png" for each in WORDS]))
    with pytest.raises(ValueError, match=r"b\.parquet: index = rows of the index im0\.png, .*: expected the rows of .*a\.parquet, im0, .* if rows stand in one order\.$"):
        pair(a, b)
    default = written(tmp_path, "default.parquet", table(FIRST))
    shuffled = written(tmp_path, "shuffled.parquet", table(SECOND).iloc[WITHIN])
    with pytest.raises(ValueError, match=r"expected the order of .*default\.parquet"):
        pair(default, shuffled)


def test_an_index_on_one_side_alone_or_none_says_nothing(tmp_path: Path) -> None:
    twice = pd.Index([*range(N // 2), *range(N // 2)])
    bare = written(tmp_path, "bare.parquet", table(FIRST), index=False)
    others = {
        "words": table(SECOND, INDEXES["words"]),
        "default": table(SECOND),
        # The numbers of another order, beside a file that left its own out.
        "shuffled": table(SECOND, WITHIN),
        "twice": table(SECOND, twice),
    }
    for name, other in others.items():
        found = pair(bare, written(tmp_path, f"{name}.parquet", other))
        np.testing.assert_array_equal(found.models[f"{name}.parquet"], SECOND)
        assert found.paired_by == "by their order"
    # Of folds that were put together each has its own numbers.
    found = pair(written(tmp_path, "a.parquet", table(FIRST, twice)), tmp_path / "twice.parquet")
    np.testing.assert_array_equal(found.models["twice.parquet"], SECOND)


def test_levels_that_a_caller_names_are_columns(tmp_path: Path) -> None:
    index = pd.MultiIndex.from_arrays([WORDS, np.arange(N) % 9, np.arange(N) + 1.0], names=["image", "patient", "w"])
    path = written(tmp_path, "a.parquet", table(FIRST, index))
    found = read_predictions(path, id_column="image", group_column="patient", weight_column="w")
    assert found.ids is not None
    assert found.groups is not None
    assert found.ids.tolist() == WORDS
    assert found.groups.tolist() == [str(i % 9) for i in range(N)]
    np.testing.assert_array_equal(found.sample_weight, np.arange(N) + 1.0)
    assert found.rows is None
    found = read_predictions(path, drop=["image", "patient"])
    assert found.rows is not None
    assert found.rows.names == ["w"]
    assert found.class_names == tuple(CLASS_NAMES)


def test_a_comparison_of_files_is_that_of_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = table(FIRST, INDEXES["words"]), table(SECOND, INDEXES["words"]).iloc[WITHIN]
    paths = [str(written(tmp_path, name, each)) for name, each in (("a.parquet", a), ("b.parquet", b))]
    assert main(["compare", *paths, "--generator", "brier", "--term", "risk", "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert record["paired"] == "by their index"
    models = {"a": a[CLASS_NAMES], "b": b[CLASS_NAMES]}
    (wanted,) = propercal.compare_models(a["label"], models, generator="brier", term="risk").pairs
    assert record["pairs"][0]["standard_error"] == pytest.approx(wanted.standard_error, rel=1e-9)
    assert "paired by their index" in str(propercal.report(paths).html)


# ---------------------------------------------------------------- rows that are no series

BLOCKS = r"expected the order of the series.*; sort the file by time, or leave its index and its ids out"
SHUFFLED = RNG.permutation(N)


@pytest.mark.parametrize("index", [STAMPS, STAMPS.strftime("%d.%m.%Y %H:%M"), pd.RangeIndex(5, 5 + N)])
def test_blocks_of_rows_that_are_no_series_are_refused(index: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(written(tmp_path, "a.parquet", table(FIRST, index).iloc[SHUFFLED]))
    for arguments in (["decompose"], ["test", "--n-resamples", "19"], ["report", "-o", str(tmp_path / "r.html")]):
        assert main([*arguments, path, "--blocks", "3"]) == 1
        assert "beside rows of the index" in capsys.readouterr().err
    with pytest.raises(ValueError, match=BLOCKS):
        propercal.report(path, blocks=3)
    with pytest.raises(ValueError, match=BLOCKS):
        matched([read_predictions(path)] * 2, 5)
    for rows in (slice(None), slice(None, None, -1)):
        written(tmp_path, "a.parquet", table(FIRST, index).iloc[rows])
        assert main(["decompose", path, "--blocks", "3"]) == 0
    written(tmp_path, "a.parquet", table(FIRST, index).iloc[SHUFFLED], index=False)
    assert main(["decompose", path, "--blocks", "3"]) == 0


def test_ids_are_in_any_order_unless_they_are_times_or_count_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--blocks", "3", "--id-column", "visit"]
    numbers = [f"2024-{i:04d}" for i in SHUFFLED]
    for ids, code in ((STAMPS.astype(str)[SHUFFLED], 1), (STAMPS.astype(str), 0), (SHUFFLED, 1), (SHUFFLED * 37, 0), (WORDS, 0), (numbers, 0)):
        path = str(written(tmp_path, "a.csv", table(FIRST).assign(visit=ids)))
        assert main(["decompose", path, *flags]) == code
        assert ("beside rows of the index " in capsys.readouterr().err) == (code == 1)


def test_ids_that_rows_are_matched_by_say_an_order_or_none(tmp_path: Path) -> None:
    def both(ids: Any, blocks: int | None) -> Any:
        a = written(tmp_path, "a.csv", table(FIRST).assign(id=ids))
        b = written(tmp_path, "b.csv", table(SECOND).assign(id=ids).iloc[WITHIN])
        return matched([read_predictions(each, find_id=True) for each in (a, b)], blocks).models["b.csv"]

    np.testing.assert_array_equal(both(np.arange(N), 5), SECOND)
    np.testing.assert_array_equal(both(WORDS, None), SECOND)
    # Nobody says which of the two is in the order of the series.
    with pytest.raises(ValueError, match=r"a\.csv: .*in which y_true stand in another order"):
        both(WORDS, 5)


@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_blocks_of_rows_whose_time_is_left_out(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are no neighbours where it goes up and down; other times, such as of birth, may."""
    shuffled = RNG.permutation(N)

    def said(name: str, rows: Any) -> tuple[int, str]:
        path = tmp_path / f"{name}.{suffix}"
        flags = [] if suffix == "npz" else ["--drop", name]
        if suffix == "npz":
            np.savez(path, labels=CLASS_NAMES[CODES], probs=FIRST, **{name: STAMPS.to_numpy()[rows]})
        else:
            written(tmp_path, path.name, table(FIRST).assign(**{name: STAMPS[rows]}))
        code = main(["decompose", str(path), *flags, "--blocks", "3"])
        return code, capsys.readouterr().err

    for name in ("time", "timestamp", "date", "ts"):
        code, error = said(name, shuffled)
        assert code == 1
        assert f"blocks 3 beside rows whose {name!r}, which is left out" in error
        assert "sort the file by time" in error
    for name, rows in (("time", slice(None)), ("time", slice(None, None, -1)), ("born", shuffled)):
        code, error = said(name, rows)
        assert (code, "left out" in error) == (0, False)
