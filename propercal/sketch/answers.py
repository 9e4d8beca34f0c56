"""What a sketch answers: a decomposition, after what memory would warn of how rows were read."""

from __future__ import annotations

from propercal.result import Decomposition
from propercal.sketch.contents import Contents
from propercal.sketch.first_class import check_absent, check_doubts
from propercal.sketch.result import Question, decomposition
from propercal.sketch.settings import Own
from propercal.sketch.state import Frame


def answer(
    seen: Contents, frame: Frame, asked: Question, confidence_level: float, own: Own
) -> Decomposition:
    """Return the decomposition that is asked of a sketch of these settings."""
    state, notion, k = seen.summed(frame), own["notion"], own["n_classes"]
    if own["labels"] is None:
        check_absent(state, notion, k, seen.reading, from_logits=own["from_logits"])
    else:
        check_doubts(seen.reading, k, said=False, listed=True)
    return decomposition(
        state, asked, notion=notion, n_classes=k, confidence_level=confidence_level
    )
