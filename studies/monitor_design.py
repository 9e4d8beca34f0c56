"""What is monitored while a network is trained."""

from __future__ import annotations

from typing import Any

import numpy as np

from propercal import decompose
from studies.training import Snapshot
from studies.training_data import Part, Rows
from studies.training_design import Design, Layout, accuracy

PARTS = ("train", "monitor")
GENERATORS = ("log", "brier")
METHODS = ("risk", "debiased")
#: The paper's.
BANDWIDTH = 0.02

_INNER = ("part", "generator", "method")
_LOSS = "mean loss (log: nats; Brier: summed over classes)"
LAYOUT = Layout(
    {"part": PARTS, "generator": GENERATORS, "method": METHODS},
    {
        "accuracy": (("part",), "share of rows whose class has the largest probability"),
        "loss": (("part", "generator"), _LOSS),
        "calibration_error": (_INNER, "calibration error"),
        "refinement": (_INNER, "refinement"),
        "lower": (_INNER[:2], "lower end of the debiased calibration error's 95 % interval"),
        "upper": (_INNER[:2], "upper end of the debiased calibration error's 95 % interval"),
        "fresh_accuracy": ((), "accuracy on rows that are not monitored"),
        "fresh_loss": (("generator",), _LOSS + " on rows that are not monitored"),
    },
)


def measure(_: Design, snapshot: Snapshot, rows: Rows) -> dict[str, Any]:
    """Split the losses of a network into calibration error and refinement."""
    parts = [_part(snapshot, part) for part in (rows.train, rows.monitor)]
    log_prob = snapshot.log_prob(rows.fresh.inputs)
    prob, y = np.exp(log_prob), rows.fresh.labels
    losses = {
        "log": -log_prob[np.arange(len(y)), y].mean(),
        "brier": ((prob - np.eye(prob.shape[1])[y]) ** 2).sum(axis=1).mean(),
    }
    return {
        **{name: [part[name] for part in parts] for name in parts[0]},
        "fresh_accuracy": accuracy(log_prob, y),
        "fresh_loss": [losses[name] for name in GENERATORS],
    }


def _part(snapshot: Snapshot, part: Part) -> dict[str, Any]:
    log_prob, y = snapshot.log_prob(part.inputs), part.labels
    generators = list(GENERATORS)
    ours = decompose(y, log_prob, from_logits=True, generator=generators)
    paper = decompose(
        y, log_prob, from_logits=True, generator=generators, method="risk", bandwidth=BANDWIDTH
    )
    both = list(zip(paper, ours, strict=True))
    intervals = np.array([each.interval("calibration_error", 0.95) for each in ours])
    return {
        "accuracy": accuracy(log_prob, y),
        "loss": [each.risk for each in ours],
        "calibration_error": [[each.calibration_error for each in pair] for pair in both],
        "refinement": [[each.refinement for each in pair] for pair in both],
        "lower": intervals[:, 0],
        "upper": intervals[:, 1],
    }
