"""Styles of estimates in figures: one colour and one marker for each, in all studies."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from propercal.experiments.figures import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Wide enough for two panels beside each other, whose letters can be read on a narrow window.
WIDTH = 5.8
#: Kernel estimates via the risk share a style: what differs is the bandwidth γ.
_RISK = (COLOURS[1], "s")
_BINNED = (COLOURS[3], "^")
#: Colour and marker by a word of a label, the first that is in it.
STYLES: dict[str, tuple[str, str]] = {
    "debiased": (COLOURS[0], "o"),
    "bin": _BINNED,
    "direct": (COLOURS[2], "D"),
    "risk": _RISK,
    "paper": _RISK,
    "γ": _RISK,
    "temperature-mix": ("0.45", "P"),
    "temperature": ("0.25", "v"),
    # Other recalibrations: of isotonic regression the blocks are bins.
    "none": ("0.6", "o"),
    "isotonic-smoothed": (COLOURS[4], "P"),
    "isotonic": _BINNED,
    # Tests: the default's, and that of a kernel.
    "calibration_test": (COLOURS[0], "o"),
    "skce": _RISK,
}
#: Lines of one estimate with other settings, in their order; every other one has hollow markers.
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (1, 3)))


def style(label: str, setting: int = 0, *, hollow: bool = True) -> dict[str, Any]:
    """Return the colour, marker and line of an estimate, in one of several settings."""
    colour, marker = next(STYLES[word] for word in STYLES if word in label)
    found = {"color": colour, "marker": marker, "linestyle": LINES[setting % len(LINES)]}
    return {**found, "markerfacecolor": "white"} if setting % 2 and hollow else found


def points(label: str, setting: int = 0) -> dict[str, Any]:
    """Return the same for points that no line joins."""
    return {**style(label, setting), "linestyle": ""}


def restyle(axis: Axes) -> None:
    """Give lines that were drawn by their order the styles of their estimates."""
    seen: Counter[str] = Counter()
    for drawn in axis.containers:
        label = str(drawn.get_label())
        of = style(label, seen[style(label)["color"]])
        seen[of["color"]] += 1
        line, caps, bars = drawn
        line.set(**of)
        for part in (*caps, *bars):
            part.set_color(of["color"])
        for cap in caps:
            cap.set_markeredgecolor(of["color"])


def shade(i: int, n: int) -> dict[str, Any]:
    """Return the style of the i-th of n sizes of the debiased estimate: more rows are darker."""
    from matplotlib.colors import to_hex, to_rgb

    colour, _ = STYLES["debiased"]
    share = 0.35 + 0.65 * (i + 1) / n if n > 1 else 1.0
    red, green, blue = (1 - share * (1 - part) for part in to_rgb(colour))
    return {"color": to_hex((red, green, blue)), "marker": ("v", "^", "s", "o")[i - n]}
