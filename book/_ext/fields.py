"""The reference, where what Python says is not what a reader needs.

Fields of named tuples are there if their class has said what they are; signatures have neither
private arguments nor defaults that are no Python, and those of classes whose base is not here are
their own; arguments that share a text share a line; attributes are called so; and the forms that
every result has are described once.
"""

from __future__ import annotations

import inspect
import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.domains.python import PyObject
from sphinx.util.inspect import stringify_signature

from propercal._results.forms import Result

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: What Python says of a field of which nobody said anything, and of every tuple.
_EMPTY = ("Alias for field number ", "Built-in immutable sequence")
_FORMS = ("to_dict", "to_frame", "to_json")
#: What autodoc says of a class whose base is a stand-in for that of an absent package.
_ANYTHING = "(*args, **kwargs)"


def is_left_out(_: Sphinx, __: str, ___: str, found: object, *____: object) -> bool | None:
    """Leave out a field that has no text of its own, and a form that every result has.

    None is for others to decide.
    """
    text = getattr(found, "__doc__", None) or ""
    inherited = any(found is getattr(Result, name) for name in _FORMS)
    return True if inherited or text.startswith(_EMPTY[0]) else None


def with_forms(_: Sphinx, what: str, __: str, found: object, ___: object, lines: list[str]) -> None:
    """Name the forms of a result below its class, and drop the docstring of every tuple."""
    if what == "data" and lines and lines[0].startswith(_EMPTY[1]):
        lines.clear()
    if what == "class" and isinstance(found, type) and issubclass(found, Result):
        inherited = [n for n in _FORMS if getattr(found, n) is getattr(Result, n)]
        names = ", ".join(f"``{name}()``" for name in inherited)
        if names:
            lines += ["", f"{names}: see :ref:`the forms of every result <forms-of-results>`.", ""]


def readable(
    _: Sphinx, __: str, ___: str, found: object, ____: object, arguments: str | None, result: str
) -> tuple[str | None, str]:
    """Drop private arguments from a signature, and the insides of defaults that are objects."""
    if arguments == _ANYTHING and isinstance(found, type):
        arguments = _own_arguments(found)
    if arguments:
        arguments = re.sub(r"(?<=\()_\w+(=[^,()]*)?(, )?|, _\w+(=[^,()]*)?(?=[,)])", "", arguments)
        arguments = re.sub(r"=<[^<>]*>", "=…", arguments)
        arguments = re.sub(r"=([A-Z]\w*)\([^()]+\)", r"=\1(…)", arguments)
    return arguments, result


def _own_arguments(found: type) -> str:
    """Return what a class, or the next above it that says so, is made with."""
    made = next((vars(c)["__init__"] for c in found.__mro__ if "__init__" in vars(c)), None)
    if not inspect.isfunction(made):
        return _ANYTHING
    signature = inspect.signature(made)
    _self, *others = signature.parameters.values()
    own = signature.replace(parameters=others, return_annotation=signature.empty)
    return str(stringify_signature(own, show_annotation=False))


def share_lines(_: Sphinx, page: nodes.document) -> None:
    """Merge arguments that follow each other and have the same text, as docstrings have them."""
    for fields in page.findall(nodes.field_list):
        for bullets in fields.findall(nodes.bullet_list):
            for text, same in groupby(list(bullets.children), _text):
                first, *others = same
                for other in others if text is not None else []:
                    names = [nodes.Text(", "), _paragraph(other).children[0]]
                    place = _paragraph(first)
                    at = 1 + 2 * others.index(other)
                    place.insert(at, names)
                    bullets.remove(other)


def _paragraph(item: nodes.Node) -> Any:
    return item.children[0]


def _text(item: nodes.Node) -> str | None:
    """Return what is said of an argument, behind its name.

    It is None if that is more than a paragraph, or no argument: a list within what is said of one.
    """
    if len(item.children) != 1 or not isinstance(item.children[0], nodes.paragraph):
        return None
    if not isinstance(_paragraph(item).children[0], nodes.strong | addnodes.literal_strong):
        return None
    return "".join(each.astext() for each in item.children[0].children[1:])


def unbroken(_: Sphinx, page: nodes.document) -> None:
    """Keep the parts of a number together, and a number and its %."""
    for text in list(page.findall(nodes.Text)):
        verbatim = (nodes.FixedTextElement, nodes.literal, nodes.raw, nodes.math, nodes.math_block)
        above = text.parent
        while above is not None and not isinstance(above, verbatim):
            above = above.parent
        if above is None and text.parent is not None:
            kept = re.sub(r"(?<=\d) (?=\d{3}(?!\d)|%)", "\N{NO-BREAK SPACE}", text.astext())
            if kept != text.astext():
                text.parent.replace(text, nodes.Text(kept))


def setup(app: Sphinx) -> dict[str, Any]:
    """Ask at every member, signature and page."""
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            # Sphinx calls them variables.
            field.label = "Attributes"
    app.connect("autodoc-skip-member", is_left_out)
    app.connect("autodoc-process-docstring", with_forms, priority=600)
    app.connect("autodoc-process-signature", readable)
    app.connect("doctree-read", share_lines)
    app.connect("doctree-read", unbroken)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
