"""What scikit-learn asks of estimators, by its own checks: recalibrators, and classifiers with one."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")

import sklearn
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted

from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling
from propercal.sklearn import RecalibratedClassifier
from theory_tests.instances import Weightless

BOTH = [TemperatureScaling, ClasswiseIsotonic]


def checks(*estimators: Any) -> Any:
    with warnings.catch_warnings():
        # Probabilities are no features, so that most checks are left out, with a warning.
        warnings.filterwarnings("ignore", "Can't test estimator", SkipTestWarning)
        mark = estimator_checks.parametrize_with_checks(list(estimators)).mark
        # Before 1.9 they come from a generator, which pytest 9 warns of.
        return pytest.mark.parametrize(mark.args[0], list(mark.args[1]), **mark.kwargs)


@checks(*(kind() for kind in BOTH), TemperatureScaling(from_logits=True))  # type: ignore[untyped-decorator]
def test_recalibrators_pass_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


#: Checks that bring no features along.
WITHOUT_FEATURES = [
    "check_estimator_tags_renamed", "check_valid_tag_types", "check_estimator_repr", "check_no_attributes_set_in_init",
    "check_mixin_order", "check_do_not_raise_errors_in_init_or_set_params",
    "check_parameters_default_constructible", "check_get_params_invariance", "check_set_params", "check_estimators_unfitted",
]  # fmt: skip


@pytest.mark.parametrize("name", WITHOUT_FEATURES)
@pytest.mark.parametrize("made", [TemperatureScaling(from_logits=True), ClasswiseIsotonic(from_logits=True, smoothed=True)], ids=repr)
def test_checks_that_tags_leave_out_pass_where_they_apply(made: Any, name: str) -> None:
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"scikit-learn {sklearn.__version__} has no {name}")
    check(type(made).__name__, made)


# Of the data that some checks make, one temperature is as good as another.
@pytest.mark.filterwarnings("ignore:y (has the most probable class|is predicted no better)", "ignore:invalid value encountered in cast:RuntimeWarning")
@checks(RecalibratedClassifier(LogisticRegression()))  # type: ignore[untyped-decorator]
def test_a_recalibrated_classifier_passes_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("kind", BOTH)
def test_recalibrators_are_classifiers_of_probabilities(kind: Any) -> None:
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    y = np.array(["a", "b", "c"])[X.argmax(axis=1)]
    y[:3] = ["a", "b", "c"]
    assert is_classifier(kind())
    with pytest.raises(NotFittedError, match="not fitted yet"):
        kind().predict(X)
    with pytest.raises(NotFittedError):
        check_is_fitted(kind())
    fitted = kind().fit(X, y)
    check_is_fitted(fitted)
    assert fitted.n_features_in_ == 3
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.predict(X).tolist() == fitted.classes_[fitted.predict_proba(X).argmax(axis=1)].tolist()
    fitted.fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    fitted.fit(np.stack([1 - X[:, 0], X[:, 0]], axis=1), y == "a")
    assert (fitted.n_features_in_, hasattr(fitted, "feature_names_in_")) == (2, False)
    assert kind().fit(X[:, 0], y == "a").n_features_in_ == 1
    assert "predict" in dir(clone(fitted))


X, Y = load_breast_cancer(return_X_y=True)
TRAIN, TEST = slice(0, None, 2), slice(1, None, 2)


def test_recalibration_by_folds_is_that_of_a_loop() -> None:
    folds = GroupKFold(3)
    groups = np.arange(len(Y[TRAIN])) % 7
    found = RecalibratedClassifier(GaussianNB(), cv=folds).fit(X[TRAIN], Y[TRAIN], groups=groups)
    proba = np.zeros((len(groups), 2))
    for train, test in folds.split(X[TRAIN], Y[TRAIN], groups):
        proba[test] = GaussianNB().fit(X[TRAIN][train], Y[TRAIN][train]).predict_proba(X[TRAIN][test])
    scaling = TemperatureScaling().fit(proba, Y[TRAIN])
    assert found.recalibrator_.temperature_ == pytest.approx(scaling.temperature_, rel=1e-9)
    expected = scaling.predict_proba(GaussianNB().fit(X[TRAIN], Y[TRAIN]).predict_proba(X[TEST]))
    np.testing.assert_allclose(found.predict_proba(X[TEST]), expected, rtol=1e-9)
    assert found.n_features_in_ == X.shape[1]


def test_a_fitted_classifier_is_recalibrated_on_the_rows_of_fit() -> None:
    model = GaussianNB().fit(X[TRAIN], Y[TRAIN])
    scaling = TemperatureScaling().fit(model.predict_proba(X[TEST]), Y[TEST])
    for made in (RecalibratedClassifier(model, cv="prefit"), RecalibratedClassifier(FrozenEstimator(model))):
        found = made.fit(X[TEST], Y[TEST])
        assert found.recalibrator_.temperature_ == pytest.approx(scaling.temperature_, rel=1e-9)
    with pytest.raises(ValueError, match=r"y = labels \[7\]: expected the classes of the fitted"):
        RecalibratedClassifier(model, cv="prefit").fit(X[TEST], np.where(Y[TEST], 7, 0))
    # A class that these rows lack is no doubt about the numbers of the others.
    three = GaussianNB().fit(X[:, :2], np.arange(len(Y)) % 3)
    some = np.arange(len(Y)) % 3 > 0
    found = RecalibratedClassifier(three, cv="prefit").fit(X[some, :2], (np.arange(len(Y)) % 3)[some])
    assert found.predict_proba(X[:, :2]).shape == (len(Y), 3)
    one = GaussianNB().fit(X, np.ones(len(Y)))
    with pytest.raises(ValueError, match="estimator = labels of one class"):
        RecalibratedClassifier(one, cv="prefit").fit(X, np.ones(len(Y)))
    with pytest.raises(NotFittedError):
        RecalibratedClassifier(GaussianNB(), cv="prefit").fit(X, Y)
    with pytest.raises(ValueError, match="groups = passed to fit: expected nothing beside X, y and sample_weight"):
        RecalibratedClassifier(model, cv="prefit").fit(X, Y, groups=Y)
    with pytest.raises(ValueError, match=r"cv = 'prefitted'"):
        RecalibratedClassifier(model, cv="prefitted").fit(X, Y)


def test_logits_are_those_of_the_decision_function() -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
    by_logits = RecalibratedClassifier(model, TemperatureScaling(from_logits=True)).fit(X, Y)
    by_probabilities = RecalibratedClassifier(model).fit(X, Y)
    assert by_logits.recalibrator_.temperature_ == pytest.approx(by_probabilities.recalibrator_.temperature_, rel=1e-9)
    svc = RecalibratedClassifier(make_pipeline(StandardScaler(), LinearSVC()), TemperatureScaling(from_logits=True)).fit(X[TRAIN], Y[TRAIN])
    assert log_loss(Y[TEST], svc.predict_proba(X[TEST])) < 0.2
    with pytest.raises(ValueError, match="LinearSVC without predict_proba"):
        RecalibratedClassifier(LinearSVC()).fit(X, Y)
    with pytest.raises(ValueError, match="GaussianNB without decision_function"):
        RecalibratedClassifier(GaussianNB(), TemperatureScaling(from_logits=True)).fit(X, Y)


@pytest.mark.parametrize("names", [["b", "a", "c"], [3, 1, 2], [True, False]], ids=repr)
def test_any_recalibrator_and_any_names_of_classes(names: list[Any]) -> None:
    x, codes = make_classification(300, n_classes=len(names), n_informative=4, random_state=0)
    y = np.array(names)[codes]
    for recalibrator in (ClasswiseIsotonic(smoothed=True), LogisticRegression()):
        found = RecalibratedClassifier(GaussianNB(), recalibrator, cv=3).fit(x, y)
        assert found.classes_.tolist() == sorted(names)
        proba = found.predict_proba(x)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        assert (found.predict(x) == y).mean() > 0.6
        assert found.score(x, y) == (found.predict(x) == y).mean()


def test_a_class_that_a_fold_lacks_has_no_probability_there() -> None:
    x, y = load_digits(return_X_y=True)
    kept = y < 3
    x, y = x[kept], y[kept]
    # The first fold has all rows of class 2.
    folds = [(np.flatnonzero(y != 2), np.flatnonzero(y == 2)), (np.flatnonzero(y == 2)[:9].tolist() + list(range(60)), list(range(60, 300)))]
    with pytest.warns(UserWarning, match="infinite at any temperature"):
        found = RecalibratedClassifier(GaussianNB(var_smoothing=1e-3), cv=folds).fit(x, y)
    assert 0 < found.recalibrator_.temperature_ < np.inf


def test_settings_of_the_recalibrator_are_searched() -> None:
    search = GridSearchCV(
        RecalibratedClassifier(GaussianNB(), ClasswiseIsotonic()),
        {"recalibrator__smoothed": [True, False], "recalibrator": [ClasswiseIsotonic()]},
        scoring="neg_brier_score", cv=2,
    ).fit(X, Y)
    assert search.best_estimator_.recalibrator_.smoothed in (True, False)
    assert "RecalibratedClassifier" in search.best_estimator_._repr_html_()
    for bad in (TemperatureScaling, 3, StandardScaler()):
        with pytest.raises(ValueError, match=r"recalibrator = .*: expected an estimator with"):
            RecalibratedClassifier(GaussianNB(), bad).fit(X, Y)
    for bad in (GaussianNB, None):
        with pytest.raises(ValueError, match=r"estimator = .*: expected an estimator with fit"):
            RecalibratedClassifier(bad).fit(X, Y)
    with pytest.raises(ValueError, match="recalibrator = TemperatureScaling with labels"):
        RecalibratedClassifier(GaussianNB(), TemperatureScaling(labels=[1, 0])).fit(X, Y)


def test_weights_count_rows() -> None:
    plain = RecalibratedClassifier(GaussianNB()).fit(X, Y)
    weighted = RecalibratedClassifier(GaussianNB()).fit(X, Y, sample_weight=np.ones(len(Y)))
    np.testing.assert_allclose(plain.predict_proba(X), weighted.predict_proba(X), rtol=1e-9)
    model = GaussianNB().fit(X[TRAIN], Y[TRAIN])
    weight = np.random.default_rng(0).integers(0, 3, len(Y[TEST]))
    once = RecalibratedClassifier(model, cv="prefit").fit(X[TEST], Y[TEST], sample_weight=weight)
    several = RecalibratedClassifier(model, cv="prefit").fit(np.repeat(X[TEST], weight, axis=0), np.repeat(Y[TEST], weight))
    assert once.recalibrator_.temperature_ == pytest.approx(several.recalibrator_.temperature_, rel=1e-9)


def test_metadata_are_routed() -> None:
    groups = np.arange(len(Y)) % 5
    with sklearn.config_context(enable_metadata_routing=True):
        made = RecalibratedClassifier(GaussianNB().set_fit_request(sample_weight=True), cv=GroupKFold(3))
        found = made.fit(X, Y, sample_weight=np.ones(len(Y)), groups=groups)
    plain = RecalibratedClassifier(GaussianNB(), cv=GroupKFold(3)).fit(X, Y, groups=groups)
    np.testing.assert_allclose(found.predict_proba(X), plain.predict_proba(X), rtol=1e-9)


def test_recalibrators_stack_and_calibrated_classifiers_agree() -> None:
    """Temperatures of scikit-learn 1.8 are ours, but for its 1e-12 added to probabilities."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    stacked = StackingClassifier([("model", model)], TemperatureScaling(), cv=5, stack_method="predict_proba").fit(X, Y)
    found = RecalibratedClassifier(model, cv=5).fit(X, Y)
    np.testing.assert_allclose(stacked.predict_proba(X), found.predict_proba(X), rtol=1e-6)
    assert cross_val_score(stacked, X, Y, cv=2).mean() > 0.9
    if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8):
        theirs = CalibratedClassifierCV(model, method="temperature", ensemble=False, cv=5).fit(X, Y)
        # Their logits of two classes are (−x, x), twice the log-odds.
        assert 2 * float(theirs.calibrated_classifiers_[0].calibrators[0].beta_) == pytest.approx(1 / found.recalibrator_.temperature_, rel=1e-3)


@pytest.mark.parametrize("kind", BOTH)
def test_scikit_learn_is_refused_two_classes_that_are_not_sorted(kind: Any) -> None:
    """Its scorers score 1 − p, and its calibration ends in an index, of columns that stand so."""
    pd = pytest.importorskip("pandas", reason="needs pandas")
    rng = np.random.default_rng(4)
    p = rng.random(200)
    y = (rng.random(200) < p**1.7).astype(int)
    X = pd.DataFrame({"1": p, "0": 1 - p})
    right = roc_auc_score(y, p)
    refused = rf"estimator = {kind.__name__}, fitted to columns of the classes \[1, 0\]: .*sorted order, \[0, 1\]"
    with pytest.warns(UserWarning, match="sorted order"):
        fitted = kind().fit(X, y)
    with pytest.raises(ValueError, match=refused):
        get_scorer("roc_auc")(fitted, X, y)
    with pytest.raises(ValueError, match=refused), pytest.warns(UserWarning, match="sorted order"):
        CalibratedClassifierCV(kind(), cv=2).fit(X, y)
    # As advised.
    given = X[["0", "1"]]
    assert get_scorer("roc_auc")(kind().fit(given, y), given, y) == pytest.approx(right, abs=0.03)
    CalibratedClassifierCV(kind(), cv=2).fit(given, y)


@pytest.mark.filterwarnings("ignore:sample_weight goes to the recalibrator alone")
def test_weights_go_to_whichever_takes_some() -> None:
    X, y = make_classification(200, random_state=0)
    weight = 1.0 + (np.arange(200) % 5)
    for recalibrator, name in ((Weightless(), "Weightless"), (KNeighborsClassifier(), "KNeighborsClassifier")):
        with pytest.warns(UserWarning, match=f"sample_weight goes to the classifier alone: {name} takes none"):
            found = RecalibratedClassifier(GaussianNB(), recalibrator, cv=2).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(found.estimator_.class_prior_, GaussianNB().fit(X, y, weight).class_prior_)
        assert not hasattr(recalibrator, "fitted")
        for classifier, cv in ((KNeighborsClassifier(), 2), (GaussianNB().fit(X, y), "prefit")):
            with pytest.raises(ValueError, match=f"recalibrator = {name}, whose fit takes no sample_weight"):
                RecalibratedClassifier(classifier, recalibrator, cv=cv).fit(X, y, sample_weight=weight)


def test_decisions_of_pairs_of_classes_are_no_logits() -> None:
    """Of three classes there are three pairs of them: decisions are those of an SVC with "ovo"."""
    x, y = load_wine(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))
    train, test = np.split(rows, 2)

    def fitted(kind: Any, shape: str) -> RecalibratedClassifier:
        return RecalibratedClassifier(kind(make_pipeline(StandardScaler(), SVC(decision_function_shape=shape))), TemperatureScaling(from_logits=True), cv=3).fit(x[train], y[train])

    def searched(model: Any) -> Any:
        return GridSearchCV(model, {"svc__C": [1.0]}, cv=2)

    for kind in (lambda model: model, searched):
        with pytest.raises(ValueError, match=r"whose decision_function gave 3 columns, of pairs of classes: expected one for each of 3 classes; let its decision_function_shape be 'ovr'"):
            fitted(kind, "ovo")
        assert fitted(kind, "ovr").score(x[test], y[test]) > 0.9
    frozen = make_pipeline(StandardScaler(), FrozenEstimator(SVC(decision_function_shape="ovo").fit(x, y)))
    with pytest.raises(ValueError, match="of pairs of classes"):
        RecalibratedClassifier(frozen, TemperatureScaling(from_logits=True)).fit(x, y)


def test_labels_that_a_frozen_classifier_knows() -> None:
    """As cv="prefit" reads them: y may be without some of its classes, and has no others."""
    x, codes = make_classification(300, n_informative=4, n_classes=3, random_state=0)
    model = LogisticRegression().fit(x[:150], codes[:150])
    rest, y = x[150:][codes[150:] < 2], codes[150:][codes[150:] < 2]
    frozen, prefit = (RecalibratedClassifier(each, cv=cv).fit(rest, y) for each, cv in ((FrozenEstimator(model), 3), (model, "prefit")))
    assert frozen.classes_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(frozen.predict_proba(rest), prefit.predict_proba(rest), rtol=1e-6)
    for labels, said in ((y + 2, r"\[3\]"), (np.array(["a", "b"])[y], r"\['a', 'b'\]")):
        with pytest.raises(ValueError, match=rf"^y = labels {said}: expected the classes of the fitted classifier, \[0, 1, 2\]"):
            RecalibratedClassifier(FrozenEstimator(model)).fit(rest, labels)
    with pytest.raises(ValueError, match=r"^estimator = Pipeline of the classes \[0, 1, 2\]: expected those of y, \[0, 1\]; .*let cv be 'prefit'"):
        RecalibratedClassifier(make_pipeline(FrozenEstimator(model))).fit(rest, y)


def test_weights_of_a_recalibrated_classifier_are_read_as_elsewhere() -> None:
    x, y = make_classification(200, random_state=0)
    weight = np.where(y == 1, 5.0, 1.0)
    model = RecalibratedClassifier(LogisticRegression(), cv=3)
    right = model.fit(x, y, sample_weight=weight).recalibrator_.temperature_
    assert model.fit(x, y, sample_weight=weight[:, None]).recalibrator_.temperature_ == right
    for wrong in ({0: 1.0, 1: 5.0}, "balanced", weight.astype(str), np.where(y == 1, np.nan, 1.0)):
        with pytest.raises(ValueError, match=r"^sample_weight = .*: expected"):
            model.fit(x, y, sample_weight=wrong)
