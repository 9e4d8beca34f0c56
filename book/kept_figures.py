"""Draw the figure of each kept dataset, for the READMEs: python -m book.kept_figures [NAME ...]."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from book.datasets import REFERENCE, available
from book.pages import Study

#: Shades are enough for lines and bands, and a quarter of the size.
_COLOURS = 64


def main(names: Sequence[str]) -> None:
    from PIL import Image

    for name in names or [each for each in available() if each != "benchmark"]:
        study = Study(name)
        spec = study.declared.shown
        with tempfile.TemporaryDirectory() as folder:
            png = next(p for p in study.save(Path(folder), spec) if p.suffix == ".png")
            with Image.open(png) as image:
                small = image.convert("RGB").quantize(_COLOURS)
        small.save(REFERENCE / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
