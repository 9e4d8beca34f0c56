"""A column of predicted classes that is left out: whether it goes with the columns that are read.

It is the class of the largest probability, or, of two classes, whether one column is above a
threshold. Where it is neither, but is so of other columns, they are read as those of other classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._data.classes.columns import is_predicted
from propercal._data.classes.labels import Classes, read_labels
from propercal._data.classes.other_readings import evidence
from propercal._data.inputs.held import Held
from propercal._data.inputs.holders import hold
from propercal._data.words.tokens import content, key
from propercal._files.left_out import left_out
from propercal._files.prediction_file import PredictionFile
from propercal._files.values import text_of, values_of

#: Rows of which some other column is the largest, which are not so by chance.
_FEWEST = 5


class Scores(NamedTuple):
    """Predictions as they are read."""

    classes: Sequence[Any]
    """What labels call the classes, those of one column being the other one and its own."""
    label: npt.NDArray[np.int64]
    """(n,) which of them occurred."""
    values: npt.NDArray[np.float64]
    """(n, k) probabilities or logits, or (n,) those of one column."""
    from_logits: bool
    columns: Sequence[Any] = ()
    """What the columns are called, where they are."""

    @property
    def called(self) -> str:
        """The column, in words."""
        return repr(self.name) if self.columns else "the column"

    @property
    def name(self) -> str:
        """What one column is called."""
        return str(self.columns[0]) if self.columns else "it"

    def said_by(self, values: Sequence[Any]) -> tuple[Sequence[Any], list[int]] | None:
        """Return what predicted classes are called, and which of them these are; None if unknown.

        They are those of the labels, or else what columns are called, or two that count from 0.
        """
        booleans = all(isinstance(each, bool) for each in (*values, *self.classes))
        ways: list[tuple[Sequence[Any], Callable[[Any], Any]]] = [
            (self.classes, partial(key, booleans=booleans))
        ]
        if self.values.ndim == 1:
            ways.append(((0, 1), partial(key, booleans=True)))
        elif len(self.columns) == self.values.shape[1]:
            ways.append((self.columns, content))
        for names, of in ways:
            place = {of(each): i for i, each in enumerate(names)}
            numbers = [place.get(of(each), -1) for each in values]
            if len(place) == len(names) and min(numbers, default=-1) >= 0:
                return names, numbers
        return None

    @classmethod
    def of(
        cls, found: Classes, values: npt.NDArray[Any], from_logits: bool, names: Sequence[Any]
    ) -> Scores | None:
        """Return them, None where rows are of no one class, or there are no numbers to compare."""
        if found.codes is None or len(found.codes) != len(values):
            return None
        numbers = np.asarray(values, dtype=np.float64)
        numbers = numbers[:, 0] if numbers.ndim == 2 and numbers.shape[1] == 1 else numbers
        return cls(found.names, found.codes, numbers, from_logits, names)


def check_file(data: PredictionFile) -> None:
    """Raise where a file leaves out predicted classes that contradict how it is read."""
    with left_out(data) as columns:
        predicted = {name: columns[name]() for name in columns if is_predicted(name)}
    if not predicted:
        return
    single = data.y_proba.ndim == 1 or data.y_proba.shape[1] == 1
    k = 2 if single else data.y_proba.shape[1]
    proba = Held(np.empty(0) if single else np.empty((0, k)))
    read = partial(read_labels, data.y_true, k, labels=data.labels, proba=proba)
    found = _read(read)
    if found is None:
        return
    # Labels that are places of columns have the names of these.
    named = data.classes or (data.class_names if data.labels is not None else ())
    if named:
        found = found._replace(names=named)
    scores = Scores.of(found, data.y_proba, data.from_logits, data.class_names)
    if scores is not None:
        for name, values in predicted.items():
            check(data.path, name, values, scores)


def check_chunk(
    path: Path, left_out: Mapping[str, Any], y_true: Any, y_proba: Any, **said: Any
) -> None:
    """Raise where rows of a stream leave out predicted classes that contradict how it is read.

    `said` are ``from_logits`` and ``pos_label``.
    """
    names = [name for name in left_out if is_predicted(name)]
    if not names:
        return
    proba, pos_label = hold("y_proba", y_proba), said["pos_label"]
    k = max(2, (*proba.values.shape, 1)[1])
    found = _read(partial(read_labels, y_true, k, proba=proba, pos_label=pos_label))
    if found is None:
        return
    values, one = np.asarray(y_proba), () if proba.name is None else (proba.name,)
    scores = Scores.of(found, values, said["from_logits"], proba.columns or one)
    if scores is not None:
        for name in names:
            check(path, name, left_out[name], scores)


def _read(reading: Callable[[], Classes]) -> Classes | None:
    """Return labels as they are read; None where that is refused, which others say."""
    try:
        return reading()
    except ValueError:
        return None


def check(path: Path, name: str, predicted: Any, scores: Scores) -> None:
    """Raise where predicted classes contradict predictions as they are read."""
    values = values_of([text_of(each) for each in predicted]).tolist()
    found = scores.said_by(values)
    # Of other codes nothing is known.
    if found is None:
        return
    names, codes = found[0], np.array(found[1])
    if scores.values.ndim == 1:
        _check_one(path, name, codes, scores, names)
    else:
        _check_several(path, name, codes, scores, names)


def _check_several(
    path: Path, name: str, codes: npt.NDArray[Any], scores: Scores, names: Sequence[Any]
) -> None:
    """Raise where predicted classes are those of the largest numbers if columns change places."""
    largest = scores.values == scores.values.max(axis=1, keepdims=True)
    clear = largest.sum(axis=1) == 1
    top, codes = scores.values.argmax(axis=1)[clear], codes[clear]
    pairs = sorted(set(zip(top.tolist(), codes.tolist(), strict=True)))
    one_to_one = len({a for a, _ in pairs}) == len(pairs) == len({b for _, b in pairs})
    if not one_to_one or np.count_nonzero(top != codes) < _FEWEST:
        return
    a, b = next(pair for pair in pairs if pair[0] != pair[1])
    which = f"the column that is read as that of {scores.classes[a]!r}"
    fix = (
        "bring the columns into the order of the labels, or name them by these (--class on the "
        "command line)"
    )
    if names is not scores.classes:
        which, fix = f"the column {names[a]!r}", "name the columns after their classes"
    raise ValueError(
        f"{path}: {name!r}, which is left out, is {names[b]!r} wherever {which} is the largest: "
        f"expected the class of the largest; {fix}, or remove {name!r} if it has other codes."
    )


def _check_one(
    path: Path, name: str, codes: npt.NDArray[Any], scores: Scores, names: Sequence[Any]
) -> None:
    """Raise where one column is that of whichever class is predicted, or of the other one."""
    values = scores.values
    if scores.from_logits:
        values = 1 / (1 + np.exp(-np.clip(values, -700, 700)))
    positive, (negative_class, positive_class) = codes == 1, scores.classes
    if positive.all() or not positive.any() or not ((values >= 0) & (values <= 1)).all():
        return
    above = values[positive].min() >= values[~positive].max()
    below = values[positive].max() <= values[~positive].min()
    if above or not (below or (values >= 0.5).all()):
        return
    other = 1 - values if below else np.where(positive, values, 1 - values)
    hits = scores.label == 1
    if not evidence(np.where(hits, values, 1 - values), np.where(hits, other, 1 - other)):
        return
    if below:
        said = f"is {names[0]!r} where {scores.called} is large"
        fix = (
            f"name {negative_class!r} as the class of {scores.called} by pos_label (--pos-label on "
            "the command line)"
        )
    else:
        said = (
            f"is {names[0]!r} in {np.count_nonzero(~positive)} rows in which {scores.called} "
            "is 0.5 or more, as it is in all, so that it is the probability of whichever class is "
            "predicted"
        )
        fix = f"write 1 - {scores.name} in rows where {name!r} is {names[0]!r}"
    raise ValueError(
        f"{path}: {name!r}, which is left out, {said}: expected the probability of "
        f"{positive_class!r} in each row; {fix}, or remove {name!r} if it is of another model."
    )
