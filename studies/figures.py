"""How the figures of all studies look, and how they are written."""

from propercal.experiments.figures import COLOURS, STYLE, legend, write

__all__ = ["COLOURS", "STYLE", "legend", "write"]
