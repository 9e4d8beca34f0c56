"""The command line, and the files that it reads."""

from propercal.cli.command import main

__all__ = ["main"]
