"""How near are estimates from a few predictions of a network to those from its whole test set?

The paper's appendix, "Convergence of bias": class-wise calibration error, bias and relative bias on
random subsets of a test set, at bandwidth 0.02, here by the estimates via the risk and direct, and
debiased. The reference of each is its own value on the whole set, as in the paper: that is no known
truth, and the references differ. Run `python studies/bias_on_networks.py --help`.

The full study reads predictions of trained networks, one `.npz` a model, with `labels` (n,) and
`logits` or `probs` (n, k). Such files come from evaluating your own network once, or from
repositories with saved predictions.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from studies import preset_command, subset_figures
from studies.data import DIGITS, MODELS_HELP
from studies.subset_design import Design, assemble, read, run_cell
from studies.subset_table import table

QUICK = Design(models=DIGITS[:2], sample_sizes=(100, 200, 400), n_replicates=4)
TINY = Design(models=("digits/naive-bayes",), sample_sizes=(200,), n_replicates=2)
FULL = Design(
    models=(
        "cifar10/kull_resnet110_test.npz",
        "cifar10/peterson_densenet_BC_100_12.npz",
        "cifar10/peterson_resnet_preact_bottleneck_164.npz",
        "cifar10/netcal_wideresnet-16-4-cifar-10.npz",
    ),
    sample_sizes=(100, 200, 500, 1000, 2000),
    n_replicates=5,
)
STUDY = preset_command.Study(
    name="bias_on_networks",
    about=__doc__ or "",
    presets={
        "tiny": (TINY, "one model of scikit-learn's digits, seconds"),
        "quick": (QUICK, "two models of scikit-learn's digits, a minute or two (default)"),
        "full": (FULL, "networks on CIFAR-10, about ten minutes of processor time"),
    },
    axes={
        "models": {"nargs": "+", "metavar": "NAME", "help": MODELS_HELP},
        "sample_sizes": {"nargs": "+", "type": int, "metavar": "N"},
        "n_replicates": {"type": int, "metavar": "R", "help": "subsets of each size"},
        "generators": {"nargs": "+", "metavar": "NAME", "help": "log, brier, spherical, ..."},
    },
    run_cell=run_cell,
    assemble=assemble,
    table=table,
    figures=subset_figures.figures,
    save=subset_figures.save,
    read=read,
)


def main(arguments: Sequence[str] | None = None) -> int:
    return preset_command.main(STUDY, arguments)


if __name__ == "__main__":
    sys.exit(main())
