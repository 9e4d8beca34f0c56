"""What a result keeps of its rows: what each adds to the terms, and which way it errs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._array import namespace, to_numpy
from propercal._data.inputs.held import as_given
from propercal._results.intervals import error_of_rows
from propercal._typing import Array

if TYPE_CHECKING:
    import xarray as xr

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]


class OutwardRows(NamedTuple):
    """What rows have of one side, mostly of over-confidence; half of a row whose tilt is 0."""

    saved: Array
    """(n,) of the calibration error."""
    correction: Array
    """(n,) of its correction V."""
    first: Array
    """(n,) Σ p s of its noise, see `label_noise`."""
    second: Array
    """(n,) Σ p s²."""

    @classmethod
    def of(cls, whole: OutwardRows, tilt: Array) -> OutwardRows:
        """Return the share of over-confidence in rows of one problem."""
        xp = namespace(tilt)
        share = xp.astype(tilt < 0, tilt.dtype) + 0.5 * xp.astype(tilt == 0, tilt.dtype)
        with np.errstate(invalid="ignore"):
            found = cls(*(each * share for each in whole))
        if bool(xp.isfinite(xp.sum(found.saved))):
            return found
        # What is infinite times 0 is none of it.
        return cls(*(xp.where(share > 0, each, 0.0) for each in found))

    def plus(self, other: OutwardRows) -> OutwardRows:
        """Add those of another problem."""
        return OutwardRows(*(a + b for a, b in zip(self, other, strict=True)))

    def over(self, n: int) -> OutwardRows:
        """Return the mean over `n` problems."""
        first, second = self.first / n, self.second / n**2
        return OutwardRows(self.saved / n, self.correction / n, first, second)


class Side(NamedTuple):
    """One part of the calibration error."""

    value: float
    error: float
    """Standard error, or that of labels drawn from the recalibrated predictions if larger."""


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows of positive weight, as a method has left them."""

    loss: Array
    """(n,) L_F(g, y)."""
    marginal_loss: Array
    """(n,) loss of the shares of the classes."""
    refined: Array | None
    """(n,) what each row adds to the refinement."""
    divergence: Array | None
    """(n,) D_F(r̂, g), of a method that measures it."""
    correction: Array | None
    """(n,) V, of a one-step estimate."""
    noise: Array | None
    """(n, 2) noise of the labels, where it is known."""
    tilt: Array | None
    """(n,) below 0 for over-confidence, of the only problem."""
    outward: OutwardRows | None
    """What over-confidence has, of several problems."""
    gap_of_events: Array | None
    """(m, 2) mean g − y of each class or event, and its standard error."""
    of_problems: Array
    """(p, 5) terms of each problem."""
    recalibrated: Array | None
    """(n, k), or (n, p) of the event of each problem."""
    weight: Array
    """(n,) of sum 1."""
    place: Rows
    """(n,) numbers among all rows that were read."""
    places: Rows | None
    """Where these were in the caller's predictions."""
    code: npt.NDArray[np.int64] | None
    """(n,) the class of each row."""
    names: tuple[Any, ...]
    """Of the classes."""
    groups: npt.NDArray[np.int64] | None
    index: Any
    """A pandas index of all rows that were read."""
    in_any_order: bool = False
    """Whether nobody knows which row of the data each is."""

    @property
    def has_sides(self) -> bool:
        """Whether over- and under-confidence are told apart."""
        return self.correction is not None and (self.tilt is not None or self.outward is not None)

    @property
    def gap(self) -> Floats:
        """(m, 2) mean g − y of each class or event, and its standard error."""
        assert self.gap_of_events is not None  # noqa: S101  # where there are sides
        return to_numpy(self.gap_of_events)

    @property
    def events(self) -> tuple[Any, ...]:
        """Names of what the gaps are of: the classes, or that the first choice is right."""
        return self.names if len(self.gap) == len(self.names) else ("first choice is right",)

    def sides(self) -> tuple[Side, Side]:
        """Return over- and under-confidence."""
        whole = self._whole()
        over = self._over(whole)
        under = OutwardRows(*(a - b for a, b in zip(whole, over, strict=True)))
        weight = to_numpy(self.weight)
        error = error_of_rows(whole.saved, weight, self.groups)
        alone = error_of_rows(whole.saved, weight, None)
        effect = max(1.0, (error / alone) ** 2) if 0 < alone < math.inf else 1.0
        return self._side(over, effect), self._side(under, effect)

    def _side(self, rows: OutwardRows, effect: float) -> Side:
        weight = to_numpy(self.weight)
        # Rounding leaves less than nothing where a label is as good as known.
        of_labels = np.maximum(rows.second - rows.first**2, 0.0)
        error = max(
            error_of_rows(rows.saved, weight, self.groups),
            math.sqrt(float(weight**2 @ of_labels) * effect),
        )
        return Side(float(weight @ rows.saved), math.hypot(error, float(weight @ rows.correction)))

    def _whole(self) -> OutwardRows:
        assert self.refined is not None  # noqa: S101  # as every one-step estimate has
        assert self.correction is not None  # noqa: S101
        saved = to_numpy(self.loss) - to_numpy(self.refined)
        noise = np.zeros((len(saved), 2)) if self.noise is None else to_numpy(self.noise)
        return OutwardRows(saved, to_numpy(self.correction), noise[:, 0], noise[:, 1])

    def _over(self, whole: OutwardRows) -> OutwardRows:
        if self.outward is None:
            assert self.tilt is not None  # noqa: S101  # of one problem
            return OutwardRows.of(whole, to_numpy(self.tilt))
        found = OutwardRows(*(to_numpy(each) for each in self.outward))
        if self.noise is None:
            found = found._replace(first=whole.first, second=whole.second)
        return found

    def contributions(self, values: Mapping[str, float]) -> xr.Dataset:
        """Return what each row adds to the terms, which have these `values`."""
        import xarray as xr

        given = as_given(self.place, self.places)
        order = np.argsort(given, kind="stable")
        weight = to_numpy(self.weight)
        variables: dict[str, Any] = {
            name: ("sample", rows[order]) for name, rows in self._terms(weight, values).items()
        }
        if self.has_sides:
            variables["over_confidence"] = ("sample", self._over(self._whole()).saved[order])
        if self.recalibrated is not None:
            found = to_numpy(self.recalibrated)[order]
            one = found.shape[1] == 1
            dims = ("sample",) if one else ("sample", "class")
            variables["recalibrated"] = (dims, found[:, 0] if one else found)
        of_problems = to_numpy(self.of_problems)
        if len(of_problems) > 1:
            variables["by_class"] = (("term", "class"), of_problems.T)
        coords: dict[str, Any] = {"row": ("sample", given[order])}
        coords["weight"] = ("sample", weight[order])
        if self.code is not None:
            coords["label"] = ("sample", names_of(self.names)[self.code[order]])
        if any("class" in dims for dims, _ in variables.values()):
            coords["class"] = names_of(self.names)
        if "by_class" in variables:
            coords["term"] = list(values)
        coords = _index_coords(self.index, self.place[order], {*variables, *coords}) | coords
        return xr.Dataset(variables, coords)

    def _terms(self, weight: Floats, values: Mapping[str, float]) -> dict[str, Floats]:
        assert self.refined is not None  # noqa: S101  # as every method that keeps rows
        risk, marginal = to_numpy(self.loss), to_numpy(self.marginal_loss)
        refinement = to_numpy(self.refined)
        with np.errstate(invalid="ignore"):
            if self.divergence is None:
                calibration_error = risk - refinement
            else:
                calibration_error = to_numpy(self.divergence)
                # As of the terms: an infinite one leaves the refinement its own estimate.
                if not math.isinf(values["calibration_error"]):
                    refinement = risk - calibration_error
            # The mean of the marginal loss is corrected for its bias as a whole.
            uncertainty = marginal + (values["uncertainty"] - weight @ marginal)
            sharpness = uncertainty - refinement
        return {
            "risk": risk,
            "calibration_error": calibration_error,
            "refinement": refinement,
            "sharpness": sharpness,
            "uncertainty": uncertainty,
        }


def names_of(names: tuple[Any, ...]) -> npt.NDArray[Any]:
    """(k,) names of classes, which may be of several types."""
    if len({type(name) for name in names}) == 1 and isinstance(names[0], str | int | bool):
        return np.array(names)
    found = np.empty(len(names), dtype=object)
    found[:] = names
    return found


def _index_coords(index: Any, rows: Rows, taken: set[str]) -> dict[str, Any]:
    """Return the index of some rows as coordinates: "sample", or each of several levels."""
    if index is None:
        return {}
    chosen = index[rows]
    if chosen.nlevels == 1:
        return {"sample": ("sample", np.asarray(chosen))}
    found: dict[str, Any] = {}
    for i, name in enumerate(chosen.names):
        called = f"level_{i}" if name is None else str(name)
        while called in {*taken, *found, "sample"}:
            called += "_"
        found[called] = ("sample", np.asarray(chosen.get_level_values(i)))
    return found
