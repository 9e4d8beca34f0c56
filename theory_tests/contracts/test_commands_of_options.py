"""Commands on files of logits, of one column, of weights and of groups: what flags say of them changes no number, in any form of file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import propercal
from propercal.cli.command import main
from theory_tests.contracts.arranged_data import ROLES, K, N
from theory_tests.contracts.figures_of_data import RISK
from theory_tests.contracts.test_commands_by_name import (
    BRIER,
    CALLS,
    CODES,
    FORMS,
    IN_ORDER,
    PAIRS,
    ROWS,
    decomposed,
    in_memory,
    numbers,
    timed,
)
from theory_tests.instances import values

pytestmark = pytest.mark.usefixtures("_folder")


@pytest.fixture
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def alike(command: str, found: list[float], right: list[float], rtol: float = 1e-9) -> None:
    assert len(found) == len(right)
    # Figures are written to six digits after the point.
    np.testing.assert_allclose(found, right, rtol=rtol, atol=2e-6 if command == "plot" else 1e-12)


def ways(command: str, form: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """How columns and rows of two files stand."""
    found: list[tuple[dict[str, Any], dict[str, Any]]] = [({}, {}), ({"columns": [2, 0, 1]}, {"columns": [1, 0, 2]})]
    if command not in IN_ORDER and not (form == "npz" and command in ("compare", "plot")):
        found.append(({"columns": [1, 2, 0]}, {"rows": ROWS}))
    return found


# ---------------------------------------------------------------- logits

def logits(role: str) -> Any:
    """Logits of these probabilities, whose sums say that they are none."""
    return np.log(ROLES[role]) + np.random.default_rng(3).normal(size=(N, 1))


@pytest.mark.parametrize(("command", "form"), timed(PAIRS))
def test_logits_are_those_of_the_probabilities(command: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = CALLS[command]
    right = call(capsys, FORMS["csv"]("p", ROLES["p"]), FORMS["csv"]("q", ROLES["q"]))
    # Arrays say so by their name.
    flags, key = ([], {"key": "logits"}) if form == "npz" else (["--from-logits"], {})
    for of_p, of_q in ways(command, form):
        found = call(capsys, FORMS[form]("p", logits("p"), **of_p, **key), FORMS[form]("q", logits("q"), **of_q, **key), *flags)
        wanted = right
        if command == "test":
            wanted = in_memory(of_p.get("columns", range(K)))
            found = found[-len(wanted) :]
        alike(command, found, wanted)


@pytest.mark.parametrize("command", CALLS)
def test_logits_that_nobody_names_are_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises((AssertionError, SystemExit)) as caught:
        CALLS[command](capsys, FORMS["csv"]("p", logits("p")), FORMS["csv"]("q", logits("q")))
    said = f"{caught.value}{capsys.readouterr().err}"
    assert "p.csv" in said
    assert "--from-logits" in said


# ---------------------------------------------------------------- one column

PAIR = ["miss", "hit"]
IS_HIT = (CODES == 1).astype(int)


def two(role: str) -> Any:
    return np.stack([1 - ROLES[role][:, 1], ROLES[role][:, 1]], axis=1)


def one(form: str, name: str, role: str, *, of: str = "hit", called: str = "score", **more: Any) -> str:
    labels = np.array(PAIR)[IS_HIT]
    return FORMS[form](name, two(role)[:, [PAIR.index(of)]], columns=[0], names=[called], labels=labels, **more)


#: Arrays have no names of columns, and say so.
OF_TABLES = [(command, form) for command, form in PAIRS if form != "npz"]


@pytest.mark.parametrize(("command", "form"), timed(OF_TABLES))
def test_one_column_is_of_the_class_that_is_named(command: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    call, labels = CALLS[command], np.array(PAIR)[IS_HIT]
    flags = ["--pos-label", "hit"]
    if command in ("plot", "recalibrate"):
        # Figures of an event, and maps, are of the form of the columns.
        right = call(capsys, *(one("csv", name, name) for name in "pq"), *flags)
        alike(command, call(capsys, *(one(form, name, name, called="hit") for name in "pq"), *flags) if command == "recalibrate" else right, right)
    else:
        right = call(capsys, *(FORMS["csv"](name, two(name), columns=[0, 1], names=PAIR, labels=labels) for name in "pq"))
    alike(command, call(capsys, *(one(form, name, name) for name in "pq"), *flags), right)
    if command in ("decompose", "compare", "monitor"):
        # The same numbers are those of the other class, of its column.
        alike(command, call(capsys, *(one(form, name, name, of="miss") for name in "pq"), "--pos-label", "miss"), right)


@pytest.mark.parametrize(("command", "form"), [pair for pair in OF_TABLES if pair[0] in ("decompose", "compare", "monitor")])
def test_numbers_of_classes_are_counted_from_the_one_that_is_named(command: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A label is recoded once: a column of class 0 beside labels 0 and 1."""
    call = CALLS[command]
    right = call(capsys, *(FORMS["csv"](name, two(name), columns=[0, 1], names=PAIR, labels=np.array(PAIR)[IS_HIT]) for name in "pq"))
    for of, positive in (("miss", "0"), ("hit", "1")):
        paths = [FORMS[form](name, two(name)[:, [PAIR.index(of)]], columns=[0], names=["score"], labels=IS_HIT) for name in "pq"]
        alike(command, call(capsys, *paths, "--pos-label", positive), right)


@pytest.mark.slow
def test_the_event_of_one_column_has_its_name_or_that_of_its_class(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    path, found = one("csv", "p", "p"), {}
    for event in ("score", "hit", "1", "0", None):
        said = [] if event is None else ["--event", event]
        assert main(["plot", path, "--kind", "murphy", "--pos-label", "hit", *said, "-o", "figure.svg", "--force"]) == 0
        found[event] = Path("figure.svg").read_text()
    assert found["score"] == found["hit"] == found["1"] != found["0"]
    assert main(["plot", path, "--kind", "murphy", "--pos-label", "hit", "--event", "other", "-o", "figure.svg", "--force"]) == 1
    assert "--event other: expected one of 'score', or 0 for the other class; name one." in capsys.readouterr().err


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("command", [command for command in CALLS if command != "report"])
def test_one_column_of_no_class_or_of_another_is_refused(command: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    for called, flags in (("score", []), ("hit", ["--pos-label", "miss"]), ("score", ["--pos-label", "Hit"])):
        paths = [one(form, name, name, called=called) for name in "pq"]
        with pytest.raises((AssertionError, SystemExit)) as caught:
            CALLS[command](capsys, *paths, *flags)
        said = f"{caught.value}{capsys.readouterr().err}"
        assert "Traceback" not in said
        assert re.search(r"\bp\.|pos-label", said), said


# ---------------------------------------------------------------- weights and groups

MORE = {"w": ROLES["w"] * np.where(np.arange(N) % 2 == 0, 1, 3), "g": ROLES["g"]}
WEIGHTS = ["--weight-column", "w"]
#: The published estimates see the labels of a group, and take none.
TAKES = {"test": [*WEIGHTS, "--group-column", "g"], **dict.fromkeys(("decompose", "compare", "recalibrate", "report", "plot"), WEIGHTS)}


@pytest.mark.parametrize(("command", "form"), timed([pair for pair in PAIRS if pair[0] in TAKES]))
def test_weights_and_groups_of_files_move_with_their_rows(command: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    call, flags = CALLS[command], TAKES[command]
    more = {"more": {name: each for name, each in MORE.items() if f"--{'weight' if name == 'w' else 'group'}-column" in flags}}
    plain = call(capsys, FORMS["csv"]("p", ROLES["p"]), FORMS["csv"]("q", ROLES["q"]))
    right = call(capsys, FORMS["csv"]("p", ROLES["p"], **more), FORMS["csv"]("q", ROLES["q"], **more), *flags)
    assert len(plain) != len(right) or not np.allclose(plain, right, rtol=1e-4), "nothing depends on them"
    for of_p, of_q in ways(command, form):
        if command == "test" and of_p:
            # Label sets are drawn in the order of columns.
            continue
        found = call(capsys, FORMS[form]("p", ROLES["p"], **of_p, **more), FORMS[form]("q", ROLES["q"], **of_q, **more), *flags)
        alike(command, found, right)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_groups_of_files_move_with_their_rows(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [*BRIER, "--notion", "classwise", "--n-folds", "3", "--weight-column", "w", "--group-column", "g"]
    right = propercal.decompose(CODES, ROLES["p"], sample_weight=MORE["w"], groups=MORE["g"], generator="brier", notion="classwise", n_folds=3)
    found = numbers(capsys, "decompose", FORMS[form]("p", ROLES["p"], columns=[2, 0, 1], more=MORE), *flags, "--id-column", "id")
    for each in (*values(right), *right.interval("risk"), *right.interval("calibration_error")):
        assert np.isclose(found, float(each), rtol=1e-9, atol=1e-12).any()
    compared = ["--term", "refinement", "--n-resamples", "9"]
    pair = propercal.paired_difference(CODES, ROLES["p"], ROLES["q"], term="refinement", sample_weight=MORE["w"], groups=MORE["g"], generator="brier", notion="classwise", n_folds=3)
    paths = FORMS[form]("p", ROLES["p"], columns=[1, 2, 0], more=MORE), FORMS[form]("q", ROLES["q"], columns=[2, 1, 0], more=MORE)
    found = numbers(capsys, "compare", *paths, *flags, *compared, "--id-column", "id")
    for each in (pair.difference, pair.standard_error):
        assert np.isclose(np.abs(found), abs(float(each)), rtol=1e-9, atol=1e-12).any()


def test_the_numbers_are_those_of_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    right = propercal.decompose(CODES, ROLES["p"], sample_weight=MORE["w"], **RISK)
    for form, write in FORMS.items():
        found = decomposed(capsys, write("p", ROLES["p"], columns=[2, 0, 1], rows=ROWS, more={"w": MORE["w"]}), "", *WEIGHTS)
        for each in (*values(right), *right.interval("risk")):
            assert np.isclose(found, float(each), rtol=1e-9, atol=1e-12).any(), form


@pytest.mark.parametrize("form", ["csv", "jsonl", "npz"])
@pytest.mark.parametrize("command", [command for command in TAKES if command != "report"])
def test_weights_and_groups_that_are_not_there_or_no_such_are_refused(command: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    odd = {"w": np.where(np.arange(N) == 3, -1.0, MORE["w"]), "g": np.where(np.arange(N) == 3, "nan", MORE["g"])}
    for name, flag in (("w", "--weight-column"), ("g", "--group-column")):
        if flag not in TAKES[command]:
            continue
        for more, column in (({}, name), ({name: odd[name]}, name)):
            paths = [FORMS[form](each, ROLES[each], more=more) for each in "pq"]
            with pytest.raises((AssertionError, SystemExit)) as caught:
                CALLS[command](capsys, *paths, flag, column)
            said = f"{caught.value}{capsys.readouterr().err}"
            assert "Traceback" not in said
            assert re.search(r"\bp\.|weight|group", said), said


def test_a_monitor_takes_neither(capsys: pytest.CaptureFixture[str]) -> None:
    path = FORMS["csv"]("p", ROLES["p"], more=MORE)
    for flag, name in (("--weight-column", "w"), ("--group-column", "g")):
        with pytest.raises(SystemExit):
            main(["monitor", path, flag, name])
        assert f"unrecognized arguments: {flag}" in capsys.readouterr().err
