"""An accumulator of predictions whose size does not grow with their number."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np

from propercal._array import (
    by_rows,
    counts,
    is_numpy,
    like,
    namespace,
    no_gradient,
    one_hot,
    quiet,
    to_numpy,
)
from propercal._labels import check_names
from propercal._messages import bad_value, unknown_name
from propercal._reading import read_array
from propercal._typing import Array
from propercal._validate import (
    Predictions,
    check_bandwidth,
    check_confidence_level,
    check_flag,
    validate,
)
from propercal.conditional.exact import n_threads
from propercal.conditional.panels import Placement, make_panels
from propercal.estimators import METHODS
from propercal.generators import as_generator
from propercal.generators.base import BregmanGenerator
from propercal.notions import Problem, as_notion
from propercal.result import Decomposition
from propercal.sketch.encoding import decode, encode
from propercal.sketch.state import Floats, State, Whole, fill_cells
from propercal.sketch.terms import decomposition, estimates, mean_error

#: Nodes of a panel, and single predictions that are kept in it as they are.
_NODES = 16


class CalibrationSketch:
    r"""Predictions and labels, summed up so that streams and clusters can be decomposed.

    For each class the predictions are moved onto the nodes of a fixed grid on 0 to 1, by label,
    with weights that keep the mean of every function that is smooth on the scale of the kernel.
    All terms of a decomposition are such means, or are summed exactly (the risk, the share of each
    class). The weights add up: over chunks of a stream, and over machines.

    Parameters
    ----------
    n_classes : int
        Number of classes k.
    generator : str, BregmanGenerator, class or callable
        The convex function F.
    notion : {"classwise", "top-label", "canonical"}
        Class-wise or top-label calibration; the canonical notion for two classes only.
    bandwidth : float
        Bandwidth γ of the Dirichlet kernel, 1e-6 to 10. It fixes the grid, so it cannot be chosen
        afterwards; :func:`propercal.select_bandwidth` chooses one from a part of the data.
    labels : sequence of length k, optional
        The class that each column stands for, as in :func:`propercal.decompose`; needed for names
        of classes, since a chunk may lack some.
    from_logits : bool
        Take predictions as logits.

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do.

    Notes
    -----
    Its size is that of the grid, about (3 / √γ + 100) · 32 numbers for each class, whatever the
    number of predictions is; as bytes only the panels that hold predictions count. The order and
    the grouping of updates change nothing but rounding.

    What the nodes leave out of a mean is estimated from how fast the polynomials converge
    (:meth:`quadrature_error`), and :meth:`result` warns where it exceeds 1e-6 of a term. That
    happens where points stand alone, n √γ of 10 or less: there is no sketch of such data, but
    they also fit into memory.

    References
    ----------
    Trefethen (2013), "Approximation Theory and Approximation Practice", chapter 8, for the error
    of interpolation at Chebyshev nodes.

    Examples
    --------
    >>> from propercal import decompose
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, _ = TemperatureScaledSimplex(3).sample(20_000, random_state=0)
    >>> whole, other = (CalibrationSketch(3, bandwidth=0.02) for _ in range(2))
    >>> whole.update(y_true[:5000], y_proba[:5000])
    >>> other.update(y_true[5000:], y_proba[5000:])
    >>> result = whole.merge(other).result(method="risk")
    >>> in_memory = decompose(y_true, y_proba, notion="classwise", method="risk", bandwidth=0.02)
    >>> abs(result.calibration_error / in_memory.calibration_error - 1) < 1e-6
    True
    """

    def __init__(
        self,
        n_classes: int,
        *,
        generator: Any = "log",
        notion: str = "classwise",
        bandwidth: float,
        labels: Sequence[Any] | None = None,
        from_logits: bool = False,
    ) -> None:
        if isinstance(n_classes, bool) or not isinstance(n_classes, int | np.integer):
            raise bad_value("n_classes", repr(n_classes), "a whole number", "2 or more")
        if n_classes < 2:
            raise bad_value("n_classes", n_classes, "2 or more", "count the columns of y_proba")
        as_notion(notion)
        if notion == "canonical" and n_classes > 2:
            raise bad_value(
                "notion",
                "'canonical'",
                "a notion of one-dimensional problems for more than two classes",
                'use "classwise" or "top-label", or decompose() for data that fit into memory',
            )
        gamma = check_bandwidth(bandwidth)
        if not 1e-6 <= gamma <= 10:
            raise bad_value(
                "bandwidth", f"{gamma:g}", "1e-6 to 10", "a narrower kernel needs too many nodes"
            )
        check_flag("from_logits", from_logits)
        self.n_classes = int(n_classes)
        self.notion = notion
        self.generator: BregmanGenerator = as_generator(generator)
        self.bandwidth = gamma
        names = check_names(labels, int(n_classes))
        self.labels = None if names is None else list(names)
        self.from_logits = from_logits
        # Half as wide as kernel sums need: losses that leave out a point are less smooth.
        self._panels = make_panels(gamma / 4, _NODES)
        n_problems = self.n_classes if notion == "classwise" else 1
        self._state = State.empty(n_problems, self._panels)
        #: Names of classes, as the first rows were read, and whether logits are separate problems.
        self._names: list[Any] | None = self.labels
        self._separate: bool | None = None

    @property
    def n_samples(self) -> int:
        """Rows seen so far."""
        return self._state.n_samples

    @quiet
    def update(self, y_true: object, y_proba: object) -> None:
        """Add rows.

        Parameters
        ----------
        y_true, y_proba
            As in :func:`propercal.decompose`, one row or more. Tensors are summed where they are;
            only the weights of nodes leave the device.

        Raises
        ------
        ValueError
            If the rows cannot be used; then nothing of them was added.
        """
        values = read_array("y_proba", y_proba)
        n_classes = max(2, int(values.shape[1])) if len(values.shape) == 2 else 2
        if n_classes != self.n_classes:
            raise bad_value(
                "y_proba",
                f"{n_classes} classes",
                f"{self.n_classes}, as the sketch has",
                "make a sketch for each set of classes",
            )
        predictions = validate(
            y_true,
            y_proba,
            from_logits=self.from_logits,
            labels=self._names,
            smallest=1,
        )
        xp = namespace(predictions.prob)
        with no_gradient(predictions.prob):
            problems = list(as_notion(self.notion).problems(predictions))
            if is_numpy(predictions.prob) and n_threads() > 1 and len(problems) > 1:
                with ThreadPoolExecutor(n_threads()) as pool:
                    parts = list(pool.map(self._part, problems))
            else:
                parts = [self._part(problem) for problem in problems]
        self._check_reading(predictions)
        loss = np.mean([part[2] for part in parts], axis=0)
        n_odd = predictions.n_samples if predictions.multilabel else 0
        new = State.empty(len(parts), self._panels)
        for i, (cells, sizes, _) in enumerate(parts):
            new.cells[i], new.sizes[i] = cells, sizes
            impossible = xp.isinf(problems[i].log_prob)
            new.zeros[i] = to_numpy(xp.sum(xp.astype(impossible, xp.int64), axis=0))
        new.loss[:] = loss.sum(), loss @ loss
        new.odd_rows[:] = n_odd, np.count_nonzero(np.isinf(loss))
        self._state = self._state.plus(new)

    def _check_reading(self, predictions: Predictions) -> None:
        """Read all rows as the first ones were, which the order of rows must not change."""
        if self.from_logits and self._separate not in (None, predictions.multilabel):
            raise bad_value(
                "y_true",
                "an indicator matrix whose rows all mark one class, after or before others that "
                "do not",
                "one class in every row, or not in every row, of each update with logits",
                "pass probabilities, which need no softmax or sigmoid",
            )
        if self.from_logits:
            self._separate = predictions.multilabel
        if self._names is None and predictions.classes.codes is not None:
            self._names = list(predictions.classes.names)

    def _part(self, problem: Problem) -> tuple[Floats, Whole, Floats]:
        """Return cells, their sizes and the losses of rows of a problem."""
        panels = self._panels
        placed = Placement(panels, problem.prob, problem.log_prob)
        xp = namespace(problem.prob)
        outcome = one_hot(problem.label, 2, problem.prob.dtype)
        cell = 2 * placed.number + problem.label
        sizes = counts(cell, 2 * panels.n_panels)
        weights = np.zeros((panels.n_panels, 2, panels.order))
        moved = to_numpy(placed.spread(outcome)).reshape(-1, panels.order, 2)
        weights[placed.grid.numbers] = np.swapaxes(moved, 1, 2)
        few = xp.nonzero(xp.take(like(sizes <= panels.order, problem.prob), cell))[0]
        cells = fill_cells(
            weights.reshape(-1, panels.order),
            sizes,
            to_numpy(xp.take(cell, few)),
            to_numpy(xp.take(placed.place, few)),
        )

        def losses(prob: Array, log_prob: Array, outcome: Array) -> Array:
            return self.generator.loss(prob, outcome, log_q=log_prob)

        loss = to_numpy(by_rows(losses, problem.prob, problem.log_prob, outcome))
        shape = panels.n_panels, 2
        return cells.reshape(*shape, panels.order), sizes.reshape(shape), loss

    def merge(self, other: CalibrationSketch) -> Self:
        """Add what another sketch of the same settings has seen, and return this one.

        Parameters
        ----------
        other : CalibrationSketch
            It is not changed.

        Raises
        ------
        ValueError
            If the settings of the two differ.
        """
        if not isinstance(other, CalibrationSketch):
            raise bad_value(
                "other", type(other).__name__, "a CalibrationSketch", "see from_bytes for bytes"
            )
        mine, others = self._settings(), other._settings()
        for name, value in mine.items():
            if others[name] != value:
                raise bad_value(
                    "other",
                    f"a sketch with {name} = {others[name]!r}",
                    f"{name} = {value!r}",
                    "merge sketches of the same settings",
                )
        if self.n_samples == 0:
            self._names, self._separate = other._names, other._separate
        elif other.n_samples and (self._names, self._separate) != (other._names, other._separate):
            raise bad_value(
                "other",
                f"a sketch that read classes as {other._names}",
                f"{self._names}",
                "pass labels=[...] to both",
            )
        self._state = self._state.plus(other._state)
        return self

    def result(self, *, method: str = "debiased", confidence_level: float = 0.95) -> Decomposition:
        """Decompose the risk of all rows seen so far.

        Parameters
        ----------
        method : {"debiased", "direct", "risk"}
            "direct" and "risk" are those of :func:`propercal.decompose`, which leave out each row.
            "debiased" corrects their bias as it does there, but knows no recalibration other than
            that by the kernel: predictions are corrected by what a leave-one-out kernel, of
            bandwidth γ, 4 γ, 16 γ or 64 γ, sees in their residuals, as far as that lowers the loss,
            and the variance of the correction is taken off. A small γ costs nothing but nodes.
        confidence_level : float
            Level of :meth:`Decomposition.interval`. Debiased, class-wise: standard errors are
            means of those of the classes, which is what they are at most.

        Returns
        -------
        Decomposition

        Raises
        ------
        ValueError
            If there are less than two rows, or an argument cannot be used.

        Warns
        -----
        UserWarning
            If a term is infinite, if the nodes may be off by more than 1e-6 of a term, or,
            debiased, if γ is too wide for what so many rows could tell.
        """
        if method not in METHODS:
            raise unknown_name("method", method, METHODS)
        return decomposition(
            self._state,
            self._panels,
            self.generator,
            method,
            notion=self.notion,
            bandwidth=self.bandwidth,
            n_classes=self.n_classes,
            confidence_level=check_confidence_level(confidence_level),
        )

    def quadrature_error(self, *, method: str = "debiased") -> float:
        """Estimate what the nodes leave out of the refinement (direct: the calibration error).

        Parameters
        ----------
        method : {"debiased", "direct", "risk"}
            As in :meth:`result`.

        Returns
        -------
        float
            An absolute error: the mean over rows of the last coefficients of the polynomials.
        """
        if method not in METHODS:
            raise unknown_name("method", method, METHODS)
        found = estimates(self._state, self._panels, self.bandwidth, self.generator, method)
        return mean_error(found)

    def to_bytes(self) -> bytes:
        """Return all there is to know of the sketch, as bytes that :meth:`from_bytes` reads.

        Only panels that hold predictions are written, so the size is some kilobytes a class.
        """
        reading = {"reading": [self._names, self._separate]}
        return encode({**self._settings(), **reading}, self._state.arrays())

    @classmethod
    def from_bytes(cls, data: bytes, *, generator: Any = None) -> Self:
        """Read a sketch.

        Parameters
        ----------
        data : bytes
            What :meth:`to_bytes` returned. Nothing in it is executed.
        generator : str, BregmanGenerator, class or callable, optional
            The generator, where it is not one that has a name.

        Returns
        -------
        CalibrationSketch

        Raises
        ------
        ValueError
            If the bytes are not those of a sketch, or the generator is another than it had.
        """
        settings, arrays = decode(data)
        written, name, reading = (settings.pop(key) for key in ("generator", "name", "reading"))
        chosen = as_generator(name if generator is None else generator)
        if repr(chosen) != written:
            raise bad_value(
                "generator", repr(chosen), f"{written}, that of the sketch", "pass generator=..."
            )
        sketch = cls(**settings, generator=chosen)
        sketch._names, sketch._separate = reading
        sketch._state = sketch._state.restored(arrays)
        return sketch

    def __repr__(self) -> str:
        return (
            f"CalibrationSketch({self.n_classes}, generator={self.generator!r}, "
            f"notion={self.notion!r}, bandwidth={self.bandwidth:g}): {self.n_samples} rows"
        )

    def _settings(self) -> dict[str, Any]:
        return {
            "n_classes": self.n_classes,
            "generator": repr(self.generator),
            "name": self.generator.name,
            "notion": self.notion,
            "bandwidth": self.bandwidth,
            "labels": self.labels,
            "from_logits": self.from_logits,
        }
