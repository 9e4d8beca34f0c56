"""Predictions that studies read, models of scikit-learn's digits or npz files, and their names."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from propercal._data.words.messages import bad_value
from propercal.cli.files import read_predictions
from propercal.experiments import Factors, Output, factor
from studies.losses import UNITS

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

DIGITS = ("digits/logistic", "digits/naive-bayes", "digits/discriminant")
#: Networks on CIFAR-10 that full runs read, by architecture.
NETWORKS = {
    "resnet-110": "cifar10/kull_resnet110_test.npz",
    "densenet": "cifar10/peterson_densenet_BC_100_12.npz",
    "resnet-164": "cifar10/peterson_resnet_preact_bottleneck_164.npz",
    "vgg": "cifar10/peterson_vgg_15_BN_64.npz",
    "wideresnet": "cifar10/netcal_wideresnet-16-4-cifar-10.npz",
}
#: What the option that names models says of them.
MODELS_HELP = (
    "npz files below the data folder, of a network's labels (n,) and logits or probs (n, k); or "
    + ", ".join(DIGITS)
)
#: The paper's.
BANDWIDTH = 0.02


def files_of(model: str, data: Path) -> list[Path]:
    """Return the file of a model, after that of its validation split if there is one."""
    path = data / model
    validation = path.with_name(path.name.replace("_test.npz", "_val.npz"))
    paths = [validation, path] if validation != path and validation.exists() else [path]
    for each in paths:
        if not each.exists():
            raise bad_value(
                "data",
                str(data),
                f"a folder with {model}",
                "name your own files, see --help for the option and for what they hold",
            )
    return paths


def digest(model: str, data: Path) -> str:
    """Name what a model's files hold."""
    if model in DIGITS:
        return ""
    content = b"".join(path.read_bytes() for path in files_of(model, data))
    return hashlib.sha256(content).hexdigest()[:16]


def contents_of(models: Sequence[str], data: Path) -> tuple[str, ...]:
    """Return the digest of each model."""
    return tuple(digest(model, data) for model in models)


@dataclass(frozen=True)
class ModelFactors(Factors):
    """Models, with what their files hold."""

    models: Sequence[str] = factor(between="model", help=MODELS_HELP)
    seed: int = 0
    contents: Sequence[str] = ()
    """A digest of each model's files."""

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "bandwidth": BANDWIDTH}

    def read(self, data: Path) -> Self:
        """Return the design that names what its files hold."""
        return dataclasses.replace(self, contents=contents_of(self.models, data))


def read(path: Path) -> tuple[Floats, Labels]:
    """Return log probabilities (n, k) and labels."""
    file = read_predictions(path)
    values = np.asarray(file.y_proba, dtype=np.float64)
    labels = np.asarray(file.y_true)
    if values.ndim != 2 or labels.ndim != 1:
        raise bad_value(
            "data",
            f"{path.name} of shapes {values.shape} and {labels.shape}",
            "one row of logits or probabilities and one label for each prediction",
            "store them as (n, k) and (n,)",
        )
    if not file.from_logits:
        with np.errstate(divide="ignore"):
            values = np.log(values)
    # Of probabilities it divides rows by their sum, which single precision leaves short of 1.
    return log_softmax(values, axis=1), labels.astype(np.int64)


def digits(model: str, rng: np.random.Generator) -> tuple[Floats, Labels]:
    """Fit one of three models to a third of scikit-learn's digits, and predict the others."""
    from sklearn.datasets import load_digits
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    images, labels = load_digits(return_X_y=True)
    order = rng.permutation(len(labels))
    train, others = order[: len(order) // 3], order[len(order) // 3 :]
    # Coarse pixels, so that there is something to get wrong.
    images = images / 16 + rng.normal(0, 0.35, images.shape)
    classifier = {
        "digits/logistic": LogisticRegression(C=100, max_iter=2000),
        "digits/naive-bayes": GaussianNB(var_smoothing=1e-3),
        "digits/discriminant": LinearDiscriminantAnalysis(),
    }[model].fit(images[train], labels[train])
    if model == "digits/naive-bayes":
        return classifier.predict_log_proba(images[others]), labels[others]
    return log_softmax(classifier.decision_function(images[others]), axis=1), labels[others]


#: Networks as a reader knows them, by the short names of their files.
_NAMES = {
    "kull_resnet110": "ResNet-110",
    "peterson_densenet_BC_100_12": "DenseNet-BC-100-12",
    "peterson_resnet_preact_bottleneck_164": "PreResNet-164",
    "peterson_vgg_15_BN_64": "VGG-15 with batch norm",
    "netcal_wideresnet-16-4-cifar-10": "WideResNet-16-4",
}


def named(model: str) -> str:
    """Return the name of a network, that of its file where it is not known."""
    return _NAMES.get(short(model), short(model))


def short(model: str) -> str:
    """Return a model's name without folder and ending."""
    return model.removesuffix(".npz").removesuffix("_test").rpartition("/")[2]


def notion_name(notion: str) -> str:
    """Return a notion as prose spells it."""
    return notion.replace("classwise", "class-wise")


def output(name: str, dims: Sequence[str], long_name: str) -> Output:
    """Return an output in the units of a loss, if it has a dimension of losses."""
    return Output(name, dims, long_name, UNITS if "generator" in dims else "1")


@lru_cache(maxsize=2)
def whole_set(model: str, seed: int, data: Path) -> tuple[Floats, Labels]:
    """Return all rows of a model's test set."""
    if model in DIGITS:
        key = (crc32(model.encode()),)
        return digits(model, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key)))
    return read(files_of(model, data)[-1])
