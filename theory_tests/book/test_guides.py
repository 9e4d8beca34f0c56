"""The guides: every picture of the package is shown, captions say what to see, nothing is silenced or cut off."""

from __future__ import annotations

import re

import pytest

from theory_tests.book.sources import BOOK

plotting = pytest.importorskip("propercal.plotting")

GUIDES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((BOOK / "guides").glob("*.md"))}
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```", re.MULTILINE | re.DOTALL)


def code(text: str) -> list[str]:
    """Return what readers see of the code of each cell, without settings."""
    cells = [cell for cell in CELL.findall(text) if "remove-input" not in cell]
    return [re.sub(r"\A---\n.*?^---\n", "", cell, flags=re.MULTILINE | re.DOTALL) for cell in cells]


@pytest.mark.parametrize("name", plotting.__all__)
def test_every_plot_is_in_the_gallery_with_its_code(name: str) -> None:
    text = GUIDES["gallery"]
    assert re.search(rf"^#+ .*`{name}`|^`{name}` ", text, re.MULTILINE), "no heading or sentence names it"
    cells = [cell for cell in code(text) if re.search(rf"import .*\b{name}\b", cell)]
    assert len(cells) == 1
    assert len(re.findall(rf"\b{name}\b", cells[0])) > 1, "imported and not used"
    assert "plt.show()" in cells[0]


def test_plots_of_the_gallery_take_five_lines() -> None:
    for cell in code(GUIDES["gallery"])[1:]:
        lines = [line for line in cell.splitlines() if line and not line.startswith(("import", "from", "plt.show"))]
        assert len(lines) <= 5, cell


@pytest.mark.parametrize("guide", GUIDES)
def test_guides_silence_no_warnings(guide: str) -> None:
    assert not re.search(r"simplefilter|filterwarnings|catch_warnings", GUIDES[guide])


@pytest.mark.parametrize("guide", GUIDES)
def test_figures_have_captions(guide: str) -> None:
    cells = [cell for cell in CELL.findall(GUIDES[guide]) if "plt.show()" in cell]
    without = [cell[:200] for cell in cells if not re.search(r"^    caption: \S", cell, re.MULTILINE)]
    assert without == []


@pytest.mark.parametrize("guide", [name for name in GUIDES if "code-cell" in GUIDES[name]])
def test_guides_open_with_their_answer_and_end_with_a_summary(guide: str) -> None:
    text = GUIDES[guide]
    assert re.search(r"^# .+\n\n\*\*In one sentence\.\*\* ", text, re.MULTILINE)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE)[-1] in ("Summary", "Exercises")


