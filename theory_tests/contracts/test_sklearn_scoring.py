"""Scorers for scikit-learn: signs, names of classes, weights, groups, folds, and what is refused."""

from __future__ import annotations

import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")

import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from propercal import decompose
from propercal.methods import Risk
from propercal.sklearn import get_scorer, get_scorer_names, scorer
from propercal.sklearn.scoring import _TERMS

X, CODES = make_classification(240, n_classes=3, n_informative=4, random_state=1)
TWO = (CODES > 0).astype(int)
#: Not the method that users are to take, but quick.
FAST: dict[str, Any] = {"method": Risk(bandwidth=0.1)}


def of(y: Any, model: Any = None) -> Any:
    return (GaussianNB() if model is None else model).fit(X[::2], np.asarray(y)[::2])


@pytest.mark.parametrize("names", [
    [0, 1], [-1, 1], [1, 2], [False, True], ["no", "yes"], [2.0, 5.0], [0, 1, 2], [1, 2, 3], ["b", "a", "c"], [30, 10, 20], [-1, 0, 1],
], ids=repr)
def test_scores_are_those_of_the_columns_of_classes(names: list[Any]) -> None:
    codes = CODES if len(names) == 3 else TWO
    y = np.array(names)[codes]
    for labels in (y, y.astype(object), y.tolist(), y[:, None]):
        model = of(y)
        number = {name: i for i, name in enumerate(model.classes_.tolist())}
        expected = decompose([number[each] for each in y[1::2].tolist()], model.predict_proba(X[1::2]), **FAST)
        assert scorer(**FAST)(model, X[1::2], labels[1::2]) == pytest.approx(-expected.calibration_error, rel=1e-9)
        assert scorer("sharpness", **FAST)(model, X[1::2], labels[1::2]) == pytest.approx(expected.sharpness, rel=1e-9)


def test_losses_have_a_minus_sign_and_scores_have_none() -> None:
    model = of(TWO)
    terms = list(_TERMS)
    found = scorer(terms)(model, X[1::2], TWO[1::2])
    result = decompose(TWO[1::2], model.predict_proba(X[1::2]))
    direction = result.direction()
    assert found == {
        "neg_calibration_error": -result.calibration_error,
        "neg_lower_bound": -(result.lower_bound or math.nan),
        "neg_upper_limit": -result.interval("calibration_error")[1],
        "neg_over_confidence": -direction.over_confidence,
        "neg_under_confidence": -direction.under_confidence,
        "neg_refinement": -result.refinement,
        "neg_risk": -result.risk,
        "sharpness": result.sharpness,
        "skill_score": result.skill_score,
    }
    assert found["neg_over_confidence"] + found["neg_under_confidence"] == pytest.approx(found["neg_calibration_error"])
    for term in terms:
        alone = scorer(term)(model, X[1::2], TWO[1::2])
        assert isinstance(alone, float)
        assert alone in found.values()


def test_losses_alone_are_scored_without_a_fit() -> None:
    model = of(CODES)
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    for notion in ("canonical", "classwise", "top-label"):
        for given in (None, weight):
            both = scorer(["risk", "skill_score"], notion=notion)(model, X, CODES, sample_weight=given)
            full = decompose(CODES, model.predict_proba(X), notion=notion, sample_weight=given)
            assert both["neg_risk"] == pytest.approx(-full.risk, rel=1e-12)
            assert both["skill_score"] == pytest.approx(full.skill_score, rel=1e-9)
    # A fit needs 20 rows.
    expected = np.log(model.predict_proba(X[:9]))[np.arange(9), CODES[:9]].mean()
    assert scorer("risk")(model, X[:9], CODES[:9]) == pytest.approx(expected)


def test_names_lead_to_scorers_of_every_term_notion_and_loss() -> None:
    names = get_scorer_names()
    assert len(names) == len(set(names)) == len(_TERMS) * 3 * 5
    for name in names:
        made = get_scorer(name)
        (term,) = made.terms
        assert name.startswith("neg_") == _TERMS[term].loss
        assert term in name
    assert repr(get_scorer("classwise_sharpness_itakura_saito")) == "scorer('sharpness', generator='itakura-saito', notion='classwise')"
    assert get_scorer(names[0]) is not get_scorer(names[0])
    with pytest.raises(ValueError, match=r"name = 'calibration_error': .*did you mean 'neg_calibration_error'"):
        get_scorer("calibration_error")
    with pytest.raises(ValueError, match=r"one of 135 names, such as .*'neg_risk'") as caught:
        get_scorer("neg_risk_log")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(("arguments", "message"), [
    ({"term": "calibration"}, r"term = 'calibration': .*did you mean 'calibration_error'"),
    ({"term": "neg_refinement"}, r"did you mean 'refinement'"),
    ({"term": []}, r"term = \[\]"),
    ({"term": None}, r"term = None"),
    ({"generators": "brier"}, r"did you mean 'generator'"),
    ({"term": ["risk", "risk"]}, r"each once"),
    ({"generator": "brier score"}, r"generator = "),
    ({"generator": ["log", "brier"]}, r"generator = a list of 2"),
    ({"notion": "toplabel"}, r"notion = "),
    ({"method": ["risk"]}, r"method = a list"),
    ({"method": "risk", "n_folds": 10}, r"n_folds = 10"),
    ({"term": "lower_bound", "method": "risk"}, r"term = 'lower_bound': expected one that method='risk'"),
    ({"confidence_level": 2}, r"confidence_level"),
])
def test_bad_settings_are_refused_when_a_scorer_is_made(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scorer(**arguments)


def test_cross_validation_scores_every_fold() -> None:
    y = np.array(["a", "b", "c"])[CODES]
    for model in (GaussianNB(), make_pipeline(StandardScaler(), GaussianNB()), CalibratedClassifierCV(GaussianNB(), cv=2)):
        found = cross_val_score(model, X, y, scoring=scorer(**FAST), cv=3)
        assert found.shape == (3,)
        assert np.isfinite(found).all()
    several = cross_validate(GaussianNB(), X, y, scoring=scorer(["calibration_error", "sharpness"], **FAST), cv=3)
    mixed = cross_validate(GaussianNB(), X, y, scoring={"ce": scorer(**FAST), "accuracy": "accuracy", "skill": scorer("skill_score", **FAST)}, cv=3)
    np.testing.assert_array_equal(several["test_neg_calibration_error"], mixed["test_ce"])
    assert np.isfinite(several["test_sharpness"]).all()


def test_a_search_takes_the_smallest_loss() -> None:
    # The second is far too sure of itself.
    made = GridSearchCV(GaussianNB(), {"var_smoothing": [0.1, 1e-9]}, scoring=scorer("risk"), cv=3).fit(X, CODES)
    assert made.best_params_ == {"var_smoothing": min([0.1, 1e-9], key=lambda v: -made.cv_results_["mean_test_score"][[0.1, 1e-9].index(v)])}
    assert (made.cv_results_["mean_test_score"] < 0).all()
    both = GridSearchCV(GaussianNB(), {"var_smoothing": [0.1, 1e-9]}, scoring=scorer(["risk", "refinement"], **FAST), refit="neg_risk", cv=3)
    assert both.fit(X, CODES).best_params_ == made.best_params_
    assert both.score(X, CODES) < 0


def test_weights_and_groups_count() -> None:
    model = of(TWO)
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    found = scorer(**FAST)(model, X, TWO, sample_weight=weight)
    expected = decompose(TWO, model.predict_proba(X), sample_weight=weight, **FAST)
    assert found == pytest.approx(-expected.calibration_error, rel=1e-12)
    groups = np.arange(len(X)) // 4
    found = scorer("upper_limit")(model, X, TWO, groups=groups)
    assert -found == decompose(TWO, model.predict_proba(X), groups=groups).interval("calibration_error")[1]


def test_rows_are_told_by_their_positions() -> None:
    pd = pytest.importorskip("pandas")
    model = of(TWO)
    weight = np.linspace(1, 3, len(X))
    turned = [f"row {i}" for i in range(len(X))][::-1]
    expected = scorer(**FAST)(model, X, TWO, sample_weight=weight)
    y = pd.Series(TWO, index=turned)
    assert scorer(**FAST)(model, X, y, sample_weight=pd.Series(weight)) == expected
    assert scorer(**FAST)(model, X, pd.Series(TWO).astype("category"), sample_weight=weight) == expected
    assert scorer(**FAST)(model, X, TWO[:, None], sample_weight=weight) == expected


def test_metadata_are_routed_where_asked_for() -> None:
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    groups = np.arange(len(X)) // 4
    with pytest.raises(RuntimeError, match="enable_metadata_routing"):
        scorer().set_score_request(sample_weight=True)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = scorer("risk", **FAST).set_score_request(sample_weight="w")
        folds = [(np.arange(0, 240, 2), np.arange(1, 240, 2))]
        model = GaussianNB().set_fit_request(sample_weight=False)
        found = cross_validate(model, X, TWO, scoring=asked, cv=folds, params={"w": weight})["test_score"][0]
        multi = cross_validate(model, X, TWO, scoring={"risk": asked, "acc": "accuracy"}, cv=folds, params={"w": weight})
        assert multi["test_risk"][0] == found
        fitted = of(TWO)
        assert found == scorer("risk", **FAST)(fitted, X[1::2], TWO[1::2], sample_weight=weight[1::2])
        by_group = scorer("upper_limit").set_score_request(groups=True)
        found = cross_validate(model, X, TWO, scoring=by_group, cv=folds, params={"groups": groups})["test_score"][0]
        assert found == scorer("upper_limit")(fitted, X[1::2], TWO[1::2], groups=groups[1::2])
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            cross_validate(model, X, TWO, scoring=scorer("risk", **FAST), cv=folds, params={"sample_weight": weight})
        with pytest.raises(ValueError, match="request = 'weights'"):
            scorer().set_score_request(weights=True)


# --- folds without a class
def test_labels_of_one_class_have_a_score() -> None:
    model = of(CODES)
    rows = CODES == 1
    found = scorer(["calibration_error", "risk", "skill_score"])(model, X[rows], CODES[rows])
    assert found["neg_calibration_error"] < 0
    assert found["neg_risk"] == pytest.approx(np.log(model.predict_proba(X[rows])[:, 1]).mean())


def test_a_class_without_rows_to_fit_has_a_probability_of_0() -> None:
    model = GaussianNB().fit(X[CODES != 2], CODES[CODES != 2])
    with pytest.warns(UserWarning, match=r"y has labels that GaussianNB was not fitted to, \[2\]"):
        found = scorer("risk", generator="brier", **FAST)(model, X, CODES)
    full = np.column_stack([model.predict_proba(X), np.zeros(len(X))])
    assert -found == pytest.approx(((full - np.eye(3)[CODES]) ** 2).sum(axis=1).mean())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "y has labels that GaussianNB was not fitted to|risk.* under the log loss: infinite", UserWarning)
        assert scorer("risk", **FAST)(model, X, CODES) == -math.inf
        assert scorer(list(_TERMS))(model, X, CODES)["neg_upper_limit"] == -math.inf


def test_a_classifier_of_one_class_is_sure_of_it() -> None:
    model = DummyClassifier().fit(X, np.ones(len(X), dtype=int))
    assert scorer(**FAST)(model, X, np.ones(len(X), dtype=int)) == 0


def test_the_smallest_of_two_probabilities_is_not_rounded_away() -> None:
    """1 − p of a p that rounds to 1 would be 0, and the loss infinite."""
    x = np.array([[0.0], [0.1], [1.0], [1.1]] * 10)
    model = GaussianNB().fit(x, [0, 0, 1, 1] * 10)
    assert 0 < model.predict_proba([[1.0]])[0, 0] < 1e-20
    found = scorer("risk", **FAST)(model, x, [0, 0, 1, 0] * 10)
    assert -1e3 < found < -10


# --- what is refused
class NoClasses(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 3), 1 / 3)


class OddShape(NoClasses):
    classes_ = np.array([0, 1])


class Logits(GaussianNB):  # type: ignore[misc]
    def predict_proba(self, X: Any) -> Any:
        return np.log(super().predict_proba(X) + 1e-9)


class Percent(GaussianNB):  # type: ignore[misc]
    def predict_proba(self, X: Any) -> Any:
        return 100 * super().predict_proba(X)


class Listed(GaussianNB):  # type: ignore[misc]
    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(X).tolist()


@pytest.mark.parametrize(("model", "y", "message"), [
    (lambda: Percent().fit(X, TWO), TWO, "let it return them divided by 100 if these are percentages, or scipy.special.softmax"),
    (lambda: Listed().fit(X, TWO), TWO, r"Listed, whose predict_proba gave a list: expected an array, .*; let it return numpy.array"),
    (lambda: Logits().fit(X, TWO), TWO, r"estimator = Logits, whose predict_proba gave .*expected probabilities between 0 and 1; let it return scipy.special.softmax"),
    (lambda: MultiOutputClassifier(GaussianNB()).fit(X, np.column_stack([TWO, TWO])), TWO, "of several outputs: expected a classifier of one"),
    (lambda: RandomForestClassifier(5).fit(X, np.column_stack([TWO, CODES])), TWO, "RandomForestClassifier of several outputs"),
    (lambda: MLPClassifier([3], max_iter=5).fit(X, np.column_stack([TWO, 1 - TWO])), np.column_stack([TWO, 1 - TWO]), r"y = an array of shape \(240, 2\): expected one label for each row"),
    (lambda: LinearSVC().fit(X, TWO), TWO, "LinearSVC without predict_proba"),
    (lambda: LinearRegression().fit(X, TWO), TWO, "LinearRegression without predict_proba"),
    (lambda: NoClasses(), TWO, "NoClasses without classes_"),
    (lambda: OddShape(), TWO, r"OddShape, whose predict_proba gave shape \(240, 3\)"),
    (lambda: of(TWO), TWO.astype(str), r"y = labels \['(0|1)', '(0|1)'\]: expected labels of one type"),
    (lambda: of(TWO), np.where(TWO, np.nan, 0.0), "y = missing values"),
    (lambda: of(TWO), TWO[:100], "100 labels"),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_bad_estimators_and_labels_are_refused(model: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scorer(**FAST)(model(), X, y)


def test_what_was_not_fitted_says_so() -> None:
    with pytest.raises(NotFittedError):
        scorer()(GaussianNB(), X, TWO)


def test_a_loss_of_ordered_classes_asks_for_their_order() -> None:
    y = np.array(["low", "middle", "high"])[CODES]
    model = of(y)
    with pytest.raises(ValueError, match="not words in alphabetical order"):
        scorer("risk", generator="rps", **FAST)(model, X, y)
    order = ["low", "middle", "high"]
    found = scorer("risk", generator="rps", labels=order, **FAST)(model, X, y)
    expected = decompose(CODES, model.predict_proba(X)[:, [1, 2, 0]], generator="rps", **FAST)
    assert found == pytest.approx(-expected.risk, rel=1e-12)
    with pytest.raises(ValueError, match=r"labels = .*each of the classes"):
        scorer("risk", labels=["low", "high"], **FAST)(model, X, y)
    # Of classes one by one there is no order.
    scorer("risk", generator="rps", notion="classwise", **FAST)(model, X, y)


def test_scorers_are_copied_and_sent() -> None:
    made = scorer(["risk", "sharpness"], generator="brier", notion="top-label", bandwidth=0.1, method="risk")
    again = pickle.loads(pickle.dumps(made))  # noqa: S301
    assert repr(again) == repr(made) == "scorer(['risk', 'sharpness'], generator='brier', notion='top-label', method=Risk(bandwidth=0.1))"
    assert again(of(TWO), X, TWO) == made(of(TWO), X, TWO)


def test_folds_that_are_too_small_have_no_score() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(UserWarning, match="20"):
        found = cross_val_score(GaussianNB(), x[:80], y[:80], scoring=scorer(), cv=8)
    assert np.isnan(found).all()


def test_other_users_of_scorers() -> None:
    from sklearn.inspection import permutation_importance
    from sklearn.linear_model import LogisticRegressionCV

    y = np.array(["no", "yes"])[TWO]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = LogisticRegressionCV(Cs=3, scoring=scorer("risk", **FAST), cv=3, max_iter=500).fit(X, y)
    assert math.isfinite(model.score(X, y))
    assert model.score(X, y, sample_weight=np.ones(len(y))) == pytest.approx(model.score(X, y))
    found = permutation_importance(LogisticRegression().fit(X, y), X, y, scoring=scorer("risk", **FAST), n_repeats=2)
    assert found.importances_mean.max() > 0


class OfLogits(GaussianNB):  # type: ignore[misc]
    """A classifier whose probabilities are none."""

    def predict_proba(self, X: Any) -> Any:
        return np.log(super().predict_proba(X) + 1e-9)


def test_logits_are_refused_with_advice_that_a_scorer_takes() -> None:
    with pytest.raises(ValueError, match=r"expected probabilities between 0 and 1; let it return scipy\.special\.softmax\(logits, axis=1\) if"):
        scorer("risk", generator="brier", **FAST)(OfLogits().fit(X, CODES), X, CODES)
