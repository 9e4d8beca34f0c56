"""The command line, and the files that it reads."""
# PYTHON_ARGCOMPLETE_OK

from propercal.cli.command import main

__all__ = ["main"]
