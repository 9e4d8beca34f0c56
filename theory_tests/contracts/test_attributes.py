"""Attributes of labelled arrays that list classes, and times that weights alone have: nothing is named by them, and another order than is read is refused.

As in the tests of misleading names, the Brier score of two classes is 2 · 0.1² = 0.02; predictions of 0.9, 0.05, 0.05 have 0.1² + 2 · 0.05² = 0.015.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from propercal import compare_models, decompose
from theory_tests.contracts.test_opposed_names import EVENT, P, check, refused, risk

CODES = np.arange(30) % 3
THREE = 0.85 * np.eye(3)[CODES] + 0.05
#: In another order than that of the alphabet.
WORDS = np.array(["low", "mid", "high"])


def proba(values: Any = THREE, names: Any = None, **attributes: Any) -> xr.DataArray:
    return xr.DataArray(values, dims=("row", "kind"), coords={} if names is None else {"kind": list(names)}, attrs=attributes)


def labels(values: Any, **attributes: Any) -> xr.DataArray:
    return xr.DataArray(values, dims="row", attrs=attributes)


def check_three(y_true: Any, y_proba: Any, **options: Any) -> None:
    assert risk(y_true, y_proba, **options) == pytest.approx(0.015, rel=1e-12)


@pytest.mark.parametrize("name", ["classes", "class_names", "anything"])
@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_a_list_in_another_order_than_the_alphabet_is_refused(name: str, kind: Any) -> None:
    said = proba(**{name: kind(list(WORDS))})
    refused(rf"y_proba = an attribute '{name}' that lists classes as \['low', 'mid', 'high'\]: expected the order in which they are read, \['high', 'low', 'mid'\]", WORDS[CODES], said)
    check_three(WORDS[CODES], said, labels=list(WORDS))
    check_three(np.sort(WORDS)[CODES], proba(**{name: kind(sorted(WORDS))}))
    # What lists no such classes is of something else.
    check_three(np.sort(WORDS)[CODES], proba(history=["a", "b", "c"], units="1", sizes=[3, 1, 2], note="low mid high"))


def test_flags_of_labels_are_compared_with_columns_that_they_count() -> None:
    flags = {"flag_values": [0, 1, 2], "flag_meanings": "low mid high"}
    check_three(labels(CODES, **flags), proba(names=WORDS))
    check_three(labels(CODES, flag_values=np.array([2, 0, 1]), flag_meanings="high low mid"), proba(names=WORDS))
    refused("y_true = an attribute 'flag_meanings' that lists classes as", labels(CODES, **flags), proba(names=np.sort(WORDS)))
    # By name, each is beside its own.
    check_three(labels(WORDS[CODES], **flags), proba(THREE[:, [2, 0, 1]], names=np.sort(WORDS)))


def test_lists_of_both_are_compared_where_labels_count() -> None:
    flags = {"flag_meanings": "low mid high"}
    check_three(labels(CODES, **flags), proba(classes=list(WORDS)))
    refused("y_proba = an attribute 'classes' that lists classes as .*: expected the order of the attribute 'flag_meanings' of y_true", labels(CODES, **flags), proba(classes=sorted(WORDS)))
    check_three(labels(CODES), proba(classes=sorted(WORDS)))
    check_three(labels(CODES, **flags), proba())


def test_a_positive_class_among_attributes_says_nothing() -> None:
    for attributes in ({"pos_label": 0}, {"positive_class": "legit"}, {"classes": ["fraud", "legit"]}):
        check(EVENT, xr.DataArray(P[:, 1], dims="row", attrs=attributes))


# ---------------------------------------------------------------- times of weights

N = 60
Y, PROBA = np.random.default_rng(0).integers(0, 2, N), np.random.default_rng(1).dirichlet([1.0, 1.0], N)
WEIGHTS = np.random.default_rng(2).random(N) + 0.5
TIMES = pd.date_range("2024-01-01", periods=N)
SHUFFLED = TIMES[np.random.default_rng(3).permutation(N)]


@pytest.mark.parametrize("held", [lambda x: x, lambda x: pd.DataFrame(x).squeeze()], ids=["arrays", "frames"])
def test_weights_that_alone_have_times_stand_beside_rows(held: Any) -> None:
    right = decompose(Y, PROBA, sample_weight=WEIGHTS, generator="brier", method="risk", bandwidth=0.1).risk
    for times in (TIMES, TIMES[::-1], SHUFFLED):
        assert risk(held(Y), held(PROBA), sample_weight=pd.Series(WEIGHTS, times)) == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("held", [lambda x: x, lambda x: pd.DataFrame(x).squeeze()], ids=["arrays", "frames"])
def test_blocks_ask_for_the_order_of_times_that_weights_alone_have(held: Any) -> None:
    options: dict[str, Any] = {"blocks": 2, "generator": "brier"}
    for times in (TIMES, TIMES[::-1]):
        assert decompose(held(Y), held(PROBA), sample_weight=pd.Series(WEIGHTS, times), bandwidth=0.1, **options).n_groups == N // 2
    shuffled = pd.Series(WEIGHTS, SHUFFLED)
    with pytest.raises(ValueError, match=r"^blocks = 2 beside rows of the index .*, as sample_weight has it: expected the order of the series"):
        decompose(held(Y), held(PROBA), sample_weight=shuffled, bandwidth=0.1, **options)
    with pytest.raises(ValueError, match=r"^blocks = 2 beside rows of the index .*, as sample_weight has it: expected the order of the series"):
        compare_models(held(Y), {"a": held(PROBA), "b": held(PROBA)}, sample_weight=shuffled, **options)
    # Matched with rows that have the times too, weights are in their order.
    series = pd.Series(Y, TIMES), pd.DataFrame(PROBA, TIMES)
    of_times = pd.Series(WEIGHTS, TIMES)
    assert decompose(*series, sample_weight=of_times.loc[SHUFFLED], bandwidth=0.1, **options).risk == decompose(*series, sample_weight=of_times, bandwidth=0.1, **options).risk
