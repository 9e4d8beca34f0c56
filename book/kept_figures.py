"""Draw the figure of each kept dataset, for the READMEs: python -m book.kept_figures [NAME ...]."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from book.pages import REFERENCE, Study, available

#: Shades are enough for lines and bands, and a quarter of the size.
_COLOURS = 64


class Kept(NamedTuple):
    """Where a study's figures are made, and which of them is kept."""

    figures: str
    spec: Any


#: Of studies that do not name it themselves.
KEPT = {
    "information_monotonicity": Kept("information_figures", "rises"),
    "model_selection": Kept("selection_figures", "pareto"),
    "training_monitor": Kept("monitor_figures", "monitor"),
}


def main(names: Sequence[str]) -> None:
    from PIL import Image

    for name in names or [each for each in available() if each != "benchmark"]:
        kept = KEPT.get(name)
        if kept is None:
            study = Study(name)
            spec = study.declared.shown if study.declared else None
        else:
            study, spec = Study(name, table=kept.figures, figures=kept.figures), kept.spec
        with tempfile.TemporaryDirectory() as folder:
            png = next(p for p in study.save(Path(folder), spec) if p.suffix == ".png")
            with Image.open(png) as image:
                small = image.convert("RGB").quantize(_COLOURS)
        small.save(REFERENCE / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
