"""What a file of predictions may look like, and what is said of one that cannot be read."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal.cli.files import PredictionFile, read_predictions

LABELS = np.array([0, 2, 1], dtype=np.int16)
PROBS = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.25, 0.5, 0.25]], dtype=np.float32)


def npz(folder: Path, **arrays: Any) -> Path:
    path = folder / "file.npz"
    np.savez(path, **arrays)
    return path


def csv(folder: Path, text: str) -> Path:
    path = folder / "file.csv"
    path.write_text(text, encoding="utf-8")
    return path


def refuse(path: Path, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read_predictions(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("key", ["probs", "logits"])
def test_npz_gives_the_arrays_as_stored(tmp_path: Path, key: str) -> None:
    data = read_predictions(npz(tmp_path, labels=LABELS, other=np.ones(7), **{key: PROBS}))
    np.testing.assert_array_equal(data.y_true, LABELS)
    np.testing.assert_array_equal(data.y_proba, PROBS)
    assert (data.y_true.dtype.name, data.y_proba.dtype.name) == ("int16", "float32")
    assert data.from_logits is (key == "logits")
    assert data.class_names == ()


def test_npz_confidence_is_a_binary_problem(tmp_path: Path) -> None:
    data = read_predictions(npz(tmp_path, labels=LABELS > 0, confidence=PROBS[:, 0]))
    assert data.y_proba.shape == (3,)
    assert not data.from_logits


def test_npz_is_read_from_str_and_by_upper_case_suffix(tmp_path: Path) -> None:
    path = npz(tmp_path, labels=LABELS, probs=PROBS).rename(tmp_path / "FILE.NPZ")
    assert read_predictions(str(path)).path == path


def assert_table(data: PredictionFile) -> None:
    np.testing.assert_array_equal(data.y_true, [0, 2, 1])
    np.testing.assert_array_equal(data.y_proba, np.round(PROBS.astype(float), 2))
    assert data.y_true.dtype == np.int64
    assert not data.from_logits


@pytest.mark.parametrize("text", [
    pytest.param("label,a,b,c\n0,.5,.3,.2\n2,.1,.1,.8\n1,.25,.5,.25\n", id="integers"),
    pytest.param("a,b,labels,c\n.5,.3,a,.2\n.1,.1,c,.8\n.25,.5,b,.25\n", id="names"),
    pytest.param("label, a, b, c\na, .5, .3, .2\nc, .1, .1, .8\nb, .25, .5, .25\n", id="spaces"),
    pytest.param("label,7,5,3\n7,.5,.3,.2\n3,.1,.1,.8\n5,.25,.5,.25\n", id="numeric names"),
    pytest.param("label,NA,None,01\nNA,.5,.3,.2\n01,.1,.1,.8\nNone,.25,.5,.25\n", id="odd names"),
])
def test_csv(tmp_path: Path, text: str) -> None:
    assert_table(read_predictions(csv(tmp_path, text)))


def test_csv_label_column_is_named(tmp_path: Path) -> None:
    text = "truth,label,b,c\n0,.5,.3,.2\n2,.1,.1,.8\n1,.25,.5,.25\n"
    data = read_predictions(csv(tmp_path, text), label_column="truth")
    assert_table(data)
    assert data.class_names == ("label", "b", "c")


@pytest.mark.parametrize("labels", [("0", "1"), ("False", "True"), ("false", "true"), ("0.0", "1.0")])
def test_csv_with_one_class_column_is_binary(tmp_path: Path, labels: tuple[str, str]) -> None:
    data = read_predictions(csv(tmp_path, f"p,label\n.2,{labels[0]}\n.7,{labels[1]}\n"))
    np.testing.assert_array_equal(data.y_true, [0, 1])
    np.testing.assert_array_equal(data.y_proba, [[0.2], [0.7]])


def test_csv_keeps_every_digit(tmp_path: Path) -> None:
    p = np.random.default_rng(3).random(100)
    text = "label,p\n" + "".join(f"1,{float(value)!r}\n" for value in p)
    np.testing.assert_array_equal(read_predictions(csv(tmp_path, text)).y_proba[:, 0], p)


def test_a_missing_number_stays_missing(tmp_path: Path) -> None:
    data = read_predictions(csv(tmp_path, "label,a,b\n0,,1\n1,0,1\n"))
    np.testing.assert_array_equal(data.y_proba, [[np.nan, 1], [0, 1]])


@pytest.mark.parametrize("labels", [LABELS, list("acb"), pd.Categorical(list("acb")), LABELS * 1.0])
def test_parquet(tmp_path: Path, labels: Any) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "file.parquet"
    frame = pd.DataFrame(np.round(PROBS.astype(float), 2), columns=list("abc"))
    frame.assign(label=labels).to_parquet(path, engine="pyarrow")
    assert_table(read_predictions(path))


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"propercal\[parquet\]"):
        read_predictions(tmp_path / "file.parquet")


@pytest.mark.parametrize(("arrays", "message"), [
    ({"labels": LABELS}, r"arrays 'labels': expected 'labels' and one of 'probs', 'logits'"),
    ({"probs": PROBS}, "arrays 'probs': expected 'labels'"),
    ({}, "arrays none: expected 'labels'"),
    ({"labels": LABELS, "probs": PROBS, "logits": PROBS}, "only one of 'probs', 'logits'"),
    ({"labels": LABELS.astype(object), "probs": PROBS}, "'labels' holds pickled Python objects"),
    ({"labels": LABELS, "probs": PROBS.astype(object)}, "'probs' holds pickled Python objects"),
])
def test_npz_faults(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    refuse(npz(tmp_path, **arrays), message)


class Fuse:
    """Fails the test when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("the file was unpickled",))


def test_npz_that_is_a_pickle_is_not_unpickled(tmp_path: Path) -> None:
    path = npz(tmp_path, labels=np.array([Fuse(), Fuse()], dtype=object), probs=PROBS)
    with pytest.raises(ValueError, match="refused because unpickling can run any code"):
        read_predictions(path)


def intact_npz() -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, labels=LABELS, probs=np.random.default_rng(0).random((500, 3)))
    return stream.getvalue()


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


def archive_of_bytes() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("labels", b"plain")
        archive.writestr("probs", b"plain")
    return stream.getvalue()


@pytest.mark.parametrize(("data", "message"), [
    pytest.param(b"", "not an npz archive", id="empty"),
    pytest.param(b"label,a\n0,1\n", "not an npz archive", id="csv"),
    pytest.param(intact_npz()[:-40], "not an npz archive", id="cut short"),
    pytest.param(flipped(intact_npz()), "array 'probs' cannot be read", id="one byte wrong"),
    pytest.param(archive_of_bytes(), "member 'labels' is not a NumPy array", id="other zip"),
])
def test_corrupt_npz(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "file.npz"
    path.write_bytes(data)
    refuse(path, message)


@pytest.mark.parametrize(("text", "message"), [
    ("", "not a readable csv file: No columns to parse"),
    ("a,b,label\n.5,.5,1,\n.5,.5,0,\n", "Expected 3 fields in line 2, saw 4; name every column"),
    ("a,b,label\n.5,.5,1\n.5,.5,0,\n", "not a readable csv file"),
    ("a,b,label\n.5,.5,1\n.5,.5\n", "no label in 1 row"),
    ("a,b\n.5,.5\n", r"columns 'a', 'b': expected a label column named 'label' or 'labels'; .*--label-column"),
    ("label,labels,a\n0,1,.5\n", "label columns 'label', 'labels': expected one"),
    ("label\n0\n", "expected one column of probabilities per class"),
    ("label,a,b,part\n0,.5,.5,test\n", "column 'part' does not hold numbers"),
    ("label,a,b,split\n0,.5,.5,test\n", "column 'split': its name says that it is no class.*--drop split"),
    ("id,label,a,b,fold\n0,0,.5,.5,1\n", "column 'id', 'fold': its name says .*--drop id --drop fold"),
    (",label,a,b\n0,0,.5,.5\n", "a column without a name"),
    ("label,a,b\n0,.5,.5\n,.5,.5\n", "no label in 1 row"),
    ("label,a,b\n0,.5,.5\ncat,.5,.5\n", r"labels = the names \['0', 'cat'\]: expected names of columns of the table, \['a', 'b'\]; rename the columns"),
    ("label,a,b\n0,.5,.5\n2,.5,.5\n", "labels = 2 at row 1: expected 0 to 1"),
    ("label,a,b\n0,.5,.5\n-1,.5,.5\n", "labels = -1 at row 1: expected 0 to 1"),
    ("label,a,b\n0,.5,.5\n0.5,.5,.5\n", r"labels = the names \['0', '0.5'\]"),
])
def test_csv_faults(tmp_path: Path, text: str, message: str) -> None:
    refuse(csv(tmp_path, text), message)


@pytest.mark.parametrize(("name", "data"), [("file.csv", b"label,a\n\xff\xfe,\x80\n"), ("file.parquet", b"PAR1 and nothing else")])
def test_content_of_another_kind(tmp_path: Path, name: str, data: bytes) -> None:
    kind = name.partition(".")[2]
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(ValueError, match="text that is not in UTF-8" if kind == "csv" else "not a readable parquet file"):
        read_predictions(path)


@pytest.mark.parametrize("name", ["file.txt", "file", "file.gz", "file.npz.gz", "file.parquet.gz", "a.b/file"])
def test_other_types(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"expected \.npz, \.npy, \.csv, .* or \.parquet"):
        read_predictions(tmp_path / name)


def test_npz_has_no_label_column(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="label_column = 'truth'"):
        read_predictions(npz(tmp_path, labels=LABELS, probs=PROBS), label_column="truth")


@pytest.mark.parametrize("name", ["file.npz", "file.csv"])
def test_no_such_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError):
        read_predictions(tmp_path / name)


@pytest.mark.parametrize(
    "folder",
    ["cifar10", "cifar100", "cifar10_longtail", "forecasts", "text", "llm", "imagenet16h", "imagenet_toplabel"],
)  # fmt: skip
def test_real_predictions_are_read(shared: Path, folder: str) -> None:
    paths = sorted((shared / "data" / folder).glob("*.npz"))
    assert paths
    for path in paths:
        data = read_predictions(path)
        assert len(data.y_true) == len(data.y_proba) > 0
        with np.load(path, allow_pickle=False) as archive:
            assert data.from_logits is ("logits" in archive.files)


def test_counts_of_human_labels_are_not_predictions(shared: Path) -> None:
    with pytest.raises(ValueError, match="arrays 'counts', 'labels'"):
        read_predictions(shared / "data" / "human" / "cifar10h.npz")
