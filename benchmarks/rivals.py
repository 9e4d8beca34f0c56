"""What is timed of other code: the authors', by its path, and packages that happen to be installed.

None is a dependency. Packages estimate other quantities, such as top-label errors by bins, or what
one recalibration saves; each is compared with the default estimate of the notion nearest to it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cases import BANDWIDTH, Case, Sample, sample

N_BINS = 15
#: The decomposition via the risk under the log loss, in the code that came with the paper.
AUTHORS_FUNCTION = "get_bregman_stats_via_risk_kl"


def authors(case: Case, _: Path) -> Callable[[], object]:
    """Call ``function(probs, labels, bandwidth)`` of a module that is given by its path.

    ``probs`` is a float64 tensor (n, k), ``labels`` an int64 tensor (n,), ``bandwidth`` a float;
    what is returned is not looked at. On a GPU the tensors lie there, and ``device="cuda"`` is
    passed too.
    """
    import torch

    function = getattr(load(Path(case.authors)), case.authors_function)
    y_true, y_proba = sample(case.n, case.k)
    probs = torch.from_numpy(y_proba).to(case.device)
    labels = torch.from_numpy(y_true).to(case.device)
    settings = {} if case.device == "cpu" else {"device": case.device}

    def call() -> object:
        result = function(probs, labels, BANDWIDTH, **settings)
        if case.device != "cpu":
            torch.cuda.synchronize()
        return result

    return call


def authors_bytes(n: int, k: int) -> float:
    """Return what the authors' code allocates: it keeps n² numbers for each class, twice."""
    return 8.0 * n * n * (2 * k + 2 if k <= 20 else k + 4)


def load(path: Path) -> Any:
    """Import the module that a file holds."""
    spec = importlib.util.spec_from_file_location("benchmarked_" + path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _top_label(data: Sample) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return whether the most probable class occurred, and its probability."""
    top = data.y_proba.argmax(axis=1)
    return (top == data.y_true).astype(np.int64), data.y_proba.max(axis=1)


def _tensors(data: Sample) -> tuple[Any, Any]:
    torch = importlib.import_module("torch")
    return torch.from_numpy(data.y_true), torch.from_numpy(data.y_proba)


def _calibration_curve(module: Any, data: Sample) -> object:
    return module.calibration_curve(*_top_label(data), n_bins=N_BINS)


def _brier(module: Any, data: Sample) -> object:
    return module.brier_score_loss(*_top_label(data))


def _smooth_ece(module: Any, data: Sample) -> object:
    correct, confidence = _top_label(data)
    return module.smECE(confidence, correct)


def _netcal(module: Any, data: Sample) -> object:
    return module.ECE(N_BINS).measure(data.y_proba, data.y_true)


def _verified(module: Any, data: Sample) -> object:
    return module.get_calibration_error(data.y_proba, data.y_true, mode="top-label")


def _torchmetrics(module: Any, data: Sample) -> object:
    y_true, y_proba = _tensors(data)
    return float(
        module.multiclass_calibration_error(y_proba, y_true, data.y_proba.shape[1], n_bins=N_BINS)
    )


def _torch_uncertainty(module: Any, data: Sample) -> object:
    y_true, y_proba = _tensors(data)
    k = data.y_proba.shape[1]
    return float(
        module.CalibrationError("multiclass", num_bins=N_BINS, num_classes=k)(y_proba, y_true)
    )


def _probmetrics(module: Any, data: Sample) -> object:
    metrics = module.Metrics.from_names(["calib-err_logloss_ts-mix_all"])
    return metrics.compute_all_from_labels_probs(*_tensors(data))


def _model_diagnostics(module: Any, data: Sample) -> object:
    correct, confidence = _top_label(data)
    return module.decompose(correct, confidence, scoring_function=module.SquaredError())


def _scaled(method: str) -> Callable[[Any, Sample], object]:
    """Return what scikit-learn's recalibration saves of the log loss, on rows it did not see."""

    def saved(module: Any, data: Sample) -> object:
        from sklearn.frozen import FrozenEstimator
        from sklearn.model_selection import StratifiedKFold, cross_val_predict

        k = data.y_proba.shape[1]
        model = module.CalibratedClassifierCV(
            FrozenEstimator(_AsPredicted(k)), method=method, ensemble=False
        )
        logits = np.log(np.maximum(data.y_proba, 1e-300))
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        recalibrated = cross_val_predict(
            model, logits, data.y_true, cv=folds, method="predict_proba"
        )
        return _log_loss(data.y_true, data.y_proba) - _log_loss(data.y_true, recalibrated)

    return saved


def _log_loss(y_true: NDArray[np.int64], y_proba: NDArray[np.float64]) -> float:
    own = np.take_along_axis(y_proba, y_true[:, None], axis=1)
    return -float(np.log(np.maximum(own, 1e-15)).mean())


class _AsPredicted:
    """A classifier, as scikit-learn sees one, whose scores are its inputs."""

    def __init__(self, n_classes: int) -> None:
        self.classes_ = np.arange(n_classes)

    def fit(self, *_: object) -> Any:
        return self

    def decision_function(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return X

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.asarray(X.argmax(axis=1))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(),
        )


#: Series → (module, what to call of it, the notion of what is compared with it).
PACKAGES: dict[str, tuple[str, Callable[[Any, Sample], object], str]] = {
    "scikit-learn temperature": ("sklearn.calibration", _scaled("temperature"), "canonical"),
    "scikit-learn isotonic": ("sklearn.calibration", _scaled("isotonic"), "classwise"),
    "scikit-learn curve": ("sklearn.calibration", _calibration_curve, "top-label"),
    "scikit-learn brier": ("sklearn.metrics", _brier, "top-label"),
    "relplot": ("relplot", _smooth_ece, "top-label"),
    "netcal": ("netcal.metrics", _netcal, "top-label"),
    "uncertainty-calibration": ("calibration", _verified, "top-label"),
    "torchmetrics": ("torchmetrics.functional.classification", _torchmetrics, "top-label"),
    "torch-uncertainty": ("torch_uncertainty.metrics", _torch_uncertainty, "top-label"),
    "probmetrics": ("probmetrics.metrics", _probmetrics, "canonical"),
    "model-diagnostics": ("model_diagnostics.scoring", _model_diagnostics, "top-label"),
}


def installed(series: str) -> bool:
    return importlib.util.find_spec(PACKAGES[series][0].partition(".")[0]) is not None


def package(case: Case, __: Path) -> Callable[[], object]:
    name, function, _ = PACKAGES[case.series]
    module = importlib.import_module(name)
    data = sample(case.n, case.k)
    return lambda: function(module, data)
