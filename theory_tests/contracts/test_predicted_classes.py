"""Predicted classes beside predictions, which are left out: they tell of which classes the columns are.

Oracle: the Brier score of the probabilities that were drawn, by its definition.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal._data.classes.columns import is_predicted
from propercal.cli.command import main

NAMES = np.array(["cat", "dog", "eel"])
TURNED = [2, 0, 1]
RISK = ["--json", "--generator", "brier", "--method", "risk", "--bandwidth", "0.1"]
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def drawn(n: int, k: int) -> tuple[Any, Any, float]:
    rng = np.random.default_rng(7)
    proba = rng.dirichlet(np.full(k, 0.8), n)
    label = np.array([rng.choice(k, p=row) for row in proba])
    return label, proba, float(((proba - np.eye(k)[label]) ** 2).sum(axis=1).mean())


def written(form: str, **columns: Any) -> str:
    path = f"p.{form}"
    if form == "npz":
        np.savez(path, **columns)
    elif form == "jsonl":
        rows = zip(*(np.asarray(each).tolist() for each in columns.values()), strict=True)
        Path(path).write_text("".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows))
    else:
        pd.DataFrame(columns).to_csv(path, index=False)
    return path


def refused(capsys: Captured, *command: str) -> str:
    assert main(list(command)) == 1
    return capsys.readouterr().err


def risk(capsys: Captured, *command: str) -> float:
    assert main(["decompose", *command, *RISK]) == 0
    found = capsys.readouterr()
    assert found.err == ""
    return float(json.loads(found.out)[0]["risk"])


@pytest.mark.parametrize("name", ["predicted", "pred", "y_pred", "Prediction", "predicted_class", "predicted label", "pred_label", "yhat", "y_hat", "argmax", "top_class", "top1"])
def test_names_of_predicted_classes(name: str) -> None:
    assert is_predicted(name)


@pytest.mark.parametrize("name", ["predictor", "predicted_probability", "pred_time", "spread", "top", "label", "hat", "predicate", 3])
def test_names_of_other_things(name: Any) -> None:
    assert not is_predicted(name)


@pytest.mark.parametrize("words", [True, False])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("command", [["decompose"], ["monitor"], ["test"], ["recalibrate", "--save-map", "m.json"]])
def test_the_probability_of_whichever_class_is_predicted(capsys: Captured, command: list[str], form: str, words: bool) -> None:
    """As pipelines write it: it is one of neither class, and the advice makes it that of one."""
    label, proba, right = drawn(300, 2)
    top, score = proba.argmax(axis=1), proba.max(axis=1)
    names = np.array(["NEG", "POS"]) if words else np.arange(2)
    flags = ["--drop", "predicted", *(["--pos-label", "POS"] if words else [])]
    path = written(form, label=names[label], predicted=names[top], score=score)
    error = refused(capsys, command[0], path, *command[1:], *flags)
    assert "in which 'score' is 0.5 or more, as it is in all" in error
    assert "write 1 - score in rows where 'predicted' is " in error
    path = written(form, label=names[label], predicted=names[top], score=np.where(top, score, 1 - score))
    assert risk(capsys, path, *flags) == pytest.approx(right)


def test_columns_that_are_all_none_of_classes_alone(capsys: Captured) -> None:
    """To leave out all of them is no advice."""
    label, proba, _ = drawn(60, 2)
    path = written("csv", label=label, predicted=proba.argmax(axis=1), score=proba[:, 1])
    error = refused(capsys, "decompose", path)
    assert "--drop predicted, if 'score' is the probability of one class in each row" in error
    assert "--drop score" not in error
    path = written("csv", label=label, split="test", pred=proba.argmax(axis=1), score=proba[:, 1])
    assert "(--drop" not in (error := refused(capsys, "decompose", path))
    assert "--drop split --drop pred, if 'score'" in error


@pytest.mark.parametrize("command", ["decompose", "monitor"])
def test_one_column_beside_more_classes(capsys: Captured, command: str) -> None:
    """No class is named by pos_label then; whether predictions are right is what can be asked."""
    label, proba, _ = drawn(80, 3)
    top = proba.argmax(axis=1)
    path = written("csv", label=NAMES[label], predicted=NAMES[top], score=proba.max(axis=1))
    error = refused(capsys, command, path, "--drop", "predicted")
    assert "--pos-label" not in error
    assert "whether the predicted class is right as label" in error
    path = written("csv", label=(label == top), predicted=NAMES[top], score=proba.max(axis=1))
    right = 2 * float(np.mean((proba.max(axis=1) - (label == top)) ** 2))
    assert risk(capsys, path, "--drop", "predicted") == pytest.approx(right)


@pytest.mark.parametrize("command", ["decompose", "monitor"])
@pytest.mark.parametrize("form", ["csv", "lists", "npz"])
def test_columns_in_another_order_than_predicted_classes(capsys: Captured, form: str, command: str) -> None:
    """So few rows give no doubt of their own."""
    label, proba, right = drawn(12, 3)
    top, turned = proba.argmax(axis=1), proba[:, TURNED]

    def path(scores: Any) -> list[str]:
        if form == "csv":
            columns = dict(zip(NAMES[TURNED], scores.T, strict=True))
            return [written("csv", label=label, predicted=top, **columns), "--drop", "predicted"]
        if form == "lists":
            return [written("jsonl", label=label, predicted=top, probs=scores), "--drop", "predicted"]
        return [written("npz", labels=label, probs=scores, pred=top)]

    assert "wherever the column that is read as that of" in refused(capsys, command, *path(turned))
    assert risk(capsys, *path(proba)) == pytest.approx(right)
    said = NAMES if form == "csv" else TURNED
    assert risk(capsys, *path(turned), *[word for each in said for word in ("--class", str(each))]) == pytest.approx(right)


def test_words_that_are_not_sorted(capsys: Captured) -> None:
    label, proba, right = drawn(24, 3)
    path = written("npz", labels=NAMES[label], probs=proba[:, TURNED], pred=NAMES[proba.argmax(axis=1)])
    assert "'pred', which is left out, is 'eel' wherever" in refused(capsys, "decompose", path)
    assert risk(capsys, path, *[word for each in NAMES[TURNED] for word in ("--class", each)]) == pytest.approx(right)


def test_the_probability_of_the_other_class(capsys: Captured) -> None:
    label, proba, right = drawn(200, 2)
    path = written("csv", label=label, predicted=proba.argmax(axis=1), p=proba[:, 0])
    assert "name 0 as the class of 'p' by --pos-label" in refused(capsys, "decompose", path, "--drop", "predicted")
    assert risk(capsys, path, "--drop", "predicted", "--pos-label", "0") == pytest.approx(right)


def test_what_predicted_classes_may_be(capsys: Captured) -> None:
    """A threshold of any value, another model, other codes, classes beside whether these are right."""
    label, proba, right = drawn(200, 2)
    for predicted in (proba[:, 1] > 0.2, (proba[:, 1] > 0.9).astype(int), label, proba.argmax(axis=1) + 1, ["?"] * 200, [""] * 200):
        path = written("csv", label=label, predicted=predicted, p=proba[:, 1])
        assert risk(capsys, path, "--drop", "predicted") == pytest.approx(right)
    top = proba.argmax(axis=1)
    path = written("csv", label=(top == label).astype(int), predicted=top, p=proba.max(axis=1))
    assert risk(capsys, path, "--drop", "predicted") == pytest.approx(right)
    path = written("npz", labels=(top == label), pred=top, confidence=proba.max(axis=1))
    assert risk(capsys, path) == pytest.approx(right)
    three, proba, right = drawn(200, 3)
    for predicted in (proba.argmin(axis=1), np.where(proba[:, 2] > 0.2, 2, proba.argmax(axis=1)), three):
        path = written("csv", label=three, predicted=predicted, cat=proba[:, 0], dog=proba[:, 1], eel=proba[:, 2])
        assert risk(capsys, path, "--drop", "predicted") == pytest.approx(right)


@pytest.mark.parametrize("command", ["decompose", "monitor"])
def test_predicted_classes_that_are_called_as_columns_are(capsys: Captured, command: str) -> None:
    """Labels have other names than predicted classes, which say of what the columns are all the same."""
    label, proba, right = drawn(40, 3)
    words = NAMES[proba.argmax(axis=1)]
    for prefix in ("", "p_"):
        names = [f"{prefix}{each}" for each in NAMES]
        path = written("csv", label=label, predicted=words, **dict(zip(names, proba.T, strict=True)))
        assert risk(capsys, path, "--drop", "predicted") == pytest.approx(right)
        path = written("csv", label=label, predicted=words, **dict(zip(names, proba[:, TURNED].T, strict=True)))
        error = refused(capsys, command, path, "--drop", "predicted")
        assert f"is 'eel' wherever the column '{names[0]}' is the largest: expected the class of the largest; name the columns after their classes" in error.replace(f"'{prefix}eel'", "'eel'")


@pytest.mark.parametrize("command", ["decompose", "monitor"])
def test_predicted_codes_beside_words(capsys: Captured, command: str) -> None:
    label, proba, right = drawn(200, 2)
    words, top = np.array(["NEG", "POS"])[label], proba.argmax(axis=1)
    for codes in (top, top == 1):
        path = written("csv", label=words, predicted=codes, p=proba[:, 0])
        error = refused(capsys, command, path, "--drop", "predicted", "--pos-label", "POS")
        assert "is 0 where 'p' is large" in error
        assert "name 'NEG' as the class of 'p' by --pos-label" in error
        assert risk(capsys, path, "--drop", "predicted", "--pos-label", "NEG") == pytest.approx(right)
        path = written("csv", label=words, predicted=codes, p=proba[:, 1])
        assert risk(capsys, path, "--drop", "predicted", "--pos-label", "POS") == pytest.approx(right)
        path = written("csv", label=words, predicted=codes, score=proba.max(axis=1))
        assert "write 1 - score in rows where 'predicted' is 0" in refused(capsys, command, path, "--drop", "predicted", "--pos-label", "POS")
