"""Accuracy against calibration error, and the best compromises between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from propercal._data.inputs.holders import hold, is_labelled
from propercal._data.rows.rows import in_order_of
from propercal._data.words.messages import bad_value
from propercal.plotting.axes import add_grid, add_legend, axes_for, read_names, units_of
from propercal.plotting.lines import REPETITIONS, check_dataset, over_repetitions, variable
from propercal.plotting.palette import COLOURS
from propercal.plotting.point_names import write_names

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]


def on_front(accuracy: npt.ArrayLike, error: npt.ArrayLike) -> list[int]:
    """Return the points that no other equals in both objectives and beats in one, by accuracy.

    Parameters
    ----------
    accuracy, error : array-like of shape (n,)
        What is to be large, and what is to be small. Series are matched by their index.

    Returns
    -------
    list of int
        Positions of the points in `accuracy`.

    Raises
    ------
    ValueError
        If these are not numbers of the same points.

    Examples
    --------
    >>> import numpy as np
    >>> on_front(np.array([0.9, 0.8, 0.7]), np.array([0.2, 0.1, 0.3]))
    [1, 0]
    """
    x = _vector("accuracy", accuracy, None)
    return _on_front(x, _vector("error", error, len(x), accuracy))


def _on_front(accuracy: Floats, error: Floats) -> list[int]:
    better = (accuracy[:, None] >= accuracy) & (error[:, None] <= error)
    strictly = (accuracy[:, None] > accuracy) | (error[:, None] < error)
    dominated = (better & strictly).any(axis=0)
    return sorted(np.flatnonzero(~dominated).tolist(), key=lambda i: (accuracy[i], error[i]))


def pareto_front(
    accuracy: xr.Dataset | npt.ArrayLike,
    calibration_error: npt.ArrayLike | None = None,
    *,
    accuracy_se: npt.ArrayLike | None = None,
    calibration_error_se: npt.ArrayLike | None = None,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the accuracy and calibration error of several models, and which of them none beats.

    Parameters
    ----------
    accuracy : xarray.Dataset or array-like of shape (n,)
        A dataset has the variables ``accuracy`` and ``calibration_error`` along one dimension,
        whose coordinate names the points; along ``seed`` or ``replicate`` as well, means are drawn
        with standard errors.
    calibration_error : array-like of shape (n,), optional
        With arrays: one value for each accuracy.
    accuracy_se, calibration_error_se : array-like of shape (n,), optional
        With arrays: standard errors.
    names : sequence of str, optional
        One for each point.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The calibration error grows downwards, so that the best is at the upper right. A line joins
        the points on the front (:func:`on_front`, of means).

    Raises
    ------
    ValueError
        If an argument cannot be used.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from propercal.plotting import pareto_front
    >>> ax = pareto_front([0.9, 0.8, 0.7], [0.02, 0.01, 0.03], names=["a", "b", "c"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['on the Pareto front', 'beaten in both']
    """
    points = _read(accuracy, calibration_error, accuracy_se, calibration_error_se)
    if names is not None:
        _check_names(names, accuracy)
        points = points._replace(names=tuple(read_names(names, len(points.x))))
    axis = axes_for(ax)
    front = _on_front(points.x, points.y)
    chosen = np.isin(np.arange(len(points.x)), front)
    axis.plot(points.x[front], points.y[front], color=COLOURS[1], linewidth=1.0)
    for which, colour, marker, label in (
        (chosen, COLOURS[1], "o", "on the Pareto front"),
        (~chosen, COLOURS[0], "s", "beaten in both"),
    ):
        if which.any():
            axis.errorbar(
                points.x[which],
                points.y[which],
                None if points.y_error is None else points.y_error[which],
                None if points.x_error is None else points.x_error[which],
                linestyle="",
                marker=marker,
                markersize=4.5,
                markerfacecolor=colour if marker == "o" else "white",
                color=colour,
                elinewidth=0.9,
                capsize=2,
                label=label,
            )
    if points.names:
        # Upwards is towards smaller errors.
        write_names(axis, points.names, points.x, points.y, downward=True)
    axis.set_xlabel("accuracy")
    axis.set_ylabel("calibration error" + units_of(points.units))
    if not axis.yaxis_inverted():
        axis.invert_yaxis()
    axis.margins(0.08)
    add_grid(axis)
    add_legend(axis)
    return axis


def _check_names(names: Any, accuracy: Any) -> None:
    """Raise where an index names the points otherwise."""
    if not _has_index(accuracy):
        return
    own, given = list(map(str, _as_series(accuracy).index)), list(map(str, names))
    if own != given and sorted(own) == sorted(given):
        raise bad_value(
            "names",
            given,
            f"the order of accuracy, {own}, as its index has it",
            "bring both into one order, or leave names out and pass a dataset",
        )


class _Points(NamedTuple):
    x: Floats
    y: Floats
    x_error: Floats | None = None
    y_error: Floats | None = None
    names: tuple[str, ...] = ()
    units: str = ""


def _read(accuracy: Any, error: Any, accuracy_se: Any, error_se: Any) -> _Points:
    if hasattr(accuracy, "data_vars"):
        given = {"calibration_error": error, "accuracy_se": accuracy_se}
        for name, value in {**given, "calibration_error_se": error_se}.items():
            if value is not None:
                raise bad_value(name, "an array", "None with a dataset", "put it into the dataset")
        return _from_dataset(accuracy)
    if error is None:
        raise bad_value(
            "calibration_error", "None", "one value for each accuracy", "or pass one dataset"
        )
    x = _vector("accuracy", accuracy, None)
    return _Points(
        x,
        _vector("calibration_error", error, len(x), accuracy),
        None if accuracy_se is None else _vector("accuracy_se", accuracy_se, len(x), accuracy),
        None if error_se is None else _vector("calibration_error_se", error_se, len(x), accuracy),
    )


def _from_dataset(dataset: xr.Dataset) -> _Points:
    check_dataset(dataset, argument="accuracy")
    both = [variable(dataset, name, "accuracy") for name in ("accuracy", "calibration_error")]
    dims = {str(dim) for each in both for dim in each.dims if each.sizes[dim] > 1}
    over = sorted(dims - set(REPETITIONS))
    if len(over) != 1 or any(over[0] not in each.dims for each in both):
        raise bad_value(
            "accuracy",
            f"a dataset whose points lie along {', '.join(over) or 'no dimension'}",
            "one dimension, of both variables, besides the repetitions",
            "select from the others with .sel(...)",
        )
    (x, x_error), (y, y_error) = (over_repetitions(each.squeeze()) for each in both)
    return _Points(
        x.values,
        y.values,
        None if x_error is None else x_error.values,
        None if y_error is None else y_error.values,
        tuple(map(str, x[over[0]].values.tolist())),
        str(both[1].attrs.get("units", "")),
    )


def _has_index(values: Any) -> bool:
    series = hasattr(values, "iloc") and hasattr(values, "index") and not hasattr(values, "columns")
    return series or (is_labelled(values) and values.ndim == 1 and values.dims[0] in values.coords)


def _as_series(values: Any) -> Any:
    return values.to_series() if is_labelled(values) else values


def _vector(name: str, values: Any, n: int | None, other: Any = None) -> Floats:
    """Return numbers, in the order of those of `other` where both have an index."""
    expected = f"{'n' if n is None else n} finite numbers in one dimension"
    if _has_index(values) and _has_index(other):
        first, own = (
            hold(each, _as_series(given)) for each, given in (("accuracy", other), (name, values))
        )
        values = in_order_of(own, first, name, "accuracy").held.values
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise bad_value(name, repr(values), expected, "pass an array") from error
    if found.ndim != 1 or found.size == 0 or (n is not None and len(found) != n):
        raise bad_value(name, f"an array of shape {found.shape}", expected, "pass one a point")
    if not np.isfinite(found).all():
        raise bad_value(name, "values that are not finite", expected, "leave these points out")
    return found
