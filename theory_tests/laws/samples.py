"""Finite samples with the settings of an estimate, for the laws that hold on every sample."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from propercal.generators import BregmanGenerator
from propercal.testing.strategies import Predictions, generators, predictions
from theory_tests.instances import KERNELS, NOTIONS

#: An estimate costs more than a sum over a table: a quarter of the profile's examples.
fewer = settings(max_examples=settings().max_examples // 4)


class Sample(NamedTuple):
    """Predictions and how they are to be evaluated."""

    data: Predictions
    generator: BregmanGenerator
    settings: dict[str, Any]

    @property
    def arguments(self) -> tuple[Any, Any]:
        return self.data.y_true, self.data.y_proba

    @property
    def options(self) -> dict[str, Any]:
        """The keyword arguments of `decompose`."""
        return {"generator": self.generator, "sample_weight": self.data.sample_weight, **self.settings}

    def slopes(self, generator: BregmanGenerator) -> Any:
        """|∂F/∂g_i| at every prediction."""
        g = self.data.y_proba
        points = g if self.settings["notion"] == "canonical" else np.stack([1 - g, g], axis=-1)
        return np.abs(generator.gradient(points))

    def steepness(self, generator: BregmanGenerator) -> float:
        """The largest finite |∂F/∂g_i|: how much the direct estimate amplifies an ulp of r̂."""
        slope = self.slopes(generator)
        return float(slope[np.isfinite(slope)].max(initial=0.0))

    @property
    def has_finite_slopes(self) -> bool:
        """Whether no loss and no divergence from a prediction can be infinite."""
        return bool(np.isfinite(self.slopes(self.generator)).all())

    @property
    def weight(self) -> Any:
        """Weights that sum to 1."""
        w = self.data.sample_weight
        w = np.ones(len(self.data.y_true)) if w is None else w
        return w / w.sum()


@st.composite
def samples(
    draw: st.DrawFn,
    *,
    boundary: bool = True,
    kernels: tuple[str, ...] = tuple(KERNELS),
    notions: tuple[str, ...] = NOTIONS,
) -> Sample:
    """2 to 8 predictions of 2 to 4 classes, at least two of positive weight."""
    k = draw(st.integers(2, 4))
    weighted = draw(st.booleans())
    data = draw(
        predictions(k, min_samples=2, boundary=boundary, weighted=weighted).filter(
            lambda data: data.sample_weight is None or (data.sample_weight > 0).sum() >= 2
        )
    )
    kernel, exclude_self = draw(st.sampled_from(kernels)), draw(st.booleans())
    notion = draw(st.sampled_from(notions))
    size = k if notion == "canonical" else 2
    options = {
        "notion": notion, "kernel": kernel, "bandwidth": draw(st.sampled_from((0.1, 0.01, 1.0))),
        "exclude_self": exclude_self,
    }
    return Sample(data, draw(generators(n_classes=size, finite_at_vertices=True)), options)
