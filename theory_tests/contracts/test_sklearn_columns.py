"""Columns of predict_proba by their names, masks and gradients beside scikit-learn, classes that are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")
pd = pytest.importorskip("pandas")
xr = pytest.importorskip("xarray")
plt = pytest.importorskip("matplotlib.pyplot")

from sklearn.base import BaseEstimator, ClassifierMixin  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402

from propercal import decompose  # noqa: E402
from propercal.methods import Risk  # noqa: E402
from propercal.simulation import TemperatureScaledSimplex  # noqa: E402
from propercal.sklearn import (  # noqa: E402
    DecompositionDisplay,
    RecalibratedClassifier,
    ReliabilityDisplay,
    scorer,
)

N = 60
FAST: dict[str, Any] = {"method": Risk(bandwidth=0.1)}
SCORE = scorer(**FAST)
Y, P, _ = TemperatureScaledSimplex(3).sample(N, random_state=0)
EXPECTED = -decompose(Y, P, **FAST).calibration_error
MASKED = np.ma.array(np.ones(N), mask=np.arange(N) % 7 == 0)


@pytest.fixture(autouse=True)
def no_figure_stays() -> Iterator[None]:
    yield
    plt.close("all")


class Says(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    def __init__(self, proba: Any = None, classes: Any = None) -> None:
        self.proba, self.classes = proba, classes
        self.classes_ = np.asarray(classes)

    def fit(self, X: Any, y: Any) -> Says:  # noqa: ARG002
        return self

    def predict_proba(self, X: Any) -> Any:  # noqa: ARG002
        return self.proba


def scored(proba: Any, classes: list[Any], codes: Any = Y) -> float:
    found: float = SCORE(Says(proba, classes), np.zeros((N, 1)), np.array(classes, dtype=object)[codes])
    return found


@pytest.mark.parametrize("names", [["b", "c", "a"], [2, 0, 1], [30, 10, 20]], ids=repr)
@pytest.mark.parametrize("order", [[0, 1, 2], [1, 2, 0], [2, 0, 1]], ids=repr)
def test_columns_named_after_classes_stand_where_their_names_say(names: list[Any], order: list[int]) -> None:
    table = pd.DataFrame(P, columns=pd.Index(names)).iloc[:, order]
    array = xr.DataArray(P, dims=("row", "class"), coords={"class": names}).isel({"class": order})
    for proba in (table, array):
        assert scored(proba, names) == pytest.approx(EXPECTED, rel=1e-9)


def test_columns_without_names_stand_in_the_order_of_classes() -> None:
    for proba in (P, pd.DataFrame(P), xr.DataArray(P, dims=("row", "class")), pd.DataFrame(P, columns=["x", "y", "z"])):
        assert scored(proba, [2, 0, 1] if not hasattr(proba, "columns") else ["u", "v", "w"]) == pytest.approx(EXPECTED)


@pytest.mark.parametrize("columns", [["p_a", "p_b", "p_c"], ["c", "b", "z"]], ids=repr)
def test_columns_named_after_other_classes_are_refused(columns: list[str]) -> None:
    with pytest.raises(ValueError, match=r"gave columns .* expected columns that are named after its classes_"):
        scored(pd.DataFrame(P, columns=columns), ["b", "c", "a"])


def test_a_single_column_is_of_the_class_that_it_is_named_after() -> None:
    codes, second = (Y == 1).astype(int), P[:, 1]
    expected = scored(np.stack([1 - second, second], axis=1), ["no", "yes"], codes)
    for proba in (second, pd.Series(second, name="yes"), pd.DataFrame({"yes": second}), pd.DataFrame({"no": 1 - second}), pd.DataFrame(second)):
        assert scored(proba, ["no", "yes"], codes) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("classes", [["a", "a", "b"], [0.0, 1.0, np.nan], ["a", "b", None]], ids=repr)
def test_classes_that_occur_twice_or_are_missing_are_refused(classes: list[Any]) -> None:
    with pytest.raises(ValueError, match="expected each class once, and none missing"):
        SCORE(Says(P, np.array(classes, dtype=object)), np.zeros((N, 1)), Y)


@pytest.mark.parametrize("call", [
    lambda: SCORE(Says(P, [0, 1, 2]), np.zeros((N, 1)), np.ma.array(Y, mask=MASKED.mask)),
    lambda: SCORE(Says(P, [0, 1, 2]), np.zeros((N, 1)), Y, sample_weight=MASKED),
    lambda: SCORE(Says(P, [0, 1, 2]), np.zeros((N, 1)), Y, groups=MASKED),
    lambda: ReliabilityDisplay.from_predictions(Y == 1, np.ma.array(P[:, 1], mask=MASKED.mask)),
    lambda: ReliabilityDisplay.from_predictions(np.ma.array(Y == 1, mask=MASKED.mask), P[:, 1]),
    lambda: DecompositionDisplay.from_predictions(np.ma.array(Y, mask=MASKED.mask), P),
    lambda: RecalibratedClassifier(GaussianNB()).fit(P, np.ma.array(Y, mask=MASKED.mask)),
    lambda: RecalibratedClassifier(GaussianNB()).fit(P, Y, sample_weight=MASKED),
])
def test_what_is_behind_a_mask_is_no_value(call: Any) -> None:
    with pytest.raises(ValueError, match="masked entries at rows 0, 7, 14"):
        call()


def test_tensors_with_a_gradient_are_read() -> None:
    torch = pytest.importorskip("torch")
    weight = np.arange(N) + 1.0
    expected = SCORE(Says(P, [0, 1, 2]), np.zeros((N, 1)), Y, sample_weight=weight)
    proba, given = (torch.tensor(each, requires_grad=True) for each in (P, weight))
    assert SCORE(Says(proba, [0, 1, 2]), np.zeros((N, 1)), torch.tensor(Y), sample_weight=given) == pytest.approx(expected)
    drawn = ReliabilityDisplay.from_predictions(torch.tensor(Y == 1), proba[:, 1])
    assert drawn.line_.get_ydata() == pytest.approx(ReliabilityDisplay.from_predictions(Y == 1, P[:, 1]).line_.get_ydata())


@pytest.mark.parametrize("weight", [[[1, 2], [1]], ["a"] * N, {"a": 1}], ids=str)
def test_odd_weights_and_labels_are_refused_in_words(weight: Any) -> None:
    with pytest.raises(ValueError, match="sample_weight = "):
        SCORE(Says(P, [0, 1, 2]), np.zeros((N, 1)), Y, sample_weight=weight)
    with pytest.raises(ValueError, match="a mix of strings and numbers"):
        SCORE(Says(P, [0, 1, 2]), np.zeros((N, 1)), [0, "1"] * (N // 2))


@pytest.mark.parametrize("display", [ReliabilityDisplay, DecompositionDisplay])
def test_a_column_of_another_class_than_the_positive_one_is_refused(display: Any) -> None:
    words, codes = np.where(Y == 0, "hit", "miss"), (Y == 0).astype(int)
    of_hit = pd.Series(P[:, 0])
    fast = FAST if display is DecompositionDisplay else {"n_resamples": 19}
    labelled = xr.DataArray(np.c_[P[:, 0], 1 - P[:, 0]], {"class": ["hit", "miss"]}, ("row", "class"))
    for y, name, pos_label in ((words, "hit", "hit"), (words, "p_hit", "hit"), (words, "model 1", "hit"), (codes, 1, None), (codes, "1", None), (codes, "p", None)):
        display.from_predictions(y, of_hit.rename(name), pos_label=pos_label, **fast)
    for y, name, pos_label in ((words, "miss", "hit"), (words, "p_miss", "hit"), (codes, "0", None), (codes, "p_0", None), (2 * codes - 1, -1, None)):
        with pytest.raises(ValueError, match=rf"^(pos_label = 'hit': expected '{name}', the name of y_prob|y_prob = a column named '?{name}'?: )"):
            display.from_predictions(y, of_hit.rename(name), pos_label=pos_label, **fast)
    display.from_predictions(words, labelled.sel({"class": "hit"}), pos_label="hit", **fast)
    with pytest.raises(ValueError, match=r"^pos_label = 'hit': expected 'miss', the name of y_prob"):
        display.from_predictions(words, labelled.sel({"class": "miss"}), pos_label="hit", **fast)


def test_columns_of_a_labelled_array_are_read_by_their_coordinate() -> None:
    words = np.array(["a", "b", "c"])[Y]
    array = xr.DataArray(P, {"class": ["a", "b", "c"]}, ("row", "class"))
    for held in (array, array[:, [2, 0, 1]]):
        assert DecompositionDisplay.from_predictions(words, held, **FAST).result.calibration_error == pytest.approx(-EXPECTED, rel=1e-12)
    with pytest.raises(ValueError, match="expected names of columns"):
        DecompositionDisplay.from_predictions(words, array.assign_coords({"class": ["a", "b", "d"]}), **FAST)


# ---------------------------------------------------------------- displays of predictions

ROWS = [f"r{i:02d}" for i in range(N)]
EVENT = (Y == 0).astype(int)
PROBA = P[:, 0]


def drawn(y_true: Any, y_prob: Any, **options: Any) -> float:
    return float(DecompositionDisplay.from_predictions(y_true, y_prob, **FAST, **options).result.risk)


@pytest.mark.parametrize(("y_true", "y_prob", "options", "message"), [
    (np.where(EVENT, "fraud", "legit"), pd.Series(PROBA, name="legit"), {"pos_label": "fraud"}, "pos_label = 'fraud'"),
    (EVENT, pd.Series(PROBA, name="p_0"), {}, "y_prob = a column named 'p_0'"),
    (pd.Series(EVENT, name="fraud"), pd.Series(PROBA, name="legit"), {}, r"y_true = \[0, 1\], named 'fraud'"),
    (np.array(list("abc"))[Y], pd.Series(PROBA, name="b"), {"pos_label": "a"}, "pos_label = 'a'"),
], ids=["words", "numbers", "name of labels", "several"])
def test_a_column_of_another_class_is_not_that_of_the_positive_one(y_true: Any, y_prob: Any, options: Any, message: str) -> None:
    for display in (DecompositionDisplay, ReliabilityDisplay):
        with pytest.raises(ValueError, match=f"^{message}"):
            display.from_predictions(y_true, y_prob, **options)
    right = float(decompose(EVENT, PROBA, **FAST).risk)
    for name in ("fraud" if "pos_label" in options else "p", None):
        positive = {"pos_label": options["pos_label"]} if options else {}
        column = pd.Series(PROBA, name="a" if positive.get("pos_label") == "a" and name else name)
        assert drawn(np.asarray(y_true), column, **positive) == pytest.approx(right, rel=1e-9)


@pytest.mark.parametrize("library", ["polars", "pyarrow", "narwhals", "pandas"])
def test_names_of_columns_are_read_in_tables_of_any_library(library: str) -> None:
    module = pytest.importorskip(library)

    def column(name: str, values: Any) -> list[Any]:
        if library == "polars":
            return [module.Series(name, values), module.DataFrame({name: values})]
        if library == "pyarrow":
            return [module.table({name: values})]
        if library == "narwhals":
            return [module.from_native(pd.DataFrame({name: values}), eager_only=True)]
        return [module.Series(values, name=name), module.DataFrame({name: values})]

    words = np.where(EVENT, "yes", "no")
    right = float(decompose(EVENT, PROBA, **FAST).risk)
    for good, bad, fraud, yes, plain in zip(*(column(name, PROBA) for name in ("fraud", "legit", "p_fraud", "yes", "score")), strict=True):
        for y in column("fraud", EVENT):
            for display in (DecompositionDisplay, ReliabilityDisplay):
                with pytest.raises(ValueError, match=r"^y_true = \[0, 1\], named 'fraud'"):
                    display.from_predictions(y, bad)
                with pytest.raises(ValueError, match=r"^pos_label = 'no': expected 'yes', the name of y_prob"):
                    display.from_predictions(words, yes, pos_label="no")
            for named in (good, fraud, plain):
                assert drawn(y, named) == pytest.approx(right, rel=1e-9)
        assert drawn(words, yes, pos_label="yes") == pytest.approx(right, rel=1e-9)
    for of_0 in column("p_0", 1 - PROBA):
        with pytest.raises(ValueError, match=r"^y_prob = a column named 'p_0'"):
            ReliabilityDisplay.from_predictions(EVENT, of_0)


COLUMNS_OF_A_CLASS: dict[str, Callable[[str], Any]] = {
    "index": lambda name: pd.Index(PROBA, name=name),
    "labelled column": lambda name: xr.DataArray(PROBA[:, None], {"class": [name]}, ("row", "class")),
    "list of rows": lambda name: [pd.Series({name: each}) for each in PROBA],
}


@pytest.mark.parametrize("kind", COLUMNS_OF_A_CLASS)
def test_other_holders_of_one_column_say_its_class_too(kind: str) -> None:
    make = COLUMNS_OF_A_CLASS[kind]
    words = np.where(EVENT, "yes", "no")
    right = float(decompose(EVENT, PROBA, **FAST).risk)
    assert drawn(words, make("yes"), pos_label="yes") == pytest.approx(right, rel=1e-9)
    assert drawn(EVENT, make("p_1")) == pytest.approx(right, rel=1e-9)
    for display in (DecompositionDisplay, ReliabilityDisplay):
        with pytest.raises(ValueError, match=r"^pos_label = 'yes': expected 'no', the name of y_prob"):
            display.from_predictions(words, make("no"), pos_label="yes")
        with pytest.raises(ValueError, match=r"^y_prob = a column named 'p_0'"):
            display.from_predictions(EVENT, make("p_0"))


def test_two_orders_of_one_index_are_refused() -> None:
    order = np.random.default_rng(0).permutation(N)
    labels, table, weight = pd.Series(Y, ROWS), pd.DataFrame(P, ROWS), pd.Series(np.arange(1.0, N + 1), ROWS)
    for each in ({"y_prob": table.iloc[order]}, {"sample_weight": weight.iloc[order]}, {"groups": weight.iloc[order]}):
        (name,) = each
        with pytest.raises(ValueError, match=f"^{name} = rows of the index .*the order of y_true"):
            DecompositionDisplay.from_predictions(labels, **{"y_prob": table, **FAST, **each})
        if name != "y_prob":
            with pytest.raises(ValueError, match=f"^{name} = rows of the index"):
                ReliabilityDisplay.from_predictions(pd.Series(EVENT, ROWS), PROBA, **each)
    assert drawn(labels, table) == pytest.approx(drawn(Y, P), rel=1e-12)
    # Of two indexes that differ positions are all that there is.
    assert drawn(labels, pd.DataFrame(P)) == pytest.approx(drawn(Y, P), rel=1e-12)


def test_labels_say_which_column_is_which_as_in_decompose() -> None:
    words = pd.Series(np.array(list("abc"))[Y])
    ordered = words.astype(pd.CategoricalDtype(list("bca"), ordered=True))
    assert drawn(ordered, P[:, [1, 2, 0]]) == pytest.approx(drawn(Y, P), rel=1e-12)
    pair = pd.DataFrame({"fraud": PROBA, "legit": 1 - PROBA})
    assert drawn(pd.Series(EVENT, name="fraud"), pair) == pytest.approx(drawn(EVENT, PROBA), rel=1e-9)


class Turned(GaussianNB):  # type: ignore[misc]
    """A recalibrator that returns a table, whose columns are in another order than its classes."""

    def predict_proba(self, X: Any) -> Any:
        return pd.DataFrame(super().predict_proba(X), columns=self.classes_)[self.classes_[::-1]]


def test_the_columns_of_a_recalibrator_are_those_of_their_names() -> None:
    X = np.log(P[:, :2])
    found, usual = (RecalibratedClassifier(GaussianNB(), each, cv=3).fit(X, Y).predict_proba(X) for each in (Turned(), GaussianNB()))
    np.testing.assert_allclose(found, usual, rtol=1e-12)


def test_rows_of_one_index_in_two_orders() -> None:
    """As scikit-learn does, rows are told by positions; two orders of one index say that these are wrong."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), [f"row {i}" for i in range(60)], ["u", "v"])
    y = pd.Series((X.u + rng.normal(size=60) > 0).astype(int), X.index)
    weight, order = pd.Series(np.linspace(1, 2, 60), X.index), rng.permutation(60)
    groups = pd.Series(np.arange(60) // 2, X.index)
    model = LogisticRegression().fit(X, y)
    asks: list[Any] = [
        lambda y, **more: scorer("risk")(model, X, y, **more),
        lambda y, **more: DecompositionDisplay.from_estimator(model, X, y, **more),
        lambda y, **more: ReliabilityDisplay.from_estimator(model, X, y, n_resamples=19, **more),
    ]
    for ask in (*asks, lambda y, **more: RecalibratedClassifier(model, cv="prefit").fit(X, y, **more)):
        with pytest.raises(ValueError, match=r"^y(_true)? = rows of the index row .* expected the order of X, row 0"):
            ask(y.iloc[order])
        with pytest.raises(ValueError, match=r"^sample_weight = rows of the index"):
            ask(y, sample_weight=weight.iloc[order])
        ask(y, sample_weight=weight)
        # Others have no index, or another one.
        ask(y.to_numpy(), sample_weight=weight.iloc[order].reset_index(drop=True))
    for ask in asks:
        with pytest.raises(ValueError, match=r"^groups = rows of the index"):
            ask(y, groups=groups.iloc[order])


def test_predictions_in_another_order_than_features() -> None:
    class Turned(LogisticRegression):  # type: ignore[misc]
        def predict_proba(self, X: Any) -> Any:
            return pd.DataFrame(super().predict_proba(X), X.index).iloc[::-1]

    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), [f"row {i}" for i in range(60)])
    X.columns = ["u", "v"]
    y = np.arange(60) % 2
    with pytest.raises(ValueError, match=r"predictions = rows of the index row 59.* expected the order of X"):
        scorer("risk")(Turned().fit(X, y), X, y)


# ---------------------------------------------------------------- holders of one column

def of_polars(values: Any, name: str) -> Any:
    return pytest.importorskip("polars").Series(name, values)


def of_polars_table(values: Any, name: str) -> Any:
    return pytest.importorskip("polars").DataFrame({name: values})


def of_arrow(values: Any, name: str) -> Any:
    return pytest.importorskip("pyarrow").table({name: values})


def of_one_class(values: Any, name: str) -> Any:
    return xr.DataArray(values[:, None], {"class": [name]}, ("row", "class"))


def of_another_coordinate(values: Any, name: str) -> Any:
    return xr.DataArray(values[:, None], {"name": ("class", [name])}, ("row", "class"))


def of_index(values: Any, name: str) -> Any:
    return pd.Index(values, name=name)


def of_rows(values: Any, name: str) -> Any:
    return [pd.Series([each], [name]) for each in values]


@pytest.mark.parametrize("hold", [of_polars, of_polars_table, of_arrow, of_one_class, of_another_coordinate, of_index, of_rows])
def test_a_column_has_its_name_in_every_holder(hold: Any) -> None:
    words, right = np.where(EVENT, "fraud", "legit"), float(decompose(EVENT, PROBA, **FAST).risk)
    for display in (DecompositionDisplay, ReliabilityDisplay):
        with pytest.raises(ValueError, match=r"^pos_label = 'fraud': expected 'legit', the name of y_prob"):
            display.from_predictions(words, hold(1 - PROBA, "legit"), pos_label="fraud")
        with pytest.raises(ValueError, match=r"^y_prob = a column named 'p_0'"):
            display.from_predictions(EVENT, hold(1 - PROBA, "p_0"))
        with pytest.raises(ValueError, match=r"^y_true = \[0, 1\], named 'fraud': .*a column named 'legit'"):
            display.from_predictions(of_polars(EVENT, "fraud"), hold(1 - PROBA, "legit"))
    for labels, name, options in ((words, "fraud", {"pos_label": "fraud"}), (words, "model", {"pos_label": "fraud"}), (EVENT, "p", {}), (of_polars(EVENT, "fraud"), "p_fraud", {})):
        assert drawn(labels, hold(PROBA, name), **options) == pytest.approx(right, rel=1e-9)


def test_labels_of_other_libraries_than_pandas_say_which_column_is_which() -> None:
    pl = pytest.importorskip("polars")
    right = float(decompose(EVENT, PROBA, **FAST).risk)
    pair = pl.DataFrame({"fraud": PROBA, "legit": 1 - PROBA})
    words = np.where(EVENT, "fraud", "legit")
    assert drawn(pl.Series("fraud", EVENT), pair) == pytest.approx(right, rel=1e-9)
    assert drawn(pl.Series(words.tolist(), dtype=pl.Enum(["legit", "fraud"])), np.c_[1 - PROBA, PROBA]) == pytest.approx(right, rel=1e-9)


def test_classes_of_a_labelled_array_may_have_their_names_in_another_coordinate() -> None:
    order = [2, 0, 1]
    array = xr.DataArray(P[:, order], {"name": ("class", list("cab"))}, ("row", "class"))
    right = float(decompose(Y, P, **FAST).risk)
    assert drawn(np.array(list("abc"))[Y], array) == pytest.approx(right, rel=1e-9)
    assert scored(array, list("abc")) == pytest.approx(EXPECTED, rel=1e-9)
    assert scored(array.drop_vars("name")[:, [1, 2, 0]], list("abc")) == pytest.approx(EXPECTED, rel=1e-9)


def test_two_orders_of_the_coordinates_of_rows_are_refused() -> None:
    labels, column = (xr.DataArray(each, {"row": ROWS}, ("row",)) for each in (EVENT, PROBA))
    turned = column[::-1]
    for display in (DecompositionDisplay, ReliabilityDisplay):
        for other in (turned, turned.to_pandas()):
            with pytest.raises(ValueError, match=r"^y_prob = rows of the index .*the order of y_true"):
                display.from_predictions(labels, other)
    for other in (column, PROBA, turned.drop_vars("row")[::-1]):
        assert drawn(labels, other) == pytest.approx(drawn(EVENT, PROBA), rel=1e-12)
