"""Files of arrays for the same rows, which nothing says to be in one order: paired by it, unless an array of both denies it.

As in the tests of the index of tables, rows are sorted by their class, and the second file has them in another order
within each class: labels agree row by row.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from propercal._files.matching import Matched, matched
from propercal.cli.command import main
from propercal.cli.files import read_predictions
from theory_tests.instances import two_models_by_class

N = 60
CODES, FIRST, SECOND, WITHIN = two_models_by_class(N, np.random.default_rng(0))
WORDS = [f"im{i}" for i in range(N)]


def pair(a: Path, b: Path, **options: Any) -> Matched:
    return matched([read_predictions(each, find_id=True, **options) for each in (a, b)])


def arrays(folder: Path, name: str, proba: Any, rows: Any = slice(None), **more: Any) -> Path:
    np.savez(folder / name, labels=CODES[rows], probs=proba[rows], **{key: each[rows] for key, each in more.items()})
    return folder / name


@pytest.mark.parametrize("values", [np.array(WORDS), np.arange(N), np.datetime64("2024-01-01") + np.arange(N), np.array(WORDS, dtype="S4")])
@pytest.mark.parametrize("name", ["index", "filenames", "names"])
def test_arrays_that_tell_rows_apart_in_another_order_are_refused(name: str, values: Any, tmp_path: Path) -> None:
    more = {name: values}
    a, b = arrays(tmp_path, "a.npz", FIRST, **more), arrays(tmp_path, "b.npz", SECOND, WITHIN, **more)
    with pytest.raises(ValueError, match=rf"b\.npz: array '{name}' has the values of that in .*a\.npz in another order: .*name it by id_column"):
        pair(a, b)
    np.testing.assert_array_equal(pair(a, b, id_column=name).models["b.npz"], SECOND)
    np.testing.assert_array_equal(pair(a, arrays(tmp_path, "c.npz", SECOND, **more)).models["c.npz"], SECOND)


def test_other_arrays_say_nothing_of_rows(tmp_path: Path) -> None:
    first = {"pred": FIRST.argmax(1), "rank": np.argsort(FIRST[:, 0]), "score": FIRST[:, 0], "features": FIRST, "fold": np.arange(N) % 5, "seed": np.arange(N)}
    second = {"pred": SECOND.argmax(1), "rank": np.argsort(SECOND[:, 1]), "score": SECOND[:, 0], "features": SECOND, "fold": np.arange(N)[::-1] % 5, "seed": np.arange(N) + 1}
    a, b = arrays(tmp_path, "a.npz", FIRST, **first), arrays(tmp_path, "b.npz", SECOND, **second)
    np.testing.assert_array_equal(pair(a, b).models["b.npz"], SECOND)


def test_blocks_of_arrays_are_in_the_order_of_rows(tmp_path: Path) -> None:
    path = str(arrays(tmp_path, "a.npz", FIRST))
    assert main(["decompose", path, "--blocks", "3"]) == 0
