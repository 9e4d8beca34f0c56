"""Label sets are drawn from the predictions: each class of a row as often as its probability says, by itself.

Which sets are asked for at a time leaves them alone, and so does how the class of a random number is found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from propercal.inference import label_sets
from propercal.inference.label_sets import LabelSets

FALSE_ALARM = 1e-6
CLASSES = (2, 3, 5, 64, 65, 128, 129, 200)


def sets_of(prob: Any, n_resamples: int, seed: int = 0) -> LabelSets:
    return LabelSets(prob, np.zeros(len(prob), dtype=np.int64), n_resamples, np.random.default_rng(seed))


@pytest.mark.parametrize("k", [2, 3, 65])
def test_classes_are_drawn_as_often_as_they_are_probable(k: int) -> None:
    """Rows need not sum to 1: what is drawn from is g over its sum."""
    rng = np.random.default_rng(k)
    prob = rng.dirichlet([0.5] * k, 6)
    n_draws = 20_000
    drawn = sets_of(1.3 * prob, n_draws).classes(slice(1, 1 + n_draws))
    for h, own in enumerate(prob):
        count = np.bincount(drawn[:, h], minlength=k)
        low, high = (binom.ppf(q, n_draws, own) for q in (FALSE_ALARM / 2, 1 - FALSE_ALARM / 2))
        assert (low <= count).all()
        assert (count <= high).all()
    # Rows are drawn independently, and so are sets.
    hits = drawn == np.argmax(prob, axis=1)
    for a, b in ((hits[:, 0], hits[:, 1]), (hits[:-1, 0], hits[1:, 0])):
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(n_draws)


@pytest.mark.parametrize("k", CLASSES)
def test_a_class_of_probability_0_is_never_drawn(k: int) -> None:
    rng = np.random.default_rng(0)
    prob = rng.dirichlet([1.0] * k, 4)
    prob[0, -1], prob[1, 0], prob[2] = 0, 0, np.eye(k)[k // 2]
    drawn = sets_of(prob, 200).classes(slice(1, 201))
    assert (drawn[:, 0] < k - 1).all()
    assert (drawn[:, 1] > 0).all()
    assert (drawn[:, 2] == k // 2).all()
    assert (drawn >= 0).all()
    assert (drawn < k).all()


@pytest.mark.parametrize("k", CLASSES)
def test_how_sets_are_made_leaves_them_alone(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    prob = np.random.default_rng(1).dirichlet([1.0] * k, 7)
    observed = np.arange(7) % k
    found = []
    for few, block, step in ((10**6, 2**17, 31), (1, 2**17, 31), (1, 20, 4), (10**6, 1, 1)):
        monkeypatch.setattr(label_sets, "_FEW_CLASSES", few)
        monkeypatch.setattr(label_sets, "_BLOCK_SIZE", block)
        sets = LabelSets(prob, observed, 30, np.random.default_rng(2))
        assert (len(sets), sets.n_samples) == (31, 7)
        found.append(np.concatenate([sets.classes(slice(i, min(i + step, 31))) for i in range(0, 31, step)]))
    assert (found[0][0] == observed).all()
    assert len(np.unique(found[0], axis=0)) > 10
    for other in found[1:]:
        assert (other == found[0]).all()
    assert (sets_of(prob, 30, seed=3).classes(slice(1, 31)) != found[0][1:]).any()
