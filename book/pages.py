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

import xarray as xr

from propercal.experiments import Verdict
from propercal.experiments.figures import save

if TYPE_CHECKING:
    from IPython.display import Image, Markdown

REFERENCE = Path(__file__).resolve().parents[1] / "studies" / "reference"


def available() -> list[str]:
    """Return the names of the datasets that are kept."""
    return sorted(path.stem for path in REFERENCE.glob("*.nc"))


class Study:
    """A study whose summary is kept in studies/reference.

    Parameters
    ----------
    name : str
        The module of `studies`, and of the dataset.
    table, figures : str, optional
        Modules with `table(summary)` and `save(summary, folder, spec)`, of a study that is none of
        :class:`propercal.experiments.Study`.
    """

    def __init__(self, name: str, *, table: str | None = None, figures: str | None = None) -> None:
        self.name = name
        self.declared = None
        if table is None or figures is None:
            self.declared = importlib.import_module(f"studies.{name}").STUDY
        else:
            self._table = importlib.import_module(f"studies.{table}")
            module = importlib.import_module(f"studies.{figures}")
            self._figures = getattr(module, "STUDY", module)

    @cached_property
    def summary(self) -> xr.Dataset:
        """The dataset."""
        return xr.load_dataset(REFERENCE / f"{self.name}.nc", engine="h5netcdf")

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
        declared = self.declared
        print(declared.text(self.summary) if declared else self._table.table(self.summary))

    def verdicts(self) -> list[Verdict]:
        """Return what the study says of each claim."""
        return self.declared.verdicts(self.summary) if self.declared else []

    def save(self, folder: Path, spec: Any) -> Sequence[Path]:
        """Write one figure as the study writes it."""
        if self.declared:
            return save(self.declared, self.summary, folder, spec)
        paths: Sequence[Path] = self._figures.save(self.summary, folder, spec)
        return paths

    def figure(self, spec: Any) -> Image:
        """Draw one figure as the study draws it."""
        return drawn(lambda folder: self.save(folder, spec))


def drawn(save: Callable[[Path], Sequence[Path]]) -> Image:
    """Show the PNG among the files that a function writes into a folder."""
    from IPython.display import Image

    with tempfile.TemporaryDirectory() as folder:
        png = next(path for path in save(Path(folder)) if path.suffix == ".png")
        return Image(data=png.read_bytes(), format="png", width=820)
