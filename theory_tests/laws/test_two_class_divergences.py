"""With two classes the sharpness is a known f-divergence of P_0 and P_1.

Let π_y be the class probabilities and P = π_0 P_0 + π_1 P_1. Then r_1 = π_1 P_1 / P, and

- Log: π_0 KL(P_0 ‖ P) + π_1 KL(P_1 ‖ P), the skewed Jensen–Shannon divergence (Lin 1991).
- Brier, ‖p‖² − 1: E ‖r − π‖² = 2 Σ P (r_1 − π_1)², and r_1 − π_1 = π_1 (P_1 − P) / P = π_0 π_1 (P_1 − P_0) / P.
  So it is 2 π_1² χ²(P_1 ‖ P) = 2 π_0² π_1² Σ (P_1 − P_0)² / P; for π = ½ a quarter of the triangular
  discrimination Σ (P_1 − P_0)² / (P_1 + P_0) (Vincze 1981, Le Cam 1986).
- Tsallis(½), 2 (1 − Σ √p): Σ_y √π_y · 2 (1 − Σ √(P_y P)), squared Hellinger distances from the mixture.
- Spherical, ‖p‖ − 1, π = ½: ½ Σ [√(P_0² + P_1²) − (P_0 + P_1) / √2], the perimeter divergence of
  Österreicher (1982).
- max p − 1 (the zero-one loss), π = ½: half the total variation.

Source: paper, section 5.2, "Sharpness as f-divergence"; the reductions are derived above.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.special import rel_entr

from propercal.generators import BregmanGenerator, Brier, Log, Spherical, Tsallis
from propercal.information import sharpness_divergence
from propercal.testing.strategies import simplex_points
from theory_tests.laws.populations import Floats

# Terms below 1, at most 5 of them; √ of a near-zero sum has no part in it.
ATOL = 1e-14

laws = st.integers(2, 5).flatmap(lambda m: st.tuples(simplex_points(m), simplex_points(m)))
priors = st.floats(0.01, 0.99)


class ZeroOne(BregmanGenerator):
    """Convex but not differentiable: the zero-one loss of the most probable class."""

    def value(self, p: Any) -> Any:
        return p.max(axis=-1) - 1


def joint(prior: float, pair: tuple[Floats, Floats]) -> Floats:
    return np.stack([(1 - prior) * pair[0], prior * pair[1]], axis=1)


def mixture(prior: float, pair: tuple[Floats, Floats]) -> Floats:
    return np.asarray((1 - prior) * pair[0] + prior * pair[1])


@given(priors, laws)
def test_log_is_the_skewed_jensen_shannon_divergence(prior: float, pair: tuple[Floats, Floats]) -> None:
    p = mixture(prior, pair)
    expected = (1 - prior) * rel_entr(pair[0], p).sum() + prior * rel_entr(pair[1], p).sum()
    assert sharpness_divergence(Log(), joint(prior, pair)) == pytest.approx(expected, abs=ATOL)
    balanced = sharpness_divergence(Log(), joint(0.5, pair))
    # scipy takes a square root, which turns an error of 1e-16 at 0 into one of 1e-8; squared again it is gone.
    with np.errstate(invalid="ignore"):
        distance = np.nan_to_num(jensenshannon(*pair))
    assert balanced == pytest.approx(distance**2, abs=1e-14)


@given(priors, laws)
def test_brier_is_a_skewed_chi_square(prior: float, pair: tuple[Floats, Floats]) -> None:
    p = mixture(prior, pair)
    seen = p > 0
    chi_square = ((pair[1] - p)[seen] ** 2 / p[seen]).sum()
    found = sharpness_divergence(Brier(), joint(prior, pair))
    assert found == pytest.approx(2 * prior**2 * chi_square, abs=ATOL)
    gap = (pair[1] - pair[0])[seen] ** 2
    assert found == pytest.approx(2 * (prior * (1 - prior)) ** 2 * (gap / p[seen]).sum(), abs=ATOL)
    triangular = (gap / (pair[0] + pair[1])[seen]).sum()
    assert sharpness_divergence(Brier(), joint(0.5, pair)) == pytest.approx(triangular / 4, abs=ATOL)
    assert sharpness_divergence(Tsallis(2), joint(0.5, pair)) == pytest.approx(triangular / 4, abs=ATOL)


@given(priors, laws)
def test_tsallis_one_half_is_made_of_hellinger_distances(prior: float, pair: tuple[Floats, Floats]) -> None:
    p = mixture(prior, pair)
    weights = np.sqrt([1 - prior, prior])
    expected = sum(w * ((np.sqrt(q) - np.sqrt(p)) ** 2).sum() for w, q in zip(weights, pair, strict=True))
    assert sharpness_divergence(Tsallis(0.5), joint(prior, pair)) == pytest.approx(expected, abs=ATOL)


@given(laws)
def test_spherical_is_the_perimeter_divergence(pair: tuple[Floats, Floats]) -> None:
    expected = 0.5 * (np.hypot(*pair) - (pair[0] + pair[1]) / np.sqrt(2)).sum()
    assert sharpness_divergence(Spherical(), joint(0.5, pair)) == pytest.approx(expected, abs=ATOL)


@given(laws)
def test_zero_one_is_half_the_total_variation(pair: tuple[Floats, Floats]) -> None:
    variation = 0.5 * np.abs(pair[0] - pair[1]).sum()
    assert sharpness_divergence(ZeroOne(), joint(0.5, pair)) == pytest.approx(variation / 2, abs=ATOL)
