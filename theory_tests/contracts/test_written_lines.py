"""Lines of text: comments, marks within objects of JSON, lists that hold no numbers, labels in floating point."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from propercal.cli.command import main
from propercal.cli.files import read_predictions

pd = pytest.importorskip("pandas")

N = 60
RNG = np.random.default_rng(0)
P = RNG.random(N).round(4)
Y = (RNG.random(N) < P) * 1


def table(folder: Path, labels: Any, first: str = "", names: tuple[str, ...] = ("p",)) -> Path:
    columns = (P,) if len(names) == 1 else (1 - P, P)
    frame = pd.DataFrame(dict(zip(names, columns, strict=True))).assign(label=labels)
    path = folder / "a.csv"
    path.write_text(first + frame.to_csv(index=False))
    return path


def lines(folder: Path, rows: Any, end: str = "\n") -> Path:
    path = folder / "a.jsonl"
    text = end.join(json.dumps(each, ensure_ascii=False) for each in rows)
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("first", ["# made by a program\n", "# made by a program, today\n"])
@pytest.mark.parametrize("command", ["decompose", "monitor"])
def test_comments_before_the_header_are_named(first: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, str(table(tmp_path, Y, first))]) == 1
    assert "the first line begins with '# made by a program': expected the names of the columns; leave out lines of comments" in capsys.readouterr().err


def test_a_name_may_begin_with_such_a_sign(tmp_path: Path) -> None:
    path = table(tmp_path, Y, names=("#p",))
    np.testing.assert_array_equal(read_predictions(path).y_true, Y)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c"])
def test_marks_within_text_end_no_line(mark: str, end: str, tmp_path: Path) -> None:
    """One object a line, as RFC 8259 has it: text may hold any sign but control characters, which are escaped."""
    rows = [{"label": int(y), "p": p, "text": f"a{mark}b"} for y, p in zip(Y, P.tolist(), strict=True)]
    path = lines(tmp_path, rows, end)
    np.testing.assert_array_equal(read_predictions(path, drop=["text"]).y_proba[:, 0], P)
    assert main(["monitor", str(path), "--drop", "text", "--chunk-size", "7"]) in (0, 3)


@pytest.mark.parametrize(("value", "said"), [(None, "null"), ([0.5], r"\[0\.5\]"), ("half", "'half'")])
def test_what_is_no_number_in_a_list_is_named(value: Any, said: str, tmp_path: Path) -> None:
    rows = [{"label": int(y), "probs": [1 - p, value if i == 3 else p]} for i, (y, p) in enumerate(zip(Y, P.tolist(), strict=True))]
    with pytest.raises(ValueError, match=rf"'probs' of row 3 holds {said}: expected a number for each class; correct that line"):
        read_predictions(lines(tmp_path, rows))


def test_lists_in_a_column_of_parquet_are_named(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    pd.DataFrame({"label": Y, "probs": [[1 - p, p] for p in P]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"column 'probs' does not hold numbers \(it has lists\): expected a number in each row; write a column for each class"):
        read_predictions(path)


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize("form", ["{:.2f}", "{:.4f}", "{:+d}", "{:.18e}", "{:.1f}"])
def test_labels_in_floating_point_are_numbers(form: str, tmp_path: Path) -> None:
    """As ``float_format``, ``numpy.savetxt`` and R write them."""
    labels = [form.format(int(each) if "d" in form else float(each)) for each in Y]
    np.testing.assert_array_equal(read_predictions(table(tmp_path, labels)).y_true, Y)
    turned = read_predictions(table(tmp_path, labels, names=("1", "0")))
    np.testing.assert_array_equal(turned.y_true, 1 - Y)
    signs = ["+1" if each else "-1" for each in Y]
    np.testing.assert_array_equal(read_predictions(table(tmp_path, signs, names=("1", "-1"))).y_true, 1 - Y)
    assert main(["monitor", str(table(tmp_path, labels)), "--chunk-size", "1"]) in (0, 3)


@pytest.mark.parametrize("names", [("1.00", "0.00"), ("+1", "-1"), ("1.00", "1.0"), ("1e0", "0e0")])
def test_names_of_columns_are_found_as_they_are_written(names: tuple[str, str], tmp_path: Path) -> None:
    labels = np.array(names)[Y]
    np.testing.assert_array_equal(read_predictions(table(tmp_path, labels, names=names)).y_true, Y)


def test_versions_are_no_numbers(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the names '1\.0' and '1\.00', which are one number"):
        read_predictions(table(tmp_path, np.where(Y, "1.00", "1.0")))


# ---------------------------------------------------------------- quotation marks


def texts(folder: Path, said: dict[int, str], suffix: str = "tsv", first: str = "hello") -> str:
    """Write texts without quoting, and return the name of the file."""
    separator = "\t" if suffix == "tsv" else ","
    rows = [separator.join(["text", "label", "p"])]
    rows += [separator.join([said.get(i, first), str(y), str(p)]) for i, (y, p) in enumerate(zip(Y, P, strict=True))]
    (folder / f"a.{suffix}").write_text("\n".join(rows) + "\n")
    return str(folder / f"a.{suffix}")


@pytest.mark.parametrize("suffix", ["tsv", "csv"])
@pytest.mark.parametrize("command", ["decompose", "monitor"])
@pytest.mark.parametrize(
    "said",
    [{5: '"so he said', 25: '"so he said'}, {5: '"so he said', 25: 'she said"'}, dict.fromkeys(range(N), '"so'), {5: '"so'}, {0: '"a', 1: 'b"'}],
)
def test_text_that_begins_with_a_mark_swallows_no_rows(
    said: dict[int, str], command: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before, 20 rows of 60, or 30, were a part of the text, in silence."""
    assert main([command, texts(tmp_path, said, suffix), "--drop", "text"]) == 1
    assert "quotation mark" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    ['"quoted, or ""twice"""', '"of two\nlines"', '"Hello, world\nfoo, 1, 2\nbar"', '5" pipe', '"blanks"  ', '""'],
)
def test_text_in_marks_is_read(text: str, tmp_path: Path) -> None:
    path = texts(tmp_path, {5: text, 7: text}, "csv")
    found = read_predictions(path, drop=["text"])
    np.testing.assert_array_equal(found.y_true, Y)
    np.testing.assert_array_equal(found.y_proba[:, 0], P)
    assert main(["monitor", path, "--drop", "text"]) in (0, 3)


def test_very_long_text_is_read(tmp_path: Path) -> None:
    path = texts(tmp_path, {5: '"' + "long " * 40_000 + '"'}, "csv")
    np.testing.assert_array_equal(read_predictions(path, drop=["text"]).y_true, Y)
