"""Information in finite populations, exactly: f-divergences of several distributions.

A population is a joint table of shape (m, k): the probabilities of m values of a prediction (or of
any other variable) together with k classes. Nothing here is estimated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from propercal._array import namespace, scalar, to_numpy
from propercal._data.rows.coordinates import axis_names
from propercal._data.words.messages import bad_value
from propercal._typing import Array
from propercal.generators import BregmanGenerator, as_generator
from propercal.generators.registry import GeneratorLike
from propercal.information.tables import (
    check_classes,
    check_joint,
    check_same_names,
    check_same_order,
    check_sums,
    joint_table,
    read_tables,
)


def f_divergence(f: Callable[[Array], Array], distributions: object, reference: object) -> Any:
    r"""f-divergence of several distributions from a reference, on a finite space.

    .. math::

        I_f(P_1, \dots, P_k \,\|\, Q) = \sum_z Q(z)\, f\!\left(
            \frac{P_1(z)}{Q(z)}, \dots, \frac{P_k(z)}{Q(z)} \right)

    Parameters
    ----------
    f : callable
        Convex on [0, ∞)^k with f(1, ..., 1) = 0, from arrays of shape (m, k) to (m,), each row by
        itself. It is given double precision, in the library of `distributions`. That it is convex
        is not checked.
    distributions : array-like of shape (k, m)
        P_1, ..., P_k, one a row; a single one, k = 1, gives the usual f-divergence.
    reference : array-like of shape (m,)
        The distribution Q.

    Returns
    -------
    float or scalar tensor
        Not negative, but for rounding; +inf where f is. A tensor for torch, with its gradient.

    Raises
    ------
    ValueError
        If an argument is not a set of distributions, if f(1, ..., 1) is not 0, or if one of the
        P_i is positive where Q is 0: dP_i/dQ does not exist then. Values where Q and all of the
        P_i are 0 count nothing.

    References
    ----------
    García-García & Williamson (2012), "Divergences and risks for multiclass experiments";
    Duchi, Khosravi & Ruan (2018), doi:10.1214/17-AOS1657.

    Examples
    --------
    The divergence of Kullback and Leibler, and the total variation:

    >>> import numpy as np
    >>> p, q = np.array([[0.5, 0.5, 0.0]]), np.array([0.25, 0.25, 0.5])
    >>> round(f_divergence(lambda x: np.sum(x * np.log(np.maximum(x, 1e-300)), -1), p, q), 6)
    0.693147
    >>> f_divergence(lambda x: np.sum(np.abs(x - 1), -1) / 2, p, q)
    0.5
    """
    (p, q), dtype = read_tables(("distributions", distributions, 2), ("reference", reference, 1))
    xp = namespace(p)
    if p.shape[1] != q.shape[0]:
        raise bad_value(
            "reference",
            f"an array of {q.shape[0]} values",
            f"{p.shape[1]}, as many as distributions has columns",
            "list the probability of every value in both",
        )
    of_classes = getattr(f, "of_classes", None)
    check_same_names(("prior", of_classes), ("distributions", axis_names(distributions, 0)))
    check_same_order(("distributions", distributions, -1), ("reference", reference, 0))
    check_sums("distributions", xp.sum(p, axis=1), dtype, "every row must sum to 1")
    check_sums("reference", xp.sum(q), dtype, "divide it by its sum")
    at_ones = float(to_numpy(_evaluate(f, xp.ones_like(p.T[:1, :])))[0])
    if not abs(at_ones) <= 1e-9:
        raise bad_value(
            "f",
            f"a function with f(1, ..., 1) = {at_ones:.6g}",
            "f(1, ..., 1) = 0, or equal distributions would diverge",
            "subtract that constant",
        )
    return scalar(_f_divergence(f, p, q), dtype)


def sharpness_function(generator: GeneratorLike, prior: object) -> Callable[[Array], Array]:
    r"""Return F^Y, the convex function whose f-divergence is the sharpness.

    .. math:: F^Y(x) = F(π_1 x_1, \dots, π_k x_k) - F(π_1, \dots, π_k)

    Parameters
    ----------
    generator : str, BregmanGenerator, class or callable
        The convex function F.
    prior : array-like of shape (k,)
        π, the probabilities of the classes.

    Returns
    -------
    callable
        From arrays of shape (..., k), of the library of `prior`, to (...). Convex where
        Σ π_y x_y = 1, where F is on the simplex; it is 0 at (1, ..., 1). It keeps the names of
        the classes that `prior` has, for :func:`f_divergence` to compare with those of its rows.

    Raises
    ------
    ValueError
        If an argument cannot be used, or F is infinite at the prior.

    References
    ----------
    Popordanoska et al. (2024), section 5.2, "Sharpness as f-divergence".

    Examples
    --------
    >>> import numpy as np
    >>> function = sharpness_function("brier", np.array([0.5, 0.5]))
    >>> print(function(np.array([[1.0, 1.0], [2.0, 0.0]])))
    [0.  0.5]
    """
    (pi,), dtype = read_tables(("prior", prior, 1))
    check_sums("prior", namespace(pi).sum(pi), dtype, "divide it by its sum")
    chosen = as_generator(generator)
    check_classes(prior, 0, chosen)
    return replace(_sharpness_function(chosen, pi), of_classes=axis_names(prior, 0))


def sharpness_divergence(generator: GeneratorLike, joint: object) -> Any:
    r"""Sharpness of predictions as the divergence of their distributions in the k classes.

    .. math::

        \mathrm{SHARP}_F(g) &= E\, D_F(E[Y \mid g(X)], E\,Y) \\
        &= I_{F^Y}(P_1, \dots, P_k \,\|\, P)

    with P_y the distribution of the prediction g(X) given class y, P its marginal, and F^Y the
    function of :func:`sharpness_function`.

    Parameters
    ----------
    generator : str, BregmanGenerator, class or callable
        The convex function F.
    joint : array-like of shape (m, k)
        The probability of each of m different predictions together with each class; the sum is 1.

    Returns
    -------
    float or scalar tensor
        In nats for "log", where it is the mutual information. Not negative, but for rounding.
        A tensor for torch, with its gradient.

    Raises
    ------
    ValueError
        If the table is not a distribution, or F is infinite at the probabilities of the classes.

    References
    ----------
    Popordanoska et al. (2024), "Consistent and asymptotically unbiased estimation of proper
    calibration errors", section 5.2, "Sharpness as f-divergence".

    Examples
    --------
    >>> round(sharpness_divergence("brier", [[0.4, 0.1], [0.1, 0.4]]), 6)
    0.18
    """
    table, dtype = joint_table(joint)
    chosen = as_generator(generator)
    check_classes(joint, -1, chosen)
    xp = namespace(table)
    marginal, prior = xp.sum(table, axis=1), xp.sum(table, axis=0)
    # A class that does not occur has no distribution; F^Y gives it no weight, so any will do.
    occurs = prior > 0
    given_class = xp.where(occurs, table / xp.where(occurs, prior, 1.0), marginal[:, None])
    function = _sharpness_function(chosen, prior)
    return scalar(_f_divergence(function, given_class.T, marginal), dtype)


def statistical_information(generator: GeneratorLike, joint: object) -> Any:
    r"""Return what knowing X saves of the risk of the best prediction of Y.

    .. math:: \mathrm{SI}_F(X; Y) = E\,F(E[Y \mid X]) - F(E\,Y)

    No prediction that is computed from X, by any number of layers, is sharper than this.

    Parameters
    ----------
    generator : str, BregmanGenerator, class or callable
        The convex function F.
    joint : array-like of shape (m, k)
        The probability of each of m values of X together with each class; the sum is 1.

    Returns
    -------
    float or scalar tensor
        In nats for "log", where it is the mutual information. Not negative, but for rounding.
        A tensor for torch, with its gradient.

    Raises
    ------
    ValueError
        If the table is not a distribution, or F is infinite at the probabilities of the classes.

    References
    ----------
    DeGroot (1962), doi:10.1214/aoms/1177704567; Popordanoska et al. (2024), appendix B.2.

    Examples
    --------
    >>> round(statistical_information("brier", [[0.5, 0.0], [0.0, 0.5]]), 6)
    0.5
    """
    table, dtype = joint_table(joint)
    chosen = as_generator(generator)
    check_classes(joint, -1, chosen)
    xp = namespace(table)
    marginal, prior = xp.sum(table, axis=1), xp.sum(table, axis=0)
    at_prior = _finite_value(chosen, prior)
    # A value that does not occur counts nothing, whatever is predicted there.
    occurs = (marginal > 0)[:, None]
    conditional = xp.where(occurs, table / xp.where(occurs, marginal[:, None], 1.0), prior)
    return scalar(xp.sum(marginal * (chosen.value(conditional) - at_prior)), dtype)


def apply_markov_map(joint: object, kernel: object) -> Array:
    r"""Process a variable: the joint table of Z' and Y, where Z' is drawn from M(z, ·) given Z = z.

    .. math:: P(Z' = z', Y = y) = \sum_z M(z, z')\, P(Z = z, Y = y)

    A function of Z, such as a layer of a network, is a kernel of zeros and ones.

    Parameters
    ----------
    joint : array-like of shape (m, k)
        The probability of each value of Z together with each class; the sum is 1.
    kernel : array-like of shape (m, m')
        M, one distribution over the values of Z' a row.

    Returns
    -------
    array of shape (m', k)
        In the library, dtype and device of `joint`.

    Raises
    ------
    ValueError
        If an argument is not made of distributions, or their sizes differ.

    Examples
    --------
    Values 1 and 2 are merged:

    >>> import numpy as np
    >>> joint = np.array([[0.25, 0.0], [0.25, 0.125], [0.125, 0.25]])
    >>> apply_markov_map(joint, [[1, 0], [0, 1], [0, 1]])
    array([[0.25 , 0.   ],
           [0.375, 0.375]])
    """
    (table, m), dtype = read_tables(("joint", joint, 2), ("kernel", kernel, 2))
    xp = namespace(table)
    check_joint(joint, table, dtype)
    if m.shape[0] != table.shape[0]:
        raise bad_value(
            "kernel",
            f"an array of {m.shape[0]} rows",
            f"{table.shape[0]}, one per row of joint",
            "give the distribution of Z' at every value of Z",
        )
    check_same_order(("joint", joint, 0), ("kernel", kernel, 0))
    check_sums("kernel", xp.sum(m, axis=1), dtype, "every row must sum to 1")
    return xp.astype(m.T @ table, dtype)


def _f_divergence(f: Callable[[Array], Array], p: Array, q: Array) -> Array:
    """Return the divergence of the rows of `p` (k, m) from `q` (m,)."""
    xp = namespace(p)
    positive = q > 0
    outside = np.flatnonzero(to_numpy(xp.any(p > 0, axis=0) & ~positive))
    if outside.size:
        raise bad_value(
            "reference",
            f"0 at value {int(outside[0])}, where a distribution is positive",
            "a distribution that is positive wherever the others are",
            "mix the distributions into it, as their marginal does",
        )
    ratio = xp.where(positive, p / xp.where(positive, q, 1.0), 1.0).T
    return xp.sum(q * _evaluate(f, ratio))


def _evaluate(f: Callable[[Array], Array], points: Array) -> Array:
    values = f(points)
    if tuple(np.shape(values)) != tuple(points.shape[:1]):
        raise bad_value(
            "f",
            f"a function that made shape {tuple(np.shape(values))} of {tuple(points.shape)}",
            "one number for each row",
            "sum over the last axis",
        )
    return values


@dataclass(frozen=True, eq=False)
class _SharpnessFunction:
    generator: BregmanGenerator
    prior: Array
    at_prior: Array
    of_classes: tuple[Any, ...] | None = None
    """What the prior calls the classes."""

    def __call__(self, x: Array) -> Array:
        return self.generator.value(self.prior * x) - self.at_prior


def _sharpness_function(generator: BregmanGenerator, prior: Array) -> _SharpnessFunction:
    return _SharpnessFunction(generator, prior, _finite_value(generator, prior))


def _finite_value(generator: BregmanGenerator, prior: Array) -> Array:
    value = generator.value(prior)
    if not np.isfinite(to_numpy(value)):
        raise bad_value(
            "generator",
            repr(generator),
            f"F finite at the class probabilities {to_numpy(prior).tolist()}, but it is "
            f"{float(to_numpy(value))}",
            "leave out classes that do not occur, or use a generator that is finite on the "
            "boundary, such as 'brier'",
        )
    return value
