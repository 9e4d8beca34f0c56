"""The best compromises between two objectives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def on_front(accuracy: Floats, error: Floats) -> list[int]:
    """Return the points that no other equals in both objectives and beats in one, by accuracy.

    Parameters
    ----------
    accuracy, error : array of shape (n,)
        What is to be large, and what is to be small.

    Returns
    -------
    list of int
        Positions of the points.

    Examples
    --------
    >>> import numpy as np
    >>> on_front(np.array([0.9, 0.8, 0.7]), np.array([0.2, 0.1, 0.3]))
    [1, 0]
    """
    better = (accuracy[:, None] >= accuracy) & (error[:, None] <= error)
    strictly = (accuracy[:, None] > accuracy) | (error[:, None] < error)
    dominated = (better & strictly).any(axis=0)
    return sorted(np.flatnonzero(~dominated).tolist(), key=lambda i: (accuracy[i], error[i]))
