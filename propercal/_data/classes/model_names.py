"""Names of models: those that the caller gives, and those that predictions have themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import is_labelled
from propercal._data.inputs.reading import Names
from propercal._data.rows.scalars import texts_of
from propercal._data.words.messages import bad_value


def check_model_names(
    given: Sequence[object], held: Sequence[Held], called: Sequence[Names]
) -> None:
    """Raise if predictions of several models are named after each other's models."""
    said = {
        names.model: _said_by(each, own)
        for each, own, names in zip(given, held, called, strict=True)
        if names.model is not None
    }
    found = exchanged(said)
    if found is not None:
        model, other = found
        argument = next(names.proba for names in called if names.model == model)
        raise bad_value(
            argument,
            f"predictions named {other!r}",
            f"those of {model!r}, since there is a model {other!r}, whose predictions are named "
            "otherwise",
            "exchange them, or rename them",
        )


def exchanged(said: Mapping[str, set[str]]) -> tuple[str, str] | None:
    """Return a model whose predictions have the name of another, and that one; None for none.

    Predictions that were made of others may keep their name. So those of the other model are
    named after a third one, or the first.
    """
    after = {
        model: next((name for name in said if name in names), None)
        for model, names in said.items()
        if model not in names
    }
    for model, other in after.items():
        if other is not None and after.get(other) is not None:
            return model, other
    return None


def _said_by(given: object, held: Held) -> set[str]:
    """Return the words that predictions, or their only column, are named by."""
    words = [given.name, *texts_of(given)] if is_labelled(given) else [held.name]  # type: ignore[attr-defined]
    return {each for each in words if isinstance(each, str)}
