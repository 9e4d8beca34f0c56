"""What the kernels of the book run first: a warning is shown without the path of a machine."""

from __future__ import annotations

import warnings
from typing import Any


def shown(message: Any, category: type[Warning], *_: Any, **__: Any) -> str:
    """Return a warning as a line."""
    return f"{category.__name__}: {message}\n"


warnings.formatwarning = shown
