"""Rows beside scikit-learn are told by their positions: indexes that contradict these are refused, others say nothing.

The right score is that of the same rows without names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn", minversion="1.6")
pd = pytest.importorskip("pandas")
plt = pytest.importorskip("matplotlib.pyplot")

from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import cross_validate, train_test_split  # noqa: E402

from propercal.sklearn import (  # noqa: E402
    DecompositionDisplay,
    RecalibratedClassifier,
    ReliabilityDisplay,
    scorer,
)

N = 80
RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(N, 2))
LABELS = (FEATURES[:, 0] + RNG.normal(size=N) > 0).astype(int)
WEIGHT, ORDER = RNG.uniform(0.5, 2, N), RNG.permutation(N)
IDS = pd.Index([f"row {i}" for i in range(N)])
X, Y, W = pd.DataFrame(FEATURES, columns=["u", "v"]), pd.Series(LABELS), pd.Series(WEIGHT)
MODEL = LogisticRegression().fit(X, Y)
PROBA = pd.DataFrame(MODEL.predict_proba(X), columns=[0, 1])
SCORE = scorer("risk", generator="brier")
RIGHT = SCORE(MODEL, X, LABELS)
WEIGHTED = SCORE(MODEL, X, LABELS, sample_weight=WEIGHT)


@pytest.fixture(autouse=True)
def no_figure_stays() -> Iterator[None]:
    yield
    plt.close("all")


def drawn(y_true: Any, y_prob: Any, **options: Any) -> float:
    made = DecompositionDisplay.from_predictions(y_true, y_prob, generator="brier", method="risk", **options)
    return -float(made.result.risk)


def refused(argument: str, call: Callable[..., Any], *given: Any, **options: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{argument} = (rows of the index|coordinates) .* order"):
        call(*given, **options)


@pytest.mark.parametrize("dtype", [int, str])
def test_the_numbers_of_a_default_index_in_another_order(dtype: Any) -> None:
    moved = Y.set_axis(Y.index.astype(dtype)).iloc[ORDER]
    refused("y_true", SCORE, MODEL, X, moved)
    refused("y_true", SCORE, MODEL, X.iloc[ORDER], Y)
    refused("sample_weight", SCORE, MODEL, X, Y, sample_weight=W.iloc[ORDER])
    refused("groups", SCORE, MODEL, X, Y, groups=pd.Series(np.arange(N) // 4).iloc[ORDER])
    refused("y_prob", drawn, moved, PROBA)
    refused("y_prob", drawn, moved, PROBA[1])
    refused("y_prob", ReliabilityDisplay.from_predictions, moved, PROBA[1])
    refused("y", DecompositionDisplay.from_estimator, MODEL, X, moved)
    refused("y", ReliabilityDisplay.from_estimator, MODEL, X, moved)
    refused("y", RecalibratedClassifier(MODEL, cv="prefit").fit, X, moved)


def test_a_default_index_says_nothing_else() -> None:
    assert SCORE(MODEL, X, Y, sample_weight=W) == WEIGHTED
    for index in (IDS, IDS[ORDER], pd.RangeIndex(1, N + 1), pd.date_range("2024", periods=N)[::-1]):
        assert SCORE(MODEL, X.set_axis(index), Y, sample_weight=W) == WEIGHTED
        assert SCORE(MODEL, X, Y.set_axis(index), sample_weight=W.set_axis(index)) == WEIGHTED
    # Whatever returns a table of predictions numbers its rows by their positions.
    assert SCORE(Tabular(MODEL), X.iloc[ORDER], Y.iloc[ORDER], sample_weight=W.iloc[ORDER]) == pytest.approx(WEIGHTED, rel=1e-12)


class Tabular(LogisticRegression):  # type: ignore[misc]
    """A fitted classifier that returns a table with an index of its own."""

    def __init__(self, model: Any = None) -> None:
        super().__init__()
        self.model, self.classes_ = model, model.classes_

    def predict_proba(self, X: Any) -> Any:
        return pd.DataFrame(self.model.predict_proba(X), columns=self.classes_)


@pytest.mark.parametrize("index", [IDS, pd.Index(np.arange(N))])
def test_folds_of_weights_in_another_order(index: Any) -> None:
    """Each fold of the weights has the ids of other rows than that of the features."""
    with sklearn.config_context(enable_metadata_routing=True):
        asked = SCORE.set_score_request(sample_weight=True)
        model = LogisticRegression().set_fit_request(sample_weight=False)

        def scores(X: Any, y: Any, w: Any) -> Any:
            return cross_validate(model, X, y, scoring=asked, params={"sample_weight": w}, error_score="raise")["test_score"]

        x, y, w = (each.set_axis(index) for each in (X, Y, W))
        assert list(scores(x, y, w)) == pytest.approx(list(scores(X, LABELS, WEIGHT)), rel=1e-12)
        refused("sample_weight", scores, x, y, w.iloc[ORDER])


def test_indexes_of_other_rows_that_share_some() -> None:
    x, y = X.set_axis(IDS), Y.set_axis(IDS.str.replace("row 0", "row 99"))
    refused("y_true", SCORE, MODEL, x, y)
    refused("y_true", SCORE, MODEL, X.set_axis(IDS[np.arange(N) // 2]), Y.set_axis(IDS[np.arange(N) // 2]).iloc[ORDER])


def test_two_numberings_of_the_same_rows() -> None:
    """From 1 beside from 0, other ids, and times of which each is the next of the other; also of a part of the rows."""
    times = pd.date_range("2024", periods=N)
    for of_x, of_y in (
        (pd.RangeIndex(1, N + 1), pd.RangeIndex(N)),
        (IDS, pd.Index([f"id {i}" for i in range(N)])),
        (times, times + pd.Timedelta(days=1)),
    ):
        x, y = X.set_axis(of_x), Y.set_axis(of_y)
        assert SCORE(MODEL, x, y, sample_weight=W) == WEIGHTED
        x, _, y, _, plain, _, codes, _ = train_test_split(x, y, X, LABELS, random_state=0)
        assert SCORE(MODEL, x, y) == SCORE(MODEL, plain, codes)


def test_labelled_arrays_and_tables_of_arrow() -> None:
    xr, pa = pytest.importorskip("xarray"), pytest.importorskip("pyarrow")
    x, y, w, proba = (each.set_axis(IDS) for each in (X, Y, W, PROBA))

    def labelled(values: Any, name: str = "row") -> Any:
        return xr.DataArray(values.to_numpy(), dims="row", coords={name: ("row", values.index)})

    assert SCORE(MODEL, x, labelled(y), sample_weight=labelled(w)) == WEIGHTED
    refused("y_true", SCORE, MODEL, x, labelled(y.iloc[ORDER]))
    refused("sample_weight", SCORE, MODEL, x, y, sample_weight=labelled(w.iloc[ORDER]))
    refused("sample_weight", SCORE, MODEL, x, y, sample_weight=labelled(w.iloc[ORDER], "id"))
    for made in (pa.Table.from_pandas, pa.RecordBatch.from_pandas):
        assert drawn(y, made(proba), sample_weight=w) == pytest.approx(WEIGHTED, rel=1e-12)
        refused("y_prob", drawn, y.iloc[ORDER], made(proba))
        refused("y_prob", drawn, Y.iloc[ORDER], made(PROBA))
    assert drawn(y, [row for _, row in proba.iterrows()]) == pytest.approx(RIGHT, rel=1e-12)
    refused("y_prob", drawn, y.iloc[ORDER], [row for _, row in proba.iterrows()])
