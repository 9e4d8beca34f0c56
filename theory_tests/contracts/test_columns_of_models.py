"""Models whose single columns are of two classes are not compared, and models under names of their own are.

As in the tests of misleading names, the Brier score of two classes is 2 · 0.1² = 0.02; that of chance is 0.5.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import compare_models, murphy, paired_difference
from propercal._data.words.opposed import are_of_two_classes
from propercal.cli.command import main
from theory_tests.contracts.test_opposed_names import EVENT, RIGHT, SCORE

#: Names of columns of two classes.
OF_TWO = [("spam", "ham"), ("p_spam", "p_ham"), (">50K", "<=50K"), ("home_win", "away_win"), ("p_male", "p_female"), ("class_1", "class_2"), ("y", "n")]
#: Names of columns of two models.
OF_MODELS = [("lasso", "ridge"), ("churn_a", "churn_b"), ("spam_lasso", "spam_ridge"), ("cam_left", "cam_right"), ("p_low", "p_high"), ("p1", "p2"), ("f", "g"), ("class_1_lr", "class_1_rf")]


def of_class(name: str, values: Any) -> Any:
    return pd.Series(values, name=name)


@pytest.mark.parametrize(("first", "second"), OF_TWO)
def test_models_whose_columns_are_of_two_classes_are_refused(first: str, second: str) -> None:
    a, b = of_class(first, SCORE), of_class(second, 1 - SCORE)
    for one, two in ((a, b), (b, a)):
        with pytest.raises(ValueError, match=f"^y_proba_b = a column named '{two.name}': .*y_proba_a, named"):
            paired_difference(EVENT, one.to_frame(), two, generator="brier", term="risk")
    with pytest.raises(ValueError, match=r"^models\['c'\] = a column named"):
        compare_models(EVENT, {"a": a, "b": SCORE, "c": b}, generator="brier", term="risk")
    with pytest.raises(ValueError, match=r"^predictions\['b'\] = a column named"):
        murphy(EVENT, {"a": a, "b": b})
    assert are_of_two_classes(first, second)


@pytest.mark.parametrize(("first", "second"), OF_MODELS)
def test_models_under_their_own_names_are_compared(first: str, second: str) -> None:
    # The second model is that of chance: 2 · 0.5² less 2 · 0.1².
    found = paired_difference(EVENT, of_class(second, np.full(20, 0.5)), of_class(first, SCORE), generator="brier", term="risk")
    assert found.difference == pytest.approx(0.5 - RIGHT, rel=1e-12)
    assert not are_of_two_classes(first, second)


#: Names that a caller gives to two models, and to their columns, as a table of them has.
AS_MODELS = [("with_age", "no_age"), ("age", "no_age"), ("rf", "rf_no_age"), ("fold_0", "fold_1"), ("m0", "m1"), ("v1", "v2"), ("model_1", "model_2"), ("before", "after"), ("train", "test"), ("zero_shot", "few_shot"), ("good_model", "bad_model"), ("lr<0.1", "lr>0.1")]


@pytest.mark.parametrize(("first", "second"), AS_MODELS)
def test_columns_that_are_called_as_their_models_are_of_these(first: str, second: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.DataFrame({first: SCORE, second: np.full(20, 0.5)})
    for names in ((first, second), (second, first)):
        found = compare_models(pd.Series(EVENT, name="churn"), {name: table[name] for name in names}, generator="brier", term="risk")
        assert [found.models[name].risk for name in (first, second)] == pytest.approx([RIGHT, 0.5], rel=1e-12)
    assert murphy(EVENT, {second: table[second]}).equals(murphy(EVENT, {second: table[second].to_numpy()}))
    if "<" not in first:
        for name in (first, second):
            for kind in ("csv", "csv.gz"):
                table[[name]].assign(label=EVENT).to_csv(tmp_path / f"{name}.{kind}", index=False)
            np.savez(tmp_path / f"{name}.npz", labels=EVENT, probs=table[name], classes=np.array([name]))
        for kind in ("csv", "csv.gz", "npz"):
            assert main(["compare", *(str(tmp_path / f"{name}.{kind}") for name in (first, second)), "--term", "risk", "--generator", "brier", "--json"]) == 0
            said = json.loads(capsys.readouterr().out)
            assert [each["estimate"] for each in said[0]["models"]] == pytest.approx([RIGHT, 0.5], rel=1e-12)


@pytest.mark.parametrize(("first", "second"), [("fraud", "no_fraud"), ("age", "no_age"), ("spam", "ham"), ("p_1", "p_0"), ("p", "1-p"), ("a", "none")])
def test_columns_that_are_called_as_their_models_may_be_of_two_classes(first: str, second: str) -> None:
    """They are where they say so, or where one denies the other and the two sum to 1 in each row."""
    models = {first: of_class(first, SCORE), second: of_class(second, 1 - SCORE)}
    with pytest.raises(ValueError, match=r"^models\['.*'\] = a column named"):
        compare_models(EVENT, models, generator="brier", term="risk")


@pytest.mark.parametrize(("label", "name"), [("fraud", "no_fraud"), ("fraud", "legit"), ("show", "no_show")])
def test_a_column_that_is_called_as_its_model_denies_no_labels(label: str, name: str) -> None:
    models = {"rf": SCORE, name: of_class(name, 1 - SCORE)}
    with pytest.raises(ValueError, match="a column named"):
        compare_models(of_class(label, EVENT), models, generator="brier", term="risk")


def test_beside_words_a_column_that_is_called_as_its_model_is_of_the_class_of_its_name() -> None:
    words = np.where(EVENT == 1, "died", "survived")
    models = {"died": of_class("died", SCORE), "survived": of_class("survived", 1 - SCORE)}
    found = compare_models(words, models, generator="brier", term="risk")
    assert [each.risk for each in found.models.values()] == pytest.approx([RIGHT, RIGHT], rel=1e-12)


def test_beside_words_each_column_is_read_by_itself() -> None:
    words = np.where(EVENT == 1, "died", "survived")
    # Here male and female are those whom the models were fitted to.
    found = paired_difference(words, of_class("male", SCORE), of_class("female", SCORE), pos_label="died", generator="brier", term="risk")
    assert found.difference == 0


def test_a_single_column_stands_by_its_name_beside_two() -> None:
    words = np.where(EVENT == 1, "yes", "no")
    table, single = pd.DataFrame({"yes": SCORE, "no": 1 - SCORE}), of_class("yes", np.full(20, 0.5))
    options: dict[str, Any] = {"generator": "brier", "term": "risk"}
    for two in (table, table[["no", "yes"]]):
        assert paired_difference(words, single, two, **options).difference == pytest.approx(0.5 - RIGHT, rel=1e-12)
        assert paired_difference(words, two, of_class("no", 1 - SCORE), **options).difference == pytest.approx(0, abs=1e-12)
    # Columns without names may have the order of the table.
    with pytest.raises(ValueError, match="columns without names"):
        compare_models(words, {"a": table, "b": single, "c": np.stack([SCORE, 1 - SCORE], 1)}, **options)


@pytest.mark.parametrize("holder", ["ordered", "enum", "one-hot"])
def test_columns_without_names_are_refused_beside_names_and_labels_in_two_orders(holder: str) -> None:
    classes, codes = ["low", "mid", "high"], np.arange(20) % 3
    values = np.full((20, 3), 0.25) + np.eye(3)[codes] / 4
    labels: Any = pd.Series(pd.Categorical(np.array(classes)[codes], classes, ordered=True))
    if holder == "enum":
        polars = pytest.importorskip("polars")
        labels = polars.Series(np.array(classes)[codes]).cast(polars.Enum(classes))
    elif holder == "one-hot":
        labels = pd.get_dummies(labels)[classes]
    table = pd.DataFrame(values, columns=classes)
    options: dict[str, Any] = {"generator": "brier", "term": "risk"}
    moved = table[sorted(classes)]
    for a, b in ((moved, values), (values, moved)):
        with pytest.raises(ValueError, match=r"= columns without names: expected names: y_true has classes in the order .*; name its columns"):
            paired_difference(labels, a, b, **options)
    for a, b in ((moved, table), (table, moved), (values, values)):
        assert paired_difference(labels, a, b, **options).difference == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("first", "second"), [("spam", "ham"), (">50K", "<=50K")])
def test_files_of_single_columns_of_two_classes_are_refused(first: str, second: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, column, values in (("a", first, SCORE), ("b", second, 1 - SCORE), ("c", "lasso", SCORE)):
        pd.DataFrame({"label": EVENT, column: values}).to_csv(tmp_path / f"{name}.csv", index=False)
        np.savez(tmp_path / f"{name}.npz", labels=EVENT, probs=values, classes=np.array([column]))
    for kind in ("csv", "npz"):
        a, b, c = (str(tmp_path / f"{name}.{kind}") for name in "abc")
        assert main(["compare", a, b]) == 1
        assert f"a class column '{second}', and '{first}' in" in capsys.readouterr().err
        assert main(["compare", a, c, "--term", "risk"]) == 0
        capsys.readouterr()


def test_files_whose_columns_are_named_after_each_other_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / f"{name}.csv" for name in ("rf", "lr")]
    for path, name in zip(paths, ("lr", "rf"), strict=True):
        pd.DataFrame({"label": EVENT, name: SCORE}).to_csv(path, index=False)
    assert main(["compare", *map(str, paths), "--term", "risk"]) == 1
    assert "a class column 'rf', and 'lr' in" in capsys.readouterr().err


@pytest.mark.parametrize("turned", [False, True])
def test_columns_that_labels_order_beside_named_ones_are_looked_at(turned: bool) -> None:
    """As those of one model are."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([0.5] * 3, 400)
    code = np.array([rng.choice(3, p=each) for each in proba])
    labels, table = np.array(list("abc"))[code], pd.DataFrame(proba, columns=list("abc"))
    flat = proba**0.7 / (proba**0.7).sum(axis=1, keepdims=True)
    right = ((proba - np.eye(3)[code]) ** 2).sum(axis=1).mean() - ((flat - np.eye(3)[code]) ** 2).sum(axis=1).mean()
    options: dict[str, Any] = {"generator": "brier", "term": "risk", "labels": list("bac")}
    listed = flat[:, [1, 0, 2]]

    def difference(values: Any) -> float:
        a, b = (values, table) if turned else (table, values)
        found = paired_difference(labels, a, b, **options).difference
        return float(-found if turned else found)

    assert difference(listed) == pytest.approx(right, rel=1e-12)
    which = "y_proba_a" if turned else "y_proba_b"
    with pytest.warns(UserWarning, match=rf"^{which} has columns, read as those of the classes \['b', 'a', 'c'\], .* if it is \['a', 'b', 'c'\]"):
        difference(flat)
    with pytest.warns(UserWarning, match=r"^models\['b'\] has columns, read as those of the classes \['b', 'a', 'c'\]"):
        compare_models(labels, {"a": table, "b": flat}, **options)
