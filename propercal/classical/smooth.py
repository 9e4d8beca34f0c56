r"""The smooth calibration error: residuals smoothed by a kernel whose width is the error itself.

Residuals of mass w_h (y_h − p_h) are smoothed by a Gaussian kernel that is reflected at 0 and 1.
In the cosines cos(π k t), which such a kernel leaves as they are but for a factor,

.. math::

    \hat r_σ(t) = a_0 + 2 \sum_{k ≥ 1} a_k e^{-(π k σ)^2 / 2} \cos(π k t), \qquad
    a_k = \sum_h w_h (y_h - p_h) \cos(π k p_h),

and smECE_σ = ∫ |r̂_σ|. The smooth calibration error is the σ for which smECE_σ = σ.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

#: Nodes; of many rows, whose errors and kernels are narrower, more.
_FEW, _MANY = 4096, 16384
_MANY_ROWS = 100_000
#: Steps of the search of σ, and the difference at which it ends.
_STEPS, _EXACT = 60, 1e-12


class Nodes:
    """Predictions between neighbouring nodes at (j + ½) / N, and their smoothed residuals."""

    def __init__(self, prob: Floats) -> None:
        n_nodes = _FEW if len(prob) < _MANY_ROWS else _MANY
        place = prob * n_nodes - 0.5
        low = np.floor(place).astype(np.intp)
        self._share = place - low
        # What lies beyond the last node is reflected into it.
        self._low, self._high = low.clip(min=0), (low + 1).clip(max=n_nodes - 1)
        self._size = n_nodes
        k = np.arange(n_nodes)
        # Masses that are shared by two nodes are smoothed by a triangle, which is taken back.
        self._triangle = np.sinc(k / (2 * n_nodes)) ** 2
        self._squares = (np.pi * k) ** 2 / 2

    def masses(self, residual: Floats) -> Floats:
        """(N,) residuals (n,) at the nodes."""
        low = np.bincount(self._low, residual * (1 - self._share), self._size)
        high = np.bincount(self._high, residual * self._share, self._size)
        return (low + high).astype(np.float64)

    def smoothed_errors(self, masses: Floats, sigma: Floats) -> Floats:
        """(b,) smECE_σ of masses (b, N), for a σ each."""
        from scipy.fft import dct

        return self._of_coefficients(dct(masses, axis=1), sigma)

    def fixed_points(self, masses: Floats) -> Floats:
        """(b,) the σ for which smECE_σ = σ, since it falls as σ grows; 0 where no residuals are.

        By false position, where the end that stays counts half (Illinois).
        """
        from scipy.fft import dct

        coefficients = dct(masses, axis=1)
        low, high = np.zeros(len(masses)), np.ones(len(masses))
        of_low, of_high = np.abs(masses).sum(axis=1), np.full(len(masses), -1.0)
        nothing, side = of_low == 0, np.zeros(len(masses))
        of_low[nothing] = 1.0
        for _ in range(_STEPS):
            middle = (low * of_high - high * of_low) / (of_high - of_low)
            found = self._of_coefficients(coefficients, middle) - middle
            above = found > 0
            of_low = np.where(above, found, np.where(side < 0, of_low / 2, of_low))
            of_high = np.where(above, np.where(side > 0, of_high / 2, of_high), found)
            low, high = np.where(above, middle, low), np.where(above, high, middle)
            side = np.where(above, 1, -1)
            if (np.abs(found) < _EXACT)[~nothing].all():
                break
        return np.where(nothing, 0.0, middle)

    def _of_coefficients(self, coefficients: Floats, sigma: Floats) -> Floats:
        from scipy.fft import idct

        factor = np.exp(-self._squares * (sigma * sigma)[:, None]) / self._triangle
        found: Floats = np.abs(idct(coefficients * factor, axis=1)).sum(axis=1)
        return found
