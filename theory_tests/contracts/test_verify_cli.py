"""``propercal verify``: a table of laws, counter-examples, and an exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from propercal.cli.command import main
from propercal.testing.laws import LAWS
from theory_tests.contracts.test_pytest_plugin import NO_HESSIAN, WEIGHTED_POWER, WITHOUT_TORCH


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "power.py").write_text(WEIGHTED_POWER, encoding="utf-8")
    (tmp_path / "cubic.py").write_text(NO_HESSIAN, encoding="utf-8")
    return tmp_path


def run_cli(folder: Path, *arguments: str, has_torch: bool = True) -> subprocess.CompletedProcess[str]:
    start = ["-m"] if has_torch else ["-c", WITHOUT_TORCH]
    command = [sys.executable, *start, "propercal", "verify", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_right_generator_passes(folder: Path) -> None:
    run = run_cli(folder, "power:WeightedPower", "--n-classes", "2", "4", "--max-examples", "60")
    assert run.returncode == 0, run.stdout + run.stderr
    head, *lines = run.stdout.splitlines()
    assert head == "WeightedPower() at 60 triples of points, 2, 4 classes"
    verdicts = {line.split()[1]: line.split()[0] for line in lines[: len(LAWS)]}
    assert list(verdicts) == [law.name for law in LAWS]
    assert verdicts["gradient"] == verdicts["strict-convexity"] == "pass"
    assert [" ".join(line.split()) for line in lines[-3:]] == ["strictly convex yes", "finite at vertices yes", "normalised yes"]


def test_a_wrong_generator_fails_with_its_counterexample(folder: Path) -> None:
    run = run_cli(folder, "power:wrong")
    assert run.returncode == 1
    assert "FAIL  gradient " in run.stdout
    assert "pass  convexity " in run.stdout
    assert "skip  strict-convexity" in run.stdout
    assert "p = np.array([0.5, 0.5])" in run.stdout
    assert run.stderr == ""


def test_without_torch_all_is_checked_but_the_hessian(folder: Path) -> None:
    run = run_cli(folder, "cubic:Cubic", has_torch=False)
    assert run.returncode == 0, run.stdout + run.stderr
    skipped = [line.split()[1] for line in run.stdout.splitlines() if line.startswith("skip")]
    assert skipped == ["hessian-symmetry", "hessian", "hessian-products", "hessian-psd", "torch", "autodiff"]
    assert run.stdout.count("no hessian: torch is not installed to derive it; give hessian(p)") == 4


def test_without_torch_a_wrong_gradient_still_fails(folder: Path) -> None:
    run = run_cli(folder, "cubic:CubicSignError", has_torch=False)
    assert run.returncode == 1
    fails = [line.split()[1] for line in run.stdout.splitlines() if line.startswith("FAIL")]
    assert fails[0] == "gradient"


def test_without_torch_a_missing_gradient_is_said_in_one_line(folder: Path) -> None:
    run = run_cli(folder, "cubic:CubicValue", has_torch=False)
    assert run.returncode == 1
    assert run.stdout == ""
    assert len(run.stderr.splitlines()) == 1
    assert "define gradient(p)" in run.stderr


def test_a_registered_name_will_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "itakura-saito", "--max-examples", "20"]) == 0
    out = capsys.readouterr().out
    assert "finite at vertices  no" in out
    assert "normalised          no" in out


@pytest.mark.parametrize(("arguments", "message"), [
    (["lgo"], "did you mean 'log'"),
    (["nowhere:thing"], "cannot load 'nowhere:thing'"),
    (["log", "--n-classes", "1"], "'1': expected a whole number, 2 or more"),
    (["log", "--max-examples", "x"], "'x': expected a whole number, 1 or more"),
    ([], "required: package.module:object"),
])
def test_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["verify", *arguments])
    assert caught.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_missing_hypothesis_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in [name for name in sys.modules if name.startswith("propercal.testing")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    assert main(["verify", "log"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert 'pip install "propercal[testing]"' in shown.err
