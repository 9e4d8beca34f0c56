"""A classifier whose probabilities another estimator recalibrates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    check_is_fitted,
    has_fit_parameter,
)

from propercal._data.dependence.sorted_labels import are_in_pieces, are_sorted
from propercal._data.inputs.settings import Known
from propercal._data.predictions.weights import weights_given
from propercal._data.words.advice import advises
from propercal._data.words.messages import bad_value, some_names, warn
from propercal.recalibration import TemperatureScaling
from propercal.recalibration.called import calling
from propercal.recalibration.estimator import Recalibrator
from propercal.recalibration.external import check_unnamed
from propercal.sklearn.positions import check_in_one_order
from propercal.sklearn.responses import as_response, classes_of, in_numpy
from propercal.sklearn.scores import names_of_scores, scores_of

Floats = NDArray[np.floating[Any]]

_ARGUMENT = "recalibrator"


class RecalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    r"""A classifier, and a map of its probabilities that was fitted to rows it had not seen.

    .. math:: \hat p(x) = r(g(x)), \qquad r \text{ fitted to } \{(g_{-f(h)}(x_h), y_h)\},

    with g the classifier fitted to all rows, and g₋f without those of fold f.

    :class:`sklearn.calibration.CalibratedClassifierCV` does this for its own three maps (sigmoid,
    isotonic, since 1.8 a temperature), and takes no other. This one takes any estimator that maps
    probabilities to probabilities: those of :mod:`propercal.recalibration`, or a classifier such as
    :class:`sklearn.linear_model.LogisticRegression`.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``, or ``decision_function`` where the recalibrator takes logits.
    recalibrator : estimator, optional
        With ``fit(X, y)`` and ``predict_proba(X)`` for probabilities X; by default
        :class:`propercal.recalibration.TemperatureScaling`. If it has ``from_logits=True``, X is
        what ``decision_function`` returns.
    cv : int, cross-validation generator, iterable or "prefit", optional
        How rows are dealt to folds, as in :func:`sklearn.model_selection.cross_validate`, by
        default into five. "prefit": the classifier is fitted already, and the rows of `fit` are
        those that the map is fitted to; they should be none that the classifier was fitted to.
    n_jobs : int, optional
        Classifiers that are fitted at once.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to all rows; the given one if it was fitted before.
    recalibrator_ : estimator
        Fitted to what was predicted for rows that took no part, and to class numbers.
    classes_ : numpy.ndarray of shape (k,)
        The classes.
    n_features_in_ : int
        That of the classifier, where it has it.
    feature_names_in_ : numpy.ndarray of str
        Those of the classifier, where it has them.

    Notes
    -----
    A class that the classifiers of some folds were not fitted to has a probability of 0 there, and
    no logit above −∞.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import log_loss
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> plain = GaussianNB().fit(X[::2], y[::2])
    >>> scaled = RecalibratedClassifier(GaussianNB()).fit(X[::2], y[::2])
    >>> before = log_loss(y[1::2], plain.predict_proba(X[1::2]))
    >>> after = log_loss(y[1::2], scaled.predict_proba(X[1::2]))
    >>> bool(after < before / 2)
    True
    """

    estimator_: Any
    recalibrator_: Any
    classes_: NDArray[Any]

    def __init__(
        self,
        estimator: Any,
        recalibrator: Any = None,
        *,
        cv: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.recalibrator = recalibrator
        self.cv = cv
        self.n_jobs = n_jobs

    @advises("sample_weight")
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fit the classifier, and the map of its probabilities.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Features.
        y : array-like of shape (n,)
            What occurred.
        sample_weight : array-like of shape (n,), optional
            Weights ≥ 0, for the classifier, if it takes them, and the map.
        **params
            Of ``fit`` of the classifier, and of ``split`` of the folds: `groups`, and with metadata
            routing whatever they ask for.

        Returns
        -------
        RecalibratedClassifier
            Itself.

        Raises
        ------
        ValueError
            If an argument cannot be used.
        """
        recalibrator = self._new_recalibrator()
        for argument, values in (("y", y), ("sample_weight", sample_weight)):
            if isinstance(values, np.ma.MaskedArray):
                # scikit-learn takes what is behind a mask for values.
                in_numpy(argument, values)
        check_in_one_order(X=X, y=y, sample_weight=sample_weight, groups=params.get("groups"))
        check_classification_targets(y)
        X, y = indexable(X, y)
        y = column_or_1d(y, warn=True)
        if sample_weight is not None:
            if not isinstance(sample_weight, Real | str | Mapping):
                sample_weight = in_numpy("sample_weight", sample_weight)
            if not isinstance(sample_weight, Real):
                sample_weight = weights_given(sample_weight, len(y), smallest=0)
            sample_weight = _check_sample_weight(sample_weight, X)
        if isinstance(self.cv, str):
            if params:
                raise bad_value(
                    ", ".join(params),
                    "passed to fit",
                    "nothing beside X, y and sample_weight, as neither is a classifier fitted nor "
                    "are there folds",
                    "leave it out",
                )
            scores, codes = self._of_fitted(X, y, recalibrator)
        else:
            of_fit, of_split = self._routed(sample_weight, params)
            self.classes_, codes = self._classes_in(y)
            scores, rows = self._out_of_fold(X, y, recalibrator, of_fit, of_split)
            codes = codes[rows]
            sample_weight = None if sample_weight is None else sample_weight[rows]
            self.estimator_ = clone(self.estimator).fit(X, y, **of_fit)
        if isinstance(recalibrator, Recalibrator):
            # Some classes may be absent from these rows, which is no doubt about their numbers.
            recalibrator.set_params(labels=Known(range(len(self.classes_))))
        weight = self._of_recalibrator(recalibrator, sample_weight)
        with calling(names_of_scores(self.estimator_, recalibrator)):
            self.recalibrator_ = recalibrator.fit(scores, codes, **weight)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _of_recalibrator(self, recalibrator: Any, sample_weight: Any) -> dict[str, Any]:
        """Return the weights if the recalibrator takes some; where neither does, raise."""
        if sample_weight is None or has_fit_parameter(recalibrator, "sample_weight"):
            return {} if sample_weight is None else {"sample_weight": sample_weight}
        name = type(recalibrator).__name__
        if self.cv == "prefit" or not has_fit_parameter(self.estimator, "sample_weight"):
            raise bad_value(
                _ARGUMENT,
                f"{name}, whose fit takes no sample_weight",
                "a recalibrator that takes weights, or a classifier that does",
                "pass no sample_weight, or a TemperatureScaling()",
            )
        warn(f"sample_weight goes to the classifier alone: {name} takes none.")
        return {}

    def _new_recalibrator(self) -> Any:
        given = TemperatureScaling() if self.recalibrator is None else self.recalibrator
        _check_instance("estimator", self.estimator, ("fit",), "LogisticRegression()")
        _check_instance(_ARGUMENT, given, ("fit", "predict_proba"), "TemperatureScaling()")
        check_unnamed(_ARGUMENT, given)
        # What is none of scikit-learn is copied.
        return clone(given, safe=False)

    def _of_fitted(self, X: Any, y: Any, recalibrator: Any) -> tuple[Floats, NDArray[Any]]:
        """Return what the fitted classifier predicts, and numbers of classes."""
        if self.cv != "prefit":
            raise bad_value("cv", repr(self.cv), "folds, or 'prefit'", "pass a number of folds")
        if hasattr(self.estimator, "__sklearn_tags__"):
            check_is_fitted(self.estimator)
        self.estimator_ = self.estimator
        classes = classes_of(self.estimator)
        self.classes_ = np.asarray(self.estimator.classes_)
        _check_classes("estimator", self.classes_)
        return scores_of(self.estimator, X, recalibrator, classes), _codes(y, classes)

    def _classes_in(self, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return classes, those of the labels or of what stays as it was fitted, and numbers."""
        if isinstance(self.estimator, FrozenEstimator):
            classes = np.asarray(self.estimator.classes_)
            return classes, _codes(y, classes_of(self.estimator))
        classes, codes = np.unique(y, return_inverse=True)
        _check_classes("y", classes)
        return classes, codes

    def _routed(
        self, sample_weight: Any, params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what the classifier's `fit` takes, and what the folds' `split` does."""
        from sklearn import get_config

        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            return dict(routed.estimator.fit), dict(routed.splitter.split)
        of_fit = dict(params)
        of_split = {"groups": of_fit.pop("groups")} if "groups" in of_fit else {}
        if sample_weight is not None:
            if has_fit_parameter(self.estimator, "sample_weight"):
                of_fit["sample_weight"] = sample_weight
            else:
                name = type(self.estimator).__name__
                warn(f"sample_weight goes to the recalibrator alone: {name} takes none.")
        return of_fit, of_split

    def _out_of_fold(
        self, X: Any, y: Any, recalibrator: Any, of_fit: dict[str, Any], of_split: dict[str, Any]
    ) -> tuple[Floats, NDArray[Any]]:
        """Return what is predicted for the rows of each fold without it, and their numbers."""
        folds = check_cv(self.cv, y, classifier=True)
        classes = self.classes_.tolist()

        def one(train: Any, test: Any) -> Floats:
            params = _check_method_params(X, params=of_fit, indices=train)
            fitted = clone(self.estimator)
            fitted.fit(_safe_indexing(X, train), _safe_indexing(y, train), **params)
            return scores_of(fitted, _safe_indexing(X, test), recalibrator, classes)

        # Folds may be drawn anew each time.
        pairs = list(folds.split(X, y, **of_split))
        _doubt_folds(y, [np.arange(len(y))[test] for _, test in pairs], self.cv)
        found = Parallel(n_jobs=self.n_jobs)(delayed(one)(*each) for each in pairs)
        rows = [np.arange(len(y))[test] for _, test in pairs]
        return np.concatenate(found), np.concatenate(rows)

    def predict_proba(self, X: Any) -> Floats:
        """Return recalibrated probabilities.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Features.

        Returns
        -------
        numpy.ndarray of shape (n, k)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        k = len(self.classes_)
        scores = scores_of(self.estimator_, X, self.recalibrator_, self.classes_.tolist())
        with calling(names_of_scores(self.estimator_, self.recalibrator_)):
            returned = self.recalibrator_.predict_proba(scores)
        columns = getattr(self.recalibrator_, "classes_", np.arange(k))
        # A table of predictions says by names which column is which.
        name = type(self.recalibrator_).__name__
        found = as_response(name, returned, np.asarray(columns).tolist()).proba
        proba = np.zeros((len(found), k), dtype=found.dtype)
        proba[:, np.asarray(columns, dtype=np.int64)] = found
        return proba

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class after recalibration.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Features.

        Returns
        -------
        numpy.ndarray of shape (n,)
            The first of equally probable ones.
        """
        found = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[found])

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where metadata go, as scikit-learn's routing wants to know."""
        return (
            MetadataRouter(owner=type(self).__name__)
            .add_self_request(self)
            .add(
                estimator=self.estimator,
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
            .add(
                splitter=self.cv,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_estimator = get_tags(self.estimator)
        tags.input_tags.sparse = of_estimator.input_tags.sparse
        tags.input_tags.allow_nan = of_estimator.input_tags.allow_nan
        return tags


def _doubt_folds(y: Any, folds: list[NDArray[Any]], cv: Any) -> None:
    """Warn where folds of rows that follow each other are folds of classes."""
    if len(folds) > 1 and are_in_pieces(folds) and are_sorted(np.unique(y, return_inverse=True)[1]):
        warn(
            f"y is sorted by class, and cv = {cv!r} makes folds of rows that follow each other: "
            "classifiers are fitted to other shares of the classes than they predict for. Pass a "
            "number of folds, which have all classes, or folds that are shuffled."
        )


def _codes(y: Any, classes: list[Any]) -> NDArray[Any]:
    """Return the numbers of labels among the classes of a fitted classifier, or raise."""
    unknown = [each for each in np.unique(y).tolist() if each not in classes]
    if unknown:
        raise bad_value(
            "y",
            f"labels {some_names(unknown)}",
            f"the classes of the fitted classifier, {some_names(classes)}",
            "leave out their rows, or fit the classifier to them too",
        )
    number = {each: i for i, each in enumerate(classes)}
    return np.array([number[each] for each in y.tolist()])


def _check_instance(argument: str, given: Any, methods: Sequence[str], example: str) -> None:
    if isinstance(given, type) or not all(callable(getattr(given, each, None)) for each in methods):
        raise bad_value(
            argument,
            repr(given),
            f"an estimator with {' and '.join(methods)}",
            f"pass an instance, such as {example}",
        )


def _check_classes(argument: str, classes: NDArray[Any]) -> None:
    if len(classes) < 2:
        found = ("no class", "one class")[len(classes)]
        fix = "collect rows of another class"
        raise bad_value(argument, f"labels of {found}", "two classes or more", fix)
