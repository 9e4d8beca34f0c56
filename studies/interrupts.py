"""Ctrl-C while a script is still importing, which therefore imports this before all else."""

from __future__ import annotations

import signal
import sys


def _is_script() -> bool:
    """Tell whether the process was started for a script of this repository."""
    main = getattr(sys.modules["__main__"], "__file__", None) or ""
    root, other = (path.replace("\\", "/").rsplit("/", 2)[0] for path in (__file__, main))
    return root == other


# Ctrl-C ends the process at once, without a traceback, until `main` lets it raise again. What would
# say so in one place is in the package, which is to be imported after this.
if _is_script() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
