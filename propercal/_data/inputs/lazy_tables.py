"""Lazy tables, computed together, where that gives all of them the same rows in the same order.

A query without an order, such as a join, gives its rows in another order each time it is computed,
and one that draws gives other rows. Polars computes what several queries share once, as its plan
says; what is outside of that is refused. Where an answer has a value for each row, or depends on
their order, one such query alone is refused too.
"""

from __future__ import annotations

import sys
from typing import Any

from propercal._array import is_array
from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import is_labelled, is_table
from propercal._data.inputs.lazy_plans import plans_of, step_of_one_alone, step_out_of_order
from propercal._data.inputs.tables import not_computed
from propercal._data.words.messages import bad_value


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
        frames = list(queries.values())
        odd, moved = step_out_of_order(plans_of(frames), others), step_of_one_alone(frames)
        found = [] if odd or moved else sys.modules["polars"].collect_all(frames)
    except Exception as error:
        if len(queries) == 1:
            # Whoever reads it says which argument it is.
            return arguments
        raise not_computed("data", error) from error
    if odd:
        raise _in_any_order("data", f"whose rows are in any order, or drawn ({odd})")
    if moved:
        raise bad_value(
            "data",
            f"lazy tables of one source, of which one alone has the step {moved}",
            "rows that all have in one order",
            "take all columns from one query after this step, or call .collect() once on it",
        )
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
            odd = step_out_of_order(plans_of([frame]), others=True)
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
