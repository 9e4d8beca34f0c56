"""The factors of a Monte Carlo study, and the cells they cross into."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from propercal._data.messages import bad_value, unknown_name
from propercal.generators import BregmanGenerator, as_generator
from propercal.methods import PUBLISHED_METHODS
from propercal.simulation.model import NOTIONS, TemperatureScaledSimplex


class Cell(NamedTuple):
    """One simulated data set, on which every estimator of a design is measured."""

    n_classes: int
    sample_size: int
    replicate: int


_FACTORS = ("notions", "methods", "n_classes", "bandwidths", "sample_sizes")


@dataclass(frozen=True)
class StudyDesign:
    """Factors × replicates of a Monte Carlo study of :class:`TemperatureScaledSimplex`.

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

    generators: Sequence[str | BregmanGenerator] = ("log", "brier")
    notions: Sequence[str] = ("classwise", "canonical")
    methods: Sequence[str] = PUBLISHED_METHODS
    n_classes: Sequence[int] = (2, 5, 10)
    bandwidths: Sequence[float] = (0.1, 0.02)
    sample_sizes: Sequence[int] = (50, 100, 200, 400)
    n_replicates: int | Sequence[int] = 20
    label_temperature: float = 0.9
    score_temperature: float = 0.6
    seed: int = 0

    def __post_init__(self) -> None:
        for name in _FACTORS:
            levels = getattr(self, name)
            if isinstance(levels, str):
                raise bad_value(name, repr(levels), "a sequence of levels", f"pass [{levels!r}]")
            object.__setattr__(self, name, tuple(_plain(level) for level in levels))
        if isinstance(self.generators, str | BregmanGenerator):
            raise bad_value("generators", repr(self.generators), "a sequence", "put it into a list")
        object.__setattr__(self, "generators", tuple(as_generator(g) for g in self.generators))
        for name in (*_FACTORS, "generators"):
            self._check_levels(name)
        for name, valid in (("notions", NOTIONS), ("methods", PUBLISHED_METHODS)):
            for level in getattr(self, name):
                if level not in valid:
                    raise unknown_name(name, level, valid)
        for gamma in self.bandwidths:
            if not (math.isfinite(gamma) and gamma > 0):
                raise bad_value("bandwidths", repr(gamma), "positive numbers", "0.02 is usual")
        for n in self.sample_sizes:
            if n < 2:
                raise bad_value("sample_sizes", repr(n), "2 or more", "leave it out")
        for k in self.n_classes:
            TemperatureScaledSimplex(k, self.label_temperature, self.score_temperature)
        replicates = self.n_replicates
        if isinstance(replicates, Sequence):
            object.__setattr__(self, "n_replicates", tuple(replicates))
            if len(replicates) != len(self.sample_sizes):
                raise bad_value(
                    "n_replicates",
                    repr(tuple(replicates)),
                    f"one number, or one for each of the {len(self.sample_sizes)} sample sizes",
                    "pass as many",
                )
        if min(self.replicates_of.values()) < 1:
            raise bad_value("n_replicates", repr(replicates), "1 or more", "2 give an error bar")
        if self.seed < 0:
            raise bad_value("seed", repr(self.seed), "a whole number ≥ 0", "0 will do")

    def _check_levels(self, name: str) -> None:
        levels = [str(level) for level in getattr(self, name)]
        if not levels:
            raise bad_value(name, "()", "one level or more", "name one")
        if len(set(levels)) < len(levels):
            raise bad_value(name, repr(tuple(levels)), "distinct levels", "remove the repeated one")

    @property
    def generator_names(self) -> tuple[str, ...]:
        """Names of the generators, in order."""
        return tuple(as_generator(g).name for g in self.generators)

    @property
    def replicates_of(self) -> dict[int, int]:
        """Number of replicates for each sample size."""
        if isinstance(self.n_replicates, Sequence):
            return dict(zip(self.sample_sizes, self.n_replicates, strict=True))
        return dict.fromkeys(self.sample_sizes, self.n_replicates)

    def model(self, n_classes: int) -> TemperatureScaledSimplex:
        """Return the simulated model for one class count."""
        return TemperatureScaledSimplex(n_classes, self.label_temperature, self.score_temperature)

    def cells(self) -> list[Cell]:
        """Return all cells, the costliest first, so that workers finish together."""
        cells = [
            Cell(int(k), int(n), replicate)
            for k in self.n_classes
            for n, count in self.replicates_of.items()
            for replicate in range(count)
        ]
        return sorted(cells, key=lambda cell: (-self.cost(cell), cell))

    def cost(self, cell: Cell) -> float:
        """Return the expected time of a cell, in arbitrary units."""
        # One kernel pass is n² exponentials; class-wise takes one for each class.
        passes = sum(1.5 if notion == "canonical" else cell.n_classes for notion in self.notions)
        return len(self.bandwidths) * len(self.methods) * passes * (cell.sample_size**2 + 5e5)

    def to_json(self) -> str:
        """Return the design as a JSON object, generators by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return json.dumps({**values, "generators": self.generator_names})


def _plain(level: Any) -> Any:
    """Return a NumPy scalar as the Python number that JSON can hold."""
    return level.item() if hasattr(level, "item") else level
