"""Names of generators, and the one way from a name, class, function or instance to a generator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TypeVar

from propercal._data.words.messages import bad_value, unknown_name
from propercal._typing import Array
from propercal.generators.base import BregmanGenerator
from propercal.generators.function import from_function

GeneratorLike = str | BregmanGenerator | type[BregmanGenerator] | Callable[[Array], Array]
"""What :func:`as_generator` takes."""

_Class = TypeVar("_Class", bound=type[BregmanGenerator])

_registry: dict[str, type[BregmanGenerator]] = {}


def available() -> tuple[str, ...]:
    """Return the registered names.

    Examples
    --------
    >>> available()
    ('log', 'brier', 'spherical', 'itakura-saito', 'rps')
    """
    return tuple(_registry)


def register(name: str) -> Callable[[_Class], _Class]:
    """Register a class of generators that needs no arguments under a name.

    Parameters
    ----------
    name : str
        A name that no other class has; the same class may come again, from a reloaded module.

    Returns
    -------
    callable
        A decorator that returns the class itself.

    Raises
    ------
    ValueError
        If the name is taken, or the class cannot be called without arguments.

    Examples
    --------
    >>> @register("log")
    ... class MyLog(BregmanGenerator):
    ...     def value(self, p):
    ...         return (p * p.log()).sum(-1)
    Traceback (most recent call last):
    ValueError: name = 'log': expected a name that is not taken; it stands for Log(), ...
    """

    def decorate(cls: _Class) -> _Class:
        other = _registry.get(name, cls)
        # The same class comes again when a module is reloaded or a notebook cell run twice.
        if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
            raise bad_value(
                "name",
                repr(name),
                "a name that is not taken",
                f"it stands for {other.__name__}(), so choose another",
            )
        _instance(cls)
        cls._registered_name = name
        _registry[name] = cls
        return cls

    return decorate


def as_generator(generator: GeneratorLike) -> BregmanGenerator:
    """Return the generator that a name, an instance, a class or a function stands for.

    Parameters
    ----------
    generator : str, BregmanGenerator, class or callable
        A registered name; a generator, returned as it is; a class that needs no arguments; or a
        function for :func:`from_function`.

    Returns
    -------
    BregmanGenerator

    Raises
    ------
    ValueError
        If there is no such name, or the class needs arguments, or it is none of these.

    Examples
    --------
    >>> as_generator("brier")
    Brier()
    >>> as_generator("spheric")
    Traceback (most recent call last):
    ValueError: generator = 'spheric': expected one of 'log', 'brier', 'spherical', 'itakura-saito',
    'rps';
    did you mean 'spherical'?
    """
    if isinstance(generator, BregmanGenerator):
        return generator
    if isinstance(generator, str):
        if generator not in _registry:
            raise unknown_name("generator", generator, available())
        return _registry[generator]()
    if inspect.isclass(generator):
        if issubclass(generator, BregmanGenerator):
            return _instance(generator)
    elif callable(generator):
        return from_function(generator)
    raise bad_value(
        "generator",
        repr(generator),
        "a name, a BregmanGenerator or a function",
        f"the names are {', '.join(map(repr, available()))}",
    )


def as_generators(generator: object) -> tuple[list[BregmanGenerator], bool]:
    """Return the generators that an argument stands for, and whether it is a list of them."""
    several = isinstance(generator, Sequence) and not isinstance(generator, str)
    generators = [as_generator(each) for each in (generator if several else [generator])]  # type: ignore[attr-defined]
    if not generators:
        raise bad_value("generator", "[]", "one generator or more", "name a loss, such as 'log'")
    return generators, several


def _instance(cls: type[BregmanGenerator]) -> BregmanGenerator:
    needed = [
        parameter.name
        for parameter in inspect.signature(cls).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
    ]
    if needed:
        raise bad_value(
            "generator",
            cls.__name__,
            "a class that needs no arguments",
            f"pass an instance, {cls.__name__}({', '.join(f'{name}=...' for name in needed)})",
        )
    if inspect.isabstract(cls):
        raise bad_value(
            "generator", cls.__name__, "a class that defines value(p)", "define it in a subclass"
        )
    return cls()
