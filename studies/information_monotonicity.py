"""Does every layer of a network know less of the label than the one before it?

The paper's Figure 3: accuracy, and the sharpness of what each layer's activations could predict,
throughout training, here of the output layer too, which the paper leaves out. In the population the
order holds for any network; the study asks which estimate shows it. Run
`python studies/information_monotonicity.py --help`.

The full study reads MNIST from `images/mnist.npz` below the data folder: `images_train` (n, 28, 28)
and `images_test`, uint8, with `labels_train` and `labels_test`.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from studies import information_figures, information_table, preset_command, training_command
from studies.information_design import HIDDEN, LAYOUT, measure
from studies.training_design import Design

QUICK = Design(
    "digits",
    HIDDEN,
    (1, 4, 16, 64),
    n_train=900,
    n_evaluated=448,
    n_seeds=3,
    activations=("relu", "tanh"),
)
TINY = dataclasses.replace(QUICK, epochs=(64,), n_evaluated=150, n_seeds=2, activations=("tanh",))
FULL = Design(
    "mnist",
    HIDDEN,
    (1, 2, 4, 8, 16, 32),
    n_train=60000,
    n_evaluated=2000,
    n_seeds=4,
    activations=("relu", "tanh"),
    batch_size=64,
)
STUDY = training_command.study(
    name="information_monotonicity",
    about=__doc__ or "",
    presets={
        "tiny": (TINY, "two networks on scikit-learn's digits, seconds"),
        "quick": (QUICK, "six networks on scikit-learn's digits, about a minute (default)"),
        "full": (FULL, "eight networks on MNIST, about ten minutes of processor time"),
    },
    measure=measure,
    layout=LAYOUT,
    table=information_table.table,
    figures=information_figures.FIGURES,
    save=information_figures.save,
)


def main(arguments: Sequence[str] | None = None) -> int:
    return preset_command.main(STUDY, arguments)


if __name__ == "__main__":
    sys.exit(main())
