"""Of finite distributions: which argument a message names, what it says to do, and the dtype of a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from propercal.generators import Brier
from propercal.information import (
    apply_markov_map,
    f_divergence,
    sharpness_divergence,
    sharpness_function,
    statistical_information,
)

JOINT = np.array([[0.2, 0.1], [0.1, 0.3], [0.05, 0.25]])
MAP = np.array([[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]])
PRIOR = np.array([0.4, 0.6])
NEGATIVE = np.array([[0.5, 0.7], [-0.2, 0.0]])


def total_variation(x: Any) -> Any:
    return abs(x[:, 0] - x[:, 1]) / 2


CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "rows of distributions": (lambda: f_divergence(total_variation, [[0.5, 0.5], [0.5, 0.6]], [0.5, 0.5]), "distributions = an array with a sum of 1.1: expected a sum of 1; every row must sum to 1."),
    "reference": (lambda: f_divergence(total_variation, [[0.5, 0.5], [0.5, 0.5]], [0.5, 0.75]), "reference = an array with a sum of 1.25: expected a sum of 1; "),
    "shape of distributions": (lambda: f_divergence(total_variation, PRIOR, PRIOR), "distributions = an array of shape (2,): expected 2 dimensions, none of them empty; "),
    "prior": (lambda: sharpness_function("brier", [0.5, 0.4]), "prior = an array with a sum of 0.9: expected a sum of 1; divide it by its sum."),
    "shape of the prior": (lambda: sharpness_function("brier", JOINT), "prior = an array of shape (3, 2): expected 1 dimension, none of them empty; "),
    "joint": (lambda: sharpness_divergence("log", 2 * JOINT), "joint = an array with a sum of 2: expected a sum of 1; divide the table by its sum."),
    "entry of joint": (lambda: statistical_information("log", NEGATIVE), "joint = -0.2 at [1, 0]: expected probabilities ≥ 0; correct the table."),
    "joint of a map": (lambda: apply_markov_map(PRIOR, MAP), "joint = an array of shape (2,): expected 2 dimensions, "),
    "kernel": (lambda: apply_markov_map(JOINT, MAP * [1.0, 0.5]), "kernel = an array with a sum of 0.625: expected a sum of 1; every row must sum to 1."),
    "shape of the kernel": (lambda: apply_markov_map(JOINT, PRIOR), "kernel = an array of shape (2,): expected 2 dimensions, "),
}


@pytest.mark.parametrize("case", CASES)
def test_a_message_names_the_argument_and_says_what_to_do(case: str) -> None:
    call, message = CASES[case]
    with pytest.raises(ValueError, match="expected") as raised:
        call()
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_have_the_dtype_of_the_first_table(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    kind = getattr(torch, dtype)
    joint, kernel = torch.asarray(JOINT, dtype=kind), torch.asarray(MAP)
    distributions = torch.asarray([[0.5, 0.5], [0.25, 0.75]], dtype=kind)
    for found in (
        f_divergence(total_variation, distributions, torch.asarray(PRIOR)),
        sharpness_divergence(Brier(), joint),
        statistical_information(Brier(), joint),
        apply_markov_map(joint, kernel),
    ):
        assert found.dtype == kind


def test_lists_and_whole_numbers_are_read_in_double_precision() -> None:
    torch = pytest.importorskip("torch")
    whole = np.array([[1, 0], [0, 0]])
    assert apply_markov_map(whole, np.eye(2, dtype=np.int64)).dtype == np.float64
    # The table decides, not the map it is sent through.
    mixed = apply_markov_map(JOINT.tolist(), torch.asarray(MAP, dtype=torch.float32))
    assert mixed.dtype == torch.float64
    np.testing.assert_allclose(mixed, MAP.T @ JOINT, rtol=1e-6)
