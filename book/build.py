"""Build the book: `make book`, or `python book/build.py` where its tools are installed.

Pages are executed once and kept. What they show depends on more than their own text, so everything
is executed again where the package, the studies or a dataset have changed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
BUILD = BOOK / "_build"
PAGES = BUILD / "html" / "index.html"


def digest() -> str:
    """Return a digest of all that pages read beside their own text."""
    files = [*ROOT.glob("propercal/**/*.py"), *ROOT.glob("studies/*.py"), *BOOK.glob("*.py")]
    files += ROOT.glob("studies/reference/*")
    found = hashlib.sha256(sys.version.encode())
    for path in sorted(files):
        found.update(str(path.relative_to(ROOT)).encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def main() -> int:
    """Build, with every warning an error, and say where the book is."""
    began = time.perf_counter()
    stamp = BUILD / "digest"
    now = digest()
    if not stamp.exists() or stamp.read_text() != now:
        shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(exist_ok=True)
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    # Pages call the command line too.
    programs = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "PATH": os.pathsep.join([str(programs), os.environ.get("PATH", "")]),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    command = [str(programs / "jupyter-book"), "build", "--all", "-W", "--keep-going", str(BOOK)]
    done = subprocess.run(command, env=environment, check=False)
    if done.returncode:
        return done.returncode
    stamp.write_text(now)
    print(f"{time.perf_counter() - began:.0f} s. Open {PAGES.relative_to(ROOT)} in a browser.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
