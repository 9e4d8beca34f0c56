"""Assertions for tests of users: when they fail, what they say, what they refuse."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import propercal
from propercal import calibration_test, decompose, paired_difference
from propercal.simulation import TemperatureScaledSimplex
from propercal.testing import assert_calibrated, assert_no_worse_calibrated

Y, P, TRUE = TemperatureScaledSimplex(3).sample(400, random_state=0)
#: A mild error: powers of the true probabilities.
MILD = TRUE**1.15 / (TRUE**1.15).sum(1, keepdims=True)


def message(*arguments: Any, assertion: Any = assert_calibrated, **options: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        assertion(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
@pytest.mark.parametrize("proba", [P, MILD, TRUE], ids=["sharp", "mild", "true"])
def test_it_fails_where_the_test_rejects(notion: str, proba: Any) -> None:
    """With the same seed it is the test, and fails from its p-value on."""
    options: dict[str, Any] = {"notion": notion, "n_resamples": 99, "random_state": 3}
    pvalue = calibration_test(Y, proba, **options).pvalue
    message(Y, proba, alpha=min(pvalue, 0.49), **options) if pvalue < 0.5 else None
    if pvalue > 0.01:
        assert_calibrated(Y, proba, alpha=np.nextafter(min(pvalue, 0.49), 0), **options)


def test_the_same_rows_give_the_same_answer_in_every_run() -> None:
    first = message(Y, P)
    assert first == message(Y, P)
    assert "same labels are drawn each time" in first.replace("\n  ", " ")
    assert "random_state=0 draws the same ones" in message(Y, P, random_state=None).replace("\n  ", " ")


def test_the_message_shows_test_decomposition_and_what_to_do() -> None:
    text = message(Y, P, alpha=0.02)
    assert text.startswith("the predictions are not calibrated: p-value 0.001, at most alpha = 0.02\n")
    assert str(calibration_test(Y, P, random_state=0)) in text
    result = decompose(Y, P, confidence_level=0.96)
    assert str(result) in text
    assert f"over-confidence {result.direction().over_confidence:.4g}" in text
    assert "What to do:" in text
    assert "groups=" in text
    assert "max_calibration_error" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_message_knows_what_was_said_already() -> None:
    text = message(Y, P, groups=np.arange(400) // 2, max_calibration_error=0.001)
    assert "say which do by groups" not in text
    assert "a larger max_calibration_error" in text


def test_an_error_that_is_allowed_lets_pass_what_is_not_shown_to_be_larger() -> None:
    low, high = decompose(Y, P, confidence_level=0.98).interval("calibration_error")
    assert low > 0.01
    assert_calibrated(Y, P, max_calibration_error=np.nextafter(low, 1))
    assert_calibrated(Y, P, max_calibration_error=high)
    text = message(Y, P, max_calibration_error=np.nextafter(low, 0))
    assert f"at least {low:.3g}, more than max_calibration_error = " in text
    # It has to be seen at all: the test rejects too.
    assert_calibrated(Y, TRUE, max_calibration_error=1e-9)


def test_infinite_losses_are_more_than_any_error_that_is_allowed() -> None:
    y, p = np.array([0, 1] * 30), np.full(60, 0.5)
    p[:2] = 1.0, 0.4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = message(y, p, max_calibration_error=100)
    assert "probability 0, at row 0" in text.replace("\n", " ")
    assert "at least inf" in text
    # Of a bounded loss the error is finite.
    with pytest.warns(UserWarning, match="probability 0"):
        assert_calibrated(y, p, max_calibration_error=0.5, generator="brier")


def test_what_is_warned_of_is_warned_of_where_it_passes() -> None:
    with pytest.warns(UserWarning, match=r"do not quite sum|sum") as caught:
        assert_calibrated(Y[:100], TRUE[:100] * (1 + 1e-4))
    assert caught[0].filename == __file__


def test_few_rows_are_tested_but_have_no_decomposition() -> None:
    y, p = np.zeros(12, dtype=int), np.full(12, 0.9)
    text = message(y, p)
    assert "no terms: " in text
    assert "20 or more" in text
    # What is allowed cannot be compared with an estimate that is not there.
    with pytest.raises(ValueError, match="20 or more"):
        assert_calibrated(y, p, max_calibration_error=0.1)


SITES = np.where(np.arange(400) < 100, "north", np.where(np.arange(400) < 350, "south", "west"))
MIXED = np.where(SITES[:, None] == "south", P, TRUE)


def test_each_subgroup_has_to_be_calibrated() -> None:
    assert_calibrated(Y, TRUE, subgroups=SITES)
    text = message(Y, MIXED, subgroups=SITES)
    head = text.splitlines()[0]
    assert "'south'" in head
    assert "adjusted for 4 sets of rows" in head
    assert "'north'" not in head
    assert "'west'" not in head
    assert str(decompose(Y[SITES == "south"], P[SITES == "south"], confidence_level=1 - 2 * 0.01 / 4)) in text
    assert re.search(r"^south +250 +0\.\d+ ", text, re.MULTILINE)


def test_subgroups_that_all_share_an_error_fail_together_too() -> None:
    """What is too small to be seen in any of many subgroups is seen in all rows."""
    parts = np.arange(400) % 25
    assert "'all rows'" in message(Y, P, subgroups=parts).splitlines()[0]


def test_a_subgroup_may_have_any_name() -> None:
    named = np.where(SITES == "south", "all rows", SITES)
    assert re.search(r"^all rows +250 ", message(Y, MIXED, subgroups=named), re.MULTILINE)


def test_what_is_allowed_is_compared_subgroup_by_subgroup() -> None:
    rows = SITES == "south"
    low, _ = decompose(Y[rows], P[rows], confidence_level=1 - 2 * 0.01 / 4).interval("calibration_error")
    assert_calibrated(Y, MIXED, subgroups=SITES, max_calibration_error=np.nextafter(low, 1))
    assert "'south'" in message(Y, MIXED, subgroups=SITES, max_calibration_error=np.nextafter(low, 0))


def test_subgroups_are_read_as_those_of_decompose_groups() -> None:
    """Columns of a table, marks that overlap; names of arguments are those of this function."""
    assert "'site=south'" in message(Y, MIXED, subgroups={"site": SITES, "half": np.arange(400) % 2})
    marks = np.stack([SITES == "south", SITES != "west"], axis=1)
    assert "for [0" in message(Y, MIXED, subgroups=marks).replace("'", "")
    with pytest.raises(ValueError, match=r"^subgroups = an array of shape \(399,\)"):
        assert_calibrated(Y, MIXED, subgroups=SITES[:-1])
    with pytest.raises(ValueError, match=r"^subgroups = a single row in 'one'"):
        assert_calibrated(Y, MIXED, subgroups=np.where(np.arange(400) == 0, "one", "others"))


def test_rows_that_depend_on_each_other_are_groups() -> None:
    """Each row ten times: as one, there is nothing to see; as independent rows there is."""
    rows = np.repeat(np.arange(60), 10)
    y, p = Y[rows], TRUE[rows]
    options: dict[str, Any] = {"n_resamples": 199, "alpha": 0.01}
    assert_calibrated(y, p, groups=rows, **options)
    assert_calibrated(y, p, groups=rows, subgroups=np.where(rows < 30, "a", "b"), **options)
    with pytest.raises(ValueError, match="groups = 10 groups in subgroup 'a'"):
        assert_calibrated(y, p, groups=rows, subgroups=np.where(rows < 10, "a", "b"), **options)


def test_kinds_of_rows_are_no_groups_and_the_error_says_what_they_are() -> None:
    with pytest.raises(ValueError, match="groups = 3 groups") as caught:
        assert_calibrated(Y, TRUE, groups=SITES)
    assert "subgroups=" in caught.value.__notes__[0]


def test_weights_class_names_logits_and_tensors_are_read_as_everywhere() -> None:
    names = np.array(["a", "b", "c"])
    assert_calibrated(names[Y], TRUE[:, [2, 0, 1]], labels=["c", "a", "b"])
    assert_calibrated(Y, np.log(TRUE), from_logits=True, sample_weight=np.ones(400))
    with pytest.raises(TypeError, match="did you mean 'sample_weight'"):
        assert_calibrated(Y, TRUE, sample_weights=np.ones(400))  # type: ignore[call-arg]
    torch = pytest.importorskip("torch")
    assert message(torch.tensor(Y), torch.tensor(P)).splitlines()[0] == message(Y, P).splitlines()[0]
    assert "larger by" in message(torch.tensor(Y), torch.tensor(P), torch.tensor(TRUE), assertion=assert_no_worse_calibrated)


@pytest.mark.parametrize("assertion", [assert_calibrated, lambda y, p, **o: assert_no_worse_calibrated(y, p, p, **o)], ids=["calibrated", "no worse"])
@pytest.mark.parametrize("alpha", [0, 1, 0.5, -0.1, np.nan, "0.05", None, True, 5])
def test_a_probability_of_a_false_alarm_is_one(assertion: Any, alpha: Any) -> None:
    with pytest.raises(ValueError, match=r"^alpha = .*: expected the probability of a false alarm"):
        assertion(Y, TRUE, alpha=alpha)


def test_an_alpha_that_no_p_value_reaches_is_refused() -> None:
    with pytest.raises(ValueError, match=r"alpha = 0.0001: expected at least 0.001.*n_resamples=99999"):
        assert_calibrated(Y, P, alpha=0.0001)
    message(Y, P, alpha=0.01, n_resamples=99)
    with pytest.raises(ValueError, match="n_resamples = 0"):
        assert_calibrated(Y, P, n_resamples=0)


@pytest.mark.parametrize("value", [-0.1, np.nan, np.inf, "0.1", None, True])
def test_what_is_allowed_is_a_number(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^max_calibration_error = "):
        assert_calibrated(Y, P, max_calibration_error=value)
    with pytest.raises(ValueError, match=r"^margin = "):
        assert_no_worse_calibrated(Y, P, TRUE, margin=value)


@pytest.mark.parametrize("notion", ["canonical", "top-label"])
def test_a_candidate_fails_where_the_difference_is_beyond_chance(notion: str) -> None:
    options: dict[str, Any] = {"notion": notion, "generator": "brier"}
    found = paired_difference(Y, P, TRUE, **options)
    one_sided = found.pvalue / 2
    assert found.difference > 0
    assert 1e-12 < one_sided < 0.49
    text = message(Y, P, TRUE, assertion=assert_no_worse_calibrated, alpha=one_sided * 1.0001, **options)
    assert f"p-value {one_sided:.3g}, at most alpha" in text
    assert f"larger by {found.difference:.3g}\n" in text
    assert_no_worse_calibrated(Y, P, TRUE, alpha=one_sided * 0.9999, **options)
    assert_no_worse_calibrated(Y, TRUE, P, alpha=0.49, **options)


def test_the_message_of_a_candidate_shows_three_terms() -> None:
    text = message(Y, P, TRUE, assertion=assert_no_worse_calibrated)
    terms = ["calibration_error", "risk", "refinement"]
    assert str(paired_difference(Y, P, TRUE, term=terms, confidence_level=0.98)) in text
    assert "a is the candidate, b the reference" in text


def test_a_margin_is_a_difference_that_does_not_matter() -> None:
    low, _ = paired_difference(Y, P, TRUE, confidence_level=0.98).interval()
    assert_no_worse_calibrated(Y, P, TRUE, margin=low + 1e-9)
    text = message(Y, P, TRUE, assertion=assert_no_worse_calibrated, margin=low - 1e-9)
    assert "by more than margin = " in text


def test_a_model_is_no_worse_than_itself() -> None:
    assert_no_worse_calibrated(Y, P, P, alpha=0.49)
    assert_no_worse_calibrated(Y, P, P.copy(), margin=0.1, groups=np.arange(400) // 3)


@pytest.mark.filterwarnings("ignore:.*infinite")
@pytest.mark.filterwarnings("ignore:.*loss is inf")
def test_an_infinite_error_is_worse_than_a_finite_one() -> None:
    certain = TRUE.copy()
    certain[0] = np.eye(3)[(Y[0] + 1) % 3]
    assert "larger by inf" in message(Y, certain, TRUE, assertion=assert_no_worse_calibrated)
    assert_no_worse_calibrated(Y, TRUE, certain)
    with pytest.raises(ValueError, match="generator = log: expected one whose loss is finite"):
        assert_no_worse_calibrated(Y, certain, certain)


def test_models_are_named_by_the_arguments_of_this_function() -> None:
    with pytest.raises(ValueError, match="a column of reference"):
        assert_no_worse_calibrated(Y, P, TRUE[:, :2])
    with pytest.raises(ValueError, match="candidate"):
        assert_no_worse_calibrated(Y, P[:-1], TRUE)


WITHOUT = """
import sys
sys.modules["hypothesis"] = sys.modules["pytest"] = None
import numpy as np
from propercal.testing import assert_calibrated, assert_no_worse_calibrated
y, p = np.array([0, 1] * 50), np.full(100, 0.5)
assert_calibrated(y, p)
assert_no_worse_calibrated(y, p, p)
try:
    assert_calibrated(y, np.full(100, 0.9))
except AssertionError as error:
    print(error)
assert not {"torch", "sklearn", "matplotlib", "_pytest"} & set(sys.modules)
print(sorted(name for name in dir(__import__("propercal.testing").testing) if name.startswith("assert")))
"""


def test_neither_hypothesis_nor_pytest_is_needed() -> None:
    run = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("the predictions are not calibrated")
    assert "['assert_calibrated', 'assert_no_worse_calibrated']" in run.stdout


@pytest.mark.slow
def test_a_failure_in_pytest_points_at_the_line_of_the_user(tmp_path: Path) -> None:
    """Nothing of this package's own code is shown."""
    (tmp_path / "test_model.py").write_text(
        "import numpy as np\nfrom propercal.testing import assert_calibrated\n\n\ndef test_model():\n"
        "    assert_calibrated(np.array([0, 1] * 50), np.full(100, 0.9))\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "test_model.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stdout + run.stderr
    assert ">       assert_calibrated(" in run.stdout or ">   " in run.stdout
    assert "the predictions are not calibrated: p-value" in run.stdout
    shown = [line for line in run.stdout.splitlines() if "propercal" in line and ".py:" in line]
    assert shown == []


def test_names_that_are_not_there_are_no_attributes() -> None:
    assert not hasattr(propercal.testing, "assert_calibratd")
    assert set(propercal.testing.__all__) <= set(dir(propercal.testing))
