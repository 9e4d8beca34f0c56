"""What recalibrators say of the data, in the words of who called them: X and y are theirs alone."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from propercal.cli.command import main
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling
from propercal.simulation import TemperatureScaledSimplex
from propercal.training import LeastRefinement

pd = pytest.importorskip("pandas")

Y, P, _ = TemperatureScaledSimplex(3).sample(200, random_state=0)
#: Predictions that are worse than none, have a zero where it matters, or are all right.
WORSE = P[:, [1, 2, 0]]
ZERO = np.concatenate([np.eye(3)[[1]], P[1:]])
ZERO_Y = np.concatenate([[0], Y[1:]])
RIGHT = P.argmax(axis=1)
CASES: dict[str, tuple[Any, Any, str]] = {
    "worse": (WORSE, Y, "{y} {is} predicted no better by any temperature of {X} than by the same probability"),
    "zero": (ZERO, ZERO_Y, "{X} {has} a probability of 0 for the class of row 0"),
    "right": (P, RIGHT, "{y} {has} the most probable class in every row"),
}
#: The columns of some stand in another order, or no label is wrong, which has warnings of its own.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class Module:
    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Any) -> None:
        """Take what `state_dict` gives."""


def said_by(call: Callable[[], object]) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return "\n".join(str(each.message) for each in caught)


def of_fit(p: Any, y: Any, capsys: Any) -> str:  # noqa: ARG001
    return said_by(lambda: TemperatureScaling().fit(p, y))


def of_training(p: Any, y: Any, capsys: Any) -> str:  # noqa: ARG001
    """What the fit to an epoch says when its weights are restored."""
    settings: dict[str, Any] = {"from_logits": False, "generator": "brier", "method": "risk", "bandwidth": 0.1}
    return said_by(lambda: LeastRefinement(**settings).update(Module(), y, p).restore(Module()))


def of_command(p: Any, y: Any, capsys: Any) -> str:
    np.savez("fit.npz", labels=y, probs=p)
    assert main(["recalibrate", "fit.npz", "--save-map", "map.json", "--force"]) == 0
    return str(capsys.readouterr().err)


WORDS = {
    of_fit: {"y": "y", "X": "X", "is": "is", "has": "has"},
    of_training: {"y": "y_true", "X": "y_proba", "is": "is", "has": "has"},
    of_command: {"y": "labels", "X": "predictions", "is": "are", "has": "have"},
}


@pytest.mark.parametrize("caller", WORDS)
@pytest.mark.parametrize("case", CASES)
def test_warnings(case: str, caller: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    p, y, words = CASES[case]
    said = caller(p, y, capsys)
    assert words.format(**WORDS[caller]) in said
    if caller is not of_fit:
        assert not re.search(r"(?<![\w'])[Xy](?![\w'])", said)


def test_errors_of_training() -> None:
    kept = LeastRefinement(from_logits=False, method="risk", bandwidth=0.1).update(Module(), Y, P)
    with pytest.raises(ValueError, match=r"^y_proba = 2 classes: expected 3, as in fit"):
        kept.predict_proba(P[:, :2] / P[:, :2].sum(axis=1, keepdims=True))
    with pytest.raises(ValueError, match=r"^X = "):
        TemperatureScaling().fit(P, Y).predict_proba(P[:, 0])


def test_rows_in_which_every_class_gets_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    # A class never occurs at 0.4 or below.
    p = np.repeat([[0.4, 0.6, 0.0], [0.0, 0.4, 0.6], [0.6, 0.0, 0.4]], 10, axis=0)
    y = np.repeat([1, 2, 0], 10)
    fitted, new = ClasswiseIsotonic().fit(p, y), np.full((1, 3), 1 / 3)
    with pytest.warns(UserWarning, match=r"^X has rows in which every class gets 0 \(row 0\)"):
        np.testing.assert_array_equal(fitted.predict_proba(new), new)
    np.savez("fit.npz", labels=y, probs=p)
    np.savez("new.npz", probs=new)
    assert main(["recalibrate", "fit.npz", "--recalibrator", "isotonic", "--apply", "new.npz", "-o", "out.npz"]) == 0
    said = capsys.readouterr().err
    assert "predictions have rows in which every class gets 0" in said
    assert "X has" not in said


def test_scores_of_a_classifier() -> None:
    """X are the features there: what is recalibrated is named after the classifier."""
    pytest.importorskip("sklearn")
    from sklearn.base import BaseEstimator, ClassifierMixin

    from propercal.sklearn import RecalibratedClassifier

    class AsGiven(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> AsGiven:
            self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
            return self

        def predict_proba(self, X: Any) -> Any:
            return X

    with pytest.warns(UserWarning, match=r"^AsGiven.predict_proba\(X\) has a probability of 0 for the class of row"):
        RecalibratedClassifier(AsGiven()).fit(ZERO, ZERO_Y)
