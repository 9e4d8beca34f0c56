"""Every study is a script, to be started from any folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(path for path in (ROOT / "studies").glob("*.py") if '__name__ == "__main__"' in path.read_text(encoding="utf-8"))

# As Python starts a script: its folder is the first place to import from.
HELP_OF_ALL = """
import runpy
import sys

for script in sys.argv[1:]:
    folder = script.rpartition("/")[0]
    sys.argv, path = [script, "--help"], sys.path[:]
    sys.path[0] = folder
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        assert not end.code, script
    sys.path[:] = path
"""


def test_every_script_explains_itself(tmp_path: Path) -> None:
    assert len(SCRIPTS) == 11
    command = [sys.executable, "-W", "error", "-c", HELP_OF_ALL, *(path.as_posix() for path in SCRIPTS)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    for path in SCRIPTS:
        assert f"usage: {path.name}" in run.stdout
    assert run.stdout.count("--workers") >= len(SCRIPTS)
