"""Build the book: `make book`, or `python book/build.py` where its tools are installed.

Pages are executed once, as many at a time as there are cores, and kept. What they show depends on
more than their own text, so everything is executed again where the package, the studies or a
dataset have changed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
BUILD = BOOK / "_build"
PAGES = BUILD / "html" / "index.html"


def digest() -> str:
    """Return a digest of all that pages read beside their own text."""
    files = [*ROOT.glob("propercal/**/*.py"), *ROOT.glob("studies/*.py"), *BOOK.glob("*.py")]
    files += BOOK.glob("pictures/*.py")
    files += ROOT.glob("studies/reference/*")
    found = hashlib.sha256(sys.version.encode())
    for path in sorted(files):
        found.update(str(path.relative_to(ROOT)).encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def write_settings() -> Path:
    """Write what pictures of pages begin with: the colours of the package's own, and no box."""
    from propercal.plotting.palette import COLOURS

    path = BUILD / "matplotlibrc"
    colours = ", ".join(f"'{colour.removeprefix('#')}'" for colour in COLOURS)
    lines = [f"axes.prop_cycle: cycler('color', [{colours}])"]
    lines += [f"axes.spines.{side}: False" for side in ("top", "right")]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def execute() -> None:
    """Execute the pages that hold code and changed, into the cache that the build reads.

    The build itself would take one after the other. It meets a page that fails again, and says why.
    """
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn
    from jupyter_cache.executors.utils import single_nb_execution
    from myst_nb.core.read import myst_nb_reader_plugin
    from traitlets.config import Config

    cache = get_cache(str(BUILD / ".jupyter_cache"))
    notebooks = {
        path: myst_nb_reader_plugin(str(path))
        for path in sorted(BOOK.glob("*/*.md"))
        if "\nfile_format: mystnb\n" in path.read_text(encoding="utf-8")
    }

    def is_kept(path: Path) -> bool:
        try:
            cache.match_cache_notebook(notebooks[path])
        except KeyError:
            return False
        return True

    paths = [path for path in notebooks if not is_kept(path)]
    done = count(1)

    def run(path: Path) -> Any:
        # A kernel warns where it listens on ports of the machine: these are files of one user.
        with tempfile.TemporaryDirectory() as folder:
            private = {"transport": "ipc", "ip": str(Path(folder) / "kernel")}
            found = single_nb_execution(
                notebooks[path],
                str(path.parent),
                120,
                allow_errors=False,
                config=Config({"KernelManager": private}),
            )
        name = path.relative_to(BOOK).with_suffix("")
        print(f"{next(done)} of {len(paths)}: {name}, {found.time:.0f} s", flush=True)
        return found

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, result in zip(paths, pool.map(run, paths), strict=True):
            if result.err is None:
                seconds = {"execution_seconds": result.time}
                bundle = CacheBundleIn(notebooks[path], str(path), data=seconds)
                cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def main() -> int:
    """Build, with every warning an error, and say where the book is."""
    began = time.perf_counter()
    stamp = BUILD / "digest"
    now = digest()
    fresh = not stamp.exists() or stamp.read_text() != now
    if fresh:
        shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(exist_ok=True)
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    # Pages call the command line too.
    programs = Path(sys.executable).parent
    os.environ |= {
        "PYTHONPATH": path,
        "PATH": os.pathsep.join([str(programs), os.environ.get("PATH", "")]),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        # A bar of progress, which a busy machine would show, is no part of a page.
        "TQDM_DISABLE": "1",
        "PYTHONSTARTUP": str(ROOT / "book" / "startup.py"),
        "MATPLOTLIBRC": str(write_settings()),
    }
    execute()
    command = [str(programs / "jupyter-book"), "build", "--all", "-W", "--keep-going", str(BOOK)]
    done = subprocess.run(command, check=False)
    if done.returncode:
        return done.returncode
    example = [sys.executable, "-m", "book.example_report", str(PAGES.parent)]
    subprocess.run(example, cwd=ROOT, check=True)
    stamp.write_text(now)
    print(f"{time.perf_counter() - began:.0f} s. Open {PAGES.relative_to(ROOT)} in a browser.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
