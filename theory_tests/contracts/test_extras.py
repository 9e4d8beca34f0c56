"""Optional packages: each has an extra, and where one is missing the error names the extra to install."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from theory_tests.contracts.test_architecture import run_time_nodes

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "propercal"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Extras for those who change the package, or build it.
FOR_DEVELOPERS = {"test", "dist", "mutation", "book"}
#: Packages are imported by other names than they are installed by.
INSTALLED_AS = {"sklearn": "scikit-learn", "array_api_compat": "array-api-compat", "pytorch_lightning": "pytorch-lightning"}
#: In no extra, and why.
EXEMPT = {
    "array_api_strict": "forms and transforms of propercal.testing take any array library that is installed, and name it",
    "pandas": "xarray needs it",
    "markupsafe": "jinja2 needs it",
}


def name_of(requirement: str) -> str:
    """The package of "matplotlib>=3.9"; an extra of this project stays as it is."""
    found = re.match(r"[\w.-]+(\[[\w,]+\])?", requirement)
    assert found
    return found.group()


def packages(extra: str) -> set[str]:
    """All packages that an extra brings, those of extras in it too."""
    found: set[str] = set()
    for name in map(name_of, PROJECT["optional-dependencies"][extra]):
        inner = re.fullmatch(r"propercal\[([\w,]+)\]", name)
        found |= set().union(*map(packages, inner.group(1).split(","))) if inner else {name}
    return found


EXTRAS = {extra: packages(extra) for extra in PROJECT["optional-dependencies"] if extra not in FOR_DEVELOPERS}
NEEDED = set(map(name_of, PROJECT["dependencies"]))


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield what a file imports when it runs, by name in `import_module("...")` too."""
    for node in run_time_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "find_spec")) and node.args:
            name = node.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield name.value


def foreign(source: str) -> set[str]:
    """The packages that a file imports and that are neither Python's nor ours."""
    tops = {name.partition(".")[0] for name in imported(ast.parse(source))}
    return tops - {"propercal", "__future__"} - set(sys.stdlib_module_names)


def at_home(package: str) -> bool:
    """Whether a package that is imported is a dependency, in an extra, or exempt."""
    name = INSTALLED_AS.get(package, package)
    return package in EXEMPT or name in NEEDED or any(name in found for found in EXTRAS.values())


def test_every_package_that_is_imported_has_an_extra() -> None:
    files = {path: foreign(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
    assert {"numpy", "torch", "matplotlib"} <= set().union(*files.values())
    strangers = {f"{path.relative_to(PACKAGE)}: {name}" for path, names in files.items() for name in names if not at_home(name)}
    assert strangers == set()


@pytest.mark.parametrize(("source", "found"), [
    ("import nowhere.at.all", {"nowhere"}),
    ("def f():\n    from nowhere import x", {"nowhere"}),
    ("importlib.import_module('nowhere.of')", {"nowhere"}),
    ("import os, propercal.result\nfrom collections import abc", set()),
])  # fmt: skip
def test_a_stranger_is_seen(source: str, found: set[str]) -> None:
    assert foreign(source) == found
    assert not any(map(at_home, found))


def test_extras_that_are_named_exist() -> None:
    """In messages and docstrings, and in the documents."""
    texts = [*PACKAGE.rglob("*.py"), ROOT / "README.md", *(ROOT / "book").rglob("*.md")]
    named = {
        (path.name, extra)
        for path in texts
        if "_build" not in path.parts
        for found in re.findall(r"(?:propercal|\.)\[([a-z,]+)\]\"", path.read_text(encoding="utf-8"))
        for extra in found.split(",")
    }
    assert len(named) > 4
    assert {each for each in named if each[1] not in PROJECT["optional-dependencies"]} == set()


def test_extras_are_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [extra for extra in EXTRAS if f"`{extra}`" not in text] == []


DATA = """
import numpy as np
import propercal
y, p = np.array([0, 1, 1, 0, 1] * 20), np.linspace(0.2, 0.8, 100)
"""
STUDY = """
from propercal.experiments import StudyDesign, run_study
design = StudyDesign(n_classes=(2,), sample_sizes=(50,), n_replicates=2)
run_study(design, folder + "/study.nc", n_workers=1, progress=False)
"""
#: What needs a package: the package, the extra that has to be named, and a few lines that import it.
CASES = {
    "a generator's derivatives": ("torch", "torch", "propercal.decompose(y, p, generator=lambda q: (q**2).sum(-1))"),
    "a figure": ("matplotlib", "plot", "from propercal.plotting import reliability_diagram; reliability_diagram(y, p)"),
    "several figures": ("matplotlib", "plot", "from propercal.plotting import reliability_panels; reliability_panels(y, np.stack([1 - p, p], 1))"),
    "a figure of a study": ("matplotlib", "plot", "from propercal.experiments.figures import panels; panels(1, 1, (2, 2))"),
    "the lock of a study": ("filelock", "study", STUDY),
    "the dataset of a study": ("h5netcdf", "study", STUDY),
    "what netCDF is written by": ("h5py", "study", STUDY),
    "reading a dataset": ("h5netcdf", "study", "from pathlib import Path; from propercal.experiments.datasets import read_dataset; read_dataset(Path('x.nc'))"),
    "a cluster": ("distributed", "cluster", STUDY.replace("n_workers=1", "scheduler='tcp://127.0.0.1:1'")),
    "a file of parquet": ("pyarrow", "parquet", "from propercal.cli.files import read_predictions; open(folder + '/a.parquet', 'w').close(); read_predictions(folder + '/a.parquet')"),
    "the checker": ("hypothesis", "testing", "from propercal.testing import check_generator"),
    "strategies": ("hypothesis", "testing", "from propercal.testing import strategies"),
    "a module of strategies": ("hypothesis", "testing", "from propercal.testing.strategies import predictions"),
    "an old name": ("hypothesis", "testing", "import propercal.testing; propercal.testing.parametrize_with_checks"),
    "laws as tests": ("pytest", "testing", "from propercal.testing import parametrize_with_checks; parametrize_with_checks(['brier'])"),
}  # fmt: skip

#: The same of rooms that are for one other package.
ROOMS = {
    "propercal.sklearn": ("sklearn", "sklearn", "import propercal.sklearn"),
    "propercal.torchmetrics": ("torchmetrics", "torchmetrics", "import propercal.torchmetrics"),
    "propercal.lightning": ("lightning pytorch_lightning", "lightning", "from propercal.lightning import StopAtLeastRefinement; StopAtLeastRefinement()"),
    "propercal.reporting": ("jinja2", "report", "propercal.report(y, p, path=folder + '/report.html')"),
}
CASES |= {f"the room {room}": case for room, case in ROOMS.items() if find_spec(room)}
#: Without it nothing fails, there only is nothing.
NO_ERROR = {"shell": "completion of the command line"}

#: Each case in a copy of a process that has imported the package and nothing that is optional.
TRY = """
import importlib.machinery, json, os, sys, tempfile

find_spec = importlib.machinery.PathFinder.find_spec

class AllBut:
    def find_spec(self, name, *arguments):
        return None if name in package.split() else find_spec(name, *arguments)

{data}
import pandas, scipy.optimize, scipy.special, scipy.stats, narwhals
cases = json.loads(sys.stdin.read())
for name, (package, _, code) in cases.items():
    read, write = os.pipe()
    if os.fork() == 0:
        os.dup2(write, 1)
        for each in [x for x in sys.modules if x.partition(".")[0] in package.split()]:
            del sys.modules[each]
        importlib.machinery.PathFinder.find_spec = AllBut().find_spec
        said = "nothing"
        try:
            with tempfile.TemporaryDirectory() as folder:
                exec(code)
        except BaseException as error:
            said = f"{{type(error).__name__}}: {{error}}"
        os.write(1, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        cases[name] = file.read()
    os.wait()
print(json.dumps(cases))
"""


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """What each case says where its package is missing."""
    if sys.platform == "win32":
        pytest.skip("there is no fork")
    run = subprocess.run([sys.executable, "-c", TRY.format(data=DATA)], input=json.dumps(CASES), capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_an_error_names_the_extra_that_is_missing(case: str, said: dict[str, str]) -> None:
    package, extra, _ = CASES[case]
    wanted = f'pip install "propercal[{extra}]"'
    first = package.split()[0]
    assert INSTALLED_AS.get(first, first) in EXTRAS[extra]
    assert said[case].startswith("ImportError: ")
    assert wanted in said[case]
    assert len(said[case].splitlines()) == 1


def test_every_extra_has_a_case() -> None:
    assert set(EXTRAS) - {extra for _, extra, _ in CASES.values()} - NO_ERROR.keys() == set()
