"""A monitor of predictions as they come, which says whether they are calibrated, and still are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from propercal._array import ignore_underflow
from propercal._data.inputs.holders import hold
from propercal._data.words.messages import bad_value
from propercal._results.forms import Result
from propercal._results.pages import Page
from propercal._threads import Lock
from propercal.generators import as_generator
from propercal.generators.base import BregmanGenerator
from propercal.generators.order import check_order, check_turned
from propercal.monitor.contents import Contents
from propercal.monitor.gains import largest_loss
from propercal.monitor.history import history_of, page_of, state_of
from propercal.monitor.repetition import first_after, look_for_repetition
from propercal.monitor.rows import read, refuse_weights
from propercal.monitor.settings import Settings, check_follows, check_same
from propercal.monitor.state import Limits
from propercal.monitor.written import decode, encode

if TYPE_CHECKING:
    import xarray as xr


class CalibrationMonitor(Result):
    r"""Evidence against calibration that may be looked at after every row.

    A bet against the model multiplies its wealth by r(y) / g(y) at each row, with a recalibration r
    that is fixed or learnt from the rows before. If outcomes are drawn from the predictions, no bet
    is expected to gain, and the mean wealth of many, which began with 1, is the e-value:

    .. math::

        &E_t = \sum_j w_j \prod_{s \le t} \frac{r_j(g_s)_{y_s}}{g_s(y_s)}, \\
        &P(\sup_t E_t \ge 1/\alpha) \le \alpha .

    Parameters
    ----------
    n_classes : int, optional
        Number of classes k; needed unless `labels` are given.
    alpha : float
        Level: the probability of an alarm, ever, for a calibrated model, and of a lower bound that
        is ever above the calibration error.
    notion : {"canonical", "classwise", "top-label"}
        What is asked to be calibrated, as in :func:`propercal.decompose`. Class-wise, the e-value
        is the mean of those of the classes.
    generator : str, BregmanGenerator, class or callable
        Whose calibration error `lower_bound` is one of: "log", or a quadratic loss ("brier",
        "rps"). The e-value does not depend on it.
    run_length : float
        Rows that pass on average, at least, before `drift_alarm` is given for a calibrated model.
    labels : sequence of length k, optional
        The class that each column stands for, as in :class:`propercal.CalibrationSketch`.
    pos_label, from_logits, link
        As in :class:`propercal.CalibrationSketch`.
    first_row : int
        The number of the first row, for monitors of later parts of a stream, which :meth:`merge`.

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do.

    Notes
    -----
    Recalibrations are softmax(a log g + b): 20 exponents a from 1/5 to 5, steps of the log-odds of
    each class (and both, for two outcomes), which share half and a quarter of the wealth, and one
    that is learnt by Newton steps from the rows before, up to 32 classes with a step for each.

    The null hypothesis is that each outcome is drawn from its prediction, given all rows before.
    Rows that depend on each other beyond that, such as several of one patient, void it: pass one of
    them. A weight is refused, since a weighted bet is none. Rows are divided by their sums, which
    may differ from 1 by rounding alone.

    Where an outcome occurs to which the prediction gives probability 0, the e-value is infinite,
    and remains so: no calibrated model does that. Recalibrations keep a probability of 0, so that a
    lower bound under a bounded loss learns nothing from such a row.

    `drift` is the sum of the wealths of bets that began after each row: an e-detector (Shin, Ramdas
    & Rinaldo 2023). It finds a model that was calibrated and is no more, which the e-value, having
    lost meanwhile, finds late. It may also be looked at after every row.

    What is kept does not grow with the rows, does not depend on how they are divided into updates,
    and is updated from several threads. There are some tens of bets a problem, and six for each
    class of a canonical problem.

    References
    ----------
    Ramdas, Grünwald, Vovk & Shafer (2023), "Game-theoretic statistics and safe anytime-valid
    inference", doi:10.1214/23-STS894. Shin, Ramdas & Rinaldo (2023), "E-detectors: a nonparametric
    framework for sequential change detection", doi:10.51387/23-NEJSDS51. Waudby-Smith & Ramdas
    (2024), "Estimating means of bounded random variables by betting", doi:10.1093/jrsssb/qkad009.

    Examples
    --------
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> y_true, y_proba, p_true = TemperatureScaledSimplex(3).sample(2000, random_state=0)
    >>> good, bad = (CalibrationMonitor(3) for _ in range(2))
    >>> for start in range(0, 2000, 500):
    ...     rows = slice(start, start + 500)
    ...     good.update(y_true[rows], p_true[rows])
    ...     bad.update(y_true[rows], y_proba[rows])
    >>> good.alarm, bad.alarm
    (False, True)
    """

    def __init__(
        self,
        n_classes: int | None = None,
        *,
        alpha: float = 0.05,
        notion: str = "canonical",
        generator: Any = "log",
        run_length: float = 10_000,
        labels: Sequence[Any] | None = None,
        pos_label: Any = None,
        from_logits: bool = False,
        link: str | None = None,
        first_row: int = 0,
    ) -> None:
        self.generator: BregmanGenerator = as_generator(generator)
        self._own = Settings.of(
            n_classes, alpha, notion, run_length, labels, pos_label, from_logits, link, first_row
        )
        self._limits = Limits(
            -math.log(self.alpha),
            math.log(self.run_length),
            self.generator,
            largest_loss(self.generator, self._own.n_outcomes),
            self.alpha,
        )
        self._lock = Lock()
        self.reset()

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return self._own.n_classes

    @property
    def alpha(self) -> float:
        """Level of the alarm and of the lower bound."""
        return self._own.alpha

    @property
    def notion(self) -> str:
        """What is asked to be calibrated."""
        return self._own.notion

    @property
    def run_length(self) -> float:
        """Rows that pass on average, at least, before a false alarm of drift."""
        return self._own.run_length

    @property
    def first_row(self) -> int:
        """The number of the first row."""
        return self._own.first_row

    def reset(self) -> None:
        """Forget all rows, and what they settled about how rows are read; keep the settings."""
        with self._lock:
            self._seen = Contents.empty(self._own)

    def update(self, y_true: object, y_proba: object, sample_weight: object = None) -> None:
        """Add rows, in the order of time.

        Parameters
        ----------
        y_true, y_proba
            As in :func:`propercal.decompose`; no rows change nothing.
        sample_weight : None
            Weights are refused: a bet that is raised to the power of a weight gains on average also
            from a calibrated model.

        Raises
        ------
        ValueError
            If the rows cannot be used; then nothing of them was added.

        Warns
        -----
        UserWarning
            If labels 1 to k − 1 are read as numbers from 0, or predictions go with another order of
            the columns or the other class of one column, as in :func:`propercal.decompose`. Of more
            than 100 classes, the order of the columns is not looked at: pass `labels`. And if the
            last or the first rows that were seen, 20 or more of different predictions and labels,
            are among these; or if a column has been 0 in all rows so far, 100 or more, and of no
            label. And if predictions tell nothing of the labels, are these, or are all 0 or 1.
        """
        refuse_weights(sample_weight)
        self._add(y_true, y_proba)

    @ignore_underflow
    def _add(
        self,
        y_true: object,
        y_proba: object,
        *,
        by: str = "labels",
        in_order: bool = False,
        is_counted: bool = False,
    ) -> None:
        """Add rows.

        `in_order` says that the caller said by an argument that columns are in the order of
        classes; `is_counted` that labels, which name columns, were numbers that count these.
        """
        with self._lock:
            seen = self._seen
            reading = seen.reading.in_doubt(self.n_classes) if is_counted else seen.reading
            found = read(y_true, y_proba, self._own, reading)
            if found is None:
                return
            classes = (
                found.classes._replace(alphabetical=False, turned=()) if in_order else found.classes
            )
            said = in_order or self._own.labels is not None or hold("y_true", y_true).ordered
            order = [self.generator], self._own.reduction
            check_order(classes, *order, self.n_classes, by=by)
            if classes.turned and not said:
                check_turned(classes.names, classes.turned, *order, by=by)
            after = seen.after(found, self._limits)
            told = look_for_repetition(seen.last, found.digests, found.rows)
            self._seen = after._replace(
                told_zeros=after.told_zeros or in_order,
                first=first_after(seen.first, found.digests, found.rows, told=told),
            ).looked_at(self._own)

    def merge(self, later: CalibrationMonitor) -> Self:
        """Add what a monitor of the rows that follow has seen, and return this one.

        Wealths, the sum over starts and the lower bound are those of all rows, but for a learnt
        recalibration, which began anew: products and sums of valid ones. What the e-value was
        between the rows of `later` is not known, so that an alarm there is given at its end, if at
        all, which is on the safe side; of `drift`, it is given where `later` gave its own.

        Parameters
        ----------
        later : CalibrationMonitor
            Of the same settings, and a `first_row` that follows the last row of this one. It is not
            changed.

        Raises
        ------
        ValueError
            If the settings of the two differ, or its rows do not follow those of this one.
        """
        if not isinstance(later, CalibrationMonitor):
            raise bad_value(
                "later", type(later).__name__, "a CalibrationMonitor", "see from_bytes for bytes"
            )
        others = later._seen
        with self._lock:
            mine = self._seen
            check_same(self._own, later._own, self.generator, later.generator)
            check_follows(self._own, later._own, mine.state.n_rows)
            self._seen = mine.plus(others, self._own, self._limits)
        return self

    @property
    def n_samples(self) -> int:
        """Rows seen so far."""
        return self._seen.state.n_rows

    @property
    def log_e_value(self) -> float:
        """Logarithm of the e-value now; 0 before the first row."""
        return self._seen.state.log_e_value

    @property
    def e_value(self) -> float:
        """Mean wealth now; at any time that may depend on the rows, its expectation is at most 1.

        Infinite where it, or the number of its digits, is; see :attr:`log_e_value`.
        """
        return _exp(self.log_e_value)

    @property
    def p_value(self) -> float:
        """Anytime-valid p-value, min(1, 1 / max E) over all rows so far.

        It may be looked at after every row: the probability that it is ever at most α is at most α.
        """
        return math.exp(-self._seen.state.highest)

    @property
    def alarm(self) -> bool:
        """Whether the e-value has reached 1 / alpha."""
        return self.alarm_row is not None

    @property
    def alarm_row(self) -> int | None:
        """The number of the row at which it did; None if it did not."""
        return self._row(self._seen.state.alarm)

    @property
    def drift(self) -> float:
        """Sum of the wealths of bets that began after each row, 0 before the first row."""
        return _exp(self._seen.state.log_sum_of_starts)

    @property
    def drift_alarm(self) -> bool:
        """Whether `drift` has reached the run length."""
        return self.drift_row is not None

    @property
    def drift_row(self) -> int | None:
        """The number of the row at which it did; None if it did not."""
        return self._row(self._seen.state.drift_alarm)

    @property
    def drift_start(self) -> int | None:
        """The number of the row since which a bet has gained most, an estimate of the beginning.

        None before there was an alarm of drift.
        """
        state = self._seen.state
        return None if state.drift_alarm < 0 else self.first_row + state.best_start()

    def _row(self, n_rows: int) -> int | None:
        return None if n_rows < 0 else self.first_row + n_rows - 1

    @property
    def lower_bound(self) -> float:
        """A lower bound of the calibration error over the rows so far, 0 or more.

        With probability 1 − alpha it is, after every row, below the mean over rows of the
        expectation of D_F(E[Y | g], g), both given all rows before: for independent rows of one
        model, below its calibration error. In units of the generator's loss.
        """
        return self._seen.state.lower_bound(self._limits)

    def history(self) -> xr.Dataset:
        """Return what was known after some of the rows.

        Returns
        -------
        xarray.Dataset
            Along "row", the number of the last row: ``log_e_value``, ``p_value``, ``log_drift``
            and ``lower_bound``; the settings as attributes. All rows up to 512 of them, then every
            second, fourth, ..., and the last one. After :meth:`merge`, those of the first monitor.
        """
        return history_of(self._seen.state, self._limits, self._own)

    def to_xarray(self) -> xr.Dataset:
        """Return what is known now, as numbers.

        Returns
        -------
        xarray.Dataset
            ``log_e_value``, ``e_value``, ``p_value``, ``lower_bound``, ``drift``, ``alarm`` and
            ``drift_alarm`` (0 or 1); ``alarm_row``, ``drift_row`` and ``drift_start``, NaN before
            there was an alarm; the settings as attributes. See :meth:`history` for how it came, and
            :meth:`to_bytes` for what can be read again.
        """
        with self._lock:
            return state_of(self)

    def _page(self) -> Page:
        return page_of(self)

    def to_bytes(self, *, key: bytes | None = None) -> bytes:
        """Return all there is to know of the monitor, as bytes that :meth:`from_bytes` reads.

        Parameters
        ----------
        key : bytes, optional
            Sign the bytes (HMAC-SHA256), so that only who has the key can write others that are
            read with it.

        Returns
        -------
        bytes
            The same however the rows were divided into updates.
        """
        return encode(self._own, self.generator, self._seen, key)

    @classmethod
    def from_bytes(cls, data: bytes, *, generator: Any = None, key: bytes | None = None) -> Self:
        """Read a monitor.

        Parameters
        ----------
        data : bytes
            What :meth:`to_bytes` returned. Nothing in it is executed. A checksum tells bytes that
            were damaged; who writes others on purpose can only be told by a `key`.
        generator : str, BregmanGenerator, class or callable, optional
            The generator, where it is not one that has a name.
        key : bytes, optional
            That with which the monitor was written.

        Returns
        -------
        CalibrationMonitor

        Raises
        ------
        ValueError
            If the bytes are not those of a monitor, are damaged, were written with another key, or
            the generator is another than the monitor had.
        """
        found = decode(data, generator, key)
        monitor = cls(**found.settings, generator=found.generator)
        monitor._seen = Contents(*found[2:])
        return monitor

    def __repr__(self) -> str:
        return (
            f"CalibrationMonitor({self.n_classes}, alpha={self.alpha:g}, notion={self.notion!r}): "
            f"{self.n_samples} rows, log e-value {self.log_e_value:.4g}"
            + (f", alarm at row {self.alarm_row}" if self.alarm else "")
        )


def _exp(value: float) -> float:
    return math.exp(value) if value < 709.0 else math.inf
