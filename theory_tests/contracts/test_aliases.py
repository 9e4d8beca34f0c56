"""Import paths of the last release lead to the same objects, with a warning."""

from __future__ import annotations

import subprocess
import sys

import pytest

from propercal._aliases import ALIASES, RENAMED

LOOK = """
import importlib, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    old = importlib.import_module("propercal.{old}")
assert any(w.category is DeprecationWarning and "propercal.{old} is now propercal.{new}" in str(w.message) for w in caught)
new = importlib.import_module("propercal.{new}")
public = [name for name in vars(new) if not name.startswith("__")]
assert public
assert all(getattr(old, name) is getattr(new, name) for name in public), public
assert all(getattr(old, was) is getattr(new, now) for was, now in {renamed}.items())
"""


@pytest.mark.parametrize("old", ALIASES)
def test_an_old_path_leads_to_the_new_module(old: str) -> None:
    # In a process of its own: a path that was imported before does not warn again.
    code = LOOK.format(old=old, new=ALIASES[old], renamed=RENAMED.get(old, {}))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
