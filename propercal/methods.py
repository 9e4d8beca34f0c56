"""Methods of estimation, as objects: what a user may set, and nothing that a method does not heed.

>>> from propercal.methods import Debiased, Risk
>>> Debiased(n_folds=10)
Debiased(n_folds=10)
>>> as_method("risk", bandwidth=0.02) == Risk(bandwidth=0.02)
True
"""

from __future__ import annotations

import copy
import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ClassVar, TypedDict, TypeVar, cast

import numpy as np

from propercal._data.inputs.settings import check_bandwidth, check_flag
from propercal._data.predictions.notions import Problems
from propercal._data.words.messages import bad_value, unknown_name
from propercal._kernels.algorithm import check_algorithm
from propercal._kernels.kernels import as_kernel, check_width
from propercal._methods.debiased import debiased_terms
from propercal._methods.method import Method, is_default
from propercal._methods.published import (
    OfMean,
    Smoothing,
    of_divergence,
    of_refinement,
    smoothed_terms,
)
from propercal._methods.recipe import Recipe, make_recipe
from propercal._methods.terms import Terms
from propercal.generators.base import BregmanGenerator

_Function = TypeVar("_Function", bound=Callable[..., Any])

__all__ = ["Debiased", "Direct", "Method", "Risk", "as_method"]


class Settings(TypedDict, total=False):
    """Settings of all methods, as keyword arguments beside the name of one."""

    kernel: str | None
    bandwidth: float | str
    recalibrator: object
    n_folds: int
    random_state: Any
    exclude_self: bool
    algorithm: str


@dataclass(frozen=True, kw_only=True, repr=False)
class Debiased(Method):
    """Cross-fitted recalibration, corrected for its bias: every term has an interval.

    Parameters
    ----------
    kernel : {"dirichlet"} or None
        What corrects the recalibrations; None to rely on them alone.
    bandwidth : float or "auto"
        Bandwidth γ of the kernel, 1e-9 to 1e9, in units of probability; "auto" is each fold's
        choice among five and no kernel correction.
    recalibrator : object or list of objects, optional
        Estimators of E[Y | g] in the style of scikit-learn, with ``fit(X, y)`` and
        ``predict_proba(X)`` for the probabilities X, in place of the built-in families.
    n_folds : int
        Folds of cross-fitting, 3 to 20.
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        How rows are dealt to folds. The default gives the same folds each time.
    algorithm : {"auto", "exact", "linear"}
        How the kernel is summed, see :func:`propercal.conditional_mean`.

    Raises
    ------
    ValueError
        If a setting cannot be used.

    Examples
    --------
    >>> Debiased(kernel=None, n_folds=10)
    Debiased(kernel=None, n_folds=10)
    """

    name: ClassVar[str] = "debiased"
    corrects_bias: ClassVar[bool] = True

    kernel: str | None = "dirichlet"
    bandwidth: float | str = "auto"
    recalibrator: object = None
    n_folds: int = 5
    random_state: Any = 0
    algorithm: str = "auto"

    def __post_init__(self) -> None:
        check_algorithm(self.algorithm)
        self._recipe()

    def terms(  # noqa: D102
        self, problems: Problems, generators: Sequence[BregmanGenerator]
    ) -> list[Terms]:
        return debiased_terms(problems, generators, self._recipe())

    def _recipe(self) -> Recipe:
        return make_recipe(
            self.kernel,
            _fixed(self.bandwidth),
            self.recalibrator,
            self.n_folds,
            self.random_state,
            self.algorithm,
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class _Published(Method):
    """Labels smoothed by a kernel of one bandwidth."""

    of_mean: ClassVar[OfMean]

    kernel: str = "dirichlet"
    bandwidth: float | str = "auto"
    exclude_self: bool = True
    algorithm: str = "auto"

    def __post_init__(self) -> None:
        kernel, bandwidth = as_kernel(self.kernel), _fixed(self.bandwidth)
        if bandwidth is not None:
            check_width(kernel, bandwidth)
        check_flag("exclude_self", self.exclude_self)
        check_algorithm(self.algorithm)

    def terms(self, problems: Problems, generators: Sequence[BregmanGenerator]) -> list[Terms]:
        smoothing = Smoothing(
            self.kernel, _fixed(self.bandwidth), self.exclude_self, self.algorithm
        )
        return smoothed_terms(
            problems,
            generators,
            smoothing,
            type(self).of_mean,
            measures_divergence=self.measures_divergence,
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Direct(_Published):
    """The published estimate mean D_F(r̂, g) of the calibration error, Eq. 7.

    Parameters
    ----------
    kernel, bandwidth, exclude_self, algorithm
        As in :class:`Risk`.

    Raises
    ------
    ValueError
        If a setting cannot be used.
    """

    name: ClassVar[str] = "direct"
    measures_divergence: ClassVar[bool] = True
    of_mean: ClassVar[OfMean] = staticmethod(of_divergence)


@dataclass(frozen=True, kw_only=True, repr=False)
class Risk(_Published):
    """The published estimate mean −F(r̂) of the refinement, Eq. 13, taken from the risk, Eq. 12.

    Parameters
    ----------
    kernel : {"dirichlet", "uniform-bins", "quantile-bins"}
        Which predictions count as near each other.
    bandwidth : float or "auto"
        Bandwidth γ, 1e-9 to 1e9, in units of probability (bins: 1 / their number); "auto" is
        :func:`propercal.select_bandwidth` by the risk criterion for each generator, 1/15 for bins.
    exclude_self : bool
        Leave the label at a point out of r̂ there. The usual binned estimates do not.
    algorithm : {"auto", "exact", "linear"}
        How the kernel is summed, see :func:`propercal.conditional_mean`.

    Raises
    ------
    ValueError
        If a setting cannot be used.
    """

    name: ClassVar[str] = "risk"
    of_mean: ClassVar[OfMean] = staticmethod(of_refinement)


MethodLike = str | Method
"""What :func:`as_method` takes."""

_METHODS: dict[str, type[Method]] = {each.name: each for each in (Debiased, Direct, Risk)}
#: Names of all methods, and of those that smooth the labels by a kernel of one bandwidth.
METHODS = tuple(_METHODS)
PUBLISHED_METHODS = tuple(name for name, each in _METHODS.items() if issubclass(each, _Published))
_DEFAULTS = {name: value for each in _METHODS.values() for name, value in each.defaults().items()}


class UnusedSettingError(TypeError, ValueError):
    """A setting that the method does not take.

    A keyword that nothing takes is a TypeError to Python; a setting that cannot be used is a
    ValueError to this package.
    """


def as_method(method: MethodLike = "debiased", **settings: Any) -> Method:
    """Return the method that a name, with settings, or an object stands for.

    Parameters
    ----------
    method : {"debiased", "direct", "risk"} or Method
        A name; or a method, returned as it is.
    **settings
        Settings of a method that is named. Those at the default of another method, which it does
        not take, are left out.

    Returns
    -------
    Method

    Raises
    ------
    ValueError
        If there is no such method, or a setting cannot be used; if the method does not take it,
        the error is a TypeError too.

    Examples
    --------
    >>> as_method("risk", bandwidth=0.02)
    Risk(bandwidth=0.02)
    >>> as_method("risk", n_folds=10)
    Traceback (most recent call last):
    propercal.methods.UnusedSettingError: n_folds = 10: expected a setting of method="risk" ...
    """
    if isinstance(method, Method):
        given = {name: value for name, value in settings.items() if not _at_default(name, value)}
        for name, value in given.items():
            raise UnusedSettingError(
                f"{name} = {value!r}: expected no settings beside method={method!r}, which has its "
                f"own; write {type(method).__name__}(..., {name}={value!r})."
            )
        return method
    if method not in _METHODS:
        raise unknown_name("method", method, METHODS)
    chosen = _METHODS[method]
    taken = {}
    for name, value in settings.items():
        if name in chosen.defaults():
            taken[name] = value
        elif not _at_default(name, value):
            raise _unused(name, value, chosen)
    return chosen(**taken)


def as_methods(method: object, settings: Mapping[str, Any]) -> tuple[list[Method], bool]:
    """Return the methods that an argument stands for, and whether it is a list of them."""
    several = isinstance(method, Sequence) and not isinstance(method, str)
    methods = [as_method(each, **settings) for each in (method if several else [method])]  # type: ignore[attr-defined]
    if not methods:
        raise bad_value("method", "[]", "one method or more", "name one, such as 'debiased'")
    return methods, several


def with_intervals(method: MethodLike, **settings: Any) -> Method:
    """Return the method if its terms have intervals, else raise."""
    chosen = as_method(method, **settings)
    if not chosen.corrects_bias:
        raise bad_value(
            "method",
            repr(method),
            "one whose terms have intervals",
            'use "debiased", or Debiased(...)',
        )
    return chosen


def same_draws(method: Method, number: int) -> list[Method]:
    """Return as many methods that draw the same numbers, if the method draws at all."""
    if "random_state" not in method.defaults():
        return [method] * number
    state = getattr(method, "random_state", None)
    state = np.random.default_rng() if state is None else state
    return [replace(method, random_state=copy.deepcopy(state)) for _ in range(number)]  # type: ignore[type-var]


def with_settings(*methods: type[Method]) -> Callable[[_Function], _Function]:
    """Let the signature of a function name the settings that it passes on, and their defaults."""

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        known = {name: value for each in methods for name, value in each.defaults().items()}
        named = [each for each in signature.parameters.values() if each.kind != each.VAR_KEYWORD]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
            for name, value in known.items()
        ]
        arguments = [each.name for each in named]

        @wraps(function)
        def wrapper(*given: Any, **options: Any) -> Any:
            for name in options.keys() - known.keys() - set(arguments):
                close = difflib.get_close_matches(name.lower(), arguments, n=1, cutoff=0.8)
                if close and close[0] not in options and close[0] not in arguments[: len(given)]:
                    raise UnusedSettingError(
                        f"{name}: expected an argument of {function.__name__}; did you mean "
                        f"{close[0]!r}?"
                    )
            return function(*given, **options)

        wrapper.__signature__ = signature.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
        return cast("_Function", wrapper)

    return decorate


def _fixed(bandwidth: float | str) -> float | None:
    """Return a bandwidth, or None where it is to be chosen."""
    if isinstance(bandwidth, str) and bandwidth == "auto":
        return None
    return check_bandwidth(bandwidth)


def _at_default(name: str, value: object) -> bool:
    return name in _DEFAULTS and is_default(value, _DEFAULTS[name])


def _unused(name: str, value: object, chosen: type[Method]) -> UnusedSettingError:
    """Build the error for a setting that a method does not take, with the nearest that it does."""
    known = chosen.defaults()
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        fix = f"did you mean {close[0]!r}?"
    else:
        others = [each.name for each in _METHODS.values() if name in each.defaults()]
        fix = "leave it out"
        if others:
            fix += f", or use method={' or '.join(map(repr, others))}"
        fix += "."
    names = ", ".join(map(repr, known))
    return UnusedSettingError(
        f'{name} = {value!r}: expected a setting of method="{chosen.name}", one of {names}; {fix}'
    )
