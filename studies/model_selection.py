"""Which snapshots of training are the best compromises between accuracy and calibration?

The paper's appendix, "Model selection": the Pareto front of accuracy and calibration error over
snapshots, means and standard errors over seeds, here by the paper's estimate and by the debiased
one. Run `python studies/model_selection.py --help`.

The full study reads MNIST from `images/mnist.npz` below the data folder: `images_train` (n, 28, 28)
and `images_test`, uint8, with `labels_train` and `labels_test`.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from studies import preset_command, selection_figures, selection_table, training_command
from studies.selection_design import LAYOUT, measure
from studies.training_design import Design

QUICK = Design(
    "digits",
    (64,),
    (8, 16, 24, 32, 48, 64),
    n_train=600,
    n_evaluated=500,
    n_seeds=3,
)
TINY = dataclasses.replace(QUICK, epochs=(4, 32), n_evaluated=120, n_seeds=2)
FULL = Design(
    "mnist",
    (128,),
    (1, 2, 4, 8, 12, 16, 24, 32, 48, 64),
    n_train=10000,
    n_evaluated=2000,
    n_seeds=4,
    batch_size=64,
)
STUDY = training_command.study(
    name="model_selection",
    about=__doc__ or "",
    presets={
        "tiny": (TINY, "two networks on scikit-learn's digits, seconds"),
        "quick": (QUICK, "three networks on scikit-learn's digits, a minute (default)"),
        "full": (FULL, "four networks on MNIST, about eight minutes of processor time"),
    },
    measure=measure,
    layout=LAYOUT,
    table=selection_table.table,
    figures=selection_figures.FIGURES,
    save=selection_figures.save,
)


def main(arguments: Sequence[str] | None = None) -> int:
    return preset_command.main(STUDY, arguments)


if __name__ == "__main__":
    sys.exit(main())
