"""Multinomial logit models, fitted by penalised maximum likelihood.

Several training sets of the same points are fitted side by side.
"""

from __future__ import annotations

from typing import NamedTuple

from propercal._array import device, exp_over, namespace, take_rows, to_numpy
from propercal._typing import Array
from propercal.recalibration.descent import MAX_STEPS, Floats, Numbers, descend
from propercal.recalibration.terms import Terms

#: Log likelihood, in nats of the whole sample, that a further step may still be worth.
_TOLERANCE = 1e-4
#: Steps with a curvature that is known, before that of the fit itself is worth its time.
_CHORDS = 5
#: Larger systems of equations are not solved: steps are then quasi-Newton ones.
LARGEST_SYSTEM = 512
#: At most as many of these are taken,
_MANY_STEPS = 200
#: and so many of the last ones remembered.
_MEMORY = 10


class Curvature(NamedTuple):
    """Curvature of a log likelihood that differs little from that of a fit."""

    information: Array
    """(b, d, d)."""
    rough: bool = False
    """Whether it rests on a part of the rows."""

    def inverse(self, ridge: Array) -> Array:
        """(b, d, d) inverse of the curvature with the ridges (b, d)."""
        xp = namespace(ridge)
        eye = xp.eye(ridge.shape[1], dtype=ridge.dtype, device=device(ridge))
        return xp.linalg.inv(self.information + eye * ridge[:, :, None])


def softmax_of(scores: Array) -> tuple[Array, Array]:
    """Softmax of scores (b, k, n), which are overwritten, over the classes.

    The second array (b, n) are logarithms of the sums of their exponentials.
    """
    xp = namespace(scores)
    largest = xp.max(scores, axis=1, keepdims=True)
    scores -= largest
    prob = exp_over(scores)
    total = xp.sum(prob, axis=1, keepdims=True)
    prob /= total
    return prob, (largest + xp.log(total))[:, 0, :]


def fit(
    terms: Terms,
    counts: Array,
    *,
    start: Array,
    ridge: Array,
    offset: Array | None = None,
    begin: Array | None = None,
    curvature: Curvature | None = None,
) -> Array:
    """Minimise Σ counts · log loss + ½ Σ_d ridge_d (θ_d − start_d)², by Newton steps.

    Parameters
    ----------
    terms : Terms
        Of n points.
    counts : array (b, k, n)
        Weights of the labels seen at each point, in units of rows, for b training sets.
    start, ridge : array (b, d)
        Where the coefficients are drawn to, and how strongly (> 0).
    offset : array (b, k, n), optional
        What is added to the scores.
    begin : array (b, d), optional
        Where to begin, in place of `start`.
    curvature : Curvature, optional
        That of the first steps.

    Returns
    -------
    array (b, d)
        The coefficients of each training set.
    """
    xp = namespace(counts)
    b = start.shape[0]
    weight = xp.sum(counts, axis=1)
    # The loss is linear in the coefficients but for the logarithms of the sums.
    seen = terms.products(counts)
    before = 0.0 if offset is None else xp.sum(counts * offset, axis=(1, 2))
    before = before + xp.zeros_like(start[:, 0])

    def of(values: Array, number: Numbers) -> Array:
        return values if len(number) == b else take_rows(values, number)

    def evaluate(coefficients: Array, number: Numbers) -> tuple[Floats, Array]:
        scores = terms.scores(coefficients)
        if offset is not None:
            scores += of(offset, number)
        prob, log_total = softmax_of(scores)
        loss = xp.sum(of(weight, number) * log_total, axis=1) - of(before, number)
        linear = 0.5 * of(ridge, number) * (coefficients - of(start, number)) ** 2
        linear = linear - of(seen, number) * coefficients
        return to_numpy(loss + xp.sum(linear, axis=1)), prob

    large = start.shape[1] > LARGEST_SYSTEM
    limited = large or (curvature is not None and curvature.rough)
    steps: _LimitedMemory | _NewtonSteps
    if limited:
        steps = _LimitedMemory(terms, ridge, curvature)
    else:
        steps = _NewtonSteps(terms, ridge, curvature)

    def propose(coefficients: Array, prob: Array, number: Numbers) -> tuple[Floats, Array]:
        own = of(weight, number)
        gradient = terms.products(own[:, None, :] * prob) - of(seen, number)
        gradient = gradient + of(ridge, number) * (coefficients - of(start, number))
        step = steps(coefficients, gradient, prob, own, number)
        return to_numpy(xp.sum(gradient * step, axis=1)), -step

    return descend(
        start if begin is None else begin,
        evaluate,
        propose,
        lambda gain, _: gain < _TOLERANCE,
        max_steps=_MANY_STEPS if limited else MAX_STEPS,
    )


class _NewtonSteps:
    """Newton steps; the first ones with a curvature that is known already, if one is."""

    def __init__(self, terms: Terms, ridge: Array, curvature: Curvature | None) -> None:
        self._terms, self._ridge, self._taken = terms, ridge, 0
        xp = namespace(ridge)
        self._eye = xp.eye(ridge.shape[1], dtype=ridge.dtype, device=device(ridge))
        self._inverse = None if curvature is None else curvature.inverse(ridge)

    def __call__(
        self, _: Array, gradient: Array, prob: Array, weight: Array, number: Numbers
    ) -> Array:
        xp = namespace(gradient)
        self._taken += 1
        if self._inverse is not None and self._taken <= _CHORDS:
            inverse = take_rows(self._inverse, number)
            return xp.matmul(inverse, gradient[:, :, None])[:, :, 0]
        ridge = take_rows(self._ridge, number)
        curvature = self._terms.information(prob, weight) + self._eye * ridge[:, :, None]
        return xp.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]


class _LimitedMemory:
    """Quasi-Newton steps from the last few, in the metric of a curvature that is known (L-BFGS).

    If none is, that of the diagonal where the search begins. Nocedal 1980,
    doi:10.1090/S0025-5718-1980-0572855-7.
    """

    def __init__(self, terms: Terms, ridge: Array, curvature: Curvature | None) -> None:
        self._terms, self._ridge = terms, ridge
        self._inverse = None if curvature is None else curvature.inverse(ridge)
        self._scale: Array | None = None
        # By descent: where it was last, with the gradient there, and the last steps.
        self._last: dict[int, tuple[Array, Array]] = {}
        self._steps: dict[int, list[tuple[Array, Array]]] = {}

    def __call__(
        self, at: Array, gradient: Array, prob: Array, weight: Array, number: Numbers
    ) -> Array:
        xp = namespace(gradient)
        if self._inverse is None and self._scale is None:
            self._scale = 1 / (self._terms.variances(prob, weight) + self._ridge)
        return xp.stack(
            [self._step(int(i), at[j, :], gradient[j, :]) for j, i in enumerate(number)]
        )

    def _step(self, i: int, at: Array, gradient: Array) -> Array:
        xp = namespace(gradient)
        history = self._steps.setdefault(i, [])
        if i in self._last:
            moved, turned = at - self._last[i][0], gradient - self._last[i][1]
            if float(xp.sum(moved * turned)) > 0:
                history.append((moved, turned))
                del history[:-_MEMORY]
        self._last[i] = at, gradient
        step, shares = gradient, []
        for moved, turned in reversed(history):
            share = xp.sum(moved * step) / xp.sum(moved * turned)
            shares.append(share)
            step = step - share * turned
        if self._inverse is not None:
            step = self._inverse[i, ...] @ step
        else:
            assert self._scale is not None  # noqa: S101
            step = step * self._scale[i, :]
        for (moved, turned), share in zip(history, reversed(shares), strict=True):
            step = step + (share - xp.sum(turned * step) / xp.sum(moved * turned)) * moved
        return step
