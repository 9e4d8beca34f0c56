"""What a study declares: factors, outputs, a measurement, claims and figures."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from propercal.experiments.factors import Factors

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

F = TypeVar("F", bound=Factors)


@dataclass(frozen=True)
class Output:
    """One variable of a study's dataset.

    Parameters
    ----------
    name : str
        Name under which `measure` returns it.
    dims : sequence of str
        All its dimensions in the order of the dataset, those of the cells included. `measure`
        returns an array over the others, in this order.
    long_name, units : str
        Attributes of the variable; no units by default.
    known : callable, optional
        Array over all dimensions from the factors, for what is known rather than measured.
    """

    name: str
    dims: Sequence[str]
    long_name: str = ""
    units: str | None = None
    known: Callable[[Any], Any] | None = None


class Verdict(NamedTuple):
    """What a study says of a claim, from a dataset."""

    claim: str
    where: str
    found: str
    """the numbers that it rests on, one line or several"""
    said: str
    """a few words"""


@dataclass(frozen=True)
class Claim:
    """A statement that a study puts to the test.

    Parameters
    ----------
    text : str
        The statement.
    judge : callable
        From the dataset, the numbers that a verdict rests on, and the verdict in a few words. A
        level that the dataset lacks, a `KeyError`, leaves the claim unjudged.
    where : str
        Where it is stated.
    """

    text: str
    judge: Callable[[xr.Dataset], tuple[str, str]]
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class Study(Generic[F]):
    """A Monte Carlo study: what to vary, what to measure, and what to say of it.

    Functions must be importable (no lambda, no function within a function), since other processes
    call them.

    Parameters
    ----------
    name : str
        Name of the script, the dataset and the folder.
    about : str
        Description for ``--help``.
    presets : mapping of str to (Factors, str)
        Factors by the name of their option, such as ``"tiny"``, ``"quick"`` and ``"full"``, each
        with its help. ``"quick"``, or else the first, is the default.
    outputs : sequence of Output
        Variables of the dataset.
    measure : callable
        ``measure(factors, cell, seed)`` returns numbers by the name of an output. All randomness
        comes from `seed`, a `numpy.random.SeedSequence` of this cell; one thread computes.
    levels : mapping, optional
        Coordinates of dimensions that no factor has.
    dims : sequence of str
        Order of the dimensions in the dataset, if not that in which outputs have them.
    summarise : callable, optional
        ``summarise(factors, replicates, n_workers)`` returns the dataset that tables, claims and
        figures read, if that is not what was measured.
    table : callable, optional
        Text that is printed, from the dataset.
    claims : sequence of Claim
        Statements to judge.
    conclusion : callable, optional
        Text that is printed after the verdicts, from the dataset: what a reader should keep.
    figures : callable, optional
        From the dataset, functions without arguments that each return a figure, by file name.
    read : callable, optional
        Of a study of files: from factors and the folder of ``--data``, factors that name what the
        files hold. `measure` then takes the folder as ``data``.
    data : Path, optional
        Default of ``--data``.
    source, reads : str
        Where the claims come from, and what a full run reads, for an index of studies.
    shown : str
        Name of the figure to show where there is room for one.
    """

    name: str
    about: str
    presets: Mapping[str, tuple[F, str]]
    outputs: Sequence[Output]
    measure: Callable[..., Mapping[str, Any]]
    levels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    dims: Sequence[str] = ()
    summarise: Callable[[F, xr.Dataset, int], xr.Dataset] | None = None
    table: Callable[[xr.Dataset], str] | None = None
    claims: Sequence[Claim] = ()
    conclusion: Callable[[xr.Dataset], str] | None = None
    figures: Callable[[xr.Dataset], Mapping[str, Callable[[], Figure]]] | None = None
    read: Callable[[F, Path], F] | None = None
    data: Path | None = None
    source: str = ""
    reads: str = "simulated"
    shown: str = ""

    @property
    def default(self) -> str:
        """Name of the preset that is run unless another is asked for."""
        return "quick" if "quick" in self.presets else next(iter(self.presets))

    def verdicts(self, summary: xr.Dataset) -> list[Verdict]:
        """Judge every claim."""
        return [Verdict(c.text, c.where, *_judged(c, summary)) for c in self.claims]

    def text(self, summary: xr.Dataset) -> str:
        """Return the table of the study, its verdicts and its conclusion."""
        lines = [] if self.table is None else [self.table(summary)]
        verdicts = self.verdicts(summary)
        if verdicts:
            lines += ["", "Verdicts"]
        for each in verdicts:
            where = f" ({each.where})" if each.where else ""
            lines += _wrapped(f"{each.claim}{where}: {each.said}", "  ")
            lines += _wrapped(each.found, "    ")
        if self.conclusion is not None:
            lines += ["", "Conclusion", *_wrapped(self.conclusion(summary), "  ")]
        return "\n".join(lines)

    def row(self) -> str:
        """Return the line of this study in an index, up to its link."""
        return f"| {self.source} | {self.reads} |"


def _wrapped(text: str, indent: str) -> list[str]:
    """Return lines that a terminal of 100 columns shows whole."""
    wrap = textwrap.TextWrapper(100, initial_indent=indent, subsequent_indent=indent)
    return [line for part in text.splitlines() for line in wrap.wrap(part)]


def _judged(claim: Claim, summary: xr.Dataset) -> tuple[str, str]:
    try:
        return claim.judge(summary)
    except KeyError as error:
        return f"the dataset lacks a level that it is about: {error}", "not judged"


def functions_of(study: Study[Any]) -> list[Callable[..., Any]]:
    """Return all functions that a study consists of, which tell its files."""
    given = [study.measure, study.summarise, study.table, study.figures, study.conclusion]
    given.append(study.read)
    judges = [claim.judge for claim in study.claims]
    known = [output.known for output in study.outputs]
    return [each for each in (*given, *judges, *known) if each is not None]
