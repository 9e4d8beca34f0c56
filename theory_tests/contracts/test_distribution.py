"""What is uploaded: metadata, the README as PyPI shows it, the conda recipe."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import propercal

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
#: Packages have other names on conda-forge: there without what they need only to be used in some ways.
ON_CONDA = {"torch": "pytorch", "matplotlib": "matplotlib-base", "dask": "dask-core"}
#: Extras of developers.
OTHERS = {"test", "dist", "mutation", "book"}


@pytest.fixture(scope="module")
def recipe() -> Any:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))


def as_conda(requirement: str) -> str:
    """ "matplotlib>=3.9" as a recipe writes it."""
    name, version = re.fullmatch(r"([\w.-]+)(.*)", requirement).groups()  # type: ignore[union-attr]
    return f"{ON_CONDA.get(name, name)} {version}".strip()


def test_dependencies_of_the_recipe_are_those_of_the_project(recipe: Any) -> None:
    assert [each for each in recipe["requirements"]["run"] if not each.startswith("python ")] == list(map(as_conda, PROJECT["dependencies"]))
    extras = PROJECT["optional-dependencies"]
    wanted = {as_conda(each) for extra in extras.keys() - OTHERS for each in extras[extra] if not each.startswith("propercal")}
    assert set(recipe["requirements"]["run_constraints"]) == wanted


def test_the_recipe_builds_this_version_with_what_builds_it(recipe: Any) -> None:
    context = recipe["context"]
    assert context["version"] == propercal.__version__
    assert PROJECT["requires-python"] == f">={context['python_min']}"
    assert set(map(as_conda, PYPROJECT["build-system"]["requires"])) <= set(recipe["requirements"]["host"])
    scripts = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts
    about = recipe["about"]
    assert (about["license"], about["summary"]) == (PROJECT["license"], PROJECT["description"])
    assert (ROOT / "recipe" / recipe["source"]["path"] / about["license_file"]).is_file()


def for_pypi(text: str) -> str:
    shown: str = hook()["for_pypi"](text)
    return shown


def hook() -> dict[str, Any]:
    """What hatch_build.py defines; builds have hatchling, tests have not."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("hatchling", "hatchling.metadata", "hatchling.metadata.plugin", "hatchling.metadata.plugin.interface"):
            module = ModuleType(name)
            vars(module)["MetadataHookInterface"] = object
            patch.setitem(sys.modules, name, module)
        return runpy.run_path(str(ROOT / "hatch_build.py"))


def test_the_text_for_pypi_needs_nothing_of_the_repository() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = for_pypi(text)
    targets = re.findall(r"\]\(([^)]*)\)", shown)
    assert [target for target in targets if "://" not in target and not target.startswith("#")] == []
    # Code is not touched, nor is anything else but links and pictures.
    assert re.findall(r"^```.*?^```$", shown, re.DOTALL | re.MULTILINE) == re.findall(r"^```.*?^```$", text, re.DOTALL | re.MULTILINE)
    words = re.findall(r"!?\[([^\]]*)\]\(", text)
    assert words
    assert [word for word in words if word not in shown] == []


@pytest.mark.parametrize(("text", "shown"), [
    ("see [the guide](book/guides/a.md).", "see the guide."),
    ("![A curve](studies/a.png)", "*(Figure: A curve.)*"),
    ("[a](https://a.org/b) and [c](#c)", "[a](https://a.org/b) and [c](#c)"),
    ("![a](https://a.org/b.png)", "![a](https://a.org/b.png)"),
])  # fmt: skip
def test_links_become_words(text: str, shown: str) -> None:
    assert for_pypi(text) == shown


def test_metadata_name_no_place_that_is_not_there() -> None:
    """There is no public repository and no homepage yet: an address of one would lead nowhere."""
    assert "urls" not in PROJECT


def test_classifiers_are_the_pythons_that_tests_ran_on() -> None:
    said = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    (readme,) = re.findall(r"On a fresh machine with Python ([\d., or]+):", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert said == re.findall(r"3\.\d+", readme)
    assert said[0] == PROJECT["requires-python"].removeprefix(">=")


def test_the_sdist_has_what_its_tests_read() -> None:
    listed = {each.removeprefix("/") for each in PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]}
    assert {"propercal", "theory_tests", "recipe", "hatch_build.py", "README.md", "Makefile", "CHANGELOG.md"} <= listed
    assert [each for each in listed if not (ROOT / each).exists()] == []
