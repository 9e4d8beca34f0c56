"""The skeleton of a study."""

from __future__ import annotations

_SKELETON = '''\
"""How far is the estimated calibration error from the truth, as the sample grows?"""

import sys
from dataclasses import dataclass
from functools import partial

import numpy as np

from propercal import calibration_error
from propercal.experiments import Claim, Factors, Output, Study, factor, main
from propercal.simulation import TemperatureScaledSimplex


@dataclass(frozen=True)
class Design(Factors):
    """What varies: each field is an option of the command."""

    # Combinations of what varies `between` cells are cells, each with random numbers of its own.
    sample_size: tuple[int, ...] = factor(
        (100, 400), between="sample_size", least=20, help="rows of each sample"
    )
    replicates: int = factor(5, between="replicate", least=2, help="samples of each size")
    seed: int = 0


def measure(factors, cell, seed):
    """Draw one sample, and return what is measured on it by the name of its output."""
    rng = np.random.default_rng(seed)
    model = TemperatureScaledSimplex(n_classes=2)
    y_true, y_proba, _ = model.sample(cell.sample_size, random_state=rng)
    truth = model.truth("log", "canonical").value
    return {"error": calibration_error(y_true, y_proba) - truth}


def table(summary):
    """Return the text that is printed."""
    error = summary["error"]
    root = (error**2).mean("replicate") ** 0.5
    return "\\n".join(
        f"n = {n:>6}  root mean squared error {float(root.sel(sample_size=n)):.4f} nats"
        for n in summary["sample_size"].values
    )


def judge(summary):
    """Return the numbers that a verdict rests on, and the verdict in a few words."""
    root = ((summary["error"] ** 2).mean("replicate") ** 0.5).values
    found = ", ".join(f"{x:.4f}" for x in root)
    return found, "holds" if root[-1] < root[0] else "does not hold here"


def figures(summary):
    """Return functions that each draw a figure, by the name of its file."""
    return {"NAME": partial(draw, summary)}


def draw(summary):
    """Draw the errors of all samples against their size."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3), layout="constrained")
    axis = figure.subplots()
    error = summary["error"].transpose("sample_size", "replicate")
    axis.semilogx(error["sample_size"], error, "o", color="C0", alpha=0.6)
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set_xlabel("rows n")
    axis.set_ylabel("estimate less truth (nats)")
    return figure


STUDY = Study(
    name="NAME",
    about=__doc__,
    presets={
        "tiny": (Design(), "seconds"),
        "full": (Design(sample_size=(100, 400, 1600, 6400), replicates=200), "minutes"),
    },
    outputs=(Output("error", ("sample_size", "replicate"), "estimate less truth", "nats"),),
    measure=measure,
    table=table,
    claims=(Claim("Errors are smaller in larger samples", judge, "law of large numbers"),),
    figures=figures,
)
if __name__ == "__main__":
    sys.exit(main(STUDY))
'''


def skeleton(name: str) -> str:
    """Return the text of a study of this name."""
    return _SKELETON.replace("NAME", name)
