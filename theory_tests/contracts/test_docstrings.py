"""Docstrings of public functions: parameters begin where the call does."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import propercal

FUNCTIONS = {name: found for name in propercal.__all__ if inspect.isfunction(found := getattr(propercal, name))}
_FIRST = re.compile(r"^Parameters\n-+\n([^:\n]+)", re.MULTILINE)


def first_documented(function: Callable[..., Any]) -> str | None:
    found = _FIRST.search(inspect.getdoc(function) or "")
    return found[1].split(",")[0].strip().lstrip("*") if found else None


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_first_parameter_is_documented_first(name: str) -> None:
    first = first_documented(FUNCTIONS[name])
    assert first in {None, next(iter(inspect.signature(FUNCTIONS[name]).parameters), None)}


def test_another_order_is_seen() -> None:
    def turned_round(one: int, other: int) -> int:
        """Add.

        Parameters
        ----------
        other, one : int
            Numbers.
        """
        return one + other

    assert len(FUNCTIONS) > 10
    assert first_documented(turned_round) == "other"
