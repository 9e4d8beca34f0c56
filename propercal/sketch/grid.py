"""The grid of nodes that a bandwidth fixes, for the published estimates of a sketch."""

from __future__ import annotations

from propercal._data.inputs.settings import check_bandwidth
from propercal._data.predictions.notions import Notion
from propercal._data.words.messages import bad_value
from propercal._kernels.panels import Panels, make_panels
from propercal.sketch.state import Frame

#: Nodes of a panel, and single predictions that are kept in it as they are.
_NODES = 16
#: Logits of a model that is sure beyond all measure; a logarithm below this counts as this.
_LOG_SMALLEST = -1e6


def check_grid(bandwidth: float | None) -> float | None:
    """Return a bandwidth of which a sketch can have a grid, or None for no grid."""
    if bandwidth is None:
        return None
    gamma = check_bandwidth(bandwidth)
    if not 1e-6 <= gamma <= 10:
        raise bad_value(
            "bandwidth", f"{gamma:g}", "1e-6 to 10", "a narrower kernel needs too many nodes"
        )
    return gamma


def frame_of(
    notion: Notion, n_classes: int, n_folds: int, random_state: int, bandwidth: float | None
) -> Frame:
    """Return what the sums of a sketch of these settings are laid out by."""
    panels = None if bandwidth is None else _panels_for(bandwidth)
    return Frame(notion.n_problems(n_classes), n_folds, random_state, panels)


def _panels_for(bandwidth: float) -> Panels:
    # Half as wide as kernel sums need: losses that leave out a point are less smooth.
    return make_panels(bandwidth / 4, _NODES, _LOG_SMALLEST)
