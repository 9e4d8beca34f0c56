"""Members of an Enum stand for their values, as labels, names of columns, groups and the positive class."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum, IntEnum, StrEnum
from typing import Any

import numpy as np
import pytest

from propercal import CalibrationSketch, decompose
from theory_tests.instances import calibrated

Y, P = calibrated(60, 3)
B, G = (Y == 2).astype(int), P[:, 2]


class Mixed(str, Enum):  # noqa: UP042  # what NumPy writes by name
    FIRST, SECOND, THIRD = "z", "y", "x"


class Words(StrEnum):
    FIRST, SECOND, THIRD = "z", "y", "x"


class Numbers(IntEnum):
    FIRST, SECOND, THIRD = 2, 1, 0


class Plain(Enum):
    FIRST, SECOND, THIRD = 2, 1, 0


def risk(y_true: Any, y_proba: Any, **options: Any) -> float:
    options = {"method": "risk", "bandwidth": 0.1, **options}
    return float(decompose(y_true, y_proba, generator="brier", **options).risk)


HOLDERS: list[Callable[[Sequence[Any]], Any]] = [list, tuple, deque, lambda x: np.array(x, dtype=object), lambda x: [[each] for each in x]]


@pytest.mark.parametrize("kind", [Mixed, Words, Numbers, Plain])
def test_labels_are_the_values(kind: Any) -> None:
    third = list(kind)[::-1]
    labels = [third[i] for i in Y]
    for hold in HOLDERS:
        assert risk(hold(labels), P) == pytest.approx(risk(Y, P), rel=1e-12)
        assert risk(hold(labels), P[:, ::-1], labels=list(kind)) == pytest.approx(risk(Y, P), rel=1e-12)
        positive = hold([third[2] if each else third[1] for each in B])
        assert risk(positive, G, pos_label=third[2]) == pytest.approx(risk(B, G), rel=1e-12)
        sketch = CalibrationSketch(3, generator="brier", labels=[each.value for each in third])
        sketch.update(hold(labels), P)
        assert sketch.result().risk == pytest.approx(risk(Y, P, notion="classwise"), rel=1e-9)


@pytest.mark.parametrize("kind", [Mixed, Words, Numbers, Plain])
def test_names_of_columns_are_the_values(kind: Any) -> None:
    pd = pytest.importorskip("pandas")
    third = list(kind)[::-1]
    table = pd.DataFrame(P, columns=third)[list(kind)]
    values = [third[i].value for i in Y]
    assert risk(values, table) == pytest.approx(risk(Y, P), rel=1e-12)
    sketch = CalibrationSketch(3, generator="brier")
    for part in (slice(0, 30), slice(30, 60)):
        sketch.update(values[part], table[part])
    assert sketch.result().risk == pytest.approx(risk(Y, P, notion="classwise"), rel=1e-9)


def test_groups_are_the_values() -> None:
    members: Any = {f"of {i}": f"g{i:02}" for i in range(30)}
    kind: Any = Enum("kind", members, type=str)  # type: ignore[misc]  # of members that are made here
    groups = [list(kind)[i % 30] for i in range(60)]
    found = decompose(Y, P, generator="brier", groups=groups)
    assert found.n_groups == 30
    assert found.standard_errors == decompose(Y, P, generator="brier", groups=np.arange(60) % 30).standard_errors


class Animal(Enum):
    CAT, DOG, EEL = 1, 2, 3


class Code(IntEnum):
    CAT, DOG, EEL = 0, 1, 2


@pytest.mark.parametrize("kind", [Animal, Code])
def test_columns_may_have_the_names_of_members(kind: Any) -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(P, columns=["CAT", "DOG", "EEL"])
    moved, labels = table[["EEL", "CAT", "DOG"]], [list(kind)[i] for i in Y]
    right = risk(Y, P)
    holders: list[Callable[[Sequence[Any]], Any]] = [*HOLDERS, lambda x: pd.Series(x, dtype=object)]
    for hold in holders:
        for given in (table, moved, moved.rename(columns=str.lower)):
            assert risk(hold(labels), given) == pytest.approx(right, rel=1e-12)
    sketch = CalibrationSketch(3, generator="brier")
    for part in (slice(0, 30), slice(30, 60)):
        sketch.update(labels[part], moved[part])
    assert sketch.result().risk == pytest.approx(risk(Y, P, notion="classwise"), rel=1e-9)
    # The caller says the class of every column in order.
    for y in (labels, [each.value for each in labels]):
        assert risk(y, table, labels=list(kind)) == pytest.approx(right, rel=1e-12)
        with pytest.raises(ValueError, match=r"^labels = .* of the columns \['CAT', 'DOG', 'EEL'\]: expected the order of those of y_proba"):
            risk(y, moved, labels=list(kind))
    first: Any = [list(kind)[1 - each] for each in B]
    if kind is Code:
        assert risk(first, pd.Series(G, name="CAT")) == pytest.approx(risk(B, G), rel=1e-12)
    assert risk(first, G, pos_label=kind.CAT) == pytest.approx(risk(B, G), rel=1e-12)
