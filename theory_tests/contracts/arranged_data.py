"""Data whose rows and columns stand in any order, with their names, without, or against them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from theory_tests.contracts.holders_of_data import HOLDERS, Holder

N, K, HALF = 84, 3, 42
CLASSES = ["a", "b", "c"]
Order = Any


def _made() -> dict[str, Any]:
    """Every argument, as a plain array in one order of rows and columns."""
    rng = np.random.default_rng(26)
    p, q, r = (rng.dirichlet([1.2] * K, N) for _ in range(3))
    code = np.array([rng.choice(K, p=row) for row in p])
    outcome = rng.normal(size=N)
    return {
        "y": np.array(CLASSES)[code],
        "p": p,
        "q": q,
        "r": r,
        "w": rng.uniform(0.8, 1.2, N),
        "g": np.repeat([f"g{i:02}" for i in range(N // 2)], 2),
        "s": np.array(["north", "south"])[rng.integers(0, 2, N)],
        "t": np.array(["day", "night"])[rng.integers(0, 2, N)],
        "outcome": outcome,
        "members": outcome[:, None] / 2 + rng.normal(size=(N, 4)),
        "quantiles": np.sort(outcome[:, None] / 2 + rng.normal(size=(N, 3)), axis=1),
        "layer": rng.normal(size=(N, 2)) + code[:, None],
        "deeper": rng.normal(size=(N, 2)) + 2 * code[:, None],
        "feature": rng.normal(size=N),
        "hit": np.where(code == 0, "hit", "miss"),
        "of_hit": p[:, 0],
        "other_of_hit": q[:, 0],
        "third_of_hit": r[:, 0],
        "others": outcome[:, None] / 3 + rng.normal(size=(N, 5)),
    }


ROLES = _made()
#: Names of the columns of tables.
NAMES: dict[str, list[Any]] = {
    **dict.fromkeys("pqr", CLASSES),
    "members": ["m1", "m2", "m3", "m4"],
    "quantiles": ["0.1", "0.5", "0.9"],
    "layer": ["u", "v"],
    "deeper": ["u", "v"],
    "others": ["n1", "n2", "n3", "n4", "n5"],
}
#: No default index, and none that is sorted.
INDEX = np.random.default_rng(1).permutation(N) + 1000


def within_halves(seed: int) -> Order:
    """An order of rows that leaves each half of them where it is."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(HALF), HALF + rng.permutation(N - HALF)])


#: For each role an order of its own, which is neither that of another nor its own inverse.
ROWS = {role: within_halves(i) for i, role in enumerate(ROLES)}
COLUMNS = {role: np.roll(np.arange(len(names)), 1 + i % 2)[:: -1 if i % 3 == 2 else 1] for i, (role, names) in enumerate(NAMES.items())}


@dataclass(frozen=True)
class Arranged:
    """Arguments of a function by their role, made of `ROLES` in orders of their own."""

    roles: tuple[str, ...]
    holder: Holder = HOLDERS["pandas"]
    rows: Mapping[str, Order] = field(default_factory=dict)
    """By role, which row of `ROLES` stands at each place; as they are where nothing is said."""
    columns: Mapping[str, Order] = field(default_factory=dict)
    plain: frozenset[str] = frozenset()
    """Roles without names."""
    index: Mapping[str, Any] = field(default_factory=dict)
    """By role, labels of the rows of `ROLES` other than `INDEX`."""
    names: Mapping[str, list[Any]] = field(default_factory=dict)
    """By role, names of the columns of `ROLES` other than `NAMES`."""
    fixed: frozenset[str] = frozenset()
    """Roles whose columns stand in one order in both halves."""
    one_hot: Order | None = None
    """The order of the columns of an indicator that takes the place of labels."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """By role, values other than `ROLES`."""
    held: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """By role, what becomes of it at last."""
    only: Any = ...
    """Of which rows."""
    later: Mapping[str, list[Any]] = field(default_factory=dict)
    """By role, names of columns in the second half."""

    def __getitem__(self, role: str) -> Any:
        values = self.values.get(role, ROLES[role])
        order = self.order(role)
        index = np.asarray(self.index.get(role, INDEX))[order]
        names = NAMES.get(role)
        if role == "y" and self.one_hot is not None:
            names = list(np.array(CLASSES)[self.one_hot])
            values = (values[:, None] == np.array(names)).astype(int)
            names = list(self.names.get(role, names))
        elif names is not None:
            places = self.columns.get(role, np.arange(len(names)))
            values = values[:, places]
            names = list(np.array(self.names.get(role, names), dtype=object)[places])
        values = values[order]
        if role in self.plain:
            return values
        made = self.holder.column(values, index) if names is None else self.holder.table(values, names, index)
        return self.held[role](made) if role in self.held else made

    def order(self, role: str) -> Order:
        """Which row of `ROLES` stands at each place of this role."""
        order = self.rows.get(role, np.arange(N))
        kept = np.zeros(N, dtype=bool)
        kept[self.only] = True
        return order[kept[order]]

    def back(self, found: Any, role: str = "p", columns: bool = True) -> Any:
        """Bring what was found for each row, and each column, of a role into the order of `ROLES`."""
        found = np.asarray(found, dtype=float)
        found = found[np.argsort(self.order(role))]
        places = self.columns.get(role)
        return found[:, np.argsort(places)] if columns and places is not None else found

    def halves(self) -> tuple[Arranged, Arranged]:
        """The first rows and the others, whose columns stand in an order of their own."""
        turned = {role: order if role in self.fixed else np.roll(order, 1) for role, order in self.columns.items()}
        return replace(self, only=slice(HALF)), replace(self, only=slice(HALF, None), columns=turned, names={**self.names, **self.later})


def by_role(roles: Iterable[str], orders: Mapping[str, Order]) -> dict[str, Order]:
    return {role: orders[role] for role in roles if role in orders}


def as_numpy(roles: tuple[str, ...], **options: Any) -> Arranged:
    """The same without any names."""
    return Arranged(roles, plain=frozenset(roles), **options)


def frame(values: Any, columns: list[Any], index: Any) -> Any:
    return pd.DataFrame(values, index, columns)
