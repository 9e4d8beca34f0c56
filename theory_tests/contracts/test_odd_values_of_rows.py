"""Values that are missing, of no order, or of several types, in an index, in groups and in names: read as others are, or refused in words.

As in the tests of misleading names, the Brier score of two classes is 2 · 0.1² = 0.02.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from propercal import CalibrationMonitor, decompose
from propercal._data.inputs.reading import is_missing
from propercal._data.rows.indexes import order_of
from propercal.cli.command import main
from theory_tests.contracts.test_opposed_names import EVENT, RIGHT, SCORE, P, check, refused

N = len(EVENT)
#: What may stand in one row of an index; the last two cannot be compared with anything.
ODD: list[Any] = [Decimal("NaN"), Decimal("Infinity"), pd.NA, pd.NaT, None, float("nan"), np.datetime64("NaT"), "x", (1, 2), 1j, b"\xff", Decimal("sNaN"), [1]]
#: Values of the others.
OTHERS: dict[str, list[Any]] = {
    "decimals": [Decimal(N - i) for i in range(N)],
    "integers": [N - i for i in range(N)],
    "text": [f"r{i:02d}" for i in range(N)],
    "times": list(pd.date_range("2024-01-01", periods=N)),
}


def index_with(odd: Any, others: list[Any]) -> Any:
    if isinstance(odd, Decimal) and odd.is_snan() and int(pd.__version__.split(".")[0]) < 3:
        pytest.skip("pandas 2 looks nothing up in such an index")
    return pd.Index([*others[:3], odd, *others[4:]], dtype=object)


@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_an_index_with_an_odd_value_is_an_index(odd: Any, others: str) -> None:
    index = index_with(odd, OTHERS[others])
    labels, proba = pd.Series(EVENT, index), pd.DataFrame(P, index)
    check(labels, proba)
    check(EVENT, proba)
    check(labels, P)
    check(pd.Series(EVENT), proba)
    if type(odd) is not list and not (isinstance(odd, Decimal) and odd.is_snan()):
        check(labels, proba[::-1])
        # As text is in rows of that name.
        refused("y_true = rows of the index", labels[:-1], proba[1:])
    # Rows that tell no time, or none that are there, do not go back.
    monitor = CalibrationMonitor(2)
    monitor.update(labels, proba)
    assert monitor.n_samples == N


@pytest.mark.parametrize("odd", [pd.NaT, None, float("nan"), np.datetime64("NaT")], ids=repr)
def test_rows_without_a_time_do_not_go_back(odd: Any) -> None:
    for index in (index_with(odd, OTHERS["times"]), pd.DatetimeIndex(index_with(odd, OTHERS["times"]))):
        labels, proba = pd.Series(EVENT, index), pd.DataFrame(P, index)
        # It is in one series that they are one block.
        with pytest.raises(ValueError, match=r"^blocks = 1 block of all rows"):
            decompose(labels, proba, blocks=N, bandwidth=0.1)
        for rows in (slice(None), slice(None, None, -1)):
            series = pd.Series(EVENT, index[rows]), pd.DataFrame(P, index[rows])
            if rows == slice(None):
                CalibrationMonitor(2).update(*series)
            else:
                with pytest.raises(ValueError, match=r"^y_proba = rows of the times"):
                    CalibrationMonitor(2).update(*series)


@pytest.mark.parametrize("odd", [Decimal("NaN"), Decimal("sNaN"), pd.NA, pd.NaT, None, float("nan"), np.datetime64("NaT")], ids=repr)
@pytest.mark.parametrize("others", OTHERS)
def test_groups_that_are_missing_are_refused(odd: Any, others: str) -> None:
    assert is_missing(odd)
    groups = np.empty(N, dtype=object)
    groups[:] = [*OTHERS[others][:3], odd, *OTHERS[others][4:]]
    with pytest.raises(ValueError, match=r"^groups = missing values at row 3: "):
        decompose(EVENT, P, groups=groups, bandwidth=0.1, generator="brier")


@pytest.mark.parametrize("odd", [Decimal("Infinity"), float("inf")], ids=repr)
def test_infinity_is_the_name_of_a_group_beside_text(odd: Any) -> None:
    groups = np.empty(4 * N, dtype=object)
    groups[:] = 4 * OTHERS["text"]
    groups[3::N] = odd
    found = decompose(np.random.default_rng(0).integers(0, 2, 4 * N), np.tile(P, (4, 1)), groups=groups, bandwidth=0.1, generator="brier")
    assert found.n_groups == N


@pytest.mark.parametrize("odd", [Decimal("sNaN"), [1]], ids=repr)
def test_what_is_not_hashable_names_no_class(odd: Any) -> None:
    columns = pd.Index(["a", odd], dtype=object)
    refused("y_proba = a column named by a ", EVENT, pd.DataFrame(P, columns=columns))
    refused("y_proba = a column named by a ", np.array(["b", "a"])[EVENT], pd.DataFrame(P, columns=columns))
    refused("labels = ", EVENT, P, labels=[2.5, odd] if not isinstance(odd, list) else ["a", odd])
    refused("pos_label = ", np.array(["b", "a"])[EVENT], SCORE, pos_label=odd)


def test_a_decimal_that_signals_is_a_missing_label() -> None:
    labels = np.empty(N, dtype=object)
    labels[:] = [Decimal("sNaN") if i == 3 else Decimal(int(x)) for i, x in enumerate(EVENT)]
    refused(r"y_true = nan at row 3: expected whole class numbers", labels, P)


# ---------------------------------------------------------------- numbers and their digits

NUMBERS = 1200 + np.random.default_rng(0).permutation(N)


@pytest.mark.parametrize("form", [float, str, object, "float text", "Int64"], ids=str)
def test_a_number_and_its_digits_are_one_row(form: Any) -> None:
    own = pd.Index(NUMBERS)
    other = pd.Index(NUMBERS.astype(float).astype(str)) if form == "float text" else pd.Index(NUMBERS).astype(form)
    order = np.random.default_rng(1).permutation(N)
    for one, two in ((own, other), (other, own)):
        found = order_of(one, two[order])
        assert found is not None
        assert (found == order).all()
        check(pd.Series(EVENT, one), pd.DataFrame(P, two)[::-1])


def test_other_text_is_another_row() -> None:
    own = pd.Index(NUMBERS)
    for other in ([f"{x:06d}" for x in NUMBERS], [f"r{x}" for x in NUMBERS], [*map(str, NUMBERS[1:]), "1"], [*map(str, NUMBERS[1:]), str(NUMBERS[1])]):
        assert order_of(own, pd.Index(other)) is None
    # Where 1 and 1.0 are both there they are two.
    assert order_of(pd.Index(["1", "1.0", "2"]), pd.Index([1, 2, 3])) is None


@pytest.mark.parametrize(("first", "second"), [(int, float), (int, str), (float, str), (str, float)])
@pytest.mark.parametrize("forms", [("csv", "npz"), ("npz", "csv"), ("npz", "npz"), ("csv", "csv")], ids="-".join)
def test_ids_of_files_are_numbers_or_their_digits(first: Any, second: Any, forms: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table from which a row is missing has them in floating point."""
    order = np.random.default_rng(2).permutation(N)
    paths = []
    for i, (kind, form, rows) in enumerate(zip((first, second), forms, (np.arange(N), order), strict=True)):
        path = tmp_path / f"{i}.{form}"
        ids = NUMBERS[rows].astype(kind)
        if form == "npz":
            np.savez(path, labels=EVENT[rows], probs=P[rows], id=ids)
        else:
            pd.DataFrame({"0": P[rows, 0], "1": P[rows, 1], "label": EVENT[rows], "id": ids}).to_csv(path, index=False)
        paths.append(str(path))
    assert main(["compare", *paths, "--generator", "brier", "--term", "risk", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["paired"] == "by their ids"
    assert [each["estimate"] for each in found["models"]] == pytest.approx([RIGHT, RIGHT], rel=1e-12)


def test_ids_that_differ_in_their_form_alone_are_two_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = ["1", "1.0", *map(str, NUMBERS[2:])]
    for name, own in (("a", ids), ("b", ids), ("c", ["1", "01", *ids[2:]])):
        np.savez(tmp_path / f"{name}.npz", labels=EVENT, probs=P, id=np.array(own))
    a, b, c = (str(tmp_path / f"{name}.npz") for name in "abc")
    assert main(["compare", a, b, "--generator", "brier", "--term", "risk"]) == 0
    assert main(["compare", a, c, "--generator", "brier", "--term", "risk"]) == 1
    assert "ids '1.0' are not in" in capsys.readouterr().err
