"""Every public function that takes data is tried with names that move, and with names against each other, or is said not to be.

`functions_of_data` lists what is tried, and the reasons of what is not stand here.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any

import pandas as pd
import pytest
import xarray as xr

from propercal.plotting import on_front
from propercal.recalibration import IsotonicFunction
from theory_tests.contracts.arranged_data import CLASSES, ROLES
from theory_tests.contracts.functions_of_data import FUNCTIONS
from theory_tests.contracts.test_public_api import of_package, public_modules
from theory_tests.instances import GENERATORS

#: Arguments of any type that are no data.
SETTINGS = frozenset(
    ["algorithm", "ax", "bandwidth", "cls", "event", "exclude_self", "generator", "generators", "ignore_index", "kernel", "key", "kwargs", "labels", "n_folds", "options", "params", "pos_label", "progress", "random_state", "recalibrator", "self", "settings"]
)
#: What annotations of settings consist of: anything else may hold data.
PLAIN = re.compile(
    r"\b(str|int|float|bool|None|Literal|Sequence|Mapping|Iterable|Collection|tuple|list|dict|Callable|Path|os|PathLike|Hashable|dt|date|"
    r"BregmanGenerator|GeneratorLike|Notion|MethodLike|Method|Axes|Figure|Kernel|Unpack|Settings|Dims|Reading|Any)\b|'[a-z]+'|[\[\]|., ()'\"]"
)
RESULT = "a result, or a part of one, is made by the functions that are tried, and holds no rows"
POSITIONS = "rows are told by their positions, as everywhere in scikit-learn; test_sklearn_columns has the columns of what is predicted"
LAWS = "laws of generators take points of a simplex"
FORMS = "it makes forms of arrays for tests"
READ = "it takes problems, which are made of data that were read"
#: Functions that take data, or may, and are not tried by name, with the reason.
EXEMPT = {
    "BregmanGenerator.*": "formulas of points of a simplex: two tables are refused, as is tried below",
    "generators.*": "formulas of points of a simplex: two tables are refused, as is tried below",
    "Decomposition.from_*": RESULT,
    "methods.*": READ,
    "conditional.estimate": READ,
    "experiments.*": "studies simulate their data, and name the dimensions of their own datasets",
    "simulation.*": "models draw data, and take arrays of points of a simplex, whose classes are exchangeable",
    "testing.laws.*": LAWS,
    "testing.report.*": LAWS,
    "testing.parametrize.*": LAWS,
    "testing.Generator*": LAWS,
    "testing.array_forms": FORMS,
    "testing.label_forms": FORMS,
    "testing.transforms.*": FORMS,
    "torchmetrics.*": "tensors have no names, and all else is refused, as is tried below",
    "lightning.*": "tensors have no names: what is kept of an epoch is LeastRefinement's, which is tried",
    "sketch.dask.*": "decompose hands collections of Dask on to it: test_dask_input and test_dask_rows move and rename their rows and columns",
    "cli.files.PredictionFile.*": "what was read of a file, in which rows and columns are of one table",
    "information.*": "tables of probabilities, whose values and classes test_named_populations has in one order, or refused",
    "plotting.on_front": "two vectors without classes, which are tried below",
    "plotting.pareto_front": "two vectors without classes, which on_front brings into one order too",
    "plotting.convergence": RESULT,
    "plotting.decomposition_bars": RESULT,
    "plotting.evidence_over_time": RESULT,
    "plotting.forest": RESULT,
    "plotting.layer_curves": RESULT,
    "recalibration.*.predict": "the class, or the value, of each row by itself, as predict_proba has it",
    "recalibration.IsotonicFunction.*": "arrays without names: others are refused, as is tried below",
    "sklearn.DecompositionDisplay.*": POSITIONS,
    "sklearn.ReliabilityDisplay.*": POSITIONS,
    "sklearn.RecalibratedClassifier.*": POSITIONS,
    "training.LeastRefinement.restore": "a module, whose weights are no rows",
    "xarray.*Accessor.*": "accessors hand all on to the functions of the same name, which are tried, as is decompose of both",
}


def public_callables() -> Iterator[tuple[str, Callable[..., Any], bool]]:
    """Yield the name of each public function or method, itself, and whether it makes a result."""
    seen: set[int] = set()
    for module in sorted(public_modules(), key=lambda each: (each.__name__.count("."), each.__name__)):
        for name in sorted(module.__all__):
            value = getattr(module, name)
            here = f"{module.__name__}.{name}".removeprefix("propercal.")
            if id(value) in seen:
                continue
            seen.add(id(value))
            if inspect.isfunction(value):
                yield here, value, False
            elif inspect.isclass(value) and of_package(value) and not issubclass(value, enum.Enum):
                for method, function in methods(value):
                    yield f"{here}.{method}", function, method == "__init__"


def methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield methods that the package itself defines."""
    names = {name for owner in cls.__mro__ if of_package(owner) for name in vars(owner)}
    for name in sorted(name for name in names if not name.startswith("_") or name in ("__init__", "__call__")):
        member = inspect.getattr_static(cls, name)
        function = getattr(member, "__func__", member)
        if inspect.isfunction(function):
            yield name, function


def data_of(function: Callable[..., Any]) -> list[str]:
    """The arguments that may be data, by their annotations."""
    given = [each for each in inspect.signature(function).parameters.values() if each.name not in SETTINGS]
    return [each.name for each in given if each.annotation is each.empty or "Any" in str(each.annotation) or PLAIN.sub("", str(each.annotation))]


def is_made_here(name: str) -> bool:
    """Whether a constructor is that of what the package itself makes."""
    return name.endswith(".__init__") and not name.startswith(("CalibrationSketch", "CalibrationMonitor"))


def test_every_function_that_takes_data_is_tried() -> None:
    tried = {name for function in FUNCTIONS.values() for name in function.covers}
    missing = [
        f"{name}({', '.join(data_of(function))})"
        for name, function, constructor in public_callables()
        if data_of(function) and name not in tried and not any(fnmatchcase(name, each) for each in EXEMPT) and not (constructor and is_made_here(name))
    ]
    assert not missing, "add to functions_of_data, so that rows and columns are tried in any order, or say here why not:\n" + "\n".join(missing)


def test_what_is_listed_is_public() -> None:
    names = {name: data_of(function) for name, function, _ in public_callables()}
    for function in FUNCTIONS.values():
        assert set(function.covers) <= {*names, "Decomposition.contributions"}, function.covers
    for pattern, why in EXEMPT.items():
        assert any(fnmatchcase(name, pattern) and data for name, data in names.items()), pattern
        assert len(why) > 20


def test_arguments_of_any_type_are_data_unless_they_are_settings() -> None:
    def seen(y_true: object, covariates: object, n_bins: int = 5, *, labels: object = None) -> None:
        """Take data and settings."""

    assert data_of(seen) == ["y_true", "covariates"]


# ------------------------------------------------------------------ what is exempt as it refuses names

TABLE = pd.DataFrame(ROLES["p"], columns=CLASSES)


@pytest.mark.parametrize("name", GENERATORS)
def test_generators_take_no_tables(name: str) -> None:
    generator = GENERATORS[name]
    held: Any
    for held in (TABLE, xr.DataArray(TABLE)):
        # Of one argument alone nothing can be mixed up.
        with pytest.raises(ValueError, match=r"^p = a Data(Frame|Array): expected an array .*; pass p\.to_numpy\(\)"):
            generator.divergence(held, held)
        with pytest.raises(ValueError, match=r"^q = a Data(Frame|Array): expected an array .*; pass q\.to_numpy\(\)"):
            generator.loss(held, ROLES["y"])


def test_metrics_of_tensors_take_no_tables() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchmetrics")
    from propercal.torchmetrics import ProperCalibrationError, StreamingCalibrationError

    codes = torch.zeros(len(TABLE), dtype=torch.int64)
    for metric in (ProperCalibrationError(), StreamingCalibrationError(3)):
        with pytest.raises(ValueError, match=r"^preds = a DataFrame: expected a tensor"):
            metric.update(TABLE, codes)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"^target = a Series: expected a tensor"):
            metric.update(torch.as_tensor(ROLES["p"]), pd.Series(codes.numpy()))  # type: ignore[arg-type]


def test_points_of_a_front_are_matched_by_their_index() -> None:
    accuracy, error = pd.Series([0.9, 0.8, 0.7], list("xyz")), pd.Series([0.2, 0.1, 0.3], list("xyz"))
    for other in (error, error[list("zxy")], error.to_numpy()):
        assert on_front(accuracy, other) == [1, 0]
    with pytest.raises(ValueError, match=r"^error = "):
        on_front(accuracy, error.rename({"x": "v"}))


def test_an_isotonic_function_is_fitted_to_arrays() -> None:
    x, target, weight = ROLES["of_hit"], (ROLES["hit"] == "hit").astype(float), ROLES["w"]
    IsotonicFunction.fitted(x, target, weight)
    for i, name in enumerate(("x", "target", "weight")):
        given = [x, target, weight]
        given[i] = pd.Series(given[i])[::-1]
        with pytest.raises(ValueError, match=rf"^{name} = a Series: expected an array of NumPy"):
            IsotonicFunction.fitted(*given)
