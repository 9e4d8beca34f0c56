"""``pytest --propercal-generator`` adds the laws of a user's generator to any run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.filterwarnings("default")

# A weighted power family, written from scratch: F(p) = Σ w_i (p_i^a − p_i) / (a − 1), a > 1.
WEIGHTED_POWER = '''
import numpy as np
from propercal.generators import BregmanGenerator


class WeightedPower(BregmanGenerator):
    """Σ w_i (p_i^a − p_i) / (a − 1), with weights 1, 1/2, 1/3, ..."""

    def __init__(self, a=2.5, factor=1):
        self.a, self.factor = a, factor

    def _weights(self, p):
        return 1 / np.arange(1, p.shape[-1] + 1, dtype=p.dtype)

    def value(self, p):
        return np.sum(self._weights(p) * (p**self.a - p), axis=-1) / (self.a - 1)

    def gradient(self, p):
        return self.factor * self._weights(p) * (self.a * p ** (self.a - 1) - 1) / (self.a - 1)

    def hessian(self, p):
        diagonal = self._weights(p) * self.a * p ** (self.a - 2)
        return diagonal[..., None] * np.eye(p.shape[-1], dtype=p.dtype)


right = WeightedPower()
wrong = WeightedPower(factor=2)
'''

# To be run with the name of a module and its arguments: torch cannot be found in that process.
WITHOUT_TORCH = """
import importlib.machinery
import runpy
import sys

find_spec = importlib.machinery.PathFinder.find_spec


class AllButTorch:
    def find_spec(self, name, *arguments):
        return None if name == "torch" else find_spec(name, *arguments)


# A method that is bound already, since pytest makes it an attribute of a class of its own.
importlib.machinery.PathFinder.find_spec = AllButTorch().find_spec
sys.path.insert(0, "")
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""

# Without hessian(p); without gradient(p) too.
NO_HESSIAN = """
from propercal.generators import BregmanGenerator


class Cubic(BregmanGenerator):
    def value(self, p):
        return (p**3).sum(-1)

    def gradient(self, p):
        return 3 * p**2


class CubicSignError(Cubic):
    def gradient(self, p):
        return -3 * p**2


class CubicValue(BregmanGenerator):
    def value(self, p):
        return (p**3).sum(-1)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "power.py").write_text(WEIGHTED_POWER, encoding="utf-8")
    (package / "cubic.py").write_text(NO_HESSIAN, encoding="utf-8")
    return tmp_path


def run_pytest(folder: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


@pytest.mark.slow
def test_adds_laws_where_there_is_no_test_file(folder: Path) -> None:
    code, out = run_pytest(folder, "-v", "--propercal-generator", "mine.power:WeightedPower")
    assert code == 0, out
    for law in ("shapes", "convexity", "gradient", "hessian", "propriety"):
        assert f"mine.power:WeightedPower::{law} PASSED" in out
    assert "torch SKIPPED (value(p) takes no tensors" in out or "torch SKIPPED (torch is not" in out


@pytest.mark.slow
def test_shows_the_counterexample_of_what_fails_beside_other_tests(folder: Path) -> None:
    (folder / "test_other.py").write_text("def test_other():\n    pass\n", encoding="utf-8")
    (folder / "test_laws.py").write_text(
        "from mine.power import right\nfrom propercal.testing import parametrize_with_checks\n\n\n"
        "@parametrize_with_checks([right], max_examples=10)\ndef test_laws(check):\n    check()\n",
        encoding="utf-8",
    )
    code, out = run_pytest(folder, "-v", "-rs", "--propercal-generator", "mine.power:wrong")
    assert code == 1, out
    assert "test_other.py::test_other PASSED" in out
    assert "mine.power:wrong::gradient FAILED" in out
    assert "mine.power:wrong::convexity PASSED" in out
    assert "violates the law 'gradient': ⟨∇F(p), v⟩" in out
    assert "p = np.array([0.5, 0.5])" in out
    assert "Traceback" not in out
    # The right one, by its parametrized test.
    own = [line for line in out.splitlines() if line.startswith("test_laws.py::test_laws[")]
    assert (sum(" PASSED" in line for line in own), sum(" SKIPPED" in line for line in own)) == (18, 2)
    assert "value(p) takes no tensors" in out or "torch is not installed" in out


@pytest.mark.slow
def test_selects_by_name_and_number_of_classes(folder: Path) -> None:
    options = ("--propercal-generator", "brier", "--propercal-n-classes", "4", "-k", "psd")
    code, out = run_pytest(folder, *options)
    assert code == 0, out
    assert "1 passed, 19 deselected" in out


# One process for all of them.
WRONG_NAMES = """
import sys
import pytest

for spec in sys.argv[1:]:
    print("code", int(pytest.main(["-p", "no:cacheprovider", "--propercal-generator", spec])))
"""


def test_an_object_that_cannot_be_loaded_is_a_usage_error(folder: Path) -> None:
    specs = ["mine.power:nothing", "nowhere:at_all", "lgo"]
    command = [sys.executable, "-c", WRONG_NAMES, *specs]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    codes = [line for line in run.stdout.splitlines() if line.startswith("code")]
    assert codes == [f"code {pytest.ExitCode.USAGE_ERROR:d}"] * 3
    errors = [line for line in run.stderr.splitlines() if line.startswith("ERROR")]
    assert len(errors) == 3
    assert all(spec in error for spec, error in zip(specs, errors, strict=True))
    assert "Traceback" not in run.stdout + run.stderr


def test_a_run_without_the_option_loads_neither_hypothesis_nor_torch(folder: Path) -> None:
    (folder / "test_other.py").write_text(
        "import sys\n\n\ndef test_other():\n    assert not {'torch', 'propercal.testing'} & set(sys.modules)\n",
        encoding="utf-8",
    )
    code, out = run_pytest(folder)
    assert code == 0, out


def run_pytest_without_torch(folder: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-c", WITHOUT_TORCH, "pytest", "-p", "no:cacheprovider", "-v", *arguments]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


@pytest.mark.slow
def test_without_torch_only_the_hessian_is_not_checked(folder: Path) -> None:
    code, out = run_pytest_without_torch(folder, "-rs", "--propercal-generator", "mine.cubic:Cubic")
    assert code == 0, out
    assert "14 passed, 6 skipped" in out
    assert "no hessian: torch is not installed to derive it; give hessian(p) to have it checked" in out
    for law in ("hessian-symmetry", "hessian", "hessian-products", "hessian-psd"):
        assert f"mine.cubic:Cubic::{law} SKIPPED" in out


def test_without_torch_a_missing_gradient_is_one_failure_in_one_line(folder: Path) -> None:
    code, out = run_pytest_without_torch(folder, "--propercal-generator", "mine.cubic:CubicValue")
    assert code == 1, out
    assert "1 failed, 19 skipped" in out
    assert out.count('pip install "propercal[torch]"') <= 2, "the failure, and pytest's summary"
    assert "Traceback" not in out
    assert ".py:" not in out.partition("= FAILURES =")[2].partition("short test summary")[0]
