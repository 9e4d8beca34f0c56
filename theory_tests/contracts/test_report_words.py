"""The words of a report: every warning has plain ones, and numbers the digits that they are worth."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import propercal
from propercal.reporting import words
from propercal.reporting.plain import in_plain_words

#: Rooms whose warnings a report passes on.
ROOMS = ("_data", "_methods", "_kernels", "diagrams", "inference", "subgroups")


def literal(node: ast.expr) -> str | None:
    """A message with an example for everything that is filled in; None if it is made elsewhere."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else example(part) for part in node.values)
    return None


def example(part: ast.expr) -> str:
    assert isinstance(part, ast.FormattedValue)
    if ast.unparse(part.value) == "found":
        return "only 3 rows had"
    return "7%" if part.format_spec is not None and "%" in ast.unparse(part.format_spec) else "7"


def warnings_of_the_package() -> list[str]:
    package = Path(propercal.__file__).parent
    calls = [
        node
        for room in ROOMS
        for path in sorted((package / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "warn"
    ]
    return [text for call in calls if (text := literal(call.args[0])) is not None]


@pytest.mark.parametrize("message", warnings_of_the_package())
def test_every_warning_has_plain_words(message: str) -> None:
    said = in_plain_words(message)
    if message.startswith("groups 7"):
        assert said
        return
    assert said != message[:1].upper() + message[1:]
    for word in ("sample_weight", "y_proba", "y_true", "groups=", "labels=", "from_logits", "r̂", "lower_bound", "recalibrator", "bandwidth="):
        assert word not in said
    assert said.endswith((".", ")"))


def test_warnings_of_groups_name_them() -> None:
    few = "only 3 rows had an outcome of predicted probability at most 1/2: with fewer than 5 such events neither the log"
    assert in_plain_words(f"groups ['a', 'b']: {few}") == f"{in_plain_words(few)} (Groups: a, b.)"
    assert "only 3 rows" in in_plain_words(few)
    assert in_plain_words("something new") == "Something new"


@pytest.mark.parametrize(("value", "ends", "said"), [
    (0.07912, (0.0371, 0.1352), ("0.079", "0.037 to 0.135")),
    (0.003, (0.0, 0.0123), ("0.003", "0.000 to 0.012")),
    (-0.0004, (0.0, 0.0123), ("0.000", "0.000 to 0.012")),
    (123456.0, (120000.0, 130000.0), ("123456", "120000 to 130000")),
    (float("inf"), (0.0, 1.0), ("infinite", "")),
    (float("nan"), None, ("unknown", "")),
    (0.5, (0.5, 0.5), ("0.500", "0.500 to 0.500")),
    (-1.5, (-2.0, -1.0), ("−1.5", "−2.0 to −1.0")),
])
def test_numbers_have_the_digits_that_their_interval_is_worth(value: float, ends: Any, said: tuple[str, str]) -> None:
    assert words.estimate(value, ends) == said


@pytest.mark.parametrize(("value", "said"), [(0.0, "0"), (1.0, "1"), (0.934, "0.93"), (0.9996, "0.9996"), (0.99999, "more than 0.9999"), (1e-9, "less than 0.0001")])
def test_probabilities_are_not_rounded_to_certainty(value: float, said: str) -> None:
    assert words.probability(value) == said
