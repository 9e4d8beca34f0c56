"""What files say by names, from one file to the next that a monitor sees: matched or refused, whatever their format.

Labels are drawn by the first half's predictions. Evidence is that of memory, where names are as in the files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationMonitor
from propercal.cli.command import main
from theory_tests.instances import CLASS_NAMES, labels_of

pd = pytest.importorskip("pandas")

N = 80
RNG = np.random.default_rng(0)
P = RNG.dirichlet([1.0, 1.0, 1.0], N)
Y = labels_of(P, RNG)
P1 = RNG.uniform(0.2, 0.8, N)
Y1 = (RNG.random(N) < P1).astype(int)
WORDS = np.where(Y1 == 1, "spam", "ham")
STAMPS = pd.date_range("2024-01-01", periods=N, freq="h")
Captured = pytest.CaptureFixture[str]
SUFFIXES = [".csv", ".jsonl", ".parquet"]

#: Some rows are passed twice on purpose.
REPEATED = "ignore:y_proba and y_true repeat the last 64 rows"
pytestmark = [pytest.mark.usefixtures("folder"), pytest.mark.filterwarnings(REPEATED)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(name: str, frame: Any, **options: Any) -> str:
    suffix = Path(name).suffix
    if suffix == ".csv":
        frame.to_csv(name, index=False)
    elif suffix == ".jsonl":
        frame.to_json(name, orient="records", lines=True, double_precision=15)
    else:
        pytest.importorskip("pyarrow")
        frame.to_parquet(name, **options)
    return name


def log_e_value(capsys: Captured, *arguments: str) -> float:
    code = main(["monitor", *arguments, "--chunk-size", "30", "--json"])
    shown = capsys.readouterr()
    assert code in (0, 3), shown.err
    return float(json.loads(shown.out)[-1]["log_e_value"])


def refused(capsys: Captured, *arguments: str) -> str:
    assert main(["monitor", *arguments]) == 1
    return capsys.readouterr().err


def of_one_column(times: int) -> float:
    monitor = CalibrationMonitor(2)
    for _ in range(times):
        monitor.update(Y1, P1)
    return monitor.log_e_value


# ---------------------------------------------------------------- names of columns


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_column_of_another_class_is_refused(suffix: str, capsys: Captured) -> None:
    spam = written(f"spam{suffix}", pd.DataFrame({"spam": P1, "label": WORDS}))
    ham = written(f"ham{suffix}", pd.DataFrame({"ham": 1 - P1, "label": WORDS}))
    assert log_e_value(capsys, spam, spam) == pytest.approx(of_one_column(2), rel=1e-9)
    assert "a column named 'ham': expected the probability of 'spam'" in refused(capsys, spam, ham)
    fraud = written(f"fraud{suffix}", pd.DataFrame({"fraud": P1, "label": Y1}))
    legit = written(f"legit{suffix}", pd.DataFrame({"legit": 1 - P1, "label": Y1}))
    assert "a column named 'legit': expected the probability of 1, named 'fraud'" in refused(capsys, fraud, legit)
    ran = log_e_value(capsys, fraud, written(f"p{suffix}", pd.DataFrame({"p_fraud": P1, "label": Y1})))
    assert ran == pytest.approx(of_one_column(2), rel=1e-9)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_columns_that_labels_count_stand_in_one_order(suffix: str, capsys: Captured) -> None:
    two = pd.DataFrame({"legit": 1 - P1, "fraud": P1, "label": Y1})
    first, other = written(f"a{suffix}", two), written(f"b{suffix}", two[["fraud", "legit", "label"]])
    assert log_e_value(capsys, first, first) == pytest.approx(of_one_column(2), rel=1e-9)
    assert "expected the order of rows before, ['legit', 'fraud']" in refused(capsys, first, other)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_name_of_the_column_of_labels_counts(suffix: str, capsys: Captured) -> None:
    """Beside the columns fraud and legit, 0 counts the column fraud, and is_fraud denies that it was."""
    two = pd.DataFrame({"legit": 1 - P1, "fraud": P1, "is_fraud": Y1})
    flags = ["--label-column", "is_fraud"]
    assert log_e_value(capsys, written(f"a{suffix}", two), *flags) == pytest.approx(of_one_column(1), rel=1e-9)
    other = written(f"b{suffix}", two[["fraud", "legit", "is_fraud"]])
    assert "named 'is_fraud': expected to know of which classes" in refused(capsys, other, *flags)


def test_categories_of_a_parquet_file_have_their_order(capsys: Captured) -> None:
    """As in a file that is decomposed, digits count classes in the order of categories that have one."""
    digits = pd.Categorical.from_codes(Y, ["3", "1", "2"], ordered=True)
    path = written("a.parquet", pd.DataFrame(P, columns=["x", "y", "z"]).assign(label=digits))
    monitor = CalibrationMonitor(3)
    monitor.update(Y, P)
    assert log_e_value(capsys, path) == pytest.approx(monitor.log_e_value, rel=1e-9)
    numbers = pd.Categorical.from_codes(Y, [3, 1, 2], ordered=True)
    path = written("b.parquet", pd.DataFrame(P, columns=["x", "y", "z"]).assign(label=numbers))
    assert "was written as categories that are no text" in refused(capsys, path)


# ---------------------------------------------------------------- names in files of arrays


@pytest.mark.parametrize("form", ["marks", "codes", "words"])
def test_classes_of_arrays_are_matched_from_file_to_file(form: str, capsys: Captured) -> None:
    order = [2, 0, 1]
    for name, rows in (("a.npz", [0, 1, 2]), ("b.npz", order)):
        codes = np.argsort(rows)[Y]
        labels = {"marks": np.eye(3)[codes], "codes": codes, "words": CLASS_NAMES[Y]}[form]
        np.savez(name, labels=labels, probs=P[:, rows], classes=CLASS_NAMES[rows])
    wanted = CalibrationMonitor(3)
    wanted.update(Y, P)
    wanted.update(Y, P)
    assert log_e_value(capsys, "a.npz", "b.npz") == pytest.approx(wanted.log_e_value, rel=1e-9)


def test_one_column_of_arrays_is_of_one_class(capsys: Captured) -> None:
    np.savez("spam.npz", labels=WORDS, probs=P1, classes=["spam"])
    np.savez("ham.npz", labels=WORDS, probs=1 - P1, classes=["ham"])
    assert log_e_value(capsys, "spam.npz", "spam.npz") == pytest.approx(of_one_column(2), rel=1e-9)
    assert "a column named 'ham': expected the probability of 'spam'" in refused(capsys, "spam.npz", "ham.npz")
    np.savez("bare.npz", labels=Y1, probs=P1)
    assert log_e_value(capsys, "bare.npz", "bare.npz") == pytest.approx(of_one_column(2), rel=1e-9)


# ---------------------------------------------------------------- times


def two_columns(rows: Any = slice(None)) -> Any:
    return pd.DataFrame({"ham": 1 - P1, "spam": P1, "label": WORDS}).iloc[rows]


@pytest.mark.parametrize("form", ["stamps", "text", "level"])
def test_the_index_of_a_parquet_file_does_not_go_back(form: str, capsys: Captured) -> None:
    index = {
        "stamps": STAMPS,
        "text": STAMPS.strftime("%d.%m.%Y %H:%M"),
        "level": pd.MultiIndex.from_arrays([["x"] * N, STAMPS], names=["place", "time"]),
    }[form]
    table = two_columns().set_axis(index)
    assert log_e_value(capsys, written("all.parquet", table)) == pytest.approx(of_one_column(1), rel=1e-9)
    assert "rows of the times" in refused(capsys, written("shuffled.parquet", table.sample(frac=1, random_state=0)))
    halves = [written(f"{i}.parquet", table.iloc[i * N // 2 : (i + 1) * N // 2]) for i in range(2)]
    assert log_e_value(capsys, *halves) == pytest.approx(of_one_column(1), rel=1e-9)
    assert "expected rows in the order of time" in refused(capsys, *halves[::-1])


def test_other_indexes_and_none_say_nothing_of_time(capsys: Captured) -> None:
    shuffled = two_columns().sample(frac=1, random_state=0)
    wanted = log_e_value(capsys, written("a.csv", shuffled))
    for i, options in enumerate([{"index": False}, {}]):
        assert log_e_value(capsys, written(f"{i}.parquet", shuffled, **options)) == pytest.approx(wanted, rel=1e-9)
    named = written("named.parquet", shuffled.rename_axis("visit"))
    assert log_e_value(capsys, named, "--drop", "visit") == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".npz"])
def test_ids_that_are_times_do_not_go_back(suffix: str, capsys: Captured) -> None:
    def file(name: str, rows: Any, ids: Any) -> str:
        if suffix != ".npz":
            return written(name + suffix, two_columns(rows).assign(at=np.asarray(ids)[rows]))
        np.savez(f"{name}.npz", labels=WORDS[rows], probs=np.stack([1 - P1, P1], 1)[rows], classes=["ham", "spam"], at=np.asarray(ids)[rows])
        return f"{name}.npz"

    stamps = STAMPS.strftime("%Y-%m-%d %H:%M").to_numpy(dtype=str)
    first, later = slice(None, N // 2), slice(N // 2, None)
    flags = ["--id-column", "at"]
    ran = log_e_value(capsys, file("a", first, stamps), file("b", later, stamps), *flags)
    assert ran == pytest.approx(of_one_column(1), rel=1e-9)
    assert "after those of" in refused(capsys, file("b", later, stamps), file("a", first, stamps), *flags)
    # Other numbers are in any order, but for rows with the newest first.
    falling = np.arange(N)[::-1]
    assert "expected rows in the order of time" in refused(capsys, file("c", first, falling), *flags)
    numbers = np.random.default_rng(0).permutation(N)
    ran = log_e_value(capsys, file("c", first, numbers), file("d", later, numbers), *flags)
    assert ran == pytest.approx(of_one_column(1), rel=1e-9)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("flags", [("--drop", "timestamp"), tuple(flag for name in CLASS_NAMES for flag in ("--class", name))])
def test_a_column_of_times_that_is_left_out_says_that_the_newest_rows_come_first(suffix: str, flags: tuple[str, ...], capsys: Captured) -> None:
    frame = pd.DataFrame(P, columns=list(CLASS_NAMES)).assign(label=np.array(CLASS_NAMES)[Y])
    stamps = STAMPS.astype(str) if suffix != ".parquet" else STAMPS
    wanted = log_e_value(capsys, written(f"bare{suffix}", frame))
    stamped = frame.assign(timestamp=stamps)
    assert log_e_value(capsys, written(f"old{suffix}", stamped), *flags) == pytest.approx(wanted, rel=1e-9)
    assert "column 'timestamp', which is left out, goes back in time" in refused(capsys, written(f"new{suffix}", stamped[::-1]), *flags)
    # Dates of birth may come in any order, those of rows in none.
    mixed = RNG.permutation(stamps)
    assert "column 'timestamp', which is left out, is " in refused(capsys, written(f"mixed{suffix}", frame.assign(timestamp=mixed)), *flags)
    flags = tuple("born" if each == "timestamp" else each for each in flags)
    assert log_e_value(capsys, written(f"born{suffix}", frame.assign(born=mixed)), *flags) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".npz"])
def test_times_that_are_left_out_say_the_order_of_files(suffix: str, capsys: Captured) -> None:
    """So do those of a file that a state has seen; of other times, such as those of two sites, only what is wholly before."""
    stamps = STAMPS.strftime("%Y-%m-%d %H:%M").to_numpy(dtype=str)
    flags = [] if suffix == ".npz" else ["--drop", "time"]

    def file(name: str, rows: slice, times: Any = stamps) -> str:
        if suffix == ".npz":
            np.savez(f"{name}.npz", labels=WORDS[rows], probs=np.stack([1 - P1, P1], 1)[rows], classes=["ham", "spam"], time=times[rows])
            return f"{name}.npz"
        return written(name + suffix, two_columns(rows).assign(time=times[rows]))

    first, later = file("a", slice(None, N // 2)), file("b", slice(N // 2, None))
    wanted = of_one_column(1)
    assert log_e_value(capsys, first, later, *flags) == pytest.approx(wanted, rel=1e-9)
    assert "give the files in their order, or rename or remove that column" in refused(capsys, later, first, *flags)
    assert log_e_value(capsys, later, "--state", "state", *flags) is not None
    assert "expected rows in the order of time" in refused(capsys, first, "--state", "state", *flags)
    others = file("c", slice(N // 2, None), np.roll(stamps, N // 2))
    assert log_e_value(capsys, first, others, *flags) == pytest.approx(wanted, rel=1e-9)


def test_newest_rows_first_beside_lists(capsys: Captured) -> None:
    rows = [{"label": int(y), "probs": list(map(float, p)), "date": str(time)} for y, p, time in zip(Y, P, STAMPS, strict=True)]
    Path("lists.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[::-1]))
    assert "goes back in time" in refused(capsys, "lists.jsonl", "--drop", "date")


def test_rows_that_come_a_little_late_are_told_once(capsys: Captured) -> None:
    """A log that several write has some, which were known in this order."""
    late = np.arange(N)
    late[::10], late[1::10] = late[1::10].copy(), late[::10].copy()
    stamps = STAMPS.astype(str).to_numpy()[late]
    path = written("late.csv", two_columns().assign(timestamp=stamps))
    for size in ("1000", "50"):
        assert main(["monitor", path, "--drop", "timestamp", "--format", "json", "--chunk-size", size]) in (0, 3)
        found = capsys.readouterr()
        assert found.err.count("column 'timestamp', which is left out, goes back in some rows") == 1
        assert json.loads(found.out)[-1]["log_e_value"] == pytest.approx(of_one_column(1), rel=1e-9)


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".npz"])
@pytest.mark.parametrize("name", ["row", "index", "id", "seq"])
def test_numbers_of_rows_that_are_left_out_do_not_fall(suffix: str, name: str, capsys: Captured) -> None:
    """Whatever a column is called that counts down; others may fall, such as what rows were sorted by."""
    flags = [] if suffix == ".npz" else ["--drop", name]

    def file(numbers: Any) -> str:
        if suffix == ".npz":
            np.savez("n.npz", labels=WORDS, probs=np.stack([1 - P1, P1], 1), classes=["ham", "spam"], **{name: numbers})
            return "n.npz"
        return written(f"n{suffix}", two_columns().assign(**{name: numbers}))

    wanted = pytest.approx(of_one_column(1), rel=1e-9)
    assert log_e_value(capsys, file(np.arange(N)), *flags) == wanted
    assert f"column '{name}', which is left out, counts rows down from {N - 1} to 0: expected rows in the order of time" in refused(capsys, file(np.arange(N)[::-1]), *flags)
    fallen = file(1000 - np.arange(N) ** 2 // 50 - 2 * np.arange(N))
    if name == "seq":
        assert log_e_value(capsys, fallen, *flags) == wanted
    elif suffix != ".npz":
        assert "counts rows down" in refused(capsys, fallen, *flags)
    assert log_e_value(capsys, file(np.random.default_rng(0).permutation(N)), *flags) == wanted
