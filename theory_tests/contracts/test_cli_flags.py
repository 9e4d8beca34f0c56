"""Flags of the command line: the same everywhere, explained with examples, and the words of messages."""

from __future__ import annotations

import argparse
import io
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from propercal._files import names
from propercal.cli import command, completion, options, words
from propercal.cli.command import COMMANDS, main

Captured = pytest.CaptureFixture[str]


def parser_of(name: str) -> argparse.ArgumentParser:
    _, commands = command._parser([name])
    found: argparse.ArgumentParser = commands.choices[name]
    return found


def help_of(name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "200")
    return parser_of(name).format_help()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_examples_and_exit_codes_in_88_columns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = help_of(name, monkeypatch)
    assert "\nExamples:\n  " in text
    assert "\nExit codes: 0 done; 1 " in text
    assert max(map(len, text.splitlines())) <= 88


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_is_a_command(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = help_of(name, monkeypatch).partition("\nExamples:\n")[2].partition("\n\n")[0].splitlines()
    found = [part.partition(">")[0].split("propercal ", 1)[1] for line in lines for part in line.split("|") if "propercal " in part]
    assert len(found) >= (1 if name == "study" else 2)
    for each in found:
        parsed = command._parsed(shlex.split(each))
        assert parsed is not None
        assert parsed.command == name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_is_explained(name: str) -> None:
    for action in parser_of(name)._actions:
        assert action.help or not action.option_strings, action


def test_flags_of_one_name_are_the_same_in_all_commands() -> None:
    shared: dict[str, list[Any]] = {}
    parents = [options.columns(), options.rows(), options.method(), options.seed_and_level(), options.output()]
    for parent in parents:
        for action in parent._actions:
            shared[action.option_strings[-1]] = [action.help, action.dest, action.default]
    assert len(shared) > 15
    seen = 0
    for name in COMMANDS:
        for action in parser_of(name)._actions:
            if action.option_strings and action.option_strings[-1] in shared:
                seen += 1
                assert [action.help, action.dest, action.default] == shared[action.option_strings[-1]]
    assert seen > 60


def test_every_argument_in_messages_has_a_flag() -> None:
    flags = {flag for name in COMMANDS for action in parser_of(name)._actions for flag in action.option_strings}
    assert set(words.FLAGS.values()) <= flags


@pytest.mark.parametrize(("python", "said"), [
    ("bandwidth = 'wide': expected a number", "--bandwidth wide: expected a number"),
    ('n_folds = 10: expected a setting of method="risk"; leave it out', "--n-folds 10: expected a setting of --method risk; leave it out"),
    ("y_proba = rows that sum to 2: expected 1; pass from_logits=True", "predictions = rows that sum to 2: expected 1; pass --from-logits"),
    ("p.csv: group_column = 'x y': expected one", "p.csv: --group-column 'x y': expected one"),
    ("p.csv: labels = [0, 1], named 'fraud': expected", "p.csv: labels = [0, 1], named 'fraud': expected"),
    ("leave it out with drop (--drop id --drop fold on the command line), or", "leave it out with --drop id --drop fold, or"),
    ("with drop, label_column or weight_column (--drop, --label-column, --weight-column on the command line).", "with --drop, --label-column, --weight-column."),
    ("y_true holds 1 to 2 and no 0", "labels hold 1 to 2 and no 0"),
    ("repeat: pass groups=, or blocks=3", "repeat: pass --group-column, or --blocks 3"),
    ("random_state = -1: expected", "--seed -1: expected"),
    ("pass labels=[...] if", "pass --class if"),
    ("y_proba has rows in which", "predictions have rows in which"),
    ("the method and its kernel, of all labels", "the method and its kernel, of all labels"),
])
def test_messages_are_in_the_words_of_the_command_line(python: str, said: str) -> None:
    assert words.in_words(python) == said


@pytest.mark.parametrize(("arguments", "nearest"), [
    (["decompos", "x.csv"], "decompose"),
    (["monitr"], "monitor"),
    (["decompose", "x.csv", "--genrator", "log"], "--generator"),
    (["compare", "x.csv", "y.csv", "--idcolumn=z"], "--id-column"),
    (["decompose", "x.csv", "--format", "jsno"], "json"),
    (["plot", "x.csv", "-o", "x.svg", "--kind", "reliabilty"], "reliability"),
    (["recalibrate", "x.csv", "--recalibrator", "isotone"], "isotonic"),
    (["compare", "x.csv", "y.csv", "--term", "sharpnes"], "sharpness"),
])
def test_the_nearest_is_named(arguments: list[str], nearest: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert f"did you mean {nearest!r}?" in capsys.readouterr().err


def test_help_of_all_commands_imports_none_of_their_packages() -> None:
    code = "import sys\nfrom propercal.cli.command import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for name in COMMANDS:
        assert f"    {name}" in run.stdout
    heavy = ("pandas", "torch", "sklearn", "matplotlib", "argcomplete", "propercal._files.reading", "propercal.testing")
    assert not set(heavy) & set(run.stdout.split("\n")[-2].split())


def test_the_middle_of_a_long_name_is_left_out() -> None:
    name = f"/very/{'long/' * 30}folder/predictions.csv"
    short = names.shortened(name, 40)
    assert len(short) == 40
    assert short.startswith("/very/")
    assert short.endswith("predictions.csv")
    assert names.shortened("a.csv", 40) == "a.csv"


def test_a_table_has_100_columns_at_most(tmp_path: Path, capsys: Captured) -> None:
    folder = tmp_path / ("long" * 20) / ("name" * 20)
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    np.savez(folder / "p.npz", labels=rng.integers(0, 3, 40), probs=rng.dirichlet([1, 1, 1], 40))
    names = ["log", "brier", "spherical", "itakura-saito"]
    flags = [part for name in names for part in ("--generator", name)]
    for method in (["--method", "risk", "--bandwidth", "0.1"], ["--kernel", "dirichlet"]):
        assert main(["decompose", str(folder / "p.npz"), *flags, *method]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) >= 3 + len(names)
        assert max(map(len, lines)) <= 100
    assert main(["test", str(folder / "p.npz"), "--n-resamples", "99", "--max-calibration-error", "1"]) in (0, 3)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 100


@pytest.mark.parametrize("form", ["json", "csv", "markdown"])
def test_formats_have_the_same_numbers(form: str, tmp_path: Path, capsys: Captured) -> None:
    import csv
    import json

    rng = np.random.default_rng(0)
    path = tmp_path / "a|b.npz"
    np.savez(path, labels=rng.integers(0, 3, 40), probs=rng.dirichlet([1, 1, 1], 40))
    arguments = ["decompose", str(path), "--method", "risk", "--bandwidth", "0.1"]
    assert main([*arguments, "--json"]) == 0
    (wanted,) = json.loads(capsys.readouterr().out)
    assert main([*arguments, "--format", form]) == 0
    text = capsys.readouterr().out
    if form == "json":
        assert json.loads(text) == [wanted]
    elif form == "csv":
        (row,) = csv.DictReader(io.StringIO(text))
        assert row["file"] == str(path)
        assert float(row["calibration_error"]) == wanted["calibration_error"]
        assert [float(row["risk_lower"]), float(row["risk_upper"])] == wanted["intervals"]["risk"]
    else:
        head, rule, row = text.splitlines()  # type: ignore[assignment]
        assert head.startswith("| file | generator |")
        assert rule.startswith("|---|---|---:|")
        assert r"a\|b.npz" in row
        assert f"{wanted['risk']:.5f}" in row


def test_a_shell_completes_commands_flags_values_and_columns(tmp_path: Path) -> None:
    pytest.importorskip("argcomplete")
    (tmp_path / "p.csv").write_text("outcome,ill,patient\n1,.5,a\n", encoding="utf-8")
    root = Path(__file__).resolve().parents[2]
    for line, expected in {
        "propercal decompose p.csv --label-column o": {"outcome "},
    }.items():
        answer = tmp_path / "answer"
        environment = {
            **os.environ, "PYTHONPATH": str(root), "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line,
            "COMP_POINT": str(len(line)), "COMP_TYPE": "9", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        }
        run = subprocess.run([sys.executable, "-m", "propercal"], cwd=tmp_path, env=environment, check=False, capture_output=True)
        assert run.returncode == 0
        assert set(answer.read_text(encoding="utf-8").split("\n")) == expected


def test_commands_and_values_are_completed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    argcomplete = pytest.importorskip("argcomplete")
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    parser, _ = command._parser([])
    finder = argcomplete.CompletionFinder(parser)
    for before, prefix, expected in (
        ([], "deco", ["decompose"]),
        (["test", "p.csv", "--notion"], "top", ["top-label"]),
        (["decompose", "p.csv", "--generator"], "bri", ["brier"]),
        (["compare", "--id"], "--id", ["--id-column"]),
    ):
        found = finder._get_completions(["propercal", *before], prefix, "", None)
        assert [each.strip() for each in found] == expected
    np.savez(tmp_path / "p.npz", labels=[0, 1], probs=[0.2, 0.3])
    (tmp_path / "p.jsonl").write_text('{"a": 1, "b": 2}\n', encoding="utf-8")
    files = [tmp_path / "p.npz", tmp_path / "p.jsonl", tmp_path / "none.csv"]
    found = completion.columns_of_files(parsed_args=argparse.Namespace(files=files))
    assert found == ["labels", "probs", "a", "b"]


def test_the_marker_of_argcomplete_is_where_it_looks() -> None:
    root = Path(command.__file__).parents[1]
    for path in (root / "__main__.py", root / "cli" / "__init__.py"):
        assert "PYTHON_ARGCOMPLETE_OK" in path.read_text(encoding="utf-8")[:1024]


def test_the_book_shows_the_help_of_every_command() -> None:
    page = Path(__file__).resolve().parents[2] / "book" / "api" / "command_line.md"
    text = page.read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"\n!propercal {name} --help\n" not in text] == []
