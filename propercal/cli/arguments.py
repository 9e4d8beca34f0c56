"""Types of the arguments of a command line, which say what they expect."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from propercal._data.words.messages import unknown_name
from propercal._files.names import one_line

if TYPE_CHECKING:
    from propercal import BregmanGenerator


def generator_named(spec: str) -> BregmanGenerator:
    """Return the generator of a registered name, or of ``package.module:object``."""
    from propercal.cli.generator_spec import load_generator

    try:
        return load_generator(spec)
    except (ValueError, TypeError, ImportError) as error:
        raise argparse.ArgumentTypeError(one_line(error)) from error


def known(check: Callable[[str], object]) -> Callable[[str], str]:
    """Make an argument type of a function that raises ValueError for an unknown name."""

    def checked(text: str) -> str:
        try:
            check(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(one_line(error)) from error
        return text

    return checked


def one_of(names: Collection[str], text: str) -> None:
    """Raise, with the nearest name of a method, unless it is one."""
    if text not in names:
        raise unknown_name("method", text, names)


def bandwidth(text: str) -> float | str:
    """Return "auto" or a positive number."""
    return text if text == "auto" else positive("auto or a positive number")(text)


def positive(expected: str) -> Callable[[str], float]:
    """Make an argument type of a positive number, which errors call `expected`."""

    def checked(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError(f"{text!r}: expected {expected}")
        return value

    return checked


def whole_number(least: int) -> Callable[[str], int]:
    """Make an argument type of a whole number, `least` or more."""

    def checked(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, {least} or more")
        return number

    return checked


def seed(text: str) -> int:
    """Return a seed."""
    return whole_number(0)(text)


def blocks(text: str) -> int | str:
    """Return "auto" or a length of blocks."""
    return text if text == "auto" else whole_number(1)(text)


def fraction(expected: str) -> Callable[[str], float]:
    """Make an argument type of a number between 0 and 1, which errors call `expected`."""

    def checked(text: str) -> float:
        value = positive(expected)(text)
        if not value < 1:
            raise argparse.ArgumentTypeError(f"{text!r}: expected {expected}")
        return value

    return checked
