"""Hypothesis, as far as this room needs it, or an error that says how to have it."""

try:
    from hypothesis import Phase, find, settings
    from hypothesis import strategies as st
    from hypothesis.errors import NoSuchExample
    from hypothesis.strategies import SearchStrategy
except ImportError as error:
    raise ImportError(
        "propercal.testing draws its examples with Hypothesis, which is not installed; run "
        '`pip install "propercal[testing]"`.'
    ) from error

__all__ = ["NoSuchExample", "Phase", "SearchStrategy", "find", "settings", "st"]
