"""Every command on every form of file: columns and rows that move with their names change no number, and against them are refused.

As of functions in `test_every_function_by_name`, with files in the place of tables, and main() in that of a shell.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import propercal
from propercal.cli.command import COMMANDS, main
from propercal.cli.files import read_predictions
from theory_tests.contracts.arranged_data import CLASSES, ROLES, K, N
from theory_tests.contracts.figures_of_data import RISK
from theory_tests.instances import values

pytestmark = pytest.mark.usefixtures("_folder")

CODES = np.searchsorted(CLASSES, ROLES["y"])
IDS = [f"r{i:03}" for i in np.random.default_rng(5).permutation(N)]
ROWS = np.random.default_rng(6).permutation(N)
BRIER = ["--generator", "brier"]
KERNEL = ["--method", "risk", "--bandwidth", "0.1"]
#: Label sets are drawn in the order of columns.
DRAWN = ("p_value", "pvalue", "rejected")
Write = Callable[..., str]


@pytest.fixture
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def table(proba: Any, columns: Any = range(K), rows: Any = slice(None), names: Any = CLASSES, labels: Any = ROLES["y"], more: Any = None, **_: Any) -> Any:
    """Class columns in an order of their own, the label and `more` columns between them, and ids."""
    own, more = [names[i] for i in columns], more or {}
    found = pd.DataFrame(proba[:, list(columns)], columns=own).assign(label=labels, id=IDS, **more)
    return found[[own[0], "id", *more, *own[1:], "label"]].iloc[rows]


def delimited(end: str) -> Write:
    def write(name: str, proba: Any, **ways: Any) -> str:
        path = name + end
        text = table(proba, **ways).to_csv(index=False, sep="\t" if "tsv" in end else ",").encode()
        Path(path).write_bytes(gzip.compress(text) if end.endswith("gz") else text)
        return path

    return write


def lines(name: str, proba: Any, **ways: Any) -> str:
    table(proba, **ways).to_json(name + ".jsonl", orient="records", lines=True, double_precision=15)
    text = Path(name + ".jsonl").read_text()
    assert text.count("\n") >= N - 1
    # Fifteen digits are not all.
    rows = [{key: float(x) if isinstance(x, float) else x for key, x in row.items()} for row in table(proba, **ways).to_dict("records")]
    Path(name + ".jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name + ".jsonl"


def parquet(name: str, proba: Any, **ways: Any) -> str:
    pytest.importorskip("pyarrow")
    table(proba, **ways).to_parquet(name + ".parquet", index=False)
    return name + ".parquet"


def arrays(name: str, proba: Any, columns: Any = range(K), rows: Any = slice(None), names: Any = CLASSES, labels: Any = ROLES["y"], more: Any = None, key: str = "probs") -> str:
    own = np.array([names[i] for i in columns])
    held = {key: proba[:, list(columns)], "labels": np.asarray(labels), "id": np.array(IDS), **(more or {})}
    np.savez(name + ".npz", classes=own, **{each: np.asarray(values)[rows] for each, values in held.items()})
    return name + ".npz"


FORMS: dict[str, Write] = {"csv": delimited(".csv"), "tsv": delimited(".tsv"), "csv.gz": delimited(".csv.gz"), "jsonl": lines, "parquet": parquet, "npz": arrays}


def numbers(capsys: Any, *arguments: str) -> list[float]:
    """All numbers that a command prints, but for those that depend on what is drawn."""
    code = main([*arguments, "--json"])
    said = capsys.readouterr()
    assert code in (0, 3), said.err
    return list(_floats(json.loads(said.out)))


def _floats(found: Any) -> Iterator[float]:
    if isinstance(found, dict | list):
        for each in [found[name] for name in found if name not in DRAWN] if isinstance(found, dict) else found:
            yield from _floats(each)
    elif isinstance(found, int | float) and not isinstance(found, bool):
        yield float(found)


def decomposed(capsys: Any, p: str, _: str, *flags: str) -> list[float]:
    return numbers(capsys, "decompose", p, *BRIER, *KERNEL, "--id-column", "id", *flags)


def of_test(capsys: Any, p: str, _: str, *flags: str) -> list[float]:
    return numbers(capsys, "test", p, *BRIER, "--n-resamples", "9", "--id-column", "id", *flags)


def compared(capsys: Any, p: str, q: str, *flags: str) -> list[float]:
    return numbers(capsys, "compare", p, q, *BRIER, *KERNEL, "--term", "risk", "--n-resamples", "9", *flags)


def monitored(capsys: Any, p: str, _: str, *flags: str) -> list[float]:
    return numbers(capsys, "monitor", p, *BRIER, "--id-column", "id", *flags)


def recalibrated(capsys: Any, p: str, q: str, *flags: str) -> list[float]:
    """What q becomes, in the order of its ids and of the classes."""
    end = q[q.index(".") :]
    assert main(["recalibrate", p, "--apply", q, "-o", f"out{end}", "--force", *flags]) == 0
    assert main(["recalibrate", p, "--save-map", "map.json", "--force", *flags]) == 0
    # The map has what rows of its fit weighed.
    rows = flags if "--weight-column" not in flags else ("--drop", "w")
    assert main(["recalibrate", "--map", "map.json", "--apply", q, "-o", f"again{end}", "--force", *rows]) == 0
    capsys.readouterr()
    found = []
    said: dict[str, Any] = {"pos_label": "hit"} if "--pos-label" in flags and end != ".npz" else {}
    said |= {"weight_column": "w"} if "--weight-column" in flags else {}
    for name in ("out", "again"):
        read = read_predictions(name + end, find_id=True, **said)
        order = np.argsort(np.asarray(np.load(q)["id"] if end == ".npz" else read.ids))
        columns = np.argsort(np.asarray(read.class_names))
        found += np.asarray(read.y_proba)[order][:, columns].ravel().tolist()
    return found


def reported(capsys: Any, p: str, _: str, *flags: str) -> list[float]:
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    assert main(["report", p, *BRIER, *KERNEL, "-o", "page.html", "--force", *flags]) == 0
    text = capsys.readouterr().out
    # The loss and its part that is miscalibration; the others depend on what is drawn.
    return [float(each) for each in re.findall(r"-?\d+\.\d+", text)][:2]


#: Kinds of figures whose numbers do not depend on what is drawn; of some by their event.
FIGURES = {"decomposition": [*BRIER, *KERNEL], "murphy": ["--event", "b"], "mcb-dsc": ["--event", "b"]}


def plotted(capsys: Any, p: str, q: str, *flags: str) -> list[float]:
    """All coordinates of what is drawn inside of the axes, as they are written; names of files have other widths."""
    pytest.importorskip("matplotlib")
    found = []
    for kind, own in FIGURES.items():
        own = own if "--pos-label" not in flags else ["--event", "score"] if "--event" in own else own
        assert main(["plot", p, *([] if kind == "decomposition" else [q]), "--kind", kind, *own, "-o", "figure.svg", "--force", *flags]) == 0, capsys.readouterr().err
        text = Path("figure.svg").read_text()
        found += [float(each) for d in re.findall(r'<path d="([^"]*)" clip-path', text) for each in re.findall(r"-?\d+\.?\d*", d)]
    capsys.readouterr()
    return found


def in_memory(columns: Any) -> list[float]:
    """What of_test prints last, whose numbers depend on label sets that are drawn in the order of columns."""
    codes = np.argsort(columns)[CODES]
    found = propercal.calibration_test(codes, ROLES["p"][:, list(columns)], generator="brier", n_resamples=9, random_state=0)
    return [*found.components.values()]


CALLS: dict[str, Callable[..., list[float]]] = {"decompose": decomposed, "test": of_test, "compare": compared, "monitor": monitored, "recalibrate": recalibrated, "report": reported, "plot": plotted}
#: What depends on the order of rows.
IN_ORDER = {"test", "monitor", "report"}
#: A report, or a figure, takes a second.
PAIRS = [(command, form) for command in CALLS for form in FORMS if command not in ("report", "plot") or form in ("csv", "npz")]


def timed(pairs: list[tuple[str, str]]) -> list[Any]:
    """The same, with those marked that draw several figures."""
    return [pytest.param(*pair, marks=pytest.mark.slow) if pair[0] in ("report", "plot") else pair for pair in pairs]


NO_DATA = {"verify": "it takes a generator", "study": "it writes a file of code"}


def test_every_command_is_tried() -> None:
    assert {*CALLS, *NO_DATA} == {*COMMANDS}


def test_the_number_is_that_of_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    right = [*values(propercal.decompose(CODES, ROLES["p"], **RISK))]
    for form, write in FORMS.items():
        found = decomposed(capsys, write(form.replace(".", ""), ROLES["p"], columns=[2, 0, 1]), "")
        for each in right:
            assert np.isclose(found, float(each), rtol=1e-9, atol=1e-12).any(), form


@pytest.mark.parametrize(("command", "form"), timed(PAIRS))
def test_names_that_move_with_the_data_change_no_number(command: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    call, write = CALLS[command], FORMS[form]
    right = call(capsys, FORMS["csv"]("p", ROLES["p"]), FORMS["csv"]("q", ROLES["q"]))
    ways: list[tuple[dict[str, Any], dict[str, Any]]] = [({}, {}), ({"columns": [2, 0, 1]}, {"columns": [1, 0, 2]})]
    if command not in IN_ORDER:
        ways.append(({"columns": [1, 2, 0]}, {"rows": ROWS, "columns": [2, 1, 0]}))
    for of_p, of_q in ways:
        if form == "npz" and command in ("compare", "plot") and "rows" in of_q:
            # Arrays are told by their positions, but for labels that differ.
            of_q = {name: each for name, each in of_q.items() if name != "rows"}
        found = call(capsys, write("p", ROLES["p"], **of_p), write("q", ROLES["q"], **of_q))
        if command == "test":
            right = in_memory(of_p.get("columns", range(K)))
            found = found[-len(right) :]
        assert len(found) == len(right)
        # Figures are written to six digits after the point.
        np.testing.assert_allclose(found, right, rtol=1e-10, atol=2e-6 if command == "plot" else 1e-12, err_msg=f"{of_p} {of_q}")


@pytest.mark.parametrize(("command", "form"), PAIRS)
def test_files_against_their_names_are_refused(command: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    call, write = CALLS[command], FORMS[form]
    good = write("good", ROLES["p"]), write("other", ROLES["q"])
    odd = [(write("x", ROLES["p"], names=["a", "b", "d"]), good[1])]
    if command in ("compare", "recalibrate", "plot"):
        odd.append((good[0], write("y", ROLES["q"], names=["x", "z", "v"], labels=np.array(list("xzv"))[CODES])))
    if command in ("compare", "plot"):
        odd.append((good[0], write("z", ROLES["q"], labels=np.roll(ROLES["y"], 1))))
    for p, q in odd:
        with pytest.raises((AssertionError, SystemExit)) as caught:
            call(capsys, p, q)
        said = f"{caught.value}{capsys.readouterr().err}"
        assert "Traceback" not in said
        assert any(name in said for name in (p, q)), said
