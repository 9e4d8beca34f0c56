"""A message that advises an argument, or a flag, is of a function, or a command, that has it.

Each public function, and each command, is given data of each kind of which a message says what argument helps.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from propercal._data.words.advice import advising, possible, possible_sentences
from propercal.cli import command
from propercal.cli.command import main
from theory_tests.contracts.arranged_data import CLASSES, ROLES, K, N
from theory_tests.contracts.functions_of_data import FUNCTIONS

#: Arguments that messages advise.
ADVISED = re.compile(r"(?<![\w.(])([a-z_]+)=(?!=)")
#: Of a function that is named with them.
OF_OTHERS = re.compile(r"\w[\w.]*\([^()]*(?:\([^()]*\))?[^()]*\)")
CODES = np.searchsorted(CLASSES, ROLES["y"])
PROBA = {role: ROLES[role] for role in "pqr"}


def cube(values: Any) -> Any:
    return values.T.reshape(1, K, N).repeat(2, axis=0)


def by_role(make: Callable[[Any], Any]) -> dict[str, Any]:
    return {role: make(values) for role, values in PROBA.items()}


def labelled(*dims: str) -> Callable[[Any], Any]:
    return lambda values: xr.DataArray(values.reshape(*(2 if dim == "half" else N // 2 if dim == "row" else K for dim in dims)), dims=dims)


#: Values that take the place of others, by role.
FAULTS: dict[str, dict[str, Any]] = {
    "rows without a label, as torch says it": {"y": np.where(np.arange(N) == 3, -100, CODES), **PROBA},
    "rows without a label, as words say it": {"y": np.where(np.arange(N) == 3, "nan", ROLES["y"]), **PROBA},
    "rows without a label": {"y": np.where(np.arange(N) == 3, np.nan, CODES), **PROBA},
    "words without a label": {"y": np.where(np.arange(N) == 3, None, ROLES["y"].astype(object)), **PROBA},
    "numbers without a label": {"y": pd.Series(np.where(np.arange(N) == 3, None, CODES)).astype("Int64"), **PROBA},
    "categories without a label": {"y": pd.Series(np.where(np.arange(N) == 3, None, ROLES["y"].astype(object))).astype("category"), **PROBA},
    "labels of one class": {"y": np.zeros(N, dtype=int), **PROBA},
    "labels of three dimensions": {"y": np.zeros((N, 2, 2)), **PROBA},
    "labels that are a fraction": {"y": np.where(np.arange(N) == 3, 1.5, CODES), **PROBA},
    "a mix of words and numbers": {"y": np.where(np.arange(N) == 3, 7, ROLES["y"].astype(object)), **PROBA},
    "words that are one number": {"y": np.array(["1", "01", "2"])[CODES], **PROBA},
    "columns of one name": {"y": ROLES["y"], **by_role(lambda values: pd.DataFrame(values, columns=["a", "b", "b"]))},
    "columns without a name": {"y": ROLES["y"], **by_role(lambda values: pd.DataFrame(values, columns=["a", "b", None]))},
    "rows that mark no class": {"y": np.where(np.arange(N)[:, None] == 3, 0, np.eye(K)[CODES]), **PROBA},
    "several labels a row": {"y": np.where(np.arange(N)[:, None] == 3, 1, np.eye(K, dtype=int)[CODES]), **PROBA},
    "labels that are no class": {"y": CODES + 5, **PROBA},
    "labels of other names than columns": {"y": ROLES["y"], **by_role(lambda values: pd.DataFrame(values, columns=["a", "b", "d"]))},
    "labels and columns of other names": {"y": ROLES["y"], **by_role(lambda values: pd.DataFrame(values, columns=["x", "z", "v"]))},
    "unordered categories": {"y": pd.Categorical(ROLES["y"], ["c", "a", "b"]), **PROBA},
    "more names than columns": {"y": np.array([*"abcd"] * (N // 4)), **PROBA},
    "booleans": {"y": CODES == 1, **PROBA},
    "a column of two words": {"y": np.where(CODES == 1, "hit", "miss"), **by_role(lambda values: values[:, 1])},
    "a column of another name": {"y": pd.Series(np.where(CODES == 1, 1, 0), name="miss"), **by_role(lambda values: pd.Series(values[:, 1], name="hit"))},
    "a numbered column": {"y": np.where(CODES == 1, 1, 0), **by_role(lambda values: pd.DataFrame({"prob_0": values[:, 1]}))},
    "columns in another order": {"y": CODES, **by_role(lambda values: np.eye(K)[CODES][:, [2, 0, 1]] * 0.7 + values * 0.3)},
    "counted from 1": {"y": CODES[CODES < K - 1].repeat(2)[:40] + 1, **by_role(lambda values: np.eye(K)[CODES][CODES < K - 1].repeat(2, axis=0)[:40] * 0.7 + 0.1)},
    "logits": {"y": CODES, **by_role(lambda values: 3 * np.log(values))},
    "images": {"y": np.zeros((2, N), dtype=int), **by_role(cube)},
    "weights of images": {"y": CODES, "w": np.ones((N, K)), **PROBA},
    "dimensions of which none is said to be that of classes": {"y": xr.DataArray(CODES, dims="case"), **by_role(labelled("half", "row", "kind"))},
    "other dimensions": {"y": xr.DataArray(CODES.reshape(2, -1), dims=("half", "row")), **by_role(labelled("half", "row", "kind")), "w": xr.DataArray(np.ones(N), dims="else")},
    "several dimensions in two orders": {"y": xr.DataArray(np.zeros((K, K), dtype=int), dims=("u", "v")), **by_role(lambda values: xr.DataArray(values[: K * K].reshape(K, K, K), dims=("u", "v", "kind")))},
    "square predictions": {"y": np.zeros(K, dtype=int), **by_role(lambda values: xr.DataArray(values[:K], dims=("u", "v")))},
    "labels of a square": {"y": xr.DataArray(np.eye(K), dims=("u", "v")), **by_role(lambda values: xr.DataArray(values[:K], dims=("v", "u")))},
    "sums that are not 1": {"y": CODES, **by_role(lambda values: values * 0.8)},
    "ranks": {"y": CODES, **by_role(lambda values: pd.DataFrame(values, columns=["2", "0", "1"]))},
    "an identity": {"y": CODES, **by_role(lambda values: pd.DataFrame(values, columns=["a", "b", "__index_level_0__"]))},
    "other indices": {"y": pd.Series(ROLES["y"], np.arange(N) + 7), **by_role(lambda values: pd.DataFrame(values, np.arange(N)[::-1], columns=CLASSES))},
    "repeated groups": {"y": CODES, **PROBA, "g": np.zeros(N)},
}
#: What is called beside that of the name.
BY_OTHERS = {"quantile_groups": ("decompose_groups",), **dict.fromkeys(("contributions", "calibration_error", "refinement", "sharpness"), ("decompose",)), **dict.fromkeys(("CalibrationSketch", "CalibrationSketch.merge", "CalibrationSketch.from_bytes"), ("CalibrationSketch.result",))}
LAYERS = {"p": "layer", "q": "deeper"}


class Faulty(dict[str, Any]):
    """Arguments by role, of which some are odd."""

    def __init__(self, values: dict[str, Any], roles: tuple[str, ...]) -> None:
        values = dict(values)
        for role, other in LAYERS.items():
            values.setdefault(other, values[role])
        of_members = dict.fromkeys(("members", "others", "quantiles"), values["p"])
        super().__init__({**ROLES, **of_members, **values})
        if len(self["y"]) != N:
            self.update({role: ROLES[role][: np.size(self["y"])] for role in "wgst"})
        self.roles, self.plain = roles, frozenset(roles)

    def __missing__(self, role: str) -> None:
        return None

    def back(self, found: Any, **_: Any) -> Any:
        return found

    def halves(self) -> tuple[Faulty, Faulty]:
        return self, self


def arguments_of(name: str) -> set[str]:
    """The arguments of a function, of the class that it belongs to, and of what it names."""
    found: set[str] = set()
    for covered in {*FUNCTIONS[name].covers, *BY_OTHERS.get(name, ())}:
        *path, last = covered.split(".")
        owner: Any = importlib.import_module("propercal")
        for part in path:
            owner = getattr(owner, part, None) or importlib.import_module(f"propercal.{part}")
        function = getattr(owner, last)
        found |= {*inspect.signature(function).parameters}
        found |= {*inspect.signature(owner).parameters} if inspect.isclass(owner) else set()
    return found


#: Arguments that no call here passes, by which a message begins that is of another value; the accessors have a class_dim.
NOT_PASSED = re.compile(r"(labels|pos_label|ignore_index|class_axis|sample_dims|link)\b.*? = ")
#: What is merged has to be told of labels.
TOLD = {"CalibrationSketch.merge", "CalibrationMonitor.merge"}
OF_NOBODY = "a value that nobody passed"


def advised(call: Callable[[], object]) -> Iterator[tuple[str, str]]:
    """Yield arguments that a call advises, or says the value of though nobody passed one, with the message."""
    messages = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            call()
        except (ValueError, TypeError) as error:
            messages.append(str(error))
        except (AssertionError, AttributeError):
            # An assertion passes or fails; what has an accessor is an array of xarray.
            pass
    messages += [str(each.message) for each in found if each.category is UserWarning]
    for message in messages:
        # What is expected says what data are for, and advises nothing.
        advice = re.sub(r": expected .*?(?=; )", "", message, count=1)
        for argument in ADVISED.findall(OF_OTHERS.sub("", advice)):
            yield argument, message
        if NOT_PASSED.match(message):
            yield OF_NOBODY, message


SLOW = {"report", "CalibrationSketch", "assert_calibrated", "assert_no_worse_calibrated", "reliability_panels"}


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
    for name, function in FUNCTIONS.items() if {"y", "outcome"} & {*function.roles}
])
def test_advised_arguments_are_those_of_the_function(name: str) -> None:
    function, known = FUNCTIONS[name], arguments_of(name)
    odd = {}
    for fault, values in FAULTS.items():
        for options in ({}, {"from_logits": True}) if "from_logits" in known and fault in ("several labels a row", "logits") else ({},):
            data = Faulty(values, function.roles)
            for argument, message in advised(partial(function.call, data, **options)):
                if argument not in known and not (argument == OF_NOBODY and name in TOLD):
                    odd[argument, fault] = message
    assert not odd, "\n".join(f"{argument} ({fault}): {message}" for (argument, fault), message in odd.items())


def test_clauses_of_others_are_left_out() -> None:
    said = "drop rows, or pass ignore_index=-1, or labels=[...] if it is a class"
    assert possible(said) == said
    with advising("labels"):
        assert possible(said) == "drop rows, or labels=[...] if it is a class"
        assert possible("pass class_dim=..., or arrays; or sample_dims=...") == "pass arrays"
        assert possible("pass class_axis=1; align the two") == "align the two"
        assert possible("use notion='classwise'") == "bring the data into this form first"
        assert possible("call f(x, y=3), or write y == 3") == "call f(x, y=3), or write y == 3"
        assert possible_sentences("It is odd. Pass bandwidth=... to choose it.") == "It is odd."
        # The caller's function tells, whatever it calls.
        with advising("ignore_index"):
            assert possible(said) == "drop rows, or labels=[...] if it is a class"
    assert possible(said) == said


# ---------------------------------------------------------------- commands

#: A flag, and what is left of a call of Python in a message.
FLAG, ARGUMENT = re.compile(r"(?<![\w-])--[a-z][a-z-]*"), re.compile(r"(?<![\w.(])[a-z_]+=(?!=)")
RULES = ["--generator", "brier", "--method", "risk", "--bandwidth", "0.1"]
COMMANDS = {
    "decompose": RULES,
    "test": ["--generator", "rps"],
    "compare": [*RULES, "--term", "risk"],
    "recalibrate": ["--save-map", "map.json", "--force"],
    "monitor": ["--generator", "rps"],
}
OF_FILES: dict[str, dict[str, Any]] = {
    **FAULTS,
    "words among numbers": {"y": ROLES["y"], **by_role(lambda values: pd.DataFrame(values, columns=CLASSES).assign(site="north"))},
    "words in alphabetical order": {"y": np.array(["high", "low", "mid"])[CODES], **by_role(lambda values: pd.DataFrame(values, columns=["high", "low", "mid"]))},
    "an index": {"y": ROLES["y"], **by_role(lambda values: pd.DataFrame(values, columns=CLASSES).reset_index())},
}


def flags_of(name: str) -> set[str]:
    _, commands = command._parser([name])
    return {flag for action in commands.choices[name]._actions for flag in action.option_strings}


def written(form: str, values: dict[str, Any]) -> list[str] | None:
    """Names of two files of these data; None where the form has none such."""
    found = []
    for role in "pq":
        y, p, path = values["y"], values[role], f"{role}.{form}"
        if form == "npz":
            np.savez(path, labels=np.asarray(y), probs=np.asarray(p))
        else:
            if np.ndim(y) > 1 or np.ndim(p) > 2:
                return None
            plain = not isinstance(p, pd.DataFrame | pd.Series)
            table = pd.DataFrame(p, columns=CLASSES[: (*np.shape(p), 1)[1]] if plain else None)
            table = table.reset_index(drop=True).assign(label=np.resize(np.asarray(y, dtype=object), len(table)))
            table.to_csv(path, index=False)
        found.append(path)
    return found


@pytest.mark.parametrize("form", ["csv", "npz"])
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if name in ("compare", "decompose", "test") else []) for name in COMMANDS])
def test_advised_flags_are_those_of_the_command(name: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    known, odd, said = flags_of(name), {}, 0
    for fault, values in OF_FILES.items():
        paths = written(form, values)
        if paths is None:
            continue
        main([name, *(paths if name == "compare" else paths[:1]), *COMMANDS[name]])
        for line in capsys.readouterr().err.splitlines():
            said += 1
            wrong = {*FLAG.findall(line)} - known | {*ARGUMENT.findall(line)}
            if wrong:
                odd[fault] = f"{sorted(wrong)}: {line}"
    assert said > 10
    assert not odd, "\n".join(f"{fault}: {line}" for fault, line in odd.items())


def test_flags_in_the_text_of_messages_are_those_of_some_command() -> None:
    root = Path(str(importlib.import_module("propercal").__file__)).parent
    known = set().union(*map(flags_of, command.COMMANDS))
    found = {flag for path in (root / "_files").glob("*.py") for flag in FLAG.findall(path.read_text(encoding="utf-8"))}
    assert len(found) > 4
    assert found <= known


def test_a_monitor_of_ordered_classes_takes_their_order_from_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The advice that it gives where it refuses words in alphabetical order: then it is as of numbers, which count."""
    monkeypatch.chdir(tmp_path)
    words = ["cold", "mild", "warm"]
    names = np.array(words)
    np.savez("codes.npz", labels=CODES, probs=PROBA["p"])
    np.savez("words.npz", labels=names[CODES], probs=PROBA["p"], classes=names)
    pd.DataFrame(PROBA["p"], columns=words).assign(label=names[CODES]).to_csv("words.csv", index=False)
    pd.DataFrame(PROBA["p"], columns=words).assign(label=CODES).to_csv("codes.csv", index=False)
    monitor = ["monitor", "--generator", "rps", "--json"]
    assert main([*monitor, "codes.npz"]) == 0
    (right,) = json.loads(capsys.readouterr().out)
    order = [part for each in words for part in ("--class", each)]
    for path in ("words.npz", "words.csv", "codes.csv"):
        assert main([*monitor, path]) == 1
        assert "pass --class to name them; pass --class too if" in capsys.readouterr().err
        assert main([*monitor, path, *order]) == 0
        (found,) = json.loads(capsys.readouterr().out)
        assert found | {"file": ""} == right | {"file": ""}
    # Of numbers in the names no flag makes another order.
    pd.DataFrame(PROBA["p"], columns=["c2", "c0", "c1"]).assign(label=np.array(["c2", "c0", "c1"])[CODES]).to_csv("numbered.csv", index=False)
    assert main([*monitor, "numbered.csv", "--class", "c2", "--class", "c0", "--class", "c1"]) == 1


def test_a_monitor_of_a_table_is_told_to_rename_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As another command is: of tables `--class` names columns that are there, of arrays those that have no names."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(PROBA["p"], columns=["1", "2", "3"]).assign(label=CODES).to_csv("p.csv", index=False)
    np.savez("p.npz", labels=np.array([0, 1, 5])[CODES], probs=PROBA["p"])
    said = []
    for name, flags in (("decompose", RULES), ("monitor", [])):
        assert main([name, "p.csv", *flags]) == 1
        said.append(capsys.readouterr().err.partition("; ")[2])
    assert said[0] == said[1] == "rename the columns, recode the labels, or name the label of a single column with --pos-label.\n"
    assert main(["monitor", "p.npz"]) == 1
    assert "--class" in capsys.readouterr().err
    assert main(["monitor", "p.npz", "--class", "0", "--class", "1", "--class", "5"]) == 0


def test_a_file_of_labels_from_1_is_told_to_name_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    values = OF_FILES["counted from 1"]
    np.savez("counted.npz", labels=values["y"], probs=values["p"])
    assert main(["decompose", "counted.npz", *RULES]) == 0
    assert "though predictions let 14 rows be of class 0. Write names of columns as labels." in capsys.readouterr().err
    classes = np.array(["one", "two", "three"])
    np.savez("named.npz", labels=classes[values["y"] - 1], probs=values["p"], classes=classes)
    assert main(["decompose", "named.npz", *RULES]) == 0
    assert not capsys.readouterr().err
