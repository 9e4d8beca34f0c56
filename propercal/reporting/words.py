"""Names and numbers as a page shows them."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping

#: What the loss of a generator is called; others are called "… loss".
_LOSSES: Mapping[str, str] = {
    "log": "log loss",
    "brier": "Brier score",
    "rps": "ranked probability score",
    "spherical": "spherical score",
}
#: Letters of a name, of which the ends are kept.
_LONGEST = 60
#: Marks that turn the direction of all text after them, or are not seen.
_TURNING = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
_UNSEEN = frozenset(("Cc", "Cs", "Cn", "Co"))
#: Beyond these a number is written with its power of ten.
_SMALL, _LARGE = 1e-6, 1e6


def loss_called(generator: str) -> str:
    """Return what the loss of a generator is called in a sentence."""
    return _LOSSES.get(generator, f"{generator} loss")


def name_of(thing: object, longest: int = _LONGEST) -> str:
    """Return a name in one line; what no page can show is written by its number."""
    found = without_unseen(" ".join(str(thing).split()))
    if not found:
        return "(no name)"
    half = (longest - 1) // 2
    return found if len(found) <= longest else f"{found[:half]}…{found[-half:]}"


def without_unseen(text: str) -> str:
    """Return a text in which marks that are not seen are written by their number."""
    return "".join(each if _is_shown(each) else _by_number(each) for each in text)


def _is_shown(letter: str) -> bool:
    if letter == "\n":
        return True
    return letter not in _TURNING and unicodedata.category(letter) not in _UNSEEN


def _by_number(letter: str) -> str:
    return f"\\u{{{ord(letter):x}}}"


def listed(names: list[str], most: int = 5) -> str:
    """Return names in a sentence, at most `most` of them."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def count(number: int, thing: str, things: str | None = None) -> str:
    """Return how many things there are, in words."""
    return f"{grouped(number)} {thing if number == 1 else things or thing + 's'}"


def grouped(number: int) -> str:
    """Return a whole number in groups of three digits."""
    return f"{number:,}".replace(",", "\u202f") if abs(number) >= 10_000 else str(number)


def decimals_for(width: float) -> int | None:
    """Return decimals that show two digits of a width; None if there is none to show."""
    if not (math.isfinite(width) and width > 0):
        return None
    return 1 - math.floor(math.log10(width))


def number(value: float, decimals: int | None = None) -> str:
    """Return a number in so many decimals, or in three digits."""
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    if decimals is not None and abs(value) < _LARGE and -1 <= decimals <= 7:
        text = f"{value:.{max(decimals, 0)}f}"
    elif value == 0 or _SMALL <= abs(value) < _LARGE:
        text = f"{value:.{_decimals_of_three(value)}f}"
    else:
        text = f"{value:.2e}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "\u2212")


def _decimals_of_three(value: float) -> int:
    return 0 if value == 0 else max(2 - math.floor(math.log10(abs(value))), 0)


def estimate(value: float, ends: tuple[float, float] | None) -> tuple[str, str]:
    """Return a number and its interval, in as many digits as the interval is worth."""
    if ends is None or not math.isfinite(value) or not all(map(math.isfinite, ends)):
        return number(value), ""
    decimals = decimals_for(ends[1] - ends[0])
    return number(value, decimals), between(ends, decimals)


def between(ends: tuple[float, float], decimals: int | None) -> str:
    """Return an interval."""
    low, high = (number(end, decimals) for end in ends)
    return f"{low} to {high}"


def percent(share: float) -> str:
    """Return a share in per cent, with a digit more where it is near an end."""
    if math.isnan(share):
        return "unknown"
    near = min(abs(share), abs(1 - share))
    digits = 0 if near >= 0.1 or near == 0 else 1 if near >= 0.001 else 2
    return f"{100 * share:.{digits}f}\u00a0%".replace("-", "\u2212")


def level(confidence_level: float) -> str:
    """Return a level of confidence in per cent."""
    return f"{100 * confidence_level:.4g}\u00a0%"


def in_hundredths(
    share: float, ends: tuple[float, float], *others: float
) -> tuple[str, str, tuple[str, ...]]:
    """Return 100 times a share, its interval and others, in digits that the interval is worth."""
    decimals = decimals_for(100 * (ends[1] - ends[0]))
    decimals = 1 if decimals is None else min(max(decimals, 0), 2)
    text, low, high, *more = (number(100 * each, decimals) for each in (share, *ends, *others))
    return text, f"{low} to {high}", tuple(more)


def probability(value: float) -> str:
    """Return a probability, never rounded to certainty that it has not."""
    if value in (0.0, 1.0):
        return f"{value:.0f}"
    for digits in (2, 3, 4):
        text = f"{value:.{digits}f}"
        if 0 < float(text) < 1:
            return text
    return "less than 0.0001" if value < 0.5 else "more than 0.9999"


def pvalue(value: float, smallest: float) -> str:
    """Return a p-value, which is no smaller than `smallest`."""
    return (
        f"p\u00a0\u2264\u00a0{smallest:.3g}" if value <= smallest else f"p\u00a0=\u00a0{value:.3g}"
    )
