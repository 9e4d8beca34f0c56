"""A page that a person reads: what was measured, and what to make of it."""

from __future__ import annotations

import datetime as dt
import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from propercal._array import ignore_underflow
from propercal._data.inputs.settings import check_confidence_level, check_random_state
from propercal._data.predictions.arguments import with_reading
from propercal._data.predictions.notions import Notion, as_notion
from propercal._data.predictions.predictions import Reading
from propercal._data.words.messages import bad_value
from propercal._progress import with_progress
from propercal.generators.order import check_columns_order, check_turned
from propercal.generators.registry import GeneratorLike, as_generator
from propercal.methods import Method, MethodLike, as_method
from propercal.reporting.given import Columns, Data, read_given, split_path
from propercal.reporting.measured import Asked, Measured, measure_data, measure_results
from propercal.reporting.page import as_html, check_packages, page_of
from propercal.reporting.summary import lead, sentences

#: Height of a page in a notebook, in pixels.
_HEIGHT = 720


@dataclass(frozen=True)
class Report:
    """What :func:`propercal.report` returns.

    Attributes
    ----------
    html : str
        The page, with styles and figures in it: it asks no host for anything.
    summary : tuple of str
        Its first sentences, that which says what was measured before all others.
    warnings : tuple of str
        What is to be kept in mind, in plain words.
    title : str
        Title of the page.
    path : pathlib.Path or None
        Where it was written.
    """

    html: str
    summary: tuple[str, ...]
    warnings: tuple[str, ...]
    title: str
    path: Path | None = None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            Name of a page, which ends in .html. A page that is there already is replaced.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        ValueError
            If the name is not that of a page.
        OSError
            If it cannot be written.
        """
        _, checked = split_path((), path)
        if checked is None:
            raise bad_value("path", "None", "the name of a page", 'pass "report.html"')
        _write(checked, self.html)
        return checked

    def __str__(self) -> str:
        return "\n".join(self.summary)

    def __repr__(self) -> str:
        where = "" if self.path is None else f", path={str(self.path)!r}"
        return f"Report({self.title!r}{where})"

    def _repr_html_(self) -> str:
        page = html.escape(self.html)
        title = html.escape(self.title)
        style = "width: 100%; border: 1px solid #999"
        return (
            f'<iframe title="{title}" srcdoc="{page}" height="{_HEIGHT}" style="{style}"></iframe>'
        )


@with_reading
@ignore_underflow
@with_progress
def report(
    *data: object,
    path: str | os.PathLike[str] | None = None,
    generator: GeneratorLike = "log",
    notion: str | Notion = "canonical",
    method: MethodLike = "debiased",
    groups: object = None,
    blocks: int | str | None = None,
    subgroups: object = None,
    confidence_level: float = 0.95,
    random_state: Any = 0,
    title: str | None = None,
    date: str | dt.date | None = None,
    label_column: str | None = None,
    weight_column: str | None = None,
    group_column: str | None = None,
    subgroup_column: str | None = None,
    id_column: str | None = None,
    drop: Sequence[str] = (),
    classes: Sequence[str] = (),
    progress: bool | None = None,  # noqa: ARG001  # the decorator reads it
    **reading: Unpack[Reading],
) -> Report:
    """Make a page that a person reads: what was measured, and what to make of it.

    It needs jinja2 and matplotlib: ``pip install "propercal[report]"``.

    Parameters
    ----------
    *data : object
        Labels and predictions, ``report(y_true, y_proba)``, as :func:`propercal.decompose` takes
        them, or predictions of several models for the same rows by name, ``{"a": p_a, "b": p_b}``;
        or names of files, as :func:`propercal.cli.files.read_predictions` takes them, several being
        those of several models for the same rows, matched by ids where they have some; or results
        of this package (a :class:`Decomposition`, :class:`GroupDecomposition`,
        :class:`ModelComparison` or :class:`CalibrationTest`, a list of these, or a mapping from
        names): then the page has what they know. A last string that ends in .html is the path.
    path : str or path-like, optional
        Where the page is written; a page that is there is replaced. By default nowhere.
    generator, notion, method, groups, blocks, confidence_level, progress
        As in :func:`propercal.decompose`.
    subgroups : array-like, optional
        Groups of rows to compare with each other, as `groups` of
        :func:`propercal.decompose_groups`. Of plain labels those of too few rows are put together.
    random_state : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Draws of tests, bands and folds. The default 0 gives the same page each time.
    title : str, optional
        Title of the page.
    date : str or datetime.date, optional
        What the page says of when it was made, "today" being the date; nothing by default, so that
        equal data give equal bytes.
    label_column, weight_column, group_column, id_column, drop, classes
        Columns of files, as in :func:`propercal.cli.files.read_predictions`.
    subgroup_column : str, optional
        Column, or array, of files that has the subgroups.
    from_logits, sample_weight, labels, pos_label, link, ignore_index, class_axis, class_dim
        As in :func:`propercal.decompose`.
    sample_dims
        As in :func:`propercal.decompose`.

    Returns
    -------
    Report
        With the page as ``html`` and its sentences as ``summary``; a notebook shows the page.

    Raises
    ------
    ValueError
        If an argument cannot be used. What only one section of the page needs does not raise: the
        section says why it is empty.
    ImportError
        If jinja2 or matplotlib is not installed.
    OSError
        If a file cannot be read, or the page not written.

    Notes
    -----
    Of several models the first is shown in detail. Recalibrations are fitted to four fifths of the
    rows and judged on the others, five times (whole groups at a time); their intervals hold
    together, by Bonferroni. Classes are ranked by what each adds to the class-wise calibration
    error, which is the sum of these. With fewer than 20 rows the page has the loss and the test of
    calibration alone. Warnings are part of the page, in plain words, and not issued.

    Examples
    --------
    >>> from propercal import report
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(60, random_state=0)
    >>> found = report(y_true, y_proba)
    >>> found.html.startswith("<!DOCTYPE html>")
    True
    """
    given, page_path = split_path(data, path)
    check_packages()
    level = check_confidence_level(confidence_level)
    seed = check_random_state(random_state)
    chosen = _method(method, seed)
    asked = Asked(as_generator(generator), as_notion(notion), chosen, level, seed)
    day = _date(date)
    columns = Columns(
        label_column,
        weight_column,
        group_column,
        subgroup_column,
        id_column,
        tuple(drop),
        tuple(classes),
    )
    beside = {"groups": groups, "blocks": blocks, "subgroups": subgroups}
    of_data, results = read_given(given, dict(reading), columns, **beside)
    if of_data is not None:
        _check_order(of_data, asked)
    found = measure_results(results) if of_data is None else measure_data(of_data, asked)
    return _made(found, title, day, page_path)


def _check_order(data: Data, asked: Asked) -> None:
    """Raise where a loss asks for an order of classes that columns of files do not have."""
    generators, notion = [asked.generator], asked.notion
    in_order = data.are_in_order
    check_columns_order(data.columns, generators, notion, by="classes", in_order=in_order)
    for names in data.other_columns:
        check_turned(data.columns, names, generators, notion, by="classes")


def _made(found: Measured, title: str | None, date: str | None, path: Path | None) -> Report:
    if not found.results:
        raise bad_value(
            "data",
            "a test alone",
            "a result with terms beside it",
            "pass labels and predictions, or a Decomposition too",
        )
    given: object = title
    called = "Calibration report" if given is None else given
    if not isinstance(called, str) or not called.strip():
        raise bad_value("title", repr(title), "a text", "leave it out for the usual one")
    text = as_html(page_of(found, called, date))
    if path is not None:
        _write(path, text)
    return Report(text, (lead(found), *sentences(found)), found.warnings, called, path)


def _method(method: MethodLike, seed: Any) -> Method:
    """Return the method; folds of one that is named are dealt by the seed of the page."""
    chosen = as_method(method)
    draws = isinstance(method, str) and chosen.corrects_bias
    return as_method(method, random_state=seed) if draws else chosen


def _date(date: object) -> str | None:
    if date is None:
        return None
    if isinstance(date, dt.date):
        return date.isoformat()[:10]
    if not isinstance(date, str):
        raise bad_value("date", repr(date), 'a text, a date, or "today"', "leave it out for none")
    today = dt.datetime.now(tz=dt.UTC).astimezone().date()
    return {"today": today.isoformat()}.get(date, date)


def _write(path: Path, text: str) -> None:
    """Write a file that is never seen half done."""
    half = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        half.write_text(text, encoding="utf-8", newline="\n")
        half.replace(path)
    except BaseException:
        half.unlink(missing_ok=True)
        raise
