"""Two tables of the same classes: columns in two orders, or one column beside two, are matched by names, or refused.

A loss of ordered classes, or of costs in an array, is another one in another order of columns: where two tables have
two, it would be that of whichever comes first.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import propercal
from propercal._files.matching import Matched, matched
from propercal.cli.command import main
from propercal.cli.files import read_predictions
from propercal.generators import Quadratic
from propercal.testing import assert_no_worse_calibrated
from propercal.training import LeastRefinement

pd = pytest.importorskip("pandas")

N = 60
RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.full(3, 0.6), N)
Y = np.array([RNG.choice(3, p=each) for each in P])
NAMES = np.array(["brass", "steel", "glass"])
WORDS = NAMES[Y]
TABLE = pd.DataFrame(P, columns=NAMES)
TURNED = TABLE[["steel", "brass", "glass"]]
REFUSED = r"columns in one order, that of their classes, not \['brass', 'steel', 'glass'\] and then \['steel', 'brass', 'glass'\]"
RISK: dict[str, Any] = {"method": "risk", "bandwidth": 0.1}
COSTS = Quadratic(np.diag([1.0, 2.0, 3.0]))


class Module:
    """A model of no weights."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Any) -> None:
        del state


def of_epochs(tables: Sequence[Any], y: Any = WORDS, **options: Any) -> list[float]:
    found = LeastRefinement(from_logits=False, **RISK, **options)
    for each in tables:
        found.update(Module(), y, each)
    return [each["refinement"] for each in found.history]


def of_models(tables: Sequence[Any], y: Any = WORDS, **options: Any) -> list[float]:
    found = propercal.compare_models(y, dict(zip("ab", tables, strict=True)), term="risk", **options)
    return [each.risk for each in found.models.values()]


def of_chunks(tables: Sequence[Any], y: Any = WORDS, **options: Any) -> list[float]:
    monitor = propercal.CalibrationMonitor(3, **options)
    for each, rows in zip(tables, (slice(None, N // 2), slice(N // 2, None)), strict=True):
        monitor.update(y[rows], each[rows])
    return [monitor.log_e_value, monitor.lower_bound]


@pytest.mark.parametrize("of", [of_models, of_epochs, of_chunks])
def test_a_loss_of_an_order_refuses_two_orders(of: Any) -> None:
    with pytest.raises(ValueError, match=REFUSED):
        of([TABLE, TURNED], generator="rps")
    assert len(of([TABLE, TABLE], generator="rps")) == 2


@pytest.mark.parametrize("of", [of_models, of_epochs, of_chunks])
def test_costs_refuse_two_orders(of: Any) -> None:
    """Costs without names are of sorted columns, where these are in no other order."""
    in_alphabet = TABLE[sorted(NAMES)]
    with pytest.raises(ValueError, match=r"and then \['steel', 'brass', 'glass'\]|beside columns .*\['steel', 'brass', 'glass'\]"):
        of([in_alphabet, TURNED], generator=COSTS)
    assert len(of([in_alphabet, in_alphabet], generator=COSTS)) == 2


@pytest.mark.parametrize("of", [of_models, of_epochs, of_chunks])
def test_other_losses_match_columns_by_their_names(of: Any) -> None:
    for generator in ("brier", Quadratic(np.eye(3))):
        np.testing.assert_allclose(of([TABLE, TURNED], generator=generator), of([TABLE, TABLE], generator=generator))


def test_two_orders_are_read_where_one_is_said() -> None:
    right = np.mean(np.sum((np.cumsum(P, 1) - np.cumsum(np.eye(3)[Y], 1)) ** 2, 1))
    for said in ({"labels": list(NAMES)}, {}):
        y = WORDS if said else pd.Series(pd.Categorical(WORDS, NAMES, ordered=True))
        np.testing.assert_allclose(of_models([TABLE, TURNED], y, generator="rps", **said), [right, right])
    named = Quadratic(pd.DataFrame(np.diag([1.0, 2.0, 3.0]), NAMES, NAMES))
    one, other = of_models([TABLE, TURNED], generator=named)
    assert one == other
    numbered = pd.DataFrame(P, columns=[1, 2, 3])
    one, other = of_models([numbered, numbered[[2, 1, 3]]], [str(each + 1) for each in Y], generator="rps")
    np.testing.assert_allclose([one, other], right)


def test_other_functions_of_two_tables_refuse_too() -> None:
    for function in (propercal.paired_difference, assert_no_worse_calibrated):
        with pytest.raises(ValueError, match=REFUSED):
            function(WORDS, TABLE, TURNED, generator="rps")


def test_columns_may_have_a_type_that_orders_them() -> None:
    def typed(table: Any) -> Any:
        return table.set_axis(pd.CategoricalIndex(table.columns, NAMES, ordered=True), axis=1)

    with pytest.raises(ValueError, match=r"columns in the order of their classes, \['brass', 'steel', 'glass'\], not \['steel'"):
        propercal.decompose(WORDS, typed(TURNED), generator="rps", **RISK)
    found = propercal.decompose(WORDS, typed(TABLE), generator="rps", **RISK)
    assert found.risk == propercal.decompose(Y, P, generator="rps", **RISK).risk
    assert propercal.decompose(WORDS, typed(TURNED), generator="brier", **RISK).n_classes == 3


def test_costs_in_a_mapping_are_refused() -> None:
    names = NAMES.tolist()
    costs = {a: {b: float(a == b) for b in names} for a in names}
    with pytest.raises(ValueError, match=r"matrix = a dict of \['brass', 'steel', 'glass'\]: expected .*pandas\.DataFrame"):
        Quadratic(costs)
    assert Quadratic(pd.DataFrame(costs)) == Quadratic(np.eye(3))


# ---------------------------------------------------------------- files


def written(folder: Path, name: str, table: Any) -> Path:
    table.assign(label=WORDS).to_csv(folder / name, index=False)
    return folder / name


def test_files_in_two_orders_are_refused_under_such_a_loss(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(written(tmp_path, "a.csv", TABLE)), str(written(tmp_path, "b.csv", TURNED))]
    flags = ["--term", "risk", "--method", "risk", "--bandwidth", ".1"]
    assert main(["compare", *files, *flags, "--generator", "rps"]) == 1
    assert "b.csv: --generator RankedProbability(): expected columns in one order" in capsys.readouterr().err
    named = [word for each in NAMES for word in ("--class", each)]
    assert main(["compare", *files, *flags, "--generator", "rps", *named]) == 0
    assert main(["compare", *files, *flags, "--generator", "brier"]) == 0
    pytest.importorskip("jinja2")
    with pytest.raises(ValueError, match=REFUSED):
        propercal.report(*files, generator="rps")


def objects(folder: Path, name: str, names: Sequence[str], labels: Any) -> str:
    rows = [{"label": str(label), **dict(zip(names, p.tolist(), strict=True))} for label, p in zip(labels, P, strict=True)]
    (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(folder / name)


@pytest.mark.parametrize("command", [["decompose", "--method", "risk", "--bandwidth", ".1"], ["monitor"], ["report"]])
def test_keys_of_objects_are_no_order(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if command == ["report"]:
        pytest.importorskip("jinja2")
    path = objects(tmp_path, "a.jsonl", NAMES.tolist(), WORDS)
    output = ["-o", str(tmp_path / "a.html")] if command == ["report"] else []
    assert main([*command, path, *output, "--generator", "rps"]) == 1
    assert "expected classes in an order, which keys of objects of JSON do not have" in capsys.readouterr().err
    if not output:
        named = [word for each in NAMES for word in ("--class", each)]
        assert main([*command, path, "--generator", "rps", *named]) in (0, 3)
        numbered = objects(tmp_path, "b.jsonl", ["0", "1", "2"], Y)
        assert main([*command, numbered, "--generator", "rps"]) in (0, 3)
        assert main([*command, path, "--generator", "brier"]) in (0, 3)


# ---------------------------------------------------------------- one column beside two, names beside none


def pair(*paths: Path) -> Matched:
    return matched([read_predictions(each, find_id=True) for each in paths])


@pytest.mark.parametrize("name", ["1", "p"])
def test_one_column_is_matched_with_the_class_that_labels_say(name: str, tmp_path: Path) -> None:
    p, y = P[:, 0], (P[:, 0] > 0.3) * 1
    pd.DataFrame({"label": y, name: p}).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame({"label": y, "1": p**2, "0": 1 - p**2}).to_csv(tmp_path / "b.csv", index=False)
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    found = pair(a, b)
    np.testing.assert_allclose(found.models["b.csv"][:, 1], p**2, rtol=1e-12)
    turned = pair(b, a)
    np.testing.assert_allclose(turned.models["a.csv"][:, 0], p, rtol=1e-12)
    assert turned.models["a.csv"].shape == (N, 2)


def test_logits_of_one_column_are_turned(tmp_path: Path) -> None:
    p, y = P[:, 0], np.where(P[:, 0] > 0.3, "yes", "no")
    np.savez(tmp_path / "a.npz", labels=y, logits=np.log(P[:, [0, 1]]), classes=["yes", "no"])
    np.savez(tmp_path / "b.npz", labels=y, logits=np.log(p / P[:, 1]), classes=["yes"])
    found = pair(tmp_path / "a.npz", tmp_path / "b.npz")
    logits = found.models["b.npz"]
    np.testing.assert_allclose(logits[:, 0] - logits[:, 1], np.log(p / P[:, 1]))


def test_words_name_the_columns_of_an_archive_without_names(tmp_path: Path) -> None:
    alphabetical = np.argsort(NAMES)
    np.savez(tmp_path / "a.npz", labels=WORDS, probs=P, classes=NAMES)
    np.savez(tmp_path / "b.npz", labels=WORDS, probs=P[:, alphabetical])
    np.testing.assert_array_equal(pair(tmp_path / "a.npz", tmp_path / "b.npz").models["b.npz"], P)
    np.testing.assert_array_equal(pair(tmp_path / "b.npz", tmp_path / "a.npz").models["a.npz"], P[:, alphabetical])
    # Numbers count columns, of which names say no number.
    np.savez(tmp_path / "c.npz", labels=Y, probs=P)
    np.testing.assert_array_equal(pair(tmp_path / "a.npz", tmp_path / "c.npz").models["c.npz"], P)
