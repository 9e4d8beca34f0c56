"""Monte Carlo studies: a study declares what to vary and to measure, and an engine runs it.

The engine owns random numbers, the journal of finished cells, processes or a Dask cluster, the
dataset, the command line, tables of verdicts, figures and provenance.
"""

from propercal.experiments.command import main
from propercal.experiments.decompositions import run_study
from propercal.experiments.design import StudyDesign
from propercal.experiments.factors import Cell, Factors, factor
from propercal.experiments.runner import run
from propercal.experiments.statistics import beyond_chance, selections
from propercal.experiments.study import Claim, Output, Study, Verdict
from propercal.plotting.lines import mean_and_error

__all__ = [
    "Cell",
    "Claim",
    "Factors",
    "Output",
    "Study",
    "StudyDesign",
    "Verdict",
    "beyond_chance",
    "factor",
    "main",
    "mean_and_error",
    "run",
    "run_study",
    "selections",
]
