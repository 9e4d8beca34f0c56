"""Train a fully connected classifier by stochastic gradient descent, and look at it on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Inputs = NDArray[np.float32]
Labels = NDArray[np.int64]

ACTIVATIONS = {"relu": "ReLU", "tanh": "Tanh"}


@dataclass(frozen=True)
class Network:
    """Layers and how they are trained."""

    hidden: Sequence[int]
    """Nodes of each hidden layer."""
    activation: str
    """One of ACTIVATIONS."""
    learning_rate: float
    momentum: float
    batch_size: int


@dataclass(frozen=True)
class Snapshot:
    """A network after some epochs of training."""

    epoch: int
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

    def log_prob(self, inputs: Inputs) -> Floats:
        return self.layers(inputs)[-1]


def device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def train(
    network: Network, inputs: Inputs, labels: Labels, epochs: Sequence[int], seed: int
) -> Iterator[Snapshot]:
    """Yield the network after each of `epochs`, in order; 0 is before training."""
    import torch

    with _reproducible(seed):
        x, y = (torch.from_numpy(values).to(device()) for values in (inputs, labels))
        blocks = _blocks(network, x.shape[1], int(labels.max()) + 1).to(device())
        optimiser = torch.optim.SGD(
            blocks.parameters(), lr=network.learning_rate, momentum=network.momentum
        )
        for epoch in range(max(epochs) + 1):
            if epoch:
                for rows in torch.randperm(len(y)).split(network.batch_size):  # type: ignore[no-untyped-call]
                    optimiser.zero_grad()
                    loss = torch.nn.functional.cross_entropy(blocks(x[rows]), y[rows])
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimiser.step()
            if epoch in epochs:
                yield Snapshot(epoch, blocks)


def _blocks(network: Network, n_inputs: int, n_classes: int) -> Any:
    import torch

    widths = [n_inputs, *network.hidden, n_classes]
    layers = [torch.nn.Linear(*pair) for pair in pairwise(widths)]
    function = getattr(torch.nn, ACTIVATIONS[network.activation])
    hidden = [torch.nn.Sequential(layer, function()) for layer in layers[:-1]]
    return torch.nn.Sequential(*hidden, layers[-1])


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
