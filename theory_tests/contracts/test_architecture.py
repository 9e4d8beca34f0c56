"""The architecture page of the book names every room once, and imports run down its list."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "propercal"
PAGE = (ROOT / "book" / "developers" / "architecture.md").read_text(encoding="utf-8")
INSIDE, BESIDE, *_ = re.findall(r"^```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
#: From top to bottom.
ROOMS = re.findall(r"^  (\S+)  ", INSIDE, re.MULTILINE)


def holds_code(folder: Path) -> bool:
    return any(folder.glob("*.py"))


def places(text: str) -> list[str]:
    """The paths in the two columns of "Where do I add …?"."""
    rows = re.findall(r"^\| (?:a|an) .*?\|(.*)\|$", text, re.MULTILINE)
    return [path for row in rows for path in re.findall(r"`([\w./]+/[\w./]*)`", row)]


def room_of(path: Path) -> str:
    """The innermost room that holds a file of the package, or the file itself."""
    relative = path.relative_to(PACKAGE)
    inner = [f"{each.as_posix()}/" for each in relative.parents if each.name]
    return inner[0] if inner else relative.as_posix()


def room_of_module(name: str) -> str | None:
    """The room of a dotted name, which may end in a name within a module; None if it is not ours."""
    if name.split(".", maxsplit=1)[0] != "propercal":
        return None
    parts = name.split(".")[1:]
    while parts and not (PACKAGE.joinpath(*parts).is_dir() or PACKAGE.joinpath(*parts).with_suffix(".py").is_file()):
        parts.pop()
    found = PACKAGE.joinpath(*parts)
    return room_of(found / "__init__.py" if found.is_dir() else found.with_suffix(".py"))


def run_time_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those of blocks that only type checkers read."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for each in child.orelse:
                yield from run_time_nodes(each)
        else:
            yield from run_time_nodes(child)


def imports(source: str) -> Iterator[str]:
    """Yield the dotted names that a file imports, in functions too."""
    for node in run_time_nodes(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{each.name}" for each in node.names)


def upwards(room: str, source: str) -> list[str]:
    """The imports of a file in `room` that lead to rooms above it."""
    reached = [(name, room_of_module(name)) for name in imports(source)]
    return [name for name, other in reached if other is not None and ROOMS.index(other) < ROOMS.index(room)]


FILES = sorted(PACKAGE.rglob("*.py"))


def test_every_room_is_named_once() -> None:
    files = [path.name for path in PACKAGE.iterdir() if path.is_file()]
    folders = [f"{path.relative_to(PACKAGE).as_posix()}/" for path in PACKAGE.rglob("*") if path.is_dir() and holds_code(path)]
    assert sorted(ROOMS) == sorted(files + folders)


def test_every_module_of_data_is_in_one_of_its_rooms() -> None:
    assert [path.name for path in (PACKAGE / "_data").glob("*.py")] == ["__init__.py"]


def test_folders_beside_the_package_are_named() -> None:
    named = re.findall(r"^(\S+/)  ", BESIDE, re.MULTILINE)
    tests = [path for path in (ROOT / "theory_tests").iterdir() if holds_code(path)]
    others = [path for path in ROOT.iterdir() if holds_code(path) and path not in (PACKAGE, ROOT / "theory_tests")]
    assert sorted(named) == sorted(f"{path.relative_to(ROOT).as_posix()}/" for path in tests + others)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_point_down(path: Path) -> None:
    assert upwards(room_of(path), path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(("source", "found"), [
    ("from propercal import decompose", ["propercal.decompose"]),
    ("import propercal.cli.command", ["propercal.cli.command"]),
    ("def f():\n    from propercal.result import Term", ["propercal.result.Term"]),
    ("from propercal._kernels.tiles import row_sums", ["propercal._kernels.tiles.row_sums"]),
    ("if TYPE_CHECKING:\n    from propercal import decompose", []),
    ("if TYPE_CHECKING:\n    pass\nelse:\n    from propercal import decompose", ["propercal.decompose"]),
    ("import numpy\nfrom propercal._array import namespace", []),
    ("from propercal.generators.base import BregmanGenerator", []),
])
def test_an_import_upwards_is_seen(source: str, found: list[str]) -> None:
    assert upwards("generators/", source) == found


def test_a_room_inside_another_is_a_room_of_its_own() -> None:
    assert room_of_module("propercal.sketch.dask.passes.run") == "sketch/dask/"
    assert room_of_module("propercal.sketch.CalibrationSketch") == "sketch/"
    assert upwards("sketch/", "from propercal.sketch.dask import passes") == ["propercal.sketch.dask.passes"]


def test_places_for_something_new_exist() -> None:
    found = places(PAGE)
    assert len(found) > 25
    assert [path for path in found if not (ROOT / path).exists()] == []
