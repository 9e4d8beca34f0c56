"""Data to train small networks on: what scikit-learn ships, or files of images."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propercal._data.messages import bad_value
from studies.training import Inputs, Labels

SHIPPED = ("digits", "breast-cancer")
FILES = {"mnist": "images/mnist.npz", "breastmnist": "images/breastmnist.npz"}


class Part(NamedTuple):
    """Rows of a data set."""

    inputs: Inputs
    labels: Labels

    def take(self, rows: NDArray[np.intp]) -> Part:
        return Part(self.inputs[rows], self.labels[rows])


class Rows(NamedTuple):
    """Rows to train on, to look at on the way, and to check what was concluded from those."""

    train: Part
    monitor: Part
    fresh: Part


def digest(name: str, folder: Path) -> str:
    """Name what the file of a data set holds."""
    if name in SHIPPED:
        return ""
    path = folder / FILES[name]
    if not path.exists():
        raise bad_value(
            "data",
            str(folder),
            f"a folder with {FILES[name]}",
            "see --help for what it holds, or use --quick",
        )
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def split(
    name: str, folder: Path, n_train: int, n_evaluated: int, rng: np.random.Generator
) -> Rows:
    """Draw three parts at random; MNIST's test images are never trained on."""
    train, others = _read(name, folder)
    order = rng.permutation(len(train.labels))
    if others is None:
        others = train.take(order[n_train:])
    train = train.take(order[:n_train])
    order = rng.permutation(len(others.labels))
    rows = Rows(
        train, others.take(order[:n_evaluated]), others.take(order[n_evaluated : 2 * n_evaluated])
    )
    if min(len(part.labels) for part in rows) < 20:
        raise bad_value(
            "n_train, n_evaluated",
            f"{n_train}, {n_evaluated} for {name}",
            "numbers that leave 20 rows or more for each part",
            "lower them",
        )
    # Digits have pixels that are always 0.
    return rows if name in ("digits", "mnist") else _standardised(rows)


def _read(name: str, folder: Path) -> tuple[Part, Part | None]:
    """Return rows to train on, and the others where the data set says which they are."""
    if name == "digits":
        from sklearn.datasets import load_digits

        images, labels = load_digits(return_X_y=True)
        return _part(images / 16, labels), None
    if name == "breast-cancer":
        from sklearn.datasets import load_breast_cancer

        return _part(*load_breast_cancer(return_X_y=True)), None
    with np.load(folder / FILES[name], allow_pickle=False) as file:
        parts = {
            part: _part(file[f"images_{part}"] / 255, file[f"labels_{part}"])
            for part in ("train", "val", "test")
            if f"labels_{part}" in file
        }
    if "val" in parts:
        # So few rows that the official parts cannot tell one calibration error from another.
        whole = parts.values()
        return Part(
            np.concatenate([part.inputs for part in whole]),
            np.concatenate([part.labels for part in whole]),
        ), None
    return parts["train"], parts["test"]


def _part(inputs: NDArray[np.float64], labels: Labels) -> Part:
    flat = inputs.reshape(len(labels), -1).astype(np.float32)
    return Part(flat, labels.astype(np.int64))


def _standardised(rows: Rows) -> Rows:
    mean, spread = rows.train.inputs.mean(axis=0), rows.train.inputs.std(axis=0)
    return Rows(*(Part((part.inputs - mean) / spread, part.labels) for part in rows))
