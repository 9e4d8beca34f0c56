"""Reports for people who were not there.

:func:`propercal.report` measures a model, or several, and writes one page of HTML: what was
measured, in sentences and figures, and what it cannot see.
"""

from propercal.reporting.report import Report, report

__all__ = ["Report", "report"]
