"""A design of trained networks, its cells, and the dataset that they make."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import xarray as xr
from scipy.stats import t as student

from propercal._data.messages import bad_value
from propercal.experiments.store import CellResult
from propercal.experiments.workers import one_thread
from studies.training import ACTIVATIONS, Floats, Labels, Network, Snapshot, device, train
from studies.training_data import Rows, split


class Cell(NamedTuple):
    """One network, trained once."""

    activation: str
    seed: int


@dataclass(frozen=True)
class Design:
    """Activation functions × seeds, each looked at after the same epochs."""

    data: str
    hidden: Sequence[int]
    """Nodes of each hidden layer."""
    epochs: Sequence[int]
    """When to look."""
    n_train: int
    n_evaluated: int
    """Rows to look at, and as many fresh ones."""
    n_seeds: int = 4
    activations: Sequence[str] = ("relu",)
    learning_rate: float = 0.1
    momentum: float = 0.0
    batch_size: int = 32
    seed: int = 0
    content: str = ""
    """A digest of the data's file."""

    def __post_init__(self) -> None:
        if self.n_seeds < 2:
            raise bad_value("n_seeds", repr(self.n_seeds), "2 or more", "4 is usual")
        ordered = tuple(sorted(set(self.epochs)))
        if not ordered or tuple(self.epochs) != ordered or ordered[0] < 0:
            raise bad_value("epochs", repr(self.epochs), "growing numbers from 0", "sort them")
        unknown = set(self.activations) - set(ACTIVATIONS)
        if unknown or not self.activations:
            raise bad_value(
                "activations",
                repr(self.activations),
                "some of " + ", ".join(ACTIVATIONS),
                "name one",
            )

    def cells(self) -> list[Cell]:
        return [Cell(name, seed) for name in self.activations for seed in range(self.n_seeds)]

    def cost(self, _: Cell) -> float:
        return 1.0

    def to_json(self) -> str:
        versions = {name: version(name) for name in ("torch", "scikit-learn")}
        return json.dumps({**asdict(self), **versions, "device": device()})


class Layout(NamedTuple):
    """What a study measures: its coordinates, and for each variable, dimensions and description."""

    coords: Mapping[str, Sequence[Any]]
    variables: Mapping[str, tuple[tuple[str, ...], str]]


#: From a snapshot and the rows, numbers by name.
Measure = Callable[[Design, Snapshot, Rows], Mapping[str, Any]]


def run_cell(design: Design, cell: Cell, *, measure: Measure, data: Path) -> CellResult:
    """Train one network, and measure it after each epoch of the design."""
    # Networks that differ in their activation function alone see the same rows.
    key = (crc32(design.data.encode()), cell.seed)
    split_seed, train_seed = np.random.SeedSequence(design.seed, spawn_key=key).spawn(2)
    network = Network(
        design.hidden, cell.activation, design.learning_rate, design.momentum, design.batch_size
    )
    with one_thread(), warnings.catch_warnings():
        # What they say of one estimate, that it leans on the kernel, is in the dataset.
        warnings.simplefilter("ignore", UserWarning)
        rng = np.random.default_rng(split_seed)
        rows = split(design.data, data, design.n_train, design.n_evaluated, rng)
        seed = int(train_seed.generate_state(1)[0])
        found = [
            measure(design, snapshot, rows)
            for snapshot in train(network, *rows.train, design.epochs, seed)
        ]
    names = found[0].keys()
    return CellResult(
        cell, {name: [np.asarray(each[name]).tolist() for each in found] for name in names}
    )


def assemble(layout: Layout, design: Design, results: Iterable[CellResult]) -> xr.Dataset:
    """Arrange the numbers of all cells."""
    outer: dict[str, Sequence[Any]] = {
        "activation": list(design.activations),
        "seed": list(range(design.n_seeds)),
        "epoch": list(design.epochs),
    }
    coords = {**outer, **{name: list(levels) for name, levels in layout.coords.items()}}
    values: dict[str, Floats] = {
        name: np.full([len(coords[d]) for d in (*outer, *dims)], np.nan)
        for name, (dims, _) in layout.variables.items()
    }
    for result in results:
        activation, seed = result.cell
        for name, numbers in result.numbers.items():
            values[name][outer["activation"].index(activation), seed] = numbers
    return xr.Dataset(
        {
            name: ((*outer, *dims), values[name], {"long_name": long_name})
            for name, (dims, long_name) in layout.variables.items()
        },
        coords,
    )


def mean_and_error(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the mean over seeds and its standard error."""
    return values.mean("seed"), values.std("seed", ddof=1) / np.sqrt(values.sizes["seed"])


def beyond_chance(values: xr.DataArray, level: float = 0.05) -> bool:
    """Say whether a mean over seeds differs from 0 by Student's t."""
    mean, error = mean_and_error(values)
    n = values.sizes["seed"]
    # Strictly, for a difference that is 0 for every seed.
    return bool(abs(mean) > student.ppf(1 - level / 2, n - 1) * error)


def accuracy(log_prob: Floats, labels: Labels) -> float:
    return float(np.mean(log_prob.argmax(axis=1) == labels))
