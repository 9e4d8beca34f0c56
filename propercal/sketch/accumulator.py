"""An accumulator of predictions whose size does not grow with their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from propercal._array import ignore_underflow
from propercal._data.inputs.settings import (
    check_confidence_level,
    check_flag,
    check_names,
)
from propercal._data.predictions.links import check_link
from propercal._data.words.messages import bad_value
from propercal._threads import Lock
from propercal.generators import as_generator
from propercal.generators.base import BregmanGenerator
from propercal.methods import MethodLike
from propercal.result import Decomposition
from propercal.sketch.answers import answer
from propercal.sketch.class_order import listed_names
from propercal.sketch.contents import Contents
from propercal.sketch.convention import Convention
from propercal.sketch.grid import check_grid, frame_of
from propercal.sketch.result import Question, estimated_error
from propercal.sketch.settings import (
    as_summed,
    check_folds,
    check_pairs,
    check_same,
    fixed_values,
    recipe_of,
)
from propercal.sketch.state import State
from propercal.sketch.tables import PointSums
from propercal.sketch.updates import Update, after_update, read_update
from propercal.sketch.verification import check_state
from propercal.sketch.written import read_back, write


class CalibrationSketch:
    r"""Predictions and labels, summed up so that streams and clusters can be decomposed.

    For each class, rows are summed by point, fold and label. The points are the predictions where
    at most 2000 are distinct, else bins of the log-odds, of a width of 0.00625 in the middle. Sums
    add up, over chunks of a stream and over machines, and the debiased estimate is computed from
    them as :func:`propercal.decompose` does from the rows. All other terms are sums over rows.

    Parameters
    ----------
    n_classes : int
        Number of classes k.
    generator : str, BregmanGenerator, class or callable
        The convex function F.
    notion : {"classwise", "top-label", "canonical"}
        Class-wise or top-label calibration; the canonical notion for two classes only.
    bandwidth : float, optional
        Bandwidth γ of the Dirichlet kernel, 1e-6 to 10, for the published methods "direct" and
        "risk" alone. It fixes a grid of nodes, so it cannot be chosen afterwards;
        :func:`propercal.select_bandwidth` chooses one from a part of the data.
    n_folds : int
        Folds of cross-fitting, 3 to 20, of the debiased method.
    random_state : int
        How rows are dealt to folds.
    labels : sequence of length k, optional
        The class that each column stands for, as in :func:`propercal.decompose`; needed for names
        of classes, since a chunk may lack some.
    pos_label : optional
        The class that a single column is the probability of.
    from_logits : bool
        Take predictions as logits.
    link : {"softmax", "sigmoid"}, optional
        What is between logits and probabilities, as in :func:`propercal.decompose`.

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do.

    Notes
    -----
    Its size is at most that of 2000 points for each class, some 80 kilobytes; a bandwidth adds a
    grid of about (3 / √γ + 100) · 32 numbers. As bytes only what holds predictions counts. Rows
    that come one by one wait until they are some hundreds, or the sketch is read; bad ones are
    refused at once.

    Each chunk is dealt to the folds by itself, the first as :func:`propercal.decompose` would: a
    sketch of one update has the numbers of memory. Order and grouping of updates change the sums
    by rounding alone, and the debiased estimate by how rows were dealt, a fraction of its standard
    error. Where a bin holds many different predictions memory would divide it; then
    :meth:`result` warns.

    A row is read by itself: as one class of a row that sums to 1, or else by 1 − p. An indicator
    matrix may be one class in each row or separate problems, which :func:`propercal.decompose` sees
    from all rows. A sketch takes columns as separate from the first row on that marks no or several
    classes, or whose predictions are further than 0.1 from a sum of 1. Such a row is refused where
    rows before it were read as of one class and would be others as separate problems.

    Rows count as independent: a sketch keeps no sums by group, whose number grows with the data,
    and deals the rows of each update to folds by themselves, so that there is no `groups` as in
    :func:`propercal.decompose`.

    What the nodes leave out of a published estimate is estimated from how fast the polynomials
    converge (:meth:`quadrature_error`), and :meth:`result` warns where it exceeds 1e-6 of a term.
    That happens where points stand alone, n √γ of 10 or less: there is no sketch of such data, but
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
    >>> whole, other = (CalibrationSketch(3) for _ in range(2))
    >>> whole.update(y_true[:5000], y_proba[:5000])
    >>> other.update(y_true[5000:], y_proba[5000:])
    >>> result = whole.merge(other).result()
    >>> in_memory = decompose(y_true, y_proba, notion="classwise")
    >>> difference = abs(result.calibration_error - in_memory.calibration_error)
    >>> difference < 0.2 * in_memory.standard_errors["calibration_error"]
    True
    """

    def __init__(
        self,
        n_classes: int,
        *,
        generator: Any = "log",
        notion: str = "classwise",
        bandwidth: float | None = None,
        n_folds: int = 5,
        random_state: int = 0,
        labels: Sequence[Any] | None = None,
        pos_label: Any = None,
        from_logits: bool = False,
        link: str | None = None,
    ) -> None:
        reduction = check_pairs(n_classes, notion)
        self.bandwidth = check_grid(bandwidth)
        self.n_folds, self.random_state = check_folds(n_folds, random_state)
        check_flag("from_logits", from_logits)
        self.n_classes = int(n_classes)
        self.notion = reduction.name
        self.generator: BregmanGenerator = as_generator(generator)
        names = check_names(labels, int(n_classes))
        self.labels = None if names is None else list(names)
        check_link(link, from_logits)
        self.pos_label = pos_label.item() if isinstance(pos_label, np.generic) else pos_label
        self.from_logits = from_logits
        self.link = link
        self._frame = frame_of(
            reduction, self.n_classes, self.n_folds, self.random_state, self.bandwidth
        )
        self._lock = Lock()
        self.reset()

    def reset(self) -> None:
        """Forget all rows, and what they settled about how rows are read; keep the settings."""
        names = listed_names(self.labels, self.n_classes, self.pos_label)
        empty = Contents(State.empty(self._frame), Convention(names))
        with self._lock:
            self._seen = empty

    @property
    def n_samples(self) -> int:
        """Rows seen so far."""
        return self._seen.n_samples

    @property
    def _state(self) -> State:
        return self._seen.summed(self._frame)

    def _restore(
        self, arrays: dict[str, np.ndarray[Any, Any]], reading: Convention, **others: Any
    ) -> None:
        """See what was written as `arrays`, in the place of nothing; `others` are contents too."""
        self._seen = Contents(self._seen.state.restored(arrays), reading, **others)

    @ignore_underflow
    def update(self, y_true: object, y_proba: object, sample_weight: object = None) -> None:
        """Add rows.

        Parameters
        ----------
        y_true, y_proba
            As in :func:`propercal.decompose`; no rows change nothing.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, 0 or 1e-100 to 1e100, on the scale of all updates: a row without
            one has weight 1. For the debiased method alone.

        Raises
        ------
        ValueError
            If the rows cannot be used; then nothing of them was added.

        Warns
        -----
        UserWarning
            Once, if rows were added before, one by one: an update that equals one of the last 512,
            or the first 20 or more rows of all, of 10 different ones with labels that differ. And
            once, if these rows have weights and those before none, or the other way about.
        """
        with self._lock:
            read = self._read(y_true, y_proba, sample_weight)
            if read is not None:
                self._seen = self._with_rows(read)

    def _read(self, y_true: object, y_proba: object, sample_weight: object) -> Update | None:
        return read_update(
            y_true,
            y_proba,
            sample_weight,
            notion=self.notion,
            has_nodes=self.bandwidth is not None,
            reading=self._seen.reading,
            n_classes=self.n_classes,
            from_logits=self.from_logits,
            labels=self.labels,
            pos_label=self.pos_label,
            link=self.link,
        )

    def _with_rows(self, read: Update, tables: Sequence[PointSums] | None = None) -> Contents:
        return after_update(self._seen, read, self._frame, self.generator, tables)

    def merge(self, other: CalibrationSketch) -> Self:
        """Add what another sketch of the same settings has seen, and return this one.

        Parameters
        ----------
        other : CalibrationSketch
            It is not changed.

        Raises
        ------
        ValueError
            If the settings of the two differ, or they share rows: a sketch, a copy or its bytes are
            merged once, of which the last 1024 are known again; :meth:`reset` one that goes on.

        Warns
        -----
        UserWarning
            If an update of 20 rows or more was added to both, or one alone had weights.
        """
        if other is self or not isinstance(other, CalibrationSketch):
            found = "the sketch itself" if other is self else type(other).__name__
            fix = "see from_bytes for bytes; rows of one sketch count once"
            raise bad_value("other", found, "a CalibrationSketch", fix)
        check_same(self._settings(), other._settings())
        others = other._seen
        with self._lock:
            self._seen = self._seen.plus(
                others,
                self._frame,
                n_classes=self.n_classes,
                said=self.labels is not None or self.pos_label is not None,
            )
        return self

    def result(
        self, *, method: MethodLike = "debiased", confidence_level: float = 0.95
    ) -> Decomposition:
        """Decompose the risk of all rows seen so far.

        Parameters
        ----------
        method : {"debiased", "direct", "risk"} or Method
            "debiased" is that of :func:`propercal.decompose`, with the folds of the sketch.
            "direct" and "risk", which leave out each row, need a sketch of a bandwidth.
        confidence_level : float
            Level of :meth:`Decomposition.interval`. Debiased, class-wise: standard errors are
            means of those of the classes, which is what they are at most.

        Returns
        -------
        Decomposition

        Raises
        ------
        ValueError
            If there are less than two rows (debiased: 20), or an argument cannot be used.

        Warns
        -----
        UserWarning
            If a term is infinite; published methods: if the nodes may be off by more than 1e-6 of
            a term; debiased: what :func:`propercal.decompose` warns of, and if more than 1/20 of
            the rows are different predictions in one bin; if labels 1 to k − 1 are read as numbers
            from 0, predictions go with another order of the columns or the other class of one
            column, or no row is of the class of a column of logits, as in
            :func:`propercal.decompose`; if predictions tell nothing of the labels, are these, or
            all are 0 or 1. Of more than 100 classes, the order of the columns and what predictions
            tell are not looked at: pass `labels`.
        """
        return self._answered(self._asked(method), check_confidence_level(confidence_level))

    def _answered(self, asked: Question, confidence_level: float) -> Decomposition:
        return answer(self._seen, self._frame, asked, confidence_level, self._settings())

    def _asked(self, method: MethodLike) -> Question:
        own = self._settings()
        chosen = as_summed(method, own)
        panels = self._frame.panels
        return Question(self.generator, chosen, recipe_of(chosen, own), panels, self.bandwidth)

    def quadrature_error(self, *, method: MethodLike = "debiased") -> float:
        """Estimate by how much sums over bins or nodes are off.

        Parameters
        ----------
        method : {"debiased", "direct", "risk"}
            As in :meth:`result`.

        Returns
        -------
        float
            An absolute error of the refinement. Debiased: by how much bins of twice the width
            would change it, 0 where the points are the predictions. Published: the mean over rows
            of the last coefficients of the polynomials (direct: of the calibration error).
        """
        return estimated_error(self._state, self._asked(method))

    def to_bytes(self, *, key: bytes | None = None) -> bytes:
        """Return all there is to know of the sketch, as bytes that :meth:`from_bytes` reads.

        Only points and panels that hold predictions are written: some tens of kilobytes a class.

        Parameters
        ----------
        key : bytes, optional
            Sign the bytes (HMAC-SHA256), so that only who has the key can write others that are
            read with it.

        Returns
        -------
        bytes
        """
        return write(self._settings(), self._seen, self._frame, key)

    @classmethod
    def from_bytes(cls, data: bytes, *, generator: Any = None, key: bytes | None = None) -> Self:
        """Read a sketch.

        Parameters
        ----------
        data : bytes
            What :meth:`to_bytes` returned. Nothing in it is executed. A checksum tells bytes that
            were damaged; who writes others on purpose can only be told by a `key`.
        generator : str, BregmanGenerator, class or callable, optional
            The generator, where it is not one that has a name.
        key : bytes, optional
            That with which the sketch was written.

        Returns
        -------
        CalibrationSketch

        Raises
        ------
        ValueError
            If the bytes are not those of a sketch, are damaged, were written with another key,
            cannot be the sums of any rows, ask for a thousand times their own size in memory (256
            MiB are always given), or the generator is another than the sketch had.
        """
        found = read_back(data, generator, key)
        sketch = cls(**found.settings, generator=found.generator)
        sketch._restore(found.arrays, found.reading, origins=found.origins, known=found.known)
        check_state(data, sketch._seen.state, found.frame, sketch.generator, sketch.bandwidth)
        return sketch

    def __repr__(self) -> str:
        return (
            f"CalibrationSketch({self.n_classes}, generator={self.generator!r}, "
            f"notion={self.notion!r}"
            + ("" if self.bandwidth is None else f", bandwidth={self.bandwidth:g}")
            + f"): {self.n_samples} rows"
        )

    def _settings(self) -> dict[str, Any]:
        return {
            "n_classes": self.n_classes,
            "generator": repr(self.generator),
            "name": self.generator.name,
            "values": fixed_values(self.generator),
            "notion": self.notion,
            "bandwidth": self.bandwidth,
            "n_folds": self.n_folds,
            "random_state": self.random_state,
            "labels": self.labels,
            "pos_label": self.pos_label,
            "from_logits": self.from_logits,
            "link": self.link,
        }
