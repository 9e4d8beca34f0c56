"""Do estimates of calibration error rank the classes alike?

The paper's appendix, "Assessing calibration error": for each class against the rest, the estimates
of CE_KL and CE_2² at bandwidth 0.02 and the binned CE_1, with ranks, and reliability diagrams; here
also the debiased estimates with intervals, the binned CE_1 of a calibrated model, and the loss of
the class. Run `python studies/classwise_ranking.py --help`.

The full study reads predictions of trained networks, one `.npz` a model, with `labels` (n,) and
`logits` or `probs` (n, k). Such files come from evaluating your own network once, or from
repositories with saved predictions.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from studies import classwise_figures, preset_command
from studies.classwise_design import Design, assemble, read, run_cell
from studies.classwise_table import table
from studies.predictions import DIGITS, MODELS_HELP

STUDY = preset_command.Study(
    name="classwise_ranking",
    about=__doc__ or "",
    presets={
        "tiny": (Design(models=DIGITS[1:2]), "one model of scikit-learn's digits, seconds"),
        "quick": (Design(models=DIGITS[:2]), "two of them, under a minute (default)"),
        "full": (
            Design(
                models=(
                    "cifar10/kull_resnet110_test.npz",
                    "cifar10/peterson_resnet_preact_bottleneck_164.npz",
                    "cifar10/netcal_wideresnet-16-4-cifar-10.npz",
                )
            ),
            "networks on CIFAR-10, about two minutes of processor time",
        ),
    },
    axes={"models": {"nargs": "+", "metavar": "NAME", "help": MODELS_HELP}},
    run_cell=run_cell,
    assemble=assemble,
    table=table,
    figures=classwise_figures.figures,
    save=classwise_figures.save,
    read=read,
)


def main(arguments: Sequence[str] | None = None) -> int:
    return preset_command.main(STUDY, arguments)


if __name__ == "__main__":
    sys.exit(main())
