"""What the pages on results share: a study's kept dataset, its own table and its own figures.

A page for another study is a copy of results/training_monitor.md with other names, its line in
_toc.yml, and a row in results/index.md. A test fails while a kept dataset has no page.
"""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from book.answers import ANSWERS, minus
from book.datasets import kept
from propercal import experiments
from propercal.experiments import Verdict, mean_and_error
from propercal.experiments.figures import save

if TYPE_CHECKING:
    import xarray as xr
    from IPython.display import Image, Markdown


def debiased_beside(summary: xr.Dataset) -> xr.Dataset:
    """Add to the bias-rate study the debiased estimate that another study made of its simulation.

    Its kept run is older than the measurement of the debiased estimate.
    """
    other = kept("direct_vs_risk")
    ours, theirs = (json.loads(each.attrs["design"]) for each in (summary, other))
    temperatures = ("label_temperature", "score_temperature")
    if any(ours[name] != theirs[name] for name in temperatures) or "debiased_mean" in summary:
        return summary
    estimate = other["calibration_error"].sel(estimator="debiased", drop=True)
    estimate = estimate.rename(sample_size="debiased_sample_size")
    mean, error = mean_and_error(estimate, "replicate")
    percent = 100 / summary["truth"]
    return summary.assign(
        debiased_mean=mean,
        debiased_standard_error=error,
        debiased_relative_bias=percent * mean - 100,
        debiased_relative_bias_se=percent * error,
    )


#: What figures of a kept run show beside it.
_BESIDE = {"bias_rate": debiased_beside}


class Study:
    """A study whose summary is kept in studies/reference.

    Parameters
    ----------
    name : str
        The module of `studies`, and of the dataset.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.declared: experiments.Study[Any] = importlib.import_module(f"studies.{name}").STUDY

    @cached_property
    def summary(self) -> xr.Dataset:
        """The dataset."""
        return kept(self.name)

    def provenance(self) -> Markdown:
        """Say which run the dataset is of, and by which command it is repeated."""
        found = self.summary.attrs
        versions = json.loads(found["versions"])
        commit, _, dirty = found["commit"].partition("-")
        parts = [
            f"`python studies/{self.name}.py --full` repeats it. The dataset is "
            f"`studies/reference/{self.name}.nc`: seed {found['seed']}, commit `{commit[:12]}`"
            + (" with changes that were not committed" if dirty else ""),
            ", ".join(f"{package} {version}" for package, version in versions.items()),
        ]
        return markdown("; ".join(parts) + ".")

    def answer(self) -> Markdown:
        """Say what the paper claims, and in one sentence what the study found."""
        found = ANSWERS[self.name](self.summary)
        return markdown(f"The paper: *{found.claim}.*\n\n**{found.text}**")

    def judged(self) -> Markdown:
        """Show what the study says of each claim, and the numbers that this rests on."""
        blocks = []
        for verdict in self.verdicts():
            first, *others = [minus(line) for line in verdict.found.splitlines()]
            said = f"**{verdict.claim}** ({verdict.where}): {verdict.said}.  \n{first}"
            said += "." if first[-1] not in ":." else ""
            blocks += [said, "\n".join(f"* {line}" for line in others)]
        return markdown("\n\n".join(filter(None, blocks)))

    def verdicts(self) -> list[Verdict]:
        """Return what the study says of each claim."""
        return self.declared.verdicts(self.summary)

    def save(self, folder: Path, spec: Any) -> Sequence[Path]:
        """Write one figure as the study writes it."""
        add = _BESIDE.get(self.name)
        shown = self.summary if add is None else add(self.summary)
        return save(self.declared, shown, folder, spec)

    def figure(self, spec: Any) -> Image:
        """Draw one figure as the study draws it."""
        return drawn(lambda folder: self.save(folder, spec))


def drawn(save: Callable[[Path], Sequence[Path]]) -> Image:
    """Show the PNG among the files that a function writes into a folder."""
    from IPython.display import Image

    with tempfile.TemporaryDirectory() as folder:
        png = next(path for path in save(Path(folder)) if path.suffix == ".png")
        return Image(data=png.read_bytes(), format="png", width=820)


def markdown(text: str) -> Markdown:
    """Show text as the page's own."""
    from IPython.display import Markdown

    return Markdown(text)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, words: int = 1) -> Markdown:
    """Show a table, of which the first columns, as many as `words`, hold words."""
    alignment = ["---"] * words + ["---:"] * (len(head) - words)
    lines = [head, alignment, *rows]
    return markdown("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines))


def bar(share: float, label: str) -> str:
    """Return a small bar, as wide as a share of its frame, for a cell of a table."""
    width, height = 84, 11
    filled = round(width * min(max(share, 0.0), 1.0))
    return (
        f'<svg width="{width + 2}" height="{height + 2}" role="img" aria-label="{label}">'
        f"<title>{label}</title>"
        f'<rect x="1" y="1" width="{width}" height="{height}" fill="none" '
        'stroke="currentColor" stroke-opacity="0.5"/>'
        f'<rect x="1" y="1" width="{filled}" height="{height}" fill="#0072B2"/></svg>'
    )
