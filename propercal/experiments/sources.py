"""The code that computes: hashes of the package's sources and of a study's files.

A version number and a commit do not tell edited code from committed code; the bytes do.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from propercal._data.words.messages import bad_value

PACKAGE = Path(__file__).resolve().parents[1]


class Stamped(NamedTuple):
    """A result, and the code of the process that computed it."""

    sources: dict[str, str]
    """Hashes by name: "propercal", its "version", and files of the study."""
    result: Any


def described(folder: str | None = None) -> tuple[str, str]:
    """Return version and hash of the package in `folder`, by default of the one imported here.

    It needs nothing else of this package, so that it can be sent to a process that has another.
    """
    import hashlib
    import re
    from pathlib import Path

    if folder is None:
        import propercal

        folder = str(Path(propercal.__file__).parent)
    digest = hashlib.sha256()
    files = {path.relative_to(folder).as_posix(): path for path in Path(folder).rglob("*.py")}
    for name in sorted(files):
        content = files[name].read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    first = (Path(folder) / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r"__version__ = \"(.*?)\"", first)
    return found[1] if found else "unknown", digest.hexdigest()[:16]


#: Of the package as it was when it was imported: files may be edited while a study runs.
VERSION, DIGEST = described()


def by_value(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a copy of a function that needs no global name, which cloudpickle sends as code."""
    code, defaults = function.__code__, function.__defaults__
    copy = FunctionType(code, {"__builtins__": builtins}, code.co_name, defaults)
    copy.__module__ = "__main__"
    return copy


def functions_in(task: Any) -> Iterator[Callable[..., Any]]:
    """Yield the functions that a task consists of: those of `partial`, and their arguments."""
    if isinstance(task, partial):
        for each in (task.func, *task.args, *task.keywords.values()):
            yield from functions_in(each)
    elif inspect.isfunction(task):
        yield inspect.unwrap(task)
    elif callable(task) and not isinstance(task, type):
        # A bound method, or an object with `__call__`.
        inner = getattr(task, "__func__", vars(type(task)).get("__call__"))
        if inspect.isfunction(inner):
            yield inspect.unwrap(inner)


def files_of(functions: Iterable[Callable[..., Any]]) -> list[Path]:
    """Return the files outside this package that hold functions, each once."""
    found: dict[Path, None] = {}
    for function in functions:
        name = inspect.getsourcefile(function)
        path = None if name is None else Path(name).resolve()
        if path is not None and path.is_file() and not path.is_relative_to(PACKAGE):
            found[path] = None
    return list(found)


def sources(tasks: Iterable[Any]) -> dict[str, str]:
    """Return hashes of the package, and of the files of functions with what they import there."""
    functions = [function for task in tasks for function in functions_in(task)]
    found = {"propercal": DIGEST}
    for path in files_of(functions):
        found |= _with_neighbours(path)
    return dict(sorted(found.items()))


def stamped(task: Callable[[Any], Any], cell: Any) -> Stamped:
    """Compute a cell, and say by which code."""
    return Stamped({"version": VERSION, **sources([task])}, task(cell))


def check_stamp(found: Mapping[str, str], expected: Mapping[str, str], where: str) -> None:
    """Refuse what other code has computed.

    A file of the study that a worker does not have came with the function itself.
    """
    expected = {"version": VERSION, **expected}
    other = [name for name in found if found[name] != expected.get(name, found[name])]
    if other:
        files = [name for name in other if name not in ("version", "propercal")]
        theirs, ours = (
            " ".join([f"propercal {x['version']} (sources {x['propercal']})"])
            + "".join(f", {name} {x[name]}" for name in files)
            for x in (found, expected)
        )
        raise bad_value(
            where,
            theirs,
            f"the code that started the study, {ours}",
            "give all the same code and start again: finished cells are kept",
        )


def check_checkout(files: Iterable[Path]) -> None:
    """Refuse a study's file that lies in a checkout of this package beside another `propercal`."""
    for path in files:
        for folder in path.parents:
            beside = folder / "propercal"
            if not (beside / "__init__.py").is_file():
                continue
            if beside.resolve() != PACKAGE and described(str(beside))[1] != DIGEST:
                raise bad_value(
                    "propercal",
                    str(PACKAGE),
                    f"that of the checkout which {path.name} belongs to, {beside}",
                    f"install that one, or set PYTHONPATH={folder}",
                )
            break


def differences(found: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """Name what tells provenance from that expected, with both values where they are short."""
    named = []
    for key, wanted in expected.items():
        given = found.get(key)
        if given == wanted:
            continue
        if given is None:
            named.append(f"{key} (not recorded)")
            continue
        one, other = _members(given), _members(wanted)
        named += [
            f"{key} ({name} {one.get(name, 'not known')}, here {other.get(name, 'none')})"
            for name in sorted({*one, *other})
            if one.get(name) != other.get(name)
        ] or [key]
    return named


def _members(value: Any) -> dict[str, Any]:
    """Return the object that short JSON holds: versions or sources, but no design."""
    try:
        found = json.loads(value)
    except (TypeError, ValueError):
        return {}
    plain = isinstance(found, dict) and all(isinstance(each, str) for each in found.values())
    return found if plain else {}


@cache
def _with_neighbours(path: Path) -> dict[str, str]:
    """Return hashes of a file and of all that it imports from its folder, by name."""
    found: dict[str, str] = {}
    waiting = [path]
    while waiting:
        each = waiting.pop()
        name = each.relative_to(path.parent).as_posix()
        if name not in found:
            content = each.read_bytes().replace(b"\r\n", b"\n")
            found[name] = hashlib.sha256(content).hexdigest()[:16]
            if each.suffix == ".py":
                waiting += _imported(content, path.parent)
    return found


def _imported(content: bytes, folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that Python code imports, by their names or the folder's."""
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            begin = f"{node.module}." if node.module else ""
            names = [begin + each.name for each in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if folder.name in parts[:-1]:
                parts = parts[parts.index(folder.name) + 1 :]
            ends = f"{parts[0]}.py", f"{parts[0]}/__init__.py", "/".join(parts[:2]) + ".py"
            yield from (folder / end for end in ends if (folder / end).is_file())
