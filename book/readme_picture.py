"""The picture of README.md: python -m book.readme_picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

import propercal
from propercal.plotting import reliability_diagram
from propercal.plotting.palette import COLOURS
from propercal.recalibration import TemperatureScaling

PATH = Path(__file__).resolve().parent / "images" / "readme.png"


def main() -> None:
    mpl.use("agg")
    x, y = make_classification(6000, n_features=8, n_informative=3, n_redundant=5, random_state=3)
    proba = GaussianNB().fit(x[::3], y[::3]).predict_proba(x)
    scaling = TemperatureScaling().fit(proba[1::3], y[1::3])
    y_true, before = y[2::3], proba[2::3]
    results = [
        propercal.decompose(y_true, each) for each in (before, scaling.predict_proba(before))
    ]
    # One above the other, so that letters can be read on a phone.
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(4.8, 6.6), layout="constrained", height_ratios=(1.5, 1)
    )
    reliability_diagram(y_true, before, ax=above)
    above.set_title("A model that is too sure", fontsize=12)
    above.set_xlabel("predicted probability of class 1")
    above.set_ylabel("how often it was class 1")
    if legend := above.get_legend():
        legend.remove()
    above.text(0.03, 0.97, "blue:\nwhat happened", color="#005A91", va="top")
    above.text(0.91, 0.03, "grey: where the curve of\na calibrated model stays", ha="right")
    _stacked(below, results, ("as trained", "with one\ntemperature"))
    figure.savefig(PATH, dpi=110)
    plt.close(figure)


def _stacked(axis: Axes, results: Sequence[propercal.Decomposition], names: Sequence[str]) -> None:
    """Draw risk = refinement + calibration error, with the interval of the latter."""
    for i, result in enumerate(results):
        low, high = result.interval("calibration_error")
        error, refinement = float(result.calibration_error), float(result.refinement)
        axis.barh(i, refinement, 0.45, color=COLOURS[5], alpha=0.55)
        axis.barh(i, error, 0.45, left=refinement, color=COLOURS[1])
        axis.plot([refinement + low, refinement + high], [i, i], color="black", linewidth=1.6)
        axis.text(refinement / 2, i, f"refinement {refinement:.3f}", ha="center", va="center")
        axis.text(
            0,
            i - 0.27,
            f"calibration error {error:.3f} (95 %: {low:.3f} to {high:.3f})",
            ha="left",
            va="bottom",
            color="#9C4400",
        )
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.6)
    axis.set_xlabel("log loss (nats) = refinement + calibration error")
    axis.set_title("Where its loss comes from", fontsize=12)
    axis.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
