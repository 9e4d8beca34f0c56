"""What a Bregman generator is, and all that follows from it."""

from __future__ import annotations

import abc
import inspect
import math
from dataclasses import dataclass
from functools import reduce
from numbers import Real
from operator import add
from typing import Any, ClassVar, final

import numpy as np

from propercal._array import by_rows, detached, is_numpy, namespace, sum_last
from propercal._data.words.messages import bad_value
from propercal._typing import Array
from propercal.generators import autodiff
from propercal.generators.points import METHODS, of_points

# Infinity is a right answer here, and inf - inf is caught where it can arise.
_infinite = np.errstate(divide="ignore", over="ignore", invalid="ignore")


class BregmanGenerator(abc.ABC):
    r"""A convex function F on the probability simplex, and the loss and divergence it generates.

    A subclass gives :meth:`value`. It may give :meth:`gradient` and :meth:`hessian`, which are
    otherwise derived by automatic differentiation through torch, whatever array comes in;
    :meth:`value` must then be written with operators and torch functions. Everything else follows:

    .. math::

        D_F(p, q) &= F(p) - F(q) - \langle \nabla F(q), p - q \rangle, \\
        L_F(q, y) &= -F(q) - \langle \nabla F(q), y - q \rangle = D_F(y, q) - F(y).

    Generators are added, and multiplied by a positive number: ``2.0 * Log() + Brier()``.

    Notes
    -----
    Points are floating-point arrays of shape (..., k): NumPy, torch or another library that follows
    the array API standard. Tables, lists and whole numbers are refused. Points are never
    renormalised, so F is defined near the simplex too.
    Results keep the library, dtype and device. Infinite results are infinite, without a warning.

    References
    ----------
    Gneiting and Raftery (2007), doi:10.1198/016214506000001437.

    Examples
    --------
    >>> import numpy as np
    >>> class Cubic(BregmanGenerator):
    ...     def value(self, p):
    ...         return (p**3).sum(-1) - 1
    ...
    ...     def gradient(self, p):
    ...         return 3 * p**2
    >>> p, q = np.asarray([0.5, 0.5]), np.asarray([0.75, 0.25])
    >>> print(Cubic().divergence(p, q))
    0.1875
    >>> print((Cubic() + 2 * Cubic()).divergence(p, q))
    0.5625
    """

    _registered_name: ClassVar[str]
    #: Whether products with ∇²F are those with its diagonal, of shapes that broadcast.
    _has_diagonal_hessian: ClassVar[bool] = False

    ordered: ClassVar[bool] = False
    """Whether F depends on the order of the classes, which must then be known."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in METHODS:
            own = vars(cls).get(name)
            if inspect.isfunction(own):
                setattr(cls, name, of_points(own))

    @property
    def name(self) -> str:
        """The name under which the class is registered, or else its `repr`."""
        return str(vars(type(self)).get("_registered_name", repr(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @abc.abstractmethod
    def value(self, p: Array) -> Array:
        """F(p), from shape (..., k) to (...)."""

    def gradient(self, p: Array) -> Array:
        """∇F(p), from shape (..., k) to (..., k).

        Raises
        ------
        ImportError
            If the class has no closed form and torch is not installed.
        """
        return autodiff.gradient(self.value, p)

    @of_points
    def hessian(self, p: Array) -> Array:
        """∇²F(p), from shape (..., k) to (..., k, k).

        Raises
        ------
        ImportError
            If the class has no closed form and torch is not installed.
        """
        return autodiff.jacobian(self.gradient, p)

    @of_points
    def hessian_times(self, p: Array, v: Array) -> Array:
        """∇²F(p) v, from shapes (..., k); a subclass may do without the matrix."""
        return namespace(p, v).matmul(self.hessian(p), v[..., None])[..., 0]

    @of_points
    def hessian_diagonal(self, p: Array) -> Array:
        """Diagonal of ∇²F(p), from shape (..., k); a subclass may do without the matrix."""
        return namespace(p).linalg.diagonal(self.hessian(p))

    @of_points
    def gradient_from_log(self, log_p: Array) -> Array:
        """∇F(exp(log_p)); a subclass may keep it exact where exp(log_p) underflows."""
        return self.gradient(namespace(log_p).exp(log_p))

    @final
    @of_points
    @_infinite
    def divergence(self, p: Array, q: Array, *, log_q: Array | None = None) -> Array:
        """Bregman divergence D_F(p, q) = F(p) − F(q) − ⟨∇F(q), p − q⟩.

        Parameters
        ----------
        p, q : array of float, shape (..., k)
            Points of the simplex, of shapes that broadcast.
        log_q : array of float, shape (..., k), optional
            log q, for the gradient at q, where q underflows but its logarithm does not.

        Returns
        -------
        array of float, shape (...)
            Exactly 0 where p equals q, +inf where the divergence is infinite. Elsewhere rounding
            can leave a negative value, of the order of the rounding error of F(p) and F(q).

        Examples
        --------
        >>> import numpy as np
        >>> from propercal.generators import Log
        >>> p = np.asarray([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]])
        >>> q = np.asarray([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]])
        >>> print(Log().divergence(p, q))
        [0.69314718 0.                inf]
        """
        xp = namespace(p, q)
        result = self._divergence(p, q, log_q)
        # Rounding may depend on memory layout, so equal points are set to 0 explicitly; the
        # subtraction of a constant does that without a change to any derivative.
        at_zero = xp.where(xp.isfinite(result), result - detached(result), 0.0)
        return xp.where(xp.all(p == q, axis=-1), at_zero, result)

    @final
    @of_points
    @_infinite
    def loss(self, q: Array, y: Array, *, log_q: Array | None = None) -> Array:
        """Proper loss L_F(q, y) = −F(q) − ⟨∇F(q), y − q⟩ of the prediction q for the outcome y.

        Parameters
        ----------
        q : array of float, shape (..., k)
            Predicted probabilities.
        y : array, shape (..., k)
            Outcomes: one-hot rows, or probabilities for the expected loss under them.
        log_q : array of float, shape (..., k), optional
            log q, for the gradient at q, where q underflows but its logarithm does not.

        Returns
        -------
        array of float, shape (...)
            +inf where the loss is infinite.

        Examples
        --------
        >>> import numpy as np
        >>> from propercal.generators import Brier, Log
        >>> q, y = np.asarray([[0.75, 0.25], [1.0, 0.0]]), np.asarray([[1, 0], [0, 1]])
        >>> print(Log().loss(q, y))
        [0.28768207        inf]
        >>> print(Brier().loss(q, y))
        [0.125 2.   ]
        """
        xp = namespace(q, y)
        step = q - xp.astype(y, q.dtype)
        loss = _add_dominant(xp, self._slope(q, log_q), step, -self._height(q))
        return loss + self._on_faces(q, y)

    def _divergence(self, p: Array, q: Array, log_q: Array | None) -> Array:
        """D_F(p, q), except for the exact zero; a subclass may have a better conditioned form."""
        xp = namespace(p, q)
        found = _add_dominant(xp, self._slope(q, log_q), q - p, self._height(p) - self._height(q))
        return found + self._on_faces(q, p)

    def _on_faces(self, q: Array, p: Array) -> Array | float:  # noqa: ARG002
        """Return zeros with the slope along q where q_i = p_i = 0, which ∞ · 0 there leaves out."""
        return 0.0

    def _slope(self, q: Array, log_q: Array | None) -> Array:
        slope = self.gradient(q) if log_q is None else self.gradient_from_log(log_q)
        return _checked("gradient(p)", slope, q, q.shape)

    def _height(self, p: Array) -> Array:
        return _checked("value(p)", self.value(p), p, p.shape[:-1])

    @final
    def __add__(self, other: object) -> BregmanGenerator:
        if not isinstance(other, BregmanGenerator):
            return NotImplemented
        return LinearCombination((*self._terms(), *other._terms()))

    @final
    def __radd__(self, other: object) -> BregmanGenerator:
        # sum() starts from 0.
        return self if isinstance(other, Real) and other == 0 else NotImplemented

    @final
    def __mul__(self, weight: object) -> BregmanGenerator:
        if not isinstance(weight, Real):
            return NotImplemented
        factor = float(weight)
        if not 0 < factor < math.inf:
            raise bad_value(
                "weight", factor, "a positive finite number", "use one, or w * F is not convex"
            )
        return LinearCombination(tuple((factor * w, f) for w, f in self._terms()))

    __rmul__ = __mul__

    def _terms(self) -> tuple[tuple[float, BregmanGenerator], ...]:
        return ((1.0, self),)


@final
@dataclass(frozen=True, repr=False)
class LinearCombination(BregmanGenerator):
    """Σ w F over pairs (w, F), which ``+`` and ``*`` make."""

    terms: tuple[tuple[float, BregmanGenerator], ...]

    def __repr__(self) -> str:
        return " + ".join(f"{f!r}" if w == 1 else f"{w!r}*{f!r}" for w, f in self.terms)

    def value(self, p: Array) -> Array:  # noqa: D102
        return self._sum("value", p)

    def gradient(self, p: Array) -> Array:  # noqa: D102
        return self._sum("gradient", p)

    def hessian(self, p: Array) -> Array:  # noqa: D102
        return self._sum("hessian", p)

    def hessian_times(self, p: Array, v: Array) -> Array:  # noqa: D102
        return self._sum("hessian_times", p, v)

    def hessian_diagonal(self, p: Array) -> Array:  # noqa: D102
        return self._sum("hessian_diagonal", p)

    def gradient_from_log(self, log_p: Array) -> Array:  # noqa: D102
        return self._sum("gradient_from_log", log_p)

    def _divergence(self, p: Array, q: Array, log_q: Array | None) -> Array:
        return self._sum("_divergence", p, q, log_q)

    def _on_faces(self, q: Array, p: Array) -> Array:
        return self._sum("_on_faces", q, p)

    def _sum(self, method: str, *arguments: Array) -> Array:
        return reduce(add, (w * getattr(f, method)(*arguments) for w, f in self.terms))

    def _terms(self) -> tuple[tuple[float, BregmanGenerator], ...]:
        return self.terms


def depends_on_order(generator: BregmanGenerator) -> bool:
    """Tell whether F asks for an order of the classes."""
    return any(f.ordered for _, f in generator._terms())


def _checked(what: str, result: Array, p: Array, shape: tuple[int, ...]) -> Array:
    """Return what a subclass computed, if it is an array of real numbers of the right shape."""
    # Small problems ask thousands of times.
    if type(result) is np.ndarray and result.shape == shape and result.dtype.kind == "f":
        return result
    found = tuple(getattr(result, "shape", ()))
    kind = (
        namespace(p).isdtype(result.dtype, "real floating") if hasattr(result, "dtype") else False
    )
    if found != tuple(shape) or not kind:
        raise bad_value(
            what,
            f"a result of shape {found} and type {getattr(result, 'dtype', type(result).__name__)}",
            f"real numbers of shape {tuple(shape)} for points of shape {tuple(p.shape)}",
            "correct the generator; propercal.testing.check_generator finds such errors",
        )
    return result


def _add_dominant(xp: Array, slope: Array, step: Array, rest: Array) -> Array:
    """Return rest + ⟨slope, step⟩, where ∞ · 0 = 0 and an infinite product outweighs `rest`.

    Near a face, an unbounded ∇F grows faster than F.
    """
    unbounded = xp.isinf(slope)
    if is_numpy(unbounded) and not unbounded.any():
        return rest + sum_last(slope * step)
    # Infinite terms carry no derivative: it would be NaN, and in a mean spoil that of all others.
    dominant = xp.where(unbounded & (step != 0), detached(slope) * detached(step), 0.0)
    dominant = sum_last(dominant)
    bounded = rest + sum_last(xp.where(unbounded, 0.0, slope) * step)
    return xp.where(xp.isinf(dominant), dominant, bounded)


def curved(generator: BregmanGenerator, p: Array, v: Array) -> Array:
    """(m, n, k) ∇²F(p) v for points p (n, k) and each of m directions v (m, n, k)."""
    if isinstance(generator, LinearCombination):
        return reduce(add, (w * curved(f, p, v) for w, f in generator.terms))
    if generator._has_diagonal_hessian:
        return generator.hessian_times(p, v)
    width = curvature_width(generator, p.shape[1])
    each = [by_rows(generator.hessian_times, p, v[i, ...], width=width) for i in range(v.shape[0])]
    return namespace(p).stack(each)


def curvature_width(generator: BregmanGenerator, n_classes: int) -> int:
    """Return how many numbers of a row a product with ∇²F forms: a matrix, or its diagonal."""
    terms = generator.terms if isinstance(generator, LinearCombination) else ((1.0, generator),)
    forms_matrix = any(
        type(f).hessian_times is BregmanGenerator.hessian_times
        or type(f).hessian_diagonal is BregmanGenerator.hessian_diagonal
        for _, f in terms
    )
    return n_classes * n_classes if forms_matrix else n_classes
