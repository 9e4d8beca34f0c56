"""One table of what is refused, and the sentence that refuses it.

Every message has the form "argument = what was found: expected …; what to do". Each case is run on
NumPy and, where its arrays are numeric, on torch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest

import propercal
from theory_tests.instances import P_HARD, Y_HARD, by_risk

N, K = 6, 3
Y = np.array([0, 1, 2, 0, 1, 2])
P = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.25, 0.25, 0.5]])
ONES = np.ones(N)


def put(a: Any, where: Any, value: Any) -> Any:
    """Return a copy of `a` with one entry changed."""
    a = np.array(a, dtype=np.result_type(a, np.asarray(value)))
    a[where] = value
    return a


@dataclass(frozen=True)
class Case:
    """Arguments that must be refused, and what the refusal must say."""

    id: str
    argument: str
    """The argument to blame: the message starts with it."""
    found: str
    """A regular expression for the value that was found."""
    fix: str
    """A regular expression for what is expected or what to do."""
    change: Mapping[str, Any] = field(default_factory=dict)
    call: Callable[..., Any] = propercal.decompose
    torch: bool = True

    @property
    def arguments(self) -> dict[str, Any]:
        return {"y_true": Y, "y_proba": P, **self.change}


def case(id: str, argument: str, found: str, fix: str, **change: Any) -> Case:  # noqa: A002
    return Case(id, argument, found, fix, change)


def numpy_only(id: str, argument: str, found: str, fix: str, **change: Any) -> Case:  # noqa: A002
    return Case(id, argument, found, fix, change, torch=False)


MULTI = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 1], [0, 1, 1], [1, 0, 0]])
INDEPENDENT = P * 0.9
LOGITS = np.log(P) * 3 + 2
OBJECT = P.astype(object)
OBJECT[1, 1] = "half"
TEXT = np.array(["cat", "dog", "eel", "cat", "dog", "eel"])

# fmt: off
CASES = [
    # -------------------------------------------------------------- y_proba: values
    case("nan", "y_proba", "nan", "finite|between 0 and 1", y_proba=put(P, (2, 1), np.nan)),
    case("inf", "y_proba", "inf", "finite|between|from_logits", y_proba=put(P, (2, 1), np.inf)),
    case("minus inf", "y_proba", "-inf", "finite|from_logits", y_proba=put(P, (2, 1), -np.inf)),
    case("all nan", "y_proba", "nan", "finite|between 0 and 1", y_proba=P * np.nan),
    case("nan in float32", "y_proba", "nan", "finite|between 0 and 1", y_proba=put(P, 0, np.nan).astype("f4")),
    case("nan of a binary column", "y_proba", "nan", "finite|between 0 and 1", y_true=Y % 2, y_proba=put(P, 3, np.nan)[:, 0]),
    case("nan logits", "y_proba", "nan", "finite|between 0 and 1", y_proba=put(LOGITS, (2, 1), np.nan), from_logits=True),
    case("inf logits", "y_proba", "inf", "finite", y_proba=put(LOGITS, (2, 1), np.inf), from_logits=True),
    case("negative", "y_proba", r"-0\.1", "0|probabilit", y_proba=put(P, 0, [-0.1, 0.8, 0.3])),
    case("slightly negative", "y_proba", r"-0\.001|-1e-0?3", "0", y_proba=put(P, 0, [-0.001, 0.7, 0.301])),
    case("above 1", "y_proba", r"1\.2", "1", y_proba=put(P, 0, [1.2, -0.1, -0.1])),
    case("above 1, binary", "y_proba", r"1\.5", "1", y_true=Y % 2, y_proba=np.array([0.1, 0.2, 1.5, 0.3, 0.4, 0.5])),
    case("per cent", "y_proba", "60|80|70|50", "1", y_proba=P * 100),
    case("logits unannounced", "y_proba", r"-?\d", "from_logits=True", y_proba=LOGITS),
    case("binary logits unannounced", "y_proba", r"-?\d", "from_logits=True", y_true=Y % 2, y_proba=LOGITS[:, 0]),
    case("rows sum to 0.5", "y_proba", r"0\.5", "sum|normali", y_proba=P / 2),
    case("one row sums to 0.5", "y_proba", r"row.*4|4.*row|0\.5", "sum", y_proba=put(P, 4, P[4] / 2)),
    case("rows sum to 2", "y_proba", r"\b2\b|\b2\.0|1\.9+", "sum", y_proba=np.full((N, K), 2 / 3)),
    case("rows sum to 0", "y_proba", r"\b0", "sum", y_proba=P * 0),
    case("rows sum to 0.5, class-wise", "y_proba", r"0\.5", "sum|indicator", y_proba=P / 2, notion="classwise"),
    case("rows sum to 0.5, one-hot labels", "y_proba", r"0\.5", "sum|normali", y_true=np.eye(3)[Y], y_proba=P / 2),
    case("rows sum to 0.5, float32", "y_proba", r"0\.5", "sum", y_proba=(P / 2).astype("f4")),
    # -------------------------------------------------------------- y_proba: shapes and types
    case("three axes", "y_proba", r"\(6, 3, 1\)|3", r"\(n|shape|dimension", y_proba=P[:, :, None]),
    case("no axis", "y_proba", r"\(\)|0|scalar", r"\(n|shape|dimension", y_proba=np.array(0.3)),
    case("one class", "y_proba", r"\b1\b", "two|2|class", y_true=Y * 0, y_proba=np.ones((N, 1))),
    case("one-class softmax", "y_proba|labels", r"\[0\]|\b1\b", "two|2|class", y_true=Y * 0, y_proba=np.ones((N, 1)), labels=[0]),
    case("no class", "y_proba", r"\(6, 0\)|\b0\b", "two|2|class|column", y_proba=P[:, :0]),
    case("empty", "y_proba|y_true", r"\b0\b", "2|two", y_true=Y[:0], y_proba=P[:0]),
    numpy_only("empty lists", "y_proba|y_true", r"\b0\b|\[\]", "2|two|empty", y_true=[], y_proba=[]),
    case("one prediction", "y_proba|y_true", r"\b1\b", "2|two", y_true=Y[:1], y_proba=P[:1]),
    case("lengths differ", "y_true|y_proba", r"\b5\b", r"\b6\b", y_true=Y[:5]),
    case("lengths differ, one-hot", "y_true|y_proba", r"\b5\b", r"\b6\b", y_true=np.eye(3)[Y[:5]]),
    numpy_only("object array", "y_proba", "object", "float|number|numeric", y_proba=OBJECT),
    numpy_only("strings", "y_proba", "<U|str|0.6", "float|number|numeric", y_proba=P.astype(str)),
    numpy_only("ragged list", "y_proba", "different lengths|ragged", r"rectang|shape|\(n", y_proba=[[0.5, 0.5], [1.0], [0.2, 0.8]], y_true=[0, 1, 0]),
    numpy_only("None", "y_proba", "None|object", r"array|number|\(n", y_proba=None),
    numpy_only("complex", "y_proba", "complex|j", "real|float", y_proba=P + 0j),
    # -------------------------------------------------------------- y_true
    case("label k", "y_true", r"\b3\b", r"0.*2|labels", y_true=put(Y, 3, 3)),
    case("labels from 1, of too many kinds", "y_true", r"\b3\b|\b5\b", r"0.*2|labels", y_true=put(Y + 1, 3, 5)),
    case("negative label", "y_true", "-1", r"0.*2|labels", y_true=put(Y, 3, -1)),
    case("label 2 of a binary problem", "y_true", r"\b2\b", "0.*1|labels", y_proba=P[:, 0]),
    case("fractional label", "y_true", r"0\.5", "integer|whole|class", y_true=put(Y, 3, 0.5)),
    case("nan label", "y_true", "nan", "missing|class|remove|finite|integer|whole", y_true=put(Y, 3, np.nan)),
    case("inf label", "y_true", "inf", "missing|class|remove|finite|integer|whole", y_true=put(Y, 3, np.inf)),
    case("unknown number with labels=", "y_true", r"\b7\b", r"10.*20.*30|labels", y_true=put(Y * 10 + 10, 3, 7), labels=[10, 20, 30]),
    numpy_only("unknown string", "y_true", "yak", "labels|cat", y_true=put(TEXT, 3, "yak"), labels=["cat", "dog", "eel"]),
    numpy_only("strings of too few kinds", "y_true", "2|cat", "labels=|labels", y_true=TEXT[[0, 1, 0, 1, 0, 1]]),
    numpy_only("strings of too many kinds", "y_true", "4|cat|yak", "3|labels", y_true=put(TEXT, 3, "yak")),
    numpy_only("None among strings", "y_true", "None", "missing|remove|label|class", y_true=np.array(["cat", "dog", None, "cat", "dog", "eel"], dtype=object)),
    numpy_only("mixed labels", "y_true", "1|mix|int|cat|object", "class|label|type", y_true=np.array(["cat", 1, "dog", "cat", "dog", 1], dtype=object)),
    case("True of three classes is fine, 3-D is not", "y_true", r"\(6, 3, 1\)|3", r"\(n|shape|dimension", y_true=np.eye(3)[Y][:, :, None]),
    case("one-hot of another width", "y_true", r"4", r"\b3\b|column|shape", y_true=np.eye(4)[Y]),
    case("indicator with a 2", "y_true", r"\b2", "0.*1|indicator", y_true=np.eye(3, dtype=int)[Y] * 2, notion="classwise"),
    case("soft labels", "y_true", r"0\.\d", "0.*1|indicator|one-hot", y_true=P),
    case("nan in an indicator", "y_true", "nan", "0.*1|indicator|missing|finite", y_true=put(np.eye(3)[Y], (2, 2), np.nan)),
    case("multi-label, canonical", "y_true", "indicator|row|label", "classwise", y_true=MULTI, y_proba=P, notion="canonical"),
    case("multi-label, top-label", "y_true", "indicator|row|label", "classwise", y_true=MULTI, y_proba=P, notion="top-label"),
    case("multi-label rows, canonical", "y_true|y_proba", "indicator|row|label", "classwise", y_true=MULTI, y_proba=INDEPENDENT),
    # -------------------------------------------------------------- labels
    numpy_only("labels too short", "labels", r"2|\['cat', 'dog'\]", r"\b3\b|column|class", y_true=TEXT, labels=["cat", "dog"]),
    numpy_only("labels too long", "labels", "4|yak", r"\b3\b|column|class", y_true=TEXT, labels=["cat", "dog", "eel", "yak"]),
    numpy_only("labels twice", "labels", "cat", "once|distinct|unique|differ|duplicate", y_true=TEXT, labels=["cat", "dog", "cat"]),
    case("labels too long for integers", "labels", r"4|\[0, 1, 2, 3\]", r"\b3\b|column|class", labels=[0, 1, 2, 3]),
    case("no labels", "labels", r"\[\]|0", r"\b3\b|column|class", labels=[]),
    # -------------------------------------------------------------- sample_weight
    case("weights empty", "sample_weight", r"\b0\b|\[\]", r"\b6\b|one", sample_weight=ONES[:0]),
    case("weights too few", "sample_weight", r"\b5\b", r"\b6\b|one", sample_weight=ONES[:5]),
    case("weights two-dimensional", "sample_weight", r"\(6, 3\)|2", r"\(n|6|one", sample_weight=np.ones((6, 3))),
    case("weights all zero", "sample_weight", r"\b0\b|zero", "positive|two|2", sample_weight=ONES * 0),
    case("one weight alone", "sample_weight", r"\b1\b|one", "two|2", sample_weight=put(ONES * 0, 2, 1.0)),
    case("weight negative", "sample_weight", r"-0\.5", "0|negative|positive", sample_weight=put(ONES, 2, -0.5)),
    case("weight nan", "sample_weight", "nan", "finite|number", sample_weight=put(ONES, 2, np.nan)),
    case("weight inf", "sample_weight", "inf", "finite|number", sample_weight=put(ONES, 2, np.inf)),
    numpy_only("weights of text", "sample_weight", "<U|str|a", "number|float|numeric", sample_weight=np.array(list("abcdef"))),
    # -------------------------------------------------------------- names
    case("generator", "generator", "bryer", "did you mean 'brier'", generator="bryer"),
    case("generator in a list", "generator", "logg", "did you mean 'log'", generator=["brier", "logg"]),
    case("generator of no kind", "generator", r"xyz", "log.*brier.*spherical.*itakura-saito", generator="xyz"),
    case("no generator", "generator", r"\[\]|empty|0", "one|generator", generator=[]),
    case("notion", "notion", "class-wise", "did you mean 'classwise'", notion="class-wise"),
    case("notion, capital", "notion", "Canonical", "did you mean 'canonical'", notion="Canonical"),
    case("notion, underscore", "notion", "top_label", "did you mean 'top-label'", notion="top_label"),
    case("notion None", "notion", "None", "canonical.*classwise.*top-label", notion=None),
    case("method", "method", "risks", "did you mean 'risk'", method="risks"),
    case("too few rows to fit to", "y_proba", "6 rows", "risk", method="debiased"),
    case("debiased, bins", "kernel", "uniform-bins", "risk", method="debiased", kernel="uniform-bins"),
    case("debiased, folds", "n_folds", r"\b2", "5 is usual", method="debiased", n_folds=2),
    case("debiased, seed", "random_state", "seed", "seed", method="debiased", random_state="seed"),
    case("debiased, own label", "exclude_self", "False", "risk", method="debiased", exclude_self=False),
    case("debiased, recalibrator", "recalibrator", "isotonic", "scikit-learn", method="debiased", recalibrator="isotonic"),
    case("a recalibrator and a kernel", "recalibrator", "1", "debiased", method="risk", recalibrator=1),
    case("kernel", "kernel", "dirichelt", "did you mean 'dirichlet'", kernel="dirichelt"),
    case("kernel, bins", "kernel", "uniform-bin'", "did you mean 'uniform-bins'", kernel="uniform-bin"),
    # -------------------------------------------------------------- bandwidth, confidence level
    case("bandwidth 0", "bandwidth", r"\b0", "positive|> 0|auto", bandwidth=0.0),
    case("bandwidth integer 0", "bandwidth", r"\b0", "positive|> 0|auto", bandwidth=0),
    case("bandwidth negative", "bandwidth", r"-0\.1", "positive|> 0|auto", bandwidth=-0.1),
    case("bandwidth nan", "bandwidth", "nan", "finite|positive|auto", bandwidth=float("nan")),
    case("bandwidth inf", "bandwidth", "inf", "finite|positive|auto", bandwidth=float("inf")),
    case("bandwidth word", "bandwidth", "silverman", "auto", bandwidth="silverman"),
    case("bandwidth None", "bandwidth", "None", "auto|number", bandwidth=None),
    case("bandwidth array", "bandwidth", r"0\.1", "auto|number", bandwidth=[0.1, 0.2]),
    case("bandwidth of bins, 0", "bandwidth", r"\b0", "positive|> 0|bins|auto", bandwidth=0.0, kernel="uniform-bins"),
    case("confidence in per cent", "confidence_level", "95", "0.*1", confidence_level=95),
    case("confidence 0", "confidence_level", r"\b0", "0.*1", confidence_level=0.0),
    case("confidence 1", "confidence_level", r"\b1", "0.*1", confidence_level=1.0),
    case("confidence nan", "confidence_level", "nan", "0.*1", confidence_level=float("nan")),
    # -------------------------------------------------------------- the other entry points
    Case("select: criterion", "criterion", "likelyhood", "did you mean 'likelihood'", {"criterion": "likelyhood"}, propercal.select_bandwidth),
    Case("select: notion", "notion", "classwize", "did you mean 'classwise'", {"notion": "classwize"}, propercal.select_bandwidth),
    Case("select: generator", "generator", "bier", "did you mean 'brier'", {"generator": "bier"}, propercal.select_bandwidth),
    Case("select: nan", "y_proba", "nan", "finite|between 0 and 1", {"y_proba": P * np.nan}, propercal.select_bandwidth),
    Case("mean: kernel", "kernel", "dirichlt", "did you mean 'dirichlet'", {"notion": "canonical", "kernel": "dirichlt", "bandwidth": 0.1}, propercal.conditional_mean),
    Case("mean: algorithm", "algorithm", "exat", "did you mean 'exact'", {"notion": "canonical", "kernel": "dirichlet", "bandwidth": 0.1, "algorithm": "exat"}, propercal.conditional_mean),
    Case("mean: bandwidth", "bandwidth", "-1", "positive|> 0|auto", {"notion": "canonical", "kernel": "dirichlet", "bandwidth": -1}, propercal.conditional_mean),
    Case("mean: rows", "y_proba", r"0\.5", "sum", {"y_proba": P / 2, "notion": "canonical", "kernel": "dirichlet", "bandwidth": 0.1}, propercal.conditional_mean),
    *(
        Case(f"{name}: nan", "y_proba", "nan", "finite|between 0 and 1", {"y_proba": put(P, 1, np.nan)}, getattr(propercal, name))
        for name in ("calibration_error", "refinement", "sharpness")
    ),
]
# fmt: on


def check(found: str, case: Case) -> None:
    form = rf"^({case.argument})\b[^=]*= .+: expected .+; .+"
    assert re.search(form, found, re.DOTALL), f"not of the one form: {found}"
    value, expected = found.split(": expected", 1)
    value = value.split("=", 1)[1]
    assert re.search(case.found, value, re.DOTALL), f"{case.found!r} is not named in: {found}"
    assert re.search(case.fix, expected, re.DOTALL | re.IGNORECASE), f"{case.fix!r} is not said in: {found}"
    assert len(found) < 400, "too long to read"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_refused(case: Case) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 -- `check` looks at the message
        case.call(**case.arguments)
    check(str(error.value), case)


@pytest.mark.parametrize("case", [case for case in CASES if case.torch], ids=lambda case: case.id)
def test_refused_from_torch(case: Case) -> None:
    torch = pytest.importorskip("torch", reason="these cases hand in tensors")

    def tensor(value: Any) -> Any:
        return torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value

    arguments = {name: tensor(value) for name, value in case.arguments.items()}
    with pytest.raises(ValueError) as error:  # noqa: PT011 -- `check` looks at the message
        case.call(**arguments)
    check(str(error.value), case)


def test_ids_are_distinct() -> None:
    assert len({case.id for case in CASES}) == len(CASES)


# -------------------------------------------------------------- a warning, where that is right
WARNED = {"rows off by 1e-3": (P * 1.001, "row"), "one row off by 1e-3": (put(P, 4, P[4] * 0.999), r"\b4\b")}


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize("name", WARNED)
def test_rows_slightly_off_are_used_as_they_are(name: str, backend: str) -> None:
    p, words = WARNED[name]
    given: Any = p.copy()
    if backend == "torch":
        given = pytest.importorskip("torch").from_numpy(p.copy())
    with pytest.warns(UserWarning, match=rf"(?s)y_proba.*{words}") as caught:
        result = propercal.decompose(Y, given, generator="brier", method="risk", bandwidth=0.1)
    assert len(caught) == 1
    # Used as they are: the Brier score of the very numbers given, not of renormalised ones.
    wanted = float(((p - np.eye(K)[Y]) ** 2).sum(1).mean())
    assert float(result.risk) == pytest.approx(wanted, rel=1e-14)
    with pytest.warns(UserWarning, match="y_proba"):
        result = propercal.decompose(Y, given, generator="log", method="risk", bandwidth=0.1)
    # −F(q) − ⟨∇F(q), y − q⟩ of F = Σ p log p where Σ q is not 1.
    wanted = float((p.sum(1) - 1 - np.log(p[np.arange(len(Y)), Y])).mean())
    assert float(result.risk) == pytest.approx(wanted, rel=1e-12)


def test_a_warning_points_at_the_caller() -> None:
    with pytest.warns(UserWarning, match="y_proba") as caught:
        propercal.decompose(Y, P * 1.001, generator="brier", method="risk", bandwidth=0.1)
    assert caught[0].filename == __file__


def test_bad_values_elsewhere_than_in_rows_of_weight_0_are_named_by_their_row() -> None:
    """A row of weight 0 is left out, and with it what it holds; rows keep their numbers."""
    weight = put(ONES, 1, 0.0)
    with pytest.raises(ValueError, match=r"y_proba = nan at row 4:"):
        propercal.decompose(Y, put(put(P, 1, np.nan), 4, np.nan), sample_weight=weight)
    with pytest.raises(ValueError, match=r"y_true = 7 at row 4:"):
        propercal.decompose(put(put(Y, 1, -100), 4, 7), P, sample_weight=weight, method="risk")
    with pytest.raises(ValueError, match=r"y_proba = nan at row 1:"):
        propercal.conditional_mean(Y, put(P, 1, np.nan), sample_weight=weight, bandwidth=0.1)


def test_no_wrong_number_after_a_refusal() -> None:
    """A refused call leaves nothing behind: the same call, corrected, equals a first call."""
    first = propercal.decompose(Y, P, method="risk", bandwidth=0.1).calibration_error
    with pytest.raises(ValueError, match="y_proba"):
        propercal.decompose(Y, P / 2, method="risk", bandwidth=0.1)
    assert propercal.decompose(Y, P, method="risk", bandwidth=0.1).calibration_error == first


@pytest.mark.parametrize("argument", ["y_true", "y_proba", "sample_weight"])
def test_masked_entries_are_refused(argument: str) -> None:
    data = {"y_true": Y_HARD, "y_proba": P_HARD, "sample_weight": np.ones(len(Y_HARD))}
    mask = np.zeros(data[argument].shape, dtype=bool)
    mask[3] = True
    data[argument] = np.ma.masked_array(data[argument], mask=mask)
    with pytest.raises(ValueError, match=rf"^{argument} = masked entries at row 3\b"):
        by_risk(data.pop("y_true"), data.pop("y_proba"), bandwidth=0.05, **data)


@pytest.mark.parametrize("change", [{"labels": {"a", "b", "c"}}, {"labels": 5}, {"labels": [["a"], ["b"], ["c"]]}])
def test_labels_need_an_order(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^labels = "):
        by_risk(np.array(list("abc"))[Y_HARD], P_HARD, bandwidth=0.05, **change)


def test_column_names_that_name_classes_differ() -> None:
    frame = pd.DataFrame(P_HARD, columns=["a", "a", "b"])
    with pytest.raises(ValueError, match=r"^y_proba = columns named"):
        by_risk(np.array(list("aab"))[Y_HARD], frame, bandwidth=0.05)


def test_flags_are_flags() -> None:
    for name in ("exclude_self", "from_logits"):
        with pytest.raises(ValueError, match=rf"^{name} = 'no'"):
            by_risk(Y_HARD, P_HARD, bandwidth=0.05, **{name: "no"})
    with pytest.raises(ValueError, match=r"^confidence_level"):
        by_risk(Y_HARD, P_HARD, bandwidth=0.05, confidence_level="0.9")


def test_an_enormous_label_is_named_as_it_is() -> None:
    y = Y_HARD.astype(float)
    y[4] = 1e300
    with pytest.raises(ValueError, match=r"1e\+300 at row 4"):
        by_risk(y, P_HARD, bandwidth=0.05)


def test_a_weight_that_requires_a_gradient_is_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"^sample_weight = a tensor that requires a gradient"):
        by_risk(Y_HARD, torch.tensor(P_HARD), bandwidth=0.05, sample_weight=torch.ones(len(Y_HARD), requires_grad=True))


@pytest.mark.filterwarnings("ignore:600 of 600 rows share their prediction")
@pytest.mark.filterwarnings("ignore:y_proba has columns, read as those of the classes")
def test_the_number_of_threads_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROPERCAL_NUM_THREADS", "many")
    p = np.repeat(P_HARD, 10, axis=0)
    with pytest.raises(ValueError, match="PROPERCAL_NUM_THREADS = 'many'"):
        by_risk(np.repeat(Y_HARD, 10), p, bandwidth=0.05, labels=[0, 1, 2])


@pytest.mark.parametrize("bandwidth", [1e-14, 0.9e-9, 1.1e9, 1e300])
def test_bandwidths_without_meaning(bandwidth: float) -> None:
    with pytest.raises(ValueError, match=r"^bandwidth = "):
        by_risk(Y_HARD, P_HARD, bandwidth=bandwidth)


@pytest.mark.parametrize("argument", ["y_true", "y_proba"])
def test_masks_of_rows_in_a_list_are_refused(argument: str) -> None:
    proba = np.full((6, 2), 0.5)
    rows = [np.ma.masked_array(row, mask=[i == 4, False]) for i, row in enumerate(np.eye(2)[[0, 1] * 3] if argument == "y_true" else proba)]
    data: dict[str, Any] = {"y_true": np.array([0, 1] * 3), "y_proba": proba, argument: rows}
    with pytest.raises(ValueError, match=rf"^{argument} = masked entries at row 4\b"):
        propercal.decompose(**data)


def test_masked_tensors_and_bytes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^y_true = a bytes"):
        propercal.decompose(bytes([0, 1, 1]), np.full(3, 0.5))
    torch = pytest.importorskip("torch")
    data = torch.full((3, 2), 0.5)
    with pytest.warns(UserWarning, match="MaskedTensors"):
        masked = torch.masked.masked_tensor(data, data > 0)
    with pytest.raises(ValueError, match=r"^y_proba = a masked tensor"):
        propercal.decompose([0, 1, 1], masked)
