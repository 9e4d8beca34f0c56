"""A non-decreasing function of one number, fitted by isotonic regression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propercal._data.words.messages import bad_value

Floats = NDArray[np.float64]

#: Arguments nearer to each other than this are one, whose last digits say nothing.
_RESOLUTION = float(np.finfo(np.float64).resolution)


@dataclass(frozen=True, eq=False)
class IsotonicFunction:
    """A non-decreasing function, linear between the points it was fitted to, constant beyond them.

    Its attributes are those of :class:`sklearn.isotonic.IsotonicRegression`, as are its values.

    Attributes
    ----------
    X_thresholds_ : numpy.ndarray of shape (m,)
        Where it bends, ascending; the first and the last are the ends of what it was fitted to.
    y_thresholds_ : numpy.ndarray of shape (m,)
        Its values there.

    Examples
    --------
    >>> import numpy as np
    >>> function = IsotonicFunction(np.array([0.2, 0.6]), np.array([0.0, 1.0]))
    >>> function.predict([0.1, 0.3, 0.9])
    array([0.  , 0.25, 1.  ])
    """

    X_thresholds_: Floats
    y_thresholds_: Floats

    @classmethod
    def fitted(cls, x: Floats, target: Floats, weight: Floats) -> IsotonicFunction:
        """Return the function with values from 0 to 1 that is nearest to targets, in mean square.

        Parameters
        ----------
        x, target, weight : numpy.ndarray of shape (n,)
            Arguments, wanted values and positive weights. Equal arguments have one value.

        Returns
        -------
        IsotonicFunction

        Raises
        ------
        ValueError
            If they have names of rows.
        """
        from scipy.optimize import isotonic_regression

        for name, each in (("x", x), ("target", target), ("weight", weight)):
            if hasattr(each, "to_numpy") or hasattr(each, "dims"):
                # Of which one would be matched by an index, and another not.
                raise bad_value(
                    name,
                    f"a {type(each).__name__}",
                    "an array of NumPy, in the order of the others",
                    "bring all into one order, and pass .to_numpy()",
                )
        values, row = np.unique(x, return_inverse=True)
        group = _groups(values)
        place = group[row]
        mass = np.bincount(place, weight)
        mean = np.bincount(place, weight * target) / mass
        fit = np.clip(isotonic_regression(mean, weights=mass).x, 0.0, 1.0)
        # Of a level the first and the last point say all.
        bends = np.ones(len(fit), dtype=bool)
        bends[1:-1] = (fit[1:-1] != fit[:-2]) | (fit[1:-1] != fit[2:])
        first = np.flatnonzero(np.diff(group, prepend=-1))
        return cls(values[first][bends], fit[bends])

    def predict(self, T: ArrayLike) -> Floats:
        """Return the values of the function.

        Parameters
        ----------
        T : array-like of shape (n,) or (n, 1)
            Arguments.

        Returns
        -------
        numpy.ndarray of shape (n,)
        """
        given = np.asarray(T, dtype=np.float64).reshape(-1)
        return np.interp(given, self.X_thresholds_, self.y_thresholds_)


def _groups(values: Floats) -> NDArray[np.int64]:
    """Return which of ascending distinct values are one: those within rounding of the first."""
    close = np.diff(values) < _RESOLUTION
    if not close.any():
        return np.arange(len(values))
    starts = np.ones(len(values), dtype=bool)
    starts[1:] = ~close
    ends = np.append(np.flatnonzero(starts)[1:], len(values))
    for begin, end in zip(np.flatnonzero(starts), ends, strict=True):
        if end - begin > 1:
            starts[list(_starts_within(values[begin:end], int(begin)))] = True
    return np.cumsum(starts) - 1


def _starts_within(run: Floats, begin: int) -> Iterator[int]:
    """Yield where groups start in a run of values, each near to the next."""
    at = 0
    while at < len(run):
        yield begin + at
        beyond = int(np.searchsorted(run, run[at] + _RESOLUTION))
        # The sum is rounded, the difference hardly.
        while beyond < len(run) and run[beyond] - run[at] < _RESOLUTION:
            beyond += 1
        while beyond > at + 1 and run[beyond - 1] - run[at] >= _RESOLUTION:
            beyond -= 1
        at = beyond
