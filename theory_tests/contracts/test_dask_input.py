"""What users give as Dask collections, and what is said of what cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import propercal

dask: Any = pytest.importorskip("dask", reason="needs Dask")
da: Any = pytest.importorskip("dask.array", reason="needs Dask")

from theory_tests.contracts.lazy_data import (  # noqa: E402  # it needs Dask
    IN_MEMORY,
    SETTINGS,
    Y_PROBA,
    Y_TRUE,
    K,
    N,
    check_same,
    lazy,
    never,
    no_loading,  # noqa: F401
    one_thread,  # noqa: F401
    unknown,
)
from theory_tests.instances import CLASS_NAMES  # noqa: E402


def test_names_of_classes() -> None:
    # A partition lacks a class, so that no partition alone could tell the order of the names.
    order = np.argsort(Y_TRUE, kind="stable")
    y_true, y_proba = Y_TRUE[order], Y_PROBA[order]
    arrays = lazy(CLASS_NAMES[y_true], y_proba)
    check_same(propercal.decompose(*arrays, **SETTINGS), IN_MEMORY)
    check_same(propercal.decompose(*arrays, labels=list(CLASS_NAMES), **SETTINGS), IN_MEMORY)
    turned = lazy(CLASS_NAMES[y_true], y_proba[:, ::-1])
    check_same(propercal.decompose(*turned, labels=list(CLASS_NAMES[::-1]), **SETTINGS), IN_MEMORY)
    with pytest.raises(ValueError, match=r"labels = \['cat', 'dog'\]: expected a list of 3"):
        propercal.decompose(*arrays, labels=["cat", "dog"], **SETTINGS)
    with pytest.raises(ValueError, match="y_true = 'eel' at row"):
        propercal.decompose(*arrays, labels=["cat", "dog", "fox"], **SETTINGS)
    with pytest.raises(ValueError, match=r"y_true = the names \['cat', 'dog'\]: expected 3 classes"):
        propercal.decompose(*lazy(CLASS_NAMES[y_true[y_true < 2]], y_proba[y_true < 2]), **SETTINGS)


def test_more_names_than_columns() -> None:
    names = np.array(["ant", "bee", "cat", "dog"])[np.arange(N) // 750]
    with pytest.raises(ValueError, match=r"y_true = the names \['ant', 'bee', 'cat', 'dog'\]"):
        propercal.decompose(*lazy(names, Y_PROBA), **SETTINGS)


def test_logits_of_several_labels_are_said_to_be_of_sigmoids() -> None:
    several = np.eye(K)[Y_TRUE]
    several[2000:] = 1
    logits = np.log(Y_PROBA) + 1.0
    wanted = propercal.decompose(several, logits, from_logits=True, **SETTINGS)
    arrays = lazy(several, logits, chunks=1000)
    check_same(propercal.decompose(*arrays, from_logits=True, link="sigmoid", **SETTINGS), wanted)
    # Partitions in which every row marks one class could be of a softmax.
    with pytest.raises(ValueError, match=r"link = None: expected 'softmax' or 'sigmoid'.* in partition"):
        propercal.decompose(*arrays, from_logits=True, **SETTINGS)


def test_data_frames() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    dd = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
    frame = pd.DataFrame(Y_PROBA, columns=CLASS_NAMES).assign(y=CLASS_NAMES[Y_TRUE], code=Y_TRUE)
    frame["kind"] = pd.Categorical(frame.y, categories=CLASS_NAMES)
    parts = dd.from_pandas(frame, npartitions=4)
    turned = parts[list(CLASS_NAMES[::-1])]
    for labels in ("y", "kind"):
        wanted = propercal.decompose(frame[labels], frame[CLASS_NAMES], **SETTINGS)
        check_same(wanted, IN_MEMORY)
        check_same(propercal.decompose(parts[labels], parts[list(CLASS_NAMES)], **SETTINGS), wanted)
    # Names of columns, not their order, say which class they are.
    check_same(propercal.decompose(parts.y, turned, **SETTINGS), IN_MEMORY)
    check_same(propercal.decompose(parts.code, parts[list(CLASS_NAMES)], **SETTINGS), IN_MEMORY)
    some = parts[parts.eel > 0.1]
    kept = (frame.eel > 0.1).to_numpy()
    wanted = propercal.decompose(Y_TRUE[kept], Y_PROBA[kept], **SETTINGS)
    check_same(propercal.decompose(some.y, some[list(CLASS_NAMES)], **SETTINGS), wanted)
    positive = propercal.decompose(parts.code == 2, parts[["eel"]], method="risk", bandwidth=0.02)
    check_same(propercal.decompose(parts.code == 2, parts.eel, method="risk", bandwidth=0.02), positive)
    wanted = propercal.decompose(Y_TRUE == 2, Y_PROBA[:, 2], method="risk", bandwidth=0.02)
    check_same(positive, wanted)
    arrays = parts.code.to_dask_array(), parts[list(CLASS_NAMES)]
    check_same(propercal.decompose(*arrays, **SETTINGS), IN_MEMORY)


def test_numbers_name_columns_in_the_light_of_all_labels() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    dd = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
    # The first partition has labels 1 and 2 only, which are names of columns too.
    order = np.argsort(-Y_TRUE, kind="stable")
    frame = pd.DataFrame(Y_PROBA[order], columns=[1, 2, 3])
    labels = pd.Series(Y_TRUE[order])
    wanted = propercal.decompose(labels + 1, frame, **SETTINGS)
    parts = dd.from_pandas(labels + 1, npartitions=3), dd.from_pandas(frame, npartitions=3)
    check_same(propercal.decompose(*parts, **SETTINGS), wanted)
    for given in ((labels, frame), (dd.from_pandas(labels, npartitions=3), parts[1])):
        with pytest.raises(ValueError, match=r"y_true = the names \[0, 1, 2\]: expected names of columns of y_proba, \[1, 2, 3\]"):
            propercal.decompose(*given, **SETTINGS)


def test_the_name_of_a_single_column_names_no_class() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    dd = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
    options: dict[str, Any] = {"method": "risk", "bandwidth": 0.02}
    y_proba = Y_PROBA[:, 2]
    # Once the last partition has label 1 only, and once all have.
    for y_true in (np.sort(Y_TRUE == 2) * 1, np.ones(N, int)):
        wanted = propercal.decompose(y_true, y_proba, **options)
        frame = dd.from_pandas(pd.DataFrame({"y": y_true, 1: y_proba}), npartitions=7)
        for column in (1, [1]):
            found = propercal.decompose(frame.y, frame[column], **options)
            assert found.risk == pytest.approx(wanted.risk, rel=1e-12)


def test_categories_say_the_order_of_names() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    dd = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
    labels = pd.Series(pd.Categorical(CLASS_NAMES[Y_TRUE], categories=CLASS_NAMES[::-1], ordered=True))
    parts = dd.from_pandas(labels, npartitions=4)
    turned = Y_PROBA[:, ::-1]
    check_same(propercal.decompose(labels, turned, **SETTINGS), IN_MEMORY)
    lengths = tuple(parts.map_partitions(len).compute())
    y_proba = lazy(turned, chunks=lengths)[0]
    for given in (parts, parts.to_frame("y")):
        check_same(propercal.decompose(given, y_proba, **SETTINGS), IN_MEMORY)
    unknown_ones = parts.cat.as_unknown()
    named = dd.from_pandas(pd.DataFrame(Y_PROBA, columns=CLASS_NAMES), npartitions=4)
    for given in (unknown_ones, unknown_ones.to_frame("y")):
        # Their order is that of no partition by itself.
        with pytest.raises(ValueError, match=r"^y_true = a categorical column whose categories are not known: .*\.cat\.as_known\(\)"):
            propercal.decompose(given, y_proba, **SETTINGS)
        check_same(propercal.decompose(given, y_proba, labels=list(CLASS_NAMES[::-1]), **SETTINGS), IN_MEMORY)
        check_same(propercal.decompose(given, named, **SETTINGS), IN_MEMORY)
    numbers = dd.from_pandas(pd.Series(pd.Categorical(np.minimum(Y_TRUE, 1) + 1, [1, 2, 3])), npartitions=4)
    wanted = propercal.decompose(np.minimum(Y_TRUE, 1), Y_PROBA, **SETTINGS)
    check_same(propercal.decompose(numbers, lazy(Y_PROBA, chunks=lengths)[0], **SETTINGS), wanted)
    with pytest.raises(ValueError, match=r"^y_true = a categorical column whose categories are not known"):
        propercal.decompose(numbers.cat.as_unknown(), lazy(Y_PROBA, chunks=lengths)[0], **SETTINGS)


def test_warnings_of_partitions_are_passed_on_once() -> None:
    y_proba = Y_PROBA.copy()
    y_proba[700:] *= 0.99
    with pytest.warns(UserWarning, match="partition 1") as caught:
        propercal.decompose(*lazy(Y_TRUE, y_proba, chunks=500), generator=["log", "brier"], **SETTINGS)
    assert len(caught) == 1
    said = str(caught[0].message)
    assert said.startswith("partition 1: y_proba has rows that sum to 0.99")
    assert "partition 3" in said
    assert "partition 4" not in said
    assert said.endswith("There are 2 more such warnings.")
    assert caught[0].filename == __file__


@pytest.mark.usefixtures("no_loading")
def test_infinite_losses_are_warned_of_and_load_nothing() -> None:
    y_proba = Y_PROBA.copy()
    y_proba[5] = [0.0, 0.5, 0.5]
    y_true = Y_TRUE.copy()
    y_true[5] = 0
    with pytest.warns(UserWarning, match="in 1 rows an outcome occurred to which the prediction"):
        found = propercal.decompose(*lazy(y_true, y_proba), **SETTINGS)
    assert found.risk == np.inf


def broken() -> Any:
    y_proba = Y_PROBA.copy()
    y_proba[1403, 1] = np.nan
    return lazy(Y_TRUE, y_proba)


DEBIASED: dict[str, Any] = {"method": "debiased", "bandwidth": "auto"}
ERRORS: list[tuple[Callable[[], Any], dict[str, Any], str]] = [
    (lambda: lazy(Y_TRUE, Y_PROBA), {"notion": "canonical"}, 'notion = \'canonical\'.*use "classwise"'),
    (lambda: lazy(Y_TRUE, Y_PROBA), {"kernel": "uniform-bins"}, "kernel = 'uniform-bins'.*Dask"),
    (lambda: lazy(Y_TRUE, Y_PROBA), {"kernel": None}, "kernel = None"),
    (lambda: lazy(Y_TRUE, Y_PROBA), {"recalibrator": []}, r"recalibrator = \[\]"),
    (lambda: lazy(Y_TRUE, Y_PROBA), {"n_folds": 4}, "n_folds = 4"),
    (lambda: lazy(Y_TRUE, Y_PROBA), {"random_state": 1}, "random_state = 1"),
    (lambda: lazy(Y_TRUE, Y_PROBA), {"random_state": None}, "random_state = None"),
    (lambda: lazy(Y_TRUE, Y_PROBA), {**DEBIASED, "random_state": None}, "random_state = None: expected a whole number"),
    (lambda: lazy(Y_TRUE, Y_PROBA), {**DEBIASED, "recalibrator": []}, r"recalibrator = \[\]"),
    (lambda: lazy(Y_TRUE, Y_PROBA), {**DEBIASED, "recalibrator": object()}, "recalibrator = "),
    (lambda: lazy(Y_TRUE, Y_PROBA), {**DEBIASED, "bandwidth": 1e-3}, "bandwidth = 0.001: expected 'auto', or 0.006 or more, with Dask"),
    (lambda: lazy(Y_TRUE, Y_PROBA), {**DEBIASED, "algorithm": "exact"}, "algorithm = 'exact'.*compute"),
    (lambda: lazy(Y_TRUE[:5], Y_PROBA[:5]), DEBIASED, "y_proba = 5 rows: expected 20 or more"),
    (lambda: lazy(Y_TRUE, Y_PROBA), {"exclude_self": False}, "exclude_self = False"),
    (lambda: lazy(Y_TRUE, Y_PROBA), {"sample_weight": np.ones(N)}, "sample_weight = a ndarray: expected None"),
    (lambda: lazy(Y_TRUE, Y_PROBA), {"algorithm": "exact"}, "algorithm = 'exact'.*compute"),
    (lambda: lazy(Y_TRUE, Y_PROBA), {"from_logits": 1}, "from_logits = 1"),
    (lambda: lazy(Y_TRUE, Y_PROBA), {"bandwidth": 1e-8}, "bandwidth = 1e-08: expected 1e-6 to 10"),
    (lambda: lazy(Y_TRUE, Y_PROBA), {"method": "risky"}, "method = 'risky'"),
    (lambda: lazy(Y_TRUE[1:], Y_PROBA), {}, "y_true = 2999 rows: expected 3000, as y_proba has"),
    (lambda: (Y_TRUE[1:], *lazy(Y_PROBA)), {}, "y_true = 2999 rows: expected 3000, as y_proba has"),
    (lambda: (*lazy(Y_TRUE[1:]), Y_PROBA), {}, "y_proba = 3000 rows: expected 2999, as y_true has"),
    (lambda: (Y_TRUE, unknown(*lazy(Y_PROBA))), {}, "y_true = a ndarray in memory beside a Dask Array"),
    (lambda: (unknown(*lazy(Y_TRUE, chunks=N)), unknown(*lazy(Y_PROBA))), {}, "y_true = 1 partitions: expected 5"),
    (lambda: (unknown(*lazy(Y_TRUE, chunks=800)[:1]), unknown(*lazy(Y_PROBA, chunks=750)[:1])), {}, "y_true = (800|600) labels: expected 750, one per row.*in partition"),
    (lambda: (*lazy(Y_TRUE), dask.delayed(Y_PROBA)), {}, "y_proba = a Dask Delayed"),
    (lambda: (*lazy(Y_TRUE), da.ones((N, 2, 2))), {}, "y_proba = a Dask array of 3 dimensions"),
    (lambda: (*lazy(Y_TRUE), unknown(da.from_array(Y_PROBA.T, chunks=(-1, 3000))).T), {}, "y_proba = a Dask array whose number of columns is unknown"),
    (broken, {}, "y_proba = nan at row 3, in the column 1: .*in partition 2"),
    (broken, {"bandwidth": "auto"}, "y_proba = nan at row 1403, in the column 1: .*rows that the bandwidth is chosen from"),
    (lambda: lazy(Y_TRUE[:1], Y_PROBA[:1]), {}, "y_proba = 1 rows"),
    (lambda: lazy(Y_TRUE[:1], Y_PROBA[:1]), {"bandwidth": "auto"}, "y_proba = 1 rows"),
    (lambda: lazy(np.array(["cat", "dog", None] * 1000), Y_PROBA), {}, "y_true = values of type NoneType"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "changed", "message"), ERRORS)
def test_what_cannot_be_used(data: Callable[[], Any], changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        propercal.decompose(*data(), **{**SETTINGS, **changed})


def test_wrong_settings_are_told_before_data_are_read() -> None:
    y_true, y_proba = lazy(Y_TRUE, Y_PROBA)
    y_proba = y_proba.map_blocks(never, meta=np.empty((0, K)))
    with pytest.raises(AssertionError, match="was read"):
        propercal.decompose(y_true, y_proba, **SETTINGS)
    for changed in ({"bandwidth": 1e-8}, {"labels": ["a"]}, {"notion": "canonical"}, {"confidence_level": 2}):
        with pytest.raises(ValueError, match=next(iter(changed))):
            propercal.decompose(y_true, y_proba, **{**SETTINGS, **changed})


CODES = np.arange(30) % K
LETTERS = np.array(list("abc"))[CODES]
ONE_HOT = np.eye(K, dtype=int)[CODES]
#: The risk is 0.04, and 0.9733 if columns are matched in another order, or rows are.
SURE = ONE_HOT * 0.7 + 0.1
HIT = np.array([1, 0] * 10)
WORDS = np.where(HIT, "fraud", "legit")
#: The risk is 0.02, and 1.62 if the other class is the positive one.
P_HIT = np.where(HIT, 0.9, 0.1)
FRAUD_LEGIT = np.stack([P_HIT, 1 - P_HIT], axis=1)
CAB, BCA = [2, 0, 1], [1, 2, 0]
#: Labels and predictions: how they are held, values, and names; settings; whether they are read.
HELD: dict[str, tuple[tuple[str, Any, Any], tuple[str, Any, Any], dict[str, Any], bool]] = {
    "numbers beside words": (("frame", HIT, None), ("frame", FRAUD_LEGIT, ["yes", "no"]), {}, False),
    "booleans beside words": (("frame", HIT == 1, None), ("frame", FRAUD_LEGIT, ["yes", "no"]), {}, False),
    "booleans beside booleans": (("frame", HIT == 1, None), ("frame", FRAUD_LEGIT, ["True", "False"]), {}, True),
    "one-hot beside class 0": (("array", np.eye(2)[HIT], None), ("array", 1 - P_HIT, None), {"pos_label": 0}, True),
    "named one-hot beside a class": (("frame", np.eye(2)[1 - HIT], ["fraud", "legit"]), ("frame", 1 - P_HIT, "legit"), {}, True),
    "turned one-hot beside a class": (("frame", np.eye(2)[HIT], ["legit", "fraud"]), ("frame", 1 - P_HIT, "legit"), {}, True),
    "named one-hot beside a column": (("frame", np.eye(2)[HIT], ["legit", "fraud"]), ("frame", P_HIT, None), {}, False),
    "class 0 in memory": (("array", HIT, None), ("memory", 1 - P_HIT, "p_0"), {}, False),
    "class 0 in memory, said": (("array", HIT, None), ("memory", 1 - P_HIT, "p_0"), {"pos_label": 0}, True),
    "the negative class in memory": (("array", WORDS, None), ("memory", 1 - P_HIT, "legit"), {"pos_label": "fraud"}, False),
    "the positive class in memory": (("array", WORDS, None), ("memory", 1 - P_HIT, "legit"), {}, True),
    "class 0 by number": (("frame", HIT, None), ("frame", 1 - P_HIT, 0), {}, False),
    "a labelled array in memory": (("array", LETTERS, None), ("labelled", SURE[:, CAB], "cab"), {}, True),
    "a table in memory beside one-hot": (("array", ONE_HOT, None), ("memory", SURE[:, CAB], CAB), {}, True),
    "named one-hot in memory": (("memory", ONE_HOT[:, BCA], "bca"), ("frame", SURE[:, CAB], "cab"), {}, False),
    "an arrow table in memory": (("array", LETTERS, None), ("arrow", SURE[:, CAB], "cab"), {}, True),
    "categories in memory": (("categories", LETTERS, "bca"), ("array", SURE[:, BCA], None), {}, True),
    "one-hot beside numbers": (("frame", ONE_HOT, None), ("frame", SURE[:, CAB], CAB), {}, True),
    "numbers from 1 beside words": (("frame", CODES + 1, None), ("frame", SURE, "abc"), {}, True),
    "no rows": (("array", HIT, None), ("zero", None, None), {}, False),
}  # fmt: skip


def holder(kind: str, values: Any, names: Any) -> Any:
    """Return values in memory, or as a collection."""
    pd = pytest.importorskip("pandas", reason="needs pandas")
    if kind == "zero":
        return np.array(None)
    if kind == "array":
        return da.from_array(values, chunks=(10, *values.shape[1:]))
    if kind == "labelled":
        xr = pytest.importorskip("xarray", reason="needs xarray")
        return xr.DataArray(values, dims=("row", "class"), coords={"class": list(names)})
    if kind == "arrow":
        arrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
        return arrow.table(dict(zip(names, values.T, strict=True)))
    if kind == "categories":
        return pd.Series(pd.Categorical(values, categories=list(names), ordered=True))
    if values.ndim == 1:
        held = pd.Series(values, name=names)
    else:
        held = pd.DataFrame(values, columns=None if names is None else list(names))
    if kind == "memory":
        return held
    frames = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
    return frames.from_pandas(held, npartitions=2)


@pytest.mark.parametrize("case", HELD)
def test_names_are_matched_as_in_memory_or_refused(case: str) -> None:
    y_true, y_proba, settings, read = HELD[case]
    options: dict[str, Any] = {**BRIER, **settings}
    data = holder(*y_true), holder(*y_proba)
    if not read:
        with pytest.raises(ValueError, match=r"^(y_true|y_proba|pos_label) = "):
            propercal.decompose(*data, **options)
        return
    wanted = 0.02 if len(y_true[1]) == len(HIT) else 0.04
    assert propercal.decompose(*data, **options).risk == pytest.approx(wanted, rel=1e-9)
    in_memory = [each.compute() if hasattr(each, "dask") else each for each in data]
    assert propercal.decompose(*in_memory, **options).risk == pytest.approx(wanted, rel=1e-9)


BRIER: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1, "notion": "classwise"}


# The rows repeat, so that no bandwidth is best.
@pytest.mark.filterwarnings("ignore:the bandwidth search ended")
def test_partitions_whose_columns_have_another_order_are_matched_by_name() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    frames = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
    table = pd.DataFrame(SURE, columns=list("abc"))

    def parts(*tables: Any) -> Any:
        return frames.from_map(lambda i: tables[i], [0, 1], meta=table[:0], enforce_metadata=False)

    y_true = frames.from_pandas(pd.Series(LETTERS), npartitions=2)
    turned = parts(table[:15], table[list("cab")][15:])
    marks = pd.DataFrame(ONE_HOT, columns=list("abc"))
    for given in (y_true, parts(marks[:15], marks[list("bca")][15:])):
        for options in (BRIER, {**BRIER, "bandwidth": "auto"}):
            assert propercal.decompose(given, turned, **options).risk == pytest.approx(0.04, rel=1e-9)
    others = parts(table[:15], table[15:].set_axis(list("xyz"), axis=1))
    with pytest.raises(ValueError, match=r"y_proba = columns \['x', 'y', 'z'\].*in partition 1"):
        propercal.decompose(y_true, others, **BRIER)


def test_partitions_of_other_rows_are_refused() -> None:
    pd = pytest.importorskip("pandas", reason="needs pandas")
    frames = pytest.importorskip("dask.dataframe", reason="needs Dask data frames")
    y_true, y_proba = (frames.from_pandas(made, npartitions=3) for made in (pd.Series(CODES), pd.DataFrame(SURE)))

    def turned(values: Any) -> Any:
        return frames.concat([values.partitions[i] for i in (1, 0, 2)])

    for pair in ((turned(y_true), y_proba), (y_true, turned(y_proba))):
        with pytest.raises(ValueError, match="y_true = partitions of the rows"):
            propercal.decompose(*pair, **BRIER)
    # Partitions that are numbered from 0 each, as those of files are, say nothing.
    fresh = y_proba.map_partitions(lambda part: part.reset_index(drop=True))
    for pair in ((turned(y_true), turned(y_proba)), (y_true, fresh), (y_true.map_partitions(lambda part: part.reset_index(drop=True)), y_proba)):
        assert propercal.decompose(*pair, **BRIER).risk == pytest.approx(0.04, rel=1e-9)
