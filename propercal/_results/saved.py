"""Results as they are written down, and read again with all that their intervals are made from."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from propercal._data.inputs.settings import check_confidence_level
from propercal._data.words.messages import bad_value
from propercal._results.estimates import (
    SKILL_SCORE,
    TERM_NAMES,
    EstimatedTerms,
    intervals,
    number,
)
from propercal.generators.base import BregmanGenerator
from propercal.generators.registry import as_generator, available

if TYPE_CHECKING:
    import xarray as xr


#: To be raised where what is written changes; results of other versions are refused.
FORMAT_VERSION = 1

_SETTINGS: dict[str, type] = {
    **dict.fromkeys(("notion", "method", "kernel", "algorithm"), str),
    "bandwidth": float,
    **dict.fromkeys(("n_samples", "n_classes"), int),
}
#: Of a method that has them, in units of the loss, and others.
_IN_UNITS = ("lower_bound", "missed", "label_error", "noise_floor")
_SHARES = ("kernel_share", "misfit_pvalue", "skill_score_error")
_COUNTS = ("kernel_rows", "training_rows", "n_groups")
#: Of numbers and settings, which xarray puts together from several datasets.
_DIGEST = "digest"
_WHOLE = (
    "one result as to_xarray() returned it, not selected from several, or computed from them",
    "read each result before, and take what is computed as numbers, without settings",
)


def as_mapping(result: EstimatedTerms) -> dict[str, Any]:
    """Return a result as objects that JSON knows."""
    terms = {term: _written(number(getattr(result, term))) for term in TERM_NAMES}
    floor = result.detection_floor
    return {
        "format_version": FORMAT_VERSION,
        "generator": result.generator.name,
        **{name: _written(getattr(result, name)) for name in _SETTINGS},
        **_given(result, _COUNTS),
        **terms,
        "centres": {term: _written(value) for term, value in result.centres.items()},
        "standard_errors": {term: _written(x) for term, x in result.standard_errors.items()},
        "confidence_level": result.confidence_level,
        "intervals": {term: list(ends) for term, ends in intervals(result).items()},
        **_given(result, (*_IN_UNITS, *_SHARES)),
        **({} if result.skill_score_error is None else {SKILL_SCORE: number(result.skill_score)}),
        **({} if math.isnan(floor) else {"detection_floor": floor}),
        "infinite_loss_rows": [
            None if row is None else int(row) for row in result.infinite_loss_rows
        ],
    }


def of_json(saved: object, generator: object) -> dict[str, Any]:
    """Return the fields of a result from text of JSON."""
    if not isinstance(saved, str | bytes | bytearray):
        raise _no_result(f"a {type(saved).__name__}", "text; from_dict reads what is parsed")
    try:
        parsed = json.loads(saved)
    except ValueError as error:
        raise _no_result(f"text that is no JSON ({error})", "what to_json() wrote") from error
    return of_mapping(parsed, generator)


def of_mapping(saved: Mapping[str, Any], generator: object) -> dict[str, Any]:
    """Return the fields of a result from what :func:`as_mapping` made."""
    if not isinstance(saved, Mapping):
        raise _no_result(f"a {type(saved).__name__}", "an object, such as json.loads(...) gives")
    if "format_version" not in saved and "n_infinite_loss_rows" in saved:
        raise _no_result(
            "the flat numbers of to_dict(), which are for logs",
            "what json.loads makes of to_json(), which has all that intervals are made from",
        )
    _check_version(saved.get("format_version"))
    rows = _field(saved, "infinite_loss_rows")
    if not isinstance(rows, list | tuple):
        raise _no_result(repr(rows), "a list of rows", "infinite_loss_rows")
    return {
        **_common(saved, generator),
        **{term: _float(saved, term) for term in TERM_NAMES},
        **{name: _numbers(saved, name) for name in ("centres", "standard_errors")},
        **{name: _float_or_none(saved, name) for name in (*_IN_UNITS, *_SHARES)},
        "detection_floor": _float(saved, "detection_floor", math.nan),
        "infinite_loss_rows": tuple(rows),
    }


def _common(saved: Mapping[str, Any], generator: object) -> dict[str, Any]:
    """Return what is written alike in both forms."""
    return {
        "generator": _generator(_field(saved, "generator"), generator),
        **{name: _typed(saved, name, kind) for name, kind in _SETTINGS.items()},
        **{name: _typed(saved, name, int) for name in _COUNTS if saved.get(name) is not None},
        "confidence_level": check_confidence_level(_float(saved, "confidence_level")),
    }


def as_dataset(result: EstimatedTerms) -> xr.Dataset:
    """Return a result as scalars and settings."""
    import xarray as xr

    terms: dict[str, Any] = {name: ((), number(getattr(result, name))) for name in TERM_NAMES}
    for name, ends in intervals(result).items():
        terms[f"{name}_interval"] = ("bound", list(ends))
    for name, error in result.standard_errors.items():
        terms[f"{name}_standard_error"] = ((), error)
    for name, centre in result.centres.items():
        if centre != terms[name][1]:
            terms[f"{name}_centre"] = ((), centre)
    terms |= {name: ((), value) for name, value in _given(result, _IN_UNITS, plain=True).items()}
    if result.noise_floor is not None:
        terms["detection_floor"] = ((), result.detection_floor)
    units = {"units": result.units} if result.units else {}
    shares: dict[str, Any] = {
        name: ((), value) for name, value in _given(result, _SHARES, plain=True).items()
    }
    if result.skill_score_error is not None:
        shares[SKILL_SCORE] = ((), number(result.skill_score))
        shares[f"{SKILL_SCORE}_interval"] = ("bound", list(result.interval(SKILL_SCORE)))
    return xr.Dataset(
        {name: (*variable, units) for name, variable in terms.items()} | shares,
        coords={"bound": ["lower", "upper"]} if result.standard_errors else {},
        attrs={
            "format_version": FORMAT_VERSION,
            "generator": repr(result.generator),
            **{name: getattr(result, name) for name in _SETTINGS},
            "confidence_level": result.confidence_level,
            "infinite_loss_rows": ", ".join(map(str, result.infinite_loss_rows)),
            **_given(result, _COUNTS, plain=True),
            _DIGEST: _digest(vars(result), repr(result.generator)),
        },
    )


def of_dataset(saved: xr.Dataset, generator: object) -> dict[str, Any]:
    """Return the fields of a result from what :func:`as_dataset` made."""
    if not hasattr(saved, "data_vars"):
        raise _no_result(f"a {type(saved).__name__}", "an xarray.Dataset that to_xarray() made")
    settings = {str(name): _python(value) for name, value in saved.attrs.items()}
    _check_version(settings.get("format_version"))
    _check_scalars(saved)
    values = {str(name): float(x) for name, x in saved.data_vars.items() if not x.ndim}
    errors = {
        term: values[f"{term}_standard_error"]
        for term in TERM_NAMES
        if f"{term}_standard_error" in values
    }
    rows = _typed(settings, "infinite_loss_rows", str)
    fields = {
        **_common(settings, generator),
        **{term: _float(values, term) for term in TERM_NAMES},
        "centres": {term: values.get(f"{term}_centre", values[term]) for term in errors},
        "standard_errors": errors,
        **{name: values.get(name) for name in (*_IN_UNITS, *_SHARES)},
        "detection_floor": values.get("detection_floor", math.nan),
        "infinite_loss_rows": tuple(
            None if row == "None" else int(row) for row in rows.split(", ") if row
        ),
    }
    if _field(settings, _DIGEST) != _digest(fields, settings["generator"]):
        raise bad_value("saved", "a dataset with other numbers than its settings are of", *_WHOLE)
    return fields


def _check_scalars(saved: xr.Dataset) -> None:
    """Raise if there are terms of several results."""
    dims = {str(dim) for name in TERM_NAMES if name in saved for dim in saved[name].dims}
    if dims:
        raise bad_value("saved", f"a dataset of terms along {sorted(dims)}", *_WHOLE)


def _digest(fields: Mapping[str, Any], generator: str) -> str:
    """Return what no other numbers and settings have, so that these are not mixed up."""
    names = (*TERM_NAMES, *_IN_UNITS, *_SHARES, *_SETTINGS, *_COUNTS, "detection_floor")
    errors = fields["standard_errors"]
    parts = {
        **{name: fields.get(name) for name in (*names, "confidence_level")},
        **{f"{term}_error": error for term, error in errors.items()},
        **{f"{term}_centre": fields["centres"][term] for term in errors},
    }
    rows = [None if row is None else int(row) for row in fields["infinite_loss_rows"]]
    text = {
        name: value if value is None or isinstance(value, str) else repr(float(number(value)))
        for name, value in parts.items()
    }
    written = json.dumps([generator, rows, sorted(text.items())])
    return hashlib.sha256(written.encode()).hexdigest()[:16]


def _given(result: EstimatedTerms, names: Iterable[str], *, plain: bool = False) -> dict[str, Any]:
    """Return what a result has of these, which not every method gives."""
    found = {name: value for name in names if (value := getattr(result, name)) is not None}
    return found if plain else {name: _written(value) for name, value in found.items()}


def _written(value: Any) -> Any:
    """Return a value for JSON, which has no number that is not finite."""
    if not isinstance(value, float | np.floating) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _field(saved: Mapping[str, Any], name: str) -> Any:
    """Return what is written under a name, or raise."""
    if name not in saved:
        raise _no_result(f"a result without {name!r}", "all that to_json() or to_xarray() wrote")
    return saved[name]


def _typed(saved: Mapping[str, Any], name: str, kind: type) -> Any:
    """Return a setting of a type."""
    if kind is float:
        return _float(saved, name)
    value = _field(saved, name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _no_result(repr(value), f"a value of type {kind.__name__}", name)
    return value


def _float(saved: Mapping[str, Any], name: str, otherwise: float | None = None) -> float:
    """Return a number, also one that is written as "Infinity"."""
    value = _field(saved, name) if otherwise is None else saved.get(name, otherwise)
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise _no_result(repr(value), "a number", name) from error


def _float_or_none(saved: Mapping[str, Any], name: str) -> float | None:
    return None if saved.get(name) is None else _float(saved, name)


def _numbers(saved: Mapping[str, Any], name: str) -> dict[str, float]:
    found = _field(saved, name)
    if not isinstance(found, Mapping):
        raise _no_result(repr(found), "a number for each term", name)
    return {term: _float(found, term) for term in found}


def _no_result(found: str, expected: str, name: str | None = None) -> ValueError:
    argument = "saved" if name is None else f"saved[{name!r}]"
    return bad_value(argument, found, expected, "pass what to_json() or to_xarray() returned")


def _python(value: Any) -> Any:
    """Return an attribute as it was before a file made it a scalar of NumPy."""
    return value.item() if isinstance(value, np.generic) else value


def _check_version(found: object) -> None:
    if found != FORMAT_VERSION:
        raise bad_value(
            "format_version",
            repr(found),
            f"{FORMAT_VERSION}, of a result that this version of propercal wrote",
            "read it with the version that wrote it, or decompose the data again",
        )


def _generator(name: str, given: object) -> BregmanGenerator:
    """Return the generator of that name or `repr`; one that is not registered is to be given."""
    known = [as_generator(each) for each in available()]
    candidates = known if given is None else [as_generator(given)]  # type: ignore[arg-type]
    for each in candidates:
        if name in (each.name, repr(each)):
            return each
    raise bad_value(
        "generator",
        "None" if given is None else repr(candidates[0]),
        f"{name}, of which the result is",
        "pass the generator that it was computed with",
    )
