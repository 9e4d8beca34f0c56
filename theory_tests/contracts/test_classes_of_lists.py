"""Classes of columns without names in files, of lists in JSON and of arrays, as in memory: for all commands alike.

Columns are those of the cat, the dog and the emu, in alphabetical order, unless a test says otherwise.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationMonitor, decompose
from propercal.cli.command import main
from propercal.cli.files import read_predictions

N = 400
RNG = np.random.default_rng(0)
P = RNG.dirichlet([0.5, 0.5, 0.5], N)
Y = (RNG.random((N, 1)) > P.cumsum(axis=1)).sum(axis=1)
NAMES = np.array(["cat", "dog", "emu"])
TURNED = [2, 0, 1]
RISK = float(-np.log(P[np.arange(N), Y]).mean())
Captured = pytest.CaptureFixture[str]

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def lists(labels: Any, proba: Any = P, **more: Any) -> str:
    rows = zip(np.asarray(labels).tolist(), np.asarray(proba).tolist(), strict=True)
    Path("p.jsonl").write_text("".join(json.dumps({"label": label, "probs": row, **more}) + "\n" for label, row in rows))
    return "p.jsonl"


def pair(labels: Any, proba: Any = P) -> str:
    np.save("p_labels.npy", np.asarray(labels))
    np.save("p_probs.npy", np.asarray(proba))
    return "p_probs.npy"


def archive(labels: Any, proba: Any = P, **more: Any) -> str:
    np.savez("p.npz", labels=labels, probs=proba, **more)
    return "p.npz"


def classes(names: Any) -> list[str]:
    return [word for name in names for word in ("--class", str(name))]


def said(capsys: Captured, *arguments: str) -> tuple[Any, str]:
    code = main([*arguments, "--json"])
    shown = capsys.readouterr()
    assert code in (0, 3), shown.err
    return json.loads(shown.out)[-1], shown.err


def risk(capsys: Captured, *arguments: str) -> float:
    return float(said(capsys, "decompose", *arguments, "--method", "risk", "--bandwidth", "0.1")[0]["risk"])


def evidence(capsys: Captured, *arguments: str) -> float:
    return float(said(capsys, "monitor", *arguments)[0]["log_e_value"])


EVIDENCE = CalibrationMonitor(3)
EVIDENCE.update(Y, P)

LABELS = {"words": NAMES[Y], "numbers": Y, "from 1": Y + 1, "digits": Y.astype(str)}


@pytest.mark.parametrize("write", [lists, pair, archive])
@pytest.mark.parametrize("labels", LABELS)
def test_labels_beside_columns_without_names(capsys: Captured, labels: str, write: Any) -> None:
    """Lists were refused beside words, or counted from 0 though labels began with 1."""
    if labels == "digits" and write is not lists:
        pytest.skip("only text is read as numbers")
    path = write(LABELS[labels])
    assert risk(capsys, path) == pytest.approx(RISK)
    assert evidence(capsys, path) == pytest.approx(EVIDENCE.log_e_value, rel=1e-9)


@pytest.mark.parametrize("write", [lists, pair, archive])
@pytest.mark.parametrize("labels", ["words", "numbers"])
def test_classes_that_are_named(capsys: Captured, labels: str, write: Any) -> None:
    """A pair of npy files had no remedy but to be written anew."""
    turned = P[:, TURNED]
    if labels == "words":
        path, names = write(NAMES[Y], turned), NAMES[TURNED]
    else:
        path, names = write(np.argsort(TURNED)[Y], turned), NAMES[TURNED]
    assert risk(capsys, path, *classes(names)) == pytest.approx(RISK)
    assert read_predictions(path, classes=names.tolist()).class_names == tuple(names)
    monitor = CalibrationMonitor(3)
    monitor.update(np.argsort(TURNED)[Y], turned)
    assert evidence(capsys, path, *classes(names)) == pytest.approx(monitor.log_e_value, rel=1e-9)
    for command in ("decompose", "monitor"):
        assert main([command, path, *classes(["cat", "dog"])]) == 1
        assert "3" in capsys.readouterr().err
        if labels == "words":
            assert main([command, path, *classes(["cat", "dog", "eel"])]) == 1
            assert "emu" in capsys.readouterr().err


def test_one_column_of_a_pair(capsys: Captured) -> None:
    p = P[:, 0]
    path = pair(np.where(Y == 0, "cat", "dog"), p)
    wanted = decompose(Y == 0, p, method="risk", bandwidth=0.1).risk
    assert risk(capsys, path, "--class", "cat") == pytest.approx(wanted)
    assert evidence(capsys, path, "--class", "cat") == pytest.approx(evidence(capsys, pair((Y == 0).astype(int), p)), rel=1e-9)
    assert main(["decompose", path, *classes(["cat", "dog"])]) == 1
    assert "expected one, that of the one column" in capsys.readouterr().err


def test_bytes_of_a_pair(capsys: Captured) -> None:
    assert risk(capsys, pair(NAMES[Y].astype("S"))) == pytest.approx(RISK)


def test_classes_beside_confidence(capsys: Captured) -> None:
    np.save("p_labels.npy", P.argmax(axis=1) == Y)
    np.save("p_confidence.npy", P.max(axis=1))
    np.savez("c.npz", labels=P.argmax(axis=1) == Y, confidence=P.max(axis=1))
    for path in ("p_confidence.npy", "c.npz"):
        assert main(["decompose", path, "--class", "cat"]) == 1
        assert "expected none beside 'confidence'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["decompose", "monitor"])
def test_what_stands_beside_lists(capsys: Captured, command: str) -> None:
    """The monitor left it out, though it may say another order of the classes."""
    path = lists(NAMES[Y], kinds=NAMES.tolist())
    assert main([command, path]) == 1
    assert "'kinds' beside the list 'probs'" in capsys.readouterr().err
    assert main([command, path, "--drop", "kinds"]) == 0
    capsys.readouterr()
    text = Path(lists(NAMES[Y])).read_text().replace('"probs"', '"scores"')
    Path("s.jsonl").write_text(text)
    assert main([command, "s.jsonl"]) == 1
    assert "column 'scores' does not hold numbers (it has lists): expected lists, or objects, under 'probs' or 'logits'" in capsys.readouterr().err
    Path("s.jsonl").write_text(text.replace('"scores"', '"probs"'))
    assert main([command, "s.jsonl"]) == 0


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("command", ["decompose", "monitor"])
@pytest.mark.parametrize("form", ["npz", "csv", "jsonl", "npy"])
def test_numbers_of_columns_in_another_order(capsys: Captured, form: str, command: str, first: int) -> None:
    """Of arrays whose classes have names the monitor was silent; what a flag says is doubted as what a file does.

    What is advised is an answer: columns of a table in the order of their numbers, of arrays these.
    """
    turned, labels, names = P[:, TURNED], Y + first, ["low", "mid", "top"]
    if form == "csv":
        pd = pytest.importorskip("pandas")
        pd.DataFrame(turned, columns=names).assign(label=labels).to_csv("p.csv", index=False)
    path = "p.csv"
    if form == "npz":
        path = archive(labels, turned, classes=names)
    elif form != "csv":
        path = (lists if form == "jsonl" else pair)(labels, turned)
    found, error = said(capsys, command, path)
    assert "in this order, though by predictions labels are" in error
    assert "Pass --class" in error
    again, error = said(capsys, command, path, *classes(names))
    assert "though by predictions" in error
    name = "risk" if command == "decompose" else "log_e_value"
    assert again[name] == pytest.approx(found[name], rel=1e-9)
    numbers = [each + first for each in TURNED]
    answered, error = said(capsys, command, path, *classes([names[i] for i in np.argsort(TURNED)] if form == "csv" else numbers))
    assert "though by predictions" not in error
    right, error = said(capsys, command, archive(labels, P, classes=names))
    assert "though by predictions" not in error
    assert right[name] == pytest.approx(answered[name], rel=1e-9)
    assert right[name] < found[name]


def test_words_leave_no_doubt(capsys: Captured) -> None:
    """Names say which column is which, whatever is predicted."""
    labels = np.array(["low", "mid", "top"])[Y]
    _, error = said(capsys, "monitor", archive(labels, P[:, TURNED], classes=["low", "mid", "top"]))
    assert "though by predictions" not in error


def lines(*rows: Any) -> str:
    Path("p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "p.jsonl"


def listing(name: str, orders: Any, labels: Any = None) -> str:
    """Each line lists the classes in the order of its numbers."""
    labels = NAMES[Y] if labels is None else labels
    return lines(*({"label": label, name: NAMES[order].tolist(), "probs": row[order].tolist()} for label, row, order in zip(np.asarray(labels).tolist(), P, orders, strict=True)))


ORDERS = {"one": [TURNED] * N, "sorted": list(np.argsort(-P, axis=1)), "shuffled": [np.random.default_rng(i).permutation(3) for i in range(N)]}


@pytest.mark.parametrize("orders", ORDERS)
def test_classes_that_each_line_lists(capsys: Captured, orders: str) -> None:
    """They were left out, as a message advised, and the numbers were then those of other classes."""
    path = listing("classes", ORDERS[orders])
    assert risk(capsys, path) == pytest.approx(RISK)
    assert evidence(capsys, path, "--chunk-size", "7") == pytest.approx(EVIDENCE.log_e_value, rel=1e-9)
    first = NAMES[ORDERS[orders][0]]
    assert risk(capsys, path, *classes(first)) == pytest.approx(RISK)
    for command in ("decompose", "monitor"):
        assert main([command, path, *classes(first[::-1])]) == 1
        assert "as --class has them; leave out what is wrong" in capsys.readouterr().err
        assert main([command, path, "--drop", "classes"]) == 1
        assert "do not name it with --drop if" in capsys.readouterr().err


@pytest.mark.parametrize("orders", ORDERS)
@pytest.mark.parametrize("command", ["decompose", "monitor"])
def test_lists_of_another_name_in_another_order(capsys: Captured, command: str, orders: str) -> None:
    path = listing("choices", ORDERS[orders])
    assert main([command, path, "--drop", "choices"]) == 1
    assert "call it 'classes' if it is that of the numbers of its line, or remove it" in capsys.readouterr().err


def test_lists_that_say_no_other_order(capsys: Captured) -> None:
    """Ranks of the classes as they are read, words of no class, places of labels among choices."""
    words = [{"label": label, "probs": row.tolist()} for label, row in zip(NAMES[Y].tolist(), P, strict=True)]
    for more in ([NAMES[np.argsort(-row)].tolist() for row in P], [["a", "b", "c"]] * N, [["cat", "dog"]] * N, [NAMES.tolist()] * N, [[3, 1, 2]] * N):
        assert risk(capsys, lines(*({**row, "x": each} for row, each in zip(words, more, strict=True))), "--drop", "x") == pytest.approx(RISK)
    orders = ORDERS["shuffled"]
    places = [int(np.flatnonzero(order == y)[0]) for order, y in zip(orders, Y, strict=True)]
    assert risk(capsys, listing("choices", orders, places), "--drop", "choices") == pytest.approx(RISK)
    for command in ("decompose", "monitor"):
        assert main([command, listing("classes", orders, places)]) == 1
        assert "'classes' differs from line to line" in capsys.readouterr().err


def test_numbers_of_classes_that_lines_list(capsys: Captured) -> None:
    """Labels count the columns, whatever these are called; what labels call them is said by numbers."""
    path = listing("classes", ORDERS["one"], Y)
    for command in ("decompose", "monitor"):
        assert "though by predictions" in said(capsys, command, path)[1]
    assert risk(capsys, path, *classes(TURNED)) == pytest.approx(RISK)
    assert evidence(capsys, path, *classes(TURNED)) == pytest.approx(EVIDENCE.log_e_value, rel=1e-9)
    path = lines(*({"label": int(y), "classes": TURNED, "probs": row[TURNED].tolist()} for y, row in zip(Y, P, strict=True)))
    assert risk(capsys, path) == pytest.approx(RISK)
    assert evidence(capsys, path) == pytest.approx(EVIDENCE.log_e_value, rel=1e-9)
