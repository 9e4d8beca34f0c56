"""What `import propercal` costs, and what it promises to hold."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys

import pytest

import propercal
from propercal._aliases import ALIASES

#: Of dependencies too, what is needed by some calls only. xarray brings pandas along.
HEAVY = (
    *("torch", "sklearn", "matplotlib.pyplot", "dask", "distributed", "h5netcdf", "pyarrow", "tqdm", "hypothesis", "pytest"),
    *("jinja2", "torchmetrics", "lightning", "argcomplete", "pandas", "xarray", "polars", "narwhals", "scipy"),
)


def loaded_by(statement: str) -> list[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules, sep='\\n')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.split()


@pytest.mark.parametrize("statement", ["import propercal", "import propercal.cli.command, propercal.cli.files"])
def test_import_leaves_heavy_packages_alone(statement: str) -> None:
    modules = loaded_by(statement)
    assert "propercal" in modules
    assert [name for name in HEAVY if name in modules] == []


#: Seconds of a core for what is named, and for numpy before it, in a process whose bytecode is kept.
SECONDS = """
import time
begin = time.process_time()
import numpy
middle = time.process_time()
import propercal
print(middle - begin, time.process_time() - begin)
"""


def test_import_takes_three_tenths_of_a_second() -> None:
    """With the import of numpy, which takes a third of it; on a machine that is slower, or is shared, no more than four times that."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", SECONDS]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.split() for _ in range(4)]
    numpy, both = (min(float(run[i]) for run in runs) for i in (0, 1))
    assert both <= max(0.3, 4 * numpy)


def test_the_check_sees_a_heavy_package() -> None:
    pytest.importorskip("matplotlib")
    assert "matplotlib.pyplot" in loaded_by("import matplotlib.pyplot")


MODULES = [
    module.name
    for module in pkgutil.walk_packages(propercal.__path__, "propercal.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", ["propercal", *MODULES])
def test_every_advertised_name_exists_and_is_documented(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        # A room that is made for another package says which, and nothing else may be missing.
        if 'pip install "propercal[' not in str(error):
            raise
        pytest.skip(str(error))
    assert module.__doc__
    public = getattr(module, "__all__", ())
    assert len(set(public)) == len(public)
    for each in public:
        found = getattr(module, each)
        # What a private room passes on of another package is that package's to document.
        passed_on = "._" in name and not getattr(found, "__module__", "propercal").startswith("propercal")
        if callable(found) and not passed_on:
            assert found.__doc__, f"{name}.{each} has no docstring"


@pytest.mark.parametrize("name", ["propercal", "propercal.generators", "propercal.simulation"])
def test_public_modules_list_their_names(name: str) -> None:
    assert importlib.import_module(name).__all__


BASE_INSTALL = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "sklearn", "pandas", "matplotlib", "hypothesis"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import numpy as np
import propercal
from propercal import generators, information, simulation

y, p, _ = simulation.TemperatureScaledSimplex(3).sample(60, 0)
for generator in (*generators.available(), generators.Tsallis(1.5)):
    for notion in ("canonical", "classwise", "top-label"):
        for method in ("direct", "risk"):
            options = dict(generator=generator, notion=notion, method=method, bandwidth=0.1)
            assert np.isfinite(propercal.decompose(y, p, **options).risk)
try:
    propercal.decompose(y, p, generator=lambda q: (q**2).sum(-1), bandwidth=0.1)
except ImportError as error:
    print(error)
"""


def test_base_install_without_torch() -> None:
    """Built-in generators need no optional package; what does need one names it."""
    run = subprocess.run([sys.executable, "-c", BASE_INSTALL], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert 'pip install "propercal[torch]"' in run.stdout


#: An import path of the last release leads to the same objects, with a warning.
LOOK = """
import importlib, json, sys, traceback, warnings
from propercal._aliases import ALIASES, RENAMED

def forget():
    # A path that was imported before does not warn again.
    for old in ALIASES:
        found = sys.modules.pop(f"propercal.{old}", None)
        parent, _, name = f"propercal.{old}".rpartition(".")
        if found is not None and parent in sys.modules:
            vars(sys.modules[parent]).pop(name, None)

def look(old, new):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        was = importlib.import_module(f"propercal.{old}")
    text = f"propercal.{old} is now propercal.{new}"
    assert any(w.category is DeprecationWarning and text in str(w.message) for w in caught)
    now = importlib.import_module(f"propercal.{new}")
    public = [name for name in vars(now) if not name.startswith("__")]
    assert public
    assert all(getattr(was, name) is getattr(now, name) for name in public), public
    assert all(getattr(was, a) is getattr(now, b) for a, b in RENAMED.get(old, {}).items())

errors = {}
for old, new in ALIASES.items():
    forget()
    errors[old] = ""
    try:
        look(old, new)
    except Exception:
        errors[old] = traceback.format_exc()
print(json.dumps(errors))
"""


@pytest.fixture(scope="module")
def errors_of_old_paths() -> dict[str, str]:
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("old", ALIASES)
def test_an_old_path_leads_to_the_new_module(old: str, errors_of_old_paths: dict[str, str]) -> None:
    assert errors_of_old_paths[old] == ""
