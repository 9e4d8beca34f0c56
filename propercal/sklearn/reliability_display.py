"""Reliability diagrams in the manner of scikit-learn's displays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from propercal._data.words.advice import advises
from propercal.plotting.axes import axes_for, literal
from propercal.plotting.isotonic import stairs
from propercal.plotting.palette import COLOURS
from propercal.sklearn.binary import Rows, fitted_response, positive_class, read_rows
from propercal.sklearn.curves import Bands, curve_of
from propercal.sklearn.doubted import doubt_event
from propercal.sklearn.positions import check_in_one_order

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


#: What the diagonal is called, once on each panel.
_CALIBRATED = "Perfectly calibrated"
#: How what is drawn here is found again on a panel.
_LINE, _WORDS = "propercal-reliability", "propercal-bands"


class ReliabilityDisplay:
    r"""Reliability diagram with bands, as :class:`sklearn.calibration.CalibrationDisplay` is used.

    Make it by :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    prob_true : array-like of shape (m,)
        How often the positive class occurred.
    prob_pred : array-like of shape (m,)
        At which predicted probability.
    y_prob : array-like of shape (n,)
        Its predicted probability in each row.
    reliability : xarray.Dataset, optional
        What :func:`propercal.reliability` found, with the bands to draw.
    estimator_name : str, optional
        What the curve is called.
    pos_label : int, float, bool or str, optional
        The positive class.

    Attributes
    ----------
    line_ : matplotlib.lines.Line2D
        The curve.
    confidence_band_ : matplotlib.collections.PolyCollection or None
        The band of the true frequencies.
    consistency_band_ : matplotlib.collections.PolyCollection or None
        The band of the curve of a calibrated model.
    ax_ : matplotlib.axes.Axes
        The panel.
    figure_ : matplotlib.figure.Figure
        Its figure.

    Notes
    -----
    It differs from that of scikit-learn where a bare curve would mislead: by default it draws the
    isotonic curve, for which no bins are to be chosen, with two bands that hold at all predictions
    at once (:func:`propercal.reliability`). The band in the colour of the curve holds the true
    frequencies; the grey one, about the diagonal, holds the curve of a calibrated model, with the
    predictions of the first display where several share a panel.
    ``strategy="uniform"`` and "quantile" draw the points of
    :func:`sklearn.calibration.calibration_curve`, without bands. It takes weights and groups, and
    a class of several against the rest.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GaussianNB().fit(X[::2], y[::2])
    >>> display = ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2])
    >>> display.line_.get_label()
    'GaussianNB'
    """

    line_: Line2D
    confidence_band_: PolyCollection | None
    consistency_band_: PolyCollection | None
    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        prob_true: Any,
        prob_pred: Any,
        y_prob: Any,
        *,
        reliability: xr.Dataset | None = None,
        estimator_name: str | None = None,
        pos_label: Any = None,
    ) -> None:
        self.prob_true = prob_true
        self.prob_pred = prob_pred
        self.y_prob = y_prob
        self.reliability = reliability
        self.estimator_name = estimator_name
        self.pos_label = pos_label

    def plot(
        self,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        ref_line: bool = True,
        bands: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw, by default a new figure. Several displays may share it.
        name : str, optional
            What the curve is called, by default ``estimator_name``.
        ref_line : bool
            Whether to draw the diagonal, once on each panel.
        bands : bool
            Whether to draw the bands, where there are any.
        **kwargs
            Of :meth:`matplotlib.axes.Axes.plot`, for the curve.

        Returns
        -------
        ReliabilityDisplay
            Itself.
        """
        self.ax_ = axes_for(ax, size=(5.0, 4.8))
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        name = self.estimator_name if name is None else name
        if ref_line and _CALIBRATED not in self.ax_.get_legend_handles_labels()[1]:
            self.ax_.plot([0, 1], [0, 1], "k:", label=_CALIBRATED)
        self.line_ = self._draw_line(name, kwargs)
        self.confidence_band_ = self.consistency_band_ = None
        if bands and self.reliability is not None:
            self._draw_bands(self.reliability)
        self.ax_.legend(loc="lower right")
        of = "" if self.pos_label is None else f" (Positive class: {self.pos_label})"
        drawn = [each for each in self.ax_.lines if each.get_gid() == _LINE]
        if len(drawn) > 1 and not self.ax_.get_ylabel().endswith(literal(of)):
            # Of several events it is that of each line.
            of = ""
        mean = "Predicted" if self.reliability is not None else "Mean predicted"
        self.ax_.set(
            xlabel=literal(f"{mean} probability{of}"),
            ylabel=literal(f"Fraction of positives{of}"),
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
        )
        return self

    def _draw_line(self, name: str | None, kwargs: dict[str, Any]) -> Line2D:
        from matplotlib import cbook
        from matplotlib.lines import Line2D

        before = sum(each.get_gid() == _LINE for each in self.ax_.lines)
        style: dict[str, Any] = {"linestyle": "-", "color": COLOURS[before % len(COLOURS)]}
        x, y = np.asarray(self.prob_pred), np.asarray(self.prob_true)
        if self.reliability is None:
            style["marker"] = "s"
        else:
            # Of a level the first and the last point say all.
            block = self.reliability["block"].values
            ends = np.diff(block, prepend=-1) > 0
            ends |= np.diff(block, append=block[-1] + 1) > 0
            x, y = x[ends], y[ends]
        if name is not None:
            style["label"] = literal(name)
        style |= cbook.normalize_kwargs(kwargs, Line2D)
        return self.ax_.plot(x, y, gid=_LINE, **style)[0]

    def _draw_bands(self, found: xr.Dataset) -> None:
        def band(name: str, **style: Any) -> PolyCollection:
            low, high = (found[f"{name}_{end}"].values for end in ("lower", "upper"))
            outline = stairs(found["prediction"].values, low, high)
            return self.ax_.fill_between(*outline, linewidth=0, **style)

        colour = self.line_.get_color()
        self.confidence_band_ = band("confidence", color=colour, alpha=0.18, zorder=1.2)
        if not any(each.get_gid() == _WORDS for each in self.ax_.texts):
            # Two of them in one grey would not be told apart.
            self.consistency_band_ = band("consistency", color="0.86", zorder=1.0)
            level = f"{100 * found.attrs['confidence_level']:.4g} %"
            self.ax_.text(
                0.02,
                0.98,
                f"{level} bands\ncoloured: true frequency\ngrey: if calibrated",
                transform=self.ax_.transAxes,
                verticalalignment="top",
                fontsize="small",
                color="0.2",
                bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 2},
                gid=_WORDS,
            )

    @classmethod
    @advises("pos_label", "sample_weight", "groups")
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int = 5,
        strategy: str = "isotonic",
        pos_label: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        confidence_level: float = 0.95,
        n_resamples: int = 999,
        random_state: Any = 0,
        name: str | None = None,
        ax: Axes | None = None,
        ref_line: bool = True,
        bands: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the diagram of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            Fitted, with ``predict_proba``; a pipeline may end in one.
        X : array-like of shape (n, n_features)
            What it predicts from, in rows that it was not fitted to.
        y : array-like of shape (n,)
            What occurred.
        n_bins, strategy, sample_weight, groups, confidence_level, n_resamples, random_state
            As in :meth:`from_predictions`.
        pos_label : int, float, bool or str, optional
            The positive class, by default ``classes_[1]`` of two. Of several it is to be named, and
            stands against the rest.
        name : str, optional
            What the curve is called, by default the class of the estimator.
        ax, ref_line, bands, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        ReliabilityDisplay

        Raises
        ------
        ValueError
            If an argument cannot be used.
        """
        check_in_one_order(X=X, y=y, sample_weight=sample_weight, groups=groups)
        response = fitted_response(estimator, X)
        prob, pos_label = positive_class(response, y, pos_label)
        rows = read_rows(y, prob, pos_label, sample_weight, groups, among=response.classes)
        bands_of = Bands(confidence_level, n_resamples, random_state)
        name = type(estimator).__name__ if name is None else name
        made = cls._of(rows, name, strategy, n_bins, bands_of)
        return made.plot(ax=ax, ref_line=ref_line, bands=bands, **kwargs)

    @classmethod
    @advises("pos_label", "sample_weight", "groups")
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        n_bins: int = 5,
        strategy: str = "isotonic",
        pos_label: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        confidence_level: float = 0.95,
        n_resamples: int = 999,
        random_state: Any = 0,
        name: str | None = None,
        ax: Axes | None = None,
        ref_line: bool = True,
        bands: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the diagram of predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            What occurred.
        y_prob : array-like of shape (n,)
            Predicted probability of the positive class.
        n_bins : int
            Of the strategies with bins.
        strategy : {"isotonic", "uniform", "quantile"}
            The isotonic curve with bands, or the points of bins, of equal width or of equal
            numbers of rows (of about equal weight where weights differ).
        pos_label : int, float, bool or str, optional
            The positive class, by default 1 of 0 and 1, or of −1 and 1.
        sample_weight : array-like of shape (n,), optional
            Weights ≥ 0.
        groups : array-like of shape (n,), optional
            Which rows may depend on each other, for the bands.
        confidence_level, n_resamples, random_state
            Of the bands, as in :func:`propercal.reliability`.
        name : str, optional
            What the curve is called, by default "Classifier".
        ax, ref_line, bands, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        ReliabilityDisplay

        Raises
        ------
        ValueError
            If an argument cannot be used.
        """
        rows = read_rows(y_true, y_prob, pos_label, sample_weight, groups)
        # Of which class it is, the curve looks at.
        doubt_event(y_true, y_prob, (rows.occurred, rows.prob), rows.pos_label)
        bands_of = Bands(confidence_level, n_resamples, random_state)
        made = cls._of(rows, "Classifier" if name is None else name, strategy, n_bins, bands_of)
        return made.plot(ax=ax, ref_line=ref_line, bands=bands, **kwargs)

    @classmethod
    def _of(cls, rows: Rows, name: str, strategy: str, n_bins: object, bands_of: Bands) -> Self:
        """Return the display of rows that were read."""
        curve = curve_of(rows, strategy, n_bins, bands_of)
        return cls(
            curve.true,
            curve.predicted,
            rows.prob,
            reliability=curve.reliability,
            estimator_name=name,
            pos_label=rows.pos_label,
        )
