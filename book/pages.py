"""What the pages on results share: a study's kept dataset, its own table and its own figures.

A page for another study is a copy of results/training_monitor.md with other names, its line in
_toc.yml, and a row in results/index.md. A test fails while a kept dataset has no page.
"""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from book.wide_text import fitted
from propercal import experiments
from propercal.experiments import Verdict
from propercal.experiments.datasets import read_dataset
from propercal.experiments.figures import save

if TYPE_CHECKING:
    import xarray as xr
    from IPython.display import Image, Markdown

REFERENCE = Path(__file__).resolve().parents[1] / "studies" / "reference"


def available() -> list[str]:
    """Return the names of the datasets that are kept."""
    return sorted(path.stem for path in REFERENCE.glob("*.nc"))


def kept(name: str) -> xr.Dataset:
    """Return a dataset that is kept, unless it is not the one of its checksum."""
    return read_dataset(REFERENCE / f"{name}.nc")


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
        """Say which run the dataset is of."""
        from IPython.display import Markdown

        found = self.summary.attrs
        versions = json.loads(found["versions"])
        commit, _, dirty = found["commit"].partition("-")
        parts = [
            f"Dataset `studies/reference/{self.name}.nc`: seed {found['seed']}, "
            f"commit `{commit[:12]}`" + (" with changes that were not committed" if dirty else ""),
            ", ".join(f"{package} {version}" for package, version in versions.items()),
        ]
        return Markdown("; ".join(parts) + ".")

    def table(self) -> None:
        """Print what the study prints."""
        print(fitted(self.declared.text(self.summary)))

    def verdicts(self) -> list[Verdict]:
        """Return what the study says of each claim."""
        return self.declared.verdicts(self.summary)

    def save(self, folder: Path, spec: Any) -> Sequence[Path]:
        """Write one figure as the study writes it."""
        return save(self.declared, self.summary, folder, spec)

    def figure(self, spec: Any) -> Image:
        """Draw one figure as the study draws it."""
        return drawn(lambda folder: self.save(folder, spec))


def drawn(save: Callable[[Path], Sequence[Path]]) -> Image:
    """Show the PNG among the files that a function writes into a folder."""
    from IPython.display import Image

    with tempfile.TemporaryDirectory() as folder:
        png = next(path for path in save(Path(folder)) if path.suffix == ".png")
        return Image(data=png.read_bytes(), format="png", width=820)
