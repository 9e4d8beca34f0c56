"""The result of decompose: its rows, its direction, and how it is written down and read again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from propercal._data.inputs.lazy_tables import FOR_EACH_ROW
from propercal._data.words.messages import bad_value
from propercal._results.estimates import TERM_NAMES, EstimatedTerms
from propercal._results.kept_rows import KeptRows
from propercal._results.pages import Page
from propercal._results.saved import as_dataset, as_mapping, of_dataset, of_json, of_mapping
from propercal._results.text import as_text, page_of
from propercal.direction import Direction, direction_of

if TYPE_CHECKING:
    import xarray as xr

TERMS = TERM_NAMES


@dataclass(frozen=True, eq=False)
class Decomposition(EstimatedTerms):
    """A risk and its parts, with what they were computed from.

    Always: risk = calibration_error + refinement, and refinement = uncertainty − sharpness, unless
    infinite terms meet.

    Attributes
    ----------
    risk : float or scalar tensor
        Mean loss E L_F(g, Y).
    calibration_error : float or scalar tensor
        Estimate of E D_F(E[Y | g], g). It may be negative.
    refinement : float or scalar tensor
        Estimate of E[−F(E[Y | g])], the loss that recalibration cannot remove.
    sharpness : float or scalar tensor
        Estimate of E D_F(E[Y | g], E Y); for the log loss, the mutual information of g and Y.
    uncertainty : float or scalar tensor
        −F of the mean label, the loss of the best constant prediction.
    algorithm : {"exact", "linear", "cells", "none"}
        How the kernel was summed, see :func:`propercal.decompose`: over all points, in linear time
        (for one bandwidth or class-wise problem at least), over the cells of bins, or not at all.
    bandwidth : float
        Bandwidth γ in use, in units of probability.
    method : str
        As passed to :func:`propercal.decompose`.
    notion : str
        As passed to :func:`propercal.decompose`.
    kernel : str
        As passed to :func:`propercal.decompose`.
    generator : BregmanGenerator
        The convex function F. For "log" all terms are in nats.
    n_samples : int
        Rows of positive weight.
    n_classes : int
        Columns of the predictions.
    confidence_level : float
        Default level of :meth:`interval`.
    infinite_loss_rows : tuple of int or None
        Rows, counted from 0, whose loss is infinite; None for each of a lazy table whose rows come
        in any order, of which no number says which row it is.
    centres : mapping of str to float
        For the terms that have an interval, its centre. That is the term itself, but for the
        uncertainty of the published methods, where it is corrected for the bias −½ tr(∇²F Cov)/n
        (the debiased one is so corrected already).
    standard_errors : mapping of str to float
        For the terms that have an interval, the standard error.
    lower_bound : float or None
        Debiased method: the calibration error without its correction V. Its *expectation* is at
        most the truth, but for the effect of choosing a kernel; the number itself may be above it.
        With a confidence level is :attr:`propercal.CalibrationMonitor.lower_bound`.
    kernel_share : float or None
        Debiased method: the share of the calibration error that the kernel found and the
        recalibrations did not; 0 where either is within two standard errors of 0.
    misfit_pvalue : float or None
        Debiased method: the p-value of a look at whether the recalibrated predictions are
        calibrated, on rows that took no part in the recalibrations, in the directions of all
        families of these; adjusted for the number of directions.
    missed : float or None
        Debiased method: by how much the calibration error may exceed its estimate, for what the
        recalibrations do not follow: an upper confidence limit of 95 % where that look finds
        something at the level .2, else 0. Intervals are wider by it on the side of a larger
        calibration error.
    kernel_rows : int or None
        Debiased method: the rows that the kernel correction of every row is made from,
        ``n_samples`` of up to 20 000 or in one dimension; None without a kernel.
    training_rows : int or None
        Debiased method: the rows that the recalibrations are fitted to and averaged on,
        ``n_samples`` as long as these have no more than 10⁷ probabilities.
    label_error : float or None
        Debiased method: the standard error that the calibration error would have if labels were
        drawn from the recalibrated predictions. Intervals take the larger of the two: where few
        events count, those that occurred say little of what others would do.
    noise_floor : float or None
        Debiased method: what noise alone makes of a calibration error of 0 if one coefficient, the
        temperature, is fitted; 1/(2n) for the log loss of independent rows of equal weight.
        Intervals begin at 0 where that of this noise does, and then end no nearer to it.
    detection_floor : float
        Debiased method: the calibration error of a temperature that such data show with 80 %
        power: :func:`propercal.calibration_test` rejects at 5 % in four of five samples of labels
        drawn from predictions to the power of one number (class-wise, of one number a class).
        5.02/n for the log loss of independent rows of equal weight. Smaller errors show less
        often, and so do other shapes of this size: in simulations a slope and a shift for each
        class in .5 to .8, an oscillation in .1 to .4 of samples. Intervals begin above 0 at larger
        errors. NaN for other methods, where temperatures change nothing (all predictions uniform),
        and where several classes may occur in a row, since how they go together is not known.
    n_groups : int or None
        Groups, or blocks, of rows that may depend on each other; None where none were given.
    skill_score_error : float or None
        The standard error of :attr:`skill_score`; None where it has no interval. Sketches take
        losses by cells, and class by class a bound of it.

    Examples
    --------
    >>> from propercal import decompose
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(1000, random_state=0)
    >>> print(decompose(y_true, y_proba, generator="brier", bandwidth=0.02))  # doctest: +SKIP
    """

    def contributions(self) -> xr.Dataset:
        """Return what each row adds to each term.

        Weighted means are the terms: ``rows[name].weighted(rows.weight).mean()``. Rows that cost
        most come first in ``rows.sortby("calibration_error", ascending=False)``, and the mean of
        rows of each class is ``rows["risk"].groupby("label").mean()``.

        Returns
        -------
        xarray.Dataset
            Along "sample", in the order of ``y_proba``: "risk", "calibration_error", "refinement",
            "sharpness" and "uncertainty"; "recalibrated", the estimate of E[Y | g] where that is
            made, along "class" where there are several (left out beyond 10⁷ numbers); and
            "over_confidence" of the debiased method, what the row adds to that part of the
            calibration error (:meth:`direction`). "by_class" has the terms of each class under the
            class-wise notion, whose means are the terms.

            Coordinates: "row", the number of the row in ``y_proba``, counted from 0; "weight", of
            sum 1; "label", what occurred, where each row has one class; and the index of the
            predictions, or of the labels, where they have one: as "sample", or by its levels, as
            of several dimensions of samples that all have coordinates. Rows of weight 0, and those
            that are ignored, are left out.

        Raises
        ------
        ValueError
            If the rows are not kept: of a sketch, the partitions of Dask, a saved result, or models
            that are compared by their risk; or if nobody knows their order: of a lazy table that
            has none.

        Examples
        --------
        >>> from propercal import decompose
        >>> from propercal.simulation import TemperatureScaledSimplex
        >>> y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(1000, random_state=0)
        >>> result = decompose(y_true, y_proba)
        >>> rows = result.contributions()
        >>> abs(float(rows.calibration_error.mean()) - result.calibration_error) < 1e-12
        True
        >>> worst = rows.sortby("calibration_error", ascending=False).isel(sample=slice(3))
        >>> worst.row.size, bool(worst.calibration_error[0] >= worst.calibration_error[1])
        (3, True)
        """
        kept = self._kept("contributions")
        if kept.in_any_order:
            raise bad_value(
                "contributions",
                "of a lazy table whose rows are in any order, or drawn",
                FOR_EACH_ROW,
                "call .collect() once on a query of all columns, and pass columns of it",
            )
        return kept.contributions(self._values())

    def direction(self) -> Direction:
        r"""Split the calibration error into over- and under-confidence.

        .. math::

            E\, D_F(r, g) &= \underbrace{E\, D_F(r, g)\, 1[t < 0]}_\text{over-confidence} \\
            &+ \underbrace{E\, D_F(r, g)\, 1[t > 0]}_\text{under-confidence}, \\
            t &= ⟨r - g, g - c⟩ .

        A row is over-confident if its prediction g lies further out from c than r = E[Y | g] does.
        For canonical and class-wise calibration c are the shares of the classes: over-confident
        predictions say more of what sets a row apart than is true. For the top label the first
        choice is right less often than predicted (c is the certainty that it is wrong).

        Returns
        -------
        Direction
            Both parts, which add up, with intervals; and the mean gap E[g − Y].

        Raises
        ------
        ValueError
            If the method does not correct its bias, the calibration error is infinite, or the rows
            are not kept: of a sketch, the partitions of Dask, or a saved result.

        Notes
        -----
        Which way a row errs is told by the recalibration r̂ that was fitted without it. Where that
        is unsure, r̂ is about as near to g as to r, and what goes to the wrong part is of the size
        of the estimate's own error in one dimension; among three or more classes, r − g may be
        large across the direction of g − c, and then either part may have it (book, chapter
        "Over- and under-confidence"). Class-wise values are means over classes.

        Examples
        --------
        >>> from propercal import decompose
        >>> from propercal.simulation import TemperatureScaledSimplex
        >>> y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(1000, random_state=0)
        >>> found = decompose(y_true, y_proba).direction()
        >>> found.over_confidence > 10 * abs(found.under_confidence)
        True
        """
        return direction_of(self, self._kept("direction"))

    def _kept(self, what: str) -> KeptRows:
        if self._kept_rows is None and self.method == "none":
            raise bad_value(
                what,
                "of a comparison of losses alone, for which no method estimated anything",
                "a result of decompose(...)",
                'call decompose(...) on the predictions, or compare by term="calibration_error"',
            )
        if self._kept_rows is None:
            raise bad_value(
                what,
                "of a result without its rows",
                "one of rows in memory",
                "a sketch, the partitions of Dask and a saved result have sums alone; call "
                "decompose(...) on arrays or tables that fit into memory",
            )
        return self._kept_rows

    def to_xarray(self) -> xr.Dataset:
        """Return the terms as a dataset of scalars, with intervals, errors and settings.

        Returns
        -------
        xarray.Dataset
            One variable per term; ``{term}_interval`` along "bound" and ``{term}_standard_error``
            where there is one, ``{term}_centre`` where it is not the term; ``lower_bound``,
            ``missed``, ``label_error``, ``noise_floor``, ``detection_floor``, ``kernel_share`` and
            ``misfit_pvalue`` of the debiased method; ``skill_score`` with its interval and error
            where it has one; the settings as attributes, with the number of the format,
            ``format_version``, and a ``digest`` of numbers and settings.
        """
        return as_dataset(self)

    @classmethod
    def from_xarray(cls, saved: xr.Dataset, *, generator: object = None) -> Decomposition:
        """Read what :meth:`to_xarray` returned, also through a file.

        Parameters
        ----------
        saved : xarray.Dataset
            Of this version of the format.
        generator : str, BregmanGenerator, class or callable, optional
            The convex function F; needed if it is not one that has a name.

        Returns
        -------
        Decomposition
            With the same terms, as floats, and the same intervals at every level.

        Raises
        ------
        ValueError
            If the format is another one, the generator not that of the result, or the numbers are
            not those of the settings: xarray keeps the settings of the first of several results
            that are put together, and of what is computed from them.
        """
        return cls(**of_dataset(saved, generator))

    def to_dict(self) -> dict[str, float]:
        """Return the numbers as flat floats, such as ``mlflow.log_metrics`` and ``wandb.log`` take.

        Returns
        -------
        dict of str to float
            The variables of :meth:`to_xarray` by their names, ends of intervals as ``risk_lower``
            and ``risk_upper``; settings that are numbers; and ``n_infinite_loss_rows``. What is
            infinite or not a number is left out, since trackers would keep another number for it:
            :meth:`to_json` has it, and is what can be read again.

        Examples
        --------
        >>> from propercal import decompose
        >>> found = decompose([0, 1, 1] * 20, [0.3, 0.6, 0.4] * 20)
        >>> numbers = found.to_dict()
        >>> numbers["risk"] == found.risk, numbers["n_samples"]
        (True, 60.0)
        >>> (numbers["risk_lower"], numbers["risk_upper"]) == found.interval("risk")
        True
        """
        infinite = float(len(self.infinite_loss_rows))
        return {**super().to_dict(), "n_infinite_loss_rows": infinite}

    def to_json(self) -> str:
        """Return the result as text of JSON, of which the command line's is made.

        Returns
        -------
        str
            An object of terms, centres, standard errors, intervals and settings, with the number of
            the format, ``format_version``. Infinite and undefined numbers are the strings
            ``"Infinity"``, ``"-Infinity"`` and ``"NaN"``, since JSON has no such numbers.

        Examples
        --------
        >>> from propercal import decompose
        >>> result = decompose([0, 1, 1] * 20, [0.3, 0.6, 0.4] * 20)
        >>> again = Decomposition.from_json(result.to_json())
        >>> again.interval("calibration_error", 0.9) == result.interval("calibration_error", 0.9)
        True
        """
        return json.dumps(as_mapping(self), allow_nan=False)

    @classmethod
    def from_json(cls, saved: str | bytes, *, generator: object = None) -> Decomposition:
        """Read what :meth:`to_json` returned.

        Parameters
        ----------
        saved : str or bytes
            Text of JSON, of this version of the format.
        generator : str, BregmanGenerator, class or callable, optional
            The convex function F; needed if it is not one that has a name.

        Returns
        -------
        Decomposition
            With the same terms, as floats, and the same intervals at every level.

        Raises
        ------
        ValueError
            If it is no such text, the format is another one, or the generator not that of the
            result.
        """
        return cls(**of_json(saved, generator))

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any], *, generator: object = None) -> Decomposition:
        """Read an object of JSON that was parsed, such as one of the command line's.

        Parameters
        ----------
        saved : mapping
            What ``json.loads`` makes of :meth:`to_json`; keys that it does not know are left aside.
            The flat numbers of :meth:`to_dict` are no such thing.
        generator : str, BregmanGenerator, class or callable, optional
            The convex function F; needed if it is not one that has a name.

        Returns
        -------
        Decomposition
            With the same terms, as floats, and the same intervals at every level.

        Raises
        ------
        ValueError
            If the format is another one, or the generator not that of the result.
        """
        return cls(**of_mapping(saved, generator))

    def __str__(self) -> str:
        return as_text(self)

    def _page(self) -> Page:
        return page_of(self)
