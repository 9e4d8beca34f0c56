"""Information monotonicity: processing a prediction cannot make it sharper.

I_{F^Y}(M P_1, ..., M P_k ‖ M P) ≤ I_{F^Y}(P_1, ..., P_k ‖ P) for every Markov kernel M, with equality where M
can be undone (an injective map, or noise that leaves the value legible). So along the layers
h_l ∘ ... ∘ h_1 of a network SHARP(h_l) ≤ ... ≤ SHARP(h_1) ≤ SI_F(X; Y).

Source: paper, section 5.2, "Information monotonicity in neural networks", and appendix B.2.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from propercal.generators import Brier, Log
from propercal.information import apply_markov_map, sharpness_divergence, statistical_information
from propercal.testing.strategies import markov_kernels
from theory_tests.laws.populations import EPS, Case, rounding, tables
from theory_tests.laws.samples import fewer


@given(tables(), st.integers(2, 5), st.data())
def test_any_markov_kernel_loses_information(case: Case, n_outputs: int, data: st.DataObject) -> None:
    generator, joint = case
    kernel = data.draw(markov_kernels(len(joint), n_outputs))
    after = sharpness_divergence(generator, apply_markov_map(joint, kernel))
    assert after <= sharpness_divergence(generator, joint) + 2 * rounding(generator, joint)


@given(tables(), st.integers(0, 2), st.data())
def test_an_injective_map_keeps_it(case: Case, n_more: int, data: st.DataObject) -> None:
    generator, joint = case
    kernel = data.draw(markov_kernels(len(joint), max(2, len(joint) + n_more), injective=True))
    after = sharpness_divergence(generator, apply_markov_map(joint, kernel))
    assert abs(after - sharpness_divergence(generator, joint)) <= 2 * rounding(generator, joint)


@given(tables(), st.lists(st.floats(0.01, 0.99), min_size=5, max_size=5))
def test_noise_that_leaves_the_value_legible_keeps_it(case: Case, share: list[float]) -> None:
    generator, joint = case
    m = len(joint)
    # Value z becomes 2z or 2z + 1 at random: a sufficient statistic of the result is z.
    split = np.asarray(share[:m])[:, None] * np.eye(m)
    kernel = np.stack([split, np.eye(m) - split], axis=2).reshape(m, 2 * m)
    after = sharpness_divergence(generator, apply_markov_map(joint, kernel))
    assert abs(after - sharpness_divergence(generator, joint)) <= 2 * rounding(generator, joint)


@fewer
@given(tables(min_values=2), st.lists(st.integers(2, 5), min_size=3, max_size=5), st.data())
def test_a_chain_of_layers_is_monotone_and_bounded_by_the_information_of_the_input(
    case: Case, widths: list[int], data: st.DataObject
) -> None:
    generator, joint = case
    bound = statistical_information(generator, joint)
    before = bound
    for width in widths:
        joint = apply_markov_map(joint, data.draw(markov_kernels(len(joint), width)))
        after = sharpness_divergence(generator, joint)
        assert after <= before + 2 * rounding(generator, joint)
        before = after
    assert before <= bound + 10 * rounding(generator, joint)


@given(tables(), st.integers(2, 4), st.data())
def test_a_markov_map_is_the_law_of_total_probability(case: Case, n_outputs: int, data: st.DataObject) -> None:
    _, joint = case
    kernel = data.draw(markov_kernels(len(joint), n_outputs))
    result = apply_markov_map(joint, kernel)
    for after in range(n_outputs):
        for y in range(joint.shape[1]):
            total = sum(kernel[z, after] * joint[z, y] for z in range(len(joint)))
            assert abs(result[after, y] - total) <= 10 * EPS
    # Labels keep their law.
    np.testing.assert_allclose(result.sum(axis=0), joint.sum(axis=0), atol=20 * EPS)


def test_the_loss_of_information_is_strict_where_different_predictions_merge() -> None:
    joint = np.array([[0.4, 0.1], [0.1, 0.4]])
    merged = apply_markov_map(joint, [[1.0, 0.0], [1.0, 0.0]])
    noisy = apply_markov_map(joint, [[0.9, 0.1], [0.1, 0.9]])
    for generator in (Log(), Brier()):
        assert abs(sharpness_divergence(generator, merged)) <= 10 * EPS
        # Brier: 2 · ¼ · (contrast)², where the contrast of 0.6 shrinks by 0.8.
        assert sharpness_divergence(generator, noisy) < 0.7 * sharpness_divergence(generator, joint)
    assert abs(sharpness_divergence("brier", noisy) - 0.5 * 0.48**2) <= 10 * EPS
