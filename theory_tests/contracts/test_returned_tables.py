"""Tables and series that stand for arrays: what they name is heeded where others hand them over, or where they are drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import CalibrationSketch, decompose
from propercal.methods import Debiased
from propercal.recalibration import TemperatureScaling

#: Of the few rows here hardly any is surprising, and the recalibrators are toys, with warnings of their own.
pytestmark = pytest.mark.filterwarnings("ignore:(only [0-9]+|no) rows? had an outcome")

N = 120
RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 3, N)
PROBA = np.eye(3)[CODES] * 0.4 + RNG.dirichlet([1.0] * 3, N) * 0.6


class Softer:
    """A recalibration towards equal shares, whose output a function may put into another holder."""

    def __init__(self, held: Callable[[Any], Any] = np.asarray) -> None:
        self.held = held

    def fit(self, X: Any, y: Any) -> Softer:
        assert len(X) == len(y)
        self.classes_ = np.arange(X.shape[1])
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.held(0.8 * X + np.array([0.1, 0.08, 0.02]))


def error_of(held: Callable[[Any], Any]) -> float:
    method = Debiased(recalibrator=Softer(held), kernel=None)
    return float(decompose(CODES, PROBA, generator="log", method=method).calibration_error)


READ: dict[str, Callable[[Any], Any]] = {
    "as it is": pd.DataFrame,
    "columns": lambda q: pd.DataFrame(q)[[2, 0, 1]],
    "digits": lambda q: pd.DataFrame(q, columns=list("012"))[list("201")],
    "numbered names": lambda q: pd.DataFrame(q).add_prefix("p_")[["p_2", "p_0", "p_1"]],
    "rows": lambda q: pd.DataFrame(q).sample(frac=1, random_state=1),
    "both": lambda q: pd.DataFrame(q)[[1, 0, 2]].sample(frac=1, random_state=1),
    "a list": lambda q: q.tolist(),
}


@pytest.mark.parametrize("name", READ)
def test_a_recalibrator_may_return_a_table_in_an_order_of_its_own(name: str) -> None:
    assert error_of(READ[name]) == pytest.approx(error_of(np.asarray), rel=1e-12)


@pytest.mark.parametrize(
    "held",
    [
        lambda q: pd.DataFrame(q, columns=list("abc")),
        lambda q: pd.DataFrame(q, columns=[1, 2, 3]),
        lambda q: pd.DataFrame(q, index=[f"r{i}" for i in range(len(q))]),
        lambda q: pd.DataFrame(q, index=np.arange(len(q)) + 1),
    ],
    ids=["words", "other numbers", "names of rows", "other rows"],
)
def test_a_table_of_other_names_is_refused(held: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError, match=r"^recalibrator = Softer, whose predict_proba gave a DataFrame.*expected columns of the classes \[0, 1, 2\], and rows 0 to"):
        error_of(held)


# ---------------------------------------------------------------- points of a Pareto front

def test_series_of_points_are_matched_by_their_index() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from propercal.plotting import pareto_front
    from propercal.plotting.pareto import on_front

    accuracy = pd.Series([0.9, 0.8, 0.7], index=list("xyz"))
    error = pd.Series([0.02, 0.01, 0.03], index=list("xyz"))

    def points(*given: Any, **settings: Any) -> list[list[float]]:
        drawn = pareto_front(*given, **settings).containers
        return sorted(point for each in drawn for point in each.lines[0].get_xydata().tolist())  # type: ignore[attr-defined]

    right = points(accuracy.to_numpy(), error.to_numpy())
    moved = error.sort_values()
    for other in (error, moved, error.to_numpy(), error.tolist()):
        assert points(accuracy, other) == right
        assert on_front(accuracy, other) == [1, 0]
    assert on_front([0.9, 0.8, 0.7], [0.02, 0.01, 0.03]) == [1, 0]
    xarray = pytest.importorskip("xarray")
    assert xarray
    assert on_front(accuracy.to_xarray(), moved.to_xarray()) == [1, 0]
    bars = pareto_front(accuracy, error, calibration_error_se=pd.Series([0.3, 0.2, 0.1], index=list("zyx")))
    top = bars.containers[0].lines[2][0].get_segments()  # type: ignore[attr-defined]
    assert sorted(round((b[1] - a[1]) / 2, 6) for a, b in top) == [0.1, 0.2]
    for odd in (error.set_axis(list("abc")), error.iloc[:2]):
        with pytest.raises(ValueError, match=r"^calibration_error = "):
            pareto_front(accuracy, odd)
    with pytest.raises(ValueError, match=r"^error = "):
        on_front(accuracy, error.set_axis(list("abc")))
    with pytest.raises(ValueError, match=r"^error = "):
        on_front([0.9, 0.8], ["a", "b"])


# ---------------------------------------------------------------- probabilities that are said to be logits

def test_probabilities_of_one_column_that_are_said_to_be_logits_are_named() -> None:
    y = (RNG.uniform(size=N) < 0.5).astype(int)
    p = np.where((y == 1) == (np.arange(N) > 0), 0.8, 0.2)
    U = RNG.uniform(0.01, 0.99, (N, 3))
    Y = (RNG.uniform(size=(N, 3)) < U).astype(int)
    for call in (
        lambda: decompose(y, p, from_logits=True, kernel=None),
        lambda: decompose(y, p[:, None], from_logits=True, kernel=None),
        lambda: decompose(Y, U, from_logits=True, notion="classwise", kernel=None),
        lambda: TemperatureScaling(from_logits=True).fit(p, y),
        lambda: CalibrationSketch(2, from_logits=True).update(y, p),
    ):
        with pytest.warns(UserWarning, match="has no value below 0 or above 1, though from_logits=True says that they are logits: leave it out"):
            call()
    # Warnings are errors here.
    decompose(y, np.log(p / (1 - p)), from_logits=True, kernel=None)
    decompose(y[:4], [0.2, 0.9, 0.3, 0.4], from_logits=True, method="risk", bandwidth=0.1)
