"""Networks that studies train and look at on the way: design, rows, training, and what is said."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from propercal import Decomposition, decompose
from propercal._data.words.messages import bad_value
from propercal.experiments import (
    Cell,
    Factors,
    Output,
    beyond_chance,
    factor,
    mean_and_error,
    selections,
)
from studies.data import BANDWIDTH, Floats, Labels

Inputs = NDArray[np.float32]

ACTIVATIONS = {"relu": "ReLU", "tanh": "Tanh"}
SHIPPED = ("digits", "breast-cancer")
FILES = {"mnist": "images/mnist.npz", "breastmnist": "images/breastmnist.npz"}
GENERATORS = ("log", "brier")
METHODS = ("risk", "debiased")
#: Of methods, in figures.
TITLES = {"risk": f"the paper's estimate (γ = {BANDWIDTH})", "debiased": "debiased"}
#: Of methods, in figures.
TITLES = {"risk": f"the paper's estimate (γ = {BANDWIDTH})", "debiased": "debiased"}


@dataclass(frozen=True)
class Design(Factors):
    """Activation functions × seeds, each looked at after the same epochs."""

    data: str
    hidden: tuple[int, ...]
    """Nodes of each hidden layer."""
    epochs: tuple[int, ...] = factor(within="epoch", least=0, metavar="E", help="when to look")
    n_train: int = factor(help="rows to train on")
    n_evaluated: int = factor(help="rows to look at, and as many fresh ones")
    n_seeds: int = factor(
        4, between="seed", least=2, metavar="R", help="networks, each with its rows"
    )
    activations: tuple[str, ...] = factor(("relu",), between="activation", among=ACTIVATIONS)
    learning_rate: float = 0.1
    momentum: float = 0.0
    batch_size: int = 32
    seed: int = 0
    content: str = ""
    """A digest of the data's file."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if list(self.epochs) != sorted(self.epochs):
            raise bad_value("epochs", repr(self.epochs), "growing numbers", "sort them")

    def key(self, cell: Cell) -> tuple[int, ...]:
        # Networks that differ in their activation function alone see the same rows.
        return crc32(self.data.encode()), cell.seed

    def settings(self) -> dict[str, Any]:
        if importlib.util.find_spec("torch") is None:
            fix = 'pip install "propercal[torch]"'
            raise bad_value("data", repr(self.data), "PyTorch to train with, not found", fix)
        versions = {name: version(name) for name in ("torch", "scikit-learn")}
        return {**super().settings(), **versions, "device": device()}


def read(design: Design, data: Path) -> Design:
    """Return the design that names what its file holds."""
    if design.data in SHIPPED:
        return design
    path = data / FILES[design.data]
    if not path.exists():
        fix = "see --help for what it holds, or use --quick"
        raise bad_value("data", str(data), f"a folder with {FILES[design.data]}", fix)
    return dataclasses.replace(design, content=hashlib.sha256(path.read_bytes()).hexdigest()[:16])


# --- rows


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
        return Part(*map(np.concatenate, zip(*parts.values(), strict=True))), None
    return parts["train"], parts["test"]


def _part(inputs: NDArray[np.float64], labels: Labels) -> Part:
    flat = inputs.reshape(len(labels), -1).astype(np.float32)
    return Part(flat, labels.astype(np.int64))


def _standardised(rows: Rows) -> Rows:
    mean, spread = rows.train.inputs.mean(axis=0), rows.train.inputs.std(axis=0)
    return Rows(*(Part((part.inputs - mean) / spread, part.labels) for part in rows))


# --- training


@dataclass(frozen=True)
class Snapshot:
    """A network after some epochs of training."""

    blocks: Any
    """A torch module a layer, the activation function included."""

    def layers(self, inputs: Inputs) -> list[Floats]:
        """Return what every hidden layer makes of the inputs, then the log probabilities."""
        import torch

        found = []
        with torch.no_grad():
            values = torch.from_numpy(inputs).to(device())
            for block in self.blocks:
                values = block(values)
                found.append(values.double())
        found[-1] = torch.log_softmax(found[-1], dim=1)
        return [values.cpu().numpy() for values in found]

    def log_prob(self, part: Part) -> Floats:
        return self.layers(part.inputs)[-1]


def device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def train(design: Design, activation: str, part: Part, seed: int) -> Iterator[Snapshot]:
    """Yield a network after each epoch of a design; 0 is before training."""
    import torch

    with _reproducible(seed):
        x, y = (torch.from_numpy(values).to(device()) for values in part)
        widths = [x.shape[1], *design.hidden, int(part.labels.max()) + 1]
        blocks = _blocks(widths, activation).to(device())
        optimiser = torch.optim.SGD(
            blocks.parameters(), lr=design.learning_rate, momentum=design.momentum
        )
        for epoch in range(max(design.epochs) + 1):
            if epoch:
                for rows in torch.randperm(len(y)).split(design.batch_size):  # type: ignore[no-untyped-call]
                    optimiser.zero_grad()
                    loss = torch.nn.functional.cross_entropy(blocks(x[rows]), y[rows])
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimiser.step()
            if epoch in design.epochs:
                yield Snapshot(blocks)


def _blocks(widths: list[int], activation: str) -> Any:
    import torch

    *layers, last = (torch.nn.Linear(*pair) for pair in pairwise(widths))
    function = getattr(torch.nn, ACTIVATIONS[activation])
    return torch.nn.Sequential(*(torch.nn.Sequential(one, function()) for one in layers), last)


@contextmanager
def _reproducible(seed: int) -> Iterator[None]:
    """Draw from a seed of its own, on one thread: sums depend on the number of threads."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)


# --- what is measured


def trained(
    design: Design, cell: Cell, seed: np.random.SeedSequence, data: Path
) -> Iterator[tuple[Snapshot, Rows]]:
    """Train the network of a cell, and yield it after each epoch, with its rows."""
    split_seed, train_seed = seed.spawn(2)
    rng = np.random.default_rng(split_seed)
    rows = split(design.data, data, design.n_train, design.n_evaluated, rng)
    start = int(train_seed.generate_state(1)[0])
    for snapshot in train(design, cell.activation, rows.train, start):
        yield snapshot, rows


def each_epoch(look: Callable[[Snapshot, Rows], Mapping[str, Any]]) -> Callable[..., Any]:
    """Make what is measured of a cell from what is to be found in one snapshot."""

    @wraps(look)
    def measure(
        design: Design, cell: Cell, seed: np.random.SeedSequence, *, data: Path
    ) -> dict[str, Any]:
        with warnings.catch_warnings():
            # What they say of one estimate, that it leans on the kernel, is in the dataset.
            warnings.simplefilter("ignore", UserWarning)
            found = [look(snapshot, rows) for snapshot, rows in trained(design, cell, seed, data)]
        return {name: [each[name] for each in found] for name in found[0]}

    return measure


def outputs(measured: Mapping[str, tuple[tuple[str, ...], str]]) -> list[Output]:
    """Return outputs from their dimensions within a snapshot, and what they are."""
    outer = ("activation", "seed", "epoch")
    return [Output(name, (*outer, *dims), text) for name, (dims, text) in measured.items()]


def estimates(
    y: Labels, log_prob: Floats, **given: Any
) -> list[tuple[Decomposition, Decomposition]]:
    """Return the decomposition by each of METHODS, a pair for each of GENERATORS."""
    shared: dict[str, Any] = {"from_logits": True, "generator": list(GENERATORS), **given}
    ours = decompose(y, log_prob, **shared)
    paper = decompose(y, log_prob, method="risk", bandwidth=BANDWIDTH, **shared)
    return list(zip(paper, ours, strict=True))


def accuracy(log_prob: Floats, y: Labels) -> float:
    return float(np.mean(log_prob.argmax(axis=1) == y))


# --- what is said


def number(
    values: xr.DataArray, digits: int = 3, *, signed: bool = False, marked: bool = False
) -> str:
    """Return the mean over seeds ± its error, and a star where it is not 0 beyond chance."""
    mean, error = (each.item() for each in mean_and_error(values, "seed"))
    star = ("*" if beyond_chance(values, "seed") else " ") if marked else ""
    return f"{mean:{'+' if signed else ''}.{digits}f} ± {error:.{digits}f}{star}"


def grows(values: xr.DataArray) -> xr.DataArray:
    """Say where a mean over seeds is above 0 beyond chance."""
    return beyond_chance(values, "seed") & (values.mean("seed") > 0)


def of_each(summary: xr.Dataset, say: Callable[[xr.Dataset], str]) -> str:
    """Say something of every activation function, by name where there are several."""
    said = {name: say(of) for (name,), of in selections(summary, "activation")}
    alone = len(said) == 1
    return "; ".join(text if alone else f"{name}: {text}" for name, text in said.items())
