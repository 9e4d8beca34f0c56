"""Every result has the same forms, which say what its attributes say: numbers for a log, a table, JSON, a page."""

from __future__ import annotations

import inspect
import json
import math
import pickle
import posixpath
import re
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import propercal
from propercal import decompose, decompose_groups
from propercal._results.flat import as_key, distinct, keys_of
from propercal._results.forms import Result
from propercal._results.pages import escaped
from propercal.result import TERMS, Decomposition
from propercal.simulation import TemperatureScaledSimplex

pd = pytest.importorskip("pandas")

#: No kernel, for speed.
FAST: Any = {"kernel": None}
Y, P, TRUE = TemperatureScaledSimplex(3).sample(160, random_state=0)
#: Names that a page must not obey, and that no key may have.
ODD = ["<script>alert(1)</script>", "a/b\n../c", "é & 'ü' \u202e"]
NAMED = np.array(ODD)[Y]
TWO = (Y > 0).astype(int)


def quiet(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "an outcome occurred to which the prediction gives probability 0|risk.* under the log loss: infinite", UserWarning)
        return call()


def infinite(p: Any = P) -> Any:
    p = p.copy()
    p[0] = np.where(np.arange(3) == Y[0], 0.0, 0.5)
    return p


@cache
def named() -> Any:
    return decompose(NAMED, P, labels=ODD)


@cache
def groups() -> Any:
    return propercal.decompose_groups(Y, P, groups=np.array(ODD)[np.arange(160) % 3], n_resamples=19, **FAST)


@cache
def models() -> Any:
    return propercal.compare_models(Y, {ODD[0]: P, "a less b": TRUE, ODD[1]: 0 * P + 1 / 3}, term="risk")


def monitor() -> Any:
    found = propercal.CalibrationMonitor(labels=ODD)
    found.update(NAMED, P)
    return found


def ensemble(bias: float = 0.0) -> Any:
    rng = np.random.default_rng(0)
    return propercal.crps_decomposition(rng.normal(size=60), bias + rng.normal(size=(60, 5)))


def ensembles() -> Any:
    rng = np.random.default_rng(0)
    return propercal.crps_difference(rng.normal(size=60), rng.normal(size=(60, 5)), rng.normal(size=(60, 7)), groups=np.arange(60) // 2)


MAKERS: dict[str, Callable[[], Any]] = {
    "decomposition": named,
    "class by class": lambda: decompose(Y, P, notion="classwise", generator="brier", groups=np.arange(160) // 2, **FAST),
    "published": lambda: decompose(Y, P, method="risk", bandwidth=0.1),
    "infinite": lambda: decompose(Y, infinite(), **FAST),
    "direction": lambda: named().direction(),
    "test": lambda: propercal.calibration_test(Y, P, n_resamples=19, random_state=0),
    "infinite test": lambda: propercal.calibration_test(Y, infinite(), n_resamples=19, random_state=0),
    "difference": lambda: propercal.paired_difference(Y, P, TRUE, **FAST),
    "infinite difference": lambda: propercal.paired_difference(Y, infinite(), TRUE, term="risk"),
    "differences": lambda: propercal.paired_difference(Y, P, TRUE, term=["risk", "sharpness"], **FAST),
    "models": models,
    "pair": lambda: models().pairs[0],
    "groups": groups,
    "part": lambda: groups().parts["added"],
    "part without error": lambda: propercal.subgroups.Part(math.inf, math.nan),
    "worst group": lambda: groups().test,
    "slope": lambda: propercal.calibration_slope(NAMED, P, labels=ODD, event=ODD[0]),
    "ece": lambda: propercal.expected_calibration_error(Y, P, n_resamples=19),
    "smooth ece": lambda: propercal.expected_calibration_error(Y, P, kind="smooth", n_resamples=19),
    "bins": lambda: propercal.hosmer_lemeshow(NAMED, P, labels=ODD, event=ODD[0], n_bins=4),
    "z": lambda: propercal.spiegelhalter_test(Y, P),
    "z of groups": lambda: propercal.spiegelhalter_test(Y, P, groups=np.arange(160) // 2),
    "crps": ensemble,
    "crps of two": ensembles,
    "monitor": monitor,
    "new monitor": lambda: propercal.CalibrationMonitor(3, notion="top-label", generator="brier"),
}


@cache
def made(name: str) -> Any:
    return quiet(MAKERS[name])


def kinds(kind: type[Any] = Result) -> Iterator[type[Any]]:
    for below in kind.__subclasses__():
        yield below
        yield from kinds(below)


EVERY = pytest.mark.parametrize("name", MAKERS)


# ---------------------------------------------------------------- which classes are results
def test_every_kind_of_result_is_tried() -> None:
    ours = {each for each in kinds() if each.__module__.startswith("propercal.") and not inspect.isabstract(each)}
    assert {type(made(name)) for name in MAKERS} == ours


def test_every_class_that_a_public_function_returns_is_a_result() -> None:
    # A report is a page for a person, made of results.
    known = {kind.__name__ for kind in kinds()} | {"Results", "Any", "Array", "Dataset", "BregmanGenerator", "Report"}
    for name in propercal.__all__:
        value = getattr(propercal, name)
        if inspect.isfunction(value):
            said = re.findall(r"\b[A-Z]\w+", str(inspect.signature(value).return_annotation))
            assert set(said) <= known, name
        elif inspect.isclass(value) and hasattr(value, "to_xarray"):
            assert issubclass(value, Result) or value is propercal.Results, name


# ---------------------------------------------------------------- flat numbers
#: What MLflow takes (mlflow/utils/validation.py): these characters, and a path that is its own normal form.
MLFLOW = re.compile(r"[/\w.\- ]*")


def check_flat(found: dict[str, float]) -> None:
    assert found
    for key, value in found.items():
        assert MLFLOW.fullmatch(key), key
        assert len(key) <= 250
        assert posixpath.normpath(key) == key
        assert not key.startswith(("/", "."))
        assert type(value) is float
        assert math.isfinite(value), key
    # A file store keeps a metric in a file of its name: none may be in the place of a folder.
    assert not {posixpath.dirname(key) for key in found} & set(found)


@EVERY
def test_flat_numbers_are_what_trackers_take(name: str) -> None:
    check_flat(made(name).to_dict())


@EVERY
def test_flat_numbers_are_those_of_the_dataset(name: str) -> None:
    result = made(name)
    found, data = result.to_dict(), result.to_xarray()
    for variable in data.data_vars.values():
        finite = variable.to_numpy()[np.isfinite(variable.to_numpy().astype(float))]
        stem = str(variable.name).removesuffix("_interval") if "bound" in variable.dims else str(variable.name)
        stem = "" if stem == "interval" else stem
        own = re.compile(rf"(.*/)?{re.escape(stem)}" + ("_?(lower|upper)" if "bound" in variable.dims else ""))
        values = [value for key, value in found.items() if own.fullmatch(key)]
        assert sorted(values) == sorted(finite.astype(float).ravel().tolist()), variable.name


@EVERY
def test_flat_numbers_are_the_attributes(name: str) -> None:
    result = made(name)
    found = result.to_dict()
    shared = [key for key in found if isinstance(getattr(result, key, None), int | float | np.number)]
    assert shared or name in ("differences", "groups", "models")  # whose numbers are all of a part
    assert {key: found[key] for key in shared} == {key: float(getattr(result, key)) for key in shared}


def test_what_is_infinite_is_left_out_and_said_elsewhere() -> None:
    result = made("infinite")
    found = result.to_dict()
    assert "risk" not in found
    assert "risk_lower" not in found
    assert found["n_infinite_loss_rows"] == 1
    assert found["refinement"] == result.refinement
    assert json.loads(result.to_json())["risk"] == "Infinity"
    assert result.to_frame().loc["risk", "value"] == math.inf


def test_ends_of_intervals_have_their_names() -> None:
    result = made("class by class")
    found = result.to_dict()
    for term in (*TERMS, "skill_score"):
        assert (found[f"{term}_lower"], found[f"{term}_upper"]) == result.interval(term)
    assert found["n_groups"] == 80
    assert made("difference").to_dict()["lower"] == made("difference").interval()[0]
    low, high = made("slope").interval("slope")
    assert (made("slope").to_dict()["slope_lower"], made("slope").to_dict()["slope_upper"]) == (low, high)


def test_places_come_before_names() -> None:
    found, result = made("groups").to_dict(), made("groups")
    for name in ODD:
        assert found[f"group/{as_key(name)}/calibration_error"] == result[name].calibration_error
    assert found["whole_risk"] == result.whole.risk
    assert found["whole_n_samples"] == 160
    assert "n_samples" not in found
    assert made("direction").to_dict()[f"class/{as_key(ODD[1])}/gap"] == made("direction").gap[1]
    assert made("bins").to_dict()["bin/2/observed"] == made("bins").observed[1]
    pair = made("models").pairs[0]
    assert made("models").to_dict()[f"pair/{as_key(f'{pair.first} less {pair.second}')}/pvalue"] == pair.pvalue


@pytest.mark.parametrize(
    ("name", "key"),
    [("a/b", "a_b"), ("..", "_"), ("", "_"), (" x. ", "x"), ("a\nb", "a_b"), ("é-1.5", "é-1.5"), (("a", 1), "__a__ 1_"), ("x" * 99, "x" * 60), ("<50", "below 50"), (">50", "above 50"), ("age<=50", "age at most 50"), ("≥ 50", "at least 50"), ("65+", "65 plus"), ("a  b", "a  b")],
)
def test_names_in_keys(name: Any, key: str) -> None:
    assert as_key(name) == key


def test_names_that_become_one_are_told_apart() -> None:
    assert distinct(["a", "b"]) == ["a", "b"]
    assert distinct(["a", "a", "a_2", "a"]) == ["a", "a_3", "a_2", "a_4"]
    # Keys are those of the names, in whatever order and company.
    names = ["a/b", "a_b", "a:b", "x" * 61 + "1", "x" * 61 + "2", "<50", ">50", "c"]
    found = dict(zip(names, keys_of(names), strict=True))
    assert len(set(found.values())) == len(names)
    assert (found["a_b"], found["<50"], found[">50"], found["c"]) == ("a_b", "below 50", "above 50", "c")
    assert found["a/b"] == f"a_b_{zlib.crc32(b'a/b'):08x}"
    assert found == dict(zip(names[::-1], keys_of(names[::-1]), strict=True))
    assert keys_of(["a:b", "a/b"]) == [found["a:b"], found["a/b"]]
    # Of equal texts nothing but the order tells.
    assert keys_of([1, "1"]) == ["1", "1_2"]


def test_groups_of_signs_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 200)
    y, old = (rng.uniform(size=200) < p).astype(int), np.arange(200) % 2 == 0
    result = decompose_groups(y, p, groups=np.where(old, ">50", "<50"), generator="brier")
    found = result.to_dict()
    for name, key in (("<50", "below 50"), (">50", "above 50")):
        assert found[f"group/{key}/risk"] == result[name].risk


# ---------------------------------------------------------------- tables
@EVERY
def test_a_table_has_the_numbers(name: str) -> None:
    result = made(name)
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) > 0
    assert frame.index.name in ("quantity", "group", "model", "term", "bin")
    assert frame.attrs == result.to_xarray().attrs
    flat = set(result.to_dict().values())
    finite = frame.to_numpy(dtype=float)
    assert set(finite[np.isfinite(finite)].ravel().tolist()) <= flat


def test_rows_of_tables() -> None:
    frame, result = made("decomposition").to_frame(), made("decomposition")
    assert list(frame.index[:5]) == list(TERMS)
    for term in TERMS:
        assert tuple(frame.loc[term, ["lower", "upper"]]) == result.interval(term)
        assert frame.loc[term, "standard_error"] == result.standard_errors[term]
    assert frame.loc["skill_score", "standard_error"] == result.skill_score_error
    assert list(made("groups").to_frame().index) == ODD
    assert list(made("models").to_frame().index) == list(made("models").models)
    assert list(made("differences").to_frame().index) == ["risk", "sharpness"]
    assert list(made("difference").to_frame().index) == ["calibration_error"]
    assert list(made("crps of two").to_frame().index) == ["risk"]
    assert list(made("bins").to_frame()["observed"]) == list(made("bins").observed)
    assert pd.concat({"a": frame, "b": frame}).shape == (2 * len(frame), frame.shape[1])


# ---------------------------------------------------------------- JSON
def refused(constant: str) -> None:
    raise AssertionError(constant)


@EVERY
def test_json_is_strict_and_has_the_numbers(name: str) -> None:
    result = made(name)
    found = json.loads(result.to_json(), parse_constant=refused)
    if isinstance(result, Decomposition):
        again = Decomposition.from_json(result.to_json())
        assert again.to_json() == result.to_json()
        assert again.to_dict() == result.to_dict()
        return
    assert found["result"] == type(result).__name__
    data = result.to_xarray()
    for variable in (*data.data_vars.values(), *data.coords.values()):
        written = np.array(found[str(variable.name)])
        if variable.dtype.kind in "biuf":
            np.testing.assert_array_equal(written.astype(float), variable.to_numpy())
        else:
            assert written.tolist() == variable.to_numpy().tolist()
    for setting, value in data.attrs.items():
        assert found[setting] == value or float(found[setting]) == value


def test_flat_numbers_are_no_saved_result() -> None:
    with pytest.raises(ValueError, match=r"flat numbers of to_dict\(\).*to_json\(\)"):
        Decomposition.from_dict(made("decomposition").to_dict())


@pytest.mark.parametrize("text", ["{", "", "[]", "5", b"\xff", None, {}, [1]])
def test_text_that_is_no_result_is_refused(text: Any) -> None:
    with pytest.raises(ValueError, match=r"saved = .*to_json\(\)"):
        Decomposition.from_json(text)


# ---------------------------------------------------------------- pages
class Page(HTMLParser):
    """What a page shows, if all that is opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.shown: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= {"style"}
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.shown.append(data)


@EVERY
def test_a_page_is_a_table_that_obeys_no_name(name: str) -> None:
    result = made(name)
    text = result._repr_html_()
    page = Page(text)
    assert "table" in page.tags
    assert page.tags <= {"table", "caption", "tr", "th", "td", "small", "br"}
    assert "color" not in text  # a page in the dark keeps its own
    assert "http" not in text
    assert "\u202e" not in text
    assert "\n" not in text


def test_a_page_shows_odd_names() -> None:
    for name in ("groups", "models", "direction", "worst group"):
        shown = "".join(Page(made(name)._repr_html_()).shown)
        assert "<script>alert(1)</script>" in shown
    assert escaped("a\x00\ud800b") == r"a\x00\ud800b"
    assert made("groups")._repr_html_().encode()


@pytest.mark.parametrize("name", ["decomposition", "slope", "crps", "direction"])
def test_a_page_has_the_intervals_of_the_text(name: str) -> None:
    text, page = str(made(name)), made(name)._repr_html_()
    found = re.findall(r"\[[-+\d.e, ]+\]", text)
    assert len(found) >= 2
    assert [each for each in found if each not in page] == []


# ---------------------------------------------------------------- several
def several() -> Any:
    return decompose(Y, P, generator=["log", "brier"], method=["debiased", "risk"])


def test_results_of_several_generators_are_a_list_with_forms() -> None:
    found = quiet(lambda: decompose(NAMED, P, labels=ODD, generator=["log", "brier"], **FAST))
    assert issubclass(type(found), list)
    check_flat(found.to_dict())
    assert found.to_dict()["generator/brier/risk_lower"] == found[1].interval("risk")[0]
    assert found.to_frame().loc[("log", "risk"), "value"] == found[0].risk
    data = found.to_xarray()
    assert data["risk"].sel(generator="brier").item() == found[1].risk
    assert data.attrs["method"] == "debiased"
    assert data.attrs["n_samples"] == 160
    assert Decomposition.from_dict(json.loads(found.to_json(), parse_constant=refused)["log"]).risk == found[0].risk
    assert {"div", "table"} <= Page(found._repr_html_()).tags
    assert str(found) == f"{found[0]}\n\n{found[1]}"
    again = pickle.loads(pickle.dumps(found))  # noqa: S301
    assert again.to_dict() == found.to_dict()
    assert found[:1].to_dict() == {key: x for key, x in found.to_dict().items() if key.startswith("generator/log/")}


def test_results_of_several_methods_and_generators() -> None:
    found = quiet(several)
    check_flat(found.to_dict())
    assert found.to_dict()["estimator/risk/generator/brier/refinement"] == found[1][1].refinement
    assert found.to_frame().loc[("risk", "brier", "refinement"), "value"] == found[1][1].refinement
    data = found.to_xarray()
    assert data["refinement"].sel(estimator="risk", generator="log").item() == found[1][0].refinement
    for i, method in enumerate(["debiased", "risk"]):
        for j, generator in enumerate(["log", "brier"]):
            assert data["bandwidth"].sel(estimator=method, generator=generator).item() == found[i][j].bandwidth
    assert json.loads(found.to_json())["risk"]["log"]["refinement"] == found[1][0].refinement
    assert Page(found._repr_html_()).shown


def test_numbers_of_one_and_of_several_go_into_one_log() -> None:
    check_flat(quiet(several).to_dict() | made("decomposition").to_dict() | made("groups").to_dict())


def test_equal_names_are_told_apart() -> None:
    tsallis = propercal.generators.Tsallis
    found = quiet(lambda: decompose(Y, P, generator=[tsallis(1.5), tsallis(3.0), "brier", "brier"], **FAST))
    assert len(set(found.names)) == 4
    assert found.names[0] == "Tsallis(alpha=1.5)"
    check_flat(found.to_dict())


@pytest.mark.parametrize("call", [
    lambda g: propercal.paired_difference(Y, P, TRUE, generator=g, **FAST),
    lambda g: propercal.paired_difference(Y, P, TRUE, generator=g, term=["risk", "refinement"], **FAST),
    lambda g: propercal.compare_models(Y, {"a": P, "b": TRUE}, generator=g, n_resamples=99, **FAST),
    lambda g: propercal.compare_models(Y, {"a": P, "b": TRUE}, generator=g, term=["risk", "refinement"], n_resamples=99, **FAST),
    lambda g: propercal.decompose_groups(Y, P, groups=np.arange(160) % 3, generator=g, n_resamples=19, **FAST),
])  # fmt: skip
def test_other_lists_have_forms_too(call: Any) -> None:
    found = quiet(lambda: call(["log", "brier"]))
    assert found.along == "generator"
    check_flat(found.to_dict())
    assert found.to_xarray().sizes["generator"] == 2
    assert len(found.to_frame()) > 1
    assert json.loads(found.to_json(), parse_constant=refused).keys() == {"log", "brier"}
    assert Page(found._repr_html_()).shown


def test_a_list_that_was_changed_says_so() -> None:
    found = quiet(lambda: decompose(Y, P, generator=["log", "brier"], **FAST))
    found.append(found[0])
    with pytest.raises(ValueError, match="results = a list of 3 for 2 names"):
        found.to_dict()
    with pytest.raises(ValueError, match="names = "):
        propercal.Results(found, ["a"], "model")
