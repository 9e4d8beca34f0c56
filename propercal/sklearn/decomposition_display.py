"""What a classifier's loss is made of, as a bar, in the manner of scikit-learn's displays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from propercal._array import to_numpy
from propercal._data.classes.columns import names_of
from propercal._data.inputs.held import Held
from propercal._data.inputs.settings import Known
from propercal._data.predictions.notions import Notion, as_notion
from propercal._data.rows.dimensions import of_rows
from propercal._data.words.advice import advises
from propercal._data.words.messages import bad_value, held_warnings
from propercal._results.estimates import number
from propercal.decomposition import decompose
from propercal.generators.order import check_columns_order, check_names_order
from propercal.generators.registry import GeneratorLike, as_generator
from propercal.methods import MethodLike, Settings, as_method
from propercal.plotting.axes import axes_for, literal, units_of
from propercal.plotting.palette import COLOURS
from propercal.result import Decomposition
from propercal.sklearn.binary import fitted_response, read_rows
from propercal.sklearn.doubted import doubt_classes, doubt_event
from propercal.sklearn.positions import check_in_one_order
from propercal.sklearn.responses import CALLED, Response, labels_in, plain, with_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer, ErrorbarContainer
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

#: How what is drawn here is found again on a panel.
_RISK = "propercal-decomposition"
_PARTS = ("Refinement", "Calibration error")
#: What the line of the best constant prediction is called, once on each panel.
_CONSTANT = "Best constant prediction"


class _Asked(NamedTuple):
    """What is to be decomposed, and how, as :func:`propercal.decompose` takes it."""

    generator: GeneratorLike
    notion: str | Notion
    method: MethodLike
    sample_weight: Any
    groups: Any
    confidence_level: float


class DecompositionDisplay:
    """The risk of a classifier as a bar of two parts: refinement, and on it calibration error.

    Make it by :meth:`from_estimator` or :meth:`from_predictions`. Several displays may share a
    panel, and stand below each other.

    Parameters
    ----------
    result : Decomposition
        What :func:`propercal.decompose` returns, for one generator and method.
    estimator_name : str, optional
        What the bar is called.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        A mark at the risk.
    refinement_bar_ : matplotlib.container.BarContainer
        The refinement.
    calibration_error_bar_ : matplotlib.container.BarContainer
        The calibration error, from there on; one below 0, as an estimate may be, goes back.
    interval_ : matplotlib.container.ErrorbarContainer or None
        The interval of the calibration error, from the end of the refinement on.
    ref_line_ : matplotlib.lines.Line2D or None
        The uncertainty, which is the risk of the best constant prediction.
    ax_ : matplotlib.axes.Axes
        The panel.
    figure_ : matplotlib.figure.Figure
        Its figure.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GaussianNB().fit(X[::2], y[::2])
    >>> display = DecompositionDisplay.from_estimator(model, X[1::2], y[1::2], generator="brier")
    >>> display.result.calibration_error > 0
    True
    """

    line_: Line2D
    refinement_bar_: BarContainer
    calibration_error_bar_: BarContainer
    interval_: ErrorbarContainer | None
    ref_line_: Line2D | None
    ax_: Axes
    figure_: Figure

    def __init__(self, result: Decomposition, *, estimator_name: str | None = None) -> None:
        self.result = result
        self.estimator_name = estimator_name

    def plot(
        self,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        ref_line: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw, by default a new figure.
        name : str, optional
            What the bar is called, by default ``estimator_name``.
        ref_line : bool
            Whether to draw the risk of the best constant prediction, once on each panel.
        **kwargs
            Of :meth:`matplotlib.axes.Axes.barh`, for both parts.

        Returns
        -------
        DecompositionDisplay
            Itself.
        """
        self.ax_ = axes_for(ax, size=(6.4, 2.6))
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        name = self.estimator_name if name is None else name
        found = [each for each in self.ax_.lines if each.get_gid() == _RISK]
        at = len(found)
        if found and self.ax_.get_xlabel() != self._quantity:
            raise bad_value(
                "ax",
                f"a panel of the {self.ax_.get_xlabel()!r}",
                f"one of the {self._quantity!r}, or an empty one",
                "draw each loss, and each notion, on a panel of its own",
            )
        self._draw_bars(at, kwargs)
        self._draw_marks(at, name)
        self.ref_line_ = None
        uncertainty = number(self.result.uncertainty)
        if ref_line and math.isfinite(uncertainty):
            drawn = [each for each in self.ax_.lines if each.get_label() == _CONSTANT]
            known = [each for each in drawn if np.isclose(_x(each), uncertainty)]
            style: dict[str, Any] = {"color": "black", "linestyle": ":", "label": _CONSTANT}
            self.ref_line_ = known[0] if known else self.ax_.axvline(uncertainty, **style)
        self._name_axes([*(each.get_label() for each in found), self.line_.get_label()])
        return self

    @property
    def _quantity(self) -> str:
        """What the axis has."""
        units = units_of(self.result.units)
        notion = self.result.notion
        of = "" if as_notion(notion).whole else f", {notion}"
        return literal(f"Mean {self.result.generator.name} loss{of}{units}")

    def _draw_bars(self, at: int, kwargs: dict[str, Any]) -> None:
        refinement, error = (
            number(getattr(self.result, term)) for term in ("refinement", "calibration_error")
        )
        known = math.isfinite(refinement) and math.isfinite(error)
        style: dict[str, Any] = {"height": 0.6, "linewidth": 0, **kwargs}
        self.refinement_bar_ = self.ax_.barh(
            [at],
            [refinement if math.isfinite(refinement) else 0.0],
            **{"color": COLOURS[5], **style},
            label=_PARTS[0] if at == 0 else None,
        )
        self.calibration_error_bar_ = self.ax_.barh(
            [at],
            [error if known else 0.0],
            left=[refinement if known else 0.0],
            **{"color": COLOURS[1], **style},
            label=_PARTS[1] if at == 0 else None,
        )

    def _draw_marks(self, at: int, name: str | None) -> None:
        """Draw the risk, and the interval of the calibration error."""
        risk, start = number(self.result.risk), number(self.result.refinement)
        finite = math.isfinite(risk)
        (self.line_,) = self.ax_.plot(
            [risk if finite else 0.0],
            [at],
            linestyle="",
            marker="|" if finite else "",
            markersize=14,
            color="black",
            gid=_RISK,
            label=f"Display {at + 1}" if name is None else literal(name),
        )
        if not finite:
            text = "?" if math.isnan(risk) else "∞"
            self.ax_.annotate(text, (0, at), (4, 0), textcoords="offset points", va="center")
        self.interval_ = None
        error = self.result.standard_errors.get("calibration_error", math.nan)
        if finite and math.isfinite(error) and math.isfinite(start):
            low, high = self.result.interval("calibration_error")
            self.interval_ = self.ax_.errorbar(
                [start + (low + high) / 2],
                [at],
                xerr=[[(high - low) / 2]] * 2,
                linestyle="",
                color="black",
                elinewidth=1.0,
                capsize=3,
            )

    def _name_axes(self, names: Sequence[Any]) -> None:
        self.ax_.set_yticks(range(len(names)), names)
        self.ax_.set_ylim(len(names) - 0.4, -0.6)
        self.ax_.set_xlabel(self._quantity)
        # Above the panel it hides no bar.
        known = dict(zip(*self.ax_.get_legend_handles_labels()[::-1], strict=True))
        self.ax_.legend(
            handles=[known[each] for each in (*_PARTS, _CONSTANT) if each in known],
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=3,
            frameon=False,
            fontsize="small",
            borderaxespad=0.2,
        )

    @classmethod
    @advises("labels", "sample_weight", "groups", "notion", "generator", "method")
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        generator: GeneratorLike = "log",
        notion: str | Notion = "canonical",
        method: MethodLike = "debiased",
        sample_weight: Any = None,
        groups: Any = None,
        confidence_level: float = 0.95,
        labels: Sequence[Any] | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        ref_line: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the decomposition of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            Fitted, with ``predict_proba``, of any number of classes.
        X : array-like of shape (n, n_features)
            What it predicts from, in rows that it was not fitted to.
        y : array-like of shape (n,)
            What occurred.
        generator, notion, method, sample_weight, groups, confidence_level
            As in :func:`propercal.decompose`.
        labels : sequence of length k, optional
            The order of the classes, for a loss that depends on it.
        name : str, optional
            What the bar is called, by default the class of the estimator.
        ax, ref_line, **kwargs
            As in :meth:`plot`; or settings of a method that is named, as in
            :func:`propercal.decompose`.

        Returns
        -------
        DecompositionDisplay

        Raises
        ------
        ValueError
            If an argument cannot be used.
        """
        method = _with_settings(method, kwargs)
        asked = _Asked(generator, notion, method, sample_weight, groups, confidence_level)
        called = type(estimator).__name__
        name = called if name is None else name
        check_in_one_order(X=X, y=y, sample_weight=sample_weight, groups=groups)
        made = cls._of(fitted_response(estimator, X), y, called, asked, labels, name)
        return made.plot(ax=ax, ref_line=ref_line, **kwargs)

    @classmethod
    @advises("labels", "pos_label", "sample_weight", "groups", "notion", "generator", "method")
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        generator: GeneratorLike = "log",
        notion: str | Notion = "canonical",
        method: MethodLike = "debiased",
        pos_label: Any = None,
        labels: Sequence[Any] | None = None,
        sample_weight: Any = None,
        groups: Any = None,
        confidence_level: float = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        ref_line: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the decomposition of predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            What occurred.
        y_prob : array-like of shape (n,) or (n, k)
            Predicted probability of the positive class, or of each class.
        generator, notion, method, sample_weight, groups, confidence_level
            As in :func:`propercal.decompose`.
        pos_label : int, float, bool or str, optional
            The positive class where there is one column, by default 1 of 0 and 1, or of −1 and 1.
        labels : sequence of length k, optional
            The class of each of several columns, by default what columns of a table are named
            after, else the classes that occur, sorted, if they are as many.
        name : str, optional
            What the bar is called, by default "Classifier".
        ax, ref_line, **kwargs
            As in :meth:`plot`; or settings of a method that is named, as in
            :func:`propercal.decompose`.

        Returns
        -------
        DecompositionDisplay

        Raises
        ------
        ValueError
            If an argument cannot be used.
        """
        method = _with_settings(method, kwargs)
        asked = _Asked(generator, notion, method, sample_weight, groups, confidence_level)
        name = "Classifier" if name is None else name
        held = of_rows(CALLED.proba, y_prob, CALLED)
        if held.values.ndim == 2 and held.values.shape[1] > 1:
            rows_of = {"sample_weight": sample_weight, "groups": groups}
            check_in_one_order(y_true=y_true, y_prob=held, **rows_of)
            if labels is None:
                check_columns_order(held.columns, [as_generator(generator)], as_notion(notion))
            response = Response(to_numpy(held.values), _classes(y_true, held, labels))
            with held_warnings():
                # Labels of no column are told of below.
                codes, found = with_labels(response, y_true, "y_prob", labels)
            doubt_classes(y_true, held, codes, found, listed=labels is not None)
            made = cls._of(response, y_true, "y_prob", asked, labels, name)
        else:
            rows = read_rows(y_true, y_prob, pos_label, sample_weight, groups)
            doubt_event(y_true, y_prob, (rows.occurred, rows.prob), pos_label)
            response = Response(np.stack([1 - rows.prob, rows.prob], axis=1), [0, 1])
            made = cls._of(response, rows.occurred, "y_prob", asked, None, name)
        return made.plot(ax=ax, ref_line=ref_line, **kwargs)

    @classmethod
    def _of(
        cls,
        response: Response,
        y: Any,
        called: str,
        asked: _Asked,
        labels: Sequence[Any] | None,
        name: str,
    ) -> Self:
        from sklearn.utils import check_consistent_length

        weight = plain("sample_weight", asked.sample_weight)
        groups = plain("groups", asked.groups)
        check_consistent_length(y, response.proba, weight, groups)
        loss, notion = as_generator(asked.generator), as_notion(asked.notion)
        codes, found = with_labels(response, y, called, labels)
        if notion.n_outcomes(len(found.classes)) > 2:
            check_names_order(found.classes, [loss], said=labels is not None)
        options = asked._replace(generator=loss, sample_weight=weight, groups=groups)._asdict()
        order = Known(range(len(found.classes)))
        result = decompose(codes, found.proba, labels=order, progress=False, **options)
        if not isinstance(result, Decomposition):
            raise bad_value("method", "a list", "one method", "draw a display of each on one ax")
        return cls(result, estimator_name=name)


def _with_settings(method: MethodLike, options: dict[str, Any]) -> MethodLike:
    """Take settings of a method that is named out of what else is of the bars."""
    settings = {name: options.pop(name) for name in Settings.__annotations__ if name in options}
    return as_method(method, **settings) if settings else method


def _x(line: Line2D) -> float:
    """Return where a line begins."""
    return float(np.asarray(line.get_xdata())[0])


def _classes(y_true: Any, held: Held, labels: Sequence[Any] | None) -> list[Any]:
    """Return the class of each column, as it is said, or as scikit-learn sorts classes."""
    found = sorted(dict.fromkeys(labels_in(y_true, "y_true"))) if labels is None else list(labels)
    n_columns = int(held.values.shape[1])
    if held.columns is None and len(found) != n_columns:
        raise bad_value(
            "y_prob" if labels is None else "labels",
            f"{n_columns} columns, and {len(found)} classes",
            "a class for each column",
            "pass labels=[...], the class of every column in order",
        )
    # Their name, and the order of their categories, may say which column is which.
    like = of_rows(CALLED.labels, y_true, CALLED) if labels is None else None
    return names_of(found, held, labels=labels, like=like)
