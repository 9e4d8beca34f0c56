"""Recalibration maps as JSON: what was fitted, to which classes, and by which versions."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from propercal._data.inputs.reading import USUAL_NAMES
from propercal._data.words.messages import columns_called
from propercal.cli.output import finite, reason

if TYPE_CHECKING:
    from propercal._files.prediction_file import PredictionFile

Floats = npt.NDArray[np.float64]

FORMAT, VERSION = "propercal recalibration map", 1
RECALIBRATORS = ("temperature", "isotonic")


@dataclass(frozen=True)
class Steps:
    """A function that is linear between points and constant beyond them."""

    X_thresholds_: Floats
    y_thresholds_: Floats

    def predict(self, values: Floats) -> Floats:
        """Return its values."""
        return np.interp(values, self.X_thresholds_, self.y_thresholds_)


@dataclass(frozen=True)
class RecalibrationMap:
    """A map from probabilities to better ones, and what it was fitted to."""

    kind: str
    class_names: tuple[str, ...]
    """Names of the class columns; empty where they have none."""
    n_columns: int
    temperature: float | None
    functions: tuple[Steps, ...]
    fitted: Mapping[str, Any]

    @classmethod
    def fit(cls, data: PredictionFile, kind: str, *, smoothed: bool) -> RecalibrationMap:
        """Fit one to a file."""
        scaling = _fitted(kind, data, smoothed)
        k = 1 if data.y_proba.ndim == 1 else data.y_proba.shape[1]
        functions = tuple(
            Steps(np.asarray(each.X_thresholds_), np.asarray(each.y_thresholds_))
            for each in getattr(scaling, "functions_", ())
        )
        fitted = {
            "file": data.path.name,
            "n_samples": len(data.y_proba),
            "from_logits": data.from_logits,
            "weighted": data.sample_weight is not None,
            **({"smoothed": smoothed} if functions else {}),
        }
        temperature = getattr(scaling, "temperature_", None)
        names = data.class_names or _words(data.y_true, k)
        return cls(kind, names, k, temperature, functions, fitted)

    def to_json(self) -> str:
        """Return all there is to know of it."""
        import propercal

        what = (
            {"temperature": self.temperature}
            if self.temperature is not None
            else {
                "functions": [
                    {"x": each.X_thresholds_.tolist(), "y": each.y_thresholds_.tolist()}
                    for each in self.functions
                ]
            }
        )
        versions = {
            "propercal": propercal.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        }
        written = {
            "format": FORMAT,
            "format_version": VERSION,
            "recalibrator": self.kind,
            "class_names": list(self.class_names),
            "n_columns": self.n_columns,
            **what,
            "fitted": dict(self.fitted),
            "versions": versions,
        }
        return json.dumps(finite(written), indent=2, allow_nan=False) + "\n"

    @classmethod
    def read(cls, path: Path) -> RecalibrationMap:
        """Read one from a file, or raise."""
        from propercal._files.formats import read_text

        try:
            found = json.loads(read_text(path, packed=False))
            return cls._of(found)
        except OSError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            said = f"{error} is missing" if isinstance(error, KeyError) else reason(error)
            said = said.removeprefix(f"{path}: ").rstrip(".")
            raise ValueError(
                f"{path}: not a map of propercal recalibrate ({said}): make it anew by "
                "propercal recalibrate FILE --save-map."
            ) from error

    @classmethod
    def _of(cls, found: Mapping[str, Any]) -> RecalibrationMap:
        if (form := (found["format"], found["format_version"])) != (FORMAT, VERSION):
            raise ValueError(f"its format is {form}")
        kind, k, names = found["recalibrator"], found["n_columns"], found["class_names"]
        if kind not in RECALIBRATORS:
            raise ValueError(f"recalibrator {kind!r}")
        if type(k) is not int or k < 1 or not isinstance(names, list) or len(names) not in (0, k):
            raise ValueError(f"n_columns {k!r} beside {len(names)} names of classes")
        temperature = float(found["temperature"]) if "temperature" in found else None
        if temperature is not None and not temperature > 0:
            raise ValueError(f"temperature {temperature}")
        functions = tuple(_steps(each) for each in found.get("functions", ()))
        if (temperature is None) != (len(functions) == max(k, 2)):
            raise ValueError(f"{len(functions)} functions for {max(k, 2)} classes")
        return cls(kind, tuple(map(str, names)), k, temperature, functions, dict(found["fitted"]))

    def __call__(self, proba: Floats, *, from_logits: bool) -> Floats:
        """Return recalibrated probabilities of the shape of `proba`."""
        from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling
        from propercal.recalibration.called import calling

        k = max(self.n_columns, 2)
        made: Any
        if self.temperature is None:
            made = ClasswiseIsotonic(from_logits=from_logits)
        else:
            made = TemperatureScaling(from_logits=from_logits)
        # What new data are compared with is that of a fit; what it found is then replaced.
        uniform = np.zeros((k, k)) if from_logits else np.full((k, k), 1 / k)
        made.fit(uniform if self.n_columns > 1 else uniform[:, 0], np.arange(k))
        made.temperature_, made.functions_ = self.temperature, list(self.functions)
        with calling(USUAL_NAMES), columns_called(self.class_names):
            found = made.predict_proba(proba if self.n_columns > 1 else proba.reshape(-1))
        found = np.asarray(found)
        return found if self.n_columns > 1 else found[:, 1].reshape(proba.shape)

    def __str__(self) -> str:
        n = self.fitted.get("n_samples")
        what = "isotonic" if self.temperature is None else f"temperature {self.temperature:.6g}"
        return f"{what}, fitted to {n} rows of {self.fitted.get('file')}"


def _fitted(kind: str, data: PredictionFile, smoothed: bool) -> Any:
    from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling
    from propercal.recalibration.called import calling

    said: dict[str, Any] = {"from_logits": data.from_logits, "labels": data.labels}
    made: dict[str, Any] = {
        "temperature": lambda: TemperatureScaling(**said),
        "isotonic": lambda: ClasswiseIsotonic(**said, smoothed=smoothed),
    }
    with calling(USUAL_NAMES), columns_called(data.class_names):
        return made[kind]().fit(data.y_proba, data.y_true, sample_weight=data.sample_weight)


def _words(labels: npt.NDArray[Any], k: int) -> tuple[str, ...]:
    """Return the classes of columns without names beside labels in words, if all occur."""
    words = np.unique(labels).tolist() if labels.ndim == 1 and labels.dtype.kind == "U" else []
    return tuple(words) if len(words) == k > 1 else ()


def _steps(found: Mapping[str, Any]) -> Steps:
    x, y = np.array(found["x"], dtype=np.float64), np.array(found["y"], dtype=np.float64)
    good = x.ndim == 1 and x.shape == y.shape and x.size and np.isfinite(x).all()
    if not good or (np.diff(x) < 0).any() or not ((y >= 0) & (y <= 1)).all():
        raise ValueError("a function that does not map numbers that ascend to probabilities")
    return Steps(x, y)
