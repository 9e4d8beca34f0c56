"""Numbers of what the rooms for xarray, scikit-learn and figures make of arranged data."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import xarray as xr

import propercal
import propercal.xarray
from theory_tests.instances import TERMS

#: Nothing that needs time.
RISK: dict[str, Any] = {"generator": "brier", "method": "risk", "bandwidth": 0.1}
FAST: dict[str, Any] = {"generator": "brier", "kernel": None, "n_folds": 3}


def labelled(d: Any, **options: Any) -> list[Any]:
    found = propercal.xarray.decompose(d["y"], d["p"], class_dim="class", weights=d["w"], **RISK, **options)
    return [float(found[name]) for name in TERMS]


def labelled_tests(d: Any, **options: Any) -> list[Any]:
    found = propercal.xarray.calibration_test(d["y"], d["p"], class_dim="class", weights=d["w"], groups=d["g"], generator="brier", n_resamples=9, random_state=0, **options)
    return [float(found["statistic"])]


def labelled_pairs(d: Any, **options: Any) -> list[Any]:
    found = propercal.xarray.paired_difference(d["y"], d["p"], d["q"], class_dim="class", weights=d["w"], groups=d["g"], term="risk", **FAST, **options)
    return [float(found["difference"]), float(found["standard_error"])]


def of_accessor(d: Any, **options: Any) -> list[Any]:
    found = d["p"].propercal.decompose(d["y"], class_dim="class", weights=d["w"], **RISK, **options)
    return [float(found[name]) for name in TERMS]


def of_dataset(d: Any, **options: Any) -> list[Any]:
    found = xr.Dataset({"p": d["p"]}).propercal.decompose(d["y"], "p", class_dim="class", weights=d["w"], **RISK, **options)
    return [float(found[name]) for name in TERMS]


class Fitted:
    """A classifier whose predictions are known."""

    classes_ = np.array(["a", "b", "c"])

    def __init__(self, proba: Any) -> None:
        self.proba = proba

    def predict_proba(self, _: Any) -> Any:
        return self.proba


def by_scorer(d: Any, **options: Any) -> list[Any]:
    scorer = pytest.importorskip("propercal.sklearn", exc_type=ImportError).scorer
    return [-scorer("calibration_error", **RISK, **options)(Fitted(d["p"]), d["p"], d["y"], sample_weight=d["w"])]


def displayed(d: Any, **options: Any) -> list[Any]:
    display = pytest.importorskip("propercal.sklearn", exc_type=ImportError).DecompositionDisplay
    shown = display.from_predictions(d["y"], d["p"], sample_weight=d["w"], method=propercal.methods.Risk(bandwidth=0.1), generator="brier", ax=panels(1)[0], **options)
    panels(1)[0].clear()
    return [shown.result.risk]


@cache
def panels(n: int) -> list[Any]:
    """Return panels that are kept for all, as they take more time than what is drawn."""
    figure = pytest.importorskip("matplotlib.figure").Figure()
    return list(np.ravel(figure.subplots(1, n)))


def taken(n: int) -> list[Any]:
    """Return what was drawn, whatever its order, and clear the panels."""
    points = [np.ravel(line.get_xydata()) for axis in panels(n) for line in axis.lines]
    points += [np.ravel(each.get_offsets()) for axis in panels(n) for each in axis.collections]
    for axis in panels(n):
        axis.clear()
    return [np.sort(np.concatenate(points))]


def diagram(name: str, role: str = "p", n: int = 1, **fixed: Any) -> Callable[..., list[Any]]:
    """What a diagram draws of one model, or of all that there are."""

    def call(d: Any, **options: Any) -> list[Any]:
        draw = getattr(pytest.importorskip("propercal.plotting"), name)
        predictions = {each: d[each] for each in ("p", "q", "r")} if role == "models" else d["p"]
        groups = {"groups": d["g"]} if "g" in d.roles else {}
        draw(d["y"], predictions, sample_weight=d["w"], ax=panels(n)[0] if n == 1 else panels(n), **groups, **fixed, **options)
        return taken(n)

    return call
