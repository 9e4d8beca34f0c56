"""How a row is read does not depend on the chunk it comes in, or the chunk is refused."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import propercal
from propercal import CalibrationMonitor, CalibrationSketch
from theory_tests.instances import values
from theory_tests.sums_of_sketches import check_same_sums

K = 3
#: Of sum 1 within rounding; as separate predictions, the first does not occur with 1e-7, not 2e-9.
SURE = [1 - 1e-7, 1e-9, 1e-9]


def made(**settings: Any) -> CalibrationSketch:
    return CalibrationSketch(**{"n_classes": K, "bandwidth": 0.1, **settings})


def decomposed(y_true: Any, y_proba: Any, notion: str = "classwise") -> Any:
    return propercal.decompose(y_true, y_proba, notion=notion, method="risk", bandwidth=0.1)


def check_terms(found: Any, wanted: Any, rel: float = 1e-9, slack: float = 1e-12) -> None:
    assert values(found) == pytest.approx(values(wanted), rel=rel, abs=slack)


def streamed(y_true: Any, y_proba: Any, cuts: list[int], **settings: Any) -> CalibrationSketch:
    sketch = made(**settings)
    for a, b in pairwise([0, *cuts, len(y_true)]):
        sketch.update(y_true[a:b], y_proba[a:b])
    return sketch


@st.composite
def predictions(draw: st.DrawFn, kinds: list[str]) -> tuple[Any, list[str]]:
    """Rows, each of one of these kinds."""
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=4, max_size=40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = []
    for kind in chosen:
        # Dyadic, so that a sum of 1 is exact.
        whole = np.round(rng.dirichlet([1.0] * K) * 2**20) / 2**20
        whole[rng.integers(K)] += 1 - whole.sum()
        rows.append({
            "sums to 1": whole.clip(0, 1),
            "rounded": whole.clip(0, 1) * rng.choice([0.95, 0.999]),
            "sure": np.array(rng.permutation(SURE)),
            "separate": rng.uniform(0.01, 0.99, K),
            "of two": np.array([0.54, 0.53, 0.01])[rng.permutation(K)],
        }[kind])
    return np.array(rows), chosen


@st.composite
def cuts(draw: st.DrawFn, n: int) -> list[int]:
    if draw(st.booleans()):
        return list(range(1, n))
    return sorted(draw(st.sets(st.integers(1, n - 1))))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:y_proba has rows that sum to")
@pytest.mark.parametrize("notion", ["classwise", "top-label"])
@given(data=st.data())
def test_rows_of_one_class_are_read_by_their_own_sum(notion: str, data: st.DataObject) -> None:
    y_proba, kinds = data.draw(predictions(["sums to 1", "rounded", "sure", "of two"]))
    y_true = np.array(data.draw(st.lists(st.integers(0, K - 1), min_size=len(kinds), max_size=len(kinds))))
    whole = streamed(y_true, y_proba, [], notion=notion)
    parts = streamed(y_true, y_proba, data.draw(cuts(len(kinds))), notion=notion)
    check_same_sums(parts._state, whole._state)
    check_terms(parts.result(method="risk"), whole.result(method="risk"))
    # decompose reads all rows by 1 − p where one does not sum to 1, and gives two probable classes
    # of a row the complement of the more probable one; then pairs of the sketch are others.
    alike = {kind in ("sums to 1", "sure") for kind in kinds}
    if "of two" not in kinds and (len(alike) == 1 or "sure" not in kinds):
        # A pair of it need not sum to 1 either, which the sketch makes it do: losses change by 1e-7, and
        # the sharpness is a difference of two of them.
        wanted = decomposed(y_true, y_proba, notion)
        check_terms(whole.result(method="risk"), wanted, rel=1e-6, slack=1e-7)


def without_labels(y_true: Any, y_proba: Any) -> bool:
    """Whether rows mark one class or none, while their sums are those of one class."""
    n_marked, deviation = y_true.sum(axis=1), np.abs(y_proba.sum(axis=1) - 1)
    largest = 0.1 if len(y_true) >= 10 else 1e-6
    return bool(n_marked.min() == 0 and n_marked.max() <= 1 and deviation.max() <= largest)


@pytest.mark.filterwarnings("ignore:y_proba has rows that sum to")
@given(data=st.data(), several=st.sampled_from([0.0, 0.1, 0.7]))
def test_columns_of_an_indicator_are_read_as_by_decompose_or_refused(data: st.DataObject, several: float) -> None:
    y_proba, kinds = data.draw(
        predictions(["sums to 1", "rounded", "sure", "of two", "separate", "separate", "separate"])
    )
    n = len(kinds)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    y_true = np.eye(K, dtype=int)[rng.integers(0, K, n)]
    extra = rng.uniform(size=n) < several
    y_true[extra] = rng.integers(0, 2, (int(extra.sum()), K))
    chunks = data.draw(cuts(n))
    apart = (np.abs(y_proba.sum(axis=1) - 1) > 0.1) | (y_true.sum(axis=1) != 1)
    large = (y_proba > 0.5).sum(axis=1)
    regular = np.abs(y_proba.sum(axis=1) - 1) < 1e-6
    of_one = ~apart & (large > np.where(regular, 0, 1))
    first = [(a, b) for a, b in pairwise([0, *chunks, n]) if apart[a:b].any()]
    if first and without_labels(y_true[slice(*first[0])], y_proba[slice(*first[0])]):
        event("without labels")
        with pytest.raises(ValueError, match="y_true = no class at row"):
            streamed(y_true, y_proba, chunks)
        return
    if first and of_one[: first[0][0]].any():
        event("refused")
        with pytest.raises(ValueError, match="y_true = an indicator matrix"):
            streamed(y_true, y_proba, chunks)
        return
    event("read")
    sketch = streamed(y_true, y_proba, chunks)
    alike = {kind in ("sums to 1", "sure") for kind in kinds}
    if not first and ("of two" in kinds or ("sure" in kinds and len(alike) > 1)):
        # See the test above.
        return
    if without_labels(y_true, y_proba):
        # All rows together tell that those of one class lack their label.
        with pytest.raises(ValueError, match=r"^y_true = no class at row"):
            decomposed(y_true, y_proba)
        return
    check_terms(sketch.result(method="risk"), decomposed(y_true, y_proba), rel=1e-6)


@pytest.mark.filterwarnings("ignore:y_proba has rows that sum to")
def test_one_row_makes_columns_separate_problems_for_those_after_it() -> None:
    rng = np.random.default_rng(0)
    y_true = np.eye(K, dtype=int)[rng.integers(0, K, 60)]
    y_proba = rng.uniform(size=(60, K))
    y_proba[30:] = SURE
    y_true[0] = 1
    wanted = decomposed(y_true, y_proba)
    for step in (1, 7, 60):
        found = streamed(y_true, y_proba, list(range(step, 60, step)))
        check_terms(found.result(method="risk"), wanted, rel=1e-6)
    # Also for those that are sent on.
    again = CalibrationSketch.from_bytes(streamed(y_true[:30], y_proba[:30], []).to_bytes())
    again.update(y_true[30:], y_proba[30:])
    check_terms(again.result(method="risk"), wanted, rel=1e-6)


def test_columns_that_were_read_as_shares_of_one_do_not_become_separate() -> None:
    one, several = np.eye(K, dtype=int), np.array([[1, 1, 0]])
    sketch, other = made(), made()
    sketch.update(one, [SURE] * 3)
    other.update(several, [[0.9, 0.9, 0.2]])
    before = sketch.to_bytes()
    refused: list[tuple[Any, Any]] = [(several, [SURE]), (one[:1], [[0.9, 0.9, 0.9]])]
    for y_true, y_proba in refused:
        with pytest.raises(ValueError, match="let the first update hold a row that marks several"):
            sketch.update(y_true, y_proba)
        assert sketch.to_bytes() == before
    for a, b in ((sketch, other), (other, sketch)):
        with pytest.raises(ValueError, match="other = a sketch that read"):
            a.merge(b)
    # Rows that are read the same way in either case settle nothing, nor do class numbers.
    alike: list[tuple[Any, Any]] = [(one, [[0.5, 0.25, 0.25]] * 3), ([0, 1, 2], [SURE] * 3)]
    for y_true, y_proba in alike:
        open_ = made()
        open_.update(y_true, y_proba)
        open_.merge(other)
        open_.update(several, [[0.9, 0.9, 0.2]])
        assert open_.n_samples == 5
        with pytest.raises(ValueError, match="other = a sketch that read"):
            open_.merge(sketch)


def test_a_certain_prediction_is_as_sure_beside_a_row_that_does_not_sum_to_1() -> None:
    # In single precision the first rounds to 1, but what is left for the others is known.
    sure = np.array([[1.0, 1e-9, 1e-9]])
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        beside = made()
        beside.update([1, 0], np.concatenate([sure, [[0.5, 0.3, 0.19]]]))
        alone = made()
        alone.update([1], sure)
        alone.update([0], [[0.5, 0.3, 0.19]])
    assert np.isfinite(beside._state.totals.sums).all()
    np.testing.assert_allclose(beside._state.totals.sums, alone._state.totals.sums)


def test_a_column_and_an_indicator_of_two_are_refused_where_they_do_not_fit() -> None:
    sketch = made(n_classes=2)
    with pytest.raises(ValueError, match="y_true = an indicator matrix of two columns"):
        sketch.update([[1, 1], [0, 1]], [0.3, 0.4])
    sketch.update([[1, 0], [0, 1]], [0.3, 0.4])
    assert sketch.n_samples == 2


def test_an_indicator_matrix_names_no_classes() -> None:
    y_true, y_proba = np.eye(K, dtype=int), np.full((3, K), 1 / 3)
    names = ["cat", "dog", "eel"]
    first, last, merged = made(), made(), made()
    first.update(y_true, y_proba)
    merged.update(y_true, y_proba)
    for sketch in (first, last):
        sketch.update(names, y_proba)
    last.update(y_true, y_proba)
    named = made()
    named.update(names, y_proba)
    merged.merge(named)
    for sketch in (first, last, merged):
        assert sketch._seen.reading == first._seen.reading
        with pytest.raises(ValueError, match="fox"):
            sketch.update(["cat", "dog", "fox"], y_proba)


@pytest.mark.parametrize("positive", [0, 1, None, False])
def test_an_indicator_beside_one_column_means_the_same_in_each_update(positive: Any) -> None:
    marks, hit = np.eye(2)[np.arange(20) % 2], np.arange(20) % 2
    column = np.where(hit == 1, 0.9, 0.1) if positive in (1, None) else np.where(hit == 1, 0.1, 0.9)
    if positive is False:
        hit = hit == 1
    for chunks in ((marks, marks), (marks, hit), (hit, marks), (marks.astype(bool), hit)):
        sketch = made(n_classes=2, generator="brier", pos_label=positive)
        for y_true in chunks:
            sketch.update(y_true, column)
            sketch = CalibrationSketch.from_bytes(sketch.to_bytes())
        assert sketch.result(method="risk").risk == pytest.approx(0.02, rel=1e-12)
        assert sketch.result(method="risk").calibration_error == pytest.approx(0.02, rel=1e-3)


#: Rows of classes in turn: the calibration error is 0.04, but for what the kernel sees of others; it
#: is 0.09 where chunks differ in the order of classes.
CODES = np.arange(30) % K
LETTERS = np.array(list("abc"))[CODES]
ONE_HOT = np.eye(K, dtype=int)[CODES]
SURE_ROWS = ONE_HOT * 0.7 + 0.1
YES = np.array([1, 0] * 10)
WORDS = np.where(YES, "fraud", "legit")
P_YES = np.where(YES, 0.9, 0.1)
CAB = [2, 0, 1]
#: Chunks as (labels, names of their columns, predictions, names of theirs), settings, and whether
#: they are read; if not, they are refused.
CHUNKS: dict[str, tuple[list[tuple[Any, Any, Any, Any]], dict[str, Any], bool]] = {
    "one-hot in another order with its columns": ([(ONE_HOT, None, SURE_ROWS, "abc"), (ONE_HOT[:, CAB], None, SURE_ROWS[:, CAB], "cab")], {}, False),
    "one-hot, then a named one in another order": ([(ONE_HOT, None, SURE_ROWS, "abc"), (ONE_HOT[:, CAB], "cab", SURE_ROWS[:, CAB], "cab")], {}, True),
    "one-hot beside columns in one order of their own": ([(ONE_HOT[:, CAB], None, SURE_ROWS[:, CAB], "cab"), (ONE_HOT[:, CAB], None, SURE_ROWS[:, CAB], "cab")], {}, True),
    "one-hot, then names of columns in another order": ([(ONE_HOT, None, SURE_ROWS, "abc"), (LETTERS, None, SURE_ROWS[:, CAB], "cab")], {}, True),
    "named one-hot beside columns in another order": ([(ONE_HOT, "abc", SURE_ROWS, "abc"), (ONE_HOT, "abc", SURE_ROWS[:, CAB], "cab")], {}, True),
    "names, then one-hot in another order": ([(LETTERS, None, SURE_ROWS, None), (ONE_HOT[:, CAB], None, SURE_ROWS[:, CAB], "cab")], {}, False),
    "names, then one-hot in order": ([(LETTERS, None, SURE_ROWS, None), (ONE_HOT, None, SURE_ROWS, "abc")], {}, True),
    "numbers, then one-hot in another order": ([(CODES, None, SURE_ROWS, None), (ONE_HOT[:, CAB], None, SURE_ROWS[:, CAB], "cab")], {}, False),
    "one-hot in order, then none": ([(ONE_HOT, None, SURE_ROWS, "abc"), (ONE_HOT, None, SURE_ROWS, None)], {}, True),
    "one-hot in another order, then none": ([(ONE_HOT[:, CAB], None, SURE_ROWS[:, CAB], "cab"), (ONE_HOT, None, SURE_ROWS, None)], {}, False),
    "one-hot in another order, then names": ([(ONE_HOT[:, CAB], None, SURE_ROWS[:, CAB], "cab"), (LETTERS, None, SURE_ROWS, None)], {}, False),
    "named one-hot alone, then none": ([(ONE_HOT[:, CAB], "cab", SURE_ROWS[:, CAB], None), (ONE_HOT, None, SURE_ROWS, None)], {}, False),
    "named one-hot alone, then names": ([(ONE_HOT[:, CAB], "cab", SURE_ROWS[:, CAB], None), (LETTERS, None, SURE_ROWS, None)], {}, False),
    "none, then named one-hot alone": ([(ONE_HOT, None, SURE_ROWS, None), (ONE_HOT[:, CAB], "cab", SURE_ROWS[:, CAB], None)], {}, False),
    "numbers of columns that are permuted": ([(ONE_HOT, None, SURE_ROWS[:, CAB], CAB), (ONE_HOT, None, SURE_ROWS[:, CAB[::-1]], CAB[::-1])], {}, True),
    "listed classes, then columns": ([(LETTERS, None, SURE_ROWS[:, CAB], None), (ONE_HOT, "abc", SURE_ROWS, "abc")], {"labels": list("cab")}, True),
    "two columns, then an unnamed one": ([(WORDS, None, np.stack([P_YES, 1 - P_YES], axis=1), ["fraud", "legit"]), (WORDS, None, P_YES, None)], {}, False),
    "two columns, then a positive one": ([(WORDS, None, np.stack([P_YES, 1 - P_YES], axis=1), ["fraud", "legit"]), (WORDS, None, 1 - P_YES, "legit")], {}, True),
    "two columns, then a negative one": ([(WORDS, None, np.stack([P_YES, 1 - P_YES], axis=1), ["fraud", "legit"]), (WORDS, None, P_YES, "fraud")], {}, False),
    "a positive column, then two": ([(WORDS, None, P_YES, "fraud"), (WORDS, None, np.stack([P_YES, 1 - P_YES], axis=1), ["fraud", "legit"])], {}, True),
    "a positive column, then two without names": ([(WORDS, None, P_YES, "fraud"), (WORDS, None, np.stack([P_YES, 1 - P_YES], axis=1), None)], {}, False),
    "a positive label, then two columns": ([(WORDS, None, P_YES, None), (WORDS, None, np.stack([P_YES, 1 - P_YES], axis=1), None)], {"pos_label": "fraud"}, False),
    "a positive label among listed ones": ([(WORDS, None, P_YES, None), (WORDS, None, P_YES, "p")], {"pos_label": "fraud", "labels": ["fraud", "legit"]}, True),
    "one column, then that of class 0": ([(YES, None, P_YES, None), (YES, None, 1 - P_YES, "p_0")], {}, False),
    "one column, then two": ([(YES, None, P_YES, None), (YES, None, np.stack([1 - P_YES, P_YES], axis=1), None)], {}, True),
    "one column, then two by number": ([(YES, None, P_YES, None), (YES, None, np.stack([P_YES, 1 - P_YES], axis=1), [1, 0])], {}, True),
    "one column, then two in another order": ([(YES, None, P_YES, None), (YES, None, np.stack([P_YES, 1 - P_YES], axis=1), ["p_1", "p_0"])], {}, False),
    "one column, then opposites": ([(YES, None, P_YES, None), (YES, None, np.stack([P_YES, 1 - P_YES], axis=1), ["pos", "neg"])], {}, False),
    "two by number, then one": ([(YES, None, np.stack([P_YES, 1 - P_YES], axis=1), [1, 0]), (YES, None, P_YES, None)], {}, False),
}  # fmt: skip


@pytest.mark.parametrize("marks", [ONE_HOT, 1 - ONE_HOT], ids=["one class", "several"])
@pytest.mark.parametrize("of", [CalibrationSketch, CalibrationMonitor])
def test_a_matrix_without_names_counts_columns_in_the_order_of_the_first_update(of: Any, marks: Any) -> None:
    """It may be in its own order or in that of this table, so that it tells no other order of columns."""
    kind = {} if marks is ONE_HOT or of is CalibrationSketch else {"notion": "classwise"}
    message = r"^y_proba = columns \['c', 'a', 'b'\]: expected the order of rows before, \['a', 'b', 'c'\], since y_true names none"
    for before in (held(marks, None), held(marks, "abc")):
        sketch = of(K, generator="brier", **kind)
        sketch.update(before, held(SURE_ROWS, "abc"))
        sketch = of.from_bytes(sketch.to_bytes())
        for other in (marks, marks[:, CAB]):
            with pytest.raises(ValueError, match=message):
                sketch.update(other, held(SURE_ROWS[:, CAB], "cab"))
        sketch.update(held(marks, "abc"), held(SURE_ROWS[:, CAB], "cab"))
        assert sketch.n_samples == 2 * len(marks)


def held(values: Any, names: Any) -> Any:
    """Return an array, or a table or a column of these names."""
    pd = pytest.importorskip("pandas", reason="needs pandas")
    if names is None:
        return values
    return pd.Series(values, name=names) if values.ndim == 1 else pd.DataFrame(values, columns=list(names))


@pytest.mark.parametrize("case", CHUNKS)
def test_chunks_mean_the_same_classes_or_are_refused(case: str) -> None:
    chunks, settings, read = CHUNKS[case]
    n_classes = 2 if len(chunks[0][0]) == len(YES) else K
    wanted = 0.02 if n_classes == 2 else 0.04
    sketches = []
    for y_true, marks, y_proba, names in chunks:
        alone = made(n_classes=n_classes, generator="brier", **settings)
        try:
            alone.update(held(y_true, marks), held(y_proba, names))
        except ValueError:
            assert not read
            continue
        assert alone.result(method="risk").risk == pytest.approx(wanted, rel=1e-12)
        assert alone.result(method="risk").calibration_error == pytest.approx(wanted, rel=1e-3)
        sketches.append(alone)
    both = made(n_classes=n_classes, generator="brier", **settings)
    for i, (y_true, marks, y_proba, names) in enumerate(chunks):
        if i and not read:
            with pytest.raises(ValueError, match=r"^(y_true|y_proba|pos_label) = "):
                both.update(held(y_true, marks), held(y_proba, names))
            continue
        both.update(held(y_true, marks), held(y_proba, names))
    assert both.result(method="risk").calibration_error == pytest.approx(wanted, rel=1e-3)
    # What is merged is right too, or refused more often: columns are summed by then.
    for first, second in (sketches, sketches[::-1]) if len(sketches) == 2 else ():
        again = CalibrationSketch.from_bytes(first.to_bytes())
        try:
            again.merge(second)
        except ValueError as error:
            assert str(error).startswith("other = ")  # noqa: PT017
            continue
        assert read
        assert again.result(method="risk").calibration_error == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("make", [lambda **options: CalibrationSketch(2, generator="brier", **options), lambda **options: CalibrationMonitor(2, **options)], ids=["sketch", "monitor"])
def test_the_first_column_may_be_of_the_first_class_that_is_listed(make: Any) -> None:
    pd = pytest.importorskip("pandas")
    words, column = np.array(["no", "yes", "yes"]), pd.Series([0.1, 0.8, 0.9], name="yes")
    with pytest.raises(ValueError, match=r"named 'yes', .*: expected the probability of 'no', the last label; pass labels=\['no', 'yes'\] from the start"):
        make(labels=["yes", "no"]).update(words, column)
    make(labels=["no", "yes"]).update(words, column)
    after = make(labels=["yes", "no"])
    after.update(words, 1 - column.to_numpy())
    with pytest.raises(ValueError, match="'no', as in rows before; pass the same column"):
        after.update(words, column)


@pytest.mark.parametrize("make", [lambda: CalibrationSketch(3), lambda: CalibrationMonitor(3)], ids=["sketch", "monitor"])
def test_rows_that_are_dictionaries_are_told(make: Any) -> None:
    """As they come from a service, one by one or many."""
    row = {"a": 0.2, "b": 0.3, "c": 0.5}
    for n in (1, 30):
        with pytest.raises(ValueError, match=r"^y_proba = values of type object, \{'a': 0.2, .* make them columns, by pandas.DataFrame\(\[\*column\]\)"):
            make().update(["a"] * n, [row] * n)
