"""Each format of a file of predictions: the same numbers, or one line that says what is wrong."""

from __future__ import annotations

import gzip
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal._files import formats
from propercal._files.arrays import of_npz
from propercal._files.columns import Columns
from propercal.cli.command import main
from propercal.cli.files import PredictionFile, read_predictions

LABELS = [0, 2, 1, 1]
PROBS = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.25, 0.5, 0.25], [0.6, 0.3, 0.1]])
WEIGHTS = [1.0, 0.5, 2.0, 0.0]
NAMES = ("a", "b", "c")


def table(separator: str, **more: list[Any]) -> str:
    columns: dict[str, list[Any]] = {"label": [NAMES[i] for i in LABELS], **dict(zip(NAMES, PROBS.T.tolist(), strict=True)), **more}
    rows = zip(*columns.values(), strict=True)
    return "\n".join(separator.join(map(str, row)) for row in [columns, *rows]) + "\n"


def objects(**more: list[Any]) -> str:
    rows = [dict(zip(["label", *NAMES], [NAMES[i], *p], strict=True)) for i, p in zip(LABELS, PROBS.tolist(), strict=True)]
    return "".join(json.dumps(row | {name: values[i] for name, values in more.items()}) + "\n" for i, row in enumerate(rows))


def lists(key: str = "probs", **more: list[Any]) -> str:
    return "".join(
        json.dumps({"label": label, key: row, **{name: values[i] for name, values in more.items()}}) + "\n"
        for i, (label, row) in enumerate(zip(LABELS, PROBS.tolist(), strict=True))
    )


def written(path: Path, content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def check(data: PredictionFile, weighted: bool = False) -> None:
    np.testing.assert_array_equal(data.y_true, LABELS)
    np.testing.assert_array_equal(data.y_proba, PROBS)
    assert (data.sample_weight is not None) is weighted
    if weighted:
        np.testing.assert_array_equal(data.sample_weight, WEIGHTS)


TEXTS = {".csv": table(","), ".tsv": table("\t"), ".jsonl": objects()}


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("suffix", TEXTS)
def test_texts(tmp_path: Path, suffix: str, packed: str) -> None:
    check(read_predictions(written(tmp_path / f"my.file{suffix}{packed}", TEXTS[suffix])))


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.jsonl", "p.parquet", "list.jsonl"])
def test_weights_and_columns_that_are_dropped(tmp_path: Path, name: str) -> None:
    more: dict[str, list[Any]] = {"w": WEIGHTS, "id": [7, 8, 9, 10], "note": ["x", "y", "z", ""]}
    path = tmp_path / name
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        pd.read_csv(io.StringIO(table(",", **more)), keep_default_na=False).to_parquet(path)
    else:
        text = {"csv": table(",", **more), "tsv": table("\t", **more), "jsonl": objects(**more)}[path.suffix[1:]]
        written(path, lists("probs", **more) if path.stem == "list" else text)
    check(read_predictions(path, weight_column="w", drop=["id", "note"]), weighted=True)
    faults: list[tuple[dict[str, Any], str]] = [({"drop": ["id"]}, "note"), ({"weight_column": "v", "drop": ["id", "note", "w"]}, "weight_column = 'v'")]
    for wrong, message in faults:
        with pytest.raises(ValueError, match=message):
            read_predictions(path, **({"weight_column": "w"} | wrong))


def test_a_column_to_drop_is_one_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="drop = 'idd': expected some of the columns 'label', 'a'"):
        read_predictions(written(tmp_path / "p.csv", table(",")), drop=["idd"])


@pytest.mark.parametrize("key", ["probs", "logits"])
def test_lists_of_json(tmp_path: Path, key: str) -> None:
    data = read_predictions(written(tmp_path / "p.jsonl", lists(key)))
    check(data)
    assert data.from_logits is (key == "logits")


@pytest.mark.parametrize("suffix", TEXTS)
def test_columns_of_logits(tmp_path: Path, suffix: str) -> None:
    assert read_predictions(written(tmp_path / f"p{suffix}", TEXTS[suffix]), from_logits=True).from_logits


@pytest.mark.parametrize("name", ["probs", "test_logits_2", "my-Probs"])
def test_a_pair_of_arrays(tmp_path: Path, name: str) -> None:
    np.save(tmp_path / f"{name}.npy", PROBS)
    labels = name.replace("logits", "labels").replace("probs", "labels").replace("Probs", "labels")
    with pytest.raises(ValueError, match=f"expected its labels in {labels}.npy beside it"):
        read_predictions(tmp_path / f"{name}.npy")
    np.save(tmp_path / f"{labels}.npy", LABELS)
    data = read_predictions(tmp_path / f"{name}.npy")
    check(data)
    assert data.from_logits is ("logits" in name)


def test_arrays_have_weights_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", labels=LABELS, probs=PROBS, w=WEIGHTS)
    check(read_predictions(tmp_path / "p.npz"))
    check(read_predictions(tmp_path / "p.npz", weight_column="w"), weighted=True)
    with pytest.raises(ValueError, match="weight_column = 'v': expected one of the arrays 'labels', 'probs', 'w'"):
        read_predictions(tmp_path / "p.npz", weight_column="v")
    with pytest.raises(ValueError, match="'probs' with from_logits = True: expected 'logits'"):
        read_predictions(tmp_path / "p.npz", from_logits=True)
    for option in ({"drop": ["w"]}, {"pos_label": "0"}, {"label_column": "labels"}):
        with pytest.raises(ValueError, match=r"= .*: (?:\.npz files have no columns|expected none but beside one column)"):
            read_predictions(tmp_path / "p.npz", **option)
    for words in (["--drop", "w"], ["--pos-label", "0"], ["--label-column", "labels"], ["--from-logits"]):
        assert main(["decompose", str(tmp_path / "p.npz"), *words]) == 1


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(table(",")))
    check(read_predictions("-"))
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 60).round(3)
    text = "label,p,w,id\n" + "".join(f"{int(rng.uniform() < x)},{x},{1 + i % 3},{i}\n" for i, x in enumerate(p))
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["decompose", "-", "--method", "risk", "--bandwidth", "0.1", "--weight-column", "w", "--drop", "id"]) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith("-: 60 rows")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.jsonl", "", "no line: expected one object"),
        ("p.jsonl", "{}\n", "columns none: expected a label column"),
        ("p.jsonl", "[1, 2]\n", "line 1 is no object of JSON; write one"),
        ("p.jsonl", '{"label": 0, "a": 1}\n{"label": 0}\n', "line 2 has the names 'label': expected those of the first line, 'label', 'a'"),
        ("p.jsonl", '{"label": 0, "a": 1, "a": 0}\n', "columns 'a' occur more than once"),
        ("p.jsonl", '{"label": 0, "a": 1\n', "line 1 is no object of JSON"),
        ("p.jsonl", "[" * 100_000, "line 1 is no object of JSON"),
        ("p.jsonl", '{"label": 0, "probs": [1, "x"]}\n', "'probs' of row 0 holds 'x': expected a number"),
        ("p.jsonl", '{"label": 0, "probs": [1, 0]}\n{"label": 0, "probs": [1]}\n', "lists 'probs' of different lengths"),
        ("p.jsonl", '{"label": 0, "probs": [1, 0]}\n{"label": 0, "probs": "01"}\n', "'01' as 'probs' of row 1: expected a list"),
        ("p.jsonl", '{"label": 0, "probs": [1, 0], "logits": [1, 0]}\n', "lists 'probs', 'logits': expected one"),
        ("p.jsonl", '{"label": 0, "probs": [1, 0], "x": 3}\n', "'x' beside the list 'probs'.*--drop"),
        ("p.jsonl", '{"label": "a", "probs": [1, 0]}\n{"label": "a", "probs": {"a": 1, "b": 0}}\n', "'probs' holds objects: expected lists of numbers; write the classes"),
        ("p.jsonl", '{"label": "a", "probs": [{"a": 1}]}\n', "'probs' of row 0 holds {'a': 1}: expected a number for each class"),
        ("p.jsonl", '{"label": 0, "a": [1], "b": 0}\n', "column 'a' does not hold numbers"),
        ("p.tsv", "label,a\n0,1\n", "2 between commas: expected tabs between fields; let its name end in .csv"),
        ("p.csv", "label,a,a \n0,.5,.5\n", "columns 'a' occur more than once"),
        ("p.csv.gz", b"label,a\n", "not a readable gzip file"),
        ("p.csv", b"label,\x00a\n\x00\n", "p.csv: "),
        ("labels.npy", b"", "expected one of 'probs', 'logits', 'confidence' in the name"),
    ],
)  # fmt: skip
def test_faults(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ValueError, match=message) as caught:
        read_predictions(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_long_field_and_many_columns_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "p.csv", f"label,a,note\n0,.5,{'x' * 200_000}\n1,.4,y\n")
    assert read_predictions(path, drop=["note"]).y_proba.shape == (2, 1)


class Counted(str):
    """A name that counts how often it is looked at."""

    looks = 0
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        Counted.looks += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        Counted.looks += 1
        return str.__hash__(self)


def test_names_are_compared_in_linear_time(tmp_path: Path) -> None:
    names = [Counted(i) for i in range(20_000)]
    Counted.looks = 0
    formats.check_distinct(tmp_path, names)
    assert Counted.looks < 10 * len(names)


def header(shape: str, descr: str = "<f8") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    "content",
    [header("(10**12,)"), header("(1000000000000,)"), header("(-1,)"), header("(3,)") + bytes(16), header("(1,)", "|O"), header("(((((1,)"), b""],
)
def test_headers_of_arrays_that_lie(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("labels.npy", content)
        archive.writestr("probs.npy", content)
    with pytest.raises(ValueError, match=r"array 'labels' (cannot be read|holds pickled)") as caught:
        read_predictions(path)
    assert "allow_pickle" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize("suffix", [".npz", ".csv", ".tsv.gz", ".jsonl", ".parquet"])
@pytest.mark.parametrize("make", [lambda path: os.mkfifo(path), lambda path: path.symlink_to("/dev/zero")])
def test_pipes_and_devices_are_refused(tmp_path: Path, suffix: str, make: Callable[[Path], None]) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"p{suffix}"
    make(path)
    with pytest.raises(ValueError, match="not a regular file"):
        read_predictions(path)


@pytest.mark.parametrize("name", ["p.npz", "p.csv", "p.csv.gz", "probs.npy", "p.parquet"])
def test_larger_files_than_the_limit_are_refused(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / name
    probs = np.full((5000, 2), 0.5)
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        pd.DataFrame({"label": 0, "a": 0.5, "b": 0.5}, index=range(5000)).to_parquet(path, index=False)
    elif path.suffix == ".npz":
        np.savez_compressed(path, labels=np.zeros(5000), probs=probs)
    elif path.suffix == ".npy":
        np.save(path, probs)
        np.save(tmp_path / "labels.npy", np.zeros(5000))
    else:
        written(path, "label,a,b\n" + "0,.5,.5\n" * 5000)
    read_predictions(path)
    monkeypatch.setattr(formats, "LIMIT", 20_000)
    with pytest.raises(ValueError, match="bytes: expected 20000"):
        read_predictions(path)


def test_a_terminal_is_told_and_not_commanded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = written(tmp_path / "a\x1b[31m\nb.csv", "label,p\n" + "0,.2\n1,.7\n" * 20)
    bad = written(tmp_path / "c\x1b]0;x\x07.csv", "lab\x1b[2Jel,p\n0,.2\n")
    assert main(["decompose", str(good), str(bad), "--method", "risk", "--bandwidth", "0.1"]) == 1
    with pytest.raises(SystemExit):
        main(["decompose", str(good), "\x1b[31m", "--what\x1b[0m"])
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert r"a\x1b[31m\nb.csv" in shown.out
    assert r"lab\x1b[2Jel" in shown.err


def test_text_that_is_none_in_a_parquet_file(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    offsets = pa.py_buffer(np.array([0, 1, 2], dtype=np.int32).tobytes())
    label = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"\xe2a"))
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"label": label, "a": [0.5, 0.2], "b": [0.5, 0.8]}), path)
    with pytest.raises(ValueError, match="not a readable parquet file") as caught:
        read_predictions(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_ids_in_an_archive_are_one_for_each_row(tmp_path: Path) -> None:
    """In a column too; what else is called `id`, such as that of a run, is none of them."""
    n, names = len(LABELS), [f"r{i}" for i in range(len(LABELS))]
    for ids, found in ((names, names), (np.array(names)[:, None], names), ("run 7", None), (np.zeros((n, 2)), None)):
        np.savez(tmp_path / "p.npz", labels=LABELS, probs=PROBS, id=ids)
        held = of_npz(tmp_path / "p.npz", Columns(None, None, (), False, finds_id=True)).ids
        assert (None if held is None else held.tolist()) == found
        if found is None:
            with pytest.raises(ValueError, match=rf"id_column = 'id', an array of shape .*expected an id for each of {n} rows"):
                read_predictions(tmp_path / "p.npz", id_column="id")


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_text_in_another_encoding_is_said_to_be_so(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("label,é,b\né,0.4,0.6\nb,0.4,0.6\n", encoding=encoding)
    with pytest.raises(ValueError, match=r"text that is not in UTF-8 .*: expected UTF-8; save it so"):
        read_predictions(path)


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_first_line_for_a_spreadsheet_program_is_said_to_be_so(separator: str, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(f"sep={separator}\nlabel,a,b\na,0.4,0.6\nb,0.4,0.6\n")
    with pytest.raises(ValueError, match=r"tells a spreadsheet program .*; leave that line out"):
        read_predictions(path)


@pytest.mark.parametrize("form", ["npz", "npy"])
def test_words_beside_the_probability_that_a_prediction_is_right(form: str, tmp_path: Path) -> None:
    """What is advised is right, and neither a positive class nor names of classes are asked for."""
    words, p = np.array(["no", "yes", "no", "yes"]), np.array([0.6, 0.7, 0.8, 0.9])
    path = tmp_path / f"p_confidence.{form}"

    def write(labels: Any, key: str = "confidence") -> Path:
        if form == "npz":
            np.savez(path, **{"labels": labels, key: p})
            return path
        np.save(tmp_path / "p_labels.npy", labels)
        np.save(path.with_stem(f"p_{key}"), p)
        return path.with_stem(f"p_{key}")

    with pytest.raises(ValueError, match=r"labels 'no', 'yes' beside 'confidence'.*call the array 'probs'"):
        read_predictions(write(words))
    for said in ({"pos_label": "yes"}, {"classes": ["yes"]}):
        with pytest.raises(ValueError, match=r"leave it out, or call the array 'probs'"):
            read_predictions(path, **said)
    assert read_predictions(write(words == "yes")).y_true.tolist() == [False, True, False, True]
    assert read_predictions(write(words, "probs"), pos_label="yes").classes == ("no", "yes")


def test_a_positive_class_beside_a_column_for_each(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("label,fraud,legit\nfraud,0.4,0.6\nlegit,0.3,0.7\n")
    with pytest.raises(ValueError, match=r"; leave out pos_label \(--pos-label on the command line\), or all columns but one"):
        read_predictions(path, pos_label="fraud")


@pytest.mark.parametrize("labels", [[[1, 0], [0, 1]], [{"a": 1}, {"a": 2}]])
@pytest.mark.parametrize("rest", [{"probs": [0.4, 0.6]}, {"a": 0.4, "b": 0.6}])
def test_lists_as_labels_are_said_to_be_so(labels: Any, rest: Any, tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps({"label": each, **rest}) + "\n" for each in labels))
    with pytest.raises(ValueError, match=r"'label' holds lists, or objects: expected text or a number in each line; write the class that occurred"):
        read_predictions(path)
