"""The report: what it says, that it needs nothing else, and that it is a sound page whatever the data are."""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import propercal
from propercal.cli.command import main
from propercal.reporting import figures, of_model
from propercal.reporting.content import Figure
from propercal.reporting.report import Report
from propercal.simulation import TemperatureScaledSimplex

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

#: Elements that have no end.
VOID = {"meta", "link", "br", "img", "hr", "input", "path", "use", "rect"}
HOSTILE = ["<script>alert(1)</script>", "</title>&amp;\"'", "a\x07b\u202e", "$x_1$", "日本語 عربي"]


class Look(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.links: list[str] = []
        self.headings: list[int] = []
        self.language: str | None = None
        self.open: list[str] = []
        self.drawings = 0
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.tags[tag] += 1
        self.open.append(tag)
        if "id" in found:
            self.ids.append(found["id"])
        for name in ("aria-labelledby", "aria-describedby"):
            self.references += found.get(name, "").split()
        self.links += [found[name] for name in ("href", "src", "xlink:href", "action", "data") if name in found]
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "html":
            self.language = found.get("lang")
        if tag == "svg":
            assert found["role"] == "img"
            assert len(found["aria-labelledby"].split()) == 2
            self.drawings += 1
        if tag in VOID:
            self.open.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)


def check(page: Report) -> Look:
    """Whatever was measured, the page is sound, and asks nobody for anything."""
    look = Look(page.html)
    assert look.open == []
    assert look.language == "en"
    assert [each for each, n in Counter(look.ids).items() if n > 1] == []
    assert set(look.references) <= set(look.ids)
    assert look.headings[0] == 1
    assert look.headings.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(look.headings, look.headings[1:], strict=False))
    assert all(link.startswith(("#", "data:,")) for link in look.links)
    assert {link[1:] for link in look.links if link.startswith("#")} <= set(look.ids)
    assert re.findall(r"url\((?!#)", page.html) == []
    assert "@import" not in page.html
    assert look.tags["script"] == 0
    assert page.html.encode("utf-8")
    assert "\x07" not in page.html
    return look


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures take half of the time, and are the same for most of what is measured."""

    def drawn(key: str, *_: object, title: str, description: str, caption: str) -> Figure:
        inside = f'<title id="{key}-title"></title><desc id="{key}-words"></desc>'
        svg = f'<svg role="img" aria-labelledby="{key}-title {key}-words">{inside}</svg>'
        return Figure(key, svg, title, description, caption)

    monkeypatch.setattr(figures, "drawn", drawn)


@pytest.fixture(scope="module")
def sample() -> tuple[Any, Any, Any]:
    return TemperatureScaledSimplex(3).sample(300, random_state=0)


@pytest.fixture(scope="module")
def made(sample: tuple[Any, Any, Any]) -> Report:
    y, p, _ = sample
    return propercal.report(y, p)


def text_of(page: Report) -> str:
    return " ".join(" ".join(Look(page.html).words).split())


def test_a_page_is_sound(made: Report) -> None:
    look = check(made)
    assert look.drawings == 3
    assert look.tags["table"] >= 5


def test_equal_data_give_equal_bytes_whatever_the_settings_of_matplotlib_are(sample: tuple[Any, Any, Any], made: Report) -> None:
    import matplotlib as mpl

    y, p, _ = sample
    with mpl.rc_context({"font.size": 20, "svg.fonttype": "path", "axes.facecolor": "red"}):
        assert propercal.report(y, p).html == made.html
        assert mpl.rcParams["font.size"] == 20
    assert re.search(r"20\d\d-\d\d-\d\d", made.html) is None


def test_the_first_sentence_has_the_numbers_of_the_result(sample: tuple[Any, Any, Any], made: Report) -> None:
    y, p, _ = sample
    result = propercal.decompose(y, p)
    low, high = result.interval("calibration_error")
    risk, error, ends = re.findall(r"of ([\d.]+)\s*nats, ([\d.]+) \(95\s*% interval ([\d. to]+)\)", made.summary[0])[0]
    digits = len(error.partition(".")[2])
    assert 10.0**-digits <= 0.1 * (high - low) < 10.0 ** (1 - digits)
    for text, value in ((risk, result.risk), (error, result.calibration_error), *zip(ends.split(" to "), (low, high), strict=True)):
        assert abs(float(text) - value) <= 0.5 * 10.0**-digits + 1e-12


@pytest.mark.usefixtures("undrawn")
def test_the_first_sentence_is_no_surer_than_the_interval(sample: tuple[Any, Any, Any], made: Report) -> None:
    y, p, p_true = sample
    calibrated, off = propercal.report(y, p_true), made
    assert propercal.decompose(y, p_true).interval("calibration_error")[0] == 0
    assert "do not show that there is any" in calibrated.summary[0]
    assert "which a recalibration could remove" in off.summary[0]
    assert propercal.decompose(y, p).interval("calibration_error")[0] > 0
    assert any("overlooked" in each for each in calibrated.summary)


def test_stated_confidence_is_that_of_the_first_choice(sample: tuple[Any, Any, Any], made: Report) -> None:
    y, p, _ = sample
    said, right = re.findall(r"was ([\d.]+)\s*% sure of its first choice, and the first choice was right in ([\d.]+)\s*%", " ".join(made.summary))[0]
    assert abs(float(said) - 100 * p.max(axis=1).mean()) <= 0.5
    assert abs(float(right) - 100 * (p.argmax(axis=1) == y).mean()) <= 0.5


@pytest.fixture(scope="module")
def small() -> tuple[Any, Any, Any]:
    return TemperatureScaledSimplex(3).sample(100, random_state=0)


def test_names_of_classes_and_rows_are_text(small: tuple[Any, Any, Any]) -> None:
    pandas = pytest.importorskip("pandas")
    y, p, _ = small
    names = HOSTILE[:3]
    table = pandas.DataFrame(p, columns=names, index=[f"{HOSTILE[i % 5]}{i}" for i in range(len(y))])
    labels = pandas.Series(np.array(names, dtype=object)[y], index=table.index)
    page = propercal.report(labels, table, title=HOSTILE[0])
    look = check(page)
    text = " ".join(look.words)
    assert text.count(HOSTILE[0]) > 5
    assert HOSTILE[3] in text
    assert HOSTILE[4] in text
    assert "<script" not in page.html
    assert "a\\u{7}b\\u{202e}" in page.html


@pytest.mark.slow
def test_names_of_models_and_groups_are_text(small: tuple[Any, Any, Any]) -> None:
    y, p, p_true = small
    groups = np.array([HOSTILE[0], HOSTILE[2], HOSTILE[3]])[np.arange(len(y)) % 3]
    page = propercal.report(y, {HOSTILE[0]: p, HOSTILE[1]: p_true}, subgroups=groups)
    look = check(page)
    text = " ".join(look.words)
    assert HOSTILE[0] in text
    assert HOSTILE[1] in text
    assert HOSTILE[3] in text
    assert "<script" not in page.html
    assert "By loss, " in text_of(page)
    assert page.summary[0].startswith(f"{HOSTILE[0]}: of the log loss")


def test_infinite_losses_are_said() -> None:
    y, p, _ = TemperatureScaledSimplex(3).sample(100, random_state=1)
    p = p.copy()
    p[3] = np.eye(3)[(y[3] + 1) % 3]
    page = propercal.report(y, p)
    check(page)
    assert "infinite, since in 1 row of 100 rows" in page.summary[0]
    assert any("row 3" in each and "probability 0" in each for each in page.warnings)
    assert "would have made the loss finite" in " ".join(page.summary)


@pytest.mark.parametrize("n", [2, 19])
def test_few_rows(n: int) -> None:
    y, p, _ = TemperatureScaledSimplex(3).sample(n, random_state=1)
    page = propercal.report(y, p)
    check(page)
    assert "how much of it is miscalibration is not known" in page.summary[0]
    assert f"There are {n} rows" in text_of(page)


@pytest.mark.usefixtures("undrawn")
def test_one_label_alone_in_two_columns() -> None:
    page = propercal.report(np.zeros(30, dtype=int), np.random.default_rng(0).dirichlet([2.0, 2.0], 30))
    check(page)


@pytest.mark.usefixtures("undrawn")
def test_the_first_classes_are_listed_and_the_rest_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_model.MOST_CLASSES == 20
    monkeypatch.setattr(of_model, "MOST_CLASSES", 3)
    y, p, _ = TemperatureScaledSimplex(5).sample(60, random_state=3)
    seen = y != 2
    page = propercal.report(y[seen], p[seen])
    check(page)
    assert "2 more classes together add" in text_of(page)
    assert "never" in text_of(page)


@pytest.mark.usefixtures("undrawn")
def test_small_groups_are_put_together() -> None:
    y, p, _ = TemperatureScaledSimplex(2).sample(120, random_state=4)
    groups = np.array([f"g{min(i % 12, 3)}" for i in range(120)])
    page = propercal.report(y, p, subgroups=groups)
    check(page)
    assert "3 groups with few rows were put together" in text_of(page)


@pytest.mark.usefixtures("undrawn")
def test_groups_that_cannot_be_shown_say_why() -> None:
    y, p, _ = TemperatureScaledSimplex(2).sample(60, random_state=4)
    page = propercal.report(y, p, subgroups={"a": np.arange(60) % 10})
    check(page)
    assert "too few rows" in text_of(page)
    assert "The groups that were named could not be looked at." in text_of(page)
    assert "No groups were named" in text_of(propercal.report(y, p))


@pytest.mark.usefixtures("undrawn")
def test_several_labels_a_row() -> None:
    rng = np.random.default_rng(5)
    p = rng.beta(2, 2, (60, 3))
    y = (rng.random((60, 3)) < p).astype(int)
    page = propercal.report(y, p, notion="classwise")
    check(page)
    assert "no first choice" in text_of(page)


@pytest.mark.usefixtures("undrawn")
def test_another_notion_and_loss(small: tuple[Any, Any, Any]) -> None:
    y, p, _ = small
    check(propercal.report(y, p, notion="top-label", generator="brier"))


def test_a_published_method_has_no_interval(small: tuple[Any, Any, Any]) -> None:
    y, p, _ = small
    page = propercal.report(y, p, method=propercal.methods.Risk(bandwidth=0.05))
    check(page)
    assert "states no interval" in page.summary[0]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("kind", ["one", "list", "mapping", "groups", "models", "saved"])
def test_results_make_a_page(kind: str, small: tuple[Any, Any, Any]) -> None:
    y, p, p_true = small
    result = propercal.decompose(y, p)
    makers: dict[str, Callable[[], Any]] = {
        "one": lambda: result,
        "list": lambda: propercal.decompose(y, p, generator=["log", "brier"]),
        "mapping": lambda: {"a": result, "b": propercal.decompose(y, p_true)},
        "groups": lambda: propercal.decompose_groups(y, p, groups=np.arange(100) % 2, generator="brier", n_resamples=99),
        "models": lambda: propercal.compare_models(y, {"a": p, "b": p_true}),
        "saved": lambda: type(result).from_xarray(result.to_xarray()),
    }
    page = propercal.report(makers[kind]())
    check(page)
    assert "A result does not keep the predictions" in text_of(page)
    assert ("The rows that cost most" in page.html) == (kind in ("one", "list", "mapping", "groups"))


def write(path: Path, y: Any, p: Any, **more: Any) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["label", *[f"c{i}" for i in range(p.shape[1])], *more])
        for i in range(len(y)):
            rows.writerow([f"c{y[i]}", *map(repr, p[i].tolist()), *(values[i] for values in more.values())])
    return path


@pytest.mark.usefixtures("undrawn")
def test_files(tmp_path: Path, small: tuple[Any, Any, Any]) -> None:
    y, p, p_true = small
    site, names = ["<north>" if i % 2 else "south" for i in range(len(y))], np.array([f"row{i}" for i in range(len(y))])
    order = np.random.default_rng(0).permutation(len(y))
    a = write(tmp_path / "a&b.csv", y, p, site=site, id=names)
    b = write(tmp_path / "b.csv", y[order], p_true[order], site=np.array(site)[order], id=names[order])
    page = propercal.report(a, b, tmp_path / "page.html", subgroup_column="site")
    check(page)
    text = text_of(page)
    assert page.path == tmp_path / "page.html"
    assert page.path.read_text(encoding="utf-8") == page.html
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a&b.csv", "b.csv", "page.html"]
    assert f"{a.stat().st_size:,} bytes".replace(",", " " if a.stat().st_size >= 10_000 else "") in text
    assert "paired by their ids" in text
    assert "<north>" in text
    assert "c1" in text
    worst = int(np.argmin(p[np.arange(len(y)), y]))
    assert f"row{worst} {worst}" in text
    alone = propercal.report(y, {"a&b.csv": p, "b.csv": p_true}, subgroups=np.array(site))
    assert page.summary == alone.summary


@pytest.mark.usefixtures("undrawn")
def test_the_command(tmp_path: Path, small: tuple[Any, Any, Any], capsys: pytest.CaptureFixture[str]) -> None:
    y, p, _ = small
    file, page = write(tmp_path / "a.csv", y, p), tmp_path / "page.html"
    arguments = ["report", str(file), "-o", str(page), "--title", "A <b>", "--seed", "3", "--n-folds", "4", "--level", "0.9"]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    expected = propercal.report(file, title="A <b>", random_state=3, confidence_level=0.9, method=propercal.methods.Debiased(n_folds=4, random_state=3))
    assert out.splitlines() == [" ".join(each.split()) for each in expected.summary]
    assert err.splitlines()[-1] == f"propercal: the page is {page}"
    assert page.read_text(encoding="utf-8") == expected.html
    assert main(arguments) == 1
    assert "--force" in capsys.readouterr().err
    assert main([*arguments, "--force"]) == 0
    assert main(["report", str(tmp_path / "b.csv"), "-o", str(tmp_path / "b.html")]) == 1
    assert "b.csv: No such file" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["report", str(file), "-o", str(file)])
    assert file.read_text(encoding="utf-8").startswith("label")


def test_files_of_other_rows_are_refused(tmp_path: Path, small: tuple[Any, Any, Any]) -> None:
    y, p, _ = small
    order = np.random.default_rng(0).permutation(len(y))
    a, b = write(tmp_path / "a.csv", y, p), write(tmp_path / "b.csv", y[order], p[order])
    with pytest.raises(ValueError, match="labels differ"):
        propercal.report(a, b)


@pytest.mark.parametrize(("arguments", "options", "said"), [
    ((), {}, "expected labels and predictions"),
    ((None,), {}, "expected labels and predictions"),
    (([0, 1, 1],), {}, "expected labels and predictions"),
    (([0, 1], [0.1, 0.2], [0.3, 0.4]), {}, "expected labels and predictions"),
    (([0, 1] * 20, [0.1, 0.2] * 20), {"path": "report.csv"}, "ends in .html"),
    (([0, 1] * 20, [0.1, 0.2] * 20), {"path": 3}, "ends in .html"),
    (([0, 1] * 20, [0.1, 0.2] * 20), {"title": " "}, "title"),
    (([0, 1] * 20, [0.1, 0.2] * 20), {"date": 5}, "date"),
    (([0, 1] * 20, [0.1, float("nan")] * 20), {}, "y_proba"),
    (([0, 1] * 20, {"a": [0.1] * 40, "": [0.1] * 40}), {}, "models"),
    (("a.csv",), {"sample_weight": [1]}, "sample_weight"),
    (("a.csv",), {"groups": [1]}, "group_column"),
])  # fmt: skip
def test_what_cannot_be_used_is_refused(arguments: Any, options: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        propercal.report(*arguments, **options)


@pytest.mark.usefixtures("undrawn")
def test_a_date_only_if_asked(small: tuple[Any, Any, Any]) -> None:
    result = propercal.decompose(*small[:2])
    assert "2026-11-29" in propercal.report(result, date="2026-11-29").html
    assert re.search(r"20\d\d-\d\d-\d\d", propercal.report(result, date="today").html)


@pytest.mark.usefixtures("undrawn")
def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path: Path, small: tuple[Any, Any, Any]) -> None:
    result = propercal.decompose(*small[:2])
    with pytest.raises(OSError, match="No such file"):
        propercal.report(result, path=tmp_path / "none" / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, small: tuple[Any, Any, Any]) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pip install "propercal\[report\]"'):
        propercal.report(*small[:2])


def test_a_notebook_shows_the_page(made: Report) -> None:
    shown = made._repr_html_()
    assert "srcdoc=" in shown
    assert "<script" not in shown
    assert str(made) == "\n".join(made.summary)
