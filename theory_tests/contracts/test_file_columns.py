"""What the names and types of a file's columns say: as the same table in memory, or refused.

One of two classes has 0.9, so that the Brier score is 2 · 0.1² = 0.02; of three the one that occurs has 0.8, and it is
0.06.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import decompose
from propercal.cli.files import read_predictions
from theory_tests.contracts.test_misleading_names import CODES, FRAUD, LABELS, PROBA, SCORE, THREE, TWO, WORDS, F, P

LOGITS = pd.DataFrame(np.log(PROBA), columns=list("abc"))


def risk(folder: Path, table: pd.DataFrame, suffix: str = ".csv", **options: Any) -> float:
    path = folder / f"p{suffix}"
    if suffix == ".csv":
        table.to_csv(path, index=False)
    elif suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        pytest.importorskip("pyarrow")
        table.to_parquet(path)
    found = read_predictions(path, **options)
    settings: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1, "from_logits": found.from_logits}
    return float(decompose(found.y_true, found.y_proba, sample_weight=found.sample_weight, **settings).risk)


# ---------------------------------------------------------------- the name of the column of labels


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("name", ["fraud_label", "is_fraud", "y_fraud"])
def test_the_name_of_the_column_of_labels_is_read_as_in_memory(tmp_path: Path, name: str, suffix: str) -> None:
    options: dict[str, Any] = {"label_column": name, "suffix": suffix}
    labels = {name: FRAUD}
    for table in (F, F.add_prefix("p_")):
        with pytest.raises(ValueError, match=rf"p\{suffix}: labels = \[0, 1\], named '{name}': expected to know of which classes the table has columns"):
            risk(tmp_path, table.assign(**labels), **options)
        assert risk(tmp_path, table.iloc[:, ::-1].assign(**labels), **options) == pytest.approx(TWO, rel=1e-9)
        assert risk(tmp_path, table.iloc[:, :1].assign(**labels), **options) == pytest.approx(TWO, rel=1e-9)
    with pytest.raises(ValueError, match=r"labels = \[0, 1\], named 'not_fraud'"):
        risk(tmp_path, F[["fraud"]].add_prefix("p_").assign(not_fraud=1 - FRAUD), suffix, label_column="not_fraud")


def test_the_label_of_a_column_that_its_name_contradicts_is_refused(tmp_path: Path) -> None:
    table = pd.DataFrame({"p_legit": 1 - SCORE, "label": WORDS})
    with pytest.raises(ValueError, match=r"p\.csv: pos_label = 'fraud': expected 'p_legit'"):
        risk(tmp_path, table, pos_label="fraud")
    assert risk(tmp_path, table, pos_label="legit") == pytest.approx(TWO, rel=1e-9)


# ---------------------------------------------------------------- categories


def test_categories_of_a_column_of_labels_have_their_order(tmp_path: Path) -> None:
    for labels in (pd.Categorical(LABELS, list("bca"), ordered=True), pd.Categorical(LABELS)):
        assert risk(tmp_path, P[list("bca")].assign(label=labels), ".parquet") == pytest.approx(THREE, rel=1e-9)
    digits = pd.Categorical((CODES + 1).astype(str), ["3", "1", "2"], ordered=True)
    moved = P[list("cab")].set_axis(["x", "y", "z"], axis=1)
    assert risk(tmp_path, moved.assign(label=digits), ".parquet") == pytest.approx(THREE, rel=1e-9)
    with pytest.raises(ValueError, match=r"p\.parquet: labels = the names \[3, 1, 2\]: expected to know their order"):
        risk(tmp_path, moved.assign(label=pd.Categorical(digits, ["3", "1", "2"], ordered=False)), ".parquet")


# ---------------------------------------------------------------- columns that are no class

NO_CLASS = ["weight", "sample_weight", "loss", "patient_id", "pred", "prediction", "score", "id", "fold"]


@pytest.mark.parametrize("name", NO_CLASS)
def test_a_column_of_logits_whose_name_says_that_it_is_no_class_is_refused(tmp_path: Path, name: str) -> None:
    table = LOGITS.assign(label=LABELS, **{name: np.arange(30) % 4 + 1.0})
    with pytest.raises(ValueError, match=rf"p\.csv: column '{name}': its name says that it is no class; .*--drop {name}"):
        risk(tmp_path, table, from_logits=True)
    assert risk(tmp_path, table, from_logits=True, drop=[name]) == pytest.approx(THREE, rel=1e-9)
    # A class may have that name.
    assert risk(tmp_path, LOGITS.set_axis([name, "b", "c"], axis=1).assign(label=np.where(LABELS == "a", name, LABELS)), from_logits=True) == pytest.approx(THREE, rel=1e-9)


@pytest.mark.parametrize("name", [*NO_CLASS, "index", "level_0"])
def test_so_is_one_in_memory(name: str) -> None:
    table = LOGITS.assign(**{name: 1.0})
    settings: dict[str, Any] = {"from_logits": True, "generator": "brier", "method": "risk", "bandwidth": 0.1}
    with pytest.raises(ValueError, match=rf"^y_proba = a column of logits named '{name}': expected logits of classes alone; drop it"):
        decompose(LABELS, table, **settings)
    assert decompose(LABELS, LOGITS, **settings).risk == pytest.approx(THREE, rel=1e-9)
    labels = np.where(LABELS == "a", name, LABELS)
    assert decompose(labels, LOGITS.set_axis([name, "b", "c"], axis=1), **settings).risk == pytest.approx(THREE, rel=1e-9)


def test_one_column_of_scores_is_one(tmp_path: Path) -> None:
    for name in ("score", "pred", "prediction", "y_pred"):
        assert risk(tmp_path, pd.DataFrame({"label": FRAUD, name: SCORE})) == pytest.approx(TWO, rel=1e-9)
    table = pd.DataFrame({"label": FRAUD, "logit": np.log(SCORE / (1 - SCORE)), "weight": 1.0})
    with pytest.raises(ValueError, match="column 'weight'"):
        risk(tmp_path, table, from_logits=True)
    assert risk(tmp_path, table, from_logits=True, weight_column="weight") == pytest.approx(TWO, rel=1e-9)


def test_columns_of_logits_that_no_row_has_the_label_of_are_named(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"p\.csv: columns 'extra' are taken for logits of classes, though no row has such a label: .*--drop"):
        risk(tmp_path, LOGITS.assign(extra=0.0, label=LABELS), from_logits=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        risk(tmp_path, LOGITS.assign(label=LABELS), from_logits=True)
        # Sums of 1 tell of probabilities, but for zeros.
        risk(tmp_path, P.assign(extra=1e-9, label=LABELS))
        risk(tmp_path, P.assign(extra=0.0, label=LABELS), classes=["a", "b", "c", "extra"])
    with pytest.warns(UserWarning, match=r"p\.csv: columns 'extra' are taken for classes, though no row has such a label, and all are 0: .*--drop"):
        risk(tmp_path, P.assign(extra=0.0, label=LABELS))
