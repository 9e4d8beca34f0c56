"""What a row's recalibration is fitted on, and where it is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from book.pictures.canvas import BLUE, GREEN, GREY, PALE, RED, canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_FOLDS = 5
JUDGED = 3
#: Where the judged row is in its fold.
ROW = 0.4


def draw() -> Figure:
    figure, axis = canvas(3.5)
    steps = (
        ("fit the families", BLUE),
        ("smooth what is left over", GREEN),
        ("choose among candidates", BLUE),
        ("judge the loss saved", RED),
    )
    for line, (says, colour) in enumerate(steps):
        y = -line
        axis.text(0, y + 0.34, f"{line + 1}. {says}", color=colour, va="bottom")
        for fold in range(N_FOLDS):
            own = fold == JUDGED
            used = line == 3 if own else line < 3
            kernel = line == 1
            axis.barh(
                y,
                0.94,
                0.42,
                fold,
                align="center",
                color=colour if used or kernel else PALE,
                alpha=0.85,
            )
        if line == 1:
            axis.barh(y, 0.12, 0.42, JUDGED + ROW, color="white")
        axis.plot([JUDGED + ROW + 0.06], [y], "o", color="black", ms=4, zorder=3)
        del y
    for fold in range(N_FOLDS):
        axis.text(
            fold + 0.47, -3.35, f"fold {fold + 1}", color=GREY, ha="center", va="top", size=10
        )
    axis.annotate(
        "the row",
        (JUDGED + ROW + 0.06, 0.02),
        (4.05, 0.62),
        ha="left",
        va="center",
        arrowprops={"arrowstyle": "-", "lw": 0.8, "shrinkB": 3},
    )
    axis.set(xlim=(-0.05, 5.05), ylim=(-3.75, 0.85))
    axis.set_axis_off()
    return figure
