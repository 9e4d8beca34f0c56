"""Commands on files: the same as the functions in memory, gates, pairs of files, standard input, figures, studies."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import propercal
from propercal.cli.command import COMMANDS, main

pd = pytest.importorskip("pandas")

NAMES = np.array(["cat", "dog", "emu"])
RNG = np.random.default_rng(0)
N = 150
TRUE = RNG.dirichlet([1.0, 1.0, 1.0], N)
Y = (RNG.random((N, 1)) > TRUE.cumsum(axis=1)).sum(axis=1)
SHARP = TRUE**3 / (TRUE**3).sum(axis=1, keepdims=True)
Captured = pytest.CaptureFixture[str]

pytestmark = pytest.mark.usefixtures("folder")


def table(p: Any, **more: Any) -> Any:
    return pd.DataFrame(p, columns=NAMES).assign(label=NAMES[Y], **more)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ids = [f"r{i}" for i in range(N)]
    table(SHARP, id=ids).to_csv("sharp.csv", index=False)
    # Rows and columns in another order.
    turned = table(TRUE, id=ids).sample(frac=1, random_state=1)[["emu", "id", "label", "cat", "dog"]]
    turned.to_csv("true.csv", index=False)
    turned.drop(columns="id").to_csv("no_id.csv", index=False)
    np.savez("sharp.npz", labels=Y, probs=SHARP)
    np.savez("true.npz", labels=Y, probs=TRUE)
    return tmp_path


def ran(capsys: Captured, *arguments: str, code: int = 0) -> Any:
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


# ---------------------------------------------------------------- test, and its gates


def test_a_test_is_that_of_the_function(capsys: Captured) -> None:
    found = ran(capsys, "test", "sharp.npz", "true.npz", "--generator", "brier", "--seed", "3", "--n-resamples", "99")
    for record, p in zip(found, (SHARP, TRUE), strict=True):
        wanted = propercal.calibration_test(Y, p, generator="brier", random_state=3, n_resamples=99)
        assert record["pvalue"] == wanted.pvalue
        assert record["components"] == wanted.components
        assert record["rejected"] == (wanted.pvalue <= 0.05)


def test_gates_end_with_exit_code_3(capsys: Captured) -> None:
    quick = ["--n-resamples", "99"]
    assert main(["test", "sharp.npz", *quick]) == 0
    assert main(["test", "sharp.npz", *quick, "--fail-if-rejected"]) == 3
    assert main(["test", "true.npz", *quick, "--fail-if-rejected", "--level", "0.99"]) == 0
    # The error of the sharp predictions is certainly above .01, and certainly not above 1.
    assert main(["test", "sharp.npz", *quick, "--max-calibration-error", "0.01"]) == 3
    assert main(["test", "sharp.npz", *quick, "--max-calibration-error", "1"]) == 0
    capsys.readouterr()
    assert main(["test", "sharp.npz", "no_such.npz", *quick, "--fail-if-rejected"]) == 1
    assert "FAILS --fail-if-rejected" in capsys.readouterr().out


def test_a_gate_that_could_not_close_is_refused(capsys: Captured) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["test", "sharp.npz", "--fail-if-rejected", "--level", "0.999", "--n-resamples", "99"])
    assert "999 or more can" in capsys.readouterr().err


# ---------------------------------------------------------------- compare


def test_rows_are_matched_by_ids_and_columns_by_names(capsys: Captured) -> None:
    found = ran(capsys, "compare", "sharp.csv", "true.csv", "--generator", "brier", "--generator", "log")
    wanted = propercal.compare_models(Y, {"a": SHARP, "b": TRUE}, term=["risk", "calibration_error"], generator=["brier", "log"])
    flat = [each for of_generator in wanted for each in of_generator]
    assert [(x["generator"], x["term"]) for x in found] == [(g, t) for g in ("brier", "log") for t in ("risk", "calibration_error")]
    for record, each in zip(found, flat, strict=True):
        assert record["paired"] == "by their ids"
        (pair,), (expected,) = record["pairs"], each.pairs
        assert pair["difference"] == pytest.approx(expected.difference, rel=1e-9)
        assert pair["familywise_pvalue"] == pytest.approx(expected.familywise_pvalue, rel=1e-6)
        assert [x["file"] for x in record["models"]] == ["sharp.csv", "true.csv"]


def test_rows_without_ids_are_paired_by_order_and_named(capsys: Captured) -> None:
    (record,) = ran(capsys, "compare", "sharp.npz", "true.npz", "--term", "risk")
    assert record["paired"] == "by their order"
    difference = propercal.paired_difference(Y, SHARP, TRUE, term="risk").difference
    assert record["pairs"][0]["difference"] == pytest.approx(difference, rel=1e-12)


def refused(capsys: Captured, *arguments: str) -> str:
    assert main(list(arguments)) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err


def test_other_rows_are_refused(capsys: Captured) -> None:
    assert "labels differ from those of sharp.csv" in refused(capsys, "compare", "sharp.csv", "no_id.csv")
    assert "labels differ" in refused(capsys, "compare", "true.csv", "sharp.npz", "--drop", "id")
    whole = pd.read_csv("true.csv")
    whole.iloc[1:].to_csv("fewer.csv", index=False)
    assert "are not in fewer.csv" in refused(capsys, "compare", "sharp.csv", "fewer.csv")
    whole.assign(id="r1").to_csv("twice.csv", index=False)
    assert "ids 'r1' occur more than once" in refused(capsys, "compare", "sharp.csv", "twice.csv")
    wrong = whole.copy()
    wrong.loc[wrong.id == "r7", "label"] = NAMES[(Y[7] + 1) % 3]
    wrong.to_csv("wrong.csv", index=False)
    assert "labels differ from those of sharp.csv in 1 of 150 rows, at row 7" in refused(capsys, "compare", "sharp.csv", "wrong.csv")
    whole.rename(columns={"emu": "elk"}).replace("emu", "elk").to_csv("elk.csv", index=False)
    assert "class columns" in refused(capsys, "compare", "sharp.csv", "elk.csv")


def test_columns_of_arrays_are_matched_by_the_names_of_classes(capsys: Captured) -> None:
    np.savez("a.npz", labels=Y, probs=SHARP, classes=[0, 1, 2])
    np.savez("moved.npz", labels=Y, probs=TRUE[:, [1, 2, 0]], classes=[1, 2, 0])
    (found,) = ran(capsys, "compare", "a.npz", "--term", "risk", "moved.npz")
    difference = propercal.paired_difference(Y, SHARP, TRUE, term="risk").difference
    assert found["pairs"][0]["difference"] == pytest.approx(difference, rel=1e-12)


def test_logits_beside_probabilities(capsys: Captured) -> None:
    np.savez("logits.npz", labels=Y, logits=np.log(SHARP) + 3.0)
    zero = TRUE.copy()
    zero[:3] = np.eye(3)[Y[:3]]
    np.savez("zero.npz", labels=Y, probs=zero)
    for first, second in (("logits.npz", "zero.npz"), ("zero.npz", "logits.npz")):
        (found,) = ran(capsys, "compare", first, second, "--term", "risk")
        models = {"logits.npz": SHARP, "zero.npz": zero}
        difference = propercal.paired_difference(Y, models[first], models[second], term="risk").difference
        assert found["pairs"][0]["difference"] == pytest.approx(difference, rel=1e-9)
    np.savez("half.npz", labels=Y, probs=TRUE / 2)
    assert refused(capsys, "compare", "logits.npz", "half.npz").startswith("propercal: half.npz: predictions = ")


def test_weights_and_groups_of_pairs_must_agree(capsys: Captured) -> None:
    first = pd.read_csv("sharp.csv").assign(w=1.0, g=np.arange(N) // 3)
    first.to_csv("a.csv", index=False)
    other = pd.read_csv("true.csv").merge(first[["id", "w", "g"]], on="id")
    other.to_csv("b.csv", index=False)
    flags = ["--weight-column", "w", "--group-column", "g", "--term", "calibration_error"]
    (record,) = ran(capsys, "compare", "a.csv", "b.csv", *flags)
    wanted = propercal.paired_difference(Y, SHARP, TRUE, groups=np.arange(N) // 3)
    assert record["pairs"][0]["standard_error"] == pytest.approx(wanted.standard_error, rel=1e-9)
    other.assign(w=np.arange(N) + 1).to_csv("c.csv", index=False)
    assert "weights of rows differ" in refused(capsys, "compare", "a.csv", "c.csv", *flags)


def test_an_infinite_loss_is_said_in_every_format(capsys: Captured) -> None:
    zero = SHARP.copy()
    zero[5] = np.eye(3)[(Y[5] + 1) % 3]
    np.savez("zero.npz", labels=Y, probs=zero)
    for form in ("table", "json", "csv", "markdown"):
        assert main(["compare", "sharp.npz", "zero.npz", "--term", "risk", "--format", form]) == 0
        shown = capsys.readouterr()
        assert "inf" in shown.out.lower()
        assert "infinite at row 5" in shown.err or "at row 5: an outcome" in shown.err
    for arguments, code in ((["decompose"], 0), (["test", "--n-resamples", "19", "--max-calibration-error", "1"], 3), (["monitor"], 3)):
        (record,) = ran(capsys, *arguments, "zero.npz", code=code)
        assert "Infinity" in json.dumps(record)


def test_one_file_cannot_be_compared(capsys: Captured) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["compare", "sharp.csv"])
    assert "expected two or more" in capsys.readouterr().err


# ---------------------------------------------------------------- files, classes and standard input


class Bytes(io.TextIOWrapper):
    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["sharp.csv", "sharp.tsv", "sharp.jsonl", "sharp.npz"])
def test_standard_input_is_told_by_its_first_bytes(name: str, packed: bool, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.read_csv("sharp.csv").drop(columns="id")
    frame.to_csv("sharp.tsv", sep="\t", index=False)
    Path("sharp.jsonl").write_text("\n".join(map(json.dumps, frame.to_dict("records"))), encoding="utf-8")
    content = Path(name).read_bytes()
    monkeypatch.setattr("sys.stdin", Bytes(gzip.compress(content) if packed else content))
    flags = ["--method", "risk", "--bandwidth", "0.1"] + (["--id-column", "id"] if name == "sharp.csv" else [])
    (record,) = ran(capsys, "decompose", "-", *flags)
    wanted = propercal.decompose(Y, SHARP, method="risk", bandwidth=0.1)
    assert record["calibration_error"] == pytest.approx(wanted.calibration_error, rel=1e-9)


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"verify", "study"}))
def test_every_command_reads_standard_input(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Bytes(Path("sharp.csv").read_bytes()))
    more = {
        "decompose": ["--method", "risk"], "test": ["--n-resamples", "19"], "compare": ["true.csv", "--term", "risk"],
        "recalibrate": ["--save-map", "m.json"], "monitor": [], "plot": ["-o", "x.svg", "--kind", "mcb-dsc"],
        "report": ["-o", "x.html"],
    }[name]
    assert main([name, "-", "--id-column", "id", *more]) in (0, 3)
    with pytest.raises(SystemExit, match="2"):
        main([name, "-", "-", *more])


def test_class_columns_are_named_instead_of_all_others(capsys: Captured) -> None:
    pd.read_csv("sharp.csv").assign(note="x", extra=3.0).to_csv("wide.csv", index=False)
    flags = ["--method", "risk", "--bandwidth", "0.1"]
    named = [part for name in ("emu", "cat", "dog") for part in ("--class", name)]
    (record,) = ran(capsys, "decompose", "wide.csv", *flags, *named)
    (wanted,) = ran(capsys, "decompose", "sharp.csv", *flags, "--drop", "id")
    assert record["calibration_error"] == pytest.approx(wanted["calibration_error"], rel=1e-9)
    assert "expected some of the columns" in refused(capsys, "decompose", "wide.csv", "--class", "cat", "--class", "cow")
    # Two of three columns do not sum to 1, and a label has none.
    assert main(["decompose", "wide.csv", "--class", "cat", "--class", "dog"]) == 1
    # Arrays, and lists of JSON, have no names of their own.
    np.savez("words.npz", labels=NAMES[Y], probs=SHARP[:, [2, 0, 1]])
    (record,) = ran(capsys, "decompose", "words.npz", *flags, *named)
    assert record["calibration_error"] == pytest.approx(wanted["calibration_error"], rel=1e-9)
    rows = [{"label": NAMES[y], "probs": p} for y, p in zip(Y, SHARP[:, [2, 0, 1]].tolist(), strict=True)]
    Path("list.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (record,) = ran(capsys, "decompose", "list.jsonl", *flags, *named)
    assert record["calibration_error"] == pytest.approx(wanted["calibration_error"], rel=1e-9)


def test_settings_of_methods_are_those_of_python(capsys: Captured) -> None:
    (record,) = ran(capsys, "decompose", "sharp.npz", "--n-folds", "4", "--seed", "7", "--level", "0.9")
    wanted = propercal.decompose(Y, SHARP, n_folds=4, random_state=7, confidence_level=0.9)
    assert record["calibration_error"] == wanted.calibration_error
    assert record["intervals"]["risk"] == list(wanted.interval("risk"))
    assert record["skill_score"] == wanted.skill_score
    (record,) = ran(capsys, "decompose", "sharp.npz", "--method", "direct", "--kernel", "uniform-bins", "--bandwidth", "0.2", "--include-self")
    wanted = propercal.decompose(Y, SHARP, method="direct", kernel="uniform-bins", bandwidth=0.2, exclude_self=False)
    assert record["calibration_error"] == wanted.calibration_error
    (record,) = ran(capsys, "decompose", "sharp.npz", "--blocks", "5")
    assert record["n_groups"] == 30
    assert "--n-folds 4: expected a setting of --method risk" in refused(capsys, "decompose", "sharp.npz", "--method", "risk", "--n-folds", "4")


# ---------------------------------------------------------------- plot


@pytest.mark.parametrize(("kind", "files", "flags"), [
    ("reliability", 1, ["--event", "dog", "--n-bins", "5"]),
    ("panels", 1, []),
    ("decomposition", 2, ["--method", "risk", "--bandwidth", "0.1"]),
    ("murphy", 2, ["--event", "emu"]),
    ("triptych", 2, ["--event", "0"]),
    ("mcb-dsc", 2, ["--generator", "log"]),
])
def test_figures(kind: str, files: int, flags: list[str], capsys: Captured) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot as plt

    paths = ["sharp.csv", "true.csv"][:files]
    common = ["plot", *paths, "--kind", kind, "--id-column", "id", *flags]
    assert main([*common, "-o", "a.svg"]) == 0
    first = Path("a.svg").read_bytes()
    if kind == "mcb-dsc":
        assert main([*common, "-o", "b.svg"]) == 0
        assert first == Path("b.svg").read_bytes()
    plt.close("all")
    assert first.startswith(b"<?xml")
    if "dog" in flags:
        assert b"class dog" in first
    assert main([*common, "-o", "a.svg"]) == 1
    assert "a.svg: exists already" in capsys.readouterr().err


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_figures_in_other_forms(suffix: str, start: bytes) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot as plt

    others = plt.get_fignums()
    assert main(["plot", "sharp.npz", "true.npz", "--kind", "mcb-dsc", "-o", f"a.{suffix}"]) == 0
    assert plt.get_fignums() == others
    assert Path(f"a.{suffix}").read_bytes().startswith(start)


def test_figures_that_cannot_be_drawn(capsys: Captured) -> None:
    for arguments, said in (
        (["sharp.npz", "-o", "a.gif"], "'.svg', '.png', '.pdf'"),
        (["sharp.npz", "true.npz", "-o", "a.svg"], "shows 1 file"),
        (["sharp.npz", "-o", "a.svg", "--kind", "pie"], "invalid choice: 'pie'"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main(["plot", *arguments])
        assert said in capsys.readouterr().err
    assert "--event cow: expected" in refused(capsys, "plot", "sharp.csv", "--id-column", "id", "-o", "a.svg", "--event", "cow")
    assert not Path("a.svg").exists()


# ---------------------------------------------------------------- study new


def test_a_new_study_is_one_of_the_engine(capsys: Captured) -> None:
    pytest.importorskip("matplotlib")
    assert main(["study", "new", "my_bias"]) == 0
    assert "my_bias.py is written" in capsys.readouterr().out
    assert main(["study", "new", "my_bias"]) == 1
    assert "my_bias.py: exists already" in capsys.readouterr().err
    module = types.ModuleType("my_bias")
    sys.modules["my_bias"] = module
    try:
        exec(compile(Path("my_bias.py").read_text(encoding="utf-8"), "my_bias.py", "exec"), vars(module))  # noqa: S102
    finally:
        del sys.modules["my_bias"]
    study, factors = module.STUDY, module.Design(sample_size=(100, 200), replicates=2)
    cells = factors.cells()
    assert len(cells) == 4
    errors = [study.measure(factors, cell, np.random.SeedSequence(i))["error"] for i, cell in enumerate(cells)]
    coordinates = {"sample_size": [100, 200], "replicate": [0, 1]}
    summary = xr.Dataset({"error": (tuple(coordinates), np.reshape(errors, (2, 2)))}, coordinates)
    assert "n =    100  root mean squared error" in study.text(summary)
    assert list(study.figures(summary)) == ["my_bias"]
    assert study.figures(summary)["my_bias"]().axes[0].get_xlabel() == "rows n"


@pytest.mark.slow
def test_a_new_study_runs_as_it_is() -> None:
    pytest.importorskip("h5netcdf")
    assert main(["study", "new", "my_bias"]) == 0
    root = Path(__file__).resolve().parents[2]
    fast = ["--tiny", "--workers", "1", "--replicates", "2", "--sample-size", "20", "40", "--output", "out"]
    run = subprocess.run(
        [sys.executable, "my_bias.py", *fast], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(root)}
    )
    assert run.returncode == 0, run.stderr
    assert "Errors are smaller in larger samples (law of large numbers): " in run.stdout
    assert {path.name for path in Path("out").iterdir()} >= {"my_bias.nc", "my_bias.png", "my_bias.svg"}


@pytest.mark.parametrize("name", ["1x", "a-b", "class", "../x", ""])
def test_names_of_studies(name: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["study", "new", name])
    assert "expected letters, digits and underscores" in capsys.readouterr().err
    assert list(Path().glob("**/*.py")) == []
