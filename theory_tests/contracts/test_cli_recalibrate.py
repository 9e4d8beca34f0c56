"""``propercal recalibrate``: maps that are fitted, saved and applied, and files that are written."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from propercal.cli.command import main
from propercal.cli.maps import RecalibrationMap
from propercal.recalibration import ClasswiseIsotonic, TemperatureScaling

pd = pytest.importorskip("pandas")

NAMES = ["cat", "dog", "emu"]
RNG = np.random.default_rng(0)
N = 80
TRUE = RNG.dirichlet([1.0, 1.0, 1.0], 2 * N)
Y = (RNG.random((2 * N, 1)) > TRUE.cumsum(axis=1)).sum(axis=1)
P = TRUE**3 / (TRUE**3).sum(axis=1, keepdims=True)
WEIGHTS = 1.0 + np.arange(N) % 3
Captured = pytest.CaptureFixture[str]

pytestmark = pytest.mark.usefixtures("folder")
WANTED = TemperatureScaling().fit(P[:N], Y[:N]).predict_proba(P[N:])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    fit = pd.DataFrame(P[:N], columns=NAMES).assign(label=np.array(NAMES)[Y[:N]])
    fit.to_csv("fit.csv", index=False)
    np.savez("fit.npz", labels=Y[:N], probs=P[:N])
    return tmp_path


def write(path: str, **arrays: Any) -> None:
    np.savez(path, **arrays)


def done(*arguments: str) -> None:
    assert main(["recalibrate", *arguments]) == 0


def refused(capsys: Captured, *arguments: str) -> str:
    capsys.readouterr()
    assert main(["recalibrate", *arguments]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err


def new_table(**more: Any) -> Any:
    """New predictions without labels, their columns in another order."""
    return pd.DataFrame(P[N:], columns=NAMES)[["emu", "cat", "dog"]].assign(note=[f"n, {i}" for i in range(N)], **more)


@pytest.mark.parametrize("name", ["new.csv", "new.tsv", "new.csv.gz", "new.jsonl", "new.parquet"])
def test_tables_keep_all_but_the_predictions(name: str) -> None:
    frame = new_table()
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
        frame.to_parquet(name)
    elif name.endswith("jsonl"):
        Path(name).write_text("\n".join(map(json.dumps, frame.to_dict("records"))), encoding="utf-8")
    else:
        frame.to_csv(name, index=False, sep="\t" if ".tsv" in name else ",")
    done("fit.csv", "--apply", name, "-o", f"out.{name}")
    if name.endswith("parquet"):
        found = pd.read_parquet(f"out.{name}")
    elif name.endswith("jsonl"):
        found = pd.DataFrame([json.loads(line) for line in Path(f"out.{name}").read_text().splitlines()])
    else:
        found = pd.read_csv(f"out.{name}", sep="\t" if ".tsv" in name else ",")
    assert list(found.columns) == list(frame.columns)
    assert list(found["note"]) == list(frame["note"])
    np.testing.assert_allclose(found[NAMES], WANTED, rtol=1e-9)


def test_the_index_of_a_table_is_kept() -> None:
    pytest.importorskip("pyarrow")
    ids = pd.Index([f"i{i}" for i in range(N)], name="image")
    for index, name in ((ids, "image"), (ids.rename(None), "index")):
        new_table().set_index(index).to_parquet("new.parquet")
        done("fit.csv", "--apply", "new.parquet", "-o", "out.parquet", "--force")
        found = pd.read_parquet("out.parquet")
        pd.testing.assert_index_equal(found.index, index)
        np.testing.assert_allclose(found[NAMES], WANTED, rtol=1e-12)
        done("fit.csv", "--apply", "new.parquet", "-o", "out.csv", "--force")
        assert pd.read_csv("out.csv")[name].tolist() == ids.tolist()
    new_table().to_parquet("new.parquet")
    done("fit.csv", "--apply", "new.parquet", "-o", "out.csv", "--force")
    assert pd.read_csv("out.csv").columns.tolist() == new_table().columns.tolist()


OTHER = [2, 0, 1]


def lines(name: str, proba: Any, **more: Any) -> str:
    rows = [json.dumps({"probs": row.tolist(), **{key: each[i] for key, each in more.items()}}) for i, row in enumerate(proba)]
    Path(name).write_text("\n".join(rows), encoding="utf-8")
    return name


def applied(name: str) -> Any:
    done("fit.csv", "--recalibrator", "isotonic", "--apply", name, "-o", f"out.{name}", "--force")
    return np.array([json.loads(line)["probs"] for line in Path(f"out.{name}").read_text(encoding="utf-8").splitlines()])


def test_lists_of_classes_in_lines_of_json_are_heeded(capsys: Captured) -> None:
    others = [NAMES[i] for i in OTHER]
    wanted = ClasswiseIsotonic().fit(P[:N], Y[:N]).predict_proba(P[N:])
    np.testing.assert_allclose(applied(lines("new.jsonl", P[N:, OTHER], classes=[others] * N)), wanted[:, OTHER], rtol=1e-9)
    np.testing.assert_allclose(applied(lines("new.jsonl", P[N:], classes=[NAMES] * N)), wanted, rtol=1e-9)
    flags = ["--recalibrator", "isotonic", "--apply", "new.jsonl", "-o", "x.jsonl"]
    lines("new.jsonl", P[N:, OTHER], columns=[others] * N)
    assert "'columns' lists the classes as 'emu', 'cat', 'dog'" in refused(capsys, "fit.csv", *flags)
    lines("new.jsonl", P[N:], classes=[NAMES, *[others] * (N - 1)])
    assert "'classes' differs from line to line" in refused(capsys, "fit.csv", *flags)
    lines("new.jsonl", P[N:], classes=[["cat", "dog", "elk"]] * N)
    assert "expected 'cat', 'dog', 'emu', which the map was fitted to" in refused(capsys, "fit.csv", *flags)
    # The classes of each line from the most probable one on, and words of something else.
    ranked = [[NAMES[i] for i in np.argsort(-row)] for row in P[N:]]
    np.testing.assert_allclose(applied(lines("new.jsonl", P[N:], best=ranked, tags=[["a", "b", "c"]] * N)), wanted, rtol=1e-9)


def test_arrays_keep_all_but_the_predictions() -> None:
    np.savez("new.npz", logits=np.log(P[N:]) + 2.0, extra=np.arange(3))
    done("fit.npz", "--apply", "new.npz", "-o", "out.npz")
    with np.load("out.npz") as found:
        assert sorted(found.files) == ["extra", "probs"]
        np.testing.assert_allclose(found["probs"], WANTED, rtol=1e-9)
    np.savez("named.npz", probs=P[N:][:, [2, 0, 1]], classes=["emu", "cat", "dog"])
    done("fit.csv", "--apply", "named.npz", "-o", "named_out.npz")
    with np.load("named_out.npz") as found:
        np.testing.assert_allclose(found["probs"], WANTED[:, [2, 0, 1]], rtol=1e-9)
    np.save("test_probs.npy", P[N:])
    done("fit.npz", "--apply", "test_probs.npy", "-o", "out_probs.npy")
    np.testing.assert_allclose(np.load("out_probs.npy"), WANTED, rtol=1e-9)


@pytest.mark.parametrize("kind", ["temperature", "isotonic"])
def test_a_saved_map_gives_the_same_digits(kind: str, capsys: Captured) -> None:
    new_table().to_csv("new.csv", index=False)
    flags = ["--recalibrator", kind] + (["--smoothed"] if kind == "isotonic" else [])
    done("fit.csv", *flags, "--save-map", "map.json", "--apply", "new.csv", "-o", "one.csv")
    done("--map", "map.json", "--apply", "new.csv", "-o", "two.csv")
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
    saved = json.loads(Path("map.json").read_text(encoding="utf-8"))
    assert saved["class_names"] == NAMES
    assert set(saved["versions"]) == {"propercal", "numpy", "python"}
    assert saved["fitted"]["file"] == "fit.csv"
    assert saved["fitted"]["n_samples"] == N
    fitted: Any = TemperatureScaling() if kind == "temperature" else ClasswiseIsotonic(smoothed=True)
    wanted = fitted.fit(P[:N], Y[:N]).predict_proba(P[N:])
    np.testing.assert_allclose(pd.read_csv("two.csv")[NAMES], wanted, rtol=1e-9)
    # To standard output it goes alone.
    capsys.readouterr()
    done("--map", "map.json", "--apply", "new.csv")
    assert capsys.readouterr().out == Path("two.csv").read_text(encoding="utf-8")


def test_weights_count() -> None:
    pd.read_csv("fit.csv").assign(w=WEIGHTS).to_csv("weighted.csv", index=False)
    done("weighted.csv", "--weight-column", "w", "--save-map", "map.json")
    wanted = TemperatureScaling().fit(P[:N], Y[:N], sample_weight=WEIGHTS).temperature_
    assert RecalibrationMap.read(Path("map.json")).temperature == pytest.approx(wanted, rel=1e-9)


def test_one_column_of_confidences() -> None:
    confidence, right = P.max(axis=1), P.argmax(axis=1) == Y
    lines = [json.dumps({"confidence": c, "correct": bool(r)}) for c, r in zip(confidence, right, strict=True)]
    Path("fit.jsonl").write_text("\n".join(lines[:N]), encoding="utf-8")
    Path("new.jsonl.gz").write_bytes(gzip.compress("\n".join(lines[N:]).encode()))
    done("fit.jsonl", "--label-column", "correct", "--class", "confidence", "--apply", "new.jsonl.gz", "-o", "out.jsonl")
    found = [json.loads(line)["confidence"] for line in Path("out.jsonl").read_text().splitlines()]
    wanted = TemperatureScaling().fit(confidence[:N], right[:N]).predict_proba(confidence[N:])[:, 1]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_no_file_is_overwritten(capsys: Captured) -> None:
    new_table().to_csv("new.csv", index=False)
    Path("out.csv").write_text("precious", encoding="utf-8")
    assert "out.csv: exists already" in refused(capsys, "fit.csv", "--apply", "new.csv", "-o", "out.csv")
    assert Path("out.csv").read_text(encoding="utf-8") == "precious"
    before = Path("new.csv").read_bytes()
    assert "is a file that is read" in refused(capsys, "fit.csv", "--apply", "new.csv", "-o", "new.csv", "--force")
    assert Path("new.csv").read_bytes() == before
    done("fit.csv", "--apply", "new.csv", "-o", "out.csv", "--force")
    assert Path("out.csv").read_text(encoding="utf-8") != "precious"
    # What fails leaves nothing behind.
    pd.DataFrame(P[N:, :2], columns=NAMES[:2]).to_csv("two.csv", index=False)
    refused(capsys, "fit.csv", "--apply", "two.csv", "-o", "none.csv", "--save-map", "none.json")
    assert not [path for path in Path().iterdir() if "none" in path.name]


def test_other_classes_are_refused(capsys: Captured) -> None:
    new_table().rename(columns={"emu": "elk"}).to_csv("elk.csv", index=False)
    assert "expected 'emu' too" in refused(capsys, "fit.csv", "--apply", "elk.csv")
    # Nothing says which column is the first class of arrays without names.
    assert "name the class columns in their order by --class" in refused(capsys, "fit.npz", "--apply", "elk.csv")
    np.savez("elk.npz", probs=P[N:], classes=["cat", "dog", "elk"])
    assert "expected 'cat', 'dog', 'emu'" in refused(capsys, "fit.csv", "--apply", "elk.npz")
    np.savez("four.npz", probs=np.full((5, 4), 0.25))
    assert "expected 3 columns" in refused(capsys, "fit.csv", "--apply", "four.npz")
    new_table(emu=2.0).to_csv("odd.csv", index=False)
    assert refused(capsys, "fit.csv", "--apply", "odd.csv").startswith("propercal: odd.csv: predictions = ")


def test_classes_of_arrays_are_matched_with_those_of_the_map(capsys: Captured) -> None:
    done("fit.csv", "--recalibrator", "isotonic", "--smoothed", "--save-map", "map.json")
    wanted = ClasswiseIsotonic(smoothed=True).fit(P[:N], Y[:N]).predict_proba(P[N:])[:, [2, 0, 1]]
    said = [flag for name in ("emu", "cat", "dog") for flag in ("--class", name)]
    moved = P[N:][:, [2, 0, 1]]
    np.save("new_probs.npy", moved)
    np.savez("new.npz", probs=moved)
    Path("new.jsonl").write_text("\n".join(json.dumps({"probs": row}) for row in moved.tolist()), encoding="utf-8")
    new_table().to_csv("new.csv", index=False)
    for name in ("new_probs.npy", "new.npz", "new.jsonl", "new.csv"):
        done("--map", "map.json", "--apply", name, *said, "-o", f"out.{name}")
    found = [json.loads(line)["probs"] for line in Path("out.new.jsonl").read_text().splitlines()]
    table = pd.read_csv("out.new.csv")[["emu", "cat", "dog"]]
    for each in (np.load("out.new_probs.npy"), np.load("out.new.npz")["probs"], found, table):
        np.testing.assert_allclose(each, wanted, rtol=1e-9)
    np.savez("named.npz", probs=moved, classes=["cat", "dog", "emu"])
    assert "expected the same in the same order" in refused(capsys, "--map", "map.json", "--apply", "named.npz", *said)
    some = ["--class", "cat", "--class", "dog", "--class", "elk"]
    for name in ("new_probs.npy", "new.csv"):
        assert "expected 'cat', 'dog', 'emu'" in refused(capsys, "--map", "map.json", "--apply", name, *some)


def test_names_in_another_order_are_not_set_beside_none(capsys: Captured) -> None:
    np.savez("named.npz", probs=P[N:][:, [2, 0, 1]], classes=["emu", "cat", "dog"])
    assert "classes 'emu', 'cat', 'dog'" in refused(capsys, "fit.npz", "--apply", "named.npz")
    np.savez("sorted.npz", probs=P[N:], classes=NAMES)
    done("fit.npz", "--apply", "sorted.npz", "-o", "out.npz")
    np.testing.assert_allclose(np.load("out.npz")["probs"], WANTED, rtol=1e-9)
    numbers = pd.DataFrame(P[:N], columns=["0", "1", "2"])[["2", "0", "1"]].assign(label=Y[:N])
    numbers.to_csv("numbers.csv", index=False)
    np.savez("plain.npz", probs=P[N:])
    assert "expected '2', '0', '1'" in refused(capsys, "numbers.csv", "--apply", "plain.npz")


@pytest.mark.parametrize("text", [
    "{", "[]", '{"format": "x", "format_version": 1}', "3", "null",
    '{"format": "propercal recalibration map", "format_version": 9}',
    '{"format": "propercal recalibration map", "format_version": 1, "recalibrator": "temperature", "n_columns": 3, "class_names": [], "temperature": -1, "fitted": {}}',
    '{"format": "propercal recalibration map", "format_version": 1, "recalibrator": "isotonic", "n_columns": 3, "class_names": [], "functions": [], "fitted": {}}',
    '{"format": "propercal recalibration map", "format_version": 1, "recalibrator": "isotonic", "n_columns": 1, "class_names": [], "functions": [{"x": [0, 1], "y": [0, 2]}, {"x": [0], "y": [0]}], "fitted": {}}',
])
def test_what_is_no_map_is_refused(text: str, capsys: Captured) -> None:
    Path("map.json").write_text(text, encoding="utf-8")
    new_table().to_csv("new.csv", index=False)
    error = refused(capsys, "--map", "map.json", "--apply", "new.csv")
    assert error.startswith("propercal: map.json: not a map of propercal recalibrate (")
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(("arguments", "said"), [
    (["fit.csv"], "nothing to do"),
    ([], "expected one of FILE"),
    (["fit.csv", "--map", "m.json", "--apply", "x.csv"], "expected one of FILE"),
    (["--map", "m.json", "--recalibrator", "isotonic", "--apply", "x.csv"], "the map is there"),
    (["fit.csv", "--smoothed", "--save-map", "m.json"], "for --recalibrator isotonic alone"),
    (["fit.csv", "-o", "x.csv", "--save-map", "m.json"], "nothing to do"),
    (["fit.csv", "fit.npz", "--save-map", "m.json"], "several files"),
])
def test_usage(arguments: list[str], said: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["recalibrate", *arguments])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["names", "classes", "label_names"])
def test_names_of_an_archive_are_read_as_elsewhere(name: str, capsys: Captured) -> None:
    """Under every name that is read beside labels; an array of another one is refused where it says another order."""
    moved = P[N:][:, [2, 0, 1]]
    np.savez("plain.npz", probs=P[N:])
    write("named.npz", probs=moved, **{name: ["emu", "cat", "dog"]})
    done("fit.csv", "--recalibrator", "isotonic", "--save-map", "map.json", "--apply", "plain.npz", "-o", "plain_out.npz")
    done("--map", "map.json", "--apply", "named.npz", "-o", "out.npz")
    found = np.load("out.npz")
    assert found[name].tolist() == ["emu", "cat", "dog"]
    np.testing.assert_allclose(found["probs"], np.load("plain_out.npz")["probs"][:, [2, 0, 1]], rtol=1e-12)
    write("other.npz", probs=moved, **{name: ["emu", "cat", "elk"]})
    assert "expected 'cat', 'dog', 'emu'" in refused(capsys, "--map", "map.json", "--apply", "other.npz")


@pytest.mark.parametrize("beside", [{}, {"labels": np.array(NAMES)[Y[N:]]}], ids=["alone", "labels"])
def test_an_array_that_lists_the_classes_in_another_order_is_refused(beside: Any, capsys: Captured) -> None:
    done("fit.csv", "--recalibrator", "isotonic", "--save-map", "map.json")
    for other in ("columns", "label_order"):
        write("new.npz", probs=P[N:][:, [2, 0, 1]], **{other: ["emu", "cat", "dog"]}, **beside)
        assert f"array '{other}' lists the classes as 'emu', 'cat', 'dog'" in refused(capsys, "--map", "map.json", "--apply", "new.npz")
        said = [flag for name in ("emu", "cat", "dog") for flag in ("--class", name)]
        done("--map", "map.json", "--apply", "new.npz", *said, "-o", "said.npz", "--force")
    # What lists them in the order of the map, or lists something else, says nothing new.
    np.savez("new.npz", probs=P[N:], columns=NAMES, names=[f"row {i}" for i in range(N)], notes=["z", "b", "a"], **beside)
    done("--map", "map.json", "--apply", "new.npz", "-o", "out.npz")
    np.savez("plain.npz", probs=P[N:])
    done("--map", "map.json", "--apply", "plain.npz", "-o", "plain_out.npz")
    assert (np.load("out.npz")["probs"] == np.load("plain_out.npz")["probs"]).all()


def test_labels_tell_of_a_list_beside_a_map_without_names(capsys: Captured) -> None:
    words = np.array(NAMES)[Y[N:]]
    np.savez("new.npz", probs=P[N:][:, [2, 0, 1]], labels=words, columns=["emu", "cat", "dog"])
    assert "array 'columns' lists the classes as" in refused(capsys, "fit.npz", "--apply", "new.npz")
    np.savez("new.npz", probs=P[N:], labels=words, columns=NAMES)
    done("fit.npz", "--apply", "new.npz", "-o", "out.npz")
    np.testing.assert_allclose(np.load("out.npz")["probs"], WANTED, rtol=1e-9)


def written_map(folder: Path, kind: str) -> tuple[Any, Any]:
    """Fit a map to columns in an order of their own, and return what arrays of such probabilities become."""
    words = np.array(["ant", "bee", "cat"])
    p = np.random.default_rng(1).dirichlet(np.ones(3), 90)
    y = (RNG.random((90, 1)) > p.cumsum(axis=1)).sum(axis=1)
    rows = ["cat,label,ant,bee"]
    rows += [f"{c!r},{words[k]},{a!r},{b!r}" for k, (a, b, c) in zip(y, p.tolist(), strict=True)]
    (folder / "fit.csv").write_text("\n".join(rows) + "\n")
    made = {"isotonic": ClasswiseIsotonic, "temperature": TemperatureScaling}[kind]()
    assert main(["recalibrate", str(folder / "fit.csv"), "--recalibrator", kind, "--save-map", str(folder / "m.json")]) == 0
    return p, made.fit(p, y).predict_proba(p)


@pytest.mark.parametrize("kind", ["isotonic", "temperature"])
def test_arrays_without_names_stand_in_no_order_of_words(kind: str, tmp_path: Path, capsys: Captured) -> None:
    p, right = written_map(tmp_path, kind)
    words = np.resize(np.array(["ant", "bee", "cat"]), 90)
    arguments = ["recalibrate", "--map", str(tmp_path / "m.json"), "-o", str(tmp_path / "o.npz"), "--force", "--apply", str(tmp_path / "n.npz")]

    def applied(*flags: str, **arrays: Any) -> Any:
        np.savez(tmp_path / "n.npz", **arrays)
        code = main([*arguments, *flags])
        return np.load(tmp_path / "o.npz")["probs"] if code == 0 else capsys.readouterr().err

    found = applied(probs=p)
    if kind == "isotonic":
        assert "columns without names: expected those of 'cat', 'ant', 'bee', which the map was fitted to" in found
    else:
        np.testing.assert_allclose(found, right)
    named = ["--class", "ant", "--class", "bee", "--class", "cat"]
    for given in (applied(*named, probs=p), applied(probs=p, labels=words), applied(probs=p, classes=["ant", "bee", "cat"])):
        np.testing.assert_allclose(given, right)
    lines = [json.dumps({"label": str(word), "probs": row}) for word, row in zip(words, p.tolist(), strict=True)]
    (tmp_path / "n.jsonl").write_text("\n".join(lines))
    assert main([*arguments[:3], "-o", str(tmp_path / "o.jsonl"), "--apply", str(tmp_path / "n.jsonl")]) == 0
    written = [json.loads(line)["probs"] for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    np.testing.assert_allclose(written, right)
    (tmp_path / "n.jsonl").write_text("\n".join(json.dumps({"probs": row}) for row in p.tolist()))
    np.save(tmp_path / "probs.npy", p)
    for name, out in (("n.jsonl", "o.jsonl"), ("probs.npy", "o.npy")):
        code = main([*arguments[:3], "-o", str(tmp_path / out), "--force", "--apply", str(tmp_path / name)])
        assert code == (kind == "isotonic")


@pytest.mark.parametrize("form", ["p_{}", "{}_prob", "P({})"])
def test_names_that_say_another_class_than_that_of_their_place_are_refused(form: str, capsys: Captured) -> None:
    done("fit.csv", "--recalibrator", "isotonic", "--smoothed", "--save-map", "map.json")
    wanted = ClasswiseIsotonic(smoothed=True).fit(P[:N], Y[:N]).predict_proba(P[N:])
    columns = {each: form.format(each) for each in ("emu", "cat", "dog")}
    new_table().rename(columns=columns).to_csv("new.csv", index=False)
    flags = {order: [flag for each in order for flag in ("--class", columns[each])] for order in (("emu", "cat", "dog"), ("cat", "dog", "emu"))}
    wrong, right = flags.values()
    assert "expected the columns of 'cat', 'dog', 'emu', in this order" in refused(capsys, "--map", "map.json", "--apply", "new.csv", *wrong)
    done("--map", "map.json", "--apply", "new.csv", "-o", "out.csv", *right)
    found = pd.read_csv("out.csv")[[columns[each] for each in ("cat", "dog", "emu")]]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize(("fitted", "other", "same"), [("fraud", "legit", "fraud_score"), ("p", "p_0", "score"), ("p_1", "p_0", "p")])
def test_one_column_of_the_other_class_is_refused(fitted: str, other: str, same: str, capsys: Captured) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(100)
    y = (rng.random(100) < p**2).astype(int)
    pd.DataFrame({"label": y, fitted: p}).to_csv("two.csv", index=False)
    done("two.csv", "--save-map", "map.json", "--recalibrator", "isotonic", "--smoothed", *(["--pos-label", "1"] if fitted == "fraud" else []))
    for name, column in ((other, 1 - p), (same, p)):
        pd.DataFrame({name: column}).to_csv(f"{name}.csv", index=False)
    assert f"expected the columns of '{fitted}'" in refused(capsys, "--map", "map.json", "--apply", f"{other}.csv", "--class", other)
    done("--map", "map.json", "--apply", f"{same}.csv", "--class", same, "-o", "out.csv")
    wanted = ClasswiseIsotonic(smoothed=True).fit(p, y).predict_proba(p)[:, 1]
    np.testing.assert_allclose(pd.read_csv("out.csv")[same], wanted, rtol=1e-9)


def test_a_map_of_arrays_knows_the_classes_that_labels_are_in_words() -> None:
    np.savez("words.npz", labels=np.array(NAMES)[Y[:N]], probs=P[:N])
    done("words.npz", "--recalibrator", "isotonic", "--smoothed", "--save-map", "map.json")
    wanted = ClasswiseIsotonic(smoothed=True).fit(P[:N], Y[:N]).predict_proba(P[N:])
    new_table()[["emu", "cat", "dog"]].to_csv("new.csv", index=False)
    moved = [2, 0, 1]
    np.savez("new.npz", probs=P[N:][:, moved], classes=np.array(NAMES)[moved])
    np.savez("bare.npz", probs=P[N:])
    done("--map", "map.json", "--apply", "new.csv", "-o", "out.csv")
    done("--map", "map.json", "--apply", "new.npz", "-o", "out.npz")
    done("--map", "map.json", "--apply", "bare.npz", "-o", "bare_out.npz")
    np.testing.assert_allclose(pd.read_csv("out.csv")[list(NAMES)], wanted, rtol=1e-9)
    np.testing.assert_allclose(np.load("out.npz")["probs"], wanted[:, moved], rtol=1e-9)
    np.testing.assert_allclose(np.load("bare_out.npz")["probs"], wanted, rtol=1e-9)
