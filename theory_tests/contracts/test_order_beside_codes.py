"""A loss of ordered classes beside labels that count: the order is that of the columns' names, in tables and in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import propercal
from propercal.cli.command import main
from propercal.generators import Quadratic
from propercal.methods import Risk

pd = pytest.importorskip("pandas")

RISK: dict[str, Any] = {"generator": "rps", "method": "risk", "bandwidth": 0.1}
ALPHABET = ["high", "low", "mid"]
ORDER = ["low", "mid", "high"]
REFUSED = r"not words in alphabetical order, \['high', 'low', 'mid'\]"
Y = np.array([0, 1, 2, 2, 1, 0, 1, 2])
P = np.array([[0.5, 0.2, 0.3], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [0.4, 0.3, 0.3]] * 2)


def ranked_score(codes: Any, p: Any) -> float:
    """Squared differences of both cumulative sums, summed over the k - 1 steps of the order."""
    steps = np.cumsum(p - np.eye(3)[codes], axis=1)[:, :-1]
    return float((steps**2).sum(axis=1).mean())


@pytest.mark.parametrize("labels", [Y, Y.astype(float), np.eye(3)[Y], np.array(ALPHABET)[Y]], ids=["codes", "floats", "marks", "words"])
def test_words_in_the_order_of_the_alphabet_are_refused_whatever_the_labels(labels: Any) -> None:
    table = pd.DataFrame(P, columns=ALPHABET)
    with pytest.raises(ValueError, match=REFUSED):
        propercal.decompose(labels, table, **RISK)
    # Of each class by itself there is no order.
    propercal.decompose(labels, table, **{**RISK, "notion": "classwise"})


@pytest.mark.parametrize(("columns", "options"), [
    (ORDER, {}), (["p_0", "p_1", "p_2"], {}), (["stage I", "stage II", "stage III"], {}), (["19-29", "30-39", "40-49"], {}),
    (ALPHABET, {"labels": [0, 1, 2]}), (None, {}),
])  # fmt: skip
def test_codes_count_columns_that_stand_in_their_order(columns: Any, options: Any) -> None:
    found = propercal.decompose(Y, pd.DataFrame(P, columns=columns), **RISK, **options)
    assert found.risk == pytest.approx(ranked_score(Y, P), rel=1e-9)


@pytest.mark.parametrize("columns", [["1", "2", "3"], ["class_1", "class_2", "class_3"]])
def test_numbers_in_words_are_an_order(columns: Any) -> None:
    words = np.array(columns)[Y]
    assert propercal.decompose(words, pd.DataFrame(P, columns=columns), **RISK).risk == pytest.approx(ranked_score(Y, P), rel=1e-9)


def test_codes_of_a_categorical_index_in_another_order_are_refused() -> None:
    index = pd.CategoricalIndex(ORDER, categories=ORDER)
    table, usual = pd.DataFrame(P, columns=index), {**RISK, "generator": "brier"}
    right = propercal.decompose(Y, P, **usual).risk
    moved = table[["mid", "low", "high"]]
    assert isinstance(moved.columns, pd.CategoricalIndex)
    with pytest.raises(ValueError, match=r"^y_proba = a categorical index that numbers classes as \[1, 0, 2\].*\.sort_index\(axis=1\)"):
        propercal.decompose(Y, moved, **usual)
    read: list[tuple[Any, Any, dict[str, Any]]] = [
        (Y, table, {}), (Y, moved.sort_index(axis=1), {}), (Y, moved, {"labels": [1, 0, 2]}), (np.array(ORDER)[Y], moved, {}),
    ]  # fmt: skip
    for y, p, options in read:
        assert propercal.decompose(y, p, **usual, **options).risk == pytest.approx(right, rel=1e-12)
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(P[:, [1, 0, 2]], dims=("s", "k"), coords={"k": moved.columns})
    with pytest.raises(ValueError, match="a categorical index that numbers classes"):
        propercal.decompose(Y, array, **usual)


def test_displays_look_at_the_columns_too() -> None:
    pytest.importorskip("matplotlib").use("agg")
    pytest.importorskip("sklearn")
    from propercal.sklearn import DecompositionDisplay

    with pytest.raises(ValueError, match=REFUSED):
        DecompositionDisplay.from_predictions(Y, pd.DataFrame(P, columns=ALPHABET), generator="rps", method=Risk(bandwidth=0.1))
    DecompositionDisplay.from_predictions(Y, pd.DataFrame(P, columns=ORDER), generator="rps", method=Risk(bandwidth=0.1))


def test_costs_are_matched_with_columns_that_codes_count() -> None:
    costs = pd.DataFrame([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]], index=ORDER, columns=ORDER)
    generator = Quadratic(costs)
    options = {**RISK, "generator": generator}
    found = propercal.decompose(Y, pd.DataFrame(P, columns=ORDER), **options)
    apart = P - np.eye(3)[Y]
    expected = float(np.einsum("ni,ij,nj->n", apart, costs.to_numpy(), apart).mean())
    assert found.risk == pytest.approx(expected, rel=1e-9)
    with pytest.raises(ValueError, match=r"expected columns in the order of their classes, \['low', 'mid', 'high'\]"):
        propercal.decompose(Y, pd.DataFrame(P, columns=["high", "low", "mid"]), **options)


def write(path: Path, columns: list[str], labels: Any) -> Path:
    if path.suffix == ".npz":
        np.savez(path, labels=labels, probs=P, classes=columns)
    else:
        pd.DataFrame(P, columns=columns).assign(label=labels).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.npz"])
@pytest.mark.parametrize("coded", [True, False])
def test_files_are_read_as_tables(tmp_path: Path, capsys: Any, name: str, coded: bool) -> None:
    """Words in alphabetical order are an order only where the caller lists them."""
    path = write(tmp_path / name, ALPHABET, Y if coded else np.array(ALPHABET)[Y])
    command = ["decompose", str(path), "--generator", "rps", "--method", "risk", "--bandwidth", "0.1", "--format", "json"]
    assert main(command) != 0
    assert "not words in alphabetical order" in capsys.readouterr().err
    assert main([*command, "--notion", "classwise"]) == 0
    capsys.readouterr()
    listed = [each for column in ALPHABET for each in ("--class", column)]
    assert main([*command, *listed]) == 0
    assert f'"risk": {ranked_score(Y, P):.6f}'[:14] in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"not words in alphabetical order.*pass classes=\[\.\.\.\] to name them"):
        propercal.report(path, generator="rps")


def test_files_whose_columns_have_an_order_are_taken(tmp_path: Path, capsys: Any) -> None:
    order = [1, 2, 0]
    path = tmp_path / "b.csv"
    pd.DataFrame(P[:, order], columns=ORDER).assign(label=np.array(ALPHABET)[Y]).to_csv(path, index=False)
    assert main(["decompose", str(path), "--generator", "rps", "--method", "risk", "--bandwidth", "0.1", "--format", "json"]) == 0
    expected = ranked_score(np.argsort(order)[Y], P[:, order])
    assert f'"risk": {expected:.6f}'[:14] in capsys.readouterr().out


@pytest.mark.parametrize("name", ["c.csv", "c.npz"])
def test_files_whose_columns_are_numbered_in_another_order_are_refused(tmp_path: Path, capsys: Any, name: str) -> None:
    path = write(tmp_path / name, ["2", "0", "1"], np.array([2, 0, 1])[Y])
    assert main(["decompose", str(path), "--generator", "rps", "--method", "risk", "--bandwidth", "0.1"]) != 0
    assert "expected columns in the order of their classes, which have the numbers ['2', '0', '1']" in capsys.readouterr().err
    assert main(["decompose", str(path), "--method", "risk", "--bandwidth", "0.1"]) == 0
