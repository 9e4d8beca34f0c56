"""What all laws have in common: labels that are drawn without looking at the predictions."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
#: Labels that are drawn at random may go with another reading of the predictions by chance, and mirrored events do on purpose.
ANOTHER_READING = "ignore:.* times as probable if:UserWarning"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings(ANOTHER_READING))
