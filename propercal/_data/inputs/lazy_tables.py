"""Lazy tables, computed together, where that gives all of them the same rows in the same order.

A query without an order, such as a join, gives its rows in another order each time it is computed,
and one that draws gives other rows. Polars computes what several queries share once, as its plan
says; what is outside of that is refused. Where an answer has a value for each row, or depends on
their order, one such query alone is refused too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from propercal._array import is_array
from propercal._data.inputs.holders import Held, is_labelled, is_table, not_computed
from propercal._data.words.messages import bad_value

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
_SHARED = re.compile(r"^( *)CACHE\[id: ([^\]]+)\]")
_PLAN = re.compile(r"^  PLAN \d+:$")


class _Part(NamedTuple):
    """A part of a plan that is computed once."""

    steps: str
    """Its own steps."""
    shared: frozenset[str]
    """Parts that it is made from, others too."""


def collected(*arguments: Any) -> tuple[Any, ...]:
    """Return arguments with lazy tables in memory, computed together, or raise."""
    lazy = {i: frame for i, each in enumerate(arguments) if (frame := _lazy(each)) is not None}
    if not lazy:
        return arguments
    kinds = {type(each).__module__.partition(".")[0] for each in lazy.values()}
    # Of one table that is passed twice polars would not see that it shares a part with others.
    queries = {id(frame): frame for frame in lazy.values()}
    if len(queries) > 1 and kinds != {"polars"}:
        raise bad_value(
            "data",
            f"{len(queries)} lazy tables ({', '.join(sorted(kinds))})",
            "one lazy table at most, since each may give its rows in another order",
            "compute one table of all columns, and pass columns of it",
        )
    others = any(i not in lazy and each is not None for i, each in enumerate(arguments))
    if kinds != {"polars"}:
        if others:
            raise _in_any_order("data", f"of {kinds.pop()}, whose order no plan tells")
        return arguments
    try:
        odd = _step_in_any_order(list(queries.values()), others)
        found = [] if odd else sys.modules["polars"].collect_all(list(queries.values()))
    except Exception as error:
        if len(queries) == 1:
            # Whoever reads it says which argument it is.
            return arguments
        raise not_computed("data", error) from error
    if odd:
        raise _in_any_order("data", f"whose rows are in any order, or drawn ({odd})")
    own = dict(zip(queries, found, strict=True))
    return tuple(own[id(lazy[i])] if i in lazy else each for i, each in enumerate(arguments))


def _in_any_order(argument: str, which: str) -> ValueError:
    return bad_value(
        argument,
        f"a lazy table {which}, beside others",
        "rows that all have in one order",
        "call .collect() once on a query of all columns, sorted where it has no order, and "
        "pass columns of it",
    )


def step_in_any_order(*arguments: object) -> str | None:
    """Return a step after which rows of a lazy table are in any order; None if all have one."""
    for each in arguments:
        frame = _lazy(each)
        if frame is None:
            continue
        library = type(frame).__module__.partition(".")[0]
        if library != "polars":
            return f"a query of {library}"
        try:
            odd = _step_in_any_order([frame], others=True)
        except sys.modules["polars"].exceptions.PolarsError:
            # Whoever computes it says what is wrong.
            continue
        if odd:
            return odd
    return None


def check_ordered(argument: str, values: object, expected: str) -> None:
    """Raise if rows of `values` come in any order, where an answer needs `expected`."""
    odd = step_in_any_order(values)
    if odd:
        raise bad_value(
            argument,
            f"a lazy table whose rows are in any order, or drawn ({odd})",
            expected,
            "call .collect() once on a query of all columns, sorted where it has no order, and "
            "pass columns of it",
        )


#: What is expected where an answer has a value for each row.
FOR_EACH_ROW = "rows in an order that is known, since the answer has a value for each of them"


def _lazy(values: object) -> Any:
    """Return a lazy table as the library that made it has it; None for other data."""
    if isinstance(values, Held) or is_labelled(values) or is_array(values) or not is_table(values):
        return None
    import narwhals as nw

    try:
        frame: Any = nw.from_native(values, pass_through=True, allow_series=True)
    except (TypeError, ValueError, nw.exceptions.NarwhalsError):
        # What cannot be read is said where it is read.
        return None
    return frame.to_native() if isinstance(frame, nw.LazyFrame) else None


def _step_in_any_order(queries: Sequence[Any], others: bool) -> str | None:
    """Return a step of queries after which their rows are not those that they stand beside.

    `others` says that there are data in memory beside them.
    """
    if len(queries) == 1 and not others:
        return None
    explain_all = getattr(sys.modules["polars"], "explain_all", None)
    if len(queries) == 1 or explain_all is None:
        plans, parts = _parts([each.explain() for each in queries])
    else:
        plans, parts = _parts(_apart(explain_all(list(queries))))
    reached = [_reached(plan.shared, parts) for plan in plans]
    common = frozenset() if others else frozenset.intersection(*reached)
    steps = [plan.steps for plan in plans]
    steps += [parts[name].steps for name in frozenset().union(*reached) - common]
    odd = [found.group() for each in steps if (found := _UNORDERED.search(each))]
    return odd[0].strip(" .([") if odd else None


def _apart(text: str) -> list[str]:
    """Return the plan of each of several queries."""
    plans: list[list[str]] = []
    for line in text.splitlines():
        if _PLAN.match(line):
            plans.append([])
        elif plans and line.startswith("    "):
            plans[-1].append(line)
    return ["\n".join(lines) for lines in plans]


def _parts(texts: Sequence[str]) -> tuple[list[_Part], dict[str, _Part]]:
    """Return the plans, and the parts of them that are computed once."""
    parts: dict[str, _Part] = {}
    plans = [_read(_QUOTED.sub('""', text).splitlines(), parts) for text in texts]
    return plans, parts


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
