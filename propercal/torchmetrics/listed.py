"""Metrics that keep all rows: exact, for every notion and method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import torch
from torchmetrics.utilities.data import dim_zero_cat
from torchmetrics.utilities.distributed import gather_all_tensors

from propercal._array import ignore_underflow
from propercal._data.dependence.repetitions import look_for_repetitions
from propercal._data.inputs.settings import taken_at_word
from propercal._data.predictions.notions import Notion
from propercal._data.predictions.predictions import validate
from propercal._data.words.messages import bad_value
from propercal._methods.completion import decompositions
from propercal.generators.registry import GeneratorLike
from propercal.methods import MethodLike
from propercal.result import Decomposition
from propercal.sketch.doubts import warn_of_two_orders
from propercal.torchmetrics.base import ProperMetric
from propercal.torchmetrics.batches import NAMES, TYPES, Rows


class ListedMetric(ProperMetric):
    """A term of all rows, which are kept."""

    if TYPE_CHECKING:
        # Scripting reads annotations.
        preds: list[torch.Tensor] | torch.Tensor
        target: list[torch.Tensor] | torch.Tensor
        weight: list[torch.Tensor] | torch.Tensor

    def __init__(
        self,
        *,
        generator: GeneratorLike = "log",
        notion: str | Notion = "canonical",
        method: MethodLike = "debiased",
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
        for name in Rows._fields:
            self.add_state(name, [], dist_reduce_fx="cat")

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
            Weights ≥ 0, in one scale for all batches; those without count as 1.

        Raises
        ------
        ValueError
            If the batch cannot be used; then nothing of it was added.
        """
        rows = self._reader.read(preds, target, sample_weight)
        if rows is None:
            return
        with self._lock:
            self._append(rows)
            self._note_weights(sample_weight)

    def _append(self, rows: Rows) -> None:
        """Add rows to all states, or raise and add none."""
        self._check_form(rows._asdict())
        for name, values in zip(Rows._fields, rows, strict=True):
            # The caller may fill the same tensors anew for the next batch.
            getattr(self, name).append(values.clone())
        self._note_rows()

    def _check_form(self, states: Mapping[str, Any]) -> None:
        """Raise if rows have other columns than those before."""
        for name in Rows._fields:
            shapes = [_shape(each) for each in (getattr(self, name), states.get(name, ()))]
            if None not in shapes and shapes[0] != shapes[1]:
                raise bad_value(
                    name,
                    f"rows of shape {shapes[1]}",
                    f"{shapes[0]}, as in batches before",
                    "pass the same columns in each batch, or reset() the metric",
                )

    def _n_rows(self) -> int:
        return sum(self._batches())

    def _rows(self) -> Rows:
        return Rows(*(dim_zero_cat(getattr(self, name)) for name in Rows._fields))

    @ignore_underflow
    def _decompose(self) -> Decomposition:
        rows = self._rows()
        weight = rows.weight.cpu().numpy()
        predictions = validate(
            rows.target,
            rows.preds,
            from_logits=self.from_logits,
            sample_weight=None if (weight == weight[0]).all() else weight,
            labels=taken_at_word(self.labels),
            pos_label=self.pos_label,
            link=self.link,
            one_class=not self.notion.per_class,
            names=NAMES,
        )
        warn_of_two_orders(predictions, self._batches())
        predictions = look_for_repetitions(replace(predictions, dtype=self._result_type()))
        ((_, found),) = decompositions(
            predictions, self.notion, self.method, [self.generator], self.confidence_level
        )
        return found

    def _batches(self) -> list[int]:
        """Return how many rows each batch has, in one piece where processes gave theirs."""
        weight = self.weight
        return [len(each) for each in ([weight] if isinstance(weight, torch.Tensor) else weight)]

    def _kept(self) -> list[torch.Tensor]:
        """Return predictions, in one tensor or several."""
        return [self.preds] if isinstance(self.preds, torch.Tensor) else self.preds

    def _place(self) -> torch.device:
        kept = self._kept()
        return kept[0].device if kept else cast("torch.device", self.device)

    def _result_type(self) -> torch.dtype:
        kept = self._kept()
        if not kept:
            return super()._result_type()
        return torch.promote_types(kept[0].dtype, torch.float32)

    def _sync_dist(
        self,
        dist_sync_fn: Callable[..., list[torch.Tensor]] = gather_all_tensors,
        process_group: Any = None,
    ) -> None:
        """Gather rows, of which a process may have none, or those of another type."""
        group = process_group or self.process_group
        mine = torch.tensor(self._form(), device=self._place())
        forms = [tuple(each.tolist()) for each in dist_sync_fn(mine, group=group)]
        held = {each for each in forms if each[0]}
        if len({each[1:] for each in held}) > 1:
            raise bad_value(
                "preds",
                f"(columns, columns of target) = {sorted(each[1:] for each in held)} in processes",
                "the same in all of them",
                "pass the same columns in each process",
            )
        if not held:
            # As without processes: there is nothing to gather.
            return
        dtype = TYPES[min(each[0] for each in held) - 1]
        if {each[0] for each in held} == {3, 4}:
            dtype = torch.float32
        columns, marked = next(iter(held))[1:]
        self._fill(dtype, columns, marked)
        super()._sync_dist(dist_sync_fn, process_group)

    def _form(self) -> tuple[int, int, int]:
        """Return numbers of the type, of columns, and of those of an indicator matrix; or zeros."""
        if not self._n_rows():
            return 0, 0, 0
        rows = self._rows()
        marked = int(rows.target.shape[1]) if rows.target.ndim > 1 else 0
        return 1 + TYPES.index(rows.preds.dtype), int(rows.preds.shape[1]), marked

    def _fill(self, dtype: torch.dtype, columns: int, marked: int) -> None:
        """Let the states be of the same form in all processes."""
        if self._n_rows():
            rows = self._rows()
        else:
            place = self._place()
            label = (0, marked) if marked else (0,)
            kind = torch.uint8 if marked else torch.int64
            rows = Rows(
                torch.zeros((0, columns), device=place),
                torch.zeros(label, device=place, dtype=kind),
                torch.zeros(0, device=place, dtype=torch.float64),
            )
        rows = rows._replace(preds=rows.preds.to(dtype))
        for name, values in zip(Rows._fields, rows, strict=True):
            setattr(self, name, [values])


def _shape(kept: Any) -> tuple[int, ...] | None:
    """Return the shape of one row of a tensor, or of a list of them; None where there is none."""
    if not len(kept):
        return None
    return tuple((kept if isinstance(kept, torch.Tensor) else kept[-1]).shape[1:])


class ProperCalibrationError(ListedMetric):
    r"""The calibration error E D_F(E[Y | g(X)], g(X)) of predictions g(X), as a metric.

    Parameters
    ----------
    generator : str, BregmanGenerator, class or callable
        The convex function F: "log" (nats), "brier", "spherical", ..., see
        :func:`propercal.decompose`, which says more of all arguments.
    notion : {"canonical", "classwise", "top-label"}
        Calibration of the whole vector, of each class by itself, or of the most probable class.
    method : {"debiased", "direct", "risk"} or Method
        The default has no bias to speak of, and takes two or three seconds of a core for 10⁴ rows
        of ten classes, a fifth of one for the top label: little beside an epoch, much beside a
        batch.
    from_logits : bool
        Whether predictions are logits. They are not guessed to be.
    labels : sequence of length k, optional
        The class that each column stands for, 0 to k − 1 by default.
    pos_label : optional
        The class that a single column is the probability of.
    link : {"softmax", "sigmoid"}, optional
        What is between logits and probabilities, where an indicator matrix may go with either.
    ignore_index : optional
        Rows of this label are left out, such as −100.
    confidence_level : float
        Level of the intervals of :meth:`decomposition`.
    **kwargs
        Settings of a method that is named, such as ``bandwidth``; and what each metric of
        torchmetrics takes: ``sync_on_compute``, ``process_group``, ``compute_on_cpu``, ...

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do.

    Notes
    -----
    Call :meth:`update` on each batch and :meth:`compute` at the end of an epoch. The metric itself,
    called on a batch, decomposes the risk of that batch alone, NaN for fewer than 20 rows.

    All rows are kept on the device of the predictions; ``compute_on_cpu=True`` keeps them on the
    CPU, where the result then is. Several processes may have different numbers of rows, or none.
    No gradient passes: for a term of a loss take :func:`propercal.calibration_error` with
    ``method="risk"``.
    Metrics of several generators or methods in a ``MetricCollection`` share their rows.

    Examples
    --------
    >>> import torch
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> target, preds, _ = TemperatureScaledSimplex(3).sample(1000, random_state=0)
    >>> metric = ProperCalibrationError(generator="brier")
    >>> for rows in torch.arange(1000).split(300):
    ...     metric.update(torch.as_tensor(preds)[rows], torch.as_tensor(target)[rows])
    >>> error = metric.compute()
    >>> low, high = metric.decomposition().interval("calibration_error")
    >>> bool(low < error < high)
    True
    """

    term = "calibration_error"


class Refinement(ListedMetric):
    r"""The refinement E[−F(E[Y | g(X)])], the loss that recalibration cannot remove, as a metric.

    Parameters
    ----------
    generator, notion, method, from_logits, labels, pos_label, link, ignore_index, confidence_level
        As in :class:`ProperCalibrationError`, like all other keyword arguments; both share rows in
        a ``MetricCollection``.

    Raises
    ------
    ValueError
        If an argument cannot be used; the message names it, its value, and what to do.

    Examples
    --------
    >>> import torch
    >>> from propercal.simulation import TemperatureScaledSimplex
    >>> target, preds, _ = TemperatureScaledSimplex(3).sample(1000, random_state=0)
    >>> metric = Refinement()
    >>> metric.update(torch.as_tensor(preds), torch.as_tensor(target))
    >>> print(f"{metric.compute():.3f}")
    0.769
    """

    term = "refinement"
