"""Names beside points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from propercal.plotting.axes import in_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]

#: Distance of a name from its point, height of a line and width of a letter, in typographic points.
_GAP, _LINE, _LETTER = 4.0, 11.0, 7.0
#: Share of the panel that points span, beside a legend.
_SPAN = 0.82
_CORNERS = ((True, True), (True, False), (False, True), (False, False))


def write_names(
    axis: Axes,
    names: Sequence[str],
    x: Floats,
    y: Floats,
    *,
    downward: bool = False,
    inside: float | None = None,
) -> None:
    """Name each point at a corner where no other name or point is.

    Of several, it is the one away from the nearest neighbour. `downward` says that y grows to the
    bottom of the panel; points left of `inside` are named to the right, where the panel has room.
    """
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2, foreground="white")]
    written = [in_lines(name, 24) for name in names]
    places = _in_points(axis, x, -y if downward else y)
    sides = _away(places)
    to_right = np.asarray(x < inside) if inside is not None else np.zeros(len(x), dtype=bool)
    sides[:, 0] |= to_right
    rooms = np.array([_size(text) for text in written])
    corners = _free_corners(places, rooms, sides, to_right)
    for name, at, height, (right, up) in zip(written, x, y, corners, strict=True):
        axis.annotate(
            name,
            (at, height),
            (_GAP if right else -_GAP, _GAP if up else -_GAP),
            textcoords="offset points",
            fontsize="small",
            horizontalalignment="left" if right else "right",
            verticalalignment="bottom" if up else "top",
            path_effects=halo,
        )


def _in_points(axis: Axes, x: Floats, y: Floats) -> Floats:
    """(m, 2) places in typographic points, about: limits are not final yet."""
    places = np.stack([x, y], axis=1)
    width = np.ptp(places, axis=0)
    figure = axis.get_figure(root=True)
    panel = np.array([axis.bbox.width, axis.bbox.height]) * 72 / (figure.dpi if figure else 72)
    return np.asarray(places / np.where(width > 0, width, 1.0) * panel * _SPAN)


def _away(places: Floats) -> npt.NDArray[np.bool_]:
    """(m, 2) whether each point's nearest neighbour is to the left of it, and below."""
    apart = places[:, None, :] - places
    distance = (apart**2).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    return np.asarray(apart[np.arange(len(places)), distance.argmin(axis=1)] >= 0)


def _size(text: str) -> tuple[float, float]:
    lines = text.split("\n")
    return _LETTER * max(map(len, lines)), _LINE * len(lines)


def _free_corners(
    places: Floats, rooms: Floats, preferred: npt.NDArray[np.bool_], to_right: npt.NDArray[np.bool_]
) -> list[tuple[bool, bool]]:
    """Choose a corner for each name in turn: the first that covers least."""
    taken = [(*at - _GAP / 2, *at + _GAP / 2) for at in places]
    chosen = []
    for i, (at, room) in enumerate(zip(places, rooms, strict=True)):
        away = (np.array(_CORNERS) != preferred[i]).sum(axis=1)
        order = [_CORNERS[j] for j in np.argsort(away, kind="stable")]
        order = [corner for corner in order if corner[0] or not to_right[i]]
        boxes = [_box(at, room, corner) for corner in order]
        covered = [sum(_overlap(box, other) for other in taken) for box in boxes]
        best = int(np.argmin(np.round(covered, 6)))
        chosen.append(order[best])
        taken.append(boxes[best])
    return chosen


def _box(at: Floats, room: Floats, corner: tuple[bool, bool]) -> tuple[float, ...]:
    low = [a + _GAP if more else a - _GAP - r for a, r, more in zip(at, room, corner, strict=True)]
    return (*low, *(a + r for a, r in zip(low, room, strict=True)))


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Area that two boxes (left, bottom, right, top) share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0.0) * max(height, 0.0)
