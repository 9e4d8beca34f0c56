"""The page: sections in their order, put into the template."""

from __future__ import annotations

from collections.abc import Iterator

from propercal.reporting import back_matter, of_model, of_several
from propercal.reporting.back_matter import own_version
from propercal.reporting.content import Figure, Page, Section
from propercal.reporting.measured import Measured
from propercal.reporting.svg import theme_of
from propercal.reporting.words import count, loss_called, name_of

_NEEDED = 'propercal.report needs {name}; install it with: pip install "propercal[report]"'


def page_of(found: Measured, title: str, date: str | None) -> Page:
    """Return all that is said of what was measured."""
    sections = [each for each in _sections(found) if each is not None]
    return Page(title, _subtitle(found), date, sections, own_version())


def _sections(found: Measured) -> Iterator[Section | None]:
    yield of_model.summary(found)
    yield of_model.cautions(found)
    yield of_several.comparison(found)
    yield of_model.terms(found)
    yield of_model.reliability(found)
    yield of_model.recalibration(found)
    yield of_model.classes(found)
    yield of_several.groups(found)
    yield of_model.costly(found)
    yield back_matter.limits(found)
    yield back_matter.glossary(found)
    yield back_matter.settings(found)


def _subtitle(found: Measured) -> str:
    result = found.result
    parts = [
        count(result.n_samples, "row"),
        count(result.n_classes, "class", "classes"),
        loss_called(result.generator.name),
    ]
    if len(found.results) > 1:
        parts.insert(0, count(len(found.results), "model"))
    elif found.name:
        parts.insert(0, name_of(found.name))
    return ", ".join(parts)


def check_packages() -> None:
    """Raise, before anything is measured, if what a page is made with is not installed."""
    for name in ("jinja2", "matplotlib"):
        try:
            __import__(name)
        except ImportError as error:
            raise ImportError(_NEEDED.format(name=name)) from error


def as_html(page: Page) -> str:
    """Return the page with everything in it."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    shelf = Environment(
        loader=PackageLoader("propercal.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    figures = [each for part in page.sections for each in part.blocks if isinstance(each, Figure)]
    light, dark = theme_of(figures)
    styles = shelf.get_template("report.css").render(light=light, dark=dark)
    # Figures and styles are made here: names in them are escaped.
    return shelf.get_template("report.html").render(
        page=page,
        styles=Markup(styles),  # noqa: S704
        drawing=Markup,
    )
