"""Pictures of the derivations: each is shown with words, can be read, and says what the text says."""

from __future__ import annotations

import itertools
import re
import time
from typing import Any

import pytest

from theory_tests.book.sources import BOOK, pages

pytest.importorskip("matplotlib")
pytest.importorskip("xarray")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from book.pictures import canvas, two_gaps

TEXTS = {path: path.read_text(encoding="utf-8") for path in pages()}
DERIVATIONS = {path.stem: text for path, text in TEXTS.items() if path.parent.name == "derivations"}
_FIGURE = re.compile(r"```\{figure\} (\S+)\n(.*?)\n```", re.DOTALL)
#: Characters in points that a window of 400 px shows at four fifths.
_SMALLEST = 10


def test_every_figure_has_alternative_text_and_a_caption() -> None:
    shown = []
    for path, text in TEXTS.items():
        for source, body in _FIGURE.findall(text):
            alt = re.search(r"^:alt: (.+)$", body, re.MULTILINE)
            caption = [line for line in body.splitlines() if line and not line.startswith(":")]
            assert len(alt[1] if alt else "") > 30, (path.name, source)
            assert len(" ".join(caption)) > 40, (path.name, source)
            shown.append(source)
    drawn = [f"/_build/pictures/{name}.svg" for name in canvas.names()]
    assert sorted(drawn) == sorted(source for source in shown if "/_build/" in source)


def test_every_derivation_has_a_picture_a_summary_and_exercises() -> None:
    assert [name for name, text in DERIVATIONS.items() if not _FIGURE.search(text)] == []
    for name, text in DERIVATIONS.items():
        summary, _, exercises = text.partition("\n## Exercises\n")
        assert "\n## Summary\n" in summary, name
        questions, _, answers = exercises.partition("```{dropdown} Answers\n")
        for part in (questions, answers):
            assert re.findall(r"^(\d)\. ", part, re.MULTILINE) == ["1", "2", "3"], name


@pytest.mark.parametrize("name", canvas.names())
def test_pictures_are_quick_and_their_words_are_legible(name: str) -> None:
    with canvas.style():
        began = time.process_time()
        figure = canvas.drawn(name)
        FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
        assert time.process_time() - began < 3
        words = [text for text in _texts(figure) if text.get_text().strip() and text.get_visible()]
        # The extent of an annotation includes its arrow.
        boxes = [(text.get_text(), Text.get_window_extent(text)) for text in words]
    assert all(text.get_fontsize() >= _SMALLEST for text in words)
    width, height = figure.bbox.size
    for text, box in boxes:
        assert min(box.x0, box.y0, width - box.x1, height - box.y1) >= -1, text
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        apart = a.x1 <= b.x0 + 2 or b.x1 <= a.x0 + 2 or a.y1 <= b.y0 + 2 or b.y1 <= a.y0 + 2
        assert apart, (one, other)


def _texts(figure: Any) -> list[Any]:
    """Return the labels of a figure, those of ticks only where they are shown."""
    found = []
    for axis in figure.axes:
        found += axis.texts
        if not axis.axison:
            continue
        found += [axis.xaxis.label, axis.yaxis.label]
        for one in (axis.xaxis, axis.yaxis):
            low, high = sorted(one.get_view_interval())
            found += [tick.label1 for tick in one.get_major_ticks() if low <= tick.get_loc() <= high]
    return found


def test_the_table_of_three_predictions() -> None:
    """Its numbers are those of the picture, and the identities hold."""
    found = two_gaps.terms()
    assert found.risk == pytest.approx(found.calibration_error + found.uncertainty - found.sharpness)
    text = (BOOK / "derivations" / "decomposition.md").read_text(encoding="utf-8")
    assert f"*calibration error* {found.calibration_error:.3f} | *sharpness* {found.sharpness:.4f} |" in text
    assert f"= {found.uncertainty:.4f}$" in text
    assert f"= {found.risk:.3f}$" in text
    for share, g, r in zip(two_gaps.SHARE, two_gaps.PREDICTED, two_gaps.HAPPENS, strict=True):
        assert f"| {g} | {share} | {r} | {2 * (r - g) ** 2:.2g} | {2 * (r - 0.47) ** 2:.4f} |" in text
