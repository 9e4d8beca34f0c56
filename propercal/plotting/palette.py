"""Colours, markers and hatches that stay apart for every eye, and in grey."""

from __future__ import annotations

#: Okabe & Ito's palette, told apart by every kind of colour vision, and darker ones first.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

MARKERS = ("o", "s", "D", "^", "v", "P")

#: For bars side by side, which have no marker.
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---")

#: Styles come in this many distinct kinds.
N_STYLES = len(COLOURS)
