"""What a kernel sees in the residuals of a recalibration, and the correction it suggests."""

from __future__ import annotations

from typing import NamedTuple

from propercal._array import namespace, sum_last
from propercal._methods.fold_sums import FoldSums
from propercal._typing import Array

#: A share of the kernel sum below this is rounding: nothing is left when a fold is taken away.
_NOTHING_LEFT = 1e-6


class Residuals(NamedTuple):
    """Effective counts near each target: what was observed, and what the base expected."""

    observed: Array
    """(r, k)."""
    expected: Array
    """(r, k) by the base of the target's own fold, whatever the folds of its neighbours are."""
    size: Array
    """(r, 1) effective number of rows 1 / ΣW², 0 where no source is within reach."""


def residuals(labels: Array, squares: Array, columns: Array) -> Residuals:
    """Turn kernel sums of labels (r, k), squares (r,) and a base (r, k) into effective counts."""
    xp = namespace(labels)
    total = sum_last(labels)
    some = (total > 0) & (squares > 0)
    safe = xp.where(some, total, 1.0)
    size = xp.where(some, safe * safe / xp.where(some, squares, 1.0), 0.0)
    scale = (size / safe)[:, None]
    return Residuals(labels * scale, columns * scale, size[:, None])


def without_fold(sums: FoldSums, fold: int, columns: Array) -> Residuals:
    """Return the residuals that remain when a fold is taken away; `columns` are already so."""
    xp = namespace(columns)
    keep = [f for f in range(sums.squares.shape[1]) if f != fold]
    labels = sum(sums.labels[:, f, :] for f in keep)
    squares = sum(sums.squares[:, f] for f in keep)
    left = sum_last(labels) > _NOTHING_LEFT * xp.sum(sums.labels, axis=(1, 2))
    labels = xp.where(left[:, None], labels, 0.0)
    return residuals(labels, squares, columns)


class Corrected(NamedTuple):
    """A corrected recalibration, and what its variance is computed from."""

    prob: Array
    """(r, k) r̂ ∝ b (a + observed) / (a + expected)."""
    gain: Array
    """(r, k) v, by which a change of the kernel mean of each label moves r̂."""
    share: Array
    """(r, k) m, the share of each label that r̂ expects among the sources near the target."""
    reliance: Array
    """(r,) c, the share of the base that the kernel replaces."""
    size: Array
    """(r, 1) effective number of rows."""


def correct(base: Array, found: Residuals, prior: float) -> Corrected:
    """Multiply a base (r, k) by the observed over the expected counts, each plus `prior`.

    The result is positive wherever the base is, and equals it where nothing is observed.
    """
    xp = namespace(base)
    denominator = prior + found.expected
    ratio = (prior + found.observed) / denominator
    product = base * ratio
    total = sum_last(product)[:, None]
    prob = product / total
    some = found.size > 0
    size = xp.where(some, found.size, 1.0)
    return Corrected(
        prob,
        gain=base * found.size / (denominator * total),
        share=xp.where(some, ratio * found.expected / size, 0.0),
        reliance=sum_last(prob * found.expected / denominator),
        size=found.size,
    )
