"""For the log loss the sharpness is the mutual information of prediction and label, in nats.

SHARP_Log = Σ P(z, y) log [P(z, y) / (P(z) P(y))] = H(Y) − H(Y | Z) = H(Z) − H(Z | Y).

Source: paper, section 5.1; entropies and divergences from scipy.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr
from scipy.stats import entropy

from propercal.information import sharpness_divergence, statistical_information
from propercal.testing.strategies import joint_tables
from theory_tests.laws.populations import Floats

# Sums of at most 20 terms below 1: a few hundred ulps at most.
ATOL = 1e-14

any_table = st.integers(2, 4).flatmap(joint_tables)


@given(any_table)
def test_sharpness_is_the_mutual_information(joint: Floats) -> None:
    marginal, prior = joint.sum(axis=1), joint.sum(axis=0)
    expected = rel_entr(joint, np.outer(marginal, prior)).sum()
    assert sharpness_divergence("log", joint) == pytest.approx(expected, abs=ATOL)
    assert statistical_information("log", joint) == pytest.approx(expected, abs=ATOL)
    by_entropies = entropy(marginal) + entropy(prior) - entropy(joint.ravel())
    assert sharpness_divergence("log", joint) == pytest.approx(by_entropies, abs=ATOL)


@given(any_table.filter(lambda joint: bool((joint.sum(axis=0) > 0).all())))
def test_it_is_symmetric(joint: Floats) -> None:
    assert sharpness_divergence("log", joint) == pytest.approx(sharpness_divergence("log", joint.T.copy()), abs=ATOL)


def test_one_bit() -> None:
    assert sharpness_divergence("log", [[0.5, 0.0], [0.0, 0.5]]) == pytest.approx(np.log(2), abs=ATOL)
