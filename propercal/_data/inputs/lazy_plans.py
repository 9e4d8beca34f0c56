"""What plans of polars say of rows: that they come in any order, or in another than others'.

A plan lists the steps of a query from the last one to its source. Parts that several queries share
are computed once, and named.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

#: Names and texts, in which anything may stand.
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
#: Steps of a plan whose rows come in any order, or are drawn.
_UNORDERED = re.compile(
    r"maintain_order: false"
    r"|\bJOIN\b"
    r"|^\s*(?:AGGREGATE|UNIQUE)(?!\[maintain_order: true)"
    r"|\.(?:unique|value_counts|mode|sample|shuffle)\("
    # Ranks may be drawn, which no plan says, and what Python does may be anything.
    r"|\.(?:rank|top_k|top_k_by|bottom_k|bottom_k_by|python_udf)\("
    r"|\bOPAQUE_PYTHON\b|\bPYTHON SCAN\b"
    # Of rows that tie where a sort is cut off, any are kept.
    r"|\bSORT BY \[(?=[^\]]*slice:)(?![^\]]*maintain_order: true)",
    re.MULTILINE,
)
#: Steps that put rows in another order, or leave some out, of tables and of columns by themselves.
_SORT_OR_SLICE = re.compile(r"^\s*(SORT BY .*|SLICE\[[^\]]*\]|SLICE: .*)")
_FILTER = re.compile(r"^\s*(?:FILTER|SELECTION:) (.*)")
_OF_COLUMN = re.compile(
    r"(?<!\.list)(?<!\.arr)(?<!\.str)\.(?:sort|sort_by|reverse)\((?:[^()]|\([^()]*\))*\)?"
)
#: Rows without a value are left out of labels and predictions alike, each by its own column.
_OF_MISSING = re.compile(r"\.is_not_(?:null|nan)\(|dynamic_pred")
_SOURCE = re.compile(r"\bSCAN (\[.*\])")
_SHARED = re.compile(r"^( *)CACHE\[id: ([^\]]+)\]")
_PLAN = re.compile(r"^  PLAN \d+:$")


class _Part(NamedTuple):
    """A part of a plan that is computed once."""

    steps: str
    """Its own steps."""
    shared: frozenset[str]
    """Parts that it is made from, others too."""


class Plans(NamedTuple):
    """Plans of queries that are computed together."""

    own: list[_Part]
    parts: dict[str, _Part]
    """Those that are computed once, by their names."""
    quoted: list[str]
    """Names and texts, whose numbers stand in their place."""

    def reached(self, i: int) -> frozenset[str]:
        """Return the shared parts that a query is made from."""
        return _reached(self.own[i].shared, self.parts)


def plans_of(queries: Sequence[Any]) -> Plans:
    """Return the plans of queries."""
    explain_all = getattr(sys.modules["polars"], "explain_all", None)
    if len(queries) == 1 or explain_all is None:
        texts = [each.explain() for each in queries]
    else:
        texts = _apart(explain_all(list(queries)))
    places: dict[str, int] = {}

    def numbered(found: re.Match[str]) -> str:
        return f'"{places.setdefault(found.group(), len(places))}"'

    parts: dict[str, _Part] = {}
    own = [_read(_QUOTED.sub(numbered, text).splitlines(), parts) for text in texts]
    return Plans(own, parts, list(places))


def step_out_of_order(plans: Plans, others: bool) -> str | None:
    """Return a step of queries after which their rows are not those that they stand beside.

    `others` says that there are data in memory beside them.
    """
    if len(plans.own) == 1 and not others:
        return None
    reached = [plans.reached(i) for i in range(len(plans.own))]
    common = frozenset() if others else frozenset.intersection(*reached)
    steps = [plan.steps for plan in plans.own]
    steps += [plans.parts[name].steps for name in frozenset().union(*reached) - common]
    odd = [found.group() for each in steps if (found := _UNORDERED.search(each))]
    return odd[0].strip(" .([") if odd else None


def step_of_one_alone(queries: Sequence[Any]) -> str | None:
    """Return a step that moves rows, or leaves some out, of one alone of two of the same source."""
    # Of more than two, a plan does not say whether all share a table in memory.
    found = (_of_one_alone(plans_of(two)) for two in combinations(queries, 2))
    return next((step for step in found if step is not None), None)


def _of_one_alone(plans: Plans) -> str | None:
    """Return that step of two queries."""
    common = plans.reached(0) & plans.reached(1)
    pair = [_apart_from(common, i, plans) for i in (0, 1)]
    sources = [{*_SOURCE.findall(text)} for text in pair]
    if not common and not sources[0] & sources[1]:
        return None
    (first, kept), (second, left) = map(_moves, pair)
    if first == second and kept == left:
        return None
    of_one = [each for each in (*first, *second) if first.count(each) != second.count(each)]
    step = (*of_one, *first, *sorted(kept ^ left))[0]
    return re.sub(r'"(\d+)"', lambda found: plans.quoted[int(found[1])], step)


def _apart_from(common: frozenset[str], i: int, plans: Plans) -> str:
    """Return the steps of a query that are not shared by two."""
    own = plans.reached(i) - common
    shared = [part.steps for name, part in plans.parts.items() if name in own]
    return "\n".join([plans.own[i].steps, *shared])


def _moves(text: str) -> tuple[list[str], frozenset[str]]:
    """Return steps that order rows or cut them off, in turn, and conditions on rows."""
    steps: list[str] = []
    conditions: set[str] = set()
    for line in text.splitlines():
        if found := _FILTER.match(line):
            conditions |= {each.strip("() ") for each in _conditions(found[1])}
        elif found := _SORT_OR_SLICE.match(line):
            steps.append(re.sub(r", dynamic_pred: [-\w]+", "", found[1]))
        elif ".over(" not in line:
            steps += dict.fromkeys(_OF_COLUMN.findall(line))
    return steps, frozenset(conditions)


def _conditions(text: str) -> Iterator[str]:
    """Yield conditions that all have to hold, but for those on missing values."""
    return (each for each in text.split(" & ") if not _OF_MISSING.search(each))


def _apart(text: str) -> list[str]:
    """Return the plan of each of several queries."""
    plans: list[list[str]] = []
    for line in text.splitlines():
        if _PLAN.match(line):
            plans.append([])
        elif plans and line.startswith("    "):
            plans[-1].append(line)
    return ["\n".join(lines) for lines in plans]


def _read(lines: Sequence[str], parts: dict[str, _Part]) -> _Part:
    own: list[str] = []
    shared: set[str] = set()
    i = 0
    while i < len(lines):
        found = _SHARED.match(lines[i])
        i += 1
        if found is None:
            own.append(lines[i - 1])
            continue
        start, (indent, name) = i, found.groups()
        while i < len(lines) and lines[i].startswith(indent + " "):
            i += 1
        shared.add(name)
        # It is written out where it is met first.
        if i > start:
            parts[name] = _read(lines[start:i], parts)
    return _Part("\n".join(own), frozenset(shared))


def _reached(names: frozenset[str], parts: dict[str, _Part]) -> frozenset[str]:
    """Return parts of these names, and those that they are made from."""
    found: set[str] = set()
    left = set(names)
    while left:
        name = left.pop()
        found.add(name)
        left |= parts[name].shared - found if name in parts else set()
    return frozenset(found)
