"""``propercal verify``: a table of laws, counter-examples, and an exit code."""

from __future__ import annotations

import re
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


@pytest.mark.slow
def test_a_right_generator_passes(folder: Path) -> None:
    run = run_cli(folder, "power:WeightedPower", "--n-classes", "2", "4", "--max-examples", "60")
    assert run.returncode == 0, run.stdout + run.stderr
    head, *lines = run.stdout.splitlines()
    assert head == "WeightedPower() at 60 triples of points, 2, 4 classes"
    verdicts = {line.split()[1]: line.split()[0] for line in lines[: len(LAWS)]}
    assert list(verdicts) == [law.name for law in LAWS]
    assert verdicts["gradient"] == verdicts["strict-convexity"] == "pass"
    assert [" ".join(line.split()) for line in lines[-3:]] == ["strictly convex yes", "finite at vertices yes", "normalised yes"]


@pytest.mark.slow
def test_a_wrong_generator_fails_with_its_counterexample(folder: Path) -> None:
    run = run_cli(folder, "power:wrong")
    assert run.returncode == 1
    assert "FAIL  gradient " in run.stdout
    assert "pass  convexity " in run.stdout
    assert "skip  strict-convexity" in run.stdout
    assert "p = np.array([0.5, 0.5])" in run.stdout
    assert run.stderr == ""


@pytest.mark.slow
def test_without_torch_all_is_checked_but_the_hessian(folder: Path) -> None:
    run = run_cli(folder, "cubic:Cubic", has_torch=False)
    assert run.returncode == 0, run.stdout + run.stderr
    skipped = [line.split()[1] for line in run.stdout.splitlines() if line.startswith("skip")]
    assert skipped == ["hessian-symmetry", "hessian", "hessian-products", "hessian-psd", "torch", "autodiff"]
    assert run.stdout.count("no hessian: torch is not installed to derive it; give hessian(p)") == 4


@pytest.mark.slow
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


HOSTILE = """
import os, signal, sys, time
from propercal.generators import Brier

class Ends(Brier):
    def value(self, p):
        sys.exit(0)

class EndsAtOnce(Brier):
    def value(self, p):
        os._exit(0)

class Never(Brier):
    def gradient(self, p):
        while True:
            try:
                time.sleep(1)
            except BaseException:
                pass

class EndsEarly(Brier):
    def __init__(self):
        sys.exit(0)

class Raises(Brier):
    def __init__(self):
        raise KeyError("oops")

class Interrupted(Brier):
    def __init__(self):
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Ends", r"^FAIL  \S+  the generator's code ends the process, with exit code 0; nothing was proved\.$"),
        ("EndsAtOnce", r"^FAIL  \S+  the generator's code ends the process, with exit code 0"),
        ("Never", r"^FAIL  \S+  the generator's code not done after 2 s \(see --timeout\)"),
    ],
)
def test_code_that_ends_the_process_or_never_returns_fails(folder: Path, name: str, said: str) -> None:
    (folder / "hostile.py").write_text(HOSTILE, encoding="utf-8")
    run = run_cli(folder, f"hostile:{name}", "--timeout", "2")
    assert run.returncode == 1
    assert re.match(said, run.stdout)
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("EndsEarly", HOSTILE, "cannot make a generator of 'hostile:EndsEarly' (SystemExit: 0)"),
        ("Raises", HOSTILE, "cannot make a generator of 'hostile:Raises' (KeyError: 'oops')"),
        ("Ends", "import sys; sys.exit(0)", "cannot load 'hostile:Ends' (SystemExit: 0)"),
    ],
)
@pytest.mark.parametrize("command", ["verify", "decompose"])
def test_code_that_cannot_be_loaded_is_a_wrong_argument(folder: Path, name: str, text: str, said: str, command: str) -> None:
    (folder / "hostile.py").write_text(text, encoding="utf-8")
    arguments = {"verify": [f"hostile:{name}"], "decompose": ["x.csv", "--generator", f"hostile:{name}"]}[command]
    run = subprocess.run(
        [sys.executable, "-m", "propercal", command, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert said in run.stderr
    assert "Traceback" not in run.stderr


def test_code_that_ends_the_process_while_it_is_imported_fails(folder: Path) -> None:
    (folder / "hostile.py").write_text("import os; os._exit(0)", encoding="utf-8")
    run = run_cli(folder, "hostile:Ends")
    assert (run.returncode, run.stdout[:12]) == (1, "FAIL  import")


@pytest.mark.skipif(sys.platform != "linux", reason="the parent is that of a forked process")
def test_an_interruption_is_one_line(folder: Path) -> None:
    (folder / "hostile.py").write_text(HOSTILE, encoding="utf-8")
    run = run_cli(folder, "hostile:Interrupted")
    assert (run.returncode, run.stderr) == (130, "propercal: interrupted\n")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked")
def test_an_interruption_in_the_midst_of_a_fork_is_not_lost(folder: Path) -> None:
    (folder / "hostile.py").write_text(HOSTILE, encoding="utf-8")
    script = (
        "import os, signal, sys; from propercal.cli import main;"
        "os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT));"
        "sys.exit(main(['verify', 'hostile:Ends']))"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (130, "propercal: interrupted\n")


@pytest.mark.slow
def test_files_where_the_command_was_started_stand_in_for_no_package(folder: Path) -> None:
    (folder / "pandas.py").write_text("import sys; sys.exit('not pandas')", encoding="utf-8")
    (folder / "own.py").write_text("import pandas; from propercal.generators import Brier as Own; pandas.DataFrame", encoding="utf-8")
    # As the console script, which unlike `python -m` does not start with the current folder.
    script = "import sys; sys.path[:] = [p for p in sys.path if p]; from propercal.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", script, "verify", "own:Own", "--max-examples", "5"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
