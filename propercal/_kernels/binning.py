"""Points of a table: distinct log-odds where they are few, else bins of them.

A smooth function of the log-odds z = log g − log(1 − g) hardly changes within a narrow bin, so that
rows may be summed by bin first: what follows costs the number of bins, not of rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from propercal._array import to_numpy
from propercal._typing import Array

#: Distinct predictions up to which each is a point by itself.
LARGEST_EXACT = 2000
#: Width of a bin near z = 0. It grows as z / 2 where |z| is large, and g nearly 0 or 1.
SPACING = 0.00625
#: Bins in use beyond which they are joined two by two, and how often at most: the spacing is a
#: small part of the narrowest kernel.
MANY, JOINED = 1000, 3
_LINEAR = 2.0
#: Predictions may all lie in a few bins: one with more than this share of rows is divided into
#: pieces of at most about the other.
LARGE_SHARE, _PIECE = 1 / 20, 1 / 200
#: Rows that are looked at first, to tell many distinct values without sorting all.
_FIRST_LOOK = 4000

Numbers = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


def bins(
    log_odds: Array,
    largest_exact: int = LARGEST_EXACT,
    *,
    spacing: float = SPACING,
    weight: Array | None = None,
) -> tuple[Numbers, Floats]:
    r"""Give each row a point of a table; points are numbered in the order of their log-odds.

    Where at most `largest_exact` values are distinct these are the points. Else a bin is what has
    one sign and one :math:`\lfloor \operatorname{asinh}(|z| / 2) \cdot 2 / \text{spacing}
    \rfloor`, a grid that does not depend on the data. Bins are joined two by two, up to three
    times, as long as more than 1000 are in use; one that then holds more than 1/20 of the rows is
    divided at quantiles.

    Parameters
    ----------
    log_odds : array (n,)
        z, finite.
    largest_exact : int
        Distinct values up to which each is a point.
    spacing : float
        Width of a bin near z = 0.
    weight : array (n,), optional
        Positive weights of the rows, equal ones by default.

    Returns
    -------
    numbers : array (n,)
        The point of each row, 0 to m − 1, larger where z is larger; equal z have the same one.
    nodes : array (m,)
        Weighted mean of z over the rows of each point.
    """
    z = np.asarray(to_numpy(log_odds), dtype=np.float64)
    distinct = few_distinct(z, largest_exact)
    if distinct is not None:
        return distinct
    numbers = grid_numbers(z, spacing)
    for _ in range(JOINED):
        if np.count_nonzero(np.bincount(numbers - numbers.min())) <= MANY:
            break
        numbers = joined(numbers)
    numbers = without_gaps(numbers - numbers.min())
    counts = np.bincount(numbers)
    for i in np.flatnonzero(counts > LARGE_SHARE * len(z))[::-1]:
        rows = np.flatnonzero(numbers == i)
        piece, n_pieces = _pieces(z[rows], int(np.ceil(len(rows) / (_PIECE * len(z)))))
        # Those above make room; they have been divided already.
        numbers[numbers > i] += n_pieces - 1
        numbers[rows] += piece
    weights = None if weight is None else np.asarray(to_numpy(weight), dtype=np.float64)
    mass = np.bincount(numbers, weights)
    return numbers, np.bincount(numbers, z if weights is None else z * weights) / mass


def grid_numbers(z: Floats, spacing: float = SPACING) -> Numbers:
    """Return the numbers (n,) of the bins of log-odds on the grid.

    The bins below 0 mirror those above, and 0 is by itself: neither does the order of two classes
    matter, nor has a bin rows of which different classes are the most probable.
    """
    bins_away = np.floor(np.arcsinh(np.abs(z) / _LINEAR) * (_LINEAR / spacing)) + 1
    numbers: Numbers = (np.sign(z) * bins_away).astype(np.intp)
    return numbers


def outside(numbers: Floats, z: Floats, spacing: float = SPACING) -> Floats:
    """Return by how much log-odds (m,) lie outside of bins of these numbers, in units of bins."""
    away = np.arcsinh(np.abs(z) / _LINEAR) * (_LINEAR / spacing)
    number = np.abs(numbers)
    beyond = np.maximum(number - 1 - away, away - number)
    return np.where(np.sign(z) == np.sign(numbers), np.maximum(beyond, 0.0), np.inf)


def joined(numbers: Numbers) -> Numbers:
    """Return the numbers (n,) of bins on the grid of twice the width."""
    halved: Numbers = np.sign(numbers) * ((np.abs(numbers) + 1) // 2)
    return halved


def few_distinct(z: Floats, largest: int = LARGEST_EXACT) -> tuple[Numbers, Floats] | None:
    """Return points that are the distinct values, unless these are too many."""
    first_look = z[:: max(1, len(z) // _FIRST_LOOK)]
    if len(z) > len(first_look) and len(np.unique(first_look)) > largest:
        return None
    values, numbers = np.unique(z, return_inverse=True)
    return None if len(values) > largest else (numbers.ravel(), values)


def _pieces(z: Floats, n_pieces: int) -> tuple[Numbers, int]:
    """Divide values at quantiles, equal ones together: the piece of each, and how many there are.

    A value that is a quantile twice over is a piece by itself.
    """
    places = np.arange(1, n_pieces) * len(z) // n_pieces
    edges = np.partition(z, places)[places]
    repeated = edges[1:][edges[1:] == edges[:-1]]
    edges = np.unique(np.concatenate([edges, np.nextafter(repeated, np.inf)]))
    piece = without_gaps(np.searchsorted(edges, z, side="right"))
    return piece, int(piece.max()) + 1


def without_gaps(numbers: Numbers) -> Numbers:
    """Renumber so that every number up to the largest occurs, in the same order."""
    used = np.bincount(numbers) > 0
    return (np.cumsum(used) - 1)[numbers]
