"""Does the calibration error tell when to stop training, and what goes wrong afterwards?

The paper's appendix, "Monitoring calibration error during training": loss, accuracy, calibration
error and refinement by epoch on training and validation rows, smoothed, and where early stopping by
each would stop, here judged on rows that neither saw. Run
`python studies/training_monitor.py --help`.

The full study reads BreastMNIST from `images/breastmnist.npz` below the data folder:
`images_train`, `images_val` and `images_test` (n, 28, 28), uint8, with `labels_train` and so on.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from studies import monitor_figures, monitor_table, preset_command, training_command
from studies.monitor_design import LAYOUT, measure
from studies.training_design import Design

QUICK = Design(
    "breast-cancer",
    (64, 64),
    tuple(range(1, 41)),
    n_train=150,
    n_evaluated=200,
    n_seeds=4,
    learning_rate=0.05,
    momentum=0.9,
)
TINY = dataclasses.replace(QUICK, epochs=(1, 2, 4, 8, 16, 32), n_seeds=2)
FULL = Design(
    "breastmnist",
    (256, 256),
    tuple(range(1, 51)),
    n_train=260,
    n_evaluated=260,
    n_seeds=8,
    learning_rate=0.003,
    momentum=0.9,
)
STUDY = training_command.study(
    name="training_monitor",
    about=__doc__ or "",
    presets={
        "tiny": (TINY, "two networks on scikit-learn's breast cancer, seconds"),
        "quick": (QUICK, "four networks on scikit-learn's breast cancer, a minute (default)"),
        "full": (FULL, "eight networks on BreastMNIST, about five minutes of processor time"),
    },
    measure=measure,
    layout=LAYOUT,
    table=monitor_table.table,
    figures=monitor_figures.FIGURES,
    save=monitor_figures.save,
)


def main(arguments: Sequence[str] | None = None) -> int:
    return preset_command.main(STUDY, arguments)


if __name__ == "__main__":
    sys.exit(main())
