"""Monte Carlo studies: a design of cells, run by several workers, stored as one dataset."""

from propercal.experiments.design import StudyDesign
from propercal.experiments.runner import run_study

__all__ = ["StudyDesign", "run_study"]
