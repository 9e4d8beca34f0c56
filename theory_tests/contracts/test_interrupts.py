"""Ctrl-C while a command is still importing ends it without a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(path for path in (ROOT / "studies").glob("*.py") if '__name__ == "__main__"' in path.read_text(encoding="utf-8"))
MODULE = ["-m", "propercal", "decompose", "-"]
#: As pip writes the console script, under its name.
CONSOLE = "import sys\nfrom propercal.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"

# Python imports it before all else. It tells of the first import of a module, or interrupts there.
CUSTOM = """
import os, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["AT"]:
            sys.meta_path.remove(self)
            print("here", flush=True)
            if os.environ["THEN"] == "interrupt":
                os.kill(os.getpid(), 2)
            elif os.environ["THEN"] == "sleep":
                import time
                time.sleep(60)

sys.meta_path.insert(0, Finder())
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to a child is POSIX")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sitecustomize.py").write_text(CUSTOM, encoding="utf-8")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "propercal").write_text(CONSOLE, encoding="utf-8")
    return tmp_path


def started(folder: Path, arguments: list[str], at: str, then: str) -> subprocess.Popen[str]:
    """A command that stands in front of the import of `at`."""
    path = os.pathsep.join([str(folder), str(ROOT)])
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "AT": at, "THEN": then, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts background jobs with SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    assert process.stdout is not None
    # One that never comes there would wait for its input.
    patience = threading.Timer(60, process.kill)
    patience.start()
    here = process.stdout.readline()
    patience.cancel()
    assert here == "here\n"
    return process


def check_end(process: subprocess.Popen[str]) -> None:
    """It ends soon, by the signal or with its exit code, and with one line at most."""
    try:
        # Its input stays open: a command that has begun would wait for it.
        code, errors = process.wait(timeout=30), process.stderr.read()  # type: ignore[union-attr]
    finally:
        process.kill()
        process.communicate()
    assert code in (130, -signal.SIGINT)
    assert "Traceback" not in errors
    assert len(errors.strip().splitlines()) <= 1


def console(folder: Path) -> list[str]:
    return [str(folder / "bin" / "propercal"), *MODULE[2:]]


@pytest.mark.parametrize("at", ["propercal._aliases", "numpy", "propercal.result", "propercal.cli.command", "propercal.cli.output"])
def test_the_command_line_is_interrupted_at_an_import(folder: Path, at: str) -> None:
    check_end(started(folder, MODULE, at, "interrupt"))
    check_end(started(folder, console(folder), at, "interrupt"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_study_is_interrupted_at_an_import(folder: Path, script: Path) -> None:
    check_end(started(folder, [str(script), "--help"], "numpy", "interrupt"))


@pytest.mark.slow
@pytest.mark.parametrize("at", ["numpy", "propercal", "xarray", "propercal.experiments.command", "studies.losses"])
def test_a_study_is_interrupted_at_an_import(folder: Path, at: str) -> None:
    check_end(started(folder, [str(ROOT / "studies" / "bias_rate.py"), "--help"], at, "interrupt"))
    check_end(started(folder, ["-m", "studies.bias_rate", "--help"], at, "interrupt"))


def test_a_benchmark_is_interrupted_at_an_import(folder: Path) -> None:
    check_end(started(folder, [str(ROOT / "benchmarks" / "scale.py"), "--help"], "numpy", "interrupt"))


@pytest.mark.parametrize("milliseconds", [0, 60, *(pytest.param(each, marks=pytest.mark.slow) for each in (20, 120, 250))])
def test_a_command_is_interrupted_at_any_moment(folder: Path, milliseconds: int) -> None:
    study = [str(ROOT / "studies" / "bias_rate.py"), "--tiny", "--workers", "1", "--replicates", "3000", "--output", str(folder / "out")]
    for arguments, at in [(MODULE, "propercal._aliases"), (console(folder), "propercal._aliases"), (study, "numpy")]:
        process = started(folder, arguments, at, "go on")
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGINT)
        check_end(process)


def test_an_import_that_takes_long_is_interrupted(folder: Path) -> None:
    for arguments in (MODULE, [str(SCRIPTS[0])]):
        process = started(folder, arguments, "numpy", "sleep")
        process.send_signal(signal.SIGINT)
        check_end(process)


@pytest.mark.parametrize("program", ["import propercal", "import studies.interrupts", "import propercal.experiments, studies.bias_rate"])
def test_other_programs_raise_as_ever(folder: Path, program: str) -> None:
    code = f"import signal\nbefore = signal.getsignal(2)\n{program}\nassert signal.getsignal(2) is before is signal.default_int_handler"
    process = started(folder, ["-c", code], "propercal" if "studies.i" not in program else "studies.interrupts", "go on")
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize("handler", ["signal.SIG_IGN", "print"])
def test_a_handler_of_others_stays(folder: Path, handler: str) -> None:
    code = f"import signal, sys\nsys.argv = ['propercal']\nsignal.signal(2, {handler})\nimport propercal._interrupts as own\nown.raise_again()\nassert signal.getsignal(2) == {handler}"
    process = started(folder, ["-c", code], "propercal", "go on")
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
