"""Scorers: a term of the decomposition as a number that is better if it is greater."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack

from propercal._data.inputs.settings import Known, check_confidence_level
from propercal._data.predictions.notions import Notion, as_notion
from propercal._data.words.advice import advises
from propercal._data.words.messages import bad_value, unknown_name
from propercal._methods.losses import Losses
from propercal._results.estimates import number
from propercal.decomposition import decompose
from propercal.generators.order import check_names_order
from propercal.generators.registry import GeneratorLike, as_generator, available
from propercal.methods import Debiased, MethodLike, Risk, Settings, as_method, with_settings
from propercal.sklearn.positions import check_in_one_order
from propercal.sklearn.responses import plain, respond, with_labels

if TYPE_CHECKING:
    from propercal.result import Decomposition

#: What may be passed beside X and y.
_METADATA = ("sample_weight", "groups")


class _Term(NamedTuple):
    """How a result is scored."""

    of: Callable[[Decomposition], Any]
    loss: bool = True
    """Whether less is better."""
    corrected: bool = False
    """Whether only a method that corrects its bias has it."""
    fitted: bool = True
    """Whether E[Y | g] has to be estimated for it."""


def _upper_limit(result: Decomposition) -> float:
    finite = math.isfinite(number(result.calibration_error))
    return result.interval("calibration_error")[1] if finite else math.inf


def _direction(part: str, result: Decomposition) -> float:
    # An infinite error has no parts; decompose has warned of it.
    finite = math.isfinite(number(result.calibration_error))
    return float(getattr(result.direction(), part)) if finite else math.nan


_TERMS: Mapping[str, _Term] = {
    "calibration_error": _Term(attrgetter("calibration_error")),
    "lower_bound": _Term(attrgetter("lower_bound"), corrected=True),
    "upper_limit": _Term(_upper_limit, corrected=True),
    "over_confidence": _Term(partial(_direction, "over_confidence"), corrected=True),
    "under_confidence": _Term(partial(_direction, "under_confidence"), corrected=True),
    "refinement": _Term(attrgetter("refinement")),
    "risk": _Term(attrgetter("risk"), fitted=False),
    "sharpness": _Term(attrgetter("sharpness"), loss=False),
    "skill_score": _Term(attrgetter("skill_score"), loss=False, fitted=False),
}

_NOTIONS = {"": "canonical", "classwise_": "classwise", "top_label_": "top-label"}
_USUAL = "log"


class Scorer:
    """What :func:`scorer` returns: a callable for ``scoring=``.

    Attributes
    ----------
    terms : tuple of str
        The terms that it scores.
    """

    def __init__(
        self, terms: tuple[str, ...], options: Mapping[str, Any], *, several: bool
    ) -> None:
        self.terms = terms
        self._options = dict(options)
        self._several = several
        self._requests: dict[str, Any] = dict.fromkeys(_METADATA)

    @advises("labels", "generator", "notion", "method", "sample_weight", "groups")
    def __call__(
        self,
        estimator: Any,
        X: Any,
        y_true: Any,
        *,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Any:
        """Score a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            Fitted, with ``predict_proba`` and ``classes_``.
        X : array-like
            What it predicts from.
        y_true : array-like of shape (n,)
            What occurred. A class that it was not fitted to has a probability of 0.
        sample_weight : array-like of shape (n,), optional
            Weights ≥ 0.
        groups : array-like of shape (n,), optional
            Which rows may depend on each other, as in :func:`propercal.decompose`.

        Returns
        -------
        float or dict
            The score; of a list of terms, the scores by name.

        Raises
        ------
        ValueError
            If it is no classifier of one output, or the rows cannot be decomposed: the debiased
            method needs 20 of them.
        """
        options = dict(self._options)
        name = type(estimator).__name__
        given = options.pop("labels")
        check_in_one_order(X=X, y_true=y_true, sample_weight=sample_weight, groups=groups)
        codes, found = with_labels(respond(estimator, X), y_true, name, given)
        loss, notion = as_generator(options["generator"]), as_notion(options["notion"])
        if notion.n_outcomes(len(found.classes)) > 2:
            check_names_order(found.classes, [loss], said=given is not None)
        fitted = groups is not None or any(_TERMS[each].fitted for each in self.terms)
        if not fitted and as_method(options["method"]).corrects_bias:
            # The same numbers, without the fits.
            options["method"] = Losses()
        result = decompose(
            codes,
            found.proba,
            labels=Known(range(len(found.classes))),
            sample_weight=plain("sample_weight", sample_weight),
            groups=plain("groups", groups),
            progress=False,
            **options,
        )
        scores = {each: self._score(each, result) for each in self.terms}
        if self._several:
            return {_scored_name(each): score for each, score in scores.items()}
        return scores[self.terms[0]]

    @staticmethod
    def _score(term: str, result: Decomposition) -> float:
        value = number(_TERMS[term].of(result))
        return -value if _TERMS[term].loss else value

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Ask for metadata: what ``cross_validate(..., params={...})`` passes on.

        Parameters
        ----------
        **requests
            ``sample_weight`` and ``groups``: True, False, None (an error where it is passed), or
            the name under which it is passed.

        Returns
        -------
        Scorer
            Itself.

        Raises
        ------
        RuntimeError
            If ``sklearn.set_config(enable_metadata_routing=True)`` was not called.
        ValueError
            If there is no such metadata.
        """
        from sklearn import get_config

        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                "This method is only available when metadata routing is enabled. You can enable it "
                "using sklearn.set_config(enable_metadata_routing=True)."
            )
        for each in requests:
            if each not in _METADATA:
                raise unknown_name("request", each, _METADATA)
        self._requests.update(requests)
        return self

    def get_metadata_routing(self) -> Any:
        """Return what metadata it asks for, as scikit-learn's routing wants to know."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=type(self).__name__)
        for name, alias in self._requests.items():
            request.score.add_request(param=name, alias=alias)
        return request

    def _accept_sample_weight(self) -> bool:
        """Tell scikit-learn without metadata routing that weights may be passed."""
        return True

    def __repr__(self) -> str:
        terms = list(self.terms) if self._several else self.terms[0]
        defaults = inspect.signature(scorer).parameters
        shown = [
            f"{name}={value!r}"
            for name, value in self._options.items()
            if value != defaults[name].default
        ]
        return f"scorer({', '.join([repr(terms), *shown])})"


@with_settings(Debiased, Risk)
def scorer(
    term: str | Sequence[str] = "calibration_error",
    *,
    generator: GeneratorLike = _USUAL,
    notion: str | Notion = "canonical",
    method: MethodLike = "debiased",
    confidence_level: float = 0.95,
    labels: Sequence[Any] | None = None,
    **settings: Unpack[Settings],
) -> Scorer:
    r"""Return a scorer of a term of the decomposition, for ``scoring=`` of scikit-learn.

    Parameters
    ----------
    term : str or sequence of str
        What is scored:

        - ``"calibration_error"``: its estimate, of which recalibration could take so much;
          ``"lower_bound"``: without the correction of its variance, so that noise hardly ever makes
          it too large; ``"upper_limit"``: the upper end of its interval;
        - ``"over_confidence"``, ``"under_confidence"``: parts of it, as
          :meth:`propercal.Decomposition.direction` has them;
        - ``"refinement"``: the loss that recalibration cannot remove; ``"risk"``: the loss itself;
        - ``"sharpness"``: the information of the predictions; ``"skill_score"``: 1 − risk /
          uncertainty.

        Of a list, one fit serves all terms, and scores come as a dictionary: names of losses begin
        with ``neg_``, as in :func:`get_scorer_names`.
    generator, notion, method
        As in :func:`propercal.decompose`; one of each.
    confidence_level : float
        That of "upper_limit".
    labels : sequence of length k, optional
        The order of the classes, for a loss that depends on it ("rps"). By default that of
        ``classes_``, which of words is the alphabet, and refused by such a loss.
    **settings
        Of a method that is named, as in :func:`propercal.decompose`.

    Returns
    -------
    Scorer
        ``scorer(estimator, X, y, sample_weight=None, groups=None)``. Greater is better: losses come
        with a minus sign.

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Notes
    -----
    Choose a model by "risk" or "refinement": a constant prediction has no calibration error. Folds
    need 20 rows or more, but for "risk" and "skill_score", for which nothing is fitted; where one
    is smaller, ``cross_validate`` warns and its score is NaN.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> brier = scorer("refinement", generator="brier")
    >>> found = cross_val_score(GaussianNB(), X, y, scoring=brier, cv=3)
    >>> bool((found < 0).all())
    True
    """
    several = isinstance(term, list | tuple)
    if not several and not isinstance(term, str):
        raise unknown_name("term", term, tuple(_TERMS))
    terms = (term,) if isinstance(term, str) else tuple(term)
    if not terms or len(set(terms)) < len(terms):
        raise bad_value("term", repr(term), "one term or more, each once", "name what to score")
    for each in terms:
        if each not in _TERMS:
            raise unknown_name("term", each, tuple(_TERMS))
    for argument, value in (("generator", generator), ("method", method)):
        if isinstance(value, list | tuple):
            raise bad_value(
                argument, f"a list of {len(value)}", f"one {argument}", "make a scorer of each"
            )
    as_generator(generator)
    as_notion(notion)
    chosen = as_method(method, **settings)
    for each in terms:
        if _TERMS[each].corrected and not chosen.corrects_bias:
            raise bad_value(
                "term",
                repr(each),
                f"one that method={chosen.name!r} estimates",
                'use method="debiased", or the term "calibration_error"',
            )
    options = {
        "generator": generator,
        "notion": notion,
        "method": chosen if settings else method,
        "confidence_level": check_confidence_level(confidence_level),
        "labels": None if labels is None else list(labels),
    }
    return Scorer(terms, options, several=several)


def get_scorer(name: str) -> Scorer:
    """Return the scorer of a name, a new one each time.

    Parameters
    ----------
    name : str
        One of :func:`get_scorer_names`.

    Returns
    -------
    Scorer
        As :func:`scorer` makes it.

    Raises
    ------
    ValueError
        If there is no such name.

    Examples
    --------
    >>> get_scorer("neg_top_label_calibration_error_brier")
    scorer('calibration_error', generator='brier', notion='top-label')
    """
    known = _names()
    if name not in known:
        raise unknown_name("name", name, tuple(known))
    term, notion, generator = known[name]
    return scorer(term, notion=notion, generator=generator)


def get_scorer_names() -> list[str]:
    """Return the names that :func:`get_scorer` takes.

    Returns
    -------
    list of str
        ``neg_``, of losses; ``classwise_`` or ``top_label_``, of these notions; the term; and the
        generator, but for the log loss.

    Examples
    --------
    >>> names = get_scorer_names()
    >>> names[:2], "sharpness_brier" in names
    (['neg_calibration_error', 'neg_calibration_error_brier'], True)
    """
    return list(_names())


def _scored_name(term: str, notion: str = "", generator: str = "") -> str:
    return f"{'neg_' if _TERMS[term].loss else ''}{notion}{term}{generator}"


def _names() -> dict[str, tuple[str, str, str]]:
    return {
        _scored_name(
            term, prefix, "" if generator == _USUAL else "_" + generator.replace("-", "_")
        ): (term, notion, generator)
        for term in _TERMS
        for prefix, notion in _NOTIONS.items()
        for generator in available()
    }
