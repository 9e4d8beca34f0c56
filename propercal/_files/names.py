"""Names, of files and of what they hold, and messages of others, as they are shown: in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager


def one_line(message: object) -> str:
    """Return a message without its line breaks."""
    return " ".join(str(message).split())


def shown(text: object) -> str:
    """Return text that a terminal shows and does not obey: control characters are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def shortened(path: object, width: int) -> str:
    """Return the name of a file in at most so many characters: the middle is left out."""
    text = shown(path)
    if len(text) <= width:
        return text
    tail = (width - 1) * 2 // 3
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"


def listed(names: Sequence[object], *, most: int = 12) -> str:
    """Return the first names in quotation marks."""
    first = ", ".join(repr(str(name)) for name in names[:most])
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{first}{more}" if names else "none"


def reason(error: BaseException) -> str:
    """Return the message of an error in one line, without its full stop."""
    return one_line(error).rstrip(".")


@contextmanager
def advising(path: object, advice: str) -> Iterator[None]:
    """Raise what readers of arguments say of a file, with advice to who has a file."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {str(error).rpartition('; ')[0]}; {advice}") from error
