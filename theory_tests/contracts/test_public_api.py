"""The public names, their signatures and members are those that were written down.

A change of them has to be meant: the snapshot `public_api.txt` changes in the same commit.
"""

from __future__ import annotations

import difflib
import enum
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import propercal

SNAPSHOT = Path(__file__).with_name("public_api.txt")
REWRITE = "python -m theory_tests.contracts.test_public_api"


def public_modules() -> Iterator[ModuleType]:
    """Yield every module whose path has no underscore and that lists its names."""
    yield propercal
    for found in pkgutil.walk_packages(propercal.__path__, "propercal."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            module = importlib.import_module(found.name)
            if hasattr(module, "__all__"):
                yield module


def signature(function: Any) -> str:
    """The names, kinds, defaults and annotations of the arguments, where Python can tell."""
    try:
        text = str(inspect.signature(function))
    except (TypeError, ValueError):
        return "(...)"
    # Versions of Python and of the packages write what stands in defaults and resolved annotations differently.
    return re.sub(r" at 0x[0-9a-f]+", "", text).replace("pathlib._local.", "pathlib.")


def of_package(owner: type) -> bool:
    return owner.__module__.partition(".")[0] == "propercal"


def members(cls: type) -> Iterator[str]:
    """Yield a line for each public member of a class that the package itself defines."""
    found: dict[str, Any] = {}
    for owner in reversed(cls.__mro__):
        if of_package(owner):
            found |= dict.fromkeys(vars(owner).get("__annotations__", ()), None)
            found |= vars(owner)
    for name in sorted(name for name in found if not name.startswith("_")):
        member = inspect.getattr_static(cls, name, None)
        if isinstance(member, classmethod | staticmethod):
            kind = type(member).__name__
            yield f"{kind} {name}{signature(member.__func__)}"
        elif inspect.isfunction(member):
            yield f"{name}{signature(member)}"
        else:
            yield f"{name}"


def described(name: str, value: Any) -> Iterator[str]:
    """Yield the lines of one public name."""
    if inspect.isclass(value) and of_package(value) and not issubclass(value, enum.Enum):
        # A class that takes the constructor of another package is described by its members alone.
        own = any("__init__" in vars(owner) for owner in value.__mro__ if of_package(owner))
        yield f"class {name}{signature(value) if own else ''}"
        yield from (f"    {line}" for line in members(value))
    elif inspect.isfunction(value):
        yield f"{name}{signature(value)}"
    else:
        yield name


def described_api() -> Iterator[str]:
    """Yield the lines of the snapshot; what was described under another name is only referred to."""
    seen: dict[int, str] = {}
    for module in sorted(public_modules(), key=lambda each: (each.__name__.count("."), each.__name__)):
        yield f"[{module.__name__}]"
        for name in sorted(module.__all__):
            value = getattr(module, name)
            here = f"{module.__name__}.{name}"
            there = seen.setdefault(id(value), here) if callable(value) else here
            if there == here:
                yield from described(name, value)
            else:
                yield f"{name} = {there}"
        yield ""


def snapshot() -> str:
    return "\n".join(described_api()).rstrip("\n") + "\n"


def difference(old: str, new: str) -> str:
    return "\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), SNAPSHOT.name, "now", lineterm="", n=0))


def test_public_names_are_those_that_were_written_down() -> None:
    changed = difference(SNAPSHOT.read_text(encoding="utf-8"), snapshot())
    assert not changed, f"the public API has changed; if that is meant, run `{REWRITE}` and say so in CHANGELOG.md\n{changed}"


def test_a_changed_default_is_seen() -> None:
    def before(x: float, *, n: int = 1) -> float:
        return x * n

    def after(x: float, *, n: int = 2) -> float:
        return x * n

    lines = ["\n".join(described("f", each)) for each in (before, after)]
    assert lines[0] == "f(x: 'float', *, n: 'int' = 1) -> 'float'"
    assert "n: 'int' = 2" in difference(*lines)


def test_members_of_a_class_are_its_own_and_those_it_inherits_from_the_package() -> None:
    lines = list(described("Log", propercal.generators.Log))
    assert lines[0].startswith("class Log")
    assert any(line.startswith("    gradient(self, p") for line in lines)
    assert not any(line.strip().startswith("_") for line in lines)


if __name__ == "__main__":
    SNAPSHOT.write_text(snapshot(), encoding="utf-8")
