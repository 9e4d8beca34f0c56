r"""How much rows of a group tell twice: correlation within groups, and what it costs.

A weighted sum of residuals e_j = y_j − r_j of rows with weights a_j has the variance

.. math::

    E \Bigl\| \sum_j a_j e_j \Bigr\|^2 = \sum_c E \Bigl\| \sum_{j \in c} a_j e_j \Bigr\|^2
    \approx σ^2 \Bigl[ (1 - ρ) \sum_j a_j^2 + ρ \sum_c \Bigl( \sum_{j \in c} a_j \Bigr)^2 \Bigr],

since rows of different groups c are independent, and those of one are taken to have one
correlation ρ. The bracket takes the place of Σ a_j² wherever a number of effective rows is meant:
it is that for ρ = 0, and the sum over groups, as if each were one row, for ρ = 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


def group_totals(values: Floats, group: Numbers) -> Floats:
    """(G, q) sums of `values` (n, q) by group."""
    size = int(group.max()) + 1
    return np.stack([np.bincount(group, column, size) for column in values.T], axis=1)


def intraclass_correlation(
    residual: Floats, group: Numbers, weight: Floats, squares: Floats
) -> float:
    r"""Return the mean correlation of residuals (n, k) of two rows of a group, 0 to 1.

    .. math::

        \hat ρ = \frac{\sum_{j \ne l} w_j w_l ⟨e_j, e_l⟩}
        {\sum_{j \ne l} w_j w_l (‖e_j‖^2 + ‖e_l‖^2) / 2},

    over pairs of rows of one group. Rows that repeat each other have 1.

    Parameters
    ----------
    residual : array (n, k)
        Of rows, or of cells: rows of one residual and group.
    group : array (n,)
        Numbers of groups.
    weight, squares : array (n,)
        Weight, and the sum of the squares of the weights of the rows of a cell.
    """
    size = np.einsum("ij,ij->i", residual, residual)
    itself = float(squares @ size)
    sums = group_totals(residual * weight[:, None], group)
    of_groups = group_totals(np.stack([weight, weight * size], axis=1), group)
    together = float(np.sum(sums * sums)) - itself
    most = float(of_groups[:, 0] @ of_groups[:, 1]) - itself
    return float(np.clip(together / most, 0.0, 1.0)) if most > 1e-12 * itself else 0.0


def blend(rows: Any, groups: Any, correlation: float) -> Any:
    """Return the variance of a sum, from what it would be of independent rows and of groups."""
    return (1 - correlation) * rows + correlation * groups


def design_effect(residual: Floats, group: Numbers, weight: Floats, squares: Floats) -> float:
    """Return by how many times rows in groups are fewer than they are, as far as means go."""
    correlation = intraclass_correlation(residual, group, weight, squares)
    whole = float(np.sum(np.bincount(group, weight) ** 2))
    return float(blend(float(squares.sum()), whole, correlation) / squares.sum())
