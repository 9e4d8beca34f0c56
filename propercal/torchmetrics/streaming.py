"""A metric of constant memory, whose states are sums over rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch

from propercal._data.predictions.notions import Notion
from propercal._data.predictions.probabilities import AS_LOGITS
from propercal._data.words.advice import advises
from propercal._data.words.messages import bad_value, held_warnings, warn
from propercal.generators.registry import GeneratorLike
from propercal.methods import MethodLike
from propercal.result import Decomposition
from propercal.sketch import CalibrationSketch
from propercal.sketch.dense import LARGEST, LEAST, OF_DOUBTS, DenseSketch
from propercal.sketch.doubts import Doubts
from propercal.sketch.settings import as_summed
from propercal.torchmetrics.base import ProperMetric
from propercal.torchmetrics.batches import NAMES, Rows


class StreamingCalibrationError(ProperMetric):
    r"""The calibration error of a stream, in memory that does not grow with its rows, as a metric.

    Class by class, or of the most probable class, rows are summed up by bin of their log-odds, fold
    and label, as a :class:`propercal.CalibrationSketch` does. These sums add up over batches and
    processes.

    Parameters
    ----------
    n_classes : int
        Number of classes k.
    generator : str, BregmanGenerator, class or callable
        The convex function F: "log" (nats), "brier", "spherical", ...
    notion : {"classwise", "top-label", "canonical"}
        Calibration of each class by itself, or of the most probable one; the canonical notion for
        two classes only.
    method : {"debiased"} or Debiased
        The published methods need all rows: use :class:`ProperCalibrationError`.
    weighted : bool
        Whether batches come with ``sample_weight``, which takes three times the memory.
    from_logits, labels, pos_label, link, ignore_index, confidence_level, **kwargs
        As in :class:`ProperCalibrationError`, but that settings of the method are `n_folds` and
        `random_state`, a number, and labels are 0 to k − 1 unless `labels` says
        otherwise.

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do.

    Notes
    -----
    It holds 2975 bins for each class, 310 kilobytes, whatever the number of rows is; class by class
    of 1000 classes that is 310 megabytes, of their top label 310 kilobytes. The estimate differs
    from that of all rows by how these are dealt to folds and put in bins, a fraction of its
    standard error. Whether predictions go with another order of the columns is looked at up to 100
    classes. The rows of a batch are dealt by a number that is made of their predictions: the
    result does not depend on the order of batches, nor on which process saw which.

    States are on the device of the metric, and batches have to be there too (``metric.to(device)``,
    which Lightning does).

    Examples
    --------
    >>> import torch
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> target, preds, _ = TemperatureScaledSimplex(3).sample(20_000, random_state=0)
    >>> metric = StreamingCalibrationError(3)
    >>> for rows in torch.arange(20_000).split(5000):
    ...     metric.update(torch.as_tensor(preds)[rows], torch.as_tensor(target)[rows])
    >>> error = metric.compute()
    >>> low, high = metric.decomposition().interval("calibration_error")
    >>> bool(low < error < high)
    True
    """

    term = "calibration_error"

    def __init__(
        self,
        n_classes: int,
        *,
        generator: GeneratorLike = "log",
        notion: str | Notion = "classwise",
        method: MethodLike = "debiased",
        weighted: bool = False,
        from_logits: bool = False,
        labels: Sequence[Any] | None = None,
        pos_label: Any = None,
        link: str | None = None,
        ignore_index: Any = None,
        confidence_level: float = 0.95,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            generator=generator,
            notion=notion,
            method=method,
            from_logits=from_logits,
            labels=labels,
            pos_label=pos_label,
            link=link,
            ignore_index=ignore_index,
            confidence_level=confidence_level,
            options=kwargs,
        )
        self._check_method()
        self.n_classes = n_classes
        by_number = labels is None and pos_label is None
        folds = {name: getattr(self.method, name) for name in ("n_folds", "random_state")}
        self._dense = DenseSketch(
            CalibrationSketch(
                n_classes,
                generator=self.generator,
                notion=self.notion.name,
                labels=list(range(n_classes)) if by_number else labels,
                pos_label=pos_label,
                from_logits=from_logits,
                link=link,
                **folds,
            ),
            weighted=weighted,
            counted=by_number,
            called=NAMES,
        )
        settings = self._dense.sketch._settings()
        as_summed(self.method, settings)
        self._note_reading(settings, weighted)
        for name, values in self._dense.empty().items():
            how = "min" if name in LEAST else "max" if name in LARGEST else "sum"
            self.add_state(name, torch.from_numpy(values), dist_reduce_fx=how)

    @advises("labels", "pos_label", "from_logits", "link", "ignore_index", "notion", "weighted")
    def update(
        self, preds: torch.Tensor, target: torch.Tensor, sample_weight: torch.Tensor | None = None
    ) -> None:
        """Add a batch.

        Parameters
        ----------
        preds : tensor of shape (n,) or (n, k, ...)
            Probabilities, or logits. (n,) and (n, 1) are the positive class of two; each place
            along further axes is a row.
        target : tensor of shape (n,), (n, ...) or (n, k)
            Class numbers, of the shape of `preds` without axis 1, or an indicator matrix.
        sample_weight : tensor of shape (n,), optional
            Weights, 0 or 1e-100 to 1e100, of a metric that is `weighted`; those without count as 1.

        Raises
        ------
        ValueError
            If the batch cannot be used; then nothing of it was added.
        """
        if sample_weight is not None and not self._dense.weighted:
            raise bad_value(
                "sample_weight",
                f"a {type(sample_weight).__name__}",
                "None in a metric of rows that count alike",
                "make the metric with weighted=True",
            )
        rows = self._reader.read(preds, target, sample_weight)
        if rows is None:
            return
        if rows.preds.device != self.device:
            raise bad_value(
                "preds",
                f"a tensor on {rows.preds.device}",
                f"one on {self.device}, the device of the metric",
                f'move the metric there, metric.to("{rows.preds.device}")',
            )
        with self._lock:
            self._sum_up(rows)
            self._note_weights(sample_weight)

    def _sum_up(self, rows: Rows) -> None:
        """Add rows to all states, or raise and add none."""
        weight = rows.weight.cpu().numpy() if self._dense.weighted else None
        settled = self.settled.cpu().numpy()
        labels = rows.target.cpu().numpy()
        try:
            with held_warnings() as said:
                new = self._dense.of_rows(labels, rows.preds, weight, settled, self._doubts())
        except ValueError as error:
            # Sketches call the arguments by other names.
            words = str(error).replace("y_true", NAMES.labels).replace("y_proba", NAMES.proba)
            raise ValueError(words) from error
        for message in said:
            # The reader has said that of the batch.
            if AS_LOGITS not in message:
                warn(message)
        if new is None:
            return
        for name, values in new.items():
            self._add(name, torch.from_numpy(values).to(self.device))
        self._note_rows()

    def _doubts(self) -> Doubts | None:
        """Return with which columns the rows so far go."""
        there = [name for name in OF_DOUBTS if name in self._defaults]
        return self._dense.doubts_in({name: getattr(self, name).cpu().numpy() for name in there})

    def _add(self, name: str, values: torch.Tensor) -> None:
        """Put numbers of a batch and those before together."""
        join = torch.minimum if name in LEAST else torch.maximum if name in LARGEST else torch.add
        setattr(self, name, join(getattr(self, name), values))

    def _check_method(self) -> None:
        """Raise unless the sums tell what the method asks for."""
        if not self.method.corrects_bias:
            raise bad_value(
                "method",
                repr(self.method),
                '"debiased" in a metric of sums over rows',
                "use ProperCalibrationError, which keeps rows",
            )

    def _check_form(self, states: Mapping[str, Any]) -> None:
        """Leave sums of equal settings, which have one form."""

    def _n_rows(self) -> int:
        return int(self.rows[0])

    def _decompose(self) -> Decomposition:
        arrays = {
            name: cast("torch.Tensor", getattr(self, name)).cpu().numpy()
            for name in self._dense.empty()
        }
        if arrays["settled"][:2].all():
            raise bad_value(
                "target",
                "indicator matrices of both kinds in batches or processes",
                "one class in each row of all of them, or columns that are separate problems",
                "where one class occurs in each row, pass class numbers",
            )
        return self._dense.result(arrays, self.method, self.confidence_level)

    def _place(self) -> torch.device:
        return cast("torch.device", self.device)
