"""Figures as SVG that stand in a page: with its colours, ids of their own, and words for them."""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from propercal.reporting.content import Figure
from propercal.reporting.words import without_unseen

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_SALT = "propercal"
#: Ink and paper of the dark theme.
_DARK_INK, _DARK_PAPER = 0xE8, 0x1B
#: By how much of the way to white a colour is lighter there.
_LIGHTER = 0.4
#: Inches about a figure.
_MARGIN = 0.12
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": _SALT,
    "font.size": 10.5,
    "axes.titlesize": 10.5,
    "legend.fontsize": 9.5,
    "hatch.linewidth": 0.8,
}


@contextmanager
def plain_style() -> Iterator[None]:
    """Draw in the same style whatever the user's settings of matplotlib are."""
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        # Fonts lack letters of some names; the page's own have them.
        warnings.filterwarnings("ignore", message="Glyph|Matplotlib currently does not support")
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)  # type: ignore[arg-type]
        yield


def drawn(
    key: str,
    size: tuple[float, float],
    draw: Callable[[Canvas], None],
    *,
    title: str,
    description: str,
    caption: str,
) -> Figure:
    """Return what a function draws on a figure of `size` inches."""
    from matplotlib.figure import Figure as New

    with plain_style():
        canvas = New(figsize=size, layout="constrained")
        engine: Any = canvas.get_layout_engine()
        # Letters of the page may be wider than those that room was made for.
        engine.set(w_pad=_MARGIN, h_pad=_MARGIN)
        draw(canvas)
        written = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        canvas.savefig(written, format="svg", transparent=True, metadata=nothing)
    svg = _for_page(written.getvalue(), key, title, description)
    return Figure(key, svg, title, description, caption)


def _for_page(svg: str, key: str, title: str, description: str) -> str:
    """Return the element alone: scaled by the page, ids and colours of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<style[^>]*>.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{key}-', svg)
    svg = re.sub(r'href="#', f'href="#{key}-', svg)
    svg = re.sub(r"url\(#", f"url(#{key}-", svg)
    svg = without_unseen(svg)
    svg = _COLOUR.sub(lambda found: f"var({variable(found[0])})", svg)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    width, height = (float(each) for each in box.groups()) if box else (340.0, 340.0)
    words = (
        f'<title id="{key}-title">{html.escape(title)}</title>'
        f'<desc id="{key}-words">{html.escape(description)}</desc>'
    )
    head = (
        f'<svg class="drawing" role="img" aria-labelledby="{key}-title {key}-words" '
        f'viewBox="0 0 {width:g} {height:g}" style="--width: {width * 4 / 3:.0f}px" '
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    return head + words + svg[svg.index(">") + 1 :].strip()


def variable(colour: str) -> str:
    """Return the name of the variable that has a colour."""
    return f"--c{colour[1:].lower()}"


def theme_of(figures: Iterable[Figure]) -> tuple[str, str]:
    """Return declarations of all colours, for the light theme and for the dark one."""
    names = sorted(
        {each for figure in figures for each in re.findall(r"--c[0-9a-f]{6}", figure.svg)}
    )
    light = "".join(f"{name}:#{name[3:]};" for name in names)
    dark = "".join(f"{name}:{_in_the_dark(name[3:])};" for name in names)
    return light, dark


def _in_the_dark(colour: str) -> str:
    """Return what a colour is on dark paper: greys turned round, colours lighter."""
    parts = [int(colour[i : i + 2], 16) for i in (0, 2, 4)]
    if max(parts) - min(parts) < 8:
        grey = sum(parts) / (3 * 255)
        found = [round(_DARK_INK + grey * (_DARK_PAPER - _DARK_INK))] * 3
    else:
        found = [round(each + _LIGHTER * (255 - each)) for each in parts]
    return "#" + "".join(f"{each:02x}" for each in found)
