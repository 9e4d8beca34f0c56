"""The factors of a Monte Carlo study of the paper's simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from propercal._data.predictions.notions import as_notion
from propercal._data.words.messages import bad_value
from propercal.experiments.factors import Factors, factor
from propercal.generators import BregmanGenerator, as_generator
from propercal.methods import PUBLISHED_METHODS
from propercal.simulation.model import NOTIONS, TemperatureScaledSimplex


@dataclass(frozen=True)
class StudyDesign(Factors):
    """Factors × replicates of a Monte Carlo study of one simulation.

    Each cell (class count, sample size, replicate) is one simulated data set, drawn from
    ``SeedSequence(seed, spawn_key=cell)``, on which every generator, notion, method and bandwidth
    is measured.

    Parameters
    ----------
    generators : sequence of str or BregmanGenerator
        Convex functions F.
    notions : sequence of {"canonical", "classwise"}
    methods : sequence of {"direct", "risk"}
    n_classes : sequence of int
        Class counts k.
    bandwidths : sequence of float
        Bandwidths γ of the Dirichlet kernel, in units of probability.
    sample_sizes : sequence of int
        Numbers of samples n.
    n_replicates : int or sequence of int
        Data sets for each class count and sample size, or one number for each sample size.
    label_temperature, score_temperature : float
        Temperatures of the model.
    seed : int
        Entropy of every random number.

    Raises
    ------
    ValueError
        If a factor is empty, has repeated levels, or a level is invalid.

    Examples
    --------
    >>> design = StudyDesign(n_classes=(2, 3), sample_sizes=(50, 100), n_replicates=(4, 2))
    >>> len(design.cells())
    12
    """

    generators: Sequence[str | BregmanGenerator] = factor(
        ("log", "brier"), within="generator", help="log, brier, spherical, ..."
    )
    notions: Sequence[str] = factor(("classwise", "canonical"), within="notion", among=NOTIONS)
    methods: Sequence[str] = factor(PUBLISHED_METHODS, within="method", among=PUBLISHED_METHODS)
    n_classes: Sequence[int] = factor((2, 5, 10), between="n_classes", metavar="K")
    bandwidths: Sequence[float] = factor((0.1, 0.02), within="bandwidth", metavar="GAMMA")
    sample_sizes: Sequence[int] = factor((50, 100, 200, 400), between="sample_size", least=2)
    n_replicates: int | Sequence[int] = factor(
        20, between="replicate", one_for="sample_sizes", option="replicates", metavar="R"
    )
    label_temperature: float = factor(0.9, metavar="T1")
    score_temperature: float = factor(0.6, metavar="T2")
    seed: int = 0

    def __post_init__(self) -> None:
        found = self.generators
        if isinstance(found, str | BregmanGenerator):
            raise bad_value("generators", repr(found), "a sequence", "put it into a list")
        object.__setattr__(self, "generators", tuple(as_generator(g) for g in found))
        super().__post_init__()
        for gamma in self.bandwidths:
            if not (math.isfinite(gamma) and gamma > 0):
                raise bad_value("bandwidths", repr(gamma), "positive numbers", "0.02 is usual")
        for k in self.n_classes:
            self.model(k)

    @property
    def generator_names(self) -> tuple[str, ...]:
        """Names of the generators, in order."""
        return tuple(as_generator(g).name for g in self.generators)

    def model(self, n_classes: int) -> TemperatureScaledSimplex:
        """Return the simulated model for one class count."""
        return TemperatureScaledSimplex(n_classes, self.label_temperature, self.score_temperature)

    def levels(self) -> dict[str, list[Any]]:
        """Return the coordinate of every dimension."""
        names = {"generator": list(self.generator_names)}
        return {**super().levels(), **names, "bandwidth": [float(x) for x in self.bandwidths]}

    def cost(self, cell: Any) -> float:
        """Return the expected time of a cell, in arbitrary units."""
        # One kernel pass is n² exponentials; class-wise takes one for each class.
        passes = sum(1.5 if as_notion(notion).whole else cell.n_classes for notion in self.notions)
        repeats = len(self.bandwidths) * len(self.methods)
        return float(repeats * passes * (cell.sample_size**2 + 5e5))

    def settings(self) -> dict[str, Any]:
        """Return the fields, generators by name."""
        return {**super().settings(), "generators": self.generator_names}
