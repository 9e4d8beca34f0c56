"""What a sketch is told in one update, and contradicted in another: refused, or read as if it were one.

One of two classes has 0.9, so that the Brier score is 2 · 0.1² = 0.02, and 2 · 0.9² = 1.62 where they are confused.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import CalibrationMonitor, CalibrationSketch, decompose
from theory_tests.contracts.test_misleading_names import FRAUD, SCORE, TWO, F

#: Of the few rows here hardly any is surprising, which has a warning of its own.
pytestmark = pytest.mark.filterwarnings("ignore:(only [0-9]+|no) rows? had an outcome")

HALF = len(FRAUD) // 2
#: What columns of one class may be called.
FRAUDS = ["fraud", "p_fraud", "fraud_prob", "P(fraud)", "fraud_test"]
LEGITS = ["legit", "p_legit", "legit_prob", "P(legit)", "genuine"]
Rows = tuple[Any, Any]


def sketch_of(*chunks: Rows, **settings: Any) -> CalibrationSketch:
    sketch = CalibrationSketch(**{"n_classes": 2, "generator": "brier", "bandwidth": 0.1, **settings})
    for labels, proba in chunks:
        sketch.update(labels, proba)
    return sketch


def updated(first: Rows, second: Rows, **settings: Any) -> CalibrationSketch:
    return sketch_of(first, second, **settings)


def merged(first: Rows, second: Rows, **settings: Any) -> CalibrationSketch:
    sketch = sketch_of(first, **settings)
    sketch.merge(sketch_of(second, **settings))
    return sketch


def written(first: Rows, second: Rows, **settings: Any) -> CalibrationSketch:
    sketch = CalibrationSketch.from_bytes(sketch_of(first, **settings).to_bytes())
    sketch.update(*second)
    return sketch


WAYS = pytest.mark.parametrize("way", [updated, merged, written])
Way = Callable[..., CalibrationSketch]


def check(way: Way, *chunks: Rows, **settings: Any) -> None:
    # The risk is that of every method, and this one takes the least time.
    assert way(*chunks, **settings).result(method="risk").risk == pytest.approx(TWO, abs=1e-9)


def column(name: Any, second: bool = False, proba: Any = SCORE) -> Any:
    rows = slice(HALF, None) if second else slice(HALF)
    return pd.Series(np.asarray(proba)[rows], name=name)


def labels(name: Any = None, second: bool = False, values: Any = FRAUD) -> Any:
    return column(name, second, values)


# ---------------------------------------------------------------- the column of two classes

@WAYS
@pytest.mark.parametrize("settings", [{}, {"pos_label": 1}, {"labels": [0, 1]}], ids=str)
def test_a_column_of_another_class_than_in_rows_before_is_refused(way: Way, settings: Any) -> None:
    for first in FRAUDS:
        for other in LEGITS:
            with pytest.raises(ValueError, match=r"a column named '(p_|P\()?(legit|genuine)"):
                way((labels(), column(first)), (labels(None, True), column(other, True, 1 - SCORE)), **settings)
    for first in FRAUDS:
        for same in (*FRAUDS, None, 1, "p_fraud"):
            check(way, (labels(), column(first)), (labels(None, True), column(same, True)), **settings)


@WAYS
@pytest.mark.parametrize("kind", [bool, float, "one-hot"], ids=str)
def test_so_it_is_beside_labels_of_other_types(way: Way, kind: Any) -> None:
    values = np.eye(2)[FRAUD] if kind == "one-hot" else FRAUD.astype(kind)
    first, second = values[:HALF], values[HALF:]
    with pytest.raises(ValueError, match="a column named 'legit'"):
        way((first, column("fraud")), (second, column("legit", True, 1 - SCORE)))
    check(way, (first, column("fraud")), (second, column("p_fraud", True)))


@WAYS
def test_one_column_is_the_second_of_two_in_rows_before(way: Way) -> None:
    turned = F[["legit", "fraud"]]
    for first, name, second, proba in (
        (turned, "legit", "fraud", 1 - SCORE), (turned.add_prefix("p_"), "legit", "fraud", 1 - SCORE),
    ):
        one, two = (labels(), first[:HALF]), (labels(None, True), first[HALF:])
        with pytest.raises(ValueError, match=f"a column named {name!r}"):
            way(one, (labels(None, True), column(name, True, proba)))
        check(way, one, (labels(None, True), column(second, True)))
        check(way, (labels(), column(second)), two)
        with pytest.raises(ValueError, match=r"a column named '(p_)?fraud'"):
            way((labels(), column(name, False, proba)), two)


# ---------------------------------------------------------------- labels that are numbers

@WAYS
def test_labels_of_another_class_than_in_rows_before_are_refused(way: Way) -> None:
    for name in ("legit", "no_fraud", "is_legit"):
        other = labels(name, True, 1 - FRAUD)
        with pytest.raises(ValueError, match=f"labels named {name!r}"):
            way((labels("fraud"), column(None)), (other, column(None, True, 1 - SCORE)))
        with pytest.raises(ValueError, match=f"named {name!r}.* a column named 'fraud'"):
            way((labels(), column("fraud")), (other, column(None, True)))
    for same in ("is_fraud", "fraud", "label", None):
        check(way, (labels("fraud"), column(None)), (labels(same, True), column(None, True)))


OTHERS = ["legit", "is_legit", "genuine", "ok", "legitFlag"]


@pytest.mark.parametrize("name", OTHERS)
def test_labels_named_after_another_class_than_the_column_are_refused(name: str) -> None:
    def risk(y_true: Any, y_proba: Any, **settings: Any) -> Any:
        return decompose(y_true, y_proba, generator="brier", method="risk", bandwidth=0.1, **settings).risk

    for given in (pd.Series(1 - FRAUD, name=name), pd.Series(FRAUD == 0, name=name), pd.DataFrame({name: 1 - FRAUD})):
        for proba in (F.fraud, F[["fraud"]], F.fraud.rename("p_fraud"), F.fraud.rename("fraud_score")):
            with pytest.raises(ValueError, match=f"y_true = .*named {name!r}.* a column named .*pos_label="):
                risk(given, proba)
            assert risk(given, proba, pos_label=0) == pytest.approx(TWO)
        assert risk(given, 1 - SCORE) == pytest.approx(TWO)


@pytest.mark.parametrize(
    ("label", "column"),
    [("female", "male"), ("is_female", "P(male)"), ("neg_label", "p_pos"), ("no_label", "yes"), ("is_a", "P(b)"), ("atypical", "typical"), ("control", "case")],
)
def test_words_that_end_alike_or_say_no_are_of_another_class(label: str, column: str) -> None:
    settings: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
    y_true, y_proba = pd.Series(1 - FRAUD, name=label), pd.Series(SCORE, name=column)
    with pytest.raises(ValueError, match=f"^y_true = .*named {label!r}.* a column named"):
        decompose(y_true, y_proba, **settings)
    names = np.where(FRAUD == 1, "male", "female")
    for said in ("male", "female"):
        other = pd.Series(SCORE, name=f"P({'female' if said == 'male' else 'male'})")
        with pytest.raises(ValueError, match=f"^pos_label = {said!r}"):
            decompose(names, other, pos_label=said, **settings)
    assert decompose(names, pd.Series(SCORE, name="P(male)"), pos_label="male", **settings).risk == pytest.approx(TWO)


@pytest.mark.parametrize("name", ["label", "target", "Class", "outcome", "y_true", "event", "ground_truth", "is_fraud", "fraudulent", 0, None])
def test_labels_and_columns_of_other_names_are_read(name: Any) -> None:
    for proba in ("fraud", "p_fraud", "score", "xgb", "model_a", "risk_score", "p_hat", "fold_1"):
        found = decompose(pd.Series(FRAUD, name=name), F.fraud.rename(proba), generator="brier", method="risk", bandwidth=0.1)
        assert found.risk == pytest.approx(TWO)


# ---------------------------------------------------------------- rows that mark no class

def test_rows_without_a_label_are_no_sign_of_separate_columns() -> None:
    """Where rows of y_proba sum to 1, as memory has it; weight 0 leaves them out."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1.0] * 3, 60)
    codes = rng.integers(0, 3, 60)
    marks = np.eye(3)[codes]
    marks[[5, 35]] = 0
    settings = {"n_classes": 3, "notion": "classwise"}
    whole = [(marks, proba)]
    chunks = [(marks[:30], proba[:30]), (marks[30:], proba[30:])]
    rows = [(marks[i : i + 1], proba[i : i + 1]) for i in range(60)]
    full = marks.any(axis=1)
    for given in (whole, chunks, rows[5:], [(codes, proba), *whole]):
        with pytest.raises(ValueError, match=r"y_true = no class at row.*one in each row, as rows of y_proba sum to 1"):
            sketch_of(*given, **settings)
    with pytest.raises(ValueError, match="y_true = no class at row"):
        sketch_of((marks[full], proba[full] / 2 + 1 / 6), (marks[~full], proba[~full]), **settings)
    # Rounding, which sums of single-class rows may show, does not make columns separate.
    for given in ([(marks, proba.round(2))], [(marks[:30], proba[:30].round(2)), (marks[30:], proba[30:])]):
        with pytest.raises(ValueError, match="y_true = no class at row"):
            sketch_of(*given, **settings)
        with pytest.raises(ValueError, match="y_true = no class at row"):
            decompose(*given[0], notion="classwise", kernel=None)
    sketch = CalibrationSketch(3, generator="brier", notion="classwise")
    sketch.update(marks, proba, full * 1.0)
    kept = decompose(codes[full], proba[full], generator="brier", notion="classwise", kernel=None)
    assert sketch.result().risk == pytest.approx(float(kept.risk))


def test_rows_without_a_class_are_read_where_columns_are_separate() -> None:
    rng = np.random.default_rng(1)
    proba = rng.uniform(0.05, 0.95, (40, 3))
    marks = (rng.uniform(size=(40, 3)) < proba) * 1
    # One whose predictions happen to sum to 1.
    proba[30], marks[30] = [0.5, 0.25, 0.25], 0
    wanted = decompose(marks, proba, generator="brier", notion="classwise", method="risk", bandwidth=0.1).risk
    for cuts in ([0, 40], [0, 20, 30, 31, 40]):
        chunks = [(marks[a:b], proba[a:b]) for a, b in pairwise(cuts)]
        assert sketch_of(*chunks, n_classes=3, notion="classwise").result().risk == pytest.approx(float(wanted))


@WAYS
def test_columns_of_several_levels(way: Way) -> None:
    marks = np.stack([FRAUD == 0, FRAUD == 1], axis=1)
    table = np.stack([1 - SCORE, SCORE], axis=1)
    both: list[Any] = [[["p"], ["legit", "fraud"]], [["legit", "fraud"], [1]]]
    for levels in both:
        columns: Any = pd.MultiIndex.from_product(levels)
        named, labels = pd.DataFrame(table, columns=columns), pd.DataFrame(marks, columns=columns)
        check(way, (labels[:HALF], named[:HALF]), (marks[HALF:], named[HALF:]))
        check(way, (labels[columns[::-1]][:HALF], named[:HALF]), (labels[HALF:], named[HALF:]))
        with pytest.raises(ValueError, match=r"y_proba = columns|other = a sketch of"):
            way((marks[:HALF], table[:HALF]), (marks[HALF:], named[HALF:]))


# ------------------------------------------------------------ one class in each chunk

#: 1 of "yes", and then of "no": 2 · 0.1² on average.
YES, NO = (["yes", "yes"], [0.9, 0.9]), (["no", "no"], [0.1, 0.1])


def named(chunk: Rows, name: str | None) -> Rows:
    return pd.Series(chunk[0]), pd.Series(chunk[1], name=name)


@WAYS
@pytest.mark.parametrize(("first", "second"), [(YES, NO), (NO, YES)])
def test_chunks_of_one_class(way: Way, first: Rows, second: Rows) -> None:
    """The class that a first chunk lacks has the name that a later one has; before, it was called "not yes"."""
    check(way, first, second, pos_label="yes")
    check(way, first, second, labels=["no", "yes"])
    check(way, named(first, "p"), named(second, "p"), pos_label="yes")
    if first is YES and way is not merged:
        check(way, named(first, "yes"), named(second, "yes"))


@WAYS
def test_numbers_of_one_class(way: Way) -> None:
    check(way, ([2, 2], [0.9, 0.9]), ([1, 1], [0.1, 0.1]), pos_label=2)
    # Numbers 0 and 1 are the usual ones: others are listed.
    with pytest.raises(ValueError, match=r"y_true = -1 .* expected one of \[0, 1\], the classes of rows before; write .* pass labels=\[...\], .* from the start\.$"):
        updated(([1, 1], [0.9, 0.9]), ([-1, -1], [0.1, 0.1]), pos_label=1)
    check(way, ([1, 1], [0.9, 0.9]), ([-1, -1], [0.1, 0.1]), labels=[-1, 1])


@pytest.mark.parametrize("seen", [["yes", "no"], ["no"], ["yes", "yes", "no"]])
def test_a_third_class(seen: list[str]) -> None:
    """Of two classes that rows have named no other is one, whatever names could be made up."""
    sketch = sketch_of(*(([each], [0.5]) for each in seen), pos_label="yes")
    for other in ("not yes", "maybe"):
        with pytest.raises(ValueError, match=r"expected one of \['no', 'yes'\], the classes of rows before"):
            sketch.update([other], [0.5])
        with pytest.raises(ValueError, match=r"classes as \['.*', 'yes'\]: expected \['no', 'yes'\]"):
            sketch.merge(sketch_of(([other], [0.5]), pos_label="yes"))
    spam = sketch_of((["not spam", "spam"], [0.1, 0.9]), pos_label="spam")
    with pytest.raises(ValueError, match=r"'ham' .*: expected one of \['not spam', 'spam'\]"):
        spam.update(["ham"], [0.1])


def test_one_class_and_another_column() -> None:
    sketch = sketch_of(named(YES, "yes"))
    with pytest.raises(ValueError, match=r"y_true = the names \['yes'\]: expected 0 and 1, or to know of which class y_proba"):
        sketch.update(*named(NO, "no"))
    with pytest.raises(ValueError, match=r"y_true = the names \['yes'\]: expected 0 and 1, or to know of which class y_proba"):
        sketch.update(*named(NO, None))


def test_a_monitor_of_one_row_at_a_time() -> None:
    """Row by row it has the evidence of a monitor that was told both classes."""
    rng = np.random.default_rng(0)
    p = rng.random(60)
    y = np.where(rng.random(60) < p, "yes", "no")
    order = np.argsort(y)[::-1]
    monitors = [CalibrationMonitor(2, pos_label="yes"), CalibrationMonitor(2, labels=["no", "yes"])]
    for row in order:
        for monitor in monitors:
            monitor.update(y[[row]], p[[row]])
        monitors[0] = CalibrationMonitor.from_bytes(monitors[0].to_bytes())
    assert monitors[0].e_value == monitors[1].e_value


def test_words_of_chunks_without_names() -> None:
    letters, table = np.array(["a", "b", "c"]), np.array([[0.2, 0.3, 0.5], [0.5, 0.25, 0.25], [0.1, 0.8, 0.1]])
    moved = pd.DataFrame(table, columns=["c", "a", "b"])
    sketch = sketch_of(([0, 1, 2], table), n_classes=3, bandwidth=None)
    with pytest.raises(ValueError, match=r"^y_proba = columns \['c', 'a', 'b'\]: expected columns without names, as in rows before"):
        sketch.update([0, 1, 2], moved)
    with pytest.raises(ValueError, match=r"^y_true = 'a' .* expected one of \[0, 1, 2\], the classes of rows before; write classes alike in each update"):
        sketch.update(letters, table)
    # As it advises: alike in each update.
    sketch.update([0, 1, 2], table)
    other = sketch_of((letters, table), n_classes=3, bandwidth=None)
    other.update(letters[::-1], table)


@pytest.mark.parametrize("weights", [[-1, 1], [np.nan, 1], [1, 2, 3], ["1", "2"]])
def test_weights_of_chunks(weights: list[Any]) -> None:
    """A chunk may have a single positive weight, or none, of which the error says nothing, as memory's does."""
    sketch = sketch_of(bandwidth=None)
    with pytest.raises(ValueError, match=r"pass one finite weight ≥ 0 per row\.$"):
        sketch.update([0, 1], [0.1, 0.9], sample_weight=weights)
    with pytest.raises(ValueError, match=r"pass one finite weight ≥ 0 per row, at least two of them positive\.$"):
        decompose([0, 1], [0.1, 0.9], sample_weight=weights)
    sketch.update([0, 1], [0.1, 0.9], sample_weight=[0, 1])
    with pytest.raises(ValueError, match=r"n_samples = 1: expected 2 rows or more, of which those of weight 0 are none; add more by update"):
        sketch.result()


@WAYS
def test_columns_without_names_are_those_of_labels(way: Way) -> None:
    rng = np.random.default_rng(0)
    proba, names = rng.dirichlet(np.ones(3), 40), list("cab")
    marks = np.array(names)[[rng.choice(3, p=each) for each in proba]]
    table = pd.DataFrame(proba, columns=names)
    wanted = decompose(marks, table, generator="brier", notion="classwise", method="risk", bandwidth=0.1).risk
    settings: dict[str, Any] = {"n_classes": 3, "notion": "classwise"}
    for first, second in ((table, proba), (proba, table), (table[list("abc")], proba)):
        found = way((marks[:20], first[:20]), (marks[20:], second[20:]), **settings, labels=names)
        assert found.result(method="risk").risk == pytest.approx(float(wanted), rel=1e-9)
    with pytest.raises(ValueError, match=r"pass labels=\[\.\.\.\]"):
        way((marks[:20], table[:20]), (marks[20:], proba[20:]), **settings)


@pytest.mark.parametrize("kind", [str, int, float])
@pytest.mark.parametrize("order", [[2, 0, 1], [0, 1, 2]])
def test_columns_named_by_numbers_are_matched_in_any_order_of_chunks(kind: Any, order: list[int]) -> None:
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 40)
    y = np.array([rng.choice(3, p=each) for each in proba])
    wanted = decompose(y, proba, generator="brier", notion="classwise", method="risk", bandwidth=0.1).risk
    table = pd.DataFrame(proba, columns=pd.Index([kind(i) for i in range(3)]))
    first, second = table.iloc[:, order], table.iloc[:, order[::-1]]
    for way in (updated, written):
        for labels in (y, y.astype(str)) if kind is str else (y,):
            found = way((labels[:20], first[:20]), (labels[20:], second[20:]), n_classes=3, notion="classwise")
            assert found.result(method="risk").risk == pytest.approx(float(wanted), rel=1e-9)
            found = way((labels[:20], first[:20]), (labels[20:], table[20:]), n_classes=3, notion="classwise")
            assert found.result(method="risk").risk == pytest.approx(float(wanted), rel=1e-9)


def test_messages_speak_of_what_there_is() -> None:
    table = pd.DataFrame(np.full((20, 3), 1 / 3), columns=["emu", "cat", "dog"])
    codes, names = np.arange(20) % 3, ["cat", "dog", "emu"]
    with pytest.raises(ValueError, match=r"expected the order of labels, \['cat', 'dog', 'emu'\]"):
        CalibrationSketch(3, generator="brier", notion="classwise", labels=names).update(codes, table)
    monitors = [CalibrationMonitor(3, first_row=20 * i) for i in range(2)]
    monitors[0].update(np.array(names)[codes], table)
    monitors[1].update(np.array(names)[codes], table[names])
    with pytest.raises(ValueError, match=r"^later = a monitor that read classes as \['cat', "):
        monitors[0].merge(monitors[1])
