"""What tables say in memory, files say too: doubts of the order of columns, and rows of weight 0.

Oracle: the rows as they were written, and `decompose` of them in memory.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal.cli.command import main
from propercal.cli.files import read_predictions

RNG = np.random.default_rng(0)
PROBA = RNG.dirichlet(np.ones(3), 120)
CODES = (RNG.uniform(size=(120, 1)) > PROBA.cumsum(axis=1)).sum(axis=1).clip(0, 2)
#: Columns in another order than that in which labels were numbered.
SHUFFLED = pd.DataFrame(PROBA, columns=list("abc"))[["c", "a", "b"]].assign(label=CODES)
WORDS = SHUFFLED.assign(label=np.array(list("abc"))[CODES])
RISK = ["--json", "--generator", "brier", "--method", "risk", "--bandwidth", "0.1"]
COMMANDS = {
    "decompose": [],
    "test": ["--n-resamples", "19"],
    "recalibrate": ["--save-map", "map.json"],
    "plot": ["-o", "figure.svg"],
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(table: pd.DataFrame, path: str) -> str:
    if path.endswith("jsonl"):
        table.to_json(path, orient="records", lines=True)
    elif path.endswith("npz"):
        names = [str(name) for name in table if name != "label"]
        np.savez(path, probs=table[names], labels=table.label, classes=names)
    else:
        table.to_csv(path, index=False)
    return path


def answer(capsys: pytest.CaptureFixture[str], *command: str) -> Any:
    code = main(list(command))
    found = capsys.readouterr()
    assert code == 0, found.err
    return json.loads(found.out)[0]["risk"]


def refusal(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    assert main(list(command)) == 1
    return capsys.readouterr().err


@pytest.mark.parametrize("end", ["csv", "npz"])
@pytest.mark.parametrize("command", COMMANDS)
def test_numbers_beside_columns_in_another_order_are_doubted(command: str, end: str, capsys: pytest.CaptureFixture[str]) -> None:
    if command == "plot":
        pytest.importorskip("matplotlib")
    path = written(SHUFFLED, f"shuffled.{end}")
    main([command, path, *COMMANDS[command]])
    assert "labels are e^" in capsys.readouterr().err


def test_columns_in_order_and_words_leave_no_doubt(capsys: pytest.CaptureFixture[str]) -> None:
    in_order = written(SHUFFLED[["a", "b", "c", "label"]], "in_order.csv")
    words = written(WORDS, "words.csv")
    # The advice of the warning, followed.
    said = [written(SHUFFLED, "shuffled.csv"), "--class", "a", "--class", "b", "--class", "c"]
    risks = [answer(capsys, "decompose", *each, *RISK) for each in ([in_order], [words], said)]
    assert risks == pytest.approx([risks[0]] * 3, rel=1e-12)
    for each in ([in_order], [words], said):
        main(["decompose", *each, *RISK])
        assert capsys.readouterr().err == ""
    with Path("lists.jsonl").open("w") as file:
        rows = zip(SHUFFLED[["c", "a", "b"]].to_numpy().tolist(), CODES, strict=True)
        file.writelines(json.dumps({"probs": row, "label": int(code)}) + "\n" for row, code in rows)
    main(["decompose", "lists.jsonl", *RISK])
    assert "labels are e^" in capsys.readouterr().err
    # Of lists, the advice is what labels call the columns.
    main(["decompose", "lists.jsonl", *said_of(2, 0, 1), *RISK])
    assert json.loads(capsys.readouterr().out)[0]["risk"] == pytest.approx(risks[0], rel=1e-12)


def said_of(*names: object) -> list[str]:
    return [word for name in names for word in ("--class", str(name))]


def in_lists(labels: Any, path: str) -> str:
    rows = zip(SHUFFLED[["c", "a", "b"]].to_numpy().tolist(), labels.tolist(), strict=True)
    Path(path).write_text("".join(json.dumps({"probs": row, "label": label}) + "\n" for row, label in rows))
    return path


def in_arrays(labels: Any, path: str) -> str:
    np.savez(path, probs=SHUFFLED[["c", "a", "b"]].to_numpy(), labels=labels)
    return path


@pytest.mark.parametrize("command", [["decompose"], ["test", "--n-resamples", "19"], ["monitor"], ["recalibrate", "--save-map", "map.json"]])
@pytest.mark.parametrize("case", ["columns", "lists of numbers", "lists of words", "arrays of numbers", "arrays of words"])
def test_an_order_that_a_flag_alone_says_is_doubted(case: str, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """As labels=[...] is in memory, where it says what predictions contradict."""
    words = np.array(list("abc"))[CODES]
    form, kind = case.split(" of ") if " of " in case else ("columns", "numbers")
    labels = words if kind == "words" else CODES
    path = {"lists": lambda: in_lists(labels, "p.jsonl"), "arrays": lambda: in_arrays(labels, "p.npz"), "columns": lambda: written(SHUFFLED, "p.csv")}[form]()
    said, right = {"columns": ("cab", "abc"), "numbers": ("cab", "201"), "words": ("abc", "cab")}[kind if form != "columns" else form]
    main([command[0], path, *command[1:], *said_of(*said)])
    error = capsys.readouterr().err
    assert "labels are e^" in error
    assert "Pass --class: of a table the names of columns, in the order in which labels count them" in error
    main([command[0], path, *command[1:], *said_of(*right)])
    assert "labels are e^" not in capsys.readouterr().err


def test_what_reads_a_file_passes_on_what_it_knows() -> None:
    counted = read_predictions(written(SHUFFLED, "counted.csv"))
    assert counted.labels is None
    assert counted.names_of_labels == ("c", "a", "b")
    known = read_predictions(written(WORDS, "known.csv"))
    assert known.labels == (0, 1, 2)
    assert known.names_of_labels == ("c", "a", "b")
    from_1 = read_predictions(written(SHUFFLED.assign(label=CODES + 1), "from_1.csv"))
    assert from_1.labels is None
    assert from_1.names_of_labels == ("c", "a", "b")
    marks = np.eye(3, dtype=int)[CODES]
    np.savez("marks.npz", probs=PROBA, labels=marks, classes=list("cab"))
    beside = read_predictions("marks.npz")
    assert beside.labels is None
    assert beside.names_of_labels == ("c", "a", "b")


def test_figures_show_a_class_by_its_name_beside_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    path = written(SHUFFLED[["a", "b", "c", "label"]], "in_order.csv")
    assert main(["plot", path, "--event", "b", "-o", "b.svg"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("end", ["csv", "jsonl"])
@pytest.mark.parametrize(("table", "label"), [(WORDS, None), (WORDS, "?"), (SHUFFLED, -100), (SHUFFLED, None), (SHUFFLED, "?")])
def test_rows_of_weight_0_need_no_label(table: pd.DataFrame, label: Any, end: str, capsys: pytest.CaptureFixture[str]) -> None:
    if end == "jsonl" and table is SHUFFLED:
        pytest.skip("integers do not count the keys of objects")
    weights = (np.arange(len(table)) % 40 != 4).astype(int)
    given = table[["a", "b", "c", "label"]].astype({"label": object})
    given.loc[weights == 0, "label"] = label
    without = written(table[["a", "b", "c", "label"]][weights == 1], f"without.{end}")
    path = written(given.assign(w=weights), f"given.{end}")
    found = [answer(capsys, "decompose", *each, *RISK) for each in ([path, "--weight-column", "w"], [without])]
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    assert "label" in refusal(capsys, "decompose", path, "--drop", "w", *RISK)


def test_a_table_without_rows_is_refused_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    path = written(WORDS[:0], "empty.csv")
    assert "empty.csv: no rows: expected two or more" in refusal(capsys, "decompose", path)


def test_a_column_is_called_as_its_file_calls_it(capsys: pytest.CaptureFixture[str]) -> None:
    path = written(WORDS.rename(columns={"label": "y_true"}), "own.csv")
    assert "'a', 'b', 'y_true': expected a label column named 'label'" in refusal(capsys, "decompose", path)
    assert answer(capsys, "decompose", path, "--label-column", "y_true", *RISK) > 0


def test_weights_that_are_no_numbers_are_not_taken_for_a_class(capsys: pytest.CaptureFixture[str]) -> None:
    path = written(WORDS.assign(w="heavy"), "heavy.csv")
    message = refusal(capsys, "decompose", path, "--weight-column", "w")
    assert "column 'w' does not hold numbers" in message
    assert "expected a number of 0 or more in each row" in message


def test_objects_within_objects_are_refused_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    Path("nested.jsonl").write_text(WORDS.to_json() + "\n")
    assert "'label' holds lists, or objects" in refusal(capsys, "decompose", "nested.jsonl")


def _npy() -> bytes:
    found = io.BytesIO()
    np.save(found, PROBA)
    return found.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (_npy(), "an npy file on standard input"),
        (WORDS.to_json(orient="records").encode(), "an array of JSON on standard input"),
        (WORDS.to_csv(index=False).encode("utf-16"), "text that is not in UTF-8"),
    ],
)
def test_standard_input_of_another_kind_is_named(content: bytes, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert f"-: {said}" in refusal(capsys, "decompose", "-")


@pytest.mark.parametrize("command", [*COMMANDS, "report", "compare", "monitor"])
def test_columns_are_called_by_their_names(capsys: pytest.CaptureFixture[str], command: str) -> None:
    odd, beside = WORDS.assign(b=WORDS.b + 1), WORDS.assign(confidence=WORDS[list("abc")].max(axis=1))
    flags = COMMANDS.get(command, ["-o", "page.html"] if command == "report" else [])
    for ends in ("csv", "jsonl"):
        found = [refusal(capsys, command, *[written(each, f"{i}.{ends}") for i in range(1 + (command == "compare"))], *flags) for each in (odd, beside)]
        assert re.search(r"= 1\.\d+ at rows 0, 1, .*, in the column 'b': expected probabilities", found[0])
        assert "to 1 without the column 'confidence'" in found[1] or command == "monitor"
