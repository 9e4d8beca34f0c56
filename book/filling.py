"""Numbers put into the sentences of a page that are known by their pattern."""

from __future__ import annotations

import re
from collections.abc import Sequence


def filled(page: str, text: str, pattern: str, numbers: Sequence[str]) -> str:
    """Return the text of a page with numbers in the groups of a pattern; raise if it has none."""
    found = re.search(pattern, text)
    if found is None:
        raise ValueError(f"{page} has no sentence {pattern!r}")
    for i in reversed(range(len(numbers))):
        start, end = found.span(i + 1)
        text = text[:start] + numbers[i] + text[end:]
    return text
