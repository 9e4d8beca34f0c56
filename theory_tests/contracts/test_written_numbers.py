"""How files write fields and numbers: other signs are named, with what to do, and it works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import decompose
from propercal.cli.command import main
from propercal.cli.files import read_predictions

#: Probabilities of dry and wet, and what came.
ROWS = [(0.75, 0.25, "dry"), (0.5, 0.5, "wet"), (0.125, 0.875, "wet"), (0.625, 0.375, "dry")]
HEADER = ("dry", "wet", "label")


def written(path: Path, separator: str, comma: str = ".", header: str | None = None) -> Path:
    rows = [[str(each).replace(".", comma) for each in row] for row in ROWS]
    first = separator.join(HEADER) if header is None else header
    path.write_text("\n".join([first, *map(separator.join, rows)]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("command", ["decompose", "monitor"])
@pytest.mark.parametrize(
    ("name", "separator", "comma", "words"),
    [
        ("p.csv", ";", ".", "3 between semicolons: expected commas between fields; write it with commas between fields, and points in numbers."),
        ("p.csv", ";", ",", "3 between semicolons"),
        ("p.csv", "|", ".", "3 between bars"),
        ("p.csv", " ", ".", "3 between blanks"),
        ("p.csv", "\t", ".", "3 between tabs: expected commas between fields; let its name end in .tsv, or write"),
        ("p.csv", "\t", ",", "3 between tabs"),
        ("p.tsv", ",", ".", "3 between commas: expected tabs between fields; let its name end in .csv, or write it with tabs"),
        ("p.csv", ",", ",", "write .*numbers with points"),
        ("p.tsv", "\t", ",", "'0,75', which has a comma\\): expected numbers such as 0.5; write a point"),
    ],
)
def test_what_stands_between_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, separator: str, comma: str, words: str, command: str) -> None:
    """Before, the header was said to be one column without a label, or rows to have too many fields."""
    path = written(tmp_path / name, separator, comma)
    assert main([command, str(path)]) == 1
    error = capsys.readouterr().err
    with pytest.raises(ValueError, match=words):
        raise ValueError(error)


def test_that_advice(tmp_path: Path) -> None:
    """Written with commas between fields and points in numbers, or under the other name."""
    for path, separator in ((tmp_path / "p.csv", ","), (tmp_path / "p.tsv", "\t")):
        data = read_predictions(written(path, separator))
        np.testing.assert_array_equal(data.y_proba, [row[:2] for row in ROWS])
        np.testing.assert_array_equal(data.y_true, [0, 1, 1, 0])


def test_names_with_such_signs(tmp_path: Path) -> None:
    """Names of several fields may hold what stands between others' fields."""
    path = written(tmp_path / "p.csv", ",", header="no rain; none at all,rain | snow,label")
    text = path.read_text().replace(",dry\n", ",no rain; none at all\n").replace(",wet\n", ",rain | snow\n")
    path.write_text(text)
    assert read_predictions(path).class_names == ("no rain; none at all", "rain | snow")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (['"0,25"', '"0,5"', '"0,875"', '"0,375"'], "'0,25', which has a comma"),
        (['"1,234.5"', "2", "3", "4"], "'1,234.5', which has a comma"),
        (["25%", "50%", "87.5 %", "37.5%"], "'25%', which has a percent sign"),
        (["few", "50%", "87.5%", "37.5%"], "could not convert string to float: 'few'"),
        (["True", "True", "False", "True"], "could not convert string to float: 'True'"),
    ],
)
def test_what_is_no_number_as_it_is_written(tmp_path: Path, values: list[str], words: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text("dry,wet,label\n" + "".join(f"{row[0]},{value},{row[2]}\n" for row, value in zip(ROWS, values, strict=True)))
    with pytest.raises(ValueError, match=words):
        read_predictions(path)


@pytest.mark.parametrize("written_as", [("True", "False"), ("true", "false"), ("TRUE", "FALSE"), ("1", "0")])
def test_weights_that_are_true_or_false(tmp_path: Path, written_as: tuple[str, str]) -> None:
    """They are 1 and 0, as in parquet, JSON, arrays, and in memory; text was refused."""
    counts = [True, False, True, True]
    path = tmp_path / "p.csv"
    marks = [written_as[0] if each else written_as[1] for each in counts]
    path.write_text("dry,wet,label,w\n" + "".join(",".join(map(str, (*row, mark))) + "\n" for row, mark in zip(ROWS, marks, strict=True)))
    data = read_predictions(path, weight_column="w")
    np.testing.assert_array_equal(data.sample_weight, [1.0, 0.0, 1.0, 1.0])
    table = pd.DataFrame({"dry": [row[0] for row in ROWS], "wet": [row[1] for row in ROWS]})
    settings: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.5}
    masked = decompose([row[2] for row in ROWS], table, sample_weight=counts, **settings)
    # 2 (1 - p)^2 of the rows that count, by hand.
    assert masked.risk == pytest.approx((2 * 0.25**2 + 2 * 0.125**2 + 2 * 0.375**2) / 3)
    read = decompose(data.y_true, data.y_proba, sample_weight=data.sample_weight, labels=data.labels, **settings)
    assert read.risk == masked.risk


def test_weights_that_are_true_or_a_number(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("dry,wet,label,w\n.5,.5,dry,True\n.5,.5,wet,2\n")
    with pytest.raises(ValueError, match=r"column 'w' does not hold numbers .*'True'.*: expected a number of 0 or more in each row, or True and False \(1 and 0\); correct it"):
        read_predictions(path, weight_column="w")
