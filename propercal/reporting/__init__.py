"""Reports that a person reads: :func:`propercal.report`.

Numbers are measured in :mod:`~propercal.reporting.measured`, said in words by
:mod:`~propercal.reporting.summary` and the sections, drawn in
:mod:`~propercal.reporting.figures`, and put into a page by :mod:`~propercal.reporting.page` and the
templates.
"""

from propercal.reporting.report import Report, report

__all__ = ["Report", "report"]
