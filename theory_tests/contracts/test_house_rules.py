"""Rules of the house that a newcomer would otherwise have to guess; each test lists what offends."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "propercal"
#: Where the object of a method, a notion or a kernel is made from its name.
MAKERS = {"methods.py", "_data/predictions/notions.py", "_kernels/kernels.py"}
NAMES = {"debiased", "direct", "risk", "canonical", "classwise", "top-label", "dirichlet", "uniform-bins", "quantile-bins"}
LONGEST = 50


def modules() -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8")


def names(node: ast.expr) -> set[str]:
    """Names of methods, notions and kernels among the strings of an operand."""
    return {each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)} & NAMES


def subject(node: ast.expr) -> str:
    """The last name of what is compared: `method`, `self.notion.name`."""
    return ast.unparse(node)


def test_no_name_of_a_method_or_notion_is_compared_outside_its_maker() -> None:
    offenders = []
    for name, text in modules():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Compare):
                operands = [node.left, *node.comparators]
                about = any(word in subject(each) for each in operands for word in ("method", "notion", "kernel", "name"))
                if about and any(names(each) for each in operands) and name not in MAKERS:
                    offenders.append(f"{name}:{node.lineno}: {ast.unparse(node)}")
            if isinstance(node, ast.Match) and any(names(case.pattern.value) for case in node.cases if isinstance(case.pattern, ast.MatchValue)) and name not in MAKERS:
                offenders.append(f"{name}:{node.lineno}: match {ast.unparse(node.subject)}")
    assert not offenders, "\n".join(offenders)


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> int:
    """Lines of code, without signature, docstring, comments and blank lines."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return 0
    kept = lines[body[0].lineno - 1 : function.end_lineno]
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in kept)


def test_no_function_is_longer_than_a_screen() -> None:
    offenders = [
        f"{name}:{node.lineno}: {node.name} has {code_lines(node, text.splitlines())} lines"
        for name, text in modules()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and code_lines(node, text.splitlines()) > LONGEST
    ]
    assert not offenders, "\n".join(offenders)


def entries(docstring: str, section: str) -> Iterator[str]:
    """Lines that name an entry of a numpydoc section."""
    lines = docstring.splitlines()
    for start, line in enumerate(lines[:-1]):
        if line.strip() == section and set(lines[start + 1].strip()) == {"-"}:
            for position, entry in enumerate(lines[start + 2 :], start + 2):
                if set(lines[min(position + 1, len(lines) - 1)].strip()) == {"-"}:
                    break
                if entry and not entry.startswith(" "):
                    yield entry


def docstrings() -> Iterator[tuple[str, str]]:
    for name, text in modules():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{name}:{node.lineno}: {node.name}", ast.get_docstring(node) or ""


def test_every_attribute_has_an_entry_of_its_own() -> None:
    """Of several names in one entry the reference shows one, and the others as its type."""
    several = "Attributes\n----------\na, b : int\n    Numbers.\nc : int\n    (n, k).\n\nExamples\n--------\n"
    assert list(entries(several, "Attributes")) == ["a, b : int", "c : int"]
    offenders = [f"{place}: {entry}" for place, text in docstrings() for entry in entries(text, "Attributes") if "," in entry.split(" : ")[0]]
    assert not offenders, "\n".join(offenders)


def test_no_description_begins_with_a_letter_and_a_full_stop() -> None:
    """The reference takes that for the first item of a list, and shows no description."""
    lists = [(place, line) for place, text in docstrings() for line in text.splitlines() if line[:4] == "    " and line[4:5].isalpha() and line[5:7] in {".", ". "}]
    assert not lists, "\n".join(map(str, lists))
