"""README.md as PyPI can show it: without pictures and links that lead into the repository.

Hatchling runs this whenever it makes a wheel or an sdist.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# A target without a scheme, which is not a place on the same page.
_PICTURE = re.compile(r"!\[([^\]]*)\]\((?!\w+://|#)[^)]*\)")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!\w+://|#)[^)]*\)")


def for_pypi(text: str) -> str:
    """Return Markdown whose relative pictures are their descriptions, and relative links words."""
    return _LINK.sub(r"\1", _PICTURE.sub(r"*(Figure: \1.)*", text))


class Readme(MetadataHookInterface):
    """The field `readme`, which pyproject.toml declares dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the text."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_pypi(text)}
