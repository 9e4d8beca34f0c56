"""Methods as objects: what they take, refuse, share and say of themselves."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import numpy as np
import pytest

import propercal
from propercal import CalibrationSketch, conditional_mean, decompose, paired_difference
from propercal._array import namespace
from propercal._data.dependence import groups
from propercal._data.predictions.notions import Notion, Problems, as_notion
from propercal._methods.terms import ProblemTerms, Terms, complete_terms, mean_terms
from propercal.generators import BregmanGenerator
from propercal.methods import METHODS, Debiased, Direct, Method, Risk, as_method, with_settings
from propercal.recalibration import TemperatureScaling
from propercal.result import TERMS

RNG = np.random.default_rng(3)
P = RNG.dirichlet([1.0, 1.0, 1.0], size=60)
Y = (RNG.uniform(size=60)[:, None] > np.cumsum(P, axis=1)).sum(axis=1)
OBJECTS: list[Method] = [
    Debiased(), Debiased(n_folds=4, kernel=None), Debiased(bandwidth=0.1, random_state=7),
    Direct(bandwidth=0.05), Direct(kernel="uniform-bins", bandwidth=0.5), Risk(), Risk(exclude_self=False, bandwidth=0.2),
]


def numbers(result: Any) -> list[float]:
    return [getattr(result, name) for name in TERMS]


@pytest.mark.parametrize("method", OBJECTS, ids=repr)
def test_an_object_is_its_name_with_its_settings(method: Method) -> None:
    assert as_method(method.name, **method.given()) == method
    by_name = decompose(Y, P, method=method.name, **method.given())
    assert numbers(decompose(Y, P, method=method)) == numbers(by_name)
    assert by_name.method == method.name


@pytest.mark.parametrize("method", OBJECTS, ids=repr)
def test_a_method_is_read_again_from_its_repr_and_from_a_pickle(method: Method) -> None:
    known = {"Debiased": Debiased, "Direct": Direct, "Risk": Risk}
    assert eval(repr(method), known) == method  # noqa: S307
    assert pickle.loads(pickle.dumps(method)) == method  # noqa: S301
    with pytest.raises(FrozenInstanceError):
        method.kernel = None  # type: ignore[attr-defined]


def test_settings_are_keywords() -> None:
    with pytest.raises(TypeError):
        Risk("dirichlet")  # type: ignore[call-arg]


def as_list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("generator", ["brier", ["log", "brier"]], ids=["one", "list"])
def test_several_methods_give_what_each_gives_alone(generator: Any) -> None:
    methods: list[Any] = ["risk", Direct(bandwidth=0.1), Debiased(n_folds=4)]
    several: list[Any] = decompose(Y, P, method=methods, generator=generator)
    for method, found in zip(methods, several, strict=True):
        alone = decompose(Y, P, method=method, generator=generator)
        assert list(map(numbers, as_list(found))) == list(map(numbers, as_list(alone)))


def test_several_methods_read_the_data_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = groups.validate_groups

    def counting(*given: Any, **options: Any) -> Any:
        calls.append(1)
        return real(*given, **options)

    monkeypatch.setattr("propercal.decomposition.validate_groups", counting)
    decompose(Y, P, method=["risk", "direct"], bandwidth=0.1)
    assert len(calls) == 1


def sketch(**options: Any) -> Any:
    whole = CalibrationSketch(3, bandwidth=0.05)
    whole.update(Y, P)
    return whole.result(**options)


def lazily(**options: Any) -> Any:
    da = pytest.importorskip("dask.array")
    return decompose(da.from_array(Y, chunks=20), da.from_array(P, chunks=(20, 3)), notion="classwise", **options)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "decompose": lambda **o: decompose(Y, P, **o),
    "calibration_error": lambda **o: propercal.calibration_error(Y, P, **o),
    "refinement": lambda **o: propercal.refinement(Y, P, **o),
    "sharpness": lambda **o: propercal.sharpness(Y, P, **o),
    "dask": lazily,
}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"method": "risk", "n_folds": "many"}, r"^n_folds = 'many'.*method=\"risk\".*'bandwidth'.*method='debiased'"),
    ({"method": "direct", "recalibrator": object()}, "^recalibrator = .*'debiased'"),
    ({"method": "debiased", "exclude_self": False}, "^exclude_self = False.*'direct' or 'risk'"),
    ({"method": "risk", "bandwith": 0.1}, "^bandwith = 0.1.*did you mean 'bandwidth'"),
    ({"n_fold": 4}, "^n_fold = 4.*did you mean 'n_folds'"),
    ({"method": Risk(bandwidth=0.1), "bandwidth": 0.2}, r"^bandwidth = 0.2: expected no settings beside"),
    ({"method": "riks"}, "^method = 'riks'.*did you mean 'risk'"),
]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("options", "message"), REFUSED, ids=[str(list(o)) for o, _ in REFUSED])
def test_a_setting_that_a_method_does_not_take_is_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        FUNCTIONS[name](**options)
    assert isinstance(caught.value, TypeError) == (sorted(options) != ["method"])


@pytest.mark.parametrize(("options", "message"), [
    ({"exclude_self": False}, "^exclude_self = False"),
    ({"n_fold": 4}, "did you mean 'n_folds'"),
    ({"method": "risk"}, "^method = 'risk': expected one whose terms have intervals"),
    ({"method": Direct()}, "^method = Direct"),
])
def test_a_comparison_takes_methods_with_intervals(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paired_difference(Y, P, P[::-1], **options)
    expected = paired_difference(Y, P, P[::-1], n_folds=4)
    found = paired_difference(Y, P, P[::-1], method=Debiased(n_folds=4))
    assert (found.difference, found.pvalue) == (expected.difference, expected.pvalue)


@pytest.mark.parametrize(("method", "message"), [
    (Debiased(n_folds=4), "^n_folds = 4: expected 5, as rows were dealt to folds, in a sketch"),
    (Debiased(random_state=None), "^random_state = None: expected 0, as rows were dealt to folds, in a sketch"),
    (Debiased(bandwidth=1e-3), "^bandwidth = 0.001: expected 'auto', or 0.006 or more, in a sketch"),
    (Debiased(algorithm="exact"), "^algorithm = 'exact': expected 'auto' or 'linear'"),
    (Debiased(recalibrator=TemperatureScaling()), "^recalibrator = .*: expected None, the default"),
    (Risk(exclude_self=False), "^exclude_self = False: expected True"),
    (Risk(algorithm="exact"), "^algorithm = 'exact': expected 'auto' or 'linear'"),
    (Risk(bandwidth=0.1), "^bandwidth = 0.1: expected 0.05 or 'auto'"),
], ids=repr)
def test_a_sketch_refuses_what_it_cannot_heed(method: Method, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sketch(method=method)


def test_a_sketch_takes_methods_of_its_own_bandwidth() -> None:
    assert numbers(sketch(method=Risk(bandwidth=0.05, algorithm="linear"))) == numbers(sketch(method="risk"))


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Risk(kernel="dirichle"), "did you mean 'dirichlet'"),
    (lambda: Risk(bandwidth=-1.0), "^bandwidth = -1.0"),
    (lambda: Direct(exclude_self="no"), "^exclude_self = 'no'"),  # type: ignore[arg-type]
    (lambda: Direct(algorithm="exat"), "did you mean 'exact'"),
    (lambda: Debiased(n_folds=2), "^n_folds = 2"),
    (lambda: Debiased(kernel="uniform-bins"), "^kernel = uniform-bins"),
    (lambda: Debiased(random_state="x"), "^random_state = 'x'"),
    (lambda: Debiased(recalibrator=object()), "^recalibrator = "),
    (lambda: as_method(method="debiasd"), "did you mean 'debiased'"),
    (lambda: decompose(Y, P, method=[]), r"^method = \[\]"),
])
def test_a_bad_setting_is_named_when_the_object_is_made(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_defaults_of_other_methods_may_be_said() -> None:
    said = {"recalibrator": None, "n_folds": 5, "random_state": 0, "exclude_self": True}
    for method in METHODS:
        assert as_method(method, **said) == as_method(method)
    assert as_method(Risk(bandwidth=0.3), bandwidth="auto") == Risk(bandwidth=0.3)
    # True is no number of folds, though it equals one.
    with pytest.raises(ValueError, match=r"^random_state = False"):
        as_method("risk", random_state=False)


@dataclass(frozen=True, kw_only=True, repr=False)
class Trusting(Method):
    """A toy: takes the predictions for what happens, so that no risk is calibration error."""

    name = "trusting"
    share: float = 1.0

    def terms(self, problems: Problems, generators: Sequence[BregmanGenerator]) -> list[Terms]:
        parts = []
        for problem in problems:
            xp = namespace(problem.prob)
            nothing = ProblemTerms.of_refinement(problem, generators[0], xp.sum(0 * problem.weight))
            parts.append([
                ProblemTerms.of_refinement(problem, g, self.share * xp.sum(problem.weight * each.loss))
                for g in generators
                for each in [ProblemTerms.of_refinement(problem, g, nothing.estimates[2])]
            ])
        return [complete_terms(mean, "none", np.inf, "none") for mean in mean_terms(parts)]


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top-label"])
def test_a_method_of_a_user_works_wherever_methods_do(notion: str) -> None:
    half, whole = decompose(Y, P, method=[Trusting(share=0.5), Trusting()], notion=notion)
    assert half.calibration_error == pytest.approx(half.risk / 2)
    assert whole.calibration_error == pytest.approx(0, abs=1e-12)
    assert (half.method, repr(Trusting(share=0.5))) == ("trusting", "Trusting(share=0.5)")
    with pytest.raises(ValueError, match=r"^method = Trusting\(\): expected one of the built-in methods"):
        sketch(method=Trusting())


def test_a_notion_of_a_user_works_wherever_notions_do() -> None:
    """The last class against the others is one of the problems of the class-wise notion."""
    classwise = as_notion("classwise")
    last: Any = Notion("last", lambda p: iter(list(classwise.problems(p))[-1:]), lambda means: means[0][:, 1])
    two = np.stack([1 - P[:, 2], P[:, 2]], axis=1)
    for method in METHODS:
        found = decompose(Y, P, notion=last, method=method)
        assert numbers(found) == pytest.approx(numbers(decompose(Y == 2, two, method=method)), rel=1e-9)
        assert found.notion == "last"
    np.testing.assert_allclose(
        propercal.conditional_mean(Y, P, notion=last, bandwidth=0.1),
        propercal.conditional_mean(Y, P, notion="classwise", bandwidth=0.1)[:, 2],
    )
    assert propercal.calibration_test(Y, P, notion=last, n_resamples=9, random_state=0).notion == "last"
    with pytest.raises(ValueError, match=r"^notion = 'last'"):
        CalibrationSketch(3, notion=last, bandwidth=0.1)


def test_a_signature_names_the_settings_that_are_passed_on() -> None:
    def function(first: int, *, last: int = 1, **options: Any) -> Any:
        return first, last, options

    decorated = with_settings(Debiased, Risk)(function)
    known = {**Debiased.defaults(), **Risk.defaults()}
    parameters = inspect.signature(decorated).parameters
    assert list(parameters) == ["first", "last", *known]
    assert {each.kind for each in list(parameters.values())[1:]} == {inspect.Parameter.KEYWORD_ONLY}
    assert {name: parameters[name].default for name in known} == known
    assert decorated(1, last=2, n_folds=3) == (1, 2, {"n_folds": 3})
    for name in ("LAST", "lasst"):
        with pytest.raises(TypeError, match=f"^{name}: expected an argument of function; did you mean 'last'"):
            decorated(1, **{name: 2})


@pytest.mark.parametrize("argument", ["method", "generator"])
def test_one_term_is_of_one_method_and_one_generator(argument: str) -> None:
    several: dict[str, Any] = {"method": ["risk", "direct"], "generator": ["log", "brier"]}
    with pytest.raises(ValueError, match=f"^{argument} = a list: expected one {argument}; call decompose"):
        propercal.refinement(Y, P, bandwidth=0.1, **({"method": "risk"} | {argument: several[argument]}))


@pytest.mark.parametrize("notion", ["canonical", "classwise"])
def test_the_uncertainty_of_the_brier_score_is_unbiased(notion: str) -> None:
    """n / (n − 1) times that of the shares of the classes: the sample variance of each label."""
    share = np.bincount(Y, minlength=3) / len(Y)
    plain = 1 - np.sum(share**2) if notion == "canonical" else np.mean(2 * share * (1 - share))
    unbiased = plain * len(Y) / (len(Y) - 1)
    options: dict[str, Any] = {"generator": "brier", "notion": notion}
    debiased = decompose(Y, P, kernel=None, **options)
    assert debiased.uncertainty == pytest.approx(unbiased, rel=1e-12)
    published = decompose(Y, P, method="risk", bandwidth=0.1, **options)
    assert published.uncertainty == pytest.approx(plain, rel=1e-12)
    for result in (debiased, published):
        assert result.centres["uncertainty"] == pytest.approx(unbiased, rel=1e-12)


@pytest.mark.parametrize("kernel", ["uniform-bins", "quantile-bins"])
def test_a_number_of_bins_is_no_width(kernel: str) -> None:
    """Of 15 as a width, all rows would be one bin."""
    y, p = [0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9]
    for call in (
        lambda: decompose(y, p, method="risk", kernel=kernel, bandwidth=15),
        lambda: Direct(kernel=kernel, bandwidth=15.0),
        lambda: conditional_mean(y, p, kernel=kernel, bandwidth=15),
    ):
        with pytest.raises(ValueError, match="bandwidth = 15: expected the width of the bins, at most 1; pass 1/15 for 15 bins"):
            call()
    # One bin, and a smooth kernel of any width.
    assert Direct(kernel=kernel, bandwidth=1).bandwidth == 1
    assert Direct(bandwidth=15).bandwidth == 15
