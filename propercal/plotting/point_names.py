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


def write_names(
    axis: Axes,
    names: Sequence[str],
    x: Floats,
    y: Floats,
    *,
    downward: bool = False,
    inside: float | None = None,
) -> None:
    """Name each point on the side that is away from its nearest neighbour.

    `downward` says that y grows to the bottom of the panel; points left of `inside` are named to
    the right, where the panel has room.
    """
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2, foreground="white")]
    places = np.stack([x, -y if downward else y], axis=1)
    apart = places[:, None, :] - places
    width = apart.max(axis=(0, 1))
    apart = apart / np.where(width > 0, width, 1.0)
    distance = (apart**2).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    away = apart[np.arange(len(places)), distance.argmin(axis=1)]
    sides = away >= 0
    if inside is not None:
        sides[:, 0] |= x < inside
    for name, at, height, (right, up) in zip(names, x, y, sides, strict=True):
        axis.annotate(
            in_lines(name, 24),
            (at, height),
            (4 if right else -4, 4 if up else -4),
            textcoords="offset points",
            fontsize="small",
            horizontalalignment="left" if right else "right",
            verticalalignment="bottom" if up else "top",
            path_effects=halo,
        )
