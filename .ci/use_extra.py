"""What each extra is there for, where the wheel is installed with it: `use_extra.py plot`."""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path

import numpy as np

import propercal
from propercal.testing import assert_calibrated

Y_TRUE = np.array([0, 1, 1, 0, 1] * 20)
Y_PROBA = np.linspace(0.2, 0.8, 100)


def nothing() -> None:
    """Use what needs no extra."""
    print(propercal.decompose(Y_TRUE, Y_PROBA))
    assert_calibrated(Y_TRUE, np.full(100, 0.6))


def torch() -> None:
    """Derive a generator's gradient."""
    p = np.stack([1 - Y_PROBA, Y_PROBA], axis=1)
    propercal.decompose(Y_TRUE, p, generator=lambda q: (q**2).sum(-1))


def plot() -> None:
    """Draw."""
    from propercal.plotting import reliability_diagram

    reliability_diagram(Y_TRUE, Y_PROBA)


def study() -> None:
    """Run a study."""
    from propercal.experiments import StudyDesign, run_study

    design = StudyDesign(n_classes=(2,), sample_sizes=(50,), n_replicates=2)
    with tempfile.TemporaryDirectory() as folder:
        run_study(design, Path(folder, "study.nc"), n_workers=1, progress=False)


def parquet() -> None:
    """Read a file."""
    import pandas as pd

    from propercal.cli.files import read_predictions

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.parquet"
        pd.DataFrame({"label": Y_TRUE, "0": 1 - Y_PROBA, "1": Y_PROBA}).to_parquet(path)
        assert len(read_predictions(path).y_true) == 100  # noqa: S101


def testing() -> None:
    """Check a generator."""
    from propercal.testing import check_generator

    check_generator("brier", max_examples=5)


def cluster() -> None:
    """Decompose lazy arrays."""
    import dask.array as da

    y, p = da.from_array(Y_TRUE, chunks=50), da.from_array(Y_PROBA, chunks=50)
    propercal.decompose(y, p, notion="top-label")


def report() -> None:
    """Write a page."""
    with tempfile.TemporaryDirectory() as folder:
        propercal.report(Y_TRUE, Y_PROBA, path=Path(folder, "report.html"))


def shell() -> None:
    """Have what completes commands."""
    importlib.import_module("argcomplete")


if __name__ == "__main__":
    extra = sys.argv[1]
    use = vars().get(extra or "nothing")
    if use is None:  # of another room
        importlib.import_module(f"propercal.{extra}")
    else:
        use()
