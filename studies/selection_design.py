"""What snapshots are selected by: accuracy and calibration error."""

from __future__ import annotations

from typing import Any

from propercal import decompose
from studies.training import Snapshot
from studies.training_data import Rows
from studies.training_design import Design, Layout, accuracy

GENERATORS = ("log", "brier")
METHODS = ("risk", "debiased")
#: The paper's, and its notion.
BANDWIDTH = 0.02
NOTION = "classwise"

LAYOUT = Layout(
    {"generator": GENERATORS, "method": METHODS},
    {
        "accuracy": ((), "share of rows whose class has the largest probability"),
        "loss": (("generator",), "mean class-wise loss (log: nats)"),
        "calibration_error": (("generator", "method"), "class-wise calibration error"),
        "standard_error": (("generator",), "standard error of the debiased calibration error"),
    },
)


def measure(_: Design, snapshot: Snapshot, rows: Rows) -> dict[str, Any]:
    """Estimate the calibration error of a network on the monitored rows."""
    log_prob, y = snapshot.log_prob(rows.monitor.inputs), rows.monitor.labels
    shared: dict[str, Any] = {
        "generator": list(GENERATORS),
        "notion": NOTION,
        "from_logits": True,
    }
    paper = decompose(y, log_prob, method="risk", bandwidth=BANDWIDTH, **shared)
    ours = decompose(y, log_prob, **shared)
    return {
        "accuracy": accuracy(log_prob, y),
        "loss": [each.risk for each in ours],
        "calibration_error": [
            [each.calibration_error for each in pair] for pair in zip(paper, ours, strict=True)
        ],
        "standard_error": [each.standard_errors["calibration_error"] for each in ours],
    }
